"""The verifier's own priors: against enumerated worlds, against the audit, and lies it catches."""

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases_priors import random_scene
from tests.examples import NIGHTLY, examples
from tests.oracle.posterior_worlds import joint

import foreknow as fk
from foreknow_judge.priors import Chances, worst_priors
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written

SEEDS = st.integers(0, 2**40)
READINGS = ["joint", "binary"]


def written(scene, form):
    """The tables of a release as they would be published."""
    frame = scene.frame
    if form == "generalized":
        return Written(form, ("gid",), "disease", {"release": frame})
    tally = frame.group_by(["gid", "disease"]).aggregate([([], "count_all")])
    tally = tally.rename_columns({"count_all": "count"})
    people = frame.drop_columns("disease").take(list(reversed(range(len(frame)))))
    return Written(form, ("gid",), "disease", {"people": people, "sensitive": tally})


def rule(priors, **more):
    return fk.Requirement(priors, "1/2", **more).to_dict()


# ---- small releases ------------------------------------------------------------------------


def verified(scene, reading, wanted):
    """What the verifier makes of a release that it need not read."""
    held, found = {}, []
    for group, members in scene.groups.items():
        bag = Counter(x for _, x in members)
        held[(str(group),)] = len(members), bag
    for table in scene.priors(reading).tables:
        people = {
            (str(group),): Counter(tuple(who[a] for a in table.attributes) for who, _ in members)
            for group, members in scene.groups.items()
        }
        found.append(worst_priors(held, people, wanted, Chances(table.to_dict()), reading))
    return max(found, key=lambda each: each[2])


def check_release(scene, reading):
    """Every value and all at once: as enumerated, and as the audit says."""
    truth = [cell for known in scene.truth(reading).values() for cell in known.items()]
    audited = scene.priors(reading).disclosures(scene.release)
    for value in audited:
        highest = max(p for (_, _, x), p in truth if x == value)
        found, group, probability, _ = verified(scene, reading, {value})
        assert probability == highest == audited[value].exact
        assert type(probability) is Fraction
        assert ((found, group[0]), probability) in {((x, str(g)), p) for (g, _, x), p in truth}
    assert verified(scene, reading, set(audited))[2] == max(p for _, p in truth)


@examples(120)
@given(SEEDS)
@pytest.mark.parametrize("reading", READINGS)
def test_probabilities_are_those_of_enumerated_worlds_and_of_the_audit(reading, seed):
    check_release(random_scene(Random(seed), n_groups=5), reading)


@examples(10)
@given(SEEDS, st.sampled_from(READINGS))
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_tables_are_read_and_judged_for_the_values_asked_about(form, seed, reading):
    scene = random_scene(Random(seed), n_groups=3)
    priors, release = scene.priors(reading), scene.release
    value = min(x for _, _, x in scene.people)
    every, one = verify(written(scene, form), [rule(priors), rule(priors, values=[value])])
    assert every.reached == priors.disclosure(release).exact
    assert one.reached == priors.disclosure(release, value).exact
    assert one.value == value


@pytest.mark.slow
@examples(1500)
@given(SEEDS)
@pytest.mark.parametrize("reading", READINGS)
def test_many_more_releases(reading, seed):
    check_release(random_scene(Random(seed), n_groups=8, most=5), reading)


@examples(40)
@given(SEEDS, st.integers(6, 12))
@pytest.mark.parametrize("reading", READINGS)
def test_larger_groups_are_judged_as_by_the_audit(reading, seed, most):
    scene = random_scene(Random(seed), n_groups=4, most=most)
    audited = scene.priors(reading).disclosures(scene.release)
    value, _, probability, _ = verified(scene, reading, set(audited))
    assert probability == audited[value].exact == max(own.exact for own in audited.values())


def test_thousands_of_groups_at_once():
    random = Random(1)
    scene = random_scene(random, n_groups=1500, most=5, kind="any", sets=[("sex", "race")])
    for reading in READINGS:
        priors = scene.priors(reading)
        (found,) = verify(written(scene, "bucketized"), [rule(priors)])
        assert found.reached == priors.disclosure(scene.release).exact


@examples(8)
@given(SEEDS)
def test_what_may_be_reached_and_what_must_stay_below(seed):
    scene = random_scene(Random(seed), n_groups=2)
    priors, release = scene.priors("joint"), written(scene, "generalized")
    exact = priors.disclosure(scene.release).exact
    rules = [
        fk.Requirement(priors, exact).to_dict(),
        fk.Requirement(priors, at_most=exact).to_dict(),
        fk.Requirement([(priors, exact), (fk.Facts(), 1)]).to_dict(),
    ]
    found = verify(release, rules)
    assert [f.safe for f in found[:2]] == [False, True]
    assert [f.required.inclusive for f in found[:2]] == [False, True]
    ours = [f for f in found[2:] if "priors" in f.judged]
    assert [(f.reached, f.safe) for f in ours] == [(exact, False)]


