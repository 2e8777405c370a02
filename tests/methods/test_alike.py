"""What says that values are alike to it: they may change places, and the most frequent is worst.

Decoy judges one bag of each kind by this, and asks of the most frequent value alone.
"""

from fractions import Fraction

import numpy as np
import pytest
from tests.examples import NIGHTLY
from tests.support import RULES

import foreknow as fk
from foreknow.adversaries.protocol import counts_of
from foreknow.criteria.registry import CRITERIA
from foreknow.data.counts import GroupCounts

CASES = 20_000 if NIGHTLY else 500


def groups_of(rng: np.random.Generator, n_values: int) -> list[np.ndarray]:
    """Bags of one to three groups, none of them empty."""
    bags = [rng.integers(0, 6, n_values) for _ in range(rng.integers(1, 4))]
    return [np.where(bag.sum() == 0, 1, bag) for bag in bags]


def counted(bags: list[np.ndarray]) -> GroupCounts:
    return GroupCounts.from_bags([[f"v{i}" for i in np.repeat(np.arange(len(b)), b)] for b in bags])


def knowledge(rng: np.random.Generator):
    own = [
        fk.Facts(l=int(rng.integers(0, 4)), k=int(rng.integers(0, 4))),
        fk.Negations(int(rng.integers(0, 4))),
    ][rng.integers(0, 2)]
    assert own.speaks.alike
    assert not own.speaks.groups
    return own


def test_nobody_is_surer_of_another_value_than_of_the_most_frequent():
    rng = np.random.default_rng(5)
    strict = 0
    for _ in range(CASES):
        bag, own = groups_of(rng, int(rng.integers(1, 6)))[0], knowledge(rng)
        counts = counted([bag])
        chances = {v: own.disclosure(counts, v).exact for v in counts.values}
        worst = max(chances.values())
        assert chances[f"v{int(np.argmax(bag))}"] == worst, (bag, own)
        strict += min(chances.values()) < worst
    assert strict > CASES / 4


def test_of_values_that_change_places_everything_is_as_safe():
    rng = np.random.default_rng(6)
    for _ in range(CASES):
        bags, own = groups_of(rng, int(rng.integers(1, 6))), knowledge(rng)
        changed = [rng.permutation(bag) for bag in bags]
        assert own.disclosure(counted(bags)).exact == own.disclosure(counted(changed)).exact, (
            bags,
            changed,
            own,
        )


@pytest.mark.parametrize("kind", CRITERIA, ids=lambda kind: kind.key)
def test_a_criterion_that_calls_values_alike_fails_groups_whichever_they_are(kind):
    rules = [rule for rule in RULES if type(rule) is kind]
    rules = [rule for rule in rules if rule.speaks is not None and rule.speaks.alike]
    if not rules:
        pytest.skip("it tells values apart, or is not worked out for Decoy")
    rng, failed = np.random.default_rng(7), 0
    for turn in range(200 * (10 if NIGHTLY else 1)):
        rule = rules[turn % len(rules)]
        bag = groups_of(rng, int(rng.integers(1, 6)))[0]
        own, other = (
            rule.attained(counts_of(counted([each]))) for each in (bag, rng.permutation(bag))
        )
        assert (own.holds, own.amount) == (other.holds, other.amount), (rule, bag)
        failed += not own.holds
    assert failed


def test_what_tells_values_apart_does_not_say_that_they_are_alike():
    assert not fk.Implications(2).speaks or not fk.Implications(2).speaks.alike
    assert not fk.TCloseness(Fraction(1, 5)).speaks.alike
