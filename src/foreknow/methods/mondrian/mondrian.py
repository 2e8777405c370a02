"""Mondrian: divide the table top-down, along any quasi-identifier, as long as it stays safe.

SkylineAnonymize of "Privacy Skyline" (section 5.2, figure 6) for any monotone ledger.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError, hints
from foreknow.methods.mondrian.levels import Level
from foreknow.methods.mondrian.suppression import Suppression
from foreknow.methods.points import Points
from foreknow.methods.protocol import ADVICE, Grouping, Traits, refuse_suppression, share_of_people
from foreknow.numbers import Number
from foreknow.policy.ledger import PolicyLedger
from foreknow.policy.policy import Policy
from foreknow.policy.way_out import no_safe_release
from foreknow.settings import FromOne, Settings
from foreknow.settings import Number as NumberSetting
from foreknow.text import people_text

_log = logging.getLogger(__name__)
# How many cuts in a row may fail to bring an unsafe release nearer to safety.
_PATIENCE = 50


class MondrianSettings(Settings):
    """``[publish.mondrian]`` in a policy file."""

    cuts: FromOne = 5
    suppression: Annotated[NumberSetting, Field(ge=0, lt=1)] = Decimal(0)


@hints(ADVICE)
@dataclass(frozen=True)
class Mondrian:
    """People near each other are grouped, as few at a time as the policy allows (top-down cuts).

    All groups of a level are handled at once. Each proposes its best candidate cut; the policy's
    ledger accepts proposals in order as long as the release stays safe; a group whose proposal is
    refused proposes its next candidate, along another attribute, until it has none left and is
    final. Since minima only fall, a refused cut stays unsafe: **the result is minimal**, no group
    of it has a candidate cut that is still safe.

    Where a person may have several values, merging groups can raise a breach probability and
    minima can rise again. There everybody in one group may be unsafe while smaller groups are
    safe: the search then divides, one cut at a time, what leads nearest to safety, and only gives
    up where no cut does. Groups that are final are asked again until no candidate cut of any is
    safe by itself. The result is safe but perhaps not minimal: two cuts together might be safe.

    Parameters
    ----------
    cuts : int
        How many cuts per attribute and group are candidates: those that divide it most evenly.
        More of them give more groups and take longer.
    suppression : float
        The share of people who may be suppressed, so that the others need less generalization:
        they are put together in one group, published with nothing of their quasi-identifiers.
        It is done where all people together gain by it, and the result need not be minimal.

    Raises
    ------
    InputError
        If a parameter is none of these.

    Notes
    -----
    How people are suppressed, see `foreknow.methods.mondrian.suppression`. A least size of groups
    is a requirement of the policy, `KAnonymity`, so that it is judged and certified.
    Candidates are ordered by gain (see `foreknow.methods.mondrian.cuts`). Nothing is random; a seed
    is accepted and ignored.
    """

    cuts: int = 5
    suppression: Number = 0.0
    key: ClassVar[str] = "mondrian"
    settings: ClassVar[type[Settings]] = MondrianSettings

    def __post_init__(self) -> None:
        if isinstance(self.cuts, bool) or not isinstance(self.cuts, int) or self.cuts < 1:
            raise InputError(f"Mondrian: cuts must be a whole number from 1, not {self.cuts!r}")
        share_of_people("Mondrian: suppression", self.suppression)

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group the rows of a table.

        Parameters
        ----------
        microdata : Microdata
        policy : Policy
        seed : int, optional
            Ignored: the method is deterministic.

        Returns
        -------
        int64 array, shape (rows,)
            The group of each row in the source's order, from 0; suppressed people are the last
            group. -1 for a row that is left out because its sensitive value is missing.

        Raises
        ------
        NoSafeRelease
            If not even one group of everybody is safe; where merging can hurt, if in addition no
            series of cuts was found that leads to safe groups.
        """
        return self.grouping(microdata, policy, seed).of_row

    def grouping(
        self,
        microdata: Microdata,
        policy: Policy | None = None,
        seed: int | None = None,
        *,
        explain: bool = False,
    ) -> Grouping:
        """Group the rows of a table; of suppressed people nothing is written."""
        if policy is None:
            raise InputError("Mondrian needs a policy: what must the groups withstand?")
        policy = replace(policy, schema=microdata.schema)
        microdata = policy.combined(microdata)
        most = int(share_of_people("suppression", self.suppression) * microdata.n_people)
        if most:
            refuse_suppression(policy)
        points = Points.of(microdata)
        styles = policy.options.labels if policy.by_labels else None
        level = Level(points, microdata, self.cuts, styles=styles)
        everyone = level.everyone()
        ledger = policy.ledger(microdata.values, everyone)
        safe = ledger.admits(None, everyone)
        ledger.commit(None, everyone)
        if not safe:
            self._make_safe(level, ledger, policy, everyone)
        n_groups = 0
        while True:
            while level.n_groups:
                level.divide(ledger)
            # Where minima can rise again, a cut that was refused may be safe by now.
            if policy.monotone() or level.n_final == n_groups:
                break
            n_groups = level.n_final
            level = Level(points, microdata, self.cuts, level.final, styles)
        if not most:
            return Grouping(microdata.rows_of(points.spread(level.final)))
        found = Suppression(points, microdata, self.cuts, level.final, most)
        found.search(ledger)
        groups, floors = found.groups, None
        if found.n_people:
            of_last = np.arange(int(groups.max()) + 1) == groups.max()
            floors = {a.name: of_last * max(1, len(a.ancestors)) for a in microdata.attributes}
        return Grouping(microdata.rows_of(points.spread(groups)), floors, suppressed=found.n_people)

    @property
    def traits(self) -> Traits:
        """Where merging never hurts, what it makes is minimal: no candidate cut is safe."""
        return Traits(
            consults_policy=True,
            counted=True,
            deterministic=True,
            symmetric=True,
            minimal=lambda policy: policy.monotone() and not self.suppression,
            replay=None if self.suppression else self._replay,
            grouping=self.grouping if self.suppression else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        share = share_of_people("suppression", self.suppression)
        return {"cuts": self.cuts, "suppression": float(share)}

    def _replay(self, microdata: Microdata, policy: Policy) -> Any:
        from foreknow.methods.mondrian.replay import Replay

        return Replay.of(self, microdata, policy)

    def _make_safe(
        self, level: Level, ledger: PolicyLedger, policy: Policy, everyone: GroupCounts
    ) -> None:
        """Divide until the release is safe, where that can help."""
        failures = policy.failures(everyone)
        if not failures:
            return  # safe, but closer to a limit than the ledger can tell: nothing may be divided
        problem = (
            f"not even one group of {people_text(everyone.n_people, 'all')} is safe: "
            f"{'; '.join(failures)}"
        )
        if policy.monotone():
            raise no_safe_release(problem, policy, everyone)
        _log.info("one group of everybody is not safe; looking for groups that are")
        least, waited = np.inf, 0
        while waited < _PATIENCE:
            done = level.divide_one(ledger)
            if done is None:
                break
            safe, reach = done
            if safe:
                return
            waited = 0 if reach < least else waited + 1
            least = min(least, reach)
        problem += (
            "; and no series of cuts was found that leads to safe groups, which does not prove "
            "that there is none: a person may have several sensitive values here, and then "
            "smaller groups can be safer"
        )
        raise no_safe_release(problem, policy, everyone)
