"""Entry points: kinds and methods of an installed package, and that nothing is safe by them unsaid.

Commands run in a process that has the package on its path, as if it were installed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests import toys
from tests.cli.desk import python

import foreknow as fk
from foreknow import plugins

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
