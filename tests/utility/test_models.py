"""Models on a release, against scikit-learn, pandas and NumPy on what `read` and `draw` give."""

import sys

import numpy as np
import pandas as pd
import pytest

import foreknow as fk
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
    found = fk.utility_report(made, microdata, queries=10, models=models, **more)
    return found.models


def kinds(found):
    return {fit.kind: fit for fit in found.fits}


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
    mean, spread = raw["age"].mean(), raw["age"].std(ddof=0)
    heavy, kilos = raw["weight"].mean(), raw["weight"].std(ddof=0)
    columns = [(table[age] - mean) / spread, table["sex"] == "f", (table["weight"] - heavy) / kilos]
    return np.column_stack(columns).astype(float)


def test_logistic_regressions_are_those_of_what_read_and_draw_give(hospital):
    from sklearn.metrics import roc_auc_score

    raw, made, microdata, folder = hospital
    fit = kinds(modelled(made, microdata, ["d=hypertension"], draws=3, seed=7))["logistic"]
    draws = [fk.draw(folder, seed=seed) for seed in (7, 8, 9)]
    read = fk.read_release(folder)
    ways = [[terms_of(raw, raw)], [terms_of(read, raw, "age_middle")]]
    ways.append([terms_of(each, raw) for each in draws])
    frames = [[raw], [read], draws]
    x, truth = ways[0][0], (raw["d"] == "hypertension").to_numpy()
    scores, coefficients = [], []
    for own, tables in zip(ways, frames, strict=True):
        betas = [
            logistic(terms, (table["d"] == "hypertension").to_numpy(float))
            for terms, table in zip(own, tables, strict=True)
        ]
        coefficients.append(np.mean(betas, axis=0)[1:])
        scores.append(np.mean([roc_auc_score(truth, x @ beta[1:]) for beta in betas]))
    assert three(fit.score) == pytest.approx(scores, abs=1e-4)
    assert [own.of for own in fit.coefficients] == [
        f"age, per {raw['age'].std(ddof=0):.3g}",
        "sex = f",
        f"weight, per {raw['weight'].std(ddof=0):.3g}",
    ]
    for at, own in enumerate(fit.coefficients):
        wanted = [beta[at] for beta in coefficients]
        assert three(own) == pytest.approx(wanted, abs=2e-3)


def test_linear_regressions_are_those_of_numpy(hospital):
    from sklearn.metrics import r2_score

    raw, made, microdata, folder = hospital
    fit = kinds(modelled(made, microdata, ["weight"], draws=2))["linear"]
    read, draws = fk.read_release(folder), [fk.draw(folder, seed=seed) for seed in (0, 1)]

    def solved(table, age="age"):
        x = np.column_stack([np.ones(len(table)), terms_of(table, raw, age)[:, :2]])
        return np.linalg.lstsq(x, table["weight"].to_numpy(), rcond=None)[0]

    ways = [[solved(raw)], [solved(read, "age_middle")], [solved(each) for each in draws]]
    x = np.column_stack([np.ones(len(raw)), terms_of(raw, raw)[:, :2]])
    scores = [np.mean([r2_score(raw["weight"], x @ beta) for beta in own]) for own in ways]
    assert (fit.measure, fit.baseline) == ("R²", 0)
    assert three(fit.score) == pytest.approx(scores)
    for at, own in enumerate(fit.coefficients, 1):
        assert three(own) == pytest.approx([np.mean([b[at] for b in own]) for own in ways])
    first = x @ ways[0][0]
    far = [
        np.mean([np.abs(x @ beta - first).mean() / raw["weight"].std(ddof=0) for beta in own])
        for own in ways
    ]
    assert three(fit.apart) == pytest.approx(far, abs=1e-12)


