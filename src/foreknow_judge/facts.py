"""Facts and implications: exact worst cases; facts by Theorem 2 of the skyline paper.

A ratio is a pair (numerator, denominator) of whole numbers, not reduced: reducing costs more than
comparing. Even a million people make few distinct cells, so all of these are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, groupby, pairwise
from math import lcm
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from foreknow_judge.counting import Group, GroupBags, Ints, distinct

Ratio: TypeAlias = tuple[int, int]


class Cell(NamedTuple):
    """The numbers that Theorem 2 needs of one group and one value."""

    people: int
    holders: int  # occurrences of the value; never 0
    others: tuple[int, ...]  # counts of the l most frequent other values, or only their sum

    @classmethod
    def of(cls, row: Sequence[int]) -> Cell:
        """A cell from a row of its numbers."""
        return cls(row[0], row[1], tuple(row[2:]))


class Worst(NamedTuple):
    """The worst case, or that nobody has a value that is asked about."""

    value: str | None = None
    group: Group | None = None
    chance: Fraction = Fraction(0)  # the adversary's probability
    prior: Fraction = Fraction(1)  # 1 if there are no priors

    @classmethod
    def among(cls, cases: Iterable[Worst], relative: bool) -> Worst:
        """The case with the highest chance (divided by its prior if `relative`), the first one."""
        return max(
            cases,
            key=lambda case: case.chance / case.prior if relative else case.chance,
            default=cls(),
        )


def worst_facts(
    held: GroupBags, about: Collection[str], semantics: str, l: int, k: int, m: int
) -> Worst:
    """The worst case of facts."""
    law = Theorem2.of(semantics, k, m)
    return worst_case(held, DistinctProfiles.of(held, about, semantics, l), law)


def worst_case(held: GroupBags, cells: DistinctProfiles, law: Theorem2) -> Worst:
    """The worst case over all cells of some groups."""
    worst = worst_of(cells, law)
    if worst is None:
        return Worst()
    return Worst(held.names[worst.value], held.group(worst.group), worst.chance)


class LeastOdds(NamedTuple):
    """The lowest odds against any value, the first value with these odds, and its first group."""

    odds: Fraction
    value: int
    group: int

    @property
    def chance(self) -> Fraction:
        """The adversary's probability."""
        return 1 / (1 + self.odds)


def worst_of(cells: DistinctProfiles, law: Theorem2) -> LeastOdds | None:
    """The lowest odds over all cells; None if there are no cells."""
    worst: tuple[Ratio, int, Target] | None = None
    for value, front in cells.front():
        odds, target = law.least(front)
        if worst is None or is_less(odds, worst[0]):
            worst = odds, value, target
            if not odds[0]:  # certain: nothing is worse, and values come in order
                break
    if worst is None:
        return None
    odds, value, target = worst
    return LeastOdds(Fraction(*odds), value, cells.first(value, target))


class Target(NamedTuple):
    """A function from cells to odds against the target, and its lowest result."""

    odds: Callable[[Cell], Ratio]
    least: Ratio


