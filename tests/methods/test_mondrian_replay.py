"""What a turn of Mondrian says of other proposals: limits get tighter within it."""

import numpy as np

import foreknow as fk
from foreknow.data.counts import GroupCounts
from foreknow.methods.mondrian.replay import Turn


def test_a_turn_refuses_what_its_ledger_refuses_at_that_moment():
    """Two groups that are safe by themselves and not beside each other."""
    first, second, rest = [*"vvvxxxyy"], [*"vvxxxxy"], [*"vxy" * 9]
    counts = GroupCounts.from_bags([first, second, rest])
    policy = fk.Policy([fk.Requirement(fk.Facts(l=1, m=1), below="19/25", values=["v"])])
    facts = fk.Facts(l=1, m=1)
    alone = [facts.disclosure(GroupCounts.from_bags([own, rest]), "v") for own in (first, second)]
    assert all(found.below("19/25") for found in alone)
    assert not facts.disclosure(counts, "v").below("19/25")
    before = policy.ledger(counts.values, counts)
    before.commit(None, GroupCounts.from_bags([first + second + rest]))
    owner, accepted = np.zeros(1, dtype=np.int64), counts.take(np.array([0]))
    after = before.copy()
    assert after.evaluate(None, accepted, owner).accept_greedily().tolist() == [True]
    turn, asked = Turn(before, after, accepted, owner), counts.take(np.array([1]))
    assert turn.refuses(asked, owner, proposal=0).tolist() == [False]  # in place of the first
    assert turn.refuses(asked, owner, proposal=1).tolist() == [True]  # after it
