"""Grounding: statements about a release, with all names resolved, as formulas over atoms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from foreknow.adversaries.protocol import HasCounts, counts_of
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
from foreknow.adversaries.statements.nodes import Node
from foreknow.adversaries.statements.pools import Dealing
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Label, Labels
from foreknow.data.people import Members
from foreknow.errors import DataError, InputError, StatementError, did_you_mean
from foreknow.numbers import as_fraction

_HINTS = 100_000
_AMBIGUOUS = -1


class Unknown(InputError):
    """A text that no label prints as."""


class Names:
    """Labels by text.

    Parameters
    ----------
    labels : Labels
    missing : str
        What to say of a text that is not among them, followed by the text.
    """

    def __init__(self, labels: Labels, missing: str) -> None:
        self.labels = labels
        self._missing = missing
        self._by_text: dict[str, int] | None = None
        if not all(type(label) is str for label in labels):
            self._by_text = {}
            for position, label in enumerate(labels):
                known = self._by_text.setdefault(str(label), position)
                if known != position:
                    self._by_text[str(label)] = _AMBIGUOUS

    def of_text(self, text: str) -> int:
        """Position of the label that prints as a text."""
        known = self.labels.codes if self._by_text is None else self._by_text
        position = known.get(text)
        if position is None:
            hints = [str(label) for label in _first(self.labels)]
            raise Unknown(f"{self._missing} {text!r}{did_you_mean(text, hints)}")
        if position == _AMBIGUOUS:
            same = [repr(label) for label in self.labels if str(label) == text]
            raise InputError(f"{text!r} may mean {' or '.join(same)}; make their labels differ")
        return position

    def of_label(self, label: Label) -> int:
        """Position of a label, or else of the one that prints like it."""
        try:
            position = self.labels.codes.get(label)
        except TypeError:
            position = None
        return self.of_text(str(label)) if position is None else position


def _first(labels: Sequence[Label]) -> Sequence[Label]:
    return labels[:_HINTS]


# (person, value, weight), sorted, each pair once.
Weights: TypeAlias = tuple[tuple[str, str, Fraction], ...]


def read_prior(given: Mapping[Any, Any] | None) -> Weights:
    """Read weights given as person -> value -> weight, or as (person, value) -> weight.

    >>> read_prior({"Tom": {"AIDS": 0.1}}) == read_prior({("Tom", "AIDS"): "1/10"})
    True
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InputError(
            f"a prior maps each person to the weights of their values, not {type(given).__name__}; "
            'such as {"Tom": {"AIDS": 0.1}}'
        )
    found: dict[tuple[str, str], Fraction] = {}
    for person, value, weight in _entries(given):
        pair = (str(person), str(value))
        try:
            amount = as_fraction(weight)
        except InputError as error:
            raise InputError(f"prior of {pair[0]!r}, {pair[1]!r}: {error}") from None
        if amount < 0:
            raise InputError(f"prior of {pair[0]!r}, {pair[1]!r}: {weight} is below 0")
        if pair in found:
            raise InputError(f"the prior has {pair[0]!r}, {pair[1]!r} twice")
        found[pair] = amount
    return tuple((*pair, weight) for pair, weight in sorted(found.items()))


def _entries(given: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    for key, inner in given.items():
        if isinstance(inner, Mapping):
            for value, weight in inner.items():
                yield key, value, weight
        elif isinstance(key, tuple) and len(key) == 2:
            yield *key, inner
        else:
            raise InputError(
                f"the prior of {key!r} must map values to weights, not {inner!r}; "
                'such as {"Tom": {"AIDS": 0.1}}'
            )


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
