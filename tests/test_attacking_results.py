"""What an attack says, shows and writes; and what it refuses, with a hint."""

import json

import numpy as np
import pyarrow as pa
import pytest
from tests.attacks import BUCKETS, DIVERSE, LEVELS, microdata, policy_for

import foreknow as fk
from foreknow.attacking import Algorithm, attack

AGES, VALUES = [50, 40, 50, 30, 30], ["flu", "hiv", "hiv", "flu", "flu"]


@pytest.fixture
def leaking():
    """Three of five people are certain."""
    found = microdata(VALUES, age=AGES)
    return attack(found, fk.Mondrian(), policy_for(DIVERSE, found))


@pytest.fixture
def harmless():
    found = microdata(["flu", "hiv"], age=[30, 40])
    return attack(found, fk.Mondrian(), policy_for(DIVERSE, found))


def test_what_it_finds(leaking):
    assert leaking.certain == (2, 4, 5)
    assert [case.rows for case in leaking.cases[:2]] == [(2,), (4, 5)]
    assert (leaking.n_people, leaking.n_groups) == (5, 2)
    assert leaking.worst.exact == 1
    assert leaking.worst.limit == 1
    assert leaking.not_refuted == ()
    with pytest.raises(fk.InputError, match="row 9"):
        leaking.posterior(9, "flu")
    with pytest.raises(fk.InputError, match="'cough'"):
        leaking.posterior(1, "cough")


def test_nobody_is_named_unless_asked(leaking):
    assert [one["row"] for one in leaking.worst_people()] == [2, 4, 5]
    named = leaking.worst_people(2, names="pid")
    assert [one["name"] for one in named] == [1, 3]
    assert all("row" not in one for one in named)
    with pytest.raises(fk.InputError, match="no column 'nam'"):
        leaking.worst_people(names="nam")


def test_how_it_is_shown(leaking, harmless, tmp_path):
    assert repr(leaking) == "Attack(Mondrian: 3 of 5 people certain)"
    assert repr(harmless) == "Attack(Mondrian: nobody found out any further)"
    assert not harmless.found
    brief = leaking._repr_html_()
    assert "3 people are certain" in brief
    assert "rows 4, 5" in brief
    leaking.to_html(tmp_path / "attack.html")
    page = (tmp_path / "attack.html").read_text("utf-8")
    assert "Attack by somebody who knows the algorithm" in page
    leaking.to_json(tmp_path / "attack.json")
    written = json.loads((tmp_path / "attack.json").read_text("utf-8"))
    assert written["certain"] == [2, 4, 5]
    assert written["method"] == {"name": "Mondrian", "cuts": 5}
    assert (written["worlds"], written["consistent"]) == ("6", "2")


def test_what_a_witness_says():
    found = microdata(VALUES, age=AGES)
    policy = policy_for(DIVERSE, found)
    groups = fk.Mondrian().partition(found, policy)
    rows = pa.table({"age": AGES, "disease": VALUES, "gid": groups})
    release = fk.Release.from_groups(rows, group="gid", sensitive="disease")
    adversary = Algorithm(fk.Mondrian(), policy)
    disclosure = adversary.disclosure(release, "hiv")
    assert disclosure.exact == 1
    assert disclosure.witness.signature == {"age": 40}
    assert disclosure.to_dict()["witness"]["group"] == disclosure.witness.group
    assert adversary.disclosure(release, "cough").probability == 0
    assert not adversary.monotone()
    assert adversary.to_dict() == {"algorithm": {"name": "Mondrian", "cuts": 5}}
    assert repr(adversary) == "Algorithm(Mondrian(cuts=5))"
    with pytest.raises(fk.InputError, match="attack what it makes"):
        adversary.ledger("1/2")


def test_it_can_be_required_in_a_policy():
    found = microdata(VALUES, age=AGES)
    policy = policy_for(DIVERSE, found)
    groups = fk.Mondrian().partition(found, policy)
    rows = pa.table({"age": AGES, "disease": VALUES, "gid": groups})
    release = fk.Release.from_groups(rows, group="gid", sensitive="disease")
    stricter = fk.Policy([fk.Requirement(Algorithm(fk.Mondrian(), policy), below="0.9")])
    assert fk.audit(release, policy).safe
    assert not fk.audit(release, stricter).safe


def test_a_release_of_another_method_is_told():
    rows = pa.table({"age": [1, 2, 3, 4], "disease": list("abab"), "gid": [0, 0, 0, 0]})
    release = fk.Release.from_groups(rows, group="gid", sensitive="disease")
    policy = fk.Policy(
        DIVERSE.requirements, fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    )
    rows = rows.set_column(2, "gid", pa.array([0, 1, 0, 1]))
    other = fk.Release.from_groups(rows, group="gid", sensitive="disease")
    assert Algorithm(fk.Mondrian(), policy).disclosure(release).exact is not None
    with pytest.raises(fk.InputError, match="is it the method"):
        Algorithm(fk.Mondrian(), policy).disclosure(other)
    with pytest.raises(fk.InputError, match="is it the method"):
        Algorithm(fk.Mondrian(), policy, worlds=3).disclosure(other)


