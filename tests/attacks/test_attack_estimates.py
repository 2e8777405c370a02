"""Estimates cover the exact answer, suspicions are refuted where they can be, budgets are kept."""

import time
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from tests.attacks.small_methods import (
    BELOW_2_3,
    BUCKETS,
    LEVELS,
    microdata,
    naive,
    policy_for,
    release_of,
    table,
)
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow_judge.errors import UnsupportedError


def covers(found, exact, rows, values):
    """Whether every interval holds the exact answer."""
    pairs = [(row, value) for row in rows for value in values]
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
    return pipeline, microdata(list(values), age=[0] * half + [1] * half), share


def bounds(found, row, value):
    """The interval of a posterior."""
    beliefs = found._posteriors
    at = beliefs.worlds.cell_of[row - 1], found._microdata.values.codes[value]
    return beliefs.low[at], beliefs.high[at]


def test_interchangeable_people_make_it_exact():
    """137 billion worlds are 21 ways to deal out to two kinds of people."""
    pipeline, table, share = at_least(20, 16)
    found = fk.attack(table, pipeline, worlds=100, symmetric=True)
    assert found.exact
    assert found.n_worlds == found.looked == comb(40, 20)
    assert 21 < found.runs < 42  # the possible ones, and a few others, are run again
    assert found.posterior(1, "a") == share


def test_independent_worlds_cover_the_exact_answer():
    """All intervals of an estimate together, with a confidence of 95%."""
    pipeline = naive(["AB|CD|EF|GHI", "ABC|DEF|GHI", "ABCDEF|GHI"])
    table = microdata(list("aabcbdabc"), age=range(9))
    exact = fk.attack(table, pipeline)
    assert exact.exact
    missed = 0
    for seed in range(40 if NIGHTLY else 15):
        found = fk.attack(table, pipeline, worlds=500, seed=seed)
        assert found.how == "independent worlds"
        missed += not covers(found, exact, range(1, 10), "abcd")
    assert missed <= (2 if NIGHTLY else 1)


def test_who_is_certain_is_perhaps_certain():
    """Ages 0 are all a in every world that is left: draws cannot prove it."""
    pipeline, table, _ = at_least(7, 7)
    found = fk.attack(table, pipeline, worlds=3000, seed=1)
    assert not found.exact
    assert found.certain == ()
    assert found.perhaps_certain == found.unsettled == tuple(range(1, 15))
    assert not found.found
    assert found.undecided
    assert "unsettled" in repr(found)
    short = fk.attack(table, pipeline, worlds=40, seed=1)
    assert short.unsettled
    assert not short.cases  # nothing is claimed where few possible worlds were met


@pytest.mark.parametrize("seed", range(5))
def test_who_had_another_value_is_not_certain(seed):
    """Each of 30 people may have the one b: draws meet few of the worlds, and say so."""
    values = ["a"] * 29 + ["b"]

    def pipeline(rows):
        return [0] * 30

    table = microdata(values, age=range(30))
    found = fk.attack(table, pipeline, worlds=29, seed=seed)
    assert not found.exact
    assert found.n_not_certain > 0
    assert found.n_not_certain + len(found.perhaps_certain) == 30
    found = fk.attack(table, pipeline, worlds=30, seed=seed)
    assert found.exact
    assert not found.found


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
def test_estimates_agree_with_the_exact_answer(method, values, ages, seeds, seed):
    table = microdata(list(values), age=ages)
    policy = fk.Policy(BELOW_2_3.requirements, table.schema, BUCKETS)
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
    assert covers(found, exact, rows, set(values))


def test_the_same_seed_gives_the_same_estimate():
    pipeline, table, _ = at_least(12, 7)
    one, two, other = (fk.attack(table, pipeline, worlds=200, seed=s) for s in (5, 5, 6))
    assert one.to_dict() == two.to_dict() != other.to_dict()


def test_the_time_budget_is_kept():
    def slow(rows):
        time.sleep(0.01)
        return [0] * rows.num_rows

    table = microdata(list("abcd") * 6, age=range(24))
    found = fk.attack(table, slow, worlds=10**9, seconds=0.8)
    assert not found.exact
    assert found.runs < 100


