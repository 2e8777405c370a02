"""Frames: the only room that knows dataframes and engines. Read, encode, count, write."""

from foreknow.frames.columns import Column, encode
from foreknow.frames.counting import count_groups
from foreknow.frames.gathering import count_held
from foreknow.frames.holding import Holdings
from foreknow.frames.sources import Table, open_table
from foreknow.frames.tallying import count_tally
from foreknow.frames.writing import write_csv, write_parquet

__all__ = [
    "Column",
    "Holdings",
    "Table",
    "count_groups",
    "count_held",
    "count_tally",
    "encode",
    "open_table",
    "write_csv",
    "write_parquet",
]
