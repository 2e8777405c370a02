"""Requirement: secret, knowledge, sight and limit; what must stay hidden, from whom, how well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, wraps
from itertools import combinations, product
from typing import Any, NamedTuple

from foreknow.adversaries.disclosure import Disclosure, worst, worst_by_prior
from foreknow.adversaries.protocol import (
    Adversary,
    Gaining,
    HasCounts,
    check_adversary,
    counts_of,
)
from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria.protocol import (
    Criterion,
    by_other_columns,
    check_criterion,
    refuse_cases,
)
from foreknow.criteria.registry import CRITERIA
from foreknow.data.counts import Semantics
from foreknow.data.engines.households import ELSEWHERE, Shared
from foreknow.data.hierarchy import Hierarchy
from foreknow.data.impossible import Rule
from foreknow.data.labels import JointLabels, Label, Labels
from foreknow.data.layout import Layout
from foreknow.data.people import units
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sights import Possible
from foreknow.data.windows import Range, Width
from foreknow.errors import did_you_mean
from foreknow.hints import hints
from foreknow.names import own_name
from foreknow.needs import Need, require
from foreknow.policy.counted import RequirementCounts
from foreknow.policy.people import refuse_no_sum
from foreknow.policy.sets import TargetValues, meant, sets_of, written
from foreknow.policy.tables import SECRET, PolicyTable, Secret, Sets
from foreknow.result import page_of
from foreknow.settings import read
from foreknow_judge.errors import InputError, PolicyError, UnsupportedError
from foreknow_judge.frozen import set_fields
from foreknow_judge.grammar import LIMITS
from foreknow_judge.json_values import plain
from foreknow_judge.layout import Seen
from foreknow_judge.numbers import Number, as_threshold
from foreknow_judge.verdict import Limit

_NO = frozenset(("name", *LIMITS))  # keys of a requirement that are neither secret nor sight


class Point(NamedTuple):
    """Knowledge and its limit."""

    adversary: Adversary
    limit: Limit

    @property
    def below(self) -> Fraction:
        """The amount of its limit: a probability, or how many times the prior."""
        assert self.limit.amount is not None
        return self.limit.amount

    @property
    def inclusive(self) -> bool:
        """Whether the limit may be reached."""
        return self.limit.inclusive

    @property
    def relative(self) -> bool:
        """Whether the limit is a multiple of each person's prior."""
        return self.limit.relative

    def disclosures(self, counted: HasCounts) -> list[Disclosure]:
        """The worst disclosure of each secret that is counted."""
        if self.relative:
            assert isinstance(self.adversary, Gaining)
            return list(self.adversary.gains(counted).values())
        return list(self.adversary.disclosures(counted).values())

    def worst(self, disclosures: Iterable[Disclosure]) -> Disclosure:
        """The disclosure that is nearest to its limit, or farthest above it."""
        return worst_by_prior(disclosures) if self.relative else worst(disclosures)

    def ranked(self, disclosures: Iterable[Disclosure]) -> list[Disclosure]:
        """The disclosures, sorted from the worst relative to its limit."""
        return sorted(disclosures, key=lambda d: -d.probability / float(self.limit.at(d.prior)))


def _by_key(cls: type[Any]) -> type[Any]:
    """Let a requirement be made by the keys of a policy file: Requirement(k_anonymity=5)."""
    make, kinds = cls.__init__, {kind.key: kind for kind in (*ADVERSARIES, *CRITERIA)}

    @wraps(make)
    def made(self: Any, *args: Any, **given: Any) -> None:
        given = {own_name(key, kinds) or key: own for key, own in given.items()}
        if keys := [] if args else [key for key in given if key in kinds]:
            own, kind = given.pop(keys[0]), kinds[keys[0]]
            args = (kind(**own) if isinstance(own, Mapping) else kind(own),)
        make(self, *args, **given)

    cls.__init__ = made
    return cls


