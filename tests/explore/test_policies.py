"""Policies in the explorer: form and file follow each other, and say all that a policy can say."""

import random
import re
import sqlite3
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import create_model
from tests.common import examples
from tests.explore.conftest import POLICY, Place
from tests.toys import EvenGroups

import foreknow as fk
from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria import registry
from foreknow.criteria.registry import CRITERIA
from foreknow.features.explore.columns import ROLES
from foreknow.features.explore.policy import changed
from foreknow.features.explore.session import Draft, path_keys
from foreknow.policy.tables import PolicyTable, PublishTable
from foreknow.settings import known_keys
from foreknow.toml import from_toml, toml_value
from foreknow_judge.errors import InputError
from foreknow_judge.policy.settings import Settings
from foreknow_judge.remarks.assumptions import ASSUMPTIONS


@pytest.fixture
def browser(folder):
    return Place(folder, folder / "hospital.csv", folder / "policy.toml").browser()


@pytest.fixture
def cases(stays):
    """A browser of the table of cases."""
    return of_cases(stays)


def of_cases(stays):
    return Place(stays, stays / "stays.csv", stays / "policy.toml").browser()


def settled(browser, path, value, **more):
    return browser.post("/api/policy/settled", {"path": path, "value": value, **more}).json


def text_of(browser):
    return browser.ask("/api/policy").json["text"]


def typed(browser, text):
    return browser.post("/api/policy/written", {"text": text}).json


def test_large_policies_can_be_typed(browser):
    text = text_of(browser)
    assert typed(browser, text + "# long\n" * 50_000)["mistake"] is None
    assert "at most 1 MB" in typed(browser, "#" * (2 << 20))["error"]
    assert typed(browser, text)["text"] == text


def offered(browser):
    return {own["key"]: own for own in browser.ask("/api/policy").json["form"]["kinds"]}


def begun(browser, own):
    """What is wrong with a requirement that the form has just begun."""
    value = {own["key"]: own["usual"], **({"below": 0.5} if own["limited"] else {})}
    return settled(browser, ["require", 0], value)["mistake"]


def test_form_offers_valid_starts(browser):
    kinds = offered(browser)
    every = {*ADVERSARIES, *CRITERIA}
    assert kinds.keys() == every - {"levels"}  # a table of columns
    with_file = {"priors", "k_map", "delta_presence", "population_risk"}
    for key, kind in kinds.items():
        mistake = begun(browser, kind)
        assert (mistake is not None) == (key in with_file), key
    assert kinds["facts"]["fields"][1]["about"] == "people known"
    assert kinds["l_diversity"]["usual"] == {"l": 3}
    choices = [value for value, _ in kinds["l_diversity"]["fields"][1]["choices"]]
    assert choices == ["distinct", "entropy", "recursive"]
    assert [field["key"] for field in kinds["k_map"]["fields"]] == ["population", "k"]
    assert "k_map" in begun(browser, kinds["k_map"])["path"]


OUTSIDE = [
    ("require", {"priors": {"file": "../by_sex.csv"}, "below": 0.5}),
    ("require", {"priors": {"file": ["policy.toml", "../by_sex.csv"]}, "below": 0.5}),
    ("require", {"k_map": {"k": 2, "population": "../by_sex.csv"}}),
    ("require", {"listed_groups": {"people_in": "../by_sex.csv"}}),
    ("schema", {"hierarchies": {"age": {"file": "../by_sex.csv"}}}),
    ("schema", {"hierarchies": {"age": {"file": "/etc/passwd"}}}),
]


@pytest.mark.parametrize(("key", "table"), OUTSIDE, ids=str)
def test_files_outside_are_refused(key, table, tmp_path, monkeypatch):
    class Listed(EvenGroups):
        key = "listed_groups"
        settings = create_model("Listed", __base__=Settings, people_in=(Path, ...))

    monkeypatch.setattr(registry, "CRITERIA", {**CRITERIA, Listed.key: Listed})
    path_keys.cache_clear()
    draft = Draft("", None, tmp_path, tmp_path)
    with pytest.raises(InputError, match="which the policy names, is not in the folder"):
        draft.check({key: [table] if key == "require" else table})
    path_keys.cache_clear()


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
def test_mistakes_appear_at_their_key(browser, old, new, path, line):
    text = text_of(browser)
    message = typed(browser, text.replace(old, new, 1))
    assert message["mistake"]["path"] == path
    said = message["text"].splitlines()[message["mistake"]["line"] - 1]
    assert said.startswith(line)
    assert browser.ask("/api/release").status == 400
    assert browser.post("/api/policy/saved", {"file": "x.toml"}).status == 400
    assert typed(browser, text)["mistake"] is None


