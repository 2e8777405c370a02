"""Levels of generalization; the lattice of their choices; and what a search says of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.columns.attribute import Attribute
from foreknow.data.labels.generalization import names_of_nodes, wording_of
from foreknow.data.labels.labels import Label
from foreknow.data.schema import Schema
from foreknow.numbers import is_whole
from foreknow.result import Result
from foreknow_judge.errors import InputError

Node: TypeAlias = tuple[int, ...]

SUPPRESSED = "*"
UNKNOWN, SAFE, UNSAFE = 0, 1, 2

# Beyond it, what is known about every node would no longer fit into memory beside a table.
_MOST_NODES = 5_000_000


def levels_of(attribute: Attribute) -> list[IntArray]:
    """The node of each value at level 0 (exact), 1, ... up to the last, which has one node.

    >>> age = Attribute("age", np.array([0]), [30, 31], "ordered", (), (), np.array([30.0, 31.0]))
    >>> levels_of(age)
    [array([0, 1]), array([0, 0])]
    """
    exact = np.arange(len(attribute.domain))
    return [exact, *(attribute.ancestors or (np.zeros_like(exact),))]


def read_levels(text: str, name: str) -> dict[str, int | str]:
    """The level of each column, from a text such as "age=3, sex=*"; "*" is the highest level.

    `name` says in messages what has the levels.
    """
    levels: dict[str, int | str] = {}
    for text_of_level in text.split(","):
        # The last = divides: a column's name may contain one.
        column, equals, level = map(str.strip, text_of_level.rpartition("="))
        if not equals or not column:
            raise InputError(
                f'{name} takes a level for each column, such as "age=3, sex=*", not {text!r}'
            )
        if column in levels:
            raise InputError(f"{name} names {column!r} twice; keep one")
        levels[column] = int(level) if is_whole(level) else level
    return levels


def label_of_level(attribute: Attribute, level: int) -> Sequence[Label]:
    """The labels of the nodes of a level."""
    if level == 0:
        return attribute.domain
    if attribute.labels:
        return names_of_nodes(attribute)[level]
    return (wording_of(attribute, "set").everything,)


def level_names(schema: Schema, column: str, top: int, finest: str = "exact") -> tuple[str, ...]:
    """Name each level of a column, from 0 to `top`.

    `finest` names level 0: "exact", or the grid to which numbers are rounded. A column that stays
    as it is has only this level (`top` is 0); for any other, the highest level is "*".

    >>> from foreknow.data.columns.hierarchy import Intervals
    >>> widths = {"age": Intervals([5, 10])}
    >>> schema = Schema(quasi_identifiers=["age"], sensitive="disease", hierarchies=widths)
    >>> level_names(schema, "age", 3)
    ('exact', 'ranges of 5', 'ranges of 10', '*')
    """
    hierarchy: Any = schema.hierarchies.get(column) or {}
    table = hierarchy if isinstance(hierarchy, Mapping) else hierarchy.to_dict()
    return (finest, *_between(table, top - 1), SUPPRESSED) if top else (finest,)


def _between(table: Mapping[str, Any], n: int) -> Sequence[str]:
    """The names of the levels of a hierarchy that are neither exact nor suppressed."""
    names: list[str] = []
    match dict(table):
        case {"intervals": widths}:
            names = [f"ranges of {width}" for width in widths]
        case {"dates": periods}:
            names = list(map(str, periods))
        case {"mask": _}:
            names = ["1 character masked", *(f"{i} characters masked" for i in range(2, n + 1))]
    return names[:n] if len(names) >= n else [f"level {i}" for i in range(1, n + 1)]


class Lattice:
    """The nodes of a full-domain generalization, given the highest level of each attribute.

    A node is one level per quasi-identifier, 0 for exact; it lies below another if no level of it
    is higher. Nodes are numbered in lexicographic order, the bottom 0.

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
                f"{len(self.shape)} quasi-identifiers fewer levels, or leave some out; FullDomain "
                'searches larger ones by find="best", for an objective that has a name'
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
        heights: IntArray = np.asarray(self.sums(list(map(np.arange, self.shape))))
        return heights

    def sums(self, by_attribute: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Add up, for every node, what the level of each quasi-identifier contributes."""
        total: NDArray[Any] = np.zeros(1, dtype=by_attribute[0].dtype)
        for of_levels in by_attribute:
            total = (total[:, None] + of_levels).reshape(-1)
        return total

    def least_part(self, by_attribute: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """For each node the least part of a quasi-identifier that is below its highest level."""
        lowest: NDArray[Any] = np.full(1, np.inf)
        for of_levels in by_attribute:
            lowest = np.minimum(lowest[:, None], np.append(of_levels[:-1], np.inf)).reshape(-1)
        return np.where(np.isinf(lowest), 0.0, lowest)

    def children(self, number: int) -> Iterator[int]:
        """The nodes directly below."""
        for level, step in zip(self.node(number), self._strides, strict=True):
            if level > 0:
                yield number - step

    def parents(self, number: int) -> Iterator[int]:
        """The nodes directly above."""
        for level, top, step in zip(self.node(number), self.tops, self._strides, strict=True):
            if level < top:
                yield number + step

    def below(self, marks: NDArray[Any], number: int) -> NDArray[Any]:
        """The part of an array over all nodes that belongs to a node and all below; a view."""
        box = tuple(slice(None, level + 1) for level in self.node(number))
        part_below: NDArray[Any] = marks.reshape(self.shape)[box]
        return part_below

    def above(self, marks: NDArray[Any], number: int) -> NDArray[Any]:
        """The part of an array over all nodes that belongs to a node and all above; a view."""
        box = tuple(slice(level, None) for level in self.node(number))
        part_above: NDArray[Any] = marks.reshape(self.shape)[box]
        return part_above

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


_WORDS = ("unknown", "safe", "unsafe")


@dataclass(frozen=True, eq=False, repr=False)
class LatticeResult(Result):
    """The nodes of a lattice, whether each is safe, unsafe or unknown, and the chosen one.

    A node is a tuple of levels, one per quasi-identifier in the schema's order; 0 is exact, the
    highest level is suppressed. Arrays over nodes are in lexicographic order.

    Attributes
    ----------
    attributes : tuple of str
        The quasi-identifiers.
    names : tuple of tuples of str
        The names of the levels of each quasi-identifier, from "exact" to "*".
    tops : Node
        The highest level of each quasi-identifier.
    status : int8 array, shape (nodes,)
        The status of each node: 0 unknown, 1 safe, 2 unsafe.
    checked : bool array, shape (nodes,)
        True for nodes that were judged themselves; the status of the others follows from these.
    losses : float64 array, shape (nodes,)
        The loss of safe nodes by the objective; NaN where it was not needed.
    suppressed : dict of Node to int
        The number of people suppressed at each node that is only safe with suppression.
    minimal : tuple of Node
        The safe nodes below which all nodes are known to be unsafe.
    chosen : Node
        The node of the release.
    outlier_group : int or None
        The group of the people who hide everything at the chosen node; None if nobody does.
    hidden : bool array, shape (groups, attributes), or None
        The suppressed cells of each group of the chosen node; None unless single cells are
        suppressed.
    hidden_people : int
        The number of people who hide everything at the chosen node.
    objective, find : str
        The objective, and what the search was to find.
    complete : bool
        Whether the search finished before its time budget or its limit on judged nodes.
    gap : float or None
        How much less than the chosen node a safe node might lose, at most: proven, and 0 if the
        search finished. None: unknown.
    listed : tuple of Node or None
        The judged nodes, to which the arrays belong, if the lattice is too large for arrays over
        all nodes. None: the arrays are over all nodes.
    limits_inference : bool
        Whether a requirement limits inference. If none does, "safe" only means that the
        requirements hold.
    in_cases : bool
        Whether rows are cases, of which a person may have several.
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
    hidden: NDArray[np.bool_] | None = field(default=None, repr=False)
    hidden_people: int = 0
    gap: float | None = None
    listed: tuple[Node, ...] | None = None
    limits_inference: bool = True
    in_cases: bool = False

    @cached_property
    def groups(self) -> IntArray:
        """The group of each row of the source at the chosen node; -1 for rows that are left out."""
        return self._spread()

    @property
    def floors(self) -> dict[str, IntArray]:
        """The level of each group by quasi-identifier; the highest if the group is suppressed."""
        n_groups = int(self.groups.max()) + 1
        floors = {}
        columns = zip(self.attributes, self.chosen, self.tops, strict=True)
        for column, (name, level, top) in enumerate(columns):
            floors[name] = np.full(n_groups, level)
            if self.outlier_group is not None:
                floors[name][self.outlier_group] = top
            if self.hidden is not None:
                floors[name][self.hidden[:, column]] = top
        return floors

    @property
    def levels(self) -> dict[str, int]:
        """The chosen level of each quasi-identifier."""
        return dict(zip(self.attributes, self.chosen, strict=True))

    @property
    def n_nodes(self) -> int:
        """The number of nodes of the lattice."""
        return math.prod(top + 1 for top in self.tops)

    @property
    def n_checked(self) -> int:
        """The number of nodes that were judged themselves."""
        return int(self.checked.sum())

    def in_words(self, node: Node) -> dict[str, str]:
        """The level of each quasi-identifier at a node, in words."""
        self._number(node)
        level_names = (names[level] for names, level in zip(self.names, node, strict=True))
        return dict(zip(self.attributes, level_names, strict=True))

    def nodes(self, status: str | None = None) -> list[Node]:
        """The nodes, or the "safe", "unsafe" or "unknown" ones; of those `listed`, if any."""
        positions = range(len(self.status))
        if status is None:
            return list(map(self._node, positions))
        if status not in _WORDS:
            raise InputError(f"a node is safe, unsafe or unknown, not {status!r}")
        matching = np.flatnonzero(self.status == _WORDS.index(status))
        return list(map(self._node, matching.tolist()))

    def status_of(self, node: Node) -> str:
        """The status of a node: "safe", "unsafe", or "unknown"."""
        position = self._number(node)
        return _WORDS[UNKNOWN if position is None else self.status[position]]

    def was_judged(self, node: Node) -> bool:
        """True if a node was judged itself; its status may follow from others."""
        position = self._number(node)
        return position is not None and bool(self.checked[position])

    @cached_property
    def minimal_set(self) -> frozenset[Node]:
        """The minimal nodes as a set."""
        return frozenset(self.minimal)

    def loss_of(self, node: Node) -> float | None:
        """The loss of a safe node; None if it is not known."""
        position = self._number(node)
        return (
            None
            if position is None or np.isnan(self.losses[position])
            else float(self.losses[position])
        )

    @cached_property
    def _lattice(self) -> Lattice:
        return Lattice(self.tops)

    @cached_property
    def _places(self) -> dict[Node, int]:
        return {node: position for position, node in enumerate(self.listed or ())}

    def _node(self, position: int) -> Node:
        return self._lattice.node(position) if self.listed is None else self.listed[position]

    def _number(self, node: Node) -> int | None:
        """The position of a node in the arrays; None if they do not have it."""
        if not isinstance(node, (tuple, list)) or len(node) != len(self.tops):
            raise InputError(f"{node!r} is no node: give one level for each of {self.attributes}")
        for level, top in zip(node, self.tops, strict=True):
            if not isinstance(level, (int, np.integer)) or not 0 <= level <= top:
                raise InputError(f"{node!r} is no node; levels go from 0 up to {self.tops}")
        if self.listed is not None:
            return self._places.get(tuple(node))
        return self._lattice.number(node)

    def _content(self) -> dict[str, Any]:
        """The result as plain values, for JSON."""
        losses = [None if np.isnan(loss) else loss for loss in self.losses.tolist()]
        return {
            "attributes": list(self.attributes),
            "names": list(map(list, self.names)),
            "tops": list(self.tops),
            "objective": self.objective,
            "find": self.find,
            "limits_inference": self.limits_inference,
            "complete": self.complete,
            **({} if self.gap is None else {"gap": self.gap}),
            **({} if self.listed is None else {"listed": list(map(list, self.listed))}),
            "chosen": list(self.chosen),
            "minimal": list(map(list, self.minimal)),
            "suppressed": [[list(node), people] for node, people in self.suppressed.items()],
            "status": [_WORDS[status] for status in self.status.tolist()],
            "checked": self.checked.tolist(),
            "losses": losses,
        }

    def __repr__(self) -> str:
        levels = ", ".join(f"{name} {level}" for name, level in self.levels.items())
        loss = self.loss_of(self.chosen)
        cut_text = "" if self.complete else ", cut off"
        if not self.complete and self.gap is None:
            cut_text += " by the time budget"
        if self.gap:
            cut_text += f", at most {self.gap:.4g} from the least"
        return (
            f"LatticeResult({levels}: {self.objective} {loss:.4g}; "
            f"{self.n_checked} of {self.n_nodes} nodes checked{cut_text})"
        )
