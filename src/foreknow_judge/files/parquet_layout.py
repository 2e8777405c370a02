"""The Parquet layout of a release: the rows determine every byte, so nothing else fits in.

A Parquet file can hold much besides its columns: notes, statistics, entries of a dictionary that no
row uses, fields that readers skip. So a release is written as `layout` has it, and the judge lays
out what it read once more and compares all bytes (`is_ours`): anything that is not a value would
differ. There is no list of what is allowed, so none can be incomplete. PyArrow's own writer would
not do: its bytes differ from version to version.

Row groups have `ROWS` rows, but for the last, with one page per column. There is no codec: its
bytes would differ as well, and its stream may hold more than the content. Instead, distinct values
are written once, in order, if there are at most `ENTRIES`; then each row takes as few bits as
possible, or runs of equal values, whichever is shorter. That is as small as PyArrow makes it with
Snappy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

ROWS, ENTRIES = 1 << 17, 1 << 16
_MAGIC = b"PAR1"
_MAKER = b"foreknow version 1.0.0"  # of this layout
_LONGEST = (1 << 31) - 1  # bytes of a page
# Physical types, encodings and kinds of pages, as Parquet numbers them.
_BOOLEAN, _INT32, _INT64, _FLOAT, _DOUBLE, _TEXT, _BYTES = 0, 1, 2, 4, 5, 6, 7
_PLAIN, _RUNS, _BY_ENTRY = 0, 3, 8
_DATA_PAGE, _ENTRIES_PAGE = 0, 2
_OPTIONAL = 1
_SIMPLER = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.date64(): pa.date32(),
    pa.time32("s"): pa.time32("ms"),
}

Field: TypeAlias = tuple[int, bytes]  # a type of Thrift's compact protocol, and the content
# What a field holds: a text, a flag, a whole number of 32 bits, a list, or fields by their numbers
# (a structure); or a `Field`.
Content: TypeAlias = Any
Codes: TypeAlias = NDArray[np.uint16]


def is_ours(path: Path) -> bool:
    """True if a file is, byte for byte, what `layout` makes of its rows.

    So it hides nothing beside them. This reads one row group at a time, so check first that row
    groups are small.
    """
    try:
        with path.open("rb") as file, pa.OSFile(str(path)) as source:
            for piece in layout(_groups_of(source)):
                if file.read(len(piece)) != piece:
                    return False
            return not file.read(1)
    except (pa.ArrowException, OSError, ValueError):
        return False


def _groups_of(source: Any) -> Iterator[pa.Table]:
    """Yield an empty table, which has the columns, and then the row groups of a file.

    Texts are read as codes of distinct texts, as they are stored.
    """
    import pyarrow.parquet as pq  # which imports readers of clouds, too

    schema = pq.read_schema(source)
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    file = pq.ParquetFile(source, read_dictionary=texts)
    yield file.schema_arrow.empty_table()
    for number in range(file.num_row_groups):
        yield file.read_row_group(number)


def layout(row_groups: Iterable[pa.Table]) -> Iterator[bytes]:
    """Yield the bytes of a Parquet file, piece by piece.

    `row_groups` are an empty table, for files without rows, and then the row groups. Numbers as
    keys are those of the fields in Parquet's format, which is written as Thrift.
    """
    yield _MAGIC
    offset, rows = len(_MAGIC), 0
    elements, groups = list[Content](), list[Content]()  # of the schema; of the row groups
    for row_group in row_groups:
        if rows % ROWS or len(row_group) > ROWS:
            raise ValueError(f"row groups have {ROWS} rows, but for the last")
        columns = dict(zip(row_group.column_names, map(_simpler, row_group.columns), strict=True))
        if not elements:
            elements = [{3: 0, 4: b"schema", 5: len(columns)}]
            elements += [_element(name, column.type) for name, column in columns.items()]
        if not len(row_group):
            continue
        start, chunks = offset, []
        for name, column in columns.items():
            content, chunk = _chunk(name, column, offset)
            yield content
            offset += len(content)
            chunks.append(chunk)
        groups.append({1: chunks, 2: _int64(offset - start), 3: _int64(len(row_group))})
        rows += len(row_group)
    # The footer: version, schema, rows, row groups, who made it; then its length.
    _, content = _struct({1: 2, 2: elements, 3: _int64(rows), 4: groups, 6: _MAKER})
    yield content + len(content).to_bytes(4, "little") + _MAGIC


def _simpler(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, cast to a type that we write if its type is a variant of one."""
    kind = _undone(column.type)
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return column.cast(pa.timestamp("ms", kind.tz))
    return column.cast(_SIMPLER[kind]) if kind in _SIMPLER else column


