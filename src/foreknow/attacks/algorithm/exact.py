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

from foreknow.attacks.algorithm.method_runner import Runs, Weight
from foreknow.attacks.algorithm.worlds import Codes, Worlds
from foreknow.data.sparse import IntArray
from foreknow.errors import UnsupportedError

FloatArray: TypeAlias = NDArray[np.float64]
How: TypeAlias = Literal["enumeration", "parts", "proof", "bound", "independent worlds"]

# Worlds that are run again in the end, to see that the method is not random; and one in so many of
# those that are struck out.
_AGAIN, _STRUCK = 2_000, 10
# After so many worlds it is judged whether there is time for all.
_TRIED = 30


class NoWorldError(Exception):
    """The release is possible in no world."""


@dataclass(frozen=True, eq=False)
class Posteriors:
    """What the adversary believes of each cell and value, shape (cells, values)."""

    worlds: Worlds
    how: How
    looked: int  # worlds, people being told apart
    consistent: int  # those among them that the release is possible in
    runs: int
    mean: FloatArray  # the posterior; an estimate, or of a bound the frequency in the group
    low: FloatArray  # the interval; both the mean where it is exact
    high: FloatArray
    highest: Fraction | None = None
    # cells that had one value in all worlds of an estimate, though others were looked for
    not_refuted: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    # the same, where others were not looked for enough
    unsettled: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    fractions: Mapping[int, Sequence[Fraction]] = field(default_factory=dict)  # by cell
    settled: NDArray[np.bool_] | None = None  # cells whose posteriors are exact; None: all or none
    parts: int = 1
    kept: bool = False  # of a bound: no posterior reaches a limit of the policy
    proof: str = ""  # of a proof or bound: why
    sets: Sequence[Sequence[int]] = ()  # values whose posteriors are a further column, added up

    @property
    def exact(self) -> bool:
        """Whether these are posteriors, not estimates."""
        return bool(self.known.all())

    @property
    def known(self) -> NDArray[np.bool_]:
        """The cells whose posteriors are exact."""
        if self.settled is not None:
            return self.settled
        return np.full(self.worlds.n_cells, self.how in ("enumeration", "proof"))

    def with_sets(self, sets: Sequence[Sequence[int]]) -> Posteriors:
        """The same with a column for each set of values: that a person has one of them."""
        if not sets:
            return self
        columns = {
            name: np.minimum(_with_sums(getattr(self, name), sets), 1.0)
            for name in ("mean", "low", "high")
        }
        return replace(self, sets=tuple(map(tuple, sets)), **columns)

    @cached_property
    def shares(self) -> FloatArray:
        """What the release itself says of each cell and value, and of each set."""
        return _with_sums(self.worlds.shares, self.sets)

    @cached_property
    def bags(self) -> IntArray:
        """How often each value, and each set, is in each group."""
        return _with_sums(self.worlds.bags, self.sets)

    def most(self, code: int) -> Fraction:
        """What no posterior of a value, or of a set of values, exceeds, where that is proved."""
        highest = Fraction(1) if self.highest is None else self.highest
        return min(highest * len(self._members(code)), Fraction(1))

    def _members(self, code: int) -> Sequence[int]:
        """The values of a column: one, or those of a set."""
        n_values = self.worlds.n_values
        return (code,) if code < n_values else self.sets[code - n_values]

    def posterior(self, cell: int, code: int) -> Fraction | None:
        """The exact posterior of each member of a cell; None where it is estimated."""
        if cell in self.fractions:
            own = self.fractions[cell]
            return sum((own[member] for member in self._members(code)), Fraction(0))
        return self.share(cell, code) if self.known[cell] else None

    def share(self, cell: int, code: int) -> Fraction:
        """The share of a value in the group of a cell: what the release says by itself."""
        bag = self.worlds.bags[self.worlds.group_of_cell[cell]]
        return Fraction(int(bag[list(self._members(code))].sum()), int(bag.sum()))


def _with_sums(table: NDArray[Any], sets: Sequence[Sequence[int]]) -> NDArray[Any]:
    """A table by values with a column for each set: the sum of its own."""
    sums = [table[:, list(members)].sum(axis=1) for members in sets]
    return np.column_stack([table, *sums])


