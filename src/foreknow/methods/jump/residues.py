"""Residues: tables with no value too often in any group, counted by generating functions.

With one variable for each group, a value that occurs k times gives the polynomial of all ways to
spread it within its limits, z^a / a! for each way a. The tables are a coefficient of the product
of all values. It is found by evaluating the polynomials at roots of unity modulo primes, and put
together from the residues (Chinese remainder theorem). All numbers are whole and below 2^53 where
floats carry them, so results are exact.

For n people, G groups of about s people and V values there are about (2s)^(G - 1) points, and n
log(V) / 22 primes; for each, every value costs a transform of that many points. Listing all ways
instead costs about s^(G - 1) rooms times s^(G - 1) spreads of each value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from foreknow.methods.jump.block_counts import Budget

_TOP = 1 << 22  # products of two residues are below 2^44: 512 of them can be added in a float
_MOST_TERMS = 512
POINTS = 600_000
_POINTS_PER_STEP = 2_000
_PIECE = 1 << 17

Residues: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Within:
    """Tables in which every value keeps its limits.

    Attributes
    ----------
    number : int
        How many.
    having : tuple of tuples of int
        For each value and group: those in which one person of the group has the value.
    """

    number: int
    having: tuple[tuple[int, ...], ...]


def within(
    sizes: Sequence[int],
    counts: Sequence[int],
    limits: Sequence[Sequence[int]],
    budget: Budget,
) -> Within | None:
    """Count the tables in which every value occurs no more often in a group than it may.

    Parameters
    ----------
    sizes : sequence of int
        People of each group.
    counts : sequence of int
        How often each value occurs in all groups together.
    limits : sequence of sequences of int
        For each value, how often it may occur in each group.
    budget : Budget

    Returns
    -------
    Within, or None where there are too many points.

    Examples
    --------
    >>> found = within((2, 2), (2, 1, 1), ((1, 1), (1, 1), (1, 1)), Budget(1000))
    >>> found.number, found.having[0]  # of 12 tables; each person has the first value in half
    (8, (4, 4))
    """
    order = sorted(range(len(sizes)), key=sizes.__getitem__)  # the last variable is left out
    own = [
        tuple(min(limit[g], sizes[g], count) for g in order)
        for count, limit in zip(counts, limits, strict=True)
    ]
    zero = Within(0, tuple((0,) * len(sizes) for _ in counts))
    if any(min(row) < 0 or sum(row) < count for row, count in zip(own, counts, strict=True)):
        return zero
    if any(sum(column) < sizes[g] for column, g in zip(zip(*own, strict=True), order, strict=True)):
        return zero
    inside = [sizes[g] for g in order]
    # Exponents of a variable lie between these; at roots of unity, those that are as far apart as
    # there are points look the same: so there must be more than from the wanted one to any other.
    most = [sum(column) for column in zip(*own, strict=True)]
    needed = [[max(0, n - sum(row) + x) for x in row] for n, row in zip(counts, own, strict=True)]
    least = [sum(column) for column in zip(*needed, strict=True)]
    points = tuple(
        _smooth(max(size - low, high - size) + 1)
        for size, low, high in zip(inside[:-1], least[:-1], most[:-1], strict=True)
    )
    size = max(math.prod(points), *(math.prod(x + 1 for x in row[:-1]) for row in own))
    if size > POINTS or max(map(max, own)) >= _MOST_TERMS or sum(sizes) >= 1 << 16:
        return None
    total = math.factorial(sum(sizes)) // math.prod(map(math.factorial, counts))
    primes = _primes(math.lcm(*points), total)
    if primes is None:
        return None
    work = size * (len(set(zip(counts, own, strict=True))) + 1) * len(primes)
    budget.spend(work // _POINTS_PER_STEP + 1)
    problem = _Problem(tuple(inside), tuple(counts), tuple(own), points)
    found = _remainders([problem.modulo(prime) for prime in primes], primes)
    number, rest = found[0], iter(found[1:])
    place = {g: k for k, g in enumerate(order)}
    rows = [[next(rest) for _ in sizes] for _ in counts]
    return Within(number, tuple(tuple(row[place[g]] for g in range(len(sizes))) for row in rows))


@dataclass(frozen=True)
class _Problem:
    """Sizes, counts and limits with groups in their order, and points of each variable."""

    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    limits: tuple[tuple[int, ...], ...]
    points: tuple[int, ...]

    def modulo(self, p: int) -> list[int]:
        """The number, then for each value and group the tables that have it, modulo a prime."""
        n, last = sum(self.sizes), len(self.sizes) - 1
        factorials, inverses = _factorials(p, 1 << n.bit_length())
        roots = [_roots(p, points) for points in self.points]
        tops = list(map(max, zip(*self.limits, strict=True)))[:-1]
        powers = [
            row[np.outer(np.arange(points), np.arange(top + 1)) % points]
            for row, points, top in zip(roots, self.points, tops, strict=True)
        ]
        kinds = list(dict.fromkeys(zip(self.counts, self.limits, strict=True)))
        kernels = [self._kernel(count, limits, inverses, p) for count, limits in kinds]
        at = [_spread(kernel, powers, p) for kernel in kernels]
        copies = [list(zip(self.counts, self.limits, strict=True)).count(kind) for kind in kinds]
        # The wanted coefficient, as a weight of each point.
        weight = np.ones(self.points)
        scale = math.prod(factorials[size] for size in self.sizes)
        for axis, (row, points, size) in enumerate(
            zip(roots, self.points, self.sizes[:-1], strict=True)
        ):
            shape = [1] * last
            shape[axis] = points
            back = row[-np.arange(points) * size % points]
            weight = _mod(weight * back.reshape(shape), p)
            scale = scale * pow(points, -1, p) % p
        full = [_power(one, times, p) for one, times in zip(at, copies, strict=True)]
        ahead = [weight]
        for one in full:
            ahead.append(_mod(ahead[-1] * one, p))
        number = int(ahead[-1].sum()) % p * scale % p
        behind = np.ones(self.points)
        having: dict[Any, list[int]] = {}
        for k in range(len(kinds) - 1, -1, -1):
            others = _mod(ahead[k] * behind, p)
            if copies[k] > 1:
                others = _mod(others * _power(at[k], copies[k] - 1, p), p)
            terms = _mod(kernels[k] * _gather(others, kernels[k].shape, powers, p), p)
            having[kinds[k]] = [
                int(total) * scale % p * pow(size, -1, p) % p
                for total, size in zip(_moments(terms, kinds[k][0], p), self.sizes, strict=True)
            ]
            behind = _mod(behind * full[k], p)
        rows = (having[kind] for kind in zip(self.counts, self.limits, strict=True))
        return [number, *(x for row in rows for x in row)]

    def _kernel(self, count: int, limits: tuple[int, ...], inverses: Residues, p: int) -> Residues:
        """Coefficients of a value's polynomial: one over the product of factorials."""
        shape = tuple(limit + 1 for limit in limits[:-1])
        left = np.full(shape, count)
        kernel = np.ones(shape)
        for axis, top in enumerate(shape):
            steps = np.arange(top).reshape([-1 if a == axis else 1 for a in range(len(shape))])
            left = left - steps
            kernel = _mod(kernel * inverses[steps], p)
        fits = (left >= 0) & (left <= limits[-1])
        return np.where(fits, _mod(kernel * inverses[np.where(fits, left, 0)], p), 0.0)


