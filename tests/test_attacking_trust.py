"""Only what is known of a method is taken for granted: not of its base class, nor of its luck."""

from fractions import Fraction
from itertools import count, permutations

import numpy as np
import pyarrow as pa
import pytest
from tests.attacks import BUCKETS, DIVERSE, agrees, enumerated, microdata, naive, policy_for

import foreknow as fk
from foreknow.adversaries.algorithm import attack
from foreknow.errors import UnsupportedError


def by_first(found):
    """Groups that depend on who stands in the first row."""
    first = found.values[int(found.sensitive_codes[0])]
    return np.array([0, 0, 0, 0] if first == "hiv" else [0, 0, 1, 1])


class FirstRow(fk.Mondrian):
    def partition(self, microdata, policy=None, seed=None):
        return by_first(microdata)


class FirstRowOfLattice(fk.FullDomain):
    def partition(self, microdata, policy=None, seed=None):
        return by_first(microdata)


class FirstRowOfAnatomy(fk.Anatomy):
    def partition(self, microdata, policy=None, seed=None):
        return by_first(microdata)


class FirstRowOfStreamliner(fk.Streamliner):
    def partition(self, microdata, policy=None, seed=None):
        return by_first(microdata)


class FirstRowOfSafe(fk.Safe):
    def partition(self, microdata, policy=None, seed=None):
        return by_first(microdata)


