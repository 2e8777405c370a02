"""The page of an audit: sentences word for word, tables, the policy, under every semantics."""

import re
from dataclasses import replace

import pytest
from tests.report.reading import Reader, words
from tests.report.results import EVIL, Oracle, evil, small, verdict_of

import foreknow as fk
from foreknow import (
    Disclosure,
    Facts,
    GroupCounts,
    Policy,
    Requirement,
    Schema,
    Verdict,
    __version__,
    audit,
)
from foreknow.report import render
from foreknow.report.figures import knowledge_figure
from foreknow.report.knowledge import describe
from foreknow.report.pages.audit import (
    group_of,
    requirement_title,
    sensitive_noun,
    values_phrase,
    verdict_sentence,
)
from foreknow.text import visible

# ---- sentences ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "who"),
    [
        ({}, "knows nothing but the release"),
        ({"known": 1}, "knows one other person's diagnosis"),
        ({"known": 2}, "knows 2 other people's diagnoses"),
        ({"family": 1}, "knows one link"),
        ({"family": 3}, "knows 3 links"),
        ({"known": 1, "family": 2}, "knows one other person's diagnosis and 2 links"),
        ({"ruled_out": ["Flu"]}, "knows that the target does not have Flu"),
        (
            {"ruled_out": ["Flu", "Gout"], "known": 1},
            "knows that the target does not have Flu or Gout and knows one other person's "
            "diagnosis",
        ),
        (
            {"ruled_out": ["Flu"], "family": 2},
            "knows that the target does not have Flu and knows 2 links",
        ),
        (
            {"ruled_out": ["Flu"], "known": 5, "family": 1},
            "knows that the target does not have Flu, knows 5 other people's diagnoses and one "
            "link",
        ),
        (
            {"ruled_out": list("ABCDEFG")},
            "knows that the target does not have A, B, C, D or 3 others",
        ),
    ],
)
def test_facts_of_a_kind_may_be_none_one_or_several(facts, who):
    for exact, start, sure in (
        ("0.62", "Someone", "62% sure"),
        ("0.42", "Even someone", "only 42% sure"),
        (1, "Someone", "certain"),
    ):
        assert verdict_sentence(verdict_of(exact, **facts), "diagnosis") == (
            f"{start} who {who} can be {sure} that a member of group 17 has AIDS; your limit is "
            "50%."
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
    assert verdict_sentence(verdict_of(exact, limit=limit)) == (
        f"Someone who knows nothing but the release can be {sure} that a member of group 17 has "
        f"AIDS; your limit is {end}"
    )


def judged(counts, *requirements):
    found = audit(counts, Policy(list(requirements)))
    return verdict_sentence(found.verdicts[0], sensitive_noun(found.policy))


def test_what_is_said_where_there_is_no_schema_no_value_or_another_adversary():
    counts = GroupCounts.from_bags([["Flu", "AIDS", "AIDS", "Gout"]])
    assert judged(counts, Requirement(Facts(0, 1, 0), below="0.5")) == (
        "Someone who knows one other person's sensitive value can be 67% sure that a member of "
        "group 0 has AIDS; your limit is 50%."
    )
    assert judged(counts, Requirement(Oracle(), below="0.5", values=["AIDS"])) == (
        "Someone who has the knowledge Oracle(amount=3) can be 62% sure that someone has AIDS; "
        "your limit is 50%."
    )
    assert describe(Oracle()).short == "Oracle(amount=3)"
    counts = GroupCounts([2], [0, 2], [0, 1], [1, 1], ["Flu", "Gout", "AIDS"])
    assert judged(counts, Requirement(Facts(), below="0.5", values=["AIDS"])) == (
        "Nobody in the release has AIDS, so there is nothing to find out; your limit is 50%."
    )
    requirement = Requirement(Facts(), below="0.5", excluded=["Flu"])
    nothing = Verdict(0, requirement, *requirement.points[0], Disclosure(None, 0.0), True)
    assert verdict_sentence(nothing, "diagnosis") == (
        "Nobody in the release has any diagnosis that this requirement is about."
    )


@pytest.mark.parametrize(
    ("facts", "semantics", "phrase"),
    [
        (
            Facts(2, 5, 2),
            "single",
            "up to 2 values the target does not have, 5 other people's values, and 2 links",
        ),
        (Facts(0, 1500, 0), "single", "up to 1,500 other people's values"),
        (Facts(1, 0, 0), "set", "up to one value that comes only with the one in question"),
        (Facts(0, 1, 0), "set", "up to one person who does not have the value in question"),
        (fk.Implications(3), "single", "any 3 implications between people's values"),
        (fk.Negations(2), "single", "any 2 values that people do not have"),
        *[
            (nothing, semantics, "nothing but the release")
            for nothing in (Facts(), fk.Implications(0), fk.Negations(0))
            for semantics in ("single", "set")
        ],
    ],
)
def test_what_an_adversary_may_know(facts, semantics, phrase):
    assert describe(facts, None, "value", semantics).knows == f"knows {phrase}"


def test_details_say_who_and_where():
    verdict = verdict_of("0.62", ruled_out=["Flu"], known=5, family=2, group=("20 to 37", "M"))
    assert describe(verdict.judged, verdict.disclosure.witness).details == (
        ("The target", "in group “20 to 37, M”; does not have Flu"),
        ("Known people", "in group “20 to 37, M”: Flu × 5"),
        ("2 linked people", "in group “20 to 37, M”; if any of them has AIDS, so has the target"),
    )


def test_implications_and_negations_that_are_used():
    bags = [["Flu", "Flu", "AIDS", "Cold", "Cancer"], ["Flu", "Cold", "Cold", "AIDS", "Cancer"]]
    rules = [
        fk.Requirement(fk.Implications(2), below="9/10"),
        fk.Requirement(fk.Negations(1), below="9/10", values=["AIDS"]),
    ]
    found = fk.audit(fk.GroupCounts.from_bags(bags, groups=["a", "b"]), fk.Policy(rules))
    first, second = found.verdicts
    said = verdict_sentence(first, "disease")
    assert "who knows 2 implications that end with the target having" in said
    used = describe(first.judged, first.disclosure.witness)
    assert [who for who, _ in used.details] == ["The target", "2 implications"]
    assert used.details[1][1].startswith("if ")
    assert group_of(first) in ("a", "b")
    said = verdict_sentence(second, "disease")
    assert "someone who knows that the target does not have " in said
    page = render(found).html()
    assert "implication" in page
    assert "Implications(" not in page


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (["0.6"], "Safe: the requirement holds"),
        (["0.5"], "Not safe: the requirement fails"),
        (["0.6", "0.6"], "Safe: both requirements hold"),
        (["0.5", "0.6"], "Not safe: 1 of 2 requirements fails"),
        (["0.5", "0.5"], "Not safe: both requirements fail"),
        (["0.6", "0.6", "0.6"], "Not safe: 1 of 3 requirements fails"),  # m=1: certain
    ],
)
def test_a_headline_counts_requirements_and_a_skyline_is_one(limits, said):
    counts = GroupCounts.from_bags([["Flu", "AIDS"]])  # every probability is 1/2
    rules = [
        Requirement(Facts(), below=limit, values=[value])
        for limit, value in zip(limits, ["Flu", "AIDS", "Flu"], strict=False)
    ]
    if len(limits) == 3:
        rules[2] = Requirement([(Facts(), limits[2]), (Facts(m=1), "1")], values=["Flu"])
    assert render(audit(counts, Policy(rules))).headline == said


