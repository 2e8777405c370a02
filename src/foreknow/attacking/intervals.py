"""Intervals of estimated shares: sound for means of numbers from 0 to 1, or by several chains."""

from __future__ import annotations

import numpy as np

from foreknow.attacking.beliefs import FloatArray

# How sure an interval is.
CONFIDENCE = 0.95
# Two-sided 95% points of Student's t with 1, 2, ... degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_HALVINGS = 50


def chernoff(
    mean: FloatArray, many: FloatArray | float, error: float
) -> tuple[FloatArray, FloatArray]:
    """Bound the expectation of numbers from 0 to 1 by the mean of some independent ones.

    The bound of Chernoff in Hoeffding's form ("Probability inequalities for sums of bounded
    random variables", 1963, theorem 1): a mean this far off has a probability of at most `error`.

    >>> low, high = chernoff(np.array([0.0, 0.5]), 100, 0.05)
    >>> np.round(low, 3), np.round(high, 3)
    (array([0.   , 0.367]), array([0.036, 0.633]))
    """
    reach = np.broadcast_to(np.log(2 / error) / np.maximum(many, 1e-300), mean.shape)
    return mean - _beyond(1 - mean, reach), mean + _beyond(mean, reach)


def between_chains(means: FloatArray) -> FloatArray:
    """Half the width of an interval for the mean of several independent chains' means."""
    chains = len(means)
    spread: FloatArray = means.std(axis=0, ddof=1) / np.sqrt(chains)
    return spread * _T[min(chains - 1, len(_T)) - 1]


def _beyond(mean: FloatArray, reach: FloatArray) -> FloatArray:
    """How far above a mean the expectation may lie: bisection of the relative entropy."""
    low, high = np.zeros_like(mean), 1 - mean
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = _entropy(mean, mean + middle) <= reach
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return high


def _entropy(mean: FloatArray, other: FloatArray) -> FloatArray:
    """Relative entropy of two coins."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(mean > 0, mean * np.log(mean / other), 0.0)
        tails = np.where(mean < 1, (1 - mean) * np.log((1 - mean) / (1 - other)), 0.0)
    found: FloatArray = heads + tails
    return np.where(np.isnan(found), np.inf, found)
