"""The columns view: roles, hierarchies, values that these do not cover."""

import pytest
from tests.explore.conftest import Place

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
    assert column(found, "day")["hierarchy"] == {"dates": ["month", "quarter", "year"]}


def test_a_role_is_set_in_the_policy_whose_comments_stay(browser):
    before = browser.ask("/api/policy").json["text"]
    body = {"column": "zip", "role": "other"}
    found = browser.post("/api/columns/settled", body).json
    assert column(found, "zip")["role"] == "other"
    text = browser.ask("/api/policy").json["text"]
    assert 'other = ["zip"]' in text
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
