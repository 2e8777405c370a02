"""Pages of curves and of a survey."""

import pytest
from tests.report.reading import Reader
from tests.report.results import curves as made_curves
from tests.skylines.test_survey import raw

import foreknow as fk
from foreknow.report import render
from foreknow.report.words import some
from foreknow.skylines.curves_page import (
    curves_figure,
    key_sentence,
    known_text,
    sure_text,
)
from foreknow.skylines.survey_page import plain_sentence


@pytest.fixture(scope="module")
def curves():
    return made_curves()


def test_every_point_is_in_the_table_and_the_figure(curves):
    page = render(curves).html()
    text = Reader(page).text
    assert "What pieces of knowledge disclose: any diagnosis" in text
    assert key_sentence(curves) in text
    for k, worst, mild in zip(curves.ks, curves.implications, curves.negations, strict=True):
        assert f" {k} {sure_text(worst)} {sure_text(mild)} " in text
        assert known_text(worst) in text
    assert "of a member of group 18" in text
    drawn = curves_figure(curves)
    worst, mild = drawn.series
    assert (worst.name, mild.name) == ("implications", "negations")
    assert list(worst.x) == list(mild.x) == [0, 1, 2, 3, 4, 5]
    assert worst.y == [found.probability for found in curves.implications]
    for k, found in enumerate(curves.implications):
        assert f"{some(k, 'implication', 'implications')}: {sure_text(found)}" in text
    assert drawn.x.title == "pieces of knowledge (k)"
    assert drawn.y.title == "how sure of some diagnosis, at worst"
    assert page.count("<use ") == 12
    assert page.count('<path class="line" stroke="#') == 2


@pytest.mark.parametrize(
    ("bags", "upto", "said"),
    [
        (["ab"], 2, "It takes one piece of knowledge of either kind to be certain."),
        (["aaab"], 1, "nothing but the release to be more likely right than wrong, and one piece"),
        (["aa"], 1, "It takes nothing but the release to be certain."),
        (["abcdefgh"] * 2, 1, "With one piece of knowledge, nobody can be more than"),
        (["aaabbc"], 1, "one piece of knowledge of either kind to be more likely right than wrong"),
    ],
)
def test_how_many_pieces_it_takes(bags, upto, said):
    assert said in key_sentence(fk.disclosure_curves(fk.GroupCounts.from_bags(bags), upto))


def test_what_is_known_is_gathered_by_person():
    counts = fk.GroupCounts.from_bags([["a", "a", "b", "b", "c", "c", "d"], ["a", "b", "c", "d"]])
    texts = [known_text(fk.Implications(k).disclosure(counts)) for k in range(4)]
    assert texts[0] == "Nothing but the release."
    assert any("then the target has" in text for text in texts) or "does not have" in texts[1]
    assert known_text(fk.Negations(2).disclosure(counts)).startswith("The target does not have ")


@pytest.fixture(scope="module")
def survey():
    return fk.survey(raw(1)[1], [1, 2], name="small.csv")


def test_every_node_is_in_a_table(survey):
    text = Reader(render(survey).html()).text
    assert "8 generalizations: entropy and worst disclosure" in text
    assert plain_sentence(survey) in text
    exact = survey.levels[0][0].values
    assert f"exact: {exact} values · level 1: 4 values such as “20 to 24”" in text
    for node in survey.nodes:
        assert f" {node.groups} {node.entropy:.3f} " in text
