"""What calls itself convex is: a mixture of two persons' chances has the property if both have."""

import random
from fractions import Fraction

import pytest

from foreknow.criteria.properties import (
    All,
    Distinct,
    Each,
    Entropy,
    KAnonymity,
    MaxRatio,
    Recursive,
    RuledOut,
)

F = Fraction
VALUES = "abcde"
CONVEX = [
    MaxRatio("1/2"),
    MaxRatio("1/2", strict=True),
    MaxRatio("1/3", values=["a", "b"]),
    MaxRatio("2/5", excluded=["a"]),
    Distinct(3),
    Entropy(2),
    Entropy("5/2"),
    Recursive(1, 2),
    Recursive("3/2", 3),
    KAnonymity(3),
    RuledOut("1/2", 1),
    RuledOut("2/3", 2),
    RuledOut(1, 3),
    RuledOut("1/2", 1, values=["a"]),
    RuledOut("3/4", 2, values=["a", "b"]),
    RuledOut("1/2", 2, excluded=["a"]),
    All(MaxRatio("2/3"), RuledOut("3/4", 1, values=["a"])),
]


def holds(prop, counts):
    row = [(prop.colour(v), n) for v, n in zip(VALUES, counts, strict=True) if n]
    return prop.allows(row, sum(counts), 4)


def counts_in(total, chance, most):
    """Whole numbers that add up, many of them 0 or on a boundary."""
    drawn = [chance.choice([0, 0, 1, 1, 2, 3, most]) for _ in VALUES]
    drawn[chance.randrange(len(drawn))] += 1
    return [n * total // sum(drawn) for n in drawn] if total % sum(drawn) == 0 else None


@pytest.mark.parametrize("prop", CONVEX, ids=repr)
def test_mixtures_of_what_has_the_property_have_it(prop):
    assert prop.convex
    chance = random.Random(repr(prop))
    total, have, edge = 2520, [], 0
    while len(have) < 60:
        counts = counts_in(total, chance, 4)
        if counts and holds(prop, counts):
            have.append(counts)
    for one in have:
        for other in have:
            a = chance.choice([1, 1, 2, 7])
            b = chance.choice([1, 1, 3, 50])
            mixed = [a * x + b * y for x, y in zip(one, other, strict=True)]
            assert holds(prop, mixed), (one, other, a, b)
            edge += one != other
    assert edge > 1000 or isinstance(prop, KAnonymity)


def test_a_property_that_is_not_convex_is_caught():
    """The same test would notice."""
    some = Each(lambda shares: shares.get("a", 0) <= F(1, 4) or shares.get("b", 0) <= F(1, 4))
    assert holds(some, [3, 1, 0, 0, 0])
    assert holds(some, [1, 3, 0, 0, 0])
    assert not holds(some, [4, 4, 0, 0, 0])
    assert not some.convex
    assert not All(MaxRatio("1/2"), some).convex
