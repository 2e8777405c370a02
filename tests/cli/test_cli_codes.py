"""Exit codes, and what holds for every command that writes what it finds."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import duckdb
import pyarrow as pa
import pytest
from tests.cli.conftest import POLICY, TABLE, python
from tests.common import heeded

import foreknow as fk
from foreknow.auditing import audit as auditing
from foreknow.cli import entry, process
from foreknow.cli.entry import app
from foreknow.publishing import publish as publishing
from foreknow_judge.errors import memory_for
from foreknow_judge.files import written_release as verifier

HEADER, *ROWS = TABLE.splitlines()
ENDED = "interrupted; nothing was left half-written\n"
LEFT = ["policy.toml", "table.csv"]


def table(*rows):
    return "\n".join([HEADER, *rows]) + "\n"


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- bad input ---------------------------------------------------------------------------------

FAR = [f"P{i},20,f,flu" for i in range(20_000)]
BARE = POLICY.partition("[publish")[0]
# A file that is put in place of the table or policy, and what is said of it.
FILES = [
    ("table.csv", b"", "line; its first line must name the columns"),
    ("table.csv", table(), "table.csv has no rows"),
    ("table.csv", TABLE.replace("age", "aeg"), "has no column 'age'; did you mean 'aeg'?"),
    ("table.csv", table(*ROWS, "Ida,62,f,"), "sensitive column 'disease' is missing in 1 row"),
    ("table.csv", table(*ROWS[:3], "I,62,f"), "line 5: 3 fields where the header has 4"),
    ("table.csv", TABLE.replace("flu", "grippé").encode("latin-1"), "is not UTF-8"),
    ("table.csv", table(*FAR, "Ida,20,f"), "line 20002: 3 fields where the header has 4"),
    ("policy.toml", "[[require]]" + POLICY.split("[[require]]")[1], "no [schema] table"),
    ("policy.toml", "[schema\n", "policy.toml is not valid TOML"),
    ("policy.toml", f"{BARE}[publish.rounding]\nage = 5", "did you mean 'round'?"),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("command", ["publish", "audit"])
@pytest.mark.parametrize(("name", "content", "message"), FILES, ids=range(len(FILES)))
def test_files_that_cannot_be_used(desk, command, name, content, message):
    desk.put(name, content)
    assert message in desk.refused(*getattr(desk, command)())


LONG = "n" * 300
GROUPED = "audit grouped.csv -p policy.toml --group"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "publish table.csv -p policy.toml -o o\udcff",
            "'o\\udcff': the name is not UTF-8;",
        ),
        ("publish table.csv -p policy.toml -o no/out", "does not exist; nothing was written"),
        ("publish table.csv -p policy.toml -o table.csv/out", "Not a directory"),
        ("publish none.csv -p policy.toml -o made", "'made' exists already; name a new folder, or"),
        (f"{GROUPED} gid", "the group column 'gid' is missing (row 2); every row needs a group"),
        (f"{GROUPED} disease", "'disease' cannot be both sensitive and the group"),
        ("verify certificate.json", "'certificate.json' does not exist"),
        ("verify a.json", "'a.json' is not JSON"),
        ("verify c.json", "is of version 9"),
        # From Python 3.14 on, a path with such a name counts as one where there is nothing.
        (f"audit table.csv -p {LONG}.toml", "File name too long|there is no file"),
        (f"publish {LONG}.csv -p policy.toml -o out", "File name too long|there is no file"),
        (f"publish table.csv -p policy.toml -o {LONG}", "File name too long"),
    ],
)
def test_calls_that_cannot_be_meant(desk, call, message):
    desk.put("grouped.csv", "gid,disease\n1,flu\n,cold\n")
    desk.put("a.json", "{")
    desk.put("b.json", "{}")
    desk.put("c.json", '{"format": "foreknow certificate", "version": 9}')
    (desk.folder / "made").mkdir()
    (desk.folder / "link").symlink_to("policy.toml")
    refusal = desk.refused(*call.split())
    assert any(part in refusal for part in message.split("|")), refusal


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_files_that_were_not_certified(desk, form):
    desk.says(*desk.publish("-q", "--form", form))
    name = {"generalized": "release.csv", "bucketized": "people.csv"}[form]
    path = desk.folder / "out" / name
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *rows[::-1]]) + "\n")
    text = f"{name} is not the file of 'out' that was certified"
    assert text in desk.refused(*desk.audit(release="out"))
    path.unlink()
    assert text[:30] in desk.refused(*desk.audit(release="out"))
    assert f"out/{name} does not exist" in desk.refused("verify", "out/certificate.json")


# ---- what is printed ---------------------------------------------------------------------------

# Import once, then fork for each call: descriptors 1 and 2 are real, and so is the end of Python.
FORKS = """
import json, os, sys
import foreknow.auditing.audit, foreknow.features.skylines.skyline, foreknow.cli.entry
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
        sys.argv[1:] = arguments.split()
        main()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found.append((status, open(f"err{i}.txt").read() if err is None else ""))
