"""The states that dealing goes through: how many of each kind are used, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Places: TypeAlias = NDArray[np.intp]

# Lattices up to this many states are kept for the next groups of the same shape.
_KEPT = 1 << 12


@dataclass(frozen=True)
class Lattice:
    """States by level, and the steps from each level to the next.

    Attributes
    ----------
    capacities : tuple of int
        How many there are of each kind.
    widths : tuple of int
        States of each level; level l is where l have been used.
    steps : tuple of tuples of (before, after)
        ``steps[l][k]`` are the steps that use one of kind k at level l: places of states in level
        l, and the places in level l + 1 that they lead to.

    Examples
    --------
    >>> lattice((2, 1)).widths
    (1, 2, 2, 1)
    >>> before, after = lattice((2, 1)).steps[1][0]
    >>> before.tolist(), after.tolist()
    ([0, 1], [0, 1])
    """

    capacities: tuple[int, ...]
    widths: tuple[int, ...]
    steps: tuple[tuple[tuple[Places, Places], ...], ...]

    @property
    def n_states(self) -> int:
        """Number of states."""
        return sum(self.widths)

    @property
    def widest(self) -> int:
        """States of the widest level."""
        return max(self.widths)


def lattice(capacities: tuple[int, ...]) -> Lattice:
    """Lay out the states for kinds of such capacities."""
    if prod(c + 1 for c in capacities) <= _KEPT:
        return _kept(capacities)
    return _lay_out(capacities)


def _lay_out(capacities: tuple[int, ...]) -> Lattice:
    shape = tuple(c + 1 for c in capacities)
    total = prod(shape)
    used = np.stack(np.unravel_index(np.arange(total), shape)).astype(np.int32)
    level = used.sum(axis=0)
    order = np.argsort(level, kind="stable")
    starts = np.searchsorted(level[order], np.arange(sum(capacities) + 2))
    place = np.empty(total, dtype=np.intp)
    place[order] = np.arange(total) - starts[level[order]]
    steps = []
    for dealt in range(1, sum(capacities) + 1):
        states = order[starts[dealt] : starts[dealt + 1]]
        row = []
        for k in range(len(shape)):
            after = states[used[k, states] > 0]
            row.append((place[after - prod(shape[k + 1 :])], place[after]))
        steps.append(tuple(row))
    return Lattice(capacities, tuple(np.diff(starts).tolist()), tuple(steps))


_kept = lru_cache(maxsize=128)(_lay_out)
