"""Publish a register of several diagnoses per person, in both forms, verified as written.

100,000 people with 1 to 6 diagnoses each, or none. What it costs is printed beside NumPy's sort of
as many whole numbers as there are rows, as a measure of the machine.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.people import DIAGNOSES, diagnoses

import foreknow as fk
from benchmarks.measure import heading, line


def policy(semantics: str) -> fk.Policy:
    """Every diagnosis against a few facts of each kind; the common ones may be guessed better."""
    schema = fk.Schema(
        identifiers=["person"],
        quasi_identifiers=["age", "sex", "zip"],
        sensitive="diagnosis",
        person="person",
        semantics=semantics,  # type: ignore[arg-type]
        hierarchies={"zip": {"mask": 5}},
    )
    common = DIAGNOSES[:3]
    requirements = [
        fk.Requirement(fk.Facts(l=1, k=2, m=1), below="9/10", values=common, name="common"),
        fk.Requirement(fk.Facts(l=2, k=3, m=2), below="3/4", excluded=common, name="others"),
    ]
    return fk.Policy(requirements, schema)


def run(people: int, semantics: str) -> None:
    """Search once, publish and verify in both forms."""
    table = diagnoses(people, seed=1, semantics=semantics)
    rules = policy(semantics)
    base = np.random.default_rng(0).integers(0, 2**62, len(table))
    start = time.perf_counter()
    np.sort(base)
    floor = time.perf_counter() - start
    heading(f"{people:,} people, {len(table):,} rows, {semantics}")
    start = time.perf_counter()
    groups = fk.Mondrian().partition(fk.Microdata(table, rules.schema), rules)
    line(f"partition: {groups.max() + 1:,} groups", time.perf_counter() - start, floor)
    for form in ("generalized", "bucketized"):
        options = fk.PublishOptions(form=form)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            start = time.perf_counter()
            made = fk.publish(fk.Microdata(table, rules.schema), rules, options=options, seed=0)
            certificate = made.write(out)
            line(f"publish and verify, {form}", time.perf_counter() - start, floor)
            start = time.perf_counter()
            problems = certificate.check(out)
            line("verify again from the files", time.perf_counter() - start, floor)
            if problems or not made.audit.safe:
                raise SystemExit(f"the release does not hold: {problems}")


def main() -> None:
    """Run both semantics."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    people = parser.parse_args().people
    for semantics in ("set", "multiset"):
        run(people, semantics)


if __name__ == "__main__":
    main()
