"""Sampling: worlds that agree with formulas, where exact counting is out of reach.

A round is a particle filter. The variables that formulas mention are dealt one after another, in
many worlds at once. What would make a formula false for certain is not dealt; a world's weight is
the product of the chances that were left. When few worlds hold most of the weight, all are drawn
anew from themselves by weight. The mean weight is an unbiased estimate of how many worlds agree.
Whoever is not mentioned is not dealt: the bags that remain say what they may have.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.statements.nodes import FALSE, TRUE, Node, Nodes
from foreknow.adversaries.statements.pools import Dealing, Pool, Variable
from foreknow.adversaries.statements.posterior import Estimate

Flags: TypeAlias = NDArray[np.bool_]
# Whether something holds, in each world or in all: 1 yes, -1 no, 0 not known yet.
Truth: TypeAlias = "NDArray[np.int8] | np.int8"

_YES, _NO, _UNKNOWN = np.int8(1), np.int8(-1), np.int8(0)


class Truths:
    """Truth of nodes in many worlds.

    Parameters
    ----------
    nodes : Nodes
    worlds : int
    """

    def __init__(self, nodes: Nodes, worlds: int) -> None:
        self._nodes, self._worlds = nodes, worlds
        self._atoms: dict[int, Truth] = {}
        self._known: dict[Node, Truth] = {}

    def allowed(self, about: Iterable[Node], variable: int, true_atom: int) -> Flags:
        """In which worlds a variable may take an option: no formula becomes false for certain.

        Parameters
        ----------
        about : iterable of Node
            Formulas that mention the variable.
        variable : int
        true_atom : int
            Of the variable; -1 for none.
        """
        supposed: dict[Node, Truth] = {}
        found = np.ones(self._worlds, dtype=bool)
        for node in about:
            found &= self._truth(node, variable, true_atom, supposed) != _NO
        return found

    def settle(self, variable: int, atoms: Mapping[int, Flags]) -> None:
        """Note what a variable was dealt: in which worlds each of its atoms holds."""
        for atom, holds in atoms.items():
            self._atoms[atom] = np.where(holds, _YES, _NO)
        mentions = self._nodes.variables
        self._known = {n: t for n, t in self._known.items() if variable not in mentions[n]}

    def renew(self, chosen: NDArray[np.int64]) -> None:
        """Replace the worlds by some of them."""
        for table in (self._atoms, self._known):
            for key, truth in table.items():
                if isinstance(truth, np.ndarray) and truth.ndim:
                    table[key] = truth[chosen]

    def _truth(
        self, node: Node, variable: int, true_atom: int, supposed: dict[Node, Truth]
    ) -> Truth:
        known = supposed if variable in self._nodes.variables[node] else self._known
        if node not in known:
            known[node] = self._work_out(node, variable, true_atom, supposed)
        return known[node]

    def _work_out(
        self, node: Node, variable: int, true_atom: int, supposed: dict[Node, Truth]
    ) -> Truth:
        kind, kids = self._nodes.kinds[node], self._nodes.kids[node]
        if node in (TRUE, FALSE):
            return _YES if node == TRUE else _NO
        if kind == "mark":
            return _YES
        if kind in ("atom", "not"):
            (atom,) = kids
            if self._nodes.owner[atom] == variable:
                truth: Truth = _YES if atom == true_atom else _NO
            else:
                truth = self._atoms.get(atom, _UNKNOWN)
            return truth if kind == "atom" else -truth
        truths = [self._truth(kid, variable, true_atom, supposed) for kid in kids]
        low = high = truths[0]
        for truth in truths[1:]:
            low, high = np.minimum(low, truth), np.maximum(high, truth)
        if kind == "all":
            return low
        if kind == "any":
            return high
        settled = np.where((low == _YES) | (high == _NO), _YES, _UNKNOWN)
        return np.where((low == _NO) & (high == _YES), _NO, settled)


Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.signedinteger[Any]]

WORLDS = 4096


@dataclass(frozen=True)
class Round:
    """Worlds that were drawn together.

    Attributes
    ----------
    mass : float
        Logarithm of the estimated share of worlds that agree; -inf if none was found.
    weights : float array, shape (worlds,)
        Of the worlds; their sum is 1.
    dealt : dict of variable -> int array, shape (worlds,)
        The code of what was dealt: -1 for something not mentioned; under ``multiset`` for none.
    lines : dict of variable -> int array, shape (worlds,)
        From which of the worlds, at the time it was dealt, each world descends.
    left : dict of Pool -> (codes, occurrences left by world, people or mass left)
        The last code is -1, for all bags that are not mentioned; there is none under
        ``multiset``.
    """

    mass: float
    weights: Floats
    dealt: Mapping[int, Ints]
    lines: Mapping[int, Ints]
    left: Mapping[Pool, tuple[list[int], Ints, int]]


def draw(
    dealing: Dealing, formulas: frozenset[Node], order: list[int], random: np.random.Generator
) -> Round:
    """Draw one round.

    Parameters
    ----------
    dealing : Dealing
    formulas : frozenset of Node
    order : list of int
        All variables that they mention.
    random : numpy Generator
    """
    table = _Table(dealing, formulas, random)
    for number in order:
        if not np.isfinite(table.weights).any():
            break
        table.deal(number)
    return table.round()


def sampling_order(dealing: Dealing, formulas: frozenset[Node]) -> list[int]:
    """Order variables by formulas, the least likely first.

    What is unlikely decides which worlds are worth anything; so that is found out while worlds
    are still many.
    """
    nodes = dealing.nodes
    asked = Counter(v for node in formulas for v in nodes.variables[node])

    def urgency(node: Node) -> tuple[bool, float, int]:
        return nodes.kinds[node] == "mark", _likely(dealing, node), min(nodes.variables[node])

    in_order = [
        v
        for node in sorted(formulas, key=urgency)
        for v in sorted(nodes.variables[node], key=lambda v: (-asked[v], v))
    ]
    return list(dict.fromkeys(in_order))


def _likely(dealing: Dealing, node: Node) -> float:
    """Roughly how likely a formula is, as if its atoms were independent."""
    nodes = dealing.nodes
    kind, kids = nodes.kinds[node], nodes.kids[node]
    if kind == "mark":
        return 1.0
    if kind in ("atom", "not"):
        variable = dealing.variables[nodes.owner[kids[0]]]
        pool, count = variable.pool, variable.pool.count(variable.atoms[kids[0]])
        chance = count / pool.size
        if pool.spread:
            chance = float(some(variable.mass / pool.size, np.array(count)))
        return chance if kind == "atom" else 1 - chance
    chances = [_likely(dealing, kid) for kid in kids]
    each, none = prod(chances), prod(1 - chance for chance in chances)
    return each if kind == "all" else 1 - none if kind == "any" else each + none


def some(chance: float, occurrences: Ints) -> Floats:
    """The chance to get at least one of so many occurrences."""
    if chance >= 1:
        return (occurrences > 0).astype(float)
    found: Floats = -np.expm1(occurrences * np.log1p(-chance))
    return found


def _small(numbers: Ints) -> Ints:
    """The same whole numbers in less memory, where they fit; rounds are kept."""
    fits = np.abs(numbers).max(initial=0) < 2**31
    return numbers.astype(np.int32) if fits else numbers


class _Table:
    """The worlds of one round, while they are dealt."""

    def __init__(
        self, dealing: Dealing, formulas: frozenset[Node], random: np.random.Generator
    ) -> None:
        self.weights = np.zeros(WORLDS)  # logarithms
        self._mass = 0.0
        self._nodes = dealing.nodes
        self._variables = dealing.variables
        self._formulas = formulas
        self._random = random
        self._truths = Truths(dealing.nodes, WORLDS)
        self._dealt: dict[int, Ints] = {}
        self._lines: dict[int, Ints] = {}
        self._left: dict[Pool, Ints] = {}
        self._codes = self._mentioned()
        self._people = {pool: pool.size for pool in self._codes}
        for pool, codes in self._codes.items():
            counts = [pool.count(code) for code in codes]
            if not pool.spread:
                counts.append(pool.size - sum(counts))
                codes.append(-1)
            self._left[pool] = np.tile(np.array(counts, dtype=np.int64), (WORLDS, 1))

    def round(self) -> Round:
        """What was dealt, as it is now."""
        top = self.weights.max()
        if not np.isfinite(top):
            return Round(-np.inf, self.weights, {}, {}, {})
        weights = np.exp(self.weights - top)
        mass = self._mass + float(top + np.log(weights.mean()))
        left = {
            pool: (codes, _small(self._left[pool]), self._people[pool])
            for pool, codes in self._codes.items()
        }
        dealt = {number: _small(column) for number, column in self._dealt.items()}
        lines = {number: _small(column) for number, column in self._lines.items()}
        return Round(mass, weights / weights.sum(), dealt, lines, left)

    def deal(self, number: int) -> None:
        """Deal one variable in all worlds."""
        variable = self._variables[number]
        pool = variable.pool
        about = [node for node in self._formulas if number in self._nodes.variables[node]]
        mentioned = frozenset().union(*(self._nodes.atoms[node] for node in about))
        atoms = {code: atom for atom, code in variable.atoms.items() if atom in mentioned}
        codes = [*self._codes[pool], -1] if pool.spread else self._codes[pool]
        allowed = {
            atom: self._truths.allowed(about, number, atom) for atom in (-1, *atoms.values())
        }
        chances = self._chances(variable)
        chances *= np.stack([allowed[atoms.get(code, -1)] for code in codes], axis=1)
        chosen = self._choose(chances)
        self._dealt[number] = np.array(codes)[chosen]
        self._lines[number] = np.arange(WORLDS)
        self._truths.settle(number, {a: self._dealt[number] == c for c, a in atoms.items()})
        self._take(variable, chosen)
        self._renew()

    def _mentioned(self) -> dict[Pool, list[int]]:
        found: dict[Pool, set[int]] = {}
        for node in self._formulas:
            for atom in self._nodes.atoms[node]:
                variable = self._variables[self._nodes.owner[atom]]
                found.setdefault(variable.pool, set()).add(variable.atoms[atom])
        return {pool: sorted(codes) for pool, codes in found.items()}

    def _chances(self, variable: Variable) -> Floats:
        """How likely each option is, in each world."""
        pool = variable.pool
        left, people = self._left[pool], self._people[pool]
        if pool.spread:
            chance = some(variable.mass / people, left[:, 0])
            return np.stack([chance, 1 - chance], axis=1)
        top = max(variable.base, *variable.weights.values(), 1)
        weights = {variable.atoms[a]: weight / top for a, weight in variable.weights.items()}
        row = [weights.get(code, variable.base / top) for code in self._codes[pool]]
        found: Floats = left * np.array(row) / people
        return found

    def _choose(self, chances: Floats) -> Ints:
        """Draw a column of each row, and note the weight; any where there is none to draw."""
        total = chances.sum(axis=1)
        with np.errstate(divide="ignore"):
            self.weights = self.weights + np.log(total)
        drawn = self._random.random(WORLDS) * total
        chosen = (np.cumsum(chances, axis=1) <= drawn[:, None]).sum(axis=1)
        last = chances.shape[1] - 1 - np.argmax(chances[:, ::-1] > 0, axis=1)
        found: Ints = np.minimum(chosen, last)
        return found

    def _take(self, variable: Variable, chosen: Ints) -> None:
        """Take what was dealt out of the pool."""
        pool = variable.pool
        left = self._left[pool]
        if not pool.spread:
            left[np.arange(WORLDS), chosen] -= 1
            np.maximum(left, 0, out=left)  # of worlds that are lost anyway
            self._people[pool] -= 1
            return
        rows = np.flatnonzero(chosen == 0)
        occurrences, chance = left[rows, 0], variable.mass / self._people[pool]
        if chance >= 1:
            left[rows, 0] = 0
        else:
            # The first one that this person gets, given that there is one; then any others.
            beyond = self._random.random(len(rows)) * some(chance, occurrences)
            first = np.floor(np.log1p(-beyond) / np.log1p(-chance)).astype(np.int64) + 1
            first = np.minimum(first, np.maximum(occurrences, 1))
            others = self._random.binomial(np.maximum(occurrences - first, 0), chance)
            left[rows, 0] = np.maximum(occurrences - 1 - others, 0)
        self._people[pool] -= variable.mass

    def _renew(self) -> None:
        """Draw all worlds anew, by weight, once they are worth less than half their number."""
        top = self.weights.max()
        if not np.isfinite(top):
            return
        weights = np.exp(self.weights - top)
        total = weights.sum()
        if total**2 >= (weights**2).sum() * WORLDS / 2:
            return
        self._mass += float(top + np.log(total / WORLDS))
        steps = (self._random.random() + np.arange(WORLDS)) / WORLDS
        chosen = np.searchsorted(np.cumsum(weights / total), steps)
        chosen = np.minimum(chosen, int(np.flatnonzero(weights)[-1]))
        self.weights = np.zeros(WORLDS)
        self._truths.renew(chosen)
        for table in (self._dealt, self._lines):
            for number, column in table.items():
                table[number] = column[chosen]
        for pool, left in self._left.items():
            self._left[pool] = left[chosen]


ROUNDS = 16
# The 99.5% point of Student's t with 15 degrees of freedom.
_WIDE = 2.947
# If fewer rounds than these hold most of the weight, their spread says nothing.
_TOO_FEW = ROUNDS / 2

# Sums of floats are off by less than this; so no interval is a point.
_ROUNDING = 1e-9

_log = logging.getLogger(__name__)


class Sample:
    """Worlds that agree with formulas, drawn in independent rounds.

    Parameters
    ----------
    dealing : Dealing
    formulas : frozenset of Node
    seed : list of int
    """

    def __init__(self, dealing: Dealing, formulas: frozenset[Node], seed: list[int]) -> None:
        self._dealing = dealing
        order = sampling_order(dealing, formulas)
        self._rounds: list[Round] = []
        for i in range(ROUNDS):
            random = np.random.default_rng([*seed, i])
            self._rounds.append(draw(dealing, formulas, order, random))
            _log.info("estimating: %d of %d rounds drawn", i + 1, ROUNDS)
        masses = np.array([drawn.mass for drawn in self._rounds])
        top = masses.max()
        self._masses = np.exp(masses - top) if np.isfinite(top) else np.zeros(ROUNDS)

    @property
    def empty(self) -> bool:
        """Whether no world was found that agrees with the formulas."""
        return not self._masses.any()

    def estimate(self, number: int, code: int) -> Estimate:
        """Estimate that a variable, mentioned or not, is dealt a value."""
        variable = self._dealing.variables[number]
        pool = variable.pool
        share, shares, worth = 1.0, [], 0.0
        for drawn in self._rounds:
            if not np.isfinite(drawn.mass):
                shares.append(0.0)
                continue
            codes, left, people = drawn.left[pool]
            column = code if code in codes else -1
            if column != code:
                # Of the values that no formula mentions, each has its share.
                rest = pool.size - sum(map(pool.count, codes[:-1]))
                share = pool.count(code) / rest
            if number in drawn.dealt:
                hits: Floats = (drawn.dealt[number] == column).astype(float)
                worth += _lineages(drawn, number)
            elif pool.spread:
                hits = some(variable.mass / people, left[:, 0])
            else:
                hits = left[:, codes.index(column)] / people
            shares.append(float((drawn.weights * hits).sum()))
        found = combined(np.array(shares), self._masses, worth)
        return Estimate(found.probability * share, found.low * share, min(found.high * share, 1.0))


def combined(shares: Floats, masses: Floats, worth: float) -> Estimate:
    """Combine the shares that independent rounds found, weighted by their masses.

    Parameters
    ----------
    shares, masses : float arrays, shape (rounds,)
        Of each round, the share of worlds that have something, and an unbiased estimate of how
        many worlds agree with the formulas.
    worth : float
        How many independent draws the shares rest on, where they count worlds; else 0.

    Notes
    -----
    The interval is Student's, over rounds, for the ratio of means. Where worlds were counted it is
    at least as wide as Wilson's, so that it is not a point where all of them agree.
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


def _lineages(drawn: Round, number: int) -> float:
    """How many independent draws of a variable are left in a round, by their weight."""
    by_line = np.bincount(drawn.lines[number], weights=drawn.weights)
    return 1 / float((by_line**2).sum())
