"""Rounds of mutants: odd texts, seeds, what must hold of every call, and the process for all."""

import contextlib
import csv
import datetime
import io
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.fuzz.worker import command, read

import foreknow as fk

HERE = Path(__file__).resolve()
SOURCE, ROOT = Path(fk.__file__).resolve().parents[1], HERE.parents[2]

FIXED = "a fixed seed"
NIGHTLY = os.environ.get("FOREKNOW_NIGHTLY") == "1"
# At night another seed each day, or the one to be replayed.
SEED = os.environ.get("FOREKNOW_FUZZ_SEED") or (
    datetime.date.today().isoformat() if NIGHTLY else FIXED
)
KEPT = Path(os.environ.get("FOREKNOW_FUZZ_FOLDER") or Path(tempfile.gettempdir()) / "foreknow-fuzz")

# How long one call may take: seconds of the processor, since the machine may be busy.
PROCESSOR_SECONDS = 10
# When a call counts as hanging.
CLOCK_SECONDS = 120
SHOWN = 8

# What a terminal must never be sent from a file that is read: an escape sequence, text that runs
# backwards.
ESCAPE, BACKWARDS = "\x1b[31m", "\u202e"
FORBIDDEN = (b"\x1b", b"\x9b[", BACKWARDS.encode())


class Fault(AssertionError):
    """Something that must not be, with one mutant."""


@dataclass(frozen=True)
class Said:
    """What one call of the command line said."""

    argv: tuple
    code: int
    out: bytes
    err: bytes
    seconds: float

    def __str__(self):
        both = (self.out + self.err)[-1500:].decode("utf-8", "replace")
        return f"{shlex.join(['foreknow', *self.argv])}\nexit {self.code}, said {both!r}"


class Worker:
    """The process in which commands run; a new one after a crash."""

    def __init__(self):
        self._pool = None

    def run(self, folder, *argv):
        """Run a command, and refuse what no command may do."""
        argv = tuple(map(str, argv))
        text = shlex.join(["foreknow", *argv])
        message = Said(argv, *self._answer(text, command, str(folder), argv))
        check(message)
        return message

    def read(self, folder, reading, **given):
        """Ask a reading; a dict with ``read`` or ``refused``."""
        called = f"{reading}({given})"
        answer, seconds = self._answer(called, read, str(folder), reading, given)
        if seconds > PROCESSOR_SECONDS:
            raise Fault(f"{called}\ntook {seconds:.0f} s")
        return answer

    def close(self):
        """End the process, if there is one."""
        if self._pool is not None:
            for process in [*self._pool._processes.values()]:
                process.kill()
            self._pool.shutdown()
        self._pool = None

    def _answer(self, called, work, *given):
        with patch.dict(os.environ, {"PYTHONUTF8": "1", "COLUMNS": "100"}):
            for name in ("FOREKNOW_DEBUG", "FORCE_COLOR", "PYTHONDEVMODE"):
                os.environ.pop(name, None)
            self._pool = self._pool or ProcessPoolExecutor(1, get_context("spawn"))
            answer = self._pool.submit(work, *given)
        try:
            return answer.result(CLOCK_SECONDS)
        except TimeoutError:
            self.close()
            raise Fault(f"{called}\nhangs: no answer after {CLOCK_SECONDS} s") from None
        except BrokenProcessPool:
            self.close()
            raise Fault(f"{called}\nended the process") from None
        except Exception as error:
            raise Fault(f"{called}\n{''.join(traceback.format_exception(error))}") from None


def check(said):
    """Refuse what no call of the command line may do."""
    if said.code not in (0, 1, 2):
        raise Fault(f"exit {said.code}: {said}")
    if b"Traceback" in said.out + said.err:
        raise Fault(f"a traceback: {said}")
    if said.code == 2 and not said.err.strip():
        raise Fault(f"refused without a word: {said}")
    for sign in FORBIDDEN:
        if sign in said.out + said.err:
            raise Fault(f"{sign!r} reaches the terminal: {said}")
    if said.seconds > PROCESSOR_SECONDS:
        raise Fault(f"took {said.seconds:.0f} s: {said}")


def alone(said, folder):
    """Run the same as a process of its own: it must end alike."""
    process = subprocess.run(
        [sys.executable, "-m", "foreknow.cli", *said.argv],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1", "COLUMNS": "100"},
        capture_output=True,
        timeout=CLOCK_SECONDS,
        check=False,
    )
    again = Said(said.argv, process.returncode, process.stdout, process.stderr, 0)
    check(again)
    if again.code != said.code:
        raise Fault(f"exit {again.code} as a process of its own, {said.code} in the worker: {said}")


