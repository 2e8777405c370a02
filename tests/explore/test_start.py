"""Where the explorer begins: at what was named, or at a list of what there is."""

import os
import threading

import pytest
from tests.explore.conftest import Place

from foreknow.data.reading import Reading


@pytest.mark.parametrize(
    ("named", "first"), [("hospital.csv", "/columns"), ("out", "/release"), (None, None)]
)
def test_it_begins_at_what_was_named(folder, named, first):
    browser = Place(folder, named and folder / named).browser()
    answer = browser.ask("/")
    assert answer.headers.get("location") == first
    assert browser.ask("/?all=").status == 200
    assert 'id="choices"' in (browser.ask("/?all=") if first else answer).text


def test_a_file_in_another_encoding_is_read_as_it_was_said(tmp_path):
    text = "age,disease\n" + "30,grippé\n40,rhume\n" * 20
    (tmp_path / "t.csv").write_text(text, "latin-1")
    said = Place(tmp_path).browser().ask("/api/columns?of=t.csv")
    assert (said.status, "add --encoding latin-1" in said.text) == (400, True)
    for given in (None, tmp_path / "t.csv"):
        browser = Place(tmp_path, given, reading=Reading(encoding="latin-1")).browser()
        assert "grippé" in str(browser.ask("/api/columns?of=t.csv").json)
        assert 'encoding = "iso8859-1"' in str(browser.ask("/api/policy?of=t.csv").json)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["t.csv", "t.sqlite", "t.xlsx?sheet=a", "p.toml"])
def test_a_pipe_stops_nobody(tmp_path, name):
    (tmp_path / "table.csv").write_text("age,disease\n" + "30,flu\n40,cold\n" * 5)
    file = name.partition("?")[0]
    os.mkfifo(tmp_path / file)
    browser, answers = Place(tmp_path).browser(), []

    def ask():
        paths = ("choices", f"columns?of={name}", f"policy?of={name}", "columns?of=table.csv")
        answers.extend(browser.ask(f"/api/{path}") for path in paths)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(20)
    assert [answer.status for answer in answers] == [200, 400, 400, 200]
    assert file not in answers[0].text
