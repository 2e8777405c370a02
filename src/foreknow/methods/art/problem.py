"""ArtProblem: who is to be grouped, as arrays: kinds of people, their values, places and priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.signature_groups import FloatArray, PriorMatrix, Reading
from foreknow.data.sparse import IntArray, combine
from foreknow.methods.art.limits import NO_LIMIT, LimitTable, Share, tightness


@dataclass(frozen=True, eq=False)
class Known:
    """What one adversary knows, and how sure they may become.

    Attributes
    ----------
    signature_of : int64 array, shape (kinds,)
        The signature of each kind of people.
    priors : PriorMatrix
        By signature and value.
    limits : LimitTable
        By signature and value.
    reading : {"joint", "binary"}
    """

    signature_of: IntArray
    priors: PriorMatrix
    limits: LimitTable
    reading: Reading = "joint"


@dataclass(frozen=True, eq=False)
class ArtProblem:
    """What ART is asked, without a table.

    A *kind* is a combination of signatures, one of each attribute set: people of one kind are
    alike to every adversary.

    Attributes
    ----------
    kinds : int64 array, shape (people,)
        The kind of each person.
    known : tuple of Known
        For each attribute set.
    values : int64 array, shape (people,)
        Sensitive codes.
    places : float64 array, shape (people, quasi-identifiers)
        Where each person lies, from 0 to 1; for nominal ones, codes times their step.
    steps : float64 array, shape (quasi-identifiers,)
        Loss per further value of a nominal quasi-identifier; 0 where ranges count.
    unique : bool
        Whether a value may occur only once in a group; then one limit holds for all.
    apart : bool
        Whether people of different kinds may not share a group.
    """

    kinds: IntArray
    known: tuple[Known, ...]
    values: IntArray
    places: FloatArray
    steps: FloatArray
    unique: bool = True
    apart: bool = False

    @classmethod
    def of_signatures(
        cls,
        signatures: Sequence[NDArray[Any]],
        priors: Sequence[PriorMatrix],
        values: NDArray[Any],
        places: FloatArray | None = None,
        steps: FloatArray | None = None,
        *,
        r: Fraction | int | str | None = None,
        limits: Sequence[LimitTable] | None = None,
        reading: Reading | Sequence[Reading] = "joint",
        unique: bool | None = None,
        apart: bool = False,
    ) -> ArtProblem:
        """Build from the signature codes of everybody, one array per attribute set.

        With limits, one table for each set; or with r, where no posterior may exceed 1/r.
        """
        sizes = [len(matrix.chances) for matrix in priors]
        kinds, first = combine([np.asarray(codes) for codes in signatures], sizes)
        if limits is None:
            share = 1 / Fraction(r or 1)
            limits = [LimitTable.same(matrix.chances.shape, share) for matrix in priors]
        readings = [reading] * len(sizes) if isinstance(reading, str) else reading
        owners = (np.asarray(codes)[first].astype(np.int64) for codes in signatures)
        spread = np.zeros((len(values), 0)) if places is None else places
        made = cls(
            kinds.astype(np.int64),
            tuple(map(Known, owners, priors, limits, readings)),
            np.asarray(values).astype(np.int64),
            spread,
            np.zeros(spread.shape[1]) if steps is None else steps,
            unique=False,
            apart=apart,
        )
        asked = made.share is not None if unique is None else unique
        return replace(made, unique=asked)

    @property
    def n_people(self) -> int:
        """How many people are to be grouped."""
        return len(self.kinds)

    @cached_property
    def n_kinds(self) -> int:
        """How many kinds of people there are."""
        return len(self.known[0].signature_of)

    @cached_property
    def n_values(self) -> int:
        """How many sensitive codes there are."""
        return int(self.known[0].priors.chances.shape[1])

    @cached_property
    def limits(self) -> LimitTable:
        """By kind and value: the tightest limit of all adversaries, as groups can tell it."""
        found = [own.limits.rounded.rows(own.signature_of) for own in self.known]
        return reduce(LimitTable.tightest, found)

    @cached_property
    def share(self) -> Share | None:
        """The one limit of everybody and every value, if it is one."""
        shares = [self._one(own.limits.rows(own.signature_of)) for own in self.known]
        if None in shares:
            return None
        found = min((share for share in shares if share is not None), key=tightness)
        return None if found == NO_LIMIT else found

    def _one(self, table: LimitTable) -> Share | None:
        first = table.num[0, 0], table.den[0, 0], table.strict[0, 0]
        parts = zip((table.num, table.den, table.strict), first, strict=True)
        return table.share(0, 0) if all((part == one).all() for part, one in parts) else None

    @cached_property
    def sizes(self) -> IntArray:
        """By kind and value: how many people a group of it needs for one; 0 where never enough."""
        each = np.stack([own.limits.least[own.signature_of] for own in self.known])
        found: IntArray = np.where((each > 0).all(axis=0), each.max(axis=0), 0)
        return found

    @cached_property
    def least(self) -> int:
        """How many people any safe group has at least; more than there are, where none is safe.

        For each attribute set: the posteriors of a value that occurs in a group of N people sum to
        at least 1, so somebody's is 1/N or more, and within a limit L. So ``N >= 1/L`` for one
        signature and one value, though for another set perhaps for other ones: the least of each
        set, and of these the greatest.
        """
        present = self.table.sum(axis=1) > 0
        held = np.flatnonzero(self.table.sum(axis=0))
        found = 1
        for own in self.known:
            cells = np.ix_(np.unique(own.signature_of[present]), held)
            sizes = own.limits.least[cells]
            found = max(found, int(sizes[sizes > 0].min(initial=self.n_people + 1)))
        return found

    @cached_property
    def table(self) -> IntArray:
        """People by kind and value."""
        keys = self.kinds * self.n_values + self.values
        counts = np.bincount(keys, minlength=self.n_kinds * self.n_values)
        return counts.reshape(self.n_kinds, self.n_values).astype(np.int64)

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """By kind and value: whether a group of this kind alone may hold the value.

        Not where its prior is 0 for some attribute set, nor, under ``binary``, where it is 1 but
        others of the kind have other values: no world of such a group has a positive weight.
        """
        found = np.ones((self.n_kinds, self.n_values), dtype=bool)
        everybody = self.table == self.table.sum(axis=1, keepdims=True)
        for own in self.known:
            found &= own.priors.chances[own.signature_of] > 0
            if own.reading == "binary":
                found &= (own.priors.complements[own.signature_of] > 0) | everybody
        return found

    def lacking(self, rows: IntArray, kinds: IntArray) -> FloatArray:
        """By row and value: how many people a group of one kind lacks; 0 if and only if none.

        Parameters
        ----------
        rows : int64 array, shape (rows, values)
            Occurrences in each.
        kinds : int64 array, shape (rows,)
        """
        num, den, strict = (part[kinds] for part in self._whole)
        over = den * rows + (strict & (rows > 0)) - num * rows.sum(axis=-1, keepdims=True)
        found: FloatArray = np.maximum(over, 0) / np.maximum(num, 1)
        return found

    @cached_property
    def _whole(self) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
        return self.limits.num, self.limits.den, self.limits.strict

    def fits(
        self, kinds: IntArray, values: IntArray, counts: IntArray, sizes: IntArray
    ) -> NDArray[np.bool_]:
        """Whether a value may occur so often in a group of one kind of such a size."""
        num, den, strict = (part[kinds, values] for part in self._whole)
        found: NDArray[np.bool_] = den * counts + strict <= num * sizes
        return found

    def most(self, kind: int, sizes: NDArray[Any]) -> IntArray:
        """How often each value may occur in groups of one kind of some sizes.

        Parameters
        ----------
        sizes : int64 array, shape (sizes, 1)
        """
        num, den, strict = (part[kind] for part in self._whole)
        found: IntArray = np.maximum(num * sizes - strict, 0) // den
        return found

    @cached_property
    def scores(self) -> FloatArray:
        """By kind: logarithms of priors, which are alike for kinds that may well be mixed."""
        rows = []
        for own in self.known:
            known = own.priors.chances[own.signature_of]
            odds = known / np.maximum(1 - known, 1e-3) if own.reading == "binary" else known
            rows.append(np.log(np.maximum(odds, 1e-4)))
        return np.concatenate(rows, axis=1)

    @cached_property
    def centres(self) -> FloatArray:
        """By kind: the mean place of its people."""
        sums = np.zeros((self.n_kinds, self.places.shape[1]))
        for a in range(self.places.shape[1]):
            sums[:, a] = np.bincount(self.kinds, self.places[:, a], self.n_kinds)
        counted = np.bincount(self.kinds, minlength=self.n_kinds)
        found: FloatArray = sums / np.maximum(counted, 1)[:, None]
        return found

    def distances(self, kind: int) -> FloatArray:
        """How unlike each kind is to one: in priors, and a little in place."""
        unlike = np.abs(self.scores - self.scores[kind]).mean(axis=1)
        if self.places.shape[1]:
            unlike = unlike + 0.5 * np.abs(self.centres - self.centres[kind]).mean(axis=1)
        found: FloatArray = unlike
        return found

    @cached_property
    def curve(self) -> IntArray:
        """The rank of each person along a curve that fills the space of places (Morton's order)."""
        n, width = self.places.shape
        if not width:
            return np.arange(n)
        bits = max(1, min(10, 60 // width))
        keys = np.zeros(n, dtype=np.int64)
        cells = []
        for a in range(width):
            _, at, counts = np.unique(self.places[:, a], return_inverse=True, return_counts=True)
            middle = (np.cumsum(counts) - counts / 2) / n
            cells.append(np.minimum(middle[at] * 2**bits, 2**bits - 1).astype(np.int64))
        for bit in range(bits - 1, -1, -1):
            for cell in cells:
                keys = (keys << 1) | ((cell >> bit) & 1)
        rank = np.empty(n, dtype=np.int64)
        rank[np.argsort(keys, kind="stable")] = np.arange(n)
        return rank

    def part(self, people: IntArray) -> ArtProblem:
        """The same question about some people only."""
        return replace(
            self,
            kinds=self.kinds[people],
            values=self.values[people],
            places=self.places[people],
        )