# ---- priors that floats cannot hold --------------------------------------------------------


def judged(groups, table, wanted, reading="joint"):
    """The verifier's answer for groups of (signature, people), and bags."""
    values = list(next(iter(table.values())))
    rows = [[[s], [str(row[x]) for x in values]] for s, row in table.items()]
    chances = Chances({"attributes": ["kind"], "values": values, "rows": rows})
    held = {(str(g),): (sum(bag.values()), bag) for g, (_, bag) in enumerate(groups)}
    people = {
        (str(g),): {(s,): n for s, n in members.items()} for g, (members, _) in enumerate(groups)
    }
    return worst_priors(held, people, wanted, chances, reading)[:3]


TINY = [Fraction(1), *(Fraction(1, 10**e) for e in (1, 60, 100, 140, 160, 200, 290))]


@pytest.mark.parametrize("size", [3, 4, 5])
def test_tiny_priors_do_not_make_it_wrong(size):
    values = "abcde"[:size]
    for seed in range(60 if NIGHTLY else 25):
        random = Random(seed)
        table = {str(s): {x: random.choice(TINY) / size for x in values} for s in range(size)}
        groups = [
            (dict.fromkeys(random.sample(sorted(table), 3), 1), dict.fromkeys(values[:3], 1))
            for _ in range(4)
        ]
        groups.append((dict.fromkeys(table, 1), dict.fromkeys(values, 1)))
        wanted = random.choice(values[:3])
        truth = max(
            row[wanted]
            for members, bag in groups
            for row in joint([table[s] for s in members], "".join(bag))
        )
        assert judged(groups, table, {wanted})[2] == truth


def test_sums_that_floats_hold_with_three_digits_only_are_settled_by_fractions():
    # Four people would rather have a, and three of them cannot: the sum is about 1e-320, and of
    # several groups that are nearly alike, floats take one that is not the highest.
    random, values = Random(2), "abcde"
    table, groups = {}, []
    for group in range(6):
        for person in range(5):
            rare = [Fraction(random.randint(849990, 850010), 10**113) for _ in values]
            table[f"{group} {person}"] = dict(zip(values, rare, strict=True))
            table[f"{group} {person}"]["a"] = Fraction(1, 2)
        table[f"{group} 0"] = dict.fromkeys(values, Fraction(1, 5))
        groups.append(({f"{group} {i}": 1 for i in range(5)}, dict.fromkeys(values, 1)))
    for value in values:
        truth = max(
            row[value]
            for members, _ in groups
            for row in joint([table[s] for s in members], values)
        )
        assert judged(groups, table, {value})[2] == truth


def test_binary_priors_so_near_to_1_that_floats_cannot_tell():
    # By floats of 1 - p, which are 1.1e-16 and 2.2e-16, the second group would look safer.
    little = Fraction(1, 10**17)
    table = {
        "p": {"a": 1 - 16 * little, "b": 0},
        "q": {"a": 1 - 17 * little, "b": 0},
        "r": {"a": 1 - 40 * little, "b": 0},
    }
    groups = [({"p": 1, "q": 1}, {"a": 1, "b": 1}), ({"q": 1, "r": 1}, {"a": 1, "b": 1})]
    odds = {s: row["a"] / (1 - row["a"]) for s, row in table.items()}
    value, group, found = judged(groups, table, {"a"}, "binary")
    assert found == odds["q"] / (odds["q"] + odds["r"])
    assert (value, group) == ("a", ("1",))


def test_near_ties_between_groups_are_settled_by_fractions():
    little = Fraction(1, 10**25)
    table = {
        "p": {"a": Fraction(1, 3), "b": Fraction(1, 3)},
        "q": {"a": Fraction(1, 4), "b": Fraction(1, 3)},
        "s": {"a": Fraction(1, 4) - little, "b": Fraction(1, 3)},
    }
    bag = {"a": 1, "b": 1}
    groups = [({"p": 1, "q": 1}, bag), ({"p": 1, "s": 1}, bag)]
    for order in (groups, groups[::-1]):
        _, group, found = judged(order, table, {"a"})
        assert order[int(group[0])] == groups[1]
        assert found == Fraction(1, 3) / (Fraction(1, 3) + Fraction(1, 4) - little)
