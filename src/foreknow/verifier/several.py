"""Several: releases of different people as one, whose groups are those of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from foreknow.errors import CertificateError
from foreknow.grammar import AskedTable
from foreknow.verifier.counts import Column, Counted, Ints
from foreknow.verifier.files import File
from foreknow.verifier.verify import Written


@dataclass(frozen=True)
class Several(Written):
    """Releases as they are written, by their names; nobody is in two of them."""

    each: Mapping[str, Written] = field(default_factory=dict)
    release: str = ""  # the column beside those that make a group: which release has it

    @classmethod
    def of(cls, each: Mapping[str, Written]) -> Several:
        """Releases of one form with the same columns; others are refused."""
        first, *others = each.values()
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
            release=release,
        )

    @property
    def files(self) -> dict[str, File]:
        """None of its own."""
        return {}

    def prepare(self, required: Sequence[AskedTable]) -> None:
        """Count each."""
        for own in self.each.values():
            own.prepare(required)

    def counted(self, table: str, beside: Sequence[str]) -> Counted:
        """The rows of all, one release after the other."""
        groups = [name for name in self.groups if name != self.release]
        found = []
        for own in self.each.values():
            asked = own
            if [*own.groups] != groups:  # asked for who look alike
                asked = replace(own, groups=groups, sensitive=self.sensitive, parts=None)
                asked.memory.files = own.files
            found.append(asked.counted(table, beside))
        sizes = [len(own.times) for own in found]
        names = pa.array([*self.each], pa.string())
        labels = {self.release: Column.of(names, np.repeat(np.arange(len(found)), sizes))}
        labels |= {name: _stacked([own.column(name) for own in found]) for name in groups}
        others = {name: _stacked([own.column(name) for own in found]) for name in beside}
        times: Ints = np.concatenate([own.times for own in found])
        return Counted.of({name: labels[name] for name in self.groups}, others, times)


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
    """Columns one below the other."""
    starts = np.cumsum([0, *(len(own.texts) for own in columns)])
    codes = [
        own.codes.astype(np.int64) + start for own, start in zip(columns, starts, strict=False)
    ]
    return Column.of(pa.concat_arrays([own.texts for own in columns]), np.concatenate(codes))
