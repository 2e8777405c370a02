"""Mondrian with suppression, and refined for a time: safe, within the share, and nothing lost.

Safety is that of a reference in plain Python, and of enumerated worlds where tables are tiny.
"""

import json
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.methods.reference import breach, safe
from tests.methods.tables import KINDS, Crowd, groups_by
from tests.methods.test_mondrian import worst_in_worlds

import foreknow as fk
from foreknow.data.utility import utility_of
from foreknow.methods.mondrian import mondrian
from foreknow_judge.errors import UnsupportedError

# A cluster, and what stands out of it.
PLACES = {
    "number": ([0, 1, 2], [-3, 5]),
    "decimal": ([0.5, 2.0], [1e6]),
    "text": (["x", "yy"], ["Z", "é"]),
    "order": (["low", "middle"], ["high"]),
    "tree": (["a", "b", "c"], ["f", "g", "h"]),
    "interval": ([0, 1, 2, 3], [12, 13]),
    "mask": (["000", "001"], ["100", "111"]),
}
LIMITS = ["1/2", "2/3", "3/4", "4/5", "9/10", "1", "1"]


def outlying(chance, semantics, most=24):
    """Some people, few of whom stand out; columns are of every kind."""
    kinds = [chance.choice(KINDS) for _ in range(chance.choice([1, 1, 2]))]
    size, kept = chance.randint(5, most), chance.choice([1, 1, 2, 3])

    def value(kind):
        usual, unusual = PLACES[kind.name]
        return chance.choice(unusual if chance.random() < 0.2 else usual[:kept])

    rows = [tuple(map(value, kinds)) for _ in range(size)]
    letters = "STUV"[: chance.randint(2, 4)]
    if semantics == "single":
        return Crowd(kinds, semantics, rows, [chance.choice(letters) for _ in rows])
    often = [1] if semantics == "set" else [1, 2]
    held = [
        "".join(x * chance.choice(often) for x in letters if chance.random() < 0.4) for _ in rows
    ]
    return Crowd(kinds, semantics, rows, [held[0] or "S", *held[1:]])


def drawn_rules(chance, values):
    """Requirements about facts, and the reference's rules for them."""
    points = {tuple(chance.choice([0, 0, 0, 1]) for _ in range(3)) for _ in range(2)}
    rules = [(values, point, Fraction(chance.choice(LIMITS))) for point in sorted(points)]
    return rules, [fk.Requirement(fk.Facts(*point), limit) for _, point, limit in rules]


def grouped(crowd, policy, share, seed=0):
    """The groups, and how many people of the last one are suppressed; None where none is safe."""
    try:
        made = fk.Mondrian(suppression=share).grouping(crowd.microdata(seed), policy)
    except fk.NoSafeRelease:
        return None
    return crowd.groups_of(made.of_row.tolist(), seed), made.suppressed


@pytest.mark.parametrize(("semantics", "seed"), [("single", 4), ("set", 3), ("multiset", 3)])
def test_safe_and_within_the_share(semantics, seed):
    chance, times = random.Random(seed), Counter()
    while times[False] < (1400 if NIGHTLY else 4) or times[True] < (75 if NIGHTLY else 1):
        crowd = outlying(chance, semantics)
        rules, required = drawn_rules(chance, crowd.values)
        size = 1
        if semantics == "single":
            size = chance.choice([1, 2, 3, 4])
            required.append(fk.Requirement(fk.KAnonymity(size)))
        policy, share = fk.Policy(required), Fraction(chance.randint(1, 12), 20)
        made, without = grouped(crowd, policy, share), grouped(crowd, policy, 0)
        assert (made is None) == (without is None)
        if made is None or without is None:
            continue
        groups, suppressed = made
        assert safe(crowd.bags(groups), rules, semantics), (crowd, rules, groups)
        assert min(map(len, groups)) >= size
        assert suppressed <= share * len(crowd.rows)
        assert suppressed in (0, len(groups[-1]))
        if not suppressed:
            assert groups == without[0] or len(groups) > len(without[0])
        times[bool(suppressed)] += 1
        for group in groups:  # people with equal rows stay together
            inside = {crowd.rows[p] for p in group}
            assert group == [p for p, row in enumerate(crowd.rows) if row in inside]
        again, many = grouped(crowd, policy, share, seed=chance.randint(1, 9))
        assert (again[-1:] == groups[-1:], many) == (True, suppressed)
        assert sorted(again) == sorted(groups)


# By day those of few worlds in which somebody is suppressed: that is one in a hundred.
TINY = {"single": [497], "set": [106, 224], "multiset": [205]}


@pytest.mark.parametrize("semantics", TINY)
def test_safe_in_enumerated_worlds(semantics):
    times = 0
    for case in range(20_000) if NIGHTLY else TINY[semantics]:
        chance = random.Random(f"{semantics} {case}")
        crowd = outlying(chance, semantics, most=6 if case % 2 and NIGHTLY else 5)
        ((values, point, limit), *_), (required, *_) = drawn_rules(chance, crowd.values)
        made = grouped(crowd, fk.Policy([required]), "1/2")
        if made is None or not made[1]:
            continue
        times += 1
        for value in values:
            worst = worst_in_worlds(crowd, made[0], value, point)
            assert worst == breach(crowd.bags(made[0]), value, point, semantics) < limit
        if times == 60:
            break
    assert times >= (60 if NIGHTLY else 1)


