"""Propositions 3 and 4 of the skyline paper: older criteria are requirements about `Facts`."""

from fractions import Fraction
from itertools import accumulate, combinations_with_replacement, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.adversaries.judging import some
from tests.examples import examples
from tests.oracle.languages import Space, conjunctions, negations
from tests.oracle.worlds import small_releases, worlds, worst_cases

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts
from foreknow_judge.errors import InputError


def safe(facts, counts, below):
    """Below the limit for every value: the basic criterion, for all sensitive values."""
    verdicts = {found.below(below) for found in facts.disclosures(counts).values()}
    together = facts.disclosure(counts).below(below)
    assert together == (verdicts == {True})
    return together


# ---- proposition 3: k-anonymity --------------------------------------------------------------


def identities(sizes):
    """Groups of these sizes, where everybody's value is who they are."""
    ends = list(accumulate(sizes, initial=0))
    return GroupCounts.from_bags([range(*pair) for pair in pairwise(ends)])


SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=8)


@examples(100)
@given(SIZES, st.integers(2, 13))
def test_k_anonymity_is_a_limit_of_certainty_for_who_knows_k_less_two_others(sizes, k):
    assert safe(Facts(k=k - 2), identities(sizes), 1) == (min(sizes) >= k)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_k_anonymity_by_enumeration(k):
    for sizes in ([n] for n in range(1, 7)):
        check_anonymity(sizes, k)
    for sizes in combinations_with_replacement(range(1, 4), 2):
        check_anonymity(sizes, k)


def check_anonymity(sizes, k):
    letters = iter("abcdef")
    bags = ["".join(next(letters) for _ in range(size)) for size in sizes]
    truth = [worst_cases(bags, who, (0, k - 2, 0))[0, k - 2, 0] for who in "".join(bags)]
    assert (max(truth) < 1) == (min(sizes) >= k) == safe(Facts(k=k - 2), identities(sizes), 1)


@examples(100)
@given(SIZES, st.tuples(*[st.integers(0, 5)] * 3))
def test_with_identities_every_kind_of_fact_is_an_anonymity(sizes, point):
    # Each rules out one more: who the target is not, or where the identity is not.
    l, k, m = point  # noqa: E741
    assert safe(Facts(*point), identities(sizes), 1) == (min(sizes) >= k + max(l, m) + 2)


@examples(100)
@given(SIZES)
def test_one_anonymity_is_below_every_adversary(sizes):
    # Every release is 1-anonymous; who knows nothing is certain of whoever is alone.
    assert safe(Facts(), identities(sizes), 1) == (min(sizes) >= 2)
    with pytest.raises(InputError, match="k must be 0 or more, not -1"):
        Facts(k=1 - 2)


COUNTS = st.lists(
    st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 9), min_size=1),
    min_size=1,
    max_size=5,
)


@examples(100)
@given(COUNTS, st.integers(2, 12))
def test_of_other_values_the_requirement_asks_more_than_k_anonymity(bags, k):
    if safe(Facts(k=k - 2), GroupCounts.from_bags(bags), 1):
        assert min(sum(bag.values()) for bag in bags) >= k


def test_a_group_of_one_value_is_anonymous_and_tells_it():
    assert not safe(Facts(), GroupCounts.from_bags(["aa"]), 1)
    assert safe(Facts(), identities([2]), 1)


# ---- proposition 4: (c, l)-diversity; for large groups and limits see test_negations ----------


def tail(bag, l):  # noqa: E741
    """The most frequent value's count, and how often the values from the l-th on occur."""
    counts = sorted(bag.values(), reverse=True)
    return counts[0], sum(counts[l - 1 :])


def diverse(bags, c, l):  # noqa: E741
    """Recursive (c, l)-diversity, strict: n1 < c (n_l + ... + n_m) in every group."""
    return all(first < c * rest for first, rest in (tail(bag, l) for bag in bags))


L = st.integers(2, 7)
C = st.one_of(
    st.fractions(Fraction(1, 10), 10, max_denominator=12),
    st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3)]),
)


@examples(100)
@given(COUNTS, L)
def test_the_most_frequent_value_of_a_group_is_the_most_exposed(bags, l):  # noqa: E741
    parts = [tail(bag, l) for bag in bags]
    truth = max(Fraction(first, first + rest) for first, rest in parts)
    assert Facts(l=l - 2).disclosure(GroupCounts.from_bags(bags)).exact == truth


@pytest.mark.parametrize("people", [1, 2, 3, 4, 5, 6])
def test_diversity_by_enumeration(people):
    limits = [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)]
    for bags in some(small_releases(people, 3, 4)):
        tallies = [{x: bag.count(x) for x in bag} for bag in bags]
        worst = [worst_cases(bags, x, (3, 0, 0)) for x in set("".join(bags))]
        for l in range(2, 6):  # noqa: E741
            highest = max(cases[l - 2, 0, 0] for cases in worst)
            for c in limits:
                assert (highest < c / (c + 1)) == diverse(tallies, c, l), (bags, c, l)


@examples(100)
@given(COUNTS, C)
def test_with_l_1_the_limit_is_c_itself(bags, c):
    # n1 < c (n1 + ... + n_m): the share of a value. There is no Facts(l=-1).
    assert safe(Facts(), GroupCounts.from_bags(bags), c) == diverse(bags, c, 1)


@examples(100)
@given(COUNTS, L)
def test_without_a_limit_it_is_to_have_l_values_in_every_group(bags, l):  # noqa: E741
    # c beyond all bounds: c / (c + 1) tends to 1.
    assert safe(Facts(l=l - 2), GroupCounts.from_bags(bags), 1) == (min(map(len, bags)) >= l)
    assert diverse(bags, 10**6, l) == (min(map(len, bags)) >= l)


@pytest.mark.parametrize("people", [1, 2, 3, 4, 5])
def test_who_rules_out_values_of_several_people_gets_no_further(people):
    # The step of the proof that "can easily be seen"; for every value, not just the worst one.
    for bags in some(small_releases(people, 3, 4)):
        values = sorted(set("".join(bags)))
        space = Space(worlds(bags), values)
        anybody = negations(space) | {space.everywhere}
        for value in values:
            of_target = worst_cases(bags, value, (3, 0, 0))
            for n in (1, 2, 3):
                found = space.highest(conjunctions(anybody, n), value)
                assert found == of_target[n, 0, 0], (bags, value, n)


# ---- section 7.3: what (3, 6)-diversity brings with it ----------------------------------------


def held(least, most):
    return st.dictionaries(st.sampled_from("abcdefgh"), st.integers(least, most), min_size=6)


@examples(100)
@given(
    st.one_of(held(1, 2), held(14, 40), held(5, 20), held(1, 9)).filter(
        lambda bag: diverse([bag], 3, 6)
    )
)
@example(dict.fromkeys("abcdef", 1) | {"a": 2})
@example(dict.fromkeys("abcdefg", 1) | {"a": 5})
def test_three_six_diversity_withstands_four_known_people_and_perhaps_not_five(bag):
    counts = GroupCounts.from_bags([bag])
    for value, found in Facts(k=4).disclosures(counts).items():
        assert found.exact <= Facts(l=4).disclosure(counts, value).exact < Fraction(3, 4)
    for value, found in Facts(k=5).disclosures(counts).items():
        # Certain, where all but five have the value; or not even close to 95%.
        certain = sum(bag.values()) - bag[value] == 5
        assert found.exact == 1 if certain else found.exact <= Fraction(5, 6)
