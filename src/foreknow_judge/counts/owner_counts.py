"""A release whose rows are counted elsewhere, and what only its owner can count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foreknow_judge.counts.group_bags import Column, DistinctRows, Ints
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.files.release_files import File
from foreknow_judge.files.written_release import Written
from foreknow_judge.knowledge.cases import KINDS, cells_of, worst_sum
from foreknow_judge.knowledge.facts import Worst
from foreknow_judge.policy.grammar import RequireTable


@dataclass(frozen=True, kw_only=True)
class Counted(Written):
    """A release whose equal rows are counted where they are: by an engine, or in memory."""

    # for a table and some of its columns: the columns of its rows, and how often each row occurs
    rows: Callable[[str, Sequence[str]], tuple[Sequence[Column], Ints]]
    person: str = ""  # if rows are cases and people are counted: the column that says whose

    @property
    def files(self) -> dict[str, File]:
        """Empty: nothing is read from files."""
        return {}

    def prepare(self, required: Sequence[RequireTable]) -> None:
        """Count nothing before it is needed."""

    def count_rows(self, table: str, columns_beside: Sequence[str]) -> DistinctRows:
        """The distinct rows of the group columns and `columns_beside`, and how often each occurs.

        Rows that were counted once are kept, since several requirements ask for the same.
        """
        names = (*self.groups, *(name for name in columns_beside if name not in self.groups))
        key = (table, *names)
        if key not in self.memory.counted:
            columns, times = self.rows(table, names)
            by_name = dict(zip(names, columns, strict=True))
            groups = {name: by_name.pop(name) for name in self.groups}
            self.memory.counted[key] = DistinctRows.of(groups, by_name, times)
        return self.memory.counted[key]

    def worst_of_people(self, worst: Worst, *details: Any) -> Worst:
        """The worst case of a person who has several cases; or `worst`, that of a single case.

        `details` are the kind of knowledge, its settings, the questions, and a pair: the sensitive
        column, and the columns that the adversary knows.
        """
        if not self.person:
            return worst
        kind, settings, questions, (sensitive, known_columns) = details
        if kind not in KINDS or any(question.width is not None for question in questions):
            raise UnsupportedError("cases-only", kind)
        rows = self.count_rows("release", [*known_columns, sensitive, self.person])
        # The number of cases of each person in each group.
        persons = rows.counts(known_columns, rows.column(self.person), rows.times)
        for question in questions:
            value, chance = worst_sum(question.held, persons, *cells_of(question, kind, settings))
            if chance > worst.chance:
                worst = Worst(value, None, chance)
        return worst
