"""What adversaries who know Decoy learn of every release it may make.

Bags of parts are followed instead of worlds (`decoy_walk`), so that tables of eight people are
within reach, and larger ones of few values; that this is the same is compared with every world.
"""

import os
import random
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import factorial, prod

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.methods.decoy_walk import eager as eager
from tests.methods.decoy_walk import given, in_order, judge, labelled, made_of
from tests.oracle.decoy import Group, placements, planned, worst, worst_posterior

import foreknow as fk
from foreknow.errors import NoSafeRelease

FACTS = [*product(range(3), repeat=3)]
# Quasi-identifiers of n people: all different; few different; two columns, one of them categories.
COLUMNS = {
    "line": lambda n: [{"x": list(range(n))}],
    "ties": lambda n: [{"x": [0] * i + [1] * (n - i)} for i in range(2, n // 2 + 1)],
    "grid": lambda n: [
        {"x": [i // 2 for i in range(n)], "y": [f"kind {i % 3}" for i in range(n)]},
    ],
}


def microdata_of(bag, columns):
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="v")
    return fk.Microdata(pa.table({**columns, "v": list(bag)}), schema)


def policy_of(facts, limit):
    return fk.Policy([fk.Requirement(fk.Facts(*facts), below=limit)])


# ---- that counting is right ---------------------------------------------------------------------


def test_counts_cover_all_worlds():
    """Groups dealt out in any way, any bags of parts being unsafe; facts up to (2, 2, 2)."""
    draw = random.Random(None if NIGHTLY else 7)
    uneven = 0
    for _ in range(400 if NIGHTLY else 12):
        groups, whole = [], {(): Fraction(1)}
        for bag in draw.choice([[(2, 1, 1)], [(2, 2, 0)], [(2, 2, 1)], [(1, 1, 1), (0, 1, 1)]]):
            dealt = planned(bag, draw.choice([1, 2]) if sum(bag) > 3 else 1)
            first = draw.randrange(1, sum(bag))
            placed = draw.choice(sorted(placements(dealt, (first, sum(bag) - first))))
            seats = [i for i, sizes in enumerate(placed) for _ in labelled(sizes)]
            side = [part for sizes in placed for part in labelled(sizes)]
            every = list(given(dealt, seats, side, 2))
            unsafe = {bags for bags in sorted({bags for _, bags in every}) if draw.random() < 0.4}
            spared = Fraction(draw.randrange(1, 6), 5)
            groups.append([Group(dealt, placed, unsafe, spared)])
            uneven += groups[-1][0].uneven
            own = {tuple(world): 1 if bags in unsafe else spared for world, bags in every}
            whole = {w + x: a * b for w, a in whole.items() for x, b in own.items()}
        facts = draw.choice(FACTS)
        for value in {value for world in whole for value in world}:
            assert worst(groups, value, facts) == worst_posterior(whole, {value}, facts)
    assert uneven


@pytest.mark.parametrize("bag", ["abab", "abac", "ababa"] if NIGHTLY else ["abab"])
def test_chances_are_those_of_runs(bag, eager):
    """All groupings of all worlds, also where one may come about in several ways."""
    eager(3, swaps=0)
    several, runs = 0, 1000 if NIGHTLY else 60
    for columns in COLUMNS["ties"](len(bag)):
        microdata, policy = microdata_of(bag, columns), policy_of((0, 0, 0), 1)
        made, whole = made_of(microdata, policy), Counter()
        for weights in made.values():
            several += len(set(weights.values())) > 1
            whole.update(weights)
        assert set(whole) == set(permutations(bag))
        assert set(whole.values()) == {1}
        seeds = (fk.Decoy().partition(microdata, policy, seed=seed) for seed in range(runs))
        often = Counter(in_order(groups.tolist()) for groups in seeds)
        assert len(often) > 1
        assert all(made[groups][tuple(bag)] for groups in often)
        for groups, weights in made.items():
            chance = float(weights[tuple(bag)])
            spread = 5 * (runs * chance * (1 - chance)) ** 0.5
            assert abs(often[groups] - runs * chance) <= spread + 1e-9
    assert several


# ---- all tables of few people -------------------------------------------------------------------


def all_bags(n, kinds=8, most=None, letters="abcdefgh"):
    """Each way in which n people have up to so many values, the most frequent first; not one."""
    if n == 0 or kinds == 0:
        return [""] if n == 0 else []
    return [
        letters[0] * times + rest
        for times in range(min(n, most or n - 1), 0, -1)
        for rest in all_bags(n - times, kinds - 1, times, letters[1:])
    ]


@cache
def reached(counts, facts):
    """What facts reach in a group of so many people of each value."""
    people = fk.GroupCounts.from_bags([labelled(counts)])
    return fk.Facts(*facts).disclosure(people).exact


def attained(bag, facts):
    """What facts reach in groups of these people: where limits are kept, and fail, by a hair."""
    every = product(*(range(many + 1) for many in Counter(bag).values()))
    some = {tuple(sorted(own, reverse=True)) for own in every if sum(own) > 1}
    return sorted({reached(own, facts) for own in some})


NUDGE = 1 + Fraction(3, 10**6)


def tight(limits, facts, decoys):
    """Limits that keep, by a hair, what a refusal leaves that reaches one of these."""
    odds = [
        (1 / (limit * NUDGE) - 1) * Fraction(decoys, decoys + 1) ** (1 + facts[2])
        for limit in limits
        if limit * NUDGE < 1
    ]
    return [1 / (1 + own) for own in odds]


def followed(bags, columns, facts, limits):
    """What is made of tables; the highest posterior in terms of its limit, uneven and in all."""
    made, uneven, highest = Counter(), Fraction(0), Fraction(0)
    for bag in bags:
        sizes = Counter(bag).values()
        nothing = reached(tuple(sorted(sizes, reverse=True)), facts)
        tables = factorial(len(bag)) // prod(map(factorial, sizes))
        for shape in columns:
            microdata = microdata_of(bag, shape)
            for limit in (limit for limit in limits(bag) if limit > nothing):
                own, bent, most = judge(microdata, policy_of(facts, limit), facts)
                made += own + Counter(policies=1, tables=tables)
                uneven, highest = max(uneven, bent / limit), max(highest, most / limit)
    return made, uneven, highest


def limits_of(facts, *decoys):
    """Every limit that is attained in a table; and those that what a refusal leaves just keeps."""

    def limits(bag):
        found = attained(bag, facts)
        return sorted({*found, *(x for many in decoys for x in tight(found, facts, many))})

    return limits


# By night, tables of up to so many people: alone on a core, some 10 minutes for 8, and 2 for 6.
PEOPLE = int(os.environ.get("FOREKNOW_DECOY_PEOPLE") or 8)


def said(what, made, *highest):
    """Figures of a night, for the page on the method (`-s` shows them)."""
    print(what, dict(made), *(f"{float(one):.6f}" for one in highest))


@pytest.mark.parametrize("shape", COLUMNS if NIGHTLY else ["grid"])
@pytest.mark.parametrize("people", range(2, PEOPLE + 1) if NIGHTLY else [4])
def test_no_limit_is_reached(people, shape):
    """Every bag, every limit that is attained, every release of the program as it is."""
    whole, highest = Counter(), Fraction(0)
    for facts in FACTS if NIGHTLY else [(0, 0, 0), (1, 0, 1)]:
        bags, columns = all_bags(people), COLUMNS[shape](people)
        made, _, most = followed(bags, columns, facts, limits_of(facts))
        whole, highest = whole + made, max(highest, most)
    said(f"as it is: {people} {shape}", whole, highest)
    assert highest < 1


@pytest.mark.slow
@pytest.mark.parametrize("decoys", [1, 3])
@pytest.mark.parametrize("people", range(4, PEOPLE + 1))
def test_mostly_refused_cuts_stay_below(people, decoys, eager):
    """Also limits that a refusal just keeps; the fewer decoys, the more worlds are uneven."""
    eager(decoys)
    whole, highest, uneven = Counter(), Fraction(0), Fraction(0)
    for facts in FACTS:
        bags, columns = all_bags(people), COLUMNS["ties"](people)
        made, bent, most = followed(bags, columns, facts, limits_of(facts, decoys))
        whole, highest, uneven = whole + made, max(highest, most), max(uneven, bent)
    said(f"eager: {people} {decoys}", whole, uneven, highest)
    assert highest < 1
    assert whole["uneven"] or people < 8


LARGER = [
    ("aaaabbbb", 2, (0, 0, 0), 3),
    ("aabbccdd", 2, (1, 0, 1), 3),
    ("a" * 6 + "b" * 6, 2, (0, 0, 1), 1),
]
LARGEST = [
    ("a" * 8 + "b" * 8, 4, (0, 0, 1), 1),
    ("a" * 9 + "b" * 7, 4, (0, 0, 1), 1),
    ("a" * 8 + "b" * 8, 2, (0, 1, 0), 1),
    ("a" * 10 + "b" * 10, 2, (0, 0, 2), 1),
    ("a" * 10 + "b" * 10, 2, (0, 1, 1), 1),
]


@pytest.mark.parametrize(
    ("bag", "points", "facts", "decoys"), LARGER + LARGEST if NIGHTLY else LARGER
)
def test_nor_in_larger_uneven_tables(bag, points, facts, decoys, eager):
    """Where people are linked, groups are so large before decoys are safe beside exchanges."""
    eager(decoys)
    columns = [{"x": [i * points // len(bag) for i in range(len(bag))]}]

    def limits(bag):
        return [*tight(attained(bag, facts)[-4:], facts, decoys), 1] if NIGHTLY else [1]

    made, uneven, highest = followed([bag], columns, facts, limits)
    said(f"larger: {bag} {points} {decoys} {facts}", made, uneven, highest)
    assert made["uneven"]
    assert highest < 1


@pytest.mark.parametrize(
    ("bag", "facts", "broken"),
    [("aaaaabbb", (0, 0, 0), {"swaps": 0}), ("aaaabbbb", (0, 0, 1), {"swaps": 0, "kept": 1})],
)
def test_breaches_are_found_without_exchanges(bag, facts, broken, eager):
    """At a limit that what a refusal leaves just keeps."""
    columns, three = COLUMNS["ties"](len(bag))[-1:], Fraction(3, 4)

    def limits(bag):
        return [three * NUDGE] if "kept" in broken else tight([three], facts, 3)

    eager(3)
    assert followed([bag], columns, facts, limits)[2] < 1
    eager(3, **broken)
    assert followed([bag], columns, facts, limits)[2] > 1


# ---- Mondrian beside it -------------------------------------------------------------------------


def mondrian(bag, facts, limit):
    """Tables along one column: how many there are, and in how many somebody reaches a limit."""
    microdata, policy = microdata_of(bag, {"x": [*range(len(bag))]}), policy_of(facts, limit)
    made = defaultdict(list)
    for world in sorted(set(permutations(labelled(Counter(bag).values())))):
        own = microdata.with_sensitive(np.array(world, microdata.sensitive_codes.dtype))
        try:
            groups = fk.Mondrian().partition(own, policy).tolist()
        except NoSafeRelease:
            return Counter()
        made[tuple(sorted(zip(groups, world, strict=True))), tuple(groups)].append(world)
    reaching = 0
    for worlds in made.values():
        weights = dict.fromkeys(worlds, Fraction(1))
        highest = max(worst_posterior(weights, {v}, facts) for v in set(worlds[0]))
        reaching += len(worlds) * (highest >= limit)
    return Counter(tables=sum(map(len, made.values())), reached=reaching)


def test_mondrian_reaches_limits():
    """Of as many tables: those in which somebody's posterior is not below the limit."""
    for people in [4, 5, 6] if NIGHTLY else [5]:
        made = Counter()
        for facts in FACTS if NIGHTLY and people < 6 else [(0, 0, 0)]:
            for bag in all_bags(people) if NIGHTLY else ["aaabb"]:
                for limit in attained(bag, facts) if NIGHTLY else [1]:
                    made += mondrian(bag, facts, limit)
        said(f"mondrian: {people}", made)
        assert made["reached"] or people < 5
