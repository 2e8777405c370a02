"""An adversary who reads nothing but written files: labels, and the order of rows."""

import csv
from itertools import groupby

import pyarrow.parquet as pq


def rows_of(path):
    """The rows of a written table, a null as None."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    with path.open(encoding="utf-8", newline="") as file:
        return [{k: v or None for k, v in row.items()} for row in csv.DictReader(file)]


def blocks_of(path, columns, sensitive):
    """Sensitive values by runs of rows with equal labels: the groups that a reader sees."""
    runs = groupby(rows_of(path), key=lambda row: tuple(row[c] for c in columns))
    return [(labels, [row[sensitive] for row in rows]) for labels, rows in runs]


def parts_by_position(path, columns, sensitive, size):
    """The values of each run in parts of a group's size: what rows side by side may give away."""
    return [
        (labels, [values[i : i + size] for i in range(0, len(values), size)])
        for labels, values in blocks_of(path, columns, sensitive)
    ]
