"""Sentences about skylines, word for word."""

import pytest
from foreknow.report.pages.skyline_terminal import (
    adversary,
    alone,
    beyond_sentence,
    explanation,
    least_sentence,
    point_sentence,
    probability_text,
    telling_points,
    terms_of,
    title,
    worst_details,
    worst_sentence,
)
from tests.report.skylines import case_study, many, of_sets, several

from foreknow.report.knowledge import Terms

JOBS = terms_of(case_study(), "Boss")


@pytest.mark.parametrize(
    ("terms", "point", "said"),
    [
        (
            Terms("value"),
            (2, 0, 3),
            "somebody who knows 2 values the target does not have and 3 relatives, but nobody "
            "else's value",
        ),
        (Terms("value"), (0, 0, 0), "somebody who knows nothing but the release"),
        (
            Terms("value"),
            (1, 1, 1),
            "somebody who knows one value the target does not have, one other person's value, and "
            "one relative",
        ),
        (
            Terms("diagnosis", "set", "AIDS"),
            (0, 3, 0),
            "somebody who knows 3 people who do not have AIDS, but no diagnosis that comes only "
            "with AIDS and no relative",
        ),
    ],
)
def test_who_is_withstood(terms, point, said):
    assert adversary(terms, point) == said


def test_what_a_point_means_and_what_one_fact_more_would_do():
    report = case_study()
    first, _, third, *_ = report.corners("Boss")
    assert point_sentence(JOBS, first, report.confidence) == (
        "Withstands somebody who knows 4 other people's jobs, but no job the target does not have "
        "and no relative: they can be at most 66.7% sure of Boss."
    )
    assert beyond_sentence(JOBS, first, report.confidence) == "One fact more of any kind: certain."
    assert beyond_sentence(JOBS, third, report.confidence) == (
        "One more value ruled out: 95.2%; one more person known: certain; one more relative: "
        "certain."
    )


def test_a_percentage_never_lies_about_its_side_of_the_limit():
    report = case_study("95.24%".replace("%", "e-2"))
    for corner in report.corners("Boss"):
        told = beyond_sentence(JOBS, corner, report.confidence)
        assert "95.24%" not in told


def test_how_little_is_too_much():
    assert least_sentence(case_study(), "Boss") == (
        "Too much already: somebody who knows 5 other people's jobs, and nothing else, can be "
        "certain of Boss in the worst case."
    )
    assert least_sentence(several(), "Flu") == (
        "Not even somebody who knows nothing but the release is withstood: they can be 57.1% sure "
        "of Flu."
    )


def test_titles_and_the_explanation_in_two_sentences():
    assert title(case_study()) == "What the release withstands at 95%: Boss"
    assert title(several()) == "What the release withstands at 50%: 3 values"
    for report in (case_study(), several(), of_sets()):
        assert explanation(report).count(". ") == 1
    assert "can be certain that a particular person has Boss" in explanation(case_study(1))


def test_the_most_of_each_kind_alone():
    assert alone(case_study(), "Boss") == ("4", "4", "4")
    assert alone(several(), "Flu") == ("–", "–", "–")


def test_the_worst_case_beyond():
    report = case_study()
    assert worst_sentence(report, "Boss", (2, 1, 3)) == (
        "Someone who knows that the target does not have Clerk or Cook, knows one other person's "
        "job and 3 relatives can be 90.9% sure that a member of group 0 has Boss."
    )
    assert worst_details(report, "Boss", (2, 1, 3))[1:] == (
        ("Known people", "in group 0: Farmer × 1"),
        ("3 relatives", "in group 0; if any of them has Boss, so has the target"),
    )
    assert probability_text(report, "Boss", (2, 1, 3)) == "the breach probability is 10/11 = 90.91%"
    assert probability_text(report, "Boss", (0, 5, 0)) == "the breach probability is 1"


def test_of_few_points_all_are_told_of_many_the_telling_ones():
    assert len(telling_points(case_study().corners("Boss"))) == 7
    corners = many().corners("AIDS")
    assert len(corners) > 100
    told = telling_points(corners)
    assert len(told) == 12
    assert [corners.index(corner) for corner in told] == sorted(map(corners.index, told))
    for axis in range(3):
        most = max(corner.point[axis] for corner in corners)
        assert most in {corner.point[axis] for corner in told}
