"""Full-domain generalization of Adult: 72 to 1,244,160 nodes; 45 k to 4.5 M rows.

Recursive (3, 4)-diversity of occupation, which is Facts(l=2) below 3/4. Beside each time stands
what a mature Java tool needs, warm, for the same number of rows and nodes (measured on the same
kind of machine, 2 cores); a cold one takes 1.2 to 1.4 s before it does anything. Needs
../shared/data/adult.csv, or a path. A made-up register of 100,937 accidents has 6,912 nodes, and
half of its people have one value, so that few nodes are safe and many must be judged. Another has
ten million rows of a million combinations, beside the GROUP BY of which the search stands.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import foreknow as fk
from benchmarks.measure import heading, medians

POLICY = fk.Policy([fk.Requirement(fk.Facts(l=2), below="3/4")])
FOUR = ("age", "marital-status", "race", "sex")
EIGHT = (*FOUR, "education", "native-country", "workclass", "income")
TEN = (*EIGHT[:4], *EIGHT[5:], "education-num", "hours-per-week", "relationship")
MANY_ROWS = 100  # copies of the 45,222

SPOUSE = {"Married-civ-spouse": "spouse present", "Married-AF-spouse": "spouse present"}
SCHOOL = {
    **dict.fromkeys(["Preschool", "1st-4th", "5th-6th", "7th-8th"], ("primary", "school")),
    **dict.fromkeys(["9th", "10th", "11th", "12th", "HS-grad"], ("secondary", "school")),
    **dict.fromkeys(["Some-college", "Assoc-voc", "Assoc-acdm"], ("college", "higher")),
    **dict.fromkeys(["Bachelors", "Masters", "Prof-school", "Doctorate"], ("degree", "higher")),
}
NORTH_AMERICA = {"United-States", "Canada", "Puerto-Rico", "Outlying-US(Guam-USVI-etc)"}
ASIA = {"Cambodia", "China", "Hong", "India", "Iran", "Japan", "Laos", "Philippines"}
ASIA |= {"Taiwan", "Thailand", "Vietnam", "South"}
EUROPE = {"England", "France", "Germany", "Greece", "Holand-Netherlands", "Hungary", "Ireland"}
EUROPE |= {"Italy", "Poland", "Portugal", "Scotland", "Yugoslavia"}


def continent(country: str) -> str:
    """The continent of a country of birth."""
    for name, members in (("North America", NORTH_AMERICA), ("Asia", ASIA), ("Europe", EUROPE)):
        if country in members:
            return name
    return "Latin America"


def work(kind: str) -> str:
    """Who pays: the state, oneself, someone else or nobody."""
    return next((name for name in ("gov", "Self") if name in kind), "other")


ABOVE: dict[str, Any] = {
    "marital-status": lambda v: [SPOUSE.get(v, "no spouse present")],
    "education": lambda v: list(SCHOOL[v]),
    "native-country": lambda v: [continent(v)],
    "workclass": lambda v: [work(v)],
}


def hierarchies(rows: Any, names: tuple[str, ...], fine: bool) -> dict[str, Any]:
    """Levels as the usual ones for this table; more of them for numbers, if fine."""
    widths = [2, 4, 8, 16, 32, 64] if fine else [5, 10, 20, 40] if names == FOUR else [5, 10, 20]
    made: dict[str, Any] = {"age": fk.Intervals(widths)}
    made |= {"education-num": fk.Intervals([2, 4, 8])}
    made |= {"hours-per-week": fk.Intervals([5, 10, 20, 40, 80])}
    for name, above in ((name, ABOVE[name]) for name in names if name in ABOVE):
        values = sorted({row[0] for row in rows.project(f'"{name}"').distinct().fetchall()})
        made[name] = fk.Tree([[value, *above(value), "*"] for value in values])
    return {name: made[name] for name in names if name in made}


def microdata(
    rows: Any, names: tuple[str, ...], *, fine: bool = False, many: bool = False
) -> fk.Microdata:
    """Read and encode a table; `many`: with a level more of some columns."""
    levels = hierarchies(rows, names, fine)
    if many:
        levels["hours-per-week"] = fk.Intervals([2, 4, 8, 16, 32, 64])
        for name, own in (("relationship", ("Husband", "Wife")), ("race", ("White",))):
            values = sorted({row[0] for row in rows.project(f'"{name}"').distinct().fetchall()})
            levels[name] = fk.Tree([[x, "one" if x in own else "other", "*"] for x in values])
    schema = fk.Schema(quasi_identifiers=names, sensitive="occupation", hierarchies=levels)
    made = fk.Microdata(rows.to_arrow_table(), schema)
    _ = made.attributes, made.values
    return made


def accidents(people: int = 100_937, common: float = 0.5) -> fk.Microdata:
    """Accidents of seven quasi-identifiers and 6,912 nodes, with one common outcome."""
    random = np.random.default_rng(1)

    def drawn(values: int, steepness: float) -> Any:
        weights = 1 / np.arange(1, values + 1) ** steepness
        return random.choice(values, people, p=weights / weights.sum())

    codes = {
        "age": np.clip(random.normal(35, 20, people).astype(int), 0, 99),
        "state": drawn(51, 0.8),
        "month": random.integers(1, 13, people),
        "day": random.integers(1, 32, people),
        "race": drawn(18, 2.0),
        "origin": drawn(8, 1.8),
        "sex": drawn(3, 1.2),
    }
    rest = np.array([0.35, 0.25, 0.2, 0.12, 0.05, 0.02, 0.01]) * (1 - common)
    outcome = random.choice(8, people, p=[common, *rest])
    often = ((codes["race"] == 1) | (codes["age"] > 80)) & (random.random(people) < 0.5)
    columns: dict[str, Any] = {
        name: own if name in ("age", "month", "day") else [f"{x:02d}" for x in own]
        for name, own in codes.items()
    }
    columns["outcome"] = [f"o{x}" for x in np.where(often, 0, outcome)]

    def tree(values: int, *widths: int) -> fk.Tree:
        return fk.Tree(
            [[f"{x:02d}", *(f"{w}:{x // w}" for w in widths), "*"] for x in range(values)]
        )

    levels = {
        "age": fk.Intervals([5, 10, 20, 40]),
        "state": tree(51, 6, 18),
        "month": fk.Intervals([3, 6]),
        "day": fk.Intervals([7, 14]),
        "race": tree(18, 6),
        "origin": tree(8, 4),
    }
    schema = fk.Schema(quasi_identifiers=[*codes], sensitive="outcome", hierarchies=levels)
    made = fk.Microdata(pa.table(columns), schema)
    _ = made.attributes, made.values
    return made


def plain(folder: Path, rows: int = 10**7) -> tuple[Path, fk.Microdata]:
    """A register of a million distinct combinations of age, sex, zip and one of 30 diagnoses."""
    path = folder / "register.parquet"
    duckdb.execute("SELECT setseed(0.5)")
    duckdb.execute(
        "COPY (SELECT floor(random() * 72)::INTEGER AS age, floor(random() * 2)::INTEGER AS sex, "
        "floor(random() * 300)::INTEGER AS zip, 'd' || least(29, "
        "floor(-ln(1 - random()) * 8))::INTEGER AS diagnosis "
        f"FROM range({rows})) TO '{path}' (FORMAT parquet)"
    )
    levels = {"age": fk.Intervals([5, 10, 20, 40]), "zip": fk.Intervals([3, 9, 27, 81])}
    schema = fk.Schema(
        quasi_identifiers=["age", "sex", "zip"], sensitive="diagnosis", hierarchies=levels
    )
    made = fk.Microdata(path, schema)
    _ = made.attributes, made.values
    return path, made


def register() -> None:
    """Ten million rows of a million combinations, beside DuckDB's GROUP BY of them."""
    with tempfile.TemporaryDirectory() as folder:
        path, raw = plain(Path(folder))
        query = f"SELECT age, sex, zip, diagnosis, count(*) FROM '{path}' GROUP BY ALL"
        start, busy = time.perf_counter(), time.process_time()
        many = duckdb.sql(query).to_arrow_table().num_rows
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        print(f"  GROUP BY, {many:,} combinations: {seconds:.2f} s, {busy:.2f} s of cores")
        for share in (0.0, 0.05):
            policy = fk.Policy([fk.Requirement(fk.Facts(l=3, k=200, m=2), below="1/2")])
            method = fk.FullDomain(suppression=share)
            report(f"72 nodes, {raw.n_people:,} rows: {share:.0%}", method, raw, policy=policy)


