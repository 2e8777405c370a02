"""ART at the edges of its limits: equality, large denominators, no prior, one group of all."""

import os
import random as plain
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.art_tables import ArtTable, some_limits
from tests.oracle.art_worlds import keeps

import foreknow as fk
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.signature_groups import PriorMatrix
from foreknow.methods.art import ART, Limit
from foreknow.methods.art.groups import like_parts
from foreknow.methods.art.limits import LimitTable
from foreknow.methods.art.problem import ArtProblem
from foreknow.methods.art.search import robust_groups

pytestmark = pytest.mark.usefixtures("tiny_tables")

READINGS = ("joint", "binary")
TIMES = 20 if os.environ.get("FOREKNOW_NIGHTLY") else 1
SCHEMA = fk.Schema(quasi_identifiers=["p"], sensitive="d")


def table_of(attribute, rows):
    cells = [(s, x, chance) for s, row in rows.items() for x, chance in row.items()]
    names = (attribute, "value", "probability")
    return pa.table(dict(zip(names, map(list, zip(*cells, strict=True)), strict=True)))


def crossed(reading):
    """Each set lets others of the people have a value freely, so all of them may share a group."""
    often, seldom = Fraction(5, 12), Fraction(1, 12)
    rows = [[often, often, seldom, seldom], [seldom, seldom, often, often]]
    asked = [[({0, 1, 2, 3}, None, None, Fraction(3, 2))]] * 2
    signatures = [[0, 0, 1, 1], [1, 1, 0, 0]]
    return ArtTable(signatures, [0, 1, 2, 3], [rows] * 2, 2, reading, None, asked)


@pytest.mark.parametrize("reading", READINGS)
def test_one_may_keep_the_limit_of_one_set_and_another_that_of_another(reading):
    table = crossed(reading)
    assert keeps(table.people, table.values, table.asked, reading)
    assert robust_groups(table.problem).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("reading", READINGS)
def test_no_safe_group_has_fewer_people_than_the_least(reading):
    tight = 0
    for table in some_limits(11, reading, 100 * TIMES, (1, 6), 4):
        problem = table.problem
        for people in range(1, 1 << problem.n_people):
            group = [t for t in range(problem.n_people) if people >> t & 1]
            own = [table.people[t] for t in group], [table.values[t] for t in group]
            if len(group) <= problem.least and keeps(*own, table.asked, reading):
                assert len(group) == problem.least, table
                tight += 1
    assert tight


