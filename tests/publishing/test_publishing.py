"""Publishing: what is written, that nothing else is, and that it reads back as it was."""

import json
import random
import re
import stat
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.people import FORMS, HARD, made, people, rows_of, schema, short_report

import foreknow as fk
from foreknow.errors import OutputError, SchemaError
from foreknow.releases.written import open_published
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError

pytestmark = pytest.mark.usefixtures("tiny_tables")
TABLES = {"generalized": ["release"], "bucketized": ["people", "sensitive"]}


@pytest.fixture(autouse=True)
def _short_report(monkeypatch, request):
    """Write no real report, except where a test is about it: it takes most of the time."""
    if "report" not in request.node.name:
        short_report(monkeypatch)


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
def test_the_folder_and_its_report(form, fmt, tmp_path):
    """Nothing of an identifier, an index or a column without role; texts are as they were."""
    frame = people().to_pandas().set_index(pd.Index(range(1000, 1060), name="hidden_index"))
    frame.attrs["source"] = "hidden_attribute"
    publication, out = made(form, fmt, table=frame, seed=987654321), tmp_path / "out"
    certificate = publication.write(out)
    names = {path.name for path in out.iterdir()}
    papers = {"certificate.json", "datapackage.json", "report.html"}
    assert names == {f"{name}.{fmt}" for name in publication.tables} | papers
    assert list(publication.tables) == TABLES[form]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.owner"]
    owners = tmp_path / "out.owner"
    assert {path.name for path in owners.iterdir()} == {"members.parquet", "owner.json"}
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (owners, owners / "owner.json")]
    assert modes == [0o700, 0o600]
    assert fk.Certificate.load(out / "certificate.json") == certificate
    assert certificate.safe
    assert certificate.check(out) == []
    for name, table in publication.tables.items():
        rows = [{k: v or None for k, v in row.items()} for row in rows_of(out / f"{name}.{fmt}")]
        assert rows == as_texts(table)
        assert "disease" not in table.column_names or {r["disease"] for r in rows} == set(HARD)
    owner = json.loads((owners / "owner.json").read_text())
    assert owner["seed"] == 987654321
    assert re.fullmatch("[0-9a-f]{64}", owner["digest_key"])
    words = ("Person", "secret", "name,", "987654321", owner["digest_key"], "hidden_", "ARROW:")
    for path in out.iterdir():
        content = path.read_bytes()
        if path.suffix == ".parquet":
            stored = pq.ParquetFile(path)
            assert not stored.schema_arrow.metadata
            assert not stored.metadata.metadata
            for field in stored.schema_arrow:
                assert not field.metadata or set(field.metadata) <= {b"PARQUET:field_id"}
            content = "\n".join(map(str, rows_of(path))).encode() + content
        for word in (*words, *(["pandas"] if path.suffix == ".parquet" else [])):
            assert word.encode() not in content, path.name
    assert (out / "report.html").read_text().lstrip().lower().startswith("<!doctype html>")
    assert json.loads((out / "certificate.json").read_text())["seeded"] is True


@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize(("form", "fmt"), [FORMS[0], FORMS[3]])
def test_a_folder_is_the_release(form, fmt, escaped, tmp_path):
    """Also where a column that nobody knows has two kinds of empty fields."""
    publication = made(form, fmt, escape_formulas=escaped)
    publication.write(tmp_path / "out")
    exact = [verdict.disclosure.exact for verdict in publication.audit.verdicts]
    for path in (tmp_path / "out", *(tmp_path / "out").glob(f"*.{fmt}")):
        opened = open_published(path, schema())
        judged = fk.audit(opened.release, publication.audit.policy)
        assert judged.safe
        assert [verdict.disclosure.exact for verdict in judged.verdicts] == exact
        one, other = opened.release.counts.values, publication.release.counts.values
        assert {*map(str, one)} == {*map(str, other)}
        assert repr(opened) == f"Published({opened.release.name}, {form})"


def test_folders_not_as_certified(tmp_path):
    made().write(tmp_path / "out")
    with pytest.raises(SchemaError, match="the certificate is for age, zip, sex and disease"):
        open_published(tmp_path / "out", schema(quasi_identifiers=["age"], hierarchies={}))
    several = replace(schema(), person="name", identifiers=[], semantics="set")
    with pytest.raises(SchemaError, match=r"'single'.*'set'"):
        open_published(tmp_path / "out", several)
    path = tmp_path / "out" / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate["release"]["files"] = {}
    path.write_text(json.dumps(certificate))
    with pytest.raises(CertificateError, match="does not name its files"):
        open_published(tmp_path / "out")
    path.unlink()
    with pytest.raises(fk.InputError, match=r"has no certificate\.json"):
        open_published(tmp_path / "out")


# ---- formulas ----------------------------------------------------------------------------------


