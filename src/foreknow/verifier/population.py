"""K-map and delta-presence, written out: everybody of a population is put into every group.

A label is read as it says. It shares nothing with the criteria that a search asks.
"""

from __future__ import annotations

import hashlib
import json
import re
from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from foreknow.errors import CertificateError
from foreknow.verifier.counts import Group, Held
from foreknow.verifier.diversity import number_of

# Distinct people, by some columns in order, and how many are alike.
People = Sequence[tuple[Any, ...]]
_BEYOND = {"population", "digest", "trees", "orders"}


class Everybody(NamedTuple):
    """A population as it was read for the verifier: by these columns, its distinct people."""

    columns: Sequence[str]
    people: People

    @property
    def digest(self) -> str:
        """A digest of what it holds."""
        order = sorted(range(len(self.columns)), key=lambda i: self.columns[i])
        rows = [[*(row[i] for i in order), row[-1]] for row in self.people]
        rows.sort(key=lambda row: [(cell is not None, str(cell)) for cell in row])
        text = json.dumps([[self.columns[i] for i in order], rows])
        return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def gauge_k_map(held: Held, table: Any, everybody: Everybody) -> tuple[Fraction, Group, bool]:
    """The group that the fewest people of the population could be in."""
    _require(table, "k_map", {"k"})
    k = table["k"]
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise CertificateError(f"k of k_map must be a whole number from 1, not {k!r}")
    many, _, _ = _placed(held, table, everybody)
    group = min(held, key=lambda g: many[g])
    return Fraction(many[group]), group, many[group] >= k


def gauge_delta_presence(
    held: Held, table: Any, everybody: Everybody
) -> tuple[Fraction, Group, bool]:
    """The group whose people are most surely in the table; and whether all keep both ends."""
    _require(table, "delta_presence", {"lowest", "highest"})
    low, high = number_of(table["lowest"]), number_of(table["highest"])
    if not 0 <= low <= high <= 1:
        raise CertificateError(f"delta_presence cannot be from {low} to {high}")
    many, outside, overlap = _placed(held, table, everybody)
    for group, (people, _) in held.items():
        if many[group] < people:
            raise CertificateError(
                f"the population has {many[group]} people in a group of {people}; it must hold "
                "everybody of the table"
            )
    if overlap:
        return Fraction(1), next(iter(held)), low == 0 and high == 1
    rates = {group: Fraction(people, many[group]) for group, (people, _) in held.items()}
    group = max(rates, key=lambda g: rates[g])
    least = Fraction(0) if outside else min(rates.values())
    return rates[group], group, low <= least and rates[group] <= high


def _require(table: Any, key: str, own: set[str]) -> None:
    least = {*own, "population", "digest"}
    if not isinstance(table, Mapping) or not least <= set(table) <= own | _BEYOND:
        raise CertificateError(f"{key} must be a table of {', '.join(sorted(least))}")


def _placed(
    held: Held, table: Mapping[str, Any], everybody: Everybody
) -> tuple[dict[Group, int], int, bool]:
    """How many people each group could hold, how many are in none, and whether any is in two."""
    groups = list(held)
    above: list[dict[str, int]] = []  # by column: of each value, a bit for each group it is in
    for place, column in enumerate(everybody.columns):
        labels: dict[str | None, int] = {}
        for at, group in enumerate(groups):
            labels[group[place]] = labels.get(group[place], 0) | 1 << at
        reads = _reading(
            (table.get("trees") or {}).get(column), (table.get("orders") or {}).get(column)
        )
        of: dict[Any, int] = {}
        for value in {row[place] for row in everybody.people}:
            of[value] = sum(bits for label, bits in labels.items() if reads(label, value))
        above.append(of)
    found = [0] * len(groups)
    outside, overlap = 0, False
    for *row, times in everybody.people:
        bits = reduce(and_, (of[value] for of, value in zip(above, row, strict=True)))
        outside += times if not bits else 0
        overlap = overlap or bits.bit_count() > 1
        while bits:
            last = bits & -bits
            found[last.bit_length() - 1] += times
            bits ^= last
    return dict(zip(groups, found, strict=True)), outside, overlap


Reads = Callable[[str | None, str | None], bool]


