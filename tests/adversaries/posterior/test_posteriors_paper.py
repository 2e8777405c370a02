"""The paper on distribution knowledge: its numbers, what its theorem 1 misses, what is sound."""

from fractions import Fraction

import pytest
from tests.adversaries.posterior.drawing import groups_of, table_of
from tests.oracle.posterior_worlds import joint

from foreknow.adversaries.priors.exact import exact_joint
from foreknow.adversaries.priors.posteriors import posteriors
from foreknow.adversaries.priors.signature_groups import PriorMatrix

# ---- quick conditions for r-robustness: theorem 1, and sound ones on ratios (errata, 3) ---------
# The paper's is sound, and tight, under the binary reading; under the joint one it is not. Nothing
# in the library uses them: ART judges by posteriors, and by a finer condition on ratios.


def delta_ceil(size, r, highest):
    """Greatest deviation that theorem 1 allows (the paper's definition 8)."""
    if highest == 1:
        return Fraction(0)
    odds = highest / (1 - highest)
    return (size - r) * highest / (odds * (r - 1) + size - 1)


def delta_condition(lowest, highest, size, r):
    """Theorem 1 (corollary 1) for a value that occurs once."""
    return size >= r > 1 and highest - lowest <= delta_ceil(size, r, highest)


def ratios(chances):
    """For each value the least prior in a group over the greatest; 0 where all are 0."""
    columns = list(zip(*chances, strict=True))
    return [min(column) / max(column) if any(column) else Fraction(0) for column in columns]


def ratio_condition(rho, counts, r):
    """Joint reading: ``rho_x sum(c_y rho_y for y != x) >= (r - 1) c_x`` for every x."""
    total = sum(c * own for c, own in zip(counts, rho, strict=True))
    return r > 1 and all(
        own * (total - c * own) >= (r - 1) * c for own, c in zip(rho, counts, strict=True)
    )


# ---- the numbers of the paper ------------------------------------------------------------------


def fractions(*rows):
    return [[Fraction(chance) for chance in row] for row in rows]


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


def test_theorem_1_is_worse_in_larger_groups():
    size, low, high = 101, Fraction("0.0012"), Fraction("0.1")
    table = [[high, *[low] * (size - 1)], [low, *[high] * (size - 1)]]
    for column in zip(*table, strict=True):
        assert delta_condition(min(column), max(column), size, 2)
    assert exact_joint([1, size - 1], [1] * size, table)[0][0] == Fraction(625, 634)
    groups, priors = groups_of(([0] + [1] * (size - 1), range(size))), PriorMatrix(table)
    found = {reading: table_of(posteriors(groups, priors, reading), 0) for reading in READINGS}
    assert found["joint"][0, 0] == pytest.approx(625 / 634, rel=1e-12)
    assert found["binary"][0, 0] <= 0.5


READINGS = ("joint", "binary")


# ---- sound conditions ----------------------------------------------------------------------
