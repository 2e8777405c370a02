"""Stock of people without a group, by kind and value, and what stands in the way of each kind."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from foreknow.adversaries.posterior.priors import FloatArray
from foreknow.anonymizers.art.problem import ArtProblem
from foreknow.sparse import IntArray


class Stock:
    """How many of each kind and value are left, and what stands in the way of each kind."""

    def __init__(self, problem: ArtProblem) -> None:
        self.problem = problem
        self.k = problem.least
        self.table = problem.table.copy()
        self.odd = ~problem.allowed | (problem.sizes == 0)
        largest = int(problem.sizes[problem.table > 0].max(initial=1))
        self.weight = float(largest * int(self.table.sum()) + 1)

    def lacking(self, rows: IntArray, kinds: IntArray) -> FloatArray:
        """By row and value, how many people a kind lacks to be grouped by itself."""
        if self.problem.unique:
            found: FloatArray = np.maximum(self.k * rows - rows.sum(axis=-1, keepdims=True), 0)
            return found
        return self.problem.lacking(rows, kinds)

    def excess(self, rows: IntArray, kinds: IntArray) -> FloatArray:
        """What stands in the way, by row: 0 if and only if a kind can be grouped by itself.

        How far values exceed their limits; and people who cannot be in a group of their kind, which
        weigh more than all else.
        """
        over = self.lacking(rows, kinds).sum(axis=-1)
        found: FloatArray = over + self.weight * (rows * self.odd[kinds]).sum(axis=-1)
        return found

    def all_excess(self) -> FloatArray:
        """By kind."""
        return self.excess(self.table, np.arange(len(self.table)))

    def change(self, taken: Mapping[int, IntArray], times: int = 1) -> float:
        """How the excess changes when so many of some kinds leave."""
        kinds = np.array(list(taken))
        before = self.table[kinds]
        after = before - times * np.array(list(taken.values()))
        return float(self.excess(after, kinds).sum() - self.excess(before, kinds).sum())

    def times(self, taken: Mapping[int, IntArray]) -> int:
        """How often a recipe is best carried out: the excess is convex in it."""
        most = min(
            int((self.table[kind][rows > 0] // rows[rows > 0]).min())
            for kind, rows in taken.items()
        )
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            if self.change(taken, middle + 1) < self.change(taken, middle):
                low = middle + 1
            else:
                high = middle
        return low
