"""The text of a first policy: a commented file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from foreknow.data.columns.reading_rules import EVERY_COLUMN
from foreknow.methods.proof import AS_REQUIRED
from foreknow.methods.protocol import check_needs, traits_of
from foreknow.methods.registry import PROVED, method_of
from foreknow.planning.suggestion.columns import DECIDE
from foreknow.planning.suggestion.limits import lines_of_knowledge
from foreknow.planning.suggestion.roles import FIRST_K, Role
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.toml import toml_key, toml_value
from foreknow_judge.errors import InputError
from foreknow_judge.files.printable import one_line
from foreknow_judge.text import some

if TYPE_CHECKING:
    from foreknow.planning.suggestion.policy import PolicySuggestion

_WIDTH = 94  # of comments


def lines_of(suggestion: PolicySuggestion, folder: Path) -> Iterator[str]:
    """Yield the lines of a suggested policy file that will lie in a folder, with comments."""
    policy = suggestion.policy
    yield from _heading(suggestion)
    yield ""
    yield "[schema]"
    yield from _schema_lines(suggestion)
    yield from _schema_tables(suggestion, folder)
    for requirement in policy.requirements:
        table = limit_table(requirement)
        yield ""
        if requirement.points:
            yield from _of_limit(requirement, suggestion.notes)
        yield "[[require]]"
        if requirement.criterion is not None:
            k = _k_of(table["k_anonymity"])
            remark = "" if k == FIRST_K else ", all there are"
            yield f"# Nobody is alone: groups of {k} people or more{remark}."
        yield from (f"{key} = {toml_value(setting)}" for key, setting in table.items())
    yield ""
    yield "[publish]"
    if policy.options.format is not None:
        yield "# An empty text is a value here, but in CSV it is the same as a missing one."
        yield f"format = {toml_value(policy.options.format)}"
    for key in _told_to_adversaries(policy):
        yield from _wrapped(
            "The certificate names the method. An adversary who knows the method may become surer "
            f'than the verdicts say. To withstand this adversary, too: method = "{key}", which '
            "keeps less detail"
        )
    yield f'method = "{policy.options.method}"'


def _heading(suggestion: PolicySuggestion) -> Iterator[str]:
    """Yield comments that say which table the policy is for, and what needs a decision."""
    schema = suggestion.policy.needed_schema
    rows = some(suggestion.rows, "row", "rows")
    columns = some(len(suggestion.columns), "column", "columns")
    repeated = one_line(", ".join(map(toml_value, suggestion.repeated)))
    yield f"# A first policy for {one_line(suggestion.name)}: {rows}, {columns}."
    if schema.person is not None:
        yield f"# A row is a case of the person in column {one_line(toml_value(schema.person))}."
        yield "# People are counted, and limits are about people. Read it first: roles are guesses."
    elif not {*suggestion.repeated} <= {*schema.identifiers}:
        yield f"# Rows may not be people: {repeated} repeats, and looks like a person's number."
        yield "# Read it first: roles are guesses from names and counts."
    elif suggestion.repeated:
        yield f"# Nothing is published as long as rows are not people: {repeated} repeats."
        yield "# Say what a row is. Read the rest: roles are guesses from names and counts."
    else:
        begin = "# It can be run as it is, but read it first: "
        yield f"{begin}roles are guesses from names and counts."
    remarks = (*suggestion.notes, *suggestion.costs)
    n_questions = len(suggestion.questions) + sum(note.startswith(DECIDE) for note in remarks)
    if n_questions:
        need = "One thing needs" if n_questions == 1 else f"{n_questions} things need"
        yield f'# {need} your decision: look for "{DECIDE}".'


def _schema_lines(suggestion: PolicySuggestion) -> Iterator[str]:
    """Yield the lines of the schema, without its tables: roles, and how rows and values count."""
    schema = suggestion.policy.needed_schema
    known = "Known to others: published, but coarser."
    yield from _listing(suggestion, "identifier", "identifiers", "Never published.")
    yield from _listing(suggestion, "quasi-identifier", "quasi_identifiers", known)
    for cost in suggestion.costs:
        yield from _wrapped(cost)
    for person in schema.persons:
        yield "# A row is a case, and a person may have several. This column identifies people:"
        yield 'unit = "row"'
        yield f"person = {toml_value(person)}"
    hidden = next(column for column in suggestion.columns if column.role == "sensitive")
    yield "# Must stay hidden for every person."
    yield f"sensitive = {toml_value(hidden.name)}  # {hidden.comment()}"
    for semantics in schema.several.values():
        yield "# A person has a set of them, or none."
        yield f"semantics = {toml_value(semantics)}"
    if schema.missing == "drop":
        yield "# Rows without a value are left out."
        yield 'missing = "drop"'
    elif schema.missing != "error":
        yield "# Rows without a value are published with this one."
        yield f"missing = {toml_value({'label': str(schema.missing)})}"
    undecided = []
    for column in suggestion.columns:
        if column.role == "undecided":
            undecided.append(column)
    if undecided:
        yield "# Not published, until you give them a role:"
        yield from (f"#   {toml_value(e.name)}  {e.comment()}" for e in undecided)


def _schema_tables(suggestion: PolicySuggestion, folder: Path) -> Iterator[str]:
    """Yield the lines of the tables of the schema: reading, types and hierarchies.

    Hierarchies that keep less than ranges of numbers are comments.
    """
    table = suggestion.policy.needed_schema.to_dict()
    table["hierarchies"] = {}
    not_taken = []  # columns with a hierarchy that becomes a comment
    for column in suggestion.columns:
        if column.hierarchy:
            hierarchy = _hierarchy_in_folder(folder, suggestion, column.hierarchy)
            table["hierarchies"][column.name] = hierarchy
        if column.left_out:
            not_taken.append(column)
    has_comments = {"hierarchies": bool(not_taken), "reading": bool(suggestion.codes)}
    for name in ("reading", "types", "hierarchies"):
        entries = table.get(name) or {}
        if not entries and not has_comments.get(name):
            continue
        yield from ("", *_ABOUT.get(name, ()), f"[schema.{name}]")
        if "latest_year" in entries and name == "reading":
            yield "# `latest_year`: the latest that two digits of a year may mean."
        yield from (f"{toml_key(key)} = {toml_value(entries[key])}" for key in entries)
        if name == "reading":
            yield from _of_missing(suggestion, entries.get("missing", []))
    for column in not_taken:
        hierarchy = _hierarchy_in_folder(folder, suggestion, column.left_out)
        line = f"{toml_key(column.name)} = {toml_value(hierarchy)}"
        yield f"# {one_line(line)}  # {column.left_out_why}"


def _of_missing(
    suggestion: PolicySuggestion, missing: Sequence[str] | Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield lines of a policy file on texts that are read as missing, and codes that may be.

    `missing` is what the schema declares: spellings for all columns, or for each column.
    """
    if suggestion.spellings:
        yield from _wrapped(f"{DECIDE}: {suggestion._spelled}")
    if suggestion.codes:
        instead = ", in place of the other" if missing else ""
        yield from _wrapped(f"If these numbers stand for no value, uncomment this{instead}")
        declared = missing if isinstance(missing, Mapping) else {EVERY_COLUMN: list(missing)}
        by_column = {**(declared if missing else {}), **suggestion.codes}
        yield f"# missing = {one_line(toml_value(by_column))}"


