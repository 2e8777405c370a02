"""Knowledge skylines of very many sensitive values: seconds of the processor, and memory.

What is found: the skyline of all values together, and the classes of values that are had alike,
with the most of each kind of knowledge that each withstands; then the points of one value.

Each setting runs in a process of its own, whose peak is its own. `--quick` takes a tenth of it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import foreknow as fk
from benchmarks.measure import heading

# Rows, values, people of the smallest and the largest group, exponent of how uneven values are.
SETTINGS = [
    (1_000_000, 100_000, 20, 20, 0.0),
    (1_000_000, 100_000, 5, 40, 0.0),
    (1_000_000, 100_000, 5, 40, 1.0),
    (1_000_000, 100_000, 50, 400, 0.0),
    (1_000_000, 100_000, 50, 400, 1.0),
]
LIMIT = "1/2"


def counts_of(rows: int, values: int, least: int, most: int, uneven: float) -> fk.GroupCounts:
    """Groups of random people, in which every value occurs."""
    rng = np.random.default_rng(7)
    weights = 1 / np.arange(1, values + 1) ** uneven
    drawn = rng.choice(values, rows - values, p=weights / weights.sum())
    held = rng.permutation(np.concatenate((np.arange(values), drawn)))
    sizes = rng.integers(least, most + 1, rows // least)
    group = np.repeat(np.arange(len(sizes)), sizes)[:rows]
    return fk.GroupCounts.from_pairs(group, held, values=range(values), n_groups=int(group[-1]) + 1)


def run(setting: str) -> None:
    """One setting, in this process."""
    rows, values, least, most, uneven = setting.split(",")
    counts = counts_of(int(rows), int(values), int(least), int(most), float(uneven))
    start = time.process_time()
    found = fk.knowledge_skylines(counts, confidence=LIMIT)
    together, classes = found.of_all, found.classes
    seconds = time.process_time() - start
    one = found[classes[-1].example]
    more = time.process_time() - start - seconds
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (peak,) = (int(line.split()[1]) / 2**20 for line in status if line.startswith("VmHWM"))
    people = least if least == most else f"{least} to {most}"
    print(
        f"  {int(rows):>9,} rows, {int(values):>7,} values, groups of {people:<8} "
        f"{'even' if not float(uneven) else 'uneven':<7}{seconds:8.1f} s {peak:6.2f} GB "
        f"{len(together):>6,} points of all, {len(classes):>7,} classes; {len(one):>6,} points of "
        f"one value in {more:.1f} s"
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        run(sys.argv[2])
        return
    heading(f"skylines of very many values at {LIMIT}   (claim: at most 10 s and 1 GB)")
    part = 10 if "--quick" in sys.argv[1:] else 1
    for rows, values, *rest in SETTINGS:
        setting = ",".join(map(str, (rows // part, values // part, *rest)))
        subprocess.run(
            [sys.executable, "-m", "benchmarks.many_values", "--one", setting], check=True
        )


if __name__ == "__main__":
    main()
