"""Returning: what a user's function made of a table, as groups and as what is published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from foreknow.attacking.seeing import numbered
from foreknow.errors import InputError
from foreknow.frames import open_table
from foreknow.frames.plain import fetch
from foreknow.release import Release
from foreknow.schema import Schema
from foreknow.sparse import IntArray
from foreknow.tables import GROUP


def read_returned(given: Any, name: str, schema: Schema) -> tuple[IntArray | None, Any]:
    """Read what a function returned: groups, and what is published beside them or instead.

    Parameters
    ----------
    given : groups, published table, or both
    name : str
        Of the function, for messages.
    schema : Schema

    Returns
    -------
    groups : int64 array, optional
        Below 0 for rows that are left out; None if there are none but those of the published table.
    published : object
        None if nothing is published besides.
    """
    if is_published(given):
        return None, as_published(given, schema)
    published = None
    # A pair of texts is the groups of two rows.
    plain = isinstance(given, tuple) and len(given) == 2 and not isinstance(given[0], (str, bytes))
    if plain and hasattr(given[0], "__len__"):
        given, published = given
    return groups_from(given, name), as_published(published, schema)


def is_published(given: Any) -> bool:
    """Whether it is a table, or what `publish` makes, and not groups."""
    return isinstance(given, Release) or hasattr(given, "columns") or _tables(given) is not None


def as_published(given: Any, schema: Schema) -> Any:
    """Make what is published comparable; the order of a table's rows does not count."""
    tables = _tables(given)
    if tables is not None:
        return _grouped(tables) or tuple((key, as_published(tables[key], schema)) for key in tables)
    if isinstance(given, Release):
        return _counted(given, schema)
    if hasattr(given, "columns"):
        return _rows(given)
    if isinstance(given, np.ndarray):
        return given.shape, repr(given.tolist())
    if isinstance(given, (tuple, list)):
        return type(given).__name__, tuple(as_published(one, schema) for one in given)
    if isinstance(given, Mapping):
        return {key: as_published(one, schema) for key, one in given.items()}
    return given


def groups_from(given: Any, name: str) -> IntArray:
    """Groups in any form as whole numbers; below 0 for rows that are left out."""
    each = given.to_pylist() if hasattr(given, "to_pylist") else given
    try:
        array = np.asarray(each)
    except ValueError:
        raise InputError(f"{name} must give one group for each row, not {given!r:.60}") from None
    if array.ndim != 1:
        raise InputError(
            f"{name} must give one group for each row, or the table that is published, not "
            f"{type(given).__name__}"
        )
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    labels = [None if label != label else label for label in array.tolist()]  # not a number
    place: dict[Any, int] = {}
    try:
        found = [-1 if label is None else place.setdefault(label, len(place)) for label in labels]
    except TypeError:
        raise InputError(f"{name} gives groups that are no plain labels") from None
    return numbered(np.array(found)) if -1 not in found else np.array(found, dtype=np.int64)


def _tables(given: Any) -> Mapping[str, Any] | None:
    """The tables of a publication."""
    tables = getattr(given, "tables", None)
    return tables if isinstance(tables, Mapping) and hasattr(given, "certificate") else None


def _rows(frame: Any) -> Hashable:
    """The columns of a table, and how often it has each row."""
    table = open_table(frame)
    names = tuple(table.columns)
    each = [column.to_pylist() for column in fetch(table, names).columns]
    return names, frozenset(Counter(zip(*each, strict=True)).items())


def _grouped(tables: Mapping[str, Any]) -> Hashable:
    """People and values of each group, whose numbers are drawn by lot; None for other forms."""
    if not all(GROUP in table.column_names for table in tables.values()):
        return None
    bags: dict[Any, Counter[Any]] = {}
    for key, table in tables.items():
        for row in table.to_pylist():
            own = bags.setdefault(row.pop(GROUP), Counter())
            own[key, tuple(row.items())] += 1
    return "groups", frozenset(Counter(frozenset(own.items()) for own in bags.values()).items())


def _counted(release: Release, schema: Schema) -> Hashable:
    """The values and the visible quasi-identifiers of each group, and labels that are no ids."""
    counts = release.counts
    try:
        seen = release.signatures(schema.quasi_identifiers)
    except InputError:  # it does not keep them
        seen = None
    labelled = set(release.group_columns) <= set(schema.quasi_identifiers)
    found: Counter[Hashable] = Counter()
    for group, label in enumerate(counts.groups or range(counts.n_groups)):
        here = slice(int(counts.offsets[group]), int(counts.offsets[group + 1]))
        values = [counts.values[code] for code in counts.codes[here].tolist()]
        people: list[tuple[Any, int]] = []
        if seen is not None:
            own = slice(int(seen.offsets[group]), int(seen.offsets[group + 1]))
            signatures = [tuple(seen.labels[code]) for code in seen.codes[own].tolist()]
            people = list(zip(signatures, seen.people[own].tolist(), strict=True))
        bag = frozenset(zip(values, counts.counts[here].tolist(), strict=True))
        found[label if labelled else None, bag, frozenset(people)] += 1
    return "release", frozenset(found.items())
