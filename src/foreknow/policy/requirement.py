"""Requirement: secret, knowledge, sight and limit; what must stay hidden, from whom, how well."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property, wraps
from itertools import chain, combinations, product
from typing import Any, NamedTuple, cast

from foreknow.adversaries.adversary import Adversary, Gaining, HasCounts, check_adversary
from foreknow.adversaries.disclosure import Disclosure, worst, worst_by_prior
from foreknow.adversaries.release_counts import counts_of
from foreknow.call_hints import hints
from foreknow.criteria.criterion import Criterion, check_criterion, refuse_cases
from foreknow.data.columns.hierarchy import Hierarchy
from foreknow.data.counts import Semantics
from foreknow.data.impossible.rules import Rule
from foreknow.data.labels.labels import Label, Labels
from foreknow.data.labels.ranges import Range
from foreknow.data.labels.windows import Width
from foreknow.data.layout import Layout
from foreknow.data.schema import Schema
from foreknow.data.sights import Possible
from foreknow.errors import did_you_mean
from foreknow.names import own_name
from foreknow.needs import Need, require
from foreknow.policy.kinds import keys_of_kinds, kind_of
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow.policy.subjects import Values, subject_of
from foreknow.policy.tables import SECRET, PolicyTable, Secret, Sets
from foreknow.policy.targets import NO_SUM, EachValue, TargetValues, target_of
from foreknow.result_pages import page_of
from foreknow.settings import read
from foreknow.toml import toml_value
from foreknow_judge.counts.layout import Seen
from foreknow_judge.errors import InputError, PolicyError, UnsupportedError
from foreknow_judge.files.json_values import plain
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import Number, as_threshold
from foreknow_judge.policy.grammar import LIMITS
from foreknow_judge.verdict import Limit

_SETS = "any_of", "at_level"  # keys of secrets that are sets
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
        """True if the limit may be reached."""
        return self.limit.inclusive

    @property
    def relative(self) -> bool:
        """True if the limit is a multiple of each person's prior."""
        return self.limit.relative

    @property
    def searched(self) -> Point:
        """The point that a search uses for an adversary who needs finished groups."""
        adversary = self.adversary.in_search if isinstance(self.adversary, Gaining) else None
        if adversary is None or self.relative:
            return self
        return Point(adversary, Limit(self.below))

    def stricter(self, share: Fraction) -> Point:
        """The point with a share of its limit, if that is a probability."""
        if self.relative:
            return self
        return self._replace(limit=replace(self.limit, amount=self.below * share))

    def under(self, schema: Schema) -> Point:
        """The same with what its adversary needs from a schema."""
        if not isinstance(self.adversary, Gaining):
            return self
        return self._replace(adversary=self.adversary.under(schema))

    def disclosures(self, release: HasCounts) -> list[Disclosure]:
        """The worst disclosure of each secret that is counted."""
        if self.relative:
            assert isinstance(self.adversary, Gaining)
            return list(self.adversary.gains(release).values())
        return list(self.adversary.disclosures(release).values())

    def limits(self, release: HasCounts, sets: Iterable[Sequence[str]]) -> bool:
        """True if anyone with a value of these sets could exceed the limit."""
        if not self.relative:
            return self.limit.limits
        assert isinstance(self.adversary, Gaining)
        lowest = self.adversary.least(release, sets)
        return lowest is not None and bool(self.limit.at(lowest) < 1)

    def worst(self, disclosures: Iterable[Disclosure]) -> Disclosure:
        """The disclosure that is nearest to its limit, or farthest above it."""
        return worst_by_prior(disclosures) if self.relative else worst(disclosures)

    def ranked(self, disclosures: Iterable[Disclosure]) -> list[Disclosure]:
        """The disclosures, sorted from the worst relative to its limit."""
        return sorted(disclosures, key=lambda d: -d.probability / float(self.limit.at(d.prior)))


