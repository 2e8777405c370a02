"""GroupCounts refuses what cannot be counts of people, and cannot be changed afterwards."""

import dataclasses
import datetime as dt
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import foreknow as fk
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Labels, in_order, is_missing
from foreknow_judge.errors import DataError, InputError

ARRAYS = {"sizes": [3, 2], "offsets": [0, 2, 4], "codes": [0, 1, 1, 2], "counts": [2, 1, 1, 1]}
GOOD = {**ARRAYS, "values": "abc"}
COUNTS = GroupCounts(**GOOD)
HALF = 2**52 + 1
TWO = {"offsets": [0, 1, 2], "codes": [0, 1]}
FIVE = {"sizes": [1] * 5, "offsets": [0, 0, 2, 2, 4, 4], "semantics": "multiset"}
NOTHING = {"sizes": [], "offsets": [], "codes": [], "counts": []}
INCREASE = "value codes must increase strictly within each group"
SPAN = "offsets must have 3 entries from 0 to 4 for 2 groups and 4 cells"


def refused(message, make, *args, **more):
    with pytest.raises(DataError, match=message):
        make(*args, **more)


# ---- arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_must_be_flat_and_whole(name):
    for array, says in (
        ([[1, 2]], r"must be a flat array, not of shape \(1, 2\)"),
        (3, r"must be a flat array, not of shape \(\)"),
        ([1.0, 2.0], "must hold whole numbers, not float64"),
        (["1", "2"], "must hold whole numbers, not <U1"),
        ([True, False], "must hold whole numbers, not bool"),
        (np.array([2**63], dtype=np.uint64), r"holds a number above 2\*\*63 - 1"),
    ):
        refused(f"{name} {says}", GroupCounts, **GOOD | {name: array})


def test_any_integer_type_will_do_and_sums_do_not_overflow():
    assert GroupCounts.from_bags(["aab", "bc"]) == COUNTS
    narrow = {name: np.array(array, dtype=np.uint8) for name, array in ARRAYS.items()}
    counts = GroupCounts(**narrow, values="abc")
    assert counts == COUNTS
    assert counts.counts.dtype == np.int64
    small = GroupCounts.from_bags([{"Flu": np.int8(100), "AIDS": np.int8(100)}])
    assert small.sizes.tolist() == [200]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"semantics": "sets"}, "semantics 'sets' is unknown; did you mean 'set'"),
        ({"semantics": None}, "semantics None is unknown"),
        ({"values": "aba"}, "the value label 'a' is given twice"),
        ({"offsets": [0, 4]}, SPAN),
        ({"offsets": [1, 2, 4]}, SPAN),
        ({"offsets": [0, 2, 3]}, SPAN),
        ({"offsets": [0, 2, 4, 4]}, SPAN),
        (NOTHING, "offsets must have 1 entries from 0 to 0"),
        ({"counts": [2, 1, 2]}, "4 codes but 3 counts"),
        ({"sizes": [3, 1, 1], "offsets": [0, 3, 2, 4]}, "offsets must not decrease"),
        ({"groups": ["x"]}, "2 groups but 1 group labels"),
        ({"sizes": [3, 0]}, r"group 1 has 0 people, not 1\+"),
        ({"sizes": [3, -1], "groups": ["x", "y"]}, r"group 'y' has -1 people, not 1\+"),
        ({"codes": [0, 1, 1, 3]}, r"value codes must lie in 0\.\.2"),
        ({"codes": [-1, 1, 1, 2]}, r"value codes must lie in 0\.\.2"),
        ({"counts": [3, 0, 1, 1]}, "counts must be at least 1; leave a value out"),
        ({"counts": [4, -1, 1, 1]}, "counts must be at least 1; leave a value out"),
        ({"codes": [1, 0, 1, 2]}, INCREASE),
        ({"codes": [0, 1, 2, 2]}, INCREASE),
        ({"codes": [0, 1, 2, 1]}, INCREASE),
        (FIVE | {"codes": [2, 1, 0, 1]}, INCREASE),
        (FIVE | {"codes": [1, 2, 1, 0]}, INCREASE),
        (TWO | {"sizes": [HALF] * 2, "counts": [HALF] * 2}, "people in all: more than"),
        (TWO | {"sizes": [2**62] * 2, "counts": [2**62] * 2}, "people in all: more than"),
        (
            TWO | {"sizes": [1, 1], "counts": [HALF] * 2, "semantics": "multiset"},
            "occurrences in all: more than",
        ),
        ({"sizes": [2, 2]}, "group 0 has 2 people but 3 values; under 'single' everyone has ex"),
        ({"sizes": [3, 9], "groups": ["x", "y"]}, "group 'y' has 9 people but 2 values"),
        (
            {"sizes": [1, 1], "semantics": "set"},
            "value 'a' occurs 2 times among one person of group 0; under 'set' nobody",
        ),
    ],
    ids=str,
)
def test_arrays_that_are_no_counts_of_people_are_refused(changes, says):
    refused(says, GroupCounts, **GOOD | changes)


