"""Combinations of values: how many people share them, counted once; all the rest is of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.engines.columns import codes_of, to_python
from foreknow.data.engines.write import rearmed
from foreknow.data.sparse import IntArray, combine

# A table of counts may have so many places for each combination before keys are sorted instead.
_PLACES = 4
_LEAST_PLACES = 1 << 22


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
        keys, span = self._keys(places)
        if self._fits(span):
            table = np.bincount(keys, weights=self.people)
            return table[table > 0].astype(np.int64)
        order = np.argsort(keys)
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        return np.add.reduceat(self.people[order], starts)

    def alone(self, places: Sequence[int]) -> NDArray[np.bool_]:
        """Which combinations are of one person who shares some of the columns with nobody."""
        keys, span = self._keys(places)
        if self._fits(span):
            dense: NDArray[np.bool_] = np.bincount(keys, weights=self.people)[keys] == 1
            return dense
        alone = np.zeros(len(self), dtype=bool)
        order = np.argsort(keys)
        alone[order] = _single(keys[order]) & (self.people[order] == 1)
        return alone

    def n_alone(self, places: Sequence[int]) -> int:
        """How many people share some of the columns with nobody."""
        keys, span = self._keys(places)
        if self._fits(span):
            return int((np.bincount(keys, weights=self.people) == 1).sum())
        keys *= 2  # whether a combination is of several people stands in the last bit
        keys += self.people > 1
        keys.sort()  # several times as fast as finding an order
        return int((_single(keys >> 1) & (keys & 1 == 0)).sum())

    def _fits(self, span: int) -> bool:
        return span <= max(_PLACES * len(self), _LEAST_PLACES)

    def _keys(self, places: Sequence[int]) -> tuple[IntArray, int]:
        """A whole number that stands for some of the columns of each combination; its bound."""
        keys = np.zeros(len(self), dtype=np.int64)
        span = 1
        for place in places:
            size = max(len(self.domains[place]), 1)
            if span * size >= 2**61:
                distinct, keys = np.unique(keys, return_inverse=True)
                span = len(distinct)
            keys *= size
            keys += self.codes[place]
            span *= size
        return keys, span

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


def _single(keys: IntArray) -> NDArray[np.bool_]:
    """Which of some keys in order occur once."""
    new = np.diff(keys, prepend=-1) != 0
    found: NDArray[np.bool_] = new & np.append(new[1:], True)
    return found


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
