"""Implications against enumerated worlds, the paper's program and figures, and by hand."""

import csv
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.checks_implications import check_point, check_release, check_witness
from tests.adversaries.judging import some
from tests.examples import examples
from tests.oracle.implication_worlds import (
    Dealing,
    Truth,
    Worlds,
    group_by_group,
    least_odds,
)
from tests.oracle.minimize import minimize2
from tests.oracle.worlds import small_releases, worlds

from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.data.counts import GroupCounts

LETTERS = "abcdefgh"


def histograms(n, most_values, largest=None):
    """All ways to write n as a sum of counts that do not rise.

    >>> list(histograms(4, 2))
    [(4,), (3, 1), (2, 2)]
    """
    if n == 0:
        yield ()
    elif most_values:
        for count in range(min(n, largest or n), 0, -1):
            for rest in histograms(n - count, most_values - 1, count):
                yield (count, *rest)


def bag_of(held):
    return "".join(letter * count for letter, count in zip(LETTERS, held, strict=False))


def check_group(bag, most, space):
    """Compare every value of one group for every k; returns how many were compared."""
    counts, compared = GroupCounts.from_bags([bag]), 0
    # Values that occur as often are as hard to infer.
    by_holders = {bag.count(value): value for value in space.values}
    found = {held: least_odds(space, 0, value, most) for held, value in by_holders.items()}
    odds = {value: found[bag.count(value)] for value in space.values}
    for k in range(most + 1):
        truth = {x: Fraction(1) if odds[x] is None else 1 / (1 + odds[x][k]) for x in odds}
        check_point(counts, k, truth, [bag])
        compared += len(truth)
    return compared


# ---- all small releases ----------------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 3, 4, 5, 6])
def test_every_small_release_is_judged_as_by_enumeration(people):
    assert sum(check_release(bags, 4) for bags in some(small_releases(people, 3, 3)))


@pytest.mark.parametrize("people", [4, 5])
def test_four_values_and_four_groups(people):
    for bags in some(small_releases(people, 4, 4)):
        if len(bags) == 4 or len(set("".join(bags))) == 4:
            check_release(bags, 3)


@pytest.mark.parametrize("people", [3, 4, 5, 6, 7])
def test_every_group_of_up_to_seven_people_for_each_value(people):
    for held in some(histograms(people, people)):
        check_group(bag_of(held), 5, Worlds([bag_of(held)]))


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "held",
    [(3, 3, 2), (4, 2, 1, 1), (3, 2, 2, 1), (4, 3, 1), (5, 4, 1), (4, 4, 4, 1), (5, 3, 2, 1)]
    + [(6, 5, 1), (4, 4, 2, 2), (7, 2, 1, 1), (8, 6, 1), (6, 3, 3), (3, 3, 3, 3), (9, 5, 4, 1)],
)
def test_a_value_rarer_than_several_others_of_a_larger_group(held):
    check_group(bag_of(held), 5, Dealing(bag_of(held)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "values", "k"),
    [*((n, 4, 5) for n in range(8, 15)), *((n, 5, 6) for n in (7, 8, 9, 10))],
)
def test_every_group_of_up_to_fourteen_people(people, values, k):
    for held in histograms(people, values):
        if values == 4 or len(held) == values:
            check_group(bag_of(held), k, Dealing(bag_of(held)))


@pytest.mark.slow
@pytest.mark.parametrize("people", [5, 6, 7])
def test_every_release_of_up_to_seven_people(people):
    for bags in small_releases(people, 4, 4):
        check_release(bags, 4)


# ---- random ones -----------------------------------------------------------------------------


def releases(most_people, letters, most_groups=3):
    bag = st.lists(st.sampled_from(letters), min_size=1, max_size=most_people).map("".join)
    release = st.lists(bag, min_size=1, max_size=most_groups)
    return release.filter(lambda bags: sum(map(len, bags)) <= most_people)


FEW = ["aab", "aabc", "abcd", "aabb", "aaab", "aabbc", "aaabbc", "abbc", "bccd", "aaabb", "ab"]
FEW += ["aabbcc", "aabbccd", "aaabbcd", "abbbc", "bbbcd", "abbccc", "acccddd"]
LARGE = ["aaaaaaabbbccd", "aaaaaabbbbbbcd", "aaaabbbbcd", "aaabbbcccd", "abbbbbbbbcccc", "abcdef"]
FREQUENT = st.lists(st.sampled_from("aaabbbccd"), min_size=4, max_size=7).map("".join)
slow = pytest.mark.slow


