"""Estimates cover the exact answer, suspicions are refuted where they can be, budgets are kept."""

import time
from fractions import Fraction
from math import comb

import pytest
from tests.attacks.small_methods import (
    BELOW_2_3,
    LEVELS,
    in_buckets,
    microdata,
    naive,
    policy_for,
    release_of,
)
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow_judge.errors import UnsupportedError


def bounds(found, row, value):
    """The interval of a posterior."""
    beliefs = found._posteriors
    at = beliefs.worlds.cell_of[row - 1], found._microdata.values.codes[value]
    return beliefs.low[at], beliefs.high[at]


def covers(found, exact, values):
    """Whether every interval holds the exact answer."""
    pairs = [(row, value) for row in range(1, found.n_people + 1) for value in values]
    ends = [(*bounds(found, *pair), exact.posterior(*pair)) for pair in pairs]
    return all(low - 1e-9 <= chance <= high + 1e-9 for low, high, chance in ends)


def at_least(half, least):
    """Everybody together if enough of the first half have a; else everybody alone."""

    def pipeline(rows):
        values = rows["disease"].to_pylist()
        return [0] * len(values) if values[:half].count("a") >= least else range(len(values))

    values = "a" * least + "b" * (half - least) + "b" * least + "a" * (half - least)
    ways = {k: comb(half, k) ** 2 for k in range(least, half + 1)}
    share = Fraction(sum(k * w for k, w in ways.items()), half * sum(ways.values()))
    return microdata(list(values), age=[0] * half + [1] * half), pipeline, share


def test_interchangeable_people_make_it_exact():
    """137 billion worlds are 21 ways to deal out to two kinds of people."""
    table, pipeline, share = at_least(20, 16)
    found = fk.attack(table, pipeline, worlds=100, symmetric=True)
    assert found.exact
    assert found.n_worlds == found.looked == comb(40, 20)
    assert 21 < found.runs < 42  # the possible ones, and a few others, are run again
    assert found.posterior(1, "a") == share


def test_independent_worlds_cover_it():
    """All intervals of an estimate together, with a confidence of 95%."""
    pipeline = naive(["AB|CD|EF|GHI", "ABC|DEF|GHI", "ABCDEF|GHI"])
    table = microdata(list("aabcbdabc"), age=range(9))
    exact = fk.attack(table, pipeline)
    assert exact.exact
    missed = 0
    for seed in range(40 if NIGHTLY else 8):
        found = fk.attack(table, pipeline, worlds=500, seed=seed)
        assert found.how == "independent worlds"
        missed += not covers(found, exact, "abcd")
    assert missed <= (2 if NIGHTLY else 1)


def test_who_is_certain_is_perhaps_certain():
    """Ages 0 are all a in every world that is left: draws cannot prove it."""
    table, pipeline, _ = at_least(7, 7)
    found = fk.attack(table, pipeline, worlds=3000, seed=1)
    assert (found.exact, found.certain, found.found, found.undecided) == (False, (), False, True)
    assert found.perhaps_certain == found.unsettled == tuple(range(1, 15))
    assert "unsettled" in repr(found)
    short = fk.attack(table, pipeline, worlds=40, seed=1)
    assert short.unsettled
    assert not short.cases  # nothing is claimed where few possible worlds were met
    table, pipeline, _ = at_least(12, 7)
    one, two, other = (fk.attack(table, pipeline, worlds=200, seed=s) for s in (5, 5, 6))
    assert one.to_dict() == two.to_dict() != other.to_dict()


@pytest.mark.parametrize("seed", range(3))
def test_who_had_another_value(seed):
    """Each of 30 people may have the one b: draws meet few of the worlds, and say so."""
    table = microdata(["a"] * 29 + ["b"], age=range(30))
    found = fk.attack(table, lambda rows: [0] * 30, worlds=29, seed=seed)
    assert not found.exact
    assert found.n_not_certain > 0
    assert found.n_not_certain + len(found.perhaps_certain) == 30
    found = fk.attack(table, lambda rows: [0] * 30, worlds=30, seed=seed)
    assert (found.exact, found.found) == (True, False)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("method", "values", "ages", "seeds"),
    [
        (fk.Mondrian(), "acbcab", [3, 2, 0, 1, 5, 2], None),
        (fk.Streamliner(2, "gda"), "aabcbacb", [1, 1, 2, 3, 3, 4, 5, 5], [0, 1, 2]),
    ],
    ids=repr,
)
def test_estimates_agree_with_exact(method, values, ages, seeds, seed):
    table = microdata(list(values), age=ages)
    policy = in_buckets(BELOW_2_3.requirements, table)
    exact = fk.attack(table, method, policy, seeds=seeds)
    groups = method.partition(table, policy, seed=seeds and seeds[0])
    again = fk.attack(table, method, policy, groups=groups, seeds=seeds)
    # One run of Mondrian settles small parts: so few worlds that none of them is looked at whole.
    few = 1 if isinstance(method, fk.Mondrian) else exact.n_worlds - 2
    found = fk.attack(table, method, policy, worlds=few, seed=seed, seeds=seeds)
    rows = range(1, len(values) + 1)
    assert (exact.exact, found.exact) == (True, False)
    assert [exact.posterior(r, "a") for r in rows] == [again.posterior(r, "a") for r in rows]
    assert set(exact.certain) <= set(found.unsettled)
    assert covers(found, exact, set(values))


