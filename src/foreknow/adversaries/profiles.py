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
    """Profiles of cells, sorted by value; int64 arrays of one shape.

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
        return joined.take(np.argsort(joined.value, kind="stable"))

    def undominated(self) -> Profiles:
        """Drop every profile that another one of the same value is at least as bad as.

        What remains attains every minimum of T, V and T*V over the groups. O(rounds * cells),
        where the rounds are the most profiles that any one value keeps.
        """
        alive = np.arange(len(self))
        kept: list[IntArray] = []
        while len(alive):
            value, n, s, a = self.value[alive], self.n[alive], self.s[alive], self.a[alive]
            starts = np.flatnonzero(np.concatenate(([True], value[1:] != value[:-1])))
            segment = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(alive)))
            # Any pivot would do; this score picks one that dominates much. Ties go to the first.
            score = (a + 1.0) * n / s
            at_least = score == np.minimum.reduceat(score, starts)[segment]
            candidates = np.flatnonzero(at_least)
            pivots = candidates[np.unique(segment[candidates], return_index=True)[1]]
            kept.append(alive[pivots])
            pivot = pivots[segment]
            alive = alive[(n < n[pivot]) | (s > s[pivot]) | (a < a[pivot])]
        return self.take(np.sort(np.concatenate(kept)) if kept else slice(0))


def profiles(counts: GroupCounts, l: int, wanted: NDArray[np.bool_] | None = None) -> Profiles:  # noqa: E741
    """Profiles of all cells of the wanted values when l other values are excluded.

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
    found = Profiles(counts.codes[cells], group, n, s, n - excluded)
    return found.take(_by_value(found.value, counts.n_values))


def _by_value(codes: IntArray, n_values: int) -> IntArray:
    small = codes.astype(np.uint16) if n_values <= 1 << 16 else codes  # radix sort for the former
    return np.argsort(small, kind="stable")
