"""Weights of quasi-identifiers: read, refused, used by methods and measures, and certified."""

import json
import random
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as pc
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.test_fulldomain import OBJECTIVES, SEEDS, Table

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.data.utility import utility_of
from foreknow_judge.errors import PolicyError

POLICY = """
[schema]
quasi_identifiers = ["age", "zip"]
sensitive = "disease"

[[require]]
k_anonymity = 4

[publish]
weights = { zip = 3 }
"""


def table(seed=1, n=60):
    draw = random.Random(seed)
    return pa.table(
        {
            "age": [draw.randint(20, 60) for _ in range(n)],
            "zip": [draw.randint(100, 160) for _ in range(n)],
            "disease": [draw.choice("abcd") for _ in range(n)],
        }
    )


SCHEMA = fk.Schema(quasi_identifiers=["age", "zip"], sensitive="disease")
FOUR = [fk.Requirement(fk.KAnonymity(4))]


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_what_counts_more_loses_less(method):
    steps = {name: fk.Intervals([5, 10, 20]) for name in ("age", "zip")}
    schema = fk.Schema(quasi_identifiers=["age", "zip"], sensitive="disease", hierarchies=steps)
    losses = []
    for weights in ({}, {"zip": 20}, {"zip": "1/20"}):
        options = fk.PublishOptions(weights=weights)
        made = fk.publish(table(n=300), fk.Policy(FOUR, schema, options), method=method)
        losses.append(made.utility.ncp["zip"])
    assert losses[1] <= losses[0] <= losses[2]
    assert losses[1] < losses[2]


@examples(60, daily=5, deadline=None)
@given(seed=SEEDS, objective=OBJECTIVES, one=st.sampled_from([0.25, 3, 10]))
def test_fulldomain_finds_the_node_that_loses_least_by_its_weights(seed, objective, one):
    case = Table(seed)
    raw, columns = case.case.microdata(), len(case.every.kinds)
    names = list(raw.schema.quasi_identifiers)
    options = fk.PublishOptions(weights={names[0]: one})
    policy = fk.Policy(case.policy.requirements, options=options)
    try:
        found = fk.FullDomain(objective, suppression=case.share).search(raw, policy)
    except fk.NoSafeRelease:
        return
    weights = [Fraction(one), *[Fraction(1)] * (columns - 1)]
    top = tuple(len(steps) - 1 for steps in case.every.ladders)

    def lost(node):
        _, outliers = case.every.released[node]
        total = worst = 0.0
        for a, weight in enumerate(weights):
            for person in range(len(case.case.rows)):
                level = top[a] if person in outliers else node[a]
                total += float(weight) * float(case.every._cost(objective, a, level, person))
                worst += float(weight) * float(case.every._cost(objective, a, top[a], person))
        return total / worst if worst else 0.0

    least = min(map(lost, case.every.safe))
    assert lost(found.chosen) == pytest.approx(least, abs=1e-12)
    assert found.loss_of(found.chosen) == pytest.approx(least, abs=1e-12)


def test_the_average_is_weighed_in_every_report_and_certified(tmp_path):
    policy = fk.Policy(FOUR, SCHEMA, fk.PublishOptions(weights={"zip": 3}))
    made = fk.publish(table(), policy)
    own = made.utility.ncp
    assert made.utility.average_ncp == pytest.approx((own["age"] + 3 * own["zip"]) / 4)
    assert made.utility.to_dict()["weights"] == {"zip": 3}
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert written["policy"]["publish"]["weights"] == {"zip": 3}
    report = fk.utility_report(tmp_path / "out", fk.Microdata(table(), SCHEMA), predicates=1)
    assert report.utility.average_ncp == pytest.approx(made.utility.average_ncp)
    raw = fk.Microdata(table(), SCHEMA)
    groups = fk.Mondrian().partition(raw, policy)
    found = utility_of(raw.counts(groups), raw, groups, weights={"age": 0.5})
    assert found.average_ncp == pytest.approx((found.ncp["age"] / 2 + found.ncp["zip"]) / 1.5)
    # Equal weights are none.
    alike = fk.Policy(FOUR, SCHEMA, fk.PublishOptions(weights={"zip": 2, "age": 2}))
    plain = fk.Mondrian().partition(raw, fk.Policy(FOUR, SCHEMA))
    assert fk.Mondrian().partition(raw, alike).tolist() == plain.tolist()


@pytest.mark.parametrize("given", [0, -1, True, "much", float("nan"), float("inf"), None])
def test_what_is_no_number_above_0_is_refused(given):
    with pytest.raises(PolicyError, match="'zip'"):
        fk.PublishOptions(weights={"zip": given})


def test_columns_are_checked_in_python_files_and_on_the_command_line(tmp_path):
    said = r"publish.weights: 'zipp' is no quasi-identifier; did you mean 'zip'"
    with pytest.raises(PolicyError, match=said):
        fk.Policy(FOUR, SCHEMA, fk.PublishOptions(weights={"zipp": 3}))
    with pytest.raises(PolicyError, match=said):  # of a table, where the policy has no schema
        fk.publish(fk.Microdata(table(), SCHEMA), fk.Policy(FOUR), weights={"zipp": 3})
    with pytest.raises(PolicyError, match="must be a table"):
        fk.PublishOptions(weights=3)
    for text, message in (
        ("{ zipp = 3 }", "no quasi-identifier"),
        ("{ zip = -3 }", "above 0"),
        ('{ zip = "x" }', "above 0"),
        ("3", "table"),
    ):
        (tmp_path / "policy.toml").write_text(POLICY.replace("{ zip = 3 }", text))
        with pytest.raises(PolicyError, match=message):
            fk.Policy.load(tmp_path / "policy.toml")
    (tmp_path / "policy.toml").write_text(POLICY)
    assert fk.Policy.load(tmp_path / "policy.toml").options.weights == {"zip": 3}
    pc.write_csv(table(), tmp_path / "table.csv")
    command = ["publish", str(tmp_path / "table.csv"), "--policy", str(tmp_path / "policy.toml")]
    run = CliRunner()
    made = run.invoke(app, [*command, "--out", str(tmp_path / "out"), "--set", "weights.age=0.5"])
    assert made.exit_code == 0, made.output
    written = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert written["policy"]["publish"]["weights"] == {"zip": 3, "age": 0.5}
    for wrong, message in (("weights.agge=2", "did you mean"), ("weights.age=0", "above 0")):
        made = run.invoke(app, [*command, "--out", str(tmp_path / "no"), "--set", wrong])
        assert isinstance(made.exception, PolicyError)
        assert message in str(made.exception)
