"""Models on a release against other libraries, and reports of utility."""

import io
import math
import random
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console
from tests.cli.conftest import LABELS
from tests.cli.conftest import desk as desk
from tests.common import NIGHTLY
from tests.people import made, schema
from tests.people import people as people_report

import foreknow as fk
from foreknow.data.labels.labels import text_of
from foreknow.features.utility.models import NEEDED

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
    return next(table for table in found.tables if {*table.columns} == {*columns})


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


# ---- models, by other libraries ------------------------------------------------------------------


def three(own):
    return [own.raw, own.middles, own.drawn]


def terms_of(table, raw, age="age"):
    columns = [(table[age] - raw["age"].mean()) / raw["age"].std(ddof=0), table["sex"] == "f"]
    columns.append((table["weight"] - raw["weight"].mean()) / raw["weight"].std(ddof=0))
    return np.column_stack(columns).astype(float)


def ways_of(raw, folder, seeds):
    """The tables of each way to read a release, and what their column of ages is called."""
    draws = [(fk.draw(folder, seed=seed), "age") for seed in seeds]
    return [[(raw, "age")], [(fk.read_release(folder), "age_middle")], draws]


def test_logistic_regressions_match_newton(hospital):
    from sklearn.metrics import roc_auc_score

    raw, made, microdata, folder = hospital
    fit = kinds(modelled(made, microdata, ["d=hypertension"], draws=3, seed=7))["logistic"]
    x, truth = terms_of(raw, raw), (raw["d"] == "hypertension").to_numpy()
    scores, coefficients = [], []
    for tables in ways_of(raw, folder, (7, 8, 9)):
        betas = [
            logistic(terms_of(table, raw, age), (table["d"] == "hypertension").to_numpy(float))
            for table, age in tables
        ]
        coefficients.append(np.mean(betas, axis=0)[1:])
        scores.append(np.mean([roc_auc_score(truth, x @ beta[1:]) for beta in betas]))
    assert three(fit.score) == pytest.approx(scores, abs=1e-4)
    assert fit.score.usual == fit.score.middles != fit.score.drawn  # as a researcher reports it
    spreads = [f"{raw[name].std(ddof=0):.3g}" for name in ("age", "weight")]
    wanted = [f"age, per {spreads[0]}", "sex = f", f"weight, per {spreads[1]}"]
    assert [coefficient.of for coefficient in fit.coefficients] == wanted
    for position, own in enumerate(fit.coefficients):
        assert three(own) == pytest.approx([beta[position] for beta in coefficients], abs=2e-3)


def test_linear_regressions_match_numpy(hospital):
    from sklearn.metrics import r2_score

    raw, made, microdata, folder = hospital
    fit = kinds(modelled(made, microdata, ["weight"], draws=2))["linear"]

    def terms(table, age="age"):
        return np.column_stack([np.ones(len(table)), terms_of(table, raw, age)[:, :2]])

    def solved(table, age):
        return np.linalg.lstsq(terms(table, age), table["weight"].to_numpy(), rcond=None)[0]

    ways = [[solved(*table) for table in tables] for tables in ways_of(raw, folder, (0, 1))]
    x, spread = terms(raw), raw["weight"].std(ddof=0)
    scores = [np.mean([r2_score(raw["weight"], x @ beta) for beta in way]) for way in ways]
    assert (fit.measure, fit.baseline) == ("R²", 0)
    assert three(fit.score) == pytest.approx(scores)
    for position, coefficient in enumerate(fit.coefficients, 1):
        assert three(coefficient) == pytest.approx(
            [np.mean([b[position] for b in beta]) for beta in ways]
        )
    first = x @ ways[0][0]
    far = [np.mean([np.abs(x @ beta - first).mean() / spread for beta in way]) for way in ways]
    assert three(fit.apart) == pytest.approx(far, abs=1e-12)


