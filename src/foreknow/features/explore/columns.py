"""The columns view: what each column holds, which role it has, and how it coarsens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria.registry import CRITERIA
from foreknow.data.columns.hierarchy import hierarchy_from
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.tables.profile.column_profile import Profile, profiles, reading_of
from foreknow.data.tables.sources import open_table
from foreknow.errors import HierarchyError, SchemaError
from foreknow.features.explore.decisions import (
    Decision,
    columns_in,
    comments_of,
    moved_requirements,
    open_decisions,
    questions,
    without_stale_comments,
)
from foreknow.features.explore.policy import changed
from foreknow.features.explore.session import Draft, Session
from foreknow.report.blocks import Table
from foreknow.report.pages.audit import coarsening
from foreknow.report.values import table_values
from foreknow.toml import from_toml
from foreknow_judge.errors import InputError
from foreknow_judge.files.printable import visible
from foreknow_judge.text import number

# The key of each role in a policy.
_KEYS = {
    "person": "person",
    "identifier": "identifiers",
    "quasi-identifier": "quasi_identifiers",
    "sensitive": "sensitive",
    "other": "other",
}
ROLES = (*_KEYS, "")
_PURPOSE = "say what columns are"
_EXAMPLES, _ROWS, _MOST_VALUES, _MOST_NAMED = 3, 8, 5000, 5


def overview(session: Session, asked_name: Any) -> dict[str, Any]:
    """The page's view of a table: every column with its role, and what is left open.

    `asked_name` is the table's name in the session; None: the one that was opened first.
    """
    name, draft = session.table_of(asked_name, _PURPOSE)
    reasons, mistake = _reasons(session, name), ""
    # A policy that cannot be read still lets the columns be shown.
    try:
        schema = _schema_of(draft)
    except InputError as error:
        schema, mistake = {}, str(error)
    rows, columns = 0, []
    for profile in _profiles_of(session, name):
        rows = max(rows, profile.rows)
        columns.append(_column(profile, schema, reasons.get(profile.name, {})))
    return {
        "name": visible(name),
        "rows": rows,
        "columns": columns,
        "mistake": mistake or draft.mistake,
        "roles": ROLES,
        "rows_are": _rows_are(schema),
        "undo": session.can_undo(name),
        "open": [decision.to_dict() for decision in _open(session, name, draft)],
        "questions": list(map(visible, questions(draft.text))),
    }


def _open(session: Session, name: str, draft: Draft) -> list[Decision]:
    """The decisions that the policy leaves open."""
    if draft.is_broken:
        return []
    return open_decisions(from_toml(draft.text), _profiles_of(session, name))


def _schema_of(draft: Draft) -> dict[str, Any]:
    """The [schema] of a draft as plain tables; refused if it is not laid out as such."""
    try:
        schema = from_toml(draft.text).get("schema", {})
    except ValueError as error:
        raise SchemaError(f"the policy is not valid TOML: {error}") from None
    if not isinstance(schema, dict):
        raise SchemaError("schema is no table in the policy")
    for key in ("hierarchies", "types"):
        if not isinstance(schema.get(key, {}), dict):
            raise SchemaError(f"schema.{key} is no table in the policy")
    return schema


def _reasons(session: Session, name: str) -> dict[str, dict[str, str]]:
    """The suggested role of each column, with the reason and the question.

    Empty if the table was opened with a policy, so that nothing was suggested.
    """
    suggestion = session.suggested(name)
    if suggestion is None:
        return {}
    reasons: dict[str, dict[str, str]] = {}
    for column in suggestion.columns:
        role = "" if column.role == "undecided" else column.role
        reason = {"role": role, "reason": column.reason, "question": column.question}
        reasons[column.name] = reason
    return reasons


def _profile_columns(session: Session, name: str) -> list[Profile]:
    """A profile of each column; read a second time if its values suggest another reading.

    A reading is how texts become numbers and dates, such as by decimal commas.
    """
    reading = _reading(session, name)
    table = open_table(session.path_of(name), reading)
    columns = profiles(table, reading)
    detected = reading_of(columns, reading)
    return profiles(table, detected) if detected != reading else columns


def _profiles_of(session: Session, name: str) -> list[Profile]:
    """A profile of each column, read as the policy says."""
    key = f"{name}: {_reading(session, name)}"
    return session.profiles(key, lambda: _profile_columns(session, name))


def _reading(session: Session, name: str) -> Reading:
    """The reading of values that the policy states; the usual one if it is not valid."""
    draft = session.draft(name)
    try:
        return Reading.of({} if draft is None else _schema_of(draft).get("reading", {}))
    except InputError:  # said elsewhere
        return Reading()


def _column(
    profile: Profile, schema: Mapping[str, Any], reason: Mapping[str, str]
) -> dict[str, Any]:
    """The page's view of a column: its contents, its role with the reason, and its hierarchy."""
    hierarchies = schema.get("hierarchies", {})
    hierarchy = hierarchies.get(profile.name) if isinstance(hierarchies, Mapping) else None
    role = _role(profile.name, schema)
    reason = reason if reason.get("role") == role else {}  # it is about the suggested role
    return {
        "name": profile.name,
        "shown": visible(profile.name),
        "kind": profile.kind or "not readable",
        "holds": profile.said,
        "distinct": number(profile.distinct),
        "nulls": number(profile.nulls),
        "examples": list(map(visible, _frequent(profile)[:_EXAMPLES])),
        "problem": profile.problem,
        "role": role,
        "reason": reason.get("reason", ""),
        "question": reason.get("question", ""),
        "hierarchy": None if hierarchy is None else json.loads(json.dumps(hierarchy, default=str)),
        "coarsens": coarsening(hierarchy) if isinstance(hierarchy, Mapping) else "",
    }


