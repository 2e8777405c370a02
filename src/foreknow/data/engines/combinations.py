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
        domains = [domain for _, domain in encoded]
        row_of, first = combine([codes for codes, _ in encoded], [len(d) for d in domains])
        counts = np.bincount(row_of, weights=people, minlength=len(first)).astype(np.int64)
        return cls(tuple(columns), [codes[first] for codes, _ in encoded], domains, counts)

    def __len__(self) -> int:
        return len(self.people)

    @property
    def n_people(self) -> int:
        """All people."""
        return int(self.people.sum())

    def ranks(self, rows: IntArray) -> list[IntArray]:
        """The places of some combinations' values, column by column, among its texts."""
        column_ranks = []
        for codes, domain in zip(self.codes, self.domains, strict=True):
            texts = domain.cast(pa.string())
            place = pc.rank(texts, tiebreaker="dense").to_numpy().astype(np.int64)
            column_ranks.append(place[codes[rows]])
        return column_ranks

    def values(self, row: int) -> tuple[Any, ...]:
        """The values of one combination."""
        return tuple(
            to_python(name, domain.slice(int(codes[row]), 1))[0]
            for name, codes, domain in zip(self.columns, self.codes, self.domains, strict=True)
        )

    def classes(self, places: Sequence[int]) -> IntArray:
        """How many people share each combination of some of the columns, in no order."""
        return self._joint(places)[1]

    def alone(self, places: Sequence[int]) -> NDArray[np.bool_]:
        """Which combinations are of one person who shares some of the columns with nobody."""
        joint, people = self._joint(places)
        is_alone: NDArray[np.bool_] = (people == 1)[joint]
        return is_alone

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
        for mine, own_domain, theirs, their_domain in zip(
            self.codes, self.domains, population.codes, population.domains, strict=True
        ):
            codes, distinct = codes_of(_together(own_domain, their_domain))
            encoded.append(
                np.concatenate((codes[: len(own_domain)][mine], codes[len(own_domain) :][theirs]))
            )
            sizes.append(len(distinct))
        row_of, first = combine(encoded, sizes)
        counts = np.bincount(row_of[len(self) :], population.people, minlength=len(first))
        of_each: IntArray = counts[row_of[: len(self)]].astype(np.int64)
        return of_each


def _together(own_domain: pa.Array, their_domain: pa.Array) -> pa.ChunkedArray:
    """Two domains as one column."""
    if own_domain.type != their_domain.type:
        number = all(
            pa.types.is_integer(d.type) or pa.types.is_floating(d.type)
            for d in (own_domain, their_domain)
        )
        kind = pa.float64() if number else pa.string()
        if number and all(pa.types.is_integer(d.type) for d in (own_domain, their_domain)):
            kind = pa.int64()
        try:
            own_domain, their_domain = pc.cast(own_domain, kind), pc.cast(their_domain, kind)
        except pa.ArrowInvalid:  # a whole number that a float does not hold
            own_domain, their_domain = (
                pc.cast(own_domain, pa.string()),
                pc.cast(their_domain, pa.string()),
            )
    return pa.chunked_array([own_domain, their_domain])
