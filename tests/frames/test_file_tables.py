"""Workbooks, databases and files: what is read, what a file leaves open, what is refused how."""

import datetime as dt
import gzip
import logging
import random
import sqlite3
import sys
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.frames import backends
from tests.frames.backends import (
    COMPUTED,
    ERROR,
    POSTGRES_NUMBERS,
    UNCOMPUTED,
    bags,
    postgres_connection,
    postgres_server,
    write,
    write_workbook,
)

import foreknow as fk
from foreknow.adversaries.priors.priors import Priors
from foreknow.cli import main as run_process
from foreknow.data.tables.priors import read_chances
from foreknow.data.tables.sources import open_table
from foreknow_judge.errors import DataError, InputError

PEOPLE = [
    (34, "01234", dt.date(1990, 1, 2), "flu"),
    (35, "10115", dt.date(1989, 3, 4), "cold"),
    (61, "01234", dt.date(1964, 12, 31), "flu"),
]
NAMES = ["age", "zip", "born", "d"]


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
    attributes = fk.Microdata(path, quasi_identifiers=[*shown], sensitive="d").attributes
    for attribute, (_, domain) in zip(attributes, shown.values(), strict=True):
        assert attribute.domain == domain
        assert [*map(type, attribute.domain)] == [*map(type, domain)]
    # What the process that reads refuses is said.
    refused(f"{path}?sheet=people", "has no sheet 'people'; it has 'People'")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([ERROR, 3], r"people\.xlsx, sheet People: A2 is an error, such as #DIV/0!"),
        ([3, UNCOMPUTED], "A3 is a formula without a value; open and save the workbook in Excel"),
        ([3, "n/a", 4], r"column 'age' holds a text in row 3 \('n/a'\) and a number in others"),
        ([3, True, 4], "holds yes or no in row 3"),
        (["x", dt.date(2020, 1, 1), "y"], "holds a date in row 3"),
    ],
)
def test_misleading_cells_are_refused(book, cells, message):
    refused(book(NAMES, *[(cell, "1", None, "flu") for cell in cells]), message)


ALL_NAMES = "names of all 4 columns, and"


