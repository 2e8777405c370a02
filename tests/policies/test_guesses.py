"""What users of other tools type without reading: it does what is meant, or says what to type."""

import inspect
import io
import json
import pickle
import re
import shutil
import sys
import tomllib
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from click import UsageError
from tests.common import said_below

import foreknow as fk
from foreknow import names
from foreknow.cli import main
from foreknow.cli.entry import app
from foreknow.cli.inputs import COLUMNS, CRITERIA, Judging
from foreknow.criteria.registry import CRITERIA as REGISTERED
from foreknow.policy.call_arguments import KEYS

MANY, QI, S = 300, ["age", "sex", "zip"], "diagnosis"
WITH = {"qi": QI, "sensitive": S}
TWO = fk.Schema(quasi_identifiers=["age", "sex"], sensitive=["diagnosis", "zip"])
RULES = {
    "schema": {"identifiers": ["pin"], "quasi_identifiers": ["age", "sex"], "sensitive": S},
    "require": [{"facts": {"l": 1}, "below": 0.9}],
    "publish": {"labels": {"sex": "exact"}},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return At(tmp_path_factory.mktemp("guesses"))


@pytest.fixture
def at(place, monkeypatch):
    monkeypatch.chdir(place.folder)
    return place


SALARY = {
    "schema": {"quasi_identifiers": ["age"], "sensitive": S, "other": ["salary"]},
    "require": [{"facts": {"l": 1}, "below": 0.9, "knowing": []}],
}


class At:
    """A folder as somebody has it: a CSV file whose codes begin with zeros, policies, releases."""

    def __init__(self, folder):
        chance = np.random.default_rng(3)
        self.folder, self.csv, self.toml = folder, folder / "table.csv", folder / "rules.toml"
        self.texts = pd.DataFrame(
            {
                "pin": [f"p{i}" for i in range(MANY)],
                "age": chance.integers(20, 60, MANY),
                "sex": chance.choice(["f", "m"], MANY),
                "zip": chance.choice(["01067", "01069", "04103", "10115"], MANY),
                "diagnosis": chance.choice(["flu", "cold", "hiv", "none"], MANY),
            }
        )
        self.texts.to_csv(self.csv, index=False)
        self.df = pd.read_csv(self.csv)  # without its zeros
        fk.Policy(RULES).save(self.toml)
        self.policy = fk.Policy(str(self.toml))
        self.raw = fk.Microdata(self.df, self.policy.schema)
        self.made = fk.publish(self.df, self.policy, seed=1)
        self.release, self.safe = self.made.release, self.made.audit
        self.made.save(folder / "made")
        fk.suggest_policy(self.csv).save(folder / "policy.toml")
        self.suggested = fk.Policy(str(folder / "policy.toml"))
        fk.publish(self.csv, self.suggested, seed=1).save(folder / "folder")
        self.texts.to_csv(folder / "other.csv", index=False)
        (folder / "folder2").mkdir()
        self.audit = fk.audit(self.texts, self.suggested)

    def fresh(self, name):
        """A place where nothing is yet."""
        self.count = getattr(self, "count", 0) + 1
        return self.folder / f"{name}{self.count}"


def whole(made):
    return isinstance(made, fk.Publication) and made.audit.safe and len(made.release) == 300


def unsafe(audit):
    return isinstance(audit, fk.Audit) and not audit.safe and audit.counts.n_people == 300


def with_na(at):
    age = at.df["age"].astype("Int64")
    return at.df.assign(age=age.where(age > 25))


def out(at, **how):
    fk.publish(at.texts, at.suggested, out=str(folder := at.fresh("out")), **how)
    return folder


def csv(at):
    fk.publish(at.texts, at.suggested, seed=1).to_csv(path := at.fresh("rows").with_suffix(".csv"))
    return pd.read_csv(path)


def typed_in_python(line, at):
    """What a line gives: `df` and the like are of the place, and other names of this file."""
    own = {**vars(at), "csv": csv, "csv_path": at.csv, "fresh": at.fresh, "at": at}
    libraries = {"pl": pl, "duckdb": duckdb, "io": io, "pickle": pickle, "replace": replace}
    return eval(line, {**globals(), **libraries, **own, "paid": at.df.assign(salary=at.df.age * 7)})


def lines_of(name):
    """The lines of a file of guesses, but for those that say what it is."""
    text = Path(__file__).with_name("guesses").joinpath(name).read_text("utf-8")
    return [line for line in text.splitlines() if not line.startswith("# ")]


def compared(at):
    return fk.compare(at.texts, at.suggested, methods="mondrian", processes=0)


@pytest.mark.parametrize("line", lines_of("does.txt"))
def test_guess_does_what_is_meant(at, line):
    assert typed_in_python(line, at)


def naming(**named):
    return {**RULES, "schema": {**RULES["schema"], **named}}


def test_a_printed_call(at):
    """The way out that names the columns of this very table, executed as it is printed."""
    with pytest.raises(fk.InputError) as caught:
        fk.publish(at.df, k=5)
    call = re.search(r"fk\.\w+\(.*\)", str(caught.value))[0]
    assert whole(eval(call, {"fk": fk, "table": at.df}))


@pytest.mark.parametrize(("line", "message"), said_below(__file__, "guesses/says.txt"))
def test_guess_says_what_to_type(at, line, message):
    with pytest.raises((fk.ForeknowError, AttributeError)) as caught:
        typed_in_python(line, at)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.fixture
def typed(capsys, monkeypatch):
    """Type a command: its exit code, what it prints as one line, and its output as it is."""

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["foreknow", *words])
        with pytest.raises(SystemExit) as caught:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return caught.value.code or 0, " ".join((printed.out + printed.err).split()), printed.out

    return typed