def test_a_random_method_is_sampled_by_its_seeds():
    """Twelve people together under two of three seeds if the first has a, else under one."""

    def pipeline(rows, seed):
        first = rows["disease"][0].as_py() == "a"
        return [0] * 12 if seed < (2 if first else 1) else range(12)

    table, seeds = microdata(list("aaabbbbbbbbb"), age=range(12)), [0, 1, 2]
    exact = fk.attack(table, pipeline, seeds=seeds)
    assert exact.exact
    assert exact.posterior(1, "a") == Fraction(2, 5)
    found = fk.attack(table, pipeline, worlds=600, seeds=seeds, seed=3)
    assert not found.exact
    low, high = bounds(found, 1, "a")
    assert low <= 0.4 <= high < 0.7


def test_an_estimated_disclosure_settles_nothing():
    values = ["a", "b", "c"] * 4
    table = microdata(values, LEVELS, age=range(12))
    policy = policy_for(BELOW_2_3, table)
    groups = fk.FullDomain().partition(table, policy)
    release = release_of(values, groups, age=range(12))
    adversary = fk.Algorithm(fk.FullDomain(), policy, worlds=40, seed=0)
    found = adversary.disclosure(release, "a")
    assert found.estimated
    assert found.exact is None
    assert not found.below("0.99")
    assert 1 / 3 <= found.probability <= 1


def test_a_method_that_draws_lots_is_never_run_once_and_believed():
    """ART breaks ties by lot, and states no chances."""
    found = microdata("aabb", q=list("xyxy"))
    method = fk.ART(2, fk.Priors.learn(table("aabb", q=list("xyxy")), ["q"], "disease"))
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


@pytest.mark.parametrize(
    "method", [fk.Anatomy(3), *(fk.Streamliner(3, v) for v in ("rda", "ria", "gsa"))], ids=repr
)
def test_many_people_by_a_proof(method):
    """Too many worlds to look at: posteriors are the frequencies in groups, at any size."""
    table = microdata(list("aabbccdd") * 40, age=range(320))
    found = fk.attack(table, method, seed=1)
    assert (found.exact, found.how, found.looked) == (True, "proof", 0)
    assert not found.found
    assert not found.cases
    assert not found.unsettled
    groups = method.partition(table, seed=1)
    group = np.flatnonzero(groups == groups[0])
    held = [table.values[int(code)] for code in np.asarray(table.sensitive_codes)[group]]
    for value in "abcd":
        said = found.posterior(1, value)
        assert isinstance(said, Fraction)
        assert said == Fraction(held.count(value), len(held))
    again = fk.attack(table, method, groups=groups)
    assert [again.posterior(r, "a") for r in (1, 2, 9)] == [
        found.posterior(r, "a") for r in (1, 2, 9)
    ]


@pytest.mark.parametrize("method", [fk.Anatomy(3), fk.Streamliner(3)], ids=repr)
def test_a_proof_is_not_asked_about_what_the_method_cannot_have_made(method):
    table = microdata(list("aabbccdd") * 40, age=range(320))
    with pytest.raises(fk.InputError, match=r"is it the method|does not make these groups"):
        fk.attack(table, method, groups=np.zeros(320, dtype=int))


def test_a_release_of_lots_can_be_judged_by_itself():
    raw = microdata("aabb", q=[1, 2, 3, 4])
    schema = raw.schema
    release = release_of("aabb", fk.Streamliner(2).partition(raw), q=[1, 2, 3, 4])
    found = fk.Algorithm(fk.Streamliner(2), schema=schema).disclosure(release)
    assert found.exact == Fraction(1, 2)
    assert not found.estimated
    with pytest.raises(UnsupportedError, match="symmetric=True"):
        fk.Algorithm(fk.Streamliner(2), schema=schema, seeds=[1]).disclosure(release)


def test_of_a_release_that_is_rare_everybody_is_unsettled():
    """One world in 924 leads to it: nothing is kept, so nothing is claimed."""
    table = microdata(list("ab" * 6), age=range(12))

    def pipeline(rows):
        return [0] * 12 if rows["disease"].to_pylist() == list("ab" * 6) else range(12)

    found = fk.attack(table, pipeline, worlds=20, seed=0)
    assert (found.how, found.consistent, found.cases) == ("independent worlds", 0, ())
    assert found.unsettled == tuple(range(1, 13))
    assert bounds(found, 1, "a") == (0, 1)


def test_of_whom_too_little_is_known_nobody_is_called_safe():
    """People of whom few possible worlds were met, in truth above the limit."""
    n = 30
    values = [*"aaaaaabc", *"a" * 12, *"b" * 5, *"c" * 5]
    raw = microdata(values, q=range(n))

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
