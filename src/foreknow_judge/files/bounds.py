"""Bounds: how large files may be, so that a small file cannot cost hours or all memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from foreknow_judge.errors import DataError

# Microdata have some hundreds of columns; with a hundred thousand, their names alone take minutes.
MOST_COLUMNS = 20_000
# DuckDB reads lines of up to 2 MB; names of 20,000 columns, of 100 letters each, are as long.
HEADER_BYTES = 2 << 20
# A value is a word, or a letter that somebody wrote; this is ten letters of 100,000 characters.
VALUE_BYTES = 1 << 20
# A file below this, unpacked, is read by any machine in seconds.
UNPACKED_BYTES = 1 << 28
# Packing shrinks real tables to a tenth, sorted ones to a hundredth, empty ones to a thousandth.
TIMES_SMALLER = 500

_BLOCK = 1 << 20


def short_lines(file: Any, name: str, *, of_header: bool = False) -> Iterator[str]:
    """Yield the lines of a CSV file, and refuse one longer than 2 MB.

    A header may have several lines, if names are in quotes: `of_header`, all count together.
    """
    length = 0
    for number in count(1):
        line = file.readline(HEADER_BYTES + 1)  # no more, however long the line is
        length = len(line) + (length if of_header else 0)
        if length > HEADER_BYTES:
            where = "line 1, which names the columns" if of_header else f"line {number}"
            raise DataError("long-line", name, place=where)
        if not line:
            return
        yield line


def check_columns(n_columns: int, name: str) -> None:
    """Raise `DataError` for a table with more columns than any real one."""
    if n_columns > MOST_COLUMNS:
        raise DataError("too-many-columns", name, columns=n_columns, most=MOST_COLUMNS)


def check_parquet(path: Path) -> None:
    """Raise `DataError` for a Parquet file with too many columns, or that unpacks to too much.

    All this stands in the footer of the file, so nothing is unpacked here.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pa.OSFile(str(path)) as file:
            metadata, size = pq.ParquetFile(file).metadata, file.size()
            check_columns(metadata.num_columns, path.name)
            if sum(map(len, metadata.schema.names)) > HEADER_BYTES:
                raise DataError("long-line", path.name, place="the names of the columns")
            unpacked = sum(
                metadata.row_group(group).total_byte_size
                for group in range(metadata.num_row_groups)
            )
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return  # reading it will say what is wrong
    check_unpacked(path.name, size, unpacked)


def sql_with_length_check(column: str, what: str) -> str:
    """SQL for DuckDB that gives a text column, and raises an error where a text is too long.

    `what` begins the message.
    """
    message = (
        f"{what} holds a text of over {VALUE_BYTES:,} bytes; shorten it or leave the column out"
    )
    quoted_message = "'" + message.replace("'", "''") + "'"
    return (
        f"CASE WHEN strlen({column}) > {VALUE_BYTES} THEN error({quoted_message}) ELSE {column} END"
    )


def check_unpacked(name: str, size: int, unpacked: int) -> None:
    """Raise `DataError` for a packed file that holds more than any real table of its size."""
    if unpacked > max(UNPACKED_BYTES, TIMES_SMALLER * size):
        raise DataError("unpacks-too-large", name, size=size, unpacked=unpacked)