def test_means_of_groups_match_pandas(hospital):
    raw, made, microdata, folder = hospital
    result = modelled(made, microdata, draws=2)
    draws = [fk.draw(folder, seed=seed) for seed in (0, 1)]
    release = fk.read_release(folder)
    edges = np.unique(np.quantile(raw["age"], [0.2, 0.4, 0.6, 0.8], method="inverted_cdf"))
    own = table_of(result, "d", "age")
    assert (own.columns, own.rows) == (("d", "age"), ("hypertension", "flu", "cold"))
    assert (own.values[0], own.values[-1]) == (f"under {edges[0]}", f"{edges[-1]} or more")
    assert own.misplaced.raw == 0
    both = table_of(result, "age", "weight")
    assert both.measure == "r"
    correlation = release["age_middle"].corr(release["weight"])
    assert both.association.middles == pytest.approx(correlation)
    mean = next(group for group in result.groups if group.group == "d = flu")
    wanted = [
        raw[raw.d == "flu"]["age"].mean(),
        release[release.d == "flu"]["age_middle"].mean(),
        np.mean([draw[draw.d == "flu"]["age"].mean() for draw in draws]),
    ]
    assert mean.of == "mean of age"
    assert three(mean) == pytest.approx(wanted)
    share = next(group for group in result.groups if group.group == "sex = f")
    assert share.raw == pytest.approx((raw[raw.sex == "f"]["d"] == "hypertension").mean())


# ---- cross tables, by hand -----------------------------------------------------------------------


def cell(value, edges, known):
    if value is None:
        return "missing"
    if edges is not None:
        return None if isinstance(value, str) else sum(value >= edge for edge in edges)
    return text_of(value) if text_of(value) in known else None  # such as "*", or "other"


def cells(columns, names, edges, raw):
    known = {name: set(map(text_of, raw[name])) for name in names}
    results = {}
    for row in zip(*(columns[name] for name in names), strict=True):
        pairs = zip(row, names, strict=True)
        key = tuple(cell(value, edges.get(name), known[name]) for value, name in pairs)
        results[key] = results.get(key, 0) + 1
    return results


def same(found, expected):
    return found is None if expected is None else found == pytest.approx(expected, abs=1e-9)


def random_table(rng):
    n = int(rng.integers(8, 40))

    def gaps(values):
        share = rng.choice([0, 0.2])
        return [None if rng.random() < share else value for value in values]

    return {
        "n": gaps(rng.integers(0, int(rng.integers(4, 30)), n).tolist()),
        "t": gaps(rng.choice(list("abc"), n).tolist()),
        "x": rng.normal(0, 1, n).round(1).tolist(),
        "d": rng.choice(["v", "w", "w"], n).tolist(),
    }


def bands(numbers):
    """Fifths of the people, by counting."""
    known = sorted(number for number in numbers if number is not None)
    edges = []
    for fifth in range(1, 5):
        number = known[max(0, math.ceil(fifth * len(known) / 5) - 1)]
        if number > known[0] and number not in edges:
            edges.append(number)
    return edges or [min(number for number in known if number > known[0])]


def cramer(counted):
    counted = {key: many for key, many in counted.items() if None not in key}
    rows, values = ({key[i] for key in counted} for i in range(2))
    if min(len(rows), len(values)) < 2:
        return None
    total = sum(counted.values())
    squared = Fraction(0)
    for row in rows:
        for value in values:
            of_row = sum(many for key, many in counted.items() if key[0] == row)
            of_value = sum(many for key, many in counted.items() if key[1] == value)
            expected = Fraction(of_row * of_value) / Fraction(total)
            squared += (Fraction(counted.get((row, value), 0)) - expected) ** 2 / expected
    return math.sqrt(squared / total / (min(len(rows), len(values)) - 1))


def correlation(a, b):
    pairs = zip(a, b, strict=True)
    pairs = [pair for pair in pairs if not any(x is None or isinstance(x, str) for x in pair)]
    if len(pairs) < 2 or min(len(set(own)) for own in zip(*pairs, strict=True)) < 2:
        return None
    return np.corrcoef(np.array(pairs).T)[0, 1]


