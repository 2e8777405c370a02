"""Decoy: what refusals tell, its cuts and limits, and what adversaries learn, by enumeration."""

import os
import random
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import factorial, prod

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import desk as desk
from tests.common import NIGHTLY, examples
from tests.methods.decoy_walk import eager as eager
from tests.methods.decoy_walk import given as given_tables
from tests.methods.decoy_walk import in_order, judge, labelled, made_of
from tests.oracle.decoy import (
    Group,
    beliefs,
    keeps,
    one_trial,
    placements,
    planned,
    worst,
    worst_of_implications,
    worst_posterior,
    worst_window,
)
from tests.oracle.implications import group_by_group

import foreknow as fk
from foreknow.errors import NoSafeRelease
from foreknow.features.more_methods.decoy import draws, search
from foreknow.features.more_methods.decoy.decoy import Decoy
from foreknow.features.more_methods.decoy.guards import AMOUNTS, Guards
from foreknow_judge.errors import DataError, PolicyError, UnsupportedError

ONE = fk.Schema(quasi_identifiers=["x"], sensitive="v")


def started(values, /, *criteria, x=None, below="3/5", **secret):
    """A search of a table, at its start."""
    table = pa.table({"x": list(range(len(values))) if x is None else x, "v": list(values)})
    requirements = [fk.Requirement(one, below=below, **secret) for one in criteria]
    return Decoy()._start(fk.Microdata(table, ONE), fk.Policy(requirements, ONE))


# ---- the proof, apart from the program ----------------------------------------------------------


