"""Person rows: a table as one row per person, who may have several values of a column."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.data.engines.columns import (
    codes_of,
    fetch,
    to_python,
)
from foreknow.data.engines.people.persons import People
from foreknow.data.engines.people.values_of_people import PersonValues, read_held
from foreknow.data.engines.table import Table
from foreknow.errors import SchemaError


def held_beside(
    table: Table,
    columns: Sequence[str],
    sensitive: str,
    person: str | None,
    several: Mapping[str, str],
) -> tuple[PersonValues, NDArray[Any], pa.Array]:
    """The people, and the values that they have in one of several columns with several values each.

    If rows repeat people, a value of a set counts once. A multiset is then refused: a value in
    several rows may be one that the person has several times, or one that is repeated beside values
    of another column.

    Parameters
    ----------
    several : mapping of str to str
        The semantics of each such column; `sensitive` is one of them.

    Returns
    -------
    values : PersonValues
    codes : integer array
        The value of each occurrence, as its place in `distinct`.
    distinct : array of Arrow
    """
    person_values = read_held(table, columns, sensitive, person, several[sensitive])
    rows = person_values.people.of_row
    if len(several) > 1 and len(person_values.people) < len(rows):
        if "multiset" in several.values():
            raise SchemaError(
                f"{table.name}: where rows repeat people, it cannot be told whether a value of "
                f"{' or '.join(several)} stands in several rows since a person has it several "
                'times; give lists, one row per person, or semantics "set" for each of them'
            )
        codes, _ = codes_of(person_values.values)
        # The first occurrence of each pair of a person and a value, in the order of rows.
        first_rows = np.sort(np.unique(person_values.keys(codes), return_index=True)[1])
        values = person_values.values.take(pa.array(first_rows))
        person_values = replace(
            person_values,
            values=values,
            holders=person_values.holders[first_rows],
            sources=person_values.sources[first_rows],
        )
    return person_values, *person_values.coded(sensitive, several[sensitive])


class PersonRows(Table):
    """A table as one row per person: the values of one column as lists, of others as one text.

    Columns of which people may have several values are named with their semantics. What somebody
    has in such a column makes one text, so that people who differ in it can be told apart.
    """

    def __init__(
        self, table: Table, person: str | None, several: Mapping[str, str], lists: str
    ) -> None:
        self.name, self.columns, self.untyped = table.name, table.columns, table.untyped
        self._table, self._person, self._several, self._lists = table, person, several, lists

    @classmethod
    def with_values_as_text(
        cls, table: Table, person: str | None, name: str, semantics: str
    ) -> PersonRows:
        """A table in which all values that a person has of a column are one text."""
        if isinstance(table, PersonRows):
            return cls(table._table, table._person, table._several, "")
        return cls(table, person, {name: semantics}, "")

    @property
    def two_empties(self) -> Any:
        """Columns of a file with empty fields of which some are in quotes."""
        return getattr(self._table, "two_empties", ())

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns with one row per person, in the order of their first rows."""
        single_columns = [name for name in columns if name not in self._several]
        names = dict.fromkeys([*single_columns, *filter(None, [self._person])])
        rows = fetch(self._table, list(names))
        people = People.of(self.name, self._person, rows)
        arrays: dict[str, Any] = {}
        for name in single_columns:
            codes, distinct = codes_of(rows.column(name))
            # All rows of a person must repeat the value; then the first one has it.
            people.agreed_codes(name, codes, to_python(name, distinct).__getitem__, _advice(name))
            arrays[name] = rows.column(name).take(pa.array(people.first))
        arrays |= {name: self._bags(name) for name in columns if name in self._several}
        return pa.table({name: arrays[name] for name in columns})

    def _bags(self, name: str) -> pa.Array:
        """All values of each person in a column, in the order of people.

        They are a list in the column `lists`, else one text: a sorted list in JSON.
        """
        person_values, codes, values = held_beside(
            self._table, [], name, self._person, self._several
        )
        # Occurrences person by person, and by value within a person, so that equal bags look equal.
        order = np.lexsort((codes, person_values.holders))
        n_values = np.bincount(person_values.holders, minlength=len(person_values.people))
        ends = np.concatenate(([0], np.cumsum(n_values)))
        if name == self._lists:
            return pa.ListArray.from_arrays(
                pa.array(ends, pa.int32()), values.take(pa.array(codes[order].astype(np.int64)))
            )
        text_of_code = [str(label) for label in to_python(name, values)]
        texts = [text_of_code[code] for code in codes[order].tolist()]
        bags = []
        for start, end in pairwise(ends.tolist()):
            bags.append(json.dumps(sorted(texts[start:end]), ensure_ascii=False))
        return pa.array(bags, pa.string())


def _advice(name: str) -> str:
    return (
        f'if a person may have several, say semantics = {{ {name} = "set" }}; else make them '
        f"agree, or leave {name} out of what is known (knowing = [...])"
    )
