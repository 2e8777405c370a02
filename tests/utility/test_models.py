"""Models on a release, against scikit-learn, pandas, NumPy, and counting by hand."""

import math
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY

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


def three(own):
    return [own.raw, own.middles, own.drawn]


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


def terms_of(table, raw, age="age"):
    columns = [(table[age] - raw["age"].mean()) / raw["age"].std(ddof=0), table["sex"] == "f"]
    columns.append((table["weight"] - raw["weight"].mean()) / raw["weight"].std(ddof=0))
    return np.column_stack(columns).astype(float)


def ways_of(raw, folder, seeds):
    """The tables of each way to read a release, and what their column of ages is called."""
    draws = [(fk.draw(folder, seed=seed), "age") for seed in seeds]
    return [[(raw, "age")], [(fk.read_release(folder), "age_middle")], draws]


def test_logistic_regressions_are_those_of_what_read_and_draw_give(hospital):
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
    assert [own.of for own in fit.coefficients] == wanted
    for at, own in enumerate(fit.coefficients):
        assert three(own) == pytest.approx([beta[at] for beta in coefficients], abs=2e-3)


def test_linear_regressions_are_those_of_numpy(hospital):
    from sklearn.metrics import r2_score

    raw, made, microdata, folder = hospital
    fit = kinds(modelled(made, microdata, ["weight"], draws=2))["linear"]

    def terms(table, age="age"):
        return np.column_stack([np.ones(len(table)), terms_of(table, raw, age)[:, :2]])

    def solved(table, age):
        return np.linalg.lstsq(terms(table, age), table["weight"].to_numpy(), rcond=None)[0]

    ways = [[solved(*own) for own in tables] for tables in ways_of(raw, folder, (0, 1))]
    x, spread = terms(raw), raw["weight"].std(ddof=0)
    scores = [np.mean([r2_score(raw["weight"], x @ beta) for beta in own]) for own in ways]
    assert (fit.measure, fit.baseline) == ("R²", 0)
    assert three(fit.score) == pytest.approx(scores)
    for at, own in enumerate(fit.coefficients, 1):
        assert three(own) == pytest.approx([np.mean([b[at] for b in beta]) for beta in ways])
    first = x @ ways[0][0]
    far = [np.mean([np.abs(x @ beta - first).mean() / spread for beta in own]) for own in ways]
    assert three(fit.apart) == pytest.approx(far, abs=1e-12)


def test_a_tree_guesses_all_values_of_the_raw_people(hospital):
    from sklearn.metrics import accuracy_score
    from sklearn.tree import DecisionTreeClassifier

    raw, made, microdata, folder = hospital
    fit = kinds(modelled(made, microdata, draws=1, seed=3))["tree"]
    codes, scores = {"hypertension": 0, "flu": 1, "cold": 2}, []
    for ((table, age),) in ways_of(raw, folder, [3]):
        tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=20, random_state=3)
        tree.fit(terms_of(table, raw, age), table["d"].map(codes))
        said = tree.predict(terms_of(raw, raw))
        scores.append(accuracy_score(raw["d"].map(codes), said))
    assert fit.value is None
    # Trees may break ties otherwise; the raw one is the same.
    assert fit.score.raw == pytest.approx(scores[0])
    assert three(fit.score) == pytest.approx(scores, abs=0.03)
    assert fit.baseline == pytest.approx(raw["d"].value_counts(normalize=True).max())


def test_means_and_shares_of_groups_are_those_of_pandas(hospital):
    raw, made, microdata, folder = hospital
    found = modelled(made, microdata, draws=2)
    draws = [fk.draw(folder, seed=seed) for seed in (0, 1)]
    read = fk.read_release(folder)
    edges = np.unique(np.quantile(raw["age"], [0.2, 0.4, 0.6, 0.8], method="inverted_cdf"))
    own = table_of(found, "d", "age")
    assert (own.columns, own.rows) == (("d", "age"), ("hypertension", "flu", "cold"))
    assert (own.values[0], own.values[-1]) == (f"under {edges[0]}", f"{edges[-1]} or more")
    assert own.misplaced.raw == 0
    both = table_of(found, "age", "weight")
    assert both.measure == "r"
    correlation = read["age_middle"].corr(read["weight"])
    assert both.association.middles == pytest.approx(correlation)
    mean = next(each for each in found.groups if each.group == "d = flu")
    wanted = [
        raw[raw.d == "flu"]["age"].mean(),
        read[read.d == "flu"]["age_middle"].mean(),
        np.mean([each[each.d == "flu"]["age"].mean() for each in draws]),
    ]
    assert mean.of == "mean of age"
    assert three(mean) == pytest.approx(wanted)
    share = next(each for each in found.groups if each.group == "sex = f")
    assert share.raw == pytest.approx((raw[raw.sex == "f"]["d"] == "hypertension").mean())


