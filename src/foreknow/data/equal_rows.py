"""Equal rows: a table that was read by its equal rows, and how many people each is."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from foreknow.data.engines.columns import codes_of, dictionary_of
from foreknow.data.keys import Keys, nearly_all_differ
from foreknow.data.rows_read import RowsRead


def by_equal_rows(table_read: RowsRead) -> tuple[Keys, RowsRead] | None:
    """The keys of rows, and the table by rows of different keys; None where next to all differ."""
    columns = [*table_read.columns, *table_read.sensitives]
    other_codes = [codes_of(column) for column in table_read.other_columns.columns]
    firings = [] if table_read.fired is None else [table_read.fired]
    row_codes = [column.codes for column in columns] + [codes for codes, _ in other_codes]
    if nearly_all_differ(row_codes):
        return None
    keys = Keys(
        [
            *(firing.codes for firing in firings),
            *row_codes,
        ],
        [
            *(len(firing.surely) for firing in firings),
            *(len(column.domain) for column in columns),
            *(len(values) for _, values in other_codes),
        ],
    )
    distinct_keys, times = keys.counted()
    codes = iter(keys.codes(distinct_keys))
    firings = [replace(firing, codes=next(codes)) for firing in firings]
    columns = [replace(column, codes=next(codes)) for column in columns]
    sensitive, *further_sensitive = columns[len(table_read.columns) :]
    by_rows = replace(
        table_read,
        columns=columns[: len(table_read.columns)],
        sensitive=sensitive,
        further_sensitive=tuple(further_sensitive),
        other_columns=pa.table(
            [
                dictionary_of(code, values)
                for code, (_, values) in zip(codes, other_codes, strict=True)
            ],
            names=table_read.other_columns.column_names,
        ),
        source_rows=None,
        times=times,
        n_entries=len(times),
        fired=next(iter(firings), None),
        condition_columns=pa.table({}),
    )
    return keys, by_rows
