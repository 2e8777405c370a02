"""What a ledger refuses at once is unsafe, and what it does not refuse is judged."""

import numpy as np
import pytest
from tests.examples import NIGHTLY

import foreknow as fk

LIMITS = ["1/3", "1/2", "2/3", "9/10"]


def asked_each(adversary, counts, limit, wanted):
    """Whether each group is safe as a release of its own, by its disclosures."""
    for g in range(counts.n_groups):
        alone = counts.take(np.array([g]))
        values = [counts.values[code] for code in alone.codes.tolist() if wanted[code]]
        yield all(adversary.disclosure(alone, value=value).below(limit) for value in values)


def check(adversary, counts, limit, wanted):
    ledger = adversary.ledger(limit, values=wanted)
    found = ledger.evaluate(None, counts, np.arange(counts.n_groups))
    expected = list(asked_each(adversary, counts, limit, wanted))
    assert found.safe_each().tolist() == expected, (adversary, counts.to_dict(), limit, wanted)
    return expected


def test_groups_by_themselves_are_safe_if_and_only_if_all_their_values_are():
    rng = np.random.default_rng(2)
    said = []
    for _ in range(3_000 if NIGHTLY else 60):
        bags = [rng.choice(list("aaabbcde"), n).tolist() for n in rng.integers(2, 15, 6)]
        counts = fk.GroupCounts.from_bags(bags)
        wanted = rng.random(counts.n_values) < 0.6
        adversary = fk.Facts(*(int(rng.integers(3)) for _ in range(3)))
        said += check(adversary, counts, LIMITS[rng.integers(4)], wanted)
    assert 50 < sum(said) < len(said) - 50


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_group_of_many_is_refused_only_if_it_reaches_the_limit(more):
    # Odds against of 1 + more / 5000, without known people and with two.
    for k in (0, 2):
        bag = ["a"] * 5_000 + list(range(5_000 + k + more))
        counts = fk.GroupCounts.from_bags([[str(value) for value in bag]])
        wanted = np.array([value == "a" for value in counts.values])
        assert check(fk.Facts(k=k), counts, "1/2", wanted) == [more > 0]
