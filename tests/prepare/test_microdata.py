"""Microdata: columns encoded once, with their hierarchies; which rows are kept, and whose."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from tests.frames.backends import write

import foreknow as fk
from foreknow.errors import HierarchyError, SchemaError
from foreknow_judge.errors import DataError, UnsupportedError


def microdata(source, **more):
    return fk.Microdata(source, fk.Schema(**{"quasi_identifiers": ["q"], "sensitive": "d"} | more))


def attribute(values, hierarchy=None, **more):
    """The attribute of one column."""
    if hierarchy is not None:
        more["hierarchies"] = {"q": hierarchy}
    source = values
    if isinstance(values, (list, pa.Array)):
        source = pa.table({"q": values, "d": ["x"] * len(values)})
    (found,) = microdata(source, **more).attributes
    return found


def test_dates_lie_by_their_days():
    found = attribute([date(2024, 3, 1), date(2024, 2, 1), None])
    assert np.diff(found.positions).tolist() == [29, 29]
    found = attribute([datetime(2024, 1, 1, 6), datetime(2024, 1, 1, 18), datetime(2024, 1, 2, 6)])
    assert (np.diff(found.positions) > 0).all()


@pytest.mark.parametrize(
    ("values", "hierarchy", "says"),
    [
        (["127", "13", "13"], fk.Mask(3), r"the value '13' \(first in row 2\)"),
        (["x", "y", "y"], fk.Tree([["x", "*"]]), r"the value 'y' \(first in row 2\)"),
        (["low", "lwo"], fk.Ordered(["low", "high"]), r"'lwo' \(first in row 2\).*mean 'low'"),
        (["2024-01-01", "soon"], fk.DateLevels(), r"the value 'soon' \(first in row 2\)"),
        ([1.0, float("inf")], fk.Intervals([5]), r"the value inf \(first in row 2\).*finite"),
    ],
    ids=["mask", "tree", "order", "dates", "intervals"],
)  # fmt: skip
def test_values_outside_hierarchies_are_named(values, hierarchy, says):
    with pytest.raises(HierarchyError, match=f"column 'q': .*{says}"):
        attribute(values, hierarchy)


def test_people_without_a_sensitive_value():
    table = pa.table({"q": [5, 1, 5, 9], "d": ["x", None, "y", None], "ward": [*"abcd"]})
    people = microdata(table, other=["ward"], missing="drop")
    assert (people.n_rows, people.n_people, people.kept.tolist()) == (4, 2, [0, 2])
    assert people.attributes[0].domain == [5]  # nothing of those who left
    assert [*people.values] == ["x", "y"]
    assert people.other().to_pydict() == {"ward": ["a", "c"]}
    assert people.rows_of(np.array([2, 1], dtype=np.uint8)).tolist() == [2, -1, 1, -1]
    assert held(people) == [(0, "x"), (1, "y")]
    assert [*microdata(table, missing={"label": "?"}).values] == ["?", "x", "y"]
    for rows, missing, said in (
        (table, "error", "'d' is missing in 2 rows, first in row 2"),
        (table.slice(0, 0), "error", "has no rows"),
        (table.slice(1, 1), "drop", "has no rows"),
    ):
        with pytest.raises(DataError, match=said):
            _ = microdata(rows, missing=missing).values


def test_a_grouping_is_counted():
    people = microdata(pa.table({"q": [1, 2, 3], "d": [*"xyx"]}))
    counts = people.counts(np.array([1, 0, 1]))
    assert [counts.bag(g) for g in (0, 1)] == [{"y": 1}, {"x": 2}]
    assert people.rows_of(np.array([2, 0, 1])).tolist() == [2, 0, 1]
    for groups, says in (([0, 0, 2], "1 has 0 people"), ([0, 0], r"of one length, not \[2, 3\]")):
        with pytest.raises(DataError, match=says):
            people.counts(np.array(groups))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"quasi_identifiers": ["p"]}, "no column 'p'; "), ({"sensitive": "D"}, "no column 'D'"),
        ({"identifiers": ["name"]}, "no column 'name'"), ({"other": ["ward"]}, "no column 'ward'"),
        ({"quasi_identifiers": [], "group": "q"}, "quasi_identifiers is empty"),
        ({"semantics": "set"}, "semantics 'set' needs person = the column that t"),
        ({"semantics": "set", "person": "who"}, "no column 'who'"),
    ],
)  # fmt: skip
def test_absent_columns_are_named(more, says):
    with pytest.raises(fk.InputError, match=says):
        _ = microdata(pa.table({"q": [1], "d": ["x"]}), **more).values


# ---- several values of a person ------------------------------------------------------------------

ROWS = pa.table({
    "pid": ["Dora", "Ann", "Dora", "Bob", "Ann"], "age": [41, 30, 41, 50, 30],
    "note": ["d", None, "d", "b", None], "d": ["Flu", "Flu", "AIDS", None, None],
})  # fmt: skip
LISTS = pa.table({
    "pid": ["Dora", "Ann", "Bob"], "age": [41, 30, 50], "note": ["d", None, "b"],
    "d": [["AIDS", "Flu"], ["Flu"], None],
})  # fmt: skip
ROLES = {"quasi_identifiers": ["age"], "other": ["note"], "person": "pid", "semantics": "set"}


def held(people):
    """Who has which value, as sorted pairs."""
    pairs = zip(people.holdings.people.tolist(), people.holdings.values.tolist(), strict=True)
    return sorted((person, people.values[code]) for person, code in pairs)


def several(source, **changed):
    return microdata(source, **ROLES | changed)


def changed(column, row, value):
    cells = ROWS[column].to_pylist()
    cells[row] = value
    return ROWS.set_column(ROWS.column_names.index(column), column, pa.array(cells))


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (changed("age", 2, 40), "pid 'Dora' has age 41 in row 1, but 40 in row 3; everybody has"),
        (changed("age", 4, None), "pid 'Ann' has age 30 in row 2, but None in row 5"),
        (changed("note", 2, "x"), "pid 'Dora' has note 'd' in row 1, but 'x' in row 3"),
        (changed("d", 2, "Flu"), "pid 'Dora' has d 'Flu' twice, in rows 1 and 3"),
        (changed("pid", 3, None), "column of people 'pid' is missing in row 4"),
        (ROWS.slice(3), "nobody has a value of 'd'; there is nothing to hide"),
        (ROWS.slice(0, 0), "has no rows"),
    ],
)
def test_rows_that_contradict_are_named(table, says, tmp_path):
    pyarrow.csv.write_csv(table, tmp_path / "rows.csv")
    for source in (table, tmp_path / "rows.csv"):
        with pytest.raises(DataError, match=says):
            _ = several(source).values


def test_repeated_values_compare_as_numbers(tmp_path):
    only = {"types": {"age": "text"}, "hierarchies": {"age": fk.Tree([("1", "*")])}}
    number = {"types": {"age": "number"}}
    for line, more, says in (
        ("99", only, "row 3"),
        ("old", number, "must hold a number in every row, but row 3 holds 'old'"),
        ("2", {}, None),
    ):
        again = "1.0" if says is None else "1"  # the same, written otherwise
        path = write(tmp_path, f"pid,age,note,d\nAnn,1,,Flu\nAnn,{again},,AIDS\nBob,{line},,Flu\n")
        if says is None:
            assert several(path, **more).n_people == 2
        else:
            with pytest.raises((DataError, HierarchyError), match=says):
                _ = several(path, **more).attributes
    for source, more, error, says in (
        (
            LISTS,
            {"semantics": "single"},
            DataError,
            r"one plain value per row, or say semantics = ",
        ),
        (path, {"person": None, "semantics": "multiset"}, SchemaError, "'multiset'"),
    ):
        with pytest.raises(error, match=says):
            _ = several(source, **more).values
    with pytest.raises(UnsupportedError, match="has no single value; see Microdata"):
        _ = several(ROWS).sensitive_codes


# ---- digests, and codes that lost their zeros ----------------------------------------------------


def test_lost_zeros_are_reported(tmp_path):
    path = tmp_path / "zeros.csv"
    rows = {"age": [30, 40] * 20, "zip": ["01067", "10115"] * 20, "ill": [*"abba"] * 10}
    pd.DataFrame(rows).to_csv(path, index=False)
    schema = fk.Schema(
        quasi_identifiers=["age", "zip"], sensitive="ill", hierarchies={"zip": {"mask": 5}}
    )
    policy = fk.Policy(fk.KAnonymity(5), schema)
    for frame in (pd.read_csv(path), pl.read_csv(path)):
        with pytest.raises(fk.InputError, match=r'lose them as numbers.*dtype=\{"zip": str\}'):
            fk.publish(frame, policy)
    for table in (fk.read_csv(path), path):
        assert fk.publish(table, policy).audit.safe
    frame = pd.DataFrame({
        "age": [20 + i % 30 for i in range(60)], "illness": [*"abc"] * 20,
        "zip": [(1067, 10115, 20095, 80331)[i % 4] + i // 4 for i in range(60)],
    })  # fmt: skip
    asked = " ".join(fk.suggest_policy(frame).questions)
    assert "lost the zeros they begin with" in asked
    assert "dtype={'zip': str}" in asked


# ---- what groups have in common, told from their ends --------------------------------------------
