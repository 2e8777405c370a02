"""Judge of ART's groups: whether no posterior exceeds 1/r, exactly; and a quick guess to rank by.

Definition 3 of the paper: p(t : x) <= 1/r for everybody and every value, for each attribute set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.posterior.exact import exact_group
from foreknow.adversaries.posterior.groups import SignatureGroups
from foreknow.adversaries.posterior.judging import posteriors
from foreknow.adversaries.posterior.priors import FloatArray, PriorMatrix
from foreknow.anonymizers.art_problem import ArtProblem
from foreknow.errors import UnsupportedError
from foreknow.sparse import IntArray, count_pairs

# Within it, fractions decide; see "never a false safe".
_NEAR = 1e-9
# Scalings of rows and columns for a guess.
_SCALINGS = 10


class Judge:
    """Judges groups given as arrays: the group, kind and value of each member."""

    def __init__(self, problem: ArtProblem) -> None:
        self.problem = problem
        self.limit = 1 / problem.r
        self._near = float(self.limit)

    def safe(
        self,
        group: IntArray,
        kinds: IntArray,
        values: IntArray,
        n_groups: int,
        *,
        quick: bool = True,
    ) -> NDArray[np.bool_]:
        """Whether each group is r-robust for every attribute set, and m-unique if asked.

        Parameters
        ----------
        group : int64 array, shape (members,)
            From 0; every group has members.
        kinds, values : int64 arrays, shape (members,)
        n_groups : int
        quick : bool
            Whether the sound condition on ratios may settle groups without their posteriors.
        """
        bags = count_pairs(group, values, n_groups, self.problem.n_values)
        sizes = np.bincount(group, minlength=n_groups)
        most = np.maximum.reduceat(bags[2], bags[0][:-1])
        # Somebody has at least the average chance of a value.
        fits = sizes * self.limit.numerator >= most * self.limit.denominator
        if self.problem.unique:
            fits &= most == 1
        for signatures, matrix in zip(self.problem.signature_of, self.problem.priors, strict=True):
            left = np.flatnonzero(fits)
            if not len(left):
                break
            people = count_pairs(group, signatures[kinds], n_groups, len(matrix.chances))
            groups = SignatureGroups(*people, *bags).take(left)
            fits[left] = self._robust(groups, matrix, quick)
        return fits

    def _robust(
        self, groups: SignatureGroups, matrix: PriorMatrix, quick: bool
    ) -> NDArray[np.bool_]:
        """Decide groups whose bags are small enough, for one attribute set."""
        found = alike(groups, matrix, self.problem.reading)
        if quick and self.problem.reading == "joint":
            found |= ratios_suffice(groups, matrix, float(self.problem.r))
        left = np.flatnonzero(~found)
        if not len(left):
            return found
        judged = posteriors(groups.take(left), matrix, self.problem.reading)
        upper = judged.upper()
        worst = np.maximum.reduceat(upper, judged.offsets[:-1])  # NaN stays
        good = worst <= self._near - _NEAR
        for case in np.flatnonzero(np.abs(worst - self._near) < _NEAR).tolist():
            good[case] = self._settle(judged.cases, case, matrix)
        found[left] = good[judged.case_of]
        return found

    def _settle(self, cases: SignatureGroups, case: int, matrix: PriorMatrix) -> bool:
        """Decide in fractions; what is out of reach is refused."""
        try:
            table = exact_group(cases, case, matrix, self.problem.reading)
        except UnsupportedError:
            return False
        return all(cell is not None and cell <= self.limit for row in table for cell in row)

    def guess(self, kinds: IntArray, values: IntArray) -> FloatArray:
        """Guess the highest posterior of groups of one size, over all attribute sets.

        Exact under ``binary`` for values that occur once; under ``joint`` priors scaled to sum to
        one by person and by value, which is near the posterior and far cheaper.

        Parameters
        ----------
        kinds, values : int64 arrays, shape (groups, size)
        """
        worst = np.zeros(len(kinds))
        for signatures, matrix in zip(self.problem.signature_of, self.problem.priors, strict=True):
            at = signatures[kinds][:, :, None], values[:, None, :]
            weights = matrix.chances[at]
            if self.problem.reading == "binary":
                weights = weights / np.maximum(matrix.complements[at], 1e-12)
                weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
            else:
                weights = np.maximum(weights, 1e-9)
                for _ in range(_SCALINGS):
                    weights /= weights.sum(axis=1, keepdims=True)
                    weights /= weights.sum(axis=2, keepdims=True)
            if not self.problem.unique:
                weights = weights @ (values[:, :, None] == values[:, None, :])
            np.maximum(worst, weights.max(axis=(1, 2)), out=worst)
        return worst


def alike(groups: SignatureGroups, matrix: PriorMatrix, reading: str) -> NDArray[np.bool_]:
    """Groups of one signature: everybody has a value with the same chance, c/N, by symmetry.

    Except where no world has a positive weight: a held value whose prior is 0, or under
    ``binary`` 1.
    """
    single = np.diff(groups.offsets) == 1
    owner = np.repeat(np.arange(groups.n_groups), np.diff(groups.value_offsets))
    signature = groups.signatures[groups.offsets[:-1]][owner]
    possible = matrix.chances[signature, groups.values] > 0
    if reading == "binary":
        possible &= matrix.complements[signature, groups.values] > 0
    np.logical_and.at(single, owner, possible)
    found: NDArray[np.bool_] = single
    return found


def ratios_suffice(groups: SignatureGroups, matrix: PriorMatrix, r: float) -> NDArray[np.bool_]:
    """The sound condition on ratios for the joint reading, in floats, on the safe side.

    ``rho_x * sum(c_y rho_y for y != x) >= (r - 1) c_x`` for every x, rho_x the least prior of x in
    the group over the greatest; see `conditions.ratio_condition`.
    """
    n_values = np.diff(groups.value_offsets)
    n_signatures = np.diff(groups.offsets)
    found = np.zeros(groups.n_groups, dtype=bool)
    shapes = n_signatures * (int(n_values.max(initial=0)) + 1) + n_values
    for shape in np.unique(shapes).tolist():
        some = np.flatnonzero(shapes == shape)
        cells = groups.offsets[some][:, None] + np.arange(n_signatures[some[0]])
        bag = groups.value_offsets[some][:, None] + np.arange(n_values[some[0]])
        known = matrix.chances[groups.signatures[cells][:, :, None], groups.values[bag][:, None, :]]
        highest = known.max(axis=1)
        rho = known.min(axis=1) / np.where(highest > 0, highest, 1.0)
        counts = groups.counts[bag]
        others = (counts * rho).sum(axis=1, keepdims=True) - counts * rho
        found[some] = (rho * others >= (r - 1) * counts * (1 + _NEAR)).all(axis=1)
    return found
