"""The command line as its own process, from files to exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.desk import POLICY, TABLE

import foreknow as fk

SOURCE = Path(fk.__file__).parents[1]


@pytest.fixture
def call(tmp_path):
    """Run `python -m foreknow.cli` in a folder with a table and a policy."""
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "policy.toml").write_text(POLICY)

    def run(*arguments, **options):
        return subprocess.run(
            [sys.executable, "-m", "foreknow.cli", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "200"},
            text=True,
            timeout=120,
            check=False,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )

    run.folder = tmp_path
    return run


def test_publish_verify_and_audit_agree(call):
    published = call("publish", "table.csv", "-p", "policy.toml", "-o", "out")
    assert (published.returncode, published.stderr) == (0, "")
    assert sorted(path.name for path in (call.folder / "out").iterdir()) == [
        "certificate.json",
        "owner.json",
        "release.csv",
        "report.html",
    ]
    assert sorted(p.name for p in call.folder.iterdir()) == ["out", "policy.toml", "table.csv"]
    verified = call("verify", "out/certificate.json")
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "Verified: 8 people in " in verified.stdout
    audited = call("audit", "out", "-p", "policy.toml", "--json", "audit.json", "--quiet")
    assert (audited.returncode, audited.stdout, audited.stderr) == (0, "", "")
    table = json.loads((call.folder / "audit.json").read_text())
    certificate = json.loads((call.folder / "out" / "certificate.json").read_text())
    assert table["safe"] is certificate["safe"] is True
    assert table["verdicts"][0]["worst"]["exact"] == certificate["findings"][0]["exact"]


def test_the_demo_runs_end_to_end_and_is_verified(call):
    shown = call("demo", "shown")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Verified: " in shown.stdout
    assert (call.folder / "shown" / "release.csv").exists()
    assert fk.Certificate.load(call.folder / "shown" / "certificate.json").safe


def test_version_and_help_cost_no_engine(call):
    version = call("--version")
    assert (version.returncode, version.stdout) == (0, f"foreknow {fk.__version__}\n")
    shown = call("--help")
    assert shown.returncode == 0
    for word in ("audit", "publish", "verify", "demo", "Exit codes"):
        assert word in shown.stdout
    code = "import sys, foreknow.cli; sys.exit(bool({'duckdb', 'pyarrow'} & set(sys.modules)))"
    light = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(SOURCE)}, check=False
    )
    assert light.returncode == 0
