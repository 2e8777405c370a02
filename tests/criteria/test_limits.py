"""What limits inference, and that nothing else is called safe; what pages say of limits."""

from __future__ import annotations

import json
import random
import re
from functools import partial

import pyarrow as pa
import pytest
from tests.adversaries.releases import priors_table
from tests.cli.conftest import desk as desk
from tests.report.results import Reader

import foreknow as fk
from foreknow.report.blocks import Items, Table
from foreknow.report.pages.audit import AuditPage
from foreknow.report.pages.verification import VerificationPage
from foreknow.result_pages import page_of
from foreknow_judge.files.written_release import Written
from foreknow_judge.output_lines import main as judge_alone
from foreknow_judge.remarks.assumptions import ASSUMPTIONS, ONCE_CLAIMED
from foreknow_judge.remarks.sentences import ASSUMED, CASES_OF_FILES, ONCE_UNSEEN, SEVERAL_CASES
from foreknow_judge.verdicts import verdicts as verify

TREE = [["flu", "lung"], ["cold", "lung"], ["hiv", "blood"], ["mumps", "gland"]]
VALUES = [row[0] for row in TREE]
ROWS = pa.table({"age": list(range(20, 60)), "ill": VALUES * 10})
SCHEMA = {"quasi_identifiers": ["age"], "sensitive": "ill"}
IDLE = {"facts": {}, "below": 0.5, "values": ["plague"]}
NOBODY = "Nobody whose value has a limit could be found out at it"
OF_EACH_CASE = "of each case; of people it is the publisher's word"


def policy_of(*requirements):
    """Of tables as in a policy, of which criteria may have one number."""
    asked = []
    short = {"l_diversity": "l", "t_closeness": "t", "beta_likeness": "beta"}
    for requirement in requirements:
        key = next(iter(requirement))
        only = key in short and not isinstance(requirement[key], dict)
        asked.append({key: {short[key]: requirement[key]}} if only else requirement)
    return fk.Policy.from_dict({"schema": SCHEMA, "require": asked})


def published(folder, *requirements, **more):
    publication = fk.publish(ROWS, policy_of(*requirements), seed=1, learned=False, **more)
    publication.write(folder)
    return publication, fk.verify(folder)


def is_green(page):
    return bool(re.search('class="[^"]* safe"', page.html()))


def said_by_the_judge(folder, capsys, *more):
    """The lines that the judge prints; its JSON has the first of them beside "verified"."""
    assert judge_alone([str(folder), *more, "--json"]) == 0
    as_json = json.loads(capsys.readouterr().out)
    assert judge_alone([str(folder), *more]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (as_json["verified"], as_json["headline"]) == (True, lines[0])
    return lines


def texts_of(page, kind):
    return [block for block in page.glance() if isinstance(block, kind)]


# ---- what limits inference -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("required", "limits"),
    [
        ({"l_diversity": 1}, False),
        ({"l_diversity": {"l": 1, "kind": "entropy"}}, False),
        ({"t_closeness": 1}, False),
        ({"t_closeness": 0.75}, False),  # one value is 3/4 away from four that are as frequent
        ({"beta_likeness": 3}, False),
        ({"alpha_k": {"alpha": 1, "k": 5}}, False),
        (IDLE, False),
        ({"l_diversity": 2}, True),
        ({"l_diversity": {"l": "1.001", "kind": "entropy"}}, True),
        ({"l_diversity": {"l": 2, "kind": "recursive", "c": 100}}, True),
        ({"t_closeness": 0.74}, True),
        ({"beta_likeness": "2.99"}, True),
        ({"beta_likeness": {"beta": 1000, "enhanced": True}}, True),
        ({"delta_disclosure": {"delta": 500}}, True),
        ({"alpha_k": {"alpha": 0.99, "k": 5}}, True),
        ({"facts": {}, "below": 1}, True),
    ],
    ids=str,
)
def test_settings_that_ask_something(required, limits, tmp_path):
    made, found = published(tmp_path / "out", {"k_anonymity": 5}, required)
    audit, page = made.audit, AuditPage(made.audit)
    assert audit.safe
    assert audit.limits_inference is found.limits_inference is limits
    assert found.to_dict()["limits_inference"] is limits
    if limits:
        free = "" if "facts" in required else "; 4 values have no limit of their own"
        assert (page.headline, page.mood) == (f"Safe: both requirements hold{free}", "safe")
        return
    for own in (page, VerificationPage(found)):
        assert "but nothing limits inference" in own.headline
        assert own.mood == ""
    assert "safe" not in [getattr(block, "mood", "") for block in page.blocks()]


