"""No unsafe release ever: all tables of small multisets, and the counterexamples to the paper."""

import random
from fractions import Fraction

import pytest
from tests.jumping.test_random_instances import PROPERTIES, random_functions
from tests.oracle import jump_worlds as oracle

from foreknow.anonymizers.jump import Jump, Naive, Safe
from foreknow.jumping.composed import Each
from foreknow.jumping.properties import Distinct, Entropy, MaxRatio, Recursive

F = Fraction
MULTISETS = ["aabc", "aabb", "aabcd", "aabbc", "aaabc", "aabbcd", "aabcde"]


def shown(functions, table, i):
    return i, None if i is None else oracle.generalization(functions[i], table)


def posteriors(algorithm, functions, tables):
    """For each release: the tables that lead to it, by running the algorithm on all tables."""
    found = {}
    for table in tables:
        released = algorithm.run(table).released
        found.setdefault(shown(functions, table, released), []).append(table)
    return {release: oracle.marginals(leading) for release, leading in found.items()}


def unsafe_releases(algorithm, functions, tables, judge):
    sizes = [{p: len(g) for g in function for p in g} for function in functions]
    return [
        release
        for release, rows in posteriors(algorithm, functions, tables).items()
        if release[0] is not None
        and not all(judge(row, sizes[release[0]][p]) for p, row in enumerate(rows))
    ]


@pytest.mark.parametrize("name", PROPERTIES)
def test_safe_and_jump_never_release_what_is_not_safe(name):
    chance = random.Random(name)
    prop, judge = PROPERTIES[name]
    for multiset in MULTISETS:
        tables = oracle.all_tables(tuple(multiset))
        for _ in range(3):
            functions = random_functions(len(multiset), chance)
            given = [[list(group) for group in function] for function in functions]
            k = [chance.randint(1, 3) for _ in functions]
            for algorithm in (Safe(given, prop), Jump(given, 1, prop), Jump(given, k, prop)):
                assert unsafe_releases(algorithm, functions, tables, judge) == []


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
