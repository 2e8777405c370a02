"""A leaf can be deleted: its entry says that it is not installed, and the rest works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.examples import NIGHTLY

from foreknow.features import LEAVES

ROOT = Path(__file__).parents[2]
# Tests of the trunk and of the judge that run by night for each leaf, in under a minute each.
TRUNK = """
adversaries/test_facts audits/test_audit cli/test_cli_verify frames/test_counts
judge/test_certificate judge/test_gauges judge/test_verifier policies/test_policy
prepare/test_prepare publishing/test_publishing structure/test_seams
"""
# What is left is imported, and does the main job from a table to a verified release.
WORKS = """
import importlib, json, pathlib, pkgutil, sys
import foreknow as fk
from foreknow import sample
from foreknow.features import LEAVES, is_installed

for module in pkgutil.walk_packages(fk.__path__, "foreknow."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
policy = fk.Policy.load(sample.policy_path())
made = fk.publish(sample.table_path(), policy)
made.write("release")
assert made.audit.safe and made.audit.to_html() and made.audit.summary()
assert fk.audit("release", policy).safe
assert fk.verify("release").people == fk.verify("release", policy).people > 3000
assert fk.suggest_policy(sample.table_path()).policy
print(json.dumps([leaf for leaf in LEAVES if not is_installed(leaf)]))
"""
# What asks for each leaf.
ENTRIES = {
    "foreknow.features.more_methods.art": "fk.ART",
    "foreknow.features.more_methods.streamliner": "fk.Streamliner",
    "foreknow.features.more_methods.jump": "fk.publish(table, policy, method='jump')",
    "foreknow.features.more_methods.decoy": "fk.publish(table, policy, method='decoy')",
    "foreknow.features.statements": "fk.Statements",
    "foreknow.features.attacks": "fk.attack",
    "foreknow.features.learned_attacks": "fk.learned_report",
    "foreknow.features.utility": "fk.utility_report",
    "foreknow.features.comparison": "fk.compare",
    "foreknow.features.risk": "fk.Policy.from_dict({'require': [{'k_map': {'k': 2}}]})",
    "foreknow.features.skylines": "fk.skyline_report",
    "foreknow.features.evidence": "fk.evidence_report",
    "foreknow.features.several_releases": "fk.audit(['release', 'release'], policy)",
    "foreknow.features.spark": "fk.audit(frame_of_spark(), policy)",
    "foreknow.features.explore": "command('explore')",
    "foreknow.features.exports": "fk.export",
}
REFUSES = """
import sys
import foreknow as fk
from foreknow import sample
from foreknow_judge.errors import UnsupportedError
from foreknow.cli.entry import app

table, policy = sample.table_path(), fk.Policy.load(sample.policy_path())

def command(name):
    app.main([name], standalone_mode=False)

def frame_of_spark():
    kind = type("DataFrame", (), {"toArrow": None, "__module__": "pyspark.sql.dataframe"})
    return kind()

for entry in sys.argv[1:]:
    try:
        eval(entry)
    except UnsupportedError as refused:
        assert str(refused).startswith("not installed: "), refused
    else:
        raise AssertionError(f"{entry} is not refused")
"""


def copy_without(leaves, folder):
    """The source without some leaves, as Git leaves their folders, and how to run Python on it."""
    shutil.copytree(ROOT / "src", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for leaf in leaves:
        shutil.rmtree(folder.joinpath(*leaf.split(".")))
        folder.joinpath(*leaf.split("."), "__pycache__").mkdir(parents=True)
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def run(code, *given, where, env):
    done = subprocess.run(
        [sys.executable, "-c", code, *given], cwd=where, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_leaf_has_an_entry():
    assert ENTRIES.keys() == LEAVES.keys()
    for leaf in LEAVES:
        assert (ROOT / "src").joinpath(*leaf.split("."), "__init__.py").is_file()


@pytest.mark.parametrize("leaves", [[*LEAVES], *([leaf] for leaf in LEAVES if NIGHTLY)], ids=len)
def test_the_rest_works_without_leaves(leaves, tmp_path):
    env = copy_without(leaves, tmp_path / "src")
    gone = run(WORKS, where=tmp_path, env=env)
    assert gone.strip().endswith(str(leaves).replace("'", '"'))
    run(REFUSES, *(ENTRIES[leaf] for leaf in leaves), where=tmp_path, env=env)


@pytest.mark.slow
@pytest.mark.parametrize("leaves", [[*LEAVES], *([leaf] for leaf in LEAVES)], ids=",".join)
def test_the_trunk_passes_without_leaves(leaves, tmp_path):
    env = copy_without(leaves, tmp_path / "src")
    env.pop("FOREKNOW_NIGHTLY", None)
    gone = {leaf.removeprefix("foreknow.") for leaf in leaves}
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=lambda _, names: gone & {*names})
    for path in {*ROOT.iterdir()} - {ROOT / "src", ROOT / "tests"}:
        (tmp_path / path.name).symlink_to(path)
    files = [f"tests/{name}.py" for name in TRUNK.split()]
    command = [sys.executable, "-m", "pytest", "-p", "tests.leafless", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *files], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    counts = {what: int(many) for many, what in re.findall(r"(\d+) (\w+)", done.stdout[-200:])}
    assert counts["passed"] > 9 * counts.get("skipped", 0) > 0
