"""Models on a release against other libraries, and reports of utility."""

import io
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console
from tests.cli.conftest import desk as desk
from tests.cli.desk import LABELS
from tests.people import made, schema, short_report
from tests.people import people as people_report

import foreknow as fk
from foreknow.data.labels import text_of
from foreknow.utility.models import NEEDED

K = [{"k_anonymity": 4, "knowing": []}]


def people(n=240, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    sex = rng.choice(["f", "m", "m"], n)
    weight = np.round(50 + age / 4 + 8 * (sex == "m") + rng.normal(0, 6, n), 1)
    ill = rng.random(n) < 1 / (1 + np.exp(-(age - 50) / 12 - (sex == "m")))
    flu = rng.choice(["cold", "flu", "flu"], n)
    return pd.DataFrame(
        {"age": age, "sex": sex, "weight": weight, "d": np.where(ill, "hypertension", flu)}
    )


def published(table, *, require=K, publish=None, **schema):
    schema = {"quasi_identifiers": ["age", "sex"], "sensitive": "d", **schema}
    policy = fk.Policy.of({"schema": schema, "require": require, "publish": publish or {}})
    microdata = policy.microdata(table)
    return fk.publish(microdata, policy, seed=1), microdata


def modelled(made, microdata, models=True, **more):
    return fk.utility_report(made, microdata, queries=5, models=models, **more).models


def kinds(found):
    return {fit.kind: fit for fit in found.fits}


def table_of(found, *columns):
    return next(own for own in found.tables if {*own.columns} == {*columns})


def logistic(x, y, penalty=1.0):
    """By Newton's method; the penalty is scikit-learn's."""
    x = np.column_stack([np.ones(len(x)), x])
    beta, ridge = np.zeros(x.shape[1]), penalty * np.diag([0, *[1] * (x.shape[1] - 1)])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-x @ beta))
        slope = x.T @ (y - chance) - ridge @ beta
        beta += np.linalg.solve(x.T @ (x * (chance * (1 - chance))[:, None]) + ridge, slope)
    return beta


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    table = people()
    made, microdata = published(table, other=["weight"])
    folder = tmp_path_factory.mktemp("models") / "release"
    made.write(folder)
    return table, made, microdata, folder


# ---- cross tables, by hand -----------------------------------------------------------------------


def cell(value, edges, known):
    if value is None:
        return "missing"
    if edges is not None:
        return None if isinstance(value, str) else sum(value >= edge for edge in edges)
    return text_of(value) if text_of(value) in known else None  # such as "*", or "other"


def cells(columns, names, edges, raw):
    known = {name: set(map(text_of, raw[name])) for name in names}
    found = {}
    for row in zip(*(columns[name] for name in names), strict=True):
        pairs = zip(row, names, strict=True)
        key = tuple(cell(value, edges.get(name), known[name]) for value, name in pairs)
        found[key] = found.get(key, 0) + 1
    return found


def same(found, wanted):
    return found is None if wanted is None else found == pytest.approx(wanted, abs=1e-9)


# ---- columns of every kind -----------------------------------------------------------------------


def test_missing_values_and_constant_column():
    table = people()
    table["age"] = table["age"].astype("Int64")
    table.loc[::7, "age"] = pd.NA
    table["sex"] = "f"
    found = modelled(*published(table))
    assert (found.left_out, found.by) == ({"sex": "everybody has the same"}, ("age",))
    (own,) = found.tables
    assert own.values[-1] == "missing"
    assert sum(row[-1] for row in own.raw) == table["age"].isna().sum()
    assert all(fit.score.drawn is not None for fit in found.fits)


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_each_value_is_a_target(semantics):
    """Who has a value twice has it."""
    table = people(120)
    table["pid"] = range(len(table))
    table = pd.concat([table, table.assign(d="flu")[:60]])
    if semantics == "set":
        table = table.drop_duplicates(["pid", "d"])
    made, microdata = published(table, person="pid", semantics=semantics)
    found = modelled(made, microdata, ["d=flu"])
    assert {fit.value for fit in found.fits} == {"flu"}
    has = table[table.d == "flu"]["pid"].nunique() / 120
    sizes = table.drop_duplicates("pid")["sex"].value_counts()
    rows = {each.group: each.raw for each in found.groups if each.of == "share of d = flu"}
    mean = sum(rows[f"sex = {sex}"] * many for sex, many in sizes.items()) / 120
    assert mean == pytest.approx(has)
    assert np.sum(table_of(found, "d", "sex").raw) == len(table)  # occurrences
    with pytest.raises(fk.InputError, match="several values of 'd'; let it be a target"):
        modelled(made, microdata, ["age"], by=["d"])


