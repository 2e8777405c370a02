"""Quick conditions against exact posteriors: the sound ones never admit what is above 1/r."""

import random
from fractions import Fraction

import pytest
from tests.oracle.posterior_worlds import binary, joint

from foreknow.adversaries.priors.conditions import (
    delta_ceil,
    delta_condition,
    least_ratio_condition,
    odds_condition,
    ratio_condition,
    ratios,
)
from foreknow.adversaries.priors.exact import exact_binary, exact_joint
from foreknow.errors import InputError

R = [Fraction(3, 2), 2, Fraction(5, 2), 3, 4]


def near(drawn, people, values):
    """Priors of people who are not too different, some of them the same, rarely zero."""
    spread = drawn.choice([2, 4, 8])
    base = [drawn.randint(5, 20) for _ in range(values)]
    rows = []
    for _ in range(people):
        row = [max(b + drawn.randint(-spread, spread), 0) for b in base]
        rows.append([Fraction(a, 200) for a in row])
    return [drawn.choice(rows[:2]) if drawn.random() < 0.4 else row for row in rows]


def bag(drawn, size, distinct):
    if distinct:
        return list(range(size))
    held = sorted(drawn.choice(range(max(2, size - 1))) for _ in range(size))
    return [sorted(set(held)).index(x) for x in held]


def ask(people, held):
    """Exact joint posteriors of all people; None where there is no world."""
    counts = [held.count(x) for x in sorted(set(held))]
    return exact_joint([1] * len(people), counts, people), counts


@pytest.mark.parametrize("distinct", [True, False])
def test_ratio_conditions_admit_nothing_above_the_threshold(distinct):
    drawn = random.Random(f"ratios {distinct}")
    admitted = only_by_sum = printed_wrong = 0
    for _ in range(2000):
        size = drawn.randint(2, 7)
        held = bag(drawn, size, distinct)
        people = near(drawn, size, len(set(held)))
        found, counts = ask(people, held)
        rho = ratios(people)
        for r in R:
            by_least = least_ratio_condition(rho, counts, r)
            by_sum = ratio_condition(rho, counts, r)
            assert by_sum or not by_least
            admitted += by_sum
            only_by_sum += by_sum and not by_least
            worst = None if found is None else max(max(row) for row in found)
            assert not by_sum or (worst is not None and worst <= 1 / Fraction(r))
            if distinct and worst is not None and worst > 1 / Fraction(r):
                columns = list(zip(*people, strict=True))
                printed_wrong += all(delta_condition(min(c), max(c), size, r) for c in columns)
    assert admitted > 500
    assert only_by_sum > 20
    assert not distinct or printed_wrong > 20  # the printed condition alone is unsafe


def test_the_conditions_for_distinct_values_are_those_of_the_errata():
    drawn = random.Random(2)
    for _ in range(500):
        size = drawn.randint(2, 6)
        rho = [Fraction(drawn.randint(1, 10), 10) for _ in range(size)]
        for r in R:
            plain = all(
                own * min(rho[:x] + rho[x + 1 :]) >= Fraction(r - 1) / (size - 1)
                for x, own in enumerate(rho)
            )
            assert least_ratio_condition(rho, [1] * size, r) == plain


@pytest.mark.parametrize("size", [2, 3, 5, 9])
def test_ratio_conditions_are_tight(size):
    # One person is likelier to have x, and all others to have anything else, by the same factor.
    rho = Fraction(4, 5)
    people = [[Fraction(1, 2), *[rho / 2] * (size - 1)]]
    people += [[rho / 2, *[Fraction(1, 2)] * (size - 1)]] * (size - 1)
    r = 1 + rho * rho * (size - 1)
    assert least_ratio_condition(ratios(people), [1] * size, r)
    assert not ratio_condition(ratios(people), [1] * size, r + Fraction(1, 10**9))
    found, _ = ask(people, list(range(size)))
    assert found[0][0] == 1 / r


def test_the_odds_condition_is_sound_and_the_papers_under_the_binary_reading():
    drawn = random.Random(5)
    admitted = 0
    for _ in range(1000):
        size = drawn.randint(2, 6)
        copies = drawn.randint(1, size)
        chances = [Fraction(drawn.randint(0, 20), 20) for _ in range(size)]
        if drawn.random() < 0.7:
            chances = [Fraction(drawn.randint(8, 12), 20) for _ in range(size)]
        lowest, highest = min(chances), max(chances)
        people = [{"x": f} for f in chances]
        found = binary(people, "x" * copies + "y" * (size - copies), "x")
        assert found == exact_binary([1] * size, copies, chances)
        for r in R:
            safe = odds_condition(lowest, highest, copies, size, r)
            assert not safe or found is None or max(found) <= 1 / Fraction(r)
            admitted += safe and found is not None
            if copies == 1 and size >= r and 0 < highest < 1:
                assert safe == delta_condition(lowest, highest, size, r)
    assert admitted > 200


def test_joint_is_binary_where_there_are_two_values_that_sum_to_one():
    drawn = random.Random(6)
    for _ in range(100):
        chances = [Fraction(drawn.randint(1, 9), 10) for _ in range(4)]
        people = [{"x": f, "y": 1 - f} for f in chances]
        by_joint = joint(people, "xxyy")
        assert [row["x"] for row in by_joint] == binary(people, "xxyy", "x")


def test_values_that_cannot_be_held_satisfy_no_ratio_condition():
    rho = ratios([[Fraction(0), Fraction(1, 2)], [Fraction(0), Fraction(1, 2)]])
    assert not ratio_condition(rho, [1, 1], 2)
    assert not least_ratio_condition(rho, [1, 1], 2)
    assert not least_ratio_condition([Fraction(1)], [3], 2)  # one value only
    assert not odds_condition(Fraction(1), Fraction(1), 3, 3, 2)


@pytest.mark.parametrize("r", [1, 0, 4])
def test_delta_ceil_needs_an_r_that_the_group_can_have(r):
    with pytest.raises(InputError, match="at most the size of the group, 3"):
        delta_ceil(3, r, Fraction(1, 2))
