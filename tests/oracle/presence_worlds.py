"""Who of a population may be in a table: every way to choose people for each group."""

from collections import Counter
from fractions import Fraction
from itertools import combinations


def chosen(cover, sizes, taken=frozenset()):
    """Every set of people that could make the groups; `cover` lists who could be in each."""
    if not cover:
        yield taken
        return
    free = [person for person in cover[0] if person not in taken]
    for members in combinations(free, sizes[0]):
        yield from chosen(cover[1:], sizes[1:], taken | set(members))


def presence(people, cover, sizes):
    """How likely each of so many people is in the table, where all ways are equally likely."""
    found, ways = Counter(), 0
    for inside in chosen(cover, sizes):
        ways += 1
        found.update(inside)
    return [Fraction(found[person], ways) for person in range(people)]
