"""Skyline report: how much knowledge a release withstands, to be shown and kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.fronts import front
from foreknow.adversaries.facts.minima import theorem2_terms
from foreknow.adversaries.release_counts import counts_of
from foreknow.call_hints import hinted
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Label
from foreknow.data.labels.windows import Width, Window, Windows
from foreknow.features.skylines.knowledge_skyline import (
    Skyline,
    Skylines,
    knowledge_skyline,
    knowledge_skylines,
    near_skyline,
)
from foreknow.features.skylines.skyline_input import open_release
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.result import Result
from foreknow_judge.errors import DataError, InputError, memory_for
from foreknow_judge.numbers import Number, as_threshold
from foreknow_judge.remarks.scope import Scope

Point: TypeAlias = tuple[int, int, int]

# Of more values, what is withstood is told by class.
MOST_TOLD = 1_000


@dataclass(frozen=True)
class Corner:
    """A point of a skyline: this much knowledge is withstood, one more fact of any kind is not."""

    point: Point  # (l, k, m)
    found: Disclosure  # the disclosure of such an adversary; below the confidence
    # the disclosures with one more of l, of k and of m; None for l if there is no further value
    beyond: tuple[Disclosure | None, Disclosure | None, Disclosure | None]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: l, k and m of the point, its probability, and those beyond."""
        one_more: dict[str, float | None] = {}
        for kind, disclosure in zip("lkm", self.beyond, strict=True):
            one_more[kind] = None if disclosure is None else disclosure.probability
        return {
            **dict(zip("lkm", self.point, strict=True)),
            "probability": self.found.probability,
            "one_more": one_more,
        }


