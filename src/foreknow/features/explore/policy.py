"""The policy view: a form and the file side by side, each following the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, String

from foreknow.atomic_files import write_new, write_whole
from foreknow.errors import OutputError
from foreknow.features.explore.form import form
from foreknow.features.explore.security import is_device
from foreknow.features.explore.session import Draft, Session
from foreknow.report.pages.audit import policy_rows
from foreknow.toml import from_toml, toml_value
from foreknow_judge.errors import InputError
from foreknow_judge.files.printable import visible

_MOST_TEXT = 1 << 20
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?")
_PATH = re.compile(r"\b(schema|require|publish)((?:\[\d+\]|\.[\w-]+)*)(?:: (?:give )?(\w+))?")
_AT = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")
_FILE = re.compile(r"[\w][\w .-]{0,80}\.toml")
_DEEPEST = 5
_HEADER = re.compile(r"\s*\[\[?\s*\"?([\w-]+)\"?\s*(?:\.\s*\"?([^\"\]]+?)\"?\s*)?\]")
_BEGINS = re.compile(r"\s*\"?([\w-]+)\"?\s*=")


def overview(session: Session, asked_name: Any) -> dict[str, Any]:
    """The page's view of a policy: its text, table and words, and what is wrong with it.

    `asked_name` is a table, release or policy; None: the one that was opened first.
    """
    name = session.name_of(asked_name)
    draft = session.draft(name)
    if draft is None:
        raise InputError(
            f"{visible(name)} is judged by the policy in its certificate; start with --policy FILE "
            "to judge it by another, or open the table"
        )
    table = {} if draft.is_broken else from_toml(draft.text)
    sections: list[Any] = []
    if not draft.mistake:
        rows = policy_rows(draft.policy, draft.policy.semantics_of())
        sections = [{"title": title, "lines": list(lines)} for title, lines in rows]
    return {
        "name": visible(name),
        "file": draft.name,
        "text": draft.text,
        "table": _plain(table),
        "broken": draft.is_broken,
        "mistake": None if not draft.mistake else _mistake(draft),
        "words": sections,
        "undo": session.can_undo(name),
        "files": session.names_of("policy"),
        "form": form(),
    }


def _plain(value: Any) -> Any:
    """A table of TOML as plain values for JSON; a decimal becomes its text in the file."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, (bool, int, str)):
        return value
    return str(value)


def _mistake(draft: Draft) -> dict[str, Any]:
    """The mistake in a draft: the message, its line and the path of its key.

    Errors of TOML name the line; errors of the policy name the key.
    """
    message = draft.mistake
    position = _AT.search(message)
    if position is not None:
        line = int(position[1]) if position[1] else len(draft.text.splitlines())
        return {"said": message, "line": line, "path": []}
    path = _path_in(message, {} if draft.is_broken else from_toml(draft.text))
    return {"said": message, "line": line_of(draft.text, path), "path": path}


def _path_in(message: str, table: Mapping[str, Any]) -> list[Any]:
    """The path of the key that a message names, such as ["require", 0, "below"]; empty if none.

    `table` is the policy: a key is only taken if it is there.
    """
    path = _PATH.search(message)
    # Messages name keys as schema.types.age or require[0].facts; or requirements by their names.
    if path is not None:
        first_key, inner_keys, last_key = path.groups()
        steps = re.findall(r"\[(\d+)\]|\.([\w-]+)", inner_keys)
        keys: list[Any] = [first_key, *[int(index) if index else key for index, key in steps]]
        # Walk down to the table that the path leads to; an empty one if it leads nowhere.
        table_inside: Any = table
        for key in keys:
            is_list = isinstance(table_inside, list)
            valid_keys = range(len(table_inside)) if is_list else table_inside
            has_key = isinstance(table_inside, (dict, list)) and key in valid_keys
            table_inside = table_inside[key] if has_key else {}
        has_last_key = isinstance(table_inside, dict) and last_key in table_inside
        return [*keys, last_key] if has_last_key else keys
    required = table.get("require", ())
    for number, requirement in enumerate(required if isinstance(required, list) else ()):
        name = requirement.get("name") if isinstance(requirement, Mapping) else None
        if isinstance(name, str) and f"{name}:" in message:
            return ["require", number]
    # Last, any key of the schema that the message mentions.
    keys = [key for key in table.get("schema", {}) if re.search(rf"\b{re.escape(key)}\b", message)]
    return ["schema", keys[0]] if keys else []


