"""Sensitive numbers and dates as a file writes them: near each other, in ranges, and published."""

import sqlite3
from dataclasses import replace

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pv
import pytest

import foreknow as fk

INCOMES = ["40.690,00", "40690,50", "15.000", "950", "12.345,6", "70.000,25"]
PLAIN = ["40690.00", "40690.50", "15000", "950", "12345.6", "70000.25"]
AGES = [20, 21, 22, 40, 41, 42]
READING = fk.Reading(decimal=",")


def in_csv(folder, incomes):
    path = folder / "people.csv"
    path.write_text("age;income\n" + "".join(f"{a};{i}\n" for a, i in zip(AGES, incomes)))  # noqa: B905
    return path


def in_pandas(_, incomes):
    return pd.DataFrame({"age": AGES, "income": incomes})


def in_sqlite(folder, incomes):
    path = folder / "people.sqlite"
    with sqlite3.connect(path) as opened:
        opened.execute("CREATE TABLE people (age INTEGER, income TEXT)")
        opened.executemany("INSERT INTO people VALUES (?, ?)", zip(AGES, incomes, strict=True))
    opened.close()
    return path


SOURCES = pytest.mark.parametrize("put", [in_csv, in_pandas, in_sqlite])


def schema_of(**more):
    return fk.Schema(
        **{"quasi_identifiers": ["age"], "sensitive": "income", "reading": READING, **more}
    )


def ways(*requirements, **more):
    return fk.Policy(schema=schema_of(**more), requirements=requirements)


@SOURCES
def test_incomes_with_a_decimal_comma_are_near_each_other(tmp_path, put):
    near = fk.Requirement(fk.Facts(), below="3/4", sensitive="income", within=5000)
    low = {"low": {"to": 15000}}
    poor = fk.Requirement(fk.Facts(), below="3/4", sensitive="income", any_of=low)
    plainly = {"delimiter": ",", "decimal": "."}
    made = fk.publish(put(tmp_path, INCOMES), ways(near, poor), seed=1, **plainly)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    texts = pv.ConvertOptions(column_types={"income": "string"})
    written = pv.read_csv(tmp_path / "out" / "release.csv", convert_options=texts)
    assert sorted(written["income"].to_pylist()) == sorted(PLAIN)
    assert fk.audit(tmp_path / "out", ways(near, poor)).safe
    # The same numbers as anybody reads them, in a table that needs no reading.
    plain = in_csv(tmp_path, PLAIN)
    same = fk.publish(plain, ways(near, poor, reading=fk.Reading()), seed=1)
    assert [v.reached for v in made.audit.verdicts] == [v.reached for v in same.audit.verdicts]
    # Of six people two have 40690.00 and 40690.50, and three at most 15000.
    assert [str(v.reached) for v in same.audit.verdicts] == ["1/3", "1/2"]


@SOURCES
def test_a_number_written_in_two_ways_is_one_value(tmp_path, put):
    table = put(tmp_path, ["1.500", "1500,0", "1500", "-7", "2,50", "2,5"])
    found = fk.Microdata(table, schema_of())
    assert sorted(found.values) == ["-7", "1500", "2.5"]
    assert found.everyone().totals.sum() == 6


def test_dates_and_declared_types_are_read_and_written_as_iso(tmp_path):
    days = ["31.12.2023", "1.2.2024", "01.02.2024", "5.2.2024", "6.2.2024", "7.2.2024"]
    told = {"reading": fk.Reading(date_format="dd.mm.yyyy")}
    found = fk.Microdata(in_csv(tmp_path, days), schema_of(**told))
    assert list(found.values)[:2] == ["2023-12-31", "2024-02-01"]
    assert len(found.values) == 5
    for declared, sent, wanted in (
        ("number", ["1,5", "1.000", "2", "3", "4", "5"], ["1.5", "1000", "2", "3", "4", "5"]),
        ("text", ["1,5", "1.000", "2", "3", "4", "5"], ["1,5", "1.000", "2", "3", "4", "5"]),
    ):
        given = schema_of(types={"income": declared})
        assert sorted(fk.Microdata(in_csv(tmp_path, sent), given).values) == sorted(wanted)
    given = schema_of(types={"income": "number"}, reading=fk.Reading())
    with pytest.raises(fk.InputError, match=r"'income'.*'1\.5\.0'"):
        _ = fk.Microdata(in_csv(tmp_path, ["1.5", "1.5.0", "2", "3", "4", "5"]), given).values


@pytest.mark.parametrize(
    ("incomes", "row"),
    [
        (["15.000", "unknown", "k.A.", "none", "950", "950"], "row 2 holds 'unknown'"),
        (["1,5", "2,5", "3,5", "4.5", "5", "6"], "row 4 holds '4.5'"),
    ],
)
def test_a_number_that_would_be_read_otherwise_beside_texts_is_refused(tmp_path, incomes, row):
    table = in_csv(tmp_path, incomes)
    with pytest.raises(fk.InputError, match=row):
        _ = fk.Microdata(table, schema_of()).values
    given = schema_of(types={"income": "text"})
    assert set(fk.Microdata(table, given).values) == set(incomes)


