"""Policies made in Python: thresholds, values, skylines, contradictions, and their tables."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import foreknow as fk
from foreknow import Facts, GroupCounts, Policy, PublishOptions, Requirement, Schema
from foreknow_judge.errors import PolicyError
from foreknow_judge.verdict import Limit

ILL = GroupCounts.from_bags([["Flu", "Flu", "AIDS"], ["Flu", "Cold"]])


def required(below=0.5, **more):
    return Requirement(Facts(l=1), below, **more)


# ---- thresholds -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("below", "exact"),
    [
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        ("2/3", Fraction(2, 3)),
        (Fraction(2, 3), Fraction(2, 3)),
        (2 / 3, Fraction("0.6666666666666666")),
        (1, Fraction(1)),
        (1e-300, Fraction(1, 10**300)),
    ],
    ids=repr,
)
def test_thresholds_are_exact(below, exact):
    assert required(below).points[0].below == exact


@pytest.mark.parametrize("below", [0, 0.0, 1.5, -1, "0", "3/2", Fraction(-1, 2), 1 + 1e-15])
def test_a_threshold_lies_above_0_and_is_at_most_1(below):
    said = "requirement: below: a threshold must be above 0 and at most 1"
    with pytest.raises(PolicyError, match=said):
        required(below)


@pytest.mark.parametrize(
    "below", ["x", "", "50%", "1/0", math.nan, math.inf, Decimal("NaN"), True, [0.5], b"1/2"]
)
def test_a_threshold_is_a_number(below):
    with pytest.raises(PolicyError, match=r"is not a number; write one such as 0\.95, or"):
        required(below)


def test_a_threshold_is_needed():
    with pytest.raises(PolicyError, match=r"threshold is missing; give below = a number in \(0, 1"):
        Requirement(Facts())


# ---- skylines ---------------------------------------------------------------------------------


def test_a_skyline_has_a_threshold_at_each_point():
    points = Requirement([(Facts(l=1), 0.5), (Facts(k=1), "2/3")]).points
    half, most = Fraction(1, 2), Fraction(2, 3)
    assert points == ((Facts(l=1), Limit(half)), (Facts(k=1), Limit(most)))


@pytest.mark.parametrize(
    ("skyline", "below", "says"),
    [
        ([], None, "a skyline needs at least one point"),
        ([(Facts(), 0.5)], 0.5, "a skyline has a threshold in each point, none beside them"),
        ([Facts(l=1)], None, r"a skyline is a list of \(adversary, below\) pairs"),
        ([(Facts(), 0.5), (Facts(l=1), 2)], None, "a threshold must be .* at most 1, not 2"),
        (
            [(Facts(l=1), 0.5), (Facts(l=1), 0.6)],
            None,
            r"Facts\(l=1, k=0, m=0\) has two thresholds, 1/2 and 3/5; keep one",
        ),
    ],
)
def test_a_skyline_that_cannot_be_meant_says_why(skyline, below, says):
    with pytest.raises(PolicyError, match=f"requirement: {says}"):
        Requirement(skyline, below)


# ---- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"values": "AIDS"}, r"values must be a list, such as \['AIDS'\]"),
        ({"excluded": "AIDS"}, r"except must be a list, such as \['AIDS'\]"),
        ({"values": []}, "values is empty; leave it out to mean every value"),
        ({"values": ["AIDS", "Flu", "AIDS"]}, "values names 'AIDS' twice"),
        ({"excluded": ["Flu", "Flu"]}, "except names 'Flu' twice"),
        ({"values": ["AIDS"], "excluded": ["Flu"]}, "give values or except, not both"),
        ({"values": [1, "1"]}, "values names '1' twice"),
        ({"values": 5}, r"values must be a list, such as \[5\]"),
        ({"excluded": {"Flu": 1}}, "except must be a list"),
    ],
    ids=str,
)
def test_values_that_cannot_be_meant_are_refused_by_name(more, says):
    with pytest.raises(PolicyError, match=f"HIV: {says}"):
        required(**more, name="HIV")


@pytest.mark.parametrize("make", [set, iter, lambda values: (v for v in values)])
def test_values_may_be_any_iterable(make):
    assert set(required(values=make(["AIDS", "Flu"])).values) == {"AIDS", "Flu"}


def test_values_are_kept_as_they_print():
    assert required(values=[7, True, Decimal("1.50")]).values == ("7", "True", "1.50")


# ---- several requirements ---------------------------------------------------------------------


def test_a_policy_requires_something():
    with pytest.raises(PolicyError, match=r"requires nothing; add at least one \[\[require\]\]"):
        Policy([])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("strict", "loose", "says"),
    [
        (
            {"values": ["Flu", "AIDS"]},
            {"values": ["AIDS"]},
            "b: 'AIDS' must stay below 3/5 here and below 1/2 in a, against the same Facts",
        ),
        ({}, {}, "b: every value must stay below 3/5 here and below 1/2 in a, .*keep one"),
        ({"values": ["1"]}, {"values": [1]}, "b: '1' must stay below 3/5 here and below 1/2 in a"),
        # an exception without except, and a looser requirement, that have no effect
        (
            {},
            {"values": ["Flu"]},
            r"b: below 3/5 for 'Flu' has no effect, since a asks below 1/2 of every value; "
            r"add except = \['Flu'\] there",
        ),
        *[
            ({"excluded": strict}, {"excluded": loose}, "keep one, or exclude those values")
            for strict, loose in [([], ["Flu"]), (["Flu"], ["Flu"]), (["Flu"], ["Cold", "Flu"])]
        ],
        ({"excluded": [1]}, {"excluded": ["1"]}, "keep one, or exclude those values"),
    ],
)
def test_two_thresholds_for_one_value_contradict_each_other(strict, loose, says, turned):
    both = [required(0.5, name="a", **strict), required(0.6, name="b", **loose)]
    if turned and "must stay" in says:
        says = "a: .* must stay below 1/2 here and below 3/5 in b"
    with pytest.raises(PolicyError, match=says):
        Policy(both[::-1] if turned else both)


@pytest.mark.parametrize(
    "pair",
    [
        [required(0.6), required(0.5, values=["AIDS"])],
        [required(0.5, excluded=["Flu"]), required(0.6, values=["Flu"])],
        [required(0.5, excluded=[1]), required(0.6, values=["1"])],
        [required(0.5, values=["Flu"]), required(0.6, values=["AIDS"])],
        [required(0.5), Requirement(Facts(l=2), 0.6, values=["AIDS"])],
        [required(0.5), required(0.5, values=["AIDS"])],
    ],
)
def test_requirements_that_both_have_an_effect_are_kept(pair):
    assert Policy(pair).requirements == tuple(pair)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("strict", "loose"),
    [(["Flu"], []), (["Flu", "Cold"], ["Cold"]), (["Flu"], ["Cold"]), ([1], ["Flu"])],
)
def test_a_stricter_requirement_with_an_except_of_its_own_leaves_the_looser_its_effect(
    strict, loose, turned
):
    both = [required(0.5, excluded=strict), required(0.6, excluded=loose)]
    both = both[::-1] if turned else both
    assert Policy(both).requirements == tuple(both)


# ---- what a policy says -----------------------------------------------------------------------


def test_failures_are_told_in_words():
    policy = Policy(
        [Requirement(Facts(), "1/2", values=["Cold"], name="cold"), Requirement(Facts(), 1)]
    )
    assert policy.failures(ILL) == [
        "cold: Facts(l=0, k=0, m=0) reaches 0.5 for 'Cold', the limit is 0.5, "
        "which must not be reached"
    ]


def test_monotone_depends_on_the_semantics_of_the_schema():
    sets = Schema(quasi_identifiers=["a"], sensitive="d", semantics="set", person="p")
    assert Policy([required()]).monotone()
    assert not Policy([required()], sets).monotone()


def test_requirements_are_hashable():
    assert len({Requirement([(Facts(), 0.5)]), Requirement([(Facts(), 0.5)])}) == 1


FULL = Policy(
    [
        Requirement(Facts(1, 2, 3), "2/3", values=("AIDS",), name="require[0]"),
        Requirement(Facts(1), "1/10", excluded=("AIDS", "HIV"), name="require[1]"),
        Requirement([(Facts(2), "1/2"), (Facts(k=1), "3/4")], name="require[2]"),
    ],
    Schema(quasi_identifiers=["age"], sensitive="disease"),
    PublishOptions(
        form="bucketized", format="parquet", labels={"age": "set"}, escape_formulas=True
    ),
)


def test_the_table_of_a_policy_makes_the_same_points_again():
    again = Policy.from_dict(FULL.to_dict())
    assert [r.points for r in again.requirements] == [r.points for r in FULL.requirements]
    assert [r.values for r in again.requirements] == [("AIDS",), None, None]
    assert [r.excluded for r in again.requirements] == [(), ("AIDS", "HIV"), ()]
    assert (again.schema, again.options) == (FULL.schema, FULL.options)
    assert again.to_dict() == FULL.to_dict()


@pytest.mark.parametrize(
    "requirement",
    [
        Requirement(Facts(1), 0.5, name="require[0]"),
        Requirement(Facts(1), Decimal("0.50"), values=["x"], name="require[0]"),
        Requirement([(Facts(1), 0.5)], name="require[0]"),
        Requirement([(Facts(1), 0.5), (Facts(2), "0.6")], name="require[0]"),
        Requirement(Facts(1), "1/2", values=[7], name="HIV"),
    ],
)
def test_the_table_of_a_policy_makes_equal_requirements_again(requirement):
    policy = Policy([requirement])
    again = Policy.from_dict(policy.to_dict()).requirements
    assert again == policy.requirements
    assert again[0].name == requirement.name


def test_options_may_be_given_as_a_mapping():
    required = [fk.Requirement(fk.KAnonymity(2))]
    made = fk.Policy(required, options={"form": "bucketized"})
    assert made.options == fk.PublishOptions(form="bucketized")
    with pytest.raises(fk.ForeknowError, match="did you mean 'form'"):
        fk.Policy(required, options={"from": "bucketized"})