def check_bags(bags, k):
    """Compare one k, group by group; small releases against all their worlds, too."""
    values = sorted({x for bag in bags for x in bag})
    by_value = {value: group_by_group(bags, value, k)[k] for value in values}
    check_point(GroupCounts.from_bags(bags), k, by_value, bags)
    if sum(map(len, bags)) <= 7:
        truth = Truth(bags)
        assert by_value == {value: truth.implications(value, k)[k] for value in values}
        check_point(GroupCounts.from_bags(bags), k, by_value, bags, worlds(bags))


@pytest.mark.parametrize(
    ("made", "many", "most"),
    [
        (releases(7, "abcde"), 300, 5),
        (st.lists(st.sampled_from(FEW), min_size=2, max_size=5), 200, 5),
        (st.lists(st.sampled_from(FEW + LARGE), min_size=2, max_size=4), 60, 4),
        (st.lists(FREQUENT, min_size=2, max_size=3), 200, 3),
        pytest.param(releases(9, "abcd", 4), 4000, 5, marks=slow),
    ],
)
def test_random_releases_are_judged_as_by_enumeration(made, many, most):
    @examples(many)
    @given(made, st.integers(0, most))
    def check(bags, k):
        check_bags(bags, k)

    check()


@pytest.mark.parametrize("k", [2, 3])
def test_implications_that_begin_in_two_groups_end_in_a_third(k):
    # One atom about the second group is best, or two about the first; of three, one and two.
    bags = ["aaaaaaabbbccd", "aaaaaabbbbbbcd", "zefghi"]
    check_bags(bags, k)
    if k == 3:
        about = Implications(k).disclosure(GroupCounts.from_bags(bags), "z").witness.implications
        assert sorted({each.position for each in about}) == [0, 1]


@slow
@examples(400)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.integers(0, 5))
def test_random_larger_groups_by_dealing(held, k):
    bag = bag_of(held)
    dealing = Dealing(bag)
    odds = {value: least_odds(dealing, 0, value, k)[k] for value in dealing.values}
    by_value = {value: 1 / (1 + found) for value, found in odds.items()}
    check_point(GroupCounts.from_bags([bag]), k, by_value, [bag])


# ---- what was judged before does not matter --------------------------------------------------


@examples(40, deadline=None)
@given(releases(12, "abcde"), st.lists(st.integers(0, 6), min_size=2, max_size=6))
def test_judging_for_several_k_in_any_order_is_judging_afresh(bags, ks):
    counts = GroupCounts.from_bags(bags)
    for k in ks:
        fresh = GroupCounts.from_bags(bags)
        found = [Implications(k).disclosure(each) for each in (counts, fresh)]
        assert len({(each.value, each.probability, each.exact) for each in found}) == 1
        for value in counts.values:
            one = Implications(k).disclosure(counts, value)
            assert one.exact == Implications(k).disclosures(counts)[value].exact
            assert one.exact == Implications(k).disclosure(fresh, value).exact


# ---- known by hand, and large -----------------------------------------------------------------


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


# ---- the figures of the paper's experiment on Adult --------------------------------------------

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
ADULT = SHARED / "data" / "adult.csv"
GOLDEN = SHARED / "golden" / "adult-implications.json"


@pytest.fixture(scope="module")
def adult():
    """Occupations by age in [0, 19], [20, 39], ..., everything else suppressed."""
    with ADULT.open(encoding="utf-8", newline="") as file:
        pairs = Counter((int(row["age"]) // 20, row["occupation"]) for row in csv.DictReader(file))
    bags = [{} for _ in range(5)]
    for (interval, occupation), count in pairs.items():
        bags[interval][occupation] = count
    found = GroupCounts.from_bags(bags)
    assert (found.n_people, found.n_values, found.n_groups) == (45_222, 14, 5)
    return found


@pytest.mark.skipif(
    not (ADULT.exists() and GOLDEN.exists()),
    reason="the Adult table and its golden numbers are not at ../shared",
)
@pytest.mark.parametrize("k", range(13))
@pytest.mark.parametrize("adversary", [Implications, Negations])
def test_adult_by_age_is_disclosed_as_much_as_the_golden_numbers_say(adult, adversary, k):
    golden = json.loads(GOLDEN.read_text("utf-8"))
    found = adversary(k).disclosure(adult)
    assert golden["decimals"] == 6
    assert round(found.probability, 6) == golden[adversary.__name__.lower()][k]
    assert round(float(found.exact), 6) == golden[adversary.__name__.lower()][k]
    assert max(d.exact for d in adversary(k).disclosures(adult).values()) == found.exact
