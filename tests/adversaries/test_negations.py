"""Negations against enumeration, and against the diversity that they are (appendix E)."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.checks_implications import check_negations
from tests.examples import examples
from tests.oracle.implication_worlds import Truth
from tests.oracle.worlds import small_releases

from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.data.counts import GroupCounts
from foreknow.errors import InputError, UnsupportedError

BAGS = st.lists(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 12), min_size=1),
    min_size=1,
    max_size=4,
)


# ---- theorem 19 ------------------------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 3, 4, 5])
def test_negations_about_anybody_tell_no_more_than_those_about_the_target(people):
    compared = sum(check_negations(bags, 4) for bags in small_releases(people, 3, 3))
    assert compared >= 15 * people - 10


@pytest.mark.parametrize("bag", ["aabbccd", "aaabbcd", "abcdef", "aaaabbc", "aabcdef"])
def test_a_group_of_many_values(bag):
    check_negations([bag], 4)


@examples(100, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), min_size=1, max_size=3),
    st.integers(0, 3),
)
def test_random_releases_are_judged_as_by_enumeration(bags, k):
    if sum(map(len, bags)) <= 7:
        check_negations(bags, k)


def test_an_implication_may_tell_more_than_a_negation():
    # That the target is no b leaves 3 of 5; "if another has a, so has the target" gives 5/7.
    counts = GroupCounts.from_bags(["aaabcd"])
    truth = Truth(["aaabcd"])
    assert Negations(1).disclosure(counts).exact == truth.negations("a", 1)[1] == Fraction(3, 5)
    found = Implications(1).disclosure(counts).exact
    assert found == truth.implications("a", 1)[1] == Fraction(5, 7)


@examples(100, deadline=None)
@given(BAGS, st.integers(0, 6))
def test_negations_never_tell_more_than_implications(bags, k):
    counts = GroupCounts.from_bags(bags)
    stronger = Implications(k).disclosures(counts)
    for value, found in Negations(k).disclosures(counts).items():
        assert found.exact <= stronger[value].exact, value
        assert found.exact == Facts(l=k).disclosure(counts, value).exact
        assert sum(found.witness.known.values()) == found.witness.family == 0
        assert len(found.witness.ruled_out) <= k


# ---- diversity -------------------------------------------------------------------------------


def diverse(bags, c, size):
    """Recursive (c, size)-diversity, strict: n0 < c (n - n0 - n1 - ... - n_(size - 2))."""
    for bag in bags:
        held = sorted(bag.values(), reverse=True)
        if not held[0] < c * (sum(held) - sum(held[: size - 1])):
            return False
    return True


@examples(250, deadline=None)
@given(
    BAGS,
    st.one_of(
        st.fractions(Fraction(1, 9), 9, max_denominator=12), st.sampled_from([1, 2, Fraction(1, 2)])
    ),
    st.integers(0, 5),
)
def test_safety_is_strict_recursive_diversity(bags, c, k):
    counts = GroupCounts.from_bags(bags)
    limit = Fraction(c) / (c + 1)
    safe = Negations(k).disclosure(counts).below(limit)
    assert safe == diverse(bags, c, k + 2)
    assert safe == all(d.below(limit) for d in Negations(k).disclosures(counts).values())


@given(BAGS, st.integers(0, 4))
def test_the_limit_that_is_attained_is_not_diverse(bags, k):
    counts = GroupCounts.from_bags(bags)
    attained = Negations(k).disclosure(counts).exact
    if attained < 1:
        c = attained / (1 - attained)
        assert not diverse(bags, c, k + 2)
        assert diverse(bags, c + Fraction(1, 10**9), k + 2)


def test_diversity_with_at_most_in_place_of_below_lets_the_limit_through():
    # n0 <= c (n - n0): 1 <= 1, and yet the disclosure is c/(c + 1), not below it.
    found = Negations(0).disclosure(GroupCounts.from_bags(["ab"]))
    assert found.exact == Fraction(1, 2)
    assert not found.below("1/2")
    assert not diverse([{"a": 1, "b": 1}], 1, 2)


# ---- as a value ------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [1.0, 0.5, "1", None, True, [1], -1])
def test_amounts_that_are_no_whole_numbers_from_0_are_refused(wrong):
    with pytest.raises(InputError, match="Negations: k must be"):
        Negations(wrong)


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_people_with_several_values_are_refused(semantics):
    counts = GroupCounts.from_people([[{"a"}, {"b", "c"}]], semantics=semantics)
    for judge in (Negations(1).disclosure, Negations(1).disclosures):
        with pytest.raises(UnsupportedError, match=semantics):
            judge(counts)
    with pytest.raises(UnsupportedError, match=semantics):
        Negations(1).ledger("1/2", semantics=semantics)
    assert Negations(1).monotone()
    assert not Negations(1).monotone(semantics)


def test_negations_list_themselves_as_in_a_policy_file():
    assert Negations(2).to_dict() == {"negations": {"k": 2}}
    assert Negations() == Negations(0)
    assert hash(Negations(3)) == hash(Negations(3))


@examples(60, deadline=None)
@given(BAGS, st.integers(0, 3))
def test_the_ledger_is_about_the_same_limit(bags, k):
    counts = GroupCounts.from_bags(bags)
    attained = Negations(k).disclosure(counts).exact
    for limit in (attained, min(attained + Fraction(1, 10**9), 1), Fraction(3, 4)):
        assert Negations(k).ledger(limit).admits(None, counts) is (attained < limit)
