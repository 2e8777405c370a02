"""Cohorts: releases of different people, judged as one release with the groups of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from foreknow_judge.counting import Column, DistinctRows, Ints
from foreknow_judge.errors import CertificateError
from foreknow_judge.files import File
from foreknow_judge.grammar import AskedTable
from foreknow_judge.written import Written


@dataclass(frozen=True)
class Cohorts(Written):
    """Written releases by name, counted together; nobody is counted in two of them."""

    each: Mapping[str, Written] = field(default_factory=dict)
    # for releases that repeat earlier groups: the cohort column, and the release's own number
    own: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    release: str = ""  # the column added to those of a group: its release

    @classmethod
    def of(cls, each: Mapping[str, Written], own: Mapping[str, tuple[str, str]]) -> Cohorts:
        """Put releases of the same form and columns together; refuse others.

        Of releases that repeat earlier groups, only their `own` groups are counted.
        """
        first, *others = (_bare(written, own.get(name)) for name, written in each.items())
        for other in others:
            if _shape(first) != _shape(other):
                raise CertificateError(
                    f"the releases {' and '.join(each)} have other columns, or another form, and "
                    "cannot be judged together"
                )
        release, taken = "release", {*first.groups, *first.exact, *(first.parts or ())}
        for columns in (first.columns or {}).values():
            taken |= {*columns}
        while release in taken:
            release += "_"
        return cls(
            first.form,
            [release, *first.groups],
            first.sensitive,
            first.tables,
            semantics=first.semantics,
            populations=first.populations,
            parts=first.parts,
            exact=[release, *first.exact] if first.exact else (),
            shuffled=first.shuffled,
            each=each,
            own=own,
            cohort=release,
            release=release,
        )

    @property
    def files(self) -> dict[str, File]:
        """Empty: the files belong to the single releases."""
        return {}

    def prepare(self, required: Sequence[AskedTable]) -> None:
        """Count each release that does not repeat earlier groups."""
        for name, written in self.each.items():
            if name not in self.own:
                written.prepare(required)

    def counted(self, table: str, beside: Sequence[str]) -> DistinctRows:
        """The rows of all releases, one release after the other."""
        groups = [name for name in self.groups if name != self.release]
        releases = [self._counted(name, groups, table, beside) for name in self.each]
        sizes = [len(rows.times) for rows in releases]
        names = pa.array([*self.each], pa.string())
        labels = {self.release: Column.of(names, np.repeat(np.arange(len(releases)), sizes))}
        labels |= {name: _stacked([rows.column(name) for rows in releases]) for name in groups}
        others = {name: _stacked([rows.column(name) for rows in releases]) for name in beside}
        times: Ints = np.concatenate([rows.times for rows in releases])
        return DistinctRows.of({name: labels[name] for name in self.groups}, others, times)

    def rows(self, table: str) -> Counter[tuple[str | int | None, ...]]:
        """How often each row of a table occurs, for a single release; group ids start at 0."""
        (written,) = self.each.values()
        told = {column for column, _ in self.own.values()}
        columns = (written.columns or {})[table]
        beside = [name for name in columns if name not in (*self.groups, *told)]
        rows = self.counted(table, beside)
        asked = (*self.groups[1:], *beside)
        each: list[list[Any]] = [rows.column(name).to_list() for name in asked]
        if self.form == "bucketized":
            ids: list[Any] = self.counted("people", ()).groups[self.groups[1]].to_list()
            if not all(label and label.isdecimal() for label in (*ids, *each[0])):
                raise CertificateError("ids of groups that are copied are numbers")
            least = min(map(int, ids))
            each[0] = [int(label) - least for label in each[0]]
        found: Counter[tuple[str | int | None, ...]] = Counter()
        for *row, times in zip(*each, rows.times.tolist(), strict=True):
            found[tuple(row)] += times
        return found

    def _counted(
        self, name: str, groups: Sequence[str], table: str, beside: Sequence[str]
    ) -> DistinctRows:
        """The rows of one release, without those that it repeats from earlier ones."""
        written, (column, number) = self.each[name], self.own.get(name, ("", ""))
        asked = written
        if [*written.groups] != groups:  # for people who look alike, or without the cohort column
            asked = replace(written, groups=groups, sensitive=self.sensitive, parts=None)
            asked.memory.files = written.files
        if not column:
            return asked.counted(table, beside)
        ids = written.groups if written.form == "bucketized" else ()
        if not ids or table == "people":
            rows = asked.counted(table, [*beside, column])
            return _only(rows, rows.column(column).to_list(), {number})
        people = written.counted("people", [column])
        told = zip(people.column(ids[0]).to_list(), people.column(column).to_list(), strict=True)
        rows = asked.counted(table, beside)
        return _only(rows, rows.column(ids[0]).to_list(), {i for i, own in told if own == number})


def _only(
    rows: DistinctRows, told: Sequence[str | None], wanted: Collection[str | None]
) -> DistinctRows:
    """The rows whose entry in `told` is wanted."""
    kept = np.flatnonzero([own in wanted for own in told])
    labels = {name: rows.column(name).take(kept) for name in rows.groups}
    others = {name: own.take(kept) for name, own in rows.beside.items()}
    return DistinctRows.of(_in_use(labels), _in_use(others), rows.times[kept])


def _in_use(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The same columns without texts that no row has."""
    found = {}
    for name, own in columns.items():
        used, codes = np.unique(own.codes, return_inverse=True)
        found[name] = Column(own.texts.take(pa.array(used)), codes)
    return found


def _bare(written: Written, own: tuple[str, str] | None) -> Written:
    """The same release without its cohort column."""
    column = "" if own is None else own[0]
    groups = [name for name in written.groups if name != column]
    exact = [name for name in written.exact if name != column]
    return replace(written, groups=groups, exact=exact)


def _shape(written: Written) -> tuple[object, ...]:
    return (
        written.form,
        [*written.groups],
        written.sensitive,
        written.semantics,
        written.parts,
        [*written.exact],
        {*written.shuffled},
        {*written.tables},
    )


def _stacked(columns: Sequence[Column]) -> Column:
    """Columns concatenated into one."""
    starts = np.cumsum([0, *(len(own.texts) for own in columns)])
    codes = [
        own.codes.astype(np.int64) + start for own, start in zip(columns, starts, strict=False)
    ]
    return Column.of(pa.concat_arrays([own.texts for own in columns]), np.concatenate(codes))
