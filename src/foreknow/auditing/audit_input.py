"""The input of an audit as a release, and the owner's table beside it."""

from __future__ import annotations

from collections.abc import Collection
from functools import singledispatch
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from foreknow.data.arrays import IntArray, count_pairs
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.people.households import ELSEWHERE, Shared
from foreknow.data.person_names import refuse_two_spellings
from foreknow.data.prepare import refuse_as_written
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sights import Sight
from foreknow.data.tables.columns import Missing, UnreadColumn
from foreknow.data.tables.sources import is_records
from foreknow.data.tables.table import is_text
from foreknow.errors import SchemaError
from foreknow.features import load
from foreknow.policy.linked_rows import refuse_linked_rows
from foreknow.policy.person_limits import CaseOwners, owners_counts
from foreknow.policy.policy import Policy
from foreknow.written_releases.written_release import open_published
from foreknow_judge.errors import DataError, PolicyError
from foreknow_judge.files.file_names import CERTIFICATE

Part = TypeVar("Part")
# The table of the owner, the group of each row, and what groups are called.
OwnersTable: TypeAlias = "tuple[Microdata, IntArray, Any]"
_UNSAID = (
    "say what the columns are: policy=, or Release.from_generalized(table, "
    "quasi_identifiers=[...], sensitive=...) in place of the table"
)
_LABEL = 'say missing = { label = "unknown" } in its place'


def part_of(result: Any, name: str, kind: type[Part]) -> Part | None:
    """The attribute `name` of a result, if it is of this kind; None otherwise.

    A frame may have a column of this name, which is an attribute of another kind.
    """
    try:
        value = getattr(result, name, None)
    except Exception:  # such as a relation whose table is gone, which fails when it is read
        return None
    return value if isinstance(value, kind) else None


def under_its_schema(release: Release, policy: Policy) -> Policy:
    """The policy with the schema of the release, which says who is counted; see `Policy.under`.

    A release is refused if it lacks columns that the policy's schema names.
    """
    is_published = release.raw is None
    if is_published and policy.schema is not None and not release.is_bare:
        _refuse_other_columns(release, policy.schema)
    if release.schema is not None:
        policy = policy.under(release.schema, published=is_published)
    if not release.is_bare:
        _refuse_unshown_households(release, policy)
    return policy


def _refuse_unshown_households(release: Release, policy: Policy) -> None:
    """Refuse a release without the column that says in which row a household's value stands.

    A household may share a value, which one of its rows shows.
    """
    shared = None if policy.schema is None else policy.schema.shared
    if not isinstance(shared, Shared) or shared.column in release.people_columns:
        return
    for requirement in policy.on_values:
        raise SchemaError(
            f"{requirement.name}: by the schema {' and '.join(shared.values)} of a household is "
            f"shown once, and no column {shared.column!r} of {release.name} says where: "
            "publish the table, or audit fk.Microdata(table, schema)"
        )


def refuse_linked_households(release: Release, policy: Policy) -> None:
    """Refuse a raw table with an unknown column that shows which rows are of one household."""
    for shared in policy.rules.households:
        if release.raw is not None and shared.by in release.raw.source.columns:
            refuse_linked_rows(Microdata(release.raw), policy)


def _refuse_other_columns(release: Release, schema: Schema) -> None:
    """Refuse a release that was made without a column to which the schema gives a role.

    A release that was made by a schema needs to be asked only for its sensitive columns.
    """
    lacking = {"sensitive": [n for n in schema.sensitives if n not in release.sensitives]}
    if release.schema is None:  # it was made by hand
        if release.by_values and not release.unlinked:
            columns_with_role = (*schema.quasi_identifiers, *schema.other)
            unseen = {*release.unseen(release.beside)}
            lacking["known of people"] = [name for name in columns_with_role if name in unseen]
        if schema.group is not None and schema.group not in release.group_columns:
            lacking["the group"] = [schema.group]
    for role, names in lacking.items():
        if names:
            raise SchemaError(
                f"{release.name}: the policy's schema says that {' and '.join(names)} "
                f"{'is' if len(names) == 1 else 'are'} {role}, and the release was made without: "
                "give the table itself, or make the release with what the policy names"
            )


