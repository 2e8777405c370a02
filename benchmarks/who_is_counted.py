"""Visits and couples: what a verdict about rows leaves open, and what counting people costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import foreknow as fk
from benchmarks.measure import heading, line, processor_medians

PATIENTS, DIALYSIS, COUPLES = 4_000, 12, 1_700
CODES = [f"{letter}{number:02d}" for letter in "ABCEFGHIJK" for number in range(4)]


def visits(random: np.random.Generator) -> pa.Table:
    """A year of a hospital: most come once or twice, those on dialysis 20 to 60 times."""
    many = [int(random.integers(1, 4)) for _ in range(PATIENTS)]
    many[:DIALYSIS] = [int(random.integers(20, 61)) for _ in range(DIALYSIS)]
    who = np.repeat(np.arange(PATIENTS), many)
    age, zips = random.integers(18, 90, PATIENTS), random.integers(1067, 1087, PATIENTS)
    return pa.table(
        {
            "patient_id": who,
            "age": age[who],
            "zip": [f"{code:05d}" for code in zips[who]],
            "month": random.integers(1, 13, len(who)),
            "diagnosis": random.choice(CODES, len(who)),
        }
    )


def couples(random: np.random.Generator) -> pa.Table:
    """A register in which couples, of one household income, live among others who live alone."""
    home = [*np.repeat(np.arange(COUPLES), 2), *range(COUPLES, 3 * COUPLES)]
    income = random.choice(np.arange(12_000, 90_000, 4_000), 3 * COUPLES)
    return pa.table(
        {
            "person": [f"P{i}" for i in range(len(home))],
            "home": home,
            "age": random.integers(18, 90, len(home)),
            "district": random.integers(1, 21, len(home)),
            "job": random.choice(["cook", "nurse", "clerk", "driver", "teacher"], len(home)),
            "income": income[home],
        }
    )


def groups_of(made: Any, table: pa.Table, columns: list[str]) -> dict[Any, list[dict[str, Any]]]:
    """The rows of the table in each group, by what the owner keeps."""
    with TemporaryDirectory() as folder:
        made.write(Path(folder) / "out")
        members = pq.read_table(Path(folder) / "out.owner" / "members.parquet").to_pylist()
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for member, row in zip(members, table.to_pylist(), strict=True):
        groups[tuple(member[name] for name in columns)].append(row)
    return groups


def chance_of_both(groups: dict[Any, list[dict[str, Any]]]) -> list[float]:
    """How sure somebody becomes of each couple's income who knows that it is one.

    Both have v in so many ways: the holders of v in the group of each, or two of one group.
    """
    bags = {g: Counter(row["income"] for row in rows) for g, rows in groups.items()}
    of_home: dict[int, list[Any]] = defaultdict(list)
    truth = {}
    for group, rows in groups.items():
        for row in rows:
            of_home[row["home"]].append(group)
            truth[row["home"]] = row["income"]
    found = []
    for home, (one, *rest) in of_home.items():
        if not rest:
            continue
        other = rest[0]
        ways = {v: n * (bags[other][v] - (one == other)) for v, n in bags[one].items()}
        found.append(ways[truth[home]] / sum(ways.values()))
    return found


def costs(n_rows: int = 300_000) -> None:
    """What it takes to publish the same rows as people, as cases, and as cases of people."""
    heading(f"publishing {n_rows:,} rows, two of each person, seconds of the processor")
    random = np.random.default_rng(3)
    table = pa.table(
        {
            "patient_id": np.arange(n_rows) // 2,
            "age": random.integers(18, 90, n_rows),
            "zip": random.integers(1067, 1567, n_rows),
            "diagnosis": random.choice(CODES, n_rows),
        }
    )
    roles = {"quasi_identifiers": ["age", "zip"], "sensitive": "diagnosis"}
    ask = [{"facts": {"k": 1}, "below": 0.5}, {"k_anonymity": 5}]

    def publish(**more: str) -> None:
        policy = {"schema": {**roles, **more}, "require": ask}
        with TemporaryDirectory() as folder:
            fk.publish(table, policy).write(Path(folder) / "out")

    found = processor_medians(
        3,
        people=publish,
        cases=lambda: publish(unit="row"),
        cases_of_people=lambda: publish(unit="row", person="patient_id"),
    )
    for name, seconds in found.items():
        line(name.replace("_", " "), seconds, found["people"], 1.5 if name == "cases" else None)


def main() -> None:
    """Print what the page on who is counted shows, and what it costs."""
    costs()
    heading("who is counted: rows, people and households")
    table = visits(np.random.default_rng(1))
    columns = ["age", "zip", "month"]
    roles = {"quasi_identifiers": columns, "sensitive": "diagnosis", "unit": "row"}
    for said, more in (("rows", {}), ("people", {"person": "patient_id"})):
        policy = {"schema": {**roles, **more}, "require": [{"k_anonymity": 10}]}
        made = fk.publish(table, policy, seed=1, learned=False)
        groups = groups_of(made, table, columns)
        people = [len({row["patient_id"] for row in rows}) for rows in groups.values()]
        print(
            f"visits, k = 10 of {said}: {len(groups)} groups, NCP {made.utility.average_ncp:.3f}, "
            f"fewest people {min(people)}, groups of fewer than ten people "
            f"{sum(many < 10 for many in people)}"
        )
    table = couples(np.random.default_rng(2))
    columns = ["age", "district"]
    roles = {"quasi_identifiers": columns, "sensitive": ["job", "income"]}
    ask = {"sensitive": "income", "facts": {"l": 1, "k": 3, "m": 1}, "below": 0.5, "knowing": []}
    for said, more in (("rows", {}), ("homes", {"shared": {"by": "home", "values": ["income"]}})):
        policy = {"schema": {**roles, **more}, "require": [ask]}
        made = fk.publish(table, policy, seed=1, learned=False)
        print(
            f"couples, income counted by {said}: {made.utility.groups} groups, "
            f"NCP {made.utility.average_ncp:.3f}, reached {made.audit.verdicts[0].probability:.2f}",
            end="",
        )
        if not more:
            sure = chance_of_both(groups_of(made, table, columns))
            over = sum(chance >= 0.5 for chance in sure)
            certain = sum(chance == 1 for chance in sure)
            print(f"; of {len(sure)} couples at 1/2 or above {over}, certain {certain}", end="")
        print()


if __name__ == "__main__":
    main()
