"""GSA where it divides: posteriors of its releases, boxes that look the same, and its log."""

import logging
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.streamliner_methods import axes, gsa, rda
from tests.oracle.streamliner_blocks import tables_of, weights_of
from tests.oracle.streamliner_lots import bags, posteriors, release_of, releases
from tests.oracle.streamliner_symmetry import released

from foreknow.methods.streamliner import gsa as streamliner_gsa
from foreknow.methods.streamliner import gsa as streamliner_transversal
from foreknow.methods.streamliner.gsa import groups_of_gsa, transversals


def codes_of(bag):
    return tuple("abcdefghijkl".index(value) for value in bag)


LINE_8, LINE_12 = [list(range(8))], [list(range(12))]
SQUARE_8 = [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1]]
UNEVEN_8 = [[5, 0, 3, 3, 1, 7, 2, 2], [0, 1, 0, 1, 1, 1, 0, 0]]
SQUARE_12 = [[0] * 6 + [1] * 6, [0, 0, 0, 1, 1, 1] * 2]


@pytest.mark.parametrize(
    ("bag", "l", "places", "failures", "fell"),
    [
        ("aaaabbbb", 2, LINE_8, 1, {0, 1}),
        ("aaabbbcc", 2, LINE_8, 1, {0, 1}),
        ("aaabbbcc", 2, SQUARE_8, 1, {0, 1}),
        ("aabbccdd", 2, UNEVEN_8, 1, {0, 1}),
        ("aaabbccc", 2, SQUARE_8, 2, {0, 1, 2}),
        ("aabbccdd", 4, LINE_8, 2, {0, 1, 2}),
        ("aabbccde", 4, SQUARE_8, 2, {0, 1, 2}),
        ("aaabbbcccddd", 3, LINE_12, 1, {0, 1}),
        pytest.param("aaabbbcccddd", 3, SQUARE_12, 1, {0, 1}, marks=pytest.mark.slow),
        pytest.param("aaabbbcccdde", 3, LINE_12, 1, {0, 1}, marks=pytest.mark.slow),
    ],
)
def test_the_posterior_is_the_frequency_where_people_are_divided(
    bag,
    l,  # noqa: E741
    places,
    failures,
    fell,
    monkeypatch,
):
    """Of some releases, against all tables that agree with them."""
    random = np.random.default_rng(sum(map(ord, bag)) + len(places))
    attributes, codes = axes(*places), codes_of(bag)
    plain, leaves = streamliner_gsa._grouped, []

    def run(table, grouped):
        leaves.clear()
        values = np.array(table)
        monkeypatch.setattr(streamliner_gsa, "_grouped", grouped)
        sizes = np.bincount(values)
        return groups_of_gsa(
            values, sizes, attributes, l, random, least_groups=1, failures=failures
        )

    def watched(cells, *rest):
        leaves.append([tuple(cell) for cell in cells.tolist()])
        return plain(cells, *rest)

    def left_out(cells, *rest):
        leaves.append([tuple(cell) for cell in cells.tolist()])
        return np.zeros(cells.shape, dtype=np.int64)

    def blocks_of(table):
        run(table, left_out)
        return list(leaves)

    seen = {}
    for _ in range(300):
        table = tuple(random.permutation(codes).tolist())
        release = release_of(run(table, watched), table)
        failed = max(len(cells) for cells in leaves).bit_length() - 1
        seen.setdefault((failed, len(leaves)), release)
    assert {failed for failed, _ in seen} == fell
    for release in seen.values() if len(codes) < 12 else [seen[max(seen)]]:
        weights = weights_of(sorted(release), len(codes), blocks_of)
        told = list(posteriors(sorted(release), weights))
        assert told
        for posterior, frequency in told:
            assert posterior == frequency <= Fraction(1, l)


def boxed(found, places):
    """What is seen when groups are published as ranges: boxes that look the same are one."""
    merged = defaultdict(Counter)
    for release, weights in found.items():
        boxes = defaultdict(lambda: ([], []))
        for people, values in release:
            box = tuple((min(x[p] for p in people), max(x[p] for p in people)) for x in places)
            boxes[box][0].extend(people)
            boxes[box][1].extend(values)
        seen = frozenset((tuple(sorted(p)), tuple(sorted(v))) for p, v in boxes.values())
        merged[seen].update(weights)
    return merged


def test_boxes_of_equal_groups_that_look_the_same_tell_no_more_of_rda():
    """Six people, l = 2: all groups are equally large."""
    place = (0, 0, 0, 0, 1, 1)
    for bag in bags(6, 2):
        for release, weights in boxed(releases(bag, rda(2)), [place]).items():
            for posterior, frequency in posteriors(release, weights):
                assert posterior == frequency


def test_boxes_of_unequal_groups_tell_more_of_rda_but_keep_one_in_l():
    """The values a, a, b, b, c: a group of two and one of three look alike."""
    highest = Fraction(0)
    for release, weights in boxed(releases((0, 0, 1, 1, 2), rda(2)), [(0, 0, 1, 1, 1)]).items():
        for posterior, frequency in posteriors(release, weights):
            assert posterior <= Fraction(1, 2)
            highest = max(highest, posterior - frequency)
    assert highest >= Fraction(5, 12) - Fraction(2, 5)


@pytest.mark.parametrize("place", [(0, 0, 1, 1), (0, 0, 0, 1), (0, 1, 1, 1)])
def test_boxes_that_look_the_same_keep_gsa_below_one_in_l(place):
    for bag in bags(4, 2):
        for release, weights in boxed(releases(bag, gsa(2, place)), [place]).items():
            assert all(p <= Fraction(1, 2) for p, _ in posteriors(release, weights))


