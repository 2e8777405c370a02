"""What the verdicts did not look at stands beside them, everywhere, and as a recount finds it."""

import random
import re
from collections import Counter
from dataclasses import fields, replace
from fractions import Fraction
from html import unescape

import pyarrow as pa
import pytest
from tests.audits.folders import forge, written
from tests.cli.conftest import desk as desk
from tests.people import people, schema

import foreknow as fk
from foreknow.auditing.remarks import REMARKS, Reader, said_to
from foreknow.releases.written import open_published
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError
from foreknow_judge.remarks import alike
from foreknow_judge.said import ASSUMED, ASSUMPTIONS
from foreknow_judge.scope import Scope

SCHEMA = """[schema]
identifiers = ["who"]
quasi_identifiers = ["born", "town"]
other = ["job"]
sensitive = "illness"
missing = "drop"

[[require]]
"""
POLICY = SCHEMA + 'values = ["gout"]\nknowing = []\nfacts = { l = 0 }\nbelow = 0.9\n'
HEADING = "What the verdicts do not cover:"
NOT_JUDGED = (
    "Knowledge of the method was not judged: an adversary who knows it may be surer. See "
    '"foreknow attack --help".'
)
NOT_MEASURED = "No trial was run of what can be learned from the release: it takes "
NOBODY_KNOWS = "A requirement on illness assumes that nobody knows the job of anybody."
EVERY = fk.Policy([fk.Requirement(fk.Facts(), 1)])


def register(rows=40, seed=1):
    """Rows of a made-up register as dictionaries; some have no illness."""
    draw = random.Random(seed)
    return [
        {
            "who": f"P{i}",
            "born": draw.choice([1950, 1960, 1970]),
            "town": draw.choice(["Ulm", "Bonn"]),
            "job": draw.choice(["cook", "clerk"]),
            "shoe": draw.randrange(36, 46),
            "illness": draw.choice(["flu", "cold", "gout", "gout", "", ""]),
        }
        for i in range(rows)
    ]


def recount(rows):
    """The scope of a table, by counting its rows."""
    kept = [row for row in rows if row["illness"]]
    sizes = Counter((row["born"], row["town"]) for row in kept).values()
    ills = Counter(row["illness"] for row in kept if row["illness"] != "gout")
    smallest = {"smallest_group": min(sizes), "groups_of_one": [*sizes].count(1)}
    return {"left_out": len(rows) - len(kept), "unprotected": dict(ills), **smallest}


@pytest.fixture
def ward(desk):
    lines = [[*register()[0]], *(row.values() for row in register())]
    desk.put("ward.csv", "\n".join(",".join(map(str, line)) for line in lines))
    desk.put("ward.toml", POLICY)
    return desk


# ---- every place ---------------------------------------------------------------------------------


def test_an_audit_reports_it_everywhere(ward):
    arguments = ("audit", "ward.csv", "-p", "ward.toml", "--json", "a.json", "--html", "a.html")
    code, out, err = ward.run(*arguments)
    assert code in (0, 1), err
    out, read, counted = " ".join(out.split()), ward.json("a.json"), recount(register())
    notes, scope = read["notes"], read["scope"]
    assert scope | counted == scope
    assert scope["beside"] == ["who", "job", "shoe"]
    assert scope["assumed"] == {"illness": ["job"]}
    ills = sorted(counted["unprotected"].items(), key=lambda own: (-own[1], own[0]))
    listed = ", ".join(f"{ill} ({n} people)" for ill, n in ills)
    assert "if somebody knows the job of everybody" in notes[0]
    assert f"No requirement is about: {listed}." in notes[1]
    assert notes[2] == "The table names people, in who: what is published must not."
    assert "Not judged: shoe. An adversary who knows it" in notes[4]
    left = f"{counted['left_out']} rows have no illness and were left out"
    assert f"{left}; nothing is said about them." in notes
    text = re.sub("<[^>]*>", " ", (ward.folder / "a.html").read_text("utf-8"))
    above, _, below = " ".join(unescape(text).split()).partition("The verdict on each requirement")
    assert all(note in above and note not in below for note in notes)
    # Below the verdicts, and nothing else stands there.
    verdicts, _, beside = out.partition(f" {HEADING} ")
    assert "what must stay" in verdicts
    every = [" ".join(f"– {said}" for said in texts) for texts in (notes, ASSUMPTIONS)]
    assert beside == f" {ASSUMED} ".join(every)


