"""Implications against enumerated worlds: all small releases, and random ones beyond them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.checks_implications import check_point, check_release
from tests.examples import examples
from tests.oracle.implication_worlds import (
    Dealing,
    Truth,
    Worlds,
    group_by_group,
    least_odds,
)
from tests.oracle.worlds import small_releases, worlds

from foreknow.adversaries.implications.implications import Implications
from foreknow.data.counts import GroupCounts

LETTERS = "abcdefgh"


def histograms(n, most_values, largest=None):
    """All ways to write n as a sum of counts that do not rise.

    >>> list(histograms(4, 2))
    [(4,), (3, 1), (2, 2)]
    """
    if n == 0:
        yield ()
    elif most_values:
        for count in range(min(n, largest or n), 0, -1):
            for rest in histograms(n - count, most_values - 1, count):
                yield (count, *rest)


def bag_of(held):
    return "".join(letter * count for letter, count in zip(LETTERS, held, strict=False))


def check_group(bag, most, space):
    """Compare every value of one group for every k; returns how many were compared."""
    counts, compared = GroupCounts.from_bags([bag]), 0
    # Values that occur as often are as hard to infer.
    by_holders = {bag.count(value): value for value in space.values}
    found = {held: least_odds(space, 0, value, most) for held, value in by_holders.items()}
    odds = {value: found[bag.count(value)] for value in space.values}
    for k in range(most + 1):
        truth = {x: Fraction(1) if odds[x] is None else 1 / (1 + odds[x][k]) for x in odds}
        check_point(counts, k, truth, [bag])
        compared += len(truth)
    return compared


# ---- all small releases ----------------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 3, 4, 5, 6])
def test_every_small_release_is_judged_as_by_enumeration(people):
    compared = sum(check_release(bags, 4) for bags in small_releases(people, 3, 3))
    assert compared >= 15 * people - 10


@pytest.mark.parametrize("people", [4, 5])
def test_four_values_and_four_groups(people):
    for bags in small_releases(people, 4, 4):
        if len(bags) == 4 or len(set("".join(bags))) == 4:
            check_release(bags, 3)


@pytest.mark.parametrize("people", [3, 4, 5, 6, 7])
def test_every_group_of_up_to_seven_people_for_each_value(people):
    for held in histograms(people, people):
        check_group(bag_of(held), 5, Worlds([bag_of(held)]))


@pytest.mark.parametrize(
    "held",
    [(3, 3, 2), (4, 2, 1, 1), (3, 2, 2, 1), (4, 3, 1), (5, 4, 1), (4, 4, 4, 1), (5, 3, 2, 1)]
    + [(6, 5, 1), (4, 4, 2, 2), (7, 2, 1, 1), (8, 6, 1), (6, 3, 3), (3, 3, 3, 3), (9, 5, 4, 1)],
)
def test_a_value_rarer_than_several_others_of_a_larger_group(held):
    check_group(bag_of(held), 5, Dealing(bag_of(held)))


@pytest.mark.slow
@pytest.mark.parametrize("people", range(8, 15))
def test_every_group_of_up_to_fourteen_people_and_four_values(people):
    for held in histograms(people, 4):
        check_group(bag_of(held), 5, Dealing(bag_of(held)))


@pytest.mark.slow
@pytest.mark.parametrize("people", [7, 8, 9, 10])
def test_groups_of_five_values_with_six_implications(people):
    for held in histograms(people, 5):
        if len(held) == 5:
            check_group(bag_of(held), 6, Dealing(bag_of(held)))


@pytest.mark.slow
@pytest.mark.parametrize("people", [5, 6, 7])
def test_every_release_of_up_to_seven_people(people):
    for bags in small_releases(people, 4, 4):
        check_release(bags, 4)


# ---- random ones -----------------------------------------------------------------------------


def releases(most_people, letters, most_groups=3):
    bag = st.lists(st.sampled_from(letters), min_size=1, max_size=most_people)
    release = st.lists(bag, min_size=1, max_size=most_groups)
    return release.filter(lambda bags: sum(map(len, bags)) <= most_people)


@examples(300, deadline=None)
@given(releases(7, "abcde"), st.integers(0, 5))
def test_random_releases_are_judged_as_by_enumeration(bags, k):
    truth = Truth(bags)
    by_value = {value: truth.implications(value, k)[k] for value in truth.worlds.values}
    check_point(GroupCounts.from_bags(bags), k, by_value, bags, worlds(bags))


FEW = ["aab", "aabc", "abcd", "aabb", "aaab", "aabbc", "aaabbc", "abbc", "bccd", "aaabb", "ab"]
FEW += ["aabbcc", "aabbccd", "aaabbcd", "abbbc", "bbbcd", "abbccc", "acccddd"]


@examples(200, deadline=None)
@given(st.lists(st.sampled_from(FEW), min_size=2, max_size=5), st.integers(0, 5))
def test_several_groups_tempt_the_adversary_to_use_them_all(bags, k):
    values = sorted(set("".join(bags)))
    by_value = {value: group_by_group(bags, value, 5)[k] for value in values}
    check_point(GroupCounts.from_bags(bags), k, by_value, bags)


@pytest.mark.parametrize("k", [2, 3])
def test_implications_that_begin_in_two_groups_end_in_a_third(k):
    # One atom about the second group is best, or two about the first; of three, one and two.
    bags = ["aaaaaaabbbccd", "aaaaaabbbbbbcd", "zefghi"]
    values = sorted(set("".join(bags)))
    by_value = {value: group_by_group(bags, value, k)[k] for value in values}
    check_point(GroupCounts.from_bags(bags), k, by_value, bags)
    if k == 3:
        about = Implications(k).disclosure(GroupCounts.from_bags(bags), "z").witness.implications
        assert sorted({each.position for each in about}) == [0, 1]


LARGE = ["aaaaaaabbbccd", "aaaaaabbbbbbcd", "aaaabbbbcd", "aaabbbcccd", "abbbbbbbbcccc", "abcdef"]


@examples(60, deadline=None)
@given(st.lists(st.sampled_from(FEW + LARGE), min_size=2, max_size=4), st.integers(0, 4))
def test_larger_groups_that_differ(bags, k):
    values = sorted(set("".join(bags)))
    by_value = {value: group_by_group(bags, value, 4)[k] for value in values}
    check_point(GroupCounts.from_bags(bags), k, by_value, bags)


@examples(50, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("aaabbbccd"), min_size=4, max_size=7), min_size=2, max_size=3)
)
def test_random_groups_with_few_frequent_values(bags):
    values = sorted({x for bag in bags for x in bag})
    by_value = {value: group_by_group(bags, value, 3) for value in values}
    counts = GroupCounts.from_bags(bags)
    for k in range(4):
        check_point(counts, k, {value: found[k] for value, found in by_value.items()}, bags)


@pytest.mark.slow
@examples(4000, deadline=None)
@given(releases(9, "abcd", 4), st.integers(0, 5))
def test_many_larger_random_releases(bags, k):
    values = sorted({x for bag in bags for x in bag})
    by_value = {value: group_by_group(bags, value, 5)[k] for value in values}
    check_point(GroupCounts.from_bags(bags), k, by_value, bags)


@pytest.mark.slow
@examples(400, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.integers(0, 5))
def test_random_larger_groups_by_dealing(held, k):
    bag = bag_of(held)
    dealing = Dealing(bag)
    odds = {value: least_odds(dealing, 0, value, k)[k] for value in dealing.values}
    by_value = {value: 1 / (1 + found) for value, found in odds.items()}
    check_point(GroupCounts.from_bags([bag]), k, by_value, [bag])


# ---- what was judged before does not matter --------------------------------------------------


@examples(40, deadline=None)
@given(releases(12, "abcde"), st.lists(st.integers(0, 6), min_size=2, max_size=6))
def test_judging_for_several_k_in_any_order_is_judging_afresh(bags, ks):
    counts = GroupCounts.from_bags(bags)
    for k in ks:
        fresh = GroupCounts.from_bags(bags)
        one, other = Implications(k).disclosure(counts), Implications(k).disclosure(fresh)
        assert (one.value, one.probability, one.exact) == (
            other.value,
            other.probability,
            other.exact,
        )
        for value in counts.values:
            one = Implications(k).disclosure(counts, value)
            assert one.exact == Implications(k).disclosures(counts)[value].exact
            assert one.exact == Implications(k).disclosure(fresh, value).exact
