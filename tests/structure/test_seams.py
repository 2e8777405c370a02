"""The seams: one of each kind, added by one registration, is served everywhere.

What a kind declares that it needs is what is refused, with a way out; the rest is served.
"""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from tests import support
from tests.toys import EvenGroups, Friends

import foreknow as fk
from foreknow.adversaries import registry as adversaries
from foreknow.adversaries.release_counts import counts_of
from foreknow.criteria import registry as criteria
from foreknow.features.attacks.results import limits_of
from foreknow.methods import registry as methods
from foreknow.methods.protocol import Grouper, Grouping, Traits, check_needs, grouping_of, traits_of
from foreknow.needs import Analysis, Need, require, several_values
from foreknow.policy.call_arguments import KEYS
from foreknow_judge.criteria.closeness import TClosenessSettings
from foreknow_judge.criteria.gauges import GAUGES
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.knowledge.verifiers import VERIFIERS
from foreknow_judge.policy.settings import Settings

# ---- what is there -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", adversaries.ADVERSARIES.values(), ids=lambda kind: kind.key)
def test_every_knowledge_has_a_judge(kind, tmp_path):
    """It declares the same, and the kind reads what it writes."""
    assert kind.key in VERIFIERS, "add a line to VERIFIERS in foreknow_judge/knowledge/verifiers.py"
    judge = VERIFIERS[kind.key]
    assert judge.of_several == (Need.ONE_VALUE not in kind.needs)
    assert judge.of_windows == (Need.NO_WINDOWS not in kind.needs)
    assert judge.relative == (Need.ABSOLUTE not in kind.needs)
    table = pa.table({"sex": ["m"], "value": ["a"], "probability": ["1/2"]})
    result = kind(*{"priors": [table]}.get(kind.key, []))
    written = result.to_dict()
    assert list(written) == [kind.key]
    assert kind.from_settings(kind.settings.model_validate(written[kind.key]), tmp_path) == result


@pytest.mark.parametrize(
    "criterion", criteria.CRITERIA.values(), ids=lambda criterion: criterion.key
)
def test_every_criterion_has_a_gauge(criterion):
    assert criterion.key in GAUGES, "add a line to GAUGES in foreknow_judge/criteria/gauges.py"
    gauge = GAUGES[criterion.key]
    assert gauge.of_people == criterion.of_people == (Need.ONE_VALUE not in criterion.needs)
    assert gauge.of_classes == (criterion.of_groups is not None)
    assert gauge.of_population == (Need.POPULATION in criterion.needs)
    assert gauge.of_sets(TClosenessSettings(t=1)) == (Need.NO_SETS not in criterion.needs)


@pytest.mark.parametrize("key", [key for key, _ in methods.METHODS])
def test_every_method_declares_itself(key):
    method = methods.kind_of(key)
    assert method.key == key
    assert issubclass(method.settings, Settings)
    assert "traits" in vars(method) or method.key == "art"


class Together(Grouper):
    """One group, in a coarse label."""

    traits = Traits()

    def grouping(self, microdata, policy=None, seed=None):
        return Grouping(np.zeros(microdata.n_rows, np.int64), {"age": np.array([1])})


class Alone(Together):
    """Everybody by themselves."""

    def partition(self, microdata, policy=None, seed=None):
        return np.arange(microdata.n_rows)


SCHEMA = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
AGES = [20, 21, 30, 31, 40, 41, 50, 51]
PEOPLE = pa.table({"age": AGES, "disease": list("abcdabcd")})


def test_a_grouping_needs_no_declaration():
    microdata = fk.Microdata(PEOPLE.slice(0, 2), SCHEMA)
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(1))])
    together, alone = (grouping_of(kind(), microdata, policy, None) for kind in (Together, Alone))
    assert (list(together.of_row), list(together.floors)) == ([0, 0], ["age"])
    assert (list(alone.of_row), alone.floors) == ([0, 1], None)


# ---- needs -------------------------------------------------------------------------------------

ROWS = {
    "who": [*"pqrstu"],
    "age": ["20", "20", "20", "30", "30", "30"],
    "disease": [*"aabbab"],
    "income": [1, 2, 3, 1, 2, 3],
}


