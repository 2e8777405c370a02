"""Cohorts: releases of different people, judged as one release with the groups of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from foreknow_judge.counting import Column, DistinctRows, Ints
from foreknow_judge.errors import CertificateError
from foreknow_judge.files import File
from foreknow_judge.grammar import AskedTable
from foreknow_judge.written import Written


@dataclass(frozen=True)
class Cohorts(Written):
    """Written releases by name, counted together; nobody is counted in two of them."""

    releases: Mapping[str, Written] = field(default_factory=dict)
    release: str = ""  # the column added to those of a group: its release

    @classmethod
    def of(cls, each: Mapping[str, Written]) -> Cohorts:
        """Put releases of the same form and columns together; refuse others."""
        first, *others = each.values()
        for other in others:
            if _shape(first) != _shape(other):
                raise CertificateError("other-columns", " and ".join(each))
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
            releases=each,
            cohort=release,
            release=release,
        )

    @property
    def files(self) -> dict[str, File]:
        """Empty: the files belong to the single releases."""
        return {}

    def prepare(self, required: Sequence[AskedTable]) -> None:
        """Count each release."""
        for written in self.releases.values():
            written.prepare(required)

    def count_rows(self, table: str, beside: Sequence[str]) -> DistinctRows:
        """The rows of all releases, one release after the other."""
        groups = [name for name in self.groups if name != self.release]
        releases = [self._counted(name, groups, table, beside) for name in self.releases]
        sizes = [len(rows.times) for rows in releases]
        which = np.repeat(np.arange(len(releases)), sizes)
        labels = {self.release: Column.of([*self.releases], which)}
        labels |= {name: _stacked([rows.column(name) for rows in releases]) for name in groups}
        others = {name: _stacked([rows.column(name) for rows in releases]) for name in beside}
        times: Ints = np.concatenate([rows.times for rows in releases])
        return DistinctRows.of({name: labels[name] for name in self.groups}, others, times)

    def _counted(
        self, name: str, groups: Sequence[str], table: str, beside: Sequence[str]
    ) -> DistinctRows:
        """The rows of one release."""
        written = self.releases[name]
        if [*written.groups] == groups:
            return written.count_rows(table, beside)
        # for people who look alike
        asked = replace(written, groups=groups, sensitive=self.sensitive, parts=None)
        asked.memory.files = written.files
        return asked.count_rows(table, beside)


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
    return Column.of([text for own in columns for text in own.texts], np.concatenate(codes))
