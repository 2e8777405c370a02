"""FactsOnTop: posteriors of everybody to somebody who has facts on top of the priors.

Values that the target does not have only condition its own posterior: where that is exact, so is
what comes of it. People who are known, and links, are answered by the bound of `exchanges`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np

from foreknow.adversaries.assignment import possible
from foreknow.adversaries.priors.exchanges import ROUNDING, Amounts, exact_odds, least_odds
from foreknow.adversaries.priors.posteriors import GroupPosteriors
from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups, equal_rows
from foreknow.data.arrays import BoolArray, FloatArray, IntArray

# Cases of one shape are judged together, so many numbers at a time; one case may have the most.
_NUMBERS, _MOST_NUMBERS = 1 << 17, 1 << 24
# With chances at least as large as this, products of four neither overflow nor underflow.
_NO_UNDERFLOW_FROM = 2.0**-200
_NOTHING = 2.0**-290
# So many linked people at most are compared by fractions.
_MOST_TIES = 4096


class Bounds(NamedTuple):
    """Upper and lower bounds of the chance in each cell of the posteriors, as floats.

    Where it is `bounded`, only an upper bound is known, and not how close it is.
    """

    upper: FloatArray
    lower: FloatArray
    bounded: BoolArray

    def at(self, cells: IntArray) -> Bounds:
        """The bounds of some cells."""
        return Bounds(self.upper[cells], self.lower[cells], self.bounded[cells])


class _Batch(NamedTuple):
    """Cases with equally many signatures, values and people, as arrays with a row for each case.

    A case is one of equal groups. A cell is a pair of a signature and a value of a case.
    """

    cases: IntArray
    cells: IntArray  # (cases, signatures, values)
    signatures: IntArray
    people: IntArray  # how many have each signature
    values: IntArray
    counts: IntArray  # how many have each value


class _ExactCase(NamedTuple):
    """One case in whole numbers and fractions."""

    people: list[int]  # by signature
    counts: list[int]  # by value
    priors: list[list[Fraction]]  # by signature and value
    secret: list[int]  # the positions of the secret's values


@dataclass(frozen=True, eq=False)
class FactsOnTop:
    """The posteriors of a release once facts of some amounts are known beside the priors.

    `amounts` are how many values are ruled out for the target, and how many other people are known
    and linked.
    """

    posteriors: GroupPosteriors
    matrix: PriorMatrix
    amounts: Amounts

    @cached_property
    def bounds_of_values(self) -> Bounds:
        """The bounds of each value by itself."""
        return self.bounds_of_set(())

    def bounds_of_set(self, codes: Sequence[int]) -> Bounds:
        """Bounds of the chance of having any of a set of values (`codes`), for each of its cells.

        A cell is a signature and a value of a case (equal groups). No codes: each value by itself.
        Cells whose posterior is out of reach of the exact sum get bounds by exchanging values of
        people.
        """
        all_cases = np.arange(self.posteriors.cases.n_groups)
        _, n_known, n_linked = self.amounts
        if n_known or n_linked:
            return self._bounds_by_exchanges(codes, all_cases)
        by_exclusion = self._bounds_by_ruling_out(codes)
        out_of_reach = self.posteriors.bounded
        is_case_out_of_reach = np.logical_or.reduceat(out_of_reach, self.posteriors.offsets[:-1])
        if not is_case_out_of_reach.any():
            return by_exclusion
        by_exchange = self._bounds_by_exchanges(codes, np.flatnonzero(is_case_out_of_reach))
        return Bounds(
            np.where(out_of_reach, by_exchange.upper, by_exclusion.upper),
            np.where(out_of_reach, by_exchange.lower, by_exclusion.lower),
            np.where(out_of_reach, by_exchange.bounded, by_exclusion.bounded),
        )

    # ---- values that the target does not have, exactly ------------------------------------

    def _bounds_by_ruling_out(self, codes: Sequence[int]) -> Bounds:
        """The bounds if only values are ruled out: the most likely of the others.

        A chance p becomes p / (p + q), where q is the chance of the values that are left.
        """
        n_ruled_out, _, _ = self.amounts
        upper, lower = self.posteriors.upper(), self.posteriors.lower()
        high, low = np.zeros_like(upper), np.zeros_like(upper)
        for batch in self._batches(np.arange(self.posteriors.cases.n_groups)):
            highest, lowest = upper[batch.cells], lower[batch.cells]
            rounding = (batch.cells.shape[2] + 8.0) * 2 * ROUNDING
            if codes:
                secret = np.isin(batch.values, codes)[:, None, :]
                # The higher bound divides by the least that may be left, and the lower one by the
                # most.
                least_left = _sum_without_largest(np.where(secret, 0.0, lowest), n_ruled_out)
                most_left = _sum_without_largest(np.where(secret, 0.0, highest), n_ruled_out)
                highest = np.where(secret, highest, 0.0).sum(axis=2, keepdims=True)
                lowest = np.where(secret, lowest, 0.0).sum(axis=2, keepdims=True)
            elif self.posteriors.mode == "joint":
                least_left = _sum_of_others_without_largest(lowest, n_ruled_out)
                most_left = _sum_of_others_without_largest(highest, n_ruled_out)
            else:
                # Each value is had or not: those who have not are divided by what they may have.
                n_others = batch.people.sum(axis=1)[:, None] - batch.counts
                n_left = _count_after_ruling_out(batch.counts, n_others, n_ruled_out)
                share_left = (n_left / np.maximum(n_others, 1))[:, None, :]
                least_left, most_left = (1 - highest) * share_left, (1 - lowest) * share_left
            bound = np.minimum(_share(highest, least_left) * (1 + rounding), 1.0)
            # A share of next to nothing may round to much: it is 0 if nobody can have the value.
            is_doubtful = (highest < _NOTHING) & (bound > _NOTHING)
            for row, position, column in np.argwhere(is_doubtful).tolist():
                possible_codes = codes or batch.values[row, [column]].tolist()
                if not self._may_have(possible_codes, int(batch.cases[row]), position):
                    bound[row, position, column] = 0.0
            high[batch.cells] = bound
            low[batch.cells] = _share(lowest, most_left) * (1 - rounding)
        return Bounds(high, low, bounded=np.zeros(len(upper), dtype=bool))

    def _may_have(self, codes: Sequence[int], case: int, position: int) -> bool:
        """True if people of one signature have a value of a set in some world of a case.

        The signature is at `position` among those of the case.
        """
        exact_case = self._exact_case(codes, case)
        has_chance = np.array(exact_case.priors, dtype=object) > 0
        can_have = possible(has_chance, exact_case.people, exact_case.counts)
        return can_have is not None and bool(can_have[position, exact_case.secret].any())

    def chance_after_ruling_out(
        self, row: Sequence[Fraction], columns: Sequence[int], counts: Sequence[int]
    ) -> Fraction:
        """The chance of having any of some values, after as many others as the facts allow are out.

        `row` has the exact posterior of each value of the case for these people, and `columns` says
        which values are meant. It is worst to rule out the likeliest ones.
        """
        n_ruled_out, _, _ = self.amounts
        had = sum((row[column] for column in columns), Fraction(0))
        if not had:
            return had
        if self.posteriors.mode == "binary":
            (column,) = columns
            n_others = sum(counts) - counts[column]
            n_left = _count_of_one_after_ruling_out(counts, column, n_ruled_out)
            return had / (had + (1 - had) * Fraction(n_left, n_others or 1))
        others = sorted(p for column, p in enumerate(row) if column not in columns)
        without_likeliest = others[: max(len(others) - n_ruled_out, 0)]
        return had / (had + sum(without_likeliest, Fraction(0)))

    # ---- people who are known, and links --------------------------------------------------

    def _bounds_by_exchanges(self, codes: Sequence[int], cases: IntArray) -> Bounds:
        """Bounds of chances with known or linked people, by exchanges of values.

        The odds against the target's secret are multiplied by the chance that nobody who is linked
        has it.
        """
        odds, odds_of_linked = self._least_odds_of_cases(codes, cases)
        chance_nobody_linked = _chance_against(odds_of_linked).prod(axis=0)  # by value
        _, _, value_of_cell = self.posteriors.cells()
        factor = chance_nobody_linked[0] if codes else chance_nobody_linked[value_of_cell]
        is_possible = np.isfinite(odds)
        chance = is_possible / (1 + np.where(is_possible, odds, 0.0) * factor)
        error = self._odds_error * (len(odds_of_linked) + 2)
        lower = chance * (0.0 if self._may_underflow else 1 - error)
        upper = np.minimum(chance * (1 + error), 1.0)
        return Bounds(upper, lower, bounded=np.ones(len(odds), dtype=bool))

    def _least_odds_of_cases(
        self, codes: Sequence[int], cases: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """The odds against each cell, and the least odds of anybody by linked person and value.

        If `codes` are given, they are one secret, and the second array has one column.
        """
        _, _, n_linked = self.amounts
        odds = np.full(len(self.posteriors.probabilities), np.inf)
        links = min(n_linked, int(self.posteriors.cases.sizes.max(initial=0)))
        odds_of_linked = np.full((links, 1 if codes else self.matrix.chances.shape[1]), np.inf)
        for batch in self._batches(cases):
            of_target, of_linked = self._least_odds_of_batch(batch, codes, links)
            odds[batch.cells] = of_target
            # A linked person may be anybody: keep the least odds over all cases.
            for least_so_far, of_person in zip(odds_of_linked, of_linked, strict=True):
                if codes:
                    least_so_far[0] = min(least_so_far[0], of_person.min())
                else:
                    np.minimum.at(least_so_far, batch.values, of_person.min(axis=1))
        return odds, odds_of_linked

    def _least_odds_of_batch(
        self, batch: _Batch, codes: Sequence[int], links: int
    ) -> tuple[FloatArray, FloatArray]:
        """The least odds against a value, by case, signature and value; and of each linked person.

        If there are `codes`, against having any of them: then the axis of values has the length 1
        for linked people.
        """
        n_ruled_out, n_known, _ = self.amounts
        largest = int(batch.people.sum(axis=1).max())
        # No more people can be known or linked than there are.
        n_known = min(n_known, largest)
        amounts = n_ruled_out, n_known, min(links, max(largest - n_known, 0))
        is_secret = np.isin(batch.values, codes)
        if self.posteriors.mode == "joint":
            odds, odds_of_linked = self._least_odds_joint(batch, is_secret, amounts)
        else:
            odds, odds_of_linked = self._least_odds_binary(batch, amounts)
        by_cell = odds.shape
        if codes:
            odds = _odds_of_any(odds, is_secret)
            odds_of_linked = _odds_of_any(odds_of_linked, is_secret)
        # Links to more people than there are change nothing.
        odds_of_nobody = np.where(np.isfinite(odds), 0.0, np.inf)
        by_link = [*odds_of_linked, *([odds_of_nobody] * (links - len(odds_of_linked)))]
        odds = np.broadcast_to(odds, by_cell).swapaxes(1, 2)
        return odds, np.array(by_link).reshape(links, *odds_of_nobody.shape).swapaxes(2, 3)

    def _least_odds_joint(
        self, batch: _Batch, is_secret: BoolArray, amounts: Amounts
    ) -> tuple[FloatArray, FloatArray]:
        """The odds of `_least_odds_of_batch` where everybody has one of all values.

        The first result is by case, value and signature; the second is by linked person and these.
        """
        n_ruled_out, n_known, n_linked = amounts
        people, counts = batch.people, batch.counts
        n_values, largest = counts.shape[1], int(people.sum(axis=1).max())
        chances = self.matrix.chances[batch.signatures[:, None, :], batch.values[:, :, None]]
        # As many values at a time as memory allows.
        step = max(_MOST_NUMBERS // (n_values * largest * len(people)), 1)
        odds_of_parts, linked_of_parts = [], []
        for start in range(0, n_values, step):
            odds, odds_of_linked = least_odds(
                people,
                counts,
                chances,
                is_secret,
                amounts=(min(n_ruled_out, n_values - 1), n_known, n_linked),
                rows=slice(start, start + step),
            )
            odds_of_parts.append(odds)
            linked_of_parts.append(odds_of_linked)
        return np.concatenate(odds_of_parts, axis=1), np.concatenate(linked_of_parts, axis=2)

    def _least_odds_binary(self, batch: _Batch, amounts: Amounts) -> tuple[FloatArray, FloatArray]:
        """The odds of `_least_odds_of_batch` where people have each value or not.

        Each value of each case is a problem of two values: had, and not had. The first result is by
        case, value and signature; the second is by linked person and these.
        """
        n_ruled_out, n_known, n_linked = amounts
        n_values = batch.counts.shape[1]
        n_others = batch.people.sum(axis=1)[:, None] - batch.counts
        people = np.repeat(batch.people, n_values, axis=0)
        cells = batch.signatures[:, None, :], batch.values[:, :, None]
        had = self.matrix.chances[cells]  # (cases, values, signatures)
        not_had = self.matrix.complements[cells]
        chances = np.stack([had, not_had], axis=2).reshape(-1, 2, had.shape[2])
        no_set = np.zeros((len(chances), 2), dtype=bool)

        def odds_against_having(n_without: IntArray, links: int) -> tuple[FloatArray, FloatArray]:
            """The odds of everybody, and of those linked, if so many others do not have a value."""
            counts = np.stack([batch.counts, n_without], axis=2).reshape(-1, 2)
            amounts_left = 0, n_known, links  # `n_without` says already who is ruled out
            only_had = slice(0, 1)
            return least_odds(people, counts, chances, no_set, amounts=amounts_left, rows=only_had)

        n_left = _count_after_ruling_out(batch.counts, n_others, n_ruled_out)
        odds, _ = odds_against_having(n_left, 0)
        # For linked people, no value is ruled out.
        _, odds_of_linked = odds_against_having(n_others, n_linked)
        return odds.reshape(had.shape), odds_of_linked.reshape(n_linked, *had.shape)

    def bound_as_fraction(self, codes: Sequence[int], case: int, position: int) -> Fraction | None:
        """The bound of some values for people of one signature of a case, as a fraction.

        None where too many linked people would have to be compared.
        """
        n_ruled_out, n_known, _ = self.amounts
        odds, *_ = self._exact_odds(codes, case, position, n_ruled_out, n_known, n_linked=0)
        if odds == inf:
            return Fraction(0)
        if odds == 0:
            return Fraction(1)
        odds_of_linked = self._exact_odds_of_linked(tuple(codes))
        if odds_of_linked is None:
            return None
        chance_nobody_linked = prod(
            Fraction(x) / (1 + Fraction(x)) for x in odds_of_linked if x != inf
        )
        return 1 / (1 + Fraction(odds) * chance_nobody_linked)

    @cached_property
    def _odds_of_linked_cache(self) -> dict[tuple[int, ...], list[Fraction | float] | None]:
        """The results of `_exact_odds_of_linked` so far, by values."""
        return {}

    def _exact_odds_of_linked(self, codes: tuple[int, ...]) -> list[Fraction | float] | None:
        """For each linked person, the least odds against having one of these values, as fractions.

        A linked person is one of whom the adversary knows: "if this person has the value, so has
        the target". `codes` are the values. None if so many people come near the least odds that
        fractions would take too long.
        """
        _, _, n_linked = self.amounts
        if not n_linked:
            return []
        cache = self._odds_of_linked_cache
        if codes not in cache:
            cache[codes] = self._work_out_odds_of_linked(codes)
        return cache[codes]

    def _work_out_odds_of_linked(self, codes: tuple[int, ...]) -> list[Fraction | float] | None:
        """The least odds against these values for each linked person; see `_exact_odds_of_linked`.

        Floats are computed for everybody, and fractions only for those who come near the least. A
        case is one group, or several with the same people and values; a signature is a kind of
        person, of whom the priors say the same. Odds of 0 mean that a person is certain.
        """
        _, n_known, _ = self.amounts
        groups = self.posteriors.cases
        holds = np.add.reduceat(np.isin(groups.values, codes), groups.value_offsets[:-1])
        cases = np.flatnonzero(holds)
        _, odds_of_linked = self._least_odds_of_cases(codes, cases)
        least_by_floats, n_linked = odds_of_linked[:, :1], len(odds_of_linked)
        if not least_by_floats.all() and not self._may_underflow:
            return [Fraction(0)]  # as soon as one of them is certain
        # Floats find the people who may have the least odds.
        ceiling: Any = inf
        if not self._may_underflow:
            ceiling = (least_by_floats * (1 + 4 * self._odds_error))[:, :, None]
        ties: list[tuple[int, int]] = []  # cases, and positions of signatures there
        for batch in self._batches(cases) if n_linked else ():
            _, odds_of_batch = self._least_odds_of_batch(batch, codes, n_linked)
            odds = odds_of_batch[..., 0]
            is_tie = ((odds <= ceiling) & np.isfinite(odds)).any(axis=0)
            for row, position in np.argwhere(is_tie).tolist():
                ties.append((int(batch.cases[row]), position))
        if len(ties) > _MOST_TIES:
            return None
        least: list[Fraction | float] = [inf] * n_linked
        for case, position in ties:
            _, *odds_here = self._exact_odds(codes, case, position, 0, n_known, n_linked)
            least = list(map(min, least, odds_here))
        return least

    def _exact_odds(
        self,
        codes: Sequence[int],
        case: int,
        position: int,
        n_ruled_out: int,
        n_known: int,
        n_linked: int,
    ) -> list[Fraction | float]:
        """The exact odds against some values for people of one signature, then for linked people.

        The signature is at `position` among those of the case.
        """
        people, counts, priors, secret = self._exact_case(codes, case)
        if self.posteriors.mode == "binary":
            values, bag = zip(*self.posteriors.cases.bag_of(case), strict=True)
            (column,) = np.flatnonzero(np.isin(values, codes)).tolist()
            n_left = _count_of_one_after_ruling_out(bag, column, n_ruled_out)
            counts, n_ruled_out = [bag[column], n_left], 0
        n_people = sum(people)
        n_known = min(n_known, n_people)
        n_linked_here = min(n_linked, n_people - n_known)
        amounts = min(n_ruled_out, len(counts)), n_known, n_linked_here
        odds = exact_odds(people, counts, priors, position, secret, amounts)
        # Links to more people than the group has change nothing.
        odds_of_nobody = inf if odds[0] == inf else Fraction(0)
        return [*odds, *([odds_of_nobody] * (n_linked - n_linked_here))]

    def _exact_case(self, codes: Sequence[int], case: int) -> _ExactCase:
        """One case, where the values `codes` are a secret.

        Where each value is had or not, its two values are the secret and everything else.
        """
        cases = self.posteriors.cases
        signatures, people = zip(*cases.people_of(case), strict=True)
        values, counts = zip(*cases.bag_of(case), strict=True)
        priors = self.matrix.rows(signatures, values)
        secret = [column for column, value in enumerate(values) if value in codes]
        if self.posteriors.mode == "joint":
            return _ExactCase(list(people), list(counts), priors, secret)
        (column,) = secret
        n_others = sum(counts) - counts[column]
        had_or_not = [[row[column], 1 - row[column]] for row in priors]
        return _ExactCase(list(people), [counts[column], n_others], had_or_not, secret=[0])

    # ---- arrays ---------------------------------------------------------------------------

    @cached_property
    def _odds_error(self) -> float:
        """Bound of the relative error of odds: terms and sums of one sign, and the priors'."""
        cases = self.posteriors.cases
        terms = cases.sizes.max(initial=0) + cases.n_values.max(initial=0)
        return 2 * ROUNDING * (int(terms) + 32)

    @cached_property
    def _may_underflow(self) -> bool:
        """True if products of chances may be beyond floats, so that nothing is a lower bound."""
        is_binary = self.posteriors.mode == "binary"
        return _has_tiny(self.matrix.chances) or (is_binary and _has_tiny(self.matrix.complements))

    def _batches(self, wanted_cases: IntArray) -> Iterator[_Batch]:
        """Yield batches of cases with equal numbers of signatures, values and people.

        A batch has as many cases as memory allows.
        """
        cases = self.posteriors.cases
        lengths = np.stack([cases.n_signatures, cases.n_values, cases.sizes], axis=1)[wanted_cases]
        first_of_shape, shape_of_case = equal_rows(lengths)
        for number, (n_signatures, n_values, size) in enumerate(lengths[first_of_shape].tolist()):
            same_shape = wanted_cases[shape_of_case == number]
            cases_at_once = max(_NUMBERS // (n_values * n_values * size), 1)
            for start in range(0, len(same_shape), cases_at_once):
                chunk = same_shape[start : start + cases_at_once]
                signatures = cases.offsets[chunk][:, None] + np.arange(n_signatures)
                values = cases.value_offsets[chunk][:, None] + np.arange(n_values)
                first_cell = self.posteriors.offsets[chunk][:, None]
                cells = first_cell + np.arange(n_signatures * n_values)
                yield _Batch(
                    cases=chunk,
                    cells=cells.reshape(len(chunk), n_signatures, n_values),
                    signatures=cases.signatures[signatures],
                    people=cases.people[signatures],
                    values=cases.values[values],
                    counts=cases.counts[values],
                )


def _has_tiny(chances: FloatArray) -> bool:
    """True if a chance is above 0 and so small that products of four may underflow."""
    return bool(((chances > 0) & (chances < _NO_UNDERFLOW_FROM)).any())


def _odds_of_any(odds: FloatArray, is_secret: BoolArray) -> FloatArray:
    """The odds against having any of the values that are one secret."""
    with np.errstate(divide="ignore"):
        odds_for = np.where(is_secret[:, :, None], 1 / odds, 0.0)
        return np.asarray(1 / odds_for.sum(axis=-2, keepdims=True))


def _share(had: FloatArray, remaining: FloatArray) -> FloatArray:
    """`had` / (`had` + `remaining`); 0 where `had` is 0."""
    return had / np.where(had > 0, had + remaining, 1.0)


def _chance_against(odds: FloatArray) -> FloatArray:
    """The chance that somebody does not have what these odds are against."""
    return np.where(np.isinf(odds), 1.0, odds / (1 + np.where(np.isinf(odds), 0.0, odds)))


def _sum_without_largest(chances: FloatArray, l: int) -> FloatArray:
    """The sum along the last axis without the l largest."""
    falling = -np.sort(-chances, axis=-1)
    return np.asarray(falling[..., l:].sum(axis=-1, keepdims=True))


def _sum_of_others_without_largest(chances: FloatArray, l: int) -> FloatArray:
    """For each place, the sum of the others of its row without the l largest of these."""
    falling = -np.sort(-chances, axis=-1)
    with_zero = np.concatenate([falling, np.zeros_like(falling[..., :1])], axis=-1)
    after_largest = with_zero[..., [min(l, chances.shape[-1])]]
    without_more = falling[..., l + 1 :].sum(axis=-1, keepdims=True)
    # Beside one of the l largest, the next one is out, too; a smaller one is itself not summed.
    return np.asarray(without_more + np.maximum(after_largest - chances, 0.0))


def _count_after_ruling_out(counts: IntArray, n_others: IntArray, l: int) -> IntArray:
    """How many people have neither a value nor the l most frequent others, by group and value."""
    falling = np.concatenate([-np.sort(-counts, axis=1), np.zeros_like(counts[:, :1])], axis=1)
    l = min(l, counts.shape[1])
    most_frequent, following = falling[:, :l].sum(axis=1, keepdims=True), falling[:, [l]]
    # If the value is itself among the l most frequent, the one that follows is ruled out instead.
    n_ruled_out = most_frequent + following - np.maximum(counts, following)
    return np.asarray(n_others - n_ruled_out)


def count_after_ruling_out(groups: SignatureGroups, l: int) -> IntArray:
    """How many people have neither a value nor the l most frequent others of their group.

    An entry for each value of each group.
    """
    remaining, lengths = np.empty(len(groups.counts), np.int64), groups.n_values
    for length in np.unique(lengths).tolist():
        same_length = np.flatnonzero(lengths == length)
        positions = groups.value_offsets[same_length][:, None] + np.arange(length)
        counts = groups.counts[positions]
        n_others = groups.sizes[same_length][:, None] - counts
        remaining[positions] = _count_after_ruling_out(counts, n_others, l)
    return remaining


def _count_of_one_after_ruling_out(counts: Sequence[int], column: int, l: int) -> int:
    """How many people of one group have neither one value nor the l most frequent others."""
    other_counts = sorted(count for position, count in enumerate(counts) if position != column)
    return sum(other_counts[: max(len(other_counts) - l, 0)])
