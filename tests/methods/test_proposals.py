"""Proposals are accepted as one by one; where minima may rise, together, and else by halves."""

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases_many import VALUES, counted, groupings, parted, weighed, worst
from tests.examples import examples
from tests.methods.reference import safe
from tests.methods.tables import AMOUNTS, policies

import foreknow as fk
from foreknow.data.labels import Labels

LETTERS = Labels("STUV")


def counts_of_bags(bags):
    rows = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    codes = np.array([LETTERS.codes[x] for bag in bags for x in bag])
    return fk.GroupCounts.from_pairs(rows, codes, values=LETTERS, n_groups=len(bags))


def proposals_of(random, n_proposals, n_values, least, most):
    """Bags in proposals of one to three, each bag mixed to another degree."""
    bags, owner = [], []
    for proposal in range(n_proposals):
        for _ in range(random.integers(1, 4)):
            size = int(random.integers(least, most + 1))
            weights = random.dirichlet(np.full(n_values, random.choice([0.3, 1, 5])))
            bags.append("".join(random.choice(list("STUV")[:n_values], size, p=weights)))
            owner.append(proposal)
    return bags, np.array(owner)


def one_by_one(ledger, bags, owner):
    """Ask `admits` for each proposal and commit it at once if it may be."""
    accepted = []
    for proposal in range(owner.max() + 1):
        mine = counts_of_bags([bag for bag, p in zip(bags, owner, strict=True) if p == proposal])
        accepted.append(ledger.admits(None, mine))
        if accepted[-1]:
            ledger.commit(None, mine)
    return accepted


def plainly(root, bags, owner, rules):
    """The same with fractions, from scratch each time."""
    held, accepted = [(len(root), Counter(root))], []
    for proposal in range(owner.max() + 1):
        mine = [
            (len(bag), Counter(bag)) for bag, p in zip(bags, owner, strict=True) if p == proposal
        ]
        accepted.append(safe(held + mine, rules))
        if accepted[-1]:
            held += mine
    return accepted


@examples(80)
@given(data=st.data(), seed=st.integers(0, 2**32), n_proposals=st.integers(1, 12))
def test_with_one_value_each_it_is_asking_one_by_one(data, seed, n_proposals):
    policy, rules = data.draw(policies("STUV"))
    random = np.random.default_rng(seed)
    bags, owner = proposals_of(random, n_proposals, 4, 1, 6)
    root = "STUV" * 4
    batch, single = policy.ledger(LETTERS), policy.ledger(LETTERS)
    for ledger in (batch, single):
        ledger.commit(None, counts_of_bags([root]))
    accepted = batch.evaluate(None, counts_of_bags(bags), owner).accept_greedily().tolist()
    assert accepted == one_by_one(single, bags, owner)
    if batch.admits(None, counts_of_bags([root])):  # the root itself is safe
        assert accepted == plainly(root, bags, owner, rules)


def crossing_bags(random, n_proposals):
    """Groups that are weak in one of two ways each, and unsafe beside the other kind only.

    With l = 1, a group of S and many T leaves the target few others (T of Theorem 2 is small); one
    with a large share of S makes a family likely to have it (V is small).
    """
    bags = []
    for _ in range(n_proposals):
        if random.random() < 0.5:
            bags.append("S" + "T" * int(random.integers(10, 60)) + "U" * int(random.integers(1, 9)))
        else:
            share = int(random.integers(3, 12))
            bags.append("S" * share + "TUV" * int(random.integers(2, 5) * share))
    return bags, np.arange(n_proposals)


