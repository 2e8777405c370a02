"""Implications and negations in words: terminal, page, sentences."""

from foreknow.report.pages.audit_terminal import (
    adversary_phrase,
    group_of,
    telling,
    verdict_sentence,
)

import foreknow as fk

BAGS = [["Flu", "Flu", "AIDS", "Cold", "Cancer"], ["Flu", "Cold", "Cold", "AIDS", "Cancer"]]


def verdicts(*requirements):
    """Judge the two groups."""
    counts = fk.GroupCounts.from_bags(BAGS, groups=["a", "b"])
    return fk.audit(counts, fk.Policy(list(requirements)))


def test_a_verdict_names_the_implications_and_what_they_end_with():
    audit = verdicts(fk.Requirement(fk.Implications(2), below="9/10"))
    (verdict,) = audit.verdicts
    said = verdict_sentence(verdict, "disease")
    assert "who knows 2 implications that end with the target having" in said
    told = telling(verdict.point.adversary, verdict.disclosure.witness)
    assert [who for who, _ in told.details] == ["The target", "Implication", "Implication"]
    assert all(what.startswith("if ") for _, what in told.details[1:])
    assert group_of(verdict) in ("a", "b")


def test_negations_are_told_as_what_the_target_does_not_have():
    audit = verdicts(fk.Requirement(fk.Negations(1), below="9/10", values=["AIDS"]))
    said = verdict_sentence(audit.verdicts[0], "disease")
    assert "someone who knows that the target does not have " in said


def test_amounts_without_a_witness():
    assert adversary_phrase(fk.Implications(3), "disease") == (
        "knows any 3 implications between people's diseases"
    )
    assert adversary_phrase(fk.Negations(2), "disease") == (
        "knows any 2 diseases that people do not have"
    )
    for nothing in (fk.Implications(0), fk.Negations(0)):
        assert adversary_phrase(nothing) == "knows nothing but the release"


def test_they_are_in_the_page_and_the_notebook(tmp_path):
    audit = verdicts(
        fk.Requirement(fk.Implications(1), below="9/10"),
        fk.Requirement(fk.Negations(1), below="3/4"),
    )
    audit.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "implication" in page
    assert "Implications(" not in page
    assert "implication" in audit._repr_html_()
