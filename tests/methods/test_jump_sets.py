"""Exact disclosure sets against plain enumeration, on random small instances."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from tests.examples import NIGHTLY
from tests.methods.jump_instances import PROPERTIES, blocks, lists, random_instance
from tests.oracle import jump_worlds as oracle

import foreknow as fk
from foreknow.errors import BeyondReach
from foreknow.methods.jump import HALF, Jump, Naive, Safe, bounds, run
from foreknow.methods.jump.bounds import most_lost, surely_safe
from foreknow.methods.jump.disclosure_set import EarlierNeed
from foreknow.methods.jump.functions import Function
from foreknow.methods.jump.properties import (
    Distinct,
    MaxRatio,
    Recursive,
)
from foreknow.methods.jump.run import case_of

ROUNDS = 1200 if NIGHTLY else 10
BOUNDED = 200 if NIGHTLY else 20


def algorithms(functions, prop, chance):
    given = lists(functions)
    n = len(functions)
    k = [chance.randint(1, 3) for _ in range(n)]
    yield "naive", Naive(given, prop), None
    yield "safe", Safe(given, prop), None
    yield "jump", Jump(given, 1, prop), [1] * n
    yield "jump", Jump(given, k, prop), k


def compare(functions, table, name, chance):
    prop, judge = PROPERTIES[name]
    tables = oracle.all_tables(table)
    for kind, fast, distances in algorithms(functions, prop, chance):
        slow = oracle.Algorithm(kind, functions, judge, tables, distances)
        run = fast.run(table)
        assert run.released == slow.released(table), (functions, table, name, kind, distances)
        for i in range(len(functions)):
            expected = slow.disclosure_set(i, table)
            found = run.disclosure_set(i)
            assert found.size == len(expected), (functions, table, name, kind, distances, i)
            assert found.permutation_size == len(slow.permutation_set(i, table))
            if expected:
                assert list(found.marginals.values()) == oracle.marginals(expected)
        silent = [t for t in tables if slow.released(t) is None]
        found = run.nothing_set()
        assert found.size == len(silent)
        if silent:
            assert list(found.marginals.values()) == oracle.marginals(silent)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", PROPERTIES)
def test_exact_sets_are_those_of_enumeration(name):
    chance = random.Random(name)
    reached, people = Counter(), Counter()
    for _ in range(ROUNDS):
        functions, table = random_instance(chance)
        compare(functions, table, name, chance)
        reached[len(functions)] += 1
        people[len(table)] += 1
    assert len(reached) > (2 if NIGHTLY else 1)
    assert len(people) > 3


# ---- beyond enumeration: bounds hold --------------------------------------


SHAPES = [
    (8, [(2,), (4,), (8,)]),
    (8, [(2,), (4,), (2, 1), (8,)]),
    (9, [(3,), (3, 1), (9,)]),
    (12, [(2,), (4,), (12,)]),
]


@pytest.mark.parametrize(
    "prop", [HALF, MaxRatio("3/5"), Distinct(2), Distinct(3), Recursive(2, 2), Recursive(3, 3)]
)
def test_bounds_are_never_wrong(prop, monkeypatch):
    chance = random.Random(repr(prop))
    told = close = 0
    for _ in range(BOUNDED):
        n, sizes = chance.choice(SHAPES)
        functions = [blocks(n, *size) for size in sizes]
        table = [chance.choice("aaabbcde") for _ in range(n)]
        jump = Jump(functions, 1, prop)
        one = case_of(jump.given, jump._strategy(), table, 10**6)
        monkeypatch.setattr(bounds, "WORK", chance.choice([20, 300, 10**6]))
        for i in range(len(sizes)):
            parts = one.parts(i)
            needs = one.exact.needs(i, parts)
            levels = [j for j, need in enumerate(needs) if need is not EarlierNeed.NOTHING]
            counted = one.exact.count(i, parts)
            lost = 1 - Fraction(counted.size, counted.total)
            most = most_lost(one.exact, parts, levels)
            assert lost <= most
            close += 0 < most <= lost + Fraction(1, 1000)
            if surely_safe(one.exact, parts, levels):
                told += 1
                assert one.exact.permutation_safe(parts)
                assert one.exact._judged(counted)
    assert told >= BOUNDED // 20
    assert close > 0 or not prop.complete


def test_a_bound_decides_where_counting_is_beyond_reach():
    """Chains of hundreds of people: all that is needed is that hardly any table was stopped."""
    chance = random.Random(2)
    n = 200
    table = [value for _ in range(10) for value in chance.sample("aaabbcdefg" * 2, 20)]
    functions = [blocks(n, 4), blocks(n, 20), blocks(n, 100)]
    run = Jump(functions, 1, HALF).run(table)
    assert run.path[1:] == [(1, "permutation", True), (1, "disclosure", True)]
    counted = run.disclosure_set()
    assert counted.size < counted.permutation_size
    other = Jump([blocks(n, 10), blocks(n, 100)], 1, MaxRatio("1/5"), steps=100).run(
        [value for _ in range(2) for value in "a" * 16 + "bbcdefghij" * 8 + "klmn"]
    )
    assert other.path[-1] == (1, "disclosure", True)
    with pytest.raises(BeyondReach):
        other.disclosure_set()


def test_a_chain_of_hundreds_of_people_is_decided():
    chance = random.Random(3)
    sizes = [(9, 5, 7, 5), (8, 6, 11, 8), (9, 9, 7, 7)]  # twelve groups, six, three
    small = [part for four in sizes for part in four for _ in range(4)]
    fine, middle, coarse = (
        [number // unite for number, size in enumerate(small) for _ in range(size)]
        for unite in (1, 4, 16)
    )
    table = [chance.choice("aaaaabbbbccccdddefgh") for _ in fine]
    third = MaxRatio("1/3")
    safe = Safe([list(range(len(fine))), fine, middle, coarse], third).run(table)
    naive = Naive([fine, middle, coarse], third).run(table)
    assert (safe.released, naive.released) == (3, 2)
    assert str(Function.of(coarse)) == f"<3 groups of {len(fine)} people>"


def test_out_of_reach_is_said():
    chance = random.Random(4)
    n = 48
    table = [chance.choice("aabbc") for _ in range(n)]
    jump = Jump([blocks(n, 4), blocks(n, 16, 2), blocks(n, 48)], 1, HALF, steps=2_000)
    with pytest.raises(BeyondReach, match="more than 2,000 steps"):
        jump.run(table).disclosure_set(2)


# ---- reach: whether a table is within it depends on no table looked at before ------------------

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
    return [[chance.choice("aabbcde") for _ in range(8)] for _ in range(24)]


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
    assert min(met["beyond"], sum(met.values()) - met["beyond"]) > 12


def test_what_was_found_is_used_again_where_that_makes_no_difference():
    algorithm = Safe(CROSSED, MaxRatio("1/2"), steps=10**6)
    run._shared.cache_clear()
    first = algorithm.run(list("aabbcdea"))
    assert algorithm.run(list("babacdea"))._case.exact is first._case.exact
