"""ArtProblem: who is to be grouped, as arrays: profiles, values, places, priors and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.exchanges import Amounts
from foreknow.adversaries.priors.signature_groups import PriorMatrix, ValueMode
from foreknow.data.arrays import FloatArray, IntArray, combine
from foreknow.features.more_methods.art.limits import NO_LIMIT, LimitTable, Share, tightness


@dataclass(frozen=True, eq=False)
class Known:
    """One adversary's knowledge and limits, by signature and value."""

    signature_of: IntArray  # the signature of each profile
    priors: PriorMatrix
    asked: LimitTable
    reading: ValueMode = "joint"
    amounts: Amounts = (0, 0, 0)  # of facts on top, without links
    frequent: Sequence[tuple[Fraction, Fraction]] = ()  # see `LimitTable.tightened`

    @property
    def chances(self) -> FloatArray:
        """How likely each value is, by signature."""
        return self.priors.chances

    @property
    def complements(self) -> FloatArray:
        """How likely it is not to have each value, by signature."""
        return self.priors.complements

    @cached_property
    def limits(self) -> LimitTable:
        """The limits for shares of a group, tightened so that they also hold with facts on top."""
        return self.asked.tightened(self.amounts)

    @cached_property
    def limits_of_possible(self) -> FloatArray:
        """Limits for shares as floats; infinite where the prior is 0."""
        return np.where(self.priors.chances > 0, self.limits.floats, np.inf)

    @cached_property
    def one_limit(self) -> float | None:
        """The limit of all signatures and values as a float; None if they differ."""
        limits = self.limits_of_possible
        first = limits.ravel()[:1]
        return float(first[0]) if limits.size and bool((limits == first).all()) else None

    @cached_property
    def positive_chances(self) -> FloatArray:
        """The chances, none of them 0: at least a tiny one."""
        return np.maximum(self.chances, 1e-9)

    @cached_property
    def odds(self) -> FloatArray:
        """The odds of each value, by signature: at most as for a tiny complement."""
        odds: FloatArray = self.chances / np.maximum(self.complements, 1e-12)
        return odds

    @cached_property
    def likely(self) -> LimitTable:
        """Shares with which groups likely keep them."""
        return self.asked.tightened(self.amounts, self.frequent)


