"""Encoding columns: codes into sorted distinct values, their types, and pairs of codes."""

from collections import Counter
from datetime import UTC, date, datetime, time

import numpy as np
import pyarrow as pa
import pytest

from foreknow.data import arrays
from foreknow.data.arrays import count_pairs
from foreknow.data.engines.column_advice import nearly_all_read, separator_of
from foreknow.data.engines.columns import encode
from foreknow_judge.errors import DataError


def encoded(values, kind=None, **more):
    return encode("c", pa.chunked_array([pa.array(values, kind)]), **more)


def decoded(column):
    return [column.domain[code] for code in column.codes.tolist()]


def test_dictionaries_match_rows():
    for codes, entries, domain, rows in (
        ([3, 3, 1], ["unused", "b", "also", "a"], ["a", "b"], ["a", "a", "b"]),
        ([0, 2, 1, None], ["a", "b", "a"], [None, "a", "b"], ["a", "a", "b", None]),
        ([0, 1, None], ["a", None], [None, "a"], ["a", None, None]),
        ([0, 1, 2], [2.5, float("nan"), 1.0], [None, 1.0, 2.5], [2.5, None, 1.0]),
    ):
        array = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(entries))
        column = encode("c", pa.chunked_array([array]))
        assert (column.domain, decoded(column)) == (domain, rows)
    parts = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]
    column = encode("c", pa.chunked_array(parts))
    assert (column.domain, decoded(column)) == (["a", "b", "c"], ["b", "a", "c", "b"])
    assert [column.first_row(code) for code in range(3)] == [2, 1, 3]  # rows count from one
    nano = pa.array([2001, 2000, 2001], pa.timestamp("ns")).dictionary_encode()
    assert encode("c", pa.chunked_array([nano])).codes.tolist() == [1, 0, 1]


def test_foreign_types_are_named():
    for values, declared, row, shown in (
        (["1", "x", "1"], "number", 2, "'x'"), (["1", "007"], "number", 2, "'007'"),
        (["1", "1,5"], "number", 2, "'1,5'"), (["1.5", None, "x"], "number", 3, "'x'"),
        ([True], "number", 1, "True"), ([date(2024, 1, 31)], "number", 1, "datetime.date"),
        (["2024-01-31", "2024-02-30"], "date", 2, "'2024-02-30'"),
        (["31.1.2024"], "date", 1, r"'31\.1\.2024'"), ([20240131], "date", 1, "20240131"),
    ):  # fmt: skip
        says = f"column 'c' must hold a {declared} in every row, but row {row} holds {shown}"
        with pytest.raises(DataError, match=says):
            encoded(values, declared=declared)


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        (pa.timestamp("ns"), datetime(1970, 1, 1, 0, 0, 0, 2)),
        (pa.timestamp("ns", "UTC"), datetime(1970, 1, 1, 0, 0, 0, 2, tzinfo=UTC)),
        (pa.time64("ns"), time(0, 0, 0, 2)),
    ],
    ids=str,
)
def test_nanoseconds_are_times_or_texts(kind, whole):
    column = encoded([2000, None, 2000], kind)
    assert (column.kind, column.domain, column.codes.tolist()) == ("date", [None, whole], [1, 0, 1])
    column = encoded([2001, 2000, None, 1999], kind)
    assert (column.kind, column.codes.tolist()) == ("text", [3, 2, 0, 1])
    ends = [str(text).rstrip("Z")[-9:] for text in column.domain[1:]]
    assert ends == ["000001999", "000002000", "000002001"]


def test_few_texts_tell_no_dates():
    assert nearly_all_read([f"group {i}" for i in range(100)], [1] * 100) is None
    dates = [f"2024-01-{day:02}" for day in range(1, 20)]
    assert nearly_all_read([*dates, "odd"], [1] * 20) == ("dates", None, [*[True] * 19, False])
    assert nearly_all_read([*dates, "odd"], [1] * 19 + [2]) is None


# ---- pairs of codes ------------------------------------------------------------------------------


def told(pairs, n_rows):
    """Of what is counted, each cell and how often it occurs, in order."""
    offsets, columns, counts = pairs
    row_of = np.repeat(np.arange(n_rows), np.diff(offsets)).tolist()
    return [*zip(zip(row_of, columns.tolist(), strict=True), counts.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("n_columns", "weighed", "block"),
    [(3, False, 1000), (3, True, 1 << 18), (70_000, True, 1000), (2**33, False, 1 << 18),
     (2**33, True, 1000), (70_000, False, 1 << 18)],
)  # fmt: skip
def test_pairs_of_however_many_bits(monkeypatch, n_columns, weighed, block):
    monkeypatch.setattr(arrays, "_BLOCK", block)
    random, n_rows, n = np.random.default_rng(n_columns), 5000, 4000
    rows, columns = random.integers(0, n_rows, n), random.integers(0, n_columns, n)
    rows, columns = np.repeat(rows, 2), np.repeat(columns, 2)
    weights = random.integers(1, 9, 2 * n) if weighed else None
    plain = Counter()
    times = [1] * 2 * n if weights is None else weights.tolist()
    for row, column, weight in zip(rows.tolist(), columns.tolist(), times, strict=True):
        plain[row, column] += weight
    found = count_pairs(rows, columns, n_rows, n_columns, weights)
    assert told(found, n_rows) == sorted(plain.items())


def test_narrow_codes_do_not_overflow():
    rows, columns = np.array([200, 255], dtype=np.uint8), np.array([3, 65_535], dtype=np.uint16)
    offsets, found, counts = count_pairs(rows, columns, 256, 65_536)
    assert (found.tolist(), counts.tolist()) == ([3, 65_535], [1, 1])
    assert (offsets[200], offsets[201], offsets[256]) == (0, 1, 2)


def test_one_combination_is_several_answers():
    assert separator_of(["A01; B02", "A01", "B02"], [50, 60, 60]) == ";"
    assert separator_of(["flu|", "cold|", "flu|cold"], [1, 1, 1]) == "|"
    for texts in (["Diabetes, type 2", "Diabetes"], ["A01;B02", "A01"], ["|", "flu"]):
        assert not separator_of(texts, [5, 5])