@pytest.mark.complete
def test_publish_and_verify_report_it(ward):
    out = ward.says("publish", "ward.csv", "-p", "ward.toml", "-o", "out")
    scope, counted = ward.json("out/certificate.json")["scope"], recount(register())
    left = f"{counted['left_out']} rows have no illness and were left out"
    assert scope["left_out"] == counted["left_out"] > 1
    assert scope["unprotected"] == counted["unprotected"]
    assert scope["beside"] == ["job"]
    verified = ward.says("verify", "out")
    for text in (out, (ward.folder / "out/report.html").read_text("utf-8")):
        for said in (left, NOBODY_KNOWS, NOT_JUDGED.partition(" See")[0], NOT_MEASURED):
            assert said in text
    judged = (
        "Judged: release.csv. report.html is what was certified, by its digest; what it says was "
        "not judged again."
    )
    for said in (
        f"The publisher notes, which is not verified: {left}",
        f"{judged} {HEADING} – No requirement is about: ",
        NOBODY_KNOWS,
    ):
        assert said in verified
    first = max(counted["unprotected"], key=counted["unprotected"].get)
    assert all(f"No requirement is about: {first} (" in text for text in (out, verified))
    # What a reader of the release can count, an audit of the folder says again.
    again = ward.says("audit", "out", "-p", "ward.toml")
    assert NOBODY_KNOWS in again
    assert "were left out" not in again


def test_nothing_is_said_needlessly():
    table = pa.table({"town": ["Ulm"] * 6, "illness": ["flu", "cold"] * 3})
    roles = fk.Schema(quasi_identifiers=["town"], sensitive="illness", missing="drop")
    assert list(fk.audit(table, replace(EVERY, schema=roles)).notes) == [
        NOT_JUDGED,
        "The smallest group has 6 people.",
        "Judged one by one: cold, flu. How sure somebody can be of any one of several was not "
        "judged: a set of values can be judged as one secret, by any_of in the policy.",
        "Other releases of the same people, earlier or later, were not judged: together with this "
        "one they may reveal more.",
        NOT_MEASURED + "50 groups instead of 1; see foreknow learned FOLDER TABLE --policy FILE.",
    ]


def test_where_nobody_is_left_it_says_why(ward):
    ward.put("ward.csv", "who,born,town,job,illness\nA,1,Ulm,cook,\nB,2,Ulm,cook,\n")
    said = """ward.csv has no rows with 'illness', and missing = "drop" leaves all others out"""
    assert said in ward.refused("audit", "ward.csv", "-p", "ward.toml")
    assert said in ward.refused("publish", "ward.csv", "-p", "ward.toml", "-o", "out")


@pytest.mark.parametrize(
    ("near", "idle", "said"),
    [("", (), "has: 'x'."), ("", ("x",), None), ("xx", ("x",), "Did you mean 'xx' for 'x'?")],
)
def test_an_idle_name_is_said_once(near, idle, said):
    absent = [remark for remark in REMARKS if remark.field == "absent"]
    sentences = [*said_to(Reader(Scope(absent=(("x", near),), idle=idle)), absent)]
    assert [sentence.endswith(said) for sentence in sentences] == [True] * (said is not None)
    named = sorted(remark.field for remark in REMARKS)
    assert named == sorted(field.name for field in fields(Scope))


def test_a_notebook_escapes_it():
    evil = "<img src=x>"
    rows = [{"born": 1, evil: 2, "illness": ill} for ill in ("flu", "<b>bold", "flu")]
    shown = judged(rows, columns=["born"], values=["flu"])._repr_html_()
    for said in (HEADING, "&lt;img src=x&gt;", "&lt;b&gt;bold (one person)"):
        assert said in shown
    assert evil not in shown


# ---- each line -----------------------------------------------------------------------------------


def judged(rows, *, values=None, columns=("born", "town"), roles=None, **how):
    release = fk.Release.from_generalized(
        pa.Table.from_pylist(rows), quasi_identifiers=list(columns), sensitive="illness", **how
    )
    return fk.audit(release, fk.Policy([fk.Requirement(fk.Facts(), 1, values=values)], roles))


