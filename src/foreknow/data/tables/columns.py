"""Encode a column: small integer codes, and its distinct values once, in order."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, blocks
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.labels.labels import text_of
from foreknow.data.semantics import refuse_several
from foreknow.data.tables.profile.reading_options import has_decimal_commas, way_out
from foreknow.data.tables.table import Table, is_listed, is_text, require
from foreknow.errors import SchemaError
from foreknow_judge.errors import DataError
from foreknow_judge.policy.grammar import Kind
from foreknow_judge.policy.grammar import as_missing as read_missing


def fetch(
    table: Table, columns: Sequence[str], groups: Sequence[str] = (), lists: str | None = None
) -> pa.Table:
    """Fetch some columns of a table, each made plain (see `plain`); unknown ones are an error.

    In columns that make `groups`, values that only some readers tell apart are refused. The column
    `lists` may hold lists, which stay as they are.
    """
    require(table, columns)
    rows = table.arrow(list(columns))
    refuse_two_empties(table, groups)
    return plain_table(rows, columns, groups, lists)


def plain_table(
    rows: pa.Table, columns: Sequence[str], groups: Sequence[str] = (), lists: str | None = None
) -> pa.Table:
    """The columns of `rows`, by position, as plain columns with these names; see `fetch`."""
    arrays = {}
    for i, name in enumerate(columns):
        column = rows.column(i)
        if name in groups:
            refuse_twins(name, column)
        arrays[name] = column if name == lists and is_listed(column.type) else plain(name, column)
    return pa.table(arrays)


def plain(name: str, array: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in which values that print alike are one: NaN is null, and minus zero is zero.

    A null among the entries of a dictionary becomes a null of the column; entries that repeat are
    united; a column without a type is one of texts. Raises `DataError`, with the `name` of the
    column, for lists and other types that are no plain values.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _plain_dictionary(name, array)
    _refuse_nested(name, kind)
    if pa.types.is_null(kind) or pa.types.is_string_view(kind):
        array = array.cast(pa.string())
    _refuse_null_characters(name, array)
    if pa.types.is_float16(kind):
        # Arrow computes little with floats of 16 bits.
        array, kind = array.cast(pa.float32()), pa.float32()
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return _whole_microseconds(array)
    if pa.types.is_floating(kind):
        numbers = pc.if_else(pc.is_nan(array), pa.scalar(None, kind), array)
        return pc.add(numbers, pa.scalar(0.0, kind))  # -0.0 + 0.0 is 0.0
    return array


def _plain_dictionary(name: str, array: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of codes, unchanged if its entries are plain and distinct; else its plain values."""
    kind = array.type
    _refuse_nested(name, kind.value_type)
    _refuse_broken(name, array)
    array = _unified(array)
    # pandas and Polars write ordered categories as large strings.
    if kind.ordered and pa.types.is_large_string(kind.value_type):
        array = array.cast(pa.dictionary(pa.int32(), pa.string(), ordered=True))
    if not array.num_chunks:
        return array.cast(kind.value_type)
    entries = array.chunk(0).dictionary
    _refuse_null_characters(name, entries)
    # Texts and whole numbers need no change if none is missing or repeats; floats may hold NaN.
    is_simple = pa.types.is_string(entries.type) or pa.types.is_integer(entries.type)
    if is_simple and not entries.null_count and len(pc.unique(entries)) == len(entries):
        return array
    return plain(name, array.cast(kind.value_type))


def refuse_twins(name: str, array: pa.ChunkedArray) -> None:
    """Raise `DataError` for a column of groups with NaN beside null, or 0.0 beside -0.0.

    Here each pair is one value, but some readers of a file take it for two, which make two groups.
    """
    kind = array.type
    if pa.types.is_dictionary(kind) and pa.types.is_floating(kind.value_type):
        array, kind = array.cast(kind.value_type), kind.value_type
    if not pa.types.is_floating(kind):
        return
    if pa.types.is_float16(kind):
        array, kind = array.cast(pa.float32()), pa.float32()
    both_names = ""
    if array.null_count and pc.any(pc.is_nan(array)).as_py():
        both_names = "NaN and null"
    # 0.0 equals -0.0, but they print differently.
    zeros = array.filter(pc.fill_null(pc.equal(array, pa.scalar(0, kind)), False))
    printed_zeros = {*map(str, pc.unique(zeros.cast(pa.float64())).to_pylist())}
    if len(printed_zeros) > 1:
        both_names = "0.0 and -0.0"
    if both_names:
        raise DataError(
            f"the column {name!r} of groups holds both {both_names}, which some readers take for "
            "two values and others for one; write one of them"
        )


