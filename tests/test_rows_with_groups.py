"""Quasi-identifiers in one row with the secret tell who has it, whatever the group of the row."""

from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

import foreknow as fk

EXACT = {
    "gid": [1, 1, 1, 1, 2, 2],
    "pid": [1, 2, 3, 4, 5, 6],
    "age": [31, 32, 33, 34, 45, 45],
    "ill": ["HIV", "Flu", "Cold", "Gout", "HIV", "Flu"],
}
COARSE = {**EXACT, "age": ["30s", "30s", "30s", "30s", "40s", "40s"]}


def audited(columns, semantics="single", **more):
    schema = {
        "group": "gid",
        "quasi_identifiers": ["age"],
        "sensitive": "ill",
        "person": "pid",
        "semantics": semantics,
    }
    required = {"facts": {}, "below": "2/3", **more}
    return fk.audit(pa.table(columns), {"schema": schema, "require": [required]}, learned=False)


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_whoever_knows_an_exact_column_finds_the_row(semantics):
    made = audited(EXACT, semantics)
    assert not made.safe
    assert made.verdicts[0].found.exact == 1


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_columns_that_are_alike_in_each_group_divide_nothing(semantics):
    made = audited(COARSE, semantics)
    assert made.safe
    assert made.verdicts[0].found.exact == Fraction(1, 2)


def test_a_requirement_may_say_that_nobody_knows_them():
    assert audited(EXACT, knowing=[]).safe


def test_a_group_that_is_named_in_the_call_is_as_one_of_the_schema(tmp_path):
    rows = pa.table(EXACT)
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    required = fk.Policy([fk.Requirement(fk.Facts(), below="2/3")], schema)
    assert not fk.audit(rows, required, group="gid", learned=False).safe
    assert fk.Release.from_schema(rows, schema, "gid").seen().counts.n_groups == 5


def test_the_group_may_be_one_of_the_quasi_identifiers():
    rows = pa.table(EXACT)
    schema = fk.Schema(quasi_identifiers=["gid", "age"], sensitive="ill")
    release = fk.Release.from_schema(rows, schema, "gid")
    assert release.seen(knowing=[]).counts.n_groups == 2
    assert release.seen().counts.n_groups == 5


@pytest.mark.parametrize("role", ["quasi_identifiers", "other"])
def test_a_column_that_is_misspelt_is_not_one_that_the_release_does_without(role):
    rows = pa.table(EXACT)
    columns = {"quasi_identifiers": ["zip"], role: ["agee"]}
    required = fk.Policy([fk.Requirement(fk.Facts(), below="2/3")])

    def audited(**columns):
        schema = fk.Schema(group="gid", sensitive="ill", person="pid", **columns)
        return fk.audit(rows, replace(required, schema=schema), learned=False)

    with pytest.raises(fk.ForeknowError, match="has no column 'agee'; did you mean 'age'"):
        audited(**columns)
    assert audited(quasi_identifiers=["zip"]).safe  # which was left out of it