def test_the_frequency_in_a_box_is_not_the_posterior_under_gsa():
    """The counterexample in the docstring of `streamliner.gsa`."""
    place = [0, 0, 0, 0, 1, 1]
    seen = frozenset({((0, 2), (0, 1)), ((1, 3, 4, 5), (0, 1, 2, 3))})
    held, total = Fraction(0), Fraction(0)
    for table in tables_of(sorted(seen), 6):
        found = {r: Counter({table: w}) for r, w in released(table, gsa(2, place)).items()}
        chance = sum(boxed(found, [place]).get(seen, Counter()).values())
        total += chance
        held += chance * (table[1] == 1)
    assert held / total == Fraction(2, 5)


@pytest.mark.parametrize(
    ("sizes", "l", "divided"),
    [
        ([16, 16], 2, True),
        ([15, 15], 2, False),
        ([16] * 10, 7, True),
        ([9] * 7, 7, False),
        ([40] * 5, 5, False),  # nothing to spare, and no failure is free
        ([40] * 6, 5, True),
        ([40] * 6, 6, True),
    ],
)
def test_a_table_that_is_not_divided_is_grouped_by_rda_and_logged(sizes, l, divided, caplog):  # noqa: E741
    codes = np.repeat(np.arange(len(sizes)), sizes)
    place = axes((np.arange(len(codes)) % 200).tolist())
    with caplog.at_level(logging.INFO, logger="foreknow"):
        groups = groups_of_gsa(codes, np.array(sizes), place, l, np.random.default_rng(1))
    plan = streamliner_gsa.plan_undivided(np.array(sizes), l)
    assert ("the groups are those of RDA" in caplog.text) == (plan is not None) == (not divided)
    if plan is not None:
        assert len(np.unique(groups)) == plan.n_groups
        assert (np.bincount(groups) <= l + 1).all()


def test_nothing_is_divided_where_it_would_only_make_groups_larger():
    """An attribute tells a value that is nearly as frequent as l allows."""
    random = np.random.default_rng(3)
    codes = np.concatenate([np.arange(4000) % 4, np.arange(4000) % 40])
    sizes = np.bincount(codes)
    assert 17 * 8000 < 20 * 7 * sizes.max() <= 20 * 8000
    groups = groups_of_gsa(codes, sizes, axes([0] * 4000 + [1] * 4000), 7, random)
    assert set(np.bincount(groups).tolist()) <= {7, 8}


def test_batches_take_each_group_once_and_can_be_halved():
    for l in range(2, 20):  # noqa: E741
        shape = streamliner_gsa._Shape.of(np.full(3 * l, 100), l)
        for n in (0, 1, 15, 16, 17, 100, 999, 4097):
            batches, rest = shape.batches(np.arange(n))
            parts = [rows for rows, _ in batches] + [rest]
            assert np.sort(np.concatenate(parts)).tolist() == list(range(n))
            for rows, depth in batches:
                assert depth > 0
                people, halved = len(rows) * shape.least, shape.failures + depth
                assert people % (1 << halved) == 0
                assert (people >> depth) % shape.least == 0
                assert len(rows) >> depth >= 1
            assert all(len(a) >= len(b) for (a, _), (b, _) in pairwise(batches))


@pytest.mark.parametrize("cells", [2, 4, 8])
def test_a_group_holds_as_many_of_each_cell_and_no_value_too_often(cells):
    for l in range(2, 12):  # noqa: E741
        shape = streamliner_gsa._Shape(l, l, 3, 1)
        unit = int(np.lcm(l, 8))
        for people in (unit, 3 * unit):
            for most in range(1, people // l + 1):
                group = shape.group(cells, people, most)
                assert l <= group <= unit
                assert group % cells == people % group == 0
                assert -(-most // (people // group)) * l <= group


@examples(100)
@given(data=st.data(), few=st.sampled_from([0, 16, 1 << 10]), many=st.sampled_from([8, 1 << 15]))
def test_transversals_take_as_many_from_each_cell_and_share_out_each_value(data, few, many):
    n_cells, each = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 3))
    n_groups = data.draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 24]))
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    values = random.integers(0, data.draw(st.integers(1, 40)), (n_cells, each * n_groups))
    cells = np.arange(values.size).reshape(values.shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamliner_transversal, "_FEW", few)
        patch.setattr(streamliner_transversal, "_MANY", many)
        found = transversals(cells, values, each, random)
    for row in found:
        assert Counter(row.tolist()) == dict.fromkeys(range(n_groups), each)
    held = Counter(zip(found.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True))
    of_value = Counter(values.reshape(-1).tolist())
    assert all(times <= -(-of_value[v] // n_groups) for (_, v), times in held.items())


@pytest.mark.parametrize("few", [0, 1 << 10])
def test_people_of_one_cell_and_value_are_equally_likely_in_each_group(few, monkeypatch):
    """Three cells of two people, all orders in which these may come."""
    monkeypatch.setattr(streamliner_transversal, "_FEW", few)
    cells = np.arange(6).reshape(3, 2)
    values = np.array([[0, 0], [1, 1], [1, 2]])
    found = Counter()
    for order in permutations(range(6)):
        lots = SimpleNamespace(permutation=lambda _, order=order: np.array(order))
        found[tuple(transversals(cells, values, 1, lots).reshape(-1).tolist())] += 1
    for one, other in ((0, 1), (2, 3)):
        exchanged = Counter()
        for groups, times in found.items():
            moved = list(groups)
            moved[one], moved[other] = groups[other], groups[one]
            exchanged[tuple(moved)] += times
        assert exchanged == found