def test_formulas_are_disarmed_when_asked(tmp_path):
    table = people().set_column(7, "disease", pa.array(["flu", "cold"] * 30))
    made(table=table, escape_formulas=True).write(tmp_path / "out")
    notes = {row["note"] for row in rows_of(tmp_path / "out" / "release.csv")}
    assert notes == {f"'{n}" if n in ("=1+1", "-x", "@cmd") else n for n in [None, *HARD]}


def test_known_values_with_marks(tmp_path):
    """Two people have ``=cook`` and two ``'=cook``: not four are alike, and one in two has HIV."""
    columns = {"ward": ["a"] * 4, "job": ["=cook"] * 4, "ill": ["Flu", "Cold", "Gout", "HIV"]}
    rules = {
        "schema": {"quasi_identifiers": ["ward"], "sensitive": "ill", "other": ["job"]},
        "require": [
            {"k_anonymity": 4, "knowing": ["job"]},
            {"facts": {"l": 0}, "below": "1/2", "knowing": ["job"]},
        ],
        "publish": {"escape_formulas": True},
    }
    fk.publish(pa.table(columns), rules, seed=1).write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    file, certificate = tmp_path / "out" / "release.csv", tmp_path / "out" / "certificate.json"
    text = file.read_text()
    assert text.count("'=cook") == 4
    file.write_text(text.replace("'=cook", "=cook", 2))
    forged = json.loads(certificate.read_text())
    forged["release"]["files"]["release.csv"] = digest_of(file)
    certificate.write_text(json.dumps(forged))
    with pytest.raises(CertificateError, match="with the mark of one, and without"):
        fk.verify(tmp_path / "out")


# ---- what CSV cannot hold ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quasi", "values", "form", "said"),
    [
        ([1, 1, 2, 2], ["", "t"] * 2, "generalized", "a sensitive value"),
        ([1, 1, 2, 2], ["", "t"] * 2, "bucketized", "a sensitive value"),
        (["", "", "b", "b"], ["s", "t"] * 2, "generalized", "a value of 'q'"),
    ],
)
def test_empty_texts_in_csv(quasi, values, form, said, tmp_path):
    table = {"q": quasi, "disease": values}
    with pytest.raises(OutputError, match=f'empty text is {said}.*"parquet"'):
        small(table, ["q"], form=form)
    small(table, ["q"], form=form, fmt="parquet").write(tmp_path / form)
    rows = pq.read_table(tmp_path / form / f"{TABLES[form][-1]}.parquet").to_pylist()
    assert {row["disease"] for row in rows} == set(values)


def test_columns_of_lists_are_refused(tmp_path):
    table = {"age": [1, 1], "many": [[1], [2]], "disease": ["s", "t"]}
    with pytest.raises(fk.InputError, match="'many'"):
        small(table, ["age"], other=["many"]).write(tmp_path / "out")


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_names_that_differ_in_case(form, tmp_path):
    table = {"q": [1, 1, 2, 2], "Q": [3, 3, 4, 4], "disease": ["s", "t"] * 2}
    small(table, ["q", "Q"], form=form).write(tmp_path / "out")


# ---- papers ------------------------------------------------------------------------------------


# ---- values that are not published change no file ----------------------------------------------


def incomes(first=(10**6,) * 3, **more):
    """Three people with far the highest incomes, and 197 others."""
    chance = random.Random(3)
    income = [*first, *(chance.randrange(20, 100) * 1000 for _ in range(197))]
    sex = [chance.choice("fm") for _ in income]
    columns = {"income": income, "sex": sex, "disease": [chance.choice("abce") for _ in income]}
    return pa.table(columns | more)


def asked(*requirements, roles=None, known=("income", "sex"), **publish):
    schema = {"quasi_identifiers": [*known], "sensitive": "disease", **(roles or {})}
    return {"schema": schema, "require": [*requirements], "publish": publish}


