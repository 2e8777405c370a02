"""Any of a set of values, or of the values below a label of a hierarchy, as one secret."""

import json
import random
from fractions import Fraction
from functools import partial

import pyarrow as pa
import pytest
from tests.cli.conftest import desk as desk

import foreknow as fk

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


def policy(adversary=None, below="1/2", any_of=("A", "B"), schema=None, **more):
    required = fk.Requirement(adversary or fk.Facts(), below=below, any_of=any_of, **more)
    return fk.Policy([required], schema)


def schema(hierarchy=TREE, **more):
    return fk.Schema(
        quasi_identifiers=["age", "sex"],
        sensitive="diagnosis",
        hierarchies={"diagnosis": hierarchy} if hierarchy else {},
        **more,
    )


def table(n=90, seed=1):
    chance = random.Random(seed)
    rows = [(chance.randint(20, 79), chance.choice("mf"), chance.choice(CODES)) for _ in range(n)]
    return pa.table(dict(zip(("age", "sex", "diagnosis"), zip(*rows, strict=True), strict=True)))


def rules(below="1/2", hierarchy=TREE, adversary=None, **about):
    required = fk.Requirement(adversary or fk.Facts(), below=below, **about)
    return fk.Policy([required], schema(hierarchy))


# ---- against enumeration ---------------------------------------------------------------------


def test_names_of_sets_are_secrets():
    counts = fk.GroupCounts.from_bags([["B20"] * 2 + ["Z21"] * 2 + ["C34", "J45", "M10"]])
    sets = {"virus": ["B20", "Z21"], "lung": ["C34", "J45"]}  # the worst is the last by its name
    rules = policy(below="2/3", any_of=sets)
    (verdict,) = fk.audit(counts, rules).verdicts
    every = {d.value: d.exact for d in (verdict.disclosure, *verdict.others)}
    assert every == {"virus": Fraction(4, 7), "lung": Fraction(2, 7)}
    (required,) = rules.requirements
    assert hash(required) == hash(fk.Requirement(fk.Facts(), below="2/3", any_of=sets))
    for own in (rules, policy()):
        assert fk.Policy.from_dict(own.to_dict()).requirements == own.requirements
    assert policy().to_dict()["require"][0]["any_of"] == ["A", "B"]


def test_codes_safe_one_by_one():
    counts = fk.GroupCounts.from_bags([["B20"] * 4 + ["Z21"] * 4 + ["Flu"] * 3])
    single = fk.Policy([fk.Requirement(fk.Facts(), below="1/2", values=["B20", "Z21"])])
    together = policy(any_of=["B20", "Z21"])
    assert (fk.audit(counts, single).safe, fk.audit(counts, together).safe) == (True, False)
    assert fk.audit(counts, together).unprotected == ("Flu",)
    counts = fk.GroupCounts.from_bags([["M10"] * 5 + ["B20", "C34"], ["M10"] * 3 + ["J11"]])
    assert not fk.audit(counts, rules(at_level=2)).safe
    free = fk.audit(counts, rules(at_level=2, excluded=["gout"]))
    assert (free.safe, free.unprotected) == (True, ("M10",))


# ---- published, and verified without the hierarchy -------------------------------------------


def test_values_called_like_the_set(tmp_path):
    plain = pa.table({"age": range(40), "disease": ["A", "B", "A or B", "C"] * 10})
    own = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    publication = fk.publish(plain, policy(below="2/3", schema=own))
    (verdict,) = publication.audit.verdicts
    assert (verdict.disclosure.value, verdict.safe) == ("A or B+", True)
    publication.write(tmp_path / "out")
    fk.verify(tmp_path / "out")


