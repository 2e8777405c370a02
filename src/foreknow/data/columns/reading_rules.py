"""Reading: how a file writes texts, numbers and dates, where nothing in it says so."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from foreknow.errors import SchemaError, did_you_mean

UTF8 = "utf-8"
DELIMITERS = ",;\t|"
STDIN = "-"
EVERY_COLUMN = "*"  # in a table of what is missing
BLANKS = " \t\n\r\v\f\u00a0"  # around a spelling of what is missing, these do not count
_PART = re.compile(r"(?P<file>.+)\?(?P<key>table|sheet)=(?P<name>.+)", re.DOTALL)
_ADDRESS = re.compile(r"postgres(ql)?:/")  # as a Path, it has one slash only
_WORDS = {
    "yyyy": "%Y",
    "yy": "%y",
    "mm": "%m",
    "m": "%m",
    "dd": "%d",
    "d": "%d",
    "mmmm": "%B",
    "month": "%B",
    "mmm": "%b",
    "mon": "%b",
}
_TIME = re.compile(r"(T?)hh:mm(:ss)?", re.IGNORECASE)
_WORD = re.compile(r"[a-zA-Z]+")
_DATE = re.compile(r"(?<!%)(yyyy|yy|mmmm|month|mmm|mon|mm?|dd?)", re.IGNORECASE)
_DIRECTIVES = "YymbBdjHIMSfp"  # which read alike on every machine, and no zone
_ALLOWED = (
    "it is written with yyyy, yy, mm, mmm or mon (a month's name), dd, hh:mm and hh:mm:ss, or with "
    f"{', '.join(f'%{letter}' for letter in _DIRECTIVES)}"
)
# Names of months in English and German; three letters of each are enough.
_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
    *("januar", "februar", "märz", "april", "mai", "juni"),
    *("juli", "august", "september", "oktober", "november", "dezember"),
)
_MONTHS = {"sept": 9, "mrz": 3}
for _place, _name in enumerate(_MONTH_NAMES):
    _MONTHS |= {_name: _place % 12 + 1, _name[:3]: _place % 12 + 1}
_CURRENCY = re.compile(r"[^\s\d.,;'\"-]{1,5}")
_LETTERS = re.compile(r"[^\W\d_]+")
# What keys of a reading are called elsewhere.
_ELSEWHERE = {"sep": "delimiter", "separator": "delimiter", "format": "date_format"}
_ELSEWHERE |= dict.fromkeys(["na", "na_values", "null", "nulls", "missing_values"], "missing")
_MARK = "\ue000"  # around the number that stands for a name, so that no digit joins it


@dataclass(frozen=True)
class Reading:
    r"""The format of a file; settings left out are detected, or follow ISO.

    Parameters
    ----------
    encoding : str, optional
        The encoding of a CSV file that is not UTF-8, such as "latin-1", "cp1252" or "utf-16".
    delimiter : str, optional
        The character between the fields of a CSV file, or "tab".
    decimal : "." or ","
        The decimal mark of quasi-identifiers and sensitive numbers. If it is a comma, points
        separate thousands: 1.234,5.
    date_format : str, optional
        The format of dates in these columns, such as "dd.mm.yyyy" or "%d.%m.%Y".
    missing : sequence of str, or mapping of column to these
        Texts that stand for a missing value, such as "NA" and "k. A.", in every column of a raw
        table. Case matters; blanks around a text do not. In a mapping, "*" means every column, and
        the texts of one column also match numbers and dates: ``{"*": ["NA"], "age": ["-1"]}``.
    latest_year : int, optional
        The latest year that two digits in a `date_format` may mean: with 2025, 25 is 2025 and 26
        is 1926.
    thousands : "," or "." or "'" or " ", optional
        The mark between thousands: 1,234.5. With a decimal comma the default is a point.
    currency : str, optional
        The sign before or after some amounts, such as "$" or "EUR": $1,234.5.
    negative : "()", optional
        Amounts in brackets are negative: (1,200).
    units : mapping of str to number, optional
        What a word behind a number multiplies it by: ``{"k": 1000}`` reads 33k.
    separators : mapping of column to str
        The text between values, for sensitive columns in which one cell holds all values of a
        person: ``{"answers": "|"}``. Blanks around a value do not count.

    Examples
    --------
    >>> Reading(delimiter="tab", date_format="dd.mm.yyyy").to_dict()
    {'delimiter': '\t', 'date_format': '%d.%m.%Y'}
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    missing: Sequence[str] | Mapping[str, Sequence[str]] = field(default=(), hash=False)
    latest_year: int | None = None
    thousands: str | None = None
    currency: str | None = None
    negative: str | None = None
    units: Mapping[str, Any] = field(default_factory=dict, hash=False)
    separators: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Bring the settings into one form; `SchemaError` for those that contradict each other."""
        object.__setattr__(self, "missing", _read_missing(self.missing))
        for one_field in fields(self):
            if one_field.name in ("missing", "latest_year", "separators", "units"):
                continue
            setting = getattr(self, one_field.name)
            if setting is not None and not isinstance(setting, str):
                raise SchemaError(f"{one_field.name} must be a text, not {setting!r}")
        # Each function brings a setting into one form, or refuses it.
        for name, read_setting in (
            ("encoding", _read_encoding),
            ("delimiter", _read_delimiter),
            ("date_format", _read_date_format),
        ):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_setting(getattr(self, name)))
        if self.decimal not in (None, ".", ","):
            raise SchemaError(f'decimal must be "." or ",", not {self.decimal!r}')
        if (
            type(self.latest_year) not in (type(None), int)
            or not 1000 <= (self.latest_year or 2000) <= 9999
        ):
            raise SchemaError(f"latest_year must be a year such as 2025, not {self.latest_year!r}")
        object.__setattr__(self, "separators", _read_separators(self.separators))
        object.__setattr__(self, "units", _read_units(self.units))
        if self.negative not in (None, "()"):
            raise SchemaError(f'negative must be "()", not {self.negative!r}')
        if self.thousands not in (None, ",", ".", "'", " "):
            raise SchemaError(f'thousands must be ",", ".", "\'" or " ", not {self.thousands!r}')
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            raise SchemaError(
                f"decimal and thousands are both {self.thousands!r}; say which sign stands before "
                'decimals, such as decimal = ","'
            )
        if self.currency is not None and not _CURRENCY.fullmatch(self.currency):
            raise SchemaError(
                f'currency must be a sign or letters, such as "$" or "EUR", not {self.currency!r}'
            )

    @classmethod
    def of(cls, setting: Any) -> Reading:
        """Make a `Reading` of one, or of its table in a policy."""
        if isinstance(setting, cls):
            return setting
        if not isinstance(setting, Mapping):
            raise SchemaError(
                f'reading must be a Reading, such as Reading(encoding="latin-1"), not {setting!r}'
            )
        names = [one_field.name for one_field in fields(cls)]
        # pandas and other programs call some settings otherwise.
        for name in setting:
            if name not in names:
                meant = _ELSEWHERE.get(str(name))
                hint = f"; did you mean {meant!r}?" if meant else did_you_mean(str(name), names)
                raise SchemaError(f"reading has no {name!r}{hint}")
        return cls(**setting)

    def over(self, fallback: Reading) -> Reading:
        """The reading, with the settings of `fallback` where it has none itself.

        Codes of a missing value in single columns are kept.
        """
        settings = self.to_dict()
        if self.spellings and not self.missing_of and fallback.missing_of:
            settings["missing"] = {EVERY_COLUMN: self.spellings, **fallback.missing_of}
        return replace(fallback, **settings)

    def to_dict(self) -> dict[str, Any]:
        """The settings that are not defaults, as a policy file has them."""
        settings: dict[str, Any] = {**asdict(self), "missing": list(self.spellings)}
        if isinstance(self.missing, Mapping):
            settings["missing"] = {name: list(texts) for name, texts in self.missing.items()}
        settings["units"] = {unit: float(factor) for unit, factor in self.units.items()}
        # Whole factors without decimals.
        for unit, factor in self.units.items():
            if factor == int(factor):
                settings["units"][unit] = int(factor)
        for name in ("missing", "separators", "units"):
            settings[name] = settings[name] or None
        return {name: setting for name, setting in settings.items() if setting is not None}

    @property
    def spellings(self) -> tuple[str, ...]:
        """The texts that stand for a missing value in every column."""
        if isinstance(self.missing, Mapping):
            return tuple(self.missing.get(EVERY_COLUMN, ()))
        return tuple(self.missing)

    @property
    def missing_of(self) -> dict[str, Sequence[str]]:
        """The codes that stand for a missing value in single columns, by column."""
        if isinstance(self.missing, Mapping):
            return {name: codes for name, codes in self.missing.items() if name != EVERY_COLUMN}
        return {}

    def spellings_of(self, column: str) -> tuple[str, ...]:
        """The texts that stand for a missing value in a column."""
        return (*self.spellings, *self.missing_of.get(column, ()))

    @property
    def converts(self) -> bool:
        """True if a setting changes how values are read: decimals, dates or amounts."""
        return self.decimal is not None or self.date_format is not None or self._has_amounts

    @property
    def guesses_century(self) -> bool:
        """True if years have two digits, and `latest_year` does not settle the century."""
        return self.latest_year is None and "%y" in (self.date_format or "")

    @cached_property
    def as_date(self) -> Callable[[str], date] | None:
        """A function that reads one date, or raises `ValueError`; None without `date_format`."""
        if self.date_format is None:
            return None
        return date_reader(self.date_format, self.latest_year)

    @cached_property
    def as_amount(self) -> Callable[[str], Decimal] | None:
        """A function that reads one amount; None without a setting of amounts."""
        return self.amounts if self._has_amounts else None

    @property
    def _has_amounts(self) -> bool:
        """True if a currency, a mark between thousands, brackets or a unit is set."""
        return bool(self.units) or (self.currency, self.thousands, self.negative) != (None,) * 3

    @property
    def amounts(self) -> Callable[[str], Decimal]:
        """A function that reads one number by these settings."""
        decimal, has_brackets = self.decimal or ".", self.negative is not None
        read = amount_reader(decimal, self.thousands, self.currency or "", tuple(self.units))
        return partial(_read_in_brackets, read=read, has_brackets=has_brackets, units=self.units)


@dataclass(frozen=True)
class Dialect:
    """How the file of a table is written, as far as a release of it can be written so, too."""

    delimiter: str = ","
    decimal: str = "."
    bom: bool = False  # by which Excel knows UTF-8


def date_reader(date_format: str, latest_year: int | None = None) -> Callable[[str], date]:
    """A function that reads dates of a format, or times if the format has some.

    `latest_year` is the latest year that two digits may mean; None: as Python reads them.

    >>> date_reader("%d.%m.%Y")("31.01.2024")
    datetime.date(2024, 1, 31)
    >>> date_reader("%d-%b-%y", 2025)("31-JAN-26")
    datetime.date(1926, 1, 31)
    """
    has_short_years = "%y" in date_format
    has_time = re.search(r"%[HIMSfp]", date_format) is not None
    has_month_names = re.search(r"%[bB]", date_format) is not None
    # Python's names of months depend on the machine's locale: numbers stand in for them.
    of_numbers = re.sub(r"%[bB]", f"{_MARK}%m{_MARK}", date_format)

    return partial(
        _read_date,
        date_format=of_numbers,
        has_month_names=has_month_names,
        has_time=has_time,
        latest_year=latest_year if has_short_years else None,
    )


def _read_date(
    text: str,
    *,
    date_format: str,
    has_month_names: bool,
    has_time: bool,
    latest_year: int | None,
) -> date:
    """The date or time that a text is, by a format; `ValueError` for another text.

    With `has_month_names`, names of months are replaced by their numbers, as the format has them.
    Years of two digits are at most `latest_year`; None: as Python reads them.
    """
    if not _has_plain_digits(text) or _MARK in text:
        raise ValueError("digits are 0 to 9")
    moment = datetime.strptime(
        _LETTERS.sub(_numbered_month, text) if has_month_names else text, date_format
    )
    if latest_year is not None:
        # The latest year with these two digits that is not after `latest_year`.
        moment = moment.replace(year=latest_year - (latest_year - moment.year) % 100)
    return moment if has_time else moment.date()


def amount_reader(
    decimal: str, thousands: str | None, currency: str, units: Sequence[str] = ()
) -> Callable[[str], tuple[Decimal, str]]:
    """A function that reads an amount as a number and the unit behind it, "" without one.

    It raises `ValueError` for a text that is no amount.

    >>> amount_reader(".", ",", "$")("$11,310.50 ")
    (Decimal('11310.50'), '')
    """
    # Signs that look like the mark between thousands count, too.
    same = {None: "." if decimal == "," else "", " ": " \u00a0\u202f", "'": "'\u2019"}
    between = re.escape(same.get(thousands, thousands) or "")
    # Alternatives of the pattern, each with a "|" behind it: thousands with marks between.
    grouped = rf"[1-9]\d{{0,2}}(?:[{between}]\d{{3}})+|" if between else ""
    if thousands == ",":  # 2,39,175 in India
        grouped += r"[1-9]\d?(?:,\d{2})+,\d{3}|"
    sign = re.escape(currency)
    # A minus may stand before or after the currency, which may itself stand before or behind.
    amount = re.compile(
        rf"(?P<minus>-?)(?P<before>{sign}\s?)?(?P<after>-?)(?P<whole>{grouped}0|[1-9]\d*)"
        rf"(?P<rest>{re.escape(decimal)}(\d+|[-–—]))?"
        rf"(?:\s?(?P<unit>{'|'.join(map(re.escape, units)) or '(?!)'}))?(?P<behind>\s?{sign})?"
    )

    return partial(_read_amount, pattern=amount, sign=sign)


def _read_in_brackets(
    text: str,
    *,
    read: Callable[[str], tuple[Decimal, str]],
    has_brackets: bool,
    units: Mapping[str, Decimal],
) -> Decimal:
    """The number in a text that may stand in brackets or before a unit; or a `ValueError`.

    `read` returns the number and the unit of a text without brackets. With `has_brackets`, a number
    in brackets is negative. `units` are factors by word.

    >>> Reading(thousands=",", negative="()", units={"k": 1000}).as_amount("(1,200.5k)")
    Decimal('-1200500')
    """
    inner = text.strip(BLANKS)
    is_negative = has_brackets and inner[:1] == "(" and inner[-1:] == ")"
    number, suffix = read(inner[1:-1] if is_negative else text)
    if is_negative and "-" in inner:
        raise ValueError(f"{text!r} is no amount")
    if suffix:
        number = Decimal(f"{(number * units[suffix]).normalize():f}")
    return -number if is_negative and number else number


def _read_amount(text: str, *, pattern: re.Pattern[str], sign: str) -> tuple[Decimal, str]:
    """The number and unit in a text that matches the pattern of `amount_reader`; or `ValueError`.

    `sign` is that of the currency; "" if there is none.
    """
    matched = pattern.fullmatch(text.strip(BLANKS)) if _has_plain_digits(text) else None
    if matched is None:
        raise ValueError(f"{text!r} is no amount")
    # The pattern allows both places of each sign, but one sign may stand only once.
    two_minus_signs = matched["minus"] and matched["after"]
    two_currencies = sign and matched["before"] and matched["behind"]
    if two_minus_signs or two_currencies:
        raise ValueError(f"{text!r} is no amount")
    # Marks between thousands go; a dash in place of decimals stands for none.
    digits, decimals = re.sub(r"\D", "", matched["whole"]), re.sub(r"\D", "", matched["rest"] or "")
    minus = matched["minus"] or matched["after"]
    number = f"{minus}{digits}.{decimals}" if decimals else f"{minus}{digits}"
    return Decimal(number), matched["unit"] or ""


def _has_plain_digits(text: str) -> bool:
    """True if all digits of a text are 0 to 9, and none is of another script."""
    return text.isascii() or not re.search(r"(?![0-9])\d", text)


def _numbered_month(matched: re.Match[str]) -> str:
    """The number of a month in marks, in place of its name; another word as it is."""
    number = _MONTHS.get(matched[0].lower())
    return matched[0] if number is None else f"{_MARK}{number:02d}{_MARK}"


def _read_units(setting: Any) -> dict[str, Decimal]:
    """Read the setting `units`: numbers above 0 by words without digits and signs of numbers."""
    if not isinstance(setting, Mapping):
        raise SchemaError(f"units must be a table such as {{ k = 1000 }}, not {setting!r}")
    units: dict[str, Decimal] = {}
    for unit, factor in setting.items():
        is_number = isinstance(factor, (int, float, Decimal)) and not isinstance(factor, bool)
        number = Decimal(str(factor)) if is_number else Decimal(0)
        if not _CURRENCY.fullmatch(str(unit)) or not (number.is_finite() and number > 0):
            raise SchemaError(
                f"units must be numbers above 0 by words such as k, not {unit!r} = {factor!r}"
            )
        units[str(unit)] = number
    return units


def _read_missing(setting: Any) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    """The setting `missing` in one form: a tuple of texts for every column, or a mapping.

    In the mapping, the texts of every column come first, under "*".
    """
    if not isinstance(setting, Mapping):
        return _read_spellings(setting)
    of_columns = {str(name): _read_spellings(texts) for name, texts in setting.items()}
    everywhere = of_columns.pop(EVERY_COLUMN, ())
    if not of_columns:
        return everywhere
    return {EVERY_COLUMN: everywhere, **of_columns} if everywhere else of_columns


def _read_spellings(setting: Any) -> tuple[str, ...]:
    """Read the setting `missing`: a list of texts, each once, without blanks around them."""
    if isinstance(setting, str) or not isinstance(setting, Sequence):
        raise SchemaError(
            'missing of reading is a list of texts, such as ["NA"], or one for each column, such '
            f'as {{ age = ["-1"] }}, not {setting!r}'
        )
    for spelling in setting:
        if not isinstance(spelling, str):
            raise SchemaError(
                f"missing of reading lists texts as the file has them, and {spelling!r} is none; "
                'write it in quotes, such as "99"'
            )
    return tuple(dict.fromkeys(spelling.strip(BLANKS) for spelling in setting))


def _read_separators(setting: Any) -> dict[str, str]:
    """The separators of columns as a dictionary; `SchemaError` for anything else."""
    if not isinstance(setting, Mapping):
        raise SchemaError(
            f'separators of reading is a table such as {{ answers = "|" }}, not {setting!r}'
        )
    for name, separator in setting.items():
        if not isinstance(separator, str) or not separator.strip():
            raise SchemaError(
                f"separators: what stands between the values of {name!r} must be a sign such as "
                f'"|", not {separator!r}'
            )
    return dict(setting)


def _read_encoding(encoding: str) -> str:
    """The name that Python has for an encoding of texts; `SchemaError` for an unknown one."""
    try:
        codec = codecs.lookup(encoding)
        # Some codecs of Python are not of texts.
        "a".encode(codec.name)
        return codec.name
    except (LookupError, UnicodeError, TypeError, ValueError):
        raise SchemaError(
            f"encoding {encoding!r} is unknown; such as latin-1, cp1252 (Windows), utf-16 or "
            "shift_jis"
        ) from None


def _read_delimiter(delimiter: str) -> str:
    """The sign of a delimiter, which may be named in words; `SchemaError` if it is none."""
    sign = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(
        delimiter.lower(), delimiter
    )
    if len(sign) != 1 or not sign.isascii() or sign in '"\r\n\0' or sign.isalnum():
        raise SchemaError(
            f"delimiter {delimiter!r} cannot be read: it must be one sign such as ; or tab, no "
            "letter, digit or quote"
        )
    return sign


def _read_date_format(setting: str) -> str:
    """A format of dates in the directives of Python; `SchemaError` if it has no whole date."""
    date_format, wrong_words = setting, list[str]()
    # A format in words, such as dd.mm.yyyy: find words that mean nothing, and translate the others.
    if "%" not in setting:
        for word in _WORD.findall(_TIME.sub("", setting)):
            if not re.fullmatch(f"({_DATE.pattern})+", word, re.I):
                wrong_words.append(word)
        date_format = _TIME.sub(lambda time: f"{time[1]}%H:%M{':%S' * bool(time[2])}", setting)
        date_format = _DATE.sub(lambda matched: _WORDS[matched[1].lower()], date_format)
    directives = set(re.findall(r"%([a-zA-Z])", date_format))
    if directives & {"z", "Z"}:
        raise SchemaError(
            f"date_format {setting!r} names a zone, which no format reads; leave date_format out "
            "for times as in ISO, such as 2023-03-12 14:20:05+00: these are read with their zone"
        )
    for letter in sorted(directives - {*_DIRECTIVES}):
        wrong_words.append(f"%{letter}")
    wrong_words += _WORD.findall(re.sub(r"T?%[a-zA-Z%]", "", date_format))
    if wrong_words:
        raise SchemaError(
            f"date_format {setting!r} cannot be read: {wrong_words[0]!r} means nothing in it; "
            f"{_ALLOWED}"
        )
    try:
        reader = date_reader(date_format)
        # Try it out: write a date in the format, and read it again.
        moment = datetime(2024, 12, 31)
        reader(moment.strftime(re.sub("%[bB]", "December", date_format)))
    except re.error:  # which knows each part once
        raise SchemaError(
            f"date_format {setting!r} cannot be read: a part of the date stands in it twice"
        ) from None
    except ValueError:
        directives = set()
    if not (directives & set("Yy") and directives & set("mbBj")):
        raise SchemaError(
            f"date_format {setting!r} cannot be read: it needs year, month and day, such as "
            "dd.mm.yyyy, dd-mmm-yy, mm/dd/yyyy or %d.%m.%Y"
        )
    return date_format


def to_add(name: str, *values: str) -> str:
    """A hint that says how to give a setting of `Reading`: as an option, or in a schema.

    `name` is the setting, and `values` are values that it may have.

    >>> to_add("decimal", ",")
    'add --decimal ",", or reading = { decimal = "," } in the schema'
    """
    written_values = []
    for value in values:
        written_values.append(f'"{value}"' if {" ", ",", ";", "|", "\t"} & set(value) else value)
    options = " or ".join(f"--{name.replace('_', '-')} {value}" for value in written_values)
    return f'add {options}, or reading = {{ {name} = "{values[0]}" }} in the schema'


def named_part(path: Path) -> tuple[Path, str | None, str]:
    """The file that a source names, and which part of it: a key, "table" or "sheet", and a name.

    The key is None, and the name "", if no part is named. If a file has the whole text as its name,
    it is meant.

    >>> named_part(Path("people.duckdb?table=visits"))[1:]
    ('table', 'visits')
    """
    matched = _PART.fullmatch(str(path))
    if matched is None or path.exists():
        return path, None, ""
    return Path(matched["file"]), matched["key"], matched["name"]


def with_part(path: Path, part: str) -> Path:
    """A source with the name of a table or sheet in it, as `named_part` reads it.

    >>> str(with_part(Path("people.xlsx"), "2024")), str(with_part(Path("a.db"), "visits"))
    ('people.xlsx?sheet=2024', 'a.db?table=visits')
    """
    if is_address(path):
        return Path(f"{path}{'&' if '?' in str(path) else '?'}table={quote(part, safe='')}")
    key = "sheet" if path.suffix.lower() in (".xlsx", ".xlsm") else "table"
    return Path(f"{path}?{key}={part}")


def is_address(source: str | Path) -> bool:
    """True if a source is the address of a database, and no path.

    >>> is_address("postgresql://localhost/clinic"), is_address("clinic.csv")
    (True, False)
    """
    return _ADDRESS.match(str(source)) is not None


def file_of(source: Any) -> Path | None:
    """The file or folder that a source names; None for an address, a frame or a relation."""
    is_named = isinstance(source, (str, Path)) and not is_address(source)
    return Path(source) if is_named else None


NOTHING = Reading()
