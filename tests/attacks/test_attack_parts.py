"""Mondrian attacked part by part says what enumeration says, at sizes beyond enumeration."""

import time
from fractions import Fraction

import numpy as np
import pytest
from tests.attacks.small_methods import (
    BELOW_2_3,
    BUCKETS,
    DIVERSE,
    LEVELS,
    microdata,
    random_table,
    together,
)
from tests.examples import NIGHTLY
from tests.oracle.algorithm_worlds import posteriors

import foreknow as fk
from foreknow.methods.fulldomain.replay import Replay as NodeReplay
from foreknow.methods.mondrian.replay import Replay
from foreknow.methods.protocol import as_written

pytestmark = pytest.mark.usefixtures("tiny_tables")

REQUIREMENTS = [
    DIVERSE.requirements,
    BELOW_2_3.requirements,
    [fk.Requirement(fk.Facts(l=1), below="3/4", knowing=[])],
    [fk.Requirement(fk.Facts(k=1), below="9/10", knowing=[])],
    [fk.Requirement(fk.Facts(l=1, m=1), below="9/10", values=["a"], knowing=[])],
    [fk.Requirement(fk.Implications(1), below="9/10", knowing=[])],
    [fk.Requirement(fk.Facts(), below="4/5", knowing=[]), fk.Requirement(fk.GroupSize(3))],
    [
        fk.Requirement(fk.Facts(l=1), below=1, knowing=[]),
        fk.Requirement(fk.Facts(m=1), below="3/4", knowing=[]),
    ],
]
LARGER = [
    [fk.Requirement(fk.Facts(1, 1, 0), below="3/4", knowing=[])],
    [fk.Requirement(fk.Facts(1, 2, 1), below="4/5", knowing=[])],
    [fk.Requirement(fk.Implications(2), below="9/10", knowing=[])],
    [fk.Requirement(fk.Facts(0, 3, 0), below="5/6", knowing=[])],
    [
        fk.Requirement(fk.Facts(2, 2, 0), below="9/10", values=["a", "b"], knowing=[]),
        fk.Requirement(fk.Facts(0, 0, 2), below="2/3", knowing=[]),
    ],
]


def of_worlds(table, values, policy, method, **columns):
    """Everybody's posteriors by running the method on every world, each a table of its own."""
    groups = method.partition(table, policy).tolist()

    def run(world):
        try:
            return together(method.partition(microdata(world, **columns), policy).tolist())
        except fk.NoSafeRelease:
            return None

    return posteriors(values, groups, run, together(groups))


def is_within(found, expected, values):
    """Exact where it says so, intervals that hold, and nobody wrongly proved not to be certain."""
    beliefs = found._posteriors
    open_people = set(found.perhaps_certain)
    for person in range(len(values)):
        cell = beliefs.worlds.cell_of[person]
        own = [expected.get((person, value), 0) for value in sorted(set(values))]
        if 1 in own and len(set(values)) > 1 and not beliefs.known[cell]:
            alone = beliefs.worlds.shares[cell].max() == 1
            assert alone or person + 1 in open_people
        for value, chance in zip(sorted(set(values)), own, strict=True):
            code = found._microdata.values.codes[value]
            exact = beliefs.posterior(cell, code)
            assert exact is None or exact == chance, (person, value)
            assert beliefs.low[cell, code] - 1e-9 <= chance <= beliefs.high[cell, code] + 1e-9


