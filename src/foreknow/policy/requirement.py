"""Requirement: secret, knowledge, sight and limit; what must stay hidden, from whom, how well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from foreknow.adversaries.disclosure import Disclosure, worst, worst_by_prior
from foreknow.adversaries.protocol import (
    Adversary,
    Gaining,
    HasCounts,
    OfWindows,
    counts_of,
)
from foreknow.criteria.protocol import Criterion
from foreknow.data.counts import Semantics
from foreknow.data.hierarchy import Hierarchy
from foreknow.data.labels import JointLabels, Label, Labels, is_pattern
from foreknow.data.layout import Layout, Seen
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.windows import Range, Width
from foreknow.errors import InputError, PolicyError, UnsupportedError, did_you_mean, hints
from foreknow.numbers import Number, as_fraction, as_threshold, shown
from foreknow.policy.counted import Counted
from foreknow.policy.sets import Meant, Of, meant, sets_of, written
from foreknow.result import card_of
from foreknow.verdict import Limit


class Point(NamedTuple):
    """Knowledge and its limit."""

    adversary: Adversary
    limit: Limit

    @property
    def below(self) -> Fraction:
        """The amount of its limit: a confidence, or how many times the prior."""
        assert self.limit.amount is not None
        return self.limit.amount

    @property
    def inclusive(self) -> bool:
        """Whether the limit may be reached."""
        return self.limit.inclusive

    @property
    def relative(self) -> bool:
        """Whether the limit is so many times the prior of each person."""
        return self.limit.relative

    def disclosures(self, counted: HasCounts) -> list[Disclosure]:
        """What the adversary finds out at worst, for each secret that is counted."""
        if self.relative:
            assert isinstance(self.adversary, Gaining)
            return list(self.adversary.gains(counted).values())
        return list(self.adversary.disclosures(counted).values())

    def worst(self, disclosures: Iterable[Disclosure]) -> Disclosure:
        """The disclosure that is nearest to its limit, or farthest above it."""
        return worst_by_prior(disclosures) if self.relative else worst(disclosures)

    def ranked(self, disclosures: Iterable[Disclosure]) -> list[Disclosure]:
        """Disclosures, nearest to their limits first."""
        return sorted(disclosures, key=lambda d: -d.probability / float(self.limit.at(d.prior)))


@hints()
@dataclass(frozen=True, repr=False)
class Requirement:
    """What must hold of a release: for some sensitive values, or of its groups.

    Parameters
    ----------
    adversary : Adversary, Criterion, or sequence of (adversary, below) pairs
        Several pairs make a skyline; each has a limit of its own. A criterion has none.
    below : number
        The limit in (0, 1] of a single adversary; safe means strictly below.
    values : sequence of labels, optional
        The sensitive values it is about; default: every value. Here, in `excluded` and in
        `any_of`, ``"B20*"`` stands for every value that begins with B20. What nobody has is no
        error: an audit notes it.
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
    sensitive : str, optional
        The column it is about, where there are several.
    knowing : sequence of str, optional
        Columns whose values the adversary knows of everybody, beyond the quasi-identifiers. Left
        out, all that are published beside the sensitive one in the same row; for a criterion of
        people alone, such as k-anonymity, none. An empty list says that nobody knows any.

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
    sensitive: str | None = field(default=None, kw_only=True)
    knowing: Sequence[str] | None = field(default=None, kw_only=True)
    points: tuple[Point, ...] = field(init=False, repr=False)
    criterion: Criterion | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given = self.adversary
        is_criterion = isinstance(given, Criterion) and not isinstance(given, type)
        object.__setattr__(self, "criterion", given if is_criterion else None)
        object.__setattr__(self, "points", () if is_criterion else tuple(self._points()))
        for point in self.points:
            for other in self.points:
                if point.adversary == other.adversary and point.below != other.below:
                    raise PolicyError(
                        f"{self.name}: {point.adversary} has two thresholds, {point.below} and "
                        f"{other.below}; keep one"
                    )
        for name, key in (("values", "values"), ("excluded", "except")):
            object.__setattr__(self, name, self._labels(key, getattr(self, name)))
        object.__setattr__(self, "any_of", self._members(self.any_of))
        if self.values is not None and not self.values:
            raise PolicyError(f"{self.name}: values is empty; leave it out to mean every value")
        if self.values is not None and self.excluded:
            raise PolicyError(f"{self.name}: give values or except, not both")
        if self.about_sets:
            self._check_sets()
        if self.within is not None:
            self._check_within()
        self._check_sight()
        limits = (self.below, self.at_most, self.at_most_times)
        if is_criterion and (self.values is not None or self.excluded or limits != (None,) * 3):
            raise PolicyError(
                f"{self.name}: {given} is about whole groups: it takes no values, except or limit"
            )

    def _check_sight(self) -> None:
        if self.sensitive is not None and not isinstance(self.sensitive, str):
            raise PolicyError(f"{self.name}: sensitive names one column, not {self.sensitive!r}")
        object.__setattr__(self, "knowing", self._labels("knowing", self.knowing))
        if self.sensitive is not None and self.sensitive in (self.knowing or ()):
            raise PolicyError(
                f"{self.name}: {self.sensitive!r} cannot be both known and what must stay hidden"
            )
        if self.knowing is None and self.of_people:
            object.__setattr__(self, "knowing", ())

    @property
    def of_people(self) -> bool:
        """Whether it is a criterion of how many people groups have, whatever their values."""
        return bool(getattr(self.criterion, "of_people", False))

    @property
    def of_classes(self) -> bool:
        """Whether it is such a criterion, and about who looks alike, not about groups."""
        return self.of_people and hasattr(self.criterion, "of_groups")

    def searched(self, exact: bool) -> Requirement:
        """What a search has to ask of groups, where `exact` columns are published or labels."""
        asked = getattr(self.criterion, "of_groups", None)
        if asked is None or (not exact and getattr(self.criterion, "searched", True)):
            return self
        return replace(self, adversary=asked, knowing=() if self.of_people else self.knowing)

    @property
    def attributes(self) -> set[str]:
        """Columns that each of its adversaries knows of everybody, to have priors by them."""
        named = [
            {name for table in getattr(of, "tables", ()) for name in table.attributes}
            for of in (point.adversary for point in self.points)
        ]
        return set.intersection(*named) if named else set()

    def _check_sets(self) -> None:
        key, level = "any_of" if self.at_level is None else "at_level", self.at_level
        other = next(
            (
                name
                for name, is_given in (
                    ("values", self.values is not None),
                    ("except", bool(self.excluded) and level is None),
                    ("any_of", self.any_of is not None and level is not None),
                )
                if is_given
            ),
            None,
        )
        if other is not None:
            why = "any_of is one secret" if level is None else "at_level is about all of a level"
            raise PolicyError(f"{self.name}: give {key} or {other}, not both; {why}")
        if level is not None and (isinstance(level, bool) or not isinstance(level, int)):
            raise PolicyError(f"{self.name}: at_level must be a whole number from 1, not {level!r}")
        if self.criterion is not None and not getattr(self.criterion, "counts_values", False):
            raise PolicyError(
                f"{self.name}: {self.criterion} does not ask how many have which value: no {key}"
            )

    def _members(self, given: Any) -> Any:
        """What is given of `any_of`: a label, names with their values, or values."""
        if isinstance(given, (str, Of)):  # one of its `secrets` may have no members
            return given
        if not isinstance(given, Mapping):
            members = self._labels("any_of", given)
            if members is not None and not members:
                raise PolicyError(f"{self.name}: any_of is empty; name the values of the set")
            return members
        if not given:
            raise PolicyError(f"{self.name}: any_of is empty; name a set and its values")
        sets = {str(name): self._set(f"any_of.{name}", own) for name, own in given.items()}
        for name, own in sets.items():
            if not own or not name:
                raise PolicyError(f"{self.name}: any_of.{name} is empty; name the set, its values")
        return Of(sets)

    def _set(self, key: str, given: Any) -> tuple[str, ...] | Range:
        """A list of values, or a range of numbers."""
        if not isinstance(given, (Mapping, Range)):
            return self._labels(key, given) or ()
        try:
            return Range.of(given)
        except (InputError, UnsupportedError) as error:
            raise PolicyError(f"{self.name}: {key}: {error}") from None

    def _check_within(self) -> None:
        keys = {"values": self.values, "except": self.excluded or None, "any_of": self.any_of}
        for key, given in {**keys, "at_level": self.at_level}.items():
            if given is not None:
                raise PolicyError(
                    f"{self.name}: give within or {key}, not both; within is about every value"
                )
        if self.criterion is not None:
            raise PolicyError(f"{self.name}: {self.criterion} is about whole groups: no within")
        for point in self.points:
            if not isinstance(point.adversary, OfWindows):
                raise PolicyError(
                    f"{self.name}: within is unsupported for {point.adversary}; give facts or "
                    "negations"
                )
        try:
            object.__setattr__(self, "within", Width.of(self.within))
        except InputError as error:
            raise PolicyError(f"{self.name}: {error}") from None

    def _points(self) -> list[Point]:
        given, limits = self.adversary, (self.below, self.at_most, self.at_most_times)
        try:
            if isinstance(given, str) or not isinstance(given, Sequence):
                return [point_of(self.name, given, *limits)]
            if any(limit is not None for limit in limits):
                raise PolicyError(
                    f"{self.name}: a skyline has a threshold in each point, none beside them"
                )
            points = [point_of(self.name, adversary, below) for adversary, below in given]
        except PolicyError:
            raise
        except InputError as error:
            raise PolicyError(f"{self.name}: {error}") from None
        except (TypeError, ValueError):
            raise PolicyError(
                f"{self.name}: a skyline is a list of (adversary, below) pairs"
            ) from None
        if not points:
            raise PolicyError(f"{self.name}: a skyline needs at least one point")
        return points

    def _labels(self, key: str, given: Any) -> tuple[str, ...] | None:
        """Labels as they print, which is how they are compared: a file knows no types."""
        if given is None:
            return None
        if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
            raise PolicyError(f"{self.name}: {key} must be a list, such as [{given!r}]")
        labels = tuple(str(label) for label in given)
        twice = [v for i, v in enumerate(labels) if v in labels[:i]]
        if twice:
            raise PolicyError(f"{self.name}: {key} names {twice[0]!r} twice")
        for label in labels if key != "knowing" else ():
            if is_pattern(label) and label[:-1] in ("", label[:-2] + "*"):
                raise PolicyError(
                    f'{self.name}: {key}: {label!r} says of no value how it begins; "B20*" stands '
                    "for every value that begins with B20"
                )
        return labels

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        shown = ", ".join(
            f"{name}={x!r}"
            for name, x in given.items()
            if name not in ("adversary", "points", "criterion", "hierarchy") and x not in (None, ())
        )
        return f"Requirement({self.adversary!r}, {shown})"

    def _repr_html_(self) -> str:
        return card_of(self)

    @property
    def about_sets(self) -> bool:
        """Whether its secrets are sets of values, such as one illness of several codes."""
        return self.any_of is not None or self.at_level is not None

    def sets(self, values: Labels) -> dict[str, tuple[str, ...]]:
        """Its sets by their names: those of a table's values that each stands for.

        Raises
        ------
        PolicyError
            If a label or a value is unknown, or a set has every value of the table.
        """
        return sets_of(self, self.own(values))

    def only(self, name: str, members: tuple[str, ...]) -> Requirement:
        """The same about one of its sets."""
        return replace(self, any_of=Of({name: members}), at_level=None, excluded=())

    def at(self, points: Iterable[Point]) -> Requirement:
        """The same with these adversaries and limits in place of its own."""
        if isinstance(self.adversary, Sequence):
            return replace(self, adversary=[(point.adversary, point.below) for point in points])
        (point,) = points
        limits: dict[str, Any] = dict.fromkeys(("below", "at_most", "at_most_times"))
        limits[point.limit.key] = point.below
        return replace(self, adversary=point.adversary, **limits)

    def under(self, schema: Any) -> Requirement:
        """The same with what its criterion, or its adversaries, need of a schema."""
        bind = getattr(self.criterion, "under", None)
        if bind is not None:
            return replace(self, adversary=bind(schema, self.sensitive))
        known = [point.adversary for point in self.points]
        own = [each.under(schema) if hasattr(each, "under") else each for each in known]
        if all(one is each for one, each in zip(own, known, strict=True)):
            return self
        points = zip(self.points, own, strict=True)
        return self.at(point._replace(adversary=one) for point, one in points)

    def count(self, release: HasCounts) -> Counted:
        """What it asks of a release, and the release as it counts it."""
        return Counted.of(self, release)

    def meant(self, values: Labels) -> Meant:
        """Which values of a table it is about; labels go by how they print."""
        return meant(self, self.own(values))

    def own(self, values: Any) -> Labels:
        """The values of its own column, of several."""
        if isinstance(values, JointLabels):
            return values.values_of(self.sensitive or values.layout.main)
        if isinstance(values, Mapping):
            own: Labels = values[self.sensitive or next(iter(values))]
            return own
        return values  # type: ignore[no-any-return]

    def check_columns(self, sensitives: Sequence[str], schema: Schema | None = None) -> None:
        """Refuse a requirement that does not say which of several columns it is about."""
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
        for name in self.knowing or ():
            if name in schema.quasi_identifiers:
                raise PolicyError(
                    f"{self.name}: knowing: {name!r} is a quasi-identifier, which is known of "
                    "everybody anyway; leave it out"
                )
            if name not in (*sensitives, *schema.other):
                raise PolicyError(
                    f"{self.name}: knowing: {name!r} is not published: it is neither sensitive "
                    f"nor among other{did_you_mean(name, [*sensitives, *schema.other])}"
                )
            if name == (self.sensitive or sensitives[0]) and not self.of_people:
                raise PolicyError(
                    f"{self.name}: {name!r} cannot be both known and what must stay hidden"
                )

    def sight(self, layout: Layout) -> Seen:
        """What the adversary sees beside the secret, of columns that are published so."""
        if self.of_classes and layout.people is not None:
            known = [name for name in layout.people if name in (self.knowing or ())]
            return Seen(self.sensitive or layout.main, tuple(known))
        seen = layout.seen(self.sensitive, self.knowing, of_people=self.of_people)
        return seen.with_priors(self.attributes)

    @property
    def by_counts(self) -> bool:
        """Whether it asks nothing of groups but how many of each have each value."""
        gaining = any(isinstance(point.adversary, Gaining) for point in self.points)
        return not self.knowing and not gaining

    def monotone(self, semantics: Semantics) -> bool:
        """Whether merging groups can never make a release fail it."""
        if self.criterion is not None:
            return self.criterion.monotone(semantics)
        return all(point.adversary.monotone(semantics) for point in self.points)

    @property
    def searched_exactly(self) -> bool:
        """Whether a search where merging cannot hurt refuses nothing that holds."""
        # Target and linked people are taken to be near each other in windows that differ a little.
        known = [each for p in self.points if isinstance(each := p.adversary, OfWindows)]
        return self.within is None or not any(each.speaks.groups for each in known)

    def failures(self, release: HasCounts) -> list[str]:
        """Say in words what fails, and by how much."""
        counted = self.count(release)
        failing = [verdict for verdict in counted.verdicts() if not verdict.safe]
        beside = counted.sight.known if isinstance(release, Release) else ()
        name = f"{self.name}, with {', '.join(beside)} known of everybody" if beside else self.name
        said = [f"{name}: {verdict.words}" for verdict in failing]
        counts = counts_of(counted.seen)
        if said and not failing[-1].of_groups and counts.n_groups == 1:
            of, value = counted.together(failing[-1].found), failing[-1].value
            have = int(of.totals[of.code(value)])
            what = f"values {value}" if self.within is not None else repr(str(value))
            if counts.semantics != "multiset":
                said[-1] += f" ({have} of {counts.n_people} people have {what})"
        return said

    def published(self, values: Any = None) -> dict[str, Any]:
        """The same as a certificate has it."""
        table, own = self.to_dict(values), getattr(self.criterion, "published", None)
        return table if own is None else {**table, **own()}

    def to_dict(self, values: Any = None) -> dict[str, Any]:
        """The ``[[require]]`` table of a policy file.

        With the values of a table, labels are written as the sets of values that they stand for.
        """
        table: dict[str, Any] = {}
        if not self.name.startswith("require"):
            table["name"] = self.name
        if self.values is not None:
            table["values"] = list(self.values)
        if self.excluded:
            table["except"] = list(self.excluded)
        if self.about_sets:
            table.update(written(self, None if values is None else self.own(values)))
            if values is not None:
                table.pop("except", None)
        if self.within is not None:
            table["within"] = self.within.given
        if self.sensitive is not None:
            table["sensitive"] = self.sensitive
        if self.knowing is not None and not (not self.knowing and self.of_people):
            table["knowing"] = list(self.knowing)
        if self.criterion is not None:
            return {**table, **self.criterion.to_dict()}
        if len(self.points) == 1:
            point = self.points[0]
            return {**table, **point.adversary.to_dict(), **point.limit.to_dict()}
        for point in self.points:
            for kind, amounts in point.adversary.to_dict().items():
                table.setdefault(kind, []).append({**amounts, "below": str(point.below)})
        return table


