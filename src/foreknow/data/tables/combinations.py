"""Combinations of values: how many people share them, counted once; all the rest is of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine, combine_encoded
from foreknow.data.tables.columns import codes_of, to_python


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
        """Count equal rows of encoded columns: how many people have each combination of values.

        Parameters
        ----------
        columns : sequence of str
            Their names.
        encoded : sequence of (codes, domain)
            For each column the code of each row, and the distinct values, as `codes_of` gives them.
        people : integer array, shape (rows,), optional
            How many people each row stands for; one if left out.
        """
        combination_of_row, first_rows = combine_encoded(encoded)
        counts = np.bincount(combination_of_row, weights=people, minlength=len(first_rows))
        # The first row with each combination has its codes.
        first_codes = [codes[first_rows] for codes, _ in encoded]
        domains = [domain for _, domain in encoded]
        return cls(tuple(columns), first_codes, domains, counts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.people)

    @property
    def n_people(self) -> int:
        """All people."""
        return int(self.people.sum())

    def ranks(self, rows: IntArray) -> list[IntArray]:
        """For each column, the rank of some combinations' values among its values, as texts."""
        column_ranks = []
        for codes, domain in zip(self.codes, self.domains, strict=True):
            texts = domain.cast(pa.string())
            rank_of_code = pc.rank(texts, tiebreaker="dense").to_numpy().astype(np.int64)
            column_ranks.append(rank_of_code[codes[rows]])
        return column_ranks

    def values(self, row: int) -> tuple[Any, ...]:
        """The values of one combination."""
        return tuple(
            to_python(name, domain.slice(int(codes[row]), 1))[0]
            for name, codes, domain in zip(self.columns, self.codes, self.domains, strict=True)
        )

    def classes(self, column_numbers: Sequence[int]) -> IntArray:
        """How many people share each combination of some of the columns, in no order."""
        _, people = self._projected(column_numbers)
        return people

    def alone(self, column_numbers: Sequence[int]) -> NDArray[np.bool_]:
        """Which combinations are of one person whose values in some columns nobody else has."""
        projection_of, people = self._projected(column_numbers)
        is_alone: NDArray[np.bool_] = (people == 1)[projection_of]
        return is_alone

    def _projected(self, column_numbers: Sequence[int]) -> tuple[NDArray[Any], IntArray]:
        """Number the combinations of the values in some of the columns (projections).

        Returns the number of each combination's projection, and how many people have each
        projection. Without any column, there is one projection.
        """
        columns = [np.zeros(len(self), dtype=np.int8)]
        sizes = [1]
        for column_number in column_numbers:
            columns.append(self.codes[column_number])
            sizes.append(max(len(self.domains[column_number]), 1))
        projection_of, first = combine(columns, sizes)
        people = np.bincount(projection_of, self.people, len(first)).astype(np.int64)
        return projection_of, people

    def among(self, population: Combinations) -> IntArray:
        """The number of people of a population who have each combination, shape (combinations,).

        The population's columns stand in the same order. Values of different types are compared as
        they print, numbers by their value.
        """
        encoded, n_values = [], []
        for codes, domain, population_codes, population_domain in zip(
            self.codes, self.domains, population.codes, population.domains, strict=True
        ):
            # One code for equal values of both tables.
            common_codes, distinct = codes_of(_one_column(domain, population_domain))
            new_codes, new_population_codes = np.split(common_codes, [len(domain)])
            # The rows of both: first these combinations, then those of the population.
            encoded.append(
                np.concatenate((new_codes[codes], new_population_codes[population_codes]))
            )
            n_values.append(len(distinct))
        # Numbered together, equal combinations have one number.
        numbers, first_rows = combine(encoded, n_values)
        own_numbers, population_numbers = np.split(numbers, [len(self)])
        counts = np.bincount(population_numbers, population.people, minlength=len(first_rows))
        people: IntArray = counts[own_numbers].astype(np.int64)
        return people


def _one_column(domain: pa.Array, other_domain: pa.Array) -> pa.ChunkedArray:
    """Two arrays of values as one column, so that equal values of both have one code.

    The column is of whole numbers if both are, else of floats if both are numbers, else of texts.
    """
    if domain.type != other_domain.type:
        kinds = domain.type, other_domain.type
        kind = pa.string()
        if all(map(pa.types.is_integer, kinds)):
            kind = pa.int64()
        elif all(pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds):
            kind = pa.float64()
        try:
            domain, other_domain = pc.cast(domain, kind), pc.cast(other_domain, kind)
        except pa.ArrowInvalid:  # a whole number that a float does not hold
            domain, other_domain = pc.cast(domain, pa.string()), pc.cast(other_domain, pa.string())
    return pa.chunked_array([domain, other_domain])
