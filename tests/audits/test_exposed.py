"""How many people could be found out: against enumeration, person by person, and at the limits."""

import json
import random
from collections import Counter
from fractions import Fraction
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from tests.adversaries.releases_priors import priors_table
from tests.examples import NIGHTLY
from tests.oracle.exposed_worlds import (
    found_out,
    found_out_by_implications,
    found_out_of_sets,
    several_found_out,
    suspected,
)
from tests.oracle.priors import binary, joint
from tests.toys import Silent

import foreknow as fk

TIMES = 100 if NIGHTLY else 1
LIMITS = [Fraction(p, q) for q in range(1, 7) for p in range(1, q + 1)]


def exposed(release, adversary, limit, **more):
    asked = fk.Policy([fk.Requirement(adversary, **{"below": limit, **more})])
    (found,) = fk.audit(release, asked).exposed
    return found


def found_in(bags, adversary, limit, **more):
    return exposed(fk.GroupCounts.from_bags(bags), adversary, limit, **more)


class Drawn:
    """A few bags of letters, a limit, and which values are asked about."""

    def __init__(self, draw, people=5, values="abc", groups=3):
        bags = [[] for _ in range(draw.randint(1, groups))]
        for place in range(draw.randint(len(bags), people)):
            at = place if place < len(bags) else draw.randrange(len(bags))
            bags[at].append(draw.choice(values))
        self.bags = ["".join(sorted(bag)) for bag in bags]
        self.letters = "".join(self.bags)
        self.limit = draw.choice(LIMITS)
        self.about = draw.choice([None, [draw.choice(self.letters)]])
        self.values = set(self.letters if self.about is None else self.about)

    def __repr__(self):
        return f"{self.bags}, {self.limit}, {self.about}"


def numbers(found):
    return found.over.people, found.over.groups


def check(found, bags):
    """What must hold of every count, whatever it says; the groups listed are the groups counted."""
    over, sure, listed = found.over, found.certain, list(found.groups)
    assert len(listed) == len({g.label for g in listed}) == over.groups
    assert [g.size for g in listed] == [len(bags[g.label]) for g in listed]
    assert sum(g.people for g in listed) == over.people
    assert sum(g.certain for g in listed) == sure.people <= over.people <= over.suspected
    chances = [g.disclosure.probability for g in listed]
    assert sorted(chances, reverse=True) == chances
    verdict = found.verdict
    assert (over.people > 0) == (not verdict.safe)
    assert chances[:1] in ([], [pytest.approx(verdict.probability)])
    for chance, near in zip(chances, (g.disclosure.exact for g in listed), strict=True):
        assert near >= verdict.limit if near is not None else chance > verdict.limit
        assert chance < 1 or near == 1


# ---- against enumeration --------------------------------------------------------------------


def test_facts_expose_the_right_people():
    draw = random.Random(1)
    for place in range(60 * TIMES):
        case, asked = Drawn(draw), fk.Facts(*draw.choices(range(3), k=3))
        bags, limit, amounts = case.bags, case.limit, (asked.l, asked.k, asked.m)
        found = found_in(bags, asked, limit, values=case.about)
        check(found, bags)
        assert numbers(found) == found_out(bags, amounts, limit, case.values), (case, amounts)
        sure, _ = found_out(bags, amounts, 1, case.values)
        assert found.certain.people == found.by_chance[-1] == sure, (case, amounts)
        assert not found.over.at_most
        holders = Counter(case.letters)
        assert sum(found.by_chance) == sum(holders[value] for value in case.values)
        if place % 10 == 0:
            tenths = [found_out(bags, amounts, Fraction(i, 10), case.values)[0] for i in range(11)]
            assert [sum(found.by_chance[i:]) for i in range(11)] == tenths
            k = draw.randint(0, 3)
            found = found_in(bags, fk.Negations(k), limit)
            assert numbers(found) == found_out(bags, (k, 0, 0), limit, {*case.letters})