@pytest.mark.parametrize(
    ("asked", "beside", "reached"),
    [
        ([("ill", 0), ("ill", 1)], ("job",), {"ill": (4, 8)}),
        ([("ill", 1), ("ill", 0)], ("job",), {"ill": (4, 8)}),
        ([("ill", 0), ("job", 0)], ("ill", "job"), {"ill": (0, 8), "job": (1, 8)}),
    ],
)
def test_several_requirements_have_one_remark(asked, beside, reached):
    rows = pa.table({"age": ["3"] * 8, "ill": list("ffffgggh"), "job": list("xyxyxyxy")})
    columns = {"quasi_identifiers": ["age"], "sensitive": ["ill", "job"]}
    release = fk.Release.from_generalized(rows, **columns)
    limits = {"below": "9/10", "knowing": []}
    policy = [fk.Requirement(fk.Facts(facts), sensitive=name, **limits) for name, facts in asked]
    scope = fk.audit(release, fk.Policy(policy), learned=False).scope
    assert (scope.beside, scope.if_known) == (beside, reached)


@pytest.mark.parametrize("learned", [False, True])
def test_columns_of_priors_are_judged(learned, tmp_path):
    rows = [{"age": i % 4, "job": "ab"[i % 2], "shoe": i, "ill": "xyz"[i % 3]} for i in range(24)]
    table = pa.Table.from_pylist(rows)
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["job", "shoe"])
    chances = [
        {"job": job, "value": ill, "probability": p}
        for job in "ab"
        for ill, p in (("x", "1/2"), ("y", "1/4"), ("z", "1/4"))
    ]
    priors = fk.Priors(pa.Table.from_pylist(chances))
    priors = fk.Priors.learn(table, ["job"], "ill") if learned else priors
    policy, folder = fk.Policy([fk.Requirement(priors, at_most=1)], roles), tmp_path / "out"
    made = written(table, policy, folder, method=fk.Anatomy(2))
    found = fk.verify(folder)
    assert made.certificate.scope["beside"] == ["shoe"]
    assert found.beside == found.scope.beside == ("shoe",)
    forge(folder, lambda said: said["scope"].update(beside=["job", "shoe"]))
    with pytest.raises(CertificateError, match="scope: beside"):
        fk.verify(folder)
    release = fk.Release.from_groups(table, group="age", sensitive="ill", other=["job"])
    for asked, assumed in ((priors, {}), (fk.Facts(0), {"ill": ("job",)})):
        limit = {"below": "99/100", "values": ["x"], "knowing": []}
        scope = fk.audit(release, fk.Policy([fk.Requirement(asked, **limit)])).scope
        assert scope.assumed == assumed
        assert scope.beside == (("shoe",) if asked is priors else ("job", "shoe"))


def test_a_column_of_names_is_not_passed_over():
    rows = [row | {"illness": "flu"} for row in register(4)]
    assert "who" in judged(rows, person="who").scope.beside
    several = {"sensitive": "illness", "semantics": "set", "person": "who"}
    roles = fk.Schema(quasi_identifiers=["born"], **several)
    found = judged(rows, columns=["born"], person="who", semantics="set", roles=roles)
    assert found.scope.linked
    assert "who" in found.scope.beside
    assert any("which values are of one person" in note for note in found.notes)


def test_columns_beside_groups_are_named():
    table = pa.table({"gid": [1, 1, 2], "age": [1, 2, 3], "illness": ["flu", "flu", "cold"]})
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="illness", group="gid")
    policy = replace(EVERY, schema=roles)
    release = fk.Release.from_groups(table, group="gid", sensitive="illness")
    assert fk.audit(release, policy).scope.beside == ("age",)
    # In a table of their own they lead to a group, and its bag is what was judged.
    tally = pa.table({"gid": [1, 2], "illness": ["flu", "cold"], "count": [2, 1]})
    people = table.select(["gid", "age"]).append_column("job", [["a", "b", "c"]])
    apart = fk.Release.from_bucketized(tally, group="gid", sensitive="illness", people=people)
    assert fk.audit(apart, policy).scope.beside == ("job",)


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_several_values_are_counted_as_they_occur(semantics):
    draw = random.Random(3)
    bags = [[draw.choice("abcd") for _ in range(draw.randrange(3))] for _ in range(30)]
    bags = [sorted(set(bag)) if semantics == "set" else bag for bag in bags]
    groups = [bags[i : i + 3] for i in range(0, 30, 3)]
    counts = fk.GroupCounts.from_people(groups, semantics=semantics)
    roles = fk.Schema(group="g", sensitive="ill", semantics=semantics, person="p")
    found = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), 1, values=["a"])], roles))
    own = Counter(value for bag in bags for value in bag if value != "a")
    assert found.scope.unprotected == own
    value, many = own.most_common(1)[0]
    assert f"{value} ({many} {'times' if semantics == 'multiset' else 'people'})" in found.notes[0]
    assert found.scope.without_value == sum(len(g) for g in groups if not any(g))


