"""Scope: what the verdicts on a release did not look at, in numbers and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.data.counts import GroupCounts
from foreknow.data.release import Release
from foreknow.data.sparse import IntArray
from foreknow.policy.policy import Policy

# What came of an adversary who knows the method; the last is followed by a fraction.
NOT_JUDGED, AS_REQUIRED, FREQUENCIES = "not judged", "as required", "frequencies"
AT_MOST = "at most "


@dataclass(frozen=True)
class Scope:
    """What stands beside the verdicts; None, or nothing, where it is not known.

    Attributes
    ----------
    left_out : int or None
        Rows without a sensitive value, which were not counted.
    smallest_group, groups_of_one : int
        People of the smallest group, and how many groups have one person.
    without_value : int
        People in groups in which nobody has a sensitive value.
    unprotected : mapping of str to int
        Sensitive values that no requirement is about, and how often each occurs; the most frequent
        first.
    beside : tuple of str or None
        Columns of the table that no requirement looks at.
    suppressed : tuple of str or None
        Columns that make groups, and of which nothing is published: they are ``*`` everywhere.
    method : str or None
        What came of an adversary who knows the method: "not judged"; "frequencies", where by a
        proof they believe the frequencies of the group; "at most 1/4", where by a proof they are
        never surer; "as required", where the method holds the policy against them.
    linked : bool
        Whether the table shows which of several values are of one person.
    """

    left_out: int | None = None
    smallest_group: int = 0
    groups_of_one: int = 0
    without_value: int = 0
    unprotected: Mapping[str, int] = field(default_factory=dict)
    beside: tuple[str, ...] | None = None
    suppressed: tuple[str, ...] | None = None
    method: str | None = None
    linked: bool = False

    def __post_init__(self) -> None:
        frequent_first = sorted(self.unprotected.items(), key=lambda item: (-item[1], item[0]))
        object.__setattr__(self, "unprotected", dict(frequent_first))

    @classmethod
    def of(cls, release: HasCounts, policy: Policy | None = None) -> Scope:
        """What is known of a release; which values are judged is only said by a policy."""
        counts = counts_of(release)
        free: Counter[str] = Counter()
        for code in [] if policy is None else unprotected_codes(counts, policy).tolist():
            free[str(counts.values[code])] += int(counts.totals[code])
        table = release if isinstance(release, Release) else None
        known = [] if policy is None else sorted(policy.attributes)
        roles = None if policy is None or policy.schema is None else policy.schema.quasi_identifiers
        return cls(
            left_out=None if table is None else table.left_out,
            smallest_group=int(counts.sizes.min()) if counts.n_groups else 0,
            groups_of_one=int((counts.sizes == 1).sum()),
            without_value=int(counts.sizes[np.diff(counts.offsets) == 0].sum()),
            unprotected=+free,
            beside=None if table is None else tuple(table.unseen(known, roles)),
            suppressed=None if table is None else table.suppressed,
            method=None if policy is None else NOT_JUDGED,
            linked=table is not None and table.linked,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = {key: given for key, given in vars(self).items() if key != "linked"}
        for key in ("beside", "suppressed"):
            plain[key] = None if plain[key] is None else list(plain[key])
        plain["unprotected"] = dict(self.unprotected)
        return {**plain, **({"linked": True} if self.linked else {})}


def unprotected_codes(counts: GroupCounts, policy: Policy) -> IntArray:
    """Sensitive values that no requirement is about, neither by themselves nor among others."""
    free = np.ones(counts.n_values, dtype=bool)
    for requirement in policy.requirements:
        if not requirement.points:
            continue
        free &= ~requirement.about(counts.values)
    return np.flatnonzero(free)
