"""Requirements against whoever also knows the method, by listing what they may rule out.

A world is a tuple of values, one per person; all worlds of a list are equally likely.
"""

from fractions import Fraction
from itertools import combinations


def rulings(others, most):
    """Every set of at most so many values."""
    for size in range(min(most, len(others)) + 1):
        yield from combinations(others, size)


def worst_in_worlds(worlds, most, about):
    """The highest posterior of a value that `about` accepts, with up to `most` others ruled out."""
    domain = sorted({value for world in worlds for value in world})
    highest = Fraction(0)
    for person in range(len(worlds[0])):
        column = [world[person] for world in worlds]
        for target in filter(about, domain):
            for ruled_out in rulings([v for v in domain if v != target], most):
                left = [value for value in column if value not in ruled_out]
                if target in left:
                    highest = max(highest, Fraction(left.count(target), len(left)))
    return highest


def judge_of(requirements):
    """From a person's chances to whether all of (limit, most ruled out, about) hold."""

    def judge(shares, size):
        for limit, most, about in requirements:
            for target in filter(about, shares):
                others = [value for value in shares if value != target]
                for ruled_out in rulings(others, most):
                    left = 1 - sum(shares[value] for value in ruled_out)
                    if shares[target] / left >= limit:
                        return False
        return True

    return judge
