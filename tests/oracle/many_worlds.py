"""Possible worlds where people may have several values, or none: slow, and right by inspection.

A release is a list of groups, each (number of people, bag of values); people are numbered 0, 1,
... group after group. Every value is dealt out by itself. Under `set` its occurrences go to as
many different people, under `multiset` each occurrence goes to anybody: the occurrences are
labelled, so three of them among two people can be dealt in 2**3 ways. A world is the tuple of
everybody's set of values (how often somebody has a value is never asked), and carries the number
of ways to deal it. Nothing here knows the library or its formulas.
"""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations, product

from tests.oracle.worlds import _at_most, _partitions


def members(groups):
    """List the people of each group.

    >>> members([(2, "aab"), (1, "")])
    [range(0, 2), range(2, 3)]
    """
    results, first = [], 0
    for size, _ in groups:
        results.append(range(first, first + size))
        first += size
    return results


@cache
def deals(size, count, semantics):
    """Who may get a value that occurs so often, and in how many ways: a dict of sets of people.

    >>> [sorted(holders) for holders in deals(3, 2, "set")]
    [[0, 1], [0, 2], [1, 2]]
    >>> [(sorted(holders), ways) for holders, ways in deals(2, 3, "multiset").items()]
    [([0], 1), ([0, 1], 6), ([1], 1)]
    """
    if semantics == "set":
        return Counter(map(frozenset, combinations(range(size), count)))
    return Counter(map(frozenset, product(range(size), repeat=count)))


def worlds(groups, semantics, seen=lambda person, value: True):
    """All worlds, and in how many ways each may be dealt.

    Parameters
    ----------
    groups : list of (int, bag)
    semantics : {"set", "multiset"}
    seen : callable (person, value) -> bool
        Whether anybody will ask if that person has that value. What is not seen is left out of
        the worlds, and worlds that look alike are counted together.

    Returns
    -------
    Counter of tuple of frozenset
    """
    counts = Counter({(): 1})
    for people, (size, bag) in zip(members(groups), groups, strict=True):
        counter = Counter({(frozenset(),) * size: 1})
        for value, count in sorted(Counter(bag).items()):
            before, counter = counter, Counter()
            for world, earlier in before.items():
                for holders, ways in deals(size, count, semantics).items():
                    after = tuple(
                        own | {value} if i in holders and seen(people[i], value) else own
                        for i, own in enumerate(world)
                    )
                    counter[after] += earlier * ways
        before, counts = counts, Counter()
        for world, earlier in before.items():
            for part, ways in counter.items():
                counts[world + part] += earlier * ways
    return counts


def worlds_about(groups, semantics, target, value):
    """All worlds, as far as statements about the value and about the target tell them apart."""
    return worlds(groups, semantics, lambda person, x: x == value or person == target)


# ---- knowledge: a list of statements; a statement holds in a world or does not ---------------


def lacks(person, value):
    """Say that a person does not have a value."""
    return lambda world: value not in world[person]


def brings(target, other, value):
    """Say that if the target has the other value, it has this one too."""
    return lambda world: other not in world[target] or value in world[target]


def implies(relative, target, value):
    """Say that if the relative has the value, so has the target."""
    return lambda world: value not in world[relative] or value in world[target]


def posterior(all_worlds, knowledge, target, value):
    """Probability that the target has the value, given knowledge; None if that is impossible."""
    left = [
        (world, ways)
        for world, ways in all_worlds.items()
        if all(holds(world) for holds in knowledge)
    ]
    total = sum(ways for _, ways in left)
    if not total:
        return None
    return Fraction(sum(ways for world, ways in left if value in world[target]), total)


# ---- the worst case over all knowledge of some amount ----------------------------------------


