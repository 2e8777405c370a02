"""Mixed groups: of different kinds of people, so that each kind's rest can be grouped by itself.

A kind can be grouped by itself if none of its values is more frequent than one in k of its people.
Where one is, some of those who have it join people of other, similar kinds, in groups that the
judge finds safe. Such a *recipe*, so many of each kind and value, is found once and carried out as
often as it helps.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.signature_groups import FloatArray
from foreknow.data.sparse import IntArray
from foreknow.methods.art.judge import Judge
from foreknow.methods.art.problem import ArtProblem


class Stock:
    """How many of each kind and value are left, and what stands in the way of each kind."""

    def __init__(self, problem: ArtProblem) -> None:
        self.problem = problem
        self.k = problem.least
        self.table = problem.table.copy()
        self.odd = ~problem.allowed | (problem.sizes == 0)
        largest = int(problem.sizes[problem.table > 0].max(initial=1))
        self.weight = float(largest * int(self.table.sum()) + 1)

    def lacking(self, rows: IntArray, kinds: IntArray) -> FloatArray:
        """By row and value, how many people a kind lacks to be grouped by itself."""
        if self.problem.unique:
            found: FloatArray = np.maximum(self.k * rows - rows.sum(axis=-1, keepdims=True), 0)
            return found
        return self.problem.lacking(rows, kinds)

    def excess(self, rows: IntArray, kinds: IntArray) -> FloatArray:
        """What stands in the way, by row: 0 if and only if a kind can be grouped by itself.

        How far values exceed their limits; and people who cannot be in a group of their kind, which
        weigh more than all else.
        """
        over = self.lacking(rows, kinds).sum(axis=-1)
        found: FloatArray = over + self.weight * (rows * self.odd[kinds]).sum(axis=-1)
        return found

    def all_excess(self) -> FloatArray:
        """By kind."""
        return self.excess(self.table, np.arange(len(self.table)))

    def change(self, taken: Mapping[int, IntArray], times: int = 1) -> float:
        """How the excess changes when so many of some kinds leave."""
        kinds = np.array(list(taken))
        before = self.table[kinds]
        after = before - times * np.array(list(taken.values()))
        return float(self.excess(after, kinds).sum() - self.excess(before, kinds).sum())

    def times(self, taken: Mapping[int, IntArray]) -> int:
        """How often a recipe is best carried out: the excess is convex in it."""
        most = min(
            int((self.table[kind][rows > 0] // rows[rows > 0]).min())
            for kind, rows in taken.items()
        )
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            if self.change(taken, middle + 1) < self.change(taken, middle):
                low = middle + 1
            else:
                high = middle
        return low


_log = logging.getLogger(__name__)

# Similar kinds whose people may be asked to join, at first and when that fails.
_NEIGHBOURS = (5, 16)
# Values of a kind that are tried at once.
_VALUES = 12
# People of a recipe at most, as multiples of what one kind needs, and besides; and of these most.
_TIMES, _BESIDES, _LARGEST = 3, 4, 30
# What a further value's pressure and distance weigh against a posterior that reaches its limit.
_PRESSURE, _DISTANCE = 0.02, 0.03
# What ties are broken by, and how far a choice may be from the best when a search is repeated.
_TIE, _NOISE = 1e-9, (0.1, 0.3)
_TRIES = 1 + len(_NOISE)

Pair = tuple[int, int]


@dataclass(frozen=True)
class Recipe:
    """A group by kind and value, and how often it is to be made."""

    pairs: tuple[Pair, ...]
    times: int


class Mixer:
    """Finds recipes until every kind can be grouped by itself, or none is found any more.

    Parameters
    ----------
    problem : ArtProblem
    judge : Judge
    random : numpy Generator
        For ties.
    thrift : float
        From 0, as many of the kind itself as can be, to 1, as few: groups of more and other
        people, after which fewer are in the way.
    """

    def __init__(
        self,
        problem: ArtProblem,
        judge: Judge,
        random: np.random.Generator,
        thrift: float = 0.0,
    ) -> None:
        self.problem, self.judge, self.random, self.thrift = problem, judge, random, thrift
        self.stock = Stock(problem)
        self._near: dict[int, tuple[IntArray, FloatArray]] = {}
        self._open: dict[int, NDArray[np.bool_]] = {}
        self._noise = _TIE

    def run(self, patience: int = 40) -> list[Recipe]:
        """Carry out recipes while they help.

        Parameters
        ----------
        patience : int
            Kinds and values in a row for which no recipe is found before it gives up.
        """
        recipes: list[Recipe] = []
        failed: Counter[Pair] = Counter()
        waiting = 0
        while True:
            target = self._target(failed)
            if target is None or waiting >= patience:
                break
            self._noise = (_TIE, *_NOISE)[failed[target]]
            found = self._recipe(target)
            if found is None:
                failed[target] += 1
                waiting += 1
                continue
            waiting = 0
            recipes.append(found)
            for kind, rows in _taken(found.pairs, self.problem.n_values).items():
                self.stock.table[kind] -= found.times * rows
                self._open.pop(kind, None)
        _log.info("%d recipes, excess left %g", len(recipes), self.stock.all_excess().sum())
        return recipes

    def around(self, target: Pair) -> tuple[Pair, ...] | None:
        """A safe group with the target first, of whomever there is, found with some chance."""
        self._noise = float(self.random.choice([_TIE, *_NOISE]))
        own = int(self.random.integers(1, self._size(target) + 1))
        neighbours = int(self.random.choice(_NEIGHBOURS))
        found = self._grow([target], min(own, int(self.stock.table[target[0]].sum())), neighbours)
        if found is None:
            return None
        rest = list(found)
        rest.remove(target)
        return (target, *rest)

    def _target(self, failed: Counter[Pair]) -> Pair | None:
        """The kind in whose way most stands for its size, and the value that does."""
        excess = self.stock.all_excess()
        sizes = self.stock.table.sum(axis=1)
        order = np.argsort(-excess / np.maximum(sizes, 1), kind="stable")
        for kind in order[excess[order] > 0].tolist():
            rows = self.stock.table[kind]
            over = self.stock.lacking(rows[None], np.array([kind]))[0] > 0
            pressing = np.where(self.stock.odd[kind], rows * len(rows) * 10, rows)
            for value in np.argsort(-pressing, kind="stable").tolist():
                bad = self.stock.odd[kind, value] and rows[value]
                if (over[value] or bad) and failed[kind, value] < _TRIES:
                    return kind, value
        return None

    def _recipe(self, target: Pair) -> Recipe | None:
        """Look for a recipe with the target: at first with as few of other kinds as can be."""
        kind, value = target
        size = int(self.stock.table[kind].sum())
        copies = (1,) if self.problem.unique else (1, 2)
        fallback: Recipe | None = None
        for neighbours in _NEIGHBOURS:
            for q in copies:
                if q > self.stock.table[kind, value]:
                    continue
                for own in self._shares(q, size, self._size(target)):
                    pairs = self._grow([target] * q, own, neighbours)
                    if pairs is None:
                        continue
                    taken = _taken(pairs, self.problem.n_values)
                    change = self.stock.change(taken)
                    if change >= 0:
                        continue
                    found = Recipe(pairs, self.stock.times(taken))
                    excess = float(self.stock.all_excess()[kind])
                    needed = excess / -change * int(taken[kind].sum())
                    if needed <= size or excess > self.stock.weight:
                        return found
                    fallback = fallback or found
            if fallback is not None:
                return fallback
        return None

    def _size(self, target: Pair) -> int:
        """How many people of its kind a target would need for its group."""
        needed = int(self.problem.sizes[target])
        return min(needed or self.stock.k, _LARGEST)

    def _shares(self, copies: int, size: int, needed: int) -> list[int]:
        """How many people of the target's kind a recipe may have, in the order of trying."""
        most = max(min(copies * needed - 1, size), copies)
        first = most - self.thrift * (most - copies)
        shares = {copies, most, (copies + most) // 2}
        if self.problem.unique:
            shares |= {*range(copies, min(most, 4) + 1), *range(most, copies, -2)}
        return sorted(shares, key=lambda own: (abs(own - first), -own))

    def _grow(self, start: list[Pair], own: int, neighbours: int) -> tuple[Pair, ...] | None:
        """Add to a group whoever makes its posteriors least, until it is safe."""
        problem, kind = self.problem, start[0][0]
        near, distance = self._neighbours(kind)
        pairs = list(start)
        needed = self._size(start[0])
        most = _TIMES * needed * len(start) + _BESIDES
        if problem.unique:
            most = min(most, problem.n_values)
        while len(pairs) < most:
            taken = _taken(pairs, problem.n_values)
            options = self._options(pairs, taken, near, own, neighbours)
            if not options:
                return None
            more = np.array(options)
            worst = self.judge.guess(pairs, more)
            cost = worst + _DISTANCE * distance[more[:, 0]]
            cost += _PRESSURE * needed * self._pressure(options, taken)
            cost += self._noise * self.random.random(len(options))
            best = int(np.argmin(cost))
            pairs.append(options[best])
            if len(pairs) >= problem.least and worst[best] < 1.1:
                kinds, values = np.array(pairs).T
                if self.judge.safe(np.zeros(len(pairs), dtype=np.int64), kinds, values, 1)[0]:
                    return tuple(sorted(pairs))
        return None

    def _options(
        self,
        pairs: list[Pair],
        taken: dict[int, IntArray],
        near: IntArray,
        own: int,
        neighbours: int,
    ) -> list[Pair]:
        """Kinds and values that may be added."""
        kind = pairs[0][0]
        held = {x for _, x in pairs} if self.problem.unique else set()
        options: list[Pair] = []
        kinds = 0
        for other in near.tolist():
            if other == kind and taken[kind].sum() >= own:
                continue
            rows = self.stock.table[other]
            if other in taken:
                rows = rows - taken[other]
            open_ = rows > 0
            if other != kind and other in taken:
                open_ &= self._harmless(other, rows)
            elif other != kind:
                if other not in self._open:
                    self._open[other] = self._harmless(other, rows)
                open_ &= self._open[other]
            values = [x for x in np.argsort(-rows, kind="stable").tolist() if open_[x]]
            values = [x for x in values if x not in held][:_VALUES]
            if not values:
                continue
            options += [(other, x) for x in values]
            kinds += 1
            if kinds >= neighbours:
                break
        return options

    def _harmless(self, kind: int, rows: IntArray) -> NDArray[np.bool_]:
        """For each value, whether a kind is none the worse when one who has it leaves."""
        after = rows - np.eye(len(rows), dtype=np.int64)
        same = np.full(len(rows), kind)
        before = self.stock.excess(rows[None], same[:1])
        found: NDArray[np.bool_] = self.stock.excess(after, same) <= before
        return found

    def _pressure(self, options: list[Pair], taken: dict[int, IntArray]) -> FloatArray:
        """How much more stands in the way of a kind when one of it leaves; up to 1."""
        kinds = np.array([s for s, _ in options])
        before = self.stock.table[kinds].copy()
        for kind, rows in taken.items():
            before[kinds == kind] -= rows
        after = before.copy()
        after[np.arange(len(options)), [x for _, x in options]] -= 1
        change = self.stock.excess(after, kinds) - self.stock.excess(before, kinds)
        found: FloatArray = np.clip(change / self.stock.k, -1.0, 1.0)
        return found

    def _neighbours(self, kind: int) -> tuple[IntArray, FloatArray]:
        if kind not in self._near:
            distance = self.problem.distances(kind)
            distance[kind] = 0.0
            order = np.lexsort((np.arange(len(distance)) != kind, distance))
            if len(self._near) > 2000:
                self._near.clear()
            self._near[kind] = (order, distance)
        return self._near[kind]


def _taken(pairs: list[Pair] | tuple[Pair, ...], n_values: int) -> dict[int, IntArray]:
    """By kind, how many of each value."""
    taken: dict[int, IntArray] = {}
    for kind, value in pairs:
        taken.setdefault(kind, np.zeros(n_values, dtype=np.int64))[value] += 1
    return taken


def carried_out(problem: ArtProblem, recipes: list[Recipe], people: IntArray) -> list[IntArray]:
    """Choose from some people those of each recipe: of each kind and value evenly along the curve.

    So the groups of a recipe lie one after another along it, and hold people who are near.
    """
    keys = (problem.kinds * problem.n_values + problem.values)[people]
    place = np.lexsort((problem.curve[people], keys))
    keys, order = keys[place], people[place]
    starts = np.searchsorted(keys, np.arange(problem.n_kinds * problem.n_values + 1))
    free: dict[int, IntArray] = {}
    groups: list[IntArray] = []
    for recipe in recipes:
        columns = []
        for (kind, value), times in Counter(recipe.pairs).items():
            key = kind * problem.n_values + value
            mine = free.get(key, order[starts[key] : starts[key + 1]])
            wanted = times * recipe.times
            at = (np.arange(wanted) * len(mine)) // wanted
            free[key] = np.delete(mine, at)
            columns.append(mine[at].reshape(recipe.times, times))
        groups += list(np.concatenate(columns, axis=1))
    return groups


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
