"""The whole command `publish`, Parquet to Parquet, beside DuckDB's bare GROUP BY and the search.

    python -m benchmarks.publish_scale [--rows 10000000] [--memory 2GB] [--runs 3] [--folder DIR]

Five quasi-identifiers of 79, 2, 17, 57 and 7 values and 50 sensitive values; Facts(3, 100, 10)
below 1/2 by Mondrian, with certificate, report, the owner's files and the verifier's reading.
Each run is a process of its own, in turns; `--engines` says which ways, and `--audit` takes an
audit of a release of 50,000 groups instead. `--engines duckdb spark_group_by spark` is with Spark,
`local[2]` with 4 GB and its own settings otherwise, in the environment of `make services`
(PYSPARK_PYTHON names its Python). Seconds of cores are those of Spark's processes, too.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.growth import CARDINALITIES, VALUES
from benchmarks.measure import heading

POLICY = {
    "schema": {"quasi_identifiers": [f"q{i}" for i in range(5)], "sensitive": "disease"},
    "require": [{"facts": {"l": 3, "k": 100, "m": 10}, "below": 0.5}],
    "publish": {"format": "parquet"},
}
AUDIT = {
    "schema": {"group": "gid", "sensitive": "disease"},
    "require": [{"facts": {"l": 3, "k": 2, "m": 1}, "below": 0.5}],
}
GROUPS, _PART = 50_000, 5_000_000


def made(folder: Path, rows: int, *, groups: bool) -> Path:
    """Write a table of people, or a release of groups, some million rows at a time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{'release' if groups else 'people'}-{rows}.parquet"
    if path.exists():
        return path
    random, writer = np.random.default_rng(1), None
    weights = 1 / np.arange(4, VALUES + 4)
    names = pa.array([f"disease {i}" for i in range(VALUES)])
    for start in range(0, rows, _PART):
        n = min(_PART, rows - start)
        columns: dict[str, Any] = {}
        if groups:
            columns["gid"] = random.integers(0, GROUPS, n).astype(np.int32)
        else:
            for i, size in enumerate(CARDINALITIES):
                drawn = np.minimum(random.exponential(size / 3, n), size - 1)
                columns[f"q{i}"] = drawn.astype(np.int8)
        drawn = random.choice(VALUES, n, p=weights / weights.sum()).astype(np.int8)
        texts = pa.DictionaryArray.from_arrays(pa.array(drawn), names).cast(pa.string())
        part = pa.table({**columns, "disease": texts})
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()
    return path


class _Steps(logging.Handler):
    """When each step began, and what cores had done by then."""

    def __init__(self) -> None:
        super().__init__()
        self.began: list[tuple[str, float, float]] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.getMessage().startswith("level done"):
            self.began.append((record.getMessage(), time.perf_counter(), _busy()))


def one(what: str, path: Path, memory: str | None) -> dict[str, Any]:
    """Run one alternative here; seconds, and memory beyond what the libraries take."""
    import duckdb
    import numpy as np

    import foreknow as fk
    import foreknow.publishing.publish  # loaded before the clock starts

    steps = _Steps()
    logging.getLogger("foreknow").addHandler(steps)
    logging.getLogger("foreknow").setLevel(logging.INFO)
    fk.limit_memory(memory)
    np.zeros(1)
    frame = _frame(path) if what.startswith("spark") else None
    before = _peak()
    start, busy = time.perf_counter(), _busy()
    if what in ("group_by", "group_by_release"):
        keys = "gid, disease" if what == "group_by_release" else "q0, q1, q2, q3, q4, disease"
        config = {"memory_limit": memory} if memory else {}
        connection = duckdb.connect(config=config)
        found = connection.sql(f"SELECT {keys}, count(*) FROM '{path}' GROUP BY {keys}")
        many = sum(map(len, found.to_arrow_reader()))
    elif what == "spark_group_by":
        keys = [*POLICY["schema"]["quasi_identifiers"], "disease"]
        many = len(frame.groupBy(*keys).count().toArrow())
    elif what == "audit":
        many = fk.audit(path, fk.Policy.of(AUDIT)).counts.n_groups
    elif what == "search":
        policy = fk.Policy.of(POLICY)
        microdata = fk.Microdata(path, policy.schema)
        many = int(fk.Mondrian().partition(microdata, policy).max()) + 1
    else:
        out = path.with_suffix(f".{what}")
        here = frame is None
        publication = fk.publish(path if here else frame, POLICY, engine=what if here else "auto")
        publication.write(out)
        many = publication.counts.n_groups
        shutil.rmtree(out)
        shutil.rmtree(f"{out}.owner")
    steps.began.append(("", time.perf_counter(), _busy()))
    return {
        "seconds": steps.began[-1][1] - start,
        "busy": steps.began[-1][2] - busy,
        "many": many,
        "peak": (_peak() - before) / 1024,
        "before": before / 1024,
        "steps": [
            (said, to - at, by - own) for (said, at, own), (_, to, by) in pairwise(steps.began)
        ],
    }


