"""Implications: disclosure for k = 0 to 12 of 5 M rows, and Mondrian under Implications(5).

The alternatives are DuckDB's GROUP BY that made the counts; the paper's own dynamic program,
O(buckets k^3), in plain Python; and Mondrian under a policy about `Facts` of similar strength.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from tests.oracle.implications import minimize2

import foreknow as fk
from benchmarks.audit_five_million import ROWS, SIZE, VALUES, make
from benchmarks.measure import heading, line, medians

MOST = 12
BUCKETS = 5000  # as many as the dynamic program is given; both work on these
KNOWN = fk.Implications(5)
# Five facts of one kind, which as `Negations(5)` are implications too; and five of all kinds.
FACTS = (fk.Facts(l=5), fk.Facts(2, 1, 2))
CARDINALITIES = (79, 2, 17, 57, 7)


def afresh(counts: fk.GroupCounts, groups: int) -> fk.GroupCounts:
    """The same counts, of which nothing has been worked out yet."""
    return counts.take(np.arange(groups))


def all_amounts(counts: fk.GroupCounts) -> list[float]:
    """Disclosure of any value for each k, the largest first, which serves the others."""
    return [fk.Implications(k).disclosure(counts).probability for k in range(MOST, -1, -1)][::-1]


def counting_and_judging() -> None:
    heading(f"(f) disclosure for k = 0 to {MOST}: {ROWS:,} rows, {VALUES} values, groups of {SIZE}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.parquet"
        make(path)

        def group_by() -> object:
            relation = duckdb.connect().read_parquet(str(path))
            return relation.aggregate("gid, disease, count(*)").to_arrow_table()

        counts = fk.Release.from_groups(path, group="gid", sensitive="disease").counts
        group_by()
        fresh = iter([afresh(counts, counts.n_groups) for _ in range(7)])
        again = iter([afresh(counts, counts.n_groups) for _ in range(7)])
        found = medians(
            7,
            group_by=group_by,
            every=lambda: all_amounts(next(fresh)),
            by_value=lambda: fk.Implications(MOST).disclosures(next(again)),
        )
    base = found["group_by"]
    line("DuckDB GROUP BY, 2 threads", base)
    line(f"every k from 0 to {MOST}", found["every"], base, 3.0)
    line(f"every value at k = {MOST}", found["by_value"], base)
    against_the_program(counts)


def against_the_program(counts: fk.GroupCounts) -> None:
    heading(f"(g) the paper's dynamic program on {BUCKETS:,} of these groups, every k at once")
    held = [list(counts.bag(group).values()) for group in range(BUCKETS)]
    ours = [fk.Implications(k).disclosure(afresh(counts, BUCKETS)) for k in range(MOST + 1)]
    same(ours, minimize2(held, MOST))
    few = [fk.Implications(k).disclosure(afresh(counts, 50)) for k in range(MOST + 1)]
    if [found.exact for found in few] != minimize2(held[:50], MOST, Fraction(1)):
        raise SystemExit("the fractions differ")
    fresh = iter([afresh(counts, BUCKETS) for _ in range(5)])
    found = medians(5, program=lambda: minimize2(held, MOST), ours=lambda: all_amounts(next(fresh)))
    line("MINIMIZE1 and MINIMIZE2, plain Python", found["program"])
    line("foreknow, the same numbers", found["ours"], found["program"])
    print(f"    {found['program'] / found['ours']:.0f} times as fast")


def same(ours: Sequence[fk.Disclosure], theirs: Sequence[float]) -> None:
    """Stop where two ways to work it out differ."""
    for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if abs(one.probability - other) > 1e-12:
            raise SystemExit(f"k = {k}: {one.probability} is not {other}")


def searching() -> None:
    heading(f"(h) Mondrian, 5 quasi-identifiers, 50 values, {KNOWN} below 9/10")
    for rows in (45_222, 1_000_000):
        microdata = synthetic(rows)
        policies = {
            str(adversary): fk.Policy([fk.Requirement(adversary, below="9/10")])
            for adversary in (*FACTS, KNOWN)
        }
        groups = {
            name: int(fk.Mondrian().partition(microdata, policy).max()) + 1
            for name, policy in policies.items()
        }
        found = medians(
            5 if rows < 10**5 else 3,
            **{
                name: lambda p=policy, m=microdata: fk.Mondrian().partition(m, p)
                for name, policy in policies.items()
            },
        )
        base = found[str(FACTS[0])]
        for name, seconds in found.items():
            limit = 1.5 if name == str(KNOWN) else None
            line(f"{rows:,} rows, {name}: {groups[name]:,} groups", seconds, base, limit)


def synthetic(rows: int) -> fk.Microdata:
    """A table of five quasi-identifiers and a sensitive column of 50 values."""
    random = np.random.default_rng(1)
    columns = {
        f"q{i}": np.minimum(random.exponential(size / 3, rows), size - 1).astype(np.int8)
        for i, size in enumerate(CARDINALITIES)
    }
    weights = 1 / np.arange(4, 54)
    columns["disease"] = random.choice(50, rows, p=weights / weights.sum()).astype(np.int8)
    schema = fk.Schema(
        quasi_identifiers=[f"q{i}" for i in range(len(CARDINALITIES))], sensitive="disease"
    )
    return fk.Microdata(pa.table(columns), schema)


if __name__ == "__main__":
    counting_and_judging()
    searching()
