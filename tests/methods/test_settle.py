"""PolicyEvaluation.settle accepts what asking one proposal after the other would accept."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.reference import breach
from tests.methods.tables import requirements
from tests.examples import examples

import foreknow as fk
from foreknow.data.labels import Labels

VALUES = Labels("STUV")


def counts_of(bags):
    rows = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    codes = np.array([VALUES.codes[x] for bag in bags for x in bag])
    return fk.GroupCounts.from_pairs(rows, codes, values=VALUES, n_groups=len(bags))


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
        mine = counts_of([bag for bag, p in zip(bags, owner, strict=True) if p == proposal])
        accepted.append(ledger.admits(None, mine))
        if accepted[-1]:
            ledger.commit(None, mine)
    return accepted


def plainly(root, bags, owner, rules):
    """The same with fractions, from scratch each time."""
    held, accepted = [Counter(root)], []
    for proposal in range(owner.max() + 1):
        mine = [Counter(bag) for bag, p in zip(bags, owner, strict=True) if p == proposal]
        unsafe = any(
            breach(held + mine, value, point) >= c for values, point, c in rules for value in values
        )
        accepted.append(not unsafe)
        if not unsafe:
            held += mine
    return accepted


@examples(80, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32), n_proposals=st.integers(1, 12))
def test_settle_is_asking_one_by_one(data, seed, n_proposals):
    drawn = data.draw(st.lists(requirements(list("STUV")), min_size=1, max_size=2))
    try:
        policy = fk.Policy([made for made, _ in drawn])
    except fk.InputError:
        drawn = drawn[:1]
        policy = fk.Policy([drawn[0][0]])
    rules = [rule for _, found in drawn for rule in found]
    random = np.random.default_rng(seed)
    bags, owner = proposals_of(random, n_proposals, 4, 1, 6)
    root = "STUV" * 4
    batch, single = policy.ledger(VALUES), policy.ledger(VALUES)
    for ledger in (batch, single):
        ledger.commit(None, counts_of([root]))
    accepted = batch.evaluate(None, counts_of(bags), owner).accept_greedily().tolist()
    assert accepted == one_by_one(single, bags, owner)
    if batch.admits(None, counts_of([root])):  # the root itself is safe
        assert accepted == plainly(root, bags, owner, rules)


def crossing_proposals(random, n_proposals):
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


@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_proposals_of_which_many_are_refused_beside_others_only(seed):
    random = np.random.default_rng(seed)
    bags, owner = crossing_proposals(random, 120)
    points = [(fk.Facts(l=1, m=8), "0.5"), (fk.Facts(l=1, k=1, m=8), "0.53")]
    policy = fk.Policy([fk.Requirement(points, values=["S"])])
    batch, single = policy.ledger(VALUES), policy.ledger(VALUES)
    weighing = batch.evaluate(None, counts_of(bags), owner)
    alone = weighing.safe_each()
    accepted = weighing.accept_greedily()
    assert accepted.tolist() == one_by_one(single, bags, owner)
    rules = [(["S"], (1, 0, 8), Fraction("0.5")), (["S"], (1, 1, 8), Fraction("0.53"))]
    assert accepted.tolist() == plainly("TUV", bags, owner, rules)
    assert accepted.sum() + 5 < alone.sum() < 120


def test_nothing_proposed_is_nothing_accepted():
    policy = fk.Policy([fk.Requirement(fk.Facts(), "1/2")])
    ledger = policy.ledger(VALUES)
    ledger.commit(None, counts_of(["STUV"]))
    empty = counts_of(["S"]).take(np.array([], dtype=np.int64))
    assert (
        ledger.evaluate(None, empty, np.array([], dtype=np.int64)).accept_greedily().tolist() == []
    )
