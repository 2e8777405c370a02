"""Columns of a first policy: each with its role and the reason, and the schema they make."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from foreknow.data.engines.column_advice import doubts, separator_of
from foreknow.data.engines.column_words import words_of
from foreknow.data.engines.number_names import are_codes, is_of_rows
from foreknow.data.engines.profile import Profile
from foreknow.data.engines.ways_to_read import has_pointed_thousands
from foreknow.data.reading import BLANKS, Reading
from foreknow.data.schema import Schema
from foreknow.hints import Plain
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
from foreknow_judge.printed import one_line

PUBLISHED = ("quasi-identifier", "sensitive")  # roles
_DECADE = 10  # of dates that may as well be a hundred years later
DECIDE = "DECIDE"


@dataclass(frozen=True)
class ColumnSuggestion(Plain):
    """The suggested role of a column, and why.

    Attributes
    ----------
    name : str
    role : "identifier", "quasi-identifier", "sensitive" or "undecided"
        An undecided column has no role in the policy: it is not published.
    holds : str
        What was counted in it, such as "74 values, numbers 17 to 90".
    reason : str
    hierarchy : mapping, optional
        How it may coarsen, as in a policy file.
    question : str
        What needs a decision; empty where nothing does.
    left_out : mapping, optional
        A hierarchy that was tried, and keeps less than ranges do; `left_out_why` says how much.
    left_out_why : str
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
        """The comment beside a column; in another role, only what the column holds."""
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
    """The schema, and the suggestion for each column."""
    columns, types = [], {}
    unique = [e for e in profiles if e.distinct == e.rows and are_codes(e.domain)]
    unique = [e for e in unique if not (SECRET | KNOWN).keys() & words_of(e.name)]
    unique.sort(key=lambda e: not is_of_rows(e.name))
    apart = [e.name for e in unique if roles.of[e.name][0] in ("identifier", "undecided")]
    hidden = next(e for e in profiles if roles.of[e.name][0] == "sensitive")
    separator = _separator_of(hidden)
    if any(_repeats_a_part(text, separator) for text in hidden.domain if separator):
        separator = ""  # of which no set is made; what is judged says so
    for described in profiles:
        role, reason = roles.of[described.name]
        hierarchy, question = None, ""
        if role == "quasi-identifier":
            hierarchy_file = files.get(described.name)
            hierarchy, kind, question = hierarchy_of(described)
            if hierarchy_file is not None:
                question = hierarchy_file.question or question
                if hierarchy_file.hierarchy:
                    hierarchy, kind = hierarchy_file.hierarchy, None
            if reason in (FEW_VALUES_LEFT, NONE_LEFT):
                question = _both_questions(_KNOWN_AT_ALL, question)
            if kind is not None:
                types[described.name] = kind
        elif role == "sensitive":
            if reason.startswith("the last"):
                question = "is this what must stay hidden? No name of a column says so"
            elif reason.startswith(WORDING):
                question = "is this what must stay hidden? Only a word of a question says so"
            elif any(f"word {word!r}" in reason for word in AMBIGUOUS):
                question = "marks that must stay hidden, or remarks? Its name says both"
        elif described.name == rows_are.name:
            question = rows_are.question
        elif described.name in repeated:
            ways = [
                f"set person = {toml_value(name)}, if each of these is another person"
                for name in apart
            ]
            way = ways[0] if ways else 'set person, and with it semantics, or unit = "row"'
            question = (
                f"it repeats, so a row is not a person. Give one row for each; or {way}; or leave "
                "it out of identifiers, if it names nobody by itself"
            )
        elif (role, reason) == ("undecided", NAMED):
            question = f"it has no role though you named it: {why_unlistable(described)}"
        elif role == "undecided" and not described.problem and described.distinct > 1:
            secret = SECRET.keys() & words_of(described.name)
            if secret:
                question = "sensitive, too? Then say so, and add a requirement about it"
        if described.name in repeated and role in ("quasi-identifier", "sensitive"):
            question = (
                "it looks like the number of a person who has several rows. If it is, list it "
                'under identifiers alone, and add unit = "row" and person'
            )
        if role in PUBLISHED:
            is_set = bool(separator) and described is hidden
            of_cells = question_of(described) or _of_cells(described, is_set)
            question = _both_questions(question, _unread(described, reading))
            question = _both_questions(question, of_cells)
        columns.append(
            ColumnSuggestion(described.name, role, described.said, reason, hierarchy, question)
        )
    names_of_role: dict[str, list[str]] = {}
    for column in columns:
        names_of_role.setdefault(column.role, []).append(column.name)
    if separator:
        reading = replace(reading, separators={hidden.name: separator})
    missing: Any = "error"
    if (hidden.nulls or missing_codes(hidden)) and not separator:
        label, labels = "missing", set(map(str, hidden.domain))
        while label in labels:
            label += "?"
        # a label is no number that others could be near
        missing = {"label": label} if hidden.nulls or hidden.kind == "text" else "drop"
    hierarchies = {
        column.name: column.hierarchy for column in columns if column.hierarchy is not None
    }
    schema = Schema(
        identifiers=names_of_role.get("identifier", []),
        quasi_identifiers=names_of_role.get("quasi-identifier", []),
        sensitive=hidden.name,
        semantics="set" if separator else "single",
        types=types,
        hierarchies=hierarchies,
        missing=missing,
        reading=reading,
        folder=folder,
        unit=rows_are.unit,
        person=rows_are.name or None,
    )
    return schema, columns


