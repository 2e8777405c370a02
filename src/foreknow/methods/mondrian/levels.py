"""Level: the groups of one level of a top-down search, and how they are divided.

All groups of a level are handled at once: each proposes a candidate cut, the ledger says which
proposals keep the release safe, and what was divided is the next level.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, count_pairs, order_of, ranges
from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.tables.columns import narrowest
from foreknow.methods.mondrian.cuts import Cuts, PartedCounts, cuts_of, sides, whole_proposals
from foreknow.methods.points import Points
from foreknow.policy.ledger import PolicyEvaluation, PolicyLedger

_log = logging.getLogger(__name__)
_BLOCK = 1 << 17  # points, or values
_CELLS = 1 << 16  # of counts weighed at once
_AHEAD = 1 << 15  # points that are asked about for several turns at once


class Choice(NamedTuple):
    """How cuts are chosen: the number of candidates per attribute and group, and weights."""

    cuts: int
    weights: NDArray[np.float64] | None = None  # what each attribute counts
    random: np.random.Generator | None = None  # shakes the gains, by `noise`
    noise: float = 0.0


class PointColumns(Sequence[NDArray[Any]]):
    """Columns of some points, each taken when it is asked for."""

    def __init__(self, columns: Sequence[NDArray[Any]], points: IntArray) -> None:
        self._columns, self._points = columns, points

    def __getitem__(self, index: Any) -> Any:
        return self._columns[index][self._points]

    def __len__(self) -> int:
        return len(self._columns)


@dataclass(frozen=True, eq=False)
class Rows:
    """Some points, each one person, and the sensitive values at them, one point after another."""

    number: NDArray[Any]  # of each point, as it was at first
    codes: Sequence[NDArray[Any]]
    values: NDArray[Any]

    @property
    def people(self) -> IntArray:
        """How many people each point has, ready to be added up."""
        return np.ones(len(self.number), dtype=np.int64)

    @property
    def multiplicity(self) -> IntArray | None:
        """The people at each point; None where each point is one person."""
        return None

    def part(self, points: IntArray | slice, cells: IntArray | slice) -> Self:
        """Only some points, and what is held there."""
        codes: Sequence[NDArray[Any]]
        if isinstance(points, slice):
            codes = [column[points] for column in self.codes]
        else:
            codes = PointColumns(self.codes, points)
        return replace(self, number=self.number[points], codes=codes, values=self.values[cells])

    def take(self, points: IntArray) -> Self:
        """Only some points, in this order."""
        rows = self.part(points, self.value_positions(points))
        return replace(rows, codes=[*rows.codes])

    def value_positions(self, points: IntArray) -> IntArray:
        """Where the values of some points lie."""
        return points

    def value_starts(self, starts: IntArray) -> IntArray:
        """Where the values of groups begin whose points begin there."""
        return starts

    def group_and_times_of_values(self, of_point: IntArray) -> tuple[IntArray, IntArray | None]:
        """Give each value what belongs to its point, and how often it occurs; None is once."""
        return of_point, None

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Rows put one after another."""
        codes = zip(*(rows.codes for rows in parts), strict=True)
        columns: dict[str, Any] = {}
        for name in vars(parts[0]):
            if name != "codes":
                columns[name] = np.concatenate([getattr(rows, name) for rows in parts])
        return cls(codes=[np.concatenate(column) for column in codes], **columns)


@dataclass(frozen=True, eq=False)
class PeopledRows(Rows):
    """Some points of several people, or of people with several values, or none."""

    weights: NDArray[Any]  # how many people each point has
    cells: NDArray[Any]  # how many different values
    times: NDArray[Any]  # how many people have each value

    @property
    def people(self) -> IntArray:
        """How many people each point has, ready to be added up."""
        return self.weights.astype(np.int64)

    multiplicity = people

    def part(self, points: IntArray | slice, holdings: IntArray | slice) -> Self:
        """Only some points, and what is held there."""
        weights, cells, times = self.weights[points], self.cells[points], self.times[holdings]
        return replace(super().part(points, holdings), weights=weights, cells=cells, times=times)

    def value_positions(self, points: IntArray) -> IntArray:
        """Where the values of some points lie."""
        cells = self.cells.astype(np.int64)
        ends = np.cumsum(cells)[points]
        return ranges(ends - cells[points], ends)[0]

    def value_starts(self, starts: IntArray) -> IntArray:
        """Where the values of groups begin whose points begin there."""
        n_cells = np.add.reduceat(self.cells, starts[:-1], dtype=np.int64)
        return np.concatenate(([0], np.cumsum(n_cells)))

    def group_and_times_of_values(self, of_point: IntArray) -> tuple[IntArray, IntArray]:
        """Give each value what belongs to its point, and how often it occurs."""
        return np.repeat(of_point, self.cells.astype(np.int64)), self.times.astype(np.int64)


