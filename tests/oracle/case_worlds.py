"""Cases of which a person may have several: every way to give the bag of a group to its cases."""

from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product


@cache
def worlds(bag):
    """Every different way to give the values of a group to its cases, in their order."""
    return sorted(set(permutations(bag)))


def surest_of_case(bag, case, value, ruled, known):
    """How sure somebody becomes at most of a case in a group, who has facts about its cases.

    They know `ruled` values that the case has not, and the values of `known` other cases.
    """
    found, others = worlds(tuple(sorted(bag))), [c for c in range(len(bag)) if c != case]
    best = Fraction(0)
    values = sorted({*bag} - {value})
    for out in combinations(values, min(ruled, len(values))):
        for seen in combinations(others, min(known, len(others))):
            told = {}
            for world in found:
                if world[case] not in out:
                    told.setdefault(tuple(world[c] for c in seen), []).append(world[case] == value)
            for own in told.values():
                best = max(best, Fraction(sum(own), len(own)))
    return best


def limit_of_people(cases, value, ruled=0, known=0):
    """The highest sum over a person's cases of how sure somebody becomes of each; at most 1.

    `cases` are of (person, group, value).
    """
    bags, place = {}, []
    for _, group, own in cases:
        place.append(len(bags.setdefault(group, [])))
        bags[group].append(own)
    sums = {}
    for (person, group, _), at in zip(cases, place, strict=True):
        sure = surest_of_case(tuple(bags[group]), at, value, ruled, known)
        sums[person] = sums.get(person, 0) + sure
    return min(Fraction(1), max(sums.values()))


def surest_of_person(cases, value, ruled=0, known=0):
    """How sure somebody really becomes that one of a person's cases has a value.

    They rule out `ruled` values of one of the cases, and know `known` cases of other people.
    """
    groups = sorted({group for _, group, _ in cases})
    members = {g: [i for i, (_, group, _) in enumerate(cases) if group == g] for g in groups}
    every = []
    bags = [tuple(sorted(cases[i][2] for i in members[g])) for g in groups]
    for chosen in product(*map(worlds, bags)):
        world = {}
        for g, own in zip(groups, chosen, strict=True):
            world |= dict(zip(members[g], own, strict=True))
        every.append(world)
    best, values = Fraction(0), sorted({v for _, _, v in cases} - {value})
    for person in sorted({p for p, _, _ in cases}):
        own = [i for i, (p, _, _) in enumerate(cases) if p == person]
        others = [i for i in range(len(cases)) if i not in own]
        for about in own:
            for out in combinations(values, min(ruled, len(values))):
                for seen in combinations(others, min(known, len(others))):
                    told = {}
                    for world in every:
                        if world[about] not in out:
                            had = any(world[i] == value for i in own)
                            told.setdefault(tuple(world[i] for i in seen), []).append(had)
                    for found in told.values():
                        best = max(best, Fraction(sum(found), len(found)))
    return best
