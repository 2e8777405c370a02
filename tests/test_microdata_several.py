"""Microdata under `set` and `multiset`: everybody once, whatever rows their values are in."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.diagnoses import SEMANTICS, diagnoses
from tests.examples import examples

import foreknow as fk
from foreknow.errors import HierarchyError, SchemaError
from foreknow_judge.errors import DataError, UnsupportedError

ROWS = pa.table(
    {
        "pid": ["Dora", "Ann", "Dora", "Bob", "Ann"],
        "age": [41, 30, 41, 50, 30],
        "note": ["d", None, "d", "b", None],
        "d": ["Flu", "Flu", "AIDS", None, None],
    }
)
LISTS = pa.table(
    {
        "pid": ["Dora", "Ann", "Bob"],
        "age": [41, 30, 50],
        "note": ["d", None, "b"],
        "d": [["AIDS", "Flu"], ["Flu"], None],
    }
)


ROLES = {"quasi_identifiers": ["age"], "other": ["note"], "sensitive": "d", "person": "pid"}


def microdata(source, **changed):
    return fk.Microdata(source, fk.Schema(**ROLES | {"semantics": "set"} | changed))


def held(given):
    """Who has which value, as sorted pairs."""
    pairs = zip(given.holdings.people.tolist(), given.holdings.values.tolist(), strict=True)
    return sorted((person, given.values[code]) for person, code in pairs)


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("shape", ["rows", "csv", "lists", "parquet", "nameless"])
def test_everybody_is_there_once_in_order_of_appearance(shape, semantics, tmp_path):
    source, roles = {"rows": ROWS, "lists": LISTS}.get(shape, LISTS), {}
    if shape == "csv":
        source = tmp_path / "rows.csv"
        pyarrow.csv.write_csv(ROWS, source)
    elif shape == "parquet":
        source = tmp_path / "lists.parquet"
        pq.write_table(LISTS, source)
    elif shape == "nameless":
        roles = {"person": None}
    found = microdata(source, semantics=semantics, **roles)
    assert found.n_people == 3
    assert found.n_rows == (5 if shape in ("rows", "csv") else 3)
    (age,) = found.attributes
    assert [age.domain[code] for code in age.codes] == [41, 30, 50]
    assert found.values == ("AIDS", "Flu")
    assert held(found) == [(0, "AIDS"), (0, "Flu"), (1, "Flu")]
    assert found.other().to_pylist() == [{"note": "d"}, {"note": None}, {"note": "b"}]
    counts = found.counts(np.array([1, 0, 0]))
    assert counts == fk.GroupCounts.from_people(
        [[["Flu"], []], [["AIDS", "Flu"]]], semantics=semantics
    )


def test_groups_of_people_are_spread_to_their_rows_and_kept_is_the_way_back():
    groups = np.array([7, 5, 6])
    for source, spread in ((ROWS, [7, 5, 7, 6, 5]), (LISTS, [7, 5, 6])):
        found = microdata(source)
        rows = found.rows_of(groups)
        assert rows.tolist() == spread
        assert rows.dtype == np.int64
        assert rows[found.kept].tolist() == groups.tolist()


def test_under_single_rows_that_are_left_out_have_no_group():
    table = pa.table({"age": [1, 2, 3, 4], "d": ["a", None, "b", "a"]})
    roles = {"semantics": "single", "person": None, "other": []}
    found = microdata(table, missing="drop", **roles)
    assert found.rows_of(np.array([2, 0, 1], dtype=np.uint8)).tolist() == [2, -1, 0, 1]
    assert held(found) == [(0, "a"), (1, "b"), (2, "a")]
    whole = microdata(table.filter(table["d"].is_valid()), **roles)
    assert whole.rows_of(np.array([2, 0, 1])).tolist() == [2, 0, 1]


@examples(30, deadline=None)
@given(people=st.integers(20, 40), seed=st.integers(0, 99), semantics=st.sampled_from(SEMANTICS))
def test_rows_and_lists_of_the_same_people_count_alike(people, seed, semantics):
    roles = fk.Schema(
        quasi_identifiers=["age", "sex", "zip"],
        sensitive="diagnosis",
        person="person",
        semantics=semantics,
    )
    counted = []
    for listed in (False, True):
        table = diagnoses(people, seed, semantics=semantics, listed=listed)
        found = fk.Microdata(table, roles)
        assert found.n_people == people
        (sex,) = (a for a in found.attributes if a.name == "sex")
        counted.append(found.counts(sex.codes))
    assert counted[0] == counted[1]
    assert counted[0].semantics == semantics
    assert counted[0].n_people == people


def test_the_digest_is_of_people_and_what_they_hold():
    key = b"k" * 32
    digest = microdata(LISTS).digest(key)
    assert digest == microdata(ROWS).digest(key)
    swapped = LISTS.set_column(3, "d", pa.array([["Flu", "AIDS"], ["Flu"], []]))
    assert digest == microdata(swapped).digest(key)
    moved = LISTS.set_column(3, "d", pa.array([["AIDS"], ["Flu"], ["Flu"]]))
    assert digest != microdata(moved).digest(key)
    older = LISTS.set_column(1, "age", pa.array([41, 31, 50]))
    assert digest != microdata(older).digest(key)
    assert digest != microdata(LISTS).digest(b"other")


ONLY_1 = fk.Tree([("1", "*")])


def changed(column, row, value):
    cells = ROWS[column].to_pylist()
    cells[row] = value
    return ROWS.set_column(ROWS.column_names.index(column), column, pa.array(cells))


@pytest.mark.parametrize("fmt", ["arrow", "csv"])
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
def test_rows_that_contradict_each_other_are_named(table, says, fmt, tmp_path):
    if fmt == "csv":
        path = tmp_path / "rows.csv"
        pyarrow.csv.write_csv(table, path)
        table = path
    with pytest.raises(DataError, match=says):
        microdata(table).values  # noqa: B018


@pytest.mark.parametrize(
    ("line", "more", "says"),
    [
        ("99", {"types": {"age": "text"}, "hierarchies": {"age": ONLY_1}}, "row 3"),
        (
            *("old", {"types": {"age": "number"}}),
            "must hold a number in every row, but row 3 holds 'old'",
        ),
        ("2", {}, None),
    ],
)
def test_values_are_compared_as_numbers_and_named_with_their_row(tmp_path, line, more, says):
    path = tmp_path / "rows.csv"
    again = "1.0" if says is None else "1"  # the same, written otherwise
    path.write_text(f"pid,age,note,d\nAnn,1,,Flu\nAnn,{again},,AIDS\nBob,{line},,Flu\n")
    found = microdata(path, **more)
    if says is None:
        assert found.n_people == 2
    else:
        with pytest.raises((DataError, HierarchyError), match=says):
            found.attributes  # noqa: B018


@pytest.mark.parametrize(
    ("table", "changed", "error", "says"),
    [
        (ROWS, {"person": None}, SchemaError, "semantics 'set' needs person = the column that t"),
        (ROWS, {"person": "who"}, DataError, "no column 'who'"),
        (
            *(LISTS, {"semantics": "single"}, DataError),
            r"give one plain value per row, or say semantics = .set.",
        ),
    ],
)
def test_tables_need_their_semantics(table, changed, error, says, tmp_path):
    with pytest.raises(error, match=says):
        microdata(table, **changed).values  # noqa: B018
    path = tmp_path / "rows.csv"
    pyarrow.csv.write_csv(ROWS, path)
    with pytest.raises(SchemaError, match="'multiset'"):
        microdata(path, person=None, semantics="multiset")
    with pytest.raises(UnsupportedError, match="has no single value; see Microdata"):
        microdata(ROWS).sensitive_codes  # noqa: B018
