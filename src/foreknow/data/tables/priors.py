"""Read what others know beside a release: a table of prior probabilities, or a population."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.arrays import count_pairs
from foreknow.data.labels.labels import in_order
from foreknow.data.members import signature_text
from foreknow.data.people.number_names import (
    are_codes,
    is_number_of_person,
    is_of_person,
    is_of_rows,
)
from foreknow.data.tables.columns import Codes, codes_of, fetch, to_python
from foreknow.data.tables.group_counts import group_codes
from foreknow.data.tables.profile.column_words import WORDS, words_of
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.table import Table, require
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.numbers import as_fraction, quoted

VALUE, PROBABILITY = "value", "probability"
# Says "yes" in each row of a table learned from people, "estimated" in one learned of a release.
LEARNED = "learned"
_LOOK = 1000  # rows that are looked at for whether names are numbers
_Signature: TypeAlias = "tuple[str | None, ...]"


class Chances(NamedTuple):
    """A table of priors: a probability for each signature and value."""

    attributes: tuple[str, ...]  # the columns of a signature
    values: tuple[str, ...]
    rows: dict[_Signature, tuple[Fraction, ...]]  # by signature, the probability of each value
    name: str  # what messages call the table
    learned: bool = False  # whether it was counted of people
    estimated: bool = False  # whether it was estimated from a release


def read_chances(source: Any) -> Chances:
    """Read probabilities from a file or frame, one row per signature and value.

    A signature is one value in each attribute column. A probability is a number, or a text such as
    ``0.1`` or ``1/3``; a float stands for the decimal that it prints as. A column ``learned`` that
    says ``yes`` in each row, or ``estimated``, is no attribute. Raises `DataError` for a table that
    is broken, or lacks a probability.
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
    is_learned, is_estimated = marks == ["yes"], marks == ["estimated"]
    if is_learned or is_estimated:
        attributes = tuple(name for name in attributes if name != LEARNED)
    chances = _chances_by_signature(table.name, rows, attributes)
    # Every signature must have a probability for each value that occurs with any signature.
    values: dict[str, None] = {}
    for chance_of_value in chances.values():
        values |= dict.fromkeys(chance_of_value)
    chances_in_order: dict[_Signature, tuple[Fraction, ...]] = {}
    for signature, chance_of_value in chances.items():
        lacking = [value for value in values if value not in chance_of_value]
        if lacking:
            raise DataError(
                f"{table.name}: there is no probability of {lacking[0]!r} for "
                f"{signature_text(attributes, signature)}; give 0 if it never occurs there"
            )
        chances_in_order[signature] = tuple(chance_of_value[value] for value in values)
    return Chances(
        attributes,
        values=tuple(values),
        rows=chances_in_order,
        name=table.name,
        learned=is_learned,
        estimated=is_estimated,
    )


def _chances_by_signature(
    name: str, rows: pa.Table, attributes: Sequence[str]
) -> dict[_Signature, dict[str, Fraction]]:
    """The probability of each value, by signature (its labels in the attribute columns).

    Raises `DataError` for a pair of a signature and a value that stands in two rows.
    """
    columns = []
    for n in (*attributes, VALUE):
        columns.append([*map(_text, rows.column(n).to_pylist())])
    # Labels and values are compared as they print.
    printed_chances = _as_printed(rows.column(PROBABILITY))
    chances: dict[_Signature, dict[str, Fraction]] = {}
    row_of: dict[tuple[_Signature, str], int] = {}
    for row, (*labels, value, printed) in enumerate(zip(*columns, printed_chances, strict=True), 1):
        if value is None:
            raise DataError(f"{name}: row {row}: the sensitive value is missing")
        chance = _read_chance(printed, f"{name}: row {row}")
        signature = tuple(labels)
        if (signature, value) in row_of:
            raise DataError(
                f"{name}: row {row}: {signature_text(attributes, signature)} with {value!r} "
                f"stands in row {row_of[signature, value]} already"
            )
        row_of[signature, value] = row
        chances.setdefault(signature, {})[value] = chance
    if not chances:
        raise DataError(f"{name} has no rows")
    return chances