# ---- errors and names --------------------------------------------------------------------------


def test_names_stand_for_one_thing():
    for table in (names._PARAMETERS, names._COMMANDS):
        assert max(Counter(" ".join(table.values()).split()).values()) == 1
    for table in (names._ADVICE, names._OPTIONS, names._OF_OBJECTS, names._ELSEWHERE):
        assert max(Counter(" ".join(table).split()).values()) == 1
    takes = {*KEYS}
    for name in fk.__all__:
        if inspect.isfunction(function := getattr(fk, name)):
            takes |= {*inspect.signature(function).parameters}
    assert {*names.PARAMETERS.values()} <= takes
    assert {*names.COMMANDS.values()} <= {*app.commands}
    assert not {*names.COMMANDS} & {*app.commands}
    assert not {*names.ADVICE} & {*fk.__all__, *fk._ALIAS}
    keys = {*REGISTERED}
    assert {*CRITERIA} < keys <= {*KEYS}  # a command line has no tables
    assert {*CRITERIA, *COLUMNS} <= {*KEYS} & {setting.name for setting in fields(Judging)}
    assert names.own_name("k", ["k", "k_anonymity"]) is None


def test_criterion_that_is_no_option():
    with pytest.raises(UsageError, match=r"alpha_k = \.\.\. below \[\[require\]\]"):
        app.main(["audit", "table.csv", "--alpha-k", "3"], standalone_mode=False)


def test_names_that_are_advised(tmp_path, monkeypatch):
    """What functions, commands and options of other tools are called says what to type."""
    monkeypatch.chdir(tmp_path)
    for name, hint in names.ADVICE.items():
        if name == "settings":  # which is a module of ours
            continue
        with pytest.raises((AttributeError, fk.ForeknowError)) as caught:
            getattr(fk, name)()
        assert hint in str(caught.value), name
    for words, hints in ([], names.TO_TYPE), (["curves"], DROPPED):
        for name, hint in hints.items():
            with pytest.raises(UsageError) as refused:
                app.main([*words, name, "x"], standalone_mode=False)
            assert hint in str(refused.value), name


DROPPED = {name: names.OPTIONS[name] for name in ("--force", "--top", "--pdf", "-y", "--drop")}


# ---- keys of a policy file -----------------------------------------------------------------------


SAID = {"quasi_identifiers": ["age", "sex"], "sensitive": "diagnosis", "identifiers": ["pin"]}
TYPED = tomllib.loads("\n".join(lines_of("policies.toml")))["case"]


@pytest.mark.parametrize("case", TYPED, ids=range(len(TYPED)))
def test_policy_in_other_words(case, tmp_path):
    expected = {"schema": SAID, "require": [{"k_anonymity": 5}], **case.get("ours", {})}
    wanted = fk.Policy.from_dict(expected).to_dict()
    assert fk.Policy.from_dict(case["typed"]).to_dict() == wanted
    (tmp_path / "policy.json").write_text(json.dumps(case["typed"]))
    assert fk.Policy(tmp_path / "policy.json").to_dict() == wanted


@pytest.mark.parametrize(
    "keys",
    [
        {"require": [{"k_anonymity": 5, "k": 6}]},  # which of both?
        {"columns": {"age": "quasi"}},  # beside a schema that says it
        {"require": [{"k_anonymity": 5, "sensitive": "diagnosis", "l_diversity": 2}]},  # of which?
        {"sensitive": "age"},
    ],
)
def test_two_meanings_are_refused(keys):
    with pytest.raises(fk.InputError):
        fk.Policy.from_dict({"schema": SAID, "require": [{"k_anonymity": 5}], **keys})


def test_policy_in_yaml(tmp_path):
    (tmp_path / "policy.yaml").write_text("quasi_identifiers: [age]\nk: 5\n")
    with pytest.raises(fk.InputError, match="YAML is not read") as caught:
        fk.Policy(tmp_path / "policy.yaml")
    lines = LINE.findall(str(caught.value))
    assert fk.Policy.from_dict(tomllib.loads("\n".join(lines))).schema.sensitive == "diagnosis"


def tables_with(table, keys):
    """The tables of a policy, with some keys in one of them."""
    roles = {"identifiers": ["pin"], "quasi_identifiers": ["age"], "sensitive": "diagnosis"}
    tables = {"schema": roles, "require": [{"facts": {}, "below": 0.9}], "publish": {}}
    if table == "try":
        return {**tables, "try": [keys]}
    if table == "require":
        tables["require"].append({**({} if REGISTERED.keys() & keys else {"facts": {}}), **keys})
    else:
        (tables[table] if table else tables).update(keys)
    return tables


