"""Policies that mix criteria with adversaries: the best node, and minimal cuts, by brute force."""

import random
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.reference import BruteForce, parts, safe
from tests.methods.tables import KINDS, crowds, policies
from tests.methods.test_fulldomain import OBJECTIVES, POOLS, SEEDS, Table, check_best
from tests.test_criteria_of_values import truth

import foreknow as fk

TREE = [["S", "a"], ["T", "a"], ["U", "b"], ["V", "b"], ["W", "c"], ["X", "c"]]


def drawn_criterion(draw):
    """A criterion, and whether it holds of groups of letters."""
    share = Fraction(draw.randint(1, 9), 10)
    made = draw.choice(
        [
            fk.KAnonymity(draw.randint(1, 5)),
            fk.LDiversity(draw.randint(1, 3)),
            fk.LDiversity(draw.choice(["3/2", 2, "5/2"]), "entropy"),
            fk.LDiversity(2, "recursive", draw.choice([1, 2, 3])),
            fk.AlphaK(share, draw.randint(1, 4)),
            fk.TCloseness(share),
            fk.TCloseness(share, "ordered", list("XWVUTS")),
            fk.TCloseness(share, "hierarchical", tree=TREE),
            fk.BetaLikeness(draw.randint(1, 4), draw.random() < 0.5),
            fk.DeltaDisclosure(draw.randint(1, 3)),
        ]
    )

    def holds(groups):
        if isinstance(made, fk.KAnonymity):
            return min(map(len, groups)) >= made.k
        everybody = [value for bag in holds.everybody for value in bag]
        if getattr(made, "distance", None) == "ordered":
            place = {letter: i for i, letter in enumerate("XWVUTS")}
            present = sorted(set(everybody), key=place.get)
            rank = {letter: i for i, letter in enumerate(present)}
            plain = fk.TCloseness(made.t, "ordered")
            own = [[rank[x] for x in bag] for bag in groups]
            return all(truth(plain, bag, [rank[x] for x in everybody])[1] for bag in own)
        return all(truth(made, bag, everybody)[1] for bag in groups)

    return made, holds


def mixed(seed):
    """A random table and lattice, of which Facts and two criteria are asked."""
    table, draw = Table(seed), random.Random(seed + 1)
    crowd, facts_hold = table.case, table.is_safe
    drawn = [drawn_criterion(draw) for _ in range(2)]
    for _, holds in drawn:
        holds.everybody = [crowd.held]

    def is_safe(groups):
        bags = [[crowd.held[p] for p in group] for group in groups]
        return facts_hold(groups) and all(holds(bags) for _, holds in drawn)

    asked = [*table.policy.requirements, *(fk.Requirement(made) for made, _ in drawn)]
    table.policy = fk.Policy(asked)
    table.every = BruteForce(crowd.kinds, crowd.rows, is_safe, table.every.most)
    return table


@examples(100, daily=5, deadline=None)
@given(seed=SEEDS, objective=OBJECTIVES)
def test_full_domain_finds_the_best_node_of_brute_force(seed, objective):
    table = mixed(seed)
    found = table.search(objective=objective)
    if found is not None:
        check_best(table, found, objective)


@examples(50, daily=5, deadline=None)
@given(seed=SEEDS)
def test_full_domain_finds_all_minimal_nodes_of_brute_force(seed):
    table = mixed(seed)
    found = table.search(find="minimal")
    if found is not None:
        assert set(found.minimal) == table.every.minimal()


def cuts_left(crowd, groups, holds, most=5):
    """Candidate cuts that would keep everything; as `tests.methods.reference.safe_cuts`."""
    found = []
    for g, members in enumerate(groups):
        others = [group for i, group in enumerate(groups) if i != g]
        for a, attribute in enumerate(crowd.attributes):
            certain, classes = attribute.split([crowd.rows[p][a] for p in members], most)
            found += [sides for sides in certain if holds(others + parts(members, sides))]
            for wanted, equal in classes:
                allowed = [sides for sides in equal if holds(others + parts(members, sides))]
                if len(allowed) > len(equal) - wanted:
                    found.append(allowed)
    return found


