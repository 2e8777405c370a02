"""What tests of all folders use: numbers of cases, refusals by code, signals, altered releases."""

import json
import os
import signal
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import settings

import foreknow as fk
from foreknow_judge.errors import ForeknowError
from foreknow_judge.verdict import Figure
from foreknow_judge.verdicts import decided


@contextmanager
def refused(code, kind=ForeknowError, **fields):
    """Expect an error with a code, and with these fields among its own."""
    with pytest.raises(kind) as caught:
        yield caught
    assert (caught.value.code, caught.value.fields) == (code, caught.value.fields | fields)


# signals as a terminal sends them, also where tests run in the background and ignore them.


def heeded():
    """Let signals end this process: what a test runs first in a process that it starts."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


# ---- verdicts with other fields, which only tests make -----------------------------------------


def altered(verdict, **changes):
    """The same verdict with some other fields."""
    about = {field.name: getattr(verdict, field.name) for field in fields(Figure)}
    return decided(Figure(**{**about, **changes}), verdict.safe)


# how many random cases a property is tried on: all by night, a part in each run, fresh ones.

NIGHTLY = os.environ.get("FOREKNOW_NIGHTLY") == "1"


def examples(nightly, daily=None, **more):
    """Hypothesis settings for so many cases by night; by day a twentieth of them, or so many."""
    daily = daily or max(nightly // 20, 8)
    return settings(max_examples=nightly if NIGHTLY else daily, **more)


# ---- what tests of audits do with the folder of a release --------------------------------------


def written(table, policy, folder, **how):
    """What is published of a table, which lies in a folder."""
    publication = fk.publish(table, policy, **{"seed": 1, "learned": False, **how})
    publication.write(folder)
    return publication


def forge(folder, change):
    """Let a function change the certificate of a folder."""
    path = folder / "certificate.json"
    certificate = json.loads(path.read_text("utf-8"))
    change(certificate)
    path.write_text(json.dumps(certificate), "utf-8")


def settings_of(certificate, **changed):
    """Change settings of the first requirement of a certificate."""
    certificate["policy"]["require"][0].update(changed)


# ---- files of what is written, and below each what is said -------------------------------------


def said_below(test_file, name):
    """Pairs of a line of a file beside a test and of the one below it; # begins a comment."""
    lines = Path(test_file).parent.joinpath(name).read_text("utf-8").splitlines()
    lines = [line for line in lines if not line.startswith("# ")]
    return [*zip(lines[::2], [line.strip() for line in lines[1::2]], strict=True)]
