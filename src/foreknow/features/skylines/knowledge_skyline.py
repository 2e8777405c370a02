"""Knowledge skylines: the most facts that a release withstands, for each sensitive value.

From "Privacy Skyline: Privacy with Multidimensional Adversarial Knowledge" (Chen, LeFevre,
Ramakrishnan), section 4.3. Instead of appendix A7's search, which reads the release again for each
point it tries, everything is worked out from the undominated profiles of each l.

A point (l, k, m) is an amount of facts: l other values that the target is known not to have, k
other people whose values are known, and m relatives of whom one has the value if the target has.
The more facts, the higher the disclosure. Per l, what is withstood is a staircase in k and m,
written as an array: for each m from 0, the largest k.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from foreknow.adversaries.adversary import HasCounts
from foreknow.adversaries.facts import fronts
from foreknow.adversaries.facts.minima import exact_minimum, theorem2_terms
from foreknow.adversaries.facts.profiles import (
    Profiles,
    formulas_of,
)
from foreknow.adversaries.facts.windows import worst_window
from foreknow.adversaries.release_counts import asked_of
from foreknow.data.arrays import BoolArray, FloatArray, IntArray, order_of, ranges
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Label
from foreknow.data.labels.windows import Width, Windows
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.numbers import CLOSE, Number, as_threshold

# How often the worst of what is left is looked for, to drop what is not as bad.
_ROUNDS = 64


# ---- values that are alike ----------------------------------------------------------------------

# Cells of a table of what each kind of cell has to spare at each l.
_MOST_SPARE = 1 << 24


@dataclass(frozen=True, eq=False)
class Alike:
    """The values that occur, by class: a class has the same disclosure at each (l, k, m)."""

    codes: IntArray  # of the values that occur, ascending
    number: IntArray  # the class of each of them
    examples: IntArray  # the code of the first value of each class, ascending
    cells: IntArray  # the undominated (group, value) cells of the examples, class after class
    offsets: IntArray  # where the cells of each class begin in `cells`, and the end

    @classmethod
    def of(cls, counts: GroupCounts) -> Alike:
        """Put values with the same kinds of cells into a class; dominated cells do not count.

        A cell is a value in a group. Its kind says what a disclosure depends on: the people of the
        group, those with the value, and how frequent other values are there.
        """
        kind = formulas_of(counts).kinds(counts)  # of each cell
        # Cells by value, and of each value by kind.
        order = np.lexsort((kind, counts.codes))
        codes, kinds = counts.codes[order], kind[order]
        # Of the cells of one value, the first of each kind stands for all of that kind.
        is_first = np.append(True, (codes[1:] != codes[:-1]) | (kinds[1:] != kinds[:-1]))
        is_first = is_first[: len(order)]  # nothing if there are no cells
        # A cell cannot be worst if another cell of the value is as bad in every respect.
        cells = _undominated_cells(counts, order[is_first], kind)
        codes, kinds = counts.codes[cells], kind[cells]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        # A value's cells follow each other: the next value begins where they end.
        ends = np.append(starts, len(cells))[1:]
        class_numbers: dict[bytes, int] = {}  # by the kinds of a value's cells
        class_of_value = np.empty(len(starts), dtype=np.int64)
        for position, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            kinds_of_value = kinds[start:end].tobytes()
            class_of_value[position] = class_numbers.setdefault(kinds_of_value, len(class_numbers))
        # The first value of each class stands for the class.
        first_value = np.unique(class_of_value, return_index=True)[1]
        positions, offsets = ranges(starts[first_value], ends[first_value])
        value_codes = codes[starts]
        return cls(
            codes=value_codes,
            number=class_of_value,
            examples=value_codes[first_value],
            cells=cells[positions],
            offsets=offsets,
        )

    def fronts(self, counts: GroupCounts, l: int) -> Iterator[Profiles]:
        """The undominated profiles of each class, in blocks, by its example."""
        return fronts.fronts_of(counts, l, self.cells, self.offsets)

    def surest(self, counts: GroupCounts, l: int, classes: IntArray) -> Iterator[Profiles]:
        """The profiles of classes at which an adversary who only rules out l values is surest.

        A profile is what a disclosure in a (group, value) cell depends on. Profiles that are nearly
        as bad by floats are kept, too, so that fractions can decide later.
        """
        positions, offsets = ranges(self.offsets[classes], self.offsets[classes + 1])
        for profiles in fronts.blocks_of(counts, l, self.cells[positions], offsets):
            # Profiles are grouped by value; t(0) has the odds without known or linked people.
            profiles = profiles.by_value()
            odds, starts = profiles.t(0), profiles.starts
            lengths = np.diff(starts, append=len(profiles))
            lowest_odds = np.repeat(np.minimum.reduceat(odds, starts), lengths)
            yield profiles.take(odds <= lowest_odds * (1 + CLOSE))


@dataclass(frozen=True, eq=False)
class _CellKinds:
    """The kinds of cells (values of groups): all cells of a kind have the same disclosures."""

    people: IntArray  # (kinds,): how many the group has
    holders: IntArray  # (kinds,): how many of them have the value
    n_spare: IntArray  # (kinds, values of l): other people who remain if l values are ruled out

    @classmethod
    def of(cls, counts: GroupCounts, kind: IntArray) -> _CellKinds | None:
        """The kinds, given the kind of every cell; None if they cannot be compared.

        Some formulas do not follow the order of `dominated`, and the table must fit into memory.
        """
        first_cell = np.unique(kind, return_index=True)[1]  # a cell of each kind
        n_steps, formulas = _most_l(counts) + 1, formulas_of(counts)
        if not formulas.ordered or not 0 < len(first_cell) * n_steps <= _MOST_SPARE:
            return None
        group, holders = counts.cell_groups[first_cell], counts.counts[first_cell]
        people = counts.sizes[group]
        n_spare = np.empty((len(first_cell), n_steps), dtype=np.int64)
        for l in range(n_steps):
            excluded = formulas.excluded(counts, l, group, holders)
            n_spare[:, l] = formulas.spare(people, holders, excluded)
        return cls(people, holders, n_spare)

    @property
    def scores(self) -> FloatArray:
        """A number for each kind: a low one is dominated by few kinds, and dominates many."""
        spare = self.n_spare[:, 0]
        scores: FloatArray = (spare - spare.min(initial=0) + 1.0) * self.people / self.holders
        return scores

    def dominated(self, kinds: IntArray, pivots: IntArray) -> BoolArray:
        """True for each kind that cannot be worse than its pivot, a kind, whatever facts are known.

        The pivot has no more people, no fewer holders, and no more people to spare at any l.
        """
        is_undominated = (self.people[kinds] < self.people[pivots]) | (
            self.holders[kinds] > self.holders[pivots]
        )
        undecided = np.flatnonzero(~is_undominated)
        n_chunks = len(undecided) * self.n_spare.shape[1] // fronts.BLOCK + 1
        for chunk in np.array_split(undecided, n_chunks):
            has_less = self.n_spare[kinds[chunk]] < self.n_spare[pivots[chunk]]
            is_undominated[chunk] = has_less.any(axis=1)
        return ~is_undominated


def _undominated_cells(counts: GroupCounts, cells: IntArray, kind: IntArray) -> IntArray:
    """The cells (values of groups) without those that cannot be worst, whatever facts are known.

    `cells` are in order of value; `kind` is the kind of every cell of the release. Each round
    compares the cells of a value with its worst one, the pivot.
    """
    kinds = _CellKinds.of(counts, kind)
    if kinds is None:
        return cells
    scores = kinds.scores
    remaining_cells, pivot_cells = cells, list[IntArray]()
    # A few rounds drop nearly all; what is left over costs time, but is never wrong.
    for _ in range(_ROUNDS):
        starts = np.flatnonzero(np.diff(counts.codes[remaining_cells], prepend=-1))
        if not len(starts):
            break
        lengths = np.diff(starts, append=len(remaining_cells))
        remaining_kinds = kind[remaining_cells]
        # The pivot of each value: its first cell with the lowest score.
        lowest_score = np.repeat(np.minimum.reduceat(scores[remaining_kinds], starts), lengths)
        lowest = np.flatnonzero(scores[remaining_kinds] == lowest_score)
        value_of_cell = np.repeat(np.arange(len(starts)), lengths)
        pivot_of_value = lowest[np.unique(value_of_cell[lowest], return_index=True)[1]]
        pivot_cells.append(remaining_cells[pivot_of_value])
        # Many cells have the same kind and pivot: a pair of kinds is compared once.
        pairs = np.stack((remaining_kinds, remaining_kinds[pivot_of_value][value_of_cell]))
        (candidates, pivots), pair_of_cell = np.unique(pairs, axis=1, return_inverse=True)
        is_undominated = ~kinds.dominated(candidates, pivots)[pair_of_cell.ravel()]
        # Pivots are kept apart, so that they are not compared with themselves again.
        is_undominated[pivot_of_value] = False
        remaining_cells = remaining_cells[is_undominated]
    # In the order of values, and of kinds within a value, as before.
    undominated = np.concatenate((remaining_cells, *pivot_cells))
    return undominated[np.lexsort((kind[undominated], counts.codes[undominated]))]


def worst_values(candidates: Profiles) -> Profiles:
    """Candidates without most values that are dominated: another one is as bad at each k and m.

    Each round takes the value with the lowest score as pivot, and keeps other values only if some
    profile of theirs is worse than every profile of the pivot somewhere.
    """
    remaining, pivots = candidates, list[Profiles]()
    for _ in range(_ROUNDS):
        if not len(remaining):
            break
        pivot = remaining.value[np.argmin(remaining.score)]
        is_pivot = remaining.value == pivot
        is_undominated = np.ones(len(remaining), dtype=bool)
        # A profile has to be better than each of the pivot's to count.
        for cell in np.flatnonzero(is_pivot).tolist():
            is_undominated &= remaining.better_than(remaining.take(np.full(len(remaining), cell)))
        is_undominated[is_pivot] = False
        pivots.append(remaining.take(is_pivot))
        remaining = remaining.take(np.isin(remaining.value, remaining.value[is_undominated]))
    return remaining.join(*pivots).by_value()


Skyline: TypeAlias = list[tuple[int, int, int]]

# So few skylines are printed as a dictionary.
_MOST_PRINTED = 100
# Of as many values, the fronts are remembered for further questions.
_FEW = 1024
# Positions and profiles worked on at once.
_BLOCK = 1 << 17


def knowledge_skyline(
    release: HasCounts,
    value: Label | None = None,
    confidence: Number | None = None,
    *,
    any_of: Iterable[Label] | None = None,
    within: Any = None,
) -> Skyline:
    """Find the most facts about a value that a release withstands, or about any window of values.

    Parameters
    ----------
    release : Release or GroupCounts
    value : label
        A sensitive value that occurs in some group; not needed with `any_of` or `within`.
    confidence : number
        A number in (0, 1]. The release withstands (l, k, m) if the breach probability of
        ``Facts(l, k, m)`` is strictly below it.
    any_of : iterable of labels, optional
        A set of values in place of `value`: the breach is that a person has any of them.
    within : number or str, optional
        The width of windows in place of `value`, such as 5000 or "10%", for numbers and dates: the
        breach is that a person's value lies in some window of this width. Each point that is tried
        takes a pass over the release.

    Returns
    -------
    list of (l, k, m)
        The points in sorted order. The release withstands each of them, and no other point with at
        least as much of each. Empty if it does not even withstand an adversary without facts. l is
        at most the number of other values that occur in the release: more add nothing.

    Raises
    ------
    DataError
        If no group contains the value.
    InputError
        If there is no confidence, or not exactly one of value, any_of and within.

    Notes
    -----
    After the profiles of the cells are found, it takes O(L M p log K) for L values of l, K and M
    the most that is withstood of k and of m alone, and p profiles; p is small.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["AIDS", "Flu", "Flu", "Cold", "Cold", "Cancer"]])
    >>> knowledge_skyline(counts, "AIDS", "3/4")
    [(0, 2, 2), (0, 3, 1), (0, 4, 0), (1, 0, 4), (1, 1, 3), (1, 2, 1), (2, 0, 3)]
    >>> incomes = GroupCounts.from_bags([[20, 31, 32, 48, 55, 70, 90]])
    >>> knowledge_skyline(incomes, confidence="1/2", within="10%")
    [(0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0)]
    """
    counts = asked_of("knowledge_skyline", release)
    if confidence is None or [value, any_of, within].count(None) != 2:
        raise InputError(
            "knowledge_skyline: give one of value, any_of and within, and a confidence"
        )
    if any_of is not None:
        counts, value = counts.any_of(any_of)
    limit = as_threshold(confidence)
    if within is not None:
        return near_skyline(Windows.of(counts, Width.of(within)), limit)
    code = counts.code(value)
    if not counts.totals[code]:
        raise DataError(f"no group contains the sensitive value {value!r}")
    return _skylines(counts, np.array([code]), limit)[0]


def near_skyline(windows: Windows, limit: Fraction) -> Skyline:
    """The skyline of all windows of values (ranges of a fixed width, each one secret).

    Points (l, k, m): l values that the target is known not to have, k people whose values are
    known, m people linked to the target. For each l it is a staircase in k and m, which begins at
    the largest k. `limit` is what disclosures must stay below.
    """
    n_people = windows.counts.n_people

    @cache
    def withstands(l: int, k: int, m: int) -> bool:
        _, probability = worst_window(windows, (l, k, m))
        return probability < limit

    points: Skyline = []
    for l in range(windows.counts.n_values):
        if not withstands(l, 0, 0):
            break
        k, m, staircase = n_people, 0, list[tuple[int, int, int]]()
        while withstands(l, 0, m):
            # The largest k at this m, and then the largest m at this k: a corner.
            k = _last_that_holds(lambda k, l=l, m=m: withstands(l, k, m), 0, k)  # type: ignore[misc]
            m = _last_that_holds(partial(withstands, l, k), m, n_people)
            staircase.append((l, k, m))
            m += 1
        # A point of a smaller l counts no more if this l withstands as much of k and m.
        points = [point for point in points if not _is_covered(point, staircase)]
        points += staircase
    return sorted(points)


def _is_covered(point: tuple[int, int, int], staircase: Skyline) -> bool:
    """True if some point of a staircase has at least as much k and m as the point."""
    _, point_k, point_m = point
    return any(point_k <= k and point_m <= m for _, k, m in staircase)


def _last_that_holds(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The last number up to `high` for which a condition holds.

    It holds at `low`, and at no number beyond one where it fails. Steps are doubled until it fails,
    then the range of the last step is halved.
    """
    step = 1
    while low + step <= high and holds(low + step):
        low, step = low + step, 2 * step
    beyond = range(low + 1, min(high, low + step - 1) + 1)
    return low + bisect_left(beyond, True, key=lambda amount: not holds(amount))


