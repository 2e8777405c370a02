"""What a page says of a limit is what was judged: of cases, of units, of priors, of inference."""

import csv
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest
from benchmarks.register import policy_of_diagnoses
from tests.report.reading import Reader
from tests.test_cases import POLICY as OF_PEOPLE
from tests.test_cases import visits
from tests.test_households import town
from tests.verdicts import altered

import foreknow as fk
from foreknow import sample
from foreknow.report import render
from foreknow.report.blocks import Items, Sentence, Table
from foreknow.report.pages.verification import _finding
from foreknow_judge.lines import main as judge_alone
from foreknow_judge.said import ASSUMED, ASSUMPTIONS, CASES_OF_FILES, SEVERAL_CASES

RULES = fk.Policy.from_dict(policy_of_diagnoses())
OF_EACH_CASE = "of each case; of people it is the publisher's word"
RELATIVE = (
    "The limit is relative to priors: of a frequent value somebody may be surer, up to certainty."
)
NOBODY = "Nobody could be found out at a limit; everybody was looked at in turn."
NOT_LIMITED = "No requirement limits what can be inferred of a person: that was not judged."


def evidence_of(made, table, policy, place):
    made.write(place / "out")
    return fk.evidence_report(place / "out", table, policy, queries=5)


def sample_policy(*require):
    """One for the sample, of its schema."""
    tables = {"schema": RULES.schema.to_dict(), "require": [*require]}
    return fk.Policy.from_dict(tables, sample.policy_path().parent)


def answered(page, question):
    """What the evidence answers to the questions that begin so."""
    return [
        each
        for _, answers in page.questions()
        for answer in answers
        if answer.question.startswith(question)
        for each in answer.measured
    ]


# ---- limits relative to priors --------------------------------------------------------------


@pytest.fixture(scope="module")
def relative(tmp_path_factory):
    """A release under 30 times what was likely by sex, and its folder."""
    place = tmp_path_factory.mktemp("relative")
    with sample.table_path().open() as file:
        rows = [(row["sex"], row["diagnosis"]) for row in csv.DictReader(file)]
    held, of_sex = Counter(rows), Counter(sex for sex, _ in rows)
    values = sorted({value for _, value in rows})
    lines = [f"{s},{v},{held[s, v]}/{n}" for s, n in of_sex.items() for v in values]
    (place / "priors.csv").write_text("\n".join(["sex,value,probability", *lines]))
    policy = fk.Policy(
        [fk.Requirement(fk.Priors(place / "priors.csv"), at_most_times=30)], RULES.schema
    )
    made = fk.publish(sample.table_path(), policy, method="art", seed=1)
    made.write(place / "out")
    return made, place / "out"


def test_the_case_nearest_to_a_relative_limit_is_not_called_the_worst(relative):
    page = render(relative[0].audit)
    (table,) = (block for block in page.glance() if isinstance(block, Table))
    assert table.head[3] == "nearest to its limit"
    assert RELATIVE in [block.text for block in page.glance() if isinstance(block, Sentence)]
    text = Reader(page.html()).text
    assert "The case nearest to its limit of every value" in text
    assert "it is not the highest probability" in text
    assert "worst case" not in text


def test_with_limits_of_both_kinds_the_table_says_so(relative):
    made, _ = relative
    (other,) = made.audit.verdicts
    below = fk.audit(made, fk.Policy([fk.Requirement(fk.Facts(), below=1)], RULES.schema))
    both = fk.Policy([*made.audit.policy.requirements, *below.policy.requirements], RULES.schema)
    verdicts = (other, altered(below.verdicts[0], place=1))
    counted = made.audit.counted + below.counted
    page = render(replace(made.audit, policy=both, verdicts=verdicts, counted=counted))
    (table,) = (block for block in page.glance() if isinstance(block, Table))
    assert table.head[3] == "worst or nearest to its limit"