# ---- by hand --------------------------------------------------------------------------------

AGES, ILL = [2, *[30] * 4, *[31] * 4, 90, 95], "abcabcabcab"


@pytest.mark.parametrize("share", [1, -0.1, "150%", float("nan"), True, None])
def test_shares_that_are_none(share):
    message = "Mondrian: suppression is a share of the people" if share != "150%" else "150%"
    with pytest.raises(fk.InputError, match=message):
        fk.Mondrian(suppression=share)


@pytest.mark.complete
@pytest.mark.parametrize(("form", "kind"), [("generalized", "csv"), ("bucketized", "parquet")])
def test_a_release_says_how_many(tmp_path, form, kind):
    policy = fk.Policy(
        [fk.Requirement(fk.GroupSize(3)), fk.Requirement(fk.Facts(), "9/10")],
        fk.Schema(quasi_identifiers=["age"], sensitive="ill"),
        fk.PublishOptions(
            form=form,
            format=kind,
            labels={"age": "exact"},
            settings={"mondrian": {"suppression": 0.3}},
        ),
    )
    made = fk.publish(pa.table({"age": AGES, "ill": list(ILL)}), policy)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["method"] == {"name": "Mondrian", "cuts": 5, "suppression": 0.3}
    assert certificate["scope"]["people_suppressed"] == made.audit.scope.people_suppressed == 3
    assert not certificate.get("minimal")
    said = "3 people are suppressed: in one group, whatever their quasi-identifiers."
    assert said in made.audit.notes
    assert said in (tmp_path / "out" / "report.html").read_text()
    if form == "generalized":
        assert [row["age"] for row in made.to_arrow().to_pylist()].count("*") == 3
    else:
        rows = made.to_arrow("people").to_pylist()
        group = next(row["group"] for row in rows if str(row["age"]) == "90")
        assert {str(row["age"]) for row in rows if row["group"] == group} == {"2", "90", "95"}


# ---- refined for a time --------------------------------------------------------------------------


class Clock:
    """A clock that goes on by itself, so that a search has so many steps whatever the machine."""

    def __init__(self, patch):
        self.now = 0.0
        patch.setattr(mondrian.time, "monotonic", self)

    def __call__(self):
        self.now += 0.01
        return self.now


def spread_out(chance):
    """People of two numbers each."""
    n = chance.randint(20, 60)
    rows = [(chance.randint(0, 20), chance.randint(0, 9) ** 2) for _ in range(n)]
    return Crowd([KINDS[0]] * 2, "single", rows, chance.choices("STUV", [3, 2, 2, 1], k=n))


@pytest.mark.usefixtures("tiny_tables")
def test_refined_is_never_coarser(monkeypatch):
    finer = times = 0
    for seed in range(150 if NIGHTLY else 5):
        chance = random.Random(seed)
        crowd = spread_out(chance) if seed % 4 else outlying(chance, "single", most=40)
        point = chance.randint(0, 1), chance.choice([0, 0, 1]), chance.choice([0, 0, 1])
        limit = Fraction(chance.choice(["2/3", "4/5", "9/10"]))
        policy = fk.Policy([fk.Requirement(fk.Facts(*point), limit)])
        plain, refining = groups_by(fk.Mondrian(), crowd, policy, None), fk.Mondrian(refine=0.2)
        Clock(monkeypatch)
        groups = groups_by(refining, crowd, policy, seed)
        Clock(monkeypatch)
        assert groups == groups_by(refining, crowd, policy, seed)  # the same seed and clock
        if groups is None:
            continue
        times += 1
        assert safe(crowd.bags(groups), [(crowd.values, point, limit)]), seed
        at, raw, losses = {}, crowd.microdata(), []
        of = {p: g for g, group in enumerate(groups) for p in group}
        assert all(at.setdefault(row, of[p]) == of[p] for p, row in enumerate(crowd.rows))
        for some in (plain, groups):
            partition = np.zeros(len(crowd.rows), dtype=np.int64)
            for g, group in enumerate(some):
                partition[group] = g
            losses.append(utility_of(raw.counts(partition), raw, partition).average_ncp)
        assert len(groups) >= len(plain)
        assert losses[1] <= losses[0] + 1e-9
        finer += losses[1] < losses[0] - 1e-9 or len(groups) > len(plain)
    assert finer > times / 4


def test_a_refined_release_says_so(tmp_path):
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
    for time in ("5", "five seconds", "-1 seconds", 0, -2, True, float("inf"), "0 seconds", [1]):
        with pytest.raises(fk.InputError, match='refine is a time above 0, such as "5 seconds"'):
            fk.Mondrian(refine=time)
    assert fk.Mondrian(refine="2 minutes").refine == "2 minutes"
    rows = pa.table({"age": [1, 2, 3], "disease": pa.array([["a"], ["b"], ["a", "b"]])})
    several = fk.Schema(quasi_identifiers=["age"], sensitive="disease", semantics="set")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], several)
    with pytest.raises(UnsupportedError, match="leave refine out"):
        fk.Mondrian(refine=1).partition(fk.Microdata(rows, several), policy)
