"""Exact posteriors of one group, and the dynamic program that floats go through, too.

Items are assigned to kinds, one after another; kind k takes ``capacities[k]`` of them. A world's
weight is the product of ``rows[i][kind of item i]``. ``forward[l][u]`` is the weight of all ways
to assign the first l items so that u of each kind are used; backward is the same from the end.
Items are people and kinds are values, or items are occurrences of values and kinds are signatures:
by symmetry the sum is the same, so the smaller lattice is taken (errata, section 3).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.signature_groups import PriorMatrix, Reading, SignatureGroups
from foreknow.errors import UnsupportedError

Places: TypeAlias = NDArray[np.intp]

# Lattices up to this many states are kept for the next groups of the same shape.
_KEPT = 1 << 12
# Steps of many problems that are gone at once.
_STEPS = 1 << 17
# States that fractions go through at most, unless said otherwise; seconds of work.
EXACT_REACH = 1 << 16


@dataclass(frozen=True)
class Lattice:
    """States by level (how many are used), and the steps from each level to the next.

    ``after[l]`` has, for each state of level l and each kind, the place in level l + 1 of the state
    with one more of that kind; ``before[l]``, for each state of level l + 1, the place in level l
    of the one with one less. Where there is none, -1.

    >>> lattice((2, 1)).widths
    (1, 2, 2, 1)
    >>> lattice((2, 1)).after[1].tolist(), lattice((2, 1)).before[1].tolist()
    ([[0, -1], [1, 0]], [[0, 1], [1, -1]])
    """

    capacities: tuple[int, ...]
    widths: tuple[int, ...]
    after: tuple[Places, ...]
    before: tuple[Places, ...]


def lattice(capacities: tuple[int, ...]) -> Lattice:
    """Lay out the states for kinds of such capacities."""
    small = prod(c + 1 for c in capacities) <= _KEPT
    return _kept_lattice(capacities) if small else _new_lattice(capacities)


def _new_lattice(capacities: tuple[int, ...]) -> Lattice:
    shape = tuple(c + 1 for c in capacities)
    total = prod(shape)
    used = np.stack(np.unravel_index(np.arange(total), shape)).astype(np.int32)
    level = used.sum(axis=0)
    order = np.argsort(level, kind="stable")
    starts = np.searchsorted(level[order], np.arange(sum(capacities) + 2))
    place = np.empty(total, dtype=np.intp)
    place[order] = np.arange(total) - starts[level[order]]
    room = np.array(capacities)[:, None] - used
    strides = np.array([prod(shape[k + 1 :]) for k in range(len(shape))])
    after: list[Places] = []
    before: list[Places] = []
    for done in range(sum(capacities) + 1):
        states = order[starts[done] : starts[done + 1]]
        for found, sign, able in ((before, -1, used), (after, 1, room)):
            there = able[:, states].T > 0
            found.append(np.where(there, place[(states[:, None] + sign * strides) * there], -1))
    return Lattice(
        capacities, tuple(np.diff(starts).tolist()), tuple(after[:-1]), tuple(before[1:])
    )


_kept_lattice = lru_cache(maxsize=128)(_new_lattice)


def world_weights(
    rows: NDArray[Any], shape: Lattice, wanted: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weight of the worlds where each wanted item is of each kind; and of all worlds.

    Rows, and the weights, have shape (items, kinds, problems); they are floats, or whole numbers
    of any size as objects.

    >>> rows = np.array([[[0.1], [0.9]], [[0.003], [0.997]]])
    >>> weights, totals = world_weights(rows, lattice((1, 1)), np.array([True, True]))
    >>> (weights[0, 0] / totals).round(12) == round(997 / 1024, 12)
    array([ True])
    """
    items, kinds, problems = rows.shape
    none = np.zeros((1, problems), dtype=rows.dtype)  # where a step of -1 leads
    left = np.concatenate([none + 1, none])
    forward = [left]
    for level, before in enumerate(shape.before):
        reached = sum(
            _products("skp,kp->sp", forward[level][before[:, part]], rows[level, part])
            for part in _parts(len(before), kinds, problems)
        )
        forward.append(np.concatenate([reached, none]))
    weights = np.zeros_like(rows)
    for level in range(items - 1, -1, -1):
        after, come = shape.after[level], forward.pop(level)[:-1]
        ahead = np.zeros_like(come)
        for part in _parts(len(after), kinds, problems):
            step = left[after[:, part]]
            if wanted[level]:
                weights[level, part] = _products("skp,sp->kp", step, come) * rows[level, part]
            ahead += _products("skp,kp->sp", step, rows[level, part])
        left = np.concatenate([ahead, none])
    return weights, left[0]


