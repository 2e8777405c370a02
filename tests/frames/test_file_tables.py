"""Workbooks, databases and files of statistics programs: what is read, and what is refused how."""

import datetime as dt
import logging
import sqlite3
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from tests.frames import backends, postgres
from tests.frames.backends import bags, write
from tests.frames.workbooks import COMPUTED, ERROR, UNCOMPUTED, write_workbook

import foreknow as fk
from foreknow.cli import main as run_process
from foreknow.data.engines.sources import open_table
from foreknow_judge.errors import DataError

PEOPLE = [
    (34, "01234", dt.date(1990, 1, 2), "flu"),
    (35, "10115", dt.date(1989, 3, 4), "cold"),
    (61, "01234", dt.date(1964, 12, 31), "flu"),
]
NAMES = ["age", "zip", "born", "d"]
SCHEMA = fk.Schema(quasi_identifiers=NAMES[:3], sensitive="d")


def column(source, name="age", **reading):
    how = {"quasi_identifiers": [name], "sensitive": "d", "reading": reading}
    (attribute,) = fk.Microdata(source, **how).attributes
    return attribute.domain


def refused(source, said, name="age"):
    with pytest.raises(fk.InputError, match=said) as refusal:
        column(source, name)
    assert "\n" not in str(refusal.value)


# ---- workbooks ---------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    pytest.importorskip("python_calamine", reason='reads workbooks; pip install ".[files]"')

    def make(*rows, merged=None, name="people.xlsx", **others):
        sheets = {"People": rows, **{other: [["x"], [1]] for other in others}}
        return write_workbook(tmp_path / name, sheets, merged)

    return make


@pytest.mark.processes
def test_cells_are_what_workbook_shows(book):
    shown = {
        "a": ([1.5, 2], [1.5, 2.0]),
        "b": ([1, None], [None, 1]),
        "c": ([COMPUTED, 3], [2, 3]),
        "e": ([True, False], [False, True]),
        "f": ([2**60, 1], [1.0, float(2**60)]),  # beyond what floats hold exactly
    }
    rows = zip(*[cells for cells, _ in shown.values()], ["flu", "flu"], strict=True)
    path = book([*shown, "d"], *rows)
    found = fk.Microdata(path, quasi_identifiers=[*shown], sensitive="d").attributes
    for own, (_, domain) in zip(found, shown.values(), strict=True):
        assert own.domain == domain
        assert [*map(type, own.domain)] == [*map(type, domain)]
    # What the process that reads refuses is said.
    refused(f"{path}?sheet=people", "has no sheet 'people'; it has 'People'")


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
def test_misleading_cells_are_refused(book, cells, said):
    refused(book(NAMES, *[(cell, "1", None, "flu") for cell in cells]), said)


ALL_NAMES = "names of all 4 columns, and"


@pytest.mark.parametrize(
    ("rows", "merged", "said"),
    [
        ([["My table"], NAMES, *PEOPLE], None, f"{ALL_NAMES} no name is there"),
        ([["age", None, "born", "d"], *PEOPLE], None, "row 1 must be .*: delete a title above it"),
        ([NAMES, PEOPLE[0], [None], PEOPLE[1]], None, "row 3 is empty and others follow; delete"),
        ([NAMES, *PEOPLE], "A1:B1", "row 1 has cells that are merged; unmerge"),
        ([[1990, 1991, 1992, "d"], *PEOPLE], None, f"{ALL_NAMES} 1990.0 is there"),
        ([], None, "is empty; its first row must name the columns"),
        ([["age", "age", "d"], [1, 2, 3]], None, "two columns named 'age'"),
    ],
)
def test_sheets_that_are_no_table(book, rows, merged, said):
    refused(book(*rows, merged=merged), said)


def test_a_sheet_is_named(book):
    path = book(NAMES, *PEOPLE, Notes=True)
    refused(path, r"several sheets: 'People', 'Notes'; name one: people\.xlsx\?sheet=People")
    assert column(f"{path}?sheet=People") == [34, 35, 61]
    refused(f"{path}?sheet=people", "has no sheet 'people'; it has 'People', 'Notes'")
    refused(f"{path}?table=People", r"databases have \?table=, workbooks \?sheet=")
    assert column(book(NAMES, *PEOPLE, name="people.xlsx?sheet=9.xlsx")) == [34, 35, 61]