def prepare(source: Any, policy: Policy, group: str | None = None) -> tuple[Release, Policy]:
    """The source as a release, as by `release_of`, and the policy with the release's schema."""
    release = _release_of(source, policy, group)
    policy = under_its_schema(release, policy)
    if policy.schema is not None:
        _refuse_other_values(release, policy.schema)
    return release, policy


def release_of(
    source: Any, policy: Policy | None = None, group: str | None = None, unsaid: str = _UNSAID
) -> Release:
    """The release that a source is or holds.

    A source is a release, counts, a result or folder of `publish`, a table (by the policy's
    schema; without a policy, SchemaError with the text `unsaid`), or a list of releases of the
    same people, which are taken together. A policy with another schema is refused.
    """
    if policy is not None:
        return prepare(source, policy, group)[0]
    release = _release_of(source, None, group, unsaid)
    if release.schema is not None:
        _refuse_other_values(release, release.schema)
    return release


def _refuse_other_values(release: Release, schema: Schema) -> None:
    """Refuse a published release whose texts the schema reads as something else.

    Examples are a spelling of a missing value, or two spellings of one number.
    """
    if release.raw is not None:
        return  # its values were read by a schema
    reading, missing = cast("Reading", schema.reading), cast("Missing", schema.missing)
    by_hand = release.schema is None
    for name in release.sensitives:
        is_converted = reading.converts or schema.types.get(name) in ("number", "date")
        # Else the schema reads texts of this column as they stand.
        if not (by_hand or is_converted or reading.spellings_of(name)):
            continue
        counts = (release if name == release.sensitive else release.seen(name, [])).counts
        no_values = {missing, ELSEWHERE} if name in schema.shared_values else {missing}
        texts = []
        for v in counts.values:
            if isinstance(v, str) and v not in no_values:
                texts.append(v)
        refuse_as_written(name, texts, schema, by_hand=by_hand)


def _of_counts(counts: GroupCounts, policy: Policy | None) -> Release:
    """A release of bare counts, which are taken for the one sensitive column that a policy names.

    A policy about several columns is refused.
    """
    if policy is None:
        return Release.of_counts(counts)
    columns = [None if policy.schema is None else policy.schema.sensitive]
    columns += [requirement.sensitive for requirement in policy.requirements]
    column = next(filter(None, columns), "")
    for requirement in policy.requirements:
        if requirement.sensitive not in (None, column):
            raise PolicyError(
                f"{requirement.name}: it is about {requirement.sensitive!r}, and bare counts are "
                f"taken for {column!r}; give the release itself, or leave sensitive out"
            )
    return Release.of_counts(counts, column)


@singledispatch
def _release_of(
    source: Any, policy: Policy | None, group: str | None, unsaid: str = _UNSAID
) -> Release:
    """The release that a source is or holds, as in `release_of`, before it is checked."""
    # A list of releases of the same people, but no list of rows.
    if isinstance(source, (list, tuple)) and not is_records(source):
        source = load("foreknow.features.several_releases.joint:together")(source)
        return _release_of(source, policy, group)
    release = part_of(source, "release", Release)
    if release is not None:  # a result, such as a publication, has its release
        return _release_of(release, policy, group)
    counts = part_of(source, "counts", GroupCounts)
    if counts is not None:
        return _of_counts(counts, policy)
    if policy is None:
        raise SchemaError(unsaid)
    schema = policy.needed_schema
    return Release.from_schema(source, schema, group, policy.options.unlinked)


@_release_of.register
def _(source: Release, policy: Policy | None, group: str | None, _: str = "") -> Release:
    if group is not None:
        raise SchemaError("the release has groups already; leave out group")
    if policy is not None and policy.schema is not None:
        return source.recognizing(policy.schema.quasi_identifiers)
    return source