# ---- cross tables, by hand -----------------------------------------------------------------------


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


def same(found, wanted):
    return found is None if wanted is None else found == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", range(500 if NIGHTLY else 8))
def test_cross_tables_are_those_that_are_counted_by_hand(seed, tmp_path):
    columns = random_table(np.random.default_rng(seed))
    raw = pa.table({**columns, "n": pa.array(columns["n"], pa.int64())})
    schema = {"quasi_identifiers": ["n", "t"], "other": ["x"], "sensitive": "d"}
    policy = fk.Policy.of({"schema": schema, "require": [{"k_anonymity": 3}]})
    microdata = policy.microdata(raw)
    try:
        made = fk.publish(microdata, policy, seed=seed)
    except (fk.NoSafeRelease, fk.InputError):
        return
    made.write(tmp_path / "release")
    found = modelled(made, microdata, draws=2, seed=seed, by=["n", "t", "x"])
    draws = [
        fk.draw(tmp_path / "release", seed=seed + i, library="arrow").to_pydict() for i in (0, 1)
    ]
    numeric = {name for name in ("n", "x") if len({*columns[name]} - {None}) > 2}
    edges = {name: bands(columns[name]) for name in numeric}
    assert len(found.tables) == 6
    n = raw.num_rows
    for own in found.tables:
        a, b = own.columns
        counted = cells(columns, own.columns, edges, columns)
        several = [cells(each, own.columns, edges, columns) for each in draws]
        off = sum(
            abs(counted.get(key, 0) - Fraction(sum(e.get(key, 0) for e in several), 2))
            for key in {*counted, *several[0], *several[1]}
        )
        assert own.misplaced.drawn == pytest.approx(float(off / (2 * n)))
        assert sum(map(sum, own.raw)) == n
        assert sorted(many for row in own.raw for many in row if many) == sorted(counted.values())
        if own.measure == "r":
            assert {a, b} <= numeric
            figures = [correlation(each[a], each[b]) for each in (columns, *draws)]
        else:
            figures = [cramer(each) for each in (counted, *several)]
        assert same(own.association.raw, figures[0])
        known = None if None in figures[1:] else sum(figures[1:]) / 2
        assert same(own.association.drawn, known)


# ---- columns of every kind -----------------------------------------------------------------------


def test_a_column_that_is_suppressed_has_no_coefficient():
    require = [{"k_anonymity": 60, "knowing": []}]
    made, microdata = published(people(), publish={"method": "fulldomain"}, require=require)
    report = fk.utility_report(made, microdata, queries=5, models=True)
    age, sex = kinds(report.models)["logistic"].coefficients
    assert made.to_pandas()["age"].unique().tolist() == ["*"]
    assert age.raw > 1
    assert (age.middles, age.drawn) == (None, None)
    assert sex.drawn is not None
    own = table_of(report.models, "d", "age")
    assert (own.association.drawn, own.misplaced.drawn) == (None, 1)
    assert "–" in report.summary()


def test_the_folder_gives_what_the_publication_gives(hospital):
    _, made, microdata, folder = hospital
    own, other = (modelled(each, microdata, draws=2).to_dict() for each in (made, folder))
    assert own == other != modelled(made, microdata, draws=2, seed=5).to_dict()


def test_a_release_with_exact_columns_changes_nothing():
    table = people()
    table["age"] = table["age"] // 30 * 30
    found = modelled(*published(table, publish={"labels": {"age": "exact"}}), ["d", "age"])
    for fit in found.fits:
        assert three(fit.score) == pytest.approx([fit.score.raw] * 3)
        assert three(fit.apart) == pytest.approx([0, 0, 0])
    assert found.misplaced == 0
    assert {own.misplaced.drawn for own in found.tables} == {0.0}


def test_exact_columns_and_shuffled_values():
    facts = [{"facts": {}, "below": 0.95}]
    made, microdata = published(people(), require=facts, publish={"form": "bucketized"})
    found = modelled(made, microdata, ["d = cold"])
    fit = kinds(found)["logistic"]
    assert (fit.target, fit.value) == ("d", "cold")
    assert fit.coefficients[0].middles == pytest.approx(fit.coefficients[0].drawn)
    assert table_of(found, "age", "sex").misplaced.drawn == 0
    table, both = people(), ["d", "weight"]
    table["weight"] = table["weight"].round(-1)
    require = [{"sensitive": name, "knowing": [], "facts": {}, "below": 0.95} for name in both]
    for unlinked in ([], ["weight"]):
        options = {"unlinked": unlinked}
        made, microdata = published(table, sensitive=both, require=require, publish=options)
        found = modelled(made, microdata)
        assert found.targets == ("d", "weight")
        assert {fit.target for fit in found.fits} == {"d", "weight"}
        assert (table_of(found, *both).misplaced.drawn > 0) is bool(unlinked)