def refuse_two_empties(table: Table, groups: Sequence[str]) -> None:
    """Raise `DataError` for a column of groups with empty fields some of which are in quotes.

    To some readers of CSV these are one missing value, to others a text and a missing value.
    """
    for name in groups:
        if name in getattr(table, "two_empties", ()):
            raise DataError(
                f'{table.name}: the column {name!r} of groups holds both "" and empty fields, '
                "which some readers take for two values and others for one; write one of them"
            )


def _unified(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of codes whose chunks all have one dictionary.

    Chunks whose dictionaries lie at one place in memory have the same one, so that these need not
    be compared.
    """
    places_in_memory = set()
    for chunk in array.chunks:
        entries = chunk.dictionary
        addresses = [None if buffer is None else buffer.address for buffer in entries.buffers()]
        places_in_memory.add((entries.offset, len(entries), *addresses))
    return array if len(places_in_memory) < 2 else array.unify_dictionaries()


def _whole_microseconds(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times in microseconds; texts if some have nanoseconds, which Python's times lack."""
    kind = array.type
    if kind.unit != "ns":
        return array
    has_day = pa.types.is_timestamp(kind)
    try:
        return array.cast(pa.timestamp("us", kind.tz) if has_day else pa.time64("us"))
    except pa.ArrowInvalid:
        return array.cast(pa.string())


def sorted_texts(texts: Sequence[str | None]) -> tuple[list[str | None], NDArray[np.int32]]:
    """Distinct texts in order, a missing one first, and the place of each text among them.

    Their bytes in UTF-8 have the order of Python's texts.

    >>> sorted_texts(["b", None, "a", "b"])[1].tolist()
    [2, 0, 1, 2]
    """
    column = pa.array(texts, pa.string())
    if _is_ascending(column):
        return [*texts], np.arange(len(texts), dtype=np.int32)
    # Arrow ranks from 1, with a missing one last; the remainder makes it the first, at 0.
    rank = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int32)
    position_of_row = rank % rank.max() if column.null_count else rank - 1
    _, first_rows = np.unique(position_of_row, return_index=True)
    return [texts[row] for row in first_rows.tolist()], position_of_row


def to_python(name: str, values: pa.Array) -> list[Any]:
    """Distinct values as Python objects; those that Python cannot hold are an error."""
    try:
        python_values: list[Any] = values.to_pylist()
    except (OverflowError, ValueError) as error:
        raise DataError(f"column {name!r}: {error}; make it text") from None
    return python_values


def _refuse_broken(name: str, array: pa.ChunkedArray) -> None:
    """Raise `DataError` for a code beyond the entries of its dictionary, which stands for no value.

    The first such code would be taken for that of a null.
    """
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"the column {name!r} is broken: {error}") from None


def _refuse_null_characters(name: str, texts: pa.Array | pa.ChunkedArray) -> None:
    """Raise `DataError` for texts with a null character.

    Some readers of CSV cut a text off there, so that two texts may look like one.
    """
    if is_text(texts.type) and pc.any(pc.match_substring(texts, "\0")).as_py():
        raise DataError(
            f"the column {name!r} holds a null character, at which some readers cut a text off; "
            "replace it, such as by a space"
        )


_KINDS = pa.types
_PLAIN = (
    *(_KINDS.is_null, _KINDS.is_boolean, _KINDS.is_integer, _KINDS.is_floating, _KINDS.is_decimal),
    *(_KINDS.is_string, _KINDS.is_large_string, _KINDS.is_string_view),
    *(_KINDS.is_date, _KINDS.is_time, _KINDS.is_timestamp),
)
_INSTEAD = (
    (
        "pandas.period",
        "dates, by .dt.to_timestamp(), or texts, by .astype(str)",
    ),
    (
        "duration",
        "numbers of days, by .dt.days in pandas and .dt.total_days() in Polars",
    ),
)


def _refuse_nested(name: str, kind: pa.DataType) -> None:
    """Raise `DataError`, with advice, for a type whose values are not plain, such as lists."""
    if any(is_kind(kind) for is_kind in _PLAIN):
        return
    # Some types that are no plain values have a known way out.
    advice = next((hint for part, hint in _INSTEAD if part in str(kind)), None)
    if advice is not None:
        raise DataError(
            f"column {name!r} is of type {kind}; give one plain value per row: {advice}"
        )
    way_out = ""
    if is_listed(kind):
        way_out = ', or say semantics = "set" or "multiset" where each list holds the values of one'
        way_out += " person"
    raise DataError(f"column {name!r} is of type {kind}; give one plain value per row{way_out}")


Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]

# Whole numbers within so wide a span are marked in a table, however few they are.
_SPAN = 1 << 16


