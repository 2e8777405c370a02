"""Publishing: what is written, that nothing else is, and that it reads back as it was."""

import json
import re
import stat
from dataclasses import replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.people import EASY, FORMS, HARD, made, people, rows_of, schema, short_report

import foreknow as fk
from foreknow.errors import OutputError

pytestmark = pytest.mark.usefixtures("tiny_tables")


@pytest.fixture(autouse=True)
def _short_report(monkeypatch, request):
    """Write no real report, except where a test is about it: it takes most of the time."""
    if "report" not in request.node.name:
        short_report(monkeypatch)


TABLES = {"generalized": ["release"], "bucketized": ["people", "sensitive"]}
PAPERS = {"certificate.json", "datapackage.json", "report.html"}


def as_texts(table):
    rows = table.to_pylist()
    return [{k: None if v in (None, "") else str(v) for k, v in row.items()} for row in rows]


def small(table, quasi, sensitive="disease", other=(), **more):
    """Publish a table of a few rows."""
    roles = fk.Schema(quasi_identifiers=quasi, sensitive=sensitive, other=list(other))
    return made(table=pa.table(table) if isinstance(table, dict) else table, roles=roles, **more)


# ---- what is written ---------------------------------------------------------------------------


@pytest.mark.complete
@pytest.mark.parametrize(("form", "fmt"), FORMS)
def test_the_folder_holds_the_tables_and_their_papers_and_nothing_else_in_a_report(
    form, fmt, tmp_path
):
    """Nothing of an identifier or a column without role either; and texts are as they were."""
    publication, out = made(form, fmt), tmp_path / "out"
    certificate = publication.write(out)
    names = {path.name for path in out.iterdir()}
    assert names == {f"{name}.{fmt}" for name in publication.tables} | PAPERS
    assert list(publication.tables) == TABLES[form]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.owner"]
    own = {path.name for path in (tmp_path / "out.owner").iterdir()}
    assert own == {"members.parquet", "owner.json"}
    assert fk.Certificate.load(out / "certificate.json") == certificate
    assert certificate.safe
    assert certificate.check(out) == []
    for name, table in publication.tables.items():
        found = [{k: v or None for k, v in row.items()} for row in rows_of(out / f"{name}.{fmt}")]
        assert found == as_texts(table)
        assert "disease" not in table.column_names or {r["disease"] for r in found} == set(HARD)
    for path in out.iterdir():
        content = path.read_bytes()
        if path.suffix == ".parquet":
            content = "\n".join(map(str, rows_of(path))).encode() + content
        for word in (b"Person", b"secret", b"name,"):
            assert word not in content, path.name
    assert (out / "report.html").read_text().lstrip().lower().startswith("<!doctype html>")


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_an_index_and_metadata_of_pandas_leave_no_trace(form, tmp_path):
    frame = people().to_pandas().set_index(pd.Index(range(1000, 1060), name="hidden_index"))
    frame.attrs["source"] = "hidden_attribute"
    made(form, "parquet", table=frame).write(tmp_path / "out")
    for path in (tmp_path / "out").glob("*.parquet"):
        stored = pq.ParquetFile(path)
        assert not stored.schema_arrow.metadata
        assert not stored.metadata.metadata
        assert all(
            not field.metadata or set(field.metadata) <= {b"PARQUET:field_id"}
            for field in stored.schema_arrow
        )
        content = path.read_bytes()
        for word in (b"pandas", b"hidden", b"ARROW:schema"):
            assert word not in content


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("form", "fmt"), FORMS)
def test_a_seed_gives_the_same_bytes_and_without_one_they_differ(form, fmt, tmp_path):
    for name, seed in (("a", 7), ("b", 7), ("c", None), ("d", None)):
        made(form, fmt, table=people(30), seed=seed).write(tmp_path / name)
    table = ("release" if form == "generalized" else "people") + f".{fmt}"
    a, b, c, d = ((tmp_path / name / table).read_bytes() for name in "abcd")
    assert a == b
    assert len({a, c, d}) == 3


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("library", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_release_in_csv_reads_the_same_with_pandas_polars_and_foreknow(form, library, tmp_path):
    columns = {name: people()[name].to_pylist() for name in people().column_names}
    publication = made(form, table=library(columns))
    publication.write(tmp_path / "out")
    for name, table in publication.tables.items():
        path = tmp_path / "out" / f"{name}.csv"
        pandas = pd.read_csv(path, dtype=str, keep_default_na=False)
        polars = pl.read_csv(path, infer_schema=False)
        expected = [tuple(v or "" for v in row.values()) for row in as_texts(table)]
        assert list(pandas.itertuples(index=False, name=None)) == expected
        assert [tuple(v or "" for v in row) for row in polars.iter_rows()] == expected


# ---- formulas ----------------------------------------------------------------------------------


def test_formulas_are_disarmed_only_when_asked_for(tmp_path):
    table = people().set_column(7, "disease", pa.array(["flu", "cold"] * 30))
    made(table=table, escape_formulas=True).write(tmp_path / "out")
    notes = {row["note"] for row in rows_of(tmp_path / "out" / "release.csv")}
    assert notes == {
        "'=1+1" if n == "=1+1" else f"'{n}" if n in ("-x", "@cmd") else n for n in [None, *HARD]
    }


@pytest.mark.parametrize("library", ["polars", "categorical"])
def test_formulas_in_other_columns_are_disarmed_whatever_the_library(library, tmp_path):
    columns = {"age": [1, 1], "note": ["=1", "x"], "disease": ["s", "t"]}
    frame = pl.DataFrame(columns) if library == "polars" else pd.DataFrame(columns)
    if library == "categorical":
        frame["note"] = frame["note"].astype("category")
    small(frame, ["age"], other=["note"], escape_formulas=True).write(tmp_path / "out")
    assert {row["note"] for row in rows_of(tmp_path / "out" / "release.csv")} == {"'=1", "x"}


@pytest.mark.parametrize(
    ("quasi", "values", "said"),
    [
        ("age", ["=1", "t"], "'=1"),
        ("t", [-5, -4], "'-5 to -4"),
        ("=q", ["s", "t"], "'=q"),
    ],
)
def test_formulas_anywhere_in_the_table_can_be_disarmed(quasi, values, said, tmp_path):
    """Among sensitive values, in labels of negative numbers, and in names of columns."""
    numbers = values if quasi == "t" else [1, 1]
    held = ["s", "t"] if quasi == "t" else values
    table = {quasi: [*numbers, 2, 2], "-d": held * 2}
    exact = {quasi: "exact"}
    small(table, [quasi], "-d", escape_formulas=True, labels=exact).write(tmp_path / "out")
    assert said in (tmp_path / "out" / "release.csv").read_text()
    assert list(rows_of(tmp_path / "out" / "release.csv")[0])[1] == "'-d"


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_values_that_would_be_one_when_disarmed_are_kept_apart_or_refused(form, tmp_path):
    table = {"age": [1, 1, 1, 1], "disease": ["=1", "'=1", "t", "t"]}
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9", values=["=1"], knowing=[])])
    try:
        publication = small(table, ["age"], form=form, policy=policy, escape_formulas=True)
        publication.write(tmp_path / "out")
    except fk.InputError as error:
        assert "'=1" in str(error)  # noqa: PT017
        return
    name = "release" if form == "generalized" else "sensitive"
    assert len({row["disease"] for row in rows_of(tmp_path / "out" / f"{name}.csv")}) == 3


# ---- texts that CSV cannot hold ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("quasi", "values", "form", "said"),
    [
        ([1, 1, 2, 2], ["", "t"] * 2, "generalized", "a sensitive value"),
        ([1, 1, 2, 2], ["", "t"] * 2, "bucketized", "a sensitive value"),
        (["", "", "b", "b"], ["s", "t"] * 2, "generalized", "a value of 'q'"),
    ],
)
def test_an_empty_text_is_refused_in_csv_only(quasi, values, form, said, tmp_path):
    table = {"q": quasi, "disease": values}
    with pytest.raises(OutputError, match=f'empty text is {said}.*"parquet"'):
        small(table, ["q"], form=form)
    made = small(table, ["q"], form=form, fmt="parquet")
    made.write(tmp_path / form)
    name = list(made.tables)[-1]
    rows = pq.read_table(tmp_path / form / f"{name}.parquet").to_pylist()
    assert {row["disease"] for row in rows} == set(values)


