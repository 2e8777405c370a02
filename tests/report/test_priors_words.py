"""Priors in words: sentences, the terminal, the page; limits that may be reached."""

import json
from fractions import Fraction
from functools import partial

import pyarrow as pa
import pytest
from tests.adversaries.releases_priors import priors_table
from tests.report.reading import words
from tests.report.results import EVIL
from tests.report.snapshots import assert_as_before, page_lines

import foreknow as fk
from foreknow.adversaries.priors import disclosure as priors_judged
from foreknow.report import render
from foreknow.report.knowledge import describe, share_text
from foreknow.report.pages.audit import verdict_sentence
from foreknow.report.words import group_text

ROWS = {("m",): {"Flu": "1/10", "HIV": "9/10"}, ("f",): {"Flu": "3/1000", "HIV": "997/1000"}}
SEX = priors_table(ROWS, ["sex"])
AGE = priors_table({("30", None): {"Flu": "1/2", "HIV": "1/2"}}, ["age", "race"])


def release(groups=("x", "x", "y", "y"), sexes="mfmm", values=("Flu", "HIV", "Flu", "HIV"), **more):
    columns = {"gid": list(groups), "sex": list(sexes), "disease": list(values), **more}
    return fk.Release.from_groups(pa.table(columns), group="gid", sensitive="disease")


def verdict(requirement, judged=None):
    (found,) = fk.audit(judged or release(), fk.Policy([requirement])).verdicts
    return found


# ---- sentences -----------------------------------------------------------------------------


def test_sentences_of_priors_are_as_before(monkeypatch):
    alike = release(sexes="mmmm")
    alone = release(groups="xyzz", sexes="mmmm")
    missing = release(
        groups="xx", sexes="mm", values=("Flu", "HIV"), age=[30, 30], race=pa.nulls(2, pa.string())
    )
    found = [
        verdict(fk.Requirement(fk.Priors(SEX), "1/2", values=["Flu"])),
        verdict(fk.Requirement(fk.Priors(SEX), "1/4"), alike),
        verdict(fk.Requirement(fk.Priors(SEX), at_most="1/2"), alike),
        verdict(fk.Requirement(fk.Priors(SEX), "1/2"), alike),
        verdict(fk.Requirement(fk.Priors(SEX), "1/2"), alone),
        verdict(fk.Requirement(fk.Priors(AGE), at_most="1/2"), missing),
    ]
    assert [each.safe for each in found] == [False, False, True, False, False, True]
    monkeypatch.setattr(
        priors_judged, "posteriors", partial(priors_judged.posteriors, reach=1)
    )  # then a group is out of reach of an exact answer
    found.append(verdict(fk.Requirement(fk.Priors(SEX), "1/2", values=["Flu"])))
    assert found[-1].disclosure.bounded
    lines = []
    for each in found:
        used = describe(each.judged, each.disclosure.witness)
        group = "–" if each.group is None else group_text(each.group)
        lines += [f"{group}: {verdict_sentence(each, 'disease')}"]
        lines += [f"  {who}: {what}" for who, what in used.details]
    for priors in (fk.Priors(SEX), fk.Priors([SEX, AGE], "binary")):
        lines.append(describe(priors, None, "disease").knows)
    assert_as_before("priors", lines)


@pytest.mark.parametrize(
    ("chance", "shown"),
    [
        ("1/3", "33.3%"),
        ("1", "100%"),
        ("0", "0%"),
        ("0.99999", "99.999%"),
        ("0.9999", "99.99%"),
        ("0.003", "0.3%"),
        ("1e-9", "0.0000001%"),
        (f"0.{'9' * 30}", "almost 100%"),
    ],
)
def test_a_probability_is_100_percent_only_where_it_is(chance, shown):
    assert share_text(Fraction(chance)) == shown


# ---- terminal, page, notebook --------------------------------------------------------------


def audit_of_both():
    rules = [
        fk.Requirement(fk.Priors(SEX), "1/2", values=["Flu"]),
        fk.Requirement(fk.Priors(SEX, "binary"), at_most="999/1000"),
        fk.Requirement(fk.Facts(), "9/10"),
        fk.Requirement(fk.Implications(1), "9/10", values=["HIV"]),
    ]
    return fk.audit(release(), fk.Policy(rules))


def test_the_terminal_the_page_and_the_notebook_show_them_beside_others():
    audit = audit_of_both()
    assert_as_before("audit-priors", page_lines(render(audit)))
    for said in (words(audit, 200), render(audit).html()):
        assert "people with sex m have it with probability 10%" in said
        assert "Priors(" not in said
        assert "PriorTable" not in said
    assert "priors" in audit._repr_html_()


def test_the_audit_as_json_holds_the_witness_and_the_limit(tmp_path):
    audit = audit_of_both()
    audit.to_json(tmp_path / "audit.json")
    first, second, *_ = json.loads((tmp_path / "audit.json").read_text())["verdicts"]
    assert first["worst"]["exact"] == "997/1024"
    assert first["worst"]["witness"] == {
        "value": "Flu",
        "group": "x",
        "signature": {"sex": "m"},
        "people": 1,
        "size": 2,
        "holders": 1,
        "prior": "1/10",
    }
    assert (first["below"], second["at_most"]) == ("1/2", "999/1000")


def test_labels_that_are_attacks_are_harmless(tmp_path):
    one, two, three, *_ = EVIL
    priors = pa.table({one: [two, two], "value": [three, "Flu"], "probability": ["1/2", "1/2"]})
    table = pa.table({"gid": [one, one], one: [two, two], "disease": [three, "Flu"]})
    judged = fk.Release.from_groups(table, group="gid", sensitive="disease")
    audit = fk.audit(judged, fk.Policy([fk.Requirement(fk.Priors(priors), "1/2")]))
    audit.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img src=http" not in page
    assert words(audit, 200)
