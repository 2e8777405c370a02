"""Labels of a hierarchy of the sensitive column as secrets: resolved, published, verified alone."""

import json
import random
import shutil
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import desk as desk
from tests.examples import examples
from tests.oracle.sets import worst_of_set

import foreknow as fk
from foreknow.errors import HierarchyError, SchemaError
from foreknow_judge.errors import CertificateError, PolicyError

ROWS = [
    ["C34", "lung cancer", "lung disease", "*"],
    ["J45", "asthma", "lung disease", "*"],
    ["B20", "HIV", "infection", "*"],
    ["Z21", "HIV", "infection", "*"],
    ["J11", "flu", "infection", "*"],
    ["M10", "gout", "gout", "*"],
]
CODES = [row[0] for row in ROWS]
TREE = fk.Tree(ROWS)
FILE = "\n".join(";".join(row) for row in ROWS) + "\n"


def schema(hierarchy=TREE, **more):
    return fk.Schema(
        quasi_identifiers=["age", "sex"],
        sensitive="diagnosis",
        hierarchies={"diagnosis": hierarchy},
        **more,
    )


def table(n=90, seed=1):
    chance = random.Random(seed)
    rows = [(chance.randint(20, 79), chance.choice("mf"), chance.choice(CODES)) for _ in range(n)]
    ages, sexes, codes = zip(*rows, strict=True)
    return pa.table({"age": ages, "sex": sexes, "diagnosis": codes})


def rules(below="1/2", hierarchy=TREE, adversary=None, **about):
    required = fk.Requirement(adversary or fk.Facts(), below=below, **about)
    return fk.Policy([required], schema(hierarchy))


def below_label(label):
    return {row[0] for row in ROWS if label in row[1:]}


# ---- which values a label stands for -------------------------------------------------------------


@examples(300, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(CODES), min_size=1, max_size=3), min_size=1, max_size=3),
    st.sampled_from(sorted({label for row in ROWS for label in row[1:-1]})),
)
def test_a_label_is_any_of_the_values_below_it_at_any_level(bags, label):
    bags = bags[:2] if sum(map(len, bags)) > 5 else bags
    present = {value for bag in bags for value in bag}
    united = below_label(label) & present
    counts, asked = fk.GroupCounts.from_bags(bags), rules(any_of=label, adversary=fk.Facts(1, 1, 1))
    if not united:
        audit = fk.audit(counts, asked)
        assert (audit.verdicts[0].disclosure.exact, audit.scope.idle) == (0, (label,))
    elif united == present:
        with pytest.raises(PolicyError, match="every sensitive value"):
            fk.audit(counts, asked)
    else:
        (verdict,) = fk.audit(counts, asked).verdicts
        assert verdict.disclosure.exact == worst_of_set(bags, united, (1, 1, 1))[1, 1, 1]
        assert verdict.value == label
        admitted = asked.ledger(counts.values).admits(None, counts)
        assert admitted == (verdict.disclosure.exact < Fraction(1, 2))


@examples(300, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(CODES), min_size=1, max_size=3), min_size=2, max_size=2),
    st.sampled_from([1, 2]),
    st.sampled_from([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1)]),
)
def test_every_label_of_a_level_is_a_secret_of_its_own(bags, level, amounts):
    present = {value for bag in bags for value in bag}
    labels = {row[level] for row in ROWS if row[0] in present}
    counts = fk.GroupCounts.from_bags(bags)
    asked = rules(at_level=level, adversary=fk.Facts(*amounts))
    if len(labels) == 1:
        with pytest.raises(PolicyError, match=f"at_level = {level}: every sensitive value"):
            fk.audit(counts, asked)
        return
    truth = {
        label: worst_of_set(bags, below_label(label) & present, amounts)[amounts]
        for label in labels
    }
    (verdict,) = fk.audit(counts, asked).verdicts
    assert verdict.disclosure.exact == max(truth.values())
    found = {d.value: d.exact for d in (verdict.disclosure, *verdict.others)}
    assert {label.rstrip("+"): exact for label, exact in found.items()} == truth
    assert asked.ledger(counts.values).admits(None, counts) == verdict.safe


def test_what_is_excepted_is_free():
    counts = fk.GroupCounts.from_bags([["M10"] * 5 + ["B20", "C34"], ["M10"] * 3 + ["J11"]])
    assert not fk.audit(counts, rules(at_level=2)).safe
    found = fk.audit(counts, rules(at_level=2, excluded=["gout"]))
    assert found.safe
    assert found.unprotected == ("M10",)