# ---- counts of the table say it, and not settings alone --------------------------------------

THREE = {"age": [30] * 4 + [40] * 4 + [50] * 4, "ill": list("aaaabbbbcccc")}
MIXED = {"age": [30, 40, 50] * 4, "ill": list("abcbcacababc")}


def priors_of(a, b, c, reading="joint"):
    rows = {(age,): dict(zip("abc", (a, b, c), strict=True)) for age in ("30", "40", "50")}
    return fk.Priors(priors_table(rows, ["age"]), reading)


@pytest.mark.parametrize("reading", ["joint", "binary"])
@pytest.mark.parametrize(
    ("chances", "more", "limits"),
    [
        ((0.34, 0.33, 0.33), {"at_most_times": 4}, False),
        ((0.52, 0.24, 0.24), {"at_most_times": 4, "values": ["a"]}, False),
        ((0.34, 0.33, 0.33), {"at_most_times": 2, "any_of": ["a", "b"]}, False),
        ((0.34, 0.33, 0.33), {"at_most_times": 2, "any_of": {"x": ["a", "b"], "y": ["c"]}}, True),
        ((0.34, 0.33, 0.33), {"at_most": 1}, False),
        ((0.34, 0.33, 0.33), {"at_most_times": "3.02"}, True),
        ((0.52, 0.24, 0.24), {"at_most_times": 4}, True),
    ],
    ids=str,
)
def test_where_priors_leave_room(chances, more, limits, reading):
    required = fk.Requirement(priors_of(*chances, reading), **more)
    policy = fk.Policy([required], fk.Schema(**SCHEMA))
    for rows in (THREE, MIXED):
        audit = fk.audit(pa.table(rows), policy, learned=False)
        assert audit.limits_inference is audit.to_dict()["limits_inference"] is limits
        page = AuditPage(audit)
        assert page.mood == ("unsafe" if not audit.safe else "safe" if limits else "")
        assert ("nothing limits inference" in page.headline) is (audit.safe and not limits)
        assert not audit.safe or ("safe" in repr(audit)) is limits
        assert limits or (audit.safe and not is_green(page))
    tables = Written("generalized", ("age",), "ill", {"release": pa.table(THREE)})
    (found,) = verify(tables, [required.to_dict()])
    assert found.found.limits_values is (limits or "at_most" in more)


def test_every_command_says_it(tmp_path):
    required = fk.Requirement(priors_of(0.34, 0.33, 0.33), at_most_times=4)
    policy, out = fk.Policy([required], fk.Schema(**SCHEMA)), tmp_path / "out"
    publication = fk.publish(
        pa.table(THREE), policy, method="art", form="bucketized", learned=False
    )
    publication.write(out)
    evidence = fk.evidence_report(out)
    for result in (publication.audit, fk.verify(out), evidence):
        assert page_of(result).mood == ""
        assert "nothing limits inference" in page_of(result).html()
        assert not is_green(page_of(result))
    assert json.loads(evidence.to_json())["audit"]["limits_inference"] is False
    compared = fk.compare(pa.table(THREE), policy, methods=["art"], processes=0)
    assert (compared.limits_inference, {own.status for own in compared.safe}) == (False, {"holds"})
    for required, status in (
        ({"k_anonymity": 5}, "holds"),
        ({"beta_likeness": 3}, "holds"),
        ({"facts": {}, "below": 0.9}, "safe"),
    ):
        comparison = fk.compare(ROWS, policy_of(required), methods=["mondrian"], processes=0)
        assert {candidate.status for candidate in comparison.candidates} == {status}
        assert comparison.to_dict()["limits_inference"] is (status == "safe")
        assert all(candidate.safe for candidate in comparison.candidates)
        if status == "holds":
            assert "but nothing limits inference" in page_of(comparison).headline
            assert "safe" not in f"{comparison.summary()} {comparison!r}".lower()
    text = (
        "Safe: every requirement holds at that limit. Values and columns without a requirement, "
        "columns that the policy takes nobody to know, and other releases, are not covered: see "
        "the audit of the release that you make."
    )
    assert text in " ".join(comparison.summary().split())
    page = comparison.to_html()
    assert text in page
    assert "how sure an adversary can become, at worst" in page


