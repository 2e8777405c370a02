"""Estimates of disclosure sets: draws are even, intervals hold, and rare tables are found."""

import json
import math
import random
from collections import Counter

import pytest
from tests.oracle import jump_worlds as oracle

from foreknow.criteria.properties import Distinct, MaxRatio
from foreknow.methods.jump import HALF, Jump, Naive, Safe
from foreknow.methods.jump import sampling as estimating
from foreknow.methods.jump.mcmc import CHAINS, CONVERGED, walk
from foreknow.methods.jump.runs import case_of
from foreknow.methods.jump.sampling import Shuffle, Steered, gets_to, sources


def blocks(n, size, shift=0):
    order = [(person + shift) % n for person in range(n)]
    return [order[i : i + size] for i in range(0, n, size)]


def case(algorithm, table):
    return case_of(algorithm.functions, algorithm._strategy(), table, 10**5, fresh=True)


SMALL = [
    ("aabbcd", [(2,), (6,)], HALF),
    ("aabbcd", [(3,), (3, 1)], HALF),
    ("aaabbcc", [(4,), (7,)], HALF),
    ("aabbbcde", [(4,), (8,)], MaxRatio("3/8")),
    ("aaabbbcc", [(4, 1), (4,)], MaxRatio("1/2", values=["a"])),
]


@pytest.mark.parametrize("given", SMALL, ids=str)
def test_steered_draws_are_even_among_the_tables_that_fail(given):
    letters, sizes, prop = given
    table, n = list(letters), len(letters)
    functions = [blocks(n, *size) for size in sizes]
    one = case(Jump(functions, 1, prop), table)
    values = [one.values[code] for code in one.codes]
    slow = oracle.Algorithm(
        "naive", functions, lambda s, size: True, oracle.all_tables(tuple(values))
    )
    agree = slow.permutation_set(1, tuple(values))

    def fails(t):
        return any(
            Counter(t[p] for p in group)[v] > prop.limit(len(group), prop.colour(v))
            for group in functions[0]
            for v in set(t)
        )

    expected = [t for t in agree if fails(t)]
    steered = Steered(one, 1, 0, random.Random(str(given)))
    events = sum(
        sum(t[p] == v for p in group) > prop.limit(len(group), prop.colour(v))
        for t in agree
        for group in functions[0]
        for v in set(t)
    )
    assert math.isclose(steered.at_most, events / len(agree))
    draws = 40 * len(expected)
    seen = Counter(
        tuple(one.values[code] for code in steered.draw()) for _ in range(min(draws, 8000))
    )
    assert set(seen) <= set(expected)
    mean = min(draws, 8000) / len(expected)
    chi2 = sum((seen[t] - mean) ** 2 / mean for t in expected)
    free = len(expected) - 1
    assert chi2 < free + 4 * math.sqrt(2 * free)
    codes = [one.values.index(v) for v in agree[0]]
    assert steered.has(codes) == (agree[0] in expected)


def test_plain_draws_are_even():
    one = case(Naive(["AB|CD", "ABCD"]), dict(zip("ABCD", "xxyz", strict=True)))
    shuffle = Shuffle(one, 1, random.Random(3))
    seen = Counter(tuple(shuffle.draw()) for _ in range(2400))
    assert len(seen) == 12
    assert sum((times - 200) ** 2 / 200 for times in seen.values()) < 11 + 4 * math.sqrt(22)


@pytest.mark.parametrize(("n", "sizes"), [(60, (20, 60)), (200, (50, 100))])
def test_rare_sets_are_found_where_plain_draws_find_nothing(n, sizes):
    chance = random.Random(1)
    table = [chance.choice("aaabbcdefg" if n > 100 else "aabbccdefg") for _ in range(n)]
    jump = Jump([blocks(n, size) for size in sizes], 1, HALF)
    truth = jump.run(table).disclosure_set(1)
    assert 0 < truth.size * 1000 < truth.permutation_size
    one = case(jump, table)
    plain = Shuffle(one, 1, chance)
    assert not any(gets_to(one, 1, plain.draw()) for _ in range(300))
    seen = jump.estimate(table, 1, samples=300, seed=1)
    assert (seen.method, seen.fails_at, seen.inside) == ("steered draws", 0, 300)
    assert seen.interval[0] <= truth.max_ratio <= seen.interval[1] < 1
    assert "fail at function 0" in repr(seen)


def small_instances(rounds, seed):
    chance = random.Random(seed)
    for number in range(rounds):
        n = chance.choice([6, 7, 8])
        functions = [blocks(n, 2), blocks(n, chance.choice([3, 4])), blocks(n, n)]
        table = [chance.choice("aabbcd") for _ in range(n)]
        prop = chance.choice([HALF, MaxRatio("3/5"), Distinct(2)])
        kind = chance.choice([Jump, Safe, Naive])
        yield number, kind(functions, property=prop), table, chance.randrange(1, 3)