def test_texts_without_numbers_stay_and_missing_ones_are_labelled(tmp_path):
    found = fk.Microdata(in_csv(tmp_path, ["J45", "E11.9", "101", "x", "y", "z"]), schema_of())
    assert sorted(found.values) == ["101", "E11.9", "J45", "x", "y", "z"]
    told = {"reading": fk.Reading(decimal=",", missing=["k.A."]), "missing": {"label": "unknown"}}
    table = in_csv(tmp_path, ["1.500", "k.A.", "2,5", "3", "k.A.", "4"])
    assert sorted(fk.Microdata(table, schema_of(**told)).values) == [
        *("1500", "2.5", "3", "4", "unknown"),
    ]


def test_of_a_set_a_number_that_is_written_twice_is_refused_and_counted_once_in_rows(tmp_path):
    lists = pd.DataFrame({"age": [20, 30], "income": [["1.500", "1500,0"], ["2,5"]]})
    with pytest.raises(fk.InputError, match="1500"):
        _ = fk.Microdata(lists, schema_of(semantics="set")).values
    bags = fk.Microdata(lists, schema_of(semantics="multiset"))
    assert bags.everyone().totals.tolist() == [2, 1]


def in_relation(folder, incomes):
    return duckdb.from_arrow(pa.Table.from_pandas(in_pandas(folder, incomes)))


def in_lists(_, incomes):
    return pa.table({"age": AGES, "income": [[income] for income in incomes]})


def reached(release, *, value="40690.50", **more):
    secret = fk.Requirement(fk.Facts(), below="1/2", values=[value])
    near = fk.Requirement(fk.Facts(), below="1/2", sensitive="income", within=5000)
    asked = [secret] if more.get("semantics") else [secret, near]
    return [str(verdict.reached) for verdict in fk.audit(release, ways(*asked, **more)).verdicts]


@pytest.mark.parametrize("put", [in_csv, in_pandas, in_sqlite, in_relation])
def test_audit_reads_like_publish(tmp_path, put):
    raw = put(tmp_path, INCOMES)
    for given in (raw, fk.Microdata(raw, schema_of())):
        assert reached(given) == ["1", "1"]
        assert sorted(fk.audit(given, ways(fk.Requirement(fk.Facts(), below=1))).counts.values) == (
            sorted(fk.Microdata(raw, schema_of()).values)
        )


def test_read_numbers_are_near():
    rows = pd.DataFrame({"sex": ["f"] * 6, "income": INCOMES})
    plain = pd.DataFrame({"sex": ["f"] * 6, "income": PLAIN})
    together = {"quasi_identifiers": ["sex"]}
    assert reached(rows, **together) == reached(plain, **together) == ["1/6", "1/3"]


def test_lists_are_read_like_publish(tmp_path):
    several = {"semantics": "set"}
    assert reached(in_lists(tmp_path, INCOMES), **several) == ["1"]
    with pytest.raises(fk.InputError, match="1500"):
        reached(
            in_lists(tmp_path, INCOMES)
            .slice(0, 1)
            .set_column(1, "income", [[["1.500", "1500,0"]]]),
            **several,
        )


@pytest.mark.parametrize("decimal", [",", "."])
def test_written_numbers_stay(tmp_path, decimal):
    rules = ways(fk.Requirement(fk.Facts(), below="1", values=["1234.5"]))
    raw = in_csv(tmp_path, ["1.234,5", "7,25", "30", "1.234,5", "7,25", "30"])
    made = fk.publish(raw, rules, seed=1, decimal=decimal)
    made.write(tmp_path / "out")
    for given in (tmp_path / "out", tmp_path / "out" / "release.csv", made.to_pandas()):
        audit = fk.audit(given, rules)
        assert audit.counts == made.audit.counts
        assert sorted(audit.counts.values) == ["1234.5", "30", "7.25"]


@pytest.mark.parametrize(
    ("incomes", "reading", "way"),
    [
        (["7.125", "7.250", "30"], {"decimal": ","}, "--decimal ."),
        (["2024-02-01", "2024-03-01", "2024-02-01"], {"date_format": "%Y-%d-%m"}, "%Y-%m-%d"),
    ],
)
def test_what_could_be_either_is_refused(tmp_path, incomes, reading, way):
    table, rules = in_csv(tmp_path, incomes), ways(fk.Requirement(fk.KAnonymity(1)))
    rules = replace(rules, schema=schema_of(reading=reading))
    with pytest.raises(fk.InputError, match=f"is 7125 in a raw table|is 2024-01-02.*{way}"):
        fk.audit(table, rules)
    raw = fk.audit(fk.Microdata(table, rules.schema), rules)
    plain = fk.audit(table, replace(rules, schema=schema_of(reading={})))
    assert incomes[0] in plain.counts.values
    assert incomes[0] not in raw.counts.values
    by_hand = fk.Release.from_generalized(table, quasi_identifiers=["age"], sensitive="income")
    with pytest.raises(fk.InputError, match="counted as it is written"):
        fk.audit(by_hand, replace(rules, schema=schema_of(reading=reading)))
