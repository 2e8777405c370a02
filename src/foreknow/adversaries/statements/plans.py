"""Plans: how a set of formulas is taken apart, whatever has been dealt before.

Formulas that share no variable are parts of their own. What cannot be split has a variable dealt.
Both depend on the formulas only, so a plan is made once and used in all states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from foreknow.adversaries.statements.nodes import FALSE, Node
from foreknow.adversaries.statements.pools import Dealing, Slot

Graph: TypeAlias = Mapping[int, set[int]]


def components(nodes: Iterable[int], links: Callable[[int], Iterable[int]]) -> list[frozenset[int]]:
    """Divide nodes into sets that share no link.

    >>> links = {1: "ab", 2: "c", 3: "bd"}
    >>> [sorted(part) for part in components(links, links.__getitem__)]
    [[1, 3], [2]]
    """
    parts: dict[int, set[int]] = {}
    home: dict[int, int] = {}  # the part of each link
    for number, node in enumerate(nodes):
        own = tuple(links(node))
        merged = {home[link] for link in own if link in home}
        part = number
        if merged:
            part = max(merged, key=lambda p: len(parts[p])) if len(merged) > 1 else merged.pop()
            for other in merged - {part}:
                gone = parts.pop(other)
                parts[part] |= gone
                for moved in gone:
                    for link in links(moved):
                        home[link] = part
            parts[part].add(node)
        else:
            parts[part] = {node}
        for link in own:
            home[link] = part
    return [frozenset(part) for part in parts.values()]


def dealing_rank(together: Iterable[frozenset[int]]) -> dict[int, int]:
    """Rank variables by nested dissection.

    Parameters
    ----------
    together : iterable of frozenset of int
        Variables that stand in one formula.

    Returns
    -------
    dict of variable -> int
        The lowest first. A few that separate the others come before them, and so on in each part;
        where nothing separates, the one with most neighbours.

    Examples
    --------
    >>> rank = dealing_rank([frozenset((i, i + 1)) for i in range(7)])
    >>> sorted(rank, key=rank.get)[0] in (3, 4)
    True
    """
    graph: dict[int, set[int]] = {}
    for variables in sorted(map(sorted, together)):
        for v in variables:
            graph.setdefault(v, set()).update(variables)
    for v, near in graph.items():
        near.discard(v)
    rank: dict[int, int] = {}
    stack = [sorted(graph)]
    while stack:
        rest = set(stack.pop())
        for part in _connected(graph, rest):
            for v in _separator(graph, part):
                rank[v] = len(rank)
            left = [v for v in part if v not in rank]
            if left:
                stack.append(left)
    return rank


def _connected(graph: Graph, among: set[int]) -> list[list[int]]:
    found = []
    left = set(among)
    for start in sorted(among):
        if start in left:
            part = [v for level in _levels(graph, left, start) for v in level]
            left.difference_update(part)
            found.append(part)
    return found


def _levels(graph: Graph, among: set[int], start: int) -> list[list[int]]:
    """Variables by their distance from one of them."""
    levels, seen = [[start]], {start}
    while levels[-1]:
        near = {w for v in levels[-1] for w in graph[v] if w in among and w not in seen}
        seen |= near
        levels.append(sorted(near))
    return levels[:-1]


def _separator(graph: Graph, part: list[int]) -> list[int]:
    """The smallest level that leaves less than three quarters on either side, if it is small."""
    among = set(part)
    far = _levels(graph, among, part[0])[-1][0]
    levels = _levels(graph, among, far)
    most = max(part, key=lambda v: (len(graph[v] & among), -v))
    best, before = [most], 0
    least: tuple[float, int] = (max(2.0, len(part) / 4), 0)
    for level in levels:
        larger = max(before, len(part) - before - len(level))
        if larger * 4 <= len(part) * 3 and (len(level), larger) < least:
            best, least = level, (len(level), larger)
        before += len(level)
    return sorted(best, key=lambda v: (-len(graph[v] & among), v))


# How many plans are forgotten together.
_MANY = 100_000


@dataclass(frozen=True, slots=True)
class Step:
    """From a plan to a smaller one.

    Attributes
    ----------
    plan : Plan
    take : tuple of int
        Where the smaller plan's state is found in the larger one's.
    bag_at, pool_at : int
        Where the smaller state counts the bag and the pool that were dealt from; -1 for nowhere.
    fills : tuple of (Slot, place in the larger state, people, and those of them still asked about)
        Pools of which fewer people are asked about; the ways to deal to the others multiply.
    """

    plan: Plan
    take: tuple[int, ...]
    bag_at: int = -1
    pool_at: int = -1
    fills: tuple[tuple[Slot, int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """A bag from which a variable may be dealt; under ``multiset``, that it is dealt none.

    Attributes
    ----------
    slot : Slot
        Of the bag.
    at : int
        Its place in the state.
    weight : int
    given : Step or None
        If the variable takes the option; None if the formulas then fail.
    lost : Step or None
        If an occurrence is gone, but the variable took none of the options.
    same : bool
        Whether the formulas left are the same in both cases.
    """

    slot: Slot
    at: int
    weight: int
    given: Step | None
    lost: Step | None
    same: bool


@dataclass(frozen=True, slots=True)
class Split:
    """Parts that share no variable.

    Attributes
    ----------
    parts : list of (Plan, places of its state in the whole one, places in its own that are shared)
    shared : list of (Slot, place)
        What several parts deal from.
    """

    parts: list[tuple[Plan, tuple[int, ...], tuple[int, ...]]]
    shared: list[tuple[Slot, int]]


@dataclass(frozen=True, slots=True)
class Deal:
    """A variable that is dealt.

    Attributes
    ----------
    pool : Slot
    at : int
        Its place in the state.
    options : list of Option
    free : Step or None
        If the variable takes none of the options; None if the formulas then fail.
    base, mass : int
        As of the variable: the weight of that, and what is counted under ``multiset``.
    covers : bool
        Whether the options are all that the pool holds.
    """

    pool: Slot
    at: int
    options: list[Option]
    free: Step | None
    base: int
    mass: int
    covers: bool


@dataclass(eq=False, slots=True)
class Plan:
    """Formulas that must all hold, the slots of their state, and how to take them apart.

    Attributes
    ----------
    formulas : frozenset of Node
    slots : tuple of Slot
    people : dict of Slot -> int
        How many variables of each pool are mentioned.
    how : Split, Deal or None
        None before it is found out, and where there are no formulas.
    """

    formulas: frozenset[Node]
    slots: tuple[Slot, ...]
    people: dict[Slot, int]
    how: Split | Deal | None = None


class Planner:
    """Makes plans, each once.

    Parameters
    ----------
    dealing : Dealing
    rank : mapping of variable -> int
        In which order to deal them, see `order`.
    """

    def __init__(self, dealing: Dealing, rank: Mapping[int, int]) -> None:
        self._dealing = dealing
        self._nodes = dealing.nodes
        self._rank = rank
        self._plans: dict[frozenset[Node], Plan] = {}
        self._kept: dict[frozenset[Node], Plan] = {}
        self._slots: dict[Node, frozenset[Slot]] = {}

    def plan(self, formulas: frozenset[Node]) -> Plan:
        """The plan of formulas, as far as its state; `how` does the rest."""
        found = self._plans.get(formulas)
        if found is None:
            slots: frozenset[Slot] = frozenset().union(*map(self._slots_of, formulas))
            variables = {v for node in formulas for v in self._nodes.variables[node]}
            people = Counter(self._dealing.variables[v].pool.slot for v in variables)
            in_order = tuple(sorted(slots, key=lambda slot: slot.number))
            found = self._plans[formulas] = Plan(formulas, in_order, people)
        return found

    def how(self, plan: Plan) -> Split | Deal:
        """How to take a plan apart."""
        if plan.how is None:
            parts = components(plan.formulas, self._nodes.variables.__getitem__)
            plan.how = self._split(plan, parts) if len(parts) > 1 else self._deal(plan)
        return plan.how

    def keep(self) -> None:
        """Keep the plans that there are."""
        self._kept = dict(self._plans)

    def forget(self) -> None:
        """Forget plans that were not kept, once they are many."""
        if len(self._plans) > len(self._kept) + _MANY:
            self._plans = dict(self._kept)

    def _slots_of(self, node: Node) -> frozenset[Slot]:
        """Slots of the bags and pools that a node mentions."""
        if node not in self._slots:
            nodes, variables = self._nodes, self._dealing.variables
            found = {variables[v].pool.slot for v in nodes.variables[node]}
            for atom in nodes.atoms[node]:
                variable = variables[nodes.owner[atom]]
                found.add(variable.pool.bags[variable.atoms[atom]])
            self._slots[node] = frozenset(found)
        return self._slots[node]

    # ---- splitting ------------------------------------------------------------------------

    def _split(self, plan: Plan, parts: list[frozenset[Node]]) -> Split:
        place = {slot: i for i, slot in enumerate(plan.slots)}
        plans = [self.plan(part) for part in parts]
        users = Counter(slot for part in plans for slot in part.slots)
        shared = [(slot, place[slot]) for slot, n in users.items() if n > 1]
        for slot, _ in shared:
            self._dealing.share(slot)
        placed = []
        for part in plans:
            take = tuple(place[slot] for slot in part.slots)
            common = tuple(i for i, slot in enumerate(part.slots) if users[slot] > 1)
            placed.append((part, take, common))
        return Split(placed, shared)

    # ---- dealing a variable ---------------------------------------------------------------

    def _deal(self, plan: Plan) -> Deal:
        number = self._choose(plan.formulas)
        variable = self._dealing.variables[number]
        pool, base = variable.pool, variable.base
        place = {slot: i for i, slot in enumerate(plan.slots)}
        about = [node for node in plan.formulas if number in self._nodes.variables[node]]
        mentioned = frozenset().union(*(self._nodes.atoms[node] for node in about))
        asked = sorted(atom for atom in variable.atoms if atom in mentioned)
        others = plan.formulas.difference(about)

        def left(atom: int) -> frozenset[Node]:
            rest = [self._nodes.left(node, number, atom) for node in about]
            return self._nodes.conjuncts(rest, others)

        # Under `multiset` what is recorded is that somebody gets none; see `exact`.
        none = left(asked[0] if pool.spread else -1)
        options = []
        for atom in asked:
            slot = pool.bags[variable.atoms[atom]]
            weight = variable.weights.get(atom, base)
            some = left(-1 if pool.spread else atom)
            given = self._step(plan, place, some, pool.slot, slot) if weight else None
            lost = self._step(plan, place, none, pool.slot, slot) if base else None
            options.append(Option(slot, place[slot], weight, given, lost, none == some))
        free = self._step(plan, place, none, None, None) if base else None
        counts = [pool.count(variable.atoms[atom]) for atom in asked]
        covers = not pool.spread and sum(counts) == pool.size
        return Deal(pool.slot, place[pool.slot], options, free, base, variable.mass, covers)

    def _step(
        self,
        plan: Plan,
        place: dict[Slot, int],
        formulas: frozenset[Node],
        pool: Slot | None,
        bag: Slot | None,
    ) -> Step | None:
        """The step to what is left, where a pool and a bag of it dealt one more, if any did."""
        if FALSE in formulas:
            return None
        after = self.plan(formulas)
        where = {slot: i for i, slot in enumerate(after.slots)}
        fills = []
        for slot, people in plan.people.items():
            before, now = people - (slot is pool), after.people.get(slot, 0)
            if (not now) if slot.spread else before > now:
                fills.append((slot, place[slot], before, now))
        return Step(
            after,
            tuple(place[slot] for slot in after.slots),
            -1 if bag is None else where.get(bag, -1),
            -1 if pool is None else where.get(pool, -1),
            tuple(fills),
        )

    def _choose(self, formulas: frozenset[Node]) -> int:
        """The variable to deal: one whose option is known; else the first in rank."""
        nodes = self._nodes
        known = [v for n in formulas if nodes.kinds[n] == "atom" for v in nodes.variables[n]]
        found = known or {v for node in formulas for v in nodes.variables[node]}
        return min(found, key=lambda v: (self._rank.get(v, len(self._rank)), v))
