"""Mondrian, finer: cuts that keep values mixed, groups divided anew for a time, and weights."""

import random
from fractions import Fraction
from itertools import permutations
from math import exp, log

import numpy as np
import pyarrow as pa
import pytest
from tests import adult
from tests.examples import NIGHTLY
from tests.methods.reference import safe
from tests.methods.tables import KINDS, Crowd
from tests.methods.test_mondrian_suppression import LIMITS, outlying

import foreknow as fk
from foreknow.errors import UnsupportedError
from foreknow.methods.mondrian import mondrian
from foreknow.utility.utility import utility_of

pytestmark = pytest.mark.usefixtures("tiny_tables")

CASES = 600 if NIGHTLY else 20


def drawn(seed):
    """A table with a policy, and the rules of its reference."""
    chance = random.Random(seed)
    crowd = outlying(chance, "single", most=40)
    rules = [
        (
            crowd.values,
            (chance.randint(0, 2), chance.choice([0, 0, 1]), chance.choice([0, 0, 1])),
            Fraction(chance.choice(LIMITS)),
        )
    ]
    required = [fk.Requirement(fk.Facts(*rules[0][1]), rules[0][2])]
    return crowd, fk.Policy(required), rules


def made_by(method, crowd, policy, **more):
    """The groups that a method makes, as lists of people; None where nothing is safe."""
    try:
        partition = method.partition(crowd.microdata(), policy, **more)
    except fk.NoSafeRelease:
        return None
    return crowd.groups_of(partition.tolist())


@pytest.mark.parametrize("mixing", [0.5, 17, 1000])
def test_what_is_kept_mixed_is_safe_and_whole_and_no_cut_is_left(mixing):
    for seed in range(CASES):
        crowd, policy, rules = drawn(seed)
        groups = made_by(fk.Mondrian(mixing=mixing), crowd, policy)
        plain = made_by(fk.Mondrian(), crowd, policy)
        assert (groups is None) == (plain is None)
        if groups is None:
            continue
        assert safe(crowd.bags(groups), rules), seed
        of = {p: g for g, group in enumerate(groups) for p in group}
        assert sorted(of) == list(range(len(crowd.rows)))
        at: dict = {}
        assert all(at.setdefault(row, of[p]) == of[p] for p, row in enumerate(crowd.rows))
        # What it ends with, Mondrian cannot divide.
        raw = crowd.microdata()
        method = fk.Mondrian(mixing=mixing)
        assert fk.audit(fk.publish(raw, policy, method=method, seed=1), policy).safe


