"""Personal: what values look like that name people, whatever their column is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from foreknow.data.tables.profile.reading_options import date_formats

# How many distinct values are looked at; how many there must be; which share must fit, and which
# share must have a frequent name in it.
_LOOK, _LEAST, _MOST, _SOME = 2_000, 10, 0.9, 0.25
_FIRST = 50  # of which at least one must fit

_EMAIL = re.compile(r"[^@\s,;]+@[^@\s,;]+\.[a-z]{2,}", re.IGNORECASE)
_PHONE = re.compile(
    r"(\+|00?(?=[1-9(])|\()[\d()][\d ()/.-]{5,20}\d|\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}", re.ASCII
)
# Numbers of identities without a check digit that is worth more than their form.
_FORMS = re.compile(
    r"\d{3}-\d{2}-\d{4}"  # social security, United States
    r"|[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"  # codice fiscale, Italy
    r"|[A-CEGHJ-PR-TW-Z]{2} ?(\d{2} ?){3}[A-D]",  # national insurance, United Kingdom
    re.ASCII,
)
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", re.ASCII)
# What a name is written with, and names that are frequent in English and German.
_NAME = re.compile(r"[^\W\d_]+(?:[.,]?[ '-]{1,2}[^\W\d_]+){0,3}\.?")
_FREQUENT = """
    james john robert michael william david richard joseph thomas christopher daniel matthew anthony
    steven paul andrew joshua kevin brian timothy jeffrey ryan jacob gary nicholas eric
    stephen larry scott brandon benjamin samuel gregory patrick alexander dennis tyler
    mary patricia jennifer linda elizabeth barbara susan jessica sarah karen nancy lisa betty
    sandra margaret ashley kimberly emily donna michelle carol amanda melissa deborah stephanie
    rebecca laura helen sharon cynthia kathleen amy angela anna emma nicole samantha katherine
    catherine christine rachel janet maria heather julia olivia kelly
    peter hans klaus wolfgang jürgen dieter manfred uwe günter karl heinz werner walter horst
    helmut bernd rainer stefan andreas jens jan tobias sebastian florian felix lukas leon
    jonas finn moritz maximilian
    ursula monika petra sabine renate helga karin brigitte ingrid erika andrea gisela claudia
    susanne gabriele christa birgit anja katrin silke heike martina sophie hannah lena lea mia
    johanna franziska
    müller mueller schmidt meyer schulz hoffmann schröder neumann zimmermann krüger hofmann hartmann
    schwarz lehmann schmitt köhler herrmann könig kaiser vogel huber peters friedrich scholz
    smith johnson williams jones garcia miller davis rodriguez martinez hernandez lopez gonzalez
    wilson anderson taylor martin jackson thompson harris clark lewis robinson
"""
_NAMES = frozenset(_FREQUENT.split())


def looks_personal(domain: Sequence[Any]) -> str:
    """The kind of personal data that values look like, in words; empty if none.

    >>> looks_personal([f"a{i}@example.org" for i in range(20)])
    'addresses of e-mail'
    >>> looks_personal([f"ICD {i}" for i in range(20)])
    ''
    """
    sample = domain[:: max(1, len(domain) // _LOOK)]  # some of many values, evenly spread
    texts = []
    for value in sample:
        if type(value) in (str, int):
            texts.append(str(value).strip())
    if len(texts) < max(_LEAST, _MOST * len(sample)):
        return ""
    if date_formats(texts, texts[0]):  # dates look like numbers of telephones
        return ""
    what = next((what for what, fits in _KINDS if _most_fit(texts, fits)), "")
    if what:
        return what
    are_names = _most_fit(texts, _NAME.fullmatch) and _most_fit(texts, _has_name, _SOME)
    return "names of people" if are_names else ""


def _has_name(text: str) -> bool:
    return not _NAMES.isdisjoint(re.split(r"[\W_]+", text.lower()))


def _most_fit(texts: Sequence[str], fits: Callable[[str], Any], min_share: float = _MOST) -> bool:
    """True if at least `min_share` of the texts fit, and one of the first few does."""
    first_texts = texts[:_FIRST]
    if not any(map(fits, first_texts)):
        return False
    return sum(bool(fits(text)) for text in texts) >= min_share * len(texts)


def _is_phone(text: str) -> bool:
    return 7 <= sum(map(str.isdigit, text)) <= 15 and _PHONE.fullmatch(text) is not None


def _digits(text: str) -> list[int]:
    """The digits of a number with or without marks between; none of anything else."""
    bare = re.sub(r"[ ./-]", "", text)
    return list(map(int, bare)) if bare.isdecimal() else []


def _is_identity(text: str) -> bool:
    """True if it has the form, or the check digit, of a number of an identity or an account."""
    if _FORMS.fullmatch(text) or _is_iban(text) or _is_insurance(text):
        return True
    digits = _digits(text)
    return any(len(digits) == n and checks(digits) for n, checks in _CHECKED)


def _is_iban(text: str) -> bool:
    bare = text.replace(" ", "")
    moved = bare[4:] + bare[:4]
    return bool(_IBAN.fullmatch(bare)) and int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def _is_insurance(text: str) -> bool:
    """True for a number of a German health insurance or a Spanish identity card.

    Both end in a check character, which tells them from other codes.
    """
    if re.fullmatch(r"[A-Z]\d{9}", text, re.ASCII):
        # Germany: the letter counts as 01 to 26; every second digit is doubled, digits of all
        # products are added up, and the last digit of the sum is the check digit.
        digits = f"{ord(text[0]) - 64:02d}{text[1:]}"
        products = []
        for position, digit in enumerate(digits[:-1]):
            products.append(int(digit) * (1 + position % 2))
        return sum(product // 10 + product % 10 for product in products) % 10 == int(digits[-1])
    # Spain: the remainder of the number divided by 23 chooses the letter.
    spain = re.fullmatch(r"(\d{8})-?([A-Z])", text, re.ASCII)
    return spain is not None and "TRWAGMYFPDXBNJZSQVHLCKE"[int(spain[1]) % 23] == spain[2]


def _weighed(weights: Iterable[int], modulus: int) -> Callable[[Sequence[int]], bool]:
    """A check that digits by their weights make a multiple of a number."""
    factors = tuple(weights)
    return lambda digits: sum(w * d for w, d in zip(factors, digits, strict=True)) % modulus == 0


def _luhn(digits: Sequence[int]) -> bool:
    doubled = []
    for position, d in enumerate(reversed(digits)):
        doubled.append(d * 2 if position % 2 else d)
    return sum(d // 10 + d % 10 for d in doubled) % 10 == 0


def _tax(digits: Sequence[int]) -> bool:
    """The number of a taxpayer in Germany: ISO 7064, MOD 11,10."""
    product = 10
    for digit in digits[:-1]:
        product = ((digit + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == digits[-1]


def _swiss(digits: Sequence[int]) -> bool:
    """The number of the AHV: a code of 13 digits, of Switzerland."""
    return [*digits[:3]] == [7, 5, 6] and _weighed((1, 3) * 6 + (1,), 10)(digits)


# How many digits a number has, and how they are checked.
_CHECKED: tuple[tuple[int, Callable[[Sequence[int]], bool]], ...] = (
    (16, _luhn),  # cards of banks
    (11, _tax),
    (11, _weighed((1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), 10)),  # PESEL, Poland
    (10, _weighed(range(10, 0, -1), 11)),  # NHS, England
    (13, _swiss),
)
_KINDS: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("addresses of e-mail", _EMAIL.fullmatch),
    ("numbers of telephones", _is_phone),
    ("numbers of identities", _is_identity),
)
