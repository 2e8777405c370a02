"""Truth: what is known of formulas in many worlds at once, while variables are being dealt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.statements.nodes import FALSE, TRUE, Node, Nodes

Flags: TypeAlias = NDArray[np.bool_]
# Whether something holds, in each world or in all: 1 yes, -1 no, 0 not known yet.
Truth: TypeAlias = "NDArray[np.int8] | np.int8"

_YES, _NO, _UNKNOWN = np.int8(1), np.int8(-1), np.int8(0)


class Truths:
    """Truth of nodes in many worlds.

    Parameters
    ----------
    nodes : Nodes
    worlds : int
    """

    def __init__(self, nodes: Nodes, worlds: int) -> None:
        self._nodes, self._worlds = nodes, worlds
        self._atoms: dict[int, Truth] = {}
        self._known: dict[Node, Truth] = {}

    def allowed(self, about: Iterable[Node], variable: int, true_atom: int) -> Flags:
        """In which worlds a variable may take an option: no formula becomes false for certain.

        Parameters
        ----------
        about : iterable of Node
            Formulas that mention the variable.
        variable : int
        true_atom : int
            Of the variable; -1 for none.
        """
        supposed: dict[Node, Truth] = {}
        found = np.ones(self._worlds, dtype=bool)
        for node in about:
            found &= self._truth(node, variable, true_atom, supposed) != _NO
        return found

    def settle(self, variable: int, atoms: Mapping[int, Flags]) -> None:
        """Note what a variable was dealt: in which worlds each of its atoms holds."""
        for atom, holds in atoms.items():
            self._atoms[atom] = np.where(holds, _YES, _NO)
        mentions = self._nodes.variables
        self._known = {n: t for n, t in self._known.items() if variable not in mentions[n]}

    def renew(self, chosen: NDArray[np.int64]) -> None:
        """Replace the worlds by some of them."""
        for table in (self._atoms, self._known):
            for key, truth in table.items():
                if isinstance(truth, np.ndarray) and truth.ndim:
                    table[key] = truth[chosen]

    def _truth(
        self, node: Node, variable: int, true_atom: int, supposed: dict[Node, Truth]
    ) -> Truth:
        known = supposed if variable in self._nodes.variables[node] else self._known
        if node not in known:
            known[node] = self._work_out(node, variable, true_atom, supposed)
        return known[node]

    def _work_out(
        self, node: Node, variable: int, true_atom: int, supposed: dict[Node, Truth]
    ) -> Truth:
        kind, kids = self._nodes.kinds[node], self._nodes.kids[node]
        if node in (TRUE, FALSE):
            return _YES if node == TRUE else _NO
        if kind == "mark":
            return _YES
        if kind in ("atom", "not"):
            (atom,) = kids
            if self._nodes.owner[atom] == variable:
                truth: Truth = _YES if atom == true_atom else _NO
            else:
                truth = self._atoms.get(atom, _UNKNOWN)
            return truth if kind == "atom" else -truth
        truths = [self._truth(kid, variable, true_atom, supposed) for kid in kids]
        low = high = truths[0]
        for truth in truths[1:]:
            low, high = np.minimum(low, truth), np.maximum(high, truth)
        if kind == "all":
            return low
        if kind == "any":
            return high
        settled = np.where((low == _YES) | (high == _NO), _YES, _UNKNOWN)
        return np.where((low == _NO) & (high == _YES), _NO, settled)