def knowledge_skylines(release: HasCounts, confidence: Number) -> Skylines:
    """Find the knowledge skyline of every sensitive value that occurs in a release.

    Parameters
    ----------
    release : Release or GroupCounts
    confidence : number
        See `knowledge_skyline`.

    Returns
    -------
    Skylines
        A mapping of each value to its list of points, which is computed on access. `.classes` has
        the values by class, `.of_all` the points that all values withstand together.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["AIDS", "Flu", "Flu", "Cold"], ["Flu", "Cold", "Cold"]])
    >>> skylines = knowledge_skylines(counts, 0.75)
    >>> skylines["Cold"], skylines["AIDS"], skylines.of_all
    ([(0, 0, 0)], [(0, 0, 2), (0, 1, 1), (0, 2, 0), (1, 0, 1)], [(0, 0, 0)])
    """
    return Skylines(asked_of("knowledge_skylines", release), as_threshold(confidence))


class MostAlone(NamedTuple):
    """The most facts of each kind that are withstood without facts of the other kinds."""

    l: int
    k: int
    m: int


@dataclass(frozen=True)
class ValueClass:
    """Values that occur alike in the groups that matter: they have one skyline."""

    example: Label
    n_values: int
    most: MostAlone | None  # None if not even an adversary without facts is withstood