def test_missing_values_and_a_constant_column():
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
def test_several_values_of_a_person_are_a_target_by_each_value(semantics):
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


def test_perfect_separation_and_groups_of_one_value():
    table = people(200)
    table["d"] = np.where(table["age"] < 50, "young", "old")
    fit = kinds(modelled(*published(table)))["logistic"]
    assert fit.score.raw > 0.999
    assert all(abs(own) < 50 for term in fit.coefficients for own in three(term))
    table["d"] = "flu"
    found = modelled(*published(table))
    assert found.fits == ()  # nothing to explain
    assert table_of(found, "d", "age").association.raw is None


def test_numbers_of_few_values_are_codes_where_they_are_sensitive():
    table, few = people(), np.random.default_rng(0).integers(1, 4, 240)
    for numbers, kind in ((few, "logistic"), (np.arange(240), "linear")):
        table["d"] = numbers
        assert kinds(modelled(*published(table, types={"d": "number"}))).keys() == {kind, "tree"}


def test_many_values_are_in_no_model_and_rare_ones_are_others():
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


def test_dates_are_days_and_booleans_are_values():
    table = people()
    table["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(table["age"], "D")
    table["flag"] = table["weight"] > table["weight"].median()
    made, microdata = published(table, quasi_identifiers=["day", "sex"], other=["flag"])
    found = modelled(made, microdata, ["flag=True"], draws=2)
    assert table_of(found, "flag", "day").values[-1].startswith("2024-0")
    term = kinds(found)["logistic"].coefficients[0]
    spread = table["age"].std(ddof=0)
    assert term.of == f"day, per {spread:.3g} days"
    x = np.column_stack([(table["age"] - table["age"].mean()) / spread, table["sex"] == "f"])
    assert term.raw == pytest.approx(logistic(x, table["flag"].to_numpy(float))[1], abs=2e-3)


def test_numbers_that_are_written_in_other_ways_are_the_same_codes(tmp_path):
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


def test_escaped_formulas_are_the_values_that_they_were(tmp_path):
    table = people()
    table["d"] = table["d"].replace("flu", "=1+1")
    made, microdata = published(table, publish={"escape_formulas": True})
    made.write(tmp_path / "release")
    own = table_of(modelled(tmp_path / "release", microdata), "d", "sex")
    assert own.misplaced.drawn == 0
    assert "=1+1" in own.rows


def test_what_a_label_does_not_tell_is_the_mean_of_the_others_in_models(tmp_path):
    table = people()
    table["t"] = [*"abcd"] * 59 + ["r", "s"] * 2
    made, microdata = published(table, quasi_identifiers=["t"], other=["weight"])
    assert "other" in " ".join(made.to_pandas()["t"].astype(str))
    made.write(tmp_path / "release")
    drawn = fk.draw(tmp_path / "release", seed=0)
    fit = kinds(modelled(made, microdata, ["weight"], by=["t"], draws=1))["linear"]
    assert [own.of for own in fit.coefficients] == [f"t = {value}" for value in "bcdrs"]
    told = drawn["t"].isin([*"abcdrs"]).to_numpy()
    columns = [np.where(told, drawn["t"] == value, np.nan) for value in "bcd"]
    x = np.column_stack([np.ones(240), *columns]).astype(float)
    x = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    wanted = np.linalg.lstsq(x, drawn["weight"].to_numpy(), rcond=None)[0][1:]
    assert [own.drawn for own in fit.coefficients[:3]] == pytest.approx(wanted)
    assert [own.drawn for own in fit.coefficients[3:]] == [None, None]
    assert all(own.raw is not None for own in fit.coefficients)


# ---- what is shown, and refused ------------------------------------------------------------------


def test_without_scikit_learn_there_is_everything_else(hospital, monkeypatch):
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
def test_what_cannot_be_modelled_is_said(hospital, given, said):
    _, made, microdata, _ = hospital
    with pytest.raises(fk.InputError, match=said):
        modelled(made, microdata, **given)


def test_a_table_without_certificate_is_refused(hospital):
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


def test_compare_shows_models_of_each_release():
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


def test_pages_and_json_of_models(hospital, tmp_path):
    _, made, microdata, _ = hospital
    found = fk.utility_report(made, microdata, queries=5, models=["d", "weight"])
    page, plain = tmp_path / "page.html", found.to_dict()["models"]
    found.to_html(page)
    text = page.read_text("utf-8")
    for said in ("Does my model still work?", "For the owner only", "Cross tables, in people"):
        assert said in text
    assert [fit["kind"] for fit in plain["fits"]] == ["logistic", "tree", "linear", "tree"]
    assert plain["tables"][0]["columns"] == ["d", "weight"]
    assert "models" not in fk.utility_report(made, microdata, queries=5).to_dict()
