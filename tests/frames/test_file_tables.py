"""Workbooks, databases and files of statistics programs: what is read, and what is refused how."""

import datetime as dt
import sqlite3
import sys

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from tests.frames.backends import bags
from tests.frames.workbooks import COMPUTED, ERROR, UNCOMPUTED, write_workbook

import foreknow as fk
from foreknow.data.engines import open_table
from foreknow_judge.errors import DataError

PEOPLE = [
    (34, "01234", dt.date(1990, 1, 2), "flu"),
    (35, "10115", dt.date(1989, 3, 4), "cold"),
    (61, "01234", dt.date(1964, 12, 31), "flu"),
]
NAMES = ["age", "zip", "born", "d"]
SCHEMA = fk.Schema(quasi_identifiers=["age", "zip", "born"], sensitive="d")
READ = {"age": "numbers 34 to 61", "zip": "text, 2 values", "d": "text, 2 values"}
READ["born"] = "dates 1964-12-31 to 1990-01-02"


def column(source, name, **reading):
    given = fk.Schema(quasi_identifiers=[name], sensitive="d", reading=reading)
    (attribute,) = fk.Microdata(source, given).attributes
    return attribute.domain


def refused(source, said, name="age"):
    with pytest.raises(fk.InputError, match=said) as refusal:
        column(source, name)
    assert "\n" not in str(refusal.value)


# ---- workbooks ---------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    pytest.importorskip("python_calamine", reason='reads workbooks; pip install ".[files]"')

    def make(*rows, merged=None, others=(), name="people.xlsx"):
        sheets = {"People": [NAMES, *rows], **{other: [["x"], [1]] for other in others}}
        return write_workbook(tmp_path / name, sheets, merged)

    return make


def test_a_workbook_is_read_with_its_types(book):
    path = book(*PEOPLE)
    assert fk.Microdata(path, SCHEMA).read_as() == READ
    assert column(path, "zip") == ["01234", "10115"]
    release = fk.Release.from_generalized(path, quasi_identifiers=["zip"], sensitive="d")
    assert bags(release.counts) == {("01234",): {"flu": 2}, ("10115",): {"cold": 1}}


@pytest.mark.processes
def test_cells_are_what_the_workbook_shows(tmp_path):
    pytest.importorskip("python_calamine")
    shown = {
        "a": ([1.5, 2], [1.5, 2.0]),
        "b": ([1, None], [None, 1]),
        "c": ([COMPUTED, 3], [2, 3]),
        "e": ([True, False], [False, True]),
        "f": ([2**60, 1], [1.0, float(2**60)]),  # beyond what floats hold exactly
    }
    rows = zip(*[cells for cells, _ in shown.values()], ["flu", "flu"], strict=True)
    path = write_workbook(tmp_path / "people.xlsx", {"People": [[*shown, "d"], *rows]})
    given = fk.Schema(quasi_identifiers=list(shown), sensitive="d")
    for found, (_, domain) in zip(
        fk.Microdata(path, given).attributes, shown.values(), strict=True
    ):
        assert found.domain == domain
        assert list(map(type, found.domain)) == list(map(type, domain))


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([ERROR, 3], r"people\.xlsx, sheet People: A2 is an error, such as #DIV/0!"),
        ([3, UNCOMPUTED], "A3 is a formula without a value; open and save the workbook in Excel"),
        ([3, "n/a", 4], r"column 'age' holds a text in row 3 \('n/a'\) and a number in others"),
        ([3, True, 4], "holds yes or no in row 3"),
        (["x", dt.date(2020, 1, 1), "y"], "holds a date in row 3"),
    ],
)
def test_cells_that_would_be_read_wrong_are_named(book, cells, said):
    refused(book(*[(cell, "1", None, "flu") for cell in cells]), said)


