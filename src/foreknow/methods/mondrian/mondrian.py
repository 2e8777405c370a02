"""Mondrian: divide the table top-down, along any quasi-identifier, as long as it stays safe.

SkylineAnonymize of "Privacy Skyline" (section 5.2, figure 6) for any monotone ledger.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError, hints
from foreknow.methods.mondrian.levels import Level
from foreknow.methods.points import Points
from foreknow.methods.protocol import ADVICE, Traits
from foreknow.policy.ledger import PolicyLedger
from foreknow.policy.policy import Policy
from foreknow.policy.way_out import no_safe_release
from foreknow.settings import FromOne, Settings

_log = logging.getLogger(__name__)
# How many cuts in a row may fail to bring an unsafe release nearer to safety.
_PATIENCE = 50


class MondrianSettings(Settings):
    """``[publish.mondrian]`` in a policy file."""

    cuts: FromOne = 5


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

    Notes
    -----
    Candidates are ordered by gain (see `foreknow.methods.mondrian.cuts`). Nothing is random; a seed
    is accepted and ignored.
    """

    cuts: int = 5
    key: ClassVar[str] = "mondrian"
    settings: ClassVar[type[Settings]] = MondrianSettings

    def __post_init__(self) -> None:
        if isinstance(self.cuts, bool) or not isinstance(self.cuts, int) or self.cuts < 1:
            raise InputError(f"Mondrian: cuts must be a whole number from 1, not {self.cuts!r}")

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
            The group of each row in the source's order, from 0; -1 for a row that is left out
            because its sensitive value is missing.

        Raises
        ------
        NoSafeRelease
            If not even one group of everybody is safe; where merging can hurt, if in addition no
            series of cuts was found that leads to safe groups.
        """
        if policy is None:
            raise InputError("Mondrian needs a policy: what must the groups withstand?")
        policy = replace(policy, schema=microdata.schema)
        microdata = policy.combined(microdata)
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
                return microdata.rows_of(points.spread(level.final))
            n_groups = level.n_final
            level = Level(points, microdata, self.cuts, level.final, styles)

    @property
    def traits(self) -> Traits:
        """Where merging never hurts, what it makes is minimal: no candidate cut is safe."""
        return Traits(
            consults_policy=True,
            deterministic=True,
            symmetric=True,
            minimal=lambda policy: policy.monotone(),
            replay=self._replay,
        )

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
            f"not even one group of all {everyone.n_people} people is safe: {'; '.join(failures)}"
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
