"""What costs the detail of a release: columns and requirements, each left out in turn."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import foreknow as fk
from foreknow.methods.protocol import as_written
from foreknow.planning.costs import (
    Saving,
    given_away,
    made_of,
    reliefs,
    sample_of,
    savings,
    worth_saying,
)

pytestmark = pytest.mark.complete

FARS = Path(__file__).resolve().parents[2] / "shared" / "data" / "fars.csv"
ROLES = {"quasi_identifiers": ["month", "race", "sex"], "sensitive": "injury"}


def deaths(many=4000, seed=1, **more):
    """A register of accidents in which the month of death says who died."""
    random = np.random.default_rng(seed)
    died = random.random(many) < 0.4
    return pa.table(
        {
            "month": np.where(died, random.integers(1, 13, many), 0),
            "race": np.where(died, random.integers(1, 5, many), 0),
            "sex": random.choice(["f", "m"], many),
            "age": random.integers(0, 90, many),
            "state": random.integers(1, 51, many),
            "injury": np.where(died, "fatal", random.choice(["none", "minor", "major"], many)),
            **more,
        }
    )


def asking(roles, *required):
    return {"schema": roles, "require": list(required)}


LIMIT = {"facts": {"l": 0, "k": 3, "m": 1}, "below": 0.7}


BOTH = [{"sensitive": "ward", "l_diversity": {"l": 3}}, {"sensitive": "injury", **LIMIT}]


def costs_of(table, policy, cells=50_000):
    """The table as written, a sample of it, and what a publication of the sample would keep."""
    policy = fk.Policy.from_dict(policy)
    method = fk.Mondrian()
    written = as_written(method, policy.microdata(table), policy)
    sample = sample_of(written, policy, cells)
    return policy, method, written, sample, made_of(method, sample, policy)


def test_a_release_with_two_groups_is_worthless_where_all_but_one_column_is_lost():
    made = fk.publish(deaths(), asking(ROLES, LIMIT, {"k_anonymity": 5}))
    assert made.counts.n_groups == 2
    first, *others = made.advice
    assert first == "Worthless: next to nothing is left of 'month' and 'race'"
    month = next(said for said in others if said.startswith("'month' gives 'injury' away"))
    assert "100% have 'fatal'" in month
    assert "Leaving out 'month' and 'race' would keep no more of the other columns" in str(others)
    assert any(said.startswith("require[0] (Facts(l=0, k=3, m=1)) costs much") for said in others)
    assert not any("k_anonymity" in said for said in others)


def test_what_a_column_gives_away_is_counted_again():
    table = deaths()
    policy, _, written, *_ = costs_of(table, asking(ROLES, LIMIT))
    found = {each.column: each for each in given_away(written, policy, ROLES["quasi_identifiers"])}
    assert set(found) == {"month", "race"}
    rows = table.to_pylist()
    for name, each in found.items():
        having = [row for row in rows if str(row[name]) == each.label]
        assert each.having == len(having)
        assert each.share == sum(row["injury"] == each.value for row in having) / len(having)
        assert each.people == sum(row["injury"] == "fatal" for row in rows)


@pytest.mark.parametrize("seed", range(20))
def test_values_of_few_people_give_nothing_away_by_chance(seed):
    random = np.random.default_rng(seed)
    ill = random.choice([f"d{i}" for i in range(30)], 6000)
    table = pa.table({"zip": random.integers(0, 250, 6000), "sex": ["f", "m"] * 3000, "ill": ill})
    roles = {"quasi_identifiers": ["zip", "sex"], "sensitive": "ill"}
    policy, _, written, *_ = costs_of(table, asking(roles, {"facts": {}, "below": 0.1}))
    assert given_away(written, policy, roles["quasi_identifiers"]) == []


def test_what_is_kept_without_each_column_is_what_a_publication_without_it_keeps():
    """A column that goes with the secret, which is cut first and takes the room of the other."""
    random = np.random.default_rng(3)
    risk = random.random(3000)
    ill = np.where(random.random(3000) < 0.1 + 0.8 * risk, "yes", "no")
    score, age = np.round(risk * 20).astype(int), random.integers(20, 90, 3000)
    sick = pa.table({"score": score, "age": age, "ill": ill})
    roles = {"quasi_identifiers": ["score", "age"], "sensitive": "ill"}
    limit = {"facts": {"l": 0, "k": 2, "m": 0}, "below": 0.7}
    asked = asking(roles, limit)
    policy, method, _, sample, everything = costs_of(sick, asked)
    assert sample.n_people == 3000
    found = {each.columns: each for each in savings(method, sample, policy, everything)}
    assert set(found) == {("score",), ("age",)}
    made = fk.publish(sick, policy)
    assert made.utility.ncp == pytest.approx(dict(everything.ncp))
    for name, other in (("score", "age"), ("age", "score")):
        fewer = asking({**roles, "quasi_identifiers": [other]}, limit)
        without = fk.publish(sick, fewer).utility.ncp[other]
        assert found[name,].before == pytest.approx(made.utility.ncp[other])
        assert found[name,].after == pytest.approx(without)
    first = next(iter(found))
    assert first == ("score",)
    (said,) = worth_saying([found[first]], ["score"])
    assert said.startswith("Without 'score' the other columns would be generalized by")
    assert worth_saying([Saving(("score",), 0.5, 0.49, 3)], ["age"]) == []


def test_what_was_not_tried_is_not_said_to_cost_nothing():
    """A requirement of its own keeps a column from being left out."""
    roles = {**ROLES, "hierarchies": {"race": {"intervals": [1, 2]}}}
    levels = {"levels": {"race": {"at_least": 1}}}
    made = fk.publish(deaths(), asking(roles, LIMIT, {"k_anonymity": 5}, levels))
    assert made.advice[0] == "Worthless: next to nothing is left of 'month' and 'race'"
    assert not any("Leaving out" in said for said in made.advice)


def test_the_sample_is_always_the_same_and_has_values_as_often_as_the_table():
    table = deaths(9000)
    policy, method, written, sample, _ = costs_of(table, asking(ROLES, LIMIT), 3000)
    again = sample_of(written, policy, 3000)
    assert sample.n_people == again.n_people == 1000
    for one, other in zip(sample.attributes, again.attributes, strict=True):
        assert one.codes.tolist() == other.codes.tolist()
    assert sample.everyone().totals == pytest.approx(written.everyone().totals / 9, abs=1)
    made = [made_of(method, each, policy) for each in (sample, again)]
    assert made[0] == made[1]


def test_the_requirement_that_binds_is_found_by_leaving_out_and_relaxing_each():
    random = np.random.default_rng(0)
    many = 3000
    table = pa.table(
        {
            "age": random.integers(20, 80, many),
            "zip": random.integers(0, 30, many),
            "ill": random.choice(list("abcdef"), many),
        }
    )
    roles = {"quasi_identifiers": ["age", "zip"], "sensitive": "ill"}
    loose, close = {"facts": {"l": 1, "k": 1, "m": 1}, "below": 0.5}, {"t_closeness": {"t": 0.02}}
    policy, method, _, sample, everything = costs_of(table, asking(roles, loose, close))
    first, second = reliefs(method, sample, policy, everything)
    assert (first.place, first.line) == (1, "")
    assert (second.place, second.line[:18]) == (1, "t_closeness = { t ")
    eased = asking(roles, loose, {"t_closeness": {"t": 0.04}})
    assert fk.publish(table, asking(roles, loose)).counts.n_groups == first.kept_detail.groups
    assert fk.publish(table, eased).counts.n_groups == second.kept_detail.groups
    told = fk.publish(table, asking(roles, loose, close)).advice
    assert any(said.startswith("require[1] (t_closeness) costs much") for said in told)
    without = re.compile(r"Without 'zip' the other columns would be generalized by \d+%, not \d+%")
    assert any(map(without.match, told))
    assert not any("require[0]" in said for said in told)


def test_a_higher_limit_is_only_named_where_it_was_tried_and_helps():
    rows = pa.table({"age": [20, 20, 20, 30], "ill": ["flu", "flu", "flu", "cold"]})
    roles = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    none = fk.publish(rows, asking(roles, {"facts": {}, "below": 0.76})).advice
    assert not any("was tried" in said for said in none)
    rows = pa.table({"age": [20] * 20 + [60] * 20, "ill": ["a", "b"] * 10 + ["a"] * 12 + ["b"] * 8})
    some = fk.publish(rows, asking(roles, {"facts": {}, "below": 0.56})).advice
    assert some[-1] == "below = 0.67 in require[0] was tried: it gives 2 groups"
    assert fk.publish(rows, asking(roles, {"facts": {}, "below": 0.67})).counts.n_groups == 2


def test_where_an_engine_counts_the_advice_is_the_same(tmp_path):
    pc.write_csv(deaths(), tmp_path / "t.csv")
    asked = asking(ROLES, LIMIT, {"k_anonymity": 5})
    made = [fk.publish(tmp_path / "t.csv", asked, engine=engine) for engine in ("memory", "duckdb")]
    assert made[0].advice == made[1].advice != ()


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("roles", "required"),
    [
        ({"semantics": "set", "person": "who"}, [{"facts": {}, "below": 0.75}]),
        ({"unit": "row", "person": "who"}, [{"facts": {}, "below": 0.75}, {"k_anonymity": 5}]),
        ({"sensitive": ["injury", "ward"]}, BOTH),
        ({"other": ["ward"]}, [{**LIMIT, "knowing": []}, {"k_anonymity": 5}]),
        ({}, [{"facts": [{"k": 2, "below": 0.7}, {"k": 5, "below": 0.8}]}]),
        ({}, [{"facts": {"k": 2}, "below": 0.7, "any_of": ["fatal"]}]),
        ({}, [{"t_closeness": {"t": 0.01}}, {"k_anonymity": 5}, {"beta_likeness": {"beta": 0.01}}]),
    ],
)
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_advice_never_stops_a_publication(roles, required, method):
    many = 2000
    random = np.random.default_rng(2)
    more = {"who": np.arange(many), "ward": random.choice(["a", "b", "c", "d"], many)}
    try:
        made = fk.publish(
            deaths(many, **more), asking({**ROLES, **roles}, *required), method=method
        )
    except fk.NoSafeRelease:
        return
    assert made.audit.safe
    assert all(isinstance(said, str) for said in made.advice)


def test_a_useful_release_has_no_advice():
    roles = {**ROLES, "quasi_identifiers": ["sex", "age", "state"]}
    assert fk.publish(deaths(), asking(roles, LIMIT)).advice == ()


@pytest.mark.skipif(not FARS.exists(), reason=f"there is no {FARS.name} beside the repository")
def test_fars_the_month_of_death_gives_injury_away():
    roles = {"quasi_identifiers": ["ideathmon", "irace", "isex"], "sensitive": "iinjury"}
    made = fk.publish(FARS, asking(roles, LIMIT, {"k_anonymity": 5}))
    assert made.advice[0].startswith("Worthless: next to nothing is left of ")
    assert any(said.startswith("'ideathmon' gives 'iinjury' away") for said in made.advice)
