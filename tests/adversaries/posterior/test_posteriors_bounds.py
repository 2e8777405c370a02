"""Upper bounds are never below the truth, and an estimate's interval holds it."""

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from tests.adversaries.posterior.drawing import random_scene, scenes, truth

from foreknow.adversaries.priors import bounds
from foreknow.adversaries.priors.bounds import exact_bound
from foreknow.adversaries.priors.exact import exact_group
from foreknow.adversaries.priors.joint import binary_posteriors, joint_posteriors
from foreknow.adversaries.priors.signature_groups import SignatureGroups, matrix

FLOATS = {"joint": joint_posteriors, "binary": binary_posteriors}
both = pytest.mark.parametrize("reading", ["joint", "binary"])


def check(held, groups, priors, reading):
    """Bounds of all groups, no state being allowed; returns (bound, truth) pairs."""
    found = FLOATS[reading](groups, priors, reach=0)
    pairs = []
    for g, one in enumerate(held):
        true = truth(one, priors, reading)
        for row, true_row in zip(found.of(g).tolist(), true, strict=True):
            for bound, p in zip(row, true_row, strict=True):
                if p is None:
                    assert np.isnan(bound)
                else:
                    assert Fraction(bound) >= p, (one, priors.fractions, found.of(g), true)
                    assert bound <= 1
                    pairs.append((bound, p))
        impossible = any(p is None for row in true for p in row)
        assert found.kind(g) == ("impossible" if impossible else "bounded")
    return pairs


@both
@pytest.mark.parametrize("twice", [True, False])
@pytest.mark.parametrize("kind", ["any", "zeros", "sums", "tiny", "alike"])
def test_bounds_are_never_below_enumeration(monkeypatch, reading, kind, twice):
    if not twice:  # as for groups of very many values and signatures
        monkeypatch.setattr(bounds, "_TWICE", 0)
    drawn = random.Random(f"bound {reading} {kind}")
    pairs = []
    for _ in range(15):
        pairs += check(*random_scene(drawn, 20, 5, kind), reading)
    assert len(pairs) > 300
    assert sum(bound < 0.999 for bound, _ in pairs) > 100  # and they say something


@both
@given(scene=scenes())
def test_no_small_group_has_a_bound_below_its_posterior(reading, scene):
    held, groups, priors = scene
    check([held], groups, priors, reading)


def test_bounds_as_fractions_are_never_below_enumeration():
    drawn = random.Random(7)
    for _ in range(40):
        held, groups, priors = random_scene(drawn, 5, 5)
        for g, one in enumerate(held):
            signatures, people = zip(*groups.people_of(g), strict=True)
            values, counts = zip(*groups.bag_of(g), strict=True)
            table = priors.table(signatures, values)
            for s, row in enumerate(truth(one, priors, "joint")):
                for x, p in enumerate(row):
                    bound = exact_bound(people, counts, table, s, x)
                    assert (bound is None) == (p is None)
                    assert p is None or 1 >= bound >= p


def test_bounds_hold_for_larger_groups():
    drawn = random.Random(11)
    for _ in range(40):
        kind = drawn.choice(["any", "zeros", "sums", "alike"])
        _, groups, priors = random_scene(drawn, 1, 12, kind)
        exact = joint_posteriors(groups, priors)
        bounded = joint_posteriors(groups, priors, reach=0)
        if len(exact.impossible):
            continue
        true = exact_group(groups, 0, priors)
        for row, true_row in zip(bounded.of(0).tolist(), true, strict=True):
            assert all(Fraction(b) >= p for b, p in zip(row, true_row, strict=True))


def test_where_priors_are_equal_the_bound_is_the_share():
    groups = SignatureGroups.from_people([(range(60), [i % 12 for i in range(60)])])
    found = joint_posteriors(groups, matrix(np.full((60, 12), 0.25)), reach=0)
    assert found.kind(0) == "bounded"
    assert found.of(0) == pytest.approx(1 / 12)


@pytest.mark.parametrize(("lowest", "most"), [(0.5, 1.25), (0.25, 2.0)])
def test_bounds_are_not_far_off_where_priors_are_similar(lowest, most):
    random = np.random.default_rng(2)
    for size, values in ((12, 12), (15, 8), (16, 4)):
        priors = matrix(random.uniform(lowest, 1, (size, values)))
        groups = SignatureGroups.from_people([(range(size), [i % values for i in range(size)])])
        exact = joint_posteriors(groups, priors).of(0)
        bounded = joint_posteriors(groups, priors, reach=0).of(0)
        assert (bounded >= exact).all()
        assert (bounded <= most * exact).all()


def test_many_distinct_people_and_values_are_bounded_in_little_memory():
    random = np.random.default_rng(5)
    priors = matrix(random.uniform(0.3, 0.6, (150, 150)))
    found = joint_posteriors(SignatureGroups.from_people([(range(150), range(150))]), priors)
    assert found.kind(0) == "bounded"
    assert found.of(0).max() < 0.05


def test_a_group_out_of_reach_is_bounded_in_reasonable_time():
    random = np.random.default_rng(5)
    priors = matrix(random.uniform(0.3, 0.6, (60, 12)))
    groups = SignatureGroups.from_people([(range(60), [i % 12 for i in range(60)])])
    found = joint_posteriors(groups, priors)
    assert found.kind(0) == "bounded"
    assert 1 / 12 < found.of(0).max() < 0.4
    assert (found.upper() == found.probabilities).all()
