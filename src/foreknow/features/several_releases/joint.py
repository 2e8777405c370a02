"""Joint: several releases of the same people, to be judged as one.

Whoever has all of them knows more than each tells. Where nobody is in two of them, they are one
release of all groups. Where groups nest, or differences settle them, they are one release whose
groups are the cells: people who are in the same group of each. Else they cross, and there is no
verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, compress
from pathlib import Path
from typing import Any

import numpy as np

from foreknow.call_hints import Plain, hinted
from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels
from foreknow.data.members import Members
from foreknow.data.release import Release
from foreknow.data.release_tables import COUNT
from foreknow.data.schema import OF_PEOPLE, PLAIN, Schema
from foreknow.data.tables.combinations import Combinations
from foreknow.data.tables.group_counts import TallyTable
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.table import free_name
from foreknow.data.tables.views.stacked_tables import called, codes_of_names, joined
from foreknow.errors import NotSettled
from foreknow.features.several_releases.crossing_groups import ABSENT, CrossedGroups
from foreknow.features.several_releases.joined_cohorts import united
from foreknow.wording import people_text
from foreknow.written_releases.members import OwnRelease, alike_but_for_marks, printed, refuse_alike
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.files.file_names import CERTIFICATE
from foreknow_judge.files.release_folder import names_apart
from foreknow_judge.text import some

_EXAMPLES = 3
_OF_PEOPLE = dict(zip(OF_PEOPLE, OF_PEOPLE, strict=True))


@dataclass(frozen=True)
class Part:
    """A release that is joined with others, and its members."""

    name: str
    release: Release
    members: Members  # by how their names print

    @property
    def written(self) -> str:
        """The day on which it was written; empty where that is not known."""
        return ""

    @property
    def erased(self) -> list[OwnPart]:
        """Itself, if the names of some people were erased."""
        return []

    def with_members(self, parts: Sequence[Part]) -> Part:
        """The same with its members, where it takes other parts to say who these are."""
        return self


@dataclass(frozen=True)
class TalliedPart(Part):
    """A table of counts that is joined with others, of whose members nothing is said."""

    def with_members(self, parts: Sequence[Part]) -> Part:
        """The table of counts, with the people whom it counts.

        It must have been counted by columns that also make the groups of another release: then each
        of its cells is a union of these groups, whose members are known.
        """
        columns = self.release.group_columns
        for other_part in parts:
            release = other_part.release
            if isinstance(other_part, TalliedPart) or not (
                {*columns} <= {*release.group_columns} and release.by_values
            ):
                continue
            positions = [release.group_columns.index(name) for name in columns]
            # Each group of the other release is in the cell with the same labels in these columns.
            counted_labels: Any = self.release.counts.groups
            cells = {_text_of(label): cell for cell, label in enumerate(counted_labels)}
            labels: Any = release.counts.groups
            cell_of_group = []
            for label in labels:
                counted_by = _text_of([label[position] for position in positions])
                cell_of_group.append(cells.get(counted_by, ABSENT))
            groups = np.array(cell_of_group, dtype=np.int64)[other_part.members.groups]
            is_counted = groups != ABSENT
            names = compress(other_part.members.names, is_counted)
            return replace(self, members=Members(Labels(names), groups[is_counted]))
        raise InputError(
            f"{self.name}: a table of counts does not say who is in it, unless it is counted by "
            "columns that make the groups of another of these releases"
        )


@dataclass(frozen=True)
class OwnPart(Part):
    """A release that is joined with others, beside the owner's file of its members."""

    owned: OwnRelease

    @property
    def written(self) -> str:
        """The day on which it was written; empty where that is not known."""
        return self.owned.written

    @property
    def erased(self) -> list[OwnPart]:
        """Itself, if the names of some people were erased."""
        return [self] if self.owned.some_forgotten else []

    def is_after(self, earlier: OwnPart) -> bool:
        """True if it was published after another, of other people."""
        digest = digest_of(earlier.owned.published.folder / CERTIFICATE)
        entries = self.owned.published.certificate.after
        return any(entry["certificate"] == digest for entry in entries)


