"""Exact posteriors of one group, by whole numbers.

Items are assigned to kinds; kind k takes ``capacities[k]`` of them. Items are people and kinds are
values, or items are occurrences of values and kinds are signatures: by symmetry the sum is the
same, so the smaller lattice is taken (errata, section 3).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import gcd, lcm, prod

import numpy as np

from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups, ValueMode
from foreknow.worlds import lattice, world_weights
from foreknow_judge.errors import UnsupportedError

# States that fractions go through at most, unless said otherwise; seconds of work.
EXACT_REACH = 1 << 16


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
    n, signatures, signature_of = _merged(people, list(map(_direction, chances)))
    columns = zip(*chances, strict=True)
    c, values, value_of = _merged(counts, list(map(_direction, columns)))
    by_value, by_signature = (prod(amount + 1 for amount in side) for side in (c, n))
    states = min(by_value, by_signature)
    if states > reach:
        raise UnsupportedError(
            f"the exact posterior of this group needs {states} states, more than {reach}"
        )
    table = [[chances[s][x] for x in values] for s in signatures]
    if by_value <= by_signature:
        chance_of = _by_items(n, c, table)
    else:
        turned = _by_items(c, n, [*zip(*table, strict=True)])
        chance_of = turned and [
            [turned[x][s] * c[x] / n[s] for x in range(len(c))] for s in range(len(n))
        ]
    if chance_of is None:
        return None
    shares = [(x, Fraction(count, c[x])) for count, x in zip(counts, value_of, strict=True)]
    return [[chance_of[s][x] * share for x, share in shares] for s in signature_of]


def _by_items(
    items: Sequence[int], kinds: Sequence[int], chances: Sequence[Sequence[Fraction]]
) -> list[list[Fraction]] | None:
    """The chance of each kind by item, with rows scaled to whole numbers."""
    rows = np.empty((sum(items), len(kinds), 1), dtype=object)
    last = np.cumsum(items) - 1
    for row, times, end in zip(chances, items, last.tolist(), strict=True):
        rows[end + 1 - times : end + 1, :, 0] = _whole(row)
    is_last = np.zeros(len(rows), dtype=bool)
    is_last[last] = True
    weights, totals = world_weights(rows, lattice(tuple(kinds)), is_last)
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
    mode: ValueMode = "joint",
    reach: int = EXACT_REACH,
) -> list[list[Fraction | None]]:
    """Exact posteriors of a group by signature and held value; None where worlds have no weight."""
    signatures, people = zip(*groups.people_of(group), strict=True)
    values, counts = zip(*groups.bag_of(group), strict=True)
    undefined: list[list[Fraction | None]] = [[None] * len(values) for _ in people]
    if mode == "joint":
        chances = [[priors.exact(s, x) for x in values] for s in signatures]
        return [[*row] for row in exact_joint(people, counts, chances, reach) or undefined]
    for x, (value, count) in enumerate(zip(values, counts, strict=True)):
        two_counts = [n for n in (count, sum(people) - count) if n]
        had = [priors.exact(s, value) for s in signatures]
        column = exact_joint(
            people, two_counts, [[f, 1 - f][: len(two_counts)] for f in had], reach
        )
        for row, pair in zip(undefined, column or (), strict=False):
            row[x] = pair[0]
    return undefined