def release(semantics="single"):
    person = None if semantics == "single" else "who"
    return fk.Release.from_generalized(
        pa.table(ROWS),
        quasi_identifiers=["age"],
        sensitive="disease",
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
ASKED = [(kind, need) for kind in support.ASKED for need in (Need.TRIAL, Need.NAMES)]
CASES = [
    *((kind, need) for kind in support.KNOWLEDGE for need in SITUATIONS),
    *((kind, need) for kind, need in ASKED if need in kind.needs),
    *((kind, need) for kind in support.RULES for need in OF_RULES),
]


def called(case):
    return case.name if isinstance(case, Need) else str(case)


@pytest.mark.parametrize(("kind", "need"), CASES, ids=called)
def test_needs_of_kinds(kind, need):
    if need not in kind.needs:
        SITUATIONS[need](kind)
        return
    with pytest.raises(fk.InputError) as refused:
        SITUATIONS[need](kind)
    text = str(refused.value)
    assert f"{type(kind).__name__} needs {need.what}, and " in text
    assert text.endswith(f"; {need.remedy}")


@pytest.mark.parametrize("key", support.MAKERS)
@pytest.mark.parametrize(
    ("need", "roles"),
    [
        (Need.ONE_VALUE, {"sensitive": "disease", "semantics": "set", "person": "who"}),
        (Need.ONE_COLUMN, {"sensitive": ["disease", "income"]}),
    ],
)
def test_needs_of_methods(key, need, roles):
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
def test_needs_of_attacks(need, more):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=more["sensitive"])
    kind = fk.Facts() if need is Need.NO_WINDOWS else fk.Priors(support.PRIORS)
    policy = fk.Policy([fk.Requirement(kind, **more)], schema)
    with pytest.raises(UnsupportedError) as refused:
        limits_of(policy, fk.Microdata(pa.table(ROWS), schema))
    assert str(refused.value).endswith(f"; {need.remedy}")


def test_needs_of_analyses():
    one = Analysis("it", frozenset({Need.ONE_VALUE}))
    with pytest.raises(UnsupportedError, match=r"'ill'.*'drug'"):
        require(one, several_values({"ill": "set", "pay": "single", "drug": "multiset"}))
    require(one, several_values({"ill": "single", "pay": "single"}))
    learned = fk.Priors.from_release(release(), by=["age"])
    with pytest.raises(fk.InputError, match=r"is an estimate.*\[\[try\]\]"):
        fk.Requirement(learned, below="1/2")
    roles = {"quasi_identifiers": ["age"], "sensitive": "disease"}
    schema = fk.Schema(**roles, person="who", semantics="set")
    microdata, seen = fk.Microdata(pa.table(ROWS), schema), release("set")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema)
    for ask in (
        lambda: fk.survey(microdata),
        lambda: fk.attack(microdata, fk.Mondrian(), policy),
        lambda: fk.Learned(by=["age"]).disclosures(seen),
        lambda: fk.Algorithm(fk.Mondrian(), policy).disclosures(seen),
        lambda: fk.disclosure_curves(seen),
        lambda: fk.audit(seen, fk.Policy([fk.Requirement(fk.LDiversity(2))])),
    ):
        with pytest.raises(UnsupportedError, match=r"needs one sensitive value per person"):
            ask()


def test_ways_out_name_what_serves():
    kinds = (*support.KNOWLEDGE, *support.RULES)
    several = [kind.key for kind in kinds if Need.ONE_VALUE not in kind.needs]
    for key in ("facts", "k_anonymity", "group_size"):
        assert key in Need.ONE_VALUE.remedy
        assert key in several
    windows = [kind.key for kind in support.KNOWLEDGE if Need.NO_WINDOWS not in kind.needs]
    assert all(key in Need.NO_WINDOWS.remedy for key in windows)
    for key in ("mondrian", "fulldomain"):
        assert key in Need.ONE_COLUMN.remedy
        assert not traits_of(support.MAKERS[key]).needs


@pytest.mark.parametrize("page", support.PRINTED)
def test_pages_print_what_is_declared(page):
    _, printed, _ = (support.REFERENCE / page).read_text("utf-8").split(support.MARK)
    assert printed.strip() == support.PRINTED[page](), "write it anew: python -m tests.support"


