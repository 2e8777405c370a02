"""Five years of a statistician: made-up yearly tables, of a hospital and of a survey, by commands.

    python -m benchmarks.five_years [--patients 6700]

The policies are those that `init` writes, with one edit: a code list from year 4 on for patients,
and for the survey the column of weights, which releases show for each group. Both are stricter in
year 5. Some patients return, and a quarter of the respondents are asked again. Each command's
seconds, those of the processor, and its exit code are printed, then a table of the processor's
seconds, and what cohorts are good for: a coefficient from the union of all cohorts, and counts of a
year.

Seconds of the processor in December 2026 (10,000 patients or respondents a year, years 1 to 5; two
cores at a load of 3 to 5; 57 commands, none failed, none took 10 seconds):

    patients                                respondents
    init       1.1                          1.7
    publish    1.1  1.5  1.6  1.7  2.8      2.3  3.7  4.7  5.5  6.2
    verify     0.7  0.7  0.8  0.9  1.0      1.2  1.5  2.0  2.3  3.1
    utility    0.9  0.9  0.9  1.1  1.0      2.4  2.0  2.0  2.1  3.0
    evidence   1.1  1.2  1.1  1.3  1.8      4.3  2.9  3.3  3.0  4.3
    learned    1.4  1.2  1.2  1.4  1.5
    ask        0.7  0.7  0.7  0.7  1.0
    risk                                    0.8  0.7  1.0  1.0  0.8

A coefficient 0.310, 0.264 from middles, 0.235 drawn; counts of year 5 off by 33.1% in the middle by
its cohort, 4.0% by the shares of all, 0.1% with noise.
"""

from __future__ import annotations

import argparse
import csv
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import foreknow as fk
from benchmarks.measure import heading
from foreknow.data.arrays import FloatArray

PATIENTS, YEARS, RETURN, SEED = 6_700, 5, 0.35, 51
CODES = ["A09", "B20", "C50", "E11", "F32.1", "I10", "I21", "J18", "J45", "K35", "M54", "S72"]
REVISED = {"F32.1": ["F32.10", "F32.11"]}  # from year 4 on
FIRST_REVISED, FIRST_STRICT = 4, 5
COLUMNS = ["patient_id", "age", "sex", "zip", "diagnosis"]
REVISION = """
[schema.codes]
map = "old_to_new.csv"
"""
STRICTER = """
[[require]]
l_diversity = { l = 3, kind = "distinct" }
"""


def patients(n_people: int, random: np.random.Generator) -> list[dict[str, Any]]:
    """People with what they have at their first visit; circulatory illness rises with age."""
    rows = []
    for number in range(n_people):
        age = int(np.clip(random.normal(52, 19), 18, 99))
        weights = np.ones(len(CODES))
        weights[CODES.index("B20")] = 0.3
        weights[[CODES.index("I10"), CODES.index("I21")]] = np.exp(0.03 * (age - 52))
        code = CODES[random.choice(len(CODES), p=weights / weights.sum())]
        zip_code = f"{random.integers(100, 130)}"
        person = f"P{number:06d}", age, "fm"[random.integers(2)], zip_code, code
        rows.append(dict(zip(COLUMNS, person, strict=True)))
    return rows


def yearly(n_patients: int, random: np.random.Generator) -> list[list[dict[str, Any]]]:
    """The table of each year: some who return with another illness, and new patients."""
    everybody = patients(round(n_patients * (1 + (YEARS - 1) * (1 - RETURN))) + YEARS, random)
    tables: list[list[dict[str, Any]]] = []
    known = 0
    for year in range(1, YEARS + 1):
        n_return = round(n_patients * RETURN) if known else 0
        again = random.choice(known, n_return, replace=False) if known else np.arange(0)
        new = np.arange(known, known + n_patients - n_return)
        known += len(new)
        rows = []
        for number in (*again.tolist(), *new.tolist()):
            row = dict(everybody[number])
            if number in again:
                row["diagnosis"] = str(random.choice(CODES))
            if year >= FIRST_REVISED and row["diagnosis"] in REVISED:
                row["diagnosis"] = str(random.choice(REVISED[row["diagnosis"]]))
            rows.append(row)
        tables.append(rows)
    return tables


