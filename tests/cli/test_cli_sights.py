"""What is taken to be known beside a value is said by every command; a forged claim is words."""

import json
import random

import pytest

POLICY = """[schema]
quasi_identifiers = ["age"]
sensitive = ["ill", "=pay"]
other = ["job"]

[[require]]
sensitive = "ill"
facts = {}
below = 0.95

[[require]]
sensitive = "=pay"
knowing = []
facts = {}
below = 0.95

[[require]]
k_anonymity = 2
"""
APART = '\n[publish]\nunlinked = ["=pay"]\n'
SHUFFLED = "Within each group =pay is shuffled, by the publisher's word: values do not show it."
ASSUMED = "A requirement on =pay assumes that nobody knows the ill or job of anybody."


@pytest.fixture
def town(desk):
    draw = random.Random(5)
    rows = [
        f"p{i},{draw.randint(20, 29)},{draw.choice('abcd')},{draw.choice('1234')},{job}"
        for i, job in enumerate(draw.choices(["cook", "nurse"], k=300))
    ]
    desk.put("town.csv", "\n".join(["who,age,ill,=pay,job", *rows]))
    desk.put("town.toml", POLICY.replace("quasi", 'identifiers = ["who"]\nquasi', 1))
    desk.put("apart.toml", POLICY.replace("quasi", 'identifiers = ["who"]\nquasi', 1) + APART)
    return desk


def test_each_requirement_says_its_column_and_what_is_known(town):
    published = town.says("publish", "town.csv", "-p", "town.toml", "-o", "out", "--seed", "1")
    verified = town.says("verify", "out")
    assert "every requirement on ill and =pay holds" in verified
    assert "ill: against facts l = 0, k = 0, m = 0 and the =pay and job of everybody: " in verified
    assert "=pay: against facts l = 0, k = 0, m = 0: at most" in verified
    for said in (published, verified, town.says("audit", "out", "-p", "town.toml")):
        assert ASSUMED in said
        assert "Not judged" not in said
        assert SHUFFLED not in said


def test_columns_published_apart_rest_on_the_publishers_word(town):
    for form in ("generalized", "bucketized"):
        out = f"out-{form}"
        town.says("publish", "town.csv", "-p", "apart.toml", "-o", out, "--form", form)
        verified = town.says("verify", out)
        assert (SHUFFLED in verified) == (form == "generalized")  # else it has a table of its own
        assert "assumes" not in verified
        known = json.loads((town.folder / out / "certificate.json").read_text())["policy"]
        assert known["publish"]["unlinked"] == ["=pay"]


def test_a_forged_claim_that_a_column_was_shuffled_is_refused(town):
    town.says("publish", "town.csv", "-p", "town.toml", "-o", "out", "--seed", "1")
    path = town.folder / "out/certificate.json"
    forged = json.loads(path.read_text())
    forged["policy"]["publish"]["unlinked"] = ["=pay"]
    path.write_text(json.dumps(forged))
    code, _, err = town.run("verify", "out")
    assert code == 1
    assert "must be called '=pay_shuffled'" in err


def test_a_skyline_curves_and_answers_say_what_is_known(town):
    columns = ["--quasi-identifiers", "age", "-s", "ill"]
    for command in (["skyline", "-c", "1"], ["curves", "--upto", "1"]):
        arguments = [command[0], "town.csv", *command[1:], *columns, "--html", "page.html"]
        said = town.says(*arguments, "--knowing", "job")
        page = (town.folder / "page.html").read_text("utf-8")
        for text in (said, page):
            assert "The adversary knows the job of everybody." in text
            assert "Not judged: who, =pay." in text
        (town.folder / "page.html").unlink()
    asked = ["ask", "town.csv", *columns, "--person", "who", "--about", "p1"]
    said = town.says(*asked, "--knowing", "")
    assert "Not judged: who, =pay, job. An adversary who knows them" in said


def test_names_of_people_in_a_table_are_said(town):
    said = town.says("audit", "town.csv", "-p", "town.toml", code=1)
    assert "The table names people, in who: what is published must not." in said
    assert "Not judged: who" not in said
