"""Names that would steer a terminal, of columns, folders and options, are shown as escapes."""

import pytest
from tests.cli.desk import TABLE

STEERING = "job\x1b[31m\u202e"
SHOWN = r"job\x1b[31m\u202e"


def said(answer, code):
    """What was printed, in which nothing steers."""
    found, out, err = answer
    assert found == code, err
    assert "\x1b" not in out + err
    assert "\u202e" not in out + err
    return "".join((out + err).split())


def test_a_column_that_was_not_judged(desk):
    desk.put("odd.csv", TABLE.replace("name,", f"{STEERING},", 1))
    assert f"Notjudged:{SHOWN}" in said(desk.run(*desk.audit(release="odd.csv")), 1)


def test_a_folder_that_is_written(desk):
    assert f"Writtento{SHOWN}" in said(desk.run(*desk.publish(out=STEERING)), 0)


@pytest.mark.parametrize("name", ["[red]x", "x[/red]"])
def test_a_folder_whose_name_looks_like_markup(desk, name):
    (desk.folder / name).parent.mkdir(exist_ok=True)
    assert f"Writtento{name}:" in said(desk.run(*desk.publish(out=name)), 0)


def test_a_file_of_priors_and_its_column(desk):
    desk.put("odd.csv", TABLE.replace("disease", STEERING))
    made = desk.run("priors", "odd.csv", "--by", "sex", "-s", STEERING, "-o", f"{STEERING}.csv")
    assert f"valuesof{SHOWN}:writtento{SHOWN}.csv" in said(made, 0)


@pytest.mark.parametrize("argv", [("audit", "--" + STEERING), ("verify", "a", "b", STEERING)])
def test_an_option_or_argument_that_does_not_exist(desk, argv):
    assert SHOWN in said(desk.run(*argv), 2)
