"""The policy view: form and file follow each other, mistakes are said at their key."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import create_model
from tests.explore.conftest import Place, View, serving
from tests.toys import EvenGroups

from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria import registry
from foreknow.criteria.registry import CRITERIA
from foreknow.explore.form import form
from foreknow.explore.policy import changed, line_of
from foreknow.explore.session import Draft, Session, path_keys
from foreknow.policy.tables import PolicyTable, PublishTable
from foreknow.settings import known_keys
from foreknow.toml import from_toml, toml_value
from foreknow_judge.errors import InputError
from foreknow_judge.settings import Settings


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


def offered(browser):
    return {own["key"]: own for own in browser.ask("/api/policy").json["form"]["kinds"]}


def begun(browser, own):
    """What is wrong with a requirement that the form has just begun."""
    value = {own["key"]: own["usual"], **({"below": 0.5} if own["limited"] else {})}
    body = {"path": ["require", 0], "value": value}
    return browser.post("/api/policy/settled", body).json["mistake"]


def test_the_form_offers_each_kind_with_a_start_that_is_accepted(browser):
    kinds = offered(browser)
    every = {kind.key for kind in (*ADVERSARIES, *CRITERIA)}
    assert kinds.keys() == every - {"levels"}  # a table of columns
    with_file = {"priors", "k_map", "delta_presence", "population_risk"}
    for key, own in kinds.items():
        mistake = begun(browser, own)
        assert (mistake is not None) == (key in with_file), key
    assert kinds["facts"]["fields"][1]["about"] == "people known"
    assert kinds["l_diversity"]["usual"] == {"l": 3}
    choices = [value for value, _ in kinds["l_diversity"]["fields"][1]["choices"]]
    assert choices == ["distinct", "entropy", "recursive"]
    assert [field["key"] for field in kinds["k_map"]["fields"]] == ["population", "k"]
    assert "k_map" in begun(browser, kinds["k_map"])["path"]


@pytest.fixture
def with_even_groups(monkeypatch):
    """A criterion of another package is registered."""
    monkeypatch.setattr(registry, "CRITERIA", (*CRITERIA, EvenGroups))
    form.cache_clear()
    yield
    form.cache_clear()


OUTSIDE = [
    ("require", {"priors": {"file": "../by_sex.csv"}, "below": 0.5}),
    ("require", {"priors": {"file": ["policy.toml", "../by_sex.csv"]}, "below": 0.5}),
    ("require", {"k_map": {"k": 2, "population": "../by_sex.csv"}}),
    ("require", {"listed_groups": {"people_in": "../by_sex.csv"}}),
    ("schema", {"hierarchies": {"age": {"file": "../by_sex.csv"}}}),
]


@pytest.mark.parametrize(("key", "table"), OUTSIDE, ids=str)
def test_files_outside_are_refused(key, table, tmp_path, monkeypatch):
    class Listed(EvenGroups):
        key = "listed_groups"
        settings = create_model("Listed", __base__=Settings, people_in=(Path, ...))

    monkeypatch.setattr(registry, "CRITERIA", (*CRITERIA, Listed))
    path_keys.cache_clear()
    draft = Draft("", None, tmp_path, tmp_path)
    with pytest.raises(InputError, match="which the policy names, is not in the folder"):
        draft.check({key: [table] if key == "require" else table})
    path_keys.cache_clear()


def test_a_further_criterion_is_offered(with_even_groups, browser):
    own = offered(browser)["even_groups"]
    assert not own["limited"]
    assert own["usual"] == 1
    body = {"path": ["require", 0], "value": {"even_groups": own["usual"]}}
    found = browser.post("/api/policy/settled", body).json
    assert found["mistake"] is None
    assert found["table"]["require"][0] == {"even_groups": 1}


def test_every_key_has_a_field(browser):
    """Of a table of the policy: one in the form, or it is a table itself."""
    made = browser.ask("/api/policy").json["form"]
    fields = [field["key"] for field in (*made["secret"], *made["limit"], *made["more"])]
    by_columns = ["sensitive", "knowing"]
    assert {*fields, *by_columns} == {*known_keys(PolicyTable)}
    shown = {field["key"] for field in made["publish"]}
    assert shown == {*known_keys(PublishTable)} - {"labels", "weights", "round"}
    assert {field["key"] for field in made["methods"]["fulldomain"]} >= {"suppression", "find"}


@pytest.mark.parametrize(
    ("old", "new", "path", "line"),
    [
        ("below = 0.25", "below = 25", ["require", 0, "below"], "below = 25"),
        ("below = 0.25", "belw = 0.25", ["require", 0, "belw"], "belw = 0.25"),
        ("k = 3, m = 1", "k = -3, m = 1", ["require", 1, "facts", "k"], "facts = { l = 1, k = -3"),
        ("below = 0.25", "at_most_times = 0.5", ["require", 0, "at_most_times"], "at_most_times"),
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


def test_a_name_is_no_place(browser):
    """A mistake whose message quotes a name that looks like a key of the policy."""
    text = browser.ask("/api/policy").json["text"]
    named = text.replace("below = 0.25", 'below = 0.25\nname = "require[9]: x"\nat_level = 1', 1)
    assert browser.post("/api/policy/written", {"text": named}).json["mistake"]["said"]


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


LAID_OUT = """# Ours.
[schema]
quasi_identifiers = [
  "age",  # years
  "zip",
]
sensitive = 'ill'  # Never shown.

