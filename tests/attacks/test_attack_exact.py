"""Exact attacks say what plain enumeration says, fraction by fraction, and find known breaches."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from tests.attacks.small_methods import (
    BELOW_2_3,
    BUCKETS,
    DIVERSE,
    LEVELS,
    Coin,
    agrees,
    enumerated,
    microdata,
    naive,
    plainly,
    policy_for,
    random_of_which,
    random_table,
    together,
)
from tests.examples import NIGHTLY
from tests.oracle.algorithm_worlds import posteriors

import foreknow as fk


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


@pytest.mark.parametrize("seed", range(60 if NIGHTLY else 2))
def test_the_first_safe_of_several_groupings(seed):
    random = np.random.default_rng(seed)
    people = int(random.integers(5, 7))
    pipeline = naive(CHOICES[people][seed % 2], Fraction(["1/2", "2/3"][seed // 2 % 2]))
    done = 0
    while done < 3:
        values, _, found = random_table(random, people, {"age": 4}, int(random.integers(2, 5)))
        if as_function(pipeline)(tuple(values)) is None:
            with pytest.raises(fk.NoSafeRelease):
                fk.attack(found, pipeline)
            continue
        agrees(fk.attack(found, pipeline), values, *enumerated(as_function(pipeline), values))
        done += 1


@pytest.mark.parametrize("seed", range(40 if NIGHTLY else 2))
def test_a_function_that_depends_on_the_order_of_rows(seed):
    def pipeline(rows):
        values = rows["disease"].to_pylist()
        return ["x" if value == values[0] else i % 2 for i, value in enumerate(values)]

    random = np.random.default_rng(seed)
    values, _, found = random_table(random, 5, {"age": 2}, 3)
    agrees(fk.attack(found, pipeline), values, *enumerated(as_function(pipeline), values))


@pytest.mark.parametrize("policy", [DIVERSE, BELOW_2_3])
@pytest.mark.parametrize("seed", range(8 if NIGHTLY else 2))
def test_mondrian(policy, seed):
    random = np.random.default_rng(seed)
    compare(fk.Mondrian(), policy, random, {"age": 4}, {})


FULL_DOMAIN = [
    fk.FullDomain(),
    fk.FullDomain(find="minimal"),
    fk.FullDomain(find="chain"),
    fk.FullDomain(suppression=0.4),
    fk.FullDomain(find="minimal", suppression=0.4, objective="height"),
    fk.Mondrian(suppression=0.4),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("method", FULL_DOMAIN)
@pytest.mark.parametrize("seed", range(7 if NIGHTLY else 2))
def test_full_domain(method, seed):
    random = np.random.default_rng(seed)
    compare(method, BELOW_2_3 if seed % 2 else DIVERSE, random, {"age": 4, "sex": 2}, LEVELS)


def compare(method, policy, random, kinds, hierarchies):
    """Attack a random table of which the method makes something, and enumerate its worlds."""

    def made(values, columns, found):
        buckets = fk.Policy(policy.requirements, schema=found.schema, options=BUCKETS)
        algorithm = plainly(method, buckets, columns, hierarchies)
        several = len(set(values)) > 1 and algorithm(tuple(values)) is not None
        return (buckets, algorithm) if several else None

    values, _, found, given = random_of_which(random, made, 5, kinds, 3, hierarchies)
    buckets, algorithm = given
    expected = enumerated(algorithm, values)
    fast = fk.attack(found, method, buckets)
    agrees(fast, values, *expected)
    agrees(fk.attack(found, method, buckets, symmetric=False), values, *expected)
    assert fast.runs <= expected[1]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "method",
    [fk.Mondrian(), fk.Mondrian(suppression=0.3), fk.FullDomain(), fk.FullDomain(suppression=0.3)],
    ids=repr,
)
@pytest.mark.parametrize("seed", range(3 if NIGHTLY else 1))
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
    agrees(fk.attack(found, method, policy), values, *expected)


@pytest.mark.parametrize("seed", range(10 if NIGHTLY else 2))
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

    values, _, found, _ = random_of_which(
        random, lambda values, *_: method.safe(np.array(values)) or None, 6, {"age": 4}, 3
    )
    groups = method.partition(found, seed=0).tolist()
    expected = posteriors(values, groups, algorithm, together(groups))
    agrees(fk.attack(found, method, seeds=seeds), values, *expected)


@pytest.mark.parametrize("seed", range(12 if NIGHTLY else 3))
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
    disclosures = fk.Algorithm(method, policy).disclosures(made.release)
    for value, disclosure in disclosures.items():
        assert disclosure.exact == max(p for (_, v), p in expected.items() if v == value)
    top = fk.Algorithm(method, policy).disclosure(made.release)
    assert top.exact == max(expected.values())
    assert not top.estimated


# ---- what a function publishes ------------------------------------------------------------------

VALUES, AGES = "abbab", [50, 40, 50, 30, 30]


@pytest.mark.parametrize(
    "published",
    [["20 to 40", "50"], pa.table({"n": [1]}), {"a": pa.table({"n": [1]})}],
    ids=["list", "table", "dict"],
)
def test_anything_can_be_published_beside_groups(published):
    found = fk.attack(microdata("abab", age=range(4)), lambda rows: ([0, 0, 1, 1], published))
    assert found.consistent == found.n_worlds == 4


def test_a_pair_of_texts_is_the_groups_of_two_rows():
    found = fk.attack(microdata("ab", age=[1, 2]), lambda rows: ("x", "x"))
    assert (found.n_groups, found.n_worlds) == (1, 2)
    found = fk.attack(microdata("ab", age=[1, 2]), lambda rows: ("x", "y"))
    assert (found.n_groups, found.certain_by_release) == (2, (1, 2))


PAPER = [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1], [0] * 6]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("method", [fk.Safe, fk.Jump, fk.Naive])
def test_safe_and_jump_withstand_it_and_naive_does_not(method, form):
    """The paper's functions, and some tables of a multiset: nobody is found beyond a half."""
    highest = []
    for values in sorted(set(permutations("aabbcd")))[::9]:
        table = microdata(values, age=range(6))
        policy = fk.Policy(DIVERSE.requirements, table.schema, fk.PublishOptions(form=form))
        given = (PAPER, 2) if method is fk.Jump else (PAPER,)
        try:
            found = fk.attack(table, method(*given, property=fk.MaxRatio("1/2")), policy)
        except fk.NoSafeRelease:
            continue
        assert found.exact
        highest += [found.posterior(row, v) for row in range(1, 7) for v in "abcd"]
    assert len(highest) > 24
    assert max(highest) == (1 if method is fk.Naive else Fraction(1, 2))


