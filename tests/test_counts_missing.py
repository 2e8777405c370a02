"""A missing value is no value of its own: counts refuse it, however it is written."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import foreknow as fk
from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Labels, in_order, is_missing
from foreknow.errors import DataError, InputError

MISSING = [
    None,
    float("nan"),
    np.float32("nan"),
    Decimal("NaN"),
    Decimal("sNaN"),
    complex(0, float("nan")),
    pd.NA,
    pd.NaT,
    np.datetime64("NaT"),
]
each_missing = pytest.mark.parametrize("missing", MISSING, ids=lambda v: f"{type(v).__name__} {v}")
WAY_OUT = "label it, such as 'missing', or drop"


@each_missing
def test_bags_refuse_a_missing_value_and_say_where(missing):
    with pytest.raises(DataError, match=r"group 1: value 2 is missing .*" + WAY_OUT):
        GroupCounts.from_bags([["Flu"], ["Flu", "Flu", missing, missing]])
    with pytest.raises(DataError, match=r"group 'x': value 0 is missing"):
        GroupCounts.from_bags([[missing]], groups=["x"])


@each_missing
def test_people_refuse_a_missing_value_and_say_of_whom(missing):
    for semantics, person in (("single", [missing]), ("multiset", ["Flu", missing])):
        others = [["Flu"], ["Flu"]]
        with pytest.raises(DataError, match="person 1 of group 1 has a missing value"):
            GroupCounts.from_people([others, [["Flu"], person]], semantics=semantics)
    with pytest.raises(DataError, match="an empty set means that they have none"):
        GroupCounts.from_people([[["Flu"], ["Flu", missing]]], semantics="set")


@each_missing
def test_labels_of_counts_are_never_missing(missing):
    arrays = [2], [0, 2], [0, 1], [1, 1]
    for values in (["Flu", missing], ("Flu", missing)):
        with pytest.raises(DataError, match="the value label 1 is missing"):
            GroupCounts(*arrays, values)
        with pytest.raises(DataError, match="the value label 1 is missing"):
            GroupCounts.from_pairs(np.array([0, 0]), np.array([0, 1]), values=values, n_groups=1)


def test_a_mapping_of_missing_values_is_refused_too():
    with pytest.raises(DataError, match=r"group 0: a value is missing \(nan\)"):
        GroupCounts.from_bags([{"Flu": 1, float("nan"): 2}])


def test_sets_with_a_missing_value_are_missing_as_tuples_are():
    bag = [frozenset({float("nan")}), frozenset({float("nan")}), frozenset({"Flu"})]
    with pytest.raises(DataError, match="group 0: value 0 is missing"):
        GroupCounts.from_bags([bag])


def test_missing_values_of_pandas_do_not_hide_each_other():
    values = pd.Series([7, None, None, None])
    for bag in (values, values.tolist(), values.to_numpy()):
        with pytest.raises(DataError, match="group 0: value 1 is missing"):
            GroupCounts.from_bags([bag])
    # What was meant: one value by its label, which Facts(l=1) then finds out for certain.
    counts = GroupCounts.from_bags([values.astype(object).fillna("missing")])
    assert Facts(l=1).disclosure(counts).exact == 1
    frame = pd.DataFrame({"gid": 1, "v": values})
    release = fk.Release.from_groups(
        frame, group="gid", sensitive="v", missing={"label": "missing"}
    )
    assert Facts(l=1).disclosure(release).exact == 1


def test_a_missing_part_of_a_tuple_is_missing():
    with pytest.raises(DataError, match="group 0: value 0 is missing"):
        GroupCounts.from_bags([[(1, float("nan")), (1, float("nan"))]])


def test_labels_of_groups_may_be_missing_as_before():
    counts = GroupCounts.from_bags([["Flu"], ["AIDS"]], groups=[("20", None), ("30", "f")])
    assert counts.group_label(0) == ("20", None)
    assert Labels([None, "Ann"]) == (None, "Ann")


def test_values_that_are_equal_are_one_value_that_the_first_names():
    counts = GroupCounts.from_bags([[0.0, -0.0], [1, True, 1.0, np.int64(1), Decimal("1.00")]])
    assert counts.values == (0.0, 1)
    assert counts.counts.tolist() == [2, 5]
    assert GroupCounts.from_bags([[np.str_("a"), "a"]]).counts.tolist() == [2]
    assert GroupCounts.from_bags([["1", 1]]).n_values == 2
    days = GroupCounts.from_bags([[dt.datetime(2020, 1, 1), pd.Timestamp("2020-01-01")]])
    assert days.counts.tolist() == [2]


def test_values_that_cannot_be_labels_are_refused_in_words():
    message = r"group 1: value 1 is \['Flu'\], which cannot be a label; give texts or numbers"
    with pytest.raises(DataError, match=message):
        GroupCounts.from_bags([["Flu"], ["Flu", ["Flu"]]])
    with pytest.raises(DataError, match="person 0 of group 0 has the value"):
        GroupCounts.from_people([[[["Flu"]]]])
    with pytest.raises(DataError, match="the value label 0 is"):
        GroupCounts([2], [0, 2], [0, 1], [1, 1], [["Flu"], "AIDS"])


def test_a_count_is_no_truth_value():
    with pytest.raises(DataError, match="group 0: the count of 'Flu' is True, not whole"):
        GroupCounts.from_bags([{"Flu": True}])


@pytest.mark.parametrize("person", [None, float("nan"), 7])
def test_a_person_is_a_set_or_list(person):
    with pytest.raises(DataError, match=r"person 1 of group 0 is .*; give a set or list of values"):
        GroupCounts.from_people([[{"Flu"}, person]])


def test_a_person_is_no_mapping_whose_counts_would_be_forgotten():
    with pytest.raises(DataError, match=r"person 0 of group 0 is .*; give a set or list of values"):
        GroupCounts.from_people([[{"Flu": 2}]], semantics="multiset")


@each_missing
def test_a_jump_has_no_missing_values(missing):
    jump = fk.Jump(functions=["AB|CD"], distances=1, property=fk.MaxRatio("1/2"))
    with pytest.raises(InputError, match="'B' has no value that can be counted"):
        jump.run({"A": 1, "B": missing, "C": 1, "D": 2})


def test_numbers_of_all_kinds_are_in_order_of_size():
    given = [Decimal("10"), np.int64(9), 2, "b", Fraction(5, 2), np.float32(1.5), Decimal("0.5")]
    order = [Decimal("0.5"), np.float32(1.5), 2, Fraction(5, 2), np.int64(9), Decimal("10"), "b"]
    assert in_order(given) == order


@each_missing
def test_what_is_missing(missing):
    assert is_missing(missing)


@pytest.mark.parametrize("label", ["nan", "", 0, False, (), (1, "a"), b"", dt.date(2020, 1, 1)])
def test_what_is_not_missing(label):
    assert not is_missing(label)