class Children(NamedTuple):
    """A division of some groups: their points, the child of each point, the group of each child."""

    rows: Rows
    child: IntArray  # of each point, from 0
    owner: IntArray  # of each child, the place of its group among them


class Level:
    """The groups of one level, and the points that belong to them; at first one of everybody.

    Points lie in order of their groups. So what is done to a run of groups at a time is done near
    at hand, however many points there are.
    """

    def __init__(
        self,
        points: Points,
        microdata: Microdata,
        choice: Choice,
        groups: IntArray | None = None,
    ) -> None:
        """Begin with one group of everybody, or with the group of each point."""
        self.attributes = microdata.attributes
        self.labels = microdata.values
        self.semantics = microdata.semantics
        self.choice = choice
        self.final = np.empty(len(points), dtype=np.int64)
        self.n_final = 0
        number = np.arange(len(points), dtype=np.uint32 if len(points) < 2**32 else np.int64)
        rows = Rows(number, points.codes, points.values)
        if not points.are_people:
            columns = points.weights, points.cells, points.times
            narrow = (column.astype(narrowest(int(column.max()) + 1)) for column in columns)
            rows = PeopledRows(number, points.codes, points.values, *narrow)
        if groups is None:
            self._arrange(rows, np.array([len(points)]))
        else:
            self._arrange(rows.take(order_of(groups)), np.bincount(groups))

    def _arrange(
        self, rows: Rows, sizes: IntArray, divisible: NDArray[np.bool_] | None = None
    ) -> None:
        """Note points in order of their groups, of `sizes`, and which groups may be divided."""
        self.rows = rows
        self._divisible = np.ones(len(sizes), dtype=bool) if divisible is None else divisible
        # Where the points of each group begin, and their values.
        self.starts: IntArray = np.concatenate(([0], np.cumsum(sizes)))
        self._value_starts = rows.value_starts(self.starts)

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.starts) - 1

    @property
    def group(self) -> IntArray:
        """The group of each point that is left, as they lie."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.starts))

    @property
    def node(self) -> IntArray:
        """The group of every point, in the first order of points; -1 where its group is final."""
        group_of = np.full(len(self.final), -1)
        group_of[self.rows.number] = self.group
        return group_of

    def everyone(self) -> GroupCounts:
        """Count one group of everybody."""
        return self.counts_of(np.zeros(len(self.final), dtype=np.int64), 1)

    def counts_of(self, child: IntArray, n_children: int | None = None) -> GroupCounts:
        """Count children, by the child of each point; points of child -1 are left out."""
        n_counted = int(child.max()) + 1 if n_children is None else n_children
        return self.tally_of(child, n_counted).part(0, n_counted)

    def tally_of(self, child: IntArray, n_children: int) -> PartedCounts:
        """Count children as `counts_of` does, and lay only a part of the counts out at once."""
        rows = self.rows
        if (child < 0).any():
            inside = np.flatnonzero(child >= 0)
            rows, child = rows.take(inside), child[inside]
        return self.tally(Children(rows, child, np.arange(n_children)))

    def safe_alone(self, ledger: PolicyLedger, children: Children) -> NDArray[np.bool_]:
        """True for each child that could be a group of the release by itself."""
        each_alone = children._replace(owner=np.arange(len(children.owner)))
        evaluations = self._evaluations(ledger, each_alone, replace_nothing=True)
        return np.concatenate([evaluation.safe_each() for evaluation, _ in evaluations])

    def divide(self, ledger: PolicyLedger) -> None:
        """Divide every group of the level that can be divided safely; the others become final.

        The candidate cuts of each group are tried in turn, the best first, until the ledger accepts
        one.
        """
        waiting, divided = np.flatnonzero(self._divisible), np.zeros(self.n_groups, dtype=bool)
        ranking = self._ranking(waiting)
        next_rows = [self.rows.part(slice(0), slice(0))]
        sizes, divisible = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=bool)]
        refused, n_asked = np.zeros(ranking.gain.shape, dtype=bool), 1
        for turn in range(ranking.turns):
            waiting = waiting[ranking.has(turn)[waiting]]
            if not len(waiting):  # all are divided, or have no further candidate
                break
            if turn == n_asked and not ledger.looks_back:
                n_asked += self._look_ahead(ledger, ranking, turn, waiting, refused)
            for run in self._runs(waiting[~refused[waiting, turn]]):
                children = self.children(ranking, turn, run)
                accepted, divided_again = self._carry_out_accepted(ledger, children)
                divided[run[accepted]] = True
                divisible.append(divided_again[accepted[children.owner]])
                points, child_sizes = _accepted_points(children, accepted)
                next_rows.append(children.rows.take(points))
                sizes.append(child_sizes)
            waiting = waiting[~divided[waiting]]
        for run_undivided in self._runs(np.flatnonzero(~divided)):
            rows, group = self._rows_of(run_undivided)
            self.final[rows.number] = group + self.n_final
            self.n_final += len(run_undivided)
        self._arrange(self.rows.joined(next_rows), np.concatenate(sizes), np.concatenate(divisible))
        _log.info("level done: %d groups final, %d divided further", self.n_final, self.n_groups)

    def _look_ahead(
        self,
        ledger: PolicyLedger,
        ranking: Ranking,
        turn: int,
        groups: IntArray,
        refused: NDArray[np.bool_],
    ) -> int:
        """Note which candidates of some groups are refused in the next turns; how many turns.

        What is refused by itself stays refused, so it need not be asked about in its turn.
        """
        # So many turns as there is memory for; one alone would not be sooner than its turn.
        n_points = int((self.starts[groups + 1] - self.starts[groups]).sum())
        n_turns = min(_AHEAD // n_points, ranking.turns - turn)
        if n_turns < 2:
            return 1
        turns = np.repeat(np.arange(turn, turn + n_turns), len(groups))
        proposing = np.tile(groups, n_turns)
        has_cut = np.isfinite(ranking.gain[proposing, turns])
        turns, proposing = turns[has_cut], proposing[has_cut]
        evaluations = self._evaluations(ledger, self.children(ranking, turns, proposing))
        is_safe = np.concatenate([evaluation.safe_each() for evaluation, _ in evaluations])
        refused[proposing, turns] = ~is_safe
        return n_turns

    def divide_one(self, ledger: PolicyLedger) -> tuple[bool, float] | None:
        """Divide one group by the cut that makes the release safe, or leads nearest to that.

        Returns
        -------
        (safe, reach) or None
            Whether all groups are safe now, and how far the worst is from its limit, as a ratio;
            None if there is no cut.
        """
        ranking = self._ranking(np.arange(self.n_groups))
        best: tuple[bool, float, int, int] | None = None  # unsafe, reach, turn, group
        for turn in range(ranking.turns):
            for run in self._runs(np.flatnonzero(ranking.has(turn))):
                evaluations = self._evaluations(ledger, self.children(ranking, turn, run))
                results = [(e.safe_each(), e.risk_ratio()) for e, _ in evaluations]
                safe, reach = (np.concatenate(column) for column in zip(*results, strict=True))
                nearest = int(np.lexsort((reach, ~safe))[0])
                candidate = (not safe[nearest], float(reach[nearest]), turn, int(run[nearest]))
                best = candidate if best is None else min(best, candidate)
        if best is None:
            return None
        unsafe, reached, turn, group = best
        children = self.children(ranking, turn, np.array([group]))
        for weighing, _ in self._evaluations(ledger, children):
            weighing.commit(np.ones(1, dtype=bool))
        points, child_sizes = _accepted_points(children, np.ones(1, dtype=bool))
        other_groups = np.delete(np.arange(self.n_groups), group)
        other_rows, _ = self._rows_of(other_groups)
        rows = self.rows.joined([other_rows, children.rows.take(points)])
        self._arrange(rows, np.append(np.diff(self.starts)[other_groups], child_sizes))
        return not unsafe, reached

    def _ranking(self, groups: IntArray) -> Ranking:
        """The candidates for a cut of some groups, the best first; the others have none.

        Gains are weighted by column, and multiplied by random factors if the choice has noise.
        """
        cuts, weights, random, noise = self.choice
        rankings = []
        for run in self._runs(groups):
            rows, group = self._rows_of(run)
            people = rows.multiplicity
            candidates = []
            for column, attribute in enumerate(self.attributes):
                candidate = cuts_of(attribute, rows.codes[column], group, people, len(run), cuts)
                if weights is not None:
                    candidate = candidate.times(weights[column])
                candidates.append(candidate)
            if random is not None:
                for column, candidate in enumerate(candidates):
                    factors = np.exp(noise * random.normal(size=candidate.gain.shape))
                    candidates[column] = candidate.times(factors)
            rankings.append(Ranking.of(candidates))
        return Ranking.joined(rankings, groups, self.n_groups)

    def children(self, ranking: Ranking, turn: int | IntArray, groups: IntArray) -> Children:
        """Divide some groups, each by its candidate cut of rank `turn`.

        Returned are the points of these groups, the child that each would be in, and the group of
        each child (`owner`, by position in `groups`). A group may be named several times.
        """
        rows, group = self._rows_of(groups)
        ranking_of_cut, cut_code = ranking.choice(turn, groups)
        n_points, side = np.diff(self.starts)[groups], np.empty(len(group), dtype=np.int64)
        starts_here = np.concatenate(([0], np.cumsum(n_points)))
        for position in np.unique(ranking_of_cut).tolist():
            of_ranking = np.flatnonzero(ranking_of_cut == position)
            codes = self.rows.codes[position][_rows_of_groups(self.starts, groups[of_ranking])]
            cut_of_points = np.repeat(cut_code[of_ranking], n_points[of_ranking])
            side[_rows_of_groups(starts_here, of_ranking)] = sides(
                self.attributes[position], codes, cut_of_points
            )
        n_sides = int(side.max(initial=0)) + 1
        side += group * n_sides  # a group and a side, as one number
        if n_sides == 2:
            return Children(rows, side, np.repeat(np.arange(len(groups)), 2))
        distinct_sides, child = np.unique(side, return_inverse=True)
        return Children(rows, child.reshape(-1), distinct_sides // n_sides)

    def _carry_out_accepted(self, ledger: PolicyLedger, children: Children) -> tuple[Any, Any]:
        """Carry out, in the ledger, the proposals that it accepts.

        Return a mask of these proposals, and one of the children that may be divided further.
        """
        accepted, divisible = [], []
        for evaluation, counts in self._evaluations(ledger, children):
            accepted_here = evaluation.accept_greedily()
            divisible_here = np.zeros(counts.n_groups, dtype=bool)
            if accepted_here.any():
                divisible_here = ledger.divisible(counts)
            accepted.append(accepted_here)
            divisible.append(divisible_here)
        return np.concatenate(accepted), np.concatenate(divisible)

    def _evaluations(
        self, ledger: PolicyLedger, children: Children, *, replace_nothing: bool = False
    ) -> Iterator[tuple[PolicyEvaluation, GroupCounts]]:
        """Yield the ledger's evaluation of proposed divisions, some at a time, and their counts.

        With `replace_nothing`, the children are judged as if they were added to the groups that
        exist.
        """
        tally, owner = self.tally(children), children.owner
        for start, stop in whole_proposals(owner, tally.offsets, _CELLS):
            added, proposal = tally.part(start, stop), owner[start:stop] - owner[start]
            # What a proposal replaces is what its children have together.
            replaces = ledger.looks_back and not replace_nothing
            removed = added.merge(proposal) if replaces else None
            yield ledger.evaluate(removed, added, proposal), added

    def tally(self, children: Children) -> PartedCounts:
        """Count how many people of each child have each sensitive value."""
        rows, n_children, n_values = children.rows, len(children.owner), len(self.labels)
        people = rows.multiplicity
        if people is not None:
            people = np.bincount(children.child, people, n_children).astype(np.int64)
        of_value, times = rows.group_and_times_of_values(children.child)
        if n_children * n_values > max(2 * len(of_value), 1 << 16):
            cells = count_pairs(of_value, rows.values, n_children, n_values, times)
            return PartedCounts(self.labels, self.semantics, people, *cells)
        cell_number = of_value * n_values + rows.values
        if times is None:
            table = np.bincount(cell_number, minlength=n_children * n_values)
        else:
            table = np.zeros(n_children * n_values, dtype=np.int64)
            np.add.at(table, cell_number, times)
        dense = table.reshape(n_children, n_values)
        return PartedCounts.of_table(self.labels, self.semantics, people, dense)

    def keep_only(self, is_inside: NDArray[np.bool_]) -> Level:
        """Leave out all groups but those of some points, and number these from 0."""
        inside = np.flatnonzero(is_inside[self.rows.number])
        sizes = np.unique(self.group[inside], return_counts=True)[1]
        self._arrange(self.rows.take(inside), sizes)
        return self

    # ---- a run of groups at a time ------------------------------------------------------------

    def _runs(self, groups: IntArray) -> Iterator[IntArray]:
        """Groups, some at a time, of so few points that these stay near at hand."""
        ends = np.cumsum(self.starts[groups + 1] - self.starts[groups])
        start = done = 0
        while start < len(groups):
            stop = max(int(np.searchsorted(ends, done + _BLOCK, side="right")), start + 1)
            yield groups[start:stop]
            start, done = stop, int(ends[stop - 1])

    def _rows_of(self, groups: IntArray) -> tuple[Rows, IntArray]:
        """The points of some groups, and the place of each one's group among them."""
        group = np.repeat(np.arange(len(groups)), self.starts[groups + 1] - self.starts[groups])
        return self.rows.part(
            _rows_of_groups(self.starts, groups), _rows_of_groups(self._value_starts, groups)
        ), group


