"""Many proposals weighed at once, against the ledger asked one by one."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.splitting import POINTS, counted, letters, split, worst
from tests.examples import examples

from foreknow.adversaries.facts.facts import Facts


@st.composite
def situations(draw):
    """A release in groups, and cuts proposed for some of them."""
    alphabet = draw(st.sampled_from(["aab", "aabbcd", "abcde"]))
    bag = st.lists(st.sampled_from(alphabet), min_size=1, max_size=8)
    bags = draw(st.lists(bag, min_size=1, max_size=5))
    chosen = draw(st.lists(st.booleans(), min_size=len(bags), max_size=len(bags)))
    cut = [g for g, yes in enumerate(chosen) if yes] or [0]
    return bags, [(g, draw(split(bags[g]))) for g in cut]


@st.composite
def weighings(draw):
    """A situation, amounts, the values that count, and a threshold that some outcome attains."""
    bags, proposals = draw(situations())
    values = letters(x for bag in bags for x in bag)
    point = draw(POINTS)
    wanted = None
    if draw(st.booleans()):
        wanted = np.array(draw(st.lists(st.booleans(), min_size=5, max_size=5)))[: len(values)]
    outcomes = [bags, after(bags, proposals), *(after(bags, [p]) for p in proposals)]
    attained = {worst(outcome, values, point, wanted) for outcome in outcomes} - {0}
    barely = {p + Fraction(1, 10**14) for p in attained if p < 1}  # floats cannot tell it from p
    threshold = draw(st.sampled_from([*sorted(attained | barely), "1/2", "3/4", 1]))
    return bags, proposals, values, Facts(*point), threshold, wanted


def after(bags, proposals):
    """The release with those proposals carried out."""
    cut = dict(proposals)
    return [part for g, bag in enumerate(bags) for part in cut.get(g, [bag])]


def start(bags, values, facts, threshold, wanted):
    """A ledger that came down from one group to these."""
    ledger = facts.ledger(threshold, values=wanted)
    root = counted([[x for bag in bags for x in bag]], values)
    ledger.commit(None, root)
    ledger.commit(root, counted(bags, values))
    return ledger


def weighed(ledger, bags, proposals, values):
    """All proposals in one weighing."""
    removed = counted([bags[g] for g, _ in proposals], values)
    added = counted([part for _, parts in proposals for part in parts], values)
    owner = np.repeat(np.arange(len(proposals)), [len(parts) for _, parts in proposals])
    return ledger.evaluate(removed, added, owner)


@examples(500, deadline=None)
@given(weighings())
def test_alone_is_each_proposal_by_itself(case):
    bags, proposals, values, facts, threshold, wanted = case
    ledger = start(bags, values, facts, threshold, wanted)
    found = weighed(ledger, bags, proposals, values).safe_each()
    assert found.dtype == bool
    assert found.shape == (len(proposals),)
    point = (facts.l, facts.k, facts.m)
    for safe, (g, parts) in zip(found.tolist(), proposals, strict=True):
        truth = worst(after(bags, [(g, parts)]), values, point, wanted)
        assert safe is (truth < ledger.threshold), (bags, parts)
        assert safe is ledger.admits(counted([bags[g]], values), counted(parts, values))


@examples(500, deadline=None)
@given(st.data(), weighings())
def test_together_is_the_verdict_on_the_release_with_all_the_chosen(data, case):
    bags, proposals, values, facts, threshold, wanted = case
    ledger = start(bags, values, facts, threshold, wanted)
    weighing = weighed(ledger, bags, proposals, values)
    point = (facts.l, facts.k, facts.m)
    for _ in range(4):
        mask = data.draw(st.lists(st.booleans(), min_size=len(proposals), max_size=len(proposals)))
        chosen = [p for p, yes in zip(proposals, mask, strict=True) if yes]
        truth = worst(after(bags, chosen), values, point, wanted)
        assert weighing.safe_jointly(np.array(mask)) is (truth < ledger.threshold), (bags, chosen)


@examples(400, deadline=None)
@given(st.data(), weighings())
def test_committing_a_choice_is_committing_one_by_one(data, case):
    bags, proposals, values, facts, threshold, wanted = case
    at_once = start(bags, values, facts, threshold, wanted)
    one_by_one = start(bags, values, facts, threshold, wanted)
    mask = data.draw(st.lists(st.booleans(), min_size=len(proposals), max_size=len(proposals)))
    chosen = [p for p, yes in zip(proposals, mask, strict=True) if yes]

    weighed(at_once, bags, proposals, values).commit(np.array(mask))
    for g, parts in chosen:
        one_by_one.commit(counted([bags[g]], values), counted(parts, values))
    assert [at_once.minima(x) for x in values] == [one_by_one.minima(x) for x in values]

    reached = after(bags, chosen)
    at = data.draw(st.integers(0, len(reached) - 1))
    parts = data.draw(split(reached[at]))
    removed, added = counted([reached[at]], values), counted(parts, values)
    point = (facts.l, facts.k, facts.m)
    truth = worst(after(reached, [(at, parts)]), values, point, wanted)
    assert at_once.admits(removed, added) is (truth < at_once.threshold)
    assert one_by_one.admits(removed, added) is (truth < at_once.threshold)


def test_two_cuts_that_are_safe_alone_may_be_unsafe_together():
    # Of the first cut's people hardly anyone is left once b is ruled out (T = 1); relatives from
    # the second cut's first part all lack a in 2/3 of the worlds. Only both give 1/(1 + 2/3).
    target, family, rest = "abbbbbbbbbc", "aaacdefgh", "abcdefgh" * 4
    bags = [list(target + rest), list(family + rest)]
    cuts = [(0, [list(target), list(rest)]), (1, [list(family), list(rest)])]
    values, point = letters(rest), (1, 0, 1)
    only_a = np.array([value == "a" for value in values])
    assert worst(after(bags, cuts), values, point, only_a) == Fraction(3, 5)
    assert all(worst(after(bags, [cut]), values, point, only_a) < Fraction(3, 5) for cut in cuts)

    weighing = weighed(start(bags, values, Facts(*point), "3/5", only_a), bags, cuts, values)
    assert weighing.safe_each().tolist() == [True, True]
    assert weighing.safe_jointly(np.array([True, False]))
    assert weighing.safe_jointly(np.array([False, True]))
    assert not weighing.safe_jointly(np.array([True, True]))


def test_a_choice_at_the_threshold_is_settled_without_the_proposals_that_are_not_chosen():
    # The first cut comes to 1/3 with one relative; the second to 3/8, though not by T alone.
    rest = "a" + "b" * 30
    bags = [list("abbb" + rest), list("aabbbbb" + rest)]
    cuts = [(0, [list("abbb"), list(rest)]), (1, [list("aabbbbb"), list(rest)])]
    only_a = np.array([True, False])
    parts = [worst(after(bags, [cut]), "ab", (0, 0, 1), only_a) for cut in cuts]
    assert parts == [Fraction(1, 3), Fraction(3, 8)]
    just_above = Fraction(1, 3) + Fraction(1, 10**14)
    weighing = weighed(start(bags, "ab", Facts(m=1), just_above, only_a), bags, cuts, "ab")
    assert weighing.safe_each().tolist() == [True, False]
    assert weighing.safe_jointly(np.array([True, False]))
    assert not weighing.safe_jointly(np.array([False, True]))


def test_a_weighing_of_nothing_is_safe():
    ledger = start(["abcd"], "abcd", Facts(), "1/2", None)
    weighing = ledger.evaluate(None, counted(["abcd"], "abcd").take(np.arange(0)), np.arange(0))
    assert weighing.safe_each().tolist() == []
    assert weighing.safe_jointly(np.zeros(0, dtype=bool))
    weighing.commit(np.zeros(0, dtype=bool))
    assert ledger.admits(None, counted(["abcd"], "abcd"))
