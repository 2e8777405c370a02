"""A frame that cannot be read says so in one line, and its columns are taken for nothing else."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import foreknow as fk
from foreknow_judge.errors import DataError

POLICY = fk.Policy(
    [fk.Requirement(fk.KAnonymity(2))], fk.Schema(quasi_identifiers=["age"], sensitive="ill")
)
ROWS = {"age": [1, 1], "ill": ["flu", "cold"]}


@pytest.mark.parametrize("name", ["sight", "release", "counts", "releases", "semantics", "cases"])
def test_a_column_may_be_called_as_a_part_of_a_result(name):
    assert fk.audit(pd.DataFrame({**ROWS, name: [1, 2]}), POLICY).safe


def test_a_relation_whose_table_is_gone():
    connection = duckdb.connect()
    connection.sql("create table people as select 1 age, 'flu' ill")
    relation = connection.table("people")
    connection.sql("drop table people")
    with pytest.raises(DataError, match="people does not exist"):
        fk.audit(relation, POLICY)


@pytest.mark.parametrize(
    ("lazy", "said"),
    [
        (lambda: pl.scan_csv("nowhere.csv"), "nowhere.csv"),
        (lambda: pl.LazyFrame(ROWS).with_columns(pl.col("agee")), "agee"),
        (lambda: pl.LazyFrame(ROWS).with_columns(pl.col("ill").cast(pl.Int64)), "failed in column"),
    ],
    ids=["file", "column", "cast"],
)
def test_a_lazy_frame_that_cannot_be_collected(lazy, said):
    with pytest.raises(DataError, match=said) as raised:
        fk.audit(lazy(), POLICY)
    assert "\n" not in str(raised.value)


# ---- numbers of a pandas column that are equal to Python, and two to who reads the file ----------

HOW = {"quasi_identifiers": ["age"], "sensitive": "ill", "k_anonymity": 2}


def frame(ages):
    return pd.DataFrame({"age": pd.Series(ages, dtype=object), "ill": ["flu", "cold"] * 2})


@pytest.mark.parametrize("ages", [[1, 1.0, 1, 1], [1, True, 2, 2], [0.0, False, 1.0, True]])
def test_they_are_no_group(tmp_path, ages):
    frame(ages).to_csv(tmp_path / "ages.csv", index=False)
    assert not fk.audit(tmp_path / "ages.csv", **HOW).safe
    assert fk.k_anonymity(tmp_path / "ages.csv", ["age"]) == 1
    for judge in (lambda table: fk.audit(table, **HOW), lambda t: fk.k_anonymity(t, ["age"])):
        with pytest.raises(fk.ForeknowError, match="which are equal, and which a file shows as"):
            judge(frame(ages))


@pytest.mark.parametrize("ages", [[1, 2.5, 1, 2.5], [np.int64(1), 1, None, np.nan]])
def test_others_are_read(ages):
    assert fk.k_anonymity(frame(ages), ["age"]) == 2


def test_columns_are_looked_at_once():
    ages = frame([1, 1, 2, 2])
    assert fk.k_anonymity(ages, ["age", "age"]) == 2
    with pytest.raises(fk.ForeknowError, match="at least one column"):
        fk.k_anonymity(ages, [])
