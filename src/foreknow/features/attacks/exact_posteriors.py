"""Exact posteriors: the method is run on every world, or a proof says what that would give."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import FloatArray, IntArray
from foreknow.features.attacks.method_runner import Runs, Weight
from foreknow.features.attacks.worlds import Codes, Divisions, Worlds
from foreknow_judge.errors import UnsupportedError

How: TypeAlias = Literal["enumeration", "parts", "proof", "bound", "independent worlds"]

# Worlds that are run again in the end, to see that the method is not random; and one in so many of
# those that are excluded.
_AGAIN, _EXCLUDED = 2_000, 10
# After so many worlds it is judged whether there is time for all.
_TRIED = 30


class NoWorldError(Exception):
    """The release is possible in none of the worlds that were drawn, or in none at all."""


@dataclass(frozen=True, eq=False)
class Posteriors:
    """The posteriors of each cell and value, shape (cells, values)."""

    worlds: Worlds
    how: How
    looked: int  # worlds, people being told apart
    consistent: int  # those among them that the release is possible in
    runs: int
    mean: FloatArray  # the posterior; an estimate, or of a bound the frequency in the group
    low: FloatArray  # the interval; both the mean where it is exact
    high: FloatArray
    highest: Fraction | None = None
    # cells that had one value in all possible worlds met, though their group has several
    perhaps_certain: NDArray[np.bool_] | None = None
    fractions: Mapping[int, Sequence[Fraction]] = field(default_factory=dict)  # by cell
    exact_cells: NDArray[np.bool_] | None = None  # whose posteriors are exact; None: all or none
    parts: int = 1
    beyond: int = 0  # people of parts that have more assignments than may be looked at
    kept: bool = False  # of a bound: no posterior reaches a limit of the policy
    proof: str = ""  # of a proof or bound: why
    sets: Sequence[Sequence[int]] = ()  # values whose posteriors are a further column, added up

    @property
    def is_exact(self) -> bool:
        """True if these are posteriors, not estimates."""
        return bool(self.known.all())

    @property
    def is_estimated(self) -> bool:
        """True if these are neither posteriors nor bounds of them."""
        return not self.is_exact and self.how != "bound"

    @property
    def known(self) -> NDArray[np.bool_]:
        """The cells whose posteriors are exact."""
        if self.exact_cells is not None:
            return self.exact_cells
        return np.full(self.worlds.n_cells, self.how in ("enumeration", "proof"))

    @property
    def suspected(self) -> NDArray[np.bool_]:
        """The cells that may be certain, as far as is known."""
        none = np.zeros(self.worlds.n_cells, dtype=bool)
        return none if self.perhaps_certain is None else self.perhaps_certain

    def with_sets(self, sets: Sequence[Sequence[int]]) -> Posteriors:
        """The posteriors with a column for each set of values: that a person has one of them.

        A set is given by the codes of its values. Sums of bounds may exceed 1, so they are cut off.
        """
        if not sets:
            return self
        return replace(
            self,
            sets=tuple(map(tuple, sets)),
            mean=np.minimum(_with_sums(self.mean, sets), 1.0),
            low=np.minimum(_with_sums(self.low, sets), 1.0),
            high=np.minimum(_with_sums(self.high, sets), 1.0),
        )

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each value, and of each set of values, in each cell's group."""
        return _with_sums(self.worlds.shares, self.sets)

    @cached_property
    def bags(self) -> IntArray:
        """How often each value, and each set, is in each group."""
        return _with_sums(self.worlds.bags, self.sets)

    def most(self, code: int) -> Fraction:
        """An upper bound of all posteriors of a value or set of values; 1 without a proof."""
        highest = Fraction(1) if self.highest is None else self.highest
        return min(highest * len(self._members(code)), Fraction(1))

    def _members(self, code: int) -> Sequence[int]:
        """The values of a column: one, or those of a set."""
        n_values = self.worlds.n_values
        return (code,) if code < n_values else self.sets[code - n_values]

    def posterior(self, cell: int, code: int) -> Fraction | None:
        """The exact posterior of a value or set for people of a cell; None if estimated."""
        # Cells that were counted have fractions; those that a proof covers have the group's share.
        if cell in self.fractions:
            row = self.fractions[cell]
            return sum((row[member] for member in self._members(code)), Fraction(0))
        return self.share(cell, code) if self.known[cell] else None

    def share(self, cell: int, code: int) -> Fraction:
        """The share of a value in the group of a cell: what the release says by itself."""
        bag = self.worlds.bags[self.worlds.group_of_cell[cell]]
        return Fraction(int(bag[list(self._members(code))].sum()), int(bag.sum()))


def _with_sums(table: NDArray[Any], sets: Sequence[Sequence[int]]) -> NDArray[Any]:
    """A table by values with a column for each set: the sum of its values."""
    sums = [table[:, list(members)].sum(axis=1) for members in sets]
    return np.column_stack([table, *sums])