@pytest.mark.parametrize(
    ("name", "module"), [("people.xlsx", "python_calamine"), ("people.sav", "pyreadstat")]
)
def test_without_extra_it_is_named(tmp_path, monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    refused(write(tmp_path, b"", name), r'needs .*: pip install "\.\[files\]" in a clone')


# ---- databases ---------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path):
    path = tmp_path / f"it's [1] people.{request.param}"

    def run(*queries, rows=None):
        connection = {"sqlite": sqlite3, "duckdb": duckdb}[request.param].connect(str(path))
        for query in queries:
            connection.execute(query)
        if rows:
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
        connection.commit()
        connection.close()

    rows = [(age, code, born.isoformat(), d) for age, code, born, d in PEOPLE]
    run("CREATE TABLE people (age INT, zip VARCHAR, born DATE, d VARCHAR)", rows=rows)
    return path, run


def test_open_duckdb_files_are_named(tmp_path):
    path = tmp_path / "open.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE p AS SELECT 1 AS age, 'flu' AS d")
    refused(path, r"open in this process already; give connection\.table")
    assert column(connection.table("p")) == [1]
    connection.execute("CREATE SCHEMA s; CREATE TABLE s.q AS SELECT 2 AS age, 'flu' AS d")
    connection.execute('CREATE TABLE "s.q" AS FROM p')
    connection.close()
    with pytest.raises(DataError, match=r"two tables that are called 's\.q'"):
        column(f"{path}?table=s.q")
    assert column(f"{path}?table=p") == [1]
    with duckdb.connect(path) as opened:
        opened.execute('DROP TABLE "s.q"')
    assert column(f"{path}?table=s.q") == [2]
    with duckdb.connect(tmp_path / "big.duckdb") as opened:
        opened.execute(
            "CREATE TABLE t AS SELECT i age, repeat('x', 30) || i d FROM range(100000) r(i)"
        )
    table = open_table(tmp_path / "big.duckdb")
    try:  # it is limited and spills like others
        fk.limit_memory("64MB")
        assert len(table.tally(["age", "d"])[1]) == 100_000
    finally:
        fk.limit_memory(None)


def test_sqlite_columns_mix_types(tmp_path):
    path = tmp_path / "people.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE p (age, seen DATETIME, name, d)")
    connection.execute("INSERT INTO p VALUES (1, '2020-01-01 10:00', CAST(x'e9' AS TEXT), 'flu')")
    connection.execute("INSERT INTO p VALUES (2.5, '2020-01-02 11:00', 'e', 'flu')")
    connection.commit()
    assert column(path) == [1.0, 2.5]
    assert column(path, "seen") == [dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 2, 11)]
    refused(path, "a text is not UTF-8; add --encoding latin-1", "name")
    assert column(path, "name", encoding="latin-1") == ["e", "é"]
    connection.execute("INSERT INTO p VALUES ('old', '1.1.2020', 'x', 'flu')")
    connection.commit()
    refused(path, r"holds a text in row 3 \('old'\) and a number")
    assert column(path, "seen") == ["1.1.2020", "2020-01-01 10:00", "2020-01-02 11:00"]
    connection.close()
    for name in ("other.db", "other.duckdb", "other.sqlite"):
        refused(write(tmp_path, b"hello", name), "is a database neither of DuckDB nor of SQLite")
        refused(f"{tmp_path / 'none.db'}?table=x", r"no file or folder '.*none\.db'")


@pytest.mark.parametrize(
    "view",
    [
        "VIEW people AS SELECT content ill, filename age FROM read_text('{}')",
        "VIEW people AS SELECT content::VARCHAR ill, 1 age FROM read_blob('{}')",
        "VIEW people AS SELECT * FROM read_csv('{}')",
        "VIEW people AS SELECT * FROM '{}'",
        "VIEW people AS SELECT file ill, 1 age FROM glob('{}')",
        "MACRO m() AS TABLE SELECT * FROM '{}'; CREATE VIEW people AS SELECT * FROM m()",
        "MACRO m() AS (SELECT content FROM read_text('{}')); CREATE VIEW inner_view AS SELECT 1 "
        "age, m() ill; CREATE VIEW people AS SELECT * FROM inner_view",
    ],
    ids=range(7),
)
def test_outreaching_views_are_refused(tmp_path, view):
    (tmp_path / "secret.csv").write_text("age,ill\n1,GEHEIM\n")
    with duckdb.connect(tmp_path / "evil.duckdb") as opened:
        opened.execute("CREATE " + view.format(tmp_path / "secret.csv"))
        opened.execute("CREATE TABLE good AS SELECT 1 AS age, 'Flu' AS ill")
    evil, good = (f"{tmp_path}/evil.duckdb?table={name}" for name in ("people", "good"))
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    rules = fk.Policy([fk.Requirement(fk.KAnonymity(1))], schema)
    for step in (
        lambda: fk.suggest_policy(evil),
        lambda: fk.audit(evil, rules),
        lambda: fk.publish(evil, rules),
        lambda: fk.publish(evil, rules, engine="duckdb"),
    ):
        with pytest.raises(DataError, match="table people is a view that reaches out of") as said:
            step()
        assert "GEHEIM" not in str(said.value)
    for engine in ("duckdb", "auto"):  # the file is free again
        assert fk.publish(good, rules, engine=engine).release.counts.n_people == 1


