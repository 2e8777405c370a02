"""A policy as a property: the same verdicts on releases, and the right ones on disclosure sets."""

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.test_jumping_random_instances import random_functions, random_instance
from tests.oracle import jump_worlds
from tests.oracle.jump_requirements import judge_of, worst_in_worlds

import foreknow as fk
from foreknow.criteria.properties import Distinct, MaxRatio, Recursive, RuledOut
from foreknow.errors import PolicyError
from foreknow.methods.jump import Jump, Naive, Safe
from foreknow.methods.jump.policy_property import property_of

F = Fraction


def holds(prop, shares, total, size):
    """Whether a person with such numbers of worlds has the property."""
    return prop.allows([(prop.colour(v), n) for v, n in shares.items() if n], total, size)


def random_requirements(chance, present, limits, most=4):
    """One to three requirements, with every way to say which values they are about."""
    special = [v for v in present if chance.random() < 0.4]
    kinds = chance.choice(["all", "split", "values", "except"])
    plans = {
        "all": [(None, ())],
        "split": [(None, special), (special, ())],
        "values": [(special, ())],
        "except": [(None, special)],
    }[kinds]
    if not special:
        plans = [(None, ())]
    found = []
    for values, excluded in plans:
        amounts = chance.sample(range(most + 1), chance.choice([1, 1, 2]))
        points = [(known, chance.choice(limits)) for known in amounts]
        found.append((points, values, excluded))
    return found


def policy_of(plans, chance=None):
    kinds = [fk.Facts, fk.Facts, fk.Negations, fk.Implications]
    made = []
    for points, values, excluded in plans:
        pairs = []
        for known, limit in points:
            kind = chance.choice(kinds) if chance and known == 0 else fk.Facts
            pairs.append((kind(known), limit))
        made.append(fk.Requirement(pairs, values=values, excluded=excluded))
    return fk.Policy(made)


def test_of_a_release_it_says_what_the_audit_says():
    chance = random.Random(5)
    seen = {True: 0, False: 0}
    for _ in range(600):
        bags = [
            [chance.choice("aabbcdef"[: chance.randint(2, 8)]) for _ in range(chance.randint(2, 8))]
            for _ in range(chance.choice([1, 1, 2, 3]))
        ]
        counts = fk.GroupCounts.from_bags(bags)
        present = sorted({value for bag in bags for value in bag})
        # What is attained exactly is the boundary; most limits are there.
        attained = [
            worst_in_worlds([(value,) for value in bag], known, lambda v: True)
            for bag in bags
            for known in range(3)
        ]
        plans = random_requirements(chance, present, [*attained, F(1), F(3, 4), F(3, 5)], most=3)
        policy = policy_of(plans, chance)
        prop = property_of(policy)
        said = all(
            holds(prop, {v: bag.count(v) for v in present}, len(bag), len(bag)) for bag in bags
        )
        assert said == fk.audit(counts, policy).safe, (bags, plans)
        seen[said] += 1
    assert min(seen.values()) > 80, seen


@examples(300, deadline=None)
@given(st.randoms(use_true_random=False))
def test_of_any_set_of_worlds_it_says_what_enumeration_says(chance):
    """Also where no release has that set: worlds at random, each as likely."""
    people, domain = chance.randint(1, 3), "abcd"[: chance.randint(1, 4)]
    worlds = [
        tuple(chance.choice(domain) for _ in range(people)) for _ in range(chance.randint(1, 8))
    ]
    present = sorted({value for world in worlds for value in world})
    reached = [worst_in_worlds(worlds, known, lambda v: True) for known in range(3)]
    plans = random_requirements(chance, present, [*reached, F(1), F(1, 2), F(2, 3)])
    prop = property_of(policy_of(plans, chance))
    said = all(
        holds(prop, {v: column.count(v) for v in present}, len(worlds), people)
        for column in zip(*worlds, strict=True)
    )
    expected = all(
        worst_in_worlds(worlds, known, about_of(values, excluded)) < limit
        for points, values, excluded in plans
        for known, limit in points
    )
    assert said == expected


def about_of(values, excluded):
    return lambda v: (values is None or v in values) and v not in excluded


@pytest.mark.parametrize("seed", range(4))
def test_algorithms_with_it_are_those_of_enumeration(seed):
    """From a policy to what is released and to every disclosure set: nothing is shared but it."""
    chance = random.Random(seed)
    released = 0
    for _ in range(30):
        functions, table = random_instance(chance)
        plans = random_requirements(
            chance, sorted(set(table)), [F(1), F(2, 3), F(3, 4), F(4, 5), F(9, 10)], most=1
        )
        prop = property_of(policy_of(plans))
        judge = judge_of(
            [(c, known, about_of(yes, no)) for points, yes, no in plans for known, c in points]
        )
        tables = jump_worlds.all_tables(table)
        given_functions = [[list(group) for group in function] for function in functions]
        k = [chance.randint(1, 3) for _ in functions]
        for kind, fast in (
            ("naive", Naive(given_functions, prop)),
            ("safe", Safe(given_functions, prop)),
            ("jump", Jump(given_functions, k, prop)),
        ):
            slow = jump_worlds.Algorithm(kind, functions, judge, tables, k)
            run = fast.run(table)
            assert run.released == slow.released(table), (functions, table, plans, kind, k)
            released += run.released is not None
            for i in range(len(functions)):
                assert run.disclosure_set(i).size == len(slow.disclosure_set(i, table))
    assert released > 20


