"""The ledger of Facts along top-down splits, against judging the resulting release afresh."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries import formulas
from tests.adversaries.splitting import (
    POINTS,
    ROOTS,
    counted,
    histories,
    letters,
    split,
    stages,
    worst,
)
from tests.examples import examples

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts
from foreknow.errors import InputError, InternalError


@st.composite
def thresholds(draw, root, cuts, point, wanted=None):
    """Probabilities that the history attains, just above them, and plain ones."""
    values = letters(root)
    attained = {worst(bags, values, point, wanted) for bags in stages(root, cuts)} - {0}
    near = sorted({min(p + Fraction(1, 10**14), Fraction(1)) for p in attained})
    return draw(st.sampled_from([*sorted(attained), *near, Fraction(1, 2), Fraction(1)]))


@examples(500, deadline=None)
@given(st.data(), histories(), POINTS)
def test_admits_is_the_verdict_on_the_resulting_release(data, history, point):
    root, cuts = history
    values = letters(root)
    wanted = np.array(data.draw(st.lists(st.booleans(), min_size=4, max_size=4)))[: len(values)]
    if data.draw(st.booleans()):
        wanted = None
    threshold = data.draw(thresholds(root, cuts, point, wanted))
    ledger = Facts(*point).ledger(threshold, values=wanted)

    bags = [root]
    safe = worst(bags, values, point, wanted) < threshold
    assert ledger.admits(None, counted(bags, values)) is safe
    ledger.commit(None, counted(bags, values))
    for step in range(5):
        at = data.draw(st.integers(0, len(bags) - 1), label=f"group to cut in step {step}")
        parts = data.draw(split(bags[at]))
        after = [*bags[:at], *bags[at + 1 :], *parts]
        safe = worst(after, values, point, wanted) < threshold
        removed, added = counted([bags[at]], values), counted(parts, values)
        assert ledger.admits(removed, added) is safe, (bags, parts, threshold)
        if safe:
            ledger.commit(removed, added)
            bags = after


@examples(300, deadline=None)
@given(st.data(), histories(), POINTS)
def test_the_ledger_stays_right_when_cuts_are_made_without_asking(data, history, point):
    root, cuts = history
    values = letters(root)
    threshold = data.draw(thresholds(root, cuts, point))
    ledger = Facts(*point).ledger(threshold)
    ledger.commit(None, counted([root], values))
    bags = [root]
    for (at, parts), after in zip(cuts, stages(root, cuts)[1:], strict=True):
        removed, added = counted([bags[at]], values), counted(parts, values)
        assert ledger.admits(removed, added) is (worst(after, values, point) < threshold)
        ledger.commit(removed, added)
        bags = after


@examples(300, deadline=None)
@given(histories(), POINTS)
def test_the_five_numbers_are_the_minima_over_the_present_groups(history, point):
    root, cuts = history
    values = letters(root)
    ledger = Facts(*point).ledger(1)
    before = None
    for bags in stages(root, cuts):
        tallies = [{x: bag.count(x) for x in bag} for bag in bags]
        # Without what is removed: noting all groups again is the same by Theorem 4.
        ledger.commit(before, counted(bags, values))
        before = counted(bags, values)
        for value in values:
            expected = [float(x) for x in formulas.five(tallies, value, point)]
            assert ledger.minima(value) == pytest.approx(expected, rel=1e-12, abs=0)
            found = Facts(*point).disclosure(before, value).exact
            assert found == formulas.breach(formulas.five(tallies, value, point))


def test_an_empty_ledger_has_seen_nothing():
    assert Facts(1, 1, 1).ledger("1/2").minima("a") == (math.inf, math.inf, math.inf, 1.0, 1.0)


@given(ROOTS, POINTS)
def test_a_threshold_that_the_root_attains_admits_neither_the_root_nor_any_cut(root, point):
    values = letters(root)
    ledger = Facts(*point).ledger(worst([root], values, point))
    whole = counted([root], values)
    assert ledger.admits(None, whole) is False
    ledger.commit(None, whole)
    assert ledger.admits(whole, counted([root[:1], root[1:]], values)) is False
    assert ledger.admits(whole, whole) is False


def test_admitting_changes_nothing():
    ledger = Facts(1, 1, 1).ledger("9/10")
    root = counted(["aabbccdd" * 4], "abcd")
    ledger.commit(None, root)
    before = [ledger.minima(x) for x in "abcd"]
    assert ledger.admits(root, counted(["aabbccdd", "aabbccdd" * 3], "abcd"))
    assert not ledger.admits(root, counted(["aa", "bbccdd" + "aabbccdd" * 3], "abcd"))
    assert [ledger.minima(x) for x in "abcd"] == before
    assert ledger.admits(root, counted(["aabbccdd", "aabbccdd" * 3], "abcd"))


def test_values_that_do_not_count_may_be_certain():
    # Everybody in the first part has b; only a counts.
    root, parts = counted(["aaabbbbb"], "ab"), counted(["bbbb", "aaab"], "ab")
    only_a = Facts().ledger("4/5", values=np.array([True, False]))
    only_a.commit(None, root)
    assert only_a.admits(root, parts)
    everything = Facts().ledger("4/5")
    everything.commit(None, root)
    assert not everything.admits(root, parts)


def test_at_threshold_one_only_certainty_is_refused():
    root = counted(["aabb"], "ab")
    ledger = Facts().ledger(1)
    assert ledger.admits(None, root)
    ledger.commit(None, root)
    assert ledger.admits(root, counted(["ab", "ab"], "ab"))
    assert not ledger.admits(root, counted(["aa", "bb"], "ab"))


def test_a_target_known_people_and_relatives_elsewhere_are_weighed_exactly():
    # 5/9, by the third term of Theorem 2 alone.
    parts = counted(["abbbbbcc", "abcde"], "abcde")
    root = parts.merge([0, 0])
    only_a = np.array([value == "a" for value in "abcde"])
    for threshold, safe in [("5/9", False), (Fraction(5, 9) + Fraction(1, 10**12), True)]:
        ledger = Facts(1, 1, 1).ledger(threshold, values=only_a)
        ledger.commit(None, root)
        assert ledger.admits(root, parts) is safe


@pytest.mark.parametrize("threshold", [0, -1, "3/2", "half", None])
def test_thresholds_outside_0_to_1_are_refused(threshold):
    with pytest.raises(InputError):
        Facts().ledger(threshold)


def test_counts_over_other_values_are_a_bug_of_the_search():
    ledger = Facts().ledger("1/2")
    ledger.commit(None, counted(["ab"], "ab"))
    with pytest.raises(InternalError, match="other value labels"):
        ledger.admits(None, counted(["abc"], "abc"))


# ---- figure 6 of the paper, whose fifth number is misprinted ---------------------------------

SMALL = {"AIDS": 2, "Flu": 2} | {f"rare {i}": 2 for i in range(8)}
LARGE = {"AIDS": 98, "Flu": 851, "rare 0": 16} | {f"rare {i}": 5 for i in range(1, 8)}
WHOLE = {value: SMALL[value] + LARGE[value] for value in SMALL}
POINT = (1, 12, 4)


def as_printed():
    """A1 to A5 of figure 6 after the cut, with its A5 = min(A4, V(g, m, k))."""
    numbers = formulas.five([WHOLE], "AIDS", POINT)
    for part in (SMALL, LARGE):
        own = formulas.five([part], "AIDS", POINT)
        numbers[:4] = [min(pair) for pair in zip(numbers[:4], own[:4], strict=True)]
        numbers[4] = min(numbers[3], own[4])
    return numbers


def test_a_cut_that_figure_6_as_printed_accepts_is_refused():
    assert [sum(part.values()) for part in (SMALL, LARGE, WHOLE)] == [20, 1000, 1020]
    limit = Fraction(4, 5)
    truth = formulas.breach(formulas.five([SMALL, LARGE], "AIDS", POINT))
    assert formulas.breach(as_printed()) < limit < truth

    both = GroupCounts.from_bags([SMALL, LARGE])
    whole = both.merge([0, 0])
    assert Facts(*POINT).disclosure(both, "AIDS").exact == truth
    only_aids = np.array([value == "AIDS" for value in both.values])
    ledger = Facts(*POINT).ledger(limit, values=only_aids)
    assert ledger.admits(None, whole)
    ledger.commit(None, whole)
    assert not ledger.admits(whole, both)
    assert not ledger.admits(whole, both.take([1, 0]))
    weighed = ledger.evaluate(whole, both, np.array([0, 0]))
    assert weighed.safe_each().tolist() == [False]
    assert weighed.safe_jointly(np.array([True])) is False


def test_an_unsafe_root_is_refused_though_figure_6_never_looks():
    ledger = Facts().ledger("1/2")
    assert not ledger.admits(None, counted(["aab"], "ab"))