@dataclass(frozen=True)
class Unsettled(Plain):
    """The reason why several releases cannot be judged as one: their groups cross.

    A cell is the people who are in the same group in each release.

    Attributes
    ----------
    releases : tuple of str
        The names of the releases.
    people : int
        The number of people in cells whose values differences of counts do not settle.
    crossing : tuple of tuples
        These cells, largest first: the number of people, and their group in each release, or None
        if a release does not show them.
    settled : int
        The number of people in cells whose values differences of counts do settle.
    certain : int
        The number of these people whose value is thereby certain.
    """

    _json_fields = "releases people crossing settled certain"

    releases: tuple[str, ...]
    people: int
    crossing: tuple[tuple[int, tuple[Any, ...]], ...]
    settled: int
    certain: int

    def __str__(self) -> str:
        """Sentences for the owner: how many people are in groups that cross, and an example."""
        names = " and ".join(self.releases)
        n_people, labels = self.crossing[0]
        groups = " and ".join(
            f"{_label_text(label)} ({name})"
            for name, label in zip(self.releases, labels, strict=True)
            if label is not None
        )
        certain = (
            f"; of {people_text(self.certain)} the value is then certain" if self.certain else ""
        )
        return (
            f"Not settled: {people_text(self.people)} of {names} are in groups that cross, such as "
            f"{groups}, which {some(n_people, 'person', 'people')} share. Differences alone settle "
            f"{people_text(self.settled)}{certain}. There is no verdict on these releases "
            "together. If one of them is not out yet, make it anew with --after"
        )


@dataclass(frozen=True, eq=False)
class _RefusedCounts(TallyTable):
    """The counts of releases whose groups cross: each use is refused, and told why."""

    why: Unsettled

    def count(self) -> GroupCounts:
        """Refuse."""
        raise NotSettled(str(self.why))

    def combinations(self) -> Combinations:
        """Refuse."""
        raise NotSettled(str(self.why))


@hinted
def together(releases: Sequence[Any], *, person: str | None = None) -> Release:
    """Combine several releases of the same people into one release, to be judged as a whole.

    A person is assumed to have the same values in all releases. People are matched by the printed
    text of their identifier, never by quasi-identifiers.

    Parameters
    ----------
    releases : sequence of path or Release
        At least two releases, in the order of time. Folders that `publish` wrote need the owner's
        folders beside them; other releases must name people
        (``Release.from_groups(..., person=...)``). Tables of counts (`Release.from_tally`) are
        possible, too, if their group columns make the groups of another release.
    person : str, optional
        The column that names people in the folders.

    Returns
    -------
    Release
        A release whose `releases` has the name and number of people of each. If groups cross,
        `unsettled` says which, and everything that counts the release raises `NotSettled`.

    Raises
    ------
    InputError
        If it is not known who is in the releases.
    DataError
        If the releases contradict each other: a person has two values.
    UnsupportedError
        If the columns or forms of the releases differ so that they cannot be counted as one.

    Notes
    -----
    If differences of counts settle the values of all cells, which are the people who share a group
    in each release, the worlds are those of one release whose groups are the cells. Nested groups
    always settle. All people are sorted once for each release.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = {"who": ["Ann", "Bob", "Eve"], "group": [1, 1, 1], "ill": ["Flu", "HIV", "Flu"]}
    >>> how = {"group": "group", "sensitive": "ill", "person": "who"}
    >>> january = Release.from_groups(pa.table(rows).slice(0, 2), **how)
    >>> march = Release.from_groups(pa.table(rows), **how)
    >>> both = together([january, march])
    >>> [both.counts.bag(cell) for cell in range(both.counts.n_groups)]
    [{'Flu': 1}, {'Flu': 1, 'HIV': 1}]
    """
    if not isinstance(releases, Sequence) or isinstance(releases, str) or len(releases) < 2:
        raise InputError("together takes a list of at least two releases")
    parts = [_joined_part(source, person) for source in releases]
    names = tuple(names_apart([part.name for part in parts]))
    parts = [replace(part, name=name) for part, name in zip(parts, names, strict=True)]
    parts = [part.with_members(parts) for part in parts]
    for part in parts:
        part.release.refuse_partly_left_out(
            "several releases are counted by all of these columns together: write a value, such as "
            "'unknown', where one is missing"
        )
    people = members_by_known_names(parts)
    for earlier_members, later_members in combinations(people, 2):
        refuse_alike(map(str, later_members.names), map(str, earlier_members.names), "their names")
    memberships = _group_by_person(people)
    n_members = [int((groups != ABSENT).sum()) for groups in memberships]
    joined_releases = [part.release for part in parts]
    # Nobody is in two: different cohorts. Else people who are in the same group of each form cells,
    # and differences of counts may settle their values.
    if sum(n_members) == len(memberships[0]):  # nobody is in two
        joint = united(joined_releases, names)
    else:
        cells = CrossedGroups.of(memberships)
        _refuse_what_counts_miss(parts)
        joint = (
            _as_cells(parts, cells)
            if cells.settled.all()
            else _release_without_counts(parts, cells)
        )
    return joint.described(
        schema=_schema_of(joined_releases),
        names_alike=alike_but_for_marks([[*map(str, members.names)] for members in people]),
        releases=tuple(zip(names, n_members, strict=True)),
        written={part.name: part.written for part in parts if part.written},
    )


