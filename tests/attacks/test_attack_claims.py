"""Only what a method declares is taken for granted; and a replay says what a run makes."""

from fractions import Fraction
from itertools import count, permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attacks.small_methods import (
    BELOW_2_3,
    BUCKETS,
    DIVERSE,
    LEVELS,
    Coin,
    agrees,
    enumerated,
    microdata,
    naive,
    policy_for,
)
from tests.examples import examples

import foreknow as fk
from foreknow.attacks.method_runner import Runs
from foreknow.attacks.observation import numbered
from foreknow.attacks.worlds import Worlds
from foreknow.methods.mondrian.replay import Replay
from foreknow_judge.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("tiny_tables")


def first_row(kind, *settings):
    """A subclass whose groups depend on who stands in the first row."""

    def partition(self, microdata, policy=None, seed=None):
        first = microdata.values[int(microdata.sensitive_codes[0])]
        return np.array([0, 0, 0, 0] if first == "hiv" else [0, 0, 1, 1])

    return type(f"FirstRow{kind.__name__}", (kind,), {"partition": partition})(*settings)


SUBCLASSES = [
    *map(first_row, (fk.Mondrian, fk.FullDomain, fk.Safe)),
    *(first_row(kind, 2) for kind in (fk.Anatomy, fk.Streamliner)),
]


