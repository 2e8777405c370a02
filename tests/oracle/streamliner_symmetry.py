"""The releases of all tables of a bag from those of a few, where people are treated alike.

If a method treats some people alike, then exchanging their values exchanges them in its releases,
with the same probabilities. So it is run only for tables in which the values of such people are in
order. `exchanged` says what must hold for that: tests compare it with runs of the method.
"""

from collections import Counter
from itertools import permutations, product

from tests.oracle.streamliner_lots import outcomes, release_of


def in_order(table, sets):
    """Give the values of each set of people in order."""
    found = list(table)
    for people in sets:
        for person, value in zip(people, sorted(table[p] for p in people), strict=True):
            found[person] = value
    return tuple(found)


def exchanged(release, to):
    """The release in which everybody is another: person p is `to[p]`."""
    return frozenset((tuple(sorted(to[p] for p in people)), values) for people, values in release)


def released(table, method):
    """release -> its probability, over all lots."""
    found = Counter()
    for groups, chance in outcomes(lambda lots: method(table, lots)):
        found[release_of(groups, table)] += chance
    return found


def releases_of_alike(bag, method, sets):
    """release -> {table: probability}, for all tables; `sets` of people are treated alike."""
    found = {}
    for first in sorted({in_order(table, sets) for table in set(permutations(bag))}):
        known = released(first, method)
        for table, to in _exchanges(first, sets):
            for release, chance in known.items():
                found.setdefault(exchanged(release, to), Counter())[table] += chance
    return found


def _exchanges(table, sets):
    """Each table with the same values in each set, and one way that leads to it."""
    ways = [sorted(set(permutations(table[p] for p in people))) for people in sets]
    for chosen in product(*ways):
        other, to = list(table), {person: person for person in range(len(table))}
        for people, values in zip(sets, chosen, strict=True):
            left = list(people)
            for person in people:
                to[person] = next(p for p in left if values[people.index(p)] == table[person])
                left.remove(to[person])
            for person, value in zip(people, values, strict=True):
                other[person] = value
        yield tuple(other), to
