"""Costs: what a column or a requirement costs the others, by publishing without it.

Everything is made of a sample of the people, the same each time: what differs between two
publications is what was left out.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.columns.attribute import Attribute
from foreknow.data.labels.generalization import Coarsened, coarsened, exact_labels, style_of
from foreknow.data.microdata import Microdata
from foreknow.errors import NoSafeRelease
from foreknow.methods.protocol import grouping_of
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.policy.way_out import line_of, weaker
from foreknow.wording import people_text
from foreknow_judge.errors import InputError

_log = logging.getLogger(__name__)

# Of a column that covers so much of its range nothing is left; so much less is worth to be said.
# How many savings are named.
LOST, WORTH, _NAMED = 0.9, 0.05, 3
# The least sample; of how many columns each is left out in turn, those of which least is left.
_LEAST, _MOST_COLUMNS = 500, 20
# Of how many requirements each is left out in turn.
_MOST_REQUIRED = 10
# Of how many people at least a value says something, and of which share of all.
_PEOPLE, _SHARE, _DEVIATIONS = 20, 0.05, 3


@dataclass(frozen=True)
class KeptDetail:
    """How much detail a publication keeps."""

    groups: int
    ncp: Mapping[str, float]  # of each quasi-identifier
    # of each, the share of the table's values that a label covers, whatever labels are like
    covered: Mapping[str, float] = field(default_factory=dict)

    def loss(self, weights: Mapping[str, float], without: Collection[str] = ()) -> float:
        """The average loss of detail over all columns but those in `without`, from 0 to 1.

        The loss of a column is its normalized certainty penalty (NCP): the share of its values that
        a label covers. A column counts as often as its weight says.
        """
        counted_columns = [name for name in self.ncp if name not in without]
        total = sum(weights.get(name, 1) * self.ncp[name] for name in counted_columns)
        return (
            total / sum(weights.get(name, 1) for name in counted_columns)
            if counted_columns
            else 0.0
        )

    @property
    def lost(self) -> list[str]:
        """The columns of which next to nothing is left."""
        return [name for name, loss in self.ncp.items() if loss >= LOST]


@dataclass(frozen=True)
class Saving:
    """The detail that the other columns keep if some columns are left out."""

    columns: tuple[str, ...]
    before: float  # the average NCP of the others
    after: float
    groups: int

    def __str__(self) -> str:
        column_names = " and ".join(map(repr, self.columns))
        return (
            f"Without {column_names}, the other columns would lose {self.after:.0%} of their "
            f"detail instead of {self.before:.0%}, in {self.groups:,} groups"
        )


@dataclass(frozen=True)
class TellingColumn:
    """A column that tells the sensitive value of many people more surely than a limit allows."""

    column: str
    people: int
    label: str | None  # the worst of its values
    having: int
    value: str  # which of them so many have
    share: float

    def said(self, sensitive: str, everybody: int) -> str:
        """The column and how many it gives away, in words."""
        return (
            f"{self.column!r} gives {sensitive!r} away: somebody who knows it, and nothing else, "
            f"is surer about {people_text(self.people)} ({self.people / everybody:.0%}) than a "
            f"limit allows. For example, {self.share:.0%} of the {self.having:,} with "
            f"{self.label!r} have {self.value!r}"
        )


def sample_of(microdata: Microdata, policy: Policy, cells: int) -> Microdata | None:
    """Some of the people, always the same, among whom values are as frequent as among all.

    They are as many as have `cells` cells: people times quasi-identifiers. None if there are more,
    and none may be left out.
    """
    max_people = max(_LEAST, cells // len(microdata.schema.quasi_identifiers))
    if microdata.n_people <= max_people:
        return microdata
    # People with several values or rows cannot be drawn one by one.
    if microdata.schema.several or policy.owned:
        return None
    # People are sorted by their sensitive value, in random order among those with one value. Every
    # so-manieth of them is taken, so that values stay as frequent as they are.
    codes, times = microdata.sensitive_codes, microdata.times
    rank = np.random.default_rng(0).permutation(len(codes))
    order = np.lexsort((rank, codes))
    # An entry may stand for several equal people: `times` says how many.
    people_so_far = np.cumsum(np.ones(len(codes), np.int64) if times is None else times[order])
    # The middle of each of `max_people` equal parts.
    positions = (2 * np.arange(max_people) + 1) * int(people_so_far[-1]) // (2 * max_people)
    people = order[np.searchsorted(people_so_far, positions, side="right")]
    return microdata.part(microdata.schema.quasi_identifiers, np.sort(people))


def kept_by(method: Any, microdata: Microdata, policy: Policy) -> KeptDetail | None:
    """The detail that a publication by a method would keep; None if nothing can be published."""
    names = microdata.schema.quasi_identifiers
    weights = {}  # without those of columns that are left out here
    for name, weight in policy.options.weights.items():
        if name in names:
            weights[name] = weight
    options = replace(policy.options, weights=weights)
    with suppress(InputError, NoSafeRelease):
        policy = replace(policy, schema=microdata.schema, options=options, tries=())
        grouping = grouping_of(method, microdata, policy, 0)
        groups = grouping.of_row[microdata.kept]
        n_groups = int(groups.max()) + 1
        people = np.bincount(groups, microdata.times)  # of each group
        # For each column, the loss of detail, and the average share of values that a label covers.
        ncp, covered = {}, {}
        for attribute in microdata.attributes:
            style = style_of(attribute, options.labels.get(attribute.name))
            floor = (grouping.floors or {}).get(attribute.name)
            label = coarsened(attribute, groups, n_groups, style, floor)
            ncp[attribute.name] = label.ncp(people)
            covered[attribute.name] = float(_covered_share(label) @ people / people.sum())
        return KeptDetail(n_groups, ncp, covered)
    return None


def _covered_share(label: Coarsened) -> NDArray[np.float64]:
    """The share of the other values that each group's label covers."""
    if label.style != "range":
        return label.widths
    until = np.concatenate(([0], np.cumsum(label.attribute.many)))
    first, last = label.places.T
    shares: NDArray[np.float64] = (until[last + 1] - until[first] - 1) / max(until[-1] - 1, 1)
    return shares


