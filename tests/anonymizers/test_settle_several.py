"""PolicyWeighing.settle where minima may rise: what is safe together, and by halves otherwise."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adversaries.releases_many import VALUES, counted, groupings, parted, worst
from tests.anonymizers.tables import AMOUNTS

import foreknow as fk


def policy_of(rules, semantics):
    """A policy of (amounts, threshold, mask) rules."""
    requirements = [
        fk.Requirement(
            fk.Facts(*point), c, values=[x for x, yes in zip(VALUES, mask, strict=True) if yes]
        )
        for point, c, mask in rules
    ]
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", semantics=semantics, person="pid"
    )
    return fk.Policy(requirements, schema)


def share(groups, semantics, rules):
    """The worst breach probability as a share of its threshold."""
    return max(worst(groups, semantics, point, mask) / c for point, c, mask in rules)


@st.composite
def situations(draw):
    """Groups, and what might replace some of them: parts of each."""
    semantics = draw(st.sampled_from(["set", "multiset"]))
    groups = draw(groupings(semantics, 1, 6))
    proposals = [(g, draw(parted(members, 2))) for g, members in enumerate(groups)]
    chosen = draw(st.lists(st.booleans(), min_size=len(groups), max_size=len(groups)))
    kept = [proposal for proposal, yes in zip(proposals, chosen, strict=True) if yes]
    rules, used = [], set()
    for _ in range(draw(st.integers(1, 2))):
        point = draw(AMOUNTS)
        mask = draw(st.lists(st.booleans(), min_size=4, max_size=4).filter(any))
        outcomes = [groups, after(groups, kept), *(after(groups, [p]) for p in kept)]
        attained = {worst(outcome, semantics, point, mask) for outcome in outcomes} - {0}
        limit = draw(st.sampled_from([*sorted(attained), Fraction(3, 5), Fraction(1)]))
        if point not in used:
            rules.append((point, limit, mask))
        used.add(point)
    return semantics, groups, kept or proposals[:1], rules


def after(groups, proposals):
    """The groups with the proposals carried out."""
    replaced = dict(proposals)
    return [part for g, group in enumerate(groups) for part in replaced.get(g, [group])]


def by_halves(proposals, is_safe):
    """Which are accepted: all if they are safe beside those before; else one half, the other."""

    def settled(waiting, accepted):
        if waiting and is_safe(accepted + waiting):
            return accepted + waiting
        if len(waiting) > 1:
            middle = len(waiting) // 2
            accepted = settled(waiting[:middle], accepted)
            return settled(waiting[middle:], accepted)
        return accepted

    return settled([p for p in proposals if is_safe([p])], [])


@settings(max_examples=200)
@given(situations())
def test_settle_accepts_what_is_safe_by_halves_and_commits_just_that(case):
    semantics, groups, proposals, rules = case
    ledger = policy_of(rules, semantics).ledger(VALUES)
    assert not ledger.monotone
    ledger.commit(None, counted(groups, semantics))
    removed = counted([groups[g] for g, _ in proposals], semantics)
    added = counted([part for _, parts in proposals for part in parts], semantics)
    owner = np.repeat(np.arange(len(proposals)), [len(parts) for _, parts in proposals])
    weighing = ledger.weigh(removed, added, owner)

    def is_safe(chosen):
        return share(after(groups, chosen), semantics, rules) < 1

    shares = [float(share(after(groups, [p]), semantics, rules)) for p in proposals]
    assert weighing.reach() == pytest.approx(shares, rel=1e-9, abs=1e-300)
    assert weighing.alone().tolist() == [is_safe([p]) for p in proposals]
    accepted = weighing.settle()
    assert accepted.dtype == bool
    expected = by_halves(proposals, is_safe)
    assert [p for p, yes in zip(proposals, accepted, strict=True) if yes] == expected

    left = after(groups, expected)
    nothing = counted([], semantics)
    assert ledger.admits(None, nothing) is (share(left, semantics, rules) < 1)
    ledger.commit(counted(left, semantics), nothing)  # it knows just these


def test_all_are_accepted_where_all_are_safe_together_and_none_where_there_is_none():
    groups = [["a", "", "", ""]] * 8
    proposals = [(g, [["a", ""], ["", ""]]) for g in range(8)]
    rules = [((0, 0, 0), Fraction(2, 3), [True] * 4)]
    ledger = policy_of(rules, "set").ledger(VALUES)
    ledger.commit(None, counted(groups, "set"))
    added = counted([part for _, parts in proposals for part in parts], "set")
    weighing = ledger.weigh(counted(groups, "set"), added, np.repeat(np.arange(8), 2))
    assert weighing.settle().all()
    nothing = ledger.weigh(None, counted([], "set"), np.zeros(0, dtype=np.int64))
    assert nothing.settle().tolist() == []
