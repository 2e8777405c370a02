"""What each kind declares that it needs is what is refused, with a way out; the rest is served."""

import pyarrow as pa
import pytest
from tests import support

import foreknow as fk
from foreknow.attacks.results import limits_of
from foreknow.criteria.registry import CRITERIA
from foreknow.methods.protocol import check_needs, traits_of
from foreknow.needs import Analysis, Need, require
from foreknow.policy.from_call import KEYS
from foreknow_judge.errors import UnsupportedError

ROWS = {
    "who": [*"pqrstu"],
    "age": ["20", "20", "20", "30", "30", "30"],
    "disease": [*"aabbab"],
    "income": [1, 2, 3, 1, 2, 3],
}


def release(semantics="single", sensitive="disease"):
    person = None if semantics == "single" else "who"
    return fk.Release.from_generalized(
        pa.table(ROWS),
        quasi_identifiers=["age"],
        sensitive=sensitive,
        person=person,
        semantics=semantics,
    )


def judged(kind, seen):
    return kind.attained(seen) if hasattr(kind, "attained") else kind.disclosures(seen)


def required(kind, **more):
    limit = {} if hasattr(kind, "attained") or "at_most" in more else {"below": 1}
    return fk.Requirement(kind, **limit, **more)


def searched(kind):
    """Start the ledgers that a search asks."""
    counts = release().counts
    return required(kind).count(counts).ledgers("single", counts)


SITUATIONS = {
    Need.ONE_VALUE: lambda kind: [judged(kind, release(how)) for how in ("set", "multiset")],
    Need.PEOPLE: lambda kind: judged(kind, release().counts),
    Need.NO_WINDOWS: lambda kind: required(kind, within=1, sensitive="income"),
    Need.NO_SETS: lambda kind: required(kind, any_of=["a", "b"]),
    Need.ABSOLUTE: lambda kind: required(kind, at_most="1/2"),
    Need.FINISHED: searched,
    Need.TRIAL: required,
    Need.NAMES: required,
}
# Criteria have no limit, and are asked of labels where these are written.
OF_RULES = (Need.ONE_VALUE, Need.NO_WINDOWS, Need.NO_SETS, Need.FINISHED)
CASES = [
    *((kind, need) for kind in support.KNOWLEDGE for need in SITUATIONS),
    *(
        (kind, need)
        for kind in support.ASKED
        for need in (Need.TRIAL, Need.NAMES)
        if need in kind.needs
    ),
    *((kind, need) for kind in support.RULES for need in OF_RULES),
]


def called(case):
    return case.name if isinstance(case, Need) else str(case)


@pytest.mark.parametrize(("kind", "need"), CASES, ids=called)
def test_what_is_needed_is_refused_with_a_way_out_and_the_rest_is_served(kind, need):
    if need not in kind.needs:
        SITUATIONS[need](kind)
        return
    with pytest.raises(fk.InputError) as refused:
        SITUATIONS[need](kind)
    said = str(refused.value)
    assert f"{type(kind).__name__} needs {need.what}, and " in said
    assert said.endswith(f"; {need.remedy}")


def test_of_several_columns_those_of_which_people_have_several_values_are_named():
    with pytest.raises(UnsupportedError, match=r"'ill'.*'drug'"):
        require(
            Analysis("it", frozenset({Need.ONE_VALUE})),
            semantics={"ill": "set", "pay": "single", "drug": "multiset"},
        )
    require(
        Analysis("it", frozenset({Need.ONE_VALUE})), semantics={"ill": "single", "pay": "single"}
    )


def test_what_is_learned_from_a_release_is_an_estimate_and_never_required():
    learned = fk.Priors.from_release(release(), by=["age"])
    with pytest.raises(fk.InputError, match=r"is an estimate.*\[\[try\]\].*require nothing"):
        fk.Requirement(learned, below="1/2")


