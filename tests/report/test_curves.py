"""Curves and ranks against Facts on the whole release."""

import time

import numpy as np
import pytest

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts
from foreknow.report.figures import curves_around, size_bins, steps, withstands, worst_groups


def random_counts(seed, groups=40, values=6, people=500):
    rng = np.random.default_rng(seed)
    of = np.concatenate((np.arange(groups), rng.integers(0, groups, people)))
    return GroupCounts.from_pairs(
        of,
        rng.integers(0, values, len(of)),
        values=[f"v{i}" for i in range(values)],
        n_groups=groups,
    )


@pytest.mark.parametrize("seed", range(5))
def test_curves_from_few_groups_equal_those_from_all(seed):
    counts = random_counts(seed)
    for curve in curves_around(counts, Facts(1, 4, 2), "v3"):
        assert curve.ks == tuple(range(21))
        for k, found in zip(curve.ks, curve.found, strict=True):
            assert found.exact == Facts(curve.l, k, curve.m).disclosure(counts, "v3").exact


def test_a_curve_is_drawn_once():
    counts = random_counts(0)
    points = [(c.l, c.m) for c in curves_around(counts, Facts(0, 2, 0), "v1")]
    assert points == [(0, 0), (1, 0), (0, 1)]


@pytest.mark.parametrize("k", [0, 10, 20, 21, 1000, 10**12])
def test_steps_begin_at_0_and_hold_the_policy_s_point(k):
    ks = steps(k)
    assert ks[0] == 0
    assert ks[-1] == max(2 * k, 20)
    assert k in ks
    assert len(ks) <= 42
    assert list(ks) == sorted(set(ks))


@pytest.mark.parametrize("limit", ["0.3", "0.6", "0.99", "1"])
def test_how_many_known_people_the_limit_withstands(limit):
    counts = random_counts(1, groups=5, people=300)
    holds = [Facts(1, k, 1).disclosure(counts, "v2").below(limit) for k in range(21)]
    assert withstands(counts, Facts(1, 3, 1), "v2", limit) == sum(holds) - 1


@pytest.mark.parametrize("point", [(0, 0, 0), (1, 3, 2), (2, 0, 1), (0, 4, 0)])
def test_worst_groups_are_judged_as_if_each_were_alone(point):
    counts = random_counts(2, groups=12, people=150)
    facts = Facts(*point)
    alone = {
        g: facts.disclosure(counts.take(np.array([g])), "v2").exact
        for g in range(12)
        if "v2" in counts.bag(g)
    }
    rows = worst_groups(counts, facts, "v2", most=100)
    assert {row.group: row.found.exact for row in rows} == alone
    for row in rows:
        assert row.people == counts.sizes[row.group]
        assert row.holders == counts.bag(row.group)["v2"]
        assert row.found.probability == pytest.approx(float(row.found.exact))
    chances = [row.found.exact for row in rows]
    assert chances == sorted(chances, reverse=True)
    assert len(worst_groups(counts, facts, "v2")) == 5


def test_among_equals_the_group_named_in_the_sentence_comes_first():
    counts = GroupCounts.from_bags([["Flu", "AIDS"]] * 4)
    ranked = worst_groups(counts, Facts(), "AIDS", named=2)
    assert [row.group for row in ranked] == [2, 0, 1, 3]


def test_size_bins_hold_every_group():
    assert size_bins([3, 3, 5]) == ([3, 4, 5], [2, 0, 1], 1)
    starts, groups, width = size_bins([1, 1000, 1001])
    assert width == 50
    assert sum(groups) == 3
    assert all(start % width == 0 for start in starts)
    assert size_bins([7]) == ([7], [1], 1)


def test_curves_of_a_large_release_are_quick():
    rng = np.random.default_rng(3)
    cells = 50_000 * 20
    counts = GroupCounts.from_pairs(
        np.repeat(np.arange(50_000), 20),
        np.tile(np.arange(20), 50_000),
        values=list(range(20)),
        n_groups=50_000,
        weights=rng.integers(1, 12, cells),
        sizes=None,
    )
    start = time.perf_counter()
    curves_around(counts, Facts(2, 5, 2), 3)
    assert time.perf_counter() - start < 2  # about 0.15 s; generous for busy machines