def enumerated(
    worlds: Worlds, runs: Runs, most_worlds: int, end_time: float | None
) -> Posteriors | None:
    """The exact posteriors, by a run on every world.

    None if there are more than `most_worlds`, or if `end_time` (None: no limit) comes first.
    """
    divisions = worlds.every(most_worlds)
    if divisions is None:
        return None
    n_combinations = math.prod(len(division.ways) for division in divisions)
    # A world chooses, for each group, one of the ways to divide its values over its cells.
    codes_of_groups = [division.codes for division in divisions]
    # For each group and way, the weight of all possible worlds that choose it.
    weights_of_groups: list[list[Weight]] = [[0] * len(division.ways) for division in divisions]
    total_weight: Weight = 0
    n_consistent, runs_before, started = 0, runs.made, time.monotonic()
    worlds_to_repeat: list[Codes] = []
    choices = product(*(range(len(division.ways)) for division in divisions))
    for n_done, chosen_ways in enumerate(choices, start=1):
        codes = np.empty_like(worlds.codes)
        # Codes of ways are in the order of groups and cells; `order` puts them back to people.
        codes[worlds.order] = np.concatenate(
            [codes_of[way] for codes_of, way in zip(codes_of_groups, chosen_ways, strict=True)]
        )
        weight = runs.weight(codes)
        # Worlds to run again later: the possible ones, and some of those that are excluded.
        if len(worlds_to_repeat) < _AGAIN and (weight or n_done % _EXCLUDED == 1):
            worlds_to_repeat.append(codes)
        if weight:
            # The way of a group stands for several assignments to its people.
            n_assignments = math.prod(
                division.ways[way] for division, way in zip(divisions, chosen_ways, strict=True)
            )
            n_consistent += n_assignments
            total_weight += weight * n_assignments
            for weights_of_ways, way in zip(weights_of_groups, chosen_ways, strict=True):
                weights_of_ways[way] += weight * n_assignments
        # After a few worlds it shows if there is time for all.
        if end_time is not None:
            time_now = time.monotonic()
            is_too_slow = (
                n_done == _TRIED
                and started + (time_now - started) / n_done * n_combinations > end_time
            )
            if time_now > end_time or is_too_slow:
                return None
    if not total_weight:
        raise NoWorldError
    order = np.random.default_rng(0).permutation(len(worlds_to_repeat)).tolist()
    runs.check_again((worlds_to_repeat[i] for i in order), end_time)
    fractions: dict[int, list[Fraction]] = {}
    for division, weights_of_ways in zip(divisions, weights_of_groups, strict=True):
        fractions |= _posteriors_of_group(division, weights_of_ways, total_weight, worlds)
    mean = np.array([fractions[cell] for cell in range(worlds.n_cells)], dtype=float)
    return Posteriors(
        worlds,
        "enumeration",
        looked=worlds.n_worlds,
        consistent=n_consistent,
        runs=runs.made - runs_before,
        mean=mean,
        low=mean,
        high=mean,
        fractions=fractions,
    )


def _posteriors_of_group(
    division: Divisions, weights_of_ways: list[Weight], total_weight: Weight, worlds: Worlds
) -> dict[int, list[Fraction]]:
    """The exact posteriors of a group's cells, for each value, by the weights of its ways.

    The people of a cell with a value, weighted and added up over all possible worlds, are divided
    by all people of the cell in these worlds.
    """
    possible_ways = np.flatnonzero([weight != 0 for weight in weights_of_ways])
    weights = np.array([weights_of_ways[way] for way in possible_ways], dtype=object)
    # (ways, cells, values): how many people have the value, times the weight of the way.
    weighted = weights[:, None, None] * division.tables[possible_ways].astype(object)
    posteriors_of_cell: dict[int, list[Fraction]] = {}
    for cell, weights_of_values in zip(division.cells.tolist(), weighted.sum(axis=0), strict=True):
        weight_of_everybody = total_weight * int(worlds.cell_sizes[cell])
        posteriors = [Fraction(0)] * worlds.n_values
        for value, weight in zip(division.values.tolist(), weights_of_values, strict=True):
            posteriors[value] = Fraction(weight) / weight_of_everybody
        posteriors_of_cell[cell] = posteriors
    return posteriors_of_cell


def proved(worlds: Worlds, runs: Runs) -> Posteriors:
    """The bounds that a proof gives for a method that chooses at random.

    There are three cases. If the method is proved to keep the policy against those who know it, no
    posterior reaches a limit. If posteriors are frequencies, and a reader can tell which people are
    a group, or all groups are equally large, they are the frequencies seen. Else groups of one
    label are one group to a reader, whose posterior is a mean over the groups that may be behind
    it: it is at most the highest frequency of any group.

    `worlds.shares` (cells x values) are the frequencies that the release shows.
    """
    proof, mean = runs.proof, worlds.shares
    assert proof is not None
    runs.check_made(worlds.bags)
    posteriors = Posteriors(
        worlds,
        "bound",
        looked=0,
        consistent=0,
        runs=runs.made,
        mean=mean,
        low=mean,
        high=mean,
        proof=str(proof) if runs.made_here else f"if the method made these groups, {proof}",
    )
    # No limit is reached, but the posteriors are not known: only a value that nobody, or everybody,
    # of the group has is certain.
    if runs.foreseen:
        low, high = np.where(mean < 1, 0.0, 1.0), np.where(mean > 0, 1.0, 0.0)
        return replace(posteriors, low=low, high=high, kept=True)
    undivided = runs.undivided
    if proof.frequencies and (proof.equally_large(worlds.n_people) or undivided.all()):
        return replace(posteriors, how="proof")
    if proof.highest is None:
        raise UnsupportedError(
            f"to a reader of the generalized form, groups of {runs.name} with equal labels are one "
            "group, of which nothing is proved; attack the bucketized form, options with "
            'form="bucketized", or say seeds = those that it may draw'
        )
    is_certain = undivided[worlds.group_of_cell][:, None] | (mean == 0)
    low = np.where(is_certain, mean, 0.0)
    high = np.where(is_certain, mean, float(proof.highest))
    return replace(posteriors, low=low, high=high, highest=proof.highest)