@pytest.mark.parametrize("key", support.MAKERS)
@pytest.mark.parametrize(
    ("need", "roles"),
    [
        (Need.ONE_VALUE, {"sensitive": "disease", "semantics": "set", "person": "who"}),
        (Need.ONE_COLUMN, {"sensitive": ["disease", "income"]}),
    ],
)
def test_a_method_refuses_what_it_needs_and_has_not(key, need, roles):
    method = support.MAKERS[key]
    schema = fk.Schema(quasi_identifiers=["age"], **roles)
    of = "disease" if need is Need.ONE_COLUMN else None
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1, sensitive=of, knowing=[])], schema)
    if need not in traits_of(method).needs:
        check_needs(method, policy)
        return
    with pytest.raises(UnsupportedError) as refused:
        check_needs(method, policy)
    assert str(refused.value).endswith(f"; {need.remedy}")
    with pytest.raises(UnsupportedError):
        fk.publish(pa.table(ROWS), policy, method=method)


@pytest.mark.parametrize(
    ("need", "more"),
    [
        (Need.NO_WINDOWS, {"below": 1, "within": 1, "sensitive": "income", "knowing": []}),
        (Need.ABSOLUTE, {"at_most_times": 2, "sensitive": "disease", "knowing": []}),
    ],
)
def test_an_attack_refuses_limits_that_it_does_not_know(need, more):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=more["sensitive"])
    kind = fk.Facts() if need is Need.NO_WINDOWS else fk.Priors(support.PRIORS)
    policy = fk.Policy([fk.Requirement(kind, **more)], schema)
    with pytest.raises(UnsupportedError) as refused:
        limits_of(policy, fk.Microdata(pa.table(ROWS), schema))
    assert str(refused.value).endswith(f"; {need.remedy}")


def test_analyses_of_one_value_per_person_refuse_several():
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", person="who", semantics="set"
    )
    microdata = fk.Microdata(pa.table(ROWS), schema)
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema)
    for ask in (
        lambda: fk.survey(microdata),
        lambda: fk.attack(microdata, fk.Mondrian(), policy),
        lambda: fk.Learned(by=["age"]).disclosures(release("set")),
        lambda: fk.Algorithm(fk.Mondrian(), policy).disclosures(release("set")),
        lambda: fk.disclosure_curves(release("set")),
        lambda: fk.audit(release("set"), fk.Policy([fk.Requirement(fk.LDiversity(2))])),
    ):
        with pytest.raises(UnsupportedError, match=r"needs one sensitive value per person"):
            ask()


def test_ways_out_name_what_serves():
    several = [
        one.key for one in (*support.KNOWLEDGE, *support.RULES) if Need.ONE_VALUE not in one.needs
    ]
    for key in ("facts", "k_anonymity", "group_size"):
        assert key in Need.ONE_VALUE.remedy
        assert key in several
    windows = [one.key for one in support.KNOWLEDGE if Need.NO_WINDOWS not in one.needs]
    assert all(key in Need.NO_WINDOWS.remedy for key in windows)
    for key in ("mondrian", "fulldomain"):
        assert key in Need.ONE_COLUMN.remedy
        assert not traits_of(support.MAKERS[key]).needs


@pytest.mark.parametrize("page", support.PRINTED)
def test_what_a_page_prints_of_the_declarations_is_what_is_declared(page):
    _, found, _ = (support.REFERENCE / page).read_text("utf-8").split(support.MARK)
    assert found.strip() == support.PRINTED[page](), "write it anew: python -m tests.support"


def test_a_call_takes_every_criterion_with_its_settings():
    table = pa.table({"age": ["20"] * 6, "ill": list("ababab")})
    asked = {"quasi_identifiers": ["age"], "sensitive": "ill", "learned": False}
    for rule in support.RULES:
        if rule.key.startswith("t_closeness") or hasattr(rule, "population"):
            continue
        found = fk.audit(table, **asked, **rule.to_dict())
        assert found.policy.requirements[0].criterion.to_dict() == rule.to_dict()
    keys = {kind.key for kind in CRITERIA}
    assert keys <= {*KEYS}
