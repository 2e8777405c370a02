"""Households and several releases, by listing worlds."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

# ---- household worlds ----------------------------------------------------------------------------

# Households that share a value, shown once: every way to give a group's values to those shown.


def worlds_of_households(shown):
    """Every way to give each group's values to the households that are shown there.

    `shown` are of (household, group, value), one for each household.
    """
    groups = sorted({group for _, group, _ in shown})
    each = []
    for group in groups:
        homes = [home for home, own, _ in shown if own == group]
        bag = [value for _, own, value in shown if own == group]
        each.append([tuple(zip(homes, way, strict=True)) for way in sorted(set(permutations(bag)))])
    return [dict(pair for way in chosen for pair in way) for chosen in product(*each)]


def surest(found, values, ruled, known):
    """How sure somebody becomes at most of a household's value, who has facts about households."""
    best, homes = Fraction(0), sorted(found[0])
    for target in homes:
        others = [home for home in homes if home != target]
        for value in values:
            rest = [v for v in values if v != value]
            for out in combinations(rest, min(ruled, len(rest))):
                for combination in combinations(others, min(known, len(others))):
                    told = {}
                    for world in found:
                        if world[target] not in out:
                            key = tuple(world[home] for home in combination)
                            told.setdefault(key, []).append(world[target] == value)
                    for own in told.values():
                        best = max(best, Fraction(sum(own), len(own)))
    return best


# ---- several worlds ------------------------------------------------------------------------------

# The worlds of several releases of the same people, by trying every way to give values to all.


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
