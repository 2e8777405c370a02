"""ART as a method of tables: roles, missing values, messages, and Adult."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from tests.adult import table as adult_table

import foreknow as fk
from foreknow.adversaries.priors.priors import Priors
from foreknow.errors import SchemaError
from foreknow.methods.art import ART, Limit
from foreknow_judge.errors import DataError

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
    diseases = ["Flu"] * 4 + ["Flu", "HIV", "Cold", "Gout"] * 4
    rows = pa.table({"sex": ["f"] * 4 + ["m"] * 16, "disease": diseases})
    schema = fk.Schema(quasi_identifiers=["sex"], sensitive="disease")
    priors = Priors.learn(rows, ["sex"], "disease")
    said = "disease 'Flu' of sex f: 4 people left"
    with pytest.raises(fk.NoSafeRelease, match=said) as caught:
        ART(r=2, priors=priors).partition(fk.Microdata(rows, schema), seed=0)
    assert "signature" not in str(caught.value)


def test_people_who_know_more_are_no_surer_than_so_many_times_before():
    rows = pa.table(
        {
            "sex": ["m"] * 12 + ["f"] * 12,
            "disease": ["Flu"] * 9 + ["HIV"] * 3 + ["Flu"] * 6 + ["HIV"] * 6,
        }
    )
    schema = fk.Schema(quasi_identifiers=["sex"], sensitive="disease")
    priors = Priors.learn(rows, ["sex"], "disease")
    groups = ART(times="3/2", priors=priors).partition(fk.Microdata(rows, schema))
    held = pa.table({"gid": pa.array(groups), **{name: rows[name] for name in rows.column_names}})
    gain = priors.gain(fk.Release.from_groups(held, group="gid", sensitive="disease"))
    assert 1 < gain.exact <= Fraction(3, 2)
    assert groups.max() >= 3


def test_only_named_values_are_guarded():
    values = ["Flu"] * 28 + ["HIV"] * 4
    rows = pa.table({"sex": list("mf") * 16, "disease": values})
    schema = fk.Schema(quasi_identifiers=["sex"], sensitive="disease")
    priors = Priors.learn(rows, ["sex"], "disease")
    with pytest.raises(fk.NoSafeRelease, match="'Flu' is too frequent: 28 of 32"):
        ART(r=4, priors=priors).partition(fk.Microdata(rows, schema))
    groups = ART(r=4, priors=priors, values=["HIV"]).partition(fk.Microdata(rows, schema))
    held = pa.table({"gid": pa.array(groups), "sex": rows["sex"], "disease": values})
    release = fk.Release.from_groups(held, group="gid", sensitive="disease")
    assert priors.disclosure(release, "HIV").exact <= Fraction(1, 4)
    assert priors.disclosure(release, "Flu").exact == 1


def test_several_limits_hold_together():
    values = np.repeat(["Flu", "Cold", "Pox", "HIV"], [48, 36, 24, 12])
    mixed = np.random.default_rng(1).permutation(values)
    rows = pa.table({"sex": list("mf") * 60, "race": list("aabbcc") * 20, "disease": mixed})
    schema = fk.Schema(quasi_identifiers=["sex", "race"], sensitive="disease")
    sex, race = (Priors.learn(rows, [name], "disease", smoothing=3) for name in ("sex", "race"))
    limits = [
        Limit(sex, at_most="1/2"),
        Limit(sex, at_most="1/5", values=["HIV"]),
        Limit(race, below="3/5", excluded=["Flu"]),
    ]
    groups = ART(limits=limits).partition(fk.Microdata(rows, schema), seed=2)
    held = rows.append_column("gid", pa.array(groups))
    release = fk.Release.from_groups(held, group="gid", sensitive="disease")
    by_sex, by_race = sex.disclosures(release), race.disclosures(release)
    assert max(found.exact for found in by_sex.values()) <= Fraction(1, 2)
    assert by_sex["HIV"].exact <= Fraction(1, 5)
    assert max(by_race[x].exact for x in ("Cold", "Pox", "HIV")) < Fraction(3, 5)
    assert groups.max() >= 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"r": 2}, "give priors, or limits"),
        ({"r": 2, "values": []}, "at least one value"),
        ({"r": 2, "values": "HIV"}, "values must be a list"),
        ({"r": 2, "unique": 1}, "unique must be True or False"),
        ({"limits": [2]}, "limits must be a list of Limit"),
    ],
)
def test_what_is_asked_wrongly_is_said(options, said):
    if said != "give priors, or limits":
        options = {"priors": Priors.learn(PEOPLE, ["sex"], "disease"), **options}
    with pytest.raises(fk.InputError, match=said):
        ART(**options)


def test_a_value_that_nobody_has_is_named():
    method = ART(r=2, priors=Priors.learn(PEOPLE, ["sex"], "disease"), values=["HIF"])
    with pytest.raises(fk.InputError, match=r"nobody in the table has.*'HIF'.*'HIV'"):
        method.partition(fk.Microdata(PEOPLE, SCHEMA))


def test_different_values_need_one_limit():
    method = ART(times=2, priors=Priors.learn(PEOPLE, ["sex"], "disease"), unique=True)
    with pytest.raises(fk.InputError, match=r'unique=True needs one limit.*at_most = "1/4"'):
        method.partition(fk.Microdata(PEOPLE, SCHEMA))


def mixed():
    """More than half of one sex have one value, so that sexes must share groups."""
    diseases = ["Flu"] * 9 + ["HIV"] * 5 + ["Cold"] * 6 + ["Flu"] * 12 + ["HIV"] * 4 + ["Cold"] * 4
    return pa.table({"sex": ["m"] * 20 + ["f"] * 20, "age": range(40), "disease": diseases})


def test_a_generalized_release_does_not_mix_whom_the_priors_tell_apart():
    rows = mixed()
    known = Priors.learn(rows, ["sex"], "disease")
    policy = fk.Policy([fk.Requirement(known, at_most="11/20")], schema=SCHEMA)
    bucketized, generalized = (
        fk.PublishOptions(method="art", form=form) for form in ("bucketized", "generalized")
    )
    microdata = fk.Microdata(rows, SCHEMA)
    assert fk.publish(microdata, policy, options=bucketized, seed=1).audit.safe
    with pytest.raises(fk.NoSafeRelease, match=r"12 of 20 people with sex f.*bucketized"):
        fk.publish(microdata, policy, options=generalized, seed=1)
    loose = fk.Policy([fk.Requirement(known, at_most="3/5")], schema=SCHEMA)
    assert fk.publish(microdata, loose, options=generalized, seed=1).audit.safe


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


def of_adult(by, how, **limit):
    """Priors of Adult, and the groups and the release that ART makes by them."""
    rows = adult()
    names = [name for name in rows.column_names if name != "occupation"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="occupation")
    priors = Priors.learn(rows, SETS[by], "occupation", **how)
    groups = ART(priors=priors, **limit).partition(fk.Microdata(rows, schema), seed=1)
    grouped = rows.append_column("gid", pa.array(groups))
    return priors, groups, fk.Release.from_groups(grouped, group="gid", sensitive="occupation")


@pytest.mark.parametrize(
    ("by", "r", "smoothing", "semantics"),
    [
        ("sex", 2, 0, "joint"),
        ("sex", 3, 0, "binary"),
        ("sex", 4, 0, "joint"),
        ("race", 5, 0, "joint"),
        ("sex", 5, 0, "joint"),  # a quarter of all women are clerks: large groups
        ("race", 4, 0, "binary"),
        ("band", 4, 0, "joint"),
        ("each", 2, 0, "binary"),
        ("each", 3, 0, "joint"),
        ("together", 2, 20, "binary"),
        ("together", 3, 20, "joint"),
    ],
)
def test_no_posterior_of_adult_exceeds_the_limit(by, r, smoothing, semantics):
    how = {"smoothing": smoothing, "semantics": semantics}
    priors, groups, release = of_adult(by, how, r=r)
    assert np.bincount(groups).min() >= r
    assert groups.min() == 0
    assert priors.disclosure(release).exact <= Fraction(1, r)


@pytest.mark.parametrize(
    ("by", "times", "semantics"),
    [
        ("sex", "2", "joint"),
        pytest.param("sex", "3", "joint", marks=pytest.mark.slow),
        pytest.param("sex", "2", "binary", marks=pytest.mark.slow),
        pytest.param("race", "2", "joint", marks=pytest.mark.slow),
        pytest.param("band", "2", "joint", marks=pytest.mark.slow),
    ],
)
def test_no_posterior_of_adult_exceeds_so_many_times_the_prior(by, times, semantics):
    priors, groups, release = of_adult(by, {"semantics": semantics}, times=times)
    assert 1 < priors.gain(release).exact <= Fraction(times)
    assert groups.max() >= 100


def test_adult_by_the_combination_as_it_is_cannot_be_grouped():
    rows = adult()
    names = [name for name in rows.column_names if name != "occupation"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="occupation")
    priors = Priors.learn(rows, SETS["together"], "occupation")
    with pytest.raises(fk.NoSafeRelease, match="people are left"):
        ART(r=2, priors=priors).partition(fk.Microdata(rows, schema))
