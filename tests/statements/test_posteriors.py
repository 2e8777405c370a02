"""Posteriors from priors: fractions equal enumeration, floats are near, bounds are never below."""

import random
from fractions import Fraction

import numpy as np
import pytest
from tests.oracle.posterior_worlds import joint, joint_by_permanents
from tests.statements.drawing import (
    close,
    groups_of,
    kind_of,
    people_rows,
    random_group,
    random_scene,
    random_table,
    table_of,
    truth,
)

from foreknow.adversaries.priors import exchanges
from foreknow.adversaries.priors import posteriors as kernel
from foreknow.adversaries.priors.exact import exact_group, exact_joint
from foreknow.adversaries.priors.posteriors import posteriors
from foreknow.adversaries.priors.signature_groups import PriorMatrix, matrix
from foreknow_judge.errors import UnsupportedError

KINDS = ["any", "zeros", "sums", "tiny", "alike"]
both = pytest.mark.parametrize("reading", ["joint", "binary"])
every_kind = pytest.mark.parametrize("kind", KINDS)


# ---- against enumeration -------------------------------------------------------------------


def check(held, groups, priors, reading):
    """Fractions and floats of all groups against enumeration; how many groups are possible."""
    found = posteriors(groups, priors, reading)
    lower, upper = found.lower(), found.upper()
    some = 0
    for g, one in enumerate(held):
        true = truth(one, priors, reading)
        assert exact_group(groups, g, priors, reading) == true, (one, priors.fractions)
        case = found.case_of[g]
        error = found.errors[case]
        assert error < 1e-13
        assert close(table_of(found, g), true, error), (one, priors.fractions, true)
        impossible = any(p is None for row in true for p in row)
        assert kind_of(found, g) == ("impossible" if impossible else "exact")
        assert (g in found.impossible) == impossible
        some += not impossible
        cells = slice(found.offsets[case], found.offsets[case + 1])
        ends = zip(lower[cells].tolist(), upper[cells].tolist(), strict=True)
        for (low, high), p in zip(ends, [p for row in true for p in row], strict=True):
            assert p is None or Fraction(low) <= p <= Fraction(high)
    return some


@pytest.mark.thinned(2)
@both
@every_kind
def test_posteriors_are_what_enumeration_says(reading, kind):
    drawn = random.Random(f"{reading} {kind}")
    some = sum(check(*random_scene(drawn, 20, 5, kind), reading) for _ in range(12))
    assert some > 40  # of 240 groups


def test_two_oracles_agree():
    drawn = random.Random(3)
    for _ in range(20):
        held, _, priors = random_scene(drawn, 10, 5)
        for signatures, bag in held:
            people = people_rows(signatures, priors)
            assert joint(people, bag) == joint_by_permanents(people, bag)


def test_complements_are_rounded_from_the_fractions():
    near_one = 1 - Fraction(1, 10**30)
    priors = PriorMatrix.from_fractions([[near_one, 0], [near_one / 2, 1]])
    assert priors.chances[0, 0] == 1
    assert priors.complements[0, 0] == 1e-30
    found = table_of(posteriors(groups_of(([0, 1], [0, 1])), priors, "binary"), 0)
    assert found[0, 0] == pytest.approx(1, abs=1e-29)


# ---- larger groups -------------------------------------------------------------------------


def agree(groups, priors, reading="joint", most=1e-10):
    found = posteriors(groups, priors, reading)
    for g in range(groups.n_groups):
        error = found.errors[found.case_of[g]]
        assert error < most
        assert close(table_of(found, g), exact_group(groups, g, priors, reading), error)
    return found


@pytest.mark.thinned(2)
@both
@every_kind
def test_groups_of_some_size(reading, kind):
    drawn = random.Random(f"large {reading} {kind}")
    for _ in range(6):
        _, groups, priors = random_scene(drawn, 3, 25, kind)
        agree(groups, priors, reading)


@pytest.mark.parametrize("sizes", [(9, 2), (2, 9), (8, 8)])
def test_many_signatures_or_many_values(sizes):
    drawn = random.Random(str(sizes))
    for kind in ("any", "zeros", "tiny"):
        priors = PriorMatrix.from_fractions(random_table(drawn, *sizes, kind))
        agree(groups_of(*(random_group(drawn, 10, *sizes) for _ in range(8))), priors)


def test_priors_from_the_least_to_one():
    # The likeliest world has weight 1e-300, all others far less; products underflow unless scaled.
    small = Fraction(10) ** -300
    rows = [[small if i == j else small**0 if i < j else small for j in range(6)] for i in range(6)]
    groups = groups_of((range(6), range(6)), ([0, 1, 2], [0, 0, 1]))
    agree(groups, PriorMatrix.from_fractions(rows))