def _rows_are(schema: Mapping[str, Any]) -> str | None:
    """The policy's word for what the rows of one person are: "row" for cases, or a semantics.

    None without a person column, or if sensitive columns differ in that.
    """
    if schema.get("person") is None:
        return None
    how = schema.get("semantics", "single")
    return "row" if schema.get("unit") == "row" else how if isinstance(how, str) else None


def _role(name: str, schema: Mapping[str, Any]) -> str:
    """The role of a column in a schema; empty if it has none."""
    for role, key in _KEYS.items():
        if name in columns_in(schema, key):
            return role
    return ""


def _frequent(profile: Profile) -> list[Any]:
    """Some values of a column, the most frequent first; none if it was not counted."""
    if profile.people is None or not len(profile.domain):
        return []
    order = np.argsort(-profile.people[: len(profile.domain)], kind="stable")[:_ROWS]
    return [profile.domain[i] for i in order.tolist()]


# ---- changes ------------------------------------------------------------------------------------


def set_role(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Write the role of a column, and its hierarchy, into the policy; return the new overview."""
    name, draft = session.table_of(inputs.get("of"), _PURPOSE)
    column, role = inputs.get("column"), inputs.get("role")
    if role not in ROLES:
        raise InputError(f"a role is one of {', '.join(filter(None, ROLES))}")
    profiles = _profiles_of(session, name)
    column_names = [profile.name for profile in profiles]
    if column not in column_names:
        raise InputError(f"there is no column {column!r}")
    if draft.is_broken:
        raise InputError("mend the text first: it is no TOML")
    schema = _schema_of(draft)
    roles_before = {header: _role(header, schema) for header in column_names}
    roles = dict(roles_before)
    # Another person column becomes an identifier.
    if role == "person":  # there is one such column
        persons = [header for header in column_names if roles[header] == role]
        roles |= dict.fromkeys(persons, "identifier")
    roles[column] = role
    suggested = session.suggested(name)
    # Changes go into the text key by key, so that everything else in it stays.
    comments, text = comments_of(roles, suggested), draft.text
    for path, value in _role_edits(schema, roles_before, roles):
        text = changed(text, ["schema", *path], value, comments)
    for path, value in _coarsening_edits(schema, roles, column, inputs):
        text = changed(text, ["schema", *path], value)
    # Requirements follow their columns: they must name them once there are several sensitive ones.
    text = _name_sensitive(text, schema, from_toml(text).get("schema", {}))
    for path, value in [*moved_requirements(from_toml(draft.text), from_toml(text))]:
        text = changed(text, path, value)
    text = without_stale_comments(text, roles_before, roles, suggested)
    session.set_policy(name, draft.saying(text))
    return overview(session, name)


def decide(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out a chosen way to settle an open decision; return the new overview.

    The way is named by its key; it must be one of those that the policy offers now.
    """
    name, draft = session.table_of(inputs.get("of"), _PURPOSE)
    ways = chain.from_iterable(decision.ways for decision in _open(session, name, draft))
    chosen = [way for way in ways if way.key == inputs.get("way")]
    if not chosen:
        raise InputError("the policy does not leave this open any more; look at it again")
    way = chosen[0]
    column_names, text = [profile.name for profile in _profiles_of(session, name)], draft.text
    for path, value in way.changes:
        # Lists of columns keep the comments of those columns.
        lists_columns = path[0] == "schema" and path[-1] in _KEYS.values()
        text = changed(text, path, value, {} if lists_columns else None)
    schema_before, schema = _schema_of(draft), _schema_of(draft.saying(text))
    roles_before = {column: _role(column, schema_before) for column in column_names}
    roles = {column: _role(column, schema) for column in column_names}
    text = without_stale_comments(text, roles_before, roles, session.suggested(name))
    session.set_policy(name, draft.saying(text))
    return overview(session, name)


def _role_edits(
    schema: Mapping[str, Any], roles_before: Mapping[str, str], roles: Mapping[str, str]
) -> Iterator[tuple[list[Any], Any]]:
    """Yield the keys of the schema whose columns change, with the columns that they get.

    Pairs of a path and a value; None removes the key. A key keeps its order, and new columns come
    last.
    """
    for role, key in _KEYS.items():
        listed = columns_in(schema, key)
        names = []
        for column in listed:
            # Columns without a profile (the table lacks them) stay where they are.
            if roles.get(column) in (role, roles_before.get(column)):
                names.append(column)
        names += [column for column in roles if roles[column] == role and column not in names]
        if names == listed:
            continue
        # One column is written as a text, several as a list.
        is_one_name = key in ("person", "sensitive") and len(names) == 1
        yield [key], names[0] if is_one_name else None if key == "person" else names


def _coarsening_edits(
    schema: Mapping[str, Any], roles: Mapping[str, str], column: str, inputs: Mapping[str, Any]
) -> Iterator[tuple[list[Any], Any]]:
    """Yield the changes of hierarchies and types that the new roles need.

    Pairs of a path and a value; None removes the key. Columns that get another role lose theirs.
    """
    allowed = {"hierarchies": ("quasi-identifier", "sensitive"), "types": ("quasi-identifier",)}
    hierarchy = inputs.get("hierarchy")
    if hierarchy is not None and roles[column] in allowed["hierarchies"]:
        yield ["hierarchies", column], hierarchy
    elif "hierarchy" in inputs and column in schema.get("hierarchies", {}):
        yield ["hierarchies", column], None
    for key, allowed_roles in allowed.items():
        misplaced = []
        for name in schema.get(key, {}):
            if roles.get(name) not in allowed_roles:
                misplaced.append(name)
        yield from (([key, name], None) for name in misplaced)


def _name_sensitive(
    text: str, schema_before: Mapping[str, Any], schema_after: Mapping[str, Any]
) -> str:
    """The policy text, in which requirements name their column if there are several to choose from.

    If there was one sensitive column before, requirements without a column were about that one.
    """
    first_sensitive, sensitive_after = schema_before.get("sensitive"), schema_after.get("sensitive")
    first_sensitive = (
        first_sensitive[0]
        if isinstance(first_sensitive, list) and len(first_sensitive) == 1
        else first_sensitive
    )
    if (
        not isinstance(first_sensitive, str)
        or not isinstance(sensitive_after, list)
        or first_sensitive not in sensitive_after
    ):
        return text
    # Criteria that only count people are about no sensitive column.
    keys = {*ADVERSARIES, *(key for key, kind in CRITERIA.items() if not kind.of_people)}
    required = from_toml(text).get("require", ())
    for position, requirement in enumerate(required if isinstance(required, list) else ()):
        if (
            isinstance(requirement, Mapping)
            and keys & requirement.keys()
            and "sensitive" not in requirement
        ):
            text = changed(text, ["require", position, "sensitive"], first_sensitive)
    return text


def preview(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The page's view of a hierarchy on a column: levels, labels, and values it lacks."""
    name, draft = session.table_of(inputs.get("of"), _PURPOSE)
    column = inputs.get("column")
    table = inputs.get("hierarchy")
    if not isinstance(table, Mapping) or not isinstance(column, str):
        raise InputError("a hierarchy is a table, such as { mask = 5 }")
    draft.check_paths(table)
    hierarchy = hierarchy_from(table, column, draft.policy_folder)
    by_name = {profile.name: profile for profile in _profiles_of(session, name)}
    described = by_name.get(column)
    if described is None or not len(described.domain):
        raise InputError(f"there is no column {column!r} with values")
    domain: list[Any] = list(described.domain[:_MOST_VALUES])
    # Intervals and dates take values as they are, the others texts.
    if "intervals" not in table and "dates" not in table:
        domain = list(map(str, domain))
    covered, uncovered_with_reasons = _split_covered(hierarchy, domain, column)
    levels = hierarchy.levels(covered, column, None) if covered else None
    rows = list(_label_rows(levels, covered, described)) if levels is not None else []
    # A column of the table for each level, and a last row with the number of labels.
    titles, counts = ["value"], ["how many"]
    for level, labels in enumerate(() if levels is None else levels.labels, 1):
        titles.append(f"level {level}")
        counts.append(number(len(labels)))
    table_of_levels = Table(titles, [*rows, counts] if rows else [], left=range(len(titles)))
    return {
        "levels": table_values(table_of_levels),
        "covered": len(covered),
        "left": len(uncovered_with_reasons),
        "missing": [visible(value) for value, _ in uncovered_with_reasons[:_MOST_NAMED]],
        "why": next((reason for _, reason in uncovered_with_reasons), ""),
        "cut": described.distinct > len(domain),
    }


def _split_covered(
    hierarchy: Any, domain: Sequence[Any], column: str
) -> tuple[list[Any], list[Any]]:
    """The values that a hierarchy has a place for; and the others, each with the reason.

    All at once first, which is much faster; one by one only if that fails.
    """
    try:
        hierarchy.levels(domain, column, None)
        return list(domain), []
    except HierarchyError:
        pass
    covered, uncovered = [], []
    for value in domain:
        try:
            hierarchy.levels([value], column, None)
            covered.append(value)
        except HierarchyError as error:
            uncovered.append((value, str(error)))
    return covered, uncovered


def _label_rows(levels: Any, covered: Sequence[Any], profile: Profile) -> Iterator[tuple[str, ...]]:
    """Yield some values with their labels at each level, evenly spread over the hierarchy."""
    order = levels.order.tolist()
    step = max(1, len(order) // _ROWS)
    for leaf in range(0, len(order), step):
        labels = []
        for nodes, names in zip(levels.ancestors, levels.labels, strict=True):
            node = int(nodes[leaf])
            labels.append(visible(names[node]))
        yield visible(covered[order[leaf]]), *labels
