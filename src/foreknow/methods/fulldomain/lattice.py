"""Lattice: every way to choose one level per quasi-identifier, and which lies below which."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.sparse import IntArray
from foreknow.errors import InputError

Node: TypeAlias = tuple[int, ...]

# Beyond it, what is known about every node would no longer fit into memory beside a table.
_MOST_NODES = 5_000_000


class Lattice:
    """The nodes of a full-domain generalization.

    A node is one level per quasi-identifier, 0 for exact; it lies below another if no level of it
    is higher. Nodes are numbered in lexicographic order, the bottom 0.

    Parameters
    ----------
    tops : sequence of int
        The highest level of each quasi-identifier.

    Raises
    ------
    InputError
        If there are more than five million nodes.

    Examples
    --------
    >>> lattice = Lattice([5, 2, 1, 1])
    >>> len(lattice), lattice.number((4, 0, 0, 1)), lattice.node(71)
    (72, 49, (5, 2, 1, 1))
    >>> [lattice.node(i) for i in lattice.children(lattice.number((1, 1, 0, 0)))]
    [(0, 1, 0, 0), (1, 0, 0, 0)]
    """

    def __init__(self, tops: Sequence[int]) -> None:
        self.tops: Node = tuple(tops)
        self.shape = tuple(top + 1 for top in tops)
        self.size = math.prod(self.shape)
        if self.size > _MOST_NODES:
            raise InputError(
                f"the lattice has {self.size:,} nodes, more than {_MOST_NODES:,}: give some of its "
                f"{len(self.shape)} quasi-identifiers fewer levels, or leave some out"
            )
        self._strides = [math.prod(self.shape[a + 1 :]) for a in range(len(self.shape))]

    def __len__(self) -> int:
        return self.size

    def number(self, node: Sequence[int]) -> int:
        """Number of a node."""
        return sum(level * step for level, step in zip(node, self._strides, strict=True))

    def node(self, number: int) -> Node:
        """Levels of a node."""
        levels = []
        for step in self._strides:
            level, number = divmod(number, step)
            levels.append(level)
        return tuple(levels)

    @property
    def top(self) -> int:
        """Number of the node at which everything is suppressed."""
        return self.size - 1

    @cached_property
    def heights(self) -> IntArray:
        """Sum of the levels of each node."""
        heights: IntArray = np.asarray(self.sums([np.arange(n) for n in self.shape]))
        return heights

    def sums(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Add up, for every node, what the level of each quasi-identifier contributes."""
        total: NDArray[Any] = np.zeros(1, dtype=parts[0].dtype)
        for part in parts:
            total = (total[:, None] + part).reshape(-1)
        return total

    def children(self, number: int) -> Iterator[int]:
        """Nodes directly below."""
        for level, step in zip(self.node(number), self._strides, strict=True):
            if level:
                yield number - step

    def parents(self, number: int) -> Iterator[int]:
        """Nodes directly above."""
        for level, top, step in zip(self.node(number), self.tops, self._strides, strict=True):
            if level < top:
                yield number + step

    def below(self, marks: NDArray[Any], number: int) -> NDArray[Any]:
        """The part of an array over all nodes that belongs to a node and all below; a view."""
        part = tuple(slice(None, level + 1) for level in self.node(number))
        found: NDArray[Any] = marks.reshape(self.shape)[part]
        return found

    def above(self, marks: NDArray[Any], number: int) -> NDArray[Any]:
        """The part of an array over all nodes that belongs to a node and all above; a view."""
        part = tuple(slice(level, None) for level in self.node(number))
        found: NDArray[Any] = marks.reshape(self.shape)[part]
        return found

    def count_below(self, marks: NDArray[np.bool_]) -> NDArray[np.int32]:
        """For every node, how many marked ones are at or below it."""
        counts = marks.astype(np.int32)
        for n, step in zip(self.shape, self._strides, strict=True):
            # Levels are few: adding one to the next is faster than a cumulative sum.
            by_level = counts.reshape(-1, n, step)
            for level in range(1, n):
                by_level[:, level] += by_level[:, level - 1]
        return counts

    def count_above(self, marks: NDArray[np.bool_]) -> NDArray[np.int32]:
        """For every node, how many marked ones are at or above it."""
        return self.count_below(marks[::-1])[::-1]