def _schema_of(releases: Sequence[Release]) -> Schema | None:
    """The schema that says who is counted; None if no release has one.

    Refused if the releases differ in who is counted: people, cases or households.
    """
    schemas = [release.schema for release in releases]
    for key, name in {**_OF_PEOPLE, "person": "case_persons"}.items():
        first_setting, *other_settings = (getattr(schema or PLAIN, name) for schema in schemas)
        if any(setting != first_setting for setting in other_settings):
            raise UnsupportedError(
                f"{' and '.join(release.name for release in releases)} differ in who is counted "
                f"({key}), and cannot be judged together"
            )
    return next(filter(None, schemas), None)


def _joined_part(source: Any, person: str | None) -> Part:
    """A release that is joined with others, with its members.

    `source` is a release, or a folder that `publish` wrote; in a folder, the column `person` names
    people.
    """
    match source:
        case Release():
            if not source.tallied:
                return Part(source.name, source, _with_printed_names(source.members))
            # A table of counts names nobody; its members are found by other releases.
            nobody = Members(Labels([]), np.zeros(0, dtype=np.int64))
            return TalliedPart(source.name, source, nobody)
        case str() | Path():
            name = Path(source).resolve().name
            owned = OwnRelease.open(source, must_be_beside=True)
            members = (
                owned.people if person is None else _with_printed_names(owned.named(person).members)
            )
            return OwnPart(name, owned.release, members, owned)
    raise InputError(
        "a list is of several releases, folders that publish wrote or a Release each, not "
        f"{type(source).__name__}; a table is a path or a frame"
    )


def _text_of(label: Any) -> tuple[str | None, ...]:
    """The label of a group as texts, one for each column; None where a label is missing."""
    labels = label if isinstance(label, (tuple, list)) else [label]
    return tuple(
        None if label_of_column is None else str(label_of_column) for label_of_column in labels
    )


def _with_printed_names(members: Members) -> Members:
    return replace(members, names=Labels(printed(members.names)))


def refuse_twice(names: Sequence[str], people: Sequence[Sequence[Any]], column: str) -> None:
    """Refuse releases if somebody is in two of them, however the name is written.

    `people` has the names in each release; they come from `column`, which errors name.
    """
    release_of: dict[str, str] = {}
    for name, names_of_release in zip(names, people, strict=True):
        for person_name in names_of_release:
            if person_name in release_of:
                raise InputError(
                    f"somebody is in {release_of[person_name]!r} and in {name!r}: a person is to "
                    "be published once; see fk.together for what both tell"
                )
        refuse_alike(names_of_release, release_of, repr(column))
        release_of |= dict.fromkeys(names_of_release, name)