def test_certificates_of_other_sets(tmp_path):
    asked = rules("4/5", any_of="HIV")
    fk.publish(fk.Microdata(table(), asked.schema), asked).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    text = path.read_text()
    for members, more, message in (
        ({"HIV": ["B20"]}, {}, "certified"),
        ({"HIV": ["B20", "Z21", "Q99"]}, {}, "scope: absent is"),
        ({"lung": ["C35"]}, {}, "scope: absent is"),
        ({"HIV": CODES}, {}, "some values, not of all"),
        ({"HIV": []}, {}, "certified"),
        ({"lung": []}, {}, "scope: idle is"),
        ({"lung": ["*"]}, {}, "says of no value how it begins"),
        ({"lung": {"to": "C"}}, {}, "a range has from, to or both"),
        ({"lung": {"below": 1}}, {}, "a range has from, to or both"),
        ({"lung": {}}, {}, "a range has from, to or both"),
        ({}, {"any_of": {}}, "malformed"),
        ({}, {"any_of": "HIV"}, "malformed"),
        ({}, {"at_level": 1}, "unknown key"),
        ({}, {"values": ["B20"]}, "give any_of or values, not both"),
    ):
        certificate = json.loads(text)
        (required,) = certificate["policy"]["require"]
        required["any_of"].update(members)
        required.update(more)
        path.write_text(json.dumps(certificate))
        with pytest.raises(fk.InputError, match=message):
            fk.verify(tmp_path / "out")


# ---- pages and commands ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"any_of": "lung disease"}, "any diagnosis under lung disease (C34 or J45)"),
        ({"at_level": 1}, "every label of level 1 in the hierarchy of diagnosis"),
        ({"at_level": 2, "excluded": ["gout"]}, "of diagnosis except gout"),
        ({"any_of": {"HIV": ["B20", "Z21"]}}, "any of HIV (B20 or Z21)"),
        ({"any_of": ["B20", "Z21"]}, "any of B20 or Z21"),
    ],
)
def test_pages_say_the_secret(about, message):
    audit = fk.audit(table(), rules(**about))
    assert message in audit.to_html()
    verdict = audit.to_dict()["verdicts"][0]
    if not isinstance(about.get("any_of"), list):
        assert verdict["sets"]
    members = verdict.get("sets", {"": about.get("any_of")}).values()
    members = {value for member in members for value in member}
    holders = audit.counts.totals[audit.policy.requirements[0].meant(audit.counts.values).about]
    assert holders.sum() == sum(value in members for value in table()["diagnosis"].to_pylist())


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
    "about",
    ['any_of = "lung disease"', 'at_level = 2\nexcept = ["gout"]', 'any_of = ["B20", "Z21"]'],
)
def test_commands_publish_and_verify(ward, about):
    ward.put("p.toml", POLICY.format(about=about))
    ward.says("publish", "t.csv", "-p", "p.toml", "-o", "out")
    assert "about any of" in ward.says("verify", "out")
    again = fk.Policy.load(ward.folder / "p.toml")
    (required,) = again.to_dict()["require"]
    assert ("at_level" in required) == ("at_level" in about)
    assert fk.Policy.from_dict(again.to_dict(), ward.folder).requirements == again.requirements


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
def test_mistakes_say_what_is_right(ward, about, message):
    ward.put("p.toml", POLICY.format(about=about))
    code, _, err = ward.run("audit", "t.csv", "-p", "p.toml")
    assert code == 2
    assert message in " ".join(err.split())


def test_skylines_and_curves_of_sets(ward):
    ward.put("p.toml", POLICY.format(about='any_of = "HIV"'))
    made = ("t.csv", "-p", "p.toml")
    ward.says("skyline", *made, "-c", "0.9", "--any-of", "HIV", "--json", "s.json")
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
    assert read == [str(implication.exact) for implication in curves.implications]
    for odd in (["--any-of", "B20", "--value", "Z21"], ["--any-of", "B21"]):
        code, _, err = ward.run("skyline", *made, "-c", "0.9", *odd)
        assert code == 2
        assert err


def test_ask_says_the_set(desk):
    desk.put("t.csv", "gid,who,x\n1,Ann,B20\n1,Tom,Z21\n1,Eve,Flu\n1,Sue,Cold\n")
    call = ("ask", "t.csv", "--group", "gid", "-s", "x", "--person", "who", "--about", "Ann")
    both = ("--any-of", "B20", "--any-of", "Z21")
    out = desk.says(*call, *both, "Sue = Cold", "--json", "a.json")
    assert "B20 or Z21" in out
    assert "66.7% (2/3)" in out
    (answer,) = desk.json("a.json")["answers"]
    assert (answer["value"], answer["exact"]) == ("B20 or Z21", "2/3")
    code, _, err = desk.run(*call, "--any-of", "B21")
    assert (code, "B21" in err) == (2, True)


