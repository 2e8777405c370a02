"""What limits inference, and that nothing else is called safe: by settings and by the table."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.adversaries.releases_priors import random_scene
from tests.cli.desk import Desk
from tests.examples import NIGHTLY
from tests.test_verifier_priors import written

import foreknow as fk
from foreknow.comparison.page import ComparisonPage
from foreknow.report.pages.audit import AuditPage
from foreknow.report.pages.lattice import LatticePage, lattice_figure
from foreknow.report.pages.verification import VerificationPage
from foreknow.result import page_of
from foreknow_judge.criteria import GAUGES, limits_values
from foreknow_judge.kinds import settings_of
from foreknow_judge.verdicts import read_requirements
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written

TIMES = 20_000 if NIGHTLY else 600
TREE = [["flu", "lung"], ["cold", "lung"], ["hiv", "blood"], ["mumps", "gland"]]
VALUES = [row[0] for row in TREE]
ROWS = pa.table({"age": list(range(20, 60)), "ill": VALUES * 10})
SCHEMA = {"quasi_identifiers": ["age"], "sensitive": "ill"}
IDLE = {"facts": {}, "below": 0.5, "values": ["plague"]}
NOTHING = [
    {"l_diversity": 1},
    {"l_diversity": {"l": 1, "kind": "entropy"}},
    {"t_closeness": 1},
    {"t_closeness": 0.75},  # a group of one value is 3/4 away from four that are as frequent
    {"beta_likeness": 3},
    {"alpha_k": {"alpha": 1, "k": 5}},
    IDLE,
]
SOMETHING = [
    {"l_diversity": 2},
    {"l_diversity": {"l": "1.001", "kind": "entropy"}},
    {"l_diversity": {"l": 2, "kind": "recursive", "c": 100}},
    {"t_closeness": 0.74},
    {"beta_likeness": "2.99"},
    {"beta_likeness": {"beta": 1000, "enhanced": True}},
    {"delta_disclosure": 500},
    {"alpha_k": {"alpha": 0.99, "k": 5}},
    {"facts": {}, "below": 1},
]


_SHORT = {
    "l_diversity": "l",
    "t_closeness": "t",
    "beta_likeness": "beta",
    "delta_disclosure": "delta",
}


def policy_of(*requirements):
    asked = []
    for each in requirements:
        own = dict(each)
        for key in own.keys() & _SHORT.keys():
            if not isinstance(own[key], dict):
                own[key] = {_SHORT[key]: own[key]}
        asked.append(own)
    return fk.Policy.from_dict({"schema": SCHEMA, "require": asked})


def published(tmp_path, *requirements, method="mondrian", **more):
    made = fk.publish(ROWS, policy_of(*requirements), method=method, seed=1, learned=False, **more)
    tmp_path.mkdir(exist_ok=True)
    made.write(tmp_path / "out")
    return made, fk.verify(tmp_path / "out")


@pytest.mark.parametrize("required", NOTHING, ids=str)
def test_settings_that_ask_nothing_are_not_called_safe(required, tmp_path):
    made, found = published(tmp_path, {"k_anonymity": 5}, required)
    audit = made.audit
    assert audit.safe
    assert not audit.limits_inference
    assert not found.limits_inference
    for page in (AuditPage(audit), VerificationPage(found)):
        assert "but nothing limits inference" in page.headline
        assert page.mood == ""
    moods = [getattr(block, "mood", "") for block in AuditPage(audit).blocks()]
    assert "safe" not in moods


@pytest.mark.parametrize("required", SOMETHING, ids=str)
def test_settings_that_ask_something_are_safe_as_before(required, tmp_path):
    made = fk.publish(ROWS, policy_of({"k_anonymity": 5}, required), seed=1, learned=False)
    made.write(tmp_path / "out")
    assert made.audit.limits_inference
    assert fk.verify(tmp_path / "out").limits_inference
    assert AuditPage(made.audit).headline == "Safe: both requirements hold"
    assert AuditPage(made.audit).mood == "safe"


@pytest.mark.parametrize("seed", range(10))
def test_a_criterion_limits_what_some_group_of_the_people_could_break(seed):
    """Against every group of a single value, measured with exact fractions, and the verifier."""
    rng = np.random.default_rng(seed)
    differ = set()
    for _ in range(TIMES // 10):
        many = {v: int(n) for v, n in zip(VALUES, rng.integers(0, 6, 4), strict=True) if n}
        if not many:
            continue
        total = sum(many.values())
        counts = fk.GroupCounts.from_bags([many])
        rule, table = _random(rng)
        each = {value: Fraction(n, total) for value, n in many.items()}
        broken = [_breaks(rule, value, each) for value in many]
        assert rule.limits_values(counts) == any(broken), (rule, many)
        differ.add(any(broken))
        held = _held(many)
        ((key, settings),) = read_requirements([table])[0].kinds.items()
        more = [held] if key == "alpha_k" else []
        assert limits_values(GAUGES[key], settings_of(key, settings), held, more) == any(broken), (
            rule,
            many,
        )
    assert differ == {True, False}


def _random(rng):
    some = str(Fraction(int(rng.integers(1, 25)), int(rng.integers(1, 7)) * 4))
    share = str(min(Fraction(some), Fraction(1)))
    distance = rng.choice(["equal", "ordered", "hierarchical"])
    more = {"ordered": {"order": VALUES}, "hierarchical": {"tree": TREE}}.get(distance, {})
    rule = [
        lambda: fk.TCloseness(share, str(distance), **more),
        lambda: fk.BetaLikeness(some),
        lambda: fk.BetaLikeness(some, enhanced=True),
        lambda: fk.DeltaDisclosure(some),
        lambda: fk.AlphaK(share, 1),
        lambda: fk.LDiversity(int(rng.integers(1, 3))),
        lambda: fk.LDiversity(max(Fraction(some), Fraction(1)), "entropy"),
    ][int(rng.integers(0, 7))]()
    return rule, rule.to_dict()


def _breaks(rule, value, shares):
    """Whether a group in which everybody has one value breaks a rule, by its definition."""
    own = shares[value]
    if isinstance(rule, fk.TCloseness):
        if rule.distance == "equal":
            far = 1 - own
        elif rule.distance == "ordered":
            order = [v for v in VALUES if v in shares]
            steps = max(1, len(order) - 1)
            away = {v: abs(order.index(v) - order.index(value)) for v in order}
            far = sum(shares[v] * away[v] for v in order) / steps
        else:  # two levels below the root: another value costs 1/2 with the same node above, else 1
            above = dict(TREE)
            cost = {v: 1 if above[v] != above[value] else Fraction(1, 2) for v in shares}
            far = sum(shares[v] * cost[v] for v in shares if v != value)
        return far > rule.t
    if isinstance(rule, fk.BetaLikeness):
        gain = (1 - own) / own
        return gain > rule.beta or (rule.enhanced and float(gain) > -np.log(float(own)))
    if isinstance(rule, fk.DeltaDisclosure):
        return len(shares) > 1
    return rule.alpha < 1 if isinstance(rule, fk.AlphaK) else rule.l > 1


def _held(many):
    from foreknow_judge.counting import Column, GroupBags

    names = sorted(many)
    one = Column(pa.array(["g"]), np.zeros(1, np.int64))
    codes = np.arange(len(names))
    counts = np.array([many[name] for name in names], np.int64)
    return GroupBags([one], names, np.zeros(len(names), np.int64), codes, counts)


def test_without_a_table_only_settings_say_it():
    assert fk.BetaLikeness(10**6).limits_values()
    assert fk.Requirement(fk.BetaLikeness(10**6)).limits_inference
    assert not fk.Requirement(fk.TCloseness(1)).limits_inference
    assert not fk.Requirement(fk.KAnonymity(5)).limits_inference
    assert fk.Requirement(fk.Facts(), below=1).limits_inference
    priors = fk.Priors(
        pa.table({"age": [1, 1], "value": ["flu", "hiv"], "probability": [0.5, 0.5]})
    )
    assert fk.Requirement(priors, at_most=0.99).limits_inference
    assert not fk.Requirement(priors, at_most=1).limits_inference


def test_a_long_order_is_asked_at_its_ends():
    counts = fk.GroupCounts.from_bags([range(20_000)])
    assert not fk.TCloseness("0.51", "ordered").limits_values(counts)
    assert fk.TCloseness("0.49", "ordered").limits_values(counts)


# ---- sentences -------------------------------------------------------------------------------


def test_verify_says_what_a_criterion_of_values_is_about(tmp_path):
    _, found = published(tmp_path, {"k_anonymity": 5}, {"t_closeness": 0.5})
    first, second = VerificationPage(found).shown()[1].texts
    assert first.endswith("this is about groups, and not about what anyone can infer of a person")
    assert second.endswith(
        "this is about how values are spread within groups; what somebody who knows more can infer "
        "was not judged"
    )
    page = fk.evidence_report(tmp_path / "out").to_html()
    assert "This is about how values are spread within groups; what somebody" in page
    assert "This is about groups, not about what is inferred" not in page


def test_verify_says_that_levels_are_about_labels(tmp_path):
    levels = {"levels": {"age": {"top": 50}}}
    _, found = published(tmp_path, {"k_anonymity": 5}, levels)
    said = VerificationPage(found).shown()[1].texts[1]
    assert said.endswith(": it holds; this is about labels")
    assert "attained is 0" not in said


def test_values_under_closeness_are_not_said_to_have_no_requirement(tmp_path):
    made, found = published(tmp_path, {"k_anonymity": 5}, {"t_closeness": 0.5})
    said = (
        "No limit is about single values: t_closeness is about all of them together, and how sure "
        "somebody can be of one was not judged."
    )
    for notes in (made.audit.notes, page_of(found).notes):
        assert said in notes
        assert not any("outright" in note for note in notes)
    assert made.audit.unprotected  # JSON stays as it was
    own = {"facts": {}, "below": 0.9, "values": ["flu"]}
    made, found = published(tmp_path / "two", own, {"t_closeness": 0.5})
    for notes in (made.audit.notes, page_of(found).notes):
        assert any(note.startswith("No limit is about cold, hiv, mumps alone: ") for note in notes)
    made, found = published(tmp_path / "three", {"t_closeness": 1}, {"k_anonymity": 5})
    for notes in (made.audit.notes, page_of(found).notes):
        assert any("may disclose them outright" in note for note in notes)


def test_of_several_columns_each_has_its_sentence():
    table = pa.table({"age": [1] * 4, "ill": ["a", "b", "c", "c"], "pay": ["x", "y", "y", "z"]})
    schema = {"quasi_identifiers": ["age"], "sensitive": ["ill", "pay"]}
    asked = [
        {"sensitive": "ill", "t_closeness": {"t": 0.5}},
        {"sensitive": "pay", "facts": {}, "below": 0.9, "values": ["x"]},
    ]
    policy = fk.Policy.from_dict({"schema": schema, "require": asked})
    notes = fk.audit(table, policy, learned=False).notes
    assert any(note.startswith("No limit is about single values of ill: t_clo") for note in notes)
    assert any("pay y (2 people), pay z (one person). The release may" in each for each in notes)


def test_decoy_does_not_say_that_nothing_holds_against_who_knows_it(tmp_path):
    rules = [{"k_anonymity": 5}, {"alpha_k": {"alpha": 1, "k": 5}}]
    made, found = published(tmp_path, *rules, method="decoy")
    said = (
        "By a proof, what is required holds also against an adversary who knows the method; "
        "nothing of it limits inference."
    )
    assert said in made.audit.notes
    assert any(note.endswith(said) for note in page_of(found).notes)
    assert "knows the method" not in AuditPage(made.audit).headline
    seen = fk.attack(fk.Microdata(ROWS, policy_of(*rules).schema), fk.Decoy(), policy_of(*rules))
    page = page_of(seen)
    (first, *_) = [block.text for block in page.shown()]
    assert "no requirement fails for an adversary who knows the method" in first
    assert "reaches no limit" not in first
    assert page.mood == ""


def test_together_with_earlier_releases_nothing_more_is_said(tmp_path):
    rules = policy_of({"k_anonymity": 5})
    for name, first, after in (("one", 0, None), ("two", 20, [tmp_path / "one"])):
        rows = ROWS.slice(first, 20).append_column("id", pa.array(range(first, first + 20)))
        schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", identifiers=["id"])
        own = fk.Policy(rules.requirements, schema)
        fk.publish(rows, own, after=after, seed=1, learned=False, out=tmp_path / name)
    found = fk.verify(tmp_path / "two", after=tmp_path / "one")
    (said,) = [b.text for b in page_of(found).shown() if "As one release" in getattr(b, "text", "")]
    assert "every requirement holds, but nothing limits inference." in said


# ---- compare, JSON, lattice, moods -----------------------------------------------------------


@pytest.mark.parametrize("required", [{"k_anonymity": 5}, {"beta_likeness": 3}], ids=str)
def test_a_comparison_of_what_limits_nothing_says_holds(required):
    found = fk.compare(ROWS, policy_of(required), methods=["mondrian"], processes=0)
    assert {each.status for each in found.candidates} == {"holds"}
    assert all(each.safe for each in found.candidates)
    content = found.to_dict()
    assert content["limits_inference"] is False
    assert {each["status"] for each in content["candidates"]} == {"holds"}
    page = ComparisonPage(found)
    assert "but nothing limits inference" in page.headline
    assert "safe" not in found.summary().lower()
    assert "safe" not in repr(found)


def test_a_comparison_says_what_safe_does_not_cover():
    rules = policy_of({"facts": {}, "below": 0.9})
    found = fk.compare(ROWS, rules, methods=["mondrian"], limits=0.9, processes=0)
    assert [each.status for each in found.candidates] == ["safe"]
    assert found.to_dict()["limits_inference"] is True
    said = (
        "Safe: every requirement holds at that limit. Values and columns without a requirement, "
        "and other releases, were not looked at: see the audit of the release that you make."
    )
    page = found.to_html()
    assert said in page
    assert said in " ".join(found.summary().split())
    assert "how sure somebody can become of what is required, at worst" in page


def test_json_says_whether_anything_limits_inference(tmp_path):
    for name, rule, limits in (("a", {"k_anonymity": 5}, False), ("b", {"l_diversity": 2}, True)):
        _, found = published(tmp_path / name, rule)
        assert found.to_dict()["limits_inference"] is limits
        evidence = json.loads(fk.evidence_report(tmp_path / name / "out").to_json())
        assert evidence["audit"]["limits_inference"] is limits


def test_the_lattice_of_what_limits_nothing_says_holds_and_fails(tmp_path):
    method = fk.FullDomain(find="minimal")
    rules = policy_of({"k_anonymity": 5})
    alone = method.search(fk.Microdata(ROWS, rules.schema), rules)
    made = fk.publish(ROWS, policy_of({"k_anonymity": 5}, IDLE), method=method, learned=False)
    for found in (alone, made.audit.lattice):
        assert found.to_dict()["limits_inference"] is False
        html = LatticePage(found).html()
        assert "safe" not in html.partition("<body")[2].lower().replace("unsafe", "")
        assert all(series.color != "#2f9150" for series in lattice_figure(found).series)
    assert [series.name for series in lattice_figure(alone).series] == ["", "fails: 1", "chosen"]
    limited = method.search(fk.Microdata(ROWS, rules.schema), policy_of({"l_diversity": 2}))
    assert "not safe: " in LatticePage(limited).html()


def test_what_counts_people_is_not_green_beside_what_is_safe(tmp_path, monkeypatch, capsys):
    rules = policy_of({"k_anonymity": 5}, {"facts": {}, "below": 0.9})
    audit = fk.audit(fk.publish(ROWS, rules, learned=False), rules, learned=False)
    blocks = [b for b in AuditPage(audit).blocks() if str(b).startswith("k_anonymity = 5")]
    assert [block.mood for block in blocks] == ["lead"]
    assert AuditPage(audit).mood == "safe"
    fails = fk.audit(ROWS, policy_of({"k_anonymity": 5}), learned=False)
    blocks = [b for b in AuditPage(fails).blocks() if "k_anonymity = 5" in str(b)]
    assert blocks[0].mood == "unsafe"
    desk = Desk(tmp_path, monkeypatch, capsys)
    monkeypatch.chdir(tmp_path)
    desk.put("rows.csv", "age,ill\n" + "".join(f"1,{v}\n" for v in VALUES * 2))
    asked = "--quasi-identifiers", "age", "--sensitive", "ill", "--k-anonymity", "5"
    code, out, _ = desk.run("audit", "rows.csv", *asked)
    assert code == 0
    assert "k_anonymity = 5: " in out
    assert "✓" not in out


# ---- counts of the table say it, and not settings alone --------------------------------------

THREE = {"age": [30] * 4 + [40] * 4 + [50] * 4, "ill": list("aaaabbbbcccc")}
MIXED = {"age": [30, 40, 50] * 4, "ill": list("abcbcacababc")}
BY_AGE = {"quasi_identifiers": ["age"], "sensitive": "ill"}


def _priors(a, b, c, reading="joint"):
    rows = [(age, *own) for age in ("30", "40", "50") for own in zip("abc", (a, b, c), strict=True)]
    columns = map(list, zip(*rows, strict=True))
    table = pa.table(dict(zip(("age", "value", "probability"), columns, strict=True)))
    return fk.Priors(table, reading)


@pytest.mark.parametrize("reading", ["joint", "binary"])
@pytest.mark.parametrize(
    ("chances", "more", "limits"),
    [
        ((0.34, 0.33, 0.33), {"at_most_times": 4}, False),
        ((0.5, 0.25, 0.25), {"at_most_times": 4}, False),
        ((0.52, 0.24, 0.24), {"at_most_times": 4, "values": ["a"]}, False),
        ((0.34, 0.33, 0.33), {"at_most_times": 2, "any_of": ["a", "b"]}, False),
        ((0.34, 0.33, 0.33), {"at_most_times": 2, "any_of": {"x": ["a", "b"], "y": ["c"]}}, True),
        ((0.34, 0.33, 0.33), {"at_most": 1}, False),
        ((0.34, 0.33, 0.33), {"at_most_times": "3.02"}, True),
        ((0.52, 0.24, 0.24), {"at_most_times": 4}, True),
    ],
    ids=str,
)
def test_a_relative_limit_limits_where_some_prior_leaves_room(chances, more, limits, reading):
    required = fk.Requirement(_priors(*chances, reading), **more)
    policy = fk.Policy([required], fk.Schema(**BY_AGE))
    for rows in (THREE, MIXED):
        audit = fk.audit(pa.table(rows), policy, learned=False)
        assert audit.limits_inference is audit.to_dict()["limits_inference"] is limits
        page = AuditPage(audit)
        assert page.mood == ("unsafe" if not audit.safe else "safe" if limits else "")
        assert ("nothing limits inference" in page.headline) is (audit.safe and not limits)
        assert not audit.safe or ("safe" in repr(audit)) is limits
        if not limits:
            assert audit.safe
            assert not re.search('class="[^"]* safe"', page.html())
    frame = pa.table(THREE)
    tables = Written("generalized", ("age",), "ill", {"release": frame})
    if audit.safe or not limits:
        (found,) = verify(tables, [required.to_dict()])
        assert found.found.limits_values is (limits or "at_most" in more)


@pytest.mark.parametrize("reading", ["joint", "binary"])
@pytest.mark.parametrize("seed", range(6 if NIGHTLY else 2))
def test_the_verifier_says_of_relative_limits_what_an_audit_says(seed, reading):
    """Both against the priors of everybody and each value that occurs, by their definition."""
    rng, differ = Random(f"{seed} {reading}"), set()
    for _ in range(max(TIMES // 40, 15)):
        scene = random_scene(rng)
        values = sorted({x for _, _, x in scene.people})
        about = rng.sample(values, rng.randint(1, len(values)))
        times = Fraction(rng.randint(2, 40), 2)
        required = fk.Requirement(scene.priors(reading), at_most_times=times, values=about)
        audit = fk.audit(scene.release, fk.Policy([required]), learned=False)
        priors = [
            rows[tuple(who[name] for name in attributes)][x]
            for attributes, rows in scene.tables.items()
            for _, who, _ in scene.people
            for x in about
        ]
        limits = any(p and p * times < 1 for p in priors)
        assert audit.limits_inference is limits
        (found,) = verify(written(scene, "bucketized"), [required.to_dict()])
        assert found.found.limits_values is limits
        differ.add(limits)
    assert differ == {True, False}


def test_publish_verify_evidence_and_compare_say_it_of_relative_limits(tmp_path):
    required = fk.Requirement(_priors(0.34, 0.33, 0.33), at_most_times=4)
    policy = fk.Policy([required], fk.Schema(**BY_AGE))
    made = fk.publish(pa.table(THREE), policy, method="art", form="bucketized", learned=False)
    made.write(tmp_path / "out")
    found, evidence = fk.verify(tmp_path / "out"), fk.evidence_report(tmp_path / "out")
    compared = fk.compare(pa.table(THREE), policy, methods=["art"], processes=0)
    for result in (made.audit, found, evidence.audit, compared):
        assert not result.limits_inference
        assert result.to_dict()["limits_inference"] is False
    for result in (made.audit, found, evidence):
        page = page_of(result)
        assert page.mood == ""
        assert "nothing limits inference" in page.html()
        assert not re.search('class="[^"]* safe"', page.html())
    assert {each.status for each in compared.safe} == {"holds"}


@pytest.mark.parametrize(
    "required",
    [
        fk.Requirement(fk.TCloseness("2/3")),
        fk.Requirement(fk.BetaLikeness(1000)),
        fk.Requirement(fk.Facts(), below="1/2", values=["zzz"]),
        fk.Requirement(fk.Facts(), below="1/2", any_of=["zzz", "yyy"]),
        fk.Requirement(fk.Facts(), below="1/2", excluded=["a", "b", "c"]),
    ],
    ids=str,
)
def test_a_lattice_that_was_searched_is_judged_by_counts_as_an_audit_is(required):
    schema = fk.Schema(**BY_AGE, hierarchies={"age": fk.Intervals([10, 30])})
    policy = fk.Policy([required], schema)
    assert not fk.audit(pa.table(THREE), policy, learned=False).limits_inference
    found = fk.FullDomain().search(fk.Microdata(pa.table(THREE), schema), policy)
    assert found.limits_inference is found.to_dict()["limits_inference"] is False
    assert "safe" not in LatticePage(found).html().partition("<body")[2].lower()
    asks = fk.Policy([fk.Requirement(fk.Facts(), below="1/2", values=["a", "zzz"])], schema)
    assert fk.FullDomain().search(fk.Microdata(pa.table(THREE), schema), asks).limits_inference


# ---- cases ------------------------------------------------------------------------------------

CASES = pa.table({"age": [30] * 3 + [40] * 3, "ill": list("abcabc"), "pid": list("aaabcd")})


def test_where_people_are_counted_a_criterion_of_cases_is_not_called_safe(tmp_path):
    owner, cases = fk.Schema(**BY_AGE, unit="row", person="pid"), fk.Schema(**BY_AGE, unit="row")
    rule = fk.Requirement(fk.LDiversity(3))
    audit = fk.audit(CASES, fk.Policy([rule], owner), learned=False)
    page = AuditPage(audit)
    said = "holds of each case, but nothing limits inference of people"
    assert audit.safe
    assert not audit.limits_inference
    assert page.said(page.headline) == f"The requirement {said}"
    assert said in repr(audit)
    assert page.mood == ""
    assert not re.search('class="[^"]* safe"', page.html())
    assert said in page.html()
    assert "safe" not in audit.summary().lower()
    made = fk.publish(CASES, fk.Policy([rule], owner), learned=False)
    made.write(tmp_path / "out")
    found, evidence = fk.verify(tmp_path / "out"), fk.evidence_report(tmp_path / "out")
    for result in (made.audit, found, evidence):
        assert page_of(result).mood == ""
        assert said in page_of(result).html()
        assert not re.search('class="[^"]* safe"', page_of(result).html())
    assert not found.limits_inference
    assert fk.verify(tmp_path / "out", fk.Policy([rule], cases)).limits_inference
    both = fk.audit(CASES, fk.Policy([rule, fk.Requirement(fk.KAnonymity(1))], owner))
    assert page_of(both).mood == ""
    people = fk.Requirement(fk.Facts(), below="9/10", values=["zzz", "b"])
    table = CASES.set_column(2, "pid", pa.array(list("abcdef")))
    both = fk.audit(table, fk.Policy([rule, people], owner), learned=False)
    assert page_of(both).headline == "Safe: both requirements hold"
    assert [getattr(b, "mood", "") for b in page_of(both).blocks()].count("safe") == 1
    # Whoever counts no people says of cases what holds of them.
    assert fk.audit(CASES, fk.Policy([rule], cases), learned=False).limits_inference
    wide = fk.Schema(**BY_AGE, unit="row", person="pid", hierarchies={"age": fk.Intervals([30])})
    found = fk.FullDomain().search(fk.Microdata(CASES, wide), fk.Policy([rule], wide))
    assert not found.limits_inference
    compared = fk.compare(CASES, fk.Policy([rule], wide), methods=["fulldomain"], processes=0)
    assert not compared.limits_inference


# ---- the explorer -----------------------------------------------------------------------------


def _looked(tmp_path, table, schema, *required):
    pytest.importorskip("starlette", reason="pip install .[explore]")
    from foreknow.explore.session import Looked

    return Looked("t", tmp_path / "t.csv", False, fk.Policy(required, schema), table)


@pytest.mark.parametrize("secret", [{"values": ["zzz"]}, {"any_of": ["zzz", "yyy"]}], ids=str)
def test_a_dial_of_what_nobody_has_is_not_green(secret, tmp_path):
    required = fk.Requirement(fk.Facts(), below="1/2", **secret)
    looked = _looked(tmp_path, pa.table(MIXED), fk.Schema(**BY_AGE), required)
    from foreknow.explore.release import judged, overview

    told = judged(looked, {})
    assert told["mood"] == overview(looked)["mood"] == "plain"
    assert "safe" not in told
    assert [row[1]["mood"] for row in told["counts"]["rows"]] == [""]
    html = looked.audit.to_html()
    assert not re.search('class="[^"]* safe"', html)
    beside = _looked(
        tmp_path, pa.table(MIXED), looked.policy.schema, fk.Requirement(fk.Facts(), below="2/3")
    )
    assert judged(beside, {})["mood"] == "safe"
    assert judged(beside, {"limit": "0.1"})["mood"] == "unsafe"


def test_an_explorer_has_no_skyline_where_rows_are_not_people(tmp_path):
    from foreknow.explore.release import judged, skyline

    rows = CASES.append_column("job", pa.array(list("uvwuvw")))
    limit = fk.Requirement(fk.Facts(), below="2/3")
    people = _looked(tmp_path, rows, fk.Schema(**BY_AGE, unit="row", person="pid"), limit)
    assert judged(people, {"value": "a"})["mood"] == "unsafe"
    rule = {"values": ["a"], "where": {"job": ["v", "w"]}}
    some = _looked(tmp_path, rows, fk.Schema(**BY_AGE, impossible=[rule]), limit)
    homes = rows.append_column("home", pa.array([1, 1, 2, 3, 3, 3]))
    shared = {"by": "home", "values": ["pay"]}
    pay = fk.Schema(quasi_identifiers=["age"], sensitive="pay", shared=shared)
    homes = homes.append_column("pay", pa.array(list("xxyzzz")))
    homes, limit = fk.Microdata(homes, pay), fk.Requirement(fk.Facts(), below="9/10")
    together = _looked(tmp_path, homes, pay, limit)
    for looked, value, why in (
        (people, "a", "people may have several cases"),
        (some, "a", "some people cannot have some values"),
        (together, "x", "people of a household have a value together"),
    ):
        told = skyline(looked, {"value": value})
        assert told["least"].endswith(f"it counts each row as somebody, and {why}.")
        assert (told["points"], told["words"], told["figure"]) == ([], [], None)
    alone = _looked(tmp_path, rows, fk.Schema(**BY_AGE), limit)
    assert skyline(alone, {"value": "a"})["figure"]
