"""RDA, RIA and GSA against who knows them: all tables of small bags, all lots, exact posteriors."""

import random
from collections import Counter
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from tests.oracle.streamliner_lots import (
    bags,
    exchangeable,
    outcomes,
    posteriors,
    release_of,
    releases,
    worst,
)

from foreknow.anonymizers import streamliner_gsa
from foreknow.anonymizers.streamliner_deal import Colours, deal
from foreknow.anonymizers.streamliner_gsa import groups_of_gsa
from foreknow.anonymizers.streamliner_plan import plan_rda
from foreknow.anonymizers.streamliner_ria import groups_of_ria
from foreknow.anonymizers.streamliner_transversal import transversals
from foreknow.microdata import Attribute


def rda(l):  # noqa: E741
    def method(table, lots):
        codes = np.array(table)
        sizes = np.bincount(codes)
        colours = Colours.of(codes, sizes)
        colours.shuffle(lots)
        return deal(plan_rda(sizes, l), colours)

    return method


def ria(l):  # noqa: E741
    def method(table, lots):
        codes = np.array(table)
        return groups_of_ria(codes, np.bincount(codes), l, lots)

    return method


def gsa(l, places):  # noqa: E741
    """Everybody has the given place on a line."""

    def method(table, lots):
        codes = np.array(table)
        line = axis("place", places)
        return groups_of_gsa(codes, np.bincount(codes), [line], l, lots, least_groups=1)

    return method


def sizes_of(limits):
    return [(n, l) for l, most in limits.items() for n in range(l, most + 1)]  # noqa: E741


@pytest.mark.parametrize(("people", "l"), sizes_of({2: 6, 3: 6, 4: 6}))
def test_rda_tells_nothing_beyond_the_release(people, l):  # noqa: E741
    for bag in bags(people, l):
        found = releases(bag, rda(l))
        assert exchangeable(found)
        for release, weights in found.items():
            for posterior, frequency in posteriors(release, weights):
                assert posterior == frequency <= Fraction(1, l)


@pytest.mark.parametrize(
    ("people", "l"),
    [(2, 2), (3, 2), (3, 3), *(pytest.param(4, l, marks=pytest.mark.slow) for l in (2, 3, 4))],  # noqa: E741
)
def test_ria_tells_nothing_beyond_the_release(people, l):  # noqa: E741
    for bag in bags(people, l):
        found = releases(bag, ria(l))
        assert exchangeable(found)
        for release, weights in found.items():
            for posterior, frequency in posteriors(release, weights):
                assert posterior == frequency <= Fraction(1, l)


@pytest.mark.parametrize(
    ("people", "l"), [(4, 2), (5, 2), (6, 3), pytest.param(6, 2, marks=pytest.mark.slow)]
)
def test_gsa_makes_each_value_of_a_group_equally_likely_for_its_members(people, l):  # noqa: E741
    for bag in bags(people, l):
        found = releases(bag, gsa(l, range(people)))
        for release, weights in found.items():
            for posterior, frequency in posteriors(release, weights):
                assert posterior == frequency <= Fraction(1, l)


def alike(lots, n_cells):
    """Fewer lots: people within each cell, and the cells, in any order; enough for the proof."""

    def permutation(n):
        inner = [[c * (n // n_cells) + i for i in range(n // n_cells)] for c in range(n_cells)]
        mixed = [lots.permutation(cell) for cell in inner]
        return np.stack([mixed[c] for c in lots.permutation(n_cells)]).T.reshape(-1)

    return SimpleNamespace(permutation=permutation, shuffle=lots.shuffle)


@pytest.mark.parametrize(
    ("bag", "l"),
    [
        ("aaaabbbb", 2),
        pytest.param("aaaabbbc", 2, marks=pytest.mark.slow),
        pytest.param("aabbccdd", 4, marks=pytest.mark.slow),
        pytest.param("aabbccde", 4, marks=pytest.mark.slow),
        pytest.param("aaabbbcc", 2, marks=pytest.mark.slow),
    ],
)
def test_gsa_with_several_divisions(bag, l, monkeypatch):  # noqa: E741
    """Eight people in one release: with l = 4 two divisions may fail, so that there are 4 cells."""
    plain = transversals

    def fewer(cells, codes, each, lots):
        return plain(cells, codes, each, alike(lots, len(cells)))

    monkeypatch.setattr(streamliner_gsa, "transversals", fewer)
    codes = tuple("abcdefgh".index(value) for value in bag)
    seen = set()
    for first in (0,) if bag == "aaaabbbb" else (0, 1):  # a square, and a line
        attributes = [axis("x", [0, 0, 0, 0, 1, 1, 1, 1]), axis("y", [0, 0, 1, 1, 0, 0, 1, 1])]

        def method(table, lots, attributes=attributes[first:]):
            values = np.array(table)
            return groups_of_gsa(values, np.bincount(values), attributes, l, lots, least_groups=1)

        for release, weights in releases(codes, method).items():
            seen.add(len(weights))
            for posterior, frequency in posteriors(release, weights):
                assert posterior == frequency <= Fraction(1, l)
    assert len(seen) > 1


@pytest.mark.parametrize("bag", ["aabbccdd", "aabbccde", "aabcdefg"])
def test_exchanging_cells_within_each_group_changes_no_probability(bag):
    """Step 2 of the proof, for four cells of two people: the i-th bits of a cell are exchanged."""
    chance = random.Random(bag)
    cells = np.arange(8).reshape(4, 2)

    @cache
    def releases_of(table):
        found = Counter()
        codes = np.array([ord(value) for value in table])[cells]
        for groups, weight in outcomes(lambda lots: transversals(cells, codes, 1, alike(lots, 4))):
            found[release_of(groups.reshape(-1), table)] += weight
        return found

    for _ in range(3):
        table = tuple(chance.sample(bag, 8))
        found = sorted(releases_of(table).items(), key=str)
        for release, weight in chance.sample(found, min(len(found), 8)):
            for bits in (1, 2, 3):
                other = list(table)
                for people, _values in release:
                    for cell in range(4):
                        other[people[cell]] = table[people[cell ^ bits]]
                assert releases_of(tuple(other))[release] == weight


def axis(name, places):
    return Attribute(
        name,
        np.array(places, dtype=np.uint8),
        list(range(max(places) + 1)),
        "ordered",
        (),
        (),
        np.arange(max(places) + 1.0),
    )


def test_rda_is_never_stuck_and_its_groups_are_all_different():
    for people in range(1, 25):
        for l in range(1, 7):  # noqa: E741
            for bag in bags(people, l):
                sizes = np.bincount(bag)
                plan = plan_rda(sizes, l)
                members = [list(row) for row in plan.slots.tolist()]
                for colour, group in plan.late.tolist():
                    members[group].append(colour)
                assert all(len(set(m)) == len(m) >= l for m in members)
                assert Counter(c for m in members for c in m) == Counter(bag)
                assert len(plan.late) < l


def test_what_gsa_does_not_hide_is_that_two_people_are_alike():
    found = releases((0, 0, 1, 1), gsa(2, range(4)))
    release = frozenset({((0, 2), (0, 1)), ((1, 3), (0, 1))})
    assert set(found[release]) == {(0, 0, 1, 1), (1, 1, 0, 0)}
    assert worst(found) == Fraction(1, 2)
    assert not exchangeable(found)