def _by_key(cls: type[Any]) -> type[Any]:
    """A class decorator: requirements can be made by keys of a policy file, too.

    So Requirement(k_anonymity=5) is the same as Requirement(KAnonymity(5)).
    """
    make, kinds = cls.__init__, keys_of_kinds()

    @wraps(make)
    def made(self: Any, *args: Any, **fields: Any) -> None:
        fields = {own_name(key, kinds) or key: value for key, value in fields.items()}
        # Only if no adversary or criterion is given by position: its key and settings make one.
        keys = [] if args else [key for key in fields if key in kinds]
        if keys:
            value, kind = fields.pop(keys[0]), kind_of(keys[0])
            # The limits of levels are one setting, which is a mapping itself.
            is_settings = isinstance(value, Mapping) and keys[0] != "levels"
            args = (kind(**value) if is_settings else kind(value),)
        make(self, *args, **fields)

    cls.__init__ = made
    return cls


@_by_key
@hints()
@dataclass(frozen=True, repr=False)
class Requirement:
    """A requirement on a release: on some sensitive values, or on its groups.

    Parameters
    ----------
    adversary : Adversary, Criterion, or sequence of (adversary, below) pairs
        The adversary that the release must withstand, or the criterion that it must meet.
        Several pairs are a skyline, in which each adversary has a limit of its own; a criterion
        has no limit. The key of a policy file works, too: ``Requirement(k_anonymity=5)``.
    below : number
        The limit in (0, 1] of a single adversary; disclosures must be strictly below it.
    values : sequence of labels, optional
        The sensitive values to protect; default: every value. Here, in `excluded` and in
        `any_of`, ``"B20*"`` stands for every value that begins with B20. A value that nobody has
        is noted, and refused if a value of the table looks like it, such as AIDS for AIDZ.
    excluded : sequence of labels
        Values that need no protection (``except`` in a policy file).
    name : str
        The name of the requirement in messages and reports.
    any_of : sequence of labels, mapping or str, optional
        In place of `values`, one secret: that a person has any of these values. A mapping names
        several sets, each a secret of its own: ``{"HIV": ["B20", "Z21"]}``, or ranges of numbers
        or dates, ends included: ``{"low": {"to": 15000}, "high": {"from": 70000}}``. A text is a
        label at any level of the sensitive column's hierarchy, for all values below it.
    at_level : int, optional
        In place of `any_of`: every label at this level of the hierarchy, from 1, is a secret of
        its own, except those in `excluded`.
    within : number or str, optional
        In place of `values`, for numbers and dates: the width of a window, such as 5000, "10%"
        (of its lower end) or "30 days". The secret is that a person's value lies in a window; the
        worst window counts. Works for people with one value each, against `Facts` and `Negations`.
    at_most : number
        In place of `below`, for priors: a limit that may be reached. ``at_most="1/4"`` is
        4-robustness.
    at_most_times : number
        In place of `below`, for priors: the largest factor by which the release may raise a
        person's probability of having a value.
    hierarchy : Hierarchy, optional
        The values that each label of `any_of` or `at_level` stands for; default: the hierarchy
        in the policy's schema.
    absent : sequence of labels
        Values named here that may be missing from the table, even if one of its values looks
        like them.
    sensitive : str, optional
        The sensitive column; needed if there are several.
    knowing : sequence of str, optional
        Columns that the adversary knows of everybody, beyond the quasi-identifiers. None means
        all columns published in the same row as the sensitive one; for a criterion of people
        alone, such as k-anonymity, those of them in `other`, which then tell people apart. An
        empty list means no column.

    Attributes
    ----------
    points : tuple of Point
        Each adversary with its limit; empty for a criterion.
    criterion : Criterion or None
        The criterion; None for adversaries.

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
    # the column of the persons whose cases rows are, where these persons are counted
    persons: str = field(default="", compare=False, repr=False, kw_only=True)
    points: tuple[Point, ...] = field(init=False, repr=False)
    criterion: Criterion | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Read the secret, the knowledge and the limits; `PolicyError` for what cannot be meant."""
        adversary: Any = self.adversary
        # A criterion, such as k-anonymity, has no limit beside it; an adversary has one, and
        # several adversaries with their limits are the points of a skyline.
        is_criterion = hasattr(adversary, "attained") and not isinstance(adversary, type)
        if is_criterion:
            check_criterion(adversary, self.name)
        limits = {key: getattr(self, key) for key in LIMITS}
        table = read(PolicyTable, {**self._secret_and_sight, **limits}, self.name)
        settings = {}
        for key in PolicyTable.model_fields:
            if key not in _NO:
                settings[key] = getattr(table, key)
        set_fields(self, **settings)
        set_fields(self, criterion=adversary if is_criterion else None)
        set_fields(self, points=() if is_criterion else tuple(self._points(table.limits)))
        if isinstance(self.any_of, Mapping):
            sets = {name: self._range(name, setting) for name, setting in self.any_of.items()}
            set_fields(self, any_of=Sets(sets))
        self._check_secret(table)
        for point in self.points:
            facts = getattr(point.adversary, "facts", None)
            if point.relative and facts is not None and facts.m:
                raise UnsupportedError("relative-links", self.name)

    @property
    def _secret_and_sight(self) -> dict[str, Any]:
        """Its secret and sight, by the keys of a policy file."""
        fields = {}
        for key, model_field in PolicyTable.model_fields.items():
            fields[key] = model_field.alias or key
        table = {alias: getattr(self, key) for key, alias in fields.items() if key not in _NO}
        return {**table, **{key: table[key] or None for key in ("except", "absent")}}

    def _check_secret(self, table: PolicyTable) -> None:
        """Refuse a secret or limit that does not go with its knowledge or criterion."""
        # Adversaries can judge sets of values as one secret; not every criterion can.
        keys = () if self.points else _SETS
        sets = next((key for key in keys if getattr(self, key) is not None), None)
        lacks = {Need.NO_WINDOWS: self.of_windows, Need.NO_SETS: sets}
        for kind in self.judged:
            require(kind, lacks, subject=self.name, error=PolicyError)
        chooses_values = self.values is not None or self.excluded or table.limits
        if chooses_values and not self.points:
            raise PolicyError(
                f"{self.name}: {self.criterion} is about whole groups: it takes no values, except "
                "or limit"
            )
        for point, other_point in combinations(self.points, 2):
            if point.adversary == other_point.adversary and point.below != other_point.below:
                raise PolicyError(
                    f"{self.name}: {point.adversary} has two thresholds, {point.below} and "
                    f"{other_point.below}; keep one"
                )
        if self.of_windows:
            set_fields(self, within=self._read(Width.of, self.within))

    def _range(self, name: str, setting: Any) -> tuple[str, ...] | Range:
        """A list of values as it is, or a range of numbers."""
        return (
            setting
            if isinstance(setting, tuple)
            else self._read(Range.of, setting, f"any_of.{name}: ")
        )

    def _read(self, reader: Callable[[Any], Any], setting: Any, key: str = "") -> Any:
        """The setting of a part, once read; an error begins with the names of both."""
        try:
            return reader(setting)
        except InputError as error:
            raise PolicyError(f"{self.name}: {key}{error}") from None

    def _points(self, limits: Mapping[str, Fraction]) -> list[Point]:
        """The points of the requirement: each an adversary with its limit.

        A single adversary has its limit beside it (`limits`); a skyline is a list of pairs.
        """
        adversaries = self.adversary
        if isinstance(adversaries, str) or not isinstance(adversaries, Sequence):
            return [point_of(self.name, adversaries, limits)]
        if limits:
            raise PolicyError(
                f"{self.name}: a skyline has a threshold in each point, none beside them"
            )
        if not adversaries:
            raise PolicyError(f"{self.name}: a skyline needs at least one point")
        try:
            pairs = [(adversary, below) for adversary, below in adversaries]
        except (TypeError, ValueError):  # some entry is no pair
            raise PolicyError(
                f"{self.name}: a skyline is a list of (adversary, below) pairs"
            ) from None
        try:
            return [
                point_of(self.name, adversary, {"below": as_threshold(below)})
                for adversary, below in pairs
            ]
        except InputError as error:
            kind = error if isinstance(error, PolicyError) else f"{self.name}: {error}"
            raise PolicyError(str(kind)) from None

    @property
    def judged(self) -> tuple[Any, ...]:
        """Each adversary, or the criterion."""
        if self.criterion is not None:
            return (self.criterion,)
        return tuple(point.adversary for point in self.points)

    @cached_property
    def subject(self) -> Values:
        """The subject of the requirement: values, people or units."""
        return subject_of(self)

    @property
    def of_people(self) -> bool:
        """True if the requirement is a criterion about numbers of people, whatever their values."""
        return self.subject.of_people

    @property
    def columns(self) -> tuple[str | None, ...]:
        """The sensitive column in question, None for the first; empty for a criterion of people."""
        return self.subject.columns

    @property
    def sums_cases(self) -> bool:
        """True if probabilities are added up over the cases of each person."""
        return bool(self.persons and self.points)

    @property
    def counts_cases(self) -> bool:
        """True for a criterion that counts cases, if people may have several."""
        return bool(self.persons) and not self.points

    @property
    def has_priors(self) -> bool:
        """True if an adversary knows how likely values are."""
        return any(isinstance(kind, Gaining) for kind in self.judged)

    @property
    def taken(self) -> Sequence[str] | None:
        """The columns assumed known of everybody; None for all columns beside the secret."""
        return self.subject.taken

    @property
    def limits_inference(self) -> bool:
        """True if it limits an adversary's confidence, or the values that a group may have."""
        if self.criterion is not None:
            return self.criterion.limits_values()
        return any(point.limit.limits for point in self.points)

    @property
    def limits_people(self) -> bool:
        """True if it limits what is inferred about people, and not only about cases."""
        return self.limits_inference and not self.counts_cases

    def searched(self, exact: bool) -> Requirement:
        """The requirement that a search checks, which is as strict or stricter.

        `exact` says that exact columns are published: then who looks alike depends on these, and a
        criterion on look-alikes is replaced by one on groups.
        """
        criterion = self.criterion
        if criterion is None:
            return self.with_points(point.searched for point in self.points)
        is_replaced = exact or Need.FINISHED in criterion.needs
        if criterion.of_groups is None or not is_replaced:
            return self
        known_columns = self.subject.known_of_groups
        return replace(self, adversary=criterion.of_groups, knowing=known_columns)

    @cached_property
    def attributes(self) -> set[str]:
        """The columns on which the priors of all adversaries depend."""
        return set.intersection(*map(columns_of_priors, self.judged))

    def __repr__(self) -> str:
        shown_fields = []
        for f in fields(self):
            if f.repr and f.name != "adversary":
                shown_fields.append(f.name)
        settings = [(name, getattr(self, name)) for name in shown_fields]
        text = ", ".join(f"{name}={x!r}" for name, x in settings if x not in (None, ()))
        return f"Requirement({self.adversary!r}, {text})"

    def _repr_html_(self) -> str:
        return page_of(self).summary()

    @property
    def secret(self) -> Secret:
        """The values to protect, whichever key names them."""
        return Secret.of(self)

    @property
    def about_sets(self) -> bool:
        """True if the secrets are sets of values, such as one illness with several codes."""
        return self.target.as_one

    @cached_property
    def target(self) -> EachValue:
        """The target of the requirement, which names and counts the values of its secret."""
        return target_of(self)

    @property
    def width(self) -> Width | None:
        """The width of a window (`within`); None if the secrets are no windows."""
        return cast("Width | None", self.within)

    @property
    def of_windows(self) -> bool:
        """True if the secrets are windows of numbers or dates."""
        return self.target.near

    def sets(self, values: Labels) -> dict[str, tuple[str, ...]]:
        """The values of a table that belong to each set, by the set's name.

        Raises
        ------
        PolicyError
            If a label or a value is unknown, or a set has every value of the table.
        """
        return self.target.sets(self.values_of_column(values))

    def about_one_set(self, name: str, members: tuple[str, ...]) -> Requirement:
        """The requirement with only one of its sets."""
        return replace(self, any_of=Sets({name: members}), at_level=None, excluded=())

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that `knowing` names; empty if it is None."""
        return tuple(self.knowing or ())

    def knowing_only(self, columns: Sequence[str]) -> Requirement:
        """The requirement against an adversary who knows exactly these columns of everybody."""
        return replace(self, knowing=columns)

    def knowing_all(self, layout: Layout) -> Requirement | None:
        """The requirement with the assumed columns known of everybody; None if there are none."""
        return self.subject.knowing_all(layout)

    def with_points(self, points: Iterable[Point]) -> Requirement:
        """A requirement like this one with other adversaries and limits."""
        points = tuple(points)
        # Equal priors may differ in whether they were learned, so equal points are not enough.
        if points == self.points and all(
            new.adversary is old.adversary for new, old in zip(points, self.points, strict=True)
        ):
            return self
        # A skyline has a list of adversaries with a limit each; others have one adversary.
        if isinstance(self.adversary, Sequence):
            return replace(self, adversary=[(point.adversary, point.below) for point in points])
        (point,) = points
        # Only the kind of limit that the point has is set; the others become None.
        limits: dict[str, Any] = dict.fromkeys(LIMITS)
        limits[point.limit.key] = point.below
        return replace(self, adversary=point.adversary, **limits)

    def under(self, schema: Any) -> Requirement:
        """The requirement with the schema's hierarchy, rules and other facts that it needs."""
        column = self.sensitive or schema.sensitive
        hierarchy = schema.hierarchies.get(column, self.hierarchy)
        persons = "".join(schema.case_persons)
        # A new requirement is checked anew, and then comes here again with equal fields.
        if self.hierarchy is not hierarchy or self.persons != persons:
            return replace(self, hierarchy=hierarchy, persons=persons).under(schema)
        self.target.check_schema(schema)
        if persons and any(point.relative for point in self.points):
            raise UnsupportedError(f"{self.name}: at_most_times is unsupported {NO_SUM}")
        shown_column, *shared_values = (schema.shared_columns if self.columns else ()) or ("",)
        lacks = {
            Need.EVERYBODY: bool(schema.rules_about(*self.columns)),
            Need.NO_HOUSEHOLDS: column in shared_values,
        }
        others = {Need.NO_HOUSEHOLDS: "require facts or negations of it"}
        for kind in self.judged:
            require(kind, lacks, subject=self.name, remedies=others, error=PolicyError)
        if column in shared_values:
            return self._of_households(shown_column, column)
        # Each row says whether it shows the household's value.
        if shown_column and self.knowing is not None and shown_column not in self.knowing:
            return self.knowing_only((*self.known, shown_column)).under(schema)
        if self.criterion is not None:
            return self._criterion_under(schema)
        return self.with_points(point.under(schema) for point in self.points)

    def _criterion_under(self, schema: Any) -> Requirement:
        """The requirement with what its criterion needs from a schema."""
        criterion: Any = self.criterion
        refuse_cases(criterion, schema)
        n_columns = getattr(criterion, "of", None)  # a number: any so many quasi-identifiers
        if self.known and isinstance(n_columns, int):
            columns = [*schema.quasi_identifiers[: max(n_columns - 1, 0)], self.known[0]]
            raise PolicyError(
                f"{self.name}: of = {n_columns} is of quasi-identifiers alone, and knowing "
                f"names {self.known[0]!r}: name lists that have it, such as of = "
                f"[{toml_value(columns)}], or leave knowing out"
            )
        bound = criterion.under(schema, self.sensitive)
        return self if bound is criterion else replace(self, adversary=bound)

    def _of_households(self, shown_column: str, column: str) -> Requirement:
        """The requirement on a value that a household shares, and that one of its rows shows.

        Everybody knows which row that is (`shown_column`); rows that do not show the value are no
        secret.
        """
        if self.criterion is not None or self.has_priors:
            raise PolicyError(
                f"{self.name}: {self.judged[0]} compares groups, or people, with all of a table, "
                f"and of {column!r} households share values; require facts or negations of it"
            )
        known_columns, excluded = self.knowing, dict.fromkeys(self.excluded)
        excluded |= dict.fromkeys(self.target.exempt)
        if known_columns is not None:
            known_columns = tuple(dict.fromkeys((*known_columns, shown_column)))
        return replace(self, shown=shown_column, knowing=known_columns, excluded=tuple(excluded))

    def count(self, release: HasCounts, possible: Possible | None = None) -> RequirementCounts:
        """The counts that judge a release; `possible` says who can have which values."""
        return RequirementCounts.of(self, release, possible)

    def meant(self, values: Labels) -> TargetValues:
        """The values of a table that the requirement protects, compared as text."""
        return self.target.meant(self.values_of_column(values))

    def values_of_column(self, values: Any) -> Labels:
        """The values of the requirement's sensitive column."""
        if isinstance(values, Mapping):
            values = values[self.sensitive or next(iter(values))]
        labels: Labels = values.values_of(self.sensitive)
        return labels

    def check_columns(self, sensitives: Sequence[str], schema: Schema | None = None) -> None:
        """Raise `PolicyError` if the sensitive or known columns do not fit those of a table."""
        if None in self.columns and len(sensitives) > 1:
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
        # A criterion may look at lists of columns, of which the adversary must know each.
        open_columns = (*schema.quasi_identifiers, *self.known)
        for name in getattr(self.criterion, "columns", ()):
            if name not in open_columns or name in self.owned(schema):
                raise PolicyError(
                    f"{self.name}: of: {name!r} is no quasi-identifier, nor published and in "
                    f"knowing{did_you_mean(name, open_columns)}"
                )
        for name in self.known:
            if name in schema.quasi_identifiers:
                raise PolicyError(
                    f"{self.name}: knowing: {name!r} is a quasi-identifier, which is known of "
                    "everybody anyway; leave it out"
                )
            # A known column need not be published; but a name like that of one is misspelt.
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
            if name in [column or sensitives[0] for column in self.columns]:
                raise PolicyError(
                    f"{self.name}: {name!r} cannot be both known and what must stay hidden"
                )

    @property
    def unit(self) -> str | None:
        """The column that numbers a criterion's units, such as households; None without."""
        return self.subject.unit

    def owned(self, schema: Schema) -> tuple[str, ...]:
        """The columns that the requirement needs and only the owner has."""
        return self.subject.owned(schema)

    def by_owner(self, schema: Schema, rules: Sequence[Rule]) -> str:
        """The part of this requirement that only the owner of the table can judge, in words.

        `rules` say that some people cannot have some values of its column.
        """
        text = self.subject.words
        if self.sums_cases:
            text += f", added up over all cases of each {self.persons}"
        hidden = self.subject.unpublished(schema)
        if hidden:
            text += f", with {' and '.join(hidden)} known of everybody"
        cannot: dict[str, list[str]] = {}
        for rule in rules:
            cannot.setdefault(", ".join(rule.values), []).append(str(rule))
        for values, people in cannot.items():
            text += f", not counting {'; '.join(people)} among those who might have {values}"
        return text if self.name.startswith("require") else f"{self.name}: {text}"

    def filed(self, schema: Schema) -> Requirement:
        """The part that a release can show; the requirement itself if that is all."""
        if not (hidden := self.owned(schema)):
            return self
        return replace(self.without(hidden), adversary=self.subject.filed)

    def without(self, columns: Collection[str]) -> Requirement:
        """The requirement with some columns removed from those that the adversary knows."""
        if self.knowing is None:
            return self
        return replace(self, knowing=[name for name in self.known if name not in columns])

    def seen_columns(self, layout: Layout) -> Seen:
        """The columns that the adversary sees in a release of this layout."""
        return self.subject.seen_columns(layout)

    @property
    def by_counts(self) -> bool:
        """True if the number of people with each value in each group is enough to judge it."""
        return self.subject.by_counts

    def monotone(self, semantics: Semantics) -> bool:
        """True if merging groups never makes a release fail that passed before."""
        return all(kind.monotone(semantics) for kind in self.judged)

    @property
    def searched_exactly(self) -> bool:
        """True if a search by monotone figures refuses only groups that fail the requirement."""
        return self.target.searched_exactly

    def failures(self, release: HasCounts) -> list[str]:
        """A message for each adversary or criterion that fails, with the figure attained.

        If `release` is one group of everybody, the message also says how many have the value.
        """
        requirement_counts = self.count(release)
        failing = [e for e in requirement_counts.explanations() if not e.safe]
        name = self.name
        known_columns = ", ".join(requirement_counts.seen_columns.known)
        if known_columns:
            name += f", with {known_columns} known of everybody"
        messages = [f"{name}: {explanation.words}" for explanation in failing]
        counts = counts_of(requirement_counts.seen)
        # With one group, no division can help: how many have the value says why.
        if messages and not failing[-1].of_groups and counts.n_groups == 1:
            value = failing[-1].value
            secret_counts = requirement_counts.counts_of_secret(failing[-1].found)
            n_people = int(secret_counts.totals[secret_counts.code(value)])
            what = self.target.words_of(value)
            people = f" ({n_people} of {counts.n_people} people have {what})"
            messages[-1] += {"multiset": ""}.get(counts.semantics, people)
        return messages

    def secret_and_sight(self, known_columns: Sequence[str]) -> dict[str, Any]:
        """The secret and the known columns, by the keys of a policy file, for a result.

        Known columns are left out if there are none and the policy says nothing of them.
        """
        table = self.to_dict()
        return {
            "values": None,
            "except": [],
            **{key: table[key] for key in (*SECRET, "sensitive") if key in table},
            **({"knowing": list(known_columns)} if known_columns or self.taken is not None else {}),
        }

    def published(self, values: Any, schema: Schema | None, layout: Layout) -> dict[str, Any]:
        """The ``[[require]]`` table for a certificate, with defaults written out.

        `values` are those of the table, for which labels of hierarchies are replaced by values.
        """
        table, criterion = self.to_dict(values), self.criterion
        table.pop("absent", None)  # which is about the raw table
        if criterion is not None:
            table |= criterion.published()
        if schema is not None:
            self.subject.tell_sight(table, layout, schema)
        return table

    def to_dict(self, values: Any = None) -> dict[str, Any]:
        """The ``[[require]]`` table of a policy file.

        If the values of a table are given, labels are replaced by sets of these values.
        """
        table = {
            "name": None if self.name.startswith("require") else self.name,
            **self._secret_and_sight,
        }
        target = self.target
        table |= (
            target.written()
            if values is None
            else target.written_out(self.values_of_column(values))
        )
        table = {key: plain(value) for key, value in table.items() if value is not None}
        if self.criterion is not None:
            return {**table, **self.criterion.to_dict()}
        if len(self.points) == 1:
            point = self.points[0]
            return {**table, **point.adversary.to_dict(), **point.limit.to_dict()}
        # Several points: for each kind of knowledge, a list of amounts with their limits.
        for point in self.points:
            for kind, amounts in point.adversary.to_dict().items():
                table.setdefault(kind, []).append({**amounts, "below": str(point.below)})
        return table