def test_a_call_takes_every_criterion():
    table = pa.table({"age": ["20"] * 6, "ill": list("ababab")})
    asked = {"quasi_identifiers": ["age"], "sensitive": "ill", "learned": False}
    for rule in support.RULES:
        if not rule.key.startswith("t_closeness") and not hasattr(rule, "population"):
            audit = fk.audit(table, **asked, **rule.to_dict())
            assert audit.policy.requirements[0].criterion.to_dict() == rule.to_dict()
    assert {*criteria.CRITERIA} <= {*KEYS}


# ---- a toy of each -----------------------------------------------------------------------------

POLICY = """
[schema]
quasi_identifiers = ["age"]
sensitive = "disease"

[[require]]
friends = { many = 1 }
below = "3/4"

[[require]]
even_groups = 2

[[require]]
k_anonymity = 2

[publish]
labels = { age = "exact" }
"""


def with_(registry, kind):
    """A registry with one more class."""
    return {**registry, kind.key: kind}


@pytest.fixture
def registered(monkeypatch):
    """One more of each, in its registry."""
    assert fk.publish  # whose modules keep the tuple of methods that they first see
    monkeypatch.setattr(adversaries, "ADVERSARIES", with_(adversaries.ADVERSARIES, Friends))
    monkeypatch.setattr(criteria, "CRITERIA", with_(criteria.CRITERIA, EvenGroups))
    monkeypatch.setattr(methods, "METHODS", (*methods.METHODS, ("pairs", "tests.toys:Pairs")))


