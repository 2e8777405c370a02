"""Sets of values and windows: by enumeration, in searches, published and refused."""

import datetime as dt
import json
import random
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.cli.conftest import desk as desk
from tests.common import NIGHTLY
from tests.oracle.facts import windows_of, worst_of_two

import foreknow as fk
from foreknow_judge.counts.group_bags import Column, GroupBags
from foreknow_judge.knowledge.facts import worst_facts
from foreknow_judge.knowledge.windows import worst_near

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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (partial(fk.audit, SEVERAL, policy(any_of=["A", "B"])), "'set'"),
        (partial(policy(schema=HELD).ledger, SEVERAL.values), "'set'"),
        (
            partial(fk.publish, table(40), rules(any_of=["B20", "Z21"]), method="safe"),
            "at_level are unsupported by jump",
        ),
        (
            lambda: fk.Statements().posteriors(
                fk.Release.from_groups(NAMED, **RELEASE), any_of=["A", "B"]
            )["Ann"]["A or B"],
            "any_of needs one sensitive value per person",
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


# numbers and dates to within a width: a window is a set of values, the worst of all is judged.


def within_policy(adversary, below="1/2", within=5000, **more):
    return fk.Policy([fk.Requirement(adversary, below=below, within=within)], **more)


def judged(values, within=5000, amounts=(0, 0, 0), below="1/2"):
    """The verdict on some groups."""
    counts = fk.GroupCounts.from_bags(values)
    (verdict,) = fk.audit(counts, within_policy(fk.Facts(*amounts), below, within)).verdicts
    return verdict


def width_of(within):
    if str(within).endswith("%"):
        return Fraction(within[:-1]) / 100, True
    return Fraction(within), False


# ---- by enumeration --------------------------------------------------------------------------


def one_by_one(bags, adversary, every):
    """The worst of some sets, each counted as one value."""
    results = []
    for united in every:
        plain = [["it" if x in united else x for x in bag] for bag in bags]
        results.append(adversary.disclosure(fk.GroupCounts.from_bags(plain), "it").exact)
    return max(results)


def uneven(seed, many):
    """Releases of small and large groups, with values that many have, and widths."""
    r = random.Random(seed)
    for _ in range(many):
        often = r.sample(range(-4, 8), 2)
        sizes = r.choices([1, 2, 3, 5, 20], k=r.randint(1, 6))
        bags = [[r.choice([*often, r.randrange(-4, 8)]) for _ in range(size)] for size in sizes]
        yield bags, r.choice([2, 4, 6, "1/2", "20%", "80%", "200%"])


def held_of(bags):
    """The counts of groups as the judge has them."""
    groups = np.repeat(np.arange(len(bags)), list(map(len, bags)))
    values = Column.of([str(value) for bag in bags for value in bag], np.arange(len(groups)))
    labels = Column.of([f"{at:03}" for at in range(len(bags))], np.arange(len(bags)))
    ones = np.ones(len(groups), np.int64)
    return GroupBags([labels], values.texts, groups, values.codes, ones)


def test_no_worse_window_left_out():
    amounts = [*product(range(3), repeat=3)]
    for position, (bags, within) in enumerate(uneven(1, 5_000 if NIGHTLY else 90)):
        held, asked = held_of(bags), amounts[position % len(amounts)]
        merged = (
            held.merged({str(value): "inside" for value in window})
            for window in windows_of([value for bag in bags for value in bag], *width_of(within))
        )
        truth = max(worst_facts(one, {"inside"}, "single", *asked).chance for one in merged)
        assert worst_near(held, str(within), *asked)[2] == truth, (bags, within, asked)


def ends_of(name):
    """The ends of a window, as it is named."""
    ends = name.removeprefix("between ").replace(",", "").split(" and ")
    return Fraction(ends[0]), Fraction(ends[-1])


def test_relatives_widen_a_window():
    """The target has 10, and the window begins at 8, which only relatives have."""
    bags = [[10, 100, 200, 300] * 2 + [400], [8, 9, 9, 500, 600, 700, 800, 900, 999]]
    # Odds of 1/2, times 6/9 for the relative.
    assert judged(bags, 2, (3, 0, 1)).reached == Fraction(3, 4)


def test_links_are_about_one_window():
    """What the requirement does not keep: links from another window, and who is near whom."""
    groups = [[9, 0, 30], [4, 9, 6, 9, 9, 2]]
    assert judged(groups, 2, (1, 0, 1)).reached == Fraction(15, 19)
    results = [worst_of_two(groups, 2, 1, link) for link in ("same", "any")]
    assert results == [Fraction(15, 19), Fraction(5, 6)]
    assert judged([[0, 0, 6, 2]], 1, (0, 0, 1)).reached == Fraction(3, 4)
    assert worst_of_two([[0, 0, 6, 2]], 1, 0, "near") == 1


# ---- searches and skylines -------------------------------------------------------------------


def test_reports_and_mistakes_of_skylines(tmp_path):
    pays = [20 + i * i % 37 for i in range(16)]
    release = fk.GroupCounts.from_bags([pays[::2], pays[1::2]])
    report = fk.skyline_report(release, confidence="1/2", within=5)
    (window,) = report.values
    assert report.skylines[window] == fk.knowledge_skyline(release, confidence="1/2", within=5)
    for corner in report.corners(window):
        assert corner.found.below("1/2")
        assert not any(more.below("1/2") for more in corner.beyond if more is not None)
    report.to_html(tmp_path / "s.html")
    assert "a value in a window of 5" in (tmp_path / "s.html").read_text()
    with pytest.raises(fk.InputError, match="give one of values, any_of and within"):
        fk.skyline_report(release, ["20"], confidence="1/2", within=5)
    half = {"confidence": "1/2"}
    for asked in (half, {"value": 20, "within": 1, **half}, {"within": 1}):
        with pytest.raises(fk.InputError, match="give one of value, any_of and within, and a conf"):
            fk.knowledge_skyline(release, **asked)
    with pytest.raises(fk.InputError, match="holds every"):
        fk.knowledge_skyline(release, within=40, **half)


# ---- what is near ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "within", "name", "exact"),
    [
        *(
            (values, 5000, "30,000 and 35,000", "3/5")
            for values in (
                ["30000", "31000.0", "35000", "35001", "5e4"],
                [Decimal(30000), Decimal("31000.00"), Decimal("3.5e4"), Decimal(35001), 50000.0],
                [np.int32(30000), np.float64(31000), 35000, "35001", Decimal(50000)],
            )
        ),
        (["1", "1.0", "01", "2", "3"], "1/4", "1 and 1.25", "3/5"),  # labels of one number
        ([-110, -100, 0, 100, 110, 111], "10%", None, "1/3"),  # of the smaller; 0 lies apart
        ([-111, -100, 0, 5, 100, 111], "10%", None, "1/6"),
        (["2024-01-01", "2024-01-31", "2024-02-01"], "30 days", "2024-01-01 and 2024-01-31", "2/3"),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 31), dt.date(2024, 2, 1)], 29, None, "2/3"),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 31), dt.date(2024, 3, 1)], 29, None, "1/3"),
        (
            ["2024-01-01 10:00", "2024-01-01 22:00:00", "2024-01-02"],
            "12 hours",
            "2024-01-01 10:00:00 and 2024-01-01 22:00:00",
            "2/3",
        ),
        (
            [dt.datetime(2024, 1, 1, 10), dt.datetime(2024, 1, 2, 9), dt.datetime(2024, 1, 3, 9)],
            1,
            "2024-01-01 10:00:00 and 2024-01-02 10:00:00",
            "2/3",
        ),
        (["9999-12-31", "9999-12-30", "2024-01-01"], 5, "9999-12-30 and 9999-12-31", "2/3"),
    ],
)
def test_what_is_near(values, within, name, exact):
    verdict = judged([values], within)
    assert verdict.disclosure.exact == Fraction(exact)
    assert name is None or verdict.value == f"between {name}"


