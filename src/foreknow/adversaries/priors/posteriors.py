"""Posteriors: what was found out about every group, signature and value of a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.dynamic_program import ABSOLUTE
from foreknow.adversaries.priors.signature_groups import FloatArray, SignatureGroups
from foreknow.data.sparse import IntArray

Kind: TypeAlias = Literal["exact", "bounded", "impossible"]
Reading: TypeAlias = Literal["joint", "binary"]


@dataclass(frozen=True, eq=False, repr=False)
class GroupPosteriors:
    """Posteriors by group, signature and held value; groups that are alike share them.

    Attributes
    ----------
    groups : SignatureGroups
        What was judged.
    reading : {"joint", "binary"}
    cases : SignatureGroups
        The groups that differ.
    case_of : int64 array, shape (groups,)
        The case of each group.
    offsets : int64 array, shape (cases + 1,)
        Cells of case c are ``offsets[c]:offsets[c + 1]``; one signature after another, and within
        it one held value after another.
    probabilities : float64 array, shape (cells,)
        The posterior up to `errors`; an upper bound where `bounded`; NaN where no world has a
        positive weight.
    bounded : bool array, shape (cells,)
        Where the exact posterior was out of reach.
    errors : float64 array, shape (cases,)
        Bound on the relative error of posteriors that are not bounds, besides 2**-300.
    """

    groups: SignatureGroups
    reading: Reading
    cases: SignatureGroups
    case_of: IntArray
    offsets: IntArray
    probabilities: FloatArray
    bounded: NDArray[np.bool_]
    errors: FloatArray

    def __repr__(self) -> str:
        kinds = [f"{len(found)} {name}" for name, found in self.groups_by_kind().items()]
        return f"GroupPosteriors({self.reading}: {', '.join(kinds)})"

    def of(self, group: int) -> FloatArray:
        """Posteriors of one group, shape (signatures, values), in the order of its cells."""
        case = int(self.case_of[group])
        cells = self.probabilities[self.offsets[case] : self.offsets[case + 1]]
        return cells.reshape(len(self.cases.people_of(case)), -1)

    def upper(self) -> FloatArray:
        """Per cell, a float that is never below the posterior; NaN stays."""
        error = np.repeat(self.errors, np.diff(self.offsets))
        most = np.minimum(self.probabilities * (1 + 2 * error) + 2 * ABSOLUTE, 1.0)
        return np.where(self.bounded, self.probabilities, most)

    def lower(self) -> FloatArray:
        """Per cell, a float that is never above the posterior, 0 where `bounded`; NaN stays.

        What lies between `lower` and `upper` is settled by `exact_group`.
        """
        error = np.repeat(self.errors, np.diff(self.offsets))
        least = np.maximum(self.probabilities * (1 - 2 * error) - 2 * ABSOLUTE, 0.0)
        return np.where(self.bounded, self.probabilities * 0.0, least)

    @property
    def _states(self) -> NDArray[np.int8]:
        """0, 1 or 2 for each group that is exact, bounded, impossible."""
        missing = np.isnan(self.probabilities)
        cell = missing.astype(np.int8) * 2
        np.maximum(cell, self.bounded, out=cell)
        if not len(cell):
            return np.zeros(self.groups.n_groups, dtype=np.int8)
        found: NDArray[np.int8] = np.maximum.reduceat(cell, self.offsets[:-1])[self.case_of]
        return found

    def groups_by_kind(self) -> dict[Kind, IntArray]:
        """Positions of groups that are exact, bounded (somewhere), impossible (somewhere).

        Under ``binary`` a group is impossible if it is for one of its values.
        """
        states = self._states
        kinds: tuple[Kind, ...] = ("exact", "bounded", "impossible")
        return {kind: np.flatnonzero(states == i) for i, kind in enumerate(kinds)}

    def kind(self, group: int) -> Kind:
        """Whether a group is exact, bounded or impossible."""
        return next(k for k, found in self.groups_by_kind().items() if group in found)

    @property
    def impossible(self) -> IntArray:
        """Positions of groups that the priors call impossible."""
        return self.groups_by_kind()["impossible"]

    def cells(self) -> tuple[IntArray, IntArray, IntArray]:
        """Case, signature code and value code of each cell."""
        n_values = np.diff(self.cases.value_offsets)
        n_signatures = np.diff(self.cases.offsets)
        case = np.repeat(np.arange(self.cases.n_groups), n_signatures * n_values)
        at = np.arange(len(case)) - self.offsets[case]
        signature = self.cases.signatures[self.cases.offsets[case] + at // n_values[case]]
        value = self.cases.values[self.cases.value_offsets[case] + at % n_values[case]]
        return case, signature, value

    def highest(self, n_values: int) -> tuple[FloatArray, IntArray, IntArray]:
        """For each value the highest `upper`, with a group and a signature that has it.

        Returns
        -------
        probability : float array, shape (values,)
            -1 for a value that no possible group holds.
        group, signature : int64 arrays, shape (values,)
            -1 likewise.
        """
        case, signature, value = self.cells()
        upper = np.nan_to_num(self.upper(), nan=-1.0)
        best = np.full(n_values, -1.0)
        np.maximum.at(best, value, upper)
        group = np.full(n_values, -1, dtype=np.int64)
        who = np.full(n_values, -1, dtype=np.int64)
        first = np.empty(self.cases.n_groups, dtype=np.int64)
        first[self.case_of[::-1]] = np.arange(self.groups.n_groups)[::-1]
        # Backwards, so that of equal ones the first is what stays.
        cell = np.flatnonzero((upper == best[value]) & (upper >= 0))[::-1]
        group[value[cell]], who[value[cell]] = first[case[cell]], signature[cell]
        return best, group, who