class Skylines(Mapping[Label, Skyline]):
    """The skylines of all values of a release, found when they are asked for.

    Attributes
    ----------
    classes : tuple of ValueClass
        The values by class, those that withstand least first.
    of_all : list of (l, k, m)
        The skyline of all values together: what is withstood whichever value is asked about.
    """

    def __init__(self, counts: GroupCounts, limit: Fraction) -> None:
        self._counts, self._limit = counts, limit
        self._alike = Alike.of(counts)
        self._known: dict[int, Skyline] = {}

    def __getitem__(self, value: Label) -> Skyline:
        """The skyline of a value; `KeyError` if it does not occur.

        Values of a class share a skyline. With few classes, all of them are worked out at once,
        since that costs little more; with many, only the class that is asked for.
        """
        cached_skylines = self._known
        number = self._number(value)
        if number not in cached_skylines:
            examples = self._alike.examples
            numbers = np.arange(len(examples)) if len(examples) <= _FEW else np.array([number])
            if len(cached_skylines) >= _FEW:
                cached_skylines.clear()
            skylines = _skylines(self._counts, examples[numbers], self._limit)
            cached_skylines.update(zip(numbers.tolist(), skylines, strict=True))
        return list(cached_skylines[number])

    def __iter__(self) -> Iterator[Label]:
        return (self._counts.values[code] for code in self._alike.codes.tolist())

    def __len__(self) -> int:
        return len(self._alike.codes)

    def __repr__(self) -> str:
        if len(self) <= _MOST_PRINTED:
            return repr(dict(self))
        return f"Skylines({len(self)} values, {len(self._alike.examples)} classes)"

    def class_of(self, value: Label) -> ValueClass:
        """The class that a value is in."""
        return self._classes[self._number(value)]

    def members(self) -> Iterator[tuple[ValueClass, list[Label]]]:
        """Each class, those that withstand least first, and the values in it."""
        partition, values = self._alike, self._counts.values
        # The values' codes, class after class, are split where the next class begins.
        inside = np.split(partition.codes[order_of(partition.number)], np.cumsum(self._sizes)[:-1])
        for value_class in self.classes:
            codes = inside[self._number(value_class.example)]
            yield value_class, [values[code] for code in codes.tolist()]

    @cached_property
    def classes(self) -> tuple[ValueClass, ...]:
        """The values by class, those that withstand least first."""
        return tuple(sorted(self._classes, key=lambda value_class: sum(value_class.most or (-1,))))

    @cached_property
    def of_all(self) -> Skyline:
        """The points that every value withstands, sorted."""
        return _skyline_of_all(self._counts, self._alike, self._limit)

    def _number(self, value: Label) -> int:
        """The class of a value, as a position; `KeyError` if the value does not occur."""
        try:
            code = self._counts.code(value)
        except DataError:
            raise KeyError(value) from None
        position = int(np.searchsorted(self._alike.codes, code))
        if position == len(self) or self._alike.codes[position] != code:
            raise KeyError(value)
        return int(self._alike.number[position])

    @cached_property
    def _classes(self) -> list[ValueClass]:
        """The classes in the order of their numbers, with the most that each withstands."""
        partition = self._alike
        examples = [self._counts.values[code] for code in partition.examples.tolist()]
        most_alone = _most_alone(self._counts, partition, self._limit)
        columns = examples, self._sizes.tolist(), most_alone
        return [
            ValueClass(example, n_values, most)
            for example, n_values, most in zip(*columns, strict=True)
        ]

    @property
    def _sizes(self) -> IntArray:
        """How many values each class has."""
        return np.bincount(self._alike.number, minlength=len(self._alike.examples))


