"""Decoy's limits of implications, criteria and windows, by enumeration of all worlds."""

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.methods.decoy_chances import chance_of
from tests.oracle.algorithm_worlds import worlds
from tests.oracle.decoy_limits import beliefs, keeps, worst_of_implications, worst_window
from tests.oracle.decoy_worlds import one_trial, worst_posterior
from tests.oracle.implication_worlds import group_by_group

import foreknow as fk
from foreknow.errors import NoSafeRelease
from foreknow.methods.decoy.guards import AMOUNTS, Guards

ONE = fk.Schema(quasi_identifiers=["x"], sensitive="v")
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


# What is tried of criteria in worlds of whole tables, which takes longest.
FACTS = [(0, 0), (1, 0), (2, 0), (0, 1)]
TRIED = CRITERIA if NIGHTLY else ["entropy", "beta"]


def microdata(values):
    return fk.Microdata(pa.table({"x": list(range(len(values))), "v": list(values)}), ONE)


def shares(bag):
    return {x: Fraction(many, len(bag)) for x, many in Counter(bag).items()}


def one_group(bag, labels):
    counts = np.bincount([labels.codes[x] for x in bag], minlength=len(labels))
    codes = np.flatnonzero(counts)
    return fk.GroupCounts(
        np.array([len(bag)]), np.array([0, len(codes)]), codes, counts[codes], labels
    )


# ---- the theorems, apart from decoys ------------------------------------------------------------


@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 4))
def test_single_atoms_that_end_with_the_goal_are_the_worst_under_any_weights(seed):
    """All pairs of basic implications of up to two atoms on each side."""
    draw = random.Random(seed)
    people, values = draw.choice([(2, "ab"), (3, "ab"), (2, "abc")])
    every = list(product(values, repeat=people))
    weights = {w: draw.choice([0, 1, 1, 2, 5]) for w in draw.sample(every, min(len(every), 6))}
    weights[every[0]] = 1
    for k in (1, 2) if people == 2 else (1,):
        simple = worst_of_implications(weights, set(values), k)
        assert worst_of_implications(weights, set(values), k, basic=True) == simple


@pytest.mark.parametrize("kind", CRITERIA)
def test_what_a_refusal_leaves_keeps_a_criterion_whatever_it_tells(kind):
    """Shares times anything from 1 to 1 + 1/K; also that limits are not lowered without need."""
    draw, (made, limits) = random.Random(kind), CRITERIA[kind]
    kept = lost = 0
    for _ in range(400 if NIGHTLY else 5):
        table = draw.choices("abcd", [4, 3, 2, 1], k=draw.randrange(12, 40))
        rows, limit = microdata(table), draw.choice(limits)
        everyone = rows.counts(np.zeros(len(table), dtype=np.int64))
        policy = fk.Policy([fk.Requirement(made(limit))], ONE)
        guards = Guards.of(policy, everyone)
        bag = draw.sample(table, draw.randrange(4, len(table)))
        groups = one_group(bag, rows.values)
        for amount in AMOUNTS:
            now = bool(guards.left(groups, np.zeros(1, dtype=np.int64), amount).safe_each()[0])
            every = [
                {x: p * (1 + Fraction(draw.choice([0, 1, 1]), amount)) for x, p in own.items()}
                for own in [shares(bag)] * 20
            ]
            every += [
                {x: p * (1 + Fraction(x in some, amount)) for x, p in shares(bag).items()}
                for some in map(set, ["", "a", "b", "c", "d", "ab", "bcd", "abc", "abd", "acd"])
            ]
            held = all(
                keeps({x: p / sum(own.values()) for x, p in own.items()}, shares(table), kind,
                      Fraction(limit))
                for own in every
            )  # fmt: skip
            assert held or not now
            kept, lost = kept + now, lost + (held and not now)
    assert kept > 3 * lost


def near(bag, everybody, swaps):
    """Every bag that so many exchanges with others make of one."""
    found = {tuple(sorted(bag))}
    for _ in range(swaps):
        found |= {
            tuple(sorted((*bag[:i], x, *bag[i + 1 :])))
            for bag in found
            for i in range(len(bag))
            for x in everybody
        }
    return found


