"""Replay: whether FullDomain would choose the same node of a table with other values assigned.

It chooses the safe node that loses least, and what a node loses follows from quasi-identifiers
alone. So all tables with the bags of a release have its node safe, and lead to it just if every
node that comes before it is unsafe. Where merging never hurts, an unsafe node makes all below it
unsafe: only those need to be asked about above which no other comes before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Labels
from foreknow.data.microdata import Microdata
from foreknow.methods.fulldomain.lattice import Lattice
from foreknow.methods.fulldomain.losses import Loss
from foreknow.methods.fulldomain.rollup import Rollup
from foreknow.methods.refusal import Refusal
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
        """Search, and keep the nodes that came before; None where that says too little."""
        policy = replace(policy, schema=microdata.schema)
        if microdata.semantics != "single" or not policy.monotone():
            return None
        if len(policy.looked_at) > 1:  # in other groups than those that are published
            return None
        rollup = Rollup(microdata)
        if prod(top + 1 for top in rollup.tops) > _MOST_NODES:
            return None
        everyone, lattice = microdata.everyone(), Lattice(rollup.tops)
        ledger = policy.ledger(everyone.values, everyone)
        # The search asks more than a ledger where it is close; and what fails by itself may hold
        # among all groups where these are added up.
        if not ledger.exact or ledger.looks_back:
            return None
        weights = policy.options.weights_of(attribute.name for attribute in rollup.attributes)
        loss = Loss(rollup, lattice, method.objective, weights)
        result = method.search(microdata, policy)
        chosen = lattice.number(result.chosen)
        # Of nodes that lose the same, the lower one comes first, then the first in order.
        tie = lattice.heights * len(lattice) + np.arange(len(lattice))
        before = loss.bounds < loss.bounds[chosen]
        before |= (loss.bounds == loss.bounds[chosen]) & (tie < tie[chosen])
        candidates = np.flatnonzero(before).tolist()
        numbers = [n for n in candidates if not before[[*lattice.parents(n)]].any()]
        if len(numbers) > _MOST_ASKED:
            return None
        of_row = result.groups
        groups = of_row[of_row >= 0]
        replay = cls(groups, [], microdata.sensitive_codes, microdata.values, ledger)
        for node in map(lattice.node, numbers):
            counts = rollup.view(node).counts
            replay._ask(counts, rollup.spread(node, np.arange(counts.n_groups)))
        return replay

    def _ask(self, counts: GroupCounts, child: IntArray) -> None:
        """Note a node, unless its groups that are the same in every world make it unsafe."""
        pairs = np.unique(np.stack((self.groups, child)), axis=1)[0]
        moves = (np.bincount(pairs) > 1)[self.groups]
        open_groups = np.unique(child[moves])
        same = np.setdiff1d(np.arange(counts.n_groups), open_groups)
        ledger = self._ledger
        if len(same):
            if not ledger.admits(None, counts.take(same)):
                return
            ledger = ledger.copy()
            ledger.commit(None, counts.take(same))

        def refuses(parts: GroupCounts, owner: IntArray) -> NDArray[np.bool_]:
            return ~ledger.evaluate(None, parts, owner).safe_each()

        inside = np.isin(child, open_groups)
        group_of = np.searchsorted(open_groups, child[inside])
        bag = self.groups[inside], self._codes[inside], self._labels, refuses
        self.decisions.append(Refusal.of(np.flatnonzero(inside), group_of, *bag))

    def same(self, codes: NDArray[Any]) -> bool:
        """True if the same node is chosen in a world of equal bags."""
        for decision in self.decisions:
            table = np.zeros((1, *decision.fixed.shape), dtype=np.int64)
            np.add.at(table[0], (decision.child, codes[decision.people]), 1)
            if not decision.holds(table)[0]:
                return False
        return True