def _most_alone(counts: GroupCounts, partition: Alike, limit: Fraction) -> list[MostAlone | None]:
    """For each class of values, the most l, the most k and the most m that it withstands alone.

    That is: if l values are known not to be the target's, or the values of k people are known, or m
    people are linked to the target. None for a class that does not even withstand an adversary
    without facts.
    """
    n_classes = len(partition.examples)
    if not n_classes:
        return []
    # A probability below the limit means odds against it above (1 - limit) / limit.
    least_odds = (1 - limit) / limit
    most_k_and_m = [
        _StairsOfValues.of(front, least_odds).most_alone()
        for front in partition.fronts(counts, l=0)
    ]
    # l one by one; a class that is unsafe at one l is unsafe at every larger l.
    most_l = np.full(n_classes, -1)
    safe_classes = np.arange(n_classes)
    for l in range(_most_l(counts) + 1):
        if not len(safe_classes):
            break
        is_safe: list[bool] = []
        for front in partition.surest(counts, l, safe_classes):
            slices = _StairsOfValues.of(front, least_odds)
            zeros = np.zeros(len(slices), dtype=np.int64)
            is_safe += slices.safe(np.arange(len(slices)), zeros, zeros).tolist()
        safe_classes = safe_classes[is_safe]
        most_l[safe_classes] = l
    # Safe though all others of their group are ruled out: so they withstand any number of values.
    most_l[safe_classes] = _n_others(counts)
    amounts: list[MostAlone | None] = []
    for l, (k, m) in zip(most_l.tolist(), np.concatenate(most_k_and_m).tolist(), strict=True):
        amounts.append(MostAlone(l, k, m) if l >= 0 else None)
    return amounts


