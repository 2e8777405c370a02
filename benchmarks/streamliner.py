"""Streamliner on a synthetic census: time against n, memory, and what the groups are worth.

Claims: RDA at 6 M rows takes at most 6 times a random permutation of 6 M int64 by NumPy and one
GROUP BY; GDA at most 6 times RDA; memory at most 4 times the encoded columns; time linear in n.
Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import time

import duckdb
import numpy as np
import pyarrow as pa

import foreknow as fk
from benchmarks.census import QUASI_IDENTIFIERS, census
from benchmarks.measure import heading, line, medians
from foreknow.anonymizers.streamliner import Streamliner
from foreknow.utility import utility_of

ROWS = 600_000
COPIES = (1, 2, 4, 7, 10)
VARIANTS = ("rda", "gda", "gsa")
WEIGHTS = {"gender": 10_000}  # the paper's, for GDA


def microdata(sensitive: str, rows: int, copies: int = 1) -> fk.Microdata:
    """The census, encoded."""
    table = census(rows, 1, sensitive, copies)  # type: ignore[arg-type]
    schema = fk.Schema(quasi_identifiers=list(QUASI_IDENTIFIERS), sensitive=sensitive)
    made = fk.Microdata(table, schema)
    del table
    _ = made.attributes, made.values
    return made


def method(variant: str, l: int) -> Streamliner:  # noqa: E741
    return Streamliner(l, variant, WEIGHTS if variant == "gda" else {})  # type: ignore[arg-type]


def one(variant: str, rows: int, copies: int) -> dict[str, float]:
    """Partition one table; seconds and memory beyond the idle process."""
    made = microdata("occupation", rows, copies)
    encoded = sum(a.codes.nbytes for a in made.attributes) + made.sensitive_codes.nbytes
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = _status("VmRSS")
    seconds, peak = [], 0
    for _ in range(3 if variant != "gsa" else 1):
        start = time.perf_counter()
        groups = method(variant, 8).partition(made)
        seconds.append(time.perf_counter() - start)
        peak = max(peak, _status("VmHWM") - before)
        del groups
    return {"seconds": sorted(seconds)[len(seconds) // 2], "encoded": encoded, "peak": peak}


def base() -> float:
    """Seconds for a permutation of 6 M int64 and one GROUP BY of as many rows."""
    random = np.random.default_rng(1)
    numbers = random.integers(0, 2**62, 6_000_000)
    table = census(ROWS, 1, "occupation", 10)
    pairs = pa.table({"g": pa.array(np.arange(len(table)) // 8), "s": table["occupation"]})
    assert len(pairs) == len(numbers)
    engine = duckdb.connect()
    engine.register("pairs", pairs)
    count = "select s, count(*) from pairs group by s"
    found = medians(
        5,
        permutation=lambda: random.permutation(numbers),
        counting=lambda: engine.sql(count).fetchall(),
    )
    line("random permutation of 6 M int64", found["permutation"])
    line("GROUP BY of 6 M rows", found["counting"])
    return sum(found.values())


def times() -> None:
    heading("time and memory against n, occupation, l = 8")
    floor = base()
    rda = 0.0
    for variant in VARIANTS:
        for copies in COPIES:
            command = [sys.executable, "-m", "benchmarks.streamliner", "--one", variant]
            command += ["--rows", str(ROWS), "--copies", str(copies)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            last = copies == COPIES[-1]
            if variant == "rda":
                rda = found["seconds"]
            against = floor if variant == "rda" else rda
            bound = 6.0 if last and variant != "gsa" else None
            name = f"{variant}, {ROWS * copies:,} rows"
            line(name, found["seconds"], against if last else None, bound)
            print(
                f"    {found['seconds'] / (ROWS * copies) * 1e9:.0f} ns per row; encoded columns "
                f"and what is added at the peak: "
                f"{(found['peak'] + found['encoded']) / found['encoded']:.1f} times the columns"
            )


def worth(rows: int) -> None:
    for sensitive in ("occupation", "income"):
        made = microdata(sensitive, rows)
        most = np.bincount(made.sensitive_codes).max() / rows
        print(f"\n{sensitive}, {rows:,} rows; the most frequent value has {most:.1%}")
        print("   l  variant  discernibility / optimum   NCP " + ", ".join(QUASI_IDENTIFIERS))
        for l in (2, 4, 6, 7, 8, 9, 10):  # noqa: E741
            for variant in VARIANTS:
                groups = method(variant, l).partition(made)
                found = utility_of(made.counts(groups), made, groups)
                each = ", ".join(f"{found.ncp[name]:.3f}" for name in QUASI_IDENTIFIERS)
                ratio = found.discernibility / (rows * l)
                print(f"  {l:2}  {variant}  {ratio:.3f}   {found.average_ncp:.3f}   {each}")


def _status(key: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(row.split()[1]) * 1024 for row in file if row.startswith(key))


def main() -> None:
    """Time and memory, then utility."""
    logging.getLogger("foreknow").setLevel(logging.ERROR)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", choices=VARIANTS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--only", choices=("times", "worth"))
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.rows, given.copies)))
        return
    if given.only != "worth":
        times()
    if given.only != "times":
        worth(given.rows)


if __name__ == "__main__":
    main()
