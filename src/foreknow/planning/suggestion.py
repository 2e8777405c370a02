"""A first policy for a table: roles with reasons, hierarchies, a limit that it can satisfy.

What a name or a count of values suggests is a guess, and says so. That the table can satisfy it is
none: with everybody in one group it holds, exactly.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from textwrap import wrap
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.facts.facts import Facts
from foreknow.atomic_files import write_new
from foreknow.criteria.size import KAnonymity
from foreknow.data.arrays import combine
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.arrow_table import ArrowTable
from foreknow.data.engines.column_advice import doubts, nearly_all_read, separator_of
from foreknow.data.engines.column_words import (
    WORDS,
    asks_for,
    is_sentence,
    words_meaning,
    words_of,
)
from foreknow.data.engines.columns import codes_of, fetch
from foreknow.data.engines.missing_codes import MissingCodes, missing_codes
from foreknow.data.engines.person_numbers import (
    LEAST_NAMED,
    LEAST_PEOPLE,
    Coded,
    are_codes,
    is_contradicted,
    is_of_person,
    is_of_rows,
    is_plain_number,
    may_be_trait,
    names_two_people,
    people_of,
)
from foreknow.data.engines.personal import looks_personal
from foreknow.data.engines.profile import Profile, looked_at
from foreknow.data.engines.spelled import is_untyped
from foreknow.data.engines.table import Table, require
from foreknow.data.engines.units import agrees, is_household, largest, shared
from foreknow.data.hierarchy import Tree
from foreknow.data.microdata import Microdata
from foreknow.data.reading import BLANKS, STDIN, Reading, is_address, named_part
from foreknow.data.schema import Schema
from foreknow.figures import percentage
from foreknow.hints import Plain, hinted
from foreknow.methods.proof import AS_REQUIRED
from foreknow.methods.protocol import as_written, check_needs, traits_of
from foreknow.methods.registry import PROVED, method_of
from foreknow.planning.costs import given_away, made_of, sample_of, savings, worth_saying
from foreknow.policy.options import PublishOptions
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.toml import toml_key, toml_value
from foreknow_judge.errors import DataError, InputError, PolicyError, UnsupportedError, memory_for
from foreknow_judge.grammar import Unit
from foreknow_judge.printed import one_line
from foreknow_judge.text import people_text, some

_PUBLISHED = ("quasi-identifier", "sensitive")
Role: TypeAlias = Literal["identifier", "quasi-identifier", "sensitive", "undecided"]

# What an adversary is first taken to know: the strongest that leaves a limit worth having.
_KNOWLEDGE = ((1, 3, 1), (0, 3, 1), (0, 3, 0), (0, 1, 0), (0, 0, 0))
_LIMITS = [Fraction(n, 100) for n in (10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95, 99, 100)]
# Above this a limit says little, and less knowledge is tried; the odds that groups may add.
_WORTH, _ROOM = Fraction(3, 4), 2
_K = 5
# Of how many values a column is a code at most, and how many columns without a hint are taken.
_FEW, _FEW_NUMBERS, _LEAST_COLUMNS = 20, 12, 3
_NEARLY = Fraction(9, 10)  # of the rows have a value of their own
_DECADE = 10  # of dates that may as well be a hundred years later
_READ_AT_ONCE = 64  # columns
_MOST_HOMES = 5  # that are named
_CELLS = 20  # in which numbers are cut at first
# Files beside a table that are looked at, their bytes together, and those of one that is for no
# column by its name; a column of so few values has none by its content.
_MOST_FILES, _MOST_BYTES, _MOST_UNNAMED, _FEW_VALUES = 100, 16 << 20, 1 << 20, 3
_NAMED_SO = re.compile(r"((?:.*[-_ .])?)hierarchy[-_ .](.+)", re.IGNORECASE)
_OF_NUMBERS = {"intervals", "dates", "file"}
_CELLS_TRIED, _LESS, _MUCH = 20_000, 0.01, 0.5
_LOOKS_LIKE_NAMES = "names of people"
_NESTED = (1, 5, 10), (2, 10, 50), (5, 10, 50)  # widths


# Words in names of columns: of a name that names people, of one that may, and of a person.
_NAMES_PEOPLE, _WHO = WORDS["names"], WORDS["person"]
_OFTEN_NAMES = words_meaning("name", "person") | dict.fromkeys(
    ["id", "nr", "number", "nummer", "key", "index", "seqn", "mrn", "kennung", "identifier"]
)
_NUMBERS = WORDS["number"].keys()
# What others may know of a person, and what is nobody's business; the worst first.
_KNOWN = words_meaning("age", "sex", "birth", "place", "people", "life")
_SECRET = words_meaning("illness", "money", "private", "treatment", "mark")
# A place where people are, which is hidden where nothing else could be; a mark, or a remark.
_PLACES = "ward station clinic klinik hospital site center centre department unit"
# When something was measured, which is no secret of a person.
_TIMES = "period time visit wave week month day days date year"
_AMBIGUOUS = "note", "notes"
_POSTAL = WORDS["postal"]
_COUNT = re.compile(r"(number|no|num|n|count|anzahl)[\W_].*s$", re.IGNORECASE)
_TIME, _LOOK = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d"), 1000
_NUMERIC = re.compile(r"-?\d+([.,]\d+)?([eE][-+]?\d+)?")
_DECIDE = "DECIDE"
_WORDING = "its wording has"
_NAMED = "you named it"
_LARGEST = 1e300  # of numbers that a hierarchy is proposed for
_FEW_VALUES_LEFT = "others might know it: it has few values"
_NONE_LEFT = "others might know it: none is left"
_WIDTH = 94  # of comments


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
        question = f". {_DECIDE}: {self.question}" if self.question else ""
        return one_line(f"{self.holds}; {self.reason}{question}")


@dataclass(frozen=True, eq=False)
class PolicySuggestion(Plain):
    """A first policy for a table, which it can keep; see `suggest_policy`.

    Attributes
    ----------
    name : str
        What the table is called.
    rows : int
    columns : tuple of ColumnSuggestion
        In the order of the table.
    policy : Policy
    notes : tuple of str
        What was found out about the limit, a sentence each.
    repeated : tuple of str
        Identifiers that repeat, so that a row is not a person: nothing is published until the
        policy says what it is.
    costs : tuple of str
        Columns that give the sensitive one away, or that cost much of the others, a sentence each.
    folder : Path
        Where hierarchy files that the policy names are.
    spellings, codes : tuple of str
        What is read as a missing value by its looks; and numbers that may stand for one.
    """

    _told = "table=name rows columns policy notes repeated? costs? spellings? codes?"

    name: str
    rows: int
    columns: tuple[ColumnSuggestion, ...]
    policy: Policy
    notes: tuple[str, ...]
    repeated: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    folder: Path = Path()
    spellings: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

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
            f"{'are' if len(self.spellings) > 1 else 'is'} read as no value, in every column; take "
            "out of missing, in [schema.reading], what is a value here"
        )

    def to_toml(self, folder: str | Path = ".") -> str:
        """The policy file, with what was found about each column and limit as comments.

        Hierarchy files are named as they are found from a `folder`.
        """
        return "\n".join(_lines(self, Path(folder))) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the policy file; one that exists is never replaced.

        Raises
        ------
        OutputError
            If there is something of this name.
        """
        write_new(path, self.to_toml(Path(path).parent))

    save = write

    def __repr__(self) -> str:
        schema = self.policy.needed_schema
        return (
            f"PolicySuggestion({self.name}: {len(schema.quasi_identifiers)} quasi-identifiers, "
            f"sensitive {schema.sensitive!r}, {len(self.questions)} to decide)"
        )


