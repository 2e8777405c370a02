"""Earlier releases, and the people whom a release after them shows for the first time.

Each person is published only once. So all releases of a register together are one release, with the
groups of all cohorts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np

from foreknow.auditing.audit import Audit, audit
from foreknow.call_hints import Plain
from foreknow.certificates import Certificate
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.labels.labels import Labels
from foreknow.data.microdata import Microdata
from foreknow.data.people.households import Shared
from foreknow.data.person_names import refuse_two_spellings
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sights import Register, Sight
from foreknow.data.tables.columns import fetch
from foreknow.errors import NoSafeRelease, SchemaError
from foreknow.features.several_releases.joined_cohorts import places_in, united, widened
from foreknow.features.several_releases.joint import OwnPart, members_by_known_names, refuse_twice
from foreknow.policy.kinds import registered_kinds
from foreknow.policy.policy import Policy
from foreknow.policy.way_out import ASK_SOMETHING, no_safe_release
from foreknow.publishing.distinct_rows import Placed
from foreknow.wording import people_text
from foreknow.written_releases.members import OwnRelease, alike_but_for_marks, refuse_alike
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import InputError
from foreknow_judge.files.file_names import CERTIFICATE, MEMBERS, owners_folder
from foreknow_judge.files.json_values import plain
from foreknow_judge.files.release_folder import names_apart, paths_of
from foreknow_judge.text import some
from foreknow_judge.verdict import NOTHING_JUDGED

NEW = "the new release"
WAIT = "wait for more, or publish them with the next release"
# Forms in which a release gets no further columns.
_NOT_WIDENED = {"bucketized": "the bucketized form"}
TOO_FEW = f"If too few people are new, {WAIT}."


class UnsafeTogether(NoSafeRelease):
    """Each release holds the policy by itself, and all together do not."""


def _shares_columns(certificate: Certificate, schema: Schema) -> bool:
    """True if a release has a sensitive column and a quasi-identifier of a schema."""
    shares_sensitive = not {*certificate.sensitives}.isdisjoint(schema.sensitives)
    return shares_sensitive and not {*certificate.known}.isdisjoint(schema.quasi_identifiers)


def _refuse_other_columns(name: str, certificate: Certificate, policy: Policy) -> None:
    """Refuse columns by which an earlier release cannot be judged together with a new one.

    `certificate` is that of the earlier release `name`, and `policy` is for the new one. A new
    column may be added if the earlier release is plain: then that release says nothing about it.
    """
    schema, options = policy.needed_schema, policy.options
    # Plain: labelled groups, one value per person, nothing shuffled, nothing that only the owner
    # counts.
    is_labelled = certificate.form == "generalized" and not policy.asks_rows
    is_plain = is_labelled and "single" == certificate.semantics == schema.semantics
    is_plain &= not (options.unlinked or certificate.unlinked)
    for role, columns_before, columns_now in (
        ("sensitive", certificate.sensitives, schema.sensitives),
        ("other", certificate.beside, schema.other),
    ):
        as_before = f"{role} = {json.dumps([*columns_before])}"
        added = []
        for column in columns_now:
            if column not in columns_before:
                added.append(column)
        # Columns that are added must stand behind those of the earlier release.
        if added and is_plain and [*columns_now[: len(columns_before)]] == [*columns_before]:
            continue
        if added:
            names = " and ".join(added)
            reason = f"name them in this order: {role} = {json.dumps([*columns_before, *added])}"
            if not is_plain:
                as_label = f"Add {names} to quasi_identifiers instead, as labels; or write "
                if not is_labelled:
                    as_label = "Without it, write "
                reason = (
                    "only releases in the generalized form are, with one value for each person, "
                    f"nothing shuffled, and no impossible, shared or unit. {as_label}{as_before} "
                    "in [schema], and no [[require]] on it"
                )
            raise SchemaError(
                f"{name} has no {' and no '.join(added)}, so what is new cannot be judged together "
                f"with it by {role} = {json.dumps([*columns_now])}: {reason}"
            )
        if {*columns_before} != {*columns_now}:
            raise SchemaError(f"{name} shows other columns: write {as_before} in [schema], as then")
    # Without such a column, the new groups would not be comparable with the earlier ones.
    if missing := [
        column for column in certificate.known if column not in schema.quasi_identifiers
    ]:
        raise SchemaError(
            f"{name} has groups by {' and '.join(missing)}: add it to quasi_identifiers. If the "
            "table no longer has it, give it that column with one value for everybody, such as "
            "'unknown'"
        )
    # New quasi-identifiers are fine, but for forms that cannot say "not known" of them.
    added = [column for column in schema.quasi_identifiers if column not in certificate.known]
    limited = _NOT_WIDENED.get(certificate.form) or ("such a [schema]" if policy.asks_rows else "")
    if added and limited:
        raise SchemaError(
            f"{name} has no {' and no '.join(added)}, and in {limited} it is not judged together "
            "with a release that has: leave it out of quasi_identifiers"
        )


def _part_about(release: Release, policy: Policy) -> Policy | None:
    """The part of a policy that is about columns which a release shows; None if that is nothing.

    An earlier release may lack columns that the policy is about.
    """
    schema = policy.needed_schema
    lacking = {*schema.sensitives, *schema.other} - {*release.sensitives, *release.beside}
    lacking -= {*release.unlinked}
    if not lacking:
        return policy
    # Requirements on columns that are lacking are dropped; the others lose what is lacking.
    requirements = []
    for requirement in policy.requirements:
        if requirement.sensitive not in lacking:
            requirements.append(requirement.without(lacking))
    if not requirements:
        return None
    shown_schema = replace(
        schema,
        sensitive=[name for name in schema.sensitives if name not in lacking],
        other=[name for name in schema.other if name not in lacking],
    )
    return replace(policy, requirements=requirements, schema=shown_schema)


def _households_published(
    shared: Shared, microdata: Microdata, is_new_person: BoolArray, published: Sequence[Microdata]
) -> BoolArray:
    """A mask of the new people whose household was published, in this or an earlier table.

    A published bag holds the value of that household already.

    `published` are the tables of earlier releases, and `is_new_person` is by row of the new table.
    """
    homes = fetch(microdata.source, [shared.by]).column(shared.by).to_pylist()
    # Homes of people who were published before, whether they are still in the table or not.
    known_homes = set()
    for home, is_new in zip(homes, is_new_person.tolist(), strict=True):
        if not is_new:
            known_homes.add(home)
    for table in published:
        known_homes |= {*fetch(table.source, [shared.by]).column(shared.by).to_pylist()}
    texts = {str(home) for home in known_homes if home is not None}
    refuse_alike({str(home) for home in homes if home is not None}, texts, repr(shared.by))
    # A missing number is no household.
    is_known = np.array([home is not None and str(home) in texts for home in homes], dtype=bool)
    is_beside: BoolArray = is_new_person & is_known
    return is_beside


def _error_of_unnamed(path: Path, before: Sequence[str], advice: str) -> InputError:
    """The error for a release that lies beside the earlier ones and was not named.

    It shows, or may show, people who would be published twice; `before` names the releases that it
    was published after.
    """
    after = f"was published after {' and '.join(before)}" if before else "has the same columns"
    return InputError(f"{str(path)!r} {after}, was not named (after, --after), and {advice}")


def _error_of_unknown_people(path: Path, before: Sequence[str]) -> InputError:
    """The error for a release beside the earlier ones whose people are not known."""
    return _error_of_unnamed(
        path,
        before,
        f"{str(owners_folder(path) / MEMBERS)!r} does not tell who is in it, so these people might "
        "be published twice. Put back the owner's folder that was written with it, and name it, "
        f"too. If that is lost, leave everybody who may be in {path.name!r} out of the table, and "
        f"move {path.name!r} to another place; if nobody has got it, it is enough to move it",
    )


def _n_with_other_values(
    release: Release,
    column: str,
    groups: Mapping[str, int],
    value_of: Mapping[str, str | None],
) -> int:
    """At least how many people of a release have another value in a column now.

    `groups` has the group of each person by name, and `value_of` the value they have now, if any.
    The owner's folder has no values of people, only how often each occurs in a group. So of a group
    and a value, as many people must have changed as have it now beyond how often it occurred.
    """
    counts = release.seen(column, []).counts
    # Groups of this column's counts, by label; `groups` numbers those of the release.
    number_of_group = {label: group for group, label in enumerate(counts.groups or ())}
    people_now: Counter[tuple[int, str]] = Counter()
    for name, group in groups.items():
        value = value_of.get(name)
        if value is not None:
            people_now[group, value] += 1
    people_before: Counter[tuple[int | None, str]] = Counter()
    for bag_number in range(counts.n_groups):
        for value_before, times in counts.bag(bag_number).items():
            people_before[bag_number, str(value_before)] += times
    n_changed = 0
    for (group, value), people in people_now.items():
        # The group's number in the counts; None if nobody of it had a value.
        group_before = number_of_group.get(release.counts.group_label(group))
        n_changed += max(0, people - people_before[group_before, value])
    return n_changed


@dataclass(frozen=True)
class CohortChanges(Plain):
    """How the people of a table changed since earlier releases.

    Attributes
    ----------
    releases : tuple of str
        The names of the earlier releases.
    column : str
        The column by which people were matched.
    new, stay, left : int
        How many people are new; were published before and are still in the table; and were
        published before but are no longer in it.
    changed : int or None
        How many of those who stay have another sensitive value now, at least: the owner's folder
        has no values of people. None where people may have several values.
    changed_columns : tuple of (str, int)
        The same of each sensitive column of which people have one value, where there are several.
    later_rows : int
        Where rows are cases: how many are of those who stay, and so are not published.
    beside_published : int
        How many others are not published, since their household was.
    added : tuple of str
        The sensitive columns that an earlier release lacks.
    alike : tuple of (str, str)
        Names in an earlier release and of new people that differ only by hyphens and other
        marks.
    """

    _json_fields = (
        "releases column new stay changed changed_columns? left alike later_rows? beside_published?"
        " added?"
    )

    releases: tuple[str, ...]
    column: str
    new: int
    stay: int
    left: int
    changed: int | None
    alike: tuple[tuple[str, str], ...] = ()
    changed_columns: tuple[tuple[str, int], ...] = ()
    later_rows: int = 0
    beside_published: int = 0
    added: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Sentences for the owner: who is new, who stays out and why, and who left."""
        people_are = "person is" if self.new == 1 else "people are"
        text = (
            f"{self.new:,} of {self.new + self.stay:,} {people_are} new since "
            f"{' and '.join(self.releases)}, by {self.column}."
        )
        if self.beside_published:
            lives, stay = ("lives", "stays") if self.beside_published == 1 else ("live", "stay")
            text += (
                f" {self.beside_published:,} more {lives} in a household that was published, and "
                f"{stay} out: what a household shares is shown once."
            )
        if self.stay:
            rest_text = "other one is" if self.stay == 1 else f"other {self.stay:,} are"
            text += f" The {rest_text} in earlier releases, and are not published again"
            if self.changed:
                verb = "has" if self.changed == 1 else "have"
                text += f"; at least {self.changed:,} of them {verb} another value now"
            if columns := [f"{name} {people:,}" for name, people in self.changed_columns if people]:
                text += f" ({', '.join(columns)})"
            text += "."
            if self.later_rows:
                text += (
                    f" Their {some(self.later_rows, 'row', 'rows')} stay out: what lasts, such as "
                    "a chronic illness, is in both bags of a person, and would be found by what "
                    "these share."
                )
        else:
            text += " Nobody is in both: if you expected some, look at how they are named."
        gone_text = some(self.left, "person", "people")
        text += f" {gone_text} left." if self.left else ""
        if self.added:
            text += (
                f" Not every earlier release has {' and '.join(self.added)}, so that is judged of "
                "those that have."
            )
        return text