@given(
    st.lists(st.sampled_from("abc"), min_size=3, max_size=5),
    *(st.integers(1, most) for most in (2, 3, 4, 2)),
    st.randoms(use_true_random=False),
)
@examples(25, daily=5, deadline=None)
def test_what_one_trial_tells(values, least, many, decoys, j, draw):
    """Whatever bags of a part are unsafe: by all worlds, all lots and all decoys."""
    n, many = len(values), min(many, len(values) // 2)
    part = draw.sample(range(n), min(least, n - 1))
    every = sorted(set(permutations(values)))
    bags = sorted({tuple(sorted(world[p] for p in part)) for world in every})
    unsafe = {bag for bag in bags if draw.random() < 0.4}
    accepted, refused = one_trial(values, part, many, unsafe, j, decoys)
    # An accepted cut tells nothing beyond the bags of its parts.
    for bag in bags:
        assert len({accepted[w] for w in every if tuple(sorted(w[p] for p in part)) == bag}) == 1
    # A refused one makes nothing that concerns j people likelier by more than 1 + 1/K.
    for weights in refused.values():
        least_weight = min(weights.values())
        if not least_weight:
            assert set(weights.values()) == {0}
            continue
        for people in permutations(range(n), j):
            for theirs in product(sorted(set(values)), repeat=j):
                inside = [w for w in weights if tuple(w[p] for p in people) == theirs]
                after = sum(weights[w] for w in inside) / least_weight
                assert len(inside) <= after <= len(inside) * (1 + Fraction(1, decoys))
        for w in every:  # in all, something comes of every world
            assert accepted[w] + sum(own.get(w, 0) for own in refused.values()) == 1


# ---- parts that are far from the whole ----------------------------------------------------------


def test_foreseen_cuts_happen():
    """Beside draws: who is foreseen to be refused mostly is, and the same the other way."""
    draw, lot, many = random.Random(2), np.random.default_rng(2), 100
    results = {chance: [] for chance in (0.0, *search._CHANCES)}
    for _ in range(200 if NIGHTLY else 40):
        values = draw.choices("abcdefgh", [8, 7, 6, 5, 4, 3, 2, 1], k=draw.randrange(30, 300))
        start = started(values, fk.Facts(draw.choice([0, 1])))
        bag = start.bags_of(start.node, 1)
        size, decoys = draw.randrange(6, len(values) - 5), draw.choice([3, 10])
        people, none = np.array([size, len(values) - size]), np.zeros(2, dtype=np.int64)
        chance = start._chances_of_acceptance(
            [search._Parts(none, none, people)],
            draws.UnlikeParts.of(bag),
            none[:1],
            np.array([decoys]),
        )
        owner = np.arange(many).repeat(2)
        bags = draws.deal_bags(bag.repeat(many, axis=0), np.tile(people, many), owner, lot)
        results[float(chance[0, 0])].append(
            start.safe_if_exchanged(bags, owner).mean() ** (decoys + 1)
        )
    least, most = results[0.0], results[search._CHANCES[-1]]
    assert min(len(least), len(most)) > 3
    assert np.mean(least) < 0.15
    assert np.mean(most) > 0.8


# ---- at a size ----------------------------------------------------------------------------------

ROLES = fk.Schema(quasi_identifiers=["income", "district"], sensitive="cause")
HALF = fk.Policy([fk.Requirement(fk.Facts(1), below="1/2")], ROLES)


def register(n=1200):
    draw = random.Random(3)
    columns = {
        "income": [draw.randrange(100) for _ in range(n)],
        "district": [draw.choice(["north", "south", "east", "west"]) for _ in range(n)],
        "cause": [draw.choice("ppqqrstuvw") for _ in range(n)],
    }
    return pa.table(columns)


TWO_SETS = {"one": ["p", "q"], "two": ["q", "r"]}


@pytest.mark.parametrize(
    "asked",
    [
        [fk.Requirement(fk.Facts(1), below="1/2")],
        [fk.Requirement(fk.Facts(1, 1, 1), below="3/4"), fk.Requirement(fk.KAnonymity(8))],
        [fk.Requirement(fk.Negations(2), below="2/3", values=["p", "q"])],
        [fk.Requirement(fk.Facts(0, 1, 0), below="3/5", any_of=["p", "q"])],
        [fk.Requirement(fk.Facts(1), below="2/3", any_of=TWO_SETS)],
        [fk.Requirement(fk.LDiversity(3)), fk.Requirement(fk.LDiversity(3, "recursive", c=2))],
    ],
    ids=["l", "k and m, size", "negations", "any of", "sets", "diversity"],
)
def test_it_divides_and_keeps_policies(asked):
    microdata = fk.Microdata(register(), ROLES)
    publication = fk.publish(microdata, fk.Policy(asked, ROLES), method=fk.Decoy(cuts=3), seed=7)
    assert publication.audit.safe
    assert len(publication.groups) > 4
    assert publication.certificate.method["name"] == "Decoy"
    assert publication.certificate.scope["method"] == "as required"
    assert any(note.startswith("seeded") for note in publication.certificate.notes)


def test_attacks_are_settled_by_proof():
    microdata = fk.Microdata(register(), ROLES)
    one, two = (fk.Decoy().partition(microdata, HALF, seed=7) for _ in range(2))
    assert np.array_equal(one, two)
    attack_result = fk.attack(microdata, fk.Decoy(), HALF)
    assert (
        attack_result.how,
        attack_result.kept,
        attack_result.found,
        attack_result.undecided,
    ) == ("bound", True, False, False)
    assert "no posterior reaches a limit" in repr(attack_result)
    assert attack_result.to_dict()["kept"] is True
    with pytest.raises(UnsupportedError, match="reaches a limit of the policy"):
        attack_result.posterior(1, "p")


def test_groups_that_break_the_policy():
    """They are not taken for Decoy's own."""
    policy = fk.Policy(HALF.requirements, ROLES, fk.PublishOptions(form="bucketized"))
    microdata = fk.Microdata(register(), ROLES)
    groups = np.arange(microdata.n_people) // 2
    with pytest.raises(DataError, match="does not make these groups"):
        fk.attack(microdata, fk.Decoy(), policy, groups=groups)
    named = register().append_column("group", pa.array(groups))
    release = fk.Release.from_groups(named, group="group", sensitive="cause")
    with pytest.raises(DataError, match="does not make these groups"):
        fk.Algorithm(fk.Decoy(), policy).disclosure(release, "p")
    group_of_row = fk.Decoy().partition(microdata, policy)
    attack_result = fk.attack(microdata, fk.Decoy(), policy, groups=group_of_row)
    assert attack_result.kept
    assert attack_result.proof.startswith("if the method made these groups, beside as many decoys")


def test_what_decoy_refuses():
    few = fk.Microdata(pa.table({"x": range(4), "v": [*"aabb"]}), ONE)
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="1/4")], ONE)
    with pytest.raises(NoSafeRelease, match="not even one group of all 4 people"):
        fk.Decoy().partition(few, policy)
    rows = register().append_column("job", pa.array(["a", "b"] * 600))
    beside = fk.Schema(quasi_identifiers=["income", "district"], sensitive="cause", other=["job"])
    policy = fk.Policy(HALF.requirements, beside)
    with pytest.raises(UnsupportedError, match="needs one sensitive column"):
        fk.publish(fk.Microdata(rows, beside), policy, method="decoy")
    near = fk.Requirement(fk.Facts(0, 0, 1), below="1/2", sensitive="income", within=5)
    schema = fk.Schema(quasi_identifiers=["district"], sensitive="income")
    with pytest.raises(PolicyError, match="does not look at windows"):
        fk.publish(fk.Microdata(register(), schema), fk.Policy([near], schema), method="decoy")


