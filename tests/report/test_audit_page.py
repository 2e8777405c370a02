"""The page of an audit: sentences word for word, tables, the policy, under every semantics."""

import re
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.report.reading import Reader, words
from tests.report.results import EVIL, Oracle, evil, register, small, verdict_of
from tests.report.snapshots import assert_as_before, page_lines

import foreknow as fk
from foreknow import (
    Disclosure,
    Facts,
    GroupCounts,
    Policy,
    Requirement,
    __version__,
    audit,
)
from foreknow.policy.explanation import Explanation
from foreknow.report import render
from foreknow.report.knowledge import describe
from foreknow.report.pages.audit import (
    requirement_title,
    sensitive_noun,
    values_phrase,
    verdict_sentence,
)
from foreknow.report.words import group_text
from foreknow_judge.explained import unjudged
from foreknow_judge.printed import visible

# ---- sentences ----------------------------------------------------------------------------------


FACTS = [
    {},
    {"known": 1},
    {"known": 2},
    {"family": 1},
    {"family": 3},
    {"known": 1, "family": 2},
    {"ruled_out": ["Flu"]},
    {"ruled_out": ["Flu", "Gout"], "known": 1},
    {"ruled_out": ["Flu"], "family": 2},
    {"ruled_out": ["Flu"], "known": 5, "family": 1},
    {"ruled_out": list("ABCDEFG")},
]
AT_THE_LIMIT = [
    *[("0.5", "0.5"), ("1", "1"), ("2/3", "2/3")],
    *[("0.50000000001", "0.5"), ("0.6211", "0.621"), ("0.9999", "0.5")],
]
ALLOWED = [
    *[(Facts(2, 5, 2), "single"), (Facts(0, 1500, 0), "single")],
    *[(Facts(1, 0, 0), "set"), (Facts(0, 1, 0), "set")],
    *[(fk.Implications(3), "single"), (fk.Negations(2), "single"), (Oracle(), "single")],
    *[(none, how) for none in (Facts(), fk.Implications(0)) for how in ("single", "set")],
]


def test_sentences_of_verdicts_are_as_before():
    said = []
    for facts in FACTS:
        found = [verdict_of(exact, **facts) for exact in ("0.62", "0.42", 1)]
        said += [verdict_sentence(each, "diagnosis") for each in found]
    said += [verdict_sentence(verdict_of(exact, limit=limit)) for exact, limit in AT_THE_LIMIT]
    said += [describe(facts, None, "value", how).knows for facts, how in ALLOWED]
    counts = GroupCounts.from_bags([["Flu", "AIDS", "AIDS", "Gout"]])
    said.append(judged(counts, Requirement(Facts(0, 1, 0), below="0.5")))
    said.append(judged(counts, Requirement(Oracle(), below="0.5", values=["AIDS"])))
    counts = GroupCounts([2], [0, 2], [0, 1], [1, 1], ["Flu", "Gout", "AIDS"])
    said.append(judged(counts, Requirement(Facts(), below="0.5", values=["AIDS"])))
    requirement = Requirement(Facts(), below="0.5", excluded=["Flu"])
    found = Disclosure(None, 0.0)
    nothing = unjudged(Explanation(0, requirement, *requirement.points[0], found, safe=True))
    said.append(verdict_sentence(nothing, "diagnosis"))
    verdict = verdict_of("0.62", ruled_out=["Flu"], known=5, family=2, group=("20 to 37", "M"))
    used = describe(verdict.judged, verdict.disclosure.witness)
    said += [": ".join(pair) for pair in used.details]
    assert_as_before("sentences", said)


def judged(counts, *requirements):
    found = audit(counts, Policy(list(requirements)))
    return verdict_sentence(found.verdicts[0], sensitive_noun(found.policy))


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
    assert group_text(first.group) in ("a", "b")
    said = verdict_sentence(second, "disease")
    assert "someone who knows that the target does not have " in said
    page = render(found).html()
    assert "implication" in page
    assert "Implications(" not in page


LIMITS = [["0.6"], ["0.5"], ["0.6", "0.6"], ["0.5", "0.6"], ["0.5", "0.5"], ["0.6"] * 3]


