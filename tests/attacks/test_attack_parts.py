"""Attacks part by part, and what replays foresee, say what enumeration and runs say."""

import time
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.attacks.small_methods import (
    BELOW_2_3,
    BUCKETS,
    DIVERSE,
    LEVELS,
    in_buckets,
    microdata,
    plainly,
    random_table,
    together,
)
from tests.examples import NIGHTLY
from tests.oracle.decoy import posteriors

import foreknow as fk
from foreknow.attacks.method_runner import Runs
from foreknow.attacks.observation import numbered
from foreknow.attacks.worlds import Worlds
from foreknow.methods.fulldomain.replay import Replay as NodeReplay
from foreknow.methods.mondrian.replay import Replay
from foreknow.methods.protocol import as_written

pytestmark = pytest.mark.usefixtures("tiny_tables")


def required(adversary, limit, **about):
    return fk.Requirement(adversary, below=limit, knowing=[], **about)


REQUIREMENTS = [
    DIVERSE.requirements,
    BELOW_2_3.requirements,
    [required(fk.Facts(l=1), "3/4")],
    [required(fk.Facts(k=1), "9/10")],
    [required(fk.Facts(l=1, m=1), "9/10", values=["a"])],
    [required(fk.Facts(), "4/5"), fk.Requirement(fk.GroupSize(3), knowing=[])],
    [required(fk.Facts(l=1), 1), required(fk.Facts(m=1), "3/4")],
]
WITH_IMPLICATIONS = [*REQUIREMENTS, [required(fk.Implications(1), "9/10")]]
# With k and m refusals depend on what was accepted before, in the same turn.
LARGER = [
    [required(fk.Facts(1, 1, 0), "3/4")],
    [required(fk.Facts(1, 2, 1), "4/5")],
    [required(fk.Implications(2), "9/10")],
    [required(fk.Facts(0, 3, 0), "5/6")],
    [required(fk.Facts(2, 2, 0), "9/10", values=["a", "b"]), required(fk.Facts(0, 0, 2), "2/3")],
]


def is_within(found, expected, values):
    """Exact where it says so, intervals that hold, and nobody wrongly proved not to be certain."""
    beliefs, of_worlds = found._posteriors, expected[0]
    for person in range(len(values)):
        cell = beliefs.worlds.cell_of[person]
        own = {value: of_worlds.get((person, value), 0) for value in sorted(set(values))}
        if 1 in own.values() and len(own) > 1 and not beliefs.known[cell]:
            alone = beliefs.worlds.shares[cell].max() == 1
            assert alone or person + 1 in found.perhaps_certain
        for value, chance in own.items():
            code = found._microdata.values.codes[value]
            exact = beliefs.posterior(cell, code)
            assert exact is None or exact == chance, (person, value)
            assert beliefs.low[cell, code] - 1e-9 <= chance <= beliefs.high[cell, code] + 1e-9
    assert found.n_worlds == expected[1]
    if found.how == "parts" and found.exact:
        assert found.consistent == expected[2]
    assert set(found.certain) <= {p + 1 for (p, _), chance in of_worlds.items() if chance == 1}


def compare(random, method, kinds, levels, requirements, people, amounts):
    """Below all worlds of the release, so that it is not enumerated as a whole; how it went."""
    while True:
        values, columns, table = random_table(random, people, kinds, 3, levels)
        policy = in_buckets(requirements, table)
        groups = groups_of(method, table, policy)
        if groups is not None:
            break
    run, groups = plainly(method, policy, columns, levels), groups.tolist()
    expected, hows = posteriors(values, groups, run, together(groups)), set()
    for most in amounts:
        found = fk.attack(table, method, policy, worlds=most, seed=1)
        is_within(found, expected, values)
        hows.add(found.how)
    return hows


@pytest.mark.parametrize("seed", range(200 if NIGHTLY else len(WITH_IMPLICATIONS)))
def test_parts_of_mondrian(seed):
    random = np.random.default_rng(seed)
    kinds = {"age": 6, "zip": 4} if seed % 3 else {"age": 8}
    method = fk.Mondrian(cuts=int(random.choice([1, 2, 5])))
    people = int(random.integers(6, 9)) if NIGHTLY else 6
    for _ in range(3 if NIGHTLY else 1):
        requirements = WITH_IMPLICATIONS[seed % len(WITH_IMPLICATIONS)]
        amounts = (60, 12, 2) if NIGHTLY else [(60, 2)[seed % 2]]
        compare(random, method, kinds, {}, requirements, people, amounts)


