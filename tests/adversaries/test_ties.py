"""Where several values, groups or people are as much at risk, the same are named every time."""

import json
import random

import pandas as pd
import pyarrow as pa
import pytest
from tests.frames.backends import (
    arrow_table,
    csv_file,
    duckdb_relation,
    pandas_categorical,
    pandas_frame,
    parquet_file,
    polars_lazy,
)

import foreknow as fk
from foreknow.data.counts import GroupCounts
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written

# Groups 20/f, 20/m, 30/f ... with the same bags, so that everything ties.
AGES, SEXES = ("20 to 29", "30 to 39", "4", "40 to 49", None), ("f", "m")


BAGS = (["Flu", "Flu", "HIV", "Cold"], ["Flu", "HIV", "Cold", "Cold"])


ROWS = [
    {"age": age, "sex": sex, "disease": value}
    for i, age in enumerate(AGES)
    for sex in SEXES
    for value in BAGS[i % 2]
]


PRIORS = pd.DataFrame(
    [
        {"sex": sex, "value": value, "probability": chance}
        for sex in SEXES
        for value, chance in (("Flu", "1/2"), ("HIV", "1/4"), ("Cold", "1/4"))
    ]
)


POINTS = [
    fk.Facts(),
    fk.Facts(1, 1, 1),
    fk.Facts(2, 1, 1),
    fk.Negations(1),
    fk.Implications(1),
    fk.Implications(3),
    fk.Priors(PRIORS),
]


POLICY = fk.Policy([fk.Requirement(each, below="1/2") for each in POINTS])


def shuffled(seed):
    return random.Random(seed).sample(ROWS, len(ROWS))


SOURCES = [
    *(csv_file, parquet_file, pandas_frame, pandas_categorical),
    *(polars_lazy, arrow_table, duckdb_relation),
]


def told(frame, policy=POLICY):
    """What an audit says of each requirement, byte for byte."""
    release = fk.Release.from_generalized(
        frame, quasi_identifiers=["age", "sex"], sensitive="disease"
    )
    return json.dumps(fk.audit(release, policy).to_dict()["verdicts"], default=str)


def test_order_and_engine_change_nothing(tmp_path):
    expected = told(pd.DataFrame(ROWS))
    for seed, make in enumerate(SOURCES):
        source = make(pa.Table.from_pylist(shuffled(seed)), tmp_path)
        assert told(source) == expected, seed
    for verdict in json.loads(expected):
        worst = verdict["worst"]
        group = worst["witness"].get("target_group") or worst["witness"]["group"]
        # Cold and Flu are alike; the missing age comes first, and it has the bag of Flu twice.
        assert (worst["value"], group[0]) in (("Cold", "30 to 39"), ("Flu", None)), verdict
        assert group[1] == "f"
    assert [v["worst"]["value"] for v in json.loads(expected)[:6]] == ["Cold"] * 6


@pytest.mark.parametrize("kind", [int, float, str])
def test_groups_in_order_of_labels(kind):
    ids = [10, 9, 100, -1]
    frame = pa.table({"gid": [kind(i) for i in ids for _ in "ab"], "disease": ["Flu", "HIV"] * 4})
    release = fk.Release.from_groups(frame, group="gid", sensitive="disease")
    expected = sorted(map(kind, ids))
    assert [release.counts.group_label(g) for g in range(4)] == expected
    assert fk.Facts().disclosure(release).witness.target_group == expected[0]


def test_people_with_several_values():
    rows = [
        {"person": f"p{g}{i}", "age": g, "disease": value}
        for g in ("b", "c", "a")
        for i, value in enumerate(["Flu", "HIV", "Flu", "Cold"])
    ]
    policy = fk.Policy(
        [fk.Requirement(fk.Facts(*amounts), below="1/2") for amounts in ((0, 0, 0), (1, 1, 1))]
    )
    seen = set()
    for seed in range(4):
        frame = pa.Table.from_pylist(random.Random(seed).sample(rows, len(rows)))
        release = fk.Release.from_groups(
            frame, group="age", sensitive="disease", person="person", semantics="set"
        )
        seen.add(json.dumps(fk.audit(release, policy).to_dict()["verdicts"]))
    (only,) = seen
    assert json.loads(only)[0]["worst"]["witness"]["target_group"] == "a"


def test_bags_keep_their_order():
    counts = GroupCounts.from_bags([["Flu", "HIV"], ["Flu", "HIV"]], groups=["z", "a"])
    for adversary in (fk.Facts(), fk.Facts(0, 1, 0), fk.Implications(1), fk.Negations(0)):
        found = adversary.disclosure(counts)
        assert (found.value, found.witness.target_group) == ("Flu", "z")
        assert adversary.disclosures(counts)["HIV"].witness.target_group == "z"


def findings(rows):
    """What the verifier finds of a table, as text."""
    written = Written(
        "generalized", ["age", "sex"], "disease", {"release": pa.Table.from_pylist(rows)}
    )
    return [
        (found.value, found.group, found.reached)
        for found in verify(written, POLICY.to_dict()["require"])
    ]


def test_the_verifier_finds_the_same():
    expected = findings(ROWS)
    assert all(findings(shuffled(seed)) == expected for seed in range(4))
    # Cold is the first value by its text, and 30 to 39 the first age with two of it.
    assert expected[0][:2] == ("Cold", "30 to 39, f")
    assert {found[0] for found in expected} == {"Cold"}


def test_values_come_before_groups():
    rows = [
        {"age": age, "sex": "f", "disease": value}
        for age, bag in (("20", ["Flu", "Flu", "HIV"]), ("30", ["Cold", "Cold", "HIV"]))
        for value in bag
    ]
    written = Written("generalized", ["age"], "disease", {"release": pa.Table.from_pylist(rows)})
    even = {"attributes": ["sex"], "values": ["Cold", "Flu", "HIV"]}
    even["rows"] = [[["f"], ["1/3"] * 3]]
    for kind in (
        {"facts": {"l": 0}},
        {"negations": {"k": 0}},
        {"implications": {"k": 0}},
        {"priors": {"semantics": "joint", "tables": [even]}},
    ):
        (found,) = verify(written, [{**kind, "below": "1/2"}])
        assert (found.value, found.group) == ("Cold", "30"), kind
