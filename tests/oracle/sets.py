"""Sets of values and windows, by listing worlds."""

from fractions import Fraction
from itertools import combinations, pairwise

# ---- sets ----------------------------------------------------------------------------------------

# Nothing here knows the library or its formulas.


def meant(given, values):
    """The values that a list means, where ``B20*`` means all that begin so, or a range of numbers.

    >>> sorted(meant(["B20*", "Z9"], {"B20", "B20.1", "B2", "Z"})), meant({"to": 2}, {"2.0", "3"})
    (['B20', 'B20.1'], {'2.0'})
    """
    if isinstance(given, dict):
        results = set()
        for value in values:
            if value.replace(".", "").replace("-", "").isdecimal():
                above = "from" not in given or Fraction(value) >= Fraction(str(given["from"]))
                below = "to" not in given or Fraction(value) <= Fraction(str(given["to"]))
                results |= {value} if above and below else set()
        return results
    results = set()
    for text in given:
        for value in values:
            begins = value[: len(text) - 1] == text[:-1]
            if value == text or (text[-1] == "*" and begins):
                results.add(value)
    return results


# ---- windows -------------------------------------------------------------------------------------

# Windows begin anywhere, at values and between them: every x at which what lies in [x, x + w]
# changes, and a point between each two. Nothing here knows the library or its formulas.


def windows_of(values, wide, share=False):
    """The sets of values that lie in some window; `share` says that it is so wide for its amount.

    >>> [sorted(map(int, s)) for s in windows_of([1, 2, 4], 2)]
    [[1], [1, 2], [2], [2, 4], [4]]
    >>> [sorted(map(int, s)) for s in windows_of([-110, -100, 0, 5], Fraction(1, 10), share=True)]
    [[-110], [-110, -100], [-100], [0], [5]]
    """
    values, wide = sorted({Fraction(v) for v in values}), Fraction(wide)

    def holds(x, v):
        if not share:
            return x <= v <= x + wide
        # Near by amount: of one sign, and the larger amount at most so much above the smaller.
        return x <= v <= x * (1 + wide) if x >= 0 else x <= v <= x / (1 + wide)

    if share:
        begins = {v / (1 + wide) if v > 0 else v * (1 + wide) for v in values}
    else:
        begins = {v - wide for v in values}
    changes = sorted(begins | set(values))
    between = [(one + other) / 2 for one, other in pairwise(changes)]
    results = {frozenset(v for v in values if holds(x, v)) for x in (*changes, *between)}
    return sorted(results - {frozenset()}, key=sorted)


# ---- merged windows ------------------------------------------------------------------------------

# What somebody finds out of a window of numbers who knows of one other person.


def maximal(values, wide, share=False):
    """Sets of numbers that lie in one window and to which none can be added.

    >>> [sorted(map(int, s)) for s in maximal([1, 2, 4, 5, 9], 3)]
    [[1, 2, 4], [2, 4, 5], [9]]
    """
    values, wide = sorted({Fraction(value) for value in values}), Fraction(wide)

    def end(x):
        if not share:
            return x + wide
        return x * (1 + wide) if x >= 0 else x / (1 + wide)

    every = [frozenset(v for v in values if x <= v <= end(x)) for x in values]
    return sorted({own for own in every if not any(own < other for other in every)}, key=sorted)


def worst_of_two(bags, wide, out, link):
    """Highest chance that a target's number lies in a window, by `out` values and one other person.

    Of the other is known, if anything: with ``link="same"`` that the target's number lies in the
    window if theirs does; with "any" that it does if theirs lies in some window, whichever; with
    "near" that both lie so near each other.

    >>> [str(worst_of_two([[0, 0, 6, 2]], 1, 0, link)) for link in ("same", "any", "near")]
    ['3/4', '3/4', '1']
    """
    every, best = maximal([value for bag in bags for value in bag], wide), Fraction(0)
    for home, bag in enumerate(bags):
        for place, other in enumerate(bags):
            ways = [
                (mine, theirs)
                for i, mine in enumerate(bag)
                for j, theirs in enumerate(other)
                if home != place or i != j
            ]
            for many in range(out + 1):
                for excluded in combinations(sorted(set(bag)), many):
                    left = [pair for pair in ways if pair[0] not in excluded]
                    for window in every:
                        for kept in _linked(left, window, every, wide, link):
                            hits = sum(mine in window for mine, _ in kept)
                            best = max(best, Fraction(hits, len(kept) or 1))
    return best


def _linked(ways, window, every, wide, link):
    """What is left of the values of two people by each link, and without one."""
    yield ways
    if link == "near":
        yield [(mine, theirs) for mine, theirs in ways if abs(mine - theirs) <= wide]
    for of in {"same": [window], "any": every}.get(link, []):
        yield [(mine, theirs) for mine, theirs in ways if theirs not in of or mine in window]
