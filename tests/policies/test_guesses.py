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

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from click import UsageError

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


# What is typed, and what holds of it.
DOES = [
    # -- audit
    lambda at: unsafe(fk.audit(at.df, at.policy)),
    lambda at: unsafe(fk.audit(str(at.csv))),
    lambda at: unsafe(fk.audit(at.df, RULES)),
    lambda at: unsafe(fk.audit(pl.from_pandas(at.df), at.policy)),
    lambda at: unsafe(fk.audit(at.df, quasi_identifiers=["age", "zip"], sensitive=S)),
    lambda at: unsafe(fk.audit(data=at.df, **WITH, k=5)),
    lambda at: unsafe(fk.audit(at.df, fk.Policy(fk.Facts(1, 3), below=0.5), **WITH)),
    lambda at: [str(v.judged) for v in fk.audit(at.df, **WITH, k=5).verdicts] == ["KAnonymity(5)"],
    lambda at: fk.audit(at.made, at.policy).safe,
    lambda at: fk.audit(at.made.to_pandas(), at.policy).safe,
    lambda at: fk.audit(at.folder / "made", at.policy).safe,
    lambda at: fk.audit(at.df.assign(gid=0), at.policy, group="gid").counts.n_groups == 1,
    lambda at: fk.audit(at.df, qi="age", sensitive=S, k=2).policy is not None,
    lambda at: not fk.audit(at.df, qi=at.df.columns[1:3], sensitive=S, k=99).safe,
    lambda at: str(at.safe) == "Audit(the release: safe, 1 requirement)",
    lambda at: "UNSAFE" in str(at.audit),
    lambda at: "Safe: the requirement holds" in at.safe.summary(),
    lambda at: "sex " in at.safe.summary() and "\x1b" not in at.safe.summary(),
    lambda at: at.safe.to_frame()["safe"].tolist() == [True] and at.safe.to_frame().limit[0] == 0.9,
    lambda at: at.safe.to_frame("polars")["requirement"].to_list() == ["require[0]"],
    lambda at: len(pd.DataFrame(at.audit.verdicts)) > 0,
    lambda at: '"safe": false' in at.audit.to_json(),
    lambda at: at.audit.to_html().startswith("<!DOCTYPE html>"),
    lambda at: at.safe.verdicts[0].value in {"flu", "cold", "hiv", "none"},
    lambda at: whole(fk.publish(at.df, at.policy)),
    lambda at: whole(fk.publish(str(at.csv), str(at.toml))),
    lambda at: whole(fk.publish(pl.from_pandas(at.df).lazy(), at.policy)),
    lambda at: whole(
        fk.publish(pl.scan_csv(at.csv, schema_overrides={"zip": pl.Utf8}), at.suggested)
    ),
    lambda at: whole(fk.publish(duckdb.sql(f"SELECT * FROM '{at.csv}'"), at.policy)),
    lambda at: whole(fk.publish(at.df.astype({"sex": "category"}), RULES)),
    lambda at: whole(fk.publish(with_na(at), at.policy)),
    lambda at: whole(fk.publish(at.df, at.policy, seed=np.int64(1))),
    lambda at: whole(fk.publish(at.df, **WITH, k=5, random_state=0)),
    lambda at: whole(fk.publish(at.df, at.policy, method="full_domain")),
    lambda at: whole(fk.publish(at.df, **WITH, k=5, hierarchies={"age": {"intervals": [10, 20]}})),
    lambda at: whole(fk.publish(at.df, fk.KAnonymity(5), **WITH)),
    lambda at: whole(fk.publish(at.df, [fk.KAnonymity(5), fk.LDiversity(2)], **WITH)),
    lambda at: whole(fk.publish(at.df, **WITH, facts={"l": 1}, below=0.5)),
    lambda at: whole(fk.publish(at.df, **WITH)),
    lambda at: fk.l_diversity(fk.publish(at.df, **WITH, l=3)) >= 3,
    lambda at: fk.k_anonymity(fk.anonymize(at.df, **WITH, k=5)) >= 5,
    lambda at: "pin" not in fk.publish(at.df, **WITH, k=5, ident="pin").to_pandas(),
    lambda at: (
        list(fk.publish(at.df, at.policy, form="bucketized").to_pandas("people").columns)
        == ["age", "sex", "group"]
    ),
    lambda at: list(at.made.to_pandas().columns) == ["age", "sex", "diagnosis"],
    lambda at: at.made.to_polars().shape == (300, 3) and at.made.to_arrow().num_rows == 300,
    lambda at: at.made.to_html().startswith("<!DOCTYPE html>"),
    lambda at: at.made.utility.people == 300,
    lambda at: 0 < fk.Facts(l=1).disclosure(at.made, "hiv").exact < 0.9,
    lambda at: sum(at.made.groups.values()) == 300 == sum(at.release.groups.values()),
    lambda at: len(at.release) == len(at.raw) == len(at.made) == 300,
    lambda at: fk.verify(at.folder / "made" / "certificate.json").people == 300,
    lambda at: fk.verify(out(at)).people == 300,
    lambda at: list(csv(at).columns) == ["age", "sex", "zip", "diagnosis"],
    # -- policies, schemas, adversaries
    lambda at: fk.Policy(at.toml).schema.sensitive == "diagnosis",
    lambda at: str(at.policy) == "Policy(1 requirement on 'diagnosis')",
    lambda at: str(fk.Policy(RULES).points[0].below) == "9/10",
    lambda at: at.policy.schema.role("age") == "quasi-identifier",
    lambda at: at.policy.save(at.fresh("p")) is fk.suggest_policy(at.df).save(at.fresh("p")),
    lambda at: fk.Microdata(at.df, sensitive=S, quasi_identifiers=["age"]).n_people == 300,
    lambda at: fk.Facts(5) == fk.Facts(l=5) and fk.Facts(l=1, k=2).k == 2,
    lambda at: str(fk.Requirement(fk.Facts(), below=np.float32(0.1)).points[0].below) == "1/10",
    lambda at: fk.Requirement(k=5) == fk.Requirement(fk.KAnonymity(5)),
    # -- analyses
    lambda at: all(map(len, fk.skyline(at.release, confidence=0.9).skylines["hiv"])),
    lambda at: fk.skyline(at.df, confidence=0.9, policy=at.policy).skylines["hiv"] == [],
    lambda at: fk.skyline(at.df, ["hiv"], confidence=0.9, qi=["sex"], sensitive=S).skylines,
    lambda at: isinstance(fk.attack(at.raw, "Mondrian", at.policy, seconds=1.0), fk.Attack),
    lambda at: fk.k_anonymity(at.release) > 1 and type(fk.k_anonymity(at.df, QI)) is int,
    lambda at: fk.l_diversity(at.df, QI, [S]) == 1 == fk.l_diversity(at.df, QI, S, kind="entropy"),
    lambda at: 0 < fk.t_closeness(at.df, QI, sens_att=[S]) < 1,
    lambda at: fk.beta_likeness(at.df, QI, S) > 1,
    lambda at: fk.risk(at.df, keyVars=QI).people == fk.risk(at.df, QI).people == 300,
    lambda at: isinstance(fk.utility(at.made, at.df), fk.UtilityReport),
    lambda at: fk.utility(at.made.to_pandas(), at.df, qi=["age", "sex"], sensitive=S).errors,
    lambda at: (
        fk.counts_at(at.df, {"age": "*", "sex": 0}, qi=["age", "sex"], sensitive=S).n_groups == 2
    ),
    lambda at: fk.curves(at.df, qi=["sex"], sensitive=S).implications,
    lambda at: "<svg" in (page := compared(at).plot()) and page._repr_html_().startswith("<iframe"),
    lambda at: fk.read_csv(at.csv)["zip"].str.len().eq(5).all(),
    lambda at: fk.read_csv(at.csv)["age"].dtype == "int64",
    lambda at: len(fk.sample.load()) == 4000,
    # -- a seventh list
    lambda at: fk.alpha_k_anonymity(at.df, ["sex"], [S])[1] == fk.k_anonymity(at.df, ["sex"]),
    lambda at: (
        fk.basic_beta_likeness(at.df, ["sex"], S)
        == fk.beta_likeness(at.df, ["sex"], S, enhanced=False)
        >= fk.enhanced_beta_likeness(at.df, ["sex"], S)
    ),
    lambda at: fk.is_k_anonymous(at.df, ["sex"], 5) and not fk.is_k_anonymous(at.df, 5, QI),
    lambda at: fk.anonymity.k_anonymity(at.df, QI) == fk.k_anonymity(at.df, QI),
    lambda at: fk.uniques(at.df, QI).people == fk.freqCalc(at.df, keyVars=QI).people == 300,
    lambda at: unsafe(fk.evaluate(at.df, **WITH)) and whole(fk.anonymise(at.df, **WITH)),
    lambda at: (
        fk.Policy(qi=QI, sensitive=S, k=5).to_dict()
        == fk.Policy.from_dict(
            {"schema": {"quasi_identifiers": QI, "sensitive": S}, "require": [{"k_anonymity": 5}]}
        ).to_dict()
    ),
    lambda at: len(fk.Policy(qi=QI, sensitive=S, facts={"l": 1}, below=0.5).requirements) == 1,
    # -- an eighth list
    lambda at: len(fk.publish(at.df, **WITH, k=40, suppression=0.3, seed=1).release) <= 300,
    lambda at: (
        fk.publish(
            at.df, **WITH, suppression_limit=0.1, method="fulldomain"
        ).audit.policy.options.settings["fulldomain"]["suppression"]
        == 0.1
    ),
    lambda at: (
        fk.Schema(quasi_identifiers="age", sensitive=S, identifiers="pin").identifiers == ("pin",)
    ),
    lambda at: isinstance(fk.utility(at.df, at.made), fk.UtilityReport),
    # -- a ninth list
    lambda at: tomllib.loads(at.policy.to_toml()) == tomllib.loads(at.toml.read_text("utf-8")),
    lambda at: replace(TWO, sensitive="diagnosis").sensitives == ("diagnosis",),
    lambda at: replace(TWO, sensitive="zip").sensitives == ("zip",),
    lambda at: replace(TWO, identifiers=["pin"]).sensitives == ("diagnosis", "zip"),
    lambda at: replace(pickle.loads(pickle.dumps(TWO)), other=["pin"]) != replace(TWO, other=[]),
    # -- an eleventh list
    lambda at: at.made.safe is at.made.passed is True,
    lambda at: whole(fk.publish(at.df, at.policy, min_group_size=10)),
    # -- a fifth and a sixth list
    lambda at: unsafe(fk.audit(at.df.to_dict("records"), at.policy)),
    lambda at: fk.k_anonymity([{"age": 1}, {"age": 1}, {"age": 1, "sex": "f"}], ["age"]) == 3,
    lambda at: len(at.made.df) == len(at.made.to_dataframe()) == len(at.made.table) == 300,
    lambda at: at.safe.passed is at.safe.safe is True is at.safe.is_safe(),
    lambda at: isinstance(fk.attack(at.made, at.df), fk.Attack),
    lambda at: fk.metrics.k_anonymity(at.df, QI) == fk.k_anonymity(at.df, QI),
    lambda at: at.safe.is_safe and not at.audit.is_safe and not at.audit.is_safe(),
    lambda at: fk.policy.load(at.toml) == at.policy and fk.policy.Policy is fk.Policy,
    lambda at: fk.describe(at.df).policy.schema.sensitive == S,
    lambda at: (
        not fk.audit(
            at.df.set_axis(range(5), axis=1), quasi_identifiers=[1, 2], sensitive=4, k=99
        ).safe
    ),
    lambda at: len(fk.draw(at.made, seed=1)) == MANY,
    lambda at: fk.draw(at.made, seed=1).equals(fk.draw("made", seed=1)),
    lambda at: fk.read_release(at.made).equals(fk.read_release("made")),
    lambda at: isinstance(fk.attack("folder", seconds=0.2), fk.Attack),
    lambda at: fk.risk("folder").people == fk.risk(at.made).people == MANY,
    lambda at: fk.suggest_policy("table.csv", target="zip").policy.schema.sensitive == "zip",
    lambda at: fk.publish(at.df, at.policy, k=20).audit.safe,
    lambda at: fk.evidence("folder").audit.safe,
    lambda at: isinstance(fk.attack(at.made, seconds=0.2), fk.Attack),
    lambda at: at.audit.people == MANY == at.safe.people,
    lambda at: at.audit.worst.safe is False and at.audit.worst in at.audit.verdicts,
    lambda at: isinstance(at.audit.to_pandas(), pd.DataFrame),
    lambda at: at.safe.to_polars()["safe"].to_list() == [True],
    lambda at: fk.delta_disclosure(at.df, QI, S) == float("inf"),
    lambda at: fk.entropy_l_diversity(at.df, QI, S) == fk.l_diversity(at.df, QI, S, kind="entropy"),
    lambda at: "Safe: the requirement holds" in at.made.summary(),
    # -- a tenth list
    lambda at: whole(fk.publish(at.df, at.policy, max_outliers=0.05, seed=1)),
    lambda at: "age" in str(fk.Requirement(levels={"age": {"top": 50}}).criterion),
    lambda at: fk.risk(at.df, QI[:2], hhId="zip").household is not None,
    lambda at: fk.Schema(quasi_identifiers=QI, sensitive=S, weightVar="w").weights == "w",
    *(
        lambda at, how=how: whole(fk.publish(at.df.assign(salary=at.df.age * 7), SALARY, **how))
        for how in ({"round": {"salary": 100}}, {"options": {"round": {"salary": 100}}})
    ),
]


