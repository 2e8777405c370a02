"""Streamliner: what comes back, and how RDA, RIA, GDA and GSA make it."""

import logging
import re
import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from math import perm
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import NIGHTLY, examples
from tests.methods.tables import axes, microdata
from tests.oracle.streamliner_gda import gda
from tests.oracle.streamliner_lots import outcomes
from tests.oracle.streamliner_ria import next_rows

import foreknow as fk
from foreknow.data.microdata import Attribute
from foreknow.errors import NoSafeRelease
from foreknow.methods.streamliner import Streamliner
from foreknow.methods.streamliner import gsa as streamliner_gsa
from foreknow.methods.streamliner.gda import Runs, by_rank, plan_gda
from foreknow.methods.streamliner.gsa import groups_of_gsa, transversals
from foreknow.methods.streamliner.rda import plan_rda
from foreknow.methods.streamliner.ria import choices, merge, partner_colours

VARIANTS = ["rda", "ria", "gda", "gsa"]
_STUCK = ("gda", "one")


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.ERROR, logger="foreknow")


@examples(150)
@given(data=st.data(), variant=st.sampled_from(VARIANTS), l=st.integers(2, 5))
def test_no_value_has_more_than_its_share_of_any_group(data, variant, l):  # noqa: E741
    values = data.draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40))
    age = data.draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values)))
    made = microdata({"age": age, "zip": age[::-1]}, values)
    eligible = max(Counter(values).values()) * l <= len(values)
    try:
        found = Streamliner(l, variant).partition(made)
    except fk.NoSafeRelease as error:
        stuck = variant == "gda" and "stuck" in str(error)
        if eligible and not stuck:
            raise
        return
    assert eligible
    assert found.dtype == np.int64
    assert set(found.tolist()) == set(range(int(found.max()) + 1))
    for group in range(int(found.max()) + 1):
        bag = Counter(np.array(values)[found == group].tolist())
        assert max(bag.values()) * l <= sum(bag.values())


@examples(150)
@given(data=st.data(), l=st.integers(2, 9), seed=st.integers(0, 99))
def test_gsa_in_small_blocks(data, l, seed):  # noqa: E741
    values = np.array(data.draw(st.lists(st.integers(0, 11), min_size=l, max_size=120)))
    values = np.unique(values, return_inverse=True)[1]
    sizes = np.bincount(values)
    if sizes.max() * l > len(values):
        return
    made = microdata(np.arange(len(values)) * 7 % 11, values)
    random = np.random.default_rng(seed)
    codes = made.sensitive_codes
    found = groups_of_gsa(codes, sizes, made.attributes, l, random, least_groups=1)
    table = np.zeros((found.max() + 1, len(sizes)), dtype=np.int64)
    np.add.at(table, (found, codes), 1)
    assert (table.max(axis=1) * l <= table.sum(axis=1)).all()
    assert table.sum(axis=1).min() >= l


def test_rda_has_groups_of_l_and_at_most_l_minus_one_larger_ones():
    random = np.random.default_rng(0)
    found = Streamliner(7).partition(microdata(range(10_003), random.integers(0, 30, 10_003)))
    sizes = np.bincount(found)
    assert sizes.min() == 7
    assert (sizes - 7).sum() == 10_003 % 7


def test_gda_puts_near_people_together_and_gsa_still_more_so():
    random = np.random.default_rng(0)
    made = microdata(random.integers(0, 1000, 4000), random.integers(0, 40, 4000))
    place = made.attributes[0].codes.astype(float)

    def spread(variant):
        groups = Streamliner(4, variant).partition(made, seed=1)
        means = np.bincount(groups, place) / np.bincount(groups)
        return np.sqrt(((place - means[groups]) ** 2).mean())

    assert spread("gda") < spread("rda") / 2
    assert spread("gsa") < spread("rda") / 4


