"""Decoy: by what it chooses the cuts that it tries, and that bags of a kind are judged alike."""

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.methods.decoy import decoy, draws, search
from foreknow.methods.decoy.decoy import Decoy

ONE = fk.Schema(quasi_identifiers=["x"], sensitive="v")


def started(values, policy, x=None):
    """A search of a table, at its start."""
    x = list(range(len(values))) if x is None else x
    microdata = fk.Microdata(pa.table({"x": x, "v": list(values)}), ONE)
    return Decoy()._start(microdata, policy)


def policy(*criteria, below="3/4", **secret):
    return fk.Policy([fk.Requirement(one, below=below, **secret) for one in criteria], ONE)


def random_bags(draw, many, n_values=5, most=4):
    """Bags of at least one person."""
    found = [[draw.randrange(most) for _ in range(n_values)] for _ in range(many)]
    return np.array([bag if any(bag) else [1] * n_values for bag in found])


# ---- parts that are far from the whole ----------------------------------------------------------


def test_sums_of_a_part_are_so_many_deviations_above_the_mean_of_all_parts():
    """Of every set of people that may be the part."""
    draw = random.Random(1)
    for _ in range(300 if NIGHTLY else 30):
        bag = random_bags(draw, 1, most=3)[0]
        n, far = int(bag.sum()), draw.choice([0.0, 0.3, 1.1, 2.5])
        size = draw.randrange(1, n + 1)
        made = draws.Strayed.of(bag[None]).bags(np.array([0]), np.array([size]), np.array([far]))[0]
        order = sorted(range(len(bag)), key=lambda v: (-bag[v], v))
        people = [v for v in order for _ in range(bag[v])]
        sums = np.zeros(len(bag))
        parts = np.array(list(combinations(people, size)))
        for many in range(1, len(bag) + 1):
            held = np.isin(parts, order[:many]).sum(axis=1)
            above = min(size, held.mean() + far * held.std())
            sums[many - 1] = made[order[:many]].sum()
            assert abs(sums[many - 1] - above) <= 0.5 + 1e-5
        assert made.min() >= 0
        assert sums[-1] == size


def test_what_is_foreseen_of_a_cut_is_what_becomes_of_it():
    """Beside draws: who is foreseen to be refused mostly is, and the same the other way."""
    draw, lot = random.Random(2), np.random.default_rng(2)
    found = {chance: [] for chance in (0.0, *search._CHANCES)}
    for _ in range(200 if NIGHTLY else 40):
        values = draw.choices("abcdefgh", [8, 7, 6, 5, 4, 3, 2, 1], k=draw.randrange(30, 300))
        start = started(values, policy(fk.Facts(draw.choice([0, 1])), below="3/5"))
        bag = start.bags_of(start.node, 1)
        size = draw.randrange(6, len(values) - 5)
        people, whole = np.array([size, len(values) - size]), np.zeros(2, dtype=np.int64)
        decoys = draw.choice([3, 10])
        asked, strayed = [(whole, people)], draws.Strayed.of(bag)
        chance = start._chances(asked, strayed, np.zeros(1, dtype=np.int64), np.array([decoys]))
        many = 100
        bags = draws.drawn(
            bag.repeat(many, axis=0), np.tile(people, many), np.arange(many).repeat(2), lot
        )
        safe = start.quiet(bags, np.arange(many).repeat(2)).mean()
        found[float(chance[0, 0])].append(safe ** (decoys + 1))
    least, most = found[0.0], found[search._CHANCES[-1]]
    assert min(len(least), len(most)) > 3
    assert np.mean(least) < 0.15
    assert np.mean(most) > 0.8


def test_chances_of_a_turn_are_those_of_each_group():
    """Asked together or one by one."""
    values = "aaabbbccddeefg" * 6
    start = started(values, policy(fk.Facts(1), below="3/5"))
    draw = random.Random(3)
    start.n_groups, bags = 4, random_bags(draw, 4, 7, 12)
    kind, strayed = np.array([2, 0, 3, 1]), draws.Strayed.of(bags)
    people = bags.sum(axis=1)[kind]
    decoys = np.array([3, 10, 3, 30])
    groups = [[0, 1, 2, 3], [1, 3], [0]]
    asked = []
    for turn in groups:
        sizes = [draw.randrange(2, int(people[g]) - 1) for g in turn]
        parts = np.array([[s, people[g] - s] for g, s in zip(turn, sizes, strict=True)])
        asked.append((np.repeat(turn, 2), parts.reshape(-1)))
    together = start._chances(asked, strayed, kind, decoys)
    for turn, own in enumerate(groups):
        for place, group in enumerate(own):
            pair = slice(2 * place, 2 * place + 2)
            one = [(asked[turn][0][pair], asked[turn][1][pair])]
            alone = start._chances(one, strayed, kind, decoys)
            assert alone[group, 0] == together[group, turn]
            assert not np.delete(alone[:, 0], group).any()
    assert not together[[0, 2], 1].any()
    assert len(np.unique(together)) > 2


