"""Scaling of rows and columns of weights: worlds keep their ratios, and floats do not underflow."""

from __future__ import annotations

import numpy as np

from foreknow.adversaries.posterior.priors import FloatArray

_SCALINGS = 200
# A change of columns, as a logarithm, that rounding to powers of two hides.
_NEAR = 0.1


def scaled(rows: FloatArray, capacities: FloatArray) -> FloatArray:
    """Scale columns towards their capacities, and rows to sum to one; worlds keep their ratios.

    Powers of two, which are exact; only the last division rounds.

    Parameters
    ----------
    rows : float array, shape (items, kinds, problems)
    capacities : float array, shape (kinds, 1)
    """
    _, exponent = np.frexp(rows.max(axis=1))
    rows = np.ldexp(rows, -exponent[:, None, :])
    _, exponent = np.frexp(rows.sum(axis=0) / capacities)
    return normalized(np.ldexp(rows, -exponent))


def normalized(rows: FloatArray) -> FloatArray:
    """Rows that sum to one, or to zero; first by a power of two, so that nothing is lost."""
    _, exponent = np.frexp(rows.max(axis=1))
    rows = np.ldexp(rows, -exponent[:, None, :])
    total = rows.sum(axis=1)
    total[total == 0] = 1
    rows /= total[:, None, :]
    return rows


def balanced(items: FloatArray, kinds: FloatArray, chances: FloatArray) -> FloatArray:
    """Scale rows and columns by powers of two, so that what is expected fits what there is.

    Sinkhorn's scaling in logarithms. How far it gets is a matter of speed, not of truth: the total
    is looked at afterwards. Rows come last, so that no row loses precision to underflow.

    Parameters
    ----------
    items : float array, shape (rows,)
    kinds : float array, shape (columns,)
    chances : float array, shape (rows, columns)
        At least one positive number in each row and column.
    """
    with np.errstate(divide="ignore"):
        logs = np.log2(chances)
    columns = np.zeros(len(kinds))
    for _ in range(_SCALINGS):
        before = columns
        rows = np.log2(items) - _log_sum(logs + columns, 1)
        columns = np.log2(kinds) - _log_sum(logs + rows[:, None], 0)
        if np.abs(columns - before).max() < _NEAR:
            break
    columns = np.rint(columns)
    rows = np.rint(np.log2(items) - _log_sum(logs + columns, 1))
    exponents = np.clip(rows[:, None] + columns, -4000, 4000).astype(np.int32)
    found: FloatArray = np.ldexp(chances, exponents)
    return found


def _log_sum(logs: FloatArray, axis: int) -> FloatArray:
    top = logs.max(axis=axis, keepdims=True)
    found: FloatArray = np.log2(np.exp2(logs - top).sum(axis=axis)) + top.squeeze(axis)
    return found