def test_rda_takes_50_bytes_per_person():
    random = np.random.default_rng(0)
    n = 1_000_000
    made = microdata({"x": random.integers(0, 90, n)}, random.integers(0, 50, n))
    assert made.sensitive_codes.nbytes + made.attributes[0].codes.nbytes == 2 * n
    tracemalloc.start()
    try:
        Streamliner(8).partition(made)
        assert tracemalloc.get_traced_memory()[1] < 50 * n
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("variant", "kind"),
    [(v, k) for v in ("gda", "ria", "rda") for k in ("many", "equal", "one") if (v, k) != _STUCK],
)
def test_tables_that_are_not_like_a_census(variant, kind):
    n = 20_000 if NIGHTLY else 4_000
    random = np.random.default_rng(0)
    values = {
        "many": random.integers(0, n // 5, n),
        "equal": np.arange(n) % 4,
        "one": np.concatenate([np.zeros(n // 4, dtype=int), 1 + np.arange(n - n // 4) // 2]),
    }[kind]
    made = microdata({"x": random.permutation(n), "y": random.integers(0, 999, n)}, values)
    found = Streamliner(4, variant).partition(made)
    order = np.lexsort((values, found))
    runs = np.diff(np.flatnonzero(np.diff(found[order] * n + values[order], prepend=-1)))
    assert np.bincount(found).min() >= 4
    assert runs.max() * 4 <= np.bincount(found).max()


def test_gda_can_be_stuck_where_rda_is_not():
    sizes = np.array([1, 1, 1, 1, 1, 1])
    runs = Runs(np.array([0, 0, 1, 1, 2, 3]), np.array([1, 2, 5, 6, 3, 4]), sizes)
    with pytest.raises(fk.NoSafeRelease, match="GDA is stuck: 1 person is left over with 'a'"):
        plan_gda(runs, "abcd", 3)
    assert plan_rda(np.array([2, 2, 1, 1]), 3).n_groups == 2


def test_equal_settings_are_equal_keys_whatever_becomes_of_the_weights():
    weights = {"age": 2}
    one, other = Streamliner(2, "gda", weights), Streamliner(2, "gda", {"age": 2})
    weights["age"] = 3
    assert one == other
    assert len({one, other, Streamliner(2), Streamliner(2, "gda")}) == 3


def test_very_many_values_take_seconds():
    counts = np.random.default_rng(0).poisson(8, 70_000)
    plan = plan_rda(counts, 8)
    used = np.bincount(plan.slots.reshape(-1), minlength=70_000)
    used += np.bincount(plan.late[:, 0], minlength=70_000)
    assert (used == counts).all()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40))
def test_merging_is_what_one_pair_after_the_other_gives(pairs):
    parent = np.arange(31)
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    merge(parent, one, other)
    slow = list(range(31))
    for a, b in pairs:
        slow = [slow[a] if group == slow[b] else group for group in slow]

    def root(person):
        while parent[person] != person:
            person = parent[person]
        return person

    roots = [root(person) for person in range(31)]
    assert len(set(zip(roots, slow, strict=True))) == len(set(roots)) == len(set(slow))


@pytest.mark.parametrize(
    ("method", "values", "message"),
    [
        (
            Streamliner(3),
            "aaaabbbc",
            "l = 3 allows at most 2 of 8 people to share a value of 'disease': 4 have 'a', which "
            "is 2 too many; 3 have 'b', which is 1 too many",
        ),
        (
            Streamliner(9),
            "a" * 9 + "b" * 8 + "c" * 10 + "d" * 7 + "e" * 6,
            ": 10 have 'c', which is 6 too many; 9 have 'a', which is 5 too many; 8 have 'b', "
            "which is 4 too many; 2 more are too frequent as well",
        ),
        (Streamliner(5), "abc", "l = 5 exceeds the number of people, 3"),
        (Streamliner(2, "gda", {"agee": 1}), "abcd", "'agee', which is no quasi-identifier; did y"),
        (
            fk.Anatomy(3),
            "aaaabbbbbc",
            "l = 3 allows at most 3 of 10 people to share a value of 'disease': 5 have 'b', "
            "which is 2 too many; 4 have 'a', which is 1 too many. 'b' is had by 5 of 10 people "
            "(50.0%), which allows l = 2 at most",
        ),
        (fk.Anatomy(4), "aabc", "1 of 4 people to share a value of 'disease': 2 have 'a', w"),
        (fk.Anatomy(4), "aa", "l = 4 exceeds the number of people, 2"),
    ],
)
def test_what_is_in_the_way_is_named_with_by_how_much(method, values, message):
    with pytest.raises((fk.NoSafeRelease, fk.InputError), match=re.escape(message)):
        method.partition(microdata(range(len(values)), values))


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
    assert ("the groups are those of RDA" in caplog.text) == (not divided)
    if not divided:
        assert len(np.unique(groups)) == len(codes) // l
        assert (np.bincount(groups) <= l + 1).all()


def test_nothing_is_divided_where_it_would_only_make_groups_larger():
    """An attribute tells a value that is nearly as frequent as l allows."""
    random = np.random.default_rng(3)
    codes = np.concatenate([np.arange(4000) % 4, np.arange(4000) % 40])
    sizes = np.bincount(codes)
    assert 17 * 8000 < 20 * 7 * sizes.max() <= 20 * 8000
    groups = groups_of_gsa(codes, sizes, axes([0] * 4000 + [1] * 4000), 7, random)
    assert set(np.bincount(groups).tolist()) <= {7, 8}


@examples(100)
@given(data=st.data(), few=st.sampled_from([0, 16, 1 << 10]))
def test_transversals_take_as_many_from_each_cell_and_share_out_each_value(data, few):
    n_cells, each = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 3))
    n_groups = data.draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 24]))
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    values = random.integers(0, data.draw(st.integers(1, 40)), (n_cells, each * n_groups))
    cells = np.arange(values.size).reshape(values.shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamliner_gsa, "_FEW", few)
        found = transversals(cells, values, each, random)
    for row in found:
        assert Counter(row.tolist()) == dict.fromkeys(range(n_groups), each)
    held = Counter(zip(found.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True))
    of_value = Counter(values.reshape(-1).tolist())
    assert all(times <= -(-of_value[v] // n_groups) for (_, v), times in held.items())


@pytest.mark.parametrize("few", [0, 1 << 10])
def test_people_of_one_cell_and_value_are_equally_likely_in_each_group(few, monkeypatch):
    """Three cells of two people, all orders in which these may come."""
    monkeypatch.setattr(streamliner_gsa, "_FEW", few)
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


def runs_of(values, ranks):
    found = sorted(Counter(zip(values, ranks, strict=True)).items())
    colours, places, sizes = zip(*((v, r, many) for (v, r), many in found), strict=True)
    return Runs(np.array(colours), np.array(places), np.array(sizes))


def bags(values, ranks, l):  # noqa: E741
    """The groups of the plan, people of each colour coming by rank."""
    try:
        plan = plan_gda(runs_of(values, ranks), range(max(values) + 1), l)
    except NoSafeRelease:
        return None
    waiting = {v: sorted(r for w, r in zip(values, ranks, strict=True) if w == v) for v in values}
    groups = [[(v, waiting[v].pop(0)) for v in row] for row in plan.slots.tolist()]
    for v, group in plan.late.tolist():
        groups[group].append((v, waiting[v].pop(0)))
    assert not any(waiting.values())
    return [tuple(sorted(group)) for group in groups]


@examples(400, deadline=None)
@given(data=st.data(), l=st.integers(2, 5))
def test_groups_are_those_of_the_paper(data, l):  # noqa: E741
    n = data.draw(st.integers(l, 40))
    values = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    most = data.draw(st.sampled_from([0, 2, 8, 1000]))
    ranks = data.draw(st.lists(st.integers(0, most), min_size=n, max_size=n))
    assert bags(values, ranks, l) == gda(values, ranks, l)


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_those_of_the_paper_where_many_are_left_over(seed):
    random = np.random.default_rng(seed)
    values = random.choice(6, 500, p=[0.25, 0.23, 0.2, 0.16, 0.1, 0.06]).tolist()
    ranks = random.integers(0, (30, 100_000)[seed % 2], 500).tolist()
    expected = gda(values, ranks, 3)
    assert sum(len(group) > 3 for group in expected) > 20
    assert bags(values, ranks, 3) == expected


@examples(60)
@given(data=st.data(), dense=st.booleans())
def test_people_are_sorted_by_value_and_weighted_rank(data, dense):
    n = data.draw(st.integers(1, 30))
    codes = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    weight = data.draw(st.integers(0, 3)) if dense else 2**30
    columns = [data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)) for _ in "xy"]
    attributes = [
        Attribute(name, np.array(own), list(range(6)), "ordered", (), (), np.arange(6.0))
        for name, own in zip("xy", columns, strict=True)
    ]
    runs, people = by_rank(codes, 5, attributes, {"y": weight}, np.random.default_rng(0))
    ranks = [x + 1 + weight * (y + 1) for x, y in zip(*columns, strict=True)]
    assert sorted(people.tolist()) == list(range(n))
    expected = sorted(zip(codes.tolist(), ranks, strict=True))
    assert [(codes[p], ranks[p]) for p in people.tolist()] == expected
    made = zip(runs.colours.tolist(), runs.ranks.tolist(), runs.sizes.tolist(), strict=True)
    assert [(c, r) for c, r, many in made for _ in range(many)] == expected


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
    return tuple(
        tuple(map(frozenset, partner_colours(np.array(sizes), colour, need, lots).tolist()))
        for colour in range(len(sizes))
    )


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