@pytest.mark.parametrize("seed", range(200 if NIGHTLY else len(REQUIREMENTS)))
def test_parts_say_what_enumeration_says(seed):
    """Below all worlds of the release, so that it is not enumerated as a whole."""
    random = np.random.default_rng(seed)
    kinds = {"age": 6, "zip": 4} if seed % 3 else {"age": 8}
    people = int(random.integers(6, 9 if NIGHTLY else 8))
    requirements = REQUIREMENTS[seed % len(REQUIREMENTS)]
    method = fk.Mondrian(cuts=int(random.choice([1, 2, 5])))
    done = 0
    while done < (3 if NIGHTLY else 1):
        values, columns, table = random_table(random, people, kinds, 3)
        if "a" not in values:
            continue
        policy = fk.Policy(requirements, table.schema, BUCKETS)
        try:
            expected, n_worlds, possible = of_worlds(table, values, policy, method, **columns)
        except fk.NoSafeRelease:
            continue
        done += 1
        for most in (60, 12, 2) if NIGHTLY else [(60, 2)[seed % 2]]:
            found = fk.attack(table, method, policy, worlds=most, seed=seed)
            assert found.n_worlds == n_worlds
            is_within(found, expected, values)
            if found.how == "parts" and found.exact:
                assert found.consistent == possible
            surer = {p + 1 for (p, _), chance in expected.items() if chance == 1}
            assert set(found.certain) <= surer


def test_hierarchies_divide_into_several_children():
    random = np.random.default_rng(8)
    seen = set()
    for _ in range(12 if NIGHTLY else 2):
        values, columns, table = random_table(random, 8 if NIGHTLY else 7, {"age": 8}, 3, LEVELS)
        policy = fk.Policy(BELOW_2_3.requirements, table.schema, BUCKETS)

        def run(world, columns=columns, policy=policy):
            try:
                own = fk.Mondrian().partition(microdata(world, LEVELS, **columns), policy)
            except fk.NoSafeRelease:
                return None
            return together(own.tolist())

        try:
            groups = fk.Mondrian().partition(table, policy).tolist()
        except fk.NoSafeRelease:
            continue
        expected, _, _ = posteriors(values, groups, run, together(groups))
        found = fk.attack(table, fk.Mondrian(), policy, worlds=40 if NIGHTLY else 15, seed=1)
        seen.add(found.how)
        is_within(found, expected, values)
    assert "parts" in seen


def test_a_release_of_copies_has_the_posteriors_of_each():
    """Three towns far apart, each the five people of the example: 216 worlds, 8 are possible."""
    ages, values = [50, 40, 50, 30, 30], ["flu", "hiv", "hiv", "flu", "flu"]
    town = [place for place in ("a", "b", "c") for _ in ages]
    exact = fk.PublishOptions(labels={"age": "exact"})  # on a grid they are one group
    one = fk.attack(
        microdata(values, age=ages), fk.Mondrian(), fk.Policy(DIVERSE.requirements, options=exact)
    )
    table = microdata(values * 3, {"town": fk.Mask(1)}, town=town, age=ages * 3)
    policy = fk.Policy(DIVERSE.requirements, table.schema, exact)
    found = fk.attack(table, fk.Mondrian(), policy, worlds=7)
    assert (found.how, found.exact, found.n_settled) == ("parts", True, 15)
    assert found.n_worlds == one.n_worlds**3
    assert found.consistent == one.consistent**3
    for copy in range(3):
        for row in range(1, 6):
            assert found.posterior(5 * copy + row, "flu") == one.posterior(row, "flu")
    assert len(found.certain) == 3 * len(one.certain) == 9
    assert found.parts > 1
    assert "the posteriors are exact" in found._repr_html_()


def larger(random):
    """How many people, and their values, of which two are there in any case."""
    n = int(random.integers(20, 150))
    values = random.choice(list("abcdef"), n, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]).tolist()
    return n, ["a", "b", *values[2:]]


def near(random, table, groups, most):
    """Worlds that some exchanges within groups make."""
    for _ in range(12 if NIGHTLY else 4):
        codes = np.asarray(table.sensitive_codes).copy()
        for _ in range(int(random.integers(1, most))):
            one = int(random.integers(len(codes)))
            other = int(random.choice(np.flatnonzero(groups == groups[one])))
            codes[[one, other]] = codes[[other, one]]
        yield codes