def test_facts_raise_suspicion_of_others():
    draw = random.Random(2)
    for _ in range(25 * TIMES):
        case, amounts = Drawn(draw, people=4), tuple(draw.choices(range(2), k=3))
        found = found_in(case.bags, fk.Facts(*amounts), case.limit)
        truth = suspected(case.bags, amounts, case.limit, {*case.letters})
        assert found.over.suspected == truth, (case, amounts)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_implications_expose_the_right_people(k):
    draw = random.Random(k)
    for _ in range(15 * TIMES):
        case = Drawn(draw)
        found = found_in(case.bags, fk.Implications(k), case.limit, values=case.about)
        check(found, case.bags)
        truth = found_out_by_implications(case.bags, k, case.limit, case.values)
        assert numbers(found) == truth, case
        assert found.certain.people == found_out_by_implications(case.bags, k, 1, case.values)[0]


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_several_values_count_everybody(semantics):
    draw = random.Random(5)
    exactly = 0
    for _ in range(25 * TIMES):
        people = []
        for _ in range(draw.randint(1, 2)):
            own = [[] for _ in range(draw.randint(1, 3))]
            for value in "ab":
                many, is_set = draw.randint(0, min(2, len(own))), semantics == "set"
                for person in draw.sample(own, many) if is_set else draw.choices(own, k=many):
                    person.append(value)
            people.append(own)
        groups = [(len(own), "".join(sorted(chain(*own)))) for own in people]
        values = {value for _, bag in groups for value in bag}
        if not values:
            continue
        table = [{*person} for own in people for person in own]
        amounts, limit = tuple(draw.randint(0, 1) for _ in range(3)), draw.choice(LIMITS)
        counts, case = fk.GroupCounts.from_people(people, semantics=semantics), (people, amounts)
        over = exposed(counts, fk.Facts(*amounts), limit).over
        many, where = several_found_out(groups, table, amounts, limit, values, semantics)
        assert many <= over.people <= counts.n_people, (case, limit)
        assert where <= over.groups, (case, limit)
        if not over.at_most:
            exactly += 1
            assert (over.people, over.groups) == (many, where), (case, limit)
        if semantics == "set":
            one = exposed(counts, fk.Facts(*amounts), limit, values=[min(values)]).over
            truth = several_found_out(groups, table, amounts, limit, {min(values)}, semantics)
            assert (one.people, one.groups, one.at_most) == (*truth, False), (case, limit)
    assert exactly > TIMES


class DrawnPriors:
    """Bags of men and women, whose priors are drawn; `posteriors` are those of an enumeration."""

    def __init__(self, draw, reading="joint"):
        self.case = Drawn(draw, people=6, values="ab", groups=2)
        self.rows = {}
        for sex in "mf":
            chance = Fraction(draw.randint(1, 9), 10)
            self.rows[sex,] = {"a": chance, "b": 1 - chance}
        bags = enumerate(self.case.bags)
        self.people = [(g, draw.choice("mf"), x) for g, bag in bags for x in bag]
        gid, sexes, values = map(list, zip(*self.people, strict=True))
        frame = pa.table({"gid": gid, "sex": sexes, "disease": values})
        self.release = fk.Release.from_groups(frame, group="gid", sensitive="disease")
        self.priors = fk.Priors(priors_table(self.rows, ["sex"]), reading)
        self.posteriors = []  # of each group: of each member what is believed, before, and held
        for g, bag in enumerate(self.case.bags):
            rows = [self.rows[sex,] for at, sex, _ in self.people if at == g]
            if reading == "joint":
                believed = joint(rows, bag)
            else:
                columns = {x: binary(rows, bag, x) for x in {*bag}}
                believed = [{x: columns[x][t] for x in columns} for t in range(len(rows))]
            self.posteriors.append([*zip(believed, rows, bag, strict=True)])


