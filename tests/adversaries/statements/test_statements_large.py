"""Releases too large to enumerate: closed forms, sums that must hold, and depth without limit."""

import random
from fractions import Fraction
from itertools import pairwise
from math import comb, perm

import numpy as np
import pytest
from tests.adversaries.statements.drawing import Release, release_of

import foreknow as fk
from foreknow.adversaries.statements.plans import dealing_rank
from foreknow.data.labels import Labels
from foreknow.data.people import Members

VALUES = [f"v{i}" for i in range(6)]


def group(size=100, seed=0):
    """Names and a bag in which every value occurs."""
    names = [f"p{i}" for i in range(size)]
    rest = random.Random(seed).choices(VALUES, range(1, 7), k=size - 2 * len(VALUES))
    return names, VALUES * 2 + rest


def test_ten_people_with_the_same_value():
    names, bag = group()
    release = release_of([(names, bag)])
    known = fk.Statements(fk.same(*names[:10]))
    ways = {value: perm(bag.count(value), 10) for value in VALUES}
    for value in VALUES:
        found = known.posterior(release, "p3", value).exact
        assert found == Fraction(ways[value], sum(ways.values()))


def test_sixty_people_without_a_value_each():
    """Rook polynomials: inclusion and exclusion over who has what they are said to lack."""
    names, bag = group()
    release = release_of([(names, bag)])
    lacks = {name: VALUES[i % 5] for i, name in enumerate(names[:60])}
    known = fk.Statements(*(f"{name} != {value}" for name, value in lacks.items()))

    def ways(people, taken):
        """Signed ways by how many of the people have the value that they must not have."""
        by_number = {0: 1}
        for value in VALUES[:5]:
            n = sum(lacks[name] == value for name in people)
            count = bag.count(value) - (value == taken)
            grown = {}
            for a, x in by_number.items():
                for b in range(n + 1):
                    term = (-1) ** b * comb(n, b) * perm(count, b)
                    grown[a + b] = grown.get(a + b, 0) + x * term
            by_number = grown
        free = 100 - (taken is not None)
        return sum(Fraction(x, perm(free, a)) for a, x in by_number.items())

    for name, value in [("p0", "v3"), ("p0", "v5"), ("p61", "v0")]:
        others = [other for other in lacks if other != name]
        joint = Fraction(bag.count(value), 100) * ways(others, value)
        assert known.posterior(release, name, value).exact == joint / ways(list(lacks), None)


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_what_a_group_has_is_shared_by_its_members(semantics):
    chance = random.Random(3)
    names, bag = group(30)
    named = names[:8]
    said = []
    for a, b in pairwise(named):
        x, y = chance.sample(VALUES, 2)
        said.append(f"{a} = {x} -> {b} != {y}")
    known = fk.Statements(*said, "p1 = v5 or p6 = v4")
    release = release_of([(names, bag)], semantics)
    rows = known.posteriors(release)
    for value in VALUES:
        total = sum(row[value].exact for row in rows.values())
        if semantics == "multiset":
            assert total < bag.count(value)
        else:
            assert total == bag.count(value)
    if semantics == "single":
        assert all(sum(p.exact for p in row.values()) == 1 for row in rows.values())


def test_a_chain_of_thousands():
    """Each has v0 if the one before has: some without it, then some with it."""
    size = 600
    groups = [([f"p{i}", f"q{i}"], ["v0", "v1"]) for i in range(size)]
    release = release_of(groups)
    said = [f"p{i} = v0 -> p{i + 1} = v0" for i in range(size - 1)]
    known = fk.Statements(*said)
    for i in (0, 1, 200, size - 1):
        assert known.posterior(release, f"p{i}", "v0").exact == Fraction(i + 1, size + 1)


def test_a_chain_within_one_group():
    names, bag = group(100)
    release = release_of([(names, bag)])
    said = [f"{a} = v5 -> {b} = v5" for a, b in pairwise(names[:40])]
    known = fk.Statements(*said)
    have, lack = bag.count("v5"), 100 - bag.count("v5")
    # k of the 40 have it: these are the last k
    ways = [perm(have, k) * perm(lack, 40 - k) for k in range(41)]
    found = known.posterior(release, "p30", "v5").exact
    assert found == Fraction(sum(ways[10:]), sum(ways))


def test_millions_of_people_in_a_group():
    size = 1_000_000
    counts = fk.GroupCounts.from_bags([{"v0": 400_000, "v1": size - 400_000}])
    members = Members(Labels(f"n{i}" for i in range(size)), np.zeros(size, dtype=np.int64))
    release = Release(counts, members)
    found = fk.Statements("n0 = v0 -> n1 = v0").posterior(release, "n1", "v0").exact
    p = Fraction(4, 10)
    both = p * Fraction(399_999, 999_999)
    assert found == p / (1 - p + both)


# ---- the order of dealing ----------------------------------------------------------------------


def depth(edges, rank):
    """The most variables on a path of parts within parts, when dealt by rank."""
    variables = {v for edge in edges for v in edge}
    if not variables:
        return 0
    first = min(variables, key=rank.__getitem__)
    rest = [edge - {first} for edge in edges if edge - {first}]
    deepest = 0
    while rest:
        part = set(rest[0])
        while grown := {v for edge in rest if edge & part for v in edge} - part:
            part |= grown
        deepest = max(deepest, depth([edge for edge in rest if edge & part], rank))
        rest = [edge for edge in rest if not edge & part]
    return 1 + deepest


def test_a_chain_falls_into_halves():
    edges = [frozenset((i, i + 1)) for i in range(63)]
    assert depth(edges, dealing_rank(edges)) <= 10


def test_a_tree_and_a_grid_fall_apart():
    tree = [frozenset((i, (i - 1) // 2)) for i in range(1, 127)]
    assert depth(tree, dealing_rank(tree)) <= 20
    grid = [frozenset((i, i + step)) for i in range(60) for step in (1, 6) if i + step < 60]
    assert depth(grid, dealing_rank(grid)) <= 30


def test_every_variable_has_a_rank_of_its_own():
    chance = random.Random(0)
    edges = [frozenset(chance.sample(range(40), chance.randint(1, 5))) for _ in range(60)]
    rank = dealing_rank(edges)
    assert sorted(rank.values()) == list(range(len(rank)))
    assert rank.keys() == {v for edge in edges for v in edge}
