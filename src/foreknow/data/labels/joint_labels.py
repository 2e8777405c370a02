"""Joint labels: combinations of the values of several columns, as one value each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, ranges
from foreknow.data.impossible.possible_values import Classes
from foreknow.data.labels.labels import Labels
from foreknow.data.layout import Layout
from foreknow.errors import did_you_mean
from foreknow_judge.errors import DataError

Occurrences: TypeAlias = tuple[IntArray, IntArray, IntArray]  # parts, codes, times


@dataclass(frozen=True, eq=False)
class Singles:
    """The values of a column of which everybody has one."""

    values: Labels
    semantics: Any = "single"

    def occurrences(self, parts: IntArray, codes: IntArray, times: IntArray) -> Occurrences:
        """The part, the value and the number of each occurrence in cells that are given so."""
        return parts, codes, times


@dataclass(frozen=True, eq=False)
class Bags:
    """Distinct sets or bags of values, as compressed sparse rows."""

    offsets: NDArray[Any]  # the entries of bag b are ``offsets[b]:offsets[b + 1]``
    codes: NDArray[Any]  # the value of each entry, as an index into `values`
    times: NDArray[Any]  # how often it is in the bag
    values: Labels
    semantics: Any

    def occurrences(self, parts: IntArray, codes: IntArray, times: IntArray) -> Occurrences:
        """The part, the value and the number of each occurrence in cells of bags."""
        entries, offsets = ranges(self.offsets[codes], self.offsets[codes + 1])
        cell_of_entry = np.repeat(np.arange(len(codes)), np.diff(offsets))
        times = times[cell_of_entry] * self.times[entries]
        return parts[cell_of_entry], self.codes[entries], times


class JointLabels(Labels):
    """Combinations of the values of several columns, by number; each column can be counted alone.

    >>> import numpy as np
    >>> rows = {"job": (np.array([0, 1]), Labels(["Cook", "Nurse"]))}
    >>> JointLabels.of(rows, Layout("job"), {}, Classes.none()).columns["job"][1]
    ('Cook', 'Nurse')
    """

    bags: Mapping[str, Bags]  # of columns of which a person may have several values
    classes: Classes  # who cannot have which values

    @classmethod
    def of(
        cls,
        columns: Mapping[str, tuple[NDArray[Any], Labels]],
        layout: Layout,
        bags: Mapping[str, Bags],
        classes: Classes,
    ) -> JointLabels:
        """Make joint labels of the code that each distinct combination has in each column.

        `layout` says how columns are published, `bags` what the codes of columns with several
        values per person stand for, and `classes` which people cannot have which values.
        """
        codes_of_combinations, _ = next(iter(columns.values()))
        joint_labels = cls(range(len(codes_of_combinations)))
        joint_labels.columns, joint_labels.bags = dict(columns), dict(bags)
        joint_labels.layout, joint_labels.classes = layout, classes
        return joint_labels

    def ruled_beside(self, sensitive: str, known_columns: Sequence[str]) -> list[str]:
        """The columns beside a sensitive one with rules on who cannot have which value.

        Known columns are left out.
        """
        ruled = self.classes.excluded.keys() & self.columns.keys()
        return self.layout.ruled_beside(sensitive, known_columns, ruled)

    def seen_in(self, counts: Any, sensitive: str | None, known: Sequence[str]) -> Any:
        """The counts of one column, in groups that known columns divide; kept with the others."""
        sensitive = sensitive or self.layout.main
        key = "seen", sensitive, tuple(known)
        # The same question comes up often, for instance for each requirement of a policy.
        if key not in counts.cache:
            for name in (sensitive, *known):
                if name not in self.columns:
                    hint = did_you_mean(name, self.columns)
                    raise DataError(f"there is no column {name!r}{hint}")
            counts.cache[key] = counts.count_seen(self, sensitive, known)
        return counts.cache[key]

    def held(self, column: str) -> Singles | Bags:
        """The values or bags that the codes of a column stand for."""
        return self.bags.get(column) or Singles(self.columns[column][1])

    def values_of(self, column: str | None) -> Labels:
        """The values of one column; of the main one where none is named."""
        return self.held(column or self.layout.main).values
