"""What Mondrian returns is safe, and no candidate cut of any group of it still is."""

from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.reference import (
    Levels,
    Line,
    bag_of,
    breach,
    failures,
    members_of,
    safe_cuts,
)
from tests.methods.tables import cases, interval_path, mask_path, policies, tree_path
from tests.examples import examples
from tests.oracle.worlds import worst_cases

import foreknow as fk


def check(case, policy, rules, cuts=1):
    """Partition a case and hold the result against the reference; the groups, or None."""
    root = [bag_of(range(len(case.rows)), case.sensitive)]
    method = fk.Mondrian(cuts)
    if failures(root, rules):
        with pytest.raises(fk.NoSafeRelease):
            method.partition(case.microdata(), policy)
        return None
    groups = members_of(method.partition(case.microdata(), policy).tolist())
    bags = [bag_of(members, case.sensitive) for members in groups]
    assert not failures(bags, rules)
    left = safe_cuts(groups, case.rows, case.sensitive, case.attributes, rules, cuts)
    assert not left, (groups, left)
    return groups


@examples(120, deadline=None)
@given(data=st.data(), case=cases())
def test_any_result_is_safe_and_minimal(data, case):
    policy, rules = data.draw(policies(case.sensitive))
    check(case, policy, rules)


@examples(60, deadline=None)
@given(data=st.data(), case=cases(most_attributes=2), cuts=st.integers(2, 4))
def test_with_more_candidates_it_is_minimal_for_all_of_them(data, case, cuts):
    policy, rules = data.draw(policies(case.sensitive))
    check(case, policy, rules, cuts)


@examples(60, deadline=None)
@given(case=cases(), amounts=st.tuples(*[st.integers(0, 1)] * 3))
def test_a_threshold_that_a_result_attains_forbids_that_result(case, amounts):
    everyone = [(sorted(set(case.sensitive)), amounts, Fraction(1))]
    policy = fk.Policy([fk.Requirement(fk.Facts(*amounts), 1)])
    groups = check(case, policy, everyone)
    if groups is None:
        return
    bags = [bag_of(members, case.sensitive) for members in groups]
    attained = max(breach(bags, value, amounts) for value in everyone[0][0])
    stricter = fk.Policy([fk.Requirement(fk.Facts(*amounts), attained)])
    again = check(case, stricter, [(everyone[0][0], amounts, attained)])
    assert again is None or again != groups


@examples(40, deadline=None)
@given(data=st.data(), case=cases(most_rows=6, most_attributes=2))
def test_tiny_results_are_safe_by_enumeration_of_worlds(data, case):
    policy, rules = data.draw(policies(case.sensitive))
    try:
        groups = members_of(fk.Mondrian().partition(case.microdata(), policy).tolist())
    except fk.NoSafeRelease:
        groups = [list(range(len(case.rows)))]
        assert not _enumerated_safe(groups, case.sensitive, rules)
    else:
        assert _enumerated_safe(groups, case.sensitive, rules)


def _enumerated_safe(groups, sensitive, rules):
    bags = ["".join(sensitive[i] for i in members) for members in groups]
    return all(
        worst_cases(bags, value, point)[point] < c for values, point, c in rules for value in values
    )


@examples(60, deadline=None)
@given(
    bags=st.lists(st.text("stu", min_size=1, max_size=3), min_size=1, max_size=2),
    point=st.tuples(*[st.integers(0, 2)] * 3),
)
def test_the_reference_itself_agrees_with_enumeration(bags, point):
    for value in {x for bag in bags for x in bag}:
        assert (
            breach([Counter(bag) for bag in bags], value, point)
            == (worst_cases(bags, value, point)[point])
        )


# ---- examples that were worked out by hand -----------------------------------------------------


def _partition(columns, sensitive, policy, cuts=1, **hierarchies):
    schema = fk.Schema(
        quasi_identifiers=list(columns), sensitive="disease", hierarchies=hierarchies
    )
    table = pa.table({**columns, "disease": list(sensitive)})
    return fk.Mondrian(cuts).partition(fk.Microdata(table, schema), policy).tolist()


