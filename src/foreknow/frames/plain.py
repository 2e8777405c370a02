"""Plain columns: one way to write nulls, zeros and texts, whatever library they came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foreknow.errors import DataError
from foreknow.frames.sources import Table, require


def fetch(table: Table, columns: Sequence[str], groups: Sequence[str] = ()) -> pa.Table:
    """Fetch some columns of a table, each made plain; unknown ones are an error.

    Where some make the groups of a release, what a reader can tell apart in them is not merged.
    """
    require(table, columns)
    rows = table.arrow(list(columns))
    refuse_two_empties(table, groups)
    return plain_table(rows, columns, groups)


def plain_table(rows: pa.Table, columns: Sequence[str], groups: Sequence[str] = ()) -> pa.Table:
    """Make every column plain; for `groups` see `fetch`."""
    for name in groups:
        refuse_twins(name, rows.column(list(columns).index(name)))
    made = [plain(name, rows.column(i)) for i, name in enumerate(columns)]
    return pa.table(dict(zip(columns, made, strict=True)))


def plain(name: str, array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Make a column plain.

    NaN becomes null and minus zero zero; a null among the entries of a dictionary becomes a null
    of the column; entries that repeat are united; a column without a type is one of texts.

    Raises
    ------
    DataError
        If the column holds no plain values: lists, structs, binaries, objects; or codes that
        point beyond the entries of their dictionary.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        _refuse_nested(name, kind.value_type)
        _refuse_broken(name, array)
        array = unified(array)
        if not array.num_chunks:
            return array.cast(kind.value_type)
        entries = array.chunk(0).dictionary
        simple = pa.types.is_string(entries.type) or pa.types.is_integer(entries.type)
        if simple and not entries.null_count and len(pc.unique(entries)) == len(entries):
            return array
        return plain(name, array.cast(kind.value_type))
    _refuse_nested(name, kind)
    if pa.types.is_null(kind) or pa.types.is_string_view(kind):
        return array.cast(pa.string())
    if pa.types.is_float16(kind):
        array, kind = array.cast(pa.float32()), pa.float32()
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return _whole_microseconds(array)
    if pa.types.is_floating(kind):
        known = pc.if_else(pc.is_nan(array), pa.scalar(None, kind), array)
        return pc.add(known, pa.scalar(0.0, kind))
    return array


def refuse_twins(name: str, array: pa.ChunkedArray) -> None:
    """Raise `DataError` for a column of groups in which what we take for one value prints as two.

    NaN and null, and 0.0 and -0.0, make two groups to some readers of a file.
    """
    kind = array.type
    if pa.types.is_dictionary(kind) and pa.types.is_floating(kind.value_type):
        array, kind = array.cast(kind.value_type), kind.value_type
    if not pa.types.is_floating(kind):
        return
    if pa.types.is_float16(kind):
        array, kind = array.cast(pa.float32()), pa.float32()
    twins = "NaN and null" if array.null_count and pc.any(pc.is_nan(array)).as_py() else None
    zeros = array.filter(pc.fill_null(pc.equal(array, pa.scalar(0, kind)), False))
    if len(set(map(str, pc.unique(zeros.cast(pa.float64())).to_pylist()))) > 1:
        twins = "0.0 and -0.0"
    if twins is not None:
        raise DataError(
            f"the column {name!r} of groups holds both {twins}, which some readers take for two "
            "values and others for one; write one of them"
        )


def refuse_two_empties(table: Table, groups: Sequence[str]) -> None:
    """Raise `DataError` for a column of groups with empty fields of which some are in quotes.

    To some readers of CSV these are one missing value, to others a text and a missing value.
    """
    for name in groups:
        if name in getattr(table, "two_empties", ()):
            raise DataError(
                f'{table.name}: the column {name!r} of groups holds both "" and empty fields, '
                "which some readers take for two values and others for one; write one of them"
            )


def unified(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give all chunks one dictionary; where they have it, that costs nothing."""
    known = {_places(chunk.dictionary) for chunk in array.chunks}
    return array if len(known) < 2 else array.unify_dictionaries()


def _places(entries: pa.Array) -> tuple[Any, ...]:
    """Where entries lie in memory."""
    buffers = [None if buffer is None else buffer.address for buffer in entries.buffers()]
    return (entries.offset, len(entries), *buffers)


def _whole_microseconds(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Python knows no nanoseconds: where there are some, times are written as texts."""
    kind = array.type
    if kind.unit != "ns":
        return array
    zone = pa.types.is_timestamp(kind)
    try:
        return array.cast(pa.timestamp("us", kind.tz) if zone else pa.time64("us"))
    except pa.ArrowInvalid:
        return array.cast(pa.string())


def to_python(name: str, values: pa.Array) -> list[Any]:
    """Distinct values as Python objects; those that Python cannot hold are an error."""
    try:
        found: list[Any] = values.to_pylist()
    except (OverflowError, ValueError) as error:
        raise DataError(f"column {name!r}: {error}; make it text") from None
    return found


def _refuse_broken(name: str, array: pa.ChunkedArray) -> None:
    """A code beyond the entries is no value; the first one would be taken for a null."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"the column {name!r} is broken: {error}") from None


def _refuse_nested(name: str, kind: pa.DataType) -> None:
    types = pa.types
    binary = (
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    )
    span = types.is_duration(kind) or types.is_interval(kind)
    if binary or span or types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        several = ', or say semantics = "set" or "multiset" where each list holds the values of one'
        raise DataError(
            f"column {name!r} is of type {kind}; give one plain value per row"
            f"{f'{several} person' if is_listed(kind) else ''}"
        )


def is_listed(kind: pa.DataType) -> bool:
    """Whether a type is one of lists."""
    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )
