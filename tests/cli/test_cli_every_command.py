"""What holds for every command that writes what it finds, asked of the registry of commands."""

import shutil
from pathlib import Path

import click
import pytest
from tests.cli.desk import LABELS, POLICY, TABLE

import foreknow as fk
from foreknow.cli.entry import app

# The least that each takes in the folder of a desk; "made" was published.
PUBLISHED = ["made"]
BY_POLICY = ["table.csv", "--policy", "policy.toml"]
LEAST = {
    "audit": BY_POLICY,
    "skyline": [*BY_POLICY, "-c", "0.9"],
    "curves": [*BY_POLICY, "--upto", "1"],
    "ask": [*BY_POLICY, "-a", "Ann"],
    "risk": BY_POLICY,
    "attack": [*BY_POLICY, "--method", "fulldomain", "--set", "find=minimal"],
    "learned": [*PUBLISHED, "--by", "sex"],
    "compare": [*BY_POLICY, "--methods", "fulldomain", "--limits", "0.9", "--processes", "0"],
    "utility": ["made", *BY_POLICY, "--queries", "5"],
    "survey": [*BY_POLICY, "-k", "1"],
    "evidence": PUBLISHED,
    "priors": ["table.csv", "--by", "sex", "-s", "disease", "-o", "p.csv"],
}
EVERY = {command.name: command for command in app.commands.values()}


TAKES = {name: {each.name for each in command.params} for name, command in EVERY.items()}


def having(*options):
    """Commands with some options, by name."""
    return [name for name in EVERY if {*options} <= TAKES[name]]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder with a table, a policy and what was made of them."""
    folder = tmp_path_factory.mktemp("published")
    hierarchies = "\n[schema.hierarchies]\nage = { intervals = [20] }\n\n[["
    (folder / "policy.toml").write_text(POLICY.replace("\n[[", hierarchies, 1))
    (folder / "table.csv").write_text(TABLE)
    fk.publish(folder / "table.csv", folder / "policy.toml").write(folder / "made")
    return folder


@pytest.fixture
def ready(desk, published):
    shutil.copytree(published, desk.folder, dirs_exist_ok=True)
    return desk


def test_every_command_is_asked():
    assert {*having("json"), *having("html")} <= set(LEAST)


@pytest.mark.parametrize("name", having("json"))
def test_a_report_and_nothing_printed(ready, name):
    out = [] if "html" not in TAKES[name] else ["--html", "p.html"]
    code, said, err = ready.run(name, *LEAST[name], "--json", "found.json", *out, "--quiet")
    assert (said, err) == ("", "")
    assert code in (0, 1)
    found = ready.json("found.json")
    assert found["format"].startswith("foreknow ") or "verdicts" in found
    if out:
        assert (ready.folder / "p.html").read_text().lower().startswith("<!doctype html>")


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize("name", LEAST)
def test_nothing_read_is_written_over(ready, name, option):
    """Of every path that a command takes, each is given to it and to its output."""
    option = "--out" if name == "priors" else option
    if option.strip("-") not in TAKES[name]:
        pytest.skip(f"{name} has no {option}")
    ready.put("own.csv", TABLE)
    for each in EVERY[name].params:
        is_path = isinstance(each.type, click.Path) and each.name not in ("json", "html", "out")
        if is_path and isinstance(each, click.Option) and each.name != "exposed":
            given = [each.opts[0], "own.csv"]
            said = ready.refused(name, *LEAST[name], *given, option, "./own.csv")
            assert "'own.csv' is an input" in said, each.name
    source = LEAST[name][0]
    target = source if Path(source).suffix else f"{source}/release.csv"
    assert f"'{target}' is an input" in ready.refused(name, *LEAST[name], option, target)


@pytest.mark.parametrize("name", having("json", "html"))
def test_places_of_outputs(ready, name):
    least = [name, *LEAST[name]]
    assert "name the same file" in ready.refused(*least, "--html", "x", "--json", "./x")
    assert "is a web page" in ready.refused(*least, "--html", "x.pdf").replace("writes", "is")
    assert "for you only" in ready.refused(*least, "--json", "made/found.json")
    assert "nowhere" in ready.refused(*least, "--json", "nowhere/found.json")
    assert "nowhere" in ready.refused(*least, "--html", "nowhere/page.html")


@pytest.mark.parametrize("name", having("policy"))
def test_policies_that_are_not_there(ready, name):
    if name == "explore":
        pytest.skip("it says so on its page")
    least = LEAST.get(name, {"verify": PUBLISHED, "sql": []}.get(name, ["table.csv", "-o", "x"]))
    assert "'none.toml' does not exist" in ready.refused(name, *least, "--policy", "none.toml")


@pytest.mark.parametrize("name", sorted({*having("policy")} & {*LEAST} - {"learned", "evidence"}))
def test_columns_that_no_policy_describes(ready, name):
    ready.put("bare.toml", POLICY[POLICY.index("[[require]]") :].replace(LABELS, ""))
    said = ready.refused(name, *LEAST[name], "--policy", "bare.toml")
    assert "no [schema] table" in said
