"""How long it takes to count everybody over each limit, beside the audit: 5 M rows, 50,000 groups.

python -m benchmarks.exposed
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import foreknow as fk

ROWS, GROUPS, VALUES, ROUNDS = 5_000_000, 50_000, 25, 3


def main():
    random = np.random.default_rng(0)
    values = np.array([f"v{i}" for i in range(VALUES)])
    # Some values are frequent, some rare.
    shares = 1 / np.arange(1, VALUES + 1)
    table = pa.table(
        {
            "gid": random.integers(0, GROUPS, ROWS),
            "value": pa.array(values[random.choice(VALUES, ROWS, p=shares / shares.sum())]),
        }
    )
    requirements = {
        "facts (0, 0, 0)": fk.Requirement(fk.Facts(), "1/2"),
        "facts (1, 5, 2)": fk.Requirement(fk.Facts(1, 5, 2), "1/2"),
        "facts (3, 20, 4)": fk.Requirement(fk.Facts(3, 20, 4), "1/2"),
        "negations 3": fk.Requirement(fk.Negations(3), "1/2"),
        "implications 3": fk.Requirement(fk.Implications(3), "1/2"),
        "k-anonymity 11": fk.Requirement(fk.KAnonymity(11)),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.parquet"
        pq.write_table(table, path)
        del table
        print(f"{'requirement':18}  count   judge  exposed  of judge  of all  people over  certain")
        for name, requirement in requirements.items():
            best = [float("inf")] * 3
            for _ in range(ROUNDS):
                start = time.perf_counter()
                release = fk.Release.from_groups(str(path), group="gid", sensitive="value")
                _ = release.counts
                counted = time.perf_counter()
                audit = fk.audit(release, fk.Policy([requirement]))
                judged = time.perf_counter()
                (found,) = audit.exposed
                end = time.perf_counter()
                times = counted - start, judged - counted, end - judged
                best = [min(pair) for pair in zip(best, times, strict=True)]
            count, judge, exposed = best
            certain = "" if found.certain is None else f"{found.certain.people:,}"
            print(
                f"{name:18}  {count:4.2f}s  {judge:5.2f}s  {exposed:6.2f}s  {exposed / judge:8.2f}"
                f"  {exposed / (count + judge):6.2f}  {found.over.people:11,}  {certain:>9}",
                flush=True,
            )


if __name__ == "__main__":
    main()
