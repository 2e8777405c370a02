"""Large mixed groups: a kind with a too frequent value, diluted by many people of similar kinds.

In a large group posteriors hardly depend on chance: they are priors, scaled to fit the people and
the bag. So it is first worked out how many people of other kinds must join, without the value that
is too frequent; then all of them are divided into as many like parts as the judge finds safe.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import numpy as np

from foreknow.anonymizers.art.judge import Judge
from foreknow.anonymizers.art.problem import ArtProblem
from foreknow.anonymizers.art.stock import Stock
from foreknow.sparse import IntArray

_log = logging.getLogger(__name__)

# How many of the nearest kinds are asked to join, each by itself; and then how many together.
_SINGLE, _TOGETHER = 24, (2, 4, 8)
# Halvings of the share of the donors that join.
_HALVINGS = 12
# How near to its limit a posterior may come, of all together; parts differ a little. Last, all who
# can join do.
_CLOSE = (0.93, 0.97, 0.0)
# How often the value that is too frequent may occur in a part.
_COPIES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
# The largest parts whose posteriors are worked out.
LARGEST = 700


def bulk_groups(
    problem: ArtProblem,
    judge: Judge,
    stock: Stock,
    rest: IntArray,
    hard: Iterable[int] | None = None,
) -> list[IntArray]:
    """Group kinds that cannot be grouped by themselves with many people of other kinds.

    Parameters
    ----------
    problem : ArtProblem
    judge : Judge
    stock : Stock
        Who is without a group; what is taken is taken from it, too.
    rest : int64 array
        The people themselves.
    hard : iterable of int, optional
        Only these kinds.

    Returns
    -------
    list of int64 arrays
        Safe groups.
    """
    groups: list[IntArray] = []
    free = np.zeros(problem.n_people, dtype=bool)
    free[rest] = True
    excess = stock.all_excess()
    wanted = range(problem.n_kinds) if hard is None else hard
    for kind in sorted(wanted, key=lambda kind: -excess[kind]):
        made: list[IntArray] = []
        for close in _CLOSE:
            if made or stock.all_excess()[kind] <= 0:
                break
            made = _of_kind(problem, judge, stock, kind, close, free)
        if made:
            groups += made
            people = np.concatenate(made)
            free[people] = False
            np.subtract.at(stock.table, (problem.kinds[people], problem.values[people]), 1)
            _log.info("kind %d in bulk: %d groups", kind, len(made))
    return groups


def _of_kind(
    problem: ArtProblem, judge: Judge, stock: Stock, kind: int, close: float, free: np.ndarray
) -> list[IntArray]:
    """As many like parts as are all safe, of one kind and those who join."""
    own = stock.table[kind]
    lacking = stock.lacking(own[None], np.array([kind]))[0] + stock.weight * own * stock.odd[kind]
    joining = _joining(problem, judge, stock, kind, lacking > 0, close)
    if joining is None:
        return []
    hot = int(np.argmax(lacking))
    total = int(own.sum() + joining.sum())
    for copies in sorted({*_COPIES, int(own[hot])}):
        n_parts = int(own[hot]) // copies
        if not n_parts or total > n_parts * LARGEST:
            continue
        taken = joining.copy()
        taken[kind] = _kept_back(problem, kind, own, hot, own[hot] - copies * n_parts)
        who, part = dealt_parts(problem, taken, free, n_parts)
        if judge.safe(part, problem.kinds[who], problem.values[who], n_parts).all():
            order = np.argsort(part, kind="stable")
            return np.split(who[order], np.cumsum(np.bincount(part))[:-1])
    return []


def _kept_back(problem: ArtProblem, kind: int, own: IntArray, hot: int, over: int) -> IntArray:
    """Own people without some who have the hot value, and as many others as these need."""
    found = own.copy()
    found[hot] -= over
    size = max(int(problem.sizes[kind, hot]), 1) * over
    others = np.where(np.arange(len(own)) == hot, 0, own)
    most = problem.most(kind, np.array(size))
    wanted = np.minimum(np.minimum(others, most), -(-others * size // max(int(others.sum()), 1)))
    found -= wanted
    return found


def _joining(
    problem: ArtProblem, judge: Judge, stock: Stock, kind: int, hot: np.ndarray, close: float
) -> IntArray | None:
    """How many of other kinds keep posteriors of all together within `close` of their limits."""
    others = np.argsort(problem.distances(kind), kind="stable")
    easy = stock.all_excess() <= 0
    most = {j: _spare(problem, stock.table[j], j, hot) for j in others[easy[others]].tolist()}
    donors = [j for j, spare in most.items() if j != kind and spare.sum()]
    several = [[j] for j in donors[:_SINGLE]] + [donors[:n] for n in _TOGETHER]
    for chosen in several if donors else []:

        def blend(share: float, chosen: list[int] = chosen) -> IntArray:
            found = np.zeros_like(stock.table)
            for j in chosen:
                found[j] = np.floor(share * most[j])
            return found

        def highest(share: float, blend: Callable[[float], IntArray] = blend) -> float:
            table = blend(share)
            table[kind] = stock.table[kind]
            return judge.in_bulk(table)

        if highest(1.0) > (close or 1.0):
            continue
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS if close else 0):
            middle = (low + high) / 2
            low, high = (low, middle) if highest(middle) <= close else (middle, high)
        return blend(high)
    return None


def _spare(problem: ArtProblem, rows: IntArray, kind: int, hot: np.ndarray) -> IntArray:
    """As many of a kind without some values as can leave, so that the rest can be grouped."""
    kept = np.where(hot, 0, rows)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        after = rows - np.floor(middle * kept).astype(np.int64)
        fine = not problem.lacking(after[None], np.array([kind])).any()
        low, high = (middle, high) if fine else (low, middle)
    found: IntArray = np.floor(low * kept).astype(np.int64)
    return found


def dealt_parts(
    problem: ArtProblem, taken: IntArray, free: np.ndarray, n_parts: int, by_value: bool = False
) -> tuple[IntArray, IntArray]:
    """Deal out the free people of so many of each kind and value; who they are, and their parts.

    Of each cell as many in each part, those who are near together. Where a cell does not come out
    even, the parts with one more begin where those of the cell before end: so parts are of one
    size, and hold as many of each kind; or as often each value, with `by_value`.
    """
    keys = problem.kinds * problem.n_values + problem.values
    able = np.flatnonzero(free & (taken[problem.kinds, problem.values] > 0))
    able = able[np.lexsort((problem.curve[able], keys[able]))]
    starts = np.searchsorted(keys[able], np.arange(taken.size + 1))
    people, parts = [], []
    begin = 0
    cells = np.flatnonzero(taken.ravel())
    if by_value:
        cells = cells[np.lexsort((cells, cells % problem.n_values))]
    for key in cells.tolist():
        mine, wanted = able[starts[key] : starts[key + 1]], int(taken.flat[key])
        people.append(mine[(np.arange(wanted) * len(mine)) // wanted])
        each, more = divmod(wanted, n_parts)
        counts = np.full(n_parts, each)
        counts[(begin + np.arange(more)) % n_parts] += 1
        begin += more
        parts.append(np.repeat(np.arange(n_parts), counts))
    return np.concatenate(people), np.concatenate(parts)
