"""Sampling: worlds that agree with a formula, where exact counting is out of reach.

A particle filter. The variables that the formula mentions are assigned one after another, in many
worlds at once. What would make the formula false for certain is ruled out; a world's weight is the
product of the chances that were left. When few worlds of a round hold most of its weight, all are
drawn anew from themselves by weight. The mean weight is an unbiased estimate of how many worlds
agree. People who are not mentioned are not assigned: what is left says what they may have.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from math import prod, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.statements.model import FALSE, TRUE, Model, Node, Pool, Variable
from foreknow.adversaries.statements.posterior import Estimate

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.signedinteger[Any]]
# Whether something holds, in each world or in all: 1 yes, -1 no, 0 not known yet.
Truth: TypeAlias = "NDArray[np.int8] | np.int8"

ROUNDS, WORLDS = 16, 4096
_YES, _NO, _UNKNOWN = np.int8(1), np.int8(-1), np.int8(0)

# The 99.5% point of Student's t with 15 degrees of freedom.
_WIDE = 2.947
# If fewer rounds than these hold most of the weight, their spread says nothing.
_TOO_FEW = ROUNDS / 2
# Sums of floats are off by less than this; so no interval is a point.
_ROUNDING = 1e-9

_log = logging.getLogger(__name__)


class Sample:
    """Worlds that agree with a formula; arrays have a row for each independent round."""

    def __init__(self, model: Model, formula: Node, seed: list[int]) -> None:
        self._model, self._nodes = model, model.nodes
        self._parts = model.nodes.parts(formula)
        self._random = np.random.default_rng(seed)
        self._shape = (ROUNDS, WORLDS)
        self._weights = np.zeros(self._shape)  # logarithms
        self._logs = np.zeros(ROUNDS)  # of what renewed worlds stand for
        self._truth: dict[int, NDArray[np.int8]] = {}  # of atoms
        self._assigned: dict[int, Ints] = {}  # codes by variable
        self._lines: dict[int, Ints] = {}  # from which world, when it was assigned, each descends
        self._codes: dict[Pool, list[int]] = {}  # mentioned, and -1 for those that are not
        self._left: dict[Pool, Ints] = {}  # occurrences, in the order of codes
        self._size: dict[Pool, int] = {}  # people, or their mass, who are not assigned
        for pool in model.pools(formula):
            self._add(pool, formula)
        order = self._order()
        for done, number in enumerate(order, 1):
            if np.isfinite(self._weights).any():
                self._assign(number)
            _log.info(
                "estimating: %d of %d variables drawn, in %d rounds", done, len(order), ROUNDS
            )
        self._finish()

    @property
    def empty(self) -> bool:
        """Whether no world was found that agrees with the formula."""
        return not self._masses.any()

    def estimate(self, number: int, code: int) -> Estimate:
        """Estimate that a variable, mentioned or not, is assigned a value."""
        variable = self._model.variables[number]
        pool = variable.pool
        codes, left, share, worth = self._codes[pool], self._left[pool], 1.0, 0.0
        column = codes.index(code) if code in codes else len(codes) - 1
        if code not in codes:
            # Of the values that no formula mentions, each has its share.
            share = pool.counts[code] / (pool.size - sum(pool.counts[c] for c in codes[:-1]))
        if number in self._assigned:
            hits: Floats = (self._assigned[number] == codes[column]).astype(float)
            worth = self._lineages(number)
        elif pool.multiset:
            hits = _some(variable.mass / self._size[pool], left[..., 0])
        else:
            hits = left[..., column] / self._size[pool]
        found = combined((self._weights * hits).sum(axis=1), self._masses, worth)
        return Estimate(found.probability * share, found.low * share, min(found.high * share, 1.0))

    # ---- drawing --------------------------------------------------------------------------

    def _add(self, pool: Pool, formula: Node) -> None:
        atoms = self._nodes.atoms[formula]
        variables = (self._model.variables[v] for v in self._nodes.variables[formula])
        own = [v.options for v in variables if v.pool is pool]
        codes = sorted({options[atom] for options in own for atom in options if atom in atoms})
        counts = [pool.counts[code] for code in codes]
        if not pool.multiset:
            counts.append(pool.size - sum(counts))
        self._codes[pool] = [*codes, -1]
        self._left[pool] = np.tile(np.array(counts, dtype=np.int64), (*self._shape, 1))
        self._size[pool] = pool.size

    def _order(self) -> list[int]:
        """Variables by the parts that mention them, the least likely while worlds are many."""
        mentions = self._nodes.variables
        asked = Counter(v for part in self._parts for v in mentions[part])
        in_order = sorted(
            self._parts,
            key=lambda n: (self._nodes.kinds[n] == "mark", self._likely(n), min(mentions[n])),
        )
        order = (v for n in in_order for v in sorted(mentions[n], key=lambda v: (-asked[v], v)))
        return list(dict.fromkeys(order))

    def _likely(self, node: Node) -> float:
        """Roughly how likely a formula is, as if its atoms were independent."""
        kind, kids = self._nodes.kinds[node], self._nodes.kids[node]
        if kind == "mark":
            return 1.0
        if kind in ("atom", "not"):
            variable = self._model.variables[self._nodes.owner[kids[0]]]
            pool = variable.pool
            count = pool.counts[variable.options[kids[0]]]
            chance = count / pool.size
            if pool.multiset:
                chance = 1 - float(_some(variable.mass / pool.size, np.array(count)))
            return chance if kind == "atom" else 1 - chance
        chances = [self._likely(kid) for kid in kids]
        return prod(chances) if kind == "all" else 1 - prod(1 - chance for chance in chances)

    def _assign(self, number: int) -> None:
        """Assign one variable in all worlds."""
        variable = self._model.variables[number]
        pool, codes = variable.pool, self._codes[variable.pool]
        about = [part for part in self._parts if number in self._nodes.variables[part]]
        mentioned = frozenset().union(*(self._nodes.atoms[part] for part in about))
        atoms = {code: atom for atom, code in variable.options.items() if atom in mentioned}
        if pool.multiset:  # an atom says that there is none
            atoms = dict.fromkeys([-1], *atoms.values())
        allowed = {atom: self._allowed(about, number, atom) for atom in {-1, *atoms.values()}}
        chances = self._chances(variable)
        chances *= np.stack([allowed[atoms.get(code, -1)] for code in codes], axis=-1)
        chosen = self._chosen(chances)
        assigned = np.array(codes, dtype=np.int32)[chosen]
        self._assigned[number] = assigned
        self._lines[number] = np.tile(np.arange(WORLDS, dtype=np.int32), (ROUNDS, 1))
        for code, atom in atoms.items():
            self._truth[atom] = np.where(assigned == code, _YES, _NO)
        self._take(variable, chosen)
        for row in range(ROUNDS):
            self._renew(row)

    def _allowed(self, about: Sequence[Node], number: int, atom: int) -> NDArray[np.bool_]:
        """Where a variable may take an option: no formula becomes false for certain."""
        known: dict[Node, Truth] = {TRUE: _YES, FALSE: _NO}

        def truth(node: Node) -> Truth:
            if node not in known:
                kind, kids = self._nodes.kinds[node], self._nodes.kids[node]
                if kind == "mark":
                    found: Truth = _YES
                elif kind in ("atom", "not"):
                    own = _YES if kids[0] == atom else _NO
                    of_this = self._nodes.owner[kids[0]] == number
                    found = own if of_this else self._truth.get(kids[0], _UNKNOWN)
                    found = found if kind == "atom" else -found
                else:
                    found = reduce(np.minimum if kind == "all" else np.maximum, map(truth, kids))
                known[node] = found
            return known[node]

        allowed = np.ones(self._shape, dtype=bool)
        for part in about:
            allowed &= truth(part) != _NO
        return allowed

    def _chances(self, variable: Variable) -> Floats:
        """How likely each option is, in each world."""
        pool, left = variable.pool, self._left[variable.pool]
        if pool.multiset:
            chance = _some(variable.mass / self._size[pool], left[..., 0])
            return np.stack([chance, 1 - chance], axis=-1)
        top = max(variable.base, *variable.weights.values(), 1)
        weights = {variable.options[a]: weight / top for a, weight in variable.weights.items()}
        row = [weights.get(code, variable.base / top) for code in self._codes[pool]]
        found: Floats = left * np.array(row) / self._size[pool]
        return found

    def _chosen(self, chances: Floats) -> Ints:
        """Draw an option in each world, and note the weight; any where there is none to draw."""
        total = chances.sum(axis=-1)
        with np.errstate(divide="ignore"):
            self._weights += np.log(total)
        drawn = self._random.random(self._shape) * total
        chosen = (np.cumsum(chances, axis=-1) <= drawn[..., None]).sum(axis=-1)
        last = chances.shape[-1] - 1 - np.argmax(chances[..., ::-1] > 0, axis=-1)
        found: Ints = np.minimum(chosen, last)
        return found

    def _take(self, variable: Variable, chosen: Ints) -> None:
        """Take what was assigned out of the pool."""
        pool = variable.pool
        left = self._left[pool]
        if not pool.multiset:
            left -= chosen[..., None] == np.arange(left.shape[-1])
            np.maximum(left, 0, out=left)  # of worlds that are lost anyway
        else:
            has = chosen == 0
            occurrences, chance = left[has, 0], variable.mass / self._size[pool]
            others: Ints = np.zeros_like(occurrences)
            if chance < 1:
                # The first one that this person gets, given that there is one; then any others.
                beyond = self._random.random(len(occurrences)) * _some(chance, occurrences)
                first = np.floor(np.log1p(-beyond) / np.log1p(-chance)).astype(np.int64) + 1
                rest = np.maximum(occurrences - np.minimum(first, np.maximum(occurrences, 1)), 0)
                others = np.maximum(occurrences - 1 - self._random.binomial(rest, chance), 0)
            left[has, 0] = others
        self._size[pool] -= variable.mass

    def _renew(self, row: int) -> None:
        """Draw the worlds of a round anew, by weight, once they are worth less than half."""
        weights, total = self._relative(row)
        if not total or total**2 >= (weights**2).sum() * WORLDS / 2:
            return
        self._logs[row] += self._weights[row].max() + np.log(total / WORLDS)
        steps = (self._random.random() + np.arange(WORLDS)) / WORLDS
        chosen = np.searchsorted(np.cumsum(weights / total), steps)
        chosen = np.minimum(chosen, int(np.flatnonzero(weights)[-1]))
        self._weights[row] = 0
        for table in (self._truth, self._assigned, self._lines, self._left):
            for column in table.values():
                column[row] = column[row, chosen]

    def _relative(self, row: int) -> tuple[Floats, float]:
        """Weights of a round, of which the highest is 1, and their sum; 0 where all are lost."""
        top = self._weights[row].max()
        weights = np.exp(self._weights[row] - (top if np.isfinite(top) else 0))
        return weights, float(weights.sum())

    def _finish(self) -> None:
        """Turn weights into shares, and find what each round stands for."""
        masses = np.full(ROUNDS, -np.inf)
        tops = self._weights.max(axis=1)
        for row in range(ROUNDS):
            weights, total = self._relative(row)
            if total:
                masses[row] = self._logs[row] + tops[row] + np.log(total / WORLDS)
            self._weights[row] = weights / (total or 1)
        top = masses.max()
        self._masses = np.exp(masses - top) if np.isfinite(top) else np.zeros(ROUNDS)

    def _lineages(self, number: int) -> float:
        """How many independent draws of a variable are left, by their weight."""
        rounds = zip(self._lines[number], self._weights, self._masses, strict=True)
        found = (np.bincount(line, weights=weights) for line, weights, mass in rounds if mass)
        return sum(1 / float((shares**2).sum()) for shares in found)


def _some(chance: float, occurrences: Ints) -> Floats:
    """The chance to get at least one of so many occurrences."""
    if chance >= 1:
        return (occurrences > 0).astype(float)
    found: Floats = -np.expm1(occurrences * np.log1p(-chance))
    return found


def combined(shares: Floats, masses: Floats, worth: float) -> Estimate:
    """Combine shares of worlds in independent rounds by how many worlds these stand for (masses).

    The interval is Student's, over rounds, for the ratio of means; where shares rest on `worth`
    draws, at least as wide as Wilson's: no point where all rounds agree.
    """
    total = float(masses.sum())
    share = min(max(float((masses * shares).sum()) / total, 0.0), 1.0)
    if total**2 / float((masses**2).sum()) < _TOO_FEW:
        return Estimate(share, 0.0, 1.0)
    rounds = len(shares)
    errors = masses * (shares - share) / (total / rounds)
    half = _WIDE * sqrt(float((errors**2).sum()) / (rounds * (rounds - 1))) + _ROUNDING
    low, high = share - half, share + half
    if worth:
        z = _WIDE**2 / worth
        middle = (share + z / 2) / (1 + z)
        half = sqrt(z * share * (1 - share) + z**2 / 4) / (1 + z)
        low, high = min(low, middle - half), max(high, middle + half)
    return Estimate(share, max(low, 0.0), min(high, 1.0))
