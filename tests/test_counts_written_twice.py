"""A bucketized table in which a row stands twice is refused: groups would look larger."""

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow_judge.errors import DataError

ROWS = {"group": [1, 1, 1, 1], "ill": ["Flu", "Flu", "HIV", "Cold"], "count": [1, 1, 1, 1]}
POLICY = {"require": [{"facts": {"l": 0}, "below": "1/3", "values": ["HIV"]}]}


def test_a_row_that_stands_twice_is_no_second_person():
    """Of three people one has HIV: 1/3 is not below 1/3, and 1/4 was."""
    once = pa.table(ROWS).slice(1)
    assert not fk.audit(fk.Release.from_bucketized(once, sensitive="ill"), POLICY).safe
    twice = fk.Release.from_bucketized(pa.table(ROWS), sensitive="ill")
    with pytest.raises(DataError, match="rows 1 and 2 differ by nothing but the count"):
        fk.audit(twice, POLICY)


def test_rows_that_differ_in_another_column_are_two():
    other = pa.table({**ROWS, "income": ["high", "low", "low", "low"]})
    release = fk.Release.from_bucketized(other, sensitive=["ill", "income"])
    assert release.counts.bag(0) == {"Flu": 2, "HIV": 1, "Cold": 1}
