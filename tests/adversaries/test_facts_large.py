"""Facts on large groups, large amounts and many values: exact, and floats near the fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries import formulas
from tests.examples import examples

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts

HUGE = 10**30
THOUSANDS = st.integers(0, 6000)


@examples(60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3000), min_size=1),
        min_size=1,
        max_size=3,
    ),
    st.tuples(st.integers(0, 2), THOUSANDS, THOUSANDS),
)
def test_floats_are_near_the_fractions_with_thousands_of_facts(bags, point):
    counts = GroupCounts.from_bags(bags)
    for value, found in Facts(*point).disclosures(counts).items():
        truth = formulas.breach(formulas.five(bags, value, point))
        assert found.exact == truth
        assert abs(found.probability - truth) < 1e-9


@examples(600, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcde"), st.integers(1, 25), min_size=2),
        min_size=2,
        max_size=4,
    ),
    st.tuples(st.integers(0, 3), st.integers(0, 8), st.integers(0, 8)),
)
def test_groups_of_dozens_follow_the_formulas(bags, point):
    counts = GroupCounts.from_bags(bags)
    for value, found in Facts(*point).disclosures(counts).items():
        truth = formulas.breach(formulas.five(bags, value, point))
        assert found.exact == truth
        assert abs(found.probability - truth) < 1e-12


@pytest.mark.parametrize(("holders", "m"), [(70_000, 200_000), (200_000, 70_000)])
def test_families_larger_than_one_block_of_factors_are_multiplied_to_the_end(holders, m):
    n = 10**10
    found = Facts(0, 0, m).disclosure(
        GroupCounts.from_bags([{"a": holders, "b": n - holders}]), "a"
    )
    # V(m, 1): none of m relatives holds it, of the n - 1 people beside the target.
    nobody = math.fsum(math.log1p(-holders / (n - 1 - i)) for i in range(m))
    ratio = (n - holders) / holders * math.exp(nobody)
    assert math.isclose(found.probability, 1 / (1 + ratio), rel_tol=1e-11)


@pytest.mark.parametrize(
    "point",
    [(0, 0, 4000), (0, 4000, 0), (0, 2000, 1500), (1, 1000, 3000), (0, 0, 9), (1, 1499, 1499)],
)
@pytest.mark.parametrize("holders", [1, 3, 500])
def test_both_ways_to_multiply_v_agree_with_the_fraction(point, holders):
    bag = {"a": holders, "b": 5000 - holders, "c": 1500}
    found = Facts(*point).disclosure(GroupCounts.from_bags([bag]), "a")
    truth = formulas.breach(formulas.five([bag], "a", point))
    assert found.exact == truth
    assert abs(found.probability - truth) < 1e-9


@pytest.mark.parametrize("boundary", [-1, 0, 1])
def test_certainty_begins_exactly_where_the_family_leaves_nobody_else(boundary):
    # 1 target, 3000 known, 1000 of those with another value left as relatives: all but 999 holders.
    bag = {"a": 1000, "b": 4000}
    m = 1000 + boundary
    found = Facts(0, 3000, m).disclosure(GroupCounts.from_bags([bag]), "a")
    assert found.exact == formulas.breach(formulas.five([bag], "a", (0, 3000, m)))
    assert (found.exact == 1) is (boundary >= 0)
    assert found.below(1) is (boundary < 0)


@pytest.mark.parametrize("amounts", [{"l": HUGE}, {"k": HUGE}, {"m": HUGE}])
def test_huge_amounts_mean_everything_there_is(amounts):
    counts = GroupCounts.from_bags(["aab", "bccd", "ad"])
    found = Facts(**amounts).disclosures(counts)
    assert all(d.exact == 1 and d.probability == 1.0 for d in found.values())
    assert all(not d.below(1) for d in found.values())
    for d in found.values():
        witness = d.witness
        assert len(witness.ruled_out) <= 3
        assert sum(witness.known.values()) + witness.family < 4


def test_huge_amounts_of_each_kind_just_above_64_bits():
    counts = GroupCounts.from_bags(["aabbbc"])
    for amount in (2**31, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64):
        for point in [(amount, 0, 0), (0, amount, 0), (0, 0, amount), (0, amount, amount)]:
            assert Facts(*point).disclosure(counts, "c").exact == 1, point
            assert Facts(*point).disclosure(counts, "c").probability == 1.0, point


def test_groups_of_trillions_are_judged_exactly():
    n = 10**12
    bag = {"a": 1, "b": n - 1}
    found = Facts(0, n // 2, n // 4).disclosure(GroupCounts.from_bags([bag]), "a")
    # One holder: neither known nor a relative; he is one of the rest.
    assert found.exact == Fraction(1, n - n // 2 - n // 4)
    assert math.isclose(found.probability, found.exact, rel_tol=1e-12)


@pytest.mark.parametrize("n_values", [65_535, 65_536, 65_537, 70_000])
def test_tens_of_thousands_of_values_keep_their_own_groups(n_values):
    # Value v fills 1 + v % 3 of the four places of group v; value 0 the rest.
    own = np.arange(1, n_values)
    groups = np.concatenate((own - 1, own - 1))
    values = np.concatenate((np.zeros(n_values - 1, dtype=np.int64), own))
    weights = np.concatenate((3 - own % 3, 1 + own % 3))
    counts = GroupCounts.from_pairs(
        groups, values, values=range(n_values), n_groups=n_values - 1, weights=weights
    )
    found = Facts().disclosures(counts)
    assert len(found) == n_values
    assert np.array_equal([found[v].probability for v in own.tolist()], (1 + own % 3) / 4)
    assert found[n_values - 1].exact == Fraction(1 + (n_values - 1) % 3, 4)
    assert found[n_values - 1].witness.target_position == n_values - 2


def test_a_chance_too_small_for_a_float_is_still_a_chance():
    # NR is about 1e-785, so the breach probability is below 1 by that much: safe at a limit of 1,
    # for the search as for the verdict.
    bag = {"AIDS": 3000} | {f"other {i}": 1 for i in range(3000)}
    counts = GroupCounts.from_bags([bag])
    wanted = np.array([value == "AIDS" for value in counts.values])
    facts = Facts(0, 2000, 900)
    found = facts.disclosure(counts, "AIDS")
    assert found.probability == 1.0
    assert found.below(1)
    assert facts.ledger(1, wanted).admits(None, counts)
    certain = Facts(0, 2000, 1001)
    assert not certain.disclosure(counts, "AIDS").below(1)
    assert not certain.ledger(1, wanted).admits(None, counts)