def test_hierarchies_divide_into_several():
    random, hows, people = np.random.default_rng(8), set(), 8 if NIGHTLY else 7
    for _ in range(12 if NIGHTLY else 2):
        amounts = [40 if NIGHTLY else 15]
        asked = BELOW_2_3.requirements
        hows |= compare(random, fk.Mondrian(), {"age": 8}, LEVELS, asked, people, amounts)
    assert "parts" in hows


@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 4))
def test_parts_of_fulldomain(seed):
    """The search is run on every world, and compared with what the nodes that came before tell."""
    random = np.random.default_rng(seed)
    kinds = {"age": 6, "zip": 4} if seed % 3 else {"age": 8}
    levels = {"age": fk.Intervals([2, 4]), **({"zip": fk.Intervals([2])} if seed % 3 else {})}
    method = fk.FullDomain(["ncp", "height"][seed % 2], find=["best", "minimal"][seed % 3 % 2])
    people = int(random.integers(6, 9)) if NIGHTLY else 6
    requirements = REQUIREMENTS[seed % len(REQUIREMENTS)]
    compare(random, method, kinds, levels, requirements, people, (10_000, 40, 3))


def test_copies_have_the_same_posteriors():
    """Three towns far apart, each the five people of the example: 216 worlds, 8 are possible."""
    ages, values = [50, 40, 50, 30, 30], ["flu", "hiv", "hiv", "flu", "flu"]
    town = [place for place in ("a", "b", "c") for _ in ages]
    exact = fk.PublishOptions(labels={"age": "exact"})  # on a grid they are one group
    policy = fk.Policy(DIVERSE.requirements, options=exact)
    one = fk.attack(microdata(values, age=ages), fk.Mondrian(), policy)
    table = microdata(values * 3, {"town": fk.Mask(1)}, town=town, age=ages * 3)
    policy = fk.Policy(DIVERSE.requirements, table.schema, exact)
    found = fk.attack(table, fk.Mondrian(), policy, worlds=7)
    assert (found.how, found.exact, found.n_settled) == ("parts", True, 15)
    assert found.n_worlds == one.n_worlds**3
    assert found.consistent == one.consistent**3
    for row in range(15):
        assert found.posterior(row + 1, "flu") == one.posterior(row % 5 + 1, "flu")
    assert len(found.certain) == 3 * len(one.certain) == 9
    assert found.parts > 1
    assert "the posteriors are exact" in found._repr_html_()
    # Each group has one of each value, and no smaller one is safe, in any world.
    table = microdata(list("abc") * 20, town=[str(n // 3).zfill(2) for n in range(60)])
    found = fk.attack(
        table, fk.Mondrian(), fk.Policy([required(fk.Facts(), "1/2")], table.schema), worlds=10
    )
    assert (found.exact, found.found, found.undecided) == (True, False, False)
    assert {found.posterior(row, "a") for row in range(1, 61)} == {Fraction(1, 3)}


# ---- larger worlds, near the true one: a run makes the same groups or not ------------------------


def larger(random, levels, **kinds):
    """A table of 20 to 150 people, of whom two values are there in any case."""
    n = int(random.integers(20, 150))
    values = random.choice(list("abcdef"), n, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]).tolist()
    columns = {name: random.integers(0, most, n).tolist() for name, most in kinds.items()}
    return microdata(["a", "b", *values[2:]], levels, **columns)


def exchanged(random, codes, groups, many):
    """A world that so many exchanges within groups make."""
    codes = np.asarray(codes).copy()
    for _ in range(many):
        one = int(random.integers(len(codes)))
        other = int(random.choice(np.flatnonzero(groups == groups[one])))
        codes[[one, other]] = codes[[other, one]]
    return codes


def is_decided(decision, codes):
    """Whether a decision goes the same way in one world."""
    table = np.zeros((1, *decision.fixed.shape), dtype=np.int64)
    np.add.at(table[0], (decision.child, codes[decision.people]), 1)
    return bool(decision.holds(table)[0])


def groups_of(method, table, policy):
    """What a method makes of a table, unless it makes nothing or refuses the policy."""
    try:
        return method.partition(table, policy)
    except (fk.NoSafeRelease, fk.InputError):
        return None


def same(method, table, policy, codes, groups):
    made = groups_of(method, table.with_sensitive(codes), policy)
    return made is not None and together(made.tolist()) == together(groups.tolist())


@pytest.mark.parametrize("seed", range(120 if NIGHTLY else len(LARGER)))
def test_decisions_of_larger_worlds(seed):
    random = np.random.default_rng(seed)
    levels = {"age": fk.Intervals([5, 10])} if seed % 3 == 0 else {}
    table = larger(random, levels, age=30, town=6)
    policy = fk.Policy(LARGER[seed % len(LARGER)], table.schema)
    method = fk.Mondrian(cuts=int(random.choice([1, 3, 5])))
    groups = groups_of(method, table, policy)
    if groups is None:
        return
    decisions = Replay.of(method, table, policy).decisions
    for _ in range(12 if NIGHTLY else 6):
        codes = exchanged(random, table.sensitive_codes, groups, int(random.integers(1, 4)))
        said = all(is_decided(decision, codes) for decision in decisions)
        assert said == same(method, table, policy, codes, groups)


@pytest.mark.parametrize("seed", range(100 if NIGHTLY else 6))
def test_nodes_of_larger_worlds(seed):
    """The nodes that came before say what FullDomain makes."""
    random, every = np.random.default_rng(seed), [*REQUIREMENTS, *LARGER]
    table = larger(
        random, {"age": fk.Intervals([5, 10]), "zip": fk.Intervals([3, 6])}, age=30, zip=12
    )
    policy, method = fk.Policy(every[2 * seed % len(every)], table.schema), fk.FullDomain()
    groups = groups_of(method, table, policy)
    replay = None if groups is None else NodeReplay.of(method, table, policy)
    for _ in range(12 if replay else 0):
        codes = exchanged(random, table.sensitive_codes, groups, int(random.integers(1, 12)))
        assert replay.same(codes) == same(method, table, policy, codes, groups)


def people(n, **kinds):
    """A town, whose values are uneven."""
    random = np.random.default_rng(1)
    values = random.choice(list("abcdef"), n, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04]).tolist()
    columns = {name: random.integers(*ends, n).tolist() for name, ends in kinds.items()}
    levels = {} if "sex" in kinds else {"age": fk.Intervals([5, 10]), "zip": fk.Intervals([5, 15])}
    return microdata(values, levels, **columns)


TOWN = {"age": (18, 90), "zip": (0, 100), "sex": (0, 2)}


def test_nearly_everybody_is_settled():
    table = people(800 if NIGHTLY else 180, **TOWN)
    policy = fk.Policy(LARGER[0], table.schema)
    found = fk.attack(table, fk.Mondrian(), policy, seconds=60, worlds=1000, seed=1)
    assert found.how == "parts"
    assert found.n_settled > 0.4 * table.n_rows
    assert found.n_settled + found.n_not_certain > 0.9 * table.n_rows
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
    random, checked, beliefs = np.random.default_rng(0), 0, found._posteriors
    for _ in range(80):
        codes = exchanged(random, table.sensitive_codes, groups, 1)
        moved = np.flatnonzero(codes != np.asarray(table.sensitive_codes))
        if len(moved) and same(fk.Mondrian(), table, policy, codes, groups):
            checked += 1
            for person in moved.tolist():
                assert beliefs.posterior(beliefs.worlds.cell_of[person], codes[person]) != 0
                assert person + 1 not in found.certain
    assert checked > 3


def test_the_time_budget_is_kept():
    """And it is said what was tried."""
    table = people(3000 if NIGHTLY else 1500, **TOWN)
    policy, start = fk.Policy(LARGER[0], table.schema), time.process_time()
    found = fk.attack(table, fk.Mondrian(), policy, seconds=0.5, worlds=10**6, seed=1)
    assert time.process_time() - start < 3
    assert (found.how, found.certain) == ("parts", ())
    assert found.unsettled
    assert set(found.perhaps_certain) <= set(found.unsettled)
    assert "unsettled" in found._repr_html_()


def test_fulldomain_leaves_few_unsettled():
    table = people(2000 if NIGHTLY else 500, age=(20, 70), zip=(0, 30))
    policy, most = fk.Policy(REQUIREMENTS[2], table.schema), 1000 if NIGHTLY else 300
    told = fk.attack(table, fk.FullDomain(), policy, worlds=most, seconds=None, seed=1)
    assert told.how == "parts"
    assert not told.breaches
    assert len(told.unsettled) < table.n_rows / 10


# ---- Mondrian replayed --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(400 if NIGHTLY else 24))
def test_replays_say_what_runs_make(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 13))
    columns = {"age": random.integers(0, 6, n), "sex": [str(s) for s in random.integers(0, 3, n)]}
    values = random.choice([*"aabbcd"], n).tolist()
    table = microdata(values, LEVELS if seed % 2 else {}, **columns)
    policy = fk.Policy(WITH_IMPLICATIONS[seed % len(WITH_IMPLICATIONS)])
    method = fk.Mondrian(cuts=int(random.choice([1, 2, 5])))
    made = groups_of(method, table, policy)
    if made is None:
        return
    groups = numbered(made)
    foreseen = Replay.of(method, table, policy)
    assert np.array_equal(numbered(foreseen.groups), groups)
    codes = np.asarray(table.sensitive_codes)
    assert foreseen.same(codes) is not False
    worlds = Worlds.of(groups, codes, len(table.values))
    for own in (worlds.at_random(random) for _ in range(6)):
        said = foreseen.same(own)
        made = numbered(method.partition(table.with_sensitive(own), policy))
        assert said is None or said == np.array_equal(made, groups)


