"""Losses: what a node of the lattice costs, from 0 (exact) to 1 (everything suppressed)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError
from foreknow.methods.fulldomain.lattice import Lattice
from foreknow.methods.fulldomain.rollup import Rollup, View

FloatArray: TypeAlias = NDArray[np.float64]
Objective: TypeAlias = Callable[[GroupCounts, Mapping[str, int]], float]

OBJECTIVES = ("ncp", "entropy", "height", "discernibility")


class Loss(Protocol):
    """A measure of what is lost; lower is better."""

    # By node: no release loses less; what it loses exactly, if nobody is suppressed and `known`.
    bounds: FloatArray
    # By node: what is lost in addition, at least, by suppressing one person.
    each: FloatArray
    # Whether the bounds are exact where nobody is suppressed, before anything is counted.
    known: bool
    # Whether a node never loses less than one below it, if nobody is suppressed.
    rising: bool

    def saw(self, number: int, view: View) -> None:
        """Learn from a node that was looked at, safe or not."""
        ...

    def of(self, number: int, view: View, outliers: NDArray[np.bool_] | None) -> float:
        """Loss of a node, with the groups that are suppressed there, if any."""
        ...


def loss_by(objective: str | Objective, rollup: Rollup, lattice: Lattice) -> Loss:
    """The loss of a name, or of a function."""
    if not isinstance(objective, str):
        return GivenLoss(rollup, lattice, objective)
    if objective == "discernibility":
        return Discernibility(rollup, lattice)
    return SummedLoss(rollup, lattice, objective)


class SummedLoss:
    """A loss that each value contributes to by its own node, whatever else is published.

    "ncp", normalized certainty penalty: how much of the domain the published node covers.
    "entropy": how many bits are needed to name the exact value again, knowing how frequent values
    are (non-uniform entropy of Gionis and Tassa). "height": levels that were climbed. Averaged over
    people, relative to suppressing everything. Of suppressed people, everything is lost.
    """

    known = True
    rising = True

    def __init__(self, rollup: Rollup, lattice: Lattice, kind: str) -> None:
        made = [_COSTS[kind](rollup, a) for a in range(len(rollup.levels))]
        # What one person loses at each node of each level; and all of them together.
        people = [_people_of_values(rollup, a) for a in range(len(made))]
        totals = [
            np.array([float((held * cost[nodes]).sum()) for cost, nodes in zip(costs, levels)])  # noqa: B905
            for held, costs, levels in zip(people, made, rollup.levels, strict=True)
        ]
        if kind == "entropy":
            # Exact values cost nothing, so a node costs more, the rarer the value was.
            exact = [total[0] for total in totals]
            totals = [total - start for total, start in zip(totals, exact, strict=True)]
        worst = sum(float(total[-1]) for total in totals) or 1.0
        self.bounds = np.minimum(lattice.sums([total / worst for total in totals]), 1.0)
        # What is lost in addition by suppressing one person of a node.
        self._more = [[(costs[-1][0] - cost) / worst for cost in costs] for costs in made]
        self.each = lattice.sums([np.array([cost.min() for cost in more]) for more in self._more])

    def saw(self, number: int, view: View) -> None:
        """Learn nothing."""

    def of(self, number: int, view: View, outliers: NDArray[np.bool_] | None) -> float:
        """Loss of a node."""
        loss = float(self.bounds[number])
        if outliers is None:
            return loss
        people = view.people[outliers]
        for more, level, codes in zip(self._more, view.levels, view.codes, strict=True):
            loss += float((people * more[level][codes[outliers]]).sum())
        return loss


def _people_of_values(rollup: Rollup, a: int) -> FloatArray:
    finest = rollup.finest
    held = np.bincount(finest.codes[a], weights=finest.people, minlength=rollup.sizes[a][0])
    return held.astype(np.float64)


def _penalties(rollup: Rollup, a: int) -> list[FloatArray]:
    """Share of the domain below each node, less one value; as `utility.ncp_of_groups` has it."""
    size = rollup.sizes[a][0]
    return [(np.bincount(nodes) - 1.0) / max(size - 1, 1) for nodes in rollup.levels[a]]


def _bits(rollup: Rollup, a: int) -> list[FloatArray]:
    """Bits that the frequency of each node is worth; a value's own are taken off later."""
    people = _people_of_values(rollup, a)
    return [np.log2(np.bincount(nodes, weights=people)) for nodes in rollup.levels[a]]


def _steps(rollup: Rollup, a: int) -> list[FloatArray]:
    """Levels that were climbed."""
    return [np.full(size, float(level)) for level, size in enumerate(rollup.sizes[a])]


_COSTS: dict[str, Callable[[Rollup, int], list[FloatArray]]] = {
    "ncp": _penalties,
    "entropy": _bits,
    "height": _steps,
}


class Discernibility:
    """Mean share of all people with whom a person is confused (Bayardo and Agrawal).

    A suppressed person is confused with everybody.
    """

    known = False
    rising = True

    def __init__(self, rollup: Rollup, lattice: Lattice) -> None:
        self.bounds = np.zeros(len(lattice))
        self.each = np.zeros(len(lattice))
        self._lattice = lattice
        self._n_people = rollup.n_people

    def saw(self, number: int, view: View) -> None:
        """All nodes above lose as much at least."""
        above = self._lattice.above(self.bounds, number)
        np.maximum(above, _squares(view.people) / self._n_people**2, out=above)

    def of(self, number: int, view: View, outliers: NDArray[np.bool_] | None) -> float:
        """Loss of a node."""
        squares = _squares(view.people)
        if outliers is not None:
            suppressed = view.people[outliers]
            squares += self._n_people * int(suppressed.sum()) - _squares(suppressed)
        return squares / self._n_people**2


def _squares(sizes: IntArray) -> int:
    """Sum of squares, as a whole number of any size."""
    if int(sizes.sum()) < 2**31:
        return int((sizes * sizes).sum())
    return sum(size * size for size in sizes.tolist())


class GivenLoss:
    """A loss that the caller computes from the counts of a release."""

    known = False
    rising = False

    def __init__(self, rollup: Rollup, lattice: Lattice, objective: Objective) -> None:
        self.bounds = np.full(len(lattice), -np.inf)
        self.each = np.zeros(len(lattice))
        self._objective = objective
        self._names = [attribute.name for attribute in rollup.attributes]

    def saw(self, number: int, view: View) -> None:
        """Learn nothing."""

    def of(self, number: int, view: View, outliers: NDArray[np.bool_] | None) -> float:
        """Loss of a node."""
        levels = dict(zip(self._names, view.levels, strict=True))
        counts = view.counts
        if outliers is not None:
            counts = together(counts, outliers)
        given = self._objective(counts, levels)
        try:
            loss = float(given)
        except (TypeError, ValueError):
            loss = np.nan
        if np.isnan(loss):
            raise InputError(f"the objective gave no number for the levels {levels}, but {given!r}")
        return loss


def together(counts: GroupCounts, outliers: NDArray[np.bool_]) -> GroupCounts:
    """Unite the outliers into one group, the last."""
    kept = ~outliers
    into: Any = np.where(kept, np.cumsum(kept) - 1, np.count_nonzero(kept))
    return counts.merge(into)
