"""ART: soundness against enumeration, success, Adult beside Mondrian, and time up to 1 M rows.

Priors are learned from the table itself. Mondrian runs under Facts(l=0) just above the
same limit, Anatomy with l = r; both protect less, since they know no priors. Times are of the
processor; on Adult as multiples of what Mondrian takes for the same r.

    python -m benchmarks.art                              # everything; takes long
    python -m benchmarks.art adult --r 4 --by sex race --semantics joint --unique no
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.csv
from tests.methods.test_art import random_table
from tests.oracle.priors import exists, posteriors, printed_art, printed_condition

import foreknow as fk
from benchmarks.measure import heading
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.signature_groups import PriorMatrix, matrix
from foreknow.data.utility import utility_of
from foreknow.features.more_methods.art import ART
from foreknow.features.more_methods.art.exact_check import safe_groups
from foreknow.features.more_methods.art.problem import ArtProblem
from foreknow.features.more_methods.art.search import EVERY, best_grouping, robust_groups

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult.csv"
SETS = {
    "sex": ["sex"],
    "race": ["race"],
    "age band": ["band"],
    "each by itself": [["sex"], ["race"], ["band"]],
    "combination": ["sex", "race", "band"],
}


def groups_of(found: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(found == g).tolist() for g in range(int(found.max()) + 1)]


def breaks(table, groups: list[list[int]], undefined: bool = True) -> bool:
    """Whether some group is not r-robust, by enumeration; or only those that have a world."""
    people = table.people
    for g in groups:
        for rows in zip(*(people[t] for t in g), strict=True):
            found = posteriors(rows, [table.values[t] for t in g], table.reading)
            if undefined if found is None else max(found.values()) > 1 / table.r:
                return True
    return False


def soundness(times: int, unique: bool) -> None:
    # Worlds of nine people who may have the same value are too many to go through here.
    most = 9 if unique else 7
    for reading in ("joint", "binary"):
        heading(
            f"(a) {times} random tables of 2 to {most} people, {reading}, {said(unique)}, "
            "by enumeration of worlds"
        )
        random = np.random.default_rng([1, reading == "joint"])
        made = broken = can = printed = printed_broken = printed_undefined = missed = 0
        for _ in range(times):
            table = random_table(random, (2, most + 1), 5, reading, unique=unique)
            able = exists(table.people, table.values, table.r, reading, unique)
            can += able
            try:
                groups = groups_of(robust_groups(table.problem, 0))
                made += 1
                broken += breaks(table, groups)
            except fk.NoSafeRelease:
                missed += able
            old = printed_art(table.people, table.values, table.r) if unique else None
            if old is not None:
                printed += 1
                printed_broken += breaks(table, old, undefined=False)
                printed_undefined += breaks(table, old) - breaks(table, old, undefined=False)
        print(f"  a solution exists for {can}; ART finds {made}, misses {missed}")
        print(f"  ART's releases that break r-robustness: {broken} of {made}")
        if unique:
            print(
                f"  as printed: {printed_broken} of {printed} exceed 1/r; {printed_undefined} "
                "more have a group that the priors call impossible"
            )


def printed_alone(times: int, unique: bool) -> None:
    heading("(a') random groups of 3 to 6 different values that satisfy the printed condition")
    random = np.random.default_rng(4)
    for spread in (1, 2, 4, 8):
        fine = over = ours = 0
        while fine < times:
            n = int(random.integers(3, 7))
            own = random.integers(8, 8 + spread + 1, (n, n))
            people = [({x: Fraction(int(f), 20 * n) for x, f in enumerate(row)},) for row in own]
            r = Fraction(int(random.integers(2, n)))
            if not printed_condition(people, range(n), r):
                continue
            fine += 1
            found = posteriors([rows[0] for rows in people], range(n), "joint")
            bad = max(found.values()) > 1 / r
            over += bad
            priors = PriorMatrix.from_fractions([list(rows[0].values()) for rows in people])
            whole = np.arange(n)
            problem = ArtProblem.of_signatures([whole], [priors], whole, r=r)
            safe = safe_groups(problem, np.zeros(n, dtype=int), problem.profiles, whole, 1)[0]
            if safe == bad:
                raise SystemExit(f"the judge is wrong about {people}")
            ours += safe
        print(
            f"  priors from 8 to {8 + spread}: {over} of {fine} exceed 1/r under joint; "
            f"the judge accepts the other {ours}"
        )


def success(times: int, unique: bool) -> None:
    """Of tables for which going through all groupings finds one, how many the search solves."""
    import foreknow.features.more_methods.art.search as search

    search.EVERY = 0
    try:
        for sizes, seed, tried in (((6, 10), 2, times), ((13, 15), 5, times // 5)):
            heading(
                f"(b) the search without going through all groupings: {tried} tables of "
                f"{sizes[0]} to {sizes[1] - 1} people, {said(unique)}"
            )
            for reading in ("joint", "binary"):
                random = np.random.default_rng([seed, reading == "joint"])
                can = found = 0
                for _ in range(tried):
                    table = random_table(random, sizes, 5, reading, unique=unique)
                    everybody = np.arange(len(table.values))
                    if best_grouping(table.problem, everybody) is None:
                        continue
                    can += 1
                    try:
                        robust_groups(table.problem, 0)
                    except fk.NoSafeRelease:
                        continue
                    found += 1
                print(f"  {reading}: {found} of {can} that have a solution", flush=True)
    finally:
        search.EVERY = EVERY


def larger(times: int, unique: bool) -> None:
    heading(f"(c) larger tables, {said(unique)}: solved, proved to have no solution, or given up")
    tried = times // 10
    for size in (16, 30, 60, 200):
        random = np.random.default_rng([3, size])
        tally = {"solved": 0, "no solution": 0, "given up": 0}
        start = time.process_time()
        for _ in range(tried):
            table = random_table(random, (size, size + 1), 7, "joint", unique=unique, even=True)
            try:
                robust_groups(table.problem, 0)
                tally["solved"] += 1
            except fk.NoSafeRelease as error:
                kind = "given up" if "does not prove" in str(error) else "no solution"
                tally[kind] += 1
        each = (time.process_time() - start) / tried
        print(f"  {size} people: {tally}, {each:.2f} s each", flush=True)


def said(unique: bool) -> str:
    return "each value once in a group" if unique else "values may be repeated"


def census() -> tuple[pa.Table, fk.Microdata]:
    """Adult with age bands: six quasi-identifiers, and occupation."""
    rows = pyarrow.csv.read_csv(ADULT)
    bands = [str(min(max(age // 10 * 10, 10), 70)) for age in rows["age"].to_pylist()]
    kept = ["age", "sex", "race", "marital-status", "education", "occupation"]
    rows = rows.select(kept).append_column("band", pa.array(bands))
    names = [name for name in rows.column_names if name != "occupation"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="occupation")
    return rows, fk.Microdata(rows, schema)


def adult(asked: argparse.Namespace) -> None:
    """ART beside Mondrian and Anatomy; these judged by the same priors, too."""
    rows, microdata = census()
    heading("(d) Adult, 45,222 rows, 6 quasi-identifiers, occupation; beside Mondrian and Anatomy")
    for r in asked.r:
        # As near to "at most 1/r" as a strict limit comes.
        just = fk.Requirement(fk.Facts(l=0), below=Fraction(1, r) + Fraction(1, 10**6))
        policy = fk.Policy([just])
        runs = [
            timed(lambda policy=policy: fk.Mondrian().partition(microdata, policy))
            for _ in range(3)
        ]
        mondrian, base = runs[0][0], median(taken for _, taken in runs)
        show(f"r = {r}: Mondrian", microdata, mondrian, 1.0)
        anatomy, taken = timed(lambda r=r: fk.Anatomy(l=r).partition(microdata, seed=1))
        show(f"r = {r}: Anatomy", microdata, anatomy, taken / base)
        for name in asked.by:
            by = SETS[name]
            for smoothing in (0, 20) if name in ("combination", "age band") else (0,):
                for semantics in asked.semantics:
                    priors = Priors.learn(
                        rows, by, "occupation", semantics=semantics, smoothing=smoothing
                    )
                    what = f"r = {r}: {name}, {semantics}"
                    what += f", smoothed by {smoothing}" if smoothing else ""
                    if asked.beside and smoothing == 0:
                        for other, groups in (("Mondrian", mondrian), ("Anatomy", anatomy)):
                            worst = highest(priors, rows, groups)
                            print(f"  {what}: {other}'s highest posterior is {worst}", flush=True)
                    for unique in asked.unique:
                        art = ART(r=r, priors=priors, unique=unique)
                        report(f"{what}, {said(unique)}", art, rows, microdata, priors, base)


def report(what, art, rows, microdata, priors, base) -> None:
    start = time.process_time()
    try:
        groups, taken = timed(lambda: art.partition(microdata, seed=1))
        show(what, microdata, groups, taken / base, highest(priors, rows, groups))
    except fk.NoSafeRelease as error:
        taken = time.process_time() - start
        print(f"  {what}: none, {taken / base:.1f} times Mondrian; {str(error)[:300]}", flush=True)


def timed(run: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    start = time.process_time()
    found = run()
    return found, time.process_time() - start


def highest(priors: Priors, rows: pa.Table, groups: np.ndarray) -> str:
    """The highest posterior; or what it is at most."""
    release = fk.Release.from_groups(
        rows.append_column("gid", pa.array(groups)), group="gid", sensitive="occupation"
    )
    try:
        found = priors.disclosure(release)
    except fk.ForeknowError as error:
        return str(error)[:120]
    return f"{found.probability:.4f}"


def limits(asked: argparse.Namespace) -> None:
    """Limits relative to priors, and of some values only."""
    rows, microdata = census()
    heading("(f) Adult, 45,222 rows, 6 quasi-identifiers, by sex: times the prior, and one value")
    priors = Priors.learn(rows, ["sex"], "occupation")
    just = fk.Requirement(fk.Facts(l=0), below=Fraction(1, 4) + Fraction(1, 10**6))
    base = timed(lambda: fk.Mondrian().partition(microdata, fk.Policy([just])))[1]
    for limit in (
        {"times": Fraction(3, 2)},
        {"times": 2},
        {"times": 4},
        {"times": 2, "r": 3},
        {"r": 4, "values": ["Adm-clerical"]},
    ):
        what = ", ".join(f"{name} = {given}" for name, given in limit.items())
        report(what, ART(priors=priors, **limit), rows, microdata, priors, base)


def show(what, microdata, groups, ratio, posterior=None) -> None:
    found = utility_of(microdata.counts(groups), microdata, groups)
    text = f"  {what}: {found.groups:,} groups of {found.smallest_group} to "
    text += f"{found.largest_group}, NCP {found.average_ncp:.4f}, {ratio:.1f} times Mondrian"
    off = fk.query_error_of_groups(microdata, groups, "bucketized", seed=1)
    text += f", queries off by {off.average:.2%} (bucketized)"
    if posterior is not None:
        text += f", highest posterior {posterior}"
    print(text, flush=True)


def growth(unique: bool) -> None:
    heading(
        "(e) growth: 40 signatures near each other, 20 values, 5 quasi-identifiers, r = 4, "
        + said(unique)
    )
    for n in (45_222, 200_000, 1_000_000):
        random = np.random.default_rng(1)
        priors = random.dirichlet(np.full(20, 30.0), 40)
        signatures = random.integers(0, 40, n)
        values = np.empty(n, dtype=np.int64)
        for s, row in enumerate(priors):
            own = np.flatnonzero(signatures == s)
            values[own] = random.choice(20, len(own), p=row)
        places = random.random((n, 5)).round(2)
        problem = ArtProblem.of_signatures(
            [signatures], [matrix(priors)], values, places, r=4, unique=unique
        )
        groups, taken = timed(lambda problem=problem: robust_groups(problem, 1))
        each = taken / (n * np.log2(n)) * 1e6
        print(
            f"  {n:,} rows: {groups.max() + 1:,} groups, {taken:.1f} s, {each:.2f} us/n log n",
            flush=True,
        )


def chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ["soundness", "printed_alone", "success", "larger", "adult", "limits", "growth"]
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(parts))
    parser.add_argument("--tables", type=int, default=1000, help="how many random ones")
    parser.add_argument("--r", type=int, nargs="+", default=[2, 3, 4, 5])
    parser.add_argument("--by", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--semantics", nargs="+", default=["joint", "binary"])
    parser.add_argument("--unique", choices=["yes", "no", "both"], default="both")
    parser.add_argument("--beside", action="store_true", help="judge Mondrian and Anatomy, too")
    asked = parser.parse_args()
    asked.parts = asked.parts or parts
    asked.unique = {"yes": [True], "no": [False], "both": [False, True]}[asked.unique]
    return asked


if __name__ == "__main__":
    asked = chosen()
    for part in asked.parts:
        if part in {"adult", "limits"}:
            if ADULT.exists():
                globals()[part](asked)
            else:
                print(f"there is no {ADULT.name}; {part} is left out")
            continue
        # The printed condition knows of no repeated values.
        for unique in [True] if part == "printed_alone" else asked.unique:
            globals()[part](*[asked.tables] * (part != "growth"), unique)