@_release_of.register
def _(source: GroupCounts, policy: Policy | None, group: str | None, _: str = "") -> Release:
    return _release_of(_of_counts(source, policy), policy, group)


@_release_of.register(str)
@_release_of.register(Path)
def _(source: str | Path, policy: Policy | None, group: str | None, unsaid: str = "") -> Release:
    if not (Path(source) / CERTIFICATE).is_file():  # a file of a table
        return _release_of.dispatch(object)(source, policy, group, unsaid)
    if group is not None:
        raise SchemaError(
            f"the columns of {str(source)!r} are in its certificate; leave out the group"
        )
    published = open_published(source, None if policy is None else policy.schema).release
    return _release_of(published, policy, None)


@_release_of.register
def _(source: Microdata, policy: Policy | None, group: str | None, _: str = "") -> Release:
    release = Release.from_schema(source.prepared, source.schema, group)
    release.refuse_partly_left_out(
        "publish leaves out these rows, and the table shows them: give the table in place of "
        f"this Microdata, to judge all that its rows show, or {_LABEL}"
    )
    return release


def read_at_once(release: Release, policy: Policy) -> Release:
    """The release with its published and its owner's columns from one reading of its table.

    A table that may change between two readings could show other people in the second. A table
    that cannot change is left as it is.
    """
    raw = release.raw if policy.owned else None  # only then both are needed
    if raw is None or raw.source.is_stable or not _owned_by(policy) <= {*raw.source.columns}:
        return release
    other_columns = [*policy.owned_columns, *release.group_columns]
    raw.require_roles(other_columns)
    group = None if release.by_values else release.group_columns[0]
    rows = raw.read_once(raw.roles(other_columns))
    return Release.from_schema(rows, raw.schema, group, release.unlinked)


def _owned_by(policy: Policy) -> set[str]:
    """The columns that only the owner has."""
    schema = policy.needed_schema
    return {*policy.owned_columns, *schema.case_persons, *schema.conditions}


def has_owners_table(release: Release, policy: Policy, visible: Release | Sight) -> bool:
    """True if the owner's table is at hand, with all columns that only the owner has.

    It was given with the sight, or is the raw table of the release.
    """
    owned_columns = _owned_by(policy)
    owners = visible.owners
    if owners is not None:
        people, _ = owners
        # A table that was read by other rules on impossible values lacks what these rules ask.
        same_rules = people.schema.impossible == policy.needed_schema.impossible
        return same_rules and owned_columns <= {*people.source.columns}
    if release.raw is None:
        return False
    if not policy.by_row:
        # A raw table has identifiers. Without them it may be a release, which is judged as it is.
        owned_columns |= {*policy.needed_schema.identifiers}
    return owned_columns <= {*release.raw.source.columns}


class Owned(NamedTuple):
    """The counts that only the owner can make, and their table."""

    counts: GroupCounts  # of combinations of values
    cases: CaseOwners | None
    table: OwnersTable


def owned_of_each(release: Release, policy: Policy, visible: Release | Sight) -> list[Owned | None]:
    """The owner's counts for each requirement; None for one that the release itself shows.

    All are None if the owner's table is not at hand, or lacks a column.
    """
    # The sensitive column by the position of the requirement: people without a value in it may be
    # left out of the release, so each column may need a table of its own.
    is_asked = map(policy.asks_owner, policy.requirements)
    column_of_requirement: dict[int, str | None] = {}
    for position, requirement in compress(enumerate(policy.requirements), is_asked):
        column_of_requirement[position] = next(iter(requirement.columns), None)
    columns = dict.fromkeys(column_of_requirement.values())
    owned: list[Owned | None] = [None] * len(policy.requirements)
    counts_of_tables = dict[int, tuple[GroupCounts, CaseOwners | None]]()
    for column, table in _owners_tables(release, policy, visible, columns).items():
        people, groups, labels = table
        if id(people) not in counts_of_tables:  # several columns may share a table
            _refuse_two_spellings_of_units(people, policy)
            refuse_linked_rows(people, policy)
            combined = policy.combined(people, number_each=True)
            counts_of_tables[id(people)] = owners_counts(combined, groups, labels)
        for position, column_of_position in column_of_requirement.items():
            if column_of_position == column:
                owned[position] = Owned(*counts_of_tables[id(people)], table)
    return owned


