"""The examples of "Privacy Streamliner", to the letter, and where its theorem 1 fails."""

from fractions import Fraction
from itertools import combinations, permutations

import pytest

from foreknow.errors import InputError
from foreknow.streamlining import (
    Candidates,
    are_candidates,
    bijections,
    colours,
    disclosure_set,
    family,
    is_eligible,
    is_family_set,
    is_globally_safe,
    is_l_cover,
    is_self_contained,
    is_strongly_globally_safe,
    largest_safe_sets,
    locally_safe,
    meets_theorem_2,
    minimal_partition,
    partition,
    worst_posterior,
)

T0 = {"Ada": "flu", "Bob": "flu", "Coy": "cold", "Dan": "cold", "Eve": "HIV"}
P = {
    1: partition("Ada Coy", "Bob Dan Eve"),
    2: partition("Ada Dan", "Bob Coy Eve"),
    3: partition("Ada Eve", "Bob Coy Dan"),
    4: partition("Bob Coy", "Ada Dan Eve"),
    5: partition("Bob Dan", "Ada Coy Eve"),
    6: partition("Bob Eve", "Ada Coy Dan"),
    7: partition("Coy Eve", "Ada Bob Dan"),
    8: partition("Dan Eve", "Ada Bob Coy"),
    9: partition("Ada Bob Coy Dan Eve"),
}
# Table 1, one column per table: Ada, Bob, Coy, Dan, Eve.
COLUMNS = """
    flu cold flu cold flu cold flu cold HIV HIV
    flu cold flu cold HIV HIV flu cold flu cold
    cold flu cold flu cold flu HIV HIV cold flu
    cold flu HIV HIV cold flu cold flu cold flu
    HIV HIV cold flu flu cold cold flu flu cold
"""
TABLES = [
    dict(zip(T0, column, strict=True))
    for column in zip(*(row.split() for row in COLUMNS.strip().splitlines()), strict=True)
]
MOST = Fraction(2, 3)


def known(partitions, released=None):
    """Which of the ten tables are possible, from 1; all possible ones must be among them."""
    found = disclosure_set(partitions, T0, MOST, released)
    return sorted(TABLES.index(table) + 1 for table in found)


def those(*numbers):
    return {P[number] for number in numbers}


def test_nine_partitions_are_locally_safe():
    assert locally_safe(T0, MOST) == set(P.values())


def test_knowing_all_of_them_tells_eve():
    assert known(P.values()) == [1, 2]
    assert worst_posterior(P.values(), T0, MOST) == 1
    assert not is_globally_safe(P.values(), T0, MOST)


def test_without_the_seventh_it_is_a_gss_but_the_third_tells_ada():
    gss = those(1, 2, 3, 4, 5, 6, 8, 9)
    assert known(gss) == [1, 2, 3, 4]
    assert worst_posterior(gss, T0, MOST) == Fraction(1, 2)
    assert is_globally_safe(gss, T0, MOST)
    worlds = disclosure_set(gss, T0, MOST, P[3])
    assert {(w["Ada"], w["Eve"]) for w in worlds} == {("flu", "HIV")}
    assert not is_strongly_globally_safe(gss, T0, MOST)


def test_five_of_them_are_an_sgss_whose_first_leaves_six_tables():
    sgss = those(1, 2, 4, 5, 9)
    assert known(sgss) == list(range(1, 11))
    assert known(sgss, P[1]) == [1, 2, 3, 4, 5, 6]
    assert worst_posterior(sgss, T0, MOST, P[1]) == Fraction(1, 2)
    assert is_strongly_globally_safe(sgss, T0, MOST)


def test_the_largest_sgss_is_unique_and_the_largest_gss_is_not():
    assert largest_safe_sets(T0, MOST, strong=True) == [those(1, 2, 4, 5, 9)]
    assert len(largest_safe_sets(T0, MOST, strong=False)) > 1


ONE = {"id1": "s1", "id2": "s1", "id3": "s2", "id4": "s2"}
Q1 = partition("id1 id3", "id2 id4")
Q2 = partition("id1 id4", "id2 id3")
Q3 = partition("id1 id2 id3 id4")
Q4 = partition("id1 id2", "id3 id4")


def candidates(first, second):
    """Bijections of example 4: the images of id1, id2 and of id3, id4."""
    maps = {
        "s1": [dict(zip(["id1", "id2"], first.split(), strict=True))],
        "s2": [dict(zip(["id3", "id4"], second.split(), strict=True))],
    }
    return Candidates(ONE, maps)


def test_example_1_and_2():
    assert colours(ONE) == {"s1": frozenset({"id1", "id2"}), "s2": frozenset({"id3", "id4"})}
    assert is_eligible(ONE, 2)
    assert not is_eligible(ONE, 3)
    assert locally_safe(ONE, "1/2") == {Q1, Q2, Q3}
    for both in ({Q1, Q3}, {Q2, Q3}):
        assert is_globally_safe(both, ONE, "1/2")
        assert is_strongly_globally_safe(both, ONE, "1/2")
    assert not is_globally_safe({Q4}, ONE, "1/2")


def test_example_3():
    one, two = colours(ONE).values()
    assert are_candidates(one, two, ONE)
    assert len(list(bijections(one, two, ONE))) == 2
    assert candidates("id3 id4", "id1 id2").sets("s1") == [one, two]
    assert candidates("id3 id4", "id1 id2").sets("s2") == [two, one]