def test_titles_and_values():
    first, second = small().policy.requirements
    assert requirement_title(first, 1) == "Requirement 1"
    assert requirement_title(Requirement(Facts(), below=1, name="HIV rule"), 2) == "HIV rule"
    assert values_phrase(first, "diagnosis") == "AIDS"
    assert values_phrase(second, "diagnosis") == "every diagnosis"
    besides = Requirement(Facts(), below=1, excluded=["Flu", "Gout"])
    assert values_phrase(besides, "diagnosis") == "every diagnosis except Flu and Gout"


def test_sentences_of_hostile_labels_are_one_printable_line():
    found = evil()
    for verdict in found.verdicts:
        assert verdict_sentence(verdict, sensitive_noun(found.policy)).isprintable()


# ---- the page, the terminal and the notebook ----------------------------------------------------


@pytest.fixture(scope="module")
def unsafe():
    return small(safe=False)


@pytest.fixture(scope="module")
def page(unsafe):
    return render(unsafe).html()


def test_the_page_says_what_it_must(unsafe, page):
    text = Reader(page).text
    assert render(unsafe).headline in text
    for verdict in unsafe.verdicts:
        assert verdict_sentence(verdict, "diagnosis") in text
    for part in (
        "three.csv",
        "The groups most exposed to AIDS",
        "How large the groups are",
        "What the release is still worth",
        "48 people in 3 groups of 16 on average (13 to 20).",
        "zip: characters masked from the right",
        "age: in ranges of 5, then 10",
        "must stay less than 30% sure",
        f"Made by Foreknow {__version__}",
    ):
        assert part in text
    assert text.index("Not safe: 1 of 2") < text.index("The verdict on each requirement")


