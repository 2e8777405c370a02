"""Instances beyond enumeration: different ways to count agree, bounds and intervals hold."""

import random
from fractions import Fraction

import pytest

from foreknow.criteria.properties import Distinct, Entropy, MaxRatio, Recursive
from foreknow.methods.jump import HALF, Jump, Naive, Safe, bounds
from foreknow.methods.jump.blocks import Layout
from foreknow.methods.jump.bounds import most_lost, surely_safe
from foreknow.methods.jump.disclosure_set import BeyondReach, Budget, Exact, Need, spreads
from foreknow.methods.jump.functions import Function, renumber
from foreknow.methods.jump.run import Case

F = Fraction


def blocks(n, size, shift=0):
    order = [(person + shift) % n for person in range(n)]
    return [order[i : i + size] for i in range(0, n, size)]


def codes(n, sizes):
    return [Function.of(blocks(n, *size)).codes(range(n)) for size in sizes]


def case(algorithm, n, sizes, table, at_one_piece, steps=30_000):
    strategy = algorithm._strategy()
    layout = Layout([*codes(n, sizes), (0,) * n])
    engine = Exact(layout, strategy, (0,), Budget(steps), at_one_piece)
    numbers = renumber(table)
    values = tuple(dict.fromkeys(table))
    return Case(tuple(range(n)), values, numbers, (0,) * len(values), algorithm.functions, engine)


SHAPES = [
    (8, [(2,), (4,), (8,)]),
    (8, [(2,), (4,), (2, 1), (8,)]),
    (9, [(3,), (3, 1), (9,)]),
    (12, [(2,), (4,), (12,)]),
    (12, [(3,), (6,), (12,)]),
    (12, [(2,), (6,), (4,)]),
    (16, [(4,), (8,), (16,)]),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("prop", [HALF, MaxRatio("2/5"), Distinct(3), Entropy(2)], ids=repr)
def test_dealing_by_parts_is_the_same_as_at_one_piece(shape, prop):
    n, sizes = shape
    chance = random.Random(str(shape) + repr(prop))
    functions = [blocks(n, *size) for size in sizes]
    compared = asked = 0
    for _ in range(3):
        table = [chance.choice("aabbcde") for _ in range(n)]
        k = [chance.randint(1, 2) for _ in sizes]
        for algorithm in (
            Jump(functions, 1, prop),
            Jump(functions, k, prop),
            Naive(functions, prop),
        ):
            one, parts = (case(algorithm, n, sizes, table, size) for size in (10**9, 0))
            for i in range(len(sizes) + 1):
                asked += 1
                try:
                    assert one.disclosure_set(i) == parts.disclosure_set(i)
                    compared += 1
                except BeyondReach:
                    assert n > 9
    assert 2 * compared >= asked


@pytest.mark.parametrize(
    "prop", [HALF, MaxRatio("3/5"), Distinct(2), Distinct(3), Recursive(2, 2), Recursive(3, 3)]
)
def test_bounds_are_never_wrong(prop, monkeypatch):
    chance = random.Random(repr(prop))
    told = close = 0
    for _ in range(40):
        n, sizes = chance.choice(SHAPES[:4])
        functions = [blocks(n, *size) for size in sizes]
        table = [chance.choice("aaabbcde") for _ in range(n)]
        one = case(Jump(functions, 1, prop), n, sizes, table, 256, 10**6)
        monkeypatch.setattr(bounds, "WORK", chance.choice([20, 300, 10**6]))
        for i in range(len(sizes)):
            parts = one.parts(i)
            needs = one.exact.needs(i, parts)
            levels = [j for j, need in enumerate(needs) if need is not Need.NOTHING]
            counted = one.exact.count(i, parts)
            lost, most = 1 - F(counted.size, counted.total), most_lost(one.exact, parts, levels)
            assert lost <= most
            close += 0 < most <= lost + F(1, 1000)
            if surely_safe(one.exact, parts, levels):
                told += 1
                assert one.exact.permutation_safe(parts)
                assert one.exact._judged(counted)
    assert told > 3
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


def test_out_of_reach_is_said_and_estimated():
    chance = random.Random(4)
    n = 48
    table = [chance.choice("aabbc") for _ in range(n)]
    jump = Jump([blocks(n, 4), blocks(n, 16, 2), blocks(n, 48)], 1, HALF, steps=2_000)
    with pytest.raises(BeyondReach, match="more than 2,000 steps"):
        jump.run(table).disclosure_set(2)
    seen = jump.estimate(table, 2, samples=200, seed=1)
    assert seen.estimated
    assert seen.samples == 200
    assert 0 <= seen.interval[0] <= seen.max_ratio <= seen.interval[1] <= 1
    assert "interval" in seen.to_dict()
    assert seen == jump.estimate(table, 2, samples=200, seed=1)


def test_numbers_of_spreads():
    for counts, cells, sizes in [
        ((3,), ((0, 1, 2),), (2, 2, 1)),
        ((2, 1), ((0, 2), (1,)), (2, 1, 1)),
    ]:
        budget = Budget(100)
        found = spreads(counts, cells, sizes, budget)
        assert len(found) == len(set(found)) == budget.used
