"""LatticeResult: what a search found out about the nodes of a lattice, and which it chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.sparse import IntArray
from foreknow.errors import InputError
from foreknow.methods.fulldomain.lattice import Lattice, Node
from foreknow.result import Result

_WORDS = ("unknown", "safe", "unsafe")


@dataclass(frozen=True, eq=False, repr=False)
class LatticeResult(Result):
    """The nodes of a lattice: safe, unsafe, or never asked about; and the chosen one.

    A node is a tuple of levels, one per quasi-identifier in the schema's order; 0 is exact, the
    highest level is suppressed. Arrays over nodes are in lexicographic order.

    Attributes
    ----------
    attributes : tuple of str
        The quasi-identifiers.
    names : tuple of tuples of str
        What each level of each is called, from "exact" to "*".
    tops : Node
        The highest level of each.
    status : int8 array, shape (nodes,)
        0 unknown, 1 safe, 2 unsafe.
    checked : bool array, shape (nodes,)
        Which nodes were judged themselves; the status of the others follows from these.
    losses : float64 array, shape (nodes,)
        What safe nodes lose by the objective; not a number where it was not needed.
    suppressed : dict of Node to int
        How many people are suppressed at the nodes that are only safe so.
    minimal : tuple of Node
        The safe nodes below which all are known to be unsafe.
    chosen : Node
    outlier_group : int or None
        The group of the people who are suppressed at the chosen node.
    objective, find : str
        What was asked for.
    complete : bool
        Whether the search was finished, not cut off by its time budget.
    """

    format = "foreknow lattice"

    attributes: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    tops: Node
    status: NDArray[np.int8]
    checked: NDArray[np.bool_]
    losses: NDArray[np.float64]
    suppressed: dict[Node, int]
    minimal: tuple[Node, ...]
    chosen: Node
    outlier_group: int | None
    objective: str
    find: str
    complete: bool
    _spread: Callable[[], IntArray] = field(repr=False)

    @cached_property
    def groups(self) -> IntArray:
        """Group of each row of the source at the chosen node; -1 for rows that are left out."""
        return self._spread()

    @property
    def floors(self) -> dict[str, IntArray]:
        """Level of each group along each quasi-identifier; the highest for suppressed people."""
        n_groups = int(self.groups.max()) + 1
        floors = {}
        for name, level, top in zip(self.attributes, self.chosen, self.tops, strict=True):
            floors[name] = np.full(n_groups, level)
            if self.outlier_group is not None:
                floors[name][self.outlier_group] = top
        return floors

    @property
    def levels(self) -> dict[str, int]:
        """The chosen level of each quasi-identifier."""
        return dict(zip(self.attributes, self.chosen, strict=True))

    @property
    def n_nodes(self) -> int:
        """Nodes of the lattice."""
        return len(self.status)

    @property
    def n_checked(self) -> int:
        """Nodes that were judged themselves."""
        return int(self.checked.sum())

    def in_words(self, node: Node) -> dict[str, str]:
        """What each quasi-identifier is coarsened to at a node."""
        self._number(node)
        words = (names[level] for names, level in zip(self.names, node, strict=True))
        return dict(zip(self.attributes, words, strict=True))

    def nodes(self, status: str | None = None) -> list[Node]:
        """All nodes, or those that are "safe", "unsafe" or "unknown"."""
        if status is None:
            return [self._lattice.node(number) for number in range(self.n_nodes)]
        if status not in _WORDS:
            raise InputError(f"a node is safe, unsafe or unknown, not {status!r}")
        found = np.flatnonzero(self.status == _WORDS.index(status))
        return [self._lattice.node(number) for number in found.tolist()]

    def status_of(self, node: Node) -> str:
        """Whether a node is "safe", "unsafe", or "unknown"."""
        return _WORDS[self.status[self._number(node)]]

    def was_judged(self, node: Node) -> bool:
        """Whether a node was judged itself; its status may follow from others."""
        return bool(self.checked[self._number(node)])

    @cached_property
    def minimal_set(self) -> frozenset[Node]:
        """The minimal nodes, for looking up."""
        return frozenset(self.minimal)

    def loss_of(self, node: Node) -> float | None:
        """What a safe node loses; None where it is not known."""
        loss = float(self.losses[self._number(node)])
        return None if np.isnan(loss) else loss

    @cached_property
    def _lattice(self) -> Lattice:
        return Lattice(self.tops)

    def _number(self, node: Node) -> int:
        if not isinstance(node, (tuple, list)) or len(node) != len(self.tops):
            raise InputError(f"{node!r} is no node: give one level for each of {self.attributes}")
        for level, top in zip(node, self.tops, strict=True):
            if not isinstance(level, (int, np.integer)) or not 0 <= level <= top:
                raise InputError(f"{node!r} is no node; levels go from 0 up to {self.tops}")
        return self._lattice.number(node)

    def _content(self) -> dict[str, Any]:
        losses = [None if np.isnan(loss) else loss for loss in self.losses.tolist()]
        return {
            "attributes": list(self.attributes),
            "names": [list(names) for names in self.names],
            "tops": list(self.tops),
            "objective": self.objective,
            "find": self.find,
            "complete": self.complete,
            "chosen": list(self.chosen),
            "minimal": [list(node) for node in self.minimal],
            "suppressed": [[list(node), people] for node, people in self.suppressed.items()],
            "status": [_WORDS[status] for status in self.status.tolist()],
            "checked": self.checked.tolist(),
            "losses": losses,
        }

    def __repr__(self) -> str:
        levels = ", ".join(f"{name} {level}" for name, level in self.levels.items())
        loss = self.loss_of(self.chosen)
        cut = "" if self.complete else ", cut off by the time budget"
        return (
            f"LatticeResult({levels}: {self.objective} {loss:.4g}; "
            f"{self.n_checked} of {self.n_nodes} nodes checked{cut})"
        )