def savings(
    method: Any,
    sample: Microdata,
    policy: Policy,
    everything: KeptDetail,
    also_tried: Collection[str] = (),
) -> list[Saving]:
    """The detail that the other columns gain if a column is left out, for each in turn.

    The largest saving comes first. The columns `also_tried` are left out together, too. Columns
    that requirements need stay. `everything` is the detail that is kept with all columns.
    """
    names = sample.schema.quasi_identifiers
    needed_columns = {*policy.attributes, *sample.schema.conditions}
    weights, measured = policy.options.weights, []
    # Each column takes a publication of the sample, so only those that lose most are tried.
    widest = sorted(names, key=lambda name: -everything.ncp[name])[:_MOST_COLUMNS]
    candidates: list[tuple[str, ...]] = [(name,) for name in names if name in widest]
    if 1 < len(also_tried) < len(names):
        candidates.append(tuple(also_tried))
    for left_out in candidates:
        remaining = [name for name in names if name not in left_out]
        if not remaining or needed_columns.intersection(left_out):
            continue
        # Compared is the loss of the other columns, with and without these.
        _log.info("measuring what is kept without %s", " and ".join(left_out))
        without_columns = kept_by(method, sample.part(remaining), policy)
        loss_before = everything.loss(weights, left_out)
        if without_columns is not None:
            measured.append(
                Saving(left_out, loss_before, without_columns.loss(weights), without_columns.groups)
            )
    return sorted(measured, key=lambda saving: saving.after - saving.before)


def worth_saying(measured: Sequence[Saving], also_tried: Sequence[str]) -> list[str]:
    """The largest savings, as sentences; or one that says that `also_tried` columns cost nothing.

    A saving is what the other columns keep if some are left out.
    """
    sentences = []
    for saving in measured:
        if saving.before - saving.after >= WORTH:
            sentences.append(str(saving))
    if not sentences and any(saving.columns == tuple(also_tried) for saving in measured):
        column_names = " and ".join(map(repr, also_tried))
        sentences = [
            f"Leaving out {column_names} would keep no more of the other columns, and lose next "
            "to nothing"
        ]
    return sentences[:_NAMED]


def given_away(microdata: Microdata, policy: Policy, columns: Iterable[str]) -> list[TellingColumn]:
    """Those of some columns that tell many people's sensitive value more surely than is allowed."""
    limits = _least_limits(microdata, policy)
    if limits is None:  # no value has a limit
        return []
    telling = []
    for attribute in microdata.attributes:
        if attribute.name in {*columns}:
            telling.append(_telling_column(attribute, microdata, limits))
    return [column for column in telling if column is not None]


@dataclass(frozen=True)
class Relief:
    """The detail that a publication keeps with less required in one place."""

    place: int  # of the requirement in the policy
    line: str  # in place of the line with its key; empty where all of it is left out
    kept_detail: KeptDetail