def _skyline_of_all(counts: GroupCounts, partition: Alike, limit: Fraction) -> Skyline:
    """The skyline of all values together: what is withstood whichever value is asked about.

    For each l it is a staircase: for each m, the smallest of the values' largest k.
    """
    if not len(partition.examples):
        return []
    least_odds = (1 - limit) / limit
    stairs = np.empty(0, dtype=np.int64)  # at the l before: for each m, the largest k
    points: Skyline = []
    for l in range(_most_l(counts) + 1):
        # Values that are nowhere worst cannot lower the stairs.
        worst_profiles = list(map(worst_values, partition.fronts(counts, l)))
        slices = _StairsOfValues.of(fronts.joined(worst_profiles), least_odds)
        if l == 0:
            stairs_of_values = slices.stairs()
            n_stairs = min(map(len, stairs_of_values))  # the m that all of them withstand
            stairs = np.min([value_stairs[:n_stairs] for value_stairs in stairs_of_values], axis=0)
        else:
            # More l never allows more k, so the stairs at l - 1 are the bounds.
            lower_stairs = np.min(slices.stairs_within([stairs] * len(slices)), axis=0)
            points += _corners(l - 1, stairs, lower_stairs)
            # Where not even k = 0 is withstood, the stairs end.
            stairs = lower_stairs[lower_stairs >= 0]
        if not len(stairs):
            return points
    # What is withstood at the largest useful l is withstood at every l.
    return points + _corners(_n_others(counts), stairs, np.full(len(stairs), -1))


