"""Rollup: the counts at every node of the lattice, each from those of a finer node.

Rows are looked at once, to find the distinct combinations of quasi-identifiers and the values
there. From then on the groups of the smallest finer node at hand are relabelled and united.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts
from foreknow.data.engines.columns import narrowest
from foreknow.data.labels import GroupLabels
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray, combine, count_pairs
from foreknow.errors import InputError, did_you_mean
from foreknow.methods.fulldomain.lattice import SUPPRESSED, Node, label_of_level, levels_of
from foreknow.methods.points import Points

Codes: TypeAlias = NDArray[Any]

# How many times the cells of the finest node the counts at hand may have together.
_KEPT = 8


@dataclass(frozen=True, eq=False)
class View:
    """The groups at one node, in lexicographic order: their codes, and their values counted."""

    levels: Node
    codes: list[Codes]
    counts: GroupCounts

    @property
    def people(self) -> IntArray:
        """The size of each group."""
        return self.counts.sizes

    @property
    def n_cells(self) -> int:
        """Groups and values that occur together."""
        return len(self.counts.codes)


class ViewCache:
    """Counted views by node; the largest goes first, the finest stays."""

    def __init__(self, finest: View) -> None:
        self._views = [finest]
        self._levels = np.array([finest.levels])
        self._sizes = np.array([finest.n_cells])
        self._budget = _KEPT * max(finest.n_cells, 1 << 12)

    def __len__(self) -> int:
        return len(self._views)

    @property
    def n_cells(self) -> int:
        """Of all views together."""
        return int(self._sizes.sum())

    def smallest_finer(self, node: Node) -> View:
        """The view with the fewest cells at or below a node."""
        finer = np.flatnonzero((self._levels <= node).all(axis=1))
        return self._views[int(finer[self._sizes[finer].argmin()])]

    def add(self, view: View) -> None:
        """Have the counts of a view at hand for coarser nodes."""
        if (self._levels == view.levels).all(axis=1).any():
            return
        self._views.append(view)
        self._levels = np.vstack((self._levels, view.levels))
        self._sizes = np.append(self._sizes, view.n_cells)
        while len(self._views) > 2 and self.n_cells > self._budget:
            largest = 1 + int(self._sizes[1:].argmax())
            del self._views[largest]
            self._levels = np.delete(self._levels, largest, axis=0)
            self._sizes = np.delete(self._sizes, largest)


class Rollup:
    """The counts of every node of a table's lattice that is asked for."""

    def __init__(self, microdata: Microdata) -> None:
        self.attributes = microdata.attributes
        self.levels = [levels_of(attribute) for attribute in self.attributes]
        self.tops: Node = tuple(len(levels) - 1 for levels in self.levels)
        self.sizes = [[int(nodes[-1]) + 1 for nodes in levels] for levels in self.levels]
        self._points = points = Points.of(microdata)
        bottom = (0,) * len(self.levels)
        self.finest = View(bottom, points.codes, points.counts(microdata))
        self.cache = ViewCache(self.finest)
        self._between: dict[tuple[int, int, int], Codes] = {}

    @property
    def n_people(self) -> int:
        """People of the table."""
        return int(self.finest.people.sum())

    def view(self, node: Node) -> View:
        """The groups at a node, from the smallest finer view."""
        finer = self.cache.smallest_finer(node)
        if finer.levels == node:
            return finer
        codes = {a: self._coarsened(finer, a, node[a]) for a in self._varying(node)}
        into, first = combine(list(codes.values()), [self.sizes[a][node[a]] for a in codes])
        columns = [np.zeros(len(first), dtype=np.uint8)] * len(node)
        for a, column in codes.items():
            columns[a] = column[first]
        people = np.bincount(into, finer.people).astype(np.int64)
        rows, shape = into[finer.counts.cell_groups], (len(people), finer.counts.n_values)
        found = count_pairs(rows, finer.counts.codes, *shape, finer.counts.counts)
        values, semantics = finer.counts.values, finer.counts.semantics
        counts = GroupCounts.counted(people, *found, values=values, semantics=semantics)
        return View(node, columns, counts)

    def labelled(self, view: View) -> GroupCounts:
        """The counts of a view, of groups that are named by what would be published of them."""
        columns, names = [], [attribute.name for attribute in self.attributes]
        for attribute, level, codes in zip(self.attributes, view.levels, view.codes, strict=True):
            labels = label_of_level(attribute, level)
            columns.append([labels[code] for code in codes.tolist()])
        return replace(view.counts, groups=GroupLabels.of(zip(*columns, strict=True), names))

    def _varying(self, node: Node) -> list[int]:
        """The attributes that are not suppressed; the first where all are."""
        return [a for a, level in enumerate(node) if level < self.tops[a]] or [0]

    def _coarsened(self, finer: View, a: int, level: int) -> Codes:
        codes = finer.codes[a]
        return codes if finer.levels[a] == level else self._map(a, finer.levels[a], level)[codes]

    def _map(self, a: int, fine: int, coarse: int) -> Codes:
        """Node at a coarse level of each node at a finer one."""
        key = (a, fine, coarse)
        if key not in self._between:
            nodes = np.empty(self.sizes[a][fine], dtype=narrowest(self.sizes[a][coarse]))
            nodes[self.levels[a][fine]] = self.levels[a][coarse]
            self._between[key] = nodes
        return self._between[key]

    def spread(self, node: Node, of_group: IntArray) -> IntArray:
        """Give each person what belongs to their group at a node, in the table's order."""
        varying = self._varying(node)
        codes = [self._coarsened(self.finest, a, node[a]) for a in varying]
        of_point, _ = combine(codes, [self.sizes[a][node[a]] for a in varying])
        return self._points.spread(of_group[of_point])