class _Reader(NamedTuple):
    """How values of one type are recognized and read."""

    kind: Kind
    types: tuple[type, ...]  # of values that are taken as they are
    pattern: str  # of all texts that are read
    convert: Callable[[str], Any]  # reads such a text, or raises ValueError


# From narrow to wide: the types that are taken as they are, how texts look (digits are 0 to 9:
# others print differently, and would be merged with these), and what reads them.
_DAY = r"\d{4}-\d\d-\d\d"
_ZONE = r"(Z|[+-]\d\d(:?\d\d)?)"
_ZONED = re.compile(rf"{_DAY}[T ][\d:.]+{_ZONE}", re.ASCII)
_READERS: tuple[_Reader, ...] = (
    _Reader("number", (int,), r"-?(0|[1-9]\d*)", int),
    _Reader("number", (int, float, Decimal), r"-?(0|[1-9]\d*)(\.\d+)?", Decimal),
    _Reader("date", (dt.date,), _DAY, dt.date.fromisoformat),
    _Reader(
        "date",
        (dt.datetime,),
        _DAY + rf"([T ]\d\d:\d\d(:\d\d(\.\d+)?)?{_ZONE}?)?",
        dt.datetime.fromisoformat,
    ),
)
_UNREAD, _MIDNIGHT = object(), dt.time()
_SHORT = 64  # rows in which a first value is looked for before all are
_THOUSANDS = r"-?(0|[1-9]\d{0,2}(\.\d{3})+|[1-9]\d*)(,\d+)?"


def _readers_by(reading: Reading, typed: bool, values: list[Any]) -> Sequence[_Reader]:
    """The readers to try on values, in this order; the first that can read all of them wins.

    Those that `reading` declares stand first. In a `typed` table texts are texts, so it has only
    these.
    """
    readers: list[_Reader] = [] if typed else list(_READERS)
    if reading.decimal == "," and (not typed or has_decimal_commas(values)):
        readers[1:2] = [_COMMAS]  # in place of numbers with a decimal point
    if reading.as_date is not None:
        readers.insert(0, _Reader("date", (dt.date, dt.datetime), r"(?s:.+)", reading.as_date))
    return [*readers, *_readers_of_amounts(reading, values)]


def _readers_of_amounts(reading: Reading, values: list[Any]) -> list[_Reader]:
    """The reader of amounts such as "$1,200", if a value needs it; else an empty list."""
    if reading.as_amount is None:
        return []
    reader = _Reader("number", (int, float, Decimal), r"(?s:.+)", reading.as_amount)
    read_value = _value_reader(reader)
    # Plain numbers are read by other readers, with their own types.
    is_needed = any(_is_marked(value) and read_value(value) is not _UNREAD for value in values)
    return [reader] if is_needed else []


def _is_marked(value: Any) -> bool:
    """True if a value is a text that is not written as a plain number."""
    return isinstance(value, str) and not re.fullmatch(_READERS[1].pattern, value, re.ASCII)


def _read_with_comma(text: str) -> Decimal:
    """The number in a text with a decimal comma and points between thousands."""
    return Decimal(text.replace(".", "").replace(",", "."))


_COMMAS = _Reader("number", (int, float, Decimal), _THOUSANDS, _read_with_comma)


