"""Utility: what a release is worth, by definitions in plain Python; and weights of columns."""

import json
import random
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import desk as desk
from tests.examples import examples
from tests.methods.test_fulldomain import OBJECTIVES, SEEDS, Table

import foreknow as fk
from foreknow.data.counts import GroupCounts
from foreknow.data.generalization import coarsened, style_of
from foreknow.data.utility import optimal_discernibility, utility_of
from foreknow_judge.errors import PolicyError


def people_of(columns, **hierarchies):
    n = len(next(iter(columns.values())))
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="d", hierarchies=hierarchies)
    return fk.Microdata(pa.table({**columns, "d": (["x", "y"] * n)[:n]}), schema)


def days(*given):
    return [date(2024, 1, day) for day in given]


def hours(*given):
    return [datetime(2024, 1, 1 + hour // 24, hour % 24) for hour in given]


ORDER = fk.Ordered(["low", "mid", "high", "top"])


@pytest.mark.parametrize(
    ("values", "groups", "hierarchy", "costs"),
    [
        (["low", "high", "top", "top"], [0, 0, 1, 1], ORDER, [0.5, 0]),  # "mid" does not occur
        (days(1, 11, 6, 11), [0, 1, 0, 1], None, [0.5, 0]),
        (hours(1, 13, 25), [0, 0, 1], None, [0.5, 0]),
        ([10, None, 30, 20], [0, 0, 1, 1], None, [1 / 3, 1 / 3]),
        ([10, None, 30, 20], [0, 1, 0, 0], None, [2 / 3, 0]),
        ([7, 7, 7], [0, 1, 1], None, [0, 0]),
        (["a", "a", "a"], [0, 1, 1], None, [0, 0]),
        ([7, 7, 7], [0, 1, 1], fk.Intervals([5]), [0, 0]),
        ([1.0, float("inf"), 2.0, 90.0], [0, 0, 1, 1], None, [1, 1 / 3]),  # by ranks
    ],
)
def test_columns_of_every_kind_cost_their_range(values, groups, hierarchy, costs):
    (attribute,) = people_of({"q": values}, **({"q": hierarchy} if hierarchy else {})).attributes
    found = coarsened(attribute, np.array(groups), max(groups) + 1, style_of(attribute, None))
    assert found.widths.tolist() == pytest.approx(costs)


@examples(100, deadline=None)
@given(st.lists(st.lists(st.sampled_from("xyz"), min_size=1, max_size=9), min_size=1, max_size=9))
def test_sizes_and_discernibility_are_those_of_the_groups(groups):
    sizes = [len(group) for group in groups]
    rows = pa.table({"g": range(len(groups)), "s": groups})
    listed = pa.table({"g": np.repeat(rows["g"], sizes), "s": rows["s"].combine_chunks().flatten()})
    release = fk.Release.from_groups(listed, group="g", sensitive="s")
    for found in (utility_of(GroupCounts.from_bags(groups)), fk.utility_of(release)):
        assert (found.people, found.groups) == (sum(sizes), len(sizes))
        assert (found.smallest_group, found.largest_group) == (min(sizes), max(sizes))
        assert found.average_group_size == pytest.approx(sum(sizes) / len(sizes))
        assert found.discernibility == sum(size**2 for size in sizes)
        assert (found.ncp, found.average_ncp) == ({}, None)
    large = GroupCounts([2**52], [0, 1], [0], [2**52], ["x"])
    assert utility_of(large).discernibility == 2**104


def test_the_optimum_is_that_of_trying_all_sizes():
    """The least sum of squares, by trying each last group."""
    for least in range(1, 13):
        costs = [0]
        for n in range(1, 61):
            sizes = range(least, n + 1)
            costs.append(min((costs[n - s] + s**2 for s in sizes), default=float("inf")))
        for people in range(least, 61):
            assert optimal_discernibility(people, least) == costs[people]


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
def test_there_is_no_optimum_without_groups(people, least, said):
    with pytest.raises(fk.InputError, match=said):
        fk.optimal_discernibility(people, least)


def test_groups_may_be_of_rows_some_of_which_are_left_out():
    table = pa.table({"age": [10, 99, 30, 20], "d": ["x", None, "y", "x"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="d", missing="drop")
    microdata, of_people = fk.Microdata(table, schema), np.array([0, 0, 1])
    counts = microdata.counts(of_people)
    found = fk.utility_of(counts, microdata, np.array([0, -1, 0, 1]))
    assert found == fk.utility_of(counts, microdata, of_people)
    assert found.ncp == {"age": pytest.approx(2 / 3)}


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
def test_what_cannot_be_measured_is_refused(given, said):
    with pytest.raises(fk.InputError, match=said):
        fk.utility_of(*given(people_of({"age": [10, 30, 20, 50]})))


def test_penalties_are_averaged_over_people_and_then_over_columns():
    people = people_of({"age": [10, 30, 20, 50], "sex": ["f", "m", "f", "f"]})
    groups = np.array([0, 0, 0, 1])
    found = utility_of(people.counts(groups), people, groups)
    assert found.ncp == {"age": pytest.approx(0.5 * 3 / 4), "sex": pytest.approx(3 / 4)}
    assert found.average_ncp == pytest.approx((0.375 + 0.75) / 2)
    weighed = utility_of(people.counts(groups), people, groups, weights={"age": 0.5})
    assert weighed.average_ncp == pytest.approx((0.375 / 2 + 0.75) / 1.5)
    people = people_of(
        {"age": [10, 30, 20], "sex": [*"fmf"], "zip": [1, 7, 9]}, zip=fk.Intervals([5])
    )
    for groups, cost in ((np.zeros(3, dtype=np.int64), 1), (np.arange(3), 0)):
        found = utility_of(people.counts(groups), people, groups)
        plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert plain == found.to_dict()
        assert plain["average_ncp"] == found.average_ncp == cost


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


@examples(60, daily=5, deadline=None)
@given(seed=SEEDS, objective=OBJECTIVES, one=st.sampled_from([0.25, 3, 10]))
def test_fulldomain_finds_the_node_that_loses_least_by_its_weights(seed, objective, one):
    case = Table(seed)
    raw, columns = case.case.microdata(), len(case.every.kinds)
    options = fk.PublishOptions(weights={raw.schema.quasi_identifiers[0]: one})
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
    made, raw = fk.publish(table(), policy), fk.Microdata(table(), SCHEMA)
    own = made.utility.ncp
    assert made.utility.average_ncp == pytest.approx((own["age"] + 3 * own["zip"]) / 4)
    assert made.utility.to_dict()["weights"] == {"zip": 3}
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    report = fk.utility_report(tmp_path / "out", raw, predicates=1)
    assert report.utility.average_ncp == pytest.approx(made.utility.average_ncp)
    # Equal weights are none.
    alike = fk.Policy(FOUR, SCHEMA, fk.PublishOptions(weights={"zip": 2, "age": 2}))
    plain = fk.Mondrian().partition(raw, fk.Policy(FOUR, SCHEMA))
    assert fk.Mondrian().partition(raw, alike).tolist() == plain.tolist()


@pytest.mark.parametrize("given", [0, -1, True, "much", float("nan"), float("inf"), None])
def test_what_is_no_number_above_0_is_refused(given):
    with pytest.raises(PolicyError, match="'zip'"):
        fk.PublishOptions(weights={"zip": given})


def test_weights_of_other_columns_are_refused():
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