@dataclass(frozen=True, eq=False, repr=False)
class SkylineReport(Result):
    """The knowledge skylines of some sensitive values of a release.

    Attributes
    ----------
    counts : GroupCounts
        The counts of the release.
    confidence : Fraction
        The limit that breach probabilities must stay below.
    values : tuple of labels
        The sensitive values.
    skylines : mapping of value -> list of (l, k, m)
        The sorted points of each value; empty if even l = k = m = 0 is not withstood. If no
        values were named, it is what `knowledge_skylines` returns, computed on access, with
        `.of_all` and `.classes`.
    name : str
        The name of the release in reports.
    sensitive : str or None
        The name of the sensitive column.
    windows : Windows or None
        The windows of values, if the secret is any window, which is then the only value.
    scope : Scope
        The columns that are assumed to be known, and those that were not examined.
    """

    format = "foreknow skylines"
    _json_fields = (
        "release=name sensitive knowing?=scope.known semantics=counts.semantics confidence"
    )

    counts: GroupCounts
    confidence: Fraction
    values: tuple[Label, ...]
    name: str
    sensitive: str | None
    skylines: Mapping[Label, Skyline]
    windows: Windows | None = None
    scope: Scope = field(default_factory=Scope)

    @property
    def in_cases(self) -> bool:
        """True if rows are cases, and a person may have several."""
        return self.scope.cases

    @property
    def by_class(self) -> Skylines | None:
        """The skylines by class of values if there are too many to list; None otherwise."""
        skylines = self.skylines
        return skylines if isinstance(skylines, Skylines) and len(skylines) > MOST_TOLD else None

    def points(self, value: Label) -> tuple[Point, ...]:
        """The points of one value, sorted."""
        try:
            return tuple(self.skylines[value])
        except (KeyError, TypeError):
            raise InputError(f"this report is not about {value!r}") from None

    def corners(self, value: Label) -> tuple[Corner, ...]:
        """The points of a value's skyline, with the disclosure of one more fact of each kind.

        A point (l, k, m): l values that the target is known not to have, k people whose values are
        known, m people linked to the target.
        """
        points = self.points(value)
        # All points and their neighbours are asked for at once, which is cheaper.
        neighbours = []
        for l, k, m in points:
            neighbours.append(((l + 1, k, m), (l, k + 1, m), (l, k, m + 1)))
        disclosures = self.disclosures(value, [*points, *chain.from_iterable(neighbours)])
        corners = []
        for point, (one_more_l, one_more_k, one_more_m) in zip(points, neighbours, strict=True):
            l, _, _ = point
            has_more_values = l < self.most_l  # which may be known not to be the target's
            beyond = (
                disclosures[one_more_l] if has_more_values else None,
                disclosures[one_more_k],
                disclosures[one_more_m],
            )
            corners.append(Corner(point, found=disclosures[point], beyond=beyond))
        return tuple(corners)

    def least_beyond(self, value: Label) -> Point:
        """Find the smallest number of facts, of all kinds together, that is not withstood.

        Ties go to the fewest kinds of facts, then to the most known people.
        """
        return fewest_beyond(self.points(value), self.most_l)

    def disclosure(self, value: Label, point: Point) -> Disclosure:
        """The disclosure of a value at one point."""
        return Facts(*_three(point)).disclosure(self.counts, value)

    def occurrences(self, value: Label) -> int:
        """The number of people who have a value, or of its occurrences."""
        return int(self.counts.totals[self.counts.code(value)])

    def withstands(self, value: Label, point: Point) -> bool:
        """True if an adversary with this amount of facts (l, k, m) stays below the confidence."""
        facts = Facts(*_three(point))
        # More l than there are other values adds nothing.
        needed_l = min(facts.l, self.most_l)
        return any(
            needed_l <= l and facts.k <= k and facts.m <= m for l, k, m in self.points(value)
        )

    def _content(self) -> dict[str, Any]:
        if self.by_class is not None:
            return super()._content() | _of_classes(self.by_class)
        return super()._content() | {"values": list(map(self._value_content, self.values))}

    def _value_content(self, value: Label) -> dict[str, Any]:
        return {
            "value": value,
            "occurrences": self.occurrences(value),
            "points": self.corners(value),
            "least_beyond": dict(zip("lkm", self.least_beyond(value), strict=True)),
        }

    def __repr__(self) -> str:
        n_values = len(self.values)
        what = repr(self.values[0]) if n_values == 1 else f"{n_values} values"
        points = sum(map(len, self.skylines.values())) if self.by_class is None else 0
        if self.by_class is not None:
            what, points = f"{what} together", len(self.by_class.of_all)
        return (
            f"SkylineReport({self.name}: {what}, {points} point{'' if points == 1 else 's'} below "
            f"{float(self.confidence):.4g})"
        )

    def disclosures(self, value: Label, points: Sequence[Point]) -> dict[Point, Disclosure]:
        """The disclosure of a value at each of many points (l, k, m) of facts.

        l values are known not to be the target's, the values of k people are known, and m people
        are linked to the target. Points with the same l are computed together.
        """
        disclosures: dict[Point, Disclosure] = {}
        code = self.counts.code(value)
        for l in sorted({point[0] for point in points}):
            points_at_l = sorted({point for point in points if point[0] == l})
            # Cells (values in groups) that are worst for some k and m at this l. Other cells are
            # better for all of them, so they need not be computed.
            cells = front(self.counts, l, code)
            n_profiles, (_, ks, ms) = len(cells), np.array(points_at_l, dtype=np.int64).T
            # All cells for the first point, then all for the second, and so on.
            profiles = cells.take(np.tile(np.arange(n_profiles), len(points_at_l)))
            minima = theorem2_terms(profiles, np.repeat(ks, n_profiles), np.repeat(ms, n_profiles))
            # The worst cell of each point has the least odds against the value.
            starts = np.arange(0, n_profiles * len(points_at_l), n_profiles)
            odds_against = minima.least(starts).negated_ratio()
            for point, odds in zip(points_at_l, odds_against.tolist(), strict=True):
                disclosures[point] = self._disclosure_at(value, point, odds)
        return disclosures

    def _disclosure_at(self, value: Label, point: Point, odds_against: float) -> Disclosure:
        """The disclosure of a value at a point, whose probability is known from floats.

        Fraction and witness are worked out when asked for.
        """

        def worked_out() -> Disclosure:
            return self.disclosure(value, point)

        # Odds of 0 are exact: certainty.
        exact = (lambda: Fraction(1)) if odds_against == 0 else (lambda: worked_out().exact)
        return Disclosure(value, 1 / (1 + odds_against), exact, lambda: worked_out().witness)

    @cached_property
    def most_l(self) -> int:
        """The number of other values, beyond which a larger l adds nothing."""
        return int(np.count_nonzero(self.counts.totals)) - 1