def point_of(
    name: str,
    adversary: Any,
    below: Number | None = None,
    at_most: Number | None = None,
    at_most_times: Number | None = None,
) -> Point:
    """Check an adversary and its one limit; `name` of the requirement is for messages."""
    keys = {"below": below, "at_most": at_most, "at_most_times": at_most_times}
    given = {key: limit for key, limit in keys.items() if limit is not None}
    if len(given) > 1:
        raise PolicyError(f"{name}: give {' or '.join(given)}, not both")
    if not given:
        raise PolicyError(f"{name}: the threshold is missing; give below = a number in (0, 1]")
    ((key, limit),) = given.items()
    if getattr(adversary, "estimates", False):
        raise PolicyError(
            f"{name}: what is learned from a release is an estimate, and no limit can be proved of "
            "it; carry it out as a trial: [[try]] in a policy file, tries= in Python"
        )
    if getattr(adversary, "about_people", False):
        raise PolicyError(
            f"{name}: {type(adversary).__name__} cannot be required: they are about named "
            "people, and a search and its report see groups; ask their posteriors instead"
        )
    if any(getattr(table, "estimated", False) for table in getattr(adversary, "tables", ())):
        raise PolicyError(
            f"{name}: priors learned from a release are an estimate, and so is what comes of them: "
            "no requirement takes it; try them: learned_report, or [[try]] in a policy file"
        )
    if isinstance(adversary, type) or not hasattr(adversary, "disclosures"):
        raise PolicyError(f"{name}: expected an adversary such as Facts(l=1), not {adversary!r}")
    if key != "below" and not isinstance(adversary, Gaining):
        raise PolicyError(
            f"{name}: {key} is for priors only; every other limit must stay strictly below: "
            "give below"
        )
    if key == "at_most_times":
        return Point(adversary, Limit(as_times(limit), inclusive=True, relative=True))
    return Point(adversary, Limit(as_threshold(limit), inclusive=key == "at_most"))