def test_the_order_of_rows_does_not_matter():
    for seed in range(CASES // 2):
        crowd, policy, _ = drawn(seed)
        method, order = fk.Mondrian(mixing=9), [p for p, _ in crowd.entries(seed)]
        try:
            one = method.partition(crowd.microdata(), policy)
        except fk.NoSafeRelease:
            continue
        assert one[order].tolist() == method.partition(crowd.microdata(seed), policy).tolist()


def told(values, sides):
    """The share of the entropy of the values that the sides tell, by its definition."""

    def entropy(some):
        shares = [Fraction(some.count(x), len(some)) for x in set(some)]
        return -sum(float(p) * log(p) for p in shares)

    left = sum(
        len(own) / len(values) * entropy(own)
        for side in set(sides)
        if (own := [v for v, s in zip(values, sides, strict=True) if s == side])
    )
    return 1 - left / entropy(values) if entropy(values) else 0.0


def test_the_first_cut_is_the_one_of_the_largest_gain_less_what_it_tells():
    """Of two columns of two values each: against the formula, whatever the mixing."""
    differs = 0
    for seed in range(4 * CASES):
        chance = random.Random(seed)
        n = chance.randint(8, 30)
        columns = {
            name: [chance.choice([0, 0, 1][: chance.choice([2, 3])]) for _ in range(n)]
            for name in "ab"
        }
        held = [
            chance.choice("xyz" if own or chance.random() < 0.3 else "uvw") for own in columns["a"]
        ]
        if any(len(set(own)) < 2 for own in columns.values()):
            continue
        mixing = chance.choice([0, 1, 3, 9])
        # Each column gains 1 for each person; more if it counts more.
        weight = chance.choice([1, 1.25, 2])
        gains = {
            name: n * (weight if name == "a" else 1) * exp(-mixing * told(held, own))
            for name, own in columns.items()
        }
        if abs(gains["a"] - gains["b"]) < 1e-9:
            continue
        best = max(gains, key=gains.get)
        # Nothing can be divided twice: one group of each side is all that is safe.
        least = min(columns[best].count(0), columns[best].count(1))
        table = pa.table({**columns, "disease": held})
        schema = fk.Schema(quasi_identifiers=["a", "b"], sensitive="disease")
        policy = fk.Policy(
            [fk.Requirement(fk.KAnonymity(least))],
            options=fk.PublishOptions(weights={"a": weight}),
        )
        groups = fk.Mondrian(mixing=mixing).partition(fk.Microdata(table, schema), policy)
        found = {(own, g) for own, g in zip(columns[best], groups.tolist(), strict=True)}
        assert all(sum(g == h for _, h in found) == 1 for _, g in found), seed
        differs += best == "b" and weight > 1
    assert differs > CASES / 20


def test_adult_is_divided_into_more_groups_that_lose_less():
    """More than the 2,522 of the local recoding of a mature Java tool, on as many rows."""
    import duckdb

    rows = duckdb.connect().read_csv(str(adult.table()), header=True).limit(30_162)
    columns = [
        "age",
        "workclass",
        "education",
        "marital-status",
        "race",
        "sex",
        "native-country",
        "income",
    ]
    schema = fk.Schema(quasi_identifiers=columns, sensitive="occupation")
    raw = fk.Microdata(rows.to_arrow_table(), schema)
    policy = fk.Policy([fk.Requirement(fk.Facts(l=2), below="3/4")])
    worth = {}
    for method in (fk.Mondrian(), fk.Mondrian(cuts=10, mixing=17)):
        groups = method.partition(raw, policy)
        worth[bool(method.mixing)] = utility_of(raw.counts(groups), raw, groups)
    assert worth[True].groups >= 2_522
    assert worth[True].average_ncp < worth[False].average_ncp


# ---- refined for a time --------------------------------------------------------------------------


class Clock:
    """A clock that goes on by itself, so that a search has so many steps whatever the machine."""

    def __init__(self, patch, step=0.01):
        self.now, self.step = 0.0, step
        patch.setattr(mondrian.time, "monotonic", self)

    def __call__(self):
        self.now += self.step
        return self.now


def spread_out(seed):
    """People of two numbers each, and rules of whatever kind."""
    chance = random.Random(seed)
    n = chance.randint(20, 60)
    rows = [(chance.randint(0, 20), chance.randint(0, 9) ** 2) for _ in range(n)]
    held = "".join(chance.choices("STUV", [3, 2, 2, 1], k=n))
    kind = next(kind for kind in KINDS if kind.name == "number")
    crowd = Crowd([kind, kind], "single", rows, list(held))
    point = chance.randint(0, 1), chance.choice([0, 0, 1]), chance.choice([0, 0, 1])
    limit = Fraction(chance.choice(["2/3", "4/5", "9/10"]))
    return (
        crowd,
        fk.Policy([fk.Requirement(fk.Facts(*point), limit)]),
        [(crowd.values, point, limit)],
    )


def test_what_is_refined_is_safe_and_never_coarser(monkeypatch):
    finer = found = 0
    for seed in range(CASES // 4):
        crowd, policy, rules = drawn(seed) if seed % 4 == 0 else spread_out(seed)
        plain = made_by(fk.Mondrian(), crowd, policy)
        Clock(monkeypatch)
        groups = made_by(fk.Mondrian(refine=0.2), crowd, policy, seed=seed)
        Clock(monkeypatch)
        again = made_by(fk.Mondrian(refine=0.2), crowd, policy, seed=seed)
        assert groups == again  # the same seed and clock
        if groups is None:
            continue
        found += 1
        assert safe(crowd.bags(groups), rules), seed
        at: dict = {}
        of = {p: g for g, group in enumerate(groups) for p in group}
        assert all(at.setdefault(row, of[p]) == of[p] for p, row in enumerate(crowd.rows))
        raw, losses = crowd.microdata(), []
        for some in (plain, groups):
            partition = np.zeros(len(crowd.rows), dtype=np.int64)
            for g, group in enumerate(some):
                partition[group] = g
            losses.append(utility_of(raw.counts(partition), raw, partition).average_ncp)
        assert len(groups) >= len(plain)
        assert losses[1] <= losses[0] + 1e-9
        finer += losses[1] < losses[0] - 1e-9 or len(groups) > len(plain)
    assert finer > found / 4


def test_what_is_refined_is_published_and_says_so(tmp_path):
    rows = pa.table({"age": list(range(20, 60)), "disease": list("abcd") * 10})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(4))], schema)
    method = fk.Mondrian(refine="0.05 seconds", suppression=0.1)
    made = fk.publish(rows, policy, method=method, seed=3)
    made.write(tmp_path / "release")
    fk.verify(tmp_path / "release")
    assert made.certificate.method["refine"] == "0.05 seconds"
    assert not made.certificate.minimal
    assert any(note.startswith("seeded") for note in made.certificate.notes)
    plain = fk.publish(rows, policy, method=fk.Mondrian(mixing=2), seed=3).certificate
    assert plain.minimal
    assert plain.method["mixing"] == 2
    with pytest.raises(UnsupportedError, match="attack it without seconds or refine"):
        fk.attack(fk.Microdata(rows, schema), method, policy)


