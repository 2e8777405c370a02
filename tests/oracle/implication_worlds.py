"""The worst of at most k implications or negations, tried one after another: slow, and plain.

A release is a list of bags, one per group; its people are numbered 0, 1, ... group after group. To
know ``A1 -> B, A2 -> B, ...`` of a target atom B leaves the worlds where B holds, and those where
neither B nor any A holds: so all ways to exclude atoms are tried. One symmetry is used: people of
one group who are not the target are exchangeable. Nothing here knows the library or its formulas.
"""

from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate, combinations
from math import perm

from tests.oracle.languages import Space
from tests.oracle.worlds import members, worlds


class Worlds:
    """Worlds one by one; what is left of them is a number with one bit for each.

    >>> left = Worlds(["aab"]).everything
    >>> Worlds(["aab"]).chance(Worlds(["aab"]).without(left, 0, "a"))
    Fraction(1, 3)
    """

    def __init__(self, bags):
        self.bags = [sorted(bag) for bag in bags]
        self.values = sorted({x for bag in bags for x in bag})
        self.groups = [list(group) for group in members(bags)]
        self.space = Space(worlds(bags), self.values)
        self.everything = self.space.everywhere

    def without(self, left, person, excluded):
        """What is left where the person has none of some values."""
        for value in excluded:
            left &= ~self.space.has(person, value)
        return left

    def chance(self, left):
        return Fraction(left.bit_count(), self.everything.bit_count())

    def classes(self, target=None):
        """People who cannot be told apart, other than the target, and the values they may have."""
        return [
            ([person for person in group if person != target], sorted(set(bag)))
            for group, bag in zip(self.groups, self.bags, strict=True)
        ]


class Dealing:
    """One group, its values dealt to its people in turn, so that it may be larger.

    What is left is how often each value remains, with the number of ways to deal the others, told
    apart by their labels; people are taken in order.

    >>> dealing = Dealing("aab")
    >>> dealing.chance(dealing.without(dealing.everything, 0, "a"))
    Fraction(1, 3)
    """

    def __init__(self, bag):
        self.values = sorted(set(bag))
        self.groups = [range(len(bag))]
        self.everything = {tuple(list(bag).count(x) for x in self.values): 1}

    def without(self, left, person, excluded):
        """Deal to the next person, who has none of some values."""
        found = {}
        for counts, ways in left.items():
            for i, (value, count) in enumerate(zip(self.values, counts, strict=True)):
                if count and value not in excluded:
                    rest = (*counts[:i], count - 1, *counts[i + 1 :])
                    found[rest] = found.get(rest, 0) + ways * count
        return found

    def chance(self, left):
        if not left:
            return Fraction(0)
        people = len(self.groups[0])
        return Fraction(sum(left.values()), perm(people, people - sum(next(iter(left)))))

    def classes(self, target=None):
        """See `Worlds.classes`; a target must be the first."""
        return [(self.groups[0][target is not None :], self.values)]


def exclusions(space, left, classes, most):
    """Every way to exclude at most so many atoms about some people: (atoms, what is left)."""
    if not classes:
        yield 0, left
        return
    (people, values), *others = classes
    subsets = [x for size in range(1, most + 1) for x in combinations(values, size)]
    for used, after in _of_one_class(space, left, people, subsets, most):
        for more, final in exclusions(space, after, others, most - used):
            yield used + more, final


def _of_one_class(space, left, people, subsets, most):
    """Nobody more is spoken of; or the next person, and those after by no later a subset."""
    yield 0, left
    if not people or not left:
        return
    for at, excluded in enumerate(subsets, start=1):
        if len(excluded) > most:
            break
        after = space.without(left, people[0], excluded)
        rest = _of_one_class(space, after, people[1:], subsets[:at], most - len(excluded))
        for used, final in rest:
            yield len(excluded) + used, final


def least_chances(space, most):
    """Least chance that at most 0, 1, ... atoms are all false."""
    return _least(space, exclusions(space, space.everything, space.classes(), most), most)


def least_odds(space, target, value, most):
    """Least odds against the target's value given 0, 1, ... implications that end with it."""
    sure = 1 - space.chance(space.without(space.everything, target, [value]))
    if not sure:
        return None
    tried = _missed(space, target, value, most)
    return [chance / sure for chance in _least(space, tried, most)]


def _missed(space, target, value, most):
    others = [x for x in space.values if x != value]
    for own in range(min(most, len(others)) + 1):
        for ruled_out in combinations(others, own):
            left = space.without(space.everything, target, (value, *ruled_out))
            for used, final in exclusions(space, left, space.classes(target), most - own):
                yield own + used, final


def _least(space, tried, most):
    best = [Fraction(1)] * (most + 1)
    for used, left in tried:
        best[used] = min(best[used], space.chance(left))
    return list(accumulate(best, min))


class Truth:
    """The worst cases of a small release.

    >>> [str(x) for x in Truth(["aabc", "abcd"]).implications("a", 2)]
    ['1/2', '3/4', '1']
    """

    def __init__(self, bags):
        self.worlds = Worlds(bags)

    @cached_property
    def targets(self):
        """One person of each group."""
        return [group[0] for group in self.worlds.groups]

    def implications(self, value, most):
        """Highest posterior of a value given at most 0, 1, ... implications of it."""
        best = [Fraction(0)] * (most + 1)
        for target in self.targets:
            odds = least_odds(self.worlds, target, value, most)
            if odds is not None:
                best = [max(p, 1 / (1 + r)) for p, r in zip(best, odds, strict=True)]
        return best

    def negations(self, value, most):
        """Highest posterior of a value given at most 0, 1, ... negations about anybody."""
        space = self.worlds.space
        best = [Fraction(0)] * (most + 1)
        for target in self.targets:
            classes = [([target], self.worlds.values), *self.worlds.classes(target)]
            for used, left in exclusions(self.worlds, space.everywhere, classes, most):
                if left:
                    best[used] = max(best[used], space.posterior(left, target, value))
        return list(accumulate(best, max))


# ---- several groups, each by itself: they are dealt independently ------------------------------


def space_of(bag):
    """The worlds of one group, one by one where they are few."""
    return Worlds([bag]) if len(bag) < 8 else Dealing(bag)


@cache
def chances_of(bag, most):
    """`least_chances` of one group, given as a sorted text."""
    return least_chances(space_of(bag), most)


@cache
def odds_of(bag, value, most):
    """`least_odds` of a target in one group, given as a sorted text."""
    return least_odds(space_of(bag), 0, value, most)


def group_by_group(bags, value, most):
    """`Truth.implications`, where chances of different groups are multiplied.

    >>> [str(x) for x in group_by_group(["aabc", "abcd"], "a", 2)]
    ['1/2', '3/4', '1']
    """
    bags = ["".join(sorted(bag)) for bag in bags]
    best = [Fraction(0)] * (most + 1)
    for home, bag in enumerate(bags):
        if value not in bag:
            continue
        odds = odds_of(bag, value, most)
        for other in bags[:home] + bags[home + 1 :]:
            spent = chances_of(other, most)
            odds = [min(odds[k - h] * spent[h] for h in range(k + 1)) for k in range(most + 1)]
        best = [max(p, 1 / (1 + r)) for p, r in zip(best, odds, strict=True)]
    return best
