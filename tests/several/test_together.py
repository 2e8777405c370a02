"""Several releases of the same people as one: cells, differences, and what crosses."""

import random
from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.several_worlds import posteriors, worlds

import foreknow as fk
from foreknow.adversaries.disclosure import worst

PEOPLE = [f"p{i}" for i in range(9)]


def family(rng, semantics="single"):
    """Who is in which group of two or three releases, and everybody's value."""
    people = rng.randint(2, 6)
    values = [rng.choice("abc") for _ in range(people)]
    memberships = []
    for _ in range(rng.randint(2, 3)):
        own = [rng.choice([None, 0, 1, 2]) for _ in range(people)]
        memberships.append(own if any(g is not None for g in own) else [0] * people)
    if rng.random() < 0.5:  # nested: a later release unites earlier groups and adds newcomers
        first = memberships[0]
        memberships = [first, [0 if g in (0, 1) else 1 if g is None else 2 for g in first]]
    return memberships, values


def releases_of(memberships, ill, more=None, **how):
    """Releases of people, each with a value, or a list of them, and with further columns."""
    made = []
    for own in memberships:
        inside = [p for p, group in enumerate(own) if group is not None]
        table = {"who": [PEOPLE[p] for p in inside], "group": [own[p] for p in inside]}
        for name, column in {"ill": ill, **(more or {})}.items():
            kind = pa.list_(pa.string()) if isinstance(ill[0], list) else pa.string()
            table[name] = pa.array([column[p] for p in inside], kind)
        named = {"group": "group", "sensitive": "ill", "person": "who", **how}
        made.append(fk.Release.from_groups(pa.table(table), **named))
    return made


def cells_of(memberships, held, *more):
    """What people have who are in the same groups, and alike in more; whoever is in some group."""
    cells = {}
    for person, values in enumerate(held):
        cell = tuple(own[person] for own in memberships)
        if any(group is not None for group in cell):
            key = cell, *(column[person] for column in more)
            cells.setdefault(key, []).extend(values)
    return sorted(sorted(Counter(own).items()) for own in cells.values())


def bags_of(counts):
    return sorted(sorted(counts.bag(group).items()) for group in range(counts.n_groups))


def joint(memberships, values):
    """The release of all, and everybody who is in one of them."""
    inside = [p for p in range(len(values)) if any(own[p] is not None for own in memberships)]
    kept = [[own[p] for p in inside] for own in memberships]
    values = [values[p] for p in inside]
    return kept, values, fk.together(releases_of(kept, values))


FAMILIES = range(20_000 if NIGHTLY else 100)


def most_by_facts(found, ruled, known_people):
    """How sure somebody becomes at most who rules out some values and knows some other people."""
    best = Fraction(0)
    people = sorted(found[0])
    values = sorted({value for world in found for value in world.values()})
    for target, value in product(people, values):
        others = [v for v in values if v != value]
        for ruled_out in permutations(others, min(ruled, len(others))):
            for known in permutations([p for p in people if p != target], known_people):
                for told in product(values, repeat=known_people):
                    left = [
                        world
                        for world in found
                        if world[target] not in ruled_out
                        and all(world[p] == v for p, v in zip(known, told, strict=True))
                    ]
                    if left:
                        hits = sum(world[target] == value for world in left)
                        best = max(best, Fraction(hits, len(left)))
    return best


def test_the_worlds_of_settled_releases_are_those_of_their_cells():
    settled = 0
    for seed in FAMILIES:
        memberships, values, release = joint(*family(random.Random(seed)))
        if release.unsettled is not None:
            with pytest.raises(fk.NotSettled):
                release.counts  # noqa: B018
            continue
        settled += 1
        told = posteriors(memberships, values)
        cells = {}
        for person in range(len(values)):
            cells.setdefault(tuple(own[person] for own in memberships), []).append(person)
        assert sorted(release.counts.sizes.tolist()) == sorted(map(len, cells.values()))
        bags = sorted(
            sorted(release.counts.bag(group).items()) for group in range(release.counts.n_groups)
        )
        shares = sorted(
            sorted((v, int(p * len(people))) for v, p in told[people[0]].items())
            for people in cells.values()
        )
        assert bags == shares, (memberships, values)
    assert settled > len(FAMILIES) // 2


def test_facts_on_all_releases_are_facts_on_the_cells():
    for seed in FAMILIES[:: 20 if NIGHTLY else 4]:
        rng = random.Random(seed)
        memberships, values, release = joint(*family(rng))
        if release.unsettled is not None or len(values) > 5:
            continue
        found = list(worlds(memberships, values))
        ruled, known = rng.choice([(0, 0), (1, 0), (0, 1), (1, 1)])
        known = min(known, len(values) - 1)
        attained = worst(fk.Facts(l=ruled, k=known).disclosures(release).values())
        assert attained.exact == most_by_facts(found, ruled, known), (
            memberships,
            values,
            ruled,
            known,
        )


