"""Estimating: probabilities from independent rounds of sampling, with honest intervals."""

from __future__ import annotations

import logging
from math import sqrt

import numpy as np

from foreknow.adversaries.statements.dealing import Dealing
from foreknow.adversaries.statements.nodes import Node
from foreknow.adversaries.statements.posterior import Estimate
from foreknow.adversaries.statements.sampling import Floats, Round, draw, sampling_order, some

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
