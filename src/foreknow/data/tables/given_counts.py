"""Given counts: how often each value occurs in each group, in place of a table of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from foreknow.data.counts import GroupCounts
from foreknow.data.tables.combinations import Combinations
from foreknow.data.tables.formats.arrow_table import ArrowTable
from foreknow.data.tables.group_counts import TallyTable
from foreknow_judge.errors import DataError, UnsupportedError


@dataclass(frozen=True, eq=False)
class GivenCounts(TallyTable):
    """Counts without their table: they have no columns of people, and name nobody."""

    given: GroupCounts

    @classmethod
    def of(cls, counts: GroupCounts, sensitive: str) -> GivenCounts:
        """Take the counts of a column, which is "" if it has no name."""
        no_columns = ArrowTable(pa.table({}))
        no_columns.name = "release"
        return cls(
            table=no_columns,
            groups=(),
            null_groups=False,
            sensitive=sensitive,
            amount="",
            semantics=counts.semantics,
            people=None,
            given=counts,
        )

    def count(self) -> GroupCounts:
        """The counts."""
        return self.given

    def combinations(self) -> Combinations:
        """How many people each group has."""
        if not self.given.n_groups:
            raise DataError("the release has no groups")
        groups = np.arange(self.given.n_groups)
        # Groups are known by number only: they have no values.
        return Combinations(("group",), [groups], domains=[], people=self.given.sizes)

    def signatures(self, counts: GroupCounts, attributes: Sequence[str]) -> Any:
        """Raise `UnsupportedError`: counts have no columns of people."""
        raise UnsupportedError("counts have no columns of people; give the release itself")
