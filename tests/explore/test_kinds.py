"""Kinds against what an audit says of every person: the same people, groups and worst case."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import foreknow as fk
from foreknow.auditing.audit import audit
from foreknow.explore.kinds import Kinds


def drawn(random, values):
    return list(random.choice(list(values), random.integers(0, 4)))


def some_counts(random, semantics):
    values = "abcde"[: random.integers(2, 6)]
    groups = []
    for _ in range(random.integers(1, 12)):
        size = int(random.integers(1, 7))
        if semantics == "single":
            groups.append(list(random.choice(list(values), size)))
        elif semantics == "set":
            groups.append([set(drawn(random, values)) for _ in range(size)])
        else:
            groups.append([drawn(random, values) for _ in range(size)])
    if semantics == "single":
        return fk.GroupCounts.from_bags(groups)
    return fk.GroupCounts.from_people(groups, semantics=semantics)


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_kinds_say_what_an_audit_says(semantics):
    random = np.random.default_rng(5)
    compared = 0
    for _ in range(10):
        counts = some_counts(random, semantics)
        if not len(counts.codes):
            continue
        for amounts, limit in product(
            [(0, 0, 0), (1, 1, 0), (0, 2, 1), (2, 1, 2)],
            ["1/3", "1/2", "2/3", "1"],
        ):
            requirement = fk.Requirement(fk.Facts(*amounts), below=limit)
            found = audit(counts, fk.Policy([requirement]), learned=False)
            every = np.ones(counts.n_values, bool)
            (verdict,), (exposed,) = found.verdicts, found.exposed
            about = Kinds.of(counts, amounts[0]).judged(requirement.points[0], every)
            assert about.worst().exact == verdict.disclosure.exact
            assert about.over() == exposed.over
            assert about.certain() == exposed.certain
            top = next(about.ranked(3))[3]
            assert top.exact == verdict.disclosure.exact
            compared += 1
    assert compared > 100


def test_kinds_of_one_value_leave_the_others_out():
    counts = fk.GroupCounts.from_bags([["a", "a", "b"], ["b", "c", "c", "c"]])
    point = fk.Requirement(fk.Facts(), below=0.5).points[0]
    about = Kinds.of(counts, 0).judged(point, np.array([v == "b" for v in counts.values]))
    assert about.worst().value == "b"
    assert about.worst().exact == Fraction(1, 3)
    assert about.over().people == 0
