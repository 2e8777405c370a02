"""Policies that mix criteria with adversaries: the best node, and minimal cuts, by brute force."""

import random
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.criteria.definitions import truth
from tests.examples import examples
from tests.methods.reference import BruteForce, parts, safe
from tests.methods.tables import crowds, groups_by, policies
from tests.methods.test_fulldomain import OBJECTIVES, SEEDS, Table, check_best, kept

import foreknow as fk

TREE = [["S", "a"], ["T", "a"], ["U", "b"], ["V", "b"], ["W", "c"], ["X", "c"]]


def drawn_criterion(draw, everybody):
    """A criterion, and whether it holds of groups of letters."""
    share = Fraction(draw.randint(1, 9), 10)
    made = draw.choice(
        [
            fk.KAnonymity(draw.randint(1, 5)),
            fk.LDiversity(draw.randint(1, 3)),
            fk.LDiversity(draw.choice(["3/2", 2, "5/2"]), "entropy"),
            fk.LDiversity(draw.randint(2, 3), "recursive", draw.choice([1, "3/2", 2, 3])),
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
        if getattr(made, "distance", None) == "ordered":
            present = sorted(set(everybody), reverse=True)
            rank, plain = present.index, fk.TCloseness(made.t, "ordered")
            of_all = [rank(x) for x in everybody]
            return all(truth(plain, [rank(x) for x in bag], of_all)[1] for bag in groups)
        return all(truth(made, bag, everybody)[1] for bag in groups)

    return made, holds


def mixed(seed):
    """A random table and lattice, of which one or two criteria are asked, and mostly Facts too."""
    table, draw = Table(seed), random.Random(seed + 1)
    crowd, facts_hold = table.case, table.is_safe
    drawn = [drawn_criterion(draw, crowd.held) for _ in range(draw.choice([1, 2, 2]))]
    facts = draw.random() < 0.7
    if draw.random() < 0.5:
        table.share = draw.choice([0.1, 0.2, 0.35, 0.5, 0.75])

    def is_safe(groups):
        bags = [[crowd.held[p] for p in group] for group in groups]
        return all(holds(bags) for _, holds in drawn) and (not facts or facts_hold(groups))

    asked = [*(fk.Requirement(made) for made, _ in drawn)]
    table.policy = fk.Policy([*(table.policy.requirements if facts else []), *asked])
    most = int(Fraction(str(table.share)) * len(crowd.rows))
    table.every = BruteForce(crowd.kinds, crowd.rows, is_safe, most)
    return table


@examples(250, daily=12, deadline=None)
@given(seed=SEEDS, objective=OBJECTIVES, large=st.booleans())
def test_the_best_node(seed, objective, large):
    """Nodes are left out that cannot do with so few suppressed people: never one that can."""
    table = mixed(seed)
    with pytest.MonkeyPatch.context() as patch:
        kept(patch, 0 if large else 10**6)
        result = table.search(objective=objective)
    if result is not None:
        check_best(table, result, objective)


@examples(50, daily=5, deadline=None)
@given(seed=SEEDS)
def test_minimal_nodes(seed):
    table = mixed(seed)
    result = table.search(find="minimal")
    if result is not None:
        assert set(result.minimal) == table.every.minimal()


def cuts_left(crowd, groups, holds, most=5):
    """Candidate cuts that would keep everything; as `tests.methods.reference.safe_cuts`."""
    cuts = []
    for g, members in enumerate(groups):
        others = [group for i, group in enumerate(groups) if i != g]
        for a, attribute in enumerate(crowd.attributes):
            certain, classes = attribute.split([crowd.rows[p][a] for p in members], most)
            cuts += [sides for sides in certain if holds(others + parts(members, sides))]
            for wanted, equal in classes:
                allowed = [sides for sides in equal if holds(others + parts(members, sides))]
                if len(allowed) > len(equal) - wanted:
                    cuts.append(allowed)
    return cuts


@examples(200, deadline=None)
@given(data=st.data(), seed=SEEDS)
def test_mondrian_cuts_no_further(data, seed):
    crowd = data.draw(crowds(14, 3, semantics=["single"], least=2))
    policy, rules = data.draw(policies(crowd.values))
    made, of = drawn_criterion(random.Random(seed), crowd.held)

    def holds(groups):
        bags = [[crowd.held[p] for p in group] for group in groups]
        return of(bags) and safe(crowd.bags(groups), rules)

    both = fk.Policy([*policy.requirements, fk.Requirement(made)])
    groups = groups_by(fk.Mondrian(), crowd, both)
    if groups is None:
        assert not holds([crowd.everyone])
        return
    assert holds(groups)
    assert not cuts_left(crowd, groups, holds)


@examples(200, deadline=None)
@given(
    ages=st.lists(st.integers(1, 6), min_size=2, max_size=14),
    seed=SEEDS,
    method=st.sampled_from(["mondrian", "fulldomain"]),
)
def test_a_population_must_hold(ages, seed, method):
    """What a search made is published just if it does; labels are ranges of one number."""
    draw = random.Random(seed)
    people = [*ages, *(draw.choice([1, 2, 3]) for _ in range(25))]
    population = pa.table({"age": people})
    lowest, highest = draw.choice([0, 0, "1/9", "1/3"]), draw.choice(["2/3", 1])
    presence = fk.DeltaPresence(lowest, highest, population)
    made = draw.choice([fk.KMap(draw.randint(1, 9), population), presence])
    table = pa.table({"age": ages, "disease": ["S"] * len(ages)})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    asked = [made, fk.KAnonymity(draw.randint(1, min(4, len(ages))))]
    options = fk.PublishOptions(labels={"age": "exact"})
    policy = fk.Policy([fk.Requirement(rule) for rule in asked], schema, options)
    searched = fk.Policy(policy.requirements[1:], schema, options)
    sizes = Counter(fk.publish(table, searched, method=method).to_arrow()["age"].to_pylist())
    of_population = []
    for label, size in sizes.items():
        low, _, high = label.replace("*", "0 to 9").partition(" to ")
        of_population.append((size, sum(int(low) <= age <= int(high or low) for age in people)))
    if isinstance(made, fk.KMap):
        holds = all(of >= made.k for _, of in of_population)
    else:
        holds = all(
            Fraction(lowest) <= Fraction(n, of) <= Fraction(highest) for n, of in of_population
        )
        holds = holds and (sum(of for _, of in of_population) == len(people) or not lowest)
    if not holds:
        with pytest.raises(fk.NoSafeRelease, match="do not hold what no search asks"):
            fk.publish(table, policy, method=method)
        return
    both = fk.publish(table, policy, method=method)
    assert Counter(both.to_arrow()["age"].to_pylist()) == sizes
