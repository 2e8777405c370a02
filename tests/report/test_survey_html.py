"""The page of a survey: complete without scripts, offline, harmless whatever the labels."""

import pyarrow as pa
import pytest
from foreknow.report.pages.survey_terminal import node_text, plain_sentence
from tests.report.audits import EVIL
from tests.report.test_curving_html import figure_of
from tests.report.test_html import Reader
from tests.test_surveying import raw

import foreknow as fk
from foreknow.report.pages import survey as survey_figure
from foreknow.report.pages.survey import survey_page, survey_summary


@pytest.fixture(scope="module")
def found():
    return fk.survey(raw(1)[1], [1, 2], name="small.csv")


@pytest.fixture(scope="module")
def page(found):
    return survey_page(found)


def test_every_node_is_in_a_table(found, page):
    text = Reader(page).text
    assert "8 generalizations: entropy and worst disclosure" in text
    assert plain_sentence(found, "drawn") in text
    assert (
        f"exact: {found.levels[0][0].values} values · level 1: 4 values such as “20 to 24”" in text
    )
    for node in found.nodes:
        assert f" {node.groups} {node.entropy:.3f} " in text


def test_every_node_with_some_entropy_is_drawn_for_each_number_of_pieces(found, page):
    even = [node for node in found.nodes if node.entropy]
    drawn = figure_of(page)["data"]
    for place, name in enumerate(("one implication", "2 implications")):
        marks = [trace for trace in drawn if trace["name"] == name]
        points = {(x, y) for t in marks for x, y in zip(t["x"], t["y"], strict=True)}
        assert points == {(round(n.entropy, 6), round(n.disclosures[place], 6)) for n in even}
        assert marks[0]["x"] == sorted(marks[0]["x"])
        hovers = " ".join(text for t in marks for text in t["text"])
        assert "groups, least entropy" in hovers
        assert node_text(found.attributes, found.tops, even[0].levels) in hovers


def test_of_very_many_nodes_some_are_drawn(found, monkeypatch):
    monkeypatch.setattr(survey_figure, "_MOST", 3)
    drawn = survey_figure.drawn_nodes(found)
    assert len(drawn) == 3
    entropy = found.entropy[drawn].tolist()
    assert entropy == sorted(entropy)
    even = int((found.entropy > 0).sum())
    assert f"Of {even}, 3 are drawn." in Reader(survey_page(found)).text


def test_without_an_even_node_there_is_no_figure():
    table = pa.table({"age": [1, 2], "illness": ["Flu", "Flu"]})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive="illness"))
    found = fk.survey(microdata, [1])
    text = survey_page(found)
    assert 'id="survey-figure"' not in text
    assert "Every generalization has a group whose members all have" in Reader(text).text


def test_labels_cannot_become_tags():
    one, two, three = EVIL[:3]
    table = pa.table({one: [two, three, two, three], two: [one, two, three, one]})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=[one], sensitive=two))
    text = survey_page(fk.survey(microdata, [1], name=three))
    plain = Reader(text)
    assert len(plain.scripts) == 3
    assert not any(tag in {"img", "a", "b"} for tag, _ in plain.elements)
    for trace in figure_of(text)["data"]:
        assert not any("<" in each.replace("<br>", "") for each in trace["text"])


def test_a_notebook_shows_the_most_even(found):
    text = Reader(survey_summary(found)).text
    assert "least entropy 1 implications 2 implications" in text
    assert found._repr_html_() == survey_summary(found)
