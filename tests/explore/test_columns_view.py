"""The columns view: roles, hierarchies, values that these do not cover."""

import sqlite3
from contextlib import closing

import pytest
from tests.explore.conftest import Place

from foreknow.explore.session import Session

HEAD = "name,age,zip,day,ill\n"
ROWS = [
    f"P{i},{20 + i % 40},0{2138 + i % 3},2024-{1 + i % 12:02d}-03,{'abcd'[i % 4]}"
    for i in range(80)
]


@pytest.fixture
def browser(tmp_path):
    (tmp_path / "t.csv").write_text(HEAD + "\n".join(ROWS), encoding="utf-8")
    place = Place(tmp_path, tmp_path / "t.csv")
    browser = place.browser()
    browser.session = place.session
    return browser


def column(found, name):
    return next(each for each in found["columns"] if each["name"] == name)


def test_columns_begin_with_what_is_suggested(browser):
    found = browser.ask("/api/columns").json
    assert found["rows"] == 80
    assert not found["mistake"]
    assert column(found, "name")["role"] == "identifier"
    assert column(found, "age")["reason"]
    assert column(found, "zip")["examples"] == ["02138", "02139", "02140"]
    assert column(found, "day")["hierarchy"] is None
    text = browser.ask("/api/policy").json["text"]
    assert '# day = { dates = ["month", "quarter", "year"] }  # ranges keep more' in text


def test_a_role_is_set_in_the_policy_whose_comments_stay(browser):
    before = browser.ask("/api/policy").json["text"]
    body = {"column": "zip", "role": "other"}
    found = browser.post("/api/columns/settled", body).json
    assert column(found, "zip")["role"] == "other"
    text = browser.ask("/api/policy").json["text"]
    assert 'other = [\n  "zip",  # 3 values\n]' in text
    kept = [line for line in before.splitlines() if line.startswith("# Nobody is alone")]
    assert kept
    assert set(kept) <= set(text.splitlines())
    policy = browser.session.draft("t.csv").policy
    assert policy.schema.other == ("zip",)
    assert "zip" not in policy.schema.hierarchies
    body = {"column": "day", "role": "quasi-identifier", "hierarchy": {"dates": ["year"]}}
    found = browser.post("/api/columns/settled", body).json
    assert column(found, "day")["coarsens"] == "by year"
    assert browser.ask("/api/release").status == 200


def test_a_policy_that_cannot_be_is_said_and_can_be_mended(browser):
    found = browser.post("/api/columns/settled", {"column": "ill", "role": ""}).json
    assert "sensitive" in found["mistake"]
    assert browser.ask("/api/release").status == 400
    found = browser.post("/api/columns/settled", {"column": "ill", "role": "sensitive"}).json
    assert not found["mistake"]
    assert browser.ask("/api/release").status == 200


def test_levels_are_shown_and_what_they_do_not_cover(browser, tmp_path):
    def preview(column, hierarchy):
        return browser.post("/api/columns/preview", {"column": column, "hierarchy": hierarchy})

    found = preview("age", {"intervals": [5, 20]}).json
    assert (found["covered"], found["left"]) == (40, 0)
    assert found["levels"]["rows"][0] == ["20", "20 to 24", "20 to 39", "*"]
    assert found["levels"]["rows"][-1] == ["how many", "8", "2", "1"]
    found = preview("zip", {"mask": 5}).json
    assert found["levels"]["rows"][0][:3] == ["02138", "0213*", "021**"]
    (tmp_path / "h.csv").write_text("02138;south;*\n02139;south;*\n", encoding="utf-8")
    found = preview("zip", {"file": "h.csv"}).json
    assert (found["covered"], found["left"], found["missing"]) == (2, 1, ["02140"])
    assert "02140" in found["why"]
    for wrong in ({"mask": 0}, {"masks": 5}, {"file": "../h.csv"}, {"intervals": ["x"]}, [], "x"):
        assert preview("zip", wrong).status == 400, wrong
    assert preview("nothing", {"mask": 2}).status == 400


def test_a_release_has_no_roles_to_set(inside):
    assert inside.ask("/api/columns?of=out").status == 400
    body = {"of": "out", "column": "age", "role": "other"}
    assert inside.post("/api/columns/settled", body).status == 400


def test_wrong_changes_are_refused(browser):
    for body in ({"column": "age"}, {"column": "x", "role": "other"}, {"column": 1, "role": []}):
        assert browser.post("/api/columns/settled", body).status == 400


def test_columns_are_read_by_the_spellings_of_the_policy(tmp_path):
    rows = [row.replace(",2024", ",k. A.,2024") if i % 9 else row.replace(",2024", ",7,2024")
            for i, row in enumerate(ROWS)]  # fmt: skip
    head = HEAD.replace("zip", "zip,visits")
    (tmp_path / "t.csv").write_text(head + "\n".join(rows), encoding="utf-8")
    place = Place(tmp_path, tmp_path / "t.csv")
    browser = place.browser()
    text = browser.ask("/api/policy").json["text"]
    assert 'missing = ["k. A."]' in text
    visits = column(browser.ask("/api/columns").json, "visits")
    assert (visits["kind"], visits["nulls"]) == ("number", "71")
    draft = place.session.draft("t.csv")
    place.session.set_policy("t.csv", draft.saying(text.replace('missing = ["k. A."]', "")))
    visits = column(browser.ask("/api/columns").json, "visits")
    assert (visits["kind"], visits["nulls"]) == ("text", "0")


def test_a_release_has_no_columns_to_say_anything_of(inside):
    body = {"of": "out", "column": "zip", "hierarchy": {"mask": 5}}
    for path in ("preview", "settled"):
        answer = inside.post(f"/api/columns/{path}", {**body, "role": "other"})
        assert answer.status == 400
        assert "published already" in answer.json["error"]


def test_one_of_several_tables_is_opened_by_its_name(tmp_path):
    with closing(sqlite3.connect(tmp_path / "clinic.sqlite")) as database:
        for name in ("stays", "staff"):
            database.execute(f"CREATE TABLE {name} (age INTEGER, ill TEXT)")
            database.executemany(f"INSERT INTO {name} VALUES (?, ?)", [(20, "a"), (30, "b")] * 9)
        database.commit()
    browser = Place(tmp_path).browser()
    assert "clinic.sqlite?table=staff" in browser.ask("/api/columns?of=clinic.sqlite").json["error"]
    chosen = "of=clinic.sqlite?table=stays"
    assert browser.ask(f"/api/columns?{chosen}").json["rows"] == 18
    assert browser.ask(f"/api/policy?{chosen}").status == 200
    for wrong in ("clinic.sqlite?table=x", "../clinic.sqlite?table=stays", "x.sqlite?table=stays"):
        assert browser.ask(f"/api/columns?of={wrong}").status == 400
    given = Session(tmp_path, tmp_path / "clinic.sqlite?table=stays")
    assert given.first == "clinic.sqlite?table=stays"
    other = tmp_path / "other"
    other.mkdir()
    given = Place(other, tmp_path / "clinic.sqlite?table=stays").browser()
    assert given.ask("/api/columns").json["rows"] == 18
