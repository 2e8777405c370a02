"""The knowledge skyline against its definition, over enumerated worlds and over Facts."""

import random
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

import foreknow as fk
from foreknow.adversaries.facts import fronts
from foreknow.skylines import knowledge
from foreknow_judge.errors import DataError

ALL = pytest.mark.parametrize("semantics", ["single", "set", "multiset"])

# Over the worlds of small releases: people, groups and values at most.
SMALL = [(1, 1, 2), (2, 2, 2), (3, 2, 2), (4, 2, 2), (4, 1, 3)]
LARGER = [(5, 1, 3), (3, 3, 3), (4, 3, 2), (5, 2, 2), (6, 2, 2), (6, 1, 3)]


def brute_skyline(box, safe):
    """List the safe points that no other safe point exceeds, sorted.

    Parameters
    ----------
    box : (l, k, m)
        All points up to it are tried; no safe point may lie beyond. The first amount is capped
        (more values to rule out or to co-occur than there are add nothing), the others must
        leave the last layer unsafe, which is checked.
    safe : callable (l, k, m) -> bool

    >>> brute_skyline((1, 3, 3), lambda l, k, m: l + k + m < 2)
    [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    >>> brute_skyline((1, 3, 3), lambda l, k, m: False)
    []
    """
    inside = {point for point in product(*(range(top + 1) for top in box)) if safe(*point)}
    assert all(k < box[1] and m < box[2] for _, k, m in inside), (box, inside)
    return sorted(point for point in inside if not any(exceeds(other, point) for other in inside))


def exceeds(other, point):
    """Whether another point is at least as great in every amount, and greater in one."""
    return other != point and all(a >= b for a, b in zip(other, point, strict=True))


def box_of(groups, value):
    """Amounts beyond which nothing can be safe, or nothing changes.

    Who knows all others of a group that has the value, or is told that each of them brings it to
    the target, is certain; so is, all the more, who knows of as many as the smallest such group
    has people.
    """
    most = min(size for size, bag in groups if value in bag)
    return len({x for _, bag in groups for x in bag} - {value}), most, most


def check_release(groups, semantics):
    """Compare the skyline of each value at every threshold that matters; how many there were.

    Those are the probabilities that some amounts attain (where strictness shows), numbers just
    above them, and 1.
    """
    counts, truths = counts_of(groups, semantics), {}
    for value in counts.values:
        box = box_of(groups, value)
        truths[value] = box, worst_cases(groups, value, box, semantics)
    attained = {chance for _, truth in truths.values() for chance in truth.values()}
    thresholds = {1, *attained, *(chance + Fraction(1, 10**9) for chance in attained - {1})}
    for c in thresholds:
        expected = {
            value: brute_skyline(box, lambda l, k, m: truth[l, k, m] < c)  # noqa: B023, E741
            for value, (box, truth) in truths.items()
        }
        same(counts, expected, c)
    return len(thresholds) * len(truths)


def same(counts, expected, c):
    """The skylines are as expected, one by one and all at once: lists of tuples, sorted."""
    where = (counts.to_dict(), c)
    assert fk.knowledge_skylines(counts, confidence=c) == expected, where
    for value, points in expected.items():
        found = fk.knowledge_skyline(counts, value=value, confidence=c)
        assert found == points, (where, value)
        assert type(found) is list, (where, value)
        assert all(type(point) is tuple for point in found), (where, value)
        assert all(type(amount) is int for point in found for amount in point), (where, value)


@ALL
@pytest.mark.parametrize(
    "limits", [*SMALL, *(pytest.param(x, marks=pytest.mark.slow) for x in LARGER)], ids=str
)
def test_skylines_of_every_small_release_are_those_of_enumeration(limits, semantics):
    for groups in small_releases(*limits, 2, semantics):
        check_release(groups, semantics)


# ---- larger counts, judged by Facts ----------------------------------------------------------


