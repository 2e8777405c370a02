"""Functions, tables and properties for the tests of jumps, drawn at random."""

from fractions import Fraction

from tests.oracle import jump_worlds as oracle
from tests.oracle.jump_requirements import judge_of as ruled_out

from foreknow.criteria.size import KAnonymity
from foreknow.methods.jump.properties import (
    All,
    Distinct,
    Each,
    Entropy,
    MaxRatio,
    Recursive,
    RuledOut,
)

ILLNESSES = ["flu", "cold", "cancer", "cancer", "headache", "toothache"]
PATIENTS = dict(zip("ABCDEF", ILLNESSES, strict=True))
LETTERS = ["AB|CD|EF", "ABC|DEF", "ABCD|EF"]


def no_half_a(shares):
    """Not convex, and not symmetric: neither certain nor even about "a"."""
    return shares.get("a", 0) not in {Fraction(1, 2), 1} and max(shares.values()) <= Fraction(3, 4)


def odd(shares):
    """Not convex, but symmetric: the ratios are not all different."""
    return len(shares) > 1 and len(set(shares.values())) < len(shares)


PROPERTIES = {
    "ratio 1/2": (MaxRatio("1/2"), oracle.max_ratio(Fraction(1, 2))),
    "ratio 2/3": (MaxRatio("2/3"), oracle.max_ratio(Fraction(2, 3))),
    "ratio 3/5": (MaxRatio("3/5"), oracle.max_ratio(Fraction(3, 5))),
    "below 1/2": (MaxRatio("1/2", strict=True), oracle.below_ratio(Fraction(1, 2))),
    "ratio of a": (
        MaxRatio("1/2", values=["a"]),
        lambda shares, size: shares.get("a", 0) <= Fraction(1, 2),
    ),
    "distinct 2": (Distinct(2), oracle.distinct(2)),
    "distinct 3": (Distinct(3), oracle.distinct(3)),
    "entropy 2": (Entropy(2), oracle.entropy(2)),
    "entropy 1.7": (Entropy("1.7"), oracle.entropy(1.7)),
    "recursive 2 2": (Recursive(2, 2), oracle.recursive(2, 2)),
    "recursive 2 3": (Recursive(2, 3), oracle.recursive(2, 3)),
    "ruled out": (RuledOut("2/3", 1), ruled_out([(Fraction(2, 3), 1, lambda value: True)])),
    "ruled out of two": (
        All(RuledOut("3/4", 1, values=["a"]), MaxRatio("4/5", strict=True, excluded=["a"])),
        ruled_out(
            [
                (Fraction(3, 4), 1, lambda value: value == "a"),
                (Fraction(4, 5), 0, lambda value: value != "a"),
            ]
        ),
    ),
    "k 3": (KAnonymity(3), oracle.at_least(3)),
    "callable": (no_half_a, lambda shares, size: no_half_a(shares)),
    "symmetric callable": (
        Each(odd, symmetric=True),
        lambda shares, size: odd(shares),
    ),
    "all of three": (
        All(MaxRatio("2/3"), Distinct(2), KAnonymity(3)),
        lambda shares, size: max(shares.values()) <= Fraction(2, 3) and len(shares) > 1 < 3 <= size,
    ),
    "all with a value": (
        All(MaxRatio("1/2", values=["a"]), Recursive(3, 2)),
        lambda shares, size: (
            shares.get("a", 0) <= Fraction(1, 2) and oracle.recursive(3, 2)(shares, size)
        ),
    ),
    "all with a callable": (
        All(Distinct(2), no_half_a),
        lambda shares, size: len(shares) > 1 and no_half_a(shares),
    ),
}


def random_partition(n, groups, chance):
    while True:
        group = [chance.randrange(groups) for _ in range(n)]
        found = [tuple(p for p in range(n) if group[p] == g) for g in range(groups)]
        found = tuple(one for one in found if one)
        if all(len(one) > 1 for one in found) or chance.random() < 0.05:
            return found


def random_functions(n, chance):
    count = chance.choice([2, 3, 3, 4])
    if chance.random() < 0.4:  # a chain: each function unites groups of the last
        functions = [random_partition(n, 3, chance)]
        while len(functions) < count:
            groups = list(functions[-1])
            if len(groups) > 1:
                a, b = chance.sample(groups, 2)
                groups = [g for g in groups if g not in (a, b)] + [tuple(sorted(a + b))]
            functions.append(tuple(groups))
    else:
        functions = [random_partition(n, chance.choice([1, 2, 2, 3]), chance) for _ in range(count)]
    if chance.random() < 0.4:  # reuse
        functions.append(chance.choice(functions))
    return functions


def random_instance(chance):
    n = chance.choice([1, 2, 3, 4, 5, 5, 5, 6, 6, 6])
    values = [chance.choice("aabbcdef"[: chance.choice([4, 5, 6, 8])]) for _ in range(n)]
    return random_functions(n, chance), tuple(values)


def lists(functions):
    """Functions as people give them."""
    return [[list(group) for group in function] for function in functions]


def blocks(n, size, shift=0):
    """Groups of so many people who follow each other."""
    order = [(person + shift) % n for person in range(n)]
    return [order[i : i + size] for i in range(0, n, size)]
