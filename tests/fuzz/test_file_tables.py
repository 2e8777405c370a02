"""Corrupted workbooks, databases and files of statistics programs: read, or refused in a line."""

import random
import sqlite3

import duckdb
import pandas as pd
import pytest
from tests.frames.workbooks import write_workbook
from tests.fuzz.mutations import mutated_bytes
from tests.fuzz.rounds import NIGHTLY, SEED

import foreknow as fk

ROWS = [(20 + i % 9, f"z{i % 5}", ("flu", "cold")[i % 2]) for i in range(60)]
SCHEMA = fk.Schema(quasi_identifiers=["age", "zip"], sensitive="d")


def intact(path):
    """Write the table in the form that the extension says."""
    frame = pd.DataFrame(ROWS, columns=["age", "zip", "d"])
    if path.suffix == ".xlsx":
        pytest.importorskip("python_calamine", reason='pip install ".[files]"')
        write_workbook(path, {"People": [list(frame), *ROWS]})
    elif path.suffix == ".sqlite":
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE people (age INT, zip TEXT, d TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
        connection.commit()
        connection.close()
    elif path.suffix == ".duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.from_df(frame).create("people")
    else:
        stat = pytest.importorskip("pyreadstat", reason='pip install ".[files]"')
        write = {".sav": stat.write_sav, ".dta": stat.write_dta, ".xpt": stat.write_xport}
        write[path.suffix](frame, path)
    return path.read_bytes()


@pytest.mark.processes
@pytest.mark.parametrize("ending", ["xlsx", "sqlite", "duckdb", "sav", "dta", "xpt"])
def test_a_corrupted_file_is_read_or_refused_in_a_line(tmp_path, ending):
    whole, chance = intact(tmp_path / f"whole.{ending}"), random.Random(f"{SEED} {ending}")
    assert fk.Microdata(tmp_path / f"whole.{ending}", SCHEMA).n_people == len(ROWS)
    refusals = []
    for i in range(600 if NIGHTLY else 20):
        path = tmp_path / f"{i}.{ending}"
        cut = whole[: chance.randrange(len(whole))]
        path.write_bytes(cut if chance.random() < 0.2 else mutated_bytes(chance, whole))
        try:
            fk.Microdata(path, SCHEMA).attributes  # noqa: B018
        except fk.InputError as error:
            refusals.append(str(error))
        path.unlink()
    assert refusals
    assert not [said for said in refusals if "\n" in said]
