"""Enumerations against plainer ones."""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import pytest
from tests.oracle.implications import (
    Space,
    Truth,
    basic_implications,
    least_odds,
    minimize2,
)
from tests.oracle.worlds import (
    has,
    implies,
    lacks,
    members,
    posterior,
    small_releases,
    worlds,
    worst_cases,
)

# ---- worlds --------------------------------------------------------------------------------------

# The enumeration itself: its fast worst case against a plainer one, and what it enumerates.


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
def test_fast_worst_case_is_plain(bags):
    results = {value: worst_cases(bags, value, (2, 2, 2)) for value in "abcd"}
    for value, point in product("abcd", product(range(3), repeat=3)):
        assert results[value][point] == plain_worst(bags, value, point), (bags, value, point)


def test_small_releases_are_complete():
    # Integer partitions of n: one group, values up to renaming.
    assert [len(small_releases(n, 1, n)) for n in range(1, 6)] == [1, 2, 3, 5, 7]
    # One value only: sizes of the groups, again partitions.
    assert [len(small_releases(n, n, 1)) for n in range(1, 6)] == [1, 2, 3, 5, 7]
    # Two people, two groups at most, three values: aa, ab, a|a, a|b.
    assert len(small_releases(2, 2, 3)) == 4


# ---- implication worlds --------------------------------------------------------------------------

# The worst implications by enumeration: plainer ways agree, and so does the paper where it holds.
#
# "Worst-Case Background Knowledge for Privacy-Preserving Data Publishing" (Martin, Kifer,
# Machanavajjhala, Gehrke, Halpern): theorem 9 against all basic implications, and worked
# examples.

TINY = ["a", "aa", "ab", "aab", "abc", "aabb", "aaab", "a|b", "a|ab", "ab|ab", "aab|b", "ab|ac"]
TINY += ["aab|ab", "aab|bc", "abc|a", "abc|d", "aaaab", "aab|c|a", "ab|cd", "ab|a|b", "abc|ab"]
# Too many conjunctions of three to try in a moment, though not of two.
SMALL = ["aaabbb", "aab|aab", "aaab|aaab", "aab|abc", "aabb|aab", "aabb|aac", "aab|aab|aab"]
LARGER = ["aaabc", "aabbc", "abcd", "aabc|ab"]


def implies_of_implication(person, value, target, expected):
    return lambda world: world[person] != value or world[target] == expected


# ---- the enumeration itself ------------------------------------------------------------------


def literal(bags, value, most):
    """Every target, and every choice of so many implications, one by one."""
    dealt = worlds(bags)
    people, values = range(len(dealt[0])), sorted(set("".join(bags)))
    best = [Fraction(0)] * (most + 1)
    for target, k in product(people, range(most + 1)):
        for chosen in combinations_with_replacement(product(people, values), k):
            known = [implies_of_implication(p, x, target, value) for p, x in chosen]
            best[k] = max(best[k], posterior(dealt, known, target, value) or 0)
    return best


@pytest.mark.parametrize("bags", ["aab", "abc", "aabb", "ab|ac", "aab|ab", "a|bb|a", "abb|c"])
def test_enumeration_is_the_literal_one(bags):
    bags = bags.split("|")
    for value in sorted(set("".join(bags))):
        assert Truth(bags).implications(value, 2) == literal(bags, value, 2), value


@pytest.mark.parametrize("people", [2, 3, 4, 5, 6])
def test_corrected_dynamic_program_is_right(people):
    for bags in small_releases(people, 3, 3):
        truth = Truth(bags)
        by_value = [truth.implications(value, 4) for value in truth.worlds.values]
        held = [[bag.count(x) for x in set(bag)] for bag in bags]
        highest = [max(found) for found in zip(*by_value, strict=True)]
        assert minimize2(held, 4, Fraction(1)) == highest, bags


# ---- theorem 9 -------------------------------------------------------------------------------


def check_theorem_9(bags, most):
    """Compare at most so many basic implications with simple ones, for each target and value."""
    truth = Truth(bags)
    # The value z, which nobody has, makes contradictions.
    space = Space(worlds(bags), [*truth.worlds.values, "z"])
    language, said = basic_implications(space), {space.everywhere}
    for k in range(most + 1):
        for target, value in product(truth.targets, truth.worlds.values):
            odds = least_odds(truth.worlds, target, value, k)
            simple = 0 if odds is None else 1 / (1 + odds[k])
            assert highest_chance(said, space.has(target, value)) == simple, (k, target, value)
        if k < most:
            said = {one & other for one in said for other in language}


def highest_chance(said, hit):
    """The highest chance of being where the target has the value."""
    top, of = 0, 1
    for known in said:
        hits, worlds_left = (known & hit).bit_count(), known.bit_count()
        if hits * of > top * worlds_left:
            top, of = hits, worlds_left
    return Fraction(top, of)


@pytest.mark.parametrize(
    ("bags", "most"), [*product(TINY, [3]), *product(SMALL, [2]), *product(LARGER, [1])]
)
def test_simple_implications_are_the_worst(bags, most):
    check_theorem_9(bags.split("|"), most)
