"""How the values of one column coarsen: intervals, masks, dates, orders and trees.

A hierarchy lays the distinct values of a column out in *leaf order*, in which the values of every
node stand side by side, and names the node of each value at each level. Everything after that is
integer arrays. Trees come from the usual hierarchy file (``value;level 1;level 2;...;*``), and any
hierarchy from the table that stands for it in a policy file.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import MAXYEAR, date, datetime, time
from decimal import Decimal
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foreknow.data.arrays import IntArray
from foreknow.errors import HierarchyError, did_you_mean, refuse_other_type
from foreknow.numbers import decimal_text, floor_of
from foreknow.shown_numbers import common_unit, read_moment
from foreknow.toml import read_text
from foreknow_judge.numbers import USUAL_DIGITS, exact, is_long, read_number

Number: TypeAlias = int | float | Decimal | str
FirstRow: TypeAlias = Callable[[int], int] | None
Level: TypeAlias = tuple[NDArray[Any], Callable[[Any], str]]
Refusal: TypeAlias = Callable[[int, str], NoReturn]

_MISSING = "missing"
# A hint on codes that became numbers, as pandas and Polars make them of a CSV file.
_LOST_ZEROS = (
    "; codes that begin with zeros lose them as numbers: read the column as texts, by "
    "pd.read_csv(path, dtype={{column}: str}), fk.read_csv(path), or give the path itself"
)
_TOP = "*"
_PERIODS: dict[str, Callable[[int], str]] = {  # from fine to coarse: what labels its numbers
    "hour": lambda n: f"{date.fromordinal(n // 24)} {n % 24:02d}h" if n > 23 else f"{n:02d}h",
    "day": lambda n: date.fromordinal(n).isoformat() if n else "00h to 23h",  # of times of day
    "month": lambda n: f"{n // 12:04d}-{n % 12 + 1:02d}",
    "quarter": lambda n: f"{n // 4:04d}-Q{n % 4 + 1}",
    "year": lambda n: f"{n:04d}",
    "decade": lambda n: f"{n * 10:04d}s",
    "century": lambda n: f"{n * 100:04d} to {n * 100 + 99:04d}",
}
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_MOST_BYTES = 64 << 20  # of a file: room for a million values and their levels


@dataclass(frozen=True, eq=False)
class Levels:
    """The values of one column in leaf order, and their node at levels 1, 2, ...

    Along the leaves nodes never decrease; they are numbered from 0 without gaps. The last level
    is one node, labelled "*".
    """

    order: IntArray  # positions in the given domain
    ancestors: tuple[IntArray, ...]  # by level: the node of each leaf
    labels: tuple[tuple[str, ...], ...]  # by level: the label of each node


class Hierarchy(Protocol):
    """Anything that lays out a column and can be written to a policy file."""

    def levels(self, domain: Sequence[Any], column: str, first_row: FirstRow) -> Levels:
        """Lay out the distinct values of a column.

        Parameters
        ----------
        domain : sequence
            The distinct values; None is a null. They do not decide how many levels there are.
        column : str
            Its name, for messages.
        first_row : function of a position in the domain, or None
            Gives the first row with that value, from 1, for messages.

        Raises
        ------
        HierarchyError
            For a value that is outside the hierarchy.
        """

    def to_dict(self) -> dict[str, Any]:
        """The table that stands for this hierarchy in a policy file; see `hierarchy_from`."""


class _HierarchyKind:
    """The base of hierarchies: nulls are one node, and the top level is one node.

    A kind of hierarchy only says how values that are not missing lie; see `_order_and_levels`.
    """

    def _order_and_levels(
        self, values: list[Any], refuse: Refusal
    ) -> tuple[ArrayLike, Iterable[Level]]:
        """The order of values that are not missing, as positions; and the levels above them.

        A level is a key for the node of each value, in this order, and a function from a key to the
        name of the node. `refuse` raises the error of the value at a position.
        """
        raise NotImplementedError

    def levels(self, domain: Sequence[Any], column: str, first_row: FirstRow) -> Levels:
        """Lay out the distinct values of a column; see `Hierarchy.levels`.

        In the order that comes out (leaf order) values of every node, at every level, stand side by
        side.
        """
        nulls = [i for i, value in enumerate(domain) if value is None]
        not_missing = [i for i, value in enumerate(domain) if value is not None]

        def refuse(i: int, why: str) -> NoReturn:
            """Raise `HierarchyError` for the value at a position among those not missing."""
            value = domain[not_missing[i]]
            why = why.replace("{column}", json.dumps(column, ensure_ascii=False))
            row = "" if first_row is None else f" (first in row {first_row(not_missing[i])})"
            raise HierarchyError(
                f"column {column!r}: the value {shown(value)}{row} is outside its hierarchy: {why}"
            )

        order, inner_levels = self._order_and_levels([domain[i] for i in not_missing], refuse)
        # Nulls come first, and are a node of their own at each level.
        leaves = np.array(nulls + [not_missing[i] for i in np.asarray(order).tolist()], np.int64)
        ancestors, labels = [], []
        for level, (keys, name_of_key) in enumerate(inner_levels, 1):
            # Values of a node stand side by side: a new node begins where the key changes.
            is_first = np.ones(len(keys), dtype=bool)
            is_first[1:] = keys[1:] != keys[:-1]
            nodes = np.cumsum(is_first, dtype=np.int64) - 1
            names = [name_of_key(key) for key in keys[is_first].tolist()]
            if nulls:
                if _MISSING in names:
                    raise HierarchyError(
                        f"column {column!r}: level {level} has a node {_MISSING!r}, which is the "
                        "label of nulls; give that node another name"
                    )
                nodes = np.concatenate((np.zeros(len(nulls), np.int64), nodes + 1))
                names.insert(0, _MISSING)
            ancestors.append(nodes)
            labels.append(tuple(names))
        top = np.zeros(len(leaves), np.int64)
        return Levels(leaves, (*ancestors, top), (*labels, (_TOP,)))


@dataclass(frozen=True)
class Intervals(_HierarchyKind):
    """Numbers in intervals of growing width, aligned at an origin.

    Arithmetic is decimal and exact. A float stands for the decimal that it prints as: 0.3 lies in
    "0.3 to <0.4", not below it. If origin, widths and all values are whole numbers, labels read
    "20 to 24" (or "20" for a width of 1).

    Parameters
    ----------
    widths : sequence of int, float, Decimal or text such as "0.5"
        Width at level 1, 2, ...: above 0, increasing, each a whole multiple of the one before.
    origin : int, float, Decimal or text
        A number at which an interval of every width starts.

    Examples
    --------
    >>> Intervals([5, 20]).levels([27, 3, 24], "age", lambda i: i + 1).labels
    (('0 to 4', '20 to 24', '25 to 29'), ('0 to 19', '20 to 39'), ('*',))
    """

    widths: Sequence[Number]
    origin: Number = 0

    def __post_init__(self) -> None:
        """Raise `HierarchyError` unless each width is a larger multiple of the one before."""
        written_widths = [_as_in_policy(width) for width in listed(self.widths, "interval widths")]
        object.__setattr__(self, "widths", tuple(written_widths))
        object.__setattr__(self, "origin", _as_in_policy(self.origin))
        if not written_widths:
            raise HierarchyError("intervals need at least one width")
        # In whole numbers of a common decimal place, so that remainders are exact.
        _, _, widths = self._in_units()
        for i, width in enumerate(widths):
            if width <= 0:
                raise HierarchyError(f"an interval width must be above 0, not {written_widths[i]}")
            if i and width <= widths[i - 1]:
                raise HierarchyError(
                    f"interval widths must increase: {written_widths[i]} comes after "
                    f"{written_widths[i - 1]}"
                )
            if i and width % widths[i - 1]:
                raise HierarchyError(
                    f"intervals must nest: {written_widths[i]} is not a multiple of "
                    f"{written_widths[i - 1]}"
                )

    def _in_units(self) -> tuple[int, int, list[int]]:
        """The decimal places of the smallest unit needed; and origin and widths in that unit."""
        numbers = [to_decimal(self.origin, "the origin")]
        numbers += [to_decimal(width, "an interval width") for width in self.widths]
        decimals, (origin, *widths) = common_unit(numbers)
        return decimals, origin, widths

    def _order_and_levels(
        self, values: list[Any], refuse: Refusal
    ) -> tuple[ArrayLike, Iterable[Level]]:
        """The order of numbers, and for each width the interval of each number, and its label.

        Labels read "20 to <25"; or "20 to 24", or "20", if all numbers are whole.
        """
        decimals, origin, widths = self._in_units()
        numbers, are_whole = values, all(type(value) is int for value in values)
        if not are_whole:
            for i, value in enumerate(values):
                problem = not_a_number(value)
                if problem is not None:
                    refuse(i, problem)
        # Labels of whole numbers include their end: "20 to 24".
        units, is_inclusive = numbers, are_whole and decimals == 0
        if not is_inclusive:
            # Intervals begin at whole multiples of the unit, so rounding down to it moves no number
            # into another interval.
            numbers = [exact(value) for value in numbers]
            units = [floor_of(number, decimals) for number in numbers]
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        # The number of each value's narrowest interval, counted from the origin.
        finest_cells = integers([(units[i] - origin) // widths[0] for i in order])
        if widths[-1] // widths[0] >= 2**62:  # beyond int64: divide Python's integers
            finest_cells = finest_cells.astype(object)

        def name_of(width: int, cell: int) -> str:
            """The label of an interval, by its width and its number from the origin."""
            low, end = origin + cell * width, origin + (cell + 1) * width
            if not is_inclusive:
                return f"{decimal_text(low, decimals)} to <{decimal_text(end, decimals)}"
            return f"{low} to {end - 1}" if width > 1 else str(low)

        # Coarser intervals are made of whole finer ones.
        levels = []
        for width in widths:
            levels.append((finest_cells // (width // widths[0]), partial(name_of, width)))
        return order, levels

    def to_dict(self) -> dict[str, Any]:
        """``{"intervals": [...]}``, and the origin unless it is 0."""
        start = {} if self.origin == 0 else {"origin": self.origin}
        return {"intervals": list(self.widths), **start}


@dataclass(frozen=True)
class Mask(_HierarchyKind):
    """Codes of one length, whose last j characters level j masks; the last level is "*".

    Parameters
    ----------
    length : int
        Number of characters of every value.
    character : str
        The character that replaces a masked one.

    Examples
    --------
    >>> Mask(3).levels(["127", "131"], "zip", lambda i: i + 1).labels
    (('12*', '13*'), ('1**',), ('*',))
    """

    length: int
    character: str = "*"

    def __post_init__(self) -> None:
        """Raise `HierarchyError` unless the length is a number from 1, and the character is one."""
        if not isinstance(self.length, int) or isinstance(self.length, bool) or self.length < 1:
            raise HierarchyError(
                f"a mask length must be a whole number from 1, not {self.length!r}"
            )
        # Python refuses to print numbers of very many digits.
        if is_long(self.length):
            raise HierarchyError("a mask length of too many digits")
        if not isinstance(self.character, str) or len(self.character) != 1:
            raise HierarchyError(
                f"the character of a mask must be one character of text, not {self.character!r}"
            )

    def _order_and_levels(
        self, values: list[Any], refuse: Refusal
    ) -> tuple[ArrayLike, Iterable[Level]]:
        """The order of codes, and for each level what is not masked of each code, and its label."""
        for i, value in enumerate(values):
            if not isinstance(value, (str, int)) or isinstance(value, bool):
                refuse(i, "a mask needs text or whole numbers")
            if len(str(value)) != self.length:
                characters = f"{self.length} character{'s' * (self.length > 1)}"
                may_lack_zeros = isinstance(value, int) and len(str(value)) < self.length
                hint = _LOST_ZEROS if may_lack_zeros else ""
                refuse(i, f"a mask of {self.length} needs {characters}{hint}")
        # In the order of texts, values with the same beginning stand side by side.
        texts = list(map(str, values))
        order = sorted(range(len(texts)), key=texts.__getitem__)

        def level(n_kept: int) -> Level:
            """The first `n_kept` characters of each code, and a function that adds the mask."""
            masked = self.character * (self.length - n_kept)
            return objects([texts[i][:n_kept] for i in order]), lambda prefix: prefix + masked

        return order, (level(n_kept) for n_kept in range(self.length - 1, 0, -1))

    def to_dict(self) -> dict[str, Any]:
        """``{"mask": length}``, and the character unless it is ``*``."""
        character = {} if self.character == "*" else {"character": self.character}
        return {"mask": self.length, **character}


@dataclass(frozen=True, init=False, repr=False)
class DateLevels(_HierarchyKind):
    """Levels of dates and date-times by calendar period, in the time zone they are written in.

    Parameters
    ----------
    levels : sequence of {"hour", "day", "month", "quarter", "year", "decade", "century"}
        The periods of levels 1, 2, ..., from fine to coarse; some may be left out. The attribute is
        called `periods`. Times of day have hours and days only.

    Examples
    --------
    >>> DateLevels(["quarter", "decade"]).levels(["2024-03-05"], "born", lambda i: 1).labels
    (('2024-Q1',), ('2020s',), ('*',))
    """

    periods: tuple[str, ...]

    def __init__(self, levels: Sequence[str] = ("month", "quarter", "year", "decade")) -> None:
        """Take the periods; `HierarchyError` unless each is coarser than the one before."""
        periods, all_periods = listed(levels, "date levels"), list(_PERIODS)
        if not periods:
            raise HierarchyError(f"date levels need at least one of {', '.join(all_periods)}")
        for period in periods:
            if period == "week":
                raise HierarchyError("weeks do not nest in months: leave 'week' out, or use 'day'")
            if period not in all_periods:
                hint = did_you_mean(str(period), all_periods)
                raise HierarchyError(f"there is no date level {period!r}{hint}")
        for finer, coarser in pairwise(periods):
            if all_periods.index(finer) >= all_periods.index(coarser):
                raise HierarchyError(f"date levels must coarsen: {coarser!r} comes after {finer!r}")
        object.__setattr__(self, "periods", periods)

    def __repr__(self) -> str:
        return f"DateLevels(levels={self.periods!r})"

    def _order_and_levels(
        self, values: list[Any], refuse: Refusal
    ) -> tuple[ArrayLike, Iterable[Level]]:
        """The order of moments, and for each level the number of each period, and its label."""
        moments: list[datetime] = []
        for i, value in enumerate(values):
            is_time = isinstance(value, time) and {"hour", "day"}.issuperset(self.periods)
            moment = datetime.combine(date.min, value) if is_time else read_moment(value)
            if moment is None:
                refuse(i, "date levels need dates, date-times or text like 2024-03-05")
            moments.append(moment)
        order = sorted(range(len(moments)), key=moments.__getitem__)
        # Times of day get the day 0, so that hours are 0 to 23.
        are_times = bool(values) and isinstance(values[0], time)
        days = np.array([moments[i].toordinal() - are_times for i in order], np.int64)
        hours = days * 24 + np.array([moments[i].hour for i in order], np.int64)
        months = np.array([moments[i].year * 12 + moments[i].month - 1 for i in order], np.int64)
        numbers = {"hour": hours, "day": days}
        numbers |= {period: months // n_months for period, n_months in MONTHS.items()}
        return order, ((numbers[period], _PERIODS[period]) for period in self.periods)

    def to_dict(self) -> dict[str, Any]:
        """``{"dates": [...]}``."""
        return {"dates": list(self.periods)}


@dataclass(frozen=True)
class Ordered(_HierarchyKind):
    """An order of categories without levels, which gives ranges of them a meaning.

    Parameters
    ----------
    values : sequence
        All values that a column may have, from first to last; a null comes before them. Numbers
        and dates may be written as texts.

    Examples
    --------
    >>> Ordered(["low", "high"]).levels(["high", None, "low"], "income", lambda i: i + 1).order
    array([1, 2, 0])
    """

    values: Sequence[Any]

    def __post_init__(self) -> None:
        """Raise `HierarchyError` unless the values are texts, numbers or dates, each once."""
        values = listed(self.values, "an order")
        identities = set()
        for value in values:
            if not isinstance(value, (str, int, float, Decimal, date)):
                raise HierarchyError(f"an order lists texts, numbers or dates, not {value!r}")
            if isinstance(value, int) and is_long(value):
                raise HierarchyError("an order has a number of too many digits")
            if _identity(value) in identities:
                raise HierarchyError(f"the value {shown(value)} is twice in the order")
            identities.add(_identity(value))
        object.__setattr__(self, "values", values)

    def levels(self, domain: Sequence[Any], column: str, first_row: FirstRow) -> Levels:
        """The values in order, without any levels, even a top one; see `Hierarchy.levels`."""
        return Levels(super().levels(domain, column, first_row).order, (), ())

    def _order_and_levels(
        self, values: list[Any], refuse: Refusal
    ) -> tuple[ArrayLike, Iterable[Level]]:
        """The order of the values by their rank in the list; there are no levels."""
        rank_of_value = {_identity(value): i for i, value in enumerate(self.values)}
        rank_of_text = {value: i for i, value in enumerate(self.values) if isinstance(value, str)}
        ranks = np.empty(len(values), np.int64)
        for position, value in enumerate(values):
            # The list may have the value itself, or a text that stands for it.
            ranks_of_texts = (
                rank_of_text[text] for text in _texts_of_value(value) if text in rank_of_text
            )
            rank = rank_of_value.get(_identity(value), next(ranks_of_texts, None))
            if rank is None:
                texts = [str(value) for value in self.values[:1000]]
                hint = did_you_mean(str(value), texts)
                if str(value) in texts:
                    hint = " as a text, but as a number or date: write the values there in quotes"
                refuse(position, f"it is not in the order{hint}")
            ranks[position] = rank
        return np.argsort(ranks, kind="stable"), ()

    @cached_property
    def listed(self) -> frozenset[str]:
        """The values as texts."""
        return frozenset(_texts_of_value(value)[0] for value in self.values)

    def to_dict(self) -> dict[str, Any]:
        """``{"order": [...]}``."""
        return {"order": list(self.values)}


@dataclass(frozen=True, repr=False)
class Tree(_HierarchyKind):
    """A hierarchy of categories and the nodes above them, with one row per value.

    Values and nodes are in the order in which the rows first name them, except that siblings stay
    together. Values of a column are matched by their text (dates in ISO format, True also as
    "true", 7.0 also as "7"), without the spaces around it.

    Parameters
    ----------
    rows : sequence of sequences
        Rows of equal length: value, label at level 1, label at level 2, ... If all rows share the
        last label, that level is labelled "*"; if not, a level "*" is added.
    path, lines : str and sequence of int, optional
        The file of the rows, and the line of each row; see `read`.

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
        """Read the cells as texts; `HierarchyError` unless all rows have as many, two at least."""
        source_rows = [listed(row, "a row of a tree") for row in listed(self.rows, "a tree")]
        object.__setattr__(
            self, "lines", tuple(self.lines) or tuple(range(1, len(source_rows) + 1))
        )
        if not source_rows:
            raise HierarchyError("a tree needs at least one row: a value and its levels")
        # Every cell becomes a text; all rows must be as long as the first.
        rows = []
        for i, row in enumerate(source_rows):
            if len(row) < 2:
                raise HierarchyError(
                    f"{self._place(i)}: needs a value and at least one level (in a file, "
                    "separated by ';', ',' or tab)"
                )
            if len(row) != len(source_rows[0]):
                raise HierarchyError(
                    f"{self._place(i)}: {len(row)} columns, but {self._line(0)} has "
                    f"{len(source_rows[0])}"
                )
            rows.append(tuple(self._cell(cell, i, level) for level, cell in enumerate(row)))
        object.__setattr__(self, "rows", tuple(rows))
        self._refuse_contradictions()

    @classmethod
    def read(cls, path: str | Path, folder: str | Path = ".") -> Tree:
        """Read a hierarchy file; `read_rows` describes its format.

        Parameters
        ----------
        path : str or Path
            The file; `to_dict` returns this path unchanged.
        folder : str or Path
            The folder to which a relative path refers.
        """
        refuse_other_type(path, (str, Path), "a path", error=HierarchyError)
        rows, lines = read_rows(Path(folder) / path)
        return cls(rows, str(path), lines)

    from_csv = from_file = load = read

    def _order_and_levels(
        self, values: list[Any], refuse: Refusal
    ) -> tuple[ArrayLike, Iterable[Level]]:
        """The order of the values, and for each level the node of each value, and its label."""
        rows = []
        for i, value in enumerate(values):
            texts = _texts_of_value(value)
            row = next((self._row_of[text] for text in texts if text in self._row_of), None)
            if row is None:
                name = "the tree" if self.path is None else f"hierarchy file {self.path!r}"
                hint = did_you_mean(texts[0], list(self._row_of)[:1000])
                refuse(i, f"{name} does not list it{hint}")
            rows.append(row)
        # Values in leaf order, in which those of every node stand side by side.
        row_numbers = np.array(rows, np.int64)
        order = np.argsort(self._rank[row_numbers], kind="stable")
        leaves = row_numbers[order]
        # For each level, a value's key is the node of its row, and the label of a node its name.
        return order, ((nodes[leaves], labels.__getitem__) for nodes, labels in self._nodes)

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
            # All rows share the last label: that is the top, which every hierarchy has.
            columns.pop()
        levels = []
        for column in columns:
            codes: dict[str, int] = {}
            nodes = [codes.setdefault(label, len(codes)) for label in column]
            levels.append((np.array(nodes, np.int64), list(codes)))
        return levels

    @cached_property
    def _rank(self) -> IntArray:
        """The place of each row in leaf order: rows of a node stand side by side."""
        keys = [np.arange(len(self.rows)), *(nodes for nodes, _ in self._nodes)]
        leaf_order = np.lexsort(keys)  # by the last key first, which is the coarsest level
        rank = np.empty(len(self.rows), np.int64)
        rank[leaf_order] = np.arange(len(self.rows))
        return rank

    def _line(self, row: int) -> str:
        """The number of a row, or of its line in the file, in words."""
        return f"{'row' if self.path is None else 'line'} {self.lines[row]}"

    def _place(self, row: int) -> str:
        """The file and line of a row, in words."""
        start = "" if self.path is None else f"hierarchy file {self.path!r}, "
        return start + self._line(row)

    def _cell(self, cell: Any, row: int, depth: int) -> str:
        """A cell of the tree as text; `HierarchyError` for one that is none, or without a label.

        `row` and `depth` say where the cell is; the value itself is at depth 0.
        """
        if not isinstance(cell, (str, int, float, Decimal, date)):
            raise HierarchyError(f"{self._place(row)}: {cell!r} is neither text nor number")
        if isinstance(cell, int) and is_long(cell):
            raise HierarchyError(f"{self._place(row)}: a number of too many digits")
        text = _texts_of_value(cell)[0].strip()
        if depth and not text:
            raise HierarchyError(f"{self._place(row)}: there is no label for level {depth}")
        return text

    def _refuse_contradictions(self) -> None:
        """Raise `HierarchyError` for a value in two different rows, or a node with two parents."""
        values: dict[str, int] = {}
        parents: dict[tuple[int, str], int] = {}
        for i, row in enumerate(self.rows):
            # The first row that names the value, with which all others must agree.
            first = values.setdefault(row[0], i)
            if row != self.rows[first]:
                raise HierarchyError(
                    f"{self._place(i)}: the value {row[0]!r} is already in {self._line(first)}, "
                    "with other ancestors"
                )
            for level in range(1, len(row) - 1):
                # The same for each node and the node above it.
                first = parents.setdefault((level, row[level]), i)
                parent = self.rows[first][level + 1]
                if row[level + 1] != parent:
                    raise HierarchyError(
                        f"{self._place(i)}: {row[level]!r} of level {level} lies in "
                        f"{row[level + 1]!r} here, but in {parent!r} in {self._line(first)}"
                    )


