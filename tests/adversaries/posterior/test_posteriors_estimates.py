"""Estimates by sampling: marked as such, the same for the same seed, their intervals hold."""

import random
from fractions import Fraction

import numpy as np
import pytest
from tests.adversaries.posterior.drawing import random_group, random_table

from foreknow.adversaries.priors.exact import exact_group
from foreknow.adversaries.priors.joint import joint_posteriors
from foreknow.adversaries.priors.sampling import estimate_group
from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups, matrix


@pytest.mark.parametrize("reading", ["joint", "binary"])
def test_intervals_cover_what_is_exact(reading):
    drawn = random.Random(f"sample {reading}")
    covered = missed = 0
    for seed in range(100):
        kind = drawn.choice(["any", "sums", "alike", "zeros"])
        held = random_group(drawn, drawn.randint(3, 10), 4, 4)
        groups = SignatureGroups.from_people([held])
        priors = PriorMatrix.from_fractions(random_table(drawn, 4, 4, kind))
        found = estimate_group(groups, 0, priors, reading, seed=seed, worlds=200)
        assert found.estimated
        exact = exact_group(groups, 0, priors, reading)
        for row, true_row in zip(found.table, exact, strict=True):
            for estimate, p in zip(row, true_row, strict=True):
                assert (estimate is None) == (p is None)
                if estimate is not None:
                    holds = Fraction(estimate.low) <= p <= Fraction(estimate.high)
                    covered += holds
                    missed += not holds
                    assert estimate.low <= estimate.probability <= estimate.high
    assert covered > 300
    assert missed <= 0.02 * covered


def test_a_group_out_of_reach_is_estimated_below_its_bound():
    priors = matrix(np.random.default_rng(5).uniform(0.1, 0.9, (40, 10)))
    groups = SignatureGroups.from_people([(range(40), [i % 10 for i in range(40)])])
    bounds = joint_posteriors(groups, priors)
    assert bounds.kind(0) == "bounded"
    found = estimate_group(groups, 0, priors, seed=1)
    widths = [e.high - e.low for row in found.table for e in row]
    assert max(widths) < 0.05
    for row, most in zip(found.table, bounds.of(0).tolist(), strict=True):
        assert sum(e.probability for e in row) == pytest.approx(1)
        assert all(e.low <= m for e, m in zip(row, most, strict=True))


def test_the_same_seed_gives_the_same_estimate():
    priors = matrix(np.random.default_rng(5).uniform(0.1, 0.9, (4, 4)))
    groups = SignatureGroups.from_people([(range(4), range(4))])
    one, two, other = (estimate_group(groups, 0, priors, seed=s, worlds=50) for s in (3, 3, 4))
    assert one == two
    assert one != other
