"""Disclosure sets of algorithms that are public: exact counting, and the paper's own recursion.

The opponent is Table 13 with its misprint mended, in plain Python: it lists the tables of every
permutation set, and remembers nothing.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import suppress
from itertools import product

import numpy as np
import pyarrow as pa

import foreknow as fk
from benchmarks.measure import heading, line, medians
from foreknow.errors import BeyondReach
from foreknow.features.more_methods.jump import Jump, Safe
from foreknow.features.more_methods.jump.properties import MaxRatio

HALF = MaxRatio("1/2")
TABLE_1 = ["AB|CD|EF", "ABC|DEF", "ABCD|EF"]
PATIENTS = dict(zip("ABCDEF", "fcxxht", strict=True))
TABLE_10 = ["ABCD|EFGHI|JKLM|NO", "AB|CDEFG|HIJKLM|NO", "AB|CD|EFGH|IJKLMNO"]
TENS = dict(zip("ABCDEFGHIJKLMNO", "012345666778899", strict=True))
TABLE_12 = ["AB|CDE|FG", "ABC|DEFG", "ABCDE|FG", "ABC|DEFG"]
SEVEN = dict(zip("ABCDEFG", "1234533", strict=True))


class Recursion:
    """ds(t, i) of Table 13, mended, for "no ratio above 1/2"."""

    def __init__(self, functions: list[list[list[int]]], k: int) -> None:
        self.functions, self.k = functions, k

    def orders(self, values: list[str]) -> list[tuple[str, ...]]:
        """Distinct orders of a bag."""
        if not values:
            return [()]
        found = []
        for value in sorted(set(values)):
            rest = values.copy()
            rest.remove(value)
            found += [(value, *order) for order in self.orders(rest)]
        return found

    def permutation_safe(self, i: int, table: tuple[str, ...]) -> bool:
        """Whether every group has the property."""
        groups = self.functions[i]
        return all(2 * max(Counter(table[p] for p in g).values()) <= len(g) for g in groups)

    def disclosure_set(self, i: int, table: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Tables of the permutation set that get to i."""
        groups, found = self.functions[i], []
        for dealt in product(*(self.orders([table[p] for p in g]) for g in groups)):
            own = {
                p: v
                for g, values in zip(groups, dealt, strict=True)
                for p, v in zip(g, values, strict=True)
            }
            t = tuple(own[p] for p in range(len(table)))
            j = 0
            while j < i:
                if not self.permutation_safe(j, t):
                    j += 1
                elif self.disclosure_safe(j, t):
                    break
                else:
                    j += self.k
            if j == i:
                found.append(t)
        return found

    def disclosure_safe(self, i: int, table: tuple[str, ...]) -> bool:
        """Whether everybody has the property in the disclosure set."""
        tables = self.disclosure_set(i, table)
        columns = zip(*tables, strict=True)
        return all(2 * max(Counter(column).values()) <= len(tables) for column in columns)


def recursion(
    functions: list[str], k: int, table: dict[str, str]
) -> tuple[Recursion, tuple[str, ...]]:
    place = {person: p for p, person in enumerate(table)}
    numbered = [[[place[c] for c in group] for group in f.split("|")] for f in functions]
    return Recursion(numbered, k), tuple(table.values())


def blocks(n: int, size: int, shift: int = 0) -> list[list[int]]:
    order = [(person + shift) % n for person in range(n)]
    return [order[i : i + size] for i in range(0, n, size)]


def against_the_paper() -> None:
    heading("(a) exact counting against the paper's recursion, with nothing kept between runs")
    for name, functions, table, i in [
        ("Tables 1-4, third function", TABLE_1, PATIENTS, 2),
        ("Table 12, fourth function (the second again)", TABLE_12, SEVEN, 3),
    ]:
        slow, values = recursion(functions, 1, table)
        jump = Jump(functions, 1, HALF)

        def count(jump: Jump = jump, table: dict[str, str] = table, i: int = i) -> int:
            forget()
            return jump.run(table).disclosure_set(i).size

        def listed(slow: Recursion = slow, values: tuple[str, ...] = values, i: int = i) -> int:
            return len(slow.disclosure_set(i, values))

        assert count() == listed()
        paper = medians(1, paper=listed)["paper"]
        here = medians(9, here=count)["here"]
        line(f"{name}: the paper", paper)
        line(f"{name}: here", here, paper)
        print(f"  the paper takes {paper / here:,.0f} times as long")
    jump = Jump(TABLE_10, 1, HALF)

    def count_one() -> int:
        forget()
        return jump.run(TENS).disclosure_set(2).size

    line("Table 10, third function, k = 1: here", medians(9, here=count_one)["here"])


