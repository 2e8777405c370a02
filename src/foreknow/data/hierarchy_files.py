"""Hierarchies that list their values, orders and trees; and reading hierarchies from files.

Trees come from the usual hierarchy file (``value;level 1;level 2;...;*``), and any hierarchy from
the table that stands for it in a policy file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from foreknow.data.hierarchy import (
    DateLevels,
    FirstRow,
    Hierarchy,
    Intervals,
    Levels,
    Mask,
    exact,
    lay_out,
    listed,
    outside,
    shown,
    split_nulls,
)
from foreknow.data.sparse import IntArray
from foreknow.documents import read_text
from foreknow.errors import HierarchyError, did_you_mean
from foreknow.numbers import is_long

# Room for a million values and their levels.
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Ordered:
    """An order of categories without levels: what a range of them means, and nothing more.

    Parameters
    ----------
    values : sequence
        All values a column may have, from first to last; a null comes before them.

    Examples
    --------
    >>> Ordered(["low", "high"]).levels(["high", None, "low"], "income", lambda i: i + 1).order
    array([1, 2, 0])
    """

    values: Sequence[Any]

    def __post_init__(self) -> None:
        given = listed(self.values, "an order")
        seen = set()
        for value in given:
            if not isinstance(value, (str, int, float, Decimal, date)):
                raise HierarchyError(f"an order lists texts, numbers or dates, not {value!r}")
            if isinstance(value, int) and is_long(value):
                raise HierarchyError("an order has a number of too many digits")
            if _identity(value) in seen:
                raise HierarchyError(f"the value {shown(value)} is twice in the order")
            seen.add(_identity(value))
        object.__setattr__(self, "values", given)

    def levels(self, domain: Sequence[Any], column: str, first_row: FirstRow) -> Levels:
        """Put the values in order, with no levels; see `Hierarchy.levels`."""
        place = {_identity(value): i for i, value in enumerate(self.values)}
        nulls, present = split_nulls(domain)
        places = []
        for i in present:
            if (at := place.get(_identity(domain[i]))) is None:
                hint = did_you_mean(str(domain[i]), [str(value) for value in self.values[:1000]])
                outside(column, domain[i], first_row(i), f"it is not in the order{hint}")
            places.append(at)
        order = np.argsort(np.array(places, np.int64), kind="stable")
        return Levels(lay_out(order, present, nulls, (), column).order, (), ())

    @cached_property
    def listed(self) -> frozenset[str]:
        """The values as texts."""
        return frozenset(_texts(value)[0] for value in self.values)

    def to_dict(self) -> dict[str, Any]:
        """``{"order": [...]}``."""
        return {"order": list(self.values)}


@dataclass(frozen=True, repr=False)
class Tree:
    """Categories and the nodes above them, one row per value.

    Siblings stay together; apart from that, values and nodes come in the order in which the rows
    name them first. A column's values are matched by their text (dates in ISO format, True also
    as "true", 7.0 also as "7"); spaces around texts do not count.

    Parameters
    ----------
    rows : sequence of sequences
        Value, label at level 1, label at level 2, ...: as many in each row. Unless all rows share
        the last label, a level "*" is added; if they do, that level is labelled "*".
    path, lines : str and sequence of int, optional
        The file that the rows come from, and the line of each; see `read`.

    Examples
    --------
    >>> tree = Tree([["flu", "lung", "*"], ["cold", "lung", "*"], ["ulcer", "stomach", "*"]])
    >>> tree.levels(["ulcer", "flu"], "disease", lambda i: i + 1).labels
    (('lung', 'stomach'), ('*',))
    """

    rows: Sequence[Sequence[Any]]
    path: str | None = None
    lines: Sequence[int] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        given = [listed(row, "a row of a tree") for row in listed(self.rows, "a tree")]
        object.__setattr__(self, "lines", tuple(self.lines) or tuple(range(1, len(given) + 1)))
        if not given:
            raise HierarchyError("a tree needs at least one row: a value and its levels")
        rows = []
        for i, row in enumerate(given):
            if len(row) < 2:
                raise HierarchyError(
                    f"{self._place(i)}: needs a value and at least one level (in a file, "
                    "separated by ';', ',' or tab)"
                )
            if len(row) != len(given[0]):
                raise HierarchyError(
                    f"{self._place(i)}: {len(row)} columns, but {self._line(0)} has {len(given[0])}"
                )
            rows.append(tuple(self._cell(cell, i, level) for level, cell in enumerate(row)))
        object.__setattr__(self, "rows", tuple(rows))
        self._check()

    @classmethod
    def read(cls, path: str | Path, folder: str | Path = ".") -> Tree:
        """Read a hierarchy file; see `read_rows` for what it may look like.

        Parameters
        ----------
        path : str or Path
            The file; `to_dict` gives it as it is here.
        folder : str or Path
            Where a relative path starts.
        """
        rows, lines = read_rows(Path(folder) / path)
        return cls(rows, str(path), lines)

    def levels(self, domain: Sequence[Any], column: str, first_row: FirstRow) -> Levels:
        """Lay out values by the tree; values of the tree that do not occur leave no trace."""
        nulls, present = split_nulls(domain)
        rows = []
        for i in present:
            texts = _texts(domain[i])
            row = next((self._row_of[text] for text in texts if text in self._row_of), None)
            if row is None:
                name = "the tree" if self.path is None else f"hierarchy file {self.path!r}"
                hint = did_you_mean(texts[0], list(self._row_of)[:1000])
                outside(column, domain[i], first_row(i), f"{name} does not list it{hint}")
            rows.append(row)
        found = np.array(rows, np.int64)
        order = np.argsort(self._rank[found], kind="stable")
        leaves = found[order]
        inner = ((nodes[leaves], labels.__getitem__) for nodes, labels in self._nodes)
        return lay_out(order, present, nulls, inner, column)

    def to_dict(self) -> dict[str, Any]:
        """``{"file": path}`` when read from a file, ``{"rows": [...]}`` otherwise."""
        if self.path is not None:
            return {"file": self.path}
        return {"rows": [list(row) for row in self.rows]}

    def __repr__(self) -> str:
        source = "" if self.path is None else f" from {self.path!r}"
        return f"Tree({len(self._row_of)} values, {len(self._nodes) + 1} levels{source})"

    @cached_property
    def listed(self) -> frozenset[str]:
        """The values as texts."""
        return frozenset(self._row_of)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        """The row of each value."""
        return {row[0]: i for i, row in enumerate(self.rows)}

    @cached_property
    def _nodes(self) -> list[tuple[IntArray, list[str]]]:
        """For each level below the top: the node of each row, and the labels of the nodes."""
        columns = list(zip(*self.rows, strict=True))[1:]
        if len(set(columns[-1])) == 1:
            columns.pop()
        made = []
        for column in columns:
            codes: dict[str, int] = {}
            nodes = [codes.setdefault(label, len(codes)) for label in column]
            made.append((np.array(nodes, np.int64), list(codes)))
        return made

    @cached_property
    def _rank(self) -> IntArray:
        """Place of each row in leaf order."""
        keys = [np.arange(len(self.rows)), *(nodes for nodes, _ in self._nodes)]
        rank = np.empty(len(self.rows), np.int64)
        rank[np.lexsort(keys)] = np.arange(len(self.rows))
        return rank

    def _line(self, row: int) -> str:
        return f"{'row' if self.path is None else 'line'} {self.lines[row]}"

    def _place(self, row: int) -> str:
        start = "" if self.path is None else f"hierarchy file {self.path!r}, "
        return start + self._line(row)

    def _cell(self, cell: Any, row: int, level: int) -> str:
        if not isinstance(cell, (str, int, float, Decimal, date)):
            raise HierarchyError(f"{self._place(row)}: {cell!r} is neither text nor number")
        if isinstance(cell, int) and is_long(cell):
            raise HierarchyError(f"{self._place(row)}: a number of too many digits")
        text = _texts(cell)[0].strip()
        if level and not text:
            raise HierarchyError(f"{self._place(row)}: there is no label for level {level}")
        return text

    def _check(self) -> None:
        """Each value has one row, or equal ones; each node has one parent."""
        values: dict[str, int] = {}
        parents: dict[tuple[int, str], int] = {}
        for i, row in enumerate(self.rows):
            first = values.setdefault(row[0], i)
            if row != self.rows[first]:
                raise HierarchyError(
                    f"{self._place(i)}: the value {row[0]!r} is already in {self._line(first)}, "
                    "with other ancestors"
                )
            for level in range(1, len(row) - 1):
                first = parents.setdefault((level, row[level]), i)
                other = self.rows[first][level + 1]
                if row[level + 1] != other:
                    raise HierarchyError(
                        f"{self._place(i)}: {row[level]!r} of level {level} lies in "
                        f"{row[level + 1]!r} here, but in {other!r} in {self._line(first)}"
                    )


def read_rows(path: Path) -> tuple[list[list[str]], list[int]]:
    """Read the cells of a hierarchy file, and the line that each row starts in.

    The delimiter (``;``, tab or ``,``: the first of them that the first line has outside quotes)
    is found, not asked for. Cells may be quoted, spaces around them do not count, and blank lines
    are skipped.
    """
    name = f"hierarchy file {str(path)!r}"
    text = read_text(path, _MOST_BYTES, HierarchyError, name)
    head = next((line for line in text.splitlines() if line.strip()), None)
    if head is None:
        raise HierarchyError(f"{name} is empty; it needs rows like 'value;level 1;*'")
    unquoted = "".join(head.split('"')[::2])
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=next((mark for mark in ";\t," if mark in unquoted), ";"),
        skipinitialspace=True,
        strict=True,  # otherwise a quote that is never closed swallows the rest in silence
    )
    rows, lines, line = [], [], 1
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if len(cells) > 1 or any(cells):
                rows.append(cells)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise HierarchyError(f"{name}, line {line}: {error}; check the quotes") from None
    return rows, lines


def hierarchy_from(spec: Mapping[str, Any], column: str, folder: Path) -> Hierarchy:
    """Make the hierarchy of a column from its table in a policy file.

    Examples
    --------
    >>> hierarchy_from({"intervals": [5, 10]}, "age", Path("."))
    Intervals(widths=(5, 10), origin=0)
    """
    makers: dict[str, Callable[..., Hierarchy]] = {
        "intervals": Intervals,
        "mask": Mask,
        "dates": DateLevels,
        "order": Ordered,
        "file": lambda path: _read_tree(path, folder),
        "rows": Tree,
    }
    companions = {"origin": "intervals", "character": "mask"}
    where = f"the hierarchy of column {column!r}"
    if not isinstance(spec, Mapping):
        raise HierarchyError(f"{where} must be a table like {{ mask = 5 }}, not {spec!r}")
    for key in spec:
        if key not in makers and key not in companions:
            hint = did_you_mean(str(key), [*makers, *companions])
            raise HierarchyError(f"{where} has an unknown key {key!r}{hint}")
    kinds = [key for key in spec if key in makers]
    if len(kinds) != 1:
        found = " and ".join(repr(kind) for kind in kinds) or "none of them"
        raise HierarchyError(f"{where} needs exactly one of {', '.join(makers)}; it has {found}")
    kind = kinds[0]
    options = {key: value for key, value in spec.items() if key != kind}
    for key in options:
        if companions[key] != kind:
            raise HierarchyError(f"{where}: {key!r} goes with {companions[key]!r}, not {kind!r}")
    try:
        return makers[kind](spec[kind], **options)
    except HierarchyError as error:
        keys = " and ".join(repr(key) for key in [kind, *options])
        raise HierarchyError(f"column {column!r}, {keys}: {error}") from None


def _read_tree(path: Any, folder: Path) -> Tree:
    if not isinstance(path, (str, Path)):
        raise HierarchyError(f"a path must be text, not {path!r}")
    return Tree.read(path, folder)


def _texts(value: Any) -> list[str]:
    """The texts by which a tree may list a value; the first is the usual one.

    >>> _texts(7.0), _texts(True)
    (['7.0', '7'], ['True', 'true'])
    """
    if isinstance(value, bool):
        return [str(value), str(value).lower()]
    if isinstance(value, datetime):
        return [value.isoformat(), value.isoformat(" ")]
    if isinstance(value, date):
        return [value.isoformat()]
    if isinstance(value, float) and value.is_integer():
        return [str(value), str(int(value))]
    return [str(value).strip()]


def _identity(value: Any) -> tuple[bool, Any]:
    """What makes values the same: 1, 1.0 and Decimal(1) are, True is not."""
    if isinstance(value, (float, Decimal)):
        value = exact(value)
    return isinstance(value, bool), value
