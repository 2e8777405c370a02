"""The word "safe" is for what limits inference; what does not says so beside the word."""

from __future__ import annotations

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.report.pages.audit import AuditPage
from foreknow.report.pages.verification import VerificationPage

# Of both groups nobody is alone, and in one everybody has the same.
ROWS = {"age": ["20 to 29"] * 6 + ["30 to 39"] * 6, "zip": ["123**"] * 12}
ILL = ["flu"] * 6 + ["flu", "hiv", "cold"] * 2
TABLE = pa.table({**ROWS, "ill": ILL})
SCHEMA = {"quasi_identifiers": ["age", "zip"], "sensitive": "ill"}
COUNTING = [
    {"k_anonymity": 5},
    {"group_size": 5},
    {"k_anonymity": {"k": 6, "of": [["age"], ["zip"]]}},
    {"risk": {"average": "1/6"}},
    {"risk": {"prosecutor": "1/6", "uniqueness": 0}},
    {"levels": {"age": {"top": 40}}},
]


def audited(*requirements):
    policy = fk.Policy.from_dict({"schema": SCHEMA, "require": list(requirements)})
    return fk.audit(TABLE, policy, learned=False)


@pytest.mark.parametrize("required", COUNTING, ids=lambda own: str(*own))
def test_what_counts_people_holds_and_is_not_called_safe(required):
    found = audited(required)
    page = AuditPage(found)
    assert found.safe
    assert not found.limits_inference
    assert page.headline == "The requirement holds, but nothing limits inference"
    assert page.mood == ""  # not green
    assert "safe" not in repr(found)
    assert '"limits_inference": false' in found.to_json()


def test_several_that_count_people_limit_no_more_than_one():
    headlines = [AuditPage(audited(*COUNTING[:many])).headline for many in (2, 3)]
    assert headlines == [
        "Both requirements hold, but nothing limits inference",
        "All 3 requirements hold, but nothing limits inference",
    ]


def test_a_requirement_that_asks_nothing_limits_nothing():
    nobody = {"facts": {}, "below": 0.5, "values": ["plague"]}
    said = AuditPage(audited({"k_anonymity": 5}, nobody)).headline
    assert said.startswith("The requirement holds, but nothing limits inference; 1 asks nothing")


@pytest.mark.parametrize(
    "required",
    [{"t_closeness": {"t": 0.5}}, {"facts": {}, "below": 0.5, "values": ["hiv"]}],
    ids=["criterion of values", "facts"],
)
def test_what_is_about_values_is_safe_as_before(required):
    found = audited({"k_anonymity": 5}, required)
    assert found.limits_inference
    assert AuditPage(found).headline == "Safe: both requirements hold"
    assert AuditPage(found).mood == "safe"


def test_verify_and_evidence_say_the_same(tmp_path):
    policy = fk.Policy.from_dict({"schema": SCHEMA, "require": [{"k_anonymity": 5}]})
    raw = pa.table({"age": list(range(20, 32)), "zip": ["12345"] * 12, "ill": ILL})
    fk.publish(raw, policy, seed=1, out=tmp_path / "out")
    found = fk.verify(tmp_path / "out")
    page = VerificationPage(found)
    assert not found.limits_inference
    assert page.headline.endswith("every requirement holds, but nothing limits inference")
    assert page.mood == ""
    assert "Safe" not in (tmp_path / "out" / "report.html").read_text("utf-8")
    evidence = fk.evidence_report(tmp_path / "out").to_html()
    assert "every requirement holds, but nothing limits inference" in evidence


def test_an_average_says_how_exposed_a_single_person_is():
    counts = fk.GroupCounts.from_bags([["flu"], ["cold"] * 50])
    for rule in (fk.Risk(average=0.05), fk.Risk(uniqueness=0.05)):
        said = str(rule.attained(counts))
        assert rule.holds(counts)
        assert said.endswith("one person's prosecutor risk is up to 1, which is not limited")
    assert "is not limited" not in str(fk.Risk(prosecutor=1, average=0.05).attained(counts))


def test_levels_say_that_they_count_nobody():
    (verdict,) = audited({"levels": {"age": {"top": 40}}}).verdicts
    assert str(verdict.found).endswith("; how many people share one is not asked")


def test_a_default_is_said_to_be_nobody_s_choice():
    found = fk.audit(TABLE, **SCHEMA)
    assert found.notes[0].startswith("No policy was given: the requirements are Foreknow's default")
    chosen = fk.audit(TABLE, **SCHEMA, k_anonymity=5)
    assert not any("default" in note for note in chosen.notes)


def test_a_verdict_by_the_word_of_another_package_is_not_green():
    class Mine(fk.KAnonymity):
        key = "mine"

    found = fk.audit(fk.GroupCounts.from_bags(["ab"]), fk.Policy([fk.Requirement(Mine(2))]))
    moods = [getattr(block, "mood", "") for block in AuditPage(found).blocks()]
    assert "safe" not in moods


def test_an_attack_reaches_no_limit_that_nobody_set():
    table = pa.table({"age": list(range(20, 32)), "ill": ["flu", "hiv", "cold", "mumps"] * 3})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    said = {}
    for name, rule in (("counts", fk.KAnonymity(4)), ("limits", fk.Facts())):
        below = None if name == "counts" else 1
        policy = fk.Policy([fk.Requirement(rule, below=below)], schema)
        found = fk.attack(fk.Microdata(table, schema), fk.Mondrian(), policy)
        assert found.limited == (name == "limits")
        said[name] = found.summary().splitlines()[0]
    assert said["counts"].startswith(
        "Nobody is certain because of the algorithm; no requirement says how sure somebody may "
        "become"
    )
    assert said["limits"].startswith("Knowing the algorithm reaches no limit here")


def test_an_attack_says_of_what_it_proves_nothing_where_only_groups_are_limited():
    """Closeness limits inference, though not how sure of a value somebody may become."""
    table = pa.table({"age": list(range(20, 44)), "ill": ["flu", "hiv", "cold", "mumps"] * 6})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.TCloseness("0.6"))], schema)
    microdata = fk.Microdata(table, schema)
    made = fk.publish(microdata, policy, method=fk.Decoy(), seed=1, learned=False)
    assert made.audit.summary().startswith("Safe")
    found = fk.attack(microdata, fk.Decoy(), policy)
    assert found.kept
    assert not found.limited
    said = found.summary()
    assert "none of them says how sure of a value somebody may become" in said.replace("\n", " ")
    assert "inference" not in said


def test_a_comparison_calls_nothing_safe_that_limits_no_inference():
    table = pa.table({"age": list(range(20, 60)), "ill": ["flu", "hiv", "cold", "mumps"] * 10})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(4))], schema)
    found = fk.compare(table, policy, methods=["mondrian"], processes=0)
    said = found.summary()
    assert said.startswith("1 of 1 releases tried meets the policy, but nothing limits inference")
    assert "safe" not in said.lower().replace("safe at", "")
