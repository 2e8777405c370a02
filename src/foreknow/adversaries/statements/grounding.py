"""Grounding: statements about a release, with all names resolved, as formulas over atoms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.adversaries.statements.dealing import Dealing
from foreknow.adversaries.statements.formulas import (
    And,
    Formula,
    Has,
    Iff,
    Implies,
    Not,
    Or,
    Same,
    walk,
)
from foreknow.adversaries.statements.language import place_of
from foreknow.adversaries.statements.names import Names
from foreknow.adversaries.statements.nodes import Node
from foreknow.adversaries.statements.prior import Weights
from foreknow.counts import GroupCounts
from foreknow.errors import DataError, InputError, StatementError
from foreknow.members import Members


@dataclass(frozen=True)
class Ground:
    """A release as statements see it.

    Attributes
    ----------
    counts : GroupCounts
    members : Members
    people, values : Names
    prior : dict of person -> code -> weight
    """

    counts: GroupCounts
    members: Members
    people: Names
    values: Names
    prior: Mapping[int, Mapping[int, Fraction]]

    @classmethod
    def of(cls, release: HasCounts, prior: Weights) -> Ground:
        """Look at a release, which must name its people."""
        counts = counts_of(release)
        members = None if isinstance(release, GroupCounts) else getattr(release, "members", None)
        if not isinstance(members, Members):
            raise DataError(
                "statements are about people by name, and counts name nobody; make a release "
                "with person=, as in Release.from_groups(table, group=..., sensitive=..., "
                "person=...)"
            )
        named = np.bincount(members.groups, minlength=counts.n_groups)
        if not np.array_equal(named, counts.sizes):
            raise DataError("the members that the release names are not those that it counts")
        people = Names(members.names, "nobody in the release is called")
        values = Names(counts.values, "nobody in the release has the value")
        weights: dict[int, dict[int, Fraction]] = {}
        for person, value, weight in prior:
            try:
                own = weights.setdefault(people.of_text(person), {})
                own[values.of_text(value)] = weight
            except InputError as error:
                raise StatementError(f"prior: {error}") from None
        return cls(counts, members, people, values, weights)

    def group_of(self, person: int) -> int:
        """The group of a person by position."""
        return int(self.members.groups[person])

    def dealing(self) -> Dealing:
        """What the release deals."""
        groups: dict[int, list[int]] = {}
        for person in self.prior:
            groups.setdefault(self.group_of(person), []).append(person)
        return Dealing(self.counts, self.prior, groups)

    def check(self, formula: Formula, place: int, text: str | None) -> None:
        """Refuse a statement that names somebody or something that is not in the release."""
        for part in walk(formula):
            for person in part.people if isinstance(part, Same) else (part.person,):
                with _pointing(place, text, "person", person):
                    self.people.of_text(person)
            if isinstance(part, Has):
                with _pointing(place, text, "value", part.value):
                    self.values.of_text(part.value)

    def node(self, formula: Formula, dealing: Dealing) -> Node:
        """The node of a formula whose names are known."""
        nodes = dealing.nodes
        match formula:
            case Has(person, value):
                return self._atom(self.people.of_text(person), self.values.of_text(value), dealing)
            case Not(part):
                return nodes.negate(self.node(part, dealing))
            case And(parts):
                return nodes.all_of([self.node(part, dealing) for part in parts])
            case Or(parts):
                return nodes.any_of([self.node(part, dealing) for part in parts])
            case Implies(first, second):
                failed = nodes.negate(self.node(first, dealing))
                return nodes.any_of((failed, self.node(second, dealing)))
            case Iff(first, second):
                return nodes.alike((self.node(first, dealing), self.node(second, dealing)))
            case Same(people):
                return self._same([self.people.of_text(person) for person in people], dealing)

    def _atom(self, person: int, code: int, dealing: Dealing) -> Node:
        return dealing.atom(person, self.group_of(person), code)

    def _same(self, people: Sequence[int], dealing: Dealing) -> Node:
        """For every value: all of them have it, or none of them."""
        codes = {code for person in people for code in dealing.bag(self.group_of(person))}
        return dealing.nodes.all_of(
            dealing.nodes.alike([self._atom(person, code, dealing) for person in people])
            for code in sorted(codes)
        )


@contextmanager
def _pointing(
    place: int, text: str | None, role: Literal["person", "value"], name: str
) -> Iterator[None]:
    """Say in which statement a name is unknown, and where."""
    try:
        yield
    except InputError as error:
        where = None if text is None else place_of(text, role, name)
        raise StatementError(f"statement {place + 1}: {error}", text, where) from None
