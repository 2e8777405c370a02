"""Trials: what is planted is found, what is said is what was counted, and who reads it."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from benchmarks.register import policy_of_diagnoses
from tests.cli.conftest import desk as desk

import foreknow as fk
from foreknow import sample
from foreknow.auditing.trial import Tried
from foreknow.data.sights import Sight
from foreknow.features.learned_attacks import learned as attack
from foreknow.features.learned_attacks.learned import learned_trial
from foreknow.features.learned_attacks.trees import Forest
from foreknow.policy.trials import Try
from foreknow.report.trial import trial_notes, trial_sentences
from foreknow_judge.errors import DataError, PolicyError, UnsupportedError

NOTE = "an attacker who learns from the release by code was tried: a trial, and no verdict"
SCHEMA = fk.Schema(quasi_identifiers=["code", "age"], sensitive="ill")
ILLS = [f"ill {i}" for i in range(6)]


@pytest.fixture
def run(desk):
    """Exit code, and all that a call prints, as one line."""

    def call(*arguments):
        code, out, err = desk.run(*arguments)
        return code, " ".join((out + err).split())

    return call


def planted(codes=12, people=900, share=1.0, seed=1):
    """A code of digits, as text, that says the illness; an age that says nothing."""
    random = np.random.default_rng(seed)
    code = random.integers(0, codes, people)
    ill = np.where(random.random(people) < share, code % 6, random.integers(0, 6, people))
    columns = {"code": [f"{10 + c:03d}" for c in code], "age": random.integers(20, 80, people)}
    return pa.table({**columns, "ill": [ILLS[i] for i in ill]})


def policy(*, by=("code",), stop=None, form="bucketized", below="0.72", tries=True):
    tried = [Try(fk.Learned(list(by)), stop)] if tries else []
    options = fk.PublishOptions(form=form)
    return fk.Policy([fk.Requirement(fk.Facts(), below=below)], SCHEMA, options, tried)


def publish(table, rules, seed=1):
    return fk.publish(fk.Microdata(table, SCHEMA), rules, method=fk.Anatomy(3), seed=seed)


@cache
def published(form="bucketized"):
    """What is made of planted codes, once."""
    return publish(planted(), policy(form=form))


def sight(table, size=3, group=None):
    """A release and its people, in groups of rows one after another, in the order of the table."""
    group = [row // size for row in range(len(table))] if group is None else group
    release = fk.Release.from_groups(
        table.append_column("group", pa.array(group)), group="group", sensitive="ill"
    )
    place = {release.counts.group_label(g): g for g in range(release.counts.n_groups)}
    groups = np.array([place[g] for g in group])
    return Sight(release.counts, fk.Microdata(table, SCHEMA), groups, "ill", "x", release)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A release of planted codes, its table, and the owner's folder beside it."""
    place = tmp_path_factory.mktemp("trials")
    pc.write_csv(planted(), place / "table.csv")
    published().write(place / "out")
    return place


# ---- what is planted is found ----------------------------------------------------------------


def test_guesses_match_groups_without_signal():
    trial = learned_trial(sight(planted(share=0)), ["code"])
    assert trial.measured
    assert trial.right < trial.baseline + 0.1
    assert trial.sure <= 45  # a twentieth


# ---- tries of a policy -----------------------------------------------------------------------

RULES = """[schema]
quasi_identifiers = ["code", "age"]
sensitive = "ill"

[[require]]
facts = {}
below = 0.72

[[try]]
learned = { by = ["code"] }
stop = STOP
"""
ANATOMY = ["--method", "anatomy", "--form", "bucketized", "--seed", "1"]


def test_tries_stop_or_pass(desk, run):
    (desk.folder / "table.csv").unlink()
    for share, stop in ((1, "0.85"), (0, "0.999")):
        pc.write_csv(planted(share=share), desk.folder / "table.csv")
        desk.put("policy.toml", RULES.replace("STOP", stop))
        code, said = run(*desk.publish(*ANATOMY))
        assert code == share
        if share:
            learns = "an attacker who learns from the release by code becomes"
            assert f"stopped by a trial: {learns}" in said
            assert "the policy stops at 0.85" in said
            names = sorted(path.name for path in desk.folder.iterdir())
            assert names == ["policy.toml", "table.csv"]
    assert NOTE in fk.verify(desk.folder / "out").claimed


