"""How many people could be found out: against enumeration, person by person, and at the limits."""

import json
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.adversaries.releases_priors import priors_table
from tests.examples import NIGHTLY
from tests.oracle import many_worlds
from tests.oracle.exposed_worlds import (
    found_out,
    found_out_by_implications,
    found_out_of_sets,
    several_found_out,
    suspected,
)
from tests.oracle.posterior_worlds import binary, joint

import foreknow as fk
from foreknow.needs import Need

TIMES = 100 if NIGHTLY else 1
LIMITS = [Fraction(p, q) for q in range(1, 7) for p in range(1, q + 1)]


def exposed(release, adversary, limit, **more):
    asked = fk.Policy([fk.Requirement(adversary, **{"below": limit, **more})])
    (found,) = fk.audit(release, asked).exposed
    return found


def small(draw, people=5, values="abc", groups=3):
    """A few bags of letters."""
    bags = [[] for _ in range(draw.randint(1, groups))]
    for place in range(draw.randint(len(bags), people)):
        bags[place if place < len(bags) else draw.randrange(len(bags))].append(draw.choice(values))
    return ["".join(sorted(bag)) for bag in bags]


def checked(found, bags):
    """What must hold of every count, whatever it says; the groups listed are the groups counted."""
    sizes = [len(bag) for bag in bags]
    over, sure, listed = found.over, found.certain, list(found.groups)
    assert len(listed) == len({g.label for g in listed}) == over.groups
    assert [g.size for g in listed] == [sizes[g.label] for g in listed]
    assert sum(g.people for g in listed) == over.people
    assert sum(g.certain for g in listed) == sure.people <= over.people <= over.suspected
    assert sorted((g.disclosure.probability for g in listed), reverse=True) == [
        g.disclosure.probability for g in listed
    ]
    for group in listed:
        near = group.disclosure.exact
        assert (1 if near is None else near) >= 0
        limit = found.verdict.limit
        assert near >= limit if near is not None else group.disclosure.probability > limit
        if group.disclosure.probability == 1:
            assert near == 1
    return over


# ---- against enumeration --------------------------------------------------------------------


def test_facts_find_out_whom_true_facts_disclose():
    draw = random.Random(1)
    for _ in range(300 * TIMES):
        bags, limit = small(draw), draw.choice(LIMITS)
        amounts = tuple(draw.randint(0, 2) for _ in range(3))
        about = draw.choice([None, [draw.choice("".join(bags))]])
        values = set("".join(bags)) if about is None else set(about)
        found = exposed(fk.GroupCounts.from_bags(bags), fk.Facts(*amounts), limit, values=about)
        over = checked(found, bags)
        case = bags, amounts, limit, about
        assert (over.people, over.groups) == found_out(bags, amounts, limit, values), case
        assert found.certain.people == found_out(bags, amounts, 1, values)[0], case
        assert not over.at_most
        holders = sum(Counter("".join(bags))[value] for value in values)
        assert sum(found.by_chance) == holders
        assert found.by_chance[-1] == found.certain.people


def test_facts_raise_suspicion_also_of_people_who_do_not_have_the_value():
    draw = random.Random(2)
    for _ in range(30 * TIMES):
        bags, limit = small(draw, people=4), draw.choice(LIMITS)
        amounts = tuple(draw.randint(0, 1) for _ in range(3))
        found = exposed(fk.GroupCounts.from_bags(bags), fk.Facts(*amounts), limit)
        truth = suspected(bags, amounts, limit, set("".join(bags)))
        assert found.over.suspected == truth, (bags, amounts, limit)


def test_people_by_tenths_of_how_sure_somebody_could_be():
    draw = random.Random(3)
    for _ in range(20 * TIMES):
        bags, amounts = small(draw, people=5), tuple(draw.randint(0, 1) for _ in range(3))
        found = exposed(fk.GroupCounts.from_bags(bags), fk.Facts(*amounts), "1/2")
        values = set("".join(bags))
        beyond = [found_out(bags, amounts, Fraction(i, 10), values)[0] for i in range(11)]
        assert [sum(found.by_chance[i:]) for i in range(11)] == beyond


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_implications_find_out_whom_they_disclose(k):
    draw = random.Random(k)
    for _ in range(30 * TIMES):
        bags, limit = small(draw, people=5), draw.choice(LIMITS)
        counts, values = fk.GroupCounts.from_bags(bags), set("".join(bags))
        about = draw.choice([None, [draw.choice("".join(bags))]])
        wanted = values if about is None else set(about)
        found = exposed(counts, fk.Implications(k), limit, values=about)
        over = checked(found, bags)
        truth = found_out_by_implications(bags, k, limit, wanted)
        assert (over.people, over.groups) == truth, (bags, k, limit)
        assert found.certain.people == found_out_by_implications(bags, k, 1, wanted)[0]


