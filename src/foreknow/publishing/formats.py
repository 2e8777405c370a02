"""Formats: how tables of a release become files of CSV or Parquet, and what these cannot tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from foreknow.certificates import Certificate
from foreknow.data.microdata import Microdata
from foreknow.data.prepare import header_of_shuffled
from foreknow.data.tables.views.plain_columns import bare
from foreknow.data.tables.writers import write_csv, write_in_parts
from foreknow.errors import OutputError
from foreknow.policy.options import PublishOptions
from foreknow.policy.policy import Policy


@dataclass(frozen=True)
class Parquet:
    """Files that keep types, and tell a missing value from an empty text."""

    options: PublishOptions
    typed: ClassVar[bool] = True

    def refuse_texts(self, microdata: Microdata, policy: Policy) -> None:
        """Refuse texts that a file cannot tell apart."""

    def refuse_rows(self, tables: Mapping[str, pa.Table]) -> None:
        """Refuse tables whose rows a reader would not find again."""

    def spelling(self, numeric: Iterable[str]) -> dict[str, Any]:
        """How files spell texts and numbers, in the words of `Certificate`."""
        return {}

    def write(self, certificate: Certificate, tables: Iterable[pa.Table], path: Path) -> list[Path]:
        """Write a table, in one file or several, spelled as the format says."""
        return write_in_parts(map(bare, tables), path, self.options.rows_per_part)


class Csv(Parquet):
    """Files of texts."""

    typed = False

    def refuse_texts(self, microdata: Microdata, policy: Policy) -> None:
        """Refuse an empty text in a column, if a CSV file cannot tell it from a missing value."""
        for name in policy.known_other:
            column = microdata.other().column(name)
            if column.null_count and "" in column.unique().to_pylist():
                raise OutputError(
                    f"the column {name!r}, which may be known, has both empty texts and missing "
                    f"values, which CSV cannot tell apart; give one of them a label, or "
                    'publish as format = "parquet"'
                )
        domains = {a.name: a.domain for a in microdata.attributes}
        sensitive = {column.name: column.domain for column in microdata.sensitives}
        for name, domain in {**domains, **sensitive}.items():
            if "" in domain:
                what = f"value of {name!r}" if name in domains else "sensitive value"
                raise OutputError(
                    f"the empty text is a {what}, which CSV cannot tell from a missing one; "
                    'give it a label, or publish as format = "parquet"'
                )

    def refuse_rows(self, tables: Mapping[str, pa.Table]) -> None:
        """Refuse a missing value that has a line for itself, which many readers skip."""
        for table in tables.values():
            if table.num_columns == 1 and table.column(0).null_count:
                raise OutputError(
                    f"the only column {table.column_names[0]!r} of the people would have empty "
                    'lines where it is missing, which readers skip; publish as format = "parquet"'
                )

    def spelling(self, numeric: Iterable[str]) -> dict[str, Any]:
        """How files spell texts and numbers."""
        return {
            "escaped": self.options.escape_formulas,
            "commas": numeric if self.options.decimal == "," else (),
            "delimiter": self.options.delimiter or ",",
        }

    def write(self, certificate: Certificate, tables: Iterable[pa.Table], path: Path) -> list[Path]:
        """Write a table, given in parts, in one file; return its path in a list.

        Decimals have commas in the columns that the certificate names.
        """
        with_commas = []
        for name in certificate.commas:
            with_commas += [name, header_of_shuffled(name)]
        write_csv(
            tables,
            path,
            escape_formulas=certificate.escaped,
            delimiter=certificate.delimiter,
            commas=with_commas,
            bom=bool(self.options.bom),
        )
        return [path]


_FORMATS = {"csv": Csv, "parquet": Parquet}


def format_of(options: PublishOptions) -> Parquet:
    """The format of a release."""
    return _FORMATS[str(options.format)](options)
