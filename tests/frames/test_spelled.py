"""Spellings of what is missing: "NA", "k. A." and others of `[schema.reading] missing`."""

import sqlite3
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.frames.backends import bags, texts, write
from tests.frames.workbooks import write_workbook

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow.planning.suggestion import suggest_policy
from foreknow_judge.errors import DataError

SPELLED = {"missing": ["NA", "k. A."]}
AGES = ["23", "NA", " k. A. ", "45", "30", None, "23", "61", "30", "NA", "45", "61"]
ZIPS = ["01067", "NA", "01069", "01067", None, "k. A."] * 2
ILLS = ["Flu", "NA", "AIDS", "Flu", "k. A.\t", "Cold"] * 2
TABLE = pa.table({"pid": [f"p{i}" for i in range(12)], "age": AGES, "zip": ZIPS, "ill": ILLS})
BARE = {"NA", "k. A."}


def cleared(values):
    return [None if v is None or v.strip() in BARE else v for v in values]


# The same with nulls, and ages as numbers.
PLAIN = pa.table(
    {
        "pid": TABLE["pid"],
        "age": [None if v is None else int(v) for v in cleared(AGES)],
        "zip": cleared(ZIPS),
        "ill": cleared(ILLS),
    }
)


def schema(**more):
    given = {"missing": {"label": "unknown"}, "reading": SPELLED, **more}
    return fk.Schema(quasi_identifiers=["age", "zip"], sensitive="ill", **given)


def held(microdata):
    """All that a table says, with the values of everybody."""
    columns = [(a.name, a.domain, a.order, a.codes.tolist()) for a in microdata.attributes]
    return columns, list(microdata.values), microdata.sensitive_codes.tolist(), microdata.n_people


@pytest.mark.thinned(2)
@pytest.mark.parametrize("missing", ["drop", {"label": "unknown"}])
def test_every_source_reads_them_as_nulls_and_the_rest_as_what_it_is(everywhere, missing):
    found = fk.Microdata(everywhere(TABLE), schema(missing=missing))
    wanted = fk.Microdata(PLAIN, schema(missing=missing, reading={}))
    assert wanted.attributes[0].domain == [None, 23, 30, 45, 61]
    if everywhere.backend.__name__ in ("spark_frame",):  # rows have no order
        assert held(found)[0][0][1] == held(wanted)[0][0][1]
        assert sorted(held(found)[2]) == sorted(held(wanted)[2])
        return
    assert held(found) == held(wanted)


def test_an_error_still_names_the_column(everywhere):
    with pytest.raises(DataError, match="'ill'"):
        _ = fk.Microdata(everywhere(TABLE), schema(missing="error")).n_people


@pytest.mark.thinned(4)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("missing", ["drop", {"label": "unknown"}])
def test_what_is_published_is_that_of_the_table_with_nulls(everywhere, missing, engine):
    policy = [fk.Requirement(fk.KAnonymity(2))]
    made, wanted = (
        fk.publish(
            table,
            fk.Policy(policy, schema(missing=missing, identifiers=["pid"], reading=reading)),
            engine=engine,
        )
        for table, reading in ((everywhere(TABLE), SPELLED), (PLAIN, {}))
    )
    assert bags(made.release.counts) == bags(wanted.release.counts)
    assert "unknown" in made.release.counts.values or missing == "drop"
    assert not BARE & {str(value) for value in made.release.counts.values}


def test_published_files_and_members_agree_and_are_verified(tmp_path):
    rows = pa.concat_tables([TABLE] * 5).set_column(0, "pid", pa.array([str(i) for i in range(60)]))
    pq.write_table(rows, tmp_path / "raw.parquet")
    rules = fk.Policy(
        [fk.Requirement(fk.KAnonymity(3))], schema(identifiers=["pid"], missing="drop")
    )
    for engine in ("memory", "duckdb"):
        out = tmp_path / engine
        fk.publish(tmp_path / "raw.parquet", rules, engine=engine).write(out)
        fk.verify(out)
        assert not any(each in (out / "release.csv").read_text() for each in BARE)
        members = pq.read_table(tmp_path / f"{engine}.owner" / "members.parquet")
        assert len(members) == 60
        assert len(members.drop_null()) <= 40
        raw = fk.Microdata(tmp_path / "raw.parquet", rules.schema)
        fk.utility_report(out, raw)
        assert fk.evidence_report(out, table=raw) is not None
        assert fk.audit(out, rules).safe