def refusal(table, key):
    """What is said of a key in a table of a policy; nothing if it is taken."""
    try:
        fk.Policy.from_dict(tables_with(table, {key: 1}))
    except fk.InputError as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize(("key", "hint"), names.KEYS.items(), ids=[*names.KEYS])
def test_a_key_that_is_advised(key, hint):
    assert any(hint in refusal(table, key) for table in ("schema", "require", "publish", "try", ""))


@pytest.mark.parametrize("row", lines_of("keys.txt"))
def test_a_guessed_key(row):
    table, line, message = row.split(" | ")
    with pytest.raises(fk.InputError) as caught:
        fk.Policy.from_dict(tables_with(table.strip("-"), tomllib.loads(line)))
    assert message in str(caught.value)


LINE = re.compile(r'\w+ = (?:\{[^}]*\}|\[[^\]]*\]|"[^"]*"|[\d.]+)')
LINES = [(hint, found) for hint in names._KEYS.values() if (found := LINE.findall(hint))]


@pytest.mark.parametrize(("hint", "lines"), LINES)
def test_a_line_that_is_advised(hint, lines):
    """It is read where the hint says that it belongs."""
    keys = tomllib.loads("\n".join(lines))
    table = "schema" if "identifiers" in keys else "require"
    table = next((name for name in ("publish", "schema", "try") if f"[{name}]" in hint), table)
    tables = tables_with(table, keys)
    if table == "require" and not REGISTERED.keys() & keys:
        tables["require"] = [{"facts": {}, "below": 0.9, **keys}]
    assert fk.Policy.from_dict(tables).requirements


# ---- in a shell --------------------------------------------------------------------------------


@pytest.mark.parametrize("row", lines_of("shell.txt"))
def test_a_guess_in_a_shell(at, typed, row):
    code, words, message = row.split(" |")
    ended, printed, out = typed(*words.split())
    assert ended == int(code), printed
    assert message.strip() in printed
    assert "json" not in words or json.loads(out)["format"] == "foreknow audit"


@pytest.mark.parametrize("table", ["folder", "folder/release.csv"])
def test_audit_by_a_certificate(at, typed, tmp_path, monkeypatch, table):
    shutil.copytree(at.folder / "folder", tmp_path / "folder")
    monkeypatch.chdir(tmp_path)
    ended, printed, _ = typed("audit", table)
    assert (ended, "By the policy in the certificate of folder." in printed) == (0, True)
    (tmp_path / "folder" / "release.csv").open("a").write("60,f,01067,flu\n")
    assert typed("audit", table)[0] != 0


def test_a_printed_command(at, typed, monkeypatch, tmp_path):
    """The way out that names the columns of this very table, executed as it is printed."""
    shutil.copy(at.folder / "table.csv", tmp_path / "alone.csv")
    table = str(tmp_path / "alone.csv")
    for command in ("audit", "publish"):
        monkeypatch.chdir(tmp_path)
        ended, printed, _ = typed(command, table, "-k", "5")
        options = re.search(r"or (--quasi-identifiers .*--k-anonymity 5), if", printed)[1]
        assert ended == 2
        ended, printed, _ = typed(command, table, *options.split())
        assert ended == (1 if command == "audit" else 0), printed


COMMAND = re.compile(
    r"foreknow [a-z]+(?: (?:--[a-z-]+|[A-Z]+\b|policy\.toml|age,sex|diagnosis|5))*"
)
COMMANDS = sorted(
    {
        command
        for table in (names._TO_TYPE, names._ADVICE, names._OPTIONS, names._KEYS)
        for text in table.values()
        for command in COMMAND.findall(text)
        if not {"NAME", "FILE", "forget", "explore"} & {*command.split()}
    }
)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_advised(command, at, typed, monkeypatch, tmp_path):
    """It does what it says, with a table in place of TABLE, and a release of FOLDER."""
    table = at.folder / "table.csv"
    if "--after" in command:
        table = tmp_path / "later.csv"
        at.texts.assign(pin=[f"q{i}" for i in range(MANY)]).to_csv(table, index=False)
    words = command.removeprefix("foreknow ").split()
    places = {"TABLE": str(table), "FOLDER": "folder"}
    filled = [
        str(tmp_path / "new") if before == "--out" else places.get(word, word)
        for before, word in zip(["", *words], words, strict=False)
    ]
    monkeypatch.chdir(tmp_path)
    shutil.copytree(at.folder / "folder", tmp_path / "folder")
    shutil.copytree(at.folder / "folder.owner", tmp_path / "folder.owner")
    if words[0] != "init":
        shutil.copy(at.folder / "policy.toml", tmp_path)
    ended, printed, _ = typed(*filled)
    assert ended == (1 if words[:2] == ["audit", "TABLE"] else 0), printed
