"""The page of skylines: complete without scripts, offline, harmless whatever the labels."""

import base64
import hashlib
import html
import json
import re

import pytest
from foreknow.report.pages.skyline_terminal import explanation, least_sentence
from tests.report.audits import EVIL
from tests.report.skylines import POINTS, case_study, evil, many, of_sets, several
from tests.report.test_html import Reader

from foreknow.report.page import plotly
from foreknow.report.pages.skyline import skyline_page, skyline_summary
from foreknow.report.words import visible


def data_of(page):
    """What the scripts of a page draw, by section."""
    found = re.findall(r'class="data">(.*?)</script>', page, flags=re.DOTALL)
    return [json.loads(text) for text in found]


@pytest.fixture(scope="module")
def page():
    return skyline_page(several())


@pytest.fixture(scope="module")
def hostile():
    return skyline_page(evil())


def test_every_point_is_in_a_table_with_a_sentence():
    text = Reader(skyline_page(case_study())).text
    assert explanation(case_study()) in text
    assert least_sentence(case_study(), "Boss") in text
    assert "The 7 points of the skyline" in text
    assert "0 4 0 somebody who knows 4 other people's jobs, but no job the target does" in text
    assert "One more value ruled out: 95.2%; one more person known: certain" in text
    assert "90.9%" in text
    assert "Withstood means strictly below 95%" in text


def test_several_values_have_an_overview_and_a_section_each(page):
    reader = Reader(page)
    sections = [a["id"] for tag, a in reader.elements if tag == "section" and "id" in a]
    assert sections == ["value-1", "value-2", "value-3"]
    assert "The most that is withstood of one kind of knowledge alone" in reader.text
    assert "Flu 8 nothing is withstood" in reader.text
    options = [
        a["value"] for tag, a in reader.elements if tag == "option" and "value-" in a["value"]
    ]
    assert options == sections
    assert len(data_of(page)) == 2  # nothing to draw where nothing is withstood


def test_one_value_needs_no_overview():
    text = skyline_page(case_study())
    assert 'id="pick"' not in text
    (data,) = data_of(text)
    assert [tuple(point) for point in data["points"]] == POINTS
    assert data["axes"] == ["values ruled out (l)", "people known (k)", "relatives (m)"]
    assert len(data["solid"]["data"][-1]["text"]) == 7


def test_nothing_withstood_has_no_figure():
    reader = Reader(skyline_page(case_study("0.1")))
    assert "Not even somebody who knows nothing but the release is withstood" in reader.text
    assert not any(a.get("class") == "stage" for _, a in reader.elements)


def test_of_many_points_the_telling_ones_come_first_and_all_are_drawn():
    report = many()
    points = len(report.skylines["AIDS"])
    page = skyline_page(report)
    reader = Reader(page)
    assert f"12 of the {points} points: the extremes, the balanced, and some between" in reader.text
    assert f"All {points} points" in reader.text
    assert sum(tag == "details" for tag, _ in reader.elements) == 1
    assert len(data_of(page)[0]["points"]) == points


def test_long_tables_are_cut(monkeypatch):
    monkeypatch.setattr("foreknow.report.pages.skyline._MOST_ROWS", 30)
    report = many()
    left = len(report.skylines["AIDS"]) - 30
    text = Reader(skyline_page(report)).text
    assert f"And {left} others, which are in the figures" in text
    monkeypatch.setattr("foreknow.report.pages.skyline._MOST_VALUES", 2)
    text = Reader(skyline_page(several())).text
    assert "And one other value; ask for" in text


def test_words_of_sets():
    text = Reader(skyline_page(of_sets())).text
    assert "Values only with it People without it Relatives" in text
    assert "that comes only with AIDS" in text
    assert "ruled out" not in text


def test_plotly_is_there_once_and_scripts_are_admitted_by_their_digests(page, hostile):
    for text in (page, hostile):
        assert text.count(plotly()) == 1
        reader = Reader(text)
        rule = next(
            a["content"] for _, a in reader.elements if "content" in a and "http-equiv" in a
        )
        assert rule.startswith("default-src 'none';")
        assert rule.count("sha256-") == 2
        for script in reader.scripts[-2:]:
            digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in rule


def test_nothing_is_asked_of_a_network(page, hostile):
    for text in (page, hostile):
        for tag, attrs in Reader(text).elements:
            assert tag not in {"img", "link", "iframe", "object", "embed", "base", "form"}
            assert not any(name.startswith("on") for name in attrs)
            for name in ("src", "href", "action", "data", "poster", "srcset"):
                assert attrs.get(name, "#").startswith("#")


def test_hostile_labels_are_shown_as_they_are(hostile):
    reader = Reader(hostile)
    for label in EVIL:
        assert re.sub(r"\s+", " ", visible(label)) in reader.text
    assert f"– {html.escape(EVIL[0])}</title>" in hostile
    for script in reader.scripts[:-2]:
        assert not set("<>&'\u2028") & set(script)
    assert reader.open == []


def test_no_id_is_given_twice_and_every_reference_has_one(page):
    elements = Reader(page).elements
    ids = [attrs["id"] for _, attrs in elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert name not in attrs or attrs[name] in ids
        if attrs.get("href", "").startswith("#"):
            assert attrs["href"][1:] in ids


def test_the_same_report_makes_the_same_page(page, tmp_path):
    assert skyline_page(several()) == page
    several().to_html(tmp_path / "skyline.html")
    assert (tmp_path / "skyline.html").read_text("utf-8") == page


def test_the_summary_is_a_small_escaped_fragment():
    harmless = {"div", "p", "strong", "span", "table", "thead", "tbody", "tr", "th", "td"}
    for report in (case_study(), several(), many(), evil(), case_study("0.1")):
        text = skyline_summary(report)
        assert report._repr_html_() == text
        assert len(text) < 5000
        reader = Reader(text)
        assert {tag for tag, _ in reader.elements} <= harmless
        assert reader.open == []
    assert "Too much already: " in Reader(skyline_summary(case_study())).text
