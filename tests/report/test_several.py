"""Audits of releases in which a person may have several values read right everywhere."""

import io
import re

import pytest
from rich.console import Console
from tests.report.test_html import Reader

from foreknow.adversaries.facts.facts import Facts
from foreknow.auditing.audit import audit
from foreknow.data.counts import GroupCounts
from foreknow.data.schema import Schema
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.report.figures import knowledge_figure
from foreknow.report.pages.audit import audit_page, audit_summary
from foreknow.report.pages.audit_terminal import adversary_phrase, telling, verdict_sentence

# Words of the other semantics, which would be wrong here.
WRONG = ("ruled out", "other people", "other person", "the target does not", "nobody else")

WARD = [
    *[{"Flu"}] * 6,
    *[{"AIDS", "Flu"}] * 2,
    *[{"Gout"}] * 3,
    *[set()] * 2,
]
CLINIC = [*[{"Flu", "Gout"}] * 5, {"AIDS"}, *[{"Cold"}] * 9]


def made(semantics="set", schema=True):
    """An audit of two groups, of whose two requirements the first fails."""
    counts = GroupCounts.from_people([WARD, CLINIC], semantics=semantics, groups=["w", "c"])
    roles = Schema(
        quasi_identifiers=["age"], sensitive="diagnosis", semantics=semantics, person="p"
    )
    strict = Requirement(Facts(1, 3, 1), below="0.3", values=["AIDS"])
    loose = Requirement(Facts(0, 1, 0), below=1)
    return audit(counts, Policy([strict, loose], roles if schema else None), name="register.csv")


@pytest.fixture(scope="module", params=["set", "multiset"])
def found(request):
    return made(request.param)


def test_the_sentence_says_what_is_known_of_whom(found):
    assert re.fullmatch(
        r"Someone who knows that the target would have Flu only together with AIDS, knows 3 "
        r"people who do not have AIDS and one relative can be \d+% sure that a member of group w "
        r"has AIDS; your limit is 30%\.",
        verdict_sentence(found.verdicts[0], "diagnosis"),
    )
    assert re.match(
        r"Even someone who knows one person who does not have Flu can be only ",
        verdict_sentence(found.verdicts[1], "diagnosis"),
    )


def test_details_say_who_and_where(found):
    verdict = found.verdicts[0]
    assert telling(verdict.point.adversary, verdict.disclosure.witness).details == (
        ("The target", "in group w; would have Flu only together with AIDS"),
        ("Known people", "in group w: 3 people who do not have AIDS"),
        ("One relative", "in group w; if that person has AIDS, so has the target"),
    )


@pytest.mark.parametrize(
    ("facts", "phrase"),
    [
        (
            Facts(2, 5, 2),
            "knows up to 2 values that come only with the one in question, 5 people who do not "
            "have it, and 2 relatives",
        ),
        (Facts(0, 1, 0), "knows up to one person who does not have the value in question"),
        (Facts(1, 0, 0), "knows up to one value that comes only with the one in question"),
        (Facts(0, 0, 2), "knows up to 2 relatives"),
        (Facts(), "knows nothing but the release"),
    ],
)
def test_what_an_adversary_may_know(facts, phrase):
    assert adversary_phrase(facts, semantics="set") == phrase


def test_the_page_has_no_word_of_the_other_semantics(found):
    text = Reader(audit_page(found)).text
    for wrong in WRONG:
        assert wrong not in text, wrong
    for part in (
        "1 only with it, 3 people without it, 1 relative",
        "Only with it are values that the target would have only together with the one in question",
        "Without it are people who are known not to have the value in question",
        "The requirement guards against anyone who knows up to one diagnosis that comes only with "
        "the one in question, 3 people who do not have it, and one relative.",
        "known not to have AIDS; the policy asks for 3.",
        "Someone who knows up to one person who does not have the diagnosis in question must stay "
        "less than 100% sure",
        f"or none ({found.counts.semantics}).",
    ):
        assert part in text, part


def test_without_a_schema_the_release_says_which_semantics_it_has():
    text = Reader(audit_page(made(schema=False))).text
    assert "other people" not in text
    assert "one sensitive value that comes only with the one in question" in text


def test_occurrences_are_not_called_people(found):
    text = Reader(audit_page(found)).text
    several = found.counts.semantics == "multiset"
    assert ("Value Occurrences Worst case" in text) == several
    assert ("Have it" in text) == (not several)


def test_the_figure_s_words(found):
    figure = knowledge_figure(found.counts, found.verdicts[0], "diagnosis")
    assert figure.layout.xaxis.title.text == "people known not to have AIDS"
    names = {line.name for line in figure.data if line.name}
    assert "one value only with it, one relative (this requirement)" in names


def test_the_terminal_and_the_notebook(found):
    stream = io.StringIO()
    Console(file=stream, width=160).print(found)
    told = " ".join(stream.getvalue().split()), Reader(audit_summary(found)).text
    for text in told:
        for wrong in WRONG:
            assert wrong not in text, wrong
        assert "would have Flu only together with AIDS" in text
        assert "1 only with it, 3" in text, text