class DistinctProfiles(NamedTuple):
    """The distinct cells of each value, each with the first group that has it."""

    value: Ints
    group: Ints
    rows: Ints  # of each cell: people, holders, others

    @classmethod
    def of(
        cls, held: GroupBags, about: Collection[str], semantics: str, l: int
    ) -> DistinctProfiles:
        """The distinct cells of a release."""
        asked, columns = numbers_of_cells(held, about, semantics, l)
        first = distinct(*columns)[0]
        value, *rows = (column[first] for column in columns)
        return cls(value, held.of_group[asked][first], np.stack(rows, 1))

    def front(self) -> Iterator[tuple[int, list[Cell]]]:
        """For each value, the cells that no cell dominates which differs in two columns only.

        Fewer people, more holders and more `others` never raise the odds, neither of a target nor
        of relatives, so dominated cells can be skipped.
        """
        worse = self.rows * np.array([-1] + [1] * (self.rows.shape[1] - 1))
        unbeaten = np.argsort(self.value, kind="stable")
        for pair in combinations(range(worse.shape[1]), 2):
            by_one, by_other = worse[unbeaten].T[[*pair]]
            alike = [self.value[unbeaten], *np.delete(worse[unbeaten], pair, axis=1).T]
            order = np.lexsort((-by_other, -by_one, *alike))
            new = np.zeros(len(unbeaten), bool)
            new[:1] = True
            for column in alike:
                new[1:] |= np.diff(column[order]) != 0
            # With all else equal, a cell with less in one column needs more in the other.
            step = int(by_other.max(initial=0)) - int(by_other.min(initial=0)) + 1
            height = by_other[order] + step * np.cumsum(new)
            new[1:] |= height[1:] > np.maximum.accumulate(height)[:-1]
            unbeaten = unbeaten[np.sort(order[new])]
        pairs = zip(self.value[unbeaten].tolist(), self.rows[unbeaten].tolist(), strict=True)
        for value, some in groupby(pairs, itemgetter(0)):
            yield value, [Cell.of(row) for _, row in some]

    def first(self, value: int, target: Target) -> int:
        """The first group in which the odds are as low as `target.least`."""
        own = np.flatnonzero(self.value == value)
        own = own[np.argsort(self.group[own], kind="stable")]
        rows = zip(self.group[own].tolist(), self.rows[own].tolist(), strict=True)
        least: Iterator[int] = (
            at for at, row in rows if not is_less(target.least, target.odds(Cell.of(row)))
        )
        return next(least)


def numbers_of_cells(
    held: GroupBags, about: Collection[str], semantics: str, l: int
) -> tuple[Ints, list[Ints]]:
    """The cells that are asked about: values, people, holders, others.

    A value is never among its own `others`.
    """
    wanted = np.array([name in about for name in held.names], bool)[held.codes]
    group, holders = held.of_group, held.counts
    l = min(l, int(held.n_values.max(initial=0)))
    if semantics == "set":  # from the value's own rank on, the next rank counts
        ranks = [held.count_at_rank(place)[group] for place in range(l + 1)]
        others = [np.where(holders >= own, after, own) for own, after in pairwise(ranks)]
    else:
        among = holders >= held.count_at_rank(l)[group]
        others = [np.where(among, held.top_sum(l + 1)[group] - holders, held.top_sum(l)[group])]
    columns = (held.codes, held.people[group], holders, *others)
    asked = np.flatnonzero(wanted)
    return asked, [row if len(asked) == len(row) else row[asked] for row in columns]


class Theorem2(NamedTuple):
    """Theorem 2 for given k and m: odds against the target, chance that no relative is a holder."""

    against: Callable[[Cell, int], Ratio]
    none_of: Callable[[int, int, int], Ratio]
    k: int
    m: int

    @classmethod
    def of(cls, semantics: str, k: int, m: int) -> Theorem2:
        """The law for one of the three semantics."""
        return cls.by(_LAWS[semantics][0], k, m, _LAWS[semantics][1])

    @classmethod
    def by(
        cls,
        against: Callable[[Cell, int], Ratio],
        k: int,
        m: int,
        none_of: Callable[[int, int, int, int], Ratio] | None = None,
    ) -> Theorem2:
        """The law for a function that gives the odds against a target."""
        of = none_of or _no_relative
        return cls(
            against, cache(lambda people, holders, known: of(people, holders, known, m)), k, m
        )

    def least(self, cells: Sequence[Cell]) -> tuple[Ratio, Target]:
        """The lowest odds against one value, with k people known and m relatives.

        Relatives are all in the target's group or all in one other group; known people are all
        with the target or all with the relatives.
        """
        k = self.k
        known = self._target(cells, lambda cell: self.against(cell, k))
        if not self.m:
            return known.least, known
        together = self._target(
            cells, lambda cell: times(self.against(cell, k), self.family(cell, k + 1))
        )
        alone = self._target(cells, lambda cell: self.against(cell, 0))
        helped, free = (least_of(self.family(cell, n) for cell in cells) for n in (k, 0))
        options = [
            (together.least, together),
            (times(alone.least, helped), alone),
            (times(known.least, free), known),
        ]
        least = least_of(odds for odds, _ in options)
        return next(option for option in options if option[0] == least)

    def _target(self, cells: Sequence[Cell], odds: Callable[[Cell], Ratio]) -> Target:
        return Target(odds, least_of(map(odds, cells)))

    def family(self, cell: Cell, known: int) -> Ratio:
        """Chance that no relative has the value, with `known` people of their group known."""
        return self.none_of(cell.people, cell.holders, known)


