"""Nodes: formulas over atoms, each kept once and simplified, and what is left when one is dealt.

An atom says that a variable takes one of its options. A variable takes at most one option; the
negation of an atom is pushed down to it, so a node is true, false, a literal, a conjunction, a
disjunction, a likeness (all kids hold or none does), or a mark that a variable must be dealt.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["true", "false", "atom", "not", "all", "any", "alike", "mark"]
Node: TypeAlias = int

TRUE: Node = 0
FALSE: Node = 1
_NONE: frozenset[int] = frozenset()


class Nodes:
    """All nodes of one problem; a node is a number.

    Attributes
    ----------
    kinds, kids : lists
        What each node is, and what of: nodes, or one atom, or the variable of a mark.
    variables, atoms : lists of frozenset of int
        What each node mentions.
    owner : list of int
        The variable of each atom.
    """

    def __init__(self) -> None:
        self.kinds: list[Kind] = ["true", "false"]
        self.kids: list[tuple[int, ...]] = [(), ()]
        self.variables = [_NONE, _NONE]
        self.atoms = [_NONE, _NONE]
        self.owner: list[int] = []
        self._known: dict[tuple[Kind, tuple[int, ...]], Node] = {}
        self._negated: dict[Node, Node] = {TRUE: FALSE, FALSE: TRUE}
        self._negative: dict[int, Node] = {}  # by atom
        self._left: dict[tuple[Node, int, int], Node] = {}
        self._struck: dict[tuple[Node, frozenset[int]], Node] = {}

    # ---- making ---------------------------------------------------------------------------

    def new_atom(self, variable: int) -> int:
        """Add an atom of a variable; returns its number."""
        self.owner.append(variable)
        return len(self.owner) - 1

    def atom(self, atom: int) -> Node:
        """The node that holds where the atom does."""
        return self._make("atom", (atom,), frozenset((self.owner[atom],)), frozenset((atom,)))

    def mark(self, variable: int, atoms: Iterable[int]) -> Node:
        """A node that holds, and stays until the variable is dealt."""
        return self._make("mark", (variable,), frozenset((variable,)), frozenset(atoms))

    def all_of(self, kids: Iterable[Node]) -> Node:
        """Conjunction."""
        return self._join("all", kids, TRUE, FALSE)

    def any_of(self, kids: Iterable[Node]) -> Node:
        """Disjunction."""
        return self._join("any", kids, FALSE, TRUE)

    def alike(self, kids: Iterable[Node]) -> Node:
        """All kids hold or none does."""
        found = set(kids)
        if TRUE in found:
            return self.all_of(found)
        if FALSE in found:
            return self.all_of(map(self.negate, found))
        if len(found) < 2:
            return TRUE
        if any(self._negated.get(kid) in found for kid in found):
            return FALSE
        return self._of_kids("alike", found)

    def negate(self, node: Node) -> Node:
        """The node that holds where this one does not."""
        if node not in self._negated:
            kind, kids = self.kinds[node], self.kids[node]
            if kind == "atom":
                made = self._make("not", kids, self.variables[node], self.atoms[node])
                self._negative[kids[0]] = made
            elif kind == "all":
                made = self.any_of(map(self.negate, kids))
            elif kind == "any":
                made = self.all_of(map(self.negate, kids))
            elif kind == "alike" and len(kids) == 2:
                made = self.alike((kids[0], self.negate(kids[1])))
            else:
                made = self.all_of(
                    (self.any_of(kids), self.any_of([self.negate(kid) for kid in kids]))
                )
            self._negated[node] = made
            self._negated.setdefault(made, node)
        return self._negated[node]

    def conjuncts(self, nodes: Iterable[Node], others: frozenset[Node] = _NONE) -> frozenset[Node]:
        """The parts of a conjunction of nodes: none if it is true, just `FALSE` if it is false.

        Parameters
        ----------
        nodes : iterable of Node
        others : frozenset of Node
            Parts of the conjunction that come from here, all of them or some.
        """
        new: set[Node] = set()
        for node in nodes:
            if self.kinds[node] == "all":
                new.update(self.kids[node])
            else:
                new.add(node)
        new -= others
        new.discard(TRUE)
        found = others | new
        if FALSE in new or any(self._negated.get(node) in found for node in new):
            return frozenset((FALSE,))
        # What somebody is known not to have is struck out elsewhere.
        gone = {atom for node in new if self.kinds[node] == "not" for atom in self.atoms[node]}
        about = [n for n in others if not gone.isdisjoint(self.atoms[n])] if gone else []
        gone.update(a for n in new for a in self.atoms[n] if self._negative.get(a) in others)
        about += [n for n in new if not gone.isdisjoint(self.atoms[n])]
        about = [n for n in about if self.kinds[n] not in ("not", "mark")]
        if not about:
            return frozenset(found)
        struck = [self.without(node, gone) for node in about]
        return self.conjuncts([*new.difference(about), *struck], others.difference(about))

    def without(self, node: Node, atoms: Set[int]) -> Node:
        """What is left of a node if none of some atoms holds."""
        gone = self.atoms[node] & atoms
        if not gone:
            return node
        key = (node, gone)
        if key not in self._struck:
            kind, kids = self.kinds[node], self.kids[node]
            if kind in ("atom", "not"):
                left = FALSE if kind == "atom" else TRUE
            else:
                left = self._of(kind, [self.without(kid, gone) for kid in kids])
            self._struck[key] = left
        return self._struck[key]

    # ---- dealing --------------------------------------------------------------------------

    def left(self, node: Node, variable: int, true_atom: int) -> Node:
        """What is left of a node once a variable is dealt.

        Parameters
        ----------
        node : Node
        variable : int
        true_atom : int
            The one of its atoms that holds; -1 where none of those mentioned does.
        """
        if variable not in self.variables[node]:
            return node
        key = (node, variable, true_atom)
        found = self._left.get(key)
        if found is None:
            found = self._left[key] = self._leave(node, variable, true_atom)
        return found

    def _leave(self, node: Node, variable: int, true_atom: int) -> Node:
        kind, kids = self.kinds[node], self.kids[node]
        if kind == "atom":
            return TRUE if kids[0] == true_atom else FALSE
        if kind == "not":
            return FALSE if kids[0] == true_atom else TRUE
        if kind == "mark":
            return TRUE
        return self._of(kind, [self.left(kid, variable, true_atom) for kid in kids])

    # ---- keeping each once ----------------------------------------------------------------

    def _of(self, kind: Kind, kids: list[Node]) -> Node:
        if kind == "all":
            return self.all_of(kids)
        return self.any_of(kids) if kind == "any" else self.alike(kids)

    def _join(self, kind: Kind, kids: Iterable[Node], nothing: Node, decides: Node) -> Node:
        found: set[Node] = set()
        for kid in kids:
            if self.kinds[kid] == kind:
                found.update(self.kids[kid])
            else:
                found.add(kid)
        found.discard(nothing)
        if decides in found or any(self._negated.get(kid) in found for kid in found):
            return decides
        if len(found) < 2:
            return found.pop() if found else nothing
        return self._of_kids(kind, found)

    def _of_kids(self, kind: Kind, kids: set[Node]) -> Node:
        variables = _NONE.union(*(self.variables[kid] for kid in kids))
        atoms = _NONE.union(*(self.atoms[kid] for kid in kids))
        return self._make(kind, tuple(sorted(kids)), variables, atoms)

    def _make(
        self, kind: Kind, kids: tuple[int, ...], variables: frozenset[int], atoms: frozenset[int]
    ) -> Node:
        node = self._known.get((kind, kids))
        if node is None:
            node = self._known[kind, kids] = len(self.kinds)
            self.kinds.append(kind)
            self.kids.append(kids)
            self.variables.append(variables)
            self.atoms.append(atoms)
        return node
