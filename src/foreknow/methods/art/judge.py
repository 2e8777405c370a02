"""Judge of ART's groups: whether every posterior keeps its limit, exactly; and a guess to rank by.

Definition 3 of the paper: p(t : x) <= 1/r for everybody and every value, for each attribute set.
Here every signature and value may have a limit of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.exact import exact_group
from foreknow.adversaries.priors.posteriors import posteriors
from foreknow.adversaries.priors.signature_groups import FloatArray, SignatureGroups
from foreknow.data.sparse import IntArray, count_pairs
from foreknow.errors import UnsupportedError
from foreknow.methods.art.problem import ArtProblem, Known

# More than the roundings of a sum, and of what it is compared with.
_ROUNDING, _SPARE = 1e-12, 1e-9


def alike(groups: SignatureGroups, known: Known) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Groups of one signature, and which of them are safe, exactly.

    Everybody has a value with the same chance, c/N, by symmetry. Except where no world has a
    positive weight: a held value whose prior is 0, or under ``binary`` 1, unless all have it.
    """
    single = np.diff(groups.offsets) == 1
    cells = np.flatnonzero(np.repeat(single, np.diff(groups.value_offsets)))
    owner = np.repeat(np.arange(groups.n_groups), np.diff(groups.value_offsets))[cells]
    signature, value = groups.signatures[groups.offsets[owner]], groups.values[cells]
    counts, sizes = groups.counts[cells], groups.sizes[owner]
    fits = known.priors.chances[signature, value] > 0
    if known.reading == "binary":
        fits &= (known.priors.complements[signature, value] > 0) | (counts == sizes)
    limits = known.limits
    num, den = limits.num[signature, value], limits.den[signature, value]
    over = den * counts + limits.strict[signature, value] - num * sizes
    fits &= np.asarray(over <= 0, dtype=bool)
    safe = single.copy()
    np.logical_and.at(safe, owner, fits)
    return single, safe


def ratios_suffice(groups: SignatureGroups, known: Known) -> NDArray[np.bool_]:
    """The sound condition on ratios for the joint reading, in floats, on the safe side.

    Exchanging the values of t, who has x, and u, who has y, multiplies the weight of a world by
    ``f(t,y) f(u,x) / (f(t,x) f(u,y))``, at least ``f(t,y) / hi_y * lo_x / f(t,x)``, with lo and hi
    the least and greatest priors in the group. Given that t has x, c_y others have y. So

        c_x (1 - P) >= P * lo_x / f(t,x) * sum of c_y f(t,y) / hi_y for y != x,

    and P keeps the limit L of t and x if the factor of P is at least ``(1/L - 1) c_x``. For one
    limit for all it is the condition on ratios of docs/research/distribution.md. Groups in which
    somebody has a prior of 0 are left to others: perhaps no world is possible.
    """
    n_values = np.diff(groups.value_offsets)
    n_signatures = np.diff(groups.offsets)
    found = np.zeros(groups.n_groups, dtype=bool)
    shapes = n_signatures * (int(n_values.max(initial=0)) + 1) + n_values
    with np.errstate(divide="ignore"):
        needed = np.maximum(1 / known.limits.floats - 1, 0.0)
    for shape in np.unique(shapes).tolist():
        some = np.flatnonzero(shapes == shape)
        cells = groups.offsets[some][:, None] + np.arange(n_signatures[some[0]])
        bag = groups.value_offsets[some][:, None] + np.arange(n_values[some[0]])
        at = groups.signatures[cells][:, :, None], groups.values[bag][:, None, :]
        chances, counts = known.priors.chances[at], groups.counts[bag][:, None, :]
        positive = (chances > 0).all(axis=(1, 2))
        chances = np.where(chances > 0, chances, 1.0)
        shares = counts * chances / chances.max(axis=1, keepdims=True)
        others = shares.sum(axis=2, keepdims=True) * (1 - _ROUNDING) - shares
        least = chances.min(axis=1, keepdims=True) / chances * others
        enough = (least > needed[at] * counts * (1 + _SPARE)) | ~known.limits.limited[at]
        found[some] = positive & enough.all(axis=(1, 2))
    return found