def compared(at):
    return fk.compare(at.texts, at.suggested, methods="mondrian", processes=0)


@pytest.mark.parametrize("do", DOES, ids=range(len(DOES)))
def test_guess_does_what_is_meant(at, do):
    assert do(at)


def naming(**named):
    return {**RULES, "schema": {**RULES["schema"], **named}}


KNOWN = "known: 'pin', 'age', 'sex', 'zip', 'diagnosis'; schema."
FROM_GENERALIZED = "Release.from_generalized(table, quasi_identifiers=[...], sensitive=...)"
# What is typed, and what to type: a part of the message.
TOLD = [
    (lambda at: at.made.ncp, "see .utility, which has .ncp"),
    (lambda at: at.made.to_excel("x.xlsx"), "foreknow export FOLDER --to xlsx"),
    (lambda at: at.made.report(), "its page is .to_html(path)"),
    (lambda at: at.audit.risk, "of an audit see .worst"),
    (lambda at: fk.publish(at.df, at.policy, n_jobs=4), "how many cores are used is not set"),
    (
        lambda at: fk.publish(at.df, qi="age,sex", sensitive=S, k=5),
        "several columns are a list: ['age', 'sex']; known: 'pin'",
    ),
    (lambda at: fk.publish(at.df, **WITH, k=5, hierarchies="auto"), "numbers become ranges"),
    (lambda at: fk.Mondrian(at.df), "not a table; tables are given to fk.publish"),
    (lambda at: bool(at.audit), "neither true nor false by itself; ask .safe"),
    (lambda at: len(at.audit), "see .people, .counts.n_groups and len(.verdicts)"),
    (lambda at: at.made.certificate.k, "see fk.k_anonymity(release)"),
    (lambda at: at.audit.violations, "see .verdicts"),
    (lambda at: at.audit.max_risk, "of an audit see .worst"),
    (lambda at: at.audit.requirements, "see .policy.requirements"),
    (lambda at: at.policy.copy(), "it is never changed"),
    (lambda at: fk.Facts(k=3).probability(at.release), "an adversary has .disclosure(release)"),
    (lambda at: fk.suggest_policy(at.csv).summary(), "see .to_toml()"),
    (lambda at: at.made.write(at.folder / "no", overwrite=True), "name a new folder"),
    (lambda at: at.made.save(at.folder / "no", format="parquet"), "save takes no 'format'"),
    (lambda at: fk.export(at.made, "x.xlsx"), "made.write(folder), then export(folder)"),
    (lambda at: fk.membership_inference(at.made, at.df), "fk.learned_report(release"),
    (lambda at: at.audit.exposed.head(), "a tuple, one for each requirement, and has no 'head'"),
    (lambda at: fk.policy.loading, "has no attribute 'loading'"),
    (lambda at: fk.Tree.from_csv(at.folder / "none.csv"), "none.csv"),
    (lambda at: at.audit.df, "the table is .to_pandas() of what"),
    (lambda at: at.audit.to_frame("dask"), "there is no library 'dask'"),
    (lambda at: at.audit.html("a.html"), ".to_html(path)"),
    (lambda at: fk.audit(at.df), "is missing the policy: the path of a policy.toml"),
    (lambda at: fk.audit(at.policy, at.df), "the release comes first"),
    (
        lambda at: fk.audit(at.df, fk.Policy(at.policy.requirements)),
        "Policy([...], Schema(quasi_identifiers=[...], sensitive=...))",
    ),
    (
        lambda at: fk.audit(at.release, at.policy, group="sex"),
        "has groups already; leave out",
    ),
    (
        lambda at: fk.audit(
            at.folder / "made", {**RULES, "publish": {}, "schema": {"sensitive": S, "group": "sex"}}
        ),
        "the certificate is for age, sex and diagnosis",
    ),
    (
        lambda at: fk.audit(at.df.rename(columns={"age": "Age"}), at.policy),
        "has no column 'age'; did you mean 'Age'?",
    ),
    (
        lambda at: fk.publish(at.df, naming(hierarchies={"zip": {"mask": 5}})),
        "schema.hierarchies names 'zip', which is no quasi-identifier; known: 'age', 'sex'",
    ),
    (
        lambda at: fk.publish(at.df, {**RULES, "publish": {"fulldomain": {"suppression": 0.1}}}),
        'the method is mondrian, which does not read them: say method = "fulldomain"',
    ),
    (lambda at: fk.audit([at.df, at.df], **WITH), "a table is a path or a frame"),
    (lambda at: fk.k_anonymity(at.df, ident=["pin"], quasi_ident=QI, k=5), "it measures, and fk."),
    (lambda at: fk.publish(at.df, at.policy, methd="mondrian"), "did you mean 'method'?"),
    (
        lambda at: fk.publish(at.df, at.policy, method=fk.Mondrian),
        "such as Mondrian(), not its",
    ),
    (lambda at: fk.publish(at.csv, "no.toml"), "'no.toml' does not exist"),
    (
        lambda at: fk.publish(at.df, k=5),
        'fk.publish(table, quasi_identifiers=["age", "sex", "zip"], sensitive="diagnosis", '
        'identifiers=["pin"], k_anonymity=5)',
    ),
    (lambda at: fk.publish(at.df, **WITH, suppression=0.1, method=fk.Anatomy(2)), "fk.FullDomain"),
    (
        lambda at: fk.publish(at.df, at.policy, form="bucketized").to_pandas(),
        "name one, as .to_pandas('people')",
    ),
    (lambda at: at.made.save(at.folder / "made"), "exists"),
    (lambda at: at.release.to_pandas(), ".to_pandas() of what"),
    (lambda at: fk.verify(at.made), "made.write(folder), then verify(folder)"),
    (lambda at: fk.verify("out", polcy=at.policy), "did you mean 'policy'?"),
    (lambda at: fk.whatever, "no attribute 'whatever'; see dir(foreknow)"),
    (lambda at: fk.mondrian, "did you mean 'Mondrian'?"),
    (lambda at: fk.Policy(None), "must be a list, such as [Requirement(...)]"),
    (
        lambda at: fk.Policy(fk.KAnonymity(5), quasi_identifiers=QI, sensitive=S),
        "Policy(KAnonymity(5), Schema(",
    ),
    (lambda at: fk.Schema(qi=["age"], sensitive=[]), "sensitive is empty; name the column that"),
    (lambda at: fk.Schema(quasi_identifiers=["age"]), "write Schema(sensitive=..., quasi_identif"),
    (lambda at: fk.Microdata(at.df), "write Schema(sensitive=..."),
    (lambda at: fk.Microdata(at.df, at.policy.schema, sensitive="age"), "leave out sensitive"),
    (lambda at: fk.Release(at.df), "Release.from_generalized(table,"),
    (lambda at: fk.Facts(k=5).disclosure(at.df), FROM_GENERALIZED),
    (lambda at: fk.Facts(n=5), "Facts takes no 'n'; known: 'l', 'k', 'm'"),
    (lambda at: fk.Requirement(below=0.5), "such as Facts(l=1), not None"),
    (lambda at: fk.Requirement(fk.Facts(), below=50), "above 0 and at most 1, not 50"),
    (lambda at: fk.Requirement(fk.Facts(), belo=0.5), "did you mean 'below'?"),
    (lambda at: fk.Mondrian(k=5), "Requirement(KAnonymity(5))"),
    (lambda at: fk.k_anonymity(5), "Requirement(KAnonymity(5)) requires it"),
    (lambda at: fk.skyline(at.release, value="x", confidence=0.9), "did you mean 'values'?"),
    (lambda at: fk.risk(at.df, QI).highest, "see .to_dict()"),
    *(
        (lambda at, make=make: fk.publish(make(at), at.policy), said)
        for make, said in [
            (lambda at: pd.concat({"a": at.df}, axis=1), "is no text; rename the columns"),
            (lambda at: io.StringIO(at.csv.read_text()), "give a path (not an open file)"),
            (lambda at: at.df["age"], "is not a table"),
            (lambda at: at.df.values.tolist(), "a frame of pandas, Polars"),
        ]
    ),
    (lambda at: at.made["age"], ".to_pandas()['age']"),
    (lambda at: fk.publish(at.df, at.policy, drop=["pin"]), "without a role is not published"),
    (lambda at: fk.publish(at.df, at.policy, out="o", overwrite=True), "name a new folder"),
    (lambda at: fk.publish(at.df, at.policy, verbose=True), "see .summary()"),
    (lambda at: fk.publish("s3://bucket/table.csv", at.policy), "pandas.read_csv(address)"),
    (lambda at: fk.audit("https://example.org/table.csv", at.policy), "download it, or give"),
    (lambda at: fk.audit("folder", "folder"), 'one list, before the policy: ["january", "march"]'),
    (lambda at: fk.audit("table.csv", "table.csv"), "a policy file is named policy.toml"),
    (lambda at: fk.check("policy.toml"), "it is a policy, which is named beside a table"),
    (lambda at: fk.together(at.made), "a list of at least two"),
    (lambda at: fk.anonymize(at.df, ["age", "zip"], k=5), "quasi_identifiers=[...]"),
    (lambda at: fk.suggest_policy(at.df, out="p.toml"), ".save(path)"),
    (lambda at: at.policy.sensitive, "policy.schema.sensitive"),
    (lambda at: at.policy.add(fk.KAnonymity(5)), "fk.Policy([*policy.requirements"),
    (lambda at: fk.publish(at.policy, at.df), "the table comes first"),
    (lambda at: bool(at.audit.verdicts[0]), "ask .safe"),
    (lambda at: at.audit["safe"], "such as .safe and .verdicts"),
    (
        lambda at: fk.audit(at.folder / "made", at.policy, group="sex"),
        "are in its certificate; leave out the group",
    ),
    (lambda at: fk.KAnonymity(2)(at.df), "holds(fk.Release.from_generalized(frame, quasi_id"),
    (
        lambda at: fk.publish(at.df.set_index("pin"), at.policy),
        "has no column 'pin': it is in the index; give frame.reset_index()",
    ),
    (lambda at: fk.audit(at.df, qi=QI, k=5), "see fk.k_anonymity and fk.risk"),
    (lambda at: fk.publish(at.df, **WITH, out="-"), "a release is a folder"),
    (lambda at: fk.verify(at.folder / "made").ok, "fk.verify raises an error where anything fails"),
    (lambda at: at.made.report(), ".to_html(path)"),
    (lambda at: at.made.to_csv("a.csv", index=False), "a frame is .to_pandas()"),
    (lambda at: fk.publish(at.df, at.policy, top={"age": 50}), 'levels={"age": {"top": 80}}'),
    (lambda at: fk.publish(at.df, **WITH, k=3, of=2), 'k_anonymity={"k": 3, "of": 2}'),
    (lambda at: fk.Schema(quasi_identifiers=QI, sensitive=S, household="h"), "it is for fk.risk"),
]


