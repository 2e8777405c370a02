"""Digests: of what a table publishes, by which its owner tells whether it changed."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from decimal import Decimal
from typing import Any

import numpy as np

from foreknow.data.arrays import IntArray, blocks, combine
from foreknow.data.microdata import Microdata
from foreknow.data.tables.columns import (
    Column,
)

# A number as it is written without a zero before it.
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d{1,3})?")


def digest_of_rows(microdata: Microdata, key: bytes) -> str:
    """Keyed BLAKE2b-256 of the published quasi-identifiers and sensitive values, as hex.

    Two tables have one digest if their people have the same values in the same order. Without the
    key nobody can test guesses of the table against it. Whether numbers and dates came as such or
    as texts, from a file or in a frame, makes no difference.
    """
    state = hashlib.blake2b(key=key, digest_size=32)
    for column in (*microdata.rows_read.columns, *microdata.sensitives):
        texts, ranks = _as_printed(column)
        state.update(repr((column.name, texts)).encode())
        # A person may have several values, in any order of rows: sort pairs of person and value.
        if column.name in microdata.rows_read.holdings:
            pairs = microdata.holders_of(column.name).astype(np.int64) * len(texts)
            pairs += ranks[column.codes]
            state.update(np.sort(pairs).tobytes())
        else:
            for block in blocks(len(column.codes)):
                state.update(ranks[column.codes[block]].tobytes())
    return state.hexdigest()


def digest_of_counts(microdata: Microdata, key: bytes) -> str:
    """The keyed digest of a table's equal rows and how often each occurs, whatever their order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow import Microdata, Schema
    >>> schema = Schema(quasi_identifiers=["age"], sensitive="disease")
    >>> one = pa.table({"age": [30, 41, 30], "disease": ["Flu", "AIDS", "Flu"]})
    >>> two = pa.table({"age": [30, 30, 41], "disease": ["Flu", "Flu", "AIDS"]})
    >>> len({digest_of_counts(Microdata(rows, schema), b"key") for rows in (one, two)})
    1
    """
    state = hashlib.blake2b(key=key, digest_size=32)
    # Codes are ranks of texts, so that they do not depend on how the table was encoded.
    code_columns, sizes = [], []
    for column in (*microdata.rows_read.columns, *microdata.sensitives):
        texts, ranks = _as_printed(column)
        state.update(repr((column.name, texts)).encode())
        code_columns.append(ranks[column.codes])
        sizes.append(len(texts))
    # Combinations are numbered in the order of their codes, whatever the order of rows.
    combination_of_entry, first_entries = combine(code_columns, sizes)
    for codes in code_columns:
        state.update(codes[first_entries].tobytes())
    # How many people have each combination; `times` is how many people each entry is.
    people = np.bincount(combination_of_entry, microdata.times).astype(np.int64)
    state.update(people.tobytes())
    return state.hexdigest()


def _as_printed(column: Column) -> tuple[list[str], IntArray]:
    """The distinct values of a column as sorted texts, and for each code the place of its text.

    Several codes may have one text, since a number may also have come as a text; see `printed`.
    """
    texts = list(map(printed, column.domain))
    distinct = sorted(set(texts))
    place_of = {text: place for place, text in enumerate(distinct)}
    return distinct, np.array([place_of[text] for text in texts], dtype=np.int64)


def printed(value: Any) -> str:
    """A value as text, the same for a number, a date and the text of one; 01 is a code, no number.

    A missing value is "-", and anything else begins with "=", so that no text looks like a missing
    one.

    >>> [printed(value) for value in (None, 5.0, "5.0", "05", Decimal("0.10"), 0.1, "flu")]
    ['-', '=5', '=5', '=05', '=0.1', '=0.1', '=flu']
    """
    if value is None:
        return "-"
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return f"={value.isoformat()}"
    text = str(value)
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        return f"={text}"
    # A number is written without an exponent, zeros at its end, and the sign of a zero.
    whole_digits, point, decimals = f"{Decimal(text):f}".partition(".")
    decimals = decimals.rstrip("0")
    if decimals:
        return f"={whole_digits}{point}{decimals}"
    return f"={'0' if whole_digits == '-0' else whole_digits}"
