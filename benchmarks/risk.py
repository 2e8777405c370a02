"""The risk report of a million rows and 8 columns, beside a bare GROUP BY of the columns.

Claim: without SUDA under 20 times the GROUP BY. SUDA, which seeks minimal uniques of up to three
columns, is printed apart.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import foreknow as fk
from benchmarks.measure import heading, line, medians

ROWS = 1_000_000
LIMIT = 20
VALUES = {
    "year": 80,
    "sex": 2,
    "region": 40,
    "schooling": 16,
    "job": 25,
    "marital": 7,
    "birthplace": 45,
    "household": 9,
}
FRACTION = "1/20"


def people(rows: int, seed: int = 0) -> pa.Table:
    """People of whom many are like others: every column has frequent and rare values."""
    draw = np.random.default_rng(seed)
    made = {}
    for name, size in VALUES.items():
        weights = 1 / np.arange(1, size + 1) ** 1.5
        codes = draw.choice(size, rows, p=weights / weights.sum())
        made[name] = (
            codes if name == "year" else np.array([f"{name} {i}" for i in range(size)])[codes]
        )
    return pa.table(made)


def report(table: object, suda: int) -> Callable[[], object]:
    """A report to be timed."""
    return lambda: fk.risk_report(
        table, quasi_identifiers=list(VALUES), sampling_fraction=FRACTION, suda=suda
    )


def main() -> None:
    """Print the times of an Arrow table, a Parquet file and a DuckDB table."""
    columns = ", ".join(VALUES)
    table = people(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.parquet"
        pq.write_table(table, file)
        connection = duckdb.connect()
        connection.register("arrow", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM arrow")
        query = f"SELECT count(*) FROM (SELECT count(*) FROM people GROUP BY {columns})"
        classes = connection.execute(query).fetchall()
        heading(f"{ROWS:,} rows, {len(VALUES)} columns, {classes[0][0]:,} classes")
        found = medians(
            5,
            bare=lambda: connection.execute(query).fetchall(),
            arrow=report(table, 0),
            parquet=report(file, 0),
            duckdb=report(connection.table("people"), 0),
        )
        base = found.pop("bare")
        line("bare GROUP BY in DuckDB", base)
        for source, seconds in found.items():
            line(f"risk report, {source}", seconds, base, LIMIT)
        line("the same with SUDA, arrow", medians(1, suda=report(table, 3))["suda"], base)


if __name__ == "__main__":
    main()