# ---- sentences -------------------------------------------------------------------------------


def test_what_a_criterion_is_about(tmp_path):
    close = {"t_closeness": 0.5}
    made, found = published(tmp_path / "out", {"k_anonymity": 5}, close)
    first, second = VerificationPage(found).shown()[1].texts
    assert first.endswith("this is about groups, and not about what anyone can infer")
    about = "his is about how values are spread within groups; what somebody"
    assert f"t{about} who knows more can infer was not judged" in second
    page = fk.evidence_report(tmp_path / "out").to_html()
    assert f"T{about}" in page
    assert "This is about groups, not about what is inferred" not in page
    assert made.audit.unprotected  # JSON stays as it was
    together = (
        "No limit is about single values: t_closeness is about all of them together, and how sure "
        "somebody can be of one was not judged."
    )
    assert not any("outright" in note for note in (*made.audit.notes, *page_of(found).notes))
    flu = {"facts": {}, "below": 0.9, "values": ["flu"]}
    for rules, said in (
        (({"k_anonymity": 5}, close), together),
        ((flu, close), "No limit is about cold, hiv, mumps alone: "),
        (({"t_closeness": 1}, {"k_anonymity": 5}), "may disclose them outright"),
    ):
        made, found = published(tmp_path / str(len(said)), *rules)
        for notes in (made.audit.notes, page_of(found).notes):
            assert any(said in note for note in notes)
    _, found = published(tmp_path / "levels", {"k_anonymity": 5}, {"levels": {"age": {"top": 50}}})
    said = VerificationPage(found).shown()[1].texts[1]
    assert said.endswith(": it holds; this is about labels")
    assert "attained is 0" not in said
    # Of several columns each has its sentence.
    table = pa.table({"age": [1] * 4, "ill": [*"abcc"], "pay": [*"xyyz"]})
    asked = [
        {"sensitive": "ill", "t_closeness": {"t": 0.5}},
        {"sensitive": "pay", "facts": {}, "below": 0.9, "values": ["x"]},
    ]
    schema = {"quasi_identifiers": ["age"], "sensitive": ["ill", "pay"]}
    notes = fk.audit(table, {"schema": schema, "require": asked}, learned=False).notes
    assert any(note.startswith("No limit is about single values of ill: t_clo") for note in notes)
    assert any("pay y (2 people), pay z (one person). The release may" in note for note in notes)


def test_decoy_and_earlier_releases(tmp_path):
    rules = [{"k_anonymity": 5}, {"alpha_k": {"alpha": 1, "k": 5}}]
    made, verification = published(tmp_path / "out", *rules, method="decoy")
    text = (
        "By a proof, what is required holds also against an adversary who knows the method; "
        "nothing of it limits inference."
    )
    assert text in made.audit.notes
    assert any(note.endswith(text) for note in page_of(verification).notes)
    assert "knows the method" not in AuditPage(made.audit).headline
    attack_result = fk.attack(
        fk.Microdata(ROWS, policy_of(*rules).schema), fk.Decoy(), policy_of(*rules)
    )
    (first, *_) = [block.text for block in page_of(attack_result).shown()]
    assert "no requirement fails for an adversary who knows the method" in first
    assert "reaches no limit" not in first
    assert page_of(attack_result).mood == ""
    rules = fk.Policy(policy_of(rules[0]).requirements, fk.Schema(**SCHEMA, identifiers=["id"]))
    for name, first, after in (("one", 0, None), ("two", 20, [tmp_path / "several" / "one"])):
        (tmp_path / "several").mkdir(exist_ok=True)
        rows = ROWS.slice(first, 20).append_column("id", pa.array(range(first, first + 20)))
        fk.publish(rows, rules, after=after, seed=1, learned=False, out=tmp_path / "several" / name)
    verification = fk.verify(tmp_path / "several" / "two", after=tmp_path / "several" / "one")
    (text,) = [
        b.text for b in page_of(verification).shown() if "As one release" in getattr(b, "text", "")
    ]
    assert "every requirement of this one holds, but nothing limits inference." in text


