"""A folder with a good table and policy, in which the command line can be run in this process."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.common import heeded
from tests.people import short_report

import foreknow as fk
from foreknow.cli import main

TABLE = """name,age,sex,disease
Ann,20,f,flu
Bob,21,m,cold
Cid,20,m,cold
Dora,21,f,flu
Eve,60,f,flu
Fay,61,f,cold
Gus,60,m,cold
Hal,61,m,flu
"""
# Of a sex there are few.
LABELS = """
[publish]
labels = { sex = "exact" }
"""
POLICY = f"""[schema]
identifiers = ["name"]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"

[[require]]
values = ["flu"]
facts = {{ l = 0, k = 0, m = 0 }}
below = 0.9
{LABELS}"""

NEAR = """
[schema]
quasi_identifiers = ["age"]
sensitive = "pay"

[[require]]
within = {within}
facts = {{ l = 1, k = 1, m = 1 }}
below = 0.75
"""
# Of named people of some age; a limit is to follow.
AGES = """[schema]
identifiers = ["name"]
quasi_identifiers = ["age"]
sensitive = "disease"

[[require]]
facts = { l = 0, k = 0, m = 0 }
"""


def python(*arguments, folder=None, **environment):
    """A process of Python with these arguments, which signals end, when it has ended."""
    source = {"PYTHONPATH": str(Path(fk.__file__).parents[1]), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **source, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=heeded,
    )


class Desk:
    """The folder, and what the command line answers in it."""

    def __init__(self, folder, monkeypatch, capsys):
        self.folder = folder
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.put("table.csv", TABLE)
        self.put("policy.toml", POLICY)

    def put(self, name, content):
        """Write a file, text or bytes."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run(self, *arguments):
        """Exit code, standard output and standard error of one call."""
        self._monkeypatch.setattr(sys, "argv", ["foreknow", *map(str, arguments)])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main()
        printed = self._capsys.readouterr()
        return caught.value.code or 0, printed.out, printed.err

    def runs(self, command, files):
        """Write files; a function that runs a command with more words, as a shell takes them."""
        for name, content in files.items():
            self.put(name, content)

        def run(words, *first):
            code, out, err = self.run(command, *first, *shlex.split(words))
            assert "Traceback" not in out + err
            return code, out, err

        return run

    def says(self, *arguments, code=0):
        """What one call prints, as one line, with this exit code and no word of an error."""
        found, out, err = self.run(*arguments)
        assert (found, err) == (code, "")
        return " ".join(out.split())

    def json(self, name):
        """What a file holds."""
        return json.loads((self.folder / name).read_text())

    def refused(self, *arguments, code=2):
        """The line of a refusal, and where nothing is safe the way out; nothing is written."""
        before = self._contents()
        found, out, err = self.run(*arguments)
        assert "Traceback" not in out + err
        assert err.startswith("foreknow: "), err
        rest = err.splitlines()[1:]
        assert not rest or (code == 1 and rest[0].startswith(("In ", "No limit"))), err
        assert found == code, err
        assert out == ""
        assert self._contents() == before
        return err

    def _contents(self):
        paths = self.folder.rglob("*")
        return {path: path.read_bytes() if path.is_file() else None for path in paths}

    def publish(self, *more, table="table.csv", policy="policy.toml", out="out"):
        """The arguments of a publish command."""
        return ["publish", table, "--policy", policy, "--out", out, *more]

    def audit(self, *more, release="table.csv", policy="policy.toml"):
        """The arguments of an audit command."""
        return ["audit", release, "--policy", policy, *more]


# ---- one fixture: a folder in which the command line is run ------------------------------------


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys, request):
    """A `Desk` in a fresh folder; reports are short, unless the test is about them."""
    monkeypatch.chdir(tmp_path)
    if "report" not in request.node.name:
        short_report(monkeypatch)
    return Desk(tmp_path, monkeypatch, capsys)


@pytest.fixture
def pay(desk):
    """The same with the pay of 200 people, and a policy for near numbers."""
    rows = [f"{20 + i % 40},{30000 + 137 * i * i % 20011}" for i in range(200)]
    desk.put("people.csv", "age,pay\n" + "\n".join(rows) + "\n")
    desk.put("policy.toml", NEAR.format(within="2000"))
    return desk