def test_columns_of_several_types_are_numbers_then(tmp_path):
    frame = pd.DataFrame(
        {"age": [23, "NA", " k. A. ", 45], "zip": list("abba"), "ill": list("xyxy")}
    )
    assert fk.Microdata(frame, schema()).attributes[0].domain == [None, 23, 45]
    given = [
        ["age", "zip", "ill"],
        [23, "a", "x"],
        ["NA", "b", "y"],
        [" k. A. ", "b", "NA"],
        [45, "a", "y"],
    ]
    book = write_workbook(tmp_path / "people.xlsx", {"Sheet1": given})
    made = fk.Microdata(book, schema())
    assert made.attributes[0].domain == [None, 23, 45]
    assert list(made.values) == [
        "unknown",
        "x",
        "y",
    ]
    with sqlite3.connect(tmp_path / "people.sqlite") as opened:
        opened.execute("CREATE TABLE people (age, zip, ill, born DATE)")
        each = [[*row, "2001-02-03" if i else "NA"] for i, row in enumerate(given[1:])]
        opened.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", each)
    rules = fk.Schema(
        quasi_identifiers=["age", "zip", "born"], sensitive="ill", missing="drop", reading=SPELLED
    )
    made = fk.Microdata(tmp_path / "people.sqlite", rules)
    assert made.attributes[0].domain == [None, 23, 45]
    assert made.read_as()["born"] == "one date, 2001-02-03, some missing"
    with pytest.raises(DataError, match="a text in row 2"):  # row 1 is that of 'NA' in order
        fk.Microdata(tmp_path / "people.sqlite", schema(reading={})).n_people  # noqa: B018


@pytest.mark.parametrize("spelling", ["na", "Na", "NAN", "N A", "NAs", ""])
def test_upper_and_lower_case_differ_and_texts_are_whole(spelling):
    table = pa.table({"age": ["1", spelling], "zip": ["a", "b"], "ill": ["x", "y"]})
    assert spelling in fk.Microdata(table, schema()).attributes[0].domain


def test_blanks_around_them_do_not_count(everywhere):
    odd = [f"{blanks}NA{blanks}" for blanks in (" ", "\t", "\u00a0", " \t\r\n\v\f ")]
    table = pa.table({"age": ["1", *odd, "3"], "zip": list("abcdef"), "ill": ["x", *odd, "y"]})
    found = fk.Microdata(everywhere(table), schema())
    assert found.attributes[0].domain == [None, 1, 3]
    assert sorted(found.values) == ["unknown", "x", "y"]


@pytest.mark.thinned(3)
def test_other_columns_and_people_are_read_so_too(everywhere):
    table = TABLE.append_column("job", pa.array(["cook", "NA", None] * 4))
    rules = fk.Schema(
        quasi_identifiers=["zip"], sensitive="ill", other=["job"], missing="drop", reading=SPELLED
    )
    source = everywhere(table)
    for engine in ("memory", "duckdb"):
        made = fk.publish(
            source, fk.Policy([fk.Requirement(fk.KAnonymity(1))], rules), engine=engine
        )
        assert set(made.tables["release"]["job"].to_pylist()) == {"cook", None}


def test_nobody_is_called_so(everywhere):
    table = TABLE.set_column(0, "pid", pa.array(["NA", *"bcdefghijkl"]))
    rules = fk.Schema(
        quasi_identifiers=["zip"], sensitive="ill", semantics="set", person="pid", reading=SPELLED
    )
    with pytest.raises(DataError, match="pid"):
        _ = fk.Microdata(everywhere(table), rules).n_people


def test_sets_of_values_lose_them(typed):
    lists = pa.array([["Flu", "NA"], ["k. A."], None, [], ["AIDS", "Flu"]], pa.list_(pa.string()))
    table = pa.table({"age": [1, 2, 3, 4, 5], "zip": list("abcde"), "ill": lists})
    try:
        source = typed(table)
    except Exception:
        pytest.skip("it has no lists")
    made = fk.Microdata(source, schema(semantics="set", missing="error"))
    assert sorted(made.values) == ["AIDS", "Flu"]
    assert made.n_people == 5


def test_people_of_whom_all_values_are_missing_have_none(everywhere):
    long = pa.table(
        {"pid": list("aab"), "age": [1, 1, 2], "zip": list("xxy"), "ill": ["Flu", "NA", "NA"]}
    )
    own = schema(semantics="set", missing="error", person="pid")
    made = fk.Microdata(everywhere(long), own)
    assert list(made.values) == ["Flu"]
    assert made.n_people == 2


def test_groups_of_a_release_are_as_written():
    # Readers of the file tell NA, k. A. and an empty field apart: each is a group of its own.
    table = pa.table(
        {"age": ["NA", "k. A.", None, "NA"], "zip": ["a"] * 4, "ill": ["Flu", "NA", "Cold", "Flu"]}
    )
    release = fk.Release.from_schema(table, schema())
    assert texts(bags(release.counts)) == {
        ("NA", "a"): {"Flu": 2},
        ("k. A.", "a"): {"unknown": 1},
        (None, "a"): {"Cold": 1},
    }
    assert not fk.audit(table, fk.Policy([fk.Requirement(fk.KAnonymity(2))], schema())).safe
    known = fk.Schema(
        quasi_identifiers=["zip"], sensitive="ill", other=["age"], missing="drop", reading=SPELLED
    )
    assert fk.Release.from_schema(table, known).seen().counts.n_groups == 2  # of k. A., nobody