def test_codes_may_fall_across_groups_and_sizes_follow_the_semantics():
    assert GroupCounts(**GOOD | {"codes": [1, 2, 0, 1]}).bag(1) == {"a": 1, "b": 1}
    assert GroupCounts(**GOOD | FIVE | {"codes": [1, 2, 0, 1]}).bag(3) == {"a": 1, "b": 1}
    assert GroupCounts(**GOOD | {"sizes": [2, 1], "semantics": "set"}).n_people == 3
    assert GroupCounts(**GOOD | {"sizes": [1, 9], "semantics": "multiset"}).n_people == 10


# ---- bags, people and pairs -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bags", "says"),
    [
        (["ab", ""], "group 1 has 0 people"),
        ([{"a": 1, "b": 0}], "counts must be at least 1"),
        ([{"a": 1.5, "b": 1}], "group 0: the count of 'a' is 1.5, not whole"),
        ([{"Flu": True}], "group 0: the count of 'Flu' is True, not whole"),
        ([{"a": 2**70}], r"must hold whole numbers below 2\*\*63"),
        (
            [["Flu"], ["Flu", ["Flu"]]],
            r"group 1: value 1 is \['Flu'\], which cannot be a label; give texts or numbers",
        ),
        ([{"Flu": 1, float("nan"): 2}], r"group 0: a value is missing \(nan\)"),
        ([[frozenset({float("nan")}), frozenset({"Flu"})]], "group 0: value 0 is missing"),
        ([[(1, float("nan")), (1, float("nan"))]], "group 0: value 0 is missing"),
    ],
    ids=str,
)
def test_bags_that_count_nobody_are_refused(bags, says):
    refused(says, GroupCounts.from_bags, bags)


@pytest.mark.parametrize(
    ("people", "semantics", "says"),
    [
        ([[{"a"}], []], "set", "group 1 has 0 people"),
        ([[{"a"}, "Flu"]], "set", "person 1 of group 0 is the text 'Flu'; give a set or"),
        ([[{"Flu"}, None]], "set", r"person 1 of group 0 is .*; give a set or list of values"),
        ([[{"Flu"}, float("nan")]], "set", r"person 1 of group 0 is .*; give a set or list"),
        ([[{"Flu"}, 7]], "set", r"person 1 of group 0 is .*; give a set or list of values"),
        ([[{"Flu": 2}]], "multiset", r"person 0 of group 0 is .*; give a set or list of values"),
        ([[["a"]], [["a", "b"]]], "single", "person 0 of group 1 has 2 values; under 'single'"),
        ([[[]]], "single", "person 0 of group 0 has 0 values; under 'single'"),
        ([[["a", "a"]]], "set", "person 0 of group 0 has a value twice; use semantics='m"),
        ([[["a"]]], "multi", "semantics 'multi' is unknown; did you mean 'multiset'"),
        ([[[["Flu"]]]], "set", "person 0 of group 0: value 0 is .*which cannot be a label"),
    ],
    ids=str,
)
def test_people_must_suit_their_semantics(people, semantics, says):
    refused(says, GroupCounts.from_people, people, semantics=semantics)


@pytest.mark.parametrize(
    ("groups", "codes", "more", "says"),
    [
        ([0, 2], [0, 0], {"n_groups": 3}, "group 1 has 0 people"),
        ([0, 0, 1], [0, 2, 1], {}, r"value codes must lie in 0\.\.1"),
        ([0, 1], [-1, 0], {}, r"value codes must lie in 0\.\.1"),
        ([0, -1], [0, 1], {}, r"group codes must lie in 0\.\.1"),
        ([0, 1, 1], [0, 1], {}, r"must be of one length, not \[3, 2\]"),
        ([0, 1], [0, 1], {"weights": np.array([1.5, 2.5])}, "weights must hold whole numbers"),
        ([0, 1], [0, 1], {"weights": np.array([1, 0])}, "weights must be at least 1, not 0"),
        (
            [0, 1],
            [0, 1],
            {"weights": np.array([1, 0]), "values": range(100_000)},
            "weights must be at least 1, not 0",
        ),
    ],
)
def test_pairs_that_cannot_be_people_are_refused(groups, codes, more, says):
    given = {"values": "ab", "n_groups": 2} | more
    refused(says, GroupCounts.from_pairs, np.array(groups), np.array(codes), **given)


def test_many_groups_of_people_without_values_are_counted():
    many, nothing = np.ones(70_000, dtype=np.int64), np.zeros(0, dtype=np.int64)
    more = {"values": "ab", "n_groups": len(many), "sizes": many, "semantics": "set"}
    assert GroupCounts.from_pairs(nothing, nothing, **more).n_people == 70_000


def test_merging_and_taking_need_one_number_for_each_group():
    for into in ([0], [0, 0, 0], [-1, 0]):
        refused("into must name a new group, from 0, for each of 2", COUNTS.merge, into)
    refused("into must hold whole numbers, not float64", COUNTS.merge, [0.2, 0.9])
    refused("the mask is for 1 groups, there are 2", COUNTS.take, np.array([True]))
    assert COUNTS.take([]).n_groups == 0


# ---- missing values ---------------------------------------------------------------------------

