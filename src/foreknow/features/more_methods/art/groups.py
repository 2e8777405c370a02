"""Groups of one profile, small and of near people; and large ones that are alike.

Within one profile everybody's posterior is c/N whatever the priors, so only sizes and values
matter; what is left to choose serves utility.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.features.more_methods.art.exact_check import safe_lists
from foreknow.features.more_methods.art.guesses import guess_of_groups, guess_of_one
from foreknow.features.more_methods.art.problem import ArtProblem

# ---- groups of one profile -----------------------------------------------------------------

# Blocks of at most so many smallest groups are not divided.
_FEW = 6
# Blocks of up to so many people are searched for the nearest; larger ones go along a curve.
_NEAREST = 160
# Cells of blocks by people, or by values, that are worked on at once.
_AT_ONCE = 1 << 17


def uniform_groups(
    problem: ArtProblem, people: IntArray, random: np.random.Generator
) -> list[IntArray]:
    """Divide `people` into groups as small as possible, where each profile is safe as one group.

    Returned are the members of each group. A profile is a kind of people whom no adversary can tell
    apart. Blocks (parts of one profile) of about the same number of people are handled at once.
    """
    blocks = sorted(_blocks(problem, people), key=len)
    lengths = np.array([len(block) for block in blocks])
    cells_so_far = np.cumsum(np.maximum(lengths, problem.n_values))
    n_exactly = int(np.searchsorted(lengths, _NEAREST, side="right"))
    groups: list[IntArray] = []
    first = 0
    while first < len(blocks):
        # Blocks become rows of one table, as long as the longest. So take as many blocks as fit
        # into memory, none more than twice as long as the first.
        room = cells_so_far[first] - max(lengths[first], problem.n_values) + _AT_ONCE
        ends = (
            np.searchsorted(cells_so_far, room, side="right"),
            np.searchsorted(lengths, 2 * lengths[first], side="right"),
        )
        end = max(int(min(ends)), first + 1)
        # Short blocks are searched for near people, long ones are not: never both together.
        end = min(end, n_exactly) if first < n_exactly else end
        groups += _portions(problem, blocks[first:end], random)
        first = end
    return groups


def _blocks(problem: ArtProblem, people: IntArray) -> list[IntArray]:
    """Divide people into blocks of one profile, as small as can still be grouped by themselves.

    Blocks are halved at the median of a column while both halves work. The people of each block are
    in the order of a curve through the quasi-identifiers, in which neighbours are alike.
    """
    if not len(people):
        return []
    order = people[np.argsort(problem.profiles[people], kind="stable")]
    waiting = np.split(order, np.flatnonzero(np.diff(problem.profiles[order])) + 1)
    blocks: list[IntArray] = []
    while waiting:
        to_halve, waiting = waiting, []
        for block in to_halve:
            halves = _halves(problem, block)
            if halves is None:  # it cannot be halved: a finished block
                blocks.append(block)
            else:
                waiting += halves
    return [block[np.argsort(problem.curve[block])] for block in blocks]


def _halves(problem: ArtProblem, people: IntArray) -> list[IntArray] | None:
    """Halve a block of people at the median of its widest quasi-identifier for which both work.

    None if the block is small, or if for no column both halves can be grouped by themselves.
    """
    n = len(people)
    if n <= _FEW * problem.least:
        return None
    positions, values = problem.places[people], problem.values[people]
    profile = problem.profiles[people[:1]]
    spans = positions.max(axis=0) - positions.min(axis=0)
    counts = np.bincount(values, minlength=problem.n_values)
    for a in np.argsort(-spans, kind="stable").tolist():
        if not spans[a] > 0:
            break
        order = np.argsort(positions[:, a], kind="stable")
        # People with equal places stay together: cut between different ones, near the middle.
        sorted_places = positions[order, a]
        cuts = np.flatnonzero(sorted_places[1:] != sorted_places[:-1]) + 1
        cut = int(cuts[np.argmin(np.abs(2 * cuts - n))])
        below = np.bincount(values[order[:cut]], minlength=problem.n_values)
        rows = np.stack([below, counts - below])
        # A half works if none of its values is too frequent in it.
        if not problem.deficit(rows, profile).any():
            return [people[order[:cut]], people[order[cut:]]]
    return None


class _Bounds(NamedTuple):
    """The smallest portion of each block: how many people it has, and how often each value.

    `size` has the shape (blocks,), and is 0 for a block without a portion; `low` and `high` have
    the shape (blocks, values).
    """

    size: IntArray
    low: IntArray
    high: IntArray

    def take(self, blocks: IntArray) -> _Bounds:
        """The bounds of some blocks."""
        return _Bounds(*(array[blocks] for array in self))


def _portions(
    problem: ArtProblem, blocks: list[IntArray], random: np.random.Generator
) -> list[IntArray]:
    """Divide blocks of about one size into portions, the smallest that leave the rest safe.

    A block is people of one profile; a portion becomes a group. Returned are the members of each
    portion, and what is left of each block as one more.
    """
    lengths = np.array([len(block) for block in blocks])
    people, inside = _padded(blocks, lengths)
    values = problem.values[people]
    profiles = problem.profiles[people[:, 0]]
    # How many people of each block have each value, shape (blocks, values).
    owner = np.arange(len(blocks))[:, None] * problem.n_values
    counts = np.bincount((owner + values)[inside], minlength=len(blocks) * problem.n_values)
    counts = counts.reshape(len(blocks), problem.n_values).astype(np.int64)
    bounds = _smallest(problem, profiles, counts, np.ones(len(blocks), dtype=np.int64))
    # In short blocks a portion is people near each other; in long ones, neighbours along a curve.
    search: _Nearest | _Queues
    if lengths[-1] <= _NEAREST and problem.places.shape[1]:
        search = _Nearest(problem, people, inside, random)
    else:
        search = _Queues(values, inside, problem.n_values)
    portions: list[IntArray] = []
    free = inside.copy()
    # Blocks from which another portion can be taken.
    going = np.flatnonzero(bounds.size)
    bounds = bounds.take(going)
    while len(going):
        # Portions of one size make one rectangular array.
        for size in sorted(set(bounds.size.tolist())):
            of_size = np.flatnonzero(bounds.size == size)
            rows = going[of_size]
            chosen = search.take(rows, bounds.take(of_size), free)
            places = rows[:, None] * people.shape[1] + chosen
            free.ravel()[places] = False
            portions += list(people.take(places))
            # The chosen people are gone: take them off the counts of their block.
            cells = np.arange(len(rows))[:, None] * problem.n_values + values.take(places)
            taken_counts = np.bincount(cells.ravel(), minlength=len(rows) * problem.n_values)
            counts[rows] -= taken_counts.reshape(len(rows), -1)
        # As people leave, the smallest size changes little: look from half of it upwards.
        bounds = _smallest(problem, profiles[going], counts[going], np.maximum(1, bounds.size // 2))
        unfinished = np.flatnonzero(bounds.size)
        going, bounds = going[unfinished], bounds.take(unfinished)
    return portions + [block[is_free] for block, is_free in zip(people, free, strict=True)]


def _padded(blocks: list[IntArray], lengths: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Blocks as rows of one table, filled up with zeros; and where a person stands in it."""
    inside = np.arange(lengths.max()) < lengths[:, None]
    people = np.zeros(inside.shape, dtype=np.int64)
    people[inside] = np.concatenate(blocks)
    return people, inside