# ---- SPSS, Stata, SAS --------------------------------------------------------------------------

CODES = pd.DataFrame({
    "sex": [1.0, 2.0, 1.0, None], "age": [17.0, 98.0, 30.0, 31.0], "dose": [0.5, 1.0, None, 2.0],
    "edu": [3.0, 1.0, 2.0, 1.0], "job": [1.0, 9.0, 1.0, 9.0], "born": [dt.date(1990, 1, 1)] * 4,
    "d": ["flu", "cold", "flu", "cold"],
})  # fmt: skip
LABELS = {
    "sex": {1: "M", 2: "F"}, "age": {98: "refused"}, "job": {1: "other", 9: "other"},
    "edu": {1: "low", 2: "mid", 3: "high", 4: "top"},
}  # fmt: skip


@pytest.fixture
def stat():
    return pytest.importorskip("pyreadstat", reason='pip install ".[files]"')


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta"])
def test_labelled_codes_become_labels(stat, tmp_path, ending):
    path = tmp_path / f"people.{ending}"
    if ending == "dta":
        stat.write_dta(CODES, path, variable_value_labels=LABELS)
    else:
        options = {"variable_measure": {"edu": "ordinal"}, "compress": ending == "zsav"}
        stat.write_sav(CODES, path, variable_value_labels=LABELS, **options)
    ordinal = ["low", "mid", "high"]
    for name, domain in {
        "sex": [None, "F", "M"], "edu": sorted(ordinal) if ending == "dta" else ordinal,
        "job": ["other (1)", "other (9)"], "age": [17, 30, 31, 98], "dose": [None, 0.5, 1.0, 2.0],
        "born": [dt.date(1990, 1, 1)],
    }.items():  # fmt: skip
        assert column(path, name) == domain
    made = fk.Microdata(path, quasi_identifiers=["sex", "age"], sensitive="d")
    assert made.read_as() == {
        "sex": "text, 2 values, some missing (labels of codes)",
        "age": "numbers 17 to 98 (codes, since 17 has no label)",
        "d": "text, 2 values",
    }
    refused(path, "no column 'agee'; did you mean 'age'", "agee")


def test_spss_missing_values_are_missing(stat, tmp_path):
    stat.write_sav(CODES, tmp_path / "people.sav", missing_ranges={"age": [98]})
    assert column(tmp_path / "people.sav") == [None, 17, 30, 31]
    stat.write_xport(CODES, tmp_path / "people.xpt")
    assert column(tmp_path / "people.xpt", "sex") == [None, 1, 2]
    for ending in ("sav", "dta", "sas7bdat", "xpt"):
        path = write(tmp_path, b"hello", f"people.{ending}")
        refused(path, rf"people\.{ending} cannot be read: ")


# ---- databases -----------------------------------------------------------------------------------


@pytest.fixture
def made():
    """Run statements; give the address."""
    pytest.importorskip("adbc_driver_postgresql", reason="the ADBC driver is absent")
    schema = f"s{next(postgres._numbers)}"

    def run(*statements):
        with postgres.connection() as opened, opened.cursor() as cursor:
            for statement in (
                f"CREATE SCHEMA {schema}",
                f"SET search_path = {schema}",
                *statements,
            ):
                cursor.execute(statement)
            opened.commit()
        return lambda table: f"{postgres.server()}&table={schema}.{table}"

    return run


def held(source, *columns):
    return fk.Release.from_generalized(source, quasi_identifiers=[*columns], sensitive="ill").counts


def test_database_types_and_collations(made):
    place = made(
        "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false)",
        "CREATE TABLE f (job text COLLATE folded, ill text COLLATE folded)",
        "INSERT INTO f VALUES ('a', 'Flu'), ('A', 'flu'), ('a', 'Flu')",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN wage AS numeric(8, 2)",
        "CREATE TABLE t (m mood, pay wage, n numeric, code char(4), born date, ill varchar(9))",
        "INSERT INTO t VALUES ('sad', 10.5, 1.0, 'a', '2020-02-01', 'Flu'),"
        " ('ok', 10.50, 1.00, 'a', '2020-02-01', 'Cold'), (NULL, NULL, 2.25, NULL, NULL, 'Flu')",
        "CREATE MATERIALIZED VIEW seen AS SELECT * FROM t",
    )
    assert bags(held(place("f"), "job")) == {("a",): {"Flu": 2}, ("A",): {"flu": 1}}
    assert sorted(held(place("seen"), "pay", "n", "code", "born").sizes.tolist()) == [1, 2]
    assert {*map(str, held(place("t"), "m").groups)} == {"('sad',)", "('ok',)", "(None,)"}