def members_by_known_names(parts: Sequence[Part]) -> list[Members]:
    """The members of each release, with one name for each person, also where names were erased.

    Where an owner erased names, hashes stand for them, by a key of that release; other releases
    then call the person by that hash, too. Two releases with erased names can only be matched if
    one was published after the other.
    """
    erased = [*chain(*(part.erased for part in parts))]
    for first, second in combinations(erased, 2):
        if not (first.is_after(second) or second.is_after(first)):
            raise InputError(
                f"people of {first.name} and of {second.name} were forgotten, by two keys, so it "
                "is not known whether some are in both; neither was published after the other"
            )
    members = []
    for part in parts:
        names = [*part.members.names]
        # Each release with erased names says how it calls a person.
        for second in erased:
            if second is not part:
                names = second.owned.called(names)
        members.append(replace(part.members, names=Labels(names)))
    return members


def _group_by_person(members: Sequence[Members]) -> list[IntArray]:
    """The group of each person in each release; ABSENT (-1) if the person is not in it.

    Everybody who is in any release has one position, by name.
    """
    codes, n_people = codes_of_names([[*release_members.names] for release_members in members])
    memberships = [np.full(n_people, ABSENT, dtype=np.int64) for _ in members]
    for group_of_person, release_members, group_codes in zip(
        memberships, members, codes, strict=True
    ):
        group_of_person[group_codes] = release_members.groups
    return memberships


def _refuse_what_counts_miss(parts: Sequence[Part]) -> None:
    """Raise `UnsupportedError` if counts do not say all about releases that share people.

    Exact columns, and sensitive columns that are published apart, tell more than counts do; and all
    releases must have the same columns.
    """
    for part in parts:
        name, release, problem = part.name, part.release, ""
        if columns := ", ".join(release.recognized):
            problem = f"{name} shows the exact {columns} of everybody"
        elif release.unlinked or not isinstance(release.semantics, str):
            problem = f"{name} has sensitive columns that are published apart from each other"
        elif weights := (release.schema or PLAIN).published_weights:
            problem = f"{name} shows mean weights of groups ({weights})"
        if problem:
            raise UnsupportedError(
                f"{problem}, and some of its people are in another release: what differences tell "
                "of these is not known, and they cannot be judged together. If one of them is "
                "not out yet, make it anew with --after"
            )
        first = parts[0].release
        if (release.sensitives, release.semantics, {*release.beside}) != (
            first.sensitives,
            first.semantics,
            {*first.beside},
        ):
            raise UnsupportedError(
                f"{parts[0].name} and {name} have other sensitive columns, or other columns beside "
                "them, and some people are in both: they cannot be judged together"
            )


def _as_cells(parts: Sequence[Part], cells: CrossedGroups) -> Release:
    """The joint release whose groups are the cells: people who are in the same group everywhere.

    `parts` are the releases, all of whose cells are settled.
    """
    first = parts[0].release
    beside_columns = [name for name in first.beside if name != first.sensitive]
    bags = cells.counts(
        [_counts_with_columns(part.release, beside_columns) for part in parts],
        [p.name for p in parts],
    )
    # Each cell is labelled by its group in every release.
    cell_of_entry = np.repeat(np.arange(bags.n_groups), np.diff(bags.offsets))
    names = _column_names(parts, [first.sensitive, *beside_columns])
    groups = _columns_of_groups(parts, cells, names)
    # A value may be a combination of the sensitive value with the columns beside it.
    values = [bags.values[code] for code in bags.codes.tolist()]
    columns = [first.sensitive, *beside_columns]
    value_columns = [*map(list, zip(*values, strict=True))] if beside_columns else [values]
    table = joined(
        groups,
        cell_of_entry,
        dict(zip(columns, value_columns, strict=True)),
        **{COUNT: bags.counts},
    )
    other_columns = []
    for name in beside_columns:
        if name not in first.sensitives:
            other_columns.append(name)
    if first.semantics == "single":
        return Release.from_tally(
            table, group=names, sensitive=first.sensitives, other=other_columns
        )
    # Where a person may have several values, it is also published who is in which cell.
    people = joined(groups, cells.of_person, {})
    return Release.from_bucketized(
        table,
        group=names,
        sensitive=first.sensitive,
        semantics=first.semantics,
        people=people,
    )


