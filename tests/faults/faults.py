"""The faults that tests must notice, and how tests run until the first that fails.

Each would call something safe that is not, or say it wrongly. `faults.txt` has them, and says how
they are written.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple


class FaultError(Exception):
    """A fault that cannot be planted."""


class Fault(NamedTuple):
    """A text of a function, and another one that makes it wrong."""

    name: str
    place: str  # the module, a colon, and the function, method, class or name in it
    text: str
    instead: str
    wrong: str  # what it would make wrong
    among: str  # the files of tests that should notice it

    @property
    def tests(self):
        """The paths of these files."""
        return [f"tests/{name}.py" for name in self.among.split()]


def read(path):
    """The faults of a file, by name."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    faults = {}
    for start in range(0, len(lines), 4):
        try:
            head, place, text, instead = lines[start : start + 4]
            name, wrong = head.split(": ", 1)
            place, among = place.strip().split(" | ")
        except ValueError:
            raise FaultError(f"not written as the others: {lines[start]}") from None
        if name in faults or (text[:5], instead[:5]) != ("    -", "    +"):
            raise FaultError(f"{name} stands twice, or is not written as the others")
        faults[name] = Fault(name, place, text[6:], instead[6:], wrong, among)
    return faults


FAULTS = read(Path(__file__).with_name("faults.txt"))


# ---- runs the tests of one fault in a process of their own, until the first that fails ---------

ROOT = Path(__file__).parents[2]
_NO_TESTS_FAILED, _SOME_FAILED = 0, 1


class Noticed(NamedTuple):
    """Which test noticed a fault, or None; and how long it took."""

    by: str | None
    why: str
    seconds: float


def noticed(fault):
    """Plant a fault, and run its tests as they run by day; an error if they cannot run."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "notice.json"
        row = json.dumps(fault._asdict())
        options = ["-x", "-p", "no:cacheprovider", "--notice", str(path), "--fault", row]
        command = [sys.executable, "-m", "pytest", "-p", "tests.faults.plant", *options]
        environment = {key: own for key, own in os.environ.items() if key != "FOREKNOW_NIGHTLY"}
        done = subprocess.run(
            [*command, *fault.tests],
            cwd=ROOT,
            env=environment | {"CI": "true"},
            capture_output=True,
            text=True,
        )
        if done.returncode not in (_NO_TESTS_FAILED, _SOME_FAILED) or not path.exists():
            raise FaultError(f"{fault.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        document = json.loads(path.read_text("utf-8"))
    if (done.returncode == _SOME_FAILED) != (document["by"] is not None):
        raise FaultError(f"{fault.name}: {done.stdout[-2000:]}")
    return Noticed(**document, seconds=time.monotonic() - began)
