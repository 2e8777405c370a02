"""Engines: the only room that knows dataframes and databases. Read, encode, count, write."""

from foreknow.data.engines.columns import Column, encode
from foreknow.data.engines.group_counts import Holdings
from foreknow.data.engines.sources import open_table
from foreknow.data.engines.table import Table
from foreknow.data.engines.write import (
    as_texts,
    bare,
    disarmed,
    frame_of,
    write_csv,
    write_in_parts,
)

__all__ = [
    "Column",
    "Holdings",
    "Table",
    "as_texts",
    "bare",
    "disarmed",
    "encode",
    "frame_of",
    "open_table",
    "write_csv",
    "write_in_parts",
]
