"""CSV files: their header, and DuckDB's reading of them held against the bytes of the file.

DuckDB drops spaces beside a quoted field, a delimiter too many at the end of a line, and a last
line that is longer than its buffer, all in silence. Here such files are refused.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.engine import Stamp, literal
from foreknow.errors import DataError

DELIMITERS = ",;\t|"
_BLOCK = 1 << 22
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
Places: TypeAlias = NDArray[np.intp]

_BOM = b"\xef\xbb\xbf"


class CsvFile:
    """A CSV file of one header line.

    Parameters
    ----------
    path : Path
    delimiters : str
        Of these, the delimiter is the one that makes most columns of the header.

    Attributes
    ----------
    path : Path
    header : list of str
        Names of columns, as they stand.
    delimiter : str
    stamp : Stamp
        Of the file before its header was read.
    """

    def __init__(self, path: Path, delimiters: str = DELIMITERS) -> None:
        self.path = path
        self.stamp = Stamp([path])
        self._gzip = path.suffix.lower() == ".gz"
        headers = {delimiter: self._header(delimiter) for delimiter in delimiters}
        self.delimiter = max(headers, key=lambda delimiter: len(headers[delimiter]))
        self.header = headers[self.delimiter]

    def _header(self, delimiter: str) -> list[str]:
        name = self.path.name
        opened = gzip.open if self._gzip else open
        try:
            with opened(self.path, "rt", encoding="utf-8-sig", newline="") as file:
                header = next(csv.reader(file, delimiter=delimiter), None)
                rest = "" if header else file.read(_BLOCK)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name} is not UTF-8 (byte {error.start + 1}); save it again as UTF-8"
            ) from None
        except csv.Error as error:
            raise DataError(f"{name}: the first line must name the columns: {error}") from None
        except (OSError, EOFError) as error:
            raise DataError(f"{name} cannot be read: {error}") from None
        if header:
            return header
        if rest.strip():
            raise DataError(f"{name}: the first line is empty; it must name the columns")
        raise DataError(f"{name} is empty; its first line must name the columns")

    def relation(self, connection: Any) -> Any:
        """Open it in DuckDB; every column is text, called c0, c1, ...

        An empty field is a null, and one in quotes is an empty text.
        """
        return connection.read_csv(
            literal(self.path),
            header=True,
            delimiter=self.delimiter,
            quotechar='"',
            escapechar='"',
            columns={f"c{i}": "VARCHAR" for i in range(len(self.header))},
            auto_detect=False,
            strict_mode=True,
            null_padding=False,
            allow_quoted_nulls=False,
            ignore_errors=False,
            hive_partitioning=False,
            compression="gzip" if self._gzip else "none",
        )

    def check(self, n_rows: int) -> None:
        """Raise `DataError` unless so many rows are all that the file holds, unchanged since."""
        found, name = self._shape, self.path.name
        if found.fields != found.records * len(self.header):
            line, fields = self._odd_line()
            raise DataError(
                f"{name}, line {line}: {fields} field{'s' if fields > 1 else ''} where the header "
                f"has {len(self.header)}"
            )
        if found.blank and len(self.header) == 1:
            raise DataError(
                f"{name} has one column and an empty line, which some readers skip and others take "
                'for a missing value; write "" or remove the line'
            )
        if found.records - 1 != n_rows:
            raise DataError(
                f"{name} has {found.records - 1} rows, but {n_rows} were read; is a line longer "
                "than 2 MB?"
            )
        self.stamp.check()

    def _odd_line(self) -> tuple[int, int]:
        """The first line with too many or too few fields, and how many they are."""
        opened = gzip.open if self._gzip else open
        with opened(self.path, "rt", encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=self.delimiter)
            for row in rows:
                if row and len(row) != len(self.header):
                    return rows.line_num, len(row)
        return 1, len(self.header)

    @cached_property
    def _shape(self) -> _Shape:
        shape = _Shape(self.path.name, self.delimiter)
        last = b""
        for before, block, after in self._blocks():
            shape.add(before, block, after)
            last = block[-1:]
        shape.finish(last)
        return shape

    def _blocks(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """The bytes of the file in blocks, each with the byte before and the one after it."""
        opened: Any = gzip.open if self._gzip else open
        try:
            with opened(self.path, "rb") as file:
                before, block = b"\n", file.read(_BLOCK).removeprefix(_BOM)
                while block:
                    later = file.read(_BLOCK)
                    yield before, block, later[:1] or b"\n"
                    before, block = block[-1:], later
        except (OSError, EOFError) as error:
            raise DataError(f"{self.path.name} cannot be read: {error}") from None


class _Shape:
    """How many records and fields there are; a quote that is out of place is a `DataError`."""

    def __init__(self, name: str, delimiter: str) -> None:
        self.records = self.fields = self.blank = 0
        self._name = name
        self._delimiter = ord(delimiter)
        self._lines = 1
        self._quoted = False  # whether the next byte is within quotes
        self._beside = np.zeros(256, dtype=bool)  # what may stand beside a quote that ends a field
        self._beside[[self._delimiter, _QUOTE, _NEWLINE, _RETURN]] = True

    def add(self, before: bytes, block: bytes, after: bytes) -> None:
        """Count a block."""
        around = np.frombuffer(before + block + after, np.uint8)
        previous, text = around[:-2], around[1:-1]
        ends = text == _NEWLINE
        after_end = previous == _NEWLINE
        if b"\r" in before + block:  # of \r\n, the first ends a line
            ends = (text == _RETURN) | (ends & (previous != _RETURN))
            after_end |= previous == _RETURN
        blank, delimiters = ends & after_end, text == self._delimiter
        if self._quoted or b'"' in block:
            quotes = text == _QUOTE
            self._refuse_stray(around, np.flatnonzero(quotes))
            outside = np.logical_xor.accumulate(quotes) == self._quoted
            ends, blank, delimiters = ends & outside, blank & outside, delimiters & outside
            self._quoted = not outside[-1]
        n_blank = int(np.count_nonzero(blank))
        records = int(np.count_nonzero(ends)) - n_blank
        self.blank += n_blank
        self.records += records
        self.fields += records + int(np.count_nonzero(delimiters))
        self._lines += _line_ends(text)

    def finish(self, last: bytes) -> None:
        """Count a last line without an end."""
        if self._quoted:
            raise DataError(f"{self._name}: a quote is not closed")
        if last not in (b"\n", b"\r"):
            self.records += 1
            self.fields += 1

    def _refuse_stray(self, around: NDArray[np.uint8], quotes: Places) -> None:
        """Raise `DataError` for a quote inside a field, or with a space or more beside it."""
        opening, closing = quotes[self._quoted :: 2], quotes[1 - self._quoted :: 2]
        stray = np.concatenate(
            [
                opening[~self._beside[around[opening]]],
                closing[~self._beside[around[closing + 2]]],
            ]
        )
        if len(stray):
            line = self._lines + _line_ends(around[1 : stray.min() + 1])
            raise DataError(
                f"{self._name}, line {line}: a quote with something beside it, such as a space; "
                'put the whole field in quotes, and write a quote in it twice, such as "say ""a"""'
            )


def _line_ends(text: NDArray[np.uint8]) -> int:
    return int(np.count_nonzero(text == _NEWLINE) or np.count_nonzero(text == _RETURN))