# How they coarsen.
[schema.hierarchies]
zip = { mask = 5 }

# Nobody.
[[require]]
name = "one"
facts = { l = 1, k = 2 }  # few
below = 0.50

# Somebody.
[[require]]
facts = {l=1}
below = "1/3"

# Last.
[publish]
method = "mondrian"
"""
IN_A_LINE = """require = [{ facts = { k = 1 }, below = 1 }, { k_anonymity = 2 }]
schema.sensitive = "a"
"""
FIRST = """# Nobody.
[[require]]
name = "one"
facts = { l = 1, k = 2 }  # few
below = 0.50

"""
_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
_VALUES = st.one_of(
    st.sampled_from([1, "1/2", Decimal("0.30"), 0.1, True, ["a", "b"], [], {"l": 1, "k": 2}]),
    _TEXTS,
)
_PLACES = st.one_of(
    st.tuples(st.just("require"), st.integers(0, 2), st.sampled_from(["below", "name", "new"])),
    st.tuples(st.just("require"), st.integers(0, 1), st.just("facts"), st.sampled_from("klm")),
    st.tuples(st.just("schema"), st.sampled_from(["sensitive", "person", "quasi_identifiers"])),
    st.tuples(st.just("schema"), st.sampled_from(["hierarchies", "types"]), _TEXTS),
    st.tuples(st.just("publish"), st.sampled_from(["method", "form"])),
)
_TABLES = st.dictionaries(st.sampled_from(["below", "facts", "name"]), _VALUES, min_size=1)
_CHANGES = st.lists(
    st.tuples(_PLACES, st.none() | _VALUES)
    | st.tuples(st.tuples(st.just("require"), st.integers(0, 3)), st.none() | _TABLES),
    max_size=6,
)


def _said(value):
    return from_toml(f"x = {toml_value(value)}")["x"]


@settings(max_examples=150, deadline=None)
@given(_CHANGES, st.sampled_from([LAID_OUT, IN_A_LINE, "# Above.\n", ""]))
def test_what_is_written_says_what_is_wanted_and_no_comment_moves(changes, text):
    for path, value in changes:
        before, table = text, from_toml(text)
        try:
            text = changed(text, path, value)
        except InputError:
            continue
        place = table
        for key in path[:-1]:
            place = place.setdefault(key, {}) if isinstance(key, str) else place[key]
        if isinstance(place, list):
            place[path[-1] : path[-1] + 1] = [] if value is None else [_said(value)]
        elif value is None:
            place.pop(path[-1], None)
        else:
            place[path[-1]] = _said(value)
        assert from_toml(text) == table
        comments = [line for line in before.splitlines() if line.startswith("#")]
        kept = [line for line in text.splitlines() if line.startswith("#")]
        gone = [line for line in comments if line not in kept]
        assert [line for line in comments if line in kept] == kept
        assert len(gone) <= (value is None and path[0] == "require" and len(path) == 2)


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (["schema", "sensitive"], "job", "sensitive = 'ill'", 'sensitive = "job"'),
        (["schema", "person"], "p", "# Never shown.", '# Never shown.\nperson = "p"'),
        (["schema", "hierarchies", "a b"], {"mask": 2}, "{ mask = 5 }", None),
        (["require", 0, "facts", "k"], 7, "k = 2", "k = 7"),
        (["require", 1, "below"], Decimal("0.25"), '"1/3"', "0.25"),
        (["require", 0, "name"], None, 'name = "one"\n', ""),
        (["publish", "form"], "bucketized", '"mondrian"', '"mondrian"\nform = "bucketized"'),
        (["require", 0], None, FIRST, ""),
        (["require", 2], {"k_anonymity": 5}, '"1/3"', '"1/3"\n\n[[require]]\nk_anonymity = 5'),
        (["require", 1], {"k_anonymity": 5}, 'facts = {l=1}\nbelow = "1/3"', "k_anonymity = 5"),
    ],
)
def test_a_change_leaves_all_else_as_it_is(path, value, old, new):
    new = f'{old}\n"a b" = {{ mask = 2 }}' if new is None else new
    assert LAID_OUT.count(old) == 1
    assert changed(LAID_OUT, path, value) == LAID_OUT.replace(old, new)


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