def test_verify_names_the_case_nearest_to_a_relative_limit(relative):
    (finding,) = fk.verify(relative[1]).findings
    said = _finding(finding)
    assert "nearest to its limit: 1/10 (Syphilis), not above 105/1037, 30 times the prior." in said
    assert said.endswith(RELATIVE)
    assert "at most" not in said
    exact = Fraction(101253616200578589, 10**18)
    near = replace(finding.found, prior=exact / 30)
    assert "not above 0.1013, 30 times the prior" in _finding(altered(finding, found=near))
    for text in ("0.33333333333333333", "0.9999999999999999"):  # never below what is reached
        one = Fraction(text)
        own = replace(finding.found, exact=one, prior=one / 30)
        shown = _finding(altered(finding, found=own)).partition("not above ")[2].partition(",")[0]
        assert Fraction(shown) >= one


def test_evidence_says_it_beside_the_verdict(tmp_path):
    rng = random.Random(1)
    ills = rng.choices(["flu", "cold", "gout"], [6, 3, 1], k=200)
    ages = [rng.randrange(20, 80) for _ in ills]
    table = pa.table({"age": ages, "sex": [rng.choice("fm") for _ in ills], "ill": ills})
    public = pa.table(  # and not those of the table, which would be kept with the owner
        {
            "sex": ["f"] * 3 + ["m"] * 3,
            "value": ["flu", "cold", "gout"] * 2,
            "probability": ["2/5", "2/5", "1/5"] * 2,
        }
    )
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Priors(public), at_most_times=2)], schema)
    made = fk.publish(table, policy, method="art", seed=1)
    page = render(evidence_of(made, table, policy, tmp_path))
    (said,) = page._safe
    assert said.endswith(RELATIVE)
    rows = [str(row[0]) for row in page._before().rows]
    assert "Requirement 1: case nearest to its limit" in rows


# ---- cases and units ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    table = visits(random.Random(1))
    made = fk.publish(table, OF_PEOPLE, seed=1)
    return made, evidence_of(made, table, OF_PEOPLE, tmp_path_factory.mktemp("cases"))


def test_a_sum_over_cases_is_said_as_at_most(cases):
    page = render(cases[0].audit)
    (table,) = (block for block in page.glance() if isinstance(block, Table))
    assert cases[0].audit.verdicts[0].found.bounded
    assert str(table.rows[0][3]) == "at most 76.6%"


def test_verify_says_that_cases_were_judged_and_not_people(cases):
    page = render(cases[1].verification)
    assert page.mood == ""
    said = page.said(page.headline)
    assert said.startswith("Verified of cases: 300 cases in 17 groups")
    assert said.endswith(OF_EACH_CASE)
    items = [text for block in page.glance() if isinstance(block, Items) for text in block.texts]
    assert any("k_anonymity = 4: attained is 5 cases; this is about groups" in x for x in items)


def test_evidence_says_that_cases_were_judged_and_not_people(cases):
    page = render(cases[1])
    assert page.mood == ""
    text = Reader(page.html()).text
    assert (
        f"Verified of cases, afresh from the files: every requirement holds {OF_EACH_CASE}." in text
    )
    assert "What is verified is about cases; what the publisher counted of people" in text
    assert "Requirement 1: worst case, of one case" in text
    assert NOBODY not in text
    assert "No case could be found out at a limit" in text


def test_cases_of_a_policy_without_persons_hold_of_each_case(tmp_path):
    roles = {key: own for key, own in OF_PEOPLE["schema"].items() if key != "person"}
    policy = {"schema": roles, "require": OF_PEOPLE["require"][:1]}
    fk.publish(visits(random.Random(1)), policy, seed=1).write(tmp_path / "out")
    page = render(fk.verify(tmp_path / "out"))
    assert page.mood == "safe"
    assert page.said(page.headline).endswith("every requirement on ill holds of each case")
    mine = fk.Policy.of({"schema": OF_PEOPLE["schema"], "require": OF_PEOPLE["require"][:1]})
    with pytest.raises(fk.InputError, match="only the owner of the table can judge people"):
        fk.verify(tmp_path / "out", mine)


