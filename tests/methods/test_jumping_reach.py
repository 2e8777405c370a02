"""Reach: whether a table is within it depends on no table that was looked at before."""

import random
from collections import Counter

import foreknow as fk
from foreknow.criteria.properties import MaxRatio
from foreknow.methods.jump import Jump, Safe, run

CROSSED = [
    [[0, 1, 2], [3, 4, 5], [6, 7]],
    [[0, 2, 4, 6], [1, 3, 5, 7]],
    [[0, 2, 3, 5, 6], [1, 4, 7]],
    [list(range(8))],
]


def outcome(algorithm, table):
    try:
        return algorithm.run(table).released
    except fk.BeyondReach:
        return "beyond"


def alone(algorithm, table):
    run._shared.cache_clear()
    return outcome(algorithm, table)


def tables(chance):
    return [[chance.choice("aabbcde") for _ in range(8)] for _ in range(40)]


def test_other_tables_do_not_bring_a_table_within_reach():
    chance = random.Random(2)
    met = Counter()
    for steps in (200, 800, 1600):
        for algorithm in (
            Safe(CROSSED, MaxRatio("1/2"), steps=steps),
            Jump(CROSSED, 1, MaxRatio("1/2"), steps=steps),
        ):
            given = tables(chance)
            expected = [alone(algorithm, table) for table in given]
            run._shared.cache_clear()
            assert [outcome(algorithm, table) for table in given] == expected
            assert [outcome(algorithm, table) for table in given[::-1]] == expected[::-1]
            met.update(expected)
    assert met["beyond"] > 20
    assert sum(met.values()) - met["beyond"] > 20


def test_without_forgetting_they_would(monkeypatch):
    """The test above would notice."""
    chance = random.Random(2)
    ever = property(lambda self: 1, lambda self, steps: None)  # nothing was ever much
    monkeypatch.setattr(run.Budget, "ever", ever, raising=False)
    changed = 0
    for steps in (200, 800, 1600):
        algorithm = Jump(CROSSED, 1, MaxRatio("1/2"), steps=steps)
        given = tables(chance)
        expected = [alone(algorithm, table) for table in given]
        run._shared.cache_clear()
        changed += [outcome(algorithm, table) for table in given] != expected
    assert changed


def test_what_was_found_is_used_again_where_that_makes_no_difference():
    algorithm = Safe(CROSSED, MaxRatio("1/2"), steps=10**6)
    run._shared.cache_clear()
    first = algorithm.run(list("aabbcdea"))
    assert algorithm.run(list("babacdea"))._case.exact is first._case.exact
