"""Theorem 15, and what the ledger rests on: buckets may be forgotten, for each value too."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.test_implications import bag_of, histograms
from tests.examples import examples
from tests.oracle.implication_worlds import chances_of, group_by_group, odds_of
from tests.oracle.worlds import small_releases

from foreknow.adversaries.implications.implications import Implications
from foreknow.adversaries.implications.minima import exact_atoms, exact_odds
from foreknow.data.counts import GroupCounts

BAGS = st.lists(
    st.dictionaries(st.sampled_from("abcde"), st.integers(1, 30), min_size=1),
    min_size=1,
    max_size=6,
)
HELD = st.lists(st.integers(1, 40), min_size=1, max_size=7)


# ---- merging ---------------------------------------------------------------------------------


@examples(150, deadline=None)
@given(st.data(), BAGS, st.integers(0, 8))
def test_merging_groups_never_raises_a_disclosure(data, bags, k):
    counts = GroupCounts.from_bags(bags)
    labels = data.draw(st.lists(st.integers(0, 3), min_size=len(bags), max_size=len(bags)))
    new = {label: i for i, label in enumerate(sorted(set(labels)))}
    merged = counts.merge([new[label] for label in labels])
    fine, coarse = (Implications(k).disclosures(c) for c in (counts, merged))
    for value in counts.values:
        assert coarse[value].exact <= fine[value].exact, value
    assert Implications(k).disclosure(merged).exact <= Implications(k).disclosure(counts).exact


@pytest.mark.parametrize("people", [4, 5, 6])
def test_merging_two_groups_never_raises_a_disclosure_by_enumeration(people):
    for bags in small_releases(people, 2, 3):
        if len(bags) == 2:
            for value in set("".join(bags)):
                coarse = group_by_group(["".join(bags)], value, 4)
                fine = group_by_group(bags, value, 4)
                assert all(p <= q for p, q in zip(coarse, fine, strict=True)), (bags, value)


# ---- buckets may be forgotten ----------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 3, 4, 5, 6, 7])
def test_atoms_spent_on_one_bucket_are_spent_better_than_on_two_like_it(people):
    """By enumeration: M(x + y) <= M(x) M(y), and W(x + h) <= W(x) M(h) for every value."""
    for bag in map(bag_of, histograms(people, 4)):
        chances = chances_of(bag, 5)
        for value in set(bag):
            check_products(chances, odds_of(bag, value, 5), (bag, value))


@examples(200, deadline=None)
@given(st.data(), HELD, st.integers(2, 10))
def test_the_same_of_larger_groups(data, held, k):
    held = sorted(held, reverse=True)
    holders = data.draw(st.sampled_from(held))
    chances, odds = exact_atoms(sum(held), held, k), exact_odds(sum(held), held, holders, k)
    check_products(chances, odds, held)
    assert chances[0] == 1
    assert odds[0] == Fraction(sum(held) - holders, holders)


def check_products(chances, odds, where):
    for x in range(len(chances)):
        for h in range(len(chances) - x):
            assert chances[x + h] <= chances[x] * chances[h], (where, x, h)
            assert odds[x + h] <= odds[x] * chances[h], (where, x, h)


@examples(50, deadline=None)
@given(BAGS, st.integers(0, 6))
def test_more_implications_never_tell_less(bags, k):
    counts = GroupCounts.from_bags(bags)
    fewer, more = (Implications(amount).disclosures(counts) for amount in (k, k + 1))
    for value in counts.values:
        assert fewer[value].exact <= more[value].exact
    assert Implications(k).disclosure(counts).exact == max(d.exact for d in fewer.values())


@examples(50, deadline=None)
@given(BAGS, st.integers(0, 6), st.integers(1, 3))
def test_repeating_the_groups_changes_nothing(bags, k, times):
    once = Implications(k).disclosures(GroupCounts.from_bags(bags))
    again = Implications(k).disclosures(GroupCounts.from_bags(bags * times))
    for value, found in once.items():
        assert again[value].exact == found.exact
