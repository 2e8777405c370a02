"""What DuckDB counts of a relation is what is counted of its rows here."""

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


@pytest.mark.parametrize("seed", range(_RUNS))
def test_relations_count_as_their_rows(seed, monkeypatch):
    monkeypatch.setattr(duckdb_table, "_BATCH", 3)
    draw = random.Random(seed)
    n, many = draw.randint(1, 40), draw.randint(1, 3)
    columns = {f"c{i}": draw.choices(draw.choice(_DOMAINS), k=n) for i in range(many)}
    columns["ill"] = draw.choices(["x", "y", "z"], k=n)
    table = pa.table(columns)
    names = list(columns)[:-1]

    def counted(source):
        return fk.Release.from_generalized(source, quasi_identifiers=names, sensitive="ill").counts

    here, there = counted(table), counted(duckdb.connect().from_arrow(table))
    assert there == here
    assert list(there.groups) == list(here.groups)
    if isinstance(there.groups, GroupLabels):
        for place, (own, codes) in enumerate(there.groups.parts):
            assert [own[code] for code in codes] == [group[place] for group in there.groups]
            assert len({repr(label) for label in own}) == len(own)


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
