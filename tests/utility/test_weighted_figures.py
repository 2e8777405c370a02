"""Utility by survey weights, beside the same table with each person as often as they weigh."""

import random

import numpy as np
import pandas as pd
import pytest

import foreknow as fk

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
