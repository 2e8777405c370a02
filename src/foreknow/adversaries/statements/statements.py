"""Statements: an adversary who knows these very things about these very people."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np

from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.protocol import HasCounts, Mask
from foreknow.adversaries.statements.contradictions import contradiction
from foreknow.adversaries.statements.exact import Counter, OutOfReach
from foreknow.adversaries.statements.formulas import Formula, as_formula
from foreknow.adversaries.statements.grounding import Ground, Unknown, Weights, read_prior
from foreknow.adversaries.statements.language import parse
from foreknow.adversaries.statements.nodes import FALSE, Node
from foreknow.adversaries.statements.plans import components, dealing_rank
from foreknow.adversaries.statements.pools import Pool
from foreknow.adversaries.statements.posterior import Estimate, Posterior, Posteriors
from foreknow.adversaries.statements.sampling import Sample
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels import Label, Labels
from foreknow.errors import InputError, StatementError, UnsupportedError
from foreknow.numbers import CLOSE, Number

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


@dataclass(frozen=True)
class StatementsWitness:
    """The person of whom a value is most likely.

    Attributes
    ----------
    person, value, group : label
    interval : (float, float) or None
        Of an estimate.

    Notes
    -----
    `to_dict` leaves out the person: who it is, is told on request only.
    """

    person: Label
    value: Label
    group: Label
    interval: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which name nobody."""
        return {
            "group": self.group,
            "interval": None if self.interval is None else list(self.interval),
        }


@dataclass(frozen=True)
class Highest:
    """Finds the highest posterior of values."""

    case: Case

    def disclosure(self, code: int) -> Disclosure:
        """The highest posterior of a value; of an estimate, the upper end of its interval.

        As long as somebody's is an estimate, so is the highest of all: theirs may be higher.
        """
        self.case.check()
        estimated = sure = False
        best: tuple[Fraction, Answer, int | None, int] | None = None
        for person, group, answer in self._candidates(code):
            bound = Fraction(answer.high) if isinstance(answer, Estimate) else answer
            known = not isinstance(answer, Estimate)
            estimated |= not known and bound > 0
            # Of two that are equal, the one that is known.
            if best is None or bound > best[0] or (bound == best[0] and known and not sure):
                sure = known
                best = (bound, answer, person, group)
        value = self.case.ground.counts.values[code]
        if best is None or not best[0]:
            return Disclosure(value, 0.0, lambda: Fraction(0))
        bound, answer, person, group = best
        # Nothing is higher than 1.
        estimated &= answer != Fraction(1)
        exact = None if estimated or isinstance(answer, Estimate) else answer
        interval = (answer.low, answer.high) if isinstance(answer, Estimate) else None

        def witness() -> StatementsWitness:
            ground = self.case.ground
            who = ground.members.of_group(group)[0] if person is None else None
            name = ground.members.names[person] if person is not None else who
            return StatementsWitness(name, value, ground.counts.group_label(group), interval)

        return Disclosure(value, float(bound), lambda: exact, witness, estimated=estimated)

    def _candidates(self, code: int) -> Iterator[tuple[int | None, int, Answer]]:
        """Person, group and probability: of those named, and of one of the others in each group."""
        case = self.case
        for group, named in case.touched.items():
            others = self._others.get(group)
            for person in (*named, *(() if others is None else (others,))):
                yield person, group, case.answer(person, code)
        found = _best_untouched(case.ground.counts, code, list(case.touched))
        if found is not None:
            yield None, *found

    @cached_property
    def _others(self) -> dict[int, int]:
        """A member of each touched group whom nothing names."""
        found = {}
        for group, named in self.case.touched.items():
            members = np.flatnonzero(self.case.ground.members.groups == group)
            free = np.setdiff1d(members, named)
            if len(free):
                found[group] = int(free[0])
        return found


def _best_untouched(
    counts: GroupCounts, code: int, touched: list[int]
) -> tuple[int, Fraction] | None:
    """The group where somebody is most likely to have a value, by its counts alone."""
    cells = np.flatnonzero(counts.codes == code)
    groups = counts.cell_groups[cells]
    free = ~np.isin(groups, touched)
    groups, occurrences = groups[free], counts.counts[cells[free]]
    if not len(groups):
        return None
    people = counts.sizes[groups]
    if counts.semantics == "multiset":
        with np.errstate(divide="ignore"):
            shares = -np.expm1(occurrences * np.log1p(-1 / people))
    else:
        shares = occurrences / people
    near = np.flatnonzero(shares >= shares.max() - CLOSE)
    pairs, first = np.unique(np.stack([people[near], occurrences[near]]), axis=1, return_index=True)
    found = [
        (_share(int(n), int(o), counts.semantics), int(groups[near[i]]))
        for (n, o), i in zip(pairs.T.tolist(), first.tolist(), strict=True)
    ]
    share, group = max(found)
    return group, share