def enumerated(worlds: Worlds, runs: Runs, most: int, until: float | None) -> Posteriors | None:
    """Run the method on every world; None if there are more than `most`, or not enough time."""
    each = worlds.every(most, until)
    if each is None:
        return None
    many = math.prod(len(own) for own in each)
    totals: list[list[Weight]] = [[0] * len(own) for own in each]
    whole: Weight = 0
    consistent, before, started = 0, runs.made, time.monotonic()
    again: list[Codes] = []
    for done, places in enumerate(product(*(range(len(own)) for own in each)), start=1):
        chosen = [own[place] for own, place in zip(each, places, strict=True)]
        codes = np.empty_like(worlds.codes)
        codes[worlds.order] = np.concatenate([assignment.codes for assignment in chosen])
        ways = math.prod(assignment.ways for assignment in chosen)
        weight = runs.weight(codes)
        if len(again) < _AGAIN and (weight or done % _STRUCK == 1):
            again.append(codes)
        if weight:
            consistent += ways
            whole += weight * ways
            for group, place in enumerate(places):
                totals[group][place] += weight * ways
        if until is not None:
            now = time.monotonic()
            late = done == _TRIED and started + (now - started) / done * many > until
            if now > until or late:
                return None
    if not whole:
        raise NoWorldError
    order = np.random.default_rng(0).permutation(len(again)).tolist()
    runs.check_again((again[i] for i in order), until)
    weights: list[list[Weight]] = [[0] * worlds.n_values for _ in range(worlds.n_cells)]
    for people, own, total in zip(worlds.members, each, totals, strict=True):
        cells = worlds.cell_of[people].tolist()
        for assignment, weight in zip(own, total, strict=True):
            if weight:
                for cell, code in zip(cells, assignment.codes.tolist(), strict=True):
                    weights[cell][code] += weight
    rows = enumerate(zip(weights, worlds.cell_sizes.tolist(), strict=True))
    fractions = {at: [Fraction(x) / (whole * size) for x in own] for at, (own, size) in rows}
    mean = np.array(list(fractions.values()), dtype=float)
    counts = worlds.n_worlds, consistent, runs.made - before
    return Posteriors(worlds, "enumeration", *counts, mean, mean, mean, fractions=fractions)


def proved(worlds: Worlds, runs: Runs, ways: int | None) -> Posteriors | None:
    """What a proof says of a method with chances, if the release is possible at all.

    An adversary who sees groups believes the frequencies in them. Groups of one label are one group
    to a reader, who believes the mean of what they would believe of the groups behind it, as likely
    as these are. That is the frequency in the one group if it can be no other, or if all groups are
    equally large and anybody might be in any: then each of them holds the same on average. It is
    never above what no group exceeds.

    Of a method that holds the policy against those who know it, no posterior reaches a limit of it.
    """
    if not runs.chances:
        return None
    proof, mean = runs.proof, worlds.shares
    if runs.foreseen:
        if ways is not None and not runs.possible(worlds.codes):
            raise NoWorldError
        return kept(worlds, runs)
    refined = runs.refined
    alike = proof is not None and proof.equally_large(worlds.n_people)
    if proof is not None and proof.frequencies and (alike or refined.single.all()):
        # Such a method makes a release of all worlds that agree with it, or of none.
        if ways is not None and not runs.possible(worlds.codes):
            raise NoWorldError
        return Posteriors(worlds, "proof", 0, 0, runs.made, mean, mean, mean, proof=str(proof))
    if proof is not None and proof.highest is not None:
        certain = refined.single[worlds.group_of_cell][:, None] | (mean == 0)
        low = np.where(certain, mean, 0.0)
        high = np.where(certain, mean, float(proof.highest))
        bound = 0, 0, runs.made, mean, low, high, proof.highest
        return Posteriors(worlds, "bound", *bound, proof=str(proof))
    if refined.number is None:
        raise UnsupportedError(
            f"to a reader of the generalized form, groups of {runs.name} with equal labels are one "
            "group, and there are too many ways to divide them; attack the bucketized form, "
            'options with form="bucketized"'
        )
    return None


def proved_of_groups(groups: IntArray, runs: Runs) -> Posteriors | None:
    """What a proof says of groups that are told apart, in whatever order their people stand.

    That the method makes such groups is not asked: it goes by the order of rows.
    """
    if runs.proof is None or not runs.proof.frequencies:
        return None
    worlds = Worlds.of(groups, runs.microdata.sensitive_codes, len(runs.microdata.values))
    mean = worlds.shares
    return Posteriors(worlds, "proof", 0, 0, 0, mean, mean, mean, proof=str(runs.proof))


def kept(worlds: Worlds, runs: Runs) -> Posteriors | None:
    """What is known of a method that, by a proof, holds the policy against those who know it."""
    if runs.proof is None or not runs.foreseen:
        return None
    mean = worlds.shares
    low, high = np.where(mean < 1, 0.0, 1.0), np.where(mean > 0, 1.0, 0.0)
    bound = 0, 0, runs.made, mean, low, high
    return Posteriors(worlds, "bound", *bound, kept=True, proof=str(runs.proof))