@dataclass(frozen=True, eq=False)
class ArtProblem:
    """A problem for ART; no adversary can tell people of one *profile* (signatures) apart."""

    profiles: IntArray  # of each person
    known: tuple[Known, ...]  # of each attribute set
    values: IntArray  # the sensitive code of each person
    places: FloatArray  # of each person and quasi-identifier, from 0 to 1
    steps: FloatArray  # loss per further value of a nominal quasi-identifier; 0 where ranges count
    unique: bool = True  # whether a value may occur only once in a group
    one_profile: bool = False  # whether people of different profiles may not share a group

    @classmethod
    def of_signatures(
        cls,
        signatures: Sequence[NDArray[Any]],
        priors: Sequence[PriorMatrix],
        values: NDArray[Any],
        positions: FloatArray | None = None,
        steps: FloatArray | None = None,
        *,
        r: Fraction | int | str | None = None,
        limits: Sequence[LimitTable] | None = None,
        reading: ValueMode | Sequence[ValueMode] = "joint",
        unique: bool | None = None,
        one_profile: bool = False,
        amounts: Sequence[Amounts] | None = None,
    ) -> ArtProblem:
        """Make the problem of people with these signatures and sensitive values.

        ``signatures[s]`` is everybody's signature in attribute set s, whose priors are
        ``priors[s]``. Limits are given as tables, or as 1/r for all values.
        """
        sizes = [len(matrix.chances) for matrix in priors]
        # A profile is a combination of signatures; `first` is some person of each profile.
        profiles, first = combine([np.asarray(codes) for codes in signatures], sizes)
        if limits is None:
            share = 1 / Fraction(r or 1)
            limits = [LimitTable.same(matrix.chances.shape, share) for matrix in priors]
        readings = [reading] * len(sizes) if isinstance(reading, str) else reading
        counts = np.bincount(np.asarray(values), minlength=priors[0].chances.shape[1]).tolist()
        known = []
        for s, codes in enumerate(signatures):
            amounts_on_top = amounts[s] if amounts else (0, 0, 0)
            prior_table = Known(
                signature_of=np.asarray(codes)[first].astype(np.int64),
                priors=priors[s],
                asked=limits[s],
                reading=readings[s],
                amounts=amounts_on_top,
                # With facts on top, frequent values get looser shares.
                frequent=_frequent_shares(counts, amounts_on_top) if any(amounts_on_top) else (),
            )
            known.append(prior_table)
        places = np.zeros((len(values), 0)) if positions is None else positions
        problem = cls(
            profiles=profiles.astype(np.int64),
            known=tuple(known),
            values=np.asarray(values).astype(np.int64),
            places=places,
            steps=np.zeros(places.shape[1]) if steps is None else steps,
            unique=False,
            one_profile=one_profile,
        )
        # Unless told, groups have different values where one limit holds for all (`share`).
        return replace(problem, unique=problem.share is not None if unique is None else unique)

    def part(self, people: IntArray) -> ArtProblem:
        """The problem for some people only."""
        fields = {name: getattr(self, name)[people] for name in ("profiles", "values", "places")}
        return replace(self, **fields)

    @property
    def n_people(self) -> int:
        """How many people are to be grouped."""
        return len(self.profiles)

    @cached_property
    def n_profiles(self) -> int:
        """How many profiles there are."""
        return len(self.known[0].signature_of)

    @cached_property
    def n_values(self) -> int:
        """How many sensitive codes there are."""
        return int(self.known[0].chances.shape[1])

    @cached_property
    def keys(self) -> IntArray:
        """The profile and value of each person, as one code."""
        keys: IntArray = self.profiles * self.n_values + self.values
        return keys

    @cached_property
    def table(self) -> IntArray:
        """People by profile and value."""
        return self.counted(np.arange(self.n_people))

    @cached_property
    def judged(self) -> dict[tuple[int, ...], bool]:
        """The verdicts on groups that were judged before, by their sorted keys."""
        return {}

    def counted(self, people: IntArray) -> IntArray:
        """Some people by profile and value."""
        counts = np.bincount(self.keys[people], minlength=self.n_profiles * self.n_values)
        return counts.reshape(self.n_profiles, self.n_values).astype(np.int64)

    # ---- limits ---------------------------------------------------------------------------

    @cached_property
    def limits(self) -> LimitTable:
        """The tightest limit of all adversaries on shares of a group, by profile and value."""
        tables = []
        for prior_table in self.known:
            tables.append(prior_table.likely.rounded.rows(prior_table.signature_of))
        return reduce(LimitTable.tightest, tables)

    @cached_property
    def with_facts(self) -> bool:
        """True if facts are known on top of some priors."""
        return any(any(prior_table.amounts) for prior_table in self.known)

    @cached_property
    def share(self) -> Share | None:
        """The limit that holds for everybody and every value; None if there is no such limit."""
        shares = []
        for prior_table in self.known:
            table = prior_table.likely.rows(prior_table.signature_of)
            if not all(
                (array == array[0, 0]).all() for array in (table.num, table.den, table.strict)
            ):
                return None
            shares.append(table.share(0, 0))
        tightest = min(shares, key=tightness)
        # Of several adversaries with one limit each, the tightest counts.
        return None if tightest == NO_LIMIT else tightest

    @cached_property
    def sizes(self) -> IntArray:
        """The people that a group needs for one value, by profile; 0 where no number is enough."""
        needed = np.stack(
            [prior_table.limits.least[prior_table.signature_of] for prior_table in self.known]
        )
        sizes: IntArray = np.where((needed > 0).all(axis=0), needed.max(axis=0), 0)
        return sizes

    @cached_property
    def sizes_of_values(self) -> IntArray:
        """The least number of people in a safe group with the value, by value.

        The posteriors of a value that occurs in a group of N people add up to 1 or more, so someone
        has 1/N or more, and it must keep the limit L of that person's signature: ``N >= 1/L``. Who
        that is, is not known: so take the least N over the signatures of an attribute set. All sets
        must keep their limits: take the greatest of these. The result is above the number of people
        if no group is safe.
        """
        present = self.table.sum(axis=1) > 0
        needed = np.ones(self.n_values, dtype=np.int64)
        for prior_table in self.known:
            # Least sizes by signature and value; 0 stands for never.
            sizes = prior_table.limits.least[np.unique(prior_table.signature_of[present])]
            needed = np.maximum(needed, np.where(sizes > 0, sizes, self.n_people + 1).min(axis=0))
        return needed

    @cached_property
    def loosest(self) -> FloatArray:
        """The loosest limit on each value over all profiles, for the tightest adversary."""
        by_table = []
        for prior_table in self.known:
            by_table.append(prior_table.asked.floats[prior_table.signature_of].max(axis=0))
        loosest: FloatArray = np.minimum.reduce([np.ones(self.n_values), *by_table])
        return loosest

    @cached_property
    def least(self) -> int:
        """How many people any safe group has at least."""
        occurs = self.table.sum(axis=0) > 0
        return int(self.sizes_of_values[occurs].min(initial=self.n_people + 1))

    @cached_property
    def _shares(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """The largest allowed share of each value in a group of one profile, by profile and value.

        The share is num / den, and must not be reached where the third array is True. One cell if
        all are alike. Where values must differ within a group, each may have one of `least` people.
        """
        if self.unique:
            single = np.ones((1, 1), dtype=np.int64)
            return single, single * self.least, np.zeros((1, 1), dtype=bool)
        shares = self.limits.num, self.limits.den, self.limits.strict
        if self.limits.num.size and all((array == array[0, 0]).all() for array in shares):
            num, den, strict = (array[:1, :1] for array in shares)
            return num, den, strict
        return shares

    def _shares_of(
        self, profiles: int | IntArray
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """The rows of `_shares` for some profiles; one cell if the shares are all the same."""
        num, den, strict = self._shares
        if num.size == 1:
            return num[0], den[0], strict[0]
        return num[profiles], den[profiles], strict[profiles]

    def deficit(self, rows: IntArray, profiles: IntArray) -> FloatArray:
        """How many people each profile lacks, by value, to be grouped by itself; 0 if none.

        `rows` counts the people of each of `profiles` by value; the last axis is that of values.
        """
        num, den, strict = self._shares_of(profiles)
        # rows / sum > num / den, in whole numbers. With more people, num times so many fill the
        # gap.
        over = den * rows - num * rows.sum(axis=-1, keepdims=True)
        if strict.any():
            over += strict & (rows > 0)
        missing: FloatArray = np.maximum(over, 0) / np.maximum(num, 1)
        return missing

    def most(self, profile: int | IntArray, sizes: NDArray[Any]) -> IntArray:
        """How often each value may occur among so many people of a profile.

        The last axis is that of values: `sizes` needs one of length 1. The largest c with c/size at
        most num/den, or below it where the limit must not be reached.
        """
        num, den, strict = self._shares_of(profile)
        counts: IntArray = np.maximum(num * sizes - strict, 0) // den
        return counts

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """True where a group of one profile may contain the value, by profile and value.

        Not where its prior is 0 for some attribute set, nor, under ``binary``, where it is 1 but
        others of the profile have other values: no world of such a group has a positive weight.
        """
        may_hold = np.ones((self.n_profiles, self.n_values), dtype=bool)
        everybody = self.table == self.table.sum(axis=1, keepdims=True)
        for prior_table in self.known:
            may_hold &= prior_table.chances[prior_table.signature_of] > 0
            if prior_table.reading == "binary":
                may_hold &= (prior_table.complements[prior_table.signature_of] > 0) | everybody
        return may_hold

    # ---- distances ------------------------------------------------------------------------

    @cached_property
    def _scores(self) -> FloatArray:
        """Logarithms of priors, by profile, all sets of attributes side by side.

        They are similar for profiles that mix well: there, posteriors stay near to shares of the
        group.
        """
        rows = []
        for prior_table in self.known:
            chances = prior_table.chances[prior_table.signature_of]
            odds = (
                chances / np.maximum(1 - chances, 1e-3)
                if prior_table.reading == "binary"
                else chances
            )
            # Tiny chances all count the same.
            rows.append(np.log(np.maximum(odds, 1e-4)))
        return np.concatenate(rows, axis=1)

    @cached_property
    def _centres(self) -> FloatArray:
        """The mean place of each profile's people."""
        columns = self.places.T
        sums = [np.bincount(self.profiles, column, self.n_profiles) for column in columns]
        n_members = np.bincount(self.profiles, minlength=self.n_profiles)
        centres: FloatArray = np.stack(sums, axis=1) / np.maximum(n_members, 1)[:, None]
        return centres

    def distances(self, profile: int) -> FloatArray:
        """How unlike each profile is to one: in priors, and a little in place."""
        by_priors: FloatArray = np.abs(self._scores - self._scores[profile]).mean(axis=1)
        return by_priors + 0.5 * self.place_distances(profile)

    def place_distances(self, profile: int) -> FloatArray:
        """How far away the people of each profile are from those of one."""
        if not self.places.shape[1]:
            return np.zeros(self.n_profiles)
        distances: FloatArray = np.abs(self._centres - self._centres[profile]).mean(axis=1)
        return distances

    @cached_property
    def curve(self) -> IntArray:
        """The rank of each person along a curve that fills the space of places (Morton's order)."""
        n, n_columns = self.places.shape
        if not n_columns:
            return np.arange(n)
        bits = max(1, min(10, 60 // n_columns))
        keys = np.zeros(n, dtype=np.int64)
        cells = []
        for column in self.places.T:
            _, index, counts = np.unique(column, return_inverse=True, return_counts=True)
            # The rank of each place, scaled to `bits` bits: crowded and empty regions get equal
            # room.
            middle = (np.cumsum(counts) - counts / 2) / n
            cells.append(np.minimum(middle[index] * 2**bits, 2**bits - 1).astype(np.int64))
        # Interleave the bits of the columns, the highest first: near people get near keys.
        for bit in range(bits - 1, -1, -1):
            for cell in cells:
                keys = (keys << 1) | ((cell >> bit) & 1)
        # From keys to ranks, in case of ties by position.
        rank = np.empty(n, dtype=np.int64)
        rank[np.argsort(keys, kind="stable")] = np.arange(n)
        return rank


def _frequent_shares(counts: Sequence[int], amounts: Amounts) -> list[tuple[Fraction, Fraction]]:
    """The share of each value in the table, and the share that is left without the l most frequent.

    See `LimitTable.tightened`. `counts` is how many people have each value, and l the first of
    `amounts`. What is left are the people who have the value or are not among those of the l most
    frequent other values.
    """
    shares, people = [], max(sum(counts), 1)
    for value, count in enumerate(counts):
        # Ascending, so that the l most frequent others come last, and are cut off.
        other_counts = sorted((*counts[:value], *counts[value + 1 :]))
        remaining = count + sum(other_counts[: max(len(other_counts) - amounts[0], 0)])
        shares.append((Fraction(count, people), Fraction(remaining, people)))
    return shares