def _rows_of_groups(starts: IntArray, groups: IntArray) -> IntArray | slice:
    """The rows of some groups, as a slice where the groups are adjacent."""
    if len(groups) and (np.diff(groups) == 1).all():
        return slice(int(starts[groups[0]]), int(starts[groups[-1] + 1]))
    return ranges(starts[groups], starts[groups + 1])[0]


def _accepted_points(children: Children, accepted: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """The points of accepted proposals, in order of their children, and how many each has."""
    if accepted.all():
        return order_of(children.child), np.bincount(children.child, minlength=len(children.owner))
    is_taken = accepted[children.owner]
    is_accepted = np.flatnonzero(is_taken[children.child])
    child = (np.cumsum(is_taken) - 1)[children.child[is_accepted]]
    return is_accepted[order_of(child)], np.bincount(child, minlength=np.count_nonzero(is_taken))


class Ranking(NamedTuple):
    """Candidate cuts of all attributes, best first for every group; shape (groups, turns)."""

    gain: NDArray[np.float64]
    attribute: NDArray[Any]
    cut_code: IntArray

    @classmethod
    def of(cls, candidates: list[Cuts]) -> Ranking:
        """Rank the cuts of all attributes by gain; among equal gains, the first attribute's.

        Each of `candidates` are the cuts along one attribute, as arrays of shape (groups, cuts).
        """
        gain = np.hstack([cuts.gain for cuts in candidates])
        cut_codes = np.hstack([cuts.cut_code for cuts in candidates])
        widths = [cuts.gain.shape[1] for cuts in candidates]
        attribute = np.repeat(np.arange(len(candidates), dtype=np.int16), widths)
        order = np.argsort(-gain, axis=1, kind="stable")
        return cls(
            np.take_along_axis(gain, order, axis=1),
            attribute[order],
            np.take_along_axis(cut_codes, order, axis=1),
        )

    @classmethod
    def joined(cls, rankings: list[Ranking], groups: IntArray, n_groups: int) -> Ranking:
        """The rankings of some groups, in parts, as one of all; other groups have no candidates."""
        turns = max((one_ranking.turns for one_ranking in rankings), default=0)
        ranking = cls(
            np.full((n_groups, turns), -np.inf),
            np.zeros((n_groups, turns), dtype=np.int16),
            np.zeros((n_groups, turns), dtype=np.int64),
        )
        for column, columns in zip(ranking, zip(*rankings, strict=True), strict=False):
            column[groups] = np.concatenate(columns)
        return ranking

    @property
    def turns(self) -> int:
        """How many candidates a group has at most."""
        turns: int = self.gain.shape[1]
        return turns

    def has(self, turn: int) -> NDArray[np.bool_]:
        """True for each group that has a candidate of this rank."""
        return np.isfinite(self.gain[:, turn])

    def choice(self, turn: int | IntArray, groups: IntArray) -> tuple[NDArray[Any], IntArray]:
        """Attribute and place of the candidate of this rank of some groups."""
        return self.attribute[groups, turn], self.cut_code[groups, turn]
