"""A window of numbers is a set of values: the worst of the largest windows is the worst of all."""

import random
from fractions import Fraction

import pytest
from tests.examples import NIGHTLY
from tests.oracle.merged_windows import maximal, worst_of_maximal, worst_of_two
from tests.oracle.windows import worst_of_windows

import foreknow as fk
from foreknow.data.labels import Labels
from foreknow.data.windows import Line, Width, Windows

NUMBERS, MOST = [-12, -10, 0, 3, 4, 5, 9], (2, 2, 2)
WIDTHS = [(1, False), (2, False), (4, False), (Fraction(1, 2), False), (Fraction(4, 5), True)]
PARTS = 30 if NIGHTLY else 2


def cases(seed, many):
    """Small releases and widths, of which none holds every number."""
    r = random.Random(seed)
    while many:
        bags = [r.choices(NUMBERS, k=r.randint(1, 3)) for _ in range(r.randint(1, 3))]
        wide, share = r.choice(WIDTHS)
        values = {value for bag in bags for value in bag}
        if sum(map(len, bags)) <= 5 and len(maximal(values, wide, share)) > 1:
            many -= 1
            yield bags, wide, share


def asked(bags, wide, share):
    return Windows.of(
        fk.GroupCounts.from_bags(bags), Width(f"{100 * wide}%" if share else str(wide))
    )


@pytest.mark.parametrize("seed", range(PARTS))
def test_the_worst_window_is_that_of_the_largest_ones_each_counted_as_one_value(seed):
    for bags, wide, share in cases(seed, 100 if NIGHTLY else 15):
        truth, windows = worst_of_maximal(bags, wide, MOST, share), asked(bags, wide, share)
        assert {at: fk.Facts(*at).disclosure(windows).exact for at in truth} == truth
        for k in range(3):
            assert fk.Negations(k).disclosure(windows).exact == truth[k, 0, 0]


@pytest.mark.parametrize("wide", [1, "0.5", 10, "10%", "100%"])
def test_a_window_reaches_as_far_as_it_is_wide_also_below_0(wide):
    """A share is of the end that is nearer to 0."""
    values = [-110, -100, "-99.5", -20, -10, -5, 0, "0.5", 1, 9, 10, "10.5", 11, 100, 110]
    values = [Fraction(value) for value in values]
    width = Width(wide)
    reached = Line.of(Labels(float(value) for value in values)).reach(width).tolist()
    for low, last in zip(values, reached, strict=True):
        end = low + width.amount
        if width.unit == "share":
            end = low * (1 + width.amount) if low >= 0 else low / (1 + width.amount)
        assert last == max(at for at, value in enumerate(values) if value <= end)


def test_windows_that_begin_anywhere_and_whose_values_stay_apart_are_no_worse():
    for bags, wide, share in cases(100, 300 if NIGHTLY else 6):
        assert worst_of_maximal(bags, wide, MOST, share) == worst_of_windows(
            bags, wide, MOST, share
        )


def test_a_link_is_about_the_one_window_and_others_can_tell_more():
    """What the requirement does not keep: links from another window, and who is near whom."""
    groups = [[9, 0, 30], [4, 9, 6, 9, 9, 2]]
    windows = asked(groups, 2, share=False)
    assert fk.Facts(1, 0, 1).disclosure(windows).exact == Fraction(15, 19)
    found = [worst_of_two(groups, 2, 1, link) for link in ("same", "any")]
    assert found == [Fraction(15, 19), Fraction(5, 6)]
    alone = [[0, 0, 6, 2]]
    assert fk.Facts(0, 0, 1).disclosure(asked(alone, 1, share=False)).exact == Fraction(3, 4)
    assert worst_of_two(alone, 1, 0, "near") == 1
