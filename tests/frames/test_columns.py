"""Encoding columns: codes into sorted distinct values, and what type they are of."""

import random
from datetime import UTC, date, datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import foreknow as fk
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
def test_codes_point_at_the_values_in_ascending_order_nulls_first(values, chunk, as_dictionary):
    whole = pa.array(values)
    parts = [whole.slice(i, chunk) for i in range(0, len(values), chunk)]
    if as_dictionary:
        parts = [part.dictionary_encode() for part in parts]
    column = encode("c", pa.chunked_array(parts))
    assert decoded(column) == values
    known = sorted({v for v in values if v is not None})
    assert column.domain == [None] * (None in values) + known
    assert column.has_null == (None in values)


@pytest.mark.parametrize(
    ("size", "bits"), [(1, 8), (255, 8), (256, 8), (257, 16), (65_536, 16), (65_537, 32)]
)
def test_codes_are_as_narrow_as_the_number_of_values_allows(size, bits):
    assert narrowest(size) == np.dtype(f"uint{bits}")
    for values in ([*range(size), size - 1], [None, *range(size), 0, None]):
        column = encoded(values)
        assert column.codes.dtype.itemsize * 8 >= bits
        assert decoded(column) == values


@pytest.mark.parametrize(
    ("codes", "entries", "domain", "rows"),
    [
        ([3, 3, 1], ["unused", "b", "also", "a"], ["a", "b"], ["a", "a", "b"]),
        ([0, 2, 1, None], ["a", "b", "a"], [None, "a", "b"], ["a", "a", "b", None]),
        ([0, 1, None], ["a", None], [None, "a"], ["a", None, None]),
        ([0, 1, 2], [2.5, float("nan"), 1.0], [None, 1.0, 2.5], [2.5, None, 1.0]),
    ],
)
def test_a_dictionary_is_what_its_rows_hold(codes, entries, domain, rows):
    array = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(entries))
    column = encode("c", pa.chunked_array([array]))
    assert (column.domain, decoded(column)) == (domain, rows)


def test_chunks_with_different_dictionaries_share_codes_and_rows_count_from_one():
    parts = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]
    column = encode("c", pa.chunked_array(parts))
    assert (column.domain, decoded(column)) == (["a", "b", "c"], ["b", "a", "c", "b"])
    assert [column.first_row(code) for code in range(3)] == [2, 1, 3]
    nano = pa.array([2001, 2000, 2001], pa.timestamp("ns")).dictionary_encode()
    assert encode("c", pa.chunked_array([nano])).codes.tolist() == [1, 0, 1]


def test_a_column_without_rows_or_chunks_has_no_values():
    for array in (pa.chunked_array([], pa.string()), pa.chunked_array([pa.array([], pa.int8())])):
        column = encode("c", array)
        assert (column.domain, len(column.codes), column.has_null) == ([], 0, False)


@pytest.mark.parametrize("more", [{}, {"declared": "text"}, {"untyped": True}])
def test_a_column_of_the_null_type_is_all_null(more):
    assert encoded([None, None], pa.null(), **more).domain == [None]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3, 1], "number"),
        ([1.5, 0.5], "number"),
        ([Decimal("2.50"), Decimal("1.00")], "number"),
        ([date(2024, 1, 2), date(2023, 1, 1)], "date"),
        ([datetime(2024, 1, 2, 3, 4), datetime(2023, 1, 1)], "date"),
        ([datetime(2024, 1, 2, tzinfo=UTC)], "date"),
        ([time(12), time(11, 59)], "date"),
        (["2", "10"], "text"),
        (["2024-01-01"], "text"),
        ([True, False], "text"),
    ],
    ids=str,
)
def test_typed_columns_keep_their_type_and_sort_by_it(values, kind):
    column = encoded(values)
    assert column.kind == kind
    assert decoded(column) == values
    assert column.domain == sorted(values)


