"""Implications as a small frozen value: its amount, what it takes and refuses, large amounts."""

import dataclasses
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.checks_implications import check_witness
from tests.examples import examples
from tests.oracle.minimize import minimize2
from tests.oracle.worlds import worlds

from foreknow.adversaries.implications.implications import Implications
from foreknow.data.counts import GroupCounts
from foreknow.errors import InputError, UnsupportedError

COUNTS = GroupCounts.from_bags(["aab", "bc"])


# ---- the amount ------------------------------------------------------------------------------


def test_negative_amounts_are_refused():
    with pytest.raises(InputError, match="Implications: k must be 0 or more, not -1"):
        Implications(-1)


@pytest.mark.parametrize("wrong", [1.0, 0.5, "1", None, True, False, [1]])
def test_amounts_that_are_no_whole_numbers_are_refused(wrong):
    with pytest.raises(InputError, match="Implications: k must be a whole number"):
        Implications(wrong)


def test_implications_are_frozen_equal_by_amount_and_hashable():
    assert Implications() == Implications(0)
    assert Implications(np.int64(2)) == Implications(2)
    assert type(Implications(np.uint8(2)).k) is int
    assert len({Implications(1), Implications(k=1), Implications(2)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Implications().k = 1
    assert Implications(3).to_dict() == {"implications": {"k": 3}}


def test_who_knows_nothing_guesses_the_most_frequent_value():
    counts = GroupCounts.from_bags(["aaabb", "bbcd", "ccd"])
    found = Implications(0).disclosure(counts)
    assert (found.value, found.exact) == ("c", Fraction(2, 3))
    assert found.witness.implications == ()
    shares = {value: d.exact for value, d in Implications(0).disclosures(counts).items()}
    assert shares == {
        "a": Fraction(3, 5),
        "b": Fraction(1, 2),
        "c": Fraction(2, 3),
        "d": Fraction(1, 3),
    }


@pytest.mark.parametrize("k", [6, 7, 40, 10**6, 10**30])
def test_enough_implications_disclose_everything(k):
    bags = ["aabbcdefg", "abcdefggg"]
    counts = GroupCounts.from_bags(bags)
    for value, found in Implications(k).disclosures(counts).items():
        assert (found.value, found.exact, found.probability) == (value, 1, 1.0)
        assert not found.below(1)
        assert found.below("1.000001")
        check_witness(bags, found, k)
    assert Implications(k).disclosure(counts).exact == 1
    assert not Implications(k).ledger(1).admits(None, counts)


# ---- what it judges --------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_people_with_several_values_are_refused(semantics):
    counts = GroupCounts.from_people([[{"a"}, {"b", "c"}]], semantics=semantics)
    for judge in (
        lambda: Implications(1).disclosure(counts),
        lambda: Implications(1).disclosure(counts, "a"),
        lambda: Implications(1).disclosures(counts),
        lambda: Implications(1).ledger("1/2", semantics=semantics),
        lambda: Implications(1).ledger("1/2").admits(None, counts),
    ):
        with pytest.raises(UnsupportedError, match=semantics):
            judge()
    assert Implications(1).monotone() is True
    assert Implications(1).monotone(semantics) is False


def test_a_value_that_occurs_nowhere_is_never_disclosed():
    without_c = COUNTS.take([0])
    for counts, value in [(COUNTS, "z"), (without_c, "c")]:
        for k in (0, 1, 10**9):
            found = Implications(k).disclosure(counts, value)
            assert (found.value, found.exact, found.probability) == (value, Fraction(0), 0.0)
            assert found.witness is None
            assert found.below("1/1000000000000")
            assert not found.below(0)
    assert Implications(9).disclosures(without_c)["c"].exact == 0
    assert Implications(9).disclosures(without_c)["c"].witness is None


def test_a_release_without_anybody_discloses_nothing():
    nobody = GroupCounts.from_bags([])
    found = Implications(2).disclosure(nobody)
    assert (found.value, found.exact, found.probability, found.witness) == (None, 0, 0.0, None)
    assert Implications(2).disclosures(nobody) == {}


def test_anything_with_counts_is_judged():
    release = SimpleNamespace(counts=COUNTS)
    assert Implications(1).disclosure(release, "a").exact == 1
    assert Implications(1).disclosures(release).keys() == {"a", "b", "c"}


@pytest.mark.parametrize("wrong", [None, ["aab"], {"a": 1}, SimpleNamespace(counts="aab")])
def test_what_cannot_be_counted_is_refused(wrong):
    for judge in (Implications(1).disclosure, Implications(1).disclosures):
        with pytest.raises(InputError, match="expected a Release or a GroupCounts, not"):
            judge(wrong)


def test_what_cannot_be_a_value_is_refused():
    with pytest.raises(InputError, match=r"\['a'\] cannot be a sensitive value; give one label"):
        Implications(1).disclosure(COUNTS, ["a"])


def test_a_witness_says_what_is_known():
    bags = [["Flu"] * 3 + ["Cold", "Mumps", "Gout"], ["Cold"] * 2 + ["Mumps"] * 2 + ["Gout", "Flu"]]
    counts = GroupCounts.from_bags(bags, groups=["young", "old"])
    found = Implications(1).disclosure(counts)
    assert found.witness.sentences() == [
        "if person 1 of group 'young' has 'Flu', then the target has 'Flu'"
    ]
    assert found.witness.to_dict() == {
        "target_group": "young",
        "implications": [{"group": "young", "person": 1, "value": "Flu"}],
    }
    alone = GroupCounts.from_bags(bags[1:], groups=["old"])
    assert Implications(1).disclosure(alone, "Mumps").witness.sentences() == [
        "the target, of group 'old', does not have 'Cold'"
    ]


def test_who_is_certain_through_several_people_needs_them_all():
    # That neither of two others has a leaves it to the target; the first of them is not enough.
    found = Implications(2).disclosure(GroupCounts.from_bags(["abc"]), "a")
    assert found.exact == 1
    check_witness(["abc"], found, 2, worlds(["abc"]))


def test_the_witness_is_about_the_value_that_is_named_also_where_two_are_certain():
    found = Implications(1).disclosure(GroupCounts.from_bags(["aab", "c"]))
    assert found.exact == 1
    assert found.witness.value == found.value
    check_witness(["aab", "c"], found, 1, worlds(["aab", "c"]))


# ---- larger groups, against the paper's dynamic program ---------------------------------------


@examples(60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 3000), min_size=2),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 9),
)
def test_groups_of_thousands_are_judged_as_by_the_papers_program(bags, k):
    found = Implications(k).disclosure(GroupCounts.from_bags(bags))
    truth = minimize2([list(bag.values()) for bag in bags], k, Fraction(1))[k]
    assert found.exact == truth
    assert abs(found.probability - truth) <= 1e-12


