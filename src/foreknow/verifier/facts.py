"""The verifier's own Theorem 2 of the skyline paper, in whole numbers, for all three semantics.

A ratio is a pair (above, below) of whole numbers, not reduced: reducing costs more than comparing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.verifier.counts import NEAR, Group, Held, Ints, distinct

Ratio: TypeAlias = tuple[int, int]
Floats: TypeAlias = NDArray[np.float64]


class Cell(NamedTuple):
    """What the theorem asks of one group and one value."""

    people: int
    holders: int  # occurrences of the value; never 0
    others: tuple[int, ...]  # of the l most frequent other values; or their sum, if that decides


def worst_facts(
    held: Held, about: Collection[str], semantics: str, l: int, k: int, m: int
) -> tuple[str | None, Group | None, Fraction]:
    """The value, the group and the probability at which the adversary is surest."""
    cells, found = _cells(held, about, semantics, l), None
    if not len(cells.group):
        return None, None, Fraction(0)
    for code, at in _near_worst(cells, semantics, k, m):
        exact: dict[Cell, int] = {}
        for cell in at.tolist():
            exact.setdefault(cells.exact(cell), int(cells.group[cell]))
        ratio, where = _facts(tuple(exact), semantics, k, m)
        if found is None or _less(ratio, found[2]):
            found = code, exact[where], ratio
            if not ratio[0]:  # nobody can be surer, and values come in order
                break
    assert found is not None
    code, place, (above, below) = found
    return held.names[code], held.group(place), Fraction(below, above + below)


class Cells(NamedTuple):
    """Distinct cells of all values, by value, and each in the first group that has it."""

    value: Ints
    group: Ints
    people: Ints
    holders: Ints
    others: Ints  # how many have one of the l most frequent other values
    tops: Ints  # for sets: (l, cells), how many have each

    def exact(self, at: int) -> Cell:
        """One of them in whole numbers of Python."""
        tops = tuple(int(n) for n in self.tops[:, at] if n)
        others = tops if len(self.tops) else (int(self.others[at]),)
        return Cell(int(self.people[at]), int(self.holders[at]), others)


def _cells(held: Held, about: Collection[str], semantics: str, l: int) -> Cells:
    """A value that is among the l + 1 most frequent of a group is none of its own others."""
    wanted = np.array([name in about for name in held.names], bool)[held.codes]
    group, holders = held.of_group, held.counts
    l = min(l, int(held.kinds.max(initial=0)))
    among = holders >= held.ranked(l)[group]
    others = np.where(among, held.top(l + 1)[group] - holders, held.top(l)[group])
    tops = np.zeros((l if semantics == "set" else 0, len(holders)), np.int64)
    for i in range(len(tops)):  # of those from its own place on, it is the next that counts
        ith, after = held.ranked(i)[group], held.ranked(i + 1)[group]
        tops[i] = np.where(holders >= ith, after, ith)
    rows = [held.codes, held.people[group], holders, others, *tops]
    rows, group = [row[wanted] for row in rows], group[wanted]
    first, _ = distinct(*rows)
    value, people, holders, others, *each = (row[first] for row in rows)
    kept = np.array(each, np.int64).reshape(len(tops), len(first))
    return Cells(value, group[first], people, holders, others, kept)


def _near_worst(cells: Cells, semantics: str, k: int, m: int) -> Iterator[tuple[int, Ints]]:
    """Values that may be worst, in order; of each the cells that may make them so, by group."""
    against, nobody = _ROUGH[semantics]
    target = {known: against(cells, known) for known in {0, k}}
    none = np.zeros(len(cells.value))
    family = {known: nobody(cells, known, m) if m else none for known in {0, k, k + 1}}
    kinds = [target[k] + family[k + 1], target[0], target[k], family[k], family[0]]
    starts = np.flatnonzero(np.diff(cells.value, prepend=-1))
    least = [np.minimum.reduceat(kind, starts) for kind in kinds]
    together, alone, with_known, helped, free = least
    worst = np.minimum(together, np.minimum(alone + helped, with_known + free))
    ends = [*starts[1:].tolist(), len(cells.value)]
    for at in np.flatnonzero(worst <= up_to(worst.min())).tolist():
        own = slice(int(starts[at]), ends[at])
        pairs = zip(kinds[: 5 if m else 3], least, strict=False)
        near = [kind[own] <= up_to(low[at]) for kind, low in pairs]
        places = own.start + np.flatnonzero(np.any(near, axis=0))
        yield int(cells.value[own.start]), places[np.argsort(cells.group[places], kind="stable")]


def up_to(low: np.float64) -> np.float64:
    """What may be as low as a logarithm, which is a float."""
    return low + NEAR * max(1.0, abs(low)) if np.isfinite(low) else low


@lru_cache
def _facts(cells: tuple[Cell, ...], semantics: str, k: int, m: int) -> tuple[Ratio, Cell]:
    """Least odds against: target with k people and m relatives, together or in three groups."""
    against, none_of = _LAWS[semantics]

    @cache
    def nobody(people: int, holders: int, known: int) -> Ratio:
        return none_of(people, holders, known, m) if m else (1, 1)

    together = _least((_times(against(c, k), nobody(c.people, c.holders, k + 1)), c) for c in cells)
    alone, apart = _least((against(c, 0), c) for c in cells)
    with_known, near = _least((against(c, k), c) for c in cells)
    helped, _ = _least((nobody(c.people, c.holders, k), c) for c in cells)
    free, _ = _least((nobody(c.people, c.holders, 0), c) for c in cells)
    return _least([together, (_times(alone, helped), apart), (_times(with_known, free), near)])


def odds_single(cell: Cell, known: int) -> Ratio:
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


def no_relative(people: int, holders: int, known: int, m: int) -> Ratio:
    """Chance that none of m relatives has the value, nobody of whom has it twice."""
    above, below = 1, 1
    for i in range(m):
        if people - holders - known - i <= 0:
            return 0, 1
        above *= people - holders - known - i
        below *= people - known - i
    return above, below


def _no_relative_of_many(people: int, holders: int, known: int, m: int) -> Ratio:
    """The same where each occurrence may fall to anybody."""
    if people - known - m <= 0:
        return 0, 1
    return (people - known - m) ** holders, (people - known) ** holders


_LAWS: dict[str, tuple[Callable[[Cell, int], Ratio], Callable[[int, int, int, int], Ratio]]] = {
    "single": (odds_single, no_relative),
    "set": (_odds_set, no_relative),
    "multiset": (_odds_multiset, _no_relative_of_many),
}


# ---- the same as logarithms, in floats, of all cells at once ----------------------------------


def _log(above: Any, below: Any) -> Floats:
    """Logarithm of a ratio; that of 0 is exact."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(above, 0) / below))


