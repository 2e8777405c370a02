"""Every view for everybody: by axe-core, at 400 px, in dark mode."""

import pytest

from foreknow.explore.server import VIEWS

READY = {
    "start": ("/?all=", "#choices li"),
    "columns": ("/columns?of=hospital.csv&column=zip", "#levels td"),
    "policy": ("/policy?of=hospital.csv", "#field-require-0-below"),
    "publish": ("/publish?of=hospital.csv", "#about:not(:empty)"),
    "release": ("/release?of=out&value=HIV", "#points button"),
    "trials": ("/trials?of=out", "#by input"),
}


@pytest.fixture(scope="module")
def axe():
    return pytest.importorskip("axe_playwright_python.sync_playwright").Axe()


def test_every_view_is_looked_at():
    assert set(READY) == {"start", *VIEWS}


_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def serious(axe, page):
    """What axe-core finds, but for what is minor."""
    found = axe.run(page, options={"runOnly": _RULES})
    return [
        (each["id"], [node["html"][:120] for node in each["nodes"]][:3])
        for each in found.response["violations"]
        if each["impact"] in ("moderate", "serious", "critical")
    ]


@pytest.mark.parametrize("name", READY)
def test_a_view_is_for_everybody(view, axe, name):
    path, ready = READY[name]
    page = view.open(path)
    page.wait_for_selector(ready)
    assert not serious(axe, page)
    for landmark in ("header", "nav[aria-label]", "main", "footer", "h1"):
        assert page.locator(landmark).count() == 1, landmark
    assert page.title() != "Foreknow"
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 400, "height": 800})
    try:
        assert not serious(axe, page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
    finally:
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 900})
