"""Digests: of the columns of a table, by which its owner tells whether they changed."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pyarrow.compute as pc


def column_digests(rows: pa.Table, key: bytes) -> dict[str, str]:
    """The keyed BLAKE2b-256 of each column, by name; columns that print alike have the same.

    >>> number, text = ({"home": column} for column in (pa.array([7, None, 7]), ["7", "", "7"]))
    >>> column_digests(pa.table(number), b"key") == column_digests(pa.table(text), b"key")
    True
    """
    digests = {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        try:
            texts = column.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # such as lists
            texts = pa.chunked_array([pa.array(map(str, column.to_pylist()), pa.string())])
        # Equal columns have equal distinct texts, in order of appearance, and equal codes by row.
        encoded = pc.fill_null(texts, "").combine_chunks().dictionary_encode()
        state = hashlib.blake2b(key=key[:64], digest_size=32)
        state.update(repr(encoded.dictionary.to_pylist()).encode())
        state.update(encoded.indices.to_numpy().tobytes())
        digests[name] = state.hexdigest()
    return digests