def test_a_tree_guesses_all_values_of_the_raw_people(hospital):
    from sklearn.metrics import accuracy_score
    from sklearn.tree import DecisionTreeClassifier

    raw, made, microdata, folder = hospital
    fit = kinds(modelled(made, microdata, draws=1, seed=3))["tree"]
    x, scores, said = terms_of(raw, raw), [], []
    frames = [
        (raw, "age"),
        (fk.read_release(folder), "age_middle"),
        (fk.draw(folder, seed=3), "age"),
    ]
    for table, age in frames:
        tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=20, random_state=3)
        tree.fit(
            terms_of(table, raw, age), table["d"].map({"hypertension": 0, "flu": 1, "cold": 2})
        )
        said.append(tree.predict(x))
        truth = raw["d"].map({"hypertension": 0, "flu": 1, "cold": 2})
        scores.append(accuracy_score(truth, said[-1]))
    assert fit.value is None
    # Trees may break ties otherwise; the raw one is the same.
    assert fit.score.raw == pytest.approx(scores[0])
    assert three(fit.score) == pytest.approx(scores, abs=0.03)
    assert fit.baseline == pytest.approx(raw["d"].value_counts(normalize=True).max())


def test_cross_tables_correlations_and_means_are_those_of_pandas(hospital):
    raw, made, microdata, folder = hospital
    found = modelled(made, microdata, draws=2)
    draws = [fk.draw(folder, seed=seed) for seed in (0, 1)]
    edges = np.unique(np.quantile(raw["age"], [0.2, 0.4, 0.6, 0.8], method="inverted_cdf"))

    def cells(table):
        bands = pd.Series(np.searchsorted(edges, table["age"], side="right"), table.index)
        made = pd.crosstab(table["d"], bands)
        return made.reindex(["hypertension", "flu", "cold"], fill_value=0).to_numpy(float)

    own = next(each for each in found.tables if each.columns == ("d", "age"))
    wanted = np.mean([cells(each) for each in draws], axis=0)
    assert own.rows == ("hypertension", "flu", "cold")
    assert (own.values[0], own.values[-1]) == (f"under {edges[0]}", f"{edges[-1]} or more")
    assert np.array(own.raw) == pytest.approx(cells(raw))
    assert np.array(own.drawn) == pytest.approx(wanted)
    off = np.abs(cells(raw) - wanted).sum() / 2 / len(raw)
    assert own.misplaced.drawn == pytest.approx(off)
    assert own.misplaced.raw == 0

    def cramer(table):
        n = cells(table)
        expected = n.sum(1, keepdims=True) * n.sum(0, keepdims=True) / n.sum()
        return np.sqrt(((n - expected) ** 2 / expected).sum() / n.sum() / 2)

    wanted = [cramer(raw), np.mean([cramer(each) for each in draws])]
    assert [own.association.raw, own.association.drawn] == pytest.approx(wanted)
    both = next(each for each in found.tables if each.columns == ("age", "weight"))
    read = fk.read_release(folder)
    wanted = [
        raw["age"].corr(raw["weight"]),
        read["age_middle"].corr(read["weight"]),
        np.mean([each["age"].corr(each["weight"]) for each in draws]),
    ]
    assert both.measure == "r"
    assert three(both.association) == pytest.approx(wanted)
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


def test_a_release_with_exact_columns_changes_nothing():
    table = people()
    table["age"] = table["age"] // 30 * 30
    made, microdata = published(table, publish={"labels": {"age": "exact"}})
    found = modelled(made, microdata, ["d", "age"])
    for fit in found.fits:
        assert three(fit.score) == pytest.approx([fit.score.raw] * 3)
        assert three(fit.apart) == pytest.approx([0, 0, 0])
    assert found.misplaced == 0
    assert {own.misplaced.drawn for own in found.tables} == {0.0}


def test_the_folder_gives_what_the_publication_gives(hospital):
    _, made, microdata, folder = hospital
    own, other = (modelled(each, microdata, draws=2) for each in (made, folder))
    assert own.to_dict() == other.to_dict()
    assert own.to_dict() == modelled(made, microdata, draws=2).to_dict()
    assert own.to_dict() != modelled(made, microdata, draws=2, seed=5).to_dict()


