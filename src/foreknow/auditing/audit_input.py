"""Audit input: what is to be judged, whichever way it is given."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from foreknow.data.arrays import IntArray, count_pairs
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.columns import Missing, UnreadColumn
from foreknow.data.engines.households import ELSEWHERE, Shared
from foreknow.data.engines.table import is_text
from foreknow.data.microdata import Microdata
from foreknow.data.person_names import refuse_two_spellings
from foreknow.data.prepare import refuse_as_written
from foreknow.data.reading import Reading
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sights import Sight
from foreknow.errors import SchemaError
from foreknow.leaves import load
from foreknow.policy.people import CaseOwners, owners_counts
from foreknow.policy.policy import Policy
from foreknow.releases.written import open_published
from foreknow_judge.errors import DataError, PolicyError
from foreknow_judge.file_names import CERTIFICATE

Part = TypeVar("Part")
# The table of the owner, the group of each row, and what groups are called.
OwnersTable: TypeAlias = "tuple[Microdata, IntArray, Any]"
_UNSAID = (
    "say what the columns are: policy=, or Release.from_generalized(table, "
    "quasi_identifiers=[...], sensitive=...) in place of the table"
)
_LABEL = 'say missing = { label = "unknown" } in its place'


def part_of(result: Any, name: str, kind: type[Part]) -> Part | None:
    """A part of a result, by its kind; None of a table, of which it may be a column."""
    try:
        part = getattr(result, name, None)
    except Exception:  # a relation of a table that is gone says so when it is read
        return None
    return part if isinstance(part, kind) else None


def under_its_schema(release: Release, policy: Policy) -> Policy:
    """The policy by the schema of a release, which says who is counted; see `Policy.under`."""
    schema, published = release.schema, release.raw is None
    if published and policy.schema is not None and not release.is_bare:
        _refuse_other_columns(release, policy.schema)
    under_schema = policy if schema is None else policy.under(schema, published=published)
    if not release.is_bare:  # which is refused by what is seen of it
        _refuse_unshown_households(release, under_schema)
    return under_schema


def _refuse_unshown_households(release: Release, policy: Policy) -> None:
    """Refuse a release that does not say where a household's value stands, as publish does."""
    shared = None if policy.schema is None else policy.schema.shared
    if not isinstance(shared, Shared) or shared.column in release.people_columns:
        return
    for required in policy.on_values:
        raise SchemaError(
            f"{required.name}: by the schema {' and '.join(shared.values)} of a household is "
            f"shown once, and no column {shared.column!r} of {release.name} says where: "
            "publish the table, or audit fk.Microdata(table, schema)"
        )


def _refuse_other_columns(release: Release, schema: Schema) -> None:
    """Refuse a release, whose maker said what its columns are, where a schema says otherwise."""
    lacking = [name for name in schema.sensitives if name not in release.sensitives]
    # Of columns that are shuffled it is not known which others stand beside them.
    columns_known = release.schema is not None or not release.by_values or release.unlinked
    unseen = {} if columns_known else {*release.unseen(release.beside)}
    unknown = [name for name in (*schema.quasi_identifiers, *schema.other) if name in unseen]
    groups_known = release.schema is not None or schema.group in (None, *release.group_columns)
    groups = [] if groups_known or schema.group is None else [schema.group]
    for names, what in (lacking, "sensitive"), (unknown, "known of people"), (groups, "the group"):
        if names:
            raise SchemaError(
                f"{release.name}: the policy's schema says that {' and '.join(names)} "
                f"{'is' if len(names) == 1 else 'are'} {what}, and the release was made without: "
                "give the table itself, or make the release with what the policy names"
            )


def prepare(source: Any, policy: Policy, group: str | None = None) -> tuple[Release, Policy]:
    """A release, see `release_of`, and the policy by the schema of the release."""
    release = _release_of(source, policy, group)
    policy = under_its_schema(release, policy)
    if policy.schema is not None:
        _refuse_other_values(release, policy.schema)
    return release, policy


