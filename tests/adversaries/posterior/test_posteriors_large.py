"""Larger groups: floats within their error of fractions, priors far apart, either lattice."""

import random
from fractions import Fraction

import numpy as np
import pytest
from tests.adversaries.posterior.drawing import close, random_group, random_scene, random_table

from foreknow.adversaries.priors import joint
from foreknow.adversaries.priors import joint as single
from foreknow.adversaries.priors.dynamic_program import merge_floats
from foreknow.adversaries.priors.exact import exact_group, exact_joint, possible
from foreknow.adversaries.priors.joint import binary_posteriors, joint_posteriors, judge
from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups, matrix
from foreknow.errors import UnsupportedError

FLOATS = {"joint": joint_posteriors, "binary": binary_posteriors}


def agree(groups, priors, reading="joint", most=1e-10):
    found = FLOATS[reading](groups, priors)
    for g in range(groups.n_groups):
        error = found.errors[found.case_of[g]]
        assert error < most
        assert close(found.of(g), exact_group(groups, g, priors, reading), error)
    return found


@pytest.mark.parametrize("reading", ["joint", "binary"])
@pytest.mark.parametrize("kind", ["any", "zeros", "sums", "tiny", "alike"])
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
        held = [random_group(drawn, 10, *sizes) for _ in range(8)]
        agree(SignatureGroups.from_people(held), priors)


def test_a_group_by_itself_is_judged_as_among_many():
    drawn = random.Random(8)
    for _ in range(60):
        _, groups, priors = random_scene(drawn, 1, 9)
        signatures, people = zip(*groups.people_of(0), strict=True)
        values, counts = zip(*groups.bag_of(0), strict=True)
        alone = judge(people, counts, priors.chances[np.ix_(signatures, values)], 10**6)
        exact = exact_group(groups, 0, priors)
        if alone.table is None:
            assert exact[0][0] is None
        else:
            assert close(alone.table, exact, alone.error)


def test_priors_from_the_least_to_one():
    # The likeliest world has weight 1e-300, all others far less; products underflow unless scaled.
    small = Fraction(10) ** -300
    rows = [[small if i == j else small**0 if i < j else small for j in range(6)] for i in range(6)]
    groups = SignatureGroups.from_people([(range(6), range(6)), ([0, 1, 2], [0, 0, 1])])
    agree(groups, PriorMatrix.from_fractions(rows))


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_every_way_to_keep_the_weights_of_priors_far_apart(monkeypatch, together, whole):
    # Weights are held by floats scaled together, else scaled for a group, else by whole numbers.
    if not together:
        monkeypatch.setattr(joint, "LEAST_TOTAL", np.inf)
    if whole:
        monkeypatch.setattr(single, "LEAST_TOTAL", np.inf)
    drawn = random.Random(4)
    for _ in range(30):
        size = drawn.choice([3, 5, 7])
        exponents = drawn.choice([[0, 40, 150, 300], [0, 300], range(301)])
        rows = [[Fraction(10) ** -drawn.choice(exponents) for _ in range(size)] for _ in range(4)]
        held = [random_group(drawn, size, 4, size) for _ in range(2)]
        found = agree(SignatureGroups.from_people(held), PriorMatrix.from_fractions(rows))
        assert not found.bounded.any()


def test_more_states_than_are_judged_together():
    # 2**13 subsets of thirteen, and 2**9 states of repeated values in the other direction.
    random_floats = np.random.default_rng(3).uniform(0.1, 1, (13, 13))
    found = agree(SignatureGroups.from_people([(range(13), range(13))]), matrix(random_floats))
    assert found.of(0).sum(axis=0) == pytest.approx(1)
    assert found.of(0).sum(axis=1) == pytest.approx(1)


def test_few_signatures_make_large_groups_cheap():
    rows = [["1/3", "1/6", "1/2"], ["1/5", "2/5", "2/5"]]
    priors = PriorMatrix.from_fractions(rows)
    people = [0] * 60 + [1] * 60
    found = agree(SignatureGroups.from_people([(people, [0, 1, 2] * 40)]), priors)
    assert found.kind(0) == "exact"
    assert float(60 * found.of(0)[:, 0].sum()) == pytest.approx(40)


def test_proportional_priors_make_large_groups_cheap():
    # Thirty signatures, though in two directions over the held values; and thirty values.
    rows = [[Fraction(1 + (x + s) % 2, 3 + s) for x in range(30)] for s in range(30)]
    groups = SignatureGroups.from_people([(range(30), range(30))])
    found = agree(groups, PriorMatrix.from_fractions(rows))
    assert found.kind(0) == "exact"
    assert not found.bounded.any()
    merged = merge_floats([1] * 30, [1] * 30, np.array(rows, dtype=float))
    assert (merged.people, merged.counts) == ((15, 15), (15, 15))


def test_equal_priors_say_no_more_than_the_bag():
    groups = SignatureGroups.from_people([(range(500), [i % 5 for i in range(500)])])
    found = joint_posteriors(groups, matrix(np.full((500, 5), 0.1)))
    assert found.kind(0) == "exact"
    assert found.of(0) == pytest.approx(0.2)


def test_fractions_out_of_reach_are_refused():
    drawn = random.Random(9)
    table = [[Fraction(drawn.randint(1, 99), 100) for _ in range(20)] for _ in range(20)]
    with pytest.raises(UnsupportedError, match="needs 1048576 states, more than 65536"):
        exact_joint([1] * 20, [1] * 20, table)


def brute(support, people, counts):
    """Pairs of all ways to deal, one signature after another."""
    found = np.zeros(support.shape, dtype=bool)

    def deal(s, left, used):
        if s == len(people):
            for pair in used:
                found[pair] = True
            return
        place(s, 0, people[s], left, used)

    def place(s, x, more, left, used):
        if x == len(counts):
            if not more:
                deal(s + 1, left, used)
            return
        for some in range(min(more, left[x]) + 1):
            if some and not support[s, x]:
                break
            rest = [*left[:x], left[x] - some, *left[x + 1 :]]
            place(s, x + 1, more - some, rest, [*used, (s, x)] if some else used)

    deal(0, list(counts), [])
    return found if found.any() else None


def test_what_is_possible_is_what_some_dealing_has():
    drawn = np.random.default_rng(12)
    impossible = 0
    for _ in range(600):
        size, n_signatures, n_values = drawn.integers(1, 7), *drawn.integers(1, 5, 2)
        people = np.bincount(drawn.integers(0, n_signatures, size), minlength=n_signatures)
        counts = np.bincount(drawn.integers(0, n_values, size), minlength=n_values)
        people, counts = people[people > 0].tolist(), counts[counts > 0].tolist()
        support = drawn.random((len(people), len(counts))) < 0.6
        found, true = possible(support, people, counts), brute(support, people, counts)
        assert (found is None) == (true is None)
        impossible += found is None
        assert found is None or (found == true).all()
    assert 100 < impossible < 500


def test_states_are_those_of_the_smaller_lattice():
    # Thirty people of two signatures: 16**2 states, where values alone would need 2**30.
    priors = matrix(np.random.default_rng(1).uniform(0.1, 1, (2, 30)))
    groups = SignatureGroups.from_people([([0] * 15 + [1] * 15, range(30))])
    assert joint_posteriors(groups, priors, reach=256).kind(0) == "exact"
    assert joint_posteriors(groups, priors, reach=255).kind(0) == "bounded"
