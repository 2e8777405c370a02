"""Decoy's limits of implications, criteria and windows, by enumeration of all worlds."""

import random
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.methods.decoy_walk import eager as eager
from tests.methods.decoy_walk import made_of
from tests.oracle.decoy import (
    beliefs,
    keeps,
    one_trial,
    worst_of_implications,
    worst_posterior,
    worst_window,
)
from tests.oracle.implications import group_by_group

import foreknow as fk
from foreknow.errors import NoSafeRelease
from foreknow.methods.decoy.guards import AMOUNTS, Guards
from foreknow_judge.errors import PolicyError

ONE = fk.Schema(quasi_identifiers=["x"], sensitive="v")
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
    if decoys and not Guards.of(policy, everyone).coupled:
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
    for _ in range(400 if NIGHTLY else 15):
        table, limit = random_table(draw, 12, 40), draw.choice(limits)
        safe = guarded(table, fk.Requirement(made(limit)))
        bag = draw.sample(table, draw.randrange(4, len(table)))
        for amount in AMOUNTS:
            now = safe("left", bag, amount)
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
    found = {tuple(sorted(bag))}
    for _ in range(swaps):
        found |= {
            tuple(sorted((*bag[:i], x, *bag[i + 1 :])))
            for bag in found
            for i in range(len(bag))
            for x in everybody
        }
    return found


@pytest.mark.parametrize("kind", [*CRITERIA, "implications", "windows"])
def test_decoys_stand_for_exchanged_values(kind):
    """Who is quiet is safe after any exchange, also of one more value that facts tell."""
    draw, noisy = random.Random(kind), 0
    for _ in range(300 if NIGHTLY else 12):
        table, most, beside = random_table(draw, 8, 24), draw.choice([0, 0, 1]), []
        if kind == "implications":  # beside the whole table, which is one group that stays
            k, limit, most = draw.choice([1, 1, 2, 3]), draw.choice(["3/5", "3/4", "9/10"]), 0
            wanted = set(draw.choice(["abcd", "a", "d", "cd"])) & set(table) or {table[0]}
            asked = fk.Requirement(fk.Implications(k), below=limit, values=sorted(wanted))
        elif kind == "windows":
            table = [draw.randrange(12) for _ in table]
            wide, limit = draw.choice([1, 2, 4]), draw.choice(["1/2", "3/4", "9/10"])
            out = draw.choice([0, 1, 2])
            asked = fk.Requirement(fk.Facts(out, most), below=Fraction(limit), within=wide)
        else:
            limit = draw.choice(CRITERIA[kind][1])
            asked = fk.Requirement(CRITERIA[kind][0](limit))
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
        assert not (unsafe and guarded(table, asked, *beside)("exchanged", bag))
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
            if any(weights.values()) and all(safe("left", bag, 3) for bag in bags):
                told += len(set(weights.values())) > 1
                assert all(keeps(one, shares(values), kind, limit) for one in beliefs(weights))
    assert told


def test_implications_after_two_refusals():
    """Two groups, each with one cut beside three decoys; atoms fall in both."""
    draw, told = random.Random(8), 0
    for _ in range(30 if NIGHTLY else 1):
        k = draw.choice([1, 1, 2]) if NIGHTLY else 1
        values, limit = "abcd", Fraction(draw.choice(["1/2", "3/5", "3/4"]))
        everyone = microdata(values * 2).counts(np.array([0] * 4 + [1] * 4))
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


# ---- the program: everybody's posterior, over every world of every release ----------------------

KINDS = ["facts", "any_of", "values", "implications", "windows", *CRITERIA]


def drawn_requirement(draw, kind, world):
    """A requirement, and whether weights of worlds keep it."""
    if kind in CRITERIA:
        made, limits = CRITERIA[kind]
        limit = draw.choice(limits)
        return fk.Requirement(made(limit)), lambda weights: all(
            keeps(own, shares(world), kind, Fraction(limit)) for own in beliefs(weights)
        )
    limit, pair = draw.choice(["2/3", "3/4", "4/5", "1"]), sorted(set(world))[:2]
    if kind == "implications":
        k = draw.choice([0, 1, 2]) if NIGHTLY else 1
        some = draw.choice([pair[:1], None])
        made = fk.Requirement(fk.Implications(k), below=limit, values=some)
        about = set(some or world)
        return made, lambda weights: worst_of_implications(weights, about, k) < Fraction(limit)
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
            made = made_of(microdata(world), fk.Policy([required], ONE))
        except (NoSafeRelease, PolicyError):
            continue
        done, cut, seen = done + 1, cut + (len(made) > 1), set()
        for groups, weights in made.items():
            releases = defaultdict(dict)
            for own, weight in weights.items():
                releases[tuple(sorted(zip(groups, own, strict=True)))][own] = weight
            seen |= {tuple(sorted(own.items())) for own in releases.values()}
        assert all(holds(dict(own)) for own in seen), world
    assert cut or kind in ("implications", "recursive")


# ---- limits that are between those of the bag and those of what may be believed ------------------


def left_safe(requirement, bag, whole, decoys=30):
    """Whether the bag keeps a requirement as it is, and as what refusals leave."""
    kept = guarded(whole, requirement)("evaluate", bag)
    return kept, guarded(whole, requirement, decoys=decoys)("left", bag, decoys)


@pytest.mark.parametrize("kind", ["t", "beta", "delta"])
def test_limits_that_beliefs_may_break(kind):
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

        weights = map(np.array, product((1, f), repeat=4))
        least, most = far(own), max(far(own * w / (own * w).sum()) for w in weights)
        if most <= least * (1 + 1e-6) or least < 0.01:
            continue
        limit = Fraction((least + most) / 2).limit_denominator(10**9)
        assert left_safe(fk.Requirement(CRITERIA[kind][0](limit)), bag, whole) == (True, False)
        seen += 1
    assert seen > 30


@pytest.mark.parametrize(
    ("adversary", "power"),
    [(fk.Facts(), 1), (fk.Facts(m=2), 3), (fk.Implications(2), 3), (fk.Negations(1), 1)],
    ids=str,
)
def test_odds_fall_once_per_group(adversary, power):
    """For each group that knowledge speaks of: just below the lowered limit is kept, above not."""
    bag = [*"aaabbbcccddd"]
    found = adversary.disclosures(fk.GroupCounts.from_bags([bag]))
    highest = max(each.exact for each in found.values())
    odds = (1 / highest - 1) * Fraction(30, 31) ** power
    for nudge, kept in ((Fraction(1, 1000), True), (-Fraction(1, 1000), False)):
        limit = 1 / (1 + odds) + nudge
        assert left_safe(fk.Requirement(adversary, below=limit), bag, bag) == (True, kept)


def test_decoys_are_judged_like_cuts():
    """Where limits bear on all groups, all are lowered, for decoys as well."""
    bag, whole = [*"aaaabbbccd" * 200], [*"aabbccdd" * 500]
    far = sum(abs(bag.count(v) / len(bag) - 1 / 4) for v in "abcd") / 2
    rule = fk.Requirement(fk.TCloseness(Fraction(far).limit_denominator(1000) + Fraction(1, 200)))
    asked = rule, fk.Requirement(fk.Implications(1), below="99/100")
    for way in ("evaluate", "exchanged"):
        assert guarded(whole, *asked)(way, bag)
        assert not guarded(whole, *asked, decoys=30)(way, bag)
