"""Disclosure: comparing with thresholds exactly, reading numbers, and what it looks like."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts
from foreknow_judge.errors import InputError
from foreknow_judge.numbers import as_fraction, as_threshold


def disclosed(share):
    """A disclosure of exactly this share: one group with so many holders."""
    share = Fraction(share)
    bag = {"a": share.numerator, "b": share.denominator - share.numerator}
    counts = GroupCounts.from_bags([{value: n for value, n in bag.items() if n}])
    return Facts().disclosure(counts, "a")


@pytest.mark.parametrize(
    ("share", "threshold"),
    [
        ("1/2", 0.5),
        ("1/2", "0.5"),
        ("1/2", "1/2"),
        ("1/2", Decimal("0.5")),
        ("1/2", Fraction(1, 2)),
        ("1/10", 0.1),  # the float lies above one tenth, but stands for what it prints as
        ("1/10", "0.1"),
        ("1/10", Decimal("0.1")),
        ("3/10", 0.3),  # and this one below three tenths
        ("7/10", 0.7),
        ("2/3", "2/3"),
        ("1/3", Fraction(1, 3)),
        ("1", 1),
        ("1", 1.0),
        ("1", "1"),
        ("1/1000000", 1e-6),
        ("1/1000000", "1e-6"),
    ],
)
def test_a_probability_is_not_below_itself_however_it_is_written(share, threshold):
    found = disclosed(share)
    assert found.exact == Fraction(share)
    assert found.below(threshold) is False


@pytest.mark.parametrize("share", ["1/3", "1/10", "2/3", "999999/1000000"])
@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-12, 1e-15])
def test_below_is_strict_on_both_sides_however_near(share, gap):
    found = disclosed(share)
    gap = as_fraction(gap)
    assert found.below(found.exact + gap)
    assert not found.below(found.exact - gap)


def test_the_nearest_float_of_a_third_is_not_a_third():
    third = disclosed("1/3")
    assert Fraction(repr(1 / 3)) < Fraction(1, 3)
    assert not third.below(1 / 3)
    assert third.below(math.nextafter(1 / 3, 1))
    assert not third.below(Decimal(1) / Decimal(3))
    assert third.below("0.33333333333333333333333333333333333334")


@pytest.mark.parametrize("number", ["1e400", 10**400])
def test_numbers_too_large_for_a_float_are_compared_all_the_same(number):
    assert disclosed("1/2").below(number) is True


def test_without_a_fraction_a_near_tie_does_not_count_as_below():
    floating = Disclosure("a", 0.5)
    assert floating.exact is None
    assert floating.witness is None
    assert not floating.below("0.5000000000001")
    assert floating.below("0.51")
    assert not floating.below("0.49")


@pytest.mark.parametrize("wrong", ["a half", "1/0", None, True, [1], math.nan, math.inf, ""])
def test_what_is_no_number_is_refused(wrong):
    with pytest.raises(InputError, match=r"is not a number; write one such as 0\.95, or"):
        as_fraction(wrong)
    with pytest.raises(InputError):
        disclosed("1/2").below(wrong)


@pytest.mark.parametrize("outside", [0, -0.5, "3/2", 1.0000001])
def test_a_threshold_lies_above_0_and_at_most_at_1(outside):
    with pytest.raises(InputError, match="a threshold must be above 0 and at most 1"):
        as_threshold(outside)


def test_a_disclosure_shows_and_lists_itself():
    found = disclosed("1/3")
    assert repr(found) == "Disclosure('a', 0.333333)"
    assert found._repr_html_() == "<code>Disclosure(&#x27;a&#x27;, 0.333333)</code>"
    assert found.to_dict() == {
        "value": "a",
        "probability": found.probability,
        "exact": "1/3",
        "witness": found.witness.to_dict(),
    }
    assert Disclosure("a", 0.5).to_dict()["exact"] is None


def test_an_estimate_is_never_below_a_threshold_and_says_that_it_is_one():
    found = Disclosure("AIDS", 0.2, estimated=True)
    assert found.below("0.9") is False
    assert found.below(2) is True
    assert "about 0.2" in repr(found)
    assert found.to_dict()["estimated"] is True


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", Decimal("1e-9999")])
def test_numbers_of_thousands_of_digits_are_refused_at_once(number):
    with pytest.raises(InputError, match="too large or too small"):
        as_fraction(number)


def test_a_threshold_below_every_float_is_refused():
    with pytest.raises(InputError, match="at least 1e-300"):
        as_threshold("1e-400")
    assert as_threshold("1e-299") > 0
