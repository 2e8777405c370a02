"""Anatomy: its rounds are those of the greedy method, its groups have l different values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.tables import microdata
from tests.oracle.streamliner_lots import exchangeable, releases

import foreknow as fk
from foreknow.methods import anatomy as anatomy_rounds
from foreknow.methods.anatomy import rounds_of


@st.composite
def eligible(draw, most=20):
    """How many people have each value, none of them more than one in l."""
    n_values = draw(st.integers(2, 8))
    l = draw(st.integers(2, n_values))  # noqa: E741
    top = draw(st.sampled_from([2, 5, most]))
    counts = draw(st.lists(st.integers(0, top), min_size=n_values, max_size=n_values))
    while max(counts) * l > sum(counts) or not sum(counts):
        # Raise the least, or lower the most, until the table is eligible.
        at = counts.index(min(counts))
        counts[at] += 1
        if counts[at] == max(counts):
            break
    if max(counts) * l > sum(counts):
        counts = [max(counts)] * n_values
    return counts, l


def rounds_by_value(counts, l):  # noqa: E741
    rounds = rounds_of(np.array(counts), l)
    return [part.tolist() for part in np.split(rounds, np.cumsum(counts)[:-1])]


# ---- rounds -------------------------------------------------------------------------------------


@examples(1000, deadline=None)
@given(eligible(), st.sampled_from([1, 3, 1 << 20]))
def test_every_round_takes_one_from_each_of_the_l_largest_buckets(case, block):
    counts, l = case  # noqa: E741
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anatomy_rounds, "_BLOCK", block)
        taken = rounds_by_value(counts, l)
    rest = list(counts)
    for t in range(sum(counts) // l):
        chosen = [v for v, rounds in enumerate(taken) if t in rounds]
        assert len(chosen) == l
        least = min(rest[v] for v in chosen)
        assert least >= max((rest[v] for v in range(len(rest)) if v not in chosen), default=0)
        assert least > 0
        for v in chosen:
            rest[v] -= 1
    assert max(rest) <= 1  # who is left has a value of their own
    assert sum(rest) == sum(counts) % l
    for v, rounds in enumerate(taken):
        own = [t for t in rounds if t >= 0]
        assert own == sorted(set(own))  # one at a time, in the order of the rounds
        assert rounds[len(own) :] == [-1] * rest[v]


def test_many_values_of_few_people_and_few_values_of_many():
    for counts, l in (([1] * 5000, 7), ([50_000, 50_000, 3], 2), ([9_000] * 3 + [1] * 9_000, 4)):  # noqa: E741
        rounds = rounds_of(np.array(counts), l)
        sizes = np.bincount(rounds[rounds >= 0])
        assert (sizes == l).all()
        assert len(sizes) == sum(counts) // l


# ---- groups -------------------------------------------------------------------------------------


@examples(500, deadline=None)
@given(eligible(), st.integers(0, 999), st.randoms())
def test_groups_have_l_different_values_and_nobody_shares_theirs(case, seed, random):
    counts, l = case  # noqa: E741
    values = [f"v{v}" for v, count in enumerate(counts) for _ in range(count)]
    random.shuffle(values)
    groups = fk.Anatomy(l).partition(microdata(range(len(values)), values), seed=seed)
    assert (groups.dtype, len(groups)) == (np.int64, len(values))
    bags = [[values[i] for i in np.flatnonzero(groups == g)] for g in range(int(groups.max()) + 1)]
    assert len(bags) == len(values) // l
    for bag in bags:
        assert len(set(bag)) == len(bag) >= l
    assert sum(len(bag) - l for bag in bags) == len(values) % l


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("bag", "l"),
    [("aabb", 2), ("aabc", 2), ("aabbc", 2), ("abcd", 3), ("aabbcd", 2), ("aabbcc", 3)],
)
def test_an_adversary_who_knows_the_algorithm_but_not_the_seed_learns_no_more_than_the_bags(
    bag,
    l,  # noqa: E741
    monkeypatch,
):
    """All tables that can have led to a release are equally likely: it is exchangeable."""

    def method(table, lots):
        monkeypatch.setattr("foreknow.randomness.SecretGenerator", lambda: lots)
        return fk.Anatomy(l).partition(microdata(range(len(table)), table))

    assert exchangeable(releases(bag, method))