def test_rows_that_are_left_out():
    """Their values are one more bag; who is left out is seen."""

    def pipeline(rows):
        values = rows["disease"].to_pylist()
        return [None if value == "rare" else 0 for value in values]

    found = attack(microdata(["flu", "rare", "flu", "hiv"], age=range(4)), pipeline)
    assert found.n_groups == 2
    assert found.posterior(2, "rare") == 1
    assert not found.certain  # the release itself says it
    dropped = fk.Schema(quasi_identifiers=["age"], sensitive="disease", missing="drop")
    rows = pa.table({"age": [1, 2, 3, 4], "disease": ["a", None, "b", "a"]})
    found = attack(fk.Microdata(rows, dropped), lambda table: [0] * table.num_rows)
    assert (found.n_people, found.n_worlds) == (3, 3)
    with pytest.raises(fk.InputError, match="row 2"):
        found.posterior(2, "a")


def test_a_function_sees_the_types_of_the_source():
    seen = []

    def pipeline(rows):
        seen.append((rows.schema, rows["code"].to_pylist()))
        return [0] * rows.num_rows

    rows = pa.table({"age": [1, 2], "code": pa.array([7, 9], pa.int16()), "name": ["x", "y"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="code", identifiers=["name"])
    found = attack(fk.Microdata(rows, schema), pipeline)
    assert all(kind == rows.schema for kind, _ in seen)
    assert {tuple(codes) for _, codes in seen} == {(7, 9), (9, 7)}
    assert found.posterior(1, 7) == pytest.approx(0.5)


def test_the_level_of_a_generalization_is_seen_in_its_form():
    """Two levels with the same groups are two releases, unless only groups are published."""
    levels = {"age": fk.Intervals([10, 20])}
    found = microdata(list("abab"), levels, age=[1, 2, 21, 22])
    generalized = policy_for(DIVERSE, found)
    groups = fk.Policy(DIVERSE.requirements, schema=found.schema, options=BUCKETS)
    assert attack(found, fk.FullDomain(), groups).exact
    assert attack(found, fk.FullDomain(), generalized).exact


def broken(rows):
    raise KeyError("age")


@pytest.mark.parametrize(
    ("method", "more", "said"),
    [
        (fk.Mondrian, {}, "not its class"),
        (17, {}, "is no method"),
        (broken, {}, "KeyError: 'age'"),
        (lambda rows: [0], {}, "one for each of the 5 rows"),
        (lambda rows: [[0]] * 5, {}, "one group for each row"),
        (fk.FullDomain(seconds=1), {}, "time budget"),
        (fk.Mondrian(), {"worlds": 0}, "worlds"),
        (fk.Mondrian(), {"seconds": 0}, "seconds"),
        (fk.Mondrian(), {"seed": -1}, "seed"),
        (fk.Mondrian(), {"seeds": []}, "seeds"),
        (fk.Mondrian(), {"groups": [0, 0]}, "5 rows"),
        (fk.Mondrian(), {"groups": [0, 1, 0, 1, 0]}, "does not make these groups"),
    ],
)
def test_what_is_refused(method, more, said):
    found = microdata(VALUES, age=AGES)
    with pytest.raises(fk.InputError, match=said):
        attack(found, method, policy_for(DIVERSE, found), **more)


def test_more_that_is_refused():
    found = microdata(VALUES, LEVELS, age=AGES)
    with pytest.raises(fk.InputError, match="Microdata"):
        attack(pa.table({"a": [1]}), fk.Mondrian())
    several = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", semantics="set", person="pid"
    )
    rows = pa.table({"pid": [1, 1, 2], "age": [3, 3, 4], "disease": ["a", "b", "a"]})
    with pytest.raises(fk.InputError, match="one sensitive value"):
        attack(fk.Microdata(rows, several), fk.Mondrian())
    release = fk.GroupCounts.from_bags([["a", "b"]])
    with pytest.raises(fk.InputError, match="schema"):
        Algorithm(fk.Mondrian()).disclosure(release)
    with pytest.raises(fk.InputError, match="who is in which group"):
        Algorithm(fk.Mondrian(), schema=found.schema).disclosure(release)
    rows = pa.table({"age": [1, 2], "disease": ["a", "b"], "gid": [0, 0]})
    release = fk.Release.from_groups(rows, group="gid", sensitive="disease")
    with pytest.raises(fk.InputError, match="symmetric=True"):
        Algorithm(lambda table: [0, 0], schema=found.schema).disclosure(release)
    assert np.isclose(
        Algorithm(lambda table: [0, 0], schema=found.schema, symmetric=True)
        .disclosure(release)
        .probability,
        0.5,
    )
