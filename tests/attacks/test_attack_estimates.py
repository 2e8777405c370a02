"""Estimates cover the exact answer, suspicions are refuted where they can be, budgets are kept."""

import time

import pytest
from tests.attacks.small_methods import (
    BELOW_2_3,
    LEVELS,
    in_buckets,
    microdata,
    policy_for,
    release_of,
)

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
