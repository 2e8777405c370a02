"""The command `curves`, run in this process."""

import json

import pytest
from tests import adult
from tests.cli.test_cli_skyline import WARD, words

LATTICE = """[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"
identifiers = ["name"]

[schema.hierarchies]
age = { intervals = [20] }

[[require]]
implications = { k = 1 }
below = 0.9
"""
PLAIN = ["curves", "ward.csv", "--sensitive", "disease", "--group", "ward"]
RAW = ["curves", "table.csv", "--policy", "lattice.toml"]


@pytest.fixture
def ward(desk):
    """A desk with a table of two wards, and a policy with hierarchies."""
    desk.put("ward.csv", WARD)
    desk.put("lattice.toml", LATTICE)
    return desk


def test_both_kinds_have_a_row_for_each_number_of_pieces(ward):
    code, out, err = ward.run(*PLAIN, "--upto", "2")
    assert (code, err) == (0, "")
    out = words(out)
    assert "any disease ward.csv 7 people in 2 groups" in out
    assert "0 50.0% 50.0%" in out
    assert "2 100% 100%" in out
    assert "It takes" in out
    assert "Not judged: who." in out


def test_the_curve_of_one_value(ward):
    code, out, _ = ward.run(*PLAIN, "--upto", "1", "--value", "AIDS", "--json", "c.json", "-q")
    assert (code, out) == (0, "")
    told = json.loads((ward.folder / "c.json").read_text())
    assert told["value"] == "AIDS"
    assert [point["implications"]["exact"] for point in told["points"]] == ["1/3", "1/2"]


def test_a_raw_table_is_generalized_first(ward):
    code, out, _ = ward.run(*RAW, "--levels", " age = 1 , sex=*", "--html", "p.html")
    assert code == 0
    assert "8 people in 2 groups" in words(out)
    assert "Not judged" not in out
    assert "20 to 39, *" in (ward.folder / "p.html").read_text("utf-8")
    _, out, _ = ward.run(*RAW, "--levels", "sex=0")
    assert "8 people in 2 groups" in words(out)
    columns = ["--sensitive", "disease", "--quasi-identifiers", "age, sex"]
    _, out, _ = ward.run("curves", "table.csv", *columns, "--levels", "age=0,sex=0")
    assert "8 people in 8 groups" in words(out)


def test_a_published_folder_needs_no_columns(ward):
    assert ward.run(*ward.publish())[0] == 0
    code, out, _ = ward.run("curves", "out")
    assert code == 0
    assert "any disease" in words(out)
    assert "is published already" in ward.refused("curves", "out", "--levels", "age=1")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--levels", "age"], "--levels takes a level for each column"),
        (["--levels", "age=x"], "--levels takes a level for each column"),
        (["--levels", "=1"], "--levels takes a level for each column"),
        (["--levels", ""], "--levels takes a level for each column"),
        (["--levels", "age=1,age=2"], "--levels names 'age' twice"),
        (["--levels", "agee=1"], "'agee' is no quasi-identifier of table.csv; did you mean 'age'"),
        (["--levels", "age=3"], "'age' has the levels 0 (exact) to 2 ('*'), not 3"),
        (["--levels", "sex=2"], "give it a hierarchy"),
        (["--levels", "age=1", "--group", "sex"], "leave out --group"),
        (["--levels", "age=1", "--sensitive", "disease"], "contradicts --policy"),
        (["--levels", "age=1", "--upto", "500"], "upto is at most 200"),
        (["--levels", "age=1", "--upto", "-1"], "upto must be 0 or more"),
        (["--levels", "age=1", "--value", "flue"], "'flue'; did you mean 'flu'?"),
        (["--levels", "age=1", "--html", "table.csv"], "is an input"),
        (["--levels", "age=1", "--html", "a", "--json", "a"], "name the same file"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(ward, more, said):
    assert said in ward.refused(*RAW, *more)


def test_a_raw_table_needs_columns(ward):
    said = ward.refused("curves", "table.csv", "--levels", "age=1", "--sensitive", "disease")
    assert "--quasi-identifiers" in said


def test_sets_are_refused(ward):
    ward.put("set.toml", LATTICE.replace("[schema]", '[schema]\nsemantics = "set"\nperson = "who"'))
    said = ward.refused("curves", "ward.csv", "--policy", "set.toml", "--group", "ward")
    assert "not semantics 'set'" in said


def test_a_page_that_cannot_be_written_leaves_nothing(ward):
    said = ward.refused(*RAW, "--levels", "age=1", "--html", "nowhere/page.html")
    assert "nowhere" in said


def test_the_command_of_the_docs_draws_figure_5(desk):
    """One command from the table to the figure of the paper."""
    command = ["curves", adult.table(), "--policy", adult.LATTICE, "--levels", "age=3"]
    code, out, _ = desk.run(*command, "--json", "five.json")
    assert code == 0
    golden = json.loads(adult.GOLDEN.read_text())
    points = json.loads((desk.folder / "five.json").read_text())["points"]
    for kind in ("implications", "negations"):
        assert [round(point[kind]["probability"], 6) for point in points] == golden[kind]
    page = (adult.ROOT / "docs" / "research" / "implications.md").read_text("utf-8")
    assert told(out) in told(page)


def told(text):
    """The lines of a text without what a terminal's width changes."""
    return words(text.replace("─", ""))
