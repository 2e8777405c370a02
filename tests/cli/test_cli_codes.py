"""The exit code is the verdict's, whatever becomes of what is printed."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.desk import LABELS, POLICY, TABLE
from tests.signals import heeded

import foreknow as fk
from foreknow.cli import entry, process

SOURCE = Path(fk.__file__).parents[1]

# Import once, then fork for each call: descriptors 1 and 2 are real, and so is the end of Python.
FORKS = """
import json, os, sys
import foreknow.auditing.audit, foreknow.skylines.skyline, foreknow.cli.entry
import foreknow.publishing.publish, foreknow.publishing.verification
import foreknow.report.pages.audit, pandas
from foreknow.cli import main

def place(number, where):
    if where == "left":
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, number)
    elif where is not None:
        os.dup2(os.open(where, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)

found = []
for i, (arguments, out, err) in enumerate(json.loads(sys.argv[1])):
    child = os.fork()
    if not child:
        place(1, out or f"out{i}.txt")
        place(2, err or f"err{i}.txt")
        sys.argv[1:] = arguments
        main()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said = open(f"err{i}.txt").read() if err is None else ""
    printed = open(f"out{i}.txt").read() if out is None else ""
    found.append((status, printed, said))
print(json.dumps(found))
"""


@pytest.fixture
def forked(tmp_path):
    """Run calls, each with its standard output and error; (code, out, err) of each."""
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "unsafe.toml").write_text(POLICY.replace("0.9", "0.1"))

    def run(*calls, **environment):
        done = subprocess.run(
            [sys.executable, "-c", FORKS, json.dumps(calls)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(SOURCE), **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return [tuple(found) for found in json.loads(done.stdout.splitlines()[-1])]

    run.folder = tmp_path
    return run


SAFE = ["audit", "grouped.csv", "-p", "policy.toml"]
UNSAFE = ["audit", "grouped.csv", "-p", "unsafe.toml"]
GROUPED = "age,sex,disease\n" + "a,f,flu\na,f,cold\n" * 4
SKYLINE = ["skyline", "grouped.csv", "-c", "0.9", "-s", "disease", "--quasi-identifiers", "age"]


def test_a_full_output_is_no_success(forked):
    (forked.folder / "grouped.csv").write_text(GROUPED)
    calls = [
        (SAFE, "left", None, 0),
        (SAFE, "/dev/full", None, 2),
        (UNSAFE, "left", None, 1),
        (UNSAFE, "/dev/full", None, 1),
        (["publish", "table.csv", "-p", "policy.toml", "-o", "made"], "left", None, 0),
        (["verify", "made"], "/dev/full", None, 2),
        (SKYLINE, "/dev/full", None, 2),
        (["--version"], "/dev/full", None, 2),
        # errors that nobody can read
        (UNSAFE, "left", "left", 1),
        (["audit", "none.csv", "-p", "policy.toml"], "/dev/full", "/dev/full", 2),
        (["nothing"], None, "left", 2),
        # what an option asks for is written, or it is an error
        ([*SAFE, "--json", "/dev/full"], None, None, 2),
        ([*SAFE, "--json", "/dev/stdout"], "left", None, 2),
    ]
    found = forked(*(call[:3] for call in calls))
    assert [code for code, _, _ in found] == [call[3] for call in calls]
    for (_, _, said), (_, out, err, _) in zip(found[:8], calls, strict=False):
        full = "foreknow: standard output cannot be written: No space left on device\n"
        assert said == (full if (out, err) == ("/dev/full", None) else "")
    assert (forked.folder / "made" / "certificate.json").exists()
    assert "cannot write '/dev/full': No space left on device; nothing" in found[-2][2]


# ---- as a program ------------------------------------------------------------------------------


def shell(folder, command, module="foreknow"):
    """Run a line of the shell in which `foreknow` is the command line."""
    return subprocess.run(
        ["sh", "-c", command.replace("foreknow", f"'{sys.executable}' -m {module}")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_streams_that_are_closed_from_the_start(forked):
    (forked.folder / "grouped.csv").write_text(GROUPED)
    command = "foreknow audit grouped.csv -p unsafe.toml <&- >&- 2>&-; echo $?"
    assert shell(forked.folder, command).stdout == "1\n"


# The child says when it listens to Ctrl-C; what comes before is Python itself.
AT_THE_DOOR = """
import signal
from foreknow.cli import main

def said(number, handler, usual=signal.signal):
    before = usual(number, handler)
    if number == signal.SIGINT:
        print(flush=True)
    return before

signal.signal = said
main()
"""


@pytest.mark.parametrize("delay", [0, 0.05, 0.25])
def test_an_interrupt_while_parts_are_imported_is_one_line(forked, delay):
    child = subprocess.Popen(
        [sys.executable, "-c", AT_THE_DOOR, "audit", "table.csv", "-p", "policy.toml"],
        cwd=forked.folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeded,
    )
    child.stdout.readline()
    time.sleep(delay)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=300)
    assert (child.returncode, said) in (
        (130, "interrupted; nothing was left half-written\n"),
        (0, ""),  # it was faster
    )


# A signal that comes while modules that were imported later put away what they hold.
AT_THE_END = """
import atexit, os, signal, sys, time
from foreknow.cli import main, process

def put_away():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)
    print("put away")

