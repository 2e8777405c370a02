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
    divided,
    drawn_tables,
    grown,
    n_taken,
    paired,
    taken,
    ways,
)
from foreknow.attacks.exact import Posteriors
from foreknow.attacks.sampled import Sampled
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
    worlds: Worlds, replay: Replay, most_assignments: int, until: float | None, seed: int | None
) -> Posteriors:
    """Posteriors part by part: exact up to `most_assignments`, else bounds with an estimate."""
    random = np.random.default_rng(seed)
    clock = _Clock(until)
    _log.info("looking at the decisions of the run one by one")
    all_decisions = [_LinkedDecision.of(decision, worlds) for decision in replay.decisions]
    decisions = _telling(all_decisions, worlds, most_assignments, clock, random)
    worlds = replace(worlds, cell_of=_cells(worlds, decisions))
    parts = _parts_of(worlds, decisions)
    _log.info("%d decisions tell something, of %d parts", len(decisions), len(parts))
    low, high = _bounds(worlds)
    mean = np.clip(worlds.shares, low, high)
    exact = np.ones(worlds.n_cells, dtype=bool)
    fractions: dict[int, list[Fraction]] = {}
    decided_parts: list[_Part] = []
    idle: list[int] = []
    for part in parts:
        if part.decisions:
            decided_parts.append(part)
        else:
            idle += part.groups
    consistent = math.prod(map(assignments, worlds.bags[idle].tolist()))
    open_parts: list[_Part] = []
    beyond = 0
    for part in parts:
        part.exchange(clock)
    early = clock.part(_ENUMERATED)
    for part in sorted(decided_parts, key=lambda part: part.n_people):
        possible = None if early.over else part.enumerated(most_assignments, early)
        if possible is None:
            open_parts.append(part)
            beyond += 0 if early.over else part.n_people
            exact[part.cells] = False
            continue
        consistent *= possible[0]
        for cell, row in zip(part.cells.tolist(), possible[1], strict=True):
            fractions[cell] = row
            mean[cell] = low[cell] = high[cell] = list(map(float, row))
    if beyond:
        _log.warning(
            "Of %s people %s are in parts with more than %s assignments: however long it takes, "
            "of these there are estimates only. %s",
            *(f"{count:,}" for count in (worlds.n_people, beyond, most_assignments)),
            _PROVED,
        )
    early = clock.part(_IDLE)
    for part in open_parts:
        part.bound(low, high, early)
    mean = np.clip(mean, low, high)
    _draw(open_parts, most_assignments, clock, random)
    n_open = int(worlds.open[~exact].sum())
    one_valued = np.zeros(worlds.n_cells, dtype=bool)
    for part in open_parts:
        cells, sample = part.cells, part.sample
        one_valued[cells] = sample.one_valued
        if sample.kept:
            estimate = np.zeros((len(cells), worlds.n_values))
            estimate[:, part.values], half = sample.interval(worlds.open[cells], n_open)
            low[cells] = np.maximum(low[cells], estimate - half)
            high[cells] = np.minimum(high[cells], estimate + half)
            mean[cells] = np.clip(estimate, low[cells], high[cells])
    return Posteriors(
        worlds,
        "parts",
        sum(part.sample.drawn for part in open_parts) if open_parts else worlds.n_worlds,
        sum(part.sample.kept for part in open_parts) if open_parts else consistent,
        1,
        mean,
        low,
        high,
        perhaps_certain=one_valued & worlds.mixed & (high.max(axis=1) >= 1),
        fractions=fractions,
        exact_cells=exact,
        parts=len(parts),
        beyond=beyond,
    )


