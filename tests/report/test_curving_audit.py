"""The curves around a requirement about implications or negations."""

import json
from html import escape

import numpy as np
import pytest
from foreknow.report.pages.audit_terminal import sensitive_noun
from tests.report.audits import BAGS

import foreknow as fk
from foreknow.report.pages.audit import audit_page
from foreknow.report.pages.curves import curves_section


def section(adversary, below, values=None, bags=BAGS):
    counts = fk.GroupCounts.from_bags(bags)
    (verdict,) = fk.audit(counts, fk.Policy([fk.Requirement(adversary, below, values)])).verdicts
    figure, caption = curves_section(counts, verdict, "diagnosis")
    return verdict, None if figure is None else json.loads(str(figure)), caption


@pytest.mark.parametrize("kind", [fk.Implications, fk.Negations])
def test_the_requirement_s_point_lies_on_its_curve(kind):
    verdict, figure, _ = section(kind(2), "0.8")
    worst, mild, point = figure["data"]
    own = worst if kind is fk.Implications else mild
    assert point["x"] == [2]
    assert point["y"] == [verdict.disclosure.probability]
    assert own["y"][2] == pytest.approx(point["y"][0], abs=1e-12)
    assert len(worst["x"]) == 13
    assert figure["layout"]["shapes"][0]["y0"] == 0.8
    assert "limit 80%" in [note["text"] for note in figure["layout"]["annotations"]]


@pytest.mark.parametrize(
    ("adversary", "below", "said"),
    [
        (fk.Implications(1), "0.5", "reached without any knowledge; the policy asks for one"),
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
    assert figure["data"][0]["x"][-1] == 12


def test_the_page_of_an_audit_shows_them():
    counts = fk.GroupCounts.from_bags(BAGS)
    found = fk.audit(counts, fk.Policy([fk.Requirement(fk.Negations(2), "0.9")]))
    figure, caption = curves_section(counts, found.verdicts[0], sensitive_noun(found.policy))
    page = audit_page(found)
    assert str(figure) in page
    assert escape(caption) in page


def test_many_pieces_are_drawn_at_few_points():
    _, figure, _ = section(fk.Implications(10**9), "0.9")
    assert len(figure["data"][0]["x"]) <= 42
    assert 10**9 in figure["data"][0]["x"]


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
    from foreknow.adversaries.disclosure import Disclosure
    from foreknow.auditing.audit import Verdict

    (verdict,) = fk.audit(counts, fk.Policy([fk.Requirement(fk.Implications(1), "0.9")])).verdicts
    nothing = Verdict(verdict.requirement, verdict.point, Disclosure(None, 0.0), True, ())
    assert curves_section(counts, nothing, "diagnosis") == (None, "")
