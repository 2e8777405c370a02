"""Number names: which names of columns say that they number persons, or what rows are about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from foreknow.data.tables.profile.column_words import WORDS, split

# How many values are looked at, and how long codes may be.
_LOOK, _LONGEST = 1000, 40

# Words for one person; several (`students`) are a count. Short ones need a word for a number.
_PERSON_OR_COUNT = "child kid infant baby mother woman"
_SHORT = """
    personen personal patienten pat pt studenten stud indiv usubj sub emp cust kunden probanden
    versicherten versicherter matrikel staff
"""
# Where the number stands before: `codigo_del_paciente`.
_NUMBER_OF = "id numero codigo codice cod номер код رقم"


def _alternatives(words: Iterable[str]) -> str:
    """A pattern for any of some words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


_PERSON = _alternatives([*WORDS["person"], *_PERSON_OR_COUNT.split()])
_NUMBER_OF_PERSON = re.compile(
    rf"(?:{_PERSON}|{_alternatives(_SHORT.split())})(?:{_alternatives(WORDS['number'])})"
    rf"|(?:{_alternatives(_NUMBER_OF.split())})(?:d[aeo]l?|du)?(?:ال)?(?:{_PERSON})"
)
_ONE_PERSON = re.compile(_alternatives(WORDS["person"]))
MAY_BE_COUNT = re.compile(_alternatives(_PERSON_OR_COUNT.split()) + "|pid")
# The number of whatever rows are about; and that of something, if more is constant within it.
_OF_ROWS = re.compile("id|id(?:code|no|nr|num|number)|[up]id|mrn|seqn|newid|pidp|ssn")
_PLAIN_NUMBER = re.compile("nr|no|num|number|nummer|lfdnr|serial|numero|номер|رقم|编号|番号")
_CODE, _WHOLE = re.compile(r"\S*\d\S*"), re.compile(r"\d+([.,]0*)?")
# Numbers with a sign or a fraction; dates; times.
_MEASURE = re.compile(
    r"[-+]?\d*[.,]?\d+(e[-+]?\d+)?|\d+[-/.]\d+[-/.]\d+.*|\d+:\d+.*", re.IGNORECASE
)


def is_number_of_person(name: str) -> bool:
    """True if a name says that a column is the number of a person: `patient_id`."""
    return _NUMBER_OF_PERSON.fullmatch("".join(split(name))) is not None


def is_of_person(name: str) -> bool:
    """True if a name is that of a person, or of the number of one: `subject`, `patient_id`."""
    joined = "".join(split(name))
    is_person = _ONE_PERSON.fullmatch(joined) or MAY_BE_COUNT.fullmatch(joined)
    return is_person is not None or is_number_of_person(name)


def is_of_rows(name: str) -> bool:
    """True if a name is that of a number of the rows, whatever they are: `id`, `idcode`."""
    return _OF_ROWS.fullmatch("".join(split(name))) is not None


def is_plain_number(name: str) -> bool:
    """True if a name says only that a column is a number, such as `nr`."""
    return _PLAIN_NUMBER.fullmatch("".join(split(name))) is not None


def are_codes(values: Sequence[Any]) -> bool:
    """True if values are whole numbers, or codes: short texts with a digit and no blank."""
    return bool(values) and all(map(_is_code, values[:_LOOK]))


def _is_code(value: Any) -> bool:
    """True for a whole number from 0, or a short text with a digit that is no measure or date."""
    if isinstance(value, str):
        if len(value) > _LONGEST or _CODE.fullmatch(value) is None:
            return False
        # Numbers with a fraction, dates and times are measured; whole numbers may be codes.
        is_measure = _MEASURE.fullmatch(value) is not None
        return not is_measure or _WHOLE.fullmatch(value) is not None
    if isinstance(value, bool):
        return False
    try:
        return bool(value == int(value) >= 0)
    except (TypeError, ValueError, OverflowError):
        return False
