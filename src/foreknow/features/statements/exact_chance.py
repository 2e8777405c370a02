r"""Exact: the chance that a formula holds, by polynomials in what its people are assigned.

Write a formula as a polynomial in its atoms. People of a group are exchangeable, so the chance of
a product of atoms depends only on how many of them are about each value; so all atoms of a value
in a group become one symbol t, beside a symbol s for the people of the pool. With c people who
have the value, of n, a monomial s^k t^k ... has the chance perm(c, k) ... / perm(n, k). Under
``multiset``, where o occurrences are assigned independently, an atom says that a person has none
of them, and s^k has the chance ((n - k)/n)^o.

The polynomial W(F) comes by assigning variables one by one. If p may take the options R,

    W(F) = W(F|none) + sum over x in R of s t_x (W(F|p=x) - W(F|none))

Formulas that share no variable are multiplied. A symbol that
nothing outside of F mentions is *closed*: its powers give way to their moments, in whole numbers.

Decision diagrams and model counters (dd, PySDD) weigh their variables independently of each other;
the cardinalities of bags and the exchangeable rest would first have to be spelled out for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import chain
from math import prod
from typing import TypeAlias

from foreknow.features.statements.model import FALSE, TRUE, Model, Node
from foreknow.possible_worlds import components

# Coefficients by monomial.
Polynomial: TypeAlias = dict[int, int]
# A formula, and those of its symbols that others mention, too.
Key: TypeAlias = tuple[Node, frozenset[int]]

# How many monomials, or parts of a conjunction, are as much work as one step.
_MONOMIALS, _PARTS = 16, 4
# Beyond so many neighbours no order of variables helps.
_DENSE = 30
# How many plans are forgotten together.
_MANY = 100_000


class OutOfReach(Exception):
    """More steps than the budget allows."""


def elimination_rank(variable_sets: Iterable[Iterable[int]]) -> dict[int, int]:
    """The rank of each variable in the order of assignment; those with few neighbours come last.

    Variables, here numbers, are what named people have; two are neighbours if a set holds both. Few
    neighbours keep the polynomials small, so the variable with fewest is put last, and its
    neighbours then become neighbours of each other (the min-degree heuristic).
    """
    neighbours_of: dict[int, set[int]] = {}
    for variables in variable_sets:
        for variable in variables:
            neighbours_of.setdefault(variable, set()).update(variables)
    height = dict.fromkeys(neighbours_of, 0)

    def key(variable: int) -> tuple[int, int, int]:
        # Sets of up to three are equally small; the lower tree, and then the number, decide.
        return max(len(neighbours_of[variable]), 3), height[variable], variable

    heap = list(map(key, neighbours_of))
    heapify(heap)
    eliminated: list[int] = []
    while heap:
        entry = heappop(heap)
        _, _, variable = entry
        # An entry whose key has changed since is out of date: there is a newer one.
        if variable not in neighbours_of or entry != key(variable):
            continue
        if len(neighbours_of[variable]) > _DENSE:
            eliminated += sorted(
                neighbours_of, key=lambda neighbour: (len(neighbours_of[neighbour]), neighbour)
            )
            break
        eliminated.append(variable)
        neighbours = neighbours_of.pop(variable) - {variable}
        for neighbour in neighbours:
            neighbours_of[neighbour] = (neighbours_of[neighbour] | neighbours) - {variable}
            height[neighbour] = max(height[neighbour], height[variable] + 1)
        for neighbour in neighbours:
            heappush(heap, key(neighbour))
    # Who was eliminated first is assigned last.
    return {variable: i for i, variable in enumerate(reversed(eliminated))}


@dataclass(frozen=True, slots=True)
class _Expansion:
    """A plan that assigns a variable: the symbols in question, and a term for each option."""

    symbols: frozenset[int]
    terms: list[tuple[int, int, Node]]  # factor, monomial, formula


@dataclass(frozen=True, slots=True)
class _Product:
    """A plan that multiplies formulas without a common variable, and their shared symbols."""

    shared: frozenset[int]
    parts: list[Node]


class Exact:
    """The chance of one formula, and of others given it, each within a budget of steps."""

    def __init__(self, model: Model, formula: Node, rank: Mapping[int, int], budget: int) -> None:
        self.steps = 0
        self._model, self._formula, self._rank, self._budget = model, formula, rank, budget
        self._plans: dict[Node, _Expansion | _Product] = {}
        self._symbols: dict[Node, frozenset[int]] = {}
        self._known: dict[Key, Polynomial] = {(TRUE, frozenset()): {0: 1}}
        self.chance = self._chance(formula, self._known)
        """None where that is out of reach."""

    def given(self, node: Node) -> Fraction | None:
        """The chance of another formula, given that this one holds.

        None if this one is impossible, or if that takes more steps than the budget.
        """
        if not self.chance:
            return None
        if len(self._plans) > _MANY:
            self._plans.clear()
            self._symbols.clear()
        chance = self._chance(self._model.nodes.all_of((self._formula, node)), {})
        return None if chance is None else chance / self.chance

    def _chance(self, formula: Node, memory: dict[Key, Polynomial]) -> Fraction | None:
        """The chance that a formula holds; None if that takes more steps than the budget."""
        if formula == FALSE:
            return Fraction(0)
        self._limit = self.steps + self._budget
        try:
            polynomial = self._value((formula, frozenset()), memory)
        except OutOfReach:
            return None
        # Coefficients count worlds times these moments, which weigh each symbol without any power.
        total = prod(self._model.symbols[s].moment(0) for s in self._symbols_of(formula))
        return Fraction(polynomial.get(0, 0), total)

    def _value(self, root: Key, computed: dict[Key, Polynomial]) -> Polynomial:
        """The polynomial of a formula: how many worlds satisfy it, by the powers of its symbols.

        A key is a formula with the symbols that others mention, too, which stay open. A stack takes
        the place of recursion, so that formulas may have any depth. Results are kept in `computed`.
        """
        remembered = self._known
        stack: list[tuple[Key, list[Key] | None]] = [(root, None)]
        while stack:
            key, operands = stack.pop()
            if key in computed or key in remembered:
                continue
            formula, outer_symbols = key
            plan = self._plan(formula)
            # Met for the first time: put the formula back, and what it is made of on top.
            if operands is None:
                self._spend(1 + len(self._model.nodes.parts(formula)) // _PARTS)
                if isinstance(plan, _Product):
                    inner_symbols, next_nodes = plan.shared, plan.parts
                else:
                    inner_symbols, next_nodes = plan.symbols, [node for _, _, node in plan.terms]
                open_symbols = outer_symbols | inner_symbols
                # A symbol of a part stays open if another part or an outer formula mentions it.
                operands = [(node, self._symbols_of(node) & open_symbols) for node in next_nodes]
                missing_operands = [
                    operand
                    for operand in operands
                    if operand not in computed and operand not in remembered
                ]
                if missing_operands:
                    stack.append((key, operands))
                    stack += [(operand, None) for operand in missing_operands]
                    continue
            values = [
                computed[operand] if operand in computed else remembered[operand]
                for operand in operands
            ]
            if isinstance(plan, _Product):
                computed[key] = self._product(plan.shared - outer_symbols, operands, values)
            else:
                computed[key] = self._sum(formula, outer_symbols, plan, values)
        return computed[root] if root in computed else remembered[root]

    def _spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self._limit:
            raise OutOfReach

    def _symbols_of(self, node: Node) -> frozenset[int]:
        if node not in self._symbols:
            atoms = self._model.nodes.atoms[node]
            symbol_sets = (self._model.atoms[atom].symbols for atom in atoms)
            self._symbols[node] = frozenset().union(*symbol_sets)
        return self._symbols[node]

    # ---- plans ----------------------------------------------------------------------------

    def _plan(self, formula: Node) -> _Expansion | _Product:
        """The plan of a formula: a product of independent parts, or the choice of a variable.

        Parts are independent if no variable is in two of them; they may share symbols.
        """
        if formula not in self._plans:
            nodes = self._model.nodes
            linked_parts = components(nodes.parts(formula), nodes.variables.__getitem__)
            if len(linked_parts) > 1:
                conjuncts = list(map(nodes.all_of, linked_parts))
                users = Counter(chain.from_iterable(map(self._symbols_of, conjuncts)))
                shared = frozenset(symbol for symbol, n in users.items() if n > 1)
                self._plans[formula] = _Product(shared, conjuncts)
            else:
                self._plans[formula] = self._expansion(formula)
        return self._plans[formula]

    def _expansion(self, formula: Node) -> _Expansion:
        """The plan that assigns one variable of a formula: a term for each value that it may have.

        A variable stands for what a named person has. A term is (factor, power, formula that is
        left). By the module's formula, with its options R: the formula is expanded by the chance
        that the variable takes each option, and none of those that the formula mentions.
        """
        model, nodes = self._model, self._model.nodes
        # A variable that a conjunct is about directly makes the formula smaller at once.
        candidates = set[int]()
        for operand in nodes.parts(formula):
            if nodes.kinds[operand] == "atom":
                candidates.update(nodes.variables[operand])
        number = min(
            candidates or nodes.variables[formula],
            key=lambda candidate: (self._rank.get(candidate, len(self._rank)), candidate),
        )
        variable = model.variables[number]
        pool = variable.pool
        atoms = [atom for atom in variable.options if atom in nodes.atoms[formula]]
        counts = [pool.counts[variable.options[atom]] for atom in atoms]
        otherwise = nodes.given(formula, number, -1)
        if model.dealt.takes_one(counts, pool.size):
            otherwise = FALSE  # it takes one of them for certain
        # W(F|none) once, and for each option s t (W(F|option) - W(F|none)); equal terms are added
        # up.
        terms = Counter[tuple[int, Node]]()
        terms[0, otherwise] += 1
        for atom in atoms:
            power = model.atoms[atom].power
            terms[power, nodes.given(formula, number, atom)] += 1
            terms[power, otherwise] -= 1
        symbols = frozenset().union(*(model.atoms[atom].symbols for atom in atoms))
        remaining_terms = []
        for (power, node), factor in terms.items():
            # A power that is too high for a symbol sets its guard bit: no world has it.
            overflows = (power + model.bias) & model.guards
            if factor and node != FALSE and not overflows:
                remaining_terms.append((factor, power, node))
        return _Expansion(symbols, remaining_terms)

    # ---- polynomials ----------------------------------------------------------------------

    def _sum(
        self,
        formula: Node,
        outer_symbols: frozenset[int],
        plan: _Expansion,
        values: list[Polynomial],
    ) -> Polynomial:
        """The sum of the terms of an expansion, as a polynomial in the outer symbols.

        `values` are the polynomials of the terms' formulas. A polynomial maps a monomial, the
        powers of all symbols packed into one number, to its coefficient.
        """
        symbols, bias, guards = self._model.symbols, self._model.bias, self._model.guards
        inner_symbols = self._symbols_of(formula) - outer_symbols - plan.symbols
        polynomial: Polynomial = {}
        for (factor, power, node), value in zip(plan.terms, values, strict=True):
            # A term that lost a symbol counts it without a power.
            for symbol in inner_symbols - self._symbols_of(node):
                factor *= symbols[symbol].moment(0)
            self._spend(len(value) // _MONOMIALS)
            for value_power, coefficient in value.items():
                joint_power = power + value_power
                # A power that no world has sets one of the guard bits.
                if not (joint_power + bias) & guards:
                    polynomial[joint_power] = polynomial.get(joint_power, 0) + factor * coefficient
        for symbol in plan.symbols - outer_symbols:
            polynomial = self._closed(polynomial, symbol)
        return {power: coefficient for power, coefficient in polynomial.items() if coefficient}

    def _product(
        self, closing: frozenset[int], operands: list[Key], values: list[Polynomial]
    ) -> Polynomial:
        """The product of parts, as a polynomial in the outer symbols.

        An operand is the key of a part and the symbols that it mentions. Symbols in `closing` are
        mentioned by nothing outside. Once all parts that mention such a symbol are multiplied, its
        moment k takes the place of its power x^k, which keeps the polynomials small. Before that, a
        further factor could still change the power.
        """
        factors = dict(enumerate(values))
        # The parts that mention each symbol.
        users: dict[int, set[int]] = {symbol: set() for symbol in sorted(closing)}
        for operand, (_, symbols) in enumerate(operands):
            for symbol in symbols & closing:
                users[symbol].add(operand)
        while users:
            # The smallest product first: a symbol is closed once all its users are one.
            symbol = min(users, key=lambda s: prod(len(factors[i]) for i in users[s]))
            parts_with_symbol = users.pop(symbol)
            product = self._multiplied(list(map(factors.pop, parts_with_symbol)))
            operand = min(parts_with_symbol)
            factors[operand] = self._closed(product, symbol)
            # The product stands at the place of its first part from now on.
            for other_users in users.values():
                if other_users & parts_with_symbol:
                    other_users -= parts_with_symbol
                    other_users.add(operand)
        return self._multiplied(list(factors.values()))

    def _multiplied(self, factors: list[Polynomial]) -> Polynomial:
        """The product of polynomials, without powers that no world has.

        A polynomial maps a monomial to its coefficient; a monomial packs the powers of all symbols
        into one number, so that multiplying monomials adds these numbers.
        """
        product: Polynomial = {0: 1}
        bias, guards = self._model.bias, self._model.guards
        # Small ones first, so that products stay small for long.
        for factor in sorted(factors, key=len):
            self._spend(len(product) * len(factor) // _MONOMIALS)
            previous, product = product, {}
            for power, coefficient in previous.items():
                for factor_power, factor_coefficient in factor.items():
                    joint_power = power + factor_power
                    # A power that is too high sets one of the guard bits.
                    if not (joint_power + bias) & guards:
                        product[joint_power] = (
                            product.get(joint_power, 0) + coefficient * factor_coefficient
                        )
        return product

    def _closed(self, polynomial: Polynomial, symbol: int) -> Polynomial:
        """The polynomial with the powers of a symbol replaced by their moments.

        A moment is in how many ways people of the pool can be assigned, if so many have it.
        """
        _, moment, shift, mask = self._model.symbols[symbol]
        moments: dict[int, int] = {}
        closed: Polynomial = {}
        for power, coefficient in polynomial.items():
            # The power of this symbol is some bits of the monomial.
            symbol_power = (power >> shift) & mask
            if symbol_power not in moments:
                moments[symbol_power] = moment(symbol_power)
            remaining_power = power - (symbol_power << shift)
            closed[remaining_power] = (
                closed.get(remaining_power, 0) + coefficient * moments[symbol_power]
            )
        return closed
