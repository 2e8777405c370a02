"""Percentages keep to their side of the limit, whatever it takes."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreknow.adversaries.disclosure import Disclosure
from foreknow.report.words import limit_text, percent


def shown(exact, limit, digits=0):
    exact = Fraction(exact)
    return percent(Disclosure("AIDS", float(exact), lambda: exact), Fraction(limit), digits)


@pytest.mark.parametrize(
    ("exact", "limit", "text"),
    [
        ("0.62", "0.5", "62%"),
        ("0.62", "0.621", "62%"),
        ("0.6204", "0.621", "62%"),
        ("0.6211", "0.621", "62.11%"),
        ("0.6204", "0.62", "62.04%"),
        ("0.62", "0.62", "62%"),
        ("0.499", "0.5", "49.9%"),
        ("0.4999999999999", "0.5", "49.99999999999%"),
        ("0.5000000000001", "0.5", "50.00000000001%"),
        ("0.999", "0.5", "99.9%"),
        ("0.9999999999999999999", "0.5", "99.99999999999999999%"),
        ("0.999", "1", "99.9%"),
        ("1", "0.5", "100%"),
        ("1", "1", "100%"),
        ("0", "0.5", "0%"),
        ("0.0004", "0.5", "0.04%"),
        ("2/3", "2/3", "2/3"),
        ("1/3", "2/3", "33%"),
        ("0.6667", "2/3", "67%"),
        ("0.6666", "2/3", "66.66%"),
        ("1/8", "0.5", "12%"),
    ],
)
def test_digits_until_they_differ(exact, limit, text):
    assert shown(exact, limit) == text


def test_tables_begin_with_one_decimal():
    assert shown("0.62", "0.5", digits=1) == "62.0%"


@pytest.mark.parametrize(
    ("limit", "text"),
    [("0.5", "50%"), ("0.621", "62.1%"), ("2/3", "2/3"), ("1", "100%"), ("0.00125", "0.125%")],
)
def test_a_limit_is_written_exactly(limit, text):
    assert limit_text(Fraction(limit)) == text


def test_without_a_fraction_a_near_float_counts_as_the_limit():
    assert percent(Disclosure("AIDS", 0.5 - 1e-12), Fraction(1, 2)) == "50%"
    assert percent(Disclosure("AIDS", 0.5 - 1e-8), Fraction(1, 2)) == "49.999999%"


def test_the_fraction_is_not_asked_for_far_from_the_limit():
    def never():
        raise AssertionError

    assert percent(Disclosure("AIDS", 0.25, never), Fraction(1, 2)) == "25%"


@given(
    st.fractions(0, 1, max_denominator=10**13),
    st.fractions(0, 1, max_denominator=10**4).filter(bool),
    st.integers(0, 3),
)
def test_the_text_stands_to_the_limit_as_the_probability_does(exact, limit, digits):
    text = shown(exact, limit, digits)
    if exact == limit:
        assert text == limit_text(limit)
        return
    number = Fraction(text.removesuffix("%")) / 100
    assert (number < limit, number > limit) == (exact < limit, exact > limit)
    assert (number == 0, number == 1) == (exact == 0, exact == 1)
    assert abs(number - exact) <= Fraction(1, 100)
