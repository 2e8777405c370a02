"""Reading: how a file writes texts, numbers and dates, where nothing in it says so."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from foreknow_judge.errors import SchemaError, did_you_mean

UTF8 = "utf-8"
STDIN = "-"
BLANKS = " \t\n\r\v\f\u00a0"  # around a spelling of what is missing, these do not count
_PART = re.compile(r"(?P<file>.+)\?(?P<key>table|sheet)=(?P<name>.+)", re.DOTALL)
_ADDRESS = re.compile(r"postgres(ql)?:/")  # as a Path, it has one slash only
_WORDS = {"yyyy": "%Y", "yy": "%y", "mm": "%m", "dd": "%d", "m": "%m", "d": "%d"}
_TIME = re.compile(r"hh:mm(:ss)?", re.IGNORECASE)
_DATE = re.compile(r"(?<!%)(yyyy|yy|mm?|dd?)", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    r"""How a file is to be read; what is left out is found in the file, or is as in ISO.

    Parameters
    ----------
    encoding : str, optional
        Of a CSV file that is not UTF-8, such as "latin-1", "cp1252" or "utf-16".
    delimiter : str, optional
        What stands between the fields of a CSV file; "tab" is one, too.
    decimal : "." or ","
        What stands before the decimals of quasi-identifiers and sensitive numbers. With a comma,
        points stand between thousands: 1.234,5.
    date_format : str, optional
        How dates in these columns are written, such as "dd.mm.yyyy" or "%d.%m.%Y".
    missing : sequence of str
        Texts that stand for a missing value, such as "NA" and "k. A.", in every column of a raw
        table. Upper and lower case differ; blanks around a text do not count.

    Examples
    --------
    >>> Reading(delimiter="tab", date_format="dd.mm.yyyy").to_dict()
    {'delimiter': '\t', 'date_format': '%d.%m.%Y'}
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", _spellings(self.missing))
        for each in fields(self):
            if each.name == "missing":
                continue
            given = getattr(self, each.name)
            if given is not None and not isinstance(given, str):
                raise SchemaError(f"{each.name} must be a text, not {given!r}")
        for name, settle in (
            ("encoding", _encoding),
            ("delimiter", _delimiter),
            ("date_format", _date_format),
        ):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, settle(getattr(self, name)))
        if self.decimal not in (None, ".", ","):
            raise SchemaError(f'decimal must be "." or ",", not {self.decimal!r}')

    @classmethod
    def of(cls, given: Any) -> Reading:
        """Take a `Reading`, or the table that stands for one in a policy."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise SchemaError(
                f'reading must be a Reading, such as Reading(encoding="latin-1"), not {given!r}'
            )
        names = [each.name for each in fields(cls)]
        for name in given:
            if name not in names:
                raise SchemaError(f"reading has no {name!r}{did_you_mean(str(name), names)}")
        return cls(**given)

    def over(self, other: Reading) -> Reading:
        """What this one says, and where it says nothing, the other."""
        return replace(other, **self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """What it says."""
        said = {**asdict(self), "missing": list(self.missing) or None}
        return {name: given for name, given in said.items() if given is not None}

    @property
    def converts(self) -> bool:
        """Whether it says anything of values."""
        return self.decimal is not None or self.date_format is not None

    @cached_property
    def as_date(self) -> Callable[[str], date] | None:
        """Read one date; a text that is none raises `ValueError`."""
        if self.date_format is None:
            return None
        return date_reader(self.date_format)


@dataclass(frozen=True)
class Dialect:
    """How the file of a table is written, as far as a release of it can be written so, too."""

    delimiter: str = ","
    decimal: str = "."
    bom: bool = False  # by which Excel knows UTF-8


def date_reader(given: str) -> Callable[[str], date]:
    """Read dates of a format, or times if the format has some.

    >>> date_reader("%d.%m.%Y")("31.01.2024")
    datetime.date(2024, 1, 31)
    """
    timed = re.search(r"%[HIMSfpcXT]", given)

    def read(text: str) -> date:
        if not text.isascii() and re.search(r"(?![0-9])\d", text):
            raise ValueError("digits are 0 to 9")
        found = datetime.strptime(text, given)
        return found if timed else found.date()

    return read


def _spellings(given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise SchemaError(f'missing of reading is a list of texts, such as ["NA"], not {given!r}')
    for each in given:
        if not isinstance(each, str):
            raise SchemaError(
                f"missing of reading lists texts as the file has them, and {each!r} is none; "
                'write it in quotes, such as "99"'
            )
    return tuple(dict.fromkeys(each.strip(BLANKS) for each in given))


def _encoding(given: str) -> str:
    try:
        known = codecs.lookup(given)
        "a".encode(known.name)
        return known.name
    except (LookupError, UnicodeError, TypeError, ValueError):
        raise SchemaError(
            f"encoding {given!r} is unknown; such as latin-1, cp1252 (Windows), utf-16 or shift_jis"
        ) from None


def _delimiter(given: str) -> str:
    found = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(
        given.lower(), given
    )
    if len(found) != 1 or not found.isascii() or found in '"\r\n\0' or found.isalnum():
        raise SchemaError(
            f"delimiter {given!r} cannot be read: it must be one sign such as ; or tab, no "
            "letter, digit or quote"
        )
    return found


def _date_format(given: str) -> str:
    made = given
    if "%" not in given:
        made = _TIME.sub(lambda found: "%H:%M:%S" if found[1] else "%H:%M", given)
        made = _DATE.sub(lambda found: _WORDS[found[1].lower()], made)
    read = set(re.findall(r"%([a-zA-Z])", made))
    try:
        datetime.strptime(datetime(2024, 12, 31).strftime(made), made)
    except ValueError:
        read = set()
    if not (read & set("DFcx") or (read & set("Yy") and (read & set("mbBj")))):
        raise SchemaError(
            f"date_format {given!r} cannot be read: it needs year, month and day, such as "
            "dd.mm.yyyy, mm/dd/yyyy or %d.%m.%Y"
        )
    return made


def to_add(name: str, *given: str) -> str:
    """Say how to give a part of `Reading`: as an option, or in a schema.

    >>> to_add("decimal", ",")
    'add --decimal ",", or reading = { decimal = "," } in the schema'
    """
    shown = [f'"{each}"' if {" ", ",", ";", "|", "\t"} & set(each) else each for each in given]
    options = " or ".join(f"--{name.replace('_', '-')} {each}" for each in shown)
    return f'add {options}, or reading = {{ {name} = "{given[0]}" }} in the schema'


def named_part(path: Path) -> tuple[Path, str | None, str]:
    """The file that a source names, and which table or sheet of it; a file so called goes first.

    >>> named_part(Path("people.duckdb?table=visits"))[1:]
    ('table', 'visits')
    """
    found = _PART.fullmatch(str(path))
    if found is None or path.exists():
        return path, None, ""
    return Path(found["file"]), found["key"], found["name"]


def with_part(path: Path, part: str) -> Path:
    """The table or sheet of a source, as `named_part` reads it.

    >>> str(with_part(Path("people.xlsx"), "2024")), str(with_part(Path("a.db"), "visits"))
    ('people.xlsx?sheet=2024', 'a.db?table=visits')
    """
    if is_address(path):
        return Path(f"{path}{'&' if '?' in str(path) else '?'}table={quote(part, safe='')}")
    key = "sheet" if path.suffix.lower() in (".xlsx", ".xlsm") else "table"
    return Path(f"{path}?{key}={part}")


def is_address(source: str | Path) -> bool:
    """Whether a source is the address of a database, and no path.

    >>> is_address("postgresql://localhost/clinic"), is_address("clinic.csv")
    (True, False)
    """
    return _ADDRESS.match(str(source)) is not None


NOTHING = Reading()