def test_decoy_on_the_command_line(desk):
    pyarrow.csv.write_csv(register(), desk.folder / "deaths.csv")
    desk.put(
        "policy.toml",
        '[schema]\nquasi_identifiers = ["income", "district"]\nsensitive = "cause"\n\n'
        "[[require]]\nfacts = { l = 1 }\nbelow = 0.5\n\n[publish]\ndecoy = { cuts = 4 }\n",
    )
    desk.says(*desk.publish("--method", "decoy", "-q", table="deaths.csv"))
    desk.says("verify", "out")
    attack = ["attack", "deaths.csv", "--policy", "policy.toml", "--method", "decoy"]
    assert "no posterior reaches a limit" in desk.says(*attack)


# ---- decoy's limits of implications, criteria and windows, by enumeration of all worlds ----------


OWNER = np.zeros(1, dtype=np.int64)
LABELS = list("abcdef")
CRITERIA = {
    "entropy": (lambda limit: fk.LDiversity(limit, "entropy"), ["5/2", "2", "3/2"]),
    "alpha": (lambda limit: fk.AlphaK(limit, 1), ["2/5", "1/2", "3/5"]),
    "recursive": (lambda limit: fk.LDiversity(3, "recursive", c=limit), ["1", "2", "3"]),
    "t": (fk.TCloseness, ["1/4", "2/5", "3/5"]),
    "ordered": (lambda limit: fk.TCloseness(limit, "ordered", order=LABELS), ["1/4", "2/5"]),
    "beta": (fk.BetaLikeness, ["1/2", "1", "3/2"]),
    "enhanced": (lambda limit: fk.BetaLikeness(limit, enhanced=True), ["1", "2"]),
    "delta": (fk.DeltaDisclosure, ["3/4", "1", "3/2"]),
}
every_kind = pytest.mark.parametrize("kind", CRITERIA)


def microdata(values):
    return fk.Microdata(pa.table({"x": list(range(len(values))), "v": list(values)}), ONE)


def shares(bag):
    return {x: Fraction(many, len(bag)) for x, many in Counter(bag).items()}


def guarded(table, *requirements, decoys=None):
    """Guards of a table, and how they judge one group of it by a way of theirs."""
    rows = microdata(table)
    everyone = rows.counts(np.zeros(len(table), dtype=np.int64))
    policy = fk.Policy(list(requirements), ONE)
    guards = Guards.of(policy, everyone, decoys)
    if decoys and not Guards.of(policy, everyone).groups_interact:
        guards = Guards.of(policy, everyone)

    def safe(way, bag, *more):
        counts = np.bincount([rows.values.codes[x] for x in bag], minlength=len(rows.values))
        codes = np.flatnonzero(counts)
        group = np.array([len(bag)]), np.array([0, len(codes)]), codes, counts[codes], rows.values
        return bool(getattr(guards, way)(fk.GroupCounts(*group), OWNER, *more).safe_each()[0])

    return safe


def random_table(draw, least, most):
    return draw.choices("abcd", [4, 3, 2, 1], k=draw.randrange(least, most))


# ---- the theorems, apart from decoys ------------------------------------------------------------


