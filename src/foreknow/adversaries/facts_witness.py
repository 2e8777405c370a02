"""The witness of a Facts disclosure: which groups, how many of whom, which values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foreknow.adversaries.minima import ExactMinimum
from foreknow.counts import GroupCounts
from foreknow.labels import Label, in_order


@dataclass(frozen=True)
class FactsWitness:
    """Facts that attain a breach probability, whichever members of the groups are meant.

    Attributes
    ----------
    value : label
        The sensitive value that the adversary infers.
    target_group : label
        The group of the target.
    ruled_out : tuple of labels
        Values that the target is known not to have.
    known_group : label or None
        The group of the people whose value is known; None where nobody's is needed.
    known : dict of label -> int
        How many people of `known_group` are known to have which value.
    family_group : label or None
        The group of the relatives; None where none is needed.
    family : int
        How many relatives, other than target and known people. Where fewer facts than the
        adversary's limit already give certainty, only those are named.
    target_position, known_position, family_position : int or None
        The same groups by their position in the counts.
    """

    value: Label
    target_group: Label
    ruled_out: tuple[Label, ...]
    known_group: Label | None
    known: dict[Label, int]
    family_group: Label | None
    family: int
    target_position: int
    known_position: int | None
    family_position: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; known people as a list of [value, count]."""
        return {
            "target_group": self.target_group,
            "ruled_out": list(self.ruled_out),
            "known_group": self.known_group,
            "known": [[value, count] for value, count in self.known.items()],
            "family_group": self.family_group,
            "family": self.family,
        }


def witness_of(
    counts: GroupCounts,
    code: int,
    amounts: tuple[int, int, int],
    found: ExactMinimum,
) -> FactsWitness:
    """Spell out an exact minimum as facts, no more of them than attain it.

    Parameters
    ----------
    counts : GroupCounts
    code : int
        The sensitive value.
    amounts : (l, k, m)
    found : ExactMinimum
    """
    l, k, m = amounts  # noqa: E741
    target, family = found.target, found.family
    value = counts.values[code]
    bag = counts.bag(target)
    holders = bag.pop(value)
    ruled_out = tuple(sorted(in_order(bag), key=bag.__getitem__, reverse=True)[:l])
    for excluded in ruled_out:
        del bag[excluded]
    rest = sum(bag.values())

    known: dict[Label, int] = {}
    known_at: int | None = None
    relatives = 0
    if found.known != "with family":
        known = _some(bag, k)
        known_at = target
        certain = k >= rest
        if not certain:
            size = int(counts.sizes[family])
            if found.known == "one group":
                relatives = min(m, size - holders - k)
            else:
                relatives = min(m, size - _holders(counts, family, value) + 1)
    elif rest > 0:
        others = counts.bag(family)
        theirs = others.pop(value)
        known = _some(others, k)
        known_at = family
        relatives = min(m, int(counts.sizes[family]) - theirs - sum(known.values()) + 1)
    if not known:
        known_at = None
    family_at = family if relatives else None
    return FactsWitness(
        value=value,
        target_group=counts.group_label(target),
        ruled_out=ruled_out,
        known_group=None if known_at is None else counts.group_label(known_at),
        known=known,
        family_group=None if family_at is None else counts.group_label(family_at),
        family=relatives,
        target_position=target,
        known_position=known_at,
        family_position=family_at,
    )


def _some(bag: dict[Label, int], most: int) -> dict[Label, int]:
    """At most so many people of a bag, the most frequent values first."""
    chosen: dict[Label, int] = {}
    for value in sorted(in_order(bag), key=bag.__getitem__, reverse=True):
        if most <= 0:
            break
        chosen[value] = min(bag[value], most)
        most -= chosen[value]
    return chosen


def _holders(counts: GroupCounts, group: int, value: Label) -> int:
    return counts.bag(group)[value]
