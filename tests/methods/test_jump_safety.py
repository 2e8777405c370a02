"""Safe and Jump against enumeration: disclosure sets, what is released, and a secret choice."""

import random
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.methods.tables import microdata
from tests.oracle import jump as oracle
from tests.oracle.jump import judge_of as ruled_out

import foreknow as fk
from foreknow.criteria.size import KAnonymity
from foreknow.errors import BeyondReach
from foreknow.methods.jump import HALF, Jump, Naive, Safe, SecretChoice, bounds, run
from foreknow.methods.jump.bounds import most_lost, surely_safe
from foreknow.methods.jump.disclosure_set import EarlierNeed
from foreknow.methods.jump.properties import (
    All,
    Distinct,
    Each,
    Entropy,
    MaxRatio,
    Recursive,
    RuledOut,
    as_property,
)
from foreknow.methods.jump.run import case_of
from foreknow_judge.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("tiny_tables")

F = Fraction


def no_half_a(shares):
    """Not convex, and not symmetric: neither certain nor even about "a"."""
    return shares.get("a", 0) not in {F(1, 2), 1} and max(shares.values()) <= F(3, 4)


def odd(shares):
    """Not convex, but symmetric: the ratios are not all different."""
    return len(shares) > 1 and len(set(shares.values())) < len(shares)


def at_most_half_a(shares, size):
    return shares.get("a", 0) <= F(1, 2)


def both(*judges):
    return lambda shares, size: all(judge(shares, size) for judge in judges)


def alone(judge):
    return lambda shares, size: judge(shares)


IS_A, IS_NOT_A = (lambda value: value == "a"), (lambda value: value != "a")
# A property, and what the oracle judges by.
PROPERTIES = {
    "ratio 1/2": (MaxRatio("1/2"), oracle.max_ratio(F(1, 2))),
    "ratio 2/3": (MaxRatio("2/3"), oracle.max_ratio(F(2, 3))),
    "ratio 3/5": (MaxRatio("3/5"), oracle.max_ratio(F(3, 5))),
    "below 1/2": (MaxRatio("1/2", strict=True), oracle.below_ratio(F(1, 2))),
    "ratio of a": (MaxRatio("1/2", values=["a"]), at_most_half_a),
    "distinct 2": (Distinct(2), oracle.distinct(2)),
    "distinct 3": (Distinct(3), oracle.distinct(3)),
    "entropy 2": (Entropy(2), oracle.entropy(2)),
    "entropy 1.7": (Entropy("1.7"), oracle.entropy(1.7)),
    "recursive 2 2": (Recursive(2, 2), oracle.recursive(2, 2)),
    "recursive 2 3": (Recursive(2, 3), oracle.recursive(2, 3)),
    "ruled out": (RuledOut("2/3", 1), ruled_out([(F(2, 3), 1, lambda value: True)])),
    "ruled out of two": (
        All(RuledOut("3/4", 1, values=["a"]), MaxRatio("4/5", strict=True, excluded=["a"])),
        ruled_out([(F(3, 4), 1, IS_A), (F(4, 5), 0, IS_NOT_A)]),
    ),
    "k 3": (KAnonymity(3), oracle.at_least(3)),
    "callable": (no_half_a, alone(no_half_a)),
    "symmetric callable": (Each(odd, symmetric=True), alone(odd)),
    "all of three": (
        All(MaxRatio("2/3"), Distinct(2), KAnonymity(3)),
        both(oracle.max_ratio(F(2, 3)), oracle.distinct(2), oracle.at_least(3)),
    ),
    "all with a value": (
        All(MaxRatio("1/2", values=["a"]), Recursive(3, 2)),
        both(at_most_half_a, oracle.recursive(3, 2)),
    ),
    "all with a callable": (
        All(Distinct(2), no_half_a),
        both(oracle.distinct(2), alone(no_half_a)),
    ),
}
every_property = pytest.mark.parametrize("name", PROPERTIES)