# ---- what is proved ------------------------------------------------------------------------------


def of_many(method, policy, people=6_000):
    """A table that is too large to say how probable its groups are, and groups of the method."""
    values = list("aabbcd") * (people // 6)
    table = pa.table({"age": [i % 61 for i in range(people)], "disease": values})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    found = fk.Microdata(table, schema)
    return table, found, method.partition(found, policy, seed=1)


@pytest.mark.parametrize(
    "method", [fk.Streamliner(2, "rda"), fk.Streamliner(2, "gsa"), fk.Anatomy(2), fk.Decoy()]
)
def test_releases_of_any_size_are_settled_by_a_proof_that_is_named(method):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="2/3")], schema, BUCKETS)
    table, found, groups = of_many(method, policy)
    told = fk.attack(found, method, policy, groups=groups)
    assert (told.looked, told.found, told.undecided) == (0, False, False)
    assert told.how == ("bound" if method == fk.Decoy() else "proof")
    if told.how == "proof":
        assert "same" in told.proof
        assert f"The proof: {told.proof}." in told._repr_html_()
        assert told.to_dict()["proof"] == told.proof
    # A release says the same to who has no table: at most the limit, or the frequency.
    release = fk.Release.from_groups(
        table.append_column("gid", pa.array(groups)), group="gid", sensitive="disease"
    )
    found_out = fk.Algorithm(method, policy).disclosure(release, "a")
    assert not found_out.estimated
    if told.how == "proof":
        assert found_out.exact == fk.Facts().disclosure(release, "a").exact
    else:
        assert (found_out.probability, found_out.bounded) == (float(Fraction(2, 3)), True)


@pytest.mark.parametrize("method", [fk.Streamliner(2, "rda"), fk.Anatomy(2), fk.Decoy()])
def test_groups_that_a_method_never_makes_are_refused_at_any_size(method):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="2/3")], schema, BUCKETS)
    _, found, groups = of_many(method, policy)
    groups = groups.copy()
    groups[np.asarray(found.sensitive_codes) == 0] = groups.max() + 1  # only they
    groups = np.unique(groups, return_inverse=True)[1]
    with pytest.raises(fk.InputError, match="does not make these groups"):
        fk.attack(found, method, policy, groups=groups)
