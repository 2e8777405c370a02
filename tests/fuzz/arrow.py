"""Parquet as Arrow reads it plainly, counted with dictionaries: shares no code with the library."""

import pyarrow as pa
import pyarrow.parquet as pq


def counts(path, groups, sensitive="disease", nulls=True):
    """Groups with their bags, as `readings.counts` gives them; a ValueError where it cannot be.

    NaN and null are one missing value, minus zero is zero.
    """
    try:
        file = pq.ParquetFile(path)
        names = file.schema_arrow.names
        table = file.read(columns=[*groups, sensitive])
        table.validate(full=True)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise ValueError(f"Arrow says {error}") from None
    if len(set(names)) < len(names) or "" in names:
        raise ValueError("column names are empty or not distinct")
    if not {*groups, sensitive} <= set(table.column_names) or not len(table):
        raise ValueError("there are no such columns, or no rows")
    keys = [labels(table.column(name)) for name in groups]
    found = {}
    for *group, value in zip(*keys, labels(table.column(sensitive)), strict=True):
        if value is None or (not nulls and None in group):
            raise ValueError("a null where none may be")
        bag = found.setdefault(tuple(group), {})
        bag[value] = bag.get(value, 0) + 1
    return [
        [[text(part) for part in group], [[text(v), many] for v, many in bag.items()]]
        for group, bag in found.items()
    ]


def labels(column):
    """The cells of a column as what makes them one value."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_duration(kind):
        raise ValueError(f"{kind} is no plain type")
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        width = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        return column.cast(width).to_pylist()
    if pa.types.is_date(kind):
        return column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64()).to_pylist()
    cells = column.to_pylist()
    return [None if cell is None or cell != cell else cell for cell in cells]


def text(label):
    return None if label is None else str(label)
