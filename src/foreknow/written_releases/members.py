"""Members: the owner's file of who is in which group of a release, and what it is read for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from foreknow.certificates import Certificate
from foreknow.criteria.levels import levels_of
from foreknow.data.arrays import IntArray
from foreknow.data.columns.level_limits import Level
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.counts import GroupCounts
from foreknow.data.digests import digest_of_counts, digest_of_rows
from foreknow.data.labels.labels import Labels
from foreknow.data.members import Members
from foreknow.data.microdata import Microdata
from foreknow.data.people.persons import People
from foreknow.data.people.values_of_people import Holdings
from foreknow.data.person_names import bare_name, same_name
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sights import held_values
from foreknow.data.tables.columns import codes_of, fetch, to_python
from foreknow.data.tables.group_counts import group_codes
from foreknow.data.tables.profile.column_digests import column_digests
from foreknow.data.tables.table import unshown
from foreknow.data.tables.writers import read_noted, write_changed
from foreknow.errors import SchemaError, unknown_column
from foreknow.policy.policy import Policy
from foreknow.settings import read
from foreknow.written_releases.written_release import Published, open_published
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.files.documents import from_json
from foreknow_judge.files.file_names import MEMBERS, NEWCOMERS, OWNER, owners_folder
from foreknow_judge.policy.grammar import SchemaTable

# The hashes that replace erased names of people begin so.
FORGOTTEN = "forgotten:"
# The names of the digests of a source: of its rows, and of how often each different row occurs.
KEYED = "BLAKE2b-256 keyed with the owner's key"
OF_COUNTS = "BLAKE2b-256 of counted rows keyed with the owner's key"


def is_source(microdata: Microdata, certificate: Certificate, key: Path) -> bool | None:
    """True if a release was made from this table; None if that cannot be told without the key.

    The certificate has a keyed digest of the table; `key` is the owner's file that has its key.
    """
    if microdata.n_rows != certificate.source["rows"]:
        return False
    try:
        digest_key = bytes.fromhex(from_json(key.read_text("utf-8"))["digest_key"])
    except (OSError, ValueError, KeyError, TypeError):  # it is not there, or somebody else's
        return None
    is_of_counts = certificate.source.get("digest_kind") == OF_COUNTS
    digest_of = digest_of_counts if is_of_counts else digest_of_rows
    return bool(digest_of(microdata, digest_key) == certificate.source["digest"])


def shown_of(folder: Path, microdata: Microdata) -> Microdata:
    """The rows of a table that a written release shows; all rows if there is no owner's folder.

    Raises
    ------
    DataError
        If that folder says that the release was made of another table.
    """
    if not (owners_folder(folder) / MEMBERS).exists():
        return microdata
    owned_release = OwnRelease.open(folder)
    published_rows = owned_release.shown(microdata)
    owned_release.refuse_other(published_rows)
    return published_rows


def rows_of_people(microdata: Microdata, column: str, names: Iterable[str]) -> Microdata:
    """The rows of some people, by how their names print; the same table if it has none of them."""
    if column not in microdata.source.columns:
        return microdata
    names_of_rows = fetch(microdata.source, [column]).column(column).to_pylist()
    people = {*names}
    is_chosen = np.array([str(name) in people for name in names_of_rows], dtype=bool)
    return microdata.only(is_chosen) if is_chosen.any() else microdata


def named_release(
    folder: str | Path,
    *,
    members: str | Path | None = None,
    person: str | None = None,
    microdata: Microdata | None = None,
) -> Release:
    """Open a written release with the names of its people; for its owner only.

    Parameters
    ----------
    folder : path
        The folder that `publish` wrote.
    members : path, optional
        The ``members.parquet`` that `publish` wrote for the owner; the default is the one in
        ``FOLDER.owner``.
    person : str, optional
        The column of `members` that names people. The default is the schema's person, or the only
        identifier; without one, ``row``, the position in the source.
    microdata : Microdata, optional
        The table that was published, which says who has which value; `name_people` needs it.

    Returns
    -------
    Release

    Raises
    ------
    InputError
        If the files do not belong together, or it is not clear which column names people.
    """
    return OwnRelease.open(folder, members).named(person, microdata)


def forget(
    folder: str | Path, people: str | Sequence[str], *, members: str | Path | None = None
) -> None:
    """Erase people's names from the owner's file of a release, but still recognize these people.

    Each name is replaced by a hash, keyed with the key of the owner's folder. Anybody who has that
    key and a name can tell whether the hash belongs to it, so that a person who comes back is not
    published twice. The release itself names nobody and stays as it is. ``newcomers``, a copy of
    the table's rows, is removed, so no later release of cases or households can be judged together
    with this one.

    Parameters
    ----------
    folder : path
        The folder that `publish` wrote.
    people : str or sequence of str
        The names as they print, in the column that names people.
    members : path, optional
        As in `named_release`.

    Raises
    ------
    DataError
        If nobody has such a name; nothing is changed then.
    """
    OwnRelease.open(folder, members).forget([people] if isinstance(people, str) else [*people])


def _hashed_name(key: bytes, name: str) -> str:
    """The keyed hash that replaces an erased name, the same for every spelling."""
    text = bare_name(name).encode("utf-8", "surrogatepass")
    hashed = hashlib.blake2b(text, key=key[:64], digest_size=16).hexdigest()
    return f"{FORGOTTEN}{hashed}-{_mark_of_key(key)}"


def _mark_of_key(key: bytes) -> str:
    """The end of all hashes that were made with a key, by which another key is noticed."""
    return hashlib.blake2b(key=key[:64], digest_size=4).hexdigest()


def printed(names: Iterable[Any]) -> list[str]:
    """Names of people as they print; `InputError` if those of two people print alike."""
    texts = [str(name) for name in names]
    if len({*texts}) < len(texts):
        raise InputError("two people have the same name as it prints; a person has one name")
    return texts


def refuse_alike(names: Iterable[str], known_names: Iterable[str], column: str) -> None:
    """Raise `SchemaError` for a name that is that of a known person in another spelling.

    Such a person would be taken for somebody new, and published or counted twice. `column` is the
    column of names, for the message.
    """
    as_written = {*known_names}
    name_of_bare = {bare_name(name): name for name in as_written}
    for name in names:
        known_name = name_of_bare.get(bare_name(name))
        if name not in as_written and known_name is not None:
            raise SchemaError(
                f"{name!r} and {known_name!r} look like one person in {column}: write identifiers "
                "in one way, or people are published, or counted, twice"
            )


def alike_but_for_marks(names_by_release: Sequence[Iterable[str]]) -> tuple[tuple[str, str], ...]:
    """Pairs of names, of two releases, that are equal without hyphens and other marks.

    >>> alike_but_for_marks([["A-7", "B-1"], ["A7", "B-1"]])
    (('A-7', 'A7'),)
    """
    earlier_names: dict[str, str] = {}  # by their letters and digits
    pairs = []
    for names in names_by_release:
        by_letters = {_letters(name): name for name in names}
        for letters, name in by_letters.items():
            earlier_name = earlier_names.get(letters, name) if letters else name
            if earlier_name != name:
                pairs.append((earlier_name, name))
        earlier_names |= by_letters
    return tuple(pairs)


def _letters(name: str) -> str:
    """The letters and digits of a bare name."""
    bare = bare_name(name)
    return bare if bare.isalnum() else "".join(filter(str.isalnum, bare))


@dataclass(frozen=True, repr=False)
class OwnRelease:
    """A written release beside the owner's file of its members."""

    published: Published
    path: Path  # the owner's file
    rows: Any  # its rows, as an Arrow table: the number, the group and the name of each row
    person: str | None = None  # the column that names people, if the release does not say it

    @classmethod
    def open(
        cls,
        folder: str | Path,
        members: str | Path | None = None,
        schema: Schema | None = None,
        *,
        must_be_beside: bool = False,
        person: str | None = None,
    ) -> OwnRelease:
        """Open a release and the owner's file of its members; refuse files of two releases.

        `person` names people where several columns do, and the release does not say which. None
        for `members` is the file in the owner's folder beside the release. If the two must lie
        beside each other (`must_be_beside`), messages do not offer to name another file.
        """
        path = owners_folder(folder) / MEMBERS if members is None else Path(members)
        if path.is_dir() and (path / MEMBERS).exists():  # a cluster writes parts
            path = path / MEMBERS
        published = open_published(folder, schema)
        if not path.exists():
            ways = "" if must_be_beside else ", or name the file by --members FILE (members=)"
            raise InputError(
                f"{str(folder)!r} names nobody, and there is no file {str(path)!r}, which publish "
                f"wrote for the owner; put the owner's folder back beside it{ways}"
            )
        # The file has a note with the digests of the release's files.
        rows, note = read_noted(path)
        try:
            files = None if note is None else from_json(note)
        except ValueError:
            files = None
        if files != published.certificate.files:
            raise DataError(
                f"{str(path)!r} says who is in which group of another release than {str(folder)!r}"
                f"; take the {MEMBERS} that was written with it"
            )
        return cls(published, path, rows, person)

    @cached_property
    def release(self) -> Release:
        """The release itself."""
        return self.published.release

    @cached_property
    def groups(self) -> IntArray:
        """The group of each row of the source, by its position in the counts; -1 if left out."""
        certificate = self.published.certificate
        return groups_of(self.rows, certificate, self.release.counts)

    def shown(self, microdata: Microdata) -> Microdata:
        """The rows of a table that are published here, without those of earlier releases."""
        # Without earlier releases all rows are published, and so are those of a table of newcomers.
        if not self.published.certificate.after or microdata.n_rows == len(self.groups):
            return microdata
        column = self.column_of_people()
        names = {str(name) for name in self.rows.column(column).to_pylist()}
        # The file of members has a hash in place of the name of somebody who was forgotten.
        if self.some_forgotten and column in microdata.source.columns:
            names_of_rows = fetch(microdata.source, [column]).column(column).to_pylist()
            texts = [str(name) for name in names_of_rows]
            names_there = zip(texts, self.called(texts), strict=True)
            names = {text for text, name_there in names_there if name_there in names}
        return rows_of_people(microdata, column, names)

    def refuse_other(self, microdata: Microdata, *, by_certificate: bool = False) -> None:
        """Raise `DataError` for another table than the one that was published.

        `by_certificate`: the certificate, and no policy, said how to read it; messages say so.
        """
        # None: there is no key to tell it by.
        is_certified = is_source(microdata, self.published.certificate, self.path.parent / OWNER)
        if microdata.n_rows != len(self.groups) or is_certified is False:
            is_later = bool(self.published.certificate.after)
            its_rows = f"; take {NEWCOMERS[0]} of its owner's folder" if is_later else ""
            source = "certificate" if by_certificate else "policy"
            way = "; add the policy, if it says how the table is read, by --policy FILE (policy=)"
            raise DataError(
                f"{microdata.name}, read as the {source} says, is not the table that "
                f"{self.release.name} was made of{its_rows}{way if by_certificate else ''}"
            )

    def named(self, person: str | None = None, microdata: Microdata | None = None) -> Release:
        """The release with the names of its people; see `named_release`."""
        is_published = self.groups >= 0  # -1: the row was left out
        release, counts = self.release, self.release.counts
        column, name = self._naming_column(person), str(self.path)
        people = People.named(name, column, self.rows.column(column).filter(is_published))
        # With one value per person there is one row for each, so no name may repeat.
        if counts.semantics == "single":
            people.refuse_repeats(
                f"name people by another column, such as --person {self.rows.column_names[0]}"
            )
        groups = self.groups[is_published][people.first]
        if not np.array_equal(np.bincount(groups, minlength=counts.n_groups), counts.sizes):
            raise DataError(
                f"{name}: by {column!r}, groups have not as many people as in the release; name "
                "people by another column (--person)"
            )
        members = Members(Labels(to_python(column, people.names)), groups)
        holdings = None if microdata is None else self._holdings_of(microdata, people, groups)
        return release.naming(members, holdings)

    @property
    def of_rows(self) -> bool:
        """True if the owner's file names nobody, and only numbers the rows of the table."""
        # The first column has the numbers; the others are of groups, or name people.
        _, *others = self.rows.column_names
        return {*others} <= {*self.published.certificate.groups}

    def column_of_people(self) -> str:
        """The column that names people; refused where the table had no identifiers."""
        if self.of_rows:
            raise SchemaError(
                f"{str(self.published.folder)!r} was made of a table without identifiers, so it is "
                "not known who is in it; name the column of persons in the schema (identifiers or "
                "person) and publish anew"
            )
        return self._naming_column(None)

    @cached_property
    def people(self) -> Members:
        """Everybody who is in the release, by their name as it prints; no two have one name.

        Of several cases of a person, the group is that of the first.
        """
        if self.published.certificate.in_cases:
            return self._of_cases()
        members = self.named(self.column_of_people()).members
        return replace(members, names=Labels(printed(members.names)))

    def _of_cases(self) -> Members:
        """The persons of a release of cases, and the group of each."""
        column, is_published = self.column_of_people(), self.groups >= 0
        codes, distinct = codes_of(self.rows.column(column).filter(is_published))
        counts = self.release.counts
        # Each case needs a name, and each group as many cases as the release shows.
        sizes = np.bincount(self.groups[is_published], minlength=counts.n_groups)
        if distinct.null_count or not np.array_equal(sizes, counts.sizes):
            raise DataError(
                f"{str(self.path)!r}: whose cases the rows are is not said of all of them in "
                f"{column!r}, or groups have not as many as in the release"
            )
        first_cases = np.unique(codes, return_index=True)[1]
        groups = self.groups[is_published][first_cases]
        return Members(Labels(printed(distinct.to_pylist())), groups)

    def table(self, policy: Policy) -> Microdata:
        """The rows that were published, from the owner's folder; only the owner has them.

        A policy may ask for counts that the release does not show, such as cases of each person.

        Raises
        ------
        InputError
            If they do not lie in the owner's folder, or are others; or some were forgotten.
        """
        if self.some_forgotten:
            raise InputError(
                f"people of {str(self.path)!r} were forgotten, and the rows that were published "
                "with them, so the people of its cases or households, and those who cannot have a "
                "value (impossible), cannot be counted over several releases any more: leave "
                "everybody of earlier releases out of the table, and publish the others without "
                "after (--after)"
            )
        paths = [self.path.with_name(name) for name in NEWCOMERS]
        table_path = next((path for path in paths if path.is_file()), None)
        if table_path is None:
            raise InputError(
                f"{str(paths[0])!r} is not there, and without the rows that were published the "
                "people of these cases or households cannot be counted over several releases. Put "
                "the table that was published there under this name; or leave person, unit and "
                "shared out of the schema, and require what files show"
            )
        microdata = policy.as_published(policy.microdata(table_path))
        # It must be the file that was written: the same rows and people, and unchanged columns.
        self.refuse_other(microdata)
        column = self.column_of_people()
        names = fetch(microdata.source, [column]).column(column).to_pylist()
        if [*map(str, names)] != [*map(str, self.rows.column(column).to_pylist())]:
            raise DataError(
                f"{str(table_path)!r} names other people in {column!r} than {str(self.path)!r}; "
                "put back the one that was written"
            )
        self._refuse_edited(microdata)
        return microdata

    def _refuse_edited(self, microdata: Microdata) -> None:
        """Refuse rows whose values in a column that is not published are not as they were recorded.

        The owner's file has a digest of each such column.
        """
        key = self._owner_key()  # an error names the file, if it is missing
        recorded = self._record.get("columns", {})
        table = unshown(microdata.source)
        rows = table.arrow(sorted({*recorded} & {*table.columns}))
        for name, digest in column_digests(rows, key).items():
            if digest != recorded[name]:
                raise DataError(
                    f"{microdata.name} has other values in {name!r} than the rows that were "
                    "published: put back the file that was written"
                )

    @cached_property
    def some_forgotten(self) -> bool:
        """True if the names of some people were erased."""
        return any(name.startswith(FORGOTTEN) for name in map(str, self.people.names))

    def called(self, names: Sequence[str]) -> list[str]:
        """The names as the owner's file has them: a hash in place of those that were erased."""
        if not self.some_forgotten:
            return [*names]
        known_names, key = self.people.names.codes, self._owner_key()
        hashed = [_hashed_name(key, name) for name in names]
        return [
            hashed_name if hashed_name in known_names else name
            for name, hashed_name in zip(names, hashed, strict=True)
        ]

    def forget(self, people: Sequence[str]) -> None:
        """Put a keyed hash in place of the names of people, in the owner's file; see `forget`."""
        column, key = self.column_of_people(), self._owner_key()
        if self.path.is_dir():
            raise InputError(
                f"{str(self.path)!r} was written by a cluster, in parts that cannot be changed here"
            )
        names = self.rows.column(column).to_pylist()
        texts = [None if name is None else str(name) for name in names]
        for name in people:
            if name.startswith(FORGOTTEN):
                raise InputError(f"{name!r} is somebody who was forgotten already")
            if name not in texts:
                hint = same_name(name, [text for text in texts if text is not None])
                raise DataError(f"{str(self.path)!r} has no {column} {name!r}{hint}")
        rows = [row for row, text in enumerate(texts) if text in {*people}]
        new_names = {row: _hashed_name(key, str(texts[row])) for row in rows}
        # All columns of these rows are emptied but the groups and the first, the number of the row.
        _, *columns = self.rows.column_names
        nulls: dict[int, str | None] = dict.fromkeys(rows)
        changed = {}
        for name in columns:
            if name not in self.published.certificate.groups:
                changed[name] = nulls
        for file_name in NEWCOMERS:  # a copy of rows of the table
            self.path.with_name(file_name).unlink(missing_ok=True)
        write_changed(self.rows, self.path, {**changed, column: new_names})

    @cached_property
    def written(self) -> str:
        """The day on which the release was written, by the owner's record; "" if it is unknown."""
        try:
            return date.fromisoformat(self._record["written"]).isoformat()
        except (ValueError, KeyError, TypeError):
            return ""

    @cached_property
    def _record(self) -> dict[str, Any]:
        """The owner's record, which was written with the release; empty where it cannot be read."""
        return _record_at(self.path.parent / OWNER)

    def _owner_key(self) -> bytes:
        """The key in the owner's folder by which people are forgotten and rows compared.

        Raises `InputError` if it is missing, or is not the one by which people were forgotten.
        """
        owner_file = self.path.parent / OWNER
        try:
            key = bytes.fromhex(self._record["digest_key"])
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"there is no {str(owner_file)!r} with the key by which people are forgotten, "
                "and rows are compared; put back the one that was written"
            ) from None
        mark = _mark_of_key(key)  # each hash of a name ends with it, so that another key is noticed
        if any(
            name.startswith(FORGOTTEN) and not name.endswith(mark)
            for name in map(str, self.rows.column(self.column_of_people()).to_pylist())
        ):
            raise InputError(
                f"{str(owner_file)!r} has another key than that by which people of "
                f"{str(self.path)!r} were forgotten, so they would not be known again; put back "
                f"the {OWNER} that was written with it"
            )
        return key

    def _naming_column(self, column: str | None) -> str:
        """The column that names people: `column`, or else the schema's person or the only one.

        If there is none, it is the number of the row. Several are refused.
        """
        certificate = self.published.certificate
        names: list[str] = self.rows.column_names
        # The first column numbers the rows of the table; others name people.
        row, *other_names = (name for name in names if name not in certificate.groups)
        if column is not None:
            if column not in (row, *other_names):
                raise unknown_column(column, (row, *other_names), str(self.path))
            return column
        # Of cases, the certificate does not say whose they are, and the owner's record does.
        declared = certificate.policy["schema"].get("person") or self._record.get("person")
        for named_column in (declared, self.person):
            if named_column in other_names:
                return str(named_column)
        if len(other_names) > 1:
            raise SchemaError(
                f"{str(self.path)!r} has several columns that may name people: "
                f"{', '.join(other_names)}; say which, by --person COLUMN (person=); to publish "
                f"after it, by person = {other_names[0]!r} in the schema; or for good, by "
                f'"person": "{other_names[0]}" in {str(self.path.parent / OWNER)!r}'
            )
        return other_names[0] if other_names else row

    def _holdings_of(self, microdata: Microdata, people: People, groups: IntArray) -> Holdings:
        """Which person has which value, by the table that was published.

        `groups` is the group of each person.
        """
        # The rows of members must be numbered as those of the table, from 1.
        if not np.array_equal(self.rows.column(0), np.arange(1, len(self.groups) + 1)):
            raise DataError(
                f"{str(self.path)!r} was written by a cluster, whose rows have no order, so it is "
                'not known who has which value; publish with engine = "memory" for that'
            )
        microdata = self.shown(microdata)
        self.refuse_other(microdata)
        counts, holdings = self.release.counts, microdata.holdings
        person_of_row = np.full(len(self.groups), -1, dtype=np.int64)  # -1: left out
        person_of_row[self.groups >= 0] = people.of_row
        # The person and the group of each value that somebody has; -1 for people who were left out.
        person_of_value = person_of_row[microdata.kept[holdings.people]]
        group_of_value = np.where(person_of_value < 0, -1, groups[person_of_value])
        values = held_values(counts, group_of_value, holdings.values, microdata.values)
        if values is not None:
            return Holdings(person_of_value, values)
        raise DataError(
            f"{microdata.name} does not have the values that {self.release.name} has in "
            "its groups; give the table that it was made of"
        )