@pytest.mark.parametrize(
    ("rows", "merged", "message"),
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
def test_sheets_that_are_no_table(book, rows, merged, message):
    refused(book(*rows, merged=merged), message)


@pytest.mark.parametrize(
    ("spoiled", "message", "how"),
    [
        (["x7", "p31", "flu"], r"nearly all values read as numbers, but not row 42 \('x7'\)", {}),
        (["x7", "p31", "flu"], "but row 42 holds 'x7'", {"types": {"age": "number"}}),
        (["8", "p31", None], "'d' is missing in 1 row, first in row 42", {}),
        (["8", None, "flu"], "'pin' is missing in row 42", {"person": "pin"}),
        (["8", "p3", "flu"], "is in rows 5 and 42", {"person": "pin"}),
        (["1", "p", "flu"], "as a text, but as", {"hierarchies": {"age": fk.Ordered(range(50))}}),
        (
            ["99", "p99", "flu"],
            "first in row 42",
            {"hierarchies": {"age": fk.Ordered([*map(str, range(50))])}},
        ),
    ],
)
def test_rows_as_sheet_numbers_them(book, spoiled, message, how):
    rows = [[str(age), f"p{age}", "flu"] for age in range(40)]
    path = book(["age", "pin", "d"], *rows, spoiled)
    with pytest.raises(fk.InputError, match=message):
        _ = fk.Microdata(path, quasi_identifiers=["age"], sensitive="d", **how).attributes


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


def test_alike_labels_stay_apart(stat, tmp_path):
    labels = {"job": {1: "other", 5: "other (1)", 9: "other"}}
    codes = pd.DataFrame({"job": [1.0, 5.0, 9.0], "d": [*"abc"]})
    stat.write_sav(codes, tmp_path / "people.sav", variable_value_labels=labels)
    expected = ["other (1) (5)", "other (1)", "other (9)"]
    assert sorted(column(tmp_path / "people.sav", "job")) == sorted(expected)


@pytest.mark.parametrize(
    ("ending", "form"), [("sav", "TIME8"), ("sav", "DTIME12"), ("xpt", "TIME8")]
)
def test_durations_are_no_times(stat, tmp_path, ending, form):
    """1, 25 and 49 hours were one time of day, so three people were taken for equal."""
    path, write_file = tmp_path / f"people.{ending}", stat.write_sav
    if ending == "xpt":
        write_file = stat.write_xport
    for hours, last in ((1, 23.5), (1, 24), (1, 49), (1, -1)):
        stays = pd.DataFrame({"stay": [3600.0 * hours, None, 3600 * last], "d": [*"abc"]})
        write_file(stays, path, variable_format={"stay": form})
        if 0 <= last < 24:
            assert column(path, "stay") == [None, dt.time(1), dt.time(23, 30)]
        else:
            refused(path, f"durations of a day or more, as in row 3 \\({last} hours\\)", "stay")


MONTH, WEEK = dt.date(2024, 5, 1), dt.date(2024, 5, 13)
DAY = (dt.date(2024, 5, 14) - dt.date(1960, 1, 1)).days
SECONDS = (dt.date(2024, 5, 14) - dt.date(1582, 10, 14)).days * 86_400


@pytest.mark.parametrize(
    ("form", "number", "read"),
    [
        ("%tm", 772, MONTH),
        ("%-tmMon_CCYY", 772, MONTH),
        ("%tm", -13, dt.date(1958, 12, 1)),
        ("%tq", 257, dt.date(2024, 4, 1)),
        ("%th", 129, dt.date(2024, 7, 1)),
        ("%tw", 3347, WEEK),
        ("%ty", 2024, 2024),
        ("%tdDD/NN/CCYY", DAY, dt.date(2024, 5, 14)),
        ("%tcDDmonCCYY", (DAY * 24 + 7) * 3_600_000, dt.datetime(2024, 5, 14, 7)),
        ("MOYR8", SECONDS, MONTH),
        ("QYR8", SECONDS, dt.date(2024, 4, 1)),
        ("WKYR10", SECONDS, WEEK),
        ("MONYY7", DAY, MONTH),
        ("YYMMDD10", DAY, dt.date(2024, 5, 14)),
    ],
)
def test_periods_become_first_days(stat, tmp_path, form, number, read):
    frame = pd.DataFrame({"seen": [float(number)] * 2 + [None], "d": ["flu"] * 3})
    stata, sas = form.startswith("%"), number == DAY
    write_file = stat.write_dta if stata else stat.write_xport if sas else stat.write_sav
    path = tmp_path / f"people.{'dta' if stata else 'xpt' if sas else 'sav'}"
    write_file(frame, path, variable_format={"seen": form})
    assert column(path, "seen") == [None, read]


def test_number_of_no_month(stat, tmp_path):
    frame = pd.DataFrame({"seen": [202405.0] * 2, "d": ["flu"] * 2})
    stat.write_dta(frame, tmp_path / "people.dta", variable_format={"seen": "%tm"})
    refused(tmp_path / "people.dta", "202405 as a month since 1960, which is no year", "seen")


# ---- databases ---------------------------------------------------------------------------------


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
        "VIEW people AS SELECT * FROM read_csv('{}')",
        "VIEW people AS SELECT file ill, 1 age FROM glob('{}')",
        "MACRO m() AS (SELECT content FROM read_text('{}')); CREATE VIEW inner_view AS SELECT 1 "
        "age, m() ill; CREATE VIEW people AS SELECT * FROM inner_view",
    ],
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
    microdata = fk.Microdata(path, quasi_identifiers=["sex", "age"], sensitive="d")
    assert microdata.read_as() == {
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
    schema = f"s{next(POSTGRES_NUMBERS)}"

    def run(*statements):
        with postgres_connection() as opened, opened.cursor() as cursor:
            for statement in (
                f"CREATE SCHEMA {schema}",
                f"SET search_path = {schema}",
                *statements,
            ):
                cursor.execute(statement)
            opened.commit()
        return lambda table: f"{postgres_server()}&table={schema}.{table}"

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
            f"CREATE TABLE n{i} AS SELECT {number}::numeric a, 'Flu' ill"
            for i, number in enumerate(numbers)
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
    [(address, SCHEMES[i % 4]) for i, address in enumerate(ADDRESSES)],
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
        text = "".join(capfd.readouterr())
        assert SECRET not in text, text
        assert ended.value.code == 2, text
    for source in (address, Path(address)):
        with pytest.raises(DataError) as caught:
            held(source, "a")
        error = caught.value
        while error is not None:
            assert SECRET not in str(error)
            error = None if error.__suppress_context__ else error.__cause__ or error.__context__


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
    publication = fk.publish(getattr(backends, backend)(table, tmp_path), policy, engine="duckdb")
    assert "nor of DuckDB or Spark" in caplog.text
    assert publication.groups == fk.publish(table, policy).groups


# ---- readings ------------------------------------------------------------------------------------


X = {"quasi_identifiers": ["x"], "sensitive": "d"}


def column_of(source, name="x", **schema):
    """A quasi-identifier of a table: its domain, and whether it has an order."""
    (attribute,) = fk.Microdata(source, **X | {"quasi_identifiers": [name]} | schema).attributes
    return attribute.domain, attribute.order


def rows(*values, delimiter=",", encoding="utf-8"):
    """A CSV file of these values, and a letter beside each."""
    lines = [f"x{delimiter}d", *(f"{value}{delimiter}{i % 2}" for i, value in enumerate(values))]
    return ("\n".join(lines) + "\n").encode(encoding)


def semicolons(*values):
    return rows(*values, delimiter=";")


def day(year, month=1, number=1, *more):
    return (dt.datetime if more else dt.date)(year, month, number, *more)


TOWNS = ("Köln", "Łódź", "Zürich")
IN_ORDER = ["Köln", "Zürich", "Łódź"]
DOLLARS = {"thousands": ",", "currency": "$"}
EUROS = {"decimal": ",", "thousands": " ", "currency": "€"}
COMMA = {"decimal": ","}
DATES = [day(2020, 12, 31), day(2021, 2)]
POINTS = {"date_format": "dd.mm.yyyy"}
SOON, ARABIC = ("31.12.2020", "soon"), "٣١.١٢.٢٠٢٠"
ZONES = ("2023-03-12 14:20:05+00", "2017-01-01T06:00:42Z")
IN_ZONES = [day(2017, 1, 1, 6, 0, 42), day(2023, 3, 12, 14, 20, 5)]
EAST = [f"{own}T00:00+02:00" for own in ("2020-12-31", "2021-02-01")]

# Content, how it is to be read, and the values that are found.
READ = [
    *((rows("Köln", "Nîmes", encoding=own), {"encoding": own}, ["Köln", "Nîmes"])
      for own in ("latin-1", "utf-8")),
    *((rows(*TOWNS, encoding=own), {"encoding": own}, IN_ORDER)
      for own in ("cp1250", "utf-16", "utf-16-le")),
    (b"\xff\xfe" + rows("a", encoding="utf-16-le"), {"encoding": "utf-16-le"}, ["a"]),
    (b'x,d\r\n"a\r\n\xe9",1\r\n', {"encoding": "latin-1"}, ["a\r\né"]),
    (rows("a", delimiter="\t"), {"delimiter": "tab"}, ["a"]),
    (semicolons("1,5", "10", "2,25"), COMMA, [1.5, 2.25, 10]),
    (semicolons("1.234,5", "12.345.678", "-7"), COMMA, [-7, 1234.5, 12345678]),
    (semicolons("1,50", "1,5"), COMMA, [1.5]),
    (semicolons("1.5", "2"), COMMA, ["1.5", "2"]),  # no decimal comma: texts
    (rows("1.5"), {"decimal": "."}, [1.5]),
    (rows("31.12.2020", "01.02.2021"), POINTS, DATES),
    (rows("31/12/20", "01/02/21"), {"date_format": "DD/MM/YY"}, DATES),
    (rows("20201231", "20210201"), {"date_format": "yyyymmdd"}, DATES),
    (rows("31.12.2020 10:30"), {"date_format": "dd.mm.yyyy hh:mm"}, [day(2020, 12, 31, 10, 30)]),
    (rows("2020-12-31", "2021-02-01"), POINTS, DATES),  # ISO, too
    (rows(*SOON), POINTS, [*SOON]), (rows(ARABIC), POINTS, [ARABIC]),
    (rows("2020-12-31 00:00:00", "2021-02-01 00:00:00"), {}, DATES),
    (rows("31Dec2020", "01FEB2021"), {"date_format": "ddMONyyyy"}, DATES),
    (rows("31. Dezember 2020"), {"date_format": "d. mmmm yyyy"}, DATES[:1]),  # in any locale
    (rows("31.12.26", "01.02.25"), {"date_format": "dd.mm.yy", "latest_year": 2025},
     [day(1926, 12, 31), day(2025, 2)]),
    (rows(*ZONES), {}, IN_ZONES), (rows(*EAST), {}, DATES),
    (rows('"$11,310.00 "', "$950", "-$7"), DOLLARS, [-7, 950, 11310]),
    (semicolons("1 234,50 €", "12 €"), EUROS, [12, Decimal("1234.5")]),
    (semicolons("1,5", "1,250"), DOLLARS, ["1,250", "1,5"]),  # no thousands: texts
    (rows("1042.50 EUR", "EUR 7"), {"currency": "EUR"}, [7, Decimal("1042.5")]),
    (rows("2020-12-31 00:00", "2020-12-31 09:00"), {},
     [day(2020, 12, 31, 0), day(2020, 12, 31, 9)]),
]  # fmt: skip


@pytest.mark.parametrize(("content", "reading", "result"), READ, ids=range(len(READ)))
def test_readings_match_declarations(tmp_path, content, reading, result):
    domain, order = column_of(write(tmp_path, content), reading=reading)
    assert domain == result
    kinds = [[type(v) for v in own if isinstance(v, str | dt.date)] for own in (domain, result)]
    assert kinds[0] == kinds[1]
    assert order == ("nominal" if isinstance(result[-1], str) else "ordered")
    zipped = write(tmp_path, gzip.compress(content), "people.csv.gz")
    assert column_of(zipped, reading=fk.Reading(**reading))[0] == result


LATIN = rows("Köln", encoding="latin-1")
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\x81\0\n"
ELF = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0\xd0a\0\0\0\0\0\0@\0\x81"
ICON = b"\0\0\x01\0\x02\0\x10\x10\0\0\x01\0\x20\0\xff\xfe\x04\x05\x81"
NO_TEXT = "people.csv is not a text file; save the table as CSV, in UTF-8$"
FIELD = rows("Köln \x13PAGE\x14 1\x15", encoding="latin-1")  # as Word marks a field

# Content, how it is to be read, and the words of the refusal.
REFUSED = [
    *((own, how, NO_TEXT) for own in (random.Random(5).randbytes(5000), PNG, ELF, ICON)
      for how in ({}, {"encoding": "latin-1"}, {"encoding": "cp1252"})),
    (b"PK\x03\x04\x81", {"encoding": "cp1252"}, "not CSV but a workbook or an archive"),
    (FIELD, {}, "add --encoding latin-1"),
    (rows("漢字" * 40, encoding="utf-16-le")[:-1], {"encoding": "utf-16-le"}, "not utf-16-le"),
    (LATIN, {}, r"not UTF-8 \(line 2, byte 6\); save it again as UTF-8, or add --encoding latin-1"),
    (rows("5 €", encoding="cp1252"), {}, "add --encoding cp1252"),
    (rows("a", encoding="utf-16"), {}, "not UTF-8 but UTF-16; .* add --encoding utf-16, or"),
    (rows("5 €", encoding="cp1252"), {"encoding": "latin-1"}, "add --encoding cp1252"),
    (LATIN, {"encoding": "ascii"}, "not ascii; name the encoding"),
    (semicolons("a"), {"delimiter": ","}, "one column with .* ',', and 2 with ';'; add --delim"),
    (rows("a", delimiter="\t"), {"delimiter": ";"}, "add --delimiter tab, or reading"),
    (rows("a", delimiter=":"), {}, "no column 'x' but only 'x:d'; .* such as --delimiter :"),
    (b"PAR1" + b"\0" * 9, {}, "not CSV but Parquet; rename it to end in .parquet"),
    (b",x,d\n0,1,a\n1,2,b\n", {}, "column 1 has no name; .* write the table with index=False"),
    (b"sep=;\nx;d\n0;a\n", {}, "remove the first line, which is for Excel"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "reading", "message"), REFUSED, ids=range(len(REFUSED)))
def test_unreadable_cells_name_ways_out(tmp_path, content, reading, message):
    with pytest.raises(fk.InputError, match=message) as refusal:
        column_of(write(tmp_path, content), reading=reading)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("values", "reading", "message"),
    [
        (["2023-03-26T01:00+01:00", "2023-03-26T03:00+02:00"], {}, "times of several zones, such"),
        (["2023-03-26T01:00Z", "2023-03-26T03:00"], {}, "write all of them in one, or add types"),
        (["5/5/67"], {"date_format": "m/d/yy"}, "'5/5/67' would be of the year 2067, .* latest_y"),
        (['"$1,000"', "$7", "$n"], DOLLARS, "most values are amounts .* row 3 holds '\\$n'"),
    ],
)
def test_unclear_times_and_amounts(tmp_path, values, reading, message):
    path = write(tmp_path, rows(*values))
    for known, hidden in ("xd", "dx"):
        schema = {"quasi_identifiers": [known], "sensitive": hidden, "reading": reading}
        with pytest.raises(fk.InputError, match=message):
            _ = fk.Microdata(path, **schema).n_people
        assert fk.Microdata(path, **schema, types={"x": "text"}).n_people == len(values)


