"""Ibis: a release of a table in a backend is the one of the same rows in memory."""

import logging
from itertools import count

import pytest
from tests.frames import backends
from tests.test_publishing_engine import FACTS, HOSPITAL, patients

import foreknow as fk

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


def test_publishing_reads_a_table_of_a_backend(held, caplog):
    caplog.set_level(logging.INFO, "foreknow")
    policy = {"schema": HOSPITAL, "require": [FACTS]}
    table = patients(200)
    made = fk.publish(held(table), policy, engine="duckdb")
    assert "nor of DuckDB or Spark" in caplog.text
    assert made.groups == fk.publish(table, policy).groups
