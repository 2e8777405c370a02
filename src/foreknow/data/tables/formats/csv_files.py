"""CSV files that anybody wrote: with any of the usual delimiters, and perhaps packed by gzip."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from foreknow.data.columns.reading_rules import DELIMITERS
from foreknow_judge.files.bounds import check_unpacked
from foreknow_judge.files.duckdb_files import CsvFile


class RawCsvFile(CsvFile):
    """A CSV file whose delimiter is the one that gives the most columns."""

    def __init__(self, path: Path, delimiters: str = DELIMITERS, name: str | None = None) -> None:
        """Find the delimiter among `delimiters`: the right one divides the header into most fields.

        `name` is what messages call the file; None: its own name.
        """
        self.path, self.name = path, name or path.name
        self.compression = "gzip" if path.suffix.lower() == ".gz" else "none"
        n_columns: dict[str, int] = {}  # by delimiter
        for delimiter in delimiters:
            with suppress(csv.Error):
                n_columns[delimiter] = len(self.header_by(delimiter))
        best_delimiter = max(n_columns, key=n_columns.__getitem__, default=delimiters[0])
        super().__init__(path, best_delimiter, name)

    def opened(self, mode: str, **how: Any) -> Any:
        """The file, open in a mode of reading; one that is packed is unpacked."""
        opener: Any = open if self.compression == "none" else gzip.open
        return opener(self.path, mode, **how)

    def blocks(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Yield the byte before a block, the block, and the byte after it, for the whole file.

        Raises an error for a packed file that unpacks to more than a table can hold.
        """
        size, unpacked = self.path.stat().st_size, 0
        for before, block, after in super().blocks():
            unpacked += len(block) if self.compression == "gzip" else 0
            check_unpacked(self.name, size, unpacked)
            yield before, block, after