def worst_cases(groups, value, most, semantics):
    """Highest posterior of a value for every amount of knowledge up to `most` = (l, k, m).

    Over every target; every choice of at most l other values that bring this one with them for
    the target; at most k other people known not to have it; at most m relatives who are neither
    the target nor known. One symmetry is used: people of one group who are not the target are
    exchangeable, as are the targets of one group.

    Returns
    -------
    dict of (l, k, m) -> Fraction
    """
    exactly = {}
    for people, (_, bag) in zip(members(groups), groups, strict=True):
        target = people[0]
        dealt = list(worlds_about(groups, semantics, target, value).items())
        everywhere = (1 << len(dealt)) - 1
        # As a set of worlds, one bit for each.
        hit = _where(dealt, lambda world: value in world[target])  # noqa: B023
        rulings = [
            (len(chosen), _all(everywhere, dealt, [brings(target, x, value) for x in chosen]))
            for l in range(most[0] + 1)  # noqa: E741
            for chosen in combinations(sorted(set(bag) - {value}), l)
        ]
        weights = {}
        for k, m, told in _about_others(groups, dealt, everywhere, target, value, most):
            for l, allowed in rulings:  # noqa: E741
                left = told & allowed
                if left not in weights:
                    weights[left] = _weight(dealt, left & hit), _weight(dealt, left)
                chance, total = weights[left]
                top = exactly.get((l, k, m), (0, 1))
                if total and chance * top[1] > top[0] * total:
                    exactly[l, k, m] = chance, total
    return _at_most(exactly, most)


def _about_others(groups, dealt, everywhere, target, value, most):
    """Each choice of known people and relatives: how many of each, and the worlds it leaves."""
    choices = []
    for people in members(groups):
        others = [person for person in people if person != target]
        options = []
        for roles in combinations_with_replacement(["nobody", "known", "relative"], len(others)):
            if roles.count("known") > most[1] or roles.count("relative") > most[2]:
                continue
            statements = [
                lacks(person, value) if role == "known" else implies(person, target, value)
                for person, role in zip(others, roles, strict=True)
                if role != "nobody"
            ]
            told = _all(everywhere, dealt, statements)
            options.append((roles.count("known"), roles.count("relative"), told))
        choices.append(options)
    for parts in product(*choices):
        k, m = sum(part[0] for part in parts), sum(part[1] for part in parts)
        if k <= most[1] and m <= most[2]:
            told = everywhere
            for part in parts:
                told &= part[2]
            yield k, m, told


def _all(everywhere, dealt, statements):
    for statement in statements:
        everywhere &= _where(dealt, statement)
    return everywhere


def _where(dealt, statement):
    return sum(1 << i for i, (world, _) in enumerate(dealt) if statement(world))


def _weight(dealt, chosen):
    return sum(ways for i, (_, ways) in enumerate(dealt) if chosen >> i & 1)


# ---- all small releases ----------------------------------------------------------------------


def small_releases(n_people, most_groups, n_values, most_count, semantics):
    """Every release of so many people up to renaming of people, groups and values.

    No value occurs more than `most_count` times in a group; under `set`, not more often than the
    group has people. Groups, even all groups, may be without values.

    >>> small_releases(2, 2, 1, 1, "set")
    [[(2, '')], [(2, 'a')], [(1, ''), (1, '')], [(1, ''), (1, 'a')], [(1, 'a'), (1, 'a')]]
    """
    letters = "abcdefgh"[:n_values]
    results = {}
    for sizes in _partitions(n_people, most_groups):
        tops = [min(size, most_count) if semantics == "set" else most_count for size in sizes]
        for tallies in product(*(product(range(top + 1), repeat=n_values) for top in tops)):
            shape = min(
                tuple(
                    sorted(
                        (size, *(tally[i] for i in order))
                        for size, tally in zip(sizes, tallies, strict=True)
                    )
                )
                for order in permutations(range(n_values))
            )
            bags = ["".join(x * n for x, n in zip(letters, t, strict=True)) for t in tallies]
            results.setdefault(shape, list(zip(sizes, bags, strict=True)))
    return list(results.values())


# the worlds of several releases of the same people, by trying every way to give values to all.


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
