"""The explorer on 5 M rows, from Parquet: opened once, then its dials are turned.

The alternative of a turn is the audit that says the same, with people over the limit; of opening,
the bare GROUP BY of the file in DuckDB.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter

import duckdb

import foreknow as fk
from benchmarks.audit_five_million import make
from benchmarks.measure import heading, line, medians
from foreknow.features.explore import release as view
from foreknow.features.explore.session import Looked, Session

POLICY = """
[schema]
group = "gid"
sensitive = "disease"
[[require]]
facts = { l = 1, k = 3, m = 1 }
below = 0.1
"""
TURNS = list(product((0, 1, 2, 4), (1, 3, 10), (0, 2)))


def main() -> None:
    heading("explorer: 5 M rows in 50,000 groups, from Parquet")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make(place / "t.parquet")
        (place / "p.toml").write_text(POLICY, encoding="utf-8")

        def group_by() -> object:
            relation = duckdb.connect().read_parquet(str(place / "t.parquet"))
            return relation.aggregate("gid, disease, count(*)").to_arrow_table()

        def opened() -> Looked:
            looked = Session(place, place / "t.parquet", place / "p.toml").looked(None)
            view.overview(looked)
            return looked

        found = medians(3, group_by=group_by, open=opened)
        line("DuckDB GROUP BY", found["group_by"])
        line("opened: counted, judged, people over the limit", found["open"], found["group_by"])
        looked = opened()
        counts = looked.release.counts

        def turn(amounts: tuple[int, ...]) -> object:
            return view.judged(looked, {**dict(zip("lkm", map(str, amounts), strict=True))})

        def audited(amounts: tuple[int, ...]) -> object:
            policy = fk.Policy([fk.Requirement(fk.Facts(*amounts), below="0.1")])
            return fk.audit(counts, policy, learned=False).exposed

        slowest = max(_seconds(partial(turn, amounts)) for amounts in TURNS)
        found = medians(
            3, audit=lambda: list(map(audited, TURNS)), turn=lambda: list(map(turn, TURNS))
        )
        each = len(TURNS)
        line("an audit at other amounts", found["audit"] / each)
        line("a turn of the dials", found["turn"] / each, found["audit"] / each)
        line("the slowest first turn", slowest, found["audit"] / each)
        print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:,} MB")


def _each(work: Callable[[tuple[int, ...]], object]) -> object:
    return [work(amounts) for amounts in TURNS]


def _seconds(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun


if __name__ == "__main__":
    main()