def test_a_column_that_is_suppressed_has_no_coefficient():
    made, microdata = published(
        people(), publish={"method": "fulldomain"}, require=[{"k_anonymity": 60, "knowing": []}]
    )
    found = modelled(made, microdata)
    fit = kinds(found)["logistic"]
    age = fit.coefficients[0]
    assert made.to_pandas()["age"].unique().tolist() == ["*"]
    assert age.raw > 1
    assert (age.middles, age.drawn) == (None, None)
    assert fit.coefficients[1].drawn is not None
    own = next(each for each in found.tables if each.columns == ("d", "age"))
    assert own.association.drawn is None
    assert own.misplaced.drawn == 1
    text = fk.utility_report(made, microdata, queries=5, models=True).summary()
    assert "–" in text


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_both_forms_and_a_value_that_was_named(form):
    table = people()
    facts = [{"facts": {}, "below": 0.95}]
    made, microdata = published(table, require=facts, publish={"form": form})
    found = modelled(made, microdata, ["d = cold"])
    fit = kinds(found)["logistic"]
    assert (fit.target, fit.value) == ("d", "cold")
    if form == "bucketized":  # exact columns, and shuffled values
        assert fit.coefficients[0].middles == pytest.approx(fit.coefficients[0].drawn)
        assert next(e for e in found.tables if e.columns == ("age", "sex")).misplaced.drawn == 0


def test_missing_values_and_a_constant_column():
    table = people()
    table["age"] = table["age"].astype("Int64")
    table.loc[::7, "age"] = pd.NA
    table["sex"] = "f"
    made, microdata = published(table)
    found = modelled(made, microdata)
    assert found.left_out == {"sex": "everybody has the same"}
    assert found.by == ("age",)
    (own,) = found.tables
    assert own.values[-1] == "missing"
    assert sum(row[-1] for row in own.raw) == table["age"].isna().sum()
    assert all(fit.score.drawn is not None for fit in found.fits)


def test_several_values_of_a_person_are_a_target_by_each_value():
    table = people(120)
    table["pid"] = range(len(table))
    more = table.assign(d="flu")[:60]
    table = pd.concat([table, more]).drop_duplicates(["pid", "d"])
    made, microdata = published(table, person="pid", semantics="set")
    found = modelled(made, microdata, ["d=flu"])
    assert {fit.value for fit in found.fits} == {"flu"}
    has = table[table.d == "flu"]["pid"].nunique() / 120
    share = [each for each in found.groups if each.of == "share of d = flu"]
    sizes = table.drop_duplicates("pid")["sex"].value_counts()
    rows = {each.group: each.raw for each in share}
    mean = sum(rows[f"sex = {sex}"] * many for sex, many in sizes.items()) / 120
    assert mean == pytest.approx(has)
    own = next(each for each in found.tables if each.columns == ("d", "sex"))
    assert np.sum(own.raw) == len(table)  # occurrences
    with pytest.raises(fk.InputError, match="several values of 'd'; let it be a target"):
        modelled(made, microdata, ["age"], by=["d"])


def test_several_sensitive_columns_linked_and_shuffled():
    table = people()
    require = [
        {"sensitive": name, "knowing": [], "facts": {}, "below": 0.95} for name in ("d", "weight")
    ]
    table["weight"] = table["weight"].round(-1)
    for unlinked in ([], ["weight"]):
        made, microdata = published(
            table, sensitive=["d", "weight"], require=require, publish={"unlinked": unlinked}
        )
        found = modelled(made, microdata)
        assert found.targets == ("d", "weight")
        assert {fit.target for fit in found.fits} == {"d", "weight"}
        own = next(each for each in found.tables if set(each.columns) == {"d", "weight"})
        assert (own.misplaced.drawn > 0) is bool(unlinked)


def test_perfect_separation_and_groups_of_one_value():
    table = people(200)
    table["d"] = np.where(table["age"] < 50, "young", "old")
    made, microdata = published(table)
    fit = kinds(modelled(made, microdata))["logistic"]
    assert fit.score.raw > 0.999
    assert all(abs(own) < 50 for term in fit.coefficients for own in three(term))
    table["d"] = "flu"
    made, microdata = published(table)
    found = modelled(made, microdata)
    assert found.fits == ()  # nothing to explain
    assert (
        next(each for each in found.tables if each.columns == ("d", "age")).association.raw is None
    )


def test_numbers_of_few_values_are_codes_where_they_are_sensitive():
    table = people()
    table["d"] = np.random.default_rng(0).integers(1, 4, len(table))
    made, microdata = published(table, types={"d": "number"})
    assert kinds(modelled(made, microdata)).keys() == {"logistic", "tree"}
    table["d"] = np.arange(len(table))
    made, microdata = published(table, types={"d": "number"})
    assert kinds(modelled(made, microdata)).keys() == {"linear", "tree"}


