"""Anatomy on 6 M rows and 50 values: time against a random permutation of 6 M int64; memory."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.measure import heading, line, medians

ROWS = (600_000, 1_500_000, 3_000_000, 6_000_000)
VALUES = 50
LEAST, MOST = 2, 10


def one(rows: int, l: int) -> dict[str, float]:  # noqa: E741
    """Partition one synthetic table; seconds beside those of a permutation, and memory."""
    import pyarrow as pa

    import foreknow as fk

    random = np.random.default_rng(1)
    weights = 1 / np.arange(8, VALUES + 8)
    drawn = random.choice(VALUES, rows, p=weights / weights.sum()).astype(np.int8)
    columns = {
        f"q{i}": pa.array(random.integers(0, size, rows, dtype=np.int8))
        for i, size in enumerate((79, 2, 17, 57))
    }
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="income")
    microdata = fk.Microdata(pa.table({**columns, "income": pa.array(drawn)}), schema)
    encoded = sum(a.codes.nbytes for a in microdata.attributes) + microdata.sensitive_codes.nbytes
    anatomy = fk.Anatomy(l=l)
    with open("/proc/self/clear_refs", "w") as file:  # forget the peak of making the table
        file.write("5")
    before = _status("VmRSS")
    anatomy.partition(microdata)
    peak = _status("VmHWM") - before
    found = medians(
        5,
        anatomy=lambda: anatomy.partition(microdata),
        permutation=lambda: random.permutation(rows),
    )
    return {**found, "encoded": encoded, "peak": peak}


def _status(key: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(row.split()[1]) * 1024 for row in file if row.startswith(key))


def main() -> None:
    heading("Anatomy, 4 quasi-identifiers, 50 values")
    for rows, l in [  # noqa: E741
        *((rows, 8) for rows in ROWS),
        (ROWS[-1], LEAST),
        (ROWS[-1], MOST),
    ]:
        command = [sys.executable, "-m", "benchmarks.anatomy", str(rows), str(l)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        line(f"permutation of {rows:,} int64", found["permutation"])
        line(f"l = {l}, {rows:,} rows", found["anatomy"], found["permutation"])
        per = found["anatomy"] / rows * 1e9
        print(
            f"    {per:.0f} ns per row; adds {found['peak'] / 1e6:.0f} MB at its peak, beside "
            f"{found['encoded'] / 1e6:.0f} MB of encoded columns"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(int(sys.argv[1]), int(sys.argv[2]))))
    else:
        main()
