"""Facts against enumerated worlds, under each semantics; numbers known by hand, and the edges."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.judging import (
    check_one,
    check_release,
    counts_of,
    grouped,
    play,
    same,
    small_releases,
    worst_cases,
)
from tests.examples import NIGHTLY, examples

import foreknow as fk
from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts

BOTH = pytest.mark.parametrize("semantics", ["set", "multiset"])
slow = pytest.mark.slow

# ---- all small releases ----------------------------------------------------------------------

# People, groups at most, values, occurrences of a value in a group at most; and the amounts.
SINGLE = [(n, 3, 3, 0) for n in range(1, 7)]
SMALL = [(1, 1, 3, 3), (2, 2, 3, 2), (3, 3, 2, 2), (4, 2, 2, 2), (4, 1, 3, 2), (5, 1, 2, 3)]
LARGER = [(2, 2, 3, 3), (3, 3, 2, 3), (3, 2, 3, 2), (4, 3, 2, 2), (5, 2, 2, 3), (5, 1, 3, 3)]
LIMITS = [
    *(("single", limits, (3, 3, 3)) for limits in SINGLE),
    *(pytest.param("single", (n, 4, 4, 0), (3, 4, 4), marks=slow) for n in (4, 5, 6, 7)),
]
for semantics in ("set", "multiset"):  # one value more than can co-occur, and facts for everybody
    day = SMALL if semantics == "set" else SMALL[:4]
    LIMITS += [(semantics, x, (x[2], x[0], x[0])) for x in day]
    night = [*SMALL[len(day) :], *LARGER]
    LIMITS += [pytest.param(semantics, x, (x[2], x[0], x[0]), marks=slow) for x in night]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("semantics", "limits", "most"), LIMITS)
def test_every_small_release_at_every_point_is_judged_as_by_enumeration(semantics, limits, most):
    releases = small_releases(*limits, semantics)
    assert sum(check_release(groups, most, semantics) for groups in releases)


def test_four_values_let_the_adversary_rule_out_three():
    for groups in small_releases(5, 2, 4, 0, "single"):
        if len({x for _, bag in groups for x in bag}) == 4:
            check_release(groups, (3, 2, 2))


# ---- random releases -------------------------------------------------------------------------


@st.composite
def releases(draw, semantics, most_people, letters, most_count=5):
    """Draw up to three groups with at most so many people in all."""
    left, groups = most_people, []
    for _ in range(draw(st.integers(1, 3))):
        if left:
            size = draw(st.integers(1, left))
            top = min(size, most_count) if semantics == "set" else most_count
            if semantics == "single":
                bag = draw(st.lists(st.sampled_from(letters), min_size=size, max_size=size))
            else:
                bag = [x for x in letters for _ in range(draw(st.integers(0, top)))]
            groups.append((size, "".join(bag)))
            left -= size
    return groups


@st.composite
def two_groups(draw, semantics):
    """Draw two groups that share the value a; in the first one values co-occur."""
    if semantics == "single":
        lists = st.lists(st.sampled_from("aab"), min_size=2, max_size=5)
        more = st.lists(st.sampled_from("abbc"), min_size=2, max_size=4)
        return grouped([draw(lists), ["a", *draw(more)[1:]]])
    one, two = draw(st.integers(3, 8)), draw(st.integers(3, 6))
    with_a = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    if semantics == "set":
        rest = "b" * draw(st.integers(0, one)) + "c" * draw(st.integers(0, one))
    else:
        rest = "".join(x * draw(st.integers(0, 4)) for x in "bcd")
    return [(one, "a" * with_a[0] + rest), (two, "a" * with_a[1])]


def at_random(semantics, made, many, most, least=0, value=None, marks=()):
    """A random test: how releases are made, how many, and the amounts."""
    amounts = st.tuples(st.integers(0, most[0]), *[st.integers(least, each) for each in most[1:]])
    return pytest.param(semantics, made, many, amounts, value, marks=marks)


RANDOM = [
    at_random("single", releases("single", 6, "abcde"), 1000, (6, 6, 6)),
    at_random("single", two_groups("single"), 400, (1, 3, 3), least=1),
    at_random("single", releases("single", 8, "abcd"), 5000, (3, 7, 7), marks=slow),
]
for semantics in ("set", "multiset"):
    RANDOM += [
        at_random(semantics, releases(semantics, 5, "abc", 3), 750, (5, 5, 5)),
        at_random(semantics, two_groups(semantics), 50, (3, 2, 2), 1, "a"),
        at_random(semantics, releases(semantics, 7, "abcd", 3), 1500, (7, 7, 7), marks=slow),
        at_random(semantics, two_groups(semantics), 1500, (3, 2, 2), 1, "a", marks=slow),
    ]


@pytest.mark.parametrize(("semantics", "made", "many", "amounts", "value"), RANDOM)
def test_random_releases_and_amounts_are_judged_as_by_enumeration(
    semantics, made, many, amounts, value
):
    @examples(many)
    @given(made, amounts)
    def check(groups, point):
        check_one(groups, point, semantics, value)

    check()


@BOTH
@examples(150)
@given(data=st.data(), point=st.tuples(*[st.integers(0, 4)] * 3))
def test_more_knowledge_never_lowers_a_disclosure(semantics, data, point):
    counts = counts_of(data.draw(releases(semantics, 8, "abcd")), semantics)
    less = Facts(*point).disclosures(counts)
    for more in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]:
        richer = Facts(*(a + b for a, b in zip(point, more, strict=True))).disclosures(counts)
        assert all(less[value].exact <= richer[value].exact for value in counts.values)


# ---- the paper's own example, figures 1 to 3: eight people, two groups, Tom and AIDS ---------

FIGURE_3 = [["AIDS", "Flu", "Flu", "AIDS"], ["Flu", "Cancer", "Flu", "AIDS"]]
FIGURE = GroupCounts.from_bags(FIGURE_3, groups=[1, 2])


@pytest.mark.parametrize(
    ("point", "truth"),
    [
        ((0, 0, 0), "1/4"),
        ((1, 0, 0), "1/2"),  # not Flu: two of four are left
        ((0, 1, 0), "1/3"),
        ((0, 0, 1), "1/3"),  # a relative within the group: one of three
    ],
)
def test_verdicts_of_group_2_alone(point, truth):
    found = check_one(grouped(FIGURE_3[1:]), point, value="AIDS")
    assert found.exact == Fraction(truth)
    assert found.below("1/2") == (truth != "1/2")
    assert found.below(found.exact + Fraction(1, 1000))


def test_the_whole_of_figure_3_and_the_witness_of_group_2():
    truth = worst_cases(grouped(FIGURE_3), "AIDS", (2, 2, 2), "single")
    for point, probability in truth.items():
        assert Facts(*point).disclosure(FIGURE, "AIDS").exact == probability, point
    witness = Facts(l=1).disclosure(FIGURE.take([1]), "AIDS").witness
    assert (witness.target_group, witness.ruled_out) == (2, ("Flu",))
    rest = {"known_group": None, "known": [], "family_group": None, "family": 0}
    assert witness.to_dict() == {"target_group": 2, "ruled_out": ["Flu"], **rest}


# ---- numbers known by hand, and the edges ----------------------------------------------------


def audited(semantics, groups, point, value):
    """What an audit says, which the judge has found, too."""
    policy = fk.Policy([fk.Requirement(Facts(*point), below=1, values=[value])])
    (verdict,) = fk.audit(counts_of(groups, semantics), policy).verdicts
    return verdict.reached


@pytest.mark.parametrize(
    ("semantics", "groups", "point", "positions"),
    [
        # Rule out b and know a c: one a and one c are left; the relative is one of five with an a.
        ("single", grouped(["abbbbbcc", "abcde"]), (1, 1, 1), (0, 0, 1)),
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
    found = check_one(groups, point, semantics, "a")
    witness = found.witness
    where = witness.target_position, witness.known_position, witness.family_position
    assert where == positions
    assert audited(semantics, groups, point, "a") == found.exact
    if semantics == "single":
        assert (found.exact, witness.known) == (Fraction(5, 9), {"c": 1})


@pytest.mark.parametrize(
    ("semantics", "groups", "point", "truth"),
    [
        ("multiset", [(2, "ss")], (0, 0, 0), "3/4"),
        ("multiset", [(2, "ss")], (0, 0, 1), "1"),
        ("multiset", [(2, "ss")], (0, 0, 3), "1"),
        ("multiset", [(3, "ssss")], (0, 1, 0), "15/16"),
        ("multiset", [(2, "s"), (1, "aa")], (1, 0, 0), "1/2"),
        ("multiset", [(3, "saa")], (1, 0, 0), "9/17"),
        ("set", [(2, "ss")], (0, 0, 0), "1"),
        ("set", [(2, "s"), (1, "ab")], (2, 0, 0), "1/2"),
        ("set", [(3, "sab")], (2, 0, 0), "9/17"),
        ("set", [(3, "sab")], (1, 0, 0), "3/7"),
        ("set", [(3, "s"), (2, "s")], (0, 0, 1), "1"),
        ("set", [(4, "s")], (0, 2, 0), "1/2"),
        ("set", [(4, "ssa")], (1, 0, 0), "4/7"),
        ("set", [(4, "saa")], (1, 0, 0), "2/5"),
    ],
)
def test_numbers_known_by_hand_come_out(semantics, groups, point, truth):
    found = Facts(*point).disclosure(counts_of(groups, semantics), "s")
    same(found, "s", Fraction(truth), groups)
    assert audited(semantics, groups, point, "s") == Fraction(truth)


@pytest.mark.thinned(2)
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
    people = sum(size for size, _ in groups)
    check_release(groups, (3, *[6 if NIGHTLY else people] * 2), semantics)


@BOTH
def test_so_many_facts_that_no_memory_or_loop_could_hold_them(semantics):
    groups = [(5, "abc"), (4, "ab")]
    counts = counts_of(groups, semantics)
    for point in [(10**9, 0, 0), (10**12, 1, 1)]:
        expected = Facts(3, *point[1:]).disclosure(counts, "a").exact
        assert Facts(*point).disclosure(counts, "a").exact == expected
    for point in [(0, 10**12, 0), (0, 0, 10**12), (10**9, 10**9, 10**9)]:
        found = Facts(*point).disclosure(counts, "a")
        assert found.exact == 1
        assert play(groups, semantics, found.witness) == 1


@BOTH
def test_values_that_nobody_has_and_groups_without_values(semantics):
    without_c = counts_of([(2, "ab"), (2, "ac")], semantics).take(np.array([0]))
    nothing = counts_of([(3, "")], semantics)
    for counts, value in [(without_c, "c"), (without_c, "z"), (nothing, "a")]:
        found = Facts(5, 5, 5).disclosure(counts, value)
        assert (found.value, found.exact, found.probability) == (value, Fraction(0), 0.0)
        assert found.witness is None
    assert Facts(5, 5, 5).disclosures(without_c)["c"].exact == 0
    assert Facts(5, 5, 5).disclosures(nothing) == {}
    groups = [(3, "aab"), (2, "abb")]
    for point, value in product([(0, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1)], "ab"):
        alone = Facts(*point).disclosure(counts_of(groups, semantics), value)
        beside = Facts(*point).disclosure(counts_of([(1, ""), *groups], semantics), value)
        assert alone.exact == beside.exact
        assert beside.witness.target_position == alone.witness.target_position + 1


@BOTH
def test_how_the_occurrences_lie_does_not_matter(semantics):
    """Only counts are released: who really has what changes nothing."""
    one = GroupCounts.from_people([[["a", "b"], ["a"], []], [["b"]]], semantics=semantics)
    two = GroupCounts.from_people([[["a"], [], ["b", "a"]], [["b"]]], semantics=semantics)
    cells = [[3, 1], [0, 2, 3], [0, 1, 1], [2, 1, 1]]
    three = GroupCounts(*map(np.array, cells), ["a", "b"], semantics=semantics)
    assert len({Facts(1, 1, 1).disclosure(counts, "a").exact for counts in (one, two, three)}) == 1


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
