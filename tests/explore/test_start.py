"""Where the explorer begins: at what was named, or at a list of what there is."""

import pytest
from tests.explore.conftest import Place


@pytest.mark.parametrize(
    ("named", "first"), [("hospital.csv", "/columns"), ("out", "/release"), (None, None)]
)
def test_it_begins_at_what_was_named(folder, named, first):
    browser = Place(folder, named and folder / named).browser()
    answer = browser.ask("/")
    assert answer.headers.get("location") == first
    assert browser.ask("/?all=").status == 200
    assert 'id="choices"' in (browser.ask("/?all=") if first else answer).text
