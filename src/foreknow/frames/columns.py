"""Encode a column: small integer codes, and its distinct values once, in order."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.errors import DataError
from foreknow.frames.plain import plain, to_python, unified
from foreknow.sparse import IntArray

Kind: TypeAlias = Literal["number", "date", "text"]
Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]

# Digits are 0 to 9: others print differently, and would be merged with these.
_WHOLE = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Column:
    """A column as codes into its sorted distinct values.

    Attributes
    ----------
    name : str
    codes : unsigned integer array, shape (rows,)
        As narrow as the number of values allows.
    domain : list
        The distinct values, ascending; None (a null) first where there is one.
    kind : {"number", "date", "text"}
        Whether the order of the domain means something (number, date) or not (text).
    """

    name: str
    codes: Codes
    domain: list[Any]
    kind: Kind

    @property
    def has_null(self) -> bool:
        """Whether the column holds a null; its code is then 0."""
        return bool(self.domain) and self.domain[0] is None

    def first_row(self, code: int) -> int:
        """First row, counted from 1, that holds a value."""
        return int(np.argmax(self.codes == code)) + 1


def encode(
    name: str,
    array: pa.ChunkedArray,
    *,
    untyped: bool = False,
    declared: Kind | None = None,
    positions: IntArray | None = None,
) -> Column:
    """Encode a column.

    Parameters
    ----------
    name : str
        For messages.
    array : pyarrow.ChunkedArray
    untyped : bool
        The texts come from a file without types: a column is of whole numbers, decimal numbers
        or dates if all its texts are; ``007`` is not a number but a code.
    declared : {"number", "date", "text"}, optional
        The type that the schema gives the column.
    positions : int64 array, shape (rows,), optional
        Where the rows are in the source, for messages.

    Raises
    ------
    DataError
        If the column is of a type that has no distinct values to speak of (lists, structs,
        binaries), or a value is not of the declared type.
    """
    codes, found = distinct(name, array)
    if declared == "text":
        kind: Kind = "text"
        values = [None if v is None else str(v) for v in to_python(name, found)]
    elif declared is not None or untyped:
        kind, values = _parsed(name, to_python(name, found), codes, declared, positions)
    else:
        order = pc.array_sort_indices(found, null_placement="at_start").to_numpy()
        place = np.empty(len(order), dtype=codes.dtype)
        place[order] = np.arange(len(order), dtype=codes.dtype)
        return Column(
            name, place[codes], to_python(name, found.take(pa.array(order))), _kind(found.type)
        )
    # Different texts may mean one number, such as 1.5 and 1.50: they are one value.
    domain = sorted(set(values), key=lambda v: (v is not None, 0 if v is None else v))
    rank = {value: code for code, value in enumerate(domain)}
    return Column(name, np.array([rank[v] for v in values], dtype=codes.dtype)[codes], domain, kind)


def distinct(name: str, array: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Codes of a column into its distinct values, in no particular order.

    A null is the last of them.
    """
    return codes_of(plain(name, array))


def codes_of(array: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Do what `distinct` does, for a column that is plain already."""
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    array = unified(array)
    if array.num_chunks == 0:
        return np.empty(0, dtype=np.uint8), pa.array([], array.type.value_type)
    domain = array.chunk(0).dictionary
    size = len(domain)
    width = narrowest(size + 1)
    codes = np.empty(len(array), dtype=width)
    start = 0
    for chunk in array.chunks:
        part = chunk.indices.fill_null(size) if chunk.null_count else chunk.indices
        codes[start : start + len(chunk)] = part.to_numpy(zero_copy_only=False)
        start += len(chunk)
    present = np.zeros(size + 1, dtype=bool)
    present[codes] = True
    if not present[:size].all():
        kept = np.flatnonzero(present[:size])
        place = np.zeros(size + 1, dtype=width)
        place[kept] = np.arange(len(kept), dtype=width)
        place[size] = len(kept)
        codes, domain = place[codes], domain.take(pa.array(kept))
    if present[size]:
        domain = pa.concat_arrays([domain, pa.nulls(1, domain.type)])
    return codes, domain


def narrowest(size: int) -> np.dtype[Any]:
    """Return the smallest unsigned integer type with at least `size` values."""
    return np.min_scalar_type(max(size - 1, 0))


def _kind(kind: pa.DataType) -> Kind:
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind):
        return "date"
    return "text"


def _parsed(
    name: str,
    values: list[Any],
    codes: Codes,
    declared: Kind | None,
    positions: IntArray | None,
) -> tuple[Kind, list[Any]]:
    """Read texts as numbers or dates, if all of them are; a declared type is insisted on."""
    for kind, reader in _READERS:
        if declared not in (None, kind):
            continue
        parsed: list[Any] = []
        for value in values:
            try:
                parsed.append(None if value is None else reader(value))
            except ValueError:
                break
        else:
            return kind, parsed
    if declared is None:
        return "text", values
    last = [reader for kind, reader in _READERS if kind == declared][-1]
    wrong = [code for code, value in enumerate(values) if not _reads(last, value)]
    row, code = min((int(np.argmax(codes == code)), code) for code in wrong)
    row = row if positions is None else int(positions[row])
    raise DataError(
        f"column {name!r} must hold a {declared} in every row, but row {row + 1} holds "
        f"{values[code]!r}"
    )


def _reads(reader: Callable[[Any], Any], value: Any) -> bool:
    try:
        return value is None or reader(value) is not None
    except ValueError:
        return False


def _whole(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not _WHOLE.fullmatch(value):
        raise ValueError
    return int(value)


def _decimal(value: Any) -> Any:
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not _DECIMAL.fullmatch(value):
        raise ValueError
    return Decimal(value)


def _day(value: Any) -> dt.date:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise ValueError
    return dt.date.fromisoformat(value)


def _moment(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        raise ValueError
    return dt.datetime.fromisoformat(value)


_READERS: tuple[tuple[Kind, Callable[[Any], Any]], ...] = (
    ("number", _whole),
    ("number", _decimal),
    ("date", _day),
    ("date", _moment),
)
