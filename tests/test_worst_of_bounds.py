"""Of bounds without a fraction that are nearly alike, the worst is the highest."""

from fractions import Fraction

from foreknow.adversaries.disclosure import Disclosure, worst, worst_by_prior

NEAR = 2.0**-31  # nearer than floats are trusted


def bound(value, probability, prior=None):
    return Disclosure(value, probability, bounded=True, prior=prior)


def test_the_highest_of_bounds_is_the_worst():
    a, b = bound("a", 0.5), bound("b", 0.5 + NEAR)
    assert worst([a, b]) is b
    assert worst([b, a]) is b


def test_a_fraction_above_a_bound_is_the_worst():
    exact = Fraction(1, 2) + Fraction(1, 2**31)
    a, b = bound("a", 0.5), Disclosure("b", float(exact), lambda: exact)
    assert worst([a, b]) is b
    assert worst([bound("c", 0.5 + 2 * NEAR), b]).value == "c"


def test_what_has_no_fraction_and_is_no_bound_may_be_the_highest():
    half = Disclosure("a", 0.5, lambda: Fraction(1, 2))
    assert worst([half, Disclosure("b", 0.5 - NEAR)]).value == "b"


def test_relative_to_priors_too():
    tenth = Fraction(1, 10)
    a, b = bound("a", 0.5, tenth), bound("b", 0.5 + NEAR / 2, tenth)
    assert worst_by_prior([a, b]) is b
