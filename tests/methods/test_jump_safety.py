"""No unsafe release ever: all tables of small multisets."""

import random
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.methods.jump_instances import PROPERTIES, lists, random_functions
from tests.methods.tables import microdata
from tests.oracle import jump_worlds as oracle

import foreknow as fk
from foreknow.methods.jump import Jump, Naive, Safe, SecretChoice
from foreknow.methods.jump.properties import (
    Distinct,
    Each,
    Entropy,
    MaxRatio,
    Recursive,
    as_property,
)
from foreknow_judge.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("tiny_tables")

F = Fraction
MULTISETS = ["aabc", "aabb", "aabcd", "aabbc", "aaabc", "aabbcd", "aabcde"]


def shown(function, table):
    """What is published: groups of people, each with its values."""
    return frozenset((tuple(sorted(g)), tuple(sorted(table[p] for p in g))) for g in function)


def unsafe_releases(algorithm, functions, tables, judge, *, told=False):
    """Releases after which someone's chances fail, by running the algorithm on all tables.

    told: whether it is published which function was released; otherwise only groups are seen.
    """
    found = {}
    for table in tables:
        i = algorithm.run(table).released
        if i is not None:
            release = (i if told else None, shown(functions[i], table))
            found.setdefault(release, []).append(table)
    unsafe = []
    for release, leading in found.items():
        size = {p: len(group) for group, _ in release[1] for p in group}
        rows = oracle.marginals(leading)
        if not all(judge(row, size[p]) for p, row in enumerate(rows)):
            unsafe.append(release)
    return unsafe


def group_alike(functions):
    groupings = {frozenset(tuple(sorted(group)) for group in function) for function in functions}
    return len(groupings) < len(functions)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", PROPERTIES)
def test_safe_and_jump_never_release_what_is_not_safe(name):
    """An adversary who sees the groups alone cannot tell which function was released.

    Of a property that is not convex, that is safe only where no two functions group people alike.
    """
    chance = random.Random(name)
    prop, judge = PROPERTIES[name]
    alike = 0
    for multiset in MULTISETS:
        tables = oracle.all_tables(tuple(multiset))
        for _ in range(3 if NIGHTLY else 1):
            functions = random_functions(len(multiset), chance)
            given = lists(functions)
            k = [chance.randint(1, 3) for _ in functions]
            alike += group_alike(functions)
            told = not as_property(prop).convex and group_alike(functions)
            for algorithm in (Safe(given, prop), Jump(given, 1, prop), Jump(given, k, prop)):
                assert unsafe_releases(algorithm, functions, tables, judge, told=told) == []
    assert alike


def test_naive_is_caught():
    chance = random.Random(1)
    prop, judge = PROPERTIES["ratio 1/2"]
    caught = 0
    for multiset in MULTISETS:
        tables = oracle.all_tables(tuple(multiset))
        for _ in range(20):
            functions = random_functions(len(multiset), chance)
            given = lists(functions)
            caught += bool(unsafe_releases(Naive(given, prop), functions, tables, judge))
    assert caught > 5


# Functions that group people alike, with a property that is not convex

NOT_HALF = Each(lambda shares: max(shares.values()) != F(1, 2), symmetric=True)
REUSED = [[1, 0, 0, 1, 1], [1, 1, 0, 0, 1], [1, 1, 1, 1, 0], [1, 1, 1, 1, 0]]


def test_a_mixture_of_what_is_safe_need_not_be_safe():
    """Each disclosure set has the property; both together, which look alike, have not."""
    functions = [[[p for p in range(5) if f[p] == g] for g in (0, 1)] for f in REUSED]
    jump = Jump(REUSED, [2, 2, 1, 2], NOT_HALF)
    tables = oracle.all_tables(tuple("bbabc"))

    def judge(shares, size):
        return max(shares.values()) != F(1, 2)

    assert unsafe_releases(jump, functions, tables, judge, told=True) == []
    assert unsafe_releases(jump, functions, tables, judge) != []


@pytest.mark.parametrize(
    "algorithm", [Jump(REUSED, [2, 2, 1, 2], NOT_HALF), Safe(REUSED, NOT_HALF)]
)
def test_such_functions_are_refused_where_groups_alone_are_published(algorithm):
    data = microdata(range(5), "bbabc")
    with pytest.raises(UnsupportedError, match="g3 and g4 group people alike"):
        algorithm.partition(data)
    with pytest.raises(UnsupportedError, match="g3 and g4 group people alike"):
        fk.attack(data, algorithm)


def test_they_are_not_where_nothing_is_claimed_or_the_property_is_convex_or_they_differ():
    data = microdata(range(5), "bbabc")
    assert Naive(REUSED, NOT_HALF).partition(data).tolist() == [0, 0, 0, 0, 1]
    assert Jump(REUSED, [2, 2, 1, 2], MaxRatio("2/3")).partition(data).max() == 1
    assert Jump(REUSED[:3], [2, 2, 1], NOT_HALF).partition(data).tolist() == [0, 0, 0, 0, 1]


