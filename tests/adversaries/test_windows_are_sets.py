"""A window of numbers is a set of values: the worst of the largest windows is the worst of all."""

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.examples import NIGHTLY
from tests.oracle.merged_windows import maximal, worst_of_maximal, worst_of_two
from tests.oracle.windows import windows_of, worst_of_windows

import foreknow as fk
from foreknow.data.labels import Labels
from foreknow.data.windows import Line, Width, Windows
from foreknow_judge import windows as judged
from foreknow_judge.counting import Column, GroupBags
from foreknow_judge.facts import worst_facts

AMOUNTS = list(product(range(3), repeat=3))
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


def uneven(seed, many):
    """Releases of small and large groups, with values that many have, and widths."""
    r = random.Random(seed)
    for _ in range(many):
        often = r.sample(range(12), 2)
        sizes = r.choices([1, 2, 3, 5, 20], k=r.randint(1, 6))
        bags = [[r.choice([*often, r.randrange(12)]) for _ in range(size)] for size in sizes]
        yield bags, *r.choice(WIDTHS)


def held_of(bags):
    """The counts of groups as the judge has them."""
    groups = np.repeat(np.arange(len(bags)), list(map(len, bags)))
    values = Column.of([str(value) for bag in bags for value in bag], np.arange(len(groups)))
    labels = Column.of([f"{at:03}" for at in range(len(bags))], np.arange(len(bags)))
    ones = np.ones(len(groups), np.int64)
    return GroupBags([labels], values.texts, groups, values.codes, ones)


def worst_of_each(held, windows, amounts):
    """The worst of windows that are counted one by one, each merged into one value."""
    for window in windows:
        one = held.merged({str(value): "inside" for value in window})
        yield worst_facts(one, {"inside"}, "single", *amounts)[2]


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
        if width.measure == "share":
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


def test_groups_are_left_out_soundly():
    for at, (bags, wide, share) in enumerate(uneven(1, 5000 if NIGHTLY else 250)):
        held, amounts = held_of(bags), AMOUNTS[at % len(AMOUNTS)]
        windows = windows_of([value for bag in bags for value in bag], wide, share)
        _, _, chance = judged.worst_near(held, f"{100 * wide}%" if share else str(wide), *amounts)
        assert chance == max(worst_of_each(held, windows, amounts))


@pytest.mark.parametrize("most", range(4))
def test_no_window_passes_its_bounds(most):
    for bags, wide, _ in uneven(2, 3000 if NIGHTLY else 250):
        numbers = sorted({value for bag in bags for value in bag})
        reach = np.array([max(i for i, n in enumerate(numbers) if n <= v + wide) for v in numbers])
        placed = held_of([[f"{numbers.index(value):02}" for value in bag] for bag in bags])
        for bag, (people, holders, others) in zip(
            bags, judged._bounds(placed, reach, most).rows.tolist(), strict=True
        ):
            assert people == len(bag)
            for window in windows_of(numbers, wide):
                outside = [bag.count(value) for value in {*bag} - window]
                inside = len(bag) - sum(outside)
                assert inside <= holders
                assert inside + sum(sorted(outside)[::-1][:most]) <= holders + others
