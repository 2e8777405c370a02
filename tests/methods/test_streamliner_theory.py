"""The examples of "Privacy Streamliner", to the letter, and where its theorem 1 fails."""

import doctest
from fractions import Fraction

import pytest
from examples.streamliner_theory import (
    family,
    is_l_cover,
    is_safe_set,
    largest_safe_sets,
    locally_safe,
    minimal_partition,
    partition,
    possible_tables,
    worst_posterior,
)

from examples import streamliner_theory

T0 = {"Ada": "flu", "Bob": "flu", "Coy": "cold", "Dan": "cold", "Eve": "HIV"}
PARTS = """
Ada Coy|Bob Dan Eve, Ada Dan|Bob Coy Eve, Ada Eve|Bob Coy Dan, Bob Coy|Ada Dan Eve,
Bob Dan|Ada Coy Eve, Bob Eve|Ada Coy Dan, Coy Eve|Ada Bob Dan, Dan Eve|Ada Bob Coy,
Ada Bob Coy Dan Eve
"""
P = [partition(*own.strip().split("|")) for own in PARTS.split(",")]
# Table 1, one column per table: Ada, Bob, Coy, Dan, Eve.
COLUMNS = """
    flu cold flu cold flu cold flu cold HIV HIV
    flu cold flu cold HIV HIV flu cold flu cold
    cold flu cold flu cold flu HIV HIV cold flu
    cold flu HIV HIV cold flu cold flu cold flu
    HIV HIV cold flu flu cold cold flu flu cold
"""
TABLES = [
    dict(zip(T0, column, strict=True))
    for column in zip(*(row.split() for row in COLUMNS.strip().splitlines()), strict=True)
]
MOST = Fraction(2, 3)


def known(partitions, released=None):
    """Which of the ten tables are possible, from 1; all possible ones must be among them."""
    found = possible_tables(partitions, T0, MOST, released)
    return sorted(TABLES.index(table) + 1 for table in found)


def those(*numbers):
    return {P[number - 1] for number in numbers}


def test_table_1():
    """All nine locally safe partitions tell Eve; without the seventh, the third tells Ada."""
    assert locally_safe(T0, MOST) == set(P)
    assert known(P) == [1, 2]
    assert worst_posterior(P, T0, MOST) == 1
    assert not is_safe_set(P, T0, MOST, strong=False)
    gss = those(1, 2, 3, 4, 5, 6, 8, 9)
    assert known(gss) == [1, 2, 3, 4]
    assert worst_posterior(gss, T0, MOST) == Fraction(1, 2)
    assert is_safe_set(gss, T0, MOST, strong=False)
    worlds = possible_tables(gss, T0, MOST, P[2])
    assert {(w["Ada"], w["Eve"]) for w in worlds} == {("flu", "HIV")}
    assert not is_safe_set(gss, T0, MOST, strong=True)
    # The largest SGSS has five and is unique, and the largest GSS is not.
    sgss = those(1, 2, 4, 5, 9)
    assert known(sgss) == list(range(1, 11))
    assert known(sgss, P[0]) == [1, 2, 3, 4, 5, 6]
    assert worst_posterior(sgss, T0, MOST, P[0]) == Fraction(1, 2)
    assert largest_safe_sets(T0, MOST, strong=True) == [sgss]
    assert len(largest_safe_sets(T0, MOST, strong=False)) > 1


ONE = {"id1": "s1", "id2": "s1", "id3": "s2", "id4": "s2"}
Q1 = partition("id1 id3", "id2 id4")
Q2 = partition("id1 id4", "id2 id3")
Q3 = partition("id1 id2 id3 id4")
Q4 = partition("id1 id2", "id3 id4")


def test_example_2():
    assert locally_safe(ONE, "1/2") == {Q1, Q2, Q3}
    for both in ({Q1, Q3}, {Q2, Q3}, {Q1, Q2, Q3}):
        assert is_safe_set(both, ONE, "1/2", strong=True)
    assert not is_safe_set({Q4}, ONE, "1/2", strong=False)


@pytest.mark.parametrize(
    ("first", "second", "contained"),
    [
        ("id3 id4", "id1 id2", [Q1, Q3]),
        ("id4 id3", "id2 id1", [Q2, Q3]),
        ("id3 id4", "id2 id1", [Q3]),
    ],
)
def test_examples_4_and_5(first, second, contained):
    """By bijections: the images of id1, id2 and of id3, id4."""
    given = {
        "s1": [dict(zip(["id1", "id2"], first.split(), strict=True))],
        "s2": [dict(zip(["id3", "id4"], second.split(), strict=True))],
    }
    assert minimal_partition(ONE, given) == contained[0]
    assert family(ONE, given) == set(contained)
    assert len(contained) == 1 or is_l_cover(contained, ONE, given)


def test_l_cover_is_not_enough():
    """For an SGSS."""
    table = dict(zip("123456", "abacbc", strict=True))
    swap = dict(zip("123456", "214365", strict=True))
    given = {v: [{p: swap[p] for p in table if table[p] == v}] for v in "abc"}
    both = {partition("1 2 3 4", "5 6"), partition("3 4", "1 2 5 6")}
    assert is_l_cover(both, table, given)
    worlds = possible_tables(both, table, "1/2", partition("1 2 3 4", "5 6"))
    assert Fraction(sum(w["2"] == "a" for w in worlds), len(worlds)) == Fraction(3, 5)
    assert not is_safe_set(both, table, "1/2", strong=True)
    assert is_safe_set(both | {minimal_partition(table, given)}, table, "1/2", strong=True)
    for one in family(table, given):
        assert is_safe_set({one}, table, "1/2", strong=True)


def test_docstrings_of_the_theory():
    assert doctest.testmod(streamliner_theory).failed == 0
