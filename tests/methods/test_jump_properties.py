"""Properties, and policies as properties: against enumeration, their limits, their convexity."""

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.oracle.jump_requirements import judge_of, worst_in_worlds

import foreknow as fk
from foreknow.criteria.size import KAnonymity
from foreknow.methods.jump.policy_property import property_of
from foreknow.methods.jump.properties import (
    All,
    Distinct,
    Each,
    Entropy,
    MaxRatio,
    Recursive,
    RuledOut,
    survives,
)
from foreknow_judge.errors import PolicyError

F = Fraction
VALUES = "abcde"
LIMITS = [F(1), F(1, 2), F(2, 3), F(3, 4), F(2, 5), F(1, 3), F(9, 10), F(1, 10)]
counts = st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(any)
abouts = st.one_of(
    st.none().map(lambda _: (None, ())),
    st.lists(st.sampled_from(VALUES), unique=True).map(lambda some: (some, ())),
    st.lists(st.sampled_from(VALUES), unique=True).map(lambda some: (None, some)),
)
limits = st.one_of(st.sampled_from(LIMITS), st.fractions(F(1, 20), 1, max_denominator=20))


def row_of(prop, numbers):
    return [(prop.colour(v), n) for v, n in zip(VALUES, numbers, strict=False) if n]


def holds(prop, counts, size=9):
    """Whether a person with so many worlds of each value has the property."""
    if not isinstance(counts, dict):
        counts = dict(zip(VALUES, counts, strict=False))
    row = [(prop.colour(v), n) for v, n in counts.items() if n]
    return prop.allows(row, sum(counts.values()), size)


def about_of(values, excluded):
    return lambda value: (values is None or value in values) and value not in excluded


@examples(800)
@given(counts, limits, st.integers(0, 5), abouts)
def test_it_is_what_enumeration_of_ruled_out_values_says(numbers, limit, l, about):  # noqa: E741
    prop = RuledOut(limit, l, *about)
    total = sum(numbers)
    shares = {v: F(n, total) for v, n in zip(VALUES, numbers, strict=False) if n}
    expected = judge_of([(limit, l, about_of(*about))])(shares, total)
    assert holds(prop, numbers, total) == expected
    # The limit itself is never allowed, and a limit just above is not reached.
    if l == 0:
        plain = MaxRatio(limit, strict=True, values=about[0], excluded=about[1])
        assert holds(plain, numbers, total) == expected


@examples(400)
@given(counts, limits, st.integers(0, 4), abouts)
def test_a_group_that_passes_keeps_the_limits(numbers, limit, l, about):  # noqa: E741
    size = sum(numbers)
    for prop in (RuledOut(limit, l, *about), MaxRatio(limit, True, *about)):
        row = row_of(prop, numbers)
        if prop.allows(row, size, size):
            assert all(n <= prop.limit(size, colour) for colour, n in row)


def test_the_limit_is_attained_where_a_group_can_be_so():
    for size in range(1, 9):
        for limit in LIMITS:
            for l in range(4):  # noqa: E741
                prop = RuledOut(limit, l)
                most = prop.limit(size, 0)
                fits = [
                    n
                    for n in range(1, size + 1)
                    if prop.allows([(0, n), *[(0, 1)] * (size - n)], size, size)
                ]
                assert most == max(fits, default=0)


def test_values_are_compared_as_they_print():
    assert MaxRatio("1/2", values=["5"]).colour(5) == 0
    assert RuledOut("1/2", 1, values=[5]).colour("5") == 0
    assert RuledOut("1/2", 1, excluded=[5]).colour("5") == 1


# ---- what survives the loss of a share of the tables -------------------------------------------

PROPERTIES = [
    fk.MaxRatio("1/2"),
    fk.MaxRatio("2/3", strict=True),
    fk.Distinct(2),
    fk.Recursive(2, 2),
    fk.Recursive("3/2", 3),
    RuledOut("3/4", 1),
    RuledOut("1/2", 2),
    RuledOut("2/3", 1, values=["a"]),
]


