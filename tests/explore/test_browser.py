"""The pages in a browser: for everybody, by keyboard, with hostile texts, from table to folder."""

import re
import time
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.examples import NIGHTLY
from tests.explore.conftest import POLICY, View, serving

import foreknow as fk
from foreknow.explore.server import VIEWS
from foreknow.explore.session import Session
from foreknow.toml import toml_value


@contextmanager
def opened(chromium, folder, table="hospital.csv", policy="policy.toml"):
    """A view of a table and its policy, of which the browser complains at no time."""
    with serving(Session(folder, folder / table, folder / policy)) as (base, keys):
        view = View(chromium, base)
        view.open(f"/?token={keys.token}")
        yield view
        assert view.said == []
        view.context.close()


def until(page, script, seconds=60):
    """Wait for what a page says of itself; its own policy lets nothing wait in it."""
    end = time.monotonic() + seconds
    while not page.evaluate(script):
        assert time.monotonic() < end, script
        page.wait_for_timeout(20)


def until_text(page, text):
    until(page, f"document.querySelector('#text').value.includes({text!r})")


def expect(locator):
    return pytest.importorskip("playwright.sync_api").expect(locator)


READY = {
    "start": ("/?all=", "#choices li"),
    "columns": ("/columns?of=hospital.csv&column=zip", "#levels td"),
    "policy": ("/policy?of=hospital.csv", "#field-require-0-below"),
    "publish": ("/publish?of=hospital.csv", "#about:not(:empty)"),
    "release": ("/release?of=out&value=HIV", "#points button"),
    "trials": ("/trials?of=out", "#by input"),
}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def test_every_view_is_looked_at():
    assert {*READY} == {"start", *VIEWS}