def _log_but(some: Any, of: Any) -> Floats:
    """Logarithm of the share that is left of some when others are taken away, however few."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-np.minimum(some / of, 1)))


def rough_single(cells: Cells, known: int) -> Floats:
    """Logarithm of `odds_single`."""
    return _log(cells.people - cells.holders - cells.others - known, cells.holders)


def _rough_set(cells: Cells, known: int) -> Floats:
    against = _log(cells.people - cells.holders - known, cells.holders)
    for top in cells.tops:
        against += _log_but(top, cells.people)
    return against


def _rough_multiset(cells: Cells, known: int) -> Floats:
    left = np.maximum(cells.people - known, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = cells.holders * _log_but(1, left)
        others = np.where(cells.others > 0, cells.others * _log_but(1, cells.people), 0)
        odds = missed - np.log(-np.expm1(missed)) + others
    return np.where(left <= 1, -np.inf, odds)


def rough_relatives(cells: Cells, known: int, m: int) -> Floats:
    """Logarithm of `no_relative`; of people and holders once, of which there are far fewer."""
    first, inverse = distinct(cells.people, cells.holders)
    people, holders = cells.people[first], cells.holders[first]
    nobody = np.zeros(len(first))
    for i in range(min(m, int((people - holders).max()) + 1)):
        left = np.maximum(people - known - i, 1)
        nobody += _log_but(holders, left)
    return nobody[inverse]


def _rough_relatives_of_many(cells: Cells, known: int, m: int) -> Floats:
    left = np.maximum(cells.people - known, 1)
    return cells.holders * _log_but(m, left)


_ROUGH: dict[str, tuple[Callable[..., Floats], Callable[..., Floats]]] = {
    "single": (rough_single, rough_relatives),
    "set": (_rough_set, rough_relatives),
    "multiset": (_rough_multiset, _rough_relatives_of_many),
}


def _times(one: Ratio, other: Ratio) -> Ratio:
    return one[0] * other[0], one[1] * other[1]


def _less(one: Ratio, other: Ratio) -> bool:
    return one[0] * other[1] < other[0] * one[1]


def _least(options: Iterable[tuple[Ratio, Cell]]) -> tuple[Ratio, Cell]:
    """The least ratio and its cell; the first of equal ones."""
    rest = iter(options)
    best = next(rest)
    for option in rest:
        if _less(option[0], best[0]):
            best = option
    return best


# ---- implications -------------------------------------------------------------------------------


def worst_implications(
    held: Held, wanted: Collection[str], k: int
) -> tuple[str | None, Group | None, Fraction]:
    """The value, the target's group and the probability at which the adversary is surest."""
    about = np.array([name in wanted for name in held.names], bool)[held.codes]
    if not about.any():
        return None, None, Fraction(0)
    k = min(k, len(held.names))
    # Of buckets that are alike as far as it matters one is enough.
    frequent = [held.ranked(place) for place in range(k + 2)]
    alike, shape = distinct(held.people, *frequent)
    counts = np.stack([held.people, *frequent])[:, alike]
    others = _others(counts, k)
    value, group = held.codes[about], held.of_group[about]
    cells, cell = distinct(shape[group], held.counts[about])
    of, holders = shape[group][cells], held.counts[about][cells]
    rough = _least_odds(_Buckets(counts[:, of]), holders, [float(x) for x in others])
    near = np.flatnonzero(rough <= rough.min() + NEAR * max(1.0, rough.min()))
    odds = _least_odds(_Buckets(_exact(counts[:, of[near]])), _exact(holders[near]), others)
    least = min(odds.tolist())
    places = np.isin(cell, near[[ratio == least for ratio in odds]])
    # Of equal ones the first value; of its groups the first, in the order of `held`.
    first = value[places].min()
    at = int(group[places & (value == first)].min())
    return held.names[first], held.group(at), 1 / (1 + Fraction(least))


