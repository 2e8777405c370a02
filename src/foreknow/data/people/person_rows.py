"""Person rows: a table as one row for each person, who may have several values of a column."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.data.people.persons import People
from foreknow.data.people.values_of_people import PersonValues, read_person_values
from foreknow.data.tables.columns import (
    codes_of,
    fetch,
    to_python,
)
from foreknow.data.tables.table import Table, first_row_of
from foreknow.errors import SchemaError


def read_distinct_person_values(
    table: Table,
    columns: Sequence[str],
    sensitive: str,
    person: str | None,
    several: Mapping[str, str],
) -> tuple[PersonValues, NDArray[Any], pa.Array]:
    """The people of a table, and all values that each of them has in one column.

    If several columns have several values per person, and rows repeat people, a value of a set
    counts once. A multiset is then refused: a value in several rows may be one that the person has
    several times, or one that is repeated beside values of another column.

    Parameters
    ----------
    table : Table
    columns : sequence of str
        Other columns to read.
    sensitive : str
        The column of values.
    person : str or None
        The column that tells people apart; None where each row with a list is a person.
    several : mapping of str to str
        The semantics of each column with several values per person; `sensitive` is one of them.

    Returns
    -------
    person_values : PersonValues
    codes : integer array
        The value of each occurrence, as its place in `distinct`.
    distinct : array of Arrow
    """
    person_values = read_person_values(table, columns, sensitive, person, several[sensitive])
    rows = person_values.people.of_row
    if len(several) > 1 and len(person_values.people) < len(rows):
        if "multiset" in several.values():
            raise SchemaError(
                f"{table.name}: where rows repeat people, it cannot be told whether a value of "
                f"{' or '.join(several)} stands in several rows since a person has it several "
                'times; give lists, one row per person, or semantics "set" for each of them'
            )
        codes, _ = codes_of(person_values.values)
        # Keep the first occurrence of each pair of a person and a value, in the order of rows.
        _, first_occurrences = np.unique(person_values.keys(codes), return_index=True)
        kept = np.sort(first_occurrences)
        person_values = replace(
            person_values,
            values=person_values.values.take(pa.array(kept)),
            holders=person_values.holders[kept],
            sources=person_values.sources[kept],
        )
    codes, distinct = person_values.coded(sensitive, several[sensitive])
    return person_values, codes, distinct


class PersonRows(Table):
    """A table as one row per person: all values of a person in a column are one list, or one text.

    They are a list in the column `lists`. In the other columns of which people may have several
    values they are one text, so that people who differ in them can be told apart.
    """

    def __init__(
        self, table: Table, person: str | None, several: Mapping[str, str], lists: str
    ) -> None:
        """Take a table, the column of people, and the semantics of columns with several values.

        `lists` is the column of which values become lists; "" for none.
        """
        self.name, self.columns, self.untyped = table.name, table.columns, table.untyped
        self._table, self._person, self._several, self._lists = table, person, several, lists

    @classmethod
    def with_values_as_text(
        cls, table: Table, person: str | None, name: str, semantics: str
    ) -> PersonRows:
        """A table in which all values that a person has of a column are one text."""
        if isinstance(table, PersonRows):
            return cls(table._table, table._person, table._several, lists="")
        return cls(table, person, several={name: semantics}, lists="")

    @property
    def two_empties(self) -> Any:
        """Columns of a file with empty fields of which some are in quotes."""
        return getattr(self._table, "two_empties", ())

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns with one row per person, in the order of their first rows."""
        single_columns = [name for name in columns if name not in self._several]
        names = dict.fromkeys([*single_columns, *filter(None, [self._person])])
        rows = fetch(self._table, list(names))
        people = People.of(self.name, self._person, rows, first_row_of(self._table))
        arrays: dict[str, Any] = {}
        for name in single_columns:
            codes, distinct = codes_of(rows.column(name))
            # All rows of a person must repeat the value; then the first one has it.
            value_of_code = to_python(name, distinct).__getitem__
            people.agreed_codes(name, codes, value_of_code, _advice_to_agree(name))
            arrays[name] = rows.column(name).take(pa.array(people.first))
        arrays |= {name: self._values_by_person(name) for name in columns if name in self._several}
        return pa.table({name: arrays[name] for name in columns})

    def _values_by_person(self, name: str) -> pa.Array:
        """All values of each person in a column, in the order of people.

        They are a list in the column `lists`, else one text: a sorted list in JSON.
        """
        person_values, codes, values = read_distinct_person_values(
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


def _advice_to_agree(name: str) -> str:
    """The end of a message on rows of a person that differ in a column."""
    return (
        f'if a person may have several, say semantics = {{ {name} = "set" }}; else make them '
        f"agree, or leave {name} out of what is known (knowing = [...])"
    )
