"""The witness of an Implications disclosure: which implications, about whom, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from foreknow.adversaries.implications.minima import Plan, exact_atoms, exact_target
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Label, in_order


@dataclass(frozen=True)
class Implication:
    """If someone has a value, then the target has the target's value."""

    group: Label  # of the person it begins with
    person: int  # tells people of a group apart; 0 is the target, others begin with 1
    value: Label  # what that person would have
    position: int  # the group by its position in the counts


@dataclass(frozen=True)
class ImplicationsWitness:
    """Implications that attain a breach probability, whichever members of the groups are meant.

    All end with "then the target has the value". One that begins with the target itself says
    that the target does not have that other value.
    """

    value: Label  # what the adversary infers
    target_group: Label
    implications: tuple[Implication, ...]
    target_position: int  # the target's group by its position in the counts

    def sentences(self) -> list[str]:
        """The implications in words."""
        target = f"the target, of group {self.target_group!r},"
        said = []
        for each in self.implications:
            if each.position == self.target_position and each.person == 0:
                said.append(f"{target} does not have {each.value!r}")
            else:
                other = f"person {each.person} of group {each.group!r}"
                said.append(f"if {other} has {each.value!r}, then the target has {self.value!r}")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "target_group": self.target_group,
            "implications": [
                {"group": each.group, "person": each.person, "value": each.value}
                for each in self.implications
            ],
        }


def witness_of(counts: GroupCounts, plan: Plan) -> ImplicationsWitness:
    """Spell out how a plan spends its atoms."""
    told = [*_about_own(counts, plan)]
    for group, atoms in plan.others:
        bag = counts.bag(group)
        frequent = sorted(in_order(bag), key=bag.__getitem__, reverse=True)
        _, sizes = exact_atoms(int(counts.sizes[group]), [bag[value] for value in frequent], atoms)
        told += _about(counts, group, frequent, sizes)
    return ImplicationsWitness(
        counts.values[plan.code], counts.group_label(plan.group), tuple(told), plan.group
    )


def _about_own(counts: GroupCounts, plan: Plan) -> Iterator[Implication]:
    """Implications that begin with the target, and with others of its group."""
    value, bag = counts.values[plan.code], counts.bag(plan.group)
    n = int(counts.sizes[plan.group])
    held = sorted(bag.values(), reverse=True)
    _, most, sizes = exact_target(n, held, bag[value], plan.own)
    others = sorted(
        (other for other in in_order(bag) if other != value), key=bag.__getitem__, reverse=True
    )[:most]
    for other in others:
        yield Implication(counts.group_label(plan.group), 0, other, plan.group)
    # Nobody is said to have what the target is not said to have too.
    said = {value, *others}
    frequent = sorted(in_order(said), key=bag.__getitem__, reverse=True)
    yield from _about(counts, plan.group, frequent, sizes)


def _about(
    counts: GroupCounts, group: int, frequent: list[Label], sizes: list[int]
) -> Iterator[Implication]:
    label = counts.group_label(group)
    for person, size in enumerate(sizes, start=1):
        for value in frequent[:size]:
            yield Implication(label, person, value, group)
