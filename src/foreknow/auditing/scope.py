"""Scope: what the verdicts on a release did not look at, in numbers and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import known_beside
from foreknow.data.release import Release
from foreknow.data.sparse import IntArray
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement

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
    unrequired : tuple of str
        Sensitive columns that no requirement is about.
    people_suppressed : int
        People whom the method put into one group that keeps nothing of their quasi-identifiers.
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
    unrequired: tuple[str, ...] = ()
    people_suppressed: int = 0

    def __post_init__(self) -> None:
        frequent_first = sorted(self.unprotected.items(), key=lambda item: (-item[1], item[0]))
        object.__setattr__(self, "unprotected", dict(frequent_first))

    @classmethod
    def of(cls, release: HasCounts, policy: Policy | None = None) -> Scope:
        """What is known of a release; which values are judged is only said by a policy."""
        counts = counts_of(release)
        table = release if isinstance(release, Release) else None
        known = [] if policy is None else sorted(policy.attributes)
        free: Counter[str] = Counter()
        unrequired: list[str] = []
        for column in (None,) if table is None or policy is None else table.sensitives:
            own = None if policy is None else requirements_of(policy, column, table)
            if not own and table is not None and len(table.sensitives) > 1:
                unrequired.append(column or "")
                continue
            seen = counts if table is None else table.seen(column, []).counts
            for code in [] if own is None else unprotected_codes(seen, own).tolist():
                label = str(seen.values[code])
                several = table is not None and len(table.sensitives) > 1
                free[f"{column} {label}" if several else label] += int(seen.totals[code])
        beside: list[str] = []
        if policy is not None and table is not None:
            sights = [of for of in policy.requirements if not of.of_people]
            looked = looked_at(sights, table.beside, table.sensitive)
            known += looked
            beside = [name for name in table.linked_sensitives if sights and name not in looked]
        roles = None if policy is None or policy.schema is None else policy.schema.quasi_identifiers
        return cls(
            left_out=None if table is None else table.left_out,
            smallest_group=int(counts.sizes.min()) if counts.n_groups else 0,
            groups_of_one=int((counts.sizes == 1).sum()),
            without_value=int(counts.sizes[np.diff(counts.offsets) == 0].sum()),
            unprotected=+free,
            beside=None if table is None else (*table.unseen(known, roles), *beside),
            suppressed=None if table is None else table.suppressed,
            method=None if policy is None else NOT_JUDGED,
            linked=table is not None and table.linked,
            unrequired=tuple(unrequired),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        some = ("linked", "unrequired", "people_suppressed")
        plain = {key: given for key, given in vars(self).items() if key not in some}
        if self.unrequired:
            plain["unrequired"] = list(self.unrequired)
        if self.people_suppressed:
            plain["people_suppressed"] = self.people_suppressed
        for key in ("beside", "suppressed"):
            plain[key] = None if plain[key] is None else list(plain[key])
        plain["unprotected"] = dict(self.unprotected)
        return {**plain, **({"linked": True} if self.linked else {})}


def looked_at(requirements: Iterable[Requirement], beside: Sequence[str], first: str) -> list[str]:
    """Columns that stand beside each other, and that each requirement looks at."""
    sights = []
    for required in requirements:
        sensitive = required.sensitive or first
        if sensitive in beside:  # of what is published apart, nothing beside it tells
            sights.append({sensitive, *known_beside(beside, sensitive, required.knowing)})
    return [name for name in beside if sights and all(name in seen for seen in sights)]


def requirements_of(
    policy: Policy, column: str | None, release: Release | None
) -> list[Requirement]:
    """The requirements about the values of one sensitive column."""
    return [
        required
        for required in policy.requirements
        if not required.of_people
        and (release is None or (required.sensitive or release.sensitive) == column)
    ]


def unprotected_codes(counts: GroupCounts, requirements: Iterable[Requirement]) -> IntArray:
    """Sensitive values that no requirement is about, neither by themselves nor among others."""
    free = np.ones(counts.n_values, dtype=bool)
    for requirement in requirements:
        if not requirement.points:
            continue
        free &= ~requirement.about(counts.values)
    return np.flatnonzero(free)
