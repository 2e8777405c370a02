"""ART's core against enumeration: no group breaks r-robustness, and what exists is found."""

import os
from fractions import Fraction

import numpy as np
import pytest
from tests.methods.art_tables import ArtTable, random_table, some_limits
from tests.oracle.art_worlds import exists, keeps, printed_art, robust

from foreknow.adversaries.priors.signature_groups import matrix
from foreknow.errors import NoSafeRelease
from foreknow.methods.art.infeasibility import ArtNames, impossible
from foreknow.methods.art.judge import safe_groups
from foreknow.methods.art.problem import ArtProblem
from foreknow.methods.art.search import robust_groups

TIMES = 80 if os.environ.get("FOREKNOW_NIGHTLY") else 1
READINGS = ("joint", "binary")


KINDS = ("different", "repeated", "limits")


def tables(kind, seed, reading, many, sizes, n_values, even=False):
    """Random tables: each value once in a group, or repeated, or with limits of all sorts."""
    if kind == "limits":
        found = some_limits(seed, reading, many, sizes, n_values, even)
        return [table for table in found if not table.problem.unique]
    random = np.random.default_rng([seed, reading == "joint"])
    unique = kind == "different"
    return [
        random_table(random, sizes, n_values, reading, unique=unique, even=even)
        for _ in range(many)
    ]


def can_be_grouped(table):
    if table.asked is not None:
        return exists(table.people, table.values, None, table.reading, asked=table.asked)
    return exists(table.people, table.values, table.r, table.reading, table.unique)


def check(table, groups):
    """Judge every group by enumeration, if it is not too large; and all by the judge."""
    people = table.people
    for number in range(int(groups.max()) + 1):
        group = np.flatnonzero(groups == number).tolist()
        own = [people[t] for t in group], [table.values[t] for t in group]
        if table.asked is not None:
            assert len(group) > 7 or keeps(*own, table.asked, table.reading), (table, group)
        elif table.unique or len(group) <= 7:
            assert len(group) >= table.r
            assert robust(*own, table.r, table.reading, table.unique), (table, group)
    own = table.problem.profiles, table.problem.values, int(groups.max()) + 1
    assert safe_groups(table.problem, groups, *own).all()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("kind", "many", "sizes", "n_values"),
    [
        ("different", 40, (2, 9), 5),
        ("repeated", 15, (2, 7), 4),
        ("limits", 30, (2, 7), 4),
    ],
)
def test_small_tables_are_grouped_soundly_whenever_they_can_be(
    kind, many, sizes, n_values, reading
):
    for table in tables(kind, 5, reading, many * TIMES, sizes, n_values):
        proved = bool(impossible(table.problem, ArtNames()))
        try:
            groups = robust_groups(table.problem, 0)
        except NoSafeRelease:
            assert not can_be_grouped(table), table
        else:
            assert not proved
            check(table, groups)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("kind", "many", "sizes", "n_values"),
    [
        ("different", 20, (13, 40), 6),
        ("repeated", 6, (13, 22), 4),
        ("limits", 8, (13, 22), 5),
    ],
)
def test_tables_that_are_searched_are_grouped_soundly(kind, many, sizes, n_values, reading):
    found = 0
    for table in tables(kind, 7, reading, many * TIMES, sizes, n_values, even=True):
        try:
            groups = robust_groups(table.problem, 0)
        except NoSafeRelease:
            continue
        found += 1
        check(table, groups)
    assert found


@pytest.mark.thinned(2)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_proofs_that_there_is_none_are_right(kind, reading):
    proved = 0
    for table in tables(kind, 9, reading, 24 * TIMES, (2, 8), 4):
        if impossible(table.problem, ArtNames()):
            proved += 1
            assert not can_be_grouped(table), table
    assert proved


@pytest.mark.parametrize("reading", READINGS)
def test_the_judge_agrees_with_enumeration(reading):
    said = set()
    for table in some_limits(1, reading, 60 * TIMES, (1, 7), 4):
        problem = table.problem
        whole = np.zeros(problem.n_people, dtype=np.int64)
        found = safe_groups(problem, whole, problem.profiles, problem.values, 1)[0]
        if problem.unique and len(set(table.values)) < len(table.values):
            assert not found
            continue
        assert found == keeps(table.people, table.values, table.asked, reading), table
        said.add(bool(found))
    assert said == {True, False}


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
        (ArtTable([[0]], [0], [same(2)], Fraction(2), "joint"), "too frequent"),
        (
            ArtTable(
                [[0, 0, 1, 1]],
                [0, 1, 0, 1],
                [[[Fraction(1), Fraction(0)], [Fraction(1, 2)] * 2]],
                Fraction(2),
                "joint",
            ),
            "the prior is above 0 for 2 only",
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
