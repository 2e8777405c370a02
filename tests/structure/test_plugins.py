"""Installed packages add kinds and methods, and leaves can be deleted; the rest works as before.

Commands run in a process that has the package on its path, as if it were installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests import toys
from tests.cli.conftest import python
from tests.common import NIGHTLY

import foreknow as fk
from foreknow import plugins
from foreknow.features import LEAVES
from foreknow.methods import registry

# What the package has beside the toys: what it says is not so.
MORE = '''

class Ignorant(Friends):
    """Whatever somebody knows, this package says that it is nothing."""

    def disclosures(self, release):
        none = Fraction(1, 1000)
        return {v: Disclosure(v, float(none), lambda: none) for v in counts_of(release).values}

    @staticmethod
    def _judge(asked, settings):
        group, (_, bag) = next(iter(asked.held.items()))
        return min(bag), group, Fraction(1, 1000), Fraction(1)

    judge: ClassVar[Judge] = Judge(_judge)


class ProvedPairs(Pairs):
    traits: ClassVar[fk.Traits] = fk.Traits(
        proof=fk.Proof("we say so", "", lambda policy: True)
    )


class Facts(EvenGroups):
    key: ClassVar[str] = "facts"
'''
POINTS = """
[foreknow.criteria]
even_groups = evens:EvenGroups

[foreknow.adversaries]
friends = evens:Ignorant

[foreknow.methods]
pairs = evens:ProvedPairs
"""
POLICY = """
[schema]
quasi_identifiers = ["age"]
sensitive = "disease"

[[require]]
even_groups = 2

[[require]]
k_anonymity = 2

[publish]
labels = { age = "exact" }
"""


@pytest.fixture
def place(tmp_path):
    """A table and a policy."""
    rows = [f"{age},{disease}" for age, disease in zip(range(20, 60, 5), "abcdabcd", strict=True)]
    (tmp_path / "table.csv").write_text("\n".join(["age,disease", *rows]) + "\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def install(site, points):
    about = site / "evens-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: evens\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(points)
    (site / "evens.py").write_text(Path(toys.__file__).read_text("utf-8") + MORE, "utf-8")


# Imports the library once; each command, with its folder, is a fork of that.
SERVER = """
import json, os, sys
import foreknow.auditing.audit, foreknow.cli.entry
import foreknow.publishing.publish, foreknow.publishing.verification
from foreknow.cli import main

for line in sys.stdin:
    folder, *arguments = json.loads(line)
    os.chdir(folder)
    child = os.fork()
    if not child:
        said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.argv[1:] = arguments
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A process that has the package, as an installer leaves it, and runs commands."""
    site = tmp_path_factory.mktemp("site")
    install(site, POINTS)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    env = {**os.environ, "PYTHONPATH": str(site), "COLUMNS": "300"}
    with subprocess.Popen([sys.executable, "-c", SERVER], env=env, **pipes) as made:
        yield made
        made.stdin.close()


@pytest.fixture
def run(place, installed):
    """What a command says that has the package."""

    def call(line, code=0):
        installed.stdin.write(json.dumps([str(place), *line.split()]) + "\n")
        installed.stdin.flush()
        ended = int(installed.stdout.readline())
        text = " ".join((place / "said.txt").read_text("utf-8").split())
        assert ended == code, text
        return text

    return call


def refused(site, place, line):
    """What a command says, which is refused, in a process of its own with other packages."""
    done = python("-m", "foreknow", *line.split(), folder=place, PYTHONPATH=str(site))
    assert done.returncode == 2, done
    return " ".join((done.stdout + done.stderr).split())


PUBLISH = "publish table.csv --policy policy.toml --out out"
AUDIT = "audit table.csv --policy policy.toml"


@pytest.mark.complete
def test_whose_word_it_is(run, place):
    whose = "but nothing limits inference; even_groups (evens) by the word of another package alone"
    alone = (
        "By the word of another package alone, which Foreknow cannot prove: even_groups (evens)."
    )
    texts = [run(PUBLISH), (place / "out" / "report.html").read_text("utf-8"), run("verify out")]
    run("evidence out --out evidence.html")
    texts.append((place / "evidence.html").read_text("utf-8"))
    assert f"Both requirements hold, {whose}" in run("audit out --policy policy.toml")
    for text in texts:
        assert alone in text
        assert whose.partition("; ")[2] in text
    assert f"Both requirements hold, {whose}" in texts[0]
    assert all(f"every requirement holds, {whose}" in text for text in texts[2:])


def test_knowledge_of_another_package(run, place):
    """It says that nobody knows anything; a group of one value is then certain all the same."""
    rules = POLICY.replace("even_groups = 2", 'friends = { many = 3 }\nbelow = "1/2"')
    (place / "policy.toml").write_text(rules)
    out = run(AUDIT, code=1)  # k_anonymity fails
    assert "which Foreknow cannot prove: friends (evens)." in out
    (place / "policy.toml").write_text(rules.replace("[[require]]\nk_anonymity = 2\n", ""))
    text = "Safe: the requirement holds; friends (evens) by the word of another package"
    assert text in run(AUDIT)


def test_certificates_of_another_package(run, place):
    run(PUBLISH)
    message = refused(place / "none", place, "verify out")  # who lacks it cannot verify
    assert "unknown key 'even_groups'; if it is a kind of another package" in message
    assert "erified:" not in message
    certificate = place / "out" / "certificate.json"
    text = certificate.read_text("utf-8")
    assert '"foreign"' in text
    certificate.write_text(text.replace("even_groups (evens)", "even_groups (foreknow)"))
    assert "scope: foreign is" in run("verify out", code=1)


def test_a_method_of_another_package(run):
    """It is named, and its proof is not said."""
    out = run(f"{PUBLISH} --method pairs --set size=4")
    assert "also against an adversary who knows the method" not in out
    assert "Knowledge of the method was not judged" in out
    assert "pairs" in run("publish --help")


METHOD_JOB = """
import sys
from foreknow.features import more_methods

