"""Rollup: the counts at every node of the lattice, each from those of a finer node.

Rows are looked at once, to find the distinct combinations of quasi-identifiers and the values
there. From then on the groups of the smallest finer node at hand are relabelled and united.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine, count_pairs
from foreknow.data.counts import GroupCounts
from foreknow.data.keys import RowKeys
from foreknow.data.labels.labels import GroupLabels
from foreknow.data.microdata import Microdata
from foreknow.data.tables.columns import narrowest
from foreknow.errors import did_you_mean
from foreknow.methods.fulldomain.lattice import SUPPRESSED, Node, label_of_level, levels_of
from foreknow.methods.points import Points
from foreknow.needs import refuse_rules
from foreknow.policy.call_arguments import Arguments, hinted_with_keys, microdata_of
from foreknow.policy.policy import Policy
from foreknow_judge.errors import InputError

Codes: TypeAlias = NDArray[Any]

# How many cells the counts at hand may have together: so many, or times those of the finest node.
_MOST_CELLS, _TIMES_FINEST = 1 << 22, 8
# How many values attributes may have together that are looked up by one key.
_MOST_TOGETHER = 1 << 16
# Tables of so many cells are counted in full, even where few of their rows occur.
_FEW_CELLS = 1 << 16


@dataclass(frozen=True, eq=False)
class View:
    """The groups at one node, in lexicographic order, and their values counted.

    Attributes are in blocks. A key is one number for the codes of a group in a block.
    """

    levels: Node
    keys: list[Codes]  # by block, the key of each group
    sizes: list[list[int]]  # by block, how many codes each attribute has at this node
    counts: GroupCounts

    @property
    def codes(self) -> list[Codes]:
        """The code of each group, by attribute."""
        codes: list[Codes] = []
        for keys, sizes in zip(self.keys, self.sizes, strict=True):
            codes += np.unravel_index(keys, sizes)
        return codes

    @property
    def people(self) -> IntArray:
        """The size of each group."""
        return self.counts.sizes

    @property
    def n_cells(self) -> int:
        """Groups and values that occur together."""
        return len(self.counts.codes)


class ViewCache:
    """Counted views by node; the finest stays, those unused for longest go first."""

    def __init__(self, finest: View) -> None:
        self._views = [finest]
        self._levels = np.array([finest.levels])
        self._sizes = np.array([finest.n_cells])
        self._used = np.zeros(1, dtype=np.int64)
        self._clock = 0
        self.budget = max(_MOST_CELLS, _TIMES_FINEST * finest.n_cells)

    def __len__(self) -> int:
        return len(self._views)

    @property
    def n_cells(self) -> int:
        """The number of cells of all views together."""
        return int(self._sizes.sum())

    def smallest_finer(self, node: Node) -> View:
        """The view with the fewest cells at or below a node."""
        finer = np.flatnonzero((self._levels <= node).all(axis=1))
        smallest = int(finer[self._sizes[finer].argmin()])
        self._clock += 1
        self._used[smallest] = self._clock
        return self._views[smallest]

    def add(self, view: View) -> None:
        """Keep the counts of a view, from which coarser nodes can be counted.

        If there are too many cells, views that were not used for long are dropped.
        """
        if (self._levels == view.levels).all(axis=1).any():
            return
        self._views.append(view)
        self._levels = np.vstack((self._levels, view.levels))
        self._sizes = np.append(self._sizes, view.n_cells)
        self._used = np.append(self._used, self._clock)
        while len(self._views) > 2 and self.n_cells > self.budget:
            oldest = 1 + int(self._used[1:].argmin())
            del self._views[oldest]
            self._levels = np.delete(self._levels, oldest, axis=0)
            self._sizes = np.delete(self._sizes, oldest)
            self._used = np.delete(self._used, oldest)


def _nodes_by_level(levels: Sequence[IntArray]) -> list[int]:
    """How many nodes each level has."""
    return [int(nodes[-1]) + 1 for nodes in levels]


class Rollup:
    """The counts of every node of a table's lattice that is asked for."""

    def __init__(self, microdata: Microdata) -> None:
        self.attributes = microdata.attributes
        self.levels = list(map(levels_of, self.attributes))
        self.tops: Node = tuple([len(levels) - 1 for levels in self.levels])
        self.sizes = list(map(_nodes_by_level, self.levels))
        self._points = points = Points.of(microdata)
        most_keys = max(1 << 10, min(len(points), _MOST_TOGETHER))
        self._blocks = list(self._blocks_of_attributes(most_keys))
        bottom = (0,) * len(self.levels)
        sizes = self._sizes_at(bottom)
        keys = []
        for block, block_sizes in zip(self._blocks, sizes, strict=True):
            keys_of_block = RowKeys(points.codes[block], block_sizes).numbers()
            keys.append(keys_of_block.astype(narrowest(prod(block_sizes))))
        self.finest = View(bottom, keys, sizes, points.counts(microdata))
        self.cache = ViewCache(self.finest)

    def _blocks_of_attributes(self, most_keys: int) -> Iterator[slice]:
        """Yield blocks of successive attributes, whose combinations of values are at most so many.

        An attribute with more values is a block by itself.
        """
        start, n_keys = 0, 1
        for attribute, sizes in enumerate(self.sizes):
            n_keys *= sizes[0]
            if attribute > start and n_keys > most_keys:
                yield slice(start, attribute)
                start, n_keys = attribute, sizes[0]
        yield slice(start, len(self.sizes))

    def _sizes_at(self, node: Node) -> list[list[int]]:
        """How many codes each attribute of each block has at a node."""
        sizes_at_levels = [sizes[level] for sizes, level in zip(self.sizes, node, strict=True)]
        return [sizes_at_levels[block] for block in self._blocks]

    @property
    def n_people(self) -> int:
        """People of the table."""
        return int(self.finest.people.sum())

    def view(self, node: Node) -> View:
        """The groups at a node with their counts, added up from the smallest finer view at hand."""
        finer = self.cache.smallest_finer(node)
        if finer.levels == node:
            return finer
        finer_counts, sizes = finer.counts, self._sizes_at(node)
        keys_of_finer = self._keys_at(finer, node)
        n_keys = list(map(prod, sizes))  # of each block
        n_groups = prod(n_keys)
        # The new group of each finer one. If all combinations of keys are few, each gets a number,
        # and those that nobody has are dropped in the end; else only those that occur.
        are_few = n_groups * finer_counts.n_values <= max(len(finer_counts.codes), _FEW_CELLS)
        if are_few:
            group_of_finer = RowKeys(keys_of_finer, n_keys).numbers()
        else:
            group_of_finer, first_finer = combine(keys_of_finer, n_keys)
            n_groups = len(first_finer)
        people = np.bincount(group_of_finer, finer.people, n_groups).astype(np.int64)
        offsets, codes, value_counts = count_pairs(
            group_of_finer[finer_counts.cell_groups],
            finer_counts.codes,
            n_groups,
            finer_counts.n_values,
            finer_counts.counts,
        )
        if are_few:
            with_people = np.flatnonzero(people > 0)
            offsets = np.append(offsets[with_people], offsets[-1])
            people = people[with_people]
            keys = list(np.unravel_index(with_people, n_keys))
        else:
            keys = [keys_of_block[first_finer] for keys_of_block in keys_of_finer]
        values, semantics = finer_counts.values, finer_counts.semantics
        counts = GroupCounts.counted(
            people, offsets, codes, value_counts, values=values, semantics=semantics
        )
        return View(node, keys, sizes, counts)

    def labelled(self, view: View) -> GroupCounts:
        """The counts of a view, of groups that are named by what would be published of them."""
        columns, names = [], [attribute.name for attribute in self.attributes]
        for attribute, level, codes in zip(self.attributes, view.levels, view.codes, strict=True):
            labels = label_of_level(attribute, level)
            columns.append([labels[code] for code in codes.tolist()])
        return replace(view.counts, groups=GroupLabels.of(zip(*columns, strict=True), names))

    def _keys_at(self, finer: View, node: Node) -> list[Codes]:
        """The key of each group of a finer view at a node, by block."""
        keys: list[Codes] = []
        for block, finer_keys in zip(self._blocks, finer.keys, strict=True):
            if finer.levels[block] == node[block]:
                keys.append(finer_keys)
            else:
                keys.append(self._keys_by_finer_key(block, finer, node).take(finer_keys))
        return keys

    def _keys_by_finer_key(self, block: slice, finer: View, node: Node) -> Codes:
        """For each key of a block of attributes in a finer view, the key at a node."""
        keys: Codes = np.zeros(1, dtype=np.int64)
        n_keys = 1
        for attribute in range(len(self.levels))[block]:
            finer_level, level = finer.levels[attribute], node[attribute]
            sizes, node_of_value = self.sizes[attribute], self.levels[attribute]
            code_of_finer_code = np.empty(sizes[finer_level], dtype=np.int64)
            code_of_finer_code[node_of_value[finer_level]] = node_of_value[level]
            keys = (keys[:, None] * sizes[level] + code_of_finer_code).reshape(-1)
            n_keys *= sizes[level]
        return keys.astype(narrowest(n_keys))

    def spread(self, node: Node, of_group: IntArray) -> IntArray:
        """The entry of each person's group at a node, in the table's order."""
        n_keys = list(map(prod, self._sizes_at(node)))
        group_of_point, _ = combine(self._keys_at(self.finest, node), n_keys)
        return self._points.spread(of_group[group_of_point])