def test_releases_compare_as_written(tmp_path):
    """One date in two spellings makes two groups, whatever a format makes of them."""
    path = write(tmp_path, "x;d\n1.2.2020;flü\n01.02.2020;flü\n".encode("latin-1"))
    release = fk.Release.from_generalized(path, **X, reading=fk.Reading("latin-1", **POINTS))
    assert bags(release.counts) == {("1.2.2020",): {"flü": 1}, ("01.02.2020",): {"flü": 1}}


# ---- frames ------------------------------------------------------------------------------------

ENUM = pl.Series(["b", "c"], dtype=pl.Enum(["c", "b", "a"]))


def test_objects_of_two_zones():
    zones = ["UTC", "Asia/Tokyo"]
    times = [pd.Timestamp("2020-01-01 10:00", tz=zone) for zone in zones]
    frame = pd.DataFrame({"x": pd.Series(times, dtype=object), "d": ["a", "b"]})
    with pytest.raises(fk.InputError, match=r"\(Asia/Tokyo, UTC\); .* pd.to_datetime"):
        column_of(frame)
    for own in (pd.to_datetime(frame["x"], utc=True), pd.Series([times[0], pd.NaT], dtype=object)):
        assert len(column_of(frame.assign(x=own))[0]) == 2
    # Times at midnight in a zone stay times.
    zoned = pd.DataFrame({"x": pd.to_datetime(["2020-01-02"]).tz_localize("Asia/Tokyo"), "d": [1]})
    (found,) = column_of(zoned)[0]
    assert found == dt.datetime(2020, 1, 2, tzinfo=found.tzinfo)