def random_partition(n, groups, chance):
    while True:
        group = [chance.randrange(groups) for _ in range(n)]
        found = [tuple(p for p in range(n) if group[p] == g) for g in range(groups)]
        found = tuple(one for one in found if one)
        if all(len(one) > 1 for one in found) or chance.random() < 0.05:
            return found


def random_functions(n, chance):
    count = chance.choice([2, 3, 3, 4])
    if chance.random() < 0.4:  # a chain: each function unites groups of the last
        functions = [random_partition(n, 3, chance)]
        while len(functions) < count:
            groups = list(functions[-1])
            if len(groups) > 1:
                a, b = chance.sample(groups, 2)
                groups = [g for g in groups if g not in (a, b)] + [tuple(sorted(a + b))]
            functions.append(tuple(groups))
    else:
        functions = [random_partition(n, chance.choice([1, 2, 2, 3]), chance) for _ in range(count)]
    if chance.random() < 0.4:  # reuse
        functions.append(chance.choice(functions))
    return functions


def lists(functions):
    """Functions as people give them."""
    return [[list(group) for group in function] for function in functions]


def blocks(n, size, shift=0):
    """Groups of so many people who follow each other."""
    order = [(person + shift) % n for person in range(n)]
    return [order[i : i + size] for i in range(0, n, size)]


# ---- disclosure sets ----------------------------------------------------------------------------


@pytest.mark.thinned(2)
@every_property
def test_exact_sets_are_enumerated(name):
    chance, (prop, judge) = random.Random(name), PROPERTIES[name]
    many, people = set(), set()
    for _ in range(1200 if NIGHTLY else 7):
        n = chance.choice([1, 2, 3, 4, 5, 5, 5, 6, 6, 6])
        values = "aabbcdef"[: chance.choice([4, 5, 6, 8])]
        functions, table = random_functions(n, chance), tuple(chance.choices(values, k=n))
        given, tables = lists(functions), oracle.all_tables(table)
        k = [chance.randint(1, 3) for _ in functions]
        many.add(len(functions))
        people.add(n)
        for kind, fast, distances in (
            ("naive", Naive(given, prop), None),
            ("safe", Safe(given, prop), None),
            ("jump", Jump(given, 1, prop), [1] * len(functions)),
            ("jump", Jump(given, k, prop), k),
        ):
            where = functions, table, name, kind, distances
            slow = oracle.Algorithm(kind, functions, judge, tables, distances)
            found = fast.run(table)
            assert found.released == slow.released(table), where
            sets = [(found.disclosure_set(i), slow.disclosure_set(i, table)) for i in range(len(k))]
            silent = [t for t in tables if slow.released(t) is None]
            for i, (own, expected) in enumerate([*sets, (found.nothing_set(), silent)]):
                assert own.size == len(expected), (where, i)
                if i < len(k):
                    assert own.permutation_size == len(slow.permutation_set(i, table))
                if expected:
                    assert list(own.marginals.values()) == oracle.marginals(expected)
    assert min(len(many), len(people)) > 1


@pytest.mark.parametrize("prop", [HALF, MaxRatio("3/5"), Distinct(2), Recursive(2, 2)])
def test_bounds_are_never_wrong(prop, monkeypatch):
    chance, rounds = random.Random(repr(prop)), 200 if NIGHTLY else 20
    shapes = [(8, [(2,), (4,), (8,)]), (8, [(2,), (4,), (2, 1), (8,)]), (9, [(3,), (3, 1), (9,)])]
    told = close = 0
    for _ in range(rounds):
        n, sizes = chance.choice([*shapes, (12, [(2,), (4,), (12,)])] if NIGHTLY else shapes)
        functions = [blocks(n, *size) for size in sizes]
        jump = Jump(functions, 1, prop)
        one = case_of(jump.given, jump._strategy(), chance.choices("aaabbcde", k=n), 10**6)
        monkeypatch.setattr(bounds, "WORK", chance.choice([20, 300, 10**6]))
        for i in range(len(sizes)):
            parts = one.parts(i)
            needs = one.exact.needs(i, parts)
            levels = [j for j, need in enumerate(needs) if need is not EarlierNeed.NOTHING]
            counted = one.exact.count(i, parts)
            lost = 1 - F(counted.size, counted.total)
            most = most_lost(one.exact, parts, levels)
            assert lost <= most
            close += 0 < most <= lost + F(1, 1000)
            if surely_safe(one.exact, parts, levels):
                told += 1
                assert one.exact.permutation_safe(parts)
                assert one.exact._judged(counted)
    assert told >= rounds // 20
    assert close > 0 or not prop.complete