@pytest.mark.parametrize("reading", ["joint", "binary"])
def test_priors_expose_the_right_people(reading):
    draw = random.Random(6)
    exactly = 0
    for _ in range(30 * TIMES):
        own, inclusive = DrawnPriors(draw, reading), draw.random() < 0.5
        limit = own.case.limit if own.case.limit < 1 or inclusive else Fraction(1, 2)
        limits = {"below": None, "at_most": limit} if inclusive else {"below": limit}
        found = exposed(own.release, own.priors, None, **limits)

        def beyond(chance, limit=limit, inclusive=inclusive):
            return chance > limit if inclusive else chance >= limit

        caught = certain = 0
        hits = [[any(map(beyond, row.values())) for row, *_ in group] for group in own.posteriors]
        for row, _, value in chain(*own.posteriors):
            caught += beyond(row[value])
            certain += row[value] == 1
        case = own.case, own.people, own.rows, inclusive
        suspects = sum(map(sum, hits)), sum(map(any, hits))
        assert (found.over.suspected, found.over.groups) == suspects, case
        assert caught <= found.over.people <= suspects[0], case
        assert certain == found.certain.people, case
        if not found.over.at_most:
            exactly += 1
            assert caught == found.over.people, case
        assert sum(found.by_chance) == len(own.people)
        times = Fraction(draw.randint(4, 9), 4)
        suspects = sum(
            any(row[x] > min(1, times * prior[x]) for x in row)
            for row, prior, _ in chain(*own.posteriors)
        )
        found = exposed(own.release, own.priors, None, at_most_times=times)
        assert found.over.suspected == suspects, (case, times)
    assert exactly > 6 * TIMES


def test_several_secrets_count_once():
    """Named sets may overlap: whoever is over the limit by two of them is one person."""
    draw, several = random.Random(12), 0
    for _ in range(50 * TIMES):
        case, amounts = Drawn(draw, people=6, values="abcd"), tuple(draw.choices((0, 1), k=3))
        every = sorted({*case.letters})
        sets = [draw.sample(every, draw.randint(1, max(1, len(every) - 1))) for _ in range(3)]
        named = {f"set {place}": own for place, own in enumerate(sets) if {*own} != {*every}}
        if not named:
            continue
        found = found_in(case.bags, fk.Facts(*amounts), case.limit, any_of=named)
        truth = found_out_of_sets(case.bags, amounts, case.limit, named.values())
        assert numbers(found) == truth
        sure = found_out_of_sets(case.bags, amounts, 1, named.values())
        assert (found.certain.people, found.certain.groups) == sure
        assert not found.over.at_most
        assert found.over.people <= found.over.suspected
        several += sum(map(len, named.values())) > len({*"".join(map("".join, named.values()))})
    assert several > 12 * TIMES


def test_two_sets_count_people_once():
    people = [[["a", "b"], ["a", "b"], ["c"]]]
    counts = fk.GroupCounts.from_people(people, semantics="multiset")
    sets = {"one": ["a"], "other": ["b"], "both": ["a", "b"]}
    found = exposed(counts, fk.Facts(), "1/10", any_of=sets)
    assert (found.over.people, found.over.at_most) == (3, True)


# ---- requirements of other kinds ------------------------------------------------------------


@pytest.mark.parametrize(
    ("criterion", "failing"),
    [
        *((fk.KAnonymity(3), [1, 3]), (fk.KAnonymity(1), []), (fk.AlphaK("1/2", 2), [0, 3])),
        *((fk.LDiversity(2), [3]), (fk.LDiversity(3), [0, 1, 3])),
    ],
)
def test_people_of_groups_that_fail(criterion, failing):
    bags = ["aaab", "ab", "abc", "a"]
    (found,) = fk.audit(
        fk.GroupCounts.from_bags(bags), fk.Policy([fk.Requirement(criterion)])
    ).exposed
    assert numbers(found) == (sum(len(bags[g]) for g in failing), len(failing))
    assert [group.label for group in found.groups] == failing
    assert found.certain is None
    assert found.verdict.of_groups


def in_population(ages, values, criterion):
    """What an audit says of people of a population, by their ages."""
    frame = pa.table({"age": ages, "x": [*values]})
    release = fk.Release.from_generalized(frame, quasi_identifiers=["age"], sensitive="x")
    audit = fk.audit(release, fk.Policy([fk.Requirement(criterion)]))
    return audit.safe, audit.exposed[0].over


def test_criterion_fails_for_no_group():
    people = pa.table({"age": ["1"] * 4 + ["2"] * 4})
    more = pa.table({"age": ["1"] * 4 + ["2"] * 4 + ["3"]})
    ages = ["1", "1", "2", "2"]
    for population, lowest, people_over in (
        (people, "1/4", 0),
        (people, "3/4", 4),
        (more, "1/4", None),
    ):
        safe, over = in_population(ages, "abab", fk.DeltaPresence(lowest, 1, population))
        assert (over and over.people) == people_over
        assert safe == (people_over == 0)
    assert in_population(ages, "abab", fk.KMap(5, people))[1].people == 4


