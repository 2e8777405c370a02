"""Figures: the sizes of groups, and where things are drawn."""

import pytest
from tests.report.results import small

from foreknow.report.chart import Axis, Chart, Series, amounts, round_numbers, shares
from foreknow.report.figures import size_bins, sizes_figure


def test_the_histogram_counts_every_group():
    found = small()
    figure = sizes_figure(found.counts)
    assert sum(bar.height for bar in figure.bars) == found.counts.n_groups
    (bar,) = [bar for bar in figure.bars if bar.start < 20 < bar.end]
    assert (bar.height, bar.text) == (1, "one group of 20")
    assert ("20", "1") in figure.table.rows


def test_size_bins_hold_every_group():
    assert size_bins([3, 3, 5]) == ([3, 4, 5], [2, 0, 1], 1)
    starts, groups, width = size_bins([1, 1000, 1001])
    assert width == 50
    assert sum(groups) == 3
    assert all(start % width == 0 for start in starts)
    assert size_bins([7]) == ([7], [1], 1)


# ---- charts -----------------------------------------------------------------------------------


def test_places_are_percents_of_the_plot_from_the_top_left():
    chart = Chart(Axis("", 10, 20), Axis("", 0, 4), [Series((10, None, 20), (0, 1, 3), dash="")])
    assert (chart.left(12.5), chart.top(1)) == ("25", "75")
    assert chart.path(chart.series[0]) == "M0 100M100 25"
    assert list(chart.marks(chart.series[0])) == [("0", "100", ""), ("100", "25", "")]


@pytest.mark.parametrize("most", [0, 1, 4, 7, 23, 999, 1_000_001, 10**12])
def test_an_axis_has_few_round_numbers_up_to_the_most(most):
    axis = amounts("people", most)
    ticks = [at for at, _ in axis.ticks]
    assert 2 <= len(ticks) <= 6
    assert ticks[0] == axis.low == 0
    assert all(at == int(at) and at <= axis.high for at in ticks)
    assert axis.high - ticks[-1] < ticks[1]
    assert len({text for _, text in axis.ticks}) == len(ticks)


@pytest.mark.parametrize("most", [0.001, 0.03, 0.2, 0.5, 1])
def test_shares_are_labelled_apart(most):
    texts = [text for _, text in shares("how sure", most).ticks]
    assert len(set(texts)) == len(texts) >= 2, texts
    assert list(round_numbers(0.83, 2.31)) == [1.0, 1.5, 2.0]
