"""The commands skyline, curves, survey and utility: what they print, write, and refuse."""

import json

import pytest
from tests import adult
from tests.cli.conftest import desk as desk

LATTICE = """[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"
identifiers = ["name"]

[schema.hierarchies]
age = { intervals = [20] }

[[require]]
implications = { k = 1 }
below = 0.9

[publish]
labels = { sex = "exact" }  # of a sex there are few
"""
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


def lines_of(text):
    """The lines of a text without what a terminal's width changes."""
    return " ".join(text.replace("─", "").split())


@pytest.fixture
def ward(desk):
    """A desk with a table of two wards, a policy with hierarchies, and how to ask."""
    desk.put("ward.csv", WARD)
    desk.put("lattice.toml", LATTICE)

    def ask(*more, confidence="0.9", columns=PLAIN):
        return ["skyline", "ward.csv", "--confidence", confidence, *columns, *more]

    desk.ask = ask
    return desk


def test_all_values_have_a_row_each(ward):
    out = ward.says(*ward.ask())
    for value, *amounts in [("AIDS", 1, 1, 1, 2), ("Cancer", 1, 2, 2, 3), ("Flu", 1, 1, 1, 2)]:
        assert " ".join(map(str, [value, *amounts])) in out


def test_a_value_has_its_points_and_the_nearest_point_beyond(ward):
    out = ward.says(*ward.ask("--value", "AIDS"))
    assert out.startswith("AIDS at 90%: 2 points")
    assert "0 1 0 an adversary who knows one other" in out
    assert "Too much already: an adversary who knows 2 other people's diseases" in out
    assert "l=0, k=2, m=0 is not withstood: the breach probability is 1." in out
    assert "Known people: in group 2: Cold × 1 and Flu × 1" in out
    assert "Bob" not in out


def test_any_amounts_can_be_asked_about(ward):
    for above, said in (
        ("0,0,1", "l=0, k=0, m=1 is withstood: the breach probability is 1/2 = 50.00%."),
        (" 1, 1,0", "l=1, k=1, m=0 is not withstood: the breach probability is 1."),
        ("0,0,0", "l=0, k=0, m=0 is withstood: the breach probability is 1/3 = 33.33%."),
    ):
        assert said in ward.says(*ward.ask("--value", "AIDS", "--above", above))


def test_people_are_named_only_on_request_and_only_in_the_terminal(ward):
    more = ["--value", "AIDS", "--html", "page.html", "--json", "points.json", "--person", "who"]
    plain = ward.says(*ward.ask(*more))
    assert "Cary" not in plain
    out = ward.says(*ward.ask(*more, "--name-people"))
    before, after = out.split("It is for the owner of the data only.")
    assert "Cary" not in before
    assert (
        "Someone who knows that Bob has Cold and that Ann Lee has Flu can be certain that Cary has "
        'AIDS. – Bob = Cold – "Ann Lee" = Flu'
    ) in after
    for name in ("page.html", "points.json"):
        assert b"Cary" not in (ward.folder / name).read_bytes()


def test_sets_have_their_own_words(ward):
    columns = [*PLAIN, *SET]
    out = ward.says(*ward.ask("--value", "AIDS", "--name-people", columns=columns))
    assert "people who do not have AIDS" in out
    assert "AIDS not in" in out


def test_columns_may_come_from_a_policy(desk):
    ask = ["skyline", "table.csv", "--policy", "policy.toml", "-c", "0.9", "-v", "flu"]
    out = desk.says(*ask)
    assert "flu at 90%: 0 points" in out  # every row is a group of its own
    out = desk.says(*ask, "--group", "sex", "--knowing=", "--person", "name", "--name-people")
    assert "Known people: in group f: cold × 1" in out
    assert "Fay = cold" in out


def test_quasi_identifiers_make_groups(desk):
    ask = ["skyline", "table.csv", "--sensitive", "disease", "-c", "1", "-v", "flu"]
    assert "member of group “sex f”" in desk.says(*ask, "--quasi-identifiers", "sex")
    assert "can be certain" in desk.says(*ask, "--quasi-identifiers", "sex, age")


