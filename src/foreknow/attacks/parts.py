"""Parts: sets of groups whose values depend on each other, each attacked by itself.

A run that says which of its decisions depend on who has what (a `replay`) divides the question.
Worlds are possible just if each of these decisions goes as it did. One that goes so however the
values are assigned tells nothing and is dropped. Groups that no remaining decision looks at
together are independent: a possible world is one possible assignment for each part. And people of
one group who are on one side of every remaining decision are interchangeable, so that they share
a *cell*.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foreknow.attacks.divisions import (
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
from foreknow.attacks.exact_posteriors import Posteriors
from foreknow.attacks.sampled_worlds import Sampled
from foreknow.attacks.worlds import Worlds
from foreknow.data.arrays import FloatArray, IntArray
from foreknow.methods.protocol import Decision
from foreknow.worlds import components

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
    """The posteriors, part by part.

    A part with at most `most_assignments` is worked out exactly; others get bounds and an estimate.
    """
    random = np.random.default_rng(seed)
    clock = _Clock(end_time)
    _log.info("looking at the decisions of the run one by one")
    all_decisions = [_LinkedDecision.of(decision, worlds) for decision in replay.decisions]
    decisions = _informative(all_decisions, worlds, most_assignments, clock, random)
    worlds = replace(worlds, cell_of=_cells(worlds, decisions))
    parts = _parts_of(worlds, decisions)
    _log.info("%d decisions tell something, of %d parts", len(decisions), len(parts))
    low, high = _bounds(worlds)
    mean = np.clip(worlds.shares, low, high)
    is_exact = np.ones(worlds.n_cells, dtype=bool)
    fractions: dict[int, list[Fraction]] = {}
    decided_parts: list[_Part] = []
    groups_without_decisions: list[int] = []
    for part in parts:
        if part.decisions:
            decided_parts.append(part)
        else:
            groups_without_decisions += part.groups
    n_consistent = math.prod(map(assignments, worlds.bags[groups_without_decisions].tolist()))
    open_parts: list[_Part] = []
    n_beyond = 0
    for part in parts:
        part.exchange(clock)
    early_clock = clock.part(_ENUMERATED)
    for part in sorted(decided_parts, key=lambda part: part.n_people):
        worlds_and_posteriors = (
            None if early_clock.over else part.enumerated(most_assignments, early_clock)
        )
        if worlds_and_posteriors is None:
            open_parts.append(part)
            n_beyond += 0 if early_clock.over else part.n_people
            is_exact[part.cells] = False
            continue
        n_consistent *= worlds_and_posteriors[0]
        for cell, row in zip(part.cells.tolist(), worlds_and_posteriors[1], strict=True):
            fractions[cell] = row
            mean[cell] = low[cell] = high[cell] = list(map(float, row))
    if n_beyond:
        _log.warning(
            "Of %s people %s are in parts with more than %s assignments: however long it takes, "
            "of these there are estimates only. %s",
            *(f"{count:,}" for count in (worlds.n_people, n_beyond, most_assignments)),
            _PROVED,
        )
    early_clock = clock.part(_IDLE)
    for part in open_parts:
        part.bound(low, high, early_clock)
    mean = np.clip(mean, low, high)
    _draw(open_parts, most_assignments, clock, random)
    n_open = int(worlds.open[~is_exact].sum())
    one_valued = np.zeros(worlds.n_cells, dtype=bool)
    for part in open_parts:
        cells, sample = part.cells, part.sample
        one_valued[cells] = sample.one_valued
        if sample.kept:
            estimate = np.zeros((len(cells), worlds.n_values))
            estimate[:, part.values], half_width = sample.interval(worlds.open[cells], n_open)
            low[cells] = np.maximum(low[cells], estimate - half_width)
            high[cells] = np.minimum(high[cells], estimate + half_width)
            mean[cells] = np.clip(estimate, low[cells], high[cells])
    return Posteriors(
        worlds,
        "parts",
        sum(part.sample.drawn for part in open_parts) if open_parts else worlds.n_worlds,
        sum(part.sample.kept for part in open_parts) if open_parts else n_consistent,
        1,
        mean,
        low,
        high,
        perhaps_certain=one_valued & worlds.mixed & (high.max(axis=1) >= 1),
        fractions=fractions,
        exact_cells=is_exact,
        parts=len(parts),
        beyond=n_beyond,
    )


@dataclass(frozen=True)
class _Clock:
    until: float | None

    @property
    def over(self) -> bool:
        return self.until is not None and time.monotonic() > self.until

    def part(self, share: float) -> _Clock:
        """A clock that ends after a share of the remaining time."""
        moment = time.monotonic()
        return _Clock(None if self.until is None else moment + share * max(0, self.until - moment))


@dataclass(frozen=True, eq=False)
class _LinkedDecision:
    """A decision of the method, and the groups on whose values it depends."""

    decision: Decision
    groups: list[int]
    n_children: int

    @classmethod
    def of(cls, decision: Decision, worlds: Worlds) -> _LinkedDecision:
        groups = np.unique(worlds.groups[decision.people]).tolist()
        return cls(decision, groups, len(decision.fixed))

    def holds(self, tables: NDArray[Any], values: IntArray, sides: IntArray) -> NDArray[np.bool_]:
        """True for each of these tables in which the decision goes as it did.

        Tables have the shape (worlds, cells, values). `sides` is the child that each cell is in, or
        -1; `values` is the code of each column.
        """
        n_values = self.decision.fixed.shape[1]
        step = max(1, _NUMBERS // (self.n_children * n_values))
        is_repeated = np.zeros(len(tables), dtype=bool)
        # Cells that are in a child, one child after another; where the cells of each begin.
        order = np.argsort(sides, kind="stable")[np.count_nonzero(sides < 0) :]
        children, starts = np.unique(sides[order], return_index=True)
        for start in range(0, len(tables), step):
            batch = tables[start : start + step, order]
            counts_of_children = np.zeros((len(batch), self.n_children, n_values), dtype=np.int64)
            sums = np.add.reduceat(batch, starts, axis=1, dtype=np.int64)  # of children, not cells
            counts_of_children[:, children[:, None], values] = sums
            is_repeated[start : start + step] = self.decision.holds(counts_of_children)
        return is_repeated

    def chance_to_differ(self, worlds: Worlds, clock: _Clock) -> float:
        """An upper bound of the chance, over all worlds, that the decision goes differently.

        It goes as it did if one part alone suffices for that. Each group is looked at by the part
        that suffices most often; what different groups have is independent.
        """
        suffices = getattr(self.decision, "alone", None)
        child, group = self.decision.child, worlds.groups[self.decision.people]
        if suffices is None:
            return 1.0
        # Pairs of a child and a group that share people, (2, pairs), and how many these are.
        pairs, sizes = np.unique(np.stack((child, group)), axis=1, return_counts=True)
        # Whether nobody else of the part is in another group.
        is_whole = np.bincount(pairs[0])[pairs[0]] == 1
        chance_by_group: dict[int, float] = {}
        for pair in np.argsort(sizes, kind="stable").tolist():
            (part, asked_group), size = pairs[:, pair].tolist(), int(sizes[pair])
            bag = worlds.bags[asked_group]
            values = np.flatnonzero(bag)
            if not is_whole[pair] or n_taken(bag[values], size) > _TAKEN:
                continue
            if clock.over:
                break
            ways = ways_to_take(bag[values], size)
            tables = np.zeros((len(ways), len(bag)), dtype=np.int64)
            tables[:, values] = ways
            failing_ways = ways[~suffices(part, tables)].tolist()
            if not failing_ways:
                return 0.0
            occurrences, n_ways = bag[values].tolist(), math.comb(int(bag.sum()), size)
            n_failing = sum(math.prod(map(math.comb, occurrences, way)) for way in failing_ways)
            chance_by_group[asked_group] = min(
                chance_by_group.get(asked_group, 1.0), n_failing / n_ways
            )
        return min(1.0, math.prod(chance_by_group.values()) * (1 + _UP))

    def moves(self, worlds: Worlds, random: np.random.Generator) -> bool:
        """True if the decision differs in one of some drawn worlds."""
        halves = self._halves(worlds)
        tables = [drawn_tables(bag, sizes, _FIRST, random) for bag, sizes, _ in halves]
        return not self.holds(np.concatenate(tables, axis=1), *self._places(worlds)).all()

    def many(self, worlds: Worlds) -> float:
        """About how many ways there are to divide the values on which the decision depends."""
        ways: list[float] = []
        for bag, sizes, _ in self._halves(worlds):
            ways += [n_taken(bag, size) for size in sizes[:-1]]
        return math.prod(ways)

    def is_idle(self, worlds: Worlds, most_assignments: int) -> bool:
        """True if every world was tried, and the decision went as it did in each."""
        values, sides = self._places(worlds)
        tables = np.zeros((1, 0, len(values)), dtype=np.int32)
        for bag, sizes, _ in self._halves(worlds):
            further_tables = divided(bag, sizes, most_assignments // len(tables))
            if further_tables is None:
                return False
            tables = paired(tables, further_tables)
        return bool(self.holds(tables, values, sides).all())

    def _halves(self, worlds: Worlds) -> list[tuple[IntArray, list[int], list[int]]]:
        """The bag of each group, its people in each child, and these children."""
        child, group = self.decision.child, worlds.groups[self.decision.people]
        values, halves = self._values(worlds), []
        for asked_group in self.groups:
            sides, sizes = np.unique(child[group == asked_group], return_counts=True)
            halves.append((worlds.bags[asked_group][values], sizes.tolist(), sides.tolist()))
        return halves

    def _values(self, worlds: Worlds) -> IntArray:
        return np.flatnonzero(worlds.bags[self.groups].any(axis=0))

    def _places(self, worlds: Worlds) -> tuple[IntArray, IntArray]:
        sides = chain.from_iterable(sides_of_group for _, _, sides_of_group in self._halves(worlds))
        return self._values(worlds), np.array(list(sides))


@dataclass(eq=False)
class _Part:
    """Some groups, their cells, and the decisions that look at them."""

    groups: list[int]
    decisions: list[_LinkedDecision]
    worlds: Worlds
    cells: IntArray  # (cells,): their numbers in `worlds`; below, cells are places in this
    of_group: list[IntArray]  # the cells of each group
    sizes: IntArray  # (cells,): people
    values: IntArray  # (values,): the codes that occur; below, values are places in this
    true: NDArray[Any]  # (cells, values): people of the true world
    sides: list[IntArray]  # of each decision, (cells,): the child of each, or -1

    @classmethod
    def of(cls, worlds: Worlds, groups: list[int], decisions: list[_LinkedDecision]) -> _Part:
        """Count the cells and true values of some groups, and the side of each cell by decision.

        A cell is people of one group who look alike to the method. A decision of the method has
        sides, such as the two parts of a cut.
        """
        people = np.concatenate([worlds.members[group] for group in groups])
        cells, cell_of_person = np.unique(worlds.cell_of[people], return_inverse=True)
        cell_of_person = cell_of_person.reshape(-1)
        values = np.flatnonzero(worlds.bags[groups].sum(axis=0))
        true = np.zeros((len(cells), len(values)), dtype=np.int64)
        np.add.at(true, (cell_of_person, np.searchsorted(values, worlds.codes[people])), 1)
        group_of_cell = worlds.group_of_cell[cells]
        of_group = [np.flatnonzero(group_of_cell == group) for group in groups]
        sides = []
        for linked in decisions:
            side = np.full(len(cells), -1)
            side[np.searchsorted(cells, worlds.cell_of[linked.decision.people])] = (
                linked.decision.child
            )
            sides.append(side)
        return cls(
            groups, decisions, worlds, cells, of_group, true.sum(axis=1), values, true, sides
        )

    def __post_init__(self) -> None:
        self.sample = Sampled(self.sizes, len(self.values))
        self.sample.meet(self.true[None])

    @property
    def n_people(self) -> int:
        return int(self.sizes.sum())

    def _bag(self, position: int) -> IntArray:
        bag: IntArray = self.worlds.bags[self.groups[position]][self.values]
        return bag

    def _decisions_on_one_group(self, position: int) -> list[int]:
        """The decisions that depend on one group alone."""
        groups = [self.groups[position]]
        return [place for place, decision in enumerate(self.decisions) if decision.groups == groups]

    def _shared(self) -> list[int]:
        return [i for i, decision in enumerate(self.decisions) if len(decision.groups) > 1]

    def _possible(
        self, tables: NDArray[Any], numbers: Sequence[int], cells: IntArray, clock: _Clock
    ) -> NDArray[np.int64] | None:
        """Which tables of these cells are possible: decisions go as they did.

        None if time is up.
        """
        possible = np.arange(len(tables))
        for number in numbers:
            if clock.over:
                return None
            possible = possible[
                self.decisions[number].holds(
                    tables[possible], self.values, self.sides[number][cells]
                )
            ]
        return possible

    # ---- exactly ---------------------------------------------------------------------------

    def enumerated(
        self, most_assignments: int, clock: _Clock
    ) -> tuple[int, list[list[Fraction]]] | None:
        """The number of possible worlds of these groups, and each cell's posterior of each value.

        None if there are more assignments than `most_assignments`, or the time is over.
        """
        tables = np.zeros((1, 0, len(self.values)), dtype=np.int32)  # (worlds, cells, values)
        cell_order = np.empty(0, dtype=np.int64)  # the cells of tables, group after group
        for position in range(len(self.groups)):
            tables_and_cells = self._allowed_in_group(
                position, most_assignments // len(tables), clock
            )
            if tables_and_cells is None:
                return None
            tables = paired(tables, tables_and_cells[0])
            cell_order = np.append(cell_order, tables_and_cells[1])
        possible = self._possible(tables, self._shared(), cell_order, clock)
        if possible is None:
            return None
        tables = tables[possible][:, np.argsort(cell_order)]
        n_ways = assignments_of_tables(tables)  # (worlds,)
        n_worlds = int(n_ways.sum())
        posteriors = []
        for cell, size in enumerate(self.sizes.tolist()):
            row = [Fraction(0)] * self.worlds.n_values
            for position_of_value, code in enumerate(self.values.tolist()):
                row[code] = Fraction(
                    int((n_ways * tables[:, cell, position_of_value]).sum()), n_worlds * size
                )
            posteriors.append(row)
        return n_worlds, posteriors

    def _allowed_in_group(
        self, position: int, most_assignments: int, clock: _Clock
    ) -> tuple[Tables, IntArray] | None:
        """The assignments of a group that decisions on it alone allow, and its cells in that order.

        Cells are added one by one, and tables are dropped as soon as a decision can be checked.
        None if there are too many, or no time.
        """
        open_decisions = self._decisions_on_one_group(position)
        unplaced = set(self.of_group[position].tolist())
        bag, placed_cells = self._bag(position), []
        # (ways, cells in `placed_cells`, values); (ways, values) of all other cells together.
        tables, remaining = np.zeros((1, 0, len(bag)), dtype=np.int32), bag[None]
        while unplaced:
            # What completes all children of some decision but one, with the fewest cells.
            missing_cells = {number: self._lacking(number, unplaced) for number in open_decisions}
            next_cells = min(
                missing_cells.values(), key=len, default=sorted(unplaced)[:-1] or sorted(unplaced)
            )
            for cell in next_cells or []:
                extended = with_next_cell(
                    tables, remaining, int(self.sizes[cell]), most_assignments
                )
                if extended is None or clock.over:
                    return None
                tables, remaining = extended
                placed_cells.append(cell)
                unplaced.discard(cell)
            decidable = [
                number
                for number, missing in missing_cells.items()
                if set(missing) <= set(placed_cells)
            ]
            open_decisions = [number for number in open_decisions if number not in decidable]
            other_cells = sorted(unplaced)
            for number in decidable:
                # All other cells are in one child: what is left stands for them.
                side = np.append(
                    self.sides[number][placed_cells], self.sides[number][other_cells[:1]]
                )
                complete_tables = (
                    np.concatenate((tables, remaining[:, None].astype(np.int32)), axis=1)
                    if other_cells
                    else tables
                )
                allowed = self.decisions[number].holds(complete_tables, self.values, side)
                tables, remaining = tables[allowed], remaining[allowed]
            if not open_decisions and len(unplaced) == 1:
                placed_cells.append(unplaced.pop())
                tables = np.concatenate((tables, remaining[:, None].astype(np.int32)), axis=1)
        return tables, np.array(placed_cells)

    def _lacking(self, position: int, unplaced: set[int]) -> list[int]:
        """The unplaced cells in all children of a decision except the child with most of them."""
        of_child: dict[int, list[int]] = {}
        for cell in sorted(unplaced):
            of_child.setdefault(int(self.sides[position][cell]), []).append(cell)
        cell_lists = sorted(of_child.values(), key=len)
        return [*chain.from_iterable(cell_lists[:-1])]

    # ---- from the true world ------------------------------------------------------------------

    @property
    def suspects(self) -> IntArray:
        """Cells with one value in all possible assignments so far, in groups with several."""
        return np.flatnonzero(self.worlds.mixed[self.cells] & self.sample.one_valued)

    def exchange(self, clock: _Clock) -> None:
        """Meet the worlds in which a suspect exchanges values with another cell of their group."""
        all_cells = np.arange(len(self.cells))
        rows: list[tuple[int, int, int, int]] = []
        for cells in self.of_group:
            for cell in np.intersect1d(cells, self.suspects).tolist():
                value = int(np.flatnonzero(self.true[cell])[0])
                for partner in cells.tolist():
                    partner_values = {*np.flatnonzero(self.true[partner]).tolist()}
                    other_values = sorted(partner_values - {value})
                    rows += product([cell], [partner], [value], other_values)
        step = max(1, _NUMBERS // (self.true.size + 1))
        for start in range(0, len(rows), step):
            # (exchanges,) each: a suspect, another cell, and the values that they exchange.
            cell, partner, value, other_value = np.array(rows[start : start + step]).T
            tables = np.repeat(self.true[None], len(cell), axis=0)
            exchange = np.arange(len(cell))
            tables[exchange, cell, value] -= 1
            tables[exchange, cell, other_value] += 1
            tables[exchange, partner, value] += 1
            tables[exchange, partner, other_value] -= 1
            possible = self._possible(tables, range(len(self.decisions)), all_cells, clock)
            if possible is None:
                return
            self.sample.meet(tables[possible])

    def bound(self, low: FloatArray, high: FloatArray, clock: _Clock) -> None:
        """Lower `high` and raise `low` by the chance that some decision goes differently.

        What holds in a share of all worlds holds in at most that share divided by (1 - chance) of
        the possible worlds.
        """
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
        """Draw assignments of each group, and join the possible ones to worlds of the part."""
        tables_of_groups = []
        for position, cells in enumerate(self.of_group):
            tables_of_group = drawn_tables(
                self._bag(position), self.sizes[cells].tolist(), n_draws, random
            )
            possible = self._possible(
                tables_of_group, self._decisions_on_one_group(position), cells, clock
            )
            if possible is None:
                return
            tables_of_groups.append(tables_of_group[possible])
        n_tables = min(map(len, tables_of_groups))
        tables = np.concatenate(
            [tables_of_group[:n_tables] for tables_of_group in tables_of_groups], axis=1
        )
        order = np.concatenate(self.of_group)
        possible = self._possible(tables, self._shared(), order, clock)
        if possible is None:
            return
        self.sample.keep(tables[possible][:, np.argsort(order)], n_draws)


def _informative(
    decisions: list[_LinkedDecision],
    worlds: Worlds,
    most_assignments: int,
    clock: _Clock,
    random: np.random.Generator,
) -> list[_LinkedDecision]:
    """The decisions that may go differently in some world, those on the fewest people first."""
    early_clock, informative, candidates = clock.part(_IDLE), [], []
    for decision in sorted(decisions, key=lambda decision: len(decision.decision.people)):
        if decision.n_children > _HALVES and not decision.chance_to_differ(worlds, early_clock):
            continue
        if not early_clock.over and not decision.moves(worlds, random):
            candidates.append((decision.many(worlds), decision))
        else:
            informative.append(decision)
    for n_ways, decision in sorted(candidates, key=lambda pair: pair[0]):
        if (
            n_ways > most_assignments
            or early_clock.over
            or not decision.is_idle(worlds, most_assignments)
        ):
            informative.append(decision)
    return informative


def _draw(
    parts: list[_Part], most_assignments: int, clock: _Clock, random: np.random.Generator
) -> None:
    """Draw assignments of every part in turn, until there are enough or time is up."""
    n_done = 0
    while n_done < most_assignments and not clock.over:
        n_draws = min(_DRAWN, most_assignments - n_done)
        for part in parts:
            if clock.over:
                return
            part.draw(n_draws, clock, random)
        n_done += n_draws


def _cells(worlds: Worlds, decisions: list[_LinkedDecision]) -> IntArray:
    """The cell of each person; it holds people of one group, on one side of every decision."""
    cell_of = worlds.groups.copy()  # (people,): begins with groups, and is divided by decisions
    n_cells = worlds.n_groups
    for decision in decisions:
        people = decision.decision.people
        keys = cell_of[people] * decision.n_children + decision.decision.child
        names, number = np.unique(keys, return_inverse=True)
        cell_of[people] = n_cells + number.reshape(-1)
        n_cells += len(names)
    _, numbered = np.unique(cell_of, return_inverse=True)
    cells: IntArray = numbered.reshape(-1).astype(np.int64)
    return cells


def _parts_of(worlds: Worlds, decisions: list[_LinkedDecision]) -> list[_Part]:
    """The parts: groups that decisions link with each other, and these decisions."""
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


def _bounds(worlds: Worlds) -> tuple[FloatArray, FloatArray]:
    """Bounds of the share of each value in a cell, which hold in every world."""
    bags, size = worlds.bags[worlds.group_of_cell], worlds.cell_sizes[:, None]
    other_people = bags.sum(axis=1, keepdims=True) - size
    return np.maximum(bags - other_people, 0) / size, np.minimum(bags, size) / size
