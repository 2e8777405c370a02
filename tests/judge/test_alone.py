"""The judge stands alone: few libraries, one code for each message, and a command of its own."""

import ast
import copy
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import tokenize
from pathlib import Path

import pytest
from tests.refusals import refused
from tests.signals import heeded
from tests.support import UNSUPPORTED

from foreknow.errors import InternalError, NoSafeRelease, StatementError
from foreknow_judge import errors, messages
from foreknow_judge.errors import CertificateError, DataError, NotEnoughMemory
from foreknow_judge.messages import MESSAGES
from foreknow_judge.policy.kinds import LDiversitySettings, OfUnits
from foreknow_judge.policy.settings import checked

TESTS = Path(__file__).parents[1]
JUDGE = TESTS.parent / "src" / "foreknow_judge"
FILES = sorted(JUDGE.rglob("*.py"))
NODES = {
    ".".join(path.relative_to(JUDGE).with_suffix("").parts): [
        *ast.walk(ast.parse(path.read_text("utf-8")))
    ]
    for path in FILES
}
LIBRARIES = {"duckdb", "numpy", "pyarrow", "pydantic", "pydantic_core", "pyreadstat"}
SMALL = TESTS / "certificates" / "facts-generalized-csv"

# ---- what it imports, and how much there is of it ----------------------------------------------


def imported_modules(name):
    """The modules that a module of the judge imports, at its top or inside functions."""
    for node in NODES[name]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            yield node.module


def test_judge_imports_only_libraries():
    packages = {name.split(".")[0] for module in NODES for name in imported_modules(module)}
    assert packages - sys.stdlib_module_names <= {"foreknow_judge", *LIBRARIES}


def test_judge_imports_in_no_circle():
    standing = {
        f"foreknow_judge.{module}": {
            name for name in imported_modules(module) if name.startswith("foreknow_judge.")
        }
        for module in NODES
    }
    while standing:
        free = [name for name, targets in standing.items() if not targets & standing.keys()]
        assert free, f"in circles: {sorted(standing)}"
        for name in free:
            del standing[name]


def test_judge_stays_small():
    """Somebody can read it in a day; to raise the limit is a line that somebody reads."""
    kinds = "COMMENT NL NEWLINE INDENT DEDENT ENCODING ENDMARKER"
    layout = {getattr(tokenize, kind) for kind in kinds.split()}
    tokens = 0
    for path in FILES:
        with path.open("rb") as file:
            tokens += sum(token.type not in layout for token in tokenize.tokenize(file.readline))
    assert tokens <= 71_750


# ---- messages ----------------------------------------------------------------------------------

FAMILY = {name for name in vars(errors) if isinstance(getattr(errors, name), type)}
# What these get is a sentence of the program's own, or what is too large for memory.
CODED = FAMILY - {"InternalError", "NotEnoughMemory"}
# What is no error, but a problem of a release.
OF_PROBLEMS = {"uncertified-file", "not-safe", "other-figures", "other-remarks", "nothing-judged"}
# What `malformed` finds in settings, by what pydantic says of them.
OF_SETTINGS = {
    "missing-key": {},
    "unknown-key": {"k": 1, "of": "a", "m": 1},
    "wrong-type": {"k": True, "of": "a"},
    "out-of-bounds": {"k": 0, "of": "a"},
    "wrong-value": {"l": 1, "kind": "any"},
}


def fields_of(code):
    """The names of the fields of a sentence, in order."""
    names = re.findall(r"{(\w+)", MESSAGES[code].template + MESSAGES[code].way_out)
    return list(dict.fromkeys(names))


def calls():
    """Each call in the judge that makes an error of the family: where, its class, the call."""
    for module, nodes in NODES.items():
        for node in nodes:
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            of_kind = name in ("kind", "cls", "super().__init__") and node.args
            coded = of_kind and getattr(node.args[0], "value", None) in MESSAGES
            if coded or (name in CODED and issubclass(vars(errors)[name], Exception)):
                yield f"{module}.py:{node.lineno}", name, node


def codes_raised(kind=""):
    """The codes that the judge raises, with a kind of error."""
    made = [call.args[0] for _, name, call in calls() if kind in name]
    return {code.value for code in made if isinstance(code, ast.Constant)}


def test_errors_have_codes_and_fields():
    for place, name, call in calls():
        if place.startswith("errors.py") and name == "StatementError":
            continue  # `placed`: the same error once more
        if any(keyword.arg == "code" for keyword in call.keywords):
            assert ast.unparse(call.keywords[-1]) == "**error.fields", place  # passed on
            continue
        code, *subject = call.args
        if place.startswith("policy.settings.py"):
            assert {*fields_of("wrong-value")} == {"where", "problem"}
            continue
        assert getattr(code, "value", None) in MESSAGES, f"{place}: no code"
        names = fields_of(code.value)
        assert len(subject) == len(names[:1]), f"{place}: {names}"
        assert {keyword.arg for keyword in call.keywords} == {*names[1:]}, f"{place}: {names}"


def test_each_code_is_raised():
    assert codes_raised() | OF_SETTINGS.keys() | OF_PROBLEMS == MESSAGES.keys()
    # The combinations of docs/reference/support.md are the ones that are refused as such.
    assert codes_raised("UnsupportedError") - {"unknown-kind", "cases-only"} == {*UNSUPPORTED}
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in MESSAGES)


@pytest.mark.parametrize("code", OF_SETTINGS)
def test_settings_have_a_code_each(code):
    table = LDiversitySettings if "l" in OF_SETTINGS[code] else OfUnits
    with refused(code, CertificateError, where="a requirement"):
        checked(table, OF_SETTINGS[code], "a requirement")