more_methods.__path__.append(sys.argv[1])
import pandas as pd
import foreknow as fk

table = pd.DataFrame({"town": [*"AAAAABBBBB"], "ill": [*"abcdeabcde"]})
schema = {"quasi_identifiers": ["town"], "sensitive": "ill"}
rules = {"schema": schema, "require": [{"l_diversity": {"l": 4}}]}
rules["publish"] = {"method": "fives", "fives": {"size": 5}}
release = fk.publish(table, rules)
release.save(sys.argv[1] + "/out")
fk.verify(sys.argv[1] + "/out")
certificate = fk.Certificate.load(sys.argv[1] + "/out/certificate.json")
print(release.counts.sizes.tolist(), dict(sorted(certificate.method.items())))
"""


def test_one_folder_is_a_method(tmp_path):
    """All that is added: a folder beside those of ART and Decoy, which names its class METHOD."""
    folder = tmp_path / "fives"
    folder.mkdir()
    (folder / "__init__.py").write_text('"""Fives."""')
    toy = Path(toys.__file__).read_text("utf-8")
    body = toy[toy.index("class PairsSettings") : toy.index("class Silent")]
    imports = "\n".join(line for line in toy.splitlines() if line.startswith(("from", "import")))
    named = body.replace('"pairs"', '"fives"') + "METHOD = Pairs\n"
    (folder / "fives.py").write_text(f"{imports}\n\n\n{named}")
    run = [sys.executable, "-c", METHOD_JOB, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stdout == "[5, 5] {'name': 'Pairs', 'size': 5}\n"


def test_no_folder_replaces_a_method(tmp_path, monkeypatch):
    (tmp_path / "mondrian").mkdir()
    (tmp_path / "mondrian" / "__init__.py").write_text("")
    monkeypatch.setattr(registry.more_methods, "__path__", [str(tmp_path)])
    with pytest.raises(ImportError, match="mondrian: a method of Foreknow is called so already"):
        list(registry._of_folders())


def test_names_that_are_taken(place):
    install(place / "other", "[foreknow.criteria]\nfacts = evens:Facts\n")
    code = """
from foreknow.criteria.registry import CRITERIA, OURS
from foreknow.policy.policy import Policy
assert [*CRITERIA] == [*OURS]
policy = Policy.from_dict({"require": [{"facts": {"l": 1}, "below": 0.5}]})
assert type(policy.requirements[0].adversary).__module__.startswith("foreknow.")
"""
    assert python("-c", code, PYTHONPATH=str(place / "other")).returncode == 0


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ("even_groups = evens:Nothing", "cannot be loaded"),
        ("odd_groups = evens:EvenGroups", "they must be the same"),
    ],
)
def test_packages_that_are_broken(place, points, message):
    install(place / "site", f"[foreknow.criteria]\n{points}\n")
    refusal = refused(place / "site", place, AUDIT)
    assert message in refusal
    assert "Traceback" not in refusal


class Mine(fk.KAnonymity):
    key = "mine"


class Milder(fk.KAnonymity):
    """With a key of ours."""

    def attained(self, release):
        return fk.KAnonymity(1).attained(release)


def test_classes_are_their_writers_word():
    counts = fk.GroupCounts.from_bags(["abcd", "abcd"])
    rules = [fk.Requirement(fk.Facts(1), below="3/4"), fk.Requirement(fk.KAnonymity(2))]
    assert fk.audit(counts, fk.Policy(rules)).scope.foreign == ()
    assert plugins.package_of(fk.Facts) == ""
    assert plugins.foreign([fk.Facts, fk.KAnonymity]) == ()
    for kind, bags, said in (
        (Mine(2), ["aa"], "mine (tests)"),
        (Milder(2), ["ab", "c"], "k_anonymity (tests)"),
    ):
        audit = fk.audit(fk.GroupCounts.from_bags(bags), fk.Policy([fk.Requirement(kind)]))
        assert audit.scope.foreign == (said,)
        whose = f"{said} by the word of another package alone"
        assert whose in " ".join(audit.summary().split())


def test_what_the_verifier_judged(tmp_path):
    """That is nobody else's word."""

    class Same(fk.KAnonymity):
        pass

    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    table = pa.table({"age": [20, 20, 30, 30], "ill": [*"abab"]})
    publication = fk.publish(table, fk.Policy([fk.Requirement(Same(2))], schema))
    assert publication.audit.scope.foreign == ("k_anonymity (tests)",)
    publication.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").scope.foreign == ()


# ---- a leaf can be deleted: its entry says that it is not installed, and the rest works --------

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


def run_code(code, *given, where, env):
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
    entries = [ENTRIES[leaf] for leaf in leaves]
    gone = run_code(WORKS + REFUSES, *entries, where=tmp_path, env=env)
    assert gone.strip().endswith(str(leaves).replace("'", '"'))


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