# ---- limits relative to priors ---------------------------------------------------------------


def evidence_of(table, policy, place, **more):
    publication = fk.publish(table, policy, seed=1, **more)
    publication.write(place / "out")
    return publication, fk.evidence_report(place / "out", table, policy, queries=5)


# ---- cases and units -------------------------------------------------------------------------

ROLES = {"quasi_identifiers": ["ward", "age"], "sensitive": "ill", "unit": "row"}
OF_PEOPLE = {
    "schema": {**ROLES, "person": "who", "identifiers": ["who"]},
    "require": [{"facts": {"k": 1}, "below": 0.9}, {"k_anonymity": 4}],
}


def visits(many=200):
    rng = random.Random(1)
    columns = {"ward": "ABCDEFGH", "age": range(20, 80), "ill": [f"d{i}" for i in range(12)]}
    rows = {name: [rng.choice(values) for _ in range(many)] for name, values in columns.items()}
    return pa.table({"who": [f"P{rng.randrange(120)}" for _ in range(many)], **rows})


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    place = tmp_path_factory.mktemp("cases")
    return *evidence_of(visits(), OF_PEOPLE, place), place / "out"


def test_cases_were_judged_not_people(cases):
    made, evidence, _ = cases
    (table,) = texts_of(page_of(made.audit), Table)
    assert made.audit.verdicts[0].found.bounded
    assert re.fullmatch(r"at most \d\d\.\d%", str(table.rows[0][3]))
    page = page_of(evidence.verification)
    assert page.mood == page_of(evidence).mood == ""
    message = page.said(page.headline)
    assert message.startswith("Verified of cases: 200 cases in ")
    assert message.endswith(OF_EACH_CASE)
    items = [text for block in texts_of(page, Items) for text in block.texts]
    about = r"k_anonymity = 4: attained is \d+ cases; this is about groups"
    assert any(re.match(about, text) for text in items)
    text = Reader(page_of(evidence).html()).text
    for message in (
        f"Verified of cases, afresh from the files: every requirement holds {OF_EACH_CASE}.",
        "What is verified is about cases; what the publisher counted of people",
        "Requirement 1: worst case, of one case",
        "No case could be found out at a limit",
    ):
        assert message in text
    assert NOBODY not in text


def test_cases_without_persons(tmp_path, capsys):
    first = OF_PEOPLE["require"][:1]
    by_case = {"schema": ROLES | {"identifiers": ["who"]}, "require": first}
    fk.publish(visits(), by_case, seed=1).write(tmp_path / "out")
    verification, audit = fk.verify(tmp_path / "out"), fk.audit(tmp_path / "out", by_case)
    page, open_of_people = page_of(verification), "of each case; of people it was not judged"
    assert page.mood == page_of(audit).mood == ""
    assert page.said(page.headline).endswith(f"every requirement on ill holds {open_of_people}")
    headline = f"Safe: the requirement holds {open_of_people}"
    assert audit.to_dict()["headline"] == headline
    assert headline in audit.summary()
    assert headline in Reader(audit._repr_html_()).text
    assert repr(audit).endswith("safe of each case, 1 requirement; of people it was not judged)")
    assert repr(verification).endswith(f"what is required holds {open_of_people})")
    mine = fk.Policy.of({**OF_PEOPLE, "require": first})
    with pytest.raises(fk.InputError, match="only the owner of the table can judge people"):
        fk.verify(tmp_path / "out", mine)
    out = said_by_the_judge(tmp_path / "out", capsys)
    assert out[0].endswith(f"every requirement holds {open_of_people}")
    assert f"- {SEVERAL_CASES}" in out
    assert any("a group's values to its cases that fits" in line for line in out)


