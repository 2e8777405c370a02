"""What people keep if single cells are suppressed, and not whole rows: NCP, cells, and time.

Three tables: Adult (../shared/data/adult.csv, or a path), the sample, and a made-up register with
rare towns and jobs. Beside it stands what sdcMicro 5.8.1 suppressed of Adult at the same node, as
`localSuppression` with its defaults and k = 5 did (run once, R 4.2): it takes a missing cell for
every value, so its groups of equal rows may be small.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import foreknow as fk
from benchmarks.fulldomain import EIGHT, FOUR, hierarchies
from benchmarks.measure import heading
from foreknow import sample
from foreknow.data.utility import utility_of
from foreknow.methods.fulldomain.losses import Loss
from foreknow.methods.fulldomain.rollup import Rollup
from foreknow.methods.fulldomain.suppression import Judge
from foreknow.methods.protocol import as_written

SHARE = 0.05
# Of Adult at a node: cells and people of sdcMicro, and how many of its people are then in groups
# of equal rows that have fewer than 5.
SDCMICRO = {
    (1, 0, 0, 0): (490, 489, 81),
    (3, 0, 0, 0, 2, 1, 1, 0): (2105, 1927, 1007),
}


def adult(path: Path, names: tuple[str, ...]) -> tuple[fk.Microdata, fk.Policy]:
    """Adult, of which groups of five people are required."""
    rows = duckdb.connect().read_csv(str(path), header=True)
    schema = fk.Schema(
        quasi_identifiers=names, sensitive="occupation", hierarchies=hierarchies(rows, names, False)
    )
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(5))], schema)
    return fk.Microdata(rows.to_arrow_table(), schema), policy


def register() -> tuple[fk.Microdata, fk.Policy]:
    """A made-up register of 20,000 people, of whom some have a rare town, job or age."""
    random = np.random.default_rng(51)
    towns, jobs = np.arange(30), np.arange(24)
    often = {"town": 1 / (1 + towns) ** 1.5, "job": 1 / (1 + jobs) ** 1.5}
    columns = {
        "age": np.clip(random.normal(45, 18, 20_000), 0, 104).astype(int),
        "town": random.choice(towns, 20_000, p=often["town"] / often["town"].sum()),
        "job": random.choice(jobs, 20_000, p=often["job"] / often["job"].sum()),
        "sex": random.choice(["f", "m", "x"], 20_000, p=[0.5, 0.49, 0.01]),
        "illness": random.choice(list("abcdefgh"), 20_000),
    }
    texts = {name: [f"{name} {x}" for x in columns[name].tolist()] for name in ("town", "job")}
    tree = {
        name: fk.Tree([[x, f"{name}s {int(x.split()[1]) // 6}", "*"] for x in sorted({*values})])
        for name, values in texts.items()
    }
    schema = fk.Schema(
        quasi_identifiers=["age", "town", "job", "sex"],
        sensitive="illness",
        hierarchies={"age": fk.Intervals([5, 10, 20]), **tree},
    )
    policy = fk.Policy(
        [fk.Requirement(fk.KAnonymity(5)), fk.Requirement(fk.Facts(l=2), below="3/4")], schema
    )
    return fk.Microdata(pa.table({**columns, **texts}), schema), policy


def compare(name: str, microdata: fk.Microdata, policy: fk.Policy) -> None:
    """Print what both methods make without suppression, with rows, and with cells suppressed."""
    for method in (fk.FullDomain, fk.Mondrian):
        line = []
        for settings in (
            {},
            {"suppression": SHARE},
            {"suppression": SHARE, "local_suppression": True},
        ):
            chosen = method(**settings)
            table = as_written(chosen, microdata, policy)
            begin = time.perf_counter()
            made = chosen.grouping(table, policy)
            seconds = time.perf_counter() - begin
            groups = made.of_row[table.kept]
            worth = utility_of(table.counts(groups), table, groups, floors=made.floors)
            line.append(f"{worth.average_ncp:7.2%} ({worth.groups:,} groups, {seconds:.1f} s)")
        print(f"  {name:22} {method.__name__:10}", " | ".join(line))


def at_one_node(microdata: fk.Microdata, policy: fk.Policy, node: tuple[int, ...]) -> None:
    """Print which cells are suppressed of Adult at a node, beside sdcMicro."""
    rollup = Rollup(microdata)
    loss = Loss(rollup, None, "ncp", by_cell=True)
    view = rollup.view(node)
    verdict = Judge(policy, microdata.everyone(), microdata.n_people // 10, loss).judge(view)
    assert verdict.cells is not None
    cells = int((verdict.cells * view.people[:, None]).sum())
    theirs, people, small = SDCMICRO[node]
    print(
        f"  {verdict.n_suppressed(view):,} people, {cells:,} cells ({cells / len(node):,.0f} rows' "
        f"worth); sdcMicro: {people:,} people, {theirs:,} cells, and {small:,} people are in "
        "groups of equal rows below 5"
    )


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/adult.csv")
    heading(f"NCP without suppression | up to {SHARE:.0%} of the rows | cells of these")
    of_sample = fk.Policy.load(sample.policy_path())
    compare("the sample", fk.Microdata(sample.table_path(), of_sample.schema), of_sample)
    compare("register", *register())
    if not path.exists():
        print(f"  skipped: there is no {path}; give the path of adult.csv")
        return
    four, eight = adult(path, FOUR), adult(path, EIGHT)
    compare("Adult, 4 columns", *four)
    compare("Adult, 8 columns", *eight)
    heading("Adult at one node, groups of five, beside sdcMicro's local suppression")
    at_one_node(*four, (1, 0, 0, 0))
    at_one_node(*eight, (3, 0, 0, 0, 2, 1, 1, 0))


if __name__ == "__main__":
    main()