# Within it, fractions decide; see "never a false safe".
_NEAR = 1e-9
# Scalings of rows and columns for a guess; and for one that much depends on.
_SCALINGS, _MANY_SCALINGS = 10, 60


class Judge:
    """Judges groups given as arrays: the group, kind and value of each member."""

    def __init__(self, problem: ArtProblem) -> None:
        self.problem = problem
        # The loosest limit of each value, and a little more, for a first sieve.
        loosest = [known.limits.floats[known.signature_of].max(axis=0) for known in problem.known]
        self._loosest = np.minimum.reduce([np.ones(problem.n_values), *loosest]) * (1 + _NEAR)

    def safe(
        self,
        group: IntArray,
        kinds: IntArray,
        values: IntArray,
        n_groups: int,
        *,
        quick: bool = True,
    ) -> NDArray[np.bool_]:
        """Whether each group keeps all limits of every attribute set, and m-unique if asked.

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
        owner = np.repeat(np.arange(n_groups), np.diff(bags[0]))
        # Somebody has at least the average chance of a value.
        sieved = bags[2] <= sizes[owner] * self._loosest[bags[1]]
        if self.problem.unique:
            sieved &= bags[2] == 1
        fits = np.logical_and.reduceat(sieved, bags[0][:-1])
        if self.problem.apart:
            one = np.zeros(n_groups, dtype=np.int64)
            one[group] = kinds
            np.logical_and.at(fits, group, kinds == one[group])
        for known in self.problem.known:
            left = np.flatnonzero(fits)
            if not len(left):
                break
            width = len(known.priors.chances)
            people = count_pairs(group, known.signature_of[kinds], n_groups, width)
            groups = SignatureGroups(*people, *bags).take(left)
            fits[left] = self._robust(groups, known, quick)
        return fits

    def _robust(self, groups: SignatureGroups, known: Known, quick: bool) -> NDArray[np.bool_]:
        """Decide groups for one attribute set."""
        single, found = alike(groups, known)
        if quick and known.reading == "joint":
            found |= ~single & ratios_suffice(groups, known)
        left = np.flatnonzero(~found & ~single)
        if not len(left):
            return found
        judged = posteriors(groups.take(left), known.priors, known.reading)
        _, signature, value = judged.cells()
        # What has no prior has no posterior: it needs no limit.
        possible = known.priors.chances[signature, value] > 0
        limit = np.where(possible, known.limits.floats[signature, value], np.inf)
        upper = judged.upper()
        starts = judged.offsets[:-1]
        missing = np.isnan(upper)
        good = ~np.logical_or.reduceat(missing, starts)
        good &= np.logical_and.reduceat(missing | (upper < limit + _NEAR), starts)
        near = np.logical_or.reduceat(upper > limit - _NEAR, starts)
        for case in np.flatnonzero(good & near).tolist():
            good[case] = self._settle(judged.cases, case, known)
        found[left] = good[judged.case_of]
        return found

    def _settle(self, cases: SignatureGroups, case: int, known: Known) -> bool:
        """Decide in fractions; what is out of reach is refused."""
        try:
            table = exact_group(cases, case, known.priors, known.reading)
        except UnsupportedError:
            return False
        return all(
            cell is not None and known.limits.holds(signature, value, cell)
            for (signature, _), row in zip(cases.people_of(case), table, strict=True)
            for (value, _), cell in zip(cases.bag_of(case), row, strict=True)
        )

    def in_bulk(self, table: IntArray) -> float:
        """Guess how near to its limit the worst posterior is, in one group by kind and value."""
        worst = 0.0
        values = np.flatnonzero(table.sum(axis=0))
        for known in self.problem.known:
            rows = np.zeros((len(known.priors.chances), len(values)))
            np.add.at(rows, known.signature_of, table[:, values])
            signatures = np.flatnonzero(rows.sum(axis=1))
            cells = np.ix_(signatures, values)
            chances, limits = known.priors.chances[cells], known.limits.floats[cells]
            limits = np.where(chances > 0, limits, np.inf)
            people, counts = rows[signatures].sum(axis=1), rows.sum(axis=0)
            if known.reading == "binary":
                odds = chances / np.maximum(known.priors.complements[cells], 1e-12)
                found = _tilted(odds, people, counts)
            else:
                weights = np.maximum(chances, 1e-9)[None]
                found = _fitted(weights, people[None], counts[None], _MANY_SCALINGS)[0]
            worst = max(worst, float((found / limits).max()))
        return worst

    def guess(self, pairs: Sequence[tuple[int, int]], more: NDArray[np.int64]) -> FloatArray:
        """Guess how near to its limit the worst posterior is, for a group and one person more.

        The quotient, over all attribute sets; above 1 is too near. Exact under ``binary`` for
        values that occur once; under ``joint`` priors scaled to fit people and occurrences, which
        is near the posterior and far cheaper.

        Parameters
        ----------
        pairs : sequence of (kind, value)
            The group.
        more : int64 array, shape (options, 2)
            Kind and value of the one person more.
        """
        base = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        worst = np.zeros(len(more))
        values, counts = _amounts(base[:, 1], more[:, 1])
        for known in self.problem.known:
            owners = known.signature_of
            signatures, people = _amounts(owners[base[:, 0]], owners[more[:, 0]])
            cells = np.ix_(signatures, values)
            chances = known.priors.chances[cells]
            limits = np.where(chances > 0, known.limits.floats[cells], np.inf)
            there = (people[:, :, None] > 0) & (counts[:, None, :] > 0)
            if known.reading == "binary":
                odds = chances / np.maximum(known.priors.complements[cells], 1e-12)
                total = people @ odds
                weights = counts[:, None, :] * odds / np.maximum(total, 1e-300)[:, None, :]
            else:
                weights = _fitted(np.maximum(chances, 1e-9) * there, people, counts)
            near = np.where(there, weights, 0.0) / limits
            np.maximum(worst, near.max(axis=(1, 2)), out=worst)
        return worst


def _amounts(base: IntArray, more: IntArray) -> tuple[IntArray, FloatArray]:
    """Codes that occur, and how often each does with one more, shape (options, codes)."""
    codes = np.unique(np.concatenate([base, more]))
    held = np.bincount(np.searchsorted(codes, base), minlength=len(codes)).astype(np.float64)
    found = np.tile(held, (len(more), 1))
    found[np.arange(len(more)), np.searchsorted(codes, more)] += 1
    return codes, found


def _tilted(odds: FloatArray, people: FloatArray, counts: FloatArray) -> FloatArray:
    """Chances by signature, whose odds are so many times as large that they fit the counts."""
    low, high = np.full(len(counts), -100.0), np.full(len(counts), 100.0)
    for _ in range(_MANY_SCALINGS):
        middle = (low + high) / 2
        raised = odds * np.exp(middle)
        many = people @ (raised / (1 + raised)) > counts
        low, high = np.where(many, low, middle), np.where(many, middle, high)
    found: FloatArray = raised / (1 + raised)
    return found


def _fitted(
    weights: FloatArray, people: FloatArray, counts: FloatArray, times: int = _SCALINGS
) -> FloatArray:
    """By option, the chance of each value for one of each signature (Sinkhorn's scaling)."""
    for _ in range(times):
        expected = (weights * people[:, :, None]).sum(axis=1, keepdims=True)
        weights = weights * (counts[:, None, :] / np.maximum(expected, 1e-300))
        weights = weights / np.maximum(weights.sum(axis=2, keepdims=True), 1e-300)
    return weights
