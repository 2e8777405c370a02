"""Reading what users give to a run: a table of people and values, or the place of a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foreknow.errors import InputError
from foreknow.jumping.functions import Person, Value
from foreknow.labels import is_label, is_missing


def checked_place(i: Any, n: int) -> int:
    """The place of one of n functions, from 0."""
    if isinstance(i, bool) or not isinstance(i, (int, np.integer)) or not 0 <= i < n:
        raise InputError(f"the functions are 0 to {n - 1}, not {i!r}")
    return int(i)


def read_table(table: Any) -> tuple[tuple[Person, ...], tuple[Value, ...]]:
    """People and values of a table; people without names are numbered from 0."""
    if isinstance(table, Mapping):
        people, values = tuple(table), tuple(table.values())
    elif isinstance(table, str) or not isinstance(table, (Sequence, np.ndarray)):
        raise InputError("a table is a dict of each person's value, or a list of values")
    else:
        values = tuple(table.tolist() if isinstance(table, np.ndarray) else table)
        people = tuple(range(len(values)))
    if not people:
        raise InputError("the table has no people")
    for person, value in zip(people, values, strict=True):
        if is_missing(value) or not is_label(value):
            raise InputError(f"{person!r} has no value that can be counted: {value!r}")
    return people, values
