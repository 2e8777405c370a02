"""Sentences, word for word."""

import pytest
from tests.report.audits import Oracle, evil, small, verdict_of

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.auditing.audit import Verdict, audit
from foreknow.data.counts import GroupCounts
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.report.pages.audit_terminal import (
    adversary_phrase,
    headline,
    requirement_title,
    sensitive_noun,
    telling,
    values_phrase,
    verdict_sentence,
)


def said(*args, noun="diagnosis", **options):
    return verdict_sentence(verdict_of(*args, **options), noun)


def test_the_model_sentence():
    assert said("0.62", ruled_out=["Flu"], known=5, family=1) == (
        "Someone who knows that the target does not have Flu, knows 5 other people's diagnoses "
        "and one relative can be 62% sure that a member of group 17 has AIDS; your limit is 50%."
    )


@pytest.mark.parametrize(
    ("facts", "who"),
    [
        ({}, "knows nothing but the release"),
        ({"known": 1}, "knows one other person's diagnosis"),
        ({"known": 2}, "knows 2 other people's diagnoses"),
        ({"family": 1}, "knows one relative"),
        ({"family": 3}, "knows 3 relatives"),
        ({"known": 1, "family": 2}, "knows one other person's diagnosis and 2 relatives"),
        ({"ruled_out": ["Flu"]}, "knows that the target does not have Flu"),
        (
            {"ruled_out": ["Flu", "Gout"], "known": 1},
            "knows that the target does not have Flu or Gout and knows one other person's "
            "diagnosis",
        ),
        (
            {"ruled_out": ["Flu"], "family": 2},
            "knows that the target does not have Flu and knows 2 relatives",
        ),
        (
            {"ruled_out": list("ABCDEFG")},
            "knows that the target does not have A, B, C, D or 3 others",
        ),
    ],
)
def test_facts_of_a_kind_may_be_none_one_or_several(facts, who):
    assert said("0.62", **facts) == (
        f"Someone who {who} can be 62% sure that a member of group 17 has AIDS; your limit is 50%."
    )


def test_a_safe_verdict():
    assert said("0.42", known=2) == (
        "Even someone who knows 2 other people's diagnoses can be only 42% sure that a member of "
        "group 17 has AIDS; your limit is 50%."
    )


def test_certainty():
    assert said(1, known=2) == (
        "Someone who knows 2 other people's diagnoses can be certain that a member of group 17 "
        "has AIDS; your limit is 50%."
    )


@pytest.mark.parametrize(
    ("exact", "limit", "sure", "end"),
    [
        ("0.5", "0.5", "exactly 50% sure", "50%, which must not be reached."),
        ("1", "1", "certain", "100%, which must not be reached."),
        ("2/3", "2/3", "exactly 2/3 sure", "2/3, which must not be reached."),
        ("0.50000000001", "0.5", "50.000000001% sure", "50%."),
        ("0.6211", "0.621", "62.11% sure", "62.1%."),
        ("0.9999", "0.5", "99.99% sure", "50%."),
    ],
)
def test_at_the_limit_and_beside_it(exact, limit, sure, end):
    assert said(exact, limit=limit) == (
        f"Someone who knows nothing but the release can be {sure} that a member of group 17 has "
        f"AIDS; your limit is {end}"
    )


def test_without_a_schema_a_diagnosis_is_a_sensitive_value():
    counts = GroupCounts.from_bags([["Flu", "AIDS", "AIDS", "Gout"]])
    found = audit(counts, Policy([Requirement(Facts(0, 1, 0), below="0.5")]))
    assert verdict_sentence(found.verdicts[0], sensitive_noun(found.policy)) == (
        "Someone who knows one other person's sensitive value can be 67% sure that a member of "
        "group 0 has AIDS; your limit is 50%."
    )


def test_a_value_that_nobody_has():
    counts = GroupCounts([2], [0, 2], [0, 1], [1, 1], ["Flu", "Gout", "AIDS"])
    policy = Policy([Requirement(Facts(), below="0.5", values=["AIDS"])])
    found = audit(counts, policy)
    assert verdict_sentence(found.verdicts[0]) == (
        "Nobody in the release has AIDS, so there is nothing to find out; your limit is 50%."
    )
    assert found.safe