def report(
    name: str,
    method: fk.FullDomain,
    raw: fk.Microdata,
    theirs: str = "",
    policy: fk.Policy = POLICY,
) -> None:
    """Time a method on an encoded table, from its rows to the group of each row."""
    found = method.search(raw, policy)
    start = time.perf_counter()
    method.partition(raw, policy)
    repeats = 1 if time.perf_counter() - start > 5 else 5
    busy = time.process_time()
    seconds = medians(repeats, search=lambda: method.partition(raw, policy))["search"]
    busy = (time.process_time() - busy) / repeats
    beside = f"   (the Java tool: {theirs})" if theirs else ""
    print(f"  {name:<46} {seconds * 1000:8.1f} ms, {busy * 1000:8.1f} ms of one core{beside}")
    cut = "" if found.complete else ", cut off"
    cut += f", at most {found.gap:.4f} from the least" if found.gap else ""
    print(f"    {found.n_checked:,} nodes judged, NCP {found.loss_of(found.chosen):.4f}{cut}")


def whole_process(rows: Any, folder: Path) -> None:
    """From a CSV file to a verified release in CSV, in a process of its own."""
    source = folder / "adult.csv"
    rows.project(",".join(f'"{name}"' for name in (*FOUR, "occupation"))).to_csv(str(source))
    start = time.perf_counter()
    busy = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "benchmarks.fulldomain", "--publish", str(source)]
    subprocess.run([*command, str(folder / "release")], check=True)
    seconds = time.perf_counter() - start
    done = resource.getrusage(resource.RUSAGE_CHILDREN)
    cores = done.ru_utime + done.ru_stime - busy.ru_utime - busy.ru_stime
    print(
        f"  {'whole process, CSV to a verified release':<46} {seconds:8.1f} s,  {cores:8.1f} s of "
        f"cores, {done.ru_maxrss / 1e6:.1f} GB   (the Java tool: 5 s, 1.4 to 1.9 GB)"
    )


