"""Possible worlds under `single`, one by one: slow, and right by inspection.

A release is a list of bags, one per group; its people are numbered 0, 1, ... group after group.
A world is the tuple of everybody's value. Nothing here knows the library or its formulas.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product


def members(bags):
    """List the people of each group.

    >>> members([["x", "y"], ["x"]])
    [range(0, 2), range(2, 3)]
    """
    results, first = [], 0
    for bag in bags:
        results.append(range(first, first + len(bag)))
        first += len(bag)
    return results


def arrangements(bag):
    """Deal a bag to a row of people, in all distinct ways (each as likely as any other).

    >>> list(arrangements("aab"))
    [('a', 'a', 'b'), ('a', 'b', 'a'), ('b', 'a', 'a')]
    """
    if not bag:
        yield ()
        return
    for value in sorted(set(bag)):
        rest = list(bag)
        rest.remove(value)
        for arrangement in arrangements(rest):
            yield (value, *arrangement)


def worlds(bags):
    """All worlds of a release, equally likely."""
    dealt = product(*(list(arrangements(bag)) for bag in bags))
    return [sum(parts, ()) for parts in dealt]


# ---- knowledge: a list of statements; a statement holds in a world or does not ---------------


def has(person, value):
    """Say that a person has a value."""
    return lambda world: world[person] == value


def lacks(person, value):
    """Say that a person does not have a value."""
    return lambda world: world[person] != value


def implies(relative, target, value):
    """Say that if the relative has the value, so has the target."""
    return lambda world: world[relative] != value or world[target] == value


def posterior(all_worlds, knowledge, target, value):
    """Probability that the target has the value, given knowledge; None if that is impossible."""
    left = [world for world in all_worlds if all(holds(world) for holds in knowledge)]
    if not left:
        return None
    return Fraction(sum(world[target] == value for world in left), len(left))


# ---- the worst case over all knowledge of some amount ----------------------------------------


def worst_cases(bags, value, most):
    """Highest posterior of a value for every amount of knowledge up to `most` = (l, k, m).

    Over every target; every choice of at most l other values that the target does not have; at
    most k other people whose value is known, whatever it is; at most m relatives who are neither
    the target nor known. One symmetry is used: people of one group who are not the target are
    exchangeable, as are the targets of one group.

    Returns
    -------
    dict of (l, k, m) -> Fraction
    """
    all_worlds = worlds(bags)
    groups = members(bags)
    # As a set of worlds, one bit for each.
    where = {
        (person, x): sum(1 << i for i, world in enumerate(all_worlds) if world[person] == x)
        for group, bag in zip(groups, bags, strict=True)
        for person in group
        for x in {value, *bag}
    }
    everywhere = (1 << len(all_worlds)) - 1
    exactly = {}
    for home, bag in zip(groups, bags, strict=True):
        target = home[0]
        hit = where[target, value]
        rulings = [
            (len(excluded), everywhere & ~sum(where[target, x] for x in excluded))
            for l in range(most[0] + 1)  # noqa: E741
            for excluded in combinations(sorted(set(bag) - {value}), l)
        ]
        for k, m, told in about_others(bags, groups, target, value, most, where, everywhere, hit):
            for l, allowed in rulings:  # noqa: E741
                left = told & allowed
                if left:
                    chance = (left & hit).bit_count(), left.bit_count()
                    top = exactly.get((l, k, m), (0, 1))
                    if chance[0] * top[1] > top[0] * chance[1]:
                        exactly[l, k, m] = chance
    return _at_most(exactly, most)


def about_others(bags, groups, target, value, most, where, everywhere, hit):
    """Each choice of known people and relatives: how many of each, and the worlds it leaves."""
    choices = []
    for group, bag in zip(groups, bags, strict=True):
        others = [person for person in group if person != target]
        roles = ["nobody", "relative", *(("known", x) for x in sorted(set(bag)))]
        choices.append(
            [
                list(zip(others, chosen, strict=True))
                for chosen in combinations_with_replacement(roles, len(others))
                if chosen.count("relative") <= most[2]
                and len(others) - chosen.count("relative") - chosen.count("nobody") <= most[1]
            ]
        )
    for parts in product(*choices):
        k = m = 0
        told = everywhere
        for person, role in (pair for part in parts for pair in part):
            if role == "relative":
                m += 1
                told &= ~where[person, value] | hit
            elif role != "nobody":
                k += 1
                told &= where[person, role[1]]
        if k <= most[1] and m <= most[2] and told:
            yield k, m, told


def _at_most(exactly, most):
    """From the best with exactly so many facts to the best with at most so many."""
    best = {}
    for l, k, m in product(*(range(amount + 1) for amount in most)):  # noqa: E741
        options = [Fraction(*exactly.get((l, k, m), (0, 1)))]
        options += [best[l - 1, k, m]] if l else []
        options += [best[l, k - 1, m]] if k else []
        options += [best[l, k, m - 1]] if m else []
        best[l, k, m] = max(options)
    return best


# ---- all small releases ----------------------------------------------------------------------


def small_releases(n_people, most_groups, n_values):
    """Every release of so many people up to renaming of people, groups and values.

    >>> small_releases(2, 2, 2)
    [['aa'], ['ab'], ['a', 'a'], ['a', 'b']]
    """
    letters = "abcdefgh"[:n_values]
    results = {}
    for sizes in _partitions(n_people, most_groups):
        bags = [map("".join, combinations_with_replacement(letters, size)) for size in sizes]
        for release in product(*bags):
            results.setdefault(_shape(release, letters), list(release))
    return list(results.values())


def _partitions(total, most, smallest=1):
    if total == 0:
        yield ()
    elif most:
        if total >= smallest:
            yield (total,)
        for first in range(smallest, total):
            for partition in _partitions(total - first, most - 1, first):
                if partition:
                    yield (first, *partition)


def _shape(release, letters):
    """The same for releases that differ by names only: each value's counts per group, sorted."""
    tallies = [Counter(bag) for bag in release]
    return min(
        tuple(sorted(tuple(tally[x] for x in order) for tally in tallies))
        for order in permutations(letters)
    )
