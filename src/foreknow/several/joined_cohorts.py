"""Joined cohorts: releases of different people as one release, each with its own groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from foreknow.data.counts import Semantics
from foreknow.data.engines.stacked import id_of, stacked
from foreknow.data.engines.table import free_name
from foreknow.data.release import Parts, Release
from foreknow.errors import InternalError
from foreknow_judge.errors import UnsupportedError

COHORT = "cohort"  # a column beside those that make a group: which release shows somebody


def united(releases: Sequence[Release], names: Sequence[str]) -> Release:
    """All their groups, each called by its release; nobody is in two of them.

    Parameters
    ----------
    releases : sequence of Release
        Of one form, with the same columns.
    names : sequence of str
        What each is called; each once.

    Raises
    ------
    UnsupportedError
        If they have other columns, or another form.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["30 to 39"] * 2, "disease": ["Flu", "AIDS"]})
    >>> release = Release.from_generalized(table, quasi_identifiers=["age"], sensitive="disease")
    >>> united([release, release], ["January", "March"]).group_columns
    ('cohort', 'age')
    """
    if len({*names}) < len(names):
        raise InternalError("two releases that are united have one name")
    first = releases[0]
    each = [release.parts() for release in releases]
    one = _shape(first, each[0])
    for release, parts, name in zip(releases[1:], each[1:], names[1:], strict=True):
        _refuse_other(one, _shape(release, parts), names[0], name)
    columns = _groups(first)
    taken = {*columns, *first.sensitives, *first.beside, *first.unlinked, *first.people_columns}
    cohort = free_name(COHORT, taken)
    groups = [cohort, *columns] if first.by_values else columns
    ids = None if first.by_values else columns[0]

    def stack(tables: Sequence[Any], column: str | None) -> Any:
        bare = [
            table.drop_columns([one.cohort]) if one.cohort in table.column_names else table
            for one, table in zip(releases, tables, strict=True)
        ]
        return stacked(bare, names, column, ids)

    known = [own.people for own in each if own.people is not None]
    # Who is recognized by exact columns is recognized in one release.
    exact = (cohort, *_bare(first, first.recognized)) if known and first.recognized else ()
    people = stack(known, cohort if ids is None or exact else None) if known else None
    by_column = cohort if ids is None else None
    made = [
        _united(
            first,
            stack([own.values[of] for own in each], by_column),
            of,
            groups,
            people,
            each[0],
            exact,
        )
        for of in each[0].values
    ]
    own, *others = made
    release = own.joined(others, first.sensitives) if others else own
    return release.described(cohort=cohort)


def places_in(joint: Release, releases: Sequence[Release], names: Sequence[str]) -> list[Any]:
    """By release, where its groups are among those of all that are united."""
    labels: Any = joint.counts.groups
    place = {tuple(map(_text, _parts(label))): at for at, label in enumerate(labels)}
    found = []
    for number, (release, name) in enumerate(zip(releases, names, strict=True), start=1):
        own: Any = release.counts.groups
        kept = [release.group_columns.index(column) for column in _groups(release)]
        texts = [[_text(_parts(label)[at]) for at in kept] for label in own]
        called = [
            (name, *text) if release.by_values else (id_of(number, name, text[0]),)
            for text in texts
        ]
        found.append(np.array([place[label] for label in called], dtype=np.int64))
    return found


def _parts(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _text(label: Any) -> str | None:
    return None if label is None else str(label)


def _united(
    like: Release,
    rows: Any,
    sensitives: tuple[str, ...],
    groups: list[str],
    people: Any,
    parts: Parts,
    exact: Sequence[str],
) -> Release:
    """One table of values of all, read as one of them was."""
    by_id = not like.by_values
    if people is not None:
        return Release.from_bucketized(
            rows,
            group=groups[0] if by_id else groups,
            sensitive=sensitives,
            semantics=_semantics(like, sensitives),
            people=people,
            quasi_identifiers=exact,
        )
    other = [name for name in (*like.beside, *like.unlinked) if name not in sensitives]
    if parts.counted:
        return Release.from_tally(
            rows, group=groups[0] if by_id else groups, sensitive=sensitives, other=other
        )
    how: Any = {"sensitive": sensitives, "other": other, "unlinked": like.unlinked}
    how |= {"person": parts.person, "semantics": like.semantics} if like.linked else {}
    if by_id:
        return Release.from_groups(rows, group=groups[0], **how)
    return Release.from_generalized(rows, quasi_identifiers=groups, **how)


def _semantics(like: Release, sensitives: Sequence[str]) -> Semantics:
    how = like.semantics
    return cast("Semantics", how if isinstance(how, str) else how[sensitives[0]])


def _groups(release: Release) -> list[str]:
    """The columns that make its groups, but for one that says whom it shows for the first time."""
    return _bare(release, release.group_columns)


def _bare(release: Release, columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name != release.cohort]


def _shape(release: Release, parts: Parts) -> dict[str, list[str]]:
    """What must be alike in releases that are united."""
    form = [release.by_values, parts.people is None, release.tallied]
    return {
        "the columns that make groups": _groups(release),
        "the sensitive columns": [*release.sensitives],
        "the columns beside them": sorted({*release.beside, *release.unlinked}),
        "how many values a person has": [str(release.semantics)],
        "their form": [str(each) for each in form],
    }


def _refuse_other(
    one: dict[str, list[str]], other: dict[str, list[str]], name: str, called: str
) -> None:
    """Raise `UnsupportedError` for a release that cannot stand beside another one."""
    what = next((what for what, said in one.items() if said != other[what]), None)
    if what is None:
        return
    lists = f": {', '.join(one[what]) or 'none'}; {', '.join(other[what]) or 'none'}"
    raise UnsupportedError(
        f"{name} and {called} differ in {what}{'' if what == 'their form' else lists}. "
        "They can be judged together if they are published alike"
    )
