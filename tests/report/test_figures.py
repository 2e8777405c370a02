"""Figures show what adversaries attain, in words: curves, ranks, sizes, and the policy's point."""

import re
import time
from dataclasses import replace

import numpy as np
import pytest
from tests.report.results import BAGS, small

import foreknow as fk
from foreknow import Disclosure, Facts, GroupCounts
from foreknow.report import render
from foreknow.report.chart import Axis, Chart, Series, amounts, round_numbers, shares
from foreknow.report.figures import (
    curves_around,
    knowledge_figure,
    size_bins,
    sizes_figure,
    steps,
    withstands,
    worst_groups,
)
from foreknow.report.pages.curves import curves_section


def test_each_line_is_the_disclosure_at_each_k():
    found = small(safe=False)
    figure = knowledge_figure(found.counts, found.verdicts[0], "diagnosis")
    *lines, point = figure.series
    points = {"one value ruled out, one link (this requirement)": (1, 1)}
    points |= {"nothing else known": (0, 0)}
    points |= {"2 values ruled out, one link": (2, 1)}
    points |= {"one value ruled out, 2 links": (1, 2)}
    assert {line.name for line in lines} == set(points)
    for line in lines:
        l, m = points[line.name]  # noqa: E741
        assert list(line.x) == list(range(21))
        assert line.y == pytest.approx(
            [Facts(l, k, m).disclosure(found.counts, "AIDS").probability for k in range(21)]
        )
    assert (point.x[0], point.y[0]) == (3, found.verdicts[0].disclosure.probability)


def test_the_limit_is_a_dashed_line_and_the_axes_are_in_words():
    found = small(safe=False)
    figure = knowledge_figure(found.counts, found.verdicts[0], "diagnosis")
    assert (figure.rule.at, figure.rule.text, figure.rule.across) == (0.3, "limit 30%", True)
    assert figure.x.title == "people known (k)"
    assert figure.y.title == "how sure of AIDS"
    page = render(found).html()
    assert re.search(r'<line class="rule" x2="100%" y1="71.15%" y2="71.15%"/>', page)


def test_the_figure_is_a_table_too():
    found = small(safe=False)
    figure = knowledge_figure(found.counts, found.verdicts[0], "diagnosis")
    assert figure.table.head[0] == "people known (k)"
    own = figure.table.head.index("one value ruled out, one link (this requirement)")
    assert figure.table.rows[3][own] == "38.0%" == figure.note[2]  # at most, so up
    assert len(figure.table.rows) == 21


def test_the_histogram_counts_every_group():
    found = small()
    figure = sizes_figure(found.counts)
    assert sum(bar.height for bar in figure.bars) == found.counts.n_groups
    (bar,) = [bar for bar in figure.bars if bar.start < 20 < bar.end]
    assert (bar.height, bar.text) == (1, "one group of 20")
    assert ("20", "1") in figure.table.rows


def random_counts(seed, groups=40, values=6, people=500):
    rng = np.random.default_rng(seed)
    of = np.concatenate((np.arange(groups), rng.integers(0, groups, people)))
    return GroupCounts.from_pairs(
        of,
        rng.integers(0, values, len(of)),
        values=[f"v{i}" for i in range(values)],
        n_groups=groups,
    )


@pytest.mark.parametrize("seed", range(5))
def test_curves_from_few_groups_equal_those_from_all(seed):
    counts = random_counts(seed)
    for (l, m), curve in curves_around(counts, Facts(1, 4, 2), "v3").items():  # noqa: E741
        for k, found in zip(range(21), curve, strict=True):
            assert found.exact == Facts(l, k, m).disclosure(counts, "v3").exact
    assert list(curves_around(counts, Facts(0, 2, 0), "v1")) == [(0, 0), (1, 0), (0, 1)]


@pytest.mark.parametrize("k", [0, 10, 20, 21, 1000, 10**12])
def test_steps_begin_at_0_and_hold_the_policy_s_point(k):
    ks = steps(k)
    assert ks[0] == 0
    assert ks[-1] == max(2 * k, 20)
    assert k in ks
    assert len(ks) <= 42
    assert list(ks) == sorted(set(ks))


@pytest.mark.parametrize("limit", ["0.3", "0.6", "0.99", "1"])
def test_how_many_known_people_the_limit_withstands(limit):
    counts = random_counts(1, groups=5, people=300)
    holds = [Facts(1, k, 1).disclosure(counts, "v2").below(limit) for k in range(21)]
    assert withstands(counts, Facts(1, 3, 1), "v2", limit) == sum(holds) - 1