def test_criteria_of_cases_stay_unsafe(tmp_path):
    rows = {"age": [30] * 3 + [40] * 3, "ill": list("abcabc"), "pid": list("aaabcd")}
    table, by_age = pa.table(rows), {**SCHEMA, "unit": "row"}
    owner, cases = fk.Schema(**by_age, person="pid"), fk.Schema(**by_age)
    rule, looked = fk.Requirement(fk.LDiversity(3)), partial(fk.audit, learned=False)
    audit = looked(table, fk.Policy([rule], owner))
    text = "holds of each case, but nothing limits inference of people"
    assert (audit.safe, audit.limits_inference) == (True, False)
    page = page_of(audit)
    assert page.said(page.headline) == f"The requirement {text}"
    assert text in repr(audit)
    assert "safe" not in audit.summary().lower()
    publication = fk.publish(table, fk.Policy([rule], owner), learned=False)
    publication.write(tmp_path / "out")
    results_found, evidence = fk.verify(tmp_path / "out"), fk.evidence_report(tmp_path / "out")
    for result in (audit, publication.audit, results_found, evidence):
        page = page_of(result)
        assert (page.mood, text in page.html(), is_green(page)) == ("", True, False)
    assert not results_found.limits_inference
    # Whoever counts no people says of cases what holds of them.
    assert fk.verify(tmp_path / "out", fk.Policy([rule], cases)).limits_inference
    assert looked(table, fk.Policy([rule], cases)).limits_inference
    assert (
        page_of(looked(table, fk.Policy([rule, fk.Requirement(fk.KAnonymity(1))], owner))).mood
        == ""
    )
    people = fk.Requirement(fk.Facts(), below="9/10", values=["zzz", "b"])
    table = table.set_column(2, "pid", pa.array(list("abcdef")))
    page = page_of(looked(table, fk.Policy([rule, people], owner)))
    assert page.headline == "Safe: both requirements hold; 2 values have no limit"
    assert [getattr(block, "mood", "") for block in page.blocks()].count("safe") == 1
    wide = fk.Schema(**by_age, person="pid", hierarchies={"age": fk.Intervals([30])})
    results_found = fk.FullDomain().search(fk.Microdata(table, wide), fk.Policy([rule], wide))
    assert not results_found.limits_inference
    compared = fk.compare(table, fk.Policy([rule], wide), methods=["fulldomain"], processes=0)
    assert not compared.limits_inference


# ---- what evidence answers, what is assumed, and what the judge alone says -------------------


@pytest.mark.complete
@pytest.mark.parametrize("limits", [True, False])
def test_what_safe_assumes(limits, tmp_path, capsys):
    made, found = published(
        tmp_path / "out", {"k_anonymity": 5}, *[{"facts": {}, "below": 0.5}] * limits
    )
    report = Reader((tmp_path / "out" / "report.html").read_text("utf-8")).text
    texts = {
        "audit and publish": " ".join(made.audit.summary().split()),
        "report": report,
        "verify": " ".join(found.summary().split()),
        "the judge alone": " ".join(said_by_the_judge(tmp_path / "out", capsys)),
    }
    for where, text in texts.items():
        assert ASSUMED in text
        assert (ONCE_UNSEEN if where == "audit and publish" else ONCE_CLAIMED) in text, where
        for sentence in ASSUMPTIONS:
            assert (sentence in text) == limits, where
    assert "May be published" not in report
    assert "explains; it does not say that the release should." in report


def test_the_judge_alone(cases, tmp_path, capsys):
    """It says what a criterion is about, how small groups are, and what was left out."""
    _, found = published(
        tmp_path / "out", {"k_anonymity": 5}, {"facts": {}, "below": 0.5, "values": ["hiv"]}
    )
    out = said_by_the_judge(tmp_path / "out", capsys)
    (sizes,) = (line for line in out if line.startswith("- k_anonymity"))
    assert sizes.endswith("; this is about groups, and not about what anyone can infer")
    assert any(", about hiv: at most" in line for line in out)
    assert f"The smallest group has {found.scope.smallest_group} people." in out
    out = said_by_the_judge(cases[2], capsys)
    assert out[0].endswith(f"every requirement holds {OF_EACH_CASE}")
    assert f"- {CASES_OF_FILES}" in out
    rng = random.Random(1)
    ills = [None if i < 3 else rng.choice(["flu", "cold", "gout"]) for i in range(60)]
    numbers = {"age": range(20, 80), "pay": range(1000, 9000)}
    rows = {name: [rng.choice(number) for _ in ills] for name, number in numbers.items()}
    common = {"below": 0.9, "facts": {}, "knowing": []}
    near = {**common, "within": "10%", "sensitive": "pay"}
    for sensitive, require in (
        ("ill", [{**common, "sensitive": "ill"}]),
        (["ill", "pay"], [{**common, "sensitive": "ill"}, near]),
    ):
        folder = tmp_path / str(len(require))
        schema = {"quasi_identifiers": ["age"], "sensitive": sensitive, "missing": "drop"}
        policy = {"schema": schema, "require": require}
        fk.publish(pa.table({**rows, "ill": ills}), policy, seed=1).write(folder)
        out = "\n".join(said_by_the_judge(folder, capsys))
        left = "3 rows have no sensitive value and were left out; no verdict is about them."
        assert f"- The publisher notes, which is not verified: {left}" in out
        assert ("pay: facts" in out) == ("about every value to within 10%: at most" in out)
        if sensitive == "ill":
            assert "- Values are judged one at a time: " in out


