"""The knowledge skyline against its definition, over enumerated worlds and over Facts."""

import subprocess
import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.judging import counts_of, small_releases, worst_cases
from tests.examples import NIGHTLY, examples
from tests.skylines.drawing import drawn_counts

import foreknow as fk
from foreknow.adversaries.facts import fronts
from foreknow.skylines import knowledge_skyline as module
from foreknow_judge.errors import DataError

SEMANTICS = ["single", "set", "multiset"]
every = pytest.mark.parametrize("semantics", SEMANTICS)

# Over the worlds of small releases: people, groups and values at most.
SMALL = [(1, 1, 2), (3, 2, 2), (4, 2, 2), (4, 1, 3)]
LARGER = [(5, 1, 3), (3, 3, 3), (4, 3, 2), (5, 2, 2), (6, 2, 2), (6, 1, 3)]


def below(points, amounts):
    return any(all(a <= b for a, b in zip(amounts, point, strict=True)) for point in points)


def brute_skyline(box, safe):
    """List the safe points up to a box that no other safe point exceeds, sorted.

    No safe point may lie beyond. The first amount is capped (more values to rule out or to co-occur
    than there are add nothing), the others must leave the last layer unsafe, which is checked.
    """
    inside = {point for point in product(*(range(top + 1) for top in box)) if safe(*point)}
    assert all(k < box[1] and m < box[2] for _, k, m in inside), (box, inside)
    return sorted(point for point in inside if not below(inside - {point}, point))


def box_of(groups, value):
    """Amounts beyond which nothing can be safe, or nothing changes.

    Who knows all others of a group that has the value, or is told that each of them brings it to
    the target, is certain; so is, all the more, who knows of as many as the smallest such group
    has people.
    """
    most = min(size for size, bag in groups if value in bag)
    return len({x for _, bag in groups for x in bag} - {value}), most, most


def same(counts, expected, c):
    """The skylines are as expected, one by one and all at once: lists of tuples, sorted."""
    where = (counts.to_dict(), c)
    assert fk.knowledge_skylines(counts, confidence=c) == expected, where
    for value, points in expected.items():
        found = fk.knowledge_skyline(counts, value=value, confidence=c)
        assert found == points, (where, value)
        assert type(found) is list, (where, value)
        assert {type(point) for point in found} <= {tuple}, (where, value)
        assert {type(amount) for point in found for amount in point} <= {int}, (where, value)


@every
@pytest.mark.parametrize(
    "limits", [*SMALL, *(pytest.param(x, marks=pytest.mark.slow) for x in LARGER)], ids=str
)
def test_small_releases_against_enumeration(limits, semantics):
    """At every limit that matters: what some amounts attain, numbers just above that, and 1."""
    for groups in small_releases(*limits, 2, semantics):
        counts, truths = counts_of(groups, semantics), {}
        for value in counts.values:
            box = box_of(groups, value)
            truths[value] = box, worst_cases(groups, value, box, semantics)
        attained = {chance for _, truth in truths.values() for chance in truth.values()}
        for c in {1, *attained, *(chance + Fraction(1, 10**9) for chance in attained - {1})}:
            expected = {
                value: brute_skyline(box, lambda *at: truth[at] < c)  # noqa: B023
                for value, (box, truth) in truths.items()
            }
            same(counts, expected, c)


@st.composite
def drawn_cases(draw, most_people, most_groups, most_values):
    """Draw counts in which the first value occurs in every group, and a limit.

    The limit is some fraction, or one that some amounts attain exactly.
    """
    semantics = draw(st.sampled_from(SEMANTICS))
    letters = "abcdef"[: draw(st.integers(1, most_values))]
    fewest, groups = draw(st.integers(1, most_people)), []
    for _ in range(draw(st.integers(1, most_groups))):
        size = draw(st.integers(fewest, most_people))
        if semantics == "single":
            extra = st.lists(st.sampled_from(letters), min_size=size - 1, max_size=size - 1)
            bag = "a" + "".join(draw(extra))
        else:
            top = size if semantics == "set" else most_people
            often = [draw(st.integers(x == "a", min(top, 6))) for x in letters]
            bag = "".join(x * n for x, n in zip(letters, often, strict=True))
        groups.append((size, bag))
    counts = counts_of(groups, semantics)
    value = draw(st.sampled_from(sorted(counts.values)))
    box = box_of(groups, value)
    if draw(st.booleans()):
        point = [draw(st.integers(0, top)) for top in box]
        return counts, value, box, fk.Facts(*point).disclosure(counts, value).exact
    return counts, value, box, draw(st.fractions(Fraction(1, 20), 1, max_denominator=60))


@pytest.mark.parametrize(
    ("cases", "many"),
    [(drawn_cases(10, 4, 4), 60), pytest.param(drawn_cases(25, 6, 6), 300, marks=pytest.mark.slow)],
)
def test_larger_counts_against_facts(cases, many):
    @examples(many)
    @given(cases)
    def check(case):
        counts, value, box, c = case
        expected = brute_skyline(box, lambda *at: fk.Facts(*at).disclosure(counts, value).below(c))
        assert fk.knowledge_skyline(counts, value=value, confidence=c) == expected
        assert fk.knowledge_skylines(counts, confidence=c)[value] == expected

    check()


