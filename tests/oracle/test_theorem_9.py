"""Theorem 9 of "Worst-Case Background Knowledge": the worst implications are simple ones.

Other enumerations are compared with each other where they are used: those of whole releases and of
groups in `tests/crossings`, those of implications in `tests/adversaries/test_implications.py`.
"""

from fractions import Fraction
from itertools import product

import pytest
from tests.oracle.implications import (
    Space,
    Truth,
    basic_implications,
    least_odds,
)
from tests.oracle.worlds import (
    worlds,
)

TINY = ["a", "aa", "ab", "aab", "abc", "aabb", "aaab", "a|b", "a|ab", "ab|ab", "aab|b", "ab|ac"]
TINY += ["aab|ab", "aab|bc", "abc|a", "abc|d", "aaaab", "aab|c|a", "ab|cd", "ab|a|b", "abc|ab"]
# Too many conjunctions of three to try in a moment, though not of two.
SMALL = ["aaabbb", "aab|aab", "aaab|aaab", "aab|abc", "aabb|aab", "aabb|aac", "aab|aab|aab"]
LARGER = ["aaabc", "aabbc", "abcd", "aabc|ab"]


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
