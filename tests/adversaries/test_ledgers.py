"""Ledgers on cases made by hand: where two groups meet, where minima rise again, the edges."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.adversaries import formulas
from tests.adversaries.releases_many import (
    VALUES,
    counted,
    stands,
    started,
    weighed,
    worst,
)
from tests.oracle.implication_worlds import group_by_group

import foreknow as fk
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.implications.implications import Implications
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Labels
from foreknow.errors import InternalError

ONLY_A = np.array([True, False, False, False])
ALL = pytest.mark.parametrize("semantics", ["single", "set", "multiset"])


def about(counts, value):
    return np.array([each == value for each in counts.values])


# ---- Facts, one value each -------------------------------------------------------------------


FIVE_NINTHS = GroupCounts.from_bags(["abbbbbcc", "abcde"])  # by the third term of Theorem 2 alone
# Only a counts, and it is rare; the implication begins with someone of the second group.
BESIDE = GroupCounts.from_bags(["abbccddee", "fffffffg"])


@pytest.mark.parametrize(
    ("adversary", "parts", "truth"),
    [(Facts(1, 1, 1), FIVE_NINTHS, "5/9"), (Implications(1), BESIDE, "1/2")],
)
def test_a_target_in_one_group_and_others_elsewhere_are_weighed_exactly(adversary, parts, truth):
    truth, only_a = Fraction(truth), about(parts, "a")
    assert adversary.disclosure(parts, "a").exact == truth
    for threshold, safe in [(truth, False), (truth + Fraction(1, 10**6), True)]:
        ledger = adversary.ledger(threshold, only_a)
        ledger.commit(None, parts.merge([0, 0]))
        assert ledger.admits(parts.merge([0, 0]), parts) is safe
        for first in (0, 1):
            one, other = np.arange(2) == first, np.arange(2) != first
            ledger = adversary.ledger(threshold, only_a)
            evaluation = ledger.evaluate(None, parts, np.array([0, 1]))
            assert evaluation.safe_each().tolist() == [True, True]
            assert evaluation.safe_jointly(np.array([True, True])) is safe
            evaluation.commit(one)
            assert evaluation.safe_jointly(other) is safe
            assert evaluation.safe_each()[other].tolist() == [safe]


def test_an_implication_beside_atoms_elsewhere_is_that_of_enumeration():
    assert group_by_group(["abbccddee", "fffffffg"], "a", 1)[1] == Fraction(1, 2)


def cut(pairs, values, adversary, threshold, wanted):
    """A ledger of unions (one part and the rest of each), and the cuts of them, evaluated."""
    labels = Labels(values)
    ledger = adversary.ledger(threshold, wanted)
    unions = counted([one + other for one, other in pairs], "single", labels)
    ledger.commit(None, unions.merge([0] * len(pairs)))
    ledger.commit(unions.merge([0] * len(pairs)), unions)
    parts = counted([part for pair in pairs for part in pair], "single", labels)
    return ledger.evaluate(unions, parts, np.repeat(np.arange(len(pairs)), 2))


@pytest.mark.parametrize(
    ("pairs", "values", "point", "threshold", "each", "jointly"),
    [
        # Of the first cut's people hardly anyone is left once b is ruled out (T = 1); relatives
        # from the second cut's first part all lack a in 2/3 of the worlds. Only both give 3/5.
        (
            [("abbbbbbbbbc", "abcdefgh" * 4), ("aaacdefgh", "abcdefgh" * 4)],
            "abcdefgh",
            (1, 0, 1),
            Fraction(3, 5),
            [True, True],
            {(1, 0): True, (0, 1): True, (1, 1): False},
        ),
        # The first cut comes to 1/3 with one relative; the second to 3/8, though not by T alone:
        # a choice at the threshold is settled without the proposals that are not chosen.
        (
            [("abbb", "a" + "b" * 30), ("aabbbbb", "a" + "b" * 30)],
            "ab",
            (0, 0, 1),
            Fraction(1, 3) + Fraction(1, 10**14),
            [True, False],
            {(1, 0): True, (0, 1): False},
        ),
    ],
)
def test_cuts_may_be_safe_alone_and_not_together(pairs, values, point, threshold, each, jointly):
    only_a = np.array([value == "a" for value in values])
    evaluation = cut(pairs, values, Facts(*point), threshold, only_a)
    assert evaluation.safe_each().tolist() == each
    for chosen, safe in jointly.items():
        assert evaluation.safe_jointly(np.array(chosen, dtype=bool)) is safe
        groups = [p for pair, yes in zip(pairs, chosen, strict=True)
                  for p in (pair if yes else ["".join(pair)])]  # fmt: skip
        found = Facts(*point).disclosure(GroupCounts.from_bags(groups), "a").exact
        assert (found < threshold) is safe


def test_an_evaluation_of_nothing_is_safe():
    counts = GroupCounts.from_bags(["abcd"])
    ledger = Facts().ledger("1/2", None)
    ledger.commit(None, counts)
    evaluation = ledger.evaluate(None, counts.take(np.arange(0)), np.arange(0))
    assert evaluation.safe_each().tolist() == []
    assert evaluation.safe_jointly(np.zeros(0, dtype=bool))
    evaluation.commit(np.zeros(0, dtype=bool))
    assert ledger.admits(None, counts)


# Figure 6 of the paper, whose fifth number is misprinted.
SMALL = {"AIDS": 2, "Flu": 2} | {f"rare {i}": 2 for i in range(8)}
LARGE = {"AIDS": 98, "Flu": 851, "rare 0": 16} | {f"rare {i}": 5 for i in range(1, 8)}
WHOLE = {value: SMALL[value] + LARGE[value] for value in SMALL}
POINT = (1, 12, 4)


def as_printed():
    """A1 to A5 of figure 6 after the cut, with its A5 = min(A4, V(g, m, k))."""
    numbers = formulas.five([WHOLE], "AIDS", POINT)
    for part in (SMALL, LARGE):
        own = formulas.five([part], "AIDS", POINT)
        numbers[:4] = [min(pair) for pair in zip(numbers[:4], own[:4], strict=True)]
        numbers[4] = min(numbers[3], own[4])
    return numbers


def test_a_cut_that_figure_6_as_printed_accepts_is_refused():
    assert [sum(part.values()) for part in (SMALL, LARGE, WHOLE)] == [20, 1000, 1020]
    limit = Fraction(4, 5)
    truth = formulas.breach(formulas.five([SMALL, LARGE], "AIDS", POINT))
    assert formulas.breach(as_printed()) < limit < truth
    both = GroupCounts.from_bags([SMALL, LARGE])
    whole = both.merge([0, 0])
    assert Facts(*POINT).disclosure(both, "AIDS").exact == truth
    ledger = Facts(*POINT).ledger(limit, about(both, "AIDS"))
    assert ledger.admits(None, whole)
    ledger.commit(None, whole)
    assert not ledger.admits(whole, both)
    assert not ledger.admits(whole, both.take([1, 0]))
    evaluation = ledger.evaluate(whole, both, np.array([0, 0]))
    assert evaluation.safe_each().tolist() == [False]
    assert evaluation.safe_jointly(np.array([True])) is False


# ---- minima that rise again ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("semantics", "point", "parts", "limit"),
    [
        ("set", (2, 0, 0), [["a", ""], ["bc"]], "9/17"),
        ("multiset", (1, 0, 0), [["a", ""], ["bb"]], "9/17"),
    ],
)
def test_dividing_can_make_safe_and_merging_unsafe(semantics, point, parts, limit):
    whole = [person for part in parts for person in part]
    assert worst([whole], semantics, point, ONLY_A) == Fraction(limit)
    assert worst(parts, semantics, point, ONLY_A) == Fraction(1, 2)
    one, two = counted([whole], semantics), counted(parts, semantics)
    ledger = Facts(*point).ledger(limit, ONLY_A, semantics)
    assert not ledger.admits(None, one)
    ledger.commit(None, one)
    assert ledger.admits(one, two)
    assert ledger.evaluate(one, two, np.array([0, 0])).safe_each().tolist() == [True]
    assert ledger.evaluate(one, two, np.array([0, 0])).risk_ratio() == pytest.approx([17 / 18])
    assert ledger.evaluate(one, one, np.array([0])).risk_ratio() == pytest.approx([1])
    ledger.commit(one, two)
    assert stands(ledger, semantics)
    assert not ledger.admits(two, one)


@pytest.mark.parametrize(
    ("semantics", "limit"), [("single", "2/3"), ("set", "2/3"), ("multiset", "5/9")]
)
def test_of_two_bad_groups_alike_both_must_go(semantics, limit):
    bad, good = ["a", "a", "b"], ["b", "b", "b"]
    assert worst([bad], semantics, (0, 0, 0)) == Fraction(limit)
    ledger = started(semantics, (0, 0, 0), limit, ONLY_A, [[bad, good, bad]], [])
    merged, pair = counted([bad + good], semantics), counted([bad, good], semantics)
    assert not ledger.admits(pair, merged)
    evaluation = weighed(ledger, [bad, bad], [([0], [good]), ([1], [good])], semantics)
    assert evaluation.safe_each().tolist() == [False, False]
    assert evaluation.risk_ratio() == pytest.approx([1, 1])
    assert evaluation.safe_jointly(np.array([True, True]))
    ledger.commit(pair, merged)
    assert not stands(ledger, semantics)
    assert ledger.admits(counted([bad], semantics), counted([good], semantics))
    ledger.commit(counted([bad], semantics), counted([good], semantics))
    assert stands(ledger, semantics)


def test_groups_with_the_same_values_are_told_apart_by_how_many_people_there_are():
    small, large, none = ["a", ""], ["a", "", "", ""], counted([[""]], "set")
    for groups in ([small, large], [large, small]):
        ledger = started("set", (0, 0, 0), "1/2", None, [groups], [])
        assert ledger.admits(counted([small], "set"), none)
        assert not ledger.admits(counted([large], "set"), none)


def test_what_is_known_of_one_group_counts_as_long_as_it_is_there():
    # A target in the first group and relatives in the second are worse than all in one.
    target, family, rest = ["ab", *"bbbb", ""], [*"aaaa", *[""] * 4], ["a", "", "", ""]
    point, groups = (1, 0, 1), [target, family, rest]
    both = worst(groups, "set", point, ONLY_A)
    one, other = (worst(g, "set", point, ONLY_A) for g in ([target, rest], [family, rest]))
    assert max(one, other) < both
    ledger = started("set", point, both, ONLY_A, [groups], [])
    assert not stands(ledger, "set")
    evaluation = weighed(ledger, groups, [([0], [rest]), ([1], [rest]), ([2], [rest])], "set")
    assert evaluation.safe_each().tolist() == [True, True, False]
    shares = [float(other / both), float(one / both), 1]
    assert evaluation.risk_ratio() == pytest.approx(shares)


def test_a_proposal_must_mend_every_value_that_is_unsafe():
    bad, good = ["ab"], ["a", "b", "", ""]
    ledger = started("set", (0, 0, 0), "1/2", None, [[bad, ["c"], ["d", ""]]], [])
    mend = [([0], [good]), ([1], [["c", "", ""]]), ([2], [["d", "", ""]])]
    evaluation = weighed(ledger, [bad, ["c"], ["d", ""]], mend, "set")
    assert evaluation.safe_each().tolist() == [False] * 3
    for chosen, safe in [((1, 1, 0), False), ((1, 0, 1), False), ((0, 1, 1), False)]:
        assert evaluation.safe_jointly(np.array(chosen, dtype=bool)) is safe
    assert evaluation.safe_jointly(np.ones(3, dtype=bool))


def test_at_threshold_one_only_certainty_is_refused_however_little_is_left_of_doubt():
    def alike(occurrences):
        cells = (np.array(x) for x in ([10], [0, 1], [0], [occurrences]))
        return GroupCounts(*cells, VALUES, semantics="multiset")

    for occurrences in (1, 300, 5_000, 10_000, 10**9):  # down to 0.9**(10**9)
        assert Facts().ledger(1, None, "multiset").admits(None, alike(occurrences))
        assert not Facts(k=9).ledger(1, None, "multiset").admits(None, alike(occurrences))
    for sure in (["a"], ["a", "a"]):
        assert not Facts().ledger(1, None, "set").admits(None, counted([sure], "set"))


def test_a_group_without_values_changes_nothing_but_is_there():
    empty, known = ["", ""], ["a", ""]
    ledger = started("set", (1, 1, 0), 1, None, [[empty]], [])
    assert stands(ledger, "set")
    assert not ledger.admits(None, counted([known], "set"))
    evaluation = weighed(ledger, [empty], [([0], [[""], [""]])], "set")
    assert evaluation.safe_each().tolist() == [True]
    assert evaluation.risk_ratio().tolist() == [0.0]
    evaluation.commit(np.array([True]))
    ledger.commit(counted([[""], [""]], "set"), counted([known], "set"))
    assert not stands(ledger, "set")
    assert weighed(ledger, [known], [([0], [empty])], "set").safe_each().tolist() == [True]


@ALL
def test_a_group_that_is_not_there_cannot_be_replaced(semantics):
    here, there = ["a", "b"], ["a", "b", "b"]
    ledger = started(semantics, (0, 0, 0), "3/4", None, [[here, there]], [])
    one = counted([here], semantics)
    for missing in ([here, here], [["b"]], [there, here, there]):
        gone = counted(missing, semantics)
        evaluation = weighed(
            ledger, missing, [([g], [m]) for g, m in enumerate(missing)], semantics
        )
        everything = np.ones(len(missing), dtype=bool)
        for ask in (
            lambda g=gone: ledger.admits(g, one),
            lambda g=gone: ledger.commit(g, one),
            lambda e=evaluation, every=everything: e.safe_jointly(every),
            lambda e=evaluation, every=everything: e.commit(every),
            evaluation.safe_each,
        ):
            with pytest.raises(InternalError, match="not in the ledger"):
                ask()
    ledger.commit(one, counted([there], semantics))
    with pytest.raises(InternalError, match="not in the ledger"):
        ledger.admits(one, one)
    ledger.commit(counted([there, there], semantics), one)
    assert stands(ledger, semantics)


# ---- Implications ----------------------------------------------------------------------------


@pytest.mark.parametrize("values", [None, ["v5", "v6"]])
def test_a_search_ends_where_every_disclosure_is_below_the_limit(values):
    random = np.random.default_rng(1)
    drawn = np.minimum(random.exponential(3, 900), 11).astype(int)
    columns = {"x": random.integers(0, 30, 900), "y": random.integers(0, 9, 900)}
    table = pa.table({**columns, "disease": [f"v{i}" for i in drawn]})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["x", "y"], sensitive="disease"))
    policy = fk.Policy([fk.Requirement(Implications(2), below="3/4", values=values)])
    counts = microdata.counts(fk.Mondrian().partition(microdata, policy))
    assert counts.n_groups > 20
    found = Implications(2).disclosures(counts)
    assert max(found[x].exact for x in values or found) < Fraction(3, 4)
