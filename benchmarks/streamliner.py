"""Streamliner on a census and on hard tables: time, memory, and what its groups are worth.

Each claim is printed with what was measured, and whether it is kept. Times are processor time of
all threads, in multiples of a random permutation of as many int64 by NumPy and one GROUP BY of as
many rows. Memory is that of the encoded columns and what is added to them at the peak. Each table
and variant is measured in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import foreknow as fk
from benchmarks.census import QUASI_IDENTIFIERS, encoded_census
from benchmarks.measure import heading, line, medians

Columns: TypeAlias = dict[str, NDArray[np.int64]]

ROWS = 600_000
COPIES = (1, 2, 4, 7, 10)
VARIANTS = ("rda", "gda", "gsa", "ria")
WEIGHTS = {"gender": 10_000}  # the paper's, for GDA
# Beside the encoded columns, per person; 8 of them are the result.
BYTES = {"rda": 60.0, "gda": 60.0}
# Runs of each: as many, or until these seconds are spent.
_REPEATS = 3
_ENOUGH = 5.0
_SOME = 8_000


@dataclass(frozen=True)
class Case:
    """A table that is hard for some of them.

    Attributes
    ----------
    l : int
    variants : dict of str to float or None
        Which are measured, and how many times a permutation and a GROUP BY they may take.
    make : callable
        Quasi-identifiers and the sensitive value of so many people.
    """

    l: int  # noqa: E741
    variants: dict[str, float | None]
    make: Callable[[int], Columns]


def _two(rows: int) -> Columns:
    return {"age": np.random.default_rng(1).integers(0, 80, rows), "value": np.arange(rows) % 2}


def _many(rows: int) -> Columns:
    random = np.random.default_rng(1)
    return {"age": random.integers(0, 80, rows), "value": random.permutation(rows) % 100_000}


def _ranks(rows: int) -> Columns:
    random = np.random.default_rng(1)
    return {
        "x": random.permutation(rows),
        "y": random.permutation(rows) % 50_000,
        "value": random.integers(0, 50, rows),
    }


def _both(rows: int) -> Columns:
    random = np.random.default_rng(1)
    return {"x": random.permutation(rows), "value": random.permutation(rows) % 100_000}


def _uneven(rows: int) -> Columns:
    """One value has as many as l = 8 allows; the others thin out by a power law."""
    random = np.random.default_rng(1)
    weights = 1 / np.arange(1, 1_001) ** 0.7
    values = 1 + random.choice(1_000, rows, p=weights / weights.sum())
    values[random.permutation(rows)[: rows // 8]] = 0
    return {"age": random.integers(0, 80, rows), "value": values}


CASES = {
    "two equal values": Case(2, {"rda": 6.0, "gda": 20.0, "gsa": None, "ria": 200.0}, _two),
    "100,000 values": Case(8, {"rda": 60.0, "gda": 600.0, "gsa": None, "ria": 200.0}, _many),
    "different ranks": Case(8, {"rda": 6.0, "gda": 600.0, "gsa": None, "ria": 200.0}, _ranks),
    "ranks and 100,000 values": Case(8, {"rda": 60.0, "gda": 600.0}, _both),
    # GDA is stuck at once.
    "one value in eight": Case(8, {"rda": 6.0, "gsa": None, "ria": 200.0}, _uneven),
}


def table_of(name: str, rows: int, copies: int) -> fk.Microdata:
    """Make and encode a table, so that no measurement has to."""
    if name == "census":
        return encoded_census(rows, "occupation", copies)
    columns = pa.table(CASES[name].make(rows))
    names = [column for column in columns.column_names if column != "value"]
    made = fk.Microdata(columns, fk.Schema(quasi_identifiers=names, sensitive="value"))
    _ = made.attributes, made.values
    return made


def method(variant: str, l: int, weights: dict[str, int]) -> fk.Streamliner:  # noqa: E741
    return fk.Streamliner(l, variant, weights if variant == "gda" else {})  # type: ignore[arg-type]


def one(name: str, variant: str, rows: int, copies: int) -> dict[str, float]:
    """Partition one table; seconds, and memory beyond the idle process."""
    made = table_of(name, rows, copies)
    encoded = sum(a.codes.nbytes for a in made.attributes) + made.sensitive_codes.nbytes
    chosen = method(variant, 8, WEIGHTS) if name == "census" else method(variant, CASES[name].l, {})
    chosen.partition(table_of(name, _SOME, 1))  # what is loaded only once is not of the table
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = _status("VmRSS")
    seconds: list[float] = []
    peak = 0
    while len(seconds) < _REPEATS and sum(seconds) < _ENOUGH:
        start = time.process_time()
        groups = chosen.partition(made)
        seconds.append(time.process_time() - start)
        peak = max(peak, _status("VmHWM") - before)
        del groups
    return {
        "seconds": sorted(seconds)[len(seconds) // 2],
        "columns": (peak + encoded) / encoded,
        "bytes": peak / made.n_people,
    }


def in_its_own(name: str, variant: str, rows: int, copies: int = 1) -> dict[str, float]:
    """The same in a new process."""
    command = [sys.executable, "-m", "benchmarks.streamliner", "--one", name, variant]
    command += ["--rows", str(rows), "--copies", str(copies)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def base(rows: int) -> float:
    """Seconds for a permutation of int64 and one GROUP BY of as many rows."""
    random = np.random.default_rng(1)
    numbers = random.integers(0, 2**62, rows)
    engine = duckdb.connect()
    engine.register("people", pa.table({"s": random.integers(0, 50, rows)}))
    found = medians(
        5,
        time.process_time,
        permutation=lambda: random.permutation(numbers),
        counting=lambda: engine.sql("select s, count(*) from people group by s").fetchall(),
    )
    line(f"random permutation of {rows:,} int64", found["permutation"])
    line(f"GROUP BY of {rows:,} rows", found["counting"])
    return sum(found.values())


def say(what: str, found: float, bound: float | None = None) -> None:
    """Print one number, and whether the claim about it is kept."""
    kept = (
        "" if bound is None else f", {'kept' if found <= bound else 'NOT KEPT'}: at most {bound:g}"
    )
    print(f"    {what}: {found:.1f}{kept}", flush=True)


def census_times() -> None:
    heading("time and memory against n: census, occupation, l = 8")
    floor, rda = base(ROWS * COPIES[-1]), 0.0
    for variant in VARIANTS:
        for copies in COPIES if variant in ("rda", "gda") else (COPIES[0], COPIES[-1]):
            rows, last = ROWS * copies, copies == COPIES[-1]
            found = in_its_own("census", variant, ROWS, copies)
            line(f"{variant}, {rows:,} rows", found["seconds"])
            say("ns per row", found["seconds"] / rows * 1e9)
            if last:
                rda = found["seconds"] if variant == "rda" else rda
                bound = 6.0 if variant == "rda" else None
                say("times a permutation and a GROUP BY", found["seconds"] / floor, bound)
                if variant != "rda":
                    say("times rda", found["seconds"] / rda, 6.0 if variant == "gda" else None)
            say("times the encoded columns, these included", found["columns"])
            say(
                "bytes per person beside them", found["bytes"], BYTES.get(variant) if last else None
            )


def hard_times(rows: int) -> None:
    heading(f"hard tables of {rows:,} rows")
    floor = base(rows)
    for name, case in CASES.items():
        print(f"\n  {name}, l = {case.l}")
        for variant, bound in case.variants.items():
            found = in_its_own(name, variant, rows)
            line(variant, found["seconds"])
            say("times a permutation and a GROUP BY", found["seconds"] / floor, bound)
            say("bytes per person beside the encoded columns", found["bytes"])


def worth(rows: int) -> None:
    """Discernibility and the width of boxes."""
    for sensitive in ("occupation", "income"):
        made = encoded_census(rows, sensitive)
        most = np.bincount(made.sensitive_codes).max() / rows
        print(f"\n{sensitive}, {rows:,} rows; the most frequent value has {most:.1%}")
        print("   l  variant  discernibility / optimum   NCP " + ", ".join(QUASI_IDENTIFIERS))
        for l in range(2, 11):  # noqa: E741
            least = fk.optimal_discernibility(rows, l)
            for variant in ("rda", "gda", "gsa"):
                groups = method(variant, l, WEIGHTS).partition(made)
                found = fk.utility_of(made.counts(groups), made, groups)
                each = ", ".join(f"{found.ncp[name]:.3f}" for name in QUASI_IDENTIFIERS)
                ratio = found.discernibility / least
                print(f"  {l:2}  {variant}  {ratio:.3f}   {found.average_ncp:.3f}   {each}")


def _status(key: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(row.split()[1]) * 1024 for row in file if row.startswith(key))


def main() -> None:
    logging.getLogger("foreknow").setLevel(logging.ERROR)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("TABLE", "VARIANT"), help="for itself to call")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--hard", type=int, default=1_000_000, help="rows of the hard tables")
    parser.add_argument("--only", choices=("census", "hard", "worth"))
    given = parser.parse_args()
    if given.one:
        name, variant = given.one
        print(json.dumps(one(name, variant, given.rows, given.copies)))
        return
    if given.only in (None, "census"):
        census_times()
    if given.only in (None, "hard"):
        hard_times(given.hard)
    if given.only in (None, "worth"):
        worth(given.rows)


if __name__ == "__main__":
    main()
