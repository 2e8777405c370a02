"""Exact attacks say what plain enumeration says, fraction by fraction, for every kind of method."""

from fractions import Fraction

import numpy as np
import pytest
from tests.attacks import (
    BELOW_2_3,
    BUCKETS,
    DIVERSE,
    LEVELS,
    agrees,
    enumerated,
    microdata,
    naive,
    plainly,
    policy_for,
    random_table,
    together,
)
from tests.oracle.algorithm_worlds import posteriors

import foreknow as fk
from foreknow.adversaries.algorithm import attack


def as_function(pipeline):
    """A user's pipeline as the oracle runs it."""

    class Column(tuple):
        def to_pylist(self):
            return list(self)

    def algorithm(world):
        groups = pipeline({"disease": Column(world)})
        return None if groups is None else together(groups)

    return algorithm


CHOICES = {
    6: [["AB|CD|EF", "ABC|DEF", "ABCD|EF"], ["ABC|DEF", "AB|CDEF", "ABCDEF"]],
    5: [["AB|CDE", "ABC|DE", "ABCDE"], ["BCD|AE", "ACD|BE", "ABCDE"]],
}


@pytest.mark.parametrize("seed", range(60))
def test_the_first_safe_of_several_groupings(seed):
    random = np.random.default_rng(seed)
    people = int(random.integers(5, 7))
    pipeline = naive(CHOICES[people][seed % 2], Fraction(["1/2", "2/3"][seed // 2 % 2]))
    done = 0
    while done < 3:
        values, _, found = random_table(random, people, {"age": 4}, int(random.integers(2, 5)))
        if as_function(pipeline)(tuple(values)) is None:
            with pytest.raises(fk.NoSafeRelease):
                attack(found, pipeline)
            continue
        agrees(attack(found, pipeline), values, *enumerated(as_function(pipeline), values))
        done += 1


@pytest.mark.parametrize("seed", range(40))
def test_a_function_that_depends_on_the_order_of_rows(seed):
    def pipeline(rows):
        values = rows["disease"].to_pylist()
        return ["x" if value == values[0] else i % 2 for i, value in enumerate(values)]

    random = np.random.default_rng(seed)
    values, _, found = random_table(random, 5, {"age": 2}, 3)
    agrees(attack(found, pipeline), values, *enumerated(as_function(pipeline), values))


@pytest.mark.parametrize("policy", [DIVERSE, BELOW_2_3])
@pytest.mark.parametrize("seed", range(8))
def test_mondrian(policy, seed):
    random = np.random.default_rng(seed)
    compare(fk.Mondrian(), policy, random, {"age": 4}, {})


FULL_DOMAIN = [
    fk.FullDomain(),
    fk.FullDomain(find="minimal"),
    fk.FullDomain(find="chain"),
    fk.FullDomain(suppression=0.4),
    fk.FullDomain(find="minimal", suppression=0.4, objective="discernibility"),
]


@pytest.mark.parametrize("method", FULL_DOMAIN)
@pytest.mark.parametrize("seed", range(7))
def test_full_domain(method, seed):
    random = np.random.default_rng(seed)
    compare(method, BELOW_2_3 if seed % 2 else DIVERSE, random, {"age": 4, "sex": 2}, LEVELS)


def compare(method, policy, random, kinds, hierarchies):
    """Attack a random table of which the method makes something, and enumerate its worlds."""
    while True:
        values, columns, found = random_table(random, 5, kinds, 3, hierarchies)
        buckets = fk.Policy(policy.requirements, schema=found.schema, options=BUCKETS)
        algorithm = plainly(method, buckets, columns, hierarchies)
        release = algorithm(tuple(values))
        if release is not None and len(set(values)) > 1:
            break
    expected = enumerated(algorithm, values)
    fast = attack(found, method, buckets)
    agrees(fast, values, *expected)
    agrees(attack(found, method, buckets, symmetric=False), values, *expected)
    assert fast.runs <= expected[1]


@pytest.mark.parametrize(
    "method", [fk.Mondrian(), fk.FullDomain(), fk.FullDomain(suppression=0.3)], ids=repr
)
@pytest.mark.parametrize("seed", range(3))
def test_labels_are_seen_as_they_are_published(method, seed):
    """The oracle publishes every world, and reads who stands in which row of the release."""
    random = np.random.default_rng(100 + seed)
    while True:
        values, columns, found = random_table(random, 5, {"age": 6}, 2, LEVELS)
        policy = policy_for(DIVERSE, found)

        def algorithm(world, columns=columns, policy=policy):
            try:
                made = fk.publish(microdata(list(world), LEVELS, **columns), policy, method=method)
            except fk.NoSafeRelease:
                return None
            rows = made.tables["release"].to_pylist()
            return frozenset((row["age"], row["pid"]) for row in rows)

        release = algorithm(tuple(values))
        if release is not None:
            break
    labels = {person: label for label, person in release}
    expected = posteriors(values, [labels[p] for p in range(5)], algorithm, release)
    agrees(attack(found, method, policy), values, *expected)


class Coin:
    """Any of the groupings that are safe, each as likely."""

    def __init__(self, functions):
        self.groupings = [
            np.array([next(i for i, g in enumerate(f.split("|")) if p in g) for p in "ABCDEF"])
            for f in functions
        ]

    def safe(self, codes):
        return [
            groups
            for groups in self.groupings
            if all(len(set(codes[groups == g])) > 1 for g in set(groups.tolist()))
        ]

    def partition(self, found, policy=None, seed=None):
        safe = self.safe(np.asarray(found.sensitive_codes))
        if not safe:
            raise fk.NoSafeRelease("no grouping has two values in each group")
        return safe[np.random.default_rng(seed).integers(len(safe))]


class Stated(Coin):
    """The same, with the chance of each."""

    def chance(self, found, policy, groups):
        safe = self.safe(np.asarray(found.sensitive_codes))
        hits = sum(together(own) == together(groups.tolist()) for own in safe)
        return Fraction(hits, len(safe)) if safe else 0


@pytest.mark.parametrize("seed", range(40))
def test_a_random_method_that_states_its_chances(seed):
    random = np.random.default_rng(seed)
    method = Stated(["AB|CD|EF", "ABC|DEF", "ABCD|EF"])

    def algorithm(world):
        safe = method.safe(np.array(world))
        return {together(groups.tolist()): Fraction(1, len(safe)) for groups in safe}

    while True:
        values, _, found = random_table(random, 6, {"age": 4}, 3)
        if method.safe(np.array(values)):
            break
    groups = method.partition(found, seed=seed)
    release = together(groups.tolist())
    expected = posteriors(values, groups.tolist(), algorithm, release)
    agrees(attack(found, method, groups=groups), values, *expected)


@pytest.mark.parametrize("seed", range(10))
def test_a_random_method_by_its_seeds(seed):
    random = np.random.default_rng(seed)
    method, seeds = Coin(["AB|CD|EF", "ABC|DEF"]), range(4)

    def algorithm(world):
        found, chances = microdata(list(world), age=[0] * 6), {}
        for own in seeds:
            try:
                release = together(method.partition(found, seed=own).tolist())
            except fk.NoSafeRelease:
                continue
            chances[release] = chances.get(release, 0) + Fraction(1, 4)
        return chances

    while True:
        values, _, found = random_table(random, 6, {"age": 4}, 3)
        if method.safe(np.array(values)):
            break
    groups = method.partition(found, seed=0).tolist()
    expected = posteriors(values, groups, algorithm, together(groups))
    agrees(attack(found, method, seeds=seeds), values, *expected)


def test_a_random_method_that_says_nothing_is_refused():
    found = microdata("abcabc", age=range(6))
    with pytest.raises(fk.InputError, match="another release each time") as caught:
        attack(found, Coin(["AB|CD|EF", "ABC|DEF", "ABCD|EF", "AB|CDEF"]))
    assert "chance(microdata, policy, groups)" in str(caught.value)
    assert "seeds" in str(caught.value)


def test_a_method_that_is_random_elsewhere_is_refused_too():
    """Of this table there is one safe grouping only; of its worlds there are several."""
    method = Coin(["AB|CD|EF", "ABC|DEF", "ACE|BDF", "ABCDEF"])
    found = microdata("aaabcc", age=range(6))
    assert len(method.safe(np.array(found.sensitive_codes))) < 4
    with pytest.raises(fk.InputError, match="another release each time"):
        attack(found, method)


@pytest.mark.parametrize("seed", range(12))
def test_a_release_alone_is_enough_for_the_adversary(seed):
    """`Algorithm` needs no more than the published groups, quasi-identifiers and bags."""
    random = np.random.default_rng(seed)
    method = fk.Mondrian() if seed % 2 else fk.FullDomain(find="minimal")
    while True:
        values, columns, found = random_table(random, 5, {"age": 4}, 3, LEVELS)
        policy = fk.Policy(DIVERSE.requirements, schema=found.schema, options=BUCKETS)
        if plainly(method, policy, columns, LEVELS)(tuple(values)) is not None:
            break
    made = fk.publish(found, policy, method=method)
    expected, _, _ = enumerated(plainly(method, policy, columns, LEVELS), values)
    disclosures = fk_algorithm(method, policy).disclosures(made.release)
    for value, disclosure in disclosures.items():
        assert disclosure.exact == max(p for (_, v), p in expected.items() if v == value)
    top = fk_algorithm(method, policy).disclosure(made.release)
    assert top.exact == max(expected.values())
    assert not top.estimated


def fk_algorithm(method, policy):
    from foreknow.adversaries.algorithm import Algorithm

    return Algorithm(method, policy)
