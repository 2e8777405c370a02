"""Streamliner: what comes back, examples of the paper, posteriors of adversaries who know it."""

import importlib
import logging
import random
import re
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.common import examples
from tests.methods.tables import axes, microdata
from tests.oracle import more_methods as plain
from tests.oracle.more_methods import (
    bags as bags_of_posteriors,
)
from tests.oracle.more_methods import (
    exchangeable,
    gda,
    outcomes,
    posteriors,
    release_of,
    released,
    releases,
    tables,
    tables_of,
    weights_of,
    worst,
)

import foreknow as fk
from foreknow.errors import NoSafeRelease
from foreknow.features.more_methods.streamliner import Streamliner
from foreknow.features.more_methods.streamliner import gsa as streamliner_gsa
from foreknow.features.more_methods.streamliner.gda import Runs, plan_gda
from foreknow.features.more_methods.streamliner.gsa import groups_of_gsa, transversals
from foreknow.features.more_methods.streamliner.rda import groups_of_plan, plan_rda
from foreknow.features.more_methods.streamliner.ria import groups_of_ria, partner_colours


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
            result = groups_of_gsa(codes, sizes, made.attributes, l, random, least_groups=1)
        else:
            result = Streamliner(l, variant).partition(made)
    except fk.NoSafeRelease as error:
        stuck = variant == "gda" and "stuck" in str(error)
        assert stuck or not eligible
        return
    assert eligible
    assert result.dtype == np.int64
    table = held(result, values)
    assert (table.max(axis=1) * l <= table.sum(axis=1)).all()
    assert table.sum(axis=1).min() >= l


def test_gda_can_be_stuck():
    """Where RDA is not."""
    sizes = np.array([1, 1, 1, 1, 1, 1])
    runs = Runs(np.array([0, 0, 1, 1, 2, 3]), np.array([1, 2, 5, 6, 3, 4]), sizes)
    with pytest.raises(fk.NoSafeRelease, match="GDA is stuck: 1 person is left over with 'a'"):
        plan_gda(runs, "abcd", 3)
    assert plan_rda(np.array([2, 2, 1, 1]), 3).n_groups == 2


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


# ---- GDA ----------------------------------------------------------------------------------------


def bags(values, ranks, l):  # noqa: E741
    """The groups of the plan, people of each colour coming by rank."""
    results = sorted(Counter(zip(values, ranks, strict=True)).items())
    colours, places, sizes = zip(*((v, r, many) for (v, r), many in results), strict=True)
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


@given(st.lists(st.integers(1, 30), min_size=2, max_size=12), st.integers(1, 4), st.data())
def test_partners_match_the_rule(sizes, need, data):
    if max(sizes) * (need + 1) > sum(sizes):
        sizes = sizes + [max(sizes)] * (need + 1)
    assume(max(sizes) * (need + 1) <= sum(sizes))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    for colour, rows in enumerate(drawn(sizes, range(len(sizes)), need, random)):
        unused = [size * (c != colour) for c, size in enumerate(sizes)]
        for left, row in zip(range(sizes[colour], 0, -1), rows, strict=True):
            pool = {c for c, many in enumerate(unused) if many}
            spare = sum(min(many, left) for many in unused) - need * left
            full = {c for c in pool if unused[c] >= left}
            assert len(row) == need
            assert row <= pool
            if spare < len(pool):
                assert row <= full or full <= row
            unused = [many - (c in row) for c, many in enumerate(unused)]


# ---- RIA ----------------------------------------------------------------------------------------


def drawn(sizes, colours, need, lots):
    """The sequence of rows of each of some colours."""
    return tuple(
        tuple(map(frozenset, partner_colours(np.array(sizes), colour, need, lots).tolist()))
        for colour in colours
    )


# ---- streamliner posteriors ----------------------------------------------------------------------


HALF = Fraction(1, 2)


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


def codes_of(bag):
    return tuple("abcdefghijkl".index(value) for value in bag)


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


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("people", "l"),
    [(people, least) for least in (2, 3, 4) for people in range(least, 7)],
)
def test_rda_tells_nothing_further(people, l):  # noqa: E741
    for bag in bags_of_posteriors(people, l):
        result = releases(bag, rda(l))
        assert exchangeable(result)
        tells_frequencies(result, l)


@pytest.mark.parametrize("bag", ["aabb", "aabc", "abcd", slow("aabbc")])
def test_ria_tells_nothing_further(bag):
    """Bags of which there are releases of several groups."""
    result = releases(codes_of(bag), ria(2))
    assert max(len(release) for release in result) > 1
    assert exchangeable(result)
    tells_frequencies(result, 2)


