"""A relation whose rows are mostly different ones is fetched; what is counted is the same."""

from __future__ import annotations

import datetime as dt
import random

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.data.arrays import count_pairs
from foreknow.data.engines import duckdb_table
from foreknow.data.engines.column_advice import nearly_all_read
from foreknow.data.engines.columns import codes_of
from foreknow.data.engines.duckdb_table import DuckTable
from foreknow.data.labels import GroupLabels

_RUNS = 2_000 if NIGHTLY else 50
_DOMAINS = (
    ["f", "m", None],
    ["a", "b", "Ä", "", "a "],
    [0, 1, -3, None],
    [-(2**31), 2**31 - 1, 5],
    [2**62, -(2**62)],
    [True, False],
    [dt.date(2024, 1, day) for day in (1, 2, 3)],
    [0.5, 1.5, None],
    [float(i) for i in range(4)],
)


def _relation(table, columns):
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute(f"CREATE TABLE people AS SELECT {columns} FROM given")
    return connection.table("people")


def _same(one, other):
    assert one == other
    assert list(one.groups) == list(other.groups)


@pytest.mark.parametrize("seed", range(_RUNS))
def test_rows_that_are_fetched_are_counted_as_those_that_the_engine_counts(seed, monkeypatch):
    draw = random.Random(seed)
    n, many = draw.randint(1, 40), draw.randint(1, 3)
    columns = {f"c{i}": draw.choices(draw.choice(_DOMAINS), k=n) for i in range(many)}
    columns["ill"] = draw.choices(["x", "y", "z"], k=n)
    table = pa.table(columns)
    names = list(columns)[:-1]

    def counted(source):
        return fk.Release.from_generalized(source, quasi_identifiers=names, sensitive="ill").counts

    relation = _relation(table, "*")
    monkeypatch.setattr(DuckTable, "rarely_repeats", lambda *_: False)
    by_engine = counted(relation)
    monkeypatch.setattr(DuckTable, "rarely_repeats", lambda *_: True)
    monkeypatch.setattr(duckdb_table, "_BATCH", 3)
    _same(counted(relation), by_engine)
    _same(counted(table), by_engine)
    if isinstance(by_engine.groups, GroupLabels):
        for place, (own, codes) in enumerate(by_engine.groups.parts):
            assert [own[code] for code in codes] == [group[place] for group in by_engine.groups]
            assert len({repr(label) for label in own}) == len(own)


def test_only_tables_are_fetched_whose_rows_hardly_repeat(monkeypatch):
    monkeypatch.setattr(duckdb_table, "_SAMPLE", 1000)
    made = duckdb.connect()
    made.execute(
        "CREATE TABLE people AS SELECT hash(i) % 900 AS few, hash(i) % 20000 AS many, i AS id, "
        "'x' AS ill FROM range(100000) r(i)"
    )

    def fetched(relation, *columns):
        return DuckTable.of_relation(relation).rarely_repeats([*columns, "ill"])

    table = made.table("people")
    assert fetched(table, "id")
    assert fetched(table, "many")
    assert fetched(table, "few", "many")
    assert not fetched(table, "few")
    assert not fetched(table.limit(1000), "id")  # so few rows that it does not matter
    # What is more than a scan is not worked out twice.
    assert not fetched(table.order("id"), "id")
    assert not fetched(table.filter("id > 5"), "id")
    assert not fetched(made.sql("SELECT a.* FROM people a JOIN people b USING (id)"), "id")
    monkeypatch.setattr("foreknow.data.engines.table._ROWS_IN_MEMORY", 99_999)
    assert not fetched(table, "id")


def test_a_row_that_is_refused_is_named_where_rows_are_fetched(monkeypatch):
    monkeypatch.setattr(duckdb_table, "_SAMPLE", 4)
    table = pa.table({"gid": [*range(10), None], "ill": ["x"] * 11})
    release = fk.Release.from_groups(_relation(table, "*"), group="gid", sensitive="ill")
    with pytest.raises(fk.InputError, match=r"'gid' is missing \(row 11\)"):
        release.counts  # noqa: B018
    again = _relation(table.slice(0, 10), "*")  # and the connection is of use afterwards
    assert fk.Release.from_groups(again, group="gid", sensitive="ill").counts.n_groups == 10


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
@pytest.mark.parametrize("seed", range(20))
def test_codes_of_whole_numbers_are_those_of_a_dictionary(kind, seed):
    draw, limits = np.random.default_rng(seed), np.iinfo(kind)
    width = random.Random(seed).choice([1, 100, 70_000])
    middle = limits.max // 2 + 1  # of those without a sign, where others end
    lowest = random.Random(seed).choice([limits.min, max(limits.max - width, 0), middle - 1])
    most = min(int(limits.max), lowest + width)
    numbers = draw.integers(lowest, most, 300, dtype=kind, endpoint=True)
    array = pa.chunked_array([pa.array(numbers[:100]), pa.array(numbers[100:])])
    codes, found = codes_of(array)
    assert found.type == array.type
    assert len(set(found.to_pylist())) == len(found)
    assert set(found.to_pylist()) == set(numbers.tolist())
    assert found.take(pa.array(codes)).to_pylist() == numbers.tolist()


@pytest.mark.parametrize("seed", range(50))
def test_pairs_are_counted_alike_in_a_table_and_by_sorting(seed, monkeypatch):
    draw = np.random.default_rng(seed)
    rows, columns = draw.integers(0, 50, 400), draw.integers(0, 9, 400)
    found = count_pairs(rows, columns, 50, 9)
    monkeypatch.setattr("foreknow.data.arrays._DENSE_LIMIT", 0)
    monkeypatch.setattr("foreknow.data.arrays._TABLE", 0)
    for one, other in zip(found, count_pairs(rows, columns, 50, 9), strict=True):
        assert np.array_equal(one, other)


def test_texts_that_are_no_dates_are_told_by_few_of_them():
    texts = [f"group {i}" for i in range(100)]
    assert nearly_all_read(texts, [1] * 100) is None
    dates = [f"2024-01-{day:02}" for day in range(1, 20)]
    assert nearly_all_read([*dates, "odd"], [1] * 20) == ("dates", None, [*[True] * 19, False])
    assert nearly_all_read([*dates, "odd"], [1] * 19 + [2]) is None


def test_groups_of_many_sizes_have_the_sum_of_their_squares():
    counts = fk.GroupCounts.from_bags([["x"] * 3, ["x"], ["x"] * 3, ["y"] * 7])
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(1))])
    assert fk.audit(counts, policy).utility.discernibility == 9 + 1 + 9 + 49
