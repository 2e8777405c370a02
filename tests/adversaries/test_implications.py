"""Implications and negations: enumeration, the papers' program, Theorem 9, and by hand."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases import same
from tests.common import NIGHTLY, examples
from tests.oracle.implications import (
    Dealing,
    Space,
    Truth,
    basic_implications,
    group_by_group,
    least_odds,
    minimize2,
)
from tests.oracle.worlds import members, posterior, worlds

import foreknow as fk
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.criteria.diversity import is_recursively_diverse
from foreknow.criteria.measures import k_anonymity
from foreknow.data.counts import GroupCounts
from foreknow_judge.errors import InputError

# ---- what must hold --------------------------------------------------------------------------


def check_point(counts, k, truth, bags, dealt=None):
    """Compare one k: every value by itself and all at once, and the worst; with witnesses."""
    adversary = Implications(k)
    at_once = adversary.disclosures(counts)
    for value, found in at_once.items():
        same(found, value, truth[value], (bags, k, value))
        disclosure = adversary.disclosure(counts, value)
        same(disclosure, value, truth[value], (bags, k, value, "alone"))
        check_witness(bags, found, k, dealt)
        check_witness(bags, disclosure, k, dealt)
    worst = adversary.disclosure(counts)
    same(worst, worst.value, max(truth.values()), (bags, k, "worst"))
    assert truth[worst.value] == worst.exact, (bags, k, worst)
    check_witness(bags, worst, k, dealt)


def check_witness(bags, found, k, dealt=None):
    """The implications are no more than k, about people there are, and attain the probability.

    They are held against worlds if these are given; else the groups are dealt in turn.
    """
    witness = found.witness
    where = (bags, k, found, witness)
    assert witness.value == found.value, where
    assert len(set(witness.implications)) == len(witness.implications) <= k, where
    about = told_of(bags, witness)
    told = [
        (person, value) for group in about for person, values in group.items() for value in values
    ]
    assert len(told) == len(witness.implications), where
    target = members(bags)[witness.target_position][0]
    assert (target, witness.value) not in told, where
    if dealt is None:
        assert by_dealing(bags, witness, about) == found.exact, where
    else:
        statements = [
            lambda world, p=person, x=what: world[p] != x or world[target] == witness.value
            for person, what in told
        ]
        assert posterior(dealt, statements, target, witness.value) == found.exact, where


def told_of(bags, witness):
    """For each group, whom the implications begin with, and which values they would have.

    Person 0 of the target's group is the target; other people of a group are numbered from 1.
    """
    results = [{} for _ in bags]
    for implication in witness.implications:
        group = members(bags)[implication.position]
        first = 0 if implication.position == witness.target_position else 1
        assert first <= implication.person < len(group) + first, (bags, implication)
        who = group[implication.person - first]
        results[implication.position].setdefault(who, set()).add(implication.value)
    return results


def by_dealing(bags, witness, about):
    """The posterior that the implications give, group by group: they are independent."""
    none = Fraction(1)
    for position, (bag, told) in enumerate(zip(bags, about, strict=True)):
        told = {person: set(values) for person, values in told.items()}
        if position == witness.target_position:
            told.setdefault(members(bags)[position][0], set()).add(witness.value)
        dealing = Dealing(bag)
        left = dealing.everything
        for excluded in told.values():
            left = dealing.without(left, None, excluded)
        none *= dealing.chance(left)
    home = list(bags[witness.target_position])
    sure = Fraction(home.count(witness.value), len(home))
    return sure / (sure + none)


# ---- random ones -----------------------------------------------------------------------------


def releases(most_people, letters, most_groups=3):
    bag = st.lists(st.sampled_from(letters), min_size=1, max_size=most_people).map("".join)
    release = st.lists(bag, min_size=1, max_size=most_groups)
    return release.filter(lambda bags: sum(map(len, bags)) <= most_people)


FEW = ["aab", "aabc", "abcd", "aabb", "aaab", "aabbc", "aaabbc", "abbc", "bccd", "aaabb", "ab"]
FEW += ["aabbcc", "aabbccd", "aaabbcd", "abbbc", "bbbcd", "abbccc", "acccddd"]


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
    ("made", "most"),
    [
        (releases(9 if NIGHTLY else 7, "abcd", 4), 5),
        (st.lists(st.sampled_from(FEW), min_size=2, max_size=5), 4),
    ],
)
def test_random_releases(made, most):
    @examples(2000, daily=8)
    @given(made, st.integers(0, most))
    def check(bags, k):
        check_bags(bags, k)

    check()


# ---- known by hand, and large -----------------------------------------------------------------


def test_enough_implications_disclose_everything():
    bags = ["aabbcdefg", "abcdefggg"]
    counts = GroupCounts.from_bags(bags)
    for k in (6, 7, 10**30):
        for disclosure in Implications(k).disclosures(counts).values():
            assert (disclosure.exact, disclosure.below(1), disclosure.below("1.000001")) == (
                1,
                False,
                True,
            )
            check_witness(bags, disclosure, k)
    # That neither of two others has a leaves it to the target; one is not enough. And the witness
    # is about the value that is named, also where two are certain.
    for bags, k, value in ((["abc"], 2, "a"), (["aab", "c"], 1, None)):
        disclosure = Implications(k).disclosure(GroupCounts.from_bags(bags), value)
        assert disclosure.exact == 1
        check_witness(bags, disclosure, k, worlds(bags))


def test_witness_says_what_is_known():
    bags = [["Flu"] * 3 + ["Cold", "Mumps", "Gout"], ["Cold"] * 2 + ["Mumps"] * 2 + ["Gout", "Flu"]]
    counts = GroupCounts.from_bags(bags, groups=["young", "old"])
    disclosure = Implications(1).disclosure(counts)
    assert disclosure.witness.sentences() == [
        "if person 1 of group 'young' has 'Flu', then the target has 'Flu'"
    ]
    assert disclosure.witness.to_dict() == {
        "target_group": "young",
        "implications": [{"group": "young", "person": 1, "value": "Flu"}],
    }
    group_counts = GroupCounts.from_bags(bags[1:], groups=["old"])
    assert Implications(1).disclosure(group_counts, "Mumps").witness.sentences() == [
        "the target, of group 'old', does not have 'Cold'"
    ]


@examples(60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 3000), min_size=2),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 9),
)
def test_thousands_by_the_papers_program(bags, k):
    disclosure = Implications(k).disclosure(GroupCounts.from_bags(bags))
    truth = minimize2([list(bag.values()) for bag in bags], k, Fraction(1))[k]
    assert disclosure.exact == truth
    assert abs(disclosure.probability - truth) <= 1e-12


@pytest.mark.parametrize("k", [0, 2])
def test_near_ties_ranked_by_fractions(k):
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


@pytest.mark.parametrize("extra", [0, 1])
def test_chances_below_every_float(extra):
    # 23 to 25 people who are all among the 26 of ten to the fifteenth.
    rare = {chr(ord("b") + i): 1 for i in range(25)}
    bags = [{"a": 10**15, **rare, "z": 1}, {"a": 10**15 + 10**9 * extra, **rare}]
    counts = GroupCounts.from_bags(bags)
    truth = minimize2([list(bag.values()) for bag in bags], 24, Fraction(1))
    for k in (22, 24):
        disclosure = Implications(k).disclosure(counts)
        assert disclosure.exact == truth[k]
        assert disclosure.exact < 1
        assert disclosure.probability == 1.0
        assert disclosure.below(1)
        assert Implications(k).ledger(1).admits(None, counts)
    assert not Implications(25).disclosure(counts).below(1)


# ---- negations -------------------------------------------------------------------------------


def test_the_judge_counts_each_negation():
    """Of s, a, a and b, a is ruled out first."""
    counts = GroupCounts.from_bags(["saab"])
    for k, reached in ((0, "1/4"), (1, "1/2"), (2, 1)):
        required = fk.Requirement(fk.Negations(k), below=1, values=["s"])
        (verdict,) = fk.audit(counts, fk.Policy([required])).verdicts
        assert verdict.reached == Fraction(reached)
    # That the target is no b leaves 3 of 5; "if another has a, so has the target" gives 5/7.
    counts = GroupCounts.from_bags(["aaabcd"])
    assert Negations(1).disclosure(counts).exact == Fraction(3, 5)
    assert Implications(1).disclosure(counts).exact == Fraction(5, 7)


def diverse(bag, c, l):  # noqa: E741
    """Recursive (c, l)-diversity of one bag, as Machanavajjhala et al. define it, strict."""
    held = sorted(bag.values(), reverse=True)
    return held[0] < c * sum(held[l - 1 :])


@examples(250)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 12), min_size=1),
        min_size=1,
        max_size=4,
    ),
    st.fractions(Fraction(1, 9), 9, max_denominator=12) | st.sampled_from([1, 2]),
    st.integers(0, 6),
)
def test_negations_are_strict_recursive_diversity(bags, c, k):
    counts, limit = GroupCounts.from_bags(bags), Fraction(c) / (c + 1)
    disclosures, stronger = Negations(k).disclosures(counts), Implications(k).disclosures(counts)
    attained = Negations(k).disclosure(counts).exact
    safe = attained < limit
    assert safe == all(diverse(bag, c, k + 2) for bag in bags)
    assert safe == is_recursively_diverse(counts, c, k + 2)
    assert safe == all(d.below(limit) for d in disclosures.values())
    if attained < 1:
        c = attained / (1 - attained)
        assert not is_recursively_diverse(counts, c, k + 2)
        assert is_recursively_diverse(counts, c + Fraction(1, 10**9), k + 2)
    for value, disclosure in disclosures.items():
        assert disclosure.exact <= stronger[value].exact, value
        assert disclosure.exact == Facts(l=k).disclosure(counts, value).exact
        assert sum(disclosure.witness.known.values()) == disclosure.witness.family == 0
        assert len(disclosure.witness.ruled_out) <= k


@pytest.mark.parametrize(("c", "l"), [(0, 2), (-1, 2), (1, 1), (1, 0), (1, 2.5), ("x", 2)])
def test_diversity_refused(c, l):  # noqa: E741
    with pytest.raises(InputError):
        is_recursively_diverse(GroupCounts.from_bags(["ab"]), c, l)
    several = GroupCounts.from_people([[{"a"}, set()], [set()]])
    with pytest.raises(InputError, match="one sensitive value per person"):
        is_recursively_diverse(several, 1, 2)
    assert k_anonymity(several) == 1
    assert k_anonymity(GroupCounts.from_bags([])) == 0


# theorem 9 of "Worst-Case Background Knowledge": the worst implications are simple ones.
# Other enumerations are compared with each other where they are used: those of whole releases and
# of  groups in `tests/crossings`, those of implications in
# `tests/adversaries/test_implications.py`.

TINY = ["a", "aa", "ab", "aab", "abc", "aabb", "aaab", "a|b", "a|ab", "ab|ab", "aab|b", "ab|ac"]
TINY += ["aab|ab", "aab|bc", "abc|a", "abc|d", "aaaab", "aab|c|a", "ab|cd", "ab|a|b", "abc|ab"]
# Too many conjunctions of three to try in a moment, though not of two.
SMALL = ["aaabbb", "aab|aab", "aaab|aaab", "aab|abc", "aabb|aab", "aabb|aac", "aab|aab|aab"]
LARGER = ["aaabc", "aabbc", "abcd", "aabc|ab"]


def check_theorem_9(bags, most):
    """Compare at most so many basic implications with simple ones, for each target and value."""
    truth = Truth(bags)
    # The value z, which nobody has, makes contradictions.
    space = Space(worlds(bags), [*truth.worlds.values, "z"])
    language, said = basic_implications(space), {space.everywhere}
    for k in range(most + 1):
        for target, value in product(truth.targets, truth.worlds.values):
            odds = least_odds(truth.worlds, target, value, k)
            simple = 0 if odds is None else 1 / (1 + odds[k])
            assert highest_chance(said, space.has(target, value)) == simple, (k, target, value)
        if k < most:
            said = {one & other for one in said for other in language}


def highest_chance(said, hit):
    """The highest chance of being where the target has the value."""
    top, of = 0, 1
    for known in said:
        hits, worlds_left = (known & hit).bit_count(), known.bit_count()
        if hits * of > top * worlds_left:
            top, of = hits, worlds_left
    return Fraction(top, of)


@pytest.mark.parametrize(
    ("bags", "most"), [*product(TINY, [3]), *product(SMALL, [2]), *product(LARGER, [1])]
)
def test_simple_implications_are_the_worst(bags, most):
    check_theorem_9(bags.split("|"), most)