def test_a_column_of_two_types_harms_no_other(book):
    path = book((1, "1", None, "flu"), ("n/a", "2", None, "flu"))
    assert column(path, "zip") == ["1", "2"]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("rows", "merged", "said"),
    [
        (
            [["My table"], NAMES, *PEOPLE],
            None,
            "names of all 4 columns, and no name is there",
        ),
        (
            [["age", None, "born", "d"], *PEOPLE],
            None,
            "row 1 must be .*: delete a title above it",
        ),
        ([NAMES, PEOPLE[0], [None], PEOPLE[1]], None, "row 3 is empty and others follow; delete"),
        ([NAMES, *PEOPLE], "A1:B1", "row 1 has cells that are merged; unmerge"),
        (
            [[1990, 1991, 1992, "d"], *PEOPLE],
            None,
            "names of all 4 columns, and 1990.0 is there",
        ),
        ([], None, "is empty; its first row must name the columns"),
        ([["age", "age", "d"], [1, 2, 3]], None, "two columns named 'age'"),
    ],
)
def test_sheets_that_are_no_table_are_named(book, tmp_path, rows, merged, said):
    refused(write_workbook(tmp_path / "people.xlsx", {"People": rows}, merged), said)


def test_a_sheet_is_named(book):
    path = book(*PEOPLE, others=("Notes",))
    refused(path, r"several sheets: 'People', 'Notes'; name one: people\.xlsx\?sheet=People")
    assert column(f"{path}?sheet=People", "age") == [34, 35, 61]
    refused(f"{path}?sheet=people", "has no sheet 'people'; it has 'People', 'Notes'")
    refused(f"{path}?table=People", r"databases have \?table=, workbooks \?sheet=")
    literal = book(*PEOPLE, name="people.xlsx?sheet=9.xlsx")
    assert column(literal, "age") == [34, 35, 61]


@pytest.mark.processes
def test_what_the_process_that_reads_refuses_is_said(book):
    refused(f"{book(*PEOPLE)}?sheet=people", "has no sheet 'people'; it has 'People'")


def test_what_is_no_workbook_is_named(book, tmp_path):
    path = tmp_path / "people.xlsx"
    path.write_bytes(b"PK\x03\x04 and nothing more")
    refused(path, "cannot be read as a workbook")


@pytest.mark.parametrize(
    ("name", "module"), [("people.xlsx", "python_calamine"), ("people.sav", "pyreadstat")]
)
def test_without_the_extra_it_is_named(tmp_path, monkeypatch, name, module):
    (tmp_path / name).write_bytes(b"")
    monkeypatch.setitem(sys.modules, module, None)
    refused(tmp_path / name, r'needs .*: pip install "\.\[files\]" in a clone')


# ---- databases ---------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path):
    path = tmp_path / f"it's [1] people.{request.param}"
    connect = {"sqlite": sqlite3, "duckdb": duckdb}[request.param].connect
    connection = connect(str(path))
    connection.execute("CREATE TABLE people (age INT, zip VARCHAR, born DATE, d VARCHAR)")
    people = [(age, code, born.isoformat(), d) for age, code, born, d in PEOPLE]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", people)
    connection.commit()
    connection.close()
    return path, lambda: connect(str(path))


def run(open_again, *queries):
    connection = open_again()
    for query in queries:
        connection.execute(query)
    connection.commit()
    connection.close()


def test_a_database_is_read_with_its_types(database):
    path, open_again = database
    assert fk.Microdata(path, SCHEMA).read_as() == READ
    run(open_again, 'CREATE VIEW "old ""p" AS SELECT * FROM people WHERE age > 60')
    refused(path, r"several tables: 'old \"p', 'people'; name one: .*people\.\w+\?table=old")
    assert column(f'{path}?table=old "p', "age") == [61]
    assert column(f"{path}?table=people", "age") == [34, 35, 61]
    refused(f"{path}?table=x", "has no table 'x'; it has 'old \"p', 'people'")
    refused(f"{path}?sheet=people", r"databases have \?table=")
    refused(f"{path}?table=people", "table people has no column 'aeg'; did you mean 'age'", "aeg")
    release = fk.Release.from_groups(f"{path}?table=people", group="zip", sensitive="d")
    assert bags(release.counts) == {"01234": {"flu": 2}, "10115": {"cold": 1}}


def test_a_database_is_free_when_its_table_is_gone(database):
    path, open_again = database
    table = open_table(path)
    assert len(table.arrow(["age"])) == 3
    del table
    run(open_again, "INSERT INTO people VALUES (1, '2', NULL, 'flu')")
    assert column(path, "age") == [1, 34, 35, 61]
    assert column(path, "born") == [None, *sorted(born for _, _, born, _ in PEOPLE)]


