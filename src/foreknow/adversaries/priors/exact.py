"""Exact posteriors of one group as fractions, by the same dynamic program in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm, prod

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.dynamic_program import deal, lattice, merge_exact
from foreknow.adversaries.priors.posteriors import Reading
from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups
from foreknow.errors import UnsupportedError


def possible(
    support: NDArray[np.bool_], people: Sequence[int], counts: Sequence[int]
) -> NDArray[np.bool_] | None:
    """Find the (signature, value) pairs that occur in some world; None where there is no world.

    A pair occurs if and only if, given one way to deal, it lies on a cycle of exchanges: strong
    components of the residual graph.

    Parameters
    ----------
    support : bool array, shape (signatures, values)
        Where the prior is positive.
    people, counts : sequences of int
        People by signature, and occurrences by value.

    Examples
    --------
    >>> possible(np.array([[True, True], [False, True]]), [1, 1], [1, 1])
    array([[ True, False],
           [False,  True]])
    >>> possible(np.array([[True, False], [True, False]]), [1, 1], [1, 1]) is None
    True
    """
    support = np.asarray(support, dtype=bool)
    dealt = _deal(support, list(people), list(counts))
    if dealt is None:
        return None
    n_signatures, n_values = support.shape
    n = n_signatures + n_values
    reach = np.eye(n, dtype=bool)
    reach[:n_signatures, n_signatures:] |= support
    reach[n_signatures:, :n_signatures] |= (dealt > 0).T
    for middle in range(n):
        reach |= reach[:, [middle]] & reach[middle]
    return support & reach[n_signatures:, :n_signatures].T


def _deal(
    support: NDArray[np.bool_], people: list[int], counts: list[int]
) -> NDArray[np.int64] | None:
    """One way to deal, by augmenting paths; None where there is none."""
    dealt = np.zeros(support.shape, dtype=np.int64)
    for s in range(len(people)):
        for x in np.flatnonzero(support[s]).tolist():
            some = min(people[s], counts[x])
            dealt[s, x] += some
            people[s] -= some
            counts[x] -= some
    for s in range(len(people)):
        while people[s]:
            path = _path(support, dealt, counts, s)
            if path is None:
                return None
            last = path[-1][1]
            some = min([people[s], counts[last], *(int(dealt[t, x]) for t, x in path[1::2])])
            for i, (t, x) in enumerate(path):
                dealt[t, x] += -some if i % 2 else some
            people[s] -= some
            counts[last] -= some
    return dealt


def _path(
    support: NDArray[np.bool_], dealt: NDArray[np.int64], counts: list[int], start: int
) -> list[tuple[int, int]] | None:
    """Pairs to deal and to take back in turns, from a signature to a value that is left."""
    came: dict[int, int] = {}  # value -> signature that takes it
    gave: dict[int, int] = {}  # signature -> value it gives away
    queue = [start]
    for s in queue:
        for x in np.flatnonzero(support[s]).tolist():
            if x in came:
                continue
            came[x] = s
            if counts[x]:
                path = [(s, x)]
                while s != start:
                    given = gave[s]
                    path += [(s, given), (came[given], given)]
                    s = came[given]
                return path[::-1]
            for t in np.flatnonzero(dealt[:, x]).tolist():
                if t != start and t not in gave:
                    gave[t] = x
                    queue.append(t)
    return None


# States that fractions go through at most, unless said otherwise; seconds of work.
EXACT_REACH = 1 << 16


def exact_joint(
    people: Sequence[int],
    counts: Sequence[int],
    chances: Sequence[Sequence[Fraction]],
    reach: int = EXACT_REACH,
) -> list[list[Fraction]] | None:
    """Posteriors by signature and value under the joint reading (the paper's equations 1 to 3).

    Parameters
    ----------
    people, counts : sequences of int
        People by signature, and occurrences by value.
    chances : table of Fraction, signatures by values
    reach : int
        How many states may be gone through.

    Returns
    -------
    table or None
        None where no world has a positive weight.

    Raises
    ------
    UnsupportedError
        If there are more states than `reach`.

    Examples
    --------
    Alan, Betty and lung cancer (the paper's tables III and IV):

    >>> table = exact_joint(
    ...     [1, 1],
    ...     [1, 1],
    ...     PriorMatrix.from_fractions([["0.1", "0.9"], ["0.003", "0.997"]]).fractions,
    ... )
    >>> table[0][0]
    Fraction(997, 1024)
    """
    held = possible(np.array([[bool(c) for c in row] for row in chances]), people, counts)
    if held is None:
        return None
    trimmed = [
        [chance if held[s, x] else Fraction(0) for x, chance in enumerate(row)]
        for s, row in enumerate(chances)
    ]
    merged = merge_exact(people, counts, trimmed)
    by_value, by_signature = (prod(n + 1 for n in side) for side in (merged.counts, merged.people))
    states = min(by_value, by_signature)
    if states > reach:
        raise UnsupportedError(
            f"the exact posterior of this group needs {states} states, more than {reach}"
        )
    if by_value <= by_signature:
        found = by_whole_numbers(merged.people, merged.counts, merged.chances)
    else:
        turned = [list(column) for column in zip(*merged.chances, strict=True)]
        dealt = by_whole_numbers(merged.counts, merged.people, turned)
        found = dealt and [
            [dealt[x][s] * c / n for x, c in enumerate(merged.counts)]
            for s, n in enumerate(merged.people)
        ]
    if found is None:
        return None
    return [
        [found[s][x] * share for x, share in zip(merged.value_of, merged.shares, strict=True)]
        for s in merged.signature_of
    ]


def exact_binary(
    people: Sequence[int],
    copies: int,
    chances: Sequence[Fraction],
    reach: int = EXACT_REACH,
) -> list[Fraction] | None:
    """Posteriors of one value by signature under the binary reading, {x, not x}.

    A conditional Bernoulli design: of all ways to pick who has the value, as many as it occurs;
    weights are odds, ``p = o e_{c-1}(others) / e_c(all)``. It is the joint reading of two values.

    Parameters
    ----------
    people : sequence of int
        By signature.
    copies : int
        How often the value occurs.
    chances : sequence of Fraction
        Its prior by signature.
    reach : int
        As in `exact_joint`.

    Examples
    --------
    >>> exact_binary([1, 1], 1, [Fraction(1, 10), Fraction(3, 1000)])[0]
    Fraction(997, 1024)
    """
    others = sum(people) - copies
    if not others:
        return [Fraction(1)] * len(people) if all(chances) else None
    pairs = [[chance, 1 - chance] for chance in chances]
    found = exact_joint(people, [copies, others], pairs, reach)
    return None if found is None else [row[0] for row in found]


def exact_group(
    groups: SignatureGroups,
    group: int,
    priors: PriorMatrix,
    reading: Reading = "joint",
    reach: int = EXACT_REACH,
) -> list[list[Fraction | None]]:
    """Exact posteriors of one group, by its signatures and held values.

    None stands where no world has a positive weight: everywhere under ``joint``, for single
    values under ``binary``.

    Examples
    --------
    >>> groups = SignatureGroups.from_people([([0, 1], [0, 1])])
    >>> priors = PriorMatrix.from_fractions([["1/10", "9/10"], ["3/1000", "997/1000"]])
    >>> exact_group(groups, 0, priors)[0]
    [Fraction(997, 1024), Fraction(27, 1024)]
    """
    signatures, people = zip(*groups.people_of(group), strict=True)
    values, counts = zip(*groups.bag_of(group), strict=True)
    chances = priors.table(signatures, values)
    if reading == "joint":
        table = exact_joint(people, counts, chances, reach)
        return [[None] * len(values) for _ in people] if table is None else [[*r] for r in table]
    columns: list[Sequence[Fraction | None]] = []
    for x, count in enumerate(counts):
        found = exact_binary(people, count, [row[x] for row in chances], reach)
        columns.append([None] * len(people) if found is None else found)
    return [list(row) for row in zip(*columns, strict=True)]


def by_whole_numbers(
    items: Sequence[int], kinds: Sequence[int], chances: Sequence[Sequence[Fraction]]
) -> list[list[Fraction]] | None:
    """Deal items to kinds, with rows scaled to whole numbers; the chance of each kind by item.

    >>> half = Fraction(1, 2)
    >>> by_whole_numbers([1, 2], [2, 1], [[half, half], [half, 1]])[0]
    [Fraction(4, 5), Fraction(1, 5)]
    """
    rows = np.empty((sum(items), len(kinds), 1), dtype=object)
    wanted = np.zeros(sum(items), dtype=bool)
    last = -1
    for row, times in zip(chances, items, strict=True):
        rows[last + 1 : last + 1 + times, :, 0] = _whole(row)
        last += times
        wanted[last] = True
    weights, totals = deal(rows, lattice(tuple(kinds)), wanted)
    if not totals[0]:
        return None
    found = weights[wanted, :, 0].tolist()
    return [[Fraction(weight, int(totals[0])) for weight in row] for row in found]


def _whole(row: Sequence[Fraction]) -> list[int]:
    """The same ratios in the smallest whole numbers."""
    scale = lcm(*(chance.denominator for chance in row))
    numbers = [int(chance * scale) for chance in row]
    common = gcd(*numbers) or 1
    return [number // common for number in numbers]
