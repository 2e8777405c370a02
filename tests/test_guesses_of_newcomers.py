"""51 guesses of an outside review, typed before anything was read: 30 in Python, 21 in a shell.

Each does what was meant (`DOES`), or says what to type (`TOLD`); most do.
"""

import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import foreknow as fk
from foreknow.cli import main

QI, D = ["age", "zip"], "illness"


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    """A folder as somebody has it: a CSV file whose codes begin with zeros, and its frames."""
    return At(tmp_path_factory.mktemp("guesses"))


class At:
    def __init__(self, folder):
        chance = np.random.default_rng(3)
        many = 300
        self.folder = folder
        self.csv = folder / "t.csv"
        pd.DataFrame(
            {
                "pin": [f"p{i}" for i in range(many)],
                "age": chance.integers(20, 60, many),
                "sex": chance.choice(["f", "m"], many),
                "zip": chance.choice(["01067", "01069", "04103", "10115"], many),
                "illness": chance.choice(["flu", "cold", "hiv", "none"], many),
            }
        ).to_csv(self.csv, index=False)
        self.df = pd.read_csv(self.csv)  # without its zeros
        self.texts = pd.read_csv(self.csv, dtype={"zip": str})
        fk.suggest_policy(self.csv).save(folder / "policy.toml")
        self.policy = fk.Policy(str(folder / "policy.toml"))
        self.made = fk.publish(self.texts, self.policy, seed=1)
        self.made.save(folder / "made")
        self.audit = fk.audit(self.texts, self.policy)
        self.count = 0

    def fresh(self, name):
        self.count += 1
        return self.folder / f"{name}{self.count}"


def frame(found):
    return isinstance(found, (pd.DataFrame, pl.DataFrame)) and len(found) > 0


def safe(made):
    return isinstance(made, fk.Publication) and made.audit.safe


def unsafe(audit):
    return isinstance(audit, fk.Audit) and not audit.safe


def _policy_of_ones_own(at):
    return fk.Policy(fk.Facts(1, 3), below=0.5)


DOES = {
    "Policy(path)": (lambda at: fk.Policy(str(at.folder / "policy.toml")), lambda p: p.schema),
    "DataFrame(audit.verdicts)": (lambda at: pd.DataFrame(at.audit.verdicts), frame),
    "verify(certificate)": (
        lambda at: fk.verify(at.folder / "made" / "certificate.json"),
        lambda v: v.people == 300,
    ),
    "print(audit)": (lambda at: str(at.audit), lambda s: "UNSAFE" in s),
    "suggest_policy(df).save": (
        lambda at: fk.suggest_policy(at.df).save(at.fresh("p")),
        lambda none: none is None,
    ),
    "audit(df, quasi_identifiers, sensitive)": (
        lambda at: fk.audit(at.df, quasi_identifiers=QI, sensitive=D),
        unsafe,
    ),
    "audit(df, qi, k)": (
        lambda at: fk.audit(at.df, quasi_identifiers=QI, sensitive=D, k=5),
        lambda a: unsafe(a) and [str(v.judged) for v in a.verdicts] == ["KAnonymity(5)"],
    ),
    "k_anonymity(df, qi)": (
        lambda at: fk.k_anonymity(at.df, QI),
        lambda k: type(k) is int and k >= 1,
    ),
    "l_diversity(df, qi, sensitive)": (
        lambda at: fk.l_diversity(at.df, QI, D),
        lambda many: type(many) is int and many >= 1,
    ),
    "t_closeness(df, qi, sensitive)": (
        lambda at: fk.t_closeness(at.df, QI, D),
        lambda t: 0 < t < 1,
    ),
    "risk(df, qi)": (
        lambda at: fk.risk(at.df, quasi_identifiers=QI),
        lambda r: isinstance(r, fk.RiskReport) and r.people == 300,
    ),
    "utility(made, df)": (
        lambda at: fk.utility(at.made, at.texts),
        lambda u: isinstance(u, fk.UtilityReport),
    ),
    "anonymize(df, qi, sensitive, k=5)": (
        lambda at: fk.anonymize(at.df, quasi_identifiers=QI, sensitive=D, k=5),
        lambda made: safe(made) and fk.k_anonymity(made) >= 5,
    ),
    "read_csv(path)": (
        lambda at: fk.read_csv(at.csv),
        lambda read: read["zip"].str.len().eq(5).all() and read["age"].dtype == "int64",
    ),
    "bool(audit)": (lambda at: bool(at.audit), "ask .safe"),
    "KAnonymity(5).measure(df)": (
        lambda at: fk.KAnonymity(5).measure(at.df),
        "Release.from_generalized(table, quasi_identifiers=[...], sensitive=...)",
    ),
    "Mondrian(k=5)": (lambda at: fk.Mondrian(k=5), "Requirement(KAnonymity(5))"),
    "Facts(k=3).disclosure(df)": (
        lambda at: fk.Facts(k=3).disclosure(at.df),
        "Release.from_generalized(table, quasi_identifiers=[...], sensitive=...)",
    ),
    'audit("t.csv")': (lambda at: fk.audit(str(at.csv)), unsafe),
    "Schema(df)": (lambda at: fk.Schema(at.df, ["age"]), "sensitive"),
    "Policy.from_file": (
        lambda at: fk.Policy.from_file(at.folder / "policy.toml"),
        lambda p: p.to_dict(),
    ),
    "audit.to_pandas()": (lambda at: at.audit.to_pandas(), frame),
    "Requirement(k_anonymity=5)": (
        lambda at: fk.Requirement(k_anonymity=5),
        lambda r: r.criterion == fk.KAnonymity(5),
    ),
    "policy.save": (
        lambda at: at.policy.save(at.fresh("p")),
        lambda none: none is None,
    ),
    "compare().plot()": (
        lambda at: fk.compare(at.texts, at.policy, methods="mondrian", processes=0).plot(),
        lambda page: "<svg" in page and page._repr_html_().startswith("<iframe"),
    ),
    "publish(out=)": (
        lambda at: fk.verify(_out(at)),
        lambda v: v.people == 300,
    ),
    "sample.load()": (lambda at: fk.sample.load(), lambda f: len(f) == 4000),
    "audit(df, Policy(Facts, below=))": (
        lambda at: fk.audit(
            at.df, fk.Policy(fk.Facts(1, 3), below=0.5), quasi_identifiers=QI, sensitive=D
        ),
        unsafe,
    ),
    "publish(df).to_csv": (
        lambda at: _csv(at),
        lambda rows: len(rows) == 300 and list(rows.columns) == ["age", "sex", "zip", "illness"],
    ),
    "publish(lazy)": (
        lambda at: fk.publish(pl.scan_csv(at.csv, schema_overrides={"zip": pl.Utf8}), at.policy),
        safe,
    ),
}