@pytest.mark.parametrize("seed", range(120 if NIGHTLY else len(LARGER)))
def test_decisions_say_what_runs_make_of_larger_worlds(seed):
    """Tables of 20 to 150 people, and worlds near the true one: a run makes the same groups or not.

    Requirements with k and m make refusals depend on what was accepted before, in the same turn.
    """
    random = np.random.default_rng(seed)
    n, values = larger(random)
    columns = {
        "age": random.integers(0, 30, n).tolist(),
        "town": random.choice(list("uvwxyz"), n).tolist(),
    }
    levels = {"age": fk.Intervals([5, 10])} if seed % 3 == 0 else {}
    table = microdata(values, levels, **columns)
    policy = fk.Policy(LARGER[seed % len(LARGER)], table.schema)
    method = fk.Mondrian(cuts=int(random.choice([1, 3, 5])))
    try:
        groups = method.partition(table, policy)
    except fk.NoSafeRelease:
        return
    decisions = Replay.of(method, table, policy).decisions
    for codes in near(random, table, groups, 4):
        try:
            made = together(method.partition(table.with_sensitive(codes), policy).tolist())
        except fk.NoSafeRelease:
            made = None
        said = all(holds(decision, codes) for decision in decisions)
        assert said == (made == together(groups.tolist()))


def holds(decision, codes):
    """Whether a decision goes the same way in one world."""
    table = np.zeros((1, *decision.fixed.shape), dtype=np.int64)
    np.add.at(table[0], (decision.child, codes[decision.people]), 1)
    return bool(decision.holds(table)[0])


def people(n, seed=1):
    """A table of a town, of which nobody is alike."""
    random = np.random.default_rng(seed)
    values = random.choice(list("abcdef"), n, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    return microdata(
        values.tolist(),
        age=random.integers(18, 90, n).tolist(),
        zip=random.integers(0, 100, n).tolist(),
        sex=random.choice(["f", "m"], n).tolist(),
    )


def test_nearly_everybody_is_settled_at_real_sizes():
    table = people(800 if NIGHTLY else 180)
    policy = fk.Policy([fk.Requirement(fk.Facts(1, 1, 0), below="3/4", knowing=[])], table.schema)
    found = fk.attack(table, fk.Mondrian(), policy, seconds=60, worlds=1000, seed=1)
    assert found.how == "parts"
    assert found.n_settled > 0.43 * table.n_rows
    assert found.n_settled + found.n_not_certain > 0.93 * table.n_rows
    assert len(found.perhaps_certain) < 30
    said = found._repr_html_()
    assert "their posteriors are exact" in said
    assert "proved not to be certain" in said
    written = found.to_dict()
    assert written["settled"] == found.n_settled
    assert written["proved_not_certain"] == found.n_not_certain
    assert written["parts"] == found.parts > 5
    # A spot check by runs: worlds of one exchange, which show that somebody is not certain.
    table = as_written(fk.Mondrian(), table, policy)
    groups = fk.Mondrian().partition(table, policy)
    random, checked = np.random.default_rng(0), 0
    beliefs = found._posteriors
    for person in random.permutation(table.n_rows)[:80].tolist():
        others = np.flatnonzero(groups == groups[person])
        other = int(random.choice(others))
        codes = np.asarray(table.sensitive_codes).copy()
        if codes[person] == codes[other]:
            continue
        codes[[person, other]] = codes[[other, person]]
        made = fk.Mondrian().partition(table.with_sensitive(codes), policy)
        if together(made.tolist()) == together(groups.tolist()):
            checked += 1
            assert beliefs.posterior(beliefs.worlds.cell_of[person], codes[person]) != 0
            assert person + 1 not in found.certain
    assert checked > 3


def test_the_time_budget_is_kept_and_says_what_was_tried():
    table = people(3000 if NIGHTLY else 1500)
    policy = fk.Policy([fk.Requirement(fk.Facts(1, 1, 0), below="3/4", knowing=[])], table.schema)
    start = time.process_time()
    found = fk.attack(table, fk.Mondrian(), policy, seconds=1, worlds=10**6, seed=1)
    assert time.process_time() - start < 3
    assert found.how == "parts"
    assert found.certain == ()
    assert found.unsettled
    assert set(found.perhaps_certain) <= set(found.unsettled)
    assert "unsettled" in found._repr_html_()


def test_a_group_that_no_other_table_explains_is_what_it_says():
    """Each group has one of each value, and no smaller one is safe, in any world."""
    table = microdata(list("abc") * 20, town=[str(n // 3).zfill(2) for n in range(60)])
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="1/2", knowing=[])], table.schema)
    found = fk.attack(table, fk.Mondrian(), policy, worlds=10)
    assert found.exact
    assert not found.found
    assert not found.undecided
    assert {found.posterior(row, "a") for row in range(1, 61)} == {Fraction(1, 3)}


FULL = [own for place, own in enumerate(REQUIREMENTS) if place != 5]  # no ledger decides these


@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 3))
def test_fulldomain_by_parts_says_what_enumeration_says(seed):
    """The search is run on every world, and compared with what the nodes that came before tell."""
    random = np.random.default_rng(seed)
    kinds = {"age": 6, "zip": 4} if seed % 3 else {"age": 8}
    levels = {"age": fk.Intervals([2, 4]), **({"zip": fk.Intervals([2])} if seed % 3 else {})}
    found = fk.FullDomain(
        objective=["ncp", "height"][seed % 2], find=["best", "minimal"][seed % 3 % 2]
    )
    for _ in range(20):
        people = int(random.integers(6, 9 if NIGHTLY else 8))
        values, columns, table = random_table(random, people, kinds, 3, levels)
        policy = fk.Policy(FULL[seed % len(FULL)], table.schema, BUCKETS)
        try:
            groups = found.partition(table, policy).tolist()
            break
        except (fk.NoSafeRelease, fk.InputError):
            continue

    def run(world):
        try:
            own = found.partition(microdata(world, levels, **columns), policy)
        except fk.NoSafeRelease:
            return None
        return together(own.tolist())

    expected, n_worlds, possible = posteriors(values, groups, run, together(groups))
    for most in (10_000, 40, 3):
        told = fk.attack(table, found, policy, worlds=most, seed=seed)
        assert told.n_worlds == n_worlds
        is_within(told, expected, values)
        if told.how == "parts" and told.exact:
            assert told.consistent == possible
        assert set(told.certain) <= {p + 1 for (p, _), chance in expected.items() if chance == 1}


