"""Facts on top of priors: exact where values are ruled out alone, else never below the truth."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle.facts import binary, surest

import foreknow as fk
from foreknow_judge.errors import CertificateError, DataError
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written

VALUES = "abcd"


CASES = range(20_000 if NIGHTLY else 150)
LOTS = 20 if NIGHTLY else 3
AMOUNTS = [
    *[(0, 0, 1), (0, 1, 0), (1, 0, 0), (2, 0, 0), (1, 1, 0)] * 3,
    *[(0, 1, 1), (1, 0, 1), (1, 1, 1), (0, 2, 0), (1, 2, 2)],
]
HALF = {"a": Fraction(1, 2), "b": Fraction(1, 4), "c": Fraction(1, 8), "d": Fraction(1, 8)}


def scene(rng, kind):
    """One or two small groups: of each its rows of priors and its bag, and kinds of people."""
    kinds = [{v: Fraction(rng.randint(1, 9), 40) for v in VALUES} for _ in range(rng.randint(1, 3))]
    if kind == "equal":
        kinds = [dict.fromkeys(VALUES, Fraction(1, 4))] * 2
    if kind == "zeros":
        for row in kinds:
            if rng.random() < 0.5:
                row[rng.choice(VALUES)] = Fraction(0)
    groups = []
    for size in rng.choice([(1,), (3,), (4,), (4,), (5,), (2, 3), (3, 3)]):
        width = rng.choice([1, 2, 3, 3, 4, 4])
        groups.append(
            ([rng.randrange(len(kinds)) for _ in range(size)], rng.choices(VALUES[:width], k=size))
        )
    return kinds, groups


def priors_of(kinds, reading="joint", facts=None):
    rows = [(f"k{i}", v, str(p)) for i, row in enumerate(kinds) for v, p in row.items()]
    kind, value, chance = zip(*rows, strict=True)
    table = pa.table({"kind": kind, "value": value, "probability": chance})
    return fk.Priors(table, reading, facts=facts or fk.Facts())


def release_of(groups):
    rows = [
        (g, f"k{kind}", x)
        for g, (people, bag) in enumerate(groups)
        for kind, x in zip(people, bag, strict=True)
    ]
    group, kind, ill = zip(*rows, strict=True)
    table = pa.table({"group": group, "kind": kind, "ill": ill})
    return fk.Release.from_groups(table, group="group", sensitive="ill")


def found_of(kinds, groups, reading, facts):
    """All disclosures; None where priors allow no world, which is so whatever the facts are."""
    release = release_of(groups)
    try:
        return priors_of(kinds, reading, facts).disclosures(release)
    except fk.InputError:
        with pytest.raises(fk.InputError):
            priors_of(kinds, reading).disclosures(release)
        return None


def settled(found):
    """What a disclosure says, as a fraction; never below the truth if floats were right."""
    exact = found.settled
    assert exact is not None
    assert abs(exact - Fraction(found.probability)) <= Fraction(1, 10**9)
    assert not found.bounded or found.exact is None
    return exact


def truth(kinds, groups, value, amounts, reading):
    held = [([kinds[i] for i in people], bag) for people, bag in groups]
    return surest(held, value, amounts, **({} if reading == "joint" else {"weigh": binary(value)}))


@pytest.mark.parametrize("lot", range(LOTS))
def test_facts_on_priors_by_enumeration(lot):
    answers = equal = below_one = 0
    for case in CASES[lot::LOTS]:
        rng = random.Random(case)
        reading = rng.choice(["joint", "binary"])
        kinds, groups = scene(rng, rng.choice(["any", "zeros"]))
        amounts = rng.choice(AMOUNTS)
        if (found := found_of(kinds, groups, reading, fk.Facts(*amounts))) is None:
            continue
        for value, one in found.items():
            true, said = truth(kinds, groups, value, amounts, reading), settled(one)
            assert said >= true, (case, value, amounts, said, true)
            if not any(amounts[1:]):
                assert said == one.exact == true, (case, value, amounts, said, true)
            answers, equal = answers + 1, equal + (said == true)
            below_one += said < 1
    assert answers > len(CASES) / LOTS
    assert below_one > answers / 8
    assert equal > answers * 0.75


def test_equal_priors_give_facts():
    for case in CASES[: 300 : 1 if NIGHTLY else 6]:
        rng = random.Random(f"equal {case}")
        kinds, groups = scene(rng, "equal")
        ruled, known = rng.choice([(0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (2, 3)])
        release, facts = release_of(groups), fk.Facts(ruled, known)
        truth = {v: one.exact for v, one in facts.disclosures(release).items()}
        for reading in ("joint", "binary"):
            found = priors_of(kinds, reading, facts).disclosures(release)
            assert {v: settled(one) for v, one in found.items()} == truth
        linked = fk.Facts(ruled, known, rng.randint(1, 2))
        found = priors_of(kinds, "joint", linked).disclosures(release)
        for value, one in linked.disclosures(release).items():
            assert settled(found[value]) >= one.exact


def test_sets_by_enumeration():
    equal = answers = 0
    for case in range(len(CASES) // 4):
        rng = random.Random(f"sets {case}")
        reading = rng.choice(["joint", "joint", "binary"])
        kinds, groups = scene(rng, rng.choice(["any", "zeros"]))
        amounts, secret = rng.choice(AMOUNTS), rng.sample(VALUES, 2)
        if found_of(kinds, groups, reading, fk.Facts()) is None:
            continue
        if reading == "binary":
            for row in kinds:  # as one value, as likely as both together
                row["ab"] = sum(row[v] for v in secret)
        held = [([kinds[i] for i in people], list(bag)) for people, bag in groups]
        release = release_of(groups)
        if not {x for _, bag in groups for x in bag} & set(secret):
            continue
        priors = priors_of([{v: row[v] for v in VALUES} for row in kinds], reading)
        found = fk.Priors(list(priors.tables), reading, facts=fk.Facts(*amounts))
        try:
            said = settled(found.disclosure_of_set(release, secret, "these"))
        except DataError:  # of the set itself there is no world
            continue
        if reading == "binary":
            held = [(own, ["ab" if x in secret else x for x in bag]) for own, bag in held]
            true = surest(held, ["ab"], amounts, binary("ab"))
        else:
            true = surest(held, secret, amounts)
        assert said >= true, (case, amounts, secret, said, true)
        if not any(amounts[1:]):
            assert said == true
        answers, equal = answers + 1, equal + (said == true)
    assert answers > len(CASES) / 10
    assert equal > answers * 0.6


# ---- the verifier, and the limit -----------------------------------------------------------


def written(groups):
    """The tables of a release as they are published in the bucketized form."""
    rows = [(str(g), f"k{i}") for g, (people, _) in enumerate(groups) for i in people]
    bags = [
        (str(g), x, str(bag.count(x)))
        for g, (_, bag) in enumerate(groups)
        for x in sorted(set(bag))
    ]
    people = pa.table(dict(zip(("gid", "kind"), zip(*rows, strict=True), strict=True)))
    tally = pa.table(dict(zip(("gid", "ill", "count"), zip(*bags, strict=True), strict=True)))
    return Written("bucketized", ("gid",), "ill", {"people": people, "sensitive": tally})


def test_the_verifier_finds_the_same():
    compared = 0
    for case in range(len(CASES) // (4 if NIGHTLY else 6)):
        rng = random.Random(f"verifier {case}")
        reading = rng.choice(["joint", "binary"])
        kinds, groups = scene(rng, rng.choice(["any", "zeros", "equal"]))
        values = sorted({x for _, bag in groups for x in bag})
        more = rng.choice([{}, {"values": [rng.choice(values)]}, {"any_of": rng.sample(VALUES, 2)}])
        if set(more.get("any_of", ())) >= set(values):
            continue
        limit = rng.choice([{"below": "1/2"}, {"at_most": "2/3"}, {"at_most_times": 2}])
        facts = fk.Facts(*rng.choice([*AMOUNTS, (0, 0, 2)]))
        if "at_most_times" in limit:  # which is refused with links
            facts = replace(facts, m=0)
        priors = priors_of(kinds, reading, facts)
        policy = fk.Policy([fk.Requirement(priors, **limit, **more)])
        try:
            (audited,) = fk.audit(release_of(groups), policy).verdicts
        except fk.InputError:  # of all values, or of the set itself, there is no world
            if found_of(kinds, groups, reading, fk.Facts()) is not None:
                assert "any_of" in more
            continue
        (found,) = verify(written(groups), [policy.requirements[0].to_dict()])
        said = audited.found.settled
        if limit.get("at_most_times"):
            said, reached = said / (audited.found.prior or 1), found.reached / found.found.prior
        else:
            reached = found.reached
        assert reached == said, (case, priors, more, limit)
        assert found.safe == audited.safe
        compared += 1
    assert compared > len(CASES) / 12


def one_of(value, groups, priors, **limit):
    """Whether it is safe, and what is reached: by the audit and by the verifier."""
    policy = fk.Policy([fk.Requirement(priors, values=[value], **limit)])
    (verdict,) = fk.audit(release_of(groups), policy).verdicts
    (again,) = verify(written(groups), policy.to_dict()["require"])
    assert (again.safe, again.found.exact) == (verdict.safe, verdict.found.settled)
    return verdict.safe, verdict.found.settled


def test_at_the_limit_fractions_decide():
    # One known, of five alike: 2 of 4, where 1/2 is reached and must not be.
    for facts, reached in [((0, 1, 0), "1/2"), ((1, 0, 0), "2/3"), ((0, 0, 1), "4/7")]:
        just = Fraction(reached) + Fraction(1, 10**15)
        for limit, safe in (
            ({"below": reached}, False),
            ({"at_most": reached}, True),
            ({"below": just}, True),
        ):
            priors = priors_of([HALF], facts=fk.Facts(*facts))
            found = one_of("a", [([0] * 5, list("aabbc"))], priors, **limit)
            assert found == (safe, Fraction(reached))


@pytest.mark.parametrize("facts", [(0, 1, 0), (9, 0, 0), (0, 9, 0), (0, 0, 9), (7, 70, 30)])
def test_more_facts_than_people(facts):
    """Also groups of one, and of one value only."""
    for reading, bags in product(("joint", "binary"), (["a"], ["aaa"], ["abc", "b"], ["abcd"])):
        groups = [([0] * len(bag), list(bag)) for bag in bags]
        priors = priors_of([HALF], reading, fk.Facts(*facts))
        _, found = one_of("a", groups, priors, below="9/10")
        assert found == truth([HALF], groups, "a", facts, reading)


def test_extreme_priors():
    sure, never, some = ("1", "0", "0", "0"), ("0", "1/2", "1/2", "0"), ("1/3", "1/3", "1/3", "0")
    tiny = Fraction(1, 2**900), "1/2", Fraction(1, 2**300), "0"
    rows = [dict(zip(VALUES, map(Fraction, row), strict=True)) for row in (sure, never, tiny, some)]
    checked = 0
    for case in CASES[: 120 : 1 if NIGHTLY else 8]:
        rng = random.Random(f"extreme {case}")
        kinds = rng.sample(rows, 3)
        size = rng.randint(2, 4)
        groups = [([rng.randrange(3) for _ in range(size)], rng.choices("abc", k=size))]
        facts = rng.choice([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1)])
        for reading in ("joint", "binary"):
            values = sorted(set(groups[0][1]))
            priors = priors_of(kinds, reading, fk.Facts(*facts))
            tables = [fk.Requirement(priors, "1/2", values=[v]).to_dict() for v in values]
            if (found := found_of(kinds, groups, reading, fk.Facts(*facts))) is None:
                with pytest.raises(CertificateError):
                    verify(written(groups), tables)
                continue
            for value, again in zip(values, verify(written(groups), tables), strict=True):
                true = truth(kinds, groups, value, facts, reading)
                assert found[value].settled == again.found.exact >= true
                assert found[value].probability >= float(true) * (1 - 1e-12)
                checked += 1
    assert checked > (150 if NIGHTLY else 18)