@dataclass(frozen=True)
class _Rows:
    """The unit of the rows: here, a person each."""

    name: str = ""  # the column that tells people apart who have several
    why: str = ""
    people: int = 0  # where they are not the rows
    max_rows: int = 1  # rows of one person

    unit: ClassVar[Unit] = "person"
    noun: ClassVar[str] = "people"
    of_homes: ClassVar[str] = "rows"  # what shares a value of a household

    @property
    def question(self) -> str:
        """The question about the column."""
        return (
            f"it repeats, so rows are cases of people, who have up to {self.max_rows:,} each. If "
            "a row "
            "is a person all the same, take it out here, and unit, person and of, and take the "
            "limit that is named for rows that are people"
        )


class _PersonNumber(_Rows):
    """Cases of people who have several, whom a column tells apart."""

    unit, noun, of_homes = "row", "rows", "people"


class _Sizes(NamedTuple):
    """How large households are, in rows or people."""

    largest: int = 1
    usual: int = 1  # the largest of those of nine at most
    noun: str = "rows"

    @classmethod
    def of(cls, table: Table, homes: Sequence[str], rows: _Rows) -> _Sizes:
        """Those of some columns together."""
        sizes = [largest(table, name, rows.name or None) for name in homes] or [(1, 1)]
        return cls(max(size[0] for size in sizes), max(size[1] for size in sizes), rows.of_homes)

    @property
    def links(self) -> list[int]:
        """How many links cover all of them, and those of nine at most."""
        return [*dict.fromkeys((self.largest - 1, self.usual - 1))]

    def note(self, homes: str, m: int) -> str:
        """A sentence about what `m` links cover."""
        needed = self.largest - 1
        covers = f"m = {m} covers"
        if m < needed:
            limit = percentage(_WORTH, 0, "up")
            covers = f"only m = {needed}, with which no limit up to {limit} can be met, covers"
        sentence = (
            f"Up to {self.largest:,} {self.noun} share a value of {homes}: if these are "
            f"households, {covers} “if any of my household has it, so have I”, and no m that all "
            "have the same"
        )
        if m >= needed:
            return sentence
        return (
            f"{_DECIDE}: {sentence}. m = {m} covers those of up to {m + 1}. If a value of so many "
            "is "
            "no household, say that it stands for a missing value (missing, in [schema.reading])"
        )


@memory_for("a first policy")
@hinted
def suggest_policy(
    table: Any,
    *,
    sensitive: str | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    reading: Reading | Mapping[str, str] | None = None,
) -> PolicySuggestion:
    """Suggest a first policy for a table: one that it can keep, to be read and changed.

    Roles are guessed from names, types, looks and numbers of values; each guess has its reason.
    That a table satisfies it is no guess: with everybody in one group it holds. What columns
    and hierarchies cost is measured on a sample of the rows.

    Hierarchy files beside the table are taken: those called ``TABLE_hierarchy_COLUMN.csv``, and
    others whose first column has all values of a column.

    Parameters
    ----------
    table : path or frame
    sensitive : str, optional
        The column that must stay hidden; guessed when left out.
    quasi_identifiers : sequence of str, optional
        The columns that others may know of a person; guessed when left out.
    reading : Reading or mapping, optional
        How a file is written, where nothing in it says so.

    Raises
    ------
    DataError
        If the table has no rows, or no columns of which one could be hidden and one be known.

    Examples
    --------
    >>> from foreknow import sample
    >>> found = suggest_policy(sample.table_path())
    >>> found.policy.schema.sensitive, found.policy.schema.quasi_identifiers
    ('diagnosis', ('age', 'sex', 'zip', 'admitted', 'marital'))
    """
    read_settings = Reading() if reading is None else Reading.of(reading)
    opened_table, profiles, detected = looked_at(table, read_settings)
    chosen = [quasi_identifiers] if isinstance(quasi_identifiers, str) else quasi_identifiers
    named_columns = [] if sensitive is None else [sensitive]
    require(opened_table, [*named_columns, *(chosen or ())])
    rows = max((profile.rows for profile in profiles), default=0)
    if not rows:
        raise DataError(f"{opened_table.name} has no rows")
    folder, files = _hierarchy_files(table, profiles)
    numbers = _person_numbers(opened_table, profiles)
    by_choice = [n.name for n in numbers if n.name in (*named_columns, *(chosen or ()))]
    numbers = [number for number in numbers if number.name not in by_choice]
    roles = _Roles(opened_table.name, profiles, sensitive, chosen, files, numbers)
    rows_are = numbers[0] if numbers else _Rows()
    if numbers:
        repeated = [numbers[0].name]
    else:
        _leave_out_names(opened_table, roles, profiles)
        repeated = [*_in_doubt(roles, profiles)]
    repeated += by_choice
    codes = MissingCodes(
        [e for e in profiles if roles.of[e.name][0] in _PUBLISHED],
        [e.name for e in profiles if is_untyped(opened_table, e.name)],
    )
    schema, columns = _schema(profiles, roles, detected, folder, files, repeated, rows_are, codes)
    rows_alone = replace(schema, unit="row", person=None)  # whoever these rows are about
    microdata = Microdata(opened_table, rows_alone)
    # Every value has its place in the hierarchies, or this says which has not.
    known_values = [attribute.domain for attribute in microdata.attributes]
    everyone = microdata.counts(np.zeros(microdata.n_people, dtype=np.int64))
    profile = next(profile for profile in profiles if profile.name == schema.sensitive)
    homes = shared(opened_table, schema)
    beside = [schema.person, None if schema.several else schema.sensitive]
    of_homes = [*dict.fromkeys([*homes, *filter(None, beside)])]
    read_homes = ArrowTable(fetch(opened_table, of_homes)) if homes else opened_table
    sizes = _Sizes.of(read_homes, homes, rows_are)
    required, notes, question = _requirements(everyone, profile, sizes, rows_are)
    if numbers:
        plain_rows = _Rows()
        of_rows, *_ = _requirements(
            everyone, profile, _Sizes.of(read_homes, homes, plain_rows), plain_rows
        )
        limit_terms = (f"{key} = {toml_value(x)}" for key, x in _limit_table(of_rows[0]).items())
        notes.append(f"The limit where rows are people: {', '.join(limit_terms)}")
    if question:
        columns = [
            replace(c, question=c.question or question) if c.role == "sensitive" else c
            for c in columns
        ]
    empty = any("" in domain for domain in (*known_values, everyone.values))
    options = PublishOptions(format="parquet" if empty else None)
    measured = _Measured(microdata, Policy(required, schema, options))
    columns = measured.by_ranges(columns)
    policy = measured.policy
    if homes:
        m = required[0].points[0].adversary.to_dict()["facts"]["m"]
        shown_homes = [*homes[:_MOST_HOMES], *["others"] * (len(homes) > _MOST_HOMES)]
        notes.append(sizes.note(", ".join(shown_homes), m))
        notes += [
            f"{_DECIDE}: all rows of a {name} have one {schema.sensitive}. If others know that, "
            f'say shared = {{ by = "{name}", values = ["{schema.sensitive}"] }} in [schema]: it is '
            "shown once for each then"
            for name in homes
            if name != schema.sensitive and not schema.several
            if agrees(read_homes, name, schema.sensitive)
        ]
    return PolicySuggestion(
        opened_table.name,
        rows,
        tuple(columns),
        policy,
        tuple(notes),
        tuple(repeated),
        tuple(measured.costs()),
        folder,
        () if read_settings.missing else tuple(detected.missing),
        codes.spellings,
    )


