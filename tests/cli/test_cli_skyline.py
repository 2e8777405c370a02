"""The command `skyline`, run in this process."""

import json

import pytest
from tests.cli.desk import POLICY

WARD = """who,ward,disease
Ed,1,Flu
Frank,1,Cancer
Gary,1,Flu
Tom,1,AIDS
Ann Lee,2,Flu
Bob,2,Cold
Cary,2,AIDS
"""
PLAIN = ["--sensitive", "disease", "--group", "ward"]
SET = ["--person", "who", "--semantics", "set"]


@pytest.fixture
def ward(desk):
    """A desk with a table of two wards, and how to ask about it."""
    desk.put("ward.csv", WARD)

    def ask(*more, confidence="0.9", columns=PLAIN):
        return ["skyline", "ward.csv", "--confidence", confidence, *columns, *more]

    desk.ask = ask
    return desk


def words(text):
    return " ".join(text.split())


def test_all_values_have_a_row_each(ward):
    code, out, err = ward.run(*ward.ask())
    assert (code, err) == (0, "")
    for value, *amounts in [("AIDS", 1, 1, 1, 2), ("Cancer", 1, 2, 2, 3), ("Flu", 1, 1, 1, 2)]:
        assert " ".join(map(str, [value, *amounts])) in words(out)


def test_a_value_has_its_points_and_the_nearest_point_beyond(ward):
    code, out, _ = ward.run(*ward.ask("--value", "AIDS"))
    assert code == 0
    out = words(out)
    assert out.startswith("AIDS at 90%: 2 points")
    assert "0 1 0 somebody who knows one other person's disease, but no" in out
    assert "Too much already: somebody who knows 2 other people's diseases" in out
    assert "l=0, k=2, m=0 is not withstood: the breach probability is 1." in out
    assert "Known people: in group 2: Cold × 1 and Flu × 1" in out
    assert "Bob" not in out


def test_several_values_are_told_one_after_the_other(ward):
    _, out, _ = ward.run(*ward.ask("--value", "Flu", "-v", "AIDS"))
    assert out.index("Flu at 90%") < out.index("AIDS at 90%")


@pytest.mark.parametrize(
    ("above", "said"),
    [
        ("0,0,1", "l=0, k=0, m=1 is withstood: the breach probability is 1/2 = 50.00%."),
        (" 1, 1,0", "l=1, k=1, m=0 is not withstood: the breach probability is 1."),
        ("0,0,0", "l=0, k=0, m=0 is withstood: the breach probability is 1/3 = 33.33%."),
    ],
)
def test_any_amounts_can_be_asked_about(ward, above, said):
    code, out, _ = ward.run(*ward.ask("--value", "AIDS", "--above", above))
    assert code == 0
    assert said in words(out)


def test_people_are_named_only_on_request_and_only_in_the_terminal(ward):
    more = ["--value", "AIDS", "--html", "page.html", "--json", "points.json", "--person", "who"]
    _, plain, _ = ward.run(*ward.ask(*more))
    assert "Cary" not in plain
    code, out, _ = ward.run(*ward.ask(*more, "--name-people"))
    assert code == 0
    before, after = words(out).split("It is for the owner of the data only.")
    assert "Cary" not in before
    assert (
        "Someone who knows that Bob has Cold and that Ann Lee has Flu can be certain that Cary has "
        'AIDS. Bob = Cold "Ann Lee" = Flu'
    ) in after
    for name in ("page.html", "points.json"):
        assert b"Cary" not in (ward.folder / name).read_bytes()


def test_sets_have_their_own_words(ward):
    columns = [*PLAIN, *SET]
    _, out, _ = ward.run(*ward.ask("--value", "AIDS", "--name-people", columns=columns))
    assert "people who do not have AIDS" in words(out)
    assert "AIDS not in" in out


def test_json_and_html_are_written_also_when_quiet(ward):
    assert ward.run(*ward.ask("--html", "p.html", "--json", "s.json", "--quiet")) == (0, "", "")
    told = json.loads((ward.folder / "s.json").read_text())
    assert [value["value"] for value in told["values"]] == ["AIDS", "Cancer", "Cold", "Flu"]
    assert told["sensitive"] == "disease"
    assert "What the release withstands" in (ward.folder / "p.html").read_text("utf-8")


