"""Decisions that a policy leaves open, ways to settle them by a click, and its comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foreknow.data.tables.profile.column_profile import Profile
from foreknow.planning.suggestion.policy import PolicySuggestion
from foreknow.policy.tables import SECRET
from foreknow.toml import from_toml, toml_key, toml_value
from foreknow.wording import listing
from foreknow_judge.files.printable import one_line, visible
from foreknow_judge.text import some

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
_TO_READ = r"# (?:It can be run as it is, but read it first|Say what a row is\. Read the rest): "


@dataclass(frozen=True)
class Way:
    """A way to settle a decision: the text of a button, and the keys that it changes, in order."""

    key: str
    says: str
    changes: Sequence[tuple[list[Any], Any]]


@dataclass(frozen=True)
class Decision:
    """A decision that must be settled before anything is judged, and the ways to do so."""

    says: str
    ways: Sequence[Way]

    def to_dict(self) -> dict[str, Any]:
        """The decision and its ways out, for the page."""
        return {"says": self.says, "ways": [{"key": w.key, "says": w.says} for w in self.ways]}


def columns_in(schema: Mapping[str, Any], key: str = "sensitive") -> list[str]:
    """The columns that a key of a schema names, one or several, as a file has it."""
    names = schema.get(key, [])
    if not isinstance(names, list):
        names = [names]
    return [name for name in names if isinstance(name, str)]


def open_decisions(table: Mapping[str, Any], columns: Sequence[Profile]) -> list[Decision]:
    """The decisions that a policy leaves open for a table with these columns.

    About missing sensitive values, repeated identifiers, and requirements without a column.
    """
    schema = table.get("schema", {})
    if not isinstance(schema, Mapping):
        return []
    return [
        *_of_missing(schema, columns),
        *_of_repeated(schema, columns),
        *_of_requirements(table, columns_in(schema)),
    ]


def _of_missing(schema: Mapping[str, Any], columns: Sequence[Profile]) -> Iterator[Decision]:
    """Yield the decision about rows without a sensitive value, if it is open.

    It is open if people have one value each and the schema does not say what to do.
    """
    semantics = schema.get("semantics", "single")
    values = set[str]()
    rows: list[str] = []
    for column in columns:
        semantics_of_column = semantics
        if isinstance(semantics, Mapping):
            semantics_of_column = semantics.get(column.name, "single")
        if column.name in columns_in(schema) and column.nulls and semantics_of_column == "single":
            values.update(map(str, column.domain))
            rows.append(f"{visible(column.name)} in {some(column.nulls, 'row', 'rows')}")
    if not rows or schema.get("missing", "error") != "error":
        return
    # A label that no value of the table has.
    label = "missing"
    while label in values:
        label += "?"
    yield Decision(
        f"A sensitive value is missing: {listing(rows, n_shown=len(rows))}.",
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
    """Yield the decision about what a row is, if an identifier repeats and it is open.

    It is settled by a person column, or by rows that are cases.
    """
    identifiers = schema.get("identifiers", [])
    is_decided = schema.get("person") is not None or schema.get("unit") == "row"
    if is_decided or not isinstance(identifiers, list):
        return
    for column in columns:
        # `known` rows have a value; fewer distinct values than that means that some repeat.
        if column.name not in identifiers or column.distinct >= column.known:
            continue
        other_identifiers = []
        for name in identifiers:
            if name != column.name:
                other_identifiers.append(name)
        # Each way out is a button: its key, its text, and the changes of the policy.
        person = (["schema", "person"], column.name)
        yield Decision(
            f"The identifier {visible(column.name)} repeats: {column.known:,} rows have "
            f"{column.distinct:,} different ones, so a row is not a person.",
            [
                Way(
                    f"cases: {column.name}",
                    "Rows are cases, and people are counted",
                    [person, (["schema", "unit"], "row")],
                ),
                Way(
                    f"values: {column.name}",
                    "Rows are the values of a person",
                    [person, (["schema", "semantics"], "set")],
                ),
                Way(
                    f"no person: {column.name}",
                    "It names nobody by itself: not an identifier",
                    [(["schema", "identifiers"], other_identifiers)],
                ),
            ],
        )


def _of_requirements(
    table: Mapping[str, Any], sensitive_columns: Sequence[str]
) -> Iterator[Decision]:
    """Yield a decision for each requirement about a column that is not sensitive.

    It may be about another column, or go. Changes are pairs of a path and a value (None: remove).
    """
    for number, requirement in _requirements(table):
        column = requirement.get("sensitive")
        if not isinstance(column, str) or column in sensitive_columns:
            continue
        ways = []
        for name in sensitive_columns[:3]:
            changes = [
                (["require", number], _requirement_about(requirement, name, sensitive_columns))
            ]
            ways.append(Way(f"about: {number} {name}", f"It is about {visible(name)}", changes))
        removal = [(["require", number], None)]
        ways.append(Way(f"remove: {number}", "Remove the requirement", removal))
        yield Decision(
            f"Requirement {number + 1} is about {visible(column)}, which is not sensitive.", ways
        )


def _requirements(table: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """The requirements of a policy that are tables, each with its place in the list."""
    required = table.get("require", ())
    numbered = enumerate(required if isinstance(required, list) else ())
    return [(number, settings) for number, settings in numbered if isinstance(settings, Mapping)]


def _requirement_about(
    requirement: Mapping[str, Any], column: str, hidden: Sequence[str]
) -> dict[str, Any]:
    """The requirement, changed to be about another column, which it no longer takes as known.

    `hidden` are the sensitive columns; with only one, the requirement need not name it.
    """
    moved: dict[str, Any] = {}
    for key, value in requirement.items():
        # Values of the secret belong to the column that it was about.
        if key in (*SECRET, "sensitive"):
            continue
        moved[key] = value
        if isinstance(value, list):
            moved[key] = [name for name in value if name != column]
    return {**moved, "sensitive": column} if len(hidden) > 1 else moved


def moved_requirements(
    policy_before: Mapping[str, Any], policy_after: Mapping[str, Any]
) -> Iterator[tuple[list[Any], Any]]:
    """The changes of requirements whose column is sensitive no longer.

    They are moved to a sensitive column that no other requirement is about; where there is none,
    they go: what they kept hidden is to be hidden no longer. Yields pairs of a path and a value
    (None: remove), the last requirement first.
    """
    sensitive_columns = columns_in(policy_after.get("schema", {}))
    no_longer_sensitive = {*columns_in(policy_before.get("schema", {}))} - {*sensitive_columns}
    requirements = _requirements(policy_after)
    hidden_by_others = [requirement.get("sensitive") for _, requirement in requirements]
    free_column = next((name for name in sensitive_columns if name not in hidden_by_others), None)
    # From the end, so that removing one does not change the places of the others.
    for number, requirement in reversed(requirements):
        column = requirement.get("sensitive")
        if not isinstance(column, str) or column not in no_longer_sensitive:
            continue
        if not sensitive_columns:
            yield ["require", number, "sensitive"], None
        elif free_column is None:
            yield ["require", number], None
        else:
            moved = _requirement_about(requirement, free_column, sensitive_columns)
            yield ["require", number], moved


# ---- comments -----------------------------------------------------------------------------------


def questions(text: str) -> list[str]:
    """The questions in the comments of a policy, each after the name of its column.

    A question beside a column is one line; one on lines of its own goes on to the first full stop.
    """
    lines, sentences = text.splitlines(), []
    for number, line in enumerate(lines):
        before_sign, sign, question = line.partition(_QUESTION)
        if not sign or "#" not in before_sign:
            continue
        if before_sign.strip() != "#":
            column = _QUOTED.search(before_sign)
            sentences.append(f"{column[1]}: {question}" if column else question)
            continue
        for next_line in lines[number + 1 :]:
            if question.endswith(".") or not next_line.startswith("# "):
                break
            question += f" {next_line.removeprefix('# ')}"
        sentences.append(question)
    return sentences


def comments_of(roles: Mapping[str, str], suggested: PolicySuggestion | None) -> dict[str, str]:
    """The comment of each column in its role; none where no roles were suggested."""
    comments: dict[str, str] = {}
    for column in () if suggested is None else suggested.columns:
        role = roles.get(column.name) or "undecided"
        comments[column.name] = column.comment(role)
    return comments


def without_stale_comments(
    text: str,
    roles_before: Mapping[str, str],
    roles: Mapping[str, str],
    suggested: PolicySuggestion | None,
) -> str:
    """The policy text without comments on the roles that columns had before.

    The number of decisions in its headline is counted again. The text is unchanged if removing
    comments would alter what the policy says.
    """
    changed = [name for name in roles if roles[name] != roles_before[name]]
    if not changed:
        return text
    policy_text = _with_list_of_others(text, roles, suggested)
    policy_text = _without_column_comments(policy_text, changed, roles)
    stale_notes = _stale_notes(changed, roles_before, roles, suggested)
    policy_text = _with_counted_questions(_without_notes(policy_text, stale_notes))
    return policy_text if from_toml(policy_text) == from_toml(text) else text


def _without_column_comments(text: str, changed: Sequence[str], roles: Mapping[str, str]) -> str:
    """The policy without comments on the changed columns in its head and on hierarchies."""
    quoted = "|".join(re.escape(toml_value(name)) for name in changed)
    comment_lines = re.compile(rf"^# .*(?:{quoted}).*\n", re.MULTILINE)
    policy_text = _HEAD.sub(lambda matched: comment_lines.sub("", matched[0]), text, count=1)
    for name in changed:
        if roles[name] != "quasi-identifier":
            hierarchy_line = rf"^# {re.escape(toml_key(name))} = {{.*\n"
            policy_text = re.sub(hierarchy_line, "", policy_text, flags=re.MULTILINE)
    return policy_text


def _stale_notes(
    changed: Sequence[str],
    roles_before: Mapping[str, str],
    roles: Mapping[str, str],
    suggested: PolicySuggestion | None,
) -> list[str]:
    """The suggested notes that were counted with columns in the roles that they had before."""
    if suggested is None:
        return []
    notes = [*suggested.notes, *suggested.costs]
    # Notes about costs count with the sensitive columns: if these change, all notes are stale.
    if any("sensitive" in (roles_before[name], roles[name]) for name in changed):
        return notes
    return [note for note in notes if any(repr(name) in note for name in changed)]


def _without_notes(text: str, notes: Sequence[str]) -> str:
    """The policy without the comments that say these notes, in one line or several."""
    for note in notes:
        # Words of a note with a line break and "# " anywhere between them.
        pattern = r"\s+(?:# )?".join(map(re.escape, one_line(f"{note}.").split()))
        text = re.sub(rf"^# {pattern}\n", "", text, flags=re.MULTILINE)
    return text


def _with_counted_questions(text: str) -> str:
    """The policy with the number of its open decisions in the headline."""
    policy_text = re.sub(_TO_READ, "# Read it first: ", text)
    n_questions = policy_text.count(_QUESTION)
    need = "One thing needs" if n_questions == 1 else f"{n_questions} things need"
    headline = f'# {need} your decision: look for "DECIDE".\n' if n_questions else ""
    return _HOW_MANY.sub(headline, policy_text)


def _with_list_of_others(
    text: str, roles: Mapping[str, str], suggested: PolicySuggestion | None
) -> str:
    """The policy with a list, in comments, of the columns that have no role.

    Unchanged if it had no such list and no roles were suggested.
    """
    listed = _LIST.search(text)
    if listed is None and suggested is None:
        return text
    listed_lines = _LISTED.finditer(listed[1]) if listed else ()
    # Columns that were listed keep their line.
    lines = {from_toml(f"x = {line[1]}")["x"]: line[0] for line in listed_lines}
    comments = comments_of(roles, suggested)
    comment_lines = []
    for name, role in roles.items():
        if not role:
            new_line = f"#   {toml_value(name)}  {comments.get(name, '')}".rstrip()
            comment_lines.append(lines.get(name, new_line))
    block = "\n".join([_WITHOUT_ROLE, *comment_lines, ""]) if comment_lines else ""
    return _SCHEMA.sub(lambda schema: schema[0] + block, _LIST.sub("", text), count=1)
