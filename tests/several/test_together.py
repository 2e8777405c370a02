"""Several releases of the same people as one: cells, differences, what crosses, and worlds."""

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.units import posteriors
from tests.oracle.units import worlds_of_several as worlds

import foreknow as fk
from foreknow.adversaries.disclosure import worst
from foreknow.several import crossing_groups
from foreknow.several.crossing_groups import CrossedGroups
from foreknow_judge.errors import DataError

PEOPLE = [f"p{i}" for i in range(9)]
FAMILIES = range(20_000 if NIGHTLY else 60)


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


def settled(seed, most):
    """A family whose releases are one, of few people."""
    memberships, values, release = joint(*family(random.Random(seed)))
    if release.unsettled is None and len(values) <= most:
        return memberships, values, release
    return None


# ---- cells ---------------------------------------------------------------------------------------


def test_settled_worlds_match_their_cells():
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


@pytest.mark.parametrize("kind", ["single", "set", "multiset"])
def test_bags_match_true_cells(kind):
    """Where differences settle a cell, its bag is the same in every world; jobs are known."""
    for seed in FAMILIES:
        rng = random.Random(seed)
        memberships, values = family(rng)
        if kind == "single":
            jobs = [rng.choice(["cook", "nurse"]) for _ in values]
            release = fk.together(releases_of(memberships, values, {"job": jobs}, other=["job"]))
            if release.unsettled is None:
                assert bags_of(release.seen().counts) == cells_of(memberships, values, jobs)
            continue
        draw = rng.sample if kind == "set" else rng.choices
        held = [draw("abc", k=rng.randint(0, 3)) for _ in values]
        release = fk.together(releases_of(memberships, held, semantics=kind))
        if release.unsettled is None:
            assert bags_of(release.counts) == cells_of(memberships, held)
            people = [p for p in range(len(values)) if any(m[p] is not None for m in memberships)]
            assert release.counts.sizes.sum() == len(people)


def rows_of(who, ill, **more):
    return pa.table({"who": [*who], "ill": [*ill], **more})


def test_contradicting_releases_are_refused():
    how = {"group": "group", "sensitive": "ill", "person": "who"}
    tables = [rows_of("ab", ills, group=[1, 1]) for ills in ("FH", "FF")]
    with pytest.raises(fk.InputError, match="contradict"):
        fk.together([fk.Release.from_groups(table, **how) for table in tables])


def test_counts_tables_are_no_releases():
    known = {"age": ["30 to 39"] * 2 + ["40 to 49"] * 4, "sex": [*"ffffmm"]}
    how = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill", "person": "who"}
    release = fk.Release.from_generalized(rows_of("abcdef", "FHFHFC", **known), **how)

    def tally(counts, column="sex"):
        table = pa.table({column: [*"ffmm"], "ill": [*"FHFC"], "count": counts})
        return fk.Release.from_tally(table, group=[column], sensitive="ill")

    both = fk.together([release, tally([2, 2, 1, 1])])
    assert sorted(both.counts.sizes.tolist()) == sorted(release.counts.sizes.tolist())
    for other, said in (
        (tally([3, 1, 1, 1]), "contradict"),
        (tally([1, 1, 1, 1], "zip"), "not known whom"),
    ):
        with pytest.raises(fk.InputError, match=said):
            fk.together([release, other])


