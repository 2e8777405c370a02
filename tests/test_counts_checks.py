"""GroupCounts refuses what cannot be counts of people, and cannot be changed afterwards."""

import dataclasses
import pickle

import numpy as np
import pytest

from foreknow.data.counts import GroupCounts
from foreknow.errors import DataError

GOOD = {
    "sizes": [3, 2],
    "offsets": [0, 2, 4],
    "codes": [0, 1, 1, 2],
    "counts": [2, 1, 1, 1],
    "values": "abc",
}


COUNTS = GroupCounts(**GOOD)


def refused(message, **changes):
    with pytest.raises(DataError, match=message):
        GroupCounts(**GOOD | changes)


def pairs(groups, codes, **more):
    """Two groups, values a and b."""
    return GroupCounts.from_pairs(
        np.array(groups), np.array(codes), **{"values": "ab", "n_groups": 2} | more
    )


# ---- arrays -----------------------------------------------------------------------------------


def test_the_good_arrays_are_accepted():
    assert GroupCounts(**GOOD) == GroupCounts.from_bags(["aab", "bc"])


@pytest.mark.parametrize("name", ["sizes", "offsets", "codes", "counts"])
def test_arrays_must_be_flat_and_whole(name):
    refused(rf"{name} must be a flat array, not of shape \(1, 2\)", **{name: [[1, 2]]})
    refused(rf"{name} must be a flat array, not of shape \(\)", **{name: 3})
    refused(f"{name} must hold whole numbers, not float64", **{name: [1.0, 2.0]})
    refused(f"{name} must hold whole numbers, not <U1", **{name: ["1", "2"]})
    refused(f"{name} must hold whole numbers, not bool", **{name: [True, False]})
    too_large = np.array([2**63], dtype=np.uint64)
    refused(rf"{name} holds a number above 2\*\*63 - 1", **{name: too_large})


def test_any_integer_type_will_do():
    narrow = {name: np.array(GOOD[name], dtype=np.uint8) for name in GOOD if name != "values"}
    counts = GroupCounts(**narrow, values="abc")
    assert counts == GroupCounts(**GOOD)
    assert counts.counts.dtype == np.int64


def test_semantics_must_be_known():
    refused("semantics 'sets' is unknown; did you mean 'set'", semantics="sets")
    refused("semantics None is unknown", semantics=None)


def test_value_labels_must_differ():
    refused("the value label 'a' is given twice", values="aba")


@pytest.mark.parametrize("offsets", [[0, 4], [1, 2, 4], [0, 2, 3], [0, 2, 4, 4]])
def test_offsets_must_span_the_cells(offsets):
    refused("offsets must have 3 entries from 0 to 4 for 2 groups and 4 cells", offsets=offsets)


def test_offsets_are_needed_even_without_groups():
    refused("offsets must have 1 entries from 0 to 0", sizes=[], offsets=[], codes=[], counts=[])


def test_there_must_be_as_many_counts_as_codes():
    refused("4 codes but 3 counts", counts=[2, 1, 2])


def test_offsets_must_not_decrease():
    refused("offsets must not decrease", sizes=[3, 1, 1], offsets=[0, 3, 2, 4])


def test_there_must_be_a_label_for_each_group():
    refused("2 groups but 1 group labels", groups=["x"])


def test_every_group_must_have_people():
    refused("group 1 has 0 people, not 1+", sizes=[3, 0])
    refused("group 'y' has -1 people, not 1+", sizes=[3, -1], groups=["x", "y"])


def test_codes_must_be_codes_of_values():
    refused(r"value codes must lie in 0\.\.2", codes=[0, 1, 1, 3])
    refused(r"value codes must lie in 0\.\.2", codes=[-1, 1, 1, 2])


def test_counts_must_be_positive():
    refused("counts must be at least 1; leave a value out", counts=[3, 0, 1, 1])
    refused("counts must be at least 1; leave a value out", counts=[4, -1, 1, 1])


def test_codes_must_increase_within_each_group_but_not_across():
    message = "value codes must increase strictly within each group"
    refused(message, codes=[1, 0, 1, 2])
    refused(message, codes=[0, 1, 2, 2])
    refused(message, codes=[0, 1, 2, 1])
    falling = GroupCounts(**GOOD | {"codes": [1, 2, 0, 1]})
    assert falling.bag(1) == {"a": 1, "b": 1}


def test_groups_without_cells_are_stepped_over_when_codes_are_checked():
    shape = {"sizes": [1] * 5, "offsets": [0, 0, 2, 2, 4, 4], "semantics": "multiset"}
    assert GroupCounts(**GOOD | shape | {"codes": [1, 2, 0, 1]}).bag(3) == {"a": 1, "b": 1}
    refused("increase strictly", **shape, codes=[2, 1, 0, 1])
    refused("increase strictly", **shape, codes=[1, 2, 1, 0])


def test_more_people_or_values_than_floats_can_count_are_refused():
    half = 2**52 + 1
    two = {"offsets": [0, 1, 2], "codes": [0, 1]}
    refused("people in all: more than", **two, sizes=[half, half], counts=[half, half])
    refused(
        "occurrences in all: more than",
        **two,
        sizes=[1, 1],
        counts=[half, half],
        semantics="multiset",
    )
    refused("people in all: more than", **two, sizes=[2**62] * 2, counts=[2**62] * 2)


def test_under_single_everyone_has_exactly_one_value():
    refused("group 0 has 2 people but 3 values; under 'single' everyone has ex", sizes=[2, 2])
    refused("group 'y' has 9 people but 2 values", sizes=[3, 9], groups=["x", "y"])


