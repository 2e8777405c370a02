"""The five minima of the skyline paper's Theorem 2, which hold all that a search must know."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from foreknow.adversaries.facts.profiles import (
    Amount,
    ExactMinimum,
    Place,
    Profiles,
    capped,
    formulas_of,
    profiles,
    safe_product,
    t_ratio,
    with_negations,
)
from foreknow.adversaries.ledger import KeyedRatios, Measure
from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.numbers import CLOSE

# So few profiles are compared as fractions at once: to choose among them takes longer.
_FEW = 4


class Theorem2Terms(NamedTuple):
    """minNR, T(l, 0), T(l, k), V(m, 0), V(m, k): per profile, or minima over groups.

    T is the odds against the target's value with l values ruled out and k people known; V the
    chance that none of m linked people has it; minNR = T(l, k) V(m, k + 1), with all in one group.
    """

    one_group: FloatArray
    t_alone: FloatArray
    t_known: FloatArray
    v_alone: FloatArray
    v_known: FloatArray

    def least(self, starts: IntArray) -> Theorem2Terms:
        """Minima over each segment that begins at `starts`."""
        return Theorem2Terms(*(np.minimum.reduceat(ratio, starts) for ratio in self))

    def negated_ratio(self) -> FloatArray:
        """NR of Theorem 2; the breach probability is 1 / (NR + 1)."""
        # Target and linked people in two groups, and the known people in one of these.
        crossed = np.minimum(
            safe_product(self.t_alone, self.v_known), safe_product(self.t_known, self.v_alone)
        )
        return np.minimum(self.one_group, crossed)


def theorem2_terms(cells: Profiles, k: Amount, m: Amount) -> Theorem2Terms:
    """Compute the five ratios of each profile."""
    t_known = cells.t(k)
    return Theorem2Terms(
        one_group=safe_product(t_known, cells.v(m, k + 1)),
        t_alone=cells.t(0),
        t_known=t_known,
        v_alone=cells.v(m, 0),
        v_known=cells.v(m, k),
    )


class FactsMeasure(Measure):
    """The measure of groups against facts (SkylineAnonymize, figure 6, corrected)."""

    def __init__(
        self,
        amounts: tuple[int, int, int],
        threshold: Fraction,
        is_wanted: BoolArray | None,
        semantics: Semantics,
        negated: bool = False,
    ) -> None:
        """Take the amounts (l, k, m), the limit, and which values are asked for (None: all)."""
        self.l, self.k, self.m = amounts
        self.is_wanted, self.semantics, self.negated = is_wanted, semantics, negated
        self._odds = (1 - threshold) / threshold
        self.least = float(self._odds)

    @property
    def nowhere(self) -> FloatArray:
        """T is infinite, V is 1."""
        return np.array([[np.inf], [np.inf], [np.inf], [1.0], [1.0]])

    def bind(self, n_values: int) -> int:
        """The number of keys: one for each sensitive value."""
        return n_values

    def refused(self, counts: GroupCounts, parts: int = 1) -> BoolArray | None:
        """True for groups where T(l, k) V(m, k + 1) of the commonest value is below the limit.

        Such a group is unsafe by itself. With `parts` above 1, True for groups that have an unsafe
        part however they are divided into so many.

        Why parts: of n people, s of them with the value, V(m, k + 1) is at most (1 - s / (n - k -
        1))^m. Then what a group must have to spare, s / V and k, is convex: all parts of a group
        together need no less than the whole would of parts alike. So some part is unsafe where the
        whole is with `parts` times as many people known; unless a part may have no value that is
        asked for. None if that is not known.
        """
        if not formulas_of(counts).by_largest:
            return None
        n, s = counts.sizes, counts.top_sums(1)
        if self.is_wanted is not None and not self.is_wanted.all():
            if parts > 1:
                return None
            # The most frequent of the values that are asked for.
            holders = np.where(self.is_wanted[counts.codes], counts.counts, 0)
            s = np.maximum.reduceat(holders, counts.offsets[:-1])
        # That value and the l most frequent others: see `OneValue.excluded`.
        excluded = np.minimum(counts.top_sums(self.l + 1), counts.top_sums(self.l) + s)
        t = t_ratio(n, np.maximum(s, 1), slack=n - excluded, k=parts * self.k)
        n_free = n - capped(parts * (self.k + 1))
        share_without = np.maximum(n_free - s, 0) / np.maximum(n_free, 1)
        odds = t * share_without ** capped(self.m)
        return np.asarray((s > 0) & (odds < self.least * (1 - CLOSE)))

    def cells(self, counts: GroupCounts, groups: BoolArray | None = None) -> KeyedRatios:
        """Five ratios for each cell (a group, and a value asked for that occurs in it), by value.

        They are factors and a product of Theorem 2. T is the odds that a target of the group does
        not have the value, V the chance that no linked person of the group has it. From the least
        of each ratio over all groups, `odds` computes the odds against a breach.
        """
        if counts.semantics != self.semantics:
            raise UnsupportedError(
                f"this search with Facts needs {self.semantics!r} semantics, not "
                f"{counts.semantics!r}"
            )
        in_order = self._profiles(counts, groups).by_value()
        return KeyedRatios(
            key=in_order.value,
            group=in_order.group,
            ratios=np.stack(theorem2_terms(in_order, self.k, self.m)),
            detail=in_order if self.has_fractions else None,
        )

    def _profiles(self, counts: GroupCounts, groups: BoolArray | None = None) -> Profiles:
        """The profiles of the wanted values in all groups, or in those where `groups` is True."""
        if self.negated:
            counts = with_negations(counts)
        if groups is None:
            return profiles(counts, self.l, self.is_wanted)
        inside = groups[counts.cell_groups]
        if self.is_wanted is not None:
            inside &= self.is_wanted[counts.codes]
        return formulas_of(counts).profiles(counts, self.l, np.flatnonzero(inside))

    def fewest_leaving(self, counts: GroupCounts) -> IntArray:
        """How many people must leave each group at least, for T(l, k) of each value to be enough.

        T(l, k) of the commonest value is the least. Where not all values are asked for, who leaves
        can spare nobody's value: of each, so many may stay that T(l, k) exceeds the odds of the
        limit, even if all who leave have it.
        """
        if not formulas_of(counts).by_largest:  # who leaves may be whoever cannot have the value
            return super().fewest_leaving(counts)
        if self.is_wanted is None or self.is_wanted.all():
            return counts.fewest_leaving(self.l + 1, self.k, self._odds)
        cells = self._profiles(counts)
        spare = np.maximum(cells.slack - self.k, 0)
        if not self.least:
            stay = np.where(spare > 0, cells.s, 0)
        else:
            # The most of each value who may stay so that spare / stay is above the limit's odds.
            stay = np.clip(np.ceil(spare / self.least * (1 + CLOSE)) - 1, 0, cells.s)
        fewest = np.zeros(counts.n_groups, dtype=np.int64)
        np.add.at(fewest, cells.group, cells.s - stay.astype(np.int64))
        return fewest

    def odds(self, minima: FloatArray) -> FloatArray:
        """NR of Theorem 2."""
        return Theorem2Terms(*minima).negated_ratio()

    @property
    def has_fractions(self) -> bool:
        """True where everybody has one value."""
        return self.semantics == "single"

    def attaining(self, cells: KeyedRatios, minima: FloatArray) -> KeyedRatios:
        """The profiles that may attain a minimum, one for each kind."""
        nearly_lowest = cells.take(_are_near(cells.ratios, minima[:, cells.key], self.m))
        first_of_kind, _ = nearly_lowest.detail.alike()
        return nearly_lowest.take(first_of_kind)

    def exact(self, detail: Any) -> Fraction:
        """The breach probability of one value."""
        return exact_minimum(detail, self.k, self.m).probability


def attaining(candidates: Profiles, k: int, m: int) -> Profiles:
    """Keep the profiles within 1e-9 of one of the five minima of their value, each once."""
    if not len(candidates):
        return candidates
    starts = candidates.starts
    lengths = np.diff(starts, append=len(candidates))
    ratios = np.stack(theorem2_terms(candidates, k, m))
    minima = np.repeat(np.minimum.reduceat(ratios, starts, axis=1), lengths, axis=1)
    return candidates.take(_are_near(ratios, minima, m)).distinct()


def _are_near(ratios: FloatArray, minima: FloatArray, m: int) -> BoolArray:
    """True for profiles that are within 1e-9 of one of the five minima; both (ratios, profiles)."""
    used = slice(None) if m else slice(3)  # without a family, V is 1 everywhere
    return np.asarray((ratios[used] <= minima[used] * (1 + CLOSE)).any(axis=0))


def exact_minimum(candidates: Profiles, k: int, m: int) -> ExactMinimum:
    """The least odds over the profiles of one value, with the groups of target and linked people.

    T is the odds against the target's value, V the chance that none of m linked people has it
    (Theorem 2). Target and linked people are in one group, or in two, and the `k` known people are
    beside one of them. Of equal odds, one group for all comes first.
    """
    if len(candidates) > _FEW:
        candidates = attaining(candidates, k, m)
    t_known, t_alone = candidates.t_exact(k), candidates.t_exact(0)
    v_alone, v_known = candidates.v_exact(m, 0), candidates.v_exact(m, k)
    v_in_target_group = candidates.v_exact(m, k + 1)
    one_group = [t * v for t, v in zip(t_known, v_in_target_group, strict=True)]
    groups = candidates.group.tolist()

    def least_and_its_group(ratios: list[Fraction]) -> tuple[Fraction, int]:
        """The least ratio and its group, the first of equal ones."""
        least = min(ratios)
        return least, groups[ratios.index(least)]

    ratio, group = least_and_its_group(one_group)
    options = [ExactMinimum(ratio, target=group, family=group, place="one group")]
    # In two groups, with the known people in either.
    splits: list[tuple[list[Fraction], list[Fraction], Place]] = [
        (t_alone, v_known, "with family"),
        (t_known, v_alone, "with target"),
    ]
    for ts, vs, place in splits:
        t, target_group = least_and_its_group(ts)
        v, family_group = least_and_its_group(vs)
        options.append(ExactMinimum(t * v, target=target_group, family=family_group, place=place))
    return min(options, key=lambda option: option.ratio)
