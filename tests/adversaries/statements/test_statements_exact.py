"""Posteriors against enumerated worlds: every connective, all semantics, with and without prior."""

import random
from itertools import product

import pytest
from hypothesis import given, settings
from tests.adversaries.statements.drawing import formula, random_scene, scenes, text
from tests.oracle.statement_worlds import agreeing, posterior, worlds

from foreknow.adversaries.statements import Statements
from foreknow.errors import ContradictionError, StatementError


def asked(scene, **more):
    """Statements as texts and formulas in turn."""
    said = [text(s) if i % 2 else formula(s) for i, s in enumerate(scene.statements)]
    return Statements(*said, prior=scene.prior, **more)


def check(scene, targets):
    """Compare with enumeration; says what came of it."""
    before = worlds(scene.groups, scene.semantics, scene.prior)
    release, known = scene.release, asked(scene)
    if not before:
        with pytest.raises(StatementError) as caught:
            ask_all(known, release, everything(scene))
        assert isinstance(caught.value, ContradictionError) or "prior" in str(caught.value)
        return "no world"
    if not agreeing(before, scene.statements):
        for person, value in targets:
            with pytest.raises(ContradictionError) as caught:
                known.posterior(release, person, value)
            check_blame(scene, before, caught.value.together)
        return "contradiction"
    for person, value in targets:
        found = known.posterior(release, person, value)
        assert found.exact == posterior(before, scene.statements, person, value), (person, value)
        assert found.before == posterior(before, [], person, value)
        assert not found.estimated
        assert found.interval == (found.probability, found.probability)
        assert found.probability == float(found.exact)
    return "answers"


def ask_all(known, release, targets):
    return [known.posterior(release, person, value) for person, value in targets]


def check_blame(scene, before, together):
    """The statements to blame cannot hold together; without any of them, the others can."""
    blamed = [scene.statements[i] for i in together]
    assert not agreeing(before, blamed)
    for i in range(len(blamed)):
        assert agreeing(before, blamed[:i] + blamed[i + 1 :])


def everything(scene):
    return [(person, value) for person in scene.people for value in scene.values]


@settings(max_examples=60)
@given(scenes(weighted=False))
def test_every_posterior_is_that_of_enumerated_worlds(scene):
    check(scene, everything(scene))


@settings(max_examples=60)
@given(scenes(weighted=True))
def test_with_a_prior_too(scene):
    check(scene, everything(scene))


def many(semantics, weighted, cases):
    """Compare many scenes; enough of them must have answers, and contradictions."""
    outcomes = []
    for seed in range(cases):
        scene = random_scene(seed, semantics, weighted)
        targets = random.Random(seed).choices(everything(scene), k=3)
        outcomes.append(check(scene, targets))
    assert outcomes.count("answers") > cases / 3
    assert outcomes.count("contradiction") > cases / 20


all_kinds = pytest.mark.parametrize(
    ("semantics", "weighted"), list(product(["single", "set", "multiset"], [False, True]))
)


@all_kinds
def test_thousands_of_releases(semantics, weighted):
    many(semantics, weighted, 400)


@pytest.mark.slow
@all_kinds
def test_many_thousands_of_releases(semantics, weighted):
    many(semantics, weighted, 6000)
