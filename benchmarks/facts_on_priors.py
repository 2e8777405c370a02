"""Facts on top of priors: an audit of 1 M rows with and without them, one after the other.

Groups of 10 with 40 signatures and 20 values, as in `posteriors`; and how often the bound is what
enumeration finds, by amounts, on small releases.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
from tests.adversaries.test_facts import VALUES_OF_PRIORS, found_of, priors_of, release_of
from tests.oracle.facts import surest

import foreknow as fk
from benchmarks.measure import heading, line, medians
from benchmarks.posteriors import ROWS, SIGNATURES, SIZE, VALUES

AMOUNTS = [(1, 0, 0), (0, 1, 0), (1, 2, 0), (1, 2, 1)]
CASES = 300


def register(rows: int = ROWS) -> tuple[pa.Table, pa.Table]:
    """A release whose values are drawn from the priors, in groups at random; and the priors."""
    drawn = np.random.default_rng(1)
    priors = drawn.dirichlet(np.full(VALUES, 2.0), SIGNATURES)
    priors = np.maximum(np.floor(priors * 1e6) / 1e6, 1e-6) * (1 - 1e-4)
    kind = drawn.integers(0, SIGNATURES, rows)
    steps = np.cumsum(priors, axis=1)[kind]
    value = np.minimum((drawn.random(rows)[:, None] > steps).sum(axis=1), VALUES - 1)
    names = np.array([f"v{value}" for value in range(VALUES)])
    people = pa.table({"gid": np.arange(rows) // SIZE, "kind": kind, "ill": names[value]})
    cells = list(product(range(SIGNATURES), range(VALUES)))
    known = {
        "kind": [kind for kind, _ in cells],
        "value": [names[value] for _, value in cells],
        "probability": [f"{priors[cell]:.8f}" for cell in cells],
    }
    return people, pa.table(known)


def audits() -> None:
    heading(f"(i) audits of {ROWS:,} rows: priors alone, and with facts on top (l, k, m)")
    people, known = register()

    def judge(amounts: tuple[int, int, int]) -> fk.Audit:
        release = fk.Release.from_groups(people, group="gid", sensitive="ill")
        priors = fk.Priors(known, facts=fk.Facts(*amounts))
        return fk.audit(release, fk.Policy([fk.Requirement(priors, below="1/2")]))

    found = medians(
        3,
        alone=lambda: judge((0, 0, 0)),
        **{"_".join(map(str, amounts)): (lambda a=amounts: judge(a)) for amounts in AMOUNTS},
    )
    for name, seconds in found.items():
        line(name, seconds, found["alone"], limit=2 * found["alone"])


def small_groups(
    drawn: random.Random,
) -> tuple[list[dict[str, Fraction]], list[tuple[list[int], list[str]]]]:
    """Kinds of people, as rows of priors; and one or two groups: the kind of each, and a bag."""
    kinds = []
    for _ in range(drawn.randint(1, 3)):
        kinds.append({value: Fraction(drawn.randint(1, 9), 40) for value in VALUES_OF_PRIORS})
    groups = []
    for size in drawn.choice([(1,), (3,), (4,), (4,), (5,), (2, 3), (3, 3)]):
        values = VALUES_OF_PRIORS[: drawn.choice([1, 2, 3, 3, 4, 4])]
        people = [drawn.randrange(len(kinds)) for _ in range(size)]
        groups.append((people, drawn.choices(values, k=size)))
    return kinds, groups


def exactness() -> None:
    heading(f"(ii) how often the bound is what enumeration finds, of {CASES} small releases each")
    for amounts in [*AMOUNTS, (0, 0, 1), (1, 1, 0), (0, 2, 0)]:
        met = Counter[bool]()
        for case in range(CASES):
            drawn = random.Random(f"{amounts} {case}")
            kinds, groups = small_groups(drawn)
            if found_of(kinds, groups, "joint", fk.Facts()) is None:
                continue
            held = [([kinds[i] for i in people], bag) for people, bag in groups]
            found = priors_of(kinds, "joint", fk.Facts(*amounts)).disclosures(release_of(groups))
            for value, one in found.items():
                true = surest(held, value, amounts)
                assert one.settled >= true
                if true < 1:
                    met[one.settled == true] += 1
        print(f"{amounts}: {met[True]} of {met.total()} below 1")


if __name__ == "__main__":
    audits()
    exactness()
