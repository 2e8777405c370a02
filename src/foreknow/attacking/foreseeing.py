"""Foresight: what a method makes of a world, where that is known without running it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from foreknow.anonymizers.mondrian import Mondrian
from foreknow.anonymizers.mondrian_foreseen import Foreseen
from foreknow.attacking.refining import Refinements
from foreknow.attacking.seeing import Seen, numbered
from foreknow.attacking.trusting import Trust
from foreknow.attacking.worlds import Codes
from foreknow.labelling import text_of
from foreknow.microdata import Microdata
from foreknow.policy import Policy


class Foresight:
    """What is known of the worlds of one release; nothing, until one of them was met.

    Parameters
    ----------
    method : anonymizer or callable
        `Mondrian` is foreseen where merging groups never hurts. Any other may have
        ``could_make(microdata, policy, groups)``, which says False if it cannot make these groups
        of a table, sooner than a run would; anything else if it must be run.
    trust : Trust
        What is known of it.
    microdata : Microdata
    policy : Policy, optional
    labelled : bool
        Whether labels are seen.
    refined : callable
        The groups that may hide behind equal labels.
    """

    def __init__(
        self,
        method: Any,
        trust: Trust,
        microdata: Microdata,
        policy: Policy | None,
        labelled: bool,
        refined: Callable[[Seen], Refinements],
    ) -> None:
        self._method, self._microdata, self._policy = method, microdata, policy
        # The groups of Mondrian are told apart by their labels, if different values are.
        self._apart = not labelled or all(
            len(set(map(text_of, a.domain))) == len(a.domain) for a in microdata.attributes
        )
        self._seen: Seen | None = None
        self._found: Foreseen | None = None
        self._could, self._refined = trust.could_make, refined

    def same(self, codes: Codes, seen: Seen) -> bool | None:
        """Whether the release is made of a world; None if the method must be run."""
        if seen.what != "groups":
            return None
        if self._could is not None:
            return self._asked(codes, seen)
        if self._found is None or (seen is not self._seen and seen != self._seen):
            return None
        return self._found.same(codes)

    def _asked(self, codes: Codes, seen: Seen) -> bool | None:
        """What the method says of all groups that a reader would take for these."""
        found = self._refined(seen)
        if found.number is None:
            return None
        assert self._could is not None
        world = self._microdata.dealt(codes)
        each = map(self._microdata.rows_of, found.each(seen.left_out))
        said = [self._could(world, self._policy, rows) for rows in each]
        # No groups at all: labels came from elsewhere, of which nothing was asked.
        return False if said and all(one is False for one in said) else None

    def learn(self, codes: Codes, seen: Seen) -> None:
        """Note a world that the release is made of."""
        if type(self._method) is not Mondrian or self._policy is None or not self._apart:
            return
        if seen.what != "groups":
            return
        if self._seen is not None and self._seen == seen:
            return
        self._seen = seen
        found = Foreseen.of(self._method, self._microdata.dealt(codes), self._policy)
        # A reader takes groups of one label for one: their bags are then not known one by one.
        same = found is not None and np.array_equal(numbered(found.groups), seen.groups)
        self._found = found if same else None
