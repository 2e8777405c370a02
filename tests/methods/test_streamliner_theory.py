"""The examples of "Privacy Streamliner", to the letter, and where its theorem 1 fails."""

import doctest
from fractions import Fraction

from examples.streamliner_theory import (
    is_safe_set,
    largest_safe_sets,
    locally_safe,
    partition,
    possible_tables,
    worst_posterior,
)

from examples import streamliner_theory

T0 = {"Ada": "flu", "Bob": "flu", "Coy": "cold", "Dan": "cold", "Eve": "HIV"}
P = {
    1: partition("Ada Coy", "Bob Dan Eve"),
    2: partition("Ada Dan", "Bob Coy Eve"),
    3: partition("Ada Eve", "Bob Coy Dan"),
    4: partition("Bob Coy", "Ada Dan Eve"),
    5: partition("Bob Dan", "Ada Coy Eve"),
    6: partition("Bob Eve", "Ada Coy Dan"),
    7: partition("Coy Eve", "Ada Bob Dan"),
    8: partition("Dan Eve", "Ada Bob Coy"),
    9: partition("Ada Bob Coy Dan Eve"),
}
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
    return {P[number] for number in numbers}


def test_knowing_all_nine_locally_safe_partitions_tells_eve():
    assert locally_safe(T0, MOST) == set(P.values())
    assert known(P.values()) == [1, 2]
    assert worst_posterior(P.values(), T0, MOST) == 1
    assert not is_safe_set(P.values(), T0, MOST, strong=False)


def test_the_largest_sgss_has_five_and_is_unique_and_the_largest_gss_is_not():
    sgss = those(1, 2, 4, 5, 9)
    assert known(sgss) == list(range(1, 11))
    assert known(sgss, P[1]) == [1, 2, 3, 4, 5, 6]
    assert worst_posterior(sgss, T0, MOST, P[1]) == Fraction(1, 2)
    assert largest_safe_sets(T0, MOST, strong=True) == [sgss]
    assert len(largest_safe_sets(T0, MOST, strong=False)) > 1


def test_the_examples_in_its_docstrings():
    assert doctest.testmod(streamliner_theory).failed == 0
