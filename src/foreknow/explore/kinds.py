"""Kinds: what a release comes down to for adversaries with facts, so that a slider is answered.

Of two cells with as many people, as many who have the value, and as much to spare, no facts tell
one from the other. A release of millions of people has some thousands of kinds: one look at all
cells finds them, and then only they are judged. How many people are of a kind was counted then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foreknow.adversaries.chances import Chances
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.profiles import profiles
from foreknow.adversaries.protocol import Mask
from foreknow.auditing.exposed import Tally
from foreknow.data.counts import GroupCounts
from foreknow.data.sparse import IntArray, ranges
from foreknow.policy.requirement import Point


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of cells at one l, and groups that have one of each."""

    counts: GroupCounts  # all groups
    some: GroupCounts  # so many that they have every kind
    kind: Any  # of each cell of `counts`
    of_some: IntArray
    many: IntArray  # how many groups have each kind

    @classmethod
    def of(cls, counts: GroupCounts, l: int) -> Kinds:
        """Look at all cells once."""
        own = profiles(counts, min(l, counts.n_values))
        first, kind = own.alike()
        groups = np.unique(own.group[first])
        cells, _ = ranges(counts.offsets[groups], counts.offsets[groups + 1])
        many = np.bincount(kind, minlength=len(first))
        return cls(counts, counts.take(groups), kind.astype(np.int32), kind[cells], many)

    def judged(self, point: Point, about: Mask) -> Judged:
        """Hold all of them against an adversary; `about` says which values count."""
        chances = point.adversary.chances(self.some)
        cells = np.flatnonzero(about[self.some.codes])
        return Judged(self, point, chances, cells)


@dataclass(frozen=True, eq=False)
class Judged:
    """What an adversary can find out of each kind."""

    kinds: Kinds
    point: Point
    chances: Chances
    cells: IntArray

    def worst(self) -> Disclosure | None:
        """The worst of all; None where nobody has such a value."""
        facts, some = self.point.adversary, self.kinds.some
        assert isinstance(facts, Facts)
        found = facts.disclosures(some)
        present = np.unique(some.codes[self.cells]).tolist()
        each = [found[some.values[code]] for code in present]
        return self.point.worst(each) if each else None

    def over(self) -> Tally:
        """People over the limit."""
        reaching = self.chances.reaching(self.point.below, self.cells, self.point.inclusive)
        return self._tally(self.cells[reaching])

    def certain(self) -> Tally:
        """People of whom somebody could be certain."""
        return self._tally(self.cells[self.chances.sure(self.cells)])

    def _tally(self, cells: IntArray) -> Tally:
        """The same as in `foreknow.auditing.exposed`, by kinds."""
        counts, kind = self.kinds.counts, self.kinds.kind
        own = np.zeros(len(self.kinds.many), dtype=bool)
        own[self.kinds.of_some[cells]] = True
        hit = np.flatnonzero(own[kind])
        groups = self._group_of_cell[hit]
        touched = np.zeros(counts.n_groups, dtype=bool)
        touched[groups] = True
        suspected = int(counts.sizes[touched].sum())
        if not self.chances.overlap:
            people = int(counts.counts[hit].sum())
            return Tally(people, int(touched.sum()), suspected)
        each = np.bincount(groups, weights=counts.counts[hit], minlength=counts.n_groups)
        people = int(np.minimum(each, counts.sizes).sum())
        several = np.bincount(groups, minlength=counts.n_groups) > 1
        bounded = touched if counts.semantics == "multiset" else several
        return Tally(people, int(touched.sum()), suspected, bool(bounded.any()))

    @cached_property
    def _group_of_cell(self) -> IntArray:
        return self.kinds.counts.cell_groups

    def ranked(self, most: int) -> Iterator[tuple[int, int, int, Disclosure]]:
        """The most exposed kinds: a group of `some`, its value, how many groups, how sure."""
        some, chances, kind = self.kinds.some, self.chances, self.kinds.of_some
        order = self.cells[np.argsort(-chances.chance[self.cells], kind="stable")]
        _, first = np.unique(kind[order], return_index=True)
        top = order[np.sort(first)[:most]]
        exact = chances.exact(top)
        for cell, fraction in zip(top.tolist(), exact, strict=True):
            value, chance = int(some.codes[cell]), float(chances.chance[cell])
            found = Disclosure(some.values[value], chance, lambda own=fraction: own)  # type: ignore[misc]
            yield int(some.cell_groups[cell]), value, int(self.kinds.many[kind[cell]]), found