@pytest.mark.parametrize(
    ("values", "several", "amounts"),
    [
        (["flu|cold", "flu", "cold|hiv", "hiv"], (("", "|"),), ()),
        (["flu, cold", "cold, flu", "flu", "cold"], (("", ", "),), ()),
        (["Diabetes, type 1", "Diabetes, type 2", "Asthma"], (), ()),
        (["$11,310.00 ", "$950.00"], (), ("",)),
        (["1.234,5", "17"], (), ("",)),
        (["11310", "950.5", "E11.9"], (), ()),
    ],
)
def test_wholes_that_hold_several(values, several, amounts, tmp_path):
    rows = pa.table({"age": [30] * 4 * len(values), "ill": values * 4})
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(), "9/10")], roles)
    found = fk.audit(rows, policy)
    said = " ".join(found.notes)
    assert ("was judged as one whole" in said) == bool(several)
    assert ("texts of amounts" in said) == bool(amounts)
    written(rows, policy, tmp_path / "out")
    for scope in (found.scope, fk.verify(tmp_path / "out").claimed_scope):
        assert (scope.several_answers, scope.amounts) == (several, amounts)


def test_values_without_a_requirement():
    counts = fk.GroupCounts.from_bags([["flu"] * 3, ["cold"] * 2])
    found = fk.audit(counts, fk.Policy([fk.Requirement(fk.KAnonymity(2))]))  # about no value
    assert (found.safe, found.scope.unprotected) == (True, {"flu": 3, "cold": 2})
    alike = fk.GroupCounts.from_bags([[1, "1", "x"], ["x"]])
    found = fk.audit(alike, fk.Policy([fk.Requirement(fk.Facts(), 1, values=["x"])]))
    assert found.scope.unprotected == {"1": 2}  # which print alike
    counts = fk.GroupCounts.from_bags([[f"v{i}"] * (i + 1) for i in range(20)])
    note = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), 1, values=["v0"])])).notes[0]
    assert note.startswith("No requirement is about: v19 (20 people), v18 (19 people), ")
    assert "v14 (15 people) and 13 more. " in note


def test_of_counts_less_is_known():
    found = fk.audit(fk.GroupCounts.from_bags([["flu"], ["flu", "cold"], ["cold"]]), EVERY)
    scope, notes = found.to_dict()["scope"], found.notes
    assert [scope[key] for key in ("left_out", "beside", "suppressed")] == [None] * 3
    assert notes[:2] == (NOT_JUDGED, "The smallest group has one person; 2 groups have only one.")
    assert notes[-1].startswith(NOT_MEASURED)


def test_suppressed_columns_are_named():
    rows = [{"born": "*", "town": own, "zip": "*****", "illness": "flu"} for own in "ab*"]
    found = judged(rows, columns=["born", "town", "zip"])
    assert found.scope.suppressed == ("born", "zip")
    assert found.notes[-3] == "Nothing is published of born, zip: everybody has *."
    named = fk.Release.from_groups(pa.Table.from_pylist(rows), group="zip", sensitive="illness")
    assert fk.audit(named, EVERY).scope.suppressed == ()  # the name of a group


