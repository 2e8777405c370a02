"""Estimates: flagged, reproducible, and with intervals that hold the truth as often as claimed."""

import random
from itertools import product

import numpy as np
import pytest
from tests.adversaries.statements.scenes import random_scene, release_of
from tests.oracle.statement_worlds import agreeing, posterior, worlds

import foreknow as fk
from foreknow.adversaries.statements import sampling
from foreknow.adversaries.statements.sampling import ROUNDS, combined
from foreknow.errors import UnsupportedError

VALUES = [f"v{i}" for i in range(8)]


@pytest.fixture
def few_worlds(monkeypatch):
    """Rounds of fewer worlds, which say less but take less time."""
    monkeypatch.setattr(sampling, "WORLDS", 256)


@pytest.mark.parametrize("weighted", [False, True], ids=["even", "prior"])
@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_intervals_hold_the_truth(few_worlds, semantics, weighted):
    """At least 99% of some 100 intervals; more than three misses have odds below 2%."""
    estimates = misses = narrow = 0
    for seed in range(1000, 1200):
        scene = random_scene(seed, semantics, weighted)
        every = worlds(scene.groups, semantics, scene.prior)
        if not agreeing(every, scene.statements):
            continue
        known, release = scene.known(budget=1, seed=seed), scene.release
        for person, value in random.Random(seed).choices(scene.pairs, k=2):
            try:
                found = known.posterior(release, person, value)
            except UnsupportedError:  # no sampled world agreed, though there is one
                continue
            truth = posterior(every, scene.statements, person, value)
            if not found.estimated:
                assert found.exact == truth
                continue
            low, high = found.interval
            assert found.exact is None
            assert 0 <= low <= found.probability <= high <= 1
            estimates += 1
            misses += not low <= truth <= high
            narrow += high - low < 0.1
    assert estimates > 60
    assert misses <= 3
    assert narrow > estimates / 2


def crowd(size=10, links=16, seed=0, others=()):
    """People of one group of 60, linked at random; within reach of exact inference, too."""
    chance = random.Random(seed)
    bag = chance.choices(VALUES, k=60)
    names = [f"p{i}" for i in range(60)]
    said = []
    for _ in range(links):
        a, b = chance.sample(names[:size], 2)
        x, y, z = chance.sample(VALUES, 3)
        said.append(chance.choice([f"{a} = {x} -> {b} = {y}", f"{a} != {x} or {b} = {z}"]))
    return release_of([(names, bag), *others]), said


def test_estimates_of_a_crowd_agree_with_exact_inference():
    misses = 0
    for seed in range(3):
        release, said = crowd(seed=seed)
        exact, guess = fk.Statements(*said), fk.Statements(*said, budget=10, seed=seed)
        for name, value in product(["p0", "p5", "p50"], VALUES[:4]):
            truth, found = (known.posterior(release, name, value) for known in (exact, guess))
            assert (truth.estimated, found.estimated) == (False, True)
            assert found.interval[1] - found.interval[0] < 0.05
            assert found.before == truth.before
            misses += not found.interval[0] <= truth.probability <= found.interval[1]
    assert misses <= 1  # of 36


def test_an_estimate_is_never_called_exact():
    release, said = crowd()
    found = fk.Statements(*said, budget=10).posterior(release, "p0", "v0")
    low, high = found.interval
    assert found.exact is None
    assert found.estimated
    assert found.below(high + 1e-9)
    assert not found.below(high)
    assert not found.below((low + high) / 2)
    assert repr(found).startswith("Posterior('p0', 'v0': about 0.")
    told = found.to_dict()
    assert (told["exact"], told["estimated"], told["interval"]) == (None, True, [low, high])


def test_a_disclosure_takes_the_upper_end():
    release, said = crowd()
    known = fk.Statements(*said, budget=10)
    found = known.disclosure(release, "v0")
    rows = known.posteriors(release, values=["v0"])
    assert found.exact is None
    assert found.probability == max(row["v0"].interval[1] for row in rows.values())
    assert found.witness.interval[1] == found.probability
    assert found.estimated
    assert not found.below(found.probability)
    assert not found.below(1)
    assert "about" in repr(found)
    assert "person" not in found.witness.to_dict()
    assert found.witness.person in rows
    shown = known.posteriors(release, people=["p0"], values=["v0"])._repr_html_()
    assert "<td>about 0." in shown


