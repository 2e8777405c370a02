"""Microdata: columns encoded once, with their hierarchies; which rows are kept, and whose."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.diagnoses import SEMANTICS
from tests.frames.backends import write

import foreknow as fk
from foreknow.data.generalization import coarsened
from foreknow.data.microdata import Attribute
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


def decoded(found):
    return [found.domain[code] for code in found.codes.tolist()]


@pytest.mark.parametrize(
    ("values", "positions"),
    [
        ([10, 40, 20], [10, 20, 40]), ([Decimal("0.50"), Decimal("2.00")], [0.5, 2]),
        ([10, None, 40, 20], [-5, 10, 20, 40]), ([10, None], [9, 10]), ([True, False], [0, 1]),
        (pa.nulls(2, pa.int64()), [0]), (["b", "a", "c"], [0, 1, 2]),
        (["b", None, "a"], [-1, 0, 1]), ([50.0, 2.0, float("inf"), float("-inf")], [0, 1, 2, 3]),
    ],
    ids=str,
)  # fmt: skip
def test_positions_are_numbers_or_ranks(values, positions):
    found = attribute(values)
    assert found.positions.tolist() == positions
    assert decoded(found) == (values if isinstance(values, list) else values.to_pylist())


def test_dates_lie_by_their_days():
    found = attribute([date(2024, 3, 1), date(2024, 2, 1), None])
    assert np.diff(found.positions).tolist() == [29, 29]
    found = attribute([datetime(2024, 1, 1, 6), datetime(2024, 1, 1, 18), datetime(2024, 1, 2, 6)])
    assert (np.diff(found.positions) > 0).all()


OF_TREE = fk.Tree([["b", "one", "*"], ["a", "two", "*"], ["c", "one", "*"], ["z", "two", "*"]])
MONTHS = [date(2023, 12, 1), date(2024, 3, 5)]


@pytest.mark.parametrize(
    ("values", "hierarchy", "domain", "wanted"),
    [
        ([27, None, 3, 24], fk.Intervals([5, 20]), [None, 3, 24, 27],
         [["25 to 29", "20 to 39"], ["missing"] * 2, ["0 to 4", "0 to 19"]]),
        (["a", "b", "c", None], OF_TREE, [None, "b", "c", "a"],
         [["two"], ["one"], ["one"], ["missing"]]),
        (["131", "127", "127"], fk.Mask(3), ["127", "131"], [["13*", "1**"], ["12*", "1**"]]),
        (MONTHS[::-1], fk.DateLevels(["month", "year"]), MONTHS,
         [["2024-03", "2024"], ["2023-12", "2023"]]),
        (["high", None, "low"], fk.Ordered(["low", "mid", "high"]), [None, "low", "high"], None),
    ],
    ids=["intervals", "tree", "mask", "dates", "order"],
)  # fmt: skip
def test_people_are_coded_in_the_order_of_leaves(values, hierarchy, domain, wanted):
    found = attribute(values, hierarchy)
    assert (found.domain, decoded(found), found.order) == (domain, values, "ordered")
    assert found.positions.tolist() == [*range(len(domain))]
    levels = [*zip(found.ancestors, found.labels, strict=True)]
    nodes = [[labels[of[code]] for of, labels in levels] for code in found.codes.tolist()]
    assert nodes[: len(wanted or [])] == [[*row, "*"] for row in wanted or []]
    assert bool(levels) == (wanted is not None)


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
def test_a_value_outside_its_hierarchy_is_named(values, hierarchy, says):
    with pytest.raises(HierarchyError, match=f"column 'q': .*{says}"):
        attribute(values, hierarchy)


TYPED = {"types": {"q": "number"}, "missing": "drop"}


@pytest.mark.parametrize(
    ("lines", "hierarchy", "more", "says"),
    [
        ("127,\n127,x\n13,\n131,\n13,y\n", fk.Mask(3), {"missing": "drop"}, "13 .first in row 5"),
        ("1,\n2,x\nten,y\n", None, TYPED, "row 3 holds 'ten'"),
        ("1,x\n2,y\nten,z\n", fk.Intervals([5]), {}, "number in every row, but row 3 holds 'ten'"),
    ],
)  # fmt: skip
def test_dropped_rows_count_when_a_row_is_named(tmp_path, lines, hierarchy, more, says):
    with pytest.raises((DataError, HierarchyError), match=says):
        attribute(write(tmp_path, "q,d\n" + lines), hierarchy, **more)


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
def test_columns_that_are_not_there_are_named(more, says):
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


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_everybody_is_there_once_in_order_of_appearance(semantics, tmp_path):
    pyarrow.csv.write_csv(ROWS, tmp_path / "rows.csv")
    pq.write_table(LISTS, tmp_path / "lists.parquet")
    for source, person in (
        *((ROWS, "pid"), (LISTS, "pid"), (LISTS, None)),
        *((tmp_path / "rows.csv", "pid"), (tmp_path / "lists.parquet", "pid")),
    ):
        found = several(source, semantics=semantics, person=person)
        assert found.n_people == 3
        assert found.n_rows == (5 if source is ROWS or source == tmp_path / "rows.csv" else 3)
        (age,) = found.attributes
        assert decoded(age) == [41, 30, 50]
        assert found.values == ("AIDS", "Flu")
        assert held(found) == [(0, "AIDS"), (0, "Flu"), (1, "Flu")]
        assert found.other()["note"].to_pylist() == ["d", None, "b"]
        wanted = [[["Flu"], []], [["AIDS", "Flu"]]]
        counts = found.counts(np.array([1, 0, 0]))
        assert counts == fk.GroupCounts.from_people(wanted, semantics=semantics)
        rows = found.rows_of(np.array([7, 5, 6]))
        assert rows.tolist() == ([7, 5, 7, 6, 5] if found.n_rows == 5 else [7, 5, 6])
        assert rows.dtype == np.int64
        assert rows[found.kept].tolist() == [7, 5, 6]


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


def test_values_of_several_rows_are_compared_as_numbers(tmp_path):
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


def test_the_digest_is_of_people_and_what_they_hold():
    digest = several(LISTS).digest(b"key")
    assert digest == several(ROWS).digest(b"key")
    swapped = LISTS.set_column(3, "d", pa.array([["Flu", "AIDS"], ["Flu"], []]))
    moved = LISTS.set_column(3, "d", pa.array([["AIDS"], ["Flu"], ["Flu"]]))
    older = LISTS.set_column(1, "age", pa.array([41, 31, 50]))
    assert digest == several(swapped).digest(b"key")
    assert digest not in (several(moved).digest(b"key"), several(older).digest(b"key"))
    assert digest != several(LISTS).digest(b"other")


SINGLE = {"quasi_identifiers": ["age", "zip", "born"], "sensitive": "charges"}


def test_a_digest_does_not_depend_on_the_container(tmp_path):
    chance, many, path = np.random.default_rng(11), 120, tmp_path / "own.csv"
    frame = pd.DataFrame({
        "age": chance.integers(20, 40, many),
        "zip": chance.choice(["10115", "20095", "80331"], many),
        "born": chance.choice(["1990-01-02", "1991-03-04"], many),
        "charges": chance.choice(["1.50", "20", "7.25", "-3"], many),
    })  # fmt: skip
    frame.to_csv(path, index=False)
    frame = pd.read_csv(path)
    known = microdata(path, **SINGLE)
    for other in (
        *(frame, frame.astype({"age": float}), fk.read_csv(path), pl.read_csv(path).to_arrow()),
        *(pd.read_csv(path, dtype=own) for own in ({"zip": str}, str)),
        pd.read_csv(path, parse_dates=["born"]),
        frame.astype({"born": "category", "zip": "category"}),
        pl.read_csv(path, try_parse_dates=True),
    ):
        found = microdata(other, **SINGLE)
        assert found.digest(b"key") == known.digest(b"key")
        assert found.digest_of_counts(b"key") == known.digest_of_counts(b"key")
    seen = {known.digest(b"key"), known.digest(b"other")}
    for column, value in (("age", 99), ("zip", 10117), ("born", "1990-01-03"), ("charges", 1.51)):
        other = frame.astype({"charges": object}).copy()
        other.loc[3, column] = value
        seen.add(microdata(other, **SINGLE).digest(b"key"))
    lost = frame.assign(zip=frame["zip"].astype(str).str.replace("10115", "01011"))
    seen |= {microdata(own, **SINGLE).digest(b"key") for own in (frame.iloc[::-1], lost)}
    assert len(seen) == 8


def test_codes_that_lost_their_zeros_are_told(tmp_path):
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


def coded(codes, size, null, dtype, ancestors=()):
    domain = [None, *range(1, size)] if null else [*range(size)]
    labels = tuple(tuple(f"n{j}" for j in range(int(own.max()) + 1)) for own in ancestors)
    places = np.arange(size, dtype=np.float64)
    return Attribute("age", codes.astype(dtype), domain, "ordered", ancestors, labels, places)


@pytest.mark.parametrize(
    ("dtype", "null"), [(np.uint8, True), (np.uint16, False), (np.int64, True)]
)
def test_ranges_are_those_of_members(dtype, null):
    random = np.random.default_rng(int(null))
    for _ in range(60):
        size, n_groups = int(random.integers(1, 9)), int(random.integers(1, 7))
        groups = np.concatenate([np.arange(n_groups), random.integers(0, n_groups, 20)])
        codes, floor = random.integers(0, size, len(groups)), random.integers(0, 2, n_groups)
        found = coarsened(coded(codes, size, null, dtype), groups, n_groups, "range", floor)
        assert sorted({*found.meanings}) == found.meanings
        for group in range(n_groups):
            own = codes[groups == group].tolist()
            known = [code for code in own if code or not null]
            null_too = int(null and 0 in own and bool(known))
            expected = (null_too, min(known or own), max(own)) if not floor[group] else ()
            assert found.meanings[found.of_group[group]] == expected


def test_nodes_are_the_lowest_that_hold_all_members():
    random = np.random.default_rng(3)
    above = (np.array([0, 0, 1, 1, 2, 2]), np.zeros(6, dtype=np.int64))
    for _ in range(40):
        groups = np.concatenate([np.arange(5), random.integers(0, 5, 6)])
        codes = random.integers(0, 6, len(groups))
        found = coarsened(coded(codes, 6, False, np.uint8, above), groups, 5, "hierarchy")
        for group in range(5):
            own, levels = codes[groups == group], (np.arange(6), *above)
            level = next(j for j, nodes in enumerate(levels) if len({*nodes[own].tolist()}) == 1)
            expected = (level, int(levels[level][own[0]]))
            assert found.meanings[found.of_group[group]] == expected
