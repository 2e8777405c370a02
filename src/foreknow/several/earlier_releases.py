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
from foreknow.certificates import Certificate
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.engines.columns import fetch
from foreknow.data.engines.households import Shared
from foreknow.data.labels import Labels
from foreknow.data.microdata import Microdata
from foreknow.data.person_names import refuse_two_spellings
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sights import Register, Sight
from foreknow.errors import NoSafeRelease, SchemaError
from foreknow.hints import Plain
from foreknow.policy.kinds import registered_kinds
from foreknow.policy.policy import Policy
from foreknow.policy.way_out import ASK_SOMETHING, no_safe_release
from foreknow.publishing.entries import Placed
from foreknow.releases.members import OwnRelease, alike_but_for_marks, refuse_alike
from foreknow.several.joined_cohorts import places_in, united, widened
from foreknow.several.joint import Part, known_again, refuse_twice
from foreknow.wording import people_text
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import InputError
from foreknow_judge.file_names import CERTIFICATE, MEMBERS, owners_folder
from foreknow_judge.folder import names_apart, paths_of
from foreknow_judge.text import some
from foreknow_judge.verdict import NOTHING_JUDGED

NEW = "the new release"
WAIT = "wait for more, or publish them with the next release"
TOO_FEW = f"If too few people are new, {WAIT}."


def _of_same_columns(certificate: Certificate, schema: Schema) -> bool:
    """True if a release has a sensitive column and a quasi-identifier of a schema."""
    of_same = not {*certificate.sensitives}.isdisjoint(schema.sensitives)
    return of_same and not {*certificate.known}.isdisjoint(schema.quasi_identifiers)


def _refuse_other_columns(name: str, certificate: Certificate, policy: Policy) -> None:
    """Refuse columns by which an earlier release cannot be judged together with a new one.

    A column may be added: of an earlier release it says nothing.
    """
    schema, options = policy.needed_schema, policy.options
    plain = certificate.form == "generalized" and not policy.asks_rows
    plain &= "single" == certificate.semantics == schema.semantics
    plain &= not (options.unlinked or certificate.unlinked)
    for role, before, now in (
        ("sensitive", certificate.sensitives, schema.sensitives),
        ("other", certificate.beside, schema.other),
    ):
        as_before = f"{role} = {json.dumps([*before])}"
        added = [column for column in now if column not in before]
        if added and plain and [*now[: len(before)]] == [*before]:
            continue
        if added:
            names = " and ".join(added)
            why = f"name them in this order: {role} = {json.dumps([*before, *added])}"
            if not plain:
                as_label = f"Add {names} to quasi_identifiers instead, as labels; or write "
                if certificate.form == "bucketized" or policy.asks_rows:
                    as_label = "Without it, write "
                why = (
                    "only releases in the generalized form are, with one value for each person, "
                    f"nothing shuffled, and no impossible, shared or unit. {as_label}{as_before} "
                    "in [schema], and no [[require]] on it"
                )
            raise SchemaError(
                f"{name} has no {' and no '.join(added)}, so what is new cannot be judged together "
                f"with it by {role} = {json.dumps([*now])}: {why}"
            )
        if {*before} != {*now}:
            raise SchemaError(f"{name} shows other columns: write {as_before} in [schema], as then")
    if gone := [column for column in certificate.known if column not in schema.quasi_identifiers]:
        raise SchemaError(
            f"{name} has groups by {' and '.join(gone)}: add it to quasi_identifiers. If the table "
            "no longer has it, give it that column with one value for everybody, such as 'unknown'"
        )
    added = [column for column in schema.quasi_identifiers if column not in certificate.known]
    if added and (certificate.form == "bucketized" or policy.asks_rows):
        limited = "the bucketized form" if certificate.form == "bucketized" else "such a [schema]"
        raise SchemaError(
            f"{name} has no {' and no '.join(added)}, and in {limited} it is not judged together "
            "with a release that has: leave it out of quasi_identifiers"
        )


def _asked_then(policy: Policy, release: Release) -> Policy | None:
    """The part of a policy that is about columns which a release shows; None if that is nothing."""
    schema = policy.needed_schema
    lacking = {*schema.sensitives, *schema.other} - {*release.sensitives, *release.beside}
    lacking -= {*release.unlinked}
    if not lacking:
        return policy
    requirements = [
        requirement.without(lacking)
        for requirement in policy.requirements
        if requirement.sensitive not in lacking
    ]
    then = replace(
        schema,
        sensitive=[name for name in schema.sensitives if name not in lacking],
        other=[name for name in schema.other if name not in lacking],
    )
    return replace(policy, requirements=requirements, schema=then) if requirements else None