def test_asking_nothing_has_no_figure(tmp_path, capsys):
    never = {"facts": {}, "below": 0.5, "values": ["zzz"]}
    made, found = published(tmp_path / "out", never, {"k_anonymity": 3})
    (table,) = texts_of(page_of(made.audit), Table)
    ((word, _, _, worst, limit, where),) = table.rows
    assert [str(cell) for cell in (word, worst, limit, where)] == [
        "– asks nothing",
        "–",
        "50%",
        "–",
    ]
    assert repr(made.audit).endswith("2 requirements, 1 about nobody)")
    assert page_of(found).headline.endswith("; 1 asks nothing of this table")
    nothing = ", about zzz: asks nothing, since nobody has a value"
    assert nothing in " ".join(found.summary().split())
    assert any(line.endswith(nothing) for line in said_by_the_judge(tmp_path / "out", capsys))


@pytest.mark.complete
def test_rounding_is_assumed_unknown(tmp_path, capsys):
    rows = {"age": [20 + i % 40 for i in range(200)], "pay": [1000 + 37 * i for i in range(200)]}
    near = {"within": "10%", "facts": {}, "below": 0.9}
    options = {"schema": {**SCHEMA, "sensitive": "pay"}, "publish": {"round": {"pay": 100}}}
    publication = fk.publish(pa.table(rows), {**options, "require": [near]}, learned=False)
    publication.write(tmp_path / "out")
    text = "Nobody knows the pay of anybody more exactly than it is published, in multiples of 100."
    verification = fk.verify(tmp_path / "out")
    for result in (publication.audit, verification):
        assert text in result.to_dict()["assumed"]
        assert text in Reader(result._repr_html_()).text
    assert text in Reader((tmp_path / "out" / "report.html").read_text("utf-8")).text
    assert text in Reader(page_of(fk.evidence_report(tmp_path / "out")).html()).text
    assert f"- {text}" in said_by_the_judge(tmp_path / "out", capsys)


# ---- the explorer -----------------------------------------------------------------------------


def looked_at(tmp_path, table, schema, *required):
    pytest.importorskip("starlette", reason="pip install .[explore]")
    from foreknow.features.explore.session import JudgedSource

    return JudgedSource("t", tmp_path / "t.csv", False, fk.Policy(required, schema), table)


def test_skylines_need_rows_of_people(tmp_path):
    from foreknow.features.explore.release import judge, skyline

    rows = {"age": [30] * 3 + [40] * 3, "ill": list("abcabc"), "pid": list("aaabcd")}
    rows = pa.table(rows | {"job": [*"uvwuvw"]})
    limit = fk.Requirement(fk.Facts(), below="2/3")
    people = looked_at(tmp_path, rows, fk.Schema(**SCHEMA, unit="row", person="pid"), limit)
    assert judge(people, {"value": "a"})["mood"] == "unsafe"
    rule = {"values": ["a"], "where": {"job": ["v", "w"]}}
    some = looked_at(tmp_path, rows, fk.Schema(**SCHEMA, impossible=[rule]), limit)
    homes = rows.append_column("home", pa.array([1, 1, 2, 3, 3, 3]))
    shared = {"by": "home", "values": ["pay"]}
    pay = fk.Schema(quasi_identifiers=["age"], sensitive="pay", shared=shared)
    homes = homes.append_column("pay", pa.array(list("xxyzzz")))
    homes, limit = fk.Microdata(homes, pay), fk.Requirement(fk.Facts(), below="9/10")
    together = looked_at(tmp_path, homes, pay, limit)
    for looked, value, why in (
        (people, "a", "people may have several cases"),
        (some, "a", "some people cannot have some values"),
        (together, "x", "people of a household have a value together"),
    ):
        told = skyline(looked, {"value": value})
        assert told["least"].endswith(f"it would count each row as a person, and {why}.")
        assert (told["points"], told["words"], told["figure"]) == ([], [], None)
    alone = looked_at(tmp_path, rows, fk.Schema(**SCHEMA), limit)
    assert skyline(alone, {"value": "a"})["figure"]


