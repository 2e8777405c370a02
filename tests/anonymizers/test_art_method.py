"""ART as a method of tables: roles, missing values, messages, and Adult."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from tests.adult import table as adult_table

import foreknow as fk
from foreknow.adversaries.priors import Priors
from foreknow.anonymizers.art import ART
from foreknow.errors import DataError, SchemaError

PEOPLE = pa.table(
    {
        "sex": ["m", "f", "m", "f", None, None],
        "age": [30, 31, 40, 41, 50, 51],
        "disease": ["Flu", "Flu", "HIV", "HIV", "Flu", "HIV"],
    }
)
SCHEMA = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")


def test_people_of_a_kind_share_a_group_and_missing_is_a_kind():
    priors = Priors.learn(PEOPLE, ["sex"], "disease")
    groups = ART(r=2, priors=priors).partition(fk.Microdata(PEOPLE, SCHEMA))
    assert groups.tolist() == [0, 1, 0, 1, 2, 2]


def test_rows_without_a_value_are_left_out():
    rows = pa.concat_tables(
        [pa.table({"sex": ["m"], "age": [20], "disease": pa.array([None], pa.string())}), PEOPLE]
    )
    schema = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease", missing="drop")
    priors = Priors.learn(PEOPLE, ["sex"], "disease")
    groups = ART(r=2, priors=priors).partition(fk.Microdata(rows, schema))
    assert groups.tolist() == [-1, 0, 1, 0, 1, 2, 2]


def test_priors_of_a_column_that_is_no_quasi_identifier_are_refused():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    method = ART(r=2, priors=Priors.learn(PEOPLE, ["sex"], "disease"))
    with pytest.raises(SchemaError, match="'sex', which is no quasi-identifier"):
        method.partition(fk.Microdata(PEOPLE, schema))


def test_a_signature_without_priors_is_named():
    method = ART(r=2, priors=Priors.learn(PEOPLE.slice(0, 4), ["sex"], "disease"))
    with pytest.raises(DataError, match="sex missing"):
        method.partition(fk.Microdata(PEOPLE, SCHEMA))


@pytest.mark.parametrize("r", [1, 0, -2, "x", True, float("nan"), float("inf"), None])
def test_r_is_above_one(r):
    with pytest.raises(fk.InputError, match="r must be a number above 1"):
        ART(r=r, priors=Priors.learn(PEOPLE, ["sex"], "disease"))


def test_r_is_read_as_it_is_written():
    priors = Priors.learn(PEOPLE, ["sex"], "disease")
    with pytest.raises(fk.NoSafeRelease, match=r"r = 2\.1:"):
        ART(r=2.1, priors=priors).partition(fk.Microdata(PEOPLE, SCHEMA))


def test_messages_call_people_by_their_labels():
    priors = Priors.learn(PEOPLE.slice(0, 3), ["sex"], "disease")
    with pytest.raises(fk.NoSafeRelease, match="sex f: only 1 of the values") as caught:
        ART(r=2, priors=priors).partition(fk.Microdata(PEOPLE.slice(0, 4), SCHEMA))
    assert "signature" not in str(caught.value)


def adult():
    rows = pyarrow.csv.read_csv(adult_table())
    ages = np.asarray(rows["age"])
    bands = pa.array([f"{min(max(age // 10 * 10, 10), 70)}" for age in ages.tolist()])
    kept = ["age", "sex", "race", "marital-status", "education", "occupation"]
    return rows.select(kept).append_column("band", bands)


SETS = {
    "sex": ["sex"],
    "race": ["race"],
    "band": ["band"],
    "each": [["sex"], ["race"], ["band"]],
    "together": ["sex", "race", "band"],
}


@pytest.mark.parametrize(
    ("by", "r", "smoothing", "semantics"),
    [
        ("sex", 2, 0, "joint"),
        ("sex", 3, 0, "binary"),
        ("sex", 4, 0, "joint"),
        ("race", 5, 0, "joint"),
        ("race", 4, 0, "binary"),
        ("band", 4, 0, "joint"),
        ("each", 2, 0, "binary"),
        ("each", 3, 0, "joint"),
        ("together", 2, 20, "binary"),
        ("together", 3, 20, "joint"),
    ],
)
def test_no_posterior_of_adult_exceeds_the_limit(by, r, smoothing, semantics):
    rows = adult()
    names = [name for name in rows.column_names if name != "occupation"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="occupation")
    priors = Priors.learn(rows, SETS[by], "occupation", smoothing=smoothing, semantics=semantics)
    groups = ART(r=r, priors=priors).partition(fk.Microdata(rows, schema), seed=1)
    sizes = np.bincount(groups)
    assert sizes.min() >= r
    assert groups.min() == 0
    release = fk.Release.from_groups(
        rows.append_column("gid", pa.array(groups)), group="gid", sensitive="occupation"
    )
    found = priors.disclosure(release)
    assert found.exact <= Fraction(1, r)


def test_adult_by_the_combination_as_it_is_cannot_be_grouped():
    rows = adult()
    names = [name for name in rows.column_names if name != "occupation"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="occupation")
    priors = Priors.learn(rows, SETS["together"], "occupation")
    with pytest.raises(fk.NoSafeRelease, match="only 1 of the values have a prior above 0"):
        ART(r=2, priors=priors).partition(fk.Microdata(rows, schema))