def test_the_time_budget_is_kept():
    def slow(rows):
        time.sleep(0.01)
        return [0] * rows.num_rows

    table = microdata(list("abcd") * 6, age=range(24))
    found = fk.attack(table, slow, worlds=10**9, seconds=0.4)
    assert not found.exact
    assert found.runs < 50


def test_random_methods_by_their_seeds():
    """Twelve people together under two of three seeds if the first has a, else under one."""

    def pipeline(rows, seed):
        first = rows["disease"][0].as_py() == "a"
        return [0] * 12 if seed < (2 if first else 1) else range(12)

    table, seeds = microdata(list("aaabbbbbbbbb"), age=range(12)), [0, 1, 2]
    exact = fk.attack(table, pipeline, seeds=seeds)
    assert (exact.exact, exact.posterior(1, "a")) == (True, Fraction(2, 5))
    found = fk.attack(table, pipeline, worlds=600, seeds=seeds, seed=3)
    assert not found.exact
    low, high = bounds(found, 1, "a")
    assert low <= 0.4 <= high < 0.7


def test_estimated_disclosures_settle_nothing():
    values = ["a", "b", "c"] * 4
    table = microdata(values, LEVELS, age=range(12))
    policy = policy_for(BELOW_2_3, table)
    release = release_of(values, fk.FullDomain().partition(table, policy), age=range(12))
    found = fk.Algorithm(fk.FullDomain(), policy, worlds=40, seed=0).disclosure(release, "a")
    assert (found.estimated, found.exact) == (True, None)
    assert not found.below("0.99")
    assert 1 / 3 <= found.probability <= 1


def test_lots_are_never_run_once():
    """ART breaks ties by lot, and states no chances."""
    found = microdata("aabb", q=list("xyxy"))
    method = fk.ART(2, fk.Priors.learn(found.source.arrow(["q", "disease"]), ["q"], "disease"))
    groups = method.partition(found)
    release = release_of("aabb", groups, q=list("xyxy"))
    for ask in (
        lambda: fk.attack(found, method),
        lambda: fk.attack(found, method, groups=groups),
        lambda: fk.Algorithm(method, schema=found.schema, symmetric=True).disclosure(release),
    ):
        with pytest.raises(UnsupportedError, match="say seeds = those"):
            ask()
    assert fk.attack(found, method, seeds=[0, 1]).exact


def test_rare_releases_leave_all_unsettled():
    """One world in 924 leads to it: nothing is kept, so nothing is claimed."""
    table, own = microdata(list("ab" * 6), age=range(12)), list("ab" * 6)

    def pipeline(rows):
        return [0] * 12 if rows["disease"].to_pylist() == own else range(12)

    found = fk.attack(table, pipeline, worlds=20, seed=0)
    assert (found.how, found.consistent, found.cases) == ("independent worlds", 0, ())
    assert found.unsettled == tuple(range(1, 13))
    assert bounds(found, 1, "a") == (0, 1)


def test_of_whom_too_little_is_known():
    """People of whom few possible worlds were met, in truth above the limit: not called safe."""
    n = 30
    raw = microdata([*"aaaaaabc", *"a" * 12, *"b" * 5, *"c" * 5], q=range(n))

    def pipeline(rows):
        first = rows["disease"].to_pylist()[:8]
        six = sorted(first[:6])
        odd = six == list("aaaaab") and first[6:] == ["b", "c"]
        return [0] * n if six == list("aaaaaa") or odd else [0, 1] * (n // 2)

    policy = fk.Policy([fk.Requirement(fk.Facts(), below="9/10", knowing=[])], schema=raw.schema)
    for seed in (3, 4):
        found = fk.attack(raw, pipeline, policy, worlds=1500, seconds=60, seed=seed)
        rows = {row for case in found.breaches for row in case.rows}
        assert {1, 2, 3, 4, 5, 6} <= rows | set(found.unsettled)
