"""The release view in a browser: what is said, turned, clicked and asked; by keyboard alone."""

import re

import pytest
from tests.explore.conftest import Place, View, serving

import foreknow as fk
from foreknow.explore.session import Session
from foreknow.toml import toml_value
from foreknow_judge.said import ASSUMPTIONS

# Texts that would be noticed if they were ever read as HTML, an address, a formula or a script.
_RUN = "window.hurt=(window.hurt||0)+1"
HOSTILE = [
    f"<script>{_RUN}</script>",
    f"<img src=x onerror={_RUN}>",
    f"<svg/onload={_RUN}>",
    f'"><b onmouseover={_RUN}>b</b>',
    f"' onfocus='{_RUN}' autofocus='",
    f"javascript:{_RUN}",
    f"</script><script>{_RUN}</script>",
    f"</option></select><img src=x onerror={_RUN}>",
    f"</title><script>{_RUN}</script>",
    f"<a href='javascript:{_RUN}'>go</a>",
    f"<iframe srcdoc='<script>parent.{_RUN}</script>'></iframe>",
    "<style>@import 'http://evil.example/x.css'</style>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<base href=http://evil.example/>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<form action=http://evil.example/><button autofocus>",
    f"<math><mtext></form><img src=x onerror={_RUN}>",
    f"<details open ontoggle={_RUN}>",
    f"<video><source onerror={_RUN}>",
    f"<object data='javascript:{_RUN}'>",
    f"<template shadowrootmode=open><script>{_RUN}</script></template>",
    f"{{{{constructor.constructor('{_RUN}')()}}}}",
    f"${{{_RUN}}}",
    "{% raw %}{{ 7*7 }}",
    '=HYPERLINK("http://evil.example")',
    "@SUM(1)",
    "&lt;b&gt;&amp;#60;",
    "%3Cscript%3E",
    "a&of=../x&limit=1#x?y=z+%",
    "\u202eevil\u202c",
    "\u200b\u200d",
    "a\tb\nc",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "null",
    "undefined",
    "NaN",
    "true",
    "[object Object]",
    "' OR 1=1 --",
    '"; DROP TABLE people; --',
    "../../etc/passwd",
    "\\",
    "\\u003cscript\\u003e",
    "x" * 300,
    "😀" * 20,
    "שלום",
    "ﷺ",
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Fifty hostile column names and values, and a release of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    assert len(HOSTILE) == 50
    place = tmp_path_factory.mktemp("hostile")
    columns = {"disease": [HOSTILE[i % 50] for i in range(400)]}
    for i, name in enumerate(HOSTILE):
        columns[f"{name}{i}"] = [HOSTILE[(j // 4 + i) % 50] for j in range(400)]
    pq.write_table(pa.table(columns), place / "t.parquet")
    names = [name for name in columns if name != "disease"]
    rules = fk.Policy(
        [fk.Requirement(fk.Facts(1, 1, 1), below="1/2", name=HOSTILE[0])],
        fk.Schema(quasi_identifiers=names[:6], sensitive="disease", other=names[6:]),
    )
    table = rules.to_dict()

    text = (
        f"schema = {toml_value(table['schema'])}\nrequire = [{{ name = {toml_value(HOSTILE[0])}, "
    )
    text += 'facts = { l = 1, k = 1, m = 1 }, below = "1/2" }]\n'
    (place / "p.toml").write_text(text, encoding="utf-8")
    return place


def test_hostile_names_and_values_do_nothing(chromium, hostile):
    sync = pytest.importorskip("playwright.sync_api")
    session = Session(hostile, hostile / "t.parquet", hostile / "p.toml")
    with serving(session) as (base, keys):
        view = View(chromium, base)
        asked = []
        view.page.on("request", lambda request: asked.append(request.url))
        view.open(f"/?token={keys.token}")
        page = view.open("/release")
        page.wait_for_selector("#groups tbody tr")
        for value in HOSTILE[:3]:
            page.select_option("#value", value)
            sync.expect(page.locator("#said")).to_have_text(re.compile(r"[\s\S]{10}"))
        page.wait_for_timeout(300)
        assert page.evaluate("window.hurt") is None
        assert page.locator("main :is(script, img, iframe, a, b, style, link, base)").count() == 0
        assert all(url.startswith(base) for url in asked)
        shown = page.inner_text("#value")
        assert HOSTILE[1] in shown
        assert HOSTILE[0] in page.inner_text("#requirement")
        assert view.said == []
        view.context.close()


def test_dials_follow_what_is_turned_and_the_address_follows_them(view):
    page = view.open("/release?of=out")
    page.wait_for_selector("#said.safe")
    assert page.inner_text("#headline").endswith("Safe: both requirements hold")
    # Beside the word, and not folded: what it does not cover, and what it assumes.
    assert "an adversary who knows it may be surer" in page.inner_text("#notes")
    assert all(sentence in page.inner_text("#assumed") for sentence in ASSUMPTIONS)
    page.fill("#k", "12")
    page.wait_for_selector("#said.unsafe")
    assert "could be found out" in page.inner_text("#said")
    assert "k=12" in page.url
    of_every_value = page.inner_text("#said")
    page.select_option("#value", "HIV")
    page.wait_for_selector("#points button")
    page.wait_for_selector("#heat rect")
    # Until the answer is there, what is said of every value stays, greyed.
    page.wait_for_function(
        "old => document.querySelector('#said').innerText !== old", arg=of_every_value
    )
    before = page.inner_text("#said")
    page.reload()
    page.wait_for_selector("#points button")
    page.wait_for_selector("#said.unsafe:not(.waiting)")
    assert page.input_value("#k") == "12"
    assert page.input_value("#value") == "HIV"
    assert page.inner_text("#said") == before
    page.click("#reset")
    page.wait_for_selector("#said.safe")
    assert view.said == []


def test_a_square_of_the_heat_map_is_clicked(view):
    page = view.open("/release?of=out&value=HIV&k=0&l=0&m=0")
    page.wait_for_selector("#heat rect")
    square = page.locator("#heat rect.held").last
    point = square.get_attribute("data-at").split(",")
    square.click()
    sync = pytest.importorskip("playwright.sync_api")
    sync.expect(page.locator("#k")).to_have_value(point[1])
    assert [page.input_value(f"#{name}") for name in "lkm"] == point
    page.wait_for_selector("#said.safe")


def test_a_limit_is_read_as_a_fraction_and_a_mistake_is_said(view):
    page = view.open("/release?of=out")
    page.wait_for_selector("#said.safe")
    page.fill("#limit-text", "1/10")
    page.keyboard.press("Tab")
    page.wait_for_selector("#said.unsafe")
    assert "the limit is 10%" in page.inner_text("#said")
    page.fill("#limit-text", "many")
    page.keyboard.press("Tab")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "many" in page.inner_text("#trouble")


def test_statements_are_asked_by_keyboard_alone(view, folder):
    frame = (folder / "hospital.csv").read_text("utf-8").splitlines()
    name = frame[1].split(",")[0]
    page = view.open("/release?of=hospital.csv")
    page.wait_for_selector("#said")
    assert "names people" in page.text_content("#notes")
    page = view.open("/release?of=out")
    page.wait_for_selector("#said.safe")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
        if reached[-1] == "about":
            break
    assert {"requirement", "value", "l", "k", "m", "limit", "limit-text", "reset"} <= set(reached)
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(f'"{name}" != Flu')
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#answers tbody tr")
    rows = page.inner_text("#answers")
    assert re.search(r"Flu\s+[\d.]+%[^\n]*\s+0%", rows), rows


def test_the_answers_are_those_of_the_commands(inside, folder):
    told = inside.ask("/api/release/judged?requirement=2&l=1&k=3&m=1").json
    found = fk.audit(folder / "out", fk.Policy.load(folder / "policy.toml"), learned=False)
    second = found.verdicts[1]
    assert told["mood"] == ("safe" if second.safe else "unsafe")
    assert (
        told["sentence"] in found.summary().replace("\n", " ") or second.value in told["sentence"]
    )
    assert inside.ask("/api/release/judged?requirement=2&l=9999999").status == 400
    assert inside.ask("/api/release/judged?requirement=7").status == 400
    assert inside.ask("/api/release/judged?value=Nonsense").status == 400


def test_of_one_value_it_says_what_an_audit_says_of_it(inside, folder):
    sentences = set()
    for value in ("Flu", "HIV", "Syphilis"):
        rule = fk.Requirement(fk.Facts(1, 3, 1), below="1/50", values=[value])
        policy = fk.Policy([rule], fk.Policy.load(folder / "policy.toml").schema)
        (found,) = fk.audit(folder / "out", policy, learned=False).verdicts
        told = inside.ask(f"/api/release/judged?requirement=2&limit=1/50&value={value}").json
        assert found.found.value == value
        assert {row[3] for row in told["groups"]["rows"]} == {value}
        assert float(told["worst"].rstrip("%")) == pytest.approx(100 * found.probability, abs=0.1)
        sentences.add(told["sentence"])
    assert len(sentences) == 3


def test_statements_of_the_owner_are_those_of_ask(inside, folder):
    name = (folder / "hospital.csv").read_text("utf-8").splitlines()[1].split(",")[0]
    body = {"about": name, "statements": f'"{name}" != Flu\n# a remark\n'}
    told = inside.post("/api/release/asked", body).json["answers"]
    own = fk.named_release(folder / "out")
    found = fk.Statements(f'"{name}" != Flu').posteriors(own, people=[name])[name]
    assert len(told["rows"]) == len(found)
    values = {value: answer.probability for value, answer in found.items()}
    for value, _, after in told["rows"]:
        assert float(after["width"]) == pytest.approx(100 * values[value], abs=0.01)
    for wrong in (
        {"about": "", "statements": ""},
        {"about": name, "statements": "Tom !="},
        {"about": 1},
    ):
        assert inside.post("/api/release/asked", wrong).status == 400


def test_a_raw_table_needs_no_policy(tmp_path, folder):
    lines = (folder / "hospital.csv").read_text("utf-8").splitlines()
    (tmp_path / "t.csv").write_text("\n".join(line.partition(",")[2] for line in lines[:2000]))
    found = Place(tmp_path, tmp_path / "t.csv").browser().ask("/api/release").json
    assert found["mood"] == "unsafe"
    assert found["names"]


SEVERAL = """
[schema]
identifiers = ["name"]
person = "patient"
quasi_identifiers = ["age", "sex"]
sensitive = ["diagnosis", "charges"]
[[require]]
sensitive = "charges"
within = 3000
facts = { l = 1, k = 2 }
below = 0.9
[[require]]
any_of = { virus = ["HIV", "Hepatitis C"], mind = ["Schizophrenia"] }
sensitive = "diagnosis"
knowing = []
facts = { k = 2 }
below = 0.5
[[require]]
k_anonymity = 2
"""


def test_windows_sets_and_several_columns_have_dials(tmp_path, folder):
    (tmp_path / "t.csv").write_bytes((folder / "hospital.csv").read_bytes())
    (tmp_path / "p.toml").write_text(SEVERAL, encoding="utf-8")
    browser = Place(tmp_path, tmp_path / "t.csv", tmp_path / "p.toml").browser()
    rules = fk.Policy.load(tmp_path / "p.toml")
    near, sets, *_ = fk.audit(tmp_path / "t.csv", rules, learned=False).verdicts
    told = browser.ask("/api/release/judged?requirement=1").json
    assert told["mood"] == ("safe" if near.safe else "unsafe")
    assert "to within" in told["sentence"] or "between" in told["sentence"]
    assert told["exposed"].startswith("How many people")
    told = browser.ask("/api/release/judged?requirement=2").json
    assert told["mood"] == ("safe" if sets.safe else "unsafe")
    of_all = [
        browser.ask(f"/api/release/judged?requirement=2&value={v}") for v in ("virus", "mind")
    ]
    assert [answer.status for answer in of_all] == [200, 200]
    assert told["worst"] in [answer.json["worst"] for answer in of_all]
    assert [each["place"] for each in browser.ask("/api/release").json["dials"]] == [1, 2]
    assert browser.ask("/api/release/skyline?requirement=1&value=1000").status == 400
