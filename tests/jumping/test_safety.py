"""No unsafe release ever: all tables of small multisets, and the counterexamples to the paper."""

import random
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.jumping.test_random_instances import PROPERTIES, random_functions
from tests.oracle import jump_worlds as oracle

import foreknow as fk
from foreknow.criteria.properties import Distinct, Each, Entropy, MaxRatio, Recursive, as_property
from foreknow.errors import UnsupportedError
from foreknow.methods.jump import Jump, Naive, Safe

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
        for _ in range(3):
            functions = random_functions(len(multiset), chance)
            given = [[list(group) for group in function] for function in functions]
            k = [chance.randint(1, 3) for _ in functions]
            alike += group_alike(functions)
            told = not as_property(prop).convex and group_alike(functions)
            for algorithm in (Safe(given, prop), Jump(given, 1, prop), Jump(given, k, prop)):
                assert unsafe_releases(algorithm, functions, tables, judge, told=told) == []
    assert alike > 3


def test_naive_is_caught():
    chance = random.Random(1)
    prop, judge = PROPERTIES["ratio 1/2"]
    caught = 0
    for multiset in MULTISETS:
        tables = oracle.all_tables(tuple(multiset))
        for _ in range(20):
            functions = random_functions(len(multiset), chance)
            given = [[list(group) for group in function] for function in functions]
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


def microdata(values):
    rows = pa.table({"age": list(range(len(values))), "disease": list(values)})
    return fk.Microdata(rows, fk.Schema(quasi_identifiers=["age"], sensitive="disease"))


@pytest.mark.parametrize(
    "algorithm", [Jump(REUSED, [2, 2, 1, 2], NOT_HALF), Safe(REUSED, NOT_HALF)]
)
def test_such_functions_are_refused_where_groups_alone_are_published(algorithm):
    data = microdata("bbabc")
    with pytest.raises(UnsupportedError, match="g3 and g4 group people alike"):
        algorithm.partition(data)
    with pytest.raises(UnsupportedError, match="g3 and g4 group people alike"):
        fk.attack(data, algorithm)


def test_they_are_not_where_nothing_is_claimed_or_the_property_is_convex_or_they_differ():
    data = microdata("bbabc")
    assert Naive(REUSED, NOT_HALF).partition(data).tolist() == [0, 0, 0, 0, 1]
    assert Jump(REUSED, [2, 2, 1, 2], MaxRatio("2/3")).partition(data).max() == 1
    assert Jump(REUSED[:3], [2, 2, 1], NOT_HALF).partition(data).tolist() == [0, 0, 0, 0, 1]


def test_labels_of_groups_that_are_no_nodes_may_look_alike():
    rows = pa.table({"age": [1, 2, 3, 4, 5, 6], "disease": list("aabbcd")})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    data = fk.Microdata(rows, schema)
    twice = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema=schema)
    # Labels are 1 to 6 and 2 to 5, of three people each, in both.
    functions = [[0, 1, 0, 1, 1, 0], [0, 1, 1, 0, 1, 0]]
    some = Each(lambda shares: len(shares) > 1, name="some")
    with pytest.raises(UnsupportedError, match=r"labels of g1 = .* may not tell who"):
        fk.publish(data, twice, method=Safe(functions, some))
    assert fk.publish(data, twice, method=Safe(functions, Distinct(2)))
    assert fk.publish(data, twice, method=Safe([(1,)], some))
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


# Counterexamples to the paper


