"""Rollup: the counts at every node of the lattice, each from those of a finer node.

Rows are looked at once, to find the distinct combinations of quasi-identifiers and the values
there. From then on the counts of a node come from the finer node with the fewest cells of those at
hand: its groups are relabelled and united, never rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.engines.columns import narrowest
from foreknow.data.labels import Labels
from foreknow.data.microdata import Attribute, Microdata
from foreknow.data.sparse import IntArray, combine, count_pairs
from foreknow.methods.fulldomain.lattice import Node
from foreknow.methods.mondrian.cuts import Points

_BLOCK = 1 << 20
# How many times the cells of the finest node the counts at hand may have together.
_KEPT = 8


def levels_of(attribute: Attribute) -> list[IntArray]:
    """Node of each value at level 0 (exact), 1, ... up to the last, where there is one node.

    >>> age = Attribute("age", np.array([0]), [30, 31], "ordered", (), (), np.array([30.0, 31.0]))
    >>> levels_of(age)
    [array([0, 1]), array([0, 0])]
    """
    exact = np.arange(len(attribute.domain))
    return [exact, *(attribute.ancestors or (np.zeros_like(exact),))]


class View:
    """The groups at one node, in lexicographic order, and what is counted of them.

    Attributes
    ----------
    levels : Node
    codes : list of integer arrays, shape (groups,)
        The node of each group along each quasi-identifier.
    people : int64 array, shape (groups,)
    """

    def __init__(
        self,
        levels: Node,
        codes: list[NDArray[Any]],
        people: IntArray,
        finer: GroupCounts,
        into: IntArray | None,
    ) -> None:
        self.levels = levels
        self.codes = codes
        self.people = people
        self._finer = finer
        self._into = into

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.people)

    @property
    def is_counted(self) -> bool:
        """Whether all groups have been counted."""
        return self._into is None or "counts" in self.__dict__

    @cached_property
    def counts(self) -> GroupCounts:
        """Sensitive values of every group."""
        if self._into is None:
            return self._finer
        made = _united(self._finer, self._into, self.people, slice(None))
        self._finer, self._into = made, None  # the finer ones are not needed any more
        return made

    def part(self, groups: NDArray[Any]) -> GroupCounts:
        """Sensitive values of some groups only, in ascending order."""
        if self._into is None or self.is_counted:
            return self.counts.take(groups)
        place = np.full(self.n_groups, -1)
        place[groups] = np.arange(len(groups))
        into = place[self._into]
        cells = np.flatnonzero(into[self._finer.cell_groups] >= 0)
        return _united(self._finer, into, self.people[groups], cells)


def _united(
    finer: GroupCounts, into: IntArray, people: IntArray, cells: slice | IntArray
) -> GroupCounts:
    found = count_pairs(
        into[finer.cell_groups[cells]],
        finer.codes[cells],
        len(people),
        finer.n_values,
        finer.counts[cells],
    )
    return GroupCounts.counted(people, *found, values=finer.values, semantics=finer.semantics)


class Rollup:
    """The counts of every node that is asked for.

    Parameters
    ----------
    microdata : Microdata
    """

    def __init__(self, microdata: Microdata) -> None:
        self.attributes = microdata.attributes
        self.levels = [levels_of(attribute) for attribute in self.attributes]
        self.tops: Node = tuple(len(levels) - 1 for levels in self.levels)
        self.sizes = [[int(nodes[-1]) + 1 for nodes in levels] for levels in self.levels]
        codes, people, counts = _finest(microdata)
        self.finest = View((0,) * len(self.levels), codes, people, counts, None)
        self._views: list[View] = [self.finest]
        self._kept = np.array([self.finest.levels])
        self._cells = np.array([len(counts.codes)])
        self._between: dict[tuple[int, int, int], NDArray[Any]] = {}

    @property
    def n_people(self) -> int:
        """People of the table."""
        return int(self.finest.people.sum())

    def view(self, node: Node) -> View:
        """The groups at a node, not counted yet, rolled up from the cheapest finer node."""
        finer = self._views[self._cheapest(node)]
        if finer.levels == node:
            return finer
        columns: list[NDArray[Any]] = []
        for a, level in enumerate(node):
            if level == self.tops[a]:
                continue
            codes = finer.codes[a]
            if level != finer.levels[a]:
                codes = self._map(a, finer.levels[a], level)[codes]
            columns.append(codes)
        varying = [a for a, level in enumerate(node) if level != self.tops[a]]
        if varying:
            into, first = combine(columns, [self.sizes[a][node[a]] for a in varying])
        else:
            into = np.zeros(finer.n_groups, dtype=np.int64)
            first = into[:1]
        found = {a: column[first] for a, column in zip(varying, columns, strict=True)}
        nothing = np.zeros(len(first), dtype=np.uint8)
        codes_of = [found.get(a, nothing) for a in range(len(node))]
        people = np.bincount(into, weights=finer.people, minlength=len(first)).astype(np.int64)
        return View(node, codes_of, people, finer.counts, into)

    def keep(self, view: View) -> None:
        """Have the counts of a view at hand for coarser nodes."""
        if (self._kept == view.levels).all(axis=1).any():
            return
        self._views.append(view)
        self._kept = np.vstack((self._kept, view.levels))
        self._cells = np.append(self._cells, len(view.counts.codes))
        most = _KEPT * max(int(self._cells[0]), 1 << 12)
        while self._cells.sum() > most and len(self._views) > 2:
            # The largest but the finest: what it saves is the least.
            self._drop(1 + int(np.argmax(self._cells[1:])))

    def _drop(self, at: int) -> None:
        del self._views[at]
        self._kept = np.delete(self._kept, at, axis=0)
        self._cells = np.delete(self._cells, at)

    def _cheapest(self, node: Node) -> int:
        finer = (self._kept <= node).all(axis=1)
        return int(np.where(finer, self._cells, np.iinfo(np.int64).max).argmin())

    def _map(self, a: int, fine: int, coarse: int) -> NDArray[Any]:
        """Node at a coarse level of each node at a finer one."""
        key = (a, fine, coarse)
        if key not in self._between:
            levels = self.levels[a]
            nodes = np.empty(self.sizes[a][fine], dtype=narrowest(self.sizes[a][coarse]))
            nodes[levels[fine]] = levels[coarse]
            self._between[key] = nodes
        return self._between[key]

    def spread(self, node: Node, of_group: IntArray) -> IntArray:
        """Give each person what belongs to their group at a node, in the table's order."""
        varying = [a for a, level in enumerate(node) if level < self.tops[a]]
        n_people = len(self.attributes[0].codes)
        if not varying:
            return np.full(n_people, of_group[0], dtype=np.int64)
        maps = [self._map(a, 0, node[a]) for a in varying]
        columns = [self.attributes[a].codes for a in varying]
        sizes = [self.sizes[a][node[a]] for a in varying]
        span = math.prod(sizes)
        if span > max(4 * n_people, _BLOCK):
            coarse = [nodes[column] for nodes, column in zip(maps, columns, strict=True)]
            spread: IntArray = of_group[combine(coarse, sizes)[0]]
            return spread
        # What belongs to each group, by its place among all combinations of nodes.
        view = self.view(node)
        table = np.zeros(span, dtype=np.int64)
        table[_joint([view.codes[a] for a in varying], sizes)] = of_group
        result = np.empty(n_people, dtype=np.int64)
        for start in range(0, n_people, _BLOCK):
            block = slice(start, start + _BLOCK)
            coarse = [nodes[column[block]] for nodes, column in zip(maps, columns, strict=True)]
            result[block] = table[_joint(coarse, sizes)]
        return result


