"""The enumeration with several values per person: numbers known by hand, and a plainer one."""

from collections import Counter
from fractions import Fraction
from itertools import chain, combinations, permutations, product

import pytest
from tests.oracle.many_worlds import (
    brings,
    implies,
    lacks,
    members,
    posterior,
    small_releases,
    worst_cases,
)

BOTH = pytest.mark.parametrize("semantics", ["set", "multiset"])


def plain_worlds(groups, semantics):
    """Deal every single occurrence to every person, and drop what `set` forbids."""
    counts = Counter()
    for dealt in product(*(product(people, repeat=len(bag)) for people, bag in paired(groups))):
        given = list(zip(chain(*dealt), chain(*(bag for _, bag in groups)), strict=True))
        if semantics == "multiset" or len(set(given)) == len(given):
            everybody = range(sum(size for size, _ in groups))
            counts[tuple(frozenset(x for p, x in given if p == who) for who in everybody)] += 1
    return counts


def paired(groups):
    return zip(members(groups), (bag for _, bag in groups), strict=True)


def plain_worst(groups, value, point, semantics):
    """The worst case without symmetries, bit sets or blinkers: every target, person and value."""
    l, k, m = point  # noqa: E741
    all_worlds = plain_worlds(groups, semantics)
    everybody = [person for people in members(groups) for person in people]
    domain = sorted({x for _, bag in groups for x in bag} | {value})
    best = 0
    for target in everybody:
        others = [person for person in everybody if person != target]
        for chosen in up_to(l, [x for x in domain if x != value]):
            for told in up_to(k, others):
                for family in up_to(m, [p for p in others if p not in told]):
                    knowledge = [
                        *(brings(target, x, value) for x in chosen),
                        *(lacks(p, value) for p in told),
                        *(implies(p, target, value) for p in family),
                    ]
                    found = posterior(all_worlds, knowledge, target, value)
                    if found is not None:
                        best = max(best, found)
    return best


def up_to(most, things):
    return [chosen for size in range(most + 1) for chosen in combinations(things, size)]


RELEASES = [
    [(1, "ab")],
    [(2, "ab"), (1, "ac")],
    [(2, "aab"), (2, "bb")],
    [(3, "aab")],
    [(3, "abbc")],
    [(2, "a"), (1, "")],
    [(2, "bb"), (2, "ac")],
]


@BOTH
@pytest.mark.parametrize("groups", RELEASES, ids=str)
def test_fast_worst_case_is_plain(groups, semantics):
    for value in "abcd":
        result = worst_cases(groups, value, (2, 2, 2), semantics)
        assert list(result) == list(product(range(3), repeat=3))
        for point, chance in result.items():
            assert chance == plain_worst(groups, value, point, semantics), (value, point)


def test_numbers_known_by_hand():
    """Of a release: the worst case, by how much is known; a merged group may be worse."""
    for groups, value, most, semantics, truth in (
        ([(2, "s"), (1, "ab")], "s", (2, 0, 0), "set", "1/2"),
        ([(3, "sab")], "s", (2, 0, 0), "set", "9/17"),
        ([(2, "s"), (1, "aa")], "s", (1, 0, 0), "multiset", "1/2"),
        ([(3, "saa")], "s", (1, 0, 0), "multiset", "9/17"),
        ([(2, "ss")], "s", (0, 0, 3), "multiset", "1"),
        *(([(4, "s")], "s", (0, 3, 0), semantics, "1") for semantics in ("set", "multiset")),
        *(([(4, "s")], "s", (0, 2, 0), semantics, "1/2") for semantics in ("set", "multiset")),
        *(([(2, "ab"), (1, "")], "z", (2, 2, 2), own, "0") for own in ("set", "multiset")),
    ):
        assert worst_cases(groups, value, most, semantics)[most] == Fraction(truth), groups


@BOTH
def test_small_releases_are_complete(semantics):
    result = small_releases(3, 2, 2, 2, semantics)
    assert [(3, "")] in result
    assert [(1, ""), (2, "")] in result
    assert len({renamed(groups) for groups in result}) == len(result)
    tops = {"set": {1: 1, 2: 2, 3: 2}, "multiset": {1: 2, 2: 2, 3: 2}}[semantics]
    bags = {size: ["a" * i + "b" * j for i, j in square(top)] for size, top in tops.items()}
    every = [[(3, bag)] for bag in bags[3]]
    every += [[(1, bag), (2, two)] for bag in bags[1] for two in bags[2]]
    assert {renamed(groups) for groups in every} == {renamed(groups) for groups in result}


def square(top):
    return product(range(top + 1), repeat=2)


def renamed(groups):
    """The least of all ways to write a release with a and b, groups sorted."""
    return min(
        tuple(
            sorted((n, "".join(sorted(bag.translate(str.maketrans("ab", x))))) for n, bag in groups)
        )
        for x in map("".join, permutations("ab"))
    )
