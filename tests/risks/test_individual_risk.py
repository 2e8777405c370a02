"""The risk of people of a survey, by its weights: an example of sdcMicro, and sums of a series."""

import random
from math import exp, inf, lgamma, log

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.risks.individual import expected_chances

# `francdat` of sdcMicro 5.8: the keys are its columns 2, 4, 5 and 6, the weight its column 8.
FRANCDAT = {
    "Key1": [1, 1, 1, 3, 4, 4, 6, 1],
    "Key2": [2, 2, 2, 3, 3, 3, 2, 2],
    "Key3": [5, 1, 1, 1, 1, 1, 1, 5],
    "Key4": [1, 1, 1, 5, 4, 1, 5, 1],
    "w": [18.0, 45.5, 39.0, 17.0, 541.0, 8.0, 5.0, 92.0],
}
KEYS = ["Key1", "Key2", "Key3", "Key4"]
# The table of its tests of `indivRisk`, and the risks that it expects there (method "approx").
SAMPLE = {
    "A": [2, 3, 2, 2, 3, 3, 1, 2],
    "B": [3, 3, 3, 3, 3, 3, 4, 3],
    "C": [1, 3, 1, 2, 1, 1, 1, 1],
    "weight": [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0],
}
EXPECTED = "0.01369863 0.08579129 0.01369863 0.17707583 0.01877883 0.01877883 0.03931625 0.01369863"


def series(n_rows, share):
    """The sum of P(F) / F over all F, for a negative binomial number F of people."""
    total, n_people, chance = 0.0, n_rows, inf
    while n_people < 50 or chance > 1e-17:
        chance = exp(
            lgamma(n_people)
            - lgamma(n_rows)
            - lgamma(n_people - n_rows + 1)
            + n_rows * log(share)
            + (n_people - n_rows) * log(1 - share)
        )
        total += chance / n_people
        n_people += 1
        if n_people * share < n_rows:
            chance = inf
    return total


def test_the_figures_of_sdcmicro():
    report = fk.risk_report(pa.table(SAMPLE), quasi_identifiers=["A", "B", "C"], weights="weight")
    assert report.individual.of_rows.round(8).tolist() == [*map(float, EXPECTED.split())]


def test_francdat():
    report = fk.risk_report(pa.table(FRANCDAT), quasi_identifiers=KEYS, weights="w")
    n_rows, people = [2, 2, 2, 1, 1, 1, 1, 2], [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    risks = [series(n, n / size) for n, size in zip(n_rows, people, strict=True)]
    assert report.individual.of_rows == pytest.approx(risks)
    assert report.individual.population == sum(FRANCDAT["w"])
    assert (report.individual.above, report.individual.highest) == (2, pytest.approx(max(risks)))
    assert report.individual.expected == pytest.approx(sum(risks))


@pytest.mark.parametrize("share", [0.9995, 0.99, 0.9, 0.5, 0.1, 0.02])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 20])
def test_chances_are_sums_of_series(n_rows, share):
    (chance,) = expected_chances(np.array([n_rows]), np.array([n_rows / share]))
    assert chance == pytest.approx(series(n_rows, share), rel=1e-6 if n_rows <= 2 else 0.13)


def test_a_population_like_the_table():
    chances = expected_chances(np.array([1, 2, 4, 1]), np.array([1.0, 2.0, 4.0, 0.5]))
    assert chances.tolist() == [1, 0.5, 0.25, 1]


def test_every_door_takes_weights(tmp_path):
    draw = random.Random(3)
    rows = {
        "age": [draw.randint(20, 24) for _ in range(60)],
        "sex": draw.choices("fm", k=60),
        "ill": draw.choices("abc", k=60),
        "w": [draw.randint(10, 900) / 10 for _ in range(60)],
    }
    lines = [";".join(str(cell) for cell in row) for row in zip(*rows.values(), strict=True)]
    path = tmp_path / "survey.csv"
    path.write_text("\n".join([";".join(rows), *lines]).replace(".", ","), "utf-8")
    schema = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill", "weights": "w"}
    policy = {"schema": schema, "require": [{"group_size": 2}]}
    with_commas = {"schema": schema | {"reading": {"decimal": ","}}, "require": policy["require"]}
    table = pa.table(rows)
    columns = {"quasi_identifiers": ["age", "sex"]}
    reports = [
        fk.risk_report(table, weights="w", **columns),
        fk.risk_report(table, policy=policy),
        fk.risk_report(fk.Microdata(table, fk.Schema(**schema))),
        fk.risk_report(path, policy=with_commas),
        fk.risk_report(path, weights="w", reading={"decimal": ","}, **columns),
    ]
    of_class = {}
    for age, sex, weight in zip(rows["age"], rows["sex"], rows["w"], strict=True):
        of_class.setdefault((age, sex), []).append(weight)
    expected = [
        series(len(of_class[key]), len(of_class[key]) / sum(of_class[key]))
        for key in zip(rows["age"], rows["sex"], strict=True)
    ]
    for report in reports:
        assert report.individual.of_rows == pytest.approx(expected, rel=0.13)
        assert report.individual.of_rows.tolist() == reports[0].individual.of_rows.tolist()
        assert report.to_dict()["individual"]["weights"] == "w"
        assert all(words in report.to_html() for words in ("stands for", "Estimated by"))
    made = fk.publish(table, policy, seed=1)
    assert "w" not in made.to_arrow().column_names
    made.write(tmp_path / "out")
    assert fk.risk_report(tmp_path / "out").individual is None
    assert fk.risk_report(tmp_path / "out", policy=policy).individual is None


