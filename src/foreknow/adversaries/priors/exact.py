"""Exact posteriors of one group, by whole numbers.

Items are assigned to kinds; kind k takes ``capacities[k]`` of them. Items are people and kinds are
values, or items are occurrences of values and kinds are signatures: by symmetry the sum is the
same, so the smaller lattice is taken (errata, section 3).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm, prod

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups, ValueMode
from foreknow.possible_worlds import lattice, world_weights
from foreknow_judge.errors import UnsupportedError

# States that fractions go through at most, unless said otherwise; seconds of work.
EXACT_REACH = 1 << 16


def _merge_equal(
    amounts: Sequence[int], keys: Sequence[Hashable]
) -> tuple[list[int], list[int], list[int]]:
    """Merge equal keys: the sum of amounts and the first position of each, and each one's number.

    The third list has, for each of `keys`, the number of its key among the distinct ones.
    """
    numbers: dict[Hashable, int] = {}
    total: list[int] = []
    firsts: list[int] = []
    for position, (key, amount) in enumerate(zip(keys, amounts, strict=True)):
        # A new key gets the next number.
        if numbers.setdefault(key, len(firsts)) == len(firsts):
            firsts.append(position)
            total.append(0)
        total[numbers[key]] += amount
    return total, firsts, [numbers[key] for key in keys]


def _direction(row: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """A row divided by its first number that is not 0, so that proportional rows become equal."""
    first = next(filter(None, row), Fraction(1))
    return tuple([chance / first for chance in row])


def exact_joint(
    people: Sequence[int],
    counts: Sequence[int],
    chances: Sequence[Sequence[Fraction]],
    reach: int = EXACT_REACH,
) -> list[list[Fraction]] | None:
    """Posteriors by signature and value (the paper's equations 1 to 3); None: no possible world.

    ``people[s]`` people have signature s, ``counts[x]`` people have value x, and ``chances[s][x]``
    is the prior. `UnsupportedError` if more than `reach` states are needed.

    >>> chances = PriorMatrix.from_fractions([["0.1", "0.9"], ["0.003", "0.997"]]).fractions
    >>> exact_joint([1, 1], [1, 1], chances)[0][0]  # the paper's tables III and IV
    Fraction(997, 1024)
    """
    # Proportional signatures are one, and so are values, of which each has its share at the end.
    n, signatures, signature_of = _merge_equal(people, list(map(_direction, chances)))
    columns = zip(*chances, strict=True)
    c, values, value_of = _merge_equal(counts, list(map(_direction, columns)))
    # States of the two ways to count worlds; the smaller one is taken.
    by_value = prod(amount + 1 for amount in c)
    by_signature = prod(amount + 1 for amount in n)
    states = min(by_value, by_signature)
    if states > reach:
        raise UnsupportedError(
            f"the exact posterior of this group needs {states} states, more than {reach}"
        )
    table = np.array(chances, dtype=object)[np.ix_(signatures, values)]
    if by_value <= by_signature:
        chance_of = _by_items(n, c, table)
    else:
        chance_of = _by_items(c, n, table.T)
        if chance_of is not None:
            # From the chance that an occurrence is of a signature to that of a person having the
            # value.
            people_of, holders_of = np.array(n, dtype=object), np.array(c, dtype=object)
            chance_of = chance_of.T * holders_of / people_of[:, None]
    if chance_of is None:
        return None
    # Values that were merged share the chance in proportion to their occurrences.
    shares = [Fraction(count, c[x]) for count, x in zip(counts, value_of, strict=True)]
    posteriors: list[list[Fraction]] = (chance_of[np.ix_(signature_of, value_of)] * shares).tolist()
    return posteriors


def _by_items(
    items: Sequence[int], kinds: Sequence[int], chances: NDArray[np.object_]
) -> NDArray[np.object_] | None:
    """The chance that each item is of each kind, as fractions; None if there is no way.

    There are ``items[i]`` equal items of sort i, and ``kinds[j]`` of all items must be of kind j.
    ``chances[i, j]`` is the prior chance of one item.
    """
    # A row for each single item; the last one of each sort is read.
    rows = np.empty((sum(items), len(kinds), 1), dtype=object)
    last = np.cumsum(items) - 1
    for row, times, end in zip(chances, items, last.tolist(), strict=True):
        rows[end + 1 - times : end + 1, :, 0] = _whole_ratios(row)
    is_last = np.zeros(len(rows), dtype=bool)
    is_last[last] = True
    weights, totals = world_weights(rows, lattice(tuple(kinds)), is_last)
    if not totals[0]:
        return None
    shares: NDArray[np.object_] = weights[last, :, 0] * Fraction(1, int(totals[0]))
    return shares


def _whole_ratios(row: Iterable[Fraction]) -> list[int]:
    """The smallest whole numbers in the ratios of a row."""
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
    """The exact posteriors of a group: a row for each signature, a column for each value it has.

    None where the sum over worlds is out of `reach`.
    """
    signatures, people = zip(*groups.people_of(group), strict=True)
    values, counts = zip(*groups.bag_of(group), strict=True)

    posteriors: list[list[Fraction | None]] = [[None] * len(values) for _ in people]
    if mode == "joint":
        posteriors_together = exact_joint(people, counts, priors.rows(signatures, values), reach)
        if posteriors_together is not None:
            posteriors = [[*row] for row in posteriors_together]
        return posteriors
    for x, (value, count) in enumerate(zip(values, counts, strict=True)):
        # Only who has this value and who has not counts.
        n_others = sum(people) - count
        had = [priors.exact(s, value) for s in signatures]
        # Whether somebody has the value or not: one case alone, if nobody is in the other.
        pairs = [[chance, 1 - chance] if n_others else [chance] for chance in had]
        two_counts = [count, n_others] if n_others else [count]
        column = exact_joint(people, two_counts, pairs, reach)
        for row, pair in zip(posteriors, column or (), strict=False):
            row[x] = pair[0]
    return posteriors
