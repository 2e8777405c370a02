"""Encoding columns: codes into sorted distinct values, their types, and pairs of codes."""

import random
from collections import Counter
from datetime import UTC, date, datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from foreknow.data import arrays
from foreknow.data.arrays import count_pairs
from foreknow.data.engines.column_advice import nearly_all_read
from foreknow.data.engines.columns import codes_of, encode, narrowest
from foreknow_judge.errors import DataError


def encoded(values, kind=None, **more):
    return encode("c", pa.chunked_array([pa.array(values, kind)]), **more)


def decoded(column):
    return [column.domain[code] for code in column.codes.tolist()]


@examples(100, deadline=None)
@given(
    st.one_of(
        st.lists(st.none() | st.integers(-(2**60), 2**60), min_size=1),
        st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), min_size=1),
        st.lists(st.none() | st.dates(), min_size=1),
    ).filter(lambda values: values != [None] * len(values)),
    st.integers(1, 5),
    st.booleans(),
)
def test_codes_point_at_the_values_in_order(values, chunk, as_dictionary):
    whole = pa.array(values)
    parts = [whole.slice(i, chunk) for i in range(0, len(values), chunk)]
    parts = [part.dictionary_encode() for part in parts] if as_dictionary else parts
    column = encode("c", pa.chunked_array(parts))
    assert decoded(column) == values
    known = sorted({v for v in values if v is not None})
    assert column.domain == [None] * (None in values) + known
    assert column.has_null == (None in values)


@pytest.mark.parametrize(
    ("size", "bits"), [(1, 8), (255, 8), (256, 8), (257, 16), (65_536, 16), (65_537, 32)]
)
def test_codes_are_as_narrow_as_may_be(size, bits):
    assert narrowest(size) == np.dtype(f"uint{bits}")
    for values in ([*range(size), size - 1], [None, *range(size), 0, None]):
        column = encoded(values)
        assert column.codes.dtype.itemsize * 8 >= bits
        assert decoded(column) == values


def test_a_dictionary_is_what_its_rows_hold():
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


def test_columns_without_values():
    for array in (pa.chunked_array([], pa.string()), pa.chunked_array([pa.array([], pa.int8())])):
        column = encode("c", array)
        assert (column.domain, len(column.codes), column.has_null) == ([], 0, False)
    for more in ({}, {"declared": "text"}, {"untyped": True}):
        assert encoded([None, None], pa.null(), **more).domain == [None]


TYPED = [
    ([3, 1], "number"), ([1.5, 0.5], "number"), ([Decimal("2.50"), Decimal("1.00")], "number"),
    ([date(2024, 1, 2), date(2023, 1, 1)], "date"), ([time(12), time(11, 59)], "date"),
    ([datetime(2024, 1, 2, 3, 4), datetime(2023, 1, 1)], "date"), ([True, False], "text"),
    ([datetime(2024, 1, 2, tzinfo=UTC)], "date"), (["2", "10"], "text"), (["2024-01-01"], "text"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "kind"), TYPED, ids=str)
def test_typed_columns_keep_their_type(values, kind):
    column = encoded(values)
    assert column.kind == kind
    assert decoded(column) == values
    assert column.domain == sorted(values)


MOMENTS = ["2024-01-31", "2024-01-31T08:30", "2023-12-01 00:00:01.5"]
OF_MOMENTS = [datetime(2023, 12, 1, 0, 0, 1, 500_000), datetime(2024, 1, 31)]
LOOKS = [
    (["10", "9", "-3"], "number", [-3, 9, 10]), (["-0", "0"], "number", [0]),
    (["9" * 30], "number", [int("9" * 30)]), ([None, "5"], "number", [None, 5]),
    (["1.50", "1.5", "1"], "number", [1, Decimal("1.5")]),
    (["2024-01-31", "2023-12-01"], "date", [date(2023, 12, 1), date(2024, 1, 31)]),
    (MOMENTS, "date", [*OF_MOMENTS, datetime(2024, 1, 31, 8, 30)]),
]  # fmt: skip
TEXTS = [
    *(["007", "1"], ["00.5"], [".5", "1."], ["1", "1\n"], ["１"], ["1", "nan"], ["inf"], ["1_000"]),
    *(["2024-02-30"], ["2024-1-1"], ["2024-01-01 25:00"], ["2024", "2024-01-01"], ["0", "007"]),
    *(["1", "1e5"], ["+2", "1"], ["1,5", "2"], ["13", "1٣"], ["1.5", "1.٣"], ["false", "true"]),
    *(["2023-01-01", "2024-02-2٣"], ["1/2/2024", "3/4/2024"]),
]


@pytest.mark.parametrize(
    ("texts", "kind", "domain"), [*LOOKS, *((own, "text", own) for own in TEXTS)], ids=str
)
def test_texts_are_what_all_of_them_are(texts, kind, domain):
    column = encoded(texts, pa.string(), untyped=True)
    assert (column.kind, column.domain) == (kind, domain)
    if kind == "date":  # a date equals no date-time, but one number equals another
        assert [*map(type, column.domain)] == [*map(type, domain)]


@pytest.mark.parametrize("untyped", [False, True])
def test_a_declared_type_overrules(untyped):
    for values, declared, domain in (
        (["10", "9"], "number", [9, 10]),
        (["10", "9.5", None], "number", [None, Decimal("9.5"), 10]),
        ([10, 9], "text", ["10", "9"]),
        ([2.5], "number", [2.5]),
        ([date(2024, 1, 31), None], "text", [None, "2024-01-31"]),
        (["2024-01-31"], "date", [date(2024, 1, 31)]),
        (["2024-01-31 10:00"], "date", [datetime(2024, 1, 31, 10)]),
        ([date(2024, 1, 31)], "date", [date(2024, 1, 31)]),
    ):
        column = encoded(values, declared=declared, untyped=untyped)
        assert (column.kind, column.domain) == (declared, domain)


def test_a_value_of_another_type_is_named():
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


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
def test_codes_of_whole_numbers_are_those_of_a_dictionary(kind):
    for seed in range(20):
        draw, limits, chance = np.random.default_rng(seed), np.iinfo(kind), random.Random(seed)
        width = chance.choice([1, 100, 70_000])
        middle = limits.max // 2 + 1  # of those without a sign, where others end
        lowest = chance.choice([limits.min, max(limits.max - width, 0), middle - 1])
        most = min(int(limits.max), lowest + width)
        numbers = draw.integers(lowest, most, 300, dtype=kind, endpoint=True)
        array = pa.chunked_array([pa.array(numbers[:100]), pa.array(numbers[100:])])
        codes, found = codes_of(array)
        assert found.type == array.type
        assert sorted(found.to_pylist()) == sorted({*numbers.tolist()})
        assert found.take(pa.array(codes)).to_pylist() == numbers.tolist()


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


@examples(200)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(1, 9)), min_size=1, max_size=16
    ),
    st.booleans(),
)
def test_pairs_are_those_of_plain_counting(pairs, weighted):
    plain = Counter()
    for row, column, weight in pairs:
        plain[row, column] += weight if weighted else 1
    rows, columns, weights = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    # 5 x 7 cells and at most 16 pairs: in a table up to the limit, sorted when the limit is 0.
    for limits in ({}, {"_DENSE_LIMIT": 0}, {"_DENSE_LIMIT": 0, "_TABLE": 0}):
        with pytest.MonkeyPatch.context() as patch:
            for name, limit in limits.items():
                patch.setattr(arrays, name, limit)
            found = count_pairs(rows, columns, 5, 7, weights if weighted else None)
        assert told(found, 5) == sorted(plain.items())


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