# ---- roles --------------------------------------------------------------------------------------


class _Roles:
    """The role of each column, and why."""

    def __init__(
        self,
        table: str,
        profiles: Sequence[Profile],
        sensitive: str | None,
        chosen: Sequence[str] | None,
        files: Mapping[str, _File],
        numbers: Sequence[_PersonNumber] = (),
    ) -> None:
        self.of: dict[str, tuple[Role, str]] = {}
        named = chosen or ()
        of_people = {number.name: _of_number(number) for number in numbers}
        if numbers:
            of_people[numbers[0].name] = "identifier", numbers[0].why
        for profile in profiles:
            fixed = _unusable(profile) or of_people.get(profile.name) or _identifier(profile)
            if fixed and profile.name != sensitive and profile.name not in named:
                self.of[profile.name] = fixed
        free = [profile for profile in profiles if profile.name not in self.of]
        if sensitive is None:
            hidden = self._sensitive([e for e in free if e.name not in named], chosen)
            if hidden is None:
                raise DataError(
                    f"{table}: no column could be what must stay hidden, with two values or more "
                    "that are not names of people; name one: --sensitive COLUMN, or in Python "
                    "sensitive="
                )
            sensitive = hidden
        else:
            self.of[sensitive] = "sensitive", _NAMED
        for profile in free:
            if profile.name in files and files[profile.name].hierarchy:
                continue
            if profile.name != sensitive and (why := _unlistable(profile)):
                self.of[profile.name] = "undecided", _NAMED if profile.name in named else why
        free = [profile for profile in free if profile.name not in self.of]
        for profile in free:
            if chosen is not None:
                is_named = profile.name in chosen
                why = _NAMED if is_named else "you did not name it"
                self.of[profile.name] = ("quasi-identifier" if is_named else "undecided"), why
            elif profile.name in files and files[profile.name].is_named:
                why = "a hierarchy file for it lies beside the table"
                self.of[profile.name] = "quasi-identifier", why
            elif why := _known_of_people(profile):
                self.of[profile.name] = "quasi-identifier", why
        n_known = sum(role == "quasi-identifier" for role, _ in self.of.values())
        of_few_values = [
            e
            for e in free
            if e.name not in self.of
            and e.distinct <= _FEW
            and not _OFTEN_NAMES.keys() & words_of(e.name)
        ]
        of_many_values = [e for e in free if e.name not in self.of and e not in of_few_values]
        for profile in [*of_few_values, *of_many_values]:
            if not n_known:  # a policy has one at least
                why = _FEW_VALUES_LEFT if profile in of_few_values else _NONE_LEFT
                self.of[profile.name], n_known = ("quasi-identifier", why), 1
            else:
                self.of[profile.name] = "undecided", "nothing says who may know it"
        if not n_known:
            for profile in profiles:
                if profile.name in named and profile.name != sensitive:
                    why = profile.problem or _unlistable(profile)
                    raise DataError(
                        f"{table}: {profile.name!r} cannot be a quasi-identifier as it is: {why}; "
                        "or name other columns"
                    )
            raise DataError(
                f"{table}: no column is left that others may know of a person, beside "
                f"{sensitive!r} and what names people; name some: --quasi-identifiers COLUMNS, or "
                "in Python quasi_identifiers=[...]"
            )

    def _sensitive(self, free: Sequence[Profile], chosen: Sequence[str] | None) -> str | None:
        """The column that must stay hidden: by its name, or the last of few values.

        A question is asked of much, and says less than a name; a date is of what was hidden.
        """
        ranked = sorted(free, key=lambda e: (is_sentence(e.name), e.kind == "date"))
        for of_sentences in (False, True):
            for word in _SECRET:
                for profile in ranked:
                    if is_sentence(profile.name) != of_sentences or asks_for(profile.name):
                        continue
                    if word in words_of(profile.name) and not _is_remark(word, profile):
                        named = _WORDING if of_sentences else "its name has"
                        self.of[profile.name] = "sensitive", f"{named} the word {word!r}"
                        return profile.name
        often_known = [e for e in free if _known_of_people(e)]
        rarely_known = [e for e in free if e not in often_known]
        of_few_values = [e for e in rarely_known if e.distinct <= 5 * _FEW]
        people = [
            e
            for e in of_few_values
            if not ({*f"{_PLACES} {_TIMES}".split()} & words_of(e.name) or is_household(e.name))
        ]
        for part in (people, of_few_values, rarely_known, often_known):
            if part and (len(free) > 1 or chosen):
                self.of[part[-1].name] = "sensitive", "the last column that may be"
                return part[-1].name
        return None


def _known_of_people(profile: Profile) -> str:
    """Why others may know a column of a person; empty where nothing speaks for that."""
    if profile.kind == "date":
        return "dates of a person are often known"
    if is_sentence(profile.name):
        word = asks_for(profile.name)
        return f"by its question for {word!r}, others may know it of a person" if word else ""
    known = not _KNOWN.keys().isdisjoint(words_of(profile.name))
    return "by its name, others may know it of a person" if known else ""


def _repeats(profile: Profile) -> bool:
    return profile.distinct < profile.known


def _is_remark(word: str, profile: Profile) -> bool:
    """True if a column that may be one of marks, by a word, is one of remarks by its values."""
    return word in _AMBIGUOUS and profile.kind == "text" and profile.distinct > 5 * _FEW


