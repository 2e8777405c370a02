"""Rows of a cluster: each is found among what was counted, or is said not to be there."""

import datetime as dt
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.common import NIGHTLY

from foreknow.features.spark import lookup

CASES = 20_000 if NIGHTLY else 400
OTHER_NAN = np.array([0x7FF8000000000BAD]).view(np.float64)[0]
MOMENTS = [dt.datetime(1980, 1, 1, 0, 0, 0, i) for i in range(3)]
DAYS = [dt.date(1899, 12, 31), dt.date(1980, 1, 1), dt.date(1980, 1, 2)]
AMOUNTS = [Decimal("1.50"), Decimal("1.05"), Decimal("-0.01")]
KINDS = [
    ([None, "", "a", "A", "a ", " a", "\u00e4", "a\u0308", "nan", "null"], pa.string()),
    ([None, 0.0, -0.0, 1.5, np.nan, OTHER_NAN, np.inf, 5e-324], pa.float64()),
    ([None, 0.0, -0.0, 1.5, np.nan, 0.1], pa.float32()), ([0, 1, -128, 127], pa.int8()),
    ([None, 0, 1, -(2**63), 2**63 - 1], pa.int64()), ([None, True, False], pa.bool_()),
    ([None, *DAYS], pa.date32()), ([None, *MOMENTS], pa.timestamp("us")),
    ([None, *AMOUNTS], pa.decimal128(20, 2)),
]  # fmt: skip
LABELS = pa.table({"age": ["20-29", "30-39", None], "ward": ["x", "y", "y"]})
SHOWN = ["row", *LABELS.column_names]


def drawn(draw, rows, many):
    """A table with columns of some kinds."""
    kinds = [KINDS[i] for i in draw.integers(0, len(KINDS), many)]
    own = [pa.array([v[j] for j in draw.integers(0, len(v), rows)], kind) for v, kind in kinds]
    return pa.table(own, [f"k{i}" for i in range(many)])


def keys_of(table):
    def comparable(value):
        if isinstance(value, float):
            return "NaN" if value != value else value + 0.0
        return value

    return [tuple(map(comparable, row.values())) for row in table.to_pylist()]


def counted(table):
    """One row of each kind, as an engine gives them, and how often it occurs."""
    keys = keys_of(table)
    first = {key: i for i, key in reversed([*enumerate(keys)])}
    times = Counter(keys)
    return table.take([*first.values()]), np.array([times[key] for key in first]), [*first]


def looked_up(folder, table, size=None):
    """The rows as a worker writes them, and what it says of them."""
    rows = table.add_column(0, "row", [pa.array(range(len(table)))])
    (folder / "token").write_text("this")
    by_row = lookup.by_row(folder, SHOWN, "note")
    told = [row for batch in by_row(rows.to_batches(size), "this") for row in batch.to_pylist()]
    results = [row for own in told for row in pq.read_table(folder / own["file"]).to_pylist()]
    return results, sum(own["number"] for own in told) % (1 << 64), sum(own["rows"] for own in told)


@pytest.mark.parametrize("span", [1 << 62, 11, 60])
def test_rows_keep_their_labels(tmp_path, monkeypatch, span):
    draw = np.random.default_rng(span % 101)
    monkeypatch.setattr(lookup, "_SPAN", span)
    for case in range(CASES // 40):
        monkeypatch.setattr(lookup, "_ROWS", int(draw.integers(1, 40)))
        table = drawn(draw, int(draw.integers(1, 60)), int(draw.integers(1, 6)))
        entries, times, keys = counted(table)
        groups = draw.integers(-1, len(LABELS), len(keys))
        (folder := tmp_path / str(case)).mkdir()
        weight, many = lookup.write_lookup(entries, times, groups, LABELS, folder)
        result = looked_up(folder, table, int(draw.integers(1, 20)))
        label = [*LABELS.to_pylist(), {"age": None, "ward": None}]
        of_key = dict(zip(keys, groups, strict=True))
        rows = [{"row": i, **label[of_key[key]]} for i, key in enumerate(keys_of(table))]
        assert result == (rows, weight % (1 << 64), many)


def test_changed_rows_are_noticed(tmp_path):
    draw = np.random.default_rng(5)
    for case in range(CASES // 10):
        table = drawn(draw, 30, 3)
        entries, times, keys = counted(table)
        (folder := tmp_path / str(case)).mkdir()
        groups = np.zeros(len(keys), np.int64)
        weight, many = lookup.write_lookup(entries, times, groups, LABELS, folder)
        # One row stands in the place of another, which may be new.
        values, kinds = [*table.slice(0, 1).to_pylist()[0].values()], table.schema.types
        changed = int(draw.integers(0, 3))
        values[changed] = next(own for own, kind in KINDS if kind == kinds[changed])[-1]
        new = [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)]
        other = pa.concat_tables([pa.table(new, table.column_names), table.slice(1)])
        result = looked_up(folder, other)
        assert result[2] == many
        same = keys_of(other)[0] == keys_of(table)[0]
        assert ((result[1] - weight) % (1 << 64) == 0) == same
        assert result[0][0]["age"] == ("20-29" if keys_of(other)[0] in keys else None)


@pytest.mark.parametrize("span", [1 << 62, 3])
def test_new_values_stay_distinct(tmp_path, monkeypatch, span):
    """Where all combinations occur, and one row has a value that nobody had in place of its own."""
    monkeypatch.setattr(lookup, "_SPAN", span)
    pairs = [(age, ward) for age in (30, 31) for ward in ("x", "y")]

    def of(rows):
        return pa.table([[*own] for own in zip(*rows, strict=True)], ["age", "ward"])

    ones, groups = np.ones(4, np.int64), np.zeros(4, np.int64)
    weight, _ = lookup.write_lookup(of(pairs), ones, groups, LABELS, tmp_path)
    for place, (age, ward) in enumerate(pairs):
        for new in ((age, "z"), (32, ward), (29, "y")):
            rows, found, _ = looked_up(tmp_path, of([*pairs[:place], new, *pairs[place + 1 :]]))
            assert found != weight % (1 << 64)
            labels = [row["age"] for row in rows]
            assert labels == [None if i == place else "20-29" for i in range(4)]
