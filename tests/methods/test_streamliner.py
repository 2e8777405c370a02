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
from tests.oracle.streamliner import gda, next_rows, outcomes

import foreknow as fk
from foreknow.data.microdata import Attribute
from foreknow.errors import NoSafeRelease
from foreknow.methods.streamliner import Streamliner
from foreknow.methods.streamliner import gsa as streamliner_gsa
from foreknow.methods.streamliner.gda import Runs, by_rank, plan_gda
from foreknow.methods.streamliner.gsa import groups_of_gsa, transversals
from foreknow.methods.streamliner.rda import plan_rda
from foreknow.methods.streamliner.ria import choices, merge, partner_colours


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.ERROR, logger="foreknow")


# ---- groups -------------------------------------------------------------------------------------


def held(groups, values):
    """How many people of each group have each value."""
    groups, values = np.asarray(groups), np.unique(values, return_inverse=True)[1]
    table = np.zeros((groups.max() + 1, values.max() + 1), dtype=np.int64)
    np.add.at(table, (groups, values), 1)
    return table


@examples(150)
@given(
    data=st.data(),
    variant=st.sampled_from(["rda", "ria", "gda", "gsa", "blocks"]),
    l=st.integers(2, 9),
)
def test_no_value_exceeds_its_share(data, variant, l):  # noqa: E741
    """Of any group; also if GSA divides small blocks."""
    values = data.draw(st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=60))
    age = data.draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values)))
    made = microdata({"age": age, "zip": age[::-1]}, values)
    eligible = max(Counter(values).values()) * l <= len(values)
    try:
        if variant == "blocks":
            assume(eligible)
            codes, random = made.sensitive_codes, np.random.default_rng(len(values))
            sizes = np.bincount(codes)
            found = groups_of_gsa(codes, sizes, made.attributes, l, random, least_groups=1)
        else:
            found = Streamliner(l, variant).partition(made)
    except fk.NoSafeRelease as error:
        stuck = variant == "gda" and "stuck" in str(error)
        assert stuck or not eligible
        return
    assert eligible
    assert found.dtype == np.int64
    table = held(found, values)
    assert (table.max(axis=1) * l <= table.sum(axis=1)).all()
    assert table.sum(axis=1).min() >= l


def test_rda_has_groups_of_l():
    """And at most l - 1 larger ones."""
    random = np.random.default_rng(0)
    found = Streamliner(7).partition(microdata(range(10_003), random.integers(0, 30, 10_003)))
    sizes = np.bincount(found)
    assert sizes.min() == 7
    assert (sizes - 7).sum() == 10_003 % 7
    counts = random.poisson(8, 20_000)  # very many values
    plan = plan_rda(counts, 8)
    used = np.bincount(plan.slots.reshape(-1), minlength=len(counts))
    assert (used + np.bincount(plan.late[:, 0], minlength=len(counts)) == counts).all()