def test_people_who_are_in_one_release_each_stay_in_their_groups():
    first = {"who": ["a", "b"], "age": ["30 to 39"] * 2, "ill": ["Flu", "HIV"]}
    how = {"quasi_identifiers": ["age"], "sensitive": "ill", "person": "who"}
    one = fk.Release.from_generalized(pa.table(first), **how)
    two = fk.Release.from_generalized(pa.table({**first, "who": ["c", "d"]}), **how)
    release = fk.together([one, two])
    assert release.group_columns == ("cohort", "age")
    assert release.counts.sizes.tolist() == [2, 2]
    assert [people for _, people in release.releases] == [2, 2]


def test_releases_that_contradict_each_other_are_refused():
    how = {"group": "group", "sensitive": "ill", "person": "who"}
    one = pa.table({"who": ["a", "b"], "group": [1, 1], "ill": ["Flu", "HIV"]})
    two = pa.table({"who": ["a", "b"], "group": [1, 1], "ill": ["Flu", "Flu"]})
    releases = [fk.Release.from_groups(table, **how) for table in (one, two)]
    with pytest.raises(fk.InputError, match="contradict"):
        fk.together(releases)


def test_columns_beside_divide_cells_as_they_divide_groups():
    people = {"who": list("abcd"), "ill": ["Flu", "HIV", "Flu", "Flu"]}
    jobs = {**people, "job": ["cook", "cook", "nurse", "nurse"]}
    how = {"group": "group", "sensitive": "ill", "person": "who", "other": ["job"]}
    one = pa.table({**jobs, "group": [1, 1, 1, 2]})
    two = pa.table({**jobs, "group": [1, 1, 1, 1]}).slice(0, 3)
    release = fk.together([fk.Release.from_groups(table, **how) for table in (one, two)])
    assert sorted(release.seen().counts.sizes.tolist()) == [1, 1, 2]
    audited = fk.audit(release, fk.Policy([fk.Requirement(fk.Facts(), below=0.9)]))
    assert not audited.safe  # the nurses are alone


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_bags_of_several_values_are_those_of_the_cells(semantics):
    """Where differences settle a cell, its bag is the same in every world: the true one."""
    for seed in FAMILIES:
        rng = random.Random(seed)
        memberships, values = family(rng)
        held = [
            rng.sample("abc", rng.randint(0, 3))
            if semantics == "set"
            else rng.choices("abc", k=rng.randint(0, 3))
            for _ in values
        ]
        release = fk.together(releases_of(memberships, held, semantics=semantics))
        if release.unsettled is None:
            assert bags_of(release.counts) == cells_of(memberships, held)


def test_sets_of_values_are_taken_together():
    how = {"group": "group", "sensitive": "ill", "person": "who", "semantics": "set"}
    rows = {"who": ["a", "b", "c"], "group": [1, 1, 1], "ill": [["Flu"], ["Flu", "HIV"], []]}
    one, two = pa.table(rows).slice(0, 2), pa.table(rows)
    release = fk.together([fk.Release.from_groups(table, **how) for table in (one, two)])
    bags = [release.counts.bag(group) for group in range(release.counts.n_groups)]
    assert sorted(map(str, bags)) == sorted(["{}", "{'Flu': 2, 'HIV': 1}"])
    assert release.counts.sizes.sum() == 3


def test_a_table_of_counts_that_was_counted_from_a_release_tells_nothing():
    rows = {
        "who": list("abcdef"),
        "age": ["30 to 39"] * 2 + ["40 to 49"] * 4,
        "sex": ["f", "f", "f", "f", "m", "m"],
        "ill": ["Flu", "HIV", "Flu", "HIV", "Flu", "Cold"],
    }
    how = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill", "person": "who"}
    release = fk.Release.from_generalized(pa.table(rows), **how)
    counted = {"sex": ["f", "f", "m", "m"], "ill": ["Flu", "HIV", "Flu", "Cold"]}
    true = fk.Release.from_tally(
        pa.table({**counted, "count": [2, 2, 1, 1]}), group=["sex"], sensitive="ill"
    )
    both = fk.together([release, true])
    assert sorted(both.counts.sizes.tolist()) == sorted(release.counts.sizes.tolist())
    false = fk.Release.from_tally(
        pa.table({**counted, "count": [3, 1, 1, 1]}), group=["sex"], sensitive="ill"
    )
    with pytest.raises(fk.InputError, match="contradict"):
        fk.together([release, false])
    other = fk.Release.from_tally(
        pa.table({"zip": ["1"], "ill": ["Flu"], "count": [1]}), group=["zip"], sensitive="ill"
    )
    with pytest.raises(fk.InputError, match="not known whom"):
        fk.together([release, other])


def test_columns_beside_divide_the_true_cells():
    """Jobs are known of everybody: people of a cell and a job share the values of just these."""
    for seed in FAMILIES:
        rng = random.Random(seed)
        memberships, values = family(rng)
        jobs = [rng.choice(["cook", "nurse"]) for _ in values]
        release = fk.together(releases_of(memberships, values, {"job": jobs}, other=["job"]))
        if release.unsettled is None:
            assert bags_of(release.seen().counts) == cells_of(memberships, values, jobs)
