"""Which groups no division leaves safe: never one that some division does, by trying all."""

import random
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
from tests.examples import NIGHTLY
from tests.oracle import leaving

import foreknow as fk
from foreknow.policy.policy import Policy

CASES = 20_000 if NIGHTLY else 1000


def divisions(group):
    """All ways to divide a group into two, by what the parts have."""
    bag = Counter(group)
    for own in product(*(range(many + 1) for many in bag.values())):
        if 0 < sum(own) < len(group):
            parts = zip(bag.items(), own, strict=True)
            left, right = zip(*((v * n, v * (many - n)) for (v, many), n in parts), strict=True)
            yield "".join(left), "".join(right)


def drawn(chance):
    """Some groups, and facts with their oracle; a limit may be met exactly."""
    letters = "abcdef"[: chance.randint(2, 6)]
    weights = [chance.choice([1, 1, 2, 6]) for _ in letters]
    groups = [
        "".join(chance.choices(letters, weights, k=chance.randint(2, 16)))
        for _ in range(chance.randint(1, 4))
    ]
    point = chance.randint(0, 2), chance.choice([0, 1, 2, 3]), chance.choice([0, 0, 1, 2])
    limit = Fraction(chance.randint(2, 6), 6)
    about = chance.choice([None, None, groups[0][:1]])
    values = {} if about is None else {"values": list(about)}
    requirement = fk.Requirement(fk.Facts(*point), limit, **values)
    return groups, requirement, leaving.facts(point, limit, about)


def test_no_group_is_said_to_be_indivisible_that_has_safe_parts():
    told = 0
    for seed in range(CASES):
        groups, requirement, is_safe = drawn(random.Random(seed))
        if len(set("".join(groups))) < 2:
            continue
        counts = fk.GroupCounts.from_bags([list(group) for group in groups])
        ledger = Policy([requirement]).ledger(counts.values)
        for group, may in zip(groups, ledger.divisible(counts).tolist(), strict=True):
            if may:
                continue
            for parts in divisions(group):
                assert not all(map(is_safe, parts)), (seed, group, requirement)
            told += is_safe(group)
    assert told > CASES / 40


def test_one_part_may_lack_what_is_asked_for():
    policy = Policy([fk.Requirement(fk.Facts(0, 2, 0), below="1/2", values=["a"])])
    counts = fk.GroupCounts.from_bags([list("abbbbb")])
    assert policy.ledger(counts.values).divisible(counts).all()
    assert leaving.facts((0, 2, 0), Fraction(1, 2), "a")("abbbb")
    assert leaving.facts((0, 2, 0), Fraction(1, 2), "a")("b")


def test_what_people_are_known_by_may_divide_them_already():
    n = 12
    table = pa.table({
        "age": np.arange(n) // 2,
        "job": [f"j{x}" for x in range(2)] * (n // 2),
        "ill": ["a", "a", "b", "b", "c", "c"] * (n // 6),
    })  # fmt: skip
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["job"])
    policy = Policy([fk.Requirement(fk.Facts(0, 1, 0), below="2/3")], schema)
    microdata = policy.combined(fk.Microdata(table, schema))
    counts = microdata.counts(np.zeros(n, dtype=np.int64))
    assert policy.ledger(microdata.values).divisible(counts).all()


def test_a_search_asks_of_no_group_that_cannot_be_divided(monkeypatch):
    random = np.random.default_rng(3)
    n = 4000
    table = pa.table({
        "age": random.integers(0, 70, n),
        "zip": random.integers(0, 900, n),
        "ill": [f"d{x}" for x in random.geometric(0.2, n).clip(max=12)],
    })  # fmt: skip
    schema = fk.Schema(quasi_identifiers=["age", "zip"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(2, 6, 2), below="1/2")])
    asked, evaluate = [], type(policy.ledger(fk.Microdata(table, schema).values)).evaluate

    def counted(self, removed, added, owner):
        asked.append(len(owner))
        return evaluate(self, removed, added, owner)

    ledger = type(policy.ledger(fk.Microdata(table, schema).values))
    monkeypatch.setattr(ledger, "evaluate", counted)
    fewer = fk.Mondrian().partition(fk.Microdata(table, schema), policy), sum(asked)
    asked.clear()
    monkeypatch.setattr(ledger, "divisible", lambda self, counts: np.ones(counts.n_groups, bool))
    every = fk.Mondrian().partition(fk.Microdata(table, schema), policy), sum(asked)
    np.testing.assert_array_equal(fewer[0], every[0])
    assert fewer[1] < every[1] / 2