def test_hours_that_come_twice():
    """A clock that is put back shows two hours, which newer libraries take for one."""
    hours = pd.Series(pd.to_datetime(["2024-10-27 00:00", "2024-10-27 01:00"] * 2, utc=True))
    frame = pd.DataFrame({"x": hours.dt.tz_convert("Europe/Berlin"), "d": list("abba")})
    schema = fk.Schema(quasi_identifiers=["d"], sensitive="x")
    policy = fk.Policy(fk.Requirement(fk.Facts(), below=1), schema)
    if len({*pa.array(frame["x"]).to_pylist()}) > 1:
        assert fk.audit(frame, policy).verdicts[0].reached == Fraction(1, 2)
    else:
        text = r"02:00:00.*twice; give times in UTC, by .dt.tz_conv"
        with pytest.raises(fk.InputError, match=text):
            fk.audit(frame, policy)
    frame["x"] = frame["x"].dt.tz_convert("UTC")
    assert fk.audit(frame, policy).verdicts[0].reached == Fraction(1, 2)


def test_floats_from_codes_are_doubted(tmp_path):
    frame = pd.DataFrame({"x": [12345.0, None, 60601.0], "d": ["a", "b", "a"]})
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    for source in (frame, tmp_path / "people.csv", tmp_path / "people.parquet"):
        (doubt,) = fk.Microdata(source, **X).doubts().values()
        assert 'add types = { "x" = "text" }' in doubt
        assert column_of(source, types={"x": "text"}) == ([None, "12345", "60601"], "nominal")
        assert fk.Microdata(source, **X, types={"x": "number"}).doubts() == {}
    for values, doubted in (
        *((["9" * 40 + ".0", "1.00"], True), (["9" * 40 + ".5"], False)),
        *((["1.0", "1.5"], False), (["1", "2"], False), (["", ""], False)),
    ):
        microdata = fk.Microdata(write(tmp_path, rows(*values)), **X)
        assert bool(microdata.doubts()) == doubted
    assert microdata.read_as()["x"] == "nothing but missing values"


