"""Worlds per second of an attack: Mondrian and FullDomain on tables of 10 to 1,000 rows.

A world costs one run of the method, unless a replay says what that would make (Mondrian): how much
that saves stands last. For FullDomain it is measured how much of a run comes before the first node
is judged, which is the most that a replay could save without keeping anything between worlds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import foreknow as fk
from benchmarks.measure import heading
from foreknow.features.attacks.method_runner import Runs
from foreknow.features.attacks.worlds import Worlds
from foreknow.methods.fulldomain.lattice import Lattice
from foreknow.methods.fulldomain.losses import Loss
from foreknow.methods.fulldomain.rollup import Rollup
from foreknow.methods.fulldomain.search import LatticeSearch
from foreknow.methods.fulldomain.suppression import Judge

POLICY = fk.Policy([fk.Requirement(fk.Facts(l=1), below="3/4")])
METHODS = (fk.Mondrian(), fk.FullDomain(), fk.FullDomain(find="minimal"))
TIMES = 101


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


def milliseconds(run: Callable[[], object], times: int) -> float:
    """The median of several, of the processor's time."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        run()
        taken.append(1_000 * (time.process_time() - start))
    return float(np.median(taken))


def first_node(table: fk.Microdata, policy: fk.Policy) -> bool:
    """What every run of FullDomain does before it knows anything of values."""
    rollup = Rollup(table)
    lattice = Lattice(rollup.tops)
    loss = Loss(rollup, lattice, "ncp")
    search = LatticeSearch(lattice, rollup, Judge(policy, table.values, 0), loss)
    return search.check(lattice.top)


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    for rows in (10, 30, 100, 1_000):
        table = people(rows)
        policy = replace(POLICY, schema=table.schema)
        heading(f"One world of {rows:,} rows")
        for method in METHODS:
            runs = Runs(table, method, policy)
            codes = np.asarray(table.sensitive_codes)
            runs.make_first(codes)
            worlds = Worlds.of(runs.seen.groups, codes, len(table.values), table.attributes)
            random = np.random.default_rng(0)

            def world(
                runs: Runs = runs,
                worlds: Worlds = worlds,
                random: np.random.Generator = random,
            ) -> object:
                return runs.weight(worlds.representative(worlds.at_random(random)))

            def alone(
                method: Any = method, table: fk.Microdata = table, policy: fk.Policy = policy
            ) -> object:
                return method.partition(table, policy)

            runs.weight(codes)
            one, plain = milliseconds(world, times), milliseconds(alone, times)
            said = f"a run is {plain / one:.1f} times that"
            if isinstance(method, fk.FullDomain):
                least = milliseconds(partial(first_node, table, policy), times)
                said += f", and {plain / least:.1f} times what comes before the first node"
            name = getattr(method, "find", "")
            print(f"  {type(method).__name__ + ' ' + name:<20} {one:7.2f} ms; {said}")


if __name__ == "__main__":
    main()