@dataclass(frozen=True, eq=False)
class Column:
    """A column as codes into its sorted distinct values."""

    name: str
    codes: Codes  # as narrow as the number of values allows
    domain: list[Any]  # ascending; None (a null) first where there is one
    kind: Kind  # the order of numbers and dates means something, that of texts does not
    categories: tuple[str, ...] = ()  # the texts in the order of an ordered categorical

    @property
    def has_null(self) -> bool:
        """True if the column holds a null; its code is then 0."""
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
    reading: Reading | None = None,
) -> Column:
    """Encode a column as codes into its sorted distinct values.

    Parameters
    ----------
    name : str
    array : chunked array of Arrow
    untyped : bool
        Whether the table knows texts only, as a CSV file. They are numbers or dates if all of them
        can be read so; 007 is a code.
    declared : {"number", "date", "text"}, optional
        The type that the schema gives the column.
    positions : integer array, optional
        Where each entry is in the table, for messages; left out, these are all of its rows.
    reading : Reading, optional
        How texts are written.

    Raises
    ------
    DataError
        If a value is not of the declared type, or the column holds no plain values.
    """
    array, reading = plain(name, array), reading or Reading()
    codes, distinct = codes_of(array)
    are_texts = is_text(distinct.type)
    is_typed = declared is None and not untyped
    # The table knows its types, and texts stay texts: nothing has to be read.
    if is_typed and not (are_texts and reading.converts):
        return _encoded_by_type(name, array, codes, distinct)
    # Whole numbers are mostly many, and read without a loop where no format of dates comes first.
    if are_texts and not is_typed and declared in (None, "number") and reading.as_date is None:
        whole_numbers = _as_whole_numbers(distinct)
        if whole_numbers is not None:
            return _encoded_by_type(name, array, codes, whole_numbers)
    python_values = to_python(name, distinct)
    if declared == "text":
        kind: Kind = "text"
        values: list[Any] = _as_texts(python_values)
    else:
        readers = _readers_by(reading, is_typed, python_values)
        kind, values = _parse(
            name, python_values, readers, declared, codes=codes, positions=positions
        )
        if kind == "text" and declared is None and reading.converts:
            # If most are dates or numbers as the reading says, the others may be mistakes.
            _refuse_mixed(name, python_values, codes, positions, reading)
        _refuse_future(name, python_values, values, reading)
    values = _as_days(values)
    # Different texts may mean one number, such as 1.5 and 1.50: they are one value.
    # None cannot be compared. Its key is (False, 0), which is below (True, value), so it is first.
    domain = sorted(set(values), key=lambda v: (v is not None, 0 if v is None else v))
    new_code = {value: code for code, value in enumerate(domain)}
    new_codes = np.array([new_code[value] for value in values], dtype=codes.dtype)
    return Column(name, new_codes[codes], domain, kind)


def _as_whole_numbers(texts: pa.Array) -> pa.Array | None:
    """Distinct texts as whole numbers; None if one is none, has over 18 digits, or is -0."""
    if not pc.all(pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,17})$")).as_py():
        return None
    return texts.cast(pa.int64())


def _encoded_by_type(name: str, array: pa.ChunkedArray, codes: Codes, distinct: pa.Array) -> Column:
    """Encode a plain column by the type that its table gives it, without reading texts.

    `codes` and `distinct` are its codes and values, as `codes_of` gives them.
    """
    kind = _kind_of(distinct.type)
    has_order = pa.types.is_dictionary(array.type) and array.type.ordered
    categories: tuple[str, ...] = ()
    if has_order and is_text(distinct.type):
        categories = tuple(distinct.drop_null().to_pylist())
    codes, distinct = ranked(codes, distinct)
    return Column(name, codes, _as_days(to_python(name, distinct)), kind, categories)


def as_plain_texts(
    name: str, array: pa.ChunkedArray, reading: Reading, declared: Kind | None = None
) -> pa.ChunkedArray:
    """A sensitive column whose numbers and dates are texts that anybody reads alike.

    Whoever reads the release does not know the `reading`, so 1.234,5 becomes 1234.5. A number, or
    a date, that is written in several ways is one value. `declared` is the type that the schema
    gives the column.
    """
    array = plain(name, array)
    # Times with a zone are always read, so that several zones in one column are refused.
    zoned = declared is None and is_zoned(array)
    if declared is None and not reading.converts and not zoned:
        return array
    codes, distinct = codes_of(array)
    are_texts = is_text(distinct.type)
    if declared is None and not are_texts:
        return array
    values = to_python(name, distinct)
    if declared == "text":
        texts = values if are_texts else _as_texts(values)
    else:
        readers = _release_readers(reading, values, declared, zoned)
        kind, parsed = _parse(name, values, readers, declared, codes=codes, positions=None)
        if kind == "text":
            _refuse_mixed(name, values, codes, None, reading, strict=True)
        _refuse_future(name, values, parsed, reading)
        # Columns that are no texts are written plainly anyway.
        texts = _plain_texts(_as_days(parsed)) if are_texts and kind != "text" else values
    if texts == values:  # every text is plain already
        return array
    return pa.chunked_array([pa.array(texts).take(pa.array(codes))])


def _release_readers(
    reading: Reading, values: list[Any], declared: Kind | None, zoned: bool
) -> list[_Reader]:
    """The readers to try on sensitive values: those of the reading, then perhaps the usual ones.

    The usual ones read columns of a `declared` type, and columns with `zoned` times.
    """
    dates = Reading(date_format=reading.date_format, latest_year=reading.latest_year)
    # With decimal commas declared, 1.234 is read as 1234 even if no value has a comma, since
    # whoever reads the release would take the point for a decimal one.
    numbers = [_READERS[0], _COMMAS] if reading.decimal == "," else []
    readers = [*_readers_by(dates, typed=True, values=[]), *numbers]
    readers += _readers_of_amounts(reading, values)
    # With decimal commas, no reader may take a point for a decimal one.
    if declared is not None:
        readers += _READERS[2:] if numbers else _READERS
    if zoned:
        readers += _READERS[3:]
    return readers