def test_a_disclosure_is_an_estimate_as_long_as_anybody_has_one():
    both, said = crowd(others=[(["Ann", "Tom", "Ed"], ["v0", "v0", "v1"])])
    # In the other group it is exactly 2/3, which is above all intervals.
    likely = fk.Statements(*said, budget=10).disclosure(both, "v0")
    assert (likely.probability, likely.exact) == (2 / 3, None)
    assert likely.estimated
    assert likely.witness.interval is None
    certain = fk.Statements(*said, "Ed = v1", budget=10).disclosure(both, "v0")
    assert (certain.exact, certain.estimated) == (1, False)


def test_seeds_make_estimates_reproducible_whatever_is_asked_first():
    release, said = crowd()
    pairs = [("p0", "v0"), ("p3", "v1"), ("p50", "v2")]

    def ask(seed, order):
        known = fk.Statements(*said, budget=10, seed=seed)
        return {pair: known.posterior(release, *pair).interval for pair in order}

    assert ask(1, pairs) == ask(1, pairs[::-1])
    assert ask(1, pairs) != ask(2, pairs)


def test_the_budget_does_not_depend_on_what_was_asked_before():
    release, said = crowd()
    pairs = [(f"p{i}", value) for i in (0, 2, 7, 50) for value in VALUES[:3]]
    known = fk.Statements(*said)
    case = known._case(release)
    known.posterior(release, *pairs[0])
    spent = []
    for pair in pairs[1:]:
        before = case.steps
        known.posterior(release, *pair)
        spent.append(case.steps - before)
    # a budget that suffices for the statements and some answers, but not for others
    alone = fk.Statements(*said)._case(release)
    alone.answer(50, 0)
    budget = max(alone.steps, sorted(spent)[len(spent) // 2])
    flags = [
        {pair: known.posterior(release, *pair).estimated for pair in order}
        for order in (pairs, pairs[::-1])
        for known in [fk.Statements(*said, budget=budget)]
    ]
    assert flags[0] == flags[1]


def test_only_what_is_out_of_reach_is_estimated():
    both, said = crowd(others=[(["Ann", "Tom"], ["v0", "v1"])])
    known = fk.Statements(*said, "Ann != v0", budget=10)
    assert known.posterior(both, "p0", "v0").estimated
    assert known.posterior(both, "Tom", "v0").exact == 1


def test_what_no_sample_agrees_with_is_not_called_a_contradiction():
    names = [f"p{i}" for i in range(20)]
    release = release_of([(names, [f"v{i}" for i in range(20)])])
    # Twelve pigeons for eleven holes: impossible, but that takes some steps to see.
    said = [" or ".join(f"p{i} = v{j}" for j in range(11)) for i in range(12)]
    known = fk.Statements(*said, budget=50)
    with pytest.raises(UnsupportedError, match="not known whether these statements can hold"):
        known.posterior(release, "p0", "v0")
    # Nor is anything said of anybody else.
    both = release_of([(names, [f"v{i}" for i in range(20)]), (["Ann", "Tom"], ["v0", "v1"])])
    known = fk.Statements(*said, "Ann != v0", budget=50)
    for ask in (
        lambda: known.posterior(both, "Tom", "v0"),
        lambda: known.posterior(both, "Ann", "v7"),
        lambda: known.disclosure(both, "v0"),
    ):
        with pytest.raises(UnsupportedError, match="not known whether these statements can hold"):
            ask()


# ---- intervals ---------------------------------------------------------------------------------


def test_an_interval_is_never_a_point():
    even = np.ones(ROUNDS)
    assert 0.3 < combined(even * 0.3, even, 0.0).high < 0.3 + 1e-8
    certain = combined(even, even, 1000.0)
    assert (certain.probability, certain.high) == (1, 1)
    assert 0.98 < certain.low < 1


def test_one_round_that_outweighs_the_others_tells_nothing():
    masses = np.array([1.0] + [1e-3] * (ROUNDS - 1))
    found = combined(np.linspace(0.2, 0.4, ROUNDS), masses, 1000.0)
    assert (found.low, found.high) == (0, 1)