def publish(source: str, folder: str) -> None:
    """What the process of its own does."""
    rows = duckdb.connect().read_csv(source, header=True)
    schema = fk.Schema(
        quasi_identifiers=FOUR,
        sensitive="occupation",
        hierarchies=hierarchies(rows, FOUR, fine=False),
    )
    fk.publish(fk.Microdata(source, schema), POLICY, method=fk.FullDomain()).write(folder)


def main() -> None:
    register()
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/adult.csv")
    heading("(d) Full-domain generalization of Adult, (3, 4)-diversity: Facts(2, 0, 0) below 3/4")
    if not path.exists():
        print(f"  skipped: there is no {path}; give the path of adult.csv")
        return
    adult = duckdb.connect().read_csv(str(path), header=True)
    best, every = fk.FullDomain(), fk.FullDomain(find="minimal")
    some = fk.FullDomain(suppression=0.05)

    raw = microdata(adult, FOUR)
    report("72 nodes, 45,222 rows: best", best, raw, "9 ms")
    report("  one minimal", fk.FullDomain(find="chain"), raw)
    report("  all minimal", every, raw)
    report("  best with 5% suppression", some, raw)

    raw = microdata(adult.limit(30_162), EIGHT)
    report("4,320 nodes, 30,162 rows: best", best, raw, "30 ms")
    report("  all minimal", every, raw)
    report("  best with 5% suppression", some, raw, "650 ms")

    raw = microdata(adult.limit(30_162), TEN, fine=True)
    report("120,960 nodes, 30,162 rows: best", best, raw)
    report(
        "  best with 5% suppression, 10 s at most", fk.FullDomain(suppression=0.05, seconds=10), raw
    )

    raw = accidents()
    report("6,912 nodes, 100,937 rows: best", best, raw)
    report("  best with 5% suppression", some, raw)

    names = (*EIGHT, "education-num", "hours-per-week", "relationship")
    raw = microdata(adult.limit(30_162), names, fine=True, many=True)
    report("1,244,160 nodes, 30,162 rows: best", best, raw)
    report("  best with 5% suppression", some, raw)

    for copies in (10, MANY_ROWS):
        many = adult.query("adult", f"SELECT adult.* FROM adult, range({copies})")
        raw = microdata(many, FOUR)
        theirs = "420 ms" if copies == MANY_ROWS else ""
        report(f"72 nodes, {raw.n_people:,} rows: best", best, raw, theirs)
        report("  best with 5% suppression", some, raw)
    with tempfile.TemporaryDirectory() as folder:
        whole_process(many, Path(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--publish"]:
        publish(*sys.argv[2:])
    else:
        main()