def test_meaningless_types_are_refused(made):
    kinds, numbers = (
        ["jsonb", "interval", "bytea", "point"],
        ["'NaN'", "1e37 + 0.001", "'Infinity'"],
    )
    place = made(
        *(f"CREATE TABLE {kind}s (a {kind}, ill text)" for kind in kinds),
        *(
            f"CREATE TABLE n{i} AS SELECT {own}::numeric a, 'Flu' ill"
            for i, own in enumerate(numbers)
        ),
    )
    for kind in kinds:
        with pytest.raises(DataError, match=f"'a' is of type {kind}; make a view that casts it"):
            held(place(f"{kind}s"), "a")
    for i in range(3):
        with pytest.raises(DataError, match="over 38 digits, NaN or infinity"):
            held(place(f"n{i}"), "a")


SECRET = "TOPSECRETpw"
ODD = ["", "/x", "#x", "?x", "[", "]", "%", "%zz", "'\" x", "//x", "\n", "?a=b", "%40", "\\"]
ADDRESSES = [
    f"postgresql://clinic:{who}"
    for who in (
        *(f"{SECRET}{odd}@127.0.0.1:9/med" for odd in ODD),
        *(f"a@{SECRET}@127.0.0.1:9/med", f"{SECRET}@[::1/med", f"{SECRET}@127.0.0.1:bad/med"),
        *(SECRET, f"x@127.0.0.1:9/med?password={SECRET}", f"x@127.0.0.1:9/med?table=a@{SECRET}"),
    )
]
# What somebody may take for an address, and is a path that does not exist.
ADDRESSES += [f"postgresql:clinic:{SECRET}@localhost/med", f"host=localhost password={SECRET}"]
ADDRESSES += [f"host=localhost password = '{SECRET} \\' {SECRET}' port=9"]
SCHEMES = ["postgresql", "postgres", "PostgreSQL", "mysql"]


@pytest.mark.parametrize(
    ("address", "scheme"),
    [(own, SCHEMES[i % 4]) for i, own in enumerate(ADDRESSES)],
    ids=range(len(ADDRESSES)),
)
def test_no_password_is_printed(address, scheme, capfd, monkeypatch, tmp_path):
    pytest.importorskip("adbc_driver_postgresql", reason="the ADBC driver is absent")
    address = address.replace("postgresql", scheme)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,ill\n1,a\n")
    for words in (
        *(["init", address], ["explore", address], ["publish", address]),
        *(["audit", "t.csv", "--policy", address], ["init", f"--sensitive={address}", "t.csv"]),
        *(["risk", address, "--quasi-identifiers", "age"], ["verify", address]),
    ):
        monkeypatch.setattr("sys.argv", ["foreknow", *words])
        with pytest.raises(SystemExit) as ended:
            run_process()
        said = "".join(capfd.readouterr())
        assert SECRET not in said, said
        assert ended.value.code == 2, said
    for source in (address, Path(address)):
        with pytest.raises(DataError) as caught:
            held(source, "a")
        error = caught.value
        while error is not None:
            assert SECRET not in str(error)
            error = None if error.__suppress_context__ else error.__cause__ or error.__context__


def test_passwords_stay_secret():
    for address in ("postgresql://me:geh%40eim@127.0.0.1:9/db", "postgres://me:geheim@:x/db?y=1"):
        with pytest.raises(DataError) as caught:
            held(f"{address}{'&' if '?' in address else '?'}table=t", "a")
        assert "geh" not in str(caught.value)
        assert "me" not in str(caught.value).split(" cannot be read")[0]


@pytest.mark.parametrize("backend", ["ibis_duckdb", "ibis_postgres"])
def test_publishing_reads_table_of_ibis(backend, caplog, tmp_path):
    pytest.importorskip("ibis", reason="Ibis is absent")
    caplog.set_level(logging.INFO, "foreknow")
    rows = {
        "age": [20 + i * 7 % 40 for i in range(200)],
        "ill": ["Flu", "Cold", "Gout", "HIV"] * 50,
    }
    table = pa.table(rows)
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    policy = {"schema": schema, "require": [{"facts": {"l": 1}, "below": 0.9}]}
    made = fk.publish(getattr(backends, backend)(table, tmp_path), policy, engine="duckdb")
    assert "nor of DuckDB or Spark" in caplog.text
    assert made.groups == fk.publish(table, policy).groups