def test_the_worst_groups_and_values_are_listed(page):
    reader = Reader(page)
    heads = [attrs for tag, attrs in reader.elements if tag == "details" and not attrs]
    assert len(heads) == 1  # the requirement about one value needs no list of values
    for value in ("AIDS", "Asthma", "Cancer", "Flu", "Gout"):
        assert value in reader.text


def test_long_lists_are_cut():
    counts = GroupCounts.from_bags([{f"v{i:02}": 2 for i in range(40)}])
    text = Reader(render(audit(counts, Policy([Requirement(Facts(), below=1)]))).html()).text
    assert "And 10 others, none of them higher." in text


def test_each_point_of_a_skyline_has_its_own_section():
    skyline = Requirement([(Facts(1, 0, 0), "0.9"), (Facts(0, 3, 0), "0.8")], values=["AIDS"])
    page = render(audit(small().counts, Policy([skyline]))).html()
    assert {"requirement-1-1", "requirement-1-2"} <= set(re.findall(r'id="([^"]*)"', page))


def test_another_kind_of_adversary_has_a_page_without_its_figure():
    policy = Policy([Requirement(Oracle(), below="0.5", values=["AIDS"])])
    reader = Reader(render(audit(small().counts, policy)).html())
    assert "has the knowledge Oracle(amount=3)" in reader.text
    assert sum(tag == "figure" for tag, _ in reader.elements) == 1


def test_generalization_is_shown_where_it_is_known():
    found = small()
    assert "How far each column was generalized" not in render(found).html()
    worth = replace(found.utility, ncp={"age": 0.25, "<zip>": 0.5})
    text = Reader(render(replace(found, utility=worth)).html()).text
    assert "How far each column was generalized" in text
    assert "<zip> 50.0%" in text


def test_the_summary_warns_of_values_that_no_requirement_is_about():
    counts = small().counts
    some = audit(counts, Policy([Requirement(Facts(), below=1, values=["AIDS"])]))
    text = Reader(render(some).summary()).text
    values = ("Asthma", "Cancer", "Flu", "Gout")
    many = {value: counts.totals[counts.code(value)] for value in values}
    ranked = sorted(values, key=lambda value: (-many[value], value))
    listed = ", ".join(f"{value} ({many[value]} people)" for value in ranked)
    assert f"No requirement is about: {listed}." in text
    every = audit(counts, Policy([Requirement(Facts(), below=1)]))
    assert "No requirement is about" not in render(every).summary()


