"""Mondrian on 45 k, 1 M and 10 M rows: time against numpy.sort of 10 M int64, and peak memory.

Five quasi-identifiers of 79, 2, 17, 57 and 7 values, 50 sensitive values, Facts(3, 100, 10) below
1/2. Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

from benchmarks.measure import heading, line, medians

SIZES = (45_222, 1_000_000, 10_000_000)
CARDINALITIES = (79, 2, 17, 57, 7)
VALUES = 50


def one(rows: int) -> dict[str, float]:
    """Partition one synthetic table; seconds, groups and memory beyond the idle process."""
    import pyarrow as pa

    import foreknow as fk

    random = np.random.default_rng(1)
    columns = {}
    for i, size in enumerate(CARDINALITIES):
        codes = np.minimum(random.exponential(size / 3, rows), size - 1).astype(np.int8)
        columns[f"q{i}"] = pa.array(codes)
        del codes
    weights = 1 / np.arange(4, VALUES + 4)
    drawn = random.choice(VALUES, rows, p=weights / weights.sum()).astype(np.int8)
    columns["disease"] = pa.array(drawn)
    del drawn
    table = pa.table(columns)
    schema = fk.Schema(quasi_identifiers=[f"q{i}" for i in range(5)], sensitive="disease")
    microdata = fk.Microdata(table, schema)
    encoded = sum(a.codes.nbytes for a in microdata.attributes) + microdata.sensitive_codes.nbytes
    policy = fk.Policy([fk.Requirement(fk.Facts(3, 100, 10), below="1/2")])
    with open("/proc/self/clear_refs", "w") as file:  # forget the peak of making the table
        file.write("5")
    before = _status("VmRSS")
    start = time.perf_counter()
    groups = fk.Mondrian().partition(microdata, policy)
    seconds = time.perf_counter() - start
    peak = max(_status("VmHWM") - before, 0)
    return {
        "seconds": seconds,
        "groups": int(groups.max()) + 1,
        "encoded": encoded,
        "peak": peak + encoded,
        "all": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _sorting() -> float:
    """Seconds that numpy.sort takes for 10 M int64."""
    numbers = np.random.default_rng(1).integers(0, 2**62, 10_000_000)
    return medians(5, sort=lambda: np.sort(numbers))["sort"]


def _status(key: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(row.split()[1]) * 1024 for row in file if row.startswith(key))


def main() -> None:
    heading("(b) Mondrian, 5 quasi-identifiers, 50 values, Facts(3, 100, 10) below 1/2")
    base = _sorting()
    line("numpy.sort of 10 M int64", base)
    for rows in SIZES:
        runs = []
        for _ in range(3):
            command = [sys.executable, "-m", "benchmarks.mondrian_scale", str(rows)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            runs.append(json.loads(done.stdout))
        found = sorted(runs, key=lambda run: run["seconds"])[len(runs) // 2]
        limit = 20.0 if rows == SIZES[-1] else None
        line(f"{rows:,} rows: {found['groups']:,} groups", found["seconds"], base, limit)
        scale = rows * np.log2(rows)
        claim = " (claim: at most 4)" if rows == SIZES[-1] else ""
        print(
            f"    {found['seconds'] / scale * 1e9:.2f} ns per n log n; encoded columns and what "
            f"the search adds at its peak: {found['peak'] / 1e6:.0f} MB, "
            f"{found['peak'] / found['encoded']:.1f} times the encoded columns{claim}"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(int(sys.argv[1]))))
    else:
        main()