print(json.dumps(found))
"""
SAFE, UNSAFE = "audit grouped.csv -p policy.toml", "audit grouped.csv -p unsafe.toml"


@pytest.fixture
def streams(tmp_path):
    """A folder with a grouped table, a policy that it holds, and one that it does not."""
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "unsafe.toml").write_text(POLICY.replace("0.9", "0.1"))
    (tmp_path / "grouped.csv").write_text("age,sex,disease\n" + "a,f,flu\na,f,cold\n" * 4)
    return tmp_path


def test_full_output_is_no_success(streams):
    calls = [
        (SAFE, "left", None, 0),
        (SAFE, "/dev/full", None, 2),
        (UNSAFE, "left", None, 1),
        (UNSAFE, "/dev/full", None, 1),
        ("publish table.csv -p policy.toml -o made", "left", None, 0),
        ("verify made", "/dev/full", None, 2),
        ("skyline grouped.csv -c 0.9 -s disease --qi age", "/dev/full", None, 2),
        ("--version", "/dev/full", None, 2),
        # errors that nobody can read
        (UNSAFE, "left", "left", 1),
        ("audit none.csv -p policy.toml", "/dev/full", "/dev/full", 2),
        ("nothing", None, "left", 2),
        # what an option asks for is written, or it is an error
        (f"{SAFE} --json /dev/full", None, None, 2),
        (f"{SAFE} --json /dev/stdout", "left", None, 2),
    ]
    printed = python("-c", FORKS, json.dumps([call[:3] for call in calls]), folder=streams).stdout
    ended = json.loads(printed.splitlines()[-1])
    assert [code for code, _ in ended] == [call[3] for call in calls]
    full = "foreknow: standard output cannot be written: No space left on device\n"
    for (_, said), (_, out, err, _) in zip(ended[:8], calls, strict=False):
        assert said == (full if (out, err) == ("/dev/full", None) else "")
    assert (streams / "made" / "certificate.json").exists()
    assert "cannot write '/dev/full': No space left on device; nothing" in ended[-2][1]


def shell(folder, command):
    """Run a line of the shell in which `foreknow` is the command line."""
    line = command.replace("foreknow", f"'{sys.executable}' -m foreknow")
    return python("-c", f"import os; os.execvp('sh', ['sh', '-c', {line!r}])", folder=folder)


def test_streams_closed_from_the_start(streams):
    command = f"foreknow {UNSAFE} <&- >&- 2>&-; echo $?"
    assert shell(streams, command).stdout == "1\n"


# ---- signals -----------------------------------------------------------------------------------

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
def test_an_interrupt_while_importing(streams, delay):
    child = subprocess.Popen(
        [sys.executable, "-c", AT_THE_DOOR, "audit", "table.csv", "-p", "policy.toml"],
        cwd=streams,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeded,
    )
    child.stdout.readline()
    time.sleep(delay)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=300)
    assert (child.returncode, said) in ((130, ENDED), (0, ""))  # it was faster


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
# Signals that come while what cannot fail runs: a `__del__`, and the hook that is then called.
UNHEARD = """
import os, signal, sys, time
from foreknow.cli.process import Interrupts

class Loud:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.4)

interrupts = Interrupts()
interrupts.watch()
try:
    for _ in range(int(sys.argv[1])):
        Loud()
    signal.pause()
except KeyboardInterrupt:
    sys.exit(interrupts.farewell())
"""


def test_interrupts_that_come_late():
    done = python("-c", AT_THE_END)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("put away\n")
    for times in (1, 3):
        done = python("-c", UNHEARD, times)
        assert (done.returncode, done.stdout, done.stderr) == (130, "", ENDED)


def test_interrupt_that_became_an_answer(monkeypatch, capsys):
    interrupts = process.Interrupts()

    def answer():
        interrupts.came = True
        return 1

    monkeypatch.setattr(entry, "_call_command", answer)
    assert entry._outcome(interrupts) == 130
    assert capsys.readouterr().err == ENDED


# A signal in a process of its own, while a file of the release is being written.
RUNNER = """
import os, signal, sys
from foreknow.publishing import formats
from foreknow.publishing import distinct_rows as entries
from foreknow.cli import main