@dataclass(frozen=True, repr=False)
class Earlier:
    """Releases that were published before, and who is in them."""

    names: tuple[str, ...]
    owned: tuple[OwnRelease, ...]
    column: str  # the column that names people
    groups: tuple[dict[str, int], ...]  # for each release, the group of each person by name

    @classmethod
    def open(cls, folders: Any, person: str | None = None) -> Earlier:
        """The earlier releases in these folders, with the owner's folders beside them.

        `person` names people where several columns do, and a release does not say which. Refused if
        they name people by different columns, if one was published after another that is not given,
        or if somebody is in two of them.
        """
        paths = paths_of(folders)
        owned_releases = [
            OwnRelease.open(path, must_be_beside=True, person=person) for path in paths
        ]
        # The earliest first: a release that names others was published after them.
        owned = sorted(owned_releases, key=lambda opened: len(opened.published.certificate.after))
        paths = [owned_release.published.folder for owned_release in owned]
        column = owned[0].column_of_people()
        digests = {digest_of(path / CERTIFICATE) for path in paths}
        # A release lists the certificates of all releases that it was published after.
        for path, owned_release in zip(paths, owned, strict=True):
            if (other_column := owned_release.column_of_people()) != column:
                raise SchemaError(
                    f"{str(paths[0])!r} names people by {column!r}, and {str(path)!r} by "
                    f"{other_column!r}: who is in both cannot be found"
                )
            for named_release in owned_release.published.certificate.after:
                if named_release["certificate"] not in digests:
                    raise InputError(
                        f"{str(path)!r} was published after another release, whose certificate "
                        f"begins {named_release['certificate'][:12]}: name that, too (after, "
                        "--after)"
                    )
        names = names_apart([path.resolve().name for path in paths], NEW)
        # Names that the owner erased in one release are matched by those of the others.
        release_parts, groups = [], []
        for name, owned_release in zip(names, owned, strict=True):
            people = owned_release.people
            release_parts.append(OwnPart(name, owned_release.release, people, owned_release))
            groups.append(dict(zip(map(str, people.names), people.groups.tolist(), strict=True)))
        refuse_twice(
            names, [members.names for members in members_by_known_names(release_parts)], column
        )
        return cls(tuple(names), tuple(owned), column, tuple(groups))

    @property
    def releases(self) -> list[Release]:
        """The earlier releases, the first published first."""
        return [owned_release.release for owned_release in self.owned]

    @property
    def certificates(self) -> list[Certificate]:
        """The certificate of each."""
        return [owned_release.published.certificate for owned_release in self.owned]

    @property
    def folders(self) -> list[Path]:
        """The published folder of each."""
        return [owned_release.published.folder for owned_release in self.owned]

    @property
    def said(self) -> tuple[dict[str, Any], ...]:
        """The entries of a certificate for the earlier releases."""
        entries = []
        for folder, certificate in zip(self.folders, self.certificates, strict=True):
            digest = digest_of(folder / CERTIFICATE)
            entries.append({"certificate": digest, "people": certificate.people})
        return tuple(entries)

    def note(self, required: Sequence[Mapping[str, Any]]) -> str:
        """The owner's note for the certificate of a release with these requirements."""
        n_releases = some(len(self.names), "earlier release", "earlier releases")
        people = sum(map(len, self.groups))
        required_then = chain(*(certificate.policy["require"] for certificate in self.certificates))
        required_now = plain(required)
        # Such as a stricter limit: a link to a new group may break it for the people of then.
        beyond = (
            "; what an earlier one required beyond this was not judged of all together"
            if any(table not in required_now for table in required_then)
            else ""
        )
        return (
            f"published after {n_releases} of {people_text(people)}: nobody is in two of them, "
            f"and all together hold what is required here{beyond}"
        )

    def tables(self, policy: Policy) -> list[Microdata]:
        """The rows that each published, as only its owner has them."""
        return [owned_release.table(policy) for owned_release in self.owned]

    def newcomers(self, microdata: Microdata, policy: Policy) -> tuple[Microdata, CohortChanges]:
        """The people of a table who are in no earlier release, and how the others changed.

        Refused are tables in which it is not known who was published before. Raises `NoSafeRelease`
        if nobody is new.
        """
        schema = microdata.schema
        self._refuse_other_schema(schema, policy)
        names = self._names_of_rows(microdata)
        # Each release may spell names in its own way (erased names are hashes there).
        names_by_release = [owned_release.called(names) for owned_release in self.owned]
        is_new_person = np.ones(len(names), dtype=bool)
        for names_in_release, groups in zip(names_by_release, self.groups, strict=True):
            is_new_person &= [name not in groups for name in names_in_release]
        new_names = {*compress(names, is_new_person)}
        # Two spellings of one name would count as two people, or as a person who is new.
        refuse_two_spellings(sorted(new_names), repr(self.column))
        for groups in self.groups:
            refuse_alike(sorted(new_names), groups, repr(self.column))
        # Counted by name, since a person may have several rows.
        n_staying, n_before = len({*names}) - len(new_names), sum(map(len, self.groups))
        # Where rows are cases, further cases of people who were published stay out, too.
        n_later_rows = len(names) - int(is_new_person.sum()) if schema.unit == "row" else 0
        n_beside = 0
        if isinstance(schema.shared, Shared):
            is_beside = _households_published(
                schema.shared, microdata, is_new_person, self.tables(policy)
            )
            n_beside, is_new_person = int(is_beside.sum()), is_new_person & ~is_beside
            new_names = {*compress(names, is_new_person)}
        self._refuse_unnamed(schema, new_names)
        n_changed = self._people_with_other_values(microdata, names_by_release)
        # Columns that every earlier release shows; the others are said to be new.
        shown_before = {*schema.sensitives}.intersection(
            *(certificate.sensitives for certificate in self.certificates)
        )
        changes = CohortChanges(
            releases=self.names,
            column=self.column,
            new=len(new_names),
            stay=n_staying,
            left=n_before - n_staying,
            changed=max(n_changed.values(), default=None),
            alike=alike_but_for_marks([[*chain(*self.groups)], new_names]),
            changed_columns=tuple(n_changed.items()) if schema.sensitives[1:] else (),
            later_rows=n_later_rows,
            beside_published=n_beside,
            added=tuple(name for name in schema.sensitives if name not in shown_before),
        )
        if not changes.new:
            raise NoSafeRelease(f"Nobody is new in {microdata.name}: nothing is to be published")
        return microdata.only(is_new_person), changes

    def _refuse_other_schema(self, schema: Schema, policy: Policy) -> None:
        """Refuse a schema by which the earlier releases cannot be judged or their people matched.

        Everybody must be known by one column, the same as in the earlier releases.
        """
        for name, certificate in zip(self.names, self.certificates, strict=True):
            _refuse_other_columns(name, certificate, policy)
        if schema.unit == "row" and schema.person is None:
            raise SchemaError(
                'after: with unit = "row" a person may have several cases, and nothing says whose '
                f'they are: say in the schema who is published once, person = "{self.column}"'
            )
        if schema.person is None and len(schema.identifiers) > 1:
            raise SchemaError(
                f"{', '.join(schema.identifiers)} all name people: say in the schema which of them "
                f"is one for each person, such as person = {self.column!r}"
            )
        if self.column not in (schema.person, *schema.identifiers):
            raise SchemaError(
                f"{' and '.join(self.names)} name people by {self.column!r}, which is no "
                "identifier in the schema: add it to identifiers, so that nobody is published twice"
            )

    def _names_of_rows(self, microdata: Microdata) -> list[str]:
        """The name of the person of each row; refused if one is missing."""
        column = fetch(microdata.source, [self.column]).column(self.column)
        if column.null_count:
            raise SchemaError(
                f"{microdata.name}: {some(column.null_count, 'row has', 'rows have')} no "
                f"{self.column!r}, so it is not known whether they were published before"
            )
        return [str(name) for name in column.to_pylist()]

    def _refuse_unnamed(self, schema: Schema, new_names: Collection[str]) -> None:
        """Refuse to go on if a release beside the earlier ones shows new people and was not named.

        These people would be published twice. `new_names` are the names of all new people.
        """
        digests = [entry["certificate"] for entry in self.said]
        name_of = dict(zip(digests, self.names, strict=True))
        parents = {folder.resolve().parent for folder in self.folders}
        # Every folder beside an earlier release is looked at.
        for path in chain(*(sorted(parent.iterdir()) for parent in sorted(parents))):
            try:
                certificate = Certificate.load(path / CERTIFICATE, kinds=registered_kinds())
                digest = digest_of(path / CERTIFICATE)
            except (InputError, OSError):  # what cannot be read is not ours
                continue
            earlier_digests = [entry["certificate"] for entry in certificate.after]
            earlier_names = [name_of[earlier] for earlier in earlier_digests if earlier in name_of]
            # Named ones are fine; others matter if they came after a named one or have its columns.
            if digest in name_of or not (earlier_names or _shares_columns(certificate, schema)):
                continue
            try:
                owned_release = OwnRelease.open(path, person=self.column)
                names = {*map(str, owned_release.people.names)}
                is_same_column = owned_release.column_of_people() == self.column
                n_shown = (
                    sum(name in names for name in owned_release.called([*new_names]))
                    if is_same_column
                    else 0
                )
            except (InputError, OSError) as error:
                raise _error_of_unknown_people(path, earlier_names) from error
            # By another column nobody can tell who is in both.
            if earlier_names and not is_same_column:
                raise _error_of_unknown_people(path, earlier_names)
            if n_shown:
                raise _error_of_unnamed(
                    path,
                    earlier_names,
                    f"shows {some(n_shown, 'person', 'people')} of the new ones, who would be "
                    "published twice. Name it, too; if nobody has got it, or it is about others, "
                    f"move {path.name!r} to another place",
                )

    def _seen_by_columns(
        self,
        joint: Release,
        release: Release,
        names: Sequence[str],
        everybody: Microdata,
        placed: Placed,
    ) -> Sight:
        """All releases as one, as seen by somebody who knows everybody's present columns.

        `joint` is all releases as one; `names` and `placed` are of the new one, whose people are in
        `everybody`. People of earlier releases are looked up there by name; who left has no row.
        """
        # The place of each release's groups in the joint release.
        positions_of_groups = places_in(joint, [*self.releases, release], names)
        column = fetch(everybody.source, [self.column]).column(self.column).to_pylist()
        texts = [str(column[row]) for row in everybody.kept.tolist()]
        release_parts, groups = [], []
        for owned_release, members, position_of_group in zip(
            self.owned, self.groups, positions_of_groups, strict=False
        ):
            row_of = {name: row for row, name in enumerate(owned_release.called(texts))}
            row_of_member = np.array([row_of.get(name, -1) for name in members], dtype=np.int64)
            release_parts.append((everybody, row_of_member))
            groups.append(position_of_group[np.fromiter(members.values(), np.int64, len(members))])
        entries = placed.entries.microdata
        release_parts.append((entries, np.arange(len(placed.groups))))
        groups.append(positions_of_groups[-1][placed.group_of_entries_in(release.counts)])
        people = Register(release_parts, joint.cohort)
        sensitive = joint.sensitive
        return Sight(joint.counts, people, np.concatenate(groups), sensitive, joint.name, joint)

    def _people_with_other_values(
        self, microdata: Microdata, names_by_release: Sequence[Sequence[str]]
    ) -> dict[str, int]:
        """For each sensitive column, how many people have another value now than their group had.

        It is a lower bound, since the values of single people are not kept. Columns of which people
        have several values, or share them in households, are not counted.
        """
        schema, rows = microdata.schema, microdata.kept.tolist()
        if schema.unit == "row":
            return {}
        uncounted = {*schema.several, *schema.shared_values}
        changed = {}
        for name in schema.sensitives:
            if name not in uncounted:
                changed[name] = 0
        for column in changed:
            codes, values = microdata.column(column)
            texts = [None if value is None else str(value) for value in values]
            text_of_row = [texts[code] for code in codes.tolist()]
            for owned_release, groups, names in zip(
                self.owned, self.groups, names_by_release, strict=True
            ):
                if column in owned_release.release.sensitives:
                    value_of = {}
                    for row, text in zip(rows, text_of_row, strict=True):
                        value_of[names[row]] = text
                    changed[column] += _n_with_other_values(
                        owned_release.release, column, groups, value_of
                    )
        return changed

    def _rows_published(self, policy: Policy) -> tuple[list[Microdata], list[IntArray]]:
        """For each earlier release the rows of its table that it shows, and the group of each."""
        tables, groups_of_people = list[Microdata](), list[IntArray]()
        for owned_release, table in zip(self.owned, self.tables(policy), strict=True):
            is_shown = owned_release.groups >= 0  # others may be new in a later release
            tables.append(table if is_shown.all() else table.only(is_shown))
            groups_of_people.append(owned_release.groups[is_shown][tables[-1].kept])
        return tables, groups_of_people

    def _first_failure(
        self, policy: Policy, columns: Sequence[str], sights: Sequence[Sight | None]
    ) -> str:
        """The reason why an earlier release fails the policy by itself; empty if none does.

        `columns` make the groups of the new release; `sights` are the earlier releases with their
        owner's rows, where these are needed.
        """
        for owned_release, name, sight in zip(self.owned, self.names, sights, strict=True):
            release = widened(owned_release.release, columns)
            policy_then = _part_about(release, policy)
            if policy_then is None:
                continue
            audit_by_itself = audit(release, policy_then, learned=False, people=sight)
            if audit_by_itself.failures:
                return (
                    f"{name}, which was published before, does not hold the policy: "
                    f"{'; '.join(audit_by_itself.failed(owned_release.release))}. What is "
                    "published cannot be taken back: publish the new ones by themselves under a "
                    "policy that it holds, or publish no more"
                )
        return ""

    def judged(
        self,
        release: Release,
        policy: Policy,
        name: str,
        everybody: Microdata,
        placed: Placed,
        *,
        learned: bool,
    ) -> tuple[Audit, dict[str, Labels]]:
        """The audit of all releases as one, and the values of each sensitive column in all of them.

        What only the owner can count is counted of the rows that each published.

        Parameters
        ----------
        release : Release
            The new one, to be called `name`.
        everybody : Microdata
            The rows of the table.
        placed : Placed
            Who of them is in which group of the new release.
        learned : bool
            Whether a trial is made of what can be learned of the releases.

        Raises
        ------
        NoSafeRelease
            If an earlier release fails the policy, or all together do.
        """
        # Where the owner has to count, each earlier table is laid beside its release.
        tables, groups_of_people = self._rows_published(policy) if policy.asks_rows else ([], [])
        sights: list[Sight | None] = [None] * len(self.owned)
        for position, (table, groups) in enumerate(zip(tables, groups_of_people, strict=True)):
            sights[position] = _seen_by_owner(self.owned[position].release, table, groups)
        problem = self._first_failure(policy, release.group_columns, sights)
        names = [*self.names, name]
        releases = [*self.releases, release]
        # Then all of them together, as one release.
        joint = united(releases, names)
        if problem:  # a stricter policy: what all releases together hold is said, line by line
            raise (
                NoSafeRelease(problem) if policy.owned else no_safe_release(problem, policy, joint)
            )
        written = {}
        for earlier_name, owned_release in zip(self.names, self.owned, strict=True):
            if owned_release.written:
                written[earlier_name] = owned_release.written
        people = [certificate.people for certificate in self.certificates]
        joint = joint.described(
            releases=tuple(zip(names, [*people, release.counts.n_people], strict=True)),
            written=written,
        )
        sight_of_joint: Sight | None = None
        if tables:
            # The people of all tables, in the groups of the joint release.
            groups_of_people.append(placed.of_people(release.counts))
            positions = places_in(joint, releases, names)
            joint_groups = [
                of_group[groups]
                for of_group, groups in zip(positions, groups_of_people, strict=True)
            ]
            everyone = tables[0].above([*tables[1:], placed.entries.rows])
            sight_of_joint = _seen_by_owner(joint, everyone, np.concatenate(joint_groups))
        elif learned and policy.needed_schema.semantics == "single":
            sight_of_joint = self._seen_by_columns(joint, release, names, everybody, placed)
        joint_name = " and ".join(names)
        joint_audit = audit(joint, policy, name=joint_name, people=sight_of_joint, learned=learned)
        if joint_audit.idle:
            raise NoSafeRelease(f"{' and '.join(names)}: {NOTHING_JUDGED}", ASK_SOMETHING)
        if joint_audit.failures:
            raise UnsafeTogether(
                f"{' and '.join(names)} together do not hold what each holds by itself: "
                f"{'; '.join(joint_audit.failed(joint))}",
                [TOO_FEW],
            )
        return joint_audit, {name: joint.seen(name, []).counts.values for name in joint.sensitives}


def _seen_by_owner(release: Release, table: Microdata, groups: IntArray) -> Sight:
    """A release beside the rows that it was made of."""
    return Sight(release.counts, table, groups, release.sensitive, release.name, release)