def _n_others(counts: GroupCounts) -> int:
    """How many values occur beside one: the most that can be known not to be somebody's."""
    return int(np.count_nonzero(counts.totals)) - 1


def _most_l(counts: GroupCounts) -> int:
    """The largest useful l: no group has more other values."""
    return min(_n_others(counts), int(np.diff(counts.offsets).max(initial=0)))


@dataclass(eq=False)
class _Class:
    """Values with the same profiles up to some l, so with the same skyline up to there."""

    # what is withstood at this l: for each m from 0, the largest k, as long as some is
    stairs: IntArray
    before: _Class | None = None  # the class at the l before
    points: Skyline = field(default_factory=list)  # the corners (l, k, m) at the l before

    def skyline(self) -> Skyline:
        """The points (l, k, m) of the skyline at all values of l before this one.

        Each class knows its corners at one l, and the class from which it came.
        """
        skylines, ancestor = list[Skyline](), self
        while ancestor.before is not None:
            skylines.append(ancestor.points)
            ancestor = ancestor.before
        return [*chain.from_iterable(reversed(skylines))]


def _skylines(counts: GroupCounts, codes: IntArray, limit: Fraction) -> list[Skyline]:
    """The skylines of some values, in their order, worked out l by l.

    `codes` are those of values that occur, ascending. Values whose profiles (what a disclosure in a
    group depends on) were the same so far form one class, and are worked out once.
    """
    n_others, most_l = _n_others(counts), _most_l(counts)
    least_odds = (1 - limit) / limit
    skylines: dict[int, Skyline] = {}
    open_codes, classes = codes, list[_Class]()  # the class of each value that is alive
    for l in range(most_l + 1):
        # Fronts come in blocks of values, in the order of the codes that are still open.
        classes_at_l: list[_Class] = []
        for front in _fronts(counts, l, open_codes):
            classes_at_l += _next_classes(front, classes[len(classes_at_l) :], least_odds, l)
        _store_complete(skylines, open_codes, classes_at_l)
        # A value goes on as long as some k and m are withstood at this l.
        continuing = [
            position for position, value_class in enumerate(classes_at_l) if len(value_class.stairs)
        ]
        open_codes = open_codes[continuing]
        classes = [classes_at_l[position] for position in continuing]
        if not continuing:
            break
    # What is withstood at the largest useful l is withstood at every l; nothing is beyond that.
    last_classes: dict[int, _Class] = {}
    for value_class in classes:
        no_stairs = np.full(len(value_class.stairs), -1)
        last_classes[id(value_class)] = _Class(
            stairs=no_stairs[:0],
            before=value_class,
            points=_corners(n_others, value_class.stairs, no_stairs),
        )
    _store_complete(
        skylines, open_codes, [last_classes[id(value_class)] for value_class in classes]
    )
    return [list(skylines[code]) for code in codes.tolist()]


def _store_complete(skylines: dict[int, Skyline], codes: IntArray, classes: list[_Class]) -> None:
    """Store the skylines of values that withstand nothing at this l: they are complete.

    `skylines` is filled, by code of the value; `classes` has the class of each of `codes`. A
    class's skyline is put together once, for all its values.
    """
    skyline_of_class: dict[int, Skyline] = {}
    for code, value_class in zip(codes.tolist(), classes, strict=True):
        if not len(value_class.stairs):
            if id(value_class) not in skyline_of_class:
                skyline_of_class[id(value_class)] = value_class.skyline()
            skylines[code] = skyline_of_class[id(value_class)]


def _fronts(counts: GroupCounts, l: int, codes: IntArray) -> Iterable[Profiles]:
    """The undominated profiles of each value, with l values ruled out.

    In a release with few values, the front of all is worked out once and remembered.
    """
    if len(codes) == 1:
        return [fronts.front(counts, l, int(codes[0]))]
    if counts.n_values > _FEW:
        return fronts.fronts(counts, l, codes)
    front = fronts.front(counts, l)
    is_asked = np.zeros(counts.n_values, dtype=bool)
    is_asked[codes] = True
    return [front.take(is_asked[front.value])]