def headline(limits):
    """Of requirements of which a third is a skyline, where every probability is 1/2."""
    counts = GroupCounts.from_bags([["Flu", "AIDS"]])
    rules = [
        Requirement(Facts(), below=limit, values=[value])
        for limit, value in zip(limits, ["Flu", "AIDS", "Flu"], strict=False)
    ]
    if len(limits) == 3:
        rules[2] = Requirement([(Facts(), limits[2]), (Facts(m=1), "1")], values=["Flu"])
    return render(audit(counts, Policy(rules))).headline


def test_headlines_and_titles_are_as_before():
    first, second = small().policy.requirements
    besides = Requirement(Facts(), below=1, excluded=["Flu", "Gout"])
    said = [f"{limits} -> {headline(limits)}" for limits in LIMITS]
    said += [requirement_title(first, 1), requirement_title(replace(first, name="HIV rule"), 2)]
    said += [values_phrase(each, "diagnosis") for each in (first, second, besides)]
    assert_as_before("headlines", said)


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


def test_the_verdict_stands_first(unsafe, page):
    text = Reader(page).text
    for verdict in unsafe.verdicts:
        assert verdict_sentence(verdict, "diagnosis") in text
    assert text.index("Not safe: 1 of 2") < text.index("The verdict on each requirement")
    assert f"Made by Foreknow {__version__}" in text


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


def test_another_kind_of_adversary_has_a_page():
    policy = Policy([Requirement(Oracle(), below="0.5", values=["AIDS"])])
    reader = Reader(render(audit(small().counts, policy)).html())
    assert "has the knowledge Oracle(amount=3)" in reader.text
    assert sum(tag == "figure" for tag, _ in reader.elements) == 1


def test_generalization_is_shown_where_it_is_known():
    found = small()
    assert "NCP" not in render(found).html()
    worth = replace(found.utility, ncp={"age": 0.25, "<zip>": 0.5})
    text = Reader(render(replace(found, utility=worth)).html()).text
    assert "NCP" in text
    assert "NCP of <zip> 50.0%" in text


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


# Words of the other semantics, which would be wrong here.
WRONG = ("ruled out", "other people", "other person", "the target does not", "nobody else")


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_no_page_has_a_word_of_the_other_semantics(semantics):
    found = register(semantics)
    page = render(found)
    assert_as_before(f"audit-{semantics}", page_lines(page))
    for text in (Reader(page.html()).text, words(found, 160), Reader(page.summary()).text):
        assert not [wrong for wrong in WRONG if wrong in text]


def test_without_a_schema_the_release_says_which_semantics_it_has():
    text = Reader(render(register(schema=False)).html()).text
    assert "other people" not in text
    assert "one sensitive value that comes only with the one in question" in text


def test_names_of_columns_that_are_no_known_nouns_stay_as_they_are():
    rows = {"Alter": [20, 20, 30, 30], "Befund": ["Grippe", "Gicht"] * 2}
    policy = {
        "schema": {"quasi_identifiers": ["Alter"], "sensitive": "Befund"},
        "require": [{"facts": {}, "below": 0.9}],
    }
    found = fk.audit(pa.table(rows), policy, learned=False)
    text = Reader(found.to_html(published=True)).text
    assert "every Befund" in text
    assert "befund" not in text
    assert "the limit is 90%" in text
    for word in ("your limit", "any_of", "foreknow attack"):
        assert word not in text
    assert "any_of in the policy" in found.summary().replace("\n", " ")


@pytest.mark.complete
@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (
            {"label": "none, or unknown"},
            "Published with the label “none, or unknown”, as a value like others",
        ),
        ("drop", "Left out"),
        ("error", None),
    ],
)
def test_the_policy_says_what_was_done_with_rows_without_a_value(missing, said, tmp_path):
    ill = ["flu", "cold"] * 20 + [None if missing != "error" else "flu"]
    table = pa.table({"age": list(range(20, 61)), "ill": ill})
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill", "missing": missing}
    policy = {"schema": schema, "require": [{"facts": {"l": 0}, "below": 0.9}]}
    made = fk.publish(table, policy, seed=1)
    made.write(tmp_path / "out")
    pages = (tmp_path / "out" / "report.html").read_text("utf-8"), made.audit.to_html()
    for text in (Reader(page).text.partition("The policy")[2] for page in pages):
        assert ("Rows without a sensitive value" in text) == (said is not None)
        assert said is None or said in text