# ---- sensitive numbers and dates: near each other, in ranges, and published ----------------------

AGES = [20, 21, 22, 40, 41, 42]


def in_csv(folder, incomes):
    lines = [f"{age};{income}\n" for age, income in zip(AGES, incomes, strict=False)]
    return write(folder, "age;income\n" + "".join(lines))


def schema_of(**more):
    roles = {"quasi_identifiers": ["age"], "sensitive": "income", "reading": COMMA}
    return fk.Schema(**roles | more)


def ways(*requirements, **more):
    return fk.Policy(requirements, schema_of(**more))


@pytest.mark.parametrize(
    ("incomes", "reading", "way"),
    [
        (["7.125", "7.250", "30"], COMMA, "is 7125 in a raw table"),
        (
            ["2024-02-01", "2024-03-01", "2024-02-01"],
            {"date_format": "%Y-%d-%m"},
            "is 2024-01-02.*%Y-%m-%d",
        ),
    ],
)
def test_ambiguous_texts_are_refused(tmp_path, incomes, reading, way):
    table, rules = (
        in_csv(tmp_path, incomes),
        ways(fk.Requirement(fk.KAnonymity(1)), reading=reading),
    )
    with pytest.raises(fk.InputError, match=way):
        fk.audit(table, rules)
    assert incomes[0] not in fk.audit(fk.Microdata(table, rules.schema), rules).counts.values
    plain = fk.audit(table, replace(rules, schema=schema_of(reading={})))
    assert incomes[0] in plain.counts.values
    by_hand = fk.Release.from_generalized(table, quasi_identifiers=["age"], sensitive="income")
    with pytest.raises(fk.InputError, match="counted as it is written"):
        fk.audit(by_hand, rules)


