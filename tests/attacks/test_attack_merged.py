"""In the generalized form, groups of one label are one group to a reader, also of drawn groups."""

from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from tests.attacks.small_methods import DIVERSE, microdata
from tests.oracle.streamliner_lots import outcomes, tables

import foreknow as fk
from foreknow.methods.anatomy import rounds_of
from foreknow.methods.proof import FREQUENCIES_ONLY
from foreknow.methods.streamliner.rda import groups_of_plan, plan_rda


def coded(values):
    codes = np.array(["abcdef".index(v) for v in values])
    return codes, np.bincount(codes)


def rda(values, places, l, lots):  # noqa: E741
    codes, sizes = coded(values)
    return groups_of_plan(plan_rda(sizes, l), codes, sizes, lots).tolist()


def anatomy(values, places, l, lots):  # noqa: E741
    """Shuffle the people of each value; whoever is left joins any group that lacks it."""
    codes, sizes = coded(values)
    rounds = rounds_of(sizes, l)
    n_groups = len(codes) // l
    groups, start = [None] * len(codes), 0
    for code, many in enumerate(sizes.tolist()):
        people = lots.permutation(np.flatnonzero(codes == code))
        own = rounds[start : start + many].tolist()
        for person, number in zip(people.tolist(), own, strict=True):
            if number < 0:
                free = [g for g in range(n_groups) if g not in own]
                number = free[lots.integers(len(free))]
            groups[person] = number
        start += many
    return groups


def published(groups, places):
    """Who stands under which range of ages."""
    ages = {g: [a for a, own in zip(places, groups, strict=True) if own == g] for g in set(groups)}
    return tuple((min(ages[g]), max(ages[g])) for g in groups)


@cache
def releases(bag, places, l, method):  # noqa: E741
    """release -> {table: how probable the release is}, by all lots of all tables."""
    found = {}
    for world in tables(bag):
        for groups, chance in outcomes(lambda lots, w=world: method(w, places, l, lots)):
            boxes = published(groups, places)
            bags = {b: [] for b in boxes}
            for box, value in zip(boxes, world, strict=True):
                bags[box].append(value)
            key = boxes, tuple(sorted((box, tuple(sorted(own))) for box, own in bags.items()))
            found.setdefault(key, Counter())[world] += chance
    return found


def posterior(weights, person, value):
    return sum(w for t, w in weights.items() if t[person] == value) / sum(weights.values())


CASES = [
    (fk.Streamliner(2), rda, "aabbc", (1, 1, 2, 2, 2), 2),
    (fk.Streamliner(2), rda, "aabc", (1, 1, 2, 2), 2),
    (fk.Streamliner(2), rda, "aabbc", (1, 1, 1, 1, 2), 2),
    (fk.Anatomy(2), anatomy, "aabbc", (1, 1, 2, 2, 2), 2),
    (fk.Anatomy(2), anatomy, "aabc", (1, 2, 1, 2), 2),
]


def holds(found, person, value, said):
    """Whether a proof says just what all lots say, or a bound no less."""
    if found.exact:
        return found.posterior(person + 1, value) == said
    beliefs = found._posteriors
    at = beliefs.worlds.cell_of[person], found._microdata.values.codes[value]
    return found.how == "bound" and beliefs.low[at] <= said <= beliefs.high[at]


def compare(method, oracle, bag, places, l, seen, most=8):  # noqa: E741
    """Attack releases until several were met, and set what is proved against all lots."""
    every, met = releases(bag, places, l, oracle), {}
    for world in tables(bag):
        table = microdata(list(world), age=list(places))
        boxes = fk.PublishOptions(form="generalized", labels={"age": "exact"})
        policy = fk.Policy(DIVERSE.requirements, table.schema, boxes)
        for seed in range(3):
            groups = method.partition(table, seed=seed).tolist()
            boxes = published(groups, places)
            bags = {
                b: tuple(sorted(v for v, own in zip(world, boxes, strict=True) if own == b))
                for b in boxes
            }
            key = boxes, tuple(sorted(bags.items()))
            if key in met or len(met) >= most:
                continue
            met[key] = fk.attack(table, method, policy, seed=seed)
            for person, box in enumerate(boxes):
                for value in set(bag):
                    said = posterior(every[key], person, value)
                    assert holds(met[key], person, value, said)
                    share = Fraction(bags[box].count(value), len(bags[box]))
                    seen.append((said, share))
                    assert said <= Fraction(1, l)
    return met