def test_a_requirement_about_no_value_at_all():
    requirement = Requirement(Facts(), below="0.5", excluded=["Flu"])
    nothing = Verdict(requirement, requirement.points[0], Disclosure(None, 0.0), True, ())
    assert verdict_sentence(nothing, "diagnosis") == (
        "Nobody in the release has any diagnosis that this requirement is about."
    )


@pytest.mark.parametrize(
    ("facts", "phrase"),
    [
        (
            Facts(2, 5, 2),
            "knows up to 2 values the target does not have, 5 other people's values, and "
            "2 relatives",
        ),
        (
            Facts(1, 1, 1),
            "knows up to one value the target does not have, one other person's "
            "value, and one relative",
        ),
        (Facts(0, 5, 2), "knows up to 5 other people's values and 2 relatives"),
        (Facts(3, 0, 0), "knows up to 3 values the target does not have"),
        (Facts(0, 1500, 0), "knows up to 1,500 other people's values"),
        (Facts(), "knows nothing but the release"),
    ],
)
def test_what_an_adversary_may_know(facts, phrase):
    assert adversary_phrase(facts) == phrase


def test_another_kind_of_adversary_gets_a_generic_sentence():
    counts = GroupCounts.from_bags([["Flu", "AIDS"]])
    found = audit(counts, Policy([Requirement(Oracle(), below="0.5", values=["AIDS"])]))
    assert verdict_sentence(found.verdicts[0]) == (
        "Someone who has the knowledge Oracle(amount=3) can be 62% sure that somebody has AIDS; "
        "your limit is 50%."
    )
    assert telling(Oracle()).short == "Oracle(amount=3)"


def test_details_say_who_and_where():
    verdict = verdict_of("0.62", ruled_out=["Flu"], known=5, family=2, group=("20 to 37", "M"))
    assert telling(verdict.point.adversary, verdict.disclosure.witness).details == (
        ("The target", "in group “20 to 37, M”; does not have Flu"),
        ("Known people", "in group “20 to 37, M”: Flu × 5"),
        ("2 relatives", "in group “20 to 37, M”; if any of them has AIDS, so has the target"),
    )


def of(*limits):
    counts = GroupCounts.from_bags([["Flu", "AIDS"]])  # every probability is 1/2
    requirements = [
        Requirement(Facts(), below=limit, values=[value])
        for limit, value in zip(limits, ["Flu", "AIDS", "Flu"], strict=False)
    ]
    if len(limits) == 3:
        requirements[2] = Requirement([(Facts(), limits[2]), (Facts(m=1), "1")], values=["Flu"])
    return headline(audit(counts, Policy(requirements)))


def test_headlines():
    assert of("0.6") == "Safe: the requirement holds"
    assert of("0.5") == "Not safe: the requirement fails"
    assert of("0.6", "0.6") == "Safe: both requirements hold"
    assert of("0.5", "0.6") == "Not safe: 1 of 2 requirements fails"
    assert of("0.5", "0.5") == "Not safe: both requirements fail"


def test_a_skyline_is_one_requirement():
    assert of("0.6", "0.6", "0.6") == "Not safe: 1 of 3 requirements fails"  # m=1: certain


def test_titles_and_values():
    counted = small()
    first, second = counted.policy.requirements
    assert requirement_title(first, 1) == "Requirement 1"
    assert requirement_title(Requirement(Facts(), below=1, name="HIV rule"), 2) == "HIV rule"
    assert values_phrase(first, "diagnosis") == "AIDS"
    assert values_phrase(second, "diagnosis") == "every diagnosis"
    besides = Requirement(Facts(), below=1, excluded=["Flu", "Gout"])
    assert values_phrase(besides, "diagnosis") == "every diagnosis except Flu and Gout"


def test_sentences_of_hostile_labels_are_one_printable_line():
    found = evil()
    for verdict in found.verdicts:
        sentence = verdict_sentence(verdict, sensitive_noun(found.policy))
        assert sentence.isprintable()
