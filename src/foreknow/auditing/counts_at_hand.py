"""Counts at hand, as the judge takes them: bare counts, and those of people with several values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreknow.auditing.questions import Rows, encodable, ones, printed_column
from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.table import free_name
from foreknow.data.release_tables import COUNT
from foreknow_judge.counted import Counted
from foreknow_judge.counting import Column


def of_counts(
    counts: GroupCounts, secret: str, signatures: Any = None, *, of_people: bool = False
) -> Counted:
    """Counts as a table of people and one of (group, value, count).

    `signatures` are counted of people by some columns, where these are at hand; `of_people` is True
    of what is asked of people alone, whose groups a population has, too.
    """
    columns = counts.group_columns
    groups = [free_name("group", {*columns, secret, COUNT}), *columns]
    groups = groups[1:] if columns and of_people else groups
    return Counted(
        "generalized",
        groups,
        secret,
        {"people": None, "sensitive": None},
        semantics=counts.semantics,
        parts={secret: "sensitive"},
        rows=_CountedRows(counts, signatures, groups),
    )


@dataclass(frozen=True, eq=False)
class _CountedRows:
    """Rows of a table of people and of one of (group, value, count), from counts."""

    counts: GroupCounts
    signatures: Any
    groups: Sequence[str]

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        counts, value_columns = self.counts, [name for name in names if name not in self.groups]
        if table == "sensitive":
            cells, cell = np.unique(
                np.stack([counts.cell_groups, self._code_of_text[counts.codes]]),
                axis=1,
                return_inverse=True,
            )
            amounts = np.bincount(cell.reshape(-1), counts.counts).astype(np.int64)
            amount, place = np.unique(amounts, return_inverse=True)
            columns = {
                COUNT: printed_column(place, amount.tolist()),
                **{
                    name: printed_column(cells[1], list(counts.values))
                    for name in value_columns
                    if name != COUNT
                },
            }
            return [*self._labels(cells[0]), *(columns[name] for name in value_columns)], ones(
                None, cells.shape[1]
            )
        if not value_columns:
            return self._labels(np.arange(counts.n_groups)), ones(counts.sizes, 0)
        signatures = self.signatures(value_columns)
        of_cell = np.repeat(np.arange(counts.n_groups), np.diff(signatures.offsets))
        texts_of = [*zip(*signatures.labels, strict=True)] or [()] * len(value_columns)
        parts = [printed_column(signatures.codes, texts) for texts in texts_of]
        return [*self._labels(of_cell), *parts], ones(signatures.people, 0)

    @property
    def _code_of_text(self) -> IntArray:
        """For each value, the first that prints alike."""
        first: dict[str, int] = {}
        texts = [encodable(str(value)) for value in self.counts.values]
        return np.array(
            [first.setdefault(text, code) for code, text in enumerate(texts)],
            dtype=np.int64,
        )

    def _labels(self, of_row: IntArray) -> list[Column]:
        columns = [printed_column(of_row, range(self.counts.n_groups))]
        columns += [
            printed_column(codes[of_row], names) for names, codes in self.counts.group_parts
        ]
        return columns[-len(self.groups) :]
