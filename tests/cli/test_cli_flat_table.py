"""The commands read and draw."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import foreknow as fk
from foreknow.publishing import flat_table
from foreknow_judge.errors import InputError

WRITTEN = Path(__file__).parents[1] / "certificates"


@pytest.fixture
def release(tmp_path):
    return Path(shutil.copytree(WRITTEN / "set-generalized-csv", tmp_path / "release"))


def test_commands_write_a_table_and_say_what_draws_are_not(release, desk):
    out = desk.folder / "flat.csv"
    code, said, err = desk.run("draw", release, "--out", out, "--seed", "1")
    assert (code, "16 rows, 3 columns" in said) == (0, True)
    assert err.startswith("Note: every value is drawn at random")
    assert "is no interval" in err
    assert "Note: how many values a person has is not in the release" in err
    lines = out.read_text().splitlines()
    assert lines[0] == '"age","sex","disease_shuffled"'
    assert len(lines) == 17
    assert desk.run("read", release, "-o", desk.folder / "flat.parquet", "-q") == (0, "", "")
    assert pq.read_table(desk.folder / "flat.parquet").equals(fk.read_release(release, "arrow"))
    assert oct(out.stat().st_mode)[-3:] == "644"


def test_commands_write_nothing_into_a_release_and_whole_files_only(release, desk, monkeypatch):
    before = {path.name: path.read_bytes() for path in release.iterdir()}
    for name in ("flat.csv", "people.csv", "certificate.json"):
        said = desk.refused("draw", release, "--out", release / name)
        assert "in what is published" in said or "name a .csv" in said
    assert before == {path.name: path.read_bytes() for path in release.iterdir()}
    assert "name a .csv or a .parquet file" in desk.refused("read", release, "--out", "flat.xlsx")
    assert "has no certificate" in desk.refused("read", "table.csv", "--out", "flat.csv")
    old = desk.put("flat.csv", "old")

    def fails(table, path):
        path.write_text("half")
        raise InputError("the disk is full")

    monkeypatch.setitem(flat_table._WRITERS, ".csv", fails)
    assert "the disk is full" in desk.refused("draw", release, "--out", "flat.csv")
    assert old.read_text() == "old"
    assert json.loads((release / "certificate.json").read_text())["safe"]
