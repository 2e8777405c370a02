"""Posteriors given concrete statements: steps of exact inference and seconds.

Releases of groups of 100 people with 20 values. Statements are random, and hold in a hidden world.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from itertools import pairwise

import pyarrow as pa

import foreknow as fk
from benchmarks.measure import heading

VALUES = [f"v{i}" for i in range(20)]


def make(groups: int, chance: random.Random) -> tuple[fk.Release, dict[str, str]]:
    """A release of groups of 100, and the hidden world."""
    world = {
        f"p{g}.{i}": value
        for g in range(groups)
        for i, value in enumerate(chance.choices(VALUES, range(40, 20, -1), k=100))
    }
    names = list(world)
    table = pa.table(
        {
            "name": names,
            "group": [name.split(".")[0] for name in names],
            "disease": list(world.values()),
        }
    )
    release = fk.Release.from_groups(table, group="group", sensitive="disease", person="name")
    return release, world


def said(people: list[str], world: dict[str, str], chance: random.Random) -> str:
    """A random statement about one or two people that holds in the world."""
    a, b = chance.sample(people, 2) if len(people) > 1 else people * 2
    kind = chance.choice(["->", "->", "->", "!=", "!=", "or", "="])
    x, y = chance.choices(VALUES, k=2)
    if kind == "=" and chance.random() < 0.3:
        return f"{a} = {world[a]}"
    if kind == "!=":
        while x == world[a]:
            x = chance.choice(VALUES)
        return f"{a} != {x}"
    if kind == "or":
        return f"{a} = {x} or {b} = {world[b]} or {b} = {y}"
    if world[a] == x:
        y = world[b]
    return f"{a} = {x} -> {b} = {y}"


def measure(name: str, statements: Iterable[str], release: fk.Release, people: list[str]) -> None:
    """Ask for all posteriors of some people, and print how long it took."""
    start = time.perf_counter()
    known = fk.Statements(*statements)
    rows = known.posteriors(release, people=people)
    answers = [row[value] for row in rows.values() for value in row]
    seconds = time.perf_counter() - start
    case = known._case(release)
    moved = max(answers, key=lambda answer: answer.probability - float(answer.before or 0))
    print(
        f"  {name}: {len(answers)} posteriors in {seconds:.2f} s, {case.steps:,} steps\n"
        f"    most was learned of {moved.person}, {moved.value}: "
        f"{float(moved.before or 0):.4f} -> {moved.probability:.4f}"
    )


def main() -> None:
    heading("(f) statements")
    chance = random.Random(1)
    release, world = make(30, chance)
    people = [name for name in world if name.endswith((".0", ".1"))]

    clusters = [people[i : i + 5] for i in range(0, 60, 5)]  # two or three groups each
    some = [said(chance.choice(clusters), world, chance) for _ in range(200)]
    measure("200 statements about 60 people in 30 groups", some, release, people)

    chain = [
        f"{a} = {x} -> {b} = {world[b] if world[a] == x else y}"
        for a, b in pairwise(people)
        for x, y in [chance.choices(VALUES, k=2)]
    ]
    measure("a chain of 60 people in 30 groups", chain, release, people)

    one = [f"p0.{i}" for i in range(60)]
    lacks = [f"{name} != {chance.choice([v for v in VALUES if v != world[name]])}" for name in one]
    measure("60 people of one group, each without a value", lacks, release, one)

    infects = [f"{a} = v0 -> {b} = v0" for a, b in pairwise(one)]
    measure("a chain of 60 people in one group", infects, release, one)

    family = [f"p1.{i}" for i in range(5)]
    measure(
        "5 people of one group with the same value", [f"same({', '.join(family)})"], release, family
    )

    crowd = [f"p2.{i}" for i in range(40)]
    dense = [said(crowd, world, chance) for _ in range(60)]
    start = time.perf_counter()
    try:
        measure("60 statements among 40 people of one group", dense, release, crowd[:5])
    except fk.InputError as refused:
        print(f"  60 statements among 40 people: refused after {time.perf_counter() - start:.2f} s")
        print(f"    {refused}")


if __name__ == "__main__":
    main()
