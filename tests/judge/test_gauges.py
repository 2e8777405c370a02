"""Every criterion is measured alike by its class and by the verifier's gauge, in both forms."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.test_conformance import DRAWN, SHARES, known
from tests.common import examples, refused

import foreknow as fk
from foreknow.criteria import registry as criteria
from foreknow.needs import Need
from foreknow_judge.counts.group_bags import Column, GroupBags
from foreknow_judge.criteria.gauges import GAUGES
from foreknow_judge.criteria.population import _LabelReader
from foreknow_judge.errors import CertificateError, InputError
from foreknow_judge.files.written_release import Written, read_population
from foreknow_judge.numbers import as_fraction
from foreknow_judge.registry import settings_of
from foreknow_judge.verdicts import verdicts as verify

SCHEMA = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
# Everybody who can be in a table of these tests, and more people of two ages.
POPULATION = pa.table({"age": [str(age) for age in range(6) for _ in range(150)] + ["0", "9"] * 30})
BESIDE = {
    fk.KMap: st.sampled_from([1, 150, 151, 180, 181]).map(lambda k: fk.KMap(k, POPULATION)),
    fk.DeltaPresence: st.tuples(SHARES, SHARES).map(
        lambda ends: fk.DeltaPresence(min(ends) / 8, max(ends), POPULATION)
    ),
    fk.PopulationRisk: st.tuples(SHARES, SHARES).map(
        lambda ends: fk.PopulationRisk(ends[0] / 100, ends[1], population=POPULATION)
    ),
    fk.Levels: st.integers(0, 6).map(lambda top: fk.Levels({"age": {"top": top}})),
}
BAGS = st.lists(
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 6), min_size=1), min_size=1, max_size=6
)
of_each = pytest.mark.parametrize("kind", criteria.CRITERIA.values(), ids=lambda kind: kind.key)
FORMS = pytest.mark.parametrize("form", ["generalized", "bucketized"])


def drawn(data, kind):
    """A criterion of a kind, bound to the schema; without draws of its own, of whole numbers."""
    assert kind in DRAWN or kind in BESIDE or Need.FINISHED not in kind.needs, (
        f"add draws of {kind.__name__} to BESIDE in tests/judge/test_gauges.py"
    )
    result = data.draw(BESIDE[kind] if kind in BESIDE else known(kind, 1, 5), label="asked")
    return result.under(SCHEMA)


def written(form, groups, ages):
    """The tables of a release of bags, as a reader has them and as the verifier has them.

    In the bucketized form somebody's age is the one that is given for their place in the group.
    """
    people = [(g, v) for g, bag in enumerate(groups) for v, n in bag.items() for _ in range(n)]
    if form == "generalized":
        table = pa.table({"age": [str(g) for g, _ in people], "ill": [v for _, v in people]})
        release = fk.Release.from_generalized(table, quasi_identifiers=["age"], sensitive="ill")
        return release, Written(form, ["age"], "ill", {"release": table})
    exact = [str(ages[i % len(ages)]) for i in range(len(people))]
    rows = pa.table({"group": [str(g) for g, _ in people], "age": exact})
    cells = [(str(g), v, n) for g, bag in enumerate(groups) for v, n in bag.items()]
    at, values, counts = zip(*cells, strict=True)
    tally = pa.table({"group": at, "ill": values, "count": counts})
    release = fk.Release.from_bucketized(tally, sensitive="ill", people=rows)
    texts = tally.set_column(2, "count", tally["count"].cast(pa.string()))
    tables = {"people": rows, "sensitive": texts}
    return release, Written(form, ["group"], "ill", tables, exact=["age"])


def compare(data, kind, form):
    criterion, groups = drawn(data, kind), data.draw(BAGS, label="groups")
    ages = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=4), label="ages")
    release, held = written(form, groups, ages)
    population = getattr(criterion, "population", None)
    at_hand = {} if population is None else {population.digest(): POPULATION}
    own = criterion.attained(release)
    (found,) = verify(held.with_fields(populations=at_hand), [criterion.published()])
    amount = None if own.amount == inf else Fraction(own.amount)
    assert (found.reached, found.safe) == (amount, own.holds)
    assert own.holds == criterion.holds(release)
    assert own.amount == criterion.measure(release)


def compare_groups(data, kind):
    """What is left to ask of groups where exact columns say who looks alike."""
    criterion, groups = drawn(data, kind), data.draw(BAGS, label="groups")
    of_groups = criterion.of_groups
    groups = [{value: 5 * n for value, n in bag.items()} for bag in groups]
    release, _ = written("bucketized", groups, [0])  # all of whom look alike, and are enough
    if of_groups is None:
        return
    assert of_groups.holds(release) or not criterion.holds(release)
    if not kind.of_people:
        assert of_groups.holds(release) == criterion.holds(release)
        assert of_groups.measure(release) == criterion.measure(release)


@of_each
@FORMS
@examples(400, daily=5, deadline=None)
@given(data=st.data())
def test_gauge_finds_what_class_attains(kind, form, data):
    compare(data, kind, form)


@of_each
@examples(400, daily=10, deadline=None)
@given(data=st.data())
def test_of_groups_matches_the_whole(kind, data):
    compare_groups(data, kind)


TREE = [["a", "x", "all"], ["b", "x", "all"], ["c", "y", "all"], ["d", "y", "all"]]


@pytest.mark.parametrize(
    ("required", "groups", "attained"),
    [
        ({"l_diversity": {"l": 3}}, [{"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1}], 2),
        ({"l_diversity": {"kind": "recursive", "l": 2, "c": 2}}, [{"a": 2, "b": 1}], 2),
        (
            {"l_diversity": {"kind": "entropy", "l": 2}},  # the first group keeps it
            [{"a": 1000, "b": 1000}, {"a": 1001, "b": 999}],
            "1.999999",
        ),
        (
            {"t_closeness": {"t": "1/2", "distance": "hierarchical", "tree": TREE}},
            [{"a": 1}, {"c": 1}, {"c": 1}],
            "2/3",
        ),
        ({"delta_disclosure": {"delta": 1}}, [{"a": 1, "b": 9}, {"a": 9, "b": 9}], "25/7"),
        ({"delta_disclosure": {"delta": "2/5"}}, [{"a": 1, "b": 1}, {"a": 1, "b": 3}], "3/2"),
        # a gain of 1 is at most beta, but above -ln(1/2)
        ({"beta_likeness": {"beta": 1, "enhanced": True}}, [{"a": 1}, {"b": 1}], 1),
    ],
)
def test_a_limit_just_missed_fails(required, groups, attained):
    (verdict,) = verify(written("generalized", groups, [0])[1], [required])
    assert (verdict.reached, verdict.safe) == (Fraction(attained), False)


@pytest.mark.parametrize(
    ("key", "rest", "setting", "right", "wrong"),
    [
        ("t_closeness", {}, "t", [0, "1/2", 1], ["-1", "5", "1.01"]),
        ("beta_likeness", {}, "beta", ["1/100", 9], [0, -1]),
        ("beta_likeness", {"enhanced": True}, "beta", ["1/100", 9], [0, -1]),
        ("delta_disclosure", {}, "delta", ["1/100", 500], [0, -1, "500.1"]),
        ("alpha_k", {"k": 1}, "alpha", ["1/100", 1], [0, -1, "1.01"]),
        ("alpha_k", {"alpha": 1}, "k", [1, 9], [0, -1]),
        ("l_diversity", {}, "l", [1, 9], [0, -1]),
        ("risk", {}, "prosecutor", ["1/100", 1], [0, -1, "1.01"]),
        ("risk", {}, "average", ["1/100", 1], [0, -1, "1.01"]),
        ("risk", {}, "uniqueness", [0, "1/100", 1], [-1, "1.01"]),
        ("risk", {"strict": True}, "uniqueness", ["1/100", 1], [0, -1, "1.01"]),
    ],
)
def test_class_and_gauge_refuse_alike(key, rest, setting, right, wrong):
    _, release = written("generalized", [{"a": 1, "b": 1}, {"a": 1}], [0])
    for number in right:
        criteria.CRITERIA[key](**rest, **{setting: number})
        assert len(verify(release, [{key: {**rest, setting: number}}])) == 1
    for number in wrong:
        with pytest.raises(InputError):
            criteria.CRITERIA[key](**rest, **{setting: number})
        with refused("wrong-setting", CertificateError):
            verify(release, [{key: {**rest, setting: number}}])


@pytest.mark.parametrize("key", ["k_anonymity", "group_size"])
@pytest.mark.parametrize("k", [True, "3", 2.0, 0])
def test_a_bare_number_is_whole(key, k):
    with pytest.raises(CertificateError):
        settings_of(key, k)
    assert settings_of(key, 2) == 2


def test_exact_ages_tell_people_apart():
    (verdict,) = verify(
        written("bucketized", [{"a": 1, "b": 1}], [30, 40])[1],
        [{"alpha_k": {"alpha": 1, "k": 2}}],
    )
    assert (verdict.found.each["k"], verdict.safe) == (1, False)


@pytest.mark.parametrize(("knowing", "alike"), [([], 2), (["job"], 1)])
def test_known_columns_divide_look_alikes(knowing, alike):
    people = {"group": ["1"] * 4, "age": ["30", "30", "40", "40"], "job": ["x", "y", "x", "x"]}
    tally = pa.table({"group": ["1", "1"], "ill": ["a", "b"], "count": ["2", "2"]})
    tables = {"people": pa.table(people), "sensitive": tally}
    held = Written("bucketized", ["group"], "ill", tables, exact=["age"], beside=["job"])
    (verdict,) = verify(held, [{"k_anonymity": 2, "knowing": knowing}])
    assert (verdict.reached, verdict.safe) == (alike, alike == 2)


def of_population(ages, digest=None, more=3, **readings):
    """Whether three people of a population may be in the group of ages below 30, and above."""
    everybody = pa.table({"age": [*ages, *["30"] * more]})
    digest = digest or read_population(everybody, ["age"]).digest
    table = pa.table({"age": ["20 to <30", "30 to <40"], "ill": ["a", "a"]})
    at_hand = {digest: everybody}
    held = Written("generalized", ["age"], "ill", {"release": table}, populations=at_hand)
    rule = {"k": 3, "population": "all.csv", "digest": digest, **readings}
    (verdict,) = verify(held, [{"k_map": rule}])
    return verdict.safe


def test_populations_must_fit():
    assert of_population(["20", "25", "29"])
    assert not of_population(["20", "29", "30"])  # an open end fits nobody
    assert not of_population(["20", "25", "29"], more=2)
    with refused("digest-differs"):
        of_population(["20", "25", "29"], digest="0" * 64)


@pytest.mark.parametrize(
    ("reading", "honest", "lying"),
    [
        (
            "trees",
            [["20", "20 to <30"], ["25", "20 to <30"], ["29", "20 to <30"], ["30", "30 to <40"]],
            [[age, "20 to <30"] for age in ("20", "25", "29", "30")],
        ),
        ("orders", ["20", "25", "29", "<30", "30", "<40"], ["20", "25", "29", "30", "<30", "<40"]),
    ],
)
def test_trees_change_no_label(reading, honest, lying):
    """A certificate that reads 20 to <30 as more people than are in it could hold for k_map."""
    ages = ["20", "25", "29"]
    assert of_population(ages, **{reading: {"age": honest}})
    with refused("ambiguous-label"):
        of_population(ages, **{reading: {"age": lying}})


def test_levels_tell_nodes_from_values():
    """Codes begin alike: 20 (level 1) is 20, 25 and 29, beside a value 20."""
    tree = [[age, age[0]] for age in ("25", "29", "30")] + [["20", "2"]]
    assert people_of_label("2 (level 1)", tree) == {"20", "25", "29"}
    tree = [["20", "20"], ["25", "20"], ["29", "20"], ["30", "30"]]
    assert people_of_label("20 (level 1)", tree) == {"20", "25", "29"}
    with refused("ambiguous-label"):
        people_of_label("20 to <30 (level 1)", [[age, "20 to <30"] for age in AGES])


AGES = ("20", "25", "29", "30")


def people_of_label(label, tree):
    """The ages, of which the population has each, that a label covers by a tree."""
    return _LabelReader({*AGES}, "age", tree, None, None).in_label(label)


def measured(rule, values, groups="0011"):
    table = pa.table({"age": [*groups], "ill": values})
    (verdict,) = verify(Written("generalized", ["age"], "ill", {"release": table}), [rule])
    return verdict.reached


def test_numbers_are_spelt_once():
    """Each spelling would take a place of its own in the order, and so make all distances less."""
    rule = {"t_closeness": {"t": 1, "distance": "ordered"}}
    assert measured(rule, ["1", "1", "2", "2"]) == Fraction(1, 2)
    with refused("spelt-twice"):
        measured(rule, ["1", "1.0", "2", "2"])
    table = pa.table({"age": [*"0011"], "ill": ["1", "1.0", "2", "2"]})
    release = fk.Release.from_generalized(table, quasi_identifiers=["age"], sensitive="ill")
    with refused("spelt-twice"):  # by a search, too
        fk.TCloseness(1, "ordered").measure(release)


def test_settings_say_where_they_are():
    for rule in ({"t_closeness": {"t": "x"}}, {"risk": {"average": "x"}}):
        with refused("wrong-value", where=next(iter(rule))):
            measured(rule, [*"abab"])
    with refused("wrong-value", where="require[0]"):
        measured({"k_anonymity": 2, "sensitive": ""}, [*"abab"])


def test_long_limits_are_refused():
    """A limit of thousands of digits beside the entropy would be settled in hours."""
    with localcontext() as context:
        context.prec = 80
        shares = [Decimal(n) / 2000 for n in (999, 1001)]
        effective = (-sum(share * share.ln() for share in shares)).exp()
    with refused("too-close"):
        rule = {"l_diversity": {"l": f"{effective}{7:03000}", "kind": "entropy"}}
        measured(rule, [*"a" * 999, *"b" * 1001], "0" * 2000)


# ---- that they would be caught -------------------------------------------------------------------


@pytest.mark.parametrize("number", ["1e-100000000", "1e100000000", "0." + "3" * 5000])
def test_endless_digits_are_refused(number):
    with refused("too-many-digits"):
        as_fraction(number)


@pytest.mark.parametrize(
    ("required", "reached"),
    [
        ({"k_anonymity": {"k": 2, "of": [["age"], ["zip"]]}}, 1),  # the fewest of both lists
        ({"levels": {"age": {"bottom": 30}}}, 1),  # of the label that begins at the bottom
        ({"levels": {"age": {"bottom": 29}}}, 0),
    ],
)
def test_ends_and_lists_of_columns(required, reached):
    ages = ["30 to 39", "40 to 49", "40 to 49"]
    rows = pa.table({"age": ages, "zip": ["1"] * 3, "ill": ["flu"] * 3})
    release = Written("generalized", ["age", "zip"], "ill", {"release": rows})
    (verdict,) = verify(release, [required])
    assert (verdict.reached, verdict.safe) == (reached, not reached)


TREE = [[value, "x" if value < "c" else "y", "*"] for value in "abcd"]
SHARES_OF_VALUES = [
    ("t_closeness", {"t": 1}),
    ("t_closeness", {"t": 1, "distance": "ordered", "order": [*"dbca"]}),
    ("t_closeness", {"t": 1, "distance": "hierarchical", "tree": TREE}),
    ("beta_likeness", {"beta": 2}),
    ("delta_disclosure", {"delta": 2}),
]


@pytest.mark.parametrize(("kind", "table"), SHARES_OF_VALUES)
@examples(20)
@given(bags=BAGS, scale=st.sampled_from([2**20, 2**29, 2**31]))
def test_shares_of_many_people(kind, table, bags, scale):
    def measured(times):
        labels = [Column.of([str(group) for group in range(len(bags))], np.arange(len(bags)))]
        cells = [(g, "abcd".index(v), n) for g, bag in enumerate(bags) for v, n in bag.items()]
        of_group, codes, counts = np.array(cells, np.int64).T
        groups = GroupBags(labels, [*"abcd"], of_group, codes, counts * times)
        return GAUGES[kind].measure(groups, settings_of(kind, table))

    assert measured(scale) == measured(1)
