"""GroupCounts: ways to build it, and what it answers."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from foreknow.data.counts import GroupCounts
from foreknow_judge.errors import DataError

BAGS = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=9), max_size=6)


def lists(counts):
    """The four arrays as lists."""
    return tuple(getattr(counts, n).tolist() for n in ("sizes", "offsets", "codes", "counts"))


# ---- building --------------------------------------------------------------------------------


def test_bags_may_be_mappings_and_groups_may_have_names():
    counts = GroupCounts.from_bags([{"Flu": 2, "AIDS": 1}, ["Flu", "Cancer"]], groups=["x", "y"])
    assert counts == GroupCounts.from_bags([["Flu", "AIDS", "Flu"], ["Cancer", "Flu"]])
    assert [counts.group_label(g) for g in (0, 1)] == ["x", "y"]
    assert counts.take([0]).group_label(0) == "x"


@examples(100)
@given(BAGS)
def test_a_bag_comes_back_as_it_went_in(bags):
    counts = GroupCounts.from_bags(bags)
    assert [counts.bag(g) for g in range(counts.n_groups)] == [
        {x: bag.count(x) for x in bag} for bag in bags
    ]
    assert counts.n_groups == len(bags)
    assert counts.n_people == sum(map(len, bags))
    assert counts.n_values == len({x for bag in bags for x in bag})


def test_people_may_have_one_value_none_or_the_same_twice():
    people = GroupCounts.from_people([[["b"], ["a"]], [("a",)]], semantics="single")
    assert people == GroupCounts.from_bags(["ab", "a"])
    sets = GroupCounts.from_people([[{"Flu"}, {"Flu", "AIDS"}], [set()]], semantics="set")
    assert (sets.semantics, lists(sets)) == ("set", ([2, 1], [0, 2, 2], [0, 1], [1, 2]))
    assert [sets.bag(g) for g in (0, 1)] == [{"AIDS": 1, "Flu": 2}, {}]
    bags = GroupCounts.from_people([[["Flu", "Flu", "Flu"], []]], semantics="multiset")
    assert (bags.semantics, lists(bags)) == ("multiset", ([2], [0, 1], [0], [3]))


@pytest.mark.parametrize("n_values", [2, 100_000])
def test_heavy_weights_are_added_up_whole(n_values):
    counts = GroupCounts.from_pairs(
        np.array([0, 0, 0]),
        np.array([1, 1, 0]),
        values=range(n_values),
        n_groups=1,
        weights=np.array([2**51, 2**51 - 1, 300]),
    )
    assert counts.bag(0) == {0: 300, 1: 2**52 - 1}


@examples(100)
@given(BAGS)
def test_pairs_and_bags_agree(bags):
    by_bags = GroupCounts.from_bags(bags)
    groups = np.array([g for g, bag in enumerate(bags) for _ in bag], dtype=np.int64)
    codes = np.array([by_bags.code(x) for bag in bags for x in bag], dtype=np.int32)
    by_pairs = GroupCounts.from_pairs(groups, codes, values=by_bags.values, n_groups=len(bags))
    assert by_pairs == by_bags


# ---- looking ---------------------------------------------------------------------------------


def test_codes_find_values_and_say_when_there_is_none():
    counts = GroupCounts.from_bags([["Flu", "Cancer"]])
    assert [counts.code(x) for x in counts.values] == [0, 1]
    for value, says in (("Flue", r"'Flue'.*'Flu'"), (7, "7; known: "), (["Flu"], "")):
        with pytest.raises(DataError, match=f"no group contains the sensitive value {says}"):
            counts.code(value)


@examples(100)
@given(BAGS, st.integers(0, 12))
def test_top_sums_are_the_sums_of_the_largest_counts(bags, most):
    counts = GroupCounts.from_bags(bags)
    expected = [sum(sorted(counts.bag(g).values())[::-1][:most]) for g in range(len(bags))]
    assert counts.top_sums(most).tolist() == expected


@pytest.mark.parametrize("big", [2**20, 2**33, 2**51])
def test_top_sums_of_counts_that_need_wider_sort_keys(big):
    bags = [{"c": 1}] * 2**12 + [{"a": 1, "b": big, "c": 3}]
    counts = GroupCounts.from_bags(bags)
    assert counts.top_sums(1)[-2:].tolist() == [1, big]
    assert counts.top_sums(2)[-2:].tolist() == [1, big + 3]
    assert counts.top_sums(10**30)[-2:].tolist() == [1, big + 4]


@examples(60)
@given(st.data(), BAGS.filter(bool))
def test_merge_unites_bags(data, bags):
    counts = GroupCounts.from_bags(bags)
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=len(bags), max_size=len(bags)))
    rank = {x: i for i, x in enumerate(sorted(set(drawn)))}
    into = [rank[x] for x in drawn]
    united = [[] for _ in rank]
    for bag, at in zip(bags, into, strict=True):
        united[at] += bag
    assert counts.merge(into) == GroupCounts.from_bags(united)


def test_merge_adds_the_people_of_sets_and_refuses_gaps():
    counts = GroupCounts.from_people([[{"a"}, set()], [{"a", "b"}], [set()]], semantics="set")
    merged = counts.merge([0, 0, 1])
    assert lists(merged) == ([3, 1], [0, 2, 2], [0, 1], [2, 1])
    assert merged.semantics == "set"
    with pytest.raises(DataError, match="group 1 has 0 people"):
        GroupCounts.from_bags(["ab", "c"]).merge([0, 2])


def test_counts_are_equal_when_all_their_numbers_and_labels_are():
    counts = GroupCounts.from_bags(["aab", "bc"])
    assert counts == GroupCounts.from_bags(["aba", "cb"])
    assert counts != GroupCounts.from_bags(["bc", "aab"])
    assert counts != GroupCounts.from_bags(["aab", "bd"])
    assert counts != GroupCounts.from_people([[["a"], ["a"], ["b"]], [["b"], ["c"]]])
    assert counts != "aab"
    with pytest.raises(TypeError, match="unhashable"):
        hash(counts)


def test_counts_show_themselves_and_are_ready_for_json():
    counts = GroupCounts.from_bags(["aab", "bc"], groups=["x", "y"])
    assert repr(counts) == "GroupCounts(2 groups, 5 people, 3 values, single)"
    assert counts._repr_html_() == f"<code>{counts!r}</code>"
    arrays = dict(zip(("sizes", "offsets", "codes", "counts"), lists(counts), strict=True))
    plain = counts.to_dict()
    labels = {"semantics": "single", "values": ["a", "b", "c"], "groups": ["x", "y"]}
    assert json.loads(json.dumps(plain)) == {**labels, **arrays}
    assert GroupCounts(**plain) == counts
    assert GroupCounts.from_bags(["a"]).to_dict()["groups"] is None


def test_sums_of_nobody_and_of_very_many():
    counts = GroupCounts.from_bags([])
    assert (counts.n_groups, counts.n_people, counts.n_values) == (0, 0, 0)
    assert counts.totals.tolist() == counts.top_sums(3).tolist() == []
    counts = GroupCounts.from_bags([{"a": 2**52 - 1}, {"a": 2**52 - 2}])
    assert counts.totals.tolist() == [counts.n_people] == [2**53 - 3]