@pytest.mark.parametrize(
    ("first", "second", "contained"),
    [
        ("id3 id4", "id1 id2", [Q1, Q3]),
        ("id4 id3", "id2 id1", [Q2, Q3]),
        ("id3 id4", "id2 id1", [Q3]),
    ],
)
def test_example_4(first, second, contained):
    can = candidates(first, second)
    assert minimal_partition(can) == contained[0]
    assert family(can) == set(contained)
    for q in (Q1, Q2, Q3):
        assert is_self_contained(q, can) == (q in contained)
    for size in range(1, len(contained) + 1):
        assert all(is_family_set(set(c), can) for c in combinations(contained, size))


def test_example_5():
    assert is_l_cover({Q1, Q3}, candidates("id3 id4", "id1 id2"))
    assert is_l_cover({Q2, Q3}, candidates("id4 id3", "id2 id1"))


def test_l_cover_is_not_enough_for_an_sgss():
    table = dict(zip("123456", "abacbc", strict=True))
    swap = dict(zip("123456", "214365", strict=True))
    maps = {v: [{p: swap[p] for p in table if table[p] == v}] for v in "abc"}
    can = Candidates(table, maps)
    both = {partition("1 2 3 4", "5 6"), partition("3 4", "1 2 5 6")}
    assert is_l_cover(both, can)
    worlds = disclosure_set(both, table, "1/2", partition("1 2 3 4", "5 6"))
    assert Fraction(sum(w["2"] == "a" for w in worlds), len(worlds)) == Fraction(3, 5)
    assert not is_strongly_globally_safe(both, table, "1/2")
    finest = minimal_partition(can)
    assert is_strongly_globally_safe(both | {finest}, table, "1/2")
    for one in family(can):
        assert is_strongly_globally_safe({one}, table, "1/2")


@pytest.mark.parametrize("values", ["aabb", "aabc", "abcd", "aabbc", "aabbcc"])
def test_are_candidates_is_the_existence_of_a_bijection(values):
    table = dict(enumerate(values))
    sets = [frozenset(c) for n in (1, 2, 3) for c in combinations(table, n)]
    for one, other in combinations(sets, 2):
        assert are_candidates(one, other, table) == any(bijections(one, other, table))


def test_theorem_2_gives_images_of_all_different_colours_and_definition_1_does_not():
    table = dict(enumerate("aabbccdd"))
    a = frozenset({0, 1})
    for one in map(frozenset, combinations(range(2, 8), 2)):
        for other in map(frozenset, combinations(set(range(2, 8)) - one, 2)):
            if meets_theorem_2(a, [one, other], table):
                assert any(
                    table[x] != table[u] and table[y] != table[v]
                    for x, y in permutations(one)
                    for u, v in permutations(other)
                )


def test_shares_that_are_none_are_refused():
    for most in ("abc", "1/0", None, -1, "3/2", float("nan"), float("inf"), [1]):
        for use in (
            lambda most: locally_safe(T0, most),
            lambda most: disclosure_set([], T0, most),
            lambda most: worst_posterior([], T0, most),
            lambda most: is_globally_safe([], T0, most),
            lambda most: largest_safe_sets(ONE, most, strong=True),
        ):
            with pytest.raises(InputError, match=r"most must be a share from 0 to 1"):
                use(most)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([{"Ada", "Bob"}], "'Coy' is in the table, but in no group"),
        ([set(T0), {"Zoe"}], "'Zoe' is in a group, but not in the table"),
        ([{"Ada", "Bob"}, set(T0) - {"Ada"}], "'Bob' is in two groups"),
        ([set(T0), set()], "a group of a partition is empty"),
    ],
)
def test_groups_that_are_no_partition_are_refused(groups, message):
    wrong = frozenset(map(frozenset, groups))
    for use in (
        lambda: disclosure_set([P[9], wrong], T0, MOST),
        lambda: disclosure_set([P[9]], T0, MOST, wrong),
        lambda: worst_posterior([wrong], T0, MOST),
        lambda: worst_posterior([P[9]], T0, MOST, wrong),
        lambda: is_globally_safe({wrong}, T0, MOST),
        lambda: is_strongly_globally_safe({P[9], wrong}, T0, MOST),
    ):
        with pytest.raises(InputError, match=message):
            use()


def test_groups_that_are_no_partition_are_refused_with_candidates_too():
    can = candidates("id3 id4", "id1 id2")
    wrong = partition("id1 id2 id3")
    with pytest.raises(InputError, match="'id4' is in the table"):
        is_self_contained(wrong, can)
    with pytest.raises(InputError, match="'id4' is in the table"):
        is_family_set([wrong], can)
    with pytest.raises(InputError, match="'id4' is in the table"):
        is_l_cover([wrong], can)


def test_overlapping_groups_are_refused():
    with pytest.raises(InputError, match="'Bob' is in two groups"):
        partition("Ada Bob", "Bob Coy")
    with pytest.raises(InputError, match="empty"):
        partition("Ada", "")


def test_partitions_that_are_safe_for_no_table_tell_nothing():
    with pytest.raises(InputError, match="no table is possible"):
        worst_posterior([partition("Ada Bob", "Coy Dan", "Eve")], T0, MOST)


def test_a_set_that_is_not_safe_for_the_table_is_no_gss():
    assert not is_globally_safe([partition("Ada Bob", "Coy Dan", "Eve")], T0, MOST)


def test_bijections_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="maps to 'id9', who is not in the table"):
        candidates("id3 id9", "id1 id2")
    with pytest.raises(InputError, match="each value of the table"):
        Candidates(ONE, {"s1": []})
    with pytest.raises(InputError, match="must map all"):
        Candidates(ONE, {"s1": [{"id1": "id3"}], "s2": [{"id3": "id1", "id4": "id2"}]})
    with pytest.raises(InputError, match="not candidates"):
        candidates("id3 id3", "id1 id2")
