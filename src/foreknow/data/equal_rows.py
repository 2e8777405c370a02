"""Equal rows: a table that was read by its equal rows, and how many people each is."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from foreknow.data.keys import RowKeys, nearly_all_differ
from foreknow.data.raw_rows import RowsRead
from foreknow.data.tables.columns import codes_of, dictionary_of


def by_equal_rows(table_read: RowsRead) -> tuple[RowKeys, RowsRead] | None:
    """A table with equal rows once, and how often each occurs; None where nearly all differ.

    Working on different rows only saves time and memory, but not if there are as many of them.

    Returns
    -------
    keys : RowKeys
        The key of each row; equal rows have equal keys.
    by_rows : RowsRead
        One entry for each different key, in the order of keys.
    """
    columns = [*table_read.columns, *table_read.sensitives]
    other_names = table_read.other_columns.column_names
    other_columns = [codes_of(column) for column in table_read.other_columns.columns]
    row_codes = [column.codes for column in columns]
    row_codes += [codes for codes, _ in other_columns]
    if nearly_all_differ(row_codes):
        return None
    sizes = [len(column.domain) for column in columns]
    sizes += [len(values) for _, values in other_columns]
    rule_classes = table_read.rule_classes
    # What people cannot have by rules must be equal, too, for two rows to count as equal.
    if rule_classes is not None:
        row_codes = [rule_classes.codes, *row_codes]
        sizes = [len(rule_classes.surely), *sizes]
    keys = RowKeys(row_codes, sizes)
    distinct_keys, times = keys.count()
    # The codes of the different rows, column by column in the order of `row_codes`.
    new_codes = iter(keys.codes(distinct_keys))
    if rule_classes is not None:
        rule_classes = replace(rule_classes, codes=next(new_codes))
    columns = [replace(column, codes=next(new_codes)) for column in columns]
    # First come the quasi-identifiers, then the sensitive columns.
    n_quasi_identifiers = len(table_read.columns)
    sensitive, *further_sensitive = columns[n_quasi_identifiers:]
    other_arrays = [dictionary_of(next(new_codes), values) for _, values in other_columns]
    by_rows = replace(
        table_read,
        columns=columns[:n_quasi_identifiers],
        sensitive=sensitive,
        further_sensitive=tuple(further_sensitive),
        other_columns=pa.table(other_arrays, names=other_names),
        source_rows=None,
        times=times,
        n_entries=len(times),
        rule_classes=rule_classes,
        condition_columns=pa.table({}),
    )
    return keys, by_rows