watch = process.Interrupts.watch
process.Interrupts.watch = lambda self: (watch(self), atexit.register(put_away))
sys.argv = ["foreknow", "--version"]
main()
"""


def test_an_interrupt_after_all_is_said_breaks_into_nothing(forked):
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=heeded,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("put away\n")


def test_an_interrupt_of_which_a_library_makes_an_answer_is_one(monkeypatch, capsys):
    interrupts = process.Interrupts()

    def answer():
        interrupts.came = True
        return 1

    monkeypatch.setattr(entry, "_called", answer)
    assert entry._outcome(interrupts) == 130
    assert capsys.readouterr().err == "interrupted; nothing was left half-written\n"


def test_a_machine_that_does_much_else_uses_up_no_patience(monkeypatch):
    """Else an interrupt breaks into modules that end the process for it."""
    clock, later = itertools.count(100, 10), []
    monkeypatch.setattr(process.time, "monotonic", lambda: next(clock))
    interrupts = process.Interrupts()
    monkeypatch.setattr(interrupts, "_note_later", lambda: later.append(1))
    importing = SimpleNamespace(
        f_code=SimpleNamespace(co_filename="<frozen importlib._bootstrap>"), f_back=None
    )
    for _ in range(5):
        interrupts._note(signal.SIGINT, importing)
    assert len(later) == 5
    next(itertools.islice(clock, 5, None))
    with pytest.raises(KeyboardInterrupt):  # but it is not waited for ever
        interrupts._note(signal.SIGINT, importing)


# Signals that come while what cannot fail runs: a `__del__`, and the hook that is then called.
UNHEARD = """
import os, signal, sys, time
from foreknow.cli.process import Interrupts

class Loud:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

interrupts = Interrupts()
interrupts.watch()
try:
    for _ in range(int(sys.argv[1])):
        Loud()
    signal.pause()
except KeyboardInterrupt:
    sys.exit(interrupts.farewell())
"""


@pytest.mark.parametrize("times", ["1", "3"])
def test_an_interrupt_of_what_cannot_fail_is_not_lost(times):
    done = subprocess.run(
        [sys.executable, "-c", UNHEARD, times],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=heeded,
    )
    said = "interrupted; nothing was left half-written\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


# ---- memory ------------------------------------------------------------------------------------

LIMITED = """
import os, resource, sys
import foreknow.auditing.audit, foreknow.skylines.skyline
import foreknow.publishing.publish, foreknow.publishing.verification
from foreknow.cli import main

def size():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

for room, *arguments in [line.split() for line in sys.argv[1].splitlines()]:
    if not os.fork():
        if room != "all":
            limit = max(size() + (int(room) << 20), 645 << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        sys.argv[1:] = arguments
        main()
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


def limited(folder, *calls):
    """Run calls, each begun with the megabytes that are free; (exit codes, stderr)."""
    done = subprocess.run(
        # From Python 3.12 on, a fork beside an engine's threads is warned of.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", LIMITED, "\n".join(calls)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return [int(line) for line in done.stdout.split()], done.stderr


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table that needs some hundred megabytes, as a release too."""
    folder = tmp_path_factory.mktemp("large")
    rows = "".join(f"{i % 97},{i},{i % 7}\n" for i in range(150_000))
    (folder / "table.csv").write_text("age,zip,disease\n" + rows)
    policy = (
        POLICY.replace('identifiers = ["name"]\n', "").replace('"sex"', '"zip"').replace(LABELS, "")
    )
    (folder / "policy.toml").write_text(policy.replace("0.9", "0.95").replace('["flu"]', "[1]"))
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_too_little_memory_is_neither_a_verdict_nor_a_bug(large):
    audit = "audit table.csv -p policy.toml -q"
    publish = "publish table.csv -p policy.toml -q -o"
    skyline = "skyline table.csv -s disease --quasi-identifiers zip -c 0.9 -q"
    codes, said = limited(large, f"64 {audit}", f"64 {publish} none", f"64 {skyline}")
    assert codes[0] in (1, 2), said  # what the libraries reserve differs
    assert codes[1] == 2
    assert codes[2] in (0, 2), said
    lines = said.splitlines()
    assert len(lines) == codes.count(2)
    assert all(line.startswith("foreknow: not enough memory for ") for line in lines), said
    assert sorted(path.name for path in large.iterdir()) == ["policy.toml", "table.csv"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("limit", [60_000, 300_000])
def test_an_address_space_that_is_too_small_to_start_is_told_at_once(large, limit):
    done = shell(large, f"ulimit -v {limit}; foreknow audit table.csv -p policy.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("foreknow: not enough memory ")
    assert "Traceback" not in done.stderr


def test_engines_say_in_many_ways_that_memory_is_short(monkeypatch):
    import duckdb

    from foreknow_judge.errors import memory_for

    for error in (
        MemoryError(),
        duckdb.OutOfMemoryException("Out of Memory Error: failed to pin block"),
        OSError(12, "Cannot allocate memory"),
        ImportError("libarrow.so: failed to map segment from shared object"),
        RuntimeError("std::bad_alloc"),
    ):
        with pytest.raises(MemoryError, match="not enough memory for this") as caught:
            _raise_within(memory_for("this"), error)
        assert isinstance(caught.value, fk.ForeknowError)
        assert not isinstance(caught.value, fk.InputError)


def _raise_within(context, error):
    with context:
        raise error


def test_a_verifier_without_memory_does_not_say_not_as_certified(desk, monkeypatch):
    import duckdb

    from foreknow_judge import written as verifier

    desk.run(*desk.publish())

    def short(*given):
        raise duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate")

    monkeypatch.setattr(verifier, "open_written", short)
    code, _, err = desk.run("verify", "out")
    assert code == 2
    assert err.startswith("foreknow: not enough memory for judging the release afresh")
