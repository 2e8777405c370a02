"""Cohorts: releases of different people as one release, each with its own groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from foreknow.data.counts import Semantics
from foreknow.data.engines.stacked import stacked
from foreknow.data.release import Parts, Release
from foreknow.errors import UnsupportedError

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
    first = releases[0]
    for release, name in zip(releases[1:], names[1:], strict=True):
        _refuse_other(first, names[0], release, name)
    each = [release.parts() for release in releases]
    columns = list(first.group_columns)
    groups = [COHORT, *columns] if first.by_values else columns
    people = _people(each, names, groups)
    made = [
        _united(first, [own.values[of] for own in each], of, names, groups, people, each[0])
        for of in each[0].values
    ]
    own, *others = made
    release = own.joined(others, first.sensitives) if others else own
    release.cases = any(one.cases for one in releases)
    return release


def _united(
    like: Release,
    tables: Sequence[Any],
    sensitives: tuple[str, ...],
    names: Sequence[str],
    groups: list[str],
    people: Any,
    parts: Parts,
) -> Release:
    """One table of values of all, read as one of them was."""
    rows = _stacked(tables, names, groups)
    by_id = COHORT not in groups
    if people is not None:
        return Release.from_bucketized(
            rows,
            group=groups[0] if by_id else groups,
            sensitive=sensitives,
            semantics=_semantics(like, sensitives),
            people=people,
            quasi_identifiers=like.recognized,
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


def _people(each: Sequence[Parts], names: Sequence[str], groups: Sequence[str]) -> Any:
    """Whoever is in them, where they have a table of their own."""
    tables = [own.people for own in each if own.people is not None]
    return _stacked(tables, names, groups) if tables else None


def _stacked(tables: Sequence[Any], names: Sequence[str], groups: Sequence[str]) -> Any:
    """Tables one below the other, each called by its release; ids of groups begin so."""
    return stacked(tables, names, COHORT, None if COHORT in groups else groups[0])


def _refuse_other(first: Release, name: str, other: Release, called: str) -> None:
    """Raise `UnsupportedError` for a release that cannot stand beside another one."""

    def shape(release: Release) -> dict[str, list[Any]]:
        return {
            "the columns that make groups": [*release.group_columns],
            "the sensitive columns": [*release.sensitives],
            "the columns beside them": sorted({*release.beside, *release.unlinked}),
            "the form": [release.by_values, release.parts().people is None, release.tallied],
            "the semantics": [release.semantics],
        }

    one, two = shape(first), shape(other)
    for what, said in one.items():
        if said != two[what]:
            raise UnsupportedError(
                f"{name} and {called} differ in {what}: "
                f"{', '.join(map(str, said))} and {', '.join(map(str, two[what]))}"
                if what != "the form"
                else f"{name} and {called} have another form: publish both in one"
            )
    if COHORT in {*first.group_columns, *first.sensitives, *first.beside, *first.people_columns}:
        raise UnsupportedError(
            f"{name} has a column {COHORT!r}, which is what tells releases apart; rename it"
        )
