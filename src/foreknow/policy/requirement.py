"""Requirement: secret, knowledge, sight and limit; what must stay hidden, from whom, how well.

This is the one place that turns a release and a requirement into what is counted: see
`Requirement.counted`. Every kind of knowledge then serves every secret and every sight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from foreknow.adversaries.disclosure import Disclosure, worst, worst_by_prior
from foreknow.adversaries.protocol import (
    Adversary,
    Gaining,
    HasCounts,
    Ledger,
    Mask,
    Searchable,
    counts_of,
)
from foreknow.criteria.protocol import Criterion
from foreknow.data.counts import GroupCounts, Semantics, require_single
from foreknow.data.labels import JointLabels, Label, Labels, known_beside
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.errors import InputError, PolicyError, UnsupportedError, did_you_mean, hints
from foreknow.numbers import CLOSE, Number, as_fraction, as_threshold, shown
from foreknow.result import card_of


class Point(NamedTuple):
    """Knowledge and its limit.

    Attributes
    ----------
    adversary : Adversary
    below : Fraction
        A confidence in (0, 1]; or how many times the prior, from 1, where `relative`.
    inclusive, relative : bool
        Whether the limit may be reached; whether it is so many times the prior of each person.
    """

    adversary: Adversary
    below: Fraction
    inclusive: bool = False
    relative: bool = False

    @property
    def key(self) -> str:
        """What a policy file calls the limit."""
        if self.relative:
            return "at_most_times"
        return "at_most" if self.inclusive else "below"

    def disclosures(self, counted: HasCounts) -> list[Disclosure]:
        """What the adversary finds out at worst, for each sensitive value that is counted."""
        if self.relative:
            assert isinstance(self.adversary, Gaining)
            return list(self.adversary.gains(counted).values())
        return list(self.adversary.disclosures(counted).values())

    def worst(self, disclosures: Iterable[Disclosure]) -> Disclosure:
        """The disclosure that is nearest to its limit, or farthest above it."""
        return worst_by_prior(disclosures) if self.relative else worst(disclosures)

    def ranked(self, disclosures: Iterable[Disclosure]) -> list[Disclosure]:
        """Disclosures, nearest to their limits first."""
        return sorted(disclosures, key=lambda d: -d.probability / float(self.limit(d)))

    def limit(self, found: Disclosure) -> Fraction:
        """The confidence that a disclosure must stay below, or must not exceed."""
        if not self.relative:
            return self.below
        # Of what nobody has, there is no prior that matters.
        return Fraction(1) if found.prior is None else min(Fraction(1), self.below * found.prior)

    def holds(self, found: Disclosure) -> bool:
        """Whether a disclosure keeps the limit."""
        limit = self.limit(found)
        return found.at_most(limit) if self.inclusive else found.below(limit)

    def said(self, found: Disclosure) -> tuple[str, str]:
        """A probability and its limit, in digits that look alike only where they are."""
        limit, chance = self.limit(found), found.probability
        if abs(chance - limit) <= CLOSE and found.exact in (None, limit):
            return f"{float(limit):.4g}", f"{float(limit):.4g}" + self._strictly
        for digits in range(4, 17):
            one, other = f"{chance:.{digits}g}", f"{float(limit):.{digits}g}"
            if one != other:
                break
        return one, other

    @property
    def _strictly(self) -> str:
        return "" if self.inclusive else ", which must not be reached"

    def __str__(self) -> str:
        return f"{self.below} times the prior" if self.relative else str(self.below)


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
        The sensitive values it is about; default: every value.
    excluded : sequence of labels
        Values it is not about (``except`` in a policy file).
    name : str
        What messages and reports call it.
    any_of : sequence of labels, optional
        One secret, in place of `values`: that a person has one of these, whichever. For people
        with one value each.
    at_most : number
        In place of `below`, for priors: the limit may be reached. ``at_most="1/4"`` is
        4-robustness.
    at_most_times : number
        In place of `below`, for priors: nobody may become more than so many times as likely to
        have a value as before the release.
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
    any_of: Sequence[Label] | None = field(default=None, kw_only=True)
    at_most: Number | None = field(default=None, compare=False, kw_only=True)
    at_most_times: Number | None = field(default=None, compare=False, kw_only=True)
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
        for name, key in (("values", "values"), ("excluded", "except"), ("any_of", "any_of")):
            object.__setattr__(self, name, self._labels(key, getattr(self, name)))
        if self.values is not None and not self.values:
            raise PolicyError(f"{self.name}: values is empty; leave it out to mean every value")
        if self.values is not None and self.excluded:
            raise PolicyError(f"{self.name}: give values or except, not both")
        if self.any_of is not None:
            self._check_set()
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

    def _check_set(self) -> None:
        if not self.any_of:
            raise PolicyError(f"{self.name}: any_of is empty; name the values of the set")
        if self.values is not None or self.excluded:
            key = "except" if self.excluded else "values"
            raise PolicyError(f"{self.name}: give any_of or {key}, not both; any_of is one secret")
        if self.criterion is not None:
            raise PolicyError(f"{self.name}: {self.criterion} is about whole groups: no any_of")
        for point in self.points:
            if isinstance(point.adversary, Gaining):
                raise PolicyError(
                    f"{self.name}: any_of is unsupported for {point.adversary}; give each of the "
                    "values a limit of its own that leaves room for the sum: values = [...]"
                )

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
        return labels

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        shown = ", ".join(
            f"{name}={x!r}"
            for name, x in given.items()
            if name not in ("adversary", "points", "criterion") and x not in (None, ())
        )
        return f"Requirement({self.adversary!r}, {shown})"

    def _repr_html_(self) -> str:
        return card_of(self)

    def under(self, schema: Any) -> Requirement:
        """The same with what its criterion needs of a schema."""
        bind = getattr(self.criterion, "under", None)
        return self if bind is None else replace(self, adversary=bind(schema, self.sensitive))

    def counted(self, release: HasCounts) -> HasCounts:
        """What the adversary's posterior is computed from, for audit and search alike.

        Of several sensitive columns one is counted, in groups that the columns divide which the
        adversary knows of everybody. Where the secret is each value by itself that is all; any of
        a set is counted as one value.
        """
        seen = self._seen(release)
        if self.any_of is None:
            return seen
        counts = counts_of(seen)
        return counts.united(self.about(counts.values), self.labels(counts.values))

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

    def _seen(self, release: HasCounts) -> HasCounts:
        """A release, or the counts of one, in the sight of the adversary."""
        if isinstance(release, Release):
            self.check_columns(release.sensitives)
            return release.seen(self.sensitive, self.knowing)
        release = counts_of(release)
        if not isinstance(release.values, JointLabels):
            return release.seen(self.sensitive, self.knowing or ())
        sensitive = self.sensitive or release.values.main
        known = known_beside(release.values.linked, sensitive, self.knowing)
        return release.seen(sensitive, known)

    def known(self, release: HasCounts) -> tuple[str, ...]:
        """Columns of a release that the adversary is taken to know, beyond quasi-identifiers."""
        if not isinstance(release, Release):
            return ()
        return release.known(self.sensitive, self.knowing)

    def labels(self, values: Labels) -> Labels:
        """What the values of a table are called once they are `counted`."""
        if isinstance(values, JointLabels):
            _, values = values.columns[self.sensitive or values.main]
        if self.any_of is None:
            return values
        about = self.about(values)
        if about.all():
            raise PolicyError(
                f"{self.name}: any_of names every sensitive value of the table, so everybody has "
                "one of these; leave out what need not stay hidden"
            )
        others = [value for value, of in zip(values, about, strict=True) if not of]
        return Labels([*others, name_of_set(self.any_of, map(str, others))])

    def mask(self, values: Labels) -> Mask:
        """Which of some values, as they are counted, it is about."""
        if self.any_of is None:
            return self.about(values)
        mask = np.zeros(len(values), dtype=bool)
        mask[-1] = True
        return mask

    def about(self, values: Labels) -> Mask:
        """Which values of a table it is about; labels go by how they print."""
        codes: dict[str, list[int]] = {}
        for i, value in enumerate(values):
            codes.setdefault(str(value), []).append(i)
        mask = np.full(len(values), self.values is None and self.any_of is None)
        named = (("values", self.values), ("except", self.excluded), ("any_of", self.any_of))
        for key, labels in named:
            for label in labels or ():
                if str(label) not in codes:
                    raise PolicyError(
                        f"{self.name}: {key}: nobody in the table has the sensitive value "
                        f"{str(label)!r}{did_you_mean(str(label), codes)}"
                    )
                mask[codes[str(label)]] = key != "except"
        return mask

    @property
    def by_labels(self) -> bool:
        """Whether it asks how groups are written."""
        return bool(getattr(self.criterion, "by_labels", False))

    @property
    def by_counts(self) -> bool:
        """Whether it asks nothing of groups but how many of each have each value."""
        gaining = any(isinstance(point.adversary, Gaining) for point in self.points)
        return not self.knowing and not gaining and not self.by_labels

    def ledgers(
        self, values: Labels, semantics: Semantics, everyone: GroupCounts | None = None
    ) -> list[Ledger]:
        """Start its ledgers, over what it counts: one for each point, or the criterion's.

        `everyone` is the whole table, for a criterion that compares groups with it.
        """
        if self.criterion is not None:
            more = {}
            if getattr(self.criterion, "compares_table", False) and everyone is not None:
                more = {"whole": counts_of(self.counted(everyone)).totals}
            return [self.criterion.ledger(semantics, **more)]
        if self.any_of is not None:
            require_single(semantics)
        mask, ledgers = self.mask(self.labels(values)), []
        for point in self.points:
            if not isinstance(point.adversary, Searchable):
                raise UnsupportedError(
                    f"{self.name}: no search by merging or dividing groups serves "
                    f"{point.adversary}, since both can help that adversary; publish by "
                    'method = "art"'
                )
            ledgers.append(point.adversary.ledger(point.below, mask, semantics))
        return ledgers

    def monotone(self, semantics: Semantics) -> bool:
        """Whether merging groups can never make a release fail it."""
        if self.criterion is not None:
            return self.criterion.monotone(semantics)
        return all(point.adversary.monotone(semantics) for point in self.points)

    def failures(self, release: HasCounts) -> list[str]:
        """Say in words what fails, and by how much."""
        counted = self.counted(release)
        if self.criterion is not None:
            found = self.criterion.attained(counted)
            return [] if found.holds else [f"{self.name}: {found}"]
        counts = counts_of(counted)
        mask, said = self.mask(counts.values), []
        for point in self.points:
            each = zip(point.disclosures(counted), mask, strict=True)
            worst_one = point.worst(d for d, about in each if about)
            if not point.holds(worst_one):
                chance, limit = point.said(worst_one)
                said.append(
                    f"{self.name}: {point.adversary} reaches {chance} for "
                    f"{str(worst_one.value)!r}, the limit is {limit}"
                )
                failing = worst_one.value
        if said and counts.n_groups == 1 and counts.semantics != "multiset":
            have = counts.totals[counts.code(failing)]
            said[-1] += f" ({have} of {counts.n_people} people have {str(failing)!r})"
        return said

    def published(self) -> dict[str, Any]:
        """The same as a certificate has it."""
        table, own = self.to_dict(), getattr(self.criterion, "published", None)
        return table if own is None else {**table, **own()}

    def to_dict(self) -> dict[str, Any]:
        """The ``[[require]]`` table of a policy file."""
        table: dict[str, Any] = {}
        if not self.name.startswith("require"):
            table["name"] = self.name
        if self.values is not None:
            table["values"] = list(self.values)
        if self.excluded:
            table["except"] = list(self.excluded)
        if self.any_of is not None:
            table["any_of"] = list(self.any_of)
        if self.sensitive is not None:
            table["sensitive"] = self.sensitive
        if self.knowing is not None and not (not self.knowing and self.of_people):
            table["knowing"] = list(self.knowing)
        if self.criterion is not None:
            return {**table, **self.criterion.to_dict()}
        if len(self.points) == 1:
            point = self.points[0]
            return {**table, **point.adversary.to_dict(), point.key: str(point.below)}
        for point in self.points:
            for kind, amounts in point.adversary.to_dict().items():
                table.setdefault(kind, []).append({**amounts, "below": str(point.below)})
        return table


def name_of_set(members: Iterable[Any], others: Iterable[str]) -> str:
    """What a set is called beside other values, so that no value has its name.

    >>> name_of_set(["B20", "Z21"], ["Flu"])
    'B20 or Z21'
    """
    name, taken = " or ".join(map(str, members)), set(others)
    while name in taken:
        name += "+"
    return name


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
    if getattr(adversary, "about_people", False):
        raise PolicyError(
            f"{name}: {type(adversary).__name__} cannot be required: they are about named "
            "people, and a search and its report see groups; ask their posteriors instead"
        )
    if isinstance(adversary, type) or not hasattr(adversary, "disclosures"):
        raise PolicyError(f"{name}: expected an adversary such as Facts(l=1), not {adversary!r}")
    if key != "below" and not isinstance(adversary, Gaining):
        raise PolicyError(
            f"{name}: {key} is for priors only; every other limit must stay strictly below: "
            "give below"
        )
    if key == "at_most_times":
        return Point(adversary, as_times(limit), inclusive=True, relative=True)
    return Point(adversary, as_threshold(limit), inclusive=key == "at_most")


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
        if earlier.any_of is not None or later.any_of is not None:
            if set(earlier.any_of or ()) == set(later.any_of or ()):
                raise PolicyError(
                    f"{later.name}: any of {', '.join(map(str, later.any_of or ()))} must stay "
                    f"below {two} here and below {one} in {earlier.name}, against the same "
                    f"{two.adversary}"
                )
            continue
        here = f"must stay below {two} here and below {one} in {earlier.name}, against the same"
        if earlier.values is None and later.values is None:
            strict, loose = (earlier, later) if one.below < two.below else (later, earlier)
            if set(strict.excluded) <= set(loose.excluded):
                raise PolicyError(
                    f"{later.name}: every value {here} {two.adversary}; keep one, or exclude "
                    "those values from the stricter requirement (except)"
                )
        elif earlier.values is not None and later.values is not None:
            shared = [v for v in later.values if v in earlier.values]
            if shared:
                raise PolicyError(f"{later.name}: {shared[0]!r} {here} {two.adversary}")
        else:
            both = [(earlier, one), (later, two)]
            general, special = both if earlier.values is None else both[::-1]
            _check_effect(*general, *special)


def _check_effect(general: Requirement, usual: Point, special: Requirement, point: Point) -> None:
    """A looser limit for some values has no effect where the stricter is about every value."""
    idle = [v for v in special.values or () if v not in general.excluded]
    if idle and point.below >= usual.below:
        raise PolicyError(
            f"{special.name}: below {point.below} for {idle[0]!r} has no effect, since "
            f"{general.name} asks below {usual.below} of every value; add except = [{idle[0]!r}] "
            "there"
        )
