"""Roles of columns: what a name or values suggest, with reasons. A suggestion is a guess."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from foreknow.data.arrays import combine
from foreknow.data.people.number_names import (
    are_codes,
    is_of_person,
    is_of_rows,
    is_plain_number,
)
from foreknow.data.people.person_numbers import (
    LEAST_NAMED,
    LEAST_PEOPLE,
    Coded,
    is_contradicted,
    may_be_trait,
    names_two_people,
    people_of,
)
from foreknow.data.people.units import is_household
from foreknow.data.tables.columns import codes_of, fetch
from foreknow.data.tables.profile.column_advice import nearly_all_read
from foreknow.data.tables.profile.column_profile import Profile
from foreknow.data.tables.profile.column_words import (
    WORDS,
    asks_for,
    is_sentence,
    words_meaning,
    words_of,
)
from foreknow.data.tables.table import Table
from foreknow.planning.suggestion.hierarchies import FEW, HierarchyFile, code_length
from foreknow.planning.suggestion.personal import looks_personal
from foreknow.toml import toml_value
from foreknow_judge.errors import DataError
from foreknow_judge.policy.grammar import Unit
from foreknow_judge.text import some

Role: TypeAlias = Literal["identifier", "quasi-identifier", "sensitive", "undecided"]
FIRST_K = 5  # of k-anonymity
_NEARLY = Fraction(9, 10)  # of the rows have a value of their own
_READ_AT_ONCE = 64  # columns
_LOOKS_LIKE_NAMES = "names of people"
# Words in names of columns: of a name that names people, of one that may, and of a person.
_NAMES_PEOPLE, _WHO = WORDS["names"], WORDS["person"]
_OFTEN_NAMES = words_meaning("name", "person") | dict.fromkeys(
    ["id", "nr", "number", "nummer", "key", "index", "seqn", "mrn", "kennung", "identifier"]
)
_NUMBERS = WORDS["number"].keys()
# What others may know of a person, and what is nobody's business; the worst first.
KNOWN = words_meaning("age", "sex", "birth", "place", "people", "life")
SECRET = words_meaning("illness", "money", "private", "treatment", "mark")
# A place where people are, which is hidden where nothing else could be; a mark, or a remark.
_PLACES = "ward station clinic klinik hospital site center centre department unit"
# When something was measured, which is no secret of a person.
_TIMES = "period time visit wave week month day days date year"
AMBIGUOUS = "note", "notes"
_COUNT = re.compile(r"(number|no|num|n|count|anzahl)[\W_].*s$", re.IGNORECASE)
_TIME, _LOOK = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d"), 1000
_NUMERIC = re.compile(r"-?\d+([.,]\d+)?([eE][-+]?\d+)?")
WORDING = "its wording has"
NAMED = "you named it"
NUMBERS_EVENTS = "by its name, it numbers visits or admissions, and says nothing of a person"
_WEIGHTS = (
    "by its name, it may hold weights of a survey: then write weights = {name} in [schema], for "
    "estimates; they are not published"
)
_EVENTS = frozenset({"visit", "visits", "admission", "admissions", "encounter", "aufnahme"})
SHARED_AT_HOME = "by its name, people who live together share it"
FEW_VALUES_LEFT = "others might know it: it has few values"
NONE_LEFT = "others might know it: none is left"


@dataclass(frozen=True)
class Rows:
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
            "each row is a person after all, delete this line, unit, person and of, and take the "
            "limit that the file names for this"
        )


class _PersonNumber(Rows):
    """Cases of people who have several, whom a column tells apart."""

    unit, noun, of_homes = "row", "rows", "people"


class Roles:
    """The role of each column, and why."""

    def __init__(
        self,
        table: str,
        profiles: Sequence[Profile],
        sensitive: str | None,
        chosen: Sequence[str] | None,
        files: Mapping[str, HierarchyFile],
        numbers: Sequence[_PersonNumber] = (),
        naming: Collection[str] = (),
    ) -> None:
        """Guess the role of each column.

        Parameters
        ----------
        table : str
            The table in messages.
        profiles : sequence of Profile
            What its columns hold.
        sensitive : str or None
            The column that must stay hidden, if it was named.
        chosen : sequence of str or None
            The columns that others may know, if they were named.
        files : mapping of column to HierarchyFile
        numbers : sequence
            Columns that number people, the surest first.
        naming : collection of str
            Columns that name people, as the caller says.

        Raises
        ------
        DataError
            If no column can be hidden, or none can be known.
        """
        # Role and reason by column. Each step sets some; `_free` gives those without a role.
        self.of: dict[str, tuple[Role, str]] = dict.fromkeys(naming, ("identifier", NAMED))
        columns_named = chosen or ()
        self._set_identifiers(profiles, {sensitive, *columns_named}, numbers)
        if sensitive is None:
            candidates = []
            for p in self._free(profiles):
                if p.name not in columns_named:
                    candidates.append(p)
            sensitive = self._choose_sensitive(candidates, chosen)
            if sensitive is None:
                raise DataError(
                    f"{table}: no column could be what must stay hidden, with two values or more "
                    "that are not names of people; name one: --sensitive COLUMN, or in Python "
                    "sensitive="
                )
        else:
            self.of[sensitive] = "sensitive", NAMED
        # Columns that nobody should publish as they are: labels would list rare values.
        for profile in self._free(profiles):
            if profile.name in files and files[profile.name].hierarchy:
                continue
            why = why_unlistable(profile)
            if chosen is None and _numbers_households(profile):
                self.of[profile.name] = "undecided", SHARED_AT_HOME
            elif why:
                self.of[profile.name] = "undecided", NAMED if profile.name in columns_named else why
        for profile in self._free(profiles):
            role_and_reason = _role_by_name(profile, chosen, files.get(profile.name))
            if role_and_reason is not None:
                self.of[profile.name] = role_and_reason
        self._set_remaining(self._free(profiles))
        if "quasi-identifier" not in {role for role, _ in self.of.values()}:
            raise self._error_of_none_known(table, profiles, sensitive, columns_named)

    def _free(self, profiles: Sequence[Profile]) -> list[Profile]:
        """The columns without a role."""
        return [profile for profile in profiles if profile.name not in self.of]

    def _set_identifiers(
        self,
        profiles: Sequence[Profile],
        columns_named: Collection[str | None],
        numbers: Sequence[_PersonNumber],
    ) -> None:
        """Set the role of columns that cannot be used, or that name or number people.

        Columns in `columns_named` have a role already.
        """
        role_of_number = {number.name: _of_number(number) for number in numbers}
        if numbers:  # only the surest is taken as the number of a person
            role_of_number[numbers[0].name] = "identifier", numbers[0].why
        for profile in profiles:
            by_number = role_of_number.get(profile.name)
            role_and_reason = _unusable(profile) or by_number or _identifier(profile)
            if role_and_reason and profile.name not in columns_named:
                self.of[profile.name] = role_and_reason

    def _set_remaining(self, remaining: Sequence[Profile]) -> None:
        """Leave the remaining columns undecided, but make one known if no column is so far.

        A policy needs a column that others may know; one with few values is preferred.
        """
        has_known = any(role == "quasi-identifier" for role, _ in self.of.values())
        of_few_values: list[Profile] = []
        of_many_values: list[Profile] = []
        for profile in remaining:
            has_few = profile.distinct <= FEW and not _OFTEN_NAMES.keys() & words_of(profile.name)
            (of_few_values if has_few else of_many_values).append(profile)
        for profile in [*of_few_values, *of_many_values]:
            if has_known:
                self.of[profile.name] = "undecided", "nothing says who may know it"
                continue
            reason = FEW_VALUES_LEFT if profile in of_few_values else NONE_LEFT
            self.of[profile.name] = "quasi-identifier", reason
            has_known = True

    def _error_of_none_known(
        self, table: str, profiles: Sequence[Profile], sensitive: str, columns_named: Sequence[str]
    ) -> DataError:
        """The error of a table of which no column can be a quasi-identifier."""
        for profile in profiles:
            if profile.name in columns_named and profile.name != sensitive:
                why = profile.problem or why_unlistable(profile)
                return DataError(
                    f"{table}: {profile.name!r} cannot be a quasi-identifier as it is: {why}; "
                    "or name other columns"
                )
        return DataError(
            f"{table}: no column is left that others may know of a person, beside "
            f"{sensitive!r} and what names people; name some: --quasi-identifiers COLUMNS, or "
            "in Python quasi_identifiers=[...]"
        )

    def _choose_sensitive(
        self, remaining: Sequence[Profile], chosen: Sequence[str] | None
    ) -> str | None:
        """Set and return the column that must stay hidden: by its name, or the last that may be.

        Names of columns are looked at before questions of a survey, which say less, and dates last:
        a date of a diagnosis is not the diagnosis. None if there is no such column.
        """
        ranked = sorted(remaining, key=lambda p: (is_sentence(p.name), p.kind == "date"))
        for are_sentences in (False, True):
            beginning = WORDING if are_sentences else "its name has"
            for word in SECRET:
                for profile in ranked:
                    if is_sentence(profile.name) != are_sentences or asks_for(profile.name):
                        continue
                    if word in words_of(profile.name) and not _is_remark(word, profile):
                        self.of[profile.name] = "sensitive", f"{beginning} the word {word!r}"
                        return profile.name
        if len(remaining) < 2 and not chosen:  # a column must be left that others may know
            return None
        places_and_times = {*_PLACES.split(), *_TIMES.split()}
        # By quality, the best last: not known of people, few values, no place, time or household.
        candidates: list[list[Profile]] = [[], [], [], []]
        for profile in remaining:
            quality = 0
            if not _known_of_people(profile) and not _may_weigh(profile):
                quality = 1
                if profile.distinct <= 5 * FEW:
                    quality = 2
                    if not (
                        places_and_times & words_of(profile.name) or is_household(profile.name)
                    ):
                        quality = 3
            candidates[quality].append(profile)
        for profiles in reversed(candidates):
            if profiles:
                self.of[profiles[-1].name] = "sensitive", "the last column that may be"
                return profiles[-1].name
        return None


def _role_by_name(
    profile: Profile, chosen: Sequence[str] | None, file: HierarchyFile | None
) -> tuple[Role, str] | None:
    """The role of a column and the reason, from its name; None if nothing says one.

    `chosen` are the columns that were named as known, if they were, and `file` is the hierarchy
    file of the column.
    """
    if chosen is not None and profile.name in chosen:
        return "quasi-identifier", NAMED
    if chosen is not None:
        return "undecided", "you did not name it"
    if file is not None and file.is_named:
        return "quasi-identifier", "a hierarchy file for it lies beside the table"
    if _numbers_households(profile):
        return "undecided", SHARED_AT_HOME
    if _numbers_events(profile.name):
        return "undecided", NUMBERS_EVENTS
    if _may_weigh(profile):
        return "undecided", _WEIGHTS.format(name=toml_value(profile.name))
    reason = _known_of_people(profile)
    return ("quasi-identifier", reason) if reason else None


def _numbers_households(profile: Profile) -> bool:
    """True if a column is called as households are, with one to nine rows for each value."""
    is_shared = profile.distinct > FEW and profile.distinct < profile.rows <= 9 * profile.distinct
    return is_shared and is_household(profile.name) and profile.kind != "date"


def _numbers_events(name: str) -> bool:
    """True if a name is that of a number of something that happens to people: `visit_no`.

    >>> _numbers_events("visit_no"), _numbers_events("visit_date"), _numbers_events("zip_no")
    (True, False, False)
    """
    words = words_of(name)
    return bool(_EVENTS & words and _NUMBERS & words)


def _may_weigh(profile: Profile) -> bool:
    """True if a column of numbers above zero is called as weights of a survey are."""
    has_word = not WORDS["survey weight"].keys().isdisjoint(words_of(profile.name))
    return has_word and profile.kind == "number" and profile.domain[0] > 0


def _known_of_people(profile: Profile) -> str:
    """Why others may know a column of a person; empty where nothing speaks for that."""
    if profile.kind == "date":
        return "dates of a person are often known"
    if is_sentence(profile.name):
        word = asks_for(profile.name)
        return f"by its question for {word!r}, others may know it of a person" if word else ""
    has_known_word = not KNOWN.keys().isdisjoint(words_of(profile.name))
    return "by its name, others may know it of a person" if has_known_word else ""


def _repeats(profile: Profile) -> bool:
    return profile.distinct < profile.known


def _is_remark(word: str, profile: Profile) -> bool:
    """True if a column that may be one of marks, by a word, is one of remarks by its values."""
    return word in AMBIGUOUS and profile.kind == "text" and profile.distinct > 5 * FEW


def person_numbers_of(table: Table, profiles: Sequence[Profile]) -> list[_PersonNumber]:
    """The columns that number people who have several rows, the surest first.

    If some column has another person's number in each row, by its name, then a column counts only
    by its name, too. A name that people of different sex or birth share does not count.
    """
    may = [profile for profile in profiles if _may_number(profile)]
    if not may:
        return []
    trait_columns = []
    for e in profiles:
        if not e.problem and may_be_trait(e.name):
            trait_columns.append(e.name)
    # A plain number may count anything, and names may be of any language: more columns are asked
    # if they agree within its rows.
    if not trait_columns or any(is_plain_number(e.name) for e in may):
        trait_columns += [e.name for e in profiles if not e.problem and e.distinct <= 5 * FEW]
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
    """True if the values of a column may number people who have several rows.

    Some values occur more than once, none is a date, and the name of the column is that of such a
    number, or its values are many codes.
    """
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
        block_of_columns = column_names[start : start + _READ_AT_ONCE]
        columns += map(Coded.of, block_of_columns, fetch(table, block_of_columns).columns)
    return columns


def _is_named(name: str) -> bool:
    return is_of_person(name) or is_of_rows(name)


def _tells_apart(profiles: Sequence[Profile]) -> bool:
    """True if each row has a number that is of a person by its name, and none repeats."""
    return any(is_of_person(e.name) and e.distinct == e.rows for e in profiles)


def _of_number(number: _PersonNumber) -> tuple[Role, str]:
    """The role of a further number of people."""
    return ("identifier" if _is_named(number.name) else "undecided"), number.why


def columns_in_doubt(roles: Roles, profiles: Sequence[Profile]) -> tuple[str, ...]:
    """Identifiers that repeat, unless other columns show that each row is another person."""
    repeat = []
    for e in profiles:
        if roles.of[e.name][0] == "identifier" and _repeats(e):
            repeat.append(e.name)
    return tuple(name for name in repeat if _is_named(name) or not _tells_apart(profiles))


def leave_out_names(table: Table, roles: Roles, profiles: Sequence[Profile]) -> None:
    """Take the role from columns that repeat and name nobody by themselves.

    Those are numbers of households, columns whose values people of different sex or birth share,
    and several names, such as first and last name, that only together differ in each row.
    """
    repeating = []
    for e in profiles:
        if roles.of[e.name][0] == "identifier" and _repeats(e):
            repeating.append(e)
    if not repeating:
        return
    # Traits are columns such as sex and birth, which are the same in all rows of a person.
    trait_columns = [e.name for e in profiles if not e.problem and may_be_trait(e.name)]
    traits_of_people = _coded(table, trait_columns)
    for profile in [*repeating]:
        if is_household(profile.name):
            roles.of[profile.name] = "undecided", SHARED_AT_HOME
            repeating.remove(profile)
        elif not _is_named(profile.name):
            (column,) = _coded(table, [profile.name])
            if is_contradicted(column, traits_of_people):
                why = "people of different sex, birth or race share it, so it names nobody"
                roles.of[profile.name] = "undecided", f"{why} by itself; {profile.said}"
                repeating.remove(profile)
    if len(repeating) < 2 or not all(_NAMES_PEOPLE.keys() & words_of(e.name) for e in repeating):
        return
    names = fetch(table, [profile.name for profile in repeating])
    column_codes = [codes_of(column)[0] for column in names.columns]
    _, first_rows = combine(column_codes, [int(codes.max()) + 1 for codes in column_codes])
    if len(first_rows) == repeating[0].rows:  # together, another name in each row
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


def why_unlistable(profile: Profile) -> str:
    """Why labels must not list the values of a column of texts; "" if they may.

    A label of several values would name the rare ones, and so say that somebody here has them.
    """
    if profile.kind != "text" or profile.people is None or code_length(profile) is not None:
        return ""
    hint = _nearly_read(profile)
    if hint:
        return hint
    # At most half of its values are rare.
    if 2 * int(np.count_nonzero(profile.people < min(FIRST_K, profile.rows))) <= profile.distinct:
        return ""
    return (
        f"most of its values are had by fewer than {FIRST_K} people each, and labels would list "
        "them: give it a hierarchy"
    )


def _nearly_read(profile: Profile) -> str:
    """The hint that a column of texts would be one of dates or numbers, but for a few."""
    if profile.kind != "text" or profile.people is None:
        return ""
    guess = nearly_all_read(profile.domain, profile.people.tolist())
    if guess is None:
        return ""
    return f"nearly all of its values read as {guess.kind}: correct the others, or give its type"


def _identifier(profile: Profile) -> tuple[Role, str] | None:
    """The role of a column that names people, or might, and the reason; None for other columns."""
    rows = f"{some(profile.known, 'row', 'rows')} with a value"
    counts_text = f"{some(profile.distinct, 'different value', 'different values')} in {rows}"
    if profile.kind == "date" or not _names_some(profile):
        return None
    if _are_times(profile):
        return "undecided", "it holds times, which are not read as dates"
    for names, reason in _NAMING:
        if names(profile):
            return "identifier", f"{reason} {counts_text}"
    if profile.known < 2 * FIRST_K:  # too few rows to say more
        return None
    looks = looks_personal(profile.domain)
    if looks:
        reason_text = f"its values look like {looks}: {counts_text}"
        if looks != _LOOKS_LIKE_NAMES:
            return "identifier", reason_text
        # A city may be called like somebody.
        if not (SECRET | KNOWN).keys() & words_of(profile.name):
            # Two people may have one name: then it names nobody by itself, and has no role.
            return ("undecided" if _repeats(profile) else "identifier"), reason_text
    if Fraction(profile.distinct, profile.known) >= _NEARLY and _no_measure(profile):
        hint = _nearly_read(profile) if _repeats(profile) else ""
        if hint:
            return "undecided", hint  # two people may be born on one day
        return "identifier", f"nearly everybody has a value of their own: {counts_text}"
    return None


def _names_some(profile: Profile) -> bool:
    """True if there are enough values to name people; yes and no are not."""
    return not _repeats(profile) or profile.distinct >= 2 * FIRST_K


def _are_times(profile: Profile) -> bool:
    return all(isinstance(v, str) and _TIME.match(v) for v in profile.domain[:_LOOK])


def _has_name_of_people(profile: Profile) -> bool:
    return bool(_NAMES_PEOPLE.keys() & words_of(profile.name))


def _has_number_of_person(profile: Profile) -> bool:
    words = words_of(profile.name)
    numbered = bool(_WHO.keys() & words and _NUMBERS & words) and not _is_count(profile)
    return profile.distinct >= 2 * FIRST_K and (numbered or _is_named_number(profile))


def _is_count(profile: Profile) -> bool:
    """True if a name says how many of something there are: number_of_calls."""
    return profile.kind == "number" and _COUNT.match(profile.name) is not None


def _is_named_number(profile: Profile) -> bool:
    return _is_named(profile.name) and are_codes(profile.domain)


def _has_many_numbers(profile: Profile) -> bool:
    """True if a column has a name such as "id" or "patient", and many different values."""
    words = words_of(profile.name)
    has_many = (
        Fraction(profile.distinct, profile.known) >= Fraction(1, 20)
        and profile.known >= 2 * FIRST_K
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
    """True if values that hardly repeat may name people, and measure nothing.

    They are texts, or whole numbers without a gap, as rows are numbered.
    """
    if (SECRET | KNOWN).keys() & words_of(profile.name):
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
