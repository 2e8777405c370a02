"""A first policy for a table: roles with reasons, hierarchies, a limit that it can satisfy.

What a name or a count of values suggests is a guess, and says so. That the table can satisfy it is
none: with everybody in one group it holds, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foreknow.atomic_files import write_new
from foreknow.call_hints import Plain, hinted
from foreknow.criteria.size import KAnonymity
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.people.units import agrees, shared
from foreknow.data.schema import Schema
from foreknow.data.tables.columns import fetch
from foreknow.data.tables.formats.arrow_table import ArrowTable
from foreknow.data.tables.profile.column_profile import Profile, looked_at
from foreknow.data.tables.table import Table, require
from foreknow.planning.suggestion.columns import (
    DECIDE,
    PUBLISHED,
    ColumnSuggestion,
    schema_of,
    unclear_marks,
)
from foreknow.planning.suggestion.detail import DetailOfSample
from foreknow.planning.suggestion.hierarchies import hierarchy_files
from foreknow.planning.suggestion.limits import Sizes, links_of, requirements_of
from foreknow.planning.suggestion.missing_codes import codes_by_column
from foreknow.planning.suggestion.roles import (
    Roles,
    Rows,
    columns_in_doubt,
    leave_out_names,
    person_numbers_of,
)
from foreknow.planning.suggestion.text import limit_table, lines_of
from foreknow.policy.options import PublishOptions
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.toml import toml_value
from foreknow_judge.errors import DataError, memory_for

_MOST_HOMES = 5  # that are named
# How rows of sums are named; a column with fewer values than this may have it as one of its own.
_TOTALS = frozenset(
    ("total", "totals", "sum", "summe", "gesamt", "insgesamt", "totale", "totaal", "somma", "suma")
)
_FEW = 20


@dataclass(frozen=True, eq=False)
class PolicySuggestion(Plain):
    """A first policy for a table, which a release of it can satisfy; see `suggest_policy`.

    Attributes
    ----------
    name : str
        The name of the table.
    rows : int
        The number of rows of the table.
    columns : tuple of ColumnSuggestion
        A suggestion for each column, in the order of the table.
    policy : Policy
        The suggested policy.
    notes : tuple of str
        Findings about the limit, one sentence each.
    repeated : tuple of str
        Identifiers that repeat, so that a row is not a person: nothing is published until the
        policy says what a row is.
    costs : tuple of str
        Sentences about columns that give the sensitive one away, or make others much coarser.
    folder : Path
        The folder of the hierarchy files that the policy names.
    spellings : tuple of str
        Texts that look like missing values, and are read as such.
    codes : mapping of column to list of str
        Numbers that may stand for a missing value.
    """

    _json_fields = "table=name rows columns policy notes repeated? costs? spellings? codes?"

    name: str
    rows: int
    columns: tuple[ColumnSuggestion, ...]
    policy: Policy
    notes: tuple[str, ...]
    repeated: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    folder: Path = Path()
    spellings: tuple[str, ...] = ()
    codes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def questions(self) -> tuple[str, ...]:
        """The decisions to make: a sentence for each column, and one for missing values."""
        asked = [f"{column.name}: {column.question}" for column in self.columns if column.question]
        if self.spellings:
            asked.append(f"missing: {self._spelled}")
        return tuple(asked)

    @property
    def _spelled(self) -> str:
        """The question about texts that are read as missing."""
        return (
            f"{', '.join(map(toml_value, self.spellings))} "
            f"{'are' if len(self.spellings) > 1 else 'is'} read as missing, in every column. If "
            "one is a value here, delete it from missing, in [schema.reading]"
        )

    def to_toml(self, folder: str | Path = ".") -> str:
        """The text of the policy file, with comments on each column and limit.

        Paths of hierarchy files are relative to `folder`.
        """
        return "\n".join(lines_of(self, Path(folder))) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the policy file; one that exists is never replaced.

        Raises
        ------
        OutputError
            If the file exists already.
        """
        write_new(path, self.to_toml(Path(path).parent))

    save = write

    def __repr__(self) -> str:
        schema = self.policy.needed_schema
        return (
            f"PolicySuggestion({self.name}: {len(schema.quasi_identifiers)} quasi-identifiers, "
            f"sensitive {schema.sensitive!r}, {len(self.questions)} to decide)"
        )


def _row_of_sums(profile: Profile) -> str:
    """The question about a row that is named as the sum of the others; empty if none is."""
    totals = []
    for text in profile.domain:
        if isinstance(text, str) and _is_total(text):
            totals.append(text)
    if len(totals) != 1 or len(profile.domain) < _FEW:
        return ""
    return (
        f"a row has {totals[0]!r} in {profile.name}: if it is the sum of the others, take it out "
        "of the table; it is published as a person"
    )


def _is_total(text: str) -> bool:
    return text.strip(" :.").casefold() in _TOTALS


