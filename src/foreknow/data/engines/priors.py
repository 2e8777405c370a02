"""Read a table of prior probabilities: attributes, a value, and how likely it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from foreknow.data.engines.columns import codes_of, fetch, to_python
from foreknow.data.engines.group_counts import group_codes
from foreknow.data.engines.sources import open_table
from foreknow.data.labels import in_order
from foreknow.data.sparse import count_pairs
from foreknow.errors import DataError, InputError
from foreknow.numbers import as_fraction, quoted

VALUE, PROBABILITY = "value", "probability"
# Says "yes" in each row of a table that was learned from people.
LEARNED = "learned"
_Signature: TypeAlias = "tuple[str | None, ...]"


class Chances(NamedTuple):
    """What such a table says: a probability for each signature and value."""

    name: str
    attributes: tuple[str, ...]
    values: tuple[str, ...]
    rows: dict[_Signature, tuple[Fraction, ...]]
    learned: bool = False


def read_chances(source: Any) -> Chances:
    """Read probabilities from a file or frame."""
    table = open_table(source)
    attributes = tuple(c for c in table.columns if c not in (VALUE, PROBABILITY))
    for column in (VALUE, PROBABILITY):
        if column not in table.columns:
            raise DataError(
                f"{table.name} has no column {column!r}; a table of priors has one column for each "
                f"attribute, {VALUE!r} and {PROBABILITY!r}"
            )
    if not attributes:
        raise DataError(
            f"{table.name} has no column of an attribute beside {VALUE!r} and {PROBABILITY!r}"
        )
    rows = fetch(table, [*attributes, VALUE, PROBABILITY])
    learned = LEARNED in attributes and rows.column(LEARNED).unique().to_pylist() == ["yes"]
    if learned:
        attributes = tuple(name for name in attributes if name != LEARNED)
    signatures = zip(
        *(map(_text, rows.column(name).to_pylist()) for name in attributes), strict=True
    )
    values = map(_text, rows.column(VALUE).to_pylist())
    found: dict[_Signature, dict[str, tuple[int, Fraction]]] = {}
    for at, (signature, value, given) in enumerate(
        zip(signatures, values, _as_printed(rows.column(PROBABILITY)), strict=True), 1
    ):
        if value is None:
            raise DataError(f"{table.name}: row {at}: the sensitive value is missing")
        chance = _chance(given, f"{table.name}: row {at}")
        known = found.setdefault(signature, {})
        if value in known:
            raise DataError(
                f"{table.name}: row {at}: {_shown(attributes, signature)} with {value!r} stands in "
                f"row {known[value][0]} already"
            )
        known[value] = at, chance
    if not found:
        raise DataError(f"{table.name} has no rows")
    return Chances(table.name, attributes, *_complete(table.name, attributes, found), learned)


def _complete(
    name: str,
    attributes: Sequence[str],
    found: dict[_Signature, dict[str, tuple[int, Fraction]]],
) -> tuple[tuple[str, ...], dict[_Signature, tuple[Fraction, ...]]]:
    values = tuple(dict.fromkeys(value for known in found.values() for value in known))
    rows = {}
    for signature, known in found.items():
        for value in values:
            if value not in known:
                raise DataError(
                    f"{name}: there is no probability of {value!r} for "
                    f"{_shown(attributes, signature)}; give 0 if it never occurs there"
                )
        rows[signature] = tuple(known[value][1] for value in values)
    return values, rows


def count_chances(
    source: Any, attributes: Sequence[str], sensitive: str, smoothing: Fraction
) -> Chances:
    """Learn probabilities from a table of people: how frequent each value is for each signature."""
    table = open_table(source)
    rows = fetch(table, [*attributes, sensitive])
    rows = rows.filter(rows.column(sensitive).is_valid())
    if not len(rows):
        raise DataError(f"{table.name} has no rows with a {sensitive!r}")
    codes, labels = group_codes(rows, list(attributes), as_tuples=True)
    value_codes, distinct = codes_of(rows.column(sensitive))
    held = to_python(sensitive, distinct)
    signatures = [tuple(_text(part) for part in label) for label in labels]  # type: ignore[attr-defined]
    offsets, at, amounts = count_pairs(codes, value_codes, len(labels), len(held))
    totals = np.bincount(value_codes, minlength=len(held)).tolist()
    order = in_order(held)
    place = {label: i for i, label in enumerate(held)}
    made: dict[_Signature, tuple[Fraction, ...]] = {}
    for s, signature in enumerate(signatures):
        cells = slice(offsets[s], offsets[s + 1])
        own = dict(zip(at[cells].tolist(), amounts[cells].tolist(), strict=True))
        people = sum(own.values()) + smoothing
        made[signature] = tuple(
            (own.get(place[label], 0) + smoothing * Fraction(totals[place[label]], len(rows)))
            / people
            for label in order
        )
    if len(made) < len(signatures) or len({str(label) for label in order}) < len(order):
        raise DataError(f"{table.name}: two labels print alike; make the columns text")
    return Chances(table.name, tuple(attributes), tuple(str(label) for label in order), made)


def _text(label: Any) -> str | None:
    return None if label is None else str(label)


def _shown(attributes: Iterable[str], signature: _Signature) -> str:
    parts = zip(attributes, signature, strict=True)
    return ", ".join(f"{name} {'missing' if label is None else label}" for name, label in parts)


def _as_printed(column: pa.ChunkedArray) -> list[Any]:
    """Probabilities as Python holds them; floats of 32 bits are taken for what they print as."""
    given: list[Any] = column.to_pylist()
    if pa.types.is_float32(column.type):
        return [None if chance is None else float(str(np.float32(chance))) for chance in given]
    return given


def _chance(given: Any, where: str) -> Fraction:
    if given is None:
        raise DataError(f"{where}: the probability is missing")
    try:
        return as_fraction(given)
    except InputError as error:
        said = str(error) if "too large" in str(error) else f"{quoted(given)}, not a number"
        raise DataError(f"{where}: the probability is {said}") from None
