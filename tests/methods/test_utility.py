"""Utility: what a release is worth, by definitions in plain Python; and weights of columns."""

import random
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from tests.cli.conftest import desk as desk

import foreknow as fk
from foreknow.data.counts import GroupCounts
from foreknow_judge.errors import PolicyError


def people_of(columns, **hierarchies):
    n = len(next(iter(columns.values())))
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="d", hierarchies=hierarchies)
    return fk.Microdata(pa.table({**columns, "d": (["x", "y"] * n)[:n]}), schema)


def days(*given):
    return [date(2024, 1, day) for day in given]


@pytest.mark.parametrize(
    ("people", "least", "said"),
    [
        (3, 4, "3 people make no group of at least 4"),
        (0, 1, "people must be a whole number from 1, not 0"),
        (5, 0, "least must be a whole number from 1, not 0"),
        (5, 2.0, "least must be a whole number from 1, not 2.0"),
        (True, 1, "people must be a whole number from 1, not True"),
    ],
)
def test_no_optimum_without_groups(people, least, said):
    with pytest.raises(fk.InputError, match=said):
        fk.optimal_discernibility(people, least)


TWO = np.array([0, 0, 1, 1])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda m: (m,), r"expected GroupCounts or a Release, not Microdata; microdata\.counts"),
        (lambda m: (m.counts(TWO), m), "give microdata and groups together"),
        (lambda m: (m.counts(TWO), None, TWO), "give microdata and groups together"),
        (lambda m: (m.counts(TWO), "t.csv", TWO), "expected Microdata, not str"),
        (lambda m: (m.counts(TWO), m, TWO[:3]), "each of the 4 rows"),
        (lambda m: (m.counts(TWO), m, TWO / 2), "a whole number for each"),
        (lambda m: (m.counts(TWO), m, TWO - 1), "row 1 of .* has no group"),
        (lambda m: (GroupCounts.from_bags(["xyx"]), m, TWO), "3 people are counted, but .* has 4"),
    ],
)
def test_unmeasurable_groups_are_refused(given, said):
    with pytest.raises(fk.InputError, match=said):
        fk.utility_of(*given(people_of({"age": [10, 30, 20, 50]})))


# ---- weights -------------------------------------------------------------------------------------

POLICY = """
[schema]
quasi_identifiers = ["age", "zip"]
sensitive = "disease"

[[require]]
k_anonymity = 4

[publish]
weights = { zip = 3 }
"""
SCHEMA = fk.Schema(quasi_identifiers=["age", "zip"], sensitive="disease")
FOUR = [fk.Requirement(fk.KAnonymity(4))]


def table(n=60):
    draw, numbers = random.Random(1), {"age": (20, 60), "zip": (100, 160)}
    columns = {key: [draw.randint(*ends) for _ in range(n)] for key, ends in numbers.items()}
    return pa.table({**columns, "disease": draw.choices("abcd", k=n)})


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_what_counts_more_loses_less(method):
    steps = {name: fk.Intervals([5, 10, 20]) for name in ("age", "zip")}
    schema = fk.Schema(quasi_identifiers=["age", "zip"], sensitive="disease", hierarchies=steps)
    losses = []
    for weights in ({}, {"zip": 20}, {"zip": "1/20"}):
        policy = fk.Policy(FOUR, schema, fk.PublishOptions(weights=weights))
        losses.append(fk.publish(table(300), policy, method=method).utility.ncp["zip"])
    assert losses[1] <= losses[0] <= losses[2]
    assert losses[1] < losses[2]


@pytest.mark.parametrize("given", [0, -1, True, "much", float("nan"), float("inf"), None])
def test_invalid_weights_are_refused(given):
    with pytest.raises(PolicyError, match="'zip'"):
        fk.PublishOptions(weights={"zip": given})


def test_weights_of_unknown_columns():
    said = r"publish.weights: 'zipp' is no quasi-identifier; did you mean 'zip'"
    with pytest.raises(PolicyError, match=said):
        fk.Policy(FOUR, SCHEMA, fk.PublishOptions(weights={"zipp": 3}))
    with pytest.raises(PolicyError, match=said):  # of a table, where the policy has no schema
        fk.publish(fk.Microdata(table(), SCHEMA), fk.Policy(FOUR), weights={"zipp": 3})
    with pytest.raises(PolicyError, match="must be a table"):
        fk.PublishOptions(weights=3)


def test_weights_in_files_and_commands(desk):
    path = desk.folder / "policy.toml"
    for text, said in (
        ("{ zipp = 3 }", "no quasi-identifier"),
        ("{ zip = -3 }", "above 0"),
        ('{ zip = "x" }', "above 0"),
        ("3", "table"),
    ):
        path.write_text(POLICY.replace("{ zip = 3 }", text))
        with pytest.raises(PolicyError, match=said):
            fk.Policy.load(path)
    path.write_text(POLICY)
    pc.write_csv(table(), desk.folder / "table.csv")
    desk.says(*desk.publish("--set", "weights.age=0.5", "--quiet"))
    publish = desk.json("out/certificate.json")["policy"]["publish"]
    assert publish["weights"] == {"zip": 3, "age": 0.5}
    for wrong, said in (("weights.agge=2", "did you mean"), ("weights.age=0", "above 0")):
        assert said in desk.refused(*desk.publish("--set", wrong, out="no"))
