"""Stated chances are those of all lots, drawn one by one; and how often seeded runs come out so."""

from collections import Counter
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.tables import microdata
from tests.oracle.streamliner_lots import bags, outcomes, tables

import foreknow as fk
from foreknow.errors import UnsupportedError


def people(values, ages=None):
    return microdata(range(len(values)) if ages is None else ages, values)


def numbered(groups):
    """Groups called by their first members."""
    names = {}
    return tuple(names.setdefault(int(group), len(names)) for group in groups)


def partitions(n):
    """All ways to group so many people."""
    found = [()]
    for _ in range(n):
        found = [(*own, g) for own in found for g in range(max(own, default=-1) + 2)]
    return found


def drawn(method, microdata):
    """The chance of each partition, by running the method with every lot."""
    found = Counter()
    with pytest.MonkeyPatch.context() as patch:

        def run(lots):
            patch.setattr("foreknow.randomness.SecretGenerator", lambda: lots)
            try:
                return numbered(method.partition(microdata))
            except fk.NoSafeRelease:
                return None

        for groups, chance in outcomes(run):
            found[groups] += chance
    assert sum(found.values()) == 1
    del found[None]
    return found


def same(method, microdata, others=True):
    """Whether the stated chances are the drawn ones, and 0 for groups that never come out."""
    expected = drawn(method, microdata)
    asked = partitions(microdata.n_people) if others else expected
    for groups in asked:
        assert method.chance(microdata, None, groups) == expected[groups], groups
    return expected


LETTERS = "abcdef"


def made(kind, l):  # noqa: E741
    return fk.Anatomy(l) if kind == "anatomy" else fk.Streamliner(l, kind)


@pytest.mark.parametrize(("n", "l"), [(2, 2), (3, 2), (4, 2), (5, 2), (3, 3), (5, 3), (5, 4)])
@pytest.mark.parametrize("kind", ["rda", "gda", "gsa", "anatomy"])
def test_every_partition_of_few_people(kind, n, l):  # noqa: E741
    method = made(kind, l)
    for bag in bags(n, l):
        for table in list(tables(bag))[:: 19 if n > 4 else 5]:
            values = [LETTERS[v] for v in table]
            for ages in (range(n), [i // 2 for i in range(n)]):
                same(method, people(values, list(ages)))


@pytest.mark.parametrize(
    ("values", "l"), [("aabbcc", 2), ("aabbcd", 2), ("aabbcd", 3), ("abcdef", 4), ("aaabbc", 2)]
)
@pytest.mark.parametrize("kind", ["rda", "gda", "anatomy"])
def test_six_people(kind, values, l):  # noqa: E741
    method = made(kind, l)
    same(method, people(values, [3, 1, 1, 2, 3, 3]))


@examples(10, deadline=None)
@given(st.data())
def test_chances_add_up_to_one(data):
    """Of six or seven people there are too many lots to draw, but not too many partitions."""
    n, l = data.draw(st.sampled_from([(5, 2), (6, 2), (6, 3)]))  # noqa: E741
    bag = data.draw(st.sampled_from(list(bags(n, l))))
    values = data.draw(st.permutations([LETTERS[v] for v in bag]))
    ages = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    table = people(values, ages)
    for kind in ("rda", "gda", "gsa", "anatomy"):
        method = made(kind, l)
        whole = sum(method.chance(table, None, groups) for groups in partitions(n))
        stuck = kind == "gda" and not drawn(method, table)
        assert whole == (0 if stuck else 1), kind


@pytest.mark.parametrize(
    ("kind", "values", "l"),
    [
        ("rda", "aaabbccd", 2),
        ("anatomy", "aabbccdde", 4),
        ("anatomy", "abcabcabcde", 3),
        ("gda", "aabbccab", 2),
    ],
)
def test_seeded_runs_come_out_as_often(kind, values, l):  # noqa: E741
    """All that came out of many runs, by bags: within six standard deviations of its chance."""
    method = made(kind, l)
    table, runs = people(values, [i % 3 for i in range(len(values))]), 1000
    seen = Counter(numbered(method.partition(table, seed=seed)) for seed in range(runs))
    by_chance, times, most = Counter(), Counter(), {}
    for groups, many in seen.items():
        chance = method.chance(table, None, groups)
        assert chance > 0
        shape = tuple(sorted(tuple(sorted(_bag(values, groups, g))) for g in set(groups)))
        times[shape] += many
        by_chance[shape] += 1
        most[shape] = max(most.get(shape, 0), chance)
        spread = 6 * sqrt(runs * chance) + 3
        assert abs(many - runs * chance) <= spread
    if kind == "gda":
        return
    # All partitions with the same bags are as likely: so their chances add up, as far as met.
    for shape, many in times.items():
        ways = _ways(values, shape)
        expected = float(ways * most[shape])
        assert abs(many / runs - expected) <= 6 * sqrt(expected * (1 - expected) / runs) + 1e-9


def _bag(values, groups, group):
    return [value for value, own in zip(values, groups, strict=True) if own == group]


def _ways(values, shape):
    """How many partitions have groups of these bags, counted by putting people in one by one."""
    states = Counter({tuple((bag, ()) for bag in shape): 1})
    for value in values:
        after = Counter()
        for state, many in states.items():
            tried = set()
            for place, (bag, had) in enumerate(state):
                if had.count(value) < bag.count(value) and (bag, had) not in tried:
                    # of groups that are alike so far and empty, the first only
                    alike = 1 if not had else state.count((bag, had))
                    tried.add((bag, had))
                    own = (bag, tuple(sorted((*had, value))))
                    after[tuple(sorted((*state[:place], own, *state[place + 1 :])))] += many * alike
        states = after
    return sum(states.values())


@pytest.mark.parametrize("kind", ["rda", "anatomy"])
def test_chances_of_many_people(kind):
    """Fifty pairs of a and b: one order of fifty in fifty factorial."""
    method = made(kind, 2)
    table = people("ab" * 50)
    chance = Fraction(1)
    for i in range(1, 51):
        chance /= i
    groups = method.partition(table, seed=3)
    assert method.chance(table, None, groups) == chance
    assert method.chance(table, None, np.arange(100) // 4) == 0


def test_what_is_refused_and_what_is_impossible():
    table = people("ab" * 40)
    with pytest.raises(UnsupportedError, match="gsa makes of 80 people"):
        fk.Streamliner(2, "gsa").chance(table, None, [i // 2 for i in range(80)])
    with pytest.raises(UnsupportedError, match="of groups that ria makes"):
        fk.Streamliner(2, "ria").chance(table, None, [0] * 80)
    for method in (fk.Anatomy(3), fk.Streamliner(3)):
        assert method.chance(people("aabc"), None, [0, 0, 0, 0]) == 0  # nothing is published
    for method in (fk.Anatomy(2), fk.Streamliner(2)):
        with pytest.raises(fk.InputError, match="each of the 4 rows"):
            method.chance(people("aabc"), None, [0, 0])
        assert method.chance(people("aabc"), None, [0, -1, 0, 0]) == 0