@pytest.mark.parametrize("place", [0, 1, 2, 3, 6, 7])  # the others bear on few worlds
def test_most_worlds_need_no_run(place):
    random = np.random.default_rng(5)
    values = random.choice(list("abcd"), 60).tolist()
    table = microdata(values, age=random.integers(20, 60, 60))
    policy = fk.Policy(WITH_IMPLICATIONS[place])
    groups = numbered(fk.Mondrian().partition(table, policy))
    foreseen = Replay.of(fk.Mondrian(), table, policy)
    worlds, lots = Worlds.of(groups, table.sensitive_codes, 4), np.random.default_rng(1)
    said = [foreseen.same(worlds.at_random(lots)) for _ in range(60)]
    assert said.count(None) <= 6
    assert said.count(False) >= 1


def test_one_label_is_not_foreseen():
    """A null and the text "missing" print alike: labels may not tell groups apart."""
    rows = pa.table({"kind": ["missing", None, "x", "x"], "disease": list("abab")})
    schema = fk.Schema(quasi_identifiers=["kind"], sensitive="disease")
    table = fk.Microdata(rows, schema)
    for options, known in ((fk.PublishOptions(), False), (BUCKETS, True)):
        policy = fk.Policy(DIVERSE.requirements, schema=schema, options=options)
        runs = Runs(table, fk.Mondrian(), policy)
        runs.make_first(table.sensitive_codes)
        assert (runs.replay(table.sensitive_codes) is not None) == known