def test_a_printed_call(at):
    """The way out that names the columns of this very table, executed as it is printed."""
    with pytest.raises(fk.InputError) as caught:
        fk.publish(at.df, k=5)
    call = re.search(r"fk\.\w+\(.*\)", str(caught.value))[0]
    assert whole(eval(call, {"fk": fk, "table": at.df}))


@pytest.mark.parametrize(("do", "message"), TOLD, ids=range(len(TOLD)))
def test_guess_says_what_to_type(at, do, message):
    with pytest.raises((fk.ForeknowError, AttributeError)) as caught:
        do(at)
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

# What is typed in which table, and a part of what is said.
KEYS_TYPED = [
    ("require", "type", "k-anonymity", "unknown key require[1].k_anonymity.facts"),
    ("require", "alpha_k", 0.2, "such as { alpha = 0.5, k = 5 }"),
    ("schema", "qi", ["age"], "did you mean 'quasi_identifiers'?"),
    ("schema", "hierarchies", {"zip": "mask"}, "or { mask = 5 }"),
    ("schema", "types", {"age": "int"}, "'number', 'date' or 'text', not 'int'"),
    ("schema", "reading", {"na_values": ["?"]}, "'missing'"),
    ("require", "facts", 3, "such as { l = 1, k = 3 }"),
    ("require", "method", "mondrian", "it stands below [publish]"),
    ("schema", "reading", {"sep": ";"}, "did you mean 'delimiter'?"),
    ("require", "k_anonymity", "five", "it should be a whole number, not 'five'"),
    ("require", "alpha_k", 0.2, "such as { alpha = 0.5, k = 5 }"),
    ("schema", "hierarchies", {"age": {"intervls": [5]}}, "did you mean 'intervals'?"),
    ("schema", "hierarchies", {"age": {"type": "mask"}}, "'type'; known: 'intervals', 'mask'"),
    ("schema", "hierarchies", {"age": {"type": "mask", "width": 5}}, "'type'"),
    ("require", "l_diversity", {"l": 2, "type": "entropic"}, "'distinct', 'entropy'"),
    ("require", "l_diversity", {"l": 2, "type": "entropy", "kind": "distinct"}, "unknown key"),
    ("require", "entropy_l_diversity", {"l": 2, "kind": "distinct"}, "entropy_l_diversity"),
    ("", "privacy", {"k": 5, "sensitive": "age"}, "sensitive"),
    ("", "options", {"supression": 0.1}, "options"),
    ("publish", "columns", ["age"], 'quasi_identifiers = ["age"]'),
    ("publish", "format", "xlsx", "foreknow export FOLDER --to xlsx"),
    ("", "sensitive", "diagnosis", "it stands below [schema]"),
    ("try", "learned", ["age"], 'such as { by = ["age"] }'),
    ("publish", "supression", 0.05, "suppression = 0.05, in [publish]"),
]