@pytest.mark.parametrize("method", SUBCLASSES, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("values", [("hiv", "flu", "flu", "hiv"), ("flu", "hiv", "hiv", "flu")])
def test_a_subclass_that_groups_in_its_own_way_is_another_method(method, values):
    table = microdata(values, age=[30] * 4)
    policy = fk.Policy(DIVERSE.requirements, table.schema, BUCKETS)

    def algorithm(world):
        first = world[0] == "hiv"
        return frozenset({frozenset(range(4))} if first else {frozenset({0, 1}), frozenset({2, 3})})

    expected = enumerated(algorithm, values)
    found = fk.attack(table, method, policy)
    agrees(found, values, *expected)
    assert found.certain == ((1,) if values[0] == "hiv" else (1, 2))


def test_a_subclass_that_says_so_itself_is_believed():
    class Known(fk.Mondrian):
        traits = fk.Traits(symmetric=True)

        def partition(self, microdata, policy=None, seed=None):
            return fk.Mondrian().partition(microdata, policy)

    class Inherits(Known):
        def partition(self, microdata, policy=None, seed=None):
            return super().partition(microdata, policy)

    class Alike(fk.Anatomy):
        """Nothing of its own: still another class, of which nothing is known."""

    table = microdata("ababab", age=[30] * 6)
    policy = policy_for(DIVERSE, table)
    runs = [fk.attack(table, method, policy).runs for method in (Known(), Inherits())]
    assert runs[0] < 20 <= runs[1]
    with pytest.raises(fk.InputError, match="what its class inherits does not count"):
        fk.attack(microdata("abcabc", age=range(6)), Alike(2))
    assert fk.attack(microdata("abcabc", age=range(6)), Alike(2), seeds=[1]).exact


def test_a_method_that_is_wrongly_said_to_be_symmetric_is_refused_where_it_shows():
    table = microdata("abcabc", age=[30] * 6)

    def pipeline(rows):
        return [0] * 6 if rows["disease"][0].as_py() == "a" else [0, 0, 0, 1, 1, 1]

    with pytest.raises(fk.InputError, match="is said to be symmetric"):
        fk.attack(table, pipeline, symmetric=True)
    pipeline.traits = fk.Traits(symmetric=True)
    with pytest.raises(fk.InputError, match="is said to be symmetric"):
        fk.attack(table, pipeline)
    assert fk.attack(table, pipeline, symmetric=False).certain == (1,)


class Either(fk.Mondrian):
    """One of two groupings by lot."""

    lots = np.random.default_rng(1)

    def partition(self, microdata, policy=None, seed=None):
        return np.array([[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1]][self.lots.integers(2)])


class Moody(fk.Facts):
    """An adversary of the user's own who answers otherwise each time."""

    calls = count()

    def ledger(self, threshold, values=None, semantics="single"):
        return fk.Facts().ledger(1 if next(self.calls) % 2 else "2/3", values)


def changing(steady):
    """A function that behaves otherwise after some runs."""
    calls = count()

    def pipeline(rows):
        values = rows["disease"].to_pylist()
        late = next(calls) > steady
        return [0] * 6 if (values[0] == "a") != late else [0, 0, 0, 1, 1, 1]

    return pipeline


@pytest.mark.parametrize(
    ("values", "method", "requirements"),
    [
        ("abcabc", Either(), DIVERSE.requirements),
        ("aabaabab", fk.Mondrian(), [fk.Requirement(Moody(), below=1)]),
        ("abcabc", changing(0), ()),
        # Seen when worlds are run again.
        ("abcabc", changing(40), ()),
        ("abcabc", Coin(["AB|CD|EF", "ABC|DEF", "ABCD|EF", "AB|CDEF"]), ()),
        # Of this table there is one safe grouping only; of its worlds there are several.
        ("aaabcc", Coin(["AB|CD|EF", "ABC|DEF", "ACE|BDF", "ABCDEF"]), ()),
    ],
)
def test_what_is_seen_to_be_random_is_refused(values, method, requirements):
    columns = {"age": range(len(values)), "sex": [i % 2 for i in range(len(values))]}
    table = microdata(values, {"age": fk.Intervals([2, 4])}, **columns)
    policy = fk.Policy(requirements, table.schema, BUCKETS) if requirements else None
    with pytest.raises(fk.InputError, match="another release each time") as caught:
        fk.attack(table, method, policy)
    assert "say seeds" in str(caught.value)


def test_worlds_met_by_an_estimate_are_run_again():
    calls = count()

    def pipeline(rows):
        return [0] * rows.num_rows if next(calls) < 150 else None

    with pytest.raises(fk.InputError, match="another release each time"):
        fk.attack(microdata("abcdefghi", age=range(9)), pipeline, worlds=140, seed=0)


def test_seeds_of_a_function():
    table = microdata("abab", age=[1, 2, 3, 4])

    def seeded(rows, seed):
        return [0, 1, 0, 1] if seed else [0, 0, 1, 1]

    found = fk.attack(table, seeded, seeds=[0, 1])
    assert found.exact
    assert found.n_groups == 2
    with pytest.raises(fk.InputError, match=r"define it as f\(table, seed\)"):
        fk.attack(table, lambda rows: [0] * 4, seeds=[0])
    lots = np.random.default_rng(0)
    with pytest.raises(fk.InputError, match="with the same seed"):
        fk.attack(table, lambda rows, seed: lots.integers(0, 2, 4).tolist(), seeds=[0])


class Slow:
    """Exact counting that is beyond reach in some worlds."""

    def partition(self, found, policy=None, seed=None):
        from foreknow.errors import BeyondReach

        if found.values[int(found.sensitive_codes[0])] == "b":
            raise BeyondReach("too many steps")
        return np.zeros(found.n_rows, dtype=int)


def test_worlds_beyond_reach_are_worlds_without_a_release():
    found = fk.attack(microdata("abab", age=range(4)), Slow())
    assert (found.n_worlds, found.consistent, found.certain) == (6, 3, (1,))
    with pytest.raises(fk.InputError, match="too many steps"):
        fk.attack(microdata("baab", age=range(4)), Slow())
    none = fk.attack(microdata("baab", age=range(4)), Slow(), nothing=True)
    assert none.certain == (1,)


def test_safe_is_a_function_of_its_table_alone():
    """What is within reach does not depend on what was counted before."""
    functions = ["ABC|DEF", "ABCD|EF", "AB|CDEF", "ABCDEF"]
    groups = [[next(i for i, g in enumerate(f.split("|")) if p in g) for p in "ABCDEF"]
              for f in functions]  # fmt: skip
    outcomes = {}
    tables = sorted(set(permutations("aabbcd")))
    for order in (tables, tables[::-1]):
        method = fk.Safe(groups, fk.MaxRatio("1/2"), steps=60)
        for values in order:
            try:
                made = tuple(method.partition(microdata(values, age=range(6))).tolist())
            except (fk.NoSafeRelease, UnsupportedError) as error:
                made = type(error).__name__
            assert outcomes.setdefault(values, made) == made
    assert "BeyondReach" in outcomes.values()
    assert any(isinstance(made, tuple) for made in outcomes.values())


def test_nothing_published_can_tell():
    """Errata, section 5: of the six tables without a release all have a in rows 3 and 4."""
    pipeline = naive(["BCD|AE", "ACD|BE"])
    nothing = [
        values
        for values in sorted(set(permutations("aabcd")))
        if pipeline(microdata(values, age=[0] * 5).source.arrow(["disease"])) is None
    ]
    assert len(nothing) == 6
    found = fk.attack(microdata(nothing[0], age=[0] * 5), pipeline, nothing=True)
    assert (found.what, found.n_worlds, found.consistent) == ("nothing", 60, 6)
    assert found.certain == (3, 4)
    for person in range(5):
        for value in "abcd":
            hits = sum(values[person] == value for values in nothing)
            assert found.posterior(person + 1, value) == Fraction(hits, 6)
    assert found.worst.share == Fraction(2, 5)
    page = found._repr_html_()
    assert "nothing is published of 5 people" in page
    assert "known how often each value occurs in all" in page
    assert "6 could have led to nothing being published" in page
    assert found.to_dict()["seen"] == "nothing"


def test_nothing_of_safe_says_what_its_own_set_says():
    groups = [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1]]
    method = fk.Safe(groups, fk.MaxRatio("1/2"))
    values = ["flu", "cold", "cancer", "cancer", "headache", "toothache"]
    run = method.run(values)
    assert run.released is None
    found = fk.attack(microdata(values, age=range(6)), method, nothing=True)
    expected = run.nothing_set()
    assert found.consistent == expected.size
    for person, row in expected.marginals.items():
        for value in set(values):
            assert found.posterior(person + 1, value) == row.get(value, 0)


