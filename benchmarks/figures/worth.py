"""What the groups of RDA, GDA and GSA are worth, generalized: widths of boxes, query errors."""

from __future__ import annotations

from collections.abc import Iterable

import foreknow as fk
from benchmarks.figures.datasets import Dataset
from benchmarks.figures.methods import groups_of
from benchmarks.figures.results import Row, markdown

METHODS = ("RDA", "GDA", "GSA")
# GSA that does not divide along the quasi-identifier of two values.
UNDIVIDED = "GSA*"


def measure(datasets: Iterable[Dataset]) -> list[Row]:
    """The NCP, and the average error of queries about all quasi-identifiers, for each l."""
    found: list[Row] = []
    for data in datasets:
        people = data.microdata
        for l in data.levels:  # noqa: E741
            for name in (*METHODS, UNDIVIDED):
                try:
                    if name == UNDIVIDED:
                        method = fk.Streamliner(l, "gsa", {data.binary: 0})
                        groups = method.partition(people, seed=l)
                    else:
                        groups = groups_of(name, people, l)
                except fk.NoSafeRelease as why:
                    print(f"  l = {l}, {name}: {why}")
                    continue
                worth = fk.utility_of(people.counts(groups), people, groups)
                errors = fk.query_error_of_groups(
                    people, groups, "generalized", attributes=data.asked[-1]
                )
                found.append(
                    {
                        "table": data.name,
                        "l": l,
                        "method": name,
                        "largest": worth.largest_group,
                        "ncp": round(worth.average_ncp or 0.0, 5),
                        "average": round(errors.average, 6),
                    }
                )
            print(f"  {data.name}, l = {l}", flush=True)
    return found


def table(rows: list[Row]) -> str:
    """NCP; in brackets the average error, and how large the largest group is."""
    return markdown(
        rows,
        ("table", "l"),
        "method",
        lambda row: f"{row['ncp']:.3f} ({_percent(row['average'])}; {row['largest']:,})",
    )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.9995 else f"{100 * share:.1f}%"