@pytest.mark.usefixtures("registered")
def test_toys_are_served(tmp_path):
    pc.write_csv(PEOPLE, tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    policy = fk.Policy.load(tmp_path / "policy.toml")
    assert [r.criterion for r in policy.requirements] == [None, EvenGroups(2), fk.KAnonymity(2)]
    assert fk.Policy.from_dict(policy.to_dict()).to_dict() == policy.to_dict()
    publication = fk.publish(fk.Microdata(tmp_path / "people.csv", policy.schema), policy)
    sizes = publication.release.counts.sizes
    assert len(sizes) == 2  # the toy adversary allows no pairs: 1 of 1 would be certain
    assert all(sizes % 2 == 0)
    assert publication.audit.safe
    publication.write(tmp_path / "out")
    assert len(fk.verify(tmp_path / "out").findings) == 3
    rules = [fk.Requirement(Friends(1), below="3/4"), fk.Requirement(EvenGroups(2))]
    audit = fk.audit(fk.GroupCounts.from_bags(["abc", "abcd"]), fk.Policy(rules))
    assert [verdict.safe for verdict in audit.verdicts] == [True, False]
    assert [criterion.safe for criterion in audit.criteria] == [False]
    assert not audit.safe
    assert audit.to_dict()["verdicts"][1]["worst"]["exact"] == "1"


# ---- what must not pass ------------------------------------------------------------------------


class Diverse(fk.KAnonymity):
    """Asks for more than it inherits."""

    def holds(self, release):
        counts = counts_of(release)
        return all(len(counts.bag(g)) >= self.k for g in range(counts.n_groups))


class Unknown(fk.KAnonymity):
    """A criterion that nobody registered."""

    key = "unknown"

    def to_dict(self):
        return {"unknown": self.k}


def published(criterion):
    policy = fk.Policy([fk.Requirement(criterion)], SCHEMA)
    return fk.publish(PEOPLE, policy)


def test_criteria_that_must_not_pass():
    policy = fk.Policy([fk.Requirement(Diverse(2))])
    assert not fk.audit(fk.GroupCounts.from_bags(["aa", "bb"]), policy).safe
    assert fk.audit(fk.GroupCounts.from_bags(["ab", "ab"]), policy).safe
    with pytest.raises(fk.ForeknowError, match="'unknown'"):
        published(Unknown(2))
    for beside in ({"facts": {"l": 1}, "below": 0.5}, {"facts": [{"l": 1, "below": 0.5}]}):
        with pytest.raises(fk.InputError, match=r"require\[0\]: k_anonymity stands by itself"):
            fk.Policy.from_dict({"require": [{"k_anonymity": 5, "values": ["a"], **beside}]})


def test_the_verifier_counts_groups_itself(tmp_path):
    publication = published(fk.KAnonymity(4))
    smallest = int(publication.release.counts.sizes.min())
    assert fk.KAnonymity(smallest).holds(publication.release)
    assert not fk.KAnonymity(smallest + 1).holds(publication.release)
    publication.write(tmp_path / "out")
    for k in (1, smallest, smallest + 1, 10**6):
        policy = fk.Policy([fk.Requirement(fk.KAnonymity(k))], SCHEMA)
        if k <= smallest:
            assert fk.verify(tmp_path / "out", policy).findings[0].reached == smallest
        else:
            with pytest.raises(fk.InputError, match=r"k_anonymity.* does not hold"):
                fk.verify(tmp_path / "out", policy)


def test_reach_of_two_settings(tmp_path):
    table = pa.table({"age": ["20", "20", "30", "30"], "disease": list("abab")})
    fk.publish(table, fk.Policy([fk.Requirement(fk.KAnonymity(2))], SCHEMA)).write(tmp_path / "out")
    for alpha, k, said in ((1, 3, "alpha is 1/2, k is 2"), ("1/3", 2, "alpha is 1/2")):
        with pytest.raises(fk.InputError, match=rf"does not hold: {said}"):
            fk.verify(tmp_path / "out", fk.Policy([fk.Requirement(fk.AlphaK(alpha, k))], SCHEMA))


# ---- what lacks a member -----------------------------------------------------------------------


def without(kind, name, **more):
    """A class that has all of another but one member."""
    members = {k: x for k, x in vars(kind).items() if k not in ("__dict__", "__weakref__", name)}
    return type(kind.__name__, kind.__bases__, {**members, **more})


@pytest.mark.parametrize(
    ("kind", "name", "more", "how", "message"),
    [
        *(
            (Friends, name, {}, {"below": "3/4"}, f"toy: Friends lacks {name}, which")
            for name in ("needs", "speaks", "chances", "monotone", "ledger")
        ),
        *(
            (EvenGroups, name, {}, {}, f"toy: EvenGroups lacks {name}, which Criterion")
            for name in ("needs", "of_people", "compares_table")
        ),
        (
            *(Friends, "needs", {"needs": {"one value"}}, {"below": "3/4"}),
            "Friends: needs must be a frozenset of Need",
        ),
        (
            *(Friends, "needs", {"needs": frozenset({Need.ONE_VALUE})}, {"at_most_times": 2}),
            "Friends lacks tables, which Gaining requires",
        ),
    ],
)
def test_members_that_are_lacking(kind, name, more, how, message):
    with pytest.raises(fk.InputError, match=message):
        fk.Requirement(without(kind, name, **more)(1), name="toy", **how)


@pytest.mark.parametrize(
    ("registry", "known", "kind", "name"),
    [
        (adversaries, "ADVERSARIES", Friends, "from_settings"),
        (adversaries, "ADVERSARIES", Friends, "needs"),
        (criteria, "CRITERIA", EvenGroups, "of_people"),
    ],
)
def test_what_is_registered_without(monkeypatch, registry, known, kind, name):
    monkeypatch.setattr(registry, known, with_(getattr(registry, known), without(kind, name)))
    with pytest.raises(fk.InputError, match=rf"{kind.__name__} lacks {name}, which"):
        fk.Policy.from_dict({"require": [{"k_anonymity": 2}]})


def test_kinds_without_a_gauge(monkeypatch):
    lacking = without(EvenGroups, "gauge")
    monkeypatch.setattr(criteria, "CRITERIA", with_(criteria.CRITERIA, lacking))
    with pytest.raises(fk.InputError, match=r"EvenGroups lacks gauge, a foreknow_judge Gauge$"):
        published(lacking(2))
    monkeypatch.delitem(GAUGES, "alpha_k")
    with pytest.raises(
        fk.InputError, match=r"add a line to GAUGES in foreknow_judge/criteria/gauges\.py"
    ):
        published(fk.AlphaK(1, 2))
    assert published(fk.KAnonymity(2)).audit.safe