def _odds_single(cell: Cell, known: int) -> Ratio:
    """Odds against the target having the value, where everybody has one."""
    people, holders, others = cell
    return max(people - holders - sum(others) - known, 0), holders


def _odds_set(cell: Cell, known: int) -> Ratio:
    people, holders, others = cell
    above, below = max(people - holders - known, 0), holders
    for other in others:
        above *= people - other
        below *= people
    return above, below


def _odds_multiset(cell: Cell, known: int) -> Ratio:
    people, holders, others = cell
    if people - known - 1 <= 0:
        return 0, 1
    missed = (people - known - 1) ** holders
    hit = (people - known) ** holders - missed
    return missed * (people - 1) ** sum(others), hit * people ** sum(others)


def _no_relative(people: int, holders: int, known: int, m: int) -> Ratio:
    """Chance that none of m relatives has the value, where nobody has it twice."""
    above, below = 1, 1
    for i in range(m):
        if people - holders - known - i <= 0:
            return 0, 1
        above *= people - holders - known - i
        below *= people - known - i
    return above, below


def _no_relative_of_many(people: int, holders: int, known: int, m: int) -> Ratio:
    """Same as `_no_relative`, where one person may have several occurrences of the value."""
    if people - known - m <= 0:
        return 0, 1
    return (people - known - m) ** holders, (people - known) ** holders


_LAWS: dict[str, tuple[Callable[[Cell, int], Ratio], Callable[[int, int, int, int], Ratio]]] = {
    "single": (_odds_single, _no_relative),
    "set": (_odds_set, _no_relative),
    "multiset": (_odds_multiset, _no_relative_of_many),
}


def times(one: Ratio, other: Ratio) -> Ratio:
    """The product of two ratios."""
    return one[0] * other[0], one[1] * other[1]


def is_less(one: Ratio, other: Ratio) -> bool:
    """Whether one ratio is below another."""
    return one[0] * other[1] < other[0] * one[1]


def least_of(ratios: Iterable[Ratio]) -> Ratio:
    """The lowest ratio; the first of equal ones."""
    rest = iter(ratios)
    best = next(rest)
    for ratio in rest:
        if is_less(ratio, best):
            best = ratio
    return best


# ---- implications -------------------------------------------------------------------------------


def worst_implications(held: GroupBags, wanted: Collection[str], k: int) -> Worst:
    """The worst case of implications, with the target's group."""
    about, odds, cell = odds_by_implications(held, wanted, k)
    if not len(about):
        return Worst()
    value, group, least = held.codes[about], held.of_group[about], least_of(odds)
    places = np.array([not is_less(least, chance) for chance in odds], bool)[cell]
    # Ties: the first value, then its first group, in the order of `held`.
    worst_value = value[places].min()
    surest = int(group[places & (value == worst_value)].min())
    return Worst(held.names[worst_value], held.group(surest), 1 / (1 + Fraction(*least)))