@pytest.mark.parametrize("kind", [*CRITERIA, "implications"])
def test_decoys_are_judged_as_if_values_had_been_exchanged(kind):
    draw = random.Random(kind)
    noisy = 0
    for _ in range(300 if NIGHTLY else 8):
        table = draw.choices("abcd", [4, 3, 2, 1], k=draw.randrange(8, 24))
        rows = microdata(table)
        everyone = rows.counts(np.zeros(len(table), dtype=np.int64))
        most = 0 if kind == "implications" else draw.choice([0, 0, 1])
        beside = [fk.Requirement(fk.Facts(0, most, 0), below=1)]
        wanted = set(draw.choice(["abcd", "a", "d", "cd"])) & set(table) or {table[0]}
        if kind == "implications":
            k, limit = draw.choice([1, 1, 2, 3]), draw.choice(["3/5", "3/4", "9/10"])
            beside = []
            asked = fk.Requirement(fk.Implications(k), below=limit, values=sorted(wanted))
        else:
            made, limits = CRITERIA[kind]
            limit = draw.choice(limits)
            asked = fk.Requirement(made(limit))
        guards = Guards.of(fk.Policy([asked, *beside], ONE), everyone)
        bag = draw.sample(table, draw.randrange(3, 8))
        groups = one_group(bag, rows.values)
        quiet = guards.exchanged(groups, np.zeros(1, dtype=np.int64)).safe_each()[0]
        if kind == "implications":
            # Beside the whole table, which is one group that stays.
            unsafe = any(
                group_by_group([one, table], value, k)[k] >= Fraction(limit)
                for one in near(tuple(bag), set(table), 1)
                for value in wanted
            )
        else:
            unsafe = any(
                not keeps(shares(one), shares(table), kind, Fraction(limit))
                for one in near(tuple(bag), set(table), 1 + most)
            )
        assert not (unsafe and quiet)
        noisy += unsafe
    assert noisy


@pytest.mark.parametrize("wide", [1, 2, 4])
def test_decoys_are_judged_as_if_values_had_come_into_a_window(wide):
    draw, noisy = random.Random(wide), 0
    for _ in range(300 if NIGHTLY else 8):
        table = [draw.randrange(12) for _ in range(draw.randrange(8, 24))]
        rows, (out, known) = microdata(table), draw.choice(FACTS)
        limit = Fraction(draw.choice(["1/2", "3/4", "9/10"]))
        asked = fk.Requirement(fk.Facts(out, known), below=limit, within=wide)
        everyone = rows.counts(np.zeros(len(table), dtype=np.int64))
        guards = Guards.of(fk.Policy([asked], ONE), everyone)
        bag = draw.sample(table, draw.randrange(4, 8))
        groups = one_group(bag, rows.values)
        quiet = guards.exchanged(groups, np.zeros(1, dtype=np.int64)).safe_each()[0]
        unsafe = any(
            worst_window(one, wide, out, known) >= limit
            for one in near(tuple(bag), set(table), 1 + known)
        )
        assert not (unsafe and quiet)
        noisy += unsafe
    assert noisy


@pytest.mark.parametrize("kind", CRITERIA)
def test_what_is_believed_after_a_refusal_keeps_a_criterion(kind):
    """One cut beside three decoys, whatever is unsafe, by all worlds, all lots and all decoys."""
    draw, (made, limits) = random.Random(kind), CRITERIA[kind]
    told = 0
    for _ in range(40 if NIGHTLY else 3):
        values, limit = draw.choice(["aabbcc", "aabbc", "aabbcd"]), Fraction(limits[-1])
        part, many = range(3), draw.choice([1, 1, 2])
        rows, table = microdata(values), shares(values)
        everyone = rows.counts(np.zeros(len(values), dtype=np.int64))
        guards = Guards.of(fk.Policy([fk.Requirement(made(limit))], ONE), everyone)
        unsafe = {draw.choice(sorted({tuple(sorted(w[:3])) for w in permutations(values)}))}
        for (_, bags), weights in one_trial(values, part, many, unsafe, 1, 3)[1].items():
            own = np.zeros(1, dtype=np.int64)
            left = [guards.left(one_group(bag, rows.values), own, 3) for bag in bags]
            if any(weights.values()) and all(each.safe_each()[0] for each in left):
                told += len(set(weights.values())) > 1
                assert all(keeps(one, table, kind, limit) for one in beliefs(weights))
    assert told


