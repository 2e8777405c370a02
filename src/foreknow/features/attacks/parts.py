"""Parts: sets of groups whose values depend on each other, each attacked by itself.

A method decides, for example, whether to split a group in two (its *children*), by the values in
each. A run that lists the decisions that depend on who has what (a `replay`) divides the question.
An assignment of the values (a *world*) is possible just if each of these decisions goes as it did.
One that goes so however the values are assigned tells nothing and is dropped. Groups that no
remaining decision looks at together are independent: a possible world is one possible assignment
for each part. And people of one group who are in one child of every remaining decision are
interchangeable, so that they share a *cell*.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import FloatArray, IntArray
from foreknow.features.attacks.divisions import (
    Tables,
    assignments,
    assignments_of_tables,
    divided,
    drawn_tables,
    n_taken,
    paired,
    ways_to_take,
    with_next_cell,
)
from foreknow.features.attacks.exact_posteriors import Posteriors
from foreknow.features.attacks.sampled_worlds import Sampled
from foreknow.features.attacks.worlds import Worlds
from foreknow.methods.protocol import Decision
from foreknow.possible_worlds import components

_log = logging.getLogger(__name__)
# Assignments by which a decision is tried before all are looked at; drawn at once; numbers in
# memory at once.
_FIRST, _DRAWN, _NUMBERS = 100, 500, 1 << 22
# Shares of the time that is left: for seeing which decisions tell something, and for enumeration.
_IDLE, _ENUMERATED = 0.3, 0.6
# Ways to fill a part of a group that are looked at; floats are rounded up by so much.
_TAKEN, _UP = 5_000, 1e-12
_PROVED = 'In a release by decoy the limits hold by a proof: publish with method = "decoy".'
# Decisions about more parts than this are first asked part by part.
_HALVES = 2


class Replay(Protocol):
    """A run that says which worlds lead to the same release."""

    @property
    def decisions(self) -> Sequence[Decision]:
        """The decisions that must repeat and can differ between worlds."""


def by_parts(
    worlds: Worlds, replay: Replay, most_assignments: int, end_time: float | None, seed: int | None
) -> Posteriors:
    """The posteriors of everybody's values, for an adversary who knows the method.

    They are computed by parts: sets of groups whose values depend on each other. `replay` lists the
    decisions of the method's run; a world is possible just if each goes as it did. A part with at
    most `most_assignments` is worked out exactly; others get bounds and an estimate, until
    `end_time` (None: no limit).
    """
    random = np.random.default_rng(seed)
    clock = _Clock(end_time)
    _log.info("looking at the decisions of the run one by one")
    run_decisions = [_RunDecision.of(decision, worlds) for decision in replay.decisions]
    decisions = _decisions_that_can_differ(run_decisions, worlds, most_assignments, clock, random)
    worlds = replace(worlds, cell_of=_cell_of_people(worlds, decisions))
    parts = _parts_of(worlds, decisions)
    _log.info("%d decisions tell something, of %d parts", len(decisions), len(parts))
    # Exchanging two values of the true world is a cheap way to show that somebody is not certain.
    for part in parts:
        part.note_exchanges(clock)
    enumeration = _enumerate_parts(
        [part for part in parts if part.decisions], most_assignments, clock.part(_ENUMERATED)
    )
    open_parts = enumeration.open_parts
    if enumeration.n_people_beyond:
        _log.warning(
            "Of %s people %s are in parts with more than %s assignments: however long it takes, "
            "of these there are estimates only. %s",
            *(f"{n:,}" for n in (worlds.n_people, enumeration.n_people_beyond, most_assignments)),
            _PROVED,
        )
    # Where no decision looks, every assignment is possible, and both bounds are the shares.
    low, high = _share_bounds(worlds)
    for cell, posteriors in enumeration.posteriors_of_cell.items():
        low[cell] = high[cell] = list(map(float, posteriors))
    # For open parts: first bounds that hold for certain, then estimates from random worlds.
    bounds_clock = clock.part(_IDLE)
    for part in open_parts:
        part.narrow_by_decisions(low, high, bounds_clock)
    _draw(open_parts, most_assignments, clock, random)
    mean = _estimate_open_parts(open_parts, worlds, low, high)
    is_exact = np.ones(worlds.n_cells, dtype=bool)
    one_valued = np.zeros(worlds.n_cells, dtype=bool)
    for part in open_parts:
        is_exact[part.cells] = False
        one_valued[part.cells] = part.sample.one_valued
    if open_parts:  # then worlds as a whole were not counted, but assignments of parts
        n_looked_at = sum(part.sample.drawn for part in open_parts)
        n_consistent = sum(part.sample.kept for part in open_parts)
    else:
        n_looked_at = worlds.n_worlds
        free_groups = chain.from_iterable(part.groups for part in parts if not part.decisions)
        n_free_worlds = math.prod(map(assignments, worlds.bags[[*free_groups]].tolist()))
        n_consistent = n_free_worlds * enumeration.n_worlds
    return Posteriors(
        worlds,
        "parts",
        looked=n_looked_at,
        consistent=n_consistent,
        runs=1,
        mean=mean,
        low=low,
        high=high,
        perhaps_certain=one_valued & worlds.mixed & (high.max(axis=1) >= 1),
        fractions=enumeration.posteriors_of_cell,
        exact_cells=is_exact,
        parts=len(parts),
        beyond=enumeration.n_people_beyond,
    )


class _Enumeration(NamedTuple):
    """The result of counting the possible worlds of each part."""

    posteriors_of_cell: dict[int, list[Fraction]]  # by cell, for each value
    n_worlds: int  # possible combinations of assignments of the parts that were counted
    open_parts: list[_Part]  # those with too many worlds, or no time to look at all of them
    n_people_beyond: int  # people in parts with too many worlds


def _enumerate_parts(parts: list[_Part], most_assignments: int, clock: _Clock) -> _Enumeration:
    """Count the possible worlds of each part, the smallest first, until time is up."""
    posteriors_of_cell: dict[int, list[Fraction]] = {}
    open_parts: list[_Part] = []
    n_worlds, n_people_beyond = 1, 0
    for part in sorted(parts, key=lambda part: part.n_people):
        enumerated = None if clock.over else part.enumerated(most_assignments, clock)
        if enumerated is None:
            open_parts.append(part)
            # With time left, a part was given up for its size, which more time would not change.
            n_people_beyond += 0 if clock.over else part.n_people
            continue
        n_worlds *= enumerated.n_worlds
        posteriors_of_cell.update(zip(part.cells.tolist(), enumerated.posteriors, strict=True))
    return _Enumeration(posteriors_of_cell, n_worlds, open_parts, n_people_beyond)


def _estimate_open_parts(
    parts: list[_Part], worlds: Worlds, low: FloatArray, high: FloatArray
) -> FloatArray:
    """The mean posteriors (cells x values): of open parts estimates from their drawn worlds.

    Narrows `low` and `high` in place, where an interval of an estimate is narrower.
    """
    mean: FloatArray = np.clip(worlds.shares, low, high)
    n_open = sum(int(worlds.open[part.cells].sum()) for part in parts)
    for part in parts:
        if not part.sample.kept:
            continue
        cells = part.cells
        estimate = np.zeros((len(cells), worlds.n_values))
        estimate[:, part.values], half_width = part.sample.interval(worlds.open[cells], n_open)
        # Bounds and intervals both hold, so the narrower ends count.
        low[cells] = np.maximum(low[cells], estimate - half_width)
        high[cells] = np.minimum(high[cells], estimate + half_width)
        mean[cells] = np.clip(estimate, low[cells], high[cells])
    return mean


@dataclass(frozen=True)
class _Clock:
    until: float | None

    @property
    def over(self) -> bool:
        return self.until is not None and time.monotonic() > self.until

    def part(self, share: float) -> _Clock:
        """A clock that ends after a share of the remaining time."""
        if self.until is None:
            return self
        moment = time.monotonic()
        return _Clock(moment + share * max(0, self.until - moment))


@dataclass(frozen=True, eq=False)
class _RunDecision:
    """A decision of the method, and the groups on whose values it depends."""

    decision: Decision
    groups: list[int]
    n_children: int

    @classmethod
    def of(cls, decision: Decision, worlds: Worlds) -> _RunDecision:
        groups = np.unique(worlds.groups[decision.people]).tolist()
        return cls(decision, groups, len(decision.fixed))

    def holds(self, tables: NDArray[Any], values: IntArray, sides: IntArray) -> NDArray[np.bool_]:
        """True for each table in which the decision goes as it did in the run, shape (worlds,).

        Tables, (worlds, cells, values), count people. A decision divides people into children, and
        depends on how often each value occurs in each child. `sides` is the child into which the
        decision puts each cell, -1 if it does not look at the cell; `values` is the code of each
        column of the tables.
        """
        n_values = self.decision.fixed.shape[1]
        step = max(1, _NUMBERS // (self.n_children * n_values))
        is_repeated = np.zeros(len(tables), dtype=bool)
        # Cells that are in a child, one child after another; where the cells of each begin.
        n_cells_unseen = np.count_nonzero(sides < 0)  # they are sorted to the front
        order = np.argsort(sides, kind="stable")[n_cells_unseen:]
        # Worlds are gone through in batches that fit into memory.
        children, starts = np.unique(sides[order], return_index=True)
        for start in range(0, len(tables), step):
            batch = tables[start : start + step, order]
            # A child's counts are the sum over its cells; values that do not occur here stay 0.
            counts_of_children = np.zeros((len(batch), self.n_children, n_values), dtype=np.int64)
            sums = np.add.reduceat(batch, starts, axis=1, dtype=np.int64)  # of children, not cells
            counts_of_children[:, children[:, None], values] = sums
            is_repeated[start : start + step] = self.decision.holds(counts_of_children)
        return is_repeated

    def chance_to_differ(self, worlds: Worlds, clock: _Clock) -> float:
        """An upper bound of the chance, over all worlds, that the decision goes differently.

        The decision goes as it did if the values of one child alone suffice for that. Only children
        of people of one group are looked at, and of each group the child that suffices most often.
        Values of different groups are independent, so their chances to fail are multiplied.
        """
        # suffices(child, tables): where the values of this child alone make it go as it did.
        suffices = getattr(self.decision, "alone", None)
        child, group = self.decision.child, worlds.groups[self.decision.people]
        if suffices is None:
            return 1.0
        # Pairs of a child and a group that share people, and how many these are.
        pairs, sizes = np.unique(np.stack((child, group)), axis=1, return_counts=True)
        children, groups = pairs
        is_in_one_group = np.bincount(children)[children] == 1  # the only pair of its child
        chance_by_group: dict[int, float] = {}
        # The smallest first: they have the fewest ways.
        for pair in np.argsort(sizes, kind="stable").tolist():
            child_of_pair, group_of_pair = int(children[pair]), int(groups[pair])
            size = int(sizes[pair])
            bag = worlds.bags[group_of_pair]
            values = np.flatnonzero(bag)
            if not is_in_one_group[pair] or n_taken(bag[values], size) > _TAKEN:
                continue  # which only makes the bound looser
            if clock.over:
                break
            ways = ways_to_take(bag[values], size)
            tables = np.zeros((len(ways), len(bag)), dtype=np.int64)
            tables[:, values] = ways
            failing_ways = ways[~suffices(child_of_pair, tables)].tolist()
            if not failing_ways:
                return 0.0
            # Each way stands for as many assignments as there are people to take, value by value.
            occurrences = bag[values].tolist()
            n_failing = sum(math.prod(map(math.comb, occurrences, way)) for way in failing_ways)
            n_assignments = math.comb(int(bag.sum()), size)
            chance_before = chance_by_group.get(group_of_pair, 1.0)
            chance_by_group[group_of_pair] = min(chance_before, n_failing / n_assignments)
        return min(1.0, math.prod(chance_by_group.values()) * (1 + _UP))

    def differs_at_random(self, worlds: Worlds, random: np.random.Generator) -> bool:
        """True if the decision goes differently in one of some worlds drawn at random."""
        # Cells, here, are the people of one group in one child of the decision.
        tables_of_groups = [
            drawn_tables(asked.bag, asked.sizes, _FIRST, random)
            for asked in self._asked_groups(worlds)
        ]
        tables = np.concatenate(tables_of_groups, axis=1)
        return not self.holds(tables, self._values(worlds), self._sides(worlds)).all()

    def n_divisions(self, worlds: Worlds) -> float:
        """About how many ways there are to divide the values of its groups between the children."""
        n_ways: list[float] = []
        for asked in self._asked_groups(worlds):
            # The last child takes what is left.
            n_ways += [n_taken(asked.bag, size) for size in asked.sizes[:-1]]
        return math.prod(n_ways)

    def always_repeats(self, worlds: Worlds, most_assignments: int) -> bool:
        """True if the decision goes as it did in every world, so that it tells nothing.

        All worlds of its groups are tried; False, too, if there are more than `most_assignments`.
        """
        values = self._values(worlds)
        tables = np.zeros((1, 0, len(values)), dtype=np.int32)  # (worlds, cells, values)
        for asked in self._asked_groups(worlds):
            # Groups are combined, so the next one may have only so many tables.
            tables_of_group = divided(asked.bag, asked.sizes, most_assignments // len(tables))
            if tables_of_group is None:
                return False
            tables = paired(tables, tables_of_group)
        return bool(self.holds(tables, values, self._sides(worlds)).all())

    def _asked_groups(self, worlds: Worlds) -> list[_AskedGroup]:
        """The groups on which the decision depends, and their people in each child."""
        child, group = self.decision.child, worlds.groups[self.decision.people]
        values = self._values(worlds)
        asked_groups = []
        for number in self.groups:
            children, sizes = np.unique(child[group == number], return_counts=True)
            bag = worlds.bags[number][values]
            asked_groups.append(_AskedGroup(bag, sizes.tolist(), children.tolist()))
        return asked_groups

    def _values(self, worlds: Worlds) -> IntArray:
        """The codes of the values that occur in the groups, ascending."""
        return np.flatnonzero(worlds.bags[self.groups].any(axis=0))

    def _sides(self, worlds: Worlds) -> IntArray:
        """The child of each cell, where people of one group and child are one cell."""
        children = chain.from_iterable(asked.children for asked in self._asked_groups(worlds))
        return np.array(list(children))


class _AskedGroup(NamedTuple):
    """A group on whose values a decision depends."""

    bag: IntArray  # how often each value occurs in the group
    sizes: list[int]  # how many of its people are in each of `children`
    children: list[int]


@dataclass(eq=False)
class _Part:
    """Some groups, their cells, and the decisions that look at them.

    Cells and values are numbered within the part: `cells` and `values` say which ones of the worlds
    they are. Decisions and groups are numbered by their places in `decisions` and `groups`.
    """

    groups: list[int]
    decisions: list[_RunDecision]
    worlds: Worlds
    cells: IntArray  # (cells,): the cells of the part, as they are numbered in `worlds`, ascending
    values: IntArray  # (values,): the codes that occur in the part, ascending
    true_counts: NDArray[Any]  # (cells, values): how many people have it in the true world
    cells_of_group: list[IntArray]  # for each group
    sides: list[IntArray]  # for each decision, (cells,): the child of each cell, -1 for none

    @classmethod
    def of(cls, worlds: Worlds, groups: list[int], decisions: list[_RunDecision]) -> _Part:
        """The part that consists of some groups, and of the decisions that look at them."""
        people = np.concatenate([worlds.members[group] for group in groups])
        cells, cell_of_person = np.unique(worlds.cell_of[people], return_inverse=True)
        cell_of_person = cell_of_person.reshape(-1)
        # How many people of each cell have each value in the true world.
        values = np.flatnonzero(worlds.bags[groups].sum(axis=0))
        value_of_person = np.searchsorted(values, worlds.codes[people])  # its place in `values`
        true_counts = np.zeros((len(cells), len(values)), dtype=np.int64)
        np.add.at(true_counts, (cell_of_person, value_of_person), 1)
        group_of_cell = worlds.group_of_cell[cells]
        sides = []
        for run_decision in decisions:
            decision = run_decision.decision
            # People of one cell are in one child, so any of them says where their cell is.
            asked_cells = np.searchsorted(cells, worlds.cell_of[decision.people])
            child_of_cell = np.full(len(cells), -1)
            child_of_cell[asked_cells] = decision.child
            sides.append(child_of_cell)
        return cls(
            groups=groups,
            decisions=decisions,
            worlds=worlds,
            cells=cells,
            values=values,
            true_counts=true_counts,
            cells_of_group=[np.flatnonzero(group_of_cell == group) for group in groups],
            sides=sides,
        )

    def __post_init__(self) -> None:
        self.sizes: IntArray = self.true_counts.sum(axis=1)  # (cells,): people
        self.sample = Sampled(self.sizes, len(self.values))
        self.sample.meet(self.true_counts[None])

    @property
    def n_people(self) -> int:
        return int(self.sizes.sum())

    def _bag(self, position: int) -> IntArray:
        """How often each value of the part occurs in one of its groups."""
        bag: IntArray = self.worlds.bags[self.groups[position]][self.values]
        return bag

    def _decisions_on_one_group(self, position: int) -> list[int]:
        """The numbers of the decisions that depend on one group alone, which is this."""
        groups = [self.groups[position]]
        return [
            number for number, decision in enumerate(self.decisions) if decision.groups == groups
        ]

    def _decisions_on_several_groups(self) -> list[int]:
        """The numbers of the decisions that depend on more than one group."""
        return [
            number for number, decision in enumerate(self.decisions) if len(decision.groups) > 1
        ]

    def _possible(
        self, tables: NDArray[Any], decisions: Sequence[int], cells: IntArray, clock: _Clock
    ) -> NDArray[np.int64] | None:
        """The numbers of the tables in which these decisions go as they did; None if time is up.

        Tables, (worlds, cells, values), count people; `cells` says which cell of the part each is.
        """
        # Tables that one decision excludes need not be shown to the next.
        possible = np.arange(len(tables))
        for number in decisions:
            if clock.over:
                return None
            sides = self.sides[number][cells]
            is_repeated = self.decisions[number].holds(tables[possible], self.values, sides)
            possible = possible[is_repeated]
        return possible

    # ---- exactly ---------------------------------------------------------------------------

    def enumerated(self, most_assignments: int, clock: _Clock) -> _Enumerated | None:
        """The posteriors from all possible worlds; None if too many, or time is up."""
        tables = np.zeros((1, 0, len(self.values)), dtype=np.int32)  # (worlds, cells, values)
        cell_order = np.empty(0, dtype=np.int64)  # the cells of tables, group after group
        # Each group by itself first, with the decisions on it alone; then all combinations, with
        # the decisions on several groups.
        for position in range(len(self.groups)):
            most_of_group = most_assignments // len(tables)
            allowed = self._allowed_in_group(position, most_of_group, clock)
            if allowed is None:
                return None
            tables_of_group, cells_of_group = allowed
            tables = paired(tables, tables_of_group)
            cell_order = np.append(cell_order, cells_of_group)
        possible = self._possible(tables, self._decisions_on_several_groups(), cell_order, clock)
        if possible is None:
            return None
        # Back to the order in which the part numbers its cells.
        tables = tables[possible][:, np.argsort(cell_order)]
        n_ways = assignments_of_tables(tables)  # (worlds,)
        n_worlds = int(n_ways.sum())
        posteriors = []
        for cell, size in enumerate(self.sizes.tolist()):
            posteriors_of_cell = [Fraction(0)] * self.worlds.n_values
            for column, code in enumerate(self.values.tolist()):
                # The people of the cell with the value, added up over all possible worlds.
                n_holders = int((n_ways * tables[:, cell, column]).sum())
                posteriors_of_cell[code] = Fraction(n_holders, n_worlds * size)
            posteriors.append(posteriors_of_cell)
        return _Enumerated(n_worlds, posteriors)

    def _allowed_in_group(
        self, position: int, most_assignments: int, clock: _Clock
    ) -> tuple[Tables, IntArray] | None:
        """A group's assignments that decisions on it alone allow, and its cells in their order.

        Cells are added one by one, and tables are dropped as soon as a decision can be checked.
        None if there are too many, or no time.
        """
        open_decisions = self._decisions_on_one_group(position)
        unplaced = set(self.cells_of_group[position].tolist())
        bag, placed_cells = self._bag(position), []
        # (ways, cells in `placed_cells`, values); (ways, values) of all other cells together.
        tables, remaining = np.zeros((1, 0, len(bag)), dtype=np.int32), bag[None]
        while unplaced:
            # Which cells are missing until all children of a decision but one are complete. The
            # decision with the fewest goes first, so that impossible tables are dropped early.
            missing_cells = {number: self._lacking(number, unplaced) for number in open_decisions}
            # Without open decisions, all but one: the last cell takes what is left.
            all_but_one = sorted(unplaced)[:-1] or sorted(unplaced)
            for cell in min(missing_cells.values(), key=len, default=all_but_one):
                extended = with_next_cell(
                    tables, remaining, int(self.sizes[cell]), most_assignments
                )
                if extended is None or clock.over:
                    return None
                tables, remaining = extended
                placed_cells.append(cell)
                unplaced.discard(cell)
            other_cells = sorted(unplaced)
            for number, missing in missing_cells.items():
                if not set(missing) <= set(placed_cells):
                    continue
                open_decisions.remove(number)
                side_of_cells = self.sides[number][placed_cells]
                complete_tables = tables
                if other_cells:
                    # They are all in one child, so what is left stands for them as one cell.
                    complete_tables = _with_remaining(tables, remaining)
                    side_of_cells = np.append(side_of_cells, self.sides[number][other_cells[0]])
                allowed = self.decisions[number].holds(complete_tables, self.values, side_of_cells)
                tables, remaining = tables[allowed], remaining[allowed]
            if not open_decisions and len(unplaced) == 1:
                placed_cells.append(unplaced.pop())
                tables = _with_remaining(tables, remaining)
        return tables, np.array(placed_cells)

    def _lacking(self, number: int, unplaced: set[int]) -> list[int]:
        """The unplaced cells of a decision's children, except of the child with most of them.

        Once these are placed, what is left is that child's, and the decision can be checked.
        """
        cells_by_child: dict[int, list[int]] = {}
        for cell in sorted(unplaced):
            cells_by_child.setdefault(int(self.sides[number][cell]), []).append(cell)
        fewest_cells_first = sorted(cells_by_child.values(), key=len)
        # The child with most cells, the last, is left out.
        return [*chain.from_iterable(fewest_cells_first[:-1])]

    # ---- from the true world ------------------------------------------------------------------

    @property
    def suspects(self) -> IntArray:
        """Cells with one value in all possible assignments so far, in groups with several."""
        return np.flatnonzero(self.worlds.mixed[self.cells] & self.sample.one_valued)

    def note_exchanges(self, clock: _Clock) -> None:
        """Note in `sample` possible worlds that differ from the true one by one exchange of values.

        A suspect is a cell with one value in all possible worlds so far. It exchanges a value with
        another cell of its group; if the decisions still go as they did, its value is not certain.
        """
        all_cells = np.arange(len(self.cells))
        exchanges: list[tuple[int, int, int, int]] = []  # cell, partner, their values
        for cells in self.cells_of_group:
            for cell in np.intersect1d(cells, self.suspects).tolist():
                value = int(np.flatnonzero(self.true_counts[cell])[0])
                for partner in cells.tolist():
                    partner_values = {*np.flatnonzero(self.true_counts[partner]).tolist()}
                    other_values = sorted(partner_values - {value})
                    exchanges += product([cell], [partner], [value], other_values)
        step = max(1, _NUMBERS // (self.true_counts.size + 1))
        for start in range(0, len(exchanges), step):
            batch = exchanges[start : start + step]
            cell, partner, value, other_value = np.array(batch).T  # an array each
            tables = np.repeat(self.true_counts[None], len(batch), axis=0)
            table = np.arange(len(batch))  # one for each exchange
            tables[table, cell, value] -= 1
            tables[table, cell, other_value] += 1
            tables[table, partner, value] += 1
            tables[table, partner, other_value] -= 1
            possible = self._possible(tables, range(len(self.decisions)), all_cells, clock)
            if possible is None:
                return
            self.sample.meet(tables[possible])

    def narrow_by_decisions(self, low: FloatArray, high: FloatArray, clock: _Clock) -> None:
        """Narrow `low` and `high` (cells x values) in place, by the chance that a decision differs.

        What holds in a share of all worlds holds in at most that share divided by (1 - chance) of
        the possible worlds.
        """
        # The chance that any of the decisions differs is at most the sum.
        chance_to_differ = sum(
            decision.chance_to_differ(self.worlds, clock) for decision in self.decisions
        )
        if chance_to_differ < 1:
            shares = self.worlds.shares[self.cells]
            upper = shares / (1 - chance_to_differ) * (1 + _UP)
            lower = (shares - chance_to_differ) / (1 - chance_to_differ) - _UP
            high[self.cells] = np.minimum(high[self.cells], upper)
            low[self.cells] = np.maximum(low[self.cells], lower)

    def draw(self, n_draws: int, clock: _Clock, random: np.random.Generator) -> None:
        """Draw assignments of each group, and join the possible ones to worlds of the part.

        Notes the possible worlds in `sample`; notes nothing if time is up.
        """
        # Each group keeps the draws that the decisions on it alone allow.
        tables_of_groups = []
        for position, cells in enumerate(self.cells_of_group):
            tables_of_group = drawn_tables(
                self._bag(position), self.sizes[cells].tolist(), n_draws, random
            )
            possible = self._possible(
                tables_of_group, self._decisions_on_one_group(position), cells, clock
            )
            if possible is None:
                return
            tables_of_groups.append(tables_of_group[possible])
        # The groups are independent: the first of each, the second of each and so on are worlds.
        n_tables = min(map(len, tables_of_groups))
        tables = np.concatenate(
            [tables_of_group[:n_tables] for tables_of_group in tables_of_groups], axis=1
        )
        cell_order = np.concatenate(self.cells_of_group)
        possible = self._possible(tables, self._decisions_on_several_groups(), cell_order, clock)
        if possible is None:
            return
        self.sample.keep(tables[possible][:, np.argsort(cell_order)], n_draws)


class _Enumerated(NamedTuple):
    """All possible worlds of a part."""

    n_worlds: int
    posteriors: list[list[Fraction]]  # of each cell of the part, for each value of the worlds


def _with_remaining(tables: Tables, remaining: IntArray) -> Tables:
    """Tables with one more cell, which takes the values that each leaves."""
    return np.concatenate((tables, remaining[:, None].astype(np.int32)), axis=1)


def _decisions_that_can_differ(
    decisions: list[_RunDecision],
    worlds: Worlds,
    most_assignments: int,
    clock: _Clock,
    random: np.random.Generator,
) -> list[_RunDecision]:
    """The decisions that may go differently in some world, those on the fewest people first.

    Others tell nothing. That one always goes as it did is shown by a bound or by trying every
    world; a few random worlds come first, since they often show at once that it does not.
    """
    early_clock, informative = clock.part(_IDLE), []
    candidates: list[tuple[float, _RunDecision]] = []  # that may always go as they did
    for decision in sorted(decisions, key=lambda decision: len(decision.decision.people)):
        if decision.n_children > _HALVES and not decision.chance_to_differ(worlds, early_clock):
            continue
        if not early_clock.over and not decision.differs_at_random(worlds, random):
            candidates.append((decision.n_divisions(worlds), decision))
        else:
            informative.append(decision)
    for n_ways, decision in sorted(candidates, key=lambda pair: pair[0]):
        # What was not shown to repeat in time counts as telling something, which is safe.
        if (
            n_ways > most_assignments
            or early_clock.over
            or not decision.always_repeats(worlds, most_assignments)
        ):
            informative.append(decision)
    return informative


def _draw(
    parts: list[_Part], most_assignments: int, clock: _Clock, random: np.random.Generator
) -> None:
    """Draw assignments of every part in turn, until each has `most_assignments` or time is up."""
    n_done = 0
    while n_done < most_assignments and not clock.over:
        n_draws = min(_DRAWN, most_assignments - n_done)
        for part in parts:
            if clock.over:
                return
            part.draw(n_draws, clock, random)
        n_done += n_draws


def _cell_of_people(worlds: Worlds, decisions: list[_RunDecision]) -> IntArray:
    """The cell of each person: people of one group, on the same side of every decision."""
    cell_of = worlds.groups.copy()  # (people,): begins with groups, and is divided by decisions
    n_cells = worlds.n_groups
    for decision in decisions:
        people = decision.decision.people
        # One number for a cell and a child: people who differ in either are in different cells.
        keys = cell_of[people] * decision.n_children + decision.decision.child
        new_cells, new_cell_of_person = np.unique(keys, return_inverse=True)
        cell_of[people] = n_cells + new_cell_of_person.reshape(-1)
        n_cells += len(new_cells)
    _, without_gaps = np.unique(cell_of, return_inverse=True)
    cells: IntArray = without_gaps.reshape(-1).astype(np.int64)
    return cells


def _parts_of(worlds: Worlds, decisions: list[_RunDecision]) -> list[_Part]:
    """The parts: groups that decisions link with each other, and these decisions.

    A decision that looks at two groups makes them one part; parts are independent.
    """
    decisions_of_group: dict[int, list[int]] = {group: [] for group in range(worlds.n_groups)}
    for number, decision in enumerate(decisions):
        for group in decision.groups:
            decisions_of_group[group].append(number)
    parts = []
    for groups in components(decisions_of_group, decisions_of_group.__getitem__):
        numbers = set[int]().union(*(decisions_of_group[group] for group in groups))
        decisions_of_part = [decisions[number] for number in sorted(numbers)]
        parts.append(_Part.of(worlds, sorted(groups), decisions_of_part))
    return parts


def _share_bounds(worlds: Worlds) -> tuple[FloatArray, FloatArray]:
    """The least and the highest share of each value in each cell, over all worlds (cells x values).

    Of a value, a cell has at least the holders for whom the rest of the group has no room, and at
    most all holders of the group.
    """
    bags, size = worlds.bags[worlds.group_of_cell], worlds.cell_sizes[:, None]
    n_others = bags.sum(axis=1, keepdims=True) - size
    return np.maximum(bags - n_others, 0) / size, np.minimum(bags, size) / size
