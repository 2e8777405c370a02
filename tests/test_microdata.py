"""Microdata: columns encoded once, with their hierarchies; which rows are kept."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.frames.backends import write

from foreknow.data.hierarchy import DateLevels, Intervals, Mask, Ordered, Tree
from foreknow.data.microdata import Microdata
from foreknow.data.schema import Schema
from foreknow.errors import HierarchyError, SchemaError
from foreknow_judge.errors import DataError


def microdata(source, **more):
    return Microdata(source, Schema(**{"quasi_identifiers": ["q"], "sensitive": "d"} | more))


def attribute(values, hierarchy=None, **more):
    """The attribute of one column."""
    if hierarchy is not None:
        more["hierarchies"] = {"q": hierarchy}
    source = values
    if isinstance(values, (list, pa.Array)):
        source = pa.table({"q": values, "d": ["x"] * len(values)})
    (found,) = microdata(source, **more).attributes
    return found


def decoded(found):
    return [found.domain[code] for code in found.codes.tolist()]


def levels(found):
    """For each row, the labels of its nodes."""
    return [
        [labels[nodes[code]] for nodes, labels in zip(found.ancestors, found.labels, strict=True)]
        for code in found.codes.tolist()
    ]


def test_every_backend_gives_the_same_people(everywhere_typed):
    table = pa.table(
        {"age": [41, 30, 41, 30], "sex": ["f", None, "m", "f"], "d": ["b", "a", "c", "b"]}
    )
    people = microdata(everywhere_typed(table), quasi_identifiers=["sex", "age"])
    assert (people.n_rows, people.n_people, people.kept.tolist()) == (4, 4, [0, 1, 2, 3])
    assert list(people.values) == ["a", "b", "c"]
    assert people.sensitive_codes.tolist() == [1, 0, 2, 1]
    sex, age = people.attributes
    assert (sex.name, sex.order, sex.domain) == ("sex", "nominal", [None, "f", "m"])
    assert decoded(sex) == ["f", None, "m", "f"]
    assert (age.name, age.order, age.domain) == ("age", "ordered", [30, 41])
    assert decoded(age) == [41, 30, 41, 30]


@pytest.fixture(params=[pa.table, pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def everywhere_typed(request):
    def hold(table):
        frame = request.param(table.to_pydict())
        if isinstance(frame, pd.DataFrame):
            frame.index = [2, 2, 0, 1]
        return frame

    return hold


def test_csv_columns_are_read_by_their_looks_and_sensitive_values_as_they_are(tmp_path):
    path = write(tmp_path, "q,zip,born,d\n10,02138,2024-01-31,10\n9,10001,,9\n")
    people = microdata(path, quasi_identifiers=["q", "zip", "born"])
    q, code, born = people.attributes
    assert (q.domain, q.order) == ([9, 10], "ordered")
    assert (code.domain, code.order) == (["02138", "10001"], "nominal")
    assert (born.domain, born.order) == ([None, date(2024, 1, 31)], "ordered")
    assert list(people.values) == ["10", "9"]
    assert people.other().num_columns == 0
    found = attribute(path, types={"q": "text"})
    assert (found.domain, found.order) == (["10", "9"], "nominal")


@pytest.mark.parametrize(
    ("values", "positions"),
    [
        ([10, 40, 20], [10, 20, 40]),
        ([Decimal("0.50"), Decimal("2.00")], [0.5, 2]),
        ([10, None, 40, 20], [-5, 10, 20, 40]),
        ([10, None], [9, 10]),
        (pa.nulls(2, pa.int64()), [0]),
        (["b", "a", "c"], [0, 1, 2]),
        (["b", None, "a"], [-1, 0, 1]),
        ([True, False], [0, 1]),
        ([50.0, 2.0, float("inf"), float("-inf")], [0, 1, 2, 3]),  # by rank
    ],
    ids=str,
)
def test_numbers_lie_where_they_are_others_by_rank_and_a_null_one_step_before(values, positions):
    found = attribute(values)
    assert found.positions.tolist() == positions
    assert decoded(found) == (values if isinstance(values, list) else values.to_pylist())


def test_dates_lie_by_their_days_and_date_times_by_their_moment():
    found = attribute([date(2024, 3, 1), date(2024, 2, 1), None])
    assert np.diff(found.positions).tolist() == [29, 29]
    found = attribute([datetime(2024, 1, 1, 6), datetime(2024, 1, 1, 18), datetime(2024, 1, 2, 6)])
    assert (np.diff(found.positions) > 0).all()


@pytest.mark.parametrize(
    ("values", "hierarchy", "domain", "wanted"),
    [
        (
            [27, None, 3, 24],
            Intervals([5, 20]),
            [None, 3, 24, 27],
            [["25 to 29", "20 to 39"], ["missing"] * 2, ["0 to 4", "0 to 19"]],
        ),
        (
            ["a", "b", "c", None],
            Tree([["b", "one", "*"], ["a", "two", "*"], ["c", "one", "*"], ["z", "two", "*"]]),
            [None, "b", "c", "a"],
            [["two"], ["one"], ["one"], ["missing"]],
        ),
        (["131", "127", "127"], Mask(3), ["127", "131"], [["13*", "1**"], ["12*", "1**"]]),
        (
            [date(2024, 3, 5), date(2023, 12, 1)],
            DateLevels(["month", "year"]),
            [date(2023, 12, 1), date(2024, 3, 5)],
            [["2024-03", "2024"], ["2023-12", "2023"]],
        ),
        (["high", None, "low"], Ordered(["low", "mid", "high"]), [None, "low", "high"], None),
    ],
    ids=["intervals", "tree", "mask", "dates", "order"],
)
def test_people_are_coded_in_the_leaf_order_of_a_hierarchy(values, hierarchy, domain, wanted):
    found = attribute(values, hierarchy)
    assert (found.domain, decoded(found), found.order) == (domain, values, "ordered")
    assert found.positions.tolist() == list(range(len(domain)))
    if wanted is None:
        assert (found.ancestors, found.labels) == ((), ())
    else:
        assert levels(found)[: len(wanted)] == [[*row, "*"] for row in wanted]


def test_codes_in_a_file_that_look_like_numbers_are_masked(tmp_path):
    found = attribute(write(tmp_path, "q,d\n131,x\n127,y\n"), Mask(3))
    assert levels(found) == [["13*", "1**", "*"], ["12*", "1**", "*"]]


TYPED = {"types": {"q": "number"}, "missing": "drop"}


@pytest.mark.parametrize(
    ("values", "hierarchy", "says"),
    [
        (["127", "13", "13"], Mask(3), r"the value '13' \(first in row 2\)"),
        (["x", "y", "y"], Tree([["x", "*"]]), r"the value 'y' \(first in row 2\)"),
        (
            ["low", "lwo"],
            Ordered(["low", "high"]),
            r"the value 'lwo' \(first in row 2\).*did you mean 'low'",
        ),
        (["2024-01-01", "soon"], DateLevels(), r"the value 'soon' \(first in row 2\)"),
        ([1.0, float("inf")], Intervals([5]), r"the value inf \(first in row 2\).*finite"),
    ],
    ids=["mask", "tree", "order", "dates", "intervals"],
)
def test_a_value_outside_its_hierarchy_is_named_with_its_first_row(values, hierarchy, says):
    with pytest.raises(HierarchyError, match=f"column 'q': {says}"):
        attribute(values, hierarchy)


@pytest.mark.parametrize(
    ("lines", "hierarchy", "more", "says"),
    [
        ("127,\n127,x\n13,\n131,\n13,y\n", Mask(3), {"missing": "drop"}, "13 .first in row 5"),
        ("1,\n2,x\nten,y\n", None, TYPED, "row 3 holds 'ten'"),
        (
            *("1,x\n2,y\nten,z\n", Intervals([5]), {}),
            "'q' must hold a number in every row, but row 3 holds 'ten'",
        ),
    ],
)
def test_dropped_rows_count_when_a_row_is_named(tmp_path, lines, hierarchy, more, says):
    with pytest.raises((DataError, HierarchyError), match=says):
        attribute(write(tmp_path, "q,d\n" + lines), hierarchy, **more)


def test_people_without_a_sensitive_value_are_left_out_everywhere():
    table = pa.table({"q": [5, 1, 5, 9], "d": ["x", None, "y", None], "ward": list("abcd")})
    people = microdata(table, other=["ward"], missing="drop")
    assert (people.n_rows, people.n_people, people.kept.tolist()) == (4, 2, [0, 2])
    assert people.attributes[0].domain == [5]  # nothing of those who left
    assert list(people.values) == ["x", "y"]
    assert people.other().to_pydict() == {"ward": ["a", "c"]}


def test_people_without_a_sensitive_value_may_have_a_label_or_are_an_error():
    table = pa.table({"q": [5, 1], "d": ["x", None]})
    assert list(microdata(table, missing={"label": "?"}).values) == ["?", "x"]
    with pytest.raises(DataError, match="'d' is missing in 1 row, first in row 2"):
        microdata(table).values  # noqa: B018


def test_a_grouping_is_counted():
    people = microdata(pa.table({"q": [1, 2, 3], "d": ["x", "y", "x"]}))
    counts = people.counts(np.array([1, 0, 1]))
    assert [counts.bag(g) for g in (0, 1)] == [{"y": 1}, {"x": 2}]
    for groups, says in (
        ([0, 0, 2], "group 1 has 0 people"),
        ([0, 0], r"must be of one length, not \[2, 3\]"),
    ):
        with pytest.raises(DataError, match=says):
            people.counts(np.array(groups))


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"quasi_identifiers": ["p"]}, DataError, "no column 'p'; "),
        ({"sensitive": "D"}, DataError, "no column 'D'"),
        ({"identifiers": ["name"]}, DataError, "no column 'name'"),
        ({"other": ["ward"]}, DataError, "no column 'ward'"),
        ({"quasi_identifiers": [], "group": "q"}, SchemaError, "quasi_identifiers is empty"),
    ],
)
def test_columns_that_are_not_there_are_named_at_once(more, error, says):
    with pytest.raises(error, match=says):
        microdata(pa.table({"q": [1], "d": ["x"]}), **more)


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_an_empty_table_is_refused(missing):
    table = pa.table({"q": [1], "d": pa.nulls(1, pa.string())}).slice(0, missing == "drop")
    with pytest.raises(DataError, match="has no rows"):
        microdata(table, missing=missing).values  # noqa: B018
