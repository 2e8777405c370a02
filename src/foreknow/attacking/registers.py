"""Registers: the people of a release with their quasi-identifiers, as a table to run methods on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.errors import InputError, UnsupportedError
from foreknow.frames.dealing import table_of_texts
from foreknow.labels import Label
from foreknow.microdata import Microdata
from foreknow.schema import Schema
from foreknow.sparse import IntArray


@dataclass(frozen=True, eq=False)
class Register:
    """Everybody in a release, in some world.

    Attributes
    ----------
    microdata : Microdata
        Rows in order of groups; each group's values dealt out in some way.
    groups : int64 array, shape (people,)
    labels : sequence of labels
        Of the groups.
    values : sequence of labels
        The release's own, by their codes in `microdata`.
    """

    microdata: Microdata
    groups: IntArray
    labels: Sequence[Label]
    values: Sequence[Label]

    def signature(self, person: int) -> dict[str, Label]:
        """The quasi-identifiers of somebody."""
        own = self.microdata.attributes
        return {a.name: a.domain[int(a.codes[person])] for a in own}


def register_of(release: HasCounts, schema: Schema) -> Register:
    """Take the people out of a release that keeps their quasi-identifiers.

    Raises
    ------
    InputError
        If it does not keep them.
    UnsupportedError
        If people have several values.
    """
    counts = counts_of(release)
    if counts.semantics != "single":
        raise UnsupportedError(
            f"semantics {counts.semantics!r}: the adversary who knows the algorithm is worked out "
            "only where everybody has one sensitive value"
        )
    find = getattr(release, "signatures", None)
    if find is None:
        raise InputError(
            "Algorithm needs to know who is in which group: give a Release of a table that keeps "
            "everybody's quasi-identifiers, not counts"
        )
    signatures = find(schema.quasi_identifiers)
    groups = np.repeat(
        np.repeat(np.arange(counts.n_groups), np.diff(signatures.offsets)), signatures.people
    )
    of_person = np.repeat(signatures.codes, signatures.people).tolist()
    columns: dict[str, list[str | None]] = {
        name: [signatures.labels[code][i] for code in of_person]
        for i, name in enumerate(schema.quasi_identifiers)
    }
    names = {str(value): value for value in counts.values}
    if len(names) < len(counts.values):
        raise InputError("several sensitive values print alike; make their labels differ")
    dealt = np.repeat(counts.codes, counts.counts)  # rows of groups, as the people are
    columns[schema.sensitive] = [str(counts.values[code]) for code in dealt.tolist()]
    plain = replace(
        schema,
        identifiers=(),
        other=(),
        person=None,
        group=None,
        missing="error",
    )
    name = str(getattr(release, "name", "the release"))
    microdata = Microdata(table_of_texts(columns, name), plain)
    values = [names.get(str(value), value) for value in microdata.values]
    return Register(microdata, groups, counts.groups or range(counts.n_groups), values)