def test_misspelt_weights_are_refused():
    columns = {"identifiers": ["who"], "quasi_identifiers": ["age"], "sensitive": "ill"}
    policy = {"schema": columns | {"weights": "ww"}, "require": [{"group_size": 2}]}
    table = pa.table({"who": ["a", "b"], "age": [1, 2], "ill": ["x", "y"], "w": [2, 3]})
    with pytest.raises(fk.InputError, match="no column 'ww'; did you mean 'w'"):
        fk.risk_report(table, policy=policy)
    assert fk.risk_report(table.drop_columns(["who", "w"]), policy=policy).individual is None


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 0.0], "row 2 has the weight 0"),
        ([1.0, -3.0], "row 2 has the weight -3"),
        ([None, 2.0], "row 1 has no weight"),
        ([1.0, float("nan")], "row 2 has"),
        ([1.0, float("inf")], "row 2 has the weight inf"),
        ([1.0, 1e308], "below 1e12"),
        (["1", "many"], "'w' must hold a number"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    table = pa.table({"age": [1, 2], "w": weights})
    with pytest.raises(fk.InputError, match=message):
        fk.risk_report(table, quasi_identifiers=["age"], weights="w")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fk.Schema(quasi_identifiers=["a"], sensitive="b", weights="a"), "as weights and"),
        (lambda: fk.Schema(quasi_identifiers=["a"], sensitive="b", weights=["w"]), "name of one"),
        (
            lambda: fk.risk_report(fk.GroupCounts.from_bags([["x"]]), weights="w"),
            "is for a raw table",
        ),
        (
            lambda: fk.risk_report(
                pa.table({"age": [1], "w": [2]}), quasi_identifiers=["age"], weights="ww"
            ),
            "no column 'ww'",
        ),
        (
            lambda: fk.risk_report(
                pa.table({"age": [1], "w": [2]}), quasi_identifiers=["w"], weights="w"
            ),
            "others may know",
        ),
    ],
)
def test_missing_weights_are_refused(call, message):
    with pytest.raises(fk.InputError, match=message):
        call()


@pytest.mark.parametrize("weights", [None, "w"])
def test_one_member_reveals_the_household(weights):
    for seed in range(20):
        draw = random.Random(f"households {seed}")
        n_rows = draw.randint(1, 14)
        table = {
            "age": draw.choices([20, 30, None], k=n_rows),
            "sex": draw.choices("fm", k=n_rows),
            "home": draw.choices(["a", "b", "c", None], k=n_rows),
            "w": [draw.randint(1, 60) for _ in range(n_rows)],
        }
        keys = list(zip(table["age"], table["sex"], strict=True))
        report = fk.risk_report(
            pa.table(table), quasi_identifiers=["age", "sex"], household="home", weights=weights
        )
        risks = [1 / keys.count(key) for key in keys]
        if weights is not None:
            risks = report.individual.of_rows.tolist()
        homes = [home or i for i, home in enumerate(table["home"])]
        missed = dict.fromkeys(homes, 1.0)
        for home, risk in zip(homes, risks, strict=True):
            missed[home] *= 1 - risk
        found = [1 - chance for chance in missed.values()]
        household = report.household
        assert household.households == len(found)
        assert household.highest == pytest.approx(max(found))
        assert household.expected == pytest.approx(sum(found))
        assert household.average == pytest.approx(sum(found) / len(found))
        assert household.above == sum(risk > 0.2 + 1e-12 for risk in found)
        assert "Households" in report.to_html()


def test_households_need_people():
    columns = {"quasi_identifiers": ["age"], "household": "home"}
    with pytest.raises(fk.InputError, match="no column 'home'"):
        fk.risk_report(pa.table({"age": [1]}), **columns)
    with pytest.raises(fk.InputError, match="others may know"):
        fk.risk_report(pa.table({"age": [1]}), quasi_identifiers=["age"], household="age")
    with pytest.raises(fk.InputError, match="household is for a raw table"):
        fk.risk_report(fk.GroupCounts.from_bags([["x"]]), household="home")
