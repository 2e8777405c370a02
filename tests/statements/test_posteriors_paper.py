"""The paper on distribution knowledge: its numbers, what its theorem 1 misses, what is sound."""

import random
from fractions import Fraction

import pytest
from tests.examples import NIGHTLY
from tests.oracle.posterior_worlds import binary, joint
from tests.statements.drawing import groups_of, table_of

from foreknow.adversaries.priors.exact import exact_group, exact_joint
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


def odds_condition(lowest, highest, copies, size, r):
    """Binary reading: ``(N - c) o_min >= (r - 1) c o_max``, multiplied out."""
    spare = (size - copies) * lowest * (1 - highest)
    return copies < size and spare >= (r - 1) * copies * highest * (1 - lowest)


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

R = [Fraction(3, 2), 2, Fraction(5, 2), 3, 4]


def fractions(*rows):
    return [[Fraction(chance) for chance in row] for row in rows]


def exact_binary(chances, copies):
    """Posteriors of everybody for a value that occurs so often."""
    size = len(chances)
    groups = groups_of((range(size), [0] * copies + [1] * (size - copies)))
    priors = PriorMatrix([[chance, Fraction(0)] for chance in chances])
    found = [row[0] for row in exact_group(groups, 0, priors, "binary")]
    return None if found[0] is None else found


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


def near(drawn, people, values):
    """Priors of people who are not too different, some of them the same, rarely zero."""
    spread = drawn.choice([2, 4, 8])
    base = [drawn.randint(5, 20) for _ in range(values)]
    rows = []
    for _ in range(people):
        row = [max(b + drawn.randint(-spread, spread), 0) for b in base]
        rows.append([Fraction(a, 200) for a in row])
    return [drawn.choice(rows[:2]) if drawn.random() < 0.4 else row for row in rows]


def random_counts(drawn, size, distinct):
    if distinct:
        return [1] * size
    held = [drawn.choice(range(max(2, size - 1))) for _ in range(size)]
    return [held.count(x) for x in sorted(set(held))]


@pytest.mark.parametrize("distinct", [True, False])
def test_the_ratio_condition_admits_nothing_above_the_threshold(distinct):
    drawn = random.Random(f"ratios {distinct}")
    admitted = printed_wrong = 0
    for _ in range(2000 if NIGHTLY else 500):
        size = drawn.randint(2, 7)
        counts = random_counts(drawn, size, distinct)
        people = near(drawn, size, len(counts))
        found = exact_joint([1] * size, counts, people)
        rho = ratios(people)
        for r in R:
            safe = ratio_condition(rho, counts, r)
            admitted += safe
            worst = None if found is None else max(max(row) for row in found)
            assert not safe or (worst is not None and worst <= 1 / Fraction(r))
            if distinct and worst is not None and worst > 1 / Fraction(r):
                columns = list(zip(*people, strict=True))
                printed_wrong += all(delta_condition(min(c), max(c), size, r) for c in columns)
    assert admitted > 100
    assert not distinct or printed_wrong > 3  # the printed condition alone is unsafe


def test_the_odds_condition_is_sound_and_the_papers_under_the_binary_reading():
    drawn = random.Random(5)
    admitted = 0
    for _ in range(1000 if NIGHTLY else 400):
        size = drawn.randint(2, 6)
        copies = drawn.randint(1, size)
        low, high = (8, 12) if drawn.random() < 0.7 else (0, 20)
        chances = [Fraction(drawn.randint(low, high), 20) for _ in range(size)]
        lowest, highest = min(chances), max(chances)
        people = [{"x": f} for f in chances]
        found = binary(people, "x" * copies + "y" * (size - copies), "x")
        assert found == exact_binary(chances, copies)
        for r in R:
            safe = odds_condition(lowest, highest, copies, size, r)
            assert not safe or found is None or max(found) <= 1 / Fraction(r)
            admitted += safe and found is not None
            if copies == 1 and size >= r and 0 < highest < 1:
                assert safe == delta_condition(lowest, highest, size, r)
    assert admitted > 70
