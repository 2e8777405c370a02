"""What comes back from Mondrian: numbers, order of rows, who stays together, and refusals."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.anonymizers.tables import cases, policies
from tests.examples import examples

import foreknow as fk

EASY = fk.Policy([fk.Requirement(fk.Facts(), "0.9")])


def simple(columns, policy=EASY, **schema):
    names = [name for name in columns if name != "disease"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease", **schema)
    return fk.Mondrian().partition(fk.Microdata(pa.table(columns), schema), policy)


def together(partition):
    """The grouping as sets of people, whatever the numbers of the groups."""
    groups = {}
    for person, group in partition.items():
        groups.setdefault(group, set()).add(person)
    return {frozenset(group) for group in groups.values()}


@examples(60, deadline=None)
@given(data=st.data(), case=cases())
def test_groups_are_numbered_from_zero_without_gaps_one_per_row(data, case):
    policy, _ = data.draw(policies(case.sensitive))
    try:
        found = fk.Mondrian().partition(case.microdata(), policy)
    except fk.NoSafeRelease:
        return
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.int64
    assert found.shape == (len(case.rows),)
    assert set(found.tolist()) == set(range(int(found.max()) + 1))


@examples(60, deadline=None)
@given(data=st.data(), case=cases())
def test_people_with_equal_quasi_identifiers_are_never_separated(data, case):
    policy, _ = data.draw(policies(case.sensitive))
    try:
        found = fk.Mondrian(3).partition(case.microdata(), policy).tolist()
    except fk.NoSafeRelease:
        return
    group_of = {}
    for row, group in zip(case.rows, found, strict=True):
        assert group_of.setdefault(row, group) == group


@examples(60, deadline=None)
@given(data=st.data(), case=cases(), cuts=st.integers(1, 3))
def test_the_order_of_rows_and_a_seed_change_nothing(data, case, cuts):
    policy, _ = data.draw(policies(case.sensitive))
    order = data.draw(st.permutations(range(len(case.rows))))
    method = fk.Mondrian(cuts)
    try:
        first = method.partition(case.microdata(), policy)
    except fk.NoSafeRelease:
        with pytest.raises(fk.NoSafeRelease):
            method.partition(case.microdata(order), policy)
        return
    shuffled = method.partition(case.microdata(order), policy, seed=7)
    assert together(dict(enumerate(first.tolist()))) == (
        together(dict(zip(order, shuffled.tolist(), strict=True)))
    )


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_come_in_the_order_of_the_frame_whatever_its_library(library):
    frame = library({"age": [90, 1, 91, 2], "disease": ["s", "s", "t", "t"]})
    found = fk.Mondrian().partition(
        fk.Microdata(frame, fk.Schema(quasi_identifiers=["age"], sensitive="disease")), EASY
    )
    assert found[0] == found[2] != found[1] == found[3]


def test_an_index_of_a_pandas_frame_is_not_looked_at():
    frame = pd.DataFrame({"age": [90, 1, 91, 2], "disease": list("sstt")}, index=[3, 2, 1, 0])
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    found = fk.Mondrian().partition(fk.Microdata(frame, schema), EASY)
    assert found[0] == found[2] != found[1] == found[3]


def test_rows_that_are_dropped_for_a_missing_value_get_minus_one():
    columns = {"age": [1, 2, 3, 90, 91], "disease": ["s", None, "t", "s", "t"]}
    found = simple(columns, missing="drop")
    assert found.dtype == np.int64
    assert found[1] == -1
    assert found[0] == found[2] != found[3] == found[4]
    assert sorted(set(found.tolist())) == [-1, 0, 1]


def test_a_label_for_missing_values_is_a_value_like_any_other():
    columns = {"age": [1, 2, 90, 91], "disease": ["s", None, None, "s"]}
    assert len(set(simple(columns, missing={"label": "?"}).tolist())) == 2
    half = fk.Policy([fk.Requirement(fk.Facts(), "1/2", values=["?"])])
    with pytest.raises(fk.NoSafeRelease, match=re.escape("'?'")):
        simple(columns, half, missing={"label": "?"})


def test_one_person_is_one_group_where_nothing_is_asked_of_their_value():
    policy = fk.Policy([fk.Requirement(fk.Facts(), 1, excluded=["s"])])
    assert simple({"age": [5], "disease": ["s"]}, policy).tolist() == [0]


def test_everybody_equal_is_one_group():
    assert simple({"age": [5] * 4, "disease": list("stst")}).tolist() == [0] * 4


# ---- refusals ----------------------------------------------------------------------------------


def test_an_unsafe_whole_table_is_refused_with_value_adversary_and_probability():
    policy = fk.Policy(
        [
            fk.Requirement(fk.Facts(m=1), 1, values=["t"], name="first"),
            fk.Requirement([(fk.Facts(), "3/4"), (fk.Facts(k=1), "3/5")], name="second"),
        ]
    )
    with pytest.raises(fk.NoSafeRelease) as caught:
        simple({"age": [1, 2, 3, 4], "disease": list("ssst")}, policy)
    said = str(caught.value)
    assert "all 4 people" in said
    assert "first" not in said
    assert said.count("second: ") == 2
    assert "Facts(l=0, k=0, m=0) reaches 0.75 for 's', the limit is 0.75" in said
    assert "Facts(l=0, k=1, m=0) reaches 1 for 's', the limit is 0.6" in said


def test_only_values_that_are_asked_about_are_named_in_a_refusal():
    policy = fk.Policy([fk.Requirement(fk.Facts(l=1), "1/2", values=["t"])])
    with pytest.raises(fk.NoSafeRelease, match="'t'") as caught:
        simple({"age": [1, 2, 3], "disease": list("sst")}, policy)
    assert "'s'" not in str(caught.value)


def test_without_a_policy_there_is_nothing_to_withstand():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    microdata = fk.Microdata(pa.table({"age": [1], "disease": ["s"]}), schema)
    with pytest.raises(fk.InputError, match="needs a policy"):
        fk.Mondrian().partition(microdata)


def test_a_policy_that_merging_may_hurt_is_searched_and_the_table_says_if_it_may():
    # An adversary who knows that b and c come only with s: 9/17 in one group, 1/2 in two.
    several = {"semantics": "set", "person": "pid"}
    columns = {"pid": list("ABCC"), "age": [1, 1, 2, 2], "disease": ["s", None, "b", "c"]}
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", **several)
    microdata = fk.Microdata(pa.table(columns), schema)
    policy = fk.Policy([fk.Requirement(fk.Facts(l=2), "0.52", values=["s"])])
    assert fk.Mondrian().partition(microdata, policy).tolist() == [0, 0, 1, 1]
    # One value each, whatever the policy was made for: nothing is searched where all is unsafe.
    declared = fk.Policy(policy.requirements, schema)
    with pytest.raises(fk.NoSafeRelease, match=r"'s', the limit is 0\.52$"):
        simple({"age": [1, 2], "disease": ["s", "t"]}, declared)


def test_a_value_that_nobody_has_is_refused_by_name():
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9", values=["Fluu"], name="require[0]")])
    with pytest.raises(fk.InputError, match=r"require\[0\].*'Fluu'; did you mean 'Flu'"):
        simple({"age": [1, 2], "disease": ["Flu", "Cold"]}, policy)


@pytest.mark.parametrize("cuts", [0, -1, 1.5, True, "2", None])
def test_the_number_of_cuts_is_a_whole_number_from_one(cuts):
    with pytest.raises(fk.InputError, match="cuts must be a whole number from 1"):
        fk.Mondrian(cuts)
