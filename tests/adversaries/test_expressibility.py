"""What facts and basic implications can say, and how far each gets: appendix A8, by enumeration."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.judging import some
from tests.examples import NIGHTLY, examples
from tests.oracle.languages import (
    Space,
    basic_implications,
    conjunctions,
    facts,
    facts_up_to,
    fewest,
    tables,
    worst_implications,
)
from tests.oracle.worlds import small_releases, worlds, worst_cases

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts

BOB, TOM = 0, 1
DOMAINS = [(2, ["AIDS", "Flu"]), (2, ["AIDS", "Cold", "Flu"]), (3, ["AIDS", "Flu"])]


def implication(space, one, x, other, y):
    """If one person has x, another has y."""
    return space.implies(space.has(one, x), space.has(other, y))


# ---- what can be said ------------------------------------------------------------------------


@pytest.mark.parametrize(("people", "values"), DOMAINS)
def test_somebody_elses_value_is_one_fact(people, values):
    space = tables(people, values)
    said = space.has(BOB, "Flu")
    assert said in facts(space, TOM, "AIDS", (0, 1, 0))
    # Without it, not at all; nor can it be said of the target, unless all else is ruled out.
    assert said not in facts_up_to(space, TOM, "AIDS", (2, 0, 2))
    assert said not in facts_up_to(space, BOB, "AIDS", (len(values) - 2, 2, 2))
    assert said in facts(space, BOB, "AIDS", (len(values) - 1, 0, 0))


@pytest.mark.parametrize(("people", "values"), DOMAINS)
def test_amounts_must_mean_at_most_for_a_language_to_say_less(people, values):
    # With exactly one fact of another kind besides, "Bob has Flu" alone cannot be said.
    space = tables(people, values)
    said = space.has(BOB, "Flu")
    for point in [(1, 1, 0), (0, 1, 1), (1, 1, 1)]:
        assert said not in facts(space, TOM, "AIDS", point)
        assert said in facts_up_to(space, TOM, "AIDS", point)


@pytest.mark.parametrize(("people", "values"), DOMAINS)
def test_facts_say_an_implication_only_about_one_person_or_one_value(people, values):
    space = tables(people, values)
    sayable = set().union(
        *(facts_up_to(space, t, v, (2, 2, 2)) for t in range(people) for v in values)
    )
    for one, x, other, y in product(range(people), values, range(people), values):
        said = implication(space, one, x, other, y) in sayable
        assert said == (one == other or x == y), (one, x, other, y)
    # But every one of them is a basic implication.
    assert implication(space, BOB, "Flu", TOM, "AIDS") in basic_implications(space)


@pytest.mark.parametrize(
    ("people", "values"), [(2, "ab"), (2, "abc"), (2, "abcd"), (3, "ab"), (3, "abc")]
)
def test_how_many_basic_implications_it_takes_to_say_something(people, values):
    space = tables(people, values)
    language = basic_implications(space)
    ruled_out, known = space.lacks(BOB, "a"), space.has(BOB, "a")
    one_of_two = space.has(BOB, "a") | space.has(TOM, "a")
    alike = space.where(lambda world: world[BOB] == world[TOM])
    assert fewest(language, ruled_out, 4) == 1
    assert fewest(language, implication(space, BOB, "b", TOM, "a"), 4) == 1
    assert fewest(language, known, 4) == len(values) - 1
    assert fewest(language, one_of_two, 4) == len(values) - 1
    assert fewest(language, alike, 4) == len(values)
    if len(values) > 2:
        sayable = facts_up_to(space, TOM, "a", (2, 2, 2))
        assert not sayable & {ruled_out, one_of_two, alike}


# ---- how far it gets -------------------------------------------------------------------------

RELEASES = [bags for people in range(1, 6) for bags in small_releases(people, 3, 4)]


def space_of(bags):
    return Space(worlds(bags), sorted(set("".join(bags))))


@pytest.mark.parametrize("people", [1, 2, 3, 4])
def test_implications_of_one_atom_that_share_their_consequent_are_the_worst(people):
    # Theorem 9, here for each value: the reference of the tests below, against all of the language.
    for bags in small_releases(people, 3, 3):
        space = space_of(bags)
        language = basic_implications(space)
        for value in space.values:
            found = worst_implications(space, value, 2)
            assert space.highest(language, value) == found[1], (bags, value)
            if len(language) < 600:
                assert space.highest(conjunctions(language, 2), value) == found[2], (bags, value)


def test_with_an_implication_for_each_other_value_no_release_is_safe():
    for bags in some(RELEASES):
        space = space_of(bags)
        others = min(len(set(bag)) for bag in bags) - 1
        assert max(worst_implications(space, x, others)[others] for x in space.values) == 1
        # Nor is it against as many ruled out values. One known person can be withstood.
        assert Facts(l=others).disclosure(GroupCounts.from_bags(bags)).exact == 1
    assert Facts(k=1).disclosure(GroupCounts.from_bags(["abcd"])).exact == Fraction(1, 3)


def test_as_printed_no_language_is_impractical():
    # "For any D*, any u and any s, max Pr(s in u | K, D*) = b": where u's group lacks s that is 0,
    # where it has nothing else 1. So the definition must be read for the worst value.
    space = Space(worlds(["a"]), "ab")
    language = conjunctions(basic_implications(space), 3)
    assert (space.highest(language, "a"), space.highest(language, "b")) == (1, 0)


def test_a_release_that_withstands_one_known_person_but_not_one_implication():
    # Who knows someone with b has two a among three; who knows "b implies a" of someone is sure.
    bags = ["aabb"]
    assert Facts(k=1).disclosure(GroupCounts.from_bags(bags)).below("3/4")
    assert worst_implications(space_of(bags), "a", 1)[1] == 1
    # And where the facts are about the target or relatives: Bob of {a,a,a,b}, Tom of {c,d,e,f}.
    bags = ["aaab", "cdef"]
    found = worst_implications(space_of(bags), "c", 1)[1]
    single = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    counts = GroupCounts.from_bags(bags)
    assert max(Facts(*point).disclosure(counts, "c").exact for point in single) == Fraction(1, 3)
    assert found == Fraction(1, 4) / (Fraction(1, 4) + Fraction(3, 4) * Fraction(1, 4))


def test_implications_get_at_least_as_far_as_the_same_number_of_facts():
    # So no release withstands one implication at a limit at which it fails for one known person.
    compared = 0
    for bags in some(RELEASES):
        space = space_of(bags)
        for value in space.values:
            implied = worst_implications(space, value, 3)
            for point, chance in worst_cases(bags, value, (3, 3, 3)).items():
                if sum(point) <= 3:
                    compared += 1
                    assert chance <= implied[sum(point)], (bags, value, point)
    assert compared > (5000 if NIGHTLY else 60)


@examples(100)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 40), min_size=1),
        min_size=1,
        max_size=4,
    ),
    st.tuples(*[st.integers(0, 12)] * 3),
)
def test_a_known_person_never_helps_more_than_a_ruled_out_value_or_a_relative(bags, point):
    # Why the test before holds for any size: ruled out values and relatives are implications.
    l, k, m = point  # noqa: E741
    counts = GroupCounts.from_bags(bags)
    instead = [Facts(l + k, 0, m), Facts(l, 0, k + m), Facts(l + k + m, 0, 0)]
    for value, found in Facts(l, k, m).disclosures(counts).items():
        assert found.exact <= max(facts.disclosure(counts, value).exact for facts in instead)