@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 4))
def test_single_atoms_are_the_worst(seed):
    """All pairs of basic implications of up to two atoms on each side, under any weights."""
    draw = random.Random(seed)
    people, values = draw.choice([(2, "ab"), (3, "ab"), (2, "abc")])
    every = list(product(values, repeat=people))
    weights = {w: draw.choice([0, 1, 1, 2, 5]) for w in draw.sample(every, min(len(every), 6))}
    weights[every[0]] = 1
    for k in (1, 2) if people == 2 else (1,):
        simple = worst_of_implications(weights, set(values), k)
        assert worst_of_implications(weights, set(values), k, basic=True) == simple


@every_kind
def test_what_refusals_leave_keeps_criteria(kind):
    """Shares times anything from 1 to 1 + 1/K; also that limits are not lowered without need."""
    draw, (made, limits) = random.Random(kind), CRITERIA[kind]
    kept = lost = 0
    for _ in range(400 if NIGHTLY else 8):
        table, limit = random_table(draw, 12, 40), draw.choice(limits)
        safe = guarded(table, fk.Requirement(made(limit)))
        bag = draw.sample(table, draw.randrange(4, len(table)))
        for amount in AMOUNTS:
            now = safe("evaluate_refused", bag, amount)
            several = [*map(set, ["", *"abcd", "ab", "bcd", "abc", "abd", "acd"])]
            several += [{x for x in "abcd" if draw.random() < 2 / 3} for _ in range(20)]
            held = True
            for some in several:
                own = {x: p * (1 + Fraction(x in some, amount)) for x, p in shares(bag).items()}
                own = {x: p / sum(own.values()) for x, p in own.items()}
                held &= keeps(own, shares(table), kind, Fraction(limit))
            assert held or not now
            kept, lost = kept + now, lost + (held and not now)
    assert kept > 3 * lost


def near(bag, everybody, swaps):
    """Every bag that so many exchanges with others make of one."""
    results = {tuple(sorted(bag))}
    for _ in range(swaps):
        results |= {
            tuple(sorted((*bag[:i], x, *bag[i + 1 :])))
            for bag in results
            for i in range(len(bag))
            for x in everybody
        }
    return results


@pytest.mark.parametrize("kind", [*CRITERIA, "implications", "windows"])
def test_decoys_stand_for_exchanged_values(kind):
    """Who is quiet is safe after any exchange, also of one more value that facts tell."""
    draw, noisy = random.Random(kind), 0
    for _ in range(300 if NIGHTLY else 12):
        table, most, beside = random_table(draw, 8, 24), draw.choice([0, 0, 1]), []
        if kind == "implications":  # beside the whole table, which is one group that stays
            k, limit, most = draw.choice([1, 1, 2, 3]), draw.choice(["3/5", "3/4", "9/10"]), 0
            wanted = set(draw.choice(["abcd", "a", "d", "cd"])) & set(table) or {table[0]}
            requirement = fk.Requirement(fk.Implications(k), below=limit, values=sorted(wanted))
        elif kind == "windows":
            table = [draw.randrange(12) for _ in table]
            wide, limit = draw.choice([1, 2, 4]), draw.choice(["1/2", "3/4", "9/10"])
            out = draw.choice([0, 1, 2])
            requirement = fk.Requirement(fk.Facts(out, most), below=Fraction(limit), within=wide)
        else:
            limit = draw.choice(CRITERIA[kind][1])
            requirement = fk.Requirement(CRITERIA[kind][0](limit))
            beside = [fk.Requirement(fk.Facts(0, most, 0), below=1)]
        bag = draw.sample(table, draw.randrange(3, 8))

        every, limit = near(tuple(bag), set(table), 1 + most), Fraction(limit)
        if kind == "implications":
            asked_of = product(every, wanted)
            unsafe = any(group_by_group([one, table], v, k)[k] >= limit for one, v in asked_of)
        elif kind == "windows":
            unsafe = any(worst_window(one, wide, out, most) >= limit for one in every)
        else:
            unsafe = not all(keeps(shares(one), shares(table), kind, limit) for one in every)
        assert not (unsafe and guarded(table, requirement, *beside)("exchanged", bag))
        noisy += unsafe
    assert noisy


