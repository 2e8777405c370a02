"""Negations against enumeration, and against the diversity that they are (appendix E)."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.checks_implications import check_negations
from tests.adversaries.judging import some
from tests.examples import examples
from tests.oracle.implication_worlds import Truth
from tests.oracle.worlds import small_releases

import foreknow as fk
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.criteria.diversity import is_recursively_diverse
from foreknow.criteria.measures import k_anonymity
from foreknow.data.counts import GroupCounts
from foreknow_judge.errors import InputError

BAGS = st.lists(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 12), min_size=1),
    min_size=1,
    max_size=4,
)


# ---- theorem 19 ------------------------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 3, 4, 5])
def test_negations_about_anybody_tell_no_more_than_those_about_the_target(people):
    assert sum(check_negations(bags, 4) for bags in some(small_releases(people, 3, 3)))


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


# ---- classical criteria are special cases ------------------------------------------------------


def diverse(bag, c, l):  # noqa: E741
    """Recursive (c, l)-diversity of one bag, as Machanavajjhala et al. define it, strict."""
    held = sorted(bag.values(), reverse=True)
    return held[0] < c * sum(held[l - 1 :])


FACTORS = st.fractions(Fraction(1, 9), 9, max_denominator=12) | st.sampled_from([1, 2])


@examples(250)
@given(BAGS, FACTORS, st.integers(0, 5))
def test_safety_is_strict_recursive_diversity(bags, c, k):
    counts, limit = GroupCounts.from_bags(bags), Fraction(c) / (c + 1)
    safe = Negations(k).disclosure(counts).below(limit)
    assert safe == all(diverse(bag, c, k + 2) for bag in bags)
    assert safe == is_recursively_diverse(counts, c, k + 2)
    assert safe == all(d.below(limit) for d in Negations(k).disclosures(counts).values())
    attained = Negations(k).disclosure(counts).exact
    if attained < 1:
        c = attained / (1 - attained)
        assert not is_recursively_diverse(counts, c, k + 2)
        assert is_recursively_diverse(counts, c + Fraction(1, 10**9), k + 2)


def test_diversity_with_at_most_in_place_of_below_lets_the_limit_through():
    # n0 <= c (n - n0): 1 <= 1, and yet the disclosure is c/(c + 1), not below it.
    counts = GroupCounts.from_bags(["ab"])
    found = Negations(0).disclosure(counts)
    assert found.exact == Fraction(1, 2)
    assert not found.below("1/2")
    assert not is_recursively_diverse(counts, c=1, l=2)


def test_anonymity_is_the_least_size():
    assert k_anonymity(GroupCounts.from_bags(["abc", "aa"])) == 2
    assert k_anonymity(GroupCounts.from_people([[{"a"}, set()], [set()]])) == 1
    assert k_anonymity(GroupCounts.from_bags([])) == 0


@pytest.mark.parametrize(("c", "l"), [(0, 2), (-1, 2), (1, 1), (1, 0), (1, 2.5), ("x", 2)])
def test_amounts_out_of_range_are_refused(c, l):  # noqa: E741
    with pytest.raises(InputError):
        is_recursively_diverse(GroupCounts.from_bags(["ab"]), c, l)


def test_several_values_per_person_are_refused():
    with pytest.raises(InputError, match="one sensitive value per person"):
        is_recursively_diverse(GroupCounts.from_people([[{"a"}, set()]]), 1, 2)


@pytest.mark.parametrize(("k", "reached"), [(0, "1/4"), (1, "1/2"), (2, 1)])
def test_the_judge_counts_each_negation(k, reached):
    """Of s, a, a and b, a is ruled out first."""
    counts = GroupCounts.from_bags(["saab"])
    required = fk.Requirement(fk.Negations(k), below=1, values=["s"])
    (verdict,) = fk.audit(counts, fk.Policy([required])).verdicts
    assert verdict.reached == Fraction(reached)
