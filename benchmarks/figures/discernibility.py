"""Figure 2: discernibility against l, beside the lowest that any method could reach."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import foreknow as fk
from benchmarks.figures.datasets import Dataset
from benchmarks.figures.methods import grouped
from benchmarks.figures.results import Row, markdown


def measure(datasets: Iterable[Dataset]) -> list[Row]:
    """The sum of squared group sizes of each method for each l."""
    found: list[Row] = []
    for data in datasets:
        for l in data.levels:  # noqa: E741
            least = fk.optimal_discernibility(data.microdata.n_people, l)
            costs = {"optimum": least}
            for name, groups in grouped(data.microdata, l):
                sizes = np.bincount(groups).astype(np.int64)
                costs[name] = int((sizes**2).sum())
            found += [
                {
                    "table": data.name,
                    "l": l,
                    "method": name,
                    "discernibility": cost,
                    "ratio": round(cost / least, 5),
                }
                for name, cost in costs.items()
            ]
            print(f"  {data.name}, l = {l}", flush=True)
    return found


def table(rows: list[Row]) -> str:
    """How many times the optimum each method costs."""
    return markdown(
        (row for row in rows if row["method"] != "optimum"),
        ("table", "l"),
        "method",
        lambda row: f"{row['ratio']:,.3f}" if row["ratio"] < 10 else f"{row['ratio']:,.0f}",
    )
