"""What a reader of a release knows, whatever it is given as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreknow.errors import InputError
from foreknow.microdata import Attribute, Microdata
from foreknow.published import Published, open_published
from foreknow.release import Release
from foreknow.workload.answering import Boxes, Buckets
from foreknow.workload.forms import told_by_release


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
