"""Posteriors from priors against enumeration: fractions equal it, floats are near them."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from tests.adversaries.posterior.drawing import close, people_rows, random_scene, scenes, truth
from tests.oracle.posterior_worlds import joint, joint_by_permanents

from foreknow.adversaries.priors.exact import exact_group
from foreknow.adversaries.priors.joint import binary_posteriors, joint_posteriors

FLOATS = {"joint": joint_posteriors, "binary": binary_posteriors}
both = pytest.mark.parametrize("reading", ["joint", "binary"])


def check(held, groups, priors, reading):
    """Fractions and floats of all groups against enumeration; how many groups are possible."""
    found = FLOATS[reading](groups, priors)
    some = 0
    for g, one in enumerate(held):
        true = truth(one, priors, reading)
        assert exact_group(groups, g, priors, reading) == true, (one, priors.fractions)
        error = found.errors[found.case_of[g]]
        assert error < 1e-13
        assert close(found.of(g), true, error), (one, priors.fractions, found.of(g), true)
        impossible = any(p is None for row in true for p in row)
        assert found.kind(g) == ("impossible" if impossible else "exact")
        some += not impossible
    lower, upper = found.lower(), found.upper()
    for g, one in enumerate(held):
        case = found.case_of[g]
        cells = slice(found.offsets[case], found.offsets[case + 1])
        ends = list(zip(lower[cells].tolist(), upper[cells].tolist(), strict=True))
        flat = [p for row in truth(one, priors, reading) for p in row]
        for (low, high), p in zip(ends, flat, strict=True):
            assert p is None or Fraction(low) <= p <= Fraction(high)
    return some


@both
@pytest.mark.parametrize("kind", ["any", "zeros", "sums", "tiny", "alike"])
def test_posteriors_are_what_enumeration_says(reading, kind):
    drawn = random.Random(f"{reading} {kind}")
    some = sum(check(*random_scene(drawn, 20, 5, kind), reading) for _ in range(15))
    assert some > 50  # of 300 groups


@both
@given(scene=scenes())
def test_any_small_group_is_what_enumeration_says(reading, scene):
    held, groups, priors = scene
    check([held], groups, priors, reading)


def test_two_oracles_agree():
    drawn = random.Random(3)
    for _ in range(20):
        held, _, priors = random_scene(drawn, 10, 5)
        for signatures, bag in held:
            people = people_rows(signatures, priors)
            assert joint(people, bag) == joint_by_permanents(people, bag)
