"""Entry points: kinds and methods of an installed package, and that nothing is safe by them unsaid.

Commands run in a process that has the package on its path, as if it were installed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pyarrow as pa
import pytest
from tests import toys

import foreknow as fk
from foreknow import plugins
from foreknow_judge.errors import InputError

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
AGES = (20, 21, 30, 31, 40, 41, 50, 51)


@pytest.fixture
def place(tmp_path):
    """A table and a policy."""
    rows = [f"{age},{disease}" for age, disease in zip(AGES, "abcdabcd", strict=True)]
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
    command = [sys.executable, "-c", SERVER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment(site), **pipes) as made:
        yield made
        made.stdin.close()


@pytest.fixture
def run(place, installed):
    """What a command says that has the package."""

    def call(*arguments, code=0):
        installed.stdin.write(json.dumps([str(place), *arguments]) + "\n")
        installed.stdin.flush()
        found = int(installed.stdout.readline())
        said = " ".join((place / "said.txt").read_text("utf-8").split())
        assert found == code, said
        return said

    return call


def environment(site):
    return {**os.environ, "PYTHONPATH": str(site), "COLUMNS": "300"}


def said_with(site, place, *arguments, code=0):
    """What a command says in a process of its own, with other packages."""
    made = subprocess.run(
        [sys.executable, "-m", "foreknow", *arguments],
        cwd=place,
        env=environment(site),
        capture_output=True,
        text=True,
        check=False,
    )
    said = " ".join((made.stdout + made.stderr).split())
    assert made.returncode == code, said
    return said


@pytest.mark.complete
def test_a_policy_names_a_criterion_of_another_package_and_everything_says_whose_word_it_is(
    run, place
):
    out = run("publish", "table.csv", "--policy", "policy.toml", "--out", "out")
    whose = "even_groups (evens) by the word of another package alone"
    alone = (
        "By the word of another package alone, which Foreknow cannot prove: even_groups (evens)."
    )
    assert f"Both requirements hold, but nothing limits inference; {whose}" in out
    assert alone in out
    report = (place / "out" / "report.html").read_text("utf-8")
    assert whose in report
    assert alone in report
    said = run("verify", "out")
    assert f"every requirement holds, but nothing limits inference; {whose}" in said
    assert alone in said
    audited = run("audit", "out", "--policy", "policy.toml")
    assert f"Both requirements hold, but nothing limits inference; {whose}" in audited
    run("evidence", "out", "--out", "evidence.html")
    page = (place / "evidence.html").read_text("utf-8")
    assert f"every requirement holds, but nothing limits inference; {whose}" in page
    assert alone in page


def test_knowledge_of_another_package_is_not_safe_unsaid(run, place):
    """It says that nobody knows anything; a group of one value is then certain all the same."""
    rules = POLICY.replace("even_groups = 2", 'friends = { many = 3 }\nbelow = "1/2"')
    (place / "policy.toml").write_text(rules)
    out = run("audit", "table.csv", "--policy", "policy.toml", code=1)  # k_anonymity fails
    assert "which Foreknow cannot prove: friends (evens)." in out
    (place / "policy.toml").write_text(rules.replace("[[require]]\nk_anonymity = 2\n", ""))
    out = run("audit", "table.csv", "--policy", "policy.toml")
    assert "Safe: the requirement holds; friends (evens) by the word of another package" in out


def test_who_lacks_the_package_cannot_verify_and_is_told(run, place):
    run("publish", "table.csv", "--policy", "policy.toml", "--out", "out")
    said = said_with(place / "none", place, "verify", "out", code=2)
    assert "unknown key 'policy.require[0].even_groups'; if it is a kind of another package" in said
    assert "erified:" not in said


def test_a_certificate_that_does_not_say_whose_word_it_is_is_refused(run, place):
    run("publish", "table.csv", "--policy", "policy.toml", "--out", "out")
    certificate = place / "out" / "certificate.json"
    text = certificate.read_text("utf-8")
    assert '"foreign"' in text
    certificate.write_text(text.replace("even_groups (evens)", "even_groups (foreknow)"))
    said = run("verify", "out", code=1)
    assert "scope: foreign is" in said


def test_a_method_of_another_package_is_named_and_its_proof_is_not_said(run):
    out = run(
        "publish", "table.csv", "--policy", "policy.toml", "--out", "out",
        "--method", "pairs", "--set", "size=4",
    )  # fmt: skip
    assert "also against an adversary who knows the method" not in out
    assert "Knowledge of the method was not judged" in out
    assert "pairs" in run("publish", "--help")


def test_a_name_that_is_taken_is_passed_over(place):
    install(place / "other", "[foreknow.criteria]\nfacts = evens:Facts\n")
    code = dedent("""
        from foreknow.criteria.registry import CRITERIA, OURS
        from foreknow.policy.policy import Policy
        assert CRITERIA == OURS
        policy = Policy.from_dict({"require": [{"facts": {"l": 1}, "below": 0.5}]})
        assert type(policy.requirements[0].adversary).__module__.startswith("foreknow.")
    """)
    subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(place / "other")},
        check=True,
        capture_output=True,
    )


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ("even_groups = evens:Nothing", "cannot be loaded"),
        ("odd_groups = evens:EvenGroups", "they must be the same"),
    ],
)
def test_a_package_that_is_broken_is_named(place, points, said):
    install(place / "site", f"[foreknow.criteria]\n{points}\n")
    found = said_with(
        place / "site", place, "audit", "table.csv", "--policy", "policy.toml", code=2
    )
    assert said in found
    assert "Traceback" not in found


def test_kinds_of_our_own_are_nobody_s_word():
    counts = fk.GroupCounts.from_bags(["abcd", "abcd"])
    rules = [fk.Requirement(fk.Facts(1), below="3/4"), fk.Requirement(fk.KAnonymity(2))]
    found = fk.audit(counts, fk.Policy(rules))
    assert found.scope.foreign == ()
    assert plugins.package_of(type(rules[0].adversary)) == ""
    assert plugins.foreign([fk.Facts, fk.KAnonymity]) == ()


def test_a_class_that_is_given_is_the_word_of_whoever_wrote_it():
    class Mine(fk.KAnonymity):
        key = "mine"

    found = fk.audit(fk.GroupCounts.from_bags(["aa"]), fk.Policy([fk.Requirement(Mine(2))]))
    (said,) = found.scope.foreign
    assert said.startswith("mine (")
    assert "by the word of another package alone" in " ".join(found.summary().split())


def test_an_error_of_a_package_is_an_input_error(monkeypatch):
    class Broken:
        name, value = "broken", "nowhere:Nothing"

        def __getitem__(self, part):
            return ["broken", "nowhere:Nothing", ""][part]

        def load(self):
            raise RuntimeError("no")

    monkeypatch.setattr(plugins, "entry_points", lambda group: [Broken()])
    with pytest.raises(InputError, match="nowhere:Nothing, which a package gives to somewhere"):
        plugins.kinds("somewhere", [])


def test_a_class_with_a_key_of_ours_is_still_the_word_of_whoever_wrote_it():
    class Mine(fk.KAnonymity):
        def attained(self, release):
            return fk.KAnonymity(1).attained(release)

    rules = fk.Policy([fk.Requirement(Mine(2))])
    found = fk.audit(fk.GroupCounts.from_bags(["ab", "c"]), rules)
    (said,) = found.scope.foreign
    assert said.startswith("k_anonymity (")
    said = " ".join(found.summary().split())
    assert "k_anonymity (tests) by the word of another package alone" in said


def test_what_the_verifier_judged_is_nobody_else_s_word(tmp_path):
    class Mine(fk.KAnonymity):
        pass

    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    table = pa.table({"age": [20, 20, 30, 30], "ill": [*"abab"]})
    made = fk.publish(table, fk.Policy([fk.Requirement(Mine(2))], schema))
    assert made.audit.scope.foreign == ("k_anonymity (tests)",)
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").scope.foreign == ()
