"""A full disk, no permission, a folder that exists, Ctrl-C: nothing is left half-written."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.cli.desk import POLICY, TABLE
from tests.signals import heeded

import foreknow as fk
from foreknow.auditing import audit as auditing
from foreknow.auditing.audit import Audit
from foreknow.publishing import formats
from foreknow.publishing import publish as publishing
from foreknow_judge import duckdb_files

SOURCE = Path(fk.__file__).parents[1]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_an_output_folder_that_exists_is_refused_before_anything_is_read(desk, kind):
    if kind == "folder":
        (desk.folder / "out").mkdir()
        desk.put("out/mine", "mine")
    else:
        desk.put("out", "mine")
    said = desk.refused(*desk.publish(table="none.csv"))
    assert "'out' exists already; name a new folder, or remove it first" in said


def test_a_folder_to_write_to_that_does_not_exist_is_named(desk):
    assert "does not exist; nothing was written" in desk.refused(*desk.publish(out="no/out"))
    said = desk.refused(*desk.audit("--json", "no/file"))
    assert "does not exist; nothing was written" in said


def test_an_output_folder_in_a_file_is_refused(desk):
    assert "Not a directory" in desk.refused(*desk.publish(out="table.csv/out"))


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT])
def test_no_permission_and_its_kin_are_told_in_the_system_s_words(desk, monkeypatch, code):
    def fail(*given, **named):
        raise OSError(code, os.strerror(code))

    duckdb_files.connect()  # has its own folder for what it writes aside
    monkeypatch.setattr(tempfile, "mkdtemp", fail)
    monkeypatch.setattr(tempfile, "mkstemp", fail)
    for arguments, name in (
        (desk.publish(), f"temporary files in {tempfile.gettempdir()!r}"),
        (desk.audit("--json", "audit.json"), "'audit.json'"),
    ):
        said = desk.refused(*arguments)
        assert f"cannot write {name}: {os.strerror(code)}; nothing was written" in said


@pytest.fixture
def small_disk(request, tmp_path):
    """A disk of 32 KiB, or of as many as a test says, where root may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = [
        "mount",
        "-t",
        "tmpfs",
        "-o",
        f"size={getattr(request, 'param', 32)}k",
        "tmpfs",
        str(disk),
    ]
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux may mount a small disk")
    try:
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("mounting is not allowed here")
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_a_disk_that_fills_up_with_the_table(desk, small_disk, fmt):
    rows = [f"P{i},{i},f,{['flu', 'cold'][i % 2]}" for i in range(20_000)]
    desk.put("table.csv", "\n".join([TABLE.splitlines()[0], *rows]))
    policy = POLICY.replace('identifiers = ["name"]', 'other = ["name"]')
    desk.put("policy.toml", policy.replace("[[require]]", "[[require]]\nknowing = []"))
    said = desk.refused(*desk.publish("--format", fmt, out=small_disk / "out"))
    assert "No space left on device; nothing was written" in said
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize("small_disk", [16], indirect=True)
def test_a_disk_that_fills_up_with_the_report(desk, small_disk):
    for arguments in (
        desk.publish(out=small_disk / "out"),
        desk.audit("--html", small_disk / "page.html"),
    ):
        said = desk.refused(*arguments)
        assert "No space left on device; nothing was written" in said
        assert list(small_disk.iterdir()) == []


# ---- Ctrl-C ------------------------------------------------------------------------------------

STAGES = {
    "counting": (fk.Microdata, "digest"),
    "partition": (fk.Mondrian, "partition"),
    "write_csv": (formats, "write_csv"),
    "verify": (publishing, "findings_of"),
    "to_html": (Audit, "to_html"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupt_at_any_stage_exits_with_130_and_leaves_nothing(desk, monkeypatch, stage):
    def interrupted(*given, **named):
        for path in given:
            if isinstance(path, Path):
                path.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(*STAGES[stage], interrupted)
    code, out, err = desk.run(*desk.publish())
    assert code == 130
    assert "Traceback" not in out + err
    assert sorted(path.name for path in desk.folder.iterdir()) == ["policy.toml", "table.csv"]


RUNNER = """
import os, signal, sys
from foreknow.publishing import formats
from foreknow.cli import main

write = formats.write_csv

def interrupted(table, path, **options):
    write(table, path, **options)
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()

formats.write_csv = interrupted
sys.argv = ["foreknow", "publish", "table.csv", "-p", "policy.toml", "-o", "out"]
main()
"""


def test_a_real_interrupt_while_writing_leaves_nothing_and_says_so(desk):
    """A SIGINT in a process of its own, while the release is being written."""
    process = subprocess.run(
        [sys.executable, "-c", RUNNER],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=heeded,
    )
    assert process.returncode == 130
    assert "nothing was left half-written" in process.stderr
    assert "Traceback" not in process.stdout + process.stderr
    assert sorted(path.name for path in desk.folder.iterdir()) == ["policy.toml", "table.csv"]


@pytest.mark.parametrize("arguments", [["--version"], ["audit", "none.csv", "-p", "policy.toml"]])
def test_who_calls_it_in_a_process_of_their_own_has_their_signals_back(desk, arguments):
    watched = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = [signal.getsignal(number) for number in watched]
    desk.run(*arguments)
    assert [signal.getsignal(number) for number in watched] == before


def test_a_bug_of_foreknow_itself_is_no_verdict(desk, monkeypatch):
    monkeypatch.setattr(publishing, "findings_of", lambda *given: [])
    code, _, err = desk.run(*desk.publish())
    assert "report it" in err
    assert code not in (0, 1, 2)


def unforeseen(*given, **named):
    raise RuntimeError("something [red]unforeseen[/red]")


def test_an_error_that_nobody_foresaw_is_told_without_a_traceback(desk, monkeypatch):
    monkeypatch.delenv("FOREKNOW_DEBUG", raising=False)
    monkeypatch.setattr(auditing, "audit", unforeseen)
    code, out, err = desk.run(*desk.audit())
    assert (code, out) == (3, "")
    said = " ".join(err.split())
    assert said.startswith("foreknow: RuntimeError: something [red]unforeseen[/red]. ")
    assert "please report it" in said
    assert "FOREKNOW_DEBUG=1" in said
    assert "Traceback" not in err


def test_an_error_that_nobody_foresaw_is_passed_on_to_who_looks_for_it(desk, monkeypatch):
    monkeypatch.setenv("FOREKNOW_DEBUG", "1")
    monkeypatch.setattr(auditing, "audit", unforeseen)
    with pytest.raises(RuntimeError, match="unforeseen"):
        desk.run(*desk.audit())
