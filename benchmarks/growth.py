"""Time and memory of whole commands as a table grows, each in a process of its own.

    python -m benchmarks.growth [--most 7] [--out growth.json] [--page docs/evidence/growth.md]

Seconds are of the processor, which other programs on the machine do not take. Rows go from 10^4 to
10^MOST; then, at 10^6 rows, groups, values and columns; at 10^5 rows, nodes of the lattice; and
tables of several shapes, published by Mondrian (`--only shapes`, `--only rows`). At each number of
rows, a tenth more people are published after a release of the others. Tables are Parquet: five
quasi-identifiers of 79, 2, 17, 57 and 7 values unless said, a sensitive column of 50. Besides each
command stands DuckDB's bare GROUP BY of the same file. A page gets its tables between its marks,
and `docs/images/growth.svg` beside it is drawn, if nodes were measured, from this run, or from what
an earlier one wrote (`--of growth.json`).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import heading

CARDINALITIES = (79, 2, 17, 57, 7)
VALUES, GROUPS, ROWS = 50, 50_000, 10**6
# Widths of the levels of columns of so many values.
WIDTHS = {79: (8, 32, 2, 4, 16, 64), 17: (4, 8, 2, 16), 57: (8, 32, 2, 4, 16), 7: (2, 4), 2: ()}
# Quasi-identifiers of tables of several shapes: what is drawn of each, r a number from 0 to 1. The
# first is a table as tables are: few of its rows are equal.
PLAIN = {"age": "floor(r * 72)", "sex": "floor(r * 2)", "zip": "floor(r * 90000)"}
SHAPES = {
    "plain": {**PLAIN, "income": "floor(r * 500)"},
    "skewed": {name: text.replace("r *", "pow(r, 4) *") for name, text in PLAIN.items()},
    "sorted": {"time": "i", "sex": "floor(r * 2)", "age": "floor(r * 72)"},
    "one column dominates": {"income": "floor(-ln(1 - r) * 1e6)", "sex": "floor(r * 2)"},
    "20 columns": {f"c{i}": f"floor(r * {2 + 3 * i})" for i in range(20)},
    "many rows of few combinations": {"sex": "floor(r * 2)", "zip": "floor(r * 50000)"},
}
POLICY = """
[schema]
quasi_identifiers = {columns}
sensitive = "disease"

[publish]
format = "parquet"

[[require]]
facts = {{ l = 3, k = {known}, m = {links} }}
below = 0.5
"""
AUDIT = """
[schema]
group = "gid"
sensitive = "disease"

[[require]]
facts = {{ l = 3, k = 2, m = 1 }}
below = 0.5
"""


def made(folder: Path, rows: int, groups: int, values: int, columns: int) -> Path:
    """Write a table of people, groups as if it were a release."""
    path = folder / f"people-{rows}-{groups}-{values}-{columns}.parquet"
    if path.exists():
        return path
    sizes = (CARDINALITIES * 3)[:columns]
    drawn = ", ".join(
        f"least({size - 1}, floor(-ln(1 - random()) * {size / 3}))::UTINYINT AS q{i}"
        for i, size in enumerate(sizes)
    )
    query = (
        f"COPY (SELECT {drawn}, (i * 7919 % {groups})::INTEGER AS gid, "
        f"'v' || least({values - 1}, floor(pow(random(), 2) * {values}))::INTEGER AS disease "
        f"FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
    )
    alone(f"import duckdb; duckdb.sql('SELECT setseed(0.5)').fetchall(); duckdb.execute({query!r})")
    return path


def shaped(folder: Path, rows: int, shape: str) -> Path:
    """Write a table of people of some shape; 30 diagnoses."""
    path = folder / f"shape-{rows}.parquet"
    drawn = ", ".join(
        f"({text.replace('(r', '(random()').replace('- r)', '- random())')})::INTEGER AS {name}"
        for name, text in SHAPES[shape].items()
    )
    query = (
        f"COPY (SELECT {drawn}, 'd' || least(29, floor(-ln(1 - random()) * 8))::INTEGER AS disease "
        f"FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
    )
    alone(f"import duckdb; duckdb.sql('SELECT setseed(0.5)').fetchall(); duckdb.execute({query!r})")
    return path


def alone(code: str) -> str:
    """Run in a process of its own: its memory is not handed on to what is measured next."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def bare(path: Path, keys: str) -> float:
    """Seconds of DuckDB's GROUP BY of the file."""
    code = (
        "import duckdb, time; duckdb.sql('SET enable_progress_bar = false'); "
        "t = time.process_time(); "
        f"duckdb.sql('SELECT {keys}, count(*) FROM \"{path}\" GROUP BY ALL').to_arrow_table(); "
        "print(time.process_time() - t)"
    )
    return float(alone(code))