def played(kind, attempt, count, seed, worker, folder):
    """Call ``attempt(chance, folder, worker)`` so often; keep the folders of faults."""
    faults, only = [], os.environ.get("FOREKNOW_FUZZ_ONLY")
    for i in [int(only)] if only else range(count):
        place = folder / f"{kind}-{i}"
        place.mkdir()
        try:
            attempt(random.Random(f"{kind} {seed} {i}"), place, worker)
        except Fault as fault:
            kept = KEPT / f"{kind}-{seed}-{i}".replace(" ", "-")
            shutil.rmtree(kept, ignore_errors=True)
            with contextlib.suppress(OSError):
                shutil.copytree(place, kept, symlinks=True)
                (kept / "FAULT.txt").write_text(str(fault), "utf-8", "backslashreplace")
            text = f"FOREKNOW_FUZZ_SEED={shlex.quote(str(seed))} FOREKNOW_FUZZ_ONLY={i}"
            faults.append(f"mutant {i}, kept in {kept}; again with {text}\n{fault}")
        shutil.rmtree(place, ignore_errors=True)
    message = "\n\n".join(faults[:SHOWN])
    assert not faults, (
        f"{len(faults)} of {count} mutants of {kind} with the seed {seed}:\n\n{message}"
    )


def rounds(nightly, by_day=20):
    """Parametrize a test by `count` and `seed`: a few of a fixed seed, at night many of the day."""
    nightly = int(os.environ.get("FOREKNOW_FUZZ_COUNT") or nightly)
    night = pytest.param(nightly, SEED, marks=pytest.mark.slow, id="nightly")
    chosen = os.environ.get("FOREKNOW_FUZZ_SEED") or FIXED
    return pytest.mark.parametrize(
        ("count", "seed"), [pytest.param(by_day, chosen, id="a few"), night]
    )


# ---- mutators: odd texts, and changes of texts and bytes ----------------------------------------

# Texts that some reader takes for something else, and pairs that must stay two values.
ODD = (
    *("Flu", "Flu ", " Flu", "flu", "Flu\u00a0", "Flu\u200b", "é", "e\u0301"),
    *("20", "20 ", " 20", "20.0", "020", "+20", "2e1", "1\u0663", "13", "\u00b2", "-0", "0", "0.0"),
    *("NA", "NaN", "nan", "null", "NULL", "None", "missing", "-", "*", "True", "true"),
    *("1e400", "inf", "9" * 25, "0." + "1" * 40),
    *("2024-02-29", "2023-02-29", "2024-02-29 00:00", "0000-00-00"),
    *("a\nb", "a\r\nb", "a\rb", "a,b", "a;b", "a\tb", "a|b", 'say "hi"', '"', "''", "\\", "\\n"),
    *("#", "=1+1", "@x", "\x00", "a\x00b", "\x1a", "\x7f", "\u0085", "\u2028", "\ufeff", "\ufffd"),
    *(ESCAPE, BACKWARDS + "abc", "[red]x[/red]", "{{ 7 * 7 }}", "<b>x</b>"),
    *("ß", "SS", "\U0001f600", "x" * 300),
)
# Bytes that matter to one of the formats, or are no UTF-8.
BYTES = (
    *(b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\t"),
    *(b'"', b"'", b",", b";", b" ", b"\\", b"[", b"{", b"=", b"#", b"\x1b[31m", b"\x1a"),
    BACKWARDS.encode(),
)


def mutated_bytes(chance, data, most=3):
    """Change a few places: flip, insert, delete, double, or swap pieces."""
    data = bytearray(data)
    for _ in range(chance.randint(1, most)):
        position = chance.randrange(len(data) + 1)
        end = min(len(data), position + chance.choice((1, 1, 2, 5, 20, 100)))
        kind = chance.choice(("flip", "insert", "insert", "delete", "double", "cut", "move"))
        if kind == "flip" and position < len(data):
            data[position] ^= 1 << chance.randrange(8)
        elif kind == "insert":
            data[position:position] = chance.choice(BYTES)
        elif kind == "delete":
            del data[position:end]
        elif kind == "double":
            data[position:position] = data[position:end]
        elif kind == "move":
            piece = data[position:end]
            del data[position:end]
            position = chance.randrange(len(data) + 1)
            data[position:position] = piece
        elif chance.random() < 0.3:
            del data[position:]
    return bytes(data)


def mutated_text(chance, text, most=3):
    """The same of a text, as UTF-8 that may have become none."""
    return mutated_bytes(chance, text.encode("utf-8", "surrogatepass"), most)


def words(text):
    """The words of a text."""
    return text.split()


def csv_text(rows):
    """Rows as the bytes of a CSV file."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue().encode()


# ---- one process in which mutants are tried, for all tests of this folder ----------------------


@pytest.fixture(scope="session")
def worker():
    """The process in which commands run."""
    started = Worker()
    yield started
    started.close()


@pytest.fixture
def play(worker, tmp_path):
    """Play rounds of mutants of a kind."""
    return lambda kind, attempt, count, seed: played(kind, attempt, count, seed, worker, tmp_path)