@st.composite
def larger(draw, most_people, most_groups, most_values):
    """Draw counts in which the first value occurs in every group, and a threshold.

    The threshold is some fraction, or one that some amounts attain exactly.
    """
    semantics = draw(st.sampled_from(["single", "set", "multiset"]))
    letters = "abcdef"[: draw(st.integers(1, most_values))]
    fewest = draw(st.integers(1, most_people))
    groups = []
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
        c = fk.Facts(*point).disclosure(counts, value).exact
    else:
        c = draw(st.fractions(Fraction(1, 20), 1, max_denominator=60))
    return counts, value, box, c


@pytest.mark.parametrize(
    ("drawn", "many"),
    [(larger(10, 4, 4), 60), pytest.param(larger(25, 6, 6), 300, marks=pytest.mark.slow)],
)
def test_skylines_of_larger_counts_are_those_of_facts_at_every_point(drawn, many):
    @examples(many)
    @given(drawn)
    def check(drawn):
        counts, value, box, c = drawn
        expected = brute_skyline(
            box,
            lambda l, k, m: fk.Facts(l, k, m).disclosure(counts, value).below(c),  # noqa: E741
        )
        assert fk.knowledge_skyline(counts, value=value, confidence=c) == expected
        assert fk.knowledge_skylines(counts, confidence=c)[value] == expected

    check()


@ALL
def test_every_point_of_a_large_skyline_is_safe_and_every_next_one_is_not(semantics):
    """Too large a box to try, so only around the skyline; and between its points, no gap."""
    rng = np.random.default_rng(7)
    people = [
        [[x] for x in rng.choice(list("abcdef"), size, p=[0.1, 0.3, 0.2, 0.2, 0.1, 0.1]).tolist()]
        for size in rng.integers(20, 30, 15).tolist()
    ]
    counts = fk.GroupCounts.from_people(people, semantics=semantics)
    for c in ["1/2", 1]:
        found = fk.knowledge_skyline(counts, value="a", confidence=c)
        assert found == sorted(found)
        assert not any(exceeds(p, q) for p in found for q in found)
        assert found
        for l, k, m in found:  # noqa: E741
            assert fk.Facts(l, k, m).disclosure(counts, "a").below(c)
            more = [(l + 1, k, m)] if l < 5 else []
            for richer in [*more, (l, k + 1, m), (l, k, m + 1)]:
                assert not fk.Facts(*richer).disclosure(counts, "a").below(c)
        for l, k in {(l, k) for l in range(6) for k in range(1 + max(p[1] for p in found))}:  # noqa: E741
            edge = max((m for a, b, m in found if a >= l and b >= k), default=-1)
            if edge >= 0:
                assert fk.Facts(l, k, edge).disclosure(counts, "a").below(c)
            assert not fk.Facts(l, k, edge + 1).disclosure(counts, "a").below(c)


# ---- numbers known by hand, and the edges ----------------------------------------------------


def test_the_skyline_of_six_people_is_known_by_hand():
    counts = fk.GroupCounts.from_bags(["sxxyyz"])
    found = fk.knowledge_skyline(counts, value="s", confidence="3/4")
    assert found == [(0, 2, 2), (0, 3, 1), (0, 4, 0), (1, 0, 4), (1, 1, 3), (1, 2, 1), (2, 0, 3)]
    truth = worst_cases([(6, "sxxyyz")], "s", (3, 6, 6), "single")
    expected = brute_skyline((3, 6, 6), lambda l, k, m: truth[l, k, m] < Fraction(3, 4))  # noqa: E741
    assert found == expected


@ALL
@pytest.mark.parametrize(
    ("c", "most"),
    [(Fraction(1, 4), -1), (0.251, 0), ("1/3", 0), (0.334, 1), ("1/2", 1), (0.51, 2), (1, 2)],
)
def test_a_threshold_that_is_attained_is_not_met(c, most, semantics):
    """One of four has s: with k + m facts about others the posterior is 1 in 4 - k - m."""
    counts = fk.GroupCounts.from_people([[["s"], ["x"], ["y"], ["z"]]], semantics=semantics)
    found = fk.knowledge_skyline(counts, value="s", confidence=c)
    for k, m in product(range(4), repeat=2):
        beneath = any(k <= top_k and m <= top_m for _, top_k, top_m in found)
        assert beneath == (k + m <= most), (k, m)


