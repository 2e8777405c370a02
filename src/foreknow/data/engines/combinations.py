"""Combinations of values: how many people share them, counted once; all the rest is of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine
from foreknow.data.engines.columns import codes_of, to_python
from foreknow.data.engines.write import rearmed


@dataclass(frozen=True, eq=False)
class Combinations:
    """Distinct combinations of the values of some columns.

    Attributes
    ----------
    columns : tuple of str
    codes : list of integer arrays, shape (combinations,)
        The value of each column, as a code into its domain.
    domains : list of arrays
        The distinct values of each column, a null last.
    people : int64 array, shape (combinations,)
        How many have each; at least 1.
    """

    columns: tuple[str, ...]
    codes: list[NDArray[Any]]
    domains: list[pa.Array]
    people: IntArray

    @classmethod
    def of(
        cls,
        columns: Sequence[str],
        encoded: Sequence[tuple[NDArray[Any], pa.Array]],
        people: IntArray | None = None,
    ) -> Combinations:
        """Unite equal rows of encoded columns; each is one person, unless said otherwise."""
        domains = [found for _, found in encoded]
        row_of, first = combine([codes for codes, _ in encoded], [len(d) for d in domains])
        counted = np.bincount(row_of, weights=people, minlength=len(first)).astype(np.int64)
        return cls(tuple(columns), [codes[first] for codes, _ in encoded], domains, counted)

    def __len__(self) -> int:
        return len(self.people)

    @property
    def n_people(self) -> int:
        """All people."""
        return int(self.people.sum())

    def ranks(self, rows: IntArray) -> list[IntArray]:
        """The places of some combinations' values, column by column, among its texts."""
        found = []
        for codes, domain in zip(self.codes, self.domains, strict=True):
            texts = domain.cast(pa.string())
            place = pc.rank(texts, tiebreaker="dense").to_numpy().astype(np.int64)
            found.append(place[codes[rows]])
        return found

    def rearmed(self) -> Combinations:
        """The same without the apostrophes that `escape_formulas` put before texts and names."""
        domains = [
            pa.array([v and rearmed(v) for v in domain.to_pylist()], domain.type)
            if pa.types.is_string(domain.type)
            else domain
            for domain in self.domains
        ]
        return Combinations(tuple(map(rearmed, self.columns)), self.codes, domains, self.people)

    def values(self, at: int) -> tuple[Any, ...]:
        """The values of one combination."""
        return tuple(
            to_python(name, domain.slice(int(codes[at]), 1))[0]
            for name, codes, domain in zip(self.columns, self.codes, self.domains, strict=True)
        )

    def classes(self, places: Sequence[int]) -> IntArray:
        """How many people share each combination of some of the columns, in no order."""
        return self._joint(places)[1]

    def alone(self, places: Sequence[int]) -> NDArray[np.bool_]:
        """Which combinations are of one person who shares some of the columns with nobody."""
        joint, people = self._joint(places)
        alone: NDArray[np.bool_] = (people == 1)[joint]
        return alone

    def _joint(self, places: Sequence[int]) -> tuple[NDArray[Any], IntArray]:
        """Which combination of some columns each has, and how many people have each of these."""
        columns = [self.codes[place] for place in places] or [np.zeros(len(self), dtype=np.int8)]
        sizes = [max(len(self.domains[place]), 1) for place in places] or [1]
        joint, first = combine(columns, sizes)
        return joint, np.bincount(joint, self.people, len(first)).astype(np.int64)

    def among(self, population: Combinations) -> IntArray:
        """How many people of a population have each combination; columns stand in one order.

        Values of different types are compared as they print, numbers by their value.
        """
        encoded, sizes = [], []
        for mine, own, theirs, others in zip(
            self.codes, self.domains, population.codes, population.domains, strict=True
        ):
            codes, found = codes_of(_together(own, others))
            encoded.append(np.concatenate((codes[: len(own)][mine], codes[len(own) :][theirs])))
            sizes.append(len(found))
        row_of, first = combine(encoded, sizes)
        counted = np.bincount(row_of[len(self) :], population.people, minlength=len(first))
        of_each: IntArray = counted[row_of[: len(self)]].astype(np.int64)
        return of_each


def _together(one: pa.Array, two: pa.Array) -> pa.ChunkedArray:
    """Two domains as one column."""
    if one.type != two.type:
        number = all(
            pa.types.is_integer(d.type) or pa.types.is_floating(d.type) for d in (one, two)
        )
        kind = pa.float64() if number else pa.string()
        if number and all(pa.types.is_integer(d.type) for d in (one, two)):
            kind = pa.int64()
        try:
            one, two = pc.cast(one, kind), pc.cast(two, kind)
        except pa.ArrowInvalid:  # a whole number that a float does not hold
            one, two = pc.cast(one, pa.string()), pc.cast(two, pa.string())
    return pa.chunked_array([one, two])
