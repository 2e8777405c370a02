"""The witness of a Facts disclosure: which groups, how many of whom, which values."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from foreknow.adversaries.facts.minima import ExactMinimum
from foreknow.adversaries.facts.ratios import FORMULAS
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels import Label, in_order


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
        Under ``single`` values that the target is known not to have. Under ``set`` and
        ``multiset`` values that are known to come only with the inferred one: had the target one
        of them, it would have that one too.
    known_group : label or None
        The group of the people of whom something is known; None where nobody is needed.
    known : dict of label -> int
        Under ``single`` how many people of `known_group` are known to have which value. Under
        ``set`` and ``multiset`` how many are known *not* to have the inferred value, its only key.
    family_group : label or None
        The group of the relatives; None where none is needed.
    family : int
        How many relatives, other than target and known people. Where fewer facts than the
        adversary's limit already give certainty, only those are named.
    target_position, known_position, family_position : int or None
        The same groups by their position in the counts.
    semantics : {"single", "set", "multiset"}
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
    semantics: Semantics = "single"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; known people as a list of [value, count].

        Under ``set`` and ``multiset`` the keys say what is meant there.
        """
        known = [[value, count] for value, count in self.known.items()]
        told: dict[str, Any] = {"ruled_out": list(self.ruled_out), "known": known}
        if self.semantics != "single":
            told = {"co_occurring": list(self.ruled_out), "known_without": sum(self.known.values())}
        return {
            "target_group": self.target_group,
            **told,
            "known_group": self.known_group,
            "family_group": self.family_group,
            "family": self.family,
        }


def witness_of(
    counts: GroupCounts,
    code: int,
    amounts: tuple[int, int, int],
    found: ExactMinimum,
) -> FactsWitness:
    """Spell out an exact minimum as facts, no more of them than attain it."""
    value = counts.values[code]
    bag = counts.bag(found.target)
    bag.pop(value)
    most_frequent = sorted(in_order(bag), key=bag.__getitem__, reverse=True)
    if not found.ratio:
        amounts = _enough(counts, value, most_frequent, amounts, found)
    _, k, m = amounts
    used = tuple(most_frequent[: amounts[0]])
    known_at = found.family if found.known == "with family" else found.target
    if counts.semantics != "single":
        known = {value: k} if k else {}
    else:
        others = counts.bag(known_at)
        for label in [value, *used] if known_at == found.target else [value]:
            del others[label]
        known = _some(others, k)
    return FactsWitness(
        value=value,
        target_group=counts.group_label(found.target),
        ruled_out=used,
        known_group=counts.group_label(known_at) if known else None,
        known=known,
        family_group=counts.group_label(found.family) if m else None,
        family=m,
        target_position=found.target,
        known_position=known_at if known else None,
        family_position=found.family if m else None,
        semantics=counts.semantics,
    )


def _enough(
    counts: GroupCounts,
    value: Label,
    others: list[Label],
    amounts: tuple[int, int, int],
    found: ExactMinimum,
) -> tuple[int, int, int]:
    """The least amounts that give certainty where these do: links go first, then known people."""
    formulas, (_, k, m) = FORMULAS[counts.semantics], amounts
    n, s, bag = int(counts.sizes[found.target]), _held(counts, found.target, value), counts.bag
    family_n, family_s = int(counts.sizes[found.family]), _held(counts, found.family, value)
    frequent = [bag(found.target)[label] for label in others[: amounts[0]]]
    with_target, with_family = found.known != "with family", found.known != "with target"

    def certain(out: int, k: int, m: int) -> bool:
        slack = formulas.slack_exact(n, s, frequent[:out])
        if formulas.t_exact(n, s, slack, k if with_target else 0) == 0:
            return True
        taken = (k if with_family else 0) + (found.target == found.family)
        return formulas.v_exact(family_n, family_s, m, taken) == 0

    out, k, m = len(frequent), min(k, n + family_n), min(m, family_n)
    m = bisect_left(range(m), True, key=lambda fewer: certain(out, k, fewer))
    k = bisect_left(range(k), True, key=lambda fewer: certain(out, fewer, m))
    return bisect_left(range(out), True, key=lambda fewer: certain(fewer, k, m)), k, m


def _some(bag: dict[Label, int], most: int) -> dict[Label, int]:
    """At most so many people of a bag, the most frequent values first."""
    chosen: dict[Label, int] = {}
    for value in sorted(in_order(bag), key=bag.__getitem__, reverse=True):
        if most <= 0:
            break
        chosen[value] = min(bag[value], most)
        most -= chosen[value]
    return chosen


def _held(counts: GroupCounts, group: int, value: Label) -> int:
    return counts.bag(group)[value]