def _joint(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> NDArray[Any]:
    """One number per row for its combination, in lexicographic order."""
    dtype = np.int32 if math.prod(sizes) < 2**31 else np.int64
    keys: NDArray[Any] = columns[0].astype(dtype)
    for codes, size in zip(columns[1:], sizes[1:], strict=True):
        keys *= dtype(size)
        np.add(keys, codes, out=keys, casting="unsafe")
    return keys


def _finest(microdata: Microdata) -> tuple[list[NDArray[Any]], IntArray, GroupCounts]:
    """Distinct combinations of quasi-identifiers: codes, people, and the values there."""
    values, semantics = microdata.values, microdata.schema.semantics
    sizes = [len(attribute.domain) for attribute in microdata.attributes]
    span = math.prod(sizes) * len(values)
    if semantics == "single" and span <= max(microdata.n_people, 1 << 16):
        return _tabulated(microdata, sizes, span)
    points = Points.of(microdata)
    counts = _at_points(points, values, semantics)
    return points.codes, points.weights, counts


def _tabulated(
    microdata: Microdata, sizes: list[int], span: int
) -> tuple[list[NDArray[Any]], IntArray, GroupCounts]:
    """Count all combinations there can be in one table; for many rows of few values each."""
    n_values = len(microdata.values)
    columns = [*(attribute.codes for attribute in microdata.attributes), microdata.sensitive_codes]
    table = np.zeros(span, dtype=np.int64)
    for start in range(0, microdata.n_people, _BLOCK):
        block = [column[start : start + _BLOCK] for column in columns]
        table += np.bincount(_joint(block, [*sizes, n_values]), minlength=span)
    cells = np.flatnonzero(table)
    combination = cells // n_values
    new = np.ones(len(cells), dtype=bool)
    new[1:] = combination[1:] != combination[:-1]
    starts = np.flatnonzero(new)
    amounts = table[cells]
    people = np.add.reduceat(amounts, starts)
    codes = [
        codes.astype(column.dtype)
        for codes, column in zip(
            np.unravel_index(combination[starts], sizes), columns[:-1], strict=True
        )
    ]
    counts = GroupCounts(
        people,
        np.append(starts, len(cells)),
        cells - combination * n_values,
        amounts,
        microdata.values,
    )
    return codes, people, counts


def _at_points(points: Points, values: Labels, semantics: Semantics) -> GroupCounts:
    """Count the values at each point, which are sorted within each."""
    starts = points.offsets[:-1]
    new = np.ones(len(points.values), dtype=bool)
    new[1:] = points.values[1:] != points.values[:-1]
    new[starts[points.occurrences > 0]] = True
    first = np.flatnonzero(new)
    offsets = np.searchsorted(first, points.offsets)
    return GroupCounts(
        points.weights,
        offsets,
        points.values[first].astype(np.int64),
        np.diff(first, append=len(points.values)),
        values,
        None,
        semantics,
    )