name, call, engine = sys.argv[1:]
writers = [entries.write_in_parts, entries.write_parts]
calls, write_csv = [], formats.write_csv

def ended(write, *given, **options):
    found = write(*given, **options)
    calls.append(path := given[1])
    if len(calls) == int(call):
        print(oct(path.parent.parent.stat().st_mode & 0o777), flush=True)
        os.kill(os.getpid(), getattr(signal, name))
        signal.pause()
    return found

if engine == "duckdb":
    once = lambda *given: ended(writers[len(calls)], *given)
    entries.write_in_parts = entries.write_parts = once
else:
    formats.write_csv = lambda *given, **options: ended(write_csv, *given, **options)
sys.argv = "foreknow publish table.csv -p policy.toml -o out --engine".split() + [engine]
main()
"""


@pytest.mark.parametrize(
    ("name", "call", "engine", "code"),
    [("SIGINT", 1, "memory", 130), ("SIGINT", 1, "duckdb", 130), ("SIGTERM", 2, "duckdb", 143)],
)
def test_a_signal_while_writing(desk, name, call, engine, code):
    aside = desk.folder / "aside"
    aside.mkdir()
    done = python("-c", RUNNER, name, call, engine, folder=desk.folder, TMPDIR=str(aside))
    assert done.returncode == code, done.stderr
    assert done.stdout == "0o700\n"
    assert "nothing was left half-written" in done.stderr
    assert "Traceback" not in done.stderr
    assert [*aside.iterdir()] == []
    assert listing(desk.folder) == ["aside", *LEFT]


# ---- disks -------------------------------------------------------------------------------------


# ---- faults of our own -------------------------------------------------------------------------


def unforeseen(*given, **named):
    raise RuntimeError("something [red]unforeseen[/red]")


def test_errors_that_nobody_foresaw(desk, monkeypatch):
    monkeypatch.delenv("FOREKNOW_DEBUG", raising=False)
    monkeypatch.setattr(auditing, "audit", unforeseen)
    code, out, err = desk.run(*desk.audit())
    assert (code, out) == (3, "")
    text = " ".join(err.split())
    assert text.startswith("foreknow: RuntimeError: something [red]unforeseen[/red]. ")
    assert "please report it" in text
    assert "FOREKNOW_DEBUG=1" in text
    assert "Traceback" not in err
    monkeypatch.setattr(publishing, "findings_of", lambda *given: [])
    code, _, err = desk.run(*desk.publish())
    assert "report it" in err
    assert code not in (0, 1, 2)
    monkeypatch.setenv("FOREKNOW_DEBUG", "1")
    with pytest.raises(RuntimeError, match="unforeseen"):
        desk.run(*desk.audit())


# ---- memory ------------------------------------------------------------------------------------

LIMITED = """
import os, resource, sys
import foreknow.auditing.audit, foreknow.features.skylines.skyline
import foreknow.publishing.publish, foreknow.publishing.verification
from foreknow.cli import main