def _next_classes(
    profiles: Profiles, classes_before: list[_Class], least_odds: Fraction, l: int
) -> list[_Class]:
    """The class of each value at l, with its stairs: for each m, the largest k withstood.

    Values stay in one class if they were in one at l - 1 and have the same profiles at l.
    `classes_before` has the class of each value at l - 1, and is empty at l = 0.
    """
    starts = profiles.starts
    ends = np.append(starts[1:], len(profiles))
    # A profile as three numbers; equal rows of numbers are equal disclosures at every k and m.
    rows = np.stack((profiles.n, profiles.s, profiles.identity), axis=1)
    class_numbers: dict[tuple[int, bytes], int] = {}
    examples: list[int] = []  # the first value of each new class, by position
    class_of_value = []
    for position, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        class_before = id(classes_before[position]) if classes_before else 0
        key = class_before, rows[start:end].tobytes()
        if key not in class_numbers:
            class_numbers[key] = len(examples)
            examples.append(position)
        class_of_value.append(class_numbers[key])
    # Only the first value of each new class is worked out.
    cells, offsets = ranges(starts[examples], ends[examples])
    slices = _StairsOfValues(profiles.take(cells), offsets, least_odds)
    classes: list[_Class] = []
    if not classes_before:
        classes += map(_Class, slices.stairs())
    else:
        parents = [classes_before[position] for position in examples]
        # More l never allows more k, so the stairs at l - 1 are bounds.
        stairs = slices.stairs_within([parent.stairs for parent in parents])
        for parent, lower_stairs in zip(parents, stairs, strict=True):
            corners = _corners(l - 1, parent.stairs, lower_stairs)
            classes.append(_Class(lower_stairs[lower_stairs >= 0], parent, corners))
    return [classes[number] for number in class_of_value]


def _corners(l: int, stairs: IntArray, stairs_at_next_l: IntArray) -> Skyline:
    """The corners (l, k, m) of stairs at one l: with one more m, or one more l, k must be smaller.

    Both stairs have the largest k for each m, -1 for none. The corner with the smallest k comes
    first.

    >>> _corners(0, np.array([3, 3, 1]), np.array([2, 1, 1]))
    [(0, 3, 1)]
    """
    # The last stair ends at its m, so it falls there in any case.
    falls_with_m = np.append(stairs[1:] < stairs[:-1], True)
    is_corner = falls_with_m & (stairs_at_next_l < stairs)
    m = np.flatnonzero(is_corner)[::-1]
    return [(l, k, m) for k, m in zip(stairs[m].tolist(), m.tolist(), strict=True)]