HIV_ONLY = {"facts": {}, "below": 1, "values": ["a"], "sensitive": "ill"}
WARDS = {"age": [30] * 3 + [40] * 3, "ill": list("abcabc"), "ward": list("xyzyxz")}


def test_headlines_say_what_is_free(tmp_path, capsys):
    schema = {"quasi_identifiers": ["age"], "sensitive": ["ill", "ward"]}
    policy = {"schema": schema, "require": [HIV_ONLY], "publish": {"unlinked": ["ward"]}}
    publication = fk.publish(pa.table(WARDS), policy, learned=False)
    publication.write(tmp_path / "out")
    free = "2 values and ward have no limit"
    verification = fk.verify(tmp_path / "out")
    assert page_of(publication.audit).headline == f"Safe: the requirement holds; {free}"
    assert page_of(verification).headline.endswith(f"every requirement on ill holds; {free}")
    assert (
        f"afresh from the files: every requirement holds; {free}."
        in Reader(page_of(fk.evidence_report(tmp_path / "out")).html()).text
    )
    out = said_by_the_judge(tmp_path / "out", capsys)
    assert out[0].endswith(f"every requirement holds; {free}")
    assert "- columns that no requirement is about: ward" in out
    assert "- values without a limit: ill b, ill c" in out
    assert "- that ward is shuffled: it is the publisher's word" in out


@pytest.mark.complete
def test_headlines_say_who_knows_nothing(tmp_path, capsys):
    rows = {**WARDS, "job": list("uvwxyz"), "town": list("uuuvvv")}
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": ["job", "town", "ward"]}
    limits = {"facts": {}, "below": 0.9, "knowing": ["town"]}
    publication = fk.publish(pa.table(rows), {"schema": schema, "require": [limits]}, learned=False)
    publication.write(tmp_path / "out")
    verification, unknown = fk.verify(tmp_path / "out"), "holds, if nobody knows job or ward"
    published = Reader((tmp_path / "out" / "report.html").read_text("utf-8")).text
    evidence = Reader(page_of(fk.evidence_report(tmp_path / "out")).html()).text
    for text in (
        page_of(publication.audit).headline,
        publication.audit.to_dict()["headline"],
        published,
    ):
        assert f"Safe: the requirement {unknown}" in text
    assert page_of(verification).headline.endswith(f"every requirement on ill {unknown}")
    assert f"afresh from the files: every requirement {unknown}." in evidence
    assert said_by_the_judge(tmp_path / "out", capsys)[0].endswith(f"every requirement {unknown}")
    assert repr(publication.audit).endswith("safe, 1 requirement, if nobody knows job or ward)")
    assert repr(verification).endswith(f"; what is required {unknown})")


@pytest.mark.complete
@pytest.mark.parametrize("identifiers", [[], ["pid"]])
def test_nobody_is_counted_twice(identifiers, tmp_path):
    rows = {"age": [30] * 3 + [40] * 3, "ill": list("abcabc"), "pid": list("uvwxyz")}
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill", "identifiers": identifiers}
    policy = {"schema": schema, "require": [{"k_anonymity": 3}]}
    publication = fk.publish(pa.table(rows), policy, learned=False)
    publication.write(tmp_path / "out")
    # With an identifier, publish has counted; a reader sees none in the files.
    assert publication.audit.to_dict()["assumed"] == ([] if identifiers else [ONCE_UNSEEN])
    assert fk.verify(tmp_path / "out").to_dict()["assumed"] == [ONCE_CLAIMED]
    assert ONCE_CLAIMED in Reader((tmp_path / "out" / "report.html").read_text("utf-8")).text
