"""Mondrian: divide the table top-down, along any quasi-identifier, as long as it stays safe.

SkylineAnonymize of "Privacy Skyline" (section 5.2, figure 6) for any monotone ledger.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from foreknow.call_hints import hints
from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.methods.mondrian.cuts import widths
from foreknow.methods.mondrian.levels import Choice, Level
from foreknow.methods.mondrian.local_suppression import Division, LocalSuppression
from foreknow.methods.mondrian.suppression import Suppression
from foreknow.methods.points import Points
from foreknow.methods.protocol import (
    ADVICE,
    Grouper,
    Grouping,
    Traits,
    asked_policy,
    check_local_suppression,
    notes_of_seed,
    nothing_safe,
    share_of_people,
)
from foreknow.policy.ledger import PolicyLedger
from foreknow.policy.policy import Policy
from foreknow.policy.way_out import no_safe_release
from foreknow.randomness import generator
from foreknow.settings import Number as NumberSetting
from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.numbers import Number
from foreknow_judge.policy.settings import FromOne, Settings

_log = logging.getLogger(__name__)
# How many cuts in a row may fail to bring an unsafe release nearer to safety.
_PATIENCE = 50
_UNITS = {"second": 1, "minute": 60, "hour": 3600}


def seconds_of(duration: Any) -> float | None:
    """Read how long something may take; a number is of seconds.

    >>> seconds_of("5 seconds"), seconds_of("1.5 minutes"), seconds_of(2), seconds_of(None)
    (5.0, 90.0, 2.0, None)
    """
    if duration is None:
        return None
    seconds = None
    if isinstance(duration, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(second|minute|hour)s?\s*", duration)
        seconds = match and float(match[1]) * _UNITS[match[2]]
    elif not isinstance(duration, bool) and isinstance(duration, (int, float, Decimal)):
        seconds = float(duration)
    if seconds is None or not 0 < seconds < float("inf"):
        raise ValueError('refine is a time above 0, such as "5 seconds"')
    return seconds


class MondrianSettings(Settings):
    """``[publish.mondrian]`` in a policy file."""

    cuts: FromOne = 5
    suppression: Annotated[NumberSetting, Field(ge=0, lt=1)] = Decimal(0)
    local_suppression: bool = False
    refine: Annotated[Any, BeforeValidator(lambda value: seconds_of(value) and value)] = None


@hints(ADVICE)
@dataclass(frozen=True)
class Mondrian(Grouper):
    """Groups of similar people, as small as the policy allows, made by top-down cuts.

    All groups of a level are handled at once. Each proposes its best candidate cut; the policy's
    ledger accepts proposals in order as long as the release stays safe. A group whose proposal is
    refused proposes its next candidate, along another attribute, until it has none left and is
    final. Since minima only fall, a refused cut stays unsafe, so **the result is minimal**: no
    group has a candidate cut that is still safe.

    If a person may have several values, merging groups can raise a breach probability, and minima
    can rise again. Everybody in one group may then be unsafe while smaller groups are safe: the
    search makes the cut that leads nearest to safety, one at a time, and gives up only if no cut
    does. Final groups are tried again until no candidate cut of any is safe by itself. The result
    is safe but perhaps not minimal: two cuts together might be safe.

    Parameters
    ----------
    cuts : int
        The number of candidate cuts per attribute and group: those that divide it most evenly.
        More candidates give more groups and take longer.
    suppression : float
        The share of people who may be suppressed, so that others need less generalization. They
        form one group, published without any quasi-identifiers. People are suppressed only if all
        people together gain by it; the result need not be minimal.
    local_suppression : bool
        Whether suppressed people are divided into groups that keep what their members have in
        common, so that single cells are suppressed.
    refine : str or number, optional
        How long to divide groups near each other again, in other ways: ``"5 seconds"``,
        ``"2 minutes"``, or a number of seconds. A new division is kept if it has no fewer groups
        and loses no more. Random, and only as reproducible as the clock; only where merging groups
        never hurts. None: not at all.

    Raises
    ------
    InputError
        If a parameter has another type or is out of range.

    Notes
    -----
    For how people are suppressed, see `foreknow.methods.mondrian.suppression`. A least size of
    groups is a requirement of the policy, `KAnonymity`, so that it is judged and certified.
    Candidates are ordered by gain (see `foreknow.methods.mondrian.cuts`), multiplied by the weight
    of the quasi-identifier (`PublishOptions.weights`). Only `refine` is random; without it, a seed
    is accepted and ignored.
    """

    cuts: int = 5
    suppression: Number = 0.0
    refine: str | float | None = None
    local_suppression: bool = False
    key: ClassVar[str] = "mondrian"
    settings: ClassVar[type[Settings]] = MondrianSettings

    def __post_init__(self) -> None:
        if isinstance(self.cuts, bool) or not isinstance(self.cuts, int) or self.cuts < 1:
            given = repr(self.cuts) if isinstance(self.cuts, (int, float, str)) else "a table"
            raise InputError(
                f"Mondrian: cuts must be a whole number from 1, not {given}; tables are given to "
                "fk.publish(table, policy, method=fk.Mondrian())"
            )
        share = share_of_people("Mondrian: suppression", self.suppression)
        check_local_suppression("Mondrian", self.local_suppression, share)
        try:
            seconds_of(self.refine)
        except ValueError as error:
            raise InputError(f"Mondrian: {error}, not {self.refine!r}") from None

    def grouping(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> Grouping:
        """Group the rows of a table; nothing is written about suppressed people."""
        policy = asked_policy(self, policy, microdata)
        microdata = policy.combined(microdata)
        most_suppressed = int(share_of_people("suppression", self.suppression) * microdata.n_people)
        seconds = seconds_of(self.refine)
        if seconds and not policy.monotone():
            raise UnsupportedError(
                "Mondrian: refine puts groups together and divides them anew, which needs a policy "
                "that merging never hurts: leave refine out"
            )
        points = Points.each(microdata)
        choice = self.choice(policy, microdata)
        level = Level(points, microdata, choice)
        everyone = level.everyone()
        new_ledger = partial(policy.ledger, microdata.values, everyone)
        ledger = new_ledger()
        is_safe = ledger.admits(None, everyone)
        ledger.commit(None, everyone)
        if not is_safe:
            self._make_safe(level, ledger, policy, everyone)
        n_groups = 0
        while True:
            while level.n_groups:
                level.divide(ledger)
            # Where minima can rise again, a cut that was refused may be safe by now.
            if not ledger.looks_back or level.n_final == n_groups:
                break
            n_groups = level.n_final
            level = Level(points, microdata, choice, level.final)
        groups = level.final
        if seconds:
            until = time.monotonic() + seconds
            random = generator(seed, "Mondrian")
            groups = refined(points, microdata, choice, groups, new_ledger, random, until)
            ledger = new_ledger()
            ledger.commit(None, Level(points, microdata, choice).counts_of(groups))
        if not most_suppressed:
            return Grouping(microdata.rows_of(points.spread(groups)))
        before = ledger.copy() if self.local_suppression else ledger
        suppression = Suppression(points, microdata, choice, groups, most_suppressed)
        suppression.search(ledger)
        if self.local_suppression:
            local = LocalSuppression(
                points, microdata, choice, policy.options, most_suppressed, new_ledger
            )
            whole_groups = local.whole(suppression.groups, suppression.out)
            division = local.better(groups, whole_groups, before)
            if division is not whole_groups:
                return self._with_cells_suppressed(microdata, points, division)
        return self._with_suppressed(microdata, points, suppression)

    @staticmethod
    def _with_cells_suppressed(
        microdata: Microdata, points: Points, division: Division
    ) -> Grouping:
        """The groups of a division in which single cells are suppressed."""
        hides_all = np.all([floor > 0 for floor in division.floors.values()], axis=0)
        n_hidden = int(points.weights[hides_all[division.groups]].sum())
        group_of_row = microdata.rows_of(points.spread(division.groups))
        return Grouping(group_of_row, division.floors, suppressed=n_hidden)

    @staticmethod
    def _with_suppressed(
        microdata: Microdata, points: Points, suppression: Suppression
    ) -> Grouping:
        """The groups that suppression leaves; the last one is of the people who are suppressed."""
        groups, floors = suppression.groups, None
        if suppression.n_people:
            is_last = np.arange(int(groups.max()) + 1) == groups.max()
            floors = {}
            for a in microdata.attributes:
                floors[a.name] = is_last * max(1, len(a.ancestors))
        group_of_row = microdata.rows_of(points.spread(groups))
        return Grouping(group_of_row, floors, suppressed=suppression.n_people)

    @property
    def traits(self) -> Traits:
        """The traits: groups are minimal where merging never hurts, as no candidate cut is safe.

        With `refine`, groups depend on chance and the clock.
        """
        timed = bool(seconds_of(self.refine))
        return Traits(
            consults_policy=True,
            counted=True,
            deterministic=not timed,
            timed=timed,
            symmetric=True,
            minimal=lambda policy: policy.monotone() and not (self.suppression or timed),
            replay=None if self.suppression or timed else self._replay,
            notes=(lambda policy, seed: notes_of_seed(seed)) if timed else None,
        )

    def choice(self, policy: Policy, microdata: Microdata) -> Choice:
        """How cuts of a table are chosen under a policy."""
        weights = policy.options.weights_of(attribute.name for attribute in microdata.attributes)
        return Choice(self.cuts, weights)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        share = share_of_people("suppression", self.suppression)
        settings: dict[str, Any] = {"cuts": self.cuts, "suppression": float(share)}
        if self.local_suppression:
            settings["local_suppression"] = True
        return settings if self.refine is None else {**settings, "refine": self.refine}

    def _replay(self, microdata: Microdata, policy: Policy) -> Any:
        from foreknow.methods.mondrian.replay import Replay

        return Replay.of(self, microdata, policy)

    def _make_safe(
        self, level: Level, ledger: PolicyLedger, policy: Policy, everyone: GroupCounts
    ) -> None:
        """Divide one group of everybody, which is unsafe, until the release is safe.

        Where people may have several values or cases, smaller groups can be safer. If dividing
        cannot help, or does not, `NoSafeRelease` is raised.
        """
        failures = policy.failures(everyone)
        if not failures:
            return  # safe, but closer to a limit than the ledger can tell: nothing may be divided
        problem = nothing_safe(everyone.n_people, failures)
        if ledger.monotone or not ledger.looks_back:
            raise no_safe_release(problem, policy, everyone)
        _log.info("one group of everybody is not safe; looking for groups that are")
        # How far the worst group was from its limit at best, and how many cuts did not help since.
        least_reach, n_useless = np.inf, 0
        while n_useless < _PATIENCE:
            outcome = level.divide_one(ledger)
            if outcome is None:
                break
            is_safe, reach = outcome
            if is_safe:
                return
            n_useless = 0 if reach < least_reach else n_useless + 1
            least_reach = min(least_reach, reach)
        problem += (
            "; and no series of cuts was found that leads to safe groups, which does not prove "
            "that there is none: where somebody may have several values or cases, smaller groups "
            "can be safer"
        )
        raise no_safe_release(problem, policy, everyone)


# ---- refinement: the best of several tries ------------------------------------------------------


# How many groups are taken together, and by how much gains are shaken, at most.
_TOGETHER, _NOISE = 8, 1.0


def refined(
    points: Points,
    microdata: Microdata,
    choice: Choice,
    groups: IntArray,
    new_ledger: Callable[[], PolicyLedger],
    random: np.random.Generator,
    until: float,
) -> IntArray:
    """Divide groups of points anew, region by region, until a moment on the monotonic clock.

    A region is divided with some noise; it stays so if no group is lost and the loss does not rise.
    Returned is the group of each point.
    """
    everybody = Level(points, microdata, choice)
    loss, rounds = _losses(everybody, choice, groups), 0
    while time.monotonic() < until:
        region = _neighbours(everybody, groups, random)
        ledger = new_ledger()
        ledger.commit(None, everybody.counts_of(groups))
        shaken = choice._replace(random=random, noise=_NOISE * random.random())
        level = Level(points, microdata, shaken, region[groups])
        while level.n_groups and time.monotonic() < until:
            level.divide(ledger)
        if level.n_groups:
            break
        new_losses, n_regions = _losses(everybody, choice, level.final), int(region.max()) + 1
        region_of_new = np.zeros(len(new_losses), dtype=np.int64)  # of each new group
        region_of_new[level.final] = region[groups]
        # By region: how many groups it has more than before, and how much more it loses.
        n_before = np.bincount(region, minlength=n_regions)
        n_more = np.bincount(region_of_new, minlength=n_regions) - n_before
        loss_before = np.bincount(region, loss, n_regions)
        loss_more = np.bincount(region_of_new, new_losses, n_regions) - loss_before
        is_no_worse = (n_more >= 0) & (loss_more <= 1e-9)
        is_better = is_no_worse & ((n_more > 0) | (loss_more < -1e-9))
        in_better = is_better[region[groups]]  # (points,)
        mixed_groups = np.where(in_better, len(loss) + level.final, groups)
        _, without_gaps = np.unique(mixed_groups, return_inverse=True)
        groups, rounds = without_gaps.reshape(-1).astype(np.int64), rounds + 1
        loss = _losses(everybody, choice, groups)
    _log.info("refined in %d rounds: %d groups", rounds, len(loss))
    return groups


def _losses(level: Level, choice: Choice, groups: IntArray) -> NDArray[np.float64]:
    """The loss of each group's people, by NCP."""
    n_groups = int(groups.max()) + 1
    weights = np.ones(len(level.attributes)) if choice.weights is None else choice.weights
    total_width = np.zeros(n_groups)
    for attribute, codes, weight in zip(level.attributes, level.rows.codes, weights, strict=True):
        width, _ = widths(attribute, codes, groups, n_groups)
        total_width += weight * width
    people: Any = np.bincount(groups, level.rows.people, n_groups)
    return np.asarray(total_width * people)


