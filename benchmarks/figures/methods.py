"""The methods that are compared, all of which keep every value at 1/l of its group."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import foreknow as fk

# What the paper gives GDA: one quasi-identifier of two values counts most.
FOREMOST = {"gender": 10_000, "sex": 10_000}
# As each method is published: Anatomy leaves the quasi-identifiers exact.
FORMS = {
    "RDA": "generalized",
    "GDA": "generalized",
    "GSA": "generalized",
    "Mondrian": "generalized",
    "Anatomy": "bucketized",
}


def grouped(microdata: fk.Microdata, l: int) -> Iterator[tuple[str, NDArray[np.int64]]]:  # noqa: E741
    """Partition a table by each method that finds groups; GDA may get stuck."""
    for name in FORMS:
        try:
            yield name, groups_of(name, microdata, l)
        except fk.NoSafeRelease as why:
            print(f"  l = {l}, {name}: {why}")


def groups_of(name: str, microdata: fk.Microdata, l: int) -> NDArray[np.int64]:  # noqa: E741
    """Partition a table by the method of a name, with a seed, since nothing is published."""
    method: Any
    policy = None
    if name == "Anatomy":
        method = fk.Anatomy(l)
    elif name == "Mondrian":
        method, policy = fk.Mondrian(), _at_most(l, microdata.n_people)
    else:
        known = microdata.schema.quasi_identifiers
        weights = {q: weight for q, weight in FOREMOST.items() if q in known}
        method = fk.Streamliner(l, name.lower(), weights if name == "GDA" else {})  # type: ignore[arg-type]
    groups: NDArray[np.int64] = method.partition(microdata, policy, seed=l)
    return groups


def _at_most(l: int, people: int) -> fk.Policy:  # noqa: E741
    """A policy whose strict limit lets a share of 1/l pass and no higher share of a group."""
    limit = Fraction(1, l) + Fraction(1, 2 * l * people)
    return fk.Policy([fk.Requirement(fk.Facts(), below=limit)])