def test_negations_are_facts_about_the_target():
    draw = random.Random(4)
    for _ in range(40 * TIMES):
        bags, limit, k = small(draw), draw.choice(LIMITS), draw.randint(0, 3)
        found = exposed(fk.GroupCounts.from_bags(bags), fk.Negations(k), limit)
        truth = found_out(bags, (k, 0, 0), limit, set("".join(bags)))
        assert (found.over.people, found.over.groups) == truth


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_of_people_with_several_values_no_fewer_are_counted_than_are_found_out(semantics):
    draw = random.Random(5)
    exactly = 0
    for _ in range(40 * TIMES):
        groups = []
        for _ in range(draw.randint(1, 2)):
            size = draw.randint(1, 3)
            tops = {x: draw.randint(0, min(2, size)) for x in "ab"}
            groups.append((size, "".join(x * n for x, n in tops.items())))
        if not any(bag for _, bag in groups):
            continue
        table, people = [], []
        for size, bag in groups:
            own = [[] for _ in range(size)]
            for value, many in Counter(bag).items():
                chosen = (
                    draw.sample(range(size), many)
                    if semantics == "set"
                    else draw.choices(range(size), k=many)
                )
                for person in chosen:
                    own[person].append(value)
            people.append(own)
            table += map(set, own)
        amounts = tuple(draw.randint(0, 1) for _ in range(3))
        limit, values = draw.choice(LIMITS), set("".join(bag for _, bag in groups))
        counts = fk.GroupCounts.from_people(people, semantics=semantics)
        over = exposed(counts, fk.Facts(*amounts), limit).over
        many, where = several_found_out(groups, table, amounts, limit, values, semantics)
        case = people, amounts, limit
        assert many <= over.people <= counts.n_people, case
        assert where <= over.groups, case
        if not over.at_most:
            exactly += 1
            assert (over.people, over.groups) == (many, where), case
        one = exposed(counts, fk.Facts(*amounts), limit, values=[min(values)]).over
        if semantics == "set":
            truth = several_found_out(groups, table, amounts, limit, {min(values)}, semantics)
            assert (one.people, one.groups, one.at_most) == (*truth, False), case
    assert exactly > 2.5 * TIMES
    assert many_worlds.members([(1, "")])  # the oracle is the one of worlds


@pytest.mark.parametrize("reading", ["joint", "binary"])
def test_priors_raise_suspicion_of_people_by_what_is_known_of_them(reading):
    draw = random.Random(6)
    exactly = 0
    for _ in range(50 * TIMES):
        bags, limit = small(draw, people=6, values="ab", groups=2), draw.choice(LIMITS[1:])
        rows = {}
        for sex in "mf":
            chance = Fraction(draw.randint(1, 9), 10)
            rows[sex,] = {"a": chance, "b": 1 - chance}
        people = [(g, draw.choice("mf"), x) for g, bag in enumerate(bags) for x in bag]
        gid, sexes, values = (list(column) for column in zip(*people, strict=True))
        frame = pa.table({"gid": gid, "sex": sexes, "disease": values})
        release = fk.Release.from_groups(frame, group="gid", sensitive="disease")
        priors = fk.Priors(priors_table(rows, ["sex"]), reading)
        inclusive = draw.random() < 0.5
        found = exposed(
            release, priors, **{"limit": None, "at_most": limit} if inclusive else {"limit": limit}
        )
        caught = certain = suspects = where = 0
        for g, bag in enumerate(bags):
            own = [(rows[sex,], x) for gid_, sex, x in people if gid_ == g]
            each = joint([row for row, _ in own], bag) if reading == "joint" else None
            if each is None:
                columns = {x: binary([row for row, _ in own], bag, x) for x in set(bag)}
                each = [{x: columns[x][t] for x in columns} for t in range(len(own))]

            def beyond(chance):
                return chance > limit if inclusive else chance >= limit  # noqa: B023

            hits = [any(beyond(chance) for chance in row.values()) for row in each]
            suspects, where = suspects + sum(hits), where + any(hits)
            caught += sum(beyond(row[x]) for row, (_, x) in zip(each, own, strict=True))
            certain += sum(row[x] == 1 for row, (_, x) in zip(each, own, strict=True))
        case = bags, people, rows, limit, inclusive
        assert (found.over.suspected, found.over.groups) == (suspects, where), case
        assert caught <= found.over.people <= suspects, case
        assert certain == found.certain.people, case
        if not found.over.at_most:
            exactly += 1
            assert caught == found.over.people, case
        assert sum(found.by_chance) == len(people)
    assert exactly > 10 * TIMES