def test_the_warning_of_the_summary_is_escaped():
    one = Policy([Requirement(Facts(), below=1, values=[EVIL[4]])])
    reader = Reader(render(audit(evil().counts, one)).summary())
    assert re.sub(r"\s+", " ", visible(EVIL[0])) in reader.text
    assert {tag for tag, _ in reader.elements}.isdisjoint({"script", "img", "a", "b"})


def test_an_unsafe_audit_in_the_terminal():
    whole = words(small(safe=False))
    assert whole.startswith("Not safe: 1 of 2 requirements fails three.csv")
    assert "✗ FAILS AIDS one value ruled" in whole
    assert "30% AIDS" in whole
    assert "✓ safe every diagnosis" in whole
    assert "✗ Someone who knows that the target does not have" in whole
    assert "your limit is 30%." in whole
    assert whole.endswith("Utility: 48 people in 3 groups of 16 on average (13 to 20).")
    assert "someone" not in words(small()).lower()


# ---- several values of a person -----------------------------------------------------------------

# Words of the other semantics, which would be wrong here.
WRONG = ("ruled out", "other people", "other person", "the target does not", "nobody else")

WARD = [
    *[{"Flu"}] * 6,
    *[{"AIDS", "Flu"}] * 2,
    *[{"Gout"}] * 3,
    *[set()] * 2,
]
CLINIC = [*[{"Flu", "Gout"}] * 5, {"AIDS"}, *[{"Cold"}] * 9]


def register(semantics="set", schema=True):
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
    return register(request.param)


def test_the_sentence_says_what_is_known_of_whom(found):
    assert re.fullmatch(
        r"Someone who knows that the target would have Flu only together with AIDS, knows 3 "
        r"people who do not have AIDS and one link can be \d+% sure that a member of group w "
        r"has AIDS; your limit is 30%\.",
        verdict_sentence(found.verdicts[0], "diagnosis"),
    )
    assert re.match(
        r"Even someone who knows one person who does not have Flu can be only ",
        verdict_sentence(found.verdicts[1], "diagnosis"),
    )


def test_details_of_sets_say_who_and_where(found):
    verdict = found.verdicts[0]
    assert describe(verdict.judged, verdict.disclosure.witness).details == (
        ("The target", "in group w; would have Flu only together with AIDS"),
        ("Known people", "in group w: 3 people who do not have AIDS"),
        ("Linked person", "in group w; if that person has AIDS, so has the target"),
    )


def test_the_page_has_no_word_of_the_other_semantics(found):
    text = Reader(render(found).html()).text
    for wrong in WRONG:
        assert wrong not in text, wrong
    for part in (
        "one value only with it, 3 people without it, one link",
        "Only with it are values that the target would have only together with the one in question",
        "Without it are people who are known not to have the value in question",
        "The requirement guards against anyone who knows up to one diagnosis that comes only with "
        "the one in question, 3 people who do not have it, and one link.",
        "known not to have AIDS; the policy asks for 3.",
        "Someone who knows up to one person who does not have the diagnosis in question must stay "
        "less than 100% sure",
        f"or none ({found.counts.semantics}).",
    ):
        assert part in text, part


def test_without_a_schema_the_release_says_which_semantics_it_has():
    text = Reader(render(register(schema=False)).html()).text
    assert "other people" not in text
    assert "one sensitive value that comes only with the one in question" in text


def test_occurrences_are_not_called_people(found):
    text = Reader(render(found).html()).text
    several = found.counts.semantics == "multiset"
    assert ("Value Occurrences Worst case" in text) == several
    assert ("Have it" in text) == (not several)


def test_the_figure_s_words(found):
    figure = knowledge_figure(found.counts, found.verdicts[0], "diagnosis")
    assert figure.x.title == "people without it (k)"
    names = {line.name for line in figure.series}
    assert "one value only with it, one link (this requirement)" in names


def test_the_terminal_and_the_notebook(found):
    for text in (words(found, 160), Reader(render(found).summary()).text):
        for wrong in WRONG:
            assert wrong not in text, wrong
        assert "would have Flu only together with AIDS" in text
        assert "one value only with it, 3" in text, text