# ---- files and policies ------------------------------------------------------------------


def read_rows(path: Path) -> tuple[list[list[str]], list[int]]:
    """Read the cells of a hierarchy file, and the line that each row starts in.

    The delimiter is the first of ``;``, tab and ``,`` that the first line has outside quotes.
    """
    name = f"hierarchy file {str(path)!r}"
    text = read_text(path, _MOST_BYTES, HierarchyError, name)
    header = next((line for line in text.splitlines() if line.strip()), None)
    if header is None:
        raise HierarchyError(f"{name} is empty; it needs rows like 'value;level 1;*'")
    unquoted = "".join(header.split('"')[::2])  # every other part stands outside quotes
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

    >>> hierarchy_from({"intervals": [5, 10]}, "age", Path("."))
    Intervals(widths=(5, 10), origin=0)
    """
    makers: dict[str, Callable[..., Hierarchy]] = {
        "intervals": Intervals,
        "mask": Mask,
        "dates": DateLevels,
        "order": Ordered,
        "file": lambda path: Tree.read(path, folder),
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
    # Exactly one key says the kind of hierarchy; others are options of it.
    kinds = [key for key in spec if key in makers]
    if len(kinds) != 1:
        named_kinds = " and ".join(repr(kind) for kind in kinds) or "none of them"
        raise HierarchyError(
            f"{where} needs exactly one of {', '.join(makers)}; it has {named_kinds}"
        )
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


def _texts_of_value(value: Any) -> list[str]:
    """The texts by which a tree may list a value; the first is the usual one.

    >>> _texts_of_value(7.0), _texts_of_value(True)
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
    """The identity of a value: 1, 1.0 and Decimal(1) are equal, True is different."""
    if isinstance(value, (float, Decimal)):
        value = exact(value)
    return isinstance(value, bool), value


