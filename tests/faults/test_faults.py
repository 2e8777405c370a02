"""Every fault can be planted, and a test that is named beside it notices; drawn ones too."""

import ast
import contextlib
import os
import sqlite3
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from tests.faults import drawn
from tests.faults.faults import FAULTS, ROOT, FaultError, noticed
from tests.faults.plant import edited

of_each = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
# By day one of these shows that the runner works: they are noticed within seconds.
QUICK = ["levels-origin", "refused-shuffled-known", "window-others", "rule-spelt-otherwise"]
FILES = sorted({name for fault in FAULTS.values() for name in fault.among.split()})


def source_of(fault):
    """The source of the module that holds a fault."""
    module = fault.place.partition(":")[0]
    return (ROOT / "src" / f"{module.replace('.', '/')}.py").read_text("utf-8")


@of_each
def test_it_can_be_planted(fault):
    compile(edited(source_of(fault), fault), fault.place, "exec", dont_inherit=True)
    assert [path for path in fault.tests if not Path(ROOT, path).is_file()] == []


def test_no_two_are_alike():
    assert len({(fault.place, fault.text, fault.instead) for fault in FAULTS.values()}) >= 60


@pytest.mark.parametrize("changed", [{"text": "no such text"}, {"place": "verdict:Limit.gone"}])
def test_a_stale_fault_is_refused(changed):
    fault = FAULTS["limit-reached"]
    with pytest.raises(FaultError, match=r"^limit-reached: .* (times|gone)"):
        edited(source_of(fault), fault._replace(**changed))


def test_one_is_noticed_today():
    name = QUICK[date.today().toordinal() % len(QUICK)]
    assert noticed(FAULTS[name]).by is not None


def without_a_fault(name):
    """What fails in a file of tests when a text is replaced by itself."""
    fault = FAULTS["limit-reached"]
    return noticed(fault._replace(instead=fault.text, among=name)).by


def test_what_is_right_passes():
    assert without_a_fault("criteria/test_values") is None


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_file_passes_without_a_fault(name):
    assert without_a_fault(name) is None


@pytest.mark.slow
@of_each
def test_it_is_noticed(fault):
    assert noticed(fault).by is not None


# ---- faults that are drawn: what may stand in place of what, and who notices when it does ------

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