def test_a_published_folder_needs_no_policy(desk):
    desk.run(*desk.publish())
    out = desk.says("skyline", "out", "-c", "0.9", "-v", "flu")
    assert "flu at 90%" in out
    assert desk.says("skyline", "out", "-c", "0.9", "-v", "flu", "--sensitive", "disease") == out
    said = desk.refused("skyline", "out", "-c", "0.9", "--sensitive", "diseas")
    assert "is no sensitive column; did you mean 'disease'" in said
    said = desk.refused("skyline", "out", "-c", "0.9", "--group", "sex")
    assert "are in its certificate; leave out --group" in said
    said = desk.refused("skyline", "out", "-c", "0.9", "-v", "flu", "--name-people", "-q")
    assert "names nobody" in said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--value", "AID"], "no group contains the sensitive value 'AID'; did you mean 'AIDS'?"),
        (["--value", "AIDS", "--above", "1,2"], "three whole numbers l,k,m from 0"),
        (["--value", "AIDS", "--above", "1,2,-3"], "three whole numbers l,k,m from 0"),
        (["--above", "1,2,3"], "add --value"),
        (["--name-people"], "add --value"),
        (["--value", "AIDS", "--name-people"], "needs a table with a row for each person, and"),
    ],
)
def test_what_cannot_be_meant_is_refused(ward, more, said):
    assert said in ward.refused(*ward.ask(*more))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ([], "say what the columns are: --policy FILE; or --sensitive"),
        (["--sensitive", "disease"], "either --group COLUMN or --quasi-identifiers"),
        ([*PLAIN, "--quasi-identifiers", "who"], "either --group COLUMN or --quasi-identifiers"),
        (
            ["--quasi-identifiers", "sex", "--policy", "policy.toml"],
            "--quasi-identifiers contradicts --policy",
        ),
        (["--sensitive", "diseas", "--group", "ward"], "did you mean 'disease'"),
        (["--sensitive", "disease", "--quasi-identifiers", ","], "has no column ''"),
    ],
)
def test_columns_that_are_not_clear_are_refused(ward, columns, said):
    assert said in ward.refused(*ward.ask(columns=columns))


# ---- curves -------------------------------------------------------------------------------------

CURVES = ["curves", "ward.csv", "--sensitive", "disease", "--group", "ward"]
RAW = ["curves", "table.csv", "--policy", "lattice.toml"]


def test_both_kinds_have_a_row_for_each_number_of_pieces(ward):
    out = ward.says(*CURVES, "--upto", "2")
    assert "any disease – ward.csv 7 people in 2 groups" in out
    assert "0 50.0% ======== 50.0% ========" in out
    assert "2 100% =============== 100%" in out
    assert "It takes" in out
    assert "Not judged: who." in out


def test_the_curve_of_one_value(ward):
    assert ward.says(*CURVES, "--upto", "1", "--value", "AIDS", "--json", "c.json", "-q") == ""
    read = ward.json("c.json")
    assert read["value"] == "AIDS"
    assert [point["implications"]["exact"] for point in read["points"]] == ["1/3", "1/2"]


def test_a_raw_table_is_generalized_first(ward):
    out = ward.says(*RAW, "--levels", " age = 1 , sex=*", "--html", "p.html")
    assert "8 people in 2 groups" in out
    assert "Not judged" not in out
    assert "age 20 to 39, sex *" in (ward.folder / "p.html").read_text("utf-8")
    out = ward.says(*RAW, "--levels", "sex=0")
    assert "8 people in 2 groups" in out
    columns = ["--sensitive", "disease", "--quasi-identifiers", "age, sex"]
    out = ward.says("curves", "table.csv", *columns, "--levels", "age=0,sex=0")
    assert "8 people in 8 groups" in out