def run(folder: Path, *arguments: str) -> tuple[int, float]:
    """The exit code of a command and the processor's seconds; they and errors are printed."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "foreknow", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"  {seconds:>6.1f} s {busy:>6.1f} s  exit {done.returncode}", end="  ")
    print("foreknow", *arguments, flush=True)
    if done.returncode:
        print("".join(f"      {line}\n" for line in (done.stdout + done.stderr).splitlines()[-6:]))
    return done.returncode, busy


def policy_of(year: int, first: str) -> str:
    """The policy of a year: the one that init wrote, and from some years on one table more."""
    codes = REVISION if year >= FIRST_REVISED else ""
    return first + codes + (STRICTER if year >= FIRST_STRICT else "")


class Commands:
    """Commands that ran in a folder: their seconds of the processor, and which failed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failed: list[str] = []
        self.seconds: dict[str, list[float]] = {}

    def call(self, *arguments: str) -> None:
        """Run a command."""
        code, busy = run(self.folder, *arguments)
        self.seconds.setdefault(arguments[0], []).append(busy)
        if code:
            self.failed.append(" ".join(arguments))

    def print(self) -> None:
        """Print the seconds."""
        heading("Seconds of the processor by command and year")
        for command, of_years in self.seconds.items():
            print(f"  {command:<10}", *(f"{busy:>5.1f}" for busy in of_years))


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)