def is_zoned(array: pa.ChunkedArray) -> bool:
    """True if a column of texts holds times with a zone, such as 2024-01-31T08:00Z.

    For speed, only a column whose first value begins with a day is searched.
    """
    if not is_text(array.type) or len(array) == array.null_count:
        return False
    # Mostly there is a value among the first rows of the first chunk.
    chunks = map(pa.Array.drop_null, _first_rows_and_all(array))
    first = next(values[0] for values in chunks if len(values)).as_py()
    if not isinstance(first, str) or not re.match(_DAY, first, re.ASCII):
        return False
    distinct = pc.unique(array.cast(pa.string()))
    return bool(pc.any(pc.match_substring_regex(distinct, f"^{_ZONED.pattern}$")).as_py())


def _first_rows_and_all(array: pa.ChunkedArray) -> Iterator[Any]:
    """Yield each chunk of a column twice: its first rows, then all of it."""
    for chunk in array.chunks:
        yield chunk.slice(0, _SHORT)
        yield chunk


def alike_texts(
    name: str, texts: list[str], reading: Reading, declared: Kind | None = None
) -> list[str]:
    """Distinct texts, each as `as_plain_texts` writes it, which may have written them already.

    So if the reading cannot read them, they are read as plain numbers and dates. If that fails,
    too, they are returned unchanged, or raise `DataError` if the schema declares the column's type.
    """
    array = pa.chunked_array([pa.array(texts, pa.string())])
    for candidate in reading, Reading():
        with suppress(DataError):
            plain_texts: list[str] = as_plain_texts(name, array, candidate, declared).to_pylist()
            return plain_texts
    if declared is not None:
        as_plain_texts(name, array, reading, declared)  # raises the error
    return texts


def plainly_written(text: str) -> Any:
    """The number or date that anybody reads in a text; None if there is none.

    >>> plainly_written("1.200"), plainly_written("1.200,50"), plainly_written("007")
    (Decimal('1.200'), None, None)
    """
    for reader in _READERS:
        value = _value_reader(reader)(text)
        if value is not _UNREAD:
            return _as_days([value])[0]
    return None


def _plain_texts(values: list[Any]) -> list[str | None]:
    """Numbers and dates as texts; equal values all get the shortest text of any of them."""
    text_of_value: dict[Any, str] = {}
    for value in values:
        if value is None:
            continue
        # abs() takes the sign from a zero, which is the only number that is false.
        text = format(value or abs(value), "f") if type(value) is Decimal else text_of(value)
        text_of_value[value] = min(text_of_value.get(value, text), text, key=len)
    return [None if value is None else text_of_value[value] for value in values]


def _as_texts(values: list[Any]) -> list[str | None]:
    """Values as texts; numbers that all end in ".0", as pandas writes codes, without that end."""
    non_null = [value for value in values if value is not None]
    if non_null and all(type(value) is float and value.is_integer() for value in non_null):
        return [None if value is None else str(int(value)) for value in values]
    # The same for texts, as CSV files of pandas have such codes.
    texts = [None if value is None else str(value) for value in values]
    whole_number = re.compile(r"\d+\.0", re.ASCII)
    if non_null and all(whole_number.fullmatch(str(value)) for value in non_null):
        return [None if text is None else text[:-2] for text in texts]
    return texts


def _as_days(values: list[Any]) -> list[Any]:
    """Times that are all midnight, in no time zone, as dates; other values unchanged."""
    for value in values:
        if value is None:
            continue
        if type(value) is not dt.datetime or value.time() != _MIDNIGHT or value.tzinfo is not None:
            return values
    return [None if value is None else value.date() for value in values]


