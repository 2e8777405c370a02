"""Figures show what Facts says, in words, and read no tags."""

import json

import pytest
from tests.report.audits import EVIL, Oracle, evil, small

from foreknow.adversaries.facts.facts import Facts
from foreknow.auditing.audit import audit
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.report.figures import knowledge_figure, sizes_figure


def test_each_line_is_the_disclosure_at_each_k():
    found = small(safe=False)
    figure = knowledge_figure(found.counts, found.verdicts[0], "diagnosis")
    *lines, point = figure.data
    points = {"one value ruled out, one relative (this requirement)": (1, 1)}
    points |= {"nothing else known": (0, 0)}
    points |= {"2 values ruled out, one relative": (2, 1)}
    points |= {"one value ruled out, 2 relatives": (1, 2)}
    assert {line.name for line in lines} == set(points)
    for line in lines:
        l, m = points[line.name]  # noqa: E741
        assert list(line.x) == list(range(21))
        assert list(line.y) == pytest.approx(
            [Facts(l, k, m).disclosure(found.counts, "AIDS").probability for k in range(21)]
        )
    assert (point.x[0], point.y[0]) == (3, found.verdicts[0].disclosure.probability)


def test_the_limit_is_a_dashed_line_and_the_axes_are_in_words():
    found = small(safe=False)
    layout = knowledge_figure(found.counts, found.verdicts[0], "diagnosis").layout
    assert layout.shapes[0].y0 == layout.shapes[0].y1 == 0.3
    assert layout.shapes[0].line.dash == "dash"
    assert "limit 30%" in [note.text for note in layout.annotations]
    assert layout.xaxis.title.text == "other people's diagnoses the adversary knows"
    assert layout.yaxis.title.text == "how sure of AIDS"


def test_the_histogram_counts_every_group():
    found = small()
    bars = sizes_figure(found.counts).data[0]
    assert sum(bars.y) == found.counts.n_groups
    assert dict(zip(bars.x, bars.y, strict=True))[20] == 1


def test_no_label_is_read_as_a_tag():
    found = evil()
    for verdict in found.verdicts:
        figure = knowledge_figure(found.counts, verdict, EVIL[3])
        for text in _texts(json.loads(figure.to_json())):
            rest = text
            for own in ("<b>", "</b>", "<extra>", "</extra>"):
                rest = rest.replace(own, "")
            assert "<" not in rest


def test_no_figure_for_a_kind_without_a_k_and_for_no_value():
    found = small()
    other = audit(found.counts, Policy([Requirement(Oracle(), below=1)]))
    assert knowledge_figure(found.counts, other.verdicts[0]) is None


def _texts(node):
    if isinstance(node, str):
        yield node
    for child in (
        node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    ):
        yield from _texts(child)