def test_names_of_sets_are_secrets_of_their_own_and_need_no_hierarchy():
    counts = fk.GroupCounts.from_bags([["B20"] * 2 + ["Z21"] * 2 + ["C34", "J45", "M10"]])
    sets = {"HIV": ["B20", "Z21"], "lung": ["C34", "J45"]}
    required = fk.Requirement(fk.Facts(), below="2/3", any_of=sets)
    (verdict,) = fk.audit(counts, fk.Policy([required])).verdicts
    every = {d.value: d.exact for d in (verdict.disclosure, *verdict.others)}
    assert every == {"HIV": Fraction(4, 7), "lung": Fraction(2, 7)}
    assert hash(required) == hash(fk.Requirement(fk.Facts(), below="2/3", any_of=sets))


@pytest.mark.parametrize(
    ("hierarchy", "label", "holders"),
    [
        (fk.Mask(3), "C3*", ["C34", "C39"]),
        (fk.Tree([["C34", "C", "*"], ["C39", "C", "*"], ["J45", "J", "*"]]), "C", ["C34", "C39"]),
    ],
)
def test_any_kind_of_hierarchy_names_sets(hierarchy, label, holders):
    counts = fk.GroupCounts.from_bags([["C34", "C39", "J45", "J45"]])
    (verdict,) = fk.audit(counts, rules(any_of=label, hierarchy=hierarchy)).verdicts
    assert verdict.disclosure.exact == Fraction(len(holders), 4)
    assert verdict.requirement.sets(counts.values) == {label: tuple(holders)}


# ---- published, and verified without the hierarchy -----------------------------------------------


@pytest.mark.thinned(2)
@pytest.mark.parametrize("about", [{"any_of": "HIV"}, {"at_level": 2}])
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_a_release_is_verified_without_the_hierarchy(about, form, tmp_path):
    (tmp_path / "codes.csv").write_text(FILE)
    known = schema({"file": "codes.csv"}, folder=tmp_path)
    asked = fk.Policy([fk.Requirement(fk.Facts(1, 1, 0), below="4/5", **about)], known)
    made = fk.publish(fk.Microdata(table(), known), asked, form=form)
    made.write(tmp_path / "out")
    shutil.move(tmp_path / "codes.csv", tmp_path / "moved.csv")
    (found,) = fk.verify(tmp_path / "out").findings
    verdict = made.audit.verdicts[0]
    assert (found.reached, found.value) == (verdict.disclosure.exact, verdict.value)
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    (required,) = certificate["policy"]["require"]
    assert set(required["any_of"]["HIV" if "any_of" in about else "infection"]) >= {"B20", "Z21"}
    assert certificate["version"] == 1
    # The codes themselves are published, not what they are below.
    name = "release" if form == "generalized" else "sensitive"
    assert set(made.to_pandas(name)["diagnosis"]) == set(CODES)
    own = fk.Policy([fk.Requirement(fk.Facts(), below="4/5", **about)], schema())
    assert fk.verify(tmp_path / "out", own).own_policy
    with pytest.raises(CertificateError, match="no label 'HVI'"):
        fk.verify(tmp_path / "out", rules(any_of="HVI"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: own["any_of"].update(HIV=["B20"]), "certified"),
        (lambda own: own["any_of"].update(HIV=["B20", "Z21", "Q99"]), "scope: absent is"),
        (lambda own: own["any_of"].update(lung=["C35"]), "scope: absent is"),
        (lambda own: own["any_of"].update(HIV=CODES), "some values, not of all"),
        (lambda own: own["any_of"].update(HIV=[]), "certified"),
        (lambda own: own["any_of"].update(lung=[]), "scope: idle is"),
        (lambda own: own["any_of"].update(lung=["*"]), "says of no value how it begins"),
        (lambda own: own["any_of"].update(lung={"to": "C"}), "a range has from, to or both"),
        (lambda own: own["any_of"].update(lung={"below": 1}), "a range has from, to or both"),
        (lambda own: own["any_of"].update(lung={}), "a range has from, to or both"),
        (lambda own: own.update(any_of={}), "malformed"),
        (lambda own: own.update(any_of="HIV"), "malformed"),
        (lambda own: own.update(at_level=1), "unknown key"),
        (lambda own: own.update(values=["B20"]), "give any_of or values, not both"),
    ],
)
def test_a_certificate_that_says_other_sets_is_refused(change, message, tmp_path):
    asked = rules("4/5", any_of="HIV")
    fk.publish(fk.Microdata(table(), asked.schema), asked).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    certificate = json.loads(path.read_text())
    change(certificate["policy"]["require"][0])
    path.write_text(json.dumps(certificate))
    with pytest.raises(fk.InputError, match=message):
        fk.verify(tmp_path / "out")