def test_chains_of_hundreds_of_people():
    """Where counting is beyond reach, a bound decides: hardly any table was stopped."""
    chance, n = random.Random(2), 200
    table = [value for _ in range(10) for value in chance.sample("aaabbcdefg" * 2, 20)]
    found = Jump([blocks(n, 4), blocks(n, 20), blocks(n, 100)], 1, HALF).run(table)
    assert found.path[1:] == [(1, "permutation", True), (1, "disclosure", True)]
    counted = found.disclosure_set()
    assert counted.size < counted.permutation_size
    other = Jump([blocks(n, 10), blocks(n, 100)], 1, MaxRatio("1/5"), steps=100).run(
        [value for _ in range(2) for value in "a" * 16 + "bbcdefghij" * 8 + "klmn"]
    )
    assert other.path[-1] == (1, "disclosure", True)
    with pytest.raises(BeyondReach):
        other.disclosure_set()
    chance = random.Random(4)
    jump = Jump([blocks(48, 4), blocks(48, 16, 2), blocks(48, 48)], 1, HALF, steps=2_000)
    with pytest.raises(BeyondReach, match="more than 2,000 steps"):
        jump.run(chance.choices("aabbc", k=48)).disclosure_set(2)


CROSSED = [
    [[0, 1, 2], [3, 4, 5], [6, 7]],
    [[0, 2, 4, 6], [1, 3, 5, 7]],
    [[0, 2, 3, 5, 6], [1, 4, 7]],
    [list(range(8))],
]


def outcome(algorithm, table):
    try:
        return algorithm.run(table).released
    except fk.BeyondReach:
        return "beyond"


def test_reach_forgets_other_tables():
    """Whether a table is within it depends on no table looked at before."""
    chance, met = random.Random(2), Counter()
    for steps in (200, 800, 1600) if NIGHTLY else (800,):
        for algorithm in (Safe(CROSSED, HALF, steps=steps), Jump(CROSSED, 1, HALF, steps=steps)):
            given, expected = [chance.choices("aabbcde", k=8) for _ in range(16)], []
            for table in given:
                run._shared.cache_clear()
                expected.append(outcome(algorithm, table))
            run._shared.cache_clear()
            assert [outcome(algorithm, table) for table in given] == expected
            assert [outcome(algorithm, table) for table in given[::-1]] == expected[::-1]
            met.update(expected)
    assert min(met["beyond"], sum(met.values()) - met["beyond"]) > 3
    # Where that makes no difference, what was found is used again.
    algorithm = Safe(CROSSED, HALF, steps=10**6)
    run._shared.cache_clear()
    first = algorithm.run(list("aabbcdea"))
    assert algorithm.run(list("babacdea"))._case.exact is first._case.exact


# ---- no unsafe release ever: all tables of small multisets ---------------------------------------

MULTISETS = ["aabc", "aabb", "aabcd", "aabbc", "aaabc", "aabbcd", "aabcde"]


def unsafe_releases(algorithm, functions, tables, judge, *, told=False):
    """Releases after which someone's chances fail, by running the algorithm on all tables.

    told: whether it is published which function was released; otherwise only groups are seen,
    each with its values.
    """
    found = {}
    for table in tables:
        i = algorithm.run(table).released
        if i is not None:
            shown = [(tuple(sorted(g)), tuple(sorted(table[p] for p in g))) for g in functions[i]]
            found.setdefault((i if told else None, frozenset(shown)), []).append(table)
    unsafe = []
    for release, leading in found.items():
        size = {p: len(group) for group, _ in release[1] for p in group}
        rows = oracle.marginals(leading)
        if not all(judge(row, size[p]) for p, row in enumerate(rows)):
            unsafe.append(release)
    return unsafe


