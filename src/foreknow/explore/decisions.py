"""Decisions: what a policy leaves open, with ways out of one click; its comments stay true."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foreknow.data.engines.profile import Profile
from foreknow.planning.suggestion import PolicySuggestion
from foreknow.policy.tables import SECRET
from foreknow.report.words import listing, some, visible
from foreknow.toml import from_toml, toml_key, toml_value
from foreknow_judge.printed import one_line

_QUESTION = "DECIDE: "
_WITHOUT_ROLE = "# Not published, until you give them a role:"
_HOW_MANY = re.compile(
    r'^# (?:One thing needs|\d+ things need) your decision: look for "DECIDE"\.\n', re.MULTILINE
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')  # the first of a line is its column
_LIST = re.compile(rf"^{_WITHOUT_ROLE}\n((?:#   .*\n)*)", re.MULTILINE)
_LISTED = re.compile(r'#   ("(?:[^"\\]|\\.)*").*')
_HEAD = re.compile(r"\A(?:#.*\n)*")
_SCHEMA = re.compile(r"^\[schema\]\n(?:.+\n)*", re.MULTILINE)
_TO_READ = r"# (?:It can be published as it is\. Read it first|Say what a row is\. Read the rest): "


@dataclass(frozen=True)
class Way:
    """A way out: what a button says, and which keys of the policy it changes, in this order."""

    key: str
    says: str
    changes: Sequence[tuple[list[Any], Any]]


@dataclass(frozen=True)
class Decision:
    """Something without which nothing is judged, and the ways out."""

    says: str
    ways: Sequence[Way]

    def to_dict(self) -> dict[str, Any]:
        """What the page shows."""
        return {"says": self.says, "ways": [{"key": w.key, "says": w.says} for w in self.ways]}


def columns_in(schema: Mapping[str, Any], key: str = "sensitive") -> list[str]:
    """The columns that a key of a schema names, one or several, as a file has it."""
    named = schema.get(key, [])
    return [
        name for name in (named if isinstance(named, list) else [named]) if isinstance(name, str)
    ]


def open_decisions(table: Mapping[str, Any], columns: Sequence[Profile]) -> list[Decision]:
    """What is open of a policy, by what the columns of its table hold."""
    schema = table.get("schema", {})
    if not isinstance(schema, Mapping):
        return []
    return [
        *_of_missing(schema, columns),
        *_of_repeated(schema, columns),
        *_of_requirements(table, columns_in(schema)),
    ]


def _of_missing(schema: Mapping[str, Any], columns: Sequence[Profile]) -> Iterator[Decision]:
    """What becomes of rows without a sensitive value."""
    how = schema.get("semantics", "single")
    lacking = [
        column
        for column in columns
        if column.name in columns_in(schema) and column.nulls
        if (how.get(column.name, "single") if isinstance(how, Mapping) else how) == "single"
    ]
    if not lacking or schema.get("missing", "error") != "error":
        return
    label, taken = "missing", {str(value) for column in lacking for value in column.domain}
    while label in taken:
        label += "?"
    rows = [f"{visible(own.name)} in {some(own.nulls, 'row', 'rows')}" for own in lacking]
    yield Decision(
        f"A sensitive value is missing: {listing(rows, most=len(rows))}.",
        [
            Way("missing: drop", "Leave these rows out", [(["schema", "missing"], "drop")]),
            Way(
                "missing: label",
                f"Publish them with the value “{label}”",
                [(["schema", "missing"], {"label": label})],
            ),
        ],
    )


def _of_repeated(schema: Mapping[str, Any], columns: Sequence[Profile]) -> Iterator[Decision]:
    """What a row is, where an identifier repeats."""
    identifiers = schema.get("identifiers", [])
    told = schema.get("person") is not None or schema.get("unit") == "row"
    if told or not isinstance(identifiers, list):
        return
    for own in columns:
        if own.name not in identifiers or own.distinct >= own.known:
            continue
        left = [name for name in identifiers if name != own.name]
        person = (["schema", "person"], own.name)
        yield Decision(
            f"The identifier {visible(own.name)} repeats: {own.known:,} rows have "
            f"{own.distinct:,} different ones, so a row is not a person.",
            [
                Way(
                    f"cases: {own.name}",
                    "Rows are cases, and people are counted",
                    [person, (["schema", "unit"], "row")],
                ),
                Way(
                    f"values: {own.name}",
                    "Rows are the values of a person",
                    [person, (["schema", "semantics"], "set")],
                ),
                Way(
                    f"no person: {own.name}",
                    "It names nobody by itself: not an identifier",
                    [(["schema", "identifiers"], left)],
                ),
            ],
        )


def _of_requirements(table: Mapping[str, Any], hidden: Sequence[str]) -> Iterator[Decision]:
    """Which column a requirement is about, where its own is not sensitive."""
    for place, own in _requirements(table):
        column = own.get("sensitive")
        if not isinstance(column, str) or column in hidden:
            continue
        yield Decision(
            f"Requirement {place + 1} is about {visible(column)}, which is not sensitive.",
            [
                *(
                    Way(
                        f"about: {place} {name}",
                        f"It is about {visible(name)}",
                        [(["require", place], _about(own, name, hidden))],
                    )
                    for name in hidden[:3]
                ),
                Way(f"remove: {place}", "Remove the requirement", [(["require", place], None)]),
            ],
        )


def _requirements(table: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """The requirements of a policy, with their places."""
    required = table.get("require", ())
    listed = enumerate(required if isinstance(required, list) else ())
    return [(place, own) for place, own in listed if isinstance(own, Mapping)]


def _about(own: Mapping[str, Any], column: str, hidden: Sequence[str]) -> dict[str, Any]:
    """A requirement about another column: all of its values, and no longer known itself."""
    moved = {
        key: [name for name in value if name != column] if isinstance(value, list) else value
        for key, value in own.items()
        if key not in (*SECRET, "sensitive")
    }
    return {**moved, "sensitive": column} if len(hidden) > 1 else moved


def moved_requirements(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[list[Any], Any]]:
    """The changes of requirements whose column is sensitive no longer.

    They are about a sensitive column that no other requirement is about; where there is none, they
    go: what they kept hidden is to be hidden no longer.
    """
    hidden = columns_in(after.get("schema", {}))
    gone = {*columns_in(before.get("schema", {}))} - {*hidden}
    required = _requirements(after)
    named = [own.get("sensitive") for _, own in required]
    left = [name for name in hidden if name not in named]
    for place, own in reversed(required):
        column = own.get("sensitive")
        if not isinstance(column, str) or column not in gone:
            continue
        if not hidden:
            yield ["require", place, "sensitive"], None
        else:
            yield ["require", place], _about(own, left[0], hidden) if left else None


# ---- comments -----------------------------------------------------------------------------------


def questions(text: str) -> list[str]:
    """What the comments of a policy ask for, a sentence each; of a column, after its name."""
    lines, asked = text.splitlines(), []
    for place, line in enumerate(lines):
        start, sign, question = line.partition(_QUESTION)
        if not sign or "#" not in start:
            continue
        if start.strip() != "#":
            column = _QUOTED.search(start)
            asked.append(f"{column[1]}: {question}" if column else question)
            continue
        for more in lines[place + 1 :]:
            if question.endswith(".") or not more.startswith("# "):
                break
            question += f" {more.removeprefix('# ')}"
        asked.append(question)
    return asked


def comments_of(roles: Mapping[str, str], suggested: PolicySuggestion | None) -> dict[str, str]:
    """The comment of each column in its role; none where no roles were suggested."""
    columns = () if suggested is None else suggested.columns
    return {own.name: own.comment(roles.get(own.name) or "undecided") for own in columns}


def with_true_comments(
    text: str,
    before: Mapping[str, str],
    roles: Mapping[str, str],
    suggested: PolicySuggestion | None,
) -> str:
    """A policy whose comments by themselves are about the columns in the roles that they have."""
    moved = [name for name in roles if roles[name] != before[name]]
    if not moved:
        return text
    made = _with_list_of_others(text, roles, suggested)
    quoted = "|".join(re.escape(toml_value(name)) for name in moved)
    about = re.compile(rf"^# .*(?:{quoted}).*\n", re.MULTILINE)
    made = _HEAD.sub(lambda head: about.sub("", head[0]), made, count=1)
    for name in moved:
        if roles[name] != "quasi-identifier":  # how it might coarsen
            made = re.sub(rf"^# {re.escape(toml_key(name))} = {{.*\n", "", made, flags=re.MULTILINE)
    secret = any("sensitive" in (before[name], roles[name]) for name in moved)
    notes = (*suggested.notes, *suggested.costs) if suggested else ()
    for note in notes:  # what was counted of columns in other roles
        if not (secret or any(repr(name) in note for name in moved)):
            continue
        words = r"\s+(?:# )?".join(map(re.escape, one_line(f"{note}.").split()))
        made = re.sub(rf"^# {words}\n", "", made, flags=re.MULTILINE)
    made = re.sub(_TO_READ, "# Read it first: ", made)
    left = made.count(_QUESTION)
    need = "One thing needs" if left == 1 else f"{left} things need"
    many = f'# {need} your decision: look for "DECIDE".\n' if left else ""
    made = _HOW_MANY.sub(many, made)
    return made if from_toml(made) == from_toml(text) else text


def _with_list_of_others(
    text: str, roles: Mapping[str, str], suggested: PolicySuggestion | None
) -> str:
    """The same with a list of the columns without a role, where there was one or is to be one."""
    listed = _LIST.search(text)
    if listed is None and suggested is None:
        return text
    found = _LISTED.finditer(listed[1]) if listed else ()
    lines = {from_toml(f"x = {line[1]}")["x"]: line[0] for line in found}
    comments = comments_of(roles, suggested)
    others = [
        lines.get(name, f"#   {toml_value(name)}  {comments.get(name, '')}".rstrip())
        for name, role in roles.items()
        if not role
    ]
    block = "\n".join([_WITHOUT_ROLE, *others, ""]) if others else ""
    return _SCHEMA.sub(lambda schema: schema[0] + block, _LIST.sub("", text), count=1)