def test_what_implications_tell_after_two_refusals_stays_below_the_limit():
    """Two groups, each with one cut beside three decoys; atoms fall in both."""
    draw, told = random.Random(8), 0
    for _ in range(30 if NIGHTLY else 1):
        k = draw.choice([1, 1, 2]) if NIGHTLY else 1
        values, limit = "abcd", Fraction(draw.choice(["1/2", "3/5", "3/4"]))
        rows = microdata(values * 2)
        everyone = rows.counts(np.array([0] * 4 + [1] * 4))
        asked = fk.Policy([fk.Requirement(fk.Implications(k), below=limit)], ONE)
        guards = Guards.of(asked, everyone, 3)
        if not guards.evaluate(everyone, np.zeros(2, dtype=np.int64)).safe_each()[0]:
            continue
        unsafe = {draw.choice([*combinations(values, 2)])}
        (weights,) = one_trial(values, range(2), 1, unsafe, 1, 3)[1].values()
        told += len(set(weights.values())) > 1
        both = {v + w: x * y for v, x in weights.items() for w, y in weights.items()}
        assert worst_of_implications(both, set(values), k) < limit
    assert told


# ---- the program: everybody's posterior, over every world ---------------------------------------


def releases(draw, requirement, many, people, kinds=("aabbcd", "aabc", "abcde", "aaabbc")):
    """Releases of small tables, and how probable each is of every world."""
    while many:
        values = draw.choice(kinds)
        world = tuple(draw.choice(values) for _ in range(draw.choice(people)))
        policy = fk.Policy([requirement(world)], ONE)
        try:
            groups = fk.Decoy().partition(microdata(world), policy, seed=draw.randrange(1 << 30))
        except NoSafeRelease:
            continue
        rows, weights = microdata(world), {}
        for own in worlds(world, groups.tolist()):
            codes = np.array([rows.values.codes[v] for v in own], rows.sensitive_codes.dtype)
            weights[own] = chance_of(rows.with_sensitive(codes), policy, groups)
        assert weights[world] > 0
        many -= 1
        yield world, policy, weights


@pytest.mark.parametrize("seed", range(40 if NIGHTLY else 1))
@pytest.mark.parametrize("k", [0, 1, 2] if NIGHTLY else [1])
def test_no_limit_of_implications_is_reached_in_what_it_makes(k, seed):
    draw = random.Random(seed)
    for _ in range(4 if NIGHTLY else 1):
        limit, some = draw.choice(["3/5", "2/3", "3/4", "4/5", "1"]), draw.random() < 0.4

        def asked(world, limit=limit, some=some):
            about = {"values": world[:1]} if some else {}
            return fk.Requirement(fk.Implications(k), below=limit, **about)

        for world, policy, weights in releases(draw, asked, 1, [4, 5] if NIGHTLY else [4]):
            about = set(policy.requirements[0].values or world)
            assert worst_of_implications(weights, about, k) < Fraction(limit)


@pytest.mark.parametrize("seed", range(40 if NIGHTLY else 1))
@pytest.mark.parametrize("kind", TRIED)
def test_no_belief_breaks_a_criterion_in_what_it_makes(kind, seed):
    made, limits = CRITERIA[kind]
    draw = random.Random(seed)
    for limit in limits if NIGHTLY else limits[-1:]:
        asked = fk.Requirement(made(limit))
        for world, _, weights in releases(
            draw, lambda _, asked=asked: asked, 1, [5, 6] if NIGHTLY else [5]
        ):
            for own in beliefs(weights):
                assert keeps(own, shares(world), kind, Fraction(limit))


@pytest.mark.parametrize("seed", range(40 if NIGHTLY else 1))
def test_no_limit_of_windows_is_reached_in_what_it_makes(seed):
    draw = random.Random(seed)
    for out, known in FACTS if NIGHTLY else FACTS[:1]:
        limit, wide = draw.choice(["2/3", "3/4", "1"]), draw.choice([1, 2])
        asked = fk.Requirement(fk.Facts(out, known), below=limit, within=wide)
        kinds = ([1, 2, 4, 5, 8], [1, 1, 3, 6, 7, 7], [1, 3, 5, 7, 9])
        for world, _, weights in releases(draw, lambda _, asked=asked: asked, 1, [4, 5], kinds):
            for start in set(world):
                window = {x for x in world if start <= x <= start + wide}
                assert worst_posterior(weights, window, (out, known, 0)) < Fraction(limit)