def years_by_command(folder: Path, tables: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """All commands of five years; the commands that failed."""
    commands = Commands(folder)
    call = commands.call
    pairs = [("old", "new"), *((old, new) for old, codes in REVISED.items() for new in codes)]
    text = "".join(f"{old},{new}\n" for old, new in pairs)
    (folder / "old_to_new.csv").write_text(text, "utf-8")
    for year, rows in enumerate(tables, 1):
        write_csv(folder / f"table{year}.csv", rows)
    call("init", "table1.csv", "--out", "first.toml")
    first = (folder / "first.toml").read_text("utf-8")
    for year in range(1, YEARS + 1):
        (folder / f"policy{year}.toml").write_text(policy_of(year, first), "utf-8")
    for year in range(1, YEARS + 1):
        table, out = f"table{year}.csv", f"year{year}"
        rules = ["--policy", f"policy{year}.toml"]
        after = [part for n in range(1, year) for part in ("--after", f"year{n}")]
        call("publish", table, *rules, "--out", out, *after, "--seed", str(year))
        call("verify", out, *after)
        call("utility", out, table, *rules)
        call("learned", out, table, *rules, "--by", "age")
        new = tables[year - 1][-1]["patient_id"]
        call("ask", out, "--about", str(new), "--value", "I10")
        call("evidence", out, table, *rules)
    commands.print()
    return commands.failed


# What a statistician writes into the policy that init wrote, below the head of its first table.
WEIGHTS = '[schema]\nweights = "w"\nother = ["w"]\n'  # one weight for each group is published
FEWER = "suppression = 0.02\n"  # from the year of stricter policies on


def surveys(n_people: int, random: np.random.Generator) -> list[list[dict[str, Any]]]:
    """Respondents of each year with their weights; a quarter are asked again the year after."""
    tables: list[list[dict[str, Any]]] = []
    numbers = iter(range(10**6))
    for _ in range(YEARS):
        again = random.choice(n_people, n_people // 4, replace=False) if tables else np.arange(0)
        rows = [dict(tables[-1][place]) for place in again.tolist()]
        for _ in range(n_people - len(rows)):
            age, school = int(np.clip(random.normal(48, 18), 16, 95)), int(random.integers(5))
            income = round(float(np.exp(random.normal(7.4 + school / 5, 0.5))), 2)
            row = {"respondent": f"R{next(numbers):06d}", "age": age, "sex": "fm"[age % 2]}
            row |= {"region": f"region {random.integers(16)}", "education": f"level {school}"}
            rows.append({**row, "income": income, "w": round(float(random.uniform(20, 400)), 1)})
        tables.append(rows)
    return tables


def surveys_by_command(folder: Path, tables: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """All commands of five years of a survey; those that failed."""
    commands = Commands(folder)
    for year, rows in enumerate(tables, 1):
        write_csv(folder / f"survey{year}.csv", rows)
    commands.call("init", "survey1.csv", "--out", "first.toml")
    first = (folder / "first.toml").read_text("utf-8").replace("[schema]\n", WEIGHTS, 1)
    for year in range(1, YEARS + 1):
        text = first + (FEWER if year >= FIRST_STRICT else "")
        (folder / f"survey{year}.toml").write_text(text, "utf-8")
    for year in range(1, YEARS + 1):
        table, out, rules = f"survey{year}.csv", f"out{year}", ["--policy", f"survey{year}.toml"]
        after = [part for n in range(1, year) for part in ("--after", f"out{n}")]
        commands.call("risk", table, *rules)
        commands.call("publish", table, *rules, "--out", out, *after, "--seed", str(year))
        commands.call("verify", out, *after)
        commands.call("utility", out, table, *rules)
        commands.call("evidence", out, table, *rules)
    commands.print()
    return commands.failed


def slope(ages: FloatArray, is_ill: FloatArray) -> float:
    """By how many the log odds rise in ten years of age: a logistic model by Newton's steps."""
    x = np.stack([np.ones(len(ages)), (ages - 50) / 10], axis=1)
    beta = np.zeros(2)
    for _ in range(25):
        p = 1 / (1 + np.exp(-x @ beta))
        beta += np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (is_ill - p))
    return float(beta[1])


def ill(codes: Sequence[str]) -> FloatArray:
    return np.array([code.startswith("I") for code in codes], dtype=np.float64)


def figures(folder: Path, tables: Sequence[Sequence[dict[str, Any]]]) -> None:
    """What the union of all cohorts says, beside the raw tables and counts with noise."""
    first: dict[str, dict[str, Any]] = {}
    for rows in tables:
        for row in rows:
            first.setdefault(row["patient_id"], row)
    raw = slope(
        np.array([row["age"] for row in first.values()], dtype=np.float64),
        ill([row["diagnosis"] for row in first.values()]),
    )
    folders = [str(folder / f"year{year}") for year in range(1, YEARS + 1)]
    read = [fk.read_release(path) for path in folders]
    drawn = [fk.draw(path, seed=SEED) for path in folders]
    middles = np.concatenate([np.asarray(part["age_middle"], dtype=np.float64) for part in read])
    codes = [str(code) for part in read for code in part["diagnosis"]]
    ages = np.concatenate([np.asarray(part["age"], dtype=np.float64) for part in drawn])
    drawn_codes = [str(code) for part in drawn for code in part["diagnosis"]]
    heading("The rise of the log odds of a circulatory illness in ten years of age")
    print(f"  raw {raw:.3f}   middles {slope(middles, ill(codes)):.3f}", end="   ")
    print(f"drawn {slope(ages, ill(drawn_codes)):.3f}")
    random, last = np.random.default_rng(SEED), tables[-1]
    values = sorted({row["diagnosis"] for row in last})
    true = np.array([sum(row["diagnosis"] == code for row in last) for code in values])
    cohort = [str(code) for code in read[-1]["diagnosis"]]
    by_cohort = np.array([cohort.count(code) for code in values])
    by_union = np.array([codes.count(code) for code in values]) * len(last) / len(codes)
    noisy = true + random.laplace(0, 1, len(true))  # one row a person and year: epsilon 1
    heading(f"Patients of year {YEARS} by diagnosis: off in the middle")
    for name, counts in (
        ("the cohort of that year", by_cohort),
        ("the union of cohorts, as shares", by_union),
        ("counts with noise, epsilon 1", noisy),
    ):
        print(f"  {name:<34}{np.median(np.abs(counts - true) / true):>8.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, default=PATIENTS)
    n_patients = parser.parse_args().patients
    tables = yearly(n_patients, np.random.default_rng(SEED))
    with TemporaryDirectory() as place:
        heading(f"Five years of {n_patients:,} patients, {RETURN:.0%} of whom return")
        failed = years_by_command(Path(place), tables)
        print(f"  {len(failed)} commands failed")
        figures(Path(place), tables)
    with TemporaryDirectory() as place:
        heading(f"Five years of a survey of {n_patients:,} people, with weights")
        asked = surveys(n_patients, np.random.default_rng(SEED))
        failed = surveys_by_command(Path(place), asked)
        print(f"  {len(failed)} commands failed")


if __name__ == "__main__":
    main()
