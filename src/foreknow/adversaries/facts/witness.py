"""The witness of a Facts disclosure: which groups, how many of whom, which values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from foreknow.adversaries.facts.minima import ExactMinimum
from foreknow.adversaries.facts.profiles import FORMULAS
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels import Label, in_order


@dataclass(frozen=True)
class FactsWitness:
    """Facts that attain a breach probability, whichever members of the groups are meant.

    Under ``set`` and ``multiset`` `ruled_out` come only with the inferred value: had the target one
    of them, it would have that one too. Where fewer facts than the limit allows already give
    certainty, only those are named.
    """

    value: Label  # what the adversary infers
    target_group: Label
    ruled_out: tuple[Label, ...]  # values that the target is known not to have
    # of the people of whom something is known; None where nobody is needed
    known_group: Label | None
    # how many of them are known to have which value; but under ``single`` alone: not to have it
    known: dict[Label, int]
    family_group: Label | None  # of the relatives; None where none is needed
    family: int  # how many relatives, other than target and known people
    target_position: int  # the same groups by their position in the counts
    known_position: int | None
    family_position: int | None
    semantics: Semantics = "single"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; known people as a list of [value, count]."""
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
    counts: GroupCounts, code: int, amounts: tuple[int, int, int], found: ExactMinimum
) -> FactsWitness:
    """Spell out an exact minimum as facts, no more of them than attain it."""
    value = counts.values[code]
    bag = counts.bag(found.target)
    bag.pop(value)
    most_frequent = sorted(in_order(bag), key=bag.__getitem__, reverse=True)
    used = tuple(most_frequent[: amounts[0]])
    choose = _one_value_each if counts.semantics == "single" else _several_values_each
    known, known_at, relatives = choose(counts, value, used, amounts, found)
    if not known:
        known_at = None
    family_at = found.family if relatives else None
    return FactsWitness(
        value=value,
        target_group=counts.group_label(found.target),
        ruled_out=used,
        known_group=None if known_at is None else counts.group_label(known_at),
        known=known,
        family_group=None if family_at is None else counts.group_label(family_at),
        family=relatives,
        target_position=found.target,
        known_position=known_at,
        family_position=family_at,
        semantics=counts.semantics,
    )


_Chosen: TypeAlias = tuple[dict[Label, int], int | None, int]


def _one_value_each(
    counts: GroupCounts,
    value: Label,
    ruled_out: tuple[Label, ...],
    amounts: tuple[int, int, int],
    found: ExactMinimum,
) -> _Chosen:
    """Known people, their group, and how many relatives, under ``single``."""
    _, k, m = amounts
    family = found.family
    bag = counts.bag(found.target)
    holders = bag.pop(value)
    for excluded in ruled_out:
        del bag[excluded]
    rest = sum(bag.values())
    if found.known != "with family":
        known = _some(bag, k)
        if k >= rest:
            return known, found.target, 0
        size = int(counts.sizes[family])
        if found.known == "one group":
            return known, found.target, min(m, size - holders - k)
        return known, found.target, min(m, size - _held(counts, family, value) + 1)
    if not rest:
        return {}, None, 0
    others = counts.bag(family)
    theirs = others.pop(value)
    known = _some(others, k)
    relatives = min(m, int(counts.sizes[family]) - theirs - sum(known.values()) + 1)
    return known, family, relatives


def _several_values_each(
    counts: GroupCounts,
    value: Label,
    co_occurring: tuple[Label, ...],
    amounts: tuple[int, int, int],
    found: ExactMinimum,
) -> _Chosen:
    """Known people, their group, and how many relatives, under ``set`` and ``multiset``."""
    _, k, m = amounts
    family = found.family
    size = int(counts.sizes[found.target])
    others = [counts.bag(found.target)[x] for x in co_occurring]
    holders = _held(counts, found.target, value)
    if not FORMULAS[counts.semantics].slack_exact(size, holders, others):
        return {}, None, 0  # the target surely has one of the co-occurring values
    known_at = family if found.known == "with family" else found.target
    # Everybody may lack the value but those who must hold it; under multiset one can hold all.
    fewest = _held(counts, known_at, value) if counts.semantics == "set" else 1
    room = int(counts.sizes[known_at]) - fewest
    lacking = min(k, room)
    known = {value: lacking} if lacking else {}
    if known_at == found.target and lacking == room:
        return known, known_at, 0
    free = int(counts.sizes[family])
    if known_at == family:
        free -= lacking
    if found.target == family:
        free -= 1
    return known, known_at, min(m, free)


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