@pytest.mark.parametrize("whole", [True, False])
def test_the_weights_of_priors_far_apart_are_kept(monkeypatch, whole):
    # Weights are held by scaled floats, else by whole numbers.
    if whole:
        monkeypatch.setattr(kernel, "LEAST_TOTAL", np.inf)
    drawn = random.Random(4)
    for _ in range(30):
        size = drawn.choice([3, 5, 7])
        exponents = drawn.choice([[0, 40, 150, 300], [0, 300], range(301)])
        rows = [[Fraction(10) ** -drawn.choice(exponents) for _ in range(size)] for _ in range(4)]
        held = [random_group(drawn, size, 4, size) for _ in range(2)]
        for reading in ("joint", "binary"):
            found = agree(groups_of(*held), PriorMatrix.from_fractions(rows), reading)
            assert not found.bounded.any()


@pytest.mark.parametrize("thirds", [True, False])
def test_proportional_priors_make_large_groups_cheap(thirds):
    # Thirty signatures, though in two directions over the held values; and thirty values.
    scale = (lambda s: 3 + s) if thirds else (lambda s: 2 ** (s % 5 + 2))
    rows = [[Fraction(1 + (x + s) % 2, scale(s)) for x in range(30)] for s in range(30)]
    found = agree(groups_of((range(30), range(30))), PriorMatrix.from_fractions(rows))
    assert kind_of(found, 0) == "exact"
    bounded = posteriors(
        groups_of((range(30), range(30))), PriorMatrix.from_fractions(rows), reach=0
    )
    assert (bounded.upper() >= found.lower()).all()


def test_fractions_out_of_reach_are_refused():
    drawn = random.Random(9)
    table = [[Fraction(drawn.randint(1, 99), 100) for _ in range(20)] for _ in range(20)]
    with pytest.raises(UnsupportedError, match="needs 1048576 states, more than 65536"):
        exact_joint([1] * 20, [1] * 20, table)


# ---- out of reach: upper bounds ------------------------------------------------------------


def check_bounds(held, groups, priors, reading):
    """Bounds of all groups, no state being allowed; returns (bound, truth) pairs."""
    found = posteriors(groups, priors, reading, reach=0)
    assert np.array_equal(found.upper(), found.probabilities, equal_nan=True)
    pairs = []
    for g, one in enumerate(held):
        true = truth(one, priors, reading)
        for row, true_row in zip(table_of(found, g).tolist(), true, strict=True):
            for bound, p in zip(row, true_row, strict=True):
                if p is None:
                    assert np.isnan(bound)
                else:
                    assert 1 >= Fraction(bound) >= p, (one, priors.fractions, true)
                    pairs.append((bound, p))
        impossible = any(p is None for row in true for p in row)
        assert kind_of(found, g) == ("impossible" if impossible else "bounded")
    return pairs


@pytest.mark.thinned(2)
@both
@pytest.mark.parametrize("twice", [True, False])
@every_kind
def test_bounds_are_never_below_enumeration(monkeypatch, reading, kind, twice):
    if not twice:  # as for groups of very many values and signatures
        monkeypatch.setattr(exchanges, "_TWICE", 0)
    drawn = random.Random(f"bound {reading} {kind}")
    pairs = []
    for _ in range(15):
        pairs += check_bounds(*random_scene(drawn, 20, 5, kind), reading)
    assert len(pairs) > 300
    assert 3 * sum(bound < 0.999 for bound, _ in pairs) > len(pairs)  # and they say something


def test_bounds_hold_for_larger_groups():
    drawn = random.Random(11)
    for _ in range(40):
        kind = drawn.choice(["any", "zeros", "sums", "alike"])
        _, groups, priors = random_scene(drawn, 1, 12, kind)
        true = exact_group(groups, 0, priors)
        bounded = table_of(posteriors(groups, priors, reach=0), 0)
        assert np.isnan(bounded).all() == (true[0][0] is None)
        for row, true_row in zip(bounded.tolist(), true, strict=True):
            assert all(p is None or Fraction(b) >= p for b, p in zip(row, true_row, strict=True))


@pytest.mark.parametrize(("lowest", "most"), [(0.5, 1.25), (0.25, 2.0)])
def test_bounds_are_not_far_off_where_priors_are_similar(lowest, most):
    drawn = np.random.default_rng(2)
    for size, values in ((12, 12), (15, 8), (16, 4)):
        priors = matrix(drawn.uniform(lowest, 1, (size, values)))
        groups = groups_of((range(size), [i % values for i in range(size)]))
        exact = table_of(posteriors(groups, priors), 0)
        bounded = table_of(posteriors(groups, priors, reach=0), 0)
        assert (bounded >= exact).all()
        assert (bounded <= most * exact).all()


@pytest.mark.parametrize(("size", "values", "most"), [(150, 150, 0.05), (60, 12, 0.4)])
def test_groups_truly_out_of_reach_are_bounded_in_reasonable_time(size, values, most):
    priors = matrix(np.random.default_rng(5).uniform(0.3, 0.6, (size, values)))
    found = posteriors(groups_of((range(size), [i % values for i in range(size)])), priors)
    assert kind_of(found, 0) == "bounded"
    assert 1 / values < table_of(found, 0).max() < most