@every
def test_points_are_safe_next_unsafe(semantics):
    """Of a box too large to try, only around the skyline; and between its points, no gap."""
    rng = np.random.default_rng(7)
    people = [
        [[x] for x in rng.choice(list("abcdef"), size, p=[0.1, 0.3, 0.2, 0.2, 0.1, 0.1]).tolist()]
        for size in rng.integers(20, 30, 15).tolist()
    ]
    counts = fk.GroupCounts.from_people(people, semantics=semantics)

    def safe(*at):
        return fk.Facts(*at).disclosure(counts, "a").below(c)

    for c in ["1/2", 1]:
        found = fk.knowledge_skyline(counts, value="a", confidence=c)
        assert found == sorted(found) != []
        for l, k, m in found:  # noqa: E741
            assert not below(set(found) - {(l, k, m)}, (l, k, m))
            assert safe(l, k, m)
            more = [(l + 1, k, m)] if l < 5 else []
            assert not any(safe(*richer) for richer in [*more, (l, k + 1, m), (l, k, m + 1)])
        for l, k in product(range(6), range(1 + max(p[1] for p in found))):  # noqa: E741
            edge = max((m for a, b, m in found if a >= l and b >= k), default=-1)
            assert edge < 0 or safe(l, k, edge)
            assert not safe(l, k, edge + 1)


# ---- numbers known by hand, and the edges ----------------------------------------------------


def test_six_people_known_by_hand():
    counts = fk.GroupCounts.from_bags(["sxxyyz"])
    found = fk.knowledge_skyline(counts, value="s", confidence="3/4")
    assert found == [(0, 2, 2), (0, 3, 1), (0, 4, 0), (1, 0, 4), (1, 1, 3), (1, 2, 1), (2, 0, 3)]
    truth = worst_cases([(6, "sxxyyz")], "s", (3, 6, 6), "single")
    assert found == brute_skyline((3, 6, 6), lambda *at: truth[at] < Fraction(3, 4))


@every
@pytest.mark.parametrize(
    ("c", "most"),
    [(Fraction(1, 4), -1), (0.251, 0), ("1/3", 0), (0.334, 1), ("1/2", 1), (0.51, 2), (1, 2)],
)
def test_limit_attained_is_not_met(c, most, semantics):
    """One of four has s: with k + m facts about others the posterior is 1 in 4 - k - m."""
    counts = fk.GroupCounts.from_people([[["s"], ["x"], ["y"], ["z"]]], semantics=semantics)
    found = fk.knowledge_skyline(counts, value="s", confidence=c)
    for k, m in product(range(4), repeat=2):
        assert any(k <= p and m <= q for _, p, q in found) == (k + m <= most), (k, m)


@every
def test_edges_of_skylines(semantics):
    def of(people, c, value="a"):
        counts = fk.GroupCounts.from_people(people, semantics=semantics)
        found = fk.knowledge_skyline(counts, value=value, confidence=c)
        assert fk.knowledge_skylines(counts, confidence=c)[value] == found
        return found

    # No knowledge is too much; unless occurrences are labelled, all of the first group have a.
    people = [[["a"], ["a"]], [["a"], ["b"]]]
    reached = fk.Facts().disclosure(fk.GroupCounts.from_people(people, semantics=semantics), "a")
    for c in [reached.exact, "1/100", *([1] if semantics != "multiset" else [])]:
        assert of(people, c) == []
    alone = [[["a"]], [["a"], ["b"], ["c"]]]
    assert of(alone, 1) == []
    assert of(alone, 1, "b") == of(alone, 1, "c") != []
    # Without other values the first amount is nought.
    whole = [[["a"]] * 3] if semantics == "single" else [[["a"], [], [], []]]
    assert of(whole, 1) == ([] if semantics == "single" else [(0, 0, 2), (0, 1, 1), (0, 2, 0)])
    # Other values are those the release has, not those it might have had.
    people = [[["a"], ["b"], ["b"], ["a"]], [["c"], ["d"]]]
    some = fk.GroupCounts.from_people(people, semantics=semantics).take(np.array([0]))
    for value in "ab":
        found = fk.knowledge_skyline(some, value=value, confidence=1)
        assert found == of(people[:1], 1, value)
        assert max((p[0] for p in found), default=0) <= 1
    with pytest.raises(DataError, match="no group contains the sensitive value 'c'"):
        fk.knowledge_skyline(some, value="c", confidence="1/2")
    if semantics != "single":
        nothing = fk.GroupCounts.from_people([[[], []], [[]]], semantics=semantics)
        assert fk.knowledge_skylines(nothing, confidence="1/2") == {}
        with pytest.raises(DataError):
            fk.knowledge_skyline(nothing, value="a", confidence="1/2")


