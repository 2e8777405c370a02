"""A release of CSV is written in the dialect of its table; of other files, as plain CSV."""

import json
import random

import polars as pl
import pytest

import foreknow as fk
from foreknow_judge.errors import PolicyError

POLICY = {
    "schema": {
        "quasi_identifiers": ["age", "height"],
        "sensitive": ["ill", "income"],
        "other": ["visits", "=note"],
        "identifiers": ["pid"],
    },
    "require": [
        {"sensitive": "ill", "knowing": [], "facts": {"l": 1, "k": 1, "m": 0}, "below": 0.8},
        {"sensitive": "income", "knowing": [], "within": 5, "facts": {"l": 1}, "below": 0.9},
    ],
}


def people(n=300):
    """Numbers with and without decimals, missing ones, umlauts, texts that look like formulas."""
    rng = random.Random(7)
    return pl.DataFrame({
        "pid": [f"p{i}" for i in range(n)],
        "age": [rng.randrange(20, 60) for _ in range(n)],
        "height": [rng.randrange(1500, 1990) / 10 for _ in range(n)],
        "ill": [rng.choice(["Grippe", "Ödem", "a;b,c"]) for _ in range(n)],
        "income": [rng.randrange(100, 300) / 4 for _ in range(n)],
        "visits": [rng.choice([None, 0, 1, 2]) for _ in range(n)],
        "=note": [rng.choice(["=1+1", "-2,5", "plain"]) for _ in range(n)],
    })  # fmt: skip


def source(kind, folder):
    """The people in a file of a kind, and the policy that reads it."""
    frame, policy = people(), {**POLICY, "schema": {**POLICY["schema"]}}
    path = folder / f"in.{kind}"
    if kind == "de.csv":
        floats = pl.col("height", "income").cast(pl.String).str.replace(".", ",", literal=True)
        text = frame.with_columns(floats).write_csv(separator=";")
        path.write_text(f"\ufeff{text}", "utf-8")
        policy["schema"]["reading"] = {"decimal": ","}
    elif kind == "xlsx":
        pytest.importorskip("python_calamine")
        pytest.importorskip("xlsxwriter")
        frame.write_excel(path)
    elif kind == "sav":
        pyreadstat = pytest.importorskip("pyreadstat")
        frame = frame.rename({"=note": "note"})  # no name of SPSS begins so
        policy["schema"]["other"] = ["visits", "note"]
        pyreadstat.write_sav(frame, str(path))
    else:
        frame.write_csv(path)
    return path, policy


@pytest.mark.parametrize("kind", ["de.csv", "xlsx", "sav"])
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_all_sources_give_one_release(kind, form, tmp_path):
    found = []
    for name in ("csv", kind):
        path, policy = source(name, tmp_path)
        certificate = fk.publish(path, policy, seed=1, form=form).write(tmp_path / f"{name}-out")
        assert certificate.format == "csv"
        assert fk.audit(tmp_path / f"{name}-out", policy).safe
        found.append(fk.verify(tmp_path / f"{name}-out"))
    first, second = found
    assert (first.people, first.n_groups) == (second.people, second.n_groups)
    assert [f.reached for f in first.findings] == [f.reached for f in second.findings]
    names = fk.read_release(tmp_path / "csv-out", "polars").rename({"=note": "note"})
    again = fk.read_release(tmp_path / f"{kind}-out", "polars")
    assert names.equals(again.rename({"=note": "note"}) if "=note" in again.columns else again)


def test_german_table_stays_german(tmp_path):
    path, policy = source("de.csv", tmp_path)
    fk.publish(path, policy, seed=1).write(tmp_path / "out")
    content = (tmp_path / "out" / "release.csv").read_text("utf-8")
    header, first, *_ = content.splitlines()
    assert header == '\ufeff"age";"height";"visits";"=note";"ill";"income"'
    assert first.split(";")[-1].count(",") == 1
    assert '"a;b,c"' in content  # a text is as it was
    fields = json.loads((tmp_path / "out" / "datapackage.json").read_text())["resources"][0]
    assert fields["dialect"]["delimiter"] == ";"
    (income,) = [f for f in fields["schema"]["fields"] if f["name"] == "income"]
    assert (income["type"], income["decimalChar"]) == ("number", ",")


def test_options_come_before_dialect(tmp_path):
    path, policy = source("de.csv", tmp_path)
    how = {"delimiter": "tab", "decimal": ".", "bom": False}
    fk.publish(path, {**policy, "publish": how}, seed=1).write(tmp_path / "tab")
    header, first, *_ = (tmp_path / "tab" / "release.csv").read_text().splitlines()
    assert header.startswith('"age"\t"height"')
    assert "." in first.split("\t")[-1]
    assert fk.Policy.of({**policy, "publish": how}).options.to_dict()["bom"] is False
    fk.verify(tmp_path / "tab")
    for wrong in ({"delimiter": "x"}, {"decimal": ";"}, {"format": "parquet", "bom": True}):
        with pytest.raises(PolicyError):
            fk.publish(path, policy, **wrong)


@pytest.mark.parametrize("kind", ["xlsx", "sav", "dta"])
def test_other_formats_are_exports(kind, tmp_path):
    path, policy = source("csv", tmp_path)
    with pytest.raises(PolicyError, match=f"foreknow export FOLDER --to {kind}"):
        fk.publish(path, policy, format=kind)
    with pytest.raises(PolicyError, match=f"foreknow export FOLDER --to {kind}"):
        fk.Policy.of({**policy, "publish": {"format": kind}})