def _others(counts: Ints, k: int) -> list[Fraction]:
    """Least chance that so many atoms in other buckets all fail; a bucket may be counted twice."""
    rough = _Buckets(counts)
    least = [Fraction(1)]
    for atoms in range(1, k + 1):
        chances = rough.chance(0, atoms, atoms)
        near = np.flatnonzero(chances <= chances.min() + NEAR)
        exact = _Buckets(_exact(counts[:, near])).chance(0, atoms, atoms)
        least.append(Fraction(min(exact.tolist())))
    for atoms in range(1, k + 1):
        least[atoms] = min(least[atoms - own] * least[own] for own in range(atoms + 1))
    return least


def _least_odds(buckets: _Buckets, holders: Any, others: list[Any]) -> Any:
    k = len(others) - 1
    odds = [buckets.odds(holders, atoms) * others[k - atoms] for atoms in range(k + 1)]
    return np.minimum.reduce(odds)


def _exact(numbers: Ints) -> Any:
    """The same numbers as fractions."""
    exact = np.empty(numbers.shape, object)
    exact.reshape(-1)[:] = [Fraction(number) for number in numbers.reshape(-1).tolist()]
    return exact


class _Buckets:
    """People of groups, and how often each value occurs there, most frequent first."""

    def __init__(self, counts: Any) -> None:
        self.people, self.counts = counts[0], counts[1:]
        self.sums = [0 * self.people]
        for count in self.counts:
            self.sums.append(self.sums[-1] + count)
        self.chance = cache(self._chance)

    def _chance(self, person: int, most: int, atoms: int) -> Any:
        """Least chance that atoms about people from this one on all fail, at most so many each."""
        free = self.people - person
        least = 1 + 0 * self.people
        for about in range(1, min(most, atoms) + 1):
            left = np.maximum(free - self.sums[about], 0) / np.maximum(free, 1)
            least = np.minimum(least, left * self.chance(person + 1, about, atoms - about))
        return least

    def odds(self, holders: Any, atoms: int) -> Any:
        """Least odds against a value when so many atoms are spent here beside the target's."""
        ratios = []
        for about in range(atoms + 1):
            left = self.people - holders - self._others(holders, about)
            following = self._others(holders, about + 1) - self._others(holders, about)
            # Others may be said to have what the target is said to have, which is one value more
            # only if the target's own is frequent enough.
            more, same = (self.chance(1, most, atoms - about) for most in (about + 1, about))
            ratios.append(left / holders * np.where(holders >= following, more, same))
        return np.minimum.reduce(ratios)

    def _others(self, holders: Any, many: int) -> Any:
        """How many have one of the most frequent values but the target's own."""
        among = holders >= self.counts[many]
        return np.where(among, self.sums[many + 1] - holders, self.sums[many])