@dataclass(frozen=True)
class _StairsOfValues:
    """The stairs of values at one l: the largest k that is withstood, for each m from 0."""

    profiles: Profiles  # of one value after the other
    offsets: IntArray  # where those of each value begin, and the end
    least_odds: Fraction  # what the odds against must stay above

    @classmethod
    def of(cls, profiles: Profiles, least_odds: Fraction) -> _StairsOfValues:
        """Make it from profiles in order of value."""
        return cls(profiles, np.append(profiles.starts, len(profiles)), least_odds)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def most_alone(self) -> IntArray:
        """The most k alone, and the most m alone, that each value withstands; shape (values, 2)."""
        # An adversary who knows of as many people as a group has is certain.
        limits = np.minimum.reduceat(self.profiles.n, self.offsets[:-1]) - 1
        # In both searches, positions are those of values, and the other kind of facts is 0.
        most_k = _largest_safe(limits, lambda value, k: self.safe(value, k, np.zeros_like(k)))
        most_m = _largest_safe(limits, lambda value, m: self.safe(value, np.zeros_like(m), m))
        return np.stack((most_k, most_m), axis=1)

    def stairs(self) -> list[IntArray]:
        """The stairs of each value: for each m from 0, the largest k that is withstood.

        k is at most what is withstood with m = 0, and m what is withstood with k = 0.
        """
        bounds = [np.full(m + 1, k) for k, m in self.most_alone().tolist()]
        # -1 stands for an m at which not even k = 0 is withstood.
        return [steps[steps >= 0] for steps in self.stairs_within(bounds)]

    def stairs_within(self, bounds: list[IntArray]) -> list[IntArray]:
        """For each value and each m, the largest k that is safe; -1 if not even k = 0 is.

        `k` people are known, and `m` linked. ``bounds[value][m]`` is the largest k to try; if an
        amount is safe, so are all smaller ones.

        Values are worked on in blocks of pairs (value, m), so that memory is limited.
        """
        stairs: list[IntArray] = []
        sizes = np.cumsum([0, *map(len, bounds)])
        first = 0
        while first < len(bounds):  # values from `first` to `end`: about a block of (value, m)
            end = int(np.searchsorted(sizes, sizes[first] + _BLOCK, side="right")) - 1
            end = max(end, first + 1)
            bounds_of_block = bounds[first:end]
            lengths = list(map(len, bounds_of_block))
            value = np.repeat(np.arange(first, end), lengths)
            # Each value's m, from 0 to the last of its bounds.
            m, _ = ranges(np.zeros(len(bounds_of_block), dtype=np.int64), np.array(lengths))
            bound = np.concatenate(bounds_of_block)
            most_k = _largest_safe(bound, partial(self._safe_at, value, m))
            stairs += np.split(most_k, np.cumsum(lengths)[:-1])
            first = end
        return stairs

    def safe(self, value: IntArray, k: IntArray, m: IntArray) -> BoolArray:
        """True for each (k, m) that its value withstands; `value` has the value's place.

        k people's values are known, and m people are linked to the target. Floats decide at first;
        where they are close to the limit, fractions do.
        """
        ratio = np.empty(len(k))
        # Values with as many holders are worked on together: that is what costs steps.
        for positions in self._blocks_of_like_values(value):
            ratio[positions] = self._negated_ratio(value[positions], k[positions], m[positions])
        # Withstood: the odds against the value stay above those of the limit.
        least_odds = float(self.least_odds)
        is_safe = ratio > least_odds  # at least_odds 0 a float of 0 is exact
        if least_odds:
            for i in np.flatnonzero(np.abs(ratio - least_odds) <= CLOSE * least_odds).tolist():
                cells = slice(self.offsets[value[i]], self.offsets[value[i] + 1])
                minimum = exact_minimum(self.profiles.take(cells), int(k[i]), int(m[i]))
                is_safe[i] = minimum.ratio > self.least_odds
        return is_safe

    def _safe_at(self, value: IntArray, m: IntArray, positions: IntArray, k: IntArray) -> BoolArray:
        """True where the value at these positions withstands `k` with its m."""
        return self.safe(value[positions], k, m[positions])

    def _blocks_of_like_values(self, value: IntArray) -> Iterator[IntArray]:
        """Yield places in `value` of values with about as many holders, a block at a time.

        They take about the same number of steps, so that no value waits for a much larger one.
        """
        size = self._size[value]
        for magnitude in np.unique(size).tolist():
            positions = np.flatnonzero(size == magnitude)
            ends = np.cumsum(np.diff(self.offsets)[value[positions]])
            blocks = np.searchsorted(ends, np.arange(_BLOCK, int(ends[-1]), _BLOCK))
            yield from filter(len, np.split(positions, blocks))

    @cached_property
    def _size(self) -> IntArray:
        """The binary logarithm, rounded down, of the most holders of each value in a group."""
        most_holders = np.maximum.reduceat(self.profiles.s, self.offsets[:-1])
        return np.log2(most_holders).astype(np.int64)

    def _negated_ratio(self, value: IntArray, k: IntArray, m: IntArray) -> FloatArray:
        """The least odds against a target's having the value, at each (k, m).

        NR of Theorem 2 of "Privacy Skyline": a value's worst cell counts.
        """
        # All profiles of each value are asked with its k and m; the least counts.
        cells, offsets = ranges(self.offsets[value], self.offsets[value + 1])
        lengths = np.diff(offsets)
        ratios = theorem2_terms(
            self.profiles.take(cells), np.repeat(k, lengths), np.repeat(m, lengths)
        )
        return ratios.least(offsets[:-1]).negated_ratio()


def _largest_safe(limits: IntArray, safe: Callable[[IntArray, IntArray], BoolArray]) -> IntArray:
    """The largest amount from 0 to `limits` that is safe at each position; -1 if not even 0 is.

    ``safe(positions, amounts)`` is true for each amount that is safe; fewer are safe, too. All
    positions are bisected at once.
    """
    low, high = np.full(len(limits), -1), limits.copy()
    while len(unsettled := np.flatnonzero(low < high)):
        # Rounded up, so that the range gets smaller even if only two amounts are left.
        middle = (low[unsettled] + high[unsettled] + 1) // 2
        is_safe = safe(unsettled, middle)
        low[unsettled[is_safe]] = middle[is_safe]
        high[unsettled[~is_safe]] = middle[~is_safe] - 1
    return low