def test_priors_limited_by_how_likely_a_value_was_before():
    draw = random.Random(7)
    for _ in range(30 * TIMES):
        bags, times = small(draw, people=6, values="ab", groups=2), Fraction(draw.randint(4, 9), 4)
        rows = {(sex,): {"a": (c := Fraction(draw.randint(1, 9), 10)), "b": 1 - c} for sex in "mf"}
        people = [(g, draw.choice("mf"), x) for g, bag in enumerate(bags) for x in bag]
        gid, sexes, values = (list(column) for column in zip(*people, strict=True))
        frame = pa.table({"gid": gid, "sex": sexes, "disease": values})
        release = fk.Release.from_groups(frame, group="gid", sensitive="disease")
        priors = fk.Priors(priors_table(rows, ["sex"]))
        found = exposed(release, priors, None, at_most_times=times)
        suspects = 0
        for g, bag in enumerate(bags):
            own = [rows[sex,] for gid_, sex, _ in people if gid_ == g]
            suspects += sum(
                any(row[x] > min(1, times * prior[x]) for x in row)
                for row, prior in zip(joint(own, bag), own, strict=True)
            )
        assert found.over.suspected == suspects, (bags, people, rows, times)


# ---- requirements of other kinds ------------------------------------------------------------


def test_people_of_groups_that_fail_a_criterion():
    bags = ["aaab", "ab", "abc", "a"]
    counts = fk.GroupCounts.from_bags(bags)
    for criterion, failing in [
        (fk.KAnonymity(3), [1, 3]),
        (fk.LDiversity(2), [3]),
        (fk.LDiversity(3), [0, 1, 3]),
        (fk.AlphaK("1/2", 2), [0, 3]),
        (fk.KAnonymity(1), []),
    ]:
        policy = fk.Policy([fk.Requirement(criterion)])
        (found,) = fk.audit(counts, policy).exposed
        people = sum(len(bags[g]) for g in failing)
        assert (found.over.people, found.over.groups) == (people, len(failing))
        assert [group.label for group in found.groups] == failing
        assert found.certain is None
        assert found.verdict.of_groups


def test_a_criterion_that_no_group_fails_by_itself_is_not_counted_as_nobody():
    frame = pa.table({"age": ["1", "1", "2", "2"], "x": ["a", "b", "a", "b"]})
    release = fk.Release.from_generalized(frame, quasi_identifiers=["age"], sensitive="x")
    people = pa.table({"age": ["1"] * 4 + ["2"] * 4})
    more = pa.table({"age": ["1"] * 4 + ["2"] * 4 + ["3"]})
    for population, lowest, counted in (
        (people, "1/4", 0),
        (people, "3/4", 4),
        (more, "1/4", None),
    ):
        criterion = fk.DeltaPresence(lowest, 1, population)
        audit = fk.audit(release, fk.Policy([fk.Requirement(criterion)]))
        (found,) = audit.exposed
        assert (None if found.over is None else found.over.people) == counted
        assert audit.safe == (counted == 0)
    audit = fk.audit(release, fk.Policy([fk.Requirement(fk.KMap(5, people))]))
    assert audit.exposed[0].over.people == 4


