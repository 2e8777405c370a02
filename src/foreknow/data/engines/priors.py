"""Read what others know beside a release: a table of prior probabilities, or a population."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.arrays import count_pairs
from foreknow.data.engines.columns import Codes, codes_of, fetch, to_python
from foreknow.data.engines.group_counts import group_codes
from foreknow.data.engines.sources import open_table
from foreknow.data.engines.table import require
from foreknow.data.labels import in_order
from foreknow.data.people import signature_text
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.numbers import as_fraction, quoted

VALUE, PROBABILITY = "value", "probability"
# Says "yes" in each row of a table learned from people, "estimated" in one learned of a release.
LEARNED = "learned"
_Signature: TypeAlias = "tuple[str | None, ...]"


class Chances(NamedTuple):
    """A table of priors: a probability for each signature and value."""

    attributes: tuple[str, ...]
    values: tuple[str, ...]
    rows: dict[_Signature, tuple[Fraction, ...]]
    name: str
    learned: bool = False
    estimated: bool = False


def read_chances(source: Any) -> Chances:
    """Read probabilities from a file or frame, one row per signature and value.

    A probability is a number, or a text such as ``0.1`` or ``1/3``; a float stands for the decimal
    that it prints as. A column ``learned`` that says ``yes`` in each row, or ``estimated``, is no
    attribute.
    """
    table = open_table(source)
    require(table, [VALUE, PROBABILITY])
    attributes = tuple(c for c in table.columns if c not in (VALUE, PROBABILITY))
    if not attributes:
        raise DataError(
            f"{table.name} has no column of an attribute beside {VALUE!r} and {PROBABILITY!r}"
        )
    rows = fetch(table, [*attributes, VALUE, PROBABILITY])
    marks = rows.column(LEARNED).unique().to_pylist() if LEARNED in attributes else []
    learned, estimated = marks == ["yes"], marks == ["estimated"]
    if learned or estimated:
        attributes = tuple(name for name in attributes if name != LEARNED)
    columns = [[_text(label) for label in rows.column(n).to_pylist()] for n in (*attributes, VALUE)]
    chances = _as_printed(rows.column(PROBABILITY))
    by_signature: dict[_Signature, dict[str, tuple[int, Fraction]]] = {}
    for row, (*labels, value, printed) in enumerate(zip(*columns, chances, strict=True), 1):
        if value is None:
            raise DataError(f"{table.name}: row {row}: the sensitive value is missing")
        chance = _chance(printed, f"{table.name}: row {row}")
        signature = tuple(labels)
        of_values = by_signature.setdefault(signature, {})
        if value in of_values:
            raise DataError(
                f"{table.name}: row {row}: {signature_text(attributes, signature)} with {value!r} "
                f"stands in row {of_values[value][0]} already"
            )
        of_values[value] = row, chance
    if not by_signature:
        raise DataError(f"{table.name} has no rows")
    values = tuple(dict.fromkeys(chain.from_iterable(by_signature.values())))
    for signature, of_values in by_signature.items():
        for value in values:
            if value not in of_values:
                raise DataError(
                    f"{table.name}: there is no probability of {value!r} for "
                    f"{signature_text(attributes, signature)}; give 0 if it never occurs there"
                )
    by_row = {}
    for signature, of_values in by_signature.items():
        by_row[signature] = tuple(of_values[value][1] for value in values)
    return Chances(attributes, values, by_row, table.name, learned, estimated)


def count_chances(
    source: Any, attributes: Sequence[str], sensitive: str, smoothing: Fraction
) -> Chances:
    """Learn probabilities from a table of people: how frequent each value is for each signature.

    Those whose sensitive value is missing do not count; `smoothing` people with the values of the
    whole table are added to each signature.
    """
    table = open_table(source)
    rows = fetch(table, [*attributes, sensitive])
    rows = rows.filter(rows.column(sensitive).is_valid())
    if not len(rows):
        raise DataError(f"{table.name} has no rows with a {sensitive!r}")
    codes, labels = group_codes(rows, list(attributes), as_tuples=True)
    value_codes, distinct = codes_of(rows.column(sensitive))
    values = to_python(sensitive, distinct)
    _, value_of_cell, amounts = pairs = count_pairs(codes, value_codes, len(labels), len(values))
    added = [
        smoothing * Fraction(total, len(rows))
        for total in np.bincount(value_codes, minlength=len(values)).tolist()
    ]
    place = {label: i for i, label in enumerate(values)}
    order = in_order(values)
    chances: dict[_Signature, tuple[Fraction, ...]] = {}
    for s, label in enumerate(labels):
        cells = slice(*pairs[0][s : s + 2])
        people_by_value = dict(
            zip(value_of_cell[cells].tolist(), amounts[cells].tolist(), strict=True)
        )
        people = sum(people_by_value.values()) + smoothing
        parts: Iterable[Any] = label  # type: ignore[assignment]
        chances[tuple(map(_text, parts))] = tuple(
            (people_by_value.get(place[value], 0) + added[place[value]]) / people for value in order
        )
    if len(chances) < len(labels) or len({str(value) for value in order}) < len(order):
        raise DataError(f"{table.name}: two labels print alike; make the columns text")
    return Chances(tuple(attributes), tuple(map(str, order)), chances, table.name, learned=True)


def _text(label: Any) -> str | None:
    return None if label is None else str(label)


def _as_printed(column: pa.ChunkedArray) -> list[Any]:
    """Probabilities as Python holds them; floats of 32 bits are taken for what they print as."""
    chances: list[Any] = column.to_pylist()
    if pa.types.is_float32(column.type):
        return [None if chance is None else float(str(np.float32(chance))) for chance in chances]
    return chances


def _chance(printed: Any, where: str) -> Fraction:
    if printed is None:
        raise DataError(f"{where}: the probability is missing")
    try:
        return as_fraction(printed)
    except InputError as error:
        reason = str(error) if "too large" in str(error) else f"{quoted(printed)}, not a number"
        raise DataError(f"{where}: the probability is {reason}") from None


# ---- a population -------------------------------------------------------------------------------


def read_everybody(
    source: Any, columns: Sequence[str], name: str, naming_columns: Sequence[str] = ()
) -> list[tuple[Codes, list[Any]]]:
    """The codes of all people and the distinct values, by column; None is missing.

    Somebody who is in it twice, by those `naming_columns` that it has, would count as two.
    """
    table = open_table(source)
    table.name = f"the population {name}"
    require(table, columns)
    naming_columns = [column for column in naming_columns if column in table.columns]
    rows = fetch(table, list(dict.fromkeys([*columns, *naming_columns])))
    if not len(rows):
        raise DataError(f"{table.name} has no rows")
    _refuse_twice(table.name, rows.select(naming_columns))
    encoded = [codes_of(rows.column(column)) for column in columns]
    return [
        (codes, to_python(column, distinct))
        for column, (codes, distinct) in zip(columns, encoded, strict=True)
    ]


def _refuse_twice(name: str, rows: pa.Table) -> None:
    """Refuse people in several rows, by all columns that name them."""
    people = rows.drop_null()
    if not people.num_columns or not len(people):
        return
    name_counts = people.group_by(people.column_names).aggregate([([], "count_all")])
    repeated = name_counts.filter(pc.greater(name_counts.column("count_all"), 1))
    if len(repeated):
        *who, times = next(iter(repeated.slice(0, 1).to_pylist())).values()
        raise DataError(
            f"{name} has {' and '.join(map(repr, who))} in {times} rows, by "
            f"{' and '.join(people.column_names)}, which name people, and so counts somebody more "
            "than once: give one row for each person; or, if others have that name, leave the "
            "column out of the population"
        )


def texts_of_everybody(columns: Sequence[tuple[str, Codes, Sequence[str | None]]]) -> pa.Table:
    """A table of texts, from the code of everybody and the distinct texts of each column."""
    return pa.table(
        {name: pa.array(texts, pa.string()).take(pa.array(codes)) for name, codes, texts in columns}
    )
