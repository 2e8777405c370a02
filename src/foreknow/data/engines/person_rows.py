"""One row for each person, of a table in which people may stand in several rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from foreknow.data.engines.columns import codes_of, fetch, to_python
from foreknow.data.engines.group_counts import People, held_beside
from foreknow.data.engines.table import Table


class PersonRows:
    """A table as one row per person: the values of one column as lists, of others as one text.

    Columns of which people may have several values are named with their semantics. What somebody
    has in such a column makes one text, so that people who differ in it can be told apart.
    """

    settled = True

    def __init__(
        self, table: Table, person: str | None, several: Mapping[str, str], lists: str
    ) -> None:
        self.name, self.columns, self.untyped = table.name, table.columns, table.untyped
        self.two_empties = getattr(table, "two_empties", ())
        self._table, self._person, self._several, self._lists = table, person, several, lists

    @classmethod
    def of_texts(cls, table: Table, person: str | None, name: str, semantics: str) -> PersonRows:
        """A table in which all that a person has is one text; of one such column where not said."""
        if isinstance(table, PersonRows):
            return cls(table._table, table._person, table._several, "")
        return cls(table, person, {name: semantics}, "")

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns, people in the order of their first rows."""
        own = [name for name in columns if name not in self._several]
        person = [] if self._person is None else [self._person]
        rows = fetch(self._table, list(dict.fromkeys([*own, *person])))
        people = People.of_rows(self.name, len(rows))
        for name in person:
            people = People.named(self.name, name, rows.column(name))
        made: dict[str, Any] = {}
        for name in own:
            codes, found = codes_of(rows.column(name))
            people.agreed(name, codes, to_python(name, found).__getitem__, _advice(name))
            made[name] = rows.column(name).take(pa.array(people.first))
        made |= {name: self._bags(name) for name in columns if name in self._several}
        return pa.table({name: made[name] for name in columns})

    def _bags(self, name: str) -> pa.Array:
        held, codes, values = held_beside(self._table, [], name, self._person, self._several)
        order = np.lexsort((codes, held.holders))
        counts = np.bincount(held.holders, minlength=len(held.people))
        ends = np.concatenate(([0], np.cumsum(counts)))
        if name == self._lists:
            return pa.ListArray.from_arrays(
                pa.array(ends, pa.int32()), values.take(pa.array(codes[order].astype(np.int64)))
            )
        texts = [str(label) for label in to_python(name, values)]
        own = [texts[code] for code in codes[order].tolist()]
        bags = (sorted(own[a:b]) for a, b in pairwise(ends.tolist()))
        return pa.array([json.dumps(bag, ensure_ascii=False) for bag in bags], pa.string())

    def tally(self, columns: Sequence[str]) -> None:
        """Nothing is counted where the data lives."""


def _advice(name: str) -> str:
    return (
        f'if a person may have several, say semantics = {{ {name} = "set" }}; else make them '
        f"agree, or leave {name} out of what is known (knowing = [...])"
    )
