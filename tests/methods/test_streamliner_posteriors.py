"""RDA, RIA and GSA against who knows them: all tables of small bags, all lots, exact posteriors."""

import random
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from tests.methods.tables import axes, microdata
from tests.oracle import streamliner as plain
from tests.oracle.streamliner import (
    bags,
    outcomes,
    posteriors,
    release_of,
    releases,
    worst,
)

from foreknow.methods.streamliner import Streamliner
from foreknow.methods.streamliner import gsa as streamliner_gsa
from foreknow.methods.streamliner.gsa import groups_of_gsa, transversals
from foreknow.methods.streamliner.rda import groups_of_plan, plan_rda
from foreknow.methods.streamliner.ria import groups_of_ria

HALF = Fraction(1, 2)


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


def coded(groups):
    """A method of the oracle, from what takes codes, how many of each there are, and lots."""

    def method(table, lots):
        codes = np.array(table)
        return groups(codes, np.bincount(codes), lots)

    return method


def rda(l):  # noqa: E741
    return coded(lambda c, sizes, lots: groups_of_plan(plan_rda(sizes, l), c, sizes, lots))


def ria(l):  # noqa: E741
    return coded(lambda codes, sizes, lots: groups_of_ria(codes, sizes, l, lots))


def gsa(l, places):  # noqa: E741
    """Everybody has the given place on a line; one division may fail."""
    on, may = axes(places), {"least_groups": 1, "failures": 1}
    return coded(lambda codes, sizes, lots: groups_of_gsa(codes, sizes, on, l, lots, **may))


def tells_frequencies(found, l):  # noqa: E741
    """An adversary who knows the method is no surer than by the values of a group."""
    for release, weights in found.items():
        for posterior, frequency in posteriors(release, weights):
            assert posterior == frequency <= Fraction(1, l)


@pytest.mark.parametrize(("people", "l"), [(4, 2), (5, 2), (6, 3), slow(6, 2)])
def test_gsa_tells_nothing_of_one(people, l):  # noqa: E741
    """Each value of a group is equally likely for its members."""
    for bag in bags(people, l):
        tells_frequencies(releases(bag, gsa(l, range(people))), l)


def alike(lots, n_cells):
    """Fewer lots: people within each cell, and the cells, in any order; enough for the proof."""

    def permutation(n):
        inner = [[c * (n // n_cells) + i for i in range(n // n_cells)] for c in range(n_cells)]
        mixed = [lots.permutation(cell) for cell in inner]
        return np.stack([mixed[c] for c in lots.permutation(n_cells)]).T.reshape(-1)

    return SimpleNamespace(permutation=permutation, shuffle=lots.shuffle)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("few", [0, 1 << 10])  # in halves, or one person after the other
@pytest.mark.parametrize("bag", ["aabbccde", slow("aabbccdd"), slow("aabcdefg")])
def test_exchanged_cells_are_as_likely(bag, few, monkeypatch):
    """Step 2 of the proof, for four cells of two people: the i-th bits of a cell are exchanged."""
    monkeypatch.setattr(streamliner_gsa, "_FEW", few)
    chance, cells = random.Random(bag), np.arange(8).reshape(4, 2)

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


# ---- GSA where it divides ------------------------------------------------------------------------


# ---- groups that look the same -------------------------------------------------------------------


def boxed(found, place):
    """What is seen when groups are published as ranges: boxes that look the same are one."""
    merged = defaultdict(Counter)
    for release, weights in found.items():
        boxes = defaultdict(lambda: ([], []))
        for people, values in release:
            box = min(place[p] for p in people), max(place[p] for p in people)
            boxes[box][0].extend(people)
            boxes[box][1].extend(values)
        seen = frozenset((tuple(sorted(p)), tuple(sorted(v))) for p, v in boxes.values())
        merged[seen].update(weights)
    return [pair for own in merged.items() for pair in posteriors(*own)], merged


@pytest.mark.parametrize("place", [(0, 0, 1, 1), (0, 0, 0, 1), (0, 1, 1, 1)])
def test_boxes_of_gsa_keep_one_in_l(place):
    for bag in bags(4, 2):
        told, _ = boxed(releases(bag, gsa(2, place)), place)
        assert all(posterior <= HALF for posterior, _ in told)


# ---- counterexamples to the paper, and what nobody hides -----------------------------------------

AABC, AABCD, AABBC = (0, 0, 1, 2), (0, 0, 1, 2, 3), (0, 0, 1, 1, 2)


@pytest.mark.parametrize(
    ("bag", "method", "posterior"),
    [
        *((bag, plain.rda(2), HALF) for bag in (AABC, AABCD, AABBC)),  # all picks are lots
        (AABC, plain.rda(2, pick="table"), 1),  # a colour in table order
        (AABBC, plain.rda(2, ties="row"), Fraction(2, 3)),  # ties of colours by first row
        (AABCD, plain.rda(2, ties="row"), 1),
        (AABBC, plain.ria("first"), 1),  # the first who is unused of a drawn colour
        (AABBC, plain.ria("lot"), HALF),
        # People of a colour who draw in the order of the table.
        slow((0, 0, 0, 1, 1, 2), plain.ria("lot"), Fraction(2, 3)),
    ],
)
def test_what_breaks_the_papers_algorithms(bag, method, posterior):
    assert worst(releases(bag, method)) == posterior


def test_the_best_of_several_runs():
    found = releases(AABCD, plain.best_of(plain.rda(2), 2, plain.within_groups))
    assert worst(found) == Fraction(2, 3)
    assert found == plain.releases_of_best(AABCD, plain.rda(2), 2, plain.within_groups)
    # By the width of groups.
    for runs, posterior in ((1, "1/2"), (2, "1/2"), (3, "17/27"), (5, "137/171")):
        found = plain.releases_of_best(AABBC, plain.rda(2), runs, plain.widths)
        assert worst(found) == Fraction(posterior)


def by_seed(variant, seed=0):
    """A method whose lots everybody knows."""
    method = Streamliner(2, variant)
    return lambda table, _: method.partition(microdata(range(len(table)), table), seed=seed)


@pytest.mark.parametrize("variant", ["rda", "ria", "gsa"])
def test_a_seed_that_somebody_knows(variant):
    """They run the method on every table that agrees with the release, and may be certain."""
    assert any(worst(releases(AABC, by_seed(variant, seed))) == 1 for seed in range(20))