def _share(people: int, occurrences: int, semantics: str) -> Fraction:
    if semantics == "multiset":
        return 1 - Fraction(people - 1, people) ** occurrences
    return Fraction(occurrences, people)


# About ten seconds.
BUDGET = 1_000_000


@dataclass(frozen=True, init=False, repr=False)
class Statements:
    """An adversary who knows that some statements about named people hold.

    Parameters
    ----------
    *statements : str or formula
        Such as ``"Tom != Cancer"`` or ``Has("Ann", "AIDS").implies(Has("Tom", "AIDS"))``. The
        language: ``Tom = AIDS`` (he has it), ``AIDS in Tom`` (the same), ``Tom != Cancer``,
        ``Cancer not in Tom``, ``same(Ann, Tom)`` (the same values), ``not``, ``and``, ``or``,
        ``->``, ``<->``, parentheses. Names with spaces, or that are words of the language, go
        into quotes. A name means the person or value whose label prints like it.
    prior : mapping, optional
        How likely people have values before the release is seen: person -> value -> weight. A
        world is as likely as the product of the weights of all its (person, value) pairs; pairs
        that are left out weigh 1.
    budget : int
        The most steps of exact inference for one answer; beyond that it is an estimate. The
        default takes about ten seconds.
    seed : int
        Of estimates; the same seed gives the same estimates.

    Raises
    ------
    StatementError
        If a statement cannot be read, or, once a release is asked about, names somebody or
        something that is not in it.
    ContradictionError
        If no world agrees with all statements.

    Notes
    -----
    A world deals the bag of each group to its members. Under ``single`` all distinct deals are
    equally likely. Under ``set``, each value that occurs o times goes to any o members, equally
    likely; under ``multiset``, each occurrence goes to any member; values are independent then.
    The posterior is the share of the worlds that agree with all statements in which the person
    has the value. "Privacy Skyline" (Chen, LeFevre, Ramakrishnan), section 2; "Worst-Case
    Background Knowledge" (Martin and others), section 2.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.release import Release
    >>> table = pa.table(
    ...     {
    ...         "who": ["Ed", "Frank", "Gary", "Tom"],
    ...         "group": [1, 1, 1, 1],
    ...         "disease": ["Flu", "Cancer", "Flu", "AIDS"],
    ...     }
    ... )
    >>> release = Release.from_groups(table, group="group", sensitive="disease", person="who")
    >>> known = Statements("Tom != Cancer", "Gary = Flu").posterior(release, "Tom", "AIDS")
    >>> known.before, known.exact
    (Fraction(1, 4), Fraction(1, 2))
    """

    about_people: ClassVar[bool] = True

    statements: tuple[Formula, ...]
    prior: Weights
    budget: int
    seed: int
    _texts: tuple[str | None, ...] = field(compare=False)
    _last: list[tuple[HasCounts, Case]] = field(compare=False)

    def __init__(
        self,
        *statements: str | Formula,
        prior: Mapping[Any, Any] | None = None,
        budget: int = BUDGET,
        seed: int = 0,
    ) -> None:
        texts = tuple(given if isinstance(given, str) else None for given in statements)
        read = tuple(_read(given, i + 1) for i, given in enumerate(statements))
        keep = object.__setattr__
        keep(self, "statements", read)
        keep(self, "prior", read_prior(prior))
        keep(self, "budget", _whole(budget, "the budget", 1))
        keep(self, "seed", _whole(seed, "the seed", 0))
        keep(self, "_texts", texts)
        keep(self, "_last", [])

    # ---- asking about people --------------------------------------------------------------

    def posterior(self, release: HasCounts, person: Label, value: Label) -> Posterior:
        """How likely it is that a person has a value, given the statements.

        Parameters
        ----------
        release : Release
            One that names its people (``person=``).
        person, value : label
            As in the release, or as they print.
        """
        case = self._case(release)
        ground = case.ground
        return case.posterior(ground.people.of_label(person), ground.values.of_label(value))

    def posteriors(
        self,
        release: HasCounts,
        people: Iterable[Label] | None = None,
        values: Iterable[Label] | None = None,
    ) -> Posteriors:
        """Posteriors by person and value; each is worked out when it is asked for.

        Parameters
        ----------
        release : Release
        people : iterable of labels, optional
            All people of the release when left out; of repeated ones, the first counts.
        values : iterable of labels, optional
            For each person the values of their group, when left out; of repeated ones, the
            first counts.
        """
        case = self._case(release)
        ground = case.ground
        names, labels = ground.members.names, ground.counts.values
        asked = names
        if people is not None:
            places = [ground.people.of_label(person) for person in _several(people)]
            asked = Labels(names[place] for place in dict.fromkeys(places))
        chosen: tuple[Label, ...] | None = None
        if values is not None:
            codes = [ground.values.of_label(value) for value in _several(values)]
            chosen = tuple(labels[code] for code in dict.fromkeys(codes))

        def values_of(person: Label) -> tuple[Label, ...]:
            if chosen is not None:
                return chosen
            return tuple(ground.counts.bag(ground.group_of(names.codes[person])))

        return Posteriors(
            asked,
            values_of,
            lambda person, value: case.posterior(names.codes[person], labels.codes[value]),
        )

    # ---- as an adversary ------------------------------------------------------------------

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Find the highest posterior of a value over all people, or of any value.

        Where somebody's is an estimate, so is the disclosure: `estimated` is True, `exact` is None
        and `below` is never True. `probability` is the highest upper end of an interval then.
        """
        if value is None:
            return worst(self.disclosures(release).values())
        case = self._case(release)
        try:
            code = case.ground.values.of_label(value)
        except Unknown:
            case.check()
            return Disclosure(value, 0.0, lambda: Fraction(0))
        return Highest(case).disclosure(code)

    def disclosures(self, release: HasCounts) -> dict[Label, Disclosure]:
        """Find the highest posterior of every value over all people."""
        highest = Highest(self._case(release))
        return {
            value: highest.disclosure(code)
            for code, value in enumerate(highest.case.ground.counts.values)
        }

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Whether merging groups never raises a disclosure: not with statements."""
        return False

    def ledger(
        self, threshold: Number, values: Mask | None = None, semantics: Semantics = "single"
    ) -> NoReturn:
        """Refuse: statements are about people, and a search deals with groups of nobody's name."""
        raise UnsupportedError(
            "a search cannot use Statements: they name people, and it sees only counts; judge "
            "the release that it makes"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; fractions as texts."""
        return {
            "statements": {
                "texts": [str(formula) for formula in self.statements],
                "prior": [[person, value, str(weight)] for person, value, weight in self.prior],
                "budget": self.budget,
                "seed": self.seed,
            }
        }

    def __repr__(self) -> str:
        shown = [repr(str(formula)) for formula in self.statements[:3]]
        more = len(self.statements) - len(shown)
        shown += [f"... {more} more"] if more else []
        return f"Statements({', '.join(shown)}{', prior=...' if self.prior else ''})"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<code>{escape(repr(self))}</code>"

    def __reduce__(self) -> tuple[Any, ...]:
        rows = {(person, value): weight for person, value, weight in self.prior}
        return (_again, (self.statements, rows, self.budget, self.seed))

    def _case(self, release: HasCounts) -> Case:
        """What was worked out for a release; of the last one, all of it is remembered."""
        for known, case in self._last:
            if known is release:
                return case
        ground = Ground.of(release, self.prior)
        for i, (formula, text) in enumerate(zip(self.statements, self._texts, strict=True)):
            ground.check(formula, i, text)
        case = Case(ground, self.statements, self.budget, self.seed)
        self._last[:] = [(release, case)]
        return case


def _read(given: object, number: int) -> Formula:
    if not isinstance(given, str):
        try:
            return as_formula(given)
        except InputError as error:
            hint = "; give them one by one: Statements(*statements)"
            raise InputError(
                f"statement {number}: {error}{hint if isinstance(given, (list, tuple)) else ''}"
            ) from None
    try:
        return parse(given)
    except StatementError as error:
        raise error.within(f"statement {number}") from None


def _whole(given: object, name: str, least: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise InputError(f"{name} must be a whole number from {least}, not {given!r}")
    return given


def _several(given: Iterable[Label]) -> Iterable[Label]:
    if isinstance(given, str):
        raise InputError(f"expected a list of labels, not the text {given!r}")
    if not isinstance(given, Iterable):
        raise InputError(f"expected a list of labels, not {given!r}")
    return given


def _again(
    statements: tuple[Formula, ...], prior: Mapping[Any, Any], budget: int, seed: int
) -> Statements:
    return Statements(*statements, prior=prior, budget=budget, seed=seed)