def _moments(terms: Residues, count: int, p: int) -> Iterator[int]:
    """For each group, the sum of terms times how often the value is in it."""
    total, rest = int(terms.sum()) % p, 0
    for axis in range(terms.ndim):
        row = terms.sum(axis=tuple(a for a in range(terms.ndim) if a != axis))
        moment = sum(a * int(x) for a, x in enumerate(row.tolist())) % p
        rest += moment
        yield moment
    yield (count * total - rest) % p


def _spread(kernel: Residues, powers: Sequence[Residues], p: int) -> Residues:
    """Values of a polynomial at all points: one variable after another, which then goes last."""
    for matrix in powers:
        rows = kernel.reshape(kernel.shape[0], -1)
        flat = _mod(_product(matrix[:, : len(rows)], rows), p)
        kernel = flat.T.reshape(*kernel.shape[1:], -1)
    return kernel


def _gather(values: Residues, shape: Sequence[int], powers: Sequence[Residues], p: int) -> Residues:
    """The transpose of `_spread`: for each coefficient, the values weighted by its powers."""
    for size, matrix in zip(shape, powers, strict=True):
        rows = values.reshape(values.shape[0], -1)
        found = np.zeros((size, rows.shape[1]))
        for low in range(0, len(rows), _MOST_TERMS):
            part = slice(low, low + _MOST_TERMS)
            found = _mod(found + _product(matrix[part, :size].T, rows[part]), p)
        values = found.T.reshape(*values.shape[1:], -1)
    return values


