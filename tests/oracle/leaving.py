"""Rows that are left out, and distances of values."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

# ---- leaving -------------------------------------------------------------------------------------

# Who must leave a group so that it is safe, by trying everybody: shares nothing with the library.
#
# A group is a text, one letter for the value of each person; what is safe a function of such a
# text.


def fewest(group, is_safe):
    """The fewest people who must leave so that those who stay are safe, or nobody stays."""
    bag = Counter(group)
    least = len(group)
    for kept in product(*(range(many + 1) for many in bag.values())):
        left = len(group) - sum(kept)
        if left < least and sum(kept):
            text = "".join(value * many for value, many in zip(bag, kept, strict=True))
            if is_safe(text):
                least = left
    return least


def facts(point, limit, values=None):
    """Whether a group by itself stays below a limit for who knows l, k, m facts (Theorem 2)."""
    l, k, m = point  # noqa: E741

    def odds(bag, n, value, known):
        others = sorted((c for v, c in bag.items() if v != value), reverse=True)
        return Fraction(max(sum(others[l:]) - known, 0), bag[value])

    def nobody(bag, n, value, known):
        chance = Fraction(1)
        for i in range(m):
            if n - bag[value] - known - i <= 0:
                return Fraction(0)
            chance *= Fraction(n - bag[value] - known - i, n - known - i)
        return chance

    def is_safe(group):
        bag, n = Counter(group), len(group)
        for value in bag if values is None else set(values) & set(bag):
            ratio = min(
                odds(bag, n, value, k) * nobody(bag, n, value, k + 1),
                odds(bag, n, value, 0) * nobody(bag, n, value, k),
                odds(bag, n, value, k) * nobody(bag, n, value, 0),
            )
            if not 1 / (1 + ratio) < limit:
                return False
        return True

    return is_safe


def k_anonymity(k):
    """At least k people."""
    return lambda group: len(group) >= k


def distinct(least):
    """At least so many values."""
    return lambda group: len(set(group)) >= least


def recursive(least, c):
    """The commonest value is rarer than c times all from the least-th commonest on."""

    def is_safe(group):
        own = sorted(Counter(group).values(), reverse=True)
        return own[0] < c * sum(own[least - 1 :])

    return is_safe


def alpha_k(alpha, k):
    """At least k people, and no value of more than a share of them."""
    return lambda group: (
        len(group) >= k and Fraction(max(Counter(group).values()), len(group)) <= alpha
    )


def close(t, everybody, steps=None):
    """Shares no farther from everybody's: by how many must move, or how far in an order."""
    values = sorted(set(everybody)) if steps is None else steps

    def is_safe(group):
        apart = [
            Fraction(group.count(v), len(group)) - Fraction(everybody.count(v), len(everybody))
            for v in values
        ]
        if steps is None:
            return sum(max(x, 0) for x in apart) <= t
        running = [abs(sum(apart[: i + 1])) for i in range(len(values))]
        return sum(running) <= t * (len(values) - 1)

    return is_safe


# ---- transport -----------------------------------------------------------------------------------

# The least work of moving one distribution to another, by its dual: no plan is ever made.
#
# Work is the largest gain of any price list of the values in which no two prices differ by more
# than the way between them (Kantorovich). Distances that are whole have a best list of whole
# prices, so all of these are tried.


@cache
def price_lists(distances):
    """All lists of prices from 0 up that distances allow; `distances` is a square of integers."""
    highest = max(map(max, distances))
    places = range(len(distances))
    return [
        prices
        for prices in product(range(highest + 1), repeat=len(distances))
        if all(abs(prices[i] - prices[j]) <= distances[i][j] for i in places for j in places)
    ]


def least_work(p, q, values, distance, unit):
    """Work from p to q (mappings of value to share); distances are whole numbers of 1 / unit."""
    distances = tuple(tuple(distance(a, b) for b in values) for a in values)
    gaps = [p.get(v, Fraction(0)) - q.get(v, Fraction(0)) for v in values]
    gains = (
        sum(price * gap for price, gap in zip(prices, gaps, strict=True))
        for prices in price_lists(distances)
    )
    return Fraction(max(gains)) / unit


def levels_apart(rows):
    """How many levels up two values meet, and how many levels there are, from rows of a tree."""
    above = {str(row[0]): [str(cell) for cell in row] for row in rows}
    if len({row[-1] for row in above.values()}) > 1:
        above = {value: [*row, "all"] for value, row in above.items()}

    def distance(a, b):
        pairs = zip(above[str(a)], above[str(b)], strict=True)
        return next(level for level, (one, other) in enumerate(pairs) if one == other)

    return distance, len(next(iter(above.values()))) - 1