def test_an_attack_runs_what_keeps_values_mixed():
    """Which cut comes first depends on who has which value: there is no replay, but a run."""
    ages = [20, 20, 30, 30, 40, 40, 50, 50]
    rows = pa.table({"age": ages, "sex": list("fmfmfmfm"), "disease": list("abababab")})
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="disease")
    form = fk.PublishOptions(form="bucketized")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.7")], schema, form)
    method = fk.Mondrian(mixing=5)
    raw = fk.Microdata(rows, schema)
    found = fk.attack(raw, method, policy, seconds=20)
    assert found.exact

    def divided(order):
        table = rows.set_column(2, "disease", pa.array(order))
        of = method.partition(fk.Microdata(table, schema), policy).tolist()
        return {tuple(i for i in range(8) if of[i] == g) for g in of}

    # All worlds with the bags of these groups, each run: how often each person has a value.
    held = rows["disease"].to_pylist()
    groups = divided(held)
    worlds = [
        order
        for order in sorted(set(permutations(held)))
        if all(sorted(order[i] for i in g) == sorted(held[i] for i in g) for g in groups)
        and divided(order) == groups
    ]
    assert 0 < len(worlds) < 36
    for row in range(8):
        share = Fraction(sum(world[row] == "a" for world in worlds), len(worlds))
        assert found.posterior(row + 1, "a") == share


def test_times_and_amounts_are_checked():
    for given in ("5", "five seconds", "-1 seconds", 0, -2, True, float("inf"), "0 seconds", [1]):
        with pytest.raises(fk.InputError, match='refine is a time above 0, such as "5 seconds"'):
            fk.Mondrian(refine=given)
    assert fk.Mondrian(refine="2 minutes").refine == "2 minutes"
    for given in (-1, True, 1001, "much"):
        with pytest.raises(fk.InputError):
            fk.Mondrian(mixing=given)


def test_people_with_several_values_are_not_refined():
    rows = pa.table({"age": [1, 2, 3], "disease": pa.array([["a"], ["b"], ["a", "b"]])})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", semantics="set")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema)
    with pytest.raises(UnsupportedError, match="leave refine out"):
        fk.Mondrian(refine=1).partition(fk.Microdata(rows, schema), policy)
