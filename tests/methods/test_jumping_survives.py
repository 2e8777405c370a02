"""What is said to survive: rows of tables from which a share is taken away, in every way."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import foreknow as fk
from foreknow.criteria.properties import RuledOut, survives

PROPERTIES = [
    fk.MaxRatio("1/2"),
    fk.MaxRatio("2/3", strict=True),
    fk.Distinct(2),
    fk.Recursive(2, 2),
    fk.Recursive("3/2", 3),
    RuledOut("3/4", 1),
    RuledOut("1/2", 2),
    RuledOut("2/3", 1, values=["a"]),
]


@pytest.mark.parametrize("prop", PROPERTIES, ids=repr)
@examples(120)
@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    loss=st.fractions(0, 1, max_denominator=12),
)
def test_what_survives_holds_whatever_is_taken_away(prop, counts, loss):
    total = sum(counts)
    colours = [prop.colour(value) for value in "abcd"[: len(counts)]]
    said = survives(prop, list(zip(colours, counts, strict=True)), total, 9, loss)
    holds = True
    for left in product(*(range(count + 1) for count in counts)):
        if sum(left) > 0 and total - sum(left) <= loss * total:
            row = [(c, n) for c, n in zip(colours, left, strict=True) if n]
            holds &= prop.allows(row, sum(left), 9)
    assert holds or not said
    if not loss:
        assert said == holds


def test_a_small_loss_is_survived_by_a_wide_margin():
    row = [(0, 30), (0, 31), (0, 39)]
    for prop in (fk.MaxRatio("1/2"), fk.Recursive(2, 2), RuledOut("3/4", 1)):
        assert survives(prop, row, 100, 100, Fraction(1, 100)), prop