def count_chances(
    source: Any, attributes: Sequence[str], sensitive: str, smoothing: Fraction
) -> Chances:
    """Learn probabilities from a table of people: how frequent each value is for each signature.

    A signature is one value in each attribute column.

    Parameters
    ----------
    source
        A table of people; those without a sensitive value do not count.
    attributes : sequence of str
        The columns of a signature.
    sensitive : str
    smoothing : Fraction
        So many people, with the values of the whole table, are added to each signature.
    """
    table = open_table(source)
    rows = fetch(table, [*attributes, sensitive])
    rows = rows.filter(rows.column(sensitive).is_valid())
    if not len(rows):
        raise DataError(f"{table.name} has no rows with a {sensitive!r}")
    signature_of_row, signatures = group_codes(rows, list(attributes), as_tuples=True)
    value_codes, distinct = codes_of(rows.column(sensitive))
    values = to_python(sensitive, distinct)
    # Entries offsets[s] to offsets[s + 1] are the values that occur with signature s.
    offsets, entry_codes, entry_people = count_pairs(
        signature_of_row, value_codes, len(signatures), len(values)
    )
    # So many people of each value are added to a signature: `smoothing` in all.
    value_people = np.bincount(value_codes, minlength=len(values)).tolist()
    added = [smoothing * Fraction(n_people, len(rows)) for n_people in value_people]
    code_of = {value: code for code, value in enumerate(values)}
    ordered_values = in_order(values)
    ordered_codes = [code_of[value] for value in ordered_values]
    chances: dict[_Signature, tuple[Fraction, ...]] = {}
    for s, signature in enumerate(signatures):
        entries = slice(offsets[s], offsets[s + 1])
        codes, counts = entry_codes[entries].tolist(), entry_people[entries].tolist()
        people_of_value = dict(zip(codes, counts, strict=True))
        n_people = sum(counts) + smoothing
        labels: Iterable[Any] = signature  # type: ignore[assignment]
        chances[tuple(map(_text, labels))] = tuple(
            (people_of_value.get(code, 0) + added[code]) / n_people for code in ordered_codes
        )
    texts = tuple(map(str, ordered_values))
    # 1 and "1" are two labels that print alike.
    if len(chances) < len(signatures) or len({*texts}) < len(texts):
        raise DataError(f"{table.name}: two labels print alike; make the columns text")
    return Chances(tuple(attributes), texts, chances, table.name, learned=True)


def _text(label: Any) -> str | None:
    return None if label is None else str(label)


def _as_printed(column: pa.ChunkedArray) -> list[Any]:
    """Probabilities as Python holds them; floats of 32 bits are taken for what they print as."""
    chances: list[Any] = column.to_pylist()
    if pa.types.is_float32(column.type):
        return [None if chance is None else float(str(np.float32(chance))) for chance in chances]
    return chances


def _read_chance(printed: Any, where: str) -> Fraction:
    """A probability as a fraction; `DataError`, which says `where` it stands, for anything else."""
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
    """For each of some columns of a population, the code of each person and the distinct values.

    Raises `DataError` if one of the `naming_columns` names somebody in two rows, who would count as
    two. `name` is what messages call the population.
    """
    table = open_table(source)
    table.name = f"the population {name}"
    require(table, columns)
    naming = naming_of(table, naming_columns, columns)
    rows = fetch(table, list(dict.fromkeys([*columns, *naming])))
    if not len(rows):
        raise DataError(f"{table.name} has no rows")
    refuse_named_twice(table.name, rows.select(naming))
    encoded = [codes_of(rows.column(column)) for column in columns]
    return [
        (codes, to_python(column, distinct))
        for column, (codes, distinct) in zip(columns, encoded, strict=True)
    ]


def naming_of(table: Table, naming_columns: Collection[str], columns: Collection[str]) -> list[str]:
    """The columns of a population that name people: those of `naming_columns`, and others.

    The others have a name like `patient_id`, and are not among the `columns` that are compared.
    """
    return [
        name
        for name in table.columns
        if name in naming_columns or (is_number_of_person(name) and name not in columns)
    ]


def refuse_named_twice(name: str, rows: pa.Table) -> None:
    """Raise `DataError` if the names of people have somebody in two rows, who would count as two.

    Each number or code names people by itself. A first and a last name do it together, and only
    where nobody has a number, since two people may have one name. A column that is called a name
    is one, even if its texts look like codes.
    """
    numbers = []
    for column in rows.column_names:
        first_names = rows.column(column).slice(0, _LOOK).drop_null().to_pylist()
        # Some of the values are enough to tell codes from names.
        holds_codes = are_codes(first_names) and words_of(column).isdisjoint(WORDS["name"])
        if is_of_person(column) or is_of_rows(column) or holds_codes:
            numbers.append(column)
    for column in numbers:
        _refuse_twice(name, rows.select([column]))
    if rows.num_columns and not numbers:
        _refuse_twice(name, rows)


def _refuse_twice(name: str, rows: pa.Table) -> None:
    """Raise `DataError` if a combination of all columns of `rows` stands in two rows.

    The columns name people, together. Rows in which a name is missing do not count.
    """
    people = rows.drop_null()
    if not people.num_columns or not len(people):
        return
    # How many rows have each combination of names.
    name_counts = people.group_by(people.column_names).aggregate([([], "count_all")])
    repeated = name_counts.filter(pc.greater(name_counts.column("count_all"), 1))
    if len(repeated):
        *names, n_rows = repeated.slice(0, 1).to_pylist()[0].values()
        raise DataError(
            f"{name} has {' and '.join(map(repr, names))} in {n_rows} rows, by "
            f"{' and '.join(people.column_names)}, which name people, and so counts somebody more "
            "than once: give one row for each person; or, if others have that name, leave the "
            "column out of the population"
        )


def texts_of_everybody(columns: Sequence[tuple[str, Codes, Sequence[str | None]]]) -> pa.Table:
    """A table of texts, a row for each person, from the codes and distinct texts of each column."""
    return pa.table(
        {name: pa.array(texts, pa.string()).take(pa.array(codes)) for name, codes, texts in columns}
    )