# ---- tables of probabilities: from anywhere, exactly; what is wrong is named by its row ----------


TABLE = pa.table({
    "sex": [*"mmff"], "value": ["Flu", "HIV"] * 2, "probability": [0.1, 0.9, 0.003, 0.25],
})  # fmt: skip
ROWS = {("m",): (Fraction(1, 10), Fraction(9, 10)), ("f",): (Fraction(3, 1000), Fraction(1, 4))}
ONE = Fraction(1)


def of_one(chance):
    return pa.table({"sex": ["m"], "value": ["Flu"], "probability": [chance]})


def by_hand(people, smoothing=Fraction(0)):
    """{signature: {value: share}} of pairs, counted one by one."""
    counts = Counter(value for _, value in people)
    results = {}
    for signature in {who for who, _ in people}:
        counter = Counter(value for who, value in people if who == signature)
        size = sum(counter.values()) + smoothing
        shares = {x: smoothing * Fraction(n, len(people)) for x, n in counts.items()}
        results[signature] = {x: (counter[x] + share) / size for x, share in shares.items()}
    return results


def test_sources_agree_on_priors(everywhere):
    result = read_chances(everywhere(TABLE))
    assert (result.attributes, result.values, result.rows) == (("sex",), ("Flu", "HIV"), ROWS)


def test_probabilities_are_exact():
    for chance, exact in (
        ("0.1", Fraction(1, 10)), (" 1/3 ", Fraction(1, 3)), ("1e-200", Fraction(1, 10**200)),
        ("0.12345678901234567890123", Fraction(12345678901234567890123, 10**23)),
        ("0", Fraction(0)), ("1", ONE), (0.1, Fraction(1, 10)), (1e-5, Fraction(1, 10**5)),
        (1, ONE), (Decimal("0.10"), Fraction(1, 10)),
    ):  # fmt: skip
        assert read_chances(of_one(chance)).rows == {("m",): (exact,)}
    # Floats of 32 bits stand for what they print as.
    chances = np.array([0.1, 0.9], dtype=np.float32)
    for make in (pa.table, pd.DataFrame, pl.DataFrame):
        table = make({"sex": ["m", "m"], "value": ["a", "b"], "probability": chances})
        assert read_chances(table).rows == {("m",): ROWS[("m",)]}
        assert Priors(table).tables[0].prior(("m",), "b") == Fraction(9, 10)