def test_columns_may_come_from_a_policy(desk):
    ask = ["skyline", "table.csv", "--policy", "policy.toml", "-c", "0.9", "-v", "flu"]
    code, out, _ = desk.run(*ask)
    assert code == 0
    assert "flu at 90%: 0 points" in out  # every row is a group of its own
    code, out, _ = desk.run(*ask, "--group", "sex", "--person", "name", "--name-people")
    assert code == 0
    assert "Known people: in group f: cold × 1" in out
    assert "Fay = cold" in out


def test_quasi_identifiers_make_groups(desk):
    ask = ["skyline", "table.csv", "--sensitive", "disease", "-c", "1", "-v", "flu"]
    _, out, _ = desk.run(*ask, "--quasi-identifiers", "sex")
    assert "member of group f" in words(out)
    _, out, _ = desk.run(*ask, "--quasi-identifiers", "sex, age")
    assert "can be certain" in words(out)


def test_a_published_folder_needs_no_policy(desk):
    desk.run(*desk.publish())
    code, out, _ = desk.run("skyline", "out", "-c", "0.9", "-v", "flu")
    assert code == 0
    assert "flu at 90%" in out
    said = desk.refused("skyline", "out", "-c", "0.9", "--sensitive", "disease")
    assert "are in its certificate; leave out --sensitive" in said
    said = desk.refused("skyline", "out", "-c", "0.9", "-v", "flu", "--name-people", "-q")
    assert "names nobody" in said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--value", "AID"], "no group contains the sensitive value 'AID'; did you mean 'AIDS'?"),
        (["--value", "AIDS", "--above", "1,2"], "three whole numbers l,k,m from 0"),
        (["--value", "AIDS", "--above", "1,2,-3"], "three whole numbers l,k,m from 0"),
        (["--value", "AIDS", "--above", "a,b,c"], "three whole numbers l,k,m from 0"),
        (["--above", "1,2,3"], "add --value"),
        (["--name-people"], "add --value"),
        (["--value", "AIDS", "--name-people"], "needs a table with a row for each person, and"),
        (["--person", "nobody"], "has no column 'nobody'"),
        (["--semantics", "bag"], "semantics 'bag' is unknown"),
        (["--html", "ward.csv"], "'ward.csv' is an input"),
        (["--html", "x", "--json", "x"], "name the same file"),
    ],
)
def test_what_cannot_be_meant_is_refused(ward, more, said):
    assert said in ward.refused(*ward.ask(*more))


@pytest.mark.parametrize("confidence", ["0", "1.5", "95", "-1", "much"])
def test_a_confidence_is_above_0_and_at_most_1(ward, confidence):
    said = ward.refused(*ward.ask(confidence=confidence))
    assert "above 0 and at most 1" in said or "not a number" in said


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ([], "say what the columns are: --policy FILE; or --sensitive"),
        (["--sensitive", "disease"], "either --group COLUMN or --quasi-identifiers"),
        ([*PLAIN, "--quasi-identifiers", "who"], "either --group COLUMN or --quasi-identifiers"),
        ([*PLAIN, "--policy", "policy.toml"], "--sensitive contradicts --policy"),
        (["--sensitive", "diseas", "--group", "ward"], "did you mean 'disease'"),
        (["--sensitive", "disease", "--quasi-identifiers", ","], "has no column ''"),
    ],
)
def test_columns_that_are_not_clear_are_refused(ward, columns, said):
    assert said in ward.refused(*ward.ask(columns=columns))


def test_a_policy_without_a_schema_needs_one(desk):
    desk.put("bare.toml", POLICY[POLICY.index("[[require]]") :])
    ask = ["skyline", "table.csv", "--policy", "bare.toml", "-c", "0.9"]
    assert "no [schema] table" in desk.refused(*ask)
    assert "no [schema] table" in desk.refused(*ask, "--person", "name")