def test_a_probability_equal_to_the_threshold_refuses_the_cut():
    ages, diseases = [1, 2, 3, 4], "stts"
    half = fk.Policy([fk.Requirement(fk.Facts(), "1/2")])
    more = fk.Policy([fk.Requirement(fk.Facts(), Fraction(1, 2) + Fraction(1, 10**12))])
    with pytest.raises(fk.NoSafeRelease):
        _partition({"age": ages}, diseases, half)
    assert _partition({"age": ages}, diseases, more) == [0, 0, 1, 1]


def test_a_float_threshold_is_the_decimal_that_it_prints_as():
    # Three people with s, t, u: 1/3 each. 0.3333333333333333 is below it, the next one above.
    policy = fk.Policy([fk.Requirement(fk.Facts(), 0.3333333333333334)])
    assert _partition({"age": [1, 2, 3]}, "stu", policy) == [0, 0, 0]
    with pytest.raises(fk.NoSafeRelease):
        _partition({"age": [1, 2, 3]}, "stu", fk.Policy([fk.Requirement(fk.Facts(), 1 / 3)]))


def test_a_refused_cut_is_followed_by_one_along_another_attribute():
    # Along age, the best cut leaves {s, s}; along sex both sides are {s, t}.
    columns = {"age": [1, 1, 90, 90], "sex": ["f", "m", "f", "m"]}
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9")])
    found = _partition(columns, "sstt", policy)
    assert [found[0] == found[i] for i in range(4)] == [True, False, True, False]


def test_of_three_children_one_is_set_apart_where_all_apart_is_unsafe():
    tree = fk.Tree([["a", "p", "*"], ["b", "q", "*"], ["c", "r", "*"]])
    values = ["a", "a", "b", "c"]
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9")])
    assert len(set(_partition({"x": values}, "stst", policy, x=tree))) == 2
    found = _partition({"x": values}, "stst", policy, x=tree)
    assert found[0] == found[1] != found[2] == found[3]


def test_of_three_texts_one_in_the_middle_can_be_set_apart():
    values = ["b", "a", "c", "b"]
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9")])
    found = _partition({"x": values}, "sstt", policy, cuts=4)
    assert found[0] == found[3]
    assert found[1] == found[2] != found[0]


def test_values_that_are_excepted_may_be_disclosed():
    ages = {"age": [1, 2, 3, 4]}
    everything_is = fk.Policy([fk.Requirement(fk.Facts(k=2), 1, excluded=["t"])])
    assert len(set(_partition(ages, "tttt", everything_is))) == 4
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9", excluded=["t"])])
    assert len(set(_partition(ages, "sttt", policy))) == 3


def test_every_point_of_a_skyline_counts_with_its_own_threshold():
    columns = {"age": list(range(8))}
    loose = fk.Requirement([(fk.Facts(), "0.9")])
    both = fk.Requirement([(fk.Facts(), "0.9"), (fk.Facts(k=1), "0.6")])
    assert len(set(_partition(columns, "stuvwxyz", fk.Policy([loose])))) == 4
    assert len(set(_partition(columns, "stuvwxyz", fk.Policy([both])))) == 2


def test_nulls_are_a_value_of_their_own_before_all_others():
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9")])
    found = _partition({"age": [None, 5, None, 5]}, "stts", policy)
    assert found[0] == found[2] != found[1] == found[3]


def test_the_reference_knows_the_candidates_of_a_few_groups():
    assert Line().split([3, 3, 3], 5) == ([], [])
    _, classes = Line().split([1, 2, 2, None], 2)
    assert classes == [(1, [[False, True, True, False]]), (1, [[True, True, True, False]])]
    assert Line().split([1, 2, 3, 4, 5], 1)[1] == [
        (1, [[False, False, True, True, True], [False, False, False, True, True]])
    ]
    _, classes = Line(nominal=True).split(["a", "b", "c"], 9)
    assert len(classes) == 1
    assert classes[0][0] == 5
    certain, classes = Levels(mask_path).split(["000", "010", "111", "111"], 1)
    assert certain == [[(2, "0"), (2, "0"), (2, "1"), (2, "1")]]
    assert classes == []
    certain, classes = Levels(tree_path).split(["a", "d", "f", "h"], 1)
    assert certain == [[(2, "u"), (2, "u"), (2, "v"), (2, "w")]]
    assert classes == [(1, [[True, True, False, False]])]
    assert Levels(interval_path).split([1, 1], 3) == ([], [])
