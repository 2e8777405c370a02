"""ART with limits of all sorts against enumeration: r, times the prior, some values, several."""

import os

import numpy as np
import pytest
from tests.methods.art_tables import some_limits
from tests.oracle.art_worlds import exists, keeps

from foreknow.errors import NoSafeRelease
from foreknow.methods.art.infeasibility import ArtNames, impossible
from foreknow.methods.art.judge import safe_groups
from foreknow.methods.art.search import robust_groups

TIMES = 20 if os.environ.get("FOREKNOW_NIGHTLY") else 1
READINGS = ("joint", "binary")


def members(groups):
    return [np.flatnonzero(groups == g).tolist() for g in range(int(groups.max()) + 1)]


@pytest.mark.parametrize("reading", READINGS)
def test_the_judge_agrees_with_enumeration(reading):
    said = set()
    for table in some_limits(1, reading, 200 * TIMES, (1, 7), 4):
        problem = table.problem
        whole = np.zeros(problem.n_people, dtype=np.int64)
        found = safe_groups(problem, whole, problem.profiles, problem.values, 1)[0]
        if problem.unique and len(set(table.values)) < len(table.values):
            assert not found
            continue
        assert found == keeps(table.people, table.values, table.asked, reading), table
        said.add(bool(found))
    assert said == {True, False}


@pytest.mark.parametrize("reading", READINGS)
def test_small_tables_are_grouped_whenever_they_can_be(reading):
    can = 0
    for table in some_limits(2, reading, 120 * TIMES, (2, 7), 4):
        problem = table.problem
        if problem.unique:
            continue
        able = exists(table.people, table.values, None, reading, asked=table.asked)
        can += able
        try:
            groups = robust_groups(problem, 0)
        except NoSafeRelease:
            assert not able, table
        else:
            check(table, groups)
    assert can


def check(table, groups, most=7):
    people = table.people
    for group in members(groups):
        if len(group) <= most:
            own = [people[t] for t in group], [table.values[t] for t in group]
            assert keeps(*own, table.asked, table.reading), (table, group)


@pytest.mark.parametrize("reading", READINGS)
def test_tables_that_are_searched_are_grouped_soundly(reading):
    found = 0
    for table in some_limits(3, reading, 12 * TIMES, (13, 22), 5, even=True):
        problem = table.problem
        try:
            groups = robust_groups(problem, 0)
        except NoSafeRelease:
            continue
        found += 1
        check(table, groups)
        people = problem.profiles, problem.values, int(groups.max()) + 1
        assert safe_groups(problem, groups, *people).all()
    assert found


@pytest.mark.parametrize("reading", READINGS)
def test_proofs_that_there_is_none_are_right(reading):
    proved = 0
    for table in some_limits(4, reading, 150 * TIMES, (2, 7), 4):
        problem = table.problem
        if not problem.unique and impossible(problem, ArtNames()):
            proved += 1
            assert not exists(table.people, table.values, None, reading, asked=table.asked), table
    assert proved