def test_rare_values_become_others():
    table = people()
    table["sex"] = [f"code {i % 80:02}" for i in range(len(table))]
    table["d"] = [f"d{min(i % 40, 12)}" for i in range(len(table))]
    made, microdata = published(table, hierarchies={"sex": {"mask": 7}})
    found = modelled(made, microdata, ["d=d8", "d=d9"])
    assert (found.targets, found.left_out) == (("d",), {"sex": "it has 80 values"})
    fits = [(fit.kind, fit.value) for fit in found.fits]
    assert fits[::2] == [("logistic", "d8"), ("logistic", "d9")]
    own = table_of(modelled(made, microdata, ["d=d9"]), "d", "age")
    assert (own.rows[0], own.rows[-2:], len(own.rows)) == ("d12", ("d9", "others"), 10)
    assert np.sum(own.raw) == len(table)
    assert modelled(made, microdata, ["d"], by=["sex"]).by == ("sex",)


def test_number_spellings_are_equal(tmp_path):
    table = people()
    table["d"] = np.where(table["d"] == "flu", "3.00", np.where(table["age"] < 40, "1.50", "2.00"))
    table["code"] = np.where(table["age"] < 50, "01", "1")
    table.to_csv(tmp_path / "table.csv", index=False)
    found = modelled(*published(tmp_path / "table.csv", other=["code"]), ["d=3"])
    assert kinds(found)["logistic"].value == "3.00"
    own = table_of(found, "d", "code")
    assert {*own.values} == {"01", "1"}
    assert own.misplaced.drawn == 0
    assert np.sum(own.drawn) == len(table)


# ---- what is shown, and refused ------------------------------------------------------------------


def test_models_need_scikit_learn(hospital, monkeypatch):
    _, made, microdata, _ = hospital
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    report = fk.utility_report(made, microdata, queries=5, models=True)
    assert (report.models.fits, report.models.without) == ((), NEEDED)
    assert report.models.tables
    assert report.models.groups
    assert 'pip install ".[learn]"' in report.summary().replace("\n", " ")
    with pytest.raises(fk.InputError, match="nobody has the value 'cancer' of 'd'"):
        modelled(made, microdata, ["d=cancer"])
    found = fk.compare(people(), POLICY, models=True, **{**ASKED, "methods": ["mondrian"]})
    assert found.candidates[0].fit is None
    assert 0 < found.candidates[0].misplaced < 1
    assert "scikit-learn" in found.summary()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"models": ["diagnosis"]}, "targets: no column 'diagnosis'"),
        ({"models": ["d=cancer"]}, "nobody has the value 'cancer' of 'd'"),
        ({"models": ["age=40"]}, "'age' has numbers; leave out '40'"),
        ({"models": []}, r"targets must be a list of columns, such as \['diagnosis'\]"),
        ({"models": "d"}, "targets must be a list of columns"),
        ({"by": ["agee"]}, "by: no column .agee. is published; did you mean"),
        ({"by": "age"}, "by must be a list of columns"),
        ({"draws": 0}, "draws"),
    ],
)
def test_impossible_models_are_reported(hospital, given, said):
    _, made, microdata, _ = hospital
    with pytest.raises(fk.InputError, match=said):
        modelled(made, microdata, **given)


def test_table_without_certificate_is_refused(hospital):
    _, made, microdata, _ = hospital
    roles = {"quasi_identifiers": ["age", "sex"], "sensitive": "d"}
    with pytest.raises(fk.InputError, match="models need what foreknow publish wrote"):
        modelled(fk.Release.from_generalized(made.to_arrow(), **roles), microdata)