@pytest.mark.parametrize("seed", range(500 if NIGHTLY else 8))
def test_cross_tables_match_counting(seed, tmp_path):
    columns = random_table(np.random.default_rng(seed))
    raw = pa.table({**columns, "n": pa.array(columns["n"], pa.int64())})
    schema = {"quasi_identifiers": ["n", "t"], "other": ["x"], "sensitive": "d"}
    policy = fk.Policy.of({"schema": schema, "require": [{"k_anonymity": 3}]})
    microdata = policy.microdata(raw)
    try:
        publication = fk.publish(microdata, policy, seed=seed)
    except (fk.NoSafeRelease, fk.InputError):
        return
    publication.write(tmp_path / "release")
    result = modelled(publication, microdata, draws=2, seed=seed, by=["n", "t", "x"])
    draws = [
        fk.draw(tmp_path / "release", seed=seed + i, library="arrow").to_pydict() for i in (0, 1)
    ]
    numeric = {name for name in ("n", "x") if len({*columns[name]} - {None}) > 2}
    edges = {name: bands(columns[name]) for name in numeric}
    assert len(result.tables) == 6
    n = raw.num_rows
    for table in result.tables:
        a, b = table.columns
        counted = cells(columns, table.columns, edges, columns)
        several = [cells(draw, table.columns, edges, columns) for draw in draws]
        off = sum(
            abs(counted.get(key, 0) - Fraction(sum(e.get(key, 0) for e in several), 2))
            for key in {*counted, *several[0], *several[1]}
        )
        assert table.misplaced.drawn == pytest.approx(float(off / (2 * n)))
        assert sum(map(sum, table.raw)) == n
        assert sorted(many for row in table.raw for many in row if many) == sorted(counted.values())
        if table.measure == "r":
            assert {a, b} <= numeric
            figures = [correlation(each[a], each[b]) for each in (columns, *draws)]
        else:
            figures = [cramer(each) for each in (counted, *several)]
        assert same(table.association.raw, figures[0])
        known = None if None in figures[1:] else sum(figures[1:]) / 2
        assert same(table.association.drawn, known)


# ---- columns of every kind -----------------------------------------------------------------------


def test_missing_values_and_constant_column():
    table = people()
    table["age"] = table["age"].astype("Int64")
    table.loc[::7, "age"] = pd.NA
    table["sex"] = "f"
    result = modelled(*published(table))
    assert (result.left_out, result.by) == ({"sex": "everybody has the same"}, ("age",))
    (own,) = result.tables
    assert own.values[-1] == "missing"
    assert sum(row[-1] for row in own.raw) == table["age"].isna().sum()
    assert all(fit.score.drawn is not None for fit in result.fits)


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_each_value_is_a_target(semantics):
    """Who has a value twice has it."""
    table = people(120)
    table["pid"] = range(len(table))
    table = pd.concat([table, table.assign(d="flu")[:60]])
    if semantics == "set":
        table = table.drop_duplicates(["pid", "d"])
    made, microdata = published(table, person="pid", semantics=semantics)
    result = modelled(made, microdata, ["d=flu"])
    assert {fit.value for fit in result.fits} == {"flu"}
    has = table[table.d == "flu"]["pid"].nunique() / 120
    sizes = table.drop_duplicates("pid")["sex"].value_counts()
    rows = {group.group: group.raw for group in result.groups if group.of == "share of d = flu"}
    mean = sum(rows[f"sex = {sex}"] * size for sex, size in sizes.items()) / 120
    assert mean == pytest.approx(has)
    assert np.sum(table_of(result, "d", "sex").raw) == len(table)  # occurrences
    with pytest.raises(fk.InputError, match="several values of 'd'; let it be a target"):
        modelled(made, microdata, ["age"], by=["d"])


def test_rare_values_become_others():
    table = people()
    table["sex"] = [f"code {i % 80:02}" for i in range(len(table))]
    table["d"] = [f"d{min(i % 40, 12)}" for i in range(len(table))]
    made, microdata = published(table, hierarchies={"sex": {"mask": 7}})
    result = modelled(made, microdata, ["d=d8", "d=d9"])
    assert (result.targets, result.left_out) == (("d",), {"sex": "it has 80 values"})
    fits = [(fit.kind, fit.value) for fit in result.fits]
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
    result = modelled(*published(tmp_path / "table.csv", other=["code"]), ["d=3"])
    assert kinds(result)["logistic"].value == "3.00"
    own = table_of(result, "d", "code")
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
    comparison = fk.compare(people(), POLICY, models=True, **{**ASKED, "methods": ["mondrian"]})
    assert comparison.candidates[0].fit is None
    assert 0 < comparison.candidates[0].misplaced < 1
    assert "scikit-learn" in comparison.summary()


