"""Verification of a written release beside a bare GROUP BY of its files.

    python -m benchmarks.verification [--rows 1000000 10000000] [--times 3]

Groups of 200 people by five columns of labels, in Parquet and CSV. Both take turns; what is read
back is all of `foreknow.verify(folder, policy)`: digests, counts, every requirement, and what no
requirement looks at. Memory is that of one `foreknow verify` in a process of its own, and beside it
how many numbers the counts are: one for each value of each group that anybody has.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

import foreknow as fk
from benchmarks.measure import heading, line, medians
from foreknow.data.tables.writers import write
from foreknow_judge.certificate import digest_of

QUASI = ("age", "sex", "zip", "school", "work")
PER_GROUP = 200
# By the number of a group: narrow labels and wide ones, as a search makes them.
LABELS = """
    (20 + g // 7 % 40) || ' to ' || (22 + g // 7 % 40) AS age, ['m', 'f'][1 + g % 2] AS sex,
    (10000 + g // 2 % 500)::VARCHAR AS zip, 'level ' || g // 11 % 17 AS school,
    'sector ' || g // 1000 AS work
"""
ILL, JOB = "'illness ' || i * 7919 * (1 + i % 13) % 57 AS ill", "'job ' || hash(i) % 7 AS job"
PAY = "(500 + floor(150 * sqrt(-2 * ln(1 - random())) * cos(6.28 * random())))::INTEGER AS pay"


class Setting(NamedTuple):
    """A release, what its policy requires, and what is counted beside the columns of groups."""

    name: str
    columns: tuple[str, ...]
    requires: tuple[str, ...]
    counted: tuple[tuple[str, ...], ...] = (("ill",),)
    format: str = "parquet"
    form: str = "generalized"


FACTS = 'facts = { l = 1, k = 3, m = 1 }\nbelow = "0.9"'
EACH = tuple(f'{FACTS}\nsensitive = "{name}"\nknowing = []' for name in ("ill", "job"))
KNOWN = f'{FACTS}\nsensitive = "ill"\nknowing = ["job"]'
SETTINGS = [
    Setting("facts, Parquet", (ILL,), (FACTS,)),
    Setting("facts, CSV", (ILL,), (FACTS,), format="csv"),
    Setting("facts, bucketized", (ILL,), (FACTS,), form="bucketized"),
    Setting("implications", (ILL,), ('implications = { k = 2 }\nbelow = "0.9"',)),
    Setting("k-anonymity", (ILL,), ("k_anonymity = 5",)),
    Setting("t-closeness", (ILL,), ('t_closeness = { t = "0.99" }',)),
    Setting("two sensitive columns", (ILL, JOB), EACH, (("ill",), ("job",))),
    Setting(
        "a column beside is known",
        (ILL, JOB),
        (KNOWN,),
        (("ill", "job"),),
    ),
    Setting("numbers to within 20", (PAY,), (f"{FACTS}\nwithin = 20",), (("pay",),)),
]


def policy_of(setting: Setting, folder: Path) -> Path:
    """The policy as a file."""
    path = folder / "policy.toml"
    sensitive = [column.split()[-1] for column in setting.columns]
    path.write_text(
        f"[schema]\nquasi_identifiers = {json.dumps(QUASI)}\nsensitive = {json.dumps(sensitive)}\n"
        f'[publish]\nform = "{setting.form}"\nformat = "{setting.format}"\n'
        + "\n".join(f"[[require]]\n{require}" for require in setting.requires)
    )
    return path


def written(setting: Setting, rows: int, folder: Path) -> Path:
    """A folder as if so many rows had been published: a small release, with larger files."""
    out, columns = folder / "out", ", ".join(setting.columns)
    policy = fk.Policy.load(policy_of(setting, folder))
    sensitive = [column.split()[-1] for column in setting.columns]
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)").fetchall()
        people = f"SELECT i // {PER_GROUP} AS g, {LABELS}, {columns} FROM range({{}}) t(i)"
        few = connection.sql(people.format(2000)).project(", ".join((*QUASI, *sensitive)))
        fk.publish(few.to_arrow_table(), policy).write(out)
        tables = {"release": f"SELECT {', '.join((*QUASI, *sensitive))} FROM people"}
        if setting.form == "bucketized":
            tables = {
                "people": f'SELECT {", ".join(QUASI)}, g + 1 AS "group" FROM people',
                "sensitive": f'SELECT g + 1 AS "group", {sensitive[0]}, count(*) AS "count" '
                "FROM people GROUP BY ALL",
            }
        connection.execute(f"CREATE TEMP VIEW people AS {people.format(rows)}")
        known = json.loads((out / "certificate.json").read_text())
        for name, query in tables.items():
            path = out / f"{name}.{setting.format}"
            if setting.format == "csv":
                connection.execute(
                    f"COPY ({query}) TO '{path}' (FORMAT csv, FORCE_QUOTE *)"
                ).fetchall()
            else:
                batches = connection.sql(query).to_arrow_reader(1_000_000)
                write((pa.Table.from_batches([own]) for own in batches), path)
            known["release"]["files"][path.name] = digest_of(path)
    del known["code_book"]  # which is about the small release
    (out / "datapackage.json").unlink()
    (out / "certificate.json").write_text(json.dumps(known))
    return out


def bare(setting: Setting, out: Path) -> int:
    """Group the written files by what is counted; how many distinct rows there are."""
    keys = {"release": [[*QUASI, *names] for names in setting.counted]}
    if setting.form == "bucketized":
        keys = {"people": [["group"]], "sensitive": [["group", "ill", "count"]]}
    found = 0
    for name, sights in keys.items():
        path = out / f"{name}.{setting.format}"
        source = f"read_csv('{path}', all_varchar = true)" if path.suffix == ".csv" else f"'{path}'"
        for sight in sights:
            columns = ", ".join(f'"{column}"' for column in sight)
            grouped = duckdb.sql(f"SELECT {columns}, count(*) FROM {source} GROUP BY ALL")
            found += grouped.to_arrow_table().num_rows
    return found


def peak(out: Path, policy: Path) -> float:
    """Most memory of `foreknow verify`, in MiB, started by a process that has next to none."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-m", "foreknow", "verify", out, "--policy", policy, "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1]) / 1024


def main() -> None:
    """Print a ratio for each setting."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    asked.add_argument("--times", type=int, default=3)
    given = asked.parse_args()
    for rows in given.rows:
        heading(f"Verification of {rows:,} rows at most 3 times a bare GROUP BY of its files")
        for setting in SETTINGS:
            with tempfile.TemporaryDirectory(prefix="verification") as place:
                out = written(setting, rows, Path(place))
                policy = Path(place) / "policy.toml"
                cells = bare(setting, out)
                assert fk.verify(out, policy).people == rows
                seconds = medians(
                    given.times,
                    bare=lambda setting=setting, out=out: bare(setting, out),
                    verified=lambda out=out, policy=policy: fk.verify(out, policy),
                )
                line(setting.name, seconds["verified"], seconds["bare"], 3)
                print(f"      {peak(out, policy):,.0f} MiB for {cells:,} counts", flush=True)


if __name__ == "__main__":
    main()