def test_intervals_of_draws_hold():
    missed, told, methods = 0, 0, Counter()
    for number, algorithm, table, i in small_instances(150, "draws"):
        truth = algorithm.run(table).disclosure_set(i)
        seen = algorithm.estimate(table, i, samples=200, seed=number, confidence=0.9)
        low, high = seen.interval
        methods[seen.method] += 1
        missed += bool(truth.size) and not low <= truth.max_ratio <= high
        told += high - low < 0.8
    assert missed <= 1  # of 150 at 90%, and Hoeffding's bound is far from tight
    assert told > 75
    assert len(methods) > 1


def test_intervals_of_chains_hold_and_chains_that_did_not_meet_say_so(monkeypatch):
    monkeypatch.setattr(estimating, "FEW", 201)  # unless all draws are inside
    missed, told, chains = 0, 0, 0
    for number, algorithm, table, i in small_instances(60, "chains"):
        truth = algorithm.run(table).disclosure_set(i)
        seen = algorithm.estimate(table, i, samples=200, seed=number, confidence=0.9)
        if seen.method != "chains":
            assert not truth.size or seen.inside == 0 or seen.inside == 200
            continue
        chains += 1
        low, high = seen.interval
        missed += not low <= truth.max_ratio <= high
        told += (low, high) != (0.0, 1.0)
        assert (low, high) == (0.0, 1.0) or seen.r_hat <= CONVERGED
        json.dumps(seen.to_dict())
    assert chains > 20
    assert told > 0.7 * chains
    assert missed <= 2


def test_chains_walk_evenly_over_the_set():
    missed = events = 0
    for number in range(12):
        chance = random.Random(number)
        n = 6
        functions = [blocks(n, 2), blocks(n, 3), blocks(n, n)]
        table = [chance.choice("aabbcd") for _ in range(n)]
        algorithm = Jump(functions, 1, HALF)
        truth = algorithm.run(table).disclosure_set(2)
        one = case(algorithm, table)
        members = [list(codes) for codes in oracle.all_tables(one.codes) if gets_to(one, 2, codes)]
        assert len(members) == truth.size
        if not members:
            continue
        found = walk(
            chance.sample(members, min(4, len(members))),
            [tuple(range(n))],
            [(person,) for person in range(n)],
            len(one.values),
            lambda codes, one=one: gets_to(one, 2, codes),
            sources(one, 2, chance),
            chance,
            400,
            0.05,
        )
        if found.r_hat > CONVERGED:
            continue
        for person in range(n):
            for code, value in enumerate(one.values):
                gap = abs(found.mean[person, code] - float(truth.marginals[person].get(value, 0)))
                missed += gap > found.half[person, code]
                events += 1
        assert found.effective <= 400
        assert abs(found.mean.sum(axis=1) - 1).max() < 1e-9
    assert events > 150
    assert missed <= 0.12 * events  # 5% are expected, and they come together


class Nowhere:
    def draw(self):
        return [0, 1] * 6

    def has(self, codes):
        return False


def test_chains_that_cannot_meet_are_told_from_those_that_do():
    one, other = [0] * 6 + [1] * 6, [1] * 6 + [0] * 6
    places = [tuple(range(12))]
    cells = [(person,) for person in range(12)]

    def member(codes):
        return sum(codes[:6]) in (0, 1, 5, 6)

    found = walk([one, other], places, cells, 2, member, [Nowhere()], random.Random(1), 400, 0.01)
    assert found.r_hat > CONVERGED
    stuck = walk(
        [one], places, cells, 2, lambda codes: codes == one, [Nowhere()], random.Random(1), 40, 0.01
    )
    assert stuck.r_hat == math.inf
    assert CHAINS > 1


@pytest.mark.slow
def test_chains_walk_in_a_rare_set_that_draws_miss():
    n = 40
    chance = random.Random(1)
    table = [chance.choice("aabbccdefg") for _ in range(n)]
    jump = Jump([blocks(n, 10), blocks(n, 20), blocks(n, 40)], 1, HALF)
    truth = jump.run(table).disclosure_set(2)
    assert 0 < truth.size * 1000 < truth.permutation_size
    seen = jump.estimate(table, 2, samples=200, seed=1)
    assert seen.method == "chains"
    assert seen.r_hat <= CONVERGED
    assert seen.interval[0] <= truth.max_ratio <= seen.interval[1] < 0.5
    assert "R-hat" in repr(seen)
