"""The command `survey`, run in this process."""

import json

import pytest
from tests import adult
from tests.cli.test_cli_curves import LATTICE, told
from tests.cli.test_cli_skyline import words

ASK = ["survey", "table.csv", "--policy", "lattice.toml"]


@pytest.fixture
def small(desk):
    """A desk with a policy that makes six generalizations."""
    desk.put("lattice.toml", LATTICE)
    return desk


def test_every_generalization_has_a_row(small):
    code, out, err = small.run(*ASK, "--knowledge", "0,1")
    assert (code, err) == (0, "")
    out = words(out)
    assert "6 generalizations: entropy and worst disclosure table.csv" in out
    assert "8 people; generalized: age, sex" in out
    assert "* * 1 1.000 50.0% 100%" in out
    assert "by so many implications" in out


def test_negations_are_another_question(small):
    code, out, _ = small.run(*ASK, "-k", "1", "--negations", "--json", "s.json")
    assert code == 0
    assert "by so many negations" in words(out)
    assert json.loads((small.folder / "s.json").read_text())["kind"] == "negations"


def test_files_are_written_also_when_quiet(small):
    assert small.run(*ASK, "--html", "s.html", "--json", "s.json", "-q") == (0, "", "")
    read = json.loads((small.folder / "s.json").read_text())
    assert read["knowledge"] == [1, 3, 5, 7, 9, 11]
    assert len(read["nodes"]) == 6
    assert "6 generalizations" in (small.folder / "s.html").read_text("utf-8")


def test_columns_may_come_from_options(small):
    columns = ["--sensitive", "disease", "--quasi-identifiers", "age,sex"]
    code, out, _ = small.run("survey", "table.csv", *columns)
    assert code == 0
    assert "4 generalizations" in words(out)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--knowledge", "1;3"], "--knowledge takes whole numbers"),
        (["--knowledge", ""], "--knowledge takes whole numbers"),
        (["--knowledge", "-1"], "--knowledge takes whole numbers"),
        (["--knowledge", "999"], "at most 200 pieces"),
        (["--sensitive", "disease"], "--sensitive contradicts --policy"),
        (["--html", "lattice.toml"], "is an input"),
        (["--json", "nowhere/s.json"], "nowhere"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(small, more, said):
    assert said in small.refused(*ASK, *more)


def test_a_table_needs_columns_that_it_has(small):
    assert "say what the columns are" in small.refused("survey", "table.csv")
    small.put("wrong.toml", LATTICE.replace('"disease"', '"diseases"'))
    said = small.refused("survey", "table.csv", "--policy", "wrong.toml")
    assert "did you mean 'disease'?" in said


def test_the_command_of_the_docs_draws_figure_6(desk):
    """One command from the table to the figure of the paper."""
    code, out, _ = desk.run("survey", adult.table(), "--policy", adult.LATTICE)
    assert code == 0
    page = (adult.ROOT / "docs" / "research" / "implications.md").read_text("utf-8")
    assert told(out) in told(page)