MISSING = [
    *(None, float("nan"), np.float32("nan"), Decimal("NaN"), Decimal("sNaN")),
    *(complex(0, float("nan")), pd.NA, pd.NaT, np.datetime64("NaT")),
]


@pytest.mark.parametrize("missing", MISSING, ids=lambda v: f"{type(v).__name__} {v}")
def test_a_missing_value_is_no_value_however_it_is_written(missing):
    assert is_missing(missing)
    bags, people = GroupCounts.from_bags, GroupCounts.from_people
    says = r"group 1: value 2 is missing .*label it, such as 'missing', or drop"
    refused(says, bags, [["Flu"], ["Flu", "Flu", missing, missing]])
    refused("group 'x': value 0 is missing", bags, [[missing]], groups=["x"])
    for semantics, person in (("single", [missing]), ("multiset", ["Flu", missing])):
        given = [[["Flu"], ["Flu"]], [["Flu"], person]]
        says = "person 1 of group 1: value . is missing .*label it, such as 'missing', or drop"
        refused(says, people, given, semantics=semantics)
    refused("person 1 of group 0", people, [[["Flu"], ["Flu", missing]]], semantics="set")
    pairs = np.array([0, 0]), np.array([0, 1])
    for values in (["Flu", missing], ("Flu", missing)):
        says = "the value label 1 is missing"
        refused(says, GroupCounts, [2], [0, 2], [0, 1], [1, 1], values)
        refused(says, GroupCounts.from_pairs, *pairs, values=values, n_groups=1)
    jump = fk.Jump(functions=["AB|CD"], distances=1, property=fk.MaxRatio("1/2"))
    with pytest.raises(InputError, match="'B' has no value that can be counted"):
        jump.run({"A": 1, "B": missing, "C": 1, "D": 2})


@pytest.mark.parametrize("label", ["nan", "", 0, False, (), (1, "a"), b"", dt.date(2020, 1, 1)])
def test_what_is_not_missing(label):
    assert not is_missing(label)


def test_missing_values_of_pandas_do_not_hide_each_other():
    values = pd.Series([7, None, None, None])
    for bag in (values, values.tolist(), values.to_numpy()):
        refused("group 0: value 1 is missing", GroupCounts.from_bags, [bag])
    # What was meant: one value by its label, which Facts(l=1) then finds out for certain.
    counts = GroupCounts.from_bags([values.astype(object).fillna("missing")])
    frame = pd.DataFrame({"gid": 1, "v": values})
    release = fk.Release.from_groups(frame, group="gid", sensitive="v", missing={"label": "none"})
    for found in (counts, release):
        assert fk.Facts(l=1).disclosure(found).exact == 1


# ---- labels -----------------------------------------------------------------------------------


def test_labels_of_groups_may_be_missing_and_those_of_values_are_labels():
    counts = GroupCounts.from_bags([["Flu"], ["AIDS"]], groups=[("20", None), ("30", "f")])
    assert counts.group_label(0) == ("20", None)
    assert Labels([None, "Ann"]) == (None, "Ann")
    arrays = [2], [0, 2], [0, 1], [1, 1]
    refused("the value label 0 is", GroupCounts, *arrays, [["Flu"], "AIDS"])


def test_values_that_are_equal_are_one_value_that_the_first_names():
    counts = GroupCounts.from_bags([[0.0, -0.0], [1, True, 1.0, np.int64(1), Decimal("1.00")]])
    assert counts.values == (0.0, 1)
    assert counts.counts.tolist() == [2, 5]
    assert GroupCounts.from_bags([[np.str_("a"), "a"]]).counts.tolist() == [2]
    assert GroupCounts.from_bags([["1", 1]]).n_values == 2
    days = GroupCounts.from_bags([[dt.datetime(2020, 1, 1), pd.Timestamp("2020-01-01")]])
    assert days.counts.tolist() == [2]


def test_labels_of_any_types_are_ordered_numbers_first_by_size():
    assert in_order(["b", 10, None, "a", 9.5, (1,)]) == [9.5, 10, "a", "b", None, (1,)]
    given = [Decimal("10"), np.int64(9), 2, "b", Fraction(5, 2), np.float32(1.5), Decimal("0.5")]
    order = [Decimal("0.5"), np.float32(1.5), 2, Fraction(5, 2), np.int64(9), Decimal("10"), "b"]
    assert in_order(given) == order
    refused("the value label 'a' is given twice", Labels, "aba")
    assert Labels("ab").codes == {"a": 0, "b": 1}


# ---- read-only --------------------------------------------------------------------------------


def test_counts_cannot_be_changed_and_do_not_copy():
    for counts in (COUNTS, pickle.loads(pickle.dumps(COUNTS))):  # or from another process
        for name in ARRAYS:
            with pytest.raises(ValueError, match="read-only"):
                getattr(counts, name)[0] = 7
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(counts, name, np.zeros(1))
        with pytest.raises(TypeError):
            counts.values[0] = "z"
    sizes = np.array([3, 2])
    assert np.shares_memory(GroupCounts(**GOOD | {"sizes": sizes}).sizes, sizes)
    assert sizes.flags.writeable
