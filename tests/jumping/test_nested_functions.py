"""Chains of nested functions: what generating functions count is what enumeration counts."""

import math
import random
from collections import Counter
from itertools import permutations

import pytest
from tests.jumping.test_random_instances import PROPERTIES, random_partition
from tests.oracle import jump_worlds as oracle

from foreknow.criteria.properties import MaxRatio
from foreknow.methods.jump import Jump, Naive, Safe, exact
from foreknow.methods.jump.block_counts import BeyondReach, Budget
from foreknow.methods.jump.functions import Function
from foreknow.methods.jump.residues import within
from foreknow.methods.jump.runs import case_of


def chain(n, count, chance):
    functions = [random_partition(n, chance.choice([2, 3, 4]), chance)]
    while len(functions) < count:
        groups = list(functions[-1])
        if len(groups) > 1 and chance.random() < 0.9:
            a, b = chance.sample(groups, 2)
            groups = [g for g in groups if g not in (a, b)] + [tuple(sorted(a + b))]
        functions.append(tuple(groups))
    return functions


def counted(sizes, values, limits):
    """Tables within limits, by listing all of them."""
    home = [g for g, size in enumerate(sizes) for _ in range(size)]
    names = sorted(set(values))
    kept = []
    for table in set(permutations(values)):
        times = Counter(zip(home, table, strict=True))
        if all(times[g, v] <= limits[k][g] for k, v in enumerate(names) for g in set(home)):
            kept.append(table)
    first = [home.index(g) for g in range(len(sizes))]
    return len(kept), tuple(tuple(sum(t[p] == v for t in kept) for p in first) for v in names)


@pytest.mark.parametrize("groups", [1, 2, 3, 4])
def test_tables_within_limits_are_those_of_enumeration(groups):
    chance, some = random.Random(groups), 0
    for _ in range(40):
        sizes = [chance.randint(1, 4 - groups // 2) for _ in range(groups)]
        values = [chance.choice("aaabbcd") for _ in range(sum(sizes))]
        limits = [[chance.choice([0, 1, 1, 2, 3, 9]) for _ in sizes] for _ in set(values)]
        if chance.random() < 0.3:
            limits = [limits[0]] * len(limits)  # values alike
        if chance.random() < 0.05:
            limits[0][0] = -1
        number, having = counted(sizes, values, limits)
        counts = [values.count(v) for v in sorted(set(values))]
        found = within(sizes, counts, limits, Budget(10**6))
        assert (found.number, found.having) == (number, having)
        some += 0 < number < math.factorial(len(values))
    assert some > 5


def test_large_numbers_are_put_together_from_residues():
    # Without limits: all tables, and each person has each value as often as it occurs.
    sizes, counts = (40, 33, 27), (50, 30, 11, 9)
    total = math.factorial(100) // math.prod(map(math.factorial, counts))
    found = within(sizes, counts, [sizes] * 4, Budget(10**6))
    assert found.number == total
    assert found.having == tuple((total * n // 100,) * 3 for n in counts)


def test_work_is_budgeted_and_bounded():
    with pytest.raises(BeyondReach):
        within((40, 33, 27), (50, 30, 20), [(20, 20, 20)] * 3, Budget(1))
    assert within((40,) * 8, (160, 160), [(20,) * 8] * 2, Budget(10**9)) is None


@pytest.mark.parametrize(
    "name", ["ratio 1/2", "ratio 2/3", "ratio 3/5", "below 1/2", "ratio of a", "k 3"]
)
def test_enclosed_sets_are_those_of_enumeration(name, monkeypatch):
    monkeypatch.setattr(exact, "ENCLOSED_FROM", 0)
    prop, judge = PROPERTIES[name]
    chance, seen = random.Random(name), Counter()
    for _ in range(40):
        n = chance.choice([5, 6, 6, 7])
        functions = chain(n, chance.choice([2, 3, 4]), chance)
        table = tuple(chance.choice("aabbcdef"[: chance.choice([4, 6, 8])]) for _ in range(n))
        given = [[list(group) for group in function] for function in functions]
        k = [chance.randint(1, 3) for _ in functions]
        tables = oracle.all_tables(table)
        for kind, fast, distances in (
            ("naive", Naive(given, prop), None),
            ("safe", Safe(given, prop), None),
            ("jump", Jump(given, k, prop), k),
        ):
            slow = oracle.Algorithm(kind, functions, judge, tables, distances)
            case = case_of(fast.functions, fast._strategy(), table, 10**6, fresh=True)
            for i in range(len(functions)):
                expected = slow.disclosure_set(i, table)
                size = len(slow.permutation_set(i, table))
                around = case.exact.enclosed(i, case.parts(i))
                found = case.disclosure_set(i)
                assert (found.size, found.permutation_size) == (len(expected), size)
                if expected:
                    assert list(found.marginals.values()) == oracle.marginals(expected)
                verdict = slow.disclosure_safe(i, table)
                assert case.disclosure_safe(i) == verdict
                if around is None:
                    seen["open"] += 1
                    continue
                inside = around.total - around.possibly
                open_ = around.unsure
                assert inside <= len(expected) <= inside + open_
                told = around.safe(case.exact, case.parts(i))
                assert told in (None, verdict)
                seen["exact" if not open_ else "told" if told is not None else "not"] += 1
    assert seen["exact"] > 20
    assert name == "k 3" or seen["told"] + seen["not"] > 0


def test_a_chain_of_hundreds_of_people_is_counted():
    chance = random.Random(3)
    sizes = [(9, 5, 7, 5), (8, 6, 11, 8), (9, 9, 7, 7)]  # twelve groups, six, three
    n = 4 * sum(map(sum, sizes))
    small = [part for four in sizes for part in four for _ in range(4)]
    fine, middle, coarse = [], [], []
    for number, size in enumerate(small):
        fine += [number] * size
        middle += [number // 4] * size
        coarse += [number // 16] * size
    table = [chance.choice("aaaaabbbbccccdddefgh") for _ in range(n)]
    third = MaxRatio("1/3")
    functions = [list(range(n)), fine, middle, coarse]
    safe, naive = Safe(functions, third).run(table), Naive(functions[1:], third).run(table)
    assert (safe.released, naive.released) == (3, 2)
    seen = safe.disclosure_set()
    assert 0 < seen.size < seen.permutation_size
    # People of the same middle group cannot be told apart, and shares add up.
    person = dict(zip(middle, range(n), strict=True))
    for p, group in enumerate(middle):
        assert seen.marginals[p] == seen.marginals[person[group]]
        assert sum(seen.marginals[p].values()) == 1
    assert str(Function.of(coarse)) == f"<3 groups of {n} people>"
