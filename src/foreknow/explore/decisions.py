"""Decisions: what a policy leaves open, with ways out of one click; its comments stay true."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foreknow.data.engines.profile import Profile
from foreknow.planning.suggestion import PolicySuggestion
from foreknow.report.words import listing, some, visible
from foreknow.toml import from_toml, toml_value
from foreknow_judge.grammar import SECRET
from foreknow_judge.printed import one_line

_QUESTION = "DECIDE: "
_WITHOUT_ROLE = "# Not published, until you give them a role:"
_HOW_MANY = re.compile(
    r'^# (?:One thing needs|\d+ things need) your decision: look for "DECIDE"\.\n', re.MULTILINE
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')  # the first of a line is its column


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


def hidden_columns(schema: Mapping[str, Any]) -> list[str]:
    """The sensitive columns of a schema as a file has it."""
    hidden = schema.get("sensitive", [])
    listed = hidden if isinstance(hidden, list) else [hidden]
    return [name for name in listed if isinstance(name, str)]


def open_decisions(table: Mapping[str, Any], columns: Sequence[Profile]) -> list[Decision]:
    """What is open of a policy, by what the columns of its table hold."""
    schema = table.get("schema", {})
    if not isinstance(schema, Mapping):
        return []
    return [
        *_of_missing(schema, columns),
        *_of_repeated(schema, columns),
        *_of_requirements(table, hidden_columns(schema)),
    ]


def _of_missing(schema: Mapping[str, Any], columns: Sequence[Profile]) -> Iterator[Decision]:
    """What becomes of rows without a sensitive value."""
    how = schema.get("semantics", "single")
    lacking = [
        column
        for column in columns
        if column.name in hidden_columns(schema) and column.nulls
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
                    [(["schema", "identifiers"], left or None)],
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
    hidden = hidden_columns(after.get("schema", {}))
    gone = {*hidden_columns(before.get("schema", {}))} - {*hidden}
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


def with_true_comments(
    text: str, roles: Mapping[str, str], suggested: PolicySuggestion | None
) -> str:
    """A policy without the comments on suggested roles that columns have no longer."""
    if suggested is None:
        return text
    made = text
    many_secrets = sum(role == "sensitive" for role in roles.values()) > 1
    for own in suggested.columns:
        role = "" if own.role == "undecided" else own.role
        if roles.get(own.name) == role and not (many_secrets and role == "sensitive"):
            continue
        about = re.escape(one_line(f"{own.holds}; {own.reason}"))
        listed = re.escape(f"#   {toml_value(own.name)}  ")
        made = re.sub(rf"^{listed}{about}.*\n", "", made, flags=re.MULTILINE)
        made = re.sub(rf"[ \t]*# {about}.*$", "", made, flags=re.MULTILINE)
        if role == "sensitive":  # what was counted was how sure somebody can be of this column
            for note in (*suggested.notes, *suggested.costs):
                words = r"\s+(?:# )?".join(map(re.escape, one_line(f"{note}.").split()))
                made = re.sub(rf"^# {words}\n", "", made, flags=re.MULTILINE)
    if made == text:
        return text
    made = re.sub(rf"^{_WITHOUT_ROLE}\n(?!#   )", "", made, flags=re.MULTILINE)
    made = made.replace("# It can be published as it is. Read it first: ", "# Read it first: ")
    left = made.count(_QUESTION)
    need = "One thing needs" if left == 1 else f"{left} things need"
    many = f'# {need} your decision: look for "DECIDE".\n' if left else ""
    made = _HOW_MANY.sub(many, made)
    return made if from_toml(made) == from_toml(text) else text
