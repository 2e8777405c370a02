"""How many people must leave a group at least: never more than it takes, by trying everybody."""

import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle import leaving

import foreknow as fk
from foreknow.policy.policy import Policy

CASES = 4000 if NIGHTLY else 500


def drawn(chance):
    """Some groups of a few people, and one requirement with its oracle."""
    letters = "abcdef"[: chance.randint(2, 6)]
    weights = [chance.choice([1, 2, 6]) for _ in letters]
    groups = [
        "".join(chance.choices(letters, weights, k=chance.randint(1, 11)))
        for _ in range(chance.randint(1, 5))
    ]
    everybody = "".join(groups)
    k, least = chance.randint(1, 6), chance.randint(2, 4)
    share, c = (
        Fraction(chance.randint(1, 8), 8),
        Fraction(chance.randint(1, 8), chance.randint(1, 3)),
    )
    point = chance.randint(0, 3), chance.choice([0, 0, 1, 2]), chance.choice([0, 0, 1, 2])
    limit = Fraction(chance.randint(1, 10), chance.choice([10, 12]))
    limit = limit + chance.choice([0, Fraction(1, 10**12)]) if limit < Fraction(9, 10) else limit
    about = chance.choice([None, groups[0][:1]])
    values = {} if about is None else {"values": list(about)}
    return groups, chance.choice(
        [
            (fk.Requirement(fk.Facts(*point), limit, **values), leaving.facts(point, limit, about)),
            (fk.Requirement(fk.KAnonymity(k)), leaving.k_anonymity(k)),
            (fk.Requirement(fk.LDiversity(least)), leaving.distinct(least)),
            (
                fk.Requirement(fk.LDiversity(least, "recursive", c)),
                leaving.recursive(least, c),
            ),
            (fk.Requirement(fk.AlphaK(share, k)), leaving.alpha_k(share, k)),
            (fk.Requirement(fk.TCloseness(share)), leaving.close(share, everybody)),
            (
                fk.Requirement(fk.TCloseness(share, "ordered", sorted(set(everybody)))),
                leaving.close(share, everybody, sorted(set(everybody)) or None),
            ),
        ]
    )


def test_no_more_are_said_to_leave_than_must_and_each_group_is_judged_alone():
    close = 0
    for seed in range(CASES):
        groups, (requirement, is_safe) = drawn(random.Random(seed))
        if len(set("".join(groups))) < 2:
            continue
        counts = fk.GroupCounts.from_bags([list(group) for group in groups])
        ledger = Policy([requirement]).ledger(counts.values, counts)
        alone = ledger.alone(counts).tolist()
        assert alone == [is_safe(group) for group in groups], (seed, requirement)
        said = ledger.fewest_leaving(counts).tolist()
        for group, fewest in zip(groups, said, strict=True):
            must = leaving.fewest(group, is_safe) if not is_safe(group) else 0
            assert fewest <= must, (seed, requirement, group)
            close += fewest == must > 0
    assert close > CASES / 2  # it is a bound that says something


def test_of_several_requirements_and_of_people_seen_apart_the_most_must_leave():
    """Each part of a group that some can tell apart must be safe by itself."""
    table = pa.table(
        {
            "age": [20] * 8,
            "job": list("xxxxyyyy"),
            "disease": list("aaab") + list("aaaa"),
        }
    )
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", other=["job"])
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.6")], schema)
    raw = policy.combined(fk.Microdata(table, schema))
    counts = raw.counts(np.zeros(8, dtype=np.int64))
    ledger = policy.ledger(raw.values, counts)
    assert ledger.alone(counts).tolist() == [False]
    # Of the four with job x, two with a; of the others, all four.
    assert ledger.fewest_leaving(counts).tolist() == [2 + 4]
    blind = fk.Policy([fk.Requirement(fk.Facts(), below="0.6", knowing=[])], schema)
    ledger = blind.ledger(raw.values, counts)
    assert ledger.fewest_leaving(counts).tolist() == [6]


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_where_people_may_have_several_values_nothing_is_said(semantics):
    counts = fk.GroupCounts.from_people([[["a"], ["a"], ["b"]]], semantics=semantics)
    assert fk.Facts().ledger("1/2", semantics=semantics).fewest_leaving(counts).tolist() == [0]
