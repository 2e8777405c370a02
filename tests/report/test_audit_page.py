"""The page of an audit: sentences word for word, tables, the policy, and when it says "safe"."""

import json
import re
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pyarrow as pa
import pytest
from tests.adversaries.releases_priors import priors_table
from tests.report.reading import Reader, words
from tests.report.results import EVIL, Oracle, evil, register, small, verdict_of
from tests.report.snapshots import assert_as_before, page_lines

import foreknow as fk
from foreknow import Disclosure, Facts, GroupCounts, Policy, Requirement, __version__, audit
from foreknow.adversaries.priors import disclosure as priors_judged
from foreknow.policy.explanation import Explanation
from foreknow.report import render
from foreknow.report.knowledge import describe, share_text
from foreknow.report.pages.audit import (
    AuditPage,
    requirement_title,
    sensitive_noun,
    values_phrase,
    verdict_sentence,
)
from foreknow.report.pages.verification import VerificationPage
from foreknow.report.words import group_text
from foreknow_judge.explained import unjudged
from foreknow_judge.printed import visible


def audit_of(bags, *requirements, **more):
    return audit(GroupCounts.from_bags(bags, **more), Policy(list(requirements)))


# ---- sentences ----------------------------------------------------------------------------------

FACTS = [
    {},
    *[{"known": 1}, {"known": 2}, {"family": 1}, {"family": 3}, {"known": 1, "family": 2}],
    *[{"ruled_out": ["Flu"]}, {"ruled_out": ["Flu", "Gout"], "known": 1}],
    *[{"ruled_out": ["Flu"], "family": 2}, {"ruled_out": ["Flu"], "known": 5, "family": 1}],
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


def test_sentences_are_as_before():
    lines = []
    for facts in FACTS:
        verdicts = [verdict_of(exact, **facts) for exact in ("0.62", "0.42", 1)]
        lines += [verdict_sentence(each, "diagnosis") for each in verdicts]
    lines += [verdict_sentence(verdict_of(exact, limit=limit)) for exact, limit in AT_THE_LIMIT]
    lines += [describe(facts, None, "value", how).knows for facts, how in ALLOWED]
    counts = GroupCounts.from_bags([["Flu", "AIDS", "AIDS", "Gout"]])
    lines.append(judged(counts, Requirement(Facts(0, 1, 0), below="0.5")))
    lines.append(judged(counts, Requirement(Oracle(), below="0.5", values=["AIDS"])))
    counts = GroupCounts([2], [0, 2], [0, 1], [1, 1], ["Flu", "Gout", "AIDS"])
    lines.append(judged(counts, Requirement(Facts(), below="0.5", values=["AIDS"])))
    requirement, none = Requirement(Facts(), below="0.5", excluded=["Flu"]), Disclosure(None, 0.0)
    nothing = unjudged(Explanation(0, requirement, *requirement.points[0], none, safe=True))
    lines.append(verdict_sentence(nothing, "diagnosis"))
    verdict = verdict_of("0.62", ruled_out=["Flu"], known=5, family=2, group=("20 to 37", "M"))
    used = describe(verdict.judged, verdict.disclosure.witness)
    assert_as_before("sentences", lines + [": ".join(pair) for pair in used.details])


def judged(counts, *requirements):
    found = audit(counts, Policy(list(requirements)))
    return verdict_sentence(found.verdicts[0], sensitive_noun(found.policy))


def test_implications_and_negations():
    found = audit_of(
        [["Flu", "Flu", "AIDS", "Cold", "Cancer"], ["Flu", "Cold", "Cold", "AIDS", "Cancer"]],
        fk.Requirement(fk.Implications(2), below="9/10"),
        fk.Requirement(fk.Negations(1), below="9/10", values=["AIDS"]),
        groups=["a", "b"],
    )
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


def headline(limits):
    """Of requirements of which a third is a skyline, where every probability is 1/2."""
    rules = [
        Requirement(Facts(), below=limit, values=[value])
        for limit, value in zip(limits, ["Flu", "AIDS", "Flu"], strict=False)
    ]
    if len(limits) == 3:
        rules[2] = Requirement([(Facts(), limits[2]), (Facts(m=1), "1")], values=["Flu"])
    return render(audit_of([["Flu", "AIDS"]], *rules)).headline


def test_headlines_are_as_before():
    first, second = small().policy.requirements
    besides = Requirement(Facts(), below=1, excluded=["Flu", "Gout"])
    limits = [["0.6"], ["0.5"], ["0.6", "0.6"], ["0.5", "0.6"], ["0.5", "0.5"], ["0.6"] * 3]
    lines = [f"{each} -> {headline(each)}" for each in limits]
    lines += [requirement_title(first, 1), requirement_title(replace(first, name="HIV rule"), 2)]
    lines += [values_phrase(each, "diagnosis") for each in (first, second, besides)]
    assert_as_before("headlines", lines)
    found = evil()
    for verdict in found.verdicts:
        assert verdict_sentence(verdict, sensitive_noun(found.policy)).isprintable()


# ---- the page, the terminal and the notebook ----------------------------------------------------


def page_text(found, **more):
    return Reader(render(found, **more).html()).text


def test_the_verdict_stands_first():
    found = small(safe=False)
    reader = Reader(render(found).html())
    for verdict in found.verdicts:
        assert verdict_sentence(verdict, "diagnosis") in reader.text
    assert reader.text.index("Not safe: 1 of 2") < reader.text.index("The verdict on each requirem")
    assert f"Made by Foreknow {__version__}" in reader.text
    heads = [attrs for tag, attrs in reader.elements if tag == "details" and not attrs]
    assert len(heads) == 1  # the requirement about one value needs no list of values
    for value in ("AIDS", "Asthma", "Cancer", "Flu", "Gout"):
        assert value in reader.text
    many = audit_of([{f"v{i:02}": 2 for i in range(40)}], Requirement(Facts(), below=1))
    assert "And 10 others, none of them higher." in page_text(many)


def test_sections_and_figures():
    skyline = Requirement([(Facts(1, 0, 0), "0.9"), (Facts(0, 3, 0), "0.8")], values=["AIDS"])
    page = render(audit(small().counts, Policy([skyline]))).html()
    assert {"requirement-1-1", "requirement-1-2"} <= set(re.findall(r'id="([^"]*)"', page))
    policy = Policy([Requirement(Oracle(), below="0.5", values=["AIDS"])])
    reader = Reader(render(audit(small().counts, policy)).html())
    assert "has the knowledge Oracle(amount=3)" in reader.text
    assert sum(tag == "figure" for tag, _ in reader.elements) == 1
    found = small()  # generalization is shown where it is known
    assert "NCP" not in render(found).html()
    worth = replace(found.utility, ncp={"age": 0.25, "<zip>": 0.5})
    assert "detail lost: <zip> 50.0%" in page_text(replace(found, utility=worth))


def test_values_without_a_requirement():
    """The summary warns of them."""
    counts = small().counts
    some = audit(counts, Policy([Requirement(Facts(), below=1, values=["AIDS"])]))
    people = {v: counts.totals[counts.code(v)] for v in ("Asthma", "Cancer", "Flu", "Gout")}
    ranked = sorted(people, key=lambda value: (-people[value], value))
    listed = ", ".join(f"{value} ({people[value]} people)" for value in ranked)
    assert f"No requirement is about: {listed}." in Reader(render(some).summary()).text
    every = audit(counts, Policy([Requirement(Facts(), below=1)]))
    assert "No requirement is about" not in render(every).summary()
    one = Policy([Requirement(Facts(), below=1, values=[EVIL[4]])])
    reader = Reader(render(audit(evil().counts, one)).summary())
    assert re.sub(r"\s+", " ", visible(EVIL[0])) in reader.text
    assert {tag for tag, _ in reader.elements}.isdisjoint({"script", "img", "a", "b"})


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_no_word_of_other_semantics(semantics):
    found = register(semantics)
    page = render(found)
    assert_as_before(f"audit-{semantics}", page_lines(page))
    wrong = ("ruled out", "other people", "other person", "the target does not", "nobody else")
    for text in (Reader(page.html()).text, words(found, 160), Reader(page.summary()).text):
        assert not [word for word in wrong if word in text]
    text = page_text(register(schema=False))  # then the release says which semantics it has
    assert "other people" not in text
    assert "one sensitive value that comes only with the one in question" in text


def test_columns_that_are_no_nouns():
    rows = {"Alter": [20, 20, 30, 30], "Befund": ["Grippe", "Gicht"] * 2}
    schema = {"quasi_identifiers": ["Alter"], "sensitive": "Befund"}
    policy = {"schema": schema, "require": [{"facts": {}, "below": 0.9}]}
    found = fk.audit(pa.table(rows), policy, learned=False)
    text = Reader(found.to_html(published=True)).text
    assert "every Befund" in text
    assert "the limit is 90%" in text
    for word in ("befund", "your limit", "any_of", "foreknow attack"):
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
def test_rows_without_a_value(missing, said, tmp_path):
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


# ---- "safe" is for what limits inference; what does not says so beside the word ------------------

# Of both groups nobody is alone, and in one everybody has the same.
ILL = ["flu"] * 6 + ["flu", "hiv", "cold"] * 2
AGES = ["20 to 29"] * 6 + ["30 to 39"] * 6
TABLE = pa.table({"age": AGES, "zip": ["123**"] * 12, "ill": ILL})
SCHEMA = {"quasi_identifiers": ["age", "zip"], "sensitive": "ill"}
COUNTING = [
    {"k_anonymity": 5},
    {"group_size": 5},
    {"k_anonymity": {"k": 6, "of": [["age"], ["zip"]]}},
    {"risk": {"average": "1/6"}},
    {"risk": {"prosecutor": "1/6", "uniqueness": 0}},
    {"levels": {"age": {"top": 40}}},
]
HOLDS = "The requirement holds, but nothing limits inference"


def limited(*required):
    """Whether an audit limits inference, its headline and its mood; it holds in any case."""
    policy = fk.Policy.from_dict({"schema": SCHEMA, "require": list(required)})
    found = fk.audit(TABLE, policy, learned=False)
    assert found.safe
    assert ("safe" in repr(found)) == found.limits_inference
    assert f'"limits_inference": {str(found.limits_inference).lower()}' in found.to_json()
    return found.limits_inference, AuditPage(found).headline, AuditPage(found).mood


@pytest.mark.parametrize(
    ("required", "said"),
    [
        *(([rule], HOLDS) for rule in COUNTING),
        (COUNTING[:2], "Both requirements hold, but nothing limits inference"),
        (COUNTING[:3], "All 3 requirements hold, but nothing limits inference"),
        (
            [COUNTING[0], {"facts": {}, "below": 0.5, "values": ["plague"]}],
            f"{HOLDS}; 1 asks nothing",
        ),
    ],
)
def test_counting_people_is_not_safe(required, said):
    limits, headline, mood = limited(*required)
    assert headline.startswith(said)
    assert (limits, mood) == (False, "")  # not green


@pytest.mark.parametrize(
    "required", [{"t_closeness": {"t": 0.5}}, {"facts": {}, "below": 0.5, "values": ["hiv"]}]
)
def test_limits_about_values_are_safe(required):
    assert limited(COUNTING[0], required) == (True, "Safe: both requirements hold", "safe")


@pytest.mark.complete
def test_what_verify_and_evidence_say(tmp_path):
    policy = fk.Policy.from_dict({"schema": SCHEMA, "require": [{"k_anonymity": 5}]})
    raw = pa.table({"age": list(range(20, 32)), "zip": ["12345"] * 12, "ill": ILL})
    fk.publish(raw, policy, seed=1, out=tmp_path / "out")
    found = fk.verify(tmp_path / "out")
    page, said = VerificationPage(found), "every requirement holds, but nothing limits inference"
    assert not found.limits_inference
    assert (page.headline.endswith(said), page.mood) == (True, "")
    assert "Safe" not in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert said in fk.evidence_report(tmp_path / "out").to_html()


def test_what_counting_leaves_open():
    counts = GroupCounts.from_bags([["flu"], ["cold"] * 50])
    for rule in (fk.Risk(average=0.05), fk.Risk(uniqueness=0.05)):
        said = "one person's prosecutor risk is up to 1, which is not limited"
        assert str(rule.attained(counts)).endswith(said)
        assert rule.holds(counts)
    assert "is not limited" not in str(fk.Risk(prosecutor=1, average=0.05).attained(counts))
    policy = fk.Policy.from_dict({"schema": SCHEMA, "require": COUNTING[-1:]})
    (verdict,) = fk.audit(TABLE, policy, learned=False).verdicts
    assert str(verdict.found).endswith("; how many people share one is not asked")
    notes = fk.audit(TABLE, **SCHEMA).notes
    assert notes[0].startswith("No policy was given: the requirements are Foreknow's default")
    chosen = fk.audit(TABLE, **SCHEMA, k_anonymity=5)
    assert not any("default" in note for note in chosen.notes)

    class Mine(fk.KAnonymity):  # a verdict by the word of another package is not green
        key = "mine"

    blocks = AuditPage(audit_of(["ab"], fk.Requirement(Mine(2)))).blocks()
    assert "safe" not in [getattr(block, "mood", "") for block in blocks]


@pytest.mark.parametrize(
    ("requirement", "method", "limited", "said"),
    [
        (
            fk.Requirement(fk.KAnonymity(4)),
            *("Mondrian", False),
            "Nobody is certain because of the algorithm; no requirement limits how sure somebody "
            "may become",
        ),
        (
            fk.Requirement(fk.Facts(), below=1),
            *("Mondrian", True, "Knowing the algorithm reaches no limit here"),
        ),
        # Closeness limits inference, though not how sure of a value somebody may become.
        (
            fk.Requirement(fk.TCloseness("0.6")),
            *("Decoy", False, "none of them limits how sure somebody may become of a value"),
        ),
    ],
)
def test_attacks_reach_no_unset_limit(requirement, method, limited, said):
    table = pa.table({"age": list(range(20, 44)), "ill": ["flu", "hiv", "cold", "mumps"] * 6})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    microdata, policy = fk.Microdata(table, schema), fk.Policy([requirement], schema)
    found = fk.attack(microdata, getattr(fk, method)(), policy)
    assert (found.limited, found.kept) == (limited, method == "Decoy")
    assert said in found.summary().replace("\n", " ")
    assert method == "Mondrian" or "inference" not in found.summary()


def test_comparisons_call_nothing_safe():
    table = pa.table({"age": list(range(20, 60)), "ill": ["flu", "hiv", "cold", "mumps"] * 10})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(4))], schema)
    said = fk.compare(table, policy, methods=["mondrian"], processes=0).summary()
    assert said.startswith("1 of 1 releases tried meets the policy, but nothing limits inference")
    assert "safe" not in said.lower().replace("safe at", "")