# ---- what hierarchies share ---------------------------------------------------------------


def shown(value: Any) -> str:
    """A value as messages show it: texts in quotes, the rest as printed.

    >>> print(shown("7"), shown(Decimal("7.50")))
    '7' 7.50
    """
    return repr(value) if isinstance(value, str) else str(value)


def listed(value: Any, what: str) -> tuple[Any, ...]:
    """The members of a list; a text, table or set is not one."""
    if isinstance(value, (str, bytes, Mapping, Set)) or not isinstance(value, Iterable):
        raise HierarchyError(f"{what} must be a list, not {value!r}")
    return tuple(value)


def _as_in_policy(number: Number) -> Number:
    """A number as a policy file can hold it: decimals as text."""
    if isinstance(number, int) and is_long(number):
        raise HierarchyError("intervals: a number of too many digits")
    return str(number) if isinstance(number, Decimal) else number


def period_of(period: str, hour: int) -> tuple[int, int]:
    """The first hour of a calendar period, and the hour after its last; `hour` is any of its hours.

    Hours are counted from the day 0 of Python's ordinals.
    """
    if period == "hour":
        return hour, hour + 1
    day, months = hour // 24, MONTHS.get(period)
    if months is None:
        return day * 24, day * 24 + 24
    calendar_day = date.fromordinal(day)
    # Months are counted from the year 0, and periods of several months begin at their multiples.
    first = (calendar_day.year * 12 + calendar_day.month - 1) // months * months
    return _first_of(first) * 24, _first_of(first + months) * 24