@pytest.mark.parametrize("seed", range(2))
def test_rows_without_a_value_are_counted(seed, tmp_path):
    draw = random.Random(seed)
    rows = {
        "age": [draw.choice([1, 2]) for _ in range(60)],
        "ill": [draw.choice(["a", "b", "c", None]) for _ in range(60)],
        "pay": [draw.choice(["x", "y", "z", None, None]) for _ in range(60)],
    }
    roles = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], missing="drop")
    required = [fk.Requirement(fk.Facts(), 1, sensitive=c, knowing=[]) for c in ("ill", "pay")]
    table, policy = pa.table(rows), fk.Policy(required, roles)
    lacking = {name: rows[name].count(None) for name in ("ill", "pay")}
    found = fk.audit(table, policy)
    assert found.scope.lacking == lacking == found.to_dict()["scope"]["lacking"]
    either = sum(None in pair for pair in zip(rows["ill"], rows["pay"], strict=True))
    assert found.scope.left_out == either
    assert [v.counts.n_people for v in found.verdicts] == [60 - n for n in lacking.values()]
    (said,) = [note for note in found.notes if "row" in note]
    assert said.startswith(f"{lacking['ill']} rows have no ill, {lacking['pay']} rows have no pay:")
    made = written(table, policy, tmp_path / "out")
    left = f"{either} rows have no ill or pay and were left out; nothing is said about them."
    assert left in made.audit.notes
    assert "lacking" not in made.certificate.scope
    fk.verify(tmp_path / "out")
    one = fk.audit(table.set_column(1, "ill", [["a"] * 60]), fk.Policy(required[1:], roles))
    assert one.scope.left_out == lacking["pay"]
    assert "rows have no pay: left out where that column is judged" in " ".join(one.notes)


@pytest.mark.complete
def test_a_report_names_exact_columns(tmp_path):
    table = pa.table({"age": range(40), "ill": ["flu", "cold", "cough", "gout"] * 10})
    required = [{"group_size": 4}, {"facts": {"l": 0, "k": 1}, "below": 0.9}]
    policy = {"schema": {"quasi_identifiers": ["age"], "sensitive": "ill"}, "require": required}
    said = "Everybody's age is published as in the table"
    made = written(table, policy, tmp_path / "out", form="bucketized")
    assert any(f"{said}: whoever knows somebody by it may find" in n for n in made.audit.notes)
    assert fk.verify(tmp_path / "out").scope.exact == ("age",)
    report = unescape((tmp_path / "out/report.html").read_text()).replace("\n", " ")
    assert said in report
    other = fk.publish(table, policy, form="generalized")
    assert not any("as in the table" in note for note in other.audit.notes)


# ---- what is proved of a method ------------------------------------------------------------------

FOUR = pa.table({"age": [1, 1, 2, 2], "disease": ["a", "b", "a", "b"]})
AGE = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
HALF = fk.Policy([fk.Requirement(fk.Facts(), below="3/4")], AGE)


@pytest.mark.complete
@pytest.mark.parametrize(
    ("method", "form", "said"),
    [
        (fk.Mondrian(), "generalized", "not judged"),
        (fk.Anatomy(2), "bucketized", "as required"),
        (fk.Anatomy(2), "generalized", "at most 1/2"),
        (fk.Streamliner(2, "rda"), "bucketized", "as required"),
        (fk.Streamliner(2, "gsa"), "bucketized", "as required"),
        (fk.Streamliner(2, "gda"), "bucketized", "not judged"),
        (fk.Safe(["age=*"], fk.MaxRatio("3/4", strict=True)), "generalized", "as required"),
        (fk.Safe(["age=*"], fk.MaxRatio("4/5", strict=True)), "generalized", "not judged"),
        (fk.Naive(["age=*"], fk.MaxRatio("3/4", strict=True)), "generalized", "not judged"),
    ],
)
def test_what_is_proved_of_a_method(method, form, said, tmp_path):
    made, folder = written(FOUR, HALF, tmp_path / "out", method=method, form=form), tmp_path / "out"
    assert made.audit.scope.method == said
    for page in ((folder / "report.html").read_text("utf-8"), made.audit._repr_html_()):
        assert ("also against" in page) == (said == "as required")
    notes = [note for note in made.audit.notes if "adversary who knows" in note]
    assert ["not judged" in note for note in notes] == {
        "as required": [],
        "not judged": [True],
    }.get(said, [False])
    if said.startswith("at most"):
        assert notes[0].endswith("and nothing else, is never surer of a value than 1/2.")
        # and the attack, which runs the method, agrees
        found = fk.attack(fk.Microdata(FOUR, AGE), method, HALF)
        assert max(found.posterior(who, "a") for who in range(1, 5)) <= 1 / 2
    verified = fk.verify(folder)
    assert verified.scope.method == "not judged"  # files do not tell
    assert verified.claimed_scope.method == (None if said == "not judged" else said)