def _element(name: str, kind: pa.DataType) -> Content:
    """The schema element of a column, for the footer."""
    kind = _undone(kind)
    physical, meaning = _stored(name, kind)
    size = {2: _width(kind)} if physical == _BYTES else {}
    return {1: physical, **size, 3: _OPTIONAL, 4: name.encode(), **meaning}


def _undone(kind: pa.DataType) -> pa.DataType:
    """The type of the entries of a dictionary; any other as it is."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _stored(name: str, kind: pa.DataType) -> tuple[int, dict[int, Content]]:
    """How the values of a column are stored, and the fields that say what they mean.

    These are fields of Parquet's SchemaElement, by number: 6 is the older name of a type, and 10
    the newer one; 7 and 8 are the scale and precision of decimals.
    """
    types = pa.types
    if types.is_boolean(kind):
        return _BOOLEAN, {}
    if types.is_float32(kind) or types.is_float64(kind):
        return _FLOAT if kind.bit_width == 32 else _DOUBLE, {}
    if types.is_string(kind):
        return _TEXT, {6: 0, 10: {1: {}}}
    if types.is_date32(kind):
        return _INT32, {6: 6, 10: {6: {}}}
    if types.is_integer(kind):
        bits, signed = kind.bit_width, types.is_signed_integer(kind)
        # In the format UINT_8 to UINT_64 are the types 11 to 14, and INT_8 to INT_64 15 to 18.
        converted = bits.bit_length() - 4 + (15 if signed else 11)
        logical = {10: {1: (3, bytes([bits])), 2: signed}}
        plain = signed and bits >= 32  # stored as they are, so nothing needs to be said
        meaning = {} if plain else {6: converted, 10: logical}
        return _INT64 if bits == 64 else _INT32, meaning
    if types.is_decimal128(kind) and kind.scale >= 0:
        logical = {5: {1: kind.scale, 2: kind.precision}}
        return _BYTES, {6: 5, 7: kind.scale, 8: kind.precision, 10: logical}
    if (types.is_time(kind) or types.is_timestamp(kind)) and kind.unit in ("ms", "us"):
        dated, fine = types.is_timestamp(kind), kind.unit == "us"
        zoned = dated and kind.tz is not None
        # Field 7 is a time and 8 a moment; in milliseconds (1) or microseconds (2).
        logical = {8 if dated else 7: {1: zoned, 2: {2 if fine else 1: {}}}}
        converted = (9 if dated else 7) + fine
        return _INT64 if dated or fine else _INT32, {6: converted, 10: logical}
    raise pa.ArrowNotImplementedError(
        f"the column {name!r} is of type {kind}, which a release does not hold; make it a text"
    )


def _width(kind: pa.DataType) -> int:
    """How many bytes hold all decimal numbers of a type."""
    return int((10**kind.precision - 1).bit_length() // 8 + 1)


def _chunk(name: str, column: pa.ChunkedArray, offset: int) -> tuple[bytes, Content]:
    """The bytes of a column in a row group, and what the footer says of them.

    The column begins at byte `offset` of the file. It is a page of rows; before it, if there are
    few distinct values, a page of these: rows then hold their codes.
    """
    array = column.unify_dictionaries().combine_chunks()
    kind = _undone(array.type)
    floating = pa.types.is_floating(kind)
    # A missing value among the distinct ones must be missing in the rows instead.
    if pa.types.is_dictionary(array.type) and (floating or array.dictionary.null_count):
        array = array.dictionary_decode()
    if floating:  # NaN has many bit patterns, which all print alike, and could hide data
        array = pc.if_else(pc.is_nan(array), pa.scalar(np.nan, kind), array)
    physical, _ = _stored(name, kind)
    # A bit for each row says whether it has a value; here one run of ones: no value is missing.
    runs = _varint(len(array) << 1) + b"\1"
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False).astype(np.uint16)
        runs = _runs(valid, 1)
    levels = len(runs).to_bytes(4, "little") + runs  # the format wants their length before them
    values = array.drop_null()
    coded = None if physical == _BOOLEAN else _coded(values)
    if coded is None:
        first, encoding, encodings = b"", _PLAIN, [_PLAIN, _RUNS]
        rows = levels + _plain(values)
    else:
        codes, entries = coded
        encoding, encodings = _BY_ENTRY, [_PLAIN, _RUNS, _BY_ENTRY]
        header = {1: len(entries), 2: _PLAIN}
        first = _page(_ENTRIES_PAGE, 7, header, _plain(entries))
        width = max((len(entries) - 1).bit_length(), 1)
        rows = levels + bytes([width]) + _runs(codes, width)
    # Numbers as keys are those of Parquet's fields, in DataPageHeader and in ColumnMetaData.
    header = {1: len(array), 2: encoding, 3: _RUNS, 4: _RUNS}
    content = first + _page(_DATA_PAGE, 5, header, rows)
    metadata: dict[int, Content] = {
        1: physical,
        2: encodings,
        3: [name.encode()],
        4: 0,  # no codec
        5: _int64(len(array)),
        6: _int64(len(content)),  # unpacked
        7: _int64(len(content)),  # packed: the same
        9: _int64(offset + len(first)),  # where the page of rows begins
    }
    if first:
        metadata[11] = _int64(offset)  # where that of distinct values begins
    return content, {2: _int64(0), 3: metadata}


def _page(kind: int, key: int, header: Content, content: bytes) -> bytes:
    """A page with its header; field `key` of this is the `header` of its kind."""
    if len(content) > _LONGEST:
        raise pa.ArrowCapacityError("a column has more than 2 GB of text in some rows")
    return _struct({1: kind, 2: len(content), 3: len(content), key: header})[1] + content


def _coded(values: pa.Array) -> tuple[Codes, pa.Array] | None:
    """The code of each value, and the distinct values in order.

    None if there are too many distinct values, or no values. A code is the position of the value
    among the distinct ones.
    """
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    # Only values that occur, each once: an unused or repeated one could tell of people elsewhere.
    entries = coded.dictionary.take(coded.indices.unique()).unique()
    if not 0 < len(entries) <= ENTRIES:
        return None
    entries = entries.take(pc.sort_indices(entries))  # or their order would tell that of the rows
    positions = pc.index_in(coded.dictionary, value_set=entries).fill_null(0)
    return positions.to_numpy().astype(np.uint16)[coded.indices.to_numpy()], entries


def _runs(numbers: Codes, width: int) -> bytes:
    """Numbers of `width` bits each as bytes: packed, or as runs of equal numbers if shorter.

    The format is Parquet's hybrid of both.
    """
    # Where runs of equal numbers begin; what stands before the first number differs from it.
    starts = np.flatnonzero(np.diff(numbers, prepend=~numbers[:1]))
    # How many groups of 8 numbers there are, and how many bytes a number of a run takes.
    groups, wide = -(-len(numbers) // 8), -(-width // 8)
    head = _varint(groups << 1 | 1)  # the last bit is 1 for packed numbers, and 0 for a run
    if len(starts) * (1 + wide) < len(head) + groups * width:
        # For each run, twice its length in at most three groups of seven bits, and its number.
        # Groups that are 0 are left out; each but the last has the bit that says that more follow.
        sevens = np.diff(starts, append=len(numbers))[:, None] << 1 >> np.arange(0, 21, 7)
        number = numbers[starts, None] >> np.arange(0, 8 * wide, 8)
        runs = np.hstack([sevens & 127 | (sevens > 127) << 7, number]).astype(np.uint8)
        return runs[np.hstack([sevens, number | 1]) > 0].tobytes()
    padded = np.zeros(groups * 8, np.uint64)
    padded[: len(numbers)] = numbers
    # Join neighbours, the first in the lower bits: two, then four, then eight numbers. With at most
    # 16 bits each, four of them fit into 64 bits; eight take two words, `low` and `high`.
    bits = np.uint64(width)
    twos = padded[0::2] | padded[1::2] << bits
    fours = twos[0::2] | twos[1::2] << 2 * bits
    low, high = fours[0::2], fours[1::2]
    eights = np.stack([low | high << 4 * bits, high >> 64 - 4 * bits], axis=1)
    # Eight numbers of `width` bits are `width` bytes, the first of each pair of words.
    return head + eights.view(np.uint8)[:, :width].tobytes()


def _plain(values: pa.Array) -> bytes:
    """Values one after the other as bytes, each text after its length: Parquet's plain encoding."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if pa.types.is_boolean(kind):
        return np.packbits(values.to_numpy(zero_copy_only=False), bitorder="little").tobytes()
    if pa.types.is_decimal(kind):
        sixteen_bytes = np.frombuffer(values.buffers()[1], np.uint8).reshape(-1, 16)
        rows = slice(values.offset, values.offset + len(values))
        # The highest byte comes first here, and only as many bytes as the precision needs.
        return sixteen_bytes[rows, _width(kind) - 1 :: -1].tobytes()
    if pa.types.is_string(kind):
        sizes = pc.binary_length(values).view(pa.binary(4)).cast(pa.binary())
        texts = pc.binary_join_element_wise(sizes, values.cast(pa.binary()), b"")
        return b"".join(texts.to_pylist())
    if kind.bit_width < 32:
        values = values.cast(pa.int32())
    return bytes(values.view(pa.int64() if kind.bit_width == 64 else pa.int32()).to_numpy())