def test_no_release_of_any_table_reaches_a_limit():
    """All tables of small multisets are run; what leads to a release is what can be told of it."""
    chance = random.Random(11)
    for multiset in ("aabc", "aabbc", "aabcd", "abcde"):
        tables = jump_worlds.all_tables(tuple(multiset))
        for _ in range(4):
            plans = random_requirements(
                chance, sorted(set(multiset)), [F(1), F(2, 3), F(3, 4), F(4, 5)], most=2
            )
            prop = property_of(policy_of(plans))
            functions = random_functions(len(multiset), chance)
            given_functions = [[list(group) for group in function] for function in functions]
            k = [chance.randint(1, 3) for _ in functions]
            for algorithm in (Safe(given_functions, prop), Jump(given_functions, k, prop)):
                led = {}
                for table in tables:
                    i = algorithm.run(table).released
                    if i is not None:
                        seen = i, jump_worlds.generalization(functions[i], table)
                        led.setdefault(seen, []).append(table)
                for worlds in led.values():
                    for points, values, excluded in plans:
                        for known, limit in points:
                            about = about_of(values, excluded)
                            assert worst_in_worlds(worlds, known, about) < limit


def test_negations_about_others_can_tell_more_in_a_part_of_the_tables():
    """Why negations are refused: of these worlds, those about the target are not the worst."""
    # If the second has b, the first has a or c as likely as not; if it has d, the first has e.
    worlds = [("a", "b"), ("c", "b"), ("e", "d"), ("f", "d"), ("g", "d"), ("h", "d"), ("i", "d")]
    about_target = worst_in_worlds([world[:1] for world in worlds], 1, lambda v: True)
    after = [first for first, second in worlds if second != "d"]
    assert about_target < F(after.count("a"), len(after))
    with pytest.raises(PolicyError, match=r"negations can be about others; facts = \{ l = 1 \}"):
        property_of(fk.Policy([fk.Requirement(fk.Negations(1), "1/2")]))


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        (
            fk.Requirement(fk.Facts(1, 2), "1/2"),
            r"requirement: Facts\(l=1, k=2, m=0\) cannot.*l = 1",
        ),
        (fk.Requirement(fk.Facts(m=1), "1/2", name="x"), r"x: Facts.*several people at once"),
        (fk.Requirement(fk.Implications(1), "1/2"), r"Implications.*\{ k = 0 \} can be judged"),
        (
            fk.Requirement([(fk.Facts(2), "1/2"), (fk.Facts(0, 1), "1/2")]),
            r"of its points, Facts\(l=2, k=0, m=0\) can be judged",
        ),
    ],
)
def test_what_needs_more_than_chances_is_refused(requirement, message):
    fine = fk.Requirement(fk.Facts(), "9/10", name="fine")
    with pytest.raises(PolicyError, match=message):
        property_of(fk.Policy([fine, requirement]))


def test_priors_are_refused():
    import pyarrow as pa

    rows = pa.table({"sex": ["m", "f"] * 4, "disease": ["flu", "cold"] * 4})
    known = fk.Priors.learn(rows, ["sex"], "disease")
    for limit in ({"below": "1/2"}, {"at_most": "1/2"}):
        with pytest.raises(PolicyError, match="knows more than which tables are possible"):
            property_of(fk.Policy([fk.Requirement(known, **limit)]))


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (fk.Requirement(fk.Facts(), "1/2"), MaxRatio("1/2", strict=True)),
        (fk.Requirement(fk.Implications(), 1), MaxRatio(1, strict=True)),
        (fk.Requirement(fk.Facts(1), "3/4"), Recursive(3, 3)),
        (fk.Requirement(fk.Facts(1), 1), Distinct(3)),
        (fk.Requirement(fk.Facts(1), 1, values=["a"]), RuledOut(1, 1, ["a"])),
    ],
)
def test_a_requirement_in_the_terms_of_a_property(requirement, expected):
    assert property_of(fk.Policy([requirement])) == expected


def test_that_nothing_is_published_can_tell_where_values_are_not_alike():
    """Theorem 1 needs a property that treats values alike; here only their domain is known."""
    prop = property_of(fk.Policy([fk.Requirement(fk.Facts(), "1/2", values=["hiv"])]))
    silent = [
        table
        for table in product(["hiv", "flu"], repeat=4)
        if Safe([[[0, 1, 2, 3]]], prop).run(table).released is None
    ]
    first = [table[0] for table in silent]
    assert F(first.count("hiv"), len(first)) > F(1, 2)
    alike = property_of(fk.Policy([fk.Requirement(fk.Facts(), "1/2")]))
    silent = [
        table
        for table in product("abc", repeat=3)
        if Safe([[[0, 1], [2]], [[0, 1, 2]]], alike).run(table).released is None
    ]
    assert all(F([t[0] for t in silent].count(v), len(silent)) == F(1, 3) for v in "abc")
    assert 0 < len(silent) < 27
