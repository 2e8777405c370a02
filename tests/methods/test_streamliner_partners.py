"""Partners of RIA are drawn one person after the other by a plain rule, however many at once."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product
from math import perm

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.oracle.streamliner_lots import outcomes
from tests.oracle.streamliner_ria import next_rows

from foreknow.methods.streamliner import ria as streamliner_partners
from foreknow.methods.streamliner.ria import choices, partner_colours


def in_turn(sizes, colour, need):
    """The chance of each sequence of rows, by the plain rule."""

    def follow(unused, left):
        if not left:
            return {(): Fraction(1)}
        rows = next_rows(unused, left, need)
        found = {}
        for row in rows:
            less = [many - (c in row) for c, many in enumerate(unused)]
            for others, chance in follow(less, left - 1).items():
                found[(row, *others)] = chance / len(rows)
        return found

    return follow([many * (c != colour) for c, many in enumerate(sizes)], sizes[colour])


def drawn(sizes, need, lots):
    """colour -> sequence of rows."""
    found = {}
    for some, rows in partner_colours(np.array(sizes), need, lots):
        rest = iter(rows.tolist())
        for colour in some.tolist():
            found[colour] = tuple(frozenset(next(rest)) for _ in range(sizes[colour]))
        assert next(rest, None) is None
    return tuple(found[colour] for colour in range(len(sizes)))


CASES = [
    ([1, 1], 1),
    ([1, 1, 1], 1),
    ([2, 2], 1),
    ([2, 1, 1], 1),
    ([2, 2, 1], 1),
    ([2, 1, 1, 1], 1),
    ([3, 2, 1], 1),
    ([3, 1, 1, 1], 1),
    ([3, 3], 1),
    ([2, 2, 2], 1),
    ([2, 2, 2], 2),
    ([2, 2, 1, 1], 2),
    ([1, 1, 1, 1], 2),
    ([1, 1, 1, 1], 3),
]


@pytest.mark.parametrize(("sizes", "need"), CASES)
def test_every_sequence_is_as_likely_as_by_the_plain_rule(sizes, need):
    found = Counter()
    for rows, chance in outcomes(lambda lots: drawn(sizes, need, lots)):
        found[rows] += chance
    alone = [in_turn(sizes, colour, need) for colour in range(len(sizes))]
    expected = Counter()
    for together in product(*(rows.items() for rows in alone)):
        chance = Fraction(1)
        for _, own in together:
            chance *= own
        expected[tuple(rows for rows, _ in together)] = chance
    assert found == expected


@pytest.mark.parametrize(
    ("sizes", "need"),
    [
        ([2, 1, 1, 1, 1], 2),
        ([3, 2, 2, 1, 1], 2),
        ([3, 3, 2, 1], 2),
        ([4, 2, 1, 1], 1),
        ([3, 1, 1, 1, 2], 1),
        ([2, 4, 1, 1], 2),
    ],
)
def test_every_sequence_of_the_first_colour_is_as_likely_as_by_the_plain_rule(sizes, need):
    def rows(lots):
        drawn = streamliner_partners._in_turn(np.array(sizes), 0, need, lots)
        return tuple(map(frozenset, drawn.tolist()))

    found = Counter()
    for sequence, chance in outcomes(rows):
        found[sequence] += chance
    assert found == in_turn(sizes, 0, need)


@pytest.mark.parametrize(("sizes", "need"), [([3, 3, 3, 1], 1), ([2, 2, 2, 2, 2, 1, 1], 2)])
def test_several_colours_at_once_draw_again_by_the_plain_rule(sizes, need):
    random, runs = np.random.default_rng(0), 4000
    found = Counter(drawn(sizes, need, random)[0] for _ in range(runs))
    expected = in_turn(sizes, 0, need)
    assert set(found) <= set(expected)
    squares = sum((found[s] - runs * p) ** 2 / (runs * p) for s, p in expected.items())
    ways = len(expected)
    # Chi-squared: its mean is ways - 1, its deviation the root of twice that.
    assert abs(float(squares) - (ways - 1)) < 4 * (2 * ways) ** 0.5


@given(st.lists(st.integers(1, 6), min_size=2, max_size=9), st.integers(1, 3), st.data())
def test_where_many_colours_are_as_large_any_may_be_drawn_to_the_end(sizes, need, data):
    colour = data.draw(st.integers(0, len(sizes) - 1))
    others = [many for c, many in enumerate(sizes) if c != colour]
    assume(sum(many >= sizes[colour] for many in others) >= 2 * need)
    unused = [many * (c != colour) for c, many in enumerate(sizes)]
    for left in range(sizes[colour], 0, -1):
        pool = [c for c, many in enumerate(unused) if many]
        rows = next_rows(unused, left, need)
        assert rows == {frozenset(row) for row in combinations(pool, need)}
        for c in data.draw(st.sampled_from(sorted(map(sorted, rows)))):
            unused[c] -= 1


@given(st.lists(st.integers(1, 30), min_size=2, max_size=12), st.integers(1, 4), st.data())
def test_rows_are_those_that_the_rule_allows(sizes, need, data):
    if max(sizes) * (need + 1) > sum(sizes):
        sizes = sizes + [max(sizes)] * (need + 1)
    assume(max(sizes) * (need + 1) <= sum(sizes))
    seed, block = data.draw(st.integers(0, 99)), data.draw(st.sampled_from([1, 50, 1 << 18]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamliner_partners, "_BLOCK", block)
        found = drawn(sizes, need, np.random.default_rng(seed))
    for colour, rows in enumerate(found):
        unused = [many * (c != colour) for c, many in enumerate(sizes)]
        for left, row in zip(range(sizes[colour], 0, -1), rows, strict=True):
            pool = {c for c, many in enumerate(unused) if many}
            spare = sum(min(many, left) for many in unused) - need * left
            full = {c for c in pool if unused[c] >= left}
            assert len(row) == need
            assert row <= pool
            if spare < len(pool):
                assert row <= full or full <= row
            unused = [many - (c in row) for c, many in enumerate(unused)]


@pytest.mark.parametrize(
    ("sizes", "times"), [([3], [1]), ([3], [2]), ([3, 2], [3, 2]), ([1, 4, 2], [1, 1, 2])]
)
def test_all_choices_are_as_likely(sizes, times):
    found = Counter()
    for picks, chance in outcomes(lambda lots: choices(np.array(sizes), np.array(times), lots)):
        found[tuple(picks.tolist())] += chance
    sets = [list(permutations(range(n), m)) for n, m in zip(sizes, times, strict=True)]
    every = {sum(way, ()) for way in product(*sets)}
    assert set(found) == every
    assert set(found.values()) == {Fraction(1, len(every))}


def test_choices_that_are_drawn_again_are_as_likely():
    random = np.random.default_rng(0)
    sizes, times, runs = np.full(40, 13), np.full(40, 3), 1000
    found = Counter()
    for _ in range(runs):
        found.update(map(tuple, choices(sizes, times, random).reshape(-1, 3).tolist()))
    ways = perm(13, 3)
    assert len(found) == ways
    expected = 40 * runs / ways
    # Chi-squared: its mean is ways - 1, its deviation the root of twice that.
    squares = sum((many - expected) ** 2 / expected for many in found.values())
    assert abs(squares - (ways - 1)) < 4 * (2 * ways) ** 0.5


@given(st.data())
def test_choices_are_different_members(data):
    some = data.draw(st.lists(st.tuples(st.integers(1, 400), st.integers(1, 400)), max_size=8))
    sizes = np.array([max(pair) for pair in some], dtype=np.int64)
    times = np.array([min(pair) for pair in some], dtype=np.int64)
    found = choices(sizes, times, np.random.default_rng(data.draw(st.integers(0, 9)))).tolist()
    for n, many in zip(sizes.tolist(), times.tolist(), strict=True):
        own, found = found[:many], found[many:]
        assert len(set(own)) == many
        assert 0 <= min(own) <= max(own) < n
    assert not found
