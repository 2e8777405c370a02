"""The judge stands alone: it imports nothing of ours, and few libraries."""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tokenize
from pathlib import Path

import pytest
from tests.signals import heeded

from foreknow_judge.lines import main
from foreknow_judge.messages import MESSAGES

ROOT = Path(__file__).parents[1]
JUDGE = ROOT / "src" / "foreknow_judge"
LIBRARIES = {"duckdb", "numpy", "pyarrow", "pydantic", "pydantic_core", "pyreadstat"}


def imported_modules(path):
    """The modules that a file imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            yield node.module


def test_judge_imports_only_libraries():
    packages = {
        name.split(".")[0] for path in JUDGE.glob("*.py") for name in imported_modules(path)
    }
    ours = {name for name in packages if name not in sys.stdlib_module_names}
    assert ours <= {"foreknow_judge", *LIBRARIES}


def test_judge_imports_in_no_circle():
    modules = {path.stem: set(imported_modules(path)) for path in JUDGE.glob("*.py")}
    standing = {
        name: {target.removeprefix("foreknow_judge.") for target in targets if "." in target}
        & modules.keys()
        for name, targets in modules.items()
    }
    while standing:
        free = [name for name, targets in standing.items() if not targets & standing.keys()]
        assert free, f"in circles: {sorted(standing)}"
        for name in free:
            del standing[name]


def test_judge_loads_without_foreknow():
    check = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'foreknow': raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import foreknow_judge.verify\n"
    )
    subprocess.run([sys.executable, "-c", check], check=True)


def test_the_command_does_not_load_pandas():
    """PyArrow would import it with its first array, which takes as long as all the rest."""
    assert "pandas" not in loaded("atoms-generalized-parquet")


def test_few_texts_want_no_arrow():
    assert "pyarrow" not in loaded("facts-generalized-csv")


def loaded(name):
    """The modules that the command loads to verify a release."""
    folder = Path(__file__).parent / "certificates" / name
    check = (
        "import os, sys\n"
        "from foreknow_judge.command import run\n"
        f"sys.argv = ['foreknow-verify', {str(folder)!r}]\n"
        "end = os._exit\n"
        "os._exit = lambda code: (print(*sys.modules, flush=True), end(code))\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", check], check=True, capture_output=True, text=True)
    return done.stdout.split()


# What an interrupt breaks into: a query of DuckDB, and what cannot fail.
WORK = {
    "query": """
    many = "FROM (SELECT range a FROM range(1000000)) x, (SELECT range b FROM range(1000000)) y"
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    duckdb_files.new_folder()
    duckdb_files.connect().execute(f"SELECT sum(hash(a + b)) {many}").fetchall()
""",
    "fetched": """
    many = "FROM (SELECT range a FROM range(1000000)) x, (SELECT range b FROM range(1000000)) y"
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    for batch in duckdb_files.connect().sql(f"SELECT a + b {many}").to_arrow_reader(1000):
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
from foreknow_judge import duckdb_files, verify
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
def test_an_interrupt_of_the_command_is_one_line_and_no_verdict(tmp_path, work):
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


@pytest.mark.parametrize("delay", [0, 0.02, 0.1, 0.25])
def test_an_interrupt_while_parts_of_the_command_are_imported_is_one_line(tmp_path, delay):
    process = started(AT_THE_DOOR, tmp_path)
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode != 2:  # it was faster: there is no release
        assert (process.returncode, said) == (130, "interrupted; nothing was written\n")


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("closed", ["pipe", "before"])
def test_a_closed_output_is_no_traceback(options, closed):
    """As of `foreknow-verify release | head -0`, and of `foreknow-verify release >&-`."""
    code = "import sys\nfrom foreknow_judge.command import run\nrun()"
    folder = Path(__file__).parent / "certificates" / "facts-generalized-csv"
    reading, writing = os.pipe()
    os.close(reading)
    output = {"stdout": writing} if closed == "pipe" else {"preexec_fn": lambda: os.close(1)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), *options], stderr=subprocess.PIPE, **output
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (2, b"")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda folder: (folder / "more.csv").write_text("a"), "uncertified-file"),
        (lambda folder: (folder / "release.csv").write_text("a\n"), "digest-differs"),
        (lambda folder: changed(folder, '"n_groups": 3', '"n_groups": 77'), "other-figures"),
    ],
)
def test_each_problem_has_its_code(tmp_path, capsys, change, code):
    folder = tmp_path / "release"
    shutil.copytree(Path(__file__).parent / "certificates" / "facts-generalized-csv", folder)
    change(folder)
    assert main([str(folder), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert len(said["codes"]) == len(said["problems"]) > 0
    assert code in said["codes"]
    assert {*said["codes"]} <= MESSAGES.keys()


def changed(folder, text, instead):
    path = folder / "certificate.json"
    assert text in path.read_text()
    path.write_text(path.read_text().replace(text, instead))


LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def test_judge_stays_small():
    """Somebody can read it in a day; to raise the limit is a line that somebody reads."""
    tokens = 0
    for path in JUDGE.glob("*.py"):
        with path.open("rb") as file:
            tokens += sum(token.type not in LAYOUT for token in tokenize.tokenize(file.readline))
    assert tokens <= 73_700