@pytest.mark.parametrize("k", [0, 1, 2])
def test_near_ties_between_values_are_ranked_by_fractions(k):
    # As floats a and b are nearly as hard to infer, b a little less.
    half = 10**11
    bags = [dict.fromkeys("acdef", half), {"b": half + 1} | dict.fromkeys("cdef", half)]
    for order in (bags, bags[::-1]):
        counts = GroupCounts.from_bags(order)
        a, b = (Implications(k).disclosure(counts, value) for value in "ab")
        assert a.exact < b.exact < a.exact + Fraction(1, 10**10)
        worst = Implications(k).disclosure(counts)
        assert (worst.value, worst.witness.value, worst.exact) == ("b", "b", b.exact)
        assert a.below(b.exact)
        assert not b.below(b.exact)


def test_groups_that_look_alike_differ_in_who_has_the_value():
    counts = [{"a": 10**11, "b": 10**11 + 1, "c": 5}, {"a": 10**11 + 1, "b": 10**11, "c": 5}]
    for bags in (counts, counts[::-1]):
        found = Implications(0).disclosure(GroupCounts.from_bags(bags), "a")
        assert found.exact == Fraction(10**11 + 1, 2 * 10**11 + 6)
        assert bags[found.witness.target_position]["a"] == 10**11 + 1


def test_many_groups_are_judged_alike_whichever_are_worked_on_together():
    # More groups than are worked on at once, with the worst ones last.
    usual, odd = dict.fromkeys("abcdef", 5), {"a": 9, "b": 8, "g": 1, "c": 3, "d": 3}
    counts = GroupCounts.from_bags([usual] * 9000 + [odd])
    few = GroupCounts.from_bags([usual, usual, usual, odd])
    for k in (0, 1, 3):
        assert Implications(k).disclosure(counts).exact == Implications(k).disclosure(few).exact
        one, other = Implications(k).disclosures(counts), Implications(k).disclosures(few)
        assert {v: d.exact for v, d in one.items()} == {v: d.exact for v, d in other.items()}
        assert one["g"].witness.target_position == 9000


@pytest.mark.parametrize("extra", [0, 1])
def test_chances_below_the_least_float_are_above_0(extra):
    # 23 to 25 people who are all among the 26 of ten to the fifteenth.
    rare = {chr(ord("b") + i): 1 for i in range(25)}
    bags = [{"a": 10**15, **rare, "z": 1}, {"a": 10**15 + 10**9 * extra, **rare}]
    counts = GroupCounts.from_bags(bags)
    truth = minimize2([list(bag.values()) for bag in bags], 24, Fraction(1))
    for k in (22, 23, 24):
        found = Implications(k).disclosure(counts)
        assert found.exact == truth[k]
        assert found.exact < 1
        assert found.probability == 1.0
        assert found.below(1)
        assert Implications(k).ledger(1).admits(None, counts)
    assert not Implications(25).disclosure(counts).below(1)
