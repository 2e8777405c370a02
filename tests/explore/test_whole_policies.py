"""What a policy can say is said in the explorer: people, secrets, rules; taken back, and opened."""

import re
import shutil
import sqlite3
import time

import polars as pl
import pytest
from tests.explore.conftest import Place, View, serving

import foreknow as fk
from foreknow.explore.session import Session
from foreknow.toml import from_toml
from foreknow_judge.said import ASSUMPTIONS

POLICY = """
[schema]
identifiers = ["case"]
quasi_identifiers = ["age", "sex"]
sensitive = "ill"
other = ["ward"]

# Keep this.
[[require]]
facts = { l = 1 }
below = 0.9

[[require]]
k_anonymity = 2
"""


@pytest.fixture
def own(tmp_path):
    pl.DataFrame({
        "case": [f"c{i}" for i in range(60)],
        "who": [f"p{i // 2}" for i in range(60)],
        "age": [20 + i // 2 % 7 for i in range(60)],
        "sex": ["fm"[i // 2 % 2] for i in range(60)],
        "ill": ["flu", "cold", "gout"] * 20,
        "income": [1000 + 10 * i for i in range(60)],
        "ward": ["a", "b"] * 30,
    }).write_csv(tmp_path / "stays.csv")  # fmt: skip
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


@pytest.fixture
def browser(own):
    return Place(own, own / "stays.csv", own / "policy.toml").browser()


def until(page, script, seconds=60):
    """Wait for what a page says of itself; its own policy lets nothing wait in it."""
    end = time.monotonic() + seconds
    while not page.evaluate(script):
        assert time.monotonic() < end, script
        page.wait_for_timeout(50)


def role(browser, column, role):
    return browser.post("/api/columns/settled", {"column": column, "role": role}).json


def table(browser):
    return browser.ask("/api/policy").json["table"]


def test_a_column_names_people_and_rows_are_what_they_are(browser):
    found = role(browser, "who", "person")
    assert found["rows_are"] == "single"
    assert table(browser)["schema"]["person"] == "who"
    assert {c["name"]: c["role"] for c in found["columns"]}["case"] == "identifier"
    body = {"path": ["schema", "unit"], "value": "row"}
    assert browser.post("/api/policy/settled", body).json["mistake"] is None
    assert browser.ask("/api/columns").json["rows_are"] == "row"
    role(browser, "case", "person")  # there is one, and the other still names somebody
    assert table(browser)["schema"]["person"] == "case"
    assert table(browser)["schema"]["identifiers"] == ["who"]
    found = role(browser, "case", "")
    assert found["rows_are"] is None
    assert "person" not in table(browser)["schema"]


def test_a_second_sensitive_column_leaves_requirements_where_they_were(browser):
    found = role(browser, "income", "sensitive")
    assert found["mistake"] == ""
    first, second = table(browser)["require"]
    assert first["sensitive"] == "ill"
    assert "sensitive" not in second  # it counts people
    assert "# Keep this." in browser.ask("/api/policy").json["text"]


@pytest.fixture
def staff(tmp_path):
    """A table of which one secret is taken, and another asked about."""
    pl.DataFrame({
        "name": [f"P{i}" for i in range(60)],
        "age": [20 + i % 7 for i in range(60)],
        "sick_days": [i % 11 for i in range(60)],
        "salary": [20_000 + 500 * (i % 30) for i in range(60)],
    }).write_csv(tmp_path / "staff.csv")  # fmt: skip
    return Place(tmp_path, tmp_path / "staff.csv").browser()


def test_another_sensitive_column_is_chosen(staff):
    """First the new one, then the old one goes: nothing is left of it, in keys or comments."""
    before = staff.ask("/api/policy").json
    assert re.search(r"^sensitive = \"sick_days\"  # .*the word 'sick'$", before["text"], re.M)
    own = {**before["table"]["require"][0], "values": ["3"], "knowing": []}
    staff.post("/api/policy/settled", {"path": ["require", 0], "value": own})
    role(staff, "salary", "sensitive")
    assert role(staff, "sick_days", "")["mistake"] == ""
    after = staff.ask("/api/policy").json
    assert after["table"]["schema"]["sensitive"] == "salary"
    kept = {key: value for key, value in own.items() if key != "values"}
    assert after["table"]["require"][0] == kept
    assert 'sensitive = "salary"  # 30 values, numbers 20000 to 34500\n' in after["text"]
    assert '\n#   "sick_days"  11 values, numbers 0 to 10\n' in after["text"]
    for comment in ('#   "salary"', "With everybody in one group", "'sick'", "nothing says who"):
        assert comment in before["text"]
        assert comment not in after["text"]
    assert "# Nobody is alone" in after["text"]


def comments(text):
    """The comment of each column, wherever it is; and the lines that name none."""
    line = re.compile(r'^(?:sensitive = |person = |#? +)"(\w+)",?  (?:# )?(.*)$', re.M)
    return dict(line.findall(text))


def test_comments_move_with_columns(staff):
    """In each role, and back: what a column holds, and why only where it was suggested."""
    before = staff.ask("/api/policy").json["text"]
    suggested = comments(before)
    assert suggested.keys() == {"name", "age", "sick_days", "salary"}
    roles = {own["name"]: own["role"] for own in staff.ask("/api/columns").json["columns"]}
    for column, first in roles.items():
        for other in ("person", "identifier", "quasi-identifier", "sensitive", "other", "", first):
            role(staff, column, other)
            shown = comments(staff.ask("/api/policy").json["text"])
            holds = suggested[column].partition(";")[0]
            wanted = suggested if other == first else {**suggested, column: holds}
            assert shown == wanted, (column, other)
    assert table(staff)["schema"] == {**from_toml(before)["schema"], "other": []}


@pytest.mark.parametrize("text", ["sensitive = 'ill'  # Ours.", "sensitive = ['ill']  # Ours."])
def test_comments_leave_with_columns(own, text):
    """In a policy that nobody suggested, too."""
    text = POLICY.replace('sensitive = "ill"', text).replace(
        '["age", "sex"]', '[\n  # In years.\n  "age",  # Known.\n  "sex",  # Seen.\n]  # All.'
    )
    (own / "policy.toml").write_text(text)
    browser = Place(own, own / "stays.csv", own / "policy.toml").browser()
    role(browser, "income", "sensitive")
    role(browser, "ill", "")
    role(browser, "sex", "other")
    shown = browser.ask("/api/policy").json["text"]
    assert [line for line in shown.splitlines() if "#" in line] == [
        "  # In years.",
        '  "age",  # Known.',
        "]  # All.",
        "# Keep this.",
    ]


def test_shared_comments_are_refused(own):
    text = POLICY.replace('["age", "sex"]', '[\n  "age", "sex",  # Both known.\n]')
    (own / "policy.toml").write_text(text)
    browser = Place(own, own / "stays.csv", own / "policy.toml").browser()
    assert "change the text itself" in role(browser, "sex", "other")["error"]
    assert browser.ask("/api/policy").json["text"] == text


def test_questions_of_hierarchies_leave_with_columns(tmp_path):
    rows = [f"{20 + i % 40},2024-{1 + i % 12:02d}-03,{'abcd'[i % 4]}" for i in range(80)]
    (tmp_path / "t.csv").write_text("age,day,ill\n" + "\n".join(rows))
    browser = Place(tmp_path, tmp_path / "t.csv").browser()
    assert "# day = { dates" in browser.ask("/api/policy").json["text"]
    role(browser, "day", "other")
    assert "# day = { dates" not in browser.ask("/api/policy").json["text"]


def test_a_column_without_requirements_left(browser):
    role(browser, "income", "sensitive")
    about_income = {"sensitive": "income", "facts": {"l": 0}, "below": 0.5}
    browser.post("/api/policy/settled", {"path": ["require", 2], "value": about_income})
    assert role(browser, "ill", "other")["mistake"] == ""
    assert [own.get("sensitive") for own in table(browser)["require"]] == [None, "income"]


WAYS = {
    "missing: drop": {"missing": "drop"},
    "missing: label": {"missing": {"label": "missing"}},
    "cases: who": {"person": "who", "unit": "row"},
    "no person: who": {},
    "about: 0 ill": {},
    "remove: 0": {},
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_out_are_buttons(own, way):
    rows = pl.read_csv(own / "stays.csv")
    if way.startswith("missing"):
        rows = rows.with_columns(ill=pl.when(pl.col("age") > 21).then("ill"))
    rows.write_csv(own / "stays.csv")
    text = POLICY.replace('"case"', '"who"') if "who" in way else POLICY
    browser = Place(own, own / "stays.csv").browser()
    text = text.replace("below = 0.9", 'sensitive = "sex"\nbelow = 0.9') if "0" in way else text
    browser.post("/api/policy/written", {"text": text})
    assert browser.ask("/api/release").status == 400
    (decision,) = browser.ask("/api/columns").json["open"]
    assert way in [each["key"] for each in decision["ways"]]
    found = browser.post("/api/columns/decided", {"way": way}).json
    assert (found["open"], found["mistake"]) == ([], "")
    schema = table(browser)["schema"]
    assert {key: schema.get(key) for key in WAYS[way]} == WAYS[way]
    assert browser.ask("/api/release").status == 200
    assert browser.post("/api/columns/decided", {"way": way}).status == 400
    assert browser.post("/api/policy/undone", {}).json["text"] == text


def test_questions_stand_until_they_are_decided(staff):
    asked = staff.ask("/api/columns").json["questions"]
    text = staff.ask("/api/policy").json["text"]
    assert len(asked) == text.count("DECIDE: ") == questions_said(text)
    (about_salary,) = [said for said in asked if said.startswith("salary: sensitive, too?")]
    left = role(staff, "salary", "sensitive")["questions"]
    assert left == [said for said in asked if said != about_salary]
    assert len(left) == questions_said(staff.ask("/api/policy").json["text"])


def questions_said(text):
    """How many questions a policy says that it has."""
    said = re.search(r"^# (One thing needs|(\d+) things need) your decision", text, re.M)
    return 0 if said is None else int(said[2] or 1)


def test_numbers_are_listed_as_numbers(own):
    days = pl.read_csv(own / "stays.csv").with_columns(ill=pl.Series(["10", "9", "-1", "x"] * 15))
    days.write_csv(own / "stays.csv")
    browser = Place(own, own / "stays.csv", own / "policy.toml").browser()
    assert browser.ask("/api/release").json["dials"][0]["values"] == ["-1", "9", "10", "x"]


def test_a_refused_policy_shows_its_ways_out(chromium, own):
    (own / "policy.toml").write_text(POLICY.replace('"case"', '"who"'))
    with serving(Session(own, own / "stays.csv", own / "policy.toml")) as (base, keys):
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


def test_changes_are_taken_back_one_by_one(browser):
    before = browser.ask("/api/policy").json
    assert not before["undo"]
    role(browser, "income", "sensitive")
    role(browser, "ward", "quasi-identifier")
    found = browser.post("/api/policy/undone", {}).json
    assert found["table"]["schema"]["sensitive"] == ["ill", "income"]
    found = browser.post("/api/policy/undone", {}).json
    assert found["text"] == before["text"]
    assert not found["undo"]
    assert browser.post("/api/policy/undone", {}).status == 400


def test_each_table_of_a_database_and_sheet_of_a_workbook_opens(own):
    rows = pl.read_csv(own / "stays.csv")
    with sqlite3.connect(own / "clinic.sqlite") as opened:
        for name in ("stays", "a visit"):
            opened.execute(f'CREATE TABLE "{name}" (case_id TEXT, age INTEGER, ill TEXT)')
            found = rows.select("case", "age", "ill").rows()
            opened.executemany(f'INSERT INTO "{name}" VALUES (?, ?, ?)', found)
    opened.close()
    fk.publish(own / "stays.csv", own / "policy.toml").write(own / "out")
    place = Place(own, own / "clinic.sqlite")
    browser = place.browser()
    listed = {each["name"]: each["kind"] for each in browser.ask("/api/choices").json["choices"]}
    assert listed == {
        "clinic.sqlite": "tables",
        "out": "release",  # and nothing of its owner's folder
        "policy.toml": "policy",
        "stays.csv": "table",
    }
    assert browser.ask("/").headers["location"] == "/?in=clinic.sqlite"
    parts = browser.ask("/api/choices?in=clinic.sqlite").json["choices"]
    assert [each["name"] for each in parts] == [
        "clinic.sqlite?table=a visit", "clinic.sqlite?table=stays"
    ]  # fmt: skip
    found = browser.ask("/api/columns?of=clinic.sqlite%3Ftable%3Da+visit").json
    assert [column["name"] for column in found["columns"]] == ["case_id", "age", "ill"]
    assert "several tables" in browser.ask("/api/columns?of=clinic.sqlite").json["error"]
    opened = browser.ask("/api/policy?of=policy.toml").json
    assert opened["file"] == "policy.toml"
    taken = browser.post("/api/policy/taken", {"of": "stays.csv", "file": "policy.toml"}).json
    assert taken["table"]["schema"]["sensitive"] == "ill"
    assert browser.post("/api/policy/taken", {"of": "stays.csv", "file": "../x.toml"}).status == 400


def test_rows_are_shown_as_they_are_in_the_files(own, browser):
    (raw,) = browser.ask("/api/release/rows").json
    assert (raw["head"][0], raw["rows"][0][0], raw["many"]) == ("case", "c0", "60")
    fk.publish(own / "stays.csv", own / "policy.toml").write(own / "out")
    (released,) = browser.ask("/api/release/rows?of=out").json
    assert released["head"] == ["age", "sex", "ward", "ill"]
    assert len(released["rows"]) == 20


def test_a_trial_and_several_releases_have_a_page(own, browser):
    schema = fk.Policy.load(own / "policy.toml")
    rows = pl.read_csv(own / "stays.csv")
    fk.publish(rows[:30], schema).write(own / "january")
    fk.publish(rows, schema, after=own / "january").write(own / "march")
    found = browser.ask("/api/trials?of=march").json
    assert found["releases"] == ["january", "march"]
    told = browser.post("/api/trials/learned", {"of": "stays.csv", "by": ["ward"]}).json
    assert "by ward" in told["headline"]
    both = browser.post("/api/trials/together", {"releases": ["january", "march"]}).json
    assert both["mood"] == "safe"
    listed = [
        text for block in both["blocks"] if block["kind"] == "items" for text in block["texts"]
    ]
    assert {*ASSUMPTIONS} <= {*listed}
    assert any(text.startswith("Judged together, as one release: january") for text in listed)
    assert "2 to 20" in browser.post("/api/trials/together", {"releases": ["march"]}).json["error"]


@pytest.mark.parametrize("width", [1280, 400])
def test_a_person_says_all_of_it_and_the_browser_complains_of_nothing(chromium, own, width):
    with serving(Session(own, own / "stays.csv", own / "policy.toml")) as (base, keys):
        view = View(chromium, base)
        page = view.page
        page.set_viewport_size({"width": width, "height": 900})
        view.open(f"/?token={keys.token}")
        page.wait_for_url("**/columns*")
        page.select_option("#role-5", "sensitive")
        until(page, "document.querySelector('#undo').disabled === false")
        view.open("/policy")
        page.select_option("#field-require-0-secret", "any_of")
        page.fill("#field-require-0-any_of", "flu, cold")
        page.press("#field-require-0-any_of", "Tab")
        until(page, "document.querySelector('#text').value.includes('any_of')")
        page.select_option("#field-require-0-known", "none")
        until(page, "document.querySelector('#text').value.includes('knowing = []')")
        page.select_option("#field-require-0-sensitive", "income")
        # A field that nobody is in is drawn anew by the answer.
        until(page, "document.querySelector('#text').value.includes('income')")
        page.select_option("#field-require-0-secret", "within")
        until(page, "document.querySelector('#text').value.includes('within')")
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
        assert not view.said
        view.context.close()


@pytest.fixture
def hospital(tmp_path, folder):
    for name in ("hospital.csv", "marital.csv", "policy.toml"):
        shutil.copy(folder / name, tmp_path / name)
    return tmp_path


def test_what_matters_most_orders_releases_and_people_are_shown_before_and_after(
    chromium, hospital
):
    with serving(Session(hospital, hospital / "hospital.csv", hospital / "policy.toml")) as own:
        base, keys = own
        view = View(chromium, base)
        page = view.page
        view.open(f"/?token={keys.token}")
        view.open("/publish")
        for many, method in ((1, "mondrian"), (2, "fulldomain")):
            page.select_option("#method", method)
            page.click("#start")
            until(page, f"document.querySelectorAll('#trials .word.safe').length === {many}")
        assert "mondrian" in page.locator("#trials li").first.inner_text()
        cell = page.locator("#people tbody tr").first.locator("th, td").first.inner_text()
        raw, released = cell.split("\n")
        assert raw.isdigit()
        assert released.startswith("→ ")
        kept = page.locator("#trials li").first.inner_text()
        page.locator("#weight-2").evaluate("one => { one.value = 6; }")
        page.locator("#weight-2").dispatch_event("change")
        until(page, f"document.querySelector('#trials li').innerText !== {kept!r}")
        view.open("/policy")
        until(page, "document.querySelector('#text').value.includes('zip = 8')")
        assert not view.said
        view.context.close()
