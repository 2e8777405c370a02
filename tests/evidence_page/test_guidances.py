"""The questions of guidances: each has its headings, its answers, and boxes to fill in."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from tests.report.reading import Reader

import foreknow as fk
from foreknow.evidence_page.page import EvidencePage, guidances
from foreknow.report import render

GUIDANCES = guidances()
# What each is known by, and headings that somebody who knows it looks for.
KNOWN = {
    "WP216": ("Singling out", "Linkability", "Inference"),
    "ICO": ("Singling out", "Linkability", "inferred", "reasonably likely", "motivated intruder"),
    "27559": ("6.2", "6.3", "7.2", "7.3", "8.2", "8.3", "9.2", "9.3"),
    "800-188": ("model of sharing", "review", "surveyed", "validated"),
    "2025/327": ("(1)", "(2)", "(3)"),
    "164.514": ("determination", "very small", "documented"),
}


def made(folder, form, rows=40):
    ages = [20 + i % 20 for i in range(rows)]
    table = pa.table({"age": ages, "illness": [list("abcd")[i % 4] for i in range(rows)]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="illness")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="3/4")], schema)
    fk.publish(fk.Microdata(table, schema), policy, form=form).write(folder / form)
    return fk.evidence_report(folder / form)


@pytest.mark.parametrize("name", KNOWN)
def test_a_guidance_has_its_questions(name):
    (own,) = [guidance for guidance in GUIDANCES if name in guidance["title"]]
    asked = " ".join(one["question"] for one in own["questions"])
    assert [heading for heading in KNOWN[name] if heading not in asked] == []
    for one in own["questions"]:
        assert one.get("measured") or one.get("to_fill"), one["question"]


def test_what_is_measured_is_an_ability_of_the_page():
    names = {
        name for own in GUIDANCES for one in own["questions"] for name in one.get("measured", ())
    }
    assert [name for name in names if not hasattr(EvidencePage, f"_{name}")] == []


def chance_of_one(size):
    """How probable it is that exactly one of so many answers yes, each with 1/size: enumerated."""
    yes, found = Fraction(1, size), Fraction(0)
    for answers in product((True, False), repeat=size):
        if sum(answers) == 1:
            chance = Fraction(1)
            for answer in answers:
                chance *= yes if answer else 1 - yes
            found += chance
    return found


def test_a_random_question_isolates_somebody_of_every_group(tmp_path):
    found = made(tmp_path, "generalized")
    least = found.audit.utility.smallest_group
    (said,) = render(found)._isolating
    assert f"{float(100 * chance_of_one(least)):.1f}%" in said
    for size in range(1, 12):
        assert (
            chance_of_one(size) == Fraction(size - 1, size) ** (size - 1) > Fraction(36787, 100000)
        )
    assert said in Reader(render(found).html()).text


def test_a_bucketized_release_is_not_said_to_hide_anybody_in_a_group(tmp_path):
    page = render(made(tmp_path, "bucketized"))
    assert page._isolating == []
    assert "has exactly one yes" not in Reader(page.html()).text


def test_where_groups_are_many_it_is_not_said_that_a_trial_takes_more(tmp_path):
    page = render(made(tmp_path, "generalized", 400))
    assert page.result.audit.utility.groups < 50
    groups = replace(page.result.audit.utility, groups=79)
    many = replace(page.result, audit=replace(page.result.audit, utility=groups))
    (said,) = render(many)._tried
    assert "it takes the exact columns of everybody, which are not known here. Whether" in said
    assert "50 groups" not in said


def test_what_was_not_measured_is_not_claimed(tmp_path):
    page = render(made(tmp_path, "generalized"))
    answers = {answer.question: answer for _, own in page.questions() for answer in own}
    (intruder,) = [own for asked, own in answers.items() if "motivated intruder" in asked]
    groups = page.result.audit.utility.groups
    assert (
        "No trial was run for this page of what can be learned from the release itself: it takes "
        f"50 groups instead of {groups}. Whether the publisher tried an attacker, report.html "
        "says; what was found stays with the owner."
    ) in intruder.measured
    text = Reader(page.html()).text
    assert "No release in groups" not in text or "can be below that" in text
    for word in ("is anonymous", "complies", "compliant"):
        assert word not in text