def test_messages_are_as_before():
    """Run with FOREKNOW_SNAPSHOTS=write to write the file anew, and read the difference."""
    examples = {"line": 3, "cells": 2, "columns": 20_001, "most": 20_000}
    examples |= {"size": 2_000_000, "unpacked": 10**9}
    lines = []
    for code, message in sorted(MESSAGES.items()):
        fields = {name: examples.get(name, name.upper()) for name in fields_of(code)}
        lines += [f"{code} ({message.title})", f"    {message.filled(fields)}"]
    text, snapshot = "\n".join(lines) + "\n", Path(__file__).with_name("messages.txt")
    if os.environ.get("FOREKNOW_SNAPSHOTS") == "write":
        snapshot.write_text(text, encoding="utf-8")
    assert text == snapshot.read_text(encoding="utf-8"), f"not as in {snapshot.name}"


def test_rows_of_messages_are_whole():
    """A bar stands between the fields of a row, and in none of them; a code has one row."""
    assert len(messages._ROWS) == len(MESSAGES)
    for message in MESSAGES.values():
        assert all(part == part.strip() and part and "|" not in part for part in message[:2])
        assert message.way_out == message.way_out.strip()
        assert "|" not in message.way_out
        assert "{" not in message.title


def test_errors_name_their_subject():
    with refused("not-sensitive", CertificateError, key="shared", column="ill") as caught:
        raise CertificateError("not-sensitive", "shared", column="ill")
    assert caught.value.title == "Not sensitive"
    assert str(caught.value) == "shared: 'ill' is no sensitive column"
    error = DataError("some words")
    assert (str(error), error.code, error.title, error.fields) == ("some words", "data", "data", {})


@pytest.mark.parametrize(
    "error",
    [
        CertificateError("two-roles", "ill"),
        DataError("words", code="x", column="ill"),
        NotEnoughMemory("this"),
        InternalError("words"),
        StatementError("words", "a statement", 2),
        NoSafeRelease("words", ["way out"]),
    ],
)
def test_errors_can_be_sent(error):
    for same in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(same), str(same), vars(same)) == (type(error), str(error), vars(error))
        assert same.title == error.title


# ---- the command -------------------------------------------------------------------------------

LOADED = """
import os, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'foreknow': raise ImportError(name)
sys.meta_path.insert(0, Refuse())
from foreknow_judge.command import run
end = os._exit
os._exit = lambda code: (print(*sys.modules, flush=True), end(code))
run()
"""


@pytest.mark.parametrize(
    ("name", "unwanted"),
    [("atoms-generalized-parquet", "pandas"), ("facts-generalized-csv", "pyarrow")],
)
def test_the_command_loads_little(name, unwanted):
    """PyArrow would import pandas with its first array, which takes as long as all the rest."""
    command = [sys.executable, "-c", LOADED, str(SMALL.parent / name)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "Verified" in done.stdout
    assert unwanted not in done.stdout.split()


# What an interrupt breaks into: a query of DuckDB, and what cannot fail.
MANY = "FROM (SELECT range a FROM range(1000000)) x, (SELECT range b FROM range(1000000)) y"
WORK = {
    "query": f"""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    duckdb_files.new_folder()
    duckdb_files.connect().execute("SELECT sum(hash(a + b)) {MANY}").fetchall()
""",
    "fetched": f"""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    for batch in duckdb_files.connect().sql("SELECT a + b {MANY}").to_arrow_reader(1000):
        pass
""",
    "del": """
    class Loud:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
    Loud()
    time.sleep(60)
""",
}
INTERRUPTED = """
import os, signal, sys, threading, time
from foreknow_judge import verify
from foreknow_judge.files import duckdb_files
from foreknow_judge.command import run

def certificate_path(folder):
{}

verify.certificate_path = certificate_path
sys.argv = ["foreknow-verify", "release"]
run()
"""


def started(code, folder):
    """A process of its own that heeds signals."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(JUDGE.parent), "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeded,
    )


@pytest.mark.parametrize("work", WORK)
def test_interrupt_is_one_line(tmp_path, work):
    process = started(INTERRUPTED.format(WORK[work]), tmp_path)
    assert process.communicate(timeout=60) == ("", "interrupted; nothing was written\n")
    assert process.returncode == 130
    assert [*tmp_path.iterdir()] == []


# The child says when it listens to Ctrl-C; what comes before is Python itself.
AT_THE_DOOR = """
import signal, sys
from foreknow_judge.command import run

def said(number, handler, usual=signal.signal):
    before = usual(number, handler)
    print(flush=True)
    return before

signal.signal = said
sys.argv = ["foreknow-verify", "release"]
run()
"""


@pytest.mark.parametrize("delay", [0, 0.02, pytest.param(0.1, marks=pytest.mark.slow)])
def test_interrupt_while_parts_are_imported(tmp_path, delay):
    process = started(AT_THE_DOOR, tmp_path)
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode != 2:  # it was faster: there is no release
        assert (process.returncode, said) == (130, "interrupted; nothing was written\n")


@pytest.mark.parametrize(("closed", "options"), [("pipe", []), ("before", ["--json"])])
def test_closed_output_is_no_traceback(closed, options):
    """As of `foreknow-verify release | head -0`, and of `foreknow-verify release >&-`."""
    code = "import sys\nfrom foreknow_judge.command import run\nrun()"
    reading, writing = os.pipe()
    os.close(reading)
    output = {"stdout": writing} if closed == "pipe" else {"preexec_fn": lambda: os.close(1)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(SMALL), *options], stderr=subprocess.PIPE, **output
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (2, b"")


def test_module_is_the_command(tmp_path):
    code = [sys.executable, "-m", "foreknow_judge"]
    assert subprocess.run([*code, str(SMALL)], capture_output=True).returncode == 0
    assert subprocess.run([*code, str(tmp_path)], capture_output=True).returncode == 2