@dataclass(frozen=True)
class _Clock:
    until: float | None

    @property
    def over(self) -> bool:
        return self.until is not None and time.monotonic() > self.until

    def part(self, share: float) -> _Clock:
        """A clock that ends after a share of the remaining time."""
        now = time.monotonic()
        return _Clock(None if self.until is None else now + share * max(0, self.until - now))


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
        """True where the decision repeats, (worlds,), for tables of shape (worlds, cells, values).

        `sides`: the child that each cell is in, -1 for none; `values`: the code of each column.
        """
        n_values = self.decision.fixed.shape[1]
        step = max(1, _NUMBERS // (self.n_children * n_values))
        holding = np.zeros(len(tables), dtype=bool)
        # Cells that are in a child, one child after another; where the cells of each begin.
        order = np.argsort(sides, kind="stable")[np.count_nonzero(sides < 0) :]
        children, starts = np.unique(sides[order], return_index=True)
        for start in range(0, len(tables), step):
            batch = tables[start : start + step, order]
            dense = np.zeros((len(batch), self.n_children, n_values), dtype=np.int64)
            sums = np.add.reduceat(batch, starts, axis=1, dtype=np.int64)  # of children, not cells
            dense[:, children[:, None], values] = sums
            holding[start : start + step] = self.decision.holds(dense)
        return holding

    def otherwise(self, worlds: Worlds, clock: _Clock) -> float:
        """An upper bound of the chance, over all worlds, that the decision goes otherwise.

        It goes as it did if one part alone is reason enough. Of each group the part is looked at
        that most often is; what different groups have is independent.
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
            chosen = taken(bag[values], size)
            dense = np.zeros((len(chosen), len(bag)), dtype=np.int64)
            dense[:, values] = chosen
            failing_ways = chosen[~suffices(part, dense)].tolist()
            if not failing_ways:
                return 0.0
            have, n_ways = bag[values].tolist(), math.comb(int(bag.sum()), size)
            otherwise = sum(math.prod(map(math.comb, have, way)) for way in failing_ways)
            chance_by_group[asked_group] = min(
                chance_by_group.get(asked_group, 1.0), otherwise / n_ways
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
        people = np.concatenate([worlds.members[group] for group in groups])
        cells, place = np.unique(worlds.cell_of[people], return_inverse=True)
        place = place.reshape(-1)
        values = np.flatnonzero(worlds.bags[groups].sum(axis=0))
        true = np.zeros((len(cells), len(values)), dtype=np.int64)
        np.add.at(true, (place, np.searchsorted(values, worlds.codes[people])), 1)
        owner = worlds.group_of_cell[cells]
        of_group = [np.flatnonzero(owner == group) for group in groups]
        sides = []
        for decision in decisions:
            side = np.full(len(cells), -1)
            side[np.searchsorted(cells, worlds.cell_of[decision.decision.people])] = (
                decision.decision.child
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
        self, tables: NDArray[Any], which: Sequence[int], cells: IntArray, clock: _Clock
    ) -> NDArray[np.int64] | None:
        """Tables in which some decisions go as they did, with these `cells`; None if time is up."""
        possible = np.arange(len(tables))
        for i in which:
            if clock.over:
                return None
            possible = possible[
                self.decisions[i].holds(tables[possible], self.values, self.sides[i][cells])
            ]
        return possible

    # ---- exactly ---------------------------------------------------------------------------

    def enumerated(
        self, most_assignments: int, clock: _Clock
    ) -> tuple[int, list[list[Fraction]]] | None:
        """How many worlds of the part are possible, and each cell's posteriors; None for many."""
        tables = np.zeros((1, 0, len(self.values)), dtype=np.int32)  # (worlds, cells, values)
        order = np.empty(0, dtype=np.int64)  # the cells of tables, group after group
        for position in range(len(self.groups)):
            tables_and_cells = self._of_group(position, most_assignments // len(tables), clock)
            if tables_and_cells is None:
                return None
            tables = paired(tables, tables_and_cells[0])
            order = np.append(order, tables_and_cells[1])
        possible = self._possible(tables, self._shared(), order, clock)
        if possible is None:
            return None
        tables = tables[possible][:, np.argsort(order)]
        n_ways = ways(tables)  # (worlds,)
        n_worlds = int(n_ways.sum())
        posteriors = []
        for cell, size in enumerate(self.sizes.tolist()):
            row = [Fraction(0)] * self.worlds.n_values
            for place, code in enumerate(self.values.tolist()):
                row[code] = Fraction(int((n_ways * tables[:, cell, place]).sum()), n_worlds * size)
            posteriors.append(row)
        return n_worlds, posteriors

    def _of_group(
        self, position: int, most_assignments: int, clock: _Clock
    ) -> tuple[Tables, IntArray] | None:
        """Assignments of one group that its own decisions allow, and its cells in their order."""
        waiting, unplaced = (
            self._decisions_on_one_group(position),
            set(self.of_group[position].tolist()),
        )
        bag, order = self._bag(position), []
        # (ways, cells in `order`, values); (ways, values) of all other cells together.
        done, remaining = np.zeros((1, 0, len(bag)), dtype=np.int32), bag[None]
        while unplaced:
            # What completes all children of some decision but one, with the fewest cells.
            lacks = {i: self._lacking(i, unplaced) for i in waiting}
            next_cells = min(
                lacks.values(), key=len, default=sorted(unplaced)[:-1] or sorted(unplaced)
            )
            for cell in next_cells or []:
                step = grown(done, remaining, int(self.sizes[cell]), most_assignments)
                if step is None or clock.over:
                    return None
                done, remaining = step
                order.append(cell)
                unplaced.discard(cell)
            ready = [i for i, lack in lacks.items() if set(lack) <= set(order)]
            waiting = [i for i in waiting if i not in ready]
            last = sorted(unplaced)
            for i in ready:
                # All other cells are in one child: what is left stands for them.
                side = np.append(self.sides[i][order], self.sides[i][last[:1]])
                tables = (
                    np.concatenate((done, remaining[:, None].astype(np.int32)), axis=1)
                    if last
                    else done
                )
                allowed = self.decisions[i].holds(tables, self.values, side)
                done, remaining = done[allowed], remaining[allowed]
            if not waiting and len(unplaced) == 1:
                order.append(unplaced.pop())
                done = np.concatenate((done, remaining[:, None].astype(np.int32)), axis=1)
        return done, np.array(order)

    def _lacking(self, which: int, unplaced: set[int]) -> list[int]:
        """The unplaced cells in all children of a decision except the child with most of them."""
        of_child: dict[int, list[int]] = {}
        for cell in sorted(unplaced):
            of_child.setdefault(int(self.sides[which][cell]), []).append(cell)
        cell_lists = sorted(of_child.values(), key=len)
        return [*chain.from_iterable(cell_lists[:-1])]

    # ---- from the true world ------------------------------------------------------------------

    @property
    def suspects(self) -> IntArray:
        """Cells with one value in all possible assignments so far, in groups with several."""
        return np.flatnonzero(self.worlds.mixed[self.cells] & self.sample.one_valued)

    def exchange(self, clock: _Clock) -> None:
        """Let the suspects exchange values with every other cell of their group, once."""
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
        """Bound posteriors by how probable it is that all decisions go as they did: 1 - `chance`.

        What is so in a share of all worlds is so in at most that share divided by 1 - `chance` of
        those that are left.
        """
        chance = sum(decision.otherwise(self.worlds, clock) for decision in self.decisions)
        if chance < 1:
            shares = self.worlds.shares[self.cells]
            upper = shares / (1 - chance) * (1 + _UP)
            lower = (shares - chance) / (1 - chance) - _UP
            high[self.cells] = np.minimum(high[self.cells], upper)
            low[self.cells] = np.maximum(low[self.cells], lower)

    def draw(self, n_draws: int, clock: _Clock, random: np.random.Generator) -> None:
        """Draw assignments of each group, and put possible ones together, each once."""
        of_groups = []
        for position, cells in enumerate(self.of_group):
            drawn = drawn_tables(self._bag(position), self.sizes[cells].tolist(), n_draws, random)
            possible = self._possible(drawn, self._decisions_on_one_group(position), cells, clock)
            if possible is None:
                return
            of_groups.append(drawn[possible])
        n_tables = min(map(len, of_groups))
        tables = np.concatenate([drawn[:n_tables] for drawn in of_groups], axis=1)
        order = np.concatenate(self.of_group)
        possible = self._possible(tables, self._shared(), order, clock)
        if possible is None:
            return
        self.sample.keep(tables[possible][:, np.argsort(order)], n_draws)


def _telling(
    decisions: list[_LinkedDecision],
    worlds: Worlds,
    most_assignments: int,
    clock: _Clock,
    random: np.random.Generator,
) -> list[_LinkedDecision]:
    """The decisions that may go otherwise in some world, the smallest first."""
    early, telling, candidates = clock.part(_IDLE), [], []
    for decision in sorted(decisions, key=lambda decision: len(decision.decision.people)):
        if decision.n_children > _HALVES and not decision.otherwise(worlds, early):
            continue
        if not early.over and not decision.moves(worlds, random):
            candidates.append((decision.many(worlds), decision))
        else:
            telling.append(decision)
    for n_ways, decision in sorted(candidates, key=lambda pair: pair[0]):
        if (
            n_ways > most_assignments
            or early.over
            or not decision.is_idle(worlds, most_assignments)
        ):
            telling.append(decision)
    return telling


def _draw(
    parts: list[_Part], most_assignments: int, clock: _Clock, random: np.random.Generator
) -> None:
    """Draw assignments of every part in turn, while there is time."""
    done = 0
    while done < most_assignments and not clock.over:
        n_draws = min(_DRAWN, most_assignments - done)
        for part in parts:
            if clock.over:
                return
            part.draw(n_draws, clock, random)
        done += n_draws


def _cells(worlds: Worlds, decisions: list[_LinkedDecision]) -> IntArray:
    """The cell of each person: people of one group, on one side of every decision."""
    cell_of = worlds.groups.copy()  # (people,): begins with groups, and is divided by decisions
    n_cells = worlds.n_groups
    for decision in decisions:
        people = decision.decision.people
        keys = cell_of[people] * decision.n_children + decision.decision.child
        names, place = np.unique(keys, return_inverse=True)
        cell_of[people] = n_cells + place.reshape(-1)
        n_cells += len(names)
    _, numbered = np.unique(cell_of, return_inverse=True)
    cells: IntArray = numbered.reshape(-1).astype(np.int64)
    return cells


def _parts_of(worlds: Worlds, decisions: list[_LinkedDecision]) -> list[_Part]:
    """The parts: groups that decisions link, with those decisions."""
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