_KNOWN_AT_ALL = (
    "does anybody know this of a person? Nothing says so; name what they know in its place"
)


def _repeats_a_part(text: str, separator: str) -> bool:
    parts = [part.strip(BLANKS) for part in text.split(separator)]
    return len(set(filter(None, parts))) < len([*filter(None, parts)])


def _both_questions(question: str, further: str) -> str:
    """Two questions, of which one may be empty."""
    if not question or not further:
        return question or further
    return f"{question}. {further[0].upper()}{further[1:]}"


def _of_cells(profile: Profile, is_set: bool) -> str:
    """The question about cells with several answers; empty where there are none."""
    separator = _separator_of(profile)
    if not separator:
        return ""
    several = f"cells hold several answers, with {toml_value(separator)} between, and "
    if is_set:
        return f"{several}are read as sets; if each is one value, take out semantics and separators"
    return f"{several}each cell is one value here: write one answer in each, or leave it out"


def _separator_of(profile: Profile) -> str:
    """The separator of several answers in the cells of a column; empty where each has one."""
    if profile.kind != "text" or profile.people is None:
        return ""
    return separator_of(profile.domain, profile.people.tolist())


def unclear_marks(profile: Profile, reading: Reading) -> str:
    """The question about commas that were taken for thousands, and points that may be.

    A sign of a currency says what they are, and so do decimals.
    """
    amounts = [value for value in profile.domain if isinstance(value, Decimal)]
    if reading.currency or reading.decimal or len(amounts) < len(profile.domain) or not amounts:
        return ""
    if reading.thousands is None and has_pointed_thousands([*map(str, amounts)]):
        return (
            f"is {amounts[-1]} a number with three decimals? If its point stands between "
            'thousands, write decimal = "," in [schema.reading]'
        )
    whole = not any("." in str(value) for value in amounts)
    if reading.thousands == "," and whole and 1000 <= amounts[-1] < 1_000_000:
        return (
            f"{amounts[-1]:,} is read as {amounts[-1]}; if its comma stands before decimals, write "
            'decimal = "," in place of thousands in [schema.reading]'
        )
    return ""


def _unread(profile: Profile, reading: Reading) -> str:
    """The question about texts that look like dates or numbers, and about centuries."""
    if profile.kind == "text":
        return doubts(profile.name, profile.domain) or ""
    if profile.kind == "number":
        return unclear_marks(profile, reading)
    if reading.latest_year is None or profile.kind != "date":
        return ""
    first = reading.latest_year - 99
    old = [value for value in profile.domain if isinstance(value, dt.date)]
    if not old or min(old).year >= first + _DECADE:
        return ""
    return (
        f"years of two digits are taken for {first} to {reading.latest_year}; if some lie ahead, "
        "say a later latest_year in [schema.reading]"
    )