# ---- priors --------------------------------------------------------------------------------------

ROWS = {("m",): {"Flu": "1/10", "HIV": "9/10"}, ("f",): {"Flu": "3/1000", "HIV": "997/1000"}}
SEX = priors_table(ROWS, ["sex"])
AGE = priors_table({("30", None): {"Flu": "1/2", "HIV": "1/2"}}, ["age", "race"])


def release(groups="xxyy", sexes="mfmm", values=("Flu", "HIV", "Flu", "HIV"), **more):
    columns = {"gid": list(groups), "sex": list(sexes), "disease": list(values), **more}
    return fk.Release.from_groups(pa.table(columns), group="gid", sensitive="disease")


def test_prior_sentences_are_unchanged(monkeypatch):
    alike, alone = release(sexes="mmmm"), release(groups="xyzz", sexes="mmmm")
    nobody = {"age": [30, 30], "race": pa.nulls(2, pa.string())}
    missing = release(groups="xx", sexes="mm", values=("Flu", "HIV"), **nobody)
    flu = fk.Requirement(fk.Priors(SEX), "1/2", values=["Flu"])
    half = fk.Requirement(fk.Priors(SEX), "1/2")
    asked = [
        (flu, release()),
        (fk.Requirement(fk.Priors(SEX), "1/4"), alike),
        (fk.Requirement(fk.Priors(SEX), at_most="1/2"), alike),
        *[(half, alike), (half, alone)],
        (fk.Requirement(fk.Priors(AGE), at_most="1/2"), missing),
    ]
    verdicts = [fk.audit(found, fk.Policy([rule])).verdicts[0] for rule, found in asked]
    assert [each.safe for each in verdicts] == [False, False, True, False, False, True]
    # Then a group is out of reach of an exact answer.
    short = partial(priors_judged.posteriors, reach=1)
    monkeypatch.setattr(priors_judged, "posteriors", short)
    verdicts += fk.audit(release(), fk.Policy([flu])).verdicts
    assert verdicts[-1].disclosure.bounded
    lines = []
    for each in verdicts:
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
        *[("1/3", "33.3%"), ("1", "100%"), ("0", "0%"), ("0.99999", "99.999%")],
        *[("0.9999", "99.99%"), ("0.003", "0.3%"), ("1e-9", "0.0000001%")],
        (f"0.{'9' * 30}", "almost 100%"),
    ],
)
def test_only_certainty_is_100_percent(chance, shown):
    assert share_text(Fraction(chance)) == shown


