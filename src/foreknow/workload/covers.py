"""What the label of each group covers of an attribute's line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.labelling import Style
from foreknow.microdata import Attribute
from foreknow.sparse import IntArray, count_pairs
from foreknow.workload.lines import Line, Stretches
from foreknow.workload.queries import BoolArray


@dataclass(frozen=True, eq=False)
class Covers:
    """The distinct labels of one attribute, each as stretches of its line.

    Attributes
    ----------
    line : Line
    of_group : int64 array, shape (groups,)
        The label of each group.
    offsets : int64 array, shape (labels + 1,)
        The stretches of label i are ``offsets[i]:offsets[i + 1]`` of `starts` and `ends`.
    starts, ends : int64 arrays, shape (stretches,)
        Steps of the line.
    """

    line: Line
    of_group: IntArray
    offsets: IntArray
    starts: IntArray
    ends: IntArray

    @classmethod
    def of(cls, line: Line, labels: Sequence[Stretches]) -> Covers:
        """Collect the label of each group."""
        place = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        flat = np.array([pair for label in place for pair in label], dtype=np.int64).reshape(-1, 2)
        offsets = np.cumsum([0, *map(len, place)], dtype=np.int64)
        of_group = np.array([place[label] for label in labels], dtype=np.int64)
        return cls(line, of_group, offsets, flat[:, 0], flat[:, 1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def shares(self, asked: BoolArray) -> NDArray[np.float64]:
        """The share of each label's steps that each query asks for.

        Who asks for two values next to each other asks for what lies between them, too.

        Parameters
        ----------
        asked : bool array, shape (domain, queries)

        Returns
        -------
        float64 array, shape (labels, queries)
        """
        # In whole numbers: a sum of floats would lose a single step of a long line.
        before = np.zeros((asked.shape[0] + 1, asked.shape[1]), dtype=np.int64)
        both = asked[1:] & asked[:-1]
        gaps = np.diff(self.line.cells) - 1
        if gaps.any():
            before[2:] = both
            before[2:] *= gaps[:, None]
        before[1:] += asked
        np.cumsum(before, axis=0, out=before)
        hits = self._below(self.ends, before, both) - self._below(self.starts, before, both)
        widths = self.ends - self.starts
        if len(widths) > len(self):
            hits = np.add.reduceat(hits, self.offsets[:-1], axis=0)
            widths = np.add.reduceat(widths, self.offsets[:-1])
        found: NDArray[np.float64] = hits / widths[:, None]
        return found

    def _below(self, at: IntArray, before: IntArray, both: BoolArray) -> IntArray:
        """How many steps below some steps are asked for."""
        cells = self.line.cells
        passed = np.searchsorted(cells, at)
        found: IntArray = before[passed]
        # The part of a gap between two values that lies below.
        within = np.flatnonzero((passed > 0) & (passed < len(cells)))
        within = within[at[within] > cells[passed[within] - 1] + 1]
        last = passed[within] - 1
        found[within] += both[last] * (at[within] - cells[last] - 1)[:, None]
        return found

    def members(self) -> tuple[IntArray, IntArray]:
        """The values that labels cover: the label of each, and its code."""
        low = np.searchsorted(self.line.cells, self.starts)
        end = np.searchsorted(self.line.cells, self.ends)
        of_stretch = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        many = end - low
        skipped = np.repeat(np.cumsum(many) - many, many)
        codes = np.arange(int(many.sum())) - skipped + np.repeat(low, many)
        return np.repeat(of_stretch, many), codes


def covers_of_groups(
    attribute: Attribute,
    line: Line,
    groups: NDArray[Any],
    n_groups: int,
    style: Style,
    floor: IntArray | None = None,
) -> Covers:
    """What groups are published as; see `foreknow.labelling.labels_of` for the parameters.

    A range covers what lies between its ends, and a null only if a member has one.
    """
    offsets, codes, _ = count_pairs(groups, attribute.codes, n_groups, len(attribute.domain))
    low, high = codes[offsets[:-1]], codes[offsets[1:] - 1]
    if style == "hierarchy":
        return _spans(line, *_nodes_of(attribute, line, low, high, floor))
    everything = np.zeros(n_groups, dtype=bool)
    if floor is not None:
        everything = floor >= max(1, len(attribute.ancestors))
    if style == "set":
        cells = zip(offsets[:-1].tolist(), offsets[1:].tolist(), everything.tolist(), strict=True)
        return Covers.of(
            line,
            [line.everything if all_ else line.of_values(codes[a:b]) for a, b, all_ in cells],
        )
    # A null comes first, as code 0: it is not the lower end of a range.
    null_too = (low == 0) & (high > 0) & (attribute.domain[0] is None) & ~everything
    start = np.where(null_too, codes[np.minimum(offsets[:-1] + 1, offsets[1:] - 1)], low)
    start[everything], high[everything] = 0, len(attribute.domain) - 1
    return _spans(line, line.cells[start], line.cells[high] + 1, null_too)


def _spans(
    line: Line, starts: IntArray, ends: IntArray, null_too: BoolArray | None = None
) -> Covers:
    """One stretch per group, and before it the null of those that have one."""
    null = np.zeros(len(starts), dtype=bool) if null_too is None else null_too
    rows = np.stack((null.astype(np.int64), starts, ends), axis=1)
    distinct, of_group = np.unique(rows, axis=0, return_inverse=True)
    missing = (int(line.cells[0]), int(line.cells[0]) + 1)
    labels = [(missing, (a, b)) if n else ((a, b),) for n, a, b in distinct.tolist()]
    found = Covers.of(line, labels)
    of_group = found.of_group[of_group.reshape(-1)]
    return Covers(line, of_group, found.offsets, found.starts, found.ends)


def _nodes_of(
    attribute: Attribute, line: Line, low: IntArray, high: IntArray, floor: IntArray | None
) -> tuple[IntArray, IntArray]:
    """The stretch of the lowest node that may be published."""
    least = np.zeros(len(low), dtype=np.int64) if floor is None else floor
    open_ = np.ones(len(low), dtype=bool)
    starts, ends = line.cells[low], line.cells[high] + 1
    for level, nodes in enumerate((np.arange(len(attribute.domain)), *attribute.ancestors)):
        fits = open_ & (least <= level) & (nodes[low] == nodes[high])
        found = line.nodes[level][nodes[low[fits]]]
        starts[fits], ends[fits] = found[:, 0], found[:, 1]
        open_ &= ~fits
    return starts, ends
