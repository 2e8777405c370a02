"""The two forms of a release: what each tells, read back from tables or taken from a grouping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts
from foreknow.data.engines.write import disarm_name, rearmed
from foreknow.data.generalization import style_of
from foreknow.data.microdata import Attribute, Microdata
from foreknow.data.release import Release
from foreknow.data.sparse import IntArray, combine, count_pairs
from foreknow.errors import DataError, InputError
from foreknow.publishing.published import Published, open_published
from foreknow.utility.answers import Boxes, Buckets
from foreknow.utility.label_spans import codes_of_texts, covers_of_groups, covers_of_texts, lines_of

Form: TypeAlias = Literal["generalized", "bucketized"]
FORMS = ("generalized", "bucketized")


def told_by_groups(
    microdata: Microdata,
    groups: NDArray[Any],
    form: Form,
    attributes: Sequence[Attribute],
    floors: Mapping[str, IntArray],
    styles: Mapping[str, str],
) -> Boxes | Buckets:
    """What a release of these groups would tell about some attributes.

    Parameters
    ----------
    microdata, groups, form, floors
        See `foreknow.query_error_of_groups`.
    attributes : sequence of Attribute
    styles : mapping of column to "range", "hierarchy" or "set"
    """
    of_person, floors = _groups_of_people(microdata, groups, floors)
    n_groups = int(of_person.max()) + 1
    counts = microdata.counts(of_person)
    if form == "generalized":
        covers = [
            covers_of_groups(
                attribute,
                line,
                of_person,
                n_groups,
                style_of(attribute, styles.get(attribute.name)),
                floors.get(attribute.name),
            )
            for attribute, line in zip(attributes, lines_of(microdata, attributes), strict=True)
        ]
        return Boxes(covers, counts)
    columns = [attribute.codes for attribute in attributes]
    sizes = [len(attribute.domain) for attribute in attributes]
    point, first = combine(columns, sizes)
    offsets, points, people = count_pairs(of_person, point, n_groups, len(first))
    of_cell = np.repeat(np.arange(n_groups), np.diff(offsets))
    codes = [column[first].astype(np.int64)[points] for column in columns]
    return Buckets(of_cell, codes, people, counts)


def told_by_release(
    release: Release,
    microdata: Microdata,
    attributes: Sequence[Attribute],
    styles: Mapping[str, str],
    *,
    armed: bool = False,
) -> Boxes | Buckets:
    """What a reader of a release knows about some attributes.

    Parameters
    ----------
    release : Release
    microdata : Microdata
        The table it was made of.
    attributes : sequence of Attribute
    styles : mapping of column to "range", "hierarchy" or "set"
        How its labels are written; by the kind of the column when left out.
    armed : bool
        Whether the release was read from a file with apostrophes before what looks like a
        formula.
    """
    counts = _same_values(release.counts, microdata)
    if counts.n_people > microdata.n_people:
        raise DataError(
            f"{release.name} has {counts.n_people} people, {microdata.name} only "
            f"{microdata.n_people}; give the table that the release was made of"
        )
    names = [attribute.name for attribute in attributes]
    if armed:
        names = [disarm_name(name) for name in names]
    if set(names) <= set(release.group_columns):
        labels = list(counts.groups or ())
        if len(release.group_columns) == 1:
            labels = [label if isinstance(label, tuple) else (label,) for label in labels]
        covers = []
        lines = lines_of(microdata, attributes)
        for name, attribute, line in zip(names, attributes, lines, strict=True):
            at = release.group_columns.index(name)
            texts: list[Any] = [label[at] for label in labels]  # type: ignore[index]
            if armed:
                texts = [rearmed(text) if isinstance(text, str) else text for text in texts]
            style = style_of(attribute, styles.get(attribute.name))
            covers.append(covers_of_texts(attribute, line, texts, style))
        return Boxes(covers, counts)
    found = release.signatures(names)
    of_cell = np.repeat(np.arange(counts.n_groups), np.diff(found.offsets))
    codes = []
    for i, attribute in enumerate(attributes):
        known = codes_of_texts(attribute, [signature[i] for signature in found.labels])
        codes.append(known[found.codes])
    return Buckets(of_cell, codes, found.people, counts)


def _same_values(counts: GroupCounts, microdata: Microdata) -> GroupCounts:
    """The counts of a release by the sensitive codes of the table."""
    place = {str(value): code for code, value in enumerate(microdata.values)}
    odd = [value for value in counts.values if str(value) not in place]
    if odd:
        raise DataError(f"{microdata.name} has nobody with the sensitive value {odd[0]!r}")
    codes = np.array([place[str(value)] for value in counts.values], dtype=np.int64)
    of_cell = np.repeat(np.arange(counts.n_groups), np.diff(counts.offsets))
    offsets, values, times = count_pairs(
        of_cell, codes[counts.codes], counts.n_groups, len(microdata.values), counts.counts
    )
    return replace(counts, offsets=offsets, codes=values, counts=times, values=microdata.values)


def _groups_of_people(
    microdata: Microdata, groups: Any, floors: Mapping[str, IntArray]
) -> tuple[IntArray, dict[str, IntArray]]:
    """The group of everybody, without gaps; and the floors of these groups."""
    given = np.asarray(groups)
    if given.shape != (microdata.n_rows,) or given.dtype.kind not in "iu":
        raise InputError(
            f"groups must be a whole number for each of the {microdata.n_rows} rows of "
            f"{microdata.name}; see the partition of a method"
        )
    of_person = given[microdata.kept]
    if int(of_person.min()) < 0:
        row = int(microdata.kept[np.argmax(of_person < 0)])
        raise InputError(f"row {row + 1} of {microdata.name} has no group")
    used, numbered = np.unique(of_person, return_inverse=True)
    return numbered.reshape(-1).astype(np.int64), {
        name: np.asarray(floor)[used] for name, floor in floors.items()
    }


@dataclass(frozen=True, eq=False)
class Reading:
    """A release, and how it is written.

    Attributes
    ----------
    release : Release
    styles : mapping of column to "range", "hierarchy" or "set"
    armed : bool
        Whether its texts may have an apostrophe before them that is not theirs.
    """

    release: Release
    styles: Mapping[str, str]
    armed: bool = False

    def told(self, microdata: Microdata, attributes: Sequence[Attribute]) -> Boxes | Buckets:
        """What it tells about some attributes of the table that it was made of."""
        return told_by_release(self.release, microdata, attributes, self.styles, armed=self.armed)


def reading_of(release: Any, labels: Mapping[str, str] | None = None) -> Reading:
    """Take a release as it is given.

    Parameters
    ----------
    release : Publication, Published, Release or path
        A path is that of a folder which `foreknow publish` wrote, or of a file in it.
    labels : mapping of column to "range", "hierarchy" or "set", optional
        How its columns are written; else as its certificate says.
    """
    if isinstance(release, (str, Path)):
        release = open_published(release)
    found = getattr(release, "release", release)
    if not isinstance(found, Release):
        raise InputError(
            f"expected a release, not {type(release).__name__}: what foreknow.publish returns, "
            "the path of the folder that it was written to, or a Release, such as "
            "Release.from_generalized(table, quasi_identifiers=[...], sensitive=...)"
        )
    if found is release:
        return Reading(found, dict(labels or {}))
    certificate = release.certificate
    styles = certificate.policy.get("publish", {}).get("labels", {}) if labels is None else labels
    # Only what is read back from a file has apostrophes in it.
    armed = isinstance(release, Published) and certificate.escaped
    return Reading(found, dict(styles), armed)