def test_where_households_were_counted_it_is_said_that_files_show_people(tmp_path):
    table = town(random.Random(1))
    schema = {"quasi_identifiers": ["ward", "age"], "sensitive": "ill"}
    sizes = {"k_anonymity": {"k": 5, "of": "home"}}
    policy = {"schema": schema, "require": [sizes, {"facts": {"l": 1}, "below": 0.9}]}
    found = evidence_of(fk.publish(table, policy, seed=1), table, policy, tmp_path)
    page = render(found.verification)
    assert page.mood == render(found).mood == ""
    beyond = "as far as files show it; what the owner counted beyond that is the publisher's word"
    assert page.headline.endswith(beyond)
    assert beyond in Reader(render(found).html()).text
    assert _finding(found.verification.findings[0]).startswith(
        "k_anonymity = 5: attained is 5 people; this is about groups"
    )


# ---- what evidence answers of inference -----------------------------------------------------


@pytest.mark.parametrize(
    "require",
    [[{"k_anonymity": 5}], [{"k_anonymity": 5}, {"facts": {}, "below": 0.5, "values": ["Plague"]}]],
)
def test_where_nothing_limits_inference_evidence_does_not_say_it_was_judged(require, tmp_path):
    policy = sample_policy(*require)
    made = fk.publish(sample.table_path(), policy, seed=1)
    page = render(evidence_of(made, sample.table_path(), policy, tmp_path))
    said = answered(page, "Inference")
    assert said
    assert NOT_LIMITED in said
    assert NOBODY not in said
    linking = " ".join(page._linking)
    assert "Nothing that is required hides the diagnosis." in linking
    assert "What stays hidden" not in linking


def test_groups_that_are_diverse_do_not_say_that_nobody_can_be_found_out(tmp_path):
    idle = {"facts": {}, "below": 0.5, "values": ["Plague"]}
    policy = sample_policy({"l_diversity": {"l": 2}}, idle)
    made = fk.publish(sample.table_path(), policy, seed=1)
    page = render(evidence_of(made, sample.table_path(), policy, tmp_path))
    assert NOBODY not in answered(page, "Inference")


def test_where_a_limit_was_judged_evidence_says_so(tmp_path):
    policy = sample_policy({"facts": {}, "below": 0.5})
    made = fk.publish(sample.table_path(), policy, seed=1)
    page = render(evidence_of(made, sample.table_path(), policy, tmp_path))
    assert NOBODY in answered(page, "Inference")
    assert "What stays hidden is the diagnosis." in " ".join(page._linking)


# ---- what is assumed, and what the judge alone says -----------------------------------------


