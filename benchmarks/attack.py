"""Worlds per second of an attack: Mondrian and FullDomain on tables of 10, 100 and 1,000 rows.

A world costs one run of the method. Beside it stands what the attack adds to a run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import foreknow as fk
from benchmarks.measure import heading
from foreknow.attacking.running import Runs

POLICY = fk.Policy([fk.Requirement(fk.Facts(l=1), below="3/4")])
METHODS = (fk.Mondrian(), fk.FullDomain(), fk.FullDomain(find="minimal"))
SECONDS = 2.0


def people(rows: int) -> fk.Microdata:
    random = np.random.default_rng(0)
    table = pa.table(
        {
            "age": random.integers(20, 70, rows),
            "sex": random.choice(["f", "m"], rows),
            "zip": random.integers(0, 40, rows),
            "disease": random.choice(["flu", "cold", "cancer", "hiv"], rows),
        }
    )
    schema = fk.Schema(
        quasi_identifiers=["age", "sex", "zip"],
        sensitive="disease",
        hierarchies={"age": fk.Intervals([5, 10, 20])},
    )
    return fk.Microdata(table, schema)


def per_second(run: Callable[[int], object], seconds: float) -> float:
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        run(done)
        done += 1
    return done / (time.perf_counter() - start)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    for rows in (10, 100, 1_000):
        heading(f"Worlds per second of {rows:,} rows")
        table = people(rows)
        codes = table.sensitive_codes
        for method in METHODS:
            runs = Runs(table, method, POLICY)
            seen = runs.make(codes)
            assert seen is not None

            def world(
                number: int, runs: Runs = runs, seen: Any = seen, codes: Any = codes
            ) -> object:
                random = np.random.default_rng(number)
                return runs.weight(random.permutation(codes), seen)

            def alone(number: int, method: Any = method, table: fk.Microdata = table) -> object:
                return method.partition(table, POLICY)

            attacked, alone_too = per_second(world, seconds), per_second(alone, seconds)
            print(
                f"  {method!r:<76.76} {attacked:8.1f} worlds/s"
                f"   (the method alone {alone_too:8.1f} runs/s)"
            )


if __name__ == "__main__":
    main()
