"""Colours: the identifiers that share a sensitive value, and whether none is too frequent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias

from foreknow.errors import InputError

Id: TypeAlias = Hashable
Group: TypeAlias = frozenset[Id]
Partition: TypeAlias = frozenset[Group]
Table: TypeAlias = Mapping[Id, Hashable]


def colours(table: Table) -> dict[Hashable, Group]:
    """The identifiers of each sensitive value (section 2.1).

    Examples
    --------
    Example 1:

    >>> found = colours({"id1": "s1", "id2": "s1", "id3": "s2", "id4": "s2"})
    >>> {value: sorted(colour) for value, colour in found.items()}
    {'s1': ['id1', 'id2'], 's2': ['id3', 'id4']}
    """
    found: dict[Hashable, set[Id]] = {}
    for person, value in table.items():
        found.setdefault(value, set()).add(person)
    return {value: frozenset(people) for value, people in found.items()}


def is_eligible(table: Table, l: int) -> bool:  # noqa: E741
    """Whether no value has more than 1/l of the people (section 2.1: l-eligible).

    >>> is_eligible(dict(enumerate("aabc")), 2), is_eligible(dict(enumerate("aab")), 2)
    (True, False)
    """
    return all(len(colour) * l <= len(table) for colour in colours(table).values())


def partition(*groups: Iterable[Id]) -> Partition:
    """A partition from its groups; a text is split at its spaces.

    Raises
    ------
    InputError
        If somebody is in two groups, or a group is empty.

    Examples
    --------
    >>> partition("Ada Bob", "Coy") == partition(["Coy"], ["Bob", "Ada"])
    True
    >>> partition("Ada Bob", "Bob Coy")
    Traceback (most recent call last):
    foreknow.errors.InputError: 'Bob' is in two groups; everybody must be in one
    """
    made = [frozenset(g.split() if isinstance(g, str) else g) for g in groups]
    _require_apart(made)
    return frozenset(made)


def require_partition(partition: Partition, table: Table) -> None:
    """Refuse groups that do not put everybody of a table, and nobody else, into one group each.

    Raises
    ------
    InputError
        It names whom, or says that a group is empty.
    """
    _require_apart(partition)
    members = frozenset().union(*partition)
    for person in sorted(members - table.keys(), key=str):
        raise InputError(f"{person!r} is in a group, but not in the table")
    for person in sorted(table.keys() - members, key=str):
        raise InputError(f"{person!r} is in the table, but in no group of a partition")


def _require_apart(groups: Iterable[Group]) -> None:
    seen: set[Id] = set()
    for group in groups:
        if not group:
            raise InputError("a group of a partition is empty")
        for person in sorted(seen & group, key=str):
            raise InputError(f"{person!r} is in two groups; everybody must be in one")
        seen |= group