def release_of(
    source: Any, policy: Policy | None = None, group: str | None = None, unsaid: str = _UNSAID
) -> Release:
    """A release or counts; what `publish` made or wrote; a table, by a schema; else `unsaid`.

    Several releases of the same people are taken together. A policy by another schema is refused.
    """
    if policy is not None:
        return prepare(source, policy, group)[0]
    release = _release_of(source, None, group, unsaid)
    if release.schema is not None:
        _refuse_other_values(release, release.schema)
    return release


def _refuse_other_values(release: Release, schema: Schema) -> None:
    """Refuse values that are counted as they are written, and are none by a schema, or one."""
    reading, missing = cast("Reading", schema.reading), cast("Missing", schema.missing)
    if release.raw is not None:
        return  # its values were read by a schema
    by_hand = release.schema is None
    for name in release.sensitives:
        kind = schema.types.get(name)
        spellings = reading.spellings_of(name)
        if not (by_hand or spellings or reading.converts or kind in ("number", "date")):
            continue
        counts = (release if name == release.sensitive else release.seen(name, [])).counts
        marks = {missing, ELSEWHERE} if name in schema.shared_values else {missing}  # no values
        texts = [value for value in counts.values if isinstance(value, str) and value not in marks]
        refuse_as_written(name, texts, schema, by_hand=by_hand)


def _of_counts(counts: GroupCounts, policy: Policy | None) -> Release:
    """A release of bare counts, of the column that a policy names; refused where it names two."""
    if policy is None:
        return Release.of_counts(counts)
    columns = [None if policy.schema is None else policy.schema.sensitive]
    columns += [requirement.sensitive for requirement in policy.requirements]
    column = next((name for name in columns if name is not None), "")
    for requirement in policy.requirements:
        if requirement.sensitive not in (None, column):
            raise PolicyError(
                f"{requirement.name}: it is about {requirement.sensitive!r}, and bare counts are "
                f"taken for {column!r}; give the release itself, or leave sensitive out"
            )
    return Release.of_counts(counts, column)


def _release_of(
    source: Any, policy: Policy | None, group: str | None, unsaid: str = _UNSAID
) -> Release:
    if isinstance(source, (list, tuple)):
        source = load("foreknow.several.joint:together")(source)
    if (release := part_of(source, "release", Release)) is not None:
        source = release
    if isinstance(source, GroupCounts):
        source = _of_counts(source, policy)
    if isinstance(source, Release):
        if group is not None:
            raise SchemaError("the release has groups already; leave out group")
        if policy is not None and policy.schema is not None:
            return source.recognizing(policy.schema.quasi_identifiers)
        return source
    if (counts := part_of(source, "counts", GroupCounts)) is not None:
        return _of_counts(counts, policy)
    if isinstance(source, (str, Path)) and (Path(source) / CERTIFICATE).is_file():
        if group is not None:
            raise SchemaError(
                f"the columns of {str(source)!r} are in its certificate; leave out the group"
            )
        published = open_published(source, None if policy is None else policy.schema).release
        return _release_of(published, policy, None)
    if isinstance(source, Microdata):
        release = Release.from_schema(source.prepared, source.schema, group)
        release.refuse_partly_left_out(
            "publish leaves out these rows, and the table shows them: give the table in place of "
            f"this Microdata, to judge all that its rows show, or {_LABEL}"
        )
        return release
    if policy is None:
        raise SchemaError(unsaid)
    schema = policy.needed_schema
    return Release.from_schema(source, schema, group, policy.options.unlinked)


def read_at_once(release: Release, policy: Policy) -> Release:
    """The release, with all columns from one reading of its table if that may change in between.

    The owner counts more columns than are published, and these must be about the same people.
    """
    raw = release.raw if policy.owned else None
    if raw is None or raw.source.settled or not _owned_by(policy) <= {*raw.source.columns}:
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


def has_owner(release: Release, policy: Policy, sight: Release | Sight) -> bool:
    """True if a table is at hand with all columns that only the owner has."""
    owned_columns = _owned_by(policy)
    if (owners := sight.owners) is not None:
        people, _ = owners
        same = people.schema.impossible == policy.needed_schema.impossible
        return same and owned_columns <= {*people.source.columns}
    if release.raw is None:
        return False
    if not policy.by_row:  # without names it may be a release, whose labels show what rules ask
        owned_columns |= {*policy.needed_schema.identifiers}
    return owned_columns <= {*release.raw.source.columns}