def limit_table(requirement: Requirement) -> dict[str, Any]:
    """A requirement as the file has it."""
    table = requirement.to_dict()
    return {**table, "below": requirement.points[0].below} if requirement.points else table


def _k_of(table: Any) -> int:
    """How many people k-anonymity asks for, as a policy file has it."""
    return int(table["k"] if isinstance(table, Mapping) else table)


def _told_to_adversaries(policy: Policy) -> Iterator[str]:
    """Yield the methods whose groups hold a policy also against adversaries who know the method."""
    for key in PROVED:
        with suppress(InputError):  # the method cannot be used with this policy
            method = method_of(key, policy)
            check_needs(method, policy)
            proof = traits_of(method).proof
            if proof and proof.said(policy) == AS_REQUIRED:
                yield key


def _hierarchy_in_folder(
    folder: Path, suggestion: PolicySuggestion, hierarchy: Any
) -> dict[str, Any]:
    """A hierarchy as a policy file in a folder has it."""
    table = dict(hierarchy)
    if "file" in table:
        table["file"] = Path(os.path.relpath(suggestion.folder / table["file"], folder)).as_posix()
    return table


def _wrapped(text: str) -> Iterator[str]:
    yield from (f"# {line}" for line in wrap(f"{one_line(text)}.", _WIDTH))


_ABOUT = {
    "hierarchies": [
        "# How columns coarsen. Without a line here, numbers become ranges, and texts become sets."
    ]
}


def _of_limit(requirement: Requirement, notes: Sequence[str]) -> Iterator[str]:
    """Comments on a limit: what the adversary knows, and the notes."""
    yield from lines_of_knowledge(requirement)
    for note in notes:
        yield from _wrapped(note)


def _listing(suggestion: PolicySuggestion, role: Role, key: str, what: str) -> Iterator[str]:
    columns = [column for column in suggestion.columns if column.role == role]
    if not columns:
        return
    yield f"# {what}"
    yield f"{key} = ["
    yield from (f"  {toml_value(column.name)},  # {column.comment()}" for column in columns)
    yield "]"