def test_a_dollar_apart_is_unsafe():
    rows = range(400)
    columns = {"sex": ["fm"[i % 2] for i in rows], "income": [30_000 + i for i in rows]}
    wide = fk.Release.from_generalized(
        pa.table(columns), quasi_identifiers=["sex"], sensitive="income"
    )
    single = fk.Policy([fk.Requirement(fk.Facts(1, 1, 1), below="1/2")])
    assert fk.audit(wide, single).safe
    (verdict,) = fk.audit(wide, within_policy(fk.Facts(1, 1, 1), within="1%")).verdicts
    assert verdict.disclosure.exact > Fraction(3, 4)
    assert ends_of(verdict.value)[1] <= Fraction(101, 100) * ends_of(verdict.value)[0]
    # Values that nobody has any more do no harm.
    kept = fk.GroupCounts.from_bags([[1, 2, 9, 30], [50, 60, 70], [90, 99]]).take(np.arange(2))
    for amounts in ((0, 0, 0), (1, 1, 0), (0, 1, 1), (0, 0, 2)):
        every = windows_of([1, 2, 9, 30, 50, 60, 70], 10)
        truth = one_by_one([[1, 2, 9, 30], [50, 60, 70]], fk.Facts(*amounts), every)
        (verdict,) = fk.audit(kept, within_policy(fk.Facts(*amounts), within=10)).verdicts
        assert verdict.disclosure.exact == truth


