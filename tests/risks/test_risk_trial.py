"""The estimated risk as a trial: it stops a publication, and makes nothing safe."""

import random

import pyarrow as pa
import pytest
from pyarrow import csv
from tests.risks.test_individual_risk import series

import foreknow as fk
from foreknow.policy.tries import Try
from foreknow_judge.errors import UnsupportedError

SCHEMA = {
    "quasi_identifiers": ["age", "town"],
    "sensitive": "ill",
    "weights": "w",
    "missing": "drop",
    "hierarchies": {"age": {"intervals": [10, 20]}},
}


def survey(seed):
    draw = random.Random(seed)
    n = draw.randint(20, 60)
    return {
        "age": [draw.choice([21, 24, 33, 38, None]) for _ in range(n)],
        "town": draw.choices(["A", "B"], k=n),
        "ill": [draw.choice(["x", "y", "z", None]) for _ in range(n)],
        "w": [draw.randint(1, 80) for _ in range(n)],
    }


def policy_of(form, **trial):
    return {
        "schema": SCHEMA,
        "require": [{"group_size": 3}],
        "try": [{"individual_risk": True, **trial}],
        "publish": {"form": form, "labels": {"town": "exact"}},
    }


def risks_of(rows, labels):
    """The risk of everybody, by those who look alike and their weights."""
    alike = {}
    for label, weight in zip(labels, rows, strict=True):
        alike.setdefault(label, []).append(weight)
    # A class that stands for no more people than it has is the population itself.
    return {
        label: series(len(weights), len(weights) / sum(weights))
        if sum(weights) > len(weights)
        else 1 / len(weights)
        for label, weights in alike.items()
    }


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("seed", range(4))
def test_who_is_found_too_easily(tmp_path, form, seed):
    rows = survey(seed)
    table = pa.table(rows)
    made = fk.publish(table, policy_of(form), seed=1)
    made.write(tmp_path / "out")
    kept = [i for i, ill in enumerate(rows["ill"]) if ill is not None]
    labels = list(zip(rows["age"], rows["town"], strict=True))
    if form == "generalized":
        columns = pa.concat_tables(made.placed.members()).select(["age", "town"]).to_pydict()
        labels = list(zip(columns["age"], columns["town"], strict=True))
    risks = risks_of([rows["w"][i] for i in kept], [labels[i] for i in kept])
    highest = max(risks.values())
    assert any("estimated by weights" in note for note in made.certificate.notes)
    assert str(highest)[:6] not in (tmp_path / "out" / "certificate.json").read_text()
    above, below = min(1, highest * 1.15), highest * 0.85  # the formula is close to the series
    again = fk.publish(table, policy_of(form, stop=f"{above:.6f}"), seed=1)
    assert again.to_arrow(next(iter(again.tables))) == made.to_arrow(next(iter(made.tables)))
    with pytest.raises(fk.NoSafeRelease, match="stopped by a trial: by the weights"):
        fk.publish(table, policy_of(form, stop=f"{below:.6f}"), seed=1)


def test_other_kinds_of_publishing(tmp_path):
    table = pa.table(survey(1))
    csv.write_csv(table, tmp_path / "survey.csv")
    with pytest.raises(UnsupportedError, match='engine = "memory"'):
        fk.publish(tmp_path / "survey.csv", policy_of("generalized"), engine="duckdb")
    policy = fk.Policy.from_dict(policy_of("generalized", stop=0.9))
    assert fk.Policy.from_dict(policy.to_dict()).tries == policy.tries
    policy.save(tmp_path / "policy.toml")
    assert fk.Policy(tmp_path / "policy.toml").tries == (Try(stop="9/10", individual_risk=True),)
    made = fk.publish(table, policy, seed=1)
    assert "w" not in made.to_arrow().column_names
    assert fk.audit(made.release, policy).trials in ((), None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": {**SCHEMA, "weights": None}}, 'add weights = "COLUMN"'),
        ({"schema": {**SCHEMA, "person": "p", "unit": "row"}}, "a row for each person"),
        ({"try": [{"individual_risk": True, "learned": {"by": ["age"]}}]}, "either learned"),
        ({"try": [{"stop": 0.5}]}, "either learned"),
        ({"try": [{"individual_risk": True, "sensitive": "ill"}]}, "guesses no column"),
        ({"try": [{"individual_risk": True, "stop": 2}]}, "at most 1, not 2"),
    ],
)
def test_trials_that_mean_nothing(changes, said):
    tables = policy_of("generalized") | changes
    if "schema" in changes:
        tables["schema"] = {k: v for k, v in tables["schema"].items() if v is not None}
    with pytest.raises(fk.InputError, match=said):
        fk.Policy.from_dict(tables)
