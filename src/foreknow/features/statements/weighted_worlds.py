"""Statements on top of priors: worlds are as likely as the product of the priors of their values.

Assignments are listed only for people whom statements name or who are asked about. For the other
people of a group, one number weighs all ways to give them the values that are left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import lcm
from typing import Any

import numpy as np

import foreknow.features.statements.formulas as said
from foreknow.adversaries.priors.priors import Priors
from foreknow.errors import ContradictionError
from foreknow.features.statements.model import Model
from foreknow.features.statements.posterior import Posterior
from foreknow.possible_worlds import components
from foreknow_judge.errors import DataError, InputError, UnsupportedError


class WeighedCase:
    """Statements about one release, whose worlds priors weigh."""

    def __init__(self, model: Model, known_statements: Any, release: Any) -> None:
        self.model, self._known, self._release = model, known_statements, release
        (self._table,) = known_statements.priors.tables

    def posterior(self, person: int, code: int) -> Posterior:
        """The posterior of a person and a value under the statements."""
        return self.any_of(person, [code], self.model.counts.values[code])

    def any_of(self, person: int, codes: Sequence[int], set_name: Any) -> Posterior:
        """The posterior that a person has one of several values, before and after the statements.

        A person has one value, so the chances of the values are added up.
        """
        answer = before = Fraction(0)
        chances = self._chances(person, with_statements=True)
        chances_before = self._chances(person, with_statements=False)
        for code in codes:
            answer += chances.get(code, 0)
            before += chances_before.get(code, 0)
        return Posterior(self.model.members.names[person], set_name, answer, before)

    # ---- worlds ---------------------------------------------------------------------------

    def _chances(self, person: int, with_statements: bool) -> dict[int, Fraction]:
        """The chance of each value (by its code) that a person may have, weighed by the priors.

        With `with_statements`, only worlds count in which the statements hold. All ways to give
        values to the people who are named in them are tried.
        """
        if (person, with_statements) in self._answers:
            return self._answers[person, with_statements]
        group = self.model.group_of(person)
        # Statements without a link to the group cannot change the answer.
        formulas = self._linked(group) if with_statements else []
        named_by_group: dict[int, dict[int, None]] = {group: {person: None}}
        for formula in formulas:
            for name in _people(formula):
                number = self.model.people.code_of_text(name)
                named_by_group.setdefault(self.model.group_of(number), {})[number] = None
        # Worlds are combined group by group, and there may be too many of them.
        steps, assignments_of_groups = 1, []
        for named_group, people in named_by_group.items():
            assignments = list(self._assignments(named_group, list(people)))
            assignments_of_groups.append(assignments)
            steps *= len(assignments)
        if steps > self._known.budget:
            raise self._out_of_reach()
        weights: Counter[int] = Counter()
        for world in product(*assignments_of_groups):
            value_of_person, weight = dict[int, int](), 1
            for codes_of_people, weight_of_group in world:
                value_of_person |= codes_of_people
                weight *= weight_of_group
            if all(self._holds(formula, value_of_person) for formula in formulas):
                weights[value_of_person[person]] += weight
        total = weights.total()
        if not total:
            if with_statements:
                raise ContradictionError(
                    "these statements cannot hold together in this release, by the priors", ()
                )
            raise DataError("the priors allow no way to assign the values of a group")
        chances = {code: Fraction(weight, total) for code, weight in weights.items()}
        self._answers[person, with_statements] = chances
        return chances

    @cached_property
    def _answers(self) -> dict[tuple[int, bool], dict[int, Fraction]]:
        return {}

    def _linked(self, group: int) -> list[said.Formula]:
        """The statements about a group, and those linked to them by common groups.

        Two statements are linked if they name people of one group, or are linked to a third one.
        """
        groups_of_statement: dict[int, set[int]] = {}
        for number, formula in enumerate(self._known.statements):
            people = map(self.model.people.code_of_text, _people(formula))
            groups_of_statement[number] = set(map(self.model.group_of, people))
        for numbers in components(groups_of_statement, groups_of_statement.__getitem__):
            if any(group in groups_of_statement[number] for number in numbers):
                return [self._known.statements[number] for number in sorted(numbers)]
        return []

    def _assignments(self, group: int, people: list[int]) -> Iterator[tuple[dict[int, int], int]]:
        """Yield the values that these people of a group may have together, and their weight.

        The weight is the sum over all ways to give the remaining values to the others of the group.
        """
        bag = self.model.bag(group)
        codes = list(bag)
        members = self._members(group)
        chances_of_person = {
            candidate: self._scaled_priors(candidate, codes) for candidate in members
        }
        # By how often each value is used up, the weight of all ways to give it to the others so
        # far: a dynamic program, one person after another.
        weight_of_rest: dict[tuple[int, ...], int] = {(0,) * len(codes): 1}
        steps = 0
        for candidate in chances_of_person:
            if candidate in people:
                continue
            next_weight: Counter[tuple[int, ...]] = Counter()
            for n_used, weight in weight_of_rest.items():
                for position, code in enumerate(codes):
                    chance = chances_of_person[candidate][position]
                    if n_used[position] < bag[code] and chance:
                        one_more = n_used[position] + 1
                        used_then = (*n_used[:position], one_more, *n_used[position + 1 :])
                        next_weight[used_then] += weight * chance
            weight_of_rest, steps = dict(next_weight), steps + len(next_weight)
            if steps > self._known.budget:
                raise self._out_of_reach()
        # All ways to give values to the named people are gone through below.
        if len(codes) ** len(people) > self._known.budget:
            raise self._out_of_reach()
        for assigned in product(range(len(codes)), repeat=len(people)):
            # The others must take exactly what the named people leave of the bag.
            named_counts = Counter(assigned)
            remaining = [bag[code] - named_counts[position] for position, code in enumerate(codes)]
            weight = weight_of_rest.get(tuple(remaining), 0)
            values: dict[int, int] = {}
            for candidate, position in zip(people, assigned, strict=True):
                weight *= chances_of_person[candidate][position]
                values[candidate] = codes[position]
            if weight:
                yield values, weight

    def _members(self, group: int) -> list[int]:
        people: list[int] = np.flatnonzero(self.model.members.groups == group).tolist()
        return people

    def _scaled_priors(self, person: int, codes: Sequence[int]) -> list[int]:
        """The prior of each value for a person, as whole numbers of one scale: sums are exact.

        The scale of a person cancels out: it is in the weight of each world.
        """
        signature, values = self._signature_of[person], self.model.counts.values
        priors = [self._table.prior(signature, str(values[code])) for code in codes]
        scale = lcm(*(prior.denominator for prior in priors))
        return [int(prior * scale) for prior in priors]

    @cached_property
    def _signature_of(self) -> list[tuple[str | None, ...]]:
        """The labels of each person in the columns of the priors, by position in the release."""
        column = getattr(self._release, "person", None)
        if column is None:
            raise InputError(
                "priors weigh people by columns that are known of each by name: ask of the table "
                "that names them, with person="
            )
        labels = self._release.signatures([column, *self._table.attributes]).labels
        signature_of_name = {name: tuple(signature) for name, *signature in labels}
        return [signature_of_name[str(name)] for name in self.model.members.names]

    # ---- what is said ---------------------------------------------------------------------

    def _holds(self, formula: said.Formula, value_of_person: Mapping[int, int]) -> bool:
        """True if a statement holds when people, by position, have the values with these codes."""
        people, values = self.model.people, self.model.values
        match formula:
            case said.Has(person, value):
                return value_of_person[people.code_of_text(person)] == values.code_of_text(value)
            case said.Same(members):
                return (
                    len({value_of_person[people.code_of_text(person)] for person in members}) == 1
                )
            case said.Not(part):
                return not self._holds(part, value_of_person)
            case said.And(parts):
                return all(self._holds(part, value_of_person) for part in parts)
            case said.Or(parts):
                return any(self._holds(part, value_of_person) for part in parts)
            case said.Implies(first, second):
                return not self._holds(first, value_of_person) or self._holds(
                    second, value_of_person
                )
            case said.Iff(first, second):
                return self._holds(first, value_of_person) == self._holds(second, value_of_person)

    def check(self) -> None:
        """Do nothing: contradictions appear when a posterior is computed."""

    def highest(self, code: int) -> Any:
        """Not worked out: it would take everybody's worlds."""
        raise UnsupportedError(
            "with priors, statements are answered for people by name: ask for their posteriors"
        )

    def _out_of_reach(self) -> UnsupportedError:
        return UnsupportedError(
            f"with priors, this takes more than {self._known.budget:,} steps; give fewer "
            "statements, ask in smaller groups, or give a larger budget (budget=, --budget)"
        )


def _people(formula: said.Formula) -> list[str]:
    """The names of everybody whom a statement is about, each once."""
    people: dict[str, None] = {}
    for subformula in said.walk(formula):
        for person in (
            subformula.people if isinstance(subformula, said.Same) else (subformula.person,)
        ):
            people[person] = None
    return list(people)


def require_weights(priors: Any) -> Priors | None:
    """The priors, refused if statements cannot be combined with them."""
    if priors is None:
        return None
    if not isinstance(priors, Priors):
        raise InputError(f"priors must be Priors, not {type(priors).__name__}")
    if priors.semantics != "joint" or len(priors.tables) > 1 or any(priors.amounts):
        raise UnsupportedError(
            "statements stand on one table of priors under the joint reading, without further facts"
        )
    return priors