@ALL
def test_nothing_is_on_the_skyline_when_no_knowledge_is_too_much(semantics):
    counts = fk.GroupCounts.from_people([[["a"], ["a"]], [["a"], ["b"]]], semantics=semantics)
    # Unless occurrences are labelled, everyone in the first group has it.
    for c in [fk.Facts().disclosure(counts, "a").exact, "1/100", 1][
        : 2 + (semantics != "multiset")
    ]:
        assert fk.knowledge_skyline(counts, value="a", confidence=c) == []
        assert fk.knowledge_skylines(counts, confidence=c)["a"] == []
    alone = fk.GroupCounts.from_people([[["a"]], [["a"], ["b"], ["c"]]], semantics=semantics)
    found = fk.knowledge_skylines(alone, confidence=1)
    assert found["a"] == []
    assert found["c"] == found["b"] != []


@ALL
def test_a_value_that_no_group_has_is_refused(semantics):
    counts = fk.GroupCounts.from_people([[["a"], ["b"]], [["c"], ["b"]]], semantics=semantics)
    with pytest.raises(DataError, match="no group contains the sensitive value 'z'"):
        fk.knowledge_skyline(counts, value="z", confidence="1/2")
    with pytest.raises(DataError, match="no group contains the sensitive value 'c'"):
        fk.knowledge_skyline(counts.take(np.array([0])), value="c", confidence="1/2")


@ALL
def test_values_that_occur_nowhere_do_not_raise_the_cap_on_the_first_amount(semantics):
    """Other values are those the release has, not those it might have had."""
    people = [[["a"], ["b"], ["b"], ["a"]], [["c"], ["d"]]]
    counts = fk.GroupCounts.from_people(people, semantics=semantics).take(np.array([0]))
    alone = fk.GroupCounts.from_people(people[:1], semantics=semantics)
    for value in "ab":
        found = fk.knowledge_skyline(counts, value=value, confidence=1)
        assert found == fk.knowledge_skyline(alone, value=value, confidence=1)
        assert max((l for l, _, _ in found), default=0) <= 1  # noqa: E741


@ALL
def test_without_other_values_the_first_amount_is_nought(semantics):
    people = [[["a"], ["a"], ["a"]]] if semantics == "single" else [[["a"], [], [], []]]
    counts = fk.GroupCounts.from_people(people, semantics=semantics)
    found = fk.knowledge_skyline(counts, value="a", confidence=1)
    assert found == ([] if semantics == "single" else [(0, 0, 2), (0, 1, 1), (0, 2, 0)])


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_people_without_values_have_no_skylines(semantics):
    nothing = fk.GroupCounts.from_people([[[], []], [[]]], semantics=semantics)
    assert fk.knowledge_skylines(nothing, confidence="1/2") == {}
    with pytest.raises(DataError):
        fk.knowledge_skyline(nothing, value="a", confidence="1/2")


# ---- many values -------------------------------------------------------------------------------


@ALL
def test_skylines_are_the_same_a_few_values_at_a_time(semantics, monkeypatch):
    rng = random.Random(11)

    def person():
        if semantics == "single":
            return [rng.choice("abcdef")]
        return rng.sample("abcdef", rng.randint(0, 3))

    whole = []
    for _ in range(12 if NIGHTLY else 6):
        groups = [[person() for _ in range(rng.randint(1, 9))] for _ in range(rng.randint(1, 8))]
        counts = fk.GroupCounts.from_people(groups, semantics=semantics)
        whole.append((groups, fk.knowledge_skylines(counts, "2/3")))
    small = {"_FEW": 0, "_BLOCK": 4}, {"_BLOCK": 4, "_REMEMBERED": 0}
    for module, limits in zip((knowledge, fronts), small, strict=True):
        for name, limit in limits.items():
            monkeypatch.setattr(module, name, limit)
    for groups, expected in whole:
        same(fk.GroupCounts.from_people(groups, semantics=semantics), expected, "2/3")


@pytest.mark.slow
def test_skylines_of_a_hundred_thousand_values_take_less_than_a_gigabyte():
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
