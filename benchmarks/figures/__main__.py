"""Measure what the figures show: CSV files, printed as Markdown.

``python -m benchmarks.figures`` takes some twenty minutes; ``--rows 6000 --to DIRECTORY`` tries
everything in seconds. Then ``python -m benchmarks.figures.drawing`` draws the pictures.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import discernibility, query_errors, results, times, worth
from benchmarks.figures.datasets import ADULT, adult, census_pair
from benchmarks.measure import heading

ROWS = 600_000
RESULTS = Path(__file__).parent / "results"
LEVELS = tuple(range(2, 11))
PARTS = ("times", "discernibility", "queries", "worth", "adult")


def main() -> None:
    logging.getLogger("foreknow").setLevel(logging.ERROR)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--to", type=Path, help="directory of the CSV files")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--selectivity", type=float, default=0.05)
    parser.add_argument("--l", type=int, nargs="+", default=LEVELS)
    parser.add_argument("--bucketized", action="store_true", help="ask all in this form")
    parser.add_argument("--adult", type=Path, default=ADULT)
    given = parser.parse_args()
    if given.to is None:
        asked = (given.rows, given.selectivity, given.bucketized, given.l)
        if asked != (ROWS, 0.05, False, LEVELS):
            parser.error("other settings than those of the documentation need --to DIRECTORY")
        given.to = RESULTS
    given.to.mkdir(parents=True, exist_ok=True)
    if "times" in given.only:
        heading(f"processor time, l = {times.L}; in brackets, times a permutation and a GROUP BY")
        _keep(times.measure(given.rows), given.to / "times.csv", times.table)
    if "discernibility" in given.only:
        heading("discernibility, times the optimum")
        found = discernibility.measure(census_pair(given.rows, given.l))
        _keep(found, given.to / "discernibility.csv", discernibility.table)
    if "queries" in given.only:
        heading("average relative error of 1,000 queries")
        asking = (given.selectivity, given.bucketized)
        found = query_errors.measure(census_pair(given.rows, given.l), 6, *asking)
        _keep(found, given.to / "queries.csv", query_errors.table)
    if "worth" in given.only:
        heading("NCP; in brackets, average error of queries about all, and the largest group")
        found = worth.measure(census_pair(given.rows, given.l))
        _keep(found, given.to / "worth.csv", worth.table)
    if "adult" in given.only:
        if given.adult.exists():
            _adult(given)
        else:
            print(f"\nAdult is skipped: there is no {given.adult}; give its path by --adult")


def _adult(given: argparse.Namespace) -> None:
    data = [adult(given.adult, given.l)]
    heading("Adult: discernibility, times the optimum")
    found = discernibility.measure(data)
    _keep(found, given.to / "adult-discernibility.csv", discernibility.table)
    heading("Adult: average relative error of 1,000 queries")
    found = query_errors.measure(data, 2, given.selectivity, given.bucketized)
    _keep(found, given.to / "adult-queries.csv", query_errors.table)
    heading("Adult: NCP; in brackets, average error of queries about all, and the largest group")
    _keep(worth.measure(data), given.to / "adult-worth.csv", worth.table)


def _keep(rows: list[results.Row], path: Path, shown: Callable[[list[results.Row]], str]) -> None:
    results.write(rows, path)
    print(f"\n{shown(rows)}\n\n{path}", flush=True)


if __name__ == "__main__":
    main()