# ---- published and verified -----------------------------------------------------------------


def people(n=400, seed=1, salary=lambda r: f"{r.lognormvariate(10.3, 0.6):.2f}"):
    r = random.Random(seed)
    ages, sexes = [r.randint(20, 79) for _ in range(n)], r.choices("mf", k=n)
    return pa.table({"age": ages, "sex": sexes, "salary": [salary(r) for _ in range(n)]})


SCHEMA = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="salary")


def test_certificates_of_another_width(tmp_path):
    rules = within_policy(fk.Facts(), schema=SCHEMA)
    fk.publish(people(), rules).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    text = path.read_text()
    assert text.count('"within": 5000') == 1
    for new, message in (
        ("500", "the worst probability is"),
        ("0", "above 0"),
        ("true", "within"),
        ("[5000]", "within"),
        ('"a lot"', "cannot be read"),
        ('"30 days"', "cannot be read for these values"),
        ('5000, "any_of": ["1"]', "give within or any_of, not both"),
    ):
        path.write_text(text.replace('"within": 5000', f'"within": {new}'))
        with pytest.raises(fk.InputError, match=message):
            fk.verify(tmp_path / "out")
    with pytest.raises(fk.NoSafeRelease, match=r"60 of 60 people|people have values between"):
        fk.publish(people(60), within_policy(fk.Facts(), "1/9", within=9000, schema=SCHEMA))


# ---- the policy, the report, and what is refused ---------------------------------------------


def test_where_windows_are_unsupported():
    several = fk.GroupCounts.from_people([[{1}, {2, 3}]], semantics="set")
    with pytest.raises(fk.ForeknowError, match="within needs one sensitive value per person"):
        fk.audit(several, within_policy(fk.Facts(), within=1))
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="x", semantics="set", person="id")
    with pytest.raises(fk.ForeknowError, match="within needs one sensitive value per person"):
        within_policy(fk.Facts(), within=1, schema=schema).ledger(several.values)
    with pytest.raises(fk.ForeknowError, match="within is unsupported by jump"):
        fk.publish(people(40), within_policy(fk.Facts(), schema=SCHEMA), method="safe")
    table = pa.table({"name": list("abcd"), "gid": [1] * 4, "x": [1, 2, 9, 20]})
    release = fk.Release.from_groups(table, group="gid", sensitive="x", person="name")
    disclosure = fk.audit(release, within_policy(fk.Facts(), within=1)).verdicts[0].disclosure
    with pytest.raises(fk.InputError, match="a window is no value of a person"):
        fk.name_people(release, disclosure)


def test_two_limits_for_one_width():
    requirement = fk.Requirement(fk.Facts(), below="1/2", within="50%")
    other = fk.Requirement(fk.Facts(), below="1/3", within="50 %")
    with pytest.raises(fk.InputError, match="values within 50 % must stay below 1/3"):
        fk.Policy([requirement, other])
    fk.Policy([requirement, fk.Requirement(fk.Facts(), below="1/3", within="20%")])
