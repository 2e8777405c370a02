"""What a shell completes, and what --help says of methods."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from foreknow.methods.registry import METHODS

KEYS = [key for key, _ in METHODS]
STARTS = (".bashrc", ".zshrc", "config.fish", "Microsoft.PowerShell_profile.ps1")


def completed(line, shell="bash"):
    """The words that a shell offers for the last one of a line."""
    words = line.split(" ")
    word = {"bash": str(len(words) - 1)}.get(shell, words[-1])
    asked = {"_FOREKNOW_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": word}
    code = "import sys; sys.argv = ['foreknow']; from foreknow.cli import main; main()"
    own = {**os.environ, **asked}
    done = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return [word.removeprefix("plain,") for word in done.stdout.splitlines()]


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


@pytest.mark.parametrize("shell", ["fish", "pwsh"])
def test_other_shells_get_the_same(shell):
    assert completed("foreknow publish t.csv --method ", shell) == KEYS
    assert completed("foreknow publish t.csv --method f", shell) == ["fulldomain"]
    if shell == "fish":  # whose words are told whole or begun
        assert completed("foreknow pub", shell)[0].startswith("publish")


@pytest.mark.parametrize("command", ["publish", "attack"])
def test_help_lists_every_method_with_what_it_does(desk, command):
    said = desk.says(command, "--help")
    for key, place in METHODS:
        assert f"{key}: " in said, place
    assert "naive: Not safe" in said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "pwsh"])
def test_completion_is_shown_or_installed_once(desk, monkeypatch, shell):
    monkeypatch.setattr(Path, "home", lambda: desk.folder)
    # Click asks bash how old it is.
    assert f"{shell}_complete" in (said := desk.run("--show-completion", shell)[1])
    for _ in range(2):
        assert f"completion.{shell}" in desk.run("--install-completion", shell)[1]
    made = desk.folder / ".config" / "foreknow" / f"completion.{shell}"
    assert made.read_text() == said.removesuffix("\n")
    (starts,) = [path for path in desk.folder.rglob("*") if path.name in STARTS]
    assert starts.read_text().count(str(made)) == 1


def test_the_shell_is_the_one_that_is_used_or_named(desk, monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/zsh")
    assert "zsh_complete" in desk.says("--show-completion")
    monkeypatch.setenv("SHELL", "/bin/csh")
    assert "say which shell it is for: bash, zsh" in desk.refused("--show-completion")


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


def test_a_group_is_called_by_its_columns_in_a_report(desk):
    policy = (desk.folder / "policy.toml").read_text().replace("0.9", "0.1")
    desk.put("strict.toml", policy)
    said = desk.says("audit", "table.csv", "--policy", "strict.toml", "--html", "r.html", code=1)
    assert "in age 20, sex f" in said
    assert "a member of group “age 20, sex f” has flu" in said
    assert "group “age 20, sex f”" in (desk.folder / "r.html").read_text("utf-8")
