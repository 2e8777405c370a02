"""The policy view: form and file follow each other, mistakes are said at their key."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.conftest import Place, View, serving

from foreknow.documents import from_toml
from foreknow.explore.policy import changed, line_of
from foreknow.explore.session import Session


def test_a_policy_of_up_to_a_megabyte_is_typed(browser):
    text = browser.ask("/api/policy").json["text"]
    long = text + "# long\n" * 50_000
    assert browser.post("/api/policy/written", {"text": long}).json["mistake"] is None
    answer = browser.post("/api/policy/written", {"text": "#" * (2 << 20)})
    assert "at most 1 MB" in answer.json["error"]
    assert browser.post("/api/policy/written", {"text": text}).status == 200


@pytest.fixture
def browser(folder):
    place = Place(folder, folder / "hospital.csv", folder / "policy.toml")
    browser = place.browser()
    browser.folder = folder
    return browser


def test_a_key_is_changed_where_it_stands(browser):
    before = browser.ask("/api/policy").json
    assert before["mistake"] is None
    body = {"path": ["require", 1, "facts", "k"], "value": "7", "number": True}
    found = browser.post("/api/policy/settled", body).json
    assert found["table"]["require"][1]["facts"] == {"l": 1, "k": 7, "m": 1}
    changed_lines = set(found["text"].splitlines()) - set(before["text"].splitlines())
    assert changed_lines == {"facts = { l = 1, k = 7, m = 1 }"}
    assert "# Names a person outright: never published." in found["text"]
    told = browser.ask("/api/release/judged?requirement=2").json
    assert told["limit"] == "50%"


def test_requirements_come_and_go(browser):
    added = {"path": ["require", 2], "value": {"k_anonymity": 5}}
    found = browser.post("/api/policy/settled", added).json
    assert found["text"].count("[[require]]") == 3
    found = browser.post("/api/policy/settled", {"path": ["require", 0], "value": None}).json
    assert [list(own) for own in found["table"]["require"]] == [["facts", "below"], ["k_anonymity"]]
    assert found["mistake"] is None


@pytest.mark.parametrize(
    ("old", "new", "path", "line"),
    [
        ("below = 0.25", "below = 25", ["require", 0, "below"], "below = 25"),
        ("below = 0.25", "belw = 0.25", ["require", 0, "belw"], "belw = 0.25"),
        ("k = 3, m = 1", "k = -3, m = 1", ["require", 1, "facts", "k"], "facts = { l = 1, k = -3"),
        ('sensitive = "diagnosis"', "", ["schema", "sensitive"], "[schema]"),
        ('method = "mondrian"', 'method = "mondriaan"', ["publish", "method"], "method = "),
        ("[schema]", "[schema", [], "[schema"),
    ],
)
def test_a_mistake_is_said_at_its_key(browser, old, new, path, line):
    text = browser.ask("/api/policy").json["text"]
    found = browser.post("/api/policy/written", {"text": text.replace(old, new, 1)}).json
    assert found["mistake"]["path"] == path
    said = found["text"].splitlines()[found["mistake"]["line"] - 1]
    assert said.startswith(line)
    assert browser.ask("/api/release").status == 400
    assert browser.post("/api/policy/saved", {"file": "x.toml"}).status == 400
    found = browser.post("/api/policy/written", {"text": text}).json
    assert found["mistake"] is None


def test_it_is_written_into_the_folder_and_replaces_nothing_else(tmp_path, folder):
    for name in ("hospital.csv", "marital.csv", "policy.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    browser = Place(tmp_path, tmp_path / "hospital.csv", tmp_path / "policy.toml").browser()
    body = {"path": ["require", 1, "below"], "value": "1/3", "number": True}
    browser.post("/api/policy/settled", body)
    assert browser.post("/api/policy/saved", {"file": "policy.toml"}).status == 200
    assert 'below = "1/3"' in (tmp_path / "policy.toml").read_text("utf-8")
    (tmp_path / "other.toml").write_text("kept", encoding="utf-8")
    devices = ["CON.toml", "nul.toml", "Com1.x.toml", "LPT¹.toml", "aux .toml"]
    for name in (
        *devices,
        "other.toml",
        "../x.toml",
        "hospital.csv",
        ".x.toml",
        "a/b.toml",
        "",
        5,
        None,
    ):
        assert browser.post("/api/policy/saved", {"file": name}).status == 400, name
    assert browser.post("/api/policy/saved", {"file": "new.toml"}).json["file"] == "new.toml"
    assert (tmp_path / "other.toml").read_text("utf-8") == "kept"
    assert not (tmp_path.parent / "x.toml").exists()


def test_wrong_paths_change_nothing(browser):
    before = browser.ask("/api/policy").json["text"]
    wrong = [[], ["require", 9, "below"], ["require", "x"], ["schema", "sensitive", "x"], [0], "x"]
    for path in [*wrong, ["require", -1], ["a"] * 9, [["x"]], ["require", 0, 0]]:
        assert browser.post("/api/policy/settled", {"path": path, "value": 1}).status == 400, path
    assert browser.ask("/api/policy").json["text"] == before


def test_the_policy_of_a_certificate_is_not_changed(inside):
    assert inside.ask("/api/policy?of=out").status == 400
    assert inside.post("/api/policy/written", {"of": "out", "text": ""}).status == 400


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
_TABLES = st.fixed_dictionaries(
    {"below": st.sampled_from([1, "1/2"]), "name": _TEXTS},
    optional={"values": st.lists(_TEXTS, max_size=3), "facts": st.just({"k": 2})},
)
_POLICIES = st.fixed_dictionaries(
    {"require": st.lists(_TABLES, min_size=1, max_size=4)},
    optional={
        "schema": st.fixed_dictionaries(
            {"sensitive": _TEXTS},
            optional={"hierarchies": st.dictionaries(_TEXTS, st.just({"mask": 5}), max_size=2)},
        ),
        "publish": st.fixed_dictionaries({"method": _TEXTS}),
    },
)


@settings(max_examples=40)
@given(_POLICIES, _POLICIES, _POLICIES)
def test_what_is_written_says_what_is_wanted(first, second, third):
    text = changed("# Above.\n", first)
    for wanted in (first, second, third):
        text = changed(text, wanted)
        said = from_toml(text)
        assert {key: said[key] for key in wanted} == {
            key: _without_empty(table) for key, table in wanted.items()
        }
        assert changed(text, wanted) == text


def _without_empty(table):
    if isinstance(table, dict) and table.get("hierarchies") == {}:
        return {key: own for key, own in table.items() if key != "hierarchies"}
    return table


def test_a_line_is_found_by_its_key():
    text = (
        "[schema]\na = 1\n[schema.hierarchies]\nzip = 2\n[[require]]\nb = 1\n[[require]]\nb = 2\n"
    )
    assert line_of(text, ["require", 1, "b"]) == 8
    assert line_of(text, ["schema", "hierarchies", "zip"]) == 4
    assert line_of(text, ["schema", "gone"]) == 1
    assert line_of(text, ["publish"]) is None
    assert line_of(text, []) is None


def test_form_and_file_follow_each_other_in_a_browser(chromium, folder):
    sync = pytest.importorskip("playwright.sync_api")
    session = Session(folder, folder / "hospital.csv", folder / "policy.toml")
    with serving(session) as (base, keys):
        view = View(chromium, base)
        view.open(f"/?token={keys.token}")
        page = view.open("/policy")
        page.wait_for_selector("#field-require-0-below")
        page.fill("#field-require-0-below", "0.3")
        page.keyboard.press("Tab")
        sync.expect(page.locator("#text")).to_have_value(re.compile("below = 0.3\n"))
        text = page.input_value("#text")
        page.fill("#text", text.replace("below = 0.3\n", "below = 3\n"))
        page.wait_for_selector("#mistake:not([hidden])")
        assert page.get_attribute("#field-require-0-below", "aria-invalid") == "true"
        assert page.get_attribute("#field-require-1-below", "aria-invalid") is None
        page.click("#mistake-go")
        chosen = "text => text.value.slice(text.selectionStart, text.selectionEnd)"
        assert page.eval_on_selector("#text", chosen) == "below = 3"
        page.fill("#text", text)
        page.wait_for_selector("#mistake", state="hidden")
        assert page.input_value("#field-require-0-below") == "0.3"
        assert view.said == []
        view.context.close()