def _read_homes(table: Table, schema: Schema, homes: Sequence[str]) -> Table:
    """The columns of households, persons and secrets of a table, read once.

    `homes` are the columns of households; if there are none, it is the table itself.
    """
    if not homes:
        return table
    columns = [*homes, *schema.persons, *schema.single]
    return ArrowTable(fetch(table, [*dict.fromkeys(columns)]))


def _notes_on_shared(table: Table, schema: Schema, homes: Sequence[str]) -> list[str]:
    """Notes on columns of households whose members all have the same sensitive value.

    Such a value tells something about everybody in the household.
    """
    notes: list[str] = []
    for name, secret in product(homes, schema.single):
        if name != secret and agrees(table, name, secret):
            notes.append(
                f"{DECIDE}: rows with the same {name} have the same {secret}. If others "
                f'know that, write shared = {{ by = "{name}", values = ["{secret}"] }} '
                "in [schema]: then the release shows it once for each"
            )
    return notes


def _without_questions_on_marks(
    columns: Sequence[ColumnSuggestion], profiles: Sequence[Profile], reading: Reading
) -> list[ColumnSuggestion]:
    """The columns without questions on marks for thousands and decimals."""
    of_numbers = [profile for profile in profiles if profile.kind == "number"]
    questions_on_marks = {unclear_marks(profile, reading) for profile in of_numbers}
    return [
        replace(column, question="") if column.question in questions_on_marks else column
        for column in columns
    ]


def _note_on_rows_as_people(everyone: GroupCounts, profile: Profile, sizes: Sizes) -> str:
    """A note that says what the limit would be if rows were people, and not their cases.

    `profile` is the sensitive column, and `sizes` are those of households in rows.
    """
    (requirement, *_), *_ = requirements_of(everyone, profile, sizes, Rows())
    limit = limit_table(requirement)
    terms = ", ".join(f"{key} = {toml_value(limit[key])}" for key in limit)
    return f"If rows are people, the limit is: {terms}"


def _size(k: int, people: int) -> Requirement:
    """The requirement on the size of groups, which a table of so many people can keep."""
    if k > people:
        raise DataError(f"k = {k:,} is more than the table has people: {people:,}")
    return Requirement(KAnonymity(k))


@memory_for("a first policy")
@hinted
def suggest_policy(
    table: Any,
    *,
    sensitive: str | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    k_anonymity: int | None = None,
    reading: Reading | Mapping[str, str] | None = None,
) -> PolicySuggestion:
    """Suggest a first policy that a table can satisfy, for you to read and change.

    Roles are guessed from the names, types, formats and numbers of values of columns, and each
    guess has its reason. That the table can satisfy the policy is not guessed: the policy holds
    with everybody in one group. The costs of columns and hierarchies are measured on a sample of
    the rows.

    Hierarchy files beside the table are used: those called ``TABLE_hierarchy_COLUMN.csv``, and
    others whose first column has all values of a column.

    Parameters
    ----------
    table : path or frame
        The raw table.
    sensitive : str, optional
        The column that must stay hidden; default: a guess.
    quasi_identifiers : sequence of str, optional
        The columns that others may know of a person; default: a guess.
    identifiers : sequence of str, optional
        Columns that name people, in addition to those that are guessed.
    k_anonymity : int, optional
        The least number of people in a group; default: chosen for the table.
    reading : Reading or mapping, optional
        The format of a file, if it cannot be detected.

    Raises
    ------
    DataError
        If the table has no rows, or lacks a column to hide or a column that others may know.

    Examples
    --------
    >>> from foreknow import sample
    >>> suggestion = suggest_policy(sample.table_path())
    >>> suggestion.policy.schema.sensitive, suggestion.policy.schema.quasi_identifiers
    ('diagnosis', ('age', 'sex', 'zip', 'admitted', 'marital'))
    """
    read_settings = Reading() if reading is None else Reading.of(reading)
    opened_table, profiles, detected = looked_at(table, read_settings)
    named = _NamedColumns.of(opened_table, sensitive, quasi_identifiers, identifiers)
    n_rows = max((profile.rows for profile in profiles), default=0)
    if not n_rows:
        raise DataError(f"{opened_table.name} has no rows")
    folder, files = hierarchy_files(table, profiles)
    roles, rows_are, repeated = _roles_of(opened_table, profiles, named, files)
    schema, columns = schema_of(profiles, roles, detected, folder, files, repeated, rows_are)
    if read_settings.thousands or read_settings.decimal:  # they were said, and are not asked again
        columns = _without_questions_on_marks(columns, profiles, detected)
    # Costs and limits are measured of rows, whoever they are about.
    microdata = Microdata(opened_table, replace(schema, unit="row", person=None))
    # Every value has its place in the hierarchies, or this says which has not.
    known_values = [attribute.domain for attribute in microdata.attributes]
    everyone = microdata.counts(np.zeros(microdata.n_people, dtype=np.int64))
    limit = _limit_of(opened_table, schema, profiles, everyone, rows_are, k_anonymity)
    columns = [
        replace(column, question=column.question or limit.question)
        if column.role == "sensitive"
        else column
        for column in columns
    ]
    # CSV cannot tell an empty text, which is a value here, from a missing one.
    empty = any("" in domain for domain in (*known_values, everyone.values))
    options = PublishOptions(format="parquet" if empty else None)
    # A sample is published to see which hierarchies and columns cost much.
    measured = DetailOfSample(microdata, Policy(limit.requirements, schema, options))
    columns = measured.by_ranges(columns)
    return PolicySuggestion(
        name=opened_table.name,
        rows=n_rows,
        columns=tuple(columns),
        policy=measured.policy,
        notes=limit.notes,
        repeated=tuple(repeated),
        costs=tuple(measured.costs()),
        folder=folder,
        spellings=() if read_settings.spellings else detected.spellings,
        codes=codes_by_column(p for p in profiles if roles.of[p.name][0] in PUBLISHED),
    )


