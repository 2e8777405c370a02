"""What a shell completes, and what --help says of methods."""

import os
import subprocess
import sys

import pytest

from foreknow.methods.registry import METHODS

KEYS = [key for key, _ in METHODS]


def completed(line, shell="bash"):
    """The words that a shell offers for the last one of a line."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    if shell == "fish":
        asked = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    own = {**os.environ, "_FOREKNOW_COMPLETE": f"complete_{shell}", **asked}
    code = "import sys; sys.argv = ['foreknow']; from foreknow.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("foreknow pub", ["publish"]),
        ("foreknow publish t.csv --fo", ["--form", "--format"]),
        ("foreknow publish t.csv --method ", KEYS),
        ("foreknow attack t.csv --method f", ["fulldomain"]),
        ("foreknow publish t.csv --form b", ["bucketized"]),
        ("foreknow publish t.csv --format ", ["csv", "parquet"]),
        ("foreknow skyline t.csv --semantics s", ["single", "set"]),
    ],
)
def test_a_shell_completes_commands_options_and_what_they_take(line, offered):
    assert completed(line) == offered


def test_a_shell_whose_completions_are_lines_gets_one_for_each():
    assert completed("foreknow publish t.csv --method ", "fish") == KEYS


@pytest.mark.parametrize("command", ["publish", "attack"])
def test_help_lists_every_method_with_what_it_does(desk, command):
    said = desk.says(command, "--help")
    for key, place in METHODS:
        assert f"{key}: " in said, place
    assert "naive: Not safe" in said


def test_completion_can_be_shown(desk, monkeypatch):
    # Which shell this runs in cannot be told where there is none.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "=complete_bash $1" in desk.says("--show-completion", "bash")


def test_a_method_may_be_written_in_any_case(desk):
    said = desk.says(
        *("publish", "table.csv", "--policy", "policy.toml", "--out", "out"),
        *("--method", "Full_Domain", "--set", "suppression=0.1"),
    )
    assert "Safe: the requirement holds" in said
    certificate = desk.json("out/certificate.json")
    assert certificate["policy"]["publish"]["method"] == "fulldomain"
    assert certificate["method"]["suppression"] == 0.1


def test_utility_writes_a_page_with_a_baseline(desk):
    desk.says("publish", "table.csv", "--policy", "policy.toml", "--out", "out", "--quiet")
    said = desk.says(
        *("utility", "out", "table.csv", "--policy", "policy.toml", "--queries", "50"),
        *("--html", "utility.html", "--json", "utility.json"),
    )
    assert "Overall counts: the same queries" in said
    page = (desk.folder / "utility.html").read_text("utf-8")
    assert "For the owner only" in page
    assert "Overall counts: the same queries" in page
    for error in desk.json("utility.json")["query_errors"]:
        assert set(error["overall_counts"]) == {"average", "quantiles"}
    assert "is an input" in desk.refused(
        *("utility", "out", "table.csv", "--policy", "policy.toml", "--html", "table.csv")
    )


def test_a_group_is_called_by_its_columns_in_a_report(desk):
    policy = (desk.folder / "policy.toml").read_text().replace("0.9", "0.1")
    desk.put("strict.toml", policy)
    said = desk.says("audit", "table.csv", "--policy", "strict.toml", "--html", "r.html", code=1)
    assert "in age 20, sex f" in said
    assert "a member of group “age 20, sex f” has flu" in said
    assert "group “age 20, sex f”" in (desk.folder / "r.html").read_text("utf-8")
