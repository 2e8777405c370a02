"""Criteria on 5 M rows in 50,000 groups of 100, 20 values, from Parquet: each against a GROUP BY.

The alternative is the bare GROUP BY of the same file in DuckDB, fetched as Arrow. For k-map and
delta-presence the population has 10 M rows, and the GROUP BY that they are compared with is of both
files. Limits are such that each criterion is measured in full, and that groups are near them.
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

ROWS, SIZE, VALUES, TIMES = 5_000_000, 100, 20, 2
TREE = [[i, f"of {i // 2}", f"of {i // 4}", f"of {i // 12}"] for i in range(VALUES)]
CRITERIA = {
    "k-anonymity": fk.KAnonymity(100),
    "l-diversity, distinct": fk.LDiversity(18),
    "l-diversity, entropy": fk.LDiversity(15, "entropy"),
    "l-diversity, recursive": fk.LDiversity(3, "recursive", "1/4"),
    "(alpha, k)": fk.AlphaK("1/5", 100),
    "t-closeness, equal": fk.TCloseness("1/4"),
    "t-closeness, ordered": fk.TCloseness("1/10", "ordered"),
    "t-closeness, hierarchical": fk.TCloseness("1/5", "hierarchical", tree=TREE),
    "beta-likeness": fk.BetaLikeness(2),
    "beta-likeness, enhanced": fk.BetaLikeness(3, enhanced=True),
    "delta-disclosure": fk.DeltaDisclosure(2),
}


def make(path: Path, everybody: Path) -> None:
    """A release by two columns, of 250 and 200 labels; and everybody, by whole numbers."""
    random = np.random.default_rng(1)
    groups = random.permutation(np.repeat(np.arange(ROWS // SIZE), SIZE))
    ages = pa.array([f"{4 * i} to {4 * i + 3}" for i in range(250)])
    zips = pa.array([f"{i:03}**" for i in range(ROWS // SIZE // 250)])
    age = pa.DictionaryArray.from_arrays(pa.array(groups % 250), ages).cast(pa.string())
    zipcode = pa.DictionaryArray.from_arrays(pa.array(groups // 250), zips).cast(pa.string())
    values = random.integers(0, VALUES, ROWS)
    pq.write_table(pa.table({"age": age, "zip": zipcode, "grade": values}), path)
    both = np.tile(groups, TIMES)
    exact = 4 * (both % 250) + random.integers(0, 4, len(both))
    codes = pa.array([f"{i:05}" for i in range(100 * len(zips))])
    near = pa.array(both // 250 * 100 + random.integers(0, 100, len(both)))
    known = pa.DictionaryArray.from_arrays(near, codes).cast(pa.string())
    pq.write_table(pa.table({"age": exact, "zip": known}), everybody)


def main() -> None:
    heading("criteria of 5 M rows in 50,000 groups, from Parquet, against a GROUP BY")
    with tempfile.TemporaryDirectory() as folder:
        path, everybody = Path(folder) / "release.parquet", Path(folder) / "everybody.parquet"
        make(path, everybody)

        def group_by() -> object:
            connection = duckdb.connect()
            relation = connection.read_parquet(str(path))
            return relation.aggregate("age, zip, grade, count(*)").to_arrow_table()

        def group_both() -> object:
            connection = duckdb.connect()
            relation = connection.read_parquet(str(everybody))
            return group_by(), relation.aggregate("age, zip, count(*)").to_arrow_table()

        def release() -> fk.Release:
            names = ["age", "zip"]
            return fk.Release.from_generalized(path, quasi_identifiers=names, sensitive="grade")

        def measured(criterion: fk.KAnonymity) -> object:
            return lambda: criterion.attained(release())

        alone = {name: measured(criterion) for name, criterion in CRITERIA.items()}
        found = medians(5, group_by=group_by, count=lambda: release().counts, **alone)
        base = found["group_by"]
        line("DuckDB GROUP BY, 2 threads", base)
        line("foreknow: counting", found["count"], base)
        for name in CRITERIA:
            line(f"foreknow: {name}", found[name], base, 1.5)
        both = {
            "k-map": lambda: fk.KMap(200, everybody).attained(release()),
            "delta-presence": lambda: fk.DeltaPresence(0, "1/2", everybody).attained(release()),
        }
        found = medians(3, group_by=group_both, **both)
        line("DuckDB GROUP BY of both tables", found["group_by"])
        for name in both:
            line(f"foreknow: {name}", found[name], found["group_by"])


if __name__ == "__main__":
    main()
