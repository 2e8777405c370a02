"""Attacks part by part, and what replays foresee, say what enumeration and runs say."""

import time
from fractions import Fraction

import numpy as np
import pytest
from tests.attacks.small_methods import (
    BELOW_2_3,
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
from foreknow.attacks.observation import numbered
from foreknow.attacks.worlds import Worlds
from foreknow.methods.mondrian.replay import Replay

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


def groups_of(method, table, policy):
    """What a method makes of a table, unless it makes nothing or refuses the policy."""
    try:
        return method.partition(table, policy)
    except (fk.NoSafeRelease, fk.InputError):
        return None


def same(method, table, policy, codes, groups):
    made = groups_of(method, table.with_sensitive(codes), policy)
    return made is not None and together(made.tolist()) == together(groups.tolist())


def people(n, **kinds):
    """A town, whose values are uneven."""
    random = np.random.default_rng(1)
    values = random.choice(list("abcdef"), n, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04]).tolist()
    columns = {name: random.integers(*ends, n).tolist() for name, ends in kinds.items()}
    levels = {} if "sex" in kinds else {"age": fk.Intervals([5, 10]), "zip": fk.Intervals([5, 15])}
    return microdata(values, levels, **columns)


TOWN = {"age": (18, 90), "zip": (0, 100), "sex": (0, 2)}


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


# Ten people each. Of two groups the first lowers what a fact about the value s may cost, the second
# what a relative may cost; either may stand beside the others, not both.
FACT, RELATIVE = ["s", *"bbbbbbbb", "c"], [*"ssss", *"cdefgh"]
NO_FACT, OTHERS = ["s", *"bbbbbbbbb"], [*"ijklmnopqr"]
CROSSED = fk.Policy([required(fk.Facts(l=1, m=1), "3/5", values=["s"])])


@pytest.mark.parametrize("before", [True, False])
def test_refusals_by_others_need_a_run(before):
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