POLICY = fk.Policy.of(
    {
        "schema": {"quasi_identifiers": ["age", "sex"], "sensitive": "d"},
        "require": [{"facts": {}, "below": 0.9}],
    }
)
ASKED = {"methods": ["mondrian", "fulldomain"], "limits": [0.9], "queries": 20, "processes": 0}


def test_compare_shows_models():
    table = people()
    found = fk.compare(table, POLICY, models=["d=flu"], **ASKED)
    made = fk.publish(table, POLICY, method="mondrian", seed=0)
    own = modelled(made, POLICY.microdata(table), ["d=flu"], seed=0)
    first = found.candidates[0]
    assert (first.misplaced, first.fit) == (own.misplaced, own.fits[0])
    scores = [each.fit.score.usual for each in found.candidates]
    assert found.to_frame()["score"].tolist() == scores
    text = " ".join(found.summary().split())
    assert "cells model sure" in text
    assert "AUC on the raw people of a logistic model of d = flu" in text
    assert "cells" not in fk.compare(table, POLICY, **ASKED).summary()
    with pytest.raises(fk.InputError, match="targets: no column 'e' is published"):
        fk.compare(table, POLICY, models=["e"], **ASKED)


# ---- report --------------------------------------------------------------------------------------


ASKING = {"queries": 40}


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    short_report(monkeypatch)


def microdata():
    return fk.Microdata(people_report(), schema())


@pytest.fixture(scope="module")
def report():
    return fk.utility_report(made(), microdata(), predicates=[3, 1, 1], delta=0.05, **ASKING)


def printed(report):
    console = Console(width=80, file=io.StringIO())
    console.print(report)
    return console.file.getvalue()


def test_reports_escape_labels(report):
    said = printed(report)
    assert max(map(len, said.splitlines())) <= 80
    for text in (said, report._repr_html_()):
        flat = " ".join(text.split())
        assert "What the generalized release is still worth" in flat
        assert "times the least for groups of" in flat
        assert "or to 5.0% of the people where that is more (40 queries each):" in flat
        assert "3 quasi-identifiers" in flat
        assert f"{100 * report.errors[1].median:,.1f}%" in flat
    assert repr(report).startswith("UtilityReport(generalized, ")
    assert f"queries about 3 off by {report.errors[1].median:.2%}" in repr(report)
    table = pa.table({"[red]<b>": [1, 2, 3, 4], "s": ["x", "y", "x", "y"]})
    roles = fk.Schema(quasi_identifiers=["[red]<b>"], sensitive="s")
    found = fk.utility_report(made(table=table, roles=roles), fk.Microdata(table, roles), **ASKING)
    assert "[red]<b>" in printed(found)
    assert "[red]&lt;b&gt;" in found._repr_html_()


@pytest.mark.parametrize(
    ("asking", "said"),
    [
        ({"predicates": 4}, "only 3 attributes"),
        ({"predicates": []}, "predicates must be whole numbers such as"),
        ({"predicates": "12"}, "predicates must be whole numbers such as"),
        ({"predicates": 1.5}, "predicates must be whole numbers such as"),
        ({"predicates": [1, True]}, r"such as .*, not \[1, True\]"),
        ({"predicates": [0, 1]}, "predicates must be a whole number from 1, not 0"),
        ({"delta": 0}, "delta is a share"),
    ],
)
def test_mistakes_are_named(asking, said):
    with pytest.raises(fk.InputError, match=said):
        fk.utility_report(made(), microdata(), **asking)


def test_folders_need_an_intact_certificate(tmp_path):
    (tmp_path / "table.csv").write_text("age\n1\n")
    made().write(tmp_path / "out")
    path = tmp_path / "out" / "release.csv"
    path.write_text(path.read_text() + "1,2,3,4,5,6\n")
    for place, said in (
        (tmp_path, r"has no certificate\.json, .* Release\.from_generalized\(path"),
        (tmp_path / "table.csv", r"table\.csv has no column 'zip'"),
        (tmp_path / "nowhere", "there is no file or folder"),
        (path, r"release\.csv is not the file of"),
    ):
        for ask in (fk.query_error, fk.utility_report):
            with pytest.raises(fk.InputError, match=said):
                ask(place, microdata())