# ---- what is refused -------------------------------------------------------------------------

ABCD = fk.GroupCounts.from_bags(["ABCD"])
SEVERAL = fk.GroupCounts.from_people([[{"A"}, {"B", "C"}]], semantics="set")
HELD = fk.Schema(quasi_identifiers=["age"], sensitive="x", semantics="set", person="id")
NAMED = pa.table({"gid": [1, 1, 1], "who": ["Ann", "Ann", "Tom"], "x": ["A", "B", "B"]})
RELEASE = {"group": "gid", "sensitive": "x", "person": "who", "semantics": "set"}
AUDITS = [
    (ABCD, {"any_of": ["A", "B", "C", "D"]}, "any_of names every sensitive value"),
    (ABCD, {"any_of": ["A", "B*", "C*", "D*"]}, "any_of names every sensitive value"),
    (SEVERAL, {"any_of": ["A", "B"]}, "'set'"),
]
MEANT = [
    ({"any_of": []}, "any_of is empty"),
    ({"any_of": 7}, "any_of must be a list"),
    ({"any_of": {}}, "any_of is empty"),
    ({"any_of": {"HIV": []}}, "any_of.HIV is empty"),
    ({"any_of": {"HIV": "B20"}}, "any_of.HIV must be a list"),
    ({"any_of": ["A"], "at_level": 1}, "give at_level or any_of"),
    ({"at_level": 1, "values": ["A"]}, "give at_level or values"),
    ({"at_level": "1"}, "at_level must be a whole number"),
    ({"any_of": ["A", "A"]}, "any_of names 'A' twice"),
    ({"any_of": ["A"], "values": ["B"]}, "give any_of or values"),
    ({"any_of": ["A"], "excluded": ["B"]}, "give any_of or except"),
]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *((partial(fk.Requirement, fk.Facts(), below="1/2", **own), said) for own, said in MEANT),
        *((partial(fk.audit, counts, policy(**own)), said) for counts, own, said in AUDITS),
        *((partial(policy(**own).ledger, counts.values), said) for counts, own, said in AUDITS[:2]),
        (partial(policy(schema=HELD).ledger, SEVERAL.values), "'set'"),
        (
            partial(fk.Requirement, fk.KAnonymity(2), at_level=1),
            "single values, and at_level counts",
        ),
        (
            partial(fk.publish, table(40), rules(any_of=["B20", "Z21"]), method="safe"),
            "at_level are unsupported by jump",
        ),
        (
            lambda: fk.Policy(
                [*policy().requirements, *policy(None, "1/3", ["B", "A"]).requirements]
            ),
            "must stay below",
        ),
        (
            lambda: fk.Statements().posteriors(
                fk.Release.from_groups(NAMED, **RELEASE), any_of=["A", "B"]
            )["Ann"]["A or B"],
            "any_of needs one sensitive value per person",
        ),
        *(
            (partial(fk.audit, table(), rules(hierarchy=None, **own)), r"schema\.hierarchies")
            for own in ({"any_of": "HIV"}, {"at_level": 1})
        ),
        (lambda: fk.audit(table(), rules(any_of="HIV", hierarchy=fk.Tree(ROWS[:-1]))), "'M10'"),
        (
            lambda: fk.audit(table(), rules(at_level=1, hierarchy=fk.Ordered(CODES))),
            "no levels between",
        ),
        (lambda: schema({"file": "nowhere.csv"}), "nowhere"),
        *(
            (partial(fk.knowledge_skyline, ABCD, confidence="1/2", **own), "any_of")
            for own in ({"value": "A", "any_of": ["B"]}, {}, {"any_of": []}, {"any_of": "AB"})
        ),
        (lambda: fk.skyline(ABCD, ["A"], confidence="1/2", any_of=["B"]), "not both"),
        (lambda: fk.disclosure_curves(ABCD, 2, "A", any_of=["B"]), "not both"),
    ],
)
def test_sets_refused(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()