def test_near_people_come_together():
    """By GDA, and still more so by GSA."""
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
    random, n = np.random.default_rng(0), 1_000_000 if NIGHTLY else 200_000
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
    [(v, k) for v in ("gda", "ria", "rda") for k in ("many", "equal")] + [("ria", "one")],
)
def test_tables_unlike_a_census(variant, kind):
    n, random = 20_000 if NIGHTLY else 1_000, np.random.default_rng(0)
    values = {
        "many": random.integers(0, n // 5, n),
        "equal": np.arange(n) % 4,
        "one": np.concatenate([np.zeros(n // 4, dtype=int), 1 + np.arange(n - n // 4) // 2]),
    }[kind]
    made = microdata({"x": random.permutation(n), "y": random.integers(0, 999, n)}, values)
    table = held(Streamliner(4, variant).partition(made), values)
    assert table.sum(axis=1).min() >= 4
    assert (table.max(axis=1) * 4 <= table.sum(axis=1)).all()


def test_gda_can_be_stuck():
    """Where RDA is not."""
    sizes = np.array([1, 1, 1, 1, 1, 1])
    runs = Runs(np.array([0, 0, 1, 1, 2, 3]), np.array([1, 2, 5, 6, 3, 4]), sizes)
    with pytest.raises(fk.NoSafeRelease, match="GDA is stuck: 1 person is left over with 'a'"):
        plan_gda(runs, "abcd", 3)
    assert plan_rda(np.array([2, 2, 1, 1]), 3).n_groups == 2


def test_equal_settings_are_equal_keys():
    weights = {"age": 2}
    one, other = Streamliner(2, "gda", weights), Streamliner(2, "gda", {"age": 2})
    weights["age"] = 3
    assert one == other
    assert len({one, other, Streamliner(2), Streamliner(2, "gda")}) == 3


BAG = "a" * 9 + "b" * 8 + "c" * 10 + "d" * 7 + "e" * 6


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
            BAG,
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
def test_what_is_in_the_way(method, values, message):
    with pytest.raises((fk.NoSafeRelease, fk.InputError), match=re.escape(message)):
        method.partition(microdata(range(len(values)), values))


# ---- GSA ----------------------------------------------------------------------------------------


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
def test_tables_not_divided_are_rda(sizes, l, divided, caplog):  # noqa: E741
    codes = np.repeat(np.arange(len(sizes)), sizes)
    place = axes((np.arange(len(codes)) % 200).tolist())
    with caplog.at_level(logging.INFO, logger="foreknow"):
        groups = groups_of_gsa(codes, np.array(sizes), place, l, np.random.default_rng(1))
    assert ("the groups are those of RDA" in caplog.text) == (not divided)
    if not divided:
        assert len(np.unique(groups)) == len(codes) // l
        assert (np.bincount(groups) <= l + 1).all()


def test_no_division_makes_groups_larger():
    """An attribute tells a value that is nearly as frequent as l allows."""
    codes = np.concatenate([np.arange(4000) % 4, np.arange(4000) % 40])
    sizes, place = np.bincount(codes), axes([0] * 4000 + [1] * 4000)
    assert 17 * 8000 < 20 * 7 * sizes.max() <= 20 * 8000
    groups = groups_of_gsa(codes, sizes, place, 7, np.random.default_rng(3))
    assert set(np.bincount(groups).tolist()) <= {7, 8}


@examples(100)
@given(data=st.data(), few=st.sampled_from([0, 16, 1 << 10]))
def test_transversals_share_out_values(data, few):
    """As many from each cell."""
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
    of_value = np.unique(values, return_counts=True)[1]
    assert (held(found.reshape(-1), values.reshape(-1)) <= -(-of_value // n_groups)).all()


@pytest.mark.parametrize("few", [0, 1 << 10])
def test_cells_are_dealt_out_evenly(few, monkeypatch):
    """Three cells of two people, all orders in which these may come: who has a value is alike."""
    monkeypatch.setattr(streamliner_gsa, "_FEW", few)
    cells, values = np.arange(6).reshape(3, 2), np.array([[0, 0], [1, 1], [1, 2]])
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


# ---- GDA ----------------------------------------------------------------------------------------


def bags(values, ranks, l):  # noqa: E741
    """The groups of the plan, people of each colour coming by rank."""
    found = sorted(Counter(zip(values, ranks, strict=True)).items())
    colours, places, sizes = zip(*((v, r, many) for (v, r), many in found), strict=True)
    runs = Runs(np.array(colours), np.array(places), np.array(sizes))
    try:
        plan = plan_gda(runs, range(max(values) + 1), l)
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
def test_groups_are_the_papers(data, l):  # noqa: E741
    n = data.draw(st.integers(l, 40))
    values = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    most = data.draw(st.sampled_from([0, 2, 8, 1000]))
    ranks = data.draw(st.lists(st.integers(0, most), min_size=n, max_size=n))
    assert bags(values, ranks, l) == gda(values, ranks, l)


@pytest.mark.parametrize(("seed", "most"), [(0, 30), (1, 100_000)])
def test_many_left_over_are_the_papers(seed, most):
    random = np.random.default_rng(seed)
    values = random.choice(6, 500, p=[0.25, 0.23, 0.2, 0.16, 0.1, 0.06]).tolist()
    ranks = random.integers(0, most, 500).tolist()
    expected = gda(values, ranks, 3)
    assert sum(len(group) > 3 for group in expected) > 20
    assert bags(values, ranks, 3) == expected


@examples(60)
@given(data=st.data(), dense=st.booleans())
def test_people_are_sorted_by_rank(data, dense):
    """By value and weighted rank."""
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


# ---- RIA ----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40))
def test_merging_is_one_after_another(pairs):
    parent = np.arange(31)
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    merge(parent, one, other)
    slow = list(range(31))
    for a, b in pairs:
        slow = [slow[a] if group == slow[b] else group for group in slow]

    def root(person):
        return person if parent[person] == person else root(parent[person])

    roots = [root(person) for person in range(31)]
    assert len(set(zip(roots, slow, strict=True))) == len(set(roots)) == len(set(slow))


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


def drawn(sizes, colours, need, lots):
    """The sequence of rows of each of some colours."""
    return tuple(
        tuple(map(frozenset, partner_colours(np.array(sizes), colour, need, lots).tolist()))
        for colour in colours
    )


# For l = 2, 3 and 4; for the larger ones only what the first colour draws.
CASES = {
    1: ["11", "111", "22", "211", "221", "2111", "321", "3111", "33", "222", "4211", "31112"],
    2: ["222", "2211", "1111", "21111", "32211", "3321", "2411"],
    3: ["1111"],
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("text", "need"), [(text, need) for need, own in CASES.items() for text in own]
)
def test_sequences_by_the_plain_rule(text, need):
    """All are as likely."""
    sizes = list(map(int, text))
    colours = range(len(sizes)) if sum(sizes) < 7 and text != "21111" else [0]
    found = Counter()
    for rows, chance in outcomes(lambda lots: drawn(sizes, colours, need, lots)):
        found[rows] += chance
    expected = Counter()
    for together in product(*(in_turn(sizes, colour, need).items() for colour in colours)):
        chance = Fraction(1)
        for _, own in together:
            chance *= own
        expected[tuple(rows for rows, _ in together)] = chance
    assert found == expected


def is_usual(often, chances, runs):
    """By chi-square, whose mean is ways - 1, its deviation the root of twice that."""
    assert set(often) <= set(chances)
    squares = sum((often[way] - runs * p) ** 2 / (runs * p) for way, p in chances.items())
    ways = len(chances)
    return abs(float(squares) - (ways - 1)) < 4 * (2 * ways) ** 0.5


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("sizes", "need"), [([3, 3, 3, 1], 1), ([2, 2, 2, 2, 2, 1, 1], 2)])
def test_many_sequences_by_the_plain_rule(sizes, need):
    random, runs = np.random.default_rng(0), 4000 if NIGHTLY else 1500
    found = Counter(drawn(sizes, [0], need, random)[0] for _ in range(runs))
    assert is_usual(found, in_turn(sizes, 0, need), runs)


@given(st.lists(st.integers(1, 30), min_size=2, max_size=12), st.integers(1, 4), st.data())
def test_rows_are_what_the_rule_allows(sizes, need, data):
    if max(sizes) * (need + 1) > sum(sizes):
        sizes = sizes + [max(sizes)] * (need + 1)
    assume(max(sizes) * (need + 1) <= sum(sizes))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    for colour, rows in enumerate(drawn(sizes, range(len(sizes)), need, random)):
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
    assert found == dict.fromkeys(every, Fraction(1, len(every)))


def test_choices_drawn_again_are_as_likely():
    random, runs, found = np.random.default_rng(0), 500, Counter()
    for _ in range(runs):
        picks = choices(np.full(40, 13), np.full(40, 3), random)
        found.update(map(tuple, picks.reshape(-1, 3).tolist()))
    every = dict.fromkeys(permutations(range(13), 3), 1 / perm(13, 3))
    assert is_usual(found, every, 40 * runs)
