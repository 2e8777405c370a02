"""Audit of 5 M rows from where they lie: a DuckDB relation, Polars, Arrow, CSV and Parquet.

    python -m benchmarks.audit_relation [--rows 5000000] [--runs 3] [--shapes NAME ...]

The alternative is the bare GROUP BY of the same rows in DuckDB, fetched as Arrow: of the relation
for the relation, of the frame for a frame, of the file for a file. Groups are called by numbers or
texts, or are those of equal quasi-identifiers; every value at (10, 10, 10).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.csv as pc
import pyarrow.parquet as pq

import foreknow as fk
from benchmarks.measure import heading, line, medians

KNOWN = ["age", "sex", "zip"]
# How groups are called, how many there may be, and how many values.
SHAPES = {
    "50 numbers, 20 values": ("hash(i) % 50", 20),
    "50,000 numbers, 20 values": ("hash(i) % 50000", 20),
    "50,000 texts, 20 values": ("'group ' || (hash(i) % 50000)", 20),
    "50,000 numbers, 1,000 values": ("hash(i) % 50000", 1000),
    "500,000 texts, 20 values": ("'group ' || (hash(i) % 500000)", 20),
    "1,000 combinations, 20 values": (5, 100, 20),
    "130,000 combinations, 20 values": (72, 900, 20),
}


def made(connection: Any, shape: tuple[Any, ...], rows: int) -> list[str]:
    """Make the table, and say which columns make a group."""
    if len(shape) == 2:
        columns, keys = f"{shape[0]} AS gid", ["gid"]
    else:
        ages, zips, _ = shape
        keys = KNOWN
        columns = f"(hash(i) % {ages})::INTEGER AS age, if(hash(i + 1) % 2 = 0, 'f', 'm') AS sex, "
        columns += f"lpad((hash(i * 7 + 2) % {zips})::VARCHAR, 5, '0') AS zip"
    connection.execute(
        f"CREATE OR REPLACE TABLE people AS SELECT {columns}, "
        f"'disease ' || (hash(i * 11 + 5) % {shape[-1]}) AS disease FROM range({rows}) r(i)"
    )
    return keys


def grouped(open_rows: Callable[[Any], Any], keys: list[str]) -> Callable[[], object]:
    """The bare GROUP BY, in a connection of its own."""

    def run() -> object:
        relation = open_rows(duckdb.connect())
        return relation.aggregate(f"{', '.join(keys)}, disease, count(*)").to_arrow_table()

    return run


def audited(source: Any, keys: list[str]) -> Callable[[], object]:
    """The audit, with a policy that says what the columns are where groups have no ids."""
    required = [fk.Requirement(fk.Facts(10, 10, 10), below=1)]
    if keys == KNOWN:
        policy = fk.Policy(required, fk.Schema(quasi_identifiers=KNOWN, sensitive="disease"))
        return lambda: fk.audit(source, policy)
    policy = fk.Policy(required)
    return lambda: fk.audit(
        fk.Release.from_groups(source, group="gid", sensitive="disease"), policy
    )


def sources(
    connection: Any, folder: Path
) -> Mapping[str, tuple[Any, Callable[[Any], Any], float | None]]:
    """What is audited, how a bare GROUP BY opens the same rows, and what is claimed."""
    relation = connection.table("people")
    arrow = relation.to_arrow_table()
    csv, parquet = folder / "people.csv", folder / "people.parquet"
    pc.write_csv(arrow, csv)
    pq.write_table(arrow, parquet)
    return {
        "a relation": (relation, lambda _: relation, 1.2),
        "Polars": (pl.from_arrow(arrow), lambda own: own.from_arrow(arrow), 1.2),
        "Arrow": (arrow, lambda own: own.from_arrow(arrow), 1.2),
        "CSV": (csv, lambda own: own.read_csv(str(csv), all_varchar=True), None),
        "Parquet": (parquet, lambda own: own.read_parquet(str(parquet)), None),
    }


def main(asked: argparse.Namespace) -> None:
    for name in asked.shapes:
        heading(f"audit of {asked.rows:,} rows in groups of {name}")
        connection = duckdb.connect()
        keys = made(connection, SHAPES[name], asked.rows)
        with tempfile.TemporaryDirectory() as folder:
            for kind, (source, open_rows, claim) in sources(connection, Path(folder)).items():
                bare, audit = grouped(open_rows, keys), audited(source, keys)
                audit()
                found = medians(asked.runs, bare=bare, audit=audit)
                line(f"{kind}: DuckDB GROUP BY", found["bare"])
                line(f"{kind}: audit", found["audit"], found["bare"], claim)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=list(SHAPES))
    main(parser.parse_args())
