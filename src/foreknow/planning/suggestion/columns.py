"""Columns of a first policy: each with its role and the reason, and the schema they make."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from foreknow.call_hints import Plain
from foreknow.data.columns.reading_rules import BLANKS, Reading
from foreknow.data.people.number_names import are_codes, is_of_rows
from foreknow.data.schema import Schema
from foreknow.data.tables.profile.column_advice import doubts, separator_of
from foreknow.data.tables.profile.column_profile import Profile
from foreknow.data.tables.profile.column_words import words_of
from foreknow.data.tables.profile.reading_options import has_pointed_thousands
from foreknow.planning.suggestion.hierarchies import HierarchyFile, hierarchy_of
from foreknow.planning.suggestion.missing_codes import missing_codes, question_of
from foreknow.planning.suggestion.roles import (
    AMBIGUOUS,
    FEW_VALUES_LEFT,
    KNOWN,
    NAMED,
    NONE_LEFT,
    SECRET,
    WORDING,
    Role,
    Roles,
    Rows,
    why_unlistable,
)
from foreknow.toml import toml_value
from foreknow_judge.files.printable import one_line

PUBLISHED = ("quasi-identifier", "sensitive")  # roles
_DECADE = 10  # of dates that may as well be a hundred years later
DECIDE = "DECIDE"


@dataclass(frozen=True)
class ColumnSuggestion(Plain):
    """The suggested role of a column, with the reason.

    Attributes
    ----------
    name : str
        The name of the column.
    role : "identifier", "quasi-identifier", "sensitive" or "undecided"
        An undecided column has no role in the policy: it is not published.
    holds : str
        A summary of its values, such as "74 values, numbers 17 to 90".
    reason : str
        Why this role is suggested.
    hierarchy : mapping, optional
        How its values can be coarsened, as in a policy file; None: no hierarchy is suggested.
    question : str
        What the user has to decide; empty if nothing.
    left_out : mapping, optional
        A hierarchy that was tried but keeps less than ranges do; None if there is none.
    left_out_why : str
        How much less `left_out` keeps.
    """

    name: str
    role: Role
    holds: str
    reason: str
    hierarchy: Mapping[str, Any] | None = None
    question: str = ""
    left_out: Mapping[str, Any] | None = None
    left_out_why: str = ""

    def comment(self, role: str | None = None) -> str:
        """The comment beside a column; in a role other than the suggested one, only its summary."""
        if role not in (None, self.role):
            return one_line(self.holds)
        question = f". {DECIDE}: {self.question}" if self.question else ""
        return one_line(f"{self.holds}; {self.reason}{question}")


def schema_of(
    profiles: Sequence[Profile],
    roles: Roles,
    reading: Reading,
    folder: Path,
    files: Mapping[str, HierarchyFile],
    repeated: Sequence[str],
    rows_are: Rows,
) -> tuple[Schema, list[ColumnSuggestion]]:
    """The schema of a first policy, and the suggestion for each column.

    Parameters
    ----------
    profiles, roles
        What the columns hold, and the role that was guessed of each.
    reading : Reading
        How texts are written.
    folder : Path
        Where hierarchy files lie.
    files : mapping of column to HierarchyFile
    repeated : sequence of str
        Columns that look like numbers of people, or name them, and repeat.
    rows_are : Rows
        Whether rows are people or their cases.
    """
    unique_columns = _unique_columns(profiles, roles)
    hidden = next(p for p in profiles if roles.of[p.name][0] == "sensitive")
    # Cells of the sensitive column may hold several answers, such as "flu;cold": read as sets. Not
    # if a cell has one answer twice, which a set cannot have.
    separator = _separator_of(hidden)
    if separator and any(_repeats_a_part(text, separator) for text in hidden.domain):
        separator = ""
    columns, types, hierarchies = [], {}, {}
    # For each column its role, the reason, and at most two questions to decide.
    for profile in profiles:
        role, reason = roles.of[profile.name]
        hierarchy = None
        if role == "quasi-identifier":
            hierarchy, kind, question = _coarsening_of(profile, reason, files.get(profile.name))
            if kind is not None:
                types[profile.name] = kind
            if hierarchy is not None:
                hierarchies[profile.name] = hierarchy
        elif role == "sensitive":
            question = _question_of_secret(reason)
        elif profile.name == rows_are.name:
            question = rows_are.question
        elif profile.name in repeated:
            question = _question_of_repeats(unique_columns)
        else:
            question = _question_of_undecided(profile, role, reason)
        if profile.name in repeated and role in ("quasi-identifier", "sensitive"):
            question = (
                "it looks like a number of people who have several rows. If it is, list it only "
                'under identifiers, and add unit = "row" and person'
            )
        if role in PUBLISHED:
            is_set = bool(separator) and profile is hidden
            of_cells = question_of(profile) or _of_cells(profile, is_set)
            question = _both_questions(question, _unread(profile, reading))
            question = _both_questions(question, of_cells)
        columns.append(
            ColumnSuggestion(profile.name, role, profile.said, reason, hierarchy, question)
        )
    names_of_role: dict[str, list[str]] = {}
    for column in columns:
        names_of_role.setdefault(column.role, []).append(column.name)
    if separator:
        reading = replace(reading, separators={hidden.name: separator})
    schema = Schema(
        identifiers=names_of_role.get("identifier", []),
        quasi_identifiers=names_of_role.get("quasi-identifier", []),
        sensitive=hidden.name,
        semantics="set" if separator else "single",
        types=types,
        hierarchies=hierarchies,
        missing="error" if separator else _missing_rule(hidden),
        reading=reading,
        folder=folder,
        unit=rows_are.unit,
        person=rows_are.name or None,
    )
    return schema, columns


def _unique_columns(profiles: Sequence[Profile], roles: Roles) -> list[str]:
    """The names of columns with another code or number in each row, which may tell people apart.

    Those whose names say that they number rows, such as `id`, stand first.
    """
    names = []
    for profile in profiles:
        is_unique = profile.distinct == profile.rows and are_codes(profile.domain)
        is_trait = (SECRET | KNOWN).keys() & words_of(profile.name)
        may_be_number = roles.of[profile.name][0] in ("identifier", "undecided")
        if is_unique and not is_trait and may_be_number:
            names.append(profile.name)
    return sorted(names, key=lambda name: not is_of_rows(name))


def _coarsening_of(
    profile: Profile, reason: str, file: HierarchyFile | None
) -> tuple[Mapping[str, Any] | None, Any, str]:
    """The hierarchy of a quasi-identifier, the type that it must be given, and an open question.

    Hierarchy and type are None where none is needed, and the question is empty if nothing is open.
    `file` is a hierarchy file for the column; `reason` says why the column got its role.
    """
    hierarchy, kind, question = hierarchy_of(profile)
    if file is not None:  # a file says more than a guess
        question = file.question or question
        if file.hierarchy:
            hierarchy, kind = file.hierarchy, None
    if reason in (FEW_VALUES_LEFT, NONE_LEFT):  # it was taken for want of a better one
        question = _both_questions(_KNOWN_AT_ALL, question)
    return hierarchy, kind, question


def _question_of_secret(reason: str) -> str:
    """The question about a sensitive column that was guessed for a weak reason; else ""."""
    if reason.startswith("the last"):
        return "is this what must stay hidden? It is a guess: no name of a column says so"
    if reason.startswith(WORDING):
        return "is this what must stay hidden? Only a word of the question in its name says so"
    if any(f"word {word!r}" in reason for word in AMBIGUOUS):
        return "marks that must stay hidden, or remarks? Its name may mean both"
    return ""


def _question_of_repeats(unique_columns: Sequence[str]) -> str:
    """The question about a column that names people and repeats, so that a row is no person.

    `unique_columns` have another value in each row: one of them may name people instead.
    """
    way_out = 'set person, and with it semantics, or unit = "row"'
    if unique_columns:
        person = toml_value(unique_columns[0])
        way_out = f"set person = {person}, if it has another value for each person"
    return (
        f"it repeats, so a row is not a person. Give one row for each person; or {way_out}; or "
        "take it out of identifiers, if it identifies nobody by itself"
    )


def _question_of_undecided(profile: Profile, role: str, reason: str) -> str:
    """The question about a column without a role that was named, or that may be sensitive."""
    if (role, reason) == ("undecided", NAMED):
        return f"it has no role though you named it: {why_unlistable(profile)}"
    may_be_secret = not profile.problem and profile.distinct > 1
    if role == "undecided" and may_be_secret and SECRET.keys() & words_of(profile.name):
        return "sensitive, too? Then add it to sensitive, and add a requirement about it"
    return ""


def _missing_rule(hidden: Profile) -> Any:
    """How the schema deals with people without a sensitive value; "error" if there are none.

    They are left out ("drop"), or get a label that no value has.
    """
    if not hidden.nulls and not missing_codes(hidden):
        return "error"
    if not hidden.nulls and hidden.kind != "text":
        return "drop"  # a label is no number that others could be near
    label, texts = "missing", set(map(str, hidden.domain))
    while label in texts:
        label += "?"
    return {"label": label}


_KNOWN_AT_ALL = (
    "may others know this about a person? Nothing says so. If not, name the columns that they know"
)


def _repeats_a_part(text: str, separator: str) -> bool:
    parts = [part.strip(BLANKS) for part in text.split(separator)]
    return len(set(filter(None, parts))) < len([*filter(None, parts)])


def _both_questions(question: str, second_question: str) -> str:
    """Two questions, of which one may be empty."""
    if not question or not second_question:
        return question or second_question
    return f"{question}. {second_question[0].upper()}{second_question[1:]}"


def _of_cells(profile: Profile, is_set: bool) -> str:
    """The question about cells with several answers; empty where there are none."""
    separator = _separator_of(profile)
    if not separator:
        return ""
    several = f"cells hold several answers, with {toml_value(separator)} between, and "
    if is_set:
        return f"{several}are read as sets. If each is one value, delete semantics and separators"
    return f"{several}each cell counts as one value. Give one answer in each, or leave it out"


def _separator_of(profile: Profile) -> str:
    """The separator of several answers in the cells of a column; empty where each has one."""
    if profile.kind != "text" or profile.people is None:
        return ""
    return separator_of(profile.domain, profile.people.tolist())


def unclear_marks(profile: Profile, reading: Reading) -> str:
    """The question about commas that were taken for thousands, and points that may be.

    "1,234" may be 1234 or 1.234. A sign of a currency says which it is, and so do decimals. Empty
    if there is no doubt.
    """
    amounts = [value for value in profile.domain if isinstance(value, Decimal)]
    if reading.currency or reading.decimal or len(amounts) < len(profile.domain) or not amounts:
        return ""
    if reading.thousands is None and has_pointed_thousands([*map(str, amounts)]):
        return (
            f"is {amounts[-1]} a number with three decimals? If its point stands between "
            'thousands, write decimal = "," in [schema.reading]'
        )
    are_whole = not any("." in str(value) for value in amounts)
    if reading.thousands == "," and are_whole and 1000 <= amounts[-1] < 1_000_000:
        return (
            f"{amounts[-1]:,} is read as {amounts[-1]}. If its comma stands before decimals, write "
            'decimal = "," in place of thousands in [schema.reading]'
        )
    return ""


def _unread(profile: Profile, reading: Reading) -> str:
    """The question about how the values of a column were read; empty if there is none.

    Texts may look like dates or numbers, and years of two digits may be of two centuries.
    """
    if profile.kind == "text":
        return doubts(profile.name, profile.domain) or ""
    if profile.kind == "number":
        return unclear_marks(profile, reading)
    if reading.latest_year is None or profile.kind != "date":
        return ""
    first = reading.latest_year - 99
    old = [value for value in profile.domain if isinstance(value, dt.date)]
    # Only dates of the first decade may be meant as a hundred years later.
    if not old or min(old).year >= first + _DECADE:
        return ""
    return (
        f"years of two digits are taken for {first} to {reading.latest_year}. If some dates lie in "
        "the future, write a later latest_year in [schema.reading]"
    )
