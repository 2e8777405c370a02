"""Session: what is loaded. A release is counted once, and anew where its files have changed."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from foreknow.adversaries.facts.facts import Facts
from foreknow.auditing.audit import Audit, audit
from foreknow.auditing.audit_input import release_of
from foreknow.certificates import Certificate
from foreknow.data.columns.reading_rules import Reading, named_part, with_part
from foreknow.data.labels.labels import Label
from foreknow.data.tables.sources import parts_of
from foreknow.features.explore.security import inside
from foreknow.methods.registry import key_of, policy_schema, settings_for
from foreknow.planning.suggestion.policy import PolicySuggestion, suggest_policy
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Point, Requirement
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow.publishing.verification import certified_policy
from foreknow.toml import from_toml, read_text
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.files.file_names import CERTIFICATE, OWNER, owners_folder
from foreknow_judge.verdict import Limit

_TABLES = (".csv", ".csv.gz", ".tsv", ".parquet", ".xlsx", ".sqlite", ".duckdb", ".sav", ".dta")
_MOST_FILES, _DEEP = 300, 2
_MOST_BYTES = 1 << 20
_KEPT, _UNDONE = 4, 100  # releases, and changes of a policy
_OF_A_TREE = "file"  # of tables of hierarchies the grammar says no keys
_WITH_PARTS = (".xlsx", ".sqlite", ".duckdb")


@dataclass(frozen=True)
class Choice:
    """A file or folder that can be opened."""

    name: str
    kind: str  # table, tables, release or policy


@dataclass(frozen=True, eq=False)
class Draft:
    """A policy as a text; it may name files of the folder, or beside its own file, only."""

    text: str
    name: str | None  # of its file
    folder: Path
    policy_folder: Path

    @cached_property
    def policy(self) -> Policy:
        """The policy that the text says; raises `PolicyError` for a mistake."""
        name = "policy" if self.name is None else Path(self.name).name
        try:
            table = from_toml(self.text)
        except ValueError as error:
            raise PolicyError(f"{name} is not valid TOML: {error}") from None
        return self.check(table)

    def check(self, table: Mapping[str, Any]) -> Policy:
        """The policy in these tables, with paths as if they were in this file; or an error.

        Files that it names must be inside the folder, and the method and its settings must exist.
        """
        name = "policy" if self.name is None else Path(self.name).name
        self.check_paths(table)
        policy = Policy.from_dict(table, self.policy_folder, name)
        try:  # which method there is, and what it takes, a policy leaves to whoever makes a release
            key_of(policy.options.method)
        except PolicyError as error:
            raise PolicyError(f"{name}: publish.method: {error}") from None
        settings_for(policy.options.method, policy.options.settings)
        return policy

    @cached_property
    def mistake(self) -> str:
        """The mistake in the draft, or an empty text."""
        try:
            self.policy  # noqa: B018
        except InputError as error:
            return str(error)
        return ""

    @property
    def is_broken(self) -> bool:
        """True if it is no TOML at all."""
        try:
            from_toml(self.text)
        except ValueError:
            return True
        return False

    def saying(self, text: str) -> Draft:
        """The draft with another text, in the same file."""
        return replace(self, text=text)

    def named(self, name: str, folder: Path) -> Draft:
        """The draft with the same text, in a file of the folder."""
        return Draft(self.text, name, folder, folder)

    @property
    def has_paths(self) -> bool:
        """True if it names other files."""
        return next(_paths(from_toml(self.text)), None) is not None

    def check_paths(self, table: Any) -> None:
        """Refuse files elsewhere."""
        for path in _paths(table):
            self._check_inside(path)

    def _check_inside(self, name: str) -> None:
        """Refuse the path of a file that is neither in the folder nor beside the policy."""
        full_path = (self.policy_folder / name).resolve()
        for folder in {self.folder, self.policy_folder.resolve()}:
            try:
                inside(folder, os.path.relpath(full_path, folder))
                return
            except (InputError, ValueError):
                continue
        raise PolicyError(f"the file {name!r}, which the policy names, is not in the folder")


@dataclass(frozen=True, eq=False)
class Dial:
    """One requirement of the policy, whose amounts and limit can be turned."""

    place: int
    requirement_counts: RequirementCounts

    @property
    def requirement(self) -> Requirement:
        """The requirement as the policy has it."""
        return self.requirement_counts.requirement

    @property
    def values(self) -> tuple[Label, ...]:
        """The values that it is about, or the names of its sets; none where it is of windows."""
        return self.requirement.target.named(self.requirement_counts)

    def turned(
        self, amounts: tuple[int, int, int], limit: Fraction, value: str
    ) -> RequirementCounts:
        """The requirement with other amounts of facts and another limit, about one value or all.

        `value` is the text of a value, or the name of a set where the requirement is about sets;
        empty: all.
        """
        requirement_counts = self.requirement_counts
        if value:
            requirement_counts = self.requirement.target.about_one(requirement_counts, value)
        return replace(
            requirement_counts,
            requirement=requirement_counts.requirement.with_points(
                [Point(Facts(*amounts), Limit(limit))]
            ),
        )

    @property
    def start(self) -> Point:
        """The point at which the dial stands at first: the policy's, if it is of facts.

        Otherwise three known people, at the first limit that is a probability, or one half.
        """
        points = []
        for p in self.requirement.points:
            if isinstance(p.adversary, Facts):
                points.append(p)
        if points:
            return points[0]
        limits = [p.below for p in self.requirement.points if not p.relative]
        return replace(Requirement(Facts(0, 3, 0), limits[0] if limits else 0.5)).points[0]


@dataclass(frozen=True, eq=False)
class JudgedSource:
    """A release or a table, judged by a policy."""

    name: str
    path: Path
    published: bool
    policy: Policy
    release: Any
    # a release is counted by one at a time
    lock: Any = field(default_factory=threading.RLock, repr=False)

    @cached_property
    def audit(self) -> Audit:
        """The verdicts."""
        return audit(self.release, self.policy, learned=False)

    @cached_property
    def dials(self) -> tuple[Dial, ...]:
        """The requirements whose adversaries are not of groups alone."""
        dials = []
        for number, requirement_counts in enumerate(self.audit.counted, 1):
            dials.append(Dial(number, requirement_counts))
        return tuple([dial for dial in dials if dial.requirement.criterion is None])


class Session:
    """The files that one call of ``foreknow explore`` may open, and those it has opened."""

    def __init__(
        self,
        folder: Path,
        first_path: Path | None = None,
        policy: Path | None = None,
        reading: Reading | None = None,
    ) -> None:
        """Begin a session in a folder, whose files it may open.

        `first_path` is shown first, and `policy` judges everything that has none of its own; both
        may lie elsewhere. `reading` is how tables without a policy are read.
        """
        self.folder = folder.resolve()
        self._reading = reading  # of tables for which a policy is suggested
        self.lock = threading.RLock()
        self._given: dict[str, Path] = {}
        self._looked: OrderedDict[tuple[Any, ...], JudgedSource] = OrderedDict()
        self._drafts: dict[str, Draft] = {}
        self._shared: Draft | None = None
        self._parts: dict[tuple[str, int, int], list[str]] = {}
        self._before: dict[str, list[Draft]] = {}
        self._suggested: dict[str, PolicySuggestion] = {}
        self._profiles: dict[str, list[Any]] = {}
        self.first = None if first_path is None else self._named(first_path)
        if policy is not None:
            self._shared = self.load_policy(self._named(policy))
            self._shared.policy  # noqa: B018 - a mistake is said before a browser opens

    # ---- files ------------------------------------------------------------------------------

    def _named(self, path: Path) -> str:
        """The name of a path in addresses; one given on the command line may lie anywhere."""
        full_path = path.resolve()
        try:
            name = full_path.relative_to(self.folder).as_posix()
            self._inside(name)
        except (ValueError, InputError):
            name = full_path.name
            self._given[name] = full_path
        return name

    def path_of(self, name: str) -> Path:
        """The path of a name: in the folder, or as it was given at the start.

        Refuses pipes and devices, and links that lead out of the folder.
        """
        start_path = self._given.get(name)
        path = self._inside(name) if start_path is None else start_path
        if _is_no_file(path):
            raise InputError(f"{name!r} is neither a file nor a folder")
        if path.is_dir():
            _refuse_links(path, self.folder if start_path is None else start_path.parent)
        return path

    def _inside(self, name: str) -> Path:
        """The path of a name in the folder; `FILE?table=NAME` is a table of a database."""
        try:
            file, key, table_name = named_part(self.folder / name)
        except OSError:
            raise InputError("there is no file of so long a name") from None
        path = inside(self.folder, name if key is None else os.path.relpath(file, self.folder))
        if key is None:
            return path
        # A slash in a table's name would look like another folder.
        if {"/", os.sep} & {*table_name}:
            raise InputError(f"{name!r}: the page opens no {key} whose name has a slash")
        return path.with_name(f"{path.name}?{key}={table_name}")

    def adopt(self, name: str, path: Path) -> str:
        """Give a path a name by which it can be opened, unlike any in the folder."""
        with self.lock:
            while name in self._given or (self.folder / name).exists():
                name += "'"
            self._given[name] = path
            return name

    def drop(self, name: str) -> None:
        """Forget a name that `adopt` gave."""
        with self.lock:
            self._given.pop(name, None)

    def choices(self) -> list[Choice]:
        """The files to open, at most a few hundred."""
        start_choices = []
        for name, path in self._given.items():
            start_choices.append(Choice(name, _kind(path) or "table"))
        return [*start_choices, *self._choices_in(self.folder, _DEEP)][:_MOST_FILES]

    def names_of(self, kind: str) -> list[str]:
        """The names of the files of a kind."""
        return [choice.name for choice in self.choices() if choice.kind == kind]

    def _choices_in(self, folder: Path, depth: int) -> Iterator[Choice]:
        """Yield what can be opened in a folder, and in folders inside it down to a depth.

        Folders that hold an owner's files are not offered.
        """
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)[: 10 * _MOST_FILES]
        except OSError:
            return
        for entry in entries:
            name = Path(entry.path).relative_to(self.folder).as_posix()
            try:
                path = inside(self.folder, name)
            except InputError:
                continue
            if (kind := _kind(path)) is not None:
                yield Choice(name, kind)
            elif path.is_dir() and depth and not entry.is_symlink() and not (path / OWNER).exists():
                yield from self._choices_in(path, depth - 1)

    def parts(self, name: str) -> list[str]:
        """The tables of a database or the sheets of a workbook, by the names that open them.

        Empty for other files. Read once, and again if the file changes.
        """
        path = self.path_of(name)
        if not name.lower().endswith(_WITH_PARTS):
            return []
        status = path.stat()
        key = name, status.st_mtime_ns, status.st_size
        with self.lock:
            if key not in self._parts:
                self._parts[key] = [
                    str(with_part(Path(name), table_name)) for table_name in parts_of(path)
                ]
            return self._parts[key]

    # ---- policies ---------------------------------------------------------------------------

    def load_policy(self, name: str) -> Draft:
        """Read a policy file, as a text to work on."""
        path = self.path_of(name)
        text = read_text(path, _MOST_BYTES, PolicyError, f"the policy {path.name!r}")
        return Draft(text, name, self.folder, path.parent)

    def draft(self, name: str) -> Draft | None:
        """The draft by which a source is judged; None for a release without a policy of its own.

        It is the one that was worked on, the policy given at the start, or else a suggested one.
        """
        with self.lock:
            if name not in self._drafts and self.kind_of(name) == "policy":
                self._drafts[name] = self.load_policy(name)
            if name not in self._drafts:
                if self._shared is not None:
                    return self._shared
                if self.kind_of(name) == "release":
                    return None
                path = self.path_of(name)
                policy_folder = path.parent if name in self._given else self.folder
                suggestion = self._suggested[name] = suggest_policy(path, reading=self._reading)
                self._drafts[name] = Draft(
                    suggestion.to_toml(policy_folder), None, self.folder, policy_folder
                )
            return self._drafts[name]

    def policy_of(self, name: str) -> Policy:
        """The policy of a table or release; without a draft, that of its certificate."""
        if (draft := self.draft(name)) is not None:
            return draft.policy
        return certified_policy(Certificate.load(self.path_of(name) / CERTIFICATE))

    def suggested(self, name: str) -> PolicySuggestion | None:
        """The suggested policy of a table that was opened without one."""
        return self._suggested.get(name)

    def profiles(self, name: str, look: Callable[[], list[Any]]) -> list[Any]:
        """The profiles of a table's columns, computed once."""
        with self.lock:
            if name not in self._profiles:
                self._profiles[name] = look()
            return self._profiles[name]

    def set_policy(self, name: str, draft: Draft) -> None:
        """Use another policy for a source; mistakes in it show when the source is judged."""
        with self.lock:
            before = self.draft(name)
            if before is not None and before.text != draft.text:
                # The last changes can be undone.
                self._before[name] = [*self._before.get(name, ()), before][-_UNDONE:]
            self._drafts[name] = draft

    def undo(self, name: str) -> None:
        """Use the policy before the last change."""
        with self.lock:
            if not self.can_undo(name):
                raise InputError("there is nothing to undo")
            self._drafts[name] = self._before[name].pop()

    def can_undo(self, name: str) -> bool:
        """True if a policy was changed, so that `undo` can help."""
        return bool(self._before.get(name))

    # ---- what is looked at --------------------------------------------------------------------

    def name_of(self, asked_name: Any) -> str:
        """The name that is asked for; without one, the source that was opened first."""
        name = asked_name if isinstance(asked_name, str) and asked_name else self.first
        if name is None:
            raise InputError("nothing is opened yet; choose a table or a release")
        if len(tables := self.parts(name)) > 1:
            listed = ", ".join(map(repr, tables[:8]))
            raise InputError(f"{name!r} has several tables; open one of them: {listed}")
        return name

    def kind_of(self, name: str) -> str:
        """The kind of a file: table, release or policy."""
        kind = _kind(self.path_of(name))
        if kind is None:
            raise InputError(f"{name!r} is no table, no release and no policy")
        return "table" if kind == "tables" else kind

    def table_of(self, asked_name: Any, purpose: str) -> tuple[str, Draft]:
        """The name of a table that is not published yet, and its policy; else refused."""
        name = self.name_of(asked_name)
        kind = self.kind_of(name)
        draft = self.draft(name) if kind == "table" else None
        if draft is None:
            problem = "is a policy" if kind == "policy" else "is published already"
            raise InputError(f"{name!r} {problem}: open the table to {purpose}")
        return name, draft

    def looked(self, asked_name: Any) -> JudgedSource:
        """A release or table as its policy judges it; counted when it is asked for first."""
        name = self.name_of(asked_name)
        if self.kind_of(name) == "policy":
            raise InputError(f"{name!r} is a policy; choose a table or a release")
        with self.lock:
            draft = self.draft(name)
            # If a file or the policy changes, the key is another one, and the source is judged
            # anew.
            key = name, None if draft is None else draft.text, self._files_of(name, draft)
            if key not in self._looked:
                self._looked[key] = self._open(name, draft)
                while len(self._looked) > _KEPT:
                    self._looked.popitem(last=False)
            self._looked.move_to_end(key)
            return self._looked[key]

    def _files_of(self, name: str, draft: Draft | None) -> tuple[Any, ...]:
        """The state of the files that are judged, and of those that the policy names.

        Each with its number, time and size, so that a changed file is noticed.
        """
        path = named_part(self.path_of(name))[0]
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        if draft is not None and not draft.is_broken:
            named_files = _paths(from_toml(draft.text))
            for named_file in named_files:
                files.append(draft.policy_folder / named_file)
        states: list[Any] = []
        for file in files:
            with suppress(OSError, ValueError):  # what is not there is said where it is read
                status = file.stat()
                states.append((file, status.st_ino, status.st_mtime_ns, status.st_size))
        return tuple(states)

    def _open(self, name: str, draft: Draft | None) -> JudgedSource:
        """The source as its policy judges it; refused if it cannot be judged."""
        path = self.path_of(name)
        # which files it names is looked at anew
        policy = self.policy_of(name) if draft is None else draft.saying(draft.text).policy
        release = release_of(path) if draft is None else release_of(path, policy)
        looked = JudgedSource(name, path, _kind(path) == "release", policy, release)
        looked.audit  # noqa: B018 - what cannot be judged is said here
        return looked


