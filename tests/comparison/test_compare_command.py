"""The command compare: what it prints, writes and refuses, and what it keeps when it is stopped."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import desk as desk
from tests.signals import heeded

SOURCE = Path(__file__).parents[2] / "src"
CALL = ["compare", "table.csv", "--policy", "policy.toml"]


def test_it_prints_and_writes_the_table_and_nothing_else(desk):
    before = {path.name for path in desk.folder.iterdir()}
    said = desk.says(
        *CALL, "--methods", "mondrian,art", "--limits", "0.8,9/10", "--processes", "1",
        "--html", "page.html", "--json", "found.json",
    )  # fmt: skip
    assert "2 safe releases of 4 tried – table.csv" in said.lower()
    assert "mondrian 90% safe *" in said
    assert 'art 80% and 90% method "art" serves' in said
    assert {path.name for path in desk.folder.iterdir()} - before == {"page.html", "found.json"}
    found = desk.json("found.json")
    assert (found["format"], found["complete"], found["limit"]) == (
        "foreknow comparison", True, "9/10",
    )  # fmt: skip
    assert "For the owner only" in (desk.folder / "page.html").read_text()


def test_it_exits_with_one_where_nothing_is_safe(desk):
    code, out, _ = desk.run(*CALL, "--methods", "art", "--processes", "0")
    assert code == 1
    assert "No release of these holds the policy" in out
    assert desk.run(*CALL, "--methods", "art", "--processes", "0", "--quiet")[:2] == (1, "")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--methods", "anatomi"], "did you mean 'anatomy'"),
        (["--limits", "0,5"], "a threshold must be above 0"),
        (["--limits", ""], "limits is empty"),
        (["--amounts", "k"], "--amounts: k is empty"),
        (["--amounts", "k=x"], "is not NAME=NUMBERS"),
        (["--amounts", "m=1", "--amounts", "z=1"], "no adversary of the policy has 'z'"),
        (["--seconds", "-1"], "seconds must be above 0"),
    ],
)
def test_a_mistake_is_one_line(desk, given, said):
    assert said.replace("--", "") in desk.refused(*CALL, *given).replace("--", "")


def test_a_wrong_column_and_an_empty_file_are_refused(desk):
    desk.put("other.csv", "name,aeg,sex,disease\nAnn,20,f,flu\n")
    assert "no column 'age'" in desk.refused("compare", "other.csv", *CALL[2:])
    desk.put("empty.csv", "")
    assert "empty.csv" in desk.refused("compare", "empty.csv", *CALL[2:])


STOPPED = """
import os, signal, sys
import foreknow.comparison.comparison as comparison
from foreknow.cli import main

def stop(said, done, *rest):
    print("done", done, file=sys.stderr)
    os.killpg(0, signal.SIGINT)

comparison._log.info = stop
sys.argv = ["foreknow", "compare", "table.csv", "-p", "policy.toml", "--methods",
            "mondrian,fulldomain", "--processes", "1", "--json", "found.json"]
main()
"""


def test_ctrl_c_keeps_what_is_finished_and_ends_all_processes(desk):
    mark = f"FOREKNOW_TEST={os.getpid()}-{time.time_ns()}"
    name, _, value = mark.partition("=")
    done = subprocess.run(
        [sys.executable, "-c", STOPPED],
        env={**os.environ, "PYTHONPATH": str(SOURCE), name: value},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        start_new_session=True,
        preexec_fn=heeded,
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr == "done 1\ninterrupted; nothing was left half-written\n"
    assert "It was stopped after 1 of" in " ".join(done.stdout.split())
    found = desk.json("found.json")
    statuses = [each["status"] for each in found["candidates"]]
    assert (found["complete"], statuses.count("safe")) == (False, 1)
    assert statuses.count("stopped") == len(statuses) - 1
    (own,) = [each for each in found["candidates"] if each["safe"]]
    assert own["limit"] == "9/10"  # the policy's own comes first
    assert not _left(mark)


def _left(mark):
    """Processes with a variable in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in place.read_bytes():
                found.append(place)
        except OSError:
            continue
    return found


def test_models_are_shown_where_asked(desk):
    compared = ["compare", "table.csv", "--policy", "policy.toml", "--processes", "0"]
    said = desk.says(*compared, "--methods", "mondrian", "--limits", "0.9", "--models")
    assert "Cells: the share of people" in said
    assert "no column 'x' is published" in desk.refused(*compared, "--target", "x")
