"""Gathering: count groups of people of whom each may have several sensitive values, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.counts import GroupCounts, Semantics
from foreknow.frames.columns import codes_of
from foreknow.frames.counting import joined, refuse_null_group
from foreknow.frames.holding import read_held
from foreknow.frames.people import People
from foreknow.frames.plain import to_python
from foreknow.frames.sources import Table
from foreknow.labels import Label, Labels, in_order


def count_held(
    table: Table,
    groups: Sequence[str],
    sensitive: str,
    *,
    person: str | None,
    semantics: Semantics,
    null_groups: bool = False,
) -> GroupCounts:
    """Count people by group, and their values by group and value.

    Parameters
    ----------
    table : Table
    groups : sequence of column names
        As in `count_groups`; equal in all rows of a person.
    sensitive : str
        One value per row, of which a null adds none; or a list per row.
    person : str, optional
        The column that names people; needed unless the values are lists.
    semantics : "set" or "multiset"
    null_groups : bool
        Whether a null in a group column is a value of its own, or an error.
    """
    held = read_held(table, groups, sensitive, person, semantics, groups=groups)
    of_person, labels = people_groups(held.people, held.rows, groups, null_groups=null_groups)
    codes, found = codes_of(held.values)
    given = to_python(sensitive, found)
    if semantics == "set":
        held.refuse_twice(sensitive, codes, given.__getitem__)
    values = Labels(in_order(given))
    place = np.array([values.codes[v] for v in given], dtype=codes.dtype)
    return GroupCounts.from_pairs(
        of_person[held.holders],
        place[codes],
        values=values,
        n_groups=len(labels),
        groups=labels,
        sizes=np.bincount(of_person, minlength=len(labels)),
        semantics=semantics,
    )


def people_groups(
    people: People, rows: pa.Table, groups: Sequence[str], *, null_groups: bool
) -> tuple[NDArray[Any], list[Label]]:
    """Code of everybody's group, and the label of each group.

    Raises
    ------
    DataError
        If rows of one person are in different groups, or a row that needs a group has none.
    """
    encoded = []
    for name in groups:
        column = rows.column(name)
        if not null_groups and column.null_count:
            refuse_null_group(people.table, name, column, None)
        codes, found = codes_of(column)
        labels = to_python(name, found)
        own = people.agreed(name, codes, labels.__getitem__, "everybody is in one group")
        encoded.append((own, found))
    return joined(groups, encoded, as_tuples=null_groups)
