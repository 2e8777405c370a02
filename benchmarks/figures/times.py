"""Figure 1: time against the number of rows."""

from __future__ import annotations

from functools import partial

import duckdb
import numpy as np
import pyarrow as pa

import foreknow as fk
from benchmarks.census import encoded_census
from benchmarks.figures.methods import groups_of
from benchmarks.figures.results import Row, markdown
from benchmarks.measure import processor_medians

COPIES = (1, 2, 4, 6, 8, 10)
METHODS = ("RDA", "GDA", "Anatomy")
# GSA takes much longer: fewer sizes, and where the table was copied only one run.
COPIES_GSA = (1, 4, 10)
L = 8
_REPEATS = 5


def measure(rows: int) -> list[Row]:
    """Seconds of each method on copies of each table, beside a permutation and a GROUP BY.

    The methods take turns with the permutation and the GROUP BY, whose sum is the yardstick. It is
    processor time, of all threads: what else a machine does matters less to it.
    """
    found: list[Row] = []
    for sensitive in ("occupation", "income"):
        for copies in COPIES:
            microdata = encoded_census(rows, sensitive, copies)
            seconds = _seconds(microdata, METHODS, _REPEATS)
            repeats = dict.fromkeys(METHODS, _REPEATS)
            if copies in COPIES_GSA:
                repeats["GSA"] = _REPEATS if copies == 1 else 1
                slow = processor_medians(
                    repeats["GSA"], GSA=partial(groups_of, "GSA", microdata, L)
                )
                seconds |= slow
            yardstick = seconds["permutation"] + seconds["group by"]
            found += [
                {
                    "table": sensitive,
                    "rows": microdata.n_people,
                    "method": name,
                    "repeats": repeats[name],
                    "seconds": round(seconds[name], 4),
                    "yardstick": round(yardstick, 4),
                    "ratio": round(seconds[name] / yardstick, 2),
                }
                for name in repeats
            ]
            print(f"  {sensitive}, {microdata.n_people:,} rows", flush=True)
    return found


def table(rows: list[Row]) -> str:
    """Seconds, and in brackets how often the yardstick that is."""

    def show(row: Row) -> str:
        return f"{row['seconds']:.2f} s ({row['ratio']:.1f})"

    return markdown(rows, ("table", "rows"), "method", show)


def _seconds(microdata: fk.Microdata, methods: tuple[str, ...], repeats: int) -> dict[str, float]:
    random = np.random.default_rng(1)
    numbers = random.integers(0, 2**62, microdata.n_people)
    engine = duckdb.connect()
    engine.register("people", pa.table({"s": microdata.sensitive_codes}))
    counting = "select s, count(*) from people group by s"
    return processor_medians(
        repeats,
        **{
            "permutation": lambda: random.permutation(numbers),
            "group by": lambda: engine.sql(counting).fetchall(),
        },
        **{name: partial(groups_of, name, microdata, L) for name in methods},
    )
