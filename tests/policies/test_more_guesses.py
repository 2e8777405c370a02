"""Guesses of users of ARX, sdcMicro, pandas, pycanon, anjana, Great Expectations and dbt.

Each does what is meant, or ends with a way out; each way out that is printed is typed here.
"""

import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import foreknow as fk
from foreknow import names
from foreknow.cli import main

MANY = 300


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    return At(tmp_path_factory.mktemp("more"))


class At:
    """A folder with a table, a policy and a release, as the ways out call them."""

    def __init__(self, folder):
        chance = np.random.default_rng(3)
        self.folder = folder
        table = pd.DataFrame(
            {
                "pin": [f"p{i}" for i in range(MANY)],
                "age": chance.integers(20, 60, MANY),
                "sex": chance.choice(["f", "m"], MANY),
                "zip": chance.choice(["01067", "01069", "04103", "10115"], MANY),
                "diagnosis": chance.choice(["flu", "cold", "hiv", "none"], MANY),
            }
        )
        table.to_csv(folder / "table.csv", index=False)
        self.table = fk.read_csv(folder / "table.csv")
        first = fk.suggest_policy(folder / "table.csv")
        first.save(folder / "policy.toml")
        self.policy = first.policy
        self.made = fk.publish(folder / "table.csv", self.policy, seed=1)
        self.audit, self.release = self.made.audit, self.made.release
        self.unsafe = fk.audit(self.table, self.policy)
        self.made.save(folder / "folder")


@pytest.fixture
def here(at, monkeypatch, tmp_path):
    monkeypatch.chdir(at.folder)
    return at


