"""The worlds of several releases of the same people, by trying every way to give values to all."""

from collections import Counter
from fractions import Fraction
from itertools import product


def groups_of(memberships, values):
    """Of each release: who is in each group, and the bag that it shows."""
    releases = []
    for membership in memberships:
        groups = {}
        for person, group in enumerate(membership):
            if group is not None:
                groups.setdefault(group, []).append(person)
        releases.append(
            [(people, Counter(values[person] for person in people)) for people in groups.values()]
        )
    return releases


def worlds_of_several(memberships, values):
    """Every way to give everybody a value so that each group of each release has its bag.

    A person who is in no release could have any value, and is left out.
    """
    releases = groups_of(memberships, values)
    seen = sorted({person for release in releases for people, _ in release for person in people})
    for chosen in product(sorted(set(values)), repeat=len(seen)):
        world = dict(zip(seen, chosen, strict=True))
        if all(
            Counter(world[person] for person in people) == bag
            for release in releases
            for people, bag in release
        ):
            yield world


def posteriors(memberships, values):
    """How likely each value is for each person, all worlds alike."""
    results = list(worlds_of_several(memberships, values))
    told = {}
    for world in results:
        for person, value in world.items():
            told.setdefault(person, Counter())[value] += 1
    return {
        person: {value: Fraction(n, len(results)) for value, n in counts.items()}
        for person, counts in told.items()
    }