@every_kind
def test_beliefs_after_refusals_keep_criteria(kind):
    """One cut beside three decoys, whatever is unsafe, by all worlds, all lots and all decoys."""
    draw, (made, limits) = random.Random(kind), CRITERIA[kind]
    told = 0
    for _ in range(40 if NIGHTLY else 3):
        values, limit = draw.choice(["aabbcc", "aabbc", "aabbcd"]), Fraction(limits[-1])
        many, safe = draw.choice([1, 1, 2]), guarded(values, fk.Requirement(made(limit)))
        unsafe = {draw.choice(sorted({tuple(sorted(w[:3])) for w in permutations(values)}))}
        for (_, bags), weights in one_trial(values, range(3), many, unsafe, 1, 3)[1].items():
            if any(weights.values()) and all(safe("evaluate_refused", bag, 3) for bag in bags):
                told += len(set(weights.values())) > 1
                assert all(
                    keeps(belief, shares(values), kind, limit) for belief in beliefs(weights)
                )
    assert told


def test_implications_after_two_refusals():
    """Two groups, each with one cut beside three decoys; atoms fall in both."""
    draw, told = random.Random(8), 0
    for _ in range(30 if NIGHTLY else 1):
        k = draw.choice([1, 1, 2]) if NIGHTLY else 1
        values, limit = "abcd", Fraction(draw.choice(["1/2", "3/5", "3/4"]))
        everyone = microdata(values * 2).counts(np.array([0] * 4 + [1] * 4))
        policy = fk.Policy([fk.Requirement(fk.Implications(k), below=limit)], ONE)
        guards = Guards.of(policy, everyone, 3)
        if not guards.evaluate(everyone, np.zeros(2, dtype=np.int64)).safe_each()[0]:
            continue
        unsafe = {draw.choice([*combinations(values, 2)])}
        (weights,) = one_trial(values, range(2), 1, unsafe, 1, 3)[1].values()
        told += len(set(weights.values())) > 1
        both = {v + w: x * y for v, x in weights.items() for w, y in weights.items()}
        assert worst_of_implications(both, set(values), k) < limit
    assert told


# ---- the program: everybody's posterior, over every world of every release ----------------------

KINDS = ["facts", "any_of", "values", "implications", "windows", *CRITERIA]


def drawn_requirement(draw, kind, world):
    """A requirement, and whether weights of worlds keep it."""
    if kind in CRITERIA:
        requirement, limits = CRITERIA[kind]
        limit = draw.choice(limits)
        return fk.Requirement(requirement(limit)), lambda weights: all(
            keeps(belief, shares(world), kind, Fraction(limit)) for belief in beliefs(weights)
        )
    limit, pair = draw.choice(["2/3", "3/4", "4/5", "1"]), sorted(set(world))[:2]
    if kind == "implications":
        k = draw.choice([0, 1, 2]) if NIGHTLY else 1
        some = draw.choice([pair[:1], None])
        requirement = fk.Requirement(fk.Implications(k), below=limit, values=some)
        about = set(some or world)
        return (
            requirement,
            lambda weights: worst_of_implications(weights, about, k) < Fraction(limit),
        )
    facts, more = draw.choice([*product((0, 1), repeat=3), (2, 0, 0), (0, 2, 0)]), {}
    secrets = [{value} for value in set(world)]
    if kind == "windows":
        facts, more = (*facts[:2], 0), {"within": draw.choice([1, 2])}
        secrets = [{x for x in world if y <= x <= y + more["within"]} for y in set(world)]
    elif kind != "facts":
        some = pair if kind == "any_of" else pair[:1]
        more, secrets = {kind: some}, [set(some)]
    return fk.Requirement(fk.Facts(*facts), below=limit, **more), lambda weights: all(
        worst_posterior(weights, secret, facts) < Fraction(limit) for secret in secrets
    )


