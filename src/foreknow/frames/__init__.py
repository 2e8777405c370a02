"""Frames: the only room that knows dataframes and engines. Read, encode, count, write."""

from foreknow.frames.columns import Column, encode
from foreknow.frames.counting import count_groups, count_tally
from foreknow.frames.sources import Table, open_table
from foreknow.frames.writing import write_csv, write_parquet

__all__ = [
    "Column",
    "Table",
    "count_groups",
    "count_tally",
    "encode",
    "open_table",
    "write_csv",
    "write_parquet",
]