def test_nothing_is_estimated_where_there_are_too_many_worlds():
    def pipeline(rows):
        values = rows["disease"].to_pylist()
        return None if values[0] == "a" else [0] * 12

    found = fk.attack(
        microdata("aabbccddeeff", age=range(12)), pipeline, nothing=True, worlds=2000, seed=1
    )
    assert not found.exact
    assert found.perhaps_certain == (1,)
    assert found.unsettled == (1,)


def test_where_something_might_be_published_nothing_is_not_attacked():
    table = microdata("aabbc", age=range(5))
    with pytest.raises(fk.NoSafeRelease):
        fk.attack(table, lambda rows: None)
    assert fk.attack(table, fk.Anatomy(3), seeds=[1], nothing=True).cases == ()


def test_lots_of_a_known_seed_are_not_symmetric():
    table = microdata("aabbcd", age=[1] * 6)
    assert len(fk.attack(table, fk.Streamliner(2), seeds=[5]).certain) == 6
    for method in (fk.Streamliner(2), fk.Anatomy(2)):
        with pytest.raises(fk.InputError, match="goes by the order of rows"):
            fk.attack(table, method, seeds=[0], symmetric=True)


def test_limits_relative_to_priors_are_refused():
    rows = pa.table({"age": [1] * 4, "disease": list("aabb")})
    priors = fk.Priors.learn(rows, ["age"], "disease")
    policy = fk.Policy([fk.Requirement(priors, at_most_times=2, knowing=[])])
    with pytest.raises(UnsupportedError, match="at_most_times is for priors; give below"):
        fk.attack(microdata("aabb", age=[1] * 4), fk.Streamliner(2), policy)


# ---- Mondrian replayed --------------------------------------------------------------------------

POLICIES = [
    DIVERSE,
    BELOW_2_3,
    fk.Policy([fk.Requirement(fk.Facts(l=1), below="3/4", knowing=[])]),
    fk.Policy([fk.Requirement(fk.Facts(k=1), below="9/10", knowing=[])]),
    fk.Policy([fk.Requirement(fk.Implications(1), below="9/10", knowing=[])]),
    fk.Policy(
        [
            fk.Requirement(fk.Facts(l=1), below=1, knowing=[]),
            fk.Requirement(fk.Facts(m=1), below="3/4", knowing=[]),
        ]
    ),
]


def worlds_of(table, groups, seed, most):
    codes = np.asarray(table.sensitive_codes)
    worlds = Worlds.of(groups, codes, len(table.values))
    random = np.random.default_rng(seed)
    return [worlds.at_random(random) for _ in range(most)]