def test_the_printed_table_13_would_release_what_is_not_safe():
    """With a jump of k[i] instead of k[j] in ds, the third function would be released at 2/3."""
    functions = ["023|14", "03|124", "012|34"]
    split = [tuple(tuple(map(int, g)) for g in f.split("|")) for f in functions]
    tables = oracle.all_tables(tuple("aabcd"))

    class Printed(oracle.Algorithm):
        def disclosure_set(self, i, table):
            kept = []
            for t in self.permutation_set(i, table):
                j = 0
                while j < i:
                    if not self.permutation_safe(j, t):
                        j += 1
                    elif self.disclosure_safe(j, t):
                        break
                    else:
                        j += self.distances[i]
                else:
                    if j == i:
                        kept.append(t)
            return kept

    judge = oracle.max_ratio(F(1, 2))
    printed = Printed("jump", split, judge, tables, [1, 1, 2])
    worst = F(0)
    for table in tables:
        if printed.released(table) == 2:
            seen = oracle.generalization(split[2], table)
            leading = [
                t
                for t in tables
                if printed.released(t) == 2 and oracle.generalization(split[2], t) == seen
            ]
            worst = max(worst, *(max(row.values()) for row in oracle.marginals(leading)))
    assert worst == F(2, 3)
    named = ["|".join(f.split("|")) for f in functions]
    mended = Jump([[list(map(int, g)) for g in f.split("|")] for f in named], [1, 1, 2])
    assert unsafe_releases(mended, split, tables, judge) == []


def test_releasing_nothing_can_tell_everything_to_those_who_know_the_values():
    """Theorem 1 is false where the multiset of values is known, as the paper's T assumes."""
    functions = [[[1, 2, 3], [0, 4]], [[0, 2, 3], [1, 4]]]
    naive = Naive(functions, MaxRatio("1/2"))
    tables = oracle.all_tables(tuple("aabcd"))
    silent = [t for t in tables if naive.run(t).released is None]
    assert len(silent) == 6
    assert {t[2] for t in silent} == {"a"}
    nothing = naive.run(silent[0]).nothing_set()
    assert (nothing.size, nothing.max_ratio, nothing.worst) == (6, 1, (2, "a"))


def test_the_safe_strategy_tells_as_much_by_releasing_nothing():
    patients = dict(
        zip("ABCDEF", ["flu", "cold", "cancer", "cancer", "headache", "toothache"], strict=True)
    )
    safe = Safe(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], MaxRatio("1/2"))
    nothing = safe.run(patients).nothing_set()
    assert (nothing.size, nothing.max_ratio, nothing.worst) == (24, 1, ("E", "cancer"))


def test_releasing_nothing_is_safe_where_only_the_domain_is_known():
    """Over all tables with any values, exchanging two values changes nothing: all are alike."""
    functions = [[[1, 2, 3], [0, 4]], [[0, 2, 3], [1, 4]]]
    naive = Naive(functions, MaxRatio("1/2"))
    domain = "abcd"
    silent = []
    for code in range(len(domain) ** 5):
        table = tuple(domain[code // len(domain) ** p % len(domain)] for p in range(5))
        if naive.run(table).released is None:
            silent.append(table)
    assert all(set(row.values()) == {F(1, 4)} for row in oracle.marginals(silent))


def test_only_effective_distances_matter():
    """Theorem 4 needs more than different vectors: the first distance and jumps past the end."""
    chance = random.Random(5)
    for _ in range(40):
        functions = [list(map(list, f)) for f in random_functions(5, chance)]
        n = len(functions)
        k = [chance.randint(1, 2) for _ in range(n)]
        same = [9, *(kj if j + kj < n else kj + 3 for j, kj in enumerate(k))][: n + 1]
        same = [9, *same[2:]]
        table = [chance.choice("aabc") for _ in range(5)]
        one, other = Jump(functions, k).run(table), Jump(functions, same).run(table)
        assert one.path == other.path
        assert one.nothing_set() == other.nothing_set()


def test_a_reused_function_may_see_tables_that_it_did_not_before():
    """The text says that ds_i' is a subset of ds_i where g_i is reused; with jumps it is not."""
    functions = [((3, 4), (0, 1, 2)), ((0, 2, 3), (1, 4)), ((0, 1, 4), (2, 3))]
    functions.append(functions[2])
    k, table = [3, 2, 2, 3], tuple("bcada")
    tables = oracle.all_tables(table)
    slow = oracle.Algorithm("jump", functions, oracle.max_ratio(F(1, 2)), tables, k)
    before, after = slow.disclosure_set(2, table), slow.disclosure_set(3, table)
    assert not set(after) <= set(before)
    run = Jump([list(map(list, f)) for f in functions], k).run(table)
    assert (run.disclosure_set(2).size, run.disclosure_set(3).size) == (2, 4)
    assert (len(before), len(after)) == (2, 4)