def _product(left: Residues, right: Residues) -> Residues:
    """A matrix product in pieces that are not worth a second thread, which would have to be met."""
    width = max(1, _PIECE // max(left.size, 1))
    if width >= right.shape[1]:
        return left @ right
    return np.hstack([left @ right[:, k : k + width] for k in range(0, right.shape[1], width)])


def _mod(values: Residues, p: int) -> Residues:
    """Residues between -p and p: a quotient that is rounded up leaves a negative one."""
    found: Residues = values - np.floor(values / p) * p
    return found


def _power(values: Residues, times: int, p: int) -> Residues:
    found = values if times else np.ones(values.shape)
    for _ in range(times - 1):
        found = _mod(found * values, p)
    return found


def _smooth(least: int) -> int:
    """The least number from there of the form 2^a 3^b: few different primes serve all."""
    return min(
        power << max(0, (-(-least // power) - 1).bit_length()) for power in (1, 3, 9, 27, 81)
    )


def _remainders(found: Sequence[Sequence[int]], primes: Sequence[int]) -> list[int]:
    """Whole numbers below the product of the primes, by their residues."""
    product = math.prod(primes)
    weights = [product // p * pow(product // p, -1, p) for p in primes]
    return [
        sum(w * r for w, r in zip(weights, row, strict=True)) % product
        for row in zip(*found, strict=True)
    ]


@lru_cache(maxsize=64)
def _primes(order: int, least: int) -> tuple[int, ...] | None:
    """Primes with roots of unity of that order, whose product is above a number."""
    found, product = [], 1
    candidate = (_TOP - 2) // order * order + 1
    while product <= least:
        if candidate < 1 << 16:
            return None
        if _is_prime(candidate):
            found.append(candidate)
            product *= candidate
        candidate -= order
    return tuple(found)


@lru_cache(maxsize=1 << 12)
def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


@lru_cache(maxsize=1 << 10)
def _roots(p: int, order: int) -> Residues:
    """Powers of an element of exactly that order, which is 2^a 3^b."""
    factors = [q for q in (2, 3) if order % q == 0]
    candidates = (pow(base, (p - 1) // order, p) for base in range(2, p))
    root = next(w for w in candidates if all(pow(w, order // q, p) != 1 for q in factors))
    return np.array([pow(root, x, p) for x in range(order)], float)


@lru_cache(maxsize=1 << 7)
def _factorials(p: int, n: int) -> tuple[list[int], Residues]:
    """Factorials up to n, and one over each."""
    found = [1]
    for k in range(1, n + 1):
        found.append(found[-1] * k % p)
    inverses = [pow(found[-1], -1, p)]
    for k in range(n, 0, -1):
        inverses.append(inverses[-1] * k % p)
    return found, np.array(inverses[::-1], float)