@pytest.mark.parametrize("name", READY)
def test_a_view_is_for_everybody(view, name):
    """By axe-core: by day each in one of two ways, large and light, or at 400 px and dark."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    path, ready = READY[name]
    page = view.open(path)
    page.wait_for_selector(ready)
    for landmark in ("header", "nav[aria-label]", "main", "footer", "h1"):
        assert page.locator(landmark).count() == 1, landmark
    assert page.title() != "Foreknow"
    ways = [(1280, "light"), (400, "dark")]
    for width, scheme in ways if NIGHTLY else [ways[list(READY).index(name) % 2]]:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        found = axe.run(page, options={"runOnly": RULES}).response["violations"]
        serious = [each["id"] for each in found if each["impact"] != "minor"]
        wide = page.evaluate("document.documentElement.scrollWidth")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 900})
        assert serious == []
        assert wide <= width


# Texts that would be noticed if they were ever read as HTML, an address, a formula or a script.
RUN = "window.hurt=(window.hurt||0)+1"
HOSTILE = [
    *(f"<script>{RUN}</script>", f"<img src=x onerror={RUN}>", f"<svg/onload={RUN}>"),
    *(f'"><b onmouseover={RUN}>b</b>', f"' onfocus='{RUN}' autofocus='", f"javascript:{RUN}"),
    *(f"</script><script>{RUN}</script>", f"</option></select><img src=x onerror={RUN}>"),
    *(f"</title><script>{RUN}</script>", f"<a href='javascript:{RUN}'>go</a>"),
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    "<style>@import 'http://evil.example/x.css'</style>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    *("<base href=http://evil.example/>", f"<details open ontoggle={RUN}>"),
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<form action=http://evil.example/><button autofocus>",
    f"<math><mtext></form><img src=x onerror={RUN}>",
    *(f"<video><source onerror={RUN}>", f"<object data='javascript:{RUN}'>"),
    f"<template shadowrootmode=open><script>{RUN}</script></template>",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    *(f"${{{RUN}}}", "{% raw %}{{ 7*7 }}", '=HYPERLINK("http://evil.example")', "@SUM(1)"),
    *("&lt;b&gt;&amp;#60;", "%3Cscript%3E", "a&of=../x&limit=1#x?y=z+%", "\u202eevil\u202c"),
    *("\u200b\u200d", "a\tb\nc", "__proto__", "constructor", "toString", "hasOwnProperty", "null"),
    *("undefined", "NaN", "true", "[object Object]", "' OR 1=1 --", '"; DROP TABLE people; --'),
    *("../../etc/passwd", "\\", "\\u003cscript\\u003e", "x" * 300, "😀" * 20, "שלום", "ﷺ"),
]


def test_hostile_names_do_nothing(chromium, tmp_path):
    """Fifty names of columns and values, and a release of them."""
    assert len(HOSTILE) == 50
    columns = {"disease": [HOSTILE[i % 50] for i in range(400)]}
    for i, name in enumerate(HOSTILE):
        columns[f"{name}{i}"] = [HOSTILE[(j // 4 + i) % 50] for j in range(400)]
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    _, *names = columns
    schema = fk.Schema(quasi_identifiers=names[:6], sensitive="disease", other=names[6:])
    rule = fk.Requirement(fk.Facts(1, 1, 1), below="1/2", name=HOSTILE[0])
    table = fk.Policy([rule], schema).to_dict()["schema"]
    rules = f"schema = {toml_value(table)}\nrequire = [{{ name = {toml_value(HOSTILE[0])}, "
    rules += 'facts = { l = 1, k = 1, m = 1 }, below = "1/2" }]\n'
    (tmp_path / "p.toml").write_text(rules, encoding="utf-8")
    with opened(chromium, tmp_path, "t.parquet", "p.toml") as view:
        asked = []
        view.page.on("request", lambda request: asked.append(request.url))
        page = view.open("/release")
        page.wait_for_selector("#groups tbody tr")
        for value in HOSTILE[:3]:
            page.select_option("#value", value)
            expect(page.locator("#said")).to_have_text(re.compile(r"[\s\S]{10}"))
        page.wait_for_timeout(300)
        assert page.evaluate("window.hurt") is None
        hurt = "main :is(script, img, iframe, a, b, style, link, base)"
        assert page.locator(hurt).count() == 0
        assert all(url.startswith(view.base) for url in asked)
        assert HOSTILE[1] in page.inner_text("#value")
        assert HOSTILE[0] in page.inner_text("#requirement")


# ---- a release -----------------------------------------------------------------------------------


def test_statements_work_by_keyboard(view, folder):
    name = (folder / "hospital.csv").read_text("utf-8").splitlines()[1].split(",")[0]
    page = view.open("/release?of=hospital.csv")
    page.wait_for_selector("#said")
    assert "names people" in page.text_content("#notes")
    page = view.open("/release?of=out")
    page.wait_for_selector("#said.safe")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    reached = []
    while "about" not in reached and len(reached) < 60:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    assert {"requirement", "value", *"lkm", "limit", "limit-text", "reset"} <= {*reached}
    for typed, key in ((name, "Tab"), (f'"{name}" != Flu', "Tab"), ("", "Enter")):
        page.keyboard.type(typed)
        page.keyboard.press(key)
    page.wait_for_selector("#answers tbody tr")
    assert re.search(r"Flu\s+[\d.]+%[^\n]*\s+0%", page.inner_text("#answers"))


# ---- a policy ------------------------------------------------------------------------------------


def test_refused_policy_shows_ways_out(chromium, stays):
    (stays / "policy.toml").write_text(POLICY.replace('"case"', '"who"'))
    with serving(Session(stays, stays / "stays.csv", stays / "policy.toml")) as (base, keys):
        view = View(chromium, base)
        view.open(f"/?token={keys.token}")
        page = view.open("/release")
        page.wait_for_selector("#refused button")
        assert page.locator("main h2:visible").count() == 0
        assert page.locator("#trouble").is_hidden()
        page.get_by_role("button", name="Rows are cases").click()
        page.wait_for_selector("#verdicts td")
        assert page.locator("#refused").is_hidden()
        page = view.open("/columns")
        page.select_option("#role-4", "")
        page.wait_for_selector("#mistake:visible")
        page = view.open("/release")
        page.get_by_role("button", name="Undo the last change").click()
        page.wait_for_selector("#verdicts td")
        view.context.close()


@pytest.mark.parametrize("width", [1280, 400] if NIGHTLY else [400])
def test_person_says_all_of_it(chromium, stays, width):
    with opened(chromium, stays, "stays.csv") as view:
        page = view.page
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_url("**/columns*")
        page.select_option("#role-5", "sensitive")
        until(page, "document.querySelector('#undo').disabled === false")
        view.open("/policy")
        page.select_option("#field-require-0-secret", "any_of")
        page.fill("#field-require-0-any_of", "flu, cold")
        page.press("#field-require-0-any_of", "Tab")
        until_text(page, "any_of")
        page.select_option("#field-require-0-known", "none")
        until_text(page, "knowing = []")
        page.select_option("#field-require-0-sensitive", "income")
        # A field that nobody is in is drawn anew by the answer.
        until_text(page, "income")
        page.select_option("#field-require-0-secret", "within")
        until_text(page, "within")
        page.fill("#rule-values", "1000")
        page.select_option("#rule-column", "age")
        page.fill("#rule-where", "to 11")
        page.click("#rule-add")
        page.wait_for_selector("#field-schema-impossible-0-values")
        assert "{ age = { to = 11 } }" in page.input_value("#text")
        page.click("#undo")
        page.wait_for_selector("#field-schema-impossible-0-values", state="detached")
        assert page.locator("#words td p").count() > 5  # a line for each
        assert "below = 0.9\n" in page.input_value("#text")  # a number is one still
        for path in ("/release", "/publish", "/trials", "/columns", "/?all="):
            view.open(path)
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("#trouble").is_hidden(), page.inner_text("#trouble")