def typed(here, capsys, monkeypatch, *words):
    """The exit code of a command, and what it prints."""
    monkeypatch.setattr(sys, "argv", ["foreknow", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return caught.value.code or 0, " ".join((printed.out + printed.err).split())


# ---- in Python ---------------------------------------------------------------------------------

DOES = [
    lambda at: len(fk.draw(at.made, seed=1)) == MANY,
    lambda at: fk.draw(at.made, seed=1).equals(fk.draw("folder", seed=1)),
    lambda at: fk.read_release(at.made).equals(fk.read_release("folder")),
    lambda at: at.unsafe.worst.safe is False and at.unsafe.worst in at.unsafe.verdicts,
    lambda at: at.audit.worst.probability < 1 and at.audit.worst.safe,
    lambda at: at.audit.people == MANY == at.unsafe.people,
    lambda at: isinstance(fk.attack(at.made, seconds=0.2), fk.Attack),
    lambda at: isinstance(fk.attack("folder", seconds=0.2), fk.Attack),
    lambda at: fk.risk("folder").people == fk.risk(at.made).people == MANY,
    lambda at: fk.suggest_policy("table.csv", target="zip").policy.schema.sensitive == "zip",
    lambda at: fk.suggest_policy("table.csv", qi=["age"]).policy.schema.quasi_identifiers,
    lambda at: fk.anonymize(at.table, k=5, qi=["age", "zip"], sa="diagnosis").audit.safe,
    lambda at: fk.publish(at.table, at.policy, k=20).audit.safe,
    lambda at: fk.evidence("folder").audit.safe,
]
# What is typed, and a part of what is said.
TOLD = [
    (lambda at: fk.is_safe, "fk.audit(release, policy).safe"),
    (lambda at: fk.is_k_anonymous(at.table, 5), "fk.k_anonymity(table"),
    (lambda at: at.audit.groups, ".counts.n_groups"),
    (lambda at: at.audit.smallest_group, ".groups has the size of each"),
    (lambda at: at.audit.n_people, "see .people"),
    (lambda at: at.audit.to_excel("a.xlsx"), ".to_pandas() of what"),
    (lambda at: at.audit.to_markdown(), "see .summary()"),
    (lambda at: fk.draw("folder", n=10), ".sample(n) takes some"),
    (lambda at: at.made.report(), ".to_pandas()"),
    (lambda at: at.made["age"], ".to_pandas()['age']"),
    (lambda at: fk.set_seed(1), "fk.publish(table, policy, seed=1)"),
    (lambda at: fk.publish(at.table, at.policy, drop=["pin"]), "without a role is not published"),
    (lambda at: fk.publish(at.table, at.policy, out="folder"), "name a new folder"),
    (lambda at: fk.publish(at.table, at.policy, out="o", overwrite=True), "name a new folder"),
    (lambda at: fk.publish(at.table, at.policy, verbose=True), "see .summary()"),
    (lambda at: fk.publish(at.table, at.policy, suppress=0.1), "FullDomain(suppression=0.05)"),
    (lambda at: fk.publish(at.table, at.policy, nrows=10), ".sample(n)"),
    (lambda at: fk.publish(at.table, at.policy, epsilon=1), "no differential privacy"),
    (lambda at: fk.publish("s3://bucket/table.csv", at.policy), "pandas.read_csv(address)"),
    (lambda at: fk.audit("https://example.org/table.csv", at.policy), "download it, or give"),
    (lambda at: fk.audit("folder", "folder"), 'one list, before the policy: ["january", "march"]'),
    (lambda at: fk.audit("table.csv", "table.csv"), "a policy file is named policy.toml"),
    (lambda at: fk.check("policy.toml"), "it is a policy, which is named beside a table"),
    (lambda at: fk.validate("policy.toml"), 'fk.Policy("policy.toml")'),
    (lambda at: fk.evidence(at.made), "made.write(folder) writes one"),
    (lambda at: fk.together(at.made), "a list of at least two"),
    (lambda at: fk.anonymize(at.table, ["age", "zip"], k=5), "quasi_identifiers=[...]"),
    (lambda at: fk.suggest_policy(at.table, out="p.toml"), ".save(path)"),
    (lambda at: fk.methods(), 'method="mondrian"'),
    (lambda at: fk.list_methods(), 'method="mondrian"'),
    (lambda at: fk.policy("policy.toml"), 'fk.Policy("policy.toml")'),
    (lambda at: fk.diff("folder", "folder"), "fk.utility(release, table"),
    (lambda at: fk.mask(at.table, "zip"), "fk.publish(table, policy)"),
    (lambda at: fk.topBotCoding(at.table), "fk.publish(table, policy)"),
    (lambda at: fk.kanon(at.table), "fk.k_anonymity(release)"),
    (lambda at: fk.dRisk(at.table), "fk.risk(release)"),
    (lambda at: fk.ARXConfiguration(), "fk.Schema(quasi_identifiers"),
    (lambda at: fk.DistinctLDiversity(3), 'kind="distinct"'),
    (lambda at: fk.EqualDistanceTCloseness(0.2), 'distance="equal"'),
    (lambda at: fk.HierarchyBuilderIntervalBased(), "fk.Intervals([5, 10])"),
    (lambda at: fk.get_context(), "fk.audit(release, policy).safe"),
    (lambda at: fk.plot(at.made), ".to_html(path)"),
    (lambda at: fk.synthesize(at.table), 'fk.draw("folder", seed=1)'),
    (lambda at: fk.set_option("seed", 1), 'fk.Policy("policy.toml")'),
    (lambda at: fk.to_csv(at.made), ".to_csv(path)"),
    (lambda at: fk.version, "fk.__version__"),
    (lambda at: fk.KAnonymity(5).check(at.table), ".holds(release)"),
]


@pytest.mark.parametrize("do", DOES, ids=range(len(DOES)))
def test_call_does_what_is_meant(here, do):
    assert do(here)


@pytest.mark.parametrize(("do", "said"), TOLD, ids=range(len(TOLD)))
def test_call_says_what_to_type(here, do, said):
    with pytest.raises((fk.ForeknowError, AttributeError)) as caught:
        do(here)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 600


def calls_in(text):
    """The calls of `fk` that a text names, with all that they are given."""
    for match in re.finditer(r"fk\.\w+\(", text):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        rest = re.match(r"\.safe\b|\.to_\w+\(path\)|\.save\(folder\)|\.\w+\(release\)", text[end:])
        yield text[match.start() : end] + (rest[0] if rest else "")


WAYS_OUT = sorted(
    {
        call
        for table in (names._ADVICE, names._ELSEWHERE, names._OF_OBJECTS)
        for text in table.values()
        for call in calls_in(text)
        if "..." not in call
    }
)


@pytest.mark.parametrize("call", WAYS_OUT)
def test_a_call_that_is_advised(call, here, tmp_path):
    """It can be typed as it is printed, with a table, a policy and a release at hand."""
    at_hand = {"fk": fk, "table": here.table, "policy": here.policy, "release": here.release}
    at_hand["later"] = here.table.assign(pin=[f"q{i}" for i in range(MANY)])
    at_hand |= {"path": tmp_path / "written", "folder": tmp_path / "new", "help": str}
    if "publish(table, policy).to_csv" in call:
        at_hand["path"] = tmp_path / "written.csv"
    eval(call, at_hand)


def test_enough_is_advised():
    assert len(WAYS_OUT) > 25


# ---- in a shell --------------------------------------------------------------------------------

# What is typed, with which exit code it ends, and a part of what is said.
SHELL = [
    ("check policy.toml", 0, "policy.toml is a policy: Policy("),
    ("validate policy.toml", 0, "policy.toml is a policy"),
    ("verify policy.toml", 0, "policy.toml is a policy"),
    ("audit policy.toml", 0, "foreknow audit TABLE --policy policy.toml"),
    ("audit folder policy.toml", 0, "Safe"),
    ("audit table.csv policy.toml", 1, "Not safe"),
    ("publish table.csv policy.toml --out o1", 0, "Safe"),
    ("publish policy.toml table.csv --out o2", 0, "Safe"),
    ("init table.csv --out -", 0, "[schema]"),
    ("table.csv", 2, "foreknow init table.csv"),
    ("folder", 2, "foreknow verify folder"),
    ("policy.toml", 2, "foreknow publish TABLE --policy policy.toml"),
    ("diff folder folder", 2, "foreknow utility FOLDER TABLE"),
    ("methods", 2, "foreknow publish --help"),
    ("list", 2, "foreknow publish --help"),
    ("open folder", 2, "name what is to be written: --out NAME"),
    ("publish table.csv", 2, "name what is to be written: --out NAME"),
    ("publish table.csv --sheet 1 --out o3", 2, "workbooks ?sheet="),
    ("publish table.csv other.csv --out o4", 2, "one table is read at a time"),
    ("publish table.csv --out folder", 2, "exists already"),
    ("publish table.csv --out folder --overwrite", 2, "name a new folder"),
    ("publish table.csv --out folder --force", 2, "name a new folder"),
    ("publish table.csv --out o5 --drop pin", 2, "without a role in the policy is not published"),
    ("publish table.csv --out o6 --mask zip", 2, "foreknow init TABLE writes one"),
    ("publish table.csv --out o7 --epsilon 1", 2, "no differential privacy"),
    ("publish table.csv --out o8 --profiles-dir .", 2, "--policy policy.toml"),
    ("draw folder -n 10 --out d.csv", 2, "give a file with fewer rows"),
    ("columns table.csv", 2, "foreknow init TABLE"),
    ("describe table.csv", 2, "foreknow init TABLE"),
    ("config", 2, "foreknow init TABLE writes"),
    ("mask table.csv", 2, "foreknow publish TABLE --policy policy.toml"),
    ("checkpoint run", 2, "foreknow audit FOLDER --policy policy.toml"),
    ("build", 2, "foreknow audit FOLDER --policy policy.toml"),
    ("docs generate", 2, "foreknow demo"),
    ("plot folder", 2, "foreknow evidence FOLDER"),
    ("k table.csv", 2, "--k-anonymity 5"),
    ("merge table.csv other.csv", 2, "--after FOLDER"),
    ("suda table.csv --qi age,sex", 0, "300 people"),
    ("detect table.csv --out new.toml", 0, "Written to new.toml"),
]


@pytest.mark.parametrize(("words", "code", "said"), SHELL)
def test_a_guess_in_a_shell(here, words, code, said, capsys, monkeypatch):
    (here.folder / "other.csv").write_bytes((here.folder / "table.csv").read_bytes())
    ended, printed = typed(here, capsys, monkeypatch, *words.split())
    assert ended == code, printed
    assert said in printed


COMMAND = re.compile(
    r"foreknow [a-z]+(?: (?:--[a-z-]+|[A-Z]+\b|policy\.toml|age,sex|diagnosis|5))*"
)
COMMANDS = sorted(
    {
        command
        for table in (names._TO_TYPE, names._ADVICE, names._OPTIONS)
        for text in table.values()
        for command in COMMAND.findall(text)
        if not {"NAME", "FILE", "forget", "explore"} & {*command.split()}
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_advised(command, here, capsys, monkeypatch, tmp_path):
    """It does what it says, with a table in place of TABLE, and a release of FOLDER."""
    table = here.folder / "table.csv"
    if "--after" in command:
        table = tmp_path / "later.csv"
        here.table.assign(pin=[f"q{i}" for i in range(MANY)]).to_csv(table, index=False)
    words = command.removeprefix("foreknow ").split()
    places = {"TABLE": str(table), "FOLDER": "folder"}
    filled = [
        str(tmp_path / "new") if before == "--out" else places.get(word, word)
        for before, word in zip(["", *words], words, strict=False)
    ]
    monkeypatch.chdir(tmp_path)
    shutil.copytree(here.folder / "folder", tmp_path / "folder")
    shutil.copytree(here.folder / "folder.owner", tmp_path / "folder.owner")
    if words[0] != "init":
        shutil.copy(here.folder / "policy.toml", tmp_path)
    ended, printed = typed(here, capsys, monkeypatch, *filled)
    assert ended == (1 if words[:2] == ["audit", "TABLE"] else 0), printed


def test_printed_page_is_a_file(here, tmp_path):
    """`foreknow init table.csv > policy.toml` leaves the policy in it, and never nothing."""
    path = tmp_path / "policy.toml"
    command = [sys.executable, "-m", "foreknow", "init", str(here.folder / "table.csv")]
    with path.open("w") as file:
        subprocess.run(command, stdout=file, check=True, cwd=tmp_path)
    assert fk.Policy(path).schema.sensitive == "diagnosis"