def run(*command: str) -> tuple[float, int, int]:
    """Seconds, peak memory in bytes, and exit code of a command."""
    process = subprocess.Popen(
        [sys.executable, "-m", "foreknow", *command, "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        print(said.decode()[-500:], file=sys.stderr)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, code


def searched(path: Path, columns: int, widths: int, suppression: float) -> list:
    """Seconds of a search alone, peak memory of its process, nodes, and how many were judged."""
    levels = {
        f"q{i}": sorted(WIDTHS[size][:widths])
        for i, size in enumerate((CARDINALITIES * 3)[:columns])
        if WIDTHS[size][:widths]
    }
    code = f"""
import json, resource, time
import foreknow as fk
levels = {{name: fk.Intervals(widths) for name, widths in {levels}.items()}}
names = [f"q{{i}}" for i in range({columns})]
schema = fk.Schema(quasi_identifiers=names, sensitive="disease", hierarchies=levels)
policy = fk.Policy([fk.Requirement(fk.Facts(l=3, k=2, m=1), below="1/2")])
table = fk.Microdata({str(path)!r}, schema)
_ = table.attributes, table.values
start = time.process_time()
found = fk.FullDomain(suppression={suppression}).search(table, policy)
seconds = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, peak, found.n_nodes, found.n_checked, found.gap or 0]))
"""
    return json.loads(alone(code))


def settings(most: int) -> Iterator[tuple[str, dict, tuple[str, ...]]]:
    """What grows, at which sizes, and by which methods."""
    usual = {"rows": ROWS, "groups": GROUPS, "values": VALUES, "columns": 5}
    for power in range(4, most + 1):
        groups = min(GROUPS, 10**power // 20)
        yield "rows", {**usual, "rows": 10**power, "groups": groups}, ("mondrian", "fulldomain")
    for groups in (50, 5_000, 200_000):
        yield "groups", {**usual, "groups": groups}, ()
    for values in (2, 1_000, 20_000):
        yield "values", {**usual, "values": values}, ("mondrian",)
    for columns in (2, 8):
        yield "columns", {**usual, "columns": columns}, ("mondrian", "fulldomain")
    few = {**usual, "rows": 10**5, "groups": 5_000}
    for columns, widths in ((5, 0), (5, 1), (5, 2), (5, 6), (8, 2), (8, 6), (9, 6)):
        yield "nodes", {**few, "columns": columns, "widths": widths}, ()
    yield from shapes(most)


def shapes(most: int) -> Iterator[tuple[str, dict, tuple[str, ...]]]:
    """Tables of several shapes; the first and the last of ten times as many rows, too."""
    for shape in SHAPES:
        yield "shape", {"shape": shape, "rows": ROWS}, ("mondrian",)
    for shape in [*SHAPES][:: len(SHAPES) - 1] if most > 6 else ():
        yield "shape", {"shape": shape, "rows": 10**most}, ("mondrian",)


def measured(folder: Path, size: dict, methods: tuple[str, ...]) -> dict[str, list]:
    """Each command once: seconds, and peak memory."""
    if "shape" in size:
        path, columns = shaped(folder, size["rows"], size["shape"]), [*SHAPES[size["shape"]]]
        text = POLICY.format(columns=json.dumps(columns), known=10, links=2)
        (folder / "publish.toml").write_text(text)
        return published(folder, path, columns, methods)
    if (widths := size.get("widths")) is not None:
        path = made(folder, *(size[key] for key in ("rows", "groups", "values", "columns")))
        given = (("search", 0), ("search with 5% suppressed", 0.05))
        return {name: searched(path, size["columns"], widths, share) for name, share in given}
    path, found = made(folder, **size), {}
    columns = [f"q{i}" for i in range(size["columns"])]
    for name, text in (("audit.toml", AUDIT), ("publish.toml", POLICY)):
        (folder / name).write_text(text.format(columns=json.dumps(columns), known=2, links=1))
    found["GROUP BY of a release"] = [bare(path, "gid, disease"), 0]
    found["audit"] = [*run("audit", str(path), "--policy", str(folder / "audit.toml"))][:2]
    found |= published(folder, path, columns, methods)
    if size["rows"] != ROWS or (len(methods) > 1 and size["columns"] == 5):
        found["after"] = published_after(folder, path, columns)
    return found


def published_after(folder: Path, path: Path, columns: list[str]) -> list:
    """Publish a tenth more people after a release of all others; no links, which both may share."""
    text = POLICY.format(columns=json.dumps(columns), known=2, links=0)
    policy = folder / "after.toml"
    policy.write_text(text.replace("[schema]", '[schema]\nidentifiers = ["id"]'))
    tables = [folder / "first.parquet", folder / "second.parquet"]
    numbered = (
        f"SELECT file_row_number AS id, * FROM read_parquet('{path}', file_row_number = true)"
    )
    for table, some in zip(tables, ("WHERE id % 11 < 10", ""), strict=True):
        query = f"COPY (SELECT * FROM ({numbered}) {some}) TO '{table}' (FORMAT parquet)"
        alone(f"import duckdb; duckdb.execute({query!r})")
    outs = [folder / "out-first", folder / "out-second"]
    cost: list = [None, 0]
    for table, out, more in zip(tables, outs, ([], ["--after", str(outs[0])]), strict=True):
        *cost, code = run("publish", str(table), "--policy", str(policy), "--out", str(out), *more)
        if code:
            cost = [None, cost[1]]
    for out in outs:
        for each in (out, out.with_name(f"{out.name}.owner")):
            shutil.rmtree(each, ignore_errors=True)
    return cost


def published(folder: Path, path: Path, columns: list[str], methods: tuple[str, ...]) -> dict:
    """Publish a table by some methods, and verify what was published."""
    found = {}
    if methods:
        found["GROUP BY of combinations"] = [bare(path, f"{', '.join(columns)}, disease"), 0]
    for method in methods:
        out = folder / "out"
        asked = ["--policy", str(folder / "publish.toml"), "--method", method, "--out", str(out)]
        *cost, code = run("publish", str(path), *asked)
        found[f"publish {method}"] = cost if code == 0 else [None, cost[1]]
        if code == 0:
            found[f"verify {method}"] = [*run("verify", str(out))][:2]
        for each in (out, out.with_name("out.owner")):
            shutil.rmtree(each, ignore_errors=True)
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--most", type=int, default=7)
    asked.add_argument("--out", type=Path)
    asked.add_argument("--of", type=Path)
    asked.add_argument("--only", choices=["rows", "shapes"])
    asked.add_argument("--page", type=Path)
    given = asked.parse_args()
    if given.of:
        ran = json.loads(given.of.read_text())
    else:
        ran = {"load": os.getloadavg()[0], "results": []}
        wanted = settings(given.most)
        if given.only:
            wanted = (one for one in wanted if one[0] in (given.only, given.only[:-1]))
        for result in results_of(wanted):
            ran["results"].append(result)
            if given.out:
                given.out.write_text(json.dumps(ran, indent=1))
    if given.page:
        from benchmarks.figures import growth

        growth.write(given.page, ran)


def results_of(asked: Iterator[tuple[str, dict, tuple[str, ...]]]) -> Iterator[dict]:
    """Measure everything, and print it as it comes."""
    heading(f"growth, load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory(prefix="growth") as place:
        for what, size, methods in asked:
            found = measured(Path(place), size, methods)
            print(f"{what}: {', '.join(f'{n} {key}' for key, n in size.items())}")
            for name, (seconds, peak, *rest) in found.items():
                took = "none safe" if seconds is None else f"{seconds:8.2f} s"
                print(f"    {name:<26}{took} {peak / 2**20:8,.0f} MiB", *rest, flush=True)
            for old in Path(place).glob("*.parquet"):
                old.unlink()
            yield {"grows": what, **size, "cost": found}
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"highest peak of any process: {peak / 2**10:,.0f} MiB")


if __name__ == "__main__":
    main()
