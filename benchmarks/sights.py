"""What columns beside a sensitive one cost: an audit that knows one, a search over two.

Audit of 5 million rows in 50,000 groups, with and without a known column of ten values; Mondrian on
a million rows with two linked sensitive columns, and with one. Each pair alternately, five times.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import pyarrow as pa

import foreknow as fk


def paired(one, other, times):
    """Seconds of two ways, by turns: the medians, and the median ratio."""
    seconds = []
    for _ in range(times):
        both = []
        for way in (one, other):
            start = time.perf_counter()
            way()
            both.append(time.perf_counter() - start)
        seconds.append(both)
    ratios = [b / a for a, b in seconds]
    plain, more = (statistics.median(column) for column in zip(*seconds, strict=True))
    return plain, more, statistics.median(ratios)


def audits(rows, times):
    """An audit of a table, with nothing known beside, and with a column of ten values."""
    draw = np.random.default_rng(1)
    table = pa.table(
        {
            "group": draw.integers(0, 50_000, rows),
            "job": pa.array([f"job {i}" for i in range(10)]).take(
                pa.array(draw.integers(0, 10, rows))
            ),
            "ill": pa.array([f"ill {i}" for i in range(20)]).take(
                pa.array(draw.integers(0, 20, rows))
            ),
        }
    )
    adversary = fk.Facts(1, 2, 1)

    def audit(knowing):
        asked = fk.Policy([fk.Requirement(adversary, below="0.9", knowing=knowing)])
        release = fk.Release.from_groups(table, group="group", sensitive="ill", other=["job"])
        return fk.audit(release, asked)

    return paired(lambda: audit([]), lambda: audit(["job"]), times)


def searches(rows, times):
    """Mondrian for one sensitive column, and for two that are linked."""
    draw = np.random.default_rng(2)
    table = pa.table(
        {
            "age": draw.integers(17, 90, rows),
            "sex": draw.integers(0, 2, rows),
            "zip": draw.integers(0, 500, rows),
            "ill": draw.integers(0, 20, rows),
            "pay": draw.integers(0, 10, rows),
        }
    )
    known = {"quasi_identifiers": ["age", "sex", "zip"]}
    one = fk.Schema(sensitive="ill", **known)
    two = fk.Schema(sensitive=["ill", "pay"], **known)
    single = fk.Policy([fk.Requirement(fk.Facts(1), below="0.9")], one)
    both = fk.Policy(
        [fk.Requirement(fk.Facts(1), below="0.9", sensitive=name) for name in ("ill", "pay")], two
    )
    alone, linked = fk.Microdata(table, one), fk.Microdata(table, two)
    for microdata in (alone, linked):
        microdata.attributes  # noqa: B018  # read before
    return paired(
        lambda: fk.Mondrian().partition(alone, single),
        lambda: fk.Mondrian().partition(linked, both),
        times,
    )


def main():
    """Print both ratios."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--searched", type=int, default=1_000_000)
    options.add_argument("--times", type=int, default=5)
    given = options.parse_args()
    for name, found, most in (
        ("audit that knows one column of 10 values", audits(given.rows, given.times), 2.5),
        ("Mondrian for two linked columns", searches(given.searched, given.times), 3),
    ):
        plain, more, ratio = found
        print(f"{name}: {plain:.3f} s -> {more:.3f} s, {ratio:.2f} times (at most {most})")


if __name__ == "__main__":
    main()