def _parts(width: int, kinds: int, problems: int) -> Iterator[slice]:
    """Kinds whose steps are gone at once."""
    many = max(_STEPS // (width * problems), 1)
    return (slice(k, k + many) for k in range(0, kinds, many))


def _products(how: str, one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Sums of products, over kinds or states; of whole numbers of any size, too."""
    if one.dtype == object:
        by_kind = how == "skp,kp->sp"
        return np.asarray((one * (other if by_kind else other[:, None])).sum(axis=int(by_kind)))
    return np.asarray(np.einsum(how, one, other))


def _merged(
    amounts: Sequence[int], keys: Sequence[Hashable]
) -> tuple[list[int], list[int], list[int]]:
    """Amount and first place of each key, and the number of each place's key."""
    numbers: dict[Hashable, int] = {}
    total: list[int] = []
    firsts: list[int] = []
    for place, (key, amount) in enumerate(zip(keys, amounts, strict=True)):
        if numbers.setdefault(key, len(firsts)) == len(firsts):
            firsts.append(place)
            total.append(0)
        total[numbers[key]] += amount
    return total, firsts, [numbers[key] for key in keys]


def _direction(row: Sequence[Fraction]) -> tuple[Fraction, ...]:
    first = next((chance for chance in row if chance), Fraction(1))
    return tuple(chance / first for chance in row)


def exact_joint(
    people: Sequence[int],
    counts: Sequence[int],
    chances: Sequence[Sequence[Fraction]],
    reach: int = EXACT_REACH,
) -> list[list[Fraction]] | None:
    """Posteriors by signature and value (the paper's equations 1 to 3); None: no possible world.

    >>> chances = PriorMatrix.from_fractions([["0.1", "0.9"], ["0.003", "0.997"]]).fractions
    >>> exact_joint([1, 1], [1, 1], chances)[0][0]  # the paper's tables III and IV
    Fraction(997, 1024)
    """
    # What is proportional is one signature, or one value; a value has its share of what it is in.
    n, signatures, signature_of = _merged(people, [_direction(row) for row in chances])
    columns = zip(*chances, strict=True)
    c, values, value_of = _merged(counts, [_direction(column) for column in columns])
    by_value, by_signature = (prod(amount + 1 for amount in side) for side in (c, n))
    states = min(by_value, by_signature)
    if states > reach:
        raise UnsupportedError(
            f"the exact posterior of this group needs {states} states, more than {reach}"
        )
    table = [[chances[s][x] for x in values] for s in signatures]
    if by_value <= by_signature:
        found = _by_items(n, c, table)
    else:
        turned = _by_items(c, n, [*zip(*table, strict=True)])
        found = turned and [
            [turned[x][s] * c[x] / n[s] for x in range(len(c))] for s in range(len(n))
        ]
    if found is None:
        return None
    shares = [(x, Fraction(own, c[x])) for own, x in zip(counts, value_of, strict=True)]
    return [[found[s][x] * share for x, share in shares] for s in signature_of]


def _by_items(
    items: Sequence[int], kinds: Sequence[int], chances: Sequence[Sequence[Fraction]]
) -> list[list[Fraction]] | None:
    """The chance of each kind by item, with rows scaled to whole numbers."""
    rows = np.empty((sum(items), len(kinds), 1), dtype=object)
    last = np.cumsum(items) - 1
    for row, times, end in zip(chances, items, last.tolist(), strict=True):
        rows[end + 1 - times : end + 1, :, 0] = _whole(row)
    wanted = np.zeros(len(rows), dtype=bool)
    wanted[last] = True
    weights, totals = world_weights(rows, lattice(tuple(kinds)), wanted)
    if not totals[0]:
        return None
    return [[Fraction(w, int(totals[0])) for w in row] for row in weights[last, :, 0].tolist()]


def _whole(row: Sequence[Fraction]) -> list[int]:
    """The same ratios in the smallest whole numbers."""
    scale = lcm(*(chance.denominator for chance in row))
    numbers = [int(chance * scale) for chance in row]
    common = gcd(*numbers) or 1
    return [number // common for number in numbers]


def exact_group(
    groups: SignatureGroups,
    group: int,
    priors: PriorMatrix,
    reading: Reading = "joint",
    reach: int = EXACT_REACH,
) -> list[list[Fraction | None]]:
    """Exact posteriors of a group by signature and held value; None where worlds have no weight."""
    signatures, people = zip(*groups.people_of(group), strict=True)
    values, counts = zip(*groups.bag_of(group), strict=True)
    found: list[list[Fraction | None]] = [[None] * len(values) for _ in people]
    if reading == "joint":
        chances = [[priors.exact(s, x) for x in values] for s in signatures]
        return [[*row] for row in exact_joint(people, counts, chances, reach) or found]
    for x, (value, count) in enumerate(zip(values, counts, strict=True)):
        both = [n for n in (count, sum(people) - count) if n]
        had = [priors.exact(s, value) for s in signatures]
        column = exact_joint(people, both, [[f, 1 - f][: len(both)] for f in had], reach)
        for row, own in zip(found, column or (), strict=False):
            row[x] = own[0]
    return found