def _out(at):
    out = at.fresh("out")
    fk.publish(at.texts, at.policy, out=str(out))
    return out


def _csv(at):
    path = at.fresh("rows").with_suffix(".csv")
    fk.publish(at.texts, at.policy, seed=1).to_csv(path)
    return pd.read_csv(path)


# What is typed, with which exit code it ends, and what is said.
SHELL = {
    "publish t.csv --k 5 -o html; verify FOLDER": ("verify made", 0, "Verified: 300 people"),
    "risk t.csv --qi age,sex --html out.htm": (
        "risk t.csv --qi age,sex --html out.htm",
        0,
        "people are unique",
    ),
    "audit t.csv": ("audit t.csv", 1, "Not safe"),
    "check t.csv": ("check t.csv", 1, "Not safe"),
    "anonymize t.csv": ("anonymize t.csv -o anonymous", 0, "Safe"),
    "report made": ("report made", 0, "What is known of a release"),
    "risk -q": ("risk t.csv -q age,sex", 0, "300 people"),
    "risk --qi": ("risk t.csv --qi age,sex", 0, "300 people"),
    "publish --k 5": ("publish t.csv --k 7 -o sevens", 0, "k_anonymity = 7"),
    "publish -o release.csv": ("publish t.csv -o release.csv", 2, "name it 'release'; the table"),
    "audit --json": ("audit t.csv --json", 1, '"safe": false'),
    "audit --json -": ("audit t.csv --json -", 1, '"safe": false'),
    "audit --format json": ("audit t.csv --format json", 1, '"safe": false'),
    "init --force": ("init t.csv --out policy.toml --force", 0, "Written to policy.toml"),
    "-V": ("-V", 0, "foreknow 0."),
    "-v": ("-v", 0, "foreknow 0."),
    "audit --qi --sensitive": (
        "audit t.csv --qi age,zip --sensitive illness --k 5",
        1,
        "k_anonymity = 5",
    ),
    "verify release.csv": ("verify made/release.csv", 0, "Verified: 300 people"),
    "utility swapped": ("utility t.csv made", 0, "What the generalized release is still worth"),
    "missing file": ("audit nothing.csv", 2, "nothing.csv"),
    "risk t.csv": ("risk t.csv", 0, "300 people"),
}


def test_there_are_51_and_most_do_what_is_meant():
    assert len(DOES) + len(SHELL) == 51
    told = [typed for typed, (_, came) in DOES.items() if isinstance(came, str)]
    told += [typed for typed, (_, code, _) in SHELL.items() if code == 2]
    assert len(told) <= 7


@pytest.mark.parametrize("typed", DOES)
def test_a_guess_in_python_does_what_is_meant_or_says_what_to_type(at, typed):
    do, came = DOES[typed]
    if isinstance(came, str):
        with pytest.raises((fk.ForeknowError, AttributeError)) as caught:
            do(at)
        assert came in str(caught.value)
    else:
        assert came(do(at))


@pytest.mark.parametrize("typed", SHELL)
def test_a_guess_in_a_shell_does_what_is_meant_or_says_what_to_type(at, typed, monkeypatch, capsys):
    words, code, said = SHELL[typed]
    monkeypatch.chdir(at.folder)
    monkeypatch.setattr(sys, "argv", ["foreknow", *words.split()])
    with pytest.raises(SystemExit) as caught:
        main()
    found = capsys.readouterr()
    assert (caught.value.code or 0) == code, found.err
    assert said in " ".join((found.out + found.err).split())
    if "json" in words:
        assert json.loads(found.out)["format"] == "foreknow audit"
    assert "Traceback" not in found.err
