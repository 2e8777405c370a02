"""Knowledge skylines: the most facts that a release withstands, for each sensitive value.

From "Privacy Skyline: Privacy with Multidimensional Adversarial Knowledge" (Chen, LeFevre,
Ramakrishnan), section 4.3. Instead of appendix A7's search, which reads the release again for each
point it tries, everything is worked out from the undominated profiles of each l.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from foreknow.adversaries.disclosure import Number, as_threshold
from foreknow.adversaries.minima import exact_minimum
from foreknow.adversaries.profiles import Profiles, front
from foreknow.adversaries.protocol import HasCounts, Mask, counts_of
from foreknow.adversaries.ratios import FloatArray, times
from foreknow.counts import GroupCounts
from foreknow.errors import DataError
from foreknow.labels import Label
from foreknow.sparse import IntArray

Skyline: TypeAlias = list[tuple[int, int, int]]

# Relative distance from the limit within which fractions decide instead of floats.
_CLOSE = 1e-9


def knowledge_skyline(release: HasCounts, value: Label, confidence: Number) -> Skyline:
    """Find the most facts about a value that a release withstands.

    Parameters
    ----------
    release : Release or GroupCounts
    value : label
        A sensitive value that occurs in some group.
    confidence : number
        In (0, 1]; the release withstands (l, k, m) if the breach probability of
        ``Facts(l, k, m)`` is strictly below it.

    Returns
    -------
    list of (l, k, m)
        Sorted; every point is withstood, and no other point with at least as much of each. Empty
        if not even an adversary without facts is withstood. l is at most the number of other
        values that occur in the release: to know of more of them adds nothing.

    Raises
    ------
    DataError
        If no group contains the value.

    Notes
    -----
    After the profiles of the cells were found, O(L M p log K) for L values of l, K and M the most
    that is withstood of k and of m alone, and p profiles; p is a handful.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["AIDS", "Flu", "Flu", "Cold", "Cold", "Cancer"]])
    >>> knowledge_skyline(counts, "AIDS", "3/4")
    [(0, 2, 2), (0, 3, 1), (0, 4, 0), (1, 0, 4), (1, 1, 3), (1, 2, 1), (2, 0, 3)]
    """
    counts = counts_of(release)
    code = counts.code(value)
    limit = as_threshold(confidence)
    if not counts.totals[code]:
        raise DataError(f"no group contains the sensitive value {value!r}")
    return _skyline(counts, code, limit, lambda l: front(counts, l, code))  # noqa: E741


def knowledge_skylines(release: HasCounts, confidence: Number) -> dict[Label, Skyline]:
    """Find the knowledge skyline of every sensitive value that occurs in a release.

    Parameters
    ----------
    release : Release or GroupCounts
    confidence : number
        As in `knowledge_skyline`.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["AIDS", "Flu", "Flu", "Cold"], ["Flu", "Cold", "Cold"]])
    >>> knowledge_skylines(counts, 0.75)["Cold"]
    [(0, 0, 0)]
    """
    counts = counts_of(release)
    limit = as_threshold(confidence)
    fronts: dict[int, Profiles] = {}

    def of_value(code: int, l: int) -> Profiles:  # noqa: E741
        if l not in fronts:
            fronts[l] = front(counts, l)
        return fronts[l].of(code)

    return {
        counts.values[code]: _skyline(counts, code, limit, lambda l: of_value(code, l))  # noqa: B023, E741
        for code in np.flatnonzero(counts.totals).tolist()
    }


def _skyline(
    counts: GroupCounts, code: int, limit: Fraction, front_of: Callable[[int], Profiles]
) -> Skyline:
    n_others = int(np.count_nonzero(counts.totals)) - 1
    bar = (1 - limit) / limit
    stairs = _Slice(front_of(0), bar).stairs()
    points: Skyline = []
    for l in range(n_others + 1):  # noqa: E741
        if not len(stairs):
            break
        above = stairs[:0]
        if l < n_others:
            above = _Slice(front_of(l + 1), bar).stairs_within(stairs)
        # A corner is where one more relative, or one more of the l, costs a known person.
        corner = np.append(stairs[1:] < stairs[:-1], True)
        corner[: len(above)] &= above < stairs[: len(above)]
        points += [(l, int(stairs[m]), m) for m in np.flatnonzero(corner).tolist()]
        stairs = above
    return sorted(points)


@dataclass(frozen=True)
class _Slice:
    """What is withstood of k and m at one l, for one value.

    Stairs are an array: for each m from 0, the largest k that is withstood; as long as some is.
    """

    profiles: Profiles
    bar: Fraction

    def stairs(self) -> IntArray:
        """Find the stairs without knowing more."""
        # Whoever knows of as many people as a group has is certain.
        most = int(self.profiles.n.min()) - 1
        nobody = np.zeros(1, dtype=np.int64)
        (most_m,) = _search(np.array([most]), lambda _, m: self.safe(np.zeros_like(m), m))
        (most_k,) = _search(np.array([most]), lambda _, k: self.safe(k, nobody[: len(k)]))
        return self.stairs_within(np.full(most_m + 1, most_k))

    def stairs_within(self, most: IntArray) -> IntArray:
        """Find the stairs, none of which is longer or higher than the given ones."""
        found = _search(most, lambda m, k: self.safe(k, m))
        return found[found >= 0]

    def safe(self, k: IntArray, m: IntArray) -> Mask:
        """Whether each (k, m) is withstood; floats decide unless close, then fractions."""
        ratio = self._negated_ratio(k, m)
        bar = float(self.bar)
        safe = ratio > bar  # at bar 0 a float of 0 is exact
        if bar:
            for i in np.flatnonzero(np.abs(ratio - bar) <= _CLOSE * bar).tolist():
                safe[i] = exact_minimum(self.profiles, int(k[i]), int(m[i])).ratio > self.bar
        return safe

    def _negated_ratio(self, k: IntArray, m: IntArray) -> FloatArray:
        """NR of Theorem 2 at each (k, m)."""
        n_cells, shape = len(self.profiles), (len(self.profiles), len(k))
        cells = self.profiles.take(np.repeat(np.arange(n_cells), len(k)))
        ks, ms = np.tile(k, n_cells), np.tile(m, n_cells)
        t_known = cells.t(ks)
        together = times(t_known, cells.v(ms, ks + 1)).reshape(shape).min(axis=0)
        t_alone = np.full(len(k), self.profiles.t(0).min())
        v_known = cells.v(ms, ks).reshape(shape).min(axis=0)
        v_alone = cells.v(ms, 0).reshape(shape).min(axis=0)
        crossed = np.minimum(
            times(t_alone, v_known), times(t_known.reshape(shape).min(axis=0), v_alone)
        )
        least: FloatArray = np.minimum(together, crossed)
        return least


def _search(most: IntArray, safe: Callable[[IntArray, IntArray], Mask]) -> IntArray:
    """Halve, at each position, towards the largest amount from 0 to `most` that is safe, or -1.

    `safe` takes positions and an amount for each.
    """
    low, high = np.full(len(most), -1), most.copy()
    while len(unsettled := np.flatnonzero(low < high)):
        middle = (low[unsettled] + high[unsettled] + 1) // 2
        good = safe(unsettled, middle)
        low[unsettled[good]] = middle[good]
        high[unsettled[~good]] = middle[~good] - 1
    return low
