"""Joined cohorts: releases of different people as one release, each with its own groups.

A later release may have more columns. Of an earlier one such a column says nothing: all its people
have the label `UNKNOWN` there, and no value of a sensitive column that it lacks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

import numpy as np

from foreknow.data.counts import Semantics
from foreknow.data.release import Parts, Release
from foreknow.data.tables.table import free_name
from foreknow.data.tables.views.stacked_tables import id_of, stacked, with_texts
from foreknow.errors import InternalError
from foreknow_judge.counts.cohorts import UNKNOWN
from foreknow_judge.errors import UnsupportedError

COHORT = "cohort"  # a column beside those that make a group: which release shows somebody


def united(releases: Sequence[Release], names: Sequence[str]) -> Release:
    """Put releases of different people together: the groups of all, each with its release.

    Parameters
    ----------
    releases : sequence of Release
        Of one form, with the same columns; the last may have more.
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
    columns = _group_columns(releases[-1])
    releases = [widened(release, columns) for release in releases]
    # Sensitive and other columns that only the last release has; earlier ones get them as missing.
    added = set[str]().union(*(added_values(release, releases[-1]) for release in releases))
    parts_of_releases = [release.parts() for release in releases]
    traits = [
        _traits(release, parts, added)
        for release, parts in zip(releases, parts_of_releases, strict=True)
    ]
    for traits_of_release, name in zip(traits[1:], names[1:], strict=True):
        _refuse_other(traits[0], traits_of_release, names[0], name)
    # All are read in the way of one that has every column.
    model, model_parts = releases[0], parts_of_releases[0]
    if added:
        model, model_parts = releases[-1], parts_of_releases[-1]
    # The new column says which release shows somebody; its name must be free.
    shown_columns = {*model.sensitives, *model.beside, *model.unlinked, *model.people_columns}
    cohort = free_name(COHORT, {*columns, *shown_columns})
    # Groups of a label are kept apart by the cohort; numbered groups get new numbers instead.
    groups = [cohort, *columns] if model.by_values else columns
    id_column = None if model.by_values else columns[0]
    cohort_column = cohort if model.by_values else None

    def stack(tables: Sequence[Any], new_column: str | None) -> Any:
        """One table of the rows of all, with the name of each row's release in a new column."""
        tables_without_cohort = []
        for release, table in zip(releases, tables, strict=True):
            tables_without_cohort.append(table.select(release.without_cohort(table.column_names)))
        return stacked(tables_without_cohort, names, new_column, id_column)

    people, exact_columns = None, tuple[str, ...]()
    people_tables = [parts.people for parts in parts_of_releases if parts.people is not None]
    if people_tables:
        # Who is recognized by exact columns is recognized in one release.
        if model.recognized:
            exact_columns = (cohort, *model.without_cohort(model.recognized))
        people = stack(people_tables, cohort if exact_columns else cohort_column)
    # A release has one table for each set of sensitive columns that stand in one row.
    united_releases = []
    for sensitives in model_parts.values:
        tables = []
        for release, parts in zip(releases, parts_of_releases, strict=True):
            if added:
                tables.append(_with_added(parts.values[release.sensitives], release, model))
            else:
                tables.append(parts.values[sensitives])
        rows = stack(tables, cohort_column)
        united_release = _read_like(
            model,
            rows,
            sensitives=sensitives,
            groups=groups,
            people=people,
            parts=model_parts,
            exact=exact_columns,
        )
        united_releases.append(united_release)
    return _joined(united_releases, model.sensitives).described(cohort=cohort)


def _joined(releases: Sequence[Release], sensitives: Sequence[str]) -> Release:
    """One release of several that show different sensitive columns of the same groups."""
    first, *others = releases
    return first.joined(others, sensitives) if others else first


def added_values(release: Release, last: Release) -> set[str]:
    """The columns of values that a last release has, and an earlier one lacks.

    Empty, unless both show a row for each person, with one value in each column.
    """
    in_rows = release.in_rows and last.in_rows and not last.unlinked
    if not in_rows or not "single" == release.semantics == last.semantics:
        return set()
    return {*last.sensitives, *last.beside} - {*release.sensitives, *release.beside}


def _with_added(rows: Any, release: Release, last: Release) -> Any:
    """Rows of a release with all columns of the last: values that it lacks are missing."""
    for name in sorted(added_values(release, last)):
        rows = with_texts(rows, [name], None if name in last.sensitives else UNKNOWN)
    return rows


def widened(release: Release, columns: Sequence[str]) -> Release:
    """A release with more columns that make groups; all its groups have the label "*" there.

    `columns` are all that shall make groups, in order. Itself, where it has them all, or has
    others.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["30 to 39"] * 2, "disease": ["Flu", "AIDS"]})
    >>> release = Release.from_generalized(table, quasi_identifiers=["age"], sensitive="disease")
    >>> widened(release, ["age", "job"]).counts.groups
    [('30 to 39', '*')]
    """
    groups = _group_columns(release)
    added = [name for name in columns if name not in groups]
    if (
        not release.by_values
        or not added
        or [column for column in columns if column not in added] != groups
    ):
        return release
    parts = release.parts()
    wide_groups = [*{*release.group_columns}.difference(groups), *columns]
    people = None if parts.people is None else with_texts(parts.people, added, UNKNOWN)
    wide_releases = []
    for sensitives, rows in parts.values.items():
        wide_rows = with_texts(rows, added, UNKNOWN)
        one_wide_release = _read_like(
            release,
            wide_rows,
            sensitives=sensitives,
            groups=wide_groups,
            people=people,
            parts=parts,
            exact=(),
        )
        wide_releases.append(one_wide_release)
    wide_release = _joined(wide_releases, release.sensitives)
    return wide_release.described(cohort=release.cohort, name=release.name, schema=release.schema)