def _living_beside(
    shared: Shared, microdata: Microdata, fresh: BoolArray, published: Sequence[Microdata]
) -> BoolArray:
    """The rows of new people whose household was published, as this or an earlier table has it.

    A bag holds the value of that household already.
    """
    homes = fetch(microdata.source, [shared.by]).column(shared.by).to_pylist()
    known_homes = {home for home, is_new in zip(homes, fresh.tolist(), strict=True) if not is_new}
    for table in published:
        known_homes |= {*fetch(table.source, [shared.by]).column(shared.by).to_pylist()}
    texts = {str(home) for home in known_homes if home is not None}
    refuse_alike({str(home) for home in homes if home is not None}, texts, repr(shared.by))
    is_known = np.array([home is not None and str(home) in texts for home in homes], dtype=bool)
    beside: BoolArray = fresh & is_known
    return beside


def _unnamed(path: Path, before: Sequence[str], rest: str) -> InputError:
    """The refusal of a release beside the earlier ones that shows new people, or may."""
    after = f"was published after {' and '.join(before)}" if before else "has the same columns"
    return InputError(f"{str(path)!r} {after}, was not named (after, --after), and {rest}")


def _not_known(path: Path, before: Sequence[str]) -> InputError:
    """The refusal of a release beside the earlier ones whose people are not known."""
    return _unnamed(
        path,
        before,
        f"{str(owners_folder(path) / MEMBERS)!r} does not tell who is in it, so these people might "
        "be published twice. Put back the owner's folder that was written with it, and name it, "
        f"too. If that is lost, leave everybody who may be in {path.name!r} out of the table, and "
        f"move {path.name!r} to another place; if nobody has got it, it is enough to move it",
    )


