"""Facts where people may have several values: all small releases by enumeration, random others."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.checks import same
from tests.adversaries.checks_many import (
    check_point,
    check_release,
    check_witness,
    counts_of,
    play,
)
from tests.examples import examples
from tests.oracle.many_worlds import small_releases, worst_cases

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts

BOTH = pytest.mark.parametrize("semantics", ["set", "multiset"])

# People, groups at most, values, and occurrences of a value in a group at most.
SMALL = [(1, 1, 3, 3), (2, 2, 3, 2), (3, 3, 2, 2), (4, 2, 2, 2), (4, 1, 3, 2), (5, 1, 2, 3)]
LARGER = [(2, 2, 3, 3), (3, 3, 2, 3), (3, 2, 3, 2), (4, 3, 2, 2), (5, 2, 2, 3), (5, 1, 3, 3)]


@BOTH
@pytest.mark.parametrize("limits", SMALL, ids=str)
def test_every_small_release_at_every_point_is_judged_as_by_enumeration(limits, semantics):
    """With one value more than there are to co-occur, and as many facts as there are people."""
    people, values = limits[0], limits[2]
    for groups in small_releases(*limits, semantics):
        check_release(groups, (values, people, people), semantics)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("limits", LARGER, ids=str)
def test_every_larger_release_at_every_point_is_judged_as_by_enumeration(limits, semantics):
    people, values = limits[0], limits[2]
    for groups in small_releases(*limits, semantics):
        check_release(groups, (values, people, people), semantics)


# ---- random releases -------------------------------------------------------------------------


@st.composite
def releases(draw, most_people, letters, most_count):
    """Draw a semantics and up to three groups with at most so many people in all."""
    semantics = draw(st.sampled_from(["set", "multiset"]))
    left, groups = most_people, []
    for _ in range(draw(st.integers(1, 3))):
        if left:
            size = draw(st.integers(1, left))
            top = min(size, most_count) if semantics == "set" else most_count
            groups.append((size, "".join(x * draw(st.integers(0, top)) for x in letters)))
            left -= size
    return groups, semantics


def judged_as_by_enumeration(release, point):
    groups, semantics = release
    counts = counts_of(groups, semantics)
    truth = {x: worst_cases(groups, x, point, semantics)[point] for x in counts.values}
    check_point(groups, counts, point, truth)


# ---- two larger groups, of which the adversary may use both ----------------------------------


def check_one(groups, semantics, point):
    """Compare value a only; returns what was found."""
    counts = counts_of(groups, semantics)
    found = Facts(*point).disclosure(counts, "a")
    same(found, "a", worst_cases(groups, "a", point, semantics)[point], (groups, point))
    check_witness(groups, counts, found, point, {})
    return found


@pytest.mark.parametrize(
    ("semantics", "groups", "point", "positions"),
    [
        ("set", [(4, "abbb"), (4, "a")], (1, 1, 1), (0, 0, 0)),
        ("set", [(8, "abbbbbbb"), (5, "a")], (1, 1, 2), (0, 1, 1)),
        ("set", [(7, "abbbbbb"), (4, "a")], (1, 1, 1), (0, 0, 1)),
        ("multiset", [(4, "abbccdd"), (4, "a")], (3, 1, 1), (0, 0, 0)),
        ("multiset", [(5, "aabbbbccccdddd"), (4, "aaa")], (3, 1, 1), (0, 1, 1)),
        ("multiset", [(4, "abbbbccccdddd"), (4, "aaa")], (3, 1, 1), (0, 0, 1)),
    ],
)
def test_known_people_and_relatives_may_each_be_best_beside_the_target_or_elsewhere(
    semantics, groups, point, positions
):
    """The three terms of Theorem 2, each the least by itself; that takes eight people or more."""
    witness = check_one(groups, semantics, point).witness
    where = witness.target_position, witness.known_position, witness.family_position
    assert where == positions


@st.composite
def two_groups(draw):
    """Draw a first group with values that co-occur, and a second one; both with a."""
    semantics = draw(st.sampled_from(["set", "multiset"]))
    one, two = draw(st.integers(3, 8)), draw(st.integers(3, 6))
    with_a = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    if semantics == "set":
        rest = "b" * draw(st.integers(0, one)) + "c" * draw(st.integers(0, one))
    else:
        rest = "".join(x * draw(st.integers(0, 4)) for x in "bcd")
    return [(one, "a" * with_a[0] + rest), (two, "a" * with_a[1])], semantics


AMOUNTS = st.tuples(st.integers(0, 3), st.integers(1, 2), st.integers(1, 2))


@examples(80, deadline=None)
@given(two_groups(), AMOUNTS)
def test_two_groups_that_share_a_value_tempt_the_adversary_to_use_both(release, point):
    check_one(*release, point)


@pytest.mark.slow
@examples(3000, deadline=None)
@given(two_groups(), AMOUNTS)
def test_many_groups_that_share_a_value_tempt_the_adversary_to_use_both(release, point):
    check_one(*release, point)


@examples(1500, deadline=None)
@given(releases(5, "abc", 3), st.tuples(*[st.integers(0, 5)] * 3))
def test_random_releases_and_amounts_are_judged_as_by_enumeration(release, point):
    judged_as_by_enumeration(release, point)


@pytest.mark.slow
@examples(3000, deadline=None)
@given(releases(7, "abcd", 3), st.tuples(*[st.integers(0, 7)] * 3))
def test_many_larger_random_releases_are_judged_as_by_enumeration(release, point):
    judged_as_by_enumeration(release, point)


@examples(150, deadline=None)
@given(releases(8, "abcd", 5), st.tuples(*[st.integers(0, 4)] * 3))
def test_more_knowledge_never_lowers_a_disclosure(release, point):
    counts = counts_of(*release)
    less = Facts(*point).disclosures(counts)
    for more in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]:
        richer = Facts(*(a + b for a, b in zip(point, more, strict=True))).disclosures(counts)
        assert all(less[value].exact <= richer[value].exact for value in counts.values)


# ---- numbers known by hand, and the edges ----------------------------------------------------


@pytest.mark.parametrize(
    ("semantics", "groups", "point", "truth"),
    [
        ("multiset", [(2, "ss")], (0, 0, 0), Fraction(3, 4)),
        ("multiset", [(2, "ss")], (0, 0, 1), Fraction(1)),
        ("multiset", [(2, "ss")], (0, 0, 3), Fraction(1)),
        ("multiset", [(3, "ssss")], (0, 1, 0), Fraction(15, 16)),
        ("multiset", [(2, "s"), (1, "aa")], (1, 0, 0), Fraction(1, 2)),
        ("multiset", [(3, "saa")], (1, 0, 0), Fraction(9, 17)),
        ("set", [(2, "ss")], (0, 0, 0), Fraction(1)),
        ("set", [(2, "s"), (1, "ab")], (2, 0, 0), Fraction(1, 2)),
        ("set", [(3, "sab")], (2, 0, 0), Fraction(9, 17)),
        ("set", [(3, "sab")], (1, 0, 0), Fraction(3, 7)),
        ("set", [(3, "s"), (2, "s")], (0, 0, 1), Fraction(1)),
        ("set", [(4, "s")], (0, 2, 0), Fraction(1, 2)),
    ],
)
def test_numbers_known_by_hand_come_out(semantics, groups, point, truth):
    same(Facts(*point).disclosure(counts_of(groups, semantics), "s"), "s", truth, groups)


@BOTH
@pytest.mark.parametrize(
    "groups",
    [
        [(3, "aaab")],  # under set, everyone has a
        [(2, "aabb"), (1, "ab")],
        [(1, "a"), (4, "b")],  # a group of one is an open book
        [(1, ""), (4, "ab")],
        [(2, ""), (1, ""), (2, "aab")],
        [(5, "")],
    ],
    ids=str,
)
def test_edges_are_judged_as_by_enumeration(groups, semantics):
    """More facts than there are people, or other values; certainty; nobody and nothing there."""
    check_release(groups, (3, 6, 6), semantics)


@BOTH
def test_so_many_facts_that_no_memory_or_loop_could_hold_them(semantics):
    counts = counts_of([(5, "abc"), (4, "ab")], semantics)
    for point in [(10**9, 0, 0), (10**12, 1, 1)]:
        expected = Facts(3, *point[1:]).disclosure(counts, "a").exact
        assert Facts(*point).disclosure(counts, "a").exact == expected
    for point in [(0, 10**12, 0), (0, 0, 10**12), (10**9, 10**9, 10**9)]:
        found = Facts(*point).disclosure(counts, "a")
        assert found.exact == 1
        assert play([(5, "abc"), (4, "ab")], semantics, found.witness) == 1


@BOTH
def test_a_value_that_occurs_nowhere_is_never_disclosed(semantics):
    known = counts_of([(2, "ab"), (2, "ac")], semantics)
    without_c = known.take(np.array([0]))
    nothing = counts_of([(3, "")], semantics)
    for counts, value in [(known, "z"), (without_c, "c"), (nothing, "a")]:
        found = Facts(5, 5, 5).disclosure(counts, value)
        assert (found.value, found.exact, found.probability) == (value, Fraction(0), 0.0)
        assert found.witness is None
        assert found.below("1/1000000000000")
        assert not found.below(0)
    assert Facts(5, 5, 5).disclosures(without_c)["c"].exact == 0
    assert Facts(5, 5, 5).disclosures(nothing) == {}


@BOTH
def test_a_group_without_values_changes_nothing(semantics):
    groups = [(3, "aab"), (2, "abb")]
    for point in [(0, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1)]:
        for value in "ab":
            alone = Facts(*point).disclosure(counts_of(groups, semantics), value)
            beside = Facts(*point).disclosure(counts_of([(1, ""), *groups], semantics), value)
            assert alone.exact == beside.exact
            assert beside.witness.target_position == alone.witness.target_position + 1


@BOTH
def test_how_the_occurrences_lie_does_not_matter(semantics):
    """Only counts are released: who really has what changes nothing."""
    one = GroupCounts.from_people([[["a", "b"], ["a"], []], [["b"]]], semantics=semantics)
    two = GroupCounts.from_people([[["a"], [], ["b", "a"]], [["b"]]], semantics=semantics)
    three = GroupCounts(
        np.array([3, 1]),
        np.array([0, 2, 3]),
        np.array([0, 1, 1]),
        np.array([2, 1, 1]),
        ["a", "b"],
        semantics=semantics,
    )
    found = [Facts(1, 1, 1).disclosure(counts, "a").exact for counts in (one, two, three)]
    assert found[0] == found[1] == found[2]