def test_priors_beside_others(tmp_path):
    rules = [
        fk.Requirement(fk.Priors(SEX), "1/2", values=["Flu"]),
        fk.Requirement(fk.Priors(SEX, "binary"), at_most="999/1000"),
        fk.Requirement(fk.Facts(), "9/10"),
        fk.Requirement(fk.Implications(1), "9/10", values=["HIV"]),
    ]
    found = fk.audit(release(), fk.Policy(rules))
    assert_as_before("audit-priors", page_lines(render(found)))
    for said in (words(found, 200), render(found).html()):
        assert "people with sex m have it with probability 10%" in said
        assert "Priors(" not in said
        assert "PriorTable" not in said
    assert "priors" in found._repr_html_()
    found.to_json(tmp_path / "audit.json")
    first, second, *_ = json.loads((tmp_path / "audit.json").read_text())["verdicts"]
    assert first["worst"]["exact"] == "997/1024"
    numbers = {"people": 1, "size": 2, "holders": 1, "prior": "1/10"}
    who = {"value": "Flu", "group": "x", "signature": {"sex": "m"}}
    assert first["worst"]["witness"] == {**who, **numbers}
    assert (first["below"], second["at_most"]) == ("1/2", "999/1000")


def test_hostile_priors_are_harmless():
    one, two, three, *_ = EVIL
    priors = pa.table({one: [two, two], "value": [three, "Flu"], "probability": ["1/2", "1/2"]})
    table = pa.table({"gid": [one, one], one: [two, two], "disease": [three, "Flu"]})
    hostile = fk.Release.from_groups(table, group="gid", sensitive="disease")
    found = fk.audit(hostile, fk.Policy([fk.Requirement(fk.Priors(priors), "1/2")]))
    page = render(found).html()
    assert "<script>alert" not in page
    assert "<img src=http" not in page
    assert words(found, 200)