@examples(30, deadline=None)
@given(st.data())
def test_it_says_what_a_run_makes(data):
    n = data.draw(st.integers(3, 12))
    people = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    kinds = {"age": data.draw(people), "sex": [str(s % 3) for s in data.draw(people)]}
    values = data.draw(st.lists(st.sampled_from("aabbcd"), min_size=n, max_size=n))
    levels = LEVELS if data.draw(st.booleans()) else {}
    table = microdata(values, levels, **kinds)
    policy = data.draw(st.sampled_from(POLICIES))
    method = fk.Mondrian(cuts=data.draw(st.sampled_from([1, 2, 5])))
    try:
        groups = numbered(method.partition(table, policy))
    except fk.NoSafeRelease:
        return
    foreseen = Replay.of(method, table, policy)
    assert np.array_equal(numbered(foreseen.groups), groups)
    assert foreseen.same(np.asarray(table.sensitive_codes)) is not False
    for codes in worlds_of(table, groups, data.draw(st.integers(0, 99)), 6):
        said = foreseen.same(codes)
        made = numbered(method.partition(table.with_sensitive(codes), policy))
        assert said is None or said == np.array_equal(made, groups)


@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
def test_most_worlds_need_no_run(policy):
    random = np.random.default_rng(5)
    values = random.choice(list("abcd"), 60).tolist()
    table = microdata(values, age=random.integers(20, 60, 60).tolist())
    groups = numbered(fk.Mondrian().partition(table, policy))
    foreseen = Replay.of(fk.Mondrian(), table, policy)
    said = [foreseen.same(codes) for codes in worlds_of(table, groups, 1, 60)]
    assert said.count(None) <= 6
    assert said.count(False) >= 1


def test_groups_under_one_label_are_not_foreseen():
    """A null and the text "missing" print alike: labels may not tell groups apart."""
    rows = pa.table({"kind": ["missing", None, "x", "x"], "disease": list("abab")})
    schema = fk.Schema(quasi_identifiers=["kind"], sensitive="disease")
    table = fk.Microdata(rows, schema)
    policy = fk.Policy(DIVERSE.requirements, schema=schema)
    for options, known in ((fk.PublishOptions(), False), (BUCKETS, True)):
        own = fk.Policy(policy.requirements, schema=schema, options=options)
        runs = Runs(table, fk.Mondrian(), own)
        runs.make_first(table.sensitive_codes)
        assert (runs.replay(table.sensitive_codes) is not None) == known


# Ten people each. Of two groups the first lowers what a fact about the value s may cost, the second
# what a relative may cost; either may stand beside the others, not both.
FACT, RELATIVE = ["s", *"bbbbbbbb", "c"], [*"ssss", *"cdefgh"]
NO_FACT, OTHERS = ["s", *"bbbbbbbbb"], [*"ijklmnopqr"]
CROSSED = fk.Policy([fk.Requirement(fk.Facts(l=1, m=1), below="3/5", values=["s"], knowing=[])])


@pytest.mark.parametrize("before", [True, False])
def test_what_was_refused_because_of_what_came_before_or_after_needs_a_run(before):
    """Ages 0 and 1, and 10 and 11: first the two pairs are divided, then each pair in order."""
    ages = [age for age in (0, 1, 10, 11) for _ in range(10)]
    tens = (RELATIVE, OTHERS, FACT, OTHERS) if before else (NO_FACT, OTHERS, RELATIVE, OTHERS)
    table = microdata([value for ten in tens for value in ten], age=ages)
    foreseen = Replay.of(fk.Mondrian(), table, CROSSED)
    sizes = np.bincount(numbered(fk.Mondrian().partition(table, CROSSED))).tolist()
    codes = np.asarray(table.sensitive_codes)
    if before:
        assert (sizes, foreseen.same(codes)) == ([10, 10, 20], None)
        return
    assert sizes == [20, 10, 10]
    assert foreseen.same(codes)
    other = codes.copy()
    other[[1, 10]] = other[[10, 1]]  # as FACT: divided at once, since nobody was before
    assert foreseen.same(other) is None
    made = numbered(fk.Mondrian().partition(table.with_sensitive(other), CROSSED))
    assert np.bincount(made).tolist() == [10, 10, 20]
