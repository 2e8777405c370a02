"""A secret choice: chances against all secrets, what nothing tells, and attacks that find out."""

import contextlib
import random
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.jumping.test_random_instances import random_functions
from tests.oracle import jump_worlds as oracle

import foreknow as fk
from foreknow.criteria.properties import MaxRatio
from foreknow.methods.jump import Naive
from foreknow.methods.jump.secret import SecretChoice

F = Fraction
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


def test_nothing_is_never_taken_for_safe():
    """Theorem 1 is false for known values: an adversary who sees nothing is certain of C and D."""
    run = SecretChoice(["BCD|AE", "ACD|BE"], HALF).run(dict(zip("ABCDE", "bcaad", strict=True)))
    assert run.released is None
    assert run.max_ratio == 1
    assert run.posterior()["C"] == run.posterior()["D"] == {"a": 1}
    assert run.to_dict()["max ratio"] == "1"
    assert repr(run) == "<SecretRun: nothing released, 1 secret possible>"


def test_posteriors_are_those_of_enumeration_also_of_nothing():
    chance = random.Random(9)
    seen = Counter()
    for _ in range(60):
        n = chance.choice([3, 4, 5])
        functions = random_functions(n, chance)
        table = tuple(chance.choice("aabbc") for _ in range(n))
        choice = SecretChoice([list(map(list, f)) for f in functions], HALF)
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


def test_chances_are_shares_of_secrets():
    chance = random.Random(4)
    unequal = 0
    for _ in range(120):
        n = chance.choice([2, 4, 5])
        functions = random_functions(n, chance)
        values = [chance.choice("aabbc") for _ in range(n)]
        rows = pa.table({"age": list(range(n)), "disease": values})
        data = fk.Microdata(rows, fk.Schema(quasi_identifiers=["age"], sensitive="disease"))
        given = [[next(g for g, m in enumerate(f) if p in m) for p in range(n)] for f in functions]
        choice = SecretChoice(given, HALF)
        judge = oracle.max_ratio(F(1, 2))
        made = Counter()
        for secret in choice.secrets():
            slow = oracle.Algorithm(
                "naive", [functions[i] for i in secret], judge, oracle.all_tables(tuple(values))
            )
            place = slow.released(tuple(values))
            if place is not None:
                groups = functions[secret[place]]
                made[frozenset(frozenset(group) for group in groups)] += 1
        total = F(0)
        for groups, times in made.items():
            of_row = [next(g for g, m in enumerate(groups) if p in m) for p in range(n)]
            found = choice.chance(data, None, of_row)
            assert found == F(times, len(choice.secrets()))
            total += found
            unequal += found < 1
        assert total <= 1
        assert choice.chance(data, None, [-1] * n) == 0
    assert unequal > 10


# Theorem 8: people D to I are of one kind, so that the groups are groups of quasi-identifiers.

ROWS = {
    "kind": ["A", "B", "C"] + ["D"] * 6,
    "disease": ["C0", "C0", "C0", "C1", "C2", "C3", "C4", "C5", "C6"],
}
SCHEMA = fk.Schema(quasi_identifiers=["kind"], sensitive="disease")
CHOICE = SecretChoice(["AB|CD", "AC|BD", "BC|AD", "ABC|D", "ABCD"], HALF)


def test_theorem_8_an_attack_finds_17_of_23():
    data = fk.Microdata(pa.table(ROWS), SCHEMA)
    found = fk.attack(data, CHOICE, groups=[0] * 9)
    assert found.exact
    assert [found.posterior(row, "C0") for row in (1, 2, 3)] == [F(17, 23)] * 3
    with pytest.raises(fk.NoSafeRelease):
        fk.attack(data, SecretChoice(["ABC|D", "A|B|C|D"], HALF))
    drawn = fk.attack(data, SecretChoice(["ABCD", "AB|CD", "AC|BD"], HALF), seed=1)
    assert drawn.exact


def test_theorem_8_so_does_whoever_holds_the_release():
    release = fk.Release.from_groups(
        pa.table({**ROWS, "group": [1] * 9}), group="group", sensitive="disease"
    )
    found = fk.Algorithm(CHOICE, schema=SCHEMA).disclosure(release, "C0")
    assert found.exact == F(17, 23)
    assert found.witness.share == F(1, 3)


def test_what_a_secret_makes_is_published_with_nothing_said_of_it():
    data = fk.Microdata(pa.table(ROWS), SCHEMA)
    made = Counter()
    for seed in range(30):
        try:
            made[tuple(CHOICE.partition(data, seed=seed).tolist())] += 1
        except fk.NoSafeRelease:
            made[None] += 1
    assert set(made) == {(0,) * 9, None}
    assert CHOICE.chance(data, None, [0] * 9) == F(15, 26)
    aab = fk.Microdata(pa.table({"kind": list("ABC"), "disease": list("aab")}), SCHEMA)
    with pytest.raises(fk.NoSafeRelease):
        SecretChoice(["AB|C", "A|BC"], HALF).partition(aab)
    assert not SecretChoice([[0, 0, 1], [0, 1, 1]]).symmetric
    assert CHOICE.symmetric


def test_it_is_not_published():
    data = fk.Microdata(pa.table(ROWS), SCHEMA)
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema=SCHEMA)
    with pytest.raises(fk.InputError, match="to be attacked, not to be published; take Jump"):
        fk.publish(data, policy, method=CHOICE, seed=1)
    assert CHOICE.to_dict()["functions"] == ["<2 groups>"] * 4 + ["<1 group>"]


def test_naive_is_what_each_secret_runs():
    data = fk.Microdata(pa.table(ROWS), SCHEMA)
    chances = Counter()
    for secret in CHOICE.secrets():
        naive = Naive([CHOICE.functions[i] for i in secret], HALF)
        with contextlib.suppress(fk.NoSafeRelease):
            chances[tuple(naive.partition(data).tolist())] += F(1, 26)
    assert chances
    for groups, chance in chances.items():
        assert CHOICE.chance(data, None, list(groups)) == chance