@pytest.mark.parametrize("prop", PROPERTIES, ids=repr)
@examples(120)
@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    loss=st.fractions(0, 1, max_denominator=12),
)
def test_what_survives_holds_whatever_is_taken_away(prop, counts, loss):
    total = sum(counts)
    colours = [prop.colour(value) for value in "abcd"[: len(counts)]]
    said = survives(prop, list(zip(colours, counts, strict=True)), total, 9, loss)
    holds = True
    for left in product(*(range(count + 1) for count in counts)):
        if sum(left) > 0 and total - sum(left) <= loss * total:
            row = [(c, n) for c, n in zip(colours, left, strict=True) if n]
            holds &= prop.allows(row, sum(left), 9)
    assert holds or not said
    if not loss:
        assert said == holds


def test_a_small_loss_is_survived_by_a_wide_margin():
    row = [(0, 30), (0, 31), (0, 39)]
    for prop in (fk.MaxRatio("1/2"), fk.Recursive(2, 2), RuledOut("3/4", 1)):
        assert survives(prop, row, 100, 100, F(1, 100)), prop


# ---- what calls itself convex is ---------------------------------------------------------------

CONVEX = [
    MaxRatio("1/2"),
    MaxRatio("1/2", strict=True),
    MaxRatio("1/3", values=["a", "b"]),
    MaxRatio("2/5", excluded=["a"]),
    Distinct(3),
    Entropy(2),
    Entropy("5/2"),
    Recursive(1, 2),
    Recursive("3/2", 3),
    KAnonymity(3),
    RuledOut("1/2", 1),
    RuledOut("2/3", 2, values=["a", "b"]),
    RuledOut("3/5", 1, excluded=["a"]),
    All(MaxRatio("2/3"), RuledOut("3/4", 1, values=["a"])),
]


def counts_in(total, chance, most):
    """Whole numbers that add up, many of them 0 or on a boundary."""
    drawn = [chance.choice([0, 0, 1, 1, 2, 3, most]) for _ in VALUES]
    drawn[chance.randrange(len(drawn))] += 1
    return [n * total // sum(drawn) for n in drawn] if total % sum(drawn) == 0 else None


@pytest.mark.parametrize("prop", CONVEX, ids=repr)
def test_mixtures_of_what_has_the_property_have_it(prop):
    assert prop.convex
    chance = random.Random(repr(prop))
    total, have, edge = 2520, [], 0
    while len(have) < 60:
        counts = counts_in(total, chance, 4)
        if counts and holds(prop, counts, 4):
            have.append(counts)
    for one in have:
        for other in have:
            a = chance.choice([1, 1, 2, 7])
            b = chance.choice([1, 1, 3, 50])
            mixed = [a * x + b * y for x, y in zip(one, other, strict=True)]
            assert holds(prop, mixed, 4), (one, other, a, b)
            edge += one != other
    assert edge > 1000 or isinstance(prop, KAnonymity)


def test_a_property_that_is_not_convex_is_caught():
    """The same test would notice."""
    some = Each(lambda shares: shares.get("a", 0) <= F(1, 4) or shares.get("b", 0) <= F(1, 4))
    assert holds(some, [3, 1, 0, 0, 0], 4)
    assert holds(some, [1, 3, 0, 0, 0], 4)
    assert not holds(some, [4, 4, 0, 0, 0], 4)
    assert not some.convex
    assert not All(MaxRatio("1/2"), some).convex


# ---- a policy as a property --------------------------------------------------------------------


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
        said = all(holds(prop, {v: bag.count(v) for v in present}, len(bag)) for bag in bags)
        assert said == (not fk.audit(counts, policy).failures), (bags, plans)
        seen[said] += 1
    assert min(seen.values()) > 80, seen


@examples(300)
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
        holds(prop, {v: column.count(v) for v in present}, people)
        for column in zip(*worlds, strict=True)
    )
    expected = all(
        worst_in_worlds(worlds, known, about_of(values, excluded)) < limit
        for points, values, excluded in plans
        for known, limit in points
    )
    assert said == expected


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