def places_in(joint: Release, releases: Sequence[Release], names: Sequence[str]) -> list[Any]:
    """For each release, the position of each of its groups among the united groups.

    United groups are found by label: the release's name and the texts of its columns, "*" for a
    column that it lacks; or, where groups are numbered, by the number they got.
    """
    labels: Any = joint.counts.groups
    columns = _group_columns(joint)
    position_of_label = {
        tuple(map(_text, _label_parts(label))): position for position, label in enumerate(labels)
    }
    positions = []
    for number, (release, name) in enumerate(zip(releases, names, strict=True), start=1):
        labels_of_groups: Any = release.counts.groups
        wanted_columns = columns if release.by_values else _group_columns(release)
        texts = []
        for label in labels_of_groups:
            text_of = dict(zip(release.group_columns, map(_text, _label_parts(label)), strict=True))
            texts.append([text_of.get(column, UNKNOWN) for column in wanted_columns])
        united_labels = []
        for text in texts:
            united_labels.append(
                (name, *text) if release.by_values else (id_of(number, name, text[0]),)
            )
        positions.append(
            np.array([position_of_label[label] for label in united_labels], dtype=np.int64)
        )
    return positions


def _label_parts(label: Any) -> tuple[Any, ...]:
    """The parts of a group's label: one for each column that makes groups."""
    return label if isinstance(label, tuple) else (label,)


def _text(label: Any) -> str | None:
    return None if label is None else str(label)


def _read_like(
    model: Release,
    rows: Any,
    *,
    sensitives: tuple[str, ...],
    groups: list[str],
    people: Any,
    parts: Parts,
    exact: Sequence[str],
) -> Release:
    """One table of values of all releases, read in the way in which the release `model` was.

    `rows` has the values in the columns `sensitives`, and `groups` are the columns that make
    groups. `people` is the table of exact columns of a bucketized release, None for any other;
    `exact` are its columns by which people are recognized.
    """
    is_by_id = not model.by_values
    if people is not None:
        return Release.from_bucketized(
            rows,
            group=groups[0] if is_by_id else groups,
            sensitive=sensitives,
            semantics=_semantics(model, sensitives),
            people=people,
            quasi_identifiers=exact,
        )
    other_columns = []
    for name in (*model.beside, *model.unlinked):
        if name not in sensitives:
            other_columns.append(name)
    if parts.has_counts:
        return Release.from_tally(
            rows, group=groups[0] if is_by_id else groups, sensitive=sensitives, other=other_columns
        )
    arguments: Any = {"sensitive": sensitives, "other": other_columns, "unlinked": model.unlinked}
    if model.linked:
        arguments |= {"person": parts.person, "semantics": model.semantics}
    # A sensitive column that an earlier release lacks has no value there.
    if any(rows[name].null_count for name in sensitives):
        arguments["missing"] = "drop"
    if is_by_id:
        return Release.from_groups(rows, group=groups[0], **arguments)
    return Release.from_generalized(rows, quasi_identifiers=groups, **arguments)


def _semantics(release: Release, sensitives: Sequence[str]) -> Semantics:
    """How many values a person has in these columns, as a release says."""
    semantics = release.semantics
    return cast("Semantics", semantics if isinstance(semantics, str) else semantics[sensitives[0]])


def _group_columns(release: Release) -> list[str]:
    """The columns that make a release's groups, without the one that names its cohort."""
    return release.without_cohort(release.group_columns)


def _traits(release: Release, parts: Parts, added: Collection[str]) -> dict[str, list[str]]:
    """The traits that releases must share to be united, by name; but for `added` columns."""
    form = [release.by_values, parts.people is None, release.tallied]
    return {
        "the columns that make groups": _group_columns(release),
        "the sensitive columns": [name for name in release.sensitives if name not in added],
        "the columns beside them": sorted(
            {*release.beside, *release.unlinked} - {*added, *release.sensitives}
        ),
        "the shuffled columns": sorted(release.unlinked),
        "how many values a person has": [str(release.semantics)],
        "their form": [str(trait) for trait in form],
    }


def _refuse_other(
    shape: dict[str, list[str]], other_shape: dict[str, list[str]], name: str, other_name: str
) -> None:
    """Raise `UnsupportedError` if two releases differ in a trait, so they cannot be united.

    The error names the first trait that differs, and what each release has.
    """
    differing = [name for name, trait in shape.items() if trait != other_shape[name]]
    if not differing:
        return
    trait_name = differing[0]
    lists = (
        f": {', '.join(shape[trait_name]) or 'none'}; "
        f"{', '.join(other_shape[trait_name]) or 'none'}"
    )
    raise UnsupportedError(
        f"{name} and {other_name} differ in "
        f"{trait_name}{'' if trait_name == 'their form' else lists}. "
        "They can be judged together if they are published alike"
    )