# ---- limits that are between those of the bag and those of what may be believed ------------------


def left_safe(requirement, bag, whole, decoys=30):
    """Whether the bag keeps a requirement as it is, and as what refusals leave."""
    counts = fk.GroupCounts.from_bags([bag])
    everyone = fk.GroupCounts.from_bags([whole])
    policy, owner = fk.Policy([requirement]), np.zeros(1, dtype=np.int64)
    plain = Guards.of(policy, everyone)
    asked = Guards.of(policy, everyone, decoys) if plain.coupled else plain
    return (
        bool(plain.evaluate(counts, owner).safe_each()[0]),
        bool(asked.left(counts, owner, decoys).safe_each()[0]),
    )


@pytest.mark.parametrize("kind", ["t", "beta", "delta"])
def test_a_limit_that_beliefs_may_break_is_not_kept_by_what_a_refusal_leaves(kind):
    """The limit is half-way between the furthest of the bag and of all weights from 1 to f."""
    draw, seen, f = random.Random(kind), 0, 1 + 1 / 30
    for _ in range(60):
        bag = [*"abcd", *draw.choices("aabcd", k=draw.randint(4, 30))]
        whole = [*bag, *draw.choices("abbcd", k=60)]
        own = np.array([bag.count(v) for v in "abcd"]) / len(bag)
        of = np.array([whole.count(v) for v in "abcd"]) / len(whole)

        def far(shares, of=of):
            if kind == "t":
                return np.abs(shares - of).sum() / 2
            if kind == "beta":
                return (shares / of - 1).max()
            return np.abs(np.log(shares / of)).max()

        beliefs = [own * w / (own * w).sum() for w in map(np.array, product((1, f), repeat=4))]
        least, most = far(own), max(map(far, beliefs))
        if most <= least * (1 + 1e-6) or least < 0.01:
            continue
        limit = Fraction((least + most) / 2).limit_denominator(10**9)
        rule = {"t": fk.TCloseness, "beta": fk.BetaLikeness, "delta": fk.DeltaDisclosure}[kind]
        assert left_safe(fk.Requirement(rule(limit)), bag, whole) == (True, False)
        seen += 1
    assert seen > 30


@pytest.mark.parametrize(
    ("adversary", "power"),
    [(fk.Facts(), 1), (fk.Facts(m=2), 3), (fk.Implications(2), 3), (fk.Negations(1), 1)],
    ids=str,
)
def test_odds_may_fall_once_for_each_group_that_knowledge_speaks_of(adversary, power):
    """Just below the lowered limit is kept, and just above it is not."""
    bag = [*"aaabbbcccddd"]
    counts = fk.GroupCounts.from_bags([bag])
    found = max(each.exact for each in adversary.disclosures(counts).values())
    odds = (1 / found - 1) * Fraction(30, 31) ** power
    for nudge, kept in ((Fraction(1, 1000), True), (-Fraction(1, 1000), False)):
        limit = 1 / (1 + odds) + nudge
        assert left_safe(fk.Requirement(adversary, below=limit), bag, bag) == (True, kept)


def test_decoys_are_judged_as_strictly_as_the_cut():
    """Where limits bear on all groups, all are lowered, for decoys as well."""
    bag, whole = [*"aaaabbbccd" * 200], [*"aabbccdd" * 500]
    counts, everyone = (fk.GroupCounts.from_bags([own]) for own in (bag, whole))
    far = sum(abs(bag.count(v) / len(bag) - 1 / 4) for v in "abcd") / 2
    rule = fk.Requirement(fk.TCloseness(Fraction(far).limit_denominator(1000) + Fraction(1, 200)))
    policy = fk.Policy([rule, fk.Requirement(fk.Implications(1), below="99/100")])
    owner = np.zeros(1, dtype=np.int64)
    plain, strict = (Guards.of(policy, everyone, k) for k in (None, 30))
    assert plain.evaluate(counts, owner).safe_each()[0]
    assert plain.exchanged(counts, owner).safe_each()[0]
    assert not strict.evaluate(counts, owner).safe_each()[0]
    assert not strict.exchanged(counts, owner).safe_each()[0]
