"""Membership: which group of a release each named person is in."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from foreknow.frames.counting import group_codes, places_of
from foreknow.frames.people import People
from foreknow.frames.plain import fetch, to_python
from foreknow.frames.sources import Table
from foreknow.labels import Label, Labels
from foreknow.sparse import IntArray


def place_people(
    table: Table,
    person: str,
    groups: Sequence[str],
    known: Sequence[Label],
    *,
    as_tuples: bool,
    needed: str | None = None,
) -> tuple[Labels, IntArray]:
    """Find the group of everybody.

    Parameters
    ----------
    table : Table
    person : str
        The column that names people.
    groups : sequence of str
        The columns that make a group; equal in all rows of a person.
    known : sequence of labels
        The groups by position, as they were counted.
    as_tuples : bool
        Whether a group is labelled by the tuple of its columns.
    needed : str, optional
        A column without which a row was not counted.

    Returns
    -------
    names : Labels
        Everybody once, in order of first appearance.
    positions : int64 array, shape (people,)
        Position of each person's group in `known`.
    """
    columns = [person, *groups, *([] if needed is None else [needed])]
    rows = fetch(table, list(dict.fromkeys(columns)))
    if needed is not None and rows.column(needed).null_count:
        rows = rows.filter(pc.is_valid(rows.column(needed)))
    people = People.named(table.name, person, rows.column(person))
    of_row, labels = group_codes(rows, groups, as_tuples=as_tuples)
    positions = places_of(table.name, labels, known)
    return Labels(to_python(person, people.names)), positions[of_row[people.first]]