@_by_key
@hints()
@dataclass(frozen=True, repr=False)
class Requirement:
    """What must hold of a release: for some sensitive values, or of its groups.

    Parameters
    ----------
    adversary : Adversary, Criterion, or sequence of (adversary, below) pairs
        Several pairs make a skyline; each has a limit of its own. A criterion has none. By its key
        in a policy file, too: ``Requirement(k_anonymity=5)``.
    below : number
        The limit in (0, 1] of a single adversary; safe means strictly below.
    values : sequence of labels, optional
        The sensitive values it is about; default: every value. Here, in `excluded` and in
        `any_of`, ``"B20*"`` stands for every value that begins with B20. What nobody has is noted,
        and refused where a value of the table looks like it, such as AIDS for AIDZ.
    excluded : sequence of labels
        Values it is not about (``except`` in a policy file).
    name : str
        What messages and reports call it.
    any_of : sequence of labels, mapping or str, optional
        One secret, in place of `values`: that a person has one of these, whichever. A mapping
        names sets, each a secret of its own: ``{"HIV": ["B20", "Z21"]}``, or ranges of numbers or
        dates, ends included: ``{"low": {"to": 15000}, "high": {"from": 70000}}``. A text is a
        label in the hierarchy of the sensitive column, at any level: all values below it.
    at_level : int, optional
        In place of `any_of`: every label at this level of that hierarchy, from 1, is a secret of
        its own, but those in `excluded`.
    within : number or str, optional
        For numbers and dates, in place of `values`: that a person's value lies in some window
        that is so wide, such as 5000, "10%" of the lower end, or "30 days"; the worst window
        counts. For people with one value each, against `Facts` and `Negations`.
    at_most : number
        In place of `below`, for priors: the limit may be reached. ``at_most="1/4"`` is
        4-robustness.
    at_most_times : number
        In place of `below`, for priors: nobody may become more than so many times as likely to
        have a value as before the release.
    hierarchy : Hierarchy, optional
        What labels stand for. A policy gives that of its schema.
    absent : sequence of labels
        Of the values that it names, those that nobody need have, whatever looks like them.
    sensitive : str, optional
        The column it is about, where there are several.
    knowing : sequence of str, optional
        Columns whose values the adversary knows of everybody, beyond the quasi-identifiers. Left
        out, all that are published beside the sensitive one in the same row; for a criterion of
        people alone, such as k-anonymity, those among `other`, by which it tells people apart. An
        empty list says that nobody knows any.

    Attributes
    ----------
    points : tuple of Point
        Each adversary with its limit; empty for a criterion.
    criterion : Criterion or None

    Raises
    ------
    PolicyError
        If the parts contradict each other or cannot be required.

    Examples
    --------
    >>> from foreknow.adversaries.facts.facts import Facts
    >>> Requirement(Facts(l=1, k=5, m=2), below=0.5, values=["AIDS"]).points[0].below
    Fraction(1, 2)
    """

    adversary: Adversary | Criterion | Sequence[tuple[Adversary, Number]] | None = field(
        default=None, compare=False
    )
    below: Number | None = field(default=None, compare=False)
    values: Sequence[Label] | None = None
    excluded: Sequence[Label] = ()
    name: str = field(default="requirement", compare=False)
    any_of: Sequence[Label] | Mapping[str, Any] | str | None = field(default=None, kw_only=True)
    at_level: int | None = field(default=None, kw_only=True)
    within: Any = field(default=None, kw_only=True)
    at_most: Number | None = field(default=None, compare=False, kw_only=True)
    at_most_times: Number | None = field(default=None, compare=False, kw_only=True)
    hierarchy: Hierarchy | None = field(default=None, compare=False, repr=False, kw_only=True)
    absent: Sequence[Label] = field(default=(), compare=False, kw_only=True)
    sensitive: str | None = field(default=None, kw_only=True)
    knowing: Sequence[str] | None = field(default=None, kw_only=True)
    # for a value shown once for each household: the column that says in which row
    shown: str | None = field(default=None, compare=False, repr=False, kw_only=True)
    points: tuple[Point, ...] = field(init=False, repr=False)
    criterion: Criterion | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given: Any = self.adversary
        is_criterion = hasattr(given, "attained") and not isinstance(given, type)
        if is_criterion:
            check_criterion(given, self.name)
        limits = {key: getattr(self, key) for key in LIMITS}
        table = read(PolicyTable, {**self._said, **limits}, self.name)
        set_fields(
            self,
            **{key: getattr(table, key) for key in PolicyTable.model_fields if key not in _NO},
        )
        set_fields(self, criterion=given if is_criterion else None)
        set_fields(self, points=() if is_criterion else tuple(self._points(table.limits)))
        if isinstance(self.any_of, Mapping):
            each = self.any_of.items()
            set_fields(self, any_of=Sets({name: self._range(name, own) for name, own in each}))
        self._check_secret(table)
        on_top = [getattr(own.adversary, "facts", None) for own in self.points if own.relative]
        if any(facts is not None and facts.m for facts in on_top):
            raise UnsupportedError("relative-links", self.name)

    @property
    def _said(self) -> dict[str, Any]:
        """Its secret and sight, by the keys of a policy file."""
        fields = {key: of.alias or key for key, of in PolicyTable.model_fields.items()}
        own = {alias: getattr(self, key) for key, alias in fields.items() if key not in _NO}
        return {**own, **{key: own[key] or None for key in ("except", "absent")}}

    @classmethod
    def of(cls, adversary: Any, table: PolicyTable, name: str) -> Requirement:
        """Make a requirement from a table that was read."""
        own = {key: getattr(table, key) for key in PolicyTable.model_fields}
        return cls(adversary, **{**own, "name": name})

    def _check_secret(self, table: PolicyTable) -> None:
        """Refuse a secret or limit that does not go with its knowledge or criterion."""
        criterion, secret = self.criterion, self.secret
        if criterion is not None:
            key = "any_of" if secret.level is None else "at_level"
            sets = key if secret.as_one else None
            require(criterion, windows=self.of_windows, sets=sets, of=self.name, error=PolicyError)
            if self.values is not None or self.excluded or table.limits:
                raise PolicyError(
                    f"{self.name}: {criterion} is about whole groups: it takes no values, except "
                    "or limit"
                )
        for one, other in combinations(self.points, 2):
            if one.adversary == other.adversary and one.below != other.below:
                raise PolicyError(
                    f"{self.name}: {one.adversary} has two thresholds, {one.below} and "
                    f"{other.below}; keep one"
                )
        if self.within is None:
            return
        for point in self.points:
            require(point.adversary, windows=True, of=self.name, error=PolicyError)
        try:
            set_fields(self, within=Width.of(self.within))
        except InputError as error:
            raise PolicyError(f"{self.name}: {error}") from None

    def _range(self, name: str, given: Any) -> tuple[str, ...] | Range:
        """A list of values as it is, or a range of numbers."""
        if isinstance(given, tuple):
            return given
        try:
            return Range.of(given)
        except (InputError, UnsupportedError) as error:
            raise PolicyError(f"{self.name}: any_of.{name}: {error}") from None

    def _points(self, limits: Mapping[str, Fraction]) -> list[Point]:
        given = self.adversary
        if isinstance(given, str) or not isinstance(given, Sequence):
            return [point_of(self.name, given, limits)]
        if limits:
            raise PolicyError(
                f"{self.name}: a skyline has a threshold in each point, none beside them"
            )
        if not given:
            raise PolicyError(f"{self.name}: a skyline needs at least one point")
        try:
            pairs = [(adversary, below) for adversary, below in given]
        except (TypeError, ValueError):
            raise PolicyError(
                f"{self.name}: a skyline is a list of (adversary, below) pairs"
            ) from None
        try:
            return [point_of(self.name, of, {"below": as_threshold(own)}) for of, own in pairs]
        except InputError as error:
            kind = error if isinstance(error, PolicyError) else f"{self.name}: {error}"
            raise PolicyError(str(kind)) from None

    @property
    def judged(self) -> tuple[Any, ...]:
        """What is judged: each adversary, or the criterion."""
        if self.criterion is not None:
            return (self.criterion,)
        return tuple(point.adversary for point in self.points)

    @property
    def of_people(self) -> bool:
        """Whether it is a criterion about numbers of people, whatever their values."""
        return self.criterion is not None and self.criterion.of_people

    @property
    def taken(self) -> Sequence[str] | None:
        """The columns assumed known of everybody; None for all columns beside the secret."""
        if self.knowing is not None or not self.of_people:
            return self.knowing
        chosen = getattr(self.criterion, "columns", None)  # if given, only these tell people apart
        return None if by_other_columns(self.criterion) and not chosen else ()

    @property
    def limits_inference(self) -> bool:
        """Whether it limits how sure an adversary may become, or which values a group may have."""
        if self.criterion is not None:
            return not self.of_people and self.criterion.limits_values()
        return any(point.limit.limits for point in self.points)

    @property
    def of_classes(self) -> bool:
        """Whether it is a criterion about people who look alike instead of groups."""
        return (
            self.criterion is not None and self.of_people and self.criterion.of_groups is not None
        )

    def searched(self, exact: bool) -> Requirement:
        """The requirement that a search asks of groups; `exact` if exact columns are published."""
        criterion = self.criterion
        if criterion is None:
            points = [_searched(point) for point in self.points]
            same = all(new is old for new, old in zip(points, self.points, strict=True))
            return self if same else self.at(points)
        if criterion.of_groups is None:
            return self
        if not exact and Need.FINISHED not in criterion.needs:
            return self
        return replace(
            self, adversary=criterion.of_groups, knowing=() if self.of_people else self.knowing
        )

    @cached_property
    def attributes(self) -> set[str]:
        """Columns of the priors that all of its adversaries have."""
        named = [
            {name for table in of.tables for name in table.attributes}
            if isinstance(of, Gaining)
            else set[str]()
            for of in self.judged
        ]
        return set.intersection(*named) if named else set()

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        shown = ", ".join(
            f"{name}={x!r}"
            for name, x in given.items()
            if name not in ("adversary", "points", "criterion", "hierarchy") and x not in (None, ())
        )
        return f"Requirement({self.adversary!r}, {shown})"

    def _repr_html_(self) -> str:
        return page_of(self).summary()

    @property
    def secret(self) -> Secret:
        """The values it is about, whichever key says so."""
        return Secret.of(self)

    @property
    def about_sets(self) -> bool:
        """Whether its secrets are sets of values, such as one illness of several codes."""
        return self.secret.as_one

    @property
    def of_windows(self) -> bool:
        """Whether its secrets are windows of numbers or dates."""
        return self.within is not None

    def sets(self, values: Labels) -> dict[str, tuple[str, ...]]:
        """Its sets: for each name, the values of a table that belong to it.

        Raises
        ------
        PolicyError
            If a label or a value is unknown, or a set has every value of the table.
        """
        return sets_of(self, self.own(values))

    def only(self, name: str, members: tuple[str, ...]) -> Requirement:
        """The same requirement about only one of its sets."""
        return replace(self, any_of=Sets({name: members}), at_level=None, excluded=())

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that it says are known of everybody."""
        return tuple(self.knowing or ())

    def narrower(self, part: int) -> Requirement | None:
        """The same with windows of a fraction of the width; None if it has no such width."""
        width = None if self.within is None else self.within.part(part)
        return None if width is None else replace(self, within=width)

    def by(self, columns: Sequence[str]) -> Requirement:
        """The same against an adversary who knows only these columns of everybody."""
        return replace(self, knowing=columns)

    def knowing_all(self, layout: Layout) -> Requirement | None:
        """The same against somebody who knows what it assumes that nobody knows, where that is."""
        if self.of_people or any(isinstance(each, Gaining) for each in self.judged):
            return None
        seen = self.sight(layout)
        return self.by([*seen.known, *seen.assumed]) if seen.assumed else None

    def at(self, points: Iterable[Point]) -> Requirement:
        """The same with other adversaries and limits."""
        if isinstance(self.adversary, Sequence):
            return replace(self, adversary=[(point.adversary, point.below) for point in points])
        (point,) = points
        limits: dict[str, Any] = dict.fromkeys(LIMITS)
        limits[point.limit.key] = point.below
        return replace(self, adversary=point.adversary, **limits)

    def under(self, schema: Any) -> Requirement:
        """The same with what its criterion or its adversaries need from a schema."""
        if schema.counts_people:
            relative = any(point.relative for point in self.points)
            refuse_no_sum(f"{self.name}: ", within=self.of_windows, relative=relative)
        if not self.of_people and schema.rules_about(self.sensitive):
            if self.of_windows:
                raise PolicyError(
                    f"{self.name}: within is unsupported where the schema says what some people "
                    "cannot have (impossible); leave one of them out"
                )
            for judged in self.judged:
                require(judged, impossible=True, of=self.name, error=PolicyError)
        of_homes = getattr(schema.shared, "values", ())
        if (self.sensitive or schema.sensitive) in of_homes and not self.of_people:
            return self._of_households(schema)
        if of_homes and not self.of_people and self.knowing is not None:
            # Each row says whether it shows the household's value.
            knowing = tuple(dict.fromkeys((*self.knowing, schema.shared.column)))
            if knowing != tuple(self.knowing):
                return replace(self, knowing=knowing).under(schema)
        if (criterion := self.criterion) is not None:
            refuse_cases(criterion, schema)
            bound = criterion.under(schema, self.sensitive)
            return self if bound is criterion else replace(self, adversary=bound)
        known = [point.adversary for point in self.points]
        own = [each.under(schema) if isinstance(each, Gaining) else each for each in known]
        if all(one is each for one, each in zip(own, known, strict=True)):
            return self
        points = zip(self.points, own, strict=True)
        return self.at(point._replace(adversary=one) for point, one in points)

    def _of_households(self, schema: Schema) -> Requirement:
        """The same for a value shown once per household, where the row that shows it is known."""
        shared = schema.shared
        assert isinstance(shared, Shared)
        if self.of_windows:
            raise PolicyError(
                f"{self.name}: within is unsupported of {self.sensitive or schema.sensitive!r}, "
                "which is shown once for each household; give ranges as secrets by any_of"
            )
        if self.criterion is not None or any(isinstance(of, Gaining) for of in self.judged):
            raise PolicyError(
                f"{self.name}: {self.judged[0]} compares groups, or people, with all of a table, "
                f"and of {self.sensitive or schema.sensitive!r} households share values; require "
                "facts or negations of it"
            )
        singly = self.secret.singly and self.values is None
        known, left = self.knowing, self.excluded
        return replace(
            self,
            shown=shared.column,
            knowing=known if known is None else tuple(dict.fromkeys((*known, shared.column))),
            excluded=tuple(dict.fromkeys((*left, ELSEWHERE))) if singly else left,
        )

    def count(self, release: HasCounts, possible: Possible | None = None) -> RequirementCounts:
        """The counts of a release that this requirement needs, and of who can have which values."""
        return RequirementCounts.of(self, release, possible)

    def meant(self, values: Labels) -> TargetValues:
        """The values of a table that it is about, compared as text."""
        return meant(self, self.own(values))

    def own(self, values: Any) -> Labels:
        """The values of its sensitive column."""
        if isinstance(values, JointLabels):
            return values.values_of(self.sensitive or values.layout.main)
        if isinstance(values, Mapping):
            own: Labels = values[self.sensitive or next(iter(values))]
            return own
        return values  # type: ignore[no-any-return]

    def check_columns(self, sensitives: Sequence[str], schema: Schema | None = None) -> None:
        """Refuse a requirement that names no column, or a column that it cannot be about."""
        if self.sensitive is None and len(sensitives) > 1 and not self.of_people:
            raise PolicyError(
                f"{self.name}: say which column it is about: sensitive = "
                f"{' or '.join(map(repr, sensitives))}"
            )
        if self.sensitive is not None and self.sensitive not in sensitives:
            raise PolicyError(
                f"{self.name}: {self.sensitive!r} is no sensitive column"
                f"{did_you_mean(self.sensitive, sensitives)}"
            )
        if schema is None:
            return
        shared = (*schema.quasi_identifiers, *self.known)
        for name in getattr(self.criterion, "columns", ()):
            if name not in shared or name in self.owned(schema):
                raise PolicyError(
                    f"{self.name}: of: {name!r} is no quasi-identifier, nor published and in "
                    f"knowing{did_you_mean(name, shared)}"
                )
        for name in self.known:
            if name in schema.quasi_identifiers:
                raise PolicyError(
                    f"{self.name}: knowing: {name!r} is a quasi-identifier, which is known of "
                    "everybody anyway; leave it out"
                )
            published = [*sensitives, *schema.other]
            hint = "" if name in published else did_you_mean(name, published)
            if "did you mean" in hint:
                raise PolicyError(
                    f"{self.name}: knowing: {name!r} is not published: it is neither sensitive "
                    f"nor among other{hint}"
                )
            if name in (schema.person, *schema.identifiers):
                raise PolicyError(
                    f"{self.name}: knowing: {name!r} names people, and who is in which group is "
                    "known anyway; leave it out"
                )
            if name == (self.sensitive or sensitives[0]) and not self.of_people:
                raise PolicyError(
                    f"{self.name}: {name!r} cannot be both known and what must stay hidden"
                )

    @property
    def of_classes_of_units(self) -> bool:
        """Whether it counts units that look alike instead of units in a group."""
        return self.unit is not None and getattr(self.criterion, "of_look_alikes", False)

    @property
    def unit(self) -> str | None:
        """For a criterion that counts units, such as households, the column of their numbers."""
        return getattr(self.criterion, "unit", None)

    def owned(self, schema: Schema) -> tuple[str, ...]:
        """The columns that it looks at but a release does not show; only the owner has them."""
        shown = (*schema.quasi_identifiers, *schema.sensitives, *schema.other)
        found = [name for name in self.known if name not in shown]
        return tuple(found if self.unit is None else dict.fromkeys([self.unit, *found]))

    def by_owner(self, schema: Schema, rules: Sequence[Rule]) -> str:
        """The part that only the owner can judge, in words; `rules` bear on its column."""
        if self.unit is not None:
            said = f"each group has at least {self.criterion.least} different {self.unit}"  # type: ignore[union-attr]
        else:
            points = (f"{point.adversary} {point.limit.key} {point.below}" for point in self.points)
            said = "; ".join(points) or str(self.criterion)
        if self.points and schema.counts_people:
            said += f", added up over all cases of each {schema.person}"
        if hidden := [name for name in self.owned(schema) if name != self.unit]:
            said += f", with {' and '.join(hidden)} known of everybody"
        cannot: dict[str, list[str]] = {}
        for rule in () if self.of_people else rules:
            cannot.setdefault(", ".join(rule.values), []).append(str(rule))
        for values, people in cannot.items():
            said += f", not counting {'; '.join(people)} among those who might have {values}"
        return said if self.name.startswith("require") else f"{self.name}: {said}"

    def filed(self, schema: Schema) -> Requirement:
        """The part of it that a release can show; the requirement itself if that is all."""
        owned = self.owned(schema)
        if not owned:
            return self
        known = None if self.knowing is None else [n for n in self.known if n not in owned]
        sizes: Any = self.adversary
        return replace(
            self, knowing=known, adversary=replace(sizes, of=None) if self.unit else sizes
        )

    def sight(self, layout: Layout) -> Seen:
        """What the adversary sees beside the secret, if columns are published in this layout."""
        if self.unit is not None:
            if layout.people is not None and self.of_classes_of_units:
                raise UnsupportedError(
                    f"{self.name}: the bucketized form publishes exact columns of everybody, and "
                    f"how many different {self.unit} look alike by these is not counted; publish "
                    'with form = "generalized", or require group_size'
                )
            beside = layout.others if layout.of_people else ()
            return Seen(units(self.unit), tuple(beside if self.taken is None else self.taken))
        named = layout.others if self.taken is None else self.taken
        if self.of_classes and layout.people is not None:
            known = [name for name in layout.people if name in named]
            return Seen(self.sensitive or layout.main, tuple(known))
        if self.of_classes and not layout.of_people:
            self._refuse_people_apart([name for name in layout.others if name in named])
        seen = layout.seen(self.sensitive, self.taken, of_people=self.of_people)
        if self.shown is not None and self.shown not in seen.known:
            raise UnsupportedError(
                f"{self.name}: {seen.secret!r} is shown once for each household, and is judged "
                f"where {self.shown!r} stands beside it in each row: publish the table with form = "
                f'"generalized", and neither of them unlinked; a raw table is judged as '
                "fk.Microdata(table, schema)"
            )
        return seen.with_priors(self.attributes)

    def _refuse_people_apart(self, names: Sequence[str]) -> None:
        """Refuse columns that would tell people apart whose values are in tables of their own."""
        if names:
            raise UnsupportedError(
                f"{self.name}: {' and '.join(names)} would be published of everybody, apart from "
                "values that have tables of their own, and how many look alike by that is not "
                "counted there: say knowing = [], if nobody knows it, or make it a quasi-identifier"
            )

    @property
    def by_counts(self) -> bool:
        """Whether it needs only the number of people with each value in each group."""
        gaining = any(isinstance(each, Gaining) for each in self.judged)
        return not self.known and not gaining and self.unit is None

    def monotone(self, semantics: Semantics) -> bool:
        """Whether merging groups can never make a release fail it."""
        return all(each.monotone(semantics) for each in self.judged)

    @property
    def searched_exactly(self) -> bool:
        """Whether a search in which merging cannot hurt never refuses groups that hold."""
        # In windows, target and linked people are assumed to have values near each other.
        known = [each.speaks for each in self.judged]
        return not self.of_windows or not any(each is None or each.groups for each in known)

    def failures(self, release: HasCounts) -> list[str]:
        """Messages that say what fails, and by how much."""
        counted = self.count(release)
        failing = [own for own in counted.explanations() if not own.safe]
        beside = counted.sight.known if isinstance(release, Release) else ()
        name = f"{self.name}, with {', '.join(beside)} known of everybody" if beside else self.name
        said = [f"{name}: {own.words}" for own in failing]
        counts = counts_of(counted.seen)
        if said and not failing[-1].of_groups and counts.n_groups == 1:
            of, value = counted.together(failing[-1].found), failing[-1].value
            have = int(of.totals[of.code(value)])
            what = f"values {value}" if self.of_windows else repr(str(value))
            if counts.semantics != "multiset":
                said[-1] += f" ({have} of {counts.n_people} people have {what})"
        return said

    def told(self, known: Sequence[str]) -> dict[str, Any]:
        """Its secret and sight for a result, with the columns known of everybody."""
        table = self.to_dict()
        return {
            "values": None,
            "except": [],
            **{key: table[key] for key in (*SECRET, "sensitive") if key in table},
            **({"knowing": list(known)} if known or self.taken is not None else {}),
        }

    def published(self, values: Any, schema: Schema | None, layout: Layout) -> dict[str, Any]:
        """The table for a certificate, with defaults written out."""
        table, criterion = self.to_dict(values), self.criterion
        table.pop("absent", None)  # which is about the raw table
        if criterion is not None:
            table |= criterion.published()
        if schema is None or not (self.of_people or len((*schema.sensitives, *schema.other)) > 1):
            return table
        seen = self.sight(layout)
        table["knowing"] = list(seen.known)
        if self.of_people and not seen.known and not (schema.other and by_other_columns(criterion)):
            del table["knowing"]
        elif self.of_people and seen.secret != schema.sensitive:
            table["sensitive"] = seen.secret  # whose table has what is known
        return table

    def to_dict(self, values: Any = None) -> dict[str, Any]:
        """The ``[[require]]`` table of a policy file.

        With the values of a table, labels are written out as sets of these values.
        """
        own = None if values is None else self.own(values)
        table = {"name": None if self.name.startswith("require") else self.name, **self._said}
        if self.about_sets:
            left = {"any_of", "at_level", *(["except"] if own is not None else [])}
            secret = written(self, own)
            table = {key: secret.get(key) if key in left else of for key, of in table.items()}
        if self.within is not None:
            table["within"] = self.within.given
        table = {key: plain(given) for key, given in table.items() if given is not None}
        if self.criterion is not None:
            return {**table, **self.criterion.to_dict()}
        if len(self.points) == 1:
            point = self.points[0]
            return {**table, **point.adversary.to_dict(), **point.limit.to_dict()}
        for point in self.points:
            for kind, amounts in point.adversary.to_dict().items():
                table.setdefault(kind, []).append({**amounts, "below": str(point.below)})
        return table


def _searched(point: Point) -> Point:
    """The point that a search uses for an adversary who needs finished groups."""
    own = point.adversary.in_search if isinstance(point.adversary, Gaining) else None
    if own is None or point.relative:
        return point
    return Point(own, Limit(point.below))


def point_of(name: str, adversary: Any, limits: Mapping[str, Fraction]) -> Point:
    """Make a point of an adversary and its only limit; `name` is for messages."""
    if not limits:
        raise PolicyError(f"{name}: the threshold is missing; give below = a number in (0, 1]")
    ((key, limit),) = limits.items()
    if isinstance(adversary, type) or not hasattr(adversary, "disclosures"):
        raise PolicyError(f"{name}: expected an adversary such as Facts(l=1), not {adversary!r}")
    check_adversary(adversary, name)
    require(adversary, required=True, limit=key, of=name, error=PolicyError)
    return Point(adversary, Limit(limit, key != "below", key == "at_most_times"))


def check_agreement(earlier: Requirement, later: Requirement) -> None:
    """Refuse two limits for one adversary and value: a contradiction, or one has no effect."""
    if (earlier.sensitive, earlier.knowing) != (later.sensitive, later.knowing):
        return
    for one, two in product(earlier.points, later.points):
        if one.adversary != two.adversary or one.below == two.below:
            continue
        if one.relative != two.relative:  # these do not contradict each other
            continue
        here = (
            f"must stay below {two.limit} here and below {one.limit} in {earlier.name}, against "
            f"the same {two.adversary}"
        )
        if any(each.about_sets or each.of_windows for each in (earlier, later)):
            if _asked(earlier) == _asked(later):
                raise PolicyError(f"{later.name}: {_about(later)} {here}")
            continue
        if earlier.values is None and later.values is None:
            strict, loose = (earlier, later) if one.below < two.below else (later, earlier)
            if set(strict.excluded) <= set(loose.excluded):
                raise PolicyError(
                    f"{later.name}: every value {here}; keep one, or exclude those values from "
                    "the stricter requirement (except)"
                )
        elif earlier.values is not None and later.values is not None:
            shared = [v for v in later.values if v in earlier.values]
            if shared:
                raise PolicyError(f"{later.name}: {shared[0]!r} {here}")
        else:
            both = [(earlier, one), (later, two)]
            general, special = both if earlier.values is None else both[::-1]
            _check_effect(*general, *special)


def _asked(requirement: Requirement) -> Any:
    """A key that is equal for requirements about the same sets or windows."""
    secret = requirement.secret
    unnamed = frozenset(secret.sets.get("", ()))
    return secret._replace(sets={**secret.sets, "": unnamed})


def _about(requirement: Requirement) -> str:
    """The sets or windows that a requirement is about, in words."""
    secret = requirement.secret
    if secret.width is not None:
        return f"values within {secret.width}"
    if secret.level is not None:
        return f"at_level = {secret.level}"
    return f"any of {secret.label or ', '.join(secret.sets.get('', secret.sets))}"


def _check_effect(general: Requirement, usual: Point, special: Requirement, point: Point) -> None:
    """Refuse a looser limit for some values if a stricter one is about every value."""
    idle = [v for v in special.values or () if v not in general.excluded]
    if idle and point.below >= usual.below:
        raise PolicyError(
            f"{special.name}: below {point.below} for {idle[0]!r} has no effect, since "
            f"{general.name} asks below {usual.below} of every value; add except = [{idle[0]!r}] "
            "there"
        )
