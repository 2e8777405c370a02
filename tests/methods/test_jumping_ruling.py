"""A highest ratio with values ruled out: against enumeration, its limits, and its convexity."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.oracle.jump_requirements import judge_of

import foreknow as fk
from foreknow.criteria.properties import MaxRatio, RuledOut

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


def about_of(values, excluded):
    return lambda value: (values is None or value in values) and value not in excluded


@examples(800, deadline=None)
@given(counts, limits, st.integers(0, 5), abouts)
def test_it_is_what_enumeration_of_ruled_out_values_says(numbers, limit, l, about):  # noqa: E741
    prop = RuledOut(limit, l, *about)
    total = sum(numbers)
    shares = {v: F(n, total) for v, n in zip(VALUES, numbers, strict=False) if n}
    expected = judge_of([(limit, l, about_of(*about))])(shares, total)
    assert prop.allows(row_of(prop, numbers), total, total) == expected
    # The limit itself is never allowed, and a limit just above is not reached.
    if l == 0:
        plain = MaxRatio(limit, strict=True, values=about[0], excluded=about[1])
        assert plain.allows(row_of(plain, numbers), total, total) == expected


@examples(400, deadline=None)
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


@examples(400, deadline=None)
@given(counts, counts, st.integers(0, 6), limits, st.integers(0, 4), abouts)
def test_a_mixture_of_what_passes_passes(one, other, part, limit, l, about):  # noqa: E741
    """What `convex` promises: no disclosure set is safe in a permutation set that is not."""
    prop = RuledOut(limit, l, *about)
    pair = [numbers + [0] * (5 - len(numbers)) for numbers in (one, other)]
    if all(prop.allows(row_of(prop, numbers), sum(numbers), 9) for numbers in pair):
        sums = [sum(numbers) for numbers in pair]
        mixed = [part * a * sums[1] + (6 - part) * b * sums[0] for a, b in zip(*pair, strict=True)]
        assert prop.allows(row_of(prop, mixed), 6 * sums[0] * sums[1], 9)


def test_values_are_compared_as_they_print():
    assert MaxRatio("1/2", values=["5"]).colour(5) == 0
    assert RuledOut("1/2", 1, values=[5]).colour("5") == 0
    assert RuledOut("1/2", 1, excluded=[5]).colour("5") == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RuledOut(0, 1), "above 0 and at most 1"),
        (lambda: RuledOut("3/2", 1), "above 0 and at most 1"),
        (lambda: RuledOut("1/2", -1), "whole number from 0"),
        (lambda: RuledOut("1/2", True), "whole number from 0"),
        (lambda: RuledOut("1/2", 1, values="flu"), "values is a list"),
        (lambda: RuledOut("1/2", 1, excluded="flu"), "excluded is a list"),
        (lambda: MaxRatio("1/2", excluded="flu"), "excluded is a list"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()


def test_they_say_what_they_are():
    assert repr(RuledOut("1/2", 2, ["a"])) == "RuledOut('1/2', 2, values=['a'])"
    assert repr(MaxRatio("1/2", excluded=["a"])) == "MaxRatio('1/2', excluded=['a'])"
