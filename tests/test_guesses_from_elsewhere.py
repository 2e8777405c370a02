"""A second list: what users of pandas, sklearn, pycanon, ARX and sdcMicro type.

Each does what was meant, or says what to type.
"""

import sys

import pytest

import foreknow as fk
from foreknow import sample
from foreknow.cli import main

QI, S = ["age", "sex", "zip"], "diagnosis"
SAID = {"qi": QI, "sensitive": S}


@pytest.fixture(scope="module")
def at():
    return At()


class At:
    def __init__(self):
        self.df = sample.load().head(600)
        self.made = fk.publish(self.df, **SAID, k=5, seed=1)
        self.audit = fk.audit(self.df, **SAID, k=5)


DOES = {
    "k_anonymity(quasi_ident=)": lambda at: fk.k_anonymity(at.df, quasi_ident=QI) == 1,
    "l_diversity(df, qi, [sa])": lambda at: fk.l_diversity(at.df, QI, [S]) == 1,
    "l_diversity(kind='entropy')": lambda at: fk.l_diversity(at.df, QI, S, kind="entropy") == 1,
    "t_closeness(sens_att=)": lambda at: fk.t_closeness(at.df, QI, sens_att=[S]) < 1,
    "beta_likeness": lambda at: fk.beta_likeness(at.df, QI, S) > 1,
    "delta_disclosure": lambda at: fk.delta_disclosure(at.df, QI, S) == float("inf"),
    "random_state=": lambda at: fk.publish(at.df, **SAID, k=5, random_state=0).audit.safe,
    "publish(X=)": lambda at: fk.publish(X=at.df, **SAID, k=5).audit.safe,
    "audit(data=)": lambda at: not fk.audit(data=at.df, **SAID, k=5).safe,
    "len(made)": lambda at: len(at.made) == 600,
    "audit.to_frame()": lambda at: at.audit.to_frame()["safe"].tolist() == [False],
    "audit.to_polars()": lambda at: at.audit.to_polars()["safe"].to_list() == [False],
    "audit.to_json()": lambda at: '"safe": false' in at.audit.to_json(),
    "audit.to_html()": lambda at: at.audit.to_html().startswith("<!DOCTYPE html>"),
    "made.to_html()": lambda at: at.made.to_html().startswith("<!DOCTYPE html>"),
    "made.summary()": lambda at: "nothing limits inference" in at.made.summary(),
    "df.pipe(fk.publish)": lambda at: at.df.pipe(fk.publish, **SAID, k=5).audit.safe,
    "qi='age'": lambda at: fk.audit(at.df, qi="age", sensitive=S, k=2).policy is not None,
    "qi=('age', 'sex')": lambda at: not fk.audit(at.df, qi=("age", "sex"), sensitive=S, k=99).safe,
    "qi=df.columns[1:3]": lambda at: (
        not fk.audit(at.df, qi=at.df.columns[1:3], sensitive=S, k=99).safe
    ),
    "l=3": lambda at: fk.l_diversity(fk.publish(at.df, **SAID, l=3)) >= 3,
    "k=5, t=.3": lambda at: fk.t_closeness(fk.publish(at.df, **SAID, k=5, t=0.3)) <= 0.3,
    "ident=": lambda at: "name" not in fk.publish(at.df, **SAID, k=5, ident="name").to_pandas(),
    "hierarchies=": lambda at: (
        fk.publish(at.df, **SAID, k=5, hierarchies={"age": {"intervals": [10, 20]}}).audit.safe
    ),
    "publish(df, KAnonymity(5))": lambda at: fk.publish(at.df, fk.KAnonymity(5), **SAID).audit.safe,
    "publish(df, [KAnonymity, LDiversity])": lambda at: (
        fk.publish(at.df, [fk.KAnonymity(5), fk.LDiversity(2)], **SAID).audit.safe
    ),
    "risk(keyVars=)": lambda at: fk.risk(at.df, keyVars=QI).people == 600,
    "risk(df, qi)": lambda at: fk.risk(at.df, QI).people == 600,
    "facts, below": lambda at: fk.publish(at.df, **SAID, facts={"l": 1}, below=0.5).audit.safe,
    "nothing but columns": lambda at: fk.publish(at.df, **SAID).audit.safe,
    "evidence is risk_report's sister": lambda at: fk.evidence is fk.evidence_report,
    "counts_at(df)": lambda at: (
        fk.counts_at(at.df, {"age": "*", "sex": 0}, qi=["age", "sex"], sensitive=S).n_groups == 2
    ),
    "survey(df)": lambda at: fk.survey(at.df, [1], qi=["age", "sex"], sensitive=S).nodes,
    "curves(df)": lambda at: fk.curves(at.df, qi=["sex"], sensitive=S).implications,
    "skyline(df)": lambda at: (
        fk.skyline(at.df, [at.df[S][0]], confidence=0.9, qi=["sex"], sensitive=S).skylines
    ),
    "utility(frame, df)": lambda at: fk.utility(at.made.to_pandas(), at.df, **SAID).errors,
}
TOLD = {
    "entropy_l_diversity": (lambda at: fk.entropy_l_diversity, 'kind="entropy"'),
    "alpha_k_anonymity": (lambda at: fk.alpha_k_anonymity, "fk.AlphaK(0.5, 5)"),
    "anonymity.k_anonymity": (lambda at: fk.anonymity, "fk.k_anonymity(table,"),
    "fit_transform": (lambda at: fk.Mondrian().fit_transform(at.df), "given to fk.publish(table"),
    "made.head()": (lambda at: at.made.head(), "its table is .to_pandas()"),
    "audit.df": (lambda at: at.audit.df, "the table is .to_pandas() of what"),
    "release.to_pandas()": (lambda at: at.made.release.to_pandas(), ".to_pandas() of what"),
    "audit.passed": (lambda at: at.audit.passed, "see .safe"),
    "suppression=": (
        lambda at: fk.publish(at.df, **SAID, k=5, suppression=0.1),
        "method=fk.FullDomain(suppression=0.05)",
    ),
    "publish(df, k=5)": (lambda at: fk.publish(at.df, k=5), "fk.publish(table, quasi_identifiers="),
    "no sensitive": (lambda at: fk.audit(at.df, qi=QI, k=5), "see fk.k_anonymity and fk.risk"),
    "ARXAnonymizer": (lambda at: fk.ARXAnonymizer(), "k_anonymity=5)"),
    "createSdcObj": (lambda at: fk.createSdcObj(at.df), "k_anonymity=5)"),
    "freqCalc": (lambda at: fk.freqCalc(at.df), "fk.risk(table"),
    "uniqueness": (lambda at: fk.uniqueness(at.df, QI), "fk.risk(table"),
    "reidentification_risk": (lambda at: fk.reidentification_risk(at.df), "fk.risk(table"),
    "individual_risk": (lambda at: fk.individual_risk(at.df, QI), "fk.risk(table"),
    "equivalence_classes": (lambda at: fk.equivalence_classes(at.df, QI), "fk.risk(table"),
    "measure": (lambda at: fk.measure(at.df), "fk.risk(table"),
    "generalize": (lambda at: fk.generalize(at.df, {}), "fk.publish(table, policy)"),
    "suppress": (lambda at: fk.suppress(at.df), "fk.publish(table, policy)"),
    "add_noise": (lambda at: fk.add_noise(at.df), "generalizes and suppresses by groups"),
    "hierarchies": (lambda at: fk.hierarchies, "fk.Schema(hierarchies={...})"),
    "ncp": (lambda at: fk.ncp(at.df), "fk.utility(release, table"),
    "discernibility": (lambda at: fk.discernibility(at.df, QI), "fk.utility(release, table"),
    "load_adult": (lambda at: fk.load_adult(), "fk.sample.load()"),
    "load(folder)": (lambda at: fk.load("folder"), 'fk.read_release("folder")'),
    "describe": (lambda at: fk.describe(at.df), "fk.suggest_policy(table)"),
    "explain": (lambda at: fk.explain(at.df), "fk.audit(release, policy)"),
    "AuditResult": (lambda at: fk.AuditResult, "fk.audit(release, policy)"),
    "validate": (lambda at: fk.validate("folder"), 'fk.verify("folder")'),
    "differential_privacy": (lambda at: fk.differential_privacy(at.df), "has no differential"),
    "explorer": (lambda at: fk.explorer, "foreknow explore"),
    "report(audit), which made a page": (
        lambda at: at.audit.summary() and fk.report(at.audit),
        ".summary() and .to_html(path)",
    ),
    "Report": (lambda at: fk.Report, ".to_html(path)"),
    "except fk.Error": (lambda at: fk.Error, "fk.ForeknowError"),
    "Policy(columns, k=)": (
        lambda at: fk.Policy(quasi_identifiers=QI, sensitive=S, k=5),
        "Policy(KAnonymity(5), Schema(",
    ),
    "supp_level=": (lambda at: fk.publish(at.df, **SAID, supp_level=50), "suppression=0.05"),
    "audit(records)": (
        lambda at: fk.audit(at.df.head(3).to_dict("records"), **SAID, k=5),
        "a table is a path or a frame",
    ),
    "made.safe": (lambda at: at.made.safe, ".audit, with .safe"),
    "made.verify()": (lambda at: at.made.verify(), "fk.verify(folder)"),
    "made.policy": (lambda at: at.made.policy, ".audit, with .safe and .policy"),
    "audit.violations": (lambda at: at.audit.violations, "see .verdicts"),
    "audit.html(path)": (lambda at: at.audit.html("a.html"), ".to_html(path)"),
    "audit.report()": (lambda at: at.audit.report(), ".to_html(path)"),
    "audit.to_dataframe()": (lambda at: at.audit.to_dataframe(), "see .to_frame()"),
    "policy.to_toml(path)": (lambda at: at.audit.policy.to_toml("p.toml"), "see .save(path)"),
    "risk.highest": (lambda at: fk.risk(at.df, QI).highest, "see .to_dict()"),
    "publish(out='-')": (lambda at: fk.publish(at.df, **SAID, out="-"), "a release is a folder"),
}
SHELL = {
    "audit -k 5": ("audit {} -k 5", 2, "k-anonymity is --k-anonymity 5 (or --k 5)"),
    "--l 3": ("audit {} --qi age,sex --sensitive diagnosis --l 3", 1, "l_diversity"),
    "--keyvars": ("risk {} --keyvars age,sex", 0, "people are unique"),
    "--columns": ("risk {} --columns age,sex", 0, "people are unique"),
    "columns with blanks": ("risk {} --qi age sex zip", 2, "with commas between"),
    "columns with blanks, audit": (
        "audit {} --qi age sex --sensitive diagnosis",
        2,
        "with commas between",
    ),
    "publish --out -": ("publish {} --qi age --sensitive diagnosis --out -", 2, "is a folder"),
    "publish --dry-run": ("publish {} --dry-run --out o", 2, "foreknow compare TABLE"),
    "evidence --html": ("evidence o --html o.html", 2, "--out FILE names the page"),
    "show TABLE": ("show {}", 2, "foreknow audit TABLE --html FILE"),
    "generalize": (
        "generalize {} --qi sex --sensitive diagnosis --k 5 -o o",
        0,
        "nothing limits inference",
    ),
    "measure": ("measure {} --qi age,sex", 0, "people are unique"),
    "report TABLE": ("report {}", 2, "foreknow audit TABLE --html FILE"),
    "risk-report": ("risk-report {} --qi age,sex", 0, "people are unique"),
    "kanon": ("kanon {}", 2, "did you mean"),
    "--method": ("compare {} --method nothing --qi age --sensitive diagnosis", 2, "nothing"),
    "-h": ("audit -h", 0, "Usage: foreknow audit"),
    "help audit": ("help audit", 0, "Usage: foreknow audit"),
}


@pytest.mark.parametrize("typed", DOES)
def test_a_guess_does_what_is_meant(at, typed):
    assert DOES[typed](at)


@pytest.mark.parametrize("typed", TOLD)
def test_a_guess_says_what_to_type(at, typed):
    do, said = TOLD[typed]
    with pytest.raises((fk.ForeknowError, AttributeError)) as caught:
        do(at)
    assert said in str(caught.value)


@pytest.mark.parametrize("typed", SHELL)
def test_a_guess_in_a_shell(typed, monkeypatch, capsys, tmp_path):
    words, code, said = SHELL[typed]
    monkeypatch.chdir(tmp_path)
    given = words.format(sample.table_path()).split()
    monkeypatch.setattr(sys, "argv", ["foreknow", *given])
    with pytest.raises(SystemExit) as caught:
        main()
    found = capsys.readouterr()
    assert (caught.value.code or 0) == code, found.err
    assert said in " ".join((found.out + found.err).split())
