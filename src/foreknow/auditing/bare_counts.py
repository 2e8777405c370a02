"""Counts at hand, as the judge takes them: bare counts, without the table that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foreknow.auditing.questions import Rows, encodable, printed_column, times_or_once
from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.release_tables import COUNT
from foreknow.data.tables.table import free_name
from foreknow_judge.counts.group_bags import Column
from foreknow_judge.counts.owner_counts import Counted


def of_counts(counts: GroupCounts, secret: str, *, of_people: bool = False) -> Counted:
    """Counts of groups as the judge counts a release: people, and (group, value, count).

    `secret` is the name of the sensitive column. Groups of bare counts are numbered by a column; it
    is left out if only people are asked about (`of_people`), since a population has no such column.
    """
    columns = counts.group_columns
    groups = [free_name("group", {*columns, secret, COUNT}), *columns]
    groups = groups[1:] if columns and of_people else groups
    return Counted(
        form="generalized",
        groups=groups,
        sensitive=secret,
        tables={"people": None, "sensitive": None},
        semantics=counts.semantics,
        parts={secret: "sensitive"},
        rows=_CountsReader(counts, groups, secret),
    )


@dataclass(frozen=True, eq=False)
class _CountsReader:
    """Reads counts as a table of people and one of (group, value, count)."""

    counts: GroupCounts
    groups: Sequence[str]
    secret: str

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        """The rows of these columns, and how many people each stands for.

        `table` is "people", or one of (group, value, count), whose rows stand for themselves.
        """
        return {"people": self._people}.get(table, self._cells)(names)

    def _people(self, _: Sequence[str]) -> Rows:
        """A row for each group, which stands for all of its people."""
        counts = self.counts
        return self._labels(np.arange(counts.n_groups)), times_or_once(counts.sizes, 0)

    def _cells(self, names: Sequence[str]) -> Rows:
        """A row for each group and value."""
        counts = self.counts
        # Values that print alike are one to a reader, so their counts are added up.
        pairs = np.stack([counts.cell_groups, self._code_of_text[counts.codes]])
        distinct_pairs, pair_of_row = np.unique(pairs, axis=1, return_inverse=True)
        amounts = np.bincount(pair_of_row.reshape(-1), counts.counts).astype(np.int64)
        # A column is distinct texts, and the position of its text for each row.
        amount, amount_of_row = np.unique(amounts, return_inverse=True)
        columns = dict(zip(self.groups, self._labels(distinct_pairs[0]), strict=True))
        columns[self.secret] = printed_column(distinct_pairs[1], list(counts.values))
        columns[COUNT] = printed_column(amount_of_row, amount.tolist())
        return [columns[name] for name in names], times_or_once(None, distinct_pairs.shape[1])

    @property
    def _code_of_text(self) -> IntArray:
        """For each value, the position of the first value that prints alike."""
        first_code: dict[str, int] = {}
        texts = [encodable(str(value)) for value in self.counts.values]
        codes = [first_code.setdefault(text, code) for code, text in enumerate(texts)]
        return np.array(codes, dtype=np.int64)

    def _labels(self, of_row: IntArray) -> list[Column]:
        """The columns that say the group of each row; `of_row` is the number of the group."""
        # The first column numbers the groups; it is cut off where `groups` leaves it out.
        columns = [printed_column(of_row, range(self.counts.n_groups))]
        for names, codes in self.counts.group_parts:
            columns.append(printed_column(codes[of_row], names))
        return columns[-len(self.groups) :]