@pytest.mark.thinned(2)
@every_property
def test_no_release_is_unsafe(name):
    """An adversary who sees the groups alone cannot tell which function was released.

    Of a property that is not convex, that is safe only where no two functions group people alike.
    """
    chance, (prop, judge) = random.Random(name), PROPERTIES[name]
    some = [*MULTISETS * 3] if NIGHTLY else [*MULTISETS[:4], MULTISETS[chance.choice([4, 5, 6])]]
    for multiset in some:
        tables = oracle.all_tables(tuple(multiset))
        functions = random_functions(len(multiset), chance)
        groupings = {frozenset(tuple(sorted(group)) for group in own) for own in functions}
        told = not as_property(prop).convex and len(groupings) < len(functions)
        given, k = lists(functions), [chance.randint(1, 3) for _ in functions]
        for algorithm in (Safe(given, prop), Jump(given, 1, prop), Jump(given, k, prop)):
            assert unsafe_releases(algorithm, functions, tables, judge, told=told) == []


def test_naive_is_caught():
    chance, (prop, judge) = random.Random(1), PROPERTIES["ratio 1/2"]
    caught = 0
    for multiset in MULTISETS[:5]:
        tables = oracle.all_tables(tuple(multiset))
        for _ in range(10):
            functions = random_functions(len(multiset), chance)
            naive = Naive(lists(functions), prop)
            caught += bool(unsafe_releases(naive, functions, tables, judge))
    assert caught > 2


# Functions that group people alike, with a property that is not convex
NOT_HALF = Each(lambda shares: max(shares.values()) != F(1, 2), symmetric=True)
REUSED = [[1, 0, 0, 1, 1], [1, 1, 0, 0, 1], [1, 1, 1, 1, 0], [1, 1, 1, 1, 0]]


def test_mixtures_may_be_unsafe():
    """Each disclosure set has the property; both together, which look alike, have not."""
    functions = [[[p for p in range(5) if f[p] == g] for g in (0, 1)] for f in REUSED]
    jump, tables = Jump(REUSED, [2, 2, 1, 2], NOT_HALF), oracle.all_tables(tuple("bbabc"))

    def judge(shares, size):
        return max(shares.values()) != F(1, 2)

    assert unsafe_releases(jump, functions, tables, judge, told=True) == []
    assert unsafe_releases(jump, functions, tables, judge) != []
    # So they are refused where groups alone are published.
    data = microdata(range(5), "bbabc")
    for algorithm in (jump, Safe(REUSED, NOT_HALF)):
        with pytest.raises(UnsupportedError, match="g3 and g4 group people alike"):
            algorithm.partition(data)
        with pytest.raises(UnsupportedError, match="g3 and g4 group people alike"):
            fk.attack(data, algorithm)
    # But not where nothing is claimed, the property is convex, or they differ.
    assert Naive(REUSED, NOT_HALF).partition(data).tolist() == [0, 0, 0, 0, 1]
    assert Jump(REUSED, [2, 2, 1, 2], MaxRatio("2/3")).partition(data).max() == 1
    assert Jump(REUSED[:3], [2, 2, 1], NOT_HALF).partition(data).tolist() == [0, 0, 0, 0, 1]


def test_labels_that_look_alike():
    """Of groups that are no nodes: 1 to 6 and 2 to 5, of three people each, in both."""
    data = microdata(range(1, 7), "aabbcd")
    plain = fk.Policy([fk.Requirement(fk.Facts(), below=1)], data.schema)
    separate = fk.Policy(plain.requirements, data.schema, fk.PublishOptions(form="bucketized"))
    functions, some = [[0, 1, 0, 1, 1, 0], [0, 1, 1, 0, 1, 0]], Each(lambda shares: len(shares) > 1)
    with pytest.raises(UnsupportedError, match=r"labels of g1 = .* may not show who"):
        fk.publish(data, plain, method=Safe(functions, some))
    assert fk.publish(data, plain, method=Safe(functions, Distinct(2)))
    assert fk.publish(data, plain, method=Safe(["age=1"], some))
    assert fk.publish(data, separate, method=Safe(functions, some))


