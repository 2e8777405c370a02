"""Chances: how sure an adversary can be of everybody, not only of the worst person.

An adversary answers by cells. A cell is some people of one group whom the adversary cannot tell
apart, and a value; each of these people is the target in turn, with the worst facts about them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from foreknow.data.arrays import BoolArray, FloatArray, IntArray, combine
from foreknow_judge.numbers import CLOSE

# Fractions that are worked out at once: all cells near a limit have few kinds, as a rule.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Chances:
    """The highest posterior of each cell of a release; arrays of shape (cells,)."""

    case: IntArray  # groups that are alike share one; ascending
    case_of: IntArray | None  # the case of each group; None where each group is a case by itself
    value: IntArray  # codes
    kind: IntArray  # which people of the case: ascending within it, and numbered through all cases
    people: IntArray  # how many these are
    holders: IntArray  # how many people of the group have the value, at most
    chance: FloatArray  # the highest posterior of these people having the value, nearly
    upper: FloatArray  # floats that it is never above or below
    lower: FloatArray
    # the same as fractions, by positions of cells; None where that is out of reach
    exact: Callable[[IntArray], list[Fraction | None]]
    # how likely it was before the release, by positions of cells
    prior: Callable[[IntArray], list[Fraction]] | None = None
    certain: BoolArray | None = None  # where it is 1, exactly; None where fractions must say so
    # whether the people of a cell have the value; else only their group and a kind are known
    have_it: bool = True
    # whether one person may be in several cells of a case, having several values
    overlap: bool = False
    # numbers that are equal where the chances of cells are; few, as a rule
    alike: IntArray | None = None

    @classmethod
    def of_holders(
        cls,
        group: IntArray,
        value: IntArray,
        holders: IntArray,
        odds: FloatArray,
        exact: Callable[[IntArray], list[Fraction | None]],
    ) -> Chances:
        """Make it from cells: a value of a group, how many have it, and the odds against it.

        `exact` gives the chances of the cells at some positions as fractions.
        """
        chance = 1 / (1 + odds)
        return cls(
            case=group,
            case_of=None,
            value=value,
            kind=np.arange(len(group)),
            people=holders,
            holders=holders,
            chance=chance,
            # Floats are right to about the last digits: CLOSE is far more than they err.
            upper=chance * (1 + CLOSE),
            lower=chance * (1 - CLOSE),
            exact=exact,
            certain=odds == 0,
        )

    def reaching(self, limit: Fraction, cells: IntArray, inclusive: bool = False) -> BoolArray:
        """True for each cell that reaches a limit, by fractions where floats are near it.

        A cell is people of a group and a value; `cells` has positions. Where no fraction can be
        worked out, the cell counts as reaching the limit. With `inclusive`, a chance that equals
        the limit does not reach it.
        """
        bound = float(limit)
        is_reaching: BoolArray = self.lower[cells] > bound
        # Bounds in floats settle all cells but those with the limit between them.
        undecided = np.flatnonzero(~is_reaching & (self.upper[cells] >= bound))
        # Work fractions out once for cells whose chances are surely equal.
        first, kind = self._by_kind(cells[undecided])
        kind_reaches = np.empty(len(first), dtype=bool)
        # In blocks, since fractions take memory.
        for start in range(0, len(first), _AT_ONCE):
            chances = self.exact(cells[undecided[first[start : start + _AT_ONCE]]])
            for number, chance in enumerate(chances, start):
                is_over = chance is None or chance > limit
                kind_reaches[number] = is_over or (chance == limit and not inclusive)
        is_reaching[undecided] = kind_reaches[kind]
        return is_reaching

    def fractions(self, cells: IntArray) -> list[Fraction | None]:
        """The chances of some cells as fractions, worked out once for cells that are alike."""
        first, kind = self._by_kind(cells)
        distinct = self.exact(cells[first])
        return [distinct[i] for i in kind.tolist()]

    def _by_kind(self, cells: IntArray) -> tuple[IntArray, IntArray]:
        """The position of one cell of each kind among `cells`, and the kind of each cell."""
        if self.alike is None:
            positions = np.arange(len(cells))
            return positions, positions
        keys = self.alike[cells]
        kind, first = combine([keys], [int(keys.max(initial=-1)) + 1])
        return first, kind

    def gaining(self, times: Fraction, cells: IntArray) -> BoolArray:
        """For each cell, whether its chance is more than `times` its prior.

        The limit of a cell is at most 1, and reaching 1 counts.
        """
        assert self.prior is not None
        limits = [min(Fraction(1), times * prior) for prior in self.prior(cells)]
        is_gaining = np.zeros(len(cells), dtype=bool)
        # Cells with the same limit are compared together.
        distinct: dict[Fraction, list[int]] = {}
        for position, limit in enumerate(limits):
            distinct.setdefault(limit, []).append(position)
        for limit, positions in distinct.items():
            is_gaining[positions] = self.reaching(limit, cells[positions], inclusive=True)
        return is_gaining

    def sure(self, cells: IntArray) -> BoolArray:
        """True for each cell that is certain, exactly."""
        if self.certain is not None:
            return self.certain[cells]
        return self.reaching(Fraction(1), cells)
