"""ART's mixed groups: recipes help whenever they are carried out, and take nobody twice."""

from collections import Counter

import numpy as np
import pytest
from tests.examples import NIGHTLY

from foreknow.adversaries.priors.signature_groups import matrix
from foreknow.methods.art.judge import safe_lists
from foreknow.methods.art.mixer import Mixer, Way
from foreknow.methods.art.problem import ArtProblem


def mixed(rng, n_profiles=6, n_values=5):
    """Profiles that are much alike, of which some have too many of a value."""
    priors = rng.uniform(0.8, 1.2, (n_profiles, n_values))
    many = rng.integers(0, 8, (n_profiles, n_values))
    many[: n_profiles // 2, 0] += rng.integers(15, 25, n_profiles // 2)
    profiles, values = (
        np.repeat(own, many.ravel()) for own in map(np.ravel, np.indices(many.shape))
    )
    priors = [matrix(priors / priors.sum(axis=1, keepdims=True))]
    return ArtProblem.of_signatures([profiles], priors, values, r=2, unique=False)


def worse(mixer, recipe, times):
    """How much a recipe leaves in the way more often than it takes away, thrice."""
    table = mixer.table.copy()
    for pair, count in recipe.items():
        table[pair] -= times * count
    change = mixer.excess(table, np.arange(len(table))) - mixer.all_excess()
    return sum(3 * own if own > 0 else own for own in change.tolist())


def test_a_recipe_is_carried_out_as_often_as_it_helps_most():
    rng = np.random.default_rng(4)
    said = set()
    for _ in range(2_000 if NIGHTLY else 100):
        problem = mixed(rng)
        mixer = Mixer(problem, problem)
        pairs = np.argwhere(mixer.table)[rng.integers(np.count_nonzero(mixer.table), size=3)]
        recipe = Counter(map(tuple, pairs.tolist()))
        most = min(int(mixer.table[pair]) // count for pair, count in recipe.items())
        each = [worse(mixer, recipe, times) for times in range(most + 1)]
        assert mixer.times(recipe) == each.index(min(each))
        said.add(mixer.times(recipe) > 0)
    assert said == {True, False}


@pytest.mark.parametrize("seed", range(20 if NIGHTLY else 4))
def test_small_groups_are_safe_hold_nobody_twice_and_clear_the_way(seed):
    problem = mixed(np.random.default_rng(seed))
    mixer = Mixer(problem, problem)
    before = mixer.n_in_the_way()
    groups = mixer.small_groups(Way(problem))
    people = np.concatenate(groups)
    assert len(set(people.tolist())) == len(people)
    assert not mixer.free[people].any()
    assert np.array_equal(mixer.table, problem.counted(np.flatnonzero(mixer.free)))
    assert safe_lists(problem, groups).all()
    assert mixer.n_in_the_way() < before