def columns_of_priors(kind: Any) -> set[str]:
    """The columns of an adversary's priors; none of anybody else."""
    return {*chain(*(table.attributes for table in getattr(kind, "tables", ())))}


def point_of(name: str, adversary: Any, limits: Mapping[str, Fraction]) -> Point:
    """Make a point of an adversary and its only limit, which `limits` has by its key.

    `name` is the requirement in messages.
    """
    if not limits:
        raise PolicyError(f"{name}: the threshold is missing; give below = a number in (0, 1]")
    ((key, limit),) = limits.items()
    if isinstance(adversary, type) or not hasattr(adversary, "disclosures"):
        raise PolicyError(f"{name}: expected an adversary such as Facts(l=1), not {adversary!r}")
    check_adversary(adversary, name)
    lacks = {Need.NAMES: True, Need.TRIAL: True, Need.ABSOLUTE: "" if key == "below" else key}
    require(adversary, lacks, subject=name, error=PolicyError)
    return Point(adversary, Limit(limit, key != "below", key == "at_most_times"))


def check_agreement(earlier: Requirement, later: Requirement) -> None:
    """Refuse two limits for one adversary and value: a contradiction, or one has no effect."""
    if (earlier.sensitive, earlier.knowing) != (later.sensitive, later.knowing):
        return
    # Each point of one with each of the other: an adversary with its limit.
    for earlier_point, later_point in product(earlier.points, later.points):
        if (
            earlier_point.adversary != later_point.adversary
            or earlier_point.below == later_point.below
        ):
            continue
        if earlier_point.relative != later_point.relative:  # these do not contradict each other
            continue
        conflict = (
            f"must stay below {later_point.limit} here and below {earlier_point.limit} in "
            f"{earlier.name}, against the same {later_point.adversary}"
        )
        # Sets of values conflict if they are equal; single values if both are about some value.
        wholes = [requirement.target.whole for requirement in (earlier, later)]
        if any(wholes):
            if wholes[0] == wholes[1]:
                raise PolicyError(f"{later.name}: {later.target.words} {conflict}")
            continue
        if earlier.values is None and later.values is None:
            stricter, looser = (
                (earlier, later) if earlier_point.below < later_point.below else (later, earlier)
            )
            # Else the looser limit has a purpose: values that the stricter one leaves out.
            if set(stricter.excluded) <= set(looser.excluded):
                raise PolicyError(
                    f"{later.name}: every value {conflict}; keep one, or exclude those values from "
                    "the stricter requirement (except)"
                )
        elif earlier.values is not None and later.values is not None:
            twice = []
            for value in later.values:
                if value in earlier.values:
                    twice.append(value)
            if twice:
                raise PolicyError(f"{later.name}: {twice[0]!r} {conflict}")
        else:
            pairs = [(earlier, earlier_point), (later, later_point)]
            general, special = pairs if earlier.values is None else pairs[::-1]
            _check_effect(*general, *special)


def _check_effect(general: Requirement, usual: Point, special: Requirement, point: Point) -> None:
    """Refuse a looser limit for some values if a stricter one is about every value.

    `general` with its limit `usual` is about every value, `special` with `point` about some.
    """
    without_effect = []
    for v in special.values or ():
        if v not in general.excluded:
            without_effect.append(v)
    if without_effect and point.below >= usual.below:
        raise PolicyError(
            f"{special.name}: below {point.below} for {without_effect[0]!r} has no effect, since "
            f"{general.name} asks below {usual.below} of every value; add except = "
            f"[{without_effect[0]!r}] there"
        )
