"""The enumeration itself: its fast worst case against a plainer one, and what it enumerates."""

from collections import Counter
from itertools import combinations, permutations, product
from math import comb

import pytest
from tests.oracle.worlds import (
    arrangements,
    has,
    implies,
    lacks,
    members,
    posterior,
    small_releases,
    worlds,
    worst_cases,
)


def plain_worst(bags, value, point):
    """The worst case without symmetries or bit sets: every target, person and value, literally."""
    l, k, m = point  # noqa: E741
    all_worlds = worlds(bags)
    everybody = [person for group in members(bags) for person in group]
    domain = sorted({x for bag in bags for x in bag} | {value})
    best = 0
    for target in everybody:
        others = [person for person in everybody if person != target]
        for excluded in up_to(l, [x for x in domain if x != value]):
            for told in up_to(k, others):
                for values in product(domain, repeat=len(told)):
                    for family in up_to(m, [p for p in others if p not in told]):
                        knowledge = [
                            *(lacks(target, x) for x in excluded),
                            *(has(p, x) for p, x in zip(told, values, strict=True)),
                            *(implies(p, target, value) for p in family),
                        ]
                        found = posterior(all_worlds, knowledge, target, value)
                        if found is not None:
                            best = max(best, found)
    return best


def up_to(most, things):
    return [chosen for size in range(most + 1) for chosen in combinations(things, size)]


RELEASES = [["aab"], ["ab", "ac"], ["aa", "bc"], ["a", "abb"], ["abc", "b"]]


@pytest.mark.parametrize("bags", RELEASES, ids="|".join)
def test_the_fast_worst_case_is_the_plain_one(bags):
    found = {value: worst_cases(bags, value, (2, 2, 2)) for value in "abcd"}
    for value, point in product("abcd", product(range(3), repeat=3)):
        assert found[value][point] == plain_worst(bags, value, point), (bags, value, point)


@pytest.mark.parametrize("bag", ["a", "aa", "aab", "aabb", "abcd", "aabbc"])
def test_arrangements_are_the_distinct_permutations_and_equally_likely(bag):
    labelled = Counter(permutations(bag))
    assert set(arrangements(bag)) == set(labelled)
    assert len(list(arrangements(bag))) == len(labelled)
    assert len(set(labelled.values())) == 1


def test_worlds_deal_each_group_by_itself():
    assert len(worlds(["aabb", "abc"])) == comb(4, 2) * 6
    assert all(sorted(world[:4]) == list("aabb") for world in worlds(["aabb", "abc"]))


def test_impossible_knowledge_has_no_posterior():
    assert posterior(worlds(["ab"]), [has(0, "a"), has(1, "a")], 0, "a") is None


def test_small_releases_are_all_there_are_and_distinct():
    # Integer partitions of n: one group, values up to renaming.
    assert [len(small_releases(n, 1, n)) for n in range(1, 6)] == [1, 2, 3, 5, 7]
    # One value only: sizes of the groups, again partitions.
    assert [len(small_releases(n, n, 1)) for n in range(1, 6)] == [1, 2, 3, 5, 7]
    # Two people, two groups at most, three values: aa, ab, a|a, a|b.
    assert len(small_releases(2, 2, 3)) == 4
