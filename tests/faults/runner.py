"""Runs the tests of one fault in a process of their own, until the first that fails."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.faults.faults import FaultError

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