# ---- very many values: by class, and all together ----------------------------------------------

LIMITS = ["1/4", "1/3", "1/2", "2/3", "9/10", "1"]
SETTINGS = {
    "as it is": [],
    "one by one": [(module, "_FEW", 1), (fronts, "BLOCK", 8)],
    "small blocks": [
        *((module, "_FEW", 0), (module, "_BLOCK", 4)),
        *((fronts, "BLOCK", 4), (fronts, "_REMEMBERED", 0)),
    ],
    "one round": [(module, "_ROUNDS", 1)],
    "no table": [(module, "_MOST_SPARE", 0)],
}


def of_all_by_points(each):
    """The largest points that lie below the skyline of every value, by trying all."""
    tops = [[0, *(point[axis] for own in each for point in own)] for axis in range(3)]
    box = product(*(range(max(top) + 1) for top in tops))
    inside = [point for point in box if all(below(own, point) for own in each)]
    return sorted(p for p in inside if not below(set(inside) - {p}, p))


@pytest.mark.thinned(2)
@every
@pytest.mark.parametrize("setting", SETTINGS)
def test_classes_and_all_together(semantics, setting, monkeypatch):
    """Against the skyline of each value alone."""
    rng = np.random.default_rng([SEMANTICS.index(semantics), len(setting)])
    shared = 0
    for _ in range(1_600 if NIGHTLY else 20):
        sizes = rng.integers(1, 9, rng.integers(1, 7))
        counts = drawn_counts(rng, semantics, sizes, "abcdefgh"[: rng.integers(2, 9)])
        limit = LIMITS[rng.integers(len(LIMITS))]
        where = counts.to_dict(), limit
        has = [value for value in counts.values if counts.totals[counts.values.codes[value]]]
        alone = {value: fk.knowledge_skyline(counts, value, limit) for value in has}
        with monkeypatch.context() as patch:
            for place, name, small in SETTINGS[setting]:
                patch.setattr(place, name, small)
            found = fk.knowledge_skylines(counts, limit)
            assert dict(found) == alone, where
        assert found.of_all == of_all_by_points(list(alone.values())), where
        by_class = list(found.members())
        assert sorted(value for _, members in by_class for value in members) == sorted(found)
        assert [each for each, _ in by_class] == list(found.classes)
        for each, members in by_class:
            assert (members[0], len(members)) == (each.example, each.n_values)
            for value in members:
                most = tuple(map(max, zip(*alone[value], strict=True)))
                assert (found[value], found.class_of(value)) == (alone[each.example], each)
                assert each.most == most, (where, value)
        shared += len(found) - len(found.classes)
    assert shared > 3


def test_groups_are_left_out_whole():
    """A group counts beside its value's others though another value has a worse one.

    b's group of 6 is no worse than a's; as that of the target, it is, beside a family in the group
    of 16. So values are left out whole, never one group of them.
    """
    bags = [["a", "a", *"0123"], ["b", "b", *"0123"], [*"b" * 8, *"01234567"]]
    found = fk.knowledge_skylines(fk.GroupCounts.from_bags(bags), "4/5")
    assert found.of_all == of_all_by_points(list(found.values()))
    assert not below(found.of_all, (3, 0, 1))
    assert all(below(found[value], (3, 0, 1)) for value in "a0")


def test_many_values_make_few_classes():
    rng = np.random.default_rng(1)
    groups = [rng.choice(2_000, n, replace=False).tolist() for n in rng.integers(10, 30, 900)]
    found = fk.knowledge_skylines(fk.GroupCounts.from_bags(groups), "1/2")
    assert len(found) > 1_900
    assert len(found.classes) < 25
    # Nothing is withstood of all values that is not of the class that withstands least.
    assert found.of_all == found[found.classes[0].example]
    with pytest.raises(KeyError):
        found["nobody's"]
    assert repr(found) == f"Skylines({len(found)} values, {len(found.classes)} classes)"
    assert fk.knowledge_skylines(fk.GroupCounts.from_bags([]), "1/2").of_all == []
    unsafe = fk.knowledge_skylines(fk.GroupCounts.from_bags([["a"], ["b", "c", "d"]]), "1/2")
    assert (unsafe.of_all, unsafe["a"], unsafe.classes[0].most) == ([], [], ())
    assert unsafe["c"] == unsafe["d"] != []
    assert [(each.example, each.n_values) for each in unsafe.classes] == [("a", 1), ("b", 3)]


@pytest.mark.slow
def test_a_hundred_thousand_values_fit():
    program = """
import numpy as np, foreknow as fk
rng, n = np.random.default_rng(0), 1_000_000
values = np.concatenate((np.arange(100_000), rng.integers(0, 100_000, n - 100_000)))
counts = fk.GroupCounts.from_pairs(
    np.arange(n) // 20, rng.permutation(values), values=range(100_000), n_groups=n // 20
)
found = fk.knowledge_skylines(counts, confidence="1/2")
assert len(found) == 100_000 and all(found.values())
(peak,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak) / 2**20)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1
