"""Wording: lists and nouns in a sentence, and people called cases where rows are cases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from foreknow_judge.files.printable import visible
from foreknow_judge.remarks.sentences import SEVERAL_CASES
from foreknow_judge.text import number, some

# Where rows are cases, and not people: what is written in place of a word, the longer ones first.
_OF_CASES = {
    "may be of one person": "may be of one person",  # and stays that
    "people who": "cases that",
    "people whom": "cases that",
    "people whose": "cases whose",
    "person who": "case that",
    "people's": "cases'",
    "people&#39;s": "cases&#39;",
    "person's": "case's",
    "of everybody": "of every case",
    "of anybody": "of any case",
    "people": "cases",
    "persons": "cases",
    "person": "case",
}


# In every text in which something is replaced.
_PERHAPS = re.compile("people|person|body", re.IGNORECASE)
_OF_PEOPLE = re.compile(rf"(?<![\w-])(?:{'|'.join(_OF_CASES)})\b(?![=-])", re.IGNORECASE)


def names_people(text: str) -> bool:
    """True if a text, or one of which it is a part, may have a word that `in_cases` replaces."""
    return _PERHAPS.search(text) is not None


def in_cases(text: str, fixed_texts: Iterable[str] = ()) -> str:
    """A text about people with "cases" in their place, for tables whose rows are cases.

    The `fixed_texts`, such as the labels of a table, stay as they are.

    >>> in_cases("People who have it: 3. One person is alone.")
    'Cases that have it: 3. One case is alone.'
    >>> in_cases("2 people have Sick person", ["Sick person"])
    '2 cases have Sick person'
    """
    return wording_of_cases(fixed_texts)(text)


def wording_of_cases(fixed_texts: Iterable[str]) -> Callable[[str], str]:
    """A function that does for many texts what `in_cases` does, with the same fixed texts."""
    # The longest first, since one may be a part of another.
    about_people = sorted(filter(_OF_PEOPLE.search, set(fixed_texts)), key=len, reverse=True)
    if not about_people:
        return lambda text: _OF_PEOPLE.sub(_of_cases, text)
    fixed = re.compile(f"({'|'.join(map(re.escape, about_people))})")

    def worded(text: str) -> str:
        pieces = fixed.split(text)
        # At odd places are texts that stay as they are.
        for position in range(0, len(pieces), 2):
            pieces[position] = _OF_PEOPLE.sub(_of_cases, pieces[position])
        return "".join(pieces)

    return worded


class Unit(NamedTuple):
    """The unit that is counted, and its words."""

    singular: str
    plural: str
    of_all: str = ""  # after "verified"
    of_one: str = ""  # after what one of them is worth
    notes: tuple[str, ...] = ()  # what is to be said beside all figures

    def said(self, content: Any, word: Callable[[Any], Any]) -> Any:
        """Texts about people as they are; `word` has words for cases in place of people."""
        return content


class _Cases(Unit):
    def said(self, content: Any, word: Callable[[Any], Any]) -> Any:
        """The texts with cases in place of people."""
        return word(content)


PEOPLE = Unit("person", "people")
CASES = _Cases("case", "cases", " of cases", ", of one case", (SEVERAL_CASES,))


def unit_counted(of_cases: bool) -> Unit:
    """The unit of a result, by whether it counts cases."""
    return CASES if of_cases else PEOPLE


def _of_cases(match: re.Match[str]) -> str:
    noun = _OF_CASES[match[0].lower()]
    return noun.capitalize() if match[0][0].isupper() else noun


# ---- lists and nouns ---------------------------------------------------------------------------


def listing(phrases: Iterable[str], last: str = "and", n_shown: int = 6) -> str:
    """Join phrases with commas and a word before the last; after `n_shown` only a number follows.

    One more than that is still shown, since "1 others" would be no shorter.

    >>> listing(["A", "B", "C"]), listing(list("ABCDE"), "or", n_shown=3)
    ('A, B and C', 'A, B, C or 2 others')
    """
    texts = list(phrases)
    if len(texts) > n_shown + 1:
        texts = [*texts[:n_shown], f"{number(len(texts) - n_shown)} others"]
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def few(phrases: Iterable[str], n_shown: int = 6) -> str:
    """List a few texts with commas, and how many more there are.

    >>> few(["A", "B"]), few("ABCDEFGHI")
    ('A, B', 'A, B, C, D, E, F and 3 more')
    """
    texts = list(phrases)
    if len(texts) <= n_shown + 1:
        return ", ".join(texts)
    return f"{', '.join(texts[:n_shown])} and {number(len(texts) - n_shown)} more"


def capital(sentence: str) -> str:
    """A sentence that begins with a capital letter."""
    return sentence[0].upper() + sentence[1:]


def noun_of(column: str) -> str:
    """Write the name of a column inside a sentence: a known noun in lower case, another as it is.

    >>> noun_of("Blood_type"), noun_of("ICD10"), noun_of("Befund")
    ('blood type', 'ICD10', 'Befund')
    """
    text = visible(column)
    noun = text.replace("_", " ").lower()
    return noun if noun in PLURALS else text


# The name of a column may be of any language, or an abbreviation: no plural of it is made up.
PLURALS = {
    "blood type": "blood types",
    "cause of death": "causes of death",
    "condition": "conditions",
    "diagnosis": "diagnoses",
    "disability": "disabilities",
    "disease": "diseases",
    "illness": "illnesses",
    "income": "incomes",
    "injury": "injuries",
    "job": "jobs",
    "medication": "medications",
    "occupation": "occupations",
    "profession": "professions",
    "religion": "religions",
    "salary": "salaries",
    "symptom": "symptoms",
    "treatment": "treatments",
    "sensitive value": "sensitive values",
    "value": "values",
}


def people_text(amount: int, article: str = "") -> str:
    """A number of people in words.

    >>> people_text(12), people_text(1), people_text(12, "all"), people_text(1, "all")
    ('12 people', 'one person', 'all 12 people', 'the only person')
    """
    if article:
        return "the only person" if amount == 1 else f"{article} {number(amount)} people"
    return some(amount, "person", "people")