def _smallest(
    problem: ArtProblem, profiles: IntArray, counts: IntArray, first: IntArray
) -> _Bounds:
    """The smallest portion of each block that leaves a safe rest: its size, and bounds by value.

    A portion has at least `first` people (one number for each block). `counts`, of shape (blocks,
    values), is how many people of a block have each value. For a block without such a portion, the
    size is 0.
    """
    total = counts.sum(axis=1)
    if problem.unique:
        # Values differ in each group. So many groups can be made; a value that has as many people
        # must be in each of them.
        due = total // problem.least
        low = (counts == due[:, None]).astype(np.int64)
        # With less than two groups left, the block stays as it is.
        size = np.where(due > 1, np.maximum(problem.least, low.sum(axis=1)), 0)
        return _Bounds(size, low, np.minimum(counts, 1))
    portions = _Bounds(np.zeros_like(total), np.zeros_like(counts), np.zeros_like(counts))
    waiting, first, tried = np.arange(len(total)), first.copy(), 4
    while len(waiting):
        # Try several sizes of each block at once; arrays have the shape (blocks, sizes, values).
        sizes = first[:, None] + np.arange(tried)
        sizes, available = sizes[:, :, None], counts[waiting][:, None]
        waiting_profiles = profiles[waiting][:, None]
        remaining_people = total[waiting][:, None, None] - sizes
        # Of a value, the portion may hold only so many, and must take those who are too many for
        # the rest.
        high = np.minimum(problem.most(waiting_profiles, sizes), available)
        low = np.maximum(available - problem.most(waiting_profiles, remaining_people), 0)
        fits = (low <= high).all(axis=2) & (remaining_people[:, :, 0] > 0)
        fits &= (low.sum(axis=2) <= sizes[:, :, 0]) & (sizes[:, :, 0] <= high.sum(axis=2))
        # The first size that fits is the smallest.
        first_fit, has_fit = np.argmax(fits, axis=1), fits.any(axis=1)
        positions = np.flatnonzero(has_fit)
        for portion, available in zip(portions, (sizes[:, :, 0], low, high), strict=True):
            portion[waiting[positions]] = available[positions, first_fit[positions]]
        first = first + tried
        unfinished = np.flatnonzero(~has_fit & (first < total[waiting]))
        waiting, first = waiting[unfinished], first[unfinished]
        # Sizes that fit are usually small; if not, try twice as many, as memory allows.
        tried = min(2 * tried, max(_AT_ONCE // max(counts[waiting].size, 1), 1))
    return portions


class _Nearest:
    """Portions of somebody at the edge of a block, and of those who make them least wide."""

    def __init__(
        self,
        problem: ArtProblem,
        people: IntArray,
        inside: NDArray[np.bool_],
        random: np.random.Generator,
    ) -> None:
        """Prepare a search in blocks, a row of `people` each, which `inside` says where to read.

        A person's edge is the distance from the mean of the block, with a little randomness for
        ties. Columns with ranges and columns of names are kept apart, since they cost differently.
        """
        positions = problem.places.T[:, people]
        means = (positions * inside).sum(axis=2) / inside.sum(axis=1)
        self._edge = np.abs(positions - means[:, :, None]).sum(axis=0)
        self._edge[inside] += 1e-9 * random.random(int(inside.sum()))
        nominal = problem.steps > 0
        self._ranged, self._named = positions[~nominal], positions[nominal]
        self._worth = problem.steps[nominal]
        self._values, self._unique = problem.values[people], problem.unique

    def take(self, rows: IntArray, bounds: _Bounds, is_free: NDArray[np.bool_]) -> IntArray:
        """Choose a portion of each of the blocks `rows`: people near each other, within the bounds.

        All portions have the size of the first. Row i of the result has the positions of the chosen
        people in their block. A portion begins with the person farthest from the block's mean. Then
        people are added one by one: each time the person who widens the ranges of the portion
        least.
        """
        # `low` and `high` count down: who must still come, and who may still come, by value.
        block, size = np.arange(len(rows)), int(bounds.size[0])
        ranged, nominal = self._ranged[:, rows], self._named[:, rows]
        values, edge = self._values[rows], self._edge[rows]
        low, high = bounds.low.copy(), bounds.high.copy()
        n_due = low.sum(axis=1)
        is_eligible = is_free[rows] & np.take_along_axis(high > 0, values, axis=1)
        # True for blocks in which only values that are still due may be chosen from now on.
        forced = (n_due >= size) | ((n_due > 0) & self._unique)
        chosen = np.empty((len(rows), size), dtype=np.int64)
        cost, new_name = -edge, np.full(edge.shape, np.inf)
        # The range of each portion in each column; empty at first.
        lowest, highest = (np.full((len(ranged), len(rows)), end) for end in (np.inf, -np.inf))
        for step in range(size):
            allowed = is_eligible
            if forced.any():
                due = np.take_along_axis(low > 0, values, axis=1)
                allowed = is_eligible & (due | ~forced[:, None])
            nearest = np.where(allowed, cost, np.inf).argmin(axis=1)
            chosen[:, step] = nearest
            is_eligible[block, nearest] = False
            value = values[block, nearest]
            n_due -= low[block, value] > 0
            low[block, value] = np.maximum(low[block, value] - 1, 0)
            high[block, value] -= 1
            # Once a value has reached its upper bound, its other holders are out.
            is_eligible &= (high[block, value] > 0)[:, None] | (values != value[:, None])
            forced = n_due >= size - step - 1
            if step == size - 1:
                break
            position = ranged[:, block, nearest]
            # A person's cost: by how much each range would grow, and a price for each new name.
            lowest, highest = np.minimum(lowest, position), np.maximum(highest, position)
            cost = np.zeros(edge.shape)
            for column, start, end in zip(ranged, lowest, highest, strict=True):
                # How far the person lies beyond the lower or the upper end; 0 within the range.
                cost += np.maximum(np.maximum(start[:, None] - column, column - end[:, None]), 0)
            if len(self._worth):
                # A name costs nothing if somebody in the portion has it: least over all chosen so
                # far.
                differs = nominal != nominal[:, block, nearest][:, :, None]
                new_name = np.minimum(new_name, np.tensordot(self._worth, differs, axes=1))
                cost += new_name
        return chosen


class _Queues:
    """People of blocks by value, along the curve, who are taken from the front."""

    def __init__(self, values: IntArray, inside: NDArray[np.bool_], n_values: int) -> None:
        """List the people of each block by value, in their order along the curve.

        Blocks are rows of `values`, which `inside` says where to read.
        """
        self._people: list[list[list[int]]] = []
        for row_values, is_member in zip(values, inside, strict=True):
            block_values = row_values[is_member]
            order = np.argsort(block_values, kind="stable")
            ends = np.searchsorted(block_values[order], np.arange(1, n_values))
            # For each value, the positions of its holders in the block.
            self._people.append([holders.tolist() for holders in np.split(order, ends)])
        self._at = [[0] * n_values for _ in values]  # how many holders were taken before

    def take(self, rows: IntArray, bounds: _Bounds, _: NDArray[np.bool_]) -> IntArray:
        """One portion of each block, all of one size, by the position of its people."""
        bounds_of_rows = zip(rows.tolist(), *bounds, strict=True)
        return np.array([self._next(*row_and_bounds) for row_and_bounds in bounds_of_rows])

    def _next(self, row: int, size: int, lows: IntArray, highs: IntArray) -> list[int]:
        """Take `size` people of one block in their order along the curve, within bounds by value.

        Returned are their positions in the block. For each value at least ``lows[value]`` of its
        holders are taken, then others, up to ``highs[value]``. Nobody is taken twice.
        """
        chosen: list[int] = []
        optional: list[tuple[int, int]] = []
        low, high, starts = lows.tolist(), highs.tolist(), self._at[row]
        for value in np.flatnonzero(highs).tolist():
            minimum, maximum = low[value], high[value]
            holders, start = self._people[row][value], starts[value]
            chosen += holders[start : start + minimum]
            starts[value] += minimum
            # Holders beyond the minimum compete for the places that are left, in the curve's order.
            optional += [
                (person, value)
                for person in holders[start + minimum : start + min(maximum, minimum + size)]
            ]
        for person, value in sorted(optional)[: size - len(chosen)]:
            chosen.append(person)
            starts[value] += 1
        return chosen


# ---- large groups that are alike -----------------------------------------------------------

# The largest parts whose posteriors are worked out.
LARGEST = 700
# How far above its limit a posterior is guessed to be that is not worth working out.
FAR = 1.1
# How near to its limit a posterior of many may come, to be divided at all.
_DIVISIBLE = 0.99
# Parts that are judged before all others, the worst of so many; and the share that may be too few.
_SAMPLE, _GUESSED, _COARSE = 8, 512, 16


class _Evenly:
    """Divides people into parts of one size, as alike in profiles and values as can be."""

    def __init__(self, problem: ArtProblem, people: IntArray) -> None:
        """Sort `people` by cell, and along the curve within.

        A cell is the people of one value and one profile (whom no adversary can tell apart).
        """
        values, profiles, curve = (
            of_people[people] for of_people in (problem.values, problem.profiles, problem.curve)
        )
        # A cell is the people of one value and profile. Sort by cell, and by the curve within, so
        # that each part gets people from everywhere along it.
        self._people = people[np.lexsort((curve, profiles, values))]
        starts = np.flatnonzero(np.diff(problem.keys[self._people], prepend=-1))
        self._sizes = np.diff(starts, append=len(people))  # (cells,)

    def parts(self, n_parts: int) -> list[IntArray]:
        """The people of each part, given out in turn: parts differ by at most one of a cell."""
        part_of_cells = []
        turn = 0  # the part that is the next to get one person more of a cell than others
        for size in self._sizes.tolist():
            per_part, remainder = divmod(size, n_parts)
            sizes = np.full(n_parts, per_part)
            # The remainder of one cell begins where that of the cell before ended.
            sizes[(turn + np.arange(remainder)) % n_parts] += 1
            turn += remainder
            part_of_cells.append(np.repeat(np.arange(n_parts), sizes))
        part = np.concatenate(part_of_cells)  # (people,), in the order of `_people`
        by_part = np.argsort(part, kind="stable")
        return np.split(self._people[by_part], np.cumsum(np.bincount(part))[:-1])


def _hopeful(problem: ArtProblem, people_of_parts: list[IntArray]) -> bool:
    """True if no guess is far above a limit, and the worst few parts by guesses are safe.

    It says little about the other parts: those are judged later, if at all.
    """
    guesses = guess_of_groups(problem, people_of_parts)  # (parts,)
    worst = np.argsort(-guesses, kind="stable")[:_SAMPLE].tolist()
    return bool(
        guesses.max() < FAR
        and safe_lists(problem, [people_of_parts[number] for number in worst]).all()
    )


def like_parts(problem: ArtProblem, people: IntArray) -> list[IntArray] | None:
    """Divide people into as many safe parts as the search finds; None if no division is safe.

    Each part has about the same share of people of every profile and value.
    """
    # Parts above LARGEST people are not judged exactly, so there must be so many parts.
    fewest = -(-len(people) // LARGEST)
    if fewest > 1 and guess_of_one(problem, problem.counted(people)) > _DIVISIBLE:
        return None
    divided = _Evenly(problem, people).parts
    # Halve a number of parts until some of them are hopeful: small parts are judged faster.
    high = max(len(people) // problem.least, fewest) + 1
    low = max(high // 2, fewest)
    while low > fewest and not _hopeful(problem, divided(low)[:_SAMPLE]):
        high, low = low, max(low // 2, fewest)
    # `low` parts are hopeful and `high` are not: halve the range, until it is small enough.
    while high - low > 1 + low // _COARSE:
        middle = (low + high) // 2
        may_work = _hopeful(problem, divided(middle)[:_SAMPLE])
        low, high = (middle, high) if may_work else (low, middle)
    # From there downwards, the first number of parts that are all safe.
    while low >= fewest:
        parts = divided(low)
        likely = low == fewest or _hopeful(problem, parts[:_GUESSED])
        if likely and safe_lists(problem, parts).all():
            return parts
        low -= 1 + low // _COARSE
    return None
