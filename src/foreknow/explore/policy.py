"""The policy view: a form and the file side by side, each following the other."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from foreknow.documents import from_toml, toml_key, toml_value
from foreknow.errors import InputError, OutputError
from foreknow.explore.security import is_device
from foreknow.explore.session import Draft, Session
from foreknow.explore.shown import grid_values
from foreknow.grammar import LIMITS, SECRET
from foreknow.methods.registry import METHODS
from foreknow.output import write_new, write_whole
from foreknow.report.page import Grid
from foreknow.report.pages.audit import policy_rows
from foreknow.report.words import visible

_MOST_TEXT = 1 << 20
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?")
_PATH = re.compile(r"\b(schema|require|publish)((?:\[\d+\]|\.[\w-]+)*)")
_AT = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")
_FILE = re.compile(r"[\w][\w .-]{0,80}\.toml")
_DEEPEST = 5


def overview(session: Session, asked: Any) -> dict[str, Any]:
    """A policy as text, as a table for the form, and in words; and what is wrong with it."""
    name = session.name_of(asked)
    draft = session.draft(name)
    if draft is None:
        raise InputError(
            f"{visible(name)} is judged by the policy in its certificate; start with --policy FILE "
            "to judge it by another, or open the table"
        )
    table = {} if draft.is_broken else from_toml(draft.text)
    words: list[Any] = []
    if not draft.mistake:
        rows = policy_rows(draft.policy, draft.policy.semantics_of())
        words = [(title, " ".join(lines)) for title, lines in rows]
    return {
        "name": visible(name),
        "file": draft.name,
        "text": draft.text,
        "table": _plain(table),
        "broken": draft.is_broken,
        "mistake": None if not draft.mistake else _mistake(draft),
        "words": grid_values(Grid(("", ""), words, left=(0, 1))),
        "methods": [key for key, _ in METHODS],
        "limits": LIMITS,
        "secret": SECRET,
    }


def _plain(value: Any) -> Any:
    """Numbers as whole numbers or as they are written."""
    if isinstance(value, Mapping):
        return {key: _plain(own) for key, own in value.items()}
    if isinstance(value, list):
        return [_plain(own) for own in value]
    if isinstance(value, (bool, int, str)):
        return value
    return str(value)


def _mistake(draft: Draft) -> dict[str, Any]:
    """What is wrong, in which line, and of which key."""
    said = draft.mistake
    at = _AT.search(said)
    if at is not None:
        line = int(at[1]) if at[1] else len(draft.text.splitlines())
        return {"said": said, "line": line, "path": []}
    path = _path_in(said, {} if draft.is_broken else from_toml(draft.text))
    return {"said": said, "line": line_of(draft.text, path), "path": path}


def _path_in(said: str, table: Mapping[str, Any]) -> list[Any]:
    """The key that a message names."""
    found = _PATH.search(said)
    if found is not None:
        parts = re.findall(r"\[(\d+)\]|\.([\w-]+)", found[2])
        return _limited([found[1], *(int(at) if at else key for at, key in parts)], said, table)
    required = table.get("require", ())
    for place, own in enumerate(required if isinstance(required, list) else ()):
        name = own.get("name") if isinstance(own, Mapping) else None
        if isinstance(name, str) and f"{name}:" in said:
            return _limited(["require", place], said, table)
    keys = [key for key in table.get("schema", {}) if re.search(rf"\b{re.escape(key)}\b", said)]
    return ["schema", keys[0]] if keys else []


def _limited(path: list[Any], said: str, table: Mapping[str, Any]) -> list[Any]:
    """The key of the limit, where a message says only that a threshold is wrong."""
    if len(path) != 2 or path[0] != "require" or "threshold" not in said:
        return path
    own = table["require"][path[1]]
    return [*path, *(key for key in LIMITS if key in own)][:3]


# ---- changes ------------------------------------------------------------------------------------


def _own(session: Session, given: Mapping[str, Any]) -> tuple[str, Draft]:
    name = session.name_of(given.get("of"))
    draft = session.draft(name)
    if draft is None:
        raise InputError("the policy of a certificate cannot be changed")
    return name, draft


def written(session: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    """Take the text as it was typed."""
    name, draft = _own(session, given)
    text = given.get("text")
    if not isinstance(text, str) or len(text) > _MOST_TEXT:
        raise InputError("the policy must be a text of at most 1 MB")
    session.set_policy(name, draft.saying(text.replace("\r\n", "\n")))
    return overview(session, name)


def settled(session: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    """Change one key, as the form does: a path to it, and what it is to say; None removes it."""
    name, draft = _own(session, given)
    if draft.is_broken:
        raise InputError("mend the text first: it is no TOML")
    path, value = given.get("path"), given.get("value")
    if not isinstance(path, list) or not 1 <= len(path) <= _DEEPEST:
        raise InputError("a path is a list of keys")
    if given.get("number") and isinstance(value, str):
        value = _read(value)
    table = from_toml(draft.text)
    _put(table, path, copy.deepcopy(value))
    session.set_policy(name, draft.saying(changed(draft.text, table)))
    return overview(session, name)


def _read(text: str) -> Any:
    """A number, or a text such as 1/3."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return text
    return Decimal(text) if "." in text else int(text)