def test_labels_of_groups_that_are_no_nodes_may_look_alike():
    data = microdata(range(1, 7), "aabbcd")
    schema = data.schema
    twice = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema=schema)
    # Labels are 1 to 6 and 2 to 5, of three people each, in both.
    functions = [[0, 1, 0, 1, 1, 0], [0, 1, 1, 0, 1, 0]]
    some = Each(lambda shares: len(shares) > 1, name="some")
    with pytest.raises(UnsupportedError, match=r"labels of g1 = .* may not show who"):
        fk.publish(data, twice, method=Safe(functions, some))
    assert fk.publish(data, twice, method=Safe(functions, Distinct(2)))
    assert fk.publish(data, twice, method=Safe(["age=1"], some))
    options = fk.PublishOptions(form="bucketized")
    separate = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema=schema, options=options)
    assert fk.publish(data, separate, method=Safe(functions, some))


# Corollary 1, and more properties than it names

CONVEX = [
    MaxRatio("1/2"),
    MaxRatio("2/3", strict=True),
    Distinct(2),
    Distinct(3),
    Entropy(2),
    Entropy("1.6"),
    Recursive(2, 2),
    Recursive(3, 3),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("prop", CONVEX, ids=repr)
def test_safe_is_jump_by_one_for_convex_properties(prop):
    """Also for entropy and recursive diversity, where Theorem 6 says "generally incomparable"."""
    chance = random.Random(repr(prop))

    # The same property, about which nothing is known: Safe asks every disclosure set.
    class Unknown:
        convex, complete = False, False
        colour, limit, allows = prop.colour, lambda self, size, colour: size, prop.allows

    for _ in range(60):
        n = chance.choice([5, 6])
        table = [chance.choice("aabbcd") for _ in range(n)]
        functions = [list(map(list, f)) for f in random_functions(n, chance)]
        expected = Jump(functions, 1, prop).run(table).released
        assert Safe(functions, prop).run(table).released == expected
        assert Safe(functions, Unknown()).run(table).released == expected


def test_safe_and_jump_by_one_differ_for_some_other_property():
    """A property that is not convex: the highest ratio is anything but 1/2 (Theorem 6)."""
    even = Each(lambda shares: max(shares.values()) != F(1, 2), symmetric=True)
    chance = random.Random(3)
    better = set()
    for _ in range(600):
        n = chance.choice([5, 6])
        table = [chance.choice("aabcd") for _ in range(n)]
        functions = [list(map(list, f)) for f in random_functions(n, chance)]
        one, other = (
            a.run(table).released for a in (Safe(functions, even), Jump(functions, 1, even))
        )
        key = [len(functions) if r is None else r for r in (one, other)]
        better.add((key[0] > key[1]) - (key[0] < key[1]))
    assert better == {-1, 0, 1}


# ---- a secret choice ---------------------------------------------------------------------------

HALF = MaxRatio("1/2")


def believed(functions, secrets, tables, outcome):
    """By Bayes, over every secret and table; what is seen is the index and its groups' values."""
    judge = oracle.max_ratio(F(1, 2))
    leading = []
    for secret in secrets:
        slow = oracle.Algorithm("naive", [functions[i] for i in secret], judge, tables)
        for table in tables:
            place = slow.released(table)
            i = None if place is None else secret[place]
            bags = None if i is None else oracle.generalization(functions[i], table)
            leading += [table] if (i, bags) == outcome else []
    return oracle.marginals(leading)


def test_posteriors_are_those_of_enumeration_also_of_nothing():
    chance = random.Random(9)
    seen = Counter()
    for _ in range(60):
        n = chance.choice([3, 4, 5])
        functions = random_functions(n, chance)
        table = tuple(chance.choice("aabbc") for _ in range(n))
        choice = SecretChoice(lists(functions), HALF)
        run = choice.run(table, seed=chance.randrange(100))
        i = run.released
        bags = None if i is None else oracle.generalization(functions[i], table)
        tables = oracle.all_tables(table)
        expected = believed(functions, choice.secrets(), tables, (i, bags))
        assert list(run.posterior().values()) == expected
        assert run.max_ratio == max(max(row.values()) for row in expected)
        assert all(one.size for one in run.sets.values())
        seen[i is None] += 1
    assert min(seen[True], seen[False]) > 5


ROWS = {
    "kind": ["A", "B", "C", "D", "D", "D"],
    "disease": ["C0", "C0", "C1", "C2", "C3", "C4"],
}
SCHEMA = fk.Schema(quasi_identifiers=["kind"], sensitive="disease")
WHOLE = [0] * 6
CHOICE = SecretChoice([[0] * 3 + [1] * 3, WHOLE], HALF)


def test_what_a_secret_makes_is_attacked_seed_by_seed():
    data = fk.Microdata(pa.table(ROWS), SCHEMA)
    assert CHOICE.partition(data, seed=1).tolist() == WHOLE
    found = fk.attack(data, CHOICE, seeds=[1, 2])
    assert found.exact
    # of no table in which two of A, B, C have C0 is the first function released
    assert found.posterior(1, "C0") == CHOICE.run(ROWS["disease"], seed=1).posterior()[0]["C0"]
    with pytest.raises(fk.NoSafeRelease):
        SecretChoice([[0, 0, 1], [0, 1, 1]], HALF).partition(microdata(range(3), "aab"))
    assert not CHOICE.symmetric
    assert SecretChoice(["kind=0", "kind=1"]).symmetric


def test_it_is_not_published():
    data = fk.Microdata(pa.table(ROWS), SCHEMA)
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema=SCHEMA)
    with pytest.raises(fk.InputError, match="to be attacked, not to be published; take Jump"):
        fk.publish(data, policy, method=CHOICE, seed=1)
    assert CHOICE.to_dict()["functions"] == ["<2 groups of 6 people>", "<1 groups of 6 people>"]