def test_a_published_folder_needs_no_columns(ward):
    ward.says(*ward.publish())
    out = ward.says("curves", "out")
    assert "any disease" in out
    assert "is published already" in ward.refused("curves", "out", "--levels", "age=1")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--levels", "age"], "--levels takes a level for each column"),
        (["--levels", ""], "--levels takes a level for each column"),
        (["--levels", "age=1,age=2"], "--levels names 'age' twice"),
        (["--levels", "agee=1"], "'agee' is no quasi-identifier of table.csv; did you mean 'age'"),
        (["--levels", "age=1", "--group", "sex"], "leave out --group"),
        (["--levels", "age=1", "--quasi-identifiers", "sex"], "contradicts --policy"),
    ],
)
def test_what_cannot_be_asked_of_curves_is_refused(ward, more, said):
    assert said in ward.refused(*RAW, *more)


def test_a_raw_table_needs_columns(ward):
    said = ward.refused("curves", "table.csv", "--levels", "age=1", "--sensitive", "disease")
    assert "--quasi-identifiers" in said


def test_the_command_of_the_docs_draws_figure_5(desk):
    """One command from the table to the figure of the paper."""
    command = ["curves", adult.table(), "--policy", adult.LATTICE, "--levels", "age=3"]
    out = desk.says(*command, "--json", "five.json")
    golden = json.loads(adult.GOLDEN.read_text())
    points = desk.json("five.json")["points"]
    for kind in ("implications", "negations"):
        assert [round(point[kind]["probability"], 6) for point in points] == golden[kind]
    page = (adult.ROOT / "docs" / "research" / "implications.md").read_text("utf-8")
    assert lines_of(out) in lines_of(page)


# ---- survey -------------------------------------------------------------------------------------

SURVEY = ["survey", "table.csv", "--policy", "lattice.toml"]


def test_every_generalization_has_a_row(ward):
    out = ward.says(*SURVEY, "--knowledge", "0,1")
    assert "6 generalizations: entropy and worst disclosure – table.csv" in out
    assert "8 people; generalized: age, sex" in out
    assert "* * 1 1.000 50.0% 100%" in out
    assert "by so many implications" in out


def test_negations_are_another_question(ward):
    out = ward.says(*SURVEY, "-k", "1", "--negations", "--json", "s.json")
    assert "by so many negations" in out
    assert ward.json("s.json")["kind"] == "negations"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--knowledge", "1;3"], "--knowledge takes whole numbers"),
        (["--knowledge", ""], "--knowledge takes whole numbers"),
    ],
)
def test_what_cannot_be_surveyed_is_refused(ward, more, said):
    assert said in ward.refused(*SURVEY, *more)


def test_a_table_needs_columns_that_it_has(ward):
    assert "say what the columns are" in ward.refused("survey", "table.csv")
    ward.put("wrong.toml", LATTICE.replace('"disease"', '"diseases"'))
    said = ward.refused("survey", "table.csv", "--policy", "wrong.toml")
    assert "did you mean 'disease'?" in said


def test_the_command_of_the_docs_draws_figure_6(desk):
    """One command from the table to the figure of the paper."""
    out = desk.says("survey", adult.table(), "--policy", adult.LATTICE)
    page = (adult.ROOT / "docs" / "research" / "implications.md").read_text("utf-8")
    assert lines_of(out) in lines_of(page)


# ---- utility ------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [("skyline", "-c", "0.9"), ("curves", "--upto", "1")])
def test_rows_left_out_are_counted(desk, call):
    desk.put("gaps.csv", "town,illness\n" + "Ulm,flu\nUlm,cold\n" * 3 + "Ulm,\nUlm,\n")
    roles = '[schema]\nquasi_identifiers = ["town"]\nsensitive = "illness"\nmissing = "drop"\n'
    desk.put("gaps.toml", roles + "[[require]]\nfacts = { l = 0 }\nbelow = 0.9\n")
    command, *options = call
    said = desk.says(command, "gaps.csv", "-p", "gaps.toml", *options)
    assert "2 rows have no illness and were left out" in said