def _reading(tree: Any, order: Any) -> Reads:
    """Whether a value of a column is among what a label says."""
    if any(not 2 <= len(row) == len(tree[0]) for row in tree or ()):
        raise CertificateError("the rows of a tree are lists of one length, from 2 on")
    rows = {str(row[0]): [str(cell) for cell in row] for row in tree or ()}
    listed = {str(value): place for place, value in enumerate(order or ())}
    nodes = {cell for row in rows.values() for cell in row[1:]} | {
        f"{cell} (level {level})"
        for row in rows.values()
        for level, cell in enumerate(row)
        if level
    }
    lowest: dict[str, int] = {}
    for row in rows.values():
        for level, cell in enumerate(row):
            lowest[cell] = min(level, lowest.get(cell, level))

    def reads(label: str | None, value: str | None) -> bool:
        if label is None or value is None:
            return _of_missing(label, value)
        if label == value:
            return True
        if rows and label in rows:
            return False
        if not label.replace("*", "") or re.fullmatch(r"\*+( \(level [0-9]+\))?\+*", label):
            return True
        if label in nodes:
            if value not in rows:
                raise CertificateError(f"the trees of the population do not list {value!r}")
            told = re.fullmatch(r"(.*) \(level ([0-9]+)\)", label, re.DOTALL)
            if label in lowest:
                return rows[value][lowest[label]] == label
            assert told is not None
            return rows[value][int(told[2])] == told[1]
        parts = _unjoined(label, " | ")
        if len(parts) > 1:
            return any(_same(part, value) for part in parts)
        if label.endswith(" or missing"):
            return reads(label[: -len(" or missing")], value)
        ends = _unjoined(label, " to ")
        if len(ends) == 2:
            return _between(ends[0], ends[1], value, listed)
        if _same(label, value) or _in_period(label, label, value):
            return True
        start = label.rstrip("*")
        if start != label:
            return len(value) == len(label) and value[: len(start)] == start
        return label.endswith("+") and reads(label[:-1], value)

    return reads


def _of_missing(label: str | None, value: str | None) -> bool:
    if value is not None:
        return False
    if label is None or label == "missing" or not label.replace("*", ""):
        return True
    return label.endswith(" or missing") or label.startswith(("missing | ", "* (level "))


def _unjoined(label: str, joint: str) -> list[str]:
    """The parts of a label; those in quotes may hold anything."""
    if label[:1] == '"':
        found = re.split(r'(?<=")' + re.escape(joint) + r'(?=")', label)
        if all(re.fullmatch(r'"([^"]|"")*"', part) for part in found):
            return [part[1:-1].replace('""', '"') for part in found]
    return label.split(joint)


def _decimal(text: str) -> Decimal | None:
    digits = re.fullmatch(r"[-+]?[0-9]+([.][0-9]*)?([eE][-+]?[0-9]{1,3})?", text)
    return None if digits is None else Decimal(text)


def _same(label: str, value: str) -> bool:
    """Whether two texts are the same, or the same number; digits after a 0 are a code."""
    codes = [text.isdigit() and len(text) > 1 and text[0] == "0" for text in (label, value)]
    if label == value or any(codes):
        return label == value
    number = _decimal(label)
    return number is not None and number == _decimal(value)


def _between(low: str, high: str, value: str, listed: Mapping[str, int]) -> bool:
    if low in listed and high in listed:
        return listed[low] <= listed.get(value, -1) <= listed[high]
    first, last, own = _decimal(low), _decimal(high.removeprefix("<")), _decimal(value)
    if first is not None and last is not None and own is not None:
        return first <= own < last if high.startswith("<") else first <= own <= last
    return _in_period(low, high, value)


def _in_period(low: str, high: str, value: str) -> bool:
    """Whether a moment is from the beginning of one period to the end of another."""
    try:
        moment = datetime.fromisoformat(value).replace(tzinfo=None) if "-" in value else None
    except ValueError:
        return False
    first, last = _edges(low), _edges(high)
    if moment is None or first is None or last is None:
        return False
    return first[0] <= moment.isoformat(" ") and moment.isoformat(" ") <= last[1]


def _edges(text: str) -> tuple[str, str] | None:
    """The first moment of a period and a text after its last, as ISO texts."""
    if re.fullmatch(r"[0-9]{4}", text):
        return f"{text}-01-01 00:00:00", f"{text}-12-31 24"
    if re.fullmatch(r"[0-9]{3}0s", text):
        return f"{text[:3]}0-01-01 00:00:00", f"{text[:3]}9-12-31 24"
    if found := re.fullmatch(r"([0-9]{4})-Q([1-4])", text):
        return (
            f"{found[1]}-{3 * int(found[2]) - 2:02}-01 00:00:00",
            f"{found[1]}-{3 * int(found[2]):02}-31 24",
        )
    if found := re.fullmatch(r"([0-9]{4})-(0[1-9]|1[0-2])", text):
        days = monthrange(int(found[1]), int(found[2]))[1]
        return f"{text}-01 00:00:00", f"{text}-{days} 24"
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}h", text):
        return f"{text[:-1]}:00:00", f"{text[:-1]}:60"
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            date.fromisoformat(text)
            return f"{text} 00:00:00", f"{text} 24"
        moment = datetime.fromisoformat(text).replace(tzinfo=None).isoformat(" ")
    except ValueError:
        return None
    return moment, moment