def test_a_search_keeps_every_label_of_a_level_below_its_limit():
    asked = rules("1/2", at_level=2, excluded=["infection"], adversary=fk.Facts(1))
    made = fk.publish(fk.Microdata(table(), asked.schema), asked)
    frame = made.to_pandas()
    groups = [Counter(own) for _, own in frame.groupby(["age", "sex"])["diagnosis"]]
    assert len(groups) > 3
    for group in groups:
        for label in ("lung disease", "gout"):
            have = sum(group[code] for code in below_label(label))
            others = [n for code, n in group.items() if code not in below_label(label)]
            left = group.total() - max(others, default=0)
            assert have == 0 or Fraction(have, left) < Fraction(1, 2)


# ---- files, commands and mistakes ----------------------------------------------------------------

POLICY = """[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "diagnosis"
[schema.hierarchies]
diagnosis = {{ file = "codes.csv" }}
[[require]]
{about}
facts = {{ l = 1 }}
below = 0.8
"""


@pytest.fixture
def ward(desk):
    rows = zip(*table().to_pydict().values(), strict=True)
    desk.put("t.csv", "age,sex,diagnosis\n" + "".join(f"{a},{s},{d}\n" for a, s, d in rows))
    desk.put("codes.csv", FILE)
    return desk


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"any_of": "lung disease"}, "any diagnosis under lung disease (C34 or J45)"),
        ({"at_level": 1}, "every label of level 1 in the hierarchy of diagnosis"),
        ({"at_level": 2, "excluded": ["gout"]}, "of diagnosis except gout"),
        ({"any_of": {"HIV": ["B20", "Z21"]}}, "any of HIV (B20 or Z21)"),
        ({"any_of": ["B20", "Z21"]}, "any of B20 or Z21"),
    ],
)
def test_a_page_says_what_the_secret_is(about, said, tmp_path):
    made = fk.audit(table(), rules(**about))
    made.to_html(tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text()
    read = made.to_dict()["verdicts"][0]
    if not isinstance(about.get("any_of"), list):
        assert read["sets"]
    holders = made.counts.totals[made.policy.requirements[0].meant(made.counts.values).about].sum()
    assert holders == sum(
        row in {v for own in read.get("sets", {"": about.get("any_of")}).values() for v in own}
        for row in table()["diagnosis"].to_pylist()
    )


@pytest.mark.parametrize(
    "about",
    [
        'any_of = "lung disease"',
        "at_level = 1",
        'at_level = 2\nexcept = ["gout"]',
        'any_of = { HIV = ["B20", "Z21"] }',
        'any_of = ["B20", "Z21"]',
    ],
)
def test_the_command_line_publishes_and_verifies(ward, about):
    ward.put("p.toml", POLICY.format(about=about))
    ward.says("publish", "t.csv", "-p", "p.toml", "-o", "out")
    verified = " ".join(ward.says("verify", "out").split())
    assert "about any of" in verified
    again = fk.Policy.load(ward.folder / "p.toml")
    (required,) = again.to_dict()["require"]
    assert ("at_level" in required) == ("at_level" in about)
    assert fk.Policy.from_dict(again.to_dict(), ward.folder).requirements == again.requirements
    read = json.loads((ward.folder / "out" / "certificate.json").read_text())
    if "at_level" in about or '"lung' in about:
        assert isinstance(read["policy"]["require"][0]["any_of"], dict)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ('any_of = "lung desease"', "did you mean 'lung disease'"),
        ('any_of = "B20"', 'it is a value: any_of = ["B20"]'),
        ('any_of = ["B20", "HIV"]', 'it is a label of the hierarchy: any_of = "HIV"'),
        ("at_level = 3", "levels 1 to 2, the last with labels such as"),
        ("at_level = 0", "levels 1 to 2"),
        ('at_level = "2"', "at_level"),
        ('at_level = 1\nexcept = ["HVI"]', "did you mean 'HIV'"),
        ('at_level = 2\nexcept = ["gout", "lung disease", "infection"]', "every label of level 2"),
        ('at_level = 1\nvalues = ["B20"]', "give at_level or values"),
        ('at_level = 1\nany_of = "HIV"', "give at_level or any_of"),
        ('any_of = "HIV"\nexcept = ["B20"]', "give any_of or except"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_would_be_right(ward, about, message):
    ward.put("p.toml", POLICY.format(about=about))
    code, _, err = ward.run("audit", "t.csv", "-p", "p.toml")
    assert code == 2
    assert message in " ".join(err.split())


def test_without_a_hierarchy_there_are_no_labels():
    plain = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="diagnosis")
    for about in ({"any_of": "HIV"}, {"at_level": 1}):
        asked = fk.Policy([fk.Requirement(fk.Facts(), below=1, **about)], plain)
        with pytest.raises(PolicyError, match=r"schema\.hierarchies"):
            fk.audit(table(), asked)


def test_a_value_outside_of_the_hierarchy_is_named():
    few = fk.Tree(ROWS[:-1])
    with pytest.raises(PolicyError, match="'M10'"):
        fk.audit(table(), rules(any_of="HIV", hierarchy=few))
    with pytest.raises(PolicyError, match="no levels between"):
        fk.audit(table(), rules(at_level=1, hierarchy=fk.Ordered(CODES)))
    with pytest.raises((HierarchyError, SchemaError)):
        schema({"file": "nowhere.csv"})


# ---- everywhere else -----------------------------------------------------------------------------


def test_skylines_and_curves_of_a_set(ward):
    ward.put("p.toml", POLICY.format(about='any_of = "HIV"'))
    made = ("t.csv", "-p", "p.toml")
    out = ward.says("skyline", *made, "-c", "0.9", "--any-of", "HIV", "--json", "s.json")
    assert "HIV" in out
    (found,) = ward.json("s.json")["values"]
    release = fk.Release.from_generalized(
        table(), quasi_identifiers=["age", "sex"], sensitive="diagnosis"
    )
    either = fk.knowledge_skyline(release, confidence=0.9, any_of=["B20", "Z21"])
    assert [(p["l"], p["k"], p["m"]) for p in found["points"]] == either
    assert found["value"] == "HIV"
    ward.says("curves", *made, "--any-of", "B20", "--any-of", "Z21", "--json", "c.json")
    assert ward.json("c.json")["value"] == "B20 or Z21"
    curves = fk.disclosure_curves(release, 12, any_of=["B20", "Z21"])
    read = [point["implications"]["exact"] for point in ward.json("c.json")["points"]]
    assert read == [str(found.exact) for found in curves.implications]
    for odd in (["--any-of", "B20", "--value", "Z21"], ["--any-of", "B21"]):
        code, _, err = ward.run("skyline", *made, "-c", "0.9", *odd)
        assert code == 2
        assert err


@examples(200, deadline=None)
@given(st.lists(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=4), min_size=1, max_size=3))
def test_a_skyline_of_a_set_is_that_of_its_merged_values(bags):
    present = {value for bag in bags for value in bag}
    if not {"A", "B"} < present:
        return
    merged = [["AB" if value in "AB" else value for value in bag] for bag in bags]
    expected = fk.knowledge_skyline(fk.GroupCounts.from_bags(merged), "AB", "3/4")
    counts = fk.GroupCounts.from_bags(bags)
    assert fk.knowledge_skyline(counts, confidence="3/4", any_of=["A", "B"]) == expected


def test_a_skyline_asks_for_one_of_both():
    counts = fk.GroupCounts.from_bags(["ABC"])
    for odd in ({"value": "A", "any_of": ["B"]}, {}, {"any_of": []}, {"any_of": "AB"}):
        with pytest.raises(fk.InputError):
            fk.knowledge_skyline(counts, confidence="1/2", **odd)
    with pytest.raises(fk.InputError, match="not both"):
        fk.skyline(counts, ["A"], confidence="1/2", any_of=["B"])
    with pytest.raises(fk.InputError, match="not both"):
        fk.disclosure_curves(counts, 2, "A", any_of=["B"])