def test_columns_read_once_belong_together(database, tmp_path):
    """A view of which each read comes in another order."""
    path, open_again = database
    random = "random()"
    run(open_again, f"CREATE VIEW v AS SELECT age, zip, d FROM people ORDER BY {random}")
    schema = fk.Schema(quasi_identifiers=["age", "zip"], sensitive="d")
    for _ in range(5):
        age, zipped = fk.Microdata(f"{path}?table=v", schema).attributes
        pairs = {
            (age.domain[a], zipped.domain[z]) for a, z in zip(age.codes, zipped.codes, strict=True)
        }
        assert pairs == {(a, z) for a, z, _, _ in PEOPLE}


def test_a_database_of_duckdb_that_is_open_here_is_named(tmp_path):
    connection = duckdb.connect(str(tmp_path / "open.duckdb"))
    connection.execute("CREATE TABLE p AS SELECT 1 AS age, 'flu' AS d")
    refused(tmp_path / "open.duckdb", r"open in this process already; give connection\.table")
    assert column(connection.table("p"), "age") == [1]
    connection.execute("CREATE SCHEMA s; CREATE TABLE s.q AS SELECT 2 AS age, 'flu' AS d")
    connection.close()
    assert column(f"{tmp_path / 'open.duckdb'}?table=s.q", "age") == [2]


def test_sqlite_of_any_type_in_a_column_is_read_or_named(tmp_path):
    path = tmp_path / "people.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE p (age, seen DATETIME, name, d)")
    connection.execute("INSERT INTO p VALUES (1, '2020-01-01 10:00', CAST(x'e9' AS TEXT), 'flu')")
    connection.execute("INSERT INTO p VALUES (2.5, '2020-01-02 11:00', 'e', 'flu')")
    connection.commit()
    assert column(path, "age") == [1.0, 2.5]
    assert column(path, "seen") == [dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 2, 11)]
    refused(path, "a text is not UTF-8; add --encoding latin-1", "name")
    assert column(path, "name", encoding="latin-1") == ["e", "é"]
    connection.execute("INSERT INTO p VALUES ('old', '1.1.2020', 'x', 'flu')")
    connection.commit()
    refused(path, r"holds a text in row 3 \('old'\) and a number")
    assert column(path, "seen") == ["1.1.2020", "2020-01-01 10:00", "2020-01-02 11:00"]
    connection.close()


@pytest.mark.parametrize("name", ["people.db", "people.duckdb", "people.sqlite"])
def test_what_is_no_database_is_named(tmp_path, name):
    (tmp_path / name).write_bytes(b"hello")
    refused(tmp_path / name, "is a database neither of DuckDB nor of SQLite")
    refused(f"{tmp_path / 'none.db'}?table=x", r"no file or folder '.*none\.db'")


# ---- SPSS, Stata, SAS --------------------------------------------------------------------------

CODES = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 1.0, None],
        "age": [17.0, 98.0, 30.0, 31.0],
        "dose": [0.5, 1.0, None, 2.0],
        "edu": [3.0, 1.0, 2.0, 1.0],
        "job": [1.0, 9.0, 1.0, 9.0],
        "born": [dt.date(1990, 1, 1)] * 4,
        "d": ["flu", "cold", "flu", "cold"],
    }
)
LABELS = {
    "sex": {1: "M", 2: "F"},
    "age": {98: "refused"},
    "edu": {1: "low", 2: "mid", 3: "high", 4: "top"},
    "job": {1: "other", 9: "other"},
}


@pytest.fixture
def stat():
    return pytest.importorskip("pyreadstat", reason='pip install ".[files]"')


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta"])
def test_codes_with_labels_are_read_as_labels(stat, tmp_path, ending):
    path = tmp_path / f"people.{ending}"
    if ending == "dta":
        stat.write_dta(CODES, path, variable_value_labels=LABELS)
    else:
        options = {"variable_measure": {"edu": "ordinal"}, "compress": ending == "zsav"}
        stat.write_sav(CODES, path, variable_value_labels=LABELS, **options)
    assert column(path, "sex") == [None, "F", "M"]
    ordinal = ["low", "mid", "high"]
    assert column(path, "edu") == (sorted(ordinal) if ending == "dta" else ordinal)
    assert column(path, "job") == ["other (1)", "other (9)"]
    assert column(path, "age") == [17, 30, 31, 98]
    assert column(path, "dose") == [None, 0.5, 1.0, 2.0]
    assert column(path, "born") == [dt.date(1990, 1, 1)]
    schema = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="d")
    assert fk.Microdata(path, schema).read_as() == {
        "sex": "text, 2 values, some missing (labels of codes)",
        "age": "numbers 17 to 98 (codes, since 17 has no label)",
        "d": "text, 2 values",
    }
    refused(path, "no column 'agee'; did you mean 'age'", "agee")


