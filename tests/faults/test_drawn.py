"""Faults that are drawn: what may stand in place of what, and who notices when it does."""

import ast
import contextlib
import os
import sqlite3
import subprocess
import sys

import pytest
from tests.faults import drawn
from tests.faults.runner import ROOT

LIMIT = "src/foreknow_judge/verdict.py"


@pytest.mark.parametrize(
    ("body", "others"),
    [
        ("return a < b", ["return a <= b"]),
        ("return n + 1", ["return n - 1", "return n + 2"]),
        ("return a and b", ["return a or b", "return b", "return a"]),
        ("return a if b else c", ["return c if b else a"]),
        ("return not a", ["return a"]),
        ("return True", ["return False"]),
        ("return [a for a in b if c]", ["return [a for a in b]"]),
        ("return max(a, b)", ["return min(a, b)"]),
        ("if a:\n        b()", ["if True:\n        b()", "if False:\n        b()"]),
        ("return 'text'", []),
    ],
)
def test_possible_replacements(tmp_path, monkeypatch, body, others):
    monkeypatch.setattr(drawn, "ROOT", tmp_path)
    (tmp_path / "some.py").write_text(f"def some():\n    {body}\n")
    faults = list(drawn.faults_of("some.py"))
    texts = [f"def some():\n    {other}" for other in others]
    assert [ast.unparse(drawn.tree_with(fault)) for fault in faults] == texts


SMALL = """
from fractions import Fraction
from foreknow_judge.verdict import Limit

def test_below():
    assert not Limit(Fraction(1, 2), False, False).holds(Fraction(1, 2))

def test_at_most():
    assert Limit(Fraction(1, 2), True, False).holds(Fraction(1, 2))
"""


def test_faults_are_planted_and_noticed(tmp_path):
    covered, small = tmp_path / "covered", tmp_path / "test_small.py"
    small.write_text(SMALL)
    lines = (ROOT / LIMIT).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "reached < limit" in text)
    with contextlib.closing(sqlite3.connect(covered)) as database, database:
        database.execute("CREATE TABLE file AS SELECT 1 AS id, ? AS path", [str(ROOT / LIMIT)])
        database.execute("CREATE TABLE context (id, context)")
        database.execute("CREATE TABLE line_bits (file_id, context_id, numbits)")
        bits = (1 << line).to_bytes(line // 8 + 1, "little")
        for number, test in enumerate(["test_below", "test_at_most"]):
            database.execute("INSERT INTO context VALUES (?, ?)", [number, f"{small.name}::{test}"])
            database.execute("INSERT INTO line_bits VALUES (1, ?, ?)", [number, bits])
    command = [sys.executable, "-m", "tests.faults", "drawn", "--covered", covered]
    command += ["--without", f"{small.name}::test_below", "--tests", small, "--", f"{LIMIT}:{line}"]
    env = {**os.environ, "PYTEST_ADDOPTS": f"--rootdir={tmp_path}"}  # wherever the clone lies
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    message = done.stdout.splitlines()
    turned = next(
        place
        for place, text in enumerate(message)
        if text.endswith("reached < limit -> reached <= limit")
    )
    assert message[turned].startswith("only by them")
    assert "test_small.py::test_below" in message[turned + 1]
    assert "1 not by them, 1 noticed, 1 only by them" in message
