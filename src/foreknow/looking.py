"""Looking up people of a release once it is counted: by name, and by signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from foreknow.counts import GroupCounts
from foreknow.frames import Table
from foreknow.frames.membership import place_people
from foreknow.frames.signing import count_signatures
from foreknow.frames.writing import rearmed
from foreknow.members import Members
from foreknow.signatures import Signatures

Placing: TypeAlias = Callable[[GroupCounts], Members]
Signing: TypeAlias = Callable[[GroupCounts, Sequence[str]], Signatures]


def placing(
    table: Table, person: str, groups: Sequence[str], as_tuples: bool, needed: str | None
) -> Placing:
    """How the members of a release are found."""

    def place(counts: GroupCounts) -> Members:
        known = counts.groups or ()
        return Members(
            *place_people(table, person, groups, known, as_tuples=as_tuples, needed=needed)
        )

    return place


def rearming(sign: Signing) -> Signing:
    """How signatures are counted without the apostrophes of `escape_formulas`."""

    def bare(counts: GroupCounts, attributes: Sequence[str]) -> Signatures:
        found = sign(counts, attributes)
        labels = [tuple(part and rearmed(part) for part in label) for label in found.labels]
        return replace(found, labels=labels)

    return bare


def signing(table: Table, groups: Sequence[str], as_tuples: bool, needed: str | None) -> Signing:
    """How the signatures of a release are counted."""

    def sign(counts: GroupCounts, attributes: Sequence[str]) -> Signatures:
        known = counts.groups or ()
        return count_signatures(
            table,
            groups,
            known,
            attributes,
            sizes=counts.sizes,
            as_tuples=as_tuples,
            needed=needed,
        )

    return sign