def test_under_set_nobody_has_a_value_twice():
    message = "value 'a' occurs 2 times among the 1 people of group 0; under 'set' nobody"
    refused(message, sizes=[1, 1], semantics="set")
    assert GroupCounts(**GOOD | {"sizes": [2, 1], "semantics": "set"}).n_people == 3


def test_under_multiset_any_counts_will_do():
    assert GroupCounts(**GOOD | {"sizes": [1, 9], "semantics": "multiset"}).n_people == 10


def test_an_empty_bag_is_a_group_without_people():
    with pytest.raises(DataError, match="group 1 has 0 people"):
        GroupCounts.from_bags(["ab", ""])
    with pytest.raises(DataError, match="group 'y' has 0 people"):
        GroupCounts.from_people([[{"a"}], []], groups=["x", "y"])
    with pytest.raises(DataError, match="counts must be at least 1"):
        GroupCounts.from_bags([{"a": 1, "b": 0}])


def test_people_must_suit_their_semantics():
    with pytest.raises(DataError, match="person 1 of group 0 is the text 'Flu'; give a set or"):
        GroupCounts.from_people([[{"a"}, "Flu"]])
    with pytest.raises(DataError, match="person 0 of group 1 has 2 values; under 'single'"):
        GroupCounts.from_people([[["a"]], [["a", "b"]]], semantics="single")
    with pytest.raises(DataError, match="person 0 of group 0 has 0 values; under 'single'"):
        GroupCounts.from_people([[[]]], semantics="single")
    with pytest.raises(DataError, match="person 0 of group 0 has a value twice; use semantics='m"):
        GroupCounts.from_people([[["a", "a"]]], semantics="set")
    with pytest.raises(DataError, match="semantics 'multi' is unknown; did you mean 'multiset'"):
        GroupCounts.from_people([[["a"]]], semantics="multi")


@pytest.mark.parametrize(
    ("bag", "says"),
    [
        ({"a": 1.5, "b": 1}, "group 0: the count of 'a' is 1.5, not whole"),
        ({"a": 2**70}, r"must hold whole numbers below 2\*\*63"),
    ],
)
def test_a_bag_counts_whole_people(bag, says):
    with pytest.raises(DataError, match=says):
        GroupCounts.from_bags([bag])


# ---- pairs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "codes", "more", "says"),
    [
        ([0, 2], [0, 0], {"n_groups": 3}, "group 1 has 0 people"),
        ([0, 0, 1], [0, 2, 1], {}, r"value codes must lie in 0\.\.1"),
        ([0, 1], [-1, 0], {}, r"value codes must lie in 0\.\.1"),
        ([0, -1], [0, 1], {}, r"group codes must lie in 0\.\.1"),
        ([0, 1, 1], [0, 1], {}, r"must be of one length, not \[3, 2\]"),
        ([0, 1], [0, 1], {"weights": np.array([1.5, 2.5])}, "weights must hold whole numbers"),
    ],
)
def test_pairs_that_cannot_be_people_are_refused(groups, codes, more, says):
    with pytest.raises(DataError, match=says):
        pairs(groups, codes, **more)


@pytest.mark.parametrize("n_values", [2, 100_000])
def test_a_weight_of_zero_is_refused_in_small_and_large_tables(n_values):
    with pytest.raises(DataError, match="weights must be at least 1, not 0"):
        pairs([0, 0], [0, 1], values=range(n_values), n_groups=1, weights=np.array([1, 0]))


def test_many_groups_of_people_without_values_are_counted():
    many = np.ones(70_000, dtype=np.int64)
    nothing = np.zeros(0, dtype=np.int64)
    counts = pairs(nothing, nothing, n_groups=len(many), sizes=many, semantics="set")
    assert counts.n_people == 70_000


# ---- taking and merging -----------------------------------------------------------------------


@pytest.mark.parametrize("into", [[0], [0, 0, 0], [-1, 0]])
def test_merging_needs_one_new_group_for_each(into):
    with pytest.raises(DataError, match="into must name a new group, from 0, for each of 2"):
        COUNTS.merge(into)


def test_merging_into_fractions_is_refused():
    with pytest.raises(DataError, match="into must hold whole numbers, not float64"):
        COUNTS.merge([0.2, 0.9])


def test_no_groups_at_all_may_be_taken():
    assert COUNTS.take([]).n_groups == 0


def test_a_mask_of_the_wrong_length_is_refused():
    with pytest.raises(DataError, match="the mask is for 1 groups, there are 2"):
        COUNTS.take(np.array([True]))


# ---- read-only --------------------------------------------------------------------------------


def test_counts_cannot_be_changed():
    for counts in (COUNTS, pickle.loads(pickle.dumps(COUNTS))):  # or from another process
        for name in ("sizes", "offsets", "codes", "counts"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(counts, name)[0] = 7
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(counts, name, np.zeros(1))
        with pytest.raises(TypeError):
            counts.values[0] = "z"


def test_arrays_are_viewed_not_copied_and_stay_writable_for_their_owner():
    sizes = np.array([3, 2])
    counts = GroupCounts(**GOOD | {"sizes": sizes})
    assert np.shares_memory(counts.sizes, sizes)
    assert sizes.flags.writeable


def test_small_integers_of_numpy_do_not_overflow_in_sums():
    counts = GroupCounts.from_bags([{"Flu": np.int8(100), "AIDS": np.int8(100)}])
    assert counts.sizes.tolist() == [200]