CONVEX = [MaxRatio("1/2"), MaxRatio("2/3", strict=True), Distinct(2), Distinct(3)]
CONVEX += [Entropy(2), Entropy("1.6"), Recursive(2, 2), Recursive(3, 3)]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("prop", CONVEX, ids=repr)
def test_safe_is_jump_by_one(prop):
    """Corollary 1 for convex properties; also where Theorem 6 says "generally incomparable"."""
    chance = random.Random(repr(prop))

    # The same property, about which nothing is known: Safe asks every disclosure set.
    class Unknown:
        convex, complete = False, False
        colour, limit, allows = prop.colour, lambda self, size, colour: size, prop.allows

    for _ in range(60 if NIGHTLY else 30):
        n = chance.choice([5, 6])
        table, functions = chance.choices("aabbcd", k=n), lists(random_functions(n, chance))
        expected = Jump(functions, 1, prop).run(table).released
        assert Safe(functions, prop).run(table).released == expected
        assert Safe(functions, Unknown()).run(table).released == expected


# ---- a secret choice ---------------------------------------------------------------------------


def test_bayes_believes_secret_choices():
    """Over every secret and table; what is seen is the index and its groups' values, or nothing."""
    chance, seen, judge = random.Random(9), Counter(), oracle.max_ratio(F(1, 2))
    for _ in range(60 if NIGHTLY else 40):
        n = chance.choice([3, 4, 5])
        functions, table = random_functions(n, chance), tuple(chance.choices("aabbc", k=n))
        choice, tables = SecretChoice(lists(functions), HALF), oracle.all_tables(table)
        found = choice.run(table, seed=chance.randrange(100))
        i, leading = found.released, []
        bags = None if i is None else oracle.generalization(functions[i], table)
        for secret in choice.secrets():
            slow = oracle.Algorithm("naive", [functions[j] for j in secret], judge, tables)
            for other in tables:
                place = slow.released(other)
                j = None if place is None else secret[place]
                own = None if j is None else oracle.generalization(functions[j], other)
                leading += [other] if (j, own) == (i, bags) else []
        expected = oracle.marginals(leading)
        assert list(found.posterior().values()) == expected
        assert found.max_ratio == max(max(row.values()) for row in expected)
        assert all(one.size for one in found.sets.values())
        seen[i is None] += 1
    assert min(seen[True], seen[False]) > 3


def test_secret_choices_are_not_published():
    values = ["C0", "C0", "C1", "C2", "C3", "C4"]
    rows = pa.table({"kind": ["A", "B", "C", "D", "D", "D"], "disease": values})
    schema = fk.Schema(quasi_identifiers=["kind"], sensitive="disease")
    data, choice = fk.Microdata(rows, schema), SecretChoice([[0] * 3 + [1] * 3, [0] * 6], HALF)
    assert choice.partition(data, seed=1).tolist() == [0] * 6
    found = fk.attack(data, choice, seeds=[1, 2])
    assert found.exact
    # of no table in which two of A, B, C have C0 is the first function released
    assert found.posterior(1, "C0") == choice.run(values, seed=1).posterior()[0]["C0"]
    with pytest.raises(fk.NoSafeRelease):
        SecretChoice([[0, 0, 1], [0, 1, 1]], HALF).partition(microdata(range(3), "aab"))
    assert not choice.symmetric
    assert SecretChoice(["kind=0", "kind=1"]).symmetric
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema=schema)
    with pytest.raises(fk.InputError, match="to be attacked, not to be published; take Jump"):
        fk.publish(data, policy, method=choice, seed=1)
    assert choice.to_dict()["functions"] == ["<2 groups of 6 people>", "<1 groups of 6 people>"]
