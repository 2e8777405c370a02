"""Open a release for a command, as a policy, an option or a certificate describe it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from foreknow.cli.options import (
    Group,
    Knowing,
    Person,
    QuasiIdentifiers,
    SemanticsOption,
    Sensitive,
    print_plain,
)
from foreknow.errors import InputError, SchemaError, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from foreknow.data.counts import GroupCounts
    from foreknow.data.engines.columns import Missing
    from foreknow.data.labels import Label
    from foreknow.data.microdata import Microdata
    from foreknow.data.reading import Reading
    from foreknow.data.release import Release
    from foreknow.data.schema import Schema
    from foreknow.policy.policy import Policy


_ROW_NUMBERS = re.compile(r"Unnamed: \d+|__index_level_\d+__|column0+")


@dataclass(frozen=True)
class Columns:
    """What the options of a command say of the columns of a release."""

    group: Group = None
    quasi_identifiers: QuasiIdentifiers = None
    sensitive: Sensitive = None
    knowing: Knowing = None
    person: Person = None
    semantics: SemanticsOption = None

    def seen(self, release: Release) -> Release:
        """The release as an adversary sees it who asks for `sensitive` and knows `knowing`."""
        if self.sensitive is None and len(release.sensitives) > 1:
            raise SchemaError(_which_column(release.sensitives))
        known = None if self.knowing is None else listed(self.knowing)
        return release.seen(self.sensitive, known)

    def of_one(self, schema: Schema) -> Schema:
        """A schema with the one of its sensitive columns that is asked about."""
        known = schema.sensitives
        if self.sensitive is None and len(known) > 1:
            raise SchemaError(_which_column(known))
        if self.sensitive not in (None, *known):
            hint = did_you_mean(str(self.sensitive), known)
            raise SchemaError(f"{self.sensitive!r} is no sensitive column of the policy{hint}")
        return replace(schema, sensitive=self.sensitive or schema.sensitive, sensitives=())

    def refuse_beside_policy(self) -> None:
        """Raise `SchemaError` for an option that says what a policy says already."""
        for name in ("quasi_identifiers", "semantics"):
            if getattr(self, name):
                option = f"--{name.replace('_', '-')}"
                raise SchemaError(f"{option} contradicts --policy, which says it; give one of them")

    def refuse_beside_certificate(self, path: Path) -> None:
        """Raise `SchemaError` for an option that says what a certificate says already."""
        for name, column in vars(self).items():
            if column and name not in ("sensitive", "knowing"):
                raise SchemaError(
                    f"the columns of {str(path)!r} are in its certificate; leave out "
                    f"--{name.replace('_', '-')}"
                )

    def open(self, path: Path, reading: Reading, *, named: bool = False) -> Release:
        """Open a table by its columns; with `named`, one of which names people."""
        from foreknow.data.engines import open_table
        from foreknow.data.engines.table import require
        from foreknow.data.release import Release
        from foreknow.data.schema import Schema, check_semantics

        missing = self.sensitive is None or (named and self.person is None)
        if missing or (self.group is None) == (self.quasi_identifiers is None):
            person = "--person COLUMN, " if named else ""
            raise SchemaError(
                f"say what the columns are: --policy FILE; or --sensitive COLUMN, {person}and "
                "either --group COLUMN or --quasi-identifiers COLUMN,COLUMN"
            )
        semantics = check_semantics(self.semantics or "single")
        names = listed(self.quasi_identifiers or "") or [""] if self.group is None else []
        roles: dict[str, Any] = {"sensitive": self.sensitive, "person": self.person}
        table = open_table(path, reading)
        require(table, [*names, *(column for column in roles.values() if column is not None)])
        roles |= {"quasi_identifiers": names, "group": self.group, "semantics": semantics}
        return Release.from_schema(table, Schema(**roles))


def _which_column(known: Sequence[str]) -> str:
    return f"say which column it is about: --sensitive {' or '.join(map(shlex.quote, known))}"


ANY = Columns()


def load_policy(path: Path, reading: Reading) -> Policy:
    """A policy, which reads files as the options say."""
    from foreknow.policy.policy import Policy

    rules = Policy.load(path)
    if rules.schema is None:
        return rules
    known = cast("Reading", rules.schema.reading)
    return replace(rules, schema=replace(rules.schema, reading=reading.over(known)))


def listed(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def refuse_published(table: Path | None) -> None:
    """Raise `SchemaError` where a raw table is asked for and a published folder given."""
    if table is not None and is_published(table):
        raise SchemaError(f"{str(table)!r} is published already; give the raw table")


def require_published(folder: Path) -> None:
    """Raise `InputError` for what `foreknow publish` did not write."""
    if not is_published(folder):
        raise InputError(
            f"{str(folder)!r} is not a folder that foreknow publish wrote: it has no certificate"
        )


def open_by(path: Path, policy: Path | None, columns: Columns, reading: Reading) -> Release:
    """Open a release as a policy, the options, or the certificate in its folder describe it."""
    return columns.seen(open_whole(path, policy, columns, reading))


def open_whole(path: Path, policy: Path | None, columns: Columns, reading: Reading) -> Release:
    """The same with all its sensitive columns, as if nobody knew the columns beside."""
    if policy is None and not is_published(path):
        return columns.open(path, reading)
    if policy is None:
        from foreknow.publishing.verification import open_published

        columns.refuse_beside_certificate(path)
        return open_published(path).release
    columns.refuse_beside_policy()
    rules = load_policy(policy, reading)
    return open_release(path, rules, columns.group, columns.person)


def open_own(
    path: Path,
    policy: Path | None,
    columns: Columns,
    members: Path | None,
    reading: Reading,
    table: Path | None = None,
) -> Release:
    """Open what its owner published with the names of its people; with TABLE, who has what."""
    from foreknow.data.microdata import Microdata
    from foreknow.publishing.members import OwnRelease

    replace(columns, person=None).refuse_beside_certificate(path)
    schema = None if policy is None else load_policy(policy, reading).needed_schema
    own = OwnRelease.open(path, members, schema)
    if table is None:
        return own.named(columns.person)
    if schema is None:
        raise SchemaError("--table is read as a policy says; add --policy FILE")
    return own.named(columns.person, Microdata(table, schema))


def open_release(
    path: Path, rules: Policy, group: str | None, person: str | None = None
) -> Release:
    """Open a release as a policy, the options or its certificate describe it."""
    from foreknow.data.release import Release
    from foreknow.publishing.verification import open_published

    if is_published(path):
        if person is not None:
            raise SchemaError(f"{str(path)!r} names nobody; leave out --person")
        return open_published(path, rules.schema).release

    schema = rules.needed_schema
    if person is not None:
        schema = replace(schema, person=person)
    return Release.from_schema(path, schema, group, rules.options.unlinked)


def open_tally(
    path: Path, rules: Policy, columns: Columns, count: str | None, reading: Reading
) -> Release:
    """Open a table of counts as a policy with a schema says, or options beside one without."""
    from foreknow.data.engines import open_table
    from foreknow.data.release import COUNT, Release

    if is_published(path):
        raise SchemaError(
            f"the columns of {str(path)!r} are in its certificate; leave out --counts"
        )
    schema, group = rules.schema, columns.group
    sensitive = None if columns.sensitive is None else listed(columns.sensitive)
    told = reading if schema is None else cast("Reading", schema.reading)
    table = open_table(path, told, sensitive if schema is None else schema.sensitives)
    several = group is not None and group not in table.columns and "," in group
    by = listed(group) if group is not None and several else group
    if schema is None:
        if sensitive is None or by is None:
            raise SchemaError(
                "say what the columns are: --group COLUMN and --sensitive COLUMN, or [schema] in "
                "the policy"
            )
        return Release.from_tally(table, group=by, sensitive=sensitive, count=count or COUNT)
    tally_of(rules)
    if sensitive not in (None, [*schema.sensitives]):
        raise SchemaError(
            f"--sensitive {columns.sensitive} contradicts the policy, which says "
            f"{', '.join(schema.sensitives)}; leave it out"
        )
    lacking = [name for name in schema.other if name not in table.columns]
    if lacking:
        raise SchemaError(
            f"{table.name} has no column {lacking[0]!r}, which the policy says is published beside "
            "(other): count by it, too, as foreknow sql does, or take it out of other"
        )
    return Release.from_tally(
        table,
        group=by or schema.group or list(schema.quasi_identifiers),
        sensitive=list(schema.sensitives),
        count=count or COUNT,
        other=schema.other,
        missing=cast("Missing", schema.missing),
    )


def tally_of(rules: Policy) -> list[str]:
    """The columns by which a release is to be counted, for a policy that needs no more."""
    schema = rules.needed_schema
    if schema.several:
        raise UnsupportedError(
            f"a person may have several values of {' and '.join(schema.several)}, and a tally "
            "does not tell which are of one person: audit the release itself"
        )
    groups = schema.quasi_identifiers if schema.group is None else [schema.group]
    by = [name for point in rules.points for name in getattr(point.adversary, "by", ())]
    every = [*groups, *schema.sensitives, *schema.other, *by, *sorted(rules.attributes)]
    return list(dict.fromkeys(every))


def open_raw(path: Path, policy: Path | None, columns: Columns, reading: Reading) -> Microdata:
    """Open a raw table as a policy or the options describe it, to be generalized."""
    from foreknow.data.microdata import Microdata
    from foreknow.data.schema import Schema
    from foreknow.policy.policy import Policy

    refuse_published(path)
    if policy is not None:
        columns.refuse_beside_policy()
        return Microdata(path, columns.of_one(Policy.load(policy).needed_schema), reading)
    if columns.sensitive is None or columns.quasi_identifiers is None:
        raise SchemaError(
            "say what the columns are: --policy FILE, which may give them hierarchies; or "
            "--sensitive COLUMN and --quasi-identifiers COLUMN,COLUMN"
        )
    names = listed(columns.quasi_identifiers) or [""]
    schema = Schema(quasi_identifiers=names, sensitive=columns.sensitive)
    return Microdata(path, schema, reading)


def is_published(path: Path) -> bool:
    """Whether a path is a folder that `foreknow publish` wrote."""
    from foreknow.publishing import CERTIFICATE

    return path.is_dir() and (path / CERTIFICATE).is_file()


def say_index(release: Release) -> None:
    """Say that a column of the release looks like row numbers, which number people."""
    from foreknow.report.words import visible

    written = [visible(name) for name in release.unseen() if _ROW_NUMBERS.fullmatch(name)]
    if written:
        print_plain(
            f"{written[0]} looks like the index that pandas wrote, which numbers people: write the "
            "table with index=False before it is published."
        )


def value_named(counts: GroupCounts, text: str) -> Label:
    """The sensitive value that prints like a text; unknown ones are left to be refused."""
    same = [value for value in counts.values if str(value) == text]
    if len(same) > 1:
        raise InputError(f"several sensitive values print as {text!r}; make their labels differ")
    return same[0] if same else text


def named_set(counts: GroupCounts, texts: Sequence[str], policy: Path | None) -> Any:
    """Values of one secret; a single text that is no value is a label of the policy's hierarchy."""
    from foreknow.data.labels import matching

    known = set(map(str, counts.values))
    if len(texts) == 1 and policy is not None and not matching(texts[0], known):
        return texts[0]
    return list(dict.fromkeys(texts))