def _person_numbers(table: Table, profiles: Sequence[Profile]) -> list[_PersonNumber]:
    """The columns that tell people apart who have several rows, the surest first.

    None by its rows alone, where each row has the number of another person by a name; and no name
    that only two people of different sex or birth have.
    """
    may = [profile for profile in profiles if _may_number(profile)]
    if not may:
        return []
    trait_columns = [e.name for e in profiles if not e.problem and may_be_trait(e.name)]
    if any(is_plain_number(e.name) for e in may):
        trait_columns += [e.name for e in profiles if not e.problem and e.distinct <= 5 * _FEW]
    columns = _coded(table, [*(e.name for e in may), *trait_columns])
    why = people_of(columns)
    if _tells_apart(profiles):
        why = {name: reason for name, reason in why.items() if _is_named(name)}
    column_of = {column.name: column for column in columns}
    why = {name: why[name] for name in why if not names_two_people(column_of[name], columns)}
    return [
        _PersonNumber(name, reason, column_of[name].n, int(column_of[name].rows_of_each.max()))
        for name, reason in why.items()
    ]


def _may_number(profile: Profile) -> bool:
    """True if values may number people who have several rows."""
    if (
        profile.problem
        or profile.kind == "date"
        or not LEAST_NAMED <= profile.distinct < profile.known
    ):
        return False
    by_rows = profile.distinct >= LEAST_PEOPLE and are_codes(profile.domain)
    return _is_named(profile.name) or by_rows


def _coded(table: Table, names: Sequence[str]) -> list[Coded]:
    """Some columns, of which many are read at once."""
    columns: list[Coded] = []
    column_names = [*dict.fromkeys(names)]
    for start in range(0, len(column_names), _READ_AT_ONCE):
        part = column_names[start : start + _READ_AT_ONCE]
        columns += map(Coded.of, part, fetch(table, part).columns)
    return columns


def _is_named(name: str) -> bool:
    return is_of_person(name) or is_of_rows(name)


def _tells_apart(profiles: Sequence[Profile]) -> bool:
    """True if each row has a number that is of a person by its name, and none repeats."""
    return any(is_of_person(e.name) and e.distinct == e.rows for e in profiles)


def _of_number(number: _PersonNumber) -> tuple[Role, str]:
    """The role of a further number of people."""
    return ("identifier" if _is_named(number.name) else "undecided"), number.why


def _in_doubt(roles: _Roles, profiles: Sequence[Profile]) -> tuple[str, ...]:
    """Identifiers that repeat, where nothing says that rows are people all the same."""
    repeat = [e.name for e in profiles if roles.of[e.name][0] == "identifier" and _repeats(e)]
    return tuple(name for name in repeat if _is_named(name) or not _tells_apart(profiles))


def _leave_out_names(table: Table, roles: _Roles, profiles: Sequence[Profile]) -> None:
    """Columns that name nobody alone get no role: a household, or one of several names."""
    repeating = [e for e in profiles if roles.of[e.name][0] == "identifier" and _repeats(e)]
    if not repeating:
        return
    trait_columns = [e.name for e in profiles if not e.problem and may_be_trait(e.name)]
    people = _coded(table, trait_columns)
    for profile in [*repeating]:
        if is_household(profile.name):
            roles.of[profile.name] = "undecided", "by its name, people who live together share it"
            repeating.remove(profile)
        elif not _is_named(profile.name):
            (column,) = _coded(table, [profile.name])
            if is_contradicted(column, people):
                why = "people of different sex, birth or race share it, so it names nobody"
                roles.of[profile.name] = "undecided", f"{why} by itself; {profile.said}"
                repeating.remove(profile)
    if len(repeating) < 2 or not all(_NAMES_PEOPLE.keys() & words_of(e.name) for e in repeating):
        return
    columns = [codes_of(column)[0] for column in fetch(table, [e.name for e in repeating]).columns]
    _, first = combine(columns, [int(codes.max()) + 1 for codes in columns])
    if len(first) == repeating[0].rows:
        for profile in repeating:
            why = f"by its name, it names people, though not alone; {profile.said}"
            roles.of[profile.name] = "undecided", why


def _unusable(profile: Profile) -> tuple[Role, str] | None:
    if profile.problem:
        return "undecided", f"it cannot be used as it is: {profile.problem}"
    if not profile.distinct:
        return "undecided", "it holds nothing but missing values"
    if profile.distinct == 1 and not profile.nulls:
        return "undecided", "it has one value, the same for everybody"
    return None


def _unlistable(profile: Profile) -> str:
    """Why labels must not list the values of a column of texts."""
    if profile.kind != "text" or profile.people is None or _code_length(profile) is not None:
        return ""
    if hint := _nearly_read(profile):
        return hint
    if 2 * int(np.count_nonzero(profile.people < min(_K, profile.rows))) <= profile.distinct:
        return ""
    return (
        f"most of its values are had by fewer than {_K} people each, and labels would list them: "
        "give it a hierarchy"
    )


def _nearly_read(profile: Profile) -> str:
    """That a column of texts would be one of dates or numbers, but for a few."""
    if profile.kind != "text" or profile.people is None:
        return ""
    nearly = nearly_all_read(profile.domain, profile.people.tolist())
    if nearly is None:
        return ""
    return f"nearly all of its values read as {nearly[0]}: mend the others, or say its type"


def _identifier(profile: Profile) -> tuple[Role, str] | None:
    """The role of a column that names people, or might; None of any other."""
    rows_with_one = f"{some(profile.known, 'row', 'rows')} with one"
    counts_text = f"{some(profile.distinct, 'value', 'values')} in {rows_with_one}"
    if profile.kind == "date" or not _names_some(profile):
        return None
    if _are_times(profile):
        return "undecided", "it holds times, which are not read as dates"
    for names, reason in _NAMING:
        if names(profile):
            return "identifier", f"{reason} {counts_text}"
    if profile.known < 2 * _K:
        return None
    if looks := looks_personal(profile.domain):
        reason_text = f"its values look like {looks}: {counts_text}"
        if looks != _LOOKS_LIKE_NAMES:
            return "identifier", reason_text
        # A city may be called like somebody.
        if not (_SECRET | _KNOWN).keys() & words_of(profile.name):
            # Two people may have one name: then it names nobody by itself, and has no role.
            return ("undecided" if _repeats(profile) else "identifier"), reason_text
    if Fraction(profile.distinct, profile.known) >= _NEARLY and _no_measure(profile):
        if _repeats(profile) and (hint := _nearly_read(profile)):
            return "undecided", hint  # two people may be born on one day
        return "identifier", f"nearly everybody has a value of their own: {counts_text}"
    return None


def _names_some(profile: Profile) -> bool:
    """True if there are enough values: two that many people have, such as yes and no, name none."""
    return not _repeats(profile) or profile.distinct >= 2 * _K


def _are_times(profile: Profile) -> bool:
    return all(isinstance(v, str) and _TIME.match(v) for v in profile.domain[:_LOOK])


