"""What commands import: what they do not need is time that somebody waits."""

import subprocess
import sys

import pytest

from foreknow import sample

LOADED = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
from foreknow.cli import main
main()
"""
# Frames, the web, other pages' models, and methods that were not asked for.
IDLE = {
    "narwhals",
    "pandas",
    "http.client",
    "urllib.request",
    "xml.sax.saxutils",
    "asyncio",
    "unittest",
    "foreknow.utility.models",
    "foreknow.utility.queries",
    "foreknow.methods.jump.jump",
    "foreknow.methods.art.art",
}


def process(folder, *arguments):
    """Run the command line; its exit code, what it prints, and the modules that it imported."""
    called = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(called, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout, {*done.stderr.split()}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    policy = ["--policy", str(sample.policy_path())]
    given = ["publish", str(sample.table_path()), *policy, "--out", "out"]
    return folder, process(folder, *given)


def test_publish_imports_no_more_than_it_needs(published):
    _, (code, out, loaded) = published
    assert code == 0
    assert "Written to out:" in out
    assert not IDLE & loaded


def test_verify_imports_no_method(published):
    folder, _ = published
    code, _, loaded = process(folder, "verify", "out")
    assert code == 0
    assert not IDLE & loaded
    assert "foreknow.methods.mondrian.mondrian" not in loaded


def test_help_looks_for_no_packages(published):
    folder, _ = published
    code, out, loaded = process(folder, "--help")
    assert code == 0
    assert "publish" in out
    assert not {"importlib.metadata", "numpy", "foreknow.methods.registry"} & loaded


def test_a_name_between_colons_is_printed_as_it_is(published):
    folder, _ = published
    (folder / ":key:").mkdir()
    code, out, _ = process(folder, "demo", ":key:/:cat:")
    assert code == 0
    assert "Written to :key:/:cat::" in out