def test_criteria_that_compare_with_the_table_count_groups_of_the_same_table():
    frame = pa.table({"g": [1, 1, 2, 2, 2], "x": list("aabbb")})
    release = fk.Release.from_groups(frame, group="g", sensitive="x")
    for limit, people in (("1/2", 2), ("3/5", 0), ("1/3", 5)):
        audit = fk.audit(release, fk.Policy([fk.Requirement(fk.TCloseness(limit))]))
        assert audit.exposed[0].over.people == people, limit  # 3/5 and 2/5 away


def test_people_with_several_secrets_count_once():
    """Named sets may overlap: whoever is over the limit by two of them is one person."""
    draw, several = random.Random(12), 0
    for _ in range(80 * TIMES):
        bags, limit = small(draw, people=6, values="abcd"), draw.choice(LIMITS)
        every = sorted(set("".join(bags)))
        sets = [draw.sample(every, draw.randint(1, max(1, len(every) - 1))) for _ in range(3)]
        named = {f"set {place}": own for place, own in enumerate(sets) if set(own) != set(every)}
        if not named:
            continue
        amounts = draw.choice([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1)])
        found = exposed(fk.GroupCounts.from_bags(bags), fk.Facts(*amounts), limit, any_of=named)
        over = found.over
        assert (over.people, over.groups) == found_out_of_sets(bags, amounts, limit, named.values())
        sure = found_out_of_sets(bags, amounts, 1, named.values())
        assert (found.certain.people, found.certain.groups) == sure
        assert not over.at_most
        assert over.people <= over.suspected
        several += sum(map(len, named.values())) > len(set().union(*named.values()))
    assert several > 20 * TIMES


def test_nobody_counts_twice_for_two_sets_of_what_they_may_have():
    people = [[["a", "b"], ["a", "b"], ["c"]]]
    counts = fk.GroupCounts.from_people(people, semantics="multiset")
    sets = {"one": ["a"], "other": ["b"], "both": ["a", "b"]}
    found = exposed(counts, fk.Facts(), "1/10", any_of=sets)
    assert (found.over.people, found.over.at_most) == (3, True)


def test_any_of_a_set_counts_people_with_one_of_its_values():
    draw = random.Random(8)
    for _ in range(20 * TIMES):
        bags, limit = small(draw, people=6), draw.choice(LIMITS)
        letters = sorted(set("".join(bags)))
        if len(letters) < 3:
            continue
        merged = [bag.replace("b", "a") for bag in bags]
        found = exposed(fk.GroupCounts.from_bags(bags), fk.Facts(1, 1, 0), limit, any_of=["a", "b"])
        assert (found.over.people, found.over.groups) == found_out(merged, (1, 1, 0), limit, {"a"})


def test_a_skyline_has_a_count_for_each_point_and_a_policy_for_each_requirement():
    counts = fk.GroupCounts.from_bags(["aab", "abc"])
    skyline = fk.Requirement([(fk.Facts(), "2/3"), (fk.Facts(1), 1)])
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2)), skyline, fk.Requirement(fk.Facts(2), 1)])
    found = fk.audit(counts, policy).exposed
    assert [each.verdict.judged for each in found] == [
        fk.KAnonymity(2),
        fk.Facts(),
        fk.Facts(1),
        fk.Facts(2),
    ]
    assert [each.over.people for each in found] == [0, 2, 3, 6]


class Silent:
    """An adversary that says nothing of single groups."""

    def disclosures(self, release):
        return {value: fk.Disclosure(value, 0.5) for value in release.values}

    needs = frozenset({Need.ABSOLUTE, Need.FINISHED})
    speaks = disclosure = monotone = None

    def chances(self, release):
        return None

    def to_dict(self):
        return {"silent": {}}


def test_an_adversary_that_cannot_say_it_of_each_person_says_so():
    counts = fk.GroupCounts.from_bags(["aab"])
    found = exposed(counts, Silent(), "1/3")
    assert found.over is found.certain is None
    assert list(found.groups) == []
    assert found.to_dict()["over"] is None


# ---- limits, and large releases -------------------------------------------------------------


