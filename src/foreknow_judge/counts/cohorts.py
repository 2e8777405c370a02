"""Cohorts: releases of different people, judged as one release with the groups of all.

A later release may have more columns. Of an earlier one such a column says nothing: all its people
have the label `UNKNOWN` there, and a value that it does not show is not asked of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from foreknow_judge.counts.group_bags import Column, DistinctRows, GroupBags
from foreknow_judge.errors import CertificateError
from foreknow_judge.files.release_files import File
from foreknow_judge.files.written_release import Written
from foreknow_judge.policy.grammar import RequireTable

UNKNOWN = "*"  # leaves open what a person has


@dataclass(frozen=True)
class Cohorts(Written):
    """Written releases by name, counted together; nobody is counted in two of them."""

    releases: Mapping[str, Written] = field(default_factory=dict)

    @classmethod
    def of(cls, releases: Mapping[str, Written]) -> Cohorts:
        """Put releases of the same form and columns together, with a column that names them.

        Releases that differ in these are refused. The last one may have more columns than earlier
        ones.
        """
        first, *later_releases = releases.values()
        *earlier_releases, last = releases.values()
        lacking = set[str]()  # columns of the last release that some earlier one does not show
        for earlier in earlier_releases if last.form == "generalized" else ():
            lacking |= _shown_columns(last) - _shown_columns(earlier)
        for later in later_releases:
            if _shape(first, lacking) != _shape(later, lacking):
                raise CertificateError("other-columns", " and ".join(releases))
        # All are judged by the last release's rules on who cannot have which values. An earlier
        # release must not lose a rule, nor lack a sensitive or other column that a rule may name.
        for earlier in earlier_releases:
            if not all(rule in last.rules.tables for rule in earlier.rules.tables):
                raise CertificateError("not-together", "impossible")
        if last.rules.tables and not lacking <= {*last.groups}:
            raise CertificateError("not-together", "impossible")
        # A new column says which release people are from; no other column may have its name.
        used_names = {*last.groups, *first.exact, *(last.parts or ())}
        used_names.update(*(last.columns or {}).values())
        cohort = "release"
        while cohort in used_names:
            cohort += "_"
        names = "form sensitive tables semantics populations parts beside shuffled"
        return cls(
            **{name: getattr(last, name) for name in names.split()},
            groups=[cohort, *last.groups],
            exact=[cohort, *first.exact] if first.exact else (),
            rules=last.rules,
            releases=releases,
            cohort=cohort,
        )

    @property
    def files(self) -> dict[str, File]:
        """Empty: the files belong to the single releases."""
        return {}

    def prepare(self, required: Sequence[RequireTable]) -> None:
        """Count each release that shows all columns."""
        for release in self.releases.values():
            if not _shown_columns(self) - _shown_columns(release) - {self.cohort}:
                release.prepare(required)

    def groups_of(self, sensitive: str, known_columns: Sequence[str]) -> GroupBags:
        """The counts of one sensitive column, in the releases that show it."""
        all_releases = self.releases.items()
        showing = {
            name: release for name, release in all_releases if sensitive in _shown_columns(release)
        }
        with_column = self.with_fields(releases=showing)
        return Written.groups_of(with_column, sensitive, known_columns)

    def count_rows(self, table: str, columns: Sequence[str]) -> DistinctRows:
        """The distinct rows of `columns` and the group columns, and how often each row occurs.

        The releases stand one after the other: the column `cohort` says which one a row is from.
        """
        groups = [name for name in self.groups if name != self.cohort]
        releases = [self._counted(name, groups, table, columns) for name in self.releases]
        times = [rows.times for rows in releases]
        of_release = np.repeat(np.arange(len(releases)), [*map(len, times)])  # for each row
        stacked = {self.cohort: Column.of([*self.releases], of_release)}
        for name in (*groups, *columns):
            stacked[name] = Column.stacked([_labels(rows, name) for rows in releases])
        labels = {name: stacked[name] for name in self.groups}
        columns_beside = {name: stacked[name] for name in columns}
        return DistinctRows.of(labels, columns_beside, np.concatenate(times))

    def _counted(
        self, name: str, groups: Sequence[str], table: str, columns: Sequence[str]
    ) -> DistinctRows:
        """The distinct rows of one release, by those of the asked columns that it shows.

        `groups` are the group columns that are asked for, `columns` the others.
        """
        release = self.releases[name]
        if self.form == "generalized":
            unshown = _shown_columns(self) - _shown_columns(release)
            groups = [column for column in groups if column not in unshown]
            columns = [column for column in columns if column not in unshown]
        if [*release.groups] == groups:
            return release.count_rows(table, columns)
        # Other columns make the groups here than in the release by itself.
        return release.regrouped(groups, self.sensitive).count_rows(table, columns)


def _labels(rows: DistinctRows, column: str) -> Column:
    """The labels of a column, also of a release that lacks it."""
    if column in rows.groups or column in rows.beside:
        return rows.column(column)
    return Column.of([UNKNOWN], np.zeros(len(rows.times), np.int64))


def _shown_columns(release: Written) -> set[str]:
    """The columns of which a later release may show more."""
    rows = "release" in release.tables  # one for each person
    columns = {*release.groups, *(release.parts or (release.sensitive,))}
    return columns.union(release.beside if rows else ())


def _shape(release: Written, lacking: Collection[str]) -> tuple[object, ...]:
    """The properties that releases must share to be judged together.

    Columns that earlier releases lack (`lacking`) do not count. Lists are compared in order, and
    sets in any order.
    """
    absent = {*lacking}
    return (
        release.form,
        [name for name in release.groups if name not in absent],
        {*release.rules.nodes} - absent,
        {*release.rules.opaque} - absent,
        release.sensitive,
        release.semantics,
        {name: table for name, table in (release.parts or {}).items() if name not in absent},
        [*release.exact],
        {*release.beside} - absent,
        {*release.shuffled},
        {*release.tables},
    )