@pytest.mark.thinned(2)
@pytest.mark.parametrize("decoys", [0, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_releases_stay_below_limits(kind, decoys, eager):
    """As it is, and with few decoys of cuts that are mostly refused."""
    if decoys:
        eager(decoys)
    draw, some, done, cut = (
        random.Random(f"{kind} {decoys}"),
        ["aabbc", "aabc", "abcde", "aaabb"],
        0,
        0,
    )
    if kind == "windows":
        some = [[1, 2, 4, 5, 8], [1, 1, 3, 6, 7, 7], [1, 3, 5, 7, 9]]
    while done < (60 if NIGHTLY else 12):
        people = 4 if kind == "implications" and not NIGHTLY else draw.choice([4, 5])
        world = tuple(draw.choices(draw.choice(some), k=people))
        required, holds = drawn_requirement(draw, kind, world)
        try:
            result = made_of(microdata(world), fk.Policy([required], ONE))
        except (NoSafeRelease, PolicyError):
            continue
        done, cut, seen = done + 1, cut + (len(result) > 1), set()
        for groups, weights in result.items():
            releases = defaultdict(dict)
            for own, weight in weights.items():
                releases[tuple(sorted(zip(groups, own, strict=True)))][own] = weight
            seen |= {tuple(sorted(release.items())) for release in releases.values()}
        assert all(holds(dict(own)) for own in seen), world
    assert cut or kind in ("implications", "recursive")


# ---- limits that are between those of the bag and those of what may be believed ------------------


def test_decoys_are_judged_like_cuts():
    """Where limits bear on all groups, all are lowered, for decoys as well."""
    bag, whole = [*"aaaabbbccd" * 200], [*"aabbccdd" * 500]
    far = sum(abs(bag.count(v) / len(bag) - 1 / 4) for v in "abcd") / 2
    rule = fk.Requirement(fk.TCloseness(Fraction(far).limit_denominator(1000) + Fraction(1, 200)))
    asked = rule, fk.Requirement(fk.Implications(1), below="99/100")
    for way in ("evaluate", "exchanged"):
        assert guarded(whole, *asked)(way, bag)
        assert not guarded(whole, *asked, decoys=30)(way, bag)


# ---- what adversaries who know Decoy learn of every release it may make --------------------------


FACTS = [*product(range(3), repeat=3)]
# Quasi-identifiers of n people: all different; few different; two columns, one of them categories.
COLUMNS = {
    "line": lambda n: [{"x": list(range(n))}],
    "ties": lambda n: [{"x": [0] * i + [1] * (n - i)} for i in range(2, n // 2 + 1)],
    "grid": lambda n: [
        {"x": [i // 2 for i in range(n)], "y": [f"kind {i % 3}" for i in range(n)]},
    ],
}


def microdata_of(bag, columns):
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="v")
    return fk.Microdata(pa.table({**columns, "v": list(bag)}), schema)


def policy_of(facts, limit):
    return fk.Policy([fk.Requirement(fk.Facts(*facts), below=limit)])


# ---- that counting is right ---------------------------------------------------------------------


def test_counts_cover_all_worlds():
    """Groups dealt out in any way, any bags of parts being unsafe; facts up to (2, 2, 2)."""
    draw = random.Random(None if NIGHTLY else 7)
    uneven = 0
    for _ in range(400 if NIGHTLY else 12):
        groups, whole = [], {(): Fraction(1)}
        for bag in draw.choice([[(2, 1, 1)], [(2, 2, 0)], [(2, 2, 1)], [(1, 1, 1), (0, 1, 1)]]):
            dealt = planned(bag, draw.choice([1, 2]) if sum(bag) > 3 else 1)
            first = draw.randrange(1, sum(bag))
            placed = draw.choice(sorted(placements(dealt, (first, sum(bag) - first))))
            seats = [i for i, sizes in enumerate(placed) for _ in labelled(sizes)]
            side = [part for sizes in placed for part in labelled(sizes)]
            every = list(given_tables(dealt, seats, side, 2))
            unsafe = {bags for bags in sorted({bags for _, bags in every}) if draw.random() < 0.4}
            spared = Fraction(draw.randrange(1, 6), 5)
            groups.append([Group(dealt, placed, unsafe, spared)])
            uneven += groups[-1][0].uneven
            own = {tuple(world): 1 if bags in unsafe else spared for world, bags in every}
            whole = {w + x: a * b for w, a in whole.items() for x, b in own.items()}
        facts = draw.choice(FACTS)
        for value in {value for world in whole for value in world}:
            assert worst(groups, value, facts) == worst_posterior(whole, {value}, facts)
    assert uneven


@pytest.mark.parametrize("bag", ["abab", "abac", "ababa"] if NIGHTLY else ["abab"])
def test_chances_are_those_of_runs(bag, eager):
    """All groupings of all worlds, also where one may come about in several ways."""
    eager(3, swaps=0)
    several, runs = 0, 1_000 if NIGHTLY else 40
    for columns in COLUMNS["ties"](len(bag)):
        microdata, policy = microdata_of(bag, columns), policy_of((0, 0, 0), 1)
        result, counts = made_of(microdata, policy), Counter()
        for weights in result.values():
            several += len(set(weights.values())) > 1
            counts.update(weights)
        assert set(counts) == set(permutations(bag))
        assert set(counts.values()) == {1}
        seeds = (fk.Decoy().partition(microdata, policy, seed=seed) for seed in range(runs))
        often = Counter(in_order(groups.tolist()) for groups in seeds)
        assert len(often) > 1
        assert all(result[groups][tuple(bag)] for groups in often)
        for groups, weights in result.items():
            chance = float(weights[tuple(bag)])
            spread = 5 * (runs * chance * (1 - chance)) ** 0.5
            assert abs(often[groups] - runs * chance) <= spread + 1e-9
    assert several


# ---- all tables of few people -------------------------------------------------------------------


def all_bags(n, kinds=8, most=None, letters="abcdefgh"):
    """Each way in which n people have up to so many values, the most frequent first; not one."""
    if n == 0 or kinds == 0:
        return [""] if n == 0 else []
    return [
        letters[0] * times + bag
        for times in range(min(n, most or n - 1), 0, -1)
        for bag in all_bags(n - times, kinds - 1, times, letters[1:])
    ]


@cache
def reached(counts, facts):
    """What facts reach in a group of so many people of each value."""
    people = fk.GroupCounts.from_bags([labelled(counts)])
    return fk.Facts(*facts).disclosure(people).exact


def attained(bag, facts):
    """What facts reach in groups of these people: where limits are kept, and fail, by a hair."""
    every = product(*(range(many + 1) for many in Counter(bag).values()))
    some = {tuple(sorted(own, reverse=True)) for own in every if sum(own) > 1}
    return sorted({reached(own, facts) for own in some})


NUDGE = 1 + Fraction(3, 10**6)


def tight(limits, facts, decoys):
    """Limits that keep, by a hair, what a refusal leaves that reaches one of these."""
    odds = [
        (1 / (limit * NUDGE) - 1) * Fraction(decoys, decoys + 1) ** (1 + facts[2])
        for limit in limits
        if limit * NUDGE < 1
    ]
    return [1 / (1 + odd) for odd in odds]


def followed(bags, columns, facts, limits):
    """What is made of tables; the highest posterior in terms of its limit, uneven and in all."""
    counts, uneven, highest = Counter(), Fraction(0), Fraction(0)
    for bag in bags:
        sizes = Counter(bag).values()
        nothing = reached(tuple(sorted(sizes, reverse=True)), facts)
        tables = factorial(len(bag)) // prod(map(factorial, sizes))
        for shape in columns:
            microdata = microdata_of(bag, shape)
            for limit in (limit for limit in limits(bag) if limit > nothing):
                own, bent, most = judge(microdata, policy_of(facts, limit), facts)
                counts += own + Counter(policies=1, tables=tables)
                uneven, highest = max(uneven, bent / limit), max(highest, most / limit)
    return counts, uneven, highest


def limits_of(facts, *decoys):
    """Every limit that is attained in a table; and those that what a refusal leaves just keeps."""

    def limits(bag):
        result = attained(bag, facts)
        return sorted({*result, *(x for decoy in decoys for x in tight(result, facts, decoy))})

    return limits


# By night, tables of up to so many people: alone on a core, some 10 minutes for 8, and 2 for 6.
PEOPLE = int(os.environ.get("FOREKNOW_DECOY_PEOPLE") or 8)


def said(what, made, *highest):
    """Figures of a night, for the page on the method (`-s` shows them)."""
    print(what, dict(made), *(f"{float(one):.6f}" for one in highest))


@pytest.mark.parametrize("shape", COLUMNS if NIGHTLY else ["grid"])
@pytest.mark.parametrize("people", range(2, PEOPLE + 1) if NIGHTLY else [4])
def test_no_limit_is_reached(people, shape):
    """Every bag, every limit that is attained, every release of the program as it is."""
    whole, highest = Counter(), Fraction(0)
    for facts in FACTS if NIGHTLY else [(0, 0, 0), (1, 0, 1)]:
        bags, columns = all_bags(people), COLUMNS[shape](people)
        made, _, most = followed(bags, columns, facts, limits_of(facts))
        whole, highest = whole + made, max(highest, most)
    said(f"as it is: {people} {shape}", whole, highest)
    assert highest < 1


@pytest.mark.slow
@pytest.mark.parametrize("decoys", [1, 3])
@pytest.mark.parametrize("people", range(4, PEOPLE + 1))
def test_mostly_refused_cuts_stay_below(people, decoys, eager):
    """Also limits that a refusal just keeps; the fewer decoys, the more worlds are uneven."""
    eager(decoys)
    whole, highest, uneven = Counter(), Fraction(0), Fraction(0)
    for facts in FACTS:
        bags, columns = all_bags(people), COLUMNS["ties"](people)
        made, bent, most = followed(bags, columns, facts, limits_of(facts, decoys))
        whole, highest, uneven = whole + made, max(highest, most), max(uneven, bent)
    said(f"eager: {people} {decoys}", whole, uneven, highest)
    assert highest < 1
    assert whole["uneven"] or people < 8


LARGER = [
    ("aaaabbbb", 2, (0, 0, 0), 3),
    ("aabbccdd", 2, (1, 0, 1), 3),
    ("a" * 6 + "b" * 6, 2, (0, 0, 1), 1),
]
LARGEST = [
    ("a" * 8 + "b" * 8, 4, (0, 0, 1), 1),
    ("a" * 9 + "b" * 7, 4, (0, 0, 1), 1),
    ("a" * 8 + "b" * 8, 2, (0, 1, 0), 1),
    ("a" * 10 + "b" * 10, 2, (0, 0, 2), 1),
    ("a" * 10 + "b" * 10, 2, (0, 1, 1), 1),
]


@pytest.mark.parametrize(
    ("bag", "points", "facts", "decoys"), LARGER + LARGEST if NIGHTLY else LARGER
)
def test_nor_in_larger_uneven_tables(bag, points, facts, decoys, eager):
    """Where people are linked, groups are so large before decoys are safe beside exchanges."""
    eager(decoys)
    columns = [{"x": [i * points // len(bag) for i in range(len(bag))]}]

    def limits(bag):
        return [*tight(attained(bag, facts)[-4:], facts, decoys), 1] if NIGHTLY else [1]

    made, uneven, highest = followed([bag], columns, facts, limits)
    said(f"larger: {bag} {points} {decoys} {facts}", made, uneven, highest)
    assert made["uneven"]
    assert highest < 1


@pytest.mark.parametrize(
    ("bag", "facts", "broken"),
    [("aaaaabbb", (0, 0, 0), {"swaps": 0}), ("aaaabbbb", (0, 0, 1), {"swaps": 0, "kept": 1})],
)
def test_breaches_are_found_without_exchanges(bag, facts, broken, eager):
    """At a limit that what a refusal leaves just keeps."""
    columns, three = COLUMNS["ties"](len(bag))[-1:], Fraction(3, 4)

    def limits(bag):
        return [three * NUDGE] if "kept" in broken else tight([three], facts, 3)

    eager(3)
    assert followed([bag], columns, facts, limits)[2] < 1
    eager(3, **broken)
    assert followed([bag], columns, facts, limits)[2] > 1


def test_unsafe_tables_have_ways_out():
    rows = {"age": [*range(20, 40)], "sex": ["f", "m"] * 10, "ill": ["hiv"] * 12 + ["flu"] * 8}
    asked = {"values": ["hiv"], "facts": {"l": 0}, "below": "1/2"}
    schema = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill"}
    with pytest.raises(fk.NoSafeRelease, match="12 of 20 people have 'hiv'") as caught:
        fk.publish(pa.table(rows), {"schema": schema, "require": [asked]}, method="decoy")
    assert any(line.startswith("  below = ") for line in caught.value.way_out)