def _neighbours(level: Level, groups: IntArray, random: np.random.Generator) -> IntArray:
    """The number of a region for each group: a few groups that lie near each other.

    Regions are halved by random columns until they have few groups.
    """
    n_groups = int(groups.max()) + 1
    people_of_points = level.rows.people
    people = np.bincount(groups, people_of_points, n_groups)
    # Where each group lies along each column, from 0 to 1.
    middles = np.stack(
        [
            np.bincount(groups, people_of_points * codes, n_groups) / people / len(attribute.domain)
            for attribute, codes in zip(level.attributes, level.rows.codes, strict=True)
        ]
    )
    region = np.zeros(n_groups, dtype=np.int64)
    groups_per_region = float(random.uniform(2, _TOGETHER))
    while n_groups > groups_per_region * (n_regions := int(region.max()) + 1):
        # How wide each region is along each column.
        extents = np.empty((len(middles), n_regions))
        order = np.argsort(region, kind="stable")
        starts = np.searchsorted(region[order], np.arange(n_regions))
        for extent, middle in zip(extents, middles[:, order], strict=True):
            extent[:] = np.maximum.reduceat(middle, starts) - np.minimum.reduceat(middle, starts)
        # Halve each region along the column that is widest but for chance.
        widest = np.argmax(extents * random.random(extents.shape), axis=0)
        place_along = middles[widest[region], np.arange(n_groups)]
        order = np.lexsort((place_along, region))
        rank = np.empty(n_groups, dtype=np.int64)
        rank[order] = np.arange(n_groups) - starts[region[order]]
        region_sizes = np.diff(starts, append=n_groups)
        middle_rank = (region_sizes * random.uniform(0.3, 0.7, n_regions)).astype(np.int64)
        halves = 2 * region + (rank >= middle_rank[region])
        _, region = np.unique(halves, return_inverse=True)
        region = region.reshape(-1)
    return region
