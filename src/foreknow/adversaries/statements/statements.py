"""Statements: an adversary who knows these very things about these very people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.protocol import HasCounts, Mask
from foreknow.adversaries.statements.case import Case
from foreknow.adversaries.statements.formulas import Formula, as_formula
from foreknow.adversaries.statements.grounding import Ground
from foreknow.adversaries.statements.highest import Highest
from foreknow.adversaries.statements.language import parse
from foreknow.adversaries.statements.names import Unknown
from foreknow.adversaries.statements.posterior import Posterior, Posteriors
from foreknow.adversaries.statements.prior import Weights, read_prior
from foreknow.counts import Semantics
from foreknow.errors import InputError, StatementError, UnsupportedError
from foreknow.labels import Label, Labels
from foreknow.numbers import Number

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
    >>> from foreknow.release import Release
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
