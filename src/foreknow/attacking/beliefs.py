"""Beliefs: the posterior of everybody and every value, as fractions or with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.attacking.running import Weight
from foreknow.attacking.worlds import Worlds

FloatArray: TypeAlias = NDArray[np.float64]
How: TypeAlias = Literal["enumeration", "proof", "bound", "independent worlds", "chains"]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What the adversary believes of each cell of people who cannot be told apart.

    Attributes
    ----------
    worlds : Worlds
    how : {"enumeration", "proof", "bound", "independent worlds", "chains"}
        By a bound: a proof says how high posteriors are at most; `mean` is then the frequency.
    looked, consistent : int
        Worlds that were looked at, and those among them that the release is possible in. Of an
        enumeration, all worlds, people being told apart; of a proof, none. Of chains, their steps.
    runs : int
        How often the method was run for it.
    mean, low, high : float64 arrays, shape (cells, values)
        Estimates and their intervals; all three the posterior where it is exact.
    seen : bool array, shape (cells, values)
        Whether a member of the cell has the value in some world that was found possible.
    parts : int
        Of chains: parts of the possible worlds that no steps were found to join.
    highest : Fraction, optional
        Of a bound: that.
    """

    worlds: Worlds
    how: How
    looked: int
    consistent: int
    runs: int
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    seen: NDArray[np.bool_]
    parts: int = 1
    highest: Fraction | None = None
    _parts: Sequence[Sequence[Weight]] = ()
    _whole: Weight = 0

    @classmethod
    def counted(
        cls,
        worlds: Worlds,
        parts: Sequence[Sequence[Weight]],
        whole: Weight,
        looked: int,
        consistent: int,
        runs: int,
    ) -> Beliefs:
        """Take weights of an enumeration: how much of each cell has each value, and all of it."""
        sizes = worlds.cell_sizes.tolist()
        rows = [
            [float(Fraction(part, 1) / (whole * size)) if part else 0.0 for part in own]
            for own, size in zip(parts, sizes, strict=True)
        ]
        mean = np.array(rows, dtype=np.float64).reshape(worlds.n_cells, worlds.n_values)
        return cls(
            worlds,
            "enumeration",
            looked,
            consistent,
            runs,
            mean,
            mean,
            mean,
            mean > 0,
            _parts=parts,
            _whole=whole,
        )

    @classmethod
    def of_frequencies(cls, worlds: Worlds, runs: int) -> Beliefs:
        """Take what a proof says: everybody has each value as often as it is in their group."""
        mean = worlds.shares
        return cls(worlds, "proof", 0, 0, runs, mean, mean, mean, mean > 0)

    @classmethod
    def of_bound(
        cls, worlds: Worlds, runs: int, highest: Fraction, one: NDArray[np.bool_]
    ) -> Beliefs:
        """Take a proof that no posterior is higher.

        Of people whose group can be one group only (`one`), it is the frequency.
        """
        mean = worlds.shares
        known = one[worlds.group_of_cell][:, None] | (mean == 0)
        low = np.where(known, mean, 0.0)
        high = np.where(known, mean, float(highest))
        return cls(worlds, "bound", 0, 0, runs, mean, low, high, mean > 0, highest=highest)

    @property
    def exact(self) -> bool:
        """Whether posteriors are exact."""
        return self.how in ("enumeration", "proof")

    def posterior(self, cell: int, code: int) -> Fraction | None:
        """The exact posterior of each member of a cell; None where it is estimated."""
        if not self.exact:
            return None
        if self.how == "proof":
            return self.share(cell, code)
        return Fraction(self._parts[cell][code]) / (self._whole * int(self.worlds.cell_sizes[cell]))

    def share(self, cell: int, code: int) -> Fraction:
        """The share of a value in the group of a cell: what the release says by itself."""
        bag = self.worlds.bags[self.worlds.group_of_cell[cell]]
        return Fraction(int(bag[code]), int(bag.sum()))