# A policy as others type it, and the same in our tables.
SAID = {"quasi_identifiers": ["age", "sex"], "sensitive": "diagnosis", "identifiers": ["pin"]}
TYPED = [
    ({**SAID, "k": 5}, {"require": [{"k_anonymity": 5}]}),
    ({"quasi-identifiers": "age, sex", "sensitive": "diagnosis", "ident": "pin", "k": 5}, {}),
    ({"schema": SAID, "require": {"k-anonymity": "5"}}, {}),
    ({"schema": SAID, "requirements": [{"kAnonymity": 5}]}, {}),
    (
        {
            "columns": {
                "age": "quasi-identifying",
                "sex": "QI",
                "pin": "Identifier",
                "diagnosis": "sensitive",
                "salary": "drop",
            },
            "privacy": {"k": 5},
        },
        {},
    ),
    (
        {"schema": SAID, "require": {"k_anonymity": 5, "l_diversity": 2}},
        {"require": [{"k_anonymity": 5}, {"l_diversity": {"l": 2}}]},
    ),
    (
        {**SAID, "k": 5, "max_suppression": 0.05},
        {"publish": {"mondrian": {"suppression": 0.05}}},
    ),
    (
        {**SAID, "k": 5, "hierarchies": {"age": 10}},
        {"schema": {**SAID, "hierarchies": {"age": {"intervals": [10]}}}},
    ),
    (
        {"hierarchies": {"age": [5, 10]}, "schema": SAID, "require": [{"k_anonymity": 5}]},
        {"schema": {**SAID, "hierarchies": {"age": {"intervals": [5, 10]}}}},
    ),
    (
        {
            "columns": {
                "age": {"role": "quasi-identifier", "type": "int", "hierarchy": 10},
                "sex": {"role": "QI"},
                "pin": {"role": "identifier"},
                "diagnosis": {"role": "sensitive"},
                "salary": {"role": "drop", "type": "number"},
            },
            "k": 5,
        },
        {
            "schema": {
                **SAID,
                "types": {"age": "number"},
                "hierarchies": {"age": {"intervals": [10]}},
            }
        },
    ),
    (
        {
            "schema": SAID,
            "privacy_models": [
                {"type": "k-anonymity", "k": 5},
                {"type": "l-diversity", "l": 2, "variant": "entropy"},
                {"model": "distinct-l-diversity", "l": 2},
            ],
        },
        {
            "require": [
                {"k_anonymity": 5},
                {"l_diversity": {"l": 2, "kind": "entropy"}},
                {"l_diversity": {"l": 2, "kind": "distinct"}},
            ]
        },
    ),
    (
        {"schema": SAID, "require": [{"value": "flu", "facts": {"l": 1}, "below": 0.9}]},
        {"require": [{"values": ["flu"], "facts": {"l": 1}, "below": 0.9}]},
    ),
    ({"schema": {**SAID, "drop": ["zip"]}, "require": [{"k_anonymity": {"k": 5}}]}, {}),
    (
        {"schema": SAID, "privacy": {"k": 5, "suppression": 0.05}, "settings": {"bom": True}},
        {"publish": {"bom": True, "mondrian": {"suppression": 0.05}}},
    ),
    (
        {"schema": SAID, "require": {"entropy_l_diversity": 2, "ordered_t_closeness": 0.3}},
        {
            "require": [
                {"l_diversity": {"l": 2, "kind": "entropy"}},
                {"t_closeness": {"t": 0.3, "distance": "ordered"}},
            ]
        },
    ),
    (
        {"schema": SAID, "require": {"recursive_c_l_diversity": {"c": 3, "l": 2}}},
        {"require": [{"l_diversity": {"l": 2, "c": 3, "kind": "recursive"}}]},
    ),
    (
        {"schema": SAID, "require": [{"k": 5}], "try": {"learned": {"by": ["age"]}}},
        {"try": [{"learned": {"by": ["age"]}}]},
    ),
    (
        {
            "roles": {
                "identifying": ["pin"],
                "quasi_identifying": ["age", "sex"],
                "sensitive": "diagnosis",
                "drop": ["salary"],
            },
            "k": 5,
        },
        {},
    ),
    ({**SAID, "privacy_model": "k-anonymity", "k": 5}, {}),
    (
        {**SAID, "k": 5, "hierarchy": {"age": {"type": "interval", "width": 10}}},
        {"schema": {**SAID, "hierarchies": {"age": {"intervals": [10]}}}},
    ),
]