# ---- changes ------------------------------------------------------------------------------------


def _draft_to_change(session: Session, inputs: Mapping[str, Any]) -> tuple[str, Draft]:
    name = session.name_of(inputs.get("of"))
    draft = session.draft(name)
    if draft is None:
        raise InputError("the policy of a certificate cannot be changed")
    return name, draft


def write_text(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the text of the policy by the one that was typed."""
    name, draft = _draft_to_change(session, inputs)
    text = inputs.get("text")
    if not isinstance(text, str) or len(text) > _MOST_TEXT:
        raise InputError("the policy must be a text of at most 1 MB")
    session.set_policy(name, draft.saying(text.replace("\r\n", "\n")))
    return overview(session, name)


def set_key(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Set the key at a path to a value, or remove it (None); return the new overview."""
    name, draft = _draft_to_change(session, inputs)
    if draft.is_broken:
        raise InputError("mend the text first: it is no TOML")
    path, value = inputs.get("path"), inputs.get("value")
    if not isinstance(path, list) or not 1 <= len(path) <= _DEEPEST:
        raise InputError("a path is a list of keys")
    # Fields of the page are texts, also those of numbers.
    if inputs.get("number") and isinstance(value, str):
        value = _number_or_text(value)
    session.set_policy(name, draft.saying(changed(draft.text, path, value)))
    return overview(session, name)


def undo(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Undo the last change."""
    name, _ = _draft_to_change(session, inputs)
    session.undo(name)
    return overview(session, name)


def use_policy_file(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Judge a table by a policy file of the folder."""
    name, file = session.name_of(inputs.get("of")), inputs.get("file")
    if session.kind_of(name) != "table" or not isinstance(file, str):
        raise InputError("open a table, and name a policy file")
    session.set_policy(name, session.load_policy(file))
    return overview(session, name)


def _number_or_text(text: str) -> Any:
    """A number in a text as a number; anything else, such as 1/3, stays a text."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return text
    return Decimal(text) if "." in text else int(text)


def save(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Write the policy into its own file, or into a new one of the folder; return the overview."""
    name, draft = _draft_to_change(session, inputs)
    file = inputs.get("file")
    if draft.mistake:
        raise InputError("the policy has a mistake; mend it before it is written")
    if file == draft.name and draft.name is not None:
        write_whole(session.path_of(draft.name), draft.text)
    else:
        if not isinstance(file, str) or not _FILE.fullmatch(file):
            raise OutputError("name a file of this folder, such as policy.toml")
        if is_device(file):
            raise OutputError(f"{file!r} is a device on Windows; choose another name")
        # A path in the policy is relative to its file, so the file cannot move.
        if draft.policy_folder.resolve() != session.folder and draft.has_paths:
            raise OutputError("the policy names files that lie beside its own; write it there")
        write_new(session.folder / file, draft.text)
        session.set_policy(name, draft.named(file, session.folder))
    return overview(session, name)


# ---- the text of a policy -----------------------------------------------------------------------

# Comments right above a header are about its table; to tomlkit they are of the table before.
_ABOVE = re.compile(r"((?:^[ \t]*#.*\n)++)(^[ \t]*\[.*\n)?", re.MULTILINE)
_BELOW = re.compile(r"(^[ \t]*\[.*\n)((?:^[ \t]*#\^above.*\n)+)", re.MULTILINE)
_COMMENT = re.compile(r"^([ \t]*#)", re.MULTILINE)


def changed(
    text: str, path: Sequence[Any], value: Any, comments: Mapping[str, str] | None = None
) -> str:
    r"""Write a policy with another value of one key, or without it (None); the rest stays.

    Where `comments` are given, the value names columns: one that was there before keeps its
    comment, and any other gets the one that is given for it.

    Raises
    ------
    InputError
        If there is no such place, or the text is laid out so that more would change.

    Examples
    --------
    >>> text = '[schema]\nsensitive = "a"  # Ours.\n\n# Nobody.\n[[require]]\nk_anonymity = 2\n'
    >>> print(changed(changed(text, ["schema", "sensitive"], "b"), ["schema", "person"], "p"))
    [schema]
    sensitive = "b"  # Ours.
    person = "p"
    <BLANKLINE>
    # Nobody.
    [[require]]
    k_anonymity = 2
    <BLANKLINE>
    """
    # Once as plain tables, for what the policy shall say; once as a document that keeps comments.
    try:
        target = from_toml(text)
        _put_value(
            target,
            path,
            value,
            lambda plain_value, *_: from_toml(f"x = {toml_value(plain_value)}")["x"],
        )
        document = tomlkit.parse(_ABOVE.sub(_inward, text))
        _put_value(document, path, value, partial(_item, comments))
        new_text = _BELOW.sub(
            lambda match: match[2].replace("#^above", "#") + match[1], tomlkit.dumps(document)
        )
        # The text is only taken if it says just that.
        if from_toml(new_text) == target:
            return new_text
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, TOMLKitError):
        pass
    raise InputError("the form cannot change this without changing more; change the text itself")


def _inward(match: re.Match[str]) -> str:
    """Comments above a header, moved below it and marked, so that they stay with its table."""
    return match[2] + _COMMENT.sub(r"\1^above", match[1]) if match[2] else match[0]


def _item(
    comments: Mapping[str, str] | None, new_value: Any, container: Any, old_value: Any = None
) -> Any:
    """A value as tomlkit stores it; an entry of an array of tables has a line for each key.

    `comments` (None: keep no comments) are those of columns, if the value names columns.
    """
    if not isinstance(container, AoT):
        toml_item = tomlkit.value(toml_value(new_value))
        return toml_item if comments is None else _columns(new_value, old_value, comments)
    table = tomlkit.table()
    for key, setting in new_value.items():
        table.add(key, tomlkit.value(toml_value(setting)))
    return table.add(tomlkit.nl())


def _columns(column_names: Any, old_item: Any, comments: Mapping[str, str]) -> Any:
    """The item for columns, each with the comments it had, or else its own from `comments`.

    `column_names` is one name or a list of names; `old_item` is what stood there before, or None.
    """
    comments_of_columns, comments_after = _comments_in(old_item)
    names = [column_names] if isinstance(column_names, str) else column_names
    # For each name: the comment lines above it, its name, and the comment beside it.
    lines, has_comments = "", bool(comments_after)
    for name in names:
        comment = f"# {comments[name]}" if comments.get(name) else ""
        comment_above, comment_beside = comments_of_columns.setdefault(name, ("", comment))
        lines += f"{comment_above}  {toml_value(name)},{comment_beside and '  '}{comment_beside}\n"
        has_comments = has_comments or bool(comment_above or comment_beside)
    text, trivia = toml_value(column_names), getattr(old_item, "trivia", None)
    # A list without any comment stays on one line.
    if names is column_names and has_comments:
        text = f"[\n{lines}{comments_after}]"
    toml_item = tomlkit.value(text)
    if trivia is not None and isinstance(column_names, str) | isinstance(old_item, str):
        trivia.comment_ws = trivia.comment = ""  # it is of the column before
    if isinstance(column_names, str):
        _, comment_beside = comments_of_columns[column_names]
        if comment_beside:
            toml_item.trivia.comment_ws = "  "
            toml_item.trivia.comment = comment_beside
    return toml_item


_MEMBER = re.compile(r"""[ \t]*("(?:[^"\\]|\\.)*"|'[^']*')[ \t]*,?[ \t]*(#.*)?""")


def _comments_in(old_item: Any) -> tuple[dict[str, tuple[str, str]], str]:
    """The comments above and beside each column of an item, and those after the last column.

    Raises `ValueError` if columns on one line share a comment.
    """
    if isinstance(old_item, String):
        return {str(old_item): ("", old_item.trivia.comment)}, ""
    comments, comment_above = dict[str, tuple[str, str]](), ""
    # Each column of the list stands on a line of its own if comments are to be told apart.
    for line in "" if old_item is None else old_item.as_string()[1:-1].splitlines():
        if member := _MEMBER.fullmatch(line):
            comments[from_toml(f"x = {member[1]}")["x"]] = comment_above, member[2] or ""
            comment_above = ""
        elif line.lstrip().startswith("#"):
            comment_above += f"{line}\n"
        elif "#" in line:
            raise ValueError("several columns share a comment")
    return comments, comment_above


def _put_value(table: Any, path: Sequence[Any], value: Any, as_item: Callable[..., Any]) -> None:
    """Put a value at a path of nested tables and lists, or remove it (None).

    `as_item` makes what is stored from a value, the table it goes into, and the value before. Of a
    table in a list, only the keys that differ change. Raises `InputError` if the path leads
    nowhere.
    """
    *parent_keys, last_key = path
    for key in parent_keys:
        if isinstance(table, dict) and isinstance(key, str):
            if key not in table:
                table[key] = {}
        elif not (isinstance(table, list) and _is_place(key, len(table))):
            raise InputError(f"there is no {key!r} in the policy")
        table = table[key]
    if isinstance(table, list):
        # One past the end of a list appends.
        is_valid, exists = _is_place(last_key, len(table) + 1), last_key in range(len(table))
    else:
        is_valid = isinstance(table, dict) and isinstance(last_key, str)
        exists = is_valid and last_key in table
    if not is_valid:
        raise InputError(f"there is no {last_key!r} in the policy")
    if isinstance(value, Mapping):
        value = {key: setting for key, setting in value.items() if setting is not None}
    if value is None:
        if exists:
            del table[last_key]
    elif isinstance(table, list) and not exists:
        table.append(as_item(value, table))
    elif isinstance(table, list) and isinstance(value, dict):
        old_table = table[last_key]
        for key in [key for key in old_table if key not in value]:
            del old_table[key]
        new_settings: dict[str, Any] = {}
        for key, setting in value.items():
            if key not in old_table or _plain(old_table[key]) != setting:
                new_settings[key] = as_item(setting, old_table)
        old_table.update(new_settings)
    else:
        table[last_key] = as_item(value, table, table[last_key] if exists else None)


def _is_place(key: Any, length: int) -> bool:
    return isinstance(key, int) and 0 <= key < length


def line_of(text: str, path: Sequence[Any]) -> int | None:
    r"""The line, from 1, in which a key is written, or its table; None where that is not found.

    >>> line_of('[schema]\nsensitive = "a"\n\n[[require]]\nbelow = 2\n', ["require", 0, "below"])
    5
    """
    key, *inner_keys = path or [""]
    # For a list of tables, such as [[require]], the number says which of them.
    asked_number = inner_keys.pop(0) if inner_keys and isinstance(inner_keys[0], int) else 0
    table_number, is_inside, best_line = -1, False, None
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            is_inner = header[2] is not None
            # The headers [key] and [[key]] count; [key.inner] belongs to the one before.
            table_number += header[1] == key and not is_inner
            is_inside = header[1] == key and max(table_number, 0) == asked_number
            if is_inside and (
                best_line is None or (is_inner and header[2] in map(str, inner_keys))
            ):
                best_line = number
        elif is_inside and (begins := _BEGINS.match(line)) and begins[1] in inner_keys:
            best_line = number
    return best_line