def test_what_spss_calls_missing_is_missing(stat, tmp_path):
    path = tmp_path / "people.sav"
    stat.write_sav(CODES, path, missing_ranges={"age": [98]})
    assert column(path, "age") == [None, 17, 30, 31]


def test_a_transport_file_of_sas_is_read(stat, tmp_path):
    stat.write_xport(CODES, tmp_path / "people.xpt")
    assert column(tmp_path / "people.xpt", "sex") == [None, 1, 2]


@pytest.mark.parametrize("ending", ["sav", "dta", "sas7bdat", "xpt"])
def test_a_broken_file_of_a_statistics_program_is_named(stat, tmp_path, ending):
    (tmp_path / f"people.{ending}").write_bytes(b"hello")
    refused(tmp_path / f"people.{ending}", rf"people\.{ending} cannot be read: ")


@pytest.mark.parametrize(
    "view",
    [
        "CREATE VIEW people AS SELECT content ill, filename age FROM read_text('{}')",
        "CREATE VIEW people AS SELECT content::VARCHAR ill, 1 age FROM read_blob('{}')",
        "CREATE VIEW people AS SELECT * FROM read_csv('{}')",
        "CREATE VIEW people AS SELECT * FROM '{}'",
        "CREATE VIEW people AS SELECT file ill, 1 age FROM glob('{}')",
        "CREATE MACRO m() AS TABLE SELECT * FROM '{}'; CREATE VIEW people AS SELECT * FROM m()",
        "CREATE MACRO m() AS (SELECT content FROM read_text('{}'));"
        "CREATE VIEW inner_view AS SELECT 1 age, m() ill;"
        "CREATE VIEW people AS SELECT * FROM inner_view",
    ],
)
def test_views_of_a_duckdb_file_that_reach_out_are_refused(tmp_path, view):
    (tmp_path / "secret.csv").write_text("age,ill\n1,GEHEIM\n")
    with duckdb.connect(tmp_path / "evil.duckdb") as opened:
        opened.execute(view.format(tmp_path / "secret.csv"))
        opened.execute("CREATE TABLE good AS SELECT 1 AS age, 'Flu' AS ill")
    message = "evil.duckdb, table people is a view that reaches out of its file"
    evil = f"{tmp_path}/evil.duckdb?table=people"
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    rules = fk.Policy([fk.Requirement(fk.KAnonymity(1))], schema)
    for step in (
        lambda: fk.suggest_policy(evil),
        lambda: fk.audit(evil, rules),
        lambda: fk.publish(evil, rules),
        lambda: fk.publish(evil, rules, engine="duckdb"),
    ):
        with pytest.raises(DataError, match=message) as said:
            step()
        assert "GEHEIM" not in str(said.value)
    good = f"{tmp_path}/evil.duckdb?table=good"
    assert fk.publish(good, rules, engine="duckdb").release.counts.n_people == 1
    assert fk.publish(good, rules).release.counts.n_people == 1  # the file is free again


def test_views_of_a_duckdb_file_read_no_variable_of_python(tmp_path):
    people = pa.table({"age": [1], "ill": ["GEHEIM"]})
    with duckdb.connect(tmp_path / "evil.duckdb") as opened:
        try:
            opened.execute("CREATE VIEW people AS SELECT * FROM known")
        except duckdb.Error:
            opened.register("known", people)
            try:
                opened.execute("CREATE VIEW people AS SELECT * FROM known")
            except duckdb.Error:
                pytest.skip("DuckDB keeps no such view")
    known = people
    assert known is not None
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    with pytest.raises(DataError):
        _ = fk.Microdata(tmp_path / "evil.duckdb", schema).n_people


def test_a_duckdb_file_is_limited_and_spills_like_others(tmp_path):
    with duckdb.connect(tmp_path / "big.duckdb") as opened:
        opened.execute(
            "CREATE TABLE t AS SELECT i age, repeat('x', 30) || i ill FROM range(200000) r(i)"
        )
    opened = open_table(tmp_path / "big.duckdb")
    try:
        fk.limit_memory("64MB")
        assert len(opened.tally(["age", "ill"])[1]) == 200_000
    finally:
        fk.limit_memory(None)
