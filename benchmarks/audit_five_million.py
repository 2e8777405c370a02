"""Audit 5 M rows in 50,000 groups of 100, 20 values, at (10, 10, 10), from Parquet.

The alternative is the bare GROUP BY of the same file in DuckDB, fetched as Arrow.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import foreknow as fk
from benchmarks.measure import heading, line, medians

ROWS, SIZE, VALUES = 5_000_000, 100, 20


def make(path: Path) -> None:
    random = np.random.default_rng(1)
    groups = random.permutation(np.repeat(np.arange(ROWS // SIZE), SIZE))
    names = pa.array([f"disease {i}" for i in range(VALUES)])
    values = pa.DictionaryArray.from_arrays(pa.array(random.integers(0, VALUES, ROWS)), names)
    pq.write_table(pa.table({"gid": groups, "disease": values.cast(pa.string())}), path)


def main() -> None:
    heading("(a) audit of 5 M rows, every value at (10, 10, 10), from Parquet")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.parquet"
        make(path)
        policy = fk.Policy([fk.Requirement(fk.Facts(10, 10, 10), below=1)])

        def group_by() -> object:
            connection = duckdb.connect()
            relation = connection.read_parquet(str(path))
            return relation.aggregate("gid, disease, count(*)").to_arrow_table()

        def audit() -> object:
            return fk.audit(fk.Release.from_groups(path, group="gid", sensitive="disease"), policy)

        def count() -> object:
            return fk.Release.from_groups(path, group="gid", sensitive="disease").counts

        counts = count()
        audit()
        found = medians(
            7, group_by=group_by, audit=audit, count=count, judge=lambda: fk.audit(counts, policy)
        )
    base = found["group_by"]
    line("DuckDB GROUP BY, 2 threads", base)
    line("foreknow: count and judge", found["audit"], base, 1.5)
    line("  of which counting", found["count"], base)
    line("  of which judging", found["judge"], base)


if __name__ == "__main__":
    main()