@pytest.mark.parametrize(("method", "oracle", "bag", "places", "l"), CASES)
def test_merged_groups_say_no_more_than_is_proved(method, oracle, bag, places, l):  # noqa: E741
    seen = []
    met = compare(method, oracle, bag, places, l, seen)
    assert {made.how for made in met.values()} <= {"proof", "bound"}
    if (bag, places) == ("aabbc", (1, 1, 2, 2, 2)):
        # Groups of two and of three tell more than frequencies where they look alike: people who
        # are older are sooner in the larger one.
        assert (Fraction(5, 12), Fraction(2, 5)) in seen
        assert (Fraction(2, 9), Fraction(1, 5)) in seen


@pytest.mark.parametrize(
    ("oracle", "bag", "places", "l"),
    [
        (rda, "aabbcc", (1, 1, 1, 1, 2, 2), 2),
        (rda, "aabbcd", (1, 2, 2, 3, 2, 1), 2),
        (rda, "aabbcd", (1, 1, 1, 1, 2, 2), 3),
        (anatomy, "aabbcd", (1, 1, 1, 1, 2, 2), 2),
        (anatomy, "aabbcd", (1, 1, 1, 1, 2, 2), 3),
    ],
)
def test_groups_of_one_size_tell_frequencies_whatever_looks_alike(oracle, bag, places, l):  # noqa: E741
    merged = 0
    for (boxes, bags), weights in releases(bag, places, l, oracle).items():
        own = dict(bags)
        merged += any(len(values) >= 2 * l for values in own.values())
        for person, box in enumerate(boxes):
            for value in set(own[box]):
                share = Fraction(own[box].count(value), len(own[box]))
                assert posterior(weights, person, value) == share
    assert merged


def large(method, below, form="generalized", n=160, kinds=8):
    """An attack on people of few ages, so that many groups look alike."""
    table = microdata(list("abcdefgh"[:kinds]) * (n // kinds), age=[i % 3 for i in range(n)])
    policy = fk.Policy(
        [fk.Requirement(fk.Facts(), below=below, knowing=[])],
        table.schema,
        fk.PublishOptions(form=form),
    )
    return fk.attack(table, method, policy, seed=1)


@pytest.mark.parametrize("method", [fk.Streamliner(2, "gsa"), fk.Streamliner(2, "ria")], ids=repr)
def test_a_limit_below_the_bound_is_not_called_kept(method):
    """The groups that look alike hold at most an eighth of each value; the proof says 1/2."""
    found = large(method, "1/3")
    assert (found.how, found.exact, found.highest) == ("bound", False, Fraction(1, 2))
    assert len(found.unsettled) > 140
    assert not found.found
    assert "a limit is below the bound" in found._repr_html_()
    assert "no higher than 1/2" in found._repr_html_()
    assert found.to_dict()["highest"] == "1/2"
    with pytest.raises(fk.InputError, match="exceeds 1/2"):
        found.posterior(1, "a")


def test_a_limit_above_the_bound_is_kept():
    found = large(fk.Streamliner(2, "gsa"), "2/3")
    assert (found.how, found.unsettled, found.cases) == ("bound", (), ())
    assert repr(found) == "Attack(Streamliner: no posterior above 1/2)"
    assert "By a proof, no posterior exceeds 1/2" in found._repr_html_()


@pytest.mark.parametrize(
    ("method", "below", "form", "how"),
    [
        (fk.Streamliner(2, "gsa"), "1/3", "bucketized", "proof"),
        (fk.Streamliner(2), "1/3", "generalized", "proof"),
        (fk.Anatomy(4), "1/3", "generalized", "proof"),
        (fk.Anatomy(3), "1/4", "generalized", "bound"),  # 160 is no multiple of 3
        (fk.Streamliner(3), "1/4", "generalized", "bound"),
    ],
    ids=str,
)
def test_the_proof_holds_where_groups_are_told_apart_or_equally_large(method, below, form, how):
    found = large(method, below, form)
    assert found.how == how
    assert bool(found.unsettled) == (how == "bound")


def test_a_method_with_no_bound_is_refused_where_groups_look_alike():
    class Dealt:
        traits = fk.Traits(proof=FREQUENCIES_ONLY)

        def partition(self, found, policy=None, seed=None):
            return np.arange(found.n_rows) % (found.n_rows // 2)

    with pytest.raises(fk.InputError, match="bucketized form"):
        large(Dealt(), "2/3", n=64)
    assert large(Dealt(), "2/3", "bucketized", n=64).how == "proof"
