"""Profiles: what a (group, value) cell can do for an adversary who knows facts.

Under ``single`` T and V of a cell depend on three numbers only, and each moves one way in each:
fewer people n, more holders s of the value, or fewer people a with none of the excluded values
can only lower them. So every minimum over groups is attained at an undominated profile, of which
a release has a handful per value however large it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.counts import GroupCounts
from foreknow.sparse import IntArray


@dataclass(frozen=True)
class Profiles:
    """Profiles of cells; int64 arrays of one shape.

    Attributes
    ----------
    value, group : codes of the sensitive value and of the group.
    n, s, a : people, holders of the value, people with none of the excluded values.
    """

    value: IntArray
    group: IntArray
    n: IntArray
    s: IntArray
    a: IntArray

    def __len__(self) -> int:
        return len(self.value)

    def take(self, index: NDArray[Any] | slice) -> Profiles:
        """Only the profiles at an index or mask."""
        return Profiles(
            self.value[index], self.group[index], self.n[index], self.s[index], self.a[index]
        )

    def join(self, other: Profiles) -> Profiles:
        """Both, sorted by value again."""
        joined = Profiles(
            np.concatenate((self.value, other.value)),
            np.concatenate((self.group, other.group)),
            np.concatenate((self.n, other.n)),
            np.concatenate((self.s, other.s)),
            np.concatenate((self.a, other.a)),
        )
        return joined.by_value()

    def by_value(self) -> Profiles:
        """In order of value; 16 bits of it at a time, which NumPy sorts in linear time."""
        order = np.argsort(self.value.astype(np.uint16), kind="stable")
        for shift in range(16, int(self.value.max(initial=0)).bit_length(), 16):
            high = (self.value[order] >> shift).astype(np.uint16)
            order = order[np.argsort(high, kind="stable")]
        return self.take(order)

    @property
    def starts(self) -> IntArray:
        """Where the profiles of each value begin."""
        first = np.ones(min(1, len(self)), dtype=bool)
        return np.flatnonzero(np.concatenate((first, self.value[1:] != self.value[:-1])))

    def distinct(self) -> Profiles:
        """Drop profiles that equal another one of the same value."""
        order = np.lexsort((self.a, self.s, self.n, self.value))
        rows = np.stack((self.value, self.n, self.s, self.a))[:, order]
        new = np.ones(len(self), dtype=bool)
        new[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
        return self.take(order[new])

    def undominated(self, rounds: int | None = None) -> Profiles:
        """Drop profiles that another one of the same value is at least as bad as.

        Parameters
        ----------
        rounds : int, optional
            Each round keeps one profile per value and drops what it dominates. After so many,
            the rest is kept unseen; without a limit, none is left that another one dominates.
        """
        alive = self
        kept: list[Profiles] = []
        n_values = int(self.value.max(initial=-1)) + 1
        while len(alive) and rounds != len(kept):
            # Any pivot would do; the least of this score dominates much.
            score = (alive.a + 1.0) * alive.n / alive.s
            least = np.full(n_values, np.inf)
            np.minimum.at(least, alive.value, score)
            candidates = np.flatnonzero(score == least[alive.value])
            chosen = np.zeros(n_values, dtype=np.int64)
            chosen[alive.value[candidates]] = candidates
            pivot = alive.take(chosen)
            at = alive.value
            better = (alive.n < pivot.n[at]) | (alive.s > pivot.s[at]) | (alive.a < pivot.a[at])
            kept.append(alive.take(np.unique(chosen[at[candidates]])))
            alive = alive.take(better)
        found = alive
        for part in kept:
            found = found.join(part)
        return found


def profiles(counts: GroupCounts, l: int, wanted: NDArray[np.bool_] | None = None) -> Profiles:  # noqa: E741
    """Profiles of all cells of the wanted values when l other values are excluded.

    They come in the order of the groups.

    Parameters
    ----------
    counts : GroupCounts
        Under ``single``.
    l : int
        How many other values are excluded; as many as there are where there are fewer.
    wanted : bool array, shape (values,), optional
        Which values; all when left out.
    """
    cells = slice(None) if wanted is None else np.flatnonzero(wanted[counts.codes])
    group = counts.cell_groups[cells]
    s = counts.counts[cells]
    # The target value and the l most frequent others: the l+1 largest counts if the target value
    # is among them, the l largest and the target value itself if not; always the smaller sum.
    excluded = np.minimum(counts.top_sums(l + 1)[group], counts.top_sums(l)[group] + s)
    n = counts.sizes[group]
    return Profiles(counts.codes[cells], group, n, s, n - excluded)