@pytest.mark.parametrize(
    ("texts", "kind", "domain"),
    [
        (["10", "9", "-3"], "number", [-3, 9, 10]),
        (["-0", "0"], "number", [0]),
        (["9" * 30], "number", [int("9" * 30)]),
        (["1.50", "1.5", "1"], "number", [1, Decimal("1.5")]),
        (["007", "1"], "text", ["007", "1"]),
        (["00.5"], "text", ["00.5"]),
        ([".5", "1."], "text", [".5", "1."]),
        (["1\n", "1"], "text", ["1", "1\n"]),
        (["１"], "text", ["１"]),
        (["nan", "1"], "text", ["1", "nan"]),
        (["inf"], "text", ["inf"]),
        (["1_000"], "text", ["1_000"]),
        (["2024-01-31", "2023-12-01"], "date", [date(2023, 12, 1), date(2024, 1, 31)]),
        (
            ["2024-01-31", "2024-01-31T08:30", "2023-12-01 00:00:01.5"],
            "date",
            [
                datetime(2023, 12, 1, 0, 0, 1, 500_000),
                datetime(2024, 1, 31),
                datetime(2024, 1, 31, 8, 30),
            ],
        ),
        (["2024-02-30"], "text", ["2024-02-30"]),
        (["2024-1-1"], "text", ["2024-1-1"]),
        (["2024-01-01 25:00"], "text", ["2024-01-01 25:00"]),
        (["2024", "2024-01-01"], "text", ["2024", "2024-01-01"]),
        ([None, "5"], "number", [None, 5]),
        (["0", "007"], "text", ["0", "007"]),
        (["1", "1e5"], "text", ["1", "1e5"]),
        (["1", "+2"], "text", ["+2", "1"]),
        (["1,5", "2"], "text", ["1,5", "2"]),
        (["1٣", "13"], "text", ["13", "1٣"]),
        (["1.٣", "1.5"], "text", ["1.5", "1.٣"]),
        (["2024-02-2٣", "2023-01-01"], "text", ["2023-01-01", "2024-02-2٣"]),
        (["1/2/2024", "3/4/2024"], "text", ["1/2/2024", "3/4/2024"]),
        (["true", "false"], "text", ["false", "true"]),
    ],
    ids=str,
)
def test_texts_without_types_are_what_all_of_them_are(texts, kind, domain):
    column = encoded(texts, pa.string(), untyped=True)
    assert (column.kind, column.domain) == (kind, domain)
    if kind == "date":  # a date equals no date-time, but one number equals another
        assert [type(v) for v in column.domain] == [type(v) for v in domain]


@pytest.mark.parametrize(
    ("values", "declared", "domain"),
    [
        (["10", "9"], "number", [9, 10]),
        (["10", "9.5", None], "number", [None, Decimal("9.5"), 10]),
        ([10, 9], "text", ["10", "9"]),
        ([2.5], "number", [2.5]),
        ([date(2024, 1, 31), None], "text", [None, "2024-01-31"]),
        (["2024-01-31"], "date", [date(2024, 1, 31)]),
        (["2024-01-31 10:00"], "date", [datetime(2024, 1, 31, 10)]),
        ([date(2024, 1, 31)], "date", [date(2024, 1, 31)]),
    ],
    ids=str,
)
@pytest.mark.parametrize("untyped", [False, True])
def test_a_declared_type_overrules(values, declared, domain, untyped):
    column = encoded(values, declared=declared, untyped=untyped)
    assert (column.kind, column.domain) == (declared, domain)


@pytest.mark.parametrize(
    ("values", "declared", "row", "shown"),
    [
        (["1", "x", "1"], "number", 2, "'x'"),
        (["1", "007"], "number", 2, "'007'"),
        (["1", "1,5"], "number", 2, "'1,5'"),
        (["1.5", None, "x"], "number", 3, "'x'"),
        ([True], "number", 1, "True"),
        ([date(2024, 1, 31)], "number", 1, "datetime.date"),
        (["2024-01-31", "2024-02-30"], "date", 2, "'2024-02-30'"),
        (["31.1.2024"], "date", 1, r"'31\.1\.2024'"),
        ([20240131], "date", 1, "20240131"),
    ],
    ids=str,
)
def test_a_value_that_is_not_of_the_declared_type_is_named_with_its_row(
    values, declared, row, shown
):
    with pytest.raises(
        DataError,
        match=f"column 'c' must hold a {declared} in every row, but row {row} holds {shown}",
    ):
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
def test_nanoseconds_are_times_where_they_are_whole_microseconds_and_texts_elsewhere(kind, whole):
    column = encoded([2000, None, 2000], kind)
    assert (column.kind, column.domain, column.codes.tolist()) == ("date", [None, whole], [1, 0, 1])
    column = encoded([2001, 2000, None, 1999], kind)
    assert column.kind == "text"
    assert column.codes.tolist() == [3, 2, 0, 1]
    assert [str(text).rstrip("Z")[-9:] for text in column.domain[1:]] == [
        "000001999",
        "000002000",
        "000002001",
    ]


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