@given(
    st.fractions(0, 1, max_denominator=10**40),
    st.booleans(),
    st.integers(1, 2**31 - 1),
    st.integers(0, 3),
)
def test_rounded_limits_settle_shares_exactly(limit, strict, size, off):
    table = LimitTable.of_shares([[(limit, strict)]])
    rounded = table.rounded
    assert rounded.num.dtype == np.int64
    # Of shares c/N those next to the limit, where a rounding would show.
    for n in (size, size // 1000 + 1, Fraction(limit).limit_denominator(2**31 - 1).denominator):
        count = int(limit * n) - 1 + off
        if 0 < count <= n:
            share = Fraction(count, n)
            assert rounded.holds(0, 0, share) == table.holds(0, 0, share)


def test_neighbours_of_a_limit_are_next_to_it():
    limit = Fraction(10**12 + 1, 3 * 10**12)
    rounded = LimitTable.of_shares([[(limit, True)]]).rounded.share(0, 0)[0]
    assert rounded < limit
    assert limit - rounded < Fraction(2, 2**31 * 3)
    below = [Fraction(int(limit * q), q) for q in range(2**31 - 3, 2**31 + 1)]
    assert max(below) <= rounded


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("prior", ["0.3333333333333334", "0.33333333334", "0.34"])
def test_a_value_that_just_keeps_its_limit_is_no_proof(form, prior):
    rows = {"x": {"a": "0.3", "b": prior, "c": "0.3"}}
    microdata = fk.Microdata(pa.table({"p": list("xxx"), "d": list("bca")}), SCHEMA)
    asked = fk.Requirement(Priors(table_of("p", rows)), at_most_times=1, values=["b"])
    options = fk.PublishOptions(method="art", form=form)
    policy = fk.Policy([asked], schema=SCHEMA)
    assert fk.publish(microdata, policy, options=options).audit.safe


def test_a_value_that_just_breaks_its_limit_is_told_apart():
    rows = {"x": {"a": "0.3", "b": "0.3333333333333333", "c": "0.3"}}
    microdata = fk.Microdata(pa.table({"p": list("xxx"), "d": list("bca")}), SCHEMA)
    with pytest.raises(fk.NoSafeRelease, match="'b' is too frequent: 1 of 3"):
        ART(limits=[Limit(Priors(table_of("p", rows)), times=1, values=["b"])]).partition(microdata)


def test_blocks_that_just_keep_a_limit_are_divided():
    limit = Fraction(10**20 + 1, 3 * 10**20)
    matrix = PriorMatrix.from_fractions([[Fraction(1, 3), Fraction(2, 3)]])
    limits = LimitTable.of_shares([[(limit, False), (Fraction(1), False)]])
    values = [0, 1, 1] * 10
    problem = ArtProblem.of_signatures([[0] * 30], [matrix], values, limits=[limits])
    assert np.bincount(robust_groups(problem)).tolist() == [3] * 10


def test_priors_of_large_denominators_are_compared():
    drawn = plain.Random(3)
    big = {"p": drawn.choices("uvwxyz", k=60_000), "d": drawn.choices("aabbc", k=60_000)}
    priors = Priors.learn(pa.table(big), ["p"], "d")
    few = pa.table({"p": list("uvwxyz") * 50, "d": ["a"] * 200 + ["b"] * 60 + ["c"] * 40})
    with pytest.raises(fk.NoSafeRelease, match=r"'a' is too frequent: 200 of 300 .* allow 18\d\."):
        ART(times="3/2", priors=priors).partition(fk.Microdata(few, SCHEMA))


@pytest.mark.parametrize("reading", READINGS)
def test_priors_that_rule_the_table_out_are_said_to(reading):
    priors = Priors(table_of("p", {"x": {"a": 0, "b": 1}}), reading)
    microdata = fk.Microdata(pa.table({"p": list("xxx"), "d": list("aaa")}), SCHEMA)
    with pytest.raises(fk.NoSafeRelease, match="its prior is 0 for everybody"):
        ART(times=2, priors=priors).partition(microdata)


@pytest.mark.parametrize("times", [0, "1/2", -1, 0.999])
def test_times_are_one_or_more_as_in_requirements(times):
    priors = Priors(table_of("p", {"x": {"a": "1/2", "b": "1/2"}}))
    said = "times must be 1 or more \\(1 means as likely as before\\)"
    for made in (
        lambda: ART(times=times, priors=priors),
        lambda: Limit(priors, times=times),
        lambda: fk.Requirement(priors, at_most_times=times),
    ):
        with pytest.raises(fk.InputError, match=said):
            made()
    assert Limit(priors, times=1).times == 1


def learned(seed, n, times, semantics="joint"):
    """People with two attributes, priors of each learned from them, and the limits."""
    drawn = plain.Random(seed)
    people = {"p": drawn.choices("xy", k=n), "q": drawn.choices("uv", k=n)}
    rows = pa.table({**people, "z": range(n), "d": drawn.choices("aaaabbbccd", k=n)})
    priors = Priors.learn(rows, [["p"], ["q"]], "d", semantics=semantics)
    policy = fk.Policy([fk.Requirement(priors, at_most_times=times)])
    return rows, priors, policy


def released(rows, groups):
    held = rows.append_column("gid", pa.array(groups))
    return fk.Release.from_groups(held, group="gid", sensitive="d")


@pytest.mark.parametrize("semantics", READINGS)
@pytest.mark.parametrize("seed", range(3))
def test_a_table_that_is_safe_as_one_group_is_divided_into_like_parts(seed, semantics, monkeypatch):
    rows, priors, policy = learned(seed, 60, "5/4", semantics)
    assert fk.audit(released(rows, np.zeros(60, dtype=np.int64)), policy).safe
    # Nobody is grouped before: all are in the pool.
    everybody = [], np.arange(60)
    monkeypatch.setattr("foreknow.methods.art.search._attempt", lambda *_: everybody)
    schema = fk.Schema(quasi_identifiers=["p", "q", "z"], sensitive="d")
    groups = ART(times="5/4", priors=priors).partition(fk.Microdata(rows, schema), seed=0)
    assert fk.audit(released(rows, groups), policy).safe


def test_a_search_that_leaves_people_over_ends_in_a_pool():
    rows, priors, policy = learned(1, 24, "1.1")
    schema = fk.Schema(quasi_identifiers=["p", "q", "z"], sensitive="d")
    groups = ART(times="1.1", priors=priors).partition(fk.Microdata(rows, schema), seed=0)
    assert fk.audit(released(rows, groups), policy).safe


@pytest.mark.parametrize("reading", READINGS)
def test_like_parts_are_safe_and_hold_everybody(reading):
    random = np.random.default_rng(12)
    parted = 0
    for table in some_limits(12, reading, 12 * TIMES, (2, 9), 3):
        problem = table.problem
        people = np.flatnonzero(random.random(problem.n_people) < 0.9)
        if problem.unique or not len(people):
            continue
        own = [table.people[t] for t in people], [table.values[t] for t in people]
        found = like_parts(problem, people)
        if found is None:
            assert not keeps(*own, table.asked, reading), table
            continue
        parted += len(found) > 1
        assert sorted(np.concatenate(found).tolist()) == people.tolist()
        for group in found:
            own = [table.people[t] for t in group], [table.values[t] for t in group]
            assert keeps(*own, table.asked, reading), (table, group)
    assert parted