@pytest.mark.parametrize(
    ("method", "form", "claim"),
    [
        (fk.Mondrian(), "generalized", "as required"),
        (fk.Mondrian(), "generalized", "at most 1/9"),
        (fk.Streamliner(2, "gda"), "bucketized", "frequencies"),
        (fk.Anatomy(2), "generalized", "as required"),
        (fk.Anatomy(2), "generalized", "at most 1/3"),
    ],
)
def test_more_than_is_proved_is_refused(method, form, claim, tmp_path):
    written(FOUR, HALF, tmp_path / "out", method=method, form=form)
    forge(tmp_path / "out", lambda said: said["scope"].update(method=claim))
    with pytest.raises(fk.InputError, match=f"certified as '{claim}', which is not proved of"):
        fk.verify(tmp_path / "out")
    # Of their own method nobody here knows anything.
    forge(tmp_path / "out", lambda said: said.update(method={"name": "TheirOwn"}))
    assert fk.verify(tmp_path / "out").claimed_scope.method == claim


# ---- certificates --------------------------------------------------------------------------------


@pytest.fixture
def folder(ward):
    """A folder with a release of the ward."""
    fk.publish(ward.folder / "ward.csv", ward.folder / "ward.toml").write(ward.folder / "out")
    return ward.folder / "out"


def test_a_false_scope_is_refused(folder, ward):
    original = (folder / "certificate.json").read_text()
    fk.verify(folder)
    for key, lies in {
        "smallest_group": [99],
        "groups_of_one": [99],
        "without_value": [1],
        "unprotected": [{}, {"flu": 1}, {"flu": 0, "cold": 0, "plague": 3}],
        "beside": [[], ["job", "shoe"]],
        "suppressed": [["town"]],
    }.items():
        for lie in lies:
            (folder / "certificate.json").write_text(original)
            forge(folder, lambda said, key=key, lie=lie: said["scope"].update({key: lie}))
            with pytest.raises(CertificateError, match=f"scope: {key} is .*; certified is "):
                fk.verify(folder)
    code, out, err = ward.run("verify", "out")
    assert (code, out) == (1, "")
    assert "scope: suppressed" in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"left_out": -1}, "scope.left_out"),
        ({"left_out": "none"}, "scope.left_out"),
        ({"left_out": None}, "scope.left_out"),
        ({"method": "proved safe"}, "scope.method"),
        ({"method": "at most 1/4\nsafe"}, "scope.method"),
        ({"groups_of_one": True}, "scope.groups_of_one"),
        ({"beside": ["job", "job"]}, "scope.beside"),
        ({"all_is_well": 1}, "unknown key 'scope.all_is_well'"),
        (None, "lacks 'scope'"),
    ],
)
def test_a_scope_that_is_none_is_refused(folder, change, said):
    if change is None:
        forge(folder, lambda table: table.pop("scope"))
    else:
        forge(folder, lambda table: table["scope"].update(change))
    with pytest.raises(CertificateError, match=re.escape(said)):
        fk.verify(folder)


def test_changed_rows_are_found(folder):
    path = folder / "release.csv"
    path.write_text(path.read_text().replace('"flu"', '"cold"'))
    digest = {"release.csv": digest_of(path)}
    forge(folder, lambda said: said["release"]["files"].update(digest))
    with pytest.raises(CertificateError, match="scope: unprotected"):
        fk.verify(folder)


def test_a_readers_policy_has_its_own_scope(folder, ward):
    ward.put("all.toml", SCHEMA + "knowing = []\nfacts = { l = 0 }\nbelow = 1\n")
    assert "No requirement is about" not in ward.says("verify", "out", "--policy", "all.toml")
    found = fk.verify(folder, ward.folder / "all.toml")
    assert (found.scope.unprotected, found.claimed_scope.left_out) == ({}, None)