HEADER = "sex,value,probability\n"
GOOD = HEADER + "m,Flu,0.1\nm,HIV,0.2\n"
NO_NUMBERS = ["often", "10%", '"0,1"', "1/0", "nan", "inf"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GOOD + "f,,0.1\n", "row 3: the sensitive value is missing"),
        (GOOD + "f,Flu,\n", "row 3: the probability is missing"),
        *((GOOD + f"f,Flu,{odd}\n", f"row 3: the probability is '{odd.strip(chr(34))}', not a num")
          for odd in NO_NUMBERS),
        (GOOD + "f,Flu,1e-99999999\n", "row 3: .* 1e-99999999 is too large or too small"),
        (HEADER, "has no rows"), ("", "is empty, or begins with an empty line"),
        ("sex,disease,probability\nm,Flu,1\n", "has no column 'value'"),
        ("value,probability\nFlu,1\n", "no column of an attribute beside 'value' and 'probabil"),
        ("sex,value,value,probability\nm,Flu,Flu,1\n", "two columns named 'value'"),
        (HEADER + "m,Flu,0.1\nm,HIV\n", "line 3: 2 fields where the header has 3"),
    ],
)  # fmt: skip
def test_table_that_cannot_be_read(tmp_path, content, says):
    path = write(tmp_path, content, "sex.csv")
    with pytest.raises(DataError, match=rf"^sex\.csv.*{says}"):
        read_chances(path)


def test_probabilities_that_are_none(tmp_path):
    of_flu = "the probability of 'Flu' for sex m is "
    for content, says in (
        (HEADER + "m,Flu,-0.1\n", f"{of_flu}-0.1, not from 0 to 1"),
        (HEADER + "m,Flu,1.5\n", f"{of_flu}1.5, not from 0 to 1"),
        (GOOD + "f,Flu,0.6\nf,HIV,0.5\n", "the probabilities for sex f add up to 1.1, above 1"),
        (HEADER + "m,Flu,1e-320\n", f"{of_flu}closer than 2.23e-308 to 0 or 1; give 0 or 1"),
    ):
        with pytest.raises(DataError, match=rf"sex\.csv: {says}"):
            Priors(write(tmp_path, content, "sex.csv"))
    with pytest.raises(InputError, match="there is no file or folder"):
        Priors(tmp_path / "none.csv")
    for chance in (True, None, float("nan"), float("inf")):
        with pytest.raises(DataError, match="row 1: the probability is"):
            read_chances(of_one(chance))
    # Sums of numbers may be a rounding above 1.
    row = {"sex": ["m"] * 3, "value": ["a", "b", "c"]}
    Priors(pa.table({**row, "probability": [0.1, 0.2, 0.7 + 1e-10]}))
    with pytest.raises(DataError, match=r"add up to 1\.00001, above 1"):
        Priors(pa.table({**row, "probability": [0.1, 0.2, 0.70001]}))


@pytest.mark.parametrize(
    ("attributes", "smoothing", "says"),
    [
        ([], 0, r"attributes must be a list of columns, not \[\]"),
        ("sex", 0, "attributes must be a list of columns, not 'sex'"),
        (["sex", "sex"], 0, "'sex', 'sex': one column plays two roles"),
        ([["sex"], ["sex"]], 0, "two tables for sex"),
        (["sex"], -1, "smoothing must be 0 or more, not -1"),
        (["sex"], "much", "'much' is not a number"),
    ],
)
def test_what_cannot_be_learned(attributes, smoothing, says):
    table = pa.table({"sex": ["m"], "race": ["x"], "disease": ["a"]})
    with pytest.raises(InputError, match=says):
        Priors.learn(table, attributes, "disease", smoothing=smoothing)