def reliefs(method: Any, sample: Microdata, policy: Policy, everything: KeptDetail) -> list[Relief]:
    """The requirements without which much more would be kept, largest gain first.

    After them come, for the same requirements, the mildest weaker ones that help, too. `everything`
    is the detail that the policy keeps of the sample.
    """
    required, weights = policy.requirements, policy.options.weights
    loss_before = everything.loss(weights)

    def kept_with(position: int, *instead: Requirement) -> KeptDetail | None:
        """The detail kept with other requirements in place of one, if that is worth saying."""
        requirements = [*required[:position], *instead, *required[position + 1 :]]
        with suppress(InputError):
            kept_detail = kept_by(method, sample, replace(policy, requirements=requirements))
            if kept_detail is None:
                return None
            is_much_more = loss_before - kept_detail.loss(weights) >= WORTH
            is_divided = kept_detail.groups > 1 == everything.groups
            return kept_detail if is_much_more or is_divided else None
        return None

    without_one: list[Relief] = []
    if len(required) > 1:
        for position, requirement in enumerate(required[:_MOST_REQUIRED]):
            _log.info("measuring what %s costs", requirement.name)
            kept_detail = kept_with(position)
            if kept_detail is not None:
                without_one.append(Relief(position, "", kept_detail))
        without_one.sort(key=lambda relief: relief.kept_detail.loss(weights))
    with_weaker: list[Relief] = []
    # A requirement that costs nothing by itself need not be weaker; a single one is always tried.
    positions = [relief.place for relief in without_one] or [0]
    for position in positions[: len(required)]:
        for weaker_requirement in weaker(required[position]):
            kept_detail = kept_with(position, weaker_requirement)
            if kept_detail is None:
                continue
            with suppress(InputError):  # what has no line in a file, such as priors of a frame
                line = line_of(required[position], weaker_requirement)
                with_weaker.append(Relief(position, line, kept_detail))
            break  # the first that helps is the mildest
    return [*without_one, *with_weaker]


def _least_limits(microdata: Microdata, policy: Policy) -> Any:
    """The least limit on each value; infinite for a value without one.

    None if no value has a limit, or if values are not judged by themselves: sets, shared values, or
    several values of a person.
    """
    if microdata.semantics != "single" or policy.owned or microdata.schema.shared:
        return None
    everyone = microdata.everyone()
    limits = np.full(len(microdata.values), np.inf)
    for requirement in policy.requirements:
        # Multiples of a prior are no limit on the chance itself.
        points = [point for point in requirement.points if not point.relative]
        point_limits = []
        for point in points:
            # The lowest chance that a limit forbids: itself, or a little more if it may be reached.
            point_limits.append(float(point.below) + 1e-9 * point.inclusive)
        is_elsewhere = requirement.sensitive not in (None, microdata.schema.sensitive)
        if not point_limits or is_elsewhere or requirement.about_sets or requirement.of_windows:
            continue
        value_places = np.asarray(requirement.knowing_only([]).count(everyone).meant.about)
        limits[value_places] = np.minimum(limits[value_places], min(point_limits))
    return limits if np.isfinite(limits).any() else None


def _telling_column(
    attribute: Attribute, microdata: Microdata, limits: Any
) -> TellingColumn | None:
    """The column if it tells many people's value more surely than the limits allow; else None.

    `limits` has the least limit for each sensitive value.
    """
    values, n_values = microdata.sensitive_codes, len(limits)
    weights: Any = microdata.times
    n_labels = len(attribute.domain)
    if n_labels * n_values > 1 << 24:  # the table below would be too large
        return None
    # How many people have each label (rows) and sensitive value (columns).
    keys = attribute.codes.astype(np.int64) * n_values + values
    cells = np.bincount(keys, weights, n_labels * n_values).reshape(n_labels, n_values)
    people = cells.sum(axis=1)
    shares = cells / np.maximum(people, 1)[:, None]
    # Of few people so many may have one value by chance alone: some standard deviations less count.
    chance = _DEVIATIONS * np.sqrt(shares * (1 - shares) / np.maximum(people, 1)[:, None])
    is_over = (shares - chance >= limits) & (people >= _PEOPLE)[:, None]
    n_over = int(people[is_over.any(axis=1)].sum())
    if n_over < _SHARE * people.sum():
        return None
    # The example: the label with the highest share, and of nearly equal ones that of most people.
    worst_cell = int(
        np.argmax(np.where(is_over, shares + people[:, None] / people.sum() * 1e-3, 0))
    )
    code, value = divmod(worst_cell, n_values)
    label = exact_labels(attribute)[code]
    share = float(shares[code, value])
    value_text = str(microdata.values[value])
    return TellingColumn(
        column=attribute.name,
        people=n_over,
        label=label,
        having=int(people[code]),
        value=value_text,
        share=share,
    )