@pytest.mark.parametrize("point", [(0, 0, 0), (1, 3, 2), (2, 0, 1), (0, 4, 0)])
def test_worst_groups_are_judged_as_if_each_were_alone(point):
    counts = random_counts(2, groups=12, people=150)
    facts = Facts(*point)
    alone = {
        g: facts.disclosure(counts.take(np.array([g])), "v2").exact
        for g in range(12)
        if "v2" in counts.bag(g)
    }
    found = {group: d.exact for group, d in worst_groups(counts, facts, "v2", most=100)}
    assert found == alone
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert len(worst_groups(counts, facts, "v2")) == 5
    equal = GroupCounts.from_bags([["Flu", "AIDS"]] * 4)
    assert [g for g, _ in worst_groups(equal, Facts(), "AIDS", named=2)] == [2, 0, 1, 3]


def test_size_bins_hold_every_group():
    assert size_bins([3, 3, 5]) == ([3, 4, 5], [2, 0, 1], 1)
    starts, groups, width = size_bins([1, 1000, 1001])
    assert width == 50
    assert sum(groups) == 3
    assert all(start % width == 0 for start in starts)
    assert size_bins([7]) == ([7], [1], 1)


def test_curves_of_a_large_release_are_quick():
    rng = np.random.default_rng(3)
    cells = 50_000 * 20
    counts = GroupCounts.from_pairs(
        np.repeat(np.arange(50_000), 20),
        np.tile(np.arange(20), 50_000),
        values=list(range(20)),
        n_groups=50_000,
        weights=rng.integers(1, 12, cells),
        sizes=None,
    )
    start = time.process_time()
    curves_around(counts, Facts(2, 5, 2), 3)
    assert time.process_time() - start < 2  # about 0.15 s; generous for slow machines


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


# ---- curves around a requirement ---------------------------------------------------------------


def section(adversary, below, values=None, bags=BAGS):
    counts = fk.GroupCounts.from_bags(bags)
    (verdict,) = fk.audit(counts, fk.Policy([fk.Requirement(adversary, below, values)])).verdicts
    figure, caption = curves_section(counts, verdict, "diagnosis")
    return verdict, figure, caption


@pytest.mark.parametrize("kind", [fk.Implications, fk.Negations])
def test_the_requirement_s_point_lies_on_its_curve(kind):
    verdict, figure, _ = section(kind(2), "0.8")
    worst, mild, point = figure.series
    own = worst if kind is fk.Implications else mild
    assert point.x == [2]
    assert point.y == [verdict.disclosure.probability]
    assert own.y[2] == pytest.approx(point.y[0], abs=1e-12)
    assert len(worst.x) == 13
    assert (figure.rule.at, figure.rule.text) == (0.8, "limit 80%")


@pytest.mark.parametrize(
    ("adversary", "below", "said"),
    [
        (
            fk.Implications(1),
            "0.5",
            "reached even when no implication is known; the policy asks for one",
        ),
        (fk.Implications(1), "0.56", "holds only while no implication is known"),
        (fk.Negations(2), "0.78", "holds while at most one negation is known; the policy asks for"),
    ],
)
def test_how_far_the_limit_holds(adversary, below, said):
    assert said in section(adversary, below)[2]


def test_a_limit_that_holds_to_the_end_of_the_curve():
    bag = {f"v{i}": 1000 - i for i in range(40)}
    _, figure, caption = section(fk.Implications(1), "0.99", bags=[bag])
    assert "still holds when 12 implications are known" in caption
    assert figure.series[0].x[-1] == 12


def test_the_caption_is_what_the_adversary_attains():
    draw = np.random.default_rng(5)
    bags = [draw.choice(list("abcdef"), 12).tolist() for _ in range(30)]
    counts = fk.GroupCounts.from_bags(bags)
    verdict, _, caption = section(fk.Implications(1), "0.9", values=["c"], bags=bags)
    most = max(k for k in range(13) if fk.Implications(k).disclosure(counts, "c").below("0.9"))
    held = {0: "no implication is", 1: "one implication is"}.get(most, f"{most} implications are")
    assert held in caption
    assert verdict.disclosure.value == "c"


def test_other_kinds_and_values_that_nobody_has_have_no_curves():
    assert section(fk.Facts(1), "0.9")[1:] == (None, "")
    counts = fk.GroupCounts.from_bags(BAGS)
    (verdict,) = fk.audit(counts, fk.Policy([fk.Requirement(fk.Implications(1), "0.9")])).verdicts
    nothing = replace(verdict, found=Disclosure(None, 0.0))
    assert curves_section(counts, nothing, "diagnosis") == (None, "")
