"""Each row is found among what was counted, whatever its values are, or is said not to be there."""

import datetime as dt
import os
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foreknow.data.engines import lookup

CASES = 20_000 if os.environ.get("FOREKNOW_NIGHTLY") else 400
OTHER_NAN = np.array([0x7FF8000000000BAD]).view(np.float64)[0]
KINDS = {
    "text": ([None, "", "a", "A", "a ", " a", "\u00e4", "a\u0308", "nan", "null"], pa.string()),
    "double": ([None, 0.0, -0.0, 1.5, np.nan, OTHER_NAN, np.inf, 5e-324], pa.float64()),
    "float": ([None, 0.0, -0.0, 1.5, np.nan, 0.1], pa.float32()),
    "whole": ([None, 0, 1, -(2**63), 2**63 - 1], pa.int64()),
    "small": ([0, 1, -128, 127], pa.int8()),
    "bool": ([None, True, False], pa.bool_()),
    "date": ([None, dt.date(1899, 12, 31), dt.date(1980, 1, 1), dt.date(1980, 1, 2)], pa.date32()),
    "time": ([None, *(dt.datetime(1980, 1, 1, 0, 0, 0, i) for i in range(3))], pa.timestamp("us")),
    "decimal": ([None, Decimal("1.50"), Decimal("1.05"), Decimal("-0.01")], pa.decimal128(20, 2)),
}
LABELS = pa.table({"age": ["20-29", "30-39", None], "ward": ["x", "y", "y"]})


def comparable(value):
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return value


def table_of(random, rows, kinds):
    columns = {}
    for i, kind in enumerate(kinds):
        values, own = KINDS[kind]
        columns[f"k{i}"] = pa.array([values[j] for j in random.integers(0, len(values), rows)], own)
    return pa.table(columns)


def keys_of(table):
    return [tuple(map(comparable, row.values())) for row in table.to_pylist()]


def counted(table):
    """One row of each kind, as an engine gives them, and how often it occurs."""
    keys = keys_of(table)
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    order = list(first)
    times = Counter(keys)
    return table.take([first[key] for key in order]), np.array([times[key] for key in order]), order


def found_by(folder, batches, names):
    """The rows as a worker writes them, and what it says of them."""
    (folder / "token").write_text("this")
    told = [batch.to_pylist() for batch in lookup.by_row(folder, names, "note")(batches, "this")]
    rows = [row for said in told for row in said]
    tables = [pq.read_table(folder / row["file"]) for row in rows]
    return tables, sum(row["number"] for row in rows) % (1 << 64), sum(row["rows"] for row in rows)


@pytest.mark.parametrize("span", [1 << 62, 11, 60])
def test_rows_have_the_labels_of_their_entry(tmp_path, monkeypatch, span):
    random = np.random.default_rng(span % 101)
    for case in range(CASES // 40):
        monkeypatch.setattr(lookup, "_SPAN", span)
        monkeypatch.setattr(lookup, "_ROWS", int(random.integers(1, 40)))
        kinds = random.choice(list(KINDS), random.integers(1, 6))
        table = table_of(random, int(random.integers(1, 60)), kinds)
        entries, times, keys = counted(table)
        groups = random.integers(-1, len(LABELS), len(keys))
        folder = tmp_path / str(case)
        folder.mkdir()
        wanted = lookup.write_lookup(entries, times, groups, LABELS, folder)
        rows = table.add_column(0, "row", [pa.array(range(len(table)))])
        batches = rows.to_batches(int(random.integers(1, 20)))
        tables, weight, many = found_by(folder, batches, ["row", *LABELS.column_names])
        assert (weight, many) == (wanted[0] % (1 << 64), wanted[1])
        of_key = dict(zip(keys, groups, strict=True))
        label = [*LABELS.to_pylist(), {"age": None, "ward": None}]
        expected = [{"row": i, **label[of_key[key]]} for i, key in enumerate(keys_of(table))]
        assert [row for part in tables for row in part.to_pylist()] == expected


def test_other_rows_than_were_counted_are_noticed(tmp_path):
    random = np.random.default_rng(5)
    for case in range(CASES // 10):
        table = table_of(random, 30, random.choice(list(KINDS), 3))
        entries, times, keys = counted(table)
        folder = tmp_path / str(case)
        folder.mkdir()
        groups = np.zeros(len(keys), np.int64)
        wanted = lookup.write_lookup(entries, times, groups, LABELS, folder)
        # One row stands in the place of another, which may be new.
        values = list(table.slice(0, 1).to_pylist()[0].values())
        changed = int(random.integers(0, 3))
        own = table.schema.types[changed]
        values[changed] = next(v for v, kind in KINDS.values() if kind == own)[-1]
        new = [pa.array([v], t) for v, t in zip(values, table.schema.types, strict=True)]
        new = pa.table(new, names=table.column_names)
        other = pa.concat_tables([new, table.slice(1)])
        rows = other.add_column(0, "row", [pa.array(range(30))])
        tables, weight, many = found_by(folder, rows.to_batches(), ["row", *LABELS.column_names])
        assert many == wanted[1]
        assert ((weight - wanted[0]) % (1 << 64) == 0) == (keys_of(new)[0] == keys_of(table)[0])
        first = pa.concat_tables(tables).slice(0, 1).to_pylist()[0]
        assert first["age"] == ("20-29" if keys_of(new)[0] in keys else None)


def test_types_that_differ_in_name_only(tmp_path):
    at = [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None]
    entries = pa.table({"t": pa.array(at, pa.timestamp("us", "UTC")), "s": ["a", None]})
    wanted = lookup.write_lookup(entries, np.array([1, 1]), np.array([0, 1]), LABELS, tmp_path)
    rows = pa.table(
        {
            "row": [1, 2],
            "t": entries["t"].cast(pa.timestamp("us", "Europe/Rome")),
            "s": entries["s"].cast(pa.large_string()),
        }
    )
    tables, weight, many = found_by(tmp_path, rows.to_batches(), ["row", *LABELS.column_names])
    assert (weight, many) == (wanted[0] % (1 << 64), 2)
    assert tables[0]["age"].to_pylist() == ["20-29", "30-39"]


@pytest.mark.parametrize("span", [1 << 62, 3])
def test_a_value_that_is_new_is_no_other_one(tmp_path, monkeypatch, span):
    """Where all combinations occur, and one row has a value that nobody had in place of its own."""
    monkeypatch.setattr(lookup, "_SPAN", span)
    pairs = [(age, ward) for age in (30, 31) for ward in ("x", "y")]
    entries = pa.table(dict(zip(("age", "ward"), map(list, zip(*pairs, strict=True)), strict=True)))
    ones, groups = np.ones(4, np.int64), np.zeros(4, np.int64)
    wanted = lookup.write_lookup(entries, ones, groups, LABELS, tmp_path)
    for place in range(4):
        for new in ((pairs[place][0], "z"), (32, pairs[place][1]), (29, "y")):
            own = [*pairs[:place], new, *pairs[place + 1 :]]
            rows = pa.table([range(4), *zip(*own, strict=True)], names=["row", "age", "ward"])
            tables, weight, _ = found_by(tmp_path, rows.to_batches(), ["row", *LABELS.column_names])
            assert weight != wanted[0] % (1 << 64)
            labels = tables[0]["age"].to_pylist()
            assert labels == [None if i == place else "20-29" for i in range(4)]