def _counts_with_columns(release: Release, columns: Sequence[str]) -> GroupCounts:
    """The counts of a release in which a value is a combination with columns beside it.

    Without such columns, the release's own counts.
    """
    counts = release.counts
    if not columns:
        return counts
    divided = release.seen(release.sensitive, columns).counts
    n_keys = len(release.group_columns)
    labels: Any = counts.groups
    # A label of a divided group begins with that of the whole group.
    number_of_group = {
        label if release.by_values else (label,): i for i, label in enumerate(labels)
    }
    # Of each group that the columns beside divide: the whole group, and what stands beside.
    whole_groups, beside_values = [], []
    divided_labels: Any = divided.groups
    for label in divided_labels:
        whole_groups.append(number_of_group[tuple(label[:n_keys])])
        beside_values.append(tuple(label[n_keys:]))
    group_of_part = np.array(whole_groups, dtype=np.int64)
    # Each cell of the divided groups becomes a value: the sensitive one and those beside it.
    part_of_cell = np.repeat(np.arange(divided.n_groups), np.diff(divided.offsets))
    joint = []
    for group, code in zip(part_of_cell.tolist(), divided.codes.tolist(), strict=True):
        joint.append((divided.values[code], *beside_values[group]))
    values = Labels(dict.fromkeys(joint))
    return GroupCounts.from_pairs(
        group_of_part[part_of_cell],
        np.array([values.codes[value] for value in joint], dtype=np.int64),
        values=values,
        n_groups=counts.n_groups,
        weights=divided.counts,
    )


def _column_names(parts: Sequence[Part], used_names: Sequence[str]) -> list[str]:
    """A column for each release, called as it is; no two are one, or cells would be merged."""
    columns: list[str] = []
    for part in parts:
        columns.append(free_name(part.name, [*columns, *used_names, COUNT]))
    return columns


def _columns_of_groups(parts: Sequence[Part], cells: CrossedGroups, names: Sequence[str]) -> Any:
    """A column for each release: the label of each cell's group there, null if it is in none."""
    columns = {}
    for name, part, codes in zip(names, parts, cells.groups.T, strict=True):
        counts = part.release.counts
        texts = [_label_text(counts.group_label(group)) for group in range(counts.n_groups)]
        if len({*texts}) < len(texts):  # which differ only by kind, such as 1 and "1"
            texts = [f"{text} ({number})" for number, text in enumerate(texts, start=1)]
        columns[name] = texts, codes
    return called(columns, ABSENT)


def _release_without_counts(parts: Sequence[Part], cells: CrossedGroups) -> Release:
    """A joint release of which some cells are unsettled: it says so, and has no verdict.

    A cell is people who are in the same group of each release; it is settled if differences of
    counts tell its values.
    """
    first = parts[0].release
    names = [part.name for part in parts]
    is_settled, sizes = cells.settled, cells.sizes
    bags = cells.counts([part.release.counts for part in parts], names)
    # Certain: a settled cell with one value that everybody there has.
    is_certain = is_settled & (np.diff(bags.offsets) == 1)
    is_certain[is_certain] = bags.counts[bags.offsets[:-1][is_certain]] == sizes[is_certain]
    open_cells = sorted(np.flatnonzero(~is_settled).tolist(), key=lambda cell: -int(sizes[cell]))
    crossing = []
    for cell in open_cells[:_EXAMPLES]:
        labels = []
        for part, group in zip(parts, cells.groups[cell].tolist(), strict=True):
            labels.append(None if group == ABSENT else part.release.counts.group_label(group))
        crossing.append((int(sizes[cell]), tuple(labels)))
    unsettled = Unsettled(
        releases=tuple(names),
        people=int(sizes[~is_settled].sum()),
        crossing=tuple(crossing),
        settled=int(sizes[is_settled].sum()),
        certain=int(sizes[is_certain].sum()),
    )
    # The release has no counts: whatever asks for them is told why.
    table = open_table(
        called({"cell": ([""], cells.first[:1]), "value": ([""], cells.first[:1])}, ABSENT)
    )
    tables = _RefusedCounts(
        table,
        groups=["cell"],
        null_groups=False,
        sensitive="value",
        amount=COUNT,
        semantics="single",
        people=None,
        why=unsettled,
    )
    return Release(tables, sensitives=first.sensitives).described(unsettled=unsettled)


def _label_text(label: Any) -> str:
    """A group's label as it is read."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
