"""Five yearly releases of one register: what an adversary has of all, and what cohorts cost.

People stay for 95 of 100 years on average, and are a year older each time. Whoever holds five
releases that were made anew each year multiplies what each says of a person's value. Published
once each, all releases are one, and the policy holds of it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

import foreknow as fk
from benchmarks.measure import heading
from foreknow.data.arrays import IntArray

PEOPLE, YEARS, STAY = 5_000, 5, 0.95
ILLS = [f"{letter}{number:02d}" for letter in "ABCDE" for number in range(8)]
COHORTS = (1, 2, 5, 10)


def policy() -> fk.Policy:
    roles: dict[str, Any] = {"identifiers": ["pid"], "sensitive": "ill"}
    schema = fk.Schema(quasi_identifiers=["age", "sex", "zip"], **roles)
    required = [
        fk.Requirement(fk.Facts(1, 3, 1), below="1/2"),
        fk.Requirement(fk.Facts(2, 5, 2), below="1/4", values=["B01"]),
        fk.Requirement(fk.KAnonymity(5)),
    ]
    return fk.Policy(required, schema)


def register(people: int, random: np.random.Generator) -> dict[str, Any]:
    shares = random.dirichlet(np.full(len(ILLS), 0.6))
    return {
        "pid": [f"p{i}" for i in range(people)],
        "age": random.integers(18, 85, people),
        "sex": random.choice(["f", "m"], people),
        "zip": random.integers(100, 140, people),
        "ill": random.choice(ILLS, people, p=shares),
    }


def chosen(table: dict[str, Any], rows: IntArray, years: int = 0) -> pa.Table:
    own = {name: np.asarray(column)[rows] for name, column in table.items()}
    return pa.table({**own, "age": own["age"] + years})


def beliefs(parts: Sequence[fk.Release], ills: Sequence[str], names: Sequence[str]) -> Any:
    """How sure somebody is of everybody's true value who multiplies what each release says."""
    place = {ill: code for code, ill in enumerate(ILLS)}
    often = np.zeros(len(ILLS))
    for part in parts:
        codes = [place[str(value)] for value in part.counts.values]
        often[codes] += part.counts.totals
    usual = np.log(np.maximum(often, 1e-9) / often.sum())
    total = np.tile(usual, (len(names), 1))
    for part in parts:
        counts = part.counts
        shares = np.zeros((counts.n_groups, len(ILLS)))
        rows = np.repeat(np.arange(counts.n_groups), np.diff(counts.offsets))
        codes = np.array([place[str(value)] for value in counts.values])[counts.codes]
        shares[rows, codes] = counts.counts / counts.sizes[rows]
        members = zip(map(str, part.members.names), part.members.groups.tolist(), strict=True)
        inside = dict(members)
        of = np.array([inside.get(name, -1) for name in names])
        there = of >= 0
        with np.errstate(divide="ignore"):
            total[there] += np.log(shares[of[there]]) - usual
    weights = np.exp(total - total.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights[np.arange(len(names)), [place[ill] for ill in ills]]


def figure(anew: Sequence[int], once: Sequence[int]) -> str:
    """How many people somebody is sure of after each year, two bars beside each other."""
    ink, own, other = "#3d4650", "#d64545", "#2f7ed8"
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420 220" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{ink}">',
        "<title>People of whom somebody is surer than 1/2 of the truth, by year: "
        f"{', '.join(map(str, anew))} where the release is made anew each year, "
        f"{', '.join(map(str, once))} where each person is published once.</title>",
        '<rect width="420" height="220" fill="#fff"/>',
        '<text x="20" y="20">people, surer than 1/2 of their illness</text>',
    ]
    for place, (high, low) in enumerate(zip(anew, once, strict=True)):
        left = 30 + 76 * place
        for at, many, colour in ((0, high, own), (30, low, other)):
            tall = 130 * many / max(anew)
            parts.append(
                f'<rect x="{left + at}" y="{175 - tall:.1f}" width="26" '
                f'height="{max(tall, 1):.1f}" fill="{colour}"/>'
                f'<text x="{left + at + 13}" y="{170 - tall:.1f}" text-anchor="middle">'
                f"{many}</text>"
            )
        parts.append(f'<text x="{left + 28}" y="192" text-anchor="middle">year {place + 1}</text>')
    for left, text, colour in ((30, "made anew", own), (150, "each person once", other)):
        parts.append(
            f'<rect x="{left}" y="203" width="10" height="10" fill="{colour}"/>'
            f'<text x="{left + 15}" y="212">{text}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    random, rules = np.random.default_rng(2), policy()
    newcomers = round(PEOPLE * (1 - STAY))
    table = register(PEOPLE + newcomers * (YEARS - 1), random)
    names, ills = list(table["pid"]), list(table["ill"])
    of_year, present = [], np.arange(PEOPLE)
    for year in range(YEARS):
        of_year.append(present)
        stay = random.random(len(present)) < STAY
        first = PEOPLE + newcomers * year
        present = np.concatenate((present[stay], np.arange(first, first + newcomers)))
    heading(f"{PEOPLE:,} people, {YEARS} years, {STAY:.0%} stay; each release safe by itself")
    print(f"  {'':<24}{'surer than 1/2 of the truth, after years 1 to ' + str(YEARS):<44}")
    with TemporaryDirectory() as place:
        parts: list[fk.Release] = []
        over: list[int] = []
        for year, rows in enumerate(of_year):
            folder = f"{place}/anew{year}"
            fk.publish(chosen(table, rows, year), rules, seed=year, learned=False).write(folder)
            parts.append(fk.named_release(folder))
            over.append(int((beliefs(parts, ills, names) > 0.5).sum()))
        print(f"  {'made anew each year':<24}{over}")
        anew, over, folders = over, [], list[str]()
        for year, rows in enumerate(of_year):
            made = fk.publish(
                chosen(table, rows, year), rules, seed=year, after=folders, learned=False
            )
            folders.append(f"{place}/after{year}")
            made.write(folders[-1])
            parts = [fk.named_release(folder) for folder in folders]
            over.append(int((beliefs(parts, ills, names) > 0.5).sum()))
        print(f"  {'each person once':<24}{over}")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(figure(anew, over), "utf-8")
    heading("What cohorts cost: the same people, who arrive in so many parts")
    print(f"  {'cohorts':>8}{'groups':>8}{'NCP':>8}{'query error':>13}")
    everybody = register(PEOPLE, random)
    whole = fk.Microdata(chosen(everybody, np.arange(PEOPLE)), rules.schema)
    for many in COHORTS:
        order, groups, first, lost = random.permutation(PEOPLE), np.zeros(PEOPLE, int), 0, 0.0
        for rows in np.array_split(order, many):
            microdata = fk.Microdata(chosen(everybody, rows), rules.schema)
            own = fk.Mondrian().partition(microdata, rules, seed=1)
            made = fk.publish(microdata, rules, seed=1, learned=False)
            lost += sum(made.utility.ncp.values()) / len(made.utility.ncp) * len(rows) / PEOPLE
            groups[rows], first = own + first, first + int(own.max()) + 1
        error = fk.query_error_of_groups(whole, groups).median
        print(f"  {many:>8}{first:>8}{lost:>8.3f}{error:>13.2%}")


if __name__ == "__main__":
    main()
