"""The examples for a warehouse: a build of dbt, and a test of somebody's own."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

import foreknow as fk
from foreknow.cli.entry import app

HERE = Path(__file__).parents[2]
PROJECT = HERE / "examples" / "dbt"


@pytest.fixture
def project(tmp_path):
    """A copy of the project, and what makes its policy too strict for it."""
    result = shutil.copytree(PROJECT, tmp_path / "dbt", ignore=shutil.ignore_patterns("target"))
    policy = result / "policy.toml"

    def stricter():
        assert "below = 0.25" in policy.read_text()
        policy.write_text(policy.read_text().replace("below = 0.25", "below = 0.1"))

    return result, stricter


def test_custom_test_shows_verdicts(project, monkeypatch):
    folder, stricter = project
    place = HERE / "examples" / "test_release.py"
    spec = importlib.util.spec_from_file_location("own_test", place)
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    assert own.FOLDER == PROJECT
    own.test_the_release_may_be_published()
    stricter()
    monkeypatch.setattr(own, "FOLDER", folder)
    with pytest.raises(AssertionError, match=r"(?s)must not be published.*FAILS.*HIV.*16\.7%"):
        own.test_the_release_may_be_published()


def test_model_is_its_policys_query():
    output = CliRunner().invoke(app, ["sql", "--policy", str(PROJECT / "policy.toml")]).output
    _, _, *model = (PROJECT / "models" / "tally.sql").read_text().splitlines()
    result = "\n".join(model).replace('{{ ref("release") }}', '"release"')
    assert output.splitlines()[1:] == f"{result};".splitlines()


def test_dbt_stops_at_unsafe_release(project):
    dbt = Path(sys.executable).with_name("dbt")
    pytest.importorskip("dbt.adapters.duckdb", reason="there is no dbt (dbt-core, dbt-duckdb)")
    folder, stricter = project
    text = os.pathsep.join(filter(None, [str(HERE / "src"), os.environ.get("PYTHONPATH")]))
    around = {**os.environ, "PYTHONPATH": text, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}

    def build():
        command = [dbt, "--no-use-colors", "build", "--profiles-dir", "."]
        output = subprocess.run(
            command, cwd=folder, env=around, capture_output=True, text=True, timeout=240
        )
        return output.returncode, output.stdout

    code, said = build()
    assert (code, "PASS=4 " in said) == (0, True), said
    stricter()
    code, said = build()
    assert code == 1, said
    assert "the release must not be published" in said
    assert "16.7%" in said
    release = folder / "seeds" / "release.csv"
    release.write_text("\n".join(release.read_text().splitlines()[:-5]) + "\n")
    code, said = build()
    assert (code, "FAIL" in said) == (1, True), said  # the test in SQL, before the audit
    audit = ["audit", "--counts", str(folder / "clinic.duckdb"), "--table", "tally"]
    result = CliRunner().invoke(app, [*audit, "--policy", str(folder / "policy.toml")])
    assert result.exit_code == 1


# ---- the hook for pre-commit --------------------------------------------------------------------


def entry_of(page):
    """The command of a hook, as pre-commit splits it."""
    lines = re.search(r"entry: >-\n((?: +.*\n)+?) +language:", (HERE / page).read_text())[1]
    return shlex.split(" ".join(line.strip() for line in lines.splitlines()))


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """A folder with two releases, and a program that is called foreknow."""
    folder = tmp_path_factory.mktemp("committed")
    rows = pa.table({"age": [30, 30, 41, 41], "ill": ["flu", "cold", "flu", "cold"]})
    keys = {"quasi_identifiers": ["age"], "sensitive": "ill", "k_anonymity": 2}
    for name in ("-x", "my release"):
        fk.publish(rows, **keys, below="0.9").write(folder / name)
    program = folder / "bin" / "foreknow"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m foreknow "$@"\n')
    program.chmod(0o755)
    return folder


def test_the_hook_stops_changed_data(committed, tmp_path):
    shutil.copytree(committed, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "my release" / "release.csv").open("a") as file:
        file.write("30,flu\n")
    done = hooked(tmp_path, ["-x/release.csv", "my release/release.csv"])
    assert done.returncode == 1
    assert "release.csv is not the file that was certified (digest differs)" in done.stderr


def test_page_names_the_hook():
    hook = (HERE / ".pre-commit-hooks.yaml").read_text()
    assert (
        re.search(r"^- id: (.*)$", hook, re.MULTILINE)[0]
        in (HERE / "docs/do/pipeline.md").read_text()
    )
    assert "files:" not in hook


def hooked(folder, paths):
    """What came of a commit of these files."""
    entry = entry_of(".pre-commit-hooks.yaml")
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        [*entry, *paths], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
