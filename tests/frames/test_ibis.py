"""Ibis: a release by what a backend counts is the one of the same rows in memory."""

import logging
from collections import Counter
from itertools import count

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.frames import backends
from tests.test_publishing_engine import FACTS, HOSPITAL, patients

import foreknow as fk
from foreknow.publishing.members import OF_COUNTS

pytest.importorskip("ibis", reason="Ibis is absent")


@pytest.fixture(params=["ibis_duckdb", "ibis_postgres"])
def held(request, tmp_path):
    """What holds a table in a backend."""
    folders = (tmp_path / f"held{number}" for number in count())

    def hold(table):
        folder = next(folders)
        folder.mkdir()
        return getattr(backends, request.param)(table, folder)

    return hold


def rows_of(table):
    return Counter(map(str, table.to_pylist()))


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_a_table_is_counted_in_its_backend(held, tmp_path, form, caplog):
    table = patients(400, missing=["disease"])
    schema = {**HOSPITAL, "other": ["city"], "person": "name", "missing": "drop"}
    policy = {"schema": schema, "require": [{**FACTS, "knowing": []}]}
    policy["publish"] = {"format": "parquet", "form": form, "rows_per_part": 150}
    made = fk.publish(held(table), policy, engine="duckdb")
    assert made.certificate.source["digest_kind"] == OF_COUNTS
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").people == made.counts.n_people < 400
    here = fk.publish(table, policy)
    here.write(tmp_path / "here")
    for name in made.tables:
        both = [each.to_arrow(name) for each in (here, made)]
        if form == "bucketized":
            both = [each.drop_columns(["group"]) for each in both]
        assert rows_of(both[0]) == rows_of(both[1])
    if form == "generalized":
        both = [pq.read_table(tmp_path / f"{f}.owner/members.parquet") for f in ("here", "out")]
        assert rows_of(both[0].drop_columns(["row"])) == rows_of(both[1].drop_columns(["row"]))


def test_what_is_small_or_not_plain_is_read(held, caplog):
    caplog.set_level(logging.INFO, "foreknow")
    policy = {"schema": HOSPITAL, "require": [FACTS]}
    fk.publish(held(patients(200)), policy)
    assert "is small" in caplog.text
    rows = patients(200).append_column("told", pa.array([b"x"] * 200))
    schema = {**HOSPITAL, "quasi_identifiers": ["told", "age"]}
    with pytest.raises(fk.InputError, match="one plain value"):
        fk.publish(held(rows), {"schema": schema, "require": [FACTS]}, engine="duckdb")
    assert "column 'told' is of type BLOB" in caplog.text