def forget() -> None:
    """Drop what earlier runs found."""
    from foreknow.features.more_methods.jump import run

    run._shared.cache_clear()


def twenty_four_rows() -> None:
    heading("(b) 24 rows, 5 values, 4 functions: the run, and then all four disclosure sets")
    n, runs, sets, cases = 24, 0, 0, 0
    shapes = {
        "groups of 2, 4, 8, 24": [(2,), (4,), (8,), (24,)],
        "groups of 3, 6, 12, 24": [(3,), (6,), (12,), (24,)],
        "groups of 2, 3, 6, 6 shifted": [(2,), (3,), (6,), (6, 3)],
        "groups of 3, 4, 6, 8": [(3,), (4,), (6,), (8,)],
    }
    for name, sizes in shapes.items():
        functions = [blocks(n, *size) for size in sizes]
        chance, taken = random.Random(24), []
        for _ in range(3):
            table = [chance.randrange(5) for _ in range(n)]
            forget()
            cases += 1
            run = None
            start = time.perf_counter()
            with suppress(BeyondReach):
                run = Jump(functions, 1, HALF).run(table)
                runs += 1
            taken.append(time.perf_counter() - start)
            with suppress(BeyondReach):
                sets += run is not None and all(run.disclosure_set(i) for i in range(4))
        line(f"{name}: slowest run", max(taken))
    print(f"  {runs} of {cases} runs decided, all disclosure sets counted in {sets}")


def hundreds_of_rows() -> None:
    heading("(c) chains of four full-domain functions")
    decided = cases = 0
    chance = np.random.default_rng(5)
    illnesses = [f"v{v}" for v in range(8)]
    for n, ages in [(200, 40), (500, 60), (1000, 60)]:
        rows = pa.table(
            {
                "age": chance.integers(20, 20 + ages, n),
                "sex": chance.choice(["f", "m"], n),
                "zip": chance.integers(1000, 1004, n).astype(str),
                "disease": chance.choice(illnesses, n, p=np.arange(8, 0, -1) / 36),
            }
        )
        schema = fk.Schema(
            quasi_identifiers=["age", "sex", "zip"],
            sensitive="disease",
            hierarchies={"age": {"intervals": [5, 10, 20]}, "zip": {"mask": 4}},
        )
        data = fk.Microdata(rows, schema)
        nodes = [
            "age=0, sex=0, zip=0",
            "age=1, sex=0, zip=2",
            "age=2, sex=0, zip=3",
            "age=3, sex=1, zip=4",
        ]
        for ratio in ("1/2", "1/3", "1/4"):
            for method in (Safe, Jump):
                algorithm = method(nodes, property=MaxRatio(ratio), steps=300_000)
                forget()
                cases += 1
                decided += 1
                start = time.perf_counter()
                try:
                    groups = algorithm.partition(data)
                    what = f"{groups.max() + 1} groups released"
                except fk.NoSafeRelease:
                    what = "nothing released"
                except BeyondReach:
                    what = "out of reach"
                    decided -= 1
                seconds = time.perf_counter() - start
                print(f"  {n} rows, ratio {ratio}, {method.__name__}: {what}, {seconds:.2f} s")
    print(f"  {decided} of {cases} decided exactly")


def beyond() -> None:
    heading("(d) rare sets and beyond exact reach")
    for n, sizes, values, seed in [
        (240, (4, 12, 60), "aaabbcdefg", 7),
        (200, (5, 20, 100), "aabbccde", 7),
        (200, (50, 100), "aaabbcdefg", 1),
        (40, (10, 20, 40), "aabbccdefg", 1),
        (48, (12, 24, 48), "aaabbcdefg", 1),
    ]:
        chance = random.Random(seed)
        table = [chance.choice(values) for _ in range(n)]
        functions = [blocks(n, size) for size in sizes]
        try:
            forget()
            start = time.perf_counter()
            run = Jump(functions, 1, HALF, steps=300_000).run(table)
            exact = run.disclosure_set(len(sizes) - 1)
            share = exact.size / exact.permutation_size
            what = f"exactly {float(exact.max_ratio):.4f}, {share:.1e} of the tables"
        except BeyondReach:
            what = "out of exact reach"
        print(f"  {n} rows, groups of {sizes}: {what}, {time.perf_counter() - start:.2f} s")


def main() -> None:
    against_the_paper()
    twenty_four_rows()
    hundreds_of_rows()
    beyond()


if __name__ == "__main__":
    main()