def test_learned_figures_are_no_requirement(tmp_path):
    for given, limit in (
        (fk.Learned(["code"]), {"below": "0.9"}),
        ([(fk.Learned(["code"]), "0.9")], {}),
    ):
        with pytest.raises(PolicyError, match=r"Learned needs .* no limit is proved.*\[\[try\]\]"):
            fk.Requirement(given, **limit)
    rules = '[schema]\nquasi_identifiers = ["code"]\nsensitive = "ill"\n'
    rules += '[[require]]\nlearned = { by = ["code"] }\nbelow = 0.9\n'
    (tmp_path / "policy.toml").write_text(rules)
    several = {"semantics": "set", "person": "name"}
    several = fk.Schema(quasi_identifiers=["code"], sensitive="ill", **several)
    requirements, tries = [fk.Requirement(fk.Facts(), "0.9")], [Try(fk.Learned(["code"]))]
    for call, said in (
        (lambda: fk.Policy.load(tmp_path / "policy.toml"), r"\[\[try\]\]"),
        (lambda: Try(fk.Facts()), "is a requirement"),
        (lambda: policy(by=["zip"]), "'zip'"),
        (
            lambda: fk.Policy(requirements, several, tries=tries),
            "try: learning takes one value per person",
        ),
    ):
        with pytest.raises(PolicyError, match=said):
            call()


# ---- who reads what --------------------------------------------------------------------------


def test_command_needs_the_owners_folder(written, tmp_path, run):
    alone, table = tmp_path / "alone", written / "table.csv"
    shutil.copytree(written / "out", alone)
    pc.write_csv(planted(seed=2), tmp_path / "other.csv")
    owner, result = f"{written}/out.owner", tmp_path / "found.json"
    for arguments, exit_code, words in (
        ((alone, table, "--by", "code"), 2, "members.parquet"),
        ((alone, table, "--by", "code", "--members", owner), 0, "of them rightly"),
        ((written / "out", table, "--json", result), 0, ""),
        ((written / "out", tmp_path / "other.csv", "--by", "code"), 2, "is not the table"),
    ):
        code, said = run("learned", *arguments)
        assert code == exit_code, said
        assert words in said
    document = json.loads(result.read_text())
    assert (document["format"], document["measured"], document["at_least"]) == (
        "foreknow trial",
        True,
        True,
    )
    assert document["this_file_is"] == "for the owner only"


def test_unrunnable_limits_are_refused(monkeypatch):
    def unreadable(*arguments, **settings):
        raise DataError("other rows")

    monkeypatch.setattr(attack, "learned_trial", unreadable)
    assert publish(planted(), policy()).audit.trials == ()
    with pytest.raises(UnsupportedError, match="by code could not be tried on ill"):
        publish(planted(), policy(stop="0.99"))


# ---- beside a verdict ------------------------------------------------------------------------


REGISTER = fk.Policy.from_dict(policy_of_diagnoses())
OTHERS = "They may be surer of other values."


@pytest.fixture(scope="module")
def judged():
    """Only two values are limited, and many people are alone in their group."""
    requirement = fk.Requirement(fk.Facts(), below="0.25", any_of=["HIV", "Syphilis"])
    publication = fk.publish(sample.table_path(), fk.Policy([requirement], REGISTER.schema), seed=1)
    assert publication.audit.scope.groups_of_one > 100
    return publication.audit


@pytest.mark.complete
def test_excluded_values_are_stated(judged):
    (trial,) = judged.trials
    assert trial.about == ("HIV", "Syphilis")
    assert trial.to_dict()["about"] == ["HIV", "Syphilis"]
    assert trial.required == Fraction(1, 4)
    (said,) = trial_notes(judged)
    (claim,) = trial_sentences(replace(trial, measured=False, sure_and_right=None))
    values = "Of HIV or Syphilis, the values that a requirement is about, "
    for text, start in ((said, "the attacker is"), (claim, "they would claim")):
        assert values + start in text
        assert OTHERS in text
        assert "sure of a person's diagnosis" not in text
    # It is the first note where it is above a limit of the policy, and the last where it is not.
    for limit, place in ((Fraction(1, 100), 0), (None, 0), (Fraction(1), -1)):
        shown = replace(judged, trials=(replace(trial, required=limit),))
        assert "A trial, and no verdict" in shown.notes[place], limit
    assert "more than 90% sure about" in said
    assert "sure about" not in " ".join(trial_sentences(replace(trial, limit=1.0)))
    guess, sure = trial_sentences(replace(trial, about=("HIV",)))
    assert sure.startswith("Of HIV, the value that a requirement is about, the attacker is")
    assert "guesses at least" in guess
    many = trial_sentences(replace(trial, about=tuple(f"v{i}" for i in range(20))))[1]
    assert "v5 or 14 others, the values that" in many
    # The surest of those tried is named, and that no limit is contradicted.
    surer = Tried("EM, exact values, smoothing 4", ("age", "sex"), 0.1, 0.4169)
    trial = replace(trial, about=None, surest=0.32, required=Fraction("0.35"))
    alone = trial_sentences(replace(trial, tried=(), required=Fraction("0.4")))[1]
    assert "surest" not in alone
    assert "limit of the policy" not in alone
    for measured, are in ((True, "is"), (False, "would claim to be")):
        sure = trial_sentences(replace(trial, measured=measured, tried=(surer,)))[-1]
        assert "up to 32% sure" in sure
        by = "EM, exact values, smoothing 4, by age and sex."
        assert f"The surest of those that were tried {are} up to 41% sure: {by}" in sure
        assert f"{by} That is above a limit of the policy, 35%. The limit is " in sure