HIGHER = (10**8, 9 * 10**7, 8 * 10**7)
STEPS = {"hierarchies": {"income": {"intervals": [10_000, 50_000, 100_000]}}}
CASES = {"person": "patient", "unit": "row"}
AT_MOST = {"facts": {"l": 0}, "below": 0.9}
K, HIDDEN = {"k_anonymity": 5}, {"suppression": 0.05}
COUPLES, HALVES = [i // 2 for i in range(200)], [*"xy"] * 100
RARE = [["p", "p", "p"], ["p", "q", "r"]]
# Two tables that differ in values that are not published, and a policy.
UNPUBLISHED = {
    "mondrian": (incomes(), incomes(HIGHER), asked(K, mondrian=HIDDEN)),
    "fulldomain": (
        *(incomes(), incomes(HIGHER)),
        asked(K, roles=STEPS, method="fulldomain", fulldomain=HIDDEN),
    ),
    "sets": (
        *(incomes(income=[*few, *[*"abcd"] * 49, "a"]) for few in RARE),
        asked(K, mondrian=HIDDEN),
    ),
    "cases": (
        *(incomes(patient=who) for who in ([*range(200)], COUPLES)),
        asked(K, AT_MOST, roles=CASES, known=["sex"]),
    ),
    "knowing": (
        *(incomes(job=job) for job in (["x"] * 200, HALVES)),
        asked(AT_MOST | {"knowing": ["job"]}, known=["sex"]),
    ),
}


@pytest.mark.complete
@pytest.mark.parametrize("case", UNPUBLISHED)
def test_unpublished_values_in_a_report(case, tmp_path):
    *tables, policy = UNPUBLISHED[case]
    folders = [tmp_path / "one", tmp_path / "other"]
    for table, folder in zip(tables, folders, strict=True):
        fk.publish(table, policy, seed=1, out=folder)
    one, other = ({path.name: lines(path) for path in folder.iterdir()} for folder in folders)
    assert one == other


def lines(path):
    """The lines of a published file, in order; of a certificate, without digests."""
    return sorted(re.sub("[0-9a-f]{64}", "", path.read_text()).splitlines())


# ---- facts on top of priors --------------------------------------------------------------------


def priors(rows, *reading, **facts):
    """Priors by sex: rows of a letter and the probabilities of Flu, Cold, Gout and AIDS."""
    known = {"sex": [], "value": [], "probability": []}
    for sex, *chances in rows:
        for value, chance in zip(["Flu", "Cold", "Gout", "AIDS"], chances, strict=True):
            known["sex"].append(sex)
            known["value"].append(value)
            known["probability"].append(chance)
    return fk.Priors(pa.table(known), *reading, **facts)


KNOWN = [("m", "0.4", "0.3", "0.2", "0.1"), ("f", "0.35", "0.4", "0.1", "0.15")]
TOLD = [("m", "0.99", "0", "0", "0.01"), ("f", "0.01", "0", "0", "0.99")]


def patients(n=160):
    chance = random.Random(0)
    sexes = chance.choices("mf", k=n)
    ills = chance.choices(["Flu", "Cold", "Gout", "AIDS"], [4, 3, 2, 1], k=n)
    return pa.table({"sex": sexes, "age": chance.choices(range(60), k=n), "ill": ills})


def against(method, known, **limit):
    roles = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="ill")
    options = fk.PublishOptions(method=method, form="bucketized")
    return fk.Policy([fk.Requirement(known, **limit)], schema=roles, options=options)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("facts", [(1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 1, 1)])
@pytest.mark.parametrize("reading", ["joint", "binary"])
@pytest.mark.parametrize("method", ["art", "mondrian"])
def test_facts_on_priors(tmp_path, method, reading, facts):
    known = priors(KNOWN, reading, facts=fk.Facts(*facts))
    publication = fk.publish(patients(), against(method, known, below="9/10"), seed=3)
    (verdict,) = publication.audit.verdicts
    assert verdict.safe
    assert verdict.found.bounded == any(facts[1:])
    publication.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    (finding,) = publication.certificate.findings
    assert finding["judged"]["priors"]["facts"] == dict(zip("lkm", facts, strict=True))


@pytest.mark.parametrize(
    "limit", [{"at_most_times": 8}, {"any_of": ["AIDS", "Gout"], "below": 0.9}]
)
def test_art_keeps_other_limits(limit, tmp_path):
    known = priors(KNOWN, facts=fk.Facts(1, 1))
    fk.publish(patients(200), against("art", known, **limit), seed=2).write(tmp_path / "out")
    fk.verify(tmp_path / "out")


def test_what_no_search_can_ask():
    # The facts alone are safe; with priors the two who differ are told apart.
    table = pa.table({"sex": list("mfmf") * 4, "age": [1] * 16, "ill": ["Flu", "AIDS"] * 8})
    rules = against("mondrian", priors(TOLD, facts=fk.Facts(0, 1)), below="3/4")
    with pytest.raises(fk.NoSafeRelease, match="but not with priors and facts together"):
        fk.publish(table, rules, seed=1)
    relative = against("mondrian", priors(KNOWN, facts=fk.Facts(1)), at_most_times=5)
    for rules in (against("mondrian", priors(KNOWN), below="9/10"), relative):
        with pytest.raises(fk.ForeknowError, match="needs groups that are finished"):
            fk.publish(patients(), rules, seed=1)


def test_learned_priors_stay_with_owners(tmp_path):
    table = patients(200)
    known = fk.Priors(list(fk.Priors.learn(table, ["sex"], "ill").tables), facts=fk.Facts(1))
    certificate = fk.publish(table, against("art", known, below="9/10"), seed=2).write(
        tmp_path / "out"
    )
    certified = certificate.policy["require"][0]["priors"]
    assert sorted(certified["tables"][0]) == ["attributes", "digest"]
    assert certified["facts"] == {"l": 1, "k": 0, "m": 0}
    fk.verify(tmp_path / "out")