# Ten people each. Of two groups the first lowers what a fact about the value s may cost, the second
# what a relative may cost; either may stand beside the others, not both.
FACT, RELATIVE = ["s", *"bbbbbbbb", "c"], [*"ssss", *"cdefgh"]
NO_FACT, OTHERS = ["s", *"bbbbbbbbb"], [*"ijklmnopqr"]
CROSSED = fk.Policy([required(fk.Facts(l=1, m=1), "3/5", values=["s"])])


@pytest.mark.parametrize("before", [True, False])
def test_refusals_by_others_need_run(before):
    """Ages 0 and 1, and 10 and 11: first the two pairs are divided, then each pair in order."""
    ages = [age for age in (0, 1, 10, 11) for _ in range(10)]
    tens = (RELATIVE, OTHERS, FACT, OTHERS) if before else (NO_FACT, OTHERS, RELATIVE, OTHERS)
    table = microdata([value for ten in tens for value in ten], age=ages)
    foreseen = Replay.of(fk.Mondrian(), table, CROSSED)
    sizes = np.bincount(numbered(fk.Mondrian().partition(table, CROSSED))).tolist()
    codes = np.asarray(table.sensitive_codes)
    if before:
        assert (sizes, foreseen.same(codes)) == ([10, 10, 20], None)
        return
    assert sizes == [20, 10, 10]
    assert foreseen.same(codes)
    other = codes.copy()
    other[[1, 10]] = other[[10, 1]]  # as FACT: divided at once, since nobody was before
    assert foreseen.same(other) is None
    made = numbered(fk.Mondrian().partition(table.with_sensitive(other), CROSSED))
    assert np.bincount(made).tolist() == [10, 10, 20]