def test_overlapping_groups_are_not_counted():
    people = pa.table({"age": [20, 20, 21, 22, 23, 24, 30, 31]})
    ages = ["20", "20", "20 to 24", "30"]
    for lowest, highest, many in ((0, "1/2", None), (0, 1, 0), ("1/10", 1, None)):
        safe, over = in_population(ages, "abca", fk.DeltaPresence(lowest, highest, people))
        assert safe == (many == 0)
        assert (over and over.people) == many
    people = pa.table({"age": [20, 20, 22, 23, 30, 40]})
    apart = ["20", "20", "22 to 24", "30"]
    _, over = in_population(apart, "abca", fk.DeltaPresence(0, "1/2", people))
    assert (over.people, over.groups) == (3, 2)


@pytest.mark.parametrize(("limit", "people"), [("1/2", 2), ("3/5", 0), ("1/3", 5)])
def test_groups_far_from_their_table(limit, people):
    frame = pa.table({"g": [1, 1, 2, 2, 2], "x": list("aabbb")})  # 3/5 and 2/5 away
    release = fk.Release.from_groups(frame, group="g", sensitive="x")
    audit = fk.audit(release, fk.Policy([fk.Requirement(fk.TCloseness(limit))]))
    assert audit.exposed[0].over.people == people


def test_skyline_has_a_count_each():
    skyline = fk.Requirement([(fk.Facts(), "2/3"), (fk.Facts(1), 1)])
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2)), skyline, fk.Requirement(fk.Facts(2), 1)])
    found = fk.audit(fk.GroupCounts.from_bags(["aab", "abc"]), policy).exposed
    judged = [own.verdict.judged for own in found]
    assert judged == [fk.KAnonymity(2), fk.Facts(), fk.Facts(1), fk.Facts(2)]
    assert [own.over.people for own in found] == [0, 2, 3, 6]


def test_unknown_exposure_is_stated():
    found = found_in(["aab"], Silent(), "1/3")
    assert found.over is found.certain is None
    assert list(found.groups) == []
    assert found.to_dict()["over"] is None


# ---- limits, and large releases -------------------------------------------------------------


@pytest.mark.parametrize(("held", "size"), [(1, 3), (333, 999), (7, 21)])
def test_attained_limit_is_reached(held, size):
    for limit, reached in (("1/3", True), (Fraction(1, 3) + Fraction(1, 10**18), False)):
        found = found_in([{"a": held, "b": size - held}], fk.Facts(), limit, values=["a"])
        assert bool(found.over.people) == reached


def test_relatives_in_another_group_count():
    """A link to the only person with a value elsewhere says who it is; see Theorem 2."""
    bags = [{"a": 1, "b": 9}, {"a": 1}, {"a": 2, "b": 18}]
    found = found_in(bags, fk.Facts(m=1), 1, values=["a"])
    assert (found.over.people, found.certain.people, found.over.groups) == (4, 4, 3)


def test_no_loop_over_groups():
    draw = np.random.default_rng(1)
    groups, values = draw.integers(0, 20_000, 400_000), draw.integers(0, 12, 400_000)
    places, names = np.unique(groups, return_inverse=True)[1], [f"v{i}" for i in range(12)]
    counts = fk.GroupCounts.from_pairs(
        places, values, values=names, n_groups=len(np.unique(groups))
    )
    found = exposed(counts, fk.Facts(2, 3, 2), "1/2")
    assert 0 < found.certain.people < found.over.people <= found.over.suspected
    assert sum(found.by_chance) == 400_000
    assert sum(group.people for group in found.groups) == found.over.people


def test_json_has_the_counts():
    counts = fk.GroupCounts.from_bags(["aab", "abc"])
    unsafe, safe = (
        fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), limit)])) for limit in ("1/2", 1)
    )
    (said,) = json.loads(unsafe.to_json())["exposed"]
    over = {"people": 2, "groups": 1, "suspected": 3, "at_most": False}
    assert (said["over"], said["certain"]["people"], said["below"]) == (over, 0, "1/2")
    assert said["by_chance"] == [0, 0, 0, 4, 0, 0, 2, 0, 0, 0, 0]
    assert numbers(safe.exposed[0]) == (0, 0)
    assert not list(safe.exposed[0].groups)
