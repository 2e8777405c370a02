"""Verifier: read a release as it was written, and judge it afresh.

It shares no code with the search or the audit: counts come from its own GROUP BY, probabilities
from Theorem 2 of the skyline paper, written out in whole numbers, one cell after the other. That
the theorem itself holds is shown by enumeration in the tests, not here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from foreknow.errors import CertificateError, UnsupportedError

Bag = dict[str, int]
Group = tuple[str | None, ...]

# How `escape_formulas` marks texts; taking one apostrophe off undoes it.
_DISARMED = re.compile(r"'('*[=+\-@\t\r])")


@dataclass(frozen=True)
class Finding:
    """The worst that the verifier found for one point of one requirement.

    Attributes
    ----------
    requirement : int
        Position in the policy.
    adversary : mapping
        Such as ``{"facts": {"l": 1, "k": 5, "m": 2}}``.
    below : Fraction
    value, group : str or None
        The sensitive value, and the target's group; None where no value is at risk.
    probability : Fraction
    """

    requirement: int
    adversary: Mapping[str, Any]
    below: Fraction
    value: str | None
    group: str | None
    probability: Fraction

    @property
    def safe(self) -> bool:
        """Whether the probability is strictly below the threshold."""
        return self.probability < self.below


@dataclass(frozen=True)
class Written:
    """Where a release is written and what its columns are.

    Attributes
    ----------
    form : "generalized" or "bucketized"
    groups : sequence of str
        The columns that make a group.
    sensitive : str
    tables : mapping of str to path or Arrow table
        ``release`` for the generalized form; ``people`` and ``sensitive`` for the bucketized one.
    escaped : bool
        Whether texts that look like formulas were written with an apostrophe before them.
    """

    form: str
    groups: Sequence[str]
    sensitive: str
    tables: Mapping[str, Any]
    escaped: bool = False

    @cached_property
    def bags(self) -> dict[Group, Bag]:
        """The bag of each group, in an order that does not depend on the engine; read once."""

        def place(item: tuple[Group, Bag]) -> list[tuple[bool, str]]:
            return [(part is not None, part or "") for part in item[0]]

        return dict(sorted(_read_bags(self).items(), key=place))


def verify(written: Written, requirements: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Judge a written release by the ``[[require]]`` tables of its policy.

    Parameters
    ----------
    written : Written
    requirements : sequence of mappings
        As `Policy.to_dict` gives them.

    Returns
    -------
    list of Finding
        One per requirement and point.
    """
    bags = written.bags
    values = {value for bag in bags.values() for value in bag}
    findings = []
    for position, table in enumerate(requirements):
        about = values
        if "values" in table:
            about = {v for v in values if v in {str(x) for x in table["values"]}}
        about = about - {str(x) for x in table.get("except", ())}
        for adversary, below in _points(table):
            value, group, probability = _worst(bags, sorted(about), adversary)
            findings.append(Finding(position, adversary, below, value, group, probability))
    return findings


def count_people(written: Written) -> tuple[int, int]:
    """People and groups of a written release."""
    bags = written.bags
    return sum(sum(bag.values()) for bag in bags.values()), len(bags)


def same_groups(one: Written, other: Written) -> bool:
    """Whether two writings hold the same groups with the same bags of values."""
    return one.bags == other.bags


def _points(table: Mapping[str, Any]) -> Iterable[tuple[Mapping[str, Any], Fraction]]:
    kinds = [key for key in table if key not in ("name", "values", "except", "below")]
    for kind in kinds:
        amounts = table[kind]
        if isinstance(amounts, Mapping):
            yield {kind: dict(amounts)}, Fraction(str(table["below"]))
        else:
            for point in amounts:
                rest = {key: amount for key, amount in point.items() if key != "below"}
                yield {kind: rest}, Fraction(str(point["below"]))


def _worst(
    bags: Mapping[Group, Bag], values: Iterable[str], adversary: Mapping[str, Any]
) -> tuple[str | None, str | None, Fraction]:
    if list(adversary) != ["facts"]:
        raise UnsupportedError(f"this version cannot verify the adversary {dict(adversary)}")
    l, k, m = (adversary["facts"].get(name, 0) for name in "lkm")  # noqa: E741
    if not all(isinstance(amount, int) and amount >= 0 for amount in (l, k, m)):
        raise CertificateError(f"amounts of facts must be whole numbers from 0, not {(l, k, m)}")
    wanted = set(values)
    cells: dict[str, dict[tuple[int, int, int], Group]] = {}
    for group, bag in bags.items():
        counts = sorted(bag.values(), reverse=True)
        people, most, more = sum(counts), sum(counts[:l]), sum(counts[: l + 1])
        for value, holders in bag.items():
            if value in wanted:
                # The value and the l most frequent others are the l + 1 most frequent ones, unless
                # the value is rarer than these.
                rarer = l < len(counts) and holders < counts[l]
                left = people - (most + holders if rarer else more)
                cells.setdefault(value, {}).setdefault((people, holders, left), group)
    worst: tuple[str | None, str | None, Fraction] = (None, None, Fraction(0))
    for value in sorted(cells):
        group, probability = _facts(cells[value], k, m)
        if probability > worst[2]:
            worst = (value, _name(group), probability)
    return worst


