r"""Exact: the number of ways to deal in which formulas hold, by recursion over what was dealt.

To deal a variable p that may take the options R is a signed expansion. With W(F, S) the chance
that the formulas F hold once S has been dealt, and r of n left of the bag x,

    W(F, S) = W(F|none, S) + sum over x in R of r/n (W(F|p=x, S-x) - W(F|none, S-x))

where F|none is F if p takes none of R. There, p is free: it returns to the others, who are
exchangeable. So a state holds no negative knowledge, only how much was dealt from each pool and
bag that still matters. Under ``multiset``, the recorded option is that p gets none of the s
occurrences of the value, which has the chance ((n - 1)/n)^s. A prior multiplies terms by weights.

All numbers are whole: W times the ways to deal to everybody whom F mentions. Formulas that share
no variable are counted apart. What they deal from in common is then *open*: each part returns a
polynomial in how much it dealt from it, and the product is evaluated where the parts meet.

Decision diagrams and model counters (dd, PySDD) weigh their variables independently of each other;
the cardinalities of bags and the exchangeable rest would first have to be spelled out for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from foreknow.adversaries.statements.nodes import FALSE, Node
from foreknow.adversaries.statements.plans import Deal, Option, Plan, Planner, Split, Step
from foreknow.adversaries.statements.pools import Dealing, Slot
from foreknow.errors import InternalError

State: TypeAlias = tuple[int, ...]
# Coefficients by monomial: one number that holds the power of each open slot in bits of its own.
Polynomial: TypeAlias = dict[int, int]
Value: TypeAlias = "int | Polynomial"
Key: TypeAlias = tuple[Plan, State]
Term: TypeAlias = tuple[int, int, Key]

_OPEN = -1  # what a state holds for a slot that is open
# How many monomials, or formulas of a new plan, are as much work as one step.
_MONOMIALS, _FORMULAS = 16, 4


class OutOfReach(Exception):
    """More steps than the budget allows."""


@dataclass(frozen=True)
class Memory:
    """What was worked out, and which plans were made for it."""

    values: dict[Key, Value] = field(default_factory=dict)
    plans: set[Plan] = field(default_factory=set)


class Counter:
    """Counts ways to deal; remembers what it worked out.

    Parameters
    ----------
    dealing : Dealing
    rank : mapping of variable -> int
        In which order to deal.
    """

    def __init__(self, dealing: Dealing, rank: Mapping[int, int]) -> None:
        self._dealing = dealing
        self._planner = Planner(dealing, rank)
        self.steps = 0
        self._limit = 0
        self._base = Memory({(self._planner.plan(frozenset()), ()): 1})
        self._planner.keep()

    def ways(
        self, formulas: frozenset[Node], budget: int, *, keep: bool = False
    ) -> tuple[int, int]:
        """Count the ways to deal in which formulas hold, and all ways.

        Parameters
        ----------
        formulas : frozenset of Node
        budget : int
            The most steps.
        keep : bool
            Whether to remember what is new. If not, later questions take as many steps as if they
            were the first.

        Raises
        ------
        OutOfReach
        """
        if FALSE in formulas:
            return 0, 1
        plan = self._planner.plan(formulas)
        total = 1
        for slot, people in plan.people.items():
            total *= slot.ways(0, people, 0)
        self._limit = self.steps + budget
        new = Memory()
        found = self._value((plan, (0,) * len(plan.slots)), new)
        if not isinstance(found, int):
            raise InternalError("an open slot at the top of a count")
        if keep:
            self._base.values.update(new.values)
            self._base.plans.update(new.plans)
            self._planner.keep()
        self._planner.forget()
        return found, total

    def _value(self, root: Key, memory: Memory) -> Value:
        """Evaluate a plan in a state; with a stack of its own, so that depth is no limit."""
        known, new = self._base.values, memory.values
        stack: list[tuple[Key, list[Term] | None]] = [(root, None)]
        while stack:
            key, terms = stack.pop()
            if key in new or key in known:
                continue
            plan, state = key
            how = self._planner.how(plan)
            if terms is None:
                self._visit(plan, memory)
                terms = _parts(how, state) if isinstance(how, Split) else _terms(how, state)
                missing = [k for _, _, k in terms if k not in new and k not in known]
                if missing:
                    stack.append((key, terms))
                    stack += [(k, None) for k in missing]
                    continue
            values = [new[k] if k in new else known[k] for _, _, k in terms]
            if isinstance(how, Split):
                new[key] = self._product(plan, how, state, values)
            elif _OPEN in state:
                new[key] = self._sum(terms, values)
            else:
                new[key] = _number(terms, values)
        return new[root] if root in new else known[root]

    def _visit(self, plan: Plan, memory: Memory) -> None:
        """Count a step; to make the plan counts too, even if an earlier question needed it."""
        self._spend(1)
        if plan not in self._base.plans and plan not in memory.plans:
            memory.plans.add(plan)
            self._spend(len(plan.formulas) // _FORMULAS)

    def _spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self._limit:
            raise OutOfReach

    # ---- products of parts ----------------------------------------------------------------

    def _product(self, plan: Plan, how: Split, state: State, values: list[Value]) -> Value:
        """The product of parts, evaluated for what no others deal from."""
        number = 1
        factors: list[Polynomial] = []
        users: dict[Slot, set[int]] = {slot: set() for slot, at in how.shared if state[at] >= 0}
        for (part, _, _), value in zip(how.parts, values, strict=True):
            if isinstance(value, int):
                number *= value
                continue
            for slot in part.slots:
                if slot in users:
                    users[slot].add(len(factors))
            factors.append(value)
        place = dict(how.shared)
        standing = set(range(len(factors)))
        while users:
            # What makes the smallest product first: a slot is closed once all its users are one.
            slot = min(users, key=lambda s: _size(factors, users[s]))
            mine = users.pop(slot)
            people = plan.people.get(slot, 0)
            joined = self._multiply([factors[i] for i in mine])
            factors.append(_close(joined, slot, state[place[slot]], people))
            standing = (standing - mine) | {len(factors) - 1}
            for others in users.values():
                if others & mine:
                    others -= mine
                    others.add(len(factors) - 1)
        whole = self._multiply([factors[i] for i in standing])
        if _OPEN in state:
            return {power: number * c for power, c in whole.items() if c}
        return number * whole.get(0, 0)

    def _multiply(self, factors: list[Polynomial]) -> Polynomial:
        whole: Polynomial = {0: 1}
        bias, guards = self._dealing.bias, self._dealing.guards
        for factor in sorted(factors, key=len):
            self._spend(len(whole) * len(factor) // _MONOMIALS)
            before, whole = whole, {}
            for power, coefficient in before.items():
                for other, number in factor.items():
                    at = power + other
                    if not (at + bias) & guards:
                        whole[at] = whole.get(at, 0) + coefficient * number
        return whole

    def _sum(self, terms: list[Term], values: list[Value]) -> Polynomial:
        """The sum of terms, as a polynomial."""
        found: Polynomial = {}
        bias, guards = self._dealing.bias, self._dealing.guards
        for (factor, monomial, _), value in zip(terms, values, strict=True):
            polynomial = {0: value} if isinstance(value, int) else value
            self._spend(len(polynomial) // _MONOMIALS)
            for power, coefficient in polynomial.items():
                at = power + monomial
                if not (at + bias) & guards:
                    found[at] = found.get(at, 0) + factor * coefficient
        return {power: coefficient for power, coefficient in found.items() if coefficient}


def _size(factors: list[Polynomial], which: set[int]) -> tuple[int, int]:
    size = 1
    for i in which:
        size *= len(factors[i])
    return size, min(which, default=0)


def _close(found: Polynomial, slot: Slot, dealt: int, people: int) -> Polynomial:
    """Evaluate a polynomial in how much is dealt from a slot, beyond what is dealt already."""
    closed: Polynomial = {}
    ways: dict[int, int] = {}
    for power, coefficient in found.items():
        more = (power >> slot.shift) & slot.mask
        if more not in ways:
            ways[more] = slot.ways(dealt, people, more)
        rest = power - (more << slot.shift)
        closed[rest] = closed.get(rest, 0) + coefficient * ways[more]
    return {power: coefficient for power, coefficient in closed.items() if coefficient}


def _parts(split: Split, state: State) -> list[Term]:
    """The parts of a plan that splits; what several of them deal from is open."""
    found = []
    for part, take, shared in split.parts:
        own = [state[at] for at in take]
        for at in shared:
            own[at] = _OPEN
        found.append((1, 0, (part, tuple(own))))
    return found


# ---- the expansion of a variable ---------------------------------------------------------------


def _terms(deal: Deal, state: State) -> list[Term]:
    """The signed expansion of a variable."""
    found: list[Term] = []

    def add(factor: int, step: Step | None, option: Option | None) -> None:
        if step is not None and factor:
            found.append(_term(deal, state, factor, step, option))

    left = [_left(option, state[option.at]) for option in deal.options]
    if _certain(deal, state, left) and not any(option.same for option in deal.options):
        # It takes one of the options for certain, so what else there is adds up to nothing.
        for n, option in zip(left, deal.options, strict=True):
            add(n * option.weight, option.given, option)
        return found
    add(deal.base, deal.free, None)
    for n, option in zip(left, deal.options, strict=True):
        if option.same:
            add(n * (option.weight - deal.base), option.given or option.lost, option)
        else:
            add(n * option.weight, option.given, option)
            add(-n * deal.base, option.lost, option)
    return found


def _left(option: Option, dealt: int) -> int:
    """Occurrences left in a bag; 1 where it is open, for they are multiplied in when it closes.

    Under ``multiset`` the option is to get none of them, so they do not multiply.
    """
    if dealt == _OPEN or option.slot.spread:
        return 1
    return max((option.slot.count or 0) - dealt, 0)


def _certain(deal: Deal, state: State, left: list[int]) -> bool:
    """Whether nothing is left in the pool but the options."""
    if deal.covers or deal.pool.spread or state[deal.at] == _OPEN:
        return deal.covers
    if any(state[option.at] == _OPEN for option in deal.options):
        return False
    return sum(left) == (deal.pool.size or 0) - state[deal.at]


def _term(deal: Deal, state: State, factor: int, step: Step, option: Option | None) -> Term:
    """A term of the expansion; `option` is what was dealt, if anything was."""
    for slot, at, before, now in step.fills:
        if state[at] != _OPEN:
            more = deal.mass if option is not None and slot is deal.pool else 0
            factor *= slot.ways_left(state[at] + more, before, now)
    after = [state[at] for at in step.take]
    monomial = 0
    if option is not None:
        if state[deal.at] == _OPEN:
            monomial += deal.mass << deal.pool.shift
        elif step.pool_at >= 0:
            after[step.pool_at] += deal.mass
        if option.slot is not deal.pool:
            if state[option.at] == _OPEN:
                monomial += 1 << option.slot.shift
            elif step.bag_at >= 0:
                after[step.bag_at] += 1
    return factor, monomial, (step.plan, tuple(after))


def _number(terms: list[Term], values: list[Value]) -> int:
    """The sum of terms, where no slot is open."""
    return sum(
        factor * value
        for (factor, _, _), value in zip(terms, values, strict=True)
        if isinstance(value, int)
    )