@pytest.mark.parametrize(
    ("given", "message"),
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
def test_impossible_models_are_reported(hospital, given, message):
    _, made, microdata, _ = hospital
    with pytest.raises(fk.InputError, match=message):
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
    comparison = fk.compare(table, POLICY, models=["d=flu"], **ASKED)
    publication = fk.publish(table, POLICY, method="mondrian", seed=0)
    own = modelled(publication, POLICY.microdata(table), ["d=flu"], seed=0)
    first = comparison.candidates[0]
    assert (first.misplaced, first.fit) == (own.misplaced, own.fits[0])
    scores = [candidate.fit.score.usual for candidate in comparison.candidates]
    assert comparison.to_frame()["score"].tolist() == scores
    text = " ".join(comparison.summary().split())
    assert "cells model sure" in text
    assert "AUC on the raw people of a logistic model of d = flu" in text
    assert "cells" not in fk.compare(table, POLICY, **ASKED).summary()
    with pytest.raises(fk.InputError, match="targets: no column 'e' is published"):
        fk.compare(table, POLICY, models=["e"], **ASKED)


# ---- report --------------------------------------------------------------------------------------


ASKING = {"queries": 40}


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
    message = printed(report)
    assert max(map(len, message.splitlines())) <= 80
    for text in (message, report._repr_html_()):
        flat = " ".join(text.split())
        assert "What the generalized release is still worth" in flat
        assert "times the least for groups of" in flat
        assert "or to 5.0% of the people where that is more (40 queries each):" in flat
        assert "3 quasi-identifiers" in flat
        assert f"{100 * report.errors[1].median:,.1f}%" in flat
    assert repr(report).startswith("UtilityReport(generalized, ")
    assert f"counts by 3 columns off by {report.errors[1].median:.2%}" in repr(report)
    table = pa.table({"[red]<b>": [1, 2, 3, 4], "s": ["x", "y", "x", "y"]})
    roles = fk.Schema(quasi_identifiers=["[red]<b>"], sensitive="s")
    found = fk.utility_report(made(table=table, roles=roles), fk.Microdata(table, roles), **ASKING)
    assert "[red]<b>" in printed(found)
    assert "[red]&lt;b&gt;" in found._repr_html_()


@pytest.mark.parametrize(
    ("asking", "message"),
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
def test_mistakes_are_named(asking, message):
    with pytest.raises(fk.InputError, match=message):
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
    text, result = released.says(*UTILITY, "--delta", "0.2"), measured(released)
    assert "What the generalized release is still worth – release.csv" in text
    assert f"groups {result.utility.groups} of " in text
    assert f"sum of squared group sizes {result.utility.discernibility} " in text
    assert f"detail lost {shown(result.utility.average_ncp)}" in text
    assert f"age {shown(result.utility.ncp['age'])}" in text
    assert "or to 20.0% of the people where that is more (1,000 queries each)" in text
    one, two = result.errors
    assert f"one quasi-identifier {shown(one.median)} {shown(one.average)}" in text
    assert f"2 quasi-identifiers {shown(two.median)} {shown(two.average)}" in text
    assert one.average != two.average
    assert released.says(*UTILITY, "--delta", "0.2", "--json", "u.json", "--quiet") == ""
    assert released.json("u.json") == {"this_file_is": "for the owner only", **result.to_dict()}
    released.says("utility", "out/release.csv", *UTILITY[2:], "--delta", "0.2", "--json", "v.json")
    assert released.json("v.json") == released.json("u.json")
    released.put("other.toml", (released.folder / "policy.toml").read_text("utf-8"))
    assert released.says(*UTILITY, "--delta", "0.2", "--queries-of", "other.toml") == text
    message = released.says(*UTILITY, "--attributes", "age")
    assert "one quasi-identifier" in message
    assert "2 quasi-identifiers" not in message


def test_models_are_shown_on_request(released):
    assert "Explained:" not in released.says(*UTILITY)
    text = released.says(*UTILITY, "--models", "--draws", "2", "--json", "found.json")
    assert "Explained: disease, by age and sex" in text
    result = released.json("found.json")["models"]
    assert (result["targets"], result["draws"]) == (["disease"], 2)
    message = released.says(*UTILITY, "--target", "age", "--by", "sex")
    assert "Explained: age, by sex" in message


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


# ---- survey weights: beside the same table with each person as often as they weigh --------------

SCHEMA = {
    "quasi_identifiers": ["age", "town"],
    "sensitive": ["ill", "pay"],
    "other": ["w"],
    "weights": "w",
    "hierarchies": {"age": {"intervals": [10, 20]}},
}
UNWEIGHTED = {key: value for key, value in SCHEMA.items() if key not in ("weights", "other")}


def survey(seed, n=60):
    draw = random.Random(seed)
    towns = draw.choices("AAB", k=n)
    return pd.DataFrame({
        "age": [draw.randint(20, 59) for _ in range(n)],
        "town": towns,
        "ill": [draw.choice("xyz" if town == "A" else "yz") for town in towns],
        "pay": [draw.randint(1, 90) for _ in range(n)],
        "w": [draw.randint(2, 9) if town == "A" else draw.randint(10, 20) for town in towns],
    })  # fmt: skip


def publish(table, folder, form="generalized", schema=SCHEMA, **options):
    policy = {
        "schema": schema,
        "require": [{"group_size": 4}],
        "publish": {"form": form, "labels": {"age": "hierarchy"}, "round": {"w": 1}} | options,
    }
    if "w" not in schema.get("other", ()):
        del policy["publish"]["round"]
    fk.publish(table, policy, seed=1).write(folder)
    return folder, fk.Microdata(table, fk.Policy.from_dict(policy).schema)


def repeated(table):
    """Each row as often as it weighs, without weights."""
    return table.loc[table.index.repeat(table["w"])].drop(columns="w").reset_index(drop=True)


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_weighted_answers_match_repeated(tmp_path, form, seed):
    table = survey(seed)
    folder, microdata = publish(table, tmp_path / "release", form)
    found = fk.query_error(folder, microdata, queries=200, seed=seed, delta=0.2)
    assert (found.weights, found.population) == ("w", table["w"].sum())
    # The table: everybody as often as they weigh.
    people = fk.Microdata(repeated(table), fk.Schema(**UNWEIGHTED))
    as_release = {"quasi_identifiers": ["age", "town"], "sensitive": ["ill", "pay"]}
    rows = fk.read_release(folder)
    if form == "bucketized":  # the values of a group, as often as its people weigh
        people_rows = pd.read_csv(folder / "people.csv", dtype={"age": int})
        tally = pd.read_csv(folder / "sensitive.csv")
        weight_of_group = people_rows.groupby("group")["w"].first()
        tally["count"] *= tally["group"].map(weight_of_group)
        release = fk.Release.from_bucketized(
            tally, sensitive=["ill", "pay"], people=repeated(people_rows)
        )
        n_people = len(repeated(people_rows))
    else:
        release = fk.Release.from_generalized(
            repeated(rows)[["age", "town", "ill", "pay"]], **as_release
        )
        n_people = release.counts.n_people
    same = {"queries": 200, "seed": seed, "like": microdata, "labels": {"age": "hierarchy"}}
    itself = fk.Release.from_generalized(repeated(table), **as_release)
    expected = fk.query_error(itself, people, **same)
    assert found.exact == pytest.approx(expected.exact)
    floor = found.delta * table["w"].sum()
    assert found.relative == pytest.approx(
        np.abs(found.exact - found.estimated) / np.maximum(found.exact, floor)
    )
    # A release of more people than its table is refused: give it one that has some more.
    more = [repeated(table)[:1]] * max(0, n_people - people.n_people)
    larger = pd.concat([repeated(table), *more], ignore_index=True)
    expected = fk.query_error(release, fk.Microdata(larger, fk.Schema(**UNWEIGHTED)), **same)
    assert found.estimated == pytest.approx(expected.estimated)


@pytest.mark.parametrize("seed", [1, 2])
def test_true_answers_match_pandas(tmp_path, seed):
    """Of one query in a recount: the weights of the rows that it asks for."""
    table = survey(seed)
    folder, microdata = publish(table, tmp_path / "release")
    workload = fk.query_error(folder, microdata, queries=1, selectivity=1.0)
    assert workload.exact.tolist() == [table["w"].sum()]
    assert workload.overall.tolist() == pytest.approx([table["w"].sum()])
    rows = fk.read_release(folder)
    assert workload.estimated.tolist() == pytest.approx([rows["w"].sum()])
    mean = rows["w"].mul(rows["pay"]).sum() / rows["w"].sum()
    assert mean == pytest.approx(np.average(table["pay"], weights=table["w"]), rel=0.1)


def test_weighted_models_match_repeated(tmp_path):
    pytest.importorskip("sklearn")
    table = survey(5, n=90)
    asked = {"models": ["pay", "ill=y"], "by": ["town"], "draws": 1}
    folder, microdata = publish(table, tmp_path / "weighted")
    found = fk.utility_report(folder, microdata, **asked)
    assert found.weighted == ("query_errors", "models")
    assert found.to_dict()["survey_weights"] == {
        "column": "w",
        "weighted": ["query_errors", "models"],
    }
    assert "are weighted by w" in found.to_html()
    # Of the raw table, as of one in which everybody stands as often as they weigh.
    many, people = publish(repeated(table), tmp_path / "many", schema=UNWEIGHTED)
    expected = fk.utility_report(many, people, **asked).models
    figures, as_expected = raw_figures(found.models), raw_figures(expected)
    shared = [key for key in figures if key in as_expected and "pay" not in key[1]]
    assert len(shared) >= 4
    for key in shared:
        assert figures[key] == pytest.approx(as_expected[key])
    cells, cells_expected = cells_of(found.models), cells_of(expected)
    assert cells == pytest.approx(cells_expected)
    fits = {fit.kind: fit for fit in found.models.fits if fit.target == "pay"}
    linear = next(fit for fit in expected.fits if fit.kind == "linear")
    assert fits["linear"].score.raw == pytest.approx(linear.score.raw)
    # Of the release, as pandas has it from the table that it was drawn from.
    drawn = fk.draw(folder, seed=0)
    for town, rows in drawn.groupby("town"):
        mean = np.average(rows["pay"], weights=rows["w"])
        figure = next(
            g for g in found.models.groups if (g.of, g.group) == ("mean of pay", f"town = {town}")
        )
        assert figure.drawn == pytest.approx(mean)
        of_town = table[table["town"] == town]
        assert figure.raw == pytest.approx(np.average(of_town["pay"], weights=of_town["w"]))


def raw_figures(models):
    return {(figure.of, figure.group): figure.raw for figure in models.groups}


def cells_of(models):
    """The people of each cell of ill by town."""
    table = next(table for table in models.tables if set(table.columns) == {"ill", "town"})
    cells = {}
    for row, counts in zip(table.rows, table.raw, strict=True):
        for value, count in zip(table.values, counts, strict=True):
            cells[tuple(sorted([row, value]))] = count
    return cells


def test_correlations_are_weighted(tmp_path):
    table = survey(3, n=80)
    folder, microdata = publish(table, tmp_path / "release")
    models = fk.utility_report(folder, microdata, models=["pay"], by=["age"]).models
    (pair,) = [pair for pair in models.tables if pair.measure == "r"]
    raw = repeated(table)
    assert (models.by, models.left_out) == (("age",), {})
    everything = fk.utility_report(folder, microdata, models=True, draws=1).models
    assert (everything.by, everything.left_out) == (("age", "town"), {})
    assert pair.association.raw == pytest.approx(np.corrcoef(raw["pay"], raw["age"])[0, 1])


def test_sets_are_not_weighted(tmp_path):
    """Their release shows weights, but who has how many values is not in it."""
    table = survey(1).assign(id=range(60)).drop(columns="pay")
    schema = SCHEMA | {"sensitive": "ill", "semantics": "set", "person": "id"}
    folder, microdata = publish(table, tmp_path / "release", schema=schema)
    found = fk.utility_report(folder, microdata, queries=20)
    assert found.weighted == ()
    assert "and a person has one value" in found.to_html()
    assert fk.read_release(folder).attrs["weights"] == "w"


@pytest.mark.parametrize("seed", [1])
def test_figures_without_weights(tmp_path, seed):
    """Where the release shows no weights, nothing is weighted, and the page says so."""
    table = survey(seed)
    schema = SCHEMA | {"other": []}
    folder, microdata = publish(table, tmp_path / "release", schema=schema)
    found = fk.utility_report(folder, microdata, queries=50)
    assert found.weighted == ()
    assert found.to_dict()["survey_weights"] == {"column": "w", "weighted": []}
    assert "Nothing is weighted by w" in found.to_html()
    plain = fk.utility_report(folder, fk.Microdata(table, fk.Schema(**UNWEIGHTED)), queries=50)
    assert found.errors[0].exact.tolist() == plain.errors[0].exact.tolist()
    assert "survey_weights" not in plain.to_dict()
    assert "weights" not in plain.errors[0].to_dict()
