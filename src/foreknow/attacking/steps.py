"""Steps from one world to another: proposals that are as likely back as forth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foreknow.attacking.running import Runs, Weight
from foreknow.attacking.seeing import Seen
from foreknow.attacking.worlds import Codes, Worlds
from foreknow.sparse import IntArray

# Of so many proposals, one each deals a group out anew, exchanges two cells or two values; and
# two swap in several groups at once. All others swap within one group.
_KINDS = 40


@dataclass(eq=False)
class Steps:
    """Proposals, and the chance that the release is made of the worlds they lead to.

    A proposal is as likely as the one that takes it back, whoever of a cell has which of its
    values; so a walk that takes proposals by the ratio of those chances (Metropolis) is
    distributed as the adversary believes, among the worlds that it can reach.
    """

    worlds: Worlds
    runs: Runs
    seen: Seen
    random: np.random.Generator
    mixed: IntArray = field(init=False)
    _chances: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.mixed = np.flatnonzero(np.count_nonzero(self.worlds.bags, axis=1) > 1)
        if not len(self.mixed):
            raise ValueError("there is only one world")
        sizes = self.worlds.bags.sum(axis=1)[self.mixed].astype(float)
        self._chances = sizes / sizes.sum()

    @property
    def n_people(self) -> int:
        """People whose value is open."""
        return int(self.worlds.bags.sum(axis=1)[self.mixed].sum())

    def weight(self, codes: Codes) -> Weight:
        """How probable the release is in a world."""
        return self.runs.weight(codes, self.seen)

    def settled(self, codes: Codes) -> Codes:
        """The world that stands for one."""
        return self.worlds.standing_for(codes) if self.runs.symmetric else codes

    def proposed(self, codes: Codes) -> Codes:
        """Another world, or the same."""
        found = codes.copy()
        kind = int(self.random.integers(_KINDS))
        if kind == 0:
            people = self._people()
            found[people] = self.random.permutation(found[people])
        elif kind == 1:
            self._exchange_cells(found)
        elif kind == 2:
            one, other = self.random.choice(self.worlds.n_values, 2, replace=False).tolist()
            every = self.random.integers(2)
            groups = self.mixed.tolist() if every else [self._group()]
            found = exchanged(self.worlds, codes, one, other, groups)
        elif kind <= 4 and len(self.mixed) > 1:
            many = min(len(self.mixed), 1 + int(self.random.geometric(0.5)))
            for group in self.random.choice(self.mixed, many, replace=False).tolist():
                self._swap(found, self.worlds.members[group])
        else:
            people = self._people()
            for _ in range(int(self.random.geometric(0.6))):
                self._swap(found, people)
        return self.settled(found)

    def _group(self) -> int:
        return int(self.random.choice(self.mixed, p=self._chances))

    def _people(self) -> IntArray:
        return self.worlds.members[self._group()]

    def _swap(self, codes: Codes, people: IntArray) -> None:
        one, two = self.random.choice(len(people), 2, replace=False)
        codes[people[[one, two]]] = codes[people[[two, one]]]

    def _exchange_cells(self, codes: Codes) -> None:
        """Two cells of a group give each other all their values, if they are equally large."""
        people = self._people()
        cells = np.unique(self.worlds.cell_of[people])
        if len(cells) < 2:
            return
        one, two = self.random.choice(cells, 2, replace=False).tolist()
        here, there = (people[self.worlds.cell_of[people] == cell] for cell in (one, two))
        if len(here) == len(there):
            codes[here], codes[there] = codes[there], codes[here]


def exchanged(worlds: Worlds, codes: Codes, one: int, other: int, groups: Iterable[int]) -> Codes:
    """Exchange two values in those of some groups that have as many of both.

    >>> from foreknow.attacking.worlds import Worlds
    >>> codes = np.array([0, 1, 2, 0, 0, 1])
    >>> worlds = Worlds.of(np.array([0, 0, 0, 1, 1, 1]), codes, 3)
    >>> exchanged(worlds, codes, 0, 1, [0, 1])
    array([1, 0, 2, 0, 0, 1])
    """
    found = codes.copy()
    for group in groups:
        bag = worlds.bags[group]
        if bag[one] == bag[other]:
            people = worlds.members[group]
            own = codes[people]
            found[people] = np.where(own == one, other, np.where(own == other, one, own))
    return found
