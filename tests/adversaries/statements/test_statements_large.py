"""Releases too large to enumerate: closed forms, sums that must hold, and depth without limit."""

import random
from fractions import Fraction
from itertools import pairwise
from math import comb, perm

import numpy as np
import pytest
from tests.adversaries.statements.drawing import Release, release_of

import foreknow as fk
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


def test_a_chain_of_hundreds():
    """Each has v0 if the one before has: some without it, then some with it."""
    size = 600
    groups = [([f"p{i}", f"q{i}"], ["v0", "v1"]) for i in range(size)]
    release = release_of(groups)
    said = [f"p{i} = v0 -> p{i + 1} = v0" for i in range(size - 1)]
    known = fk.Statements(*said)
    for i in (0, 1, 200, size - 1):
        assert known.posterior(release, f"p{i}", "v0").exact == Fraction(i + 1, size + 1)


def test_a_tree_across_hundreds_of_groups():
    """Nobody may have v0 beside a parent who has: independent sets, by their number."""
    size = 200
    release = release_of([([f"p{i}", f"q{i}"], ["v0", "v1"]) for i in range(size)])
    known = fk.Statements(*(f"p{i} = v0 -> p{(i - 1) // 2} != v0" for i in range(1, size)))
    with_it, without = [1] * size, [1] * size
    for i in range(size - 1, 0, -1):
        with_it[(i - 1) // 2] *= without[i]
        without[(i - 1) // 2] *= with_it[i] + without[i]
    truth = Fraction(with_it[0], with_it[0] + without[0])
    assert known.posterior(release, "p0", "v0").exact == truth


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