def said_by_the_judge(folder, capsys):
    assert judge_alone([str(folder)]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.complete
@pytest.mark.parametrize("limits", [True, False])
def test_what_safe_assumes_is_said_beside_it_where_inference_is_limited(limits, tmp_path, capsys):
    policy = sample_policy({"k_anonymity": 5}, *[{"facts": {}, "below": 0.5}] * limits)
    made = fk.publish(sample.table_path(), policy, seed=1)
    made.write(tmp_path / "out")
    report = (tmp_path / "out" / "report.html").read_text("utf-8")
    texts = {
        "audit and publish": " ".join(made.audit.summary().split()),
        "report": Reader(report).text,
        "verify": " ".join(fk.verify(tmp_path / "out").summary().split()),
        "the judge alone": " ".join(said_by_the_judge(tmp_path / "out", capsys)),
    }
    for where, text in texts.items():
        for sentence in (ASSUMED, *ASSUMPTIONS):
            assert (sentence in text) == limits, where


def test_the_judge_alone_says_what_a_criterion_is_about_and_how_small_groups_are(tmp_path, capsys):
    policy = sample_policy({"k_anonymity": 5}, {"facts": {}, "below": 0.5, "values": ["HIV"]})
    fk.publish(sample.table_path(), policy, seed=1).write(tmp_path / "out")
    out = said_by_the_judge(tmp_path / "out", capsys)
    (sizes,) = (line for line in out if line.startswith("- k_anonymity"))
    assert sizes.endswith("; this is about groups, and not about what anyone can infer of a person")
    assert any(", about HIV: at most" in line for line in out)
    least = fk.verify(tmp_path / "out").scope.smallest_group
    assert f"The smallest group has {least} people." in out


def test_the_judge_alone_says_widths_what_was_left_out_and_what_was_judged_apart(tmp_path, capsys):
    rng = random.Random(1)
    rows = range(60)
    table = pa.table(
        {
            "age": [rng.randrange(20, 80) for _ in rows],
            "ill": [None if i < 3 else rng.choice(["flu", "cold", "gout"]) for i in rows],
            "pay": [rng.randrange(1000, 9000) for _ in rows],
        }
    )
    schema = {"quasi_identifiers": ["age"], "sensitive": ["ill", "pay"], "missing": "drop"}
    near = {"facts": {}, "within": "10%", "below": 0.9, "sensitive": "pay", "knowing": []}
    one = {"facts": {}, "below": 0.9, "sensitive": "ill", "knowing": []}
    for sensitive, require in (("ill", [one]), (["ill", "pay"], [one, near])):
        folder = tmp_path / str(len(require))
        policy = {"schema": {**schema, "sensitive": sensitive}, "require": require}
        fk.publish(table, policy, seed=1).write(folder)
        out = "\n".join(said_by_the_judge(folder, capsys))
        left = "3 rows have no sensitive value and were left out; nothing is said about them."
        assert f"- The publisher notes, which is not verified: {left}" in out
        assert ("pay: facts" in out) == ("about every value to within 10%: at most" in out)
        if sensitive == "ill":
            assert "- Judged each by itself: " in out


def test_the_judge_alone_says_whose_word_it_is_that_nobody_is_in_two_releases(tmp_path, capsys):
    ages, ills = [20 + i % 40 for i in range(600)], ["flu", "cold", "gout"] * 200
    table = pa.table({"pid": [f"p{i}" for i in range(600)], "age": ages, "ill": ills})
    schema = {"identifiers": ["pid"], "quasi_identifiers": ["age"], "sensitive": "ill"}
    policy = {"schema": schema, "require": [{"facts": {}, "below": 0.9}]}
    fk.publish(table[:300], policy, seed=1).write(tmp_path / "january")
    made = fk.publish(table, policy, after=tmp_path / "january", seed=1)
    made.write(tmp_path / "march")
    assert judge_alone([str(tmp_path / "march"), "--after", str(tmp_path / "january")]) == 0
    said = "- that nobody is in two of these releases: it is the publisher's word"
    lines = capsys.readouterr().out.splitlines()
    assert said in lines
    assert "- an adversary who knows when a person came" in lines


def test_the_judge_alone_says_that_rows_may_be_cases_of_one_person(tmp_path, capsys):
    fk.publish(visits(random.Random(1)), OF_PEOPLE, seed=1).write(tmp_path / "out")
    out = said_by_the_judge(tmp_path / "out", capsys)
    assert out[0].endswith(f"every requirement holds {OF_EACH_CASE}")
    assert f"- {CASES_OF_FILES}" in out
    roles = {key: own for key, own in OF_PEOPLE["schema"].items() if key != "person"}
    policy = {"schema": roles, "require": OF_PEOPLE["require"][:1]}
    fk.publish(visits(random.Random(1)), policy, seed=1).write(tmp_path / "alone")
    out = said_by_the_judge(tmp_path / "alone", capsys)
    assert f"- {SEVERAL_CASES}" in out
    assert any("of a group's values to its cases that fits" in line for line in out)


# ---- the page that goes out -----------------------------------------------------------------


@pytest.mark.complete
def test_the_report_does_not_clear_the_release(tmp_path):
    fk.publish(sample.table_path(), RULES, seed=1).write(tmp_path / "out")
    text = Reader((tmp_path / "out" / "report.html").read_text("utf-8")).text
    assert "May be published" not in text
    assert "explains; it does not say that the release should." in text
