"""Open a release for a command, as a policy, an option or a certificate describe it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from foreknow.cli.options import Files, Only, among
from foreknow.cli.terminal import print_plain
from foreknow.cli.typed_words import listed
from foreknow.data.tables.formats.database_address import spoken
from foreknow.errors import SchemaError, did_you_mean
from foreknow.features import is_installed, load
from foreknow.needs import ONE_BY_ONE, refuse_rules
from foreknow_judge.errors import InputError, PolicyError, UnsupportedError
from foreknow_judge.files.printable import visible
from foreknow_judge.text import some

if TYPE_CHECKING:
    from foreknow.data.columns.reading_rules import Reading
    from foreknow.data.microdata import Microdata
    from foreknow.data.release import Release
    from foreknow.data.schema import Schema
    from foreknow.data.tables.columns import Missing
    from foreknow.needs import Needs
    from foreknow.policy.policy import Policy


_ROW_NUMBERS = re.compile(r"Unnamed: \d+|__index_level_\d+__|column0+")


@dataclass(frozen=True)
class Columns(Files):
    """The columns of a table, as a policy or options describe them.

    Parameters
    ----------
    policy
        A policy, to say what the columns are.
    group
        The column with the group of each row.
    quasi_identifiers
        Columns that make a group, with commas between.
    sensitive
        The column of sensitive values.
    knowing
        Other columns that the adversary knows for everybody, with commas between; all of them when
        left out.
    person
        The column that names people.
    semantics
        How many sensitive values a person has: single, set or multiset (default: single).
    """

    policy: Path | None = None
    group: str | None = None
    quasi_identifiers: str | None = None
    sensitive: str | None = None
    knowing: str | None = None
    person: str | None = None
    semantics: Annotated[str | None, among("single", "set", "multiset")] = None

    @cached_property
    def given(self) -> Policy | None:
        """The policy, if there is one, which reads files as the options say."""
        if self.policy is None:
            return None
        rules = policy_at(self.policy)
        if rules.schema is None:
            return rules
        reading = self.reading.over(cast("Reading", rules.schema.reading))
        return replace(rules, schema=replace(rules.schema, reading=reading))

    def schema_of_table(self, folder: Path) -> Schema:
        """How the table of a published folder is read: by the policy, else by what was written."""
        from foreknow.written_releases.members import table_schema
        from foreknow.written_releases.written_release import open_published

        certificate = open_published(folder).certificate
        return table_schema(self.given, certificate, folder, self.reading)

    def table_of(self, folder: Path, table: Path | None) -> Path | Microdata | None:
        """The table of a published folder; read, where no policy but options say how."""
        from foreknow.data.columns.reading_rules import Reading
        from foreknow.data.microdata import Microdata

        if table is None or self.given is not None or self.reading == Reading():
            return table
        return Microdata(table, self.schema_of_table(folder))

    def written(self, schema: Schema) -> Reading | None:
        """How the values of a table are written, if options describe this table."""
        return cast("Reading", schema.reading) if self.reading.converts else None

    @cached_property
    def names(self) -> list[str]:
        """The quasi-identifiers that the options name."""
        return listed(self.quasi_identifiers or "") or [""]

    @property
    def _naming(self) -> dict[str, Any]:
        """The role of the column that the options name for people, as the schema has it."""
        return {} if self.person is None else {"person": self.person}

    def release(self, path: Path, needs: Needs = ONE_BY_ONE) -> Release:
        """Open a release as an adversary sees it, who knows `knowing` and asks for `sensitive`."""
        return self._as_adversary_sees(self.whole(path), needs)

    def whole(self, path: Path, policy: Policy | None = None) -> Release:
        """Open a release with all its sensitive columns; no other column counts as known.

        A table is opened by `policy` (None: that of the options) or by options; a published folder
        by its certificate.
        """
        from foreknow.data.release import Release
        from foreknow.written_releases.written_release import open_published

        policy = policy or self.given
        if policy is None and not is_published(path):
            return self._table(path)
        if policy is None:
            self._refuse_beside_certificate(path)
            return open_published(path).release
        if self.given is not None:
            self._refuse_beside_policy()
        if not is_published(path):
            schema = replace(policy.needed_schema, **self._naming)
            unlinked = policy.options.unlinked
            return Release.from_schema(
                path, schema, self.group, unlinked, written=self.written(schema)
            )
        if self._naming:
            raise SchemaError(f"{str(path)!r} names nobody; leave out --person")
        return open_published(path, policy.schema).release

    def together(self, paths: Sequence[Path], *, counts: bool = False) -> Release:
        """Open several releases of the same people as one; refused if they name nobody."""
        for path in paths:
            if counts or not is_published(path):
                absent = [str(path) for path in paths if not path.exists()]
                if absent and self.quasi_identifiers:
                    raise InputError(
                        f"there is no file or folder {absent[0]!r}; columns are named with commas "
                        "between: --quasi-identifiers age,zip"
                    )
                raise InputError(
                    f"{str(path)!r} is no folder that foreknow publish wrote: of several releases "
                    "it has to be known who is in each; in Python, see fk.together"
                )
            self._refuse_beside_certificate(path, but=("person",))
        joint: Release = load("foreknow.features.several_releases.joint:together")(
            paths, person=self.person
        )
        return joint

    def named(self, path: Path, members: Path | None) -> Release:
        """Open a release with the names of its people, from `person` or the only identifier."""
        from foreknow.data.release import Release

        policy = self.given
        if is_published(path):
            return self.own(path, members)
        if members is not None:
            raise InputError(f"--members is for a folder that publish wrote; {str(path)!r} is none")
        if policy is None:
            return self._as_adversary_sees(self._table(path, with_people=True))
        self._refuse_beside_policy()
        schema = policy.needed_schema.naming(self.person)
        unlinked, reading = policy.options.unlinked, self.written(schema)
        release = Release.from_schema(path, schema, self.group, unlinked, written=reading)
        return self._as_adversary_sees(release)

    def own(self, path: Path, members: Path | None, table: Path | None = None) -> Release:
        """Open a published folder with the names of its people; with `table`, also their values."""
        from foreknow.data.microdata import Microdata
        from foreknow.written_releases.members import OwnRelease

        self._refuse_beside_certificate(path, but=("person",))
        schema = None if self.given is None else self.given.needed_schema
        release = OwnRelease.open(path, members, schema)
        if table is None:
            return self._as_adversary_sees(release.named(self.person))
        if schema is None:
            raise SchemaError("--table is read as a policy says; add --policy FILE")
        return self._as_adversary_sees(release.named(self.person, Microdata(table, schema)))

    def raw(self, path: Path) -> Microdata:
        """Open a raw table that is to be generalized, by the policy or by options."""
        from foreknow.data.microdata import Microdata
        from foreknow.data.schema import Schema

        refuse_published(path)
        if self.given is not None:
            self._refuse_beside_policy()
            return Microdata(path, self._of_one(self.given.needed_schema))
        if self.sensitive is None or self.quasi_identifiers is None:
            raise SchemaError(
                "say what the columns are: --policy FILE, which may give them hierarchies; or "
                "--sensitive COLUMN and --quasi-identifiers COLUMN,COLUMN"
            )
        schema = Schema(quasi_identifiers=self.names, sensitive=self.sensitive)
        return Microdata(path, schema, self.reading)

    def tally(self, path: Path, rules: Policy, count: str | None) -> Release:
        """Open a table of counts, by a policy with a schema or by options beside one without.

        `count` is the column of counts; None: "count".
        """
        from foreknow.data.release import Release
        from foreknow.data.release_tables import COUNT
        from foreknow.data.tables.sources import open_table

        if is_published(path):
            raise SchemaError(
                f"the columns of {str(path)!r} are in its certificate; leave out --counts"
            )
        schema, group = rules.schema, self.group
        sensitive = None if self.sensitive is None else listed(self.sensitive)
        reading = self.reading if schema is None else cast("Reading", schema.reading)
        table = open_table(path, reading, sensitive if schema is None else schema.sensitives)
        by: str | Sequence[str] | None = group
        # Several group columns have commas between, unless a column is called so.
        if group is not None and group not in table.columns and "," in group:
            by = listed(group)
        if schema is None:
            if sensitive is None or by is None:
                raise SchemaError(
                    "say what the columns are: --group COLUMN and --sensitive COLUMN, or [schema] "
                    "in the policy"
                )
            return Release.from_tally(table, group=by, sensitive=sensitive, count=count or COUNT)
        tally_columns(rules)
        if sensitive not in (None, [*schema.sensitives]):
            raise SchemaError(
                f"--sensitive {self.sensitive} contradicts the policy, which says "
                f"{', '.join(schema.sensitives)}; leave it out"
            )
        lacking = [name for name in schema.other if name not in table.columns]
        if lacking:
            raise SchemaError(
                f"{table.name} has no column {lacking[0]!r}, which the policy says is published "
                "beside (other): count by it, too, as foreknow sql does, or take it out of other"
            )
        return Release.from_tally(
            table,
            group=by or schema.group or list(schema.quasi_identifiers),
            sensitive=list(schema.sensitives),
            count=count or COUNT,
            other=schema.other,
            missing=cast("Missing", schema.missing),
        )

    def _as_adversary_sees(self, release: Release, needs: Needs = ONE_BY_ONE) -> Release:
        """A release as somebody sees it who asks for one column and knows others.

        Raises an error for rules of the schema that the command does not serve.
        """
        if self.sensitive is None and len(release.sensitives) > 1:
            raise SchemaError(_which_column(release.sensitives))
        columns = None if self.knowing is None else listed(self.knowing)
        visible = release.seen(self.sensitive, columns)
        schema = None if self.given is None else self.given.schema
        refuse_rules(
            "this command", visible.counts if schema is None or visible.schema else schema, needs
        )
        return visible

    def _of_one(self, schema: Schema) -> Schema:
        """The schema with one sensitive column: the one that is asked about."""
        columns = schema.sensitives
        if self.sensitive is None and len(columns) > 1:
            raise SchemaError(_which_column(columns))
        if self.sensitive not in (None, *columns):
            hint = did_you_mean(str(self.sensitive), columns)
            raise SchemaError(f"{self.sensitive!r} is no sensitive column of the policy{hint}")
        return replace(schema, sensitive=self.sensitive or schema.sensitive, sensitives=())

    def _refuse_beside_policy(self) -> None:
        for name in ("quasi_identifiers", "semantics"):
            if getattr(self, name):
                option = f"--{name.replace('_', '-')}"
                raise SchemaError(f"{option} contradicts --policy, which says it; give one of them")

    def _refuse_beside_certificate(self, path: Path, but: Sequence[str] = ()) -> None:
        """Refuse options that say what a certificate says, except those in `but`."""
        for name in ("group", "quasi_identifiers", "person", "semantics"):
            if getattr(self, name) and name not in but:
                raise SchemaError(
                    f"the columns of {str(path)!r} are in its certificate; leave out "
                    f"--{name.replace('_', '-')}"
                )

    def _table(self, path: Path, *, with_people: bool = False) -> Release:
        """Open a table by its columns; with `with_people`, one of them names people."""
        from foreknow.data.release import Release
        from foreknow.data.schema import Schema
        from foreknow.data.semantics import check_semantics
        from foreknow.data.tables.sources import open_table
        from foreknow.data.tables.table import require

        missing = self.sensitive is None or (with_people and not self._naming)
        if missing or (self.group is None) == (self.quasi_identifiers is None):
            person = "--person COLUMN, " if with_people else ""
            raise SchemaError(
                f"say what the columns are: --policy FILE; or --sensitive COLUMN, {person}and "
                "either --group COLUMN or --quasi-identifiers COLUMN,COLUMN"
            )
        semantics = check_semantics(self.semantics or "single")
        names = self.names if self.group is None else []
        roles: dict[str, Any] = {"sensitive": self.sensitive, **self._naming}
        table = open_table(path, self.reading)
        require(table, [*names, *(column for column in roles.values() if column is not None)])
        roles |= {"quasi_identifiers": names, "group": self.group, "semantics": semantics}
        return Release.from_schema(table, Schema(**roles), written=self.reading)


@dataclass(frozen=True)
class Judging(Columns):
    """The options of a release and of its policy, requirements among them.

    Parameters
    ----------
    policy
        The policy file (TOML); if no columns are named, policy.toml of the current folder.
    identifiers
        Columns that name people, with commas between; in place of a policy.
    k_anonymity
        The fewest people of a group; in place of a policy, or added to it.
    l_diversity
        The fewest different values in a group; likewise.
    t_closeness
        How much the values of a group may differ from those of the table; likewise.
    """

    needs_policy: ClassVar[bool] = True

    @property
    def asks_size_only(self) -> bool:
        """True if all that is said is how many people must look alike, by which columns."""
        others = (self.policy, self.group, self.sensitive, self.l_diversity, self.t_closeness)
        return (
            self.k_anonymity is not None and self.quasi_identifiers is not None and not any(others)
        )

    def judge_size(self, table: Path) -> tuple[bool, str]:
        """Whether so many people share the rarest values of the columns, and a sentence on it."""
        from foreknow.criteria.measures import k_anonymity
        from foreknow.data.tables.sources import open_table

        columns = self._columns_of(table, self.names)
        size = k_anonymity(open_table(table, self.reading), columns)
        shared = some(size, "person", "people")
        return size >= (self.k_anonymity or 0), (
            f"k_anonymity = {size}, of {visible(spoken(table))} as it is: the rarest values of "
            f"{', '.join(map(visible, columns))} are those of {shared}; required: at least "
            f"{self.k_anonymity}. What can be found out about them was not judged: add "
            "--sensitive COLUMN"
        )

    identifiers: str | None = None
    k_anonymity: int | None = None
    l_diversity: int | None = None
    t_closeness: float | None = None

    def rules(self, table: Path) -> Policy:
        """The policy for a table; without one, an error that says how to name the columns."""
        from foreknow.data.columns.reading_rules import STDIN, is_address
        from foreknow.data.tables.sources import open_table
        from foreknow.planning.suggestion.call import guessed_roles, options_of
        from foreknow.policy.call_arguments import policy_of

        settings: dict[str, Any] = {name: getattr(self, name) for name in CRITERIA}
        for name in COLUMNS:
            text = getattr(self, name)
            settings[name] = None if text is None else self._columns_of(table, listed(text))
        if settings["sensitive"] is not None and len(settings["sensitive"]) == 1:
            (settings["sensitive"],) = settings["sensitive"]
        # Criteria are added to the policy; one column alone cannot say anew what columns are.
        if self.given is not None:
            columns_named = [name for name in COLUMNS if settings[name] is not None]
            if len(columns_named) < len(COLUMNS) - 1 and columns_named:
                option = f"--{columns_named[0].replace('_', '-')}"
                raise SchemaError(f"the policy says what the columns are; leave out {option}")
            return policy_of(self.given, settings)
        if settings["quasi_identifiers"] is None or settings["sensitive"] is None:
            table_name = visible(spoken(table))
            if is_published(table):
                raise InputError(
                    f"say what must hold: --policy FILE; or foreknow verify {table_name}, which "
                    "judges a published folder by the policy in its certificate"
                )
            if settings["quasi_identifiers"] is not None:
                raise InputError(
                    "say which column must stay hidden: add --sensitive COLUMN; how many people "
                    "look alike needs none: --k-anonymity 5, or foreknow risk"
                )
            # The error guesses the roles of the columns, as an example that can be tried.
            options = ""
            if str(table) != STDIN and not is_address(table):
                open_table(table, self.reading)  # which says what is wrong with it first
                options = options_of(guessed_roles(table, self.reading))
            guess = ", if these guesses of its columns are right" if options else ""
            options = options or (
                "--quasi-identifiers COLUMN,COLUMN --sensitive COLUMN --k-anonymity 5"
            )
            raise InputError(
                f"say what must hold: --policy FILE (foreknow init {table_name} writes one); or "
                f"{options}{guess}"
            )
        policy = policy_of(None, settings)
        return replace(policy, schema=replace(policy.needed_schema, reading=self.reading))

    def _columns_of(self, table: Path, names: list[str]) -> list[str]:
        """The columns of a table that are meant, whatever the letters' case if only one fits.

        Names stay as they are where the table cannot be read twice.
        """
        from foreknow.data.columns.reading_rules import STDIN, is_address
        from foreknow.data.tables.sources import open_table

        if str(table) == STDIN or is_address(table) or is_published(table) or not table.exists():
            return names
        columns = open_table(table, self.reading).columns
        meant: list[str] = []
        for name in names:
            alike = []
            for c in columns:
                if c.strip().casefold() == name.casefold():
                    alike.append(c)
            meant.append(alike[0] if name not in columns and len(alike) == 1 else name)
        return meant


CRITERIA = ("k_anonymity", "l_diversity", "t_closeness")
COLUMNS = ("quasi_identifiers", "sensitive", "identifiers")
Rules = Annotated[Judging, Only((*COLUMNS, *CRITERIA))]


def _which_column(columns: Sequence[str]) -> str:
    return f"say which column it is about: --sensitive {' or '.join(map(shlex.quote, columns))}"


def refuse_published(table: Path | None) -> None:
    """Raise `SchemaError` where a raw table is asked for and a published folder given."""
    if table is not None and is_published(table):
        raise SchemaError(f"{str(table)!r} is published already; give the raw table")


def require_published(folder: Path) -> None:
    """Raise `InputError` for what `foreknow publish` did not write."""
    if not is_published(folder):
        raise InputError(
            f"{str(folder)!r} is not a folder that foreknow publish wrote: it has no certificate; "
            "a page on a table is foreknow audit TABLE --html FILE"
        )


def tally_columns(rules: Policy) -> list[str]:
    """The columns by which the rows of a release are to be counted, for an audit by this policy.

    Raises `UnsupportedError` if a person may have several values.
    """
    schema = rules.needed_schema
    if schema.several:
        raise UnsupportedError(
            f"a person may have several values of {' and '.join(schema.several)}, and a tally "
            "does not tell which are of one person: audit the release itself"
        )
    groups = schema.quasi_identifiers if schema.group is None else [schema.group]
    by: list[str] = []
    for point in rules.points:
        by += getattr(point.adversary, "by", ())
    columns = [*groups, *schema.sensitives, *schema.other, *by, *sorted(rules.attributes)]
    return list(dict.fromkeys(columns))


def is_published(path: Path) -> bool:
    """True if a path is a folder that `foreknow publish` wrote."""
    from foreknow_judge.files.file_names import CERTIFICATE

    return path.is_dir() and (path / CERTIFICATE).is_file()


def attack_on(
    folders: Sequence[Path], policy: Path | None, rules: Policy | None, table: Path | None = None
) -> str:
    """The command that attacks one release whose owner's files are beside it; else its help.

    `rules` are those of the policy, where there is one. `table` is the raw table, if it is known;
    None: it is looked for.
    """
    from foreknow_judge.files.file_names import MEMBERS, owners_folder

    (folder, *more_folders) = folders
    if not is_installed("foreknow.features.attacks"):
        return "foreknow attack --help"
    if more_folders or not is_published(folder) or not (owners_folder(folder) / MEMBERS).is_file():
        return "foreknow attack --help"
    words = [folder] if table is None else [table, "--release", folder]
    words += [] if policy is None else ["--policy", policy]
    command = f"foreknow attack {' '.join(shlex.quote(str(word)) for word in words)}"
    can_be_attacked = load("foreknow.features.attacks.release_attack:can_be_attacked")
    can_be = can_be_attacked(folder, None if policy is None else rules, table)
    # Only a command that can be typed as it is printed.
    return command if can_be and visible(command) == command else "foreknow attack --help"


def say_index(release: Release) -> None:
    """Say that a column of the release looks like row numbers, which number people."""
    index_columns = []
    for name in release.unseen():
        if _ROW_NUMBERS.fullmatch(name):
            index_columns.append(visible(name))
    if index_columns:
        print_plain(
            f"{index_columns[0]} looks like the index that pandas wrote, which numbers people: "
            "write the table with index=False before it is published."
        )


def policy_at(path: Path) -> Policy:
    """Read a policy file; refuse names of methods that do not exist, even if none of them runs."""
    from foreknow.methods.registry import key_of, key_of_table
    from foreknow.policy.policy import Policy

    rules = Policy.load(path)
    try:
        key_of(rules.options.method)
        for name in rules.options.settings:
            key_of_table(name)
    except PolicyError as error:
        raise PolicyError(f"{path.name}: publish: {error}") from None
    return rules