with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
for arguments in sys.argv[1].splitlines():
    if not os.fork():
        limit = max(size + (64 << 20), 645 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        sys.argv[1:] = arguments.split()
        main()
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table that needs some hundred megabytes, as a release too."""
    folder = tmp_path_factory.mktemp("large")
    rows = "".join(f"{i % 97},{i},{i % 7}\n" for i in range(150_000))
    (folder / "table.csv").write_text("age,zip,disease\n" + rows)
    policy = BARE.replace('identifiers = ["name"]\n', "").replace('"sex"', '"zip"')
    (folder / "policy.toml").write_text(policy.replace("0.9", "0.95").replace('["flu"]', "[1]"))
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_too_little_memory_fails_cleanly(large):
    calls = """audit table.csv -p policy.toml -q
        publish table.csv -p policy.toml -q -o none
        skyline table.csv -s disease --quasi-identifiers zip -c 0.9 -q"""
    # From Python 3.12 on, a fork beside an engine's threads is warned of.
    done = python("-W", "ignore::DeprecationWarning", "-c", LIMITED, calls, folder=large)
    codes, stderr = [int(line) for line in done.stdout.split()], done.stderr
    assert codes[0] in (1, 2), stderr  # what the libraries reserve differs
    # Without memory, PyArrow below 24 crashes while it writes Parquet: no output appears then, too,
    # and what was begun stays under the name that a killed process leaves.
    crashes = [-signal.SIGSEGV] if int(pa.__version__.partition(".")[0]) < 24 else []
    assert codes[1] in (2, *crashes)
    assert codes[2] in (0, 2), stderr
    lines = stderr.splitlines()
    assert len(lines) == codes.count(2)
    assert all(line.startswith("foreknow: not enough memory for ") for line in lines), stderr
    begun = ".foreknow-" if codes[1] in crashes else ".."
    assert [name for name in listing(large) if not name.startswith(begun)] == LEFT


NO_ROOM = """
import resource
from threading import Thread
from foreknow.workers import side_by_side, start
from foreknow_judge.errors import NotEnoughMemory

with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
stack, _ = resource.getrlimit(resource.RLIMIT_STACK)
limit = size + (stack if stack > 0 else 8 << 20) + (8 << 10)  # for the stack, and hardly more
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for begin in (lambda: start(Thread()), lambda: list(side_by_side(max, 1, [2], 1))):
    try:
        begin()
    except NotEnoughMemory as error:
        print(str(error).partition(";")[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_threads_without_room_are_refused(tmp_path):
    done = python("-c", NO_ROOM, folder=tmp_path)
    assert done.stdout.splitlines() == ["not enough memory for another thread"] * 2, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("limit", [60_000, 300_000])
def test_an_address_space_too_small(large, limit):
    done = shell(large, f"ulimit -v {limit}; foreknow audit table.csv -p policy.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("foreknow: not enough memory ")
    assert "Traceback" not in done.stderr


def test_how_engines_lack_memory(desk, monkeypatch):
    short = duckdb.OutOfMemoryException("Out of Memory Error: failed to pin block")
    library = ImportError("libarrow.so: failed to map segment from shared object")
    full = OSError(12, "Cannot allocate memory")
    for error in (MemoryError(), short, full, library, RuntimeError("std::bad_alloc")):
        text = pytest.raises(MemoryError, match="not enough memory for this")
        with text as caught, memory_for("this"):
            raise error
        assert isinstance(caught.value, fk.ForeknowError)
        assert not isinstance(caught.value, fk.InputError)
    desk.run(*desk.publish())

    def fail(*given):
        raise short

    monkeypatch.setattr(verifier, "open_written", fail)
    code, _, err = desk.run("verify", "out")
    assert code == 2
    assert err.startswith("foreknow: not enough memory for judging the release afresh")


# ---- command -------------------------------------------------------------------------------------


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
    "priors": ["table.csv", "--by", "sex", "-s", "disease", "--out", "p.csv"],
}
EVERY = {command.name: command for command in app.commands.values()}

TAKES = {name: {param.name for param in command.params} for name, command in EVERY.items()}


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
    result = ready.json("found.json")
    assert result["format"].startswith("foreknow ") or "verdicts" in result
    if out:
        assert (ready.folder / "p.html").read_text().lower().startswith("<!doctype html>")


def without(words, *flags):
    """Words of a command line without some options and their values."""
    least = [*words]
    for flag in {*flags}.intersection(least):
        del least[least.index(flag) : least.index(flag) + 2]
    return least


@pytest.mark.parametrize("option", ["--json", "--html"])
@pytest.mark.parametrize("name", LEAST)
def test_nothing_read_is_written_over(ready, name, option):
    """Of every path that a command takes, each is given to it and to its output."""
    option = "--out" if name == "priors" else option
    if option.strip("-") not in TAKES[name]:
        pytest.skip(f"{name} has no {option}")
    ready.put("own.csv", TABLE)
    for param in EVERY[name].params:
        is_path = isinstance(param.type, click.Path) and param.name not in ("json", "html", "out")
        if is_path and isinstance(param, click.Option) and param.name != "exposed":
            least = without(LEAST[name], option, *param.opts)
            given = [param.opts[0], "own.csv"]
            message = ready.refused(name, *least, *given, option, "./own.csv")
            assert "'own.csv' is an input" in message, param.name
    source = LEAST[name][0]
    targets = [source]
    if not Path(source).suffix:  # a folder, beside the owner's one
        targets = [f"{source}/release.csv", f"{source}.owner/members.parquet"]
    for target in targets:
        message = ready.refused(name, *without(LEAST[name], option), option, target)
        assert f"'{target}' is an input" in message


@pytest.mark.parametrize("name", having("json", "html"))
def test_places_of_outputs(ready, name):
    least = [name, *LEAST[name]]
    assert "name the same file" in ready.refused(*least, "--html", "x", "--json", "./x")
    assert "is a web page" in ready.refused(*least, "--html", "x.pdf").replace("writes", "is")
    assert "for you only" in ready.refused(*least, "--json", "made/found.json")
    assert "nowhere" in ready.refused(*least, "--json", "nowhere/found.json")
    assert "nowhere" in ready.refused(*least, "--html", "nowhere/page.html")
