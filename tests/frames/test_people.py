"""A column that tells people apart: under `single` everybody stands in one row."""

import pyarrow as pa
import pytest

from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.errors import DataError

ONCE = ["Ann", "Bob", "Cid", "Dora"]


def table(people):
    return pa.table({"pid": people, "age": [1, 1, 2, 2], "disease": ["Flu", "Cold"] * 2})


def published(source):
    schema = Schema(quasi_identifiers=["age"], sensitive="disease", person="pid")
    return Microdata(source, schema).n_people


def released(source):
    release = Release.from_groups(source, group="age", sensitive="disease", person="pid")
    return release.counts.n_people


@pytest.mark.parametrize("read", [published, released])
def test_people_with_one_row_each_are_read(everywhere, read):
    assert read(everywhere(table(ONCE))) == 4


@pytest.mark.parametrize("read", [published, released])
@pytest.mark.parametrize(
    ("people", "says"),
    [
        (["Ann", "Bob", "Cid", "Bob"], "pid 'Bob' is in rows 2 and 4; under semantics 'single'"),
        (["Ann", "Bob", None, "Dora"], "column of people 'pid' is missing in row 3"),
    ],
)
def test_somebody_in_two_rows_and_nobody_are_named_with_rows(everywhere, read, people, says):
    if "spark" in everywhere.backend.__name__:
        pytest.skip("Spark promises no order of rows")
    with pytest.raises(DataError, match=says):
        read(everywhere(table(people)))


@pytest.mark.parametrize("read", [published, released])
def test_the_first_two_of_several_rows_and_a_column_that_is_not_there_are_named(read):
    with pytest.raises(DataError, match="pid 7 is in rows 1 and 3;"):
        read(table([7, 5, 7, 7]))
    with pytest.raises(DataError, match="no column 'pid'; did you mean 'pids'"):
        read(table(ONCE).rename_columns(["pids", "age", "disease"]))