@examples(200, deadline=None)
@given(data=st.data(), seed=SEEDS)
def test_mondrian_keeps_all_and_no_further_cut_does(data, seed):
    crowd = data.draw(crowds(14, 3, semantics=["single"], least=2))
    policy, rules = data.draw(policies(crowd.values))
    made, of = drawn_criterion(random.Random(seed))
    of.everybody = [crowd.held]

    def holds(groups):
        bags = [[crowd.held[p] for p in group] for group in groups]
        return of(bags) and safe(crowd.bags(groups), rules)

    both = fk.Policy([*policy.requirements, fk.Requirement(made)])
    try:
        groups = crowd.groups_of(fk.Mondrian().partition(crowd.microdata(), both).tolist())
    except fk.NoSafeRelease:
        assert not holds([crowd.everyone])
        return
    assert holds(groups)
    assert not cuts_left(crowd, groups, holds)


# ---- with a population -----------------------------------------------------------------------


def drawn_from_population(draw, kinds, rows):
    """A population that holds the table, and a criterion of it."""
    others = [tuple(draw.choice(POOLS[kind.name]) for kind in kinds) for _ in range(25)]
    people = [*rows, *others]
    names = [f"{kind.name}{i}" for i, kind in enumerate(kinds)]
    columns = zip(names, kinds, range(len(kinds)), strict=True)
    table = pa.table({n: pa.array([p[i] for p in people], k.type) for n, k, i in columns})
    low = draw.choice([0, 0, "1/9", "1/3"])
    made = draw.choice(
        [fk.KMap(draw.randint(1, 9), table), fk.DeltaPresence(low, draw.choice(["2/3", 1]), table)]
    )
    return people, made


def within(made, found, people):
    """Whether groups of so many people hold, of (people, of how many of the population) each."""
    if isinstance(made, fk.KMap):
        return all(of >= made.k for _, of in found)
    covered = sum(of for _, of in found) == people
    return all(made.lowest <= Fraction(n, of) <= made.highest for n, of in found) and (
        covered or not made.lowest
    )


@examples(200, deadline=None)
@given(data=st.data(), seed=SEEDS, method=st.sampled_from(["mondrian", "fulldomain"]))
def test_what_a_search_made_is_published_just_if_the_population_holds_it(data, seed, method):
    """Along one number, whose labels are ranges; by brute force over everybody."""
    ages = data.draw(st.lists(st.integers(1, 6), min_size=2, max_size=14))
    draw = random.Random(seed)
    people, made = drawn_from_population(draw, [KINDS[0]], [(age,) for age in ages])
    table = pa.table({"number0": ages, "disease": ["S"] * len(ages)})
    schema = fk.Schema(quasi_identifiers=["number0"], sensitive="disease")
    asked = [made, fk.KAnonymity(draw.randint(1, min(4, len(ages))))]
    options = fk.PublishOptions(labels={"number0": "exact"})
    policy = fk.Policy([fk.Requirement(each) for each in asked], schema, options)
    searched = fk.Policy(policy.requirements[1:], schema, options)
    alone = fk.publish(table, searched, method=method)
    sizes, found = Counter(alone.to_arrow()["number0"].to_pylist()), []
    for label, size in sizes.items():
        low, _, high = label.replace("*", "0 to 9").partition(" to ")
        found.append((size, sum(int(low) <= row[0] <= int(high or low) for row in people)))
    if not within(made, found, len(people)):
        with pytest.raises(fk.NoSafeRelease, match="do not hold what no search asks"):
            fk.publish(table, policy, method=method)
        return
    both = fk.publish(table, policy, method=method)
    assert Counter(both.to_arrow()["number0"].to_pylist()) == sizes