@pytest.mark.parametrize(("people", "l"), [(4, 2), (5, 2), (6, 3), slow(6, 2)])
def test_gsa_tells_nothing_of_one(people, l):  # noqa: E741
    """Each value of a group is equally likely for its members."""
    for bag in bags_of_posteriors(people, l):
        tells_frequencies(releases(bag, gsa(l, range(people))), l)


CHOSEN_BY = {
    "facts": fk.Requirement(fk.Facts(), below="2/3"),
    "any_of": fk.Requirement(fk.Facts(), below="4/5", any_of=["0", "1"]),
    "within": fk.Requirement(fk.Facts(), below="4/5", within=0.5),
    "implications": fk.Requirement(fk.Implications(k=1), below=1),
    "criterion": fk.Requirement(fk.LDiversity(2)),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("required", CHOSEN_BY)
@pytest.mark.parametrize(
    "method", [fk.Streamliner(), slow(fk.Streamliner(variant="ria")), fk.Anatomy()]
)
def test_a_chosen_l_tells_nothing(method, required, monkeypatch):
    """The whole method, which tries one l after the other, on every table and with all lots."""
    module = importlib.import_module(type(method).__module__)

    def run(table, lots):
        monkeypatch.setattr(module, "generator", lambda *_: lots)
        people = microdata([5, 5, 7, 9], table)  # two people who look alike
        policy = fk.Policy([CHOSEN_BY[required]], people.schema)
        try:
            return method.partition(people, policy).tolist()
        except fk.NoSafeRelease:
            return [0] * len(table)

    for bag in ("aabc",) if required == "any_of" else ("aabb", "aabc"):
        result = releases(codes_of(bag), run)
        assert exchangeable(result)
        tells_frequencies(result, 2)


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
        counts = Counter()
        codes = np.array([ord(value) for value in table])[cells]
        for groups, weight in outcomes(lambda lots: transversals(cells, codes, 1, alike(lots, 4))):
            counts[release_of(groups.reshape(-1), table)] += weight
        return counts

    for _ in range(3):
        table = tuple(chance.sample(bag, 8))
        results = sorted(releases_of(table).items(), key=str)
        for release, weight in chance.sample(results, min(len(results), 8)):
            for bits in (1, 2, 3):
                other = list(table)
                for people, _values in release:
                    for cell in range(4):
                        other[people[cell]] = table[people[cell ^ bits]]
                assert releases_of(tuple(other))[release] == weight


def test_rda_is_never_stuck():
    """And its groups are all different."""
    for people in range(1, 19):
        for l in range(2, 7):  # noqa: E741
            for bag in bags_of_posteriors(people, l):
                plan = plan_rda(np.bincount(bag), l)
                members = [list(row) for row in plan.slots.tolist()]
                for colour, group in plan.late.tolist():
                    members[group].append(colour)
                assert all(len(set(m)) == len(m) >= l for m in members)
                assert Counter(c for m in members for c in m) == Counter(bag)
                assert len(plan.late) < l


def test_gsa_reveals_equal_pairs():
    result = releases((0, 0, 1, 1), gsa(2, range(4)))
    release = frozenset({((0, 2), (0, 1)), ((1, 3), (0, 1))})
    assert set(result[release]) == {(0, 0, 1, 1), (1, 1, 0, 0)}
    assert worst(result) == HALF
    assert not exchangeable(result)


# ---- GSA where it divides ------------------------------------------------------------------------

LINE_8, LINE_12 = [list(range(8))], [list(range(12))]
SQUARE_8 = [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1]]
UNEVEN_8 = [[5, 0, 3, 3, 1, 7, 2, 2], [0, 1, 0, 1, 1, 1, 0, 0]]
SQUARE_12 = [[0] * 6 + [1] * 6, [0, 0, 0, 1, 1, 1] * 2]