def as_times(number: Number, name: str = "at_most_times") -> Fraction:
    """Read how many times its prior a posterior may be, 1 or more.

    >>> as_times("3/2")
    Fraction(3, 2)
    """
    times = as_fraction(number)
    if times < 1:
        raise InputError(
            f"{name} must be 1 or more (1 means as likely as before), not {shown(number)}"
        )
    return times


def check_agreement(earlier: Requirement, later: Requirement) -> None:
    """Two limits for one adversary and value are a contradiction, or one has no effect."""
    if (earlier.sensitive, earlier.knowing) != (later.sensitive, later.knowing):
        return
    for one, two in product(earlier.points, later.points):
        if one.adversary != two.adversary or one.below == two.below:
            continue
        if one.relative != two.relative:  # what one asks, the other need not
            continue
        here = (
            f"must stay below {two.limit} here and below {one.limit} in {earlier.name}, against "
            f"the same {two.adversary}"
        )
        if any(each.about_sets or each.within is not None for each in (earlier, later)):
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
    """What makes two requirements be about the same sets or windows."""
    of = requirement.any_of
    values = frozenset(of) if isinstance(of, tuple) else of
    return requirement.within, requirement.at_level, values, requirement.excluded


def _about(requirement: Requirement) -> str:
    """The sets or windows that a requirement is about."""
    if requirement.within is not None:
        return f"values within {requirement.within}"
    of = requirement.any_of
    if of is None:
        return f"at_level = {requirement.at_level}"
    return f"any of {', '.join(of) if isinstance(of, tuple) else of}"


def _check_effect(general: Requirement, usual: Point, special: Requirement, point: Point) -> None:
    """A looser limit for some values has no effect where the stricter is about every value."""
    idle = [v for v in special.values or () if v not in general.excluded]
    if idle and point.below >= usual.below:
        raise PolicyError(
            f"{special.name}: below {point.below} for {idle[0]!r} has no effect, since "
            f"{general.name} asks below {usual.below} of every value; add except = [{idle[0]!r}] "
            "there"
        )