def _with_other_values(
    release: Release,
    column: str,
    groups: Mapping[str, int],
    value_of: Mapping[str, str | None],
) -> int:
    """How many people at least have a value now that their group of a release does not account for.

    By name `groups` has everybody's group, and `value_of` the value that they have now, if any.
    """
    counts = release.seen(column, []).counts
    place = {label: group for group, label in enumerate(counts.groups or ())}
    now: Counter[tuple[int, str]] = Counter()
    for name, group in groups.items():
        value = value_of.get(name)
        if value is not None:
            now[group, value] += 1
    people_before: Counter[tuple[int | None, str]] = Counter()
    for bag_number in range(counts.n_groups):
        for before, times in counts.bag(bag_number).items():
            people_before[bag_number, str(before)] += times
    changed = 0
    for (group, value), people in now.items():
        group_before = place.get(release.counts.group_label(group))  # None: nobody had any value
        changed += max(0, people - people_before[group_before, value])
    return changed


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
        are = "person is" if self.new == 1 else "people are"
        text = (
            f"{self.new:,} of {self.new + self.stay:,} {are} new since "
            f"{' and '.join(self.releases)}, by {self.column}."
        )
        if self.beside_published:
            live, stay = ("lives", "stays") if self.beside_published == 1 else ("live", "stay")
            text += (
                f" {self.beside_published:,} more {live} in a household that was published, and "
                f"{stay} out: what a household shares is shown once."
            )
        if self.stay:
            rest_text = "other one is" if self.stay == 1 else f"other {self.stay:,} are"
            text += f" The {rest_text} in earlier releases, and not published anew"
            if self.changed:
                have = "has" if self.changed == 1 else "have"
                text += f"; at least {self.changed:,} of them {have} another value now"
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
    def open(cls, folders: Any) -> Earlier:
        """Open the folders of all earlier releases, with the owner's folders beside them."""
        paths = paths_of(folders)
        owned_releases = [OwnRelease.open(path, must_be_beside=True) for path in paths]
        # The earliest first: a release that names others was published after them.
        owned = sorted(owned_releases, key=lambda opened: len(opened.published.certificate.after))
        paths = [owned_release.published.folder for owned_release in owned]
        column = owned[0].column_of_people()
        digests = {digest_of(path / CERTIFICATE) for path in paths}
        for path, owned_release in zip(paths, owned, strict=True):
            if (other_column := owned_release.column_of_people()) != column:
                raise SchemaError(
                    f"{str(paths[0])!r} names people by {column!r}, and {str(path)!r} by "
                    f"{other_column!r}: who is in both cannot be found"
                )
            for before in owned_release.published.certificate.after:
                if before["certificate"] not in digests:
                    raise InputError(
                        f"{str(path)!r} was published after another release, whose certificate "
                        f"begins {before['certificate'][:12]}: name that, too (after, --after)"
                    )
        names = names_apart([path.resolve().name for path in paths], NEW)
        parts, groups = [], []
        for name, owned_release in zip(names, owned, strict=True):
            people = owned_release.people
            parts.append(Part(name, owned_release.release, people, owned_release))
            groups.append(dict(zip(map(str, people.names), people.groups.tolist(), strict=True)))
        refuse_twice(names, [members.names for members in known_again(parts)], column)
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

    @property
    def note(self) -> str:
        """The owner's note for the certificate."""
        n_releases = some(len(self.names), "earlier release", "earlier releases")
        people = sum(map(len, self.groups))
        return (
            f"published after {n_releases} of {people_text(people)}: nobody is in two of them, "
            "and all "
            "together hold what is required"
        )

    def tables(self, policy: Policy) -> list[Microdata]:
        """The rows that each published, as only its owner has them."""
        return [owned_release.table(policy) for owned_release in self.owned]

    def newcomers(self, microdata: Microdata, policy: Policy) -> tuple[Microdata, CohortChanges]:
        """The people of a table who are in no earlier release, and how the others changed."""
        schema = microdata.schema
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
        column = fetch(microdata.source, [self.column]).column(self.column)
        if column.null_count:
            raise SchemaError(
                f"{microdata.name}: {some(column.null_count, 'row has', 'rows have')} no "
                f"{self.column!r}, so it is not known whether they were published before"
            )
        names = [str(name) for name in column.to_pylist()]
        names_by_release = [owned_release.called(names) for owned_release in self.owned]
        fresh = np.ones(len(names), dtype=bool)
        for names_there, groups in zip(names_by_release, self.groups, strict=True):
            fresh &= [name not in groups for name in names_there]
        new = {*compress(names, fresh)}
        refuse_two_spellings(sorted(new), repr(self.column))
        for groups in self.groups:
            refuse_alike(sorted(new), groups, repr(self.column))
        stay, before = len({*names}) - len(new), sum(map(len, self.groups))
        n_rows = len(names) - int(fresh.sum()) if schema.unit == "row" else 0
        n_beside = 0
        if isinstance(schema.shared, Shared):
            beside = _living_beside(schema.shared, microdata, fresh, self.tables(policy))
            n_beside, fresh = int(beside.sum()), fresh & ~beside
            new = {*compress(names, fresh)}
        self._refuse_unnamed(schema, new)
        changed = self._changed(microdata, names_by_release)
        shown_before = {*schema.sensitives}.intersection(
            *(certificate.sensitives for certificate in self.certificates)
        )
        similar_names = alike_but_for_marks([[*chain(*self.groups)], new])
        since = CohortChanges(
            self.names,
            self.column,
            len(new),
            stay,
            before - stay,
            max(changed.values(), default=None),
            similar_names,
            tuple(changed.items()) if schema.sensitives[1:] else (),
            n_rows,
            n_beside,
            tuple(name for name in schema.sensitives if name not in shown_before),
        )
        if not since.new:
            raise NoSafeRelease(f"Nobody is new in {microdata.name}: nothing is to be published")
        return microdata.only(fresh), since

    def _refuse_unnamed(self, schema: Schema, new: Collection[str]) -> None:
        """Refuse an unnamed release beside the earlier ones that shows new people, or may."""
        digests = [entry["certificate"] for entry in self.said]
        name_of = dict(zip(digests, self.names, strict=True))
        parents = {folder.resolve().parent for folder in self.folders}
        for path in chain(*(sorted(parent.iterdir()) for parent in sorted(parents))):
            try:
                certificate = Certificate.load(path / CERTIFICATE, kinds=registered_kinds())
                digest = digest_of(path / CERTIFICATE)
            except (InputError, OSError):  # what cannot be read is not ours
                continue
            earlier_digests = [entry["certificate"] for entry in certificate.after]
            before = [name_of[earlier] for earlier in earlier_digests if earlier in name_of]
            if digest in name_of or not (before or _of_same_columns(certificate, schema)):
                continue
            try:
                owned_release = OwnRelease.open(path)
                names = {*map(str, owned_release.people.names)}
                same = owned_release.column_of_people() == self.column
                n_shown = sum(name in names for name in owned_release.called([*new])) if same else 0
            except (InputError, OSError) as error:
                raise _not_known(path, before) from error
            if before and not same:
                raise _not_known(path, before)
            if n_shown:
                raise _unnamed(
                    path,
                    before,
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
        """All releases, seen by an adversary who knows the present columns of everybody."""
        place = places_in(joint, [*self.releases, release], names)
        column = fetch(everybody.source, [self.column]).column(self.column).to_pylist()
        texts = [str(column[row]) for row in everybody.kept.tolist()]
        parts, groups = [], []
        for owned_release, members, of_group in zip(self.owned, self.groups, place, strict=False):
            row_of = {name: row for row, name in enumerate(owned_release.called(texts))}
            where = np.array([row_of.get(name, -1) for name in members], dtype=np.int64)
            parts.append((everybody, where))
            groups.append(of_group[np.fromiter(members.values(), np.int64, len(members))])
        entries = placed.entries.microdata
        parts.append((entries, np.arange(len(placed.groups))))
        groups.append(place[-1][placed.group_of_entries_in(release.counts)])
        people = Register(parts, joint.cohort)
        sensitive = joint.sensitive
        return Sight(joint.counts, people, np.concatenate(groups), sensitive, joint.name, joint)

    def _changed(
        self, microdata: Microdata, names_by_release: Sequence[Sequence[str]]
    ) -> dict[str, int]:
        """How many people have another value now than their group had, at least, by column."""
        schema, rows = microdata.schema, microdata.kept.tolist()
        if schema.unit == "row":
            return {}
        shared = schema.shared.values if isinstance(schema.shared, Shared) else ()
        uncounted = {*schema.several, *shared}
        changed = {name: 0 for name in schema.sensitives if name not in uncounted}
        for column in changed:
            codes, values = microdata.column(column)
            texts = [None if value is None else str(value) for value in values]
            of_rows = [texts[code] for code in codes.tolist()]
            for owned_release, groups, names in zip(
                self.owned, self.groups, names_by_release, strict=True
            ):
                if column in owned_release.release.sensitives:
                    value_of = {names[row]: text for row, text in zip(rows, of_rows, strict=True)}
                    changed[column] += _with_other_values(
                        owned_release.release, column, groups, value_of
                    )
        return changed

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
        """Audit all releases as one by the policy, and if that is wanted what is learned of them.

        What only the owner can count is counted of the rows that each published.

        Also returns the values of each sensitive column in all releases.

        Raises
        ------
        NoSafeRelease
            If an earlier release fails the policy, or all together do.
        """
        tables, of_people = list[Microdata](), list[IntArray]()
        tables_of_owner = self.tables(policy) if policy.asks_rows else []
        for own, table in zip(self.owned, tables_of_owner, strict=False):
            is_shown = own.groups >= 0  # others may be new in a later release
            tables.append(table if is_shown.all() else table.only(is_shown))
            of_people.append(own.groups[is_shown][tables[-1].kept])
        sights: list[Sight | None] = [None] * len(self.owned)
        for place, (table, groups) in enumerate(zip(tables, of_people, strict=True)):
            sights[place] = _seen_by_owner(self.owned[place].release, table, groups)
        problem = ""
        for owned_release, release_name, sight in zip(self.owned, self.names, sights, strict=True):
            alone = widened(owned_release.release, release.group_columns)
            if (asked := _asked_then(policy, alone)) is None:
                continue
            joint_audit = audit(alone, asked, learned=False, people=sight)
            if joint_audit.failures and not problem:
                problem = (
                    f"{release_name}, which was published before, does not hold the policy: "
                    f"{_failed(joint_audit, policy, owned_release.release)}. What is published "
                    "cannot be taken back: publish the new ones by themselves under a policy that "
                    "it holds, or publish no more"
                )
        names = [*self.names, name]
        releases = [*self.releases, release]
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
        sight = None
        if tables:
            of_people.append(placed.of_people(release.counts))
            places = places_in(joint, releases, names)
            of_all = [of_group[groups] for of_group, groups in zip(places, of_people, strict=True)]
            everyone = tables[0].above([*tables[1:], placed.entries.rows])
            sight = _seen_by_owner(joint, everyone, np.concatenate(of_all))
        elif learned and policy.needed_schema.semantics == "single":
            sight = self._seen_by_columns(joint, release, names, everybody, placed)
        called_so = " and ".join(names)
        joint_audit = audit(joint, policy, name=called_so, people=sight, learned=learned)
        if joint_audit.idle:
            raise NoSafeRelease(f"{' and '.join(names)}: {NOTHING_JUDGED}", ASK_SOMETHING)
        if joint_audit.failures:
            raise NoSafeRelease(
                f"{' and '.join(names)} together do not hold what each holds by itself: "
                f"{_failed(joint_audit, policy, joint)}",
                [TOO_FEW],
            )
        return joint_audit, {name: joint.seen(name, []).counts.values for name in joint.sensitives}


def _seen_by_owner(release: Release, table: Microdata, groups: IntArray) -> Sight:
    """A release beside the rows that it was made of."""
    return Sight(release.counts, table, groups, release.sensitive, release.name, release)


def _failed(joint_audit: Audit, policy: Policy, release: Release) -> str:
    """The requirements that fail, in words."""
    if policy.owned:
        return "; ".join(f"{own.requirement.name}: {own.words}" for own in joint_audit.failures)
    return "; ".join(policy.failures(release))
