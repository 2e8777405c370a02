"""What the label of each group covers of an attribute's domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.labelling import Style
from foreknow.microdata import Attribute
from foreknow.sparse import IntArray, count_pairs
from foreknow.workload.queries import BoolArray

# Runs of codes: the first of each, and the one after its last.
Runs: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Covers:
    """The distinct labels of one attribute, each as runs of codes.

    Attributes
    ----------
    of_group : int64 array, shape (groups,)
        The label of each group.
    offsets : int64 array, shape (labels + 1,)
        The runs of label i are ``offsets[i]:offsets[i + 1]`` of `starts` and `ends`.
    starts, ends : int64 arrays, shape (runs,)
    """

    of_group: IntArray
    offsets: IntArray
    starts: IntArray
    ends: IntArray

    @classmethod
    def of(cls, runs: Sequence[Runs]) -> Covers:
        """Collect the runs of each group's label."""
        place = {label: i for i, label in enumerate(dict.fromkeys(runs))}
        flat = np.array([run for label in place for run in label], dtype=np.int64).reshape(-1, 2)
        offsets = np.cumsum([0, *map(len, place)], dtype=np.int64)
        of_group = np.array([place[label] for label in runs], dtype=np.int64)
        return cls(of_group, offsets, flat[:, 0], flat[:, 1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def shares(self, asked: BoolArray) -> NDArray[np.float64]:
        """The share of each label's values that each query asks for.

        Parameters
        ----------
        asked : bool array, shape (domain, queries)

        Returns
        -------
        float64 array, shape (labels, queries)
        """
        before = np.zeros((asked.shape[0] + 1, asked.shape[1]))
        np.cumsum(asked, axis=0, out=before[1:])
        hits = before[self.ends] - before[self.starts]
        widths = (self.ends - self.starts).astype(np.float64)
        if len(widths) > len(self):
            hits = np.add.reduceat(hits, self.offsets[:-1], axis=0)
            widths = np.add.reduceat(widths, self.offsets[:-1])
        return hits / widths[:, None]


def covers_of_groups(
    attribute: Attribute,
    groups: NDArray[Any],
    n_groups: int,
    style: Style,
    floor: IntArray | None = None,
) -> Covers:
    """What groups are published as; see `foreknow.labelling.labels_of` for the parameters.

    A range covers the values of the table between its ends, and a null only if a member has one.
    """
    offsets, codes, _ = count_pairs(groups, attribute.codes, n_groups, len(attribute.domain))
    low, high = codes[offsets[:-1]], codes[offsets[1:] - 1]
    if style == "hierarchy":
        return _spans(*_nodes_of(attribute, low, high, floor))
    everything = np.zeros(n_groups, dtype=bool)
    if floor is not None:
        everything = floor >= max(1, len(attribute.ancestors))
    if style == "set":
        whole: Runs = ((0, len(attribute.domain)),)
        cells = zip(offsets[:-1].tolist(), offsets[1:].tolist(), everything.tolist(), strict=True)
        return Covers.of([whole if all_ else runs_of(codes[a:b]) for a, b, all_ in cells])
    # A null comes first, as code 0: it is not the lower end of a range.
    null_too = (low == 0) & (high > 0) & (attribute.domain[0] is None) & ~everything
    start = np.where(null_too, codes[np.minimum(offsets[:-1] + 1, offsets[1:] - 1)], low)
    start[everything], high[everything] = 0, len(attribute.domain) - 1
    return _spans(start, high + 1, null_too)


def runs_of(codes: NDArray[Any]) -> Runs:
    """Increasing codes as runs.

    >>> runs_of(np.array([0, 2, 3]))
    ((0, 1), (2, 4))
    """
    last = np.append(np.diff(codes) > 1, True)
    ends = codes[last] + 1
    starts = codes[np.append(True, last[:-1])]
    return tuple(zip(starts.tolist(), ends.tolist(), strict=True))


def _spans(starts: IntArray, ends: IntArray, null_too: BoolArray | None = None) -> Covers:
    """One run per group, and before it the null of those that have one."""
    null = np.zeros(len(starts), dtype=bool) if null_too is None else null_too
    rows = np.stack((null.astype(np.int64), starts, ends), axis=1)
    distinct, of_group = np.unique(rows, axis=0, return_inverse=True)
    runs = [((0, 1), (a, b)) if n else ((a, b),) for n, a, b in distinct.tolist()]
    found = Covers.of(runs)
    return Covers(found.of_group[of_group.reshape(-1)], found.offsets, found.starts, found.ends)


def _nodes_of(
    attribute: Attribute, low: IntArray, high: IntArray, floor: IntArray | None
) -> tuple[IntArray, IntArray]:
    """First leaf, and the one after the last, of the lowest node that may be published."""
    least = np.zeros(len(low), dtype=np.int64) if floor is None else floor
    open_ = np.ones(len(low), dtype=bool)
    starts, ends = low.copy(), high + 1
    for level, nodes in enumerate((np.arange(len(attribute.domain)), *attribute.ancestors)):
        fits = open_ & (least <= level) & (nodes[low] == nodes[high])
        node = nodes[low[fits]]
        starts[fits] = np.searchsorted(nodes, node)
        ends[fits] = np.searchsorted(nodes, node, "right")
        open_ &= ~fits
    return starts, ends