def groups_of(rows: Any, certificate: Certificate, counts: GroupCounts) -> IntArray:
    """The group of each row of the source, by its position in the counts; -1 if left out."""
    is_by_values = certificate.form == "generalized"  # else groups have ids
    label_of_row, labels = group_codes(rows, list(certificate.groups), as_tuples=is_by_values)
    position_of = {_as_text(label): i for i, label in enumerate(counts.groups or ())}
    group_of_label = [position_of.get(_as_text(label), -1) for label in labels]
    group_of_row: IntArray = np.array(group_of_label, dtype=np.int64)[label_of_row]
    return group_of_row


def table_schema(
    policy: Policy | None,
    certificate: Certificate,
    folder: Path | None = None,
    reading: Reading | None = None,
) -> Schema:
    """The schema of the table that a release was made of: the policy's, or the certificate's.

    Without a policy, values are read as the owner's record beside the `folder` says, and as
    `reading` says. Raises `SchemaError` without a policy if a hierarchy was in a file, which no
    certificate has.
    """
    if policy is not None:
        return policy.needed_schema
    schema = certificate.policy["schema"]
    for column, hierarchy in schema.get("hierarchies", {}).items():
        if "file" in hierarchy:
            raise SchemaError(
                f"the hierarchy of {column!r} is in a file, and not in the certificate; add the "
                "policy that says how the table is read, by --policy FILE (policy=)"
            )
    schema_read = Schema(**dict(read(SchemaTable, dict(schema), "the certificate")))
    levels: dict[str, Level] = {}  # how coarse labels must be at least, by all requirements
    for required in certificate.policy["require"]:
        for column, level in levels_of(required).items():
            levels[column] = level.with_(levels.get(column, level))
    rounding = certificate.policy.get("publish", {}).get("round", {})
    owner_reading = Reading()
    if folder is not None:
        settings = _record_at(owners_folder(folder) / OWNER).get("reading", {})
        with suppress(SchemaError, TypeError, ValueError, AttributeError):
            owner_reading = Reading(**settings)
    reading = owner_reading if reading is None else reading.over(owner_reading)
    return replace(schema_read, levels=levels, rounding=rounding, reading=reading)


def _record_at(path: Path) -> dict[str, Any]:
    """The owner's record of a release; empty where it cannot be read."""
    try:
        record = from_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _as_text(label: Any) -> Any:
    """A group's label, or each part of a tuple, as text; None stays None."""
    if isinstance(label, tuple):
        return tuple(map(_as_text, label))
    return None if label is None else str(label)