def _first_of(month: int) -> int:
    """The ordinal of the first day of a month, which is counted from the year 0.

    Months before or after Python's calendar have its first day, or the day after its last.
    """
    year, month = divmod(month, 12)
    if year < 1:
        return 1
    if year > MAXYEAR:
        return date.max.toordinal() + 1
    return date(year, month + 1, 1).toordinal()


# ---- numbers -----------------------------------------------------------------------------


def to_decimal(value: Any, what: str) -> Decimal:
    """Read a number, or the text of one; `what` names it in messages."""
    number = read_number(value.strip() if isinstance(value, str) else value)
    if number is None:
        raise HierarchyError(f"{what} must be a number of usual size, not {value!r}")
    return Decimal(number)


def not_a_number(value: Any) -> str | None:
    """The reason why a value of a column cannot lie in an interval; None if it can."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return "intervals need numbers"
    if isinstance(value, int):
        return None
    number = exact(value)
    if not number.is_finite():
        return "intervals need finite numbers"
    return "it is too large" if number and number.adjusted() > USUAL_DIGITS else None


def integers(values: Sequence[int]) -> NDArray[Any]:
    """Whole numbers as int64 if they fit, else as Python's own in an array of objects."""
    largest = max(map(abs, values), default=0)
    return np.array(values, np.int64) if largest < 2**62 else objects(values)


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """An array of the very objects, which NumPy neither rounds nor cuts."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