@dataclass(frozen=True, eq=False, repr=False)
class WindowSkyline(SkylineReport):
    """The knowledge skyline of any window of values, which is its only value."""

    def disclosure(self, value: Label, point: Point) -> Disclosure:
        """The disclosure of the worst window at one point."""
        return Facts(*_three(point)).disclosure(cast("Windows", self.windows))

    def disclosures(self, value: Label, points: Sequence[Point]) -> dict[Point, Disclosure]:
        """The disclosure of the worst window at many points."""
        return {point: self.disclosure(value, point) for point in set(points)}

    def occurrences(self, value: Label) -> int:
        """How many people there are, who have a value each."""
        return self.counts.n_people


def _of_classes(skylines: Skylines) -> dict[str, Any]:
    """The skyline of all values, and for each class the most of each kind of knowledge alone."""
    classes = []
    for value_class, members in skylines.members():
        most_alone = dict(zip("lkm", value_class.most or [None] * 3, strict=True))
        classes.append({"values": members, "most_alone": most_alone})
    points = [dict(zip("lkm", point, strict=True)) for point in skylines.of_all]
    return {"of_all": points, "classes": classes}


def fewest_beyond(points: Sequence[Point], most_l: int) -> Point:
    """The point (l, k, m) with the fewest facts that the release does not withstand.

    `points` are those of the skyline: it withstands what one of them covers.

    Ties go to the fewest kinds of facts, then to the most known people (k).
    """
    # A point that is not withstood, and has no smaller one, is one more than a corner in each
    # amount, or 0. The point (-1, -1, -1) stands for a skyline without points.
    corners = np.array([(-1, -1, -1), *points], dtype=np.int64)
    options = []
    for l in sorted({0, *(corners[:, 0] + 1).tolist()}):
        if l > most_l:
            break
        # With at least this l, and then this k, one more than the most m is too much.
        with_more_l = corners[corners[:, 0] >= l]
        for k in sorted({0, *(with_more_l[:, 1] + 1).tolist()}):
            with_more_l_and_k = with_more_l[with_more_l[:, 1] >= k]
            options.append((l, k, int(with_more_l_and_k[:, 2].max(initial=-1)) + 1))
    return min(options, key=lambda point: (sum(point), -point.count(0), -point[1], point))


