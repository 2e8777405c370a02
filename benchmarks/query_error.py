"""Query error of Mondrian and Anatomy at l = 2..6 on Adult, and the time that 1,000 queries take.

Mondrian keeps every occupation below a share of 1/l + 1/1000 of its group, so that both protect
alike. Needs ../shared/data/adult.csv, or a path. And the time on 600,000 synthetic rows.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import foreknow as fk
from benchmarks.measure import heading, line, medians

QUASI_IDENTIFIERS = ("age", "workclass", "education", "marital-status", "race", "sex")
ASKED = (("age",), ("age", "sex"), ("age", "education", "marital-status"), QUASI_IDENTIFIERS)
CENSUS = {"age": 79, "gender": 2, "education": 17, "birthplace": 57}
ROWS, INCOMES = 600_000, 50


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/adult.csv")
    if path.exists():
        adult(path)
    else:
        print(f"  skipped: there is no {path}; give the path of adult.csv")
    census()


def adult(path: Path) -> None:
    heading("Adult, 6 quasi-identifiers, occupation; average relative error of 1,000 queries")
    schema = fk.Schema(quasi_identifiers=QUASI_IDENTIFIERS, sensitive="occupation")
    microdata = fk.Microdata(path, schema)
    shown = "".join(f"{f'{len(names)} asked':>10}" for names in ASKED)
    print(f"  {'':<34}{shown}{'groups':>10}")
    for l in range(2, 7):  # noqa: E741
        below = Fraction(1, l) + Fraction(1, 1000)
        policy = fk.Policy([fk.Requirement(fk.Facts(), below=below)])
        ways: list[tuple[str, Any, Any]] = [
            ("Mondrian", fk.Mondrian(), "generalized"),
            ("Mondrian", fk.Mondrian(), "bucketized"),
            ("Anatomy", fk.Anatomy(l), "bucketized"),
        ]
        for name, method, form in ways:
            try:
                groups = method.partition(microdata, policy, seed=l)
            except fk.NoSafeRelease as why:
                print(f"  l = {l}, {name}: {why}")
                continue
            found = [
                fk.query_error_of_groups(microdata, groups, form, attributes=names).average
                for names in ASKED
            ]
            errors = "".join(f"{error:>10.2%}" for error in found)
            print(f"  l = {l}, {name + ', ' + form:<27}{errors}{groups.max() + 1:>10,}")
    groups = {
        "generalized": fk.Mondrian().partition(
            microdata, fk.Policy([fk.Requirement(fk.Facts(), below=Fraction(251, 1000))])
        ),
        "bucketized": fk.Anatomy(4).partition(microdata, seed=1),
    }
    for form, given in groups.items():
        taken = medians(3, ask=lambda f=form, g=given: _ask(microdata, g, f))["ask"]
        line(f"{microdata.n_people:,} rows, {form}, 6 asked", taken)


def census() -> None:
    heading("600,000 rows, domains 79, 2, 17, 57 and 50, groups of 8; 1,000 queries")
    random = np.random.default_rng(1)
    columns = {
        name: np.minimum(random.exponential(size / 3, ROWS), size - 1).astype(np.int8)
        for name, size in CENSUS.items()
    }
    weights = 1 / np.arange(8, INCOMES + 8)
    incomes = random.choice(INCOMES, ROWS, p=weights / weights.sum()).astype(np.int8)
    schema = fk.Schema(quasi_identifiers=list(CENSUS), sensitive="income")
    microdata = fk.Microdata(pa.table({**columns, "income": incomes}), schema)
    groups = fk.Anatomy(8).partition(microdata, seed=1)
    for form in ("generalized", "bucketized"):
        start = time.perf_counter()
        found = _ask(microdata, groups, form)
        line(f"{form}, average error {found.average:.2%}", time.perf_counter() - start)


def _ask(microdata: fk.Microdata, groups: Any, form: Any) -> fk.QueryError:
    return fk.query_error_of_groups(microdata, groups, form)


if __name__ == "__main__":
    main()
