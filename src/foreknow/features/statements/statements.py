"""Statements: an adversary who knows facts about people by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from html import escape
from itertools import chain
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from foreknow.adversaries.adversary import HasCounts
from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.call_hints import Plain
from foreknow.data.counts import Semantics
from foreknow.data.labels.labels import Label, name_of_set
from foreknow.errors import ContradictionError, StatementError
from foreknow.features.statements.exact_chance import Exact, elimination_rank
from foreknow.features.statements.formulas import Formula, Has, Not, as_formula, parse
from foreknow.features.statements.model import (
    FALSE,
    Model,
    Node,
    Pool,
    Unknown,
)
from foreknow.features.statements.posterior import Posterior, Posteriors, PosteriorsOfOne
from foreknow.features.statements.weighted_worlds import WeighedCase, require_weights
from foreknow.needs import Need, Needs, require, several_values
from foreknow.numbers import whole_number
from foreknow.possible_worlds import components
from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import CLOSE


@dataclass(eq=False)
class Part:
    """A formula whose pools no other part mentions; `answers` keeps what was asked so far."""

    formula: Node
    exact: Exact
    codes: frozenset[int]  # values that they mention
    answers: dict[tuple[int, int], Fraction | None] = field(default_factory=dict)


class _Representative(NamedTuple):
    """A case that is worked out in place of others that are exchangeable with it."""

    person: int
    code: int
    share: Fraction  # the chance of the other case, as a multiple of this one's


class StatementQuery:
    """Statements about one release."""

    def __init__(self, model: Model, known_statements: Statements) -> None:
        self.model, self._nodes = model, model.nodes
        self._statements, self._budget = known_statements.statements, known_statements.budget
        conjuncts = chain.from_iterable(map(self._nodes.parts, model.said))
        self._rank = elimination_rank(self._nodes.variables[conjunct] for conjunct in conjuncts)

    # ---- asking ---------------------------------------------------------------------------

    def posterior(self, person: int, code: int) -> Posterior:
        """The posterior of a person and a value under the statements."""
        name, value = self.model.members.names[person], self.model.counts.values[code]
        answer = self.answer(person, code)
        return Posterior(name, value, answer, self.before(person, code))

    def any_of(self, person: int, codes: Sequence[int], set_name: str) -> Posterior:
        """The posterior that a person has one of several values.

        A person has one value, so the chances of the values are added up.
        """
        require("any_of", several_values(self.model.counts.semantics))
        before = sum((self.before(person, code) for code in codes), Fraction(0))
        answer = sum((self.answer(person, code) for code in codes), Fraction(0))
        return Posterior(self.model.members.names[person], set_name, answer, before)

    def answer(self, person: int, code: int) -> Fraction:
        """The probability that a person has a value, given the statements.

        Raises `UnsupportedError` if that takes more steps than the budget.
        """
        self.check()
        # Only statements that share values with the group's can change the answer.
        pool = self.model.pool(self.model.group_of(person), code)
        part = None if pool is None else self._parts.get(pool)
        if part is None:  # no statement is about it
            return self.before(person, code)
        chance = self._exactly(part, person, code)
        if chance is None:
            raise self._out_of_reach(f"how likely {self.model.members.names[person]} has it")
        return chance

    def check(self) -> None:
        """Refuse statements that cannot hold together, or for which that is out of reach."""
        if any(part.exact.chance is None for part in self._parts.values()):
            raise self._out_of_reach("whether these statements can hold together")

    def before(self, person: int, code: int) -> Fraction:
        """The posterior without the statements."""
        group, counts = self.model.group_of(person), self.model.counts
        count = self.model.bag(group).get(code, 0)
        return self.model.dealt.chance(int(counts.sizes[group]), count)

    def highest(self, code: int) -> Disclosure:
        """The highest posterior of a value over all people, named in statements or not."""
        self.check()
        counts, members = self.model.counts, self.model.members
        # Chance, group, and person; None for the person where anybody of the group will do.
        answers: list[tuple[Fraction, int, int | None]] = []
        for candidate in self._candidates:
            chance = self.answer(candidate, code)
            answers.append((chance, self.model.group_of(candidate), candidate))
        # Groups without a named person keep the chances that the release gives.
        best_unnamed = _best_unnamed(self.model, code)
        if best_unnamed is not None:
            answers.append((*best_unnamed, None))
        value = counts.values[code]
        highest, group, target = max(answers, key=itemgetter(0), default=(Fraction(0), 0, 0))

        def witness() -> StatementsWitness | None:
            if not highest:
                return None
            name = members.of_group(group)[0] if target is None else members.names[target]
            return StatementsWitness(name, value, counts.group_label(group))

        return Disclosure(value, float(highest), lambda: highest, witness)

    @property
    def steps(self) -> int:
        """Steps of exact inference so far."""
        return sum(part.exact.steps for part in dict.fromkeys(self._parts.values()))

    @cached_property
    def _candidates(self) -> list[int]:
        """The people who are named, and one of the others in each of their groups.

        The others of a group are exchangeable, so one stands for all.
        """
        candidates: list[int] = []
        for group, named_people in self.model.named.items():
            members = np.flatnonzero(self.model.members.groups == group)
            candidates += [*named_people, *np.setdiff1d(members, list(named_people))[:1].tolist()]
        return candidates

    # ---- parts ----------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> dict[Pool, Part]:
        """The part that each pool belongs to: statements fall into parts without a common pool.

        A pool is what is dealt out independently of all else, such as the values of a group. Raises
        `ContradictionError` if a part cannot hold.
        """
        part_of_pool: dict[Pool, Part] = {}
        formula = self._nodes.all_of(self.model.said)
        if formula == FALSE:
            raise self._contradiction(range(len(self._statements)))
        variables = self._nodes.variables
        parts = components(self._nodes.parts(formula), self.model.pools)
        # In the order of their first variables, so that the same contradiction is always reported.
        parts.sort(key=lambda nodes: min(min(variables[node]) for node in nodes))
        for nodes in parts:
            part = self._part(self._nodes.all_of(nodes))
            if part.exact.chance == 0:
                raise self._contradiction(self._suspects(part))
            part_of_pool.update(dict.fromkeys(self.model.pools(part.formula), part))
        return part_of_pool

    def _part(self, formula: Node) -> Part:
        """The part of a formula: the formula, its exact chance, and the values that it mentions."""
        exact = Exact(self.model, formula, self._rank, self._budget)
        variables = self.model.variables
        atoms = ((atom, variables[self._nodes.owner[atom]]) for atom in self._nodes.atoms[formula])
        codes = frozenset(variable.options[atom] for atom, variable in atoms)
        return Part(formula, exact, codes)

    # ---- answering ------------------------------------------------------------------------

    def _exactly(self, part: Part, person: int, code: int) -> Fraction | None:
        """The probability that a person has a value, as a fraction; None if out of reach."""
        if part.exact.chance is None:
            return None
        # Exchangeable people and values are worked out only once.
        representative, asked_code, share = self._representative(part, person, code)
        if (representative, asked_code) not in part.answers:
            part.answers[representative, asked_code] = part.exact.given(
                self.model.has(person, asked_code)
            )
        answer = part.answers[representative, asked_code]
        return None if answer is None else answer * share

    def _representative(self, part: Part, person: int, code: int) -> _Representative:
        """The case that is worked out in place of this one, as it is exchangeable with it.

        All people of a group whom no statement names are exchangeable, and so are all values that
        none names, but for how often they occur. The third item is the factor from that case to
        this one.
        """
        number = self.model.variable_index(person, code)
        assert number is not None  # the value occurs in their group
        pool = self.model.variables[number].pool
        is_named = number in self._nodes.variables[part.formula]
        asked_code = code
        if pool.code < 0 and code not in part.codes:
            # Of the values that nobody speaks of, each has its share.
            asked_code = next(c for c in pool.counts if c not in part.codes)
        share = Fraction(pool.counts[code], pool.counts[asked_code])
        # -1 - group stands for anybody of the group whom no statement names.
        return _Representative(person if is_named else -1 - pool.group, asked_code, share)

    def _out_of_reach(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"{what} takes more than {self._budget:,} steps of exact inference; give fewer "
            "statements, or such as link fewer people of a group to each other, or a larger budget "
            "(budget=, --budget)"
        )

    # ---- contradictions -------------------------------------------------------------------

    def _suspects(self, part: Part) -> list[int]:
        """The numbers of the statements that may be to blame when a part cannot hold.

        They are linked to it by pools, which are what is dealt out independently of all else.
        """
        pools = set(self.model.pools(part.formula))
        linked = dict(enumerate(map(self.model.pools, self.model.said)))
        for linked_numbers in components(linked, linked.__getitem__):
            linked_pools = set(chain.from_iterable(linked[number] for number in linked_numbers))
            if not linked_pools.isdisjoint(pools):
                pools |= linked_pools
        return [number for number in linked if not pools.isdisjoint(linked[number])]

    def _possible(self, linked_numbers: Iterable[int]) -> bool | None:
        """True if the statements can hold together; None if that is too hard to decide."""
        formula = self._nodes.all_of(self.model.said[number] for number in linked_numbers)
        chance = Exact(self.model, formula, self._rank, self._budget).chance
        return None if chance is None else chance > 0

    def _contradiction(self, suspects: Sequence[int]) -> ContradictionError:
        """The error that some statements cannot all hold; it names as few of them as possible.

        `suspects` are numbers of statements that cannot hold together.
        """
        formulas = self._statements
        # One statement alone is the simplest explanation.
        for i in suspects:
            if self._possible([i]) is False:
                message = f"statement {i + 1} cannot hold in this release: {formulas[i]}"
                return ContradictionError(message + self._reason(formulas[i]), (i,))
        needed, is_minimal = smallest_contradiction(suspects, self._possible)
        *earlier, last = [f"{i + 1} ({formulas[i]})" for i in needed]
        noun = "statement" if len(earlier) == 1 else "statements"
        earlier_text = " and ".join(
            [", ".join(earlier[:-1]), earlier[-1]] if earlier[1:] else earlier
        )
        message = f"statement {last} contradicts {noun} {earlier_text}"
        if not is_minimal:
            message = f"statements {earlier_text} and {last} cannot hold together"
        return ContradictionError(message, tuple(needed))

    def _reason(self, formula: Formula) -> str:
        """Why a single statement "has" or "has not" cannot hold, as the end of a sentence.

        Empty for any other statement, and if that is not simple.
        """
        is_negated = isinstance(formula, Not)
        part = formula.part if isinstance(formula, Not) else formula
        if not isinstance(part, Has):
            return ""
        model = self.model
        group = model.group_of(model.people.code_of_text(part.person))
        count = model.bag(group).get(model.values.code_of_text(part.value), 0)
        if not count and not is_negated:
            return f"; nobody in the group of {part.person} has {part.value}"
        people = int(model.counts.sizes[group])
        all_have_it = model.dealt.chance(people, count) == 1
        if all_have_it and is_negated:
            return f"; everybody in the group of {part.person} has {part.value}"
        return ""


def smallest_contradiction(
    suspects: Sequence[int], can_hold: Callable[[list[int]], bool | None]
) -> tuple[list[int], bool]:
    """A small set of statements that contradict each other, and whether all are surely needed.

    Statements are given by number. `can_hold` says if some can hold together; None if that takes
    too long to find out.
    """
    is_minimal = True
    needed = list(suspects)
    # The first ones that cannot hold, so that the last of them is the one to blame.
    low, high = 1, len(needed)
    while low < high:
        middle = (low + high) // 2
        if can_hold(needed[:middle]) is False:
            high = middle
        else:
            low = middle + 1
    needed = needed[:high]
    # Leave out one after another; what still contradicts without it did not need it.
    for i in needed[:-1]:
        remaining = [j for j in needed if j != i]
        is_possible = can_hold(remaining)
        if is_possible is False:
            needed = remaining
        is_minimal &= is_possible is not None
    return needed, is_minimal


@dataclass(frozen=True)
class StatementsWitness(Plain):
    """The person and the value with the highest posterior; `to_dict` names their group only."""

    _json_fields = "group"  # which names nobody

    person: Label
    value: Label
    group: Label


def _best_unnamed(model: Model, code: int) -> tuple[Fraction, int] | None:
    """The highest chance of a value in groups of which nobody is named, and that group.

    None if no such group has the value. `code` is the value's. Floats choose the groups that may be
    best; fractions decide.
    """
    counts = model.counts
    cells = np.flatnonzero(counts.codes == code)
    cells = cells[~np.isin(counts.cell_groups[cells], list(model.named))]
    if not len(cells):
        return None
    groups, occurrences = counts.cell_groups[cells], counts.counts[cells]
    people = counts.sizes[groups]
    shares = model.dealt.shares(people, occurrences)
    # Groups with the same numbers have the same chance: one of each is enough.
    nearly_best = np.flatnonzero(shares >= shares.max() - CLOSE)
    pairs, first_cells = np.unique(
        np.stack([people[nearly_best], occurrences[nearly_best]]), axis=1, return_index=True
    )
    candidates: list[tuple[Fraction, int]] = []
    for n_people, n_occurrences, cell in zip(*pairs.tolist(), first_cells, strict=True):
        chance = model.dealt.chance(n_people, n_occurrences)
        candidates.append((chance, int(groups[nearly_best[cell]])))
    return max(candidates)


# Steps of exact inference: about ten seconds.
BUDGET = 1_000_000


@dataclass(frozen=True, init=False, repr=False)
class Statements:
    """An adversary who knows that some statements about named people hold.

    Parameters
    ----------
    *statements : str or formula
        A text such as ``"Tom != Cancer"``, or a formula such as
        ``Has("Ann", "AIDS").implies(Has("Tom", "AIDS"))``. The language of texts has ``Tom = AIDS``
        or ``AIDS in Tom`` (he has it), ``Tom != Cancer`` or ``Cancer not in Tom``,
        ``same(Ann, Tom)`` (the same values), ``not``, ``and``, ``or``, ``->``, ``<->`` and
        parentheses. Put names in quotes if they have spaces or are words of the language. A name
        means the person or value whose label prints like it.
    budget : int
        The most steps of exact inference for one answer; the default takes about ten seconds.
    priors : Priors, optional
        The probabilities of values for people with each combination of attributes: one table
        under the joint reading. The weight of a world is then the product of the priors of its
        values, and the release must name people and have the columns of the priors. None: worlds
        are weighted as in the notes.

    Raises
    ------
    StatementError
        If a statement cannot be read. Later, when a release is given: if a statement names a
        person or value that is not in it.
    ContradictionError
        If no world agrees with all statements.
    UnsupportedError
        If an answer takes more steps than the budget.

    Notes
    -----
    A world assigns the bag of each group to its members. Under ``single`` all distinct
    assignments are equally likely. Under ``set``, a value that occurs o times goes to a random
    set of o members; under ``multiset``, each occurrence goes to a random member; then values
    are independent of each other. The posterior is the share of worlds in which the person has
    the value, among the worlds that agree with all statements. "Privacy Skyline" (Chen, LeFevre,
    Ramakrishnan), section 2; "Worst-Case Background Knowledge" (Martin and others), section 2.

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

    needs: ClassVar[Needs] = frozenset(
        {Need.NAMES, Need.NO_WINDOWS, Need.ABSOLUTE, Need.EVERYBODY, Need.FINISHED}
    )
    speaks: ClassVar[None] = None

    statements: tuple[Formula, ...]
    budget: int
    priors: Any
    _texts: tuple[str | None, ...] = field(compare=False)
    _last: list[tuple[HasCounts, StatementQuery]] = field(compare=False)

    def __init__(
        self,
        *statements: str | Formula,
        budget: int = BUDGET,
        priors: Any = None,
    ) -> None:
        texts: list[str | None] = []
        formulas: list[Formula] = []
        for number, statement in enumerate(statements, 1):
            texts.append(statement if isinstance(statement, str) else None)
            formulas.append(_formula_of(statement, number))
        set_fields(self, statements=tuple(formulas), _texts=tuple(texts), _last=[])
        steps = whole_number(budget, "the budget", 1)
        set_fields(self, budget=steps, priors=require_weights(priors))

    # ---- asking about people --------------------------------------------------------------

    def posterior(self, release: HasCounts, person: Label, value: Label) -> Posterior:
        """Compute the posterior probability, given the statements, that a person has a value.

        Parameters
        ----------
        release : Release
            A release that names people (``person=``).
        person, value : label
            The labels in the release, or how they print.
        """
        case = self._case(release)
        model = case.model
        return case.posterior(model.people.of_label(person), model.values.of_label(value))

    def posteriors(
        self,
        release: HasCounts,
        people: Iterable[Label] | None = None,
        values: Iterable[Label] | None = None,
        any_of: Iterable[Label] | Mapping[str, Iterable[Label]] | None = None,
    ) -> Posteriors:
        """The posteriors of many people: person -> value -> `Posterior`, each computed on access.

        Parameters
        ----------
        release : Release
            A release that names people (``person=``).
        people : iterable of label, optional
            The people to ask about, without repeats; default: everybody.
        values : iterable of label, optional
            The values to ask about, without repeats; default: all values of the person's group.
        any_of : iterable of label or mapping, optional
            Values of which a person has at least one, as one more value to ask about; without
            `values`, the only one. A mapping gives the set a name: ``{"HIV": ["B20", "Z21"]}``.
        """
        case = self._case(release)
        model = case.model
        names, labels = model.members.names, model.counts.values
        asked_people: Iterable[Label] = names
        # Labels are looked up now, so that an unknown one is an error at once, not on access.
        if people is not None:
            positions = list(map(model.people.of_label, _labels(people)))
            asked_people = [names[position] for position in dict.fromkeys(positions)]
        chosen_codes: list[int] | None = None
        if values is not None:
            chosen_codes = list(map(model.values.of_label, _labels(values)))
        elif any_of is not None:
            chosen_codes = []
        # A set with a name is reported by it; otherwise by its values.
        given_name: list[Any] = []
        if isinstance(any_of, Mapping):
            if len(any_of) != 1:
                raise InputError("any_of is one secret: one name with its values")
            ((name, any_of),) = any_of.items()
            given_name = [name]
        alternative_labels = [] if any_of is None else _labels(any_of)
        alternatives = list(dict.fromkeys(map(model.values.of_label, alternative_labels)))
        members = given_name or [labels[code] for code in alternatives]
        set_name = name_of_set(members, map(str, labels))

        def row(name: Label) -> PosteriorsOfOne:
            """The probabilities of one person, by value; each is worked out when it is asked for.

            Asked about are the chosen values, or all of the person's group; and the set, if there
            is one.
            """
            person = names.codes[name]
            codes = (
                list(model.bag(model.group_of(person))) if chosen_codes is None else chosen_codes
            )

            def answer(value: Label) -> Posterior:
                if alternatives and value == set_name:
                    return case.any_of(person, alternatives, set_name)
                return case.posterior(person, labels.codes[value])

            possible_values = [labels[code] for code in dict.fromkeys(codes)]
            return PosteriorsOfOne(
                [*possible_values, *([set_name] if alternatives else [])], answer
            )

        return Posteriors(asked_people, row)

    # ---- as an adversary ------------------------------------------------------------------

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Find the highest posterior of a value, or of any value if None, over all people."""
        if value is None:
            return worst(self.disclosures(release).values())
        case = self._case(release)
        try:
            code = case.model.values.of_label(value)
        except Unknown:
            case.check()
            return Disclosure(value, 0.0, lambda: Fraction(0))
        return case.highest(code)

    def disclosures(self, release: HasCounts) -> dict[Label, Disclosure]:
        """Find the highest posterior of every value over all people."""
        case = self._case(release)
        return {value: case.highest(code) for code, value in enumerate(case.model.counts.values)}

    def monotone(self, semantics: Semantics = "single") -> bool:
        """False: with statements, merging groups can raise a disclosure."""
        return False

    def chances(self, release: HasCounts) -> None:
        """None, since statements are about named people."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with statements as texts; priors are not included."""
        return {
            "statements": {
                "texts": list(map(str, self.statements)),
                "budget": self.budget,
            }
        }

    def __repr__(self) -> str:
        texts = [repr(str(formula)) for formula in self.statements[:3]]
        n_hidden = len(self.statements) - len(texts)
        texts += [f"... {n_hidden} more"] if n_hidden else []
        return f"Statements({', '.join(texts)})"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Statements, budget=self.budget, priors=self.priors), self.statements

    def _case(self, release: HasCounts) -> StatementQuery:
        """The query of a release; that of the last release is cached, as its answers are."""
        for last_release, case in self._last:
            if last_release is release:
                return case
        model = Model(release, self.statements, self._texts)
        if self.priors is not None:
            require(self, several_values(model.counts.semantics), {Need.ONE_VALUE})
            weighed_case: Any = WeighedCase(model, self, release)
            return weighed_case  # type: ignore[no-any-return]
        case = StatementQuery(model, self)
        self._last[:] = [(release, case)]
        return case


def _formula_of(statement: object, number: int) -> Formula:
    """The formula of a statement, parsed if it is a text; errors name its number."""
    if not isinstance(statement, str):
        try:
            return as_formula(statement)
        except InputError as error:
            hint = "; give them one by one: Statements(*statements)"
            raise InputError(
                f"statement {number}: {error}{hint if isinstance(statement, (list, tuple)) else ''}"
            ) from None
    try:
        return parse(statement)
    except StatementError as error:
        raise error.placed(f"statement {number}") from None


def _labels(labels: Iterable[Label]) -> Iterable[Label]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        what = "the text " if isinstance(labels, str) else ""
        raise InputError(f"expected a list of labels, not {what}{labels!r}")
    return labels
