"""A population in which somebody is twice counts more people than there are, and is refused."""

import json

import pandas as pd
import pytest

import foreknow as fk
from foreknow_judge.written import read_population

SCHEMA = {
    "identifiers": ["id"],
    "quasi_identifiers": ["age"],
    "sensitive": "ill",
    "hierarchies": {"age": {"intervals": [10]}},
}
PEOPLE = pd.DataFrame(
    {
        "id": [f"p{i}" for i in range(20)],
        "age": [20 + i % 20 for i in range(20)],
        "ill": [("flu", "cold")[i % 2] for i in range(20)],
    }
)
CRITERIA = [
    {"k_map": {"k": 4}},
    {"population_risk": {"journalist": 0.25}},
    {"delta_presence": {"lowest": 0, "highest": 0.5}},
]


def policy_for(criterion, population):
    ((key, own),) = criterion.items()
    require = [{"k_anonymity": 2}, {key: {**own, "population": str(population)}}]
    return fk.Policy.from_dict({"schema": SCHEMA, "require": require})


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_register_that_has_people_twice_is_refused(tmp_path, criterion):
    twice = pd.concat([PEOPLE, PEOPLE]).drop(columns="ill")
    twice.to_csv(tmp_path / "twice.csv", index=False)
    rules = policy_for(criterion, tmp_path / "twice.csv")
    for judge in (fk.publish, fk.audit):
        with pytest.raises(fk.ForeknowError, match="'p0' in 2 rows, by id"):
            judge(PEOPLE, rules)


def test_without_names_or_with_other_people_it_is_taken(tmp_path):
    twice = pd.concat([PEOPLE, PEOPLE.assign(id=None), PEOPLE.assign(id=None)])
    for name, columns in (("nameless", ["age"]), ("partly", ["id", "age"])):
        path = tmp_path / f"{name}.csv"
        twice[columns].to_csv(path, index=False)
        made = fk.publish(PEOPLE, policy_for(CRITERIA[0], path), seed=1)
        made.write(tmp_path / name)
        fk.verify(tmp_path / name, population=path)


def test_of_several_columns_all_must_be_equal(tmp_path):
    schema = {**SCHEMA, "identifiers": ["id", "name"]}
    people = PEOPLE.assign(name=[f"n{i}" for i in range(20)])
    others = people.assign(id=[f"q{i}" for i in range(20)])
    path = tmp_path / "namesakes.parquet"
    pd.concat([people, others]).drop(columns="ill").to_parquet(path)
    require = [{"k_anonymity": 2}, {"k_map": {"k": 4, "population": str(path)}}]
    assert fk.publish(people, {"schema": schema, "require": require}, seed=1).audit.safe


def test_the_verifier_refuses_it_too(tmp_path):
    once, twice = tmp_path / "once.csv", tmp_path / "twice.csv"
    others = PEOPLE.assign(id=[f"q{i}" for i in range(20)])
    pd.concat([PEOPLE, others]).drop(columns="ill").to_csv(once, index=False)
    pd.concat([PEOPLE, PEOPLE]).drop(columns="ill").to_csv(twice, index=False)
    fk.publish(PEOPLE, policy_for(CRITERIA[0], once), seed=1).write(tmp_path / "out")
    digest = json.loads((tmp_path / "out/certificate.json").read_text())["policy"]["require"][1]
    assert read_population(twice, ["age"]).digest == digest["k_map"]["digest"]
    fk.verify(tmp_path / "out", population=once)
    with pytest.raises(fk.ForeknowError, match="somebody in several rows"):
        fk.verify(tmp_path / "out", population=twice)
