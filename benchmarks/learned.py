"""What can be learned from a release itself: the figures of the documentation, and speed.

    python benchmarks/learned.py            made-up people, as in the documentation
    python benchmarks/learned.py adult.csv  and Adult: methods, forms, columns
    python benchmarks/learned.py --large    and a million rows

Guesses are measured by who has which value, which the estimate never sees.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import foreknow as fk


def made_up(share: float, people: int = 3000, jobs: int = 6, seed: int = 1) -> pa.Table:
    """People whose disease goes with their job so often, else with any other."""
    random = np.random.default_rng(seed)
    job = random.integers(0, jobs, people)
    own = random.random(people) < share
    disease = np.where(own, job, (job + random.integers(1, jobs, people)) % jobs)
    return pa.table(
        {
            "job": [f"job {j}" for j in job],
            "age": random.integers(18, 80, people),
            "disease": [f"disease {d}" for d in disease],
        }
    )


def bucketized(table: pa.Table, schema: fk.Schema, method: object, policy: fk.Policy) -> fk.Release:
    """The groups of a method, with everybody's exact columns."""
    microdata = fk.Microdata(table, schema)
    group = method.partition(microdata, policy, seed=3)  # type: ignore[attr-defined]
    rows = table.append_column("group", pa.array(group))
    return fk.Release.from_groups(rows, group="group", sensitive=schema.sensitive)


def line(name: str, release: fk.Release, by: list[str]) -> None:
    """One line of the table."""
    started = time.perf_counter()
    adversary = fk.Learned(by)
    found = adversary.disclosure(release)
    took = time.perf_counter() - started
    guesses = adversary.guesses(release, measured=True)
    alone = max(d.probability for d in fk.Facts().disclosures(release).values())
    shares = (x / guesses.people for x in (guesses.learned, guesses.statistics, guesses.groups))
    right = "  ".join(f"{100 * share:5.1f}%" for share in shares)
    counts = release.counts
    average = counts.n_people / counts.n_groups
    print(
        f"{name:<34} {', '.join(by):<16} {average:6.1f}  {alone:6.3f}  {found.probability:6.3f}  "
        f"{right}  {took:6.2f} s",
        flush=True,
    )


HEAD = (
    f"{'release':<34} {'by':<16} {'people':>6}  {'groups':>6}  {'learns':>6}  "
    "right: learned, statistics, groups"
)


def methods(limit: str, l: int) -> dict[str, object]:  # noqa: E741
    """Methods at comparable strictness."""
    return {
        f"RDA, l = {l}": fk.Streamliner(l, "rda"),
        f"GSA, l = {l}": fk.Streamliner(l, "gsa"),
        f"Anatomy, l = {l}": fk.Anatomy(l),
        f"Mondrian below {limit}": fk.Mondrian(),
    }


def main() -> None:
    """Print the tables."""
    schema = fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.4")], schema)
    print(HEAD)
    for share in (0.7, 0.4, 0.25, 1 / 6):
        table = made_up(share)
        for name, method in methods("0.4", 3).items():
            release = bucketized(table, schema, method, policy)
            line(f"made up, {100 * share:.0f}%: {name}", release, ["job"])
    for path in [argument for argument in sys.argv[1:] if not argument.startswith("--")]:
        table = pc.read_csv(path)
        known = ["age", "education", "marital-status", "race", "sex"]
        schema = fk.Schema(quasi_identifiers=known, sensitive="occupation")
        policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.4")], schema)
        for name, method in methods("0.4", 4).items():
            release = bucketized(table, schema, method, policy)
            for by in (["sex"], ["education"], ["age"], ["education", "sex"]):
                line(f"Adult: {name}", release, by)
    if "--large" in sys.argv:
        table = made_up(0.5, people=1_000_000)
        schema = fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease")
        for people in (250_000, 1_000_000):
            part = table.slice(0, people)
            release = bucketized(part, schema, fk.Streamliner(4, "rda"), policy)
            line(f"made up, 50%: {people:,} people", release, ["job"])
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"  at most {peak:,.0f} MB in all", flush=True)


if __name__ == "__main__":
    main()
