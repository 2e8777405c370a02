"""The ledger of Facts where minima may rise again, against judging what is there from scratch."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases_many import (
    MASKS,
    POINTS,
    VALUES,
    after,
    changed,
    counted,
    groupings,
    histories,
    parted,
    proposal,
    right,
    stands,
    started,
    thresholds,
    weighed,
    worst,
)
from tests.examples import examples

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts
from foreknow.errors import InternalError

ONLY_A = np.array([True, False, False, False])


@pytest.mark.parametrize(
    ("semantics", "falling"), [("single", True), ("set", False), ("multiset", False)]
)
def test_only_where_merging_can_hurt_everything_present_is_kept(semantics, falling):
    assert Facts(1, 1, 1).ledger("1/2", None, semantics).falling is falling


@examples(250)
@given(st.data(), histories(), POINTS, MASKS)
def test_every_change_of_a_history_is_judged_as_from_scratch(data, history, point, wanted):
    semantics, stages, steps = history
    truths = [worst(groups, semantics, point, wanted) for groups in stages]
    threshold = data.draw(thresholds(truths))
    ledger = started(semantics, point, threshold, wanted, stages[:1], [])
    assert right(stands(ledger, semantics), truths[0], threshold)
    for groups, change, truth in zip(stages, steps, truths[1:], strict=False):
        removed, added = proposal(groups, change, semantics)
        assert right(ledger.admits(removed, added), truth, threshold), (groups, change)
        ledger.commit(removed, added)
        assert right(stands(ledger, semantics), truth, threshold), (groups, change)


@st.composite
def weighings(draw):
    """A history, and for some groups that are left at its end what might replace each."""
    semantics, stages, steps = draw(histories(3))
    groups = stages[-1]
    chosen = draw(st.lists(st.booleans(), min_size=len(groups), max_size=len(groups)))
    proposals = [([g], draw(parted(groups[g]))) for g, yes in enumerate(chosen) if yes]
    point, wanted = draw(POINTS), draw(MASKS)
    outcomes = [groups, after(groups, proposals), *(after(groups, [p]) for p in proposals)]
    threshold = draw(thresholds({worst(o, semantics, point, wanted) for o in outcomes}))
    return semantics, stages, steps, proposals, point, wanted, threshold


@examples(200)
@given(weighings())
def test_alone_and_reach_are_about_each_proposal_by_itself(case):
    semantics, stages, steps, proposals, point, wanted, threshold = case
    ledger = started(semantics, point, threshold, wanted, stages, steps)
    weighing = weighed(ledger, stages[-1], proposals, semantics)
    alone, reach = weighing.safe_each(), weighing.risk_ratio()
    assert alone.dtype == bool
    assert alone.shape == reach.shape == (len(proposals),)
    for change, safe, share in zip(proposals, alone.tolist(), reach.tolist(), strict=True):
        truth = worst(changed(stages[-1], change), semantics, point, wanted)
        assert right(safe, truth, threshold), change
        assert share == pytest.approx(float(truth / threshold), rel=1e-9, abs=1e-300), change
        assert safe is ledger.admits(*proposal(stages[-1], change, semantics))


@examples(200)
@given(st.data(), weighings())
def test_together_is_the_verdict_with_all_the_chosen_and_commit_carries_them_out(data, case):
    semantics, stages, steps, proposals, point, wanted, threshold = case
    ledger = started(semantics, point, threshold, wanted, stages, steps)
    weighing = weighed(ledger, stages[-1], proposals, semantics)
    left, groups = list(enumerate(proposals)), stages[-1]
    done = []
    for _ in range(3):  # one weighing is asked, told, and asked again about the others
        chosen = [pair for pair in left if data.draw(st.booleans())]
        mask = np.isin(np.arange(len(proposals)), [p for p, _ in chosen])
        reached = after(groups, done + [change for _, change in chosen])
        truth = worst(reached, semantics, point, wanted)
        assert right(weighing.safe_jointly(mask), truth, threshold), chosen
        if data.draw(st.booleans()):
            weighing.commit(mask)
            done += [change for _, change in chosen]
            left = [pair for pair in left if pair not in chosen]
            assert right(stands(ledger, semantics), truth, threshold), chosen
    at_last = after(groups, done)
    truth = worst(at_last, semantics, point, wanted)
    assert right(stands(ledger, semantics), truth, threshold)
    if at_last:  # and it knows every group that is there
        ledger.commit(counted(at_last, semantics), counted([], semantics))
        assert stands(ledger, semantics)


@examples(100)
@given(st.data(), POINTS, MASKS)
def test_groups_may_come_without_others_leaving(data, point, wanted):
    groups = data.draw(groupings("multiset", 2, 5))
    truths = [worst([group], "multiset", point, wanted) for group in groups]
    threshold = data.draw(thresholds(truths))
    ledger = Facts(*point).ledger(threshold, wanted, "multiset")
    weighing = ledger.evaluate(None, counted(groups, "multiset"), np.arange(len(groups)))
    for safe, truth in zip(weighing.safe_each().tolist(), truths, strict=True):
        assert right(safe, truth, threshold)
    everything = np.ones(len(groups), dtype=bool)
    truth = worst(groups, "multiset", point, wanted)
    assert right(weighing.safe_jointly(everything), truth, threshold)
    weighing.commit(everything)
    assert right(stands(ledger, "multiset"), truth, threshold)


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
    mended = counted([bad + good], semantics)
    pair = counted([bad, good], semantics)
    assert not ledger.admits(pair, mended)
    weighing = weighed(ledger, [bad, bad], [([0], [good]), ([1], [good])], semantics)
    assert weighing.safe_each().tolist() == [False, False]
    assert weighing.risk_ratio() == pytest.approx([1, 1])
    assert weighing.safe_jointly(np.array([True, True]))
    ledger.commit(pair, mended)
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
    weighing = weighed(ledger, groups, [([0], [rest]), ([1], [rest]), ([2], [rest])], "set")
    assert weighing.safe_each().tolist() == [True, True, False]
    assert weighing.risk_ratio() == pytest.approx([float(other / both), float(one / both), 1])


def test_a_proposal_must_mend_every_value_that_is_unsafe():
    bad, good = ["ab"], ["a", "b", "", ""]
    ledger = started("set", (0, 0, 0), "1/2", None, [[bad, ["c"], ["d", ""]]], [])
    mend = [([0], [good]), ([1], [["c", "", ""]]), ([2], [["d", "", ""]])]
    weighing = weighed(ledger, [bad, ["c"], ["d", ""]], mend, "set")
    assert weighing.safe_each().tolist() == [False] * 3
    for chosen, safe in [((1, 1, 0), False), ((1, 0, 1), False), ((0, 1, 1), False)]:
        assert weighing.safe_jointly(np.array(chosen, dtype=bool)) is safe
    assert weighing.safe_jointly(np.ones(3, dtype=bool))


def test_where_minima_only_fall_nothing_mends_and_reach_says_just_that():
    groups = [["a", "b", "c", "d"], ["a", "a", "b", "c"]]
    ledger = Facts().ledger("2/3", ONLY_A, "single")
    ledger.commit(None, counted(groups, "single"))
    cuts = [([0], [["a", "b"], ["c", "d"]]), ([1], [["a", "a", "b"], ["c"]])]
    assert weighed(ledger, groups, cuts, "single").risk_ratio().tolist() == [0.0, np.inf]


# ---- the edges -------------------------------------------------------------------------------


def test_asking_changes_nothing():
    groups = [["a", "b", "", ""], ["a", "a", "b", ""]]
    ledger = started("set", (1, 0, 0), "3/4", None, [groups], [])
    for _ in range(2):
        assert stands(ledger, "set")
        assert ledger.admits(counted([groups[0]], "set"), counted([["a", "b", ""], [""]], "set"))
        assert not ledger.admits(
            counted([groups[0]], "set"), counted([["a"], ["b", "", ""]], "set")
        )
        weighing = weighed(ledger, groups, [([0], [["a"]]), ([1], [groups[1]])], "set")
        assert weighing.safe_each().tolist() == [False, True]
        assert not weighing.safe_jointly(np.array([True, True]))
        weighing.commit(np.array([False, False]))


def test_at_threshold_one_only_certainty_is_refused_however_little_is_left_of_doubt():
    def alike(occurrences):
        return GroupCounts(
            *(np.array(x) for x in ([10], [0, 1], [0], [occurrences])),
            VALUES,
            semantics="multiset",
        )

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
    weighing = weighed(ledger, [empty], [([0], [[""], [""]])], "set")
    assert weighing.safe_each().tolist() == [True]
    assert weighing.risk_ratio().tolist() == [0.0]
    weighing.commit(np.array([True]))
    ledger.commit(counted([[""], [""]], "set"), counted([known], "set"))
    assert not stands(ledger, "set")
    assert weighed(ledger, [known], [([0], [empty])], "set").safe_each().tolist() == [True]


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_a_group_that_is_not_there_cannot_be_replaced(semantics):
    here, there = ["a", "b"], ["a", "b", "b"]
    ledger = started(semantics, (0, 0, 0), "3/4", None, [[here, there]], [])
    one = counted([here], semantics)
    for missing in ([here, here], [["b"]], [there, here, there]):
        gone = counted(missing, semantics)
        with pytest.raises(InternalError, match="not in the ledger"):
            ledger.admits(gone, one)
        with pytest.raises(InternalError, match="not in the ledger"):
            ledger.commit(gone, one)
        weighing = weighed(ledger, missing, [([g], [m]) for g, m in enumerate(missing)], semantics)
        everything = np.ones(len(missing), dtype=bool)
        for ask in (weighing.safe_jointly, weighing.commit, lambda _, w=weighing: w.safe_each()):
            with pytest.raises(InternalError, match="not in the ledger"):
                ask(everything)
    ledger.commit(one, counted([there], semantics))
    with pytest.raises(InternalError, match="not in the ledger"):
        ledger.admits(one, one)
    ledger.commit(counted([there, there], semantics), one)
    assert stands(ledger, semantics)


def test_counts_over_other_values_are_a_bug_of_the_search():
    ledger = Facts().ledger("1/2", None, "set")
    ledger.commit(None, counted([["a", ""]], "set"))
    with pytest.raises(InternalError, match="other value labels"):
        ledger.admits(None, GroupCounts.from_people([[{"z"}, set()]], semantics="set"))
