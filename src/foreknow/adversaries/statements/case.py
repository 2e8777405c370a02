"""Case: statements about one release, and what they say of each person, worked out when asked."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from foreknow.adversaries.statements.contradictions import contradiction
from foreknow.adversaries.statements.dealing import Pool
from foreknow.adversaries.statements.estimating import Sample
from foreknow.adversaries.statements.exact import Counter, OutOfReach
from foreknow.adversaries.statements.formulas import Formula
from foreknow.adversaries.statements.grounding import Ground
from foreknow.adversaries.statements.nodes import FALSE, Node
from foreknow.adversaries.statements.order import components, dealing_rank
from foreknow.adversaries.statements.posterior import Estimate, Posterior
from foreknow.errors import UnsupportedError

Answer: TypeAlias = "Fraction | Estimate"

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Part:
    """Formulas that deal from pools of their own.

    Attributes
    ----------
    formulas : frozenset of Node
    counter : Counter
    seed : list of int
    ways : (int, int) or None
        To deal so that they hold, of all; None where that is out of reach.
    variables : frozenset of int
    codes : frozenset of int
        Values that they mention.
    answers : dict of (person, or a group's unnamed members, and value) -> Fraction or None
        What was asked so far; None where that is out of reach.
    sample : Sample or None
        Drawn once it is needed.
    """

    formulas: frozenset[Node]
    counter: Counter
    seed: list[int]
    ways: tuple[int, int] | None
    variables: frozenset[int]
    codes: frozenset[int]
    answers: dict[tuple[int, int], Fraction | None] = field(default_factory=dict)
    sample: Sample | None = None


class Case:
    """Statements about one release.

    Parameters
    ----------
    ground : Ground
    statements : sequence of Formula
    budget : int
    seed : int
    """

    def __init__(
        self, ground: Ground, statements: Sequence[Formula], budget: int, seed: int
    ) -> None:
        self.ground = ground
        self._statements, self._budget, self._seed = statements, budget, seed
        self._dealing = ground.dealing()
        self._dealing.check_prior()
        self._said = [ground.node(formula, self._dealing) for formula in statements]
        rank = dealing_rank(self._together())
        # Apart, so that what is asked first does not change the steps of what is asked later.
        self._counter, self._alone = Counter(self._dealing, rank), Counter(self._dealing, rank)
        self._priors: dict[Pool, Part] = {}

    # ---- asking ---------------------------------------------------------------------------

    def posterior(self, person: int, code: int) -> Posterior:
        """What the statements say of a person and a value."""
        answer = self.answer(person, code)
        exact = answer if isinstance(answer, Fraction) else None
        estimate = None if isinstance(answer, Fraction) else answer
        names, values = self.ground.members.names, self.ground.counts.values
        return Posterior(
            names[person], values[code], exact, estimate, lambda: self.before(person, code)
        )

    def answer(self, person: int, code: int) -> Answer:
        """The probability that a person has a value; a fraction unless that is out of reach."""
        self.check()
        pool = self._dealing.pool(self.ground.group_of(person), code)
        if pool is None:
            return Fraction(0)
        part = self._parts.get(pool) or self._prior_of(pool)
        exact = self._exactly(part, person, code)
        return self._estimate(part, person, code) if exact is None else exact

    def check(self) -> None:
        """Refuse statements that cannot hold together, or of which nothing tells whether they can.

        Their number of worlds is a factor of every probability, about whomever.
        """
        for part in self._uncounted:
            self._sample(part)

    def before(self, person: int, code: int) -> Fraction | None:
        """The same without the statements; None where it is out of reach."""
        pool = self._dealing.pool(self.ground.group_of(person), code)
        if pool is None:
            return Fraction(0)
        return self._exactly(self._prior_of(pool), person, code)

    @property
    def steps(self) -> int:
        """Steps of exact inference so far."""
        return self._counter.steps + self._alone.steps

    @cached_property
    def touched(self) -> dict[int, list[int]]:
        """Groups that statements or the prior name, each with the people named."""
        found: dict[int, list[int]] = {}
        used = sorted({v for node in self._said for v in self._dealing.nodes.variables[node]})
        people = [*(self._dealing.variables[v].person for v in used), *self.ground.prior]
        for person in dict.fromkeys(people):
            found.setdefault(self.ground.group_of(person), []).append(person)
        return found

    # ---- parts ----------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> dict[Pool, Part]:
        """The parts of all statements, by the pools that they deal from; none is impossible."""
        found: dict[Pool, Part] = {}
        formulas = self._marked(self._said)
        if FALSE in formulas:
            raise contradiction(
                self.ground, self._statements, range(len(self._statements)), self._possible
            )
        parts = components(formulas, self._slots)
        nodes = self._dealing.nodes
        in_order = sorted(parts, key=lambda part: min(min(nodes.variables[n]) for n in part))
        for number, own in enumerate(in_order):
            part = self._part(own, self._counter, number + 1)
            if part.ways is not None and not part.ways[0]:
                self._refuse(part)
            found.update(dict.fromkeys(self._pools(own), part))
        return found

    @cached_property
    def _uncounted(self) -> list[Part]:
        """The parts of which only samples can tell whether they are possible."""
        return [part for part in dict.fromkeys(self._parts.values()) if part.ways is None]

    def _prior_of(self, pool: Pool) -> Part:
        """The part of a pool that no statement is about."""
        if pool not in self._priors:
            marks = frozenset(self._dealing.marks(pool))
            self._priors[pool] = self._part(marks, self._alone, 0)
        return self._priors[pool]

    def _part(self, formulas: frozenset[Node], counter: Counter, number: int) -> Part:
        nodes, variables = self._dealing.nodes, self._dealing.variables
        own = frozenset(v for node in formulas for v in nodes.variables[node])
        atoms = {atom for node in formulas for atom in nodes.atoms[node]}
        codes = frozenset(variables[nodes.owner[atom]].atoms[atom] for atom in atoms)
        ways: tuple[int, int] | None = None
        try:
            ways = counter.ways(formulas, self._budget, keep=True)
        except OutOfReach:
            _log.info("exact inference is out of reach for %d formulas", len(formulas))
        return Part(formulas, counter, [self._seed, number], ways, own, codes)

    def _marked(self, said: Iterable[Node]) -> frozenset[Node]:
        """Formulas, and whom else the prior makes be dealt along with them."""
        formulas = self._dealing.nodes.conjuncts(said)
        marks = [mark for pool in self._pools(formulas) for mark in self._dealing.marks(pool)]
        return formulas.union(marks)

    def _together(self) -> list[frozenset[int]]:
        """Variables that stand in one formula."""
        nodes = self._dealing.nodes
        parts = [
            part
            for node in self._said
            for part in (nodes.kids[node] if nodes.kinds[node] == "all" else (node,))
        ]
        return [nodes.variables[part] for part in parts]

    def _pools(self, formulas: Iterable[Node]) -> list[Pool]:
        nodes, variables = self._dealing.nodes, self._dealing.variables
        used = {v for node in formulas for v in nodes.variables[node]}
        return list(dict.fromkeys(variables[v].pool for v in sorted(used)))

    def _slots(self, node: Node) -> list[int]:
        """The pools that a formula deals from, as numbers."""
        return [pool.slot.number for pool in self._pools((node,))]

    # ---- answering ------------------------------------------------------------------------

    def _exactly(self, part: Part, person: int, code: int) -> Fraction | None:
        """The probability as a fraction; None where it is out of reach."""
        if part.ways is None:
            return None
        who, asked, share = self._alike(part, person, code)
        if (who, asked) not in part.answers:
            node = self._dealing.atom(person, self.ground.group_of(person), asked)
            formulas = self._dealing.nodes.conjuncts((node,), part.formulas)
            try:
                hits, of = part.counter.ways(formulas, self._budget)
                # Both are shares of all ways to deal to those whom the formulas mention.
                found = Fraction(hits * part.ways[1], of * part.ways[0])
            except OutOfReach:
                found = None
            part.answers[who, asked] = found
        answer = part.answers[who, asked]
        return None if answer is None else answer * share

    def _alike(self, part: Part, person: int, code: int) -> tuple[int, int, Fraction]:
        """Whom and what to ask instead, and the factor; the same for all who are exchangeable."""
        number = self._dealing.variable(person, self.ground.group_of(person), code)
        if number is None:
            return person, code, Fraction(1)
        variable = self._dealing.variables[number]
        pool = variable.pool
        named = number in part.variables or (pool.spread and self._weighs(person, code))
        who = person if named else -1 - pool.group
        asked = code
        if pool.code < 0 and code not in part.codes:
            # Of the values that nobody speaks of, each has its share.
            asked = next(c for c in pool.bags if c not in part.codes)
        return who, asked, Fraction(pool.count(code), pool.count(asked))

    def _weighs(self, person: int, code: int) -> bool:
        return code in self.ground.prior.get(person, ())

    def _estimate(self, part: Part, person: int, code: int) -> Estimate:
        number = self._dealing.variable(person, self.ground.group_of(person), code)
        if number is None:
            return Estimate(0.0, 0.0, 0.0)
        return self._sample(part).estimate(number, code)

    def _sample(self, part: Part) -> Sample:
        """Worlds of a part; there must be some."""
        if part.sample is None:
            part.sample = Sample(self._dealing, part.formulas, part.seed)
        if part.sample.empty:
            raise UnsupportedError(
                f"it is not known whether these statements can hold together: {self._budget:,} "
                "steps did not suffice to tell, and no sampled world agrees with them; give a "
                "larger budget or fewer statements"
            )
        return part.sample

    # ---- refusing -------------------------------------------------------------------------

    def _refuse(self, part: Part) -> None:
        """Raise the error for a part that no world agrees with."""
        # One statement may have simplified another, so all that are linked are suspects.
        linked = {slot for node in part.formulas for slot in self._slots(node)}
        for said in components(self._said, self._slots):
            if any(not linked.isdisjoint(self._slots(node)) for node in said):
                linked.update(slot for node in said for slot in self._slots(node))
        suspects = [
            i for i, node in enumerate(self._said) if not linked.isdisjoint(self._slots(node))
        ]
        raise contradiction(self.ground, self._statements, suspects, self._possible)

    def _possible(self, places: Sequence[int]) -> bool | None:
        """Whether statements can hold together; None where that is out of reach."""
        formulas = self._marked([self._said[i] for i in places])
        try:
            return self._counter.ways(formulas, self._budget)[0] > 0
        except OutOfReach:
            return None
