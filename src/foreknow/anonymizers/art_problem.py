"""ArtProblem: who is to be grouped, as arrays: kinds of people, their values, places and priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.posterior.priors import FloatArray, PriorMatrix
from foreknow.adversaries.posterior.results import Reading
from foreknow.sparse import IntArray, combine


@dataclass(frozen=True, eq=False)
class ArtProblem:
    """What ART is asked, without a table.

    A *kind* is a combination of signatures, one of each attribute set: people of one kind are
    alike to every adversary.

    Attributes
    ----------
    kinds : int64 array, shape (people,)
        The kind of each person.
    signature_of : tuple of int64 arrays, shape (kinds,)
        For each attribute set the signature of each kind.
    priors : tuple of PriorMatrix
        For each attribute set.
    values : int64 array, shape (people,)
        Sensitive codes.
    places : float64 array, shape (people, quasi-identifiers)
        Where each person lies, from 0 to 1; for nominal ones, codes times their step.
    steps : float64 array, shape (quasi-identifiers,)
        Loss per further value of a nominal quasi-identifier; 0 where ranges count.
    r : Fraction
    reading : {"joint", "binary"}
    unique : bool
        Whether a value may occur only once in a group.
    """

    kinds: IntArray
    signature_of: tuple[IntArray, ...]
    priors: tuple[PriorMatrix, ...]
    values: IntArray
    places: FloatArray
    steps: FloatArray
    r: Fraction
    reading: Reading = "joint"
    unique: bool = True

    @classmethod
    def of_signatures(
        cls,
        signatures: Sequence[NDArray[Any]],
        priors: Sequence[PriorMatrix],
        values: NDArray[Any],
        places: FloatArray | None = None,
        steps: FloatArray | None = None,
        *,
        r: Fraction | int | str,
        reading: Reading = "joint",
        unique: bool = True,
    ) -> ArtProblem:
        """Build from the signature codes of everybody, one array per attribute set."""
        sizes = [len(matrix.chances) for matrix in priors]
        kinds, first = combine([np.asarray(codes) for codes in signatures], sizes)
        spread = np.zeros((len(values), 0)) if places is None else places
        return cls(
            kinds.astype(np.int64),
            tuple(np.asarray(codes)[first].astype(np.int64) for codes in signatures),
            tuple(priors),
            np.asarray(values).astype(np.int64),
            spread,
            np.zeros(spread.shape[1]) if steps is None else steps,
            Fraction(r),
            reading,
            unique,
        )

    @property
    def n_people(self) -> int:
        """How many people are to be grouped."""
        return len(self.kinds)

    @cached_property
    def n_kinds(self) -> int:
        """How many kinds of people there are."""
        return len(self.signature_of[0])

    @cached_property
    def n_values(self) -> int:
        """How many sensitive codes there are."""
        return int(self.priors[0].chances.shape[1])

    @cached_property
    def least(self) -> int:
        """The least size of a group."""
        return ceil(self.r)

    @cached_property
    def table(self) -> IntArray:
        """People by kind and value."""
        keys = self.kinds * self.n_values + self.values
        counts = np.bincount(keys, minlength=self.n_kinds * self.n_values)
        return counts.reshape(self.n_kinds, self.n_values).astype(np.int64)

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """By kind and value: whether a group of this kind alone may hold the value.

        Not where its prior is 0 for some attribute set, nor, under ``binary``, where it is 1: no
        world of such a group has a positive weight.
        """
        found = np.ones((self.n_kinds, self.n_values), dtype=bool)
        for signatures, matrix in zip(self.signature_of, self.priors, strict=True):
            fits = matrix.chances > 0
            if self.reading == "binary":
                fits &= matrix.complements > 0
            found &= fits[signatures]
        return found

    @cached_property
    def scores(self) -> FloatArray:
        """By kind: logarithms of priors, which are alike for kinds that may well be mixed."""
        rows = []
        for signatures, matrix in zip(self.signature_of, self.priors, strict=True):
            known = matrix.chances[signatures]
            odds = known / np.maximum(1 - known, 1e-3) if self.reading == "binary" else known
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
        return ArtProblem(
            self.kinds[people],
            self.signature_of,
            self.priors,
            self.values[people],
            self.places[people],
            self.steps,
            self.r,
            self.reading,
            self.unique,
        )
