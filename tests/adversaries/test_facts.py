"""Facts against enumerated worlds: all small releases, and random ones beyond them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.checks import check_point, check_release, check_witness
from tests.examples import examples
from tests.oracle.worlds import small_releases, worlds, worst_cases

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts


@pytest.mark.parametrize("people", [1, 2, 3, 4, 5, 6])
def test_every_small_release_at_every_point_is_judged_as_by_enumeration(people):
    compared = sum(check_release(bags, (3, 3, 3)) for bags in small_releases(people, 3, 3))
    assert compared >= 64 * people


def test_four_values_let_the_adversary_rule_out_three():
    for bags in small_releases(5, 2, 4):
        if len(set("".join(bags))) == 4:
            check_release(bags, (3, 2, 2))


def test_known_people_beside_the_target_and_relatives_elsewhere_may_be_worst():
    # The third term of Theorem 2, which needs 13 people to be the least. Rule out b and know a c:
    # one a and one c are left for the target; the relative is one of five with one a.
    bags = ["abbbbbcc", "abcde"]
    found = Facts(1, 1, 1).disclosure(GroupCounts.from_bags(bags), "a")
    assert found.exact == worst_cases(bags, "a", (1, 1, 1))[1, 1, 1] == Fraction(5, 9)
    assert abs(found.probability - found.exact) < 1e-12
    check_witness(bags, worlds(bags), found, (1, 1, 1))
    assert (found.witness.target_position, found.witness.family_position) == (0, 1)
    assert (found.witness.known_position, found.witness.known) == (0, {"c": 1})


@pytest.mark.slow
@pytest.mark.parametrize("people", [4, 5, 6, 7])
def test_every_release_of_up_to_seven_people_is_judged_as_by_enumeration(people):
    for bags in small_releases(people, 4, 4):
        check_release(bags, (3, 4, 4))


def bags_of(most_people, letters):
    """Random releases with at most so many people in at most three groups."""
    bag = st.lists(st.sampled_from(letters), min_size=1, max_size=most_people)
    release = st.lists(bag, min_size=1, max_size=3)
    return release.filter(lambda bags: sum(map(len, bags)) <= most_people)


@examples(2000, deadline=None)
@given(bags_of(6, "abcde"), st.tuples(*[st.integers(0, 6)] * 3))
def test_random_releases_and_amounts_are_judged_as_by_enumeration(bags, point):
    counts = GroupCounts.from_bags(bags)
    truth = {value: worst_cases(bags, value, point)[point] for value in counts.values}
    check_point(bags, counts, worlds(bags), point, truth)


@examples(400, deadline=None)
@given(
    st.lists(st.sampled_from("aab"), min_size=2, max_size=5),
    st.lists(st.sampled_from("abbc"), min_size=2, max_size=4),
    st.tuples(st.integers(0, 1), st.integers(1, 3), st.integers(1, 3)),
)
def test_two_groups_that_share_values_tempt_the_adversary_to_use_both(one, two, point):
    bags = [one, two]
    counts = GroupCounts.from_bags(bags)
    truth = {value: worst_cases(bags, value, point)[point] for value in counts.values}
    check_point(bags, counts, worlds(bags), point, truth)


@pytest.mark.slow
@examples(5000, deadline=None)
@given(bags_of(8, "abcd"), st.tuples(st.integers(0, 3), st.integers(0, 7), st.integers(0, 7)))
def test_many_larger_random_releases_are_judged_as_by_enumeration(bags, point):
    counts = GroupCounts.from_bags(bags)
    truth = {value: worst_cases(bags, value, point)[point] for value in counts.values}
    check_point(bags, counts, worlds(bags), point, truth)


@examples(200, deadline=None)
@given(bags_of(6, "abcd"), st.tuples(*[st.integers(0, 3)] * 3))
def test_more_knowledge_never_lowers_a_disclosure(bags, point):
    counts = GroupCounts.from_bags(bags)
    for more in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]:
        richer = tuple(a + b for a, b in zip(point, more, strict=True))
        for value in counts.values:
            less = Facts(*point).disclosure(counts, value).exact
            assert less <= Facts(*richer).disclosure(counts, value).exact


def test_a_value_that_occurs_nowhere_is_never_disclosed():
    known = GroupCounts.from_bags(["ab", "ac"])
    without_c = known.take([0])
    for counts, value in [(known, "z"), (without_c, "c")]:
        found = Facts(5, 5, 5).disclosure(counts, value)
        assert (found.value, found.exact, found.probability) == (value, Fraction(0), 0.0)
        assert found.witness is None
        assert found.below("1/1000000000000")
        assert not found.below(0)
    assert Facts(5, 5, 5).disclosures(without_c)["c"].exact == 0


def test_a_release_without_anybody_discloses_nothing():
    nobody = GroupCounts.from_bags([])
    found = Facts(1, 1, 1).disclosure(nobody)
    assert (found.value, found.exact, found.probability, found.witness) == (None, 0, 0.0, None)
    assert Facts(1, 1, 1).disclosures(nobody) == {}


def test_near_ties_between_values_are_ranked_by_fractions():
    # With 39 relatives a (or x) and b are all but certain, 1.0 as floats, b most of all.
    counts = GroupCounts.from_bags(["a" * 50 + "x" * 50, "b" * 60 + "y" * 40])
    found = Facts(m=39).disclosures(counts)
    assert found["a"].probability == found["b"].probability == 1.0
    assert found["a"].exact < found["b"].exact < 1
    worst = Facts(m=39).disclosure(counts)
    assert (worst.value, worst.exact) == ("b", found["b"].exact)
    assert worst.below(1)
    assert found["a"].below(worst.exact)
    assert not worst.below(found["a"].exact)


def test_shares_that_differ_by_one_person_in_trillions_are_told_apart():
    n = 3 * 10**12 + 1
    counts = GroupCounts.from_bags([{"a": 10**12, "b": 10**12 + 1, "c": 10**12}])
    found = Facts().disclosure(counts)
    assert (found.value, found.exact) == ("b", Fraction(10**12 + 1, n))
    assert found.below(Fraction(10**12 + 2, n))
    assert not found.below(Fraction(10**12 + 1, n))
    assert Facts().disclosure(counts, "a").below(found.exact)