@pytest.mark.parametrize("seed", range(100 if NIGHTLY else 4))
def test_nodes_that_came_before_say_what_fulldomain_makes_of_larger_worlds(seed):
    random = np.random.default_rng(seed)
    n, values = larger(random)
    columns = {
        "age": random.integers(0, 30, n).tolist(),
        "zip": random.integers(0, 12, n).tolist(),
    }
    levels = {"age": fk.Intervals([5, 10]), "zip": fk.Intervals([3, 6])}
    table = microdata(values, levels, **columns)
    policy = fk.Policy([*FULL, *LARGER][seed % (len(FULL) + len(LARGER))], table.schema)
    found = fk.FullDomain()
    try:
        groups = found.partition(table, policy)
    except (fk.NoSafeRelease, fk.InputError):
        return
    replay = NodeReplay.of(found, table, policy)
    if replay is None:
        return
    for codes in near(random, table, groups, 12):
        made = together(found.partition(table.with_sensitive(codes), policy).tolist())
        assert replay.same(codes) == (made == together(groups.tolist()))


def test_nearly_nobody_of_fulldomain_is_left_open_at_real_sizes():
    random = np.random.default_rng(4)
    n = 2000 if NIGHTLY else 500
    values = random.choice(list("abcdef"), n, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04]).tolist()
    columns = {
        "age": random.integers(20, 70, n).tolist(),
        "zip": random.integers(0, 30, n).tolist(),
    }
    levels = {"age": fk.Intervals([5, 10, 20]), "zip": fk.Intervals([5, 15])}
    table = microdata(values, levels, **columns)
    policy = fk.Policy([fk.Requirement(fk.Facts(l=1), below="3/4", knowing=[])], table.schema)
    told = fk.attack(
        table, fk.FullDomain(), policy, worlds=1000 if NIGHTLY else 300, seconds=None, seed=1
    )
    assert told.how == "parts"
    assert not told.breaches
    assert len(told.unsettled) < n / 10
