"""Trials with the owner's table at hand: what attackers guess right is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foreknow.auditing.trial import Trial
from foreknow.call_hints import hinted
from foreknow.data.columns.reading_rules import file_of
from foreknow.data.labels.windows import Width
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.data.sights import Sight, seen_with
from foreknow.errors import refuse_other_type
from foreknow.features.learned_attacks.learned import (
    SURE,
    Learned,
    known_columns,
    learned_beside,
    learned_trial,
)
from foreknow.policy.policy import Policy
from foreknow.written_releases.members import OwnRelease, groups_of, table_schema
from foreknow.written_releases.written_release import as_opened
from foreknow_judge.errors import DataError, InputError, UnsupportedError
from foreknow_judge.numbers import Number, as_threshold


@hinted
def learned_report(
    release: Any,
    by: Sequence[str] | None = None,
    *,
    people: Any = None,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    members: str | Path | None = None,
    limit: Number = SURE,
    sensitive: str | None = None,
    within: Number | None = None,
    name: str | None = None,
) -> Trial:
    """Attack a release by learning from it, and report what the most successful attacker finds.

    Attackers learn from all groups together how values go with columns, and then read the groups;
    see `Learned`. With the table behind the release, right guesses are counted; without it, the
    trial reports what an attacker would claim.

    Parameters
    ----------
    release : Release, Publication or folder that `publish` wrote
    by : sequence of str, optional
        The columns that the attacker knows for everybody. The default is to try each
        quasi-identifier alone, and the two best together.
    people : Microdata, path or frame, optional
        The table behind the release, or the exact columns of everybody.
    policy : Policy, path or mapping, optional
        The policy by which `people` is read.
    members : path, optional
        The owner's ``members.parquet``, or its folder; the default is ``FOLDER.owner``.
    limit : number
        The probability from which a guess counts as sure.
    sensitive : str, optional
        The column that is guessed; the default is the first.
    within : number or text, optional
        How near a guess of a number or date must be, such as "10%"; the default is that of the
        policy of the release.
    name : str, optional
        The name of the release in the result.

    Returns
    -------
    Trial

    Raises
    ------
    UnsupportedError
        If people have several values, or the columns of everybody are not known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = {"job": ["clerk", "cook"] * 30, "disease": ["gout", "flu"] * 30}
    >>> table = pa.table({**rows, "group": [row // 5 for row in range(60)]})
    >>> release = Release.from_groups(table, group="group", sensitive="disease")
    >>> found = learned_report(release, ["job"])
    >>> found.measured, found.surest > 0.9
    (False, True)
    """
    certainty = float(as_threshold(limit))
    if by is not None:
        by = Learned(by).by  # which refuses anything but a list of columns
    # Without a policy, a publication brings its own; a folder or a release has none.
    loaded_policy = getattr(getattr(release, "audit", None), "policy", None)  # of a publication
    if policy is not None:
        loaded_policy = Policy.of(policy)
    visible = _as_attackers_see(release, people, policy, members, by or ())
    # How near a guess of a number must be: as the caller says, else as the policy says.
    width = None
    if within is not None:
        width = Width.of(within)
    elif loaded_policy is not None:
        width = loaded_policy.widths_of(sensitive or visible.sensitive)[0]
    if by is None:
        # The default: quasi-identifiers one by one, and the two best together.
        schema = getattr(visible, "schema", None)
        columns = schema.quasi_identifiers if schema else known_columns(visible)
        trial = learned_beside(visible, columns, limit=certainty, sensitive=sensitive, width=width)
        if trial is None:
            raise UnsupportedError(
                "nothing can be learned: it takes one value per person, the columns of everybody "
                "(people), and 50 groups; name columns (by, --by) to try with fewer"
            )
    else:
        trial = learned_trial(visible, by, limit=certainty, sensitive=sensitive, width=width)
    # The strictest limit of the policy is shown beside the figure.
    if loaded_policy is not None:
        trial = replace(trial, required=loaded_policy.least_limit(trial.sensitive))
    return replace(trial, name=name) if name is not None else trial


def _as_attackers_see(
    release: Any, people: Any, policy: Any, members: Any, by: Sequence[str]
) -> Any:
    """The release as attackers see it: a `Release`, or a `Sight` with the owner's people in it.

    `people` is the table behind the release, and `members` the owner's file that says who is in
    which group. With neither, only the published tables are seen. A `Release` with `people` shows
    the columns `by` of everybody; a publication or a folder says who is in which group.
    """
    if people is None and members is None:
        opened_release = as_opened(release)
        # An opened folder wraps the release that it read.
        opened_release = getattr(opened_release, "release", opened_release)
        refuse_other_type(opened_release, Release, "a Release")
        return opened_release
    if isinstance(release, Release):
        return seen_with(
            release,
            people if policy is None else Microdata.of(people, Policy.of(policy).needed_schema),
            by,
        )
    opened_release, microdata, groups = placed(release, people, policy, members)
    return Sight(
        opened_release.counts,
        microdata,
        groups,
        opened_release.sensitive,
        opened_release.name,
        opened_release,
    )


class PlacedPeople(NamedTuple):
    """The people of a release."""

    release: Release
    microdata: Microdata
    groups: Any  # the group of each person, as a position in the counts of the release


def placed(release: Any, people: Any, policy: Any, members: Any) -> PlacedPeople:
    """The people of a published release, and the group of each, from the owner's table.

    `release` is a folder that publish wrote, whose `members` file says who is in which group (None:
    the one in the owner's folder), or what `fk.publish` returned. `people` is the table that was
    published, read by `policy` or, if that is None, by the policy of the release.
    """
    loaded_policy = None if policy is None else Policy.of(policy)
    folder = file_of(release)
    if folder is not None:
        own_release = OwnRelease.open(
            folder, members, None if loaded_policy is None else loaded_policy.needed_schema
        )
        if people is None:
            raise InputError("members say who is in which group; give people=, the table, too")
        published = own_release.published
        schema = table_schema(loaded_policy, published.certificate, published.folder)
        microdata = own_release.shown(Microdata.of(people, schema))
        # Groups are only right for the very rows that were published.
        own_release.refuse_other(microdata)
        groups = own_release.groups[microdata.kept]
        return PlacedPeople(own_release.release, microdata, groups)
    if members is not None:
        raise InputError("members is for a folder that publish wrote")
    if not (hasattr(release, "certificate") and hasattr(release, "audit")):
        raise InputError(
            "give a Release, what fk.publish returned or the folder that it wrote, not "
            f"{type(release).__name__}"
        )
    microdata = release.shown(
        Microdata.of(people, (loaded_policy or release.audit.policy).needed_schema)
    )
    certificate, opened_release = release.certificate, release.release
    # One part for each release that is judged together; groups are numbered as in the counts.
    parts = release.placed.members()
    groups = np.concatenate(
        [
            groups_of(members_of_release, certificate, opened_release.counts)
            for members_of_release in parts
        ]
    )
    if len(groups) != microdata.n_rows:
        raise DataError(
            f"{microdata.name}, read as the policy says, is not the table that the release was "
            "made of"
        )
    # `kept` are the rows that count as people; rows left out while reading have no group.
    return PlacedPeople(opened_release, microdata, groups[microdata.kept])
