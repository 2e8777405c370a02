"""Counts page: what was worked out from the groups of a release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from foreknow.data.counts import GroupCounts
from foreknow.report.page import Page
from foreknow.report.scope import HEADING, TOLD_OF_PEOPLE
from foreknow.report.words import group_text
from foreknow_judge.files.printable import visible
from foreknow_judge.text import some

R = TypeVar("R")


class CountsPage(Page[R]):
    """A page about results that need only the counts of groups."""

    heading = HEADING
    wide = True

    def as_they_are(self) -> Iterator[str]:
        """Labels of the table and phrases that are shown as they are."""
        counts: GroupCounts = self.result.counts  # type: ignore[attr-defined]
        yield from (self.name, *TOLD_OF_PEOPLE, *map(visible, counts.values))
        yield from map(group_text, counts.groups or ())

    @property
    def scope(self) -> str:
        """Say how large the release is."""
        counts: GroupCounts = self.result.counts  # type: ignore[attr-defined]
        people = some(counts.n_people, "person", "people")
        return f"{people} in {some(counts.n_groups, 'group', 'groups')}."