class _NamedColumns(NamedTuple):
    """The columns that the caller of `suggest_policy` names for a role."""

    sensitive: str | None
    quasi_identifiers: Sequence[str] | None
    identifiers: Sequence[str]

    @classmethod
    def of(
        cls,
        table: Table,
        sensitive: str | None,
        quasi_identifiers: str | Sequence[str] | None,
        identifiers: str | Sequence[str] | None,
    ) -> _NamedColumns:
        """The columns as lists; refuse those that the table lacks, and two roles of one column."""
        if isinstance(quasi_identifiers, str):
            quasi_identifiers = [quasi_identifiers]
        names = [identifiers] if isinstance(identifiers, str) else [*(identifiers or ())]
        named = cls(sensitive, quasi_identifiers, names)
        require(table, [*named.published, *names])
        twice = {*names} & {*named.published}
        if twice:
            raise DataError(f"{min(twice)!r} cannot have two roles; name it once")
        return named

    @property
    def published(self) -> list[str]:
        """The columns that the caller names for a role in which they are published."""
        sensitive = [] if self.sensitive is None else [self.sensitive]
        return [*sensitive, *(self.quasi_identifiers or ())]


def _roles_of(
    table: Table, profiles: Sequence[Profile], named: _NamedColumns, files: Mapping[str, Any]
) -> tuple[Roles, Rows, list[str]]:
    """The role of each column, what a row is, and columns that repeat although they name people.

    `files` are the hierarchy files.
    """
    numbers, by_choice = [], []  # of people who have several rows; named otherwise by the caller
    for number in person_numbers_of(table, profiles):
        if number.name in named.published:
            by_choice.append(number.name)
        else:
            numbers.append(number)
    roles = Roles(
        table.name,
        profiles,
        sensitive=named.sensitive,
        chosen=named.quasi_identifiers,
        files=files,
        numbers=numbers,
        naming=named.identifiers,
    )
    if numbers:
        return roles, numbers[0], [numbers[0].name, *by_choice]
    leave_out_names(table, roles, profiles)
    return roles, Rows(), [*columns_in_doubt(roles, profiles), *by_choice]


class _LimitOfTable(NamedTuple):
    """Requirements that a table can keep, with notes, and a question about the sensitive column."""

    requirements: Sequence[Requirement]
    notes: tuple[str, ...]
    question: str


def _limit_of(
    table: Table,
    schema: Schema,
    profiles: Sequence[Profile],
    everyone: GroupCounts,
    rows_are: Rows,
    k_anonymity: int | None,
) -> _LimitOfTable:
    """Requirements that hold with `everyone` in one group; `k_anonymity` is the caller's, if any.

    Knowledge about others grows with the largest household and the most rows of one person.
    """
    profile = next(profile for profile in profiles if profile.name == schema.sensitive)
    homes = shared(table, schema)
    home_rows = _read_homes(table, schema, homes)
    sizes = Sizes.of(home_rows, homes, rows_are)
    requirements, notes, question = requirements_of(everyone, profile, sizes, rows_are)
    if k_anonymity is not None:  # the last requirement is that of the size
        by_caller = _size(k_anonymity, rows_are.people or everyone.n_people)
        requirements = [*requirements[:-1], by_caller]
    if rows_are.people:  # rows are their cases
        sizes_of_rows = Sizes.of(home_rows, homes, Rows())
        notes.append(_note_on_rows_as_people(everyone, profile, sizes_of_rows))
    notes += [f"{DECIDE}: {total}" for total in map(_row_of_sums, profiles) if total]
    if homes:
        shown_homes = [*homes[:_MOST_HOMES], *["others"] * (len(homes) > _MOST_HOMES)]
        notes.append(sizes.note(", ".join(shown_homes), links_of(requirements[0])))
        notes += _notes_on_shared(home_rows, schema, homes)
    return _LimitOfTable(requirements, tuple(notes), question)