@pytest.mark.parametrize(("typed_tables", "ours"), TYPED, ids=range(len(TYPED)))
def test_policy_in_other_words(typed_tables, ours, tmp_path):
    expected = {"schema": SAID, "require": [{"k_anonymity": 5}], **ours}
    assert fk.Policy.from_dict(typed_tables).to_dict() == fk.Policy.from_dict(expected).to_dict()
    (tmp_path / "policy.json").write_text(json.dumps(typed_tables))
    assert fk.Policy(tmp_path / "policy.json").to_dict() == fk.Policy.from_dict(expected).to_dict()


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


@pytest.mark.parametrize(("table", "key", "value", "message"), KEYS_TYPED)
def test_a_guessed_key(table, key, value, message):
    with pytest.raises(fk.InputError) as caught:
        fk.Policy.from_dict(tables_with(table, {key: value}))
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


# What is typed in a shell, with which exit code it ends, and what is said.
SHELL = [
    ("verify folder", 0, "Verified: 300 people"),
    ("verify folder/release.csv", 0, "Verified: 300 people"),
    ("audit table.csv", 1, "Not safe"),
    ("anonymize table.csv -o anonymous", 0, "Safe"),
    (
        "generalize table.csv --qi sex --sensitive diagnosis --k 5 -o g",
        0,
        "nothing limits inference",
    ),
    ("report made", 0, "What is known about a release"),
    ("show table.csv", 2, "foreknow audit TABLE --html FILE"),
    ("risk table.csv", 0, "300 people"),
    ("risk table.csv --qi age,sex --html out.htm", 0, "people are unique"),
    ("risk table.csv --qi age sex zip", 0, "by age, sex and zip"),
    ("risk table.csv --qi age,sex zip", 2, "with commas between"),
    ("publish table.csv --qi age sex nine --sensitive diagnosis", 2, "no column 'nine'"),
    ("audit table.csv --qi sex -k 5", 0, "k_anonymity = "),
    ("audit table.csv --qi AGE,sex,zip -k 5", 1, "What can be found out about them was not judged"),
    ("audit table.csv --qi age,zip --l 3", 2, "add --sensitive COLUMN"),
    ("l-diversity table.csv --qi age,zip --sa diagnosis", 1, "the least diverse group has 1"),
    ("synth made -o drawn.csv", 0, "Taken for: foreknow draw made -o drawn.csv"),
    ("pub table.csv --dry-run", 0, "Nothing was written"),
    ("describe table.csv", 0, 'sensitive = "diagnosis"'),
    ("init table.csv --qi age,sex --id zip --k 7 --out named.toml", 0, "Identifiers: pin, zip"),
    ("init table.csv --id zip --qi zip --out no.toml", 2, "cannot have two roles"),
    ("init table.csv --k 301 --out no.toml", 2, "more than the table has people"),
    ("audit table.csv --json -", 1, '"safe": false'),
    ("audit nothing.csv", 2, "nothing.csv"),
    ("publish table.csv --k 7 -o sevens", 0, "k_anonymity = 7"),
    ("publish table.csv -o release.csv", 0, "A release is a folder, with its table in it: release"),
    ("publish table.csv -o release.xlsx", 2, "name it 'release'"),
    ("evidence o --html o.html", 2, "--out FILE names the page"),
    ("compare table.csv --method nothing --qi age --sensitive diagnosis", 2, "nothing"),
    ("init table.csv --out new.toml --force", 0, "Written to new.toml"),
    ("-V", 0, "foreknow 0."),
    ("audit -h", 0, "Usage: foreknow audit"),
    ("help audit", 0, "Usage: foreknow audit"),
    ("pruefen table.csv", 1, "Not safe"),
    ("überprüfen made", 0, "Verified: 300 people"),
    ("aide publish", 0, "Usage: foreknow publish"),
    ("to-csv made flat.csv", 0, "written to flat.csv"),
    ("publish table.csv -o x1 --suppression-limit 0.05", 0, "Written to x1"),
    ("publish table.csv -o x --zzz 1", 2, "it has --after"),
    ("publish table.csv -o x --method incognito", 2, "most like it is 'fulldomain'"),
    ("utility made --original table.csv", 2, "in the order of the first line"),
    ("flurb table.csv", 2, "init TABLE writes a first policy"),
    ("init absent.xlsx", 2, "there is no file or folder"),
    ("check policy.toml", 0, "policy.toml is a policy: Policy("),
    ("audit policy.toml", 0, "foreknow audit TABLE --policy policy.toml"),
    ("audit table.csv policy.toml", 1, "Not safe"),
    ("publish table.csv policy.toml --out o1", 0, "Safe"),
    ("publish policy.toml table.csv --out o2", 0, "Safe"),
    ("init table.csv --out -", 0, "[schema]"),
    ("publish table.csv --out a_tab", 0, "Written to a_tab:"),  # no --tab, which names a sheet
    ("table.csv", 2, "foreknow init table.csv"),
    ("folder", 0, "Taken for: foreknow verify folder"),
    ("policy.toml", 2, "foreknow publish TABLE --policy policy.toml"),
    ("open folder", 0, '"age","age_lower"'),
    ("utility table.csv folder", 0, "What the generalized release is still worth"),
    ("publish table.csv", 0, "Written to table.release"),
    ("publish table.csv --sheet 1 --out o3", 2, "workbooks ?sheet="),
    ("publish table.csv other.csv --out o4", 2, "one table is read at a time"),
    ("publish table.csv --out folder", 2, "exists already"),
    ("publish table.csv --out o5 --drop pin", 2, "without a role in the policy is not published"),
    ("publish table.csv --out o7 --epsilon 1", 2, "no differential privacy"),
    ("draw folder -n 10 --out d.csv", 2, "give a file with fewer rows"),
    ("columns table.csv", 0, 'sensitive = "diagnosis"'),
    ("init table.csv --id pin --out new2.toml", 0, "Identifiers: pin"),
    ("publish table.csv --id pin --out o11", 2, "the policy says what the columns are"),
    ("audit folder --threshold 0.4", 2, "below = 0.5 under [[require]]"),
    ("verify folder --strict", 2, "ends with exit code 1"),
    ("attack folder --verbose", 2, "--quiet prints nothing"),
    ("forget folder p5", 2, "--person"),
    ("ask folder p5 flu", 2, "--about Tom"),
    ("utility folder", 2, "TABLE"),
    ("export folder --to xlsx --out x.xlsx", 0, "Written to x.xlsx"),
    ("publish table.csv --format xlsx --out o12", 2, "foreknow export FOLDER --to xlsx"),
    # -- a list of a newcomer
    ("init table.csv --qi age --qi sex --out n3.toml", 0, "Quasi-identifiers: age, sex"),
    ("init table.csv n4.toml", 0, "Written to n4.toml"),
    ("init --file table.csv --out n5.toml", 0, "Written to n5.toml"),
    ("init table.csv --sep , --out n6.toml", 0, "300 rows, 5 columns"),
    ("init table.csv --na NA", 2, "[schema.reading]"),
    ("publish table.csv third1", 0, "Written to third1"),
    ("publish table.csv policy.toml third2", 0, "Written to third2"),
    ("publish --table table.csv --out third3", 0, "Written to third3"),
    ("publish table.csv --config policy.toml --output-dir third5", 0, "Written to third5"),
    ("publish table.csv --k=5 --l=2 --out third6", 0, "l_diversity"),
    ("publish table.csv --algorithm mondrian --seed=42 --out third7", 0, "Written to third7"),
    ("PUBLISH table.csv --out third9", 0, "Written to third9"),
    ("apply table.csv policy.toml --out third11", 0, "Written to third11"),
    ("publish help", 0, "Usage: foreknow publish"),
    ("--help publish", 0, "Usage: foreknow"),
    ("publish table.csv --risk 0.2 --out x", 2, "below [[require]]"),
    ("--quiet publish table.csv --out o13", 0, ""),
    ("verify --release folder", 0, "Verified: 300 people"),
    ("certificate folder", 0, "Verified: 300 people"),
    ("audit folder --output-format json", 0, '"safe": true'),
    ("audit table.csv --columns age --columns zip --secret diagnosis", 1, "in 133 groups"),
    ("audit table.csv --qi age -s sex -s diagnosis --k 2", 2, "--sensitive is given 2 times"),
    ("audit table.csv --qi age -s diagnosis --k 5 --k-anonymity 2", 2, "--k-anonymity is given 2"),
    ("audit folder -q -q --policy policy.toml", 0, ""),
    ("ask folder --who p5", 0, "p5"),
    ("export folder z.xlsx", 0, "Written to z.xlsx"),
    ("draw folder second.csv", 0, "second.csv"),
    ("utility table.csv folder", 0, "What the generalized release is still worth"),
    ("publish table.csv --max-suppression 5% --out f1", 0, "Written to f1"),
    ("-p policy.toml -i table.csv -o f3", 0, "Written to f3"),
    ("--policy policy.toml publish table.csv --out f4", 0, "Written to f4"),
    ("table.csv --policy policy.toml --out f5", 0, "Taken for: foreknow publish table.csv"),
    ("table.csv --qi age --sensitive diagnosis --k 99", 1, "Taken for: foreknow audit table.csv"),
    ("init table.csv --stdout", 0, "[schema]"),
    ("init table.csv --dec . --out f6.toml", 0, "Written to f6.toml"),
    (r"audit .\table.csv --policy policy.toml", 1, "Not safe"),
    ("init tabel.csv", 2, "did you mean 'table.csv'?"),
    ("l-diversity table.csv --l 9 --qi age,sex --sa diagnosis", 1, "l_diversity"),
    ("audit table.csv --qi AGE,Sex --sensitive Diagnosis --k 99", 1, "k_anonymity = 99"),
    ("export folder --excel --out f7.xlsx", 0, "Written to f7.xlsx"),
    ("verify folder folder.owner", 2, "foreknow verify folder"),
    ("publish table.csv --policy policy.toml --columns age --out x", 2, "leave out --quasi"),
    ("publish table.csv --policy policy.toml -s 7 --out x", 2, "leave out --sensitive"),
    ("hilfe", 0, "Usage: foreknow"),
    ("adit table.csv", 2, "did you mean 'audit'?"),
    ("schema table.csv", 2, "foreknow init TABLE"),
    ("risk folder --out f9.html", 0, "300 people"),
    ("risk table.csv -q age,sex", 0, "300 people"),
    ("compare table.csv made", 2, "foreknow utility FOLDER TABLE"),
    ("explain folder --out explained.html", 0, "What is known about a release"),
    ("publish table.csv -o x --replace", 2, "name a new folder"),
    ("publish --input table.csv --out o11", 0, "Safe"),
    # -- an eleventh list
    ("publish table.csv -o release.zip", 2, "with its certificate: name it 'release'"),
    ("publish table.csv --threads 4 -o x", 2, "how many cores are used is not set"),
    ("attack folder --fast", 2, "shortened by --seconds 10"),
    ("init table.csv --locale de", 2, "--decimal and --date-format"),
    ("example", 2, "foreknow demo"),
    ("inspect folder", 2, "of a release: foreknow evidence FOLDER"),
    ("uninstall", 2, "pip uninstall foreknow"),
    # -- a tenth list
    ("publish table.csv --to third30", 0, "Written to third30"),
    ("publish table.csv -m mondrian -o third33", 0, "Written to third33"),
    ("ask folder --about p5 --given p6=flu", 2, "a statement behind the release"),
    ("publish table.csv --local-suppression --suppression 5% --out third31", 0, "third31"),
    ("risk table.csv --qi age,sex --hh-id zip", 0, "300 people"),
    ("publish table.csv --top-coding age=50 --out x", 2, "coding'; a policy says it: levels = {"),
    ("init table.csv --person pin", 2, 'unit = "row" and person = "patient_id"'),
    ("publish table.csv --codes map.csv --out x", 2, 'map = "old_to_new.csv", in [schema.codes]'),
    ("utility folder table.csv --after folder2", 2, "give the table that publish took"),
]


@pytest.mark.parametrize(("words", "code", "message"), SHELL)
def test_a_guess_in_a_shell(at, typed, words, code, message):
    ended, printed, out = typed(*words.split())
    assert ended == code, printed
    assert message in printed
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
