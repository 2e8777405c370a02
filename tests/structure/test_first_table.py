"""The page "your first table": every command on it is run, in order, on a public table.

Output is compared where it is stable: verdicts, exit codes, numbers that follow from the tables and
policies. "..." on the page stands for anything, so that another layout of a table, other cuts or
words do not matter. What the search came to is in one table, and compared with a tolerance.
"""

import io
import json
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from tests.people import short_report

import foreknow as fk
from foreknow.cli import main

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "examples" / "data"
PAGE = (ROOT / "docs" / "do" / "your-first-table.md").read_text("utf-8")

pytestmark = [
    pytest.mark.complete,
    pytest.mark.skipif(
        not TABLES.exists() and not (ROOT / ".git").exists(),
        reason="the public tables are in the repository, not in the source archive",
    ),
]


def steps(page):
    """Each file to save, as (name, its text), and each command, as (command, the lines below)."""
    name = None
    for text, kind, block in re.findall(r"(.*?)```(\w+)\n(.*?)```\n", page, flags=re.DOTALL):
        if kind == "toml":
            (name,) = re.findall(r"[Ss]ave (?:it )?as `([\w-]+\.toml)`", text)[-1:]
            yield name, block
        else:
            assert kind == "console"
            for part in block.removeprefix("$ ").split("\n$ "):
                command, *said = part.strip("\n").split("\n")
                yield command, said


def is_said(said, output):
    """Whether the output is these lines, where "..." is anything and spaces do not count."""
    words = re.split(r"\s*\.\.\.\s*", " ".join(" ".join(said).split()))
    pattern = r".*?".join(re.escape(word) for word in words)
    return re.fullmatch(pattern, " ".join(output.split()), flags=re.DOTALL) is not None


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """A folder in which all of the page was done, with (command, lines, output) of each command."""
    folder = tmp_path_factory.mktemp("first") / "data"
    shutil.copytree(TABLES, folder)
    results, code = [], 0
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "200")
        short_report(patch)
        for step, rest in steps(PAGE):
            if isinstance(rest, str):
                Path(step).write_text(rest, "utf-8")
                continue
            code, output = run(step, code, patch)
            results.append((step, rest, output))
    return folder, results


def run(command, code, patch):
    """Exit code and output of a command: in this process if it is ours, else in a shell."""
    if not command.startswith("foreknow "):
        done = subprocess.run(
            ["sh", "-c", f"(exit {code}); {command}"],
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return 0, done.stdout
    patch.setattr(sys, "argv", command.split())
    text = io.StringIO()
    with redirect_stdout(text), redirect_stderr(text), pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code or 0, text.getvalue()


def test_commands_match_the_page(walked):
    assert sum(command.startswith("foreknow ") for command, _, _ in walked[1]) >= 5
    for command, said, output in walked[1]:
        assert is_said(said, output), f"$ {command}\n{output}"


PUBLISHED = re.findall(
    r"^\$ foreknow publish (\S+) --policy (\S+) --out (\S+)", PAGE, flags=re.MULTILINE
)


def test_results_match_the_page(walked, monkeypatch):
    """Groups within a quarter, detail within 8 points: cuts and labels may be mended."""
    folder, _ = walked
    monkeypatch.chdir(folder)
    row = r"^\| `([\w-]+)` \| ([\d,]+) \| (\d+) \| (\d+) \| (\d+)%.* \|$"
    rows = re.findall(row, PAGE, re.MULTILINE)
    told = {name: [int(cell.replace(",", "")) for cell in cells] for name, *cells in rows}
    assert set(told) == {path.parent.name for path in folder.glob("*/certificate.json")}
    detail = {}
    for table, policy, out in PUBLISHED:
        if out not in told:
            continue
        code, said = run(
            f"foreknow utility {out} {table} --policy {policy} --json {out}.json", 0, monkeypatch
        )
        assert code == 0, said
        document = json.loads(Path(f"{out}.json").read_text("utf-8"))
        detail[out] = document["ncp"]
        people, groups, smallest, lost = told[out]
        assert document["people"] == people
        assert document["groups"] == pytest.approx(groups, rel=0.25), out
        assert document["smallest_group"] == pytest.approx(smallest, abs=3), out
        assert document["average_ncp"] == pytest.approx(lost / 100, abs=0.08), out
    # What the page says of single columns.
    assert detail["survey-release"]["gender"] == detail["survey-release"]["children"] == 0


def made(folder, policy, table):
    """What is published under a policy, given as text."""
    (folder / "changed.toml").write_text(policy, "utf-8")
    rules = fk.Policy.load(folder / "changed.toml")
    return fk.publish(fk.Microdata(folder / table, rules.schema), rules)


def published(folder, policy, table):
    """The sensitive values of what is published, by the quasi-identifiers."""
    groups = defaultdict(Counter)
    columns = made(folder, policy, table).tables["release"].to_pydict().values()
    for *group, value in zip(*columns, strict=True):
        groups[tuple(group)][value] += 1
    return groups


def changed(folder, name, *pairs):
    """A policy of the page with other words."""
    policy = (folder / name).read_text("utf-8")
    for old, new in pairs:
        assert old in policy
        policy = policy.replace(old, new)
    return policy


K_ANONYMITY = "[[require]]\nk_anonymity = 5"


def test_separate_codes_reveal_their_class(walked):
    policy = changed(walked[0], "survey.toml", ('values = ["some"]', 'except = ["0"]'))
    groups = published(walked[0], policy, "survey.csv")
    assert any(bag["0"] < bag.total() / 2 for bag in groups.values())


def test_exact_answers_isolate_people(walked):
    with_it = published(walked[0], changed(walked[0], "survey.toml"), "recoded.csv")
    assert any(set(bag) == {"none"} for bag in with_it.values())
    without = published(
        walked[0], changed(walked[0], "survey.toml", (K_ANONYMITY, "")), "recoded.csv"
    )
    alone = [group for group, bag in without.items() if bag.total() == 1]
    assert alone
    assert not any(" to " in label or label == "*" for group in alone for label in group)


def test_two_values_withstand_no_exclusion(walked):
    policy = changed(walked[0], "survey.toml", ("k = 2", "l = 1"))
    with pytest.raises(fk.NoSafeRelease, match="150 of 601 people have 'some'"):
        published(walked[0], policy, "recoded.csv")


def test_utility_names_the_right_table(walked, monkeypatch):
    monkeypatch.chdir(walked[0])
    command = "foreknow utility survey-release survey.csv --policy survey.toml"
    code, said = run(command, 0, monkeypatch)
    assert code == 2
    assert said == (
        "foreknow: survey.csv, read as the policy says, is not the table that release.csv was made "
        "of\n"
    )
