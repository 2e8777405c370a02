"""The ledger of Facts: the five minima of each value, and the profiles that attain them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.minima import Five, attaining, exact_minimum, five
from foreknow.adversaries.profiles import Profiles, profiles
from foreknow.adversaries.protocol import Mask
from foreknow.adversaries.ratios import FloatArray
from foreknow.counts import GroupCounts
from foreknow.errors import InputError, InternalError, UnsupportedError
from foreknow.labels import Label, Labels
from foreknow.sparse import IntArray

# Relative distance from the threshold within which fractions decide instead of floats.
_CLOSE = 1e-9


@dataclass(eq=False)
class FactsLedger:
    """Minima over all groups there ever were; by Theorem 4 the same as over those there are.

    Parameters
    ----------
    amounts : (l, k, m)
    threshold : Fraction
        Safe while every breach probability is strictly below.
    wanted : bool array, shape (values,), optional
        Which sensitive values count; all when left out.
    """

    amounts: tuple[int, int, int]
    threshold: Fraction
    wanted: Mask | None = None
    # It decides what is close to the threshold, too.
    exact: ClassVar[bool] = True
    _values: Labels | None = field(default=None, init=False)
    _unsafe: bool = field(default=False, init=False)
    _front: Profiles = field(init=False)
    _minima: Five = field(init=False)
    _settled: dict[tuple[int, bytes], bool] = field(init=False, default_factory=dict)

    # ---- one change at a time -------------------------------------------------------------

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """Whether the release stays safe when `added` replaces `removed`."""
        return bool(self.weigh(removed, added, np.zeros(added.n_groups, dtype=np.int64)).alone()[0])

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Note that `added` replaced `removed`."""
        owner = np.zeros(added.n_groups, dtype=np.int64)
        self.weigh(removed, added, owner).commit(np.ones(1, dtype=bool))

    def five(self, value: Label) -> tuple[float, float, float, float, float]:
        """SS1 to SS5 of the paper for one value."""
        if self._values is None:
            return (np.inf, np.inf, np.inf, 1.0, 1.0)
        code = self._values.codes[value]
        together, t_alone, t_known, v_alone, v_known = (float(x[code]) for x in self._minima)
        return (together, t_alone, t_known, v_alone, v_known)

    # ---- many proposals at once -----------------------------------------------------------

    def weigh(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> FactsWeighing:
        """Measure many proposals; added group g belongs to proposal ``owner[g]``, ascending."""
        self._bind(added)
        return FactsWeighing(self, added, np.asarray(owner, dtype=np.int64))

    def _bind(self, counts: GroupCounts) -> None:
        if counts.semantics != "single":
            raise UnsupportedError(
                f"a search with Facts needs 'single' semantics, not {counts.semantics!r}"
            )
        if self._values is None:
            if self.wanted is not None:
                self.wanted = np.asarray(self.wanted)
                if self.wanted.dtype != bool or self.wanted.shape != (counts.n_values,):
                    raise InputError(f"values= must be a bool array of {counts.n_values} entries")
            self._values = counts.values
            self._front = profiles(counts.take(np.empty(0, dtype=np.int64)), 0)
            empty = np.array([np.inf, np.inf, np.inf, 1.0, 1.0])
            self._minima = Five(*np.repeat(empty, counts.n_values).reshape(5, -1))
        elif self._values is not counts.values and self._values != counts.values:
            raise InternalError("a ledger was shown counts with other value labels than before")

    @cached_property
    def bar(self) -> Fraction:
        """The negated ratio that must be exceeded: (1 - c) / c."""
        return (1 - self.threshold) / self.threshold

    def safe(self, ratio: FloatArray) -> tuple[Mask, Mask]:
        """Which negated ratios are surely safe, and which are too close for floats to say."""
        bar = float(self.bar)
        if not bar:  # a ratio of 0 is exact
            return ratio > 0, np.zeros(len(ratio), dtype=bool)
        margin = _CLOSE * bar
        return ratio > bar + margin, np.abs(ratio - bar) <= margin

    def note(self, added: Profiles) -> None:
        """Fold the profiles of new groups into the minima."""
        if not len(added):
            return
        self._settled.clear()
        _, k, m = self.amounts
        self._front = attaining(self._front.join(attaining(added, k, m)), k, m)
        front, starts = self._front, self._front.starts
        at = front.value[starts]
        for minima, least in zip(self._minima, five(front, k, m).least(starts), strict=True):
            minima[at] = least
        safe, close = self.safe(Five(*(ratio[at] for ratio in self._minima)).negated_ratio())
        self._unsafe = not np.all(safe | close) or not all(
            self.settle(int(code), front.take(slice(0))) for code in at[close]
        )

    def settle(self, value: int, added: Profiles) -> bool:
        """Decide with fractions whether one value stays safe with more groups."""
        first, last = np.searchsorted(self._front.value, (value, value + 1))
        # Groups are asked about again and again; without others, all values are alike.
        key = (
            value if first < last else -1,
            np.concatenate((added.n, added.s, added.identity)).tobytes(),
        )
        if key not in self._settled:
            _, k, m = self.amounts
            everything = self._front.take(slice(first, last)).join(added)
            least = exact_minimum(everything, k, m)
            self._settled[key] = least.probability < self.threshold
        return self._settled[key]


@dataclass(eq=False)
class FactsWeighing:
    """Proposals measured against one ledger; minima per (value, proposal) pair."""

    ledger: FactsLedger
    added: GroupCounts
    owner: IntArray

    @cached_property
    def n_proposals(self) -> int:
        """Number of proposals."""
        return int(self.owner.max(initial=-1)) + 1

    @cached_property
    def _cells(self) -> tuple[Profiles, Mask]:
        """Profiles sorted by value and proposal, without proposals that T alone forbids."""
        l, k, _ = self.ledger.amounts  # noqa: E741
        found = profiles(self.added, l, self.ledger.wanted).by_value()
        bar = float(self.ledger.bar)
        # V is at most 1, so T(l, k) must itself exceed the bar.
        low = found.t(k) < bar * (1 - _CLOSE)
        possible = np.ones(self.n_proposals, dtype=bool)
        possible[self.owner[found.group[low]]] = False
        return found.take(possible[self.owner[found.group]]), possible

    @cached_property
    def _five(self) -> Five:
        _, k, m = self.ledger.amounts
        return five(self._cells[0], k, m)

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, IntArray, Five]:
        """First cell, value and proposal of each pair, and its minima."""
        cells = self._cells[0]
        owner = self.owner[cells.group]
        new = (cells.value[1:] != cells.value[:-1]) | (owner[1:] != owner[:-1])
        starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(cells)), dtype=bool), new)))
        if not len(starts):
            return starts, starts, starts, self._five
        return starts, cells.value[starts], owner[starts], self._five.least(starts)

    def alone(self) -> Mask:
        """Whether the release stays safe with each proposal by itself."""
        cells, possible = self._cells
        starts, value, owner, minima = self._pairs
        result = possible & (not self.ledger._unsafe)
        standing = Five(*(ratio[value] for ratio in self.ledger._minima))
        safe, close = self.ledger.safe(minima.min(standing).negated_ratio())
        result[owner[~safe & ~close]] = False
        ends = np.append(starts[1:], len(cells))
        for pair in np.flatnonzero(close & result[owner]):
            if result[owner[pair]]:
                own = cells.take(slice(starts[pair], ends[pair]))
                result[owner[pair]] = self.ledger.settle(int(value[pair]), own)
        return result

    def together(self, chosen: Mask) -> bool:
        """Whether the release stays safe with all the chosen proposals."""
        cells, possible = self._cells
        if self.ledger._unsafe or np.any(chosen & ~possible):
            return False
        _, value, owner, minima = self._pairs
        mine = chosen[owner]
        value = value[mine]
        if not len(value):
            return True
        starts = np.flatnonzero(np.concatenate(([True], value[1:] != value[:-1])))
        joint = Five(*(ratio[mine] for ratio in minima)).least(starts)
        standing = Five(*(ratio[value[starts]] for ratio in self.ledger._minima))
        safe, close = self.ledger.safe(joint.min(standing).negated_ratio())
        if not np.all(safe | close):
            return False
        for at in np.flatnonzero(close):
            code = value[starts[at]]
            own = (cells.value == code) & chosen[self.owner[cells.group]]
            if not self.ledger.settle(int(code), cells.take(own)):
                return False
        return True

    def reach(self) -> FloatArray:
        """0 for what is safe, infinity for what is not: where minima only fall, nothing mends."""
        return np.where(self.alone(), 0.0, np.inf)

    def commit(self, chosen: Mask) -> None:
        """Fold the chosen proposals into the ledger."""
        cells, possible = self._cells
        if np.any(chosen & ~possible):
            cells = profiles(self.added, self.ledger.amounts[0], self.ledger.wanted).by_value()
        self.ledger.note(cells.take(chosen[self.owner[cells.group]]))