def _frame(path: Path) -> Any:
    """The table in Spark, with two workers; its process is another one, so not in the memory."""
    from pyspark.sql import SparkSession

    own = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = own.config("spark.driver.memory", "4g").getOrCreate()
    session.range(2).mapInArrow(lambda batches: batches, "id long").collect()
    return session.read.parquet(str(path))


def _peak() -> int:
    """Most memory of this process so far, in KiB; what getrusage says is that of its parent too."""
    with open("/proc/self/status") as file:
        return next(int(row.split()[1]) for row in file if row.startswith("VmHWM"))


def _busy() -> float:
    """Seconds of cores that this process took, and those that it started."""
    found, children = {}, defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            numbers = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        found[path.parent.name] = sum(map(int, numbers[11:15]))
        children[numbers[1]].append(path.parent.name)
    ticks, left = 0, [str(os.getpid())]
    while left:
        own = left.pop()
        ticks += found[own]
        left += children[own]
    return ticks / os.sysconf("SC_CLK_TCK")


def main(asked: argparse.Namespace) -> None:
    folder = Path(asked.folder or tempfile.mkdtemp())
    try:
        path = made(folder, asked.rows, groups=asked.audit)
        ways = ["group_by_release", "audit"] if asked.audit else ["group_by", *asked.engines]
        heading(f"{path.name}: {path.stat().st_size / 1e6:.0f} MB, memory {asked.memory or 'free'}")
        runs: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
        for _ in range(asked.runs):
            for way in ways:
                command = [sys.executable, "-m", "benchmarks.publish_scale", "--one", way]
                command += ["--path", str(path)] + (["--memory", asked.memory] * bool(asked.memory))
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                runs[way].append(json.loads(done.stdout.splitlines()[-1]))
        base = statistics.median(run["seconds"] for run in runs[ways[0]])
        encoded = asked.rows * (5 if asked.audit else 6) / 1e6
        for way in ways:
            seconds = statistics.median(run["seconds"] for run in runs[way])
            busy = min(run["busy"] for run in runs[way])
            peak = statistics.median(run["peak"] for run in runs[way])
            print(
                f"  {way:<18} {seconds:8.2f} s, {busy:6.2f} of cores   "
                f"ratio {seconds / base:5.2f}   "
                f"{peak:6.0f} MB beyond the idle process ({runs[way][0]['before']:.0f} MB), "
                f"{peak / encoded:4.1f} times the encoded columns; {runs[way][0]['many']:,} "
                f"{'rows' if way.startswith('group') else 'groups'}"
            )
            for said, taken, own in runs[way][-1]["steps"]:
                if taken >= seconds / 50:
                    print(f"      {taken:7.2f} s, {own:6.2f} of cores  {said}")
    finally:
        if not asked.folder:
            shutil.rmtree(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--memory")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--engines", nargs="*", default=["search", "memory", "duckdb"])
    parser.add_argument("--one")
    parser.add_argument("--path", type=Path)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.path, given.memory)))
    else:
        main(given)