@hinted_with_keys
def counts_at(
    microdata: Any,
    levels: Mapping[str, int | str] | Sequence[int | str],
    *,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    **keys: Unpack[Arguments],
) -> GroupCounts:
    """Count the groups of a full-domain generalization at given levels.

    The levels are those that `FullDomain` would otherwise choose.

    Parameters
    ----------
    microdata : Microdata, path or frame
        The table.
    levels : mapping of column to int or "*", or a node of a search, such as `search.chosen`
        The level of each quasi-identifier: 0 is exact, 1 the first level of its hierarchy; ``"*"``
        is the last, where everybody has the same label. A quasi-identifier that is left out is
        suppressed.
    policy : Policy, path or mapping, optional
        The roles of the columns, if `microdata` is a path or frame; `quasi_identifiers` and
        `sensitive` may be given instead.

    Returns
    -------
    GroupCounts
        The counts; groups are named by their published labels.

    Raises
    ------
    InputError
        If a column is no quasi-identifier, or has no such level.
    UnsupportedError
        If the schema says what counts cannot show: which person a case belongs to, what households
        share, or what some people cannot have.

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
    microdata = microdata_of(microdata, policy, keys)
    refuse_rules("counts_at", microdata)
    names = list(microdata.schema.quasi_identifiers)
    if isinstance(levels, (tuple, list)) and len(levels) == len(names):
        levels = dict(zip(names, levels, strict=True))
    if not isinstance(levels, Mapping):
        raise InputError(
            f'levels are a mapping such as {{"age": 1}}, or one for each of the {len(names)} '
            f"quasi-identifiers, not {levels!r}"
        )
    for column in levels:
        if column not in names:
            raise InputError(
                f"{column!r} is no quasi-identifier of {microdata.name}"
                f"{did_you_mean(str(column), names)}"
            )
    rollup = Rollup(microdata)
    node = []
    for name, top in zip(names, rollup.tops, strict=True):
        level = levels.get(name, SUPPRESSED)
        node.append(_checked_level(name, level, top))
    return rollup.labelled(rollup.view(tuple(node)))


def _checked_level(name: str, level: Any, top: int) -> int:
    """The number of a level; `*` is the highest one."""
    if level == SUPPRESSED:
        return top
    if isinstance(level, bool) or not isinstance(level, (int, np.integer)):
        raise InputError(f"the level of {name!r} is a whole number or '*', not {level!r}")
    if not 0 <= level <= top:
        raise InputError(
            f"{name!r} has the levels 0 (exact) to {top} ('*'), not {level}"
            + ("; give it a hierarchy for levels between" if top == 1 else "")
        )
    return int(level)