# ---- what a trial costs, and prints -----------------------------------------------------------


@pytest.mark.parametrize(("size", "share"), [(4, 0.6), (25, 0.6), (60, 0.9)])
def test_brief_and_full_trials_agree(size, share):
    """A policy's trial counts fewer groups exactly, and finds what the full one finds."""
    table = planted(share=share, people=1800)
    full, brief = (
        learned_trial(sight(table, size), ["code"], effort=effort) for effort in ("full", "policy")
    )
    assert brief.right == pytest.approx(full.right, abs=0.02)
    assert brief.surest == pytest.approx(full.surest, abs=0.05)
    assert {tried.attacker for tried in brief.tried} < {tried.attacker for tried in full.tried}


def test_trials_of_many_kinds(monkeypatch):
    """Beside a release, people who all differ are told apart by bins, and by fewer trees."""
    grown = {"full": 0, "policy": 0}

    def shares(forest, n_trees):
        grown[effort] += n_trees
        return np.full(forest.amounts.shape, 1 / forest.amounts.shape[1])

    monkeypatch.setattr(Forest, "shares", shares)
    table = planted(people=6000)
    table = table.set_column(1, "age", [pa.array(range(6000))])
    of_effort = {}
    for effort in grown:
        trial = learned_trial(sight(table, 30), ["age", "code"], effort=effort)
        of_effort[effort] = {tried.attacker.split(",")[1] for tried in trial.tried[:-1]}
    assert 0 < grown["policy"] < grown["full"]
    assert of_effort == {
        "full": {" exact values", " bins of numbers"},
        "policy": {" bins of numbers"},
    }


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("by", [None, ["age"]])
def test_households_are_guessed_once(by):
    """Two of three rows say that the value is shown elsewhere, which nobody guesses."""
    random, homes = np.random.default_rng(5), np.repeat(np.arange(400), 3)
    ill = [ILLS[i] for i in random.integers(0, 4, 400)[homes]]
    table = pa.table({"home": homes, "age": random.integers(0, 90, 1200), "ill": ill})
    shared = {"by": "home", "values": ["ill"]}
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", shared=shared)
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=0.9)], schema)
    made = fk.publish(table, rules, seed=1, learned=False)
    found = fk.learned_report(made, by, people=table, policy=rules)
    assert (found.by, found.people) == (("age", "home_shown"), 400)
    assert found.right < 0.6
    assert found.claim.value in ILLS


def test_trials_use_chosen_columns():
    """What is tried is by the columns that are asked for, one try after another."""
    tries = [Try(fk.Learned(["age"])), Try(fk.Learned(["code", "age"]))]
    asked = policy(tries=False)
    rules = fk.Policy(asked.requirements, asked.schema, asked.options, tries)
    by = [trial.by for trial in publish(planted(), rules).audit.trials]
    assert by == [("age",), ("code", "age")]


def test_libraries_print_no_warnings(written, tmp_path):
    """Columns of one value, gaps and values that one person has: nothing but our own lines."""
    table = planted(people=300).append_column("same", pa.array(["x"] * 300))
    gaps = pa.array([None if row % 3 else row for row in range(300)])
    pc.write_csv(table.append_column("gaps", gaps), tmp_path / "table.csv")
    rules = RULES.replace('"age"]\ns', '"age", "same", "gaps"]\ns').replace("STOP", "0.9999")
    (tmp_path / "policy.toml").write_text(rules.replace('by = ["code"]', 'by = ["same", "gaps"]'))
    paths = ["table.csv", "--policy", "policy.toml"]
    for command in (
        ["publish", *paths, "--out", "out", *ANATOMY, "--quiet"],
        ["learned", "out", *paths, "--by", "code,same,gaps"],
        ["utility", "out", *paths],
    ):
        done = subprocess.run(
            [sys.executable, "-W", "always", "-m", "foreknow", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