@memory_for("the skyline")
@hinted
def skyline_report(
    release: Any,
    values: Iterable[Label] | None = None,
    *,
    confidence: Number,
    any_of: Sequence[Label] | str | None = None,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    name: str | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: str | None = None,
    within: Any = None,
    knowing: Sequence[str] | None = None,
) -> SkylineReport:
    """Find the knowledge skylines of a release, to be shown or kept.

    Parameters
    ----------
    release : Release, GroupCounts, Publication, path or frame
        The release, as `foreknow.audit` takes it.
    values : iterable of labels, optional
        The sensitive values; default: all that occur.
    confidence : number
        A limit in (0, 1]: a release withstands (l, k, m) if no adversary who knows this reaches it.
    any_of : sequence of labels or str, optional
        In place of `values`, one secret: that a person has any of these values. A text is a label
        in the hierarchy of the sensitive column, which the policy's schema has.
    policy : Policy, path or mapping, optional
        A policy whose schema names the roles of the table's columns.
    quasi_identifiers : sequence of str, optional
        In place of a policy, with `sensitive`: the columns that others may know.
    name, sensitive : str, optional
        The names of the release and its sensitive column in reports. `sensitive` also chooses
        among several columns.
    within : number or str, optional
        In place of `values`, for numbers and dates: the width of a range that is one secret, such
        as 5000 or "10%".
    knowing : sequence of str, optional
        Columns that the adversary knows of everybody; [] for none. Default: all that a `Release`
        publishes beside the sensitive one, as in an audit.

    Raises
    ------
    DataError
        If no group contains one of the values.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["AIDS", "Flu", "Flu", "Cold", "Cold", "Cancer"]])
    >>> report = skyline_report(counts, ["AIDS"], confidence="3/4")
    >>> report
    SkylineReport(release: 'AIDS', 7 points below 0.75)
    >>> report.skylines["AIDS"]
    [(0, 2, 2), (0, 3, 1), (0, 4, 0), (1, 0, 4), (1, 1, 3), (1, 2, 1), (2, 0, 3)]
    >>> report.least_beyond("AIDS"), report.withstands("AIDS", (0, 2, 2))
    ((3, 0, 0), True)
    """
    policy = None if policy is None else Policy.of(policy)
    release, description = open_release(
        release, policy, quasi_identifiers, sensitive, knowing, name
    )
    counts, limit = counts_of(release), as_threshold(confidence)
    # The secret is any window of numbers, any of a set of values, or one value after another.
    kind: type[SkylineReport] = SkylineReport
    windows = None
    if sum(secret is not None for secret in (values, any_of, within)) > 1:
        raise InputError("give one of values, any_of and within, not both")
    if within is not None:
        kind, windows = WindowSkyline, Windows.of(counts, Width.of(within))
        window = Window(f"a value in a window of {windows.width.words()}", 0)
        skylines: Mapping[Label, Skyline] = {window: near_skyline(windows, limit)}
    elif any_of is not None:
        counts, name_of = counted_as_one(counts, any_of, policy)
        skylines = {name_of: knowledge_skyline(counts, name_of, limit)}
    elif values is None:
        skylines = knowledge_skylines(counts, limit)
        if not skylines:
            raise DataError("the release has no sensitive values")
    else:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"values must be a list of sensitive values, such as [{values!r}]")
        skylines = {value: knowledge_skyline(counts, value, limit) for value in values}
        if not skylines:
            raise InputError("values is empty; leave it out for all values")
    return kind(counts, limit, tuple(skylines), skylines=skylines, windows=windows, **description)


skyline = skyline_report


def counted_as_one(
    counts: GroupCounts, any_of: Sequence[Label] | str, policy: Policy | None = None
) -> tuple[GroupCounts, Label]:
    """The counts with a set of values merged into one value, and the label of that value.

    `any_of` lists the values, or is a label of the policy's hierarchy.
    """
    schema = None if policy is None else policy.schema
    hierarchy: Any = None if schema is None else schema.hierarchies.get(schema.sensitive)
    # A requirement knows how to find the values of a set; its limit does not matter here.
    requirement = Requirement(Facts(), 1, name="any_of", any_of=any_of, hierarchy=hierarchy)
    requirement_counts = requirement.count(counts)
    ((_, members),) = requirement_counts.meant.sets.items()
    if not members:
        set_text = any_of if isinstance(any_of, str) else " or ".join(map(str, any_of))
        raise DataError(f"nobody in the release has {set_text!r}")
    # The merged value is the last.
    merged_counts = counts_of(requirement_counts.counts)
    return merged_counts, merged_counts.values[-1]


def _three(point: Any) -> Point:
    if isinstance(point, str) or not isinstance(point, Sequence) or len(point) != 3:
        raise InputError(f"a point is three amounts (l, k, m), not {point!r}")
    l, k, m = point
    return l, k, m
