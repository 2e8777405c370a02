"""Numbers of the paper on distribution knowledge, and the counterexamples to its theorem 1."""

from fractions import Fraction

import pytest
from tests.oracle.posterior_worlds import joint

from foreknow.adversaries.priors.conditions import (
    delta_ceil,
    delta_condition,
    least_ratio_condition,
    odds_condition,
    ratio_condition,
    ratios,
)
from foreknow.adversaries.priors.exact import by_whole_numbers, exact_binary, exact_joint
from foreknow.adversaries.priors.joint import posteriors
from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups

MALE, FEMALE = ["0.1", "0.9"], ["0.003", "0.997"]  # lung cancer and not: table IV


def fractions(*rows):
    return [[Fraction(chance) for chance in row] for row in rows]


@pytest.mark.parametrize("reading", ["joint", "binary"])
def test_alan_and_betty(reading):
    groups = SignatureGroups.from_people([([0, 1], [0, 1])])
    priors = PriorMatrix.from_fractions([MALE, FEMALE])
    assert exact_joint([1, 1], [1, 1], priors.fractions)[0][0] == Fraction(997, 1024)
    assert posteriors(groups, priors, reading).of(0)[0, 0] == pytest.approx(997 / 1024, rel=1e-14)


def test_two_men_and_two_women_are_told_apart_only_together():
    table = fractions(MALE, FEMALE)
    found = exact_joint([2, 2], [2, 2], table)
    assert found[0][0] == Fraction(1047847, 1102414)
    assert exact_binary([2, 2], 2, [row[0] for row in table])[0] == found[0][0]
    for row in table:  # split by sex, it is one half
        assert exact_joint([2], [1, 1], [row]) == [[Fraction(1, 2)] * 2]


# fmt: off
TABLE_V = [
    (3, 2, "0.1", 0.0474), (3, 2, "0.3", 0.1235), (3, 2, "0.5", 0.1667), (3, 2, "0.9", 0.0818),
    (4, 2, "0.3", 0.1750), (6, 2, "0.3", 0.2211), (6, 3, "0.3", 0.1537), (6, 4, "0.3", 0.0955),
]
# fmt: on


@pytest.mark.parametrize(("size", "r", "highest", "printed"), TABLE_V)
def test_table_v(size, r, highest, printed):
    ceil = delta_ceil(size, r, Fraction(highest))
    assert round(float(ceil), 4) == printed
    # It is exactly tight under the binary reading.
    lowest = Fraction(highest) - ceil
    assert exact_binary([1, size - 1], 1, [Fraction(highest), lowest])[0] == Fraction(1, r)
    assert odds_condition(lowest, Fraction(highest), 1, size, r)
    assert not odds_condition(lowest - Fraction(1, 10**9), Fraction(highest), 1, size, r)


def test_delta_ceil_where_it_is_at_an_end():
    assert delta_ceil(5, 2, Fraction(1)) == delta_ceil(5, 5, Fraction(1, 2)) == 0
    assert delta_condition(Fraction(1), Fraction(1), 5, 2)
    assert not delta_condition(Fraction(99, 100), Fraction(1), 5, 2)


COUNTEREXAMPLES = {
    "25/43": fractions(["0.1", "0.06", "0.06"], *[["0.06", "0.1", "0.1"]] * 2),
    "16/31": fractions(["0.40", "0.15", "0.45"], *[["0.25", "0.25", "0.50"]] * 2),
}


@pytest.mark.parametrize("posterior", COUNTEREXAMPLES)
def test_theorem_1_is_unsafe_under_the_joint_reading(posterior):
    people = COUNTEREXAMPLES[posterior]
    for column in zip(*people, strict=True):
        assert delta_condition(min(column), max(column), 3, 2)
    found = exact_joint([1, 2], [1, 1, 1], [people[0], people[1]])
    assert found[0][0] == Fraction(posterior) > Fraction(1, 2)
    assert joint([dict(enumerate(row)) for row in people], range(3))[0][0] == Fraction(posterior)
    assert not ratio_condition(ratios(people), [1] * 3, 2)
    assert not least_ratio_condition(ratios(people), [1] * 3, 2)


def test_theorem_1_is_worse_in_larger_groups():
    size, low, high = 101, Fraction("0.0012"), Fraction("0.1")
    table = [[high, *[low] * (size - 1)], [low, *[high] * (size - 1)]]
    for column in zip(*table, strict=True):
        assert delta_condition(min(column), max(column), size, 2)
    found = exact_joint([1, size - 1], [1] * size, table)
    assert found[0][0] == Fraction(625, 634)
    # The same by plain dynamic programming over the two signatures, nothing being merged.
    dealt = by_whole_numbers([1] * size, [1, size - 1], [list(c) for c in zip(*table, strict=True)])
    assert dealt[0][0] == Fraction(625, 634)
    groups = SignatureGroups.from_people([([0] + [1] * (size - 1), range(size))])
    priors = PriorMatrix.from_fractions(table)
    assert posteriors(groups, priors).of(0)[0, 0] == pytest.approx(625 / 634, rel=1e-12)
    assert posteriors(groups, priors, "binary").of(0)[0, 0] <= 0.5


def test_two_classes_of_sixty():
    table = fractions(["1/3", "2/3"], ["1/5", "4/5"])
    found = exact_joint([60, 60], [60, 60], table)
    assert 60 * found[0][0] + 60 * found[1][0] == 60
    assert found[0][0] / found[0][1] > 1