# ---- the command ---------------------------------------------------------------------------------

UTILITY = ["utility", "out", "table.csv", "--policy", "policy.toml"]


@pytest.fixture
def released(desk):
    desk.says(*desk.publish("--seed", "1", "--quiet"))
    return desk


def measured(desk):
    policy = fk.Policy.load(desk.folder / "policy.toml")
    raw = fk.Microdata(desk.folder / "table.csv", policy.schema)
    return fk.utility_report(desk.folder / "out", raw, delta=0.2)


def shown(share):
    return f"{100 * share:.1f}%" if 0 < share != 1 else f"{share:.0%}"


def test_command_matches_python(released):
    said, found = released.says(*UTILITY, "--delta", "0.2"), measured(released)
    assert "What the generalized release is still worth – release.csv" in said
    assert f"groups {found.utility.groups} of " in said
    assert f"sum of squared group sizes {found.utility.discernibility} " in said
    assert f"detail lost {shown(found.utility.average_ncp)}" in said
    assert f"age {shown(found.utility.ncp['age'])}" in said
    assert "or to 20.0% of the people where that is more (1,000 queries each)" in said
    one, two = found.errors
    assert f"one quasi-identifier {shown(one.median)} {shown(one.average)}" in said
    assert f"2 quasi-identifiers {shown(two.median)} {shown(two.average)}" in said
    assert one.average != two.average
    assert released.says(*UTILITY, "--delta", "0.2", "--json", "u.json", "--quiet") == ""
    assert released.json("u.json") == {"this_file_is": "for the owner only", **found.to_dict()}
    released.says("utility", "out/release.csv", *UTILITY[2:], "--delta", "0.2", "--json", "v.json")
    assert released.json("v.json") == released.json("u.json")
    released.put("other.toml", (released.folder / "policy.toml").read_text("utf-8"))
    assert released.says(*UTILITY, "--delta", "0.2", "--queries-of", "other.toml") == said
    about = released.says(*UTILITY, "--attributes", "age")
    assert "one quasi-identifier" in about
    assert "2 quasi-identifiers" not in about


def test_models_are_shown_on_request(released):
    assert "Explained:" not in released.says(*UTILITY)
    said = released.says(*UTILITY, "--models", "--draws", "2", "--json", "found.json")
    assert "Explained: disease, by age and sex" in said
    found = released.json("found.json")["models"]
    assert (found["targets"], found["draws"]) == (["disease"], 2)
    named = released.says(*UTILITY, "--target", "age", "--by", "sex")
    assert "Explained: age, by sex" in named


def test_command_refuses_in_one_line(released):
    lines = (released.folder / "table.csv").read_text()
    released.put("small.csv", "\n".join(lines.splitlines()[:5]))
    rules = (released.folder / "policy.toml").read_text()
    released.put("other.toml", rules.replace('["age", "sex"]', '["age"]').replace(LABELS, ""))
    own, table = UTILITY[:3], ["--policy", "policy.toml"]
    for arguments, said in (
        ([*UTILITY, "--group", "g"], "leave out --group"),
        ([*own[:2], "nowhere.csv", *table], "nowhere.csv"),
        ([*own[:2], "out", *table], "is published already; give the raw table"),
        ([*own[:2], "small.csv", *table], "is not the table that release.csv was made of"),
        (
            [*own, "--policy", "other.toml"],
            "the certificate is for age, sex and disease, the policy for age",
        ),
        (
            [*UTILITY, "--target", "disase"],
            "no column 'disase' is published; did you mean 'disease'",
        ),
        ([*UTILITY, "--by", "age"], "add --models"),
    ):
        assert said in released.refused(*arguments)
    path = released.folder / "out" / "release.csv"
    path.write_text(path.read_text() + "20,f,flu\n")
    assert "is not the file of 'out' that was certified" in released.refused(*UTILITY)
