"""The page of disclosure curves: complete without scripts, offline, harmless whatever labels."""

import base64
import hashlib
import io
import json
import re
from fractions import Fraction

import pytest
from foreknow.report.pages.curves_terminal import fraction_text, key_sentence, known_text
from rich.console import Console
from tests.report.audits import BAGS, EVIL
from tests.report.test_html import Reader

import foreknow as fk
from foreknow.report.pages.curves import curves_page, curves_summary


def figure_of(page):
    """What the script of a page draws."""
    (text,) = re.findall(r'data-figure="[a-z-]*">(.*?)</script>', page, flags=re.DOTALL)
    return json.loads(text)


@pytest.fixture(scope="module")
def curves():
    counts = fk.GroupCounts.from_bags(BAGS, groups=[16, 17, 18])
    return fk.disclosure_curves(counts, 5, name="three.csv", sensitive="diagnosis")


@pytest.fixture(scope="module")
def page(curves):
    return curves_page(curves)


def test_every_point_is_in_the_table(curves, page):
    text = Reader(page).text
    assert "What pieces of knowledge disclose: any diagnosis" in text
    assert key_sentence(curves) in text
    for k, worst, mild in zip(curves.ks, curves.implications, curves.negations, strict=True):
        assert f" {k} {worst.exact} {mild.exact} " in text
        assert known_text(worst) in text
        assert known_text(mild) in text
    assert "The target does not have" in text
    assert "of a member of group 18" in text


def test_the_figure_has_both_curves(curves, page):
    drawn = figure_of(page)
    worst, mild = drawn["data"]
    assert (worst["name"], mild["name"]) == ("implications", "negations")
    assert worst["x"] == mild["x"] == [0, 1, 2, 3, 4, 5]
    assert worst["y"] == [found.probability for found in curves.implications]
    assert "3 implications: " in worst["text"][3]
    assert str(curves.implications[3].exact) in worst["text"][3]
    assert drawn["layout"]["xaxis"]["title"]["text"] == "pieces of knowledge (k)"
    assert drawn["layout"]["yaxis"]["title"]["text"] == "how sure of some diagnosis, at worst"


def test_the_page_asks_nothing_of_any_network(page):
    reader = Reader(page)
    rule = next(a["content"] for _, a in reader.elements if "content" in a and "http-equiv" in a)
    assert rule.startswith("default-src 'none';")
    for script in reader.scripts[-2:]:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in rule
    for _, attrs in reader.elements:
        assert attrs.get("href", "#").startswith("#")
        assert "src" not in attrs


def test_labels_cannot_become_tags():
    counts = fk.GroupCounts.from_bags(
        [dict.fromkeys(EVIL, 2), {EVIL[0]: 3, EVIL[1]: 1}], groups=EVIL[:2]
    )
    page = curves_page(fk.disclosure_curves(counts, 3, EVIL[0], name=EVIL[1], sensitive=EVIL[2]))
    plain = Reader(page)
    assert len(plain.scripts) == 3
    assert not any(tag in {"img", "a", "b"} for tag, _ in plain.elements)
    for trace in figure_of(page)["data"]:
        for text in trace["text"]:
            assert "<" not in text.replace("<br>", "")


@pytest.mark.parametrize(
    ("bags", "upto", "said"),
    [
        (["ab"], 2, "It takes one piece of knowledge of either kind to be certain."),
        (["aaab"], 1, "nothing but the release to be more likely right than wrong, and one piece"),
        (["aa"], 1, "It takes nothing but the release to be certain."),
        (["abcdefgh"] * 2, 1, "With one piece of knowledge, nobody can be more than"),
        (
            ["aaabbc"],
            1,
            "one piece of knowledge of either kind to be more likely right than wrong.",
        ),
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


def test_long_fractions_are_shortened():
    found = fk.Disclosure("a", 0.5, lambda: Fraction(10**40, 2 * 10**40 + 1))
    assert fraction_text(found) == "10000000… (41 digits) / 20000000… (41 digits)"


def test_a_notebook_shows_both_curves(curves):
    text = Reader(curves_summary(curves)).text
    assert "implications negations" in text
    assert key_sentence(curves) in text
    assert curves._repr_html_() == curves_summary(curves)


def test_a_terminal_of_another_encoding_shows_them_too(curves):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Console(file=stream, width=80).print(curves)
    stream.flush()
    assert "three.csv" in raw.getvalue().decode("ascii")
