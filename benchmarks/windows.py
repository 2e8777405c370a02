"""Numbers to within a width against plain values: 5 M rows in 50,000 groups, 1,000 incomes or more.

Both judge counts that are made already. `--quick` takes a tenth of the people.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import foreknow as fk
from benchmarks.measure import heading, line, processor_medians

ROWS, SIZE = 5_000_000, 100
# Distinct incomes, and the amounts of facts.
SETTINGS = [(1_000, (1, 3, 0)), (1_000, (1, 3, 1)), (1_000, (5, 5, 2)), (100_000, (1, 3, 1))]


def incomes(rows: int, values: int) -> fk.GroupCounts:
    """Groups of people whose incomes are drawn from some, most of them in the middle."""
    rng = np.random.default_rng(1)
    spread = np.exp(10.3 + 0.6 * np.linspace(-2.5, 2.5, values))
    known = np.unique(np.round(spread, 2))
    held = np.clip(rng.normal(0.5, 0.2, rows), 0, 1 - 1e-9) * len(known)
    groups = np.repeat(np.arange(rows // SIZE), SIZE)
    return fk.GroupCounts.from_pairs(
        groups, held.astype(np.int64), values=known.tolist(), n_groups=rows // SIZE
    )


def audit(counts: fk.GroupCounts, adversary: fk.Facts, **more: object) -> object:
    """Of counts of which nothing is remembered."""
    policy = fk.Policy([fk.Requirement(adversary, below=1, **more)])
    arrays = counts.sizes, counts.offsets, counts.codes, counts.counts
    return fk.audit(fk.GroupCounts(*arrays, counts.values), policy)


def main() -> None:
    heading("(within) windows of 5,000 against plain values, processor seconds")
    rows = ROWS // 10 if "--quick" in sys.argv[1:] else ROWS
    for values, amounts in SETTINGS:
        given = incomes(rows, values), fk.Facts(*amounts)
        found = processor_medians(
            3,
            plain=partial(audit, *given),
            window=partial(audit, *given, within=5000),
            share=partial(audit, *given, within="10%"),
        )
        print(f"  {rows:,} people, {values:,} values, {given[1]}")
        line("  plain values", found["plain"])
        line("  within 5,000", found["window"], found["plain"], 5)
        line("  within 10%", found["share"], found["plain"], 5)


if __name__ == "__main__":
    main()