@pytest.mark.parametrize(
    ("form", "fmt", "semantics"),
    [
        ("generalized", "csv", "single"),
        ("bucketized", "parquet", "single"),
        ("generalized", "csv", "multiset"),
    ],
)
def test_the_verifier_finds_what_is_certified(form, fmt, semantics, tmp_path):
    table = people().append_column("=x", [list(range(60))])
    roles = schema(other=["=x", "note"], semantics=semantics)
    if semantics != "single":
        roles = replace(roles, person="name", identifiers=[])
    counted = Counter(table["disease"].to_pylist())
    ill = counted.most_common(1)[0][0]
    policy = fk.Policy([fk.Requirement(fk.Facts(), 1, values=[ill], knowing=[])], roles)
    escape = fmt == "csv" and semantics == "single"
    options = fk.PublishOptions(form=form, format=fmt, escape_formulas=escape)
    scope = written(table, policy, tmp_path / "out", options=options).certificate.scope
    found = fk.verify(tmp_path / "out").scope
    # And an audit of the written folder, which is read by other code, says the same.
    again = fk.audit(open_published(tmp_path / "out").release, policy).scope
    words = ("left_out", "method")
    own = {key: said for key, said in scope.items() if key not in words}
    assert own == {key: said for key, said in found.to_dict().items() if key not in words}
    assert own == {key: again.to_dict()[key] for key in own}
    assert own["beside"] == ["=x", "note"]
    del counted[ill]
    assert own["unprotected"] == counted
    assert list(found.unprotected) == list(own["unprotected"])


# ---- values that look alike, or are near ---------------------------------------------------------

PLAIN = fk.Schema(quasi_identifiers=["age"], sensitive="x")
UNSEEN = [0xAD, 0x34F, 0x61C, 0x115F, 0x180E, 0x200B, 0x200D, 0x200E, 0x202C, 0x2060, 0x2062]
UNSEEN += [0x2800, 0x3164, 0xFE0F, 0xFEFF, 0xE0041, 0xE0101]


def notes_of(values, folder, **about):
    """Notes of an audit, of a publication and of its verification, which must agree."""
    table = pa.table({"age": [20 + i % 50 for i in range(len(values))], "x": values})
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=1, **about)], PLAIN)
    found, scope = fk.audit(table, rules), written(table, rules, folder).certificate.scope
    again = fk.verify(folder).scope.to_dict()
    for key in ("values_and_people", "alike", "apart", "more_apart"):
        said = [own.get(key) for own in (found.scope.to_dict(), again, scope)]
        assert said == [found.to_dict()["scope"].get(key)] * 3
    return found.notes


def test_codes_of_one_illness_are_judged_apart():
    counts = fk.GroupCounts.from_bags([["B20"] * 5 + ["Z21"] * 5 + ["Flu"] * 3])
    single, either = (
        fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), below="1/2", **about)]))
        for about in ({"values": ["B20", "Z21"]}, {"any_of": ["B20", "Z21"]})
    )
    assert (single.safe, either.safe) == (True, False)
    assert either.verdicts[0].reached == Fraction(10, 13)
    said = "Judged one by one: B20, Z21. How sure somebody can be of any one of several was not"
    assert any(note.startswith(said) for note in single.notes)
    assert not any("Judged one by one" in note for note in either.notes)


def test_nearly_as_many_values_as_people(tmp_path):
    some = [f"v{i}" for i in range(30)]
    notes = notes_of(some, tmp_path / "a")
    said = "30 values for 30 people: a requirement about single values says little; use within "
    assert notes[0] == said + "= ..., any_of, or a hierarchy."
    few = [f"v{i % 15}" for i in range(30)]
    for values, about in ((some, {"any_of": some[:5]}), (few, {})):
        notes = notes_of(values, tmp_path / str(len(about)), **about)
        assert not any("says little" in note for note in notes)
    assert any("v0, v1, v10, v11 and 11 more" in note for note in notes)


def test_values_that_look_alike_are_listed(tmp_path):
    values = ["HIV", "hiv", "HIV ", "Grippe", "Grippé", "Straße", "STRASSE", "e\u0301", "\u00e9"]
    values += ["1.1", "1.10", "2", "07", "7", *["Flu"] * 15]
    (said,) = [n for n in notes_of(values, tmp_path / "out") if "look like one value" in n]
    for pair in (
        *("'HIV', 'HIV ', 'hiv'", "'Grippe', 'Grippé'", "'STRASSE', 'Straße'"),
        "'1.1', '1.10'",
    ):
        assert pair in said
    assert "Flu" not in said
    assert "7'" not in said
    assert said.endswith("They are judged as different ones.")