def test_saving_replaces_only_the_policy(tmp_path, folder):
    for name in ("hospital.csv", "marital.csv", "policy.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    browser = Place(tmp_path, tmp_path / "hospital.csv", tmp_path / "policy.toml").browser()
    settled(browser, ["require", 1, "below"], "1/3", number=True)
    assert browser.post("/api/policy/saved", {"file": "policy.toml"}).status == 200
    assert 'below = "1/3"' in (tmp_path / "policy.toml").read_text("utf-8")
    (tmp_path / "other.toml").write_text("kept", encoding="utf-8")
    wrong = ["CON.toml", "nul.toml", "Com1.x.toml", "LPT¹.toml", "aux .toml", "other.toml"]
    for name in [*wrong, "../x.toml", "hospital.csv", ".x.toml", "a/b.toml", "", 5, None]:
        assert browser.post("/api/policy/saved", {"file": name}).status == 400, name
    assert browser.post("/api/policy/saved", {"file": "new.toml"}).json["file"] == "new.toml"
    assert (tmp_path / "other.toml").read_text("utf-8") == "kept"
    assert not (tmp_path.parent / "x.toml").exists()


def test_wrong_paths_change_nothing(browser):
    before = text_of(browser)
    wrong = [[], ["require", 9, "below"], ["require", "x"], ["schema", "sensitive", "x"], [0], "x"]
    wrong += [["require", 0], ["require", 1]]
    for path in [*wrong, ["require", -1], ["a"] * 9, [["x"]], ["require", 0, 0]]:
        assert browser.post("/api/policy/settled", {"path": path, "value": 1}).status == 400, path
    assert text_of(browser) == before


def test_certified_policies_stay_unchanged(inside):
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


@examples(400, 25, deadline=None)
@given(_CHANGES, st.sampled_from([LAID_OUT, IN_A_LINE, "# Above.\n", ""]))
def test_edits_keep_comments_in_place(changes, text):
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
def test_edits_change_nothing_else(path, value, old, new):
    new = f'{old}\n"a b" = {{ mask = 2 }}' if new is None else new
    assert LAID_OUT.count(old) == 1
    assert changed(LAID_OUT, path, value) == LAID_OUT.replace(old, new)


# ---- tables of cases -----------------------------------------------------------------------------


def role(browser, column, role):
    return browser.post("/api/columns/settled", {"column": column, "role": role}).json


def table(browser):
    return browser.ask("/api/policy").json["table"]


def comments(text):
    """The comment of each column, with its role, or none in the list of those without."""
    line = re.compile(r'^(?:sensitive = |person = |#? +)"(\w+)",?  (?:# )?(.*)$', re.M)
    return dict(line.findall(text))


@pytest.mark.parametrize("seed", range(4))
def test_comments_follow_roles(tmp_path, seed):
    """Whatever was clicked, each column has the comment of its role, and no other column's."""
    draw, columns = random.Random(seed), ("pid", "zip", "sick_days", "salary", "ill", "pay")
    rows = [
        f"P{i},{10115 + i % 7},{i % 13},{30000 + 137 * i},{'abcd'[i % 4]},{i % 9}"
        for i in range(90)
    ]
    (tmp_path / "t.csv").write_text("\n".join([",".join(columns), *rows]), encoding="utf-8")
    place = Place(tmp_path, tmp_path / "t.csv")
    browser = place.browser()
    role(browser, "salary", "sensitive")
    for _ in range(8):
        result = role(browser, draw.choice(columns), draw.choice(ROLES))
        roles = {column["name"]: column["role"] for column in result["columns"]}
        told = {
            column.name: column.comment(roles[column.name] or "undecided")
            for column in place.session.suggested("t.csv").columns
        }
        text = text_of(browser)
        assert comments(text) == {column: told[column] for column in columns if told[column]}
        listed = text.partition("# Not published, until you give them a role:\n")[2]
        unpublished = re.findall(r'^#   "(\w+)"', listed, re.M)
        assert sorted(unpublished) == sorted(column for column in columns if not roles[column])


def test_shared_comments_are_refused(stays):
    text = POLICY.replace('["age", "sex"]', '[\n  "age", "sex",  # Both known.\n]')
    (stays / "policy.toml").write_text(text)
    browser = of_cases(stays)
    assert "change the text itself" in role(browser, "sex", "other")["error"]
    assert text_of(browser) == text


def test_a_column_without_requirements_left(cases):
    role(cases, "income", "sensitive")
    about_income = {"sensitive": "income", "facts": {"l": 0}, "below": 0.5}
    settled(cases, ["require", 2], about_income)
    assert role(cases, "ill", "other")["mistake"] == ""
    assert [own.get("sensitive") for own in table(cases)["require"]] == [None, "income"]


WAYS = {
    "missing: drop": {"missing": "drop"},
    "missing: label": {"missing": {"label": "missing"}},
    "cases: who": {"person": "who", "unit": "row"},
    "no person: who": {},
    "about: 0 ill": {},
    "remove: 0": {},
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_out_are_buttons(stays, way):
    rows = pl.read_csv(stays / "stays.csv")
    if way.startswith("missing"):
        rows = rows.with_columns(ill=pl.when(pl.col("age") > 21).then("ill"))
    rows.write_csv(stays / "stays.csv")
    text = POLICY.replace('"case"', '"who"') if "who" in way else POLICY
    browser = Place(stays, stays / "stays.csv").browser()
    text = text.replace("below = 0.9", 'sensitive = "sex"\nbelow = 0.9') if "0" in way else text
    browser.post("/api/policy/written", {"text": text})
    assert browser.ask("/api/release").status == 400
    (decision,) = browser.ask("/api/columns").json["open"]
    assert way in [each["key"] for each in decision["ways"]]
    answer = browser.post("/api/columns/decided", {"way": way}).json
    assert (answer["open"], answer["mistake"]) == ([], "")
    schema = table(browser)["schema"]
    assert {key: schema.get(key) for key in WAYS[way]} == WAYS[way]
    assert browser.ask("/api/release").status == 200
    assert browser.post("/api/columns/decided", {"way": way}).status == 400
    assert browser.post("/api/policy/undone", {}).json["text"] == text


def test_tables_and_sheets_open(stays):
    rows = pl.read_csv(stays / "stays.csv")
    with sqlite3.connect(stays / "clinic.sqlite") as opened:
        for name in ("stays", "a visit"):
            opened.execute(f'CREATE TABLE "{name}" (case_id TEXT, age INTEGER, ill TEXT)')
            result = rows.select("case", "age", "ill").rows()
            opened.executemany(f'INSERT INTO "{name}" VALUES (?, ?, ?)', result)
    opened.close()
    fk.publish(stays / "stays.csv", stays / "policy.toml").write(stays / "out")
    place = Place(stays, stays / "clinic.sqlite")
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
    assert [part["name"] for part in parts] == [
        "clinic.sqlite?table=a visit", "clinic.sqlite?table=stays"
    ]  # fmt: skip
    result = browser.ask("/api/columns?of=clinic.sqlite%3Ftable%3Da+visit").json
    assert [column["name"] for column in result["columns"]] == ["case_id", "age", "ill"]
    assert "several tables" in browser.ask("/api/columns?of=clinic.sqlite").json["error"]
    for wrong in ("clinic.sqlite?table=x", "../clinic.sqlite?table=stays", "x.sqlite?table=stays"):
        assert browser.ask(f"/api/columns?of={wrong}").status == 400
    given = Place(stays / "out", stays / "clinic.sqlite?table=stays").browser()
    assert given.ask("/api/columns").json["rows"] == 60
    opened = browser.ask("/api/policy?of=policy.toml").json
    assert opened["file"] == "policy.toml"
    answer = browser.post("/api/policy/taken", {"of": "stays.csv", "file": "policy.toml"}).json
    assert answer["table"]["schema"]["sensitive"] == "ill"
    assert browser.post("/api/policy/taken", {"of": "stays.csv", "file": "../x.toml"}).status == 400


def test_rows_appear_as_in_files(stays, cases):
    (raw,) = cases.ask("/api/release/rows").json
    assert (raw["head"][0], raw["rows"][0][0], raw["many"]) == ("case", "c0", "60")
    fk.publish(stays / "stays.csv", stays / "policy.toml").write(stays / "out")
    (released,) = cases.ask("/api/release/rows?of=out").json
    assert released["head"] == ["age", "sex", "ward", "ill"]
    assert len(released["rows"]) == 20


def test_trials_and_several_have_pages(stays, cases):
    schema = fk.Policy.load(stays / "policy.toml")
    rows = pl.read_csv(stays / "stays.csv")
    fk.publish(rows[:30], schema).write(stays / "january")
    fk.publish(rows, schema, after=stays / "january").write(stays / "march")
    answer = cases.ask("/api/trials?of=march").json
    assert answer["releases"] == ["january", "march"]
    told = cases.post("/api/trials/learned", {"of": "stays.csv", "by": ["ward"]}).json
    assert "by ward" in told["headline"]
    both = cases.post("/api/trials/together", {"releases": ["january", "march"]}).json
    assert both["mood"] == "safe"
    listed = [
        text for block in both["blocks"] if block["kind"] == "items" for text in block["texts"]
    ]
    assert {*ASSUMPTIONS} <= {*listed}
    assert any(text.startswith("Judged together, as one release: january") for text in listed)
    assert "2 to 20" in cases.post("/api/trials/together", {"releases": ["march"]}).json["error"]


@pytest.mark.parametrize(
    "text", ["= no TOML", "schema = 5", "publish = 5", "schema.types = 5", "publish.mondrian = 5"]
)
def test_malformed_policies_are_answered(browser, text):
    """Typed into the page, they ended other buttons by an error of the server."""
    answer = browser.post("/api/policy/written", {"text": text}).json
    assert answer["mistake"]
    for view in ("columns", "policy", "publish", "trials"):
        assert browser.ask(f"/api/{view}").status in (200, 400)
    asked = {"column": "age", "role": "identifier"}
    assert browser.post("/api/columns/settled", asked).status in (200, 400)
    started = browser.post("/api/publish/start", {"method": "mondrian"})
    assert started.status in (400, 409)