class Owned(NamedTuple):
    """The counts that only the owner can make, and their table."""

    counts: GroupCounts  # of combinations of values
    cases: CaseOwners | None
    table: OwnersTable


def owned_of_each(release: Release, policy: Policy, sight: Release | Sight) -> list[Owned | None]:
    """For each requirement, what only the owner can count of it.

    None of a requirement that a release shows; of all, if the table with all columns for it is not
    at hand.
    """
    columns = {
        place: next(iter(required.columns), None)  # without whose value nobody is counted
        for place, required in enumerate(policy.requirements)
        if policy.asks_owner(required)
    }
    tables = _owners_tables(release, policy, sight, dict.fromkeys(columns.values()))
    if not tables:
        return [None] * len(policy.requirements)
    counts_of_tables = dict[int, tuple[GroupCounts, CaseOwners | None]]()
    units = {required.unit for required in policy.requirements}
    units |= {*policy.needed_schema.case_persons}
    for people, groups, labels in tables.values():
        if id(people) not in counts_of_tables:
            for name in sorted(filter(None, units)):
                names = people.as_it_stands(name)[1]
                if is_text(names.type):
                    refuse_two_spellings(names.to_pylist(), repr(name))
            combined = policy.combined(people, True)
            counts_of_tables[id(people)] = owners_counts(combined, groups, labels)
    owned = {
        place: Owned(*counts_of_tables[id(tables[column][0])], tables[column])
        for place, column in columns.items()
    }
    return [owned.get(place) for place in range(len(policy.requirements))]


def _owners_tables(
    release: Release, policy: Policy, sight: Release | Sight, columns: Collection[str | None]
) -> dict[str | None, OwnersTable]:
    """The owner's table by column: people, their groups, and the groups' names."""
    if not columns or not has_owner(release, policy, sight):
        return {}
    schema = policy.needed_schema
    if (owners := sight.owners) is not None:
        people, groups = owners
        values_each = {*people.schema.several}  # of which the owner counts no values
        columns_of_values = [*({*policy.looked_at} & {*people.schema.sensitives} - values_each)]
        if release.owners is not None and people is release.owners[0]:
            columns_of_values = [name for name in columns_of_values if schema.rules_about(name)]
        else:
            release.refuse_partly_left_out(f"who they are is not known beside it: {_LABEL}")
        for name in columns_of_values:
            _refuse_others(release, people, groups, name)
        return dict.fromkeys(columns, (people, groups, release.counts.groups))
    assert release.raw is not None
    other_columns = [*policy.owned_columns, *release.group_columns]
    if not release.partly_left_out:
        try:
            people = Microdata(release.raw, beside=other_columns)
            people.times  # noqa: B018  # which reads its values
        except UnreadColumn:
            if policy.by_row:
                raise
            return {}  # it has labels, as a release, which show what rules ask
        return dict.fromkeys(columns, (people, *people.grouped(release.group_columns)))
    tables: dict[str | None, OwnersTable] = {}
    for column in columns:
        people = Microdata(release.raw.showing(column), beside=other_columns)
        tables[column] = people, *people.grouped(release.group_columns)
    return tables


def _refuse_others(release: Release, people: Microdata, groups: IntArray, name: str) -> None:
    """Refuse a table of which the people of some group have other values than in the release."""
    column = next(column for column in people.sensitives if column.name == name)
    counts = release.seen(name, []).counts
    code_of = {str(value): code for code, value in enumerate(counts.values)}
    codes = np.array([code_of.get(str(value), -1) for value in column.domain])[column.codes]
    same = bool(codes.min(initial=0) >= 0)
    if same:
        expected = count_pairs(groups, codes, counts.n_groups, counts.n_values, people.times)
        same = all(map(np.array_equal, expected, (counts.offsets, counts.codes, counts.counts)))
    if not same:
        raise DataError(
            f"{people.name}: people have other values of {name!r} than in the release; give the "
            "table that it was made from"
        )
