"""Implications, and languages of knowledge, by enumeration."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate, combinations, product
from math import inf, perm

from tests.oracle.worlds import members, worlds

# ---- implication worlds --------------------------------------------------------------------------

# The worst of at most k implications or negations, tried one after another: slow, and plain.
#
# A release is a list of bags, one per group; its people are numbered 0, 1, ... group after group.
# To know ``A1 -> B, A2 -> B, ...`` of a target atom B leaves the worlds where B holds, and those
# where neither B nor any A holds: so all ways to exclude atoms are tried. One symmetry is used:
# people of one group who are not the target are exchangeable. Nothing here knows the library or
# its formulas.


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
        results = {}
        for counts, ways in left.items():
            for i, (value, count) in enumerate(zip(self.values, counts, strict=True)):
                if count and value not in excluded:
                    rest = (*counts[:i], count - 1, *counts[i + 1 :])
                    results[rest] = results.get(rest, 0) + ways * count
        return results

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
    for position, excluded in enumerate(subsets, start=1):
        if len(excluded) > most:
            break
        after = space.without(left, people[0], excluded)
        rest = _of_one_class(space, after, people[1:], subsets[:position], most - len(excluded))
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


# ---- languages -----------------------------------------------------------------------------------

# Knowledge as the set of worlds it leaves, and whole languages of it: slow, right by inspection.
#
# A world is the tuple of everybody's value. A set of worlds is a number, with one bit for each
# world; two expressions say the same if they leave the same set. Nothing here knows the library.


class Space:
    """Some worlds, and where among them a statement holds.

    >>> space = Space([("x", "x"), ("x", "y"), ("y", "x")], "xy")
    >>> bin(space.has(0, "x")), bin(space.everywhere)
    ('0b11', '0b111')
    """

    def __init__(self, worlds: Iterable[tuple], values: Iterable):
        self.worlds = list(worlds)
        self.values = list(values)
        self.people = range(len(self.worlds[0]))
        self.everywhere = (1 << len(self.worlds)) - 1
        self._has = {
            (p, x): self.where(lambda world, p=p, x=x: world[p] == x)
            for p, x in product(self.people, self.values)
        }

    def where(self, holds: Callable[[tuple], bool]) -> int:
        """The worlds in which a statement holds."""
        return sum(1 << i for i, world in enumerate(self.worlds) if holds(world))

    def has(self, person, value) -> int:
        return self._has[person, value]

    def implies(self, one: int, other: int) -> int:
        """The worlds in which one set implies another."""
        return self.everywhere & ~one | other

    @cached_property
    def atoms(self) -> list[int]:
        return list(self._has.values())


def tables(n_people, values):
    """Every table of so many people, whatever was released: appendix A8's "original datasets"."""
    return Space(product(values, repeat=n_people), values)


def basic_implications(space):
    """Every basic implication: some atoms together imply that at least one of some others holds.

    >>> len(basic_implications(tables(2, "xy")))
    9
    """
    both = _joined(space.atoms, lambda one, other: one & other)
    either = _joined(space.atoms, lambda one, other: one | other)
    return {space.implies(one, other) for one in both for other in either}


def _joined(atoms, join):
    """Every non-empty set of atoms, joined."""
    results = set()
    for atom in atoms:
        results |= {join(result, atom) for result in results} | {atom}
    return results


# ---- minimize ------------------------------------------------------------------------------------

# MINIMIZE1 and MINIMIZE2 of "Worst-Case Background Knowledge" (section 3.3), misprints mended.
#
# Plain Python, one bucket after another, memoised as the paper says: O(buckets k^3). Three things
# differ from the print, where enumeration says otherwise: MINIMIZE1 stops at a numerator of 0,
# MINIMIZE2 ends with 1 once the target has been placed, and its first call has not placed it yet.


def minimize1(counts, most, one=1.0):
    """Least chances that 0 to `most` atoms about one bucket are all false.

    Parameters
    ----------
    counts : sequence of int
        How often each value occurs.
    most : int
    one : float or Fraction
        The number 1, in the kind of number to work with.

    >>> from fractions import Fraction
    >>> [str(x) for x in minimize1([2, 2, 1], 3, Fraction(1))]
    ['1', '3/5', '1/5', '0']
    """
    tops = list(accumulate(sorted(counts, reverse=True), initial=0))
    n, known = tops[-1], {}

    def least(i, cap, left):
        if (i, cap, left) not in known:
            best = one
            for c in range(1, min(cap, left) + 1):
                free = n - i - tops[min(c, len(tops) - 1)]
                if free <= 0:
                    best = 0 * one
                    break
                best = min(best, one * free / (n - i) * least(i + 1, c, left - c))
            known[i, cap, left] = best
        return known[i, cap, left]

    return [least(0, h, h) for h in range(most + 1)]


def minimize2(buckets, k, one=1.0):
    """Highest posterior of any value, given 0 to k implications.

    >>> from fractions import Fraction
    >>> [str(x) for x in minimize2([[2, 2, 1], [2, 1, 1, 1]], 2, Fraction(1))]
    ['2/5', '2/3', '1']
    """
    placed, waiting = [one] * (k + 1), [inf] * (k + 1)
    for counts in reversed(buckets):
        chances = minimize1(counts, k + 1, one)
        share = one * sum(counts) / max(counts)
        after, before = placed, waiting
        placed = [
            min(chances[h] * after[left - h] for h in range(left + 1)) for left in range(k + 1)
        ]
        waiting = [
            min(
                min(chances[h + 1] * share * after[left - h] for h in range(left + 1)),
                min(_later(chances[h], before[left - h]) for h in range(left + 1)),
            )
            for left in range(k + 1)
        ]
    return [one / (1 + ratio) for ratio in waiting]


def _later(chance, ratio):
    """The target is in a later bucket, if there is one."""
    return inf if ratio == inf else chance * ratio
