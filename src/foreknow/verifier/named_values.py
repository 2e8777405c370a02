"""The verifier's own reading of the values that a requirement names, over those of the files.

A text names a value that is spelt so; with an asterisk at its end, every value that begins so. A
range names numbers or dates between two ends, which belong to it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from foreknow.errors import CertificateError
from foreknow.grammar import AskedTable
from foreknow.verifier.counts import Held
from foreknow.verifier.windows import place_of

_DAY = timedelta(days=1) // timedelta(microseconds=1)
_COMPARED, _LISTED = 10_000, 20


def named(given: Any, names: Collection[str]) -> list[str]:
    """The values of a file that a list or a range of a requirement means."""
    if isinstance(given, Mapping):
        ends = [_end(given[key]) if key in given else None for key in ("from", "to")]
        if ends == [None, None] or len(given) > 2 or not {*given} <= {"from", "to"}:
            raise CertificateError("a range has from, to or both")
        return [name for name in names if _within(name, *ends)]
    texts = [*map(str, given)]
    found = {*texts} & {*names}
    for text in texts:
        if text.endswith("*"):
            found |= _starting(text, names)
    return sorted(found)


def left(given: Iterable[Any], names: Collection[str]) -> set[str]:
    """The values that are excepted; of a value that is spelt like a pattern, it alone."""
    found: set[str] = set()
    for text in map(str, given):
        pattern = text.endswith("*") and text not in names
        found |= _starting(text, names) if pattern else {text}
    return found


def _starting(text: str, names: Iterable[str]) -> set[str]:
    stem = text[:-1]
    if not stem or stem[-1] == "*":
        raise CertificateError(f"{text[:40]!r} says of no value how it begins")
    return {name for name in names if name[: len(stem)] == stem}


def _end(given: Any) -> tuple[bool, bool, Fraction]:
    """An end of a range: whether it is a date, whether a whole day, and where it lies."""
    place = None
    if isinstance(given, (int, str)) and not isinstance(given, bool):
        place = place_of(str(given))
    if place is None:
        raise CertificateError(f"an end of a range is a number or a date, not {str(given)[:40]!r}")
    dated, clocked, at = place
    return dated, dated and not clocked, at


def _within(name: str, low: Any, high: Any) -> bool:
    place = place_of(name)
    if place is None and not any(letter.isnumeric() for letter in name):
        return False
    for end in (low, high):
        if end is not None and (place is None or place[0] != end[0]):
            raise CertificateError(
                f"a range is of numbers or of dates, and {name[:40]!r} cannot be compared with it"
            )
    assert place is not None
    at = place[2]
    if low is not None and at < low[2]:  # a day begins at its first moment
        return False
    if high is None:
        return True
    return bool(at < high[2] + _DAY if high[1] else at <= high[2])


# ---- what stands beside the verdicts ------------------------------------------------------------


def beside_names(names: Sequence[str], tables: Iterable[AskedTable]) -> dict[str, Any]:
    """What requirements on one column name and nobody has, and what lies beside what they name."""
    there, known = sorted(names), {*names}
    absent, idle, alike, no_numbers = set[str](), set[str](), set[tuple[str, str]](), set[str]()
    for table in tables:
        secret = table.secret
        each = {**secret.sets, "": secret.values} if secret.values is not None else secret.sets
        sets = {name or " or ".join(map(str, own)): own for name, own in each.items()}
        lists = [own for own in sets.values() if not isinstance(own, Mapping)]
        texts = [str(text) for own in lists for text in own]
        for text in (*texts, *secret.excluded):
            if text not in known and not (text.endswith("*") and _starting(text, there)):
                if (other := _same_number(text, there)) is not None:
                    raise CertificateError(
                        f"nobody has {text[:40]!r}, which is required of, but {other[:40]!r} is "
                        "the same number"
                    )
                absent.add(text)
        members = {name: set(named(own, there)) for name, own in sets.items()}
        idle |= {name for name, own in members.items() if not own}
        stems = {text for text in texts if not text.endswith("*")}
        for value in known.difference(*members.values()):
            cuts = [end for end in range(len(value) - 1, 0, -1) if value[:end] in stems]
            base = next((value[:end] for end in cuts if not _digits(value, end)), None)
            if base is not None:
                alike.add((value, base))
        if len(lists) < len(sets):
            no_numbers |= {v for v in there if not any(letter.isnumeric() for letter in v)}
    hints = {text: _near(text, there) for text in sorted(absent)[:_LISTED]}
    return {
        "absent": tuple((text, hints.get(text, "")) for text in sorted(absent)),
        "idle": tuple(sorted(idle)),
        "begin_alike": tuple(sorted(alike)[:_LISTED]),
        "no_numbers": tuple(sorted(no_numbers)[:_LISTED]),
    }


def _same_number(text: str, there: Sequence[str]) -> str | None:
    """The value that is a number, as a text is, and equal to it; digits after a 0 are a code."""

    def number(of: str) -> Any:
        place = None if of[:1] == "0" and of[1:2].isdigit() else place_of(of)
        return None if place is None or place[0] else place[2]

    wanted = number(text)
    return None if wanted is None else next((v for v in there if number(v) == wanted), None)


def _near(text: str, there: Sequence[str]) -> str:
    if text.endswith("*"):
        return ""
    lower = {name.lower(): name for name in there[:_COMPARED]}
    found = difflib.get_close_matches(text.lower(), list(lower), n=1)
    return lower[found[0]] if found else ""


def _digits(value: str, end: int) -> bool:
    """Whether a value goes on after some digits as one number begins like another."""
    return value[:end].isdigit() and value[end].isdigit()


def ends_of(held: Held) -> set[tuple[str, str, int, int]]:
    """Groups whose values all lie in the lowest or in the highest tenth of the table."""
    places = [place_of(name) for name in held.names]
    if None in places or not held.names:
        raise CertificateError("within is about numbers or dates")
    at = [place[2] for place in places if place is not None]
    people = held.everybody.tolist()
    tenth, found = -(-sum(people) // 10), set()
    for end, sign in (("lowest", 1), ("highest", -1)):
        line = sorted({sign * number for number in at})
        many = dict.fromkeys(line, 0)
        for number, of in zip(at, people, strict=True):
            many[sign * number] += of
        reached = 0
        for last in line:
            reached += many[last]
            if reached >= tenth:
                break
        if last == line[-1]:
            continue
        beyond = np.array([sign * number > last for number in at], np.int64)
        inside = (held.kinds > 0) & (held.most(beyond[held.codes]) == 0)
        if inside.any():
            name = min(n for n, number in zip(held.names, at, strict=True) if sign * number == last)
            found.add((end, name, int(inside.sum()), int(held.people[inside].sum())))
    return found
