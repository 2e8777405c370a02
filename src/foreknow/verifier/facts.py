"""The verifier's own Theorem 2 of the skyline paper, in whole numbers, for all three semantics.

A ratio is a pair (above, below) of whole numbers, not reduced: reducing costs more than comparing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import NamedTuple, TypeAlias

Group: TypeAlias = tuple[str | None, ...]
Ratio: TypeAlias = tuple[int, int]


class Cell(NamedTuple):
    """What the theorem asks of one group and one value."""

    people: int
    holders: int  # occurrences of the value; never 0
    others: tuple[int, ...]  # of the l most frequent other values; or their sum, if that decides


def worst_of(
    cells: Mapping[str, Mapping[Cell, Group]], semantics: str, k: int, m: int
) -> tuple[str | None, Group | None, Fraction]:
    """The value, the group and the probability at which the adversary is surest."""
    worst: tuple[str, Group, Ratio] | None = None
    for value in sorted(cells):
        group, ratio = _facts(cells[value], semantics, k, m)
        if worst is None or _less(ratio, worst[2]):
            worst = (value, group, ratio)
    if worst is None:
        return None, None, Fraction(0)
    value, group, (above, below) = worst
    return value, group, Fraction(below, above + below)


def _facts(cells: Mapping[Cell, Group], semantics: str, k: int, m: int) -> tuple[Group, Ratio]:
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
    ratio, where = _least(
        [together, (_times(alone, helped), apart), (_times(with_known, free), near)]
    )
    return cells[where], ratio


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