def _has_name_of_people(profile: Profile) -> bool:
    return bool(_NAMES_PEOPLE.keys() & words_of(profile.name))


def _has_number_of_person(profile: Profile) -> bool:
    words = words_of(profile.name)
    numbered = bool(_WHO.keys() & words and _NUMBERS & words) and not _is_count(profile)
    return profile.distinct >= 2 * _K and (numbered or _is_named_number(profile))


def _is_count(profile: Profile) -> bool:
    """True if a name says how many of something there are: number_of_calls."""
    return profile.kind == "number" and _COUNT.match(profile.name) is not None


def _is_named_number(profile: Profile) -> bool:
    return _is_named(profile.name) and are_codes(profile.domain)


def _has_many_numbers(profile: Profile) -> bool:
    words = words_of(profile.name)
    has_many = (
        Fraction(profile.distinct, profile.known) >= Fraction(1, 20) and profile.known >= 2 * _K
    )
    about_people = _OFTEN_NAMES.keys() & words
    if not has_many or not about_people or _is_count(profile):
        return False
    if profile.kind == "number" and _repeats(profile):  # days of a patient; an index of prices
        return are_codes(profile.domain) and not (about_people <= _WHO.keys() and len(words) > 2)
    return True


# What names people by its name, and how that is said.
_NAMING: tuple[tuple[Callable[[Profile], bool], str], ...] = (
    (_has_name_of_people, "by its name, it names people;"),
    (_has_number_of_person, "by its name, it is the number of a person;"),
    (_has_many_numbers, "by its name and its many values, it names people:"),
)


def _no_measure(profile: Profile) -> bool:
    """True if values that hardly repeat are texts, or whole numbers without a gap."""
    if (_SECRET | _KNOWN).keys() & words_of(profile.name):
        return False
    if profile.kind == "text":
        return (
            2 * sum(_NUMERIC.fullmatch(str(v)) is not None for v in profile.domain)
            < profile.distinct
        )
    are_whole = all(type(value) is int for value in profile.domain)
    return (
        are_whole
        and profile.domain[-1] - profile.domain[0] + 1 == profile.distinct == profile.known
    )


