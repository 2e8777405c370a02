"""Replay: whether FullDomain would choose the same node of a table with other values assigned.

It chooses the safe node that loses least, and what a node loses follows from quasi-identifiers
alone. So all tables with the bags of a release have its node safe, and lead to it just if every
node that comes before it is unsafe. Where merging never hurts, an unsafe node makes all below it
unsafe: only those need to be asked about above which no other comes before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels
from foreknow.data.microdata import Microdata
from foreknow.methods.fulldomain.lattice import Lattice
from foreknow.methods.fulldomain.losses import Loss
from foreknow.methods.fulldomain.rollup import Rollup
from foreknow.methods.refusal import Refusal, replayed_policy
from foreknow.policy.ledger import PolicyLedger
from foreknow.policy.policy import Policy

if TYPE_CHECKING:
    from foreknow.methods.fulldomain.fulldomain import FullDomain

# Nodes of a lattice, and nodes that are asked about.
_MOST_NODES, _MOST_ASKED = 100_000, 500


@dataclass(frozen=True, eq=False)
class Replay:
    """The result of one search, for tables that assign the bags of its groups otherwise."""

    groups: IntArray  # of each person
    decisions: list[Refusal]  # of each node that is asked about, that it is unsafe
    _codes: NDArray[Any]
    _labels: Labels = field(repr=False)
    _ledger: PolicyLedger = field(repr=False)

    @classmethod
    def of(cls, method: FullDomain, microdata: Microdata, policy: Policy) -> Replay | None:
        """Search, and keep the nodes that come before the chosen one.

        None if that says too little.
        """
        replayed = replayed_policy(microdata, policy)
        if replayed is None:
            return None
        policy = replayed
        if len(policy.looked_at) > 1:  # in other groups than those that are published
            return None
        rollup = Rollup(microdata)
        if prod(top + 1 for top in rollup.tops) > _MOST_NODES:
            return None
        everyone, lattice = microdata.everyone(), Lattice(rollup.tops)
        ledger = policy.ledger(everyone.values, everyone)
        # The search asks more than a ledger where it is close; and what fails by itself may hold
        # among all groups where these are added up.
        if not ledger.is_exact or ledger.looks_back:
            return None
        weights = policy.options.weights_of(attribute.name for attribute in rollup.attributes)
        loss = Loss(rollup, lattice, method.objective, weights)
        result = method.search(microdata, policy)
        highest = _highest_before(lattice.number(result.chosen), lattice, loss)
        if len(highest) > _MOST_ASKED:
            return None
        group_of_row = result.groups
        replay = cls(
            groups=group_of_row[group_of_row >= 0],
            decisions=[],
            _codes=microdata.sensitive_codes,
            _labels=microdata.values,
            _ledger=ledger,
        )
        for node in map(lattice.node, highest):
            counts = rollup.view(node).counts
            replay._note_decision(counts, rollup.spread(node, np.arange(counts.n_groups)))
        return replay

    def _note_decision(self, counts: GroupCounts, child: IntArray) -> None:
        """Add the decision about a node to those that a world must repeat.

        `counts` are those of the groups at the node, and `child` is each person's group there. If
        groups that are the same in every world make the node unsafe, there is nothing to repeat.
        """
        group_of_pair, _ = np.unique(np.stack((self.groups, child)), axis=1)
        is_divided = (np.bincount(group_of_pair) > 1)[self.groups]
        open_groups = np.unique(child[is_divided])
        fixed_groups = np.setdiff1d(np.arange(counts.n_groups), open_groups)
        ledger = self._ledger
        if len(fixed_groups):
            if not ledger.admits(None, counts.take(fixed_groups)):
                return
            ledger = ledger.copy()
            ledger.commit(None, counts.take(fixed_groups))

        def refuses(parts: GroupCounts, owner: IntArray) -> NDArray[np.bool_]:
            return ~ledger.evaluate(None, parts, owner).safe_each()

        is_open = np.isin(child, open_groups)
        self.decisions.append(
            Refusal.of(
                people=np.flatnonzero(is_open),
                child=np.searchsorted(open_groups, child[is_open]),
                group=self.groups[is_open],
                codes=self._codes[is_open],
                labels=self._labels,
                refuses=refuses,
            )
        )

    def same(self, codes: NDArray[Any]) -> bool:
        """True if the same node is chosen in a world of equal bags."""
        for decision in self.decisions:
            table = np.zeros((1, *decision.fixed.shape), dtype=np.int64)
            np.add.at(table[0], (decision.child, codes[decision.people]), 1)
            if not decision.holds(table)[0]:
                return False
        return True


def _highest_before(chosen: int, lattice: Lattice, loss: Loss) -> list[int]:
    """The nodes that a search prefers to the chosen one, without those below another such node.

    If they are unsafe, so are those below them.
    """
    # Of nodes that lose the same, the lower one comes first, then the first in order.
    tie_rank = lattice.heights * len(lattice) + np.arange(len(lattice))
    comes_before = loss.bounds < loss.bounds[chosen]
    comes_before |= (loss.bounds == loss.bounds[chosen]) & (tie_rank < tie_rank[chosen])
    highest = []
    for number in np.flatnonzero(comes_before).tolist():
        if not comes_before[[*lattice.parents(number)]].any():
            highest.append(number)
    return highest