def _refuse_two_spellings_of_units(people: Microdata, policy: Policy) -> None:
    """Refuse a table where a person or household that is counted seems to have two names."""
    units = {requirement.unit for requirement in policy.requirements}
    units |= {*policy.needed_schema.case_persons}
    for column in sorted(filter(None, units)):
        _, names = people.as_it_stands(column)
        if is_text(names.type):
            refuse_two_spellings(names.to_pylist(), repr(column), repeated=True)


def _owners_tables(
    release: Release, policy: Policy, visible: Release | Sight, columns: Collection[str | None]
) -> dict[str | None, OwnersTable]:
    """The owner's table for each column: its people, the group of each, and the groups' labels.

    Empty if the owner's table is not at hand. `columns` are the sensitive columns of requirements,
    None for the main one.
    """
    if not columns or not has_owners_table(release, policy, visible):
        return {}
    owners = visible.owners
    if owners is not None:
        table = _checked_table(release, policy, *owners)
        return dict.fromkeys(columns, table)
    assert release.raw is not None
    other_columns = [*policy.owned_columns, *release.group_columns]
    if not release.partly_left_out:  # all columns show the same people
        try:
            people = Microdata(release.raw, beside=other_columns)
            people.times  # noqa: B018  # only so that its values are read
        except UnreadColumn:
            if policy.by_row:
                raise
            return {}  # a release, whose labels show what the rules ask
        return dict.fromkeys(columns, (people, *people.grouped(release.group_columns)))
    tables: dict[str | None, OwnersTable] = {}
    for column in columns:
        people = Microdata(release.raw.showing(column), beside=other_columns)
        tables[column] = people, *people.grouped(release.group_columns)
    return tables


def _checked_table(
    release: Release, policy: Policy, people: Microdata, groups: IntArray
) -> OwnersTable:
    """The owner's table of a release: its people, the group of each, and the groups' labels.

    It is refused if its people have other values than the release shows.
    """
    several_values = {*people.schema.several}  # the owner counts none of these
    columns = {*policy.looked_at} & {*people.schema.sensitives} - several_values
    if release.owners is not None and people is release.owners[0]:
        # The release was made from this table; rules may be about other values than it shows.
        columns &= {rule.sensitive for rule in policy.needed_schema.impossible}
    else:
        release.refuse_partly_left_out(f"who they are is not known beside it: {_LABEL}")
    for name in columns:
        _refuse_other_values_of_people(release, people, groups, name)
    return people, groups, release.counts.groups


def _refuse_other_values_of_people(
    release: Release, people: Microdata, groups: IntArray, name: str
) -> None:
    """Refuse a table if the people of any group have other values of a column than the release.

    `groups` is the group of each row of the table, and `name` the sensitive column.
    """
    column = next(column for column in people.sensitives if column.name == name)
    counts = release.seen(name, []).counts
    code_of_text = {str(value): code for code, value in enumerate(counts.values)}
    codes_of_domain = [code_of_text.get(str(value), -1) for value in column.domain]  # -1: not there
    codes = np.array(codes_of_domain)[column.codes]
    is_same = bool(codes.min(initial=0) >= 0)
    if is_same:
        recounted = count_pairs(groups, codes, counts.n_groups, counts.n_values, people.times)
        is_same = all(map(np.array_equal, recounted, (counts.offsets, counts.codes, counts.counts)))
    if not is_same:
        raise DataError(
            f"{people.name}: people have other values of {name!r} than in the release; give the "
            "table that it was made from"
        )