def odds_by_implications(
    held: GroupBags, wanted: Collection[str], k: int
) -> tuple[Ints, list[Ratio], Ints]:
    """The cells that are asked about, the distinct lowest odds, and which of these each has."""
    about = np.flatnonzero(np.array([name in wanted for name in held.names], bool)[held.codes])
    if not len(about):
        return about, [], about
    k = min(k, len(held.names))
    # Buckets with the same people and the same top counts are equivalent: keep one of each.
    frequent = [held.count_at_rank(place) for place in range(k + 2)]
    alike, shape = distinct(held.people, *frequent)
    counts = np.stack([held.people, *frequent])[:, alike]
    others = _others(_Buckets(counts), k)
    shape_of = shape[held.of_group[about]]
    cells, cell = distinct(shape_of, held.counts[about])
    holders = held.counts[about][cells].astype(object)
    odds = zip(*_Buckets(counts[:, shape_of[cells]]).odds(holders, others), strict=True)
    return about, list(odds), cell


def _others(buckets: _Buckets, k: int) -> list[Fraction]:
    """Lowest chances that 0 to k atoms in other buckets all fail; a bucket may be used twice."""
    least = [Fraction(1)]
    for atoms in range(1, k + 1):
        chances = buckets.chance(0, atoms, atoms), buckets.of(0, atoms)
        least.append(Fraction(*least_of(zip(*chances, strict=True))))
    for atoms in range(1, k + 1):
        least[atoms] = min(least[atoms - own] * least[own] for own in range(atoms + 1))
    return least


class _Buckets:
    """Groups as arrays: people, and the counts of the most frequent values, highest first.

    A chance is a fraction for each group: `chance` is its numerator and `of` its denominator, the
    number of ways to choose a different person for each atom. Whatever is compared has equal
    denominators.
    """

    def __init__(self, counts: Ints) -> None:
        self.people, *self.counts = counts.astype(object)
        self.sums = [0 * self.people]
        for count in self.counts:
            self.sums.append(self.sums[-1] + count)
        self.chance = cache(self._chance)
        self.of = cache(self._of)

    def _of(self, person: int, atoms: int) -> Any:
        """The number of ways to choose different people, from `person` on, for the atoms."""
        if not atoms:
            return 0 * self.people + 1
        return self.of(person, atoms - 1) * np.maximum(self.people - person - atoms + 1, 1)

    def _chance(self, person: int, most: int, atoms: int) -> Any:
        """The fewest of these ways in which all atoms fail, with at most `most` per person."""
        free, least = self.people - person, self.of(person, atoms)
        for about in range(1, min(most, atoms) + 1):
            left = np.maximum(free - self.sums[about], 0)
            rest = self.chance(person + 1, about, atoms - about)
            others = self.of(person + 1 + atoms - about, about - 1)  # people without an atom
            least = np.minimum(least, left * rest * others)
        return least

    def odds(self, holders: Any, others: list[Fraction]) -> tuple[Any, Any]:
        """Lowest odds against a value, with atoms here or in other buckets: two whole numbers."""
        k = len(others) - 1
        scale = lcm(*(chance.denominator for chance in others))
        least = []
        for here in range(k + 1):
            elsewhere = int(others[k - here] * scale)
            for about in range(here + 1):  # atoms about the target
                left = self.people - holders - self._others(holders, about)
                following = self._others(holders, about + 1) - self._others(holders, about)
                # Others may be said to have what the target is said to have, which is one value
                # more only if the target's own is frequent enough.
                more, same = (self.chance(1, most, here - about) for most in (about + 1, about))
                chance = np.where(holders >= following, more, same)
                least.append(
                    left * chance * self.of(1 + here - about, k - here + about) * elsewhere
                )
        return np.minimum.reduce(least), holders * self.of(1, k) * scale

    def _others(self, holders: Any, many: int) -> Any:
        """How many have one of the `many` most frequent values other than the target's."""
        among = holders >= self.counts[many]
        return np.where(among, self.sums[many + 1] - holders, self.sums[many])