def days_of(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of times as days, if all of them are midnight, in no time zone; others as they are.

    >>> import datetime as dt
    >>> days_of(pa.chunked_array([[dt.datetime(2024, 1, 31), None]])).to_pylist()
    [datetime.date(2024, 1, 31), None]
    """
    coded = pa.types.is_dictionary(array.type)
    kind = array.type.value_type if coded else array.type
    if not pa.types.is_timestamp(kind) or kind.tz is not None or array.null_count == len(array):
        return array
    times = array.cast(kind) if coded else array
    days = times.cast(pa.date32(), safe=False)
    return days if pc.all(pc.equal(days.cast(kind), times)).as_py() else array


def codes_of(array: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Encode a plain column.

    Returns
    -------
    codes : unsigned integer array, shape (rows,)
        The place of each row's value in `distinct`.
    distinct : array of Arrow
        The values that occur, in no order; a null is last.
    """
    if not pa.types.is_dictionary(array.type):
        # Whole numbers near each other are encoded by a table, which is faster than hashing.
        smallest_and_span = _narrow_range(array)
        if smallest_and_span is not None:
            return _codes_of_near(array, *smallest_and_span)
        array = array.dictionary_encode()
    array = _unified(array)
    if array.num_chunks == 0:
        return np.empty(0, dtype=np.uint8), pa.array([], array.type.value_type)
    entries = array.chunk(0).dictionary
    n_entries = len(entries)
    codes = _codes_of_chunks(array, null_code=n_entries)
    occurs = np.zeros(n_entries + 1, dtype=bool)
    occurs[codes] = True
    # Entries of the dictionary that no row has get no code.
    if not occurs[:n_entries].all():
        used_codes = np.flatnonzero(occurs[:n_entries])
        new_code = np.zeros(n_entries + 1, dtype=codes.dtype)
        new_code[used_codes] = np.arange(len(used_codes), dtype=codes.dtype)
        new_code[n_entries] = len(used_codes)
        codes, entries = new_code[codes], entries.take(pa.array(used_codes))
    if occurs[n_entries]:
        # A null gets the last code.
        entries = pa.concat_arrays([entries, pa.nulls(1, entries.type)])
    return codes, entries


def _codes_of_chunks(array: pa.ChunkedArray, null_code: int) -> Codes:
    """The codes of all chunks of a column with one dictionary; nulls have `null_code`."""
    codes = np.empty(len(array), dtype=narrowest(null_code + 1))
    start = 0
    for chunk in array.chunks:
        indices = chunk.indices.fill_null(null_code) if chunk.null_count else chunk.indices
        codes[start : start + len(chunk)] = indices.to_numpy(zero_copy_only=False)
        start += len(chunk)
    return codes


def _narrow_range(array: pa.ChunkedArray) -> tuple[int, int] | None:
    """The smallest number of an integer column, and how many integers lie from it to the largest.

    None if there are too many for a table of that size, and for a column with nulls, without rows
    or of another type.
    """
    if not pa.types.is_integer(array.type) or array.null_count or not len(array):
        return None
    ends = pc.min_max(array).as_py()
    span = ends["max"] - ends["min"] + 1
    return (ends["min"], span) if span <= max(2 * len(array), _SPAN) else None


def _codes_of_near(array: pa.ChunkedArray, smallest: int, span: int) -> tuple[Codes, pa.Array]:
    """The codes and the ascending distinct values of whole numbers that lie near each other.

    They lie from `smallest` to `smallest` + `span` - 1: a table of that size marks which occur.
    """
    kind: Any = np.uint64 if pa.types.is_uint64(array.type) else np.int64

    def offset_blocks() -> Iterator[IntArray]:
        """Yield how far the numbers of some rows are above the smallest."""
        for chunk in array.chunks:
            numbers = chunk.to_numpy()
            for block in blocks(len(numbers)):
                yield numbers[block].astype(kind) - kind(smallest)

    occurs = np.zeros(span, dtype=bool)
    for offsets in offset_blocks():
        occurs[offsets] = True
    # A value's code is its rank among those that occur.
    used_offsets = np.flatnonzero(occurs)
    code_of_offset: Codes = np.zeros(span, narrowest(len(used_offsets) + 1))
    code_of_offset[used_offsets] = np.arange(len(used_offsets))
    codes, start = np.empty(len(array), code_of_offset.dtype), 0
    for offsets in offset_blocks():
        codes[start : start + len(offsets)] = code_of_offset[offsets]
        start += len(offsets)
    return codes, pa.array(used_offsets.astype(kind) + kind(smallest), array.type)


def coded(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column as codes into a dictionary; unchanged where `codes_of` is fast without one.

    Where no value is missing, the dictionary is in order, so that nobody sorts its values again.
    """
    if _narrow_range(array) is not None:
        return array
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    if array.null_count:
        return array
    return pa.chunked_array([dictionary_of(*ranked(*codes_of(array)))])


def dictionary_of(codes: Codes, values: pa.Array) -> pa.DictionaryArray:
    """The dictionary column with these codes into `values`, of which a null may be the last.

    It is the reverse of `codes_of`: the code of the null becomes a missing entry.
    """
    size = len(values) - values.null_count
    indices = pa.array(codes.astype(np.int32), mask=codes == size if values.null_count else None)
    return pa.DictionaryArray.from_arrays(indices, values.slice(0, size))


def ranked(codes: Codes, distinct: pa.Array) -> tuple[Codes, pa.Array]:
    """Change codes so that they point into the distinct values in ascending order, a null first."""
    if _is_ascending(distinct):
        return codes, distinct
    if pa.types.is_integer(distinct.type) and not distinct.null_count:
        order = np.argsort(distinct.to_numpy())  # several times as fast as Arrow here
    else:
        order = pc.array_sort_indices(distinct, null_placement="at_start").to_numpy()
    rank_of_code = np.empty(len(order), dtype=codes.dtype)
    rank_of_code[order] = np.arange(len(order), dtype=codes.dtype)
    return rank_of_code[codes], distinct.take(pa.array(order))


def _is_ascending(values: pa.Array) -> bool:
    """True if no value is missing, and each is above the one before it."""
    if values.null_count or len(values) < 2:
        return not values.null_count
    return bool(pc.all(pc.less(values.slice(0, len(values) - 1), values.slice(1))).as_py())


def narrowest(size: int) -> np.dtype[Any]:
    """Return the smallest unsigned integer type with at least `size` values."""
    return np.min_scalar_type(max(size - 1, 0))


def _kind_of(kind: pa.DataType) -> Kind:
    """The kind of the values of an Arrow type: "number", "date" or "text"."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return "date"
    return "text"


def _parse(
    name: str,
    values: list[Any],
    readers: Sequence[_Reader],
    declared: Kind | None,
    *,
    codes: Codes,
    positions: IntArray | None,
) -> tuple[Kind, list[Any]]:
    """The kind of distinct values, and the values, by the first reader that can read all of them.

    If no reader can, they are "text", unchanged.

    Parameters
    ----------
    name : str
        The column.
    values : list
    readers : sequence of _Reader
    declared : {"number", "date"} or None
        The kind that the schema says; a value of no such kind is an `UnreadColumn` error, which
        names the first row with such a value.
    codes : integer array
        The code of each row's value.
    positions : integer array or None
        Where these rows are in the table; None: they are all of its rows.
    """
    unread_codes: list[int] = []
    # From narrow types to wide ones.
    for reader in readers:
        if declared not in (None, reader.kind):
            continue
        parsed: list[Any] = []
        read_value = _value_reader(reader)
        for value in values:
            parsed.append(read_value(value))
            # One unread value is enough, unless an error has to name the first row with one.
            if parsed[-1] is _UNREAD and declared is None:
                break
        unread_codes = [code for code, value in enumerate(parsed) if value is _UNREAD]
        if not unread_codes:
            if reader.kind == "date":
                parsed = _without_zone(name, values, parsed)
            return reader.kind, parsed
    if declared is None:
        return "text", values
    row, code = _first_row(unread_codes, codes, positions)
    raise UnreadColumn(
        f"column {name!r} must hold a {declared} in every row, but row {row} holds "
        f"{values[code]!r}{way_out(values, declared, values[code])}",
        values[code],
    )


def _without_zone(name: str, values: list[Any], parsed: list[Any]) -> list[Any]:
    """Dates and times, of which those that were texts lose their zone, which must be one for all.

    `parsed` are the dates and times of `values`. Raises `DataError` for several zones.
    """
    were_texts = [
        isinstance(text, str) and isinstance(moment, dt.date)
        for text, moment in zip(values, parsed, strict=True)
    ]
    example_of_zone: dict[Any, str] = {}
    for text, moment, was_text in zip(values, parsed, were_texts, strict=True):
        if was_text:
            zone = moment.utcoffset() if isinstance(moment, dt.datetime) else None
            example_of_zone.setdefault(zone, text)
    if example_of_zone.keys() <= {None}:  # no text has a zone
        return parsed
    if len(example_of_zone) > 1:
        pair = " and ".join(map(repr, [*example_of_zone.values()][:2]))
        raise DataError(
            f"column {name!r} holds times of several zones, such as {pair}; write all of them in "
            f'one, or add types = {{ {json.dumps(name)} = "text" }} to the schema'
        )
    return [
        moment.replace(tzinfo=None) if was_text else moment
        for moment, was_text in zip(parsed, were_texts, strict=True)
    ]


def _refuse_future(name: str, values: list[Any], parsed: list[Any], reading: Reading) -> None:
    """Raise `DataError` if a year of two digits was read as one in the future.

    This applies only if the schema does not say which century is meant. `parsed` are the dates that
    were read from `values`.
    """
    if not reading.guesses_century:
        return
    today = dt.date.today()
    for text, day in zip(values, parsed, strict=True):
        if not isinstance(text, str) or re.match(_DAY, text, re.ASCII):
            continue
        if isinstance(day, dt.date) and dt.date(day.year, day.month, day.day) > today:
            raise DataError(
                f"column {name!r}: {text!r} would be of the year {day.year}, which lies ahead; add "
                f"latest_year = {today.year} to reading in the schema, or the latest year that "
                "two digits mean"
            )


def _first_row(
    wanted_codes: Sequence[int], codes: Codes, positions: IntArray | None
) -> tuple[int, int]:
    """The first row with any of `wanted_codes`, counted from 1 in the table, and its code.

    `codes` has the code of each entry, and `positions` where entries are in the table; None: row i
    is entry i.
    """
    entry, code = min((int(np.argmax(codes == code)), code) for code in wanted_codes)
    return (entry if positions is None else int(positions[entry])) + 1, code


def _refuse_mixed(
    name: str,
    values: list[Any],
    codes: Codes,
    positions: IntArray | None,
    reading: Reading,
    *,
    strict: bool = False,
) -> None:
    """Raise `DataError` if most texts, but not all, are written as the reading says.

    If `strict`, a single number with a comma or a point is enough, since readers of a release would
    read it otherwise. `codes` and `positions` find the row of the message; see `_first_row`.
    """
    for what, reader in _declared_readers(reading):
        read_value = _value_reader(reader)
        fitting = set()
        for value in values:
            if isinstance(value, str) and read_value(value) is not _UNREAD:
                fitting.add(value)
        other_codes = []
        for code, value in enumerate(values):
            if value is not None and value not in fitting:
                other_codes.append(code)
        # So many must fit that they are most: more than the others.
        least_fitting = len(other_codes) + 1
        if reader is _COMMAS:
            # Numbers without such a sign would fit any reading, and say nothing.
            signs = {",", "."} if strict else {","}
            fitting = {text for text in fitting if signs & set(text)}
            least_fitting = 1 if strict else least_fitting
        elif reader.convert is reading.as_amount:
            fitting = {text for text in fitting if _is_marked(text)}
        if other_codes and len(fitting) >= least_fitting:
            row, code = _first_row(other_codes, codes, positions)
            quantifier = "some" if len(fitting) <= len(other_codes) else "most"
            raise DataError(
                f"column {name!r}: {quantifier} values are {what}, but row {row} holds "
                f'{values[code]!r}; mend it, or add types = {{ {json.dumps(name)} = "text" }} to '
                "the schema"
            )


def _declared_readers(reading: Reading) -> Iterator[tuple[str, _Reader]]:
    """Yield what a reading declares of dates, decimals and amounts: in words, and its reader."""
    if reading.as_date is not None:
        yield "dates by date_format", _Reader("date", (), r"(?s:.+)", reading.as_date)
    if reading.decimal == ",":
        yield 'numbers with decimal = ","', _COMMAS
    if reading.as_amount is not None:
        amounts = _Reader("number", (), r"(?s:.+)", reading.as_amount)
        yield "amounts by thousands and currency", amounts


def _value_reader(reader: _Reader) -> Callable[[Any], Any]:
    """A function that returns a value as the reader reads it, or `_UNREAD`; None stays None."""
    is_written = re.compile(reader.pattern, re.ASCII).fullmatch

    def read(value: Any) -> Any:
        """The value as the reader reads it; `_UNREAD` if it cannot; None stays None."""
        if value is None or type(value) in reader.types:  # it has the right type already
            return value
        if not isinstance(value, str) or not is_written(value):
            return _UNREAD
        try:
            return reader.convert(value)
        except ValueError:
            return _UNREAD

    return read


class UnreadColumn(DataError):
    """A column has a value that is no number or date, as its schema says."""

    def __init__(self, problem: str, value: Any) -> None:
        super().__init__(problem)
        self.value = value


class Relabel(str):
    """A label that stands for missing sensitive values.

    >>> Relabel("unknown")
    'unknown'
    """

    __slots__ = ()


Missing: TypeAlias = Literal["error", "drop"] | Relabel


def as_missing(rule: Any) -> Missing:
    """Read "error", "drop", a `Relabel` or ``{"label": ...}``; anything else is an error."""
    if isinstance(rule, Relabel):
        return rule
    try:
        missing = read_missing(rule)
    except ValueError as error:
        raise SchemaError(f"{error}, not {rule!r}") from None
    return Relabel(missing["label"]) if isinstance(missing, Mapping) else missing


def refuse_missing(missing: Missing, semantics: Any) -> None:
    """Raise `SchemaError` for a rule about nulls under "set" or "multiset".

    A null then means that the person has no value, and is not missing.
    """
    is_label = isinstance(missing, Relabel)
    if is_label or missing != "error":
        rule_text = f'{{ label = "{missing}" }}' if is_label else f'"{missing}"'
        refuse_several(
            semantics,
            f"missing = {rule_text} has no place under semantics {semantics!r}, where a null means "
            "that the person has no value; leave it out",
        )
