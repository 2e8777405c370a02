"""A frame that cannot be read says so in one line, and its columns are taken for nothing else."""

import duckdb
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
