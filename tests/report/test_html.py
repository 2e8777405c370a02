"""The page: complete, offline, the same each time, and harmless whatever the labels."""

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import pytest
from tests.report.audits import EVIL, Oracle, evil, small

from foreknow._version import __version__
from foreknow.adversaries.facts.facts import Facts
from foreknow.auditing.audit import audit
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.report.pages.audit import audit_page, audit_summary
from foreknow.report.pages.audit_terminal import headline, verdict_sentence
from foreknow.report.words import visible

VOID = {"meta", "br", "img", "link", "input", "hr", "base"}


class Reader(HTMLParser):
    """Elements with their attributes, scripts, and the text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.words, self.open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture(scope="module")
def unsafe():
    return small(safe=False)


@pytest.fixture(scope="module")
def page(unsafe):
    return audit_page(unsafe)


@pytest.fixture(scope="module")
def hostile():
    return audit_page(evil())


def test_the_page_says_what_it_must(unsafe, page):
    text = Reader(page).text
    assert headline(unsafe) in text
    for verdict in unsafe.verdicts:
        assert verdict_sentence(verdict, "diagnosis") in text
    for part in (
        "three.csv",
        "The groups most exposed to AIDS",
        "How large the groups are",
        "What the release is still worth",
        "48 people in 3 groups of 16 on average (13 to 20).",
        "zip: characters masked from the right",
        "age: in ranges of 5, then 10",
        "must stay less than 30% sure",
        f"Made by Foreknow {__version__}",
    ):
        assert part in text
    assert text.index("Not safe: 1 of 2") < text.index("The verdict on each requirement")


def test_the_worst_groups_and_values_are_listed(page):
    reader = Reader(page)
    heads = [attrs for tag, attrs in reader.elements if tag == "details"]
    assert len(heads) == 1  # the requirement about one value needs no list of values
    for value in ("AIDS", "Asthma", "Cancer", "Flu", "Gout"):
        assert value in reader.text


def test_scripts_are_ours_and_the_policy_admits_exactly_those(page, hostile):
    for text, figures in ((page, 3), (hostile, len(EVIL) + 1)):
        reader = Reader(text)
        scripts = [attrs for tag, attrs in reader.elements if tag == "script"]
        data = [attrs for attrs in scripts if attrs.get("type") == "application/json"]
        assert len(data) == figures
        assert len(scripts) == figures + 2
        assert not any("src" in attrs for attrs in scripts)
        rule = next(
            attrs["content"]
            for tag, attrs in reader.elements
            if attrs.get("http-equiv") == "Content-Security-Policy"
        )
        assert rule.startswith("default-src 'none';")
        for script in reader.scripts[-2:]:
            digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in rule
        assert rule.count("sha256-") == 2


def test_nothing_is_asked_of_a_network(page, hostile):
    for text in (page, hostile):
        for tag, attrs in Reader(text).elements:
            assert tag not in {"img", "link", "iframe", "object", "embed", "base", "form"}
            assert not any(name.startswith("on") for name in attrs)
            for name in ("src", "href", "action", "data", "poster", "srcset"):
                assert attrs.get(name, "#").startswith("#")
            assert "url(" not in attrs.get("style", "")
        style = text[text.index("<style>") : text.index("</style>")]
        assert "url(" not in style
        assert "@import" not in style


def test_hostile_labels_are_shown_as_they_are(hostile):
    reader = Reader(hostile)
    text = reader.text
    for label in EVIL:
        assert re.sub(r"\s+", " ", visible(label)) in text
    assert "49" not in re.findall(r"\{\{.*?\}\}", text)
    hostile.encode("utf-8")


def test_figures_are_json_that_cannot_end_its_script(hostile):
    for script in Reader(hostile).scripts[:-2]:
        assert not set("<>&'\u2028") & set(script)
        assert json.loads(script)["data"]


def test_no_id_is_given_twice_and_every_reference_has_one(page):
    elements = Reader(page).elements
    ids = [attrs["id"] for _, attrs in elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in elements:
        for name in ("aria-labelledby", "aria-describedby", "data-figure"):
            if name in attrs:
                assert attrs[name] in ids
        if attrs.get("href", "").startswith("#"):
            assert attrs["href"][1:] in ids


def test_every_element_is_closed(page):
    assert Reader(page).open == []


def test_the_same_audit_makes_the_same_page(page):
    assert audit_page(small(safe=False)) == page


def test_long_lists_are_cut():
    from foreknow.data.counts import GroupCounts

    counts = GroupCounts.from_bags([{f"v{i:02}": 2 for i in range(40)}])
    text = Reader(audit_page(audit(counts, Policy([Requirement(Facts(), below=1)])))).text
    assert "And 10 others, none of them higher." in text


def test_each_point_of_a_skyline_has_its_own_section():
    skyline = Requirement([(Facts(1, 0, 0), "0.9"), (Facts(0, 3, 0), "0.8")], values=["AIDS"])
    page = audit_page(audit(small().counts, Policy([skyline])))
    assert {"requirement-1-1", "requirement-1-2"} <= set(re.findall(r'id="([^"]*)"', page))


def test_another_kind_of_adversary_has_a_page_without_its_figure():
    policy = Policy([Requirement(Oracle(), below="0.5", values=["AIDS"])])
    reader = Reader(audit_page(audit(small().counts, policy)))
    assert "has the knowledge Oracle(amount=3)" in reader.text
    assert sum(attrs.get("type") == "application/json" for _, attrs in reader.elements) == 1


def test_generalization_is_shown_where_it_is_known():
    from dataclasses import replace

    found = small()
    assert "How far each column was generalized" not in audit_page(found)
    worth = replace(found.utility, ncp={"age": 0.25, "<zip>": 0.5})
    text = Reader(audit_page(replace(found, utility=worth))).text
    assert "How far each column was generalized" in text
    assert "<zip> 50.0%" in text


def test_the_summary_is_a_small_escaped_fragment(unsafe):
    text = audit_summary(unsafe)
    assert len(text) < 3000
    assert headline(unsafe) in text
    assert unsafe._repr_html_() == text
    reader = Reader(audit_summary(evil()))
    harmless = {"div", "p", "strong", "span", "table", "thead", "tbody", "tr", "th", "td"}
    assert {tag for tag, _ in reader.elements} <= harmless
    assert reader.open == []


def test_the_summary_warns_of_values_that_no_requirement_is_about():
    counts = small().counts
    some = audit(counts, Policy([Requirement(Facts(), below=1, values=["AIDS"])]))
    text = Reader(audit_summary(some)).text
    assert "No requirement is about Asthma, Cancer, Flu and Gout" in text
    every = audit(counts, Policy([Requirement(Facts(), below=1)]))
    assert "No requirement is about" not in audit_summary(every)


def test_the_warning_of_the_summary_is_escaped():
    one = Policy([Requirement(Facts(), below=1, values=[EVIL[4]])])
    reader = Reader(audit_summary(audit(evil().counts, one)))
    assert re.sub(r"\s+", " ", visible(EVIL[0])) in reader.text
    assert {tag for tag, _ in reader.elements}.isdisjoint({"script", "img", "a", "b"})


def test_to_html_writes_the_page(tmp_path, unsafe, page):
    unsafe.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page


def test_title_is_escaped(hostile):
    assert f"– {html.escape(EVIL[0])}</title>" in hostile