def test_many_values_are_in_no_model_and_rare_ones_are_others():
    table = people()
    table["sex"] = [f"code {i % 80:02}" for i in range(len(table))]
    table["d"] = [f"d{min(i % 40, 12)}" for i in range(len(table))]
    made, microdata = published(table, hierarchies={"sex": {"mask": 7}})
    found = modelled(made, microdata, ["d=d9"])
    assert found.left_out == {"sex": "it has 80 values"}
    own = next(each for each in found.tables if each.columns == ("d", "age"))
    assert own.rows[0] == "d12"
    assert own.rows[-2:] == ("d9", "others")
    assert len(own.rows) == 10
    assert np.sum(own.raw) == len(table)
    again = modelled(made, microdata, ["d"], by=["sex"])
    assert again.by == ("sex",)


def test_without_scikit_learn_there_is_everything_else(hospital, monkeypatch):
    _, made, microdata, _ = hospital
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    report = fk.utility_report(made, microdata, queries=5, models=True)
    assert report.models.fits == ()
    assert report.models.without == NEEDED
    assert report.models.tables
    assert report.models.groups
    assert 'pip install ".[learn]"' in report.summary().replace("\n", " ")
    with pytest.raises(fk.InputError, match="nobody has the value 'cancer' of 'd'"):
        fk.utility_report(made, microdata, queries=5, models=["d=cancer"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"models": ["diagnosis"]}, "targets: no column 'diagnosis'"),
        ({"models": ["d=cancer"]}, "nobody has the value 'cancer' of 'd'"),
        ({"models": ["age=40"]}, "'age' has numbers; leave out '40'"),
        ({"models": []}, r"targets must be a list of columns, such as \['diagnosis'\]"),
        ({"models": "d"}, "targets must be a list of columns"),
        ({"models": True, "by": ["agee"]}, "by: no column .agee. is published; did you mean"),
        ({"models": True, "by": "age"}, "by must be a list of columns"),
        ({"models": True, "draws": 0}, "draws"),
    ],
)
def test_what_cannot_be_modelled_is_said(hospital, given, said):
    _, made, microdata, _ = hospital
    with pytest.raises(fk.InputError, match=said):
        fk.utility_report(made, microdata, queries=5, **given)


def test_a_table_without_certificate_is_refused(hospital):
    _, made, microdata, _ = hospital
    release = fk.Release.from_generalized(
        made.to_arrow(), quasi_identifiers=["age", "sex"], sensitive="d"
    )
    with pytest.raises(fk.InputError, match="models need what foreknow publish wrote"):
        fk.utility_report(release, microdata, queries=5, models=True)


def test_two_values_of_one_column_are_two_models():
    table = people()
    table["d"] = [f"d{min(i % 40, 12)}" for i in range(len(table))]
    made, microdata = published(table)
    found = modelled(made, microdata, ["d=d8", "d=d9"])
    assert found.targets == ("d",)
    fits = [(fit.kind, fit.value) for fit in found.fits]
    assert fits[::2] == [("logistic", "d8"), ("logistic", "d9")]


