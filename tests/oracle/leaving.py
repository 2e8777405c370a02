"""Rows that are left out, and distances of values."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

# ---- leaving -------------------------------------------------------------------------------------

# A group is a text, one letter for the value of each person; what is safe a function of such a
# text. Shares nothing with the library.


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
