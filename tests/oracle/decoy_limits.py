"""Implications, criteria and windows over weighted worlds: slow, and right by inspection.

People are numbered 0, 1, ...; a world is the tuple of everybody's value, and has a weight. Nothing
here knows the library.
"""

from collections import Counter
from fractions import Fraction
from itertools import accumulate, combinations_with_replacement, product
from math import e, log


def worst_of_implications(weights, wanted, k, basic=False):
    """Highest posterior that somebody has a value among the wanted, given k basic implications.

    `basic`: of up to two atoms each before and after the arrow; else of one atom, and all end with
    what the adversary wants to know.

    >>> worst_of_implications({("a", "b"): 1, ("b", "a"): 3}, {"a"}, 0)
    Fraction(3, 4)
    """
    worlds = [world for world, weight in weights.items() if weight]
    exact = [Fraction(weights[world]) for world in worlds]
    atoms = sorted({(p, x) for world in worlds for p, x in enumerate(world)})
    true = {a: sum(1 << i for i, w in enumerate(worlds) if w[a[0]] == a[1]) for a in atoms}
    every = (1 << len(worlds)) - 1
    sums = {}

    def chance(left):
        if left not in sums:
            sums[left] = sum(x for i, x in enumerate(exact) if left >> i & 1)
        return sums[left]

    best = Fraction(0)
    pairs = list(combinations_with_replacement(atoms, 2)) if basic else []
    told = {
        (every ^ (true[a] & true[b])) | true[c] | true[d]
        for (a, b), (c, d) in product(pairs, repeat=2)
    }
    for goal in atoms:
        if goal[1] not in wanted:
            continue
        own = told if basic else {(every ^ true[a]) | true[goal] for a in atoms}
        left = {every}
        for _ in range(k):
            left = {one & more for one in left for more in own}
        for some in left:
            if chance(some):
                best = max(best, chance(some & true[goal]) / chance(some))
    return best


def worst_window(bag, wide, out, known):
    """Highest posterior of a window for a group: so many values ruled out, and people known.

    >>> worst_window([1, 2, 5, 5], 1, 1, 0)
    Fraction(1, 1)
    """
    best = Fraction(0)
    for start in set(bag):
        inside = sum(start <= x <= start + wide for x in bag)
        rest = sorted(Counter(x for x in bag if not start <= x <= start + wide).values())
        gone = sum(rest[max(len(rest) - out, 0) :])
        gone += min(known, sum(rest) - gone)
        best = max(best, Fraction(inside, len(bag) - gone))
    return best


def beliefs(weights):
    """What is believed of each person: a dict of value to probability for each.

    >>> beliefs({("a", "b"): Fraction(1), ("b", "a"): Fraction(3)})[0]["b"]
    Fraction(3, 4)
    """
    whole, n = Fraction(sum(weights.values())), len(next(iter(weights)))
    found = [{} for _ in range(n)]
    for world, weight in weights.items():
        for own, value in zip(found, world, strict=True):
            own[value] = own.get(value, 0) + weight / whole
    return found


def keeps(share, table, kind, limit):
    """Whether probabilities keep a criterion beside the shares of the table; all values named.

    >>> half = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    >>> keeps({"a": Fraction(1)}, half, "t", Fraction(1, 2))
    True
    """
    values = sorted(table)
    p, q = [share.get(x, Fraction(0)) for x in values], [table[x] for x in values]
    if kind == "entropy":
        return -sum(float(x) * log(x) for x in p if x) > log(limit) - 1e-12
    if kind == "alpha":
        return max(p) <= limit
    if kind == "recursive":  # of l = 3
        ranked = sorted(p, reverse=True)
        return ranked[0] < limit * sum(ranked[2:])
    if kind == "t":
        return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2 <= limit
    if kind == "ordered":
        gaps = accumulate(a - b for a, b in zip(p, q, strict=True))
        return sum(map(abs, gaps)) <= limit * max(len(values) - 1, 1)
    if kind == "beta":
        return all(a <= (1 + limit) * b for a, b in zip(p, q, strict=True))
    if kind == "enhanced":
        return all(
            a <= (1 + limit) * b and float(a / b) - 1 <= -log(b) + 1e-12
            for a, b in zip(p, q, strict=True)
        )
    assert kind == "delta"
    most = e ** float(limit)
    return all(a and float(a / b) < most and float(b / a) < most for a, b in zip(p, q, strict=True))