def _schema(
    profiles: Sequence[Profile],
    roles: _Roles,
    reading: Reading,
    folder: Path,
    files: Mapping[str, _File],
    repeated: Sequence[str],
    rows_are: _Rows,
    codes: MissingCodes,
) -> tuple[Schema, list[ColumnSuggestion]]:
    """The schema, and what is said of each column."""
    columns, types = [], {}
    unique = [e for e in profiles if e.distinct == e.rows and are_codes(e.domain)]
    unique = [e for e in unique if not (_SECRET | _KNOWN).keys() & words_of(e.name)]
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
            hierarchy, kind, question = _hierarchy(described)
            if hierarchy_file is not None:
                question = hierarchy_file.question or question
                hierarchy, kind = (
                    (hierarchy_file.hierarchy, None)
                    if hierarchy_file.hierarchy
                    else (hierarchy, kind)
                )
            if reason in (_FEW_VALUES_LEFT, _NONE_LEFT):
                question = _and(_KNOWN_AT_ALL, question)
            if kind is not None:
                types[described.name] = kind
        elif role == "sensitive":
            if reason.startswith("the last"):
                question = "is this what must stay hidden? No name of a column says so"
            elif reason.startswith(_WORDING):
                question = "is this what must stay hidden? Only a word of a question says so"
            elif any(f"word {word!r}" in reason for word in _AMBIGUOUS):
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
        elif (role, reason) == ("undecided", _NAMED):
            question = f"it has no role though you named it: {_unlistable(described)}"
        elif role == "undecided" and not described.problem and described.distinct > 1:
            secret = _SECRET.keys() & words_of(described.name)
            if secret:
                question = "sensitive, too? Then say so, and add a requirement about it"
        if described.name in repeated and role in ("quasi-identifier", "sensitive"):
            question = (
                "it looks like the number of a person who has several rows. If it is, list it "
                'under identifiers alone, and add unit = "row" and person'
            )
        if role in _PUBLISHED:
            is_set = bool(separator) and described is hidden
            of_cells = codes.question(described) or _of_cells(described, is_set)
            question = _and(question or _unread(described, reading), of_cells)
        columns.append(
            ColumnSuggestion(described.name, role, described.said, reason, hierarchy, question)
        )
    by = {
        role: [profile.name for profile in columns if profile.role == role]
        for role in ("identifier", "quasi-identifier", "sensitive")
    }
    if separator:
        reading = replace(reading, separators={hidden.name: separator})
    missing: Any = "error"
    if (hidden.nulls or missing_codes(hidden)) and not separator:
        label, labels = "missing", set(map(str, hidden.domain))
        while label in labels:
            label += "?"
        missing = {"label": label}
    hierarchies = {
        profile.name: profile.hierarchy for profile in columns if profile.hierarchy is not None
    }
    schema = Schema(
        identifiers=by["identifier"],
        quasi_identifiers=by["quasi-identifier"],
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


def _and(question: str, further: str) -> str:
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


def _unread(profile: Profile, reading: Reading) -> str:
    """The question about texts that look like dates or numbers, and about centuries."""
    if profile.kind == "text":
        return doubts(profile.name, profile.domain) or ""
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


# ---- hierarchies --------------------------------------------------------------------------------


def _hierarchy(profile: Profile) -> tuple[Mapping[str, Any] | None, Any, str]:
    """How a column may coarsen, the type it must be given for that, and what is to decide."""
    code = _code_length(profile)
    if code is not None:
        return {"mask": code}, "text" if profile.kind == "number" else None, ""
    if profile.kind == "date":
        first, last = profile.domain[0], profile.domain[-1]
        if isinstance(first, dt.time):
            return {"dates": ["hour", "day"]}, None, ""
        long = last.year - first.year > 20
        levels = ["month", "year", "decade"] if long else ["month", "quarter", "year"]
        return {"dates": levels}, None, ""
    if profile.kind == "number":
        if not all(-_LARGEST < end < _LARGEST for end in (profile.domain[0], profile.domain[-1])):
            return None, None, "it has numbers that are not finite, or too large"
        are_whole = all(value == int(value) for value in profile.domain[:1000])
        if are_whole and _POSTAL.keys() & words_of(profile.name) and _lost_zeros(profile):
            ask = (
                "numbers of different lengths: codes that lost the zeros they begin with? Then "
                f"read the column as texts, pd.read_csv(path, dtype={{{profile.name!r}: str}})"
            )
            widths = _widths(profile.domain[0], profile.domain[-1], are_whole)
            return (None if widths is None else {"intervals": widths}), None, ask
        if profile.distinct <= _FEW_NUMBERS:
            ask = "number or code? Taken for numbers; if they are codes, say so in [schema.types]"
            return None, None, ask if are_whole else ""
        widths = _widths(profile.domain[0], profile.domain[-1], are_whole)
        return (None if widths is None else {"intervals": widths}), None, ""
    if profile.distinct > 5 * _FEW:
        return None, None, "many texts: a hierarchy of words (file or rows) keeps more"
    return None, None, ""


def _code_length(profile: Profile) -> int | None:
    """How long codes are, if all are of one length and have digits."""
    lengths = {len(str(value)) for value in profile.domain}
    if len(lengths) != 1 or profile.distinct <= _FEW_NUMBERS or profile.kind == "date":
        return None
    (length,) = lengths
    if profile.kind == "number":
        postal = _POSTAL.keys() & words_of(profile.name)
        are_whole = all(type(value) is int and value >= 0 for value in profile.domain)
        return length if postal and are_whole and length > 2 else None
    complete = profile.distinct == len(profile.domain)
    digits = all(any(char.isdigit() for char in str(value)) for value in profile.domain)
    return length if complete and digits and 2 < length <= 12 else None


def _lost_zeros(profile: Profile) -> bool:
    """True if whole numbers are of a few lengths, most of them of the longest."""
    lengths = [len(str(value)) for value in profile.domain]
    longest = max(lengths)
    return longest > 3 and min(lengths) < longest and 2 * lengths.count(longest) > len(lengths)


def _widths(low: Any, high: Any, are_whole: bool) -> list[Any] | None:
    """Three round widths that nest, the first of which makes about twenty cells."""
    span = Fraction(str(high)) - Fraction(str(low))
    for power in range(0 if are_whole else -6, 16):
        for nested in _NESTED:
            widths = [Fraction(10) ** power * n for n in nested]
            if span / widths[0] <= _CELLS:
                return [int(w) if w.denominator == 1 else str(float(w)) for w in widths]
    return None


class _File(NamedTuple):
    """A hierarchy file beside the table, for one of its columns."""

    hierarchy: Mapping[str, Any] | None  # None where it does not list every value
    is_named: bool  # whether its name says for which column it is
    question: str = ""


def _hierarchy_files(source: Any, profiles: Sequence[Profile]) -> tuple[Path, dict[str, _File]]:
    """The folder of a table, and the hierarchy file of each column that has one."""
    if not isinstance(source, (str, Path)) or is_address(source) or str(source) == STDIN:
        return Path(), {}
    table = named_part(Path(source))[0]
    columns = [profile for profile in profiles if profile.distinct == len(profile.domain) > 0]
    files: dict[str, _File] = {}
    by_content: dict[str, list[str]] = {}
    room = _MOST_BYTES
    for path in sorted(table.parent.glob("*.csv"))[:_MOST_FILES]:
        if not path.is_file() or path.samefile(table):
            continue
        named_column, size = _column_of(path, table, columns), path.stat().st_size
        if size > room or (named_column is None and size > _MOST_UNNAMED):
            continue
        room -= size
        try:
            tree = Tree.read(path.name, table.parent)
        except InputError as error:
            if named_column is not None:
                files.setdefault(named_column.name, _File(None, True, str(error)))
            continue  # another table
        if named_column is not None and (
            named_column.name not in files or not files[named_column.name].hierarchy
        ):
            question = f"{path.name} beside the table does not list all of its values"
            covers = _covers(tree, named_column, by_content=False)
            hierarchy = {"file": path.name} if covers else None
            files[named_column.name] = _File(hierarchy, True, "" if covers else question)
        elif named_column is None:
            fitting = [profile for profile in columns if _covers(tree, profile, by_content=True)]
            if len(fitting) == 1:  # of more, nothing says which
                by_content.setdefault(fitting[0].name, []).append(path.name)
    for column, names in by_content.items():
        if len(names) == 1:
            files.setdefault(column, _File({"file": names[0]}, False))
    return table.parent, files


def _column_of(path: Path, table: Path, columns: Sequence[Profile]) -> Profile | None:
    """The column that a file is for by its name: TABLE_hierarchy_COLUMN, or hierarchy_COLUMN."""
    match = _NAMED_SO.fullmatch(path.stem)
    if match is None:
        return None
    table_name, table_part = table.stem.casefold(), match[1].casefold().rstrip("-_ .")
    if not (table_name.startswith(table_part) or table_part.startswith(table_name)):
        return None
    return next(
        (column for column in columns if column.name.casefold() == match[2].casefold()), None
    )


def _covers(tree: Tree, profile: Profile, by_content: bool) -> bool:
    """True if a tree lists all values of a column; by content, and hardly any others."""
    if by_content and (profile.distinct <= _FEW_VALUES or 2 * profile.distinct < len(tree.listed)):
        return False
    try:
        levels = tree.levels(list(profile.domain), profile.name, None)
    except InputError:
        return False
    return not by_content or len(levels.labels[0]) < profile.distinct


# ---- what it costs ------------------------------------------------------------------------------


class _Measured:
    """The utility of a first policy on a sample of the rows, by Mondrian."""

    def __init__(self, microdata: Microdata, policy: Policy) -> None:
        self.policy, self._method = policy, method_of(policy.options.method, policy)
        self._as_laid(microdata)

    def _as_laid(self, microdata: Microdata) -> None:
        self._microdata, self._sample, self._made = microdata, None, None
        with suppress(InputError):
            rules = replace(self.policy, schema=microdata.schema)
            self._written = as_written(self._method, microdata, rules)
            self._sample = sample_of(self._written, rules, _CELLS_TRIED)
        if self._sample is not None:
            self._made = made_of(self._method, self._sample, self.policy)

    def by_ranges(self, columns: Sequence[ColumnSuggestion]) -> list[ColumnSuggestion]:
        """Columns of numbers and dates as ranges, where these keep more than a hierarchy."""
        schema, laid = self._microdata.schema, self._made
        tried = {e.name for e in columns if e.hierarchy and {*e.hierarchy} & _OF_NUMBERS}
        tried = {name for name in tried if schema.types.get(name) is None}
        tried -= {a.name for a in self._microdata.attributes if _are_texts(a.domain)}
        if laid is None or not tried:
            return list(columns)
        hierarchies = dict(schema.hierarchies)
        before = self._microdata
        self._as_laid(before.laid({k: v for k, v in hierarchies.items() if k not in tried}))
        ranges = self._made
        if ranges is None:
            self._as_laid(before)
            return list(columns)
        better_as_ranges = {n for n in tried if ranges.covered[n] <= laid.covered[n] - _LESS}
        if better_as_ranges != tried:
            self._as_laid(
                before.laid({k: v for k, v in hierarchies.items() if k not in better_as_ranges})
            )
        remaining = {k: v for k, v in hierarchies.items() if k not in better_as_ranges}
        new_schema = replace(self.policy.needed_schema, hierarchies=remaining)
        self.policy = replace(self.policy, schema=new_schema)
        return [
            replace(
                column,
                hierarchy=None,
                left_out=column.hierarchy,
                left_out_why="ranges keep more: a label covers "
                f"{ranges.covered[column.name]:.0%} of the values, by this "
                f"{laid.covered[column.name]:.0%}",
            )
            if column.name in better_as_ranges
            else column
            for column in columns
        ]

    def costs(self) -> Iterator[str]:
        """Which columns give the secret away, and which cost much, where much is lost."""
        kept_detail, sample, schema = self._made, self._sample, self.policy.needed_schema
        if (
            kept_detail is None
            or sample is None
            or not (kept_detail.lost or kept_detail.loss({}) >= _MUCH)
        ):
            return
        revealing = given_away(self._written, self.policy, kept_detail.lost)
        for column in revealing:
            sentence = column.said(schema.sensitive, self._microdata.n_people)
            yield (
                f"{_DECIDE}: {sentence}. Does it say the same as what must stay hidden? Then leave "
                "it out, or hide it, too"
            )
        sampled = (
            "" if sample.n_people == self._microdata.n_people else f" (of {sample.n_people:,} rows)"
        )
        revealing_names = [column.column for column in revealing]
        possible = savings(self._method, sample, self.policy, kept_detail, revealing_names)
        for saving in worth_saying(possible, revealing_names):
            ask = saving.startswith("Without")
            yield (
                f"{_DECIDE}: {saving}{sampled}. Leave it out, if readers can do without it"
                if ask
                else f"{saving}{sampled}"
            )


def _are_texts(domain: Sequence[Any]) -> bool:
    return any(isinstance(value, str) for value in domain)


# ---- requirements -------------------------------------------------------------------------------


def _requirements(
    everyone: GroupCounts, profile: Profile, sizes: _Sizes, rows: _Rows
) -> tuple[list[Requirement], list[str], str]:
    """A limit that one group of everybody keeps with room, and k-anonymity; what to say.

    Of people who have several rows, a limit is about the sum over these, if one can be met.
    """
    if rows.people >= 2:
        with suppress(DataError):
            return _limits(everyone, profile, sizes, rows, rows.max_rows)
    return _limits(everyone, profile, sizes, rows, 1)


def _limits(
    everyone: GroupCounts,
    profile: Profile,
    sizes: _Sizes,
    rows: _Rows,
    max_rows: int,
) -> tuple[list[Requirement], list[str], str]:
    """The same, of people who have so many rows at most."""
    n, labels = everyone.n_people, everyone.values
    if n < 2:
        raise DataError("the table has one person: whatever is published, is theirs")
    if np.count_nonzero(everyone.totals) < 2:
        raise DataError(f"everybody has the same {profile.name!r}: nothing can be hidden")
    limited, question = None, ""
    if profile.kind in ("number", "date") and profile.distinct > _FEW:
        width = "10%" if profile.kind == "number" else "30 days"
        if not rows.name:  # the sum over a person's rows is no limit within a width
            limited = _limited(everyone, {"within": width}, sizes.links, max_rows)
        if limited is None or limited[1] > _WORTH:
            limited = None
            question = (
                "each value is judged by itself, and values near each other are not (within); "
                "if near is as bad, publish ranges, or fewer values that many people share"
            )
    notes: list[str] = []
    if limited is None:
        common = [str(labels[c]) for c in np.flatnonzero(2 * everyone.totals > n).tolist()]
        limited = _limited(everyone, {"excluded": common}, sizes.links, max_rows)
        notes += [
            f"{_DECIDE}: {everyone.totals.max():,} of {n:,} {rows.noun} have {value!r}, so nobody "
            "could keep it below one half: it is left out (except). Without the exception there "
            "would be no limit below that share"
            for value in common
        ]
    if limited is None:
        raise DataError(
            f"no limit on {profile.name!r} can be met for {people_text(n)} with "
            f"{some(len(labels), 'value', 'values')}; publish more people"
        )
    required, limit, reached, value = limited
    strictest = next(x for x in _LIMITS if x > reached)
    several = f", over up to {max_rows} rows of a person" if max_rows > 1 else ""
    notes.append(
        f"With everybody in one group, such an adversary reaches "
        f"{percentage(reached, 2, 'up')} for {value!r}{several}; no limit up to that can be met"
    )
    if rows.max_rows > max_rows:
        notes.append(
            f"{_DECIDE}: this is of a row. A person has up to {rows.max_rows:,}, over which it is "
            f"added up, and no limit on each {profile.name} can be met. Publish one row for each "
            "person; or name values that harm, and are rare (values = [...]); or leave person out, "
            'and keep unit = "row": then all that is said is about rows, and not about people'
        )
    notes.append(
        f"{toml_value(strictest)} is the strictest round limit that can be met"
        + ("" if strictest == limit else f"; {toml_value(limit)} leaves room for smaller groups")
    )
    return [required, Requirement(KAnonymity(min(_K, rows.people or n)))], notes, question


def _limited(
    everyone: GroupCounts, secret: Mapping[str, Any], links: Sequence[int], max_rows: int
) -> tuple[Requirement, Fraction, Fraction, str] | None:
    """A requirement with the most knowledge worth a limit; what is reached, and where.

    It is tried with as many links as households ask for first. Of people who have several rows, it
    is the sum over as many rows as one has at `max_rows`.
    """
    best = None
    n_values = np.count_nonzero(everyone.totals) - len(secret.get("excluded", ()))
    of_homes = [
        (l, k, needed_links) for needed_links in links for l, k, m in _KNOWLEDGE if needed_links > m
    ]
    for l, k, m in (*of_homes, *_KNOWLEDGE):
        if l and n_values < 3:
            continue
        try:
            requirement = Requirement(Facts(l, k, m), 1, **secret)
            ((*disclosures,),) = requirement.count(everyone).disclosures()
        except (PolicyError, UnsupportedError):
            return None
        reached = max_rows * _exactly(worst(disclosures))
        if reached >= 1:
            continue
        limit = next(x for x in _LIMITS if x == 1 or _odds(x) >= _ROOM * _odds(reached))
        best = replace(requirement, below=limit), limit, reached, str(worst(disclosures).value)
        if limit <= _WORTH:
            break
    return best


def _exactly(disclosure: Disclosure) -> Fraction:
    fraction = disclosure.exact
    return Fraction(disclosure.probability) if fraction is None else fraction


def _odds(chance: Fraction) -> Fraction:
    return chance / (1 - chance)


# ---- the file -----------------------------------------------------------------------------------


def _lines(suggestion: PolicySuggestion, folder: Path) -> Iterator[str]:
    """The lines of the policy file."""
    schema, policy = suggestion.policy.needed_schema, suggestion.policy
    rows, columns = (
        some(suggestion.rows, "row", "rows"),
        some(len(suggestion.columns), "column", "columns"),
    )
    yield f"# A first policy for {_said(suggestion.name)}: {rows}, {columns}."
    if schema.person is not None:
        yield f"# A row is a case of a person: {_said(toml_value(schema.person))} says of whom."
        yield "# People are counted, and limits are theirs. Read it first: roles are guesses."
    elif not {*suggestion.repeated} <= {*schema.identifiers}:
        odd = ", ".join(map(toml_value, suggestion.repeated))
        yield f"# Rows may be no people: {_said(odd)} repeats, and looks like a person's number."
        yield "# Read it first: roles are guesses from names and counts."
    elif suggestion.repeated:
        odd = ", ".join(map(toml_value, suggestion.repeated))
        yield f"# Nothing is published as long as rows are not people: {_said(odd)} repeats."
        yield "# Say what a row is. Read the rest: roles are guesses from names and counts."
    else:
        begin = "# It can be published as it is. Read it first: "
        yield f"{begin}roles are guesses from names and counts."
    remarks = (*suggestion.notes, *suggestion.costs)
    decide = len(suggestion.questions) + sum(note.startswith(_DECIDE) for note in remarks)
    if decide:
        how_many = "One thing needs" if decide == 1 else f"{decide} things need"
        yield f'# {how_many} your decision: look for "{_DECIDE}".'
    yield ""
    yield "[schema]"
    yield from _listing(suggestion, "identifier", "identifiers", "Never published.")
    yield from _listing(
        suggestion,
        "quasi-identifier",
        "quasi_identifiers",
        "Known to others: published, but coarser.",
    )
    for cost in suggestion.costs:
        yield from _wrapped(cost)
    if schema.person is not None:
        yield "# A row is a case, of which a person may have several; people are counted by person."
        yield 'unit = "row"'
        yield f"person = {toml_value(schema.person)}"
    hidden = next(column for column in suggestion.columns if column.role == "sensitive")
    yield "# Must stay hidden of every person."
    yield f"sensitive = {toml_value(hidden.name)}  # {hidden.comment()}"
    if schema.several:
        yield "# A person has a set of them, or none."
        yield 'semantics = "set"'
    if schema.missing != "error":
        yield "# Rows without a value are published with this one."
        yield f"missing = {toml_value({'label': str(schema.missing)})}"
    undecided = [column for column in suggestion.columns if column.role == "undecided"]
    if undecided:
        yield "# Not published, until you give them a role:"
        yield from (f"#   {toml_value(e.name)}  {e.comment()}" for e in undecided)
    table = schema.to_dict()
    table["hierarchies"] = {
        e.name: _from(folder, suggestion, e.hierarchy) for e in suggestion.columns if e.hierarchy
    }
    not_taken = [e for e in suggestion.columns if e.left_out]
    for name in ("reading", "types", "hierarchies"):
        may_be = (name == "hierarchies" and not_taken) or (name == "reading" and suggestion.codes)
        if (entries := table.get(name) or {}) or may_be:
            yield from ("", *_ABOUT.get(name, ()), f"[schema.{name}]")
            if "latest_year" in entries and name == "reading":
                yield "# `latest_year`: the latest that two digits of a year may mean."
            yield from (
                f"{toml_key(key)} = {toml_value(setting)}" for key, setting in entries.items()
            )
            if name == "reading":
                yield from _of_missing(suggestion, entries.get("missing", []))
    for column in not_taken:
        line = f"{toml_key(column.name)} = {toml_value(_from(folder, suggestion, column.left_out))}"
        yield f"# {_said(line)}  # {column.left_out_why}"
    for requirement in policy.requirements:
        table = _limit_table(requirement)
        yield ""
        if requirement.points:
            yield from _of_limit(requirement, suggestion.notes)
        yield "[[require]]"
        if requirement.criterion is not None:
            k = _k_of(table["k_anonymity"])
            remark = "" if k == _K else ", all there are"
            yield f"# Nobody is alone: groups of {k} people or more{remark}."
        yield from (f"{key} = {toml_value(x)}" for key, x in table.items())
    yield ""
    yield "[publish]"
    if policy.options.format is not None:
        yield "# An empty text is a value here, which CSV cannot tell from a missing one."
        yield f"format = {toml_value(policy.options.format)}"
    for key in _told_to_adversaries(policy):
        yield from _wrapped(
            "The certificate names the method, and who knows it may be surer than the verdicts "
            f'say. Where readers may be such adversaries: method = "{key}", whose verdicts hold '
            "against them, too; it keeps less"
        )
    yield f'method = "{policy.options.method}"'


def _of_missing(suggestion: PolicySuggestion, missing: Sequence[str]) -> Iterator[str]:
    """The lines of texts that are read as missing, and of codes that may stand for it."""
    if suggestion.spellings:
        yield from _wrapped(f"{_DECIDE}: {suggestion._spelled}")
    if suggestion.codes:
        instead = ", in place of the other" if missing else ""
        yield from _wrapped(
            f"If these numbers stand for no value, in every column, uncomment this{instead}"
        )
        yield f"# missing = {toml_value([*missing, *suggestion.codes])}"


def _limit_table(requirement: Requirement) -> dict[str, Any]:
    """A requirement as the file has it."""
    table = requirement.to_dict()
    return {**table, "below": requirement.points[0].below} if requirement.points else table


def _k_of(table: Any) -> int:
    """How many people k-anonymity asks for, as a policy file has it."""
    return int(table["k"] if isinstance(table, Mapping) else table)


def _told_to_adversaries(policy: Policy) -> Iterator[str]:
    """The methods whose groups hold a policy also against who knows the method."""
    for key in PROVED:
        with suppress(InputError):
            method = method_of(key, policy)
            check_needs(method, policy)
            proof = traits_of(method).proof
            if proof and proof.said(policy) == AS_REQUIRED:
                yield key


def _from(folder: Path, suggestion: PolicySuggestion, hierarchy: Any) -> dict[str, Any]:
    """A hierarchy as a policy file in a folder has it."""
    table = dict(hierarchy)
    if "file" in table:
        table["file"] = Path(os.path.relpath(suggestion.folder / table["file"], folder)).as_posix()
    return table


def _wrapped(text: str) -> Iterator[str]:
    yield from (f"# {line}" for line in wrap(f"{_said(text)}.", _WIDTH))


_ABOUT = {
    "hierarchies": [
        "# How columns coarsen. Numbers without a line become ranges, texts sets of values."
    ]
}


def _of_limit(requirement: Requirement, notes: Sequence[str]) -> Iterator[str]:
    facts = requirement.points[0].adversary
    assert isinstance(facts, Facts)
    yield (
        f"# An adversary knows up to {facts.l} value{'s' * (facts.l != 1)} that a person does not "
        f"have (l), the values of"
    )
    yield (
        f"# up to {facts.k} other people (k), and {facts.m} link{'s' * (facts.m != 1)} (m): if "
        "that other person has it, so has this one."
    )
    if (width := requirement.secret.width) is not None:
        yield f"# No value may be found out to within {width.given}."
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


def _said(text: str) -> str:
    """A comment of one line, whatever it quotes."""
    return one_line(text)