def test_a_tally_may_have_several_of_them():
    tally = pa.table({"age": ["1"] * 3, "ill": ["NA", None, "Flu"], "count": [2, 1, 4]})
    reading = fk.Reading(missing=["NA"])
    found = fk.Release.from_tally(
        tally, group=["age"], sensitive="ill", missing={"label": "?"}, reading=reading
    )
    assert texts(bags(found.counts)) == {("1",): {"Flu": 4, "?": 3}}


def test_hierarchies_may_list_them(tmp_path):
    write(tmp_path, "value;area\n01067;east\n01069;east\nNA;missing\nk. A.;missing\n", "zip.csv")
    own = schema(hierarchies={"zip": {"file": "zip.csv"}}, folder=tmp_path)
    (_, attribute) = fk.Microdata(TABLE, own).attributes
    assert attribute.domain == [None, "01067", "01069"]
    assert attribute.labels[0] == ("missing", "east")


def priors(*rows):
    names = ["zip", "value", "probability"]
    return pa.table([list(each) for each in zip(*rows, strict=True)], names=names)


def test_priors_may_say_them():
    given = priors(
        ("NA", "Flu", "0.5"), ("NA", "NA", "0.2"), ("NA", "k. A.", "0.3"),
        ("a", "Flu", "0.9"), ("a", "NA", "0.1"), ("a", "k. A.", "0"),
    )  # fmt: skip
    rules = fk.Policy([fk.Requirement(fk.Priors(given), below=1)], schema())
    (table,) = rules.requirements[0].points[0].adversary.tables
    assert table.prior((None,), "unknown") == table.prior(("NA",), "unknown") == Fraction(1, 2)
    assert set(table.values) == {"Flu", "unknown"}
    twice = priors(("NA", "Flu", "0.5"), ("k. A.", "Flu", "0.6"))
    with pytest.raises(DataError, match="another row with other probabilities"):
        fk.Policy([fk.Requirement(fk.Priors(twice), below=1)], schema())


def test_a_policy_file_says_them(tmp_path):
    write(
        tmp_path,
        '[schema]\nquasi_identifiers = ["age"]\nsensitive = "ill"\n[schema.reading]\n'
        'missing = ["NA", " k. A. ", "NA"]\ndecimal = ","\n[[require]]\nk_anonymity = 2\n',
        "p.toml",
    )
    rules = fk.Policy.load(tmp_path / "p.toml")
    assert rules.schema.reading.missing == ("NA", "k. A.")
    assert rules.schema.to_dict()["reading"] == {"decimal": ",", "missing": ["NA", "k. A."]}
    assert fk.Reading(encoding="latin-1").over(rules.schema.reading).missing == ("NA", "k. A.")


@pytest.mark.parametrize("given", ["NA", [99], {"NA"}, ["NA", None]])
def test_what_is_no_list_of_texts_is_refused(given):
    with pytest.raises(SchemaError, match="missing of reading"):
        fk.Reading(missing=given)


def test_init_proposes_those_that_it_sees():
    random = np.random.default_rng(5)
    rows = {
        "age": [*map(str, random.integers(18, 80, 200)), "NA", "k. A.", "99", "99"],
        "job": [*random.choice(["cook", "nurse", "-"], 203), "n/a"],
        "note": [*random.choice(["a", "b", "unknown"], 204)],
        "ill": [*random.choice(["Flu", "Cold", "AIDS", "."], 204)],
    }
    found = suggest_policy(pa.table(rows), sensitive="ill", quasi_identifiers=["age", "job"])
    assert set(found.policy.schema.reading.missing) == {"NA", "k. A.", "-", ".", "n/a", "unknown"}
    (age,) = (each for each in found.columns if each.name == "age")
    assert "numbers" in age.holds
    assert "texts that stand for no value" in found.to_toml()
    told = suggest_policy(
        pa.table(rows), sensitive="ill", quasi_identifiers=["job"], reading={"missing": ["x"]}
    )
    assert told.policy.schema.reading.missing == ("x",)


def test_a_minus_beside_a_plus_is_no_missing_value():
    rows = {
        "age": list("1234") * 20,
        "test": ["+", "-"] * 40,
        "ill": ["Flu", "Cold", "AIDS", "NA"] * 20,
    }
    found = suggest_policy(pa.table(rows), sensitive="ill", quasi_identifiers=["age"])
    assert found.policy.schema.reading.missing == ("NA",)
