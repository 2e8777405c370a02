"""Mistakes that GroupCounts answers with a clear error, or gets right all the same."""

import pickle

import numpy as np
import pytest

from foreknow.adversaries.facts import Facts
from foreknow.counts import GroupCounts
from foreknow.errors import DataError, InputError

COUNTS = GroupCounts.from_bags(["aab", "bc"])


def pairs(groups, values, **more):
    """Two groups, values a and b."""
    return GroupCounts.from_pairs(
        np.array(groups), np.array(values), **{"values": "ab", "n_groups": 2} | more
    )


def test_many_groups_of_people_without_values_are_counted():
    nothing = np.zeros(0, dtype=np.int64)
    counts = GroupCounts.from_pairs(
        nothing,
        nothing,
        values="ab",
        n_groups=70_000,
        sizes=np.ones(70_000, dtype=np.int64),
        semantics="set",
    )
    assert counts.n_people == 70_000


def test_a_value_code_beyond_the_values_is_refused():
    with pytest.raises(DataError):
        pairs([0, 0, 1], [0, 2, 1])


@pytest.mark.parametrize(("groups", "values"), [([0, -1], [0, 1]), ([0, 1], [-1, 0])])
def test_negative_codes_are_refused(groups, values):
    # Not by accident: DataError is a ValueError, so NumPy's own does not count.
    with pytest.raises(DataError):
        pairs(groups, values)


def test_pairs_of_different_lengths_are_refused():
    with pytest.raises(DataError):
        pairs([0, 1, 1], [0, 1])


def test_a_weight_of_zero_means_the_same_in_small_and_large_tables():
    weights = np.array([1, 0])
    rows, columns = np.array([0, 0]), np.array([0, 1])
    outcomes = []
    for n_values in (2, 100_000):
        try:
            counts = GroupCounts.from_pairs(
                rows, columns, values=range(n_values), n_groups=1, weights=weights
            )
            outcomes.append(counts.counts.tolist())
        except DataError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "build",
    [
        lambda: pairs([0, 1], [0, 1], weights=np.array([1.5, 2.5])),
        lambda: GroupCounts.from_bags([{"a": 1.5, "b": 1}]),
        lambda: COUNTS.merge([0.2, 0.9]),
    ],
    ids=["weights", "bags", "merge"],
)
def test_fractions_where_whole_numbers_are_meant_are_refused(build):
    with pytest.raises(DataError):
        build()


def test_counts_beyond_64_bits_are_refused():
    with pytest.raises(DataError):
        GroupCounts.from_bags([{"a": 2**70}])


@pytest.mark.parametrize("into", [[0], [0, 0, 0], [-1, 0]])
def test_merging_with_one_number_too_few_or_many_is_refused(into):
    with pytest.raises(DataError):
        COUNTS.merge(into)


def test_no_groups_at_all_may_be_taken():
    assert COUNTS.take([]).n_groups == 0


def test_a_mask_of_the_wrong_length_is_refused():
    with pytest.raises((DataError, IndexError)):
        COUNTS.take(np.array([True]))


def test_counts_stay_read_only_when_they_come_back_from_another_process():
    assert not pickle.loads(pickle.dumps(COUNTS)).counts.flags.writeable


@pytest.mark.parametrize("threshold", ["1e400", 10**400])
def test_a_threshold_too_large_for_a_float_is_still_compared(threshold):
    assert Facts().disclosure(COUNTS).below(threshold) is True


def test_an_unhashable_value_is_refused_or_found_nowhere():
    with pytest.raises(InputError):
        Facts().disclosure(COUNTS, ["a"])
