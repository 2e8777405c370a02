"""RDA, RIA and GSA against who knows them: all tables of small bags, all lots, exact posteriors."""

import random
from collections import Counter
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from tests.methods.streamliner_methods import axes, gsa, rda
from tests.oracle.streamliner_lots import (
    bags,
    exchangeable,
    outcomes,
    posteriors,
    release_of,
    releases,
    worst,
)
from tests.oracle.streamliner_symmetry import exchanged, released, releases_of_alike

from foreknow.methods.streamliner import gsa as streamliner_gsa
from foreknow.methods.streamliner import gsa as streamliner_transversal
from foreknow.methods.streamliner.gsa import groups_of_gsa, transversals
from foreknow.methods.streamliner.rda import plan_rda
from foreknow.methods.streamliner.ria import groups_of_ria


def ria(l):  # noqa: E741
    def method(table, lots):
        codes = np.array(table)
        return groups_of_ria(codes, np.bincount(codes), l, lots)

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
    ("bag", "l"),
    [
        ("aabb", 2),
        ("aabc", 2),
        ("abcd", 2),
        pytest.param("aabbc", 2, marks=pytest.mark.slow),
    ],
)
def test_ria_tells_nothing_beyond_the_release(bag, l):  # noqa: E741
    """Bags of which there are releases of several groups."""
    found = releases(tuple("abcd".index(value) for value in bag), ria(l))
    assert max(len(release) for release in found) > 1
    assert exchangeable(found)
    for release, weights in found.items():
        for posterior, frequency in posteriors(release, weights):
            assert posterior == frequency <= Fraction(1, l)


@pytest.mark.parametrize(("people", "l"), [(2, 2), (3, 2), (3, 3)])
def test_ria_of_two_or_three_people_makes_one_group(people, l):  # noqa: E741
    for bag in bags(people, l):
        found = releases(bag, ria(l))
        assert {len(release) for release in found} == {1}
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


# Eight people on a square or, if only the second coordinate is known, on a line; and who of them
# have the same quasi-identifiers.
SQUARE = [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1]]
PLACES = {
    "square": (SQUARE, [(0, 1), (2, 3), (4, 5), (6, 7)]),
    "line": (SQUARE[1:], [(0, 1, 4, 5), (2, 3, 6, 7)]),
}


@pytest.fixture
def gsa_at(monkeypatch):
    """GSA for people at some places, with fewer lots."""
    plain = transversals

    def fewer(cells, codes, each, lots):
        return plain(cells, codes, each, alike(lots, len(cells)))

    monkeypatch.setattr(streamliner_gsa, "transversals", fewer)

    def make(places, l):  # noqa: E741
        attributes = axes(*places)

        def method(table, lots):
            values = np.array(table)
            sizes = np.bincount(values)
            failures = l // 2  # as many as a group of l has the factor 2, so that it need not grow
            return groups_of_gsa(
                values, sizes, attributes, l, lots, least_groups=1, failures=failures
            )

        return method

    return make


@pytest.mark.parametrize(
    ("bag", "l"),
    [
        pytest.param("aaaabbbb", 2, marks=pytest.mark.slow),
        pytest.param("aaaabbbc", 2, marks=pytest.mark.slow),
        pytest.param("aabbccdd", 4, marks=pytest.mark.slow),
        pytest.param("aabbccde", 4, marks=pytest.mark.slow),
        pytest.param("aaabbbcc", 2, marks=pytest.mark.slow),
    ],
)
def test_gsa_with_several_divisions(bag, l, gsa_at):  # noqa: E741
    """Eight people in one release: with l = 4 two divisions may fail, so that there are 4 cells."""
    codes = tuple("abcdefgh".index(value) for value in bag)
    seen = set()
    for places, equal in PLACES.values():
        for release, weights in releases_of_alike(codes, gsa_at(places, l), equal).items():
            seen.add(len(weights))
            for posterior, frequency in posteriors(release, weights):
                assert posterior == frequency <= Fraction(1, l)
    assert len(seen) > 1


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(("bag", "l"), [("aaaabbbc", 2), ("aabbccdd", 4), ("aabbccde", 4)])
def test_gsa_treats_people_with_equal_quasi_identifiers_alike(bag, l, name, gsa_at):  # noqa: E741
    """What the enumerations above rely on, by all lots for some tables."""
    chance = random.Random(f"{bag} {name}")
    places, equal = PLACES[name]
    method = gsa_at(places, l)
    table = tuple(chance.sample(["abcdefgh".index(value) for value in bag], 8))
    to = {}
    for people in equal:
        to |= dict(zip(people, chance.sample(people, len(people)), strict=True))
    other = [0] * 8
    for person, value in enumerate(table):
        other[to[person]] = value
    expected = {exchanged(r, to): weight for r, weight in released(table, method).items()}
    assert released(tuple(other), method) == expected


@pytest.mark.parametrize("bag", ["aabb", "aabc", "abcd", "aabbc"])
def test_releases_from_few_tables_are_those_of_all(bag):
    """RDA treats everybody alike, and whoever is told apart in addition makes no difference."""
    codes = tuple("abcd".index(value) for value in bag)
    everybody = tuple(range(len(codes)))
    plain = releases(codes, rda(2))
    for sets in ([everybody], [everybody[:2], everybody[2:]], [everybody[1:]], []):
        assert releases_of_alike(codes, rda(2), sets) == plain


@pytest.mark.parametrize("few", [0, 1 << 10])  # in halves, or one person after the other
@pytest.mark.parametrize("bag", ["aabbccdd", "aabbccde", "aabcdefg"])
def test_exchanging_cells_within_each_group_changes_no_probability(bag, few, monkeypatch):
    """Step 2 of the proof, for four cells of two people: the i-th bits of a cell are exchanged."""
    monkeypatch.setattr(streamliner_transversal, "_FEW", few)
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


def test_rda_is_never_stuck_and_its_groups_are_all_different():
    for people in range(1, 25):
        for l in range(2, 7):  # noqa: E741
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
