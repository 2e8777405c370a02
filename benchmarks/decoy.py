"""Decoy beside Mondrian and GSA: groups, NCP, errors of count queries, and seconds.

On Adult with 4 and 8 quasi-identifiers, on the sample, and on a made-up census of 1 M rows. Needs
../shared/data/adult.csv, or a path. Processor time, since the machine may be busy.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import foreknow as fk
from benchmarks.measure import heading
from benchmarks.register import policy_of_diagnoses
from foreknow import sample
from foreknow.data.utility import utility_of

FOUR = ("age", "marital-status", "race", "sex")
EIGHT = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "race",
    "sex",
    "native-country",
    "income",
)
ROWS, CARDINALITIES, VALUES = 1_000_000, (79, 2, 17, 57, 7), 50


def compare(name: str, microdata: Any, policy: Any, methods: Sequence[Any]) -> None:
    """Print a line for each method."""
    for method in methods:
        start = time.process_time()
        try:
            groups = method.partition(microdata, policy)
        except fk.NoSafeRelease as error:
            print(f"  {name} | {method!r} | nothing: {str(error)[:60]}")
            continue
        seconds = time.process_time() - start
        own = groups[microdata.kept]
        worth = utility_of(microdata.counts(own), microdata, own)
        two, all_ = (
            fk.query_error_of_groups(microdata, groups, "generalized", predicates=n, seed=1).median
            for n in (2, None)
        )
        print(
            f"  {name} | {method!r} | {worth.groups:,} groups | NCP {worth.average_ncp:.4f} | "
            f"queries {two:.1%} by two columns, {all_:.1%} by all | {seconds:.2f} s",
            flush=True,
        )


def census(rows: int) -> Any:
    """The table of benchmarks.mondrian_scale."""
    import pyarrow as pa

    random = np.random.default_rng(1)
    columns = {}
    for i, size in enumerate(CARDINALITIES):
        codes = np.minimum(random.exponential(size / 3, rows), size - 1).astype(np.int8)
        columns[f"q{i}"] = pa.array(codes)
    weights = 1 / np.arange(4, VALUES + 4)
    drawn = random.choice(VALUES, rows, p=weights / weights.sum()).astype(np.int8)
    columns["disease"] = pa.array(drawn)
    schema = fk.Schema(quasi_identifiers=[f"q{i}" for i in range(5)], sensitive="disease")
    return fk.Microdata(pa.table(columns), schema)


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/adult.csv")
    plain = fk.Mondrian(), fk.Decoy()
    heading("Decoy beside Mondrian and GSA")
    if path.exists():
        four, eight = (
            fk.Microdata(path, fk.Schema(quasi_identifiers=own, sensitive="occupation"))
            for own in (FOUR, EIGHT)
        )
        for columns, table in (("4 columns", four), ("8 columns", eight)):
            for facts, limit in (((1, 3, 1), "1/2"), ((1, 3, 1), "3/4")):
                policy = fk.Policy([fk.Requirement(fk.Facts(*facts), below=limit)])
                compare(f"{columns}, {facts} below {limit}", table, policy, plain)
            for l in range(2, 8):  # noqa: E741
                policy = fk.Policy([fk.Requirement(fk.Facts(l), below="3/4")])
                compare(f"{columns}, Facts({l}) below 3/4", table, policy, plain)
            for l in range(2, 8):  # noqa: E741
                limit = fk.Requirement(fk.Facts(), below=f"{1_000_001}/{l}000000")
                gsa = fk.Streamliner(l, "gsa")
                compare(f"{columns}, 1/{l}", table, fk.Policy([limit]), (*plain, gsa))
    policy = fk.Policy.from_dict(policy_of_diagnoses())
    compare("sample", fk.Microdata(sample.table_path(), policy.schema), policy, plain)
    table = census(ROWS)
    for facts, limit in (((3, 0, 0), "1/2"), ((1, 3, 1), "1/2")):
        policy = fk.Policy([fk.Requirement(fk.Facts(*facts), below=limit)])
        compare(f"census of {ROWS:,}, {facts} below {limit}", table, policy, plain)


if __name__ == "__main__":
    main()