def test_earlier_questions_hide_nobody():
    """Two people each are 30 and 41 years old, in groups of four and three."""
    rows = {"group": [1, 1, 1, 1, 2, 2, 2], "age": [30, 41, 52, 52, 30, 41, 52]}
    table = pa.table({**rows, "disease": ["Flu", "AIDS", "Flu", "Flu", "AIDS", "Flu", "Flu"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", group="group")
    for more in ({}, {"any_of": ["Flu"]}):
        release = fk.Release.from_groups(table, group="group", sensitive="disease")
        required = [fk.Requirement(fk.AlphaK(0.9, 3), **more)]
        assert fk.audit(release, fk.Policy(required)).safe  # by groups alone
        found = fk.audit(release, fk.Policy(required, schema))
        assert not found.safe
        assert found.verdicts[0].found.amount == 2 or "2 people" in str(found.verdicts[0].found)


# ---- knowledge, by all worlds --------------------------------------------------------------------


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


def test_facts_on_cells():
    for seed in FAMILIES[:: 20 if NIGHTLY else 3]:
        rng, case = random.Random(seed), settled(seed, 5)
        if case is None:
            continue
        memberships, values, release = case
        ruled, known = rng.choice([(0, 0), (1, 0), (0, 1), (1, 1)])
        known = min(known, len(values) - 1)
        attained = worst(fk.Facts(l=ruled, k=known).disclosures(release).values())
        found = list(worlds(memberships, values))
        assert attained.exact == most_by_facts(found, ruled, known), (case, ruled, known)


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
def test_implications_on_cells(most):
    compared = 0
    for seed in FAMILIES[::2]:
        case = settled(seed, 4 if most > 1 else 5)
        if case is None:
            continue
        memberships, values, release = case
        found = list(worlds(memberships, values))
        for value, told in fk.Implications(most).disclosures(release).items():
            assert told.exact == most_by_implications(found, value, most), (case, value)
            compared += 1
    assert compared > len(FAMILIES) / 2 / 4


@pytest.mark.parametrize("reading", ["joint", "binary"])
def test_priors_on_cells(reading):
    """Worlds weigh as much as everybody's chances of their value, by their job."""
    compared = 0
    for seed in FAMILIES[::2]:
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
    assert compared > len(FAMILIES) / 2 / 4


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


# ---- chains --------------------------------------------------------------------------------------


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
def test_chains_settle_from_ends(people, size, releases):
    memberships, values = chain(people, size, releases)
    found = CrossedGroups.of(memberships)
    assert found.settled.all()
    assert len(found.rounds) > crossing_groups._AT_ONCE
    told = found.counts([counts_of(own, values) for own in memberships], ["one", "two", "three"])
    for cell in range(len(found.groups)):
        own = Counter(v for v, c in zip(values, found.of_person.tolist(), strict=True) if c == cell)
        assert told.bag(cell) == own


def test_order_of_settling_is_ignored(monkeypatch):
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


def test_contradicting_chains_are_refused():
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


# ---- chosen combinations of columns --------------------------------------------------------------


def register(n, start):
    rows = range(start, start + n)
    names = {"id": [f"p{i}" for i in rows], "age": [20 + i % 30 for i in rows]}
    zips, ills = (
        [["south", "north"][i % 2] for i in rows],
        [["flu", "cold", "gout"][i % 3] for i in rows],
    )
    return pd.DataFrame({**names, "zip": zips, "ill": ills})


def requiring(own, **publish):
    schema = {"identifiers": ["id"], "quasi_identifiers": ["age", "zip"], "sensitive": "ill"}
    schema["hierarchies"] = {"age": {"intervals": [10]}}
    return fk.Policy.from_dict({"schema": schema, "require": [own], "publish": publish})


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_chosen_columns_count_in_each(form, tmp_path):
    """January has many of each zip code, and March, which is no safer beside it, has few."""
    january, march = tmp_path / "january", tmp_path / "march"
    weak = requiring({"group_size": 2}, labels={"zip": "exact", "age": "exact"}, form=form)
    asked = requiring({"k_anonymity": {"k": 5, "of": [["zip"]]}})
    fk.publish(register(40, 0), weak, seed=1).write(january)
    fk.publish(register(6, 40), weak, after=[january], seed=1).write(march)
    assert fk.audit(january, asked).safe
    assert not fk.audit(march, asked).safe
    found = fk.audit([january, march], asked)
    assert ([verdict.reached for verdict in found.verdicts], found.safe) == ([3], False)
    fk.verify(march, after=[january])
    with pytest.raises(fk.ForeknowError, match="has 3"):
        fk.verify(march, asked)
    with pytest.raises(fk.ForeknowError, match=r"together: .* has 3"):
        fk.verify(march, asked, after=[january])


def test_shared_columns_over_releases(tmp_path):
    january, march = tmp_path / "january", tmp_path / "march"
    rules = {"k_anonymity": {"k": 5, "of": [["zip"], ["age"]]}}
    rules = requiring(rules, labels={"zip": "exact"})
    fk.publish(register(40, 0), rules, seed=1).write(january)
    fk.publish(register(12, 40), rules, after=[january], seed=1).write(march)
    found = fk.verify(march, after=[january])
    assert [verdict.reached for verdict in (*found.findings, *found.together)] == [6, 6]