def _put(table: Any, path: Sequence[Any], value: Any) -> None:
    *before, last = path
    for key in before:
        if isinstance(table, dict) and isinstance(key, str):
            table = table.setdefault(key, {})
        elif isinstance(table, list) and isinstance(key, int) and 0 <= key < len(table):
            table = table[key]
        else:
            raise InputError(f"there is no {key!r} in the policy")
    if isinstance(table, list) and isinstance(last, int) and 0 <= last <= len(table):
        table[last : last + 1] = [] if value is None else [value]
    elif isinstance(table, dict) and isinstance(last, str):
        if value is None:
            table.pop(last, None)
        else:
            table[last] = value
    else:
        raise InputError(f"there is no {last!r} in the policy")


def saved(session: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    """Write the policy: into its own file, or into a new one of the folder."""
    name, draft = _own(session, given)
    file = given.get("file")
    if draft.mistake:
        raise InputError("the policy has a mistake; mend it before it is written")
    if file == draft.name and draft.name is not None:
        write_whole(session.path_of(draft.name), draft.text)
    else:
        if not isinstance(file, str) or not _FILE.fullmatch(file):
            raise OutputError("name a file of this folder, such as policy.toml")
        if is_device(file):
            raise OutputError(f"{file!r} is a device on Windows; choose another name")
        if draft.beside.resolve() != session.folder and draft.has_paths:
            raise OutputError("the policy names files that lie beside its own; write it there")
        write_new(session.folder / file, draft.text)
        session.set_policy(name, draft.named(file, session.folder))
    return overview(session, name)


# ---- the text of a policy -----------------------------------------------------------------------


_HEADER = re.compile(r"\s*\[\[?\s*(\"[^\"]*\"|[\w-]+)[^\]]*\]\]?\s*(#.*)?")
# Tables of [schema] that are written under a header of their own.
_APART = ("hierarchies", "types", "reading")


@dataclass
class _Part:
    """The lines of one table and of those inside of it; comments above it are its own."""

    key: str
    above: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def changed(text: str, wanted: Mapping[str, Any]) -> str:
    r"""Write a policy so that it says what is wanted.

    Examples
    --------
    >>> text = '# Ours.\n[schema]\nsensitive = "a"\n\n# Nobody.\n[[require]]\nk_anonymity = 2\n'
    >>> print(changed(text, {"schema": {"sensitive": "b"}, "require": [{"k_anonymity": 2}]}))
    # Ours.
    [schema]
    sensitive = "b"
    <BLANKLINE>
    # Nobody.
    [[require]]
    k_anonymity = 2
    <BLANKLINE>
    """
    try:
        before = from_toml(text)
        made = _joined(_parts(text), before, wanted)
        if from_toml(made) == from_toml(_whole(wanted)):
            return made
    except ValueError:
        pass  # of a text with a mistake, or one laid out in another way, no line is kept
    return _whole(wanted)


def _whole(wanted: Mapping[str, Any]) -> str:
    each = ((key, own) for key, table in wanted.items() for own in _listed(table))
    parts = ["\n".join(_written(key, own)) for key, own in each]
    return "\n\n".join(parts) + "\n"


def _parts(text: str) -> tuple[list[str], list[_Part]]:
    """The lines before all tables, and the parts."""
    first: list[str] = []
    parts: list[_Part] = []
    waiting: list[str] = []
    for line in text.splitlines():
        found = _HEADER.fullmatch(line)
        if found is not None:
            key = found[1].strip('"')
            inner = re.match(r"\s*\[\[?\s*[\w\"-]+\s*\.", line) is not None
            if not (parts and parts[-1].key == key and inner):
                parts.append(_Part(key, waiting))
                waiting = []
            parts[-1].lines += [*waiting, line]
            waiting = []
        elif line.strip() == "" or line.lstrip().startswith("#"):
            waiting.append(line)
        else:
            target = parts[-1].lines if parts else first
            target += [*waiting, line]
            waiting = []
    if parts:
        parts[-1].lines += waiting
    return first, parts


def _joined(
    found: tuple[list[str], list[_Part]], before: Mapping[str, Any], wanted: Mapping[str, Any]
) -> str:
    first, parts = found
    own: dict[str, list[_Part]] = {}
    for part in parts:
        own.setdefault(part.key, []).append(part)
    lines = list(first)
    for key in [*(k for k in own if k in wanted), *(k for k in wanted if k not in own)]:
        then, now = _listed(before.get(key)), _listed(wanted[key])
        kept = own.get(key, [])
        if len(kept) != len(then):
            raise ValueError("the tables are laid out in another way")
        free = list(range(len(then)))
        for place, table in enumerate(now):
            same = [i for i in free if then[i] == table]
            at = place if place in same else (same[0] if same else None)
            if at is not None:
                free.remove(at)
                lines += [*kept[at].above, *kept[at].lines]
                continue
            above = kept[place].above if place in free else [""]
            if place in free and len(now) >= len(then):
                free.remove(place)
            lines += [*above, *_written(key, table)]
    return "\n".join(lines).strip("\n") + "\n"


def _listed(table: Any) -> list[Any]:
    return table if isinstance(table, list) else [] if table is None else [table]


def _written(key: str, table: Mapping[str, Any]) -> Iterator[str]:
    """The lines of one table."""
    repeated = key == "require"
    yield f"[[{key}]]" if repeated else f"[{toml_key(key)}]"
    for name, value in table.items():
        if not (key == "schema" and name in _APART and isinstance(value, Mapping)):
            yield f"{toml_key(name)} = {_value(value)}"
    for name in _APART if key == "schema" else ():
        inner = table.get(name)
        if isinstance(inner, Mapping) and inner:
            yield ""
            yield f"[{key}.{name}]"
            yield from (f"{toml_key(own)} = {_value(value)}" for own, value in inner.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return toml_value({name: own for name, own in value.items() if own is not None})
    return toml_value(value)


def line_of(text: str, path: Sequence[Any]) -> int | None:
    r"""The line, from 1, in which a key is written, or its table; None where that is not found.

    >>> line_of('[schema]\nsensitive = "a"\n\n[[require]]\nbelow = 2\n', ["require", 0, "below"])
    5
    """
    if not path:
        return None
    key, *rest = path
    place = rest.pop(0) if rest and isinstance(rest[0], int) else 0
    own = -1
    within, best = False, None
    for number, line in enumerate(text.splitlines(), 1):
        found = _HEADER.fullmatch(line)
        if found is not None:
            inner = re.match(r"\s*\[\[?\s*[\w\"-]+\s*\.", line) is not None
            if found[1].strip('"') != key:
                within = False
                continue
            own += not inner
            within = max(own, 0) == place
            if within and best is None:
                best = number
            deeper = rest and re.search(rf"\.\s*\"?{re.escape(str(rest[0]))}\b", line)
            if within and inner and deeper:
                best = number
        elif within and any(_begins(line, part) for part in rest if isinstance(part, str)):
            best = number
    return best


def _begins(line: str, key: str) -> bool:
    return re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", line) is not None