@pytest.mark.thinned(2)
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
        drawn = partner_colours(np.array(sizes), 0, need, lots)
        return tuple(map(frozenset, drawn.tolist()))

    found = Counter()
    for sequence, chance in outcomes(rows):
        found[sequence] += chance
    assert found == in_turn(sizes, 0, need)


@pytest.mark.parametrize(("sizes", "need"), [([3, 3, 3, 1], 1), ([2, 2, 2, 2, 2, 1, 1], 2)])
def test_sequences_that_are_many_are_as_likely_as_by_the_plain_rule(sizes, need):
    random, runs = np.random.default_rng(0), 4000 if NIGHTLY else 1500
    found = Counter(drawn(sizes, need, random)[0] for _ in range(runs))
    expected = in_turn(sizes, 0, need)
    assert set(found) <= set(expected)
    squares = sum((found[s] - runs * p) ** 2 / (runs * p) for s, p in expected.items())
    ways = len(expected)
    # Chi-squared: its mean is ways - 1, its deviation the root of twice that.
    assert abs(float(squares) - (ways - 1)) < 4 * (2 * ways) ** 0.5


@given(st.lists(st.integers(1, 30), min_size=2, max_size=12), st.integers(1, 4), st.data())
def test_rows_are_those_that_the_rule_allows(sizes, need, data):
    if max(sizes) * (need + 1) > sum(sizes):
        sizes = sizes + [max(sizes)] * (need + 1)
    assume(max(sizes) * (need + 1) <= sum(sizes))
    found = drawn(sizes, need, np.random.default_rng(data.draw(st.integers(0, 99))))
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