def _refuse_links(release: Path, folder: Path) -> None:
    """Refuse a release, or its owner's folder, in which a link leads out of a folder."""
    owner = owners_folder(release)
    for path in (*release.rglob("*"), owner, *owner.rglob("*")):
        if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            raise InputError(
                f"{path.name!r} of {release.name!r} is a link to a place outside of the folder; "
                "such files are not opened"
            )


def _is_no_file(path: Path) -> bool:
    """True for a pipe or a device: reading it may never end."""
    file = named_part(path)[0]
    return file.exists() and not (file.is_file() or file.is_dir())


def _kind(path: Path) -> str | None:
    """The kind of a path: a release, a table, a file of several tables, or a policy; else None."""
    if path.is_dir():
        return "release" if (path / CERTIFICATE).is_file() else None
    if _is_no_file(path):
        return None
    if path.name.lower().endswith(_WITH_PARTS):
        return "tables"
    if named_part(path)[0].name.lower().endswith(_TABLES):
        return "table"
    return "policy" if path.suffix.lower() == ".toml" else None


def _paths(table: Any, key: str = "") -> Iterator[str]:
    """Yield the texts in a policy's tables that are paths, by the keys that hold paths."""
    if isinstance(table, Mapping):
        for name, entry in table.items():
            yield from _paths(entry, name)
    elif isinstance(table, list):
        for entry in table:
            yield from _paths(entry, key)
    elif isinstance(table, str) and key in path_keys():
        yield table


@cache
def path_keys() -> frozenset[str]:
    """The keys of a policy below which a text is the path of a file, as its JSON Schema says."""
    tables = policy_schema()["$defs"].values()
    keys = chain.from_iterable(table.get("properties", {}).items() for table in tables)
    return frozenset(key for key, says in keys if _is_path(says)) | {_OF_A_TREE}


def _is_path(says: Mapping[str, Any]) -> bool:
    """True if the texts of a key, or those in its lists, are paths."""
    return says.get("format") == "path" or any(
        map(_is_path, [*says.get("anyOf", ()), *filter(None, [says.get("items")])])
    )