def test_an_other_column_that_csv_cannot_hold_is_refused_by_name(tmp_path):
    table = {"age": [1, 1], "many": [[1], [2]], "disease": ["s", "t"]}
    with pytest.raises(fk.InputError, match="'many'"):
        small(table, ["age"], other=["many"]).write(tmp_path / "out")


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_columns_whose_names_differ_in_case_can_be_published(form, tmp_path):
    table = {"q": [1, 1, 2, 2], "Q": [3, 3, 4, 4], "disease": ["s", "t"] * 2}
    small(table, ["q", "Q"], form=form).write(tmp_path / "out")


# ---- papers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_the_owner_alone_may_read_the_key_and_the_certificate_has_neither_key_nor_seed(
    form, tmp_path
):
    made(form, seed=987654321).write(tmp_path / "out")
    path = tmp_path / "out.owner" / "owner.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    owner = json.loads(path.read_text())
    assert owner["seed"] == 987654321
    assert re.fullmatch("[0-9a-f]{64}", owner["digest_key"])
    for other in (tmp_path / "out").iterdir():
        content = other.read_bytes()
        assert b"987654321" not in content, other.name
        assert owner["digest_key"].encode() not in content, other.name
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["seeded"] is True


def test_the_keyed_digest_is_found_again_with_the_key_and_changes_with_the_table(tmp_path):
    certificate = made().write(tmp_path / "out")
    key = json.loads((tmp_path / "out.owner" / "owner.json").read_text())["digest_key"]
    microdata = fk.Microdata(people(), schema())
    assert certificate.source["digest"] == microdata.digest(bytes.fromhex(key))
    assert certificate.source["digest"] != microdata.digest(bytes(32))
    assert certificate.source["rows"] == 60
    for column in ("age", "zip", "sex", "disease"):
        values = people()[column].to_pylist()
        at = next(i for i in range(59) if values[i] != values[i + 1])
        values[at], values[at + 1] = values[at + 1], values[at]
        table = people().set_column(people().column_names.index(column), column, pa.array(values))
        assert (
            fk.Microdata(table, schema()).digest(bytes.fromhex(key))
            != (certificate.source["digest"])
        )
    assert made().certificate.source["digest"] != certificate.source["digest"]  # another key


