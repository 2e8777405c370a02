"""Figures 3 to 7: average relative error of count queries against what they ask about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import foreknow as fk
from benchmarks.figures.datasets import Dataset
from benchmarks.figures.methods import FORMS, grouped
from benchmarks.figures.results import Row, markdown


def measure(
    datasets: Iterable[Dataset], least: int, selectivity: float = 0.05, bucketized: bool = False
) -> list[Row]:
    """The error of each method for each l from `least` and each kind of query.

    Each is published in its own form, or all are bucketized.
    """
    found: list[Row] = []
    for data in datasets:
        for l in data.levels:  # noqa: E741
            if l < least:
                continue
            for name, groups in grouped(data.microdata, l):
                for asked in data.asked:
                    errors = fk.query_error_of_groups(
                        data.microdata,
                        groups,
                        "bucketized" if bucketized else FORMS[name],  # type: ignore[arg-type]
                        attributes=asked,
                        selectivity=selectivity,
                    )
                    found.append(_row(data, l, name, asked, errors))
            print(f"  {data.name}, l = {l}", flush=True)
    return found


def table(rows: list[Row]) -> str:
    """Average errors in per cent."""
    return markdown(
        rows, ("table", "l", "asked"), "method", lambda row: f"{100 * row['average']:.2f}%"
    )


def _row(data: Dataset, l: int, name: str, asked: tuple[str, ...], errors: Any) -> Row:  # noqa: E741
    whole = len(data.microdata.schema.quasi_identifiers)
    return {
        "table": data.name,
        "l": l,
        "method": name,
        "asked": f"all {whole}" if len(asked) == whole else " and ".join(asked),
        "average": round(errors.average, 6),
        "median": round(float(np.median(errors.relative)), 6),
    }
