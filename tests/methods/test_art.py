"""ART's core against enumeration: no group breaks r-robustness, and what exists is found."""

import os
from fractions import Fraction

import numpy as np
import pytest
from tests.methods.art_tables import ArtTable, random_table
from tests.oracle.art_worlds import exists, printed_art, robust

from foreknow.adversaries.priors.signature_groups import matrix
from foreknow.errors import NoSafeRelease
from foreknow.methods.art.judge import safe_groups
from foreknow.methods.art.problem import ArtProblem
from foreknow.methods.art.search import robust_groups

TIMES = 20 if os.environ.get("FOREKNOW_NIGHTLY") else 1
READINGS = ("joint", "binary")


def members(groups):
    return [np.flatnonzero(groups == g).tolist() for g in range(int(groups.max()) + 1)]


def check(table, groups):
    """Judge every group by enumeration."""
    people = table.people
    for group in members(groups):
        assert len(group) >= table.r
        own = [people[t] for t in group], [table.values[t] for t in group]
        assert robust(*own, table.r, table.reading, table.unique), (table, group)


@pytest.mark.parametrize("reading", READINGS)
def test_small_tables_are_grouped_soundly_whenever_they_can_be(reading):
    random = np.random.default_rng([5, reading == "joint"])
    for _ in range(150 * TIMES):
        table = random_table(random, (2, 9), 5, reading)
        can = exists(table.people, table.values, table.r, reading)
        try:
            groups = robust_groups(table.problem, 0)
        except NoSafeRelease:
            assert not can, table
        else:
            check(table, groups)


@pytest.mark.parametrize("reading", READINGS)
def test_values_may_be_repeated_where_that_is_allowed(reading):
    random = np.random.default_rng([6, reading == "joint"])
    for _ in range(60 * TIMES):
        table = random_table(random, (2, 7), 4, reading, unique=False)
        can = exists(table.people, table.values, table.r, reading, unique=False)
        try:
            groups = robust_groups(table.problem, 0)
        except NoSafeRelease:
            assert not can, table
        else:
            check(table, groups)


@pytest.mark.parametrize("reading", READINGS)
def test_tables_that_are_searched_are_grouped_soundly(reading):
    random = np.random.default_rng([7, reading == "joint"])
    found = 0
    for _ in range(40 * TIMES):
        table = random_table(random, (13, 40), 6, reading, even=True)
        try:
            groups = robust_groups(table.problem, 0)
        except NoSafeRelease:
            continue
        found += 1
        check(table, groups)
    assert found


def test_searched_tables_without_uniqueness_are_sound():
    random = np.random.default_rng(8)
    for _ in range(10 * TIMES):
        table = random_table(random, (13, 22), 4, "joint", unique=False, even=True)
        try:
            groups = robust_groups(table.problem, 0)
        except NoSafeRelease:
            continue
        small = [g for g in members(groups) if len(g) <= 7]
        people = table.people
        for group in small:
            own = [people[t] for t in group], [table.values[t] for t in group]
            assert robust(*own, table.r, "joint", unique=False)
        own = table.problem.profiles, table.problem.values, int(groups.max()) + 1
        assert safe_groups(table.problem, groups, *own).all()


def test_the_printed_method_breaks_what_it_promises():
    # Errata, section 3: the condition holds for every value, the posterior is 25/43.
    near = [Fraction(1, 10), Fraction(6, 100), Fraction(6, 100)]
    other = [Fraction(6, 100), Fraction(1, 10), Fraction(1, 10)]
    table = ArtTable([[0, 1, 1]], [0, 1, 2], [[near, other]], Fraction(2), "joint")
    assert printed_art(table.people, table.values, table.r) == [[0, 1, 2]]
    assert not robust(table.people, table.values, table.r, "joint")
    assert robust(table.people, table.values, table.r, "binary")
    with pytest.raises(NoSafeRelease, match="exhaustive search"):
        robust_groups(table.problem)


def test_a_group_that_fails_the_quick_condition_may_be_safe():
    # Zero and not: nobody but 1 and 2 can have value 2, so each has it with one half.
    zero = [["1/2", "1/2", "0"], ["1/4", "1/4", "1/2"]]
    rows = [[Fraction(x) for x in row] for row in zero]
    table = ArtTable([[0, 1, 1]], [0, 1, 2], [rows], Fraction(2), "joint")
    assert robust(table.people, table.values, table.r, "joint")
    assert robust_groups(table.problem).tolist() == [0, 0, 0]


@pytest.mark.parametrize("reading", READINGS)
def test_the_same_seed_gives_the_same_groups(reading):
    random = np.random.default_rng(1)
    signatures, values = random.integers(0, 4, 500), random.integers(0, 9, 500)
    priors = matrix(random.dirichlet(np.full(9, 60.0), 4))
    problem = ArtProblem.of_signatures(
        [signatures], [priors], values, random.random((500, 3)), r=3, reading=reading
    )
    first, again = (robust_groups(problem, 3) for _ in range(2))
    assert (first == again).all()


def same(n_values):
    return [[Fraction(1, n_values)] * n_values]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (ArtTable([[0] * 5], [0, 0, 0, 1, 2], [same(3)], Fraction(2), "joint"), "too frequent"),
        (ArtTable([[0]], [0], [same(2)], Fraction(2), "joint"), "only 1 people"),
        (
            ArtTable(
                [[0, 0, 1, 1]],
                [0, 1, 0, 1],
                [[[Fraction(1), Fraction(0)], [Fraction(1, 2)] * 2]],
                Fraction(2),
                "joint",
            ),
            "only 1 of the values have a prior above 0",
        ),
        (
            ArtTable(
                [[0, 1, 1, 1]],
                [0, 1, 2, 1],
                [
                    [
                        [Fraction(1, 3)] * 3,
                        [Fraction(0), Fraction(1, 2), Fraction(1, 2)],
                    ]
                ],
                Fraction(2),
                "joint",
            ),
            "the prior is above 0 for 1 only",
        ),
        (
            ArtTable(
                [[0, 1, 1]],
                [0, 1, 2],
                [
                    [
                        [Fraction(98, 100), Fraction(1, 100), Fraction(1, 100)],
                        [Fraction(1, 10), Fraction(4, 10), Fraction(5, 10)],
                    ]
                ],
                Fraction(2),
                "joint",
            ),
            "exhaustive search",
        ),
    ],
)
def test_why_there_is_none_is_said(table, said):
    assert not exists(table.people, table.values, table.r, table.reading)
    with pytest.raises(NoSafeRelease, match=said):
        robust_groups(table.problem)


@pytest.mark.parametrize("reading", READINGS)
def test_proofs_that_there_is_none_are_right(reading):
    from foreknow.methods.art.infeasibility import ArtNames, impossible

    random = np.random.default_rng([9, reading == "joint"])
    proved = 0
    for i in range(150 * TIMES):
        table = random_table(random, (2, 8), 4, reading, unique=i % 3 > 0)
        if impossible(table.problem, ArtNames()):
            proved += 1
            assert not exists(table.people, table.values, table.r, reading, table.unique), table
    assert proved