def counts_at(microdata: Microdata, levels: Mapping[str, int | str]) -> GroupCounts:
    """Count the groups of a full-domain generalization.

    The same levels as `FullDomain` chooses, here by hand.

    Parameters
    ----------
    microdata : Microdata
    levels : mapping of column to int or "*"
        0 is exact, 1 the first level of the column's hierarchy; ``"*"`` is the last, where
        everybody has the same. A quasi-identifier that is left out is suppressed.

    Returns
    -------
    GroupCounts
        Its groups are named by what would be published of them.

    Raises
    ------
    InputError
        If a column is no quasi-identifier, or has no such level.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.schema import Schema
    >>> rows = pa.table({"age": [21, 25, 38], "sex": ["f", "m", "f"], "disease": ["Flu"] * 3})
    >>> schema = Schema(
    ...     quasi_identifiers=["age", "sex"],
    ...     sensitive="disease",
    ...     hierarchies={"age": {"intervals": [10, 20]}},
    ... )
    >>> counts_at(Microdata(rows, schema), {"age": 1}).groups
    [('20 to 29', '*'), ('30 to 39', '*')]
    """
    if not isinstance(levels, Mapping):
        raise InputError(f'levels are a mapping such as {{"age": 1}}, not {levels!r}')
    names = list(microdata.schema.quasi_identifiers)
    for column in levels:
        if column not in names:
            raise InputError(
                f"{column!r} is no quasi-identifier of {microdata.name}"
                f"{did_you_mean(str(column), names)}"
            )
    rollup = Rollup(microdata)
    node = tuple(
        _level(name, levels.get(name, SUPPRESSED), top)
        for name, top in zip(names, rollup.tops, strict=True)
    )
    return rollup.labelled(rollup.view(node))


def _level(name: str, given: Any, top: int) -> int:
    if given == SUPPRESSED:
        return top
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise InputError(f"the level of {name!r} is a whole number or '*', not {given!r}")
    if not 0 <= given <= top:
        raise InputError(
            f"{name!r} has the levels 0 (exact) to {top} ('*'), not {given}"
            + ("; give it a hierarchy for levels between" if top == 1 else "")
        )
    return int(given)
