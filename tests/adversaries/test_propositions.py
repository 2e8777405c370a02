"""What facts and implications can say, and older criteria as facts: by enumeration."""

from fractions import Fraction
from itertools import accumulate, pairwise, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.adversaries.judging import some
from tests.examples import NIGHTLY, examples
from tests.oracle.languages import (
    Space,
    basic_implications,
    conjunctions,
    negations,
    worst_implications,
)
from tests.oracle.worlds import small_releases, worlds, worst_cases

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts

COUNTS = st.lists(
    st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 9), min_size=1),
    min_size=1,
    max_size=5,
)


RELEASES = [bags for people in range(1, 6) for bags in small_releases(people, 3, 4)]


def space_of(bags):
    return Space(worlds(bags), sorted(set("".join(bags))))


# ---- how far it gets -------------------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 3, 4])
def test_theorem_9_for_each_value(people):
    """Implications of one atom that share their consequent are the worst."""
    for bags in some(small_releases(people, 3, 3)):
        space = space_of(bags)
        language = basic_implications(space)
        for value in space.values:
            found = worst_implications(space, value, 2)
            assert space.highest(language, value) == found[1], (bags, value)
            if len(language) < 600:
                assert space.highest(conjunctions(language, 2), value) == found[2], (bags, value)


def test_implications_get_as_far_as_facts():
    compared = 0
    for bags in some(RELEASES):
        space = space_of(bags)
        others = min(len(set(bag)) for bag in bags) - 1
        implied = {
            value: worst_implications(space, value, max(others, 3)) for value in space.values
        }
        # With one for each other value no release is safe, nor against as many ruled out values.
        assert max(chances[others] for chances in implied.values()) == 1
        assert Facts(l=others).disclosure(GroupCounts.from_bags(bags)).exact == 1
        for value in space.values:
            for point, chance in worst_cases(bags, value, (3, 3, 3)).items():
                if sum(point) <= 3:
                    compared += 1
                    assert chance <= implied[value][sum(point)], (bags, value, point)
    assert compared > (5000 if NIGHTLY else 60)
    # Of {a,a,b,b} one known person can be withstood, and one implication cannot.
    assert Facts(k=1).disclosure(GroupCounts.from_bags(["aabb"])).below("3/4")
    assert worst_implications(space_of(["aabb"]), "a", 1)[1] == 1


@examples(100)
@given(COUNTS, st.tuples(*[st.integers(0, 12)] * 3))
def test_known_people_help_least(bags, point):
    """No more than a ruled out value or a relative: so the test before holds for any size."""
    l, k, m = point  # noqa: E741
    counts = GroupCounts.from_bags(bags)
    instead = [Facts(l + k, 0, m), Facts(l, 0, k + m), Facts(l + k + m, 0, 0)]
    for value, found in Facts(l, k, m).disclosures(counts).items():
        assert found.exact <= max(facts.disclosure(counts, value).exact for facts in instead)


# ---- proposition 3: k-anonymity; proposition 4: (c, l)-diversity ------------------------------


def safe(facts, counts, below):
    """Below the limit for every value: the basic criterion, for all sensitive values."""
    together = facts.disclosure(counts).below(below)
    assert together == all(found.below(below) for found in facts.disclosures(counts).values())
    return together


@examples(150)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=8),
    st.tuples(*[st.integers(0, 5)] * 3) | st.tuples(st.just(0), st.integers(0, 11), st.just(0)),
)
def test_identities_make_facts_an_anonymity(sizes, point):
    """Each rules out one more: who the target is not, or where the identity is not."""
    ends = list(accumulate(sizes, initial=0))
    counts = GroupCounts.from_bags([range(*pair) for pair in pairwise(ends)])
    l, k, m = point  # noqa: E741
    assert safe(Facts(*point), counts, 1) == (min(sizes) >= k + max(l, m) + 2)


def tail(bag, l):  # noqa: E741
    """The most frequent value's count, and how often the values from the l-th on occur."""
    counts = sorted(bag.values(), reverse=True)
    return counts[0], sum(counts[l - 1 :])


def diverse(bags, c, l):  # noqa: E741
    """Recursive (c, l)-diversity, strict: n1 < c (n_l + ... + n_m) in every group."""
    return all(first < c * rest for first, rest in (tail(bag, l) for bag in bags))


@examples(150)
@given(COUNTS, st.integers(2, 7), st.fractions(Fraction(1, 10), 10, max_denominator=12))
def test_ruled_out_values_are_diversity(bags, l, c):  # noqa: E741
    counts = GroupCounts.from_bags(bags)
    truth = max(Fraction(first, first + rest) for first, rest in (tail(bag, l) for bag in bags))
    assert Facts(l=l - 2).disclosure(counts).exact == truth
    # Without a limit: l values in every group. With l = 1 the limit is c itself.
    assert safe(Facts(l=l - 2), counts, 1) == (min(map(len, bags)) >= l)
    assert safe(Facts(), counts, c) == diverse(bags, c, 1)
    if safe(Facts(k=l - 2), counts, 1):  # and k-anonymity of other values than identities
        assert min(sum(bag.values()) for bag in bags) >= l


@pytest.mark.parametrize("people", [2, 4, 6])
def test_propositions_by_enumeration(people):
    for bags in some(small_releases(people, 3, 4)):
        tallies = [{x: bag.count(x) for x in bag} for bag in bags]
        worst = {x: worst_cases(bags, x, (3, 0, 0)) for x in set("".join(bags))}
        for l in range(2, 6):  # noqa: E741
            highest = max(cases[l - 2, 0, 0] for cases in worst.values())
            for c in map(Fraction, ("1/2", "1", "3/2", "3")):
                assert (highest < c / (c + 1)) == diverse(tallies, c, l), (bags, c, l)
        if people > 4:
            continue
        # The step of the proof that "can easily be seen": of several people is no further.
        space = space_of(bags)
        anybody = negations(space) | {space.everywhere}
        for value, n in product(space.values, (1, 2, 3)):
            found = space.highest(conjunctions(anybody, n), value)
            assert found == worst[value][n, 0, 0], (bags, value, n)


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
def test_three_six_diversity(bag):
    """Section 7.3: it withstands four known people and perhaps not five."""
    counts = GroupCounts.from_bags([bag])
    for value, found in Facts(k=4).disclosures(counts).items():
        assert found.exact <= Facts(l=4).disclosure(counts, value).exact < Fraction(3, 4)
    for value, found in Facts(k=5).disclosures(counts).items():
        # Certain, where all but five have the value; or not even close to 95%.
        certain = sum(bag.values()) - bag[value] == 5
        assert found.exact == 1 if certain else found.exact <= Fraction(5, 6)