def test_a_method_may_be_given_by_name_as_an_object_or_by_the_policy():
    microdata = fk.Microdata(people(), schema())
    for method in (None, "mondrian", fk.Mondrian(), fk.Mondrian(cuts=3)):
        publication = fk.publish(microdata, EASY, method=method)
        assert publication.certificate.method == {
            "name": "Mondrian",
            "cuts": 3 if method == fk.Mondrian(3) else fk.Mondrian().cuts,
            "suppression": 0.0,
        }


def test_what_is_certified_is_what_was_done_not_what_the_policy_said_before(tmp_path):
    said = fk.Policy(
        EASY.requirements,
        replace(schema(), quasi_identifiers=[*reversed(schema().quasi_identifiers)]),
        fk.PublishOptions(form="bucketized", format="csv", labels={"zip": "set"}),
    )
    done = fk.PublishOptions(format="parquet", labels={"age": "range"})
    publication = fk.publish(fk.Microdata(people(), schema()), said, options=done)
    policy = publication.write(tmp_path / "out").policy
    assert policy["schema"] == schema().to_dict()
    assert policy["publish"] == {**done.to_dict(), "form": "generalized"}
    assert policy["require"] == said.to_dict()["require"]
    assert publication.audit.policy.schema == schema()
    written = json.loads((tmp_path / "out" / "certificate.json").read_text())["policy"]
    assert fk.Policy.from_dict(written).options == replace(done, form="generalized")
    own = fk.publish(fk.Microdata(people(), schema()), said).certificate.policy
    assert own["publish"] == said.options.to_dict()