@pytest.mark.parametrize(("held", "size"), [(1, 3), (333, 999), (7, 21)])
def test_a_limit_that_is_attained_is_reached(held, size):
    counts = fk.GroupCounts.from_bags([{"a": held, "b": size - held}])
    for limit, reached in (("1/3", True), (Fraction(1, 3) + Fraction(1, 10**18), False)):
        found = exposed(counts, fk.Facts(), limit, values=["a"])
        assert bool(found.over.people) == reached


def test_relatives_in_another_group_count():
    """A link to the only person with a value elsewhere says who it is; see Theorem 2."""
    bags = [{"a": 1, "b": 9}, {"a": 1}, {"a": 2, "b": 18}]
    found = exposed(fk.GroupCounts.from_bags(bags), fk.Facts(m=1), 1, values=["a"])
    assert (found.over.people, found.certain.people, found.over.groups) == (4, 4, 3)


def test_no_loop_over_groups():
    draw = np.random.default_rng(1)
    groups, values = draw.integers(0, 20_000, 400_000), draw.integers(0, 12, 400_000)
    counts = fk.GroupCounts.from_pairs(
        *(np.unique(groups, return_inverse=True)[1], values),
        values=[f"v{i}" for i in range(12)],
        n_groups=len(np.unique(groups)),
    )
    found = exposed(counts, fk.Facts(2, 3, 2), "1/2")
    assert 0 < found.certain.people < found.over.people <= found.over.suspected
    assert sum(found.by_chance) == 400_000
    listed = list(found.groups)
    assert sum(group.people for group in listed) == found.over.people


def test_json_has_the_counts_and_a_release_of_nobody_special_has_none(tmp_path):
    counts = fk.GroupCounts.from_bags(["aab", "abc"])
    found = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), "1/2")]))
    found.to_json(tmp_path / "audit.json")
    (kept,) = json.loads((tmp_path / "audit.json").read_text())["exposed"]
    over = {"people": 2, "groups": 1, "suspected": 3, "at_most": False}
    assert (kept["over"], kept["certain"]["people"], kept["below"]) == (over, 0, "1/2")
    assert kept["by_chance"] == [0, 0, 0, 4, 0, 0, 2, 0, 0, 0, 0]
    safe = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), 1)])).exposed[0]
    assert (safe.over.people, safe.over.groups, list(safe.groups)) == (0, 0, [])


def test_limits_and_amounts_of_all_sizes_agree_with_the_worst_case():
    """Somebody is over a limit exactly where the verdict is that it fails."""
    draw = random.Random(9)
    for l, k, m in product(range(3), repeat=3):  # noqa: E741
        for _ in range(2 * TIMES):
            bags, limit = small(draw, people=12, groups=3), draw.choice(LIMITS)
            counts = fk.GroupCounts.from_bags(bags)
            audit = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(l, k, m), limit)]))
            assert (audit.exposed[0].over.people > 0) == (not audit.safe)
            worst = next(iter(audit.exposed[0].groups), None)
            if worst is not None:
                assert worst.disclosure.probability == pytest.approx(audit.verdicts[0].probability)


def test_where_groups_overlap_it_is_not_said_how_many_are_in_groups_that_fail():
    release = fk.Release.from_generalized(
        pa.table({"age": ["20", "20", "20 to 24", "30"], "ill": list("abca")}),
        quasi_identifiers=["age"],
        sensitive="ill",
    )
    ages = [20, 20, 21, 22, 23, 24, 30, 31]
    for lowest, highest, people in ((0, "1/2", None), (0, 1, 0), ("1/10", 1, None)):
        criterion = fk.DeltaPresence(lowest, highest, pa.table({"age": ages}))
        audit = fk.audit(release, fk.Policy([fk.Requirement(criterion)]))
        assert audit.safe == (people == 0)
        over = audit.exposed[0].over
        assert (over and over.people) == people
    apart = fk.Release.from_generalized(
        pa.table({"age": ["20", "20", "22 to 24", "30"], "ill": list("abca")}),
        quasi_identifiers=["age"],
        sensitive="ill",
    )
    criterion = fk.DeltaPresence(0, "1/2", pa.table({"age": [20, 20, 22, 23, 30, 40]}))
    found = fk.audit(apart, fk.Policy([fk.Requirement(criterion)])).exposed[0]
    assert (found.over.people, found.over.groups) == (3, 2)
