"""Where the values of an attribute lie, with what a reader must take for possible between them.

A label such as "20 to 37" does not say which ages occur. Its reader takes every age from 20 to 37
for possible; so values lie on a line of steps, and each step is a possible value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.hierarchy import DateLevels, Intervals
from foreknow.hierarchy_files import Ordered, Tree
from foreknow.labelling import text_of
from foreknow.microdata import Attribute, Microdata
from foreknow.sparse import IntArray
from foreknow.workload.steps import Limits, Steps, date_steps, listed_steps, number_steps

# Some stretches of a line: the first step of each, and the one after its last; in order.
Stretches: TypeAlias = tuple[tuple[int, int], ...]

# A longer line is laid out with fewer steps: beyond that there is no counting in int64.
_MOST_STEPS, _FEWER = 1 << 60, 1 << 50


@dataclass(frozen=True, eq=False)
class Line:
    """The values of an attribute as steps of a line.

    Attributes
    ----------
    cells : int64 array, shape (domain,)
        The step of each value, increasing. A null lies right before the first value.
    names : tuple of sequences of str
        Level 0 and up: what the nodes of the hierarchy are called.
    nodes : tuple of int64 arrays, shape (nodes, 2)
        Level 0 and up: the first step of each node, and the one after its last.
    leaves : tuple of int64 arrays, shape (nodes, 2)
        Level 0 and up: the first code of each node, and the one after its last.
    """

    cells: IntArray
    names: tuple[Sequence[str], ...]
    nodes: tuple[IntArray, ...]
    leaves: tuple[IntArray, ...]

    @property
    def everything(self) -> Stretches:
        """From the first value to the last."""
        return ((int(self.cells[0]), int(self.cells[-1]) + 1),)

    def of_values(self, codes: NDArray[Any]) -> Stretches:
        """Just these values, by increasing codes; all values there are mean everything."""
        if len(codes) == len(self.cells):
            return self.everything
        cells = self.cells[codes]
        last = np.append(np.diff(cells) > 1, True)
        starts = cells[np.append(True, last[:-1])]
        return tuple(zip(starts.tolist(), (cells[last] + 1).tolist(), strict=True))

    @cached_property
    def by_name(self) -> dict[tuple[str, int, int], tuple[int, int]]:
        """The stretch of each node, by its name, its first code, and the one after its last."""
        found: dict[tuple[str, int, int], tuple[int, int]] = {}
        for names, nodes, leaves in zip(self.names, self.nodes, self.leaves, strict=True):
            rows = zip(names, leaves.tolist(), nodes.tolist(), strict=True)
            found.update({(name, *of): (low, end) for name, of, (low, end) in rows})
        return found


def lines_of(microdata: Microdata, attributes: Sequence[Attribute]) -> list[Line]:
    """Lay out some quasi-identifiers of a table."""
    known = microdata.schema.hierarchies
    return [line_of(attribute, known.get(attribute.name)) for attribute in attributes]


def line_of(attribute: Attribute, hierarchy: Any = None) -> Line:
    """Lay out the values of an attribute.

    Whole numbers and days are a step each, those that do not occur as well. Decimal numbers and
    times lie as far apart as they are: a step is the finest unit that any of them needs, and a
    stretch counts by its length. Every leaf that a tree or an order lists is a step. Of texts and
    of masked codes nothing tells which others there could be: those that occur are a step each.
    The line goes from the first value that occurs to the last.

    Parameters
    ----------
    attribute : Attribute
    hierarchy : Hierarchy, optional
        That of its column.

    Examples
    --------
    >>> import pyarrow as pa, foreknow as fk
    >>> rows = pa.table({"age": [20, 37, 22], "sex": ["f", "m", "x"], "s": ["a", "b", "c"]})
    >>> table = fk.Microdata(rows, fk.Schema(quasi_identifiers=["age", "sex"], sensitive="s"))
    >>> [line_of(attribute).cells.tolist() for attribute in table.attributes]
    [[0, 2, 17], [0, 1, 2]]
    """
    known = attribute.domain[int(attribute.domain[0] is None) :]
    steps, limits = _steps(attribute, known, hierarchy)
    return _laid_out(attribute, steps, limits)


def _steps(attribute: Attribute, known: Sequence[Any], hierarchy: Any) -> Steps:
    found: Steps | None = None
    if isinstance(hierarchy, (Tree, Ordered)):
        found = listed_steps(known, hierarchy)
    elif isinstance(hierarchy, Intervals):
        found = number_steps(known, hierarchy)
    elif isinstance(hierarchy, DateLevels):
        found = date_steps(known, hierarchy)
    elif hierarchy is None and attribute.order == "ordered":
        found = number_steps(known) or date_steps(known)
    return (list(range(len(known))), []) if found is None else found


def _laid_out(attribute: Attribute, steps: Sequence[int], limits: Sequence[Limits]) -> Line:
    null = int(attribute.domain[0] is None)
    start = steps[0] if steps else 0
    span = steps[-1] + 1 - start if steps else 1

    def place(step: int) -> int:
        return step - start if span <= _MOST_STEPS else (step - start) * _FEWER // span

    # Each value after the one before, whatever roundings and changing clocks did.
    rising = accumulate((place(step) - i for i, step in enumerate(steps)), max)
    own = [step + i for i, step in enumerate(rising)]
    cells = [-1] * null + own
    names: list[Sequence[str]] = [list(map(text_of, attribute.domain)), *attribute.labels]
    known: dict[tuple[str, int, int], tuple[int, int]] = {}
    nodes, leaves = [], []
    for level, of in enumerate((np.arange(len(cells)), *attribute.ancestors)):
        ends = np.cumsum(np.bincount(of)).tolist()
        codes = list(pairwise([0, *ends]))
        stretches = []
        for name, (a, b) in zip(names[level], codes, strict=True):
            low, end = cells[a], cells[b - 1] + 1
            if 0 < level <= len(limits) and a >= null:
                first, last = map(place, limits[level - 1](a - null))
                # Neither into the values of the node before, nor beyond the ends of the line.
                low = min(low, max(first, cells[a - 1] + 1)) if a else low
                end = max(end, last) if b < len(cells) else end
            # What is called alike and has the same leaves is the same to a reader.
            stretches.append(known.setdefault((name, a, b), (low, end)))
        nodes.append(np.array(stretches, dtype=np.int64))
        leaves.append(np.array(codes, dtype=np.int64))
    return Line(np.array(cells, dtype=np.int64), tuple(names), tuple(nodes), tuple(leaves))