def test_unseen_characters_look_alike():
    for hidden in map(chr, UNSEEN):
        for place in (0, 1, 3):
            other = "Flu"[:place] + hidden + "Flu"[place:]
            assert alike(["Flu", other, "Cold"]) == [tuple(sorted(["Flu", other]))]
    assert not alike(["\u0915\u093f", "\u0915\u0940", "\u0915\u0941"])  # vowels of another script


@pytest.mark.parametrize(
    "change",
    [
        lambda scope: scope.pop("alike"),
        lambda scope: scope["alike"].append(["x", "y"]),
        lambda scope: scope.pop("apart"),
        lambda scope: scope.update(more_apart=7),
        lambda scope: scope.pop("values_and_people"),
        lambda scope: scope.update(values_and_people=[3, 3000]),
    ],
)
def test_a_certificate_that_hides_it_is_refused(change, tmp_path):
    notes_of(["HIV", "hiv", *(f"v{i}" for i in range(28))], tmp_path / "out")
    forge(tmp_path / "out", lambda said: change(said["scope"]))
    with pytest.raises(CertificateError, match="scope: "):
        fk.verify(tmp_path / "out")


def near_by_hand(bags):
    """The groups of different numbers that are nearest, found one by one."""
    several = [sorted(map(int, bag)) for bag in bags if len(set(bag)) > 1]
    narrow = [bag for bag in several if bag[-1] * 10 <= bag[0] * 11]
    nearest = min(several, key=lambda b: (Fraction(b[-1] - b[0], b[0]), b[-1] - b[0], -len(b), b))
    return ("", str(nearest[0]), str(nearest[-1]), len(nearest), len(narrow))


@pytest.mark.parametrize("seed", range(6))
def test_near_values_are_noted(seed):
    draw = random.Random(seed)
    starts = [draw.randint(100, 900) for _ in range(8)]
    bags = [[str(s + draw.randint(0, 120)) for _ in range(draw.randint(1, 5))] for s in starts]
    bags += [["300", "310"]]
    counts = fk.GroupCounts.from_bags(bags)
    assert fk.audit(counts, EVERY).scope.near == (near_by_hand(bags),)
    (each,) = EVERY.requirements
    within = fk.Requirement(fk.Facts(), 1, within="10%")
    for rules in ([each, within], [fk.Requirement(fk.KAnonymity(1))]):
        assert not fk.audit(counts, fk.Policy(rules)).scope.near


@pytest.mark.parametrize("values", ["1 2 3", "007 008 009", "flu cold", "40000", "x x 41"])
def test_ratings_and_codes_are_not_near(values):
    assert not fk.audit(fk.GroupCounts.from_bags([values.split()]), EVERY).scope.near


def test_salaries_are_noted(tmp_path):
    """Each salary is hidden, and to 1% all are known."""
    draw = random.Random(3)
    places = [draw.choice(["Bonn", "Ulm"]) for _ in range(300)]
    pay = [{"Bonn": 39_300, "Ulm": 58_400}[place] + 50 * draw.randrange(10) for place in places]
    rows = pa.table({"age": [draw.randint(20, 60) for _ in places], "place": places, "pay": pay})
    roles = fk.Schema(quasi_identifiers=["age", "place"], sensitive="pay")
    rules = fk.Policy([fk.Requirement(fk.Facts(), "1/2"), fk.Requirement(fk.KAnonymity(5))], roles)
    made = written(rows, rules, tmp_path / "out")
    ((_, low, high, _, groups),) = made.audit.scope.near
    assert groups == made.counts.n_groups
    assert int(high) - int(low) < 500
    note = f"In the narrowest, of .* people, they lie within {low} to {high}: require within"
    assert any(re.search(note, said) for said in made.audit.notes)
    assert fk.verify(tmp_path / "out").claimed_scope.near == made.audit.scope.near
    as_codes = fk.Policy(rules.requirements, replace(roles, types={"pay": "text"}))
    assert not fk.audit(rows, as_codes).scope.near