def _varint(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    seven_bits = bytearray()
    while number > 127:
        seven_bits.append(number & 127 | 128)
        number >>= 7
    return bytes([*seven_bits, number])


def _int64(number: int) -> Field:
    return 6, _varint(number << 1)


def _field(content: Content) -> Field:
    """A field as Thrift's compact protocol writes it: the number of its type, and its bytes."""
    if isinstance(content, Mapping):
        return _struct(content)
    if isinstance(content, list):
        return _list(content)
    if isinstance(content, bytes):
        return 8, _varint(len(content)) + content
    if isinstance(content, bool):  # the type says which
        return 1 if content else 2, b""
    # Twice a whole number from 0 is its zigzag code; anything else is a field already.
    return (5, _varint(content << 1)) if isinstance(content, int) else content


def _list(items: Sequence[Content]) -> Field:
    """Items, all of one type."""
    fields = [*map(_field, items)]
    kind = fields[0][0] if fields else 12
    n_items = len(fields)
    size = bytes([n_items << 4 | kind]) if n_items < 15 else bytes([0xF0 | kind]) + _varint(n_items)
    return 9, size + b"".join(content for _, content in fields)


def _struct(fields: Mapping[int, Content]) -> Field:
    """A structure of fields, whose numbers are written as differences."""
    field_bytes, last = bytearray(), 0
    for number in sorted(fields):
        kind, content = _field(fields[number])
        field_bytes += bytes([number - last << 4 | kind]) + content
        last = number
    return 12, bytes(field_bytes) + b"\0"