def test_dates_are_days_and_booleans_are_values():
    table = people()
    table["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(table["age"], "D")
    table["flag"] = table["weight"] > table["weight"].median()
    made, microdata = published(table, quasi_identifiers=["day", "sex"], other=["flag"])
    found = modelled(made, microdata, ["flag=True"], draws=2)
    own = next(each for each in found.tables if set(each.columns) == {"flag", "day"})
    assert own.values[-1].startswith("2024-0")
    term = kinds(found)["logistic"].coefficients[0]
    assert term.of == f"day, per {table['age'].std(ddof=0):.3g} days"
    x = np.column_stack([(table["age"] - table["age"].mean()) / table["age"].std(ddof=0)])
    x = np.column_stack([x, table["sex"] == "f"])
    assert term.raw == pytest.approx(logistic(x, table["flag"].to_numpy(float))[1], abs=2e-3)


def test_compare_shows_models_of_each_release():
    table = people()
    policy = fk.Policy.of(
        {
            "schema": {"quasi_identifiers": ["age", "sex"], "sensitive": "d"},
            "require": [{"facts": {}, "below": 0.9}],
        }
    )
    asked = {"methods": ["mondrian", "fulldomain"], "limits": [0.9], "queries": 20, "processes": 0}
    found = fk.compare(table, policy, models=["d=flu"], **asked)
    made = fk.publish(table, policy, method="mondrian", seed=0)
    own = modelled(made, policy.microdata(table), ["d=flu"], seed=0)
    first = found.candidates[0]
    assert (first.misplaced, first.fit) == (own.misplaced, own.fits[0])
    frame = found.to_frame()
    assert frame["score"].tolist() == [each.fit.score.usual for each in found.candidates]
    text = " ".join(found.summary().split())
    assert "cells model sure" in text
    assert "AUC on the raw people of a logistic model of d = flu" in text
    assert "cells" not in fk.compare(table, policy, **asked).summary()
    with pytest.raises(fk.InputError, match="targets: no column 'e' is published"):
        fk.compare(table, policy, models=["e"], **asked)


def test_cells_of_compare_need_no_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    schema = {"quasi_identifiers": ["age", "sex"], "sensitive": "d"}
    policy = fk.Policy.of({"schema": schema, "require": [{"facts": {}, "below": 0.9}]})
    found = fk.compare(
        people(), policy, models=True, methods=["mondrian"], limits=[0.9], queries=5, processes=0
    )
    assert found.candidates[0].fit is None
    assert 0 < found.candidates[0].misplaced < 1
    assert "scikit-learn" in found.summary()


def test_pages_and_json_of_models(hospital, tmp_path):
    _, made, microdata, _ = hospital
    found = fk.utility_report(made, microdata, queries=5, models=["d", "weight"])
    page, plain = tmp_path / "page.html", found.to_dict()["models"]
    found.to_html(page)
    text = page.read_text("utf-8")
    assert "Does my model still work?" in text
    assert "For the owner only" in text
    assert "Cross tables, in people" in text
    assert [fit["kind"] for fit in plain["fits"]] == ["logistic", "tree", "linear", "tree"]
    assert plain["tables"][0]["columns"] == ["d", "weight"]
    assert "models" not in fk.utility_report(made, microdata, queries=5).to_dict()


def test_numbers_that_are_written_in_other_ways_are_the_same_codes(tmp_path):
    table = people()
    table["d"] = np.where(table["d"] == "flu", "3.00", np.where(table["age"] < 40, "1.50", "2.00"))
    table["code"] = np.where(table["age"] < 50, "01", "1")
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    made, microdata = published(path, other=["code"])
    found = modelled(made, microdata, ["d=3"])
    assert kinds(found)["logistic"].value == "3.00"
    own = next(each for each in found.tables if set(each.columns) == {"d", "code"})
    assert set(own.values) == {"01", "1"}
    assert own.misplaced.drawn == 0
    assert np.sum(own.drawn) == len(table)


def test_escaped_formulas_are_the_values_that_they_were(tmp_path):
    table = people()
    table["d"] = table["d"].replace("flu", "=1+1")
    made, microdata = published(table, publish={"escape_formulas": True})
    made.write(tmp_path / "release")
    found = modelled(tmp_path / "release", microdata)
    own = next(each for each in found.tables if each.columns == ("d", "sex"))
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


def test_who_has_a_value_twice_has_it():
    table = people(120)
    table["pid"] = range(120)
    table["d"] = ["flu", "cold", "fever"] * 40
    table = pd.concat([table, table[table.d == "flu"]])
    made, microdata = published(table, person="pid", semantics="multiset")
    found = modelled(made, microdata, ["d=flu"])
    shares = [each.raw for each in found.groups if each.of == "share of d = flu"]
    assert all(0.1 < share < 0.6 for share in shares)
    assert kinds(found)["logistic"].score.raw is not None


def test_a_researcher_reports_the_middles(hospital):
    _, made, microdata, _ = hospital
    score = kinds(modelled(made, microdata))["logistic"].score
    assert score.usual == score.middles != score.drawn