# ---- bags of a kind -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        policy(fk.Facts(1, 1, 0)),
        policy(fk.Facts(2), fk.Negations(1)),
        policy(fk.Facts(1), values=["a", "c"]),
        policy(fk.Facts(), any_of=["a", "b"]),
    ],
    ids=["alike", "both alike", "some values", "any of two"],
)
def test_bags_of_a_kind_are_judged_as_each_by_itself(asked):
    start = started("aaabbbcccdddeee" * 9, asked)
    bags = random_bags(random.Random(4), 400 if NIGHTLY else 80, most=9)
    own = np.arange(len(bags))
    for judge in (start.guards.evaluate, start.guards.roughly, start.guards.exchanged):
        found = start._judged(judge, bags, own)
        each = [start._measured(judge, bag[None], own[:1])[0] for bag in bags]
        assert found.tolist() == each
        assert 0 < found.sum() < len(found)
        few = bags[bags[:, 1] == 0]  # a value that nobody has
        found = start._judged(judge, few, own[: len(few)])
        assert found.tolist() == [start._measured(judge, bag[None], own[:1])[0] for bag in few]


def test_kinds_are_what_values_change_places_in():
    start = started("aaabbbcccdddeee" * 9, policy(fk.Facts(1)))
    bags = np.array([[0, 3, 0, 1, 0], [1, 0, 0, 0, 3], [2, 2, 0, 0, 0], [300, 0, 70_000, 0, 0]])
    first, kind, forms = start.guards.kinds(bags)
    assert kind[0] == kind[1]
    assert len(first) == len(np.unique(kind)) == 3
    assert forms[kind].tolist() == [[3, 1], [3, 1], [2, 2], [70_000, 300]]


def test_places_are_in_order_of_frequency_and_then_of_value():
    bags = random_bags(random.Random(5), 50)
    place, starts = draws.ranks(bags)
    for bag, own, begin in zip(bags.tolist(), place.tolist(), starts.tolist(), strict=True):
        order = sorted(range(len(bag)), key=lambda v: (-bag[v], v))
        assert [own[v] for v in order] == list(range(len(bag)))
        assert [begin[v] for v in order] == [
            sum(bag[w] for w in order[:at]) for at in range(len(bag))
        ]


# ---- what is tried ------------------------------------------------------------------------------


def register(seed, n=900):
    """A table in which some cuts are accepted and some groups are divided no further."""
    draw = random.Random(seed)
    x = [draw.randrange(40) for _ in range(n)]
    return [draw.choices("abcdefgh", [8, 7, 6, 5, 4, 3, 2, 1 + age // 4])[0] for age in x], x


def test_parts_have_the_values_of_their_people():
    values, x = register(7)
    start = started(values, policy(fk.Facts(1), below="3/5"), x)
    lot, some_left = np.random.default_rng(7), 0
    while start.n_groups:
        cuts = start.choose_cuts()
        part = start.part_of_people(cuts)
        for number, bag in enumerate(cuts.bags):
            own = start.value[part == number]
            assert np.bincount(own, minlength=len(bag)).tolist() == bag.tolist()
            assert len(own) == cuts.people[number]
        inside = start.group_of_people()
        assert ((part >= 0) == np.isin(inside, cuts.group)).all()
        some_left += 0 < len(cuts.group) < start.n_groups
        none = np.zeros(0, dtype=bool)
        start.descend(
            cuts,
            decoy._decided(start, cuts, lot) if len(cuts.group) else search.Outcome(none, none),
        )
    assert some_left


def test_what_is_accepted_has_stood_beside_all_its_decoys(monkeypatch):
    values, x = register(8)
    start = started(values, policy(fk.Facts(1), below="3/5"), x)
    drawn, as_it_is = Counter(), search.Search.decoys

    def counted(self, cuts, which, *rest):
        found = as_it_is(self, cuts, which, *rest)
        drawn.update(found[2].tolist())
        return found

    monkeypatch.setattr(search.Search, "decoys", counted)
    lot, seen = np.random.default_rng(8), set()
    while start.n_groups:
        cuts = start.choose_cuts()
        if not len(cuts.group):
            break
        drawn.clear()
        outcome = decoy._decided(start, cuts, lot)
        for number in np.flatnonzero(outcome.accepted).tolist():
            assert drawn[number] == cuts.decoys[number] > 0
            seen.add(int(cuts.decoys[number]))
        start.descend(cuts, outcome)
    assert seen


# ---- deals --------------------------------------------------------------------------------------


def test_every_seat_of_a_value_is_as_likely_for_each_who_has_it():
    """By chi-square: of two groups, who of a value sits in which small group."""
    start = started("aaaabbc" + "bbbbaac", policy(fk.Facts()))
    group = np.repeat([0, 1], 7)
    lot, runs = np.random.default_rng(6), 3000
    seats = np.zeros((14, 3))
    for _ in range(runs):
        deal = start.deal_of(group, np.array([3, 3]), lot)
        seats[deal.people, deal.seat] += 1
        assert (deal.value == start.value[deal.people]).all()
        assert (deal.group == group[deal.people]).all()
    for own in (0, 1):
        for value in range(3):
            mine = seats[(group == own) & (start.value == value)]
            expected = np.tile(mine.mean(axis=0), (len(mine), 1))
            there = expected > 0
            # At most 6 degrees of freedom.
            assert ((mine - expected)[there] ** 2 / expected[there]).sum() < 25