@pytest.mark.parametrize(
    ("bag", "l", "places", "failures"),
    [
        ("aaaabbbb", 2, LINE_8, 1),
        slow("aaabbbcc", 2, LINE_8, 1),
        ("aaabbbcc", 2, SQUARE_8, 1),
        ("aabbccdd", 2, UNEVEN_8, 1),
        slow("aaabbccc", 2, SQUARE_8, 2),
        slow("aabbccdd", 4, LINE_8, 2),
        ("aabbccde", 4, SQUARE_8, 2),
        slow("aaabbbcccddd", 3, LINE_12, 1),
        slow("aaabbbcccddd", 3, SQUARE_12, 1),
        slow("aaabbbcccdde", 3, LINE_12, 1),
    ],
)
def test_divided_people_have_frequencies(bag, l, places, failures, monkeypatch):  # noqa: E741
    """Of some releases, against all tables that agree with them."""
    lot, may = np.random.default_rng(sum(map(ord, bag)) + len(places)), {"failures": failures}
    attributes, codes = axes(*places), codes_of(bag)
    as_it_is, leaves = streamliner_gsa._group_block, []

    def run(table, grouped):
        leaves.clear()

        def watched(cells, *rest):
            leaves.append([tuple(cell) for cell in cells.tolist()])
            return grouped(cells, *rest)

        monkeypatch.setattr(streamliner_gsa, "_group_block", watched)
        values = np.array(table)
        sizes = np.bincount(values)
        return groups_of_gsa(values, sizes, attributes, l, lot, least_groups=1, **may)

    def blocks_of(table):
        run(table, lambda cells, *rest: np.zeros(cells.shape, dtype=np.int64))
        return list(leaves)

    seen = {}
    for _ in range(300):
        table = tuple(lot.permutation(codes).tolist())
        release = release_of(run(table, as_it_is), table)
        failed = max(len(cells) for cells in leaves).bit_length() - 1
        seen.setdefault((failed, len(leaves)), release)
    assert {failed for failed, _ in seen} == set(range(failures + 1))
    for release in seen.values() if len(codes) < 12 else [seen[max(seen)]]:
        weights = weights_of(sorted(release), len(codes), blocks_of)
        told = list(posteriors(sorted(release), weights))
        assert told
        assert all(posterior == share <= Fraction(1, l) for posterior, share in told)


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
    return [pair for item in merged.items() for pair in posteriors(*item)], merged


@pytest.mark.parametrize("place", [(0, 0, 1, 1), (0, 0, 0, 1), (0, 1, 1, 1)])
def test_gsa_boxes_keep_the_share(place):
    for bag in bags_of_posteriors(4, 2):
        told, _ = boxed(releases(bag, gsa(2, place)), place)
        assert all(posterior <= HALF for posterior, _ in told)


def test_frequencies_in_boxes_of_gsa():
    """They are not the posteriors: the counterexample in the docstring of `streamliner.gsa`."""
    place = [0, 0, 0, 0, 1, 1]
    seen = frozenset({((0, 2), (0, 1)), ((1, 3, 4, 5), (0, 1, 2, 3))})
    had, total = Fraction(0), Fraction(0)
    for table in tables_of(sorted(seen), 6):
        results = {r: Counter({table: w}) for r, w in released(table, gsa(2, place)).items()}
        chance = sum(boxed(results, place)[1].get(seen, Counter()).values())
        total += chance
        had += chance * (table[1] == 1)
    assert had / total == Fraction(2, 5)


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


def test_l_cover_is_not_enough():
    """Two partitions that are safe by themselves, of which the adversary sees the first."""
    seen, other = [{0, 1, 2, 3}, {4, 5}], [{2, 3}, {0, 1, 4, 5}]

    def bags_in(table, groups):
        return [Counter(table[p] for p in group) for group in groups]

    bags = bags_in("abacbc", seen)
    worlds = [table for table in tables("abacbc") if bags_in(table, seen) == bags]
    left = [w for w in worlds if all(max(b.values()) * 2 <= b.total() for b in bags_in(w, other))]
    assert Fraction(sum(world[1] == "a" for world in left), len(left)) == Fraction(3, 5)


def test_the_best_of_several_runs():
    result = releases(AABCD, plain.best_of(plain.rda(2), 2, plain.within_groups))
    assert worst(result) == Fraction(2, 3)
    assert result == plain.releases_of_best(AABCD, plain.rda(2), 2, plain.within_groups)
    # By the width of groups.
    for runs, posterior in ((1, "1/2"), (2, "1/2"), (3, "17/27"), (5, "137/171")):
        result = plain.releases_of_best(AABBC, plain.rda(2), runs, plain.widths)
        assert worst(result) == Fraction(posterior)


def by_seed(variant, seed=0):
    """A method whose lots everybody knows."""
    method = Streamliner(2, variant)
    return lambda table, _: method.partition(microdata(range(len(table)), table), seed=seed)


@pytest.mark.parametrize("variant", ["rda", "ria", "gsa"])
def test_a_seed_that_somebody_knows(variant):
    """They run the method on every table that agrees with the release, and may be certain."""
    assert any(worst(releases(AABC, by_seed(variant, seed))) == 1 for seed in range(20))


def test_gda_is_unsafe(caplog):
    with caplog.at_level(logging.WARNING, logger="foreknow"):
        result = releases(AABC, by_seed("gda"))
    release = frozenset({((0, 2), (0, 1)), ((1, 3), (0, 2))})
    assert set(result[release]) == {AABC}
    assert worst(result) == 1
    assert "GDA is unsafe" in caplog.text
    result = releases((0, 0, 1, 1), by_seed("gda"))
    assert not exchangeable(result)
    assert sum(len(weights) for weights in result.values()) == len(tables((0, 0, 1, 1)))