SUBCLASSES = [
    FirstRow(),
    FirstRowOfLattice(),
    FirstRowOfAnatomy(2),
    FirstRowOfStreamliner(2),
    FirstRowOfSafe(),
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
    found = attack(table, method, policy)
    agrees(found, values, *expected)
    assert found.certain == ((1,) if values[0] == "hiv" else (1, 2))


def test_a_subclass_that_says_so_itself_is_believed():
    class Known(fk.Mondrian):
        symmetric = True

        def partition(self, microdata, policy=None, seed=None):
            return fk.Mondrian().partition(microdata, policy)

    class Inherits(Known):
        def partition(self, microdata, policy=None, seed=None):
            return super().partition(microdata, policy)

    class Alike(fk.Anatomy):
        """Nothing of its own: still another class, of which nothing is known."""

    table = microdata("ababab", age=[30] * 6)
    policy = policy_for(DIVERSE, table)
    runs = [attack(table, method, policy).runs for method in (Known(), Inherits())]
    assert runs[0] < 20 <= runs[1]
    with pytest.raises(fk.InputError, match="what its class inherits does not count"):
        attack(microdata("abcabc", age=range(6)), Alike(2))
    assert attack(microdata("abcabc", age=range(6)), Alike(2), seeds=[1]).exact


def test_a_method_that_is_wrongly_said_to_be_symmetric_is_refused_where_it_shows():
    table = microdata("abcabc", age=[30] * 6)

    def pipeline(rows):
        return [0] * 6 if rows["disease"][0].as_py() == "a" else [0, 0, 0, 1, 1, 1]

    with pytest.raises(fk.InputError, match="is said to be symmetric"):
        attack(table, pipeline, symmetric=True)
    pipeline.symmetric = True
    with pytest.raises(fk.InputError, match="is said to be symmetric"):
        attack(table, pipeline)
    assert attack(table, pipeline, symmetric=False).certain == (1,)


def test_a_random_subclass_is_refused():
    lots = np.random.default_rng(1)

    class Either(fk.Mondrian):
        def partition(self, microdata, policy=None, seed=None):
            return np.array([[0, 0, 0, 0], [0, 0, 1, 1]][lots.integers(2)])

    table = microdata("abab", age=[30] * 4)
    with pytest.raises(fk.InputError, match="another release each time"):
        attack(table, Either(), fk.Policy(DIVERSE.requirements, table.schema, BUCKETS))


def test_an_objective_of_the_users_is_not_known_to_be_deterministic():
    lots = np.random.default_rng(0)
    columns = {"age": [1, 2, 3, 4], "sex": [0, 0, 1, 1]}
    table = microdata("abab", {"age": fk.Intervals([2, 4])}, **columns)
    policy = policy_for(DIVERSE, table)
    with pytest.raises(fk.InputError, match="another release each time"):
        attack(table, fk.FullDomain(objective=lambda counts, levels: lots.random()), policy)
    steady = fk.FullDomain(objective=lambda counts, levels: counts.n_groups)
    found = attack(table, steady, policy)
    assert found.exact
    assert found.n_worlds == found.looked


@pytest.mark.parametrize("steady", [0, 40])
def test_a_method_that_changes_with_what_was_run_before_is_refused_where_it_shows(steady):
    """It comes to behave otherwise after a number of runs: seen when worlds are run again."""
    calls = count()

    def pipeline(rows):
        values = rows["disease"].to_pylist()
        late = next(calls) > steady
        return [0] * 6 if (values[0] == "a") != late else [0, 0, 0, 1, 1, 1]

    with pytest.raises(fk.InputError, match="another release each time"):
        attack(microdata("abcabc", age=range(6)), pipeline)


def test_worlds_met_by_an_estimate_are_run_again():
    calls = count()

    def pipeline(rows):
        return [0] * rows.num_rows if next(calls) < 150 else None

    with pytest.raises(fk.InputError, match="another release each time"):
        attack(microdata("abcdefghi", age=range(9)), pipeline, worlds=140, seed=0)


def test_seeds_of_a_function():
    table = microdata("abab", age=[1, 2, 3, 4])

    def seeded(rows, seed):
        return [0, 1, 0, 1] if seed else [0, 0, 1, 1]

    found = attack(table, seeded, seeds=[0, 1])
    assert found.exact
    assert found.n_groups == 2
    with pytest.raises(fk.InputError, match=r"define it as f\(table, seed\)"):
        attack(table, lambda rows: [0] * 4, seeds=[0])
    lots = np.random.default_rng(0)
    with pytest.raises(fk.InputError, match="with the same seed"):
        attack(table, lambda rows, seed: lots.integers(0, 2, 4).tolist(), seeds=[0])


def test_an_adversary_of_the_users_may_answer_otherwise_each_time():
    calls = count()

    class Moody(fk.Facts):
        def ledger(self, threshold, values=None, semantics="single"):
            return fk.Facts().ledger(1 if next(calls) % 2 else "2/3", values)

    table = microdata("aabaabab", age=range(8))
    policy = fk.Policy([fk.Requirement(Moody(), below=1)], table.schema)
    with pytest.raises(fk.InputError, match="another release each time"):
        attack(table, fk.Mondrian(), policy)


class Slow:
    """Exact counting that is beyond reach in some worlds."""

    def partition(self, found, policy=None, seed=None):
        from foreknow.methods.jump.disclosure_set import BeyondReach

        if found.values[int(found.sensitive_codes[0])] == "b":
            raise BeyondReach("too many steps")
        return np.zeros(found.n_rows, dtype=int)


def test_worlds_beyond_reach_are_worlds_without_a_release():
    found = attack(microdata("abab", age=range(4)), Slow())
    assert (found.n_worlds, found.consistent, found.certain) == (6, 3, (1,))
    with pytest.raises(fk.InputError, match="too many steps"):
        attack(microdata("baab", age=range(4)), Slow())
    none = attack(microdata("baab", age=range(4)), Slow(), nothing=True)
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
    found = attack(microdata(nothing[0], age=[0] * 5), pipeline, nothing=True)
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
    found = attack(microdata(values, age=range(6)), method, nothing=True)
    expected = run.nothing_set()
    assert found.consistent == expected.size
    for person, row in expected.marginals.items():
        for value in set(values):
            assert found.posterior(person + 1, value) == row.get(value, 0)


def test_nothing_is_estimated_where_there_are_too_many_worlds():
    def pipeline(rows):
        values = rows["disease"].to_pylist()
        return None if values[0] == "a" else [0] * 12

    found = attack(
        microdata("aabbccddeeff", age=range(12)), pipeline, nothing=True, worlds=2000, seed=1
    )
    assert not found.exact
    assert found.not_refuted == (1,)


def test_what_of_nothing_is_refused():
    table = microdata("aabbc", age=range(5))
    with pytest.raises(fk.InputError, match="publishes something"):
        attack(table, lambda rows: [0] * 5, nothing=True)
    with pytest.raises(fk.InputError, match="not of publishing nothing"):
        attack(table, fk.Anatomy(2), nothing=True)
    with pytest.raises(fk.InputError, match="there is none"):
        attack(table, lambda rows: None, nothing=True, groups=[0] * 5)
    with pytest.raises(fk.InputError, match="nothing is True or False"):
        attack(table, lambda rows: None, nothing="yes")
    with pytest.raises(fk.InputError, match="symmetric is True or False"):
        attack(table, lambda rows: None, symmetric="no")
    with pytest.raises(fk.NoSafeRelease):
        attack(table, lambda rows: None)
    assert attack(table, fk.Anatomy(3), seeds=[1], nothing=True).cases == ()


def test_lots_of_a_known_seed_are_not_symmetric():
    table = pa.table({"age": [1] * 6, "disease": list("aabbcd")})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive="disease"))
    assert len(fk.attack(microdata, fk.Streamliner(2), seeds=[0]).certain) == 6
    for method in (fk.Streamliner(2), fk.Anatomy(2)):
        with pytest.raises(fk.InputError, match="goes by the order of rows"):
            fk.attack(microdata, method, seeds=[0], symmetric=True)


def test_limits_relative_to_priors_are_refused():
    table = pa.table({"age": [1] * 4, "disease": list("aabb")})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive="disease"))
    priors = fk.Priors.learn(table, ["age"], "disease")
    policy = fk.Policy([fk.Requirement(priors, at_most_times=2)])
    with pytest.raises(UnsupportedError, match="at_most_times is relative to priors"):
        fk.attack(microdata, fk.Streamliner(2), policy)
