"""Kinds of knowledge on several releases as one, by all worlds; and chains that settle in turn."""

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.several_worlds import worlds
from tests.several.test_together import FAMILIES, family, joint, releases_of

import foreknow as fk
from foreknow.several import crossing_groups
from foreknow.several.crossing_groups import CrossedGroups
from foreknow_judge.errors import DataError

SOME = FAMILIES if NIGHTLY else FAMILIES[::2]


def settled(seed, most):
    """A family whose releases are one, of few people."""
    memberships, values, release = joint(*family(random.Random(seed)))
    if release.unsettled is None and len(values) <= most:
        return memberships, values, release
    return None


def most_by_implications(found, value, most):
    """The highest chance of a value for whoever knows that many implications ending with it."""
    people = sorted(found[0])
    values = sorted({own for world in found for own in world.values()})
    best = Fraction(0)
    for target in people:
        said = [(p, v) for p, v in product(people, values) if (p, v) != (target, value)]
        for known in combinations(said, min(most, len(said))):
            left = [
                world
                for world in found
                if world[target] == value or not any(world[p] == v for p, v in known)
            ]
            if left:
                hits = sum(world[target] == value for world in left)
                best = max(best, Fraction(hits, len(left)))
    return best


@pytest.mark.parametrize("most", [1, 2])
def test_implications_on_all_releases_are_implications_on_the_cells(most):
    compared = 0
    for seed in SOME:
        case = settled(seed, 4 if most > 1 else 5)
        if case is None:
            continue
        memberships, values, release = case
        found = list(worlds(memberships, values))
        for value, told in fk.Implications(most).disclosures(release).items():
            assert told.exact == most_by_implications(found, value, most), (case, value)
            compared += 1
    assert compared > len(SOME) / 4


@pytest.mark.parametrize("reading", ["joint", "binary"])
def test_priors_on_all_releases_are_priors_on_the_cells(reading):
    """Worlds weigh as much as everybody's chances of their value, by their job."""
    compared = 0
    for seed in SOME:
        case = settled(seed, 6)
        if case is None:
            continue
        rng = random.Random(seed)
        memberships, values, _ = case
        jobs = [rng.choice(["cook", "nurse"]) for _ in values]
        of_jobs = {job: chances(rng) for job in ("cook", "nurse")}
        release = fk.together(releases_of(memberships, values, {"job": jobs}, other=["job"]))
        rows = [(job, v, float(p)) for job, own in of_jobs.items() for v, p in own.items()]
        columns = zip(*rows, strict=True)
        table = pa.table(
            dict(zip(["job", "value", "probability"], map(list, columns), strict=True))
        )
        told = fk.Priors(table, semantics=reading).disclosures(release)
        found = list(worlds(memberships, values))
        for value in sorted({*values}):
            if reading == "joint":
                weights = [weight(world, jobs, of_jobs) for world in found]
            else:
                weights = [odds(world, jobs, of_jobs, value) for world in found]
            likely = [
                sum(w for w, x in zip(weights, found, strict=True) if x[person] == value)
                for person in found[0]
            ]
            best = Fraction(max(likely)) / sum(weights)
            assert told[value].exact == best, (case, jobs, value)
            compared += 1
    assert compared > len(SOME) / 4


def chances(rng):
    """How likely each value is, in eighths, none of them impossible."""
    low, high = sorted(rng.sample(range(1, 8), 2))
    return dict(
        zip("abc", (Fraction(low, 8), Fraction(high - low, 8), Fraction(8 - high, 8)), strict=True)
    )


def weight(world, jobs, of_jobs):
    total = Fraction(1)
    for person, value in world.items():
        total *= of_jobs[jobs[person]][value]
    return total


def odds(world, jobs, of_jobs, value):
    """Who has the value, and who has not: the others are dealt without regard to anything."""
    total = Fraction(1)
    for person, own in world.items():
        p = of_jobs[jobs[person]][value]
        total *= p if own == value else 1 - p
    return total


def chain(people, size, releases=2, values="abc"):
    """Groups of each release that overlap those of the others, like tiles of a roof."""
    shift = size // releases
    groups = [(np.arange(people) + shift * place) // size for place in range(releases)]
    return groups, [random.Random(i).choice(values) for i in range(people)]


def counts_of(groups, values):
    bags = {}
    for group, value in zip(groups.tolist(), values, strict=True):
        bags.setdefault(group, []).append(value)
    return fk.GroupCounts.from_bags([bags[group] for group in sorted(bags)])


@pytest.mark.parametrize(("people", "size", "releases"), [(600, 4, 2), (601, 2, 2), (900, 6, 3)])
def test_a_long_chain_settles_from_its_ends(people, size, releases):
    memberships, values = chain(people, size, releases)
    found = CrossedGroups.of(memberships)
    assert found.settled.all()
    assert len(found.rounds) > crossing_groups._AT_ONCE
    told = found.counts([counts_of(own, values) for own in memberships], ["one", "two", "three"])
    for cell in range(len(found.groups)):
        own = Counter(v for v, c in zip(values, found.of_person.tolist(), strict=True) if c == cell)
        assert told.bag(cell) == own


def test_cells_that_settle_one_after_the_other_are_those_that_settle_at_once(monkeypatch):
    for seed in FAMILIES:
        memberships, values, _ = joint(*family(random.Random(seed)))
        groups = [np.array([-1 if g is None else g for g in own]) for own in memberships]
        groups = [np.unique(own, return_inverse=True)[1] - (own.min() < 0) for own in groups]
        bags = [
            counts_of(
                own[own >= 0], [v for v, g in zip(values, own.tolist(), strict=True) if g >= 0]
            )
            for own in groups
        ]
        names = [str(place) for place in range(len(groups))]
        told = []
        for most in (50, 0, 1):
            monkeypatch.setattr(crossing_groups, "_AT_ONCE", most)
            found = CrossedGroups.of(groups)
            counted = found.counts(bags, names)
            own = [counted.bag(cell) for cell in range(counted.n_groups)]
            told.append((found.settled.tolist(), own))
        assert told[0] == told[1] == told[2]


def test_a_chain_that_contradicts_itself_is_refused():
    memberships, values = chain(600, 4)
    others = [*values]
    others[301] = "d"
    bags = [counts_of(memberships[0], values), counts_of(memberships[1], others)]
    with pytest.raises(DataError, match="contradict"):
        CrossedGroups.of(memberships).counts(bags, ["one", "two"])
    others[301] = next(v for v in "abc" if v != values[301])
    bags = [counts_of(memberships[0], values), counts_of(memberships[1], others)]
    with pytest.raises(DataError, match="contradict"):
        CrossedGroups.of(memberships).counts(bags, ["one", "two"])
