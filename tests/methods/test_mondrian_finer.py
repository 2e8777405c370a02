"""Mondrian, finer: groups divided anew for a time, and weights."""

import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.methods.reference import safe
from tests.methods.tables import KINDS, Crowd
from tests.methods.test_mondrian_suppression import LIMITS, outlying

import foreknow as fk
from foreknow.data.utility import utility_of
from foreknow.methods.mondrian import mondrian
from foreknow_judge.errors import UnsupportedError

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
    assert fk.publish(rows, policy, method=fk.Mondrian(), seed=3).certificate.minimal
    with pytest.raises(UnsupportedError, match="attack it without seconds or refine"):
        fk.attack(fk.Microdata(rows, schema), method, policy)


def test_times_and_amounts_are_checked():
    for given in ("5", "five seconds", "-1 seconds", 0, -2, True, float("inf"), "0 seconds", [1]):
        with pytest.raises(fk.InputError, match='refine is a time above 0, such as "5 seconds"'):
            fk.Mondrian(refine=given)
    assert fk.Mondrian(refine="2 minutes").refine == "2 minutes"


def test_people_with_several_values_are_not_refined():
    rows = pa.table({"age": [1, 2, 3], "disease": pa.array([["a"], ["b"], ["a", "b"]])})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", semantics="set")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema)
    with pytest.raises(UnsupportedError, match="leave refine out"):
        fk.Mondrian(refine=1).partition(fk.Microdata(rows, schema), policy)
