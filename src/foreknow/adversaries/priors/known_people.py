"""Known: posteriors of everybody to somebody who has facts on top of the priors.

Values that the target does not have only condition its own posterior: where that is exact, so is
what comes of it. People who are known, and links, are answered by the bound of `exchanges`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, prod
from typing import NamedTuple

import numpy as np

from foreknow.adversaries.assignment import possible
from foreknow.adversaries.priors.exchanges import ROUNDING, Amounts, exact_odds, least_odds
from foreknow.adversaries.priors.posteriors import GroupPosteriors
from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups
from foreknow.data.arrays import BoolArray, FloatArray, IntArray

# Groups of one shape are judged together, so many numbers at a time.
_NUMBERS, _MOST_NUMBERS = 1 << 17, 1 << 24
# With chances at least as large as this, products of four neither overflow nor underflow.
_LEAST = 2.0**-200
_NOTHING = 2.0**-290
# So many linked people at most are compared by fractions.
_MOST_TIES = 4096


class Bounds(NamedTuple):
    """Upper and lower bounds of the answer, by cell of the posteriors, as floats.

    Where it is `bounded`, the answer is an upper bound itself.
    """

    upper: FloatArray
    lower: FloatArray
    bounded: BoolArray

    def at(self, cells: IntArray) -> Bounds:
        """The bounds of some cells."""
        return Bounds(self.upper[cells], self.lower[cells], self.bounded[cells])


class _Shape(NamedTuple):
    """Cases that have as many signatures and as many values."""

    cases: IntArray
    cells: IntArray  # (cases, signatures, values)
    signatures: IntArray
    people: IntArray
    values: IntArray
    counts: IntArray


@dataclass(frozen=True, eq=False)
class Known:
    """Facts of some amounts on top of the posteriors of a release."""

    posteriors: GroupPosteriors
    matrix: PriorMatrix
    amounts: Amounts

    @cached_property
    def of_values(self) -> Bounds:
        """The bounds of each value by itself."""
        return self.of_set(())

    def of_set(self, codes: Sequence[int]) -> Bounds:
        """Bounds of the chance of having any of a set of values (`codes`), for each of its cells.

        A cell is a signature and a value of a case (equal groups). No codes: each value by itself.
        Cells whose posterior is out of reach of the exact sum get bounds by exchanging values of
        people.
        """
        all_cases = np.arange(self.posteriors.cases.n_groups)
        # People known or linked: bounds only.
        if any(self.amounts[1:]):
            return self._exchanged(codes, all_cases)
        beyond = self.posteriors.bounded
        by_case = np.logical_or.reduceat(beyond, self.posteriors.offsets[:-1])
        exactly = self._ruled_out(codes)
        if not by_case.any():
            return exactly
        exchanged = self._exchanged(codes, np.flatnonzero(by_case))
        return Bounds(
            np.where(beyond, exchanged.upper, exactly.upper),
            np.where(beyond, exchanged.lower, exactly.lower),
            np.where(beyond, exchanged.bounded, exactly.bounded),
        )

    # ---- values that the target does not have, exactly ------------------------------------

    def _ruled_out(self, codes: Sequence[int]) -> Bounds:
        """The bounds if only values are ruled out: the most likely of the others.

        A chance p becomes p / (p + q), where q is the chance of the values that are left.
        """
        upper, lower = self.posteriors.upper(), self.posteriors.lower()
        high, low, l = np.zeros_like(upper), np.zeros_like(upper), self.amounts[0]
        for shape in self._shapes(np.arange(self.posteriors.cases.n_groups)):
            highest, lowest = upper[shape.cells], lower[shape.cells]
            spare = (shape.cells.shape[2] + 8.0) * 2 * ROUNDING
            if codes:
                secret = np.isin(shape.values, codes)[:, None, :]
                # The higher bound divides by the least that may be left, and the lower one by the
                # most.
                least_left = _least_left(np.where(secret, 0.0, lowest), l)
                most_left = _least_left(np.where(secret, 0.0, highest), l)
                highest = np.where(secret, highest, 0.0).sum(axis=2, keepdims=True)
                lowest = np.where(secret, lowest, 0.0).sum(axis=2, keepdims=True)
            elif self.posteriors.mode == "joint":
                least_left = _least_left_of_others(lowest, l)
                most_left = _least_left_of_others(highest, l)
            else:
                # Each value is had or not: those who have not are divided by what they may have.
                n_others = shape.people.sum(axis=1)[:, None] - shape.counts
                n_left = _count_left(shape.counts, n_others, l)
                share = (n_left / np.maximum(n_others, 1))[:, None, :]
                least_left, most_left = (1 - highest) * share, (1 - lowest) * share
            bound = np.minimum(_share(highest, least_left) * (1 + spare), 1.0)
            # A share of next to nothing may round to much: it is 0 if nobody can have the value.
            is_doubtful = (highest < _NOTHING) & (bound > _NOTHING)
            for case, position, column in np.argwhere(is_doubtful).tolist():
                possible_codes = codes or shape.values[case, [column]].tolist()
                if not self._may_have(possible_codes, int(shape.cases[case]), position):
                    bound[case, position, column] = 0.0
            high[shape.cells] = bound
            low[shape.cells] = _share(lowest, most_left) * (1 - spare)
        return Bounds(high, low, np.zeros(len(upper), dtype=bool))

    def _may_have(self, codes: Sequence[int], case: int, position: int) -> bool:
        """True if people of one signature have a value of a set in some world of a case."""
        people, counts, rows, secret = self._case_parts(codes, case)
        can_have = possible(np.array(rows, dtype=object) > 0, people, counts)
        return can_have is not None and bool(can_have[position, secret].any())

    def conditioned(
        self, row: Sequence[Fraction], columns: Sequence[int], counts: Sequence[int]
    ) -> Fraction:
        """The chance of any of some values, after l other values are ruled out.

        `row` has the exact posterior of each value of the case for these people, and `columns` says
        which values are meant. It is worst to rule out the likeliest ones.
        """
        had, l = sum((row[column] for column in columns), Fraction(0)), self.amounts[0]
        if not had:
            return had
        if self.posteriors.mode == "binary":
            ((column,), n_people) = columns, sum(counts)
            n_others = n_people - counts[column]
            n_left = _exactly_left(counts, column, l)
            return had / (had + (1 - had) * Fraction(n_left, n_others or 1))
        # Without the l likeliest others.
        others_of = sorted(p for column, p in enumerate(row) if column not in columns)
        return had / (had + sum(others_of[: max(len(others_of) - l, 0)], Fraction(0)))

    # ---- people who are known, and links --------------------------------------------------

    def _exchanged(self, codes: Sequence[int], cases: IntArray) -> Bounds:
        """Upper bounds of chances with known or linked people, by exchanges of values.

        The odds against the target's secret are multiplied by the chance that nobody who is linked
        has it.
        """
        odds, linked = self._odds(codes, cases)
        # By value: the chance that none of the linked people has it.
        factors = _chance_without(linked).prod(axis=0)
        factor = factors[0] if codes else factors[self.posteriors.cells()[2]]
        is_possible = np.isfinite(odds)
        chance = is_possible / (1 + np.where(is_possible, odds, 0.0) * factor)
        error = self._error * (len(linked) + 2)
        lower = chance * (0.0 if self._extreme else 1 - error)
        return Bounds(np.minimum(chance * (1 + error), 1.0), lower, np.ones(len(odds), dtype=bool))

    def _odds(self, codes: Sequence[int], cases: IntArray) -> tuple[FloatArray, FloatArray]:
        """The odds against each cell, and the least odds of anybody by linked person and value.

        If `codes` are given, they are one secret, and the second array has one column.
        """
        odds = np.full(len(self.posteriors.probabilities), np.inf)
        links = min(self.amounts[2], int(self.posteriors.cases.sizes.max(initial=0)))
        linked = np.full((links, 1 if codes else self.matrix.chances.shape[1]), np.inf)
        for shape in self._shapes(cases):
            of_target, of_linked = self._odds_of(shape, codes, links)
            odds[shape.cells] = of_target
            # A linked person may be anybody: keep the least odds over all cases.
            for lowest, of_person in zip(linked, of_linked, strict=True):
                if codes:
                    lowest[0] = min(lowest[0], of_person.min())
                else:
                    np.minimum.at(lowest, shape.values, of_person.min(axis=1))
        return odds, linked

    def _odds_of(
        self, shape: _Shape, codes: Sequence[int], links: int
    ) -> tuple[FloatArray, FloatArray]:
        """The least odds against a value, by case, signature and value; and of each linked person.

        If there are `codes`, against having any of them: then the axis of values has the length 1
        for linked people.
        """
        largest = int(shape.people.sum(axis=1).max())
        # No more people can be known or linked than there are.
        n_known = min(self.amounts[1], largest)
        amounts = self.amounts[0], n_known, min(links, max(largest - n_known, 0))
        is_secret = np.isin(shape.values, codes)
        if self.posteriors.mode == "joint":
            odds, linked = self._odds_by_value(shape, is_secret, amounts)
        else:
            odds, linked = self._odds_or_not(shape, amounts)
        by_cell = odds.shape
        if codes:
            odds, linked = _odds_of_any(odds, is_secret), _odds_of_any(linked, is_secret)
        nobody = np.where(np.isfinite(odds), 0.0, np.inf)  # of links to more people than there are
        of_links = [*linked, *([nobody] * (links - len(linked)))]
        odds = np.broadcast_to(odds, by_cell).swapaxes(1, 2)
        return odds, np.array(of_links).reshape(links, *nobody.shape).swapaxes(2, 3)

    def _odds_by_value(
        self, shape: _Shape, is_secret: BoolArray, amounts: Amounts
    ) -> tuple[FloatArray, FloatArray]:
        """The odds of `_odds_of` where people have one of all values, some values at a time.

        Results are by case, value and signature; of linked people, one after another before these.
        """
        people, counts = shape.people, shape.counts  # (cases, signatures), (cases, values)
        n_values = counts.shape[1]
        chances = self.matrix.chances[shape.signatures[:, None, :], shape.values[:, :, None]]
        amounts = min(amounts[0], n_values - 1), *amounts[1:]
        # As many values at a time as memory allows.
        step = max(_MOST_NUMBERS // (n_values * int(people.sum(axis=1).max()) * len(people)), 1)
        odds_of_parts, linked_of_parts = [], []
        for start in range(0, n_values, step):
            rows = slice(start, start + step)
            odds, linked = least_odds(people, counts, chances, is_secret, amounts, rows)
            odds_of_parts.append(odds)
            linked_of_parts.append(linked)
        return np.concatenate(odds_of_parts, axis=1), np.concatenate(linked_of_parts, axis=2)

    def _odds_or_not(self, shape: _Shape, amounts: Amounts) -> tuple[FloatArray, FloatArray]:
        """The odds of `_odds_of` with binary priors: people have each value or not.

        A small problem of two values for each value of each case. Results are by case, value and
        signature; for linked people, one after another before these.
        """
        ruled_out, n_known, n_linked = amounts
        counts, n_values = shape.counts, shape.counts.shape[1]
        cells = shape.signatures[:, None, :], shape.values[:, :, None]
        chances = self.matrix.chances[cells]  # (cases, values, signatures)
        other_counts = shape.people.sum(axis=1)[:, None] - counts
        people = np.repeat(shape.people, n_values, axis=0)
        pairs = np.stack([chances, self.matrix.complements[cells]], axis=2)
        pairs = pairs.reshape(-1, 2, chances.shape[2])
        none, first = np.zeros((len(pairs), 2), dtype=bool), slice(0, 1)
        remaining = _count_left(counts, other_counts, ruled_out)
        # Two values: had, and not had; of the latter those who are not ruled out.
        of_target = np.stack([counts, remaining], axis=2).reshape(-1, 2)
        of_linked = np.stack([counts, other_counts], axis=2).reshape(-1, 2)
        odds, _ = least_odds(people, of_target, pairs, none, (0, n_known, 0), first)
        _, linked = least_odds(people, of_linked, pairs, none, (0, n_known, n_linked), first)
        return odds.reshape(chances.shape), linked.reshape(n_linked, *chances.shape)

    def bound(self, codes: Sequence[int], case: int, position: int) -> Fraction | None:
        """The bound of some values for people of one signature of a case, as a fraction.

        None where too many linked people would have to be compared.
        """
        odds = self._exact(codes, case, position, self.amounts[:2], 0)[0]
        # Certain, or impossible.
        if odds in (0, inf):
            return Fraction(odds == 0)
        odds_of_linked = self._exact_linked(tuple(codes))
        if odds_of_linked is None:
            return None
        factor = prod(Fraction(x) / (1 + Fraction(x)) for x in odds_of_linked if x != inf)
        return 1 / (1 + Fraction(odds) * factor)

    @cached_property
    def _linked(self) -> dict[tuple[int, ...], list[Fraction | float] | None]:
        """The cached results of `_exact_linked`, by values."""
        return {}

    def _exact_linked(self, codes: tuple[int, ...]) -> list[Fraction | float] | None:
        """For each linked person, the least odds of anybody against these values, as fractions.

        None if so many people come near the least odds that fractions would take too long. Kept by
        values.
        """
        if codes in self._linked or not self.amounts[2]:
            return self._linked.get(codes, [])
        bags = self.posteriors.cases
        holds = np.add.reduceat(np.isin(bags.values, codes), bags.value_offsets[:-1])
        cases = np.flatnonzero(holds)
        linked = self._odds(codes, cases)[1][:, :1]
        odds_of_ties: list[Fraction | float] = [inf] * len(linked)
        least_odds: list[Fraction | float] | None = odds_of_ties
        if not linked.all() and not self._extreme:
            least_odds = [Fraction(0)]  # as soon as one of them is certain
        elif len(linked):
            # Floats find the people who may have the least odds.
            ceiling = (linked * (1 + 4 * self._error))[:, :, None] if not self._extreme else inf
            nearly_lowest = []
            for shape in self._shapes(cases):
                of_linked = self._odds_of(shape, codes, len(linked))[1][..., 0]
                tied = ((of_linked <= ceiling) & np.isfinite(of_linked)).any(axis=0)
                nearly_lowest += [
                    (int(shape.cases[case]), position) for case, position in np.argwhere(tied)
                ]
            if len(nearly_lowest) <= _MOST_TIES:
                amounts = 0, self.amounts[1]
                for case, position in nearly_lowest:
                    odds = self._exact(codes, case, int(position), amounts, len(linked))[1:]
                    odds_of_ties = list(map(min, odds_of_ties, odds))
                least_odds = odds_of_ties
            else:
                least_odds = None
        self._linked[codes] = least_odds
        return least_odds

    def _exact(
        self, codes: Sequence[int], case: int, position: int, amounts: tuple[int, int], links: int
    ) -> list[Fraction | float]:
        """The exact odds against some values for people of one signature, then for linked people.

        `amounts` are how many values are ruled out, and how many people are known. `position` is
        that of the signature in the case.
        """
        people, counts, rows, secret = self._case_parts(codes, case)
        (l, k), n_people = amounts, sum(people)
        if self.posteriors.mode == "binary":
            values, bag = zip(*self.posteriors.cases.bag_of(case), strict=True)
            (column,) = np.flatnonzero(np.isin(values, codes)).tolist()
            counts, l = [counts[0], _exactly_left(bag, column, l)], 0
        k, m = min(k, n_people), min(links, max(n_people - k, 0))
        odds = exact_odds(people, counts, rows, position, secret, (min(l, len(counts)), k, m))
        # Links beyond the people of the group are to nobody.
        return [*odds, *([inf if odds[0] == inf else Fraction(0)] * (links - m))]

    def _case_parts(
        self, codes: Sequence[int], case: int
    ) -> tuple[list[int], list[int], list[list[Fraction]], list[int]]:
        """People by signature, people by value, priors, and which of the values are a secret.

        For one case; `codes` are the values of the secret. Where each value is had or not had,
        these are the two values.
        """
        people, bag = self.posteriors.cases.people_of(case), self.posteriors.cases.bag_of(case)
        signatures, n = zip(*people, strict=True)
        values, c = zip(*bag, strict=True)
        rows = self.matrix.rows(signatures, values)
        secret = [column for column, value in enumerate(values) if value in codes]
        if self.posteriors.mode == "joint":
            return list(n), list(c), rows, secret
        (column,) = secret
        pairs = [[row[column], 1 - row[column]] for row in rows]
        return list(n), [c[column], sum(c) - c[column]], pairs, [0]

    # ---- arrays ---------------------------------------------------------------------------

    @cached_property
    def _error(self) -> float:
        """Bound of the relative error of odds: terms and sums of one sign, and the priors'."""
        cases = self.posteriors.cases
        terms = cases.sizes.max(initial=0) + cases.n_values.max(initial=0)
        return 2 * ROUNDING * (int(terms) + 32)

    @cached_property
    def _extreme(self) -> bool:
        """True if products of chances may be beyond floats, so that nothing is a lower bound."""
        is_binary = self.posteriors.mode == "binary"
        return _has_tiny(self.matrix.chances) or (is_binary and _has_tiny(self.matrix.complements))

    def _shapes(self, wanted_cases: IntArray) -> Iterator[_Shape]:
        """Yield batches of cases with equal numbers of signatures, values and people.

        A batch has as many cases as memory allows.
        """
        cases = self.posteriors.cases
        rows = cases.n_signatures[wanted_cases]
        columns = cases.n_values[wanted_cases]
        sizes = cases.sizes[wanted_cases]
        # One number for the three lengths that make a shape.
        kinds = rows * (int(columns.max(initial=0)) + 1) + columns
        kinds = kinds * (int(sizes.max(initial=0)) + 1) + sizes
        for kind in np.unique(kinds).tolist():
            same_shape = wanted_cases[kinds == kind]
            height = int(cases.n_signatures[same_shape[0]])
            width = int(cases.n_values[same_shape[0]])
            size = max(_NUMBERS // (width * width * int(cases.sizes[same_shape[0]])), 1)
            for start in range(0, len(same_shape), size):
                chunk = same_shape[start : start + size]
                rows_of_chunk = cases.offsets[chunk][:, None] + np.arange(height)
                bag = cases.value_offsets[chunk][:, None] + np.arange(width)
                cells = self.posteriors.offsets[chunk][:, None] + np.arange(height * width)
                yield _Shape(
                    chunk,
                    cells.reshape(len(chunk), height, width),
                    cases.signatures[rows_of_chunk],
                    cases.people[rows_of_chunk],
                    cases.values[bag],
                    cases.counts[bag],
                )


def _has_tiny(chances: FloatArray) -> bool:
    """True if a chance is above 0 and so small that products of four may underflow."""
    return bool(((chances > 0) & (chances < _LEAST)).any())


def _odds_of_any(odds: FloatArray, is_secret: BoolArray) -> FloatArray:
    """The odds against having any of the values that are one secret."""
    with np.errstate(divide="ignore"):
        odds_for = np.where(is_secret[:, :, None], 1 / odds, 0.0)
        return np.asarray(1 / odds_for.sum(axis=-2, keepdims=True))


def _share(had: FloatArray, remaining: FloatArray) -> FloatArray:
    """`had` / (`had` + `remaining`); 0 where `had` is 0."""
    return had / np.where(had > 0, had + remaining, 1.0)


def _chance_without(odds: FloatArray) -> FloatArray:
    """The chance that somebody does not have what these odds are against."""
    return np.where(np.isinf(odds), 1.0, odds / (1 + np.where(np.isinf(odds), 0.0, odds)))


def _least_left(chances: FloatArray, l: int) -> FloatArray:
    """The sum along the last axis without the l largest."""
    falling = -np.sort(-chances, axis=-1)
    return np.asarray(falling[..., l:].sum(axis=-1, keepdims=True))


def _least_left_of_others(chances: FloatArray, l: int) -> FloatArray:
    """For each place, the sum of the others of its row without the l largest of these."""
    # Sorted, the largest first.
    falling = -np.sort(-chances, axis=-1)
    end = np.concatenate([falling, np.zeros_like(falling[..., :1])], axis=-1)
    following = end[..., [min(l, chances.shape[-1])]]
    remaining = falling[..., l + 1 :].sum(axis=-1, keepdims=True)
    # Whoever is not among the l + 1 largest leaves its place to the last of these.
    return np.asarray(remaining + np.maximum(following - chances, 0.0))


def _count_left(counts: IntArray, n_others: IntArray, l: int) -> IntArray:
    """How many people have neither a value nor the l most frequent others, by group and value."""
    falling = np.concatenate([-np.sort(-counts, axis=1), np.zeros_like(counts[:, :1])], axis=1)
    l = min(l, counts.shape[1])
    tops, following = falling[:, :l].sum(axis=1, keepdims=True), falling[:, [l]]
    # A value that is itself among the l most frequent leaves its place to the one that follows.
    n_ruled_out = tops + following - np.maximum(counts, following)
    return np.asarray(n_others - n_ruled_out)


def least_left(groups: SignatureGroups, l: int) -> IntArray:
    """How many people have neither a value nor the l most frequent others of their group.

    An entry for each value of each group.
    """
    remaining, lengths = np.empty(len(groups.counts), np.int64), groups.n_values
    for length in np.unique(lengths).tolist():
        same_length = np.flatnonzero(lengths == length)
        positions = groups.value_offsets[same_length][:, None] + np.arange(length)
        counts = groups.counts[positions]
        remaining[positions] = _count_left(counts, groups.sizes[same_length][:, None] - counts, l)
    return remaining


def _exactly_left(counts: Sequence[int], column: int, l: int) -> int:
    """How many people of one group have neither one value nor the l most frequent others."""
    other_counts = sorted(count for position, count in enumerate(counts) if position != column)
    return sum(other_counts[: max(len(other_counts) - l, 0)])