def _facts(cells: Mapping[tuple[int, int, int], Group], k: int, m: int) -> tuple[Group, Fraction]:
    """Breach probability from (people, holders, people with none of the excluded values)."""

    def odds_against(cell: tuple[int, int, int], known: int) -> Fraction:
        return Fraction(max(cell[2] - known, 0), cell[1])

    chances: dict[tuple[int, int, int], Fraction] = {}

    def no_relative(cell: tuple[int, int, int], known: int) -> Fraction:
        """Chance that none of m relatives holds the value, `known` people being out of it."""
        people, holders, _ = cell
        key = (people, holders, known)
        if key not in chances:
            above, below = 1, 1
            for i in range(m):
                if people - holders - known - i <= 0:
                    above = 0
                    break
                above *= people - holders - known - i
                below *= people - known - i
            chances[key] = Fraction(above, below)
        return chances[key]

    together, cell = min((odds_against(c, k) * no_relative(c, k + 1), c) for c in cells)
    alone, apart = min((odds_against(c, 0), c) for c in cells)
    with_known, near = min((odds_against(c, k), c) for c in cells)
    options = [
        (together, cell),
        (alone * min(no_relative(c, k) for c in cells), apart),
        (with_known * min(no_relative(c, 0) for c in cells), near),
    ]
    ratio, where = min(options, key=lambda option: option[0])
    return cells[where], 1 / (ratio + 1)


def _read_bags(written: Written) -> dict[Group, Bag]:
    bags: dict[Group, Bag] = {}
    if written.form == "generalized":
        columns = [*written.groups, written.sensitive]
        for *group, value, count in _grouped(written, "release", columns):
            if value is None:
                raise CertificateError(f"a sensitive value is missing in group {_name(group)}")
            bag = bags.setdefault(tuple(group), {})
            bag[value] = bag.get(value, 0) + int(count)
        return bags
    (group_column,) = written.groups
    columns = [group_column, written.sensitive, "count"]
    for group, value, count, times in _grouped(written, "sensitive", columns):
        bag = bags.setdefault((group,), {})
        if value is None or count is None or not count.isdecimal() or int(count) < 1:
            raise CertificateError(f"group {group}: {value!r} has no count, but {count!r}")
        if times != 1 or value in bag:
            raise CertificateError(f"group {group} lists {value!r} more than once")
        bag[value] = int(count)
    members = {(group,): int(count) for group, count in _grouped(written, "people", [group_column])}
    if members != {group: sum(bag.values()) for group, bag in bags.items()}:
        raise CertificateError("the people and the sensitive values of the groups do not match")
    return bags


def _name(group: Sequence[str | None]) -> str:
    return ", ".join("missing" if part is None else part for part in group)


def _grouped(written: Written, table: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Equal rows of some columns as texts (or None), and how many there are."""
    connection = duckdb.connect()
    try:
        # Columns are called by position: DuckDB takes names that differ in case for one.
        header, relation = _open(connection, written.tables[table])
        header = [_text(name, written.escaped) or "" for name in header]
        for column in columns:
            if column not in header:
                raise CertificateError(f"the release has no column {column!r}")
        keys = ", ".join(f"c{header.index(column)}" for column in columns)
        rows = relation.aggregate(f"{keys}, count(*)", keys).fetchall()
    except duckdb.Error as error:
        raise CertificateError(
            f"the release cannot be read: {str(error).splitlines()[0]}"
        ) from None
    finally:
        connection.close()
    return [(*(_text(x, written.escaped) for x in row[:-1]), row[-1]) for row in rows]


def _text(value: Any, escaped: bool) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text[1:] if escaped and _DISARMED.match(text) else text


def _open(connection: Any, table: Any) -> tuple[list[str], Any]:
    if isinstance(table, Path) and table.suffix != ".parquet":
        with table.open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file), [])
        relation = connection.read_csv(
            str(table),
            header=True,
            delimiter=",",
            quotechar='"',
            escapechar='"',
            columns={f"c{i}": "VARCHAR" for i in range(len(header))},
            auto_detect=False,
        )
        return header, relation
    if isinstance(table, Path):
        rows = connection.execute("SELECT name, num_children FROM parquet_schema(?)", [str(table)])
        header = [name for name, children in rows.fetchall() if not children]
        relation = connection.read_parquet(str(table))
        inner = ['"' + column.replace('"', '""') + '"' for column in relation.columns]
        return header, relation.project(", ".join(f"{c} AS c{i}" for i, c in enumerate(inner)))
    header = table.column_names
    return header, connection.from_arrow(
        table.rename_columns([f"c{i}" for i in range(len(header))])
    )