@pytest.mark.parametrize(
    ("seed", "n"), [(0, 40), *(pytest.param(seed, 120, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_of_many_proposals_some_are_refused_beside_others_only(seed, n):
    bags, owner = crossing_bags(np.random.default_rng(seed), n)
    points = [(fk.Facts(l=1, m=8), "0.5"), (fk.Facts(l=1, k=1, m=8), "0.53")]
    policy = fk.Policy([fk.Requirement(points, values=["S"])])
    batch, single = policy.ledger(LETTERS), policy.ledger(LETTERS)
    weighing = batch.evaluate(None, counts_of_bags(bags), owner)
    alone = weighing.safe_each()
    accepted = weighing.accept_greedily()
    assert accepted.tolist() == one_by_one(single, bags, owner)
    rules = [(["S"], (1, 0, 8), Fraction("0.5")), (["S"], (1, 1, 8), Fraction("0.53"))]
    assert accepted.tolist() == plainly("TUV", bags, owner, rules)
    assert accepted.sum() + n // 24 < alone.sum() < n


def test_nothing_proposed_is_nothing_accepted():
    policy = fk.Policy([fk.Requirement(fk.Facts(), "1/2")])
    ledger = policy.ledger(LETTERS)
    ledger.commit(None, counts_of_bags(["STUV"]))
    empty = counts_of_bags(["S"]).take(np.array([], dtype=np.int64))
    nothing = ledger.evaluate(None, empty, np.array([], dtype=np.int64))
    assert nothing.accept_greedily().tolist() == []


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


def settled_as_by_halves(semantics, groups, proposals, rules):
    """Hold what a fresh ledger accepts, and knows afterwards, against plain judging."""
    ledger = policy_of(rules, semantics).ledger(VALUES)
    assert not ledger.monotone
    ledger.commit(None, counted(groups, semantics))
    weighing = weighed(ledger, groups, [([g], parts) for g, parts in proposals], semantics)

    def is_safe(chosen):
        return share(after(groups, chosen), semantics, rules) < 1

    shares = [float(share(after(groups, [p]), semantics, rules)) for p in proposals]
    assert weighing.risk_ratio() == pytest.approx(shares, rel=1e-9, abs=1e-300)
    alone = [is_safe([p]) for p in proposals]
    assert weighing.safe_each().tolist() == alone
    accepted = weighing.accept_greedily()
    assert accepted.dtype == bool
    expected = by_halves(proposals, is_safe)
    assert [p for p, yes in zip(proposals, accepted, strict=True) if yes] == expected

    left = after(groups, expected)
    nothing = counted([], semantics)
    assert ledger.admits(None, nothing) is (share(left, semantics, rules) < 1)
    ledger.commit(counted(left, semantics), nothing)  # it knows just these
    return alone, accepted.tolist()


@examples(100)
@given(situations())
def test_it_accepts_what_is_safe_by_halves_and_commits_just_that(case):
    settled_as_by_halves(*case)


def crossing(chance, n_proposals, semantics):
    """Groups from which something is cut that is weak in one of two ways, by more or by less.

    Where nearly everybody has b, an adversary who knows that b comes only with a is nearly sure
    of a target. Where many have a, relatives probably have it. Together that is worse.
    """
    rest, proposals = ["a", *[""] * 40], []
    for g in range(n_proposals):
        if chance.random() < 0.5:
            free = chance.randint(2, 4)
            size = 40 if semantics == "set" else 20 * free
            often = "b" if semantics == "set" else "bbb"
            part = ["a", *[often] * (size - free), *[""] * (free - 1)]
        else:
            part = [*"aaaa", *[""] * 4 * chance.randint(5, 19)]
        proposals.append((g, [part, rest]))
    return [part + rest for _, (part, rest) in proposals], proposals


@pytest.mark.thinned(2)
@pytest.mark.parametrize("semantics", ["set", "multiset"])
@pytest.mark.parametrize("odds", [("1.5", "0.1"), ("0.1", "1.5"), ("1.5", "1.5")])
def test_of_proposals_that_are_safe_by_themselves_some_are_refused_beside_others(semantics, odds):
    only_a, refused = [True, False, False, False], 0
    rules = [
        (point, 1 / (1 + Fraction(least)), only_a)
        for point, least in zip([(1, 0, 4), (1, 1, 4)], odds, strict=True)
    ]
    for seed in range(2):  # either rule may be the one that refuses
        groups, proposals = crossing(random.Random(seed), 13, semantics)
        alone, accepted = settled_as_by_halves(semantics, groups, proposals, rules)
        assert sum(accepted) >= 2
        refused += sum(alone) - sum(accepted)
    assert refused >= 2


def test_all_are_accepted_where_all_are_safe_together_and_none_where_there_is_none():
    groups = [["a", "", "", ""]] * 8
    proposals = [(g, [["a", ""], ["", ""]]) for g in range(8)]
    rules = [((0, 0, 0), Fraction(2, 3), [True] * 4)]
    alone, accepted = settled_as_by_halves("set", groups, proposals, rules)
    assert alone == accepted == [True] * 8
    ledger = policy_of(rules, "set").ledger(VALUES)
    nothing = ledger.evaluate(None, counted([], "set"), np.zeros(0, dtype=np.int64))
    assert nothing.accept_greedily().tolist() == []
