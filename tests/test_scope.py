"""What the verdicts did not look at stands beside them, everywhere, and as a recount finds it."""

import json
import random
import re
import shutil
from collections import Counter
from dataclasses import fields, replace
from fractions import Fraction
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cli.conftest import desk as desk
from tests.people import people, schema

import foreknow as fk
from foreknow.auditing.remarks import REMARKS, Reader, said_to
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

"""
REQUIRE = """[[require]]
values = ["gout"]
knowing = []
facts = { l = 0 }
below = 0.9
"""
HEADING = "What the verdicts do not cover:"
NOT_JUDGED = (
    "Knowledge of the method was not judged: an adversary who knows it may be surer. See "
    '"foreknow attack --help".'
)
NOT_MEASURED = "No trial was run of what can be learned from the release itself: it takes "
FEW_GROUPS = "50 groups instead of {}; see foreknow learned FOLDER TABLE --policy FILE."
TOWNS, ILLS = ["Ulm", "Bonn"], ["flu", "cold", "gout", "gout", "", ""]


def register(rows=40, seed=1):
    """Rows of a made-up register as dictionaries; some have no illness."""
    chance = random.Random(seed)
    return [
        {
            "who": f"P{i}",
            "born": chance.choice([1950, 1960, 1970]),
            "town": chance.choice(TOWNS),
            "job": chance.choice(["cook", "clerk"]),
            "shoe": chance.randrange(36, 46),
            "illness": chance.choice(ILLS),
        }
        for i in range(rows)
    ]


def as_csv(rows):
    return "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)])


def recount(rows, columns=("born", "town")):
    """The scope of a table, by counting its rows."""
    kept = [row for row in rows if row["illness"]]
    sizes = Counter(tuple(row[column] for column in columns) for row in kept)
    return {
        "left_out": len(rows) - len(kept),
        "smallest_group": min(sizes.values()),
        "groups_of_one": list(sizes.values()).count(1),
        "unprotected": {
            ill: many for ill, many in Counter(r["illness"] for r in kept).items() if ill != "gout"
        },
    }


OTHER_RELEASES = (
    "Other releases of the same people: whoever combines this one with them, earlier or later ones "
    "of the same register too, may find out more."
)


def within(small, large):
    return {key: large[key] for key in small} == small


@pytest.fixture
def ward(desk):
    desk.put("ward.csv", as_csv(register()))
    desk.put("ward.toml", SCHEMA + REQUIRE)
    return desk


# ---- every place ---------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_priors_know_their_columns(known):
    rows = pa.table({"gid": [1] * 6, "sex": list("mmmfff"), "ill": list("abcabc")})
    release = fk.Release.from_groups(rows, group="gid", sensitive="ill", other=["sex"])
    chances = [weight / 5 for weight in (1, 2, 2, 2, 1, 2)]
    priors = fk.Priors(pa.table({"sex": rows["sex"], "value": rows["ill"], "probability": chances}))
    limit = {"below": "99/100", "values": ["a"], "knowing": []}
    policy = fk.Policy([fk.Requirement(priors if known else fk.Facts(0), **limit)])
    found = fk.audit(release, policy, learned=False).scope
    assert found.assumed == ({} if known else {"ill": ("sex",)})


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
    found = fk.audit(release, fk.Policy(policy), learned=False).scope
    assert (found.beside, found.if_known) == (beside, reached)


@pytest.mark.parametrize(
    ("near", "idle", "said"),
    [("", (), "has: 'x'."), ("", ("x",), None), ("xx", ("x",), "Did you mean 'xx' for 'x'?")],
)
def test_an_idle_name_is_said_once(near, idle, said):
    absent = [remark for remark in REMARKS if remark.field == "absent"]
    sentences = [*said_to(Reader(Scope(absent=(("x", near),), idle=idle)), absent)]
    assert [sentence.endswith(said) for sentence in sentences] == [True] * (said is not None)


def test_each_field_has_one_remark():
    named = [remark.field for remark in REMARKS]
    assert sorted(named) == sorted(field.name for field in fields(Scope))


@pytest.mark.parametrize("seed", range(4))
def test_an_audit_says_it_in_terminal_report_and_json(desk, seed):
    rows = register(30, seed)
    desk.put("ward.csv", as_csv(rows))
    desk.put("ward.toml", SCHEMA + REQUIRE)
    code, out, err = desk.run(
        *("audit", "ward.csv", "-p", "ward.toml", "--json", "a.json", "--html", "a.html")
    )
    assert code in (0, 1), err
    out, page, read = " ".join(out.split()), desk.folder / "a.html", desk.json("a.json")
    expected = recount(rows)
    assert within(expected, read["scope"])
    assert read["scope"]["beside"] == ["who", "job", "shoe"]
    flu, cold = expected["unprotected"]["flu"], expected["unprotected"]["cold"]
    left = expected["left_out"]
    said = f"{left} rows have no illness and were left out; nothing is said about them."
    values = sorted({f"flu ({flu} people)": flu, f"cold ({cold} people)": cold}.items())
    listed = ", ".join(text for text, _ in sorted(values, key=lambda item: -item[1]))
    assert "if somebody knows the job of everybody" in read["notes"][0]
    assert f"No requirement is about: {listed}." in read["notes"][1]
    assert "Not judged: shoe. An adversary who knows it" in read["notes"][4]
    assert read["notes"][2] == "The table names people, in who: what is published must not."
    assert read["scope"]["assumed"] == {"illness": ["job"]}
    assert said in read["notes"]
    text = re.sub("<[^>]*>", " ", page.read_text("utf-8"))
    above, _, below = " ".join(unescape(text).split()).partition("The verdict on each requirement")
    for note in read["notes"]:
        assert f"– {note}" in out
        assert note in above
        assert note not in below
    # Below the verdicts, and nothing else stands there.
    verdicts, _, beside = out.partition(f" {HEADING} ")
    assert "what must stay" in verdicts
    listed = [" ".join(f"– {said}" for said in texts) for texts in (read["notes"], ASSUMPTIONS)]
    assert beside == f" {ASSUMED} ".join(listed)


@pytest.mark.complete
def test_publish_says_it_in_terminal_report_and_certificate_and_verify_again(ward):
    out = ward.says("publish", "ward.csv", "-p", "ward.toml", "-o", "out")
    known, expected = ward.json("out/certificate.json"), recount(register())
    left = f"{expected['left_out']} rows have no illness and were left out"
    assert known["version"] == 1
    assert known["scope"]["left_out"] == expected["left_out"] > 1
    assert known["scope"]["unprotected"] == expected["unprotected"]
    assert known["scope"]["beside"] == ["job"]
    report = (ward.folder / "out/report.html").read_text("utf-8")
    verified = ward.says("verify", "out")
    for text in (out, report):
        assert left in text
        assert "A requirement on illness assumes that nobody knows the job of anybody." in text
        assert NOT_JUDGED.partition(" See")[0] in text
        assert NOT_MEASURED in text
    assert f"The publisher notes, which is not verified: {left}" in verified
    judged = (
        "Judged: release.csv. report.html is what was certified, by its digest; what it says was "
        "not judged again."
    )
    assert f"{judged} {HEADING} – No requirement is about: " in verified
    assert "A requirement on illness assumes that nobody knows the job of anybody." in verified
    first = max(expected["unprotected"], key=expected["unprotected"].get)
    for text in (out, verified):
        assert f"No requirement is about: {first} (" in text
    # What a reader of the release can count, an audit of the folder says again.
    again = ward.says("audit", "out", "-p", "ward.toml")
    assert "assumes that nobody knows the job of anybody" in again
    assert "were left out" not in again


def test_nothing_is_said_of_what_is_not_there(desk):
    desk.put("fine.csv", "town,illness\n" + "Ulm,flu\nUlm,cold\n" * 3)
    desk.put(
        "fine.toml",
        '[schema]\nquasi_identifiers = ["town"]\nsensitive = "illness"\nmissing = "drop"\n'
        "[[require]]\nfacts = { l = 0 }\nbelow = 0.9\n",
    )
    desk.says("audit", "fine.csv", "-p", "fine.toml", "--json", "a.json")
    assert desk.json("a.json")["notes"] == [
        NOT_JUDGED,
        "The smallest group has 6 people.",
        "Judged each by itself: cold, flu. How sure somebody can be of any one of several was not "
        "judged: a set of values can be judged as one secret, by any_of in the policy.",
        OTHER_RELEASES,
        NOT_MEASURED + FEW_GROUPS.format(1),
    ]


def test_where_everybody_would_be_left_out_it_says_why(desk):
    desk.put("ward.csv", "who,born,town,job,illness\nA,1,Ulm,cook,\nB,2,Ulm,cook,\n")
    desk.put("ward.toml", SCHEMA + REQUIRE)
    said = """ward.csv has no rows with 'illness', and missing = "drop" leaves all others out"""
    assert said in desk.refused("audit", "ward.csv", "-p", "ward.toml")
    assert said in desk.refused("publish", "ward.csv", "-p", "ward.toml", "-o", "out")


# ---- each line -----------------------------------------------------------------------------------


def judged(rows, *, values=None, columns=("born", "town"), roles=None, **how):
    release = fk.Release.from_generalized(
        pa.Table.from_pylist(rows), quasi_identifiers=list(columns), sensitive="illness", **how
    )
    return fk.audit(release, fk.Policy([fk.Requirement(fk.Facts(), 1, values=values)], roles))


def test_a_column_by_which_priors_are_known_is_judged():
    rows = [row | {"illness": row["illness"] or "none"} for row in register()]
    release = fk.Release.from_generalized(
        pa.Table.from_pylist(rows), quasi_identifiers=["born", "town"], sensitive="illness"
    )
    assert fk.audit(release, fk.Policy([fk.Requirement(fk.Facts(), 1)])).scope.beside == (
        *("who", "job", "shoe"),
    )
    chances = [
        {"job": job, "value": ill, "probability": "1/4"}
        for job in ("cook", "clerk")
        for ill in ("flu", "cold", "gout", "none")
    ]
    priors = fk.Priors(pa.Table.from_pylist(chances))
    found = fk.audit(release, fk.Policy([fk.Requirement(priors, at_most=1)]))
    assert found.scope.beside == ("who", "shoe")


def test_a_column_of_names_is_not_passed_over():
    rows = [row | {"illness": "flu"} for row in register(4)]
    assert "who" in judged(rows, person="who").scope.beside
    several = fk.Schema(
        quasi_identifiers=["born"], sensitive="illness", semantics="set", person="who"
    )
    found = judged(rows, columns=["born"], person="who", semantics="set", roles=several)
    assert found.scope.linked
    assert "who" in found.scope.beside
    assert any("which values are of one person" in note for note in found.notes)


def test_quasi_identifiers_beside_a_column_of_groups_are_named():
    table = pa.table({"gid": [1, 1, 2], "age": [1, 2, 3], "illness": ["flu", "flu", "cold"]})
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="illness", group="gid")
    policy = fk.Policy([fk.Requirement(fk.Facts(), 1)], roles)
    release = fk.Release.from_groups(table, group="gid", sensitive="illness")
    assert fk.audit(release, policy).scope.beside == ("age",)
    # In a table of their own they lead to a group, and its bag is what was judged.
    apart = fk.Release.from_bucketized(
        pa.table({"gid": [1, 2], "illness": ["flu", "cold"], "count": [2, 1]}),
        group="gid",
        sensitive="illness",
        people=table.select(["gid", "age"]).append_column("job", [["a", "b", "c"]]),
    )
    assert fk.audit(apart, policy).scope.beside == ("job",)


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_values_of_several_are_counted_as_they_occur(semantics):
    chance = random.Random(3)
    bags = [[chance.choice("abcd") for _ in range(chance.randrange(3))] for _ in range(30)]
    if semantics == "set":
        bags = [sorted(set(bag)) for bag in bags]
    groups = [bags[i : i + 3] for i in range(0, 30, 3)]
    counts = fk.GroupCounts.from_people(groups, semantics=semantics)
    roles = fk.Schema(group="g", sensitive="ill", semantics=semantics, person="p")
    found = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), 1, values=["a"])], roles))
    own = Counter(value for bag in bags for value in bag if value != "a")
    assert found.scope.unprotected == own
    value, many = own.most_common(1)[0]
    noun = "times" if semantics == "multiset" else "people"
    assert f"{value} ({many} {noun})" in found.notes[0]
    assert found.scope.without_value == sum(len(g) for g in groups if not any(g))


def test_a_policy_of_criteria_is_about_no_value():
    counts = fk.GroupCounts.from_bags([["flu"] * 3, ["cold"] * 2])
    found = fk.audit(counts, fk.Policy([fk.Requirement(fk.KAnonymity(2))]))
    assert found.safe
    assert found.scope.unprotected == {"flu": 3, "cold": 2}


@pytest.mark.parametrize(
    ("values", "several", "amounts"),
    [
        (["flu|cold", "flu", "cold|hiv", "hiv"], (("", "|"),), ()),
        (["flu, cold", "cold, flu", "flu", "cold"], (("", ", "),), ()),
        (["Diabetes, type 1", "Diabetes, type 2", "Asthma"], (), ()),
        (["$11,310.00 ", "$950.00"], (), ("",)),
        (["1.234,5", "17"], (), ("",)),
        (["11310", "950.5"], (), ()),
        (["E11.9", "B20"], (), ()),
    ],
)
def test_wholes_that_hold_several(values, several, amounts, tmp_path):
    rows = pa.table({"age": ["20 to 29"] * 4 * len(values), "ill": values * 4})
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(), "9/10")], roles)
    found = fk.audit(rows, policy)
    assert found.scope.several_answers == several
    assert found.scope.amounts == amounts
    said = " ".join(found.notes)
    assert ("was judged as one whole" in said) == bool(several)
    assert ("texts of amounts" in said) == bool(amounts)
    fk.publish(pa.table({"age": [30] * len(rows), "ill": values * 4}), policy).write(tmp_path / "o")
    verified = fk.verify(tmp_path / "o").claimed_scope
    assert (verified.several_answers, verified.amounts) == (several, amounts)


def test_labels_that_print_alike_are_counted_together():
    counts = fk.GroupCounts.from_bags([[1, "1", "x"], ["x"]])
    found = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), 1, values=["x"])]))
    assert found.scope.unprotected == {"1": 2}


def test_long_lists_are_cut_and_the_most_frequent_come_first():
    bags = [[f"v{i}"] * (i + 1) for i in range(20)]
    counts = fk.GroupCounts.from_bags(bags)
    note = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), 1, values=["v0"])])).notes[0]
    assert note.startswith("No requirement is about: v19 (20 people), v18 (19 people), ")
    assert "v14 (15 people) and 13 more. " in note


def test_of_counts_alone_it_says_only_what_is_known():
    counts = fk.GroupCounts.from_bags([["flu"], ["flu", "cold"], ["cold"]])
    found = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), 1)])).to_dict()
    assert (found["scope"]["left_out"], found["scope"]["beside"]) == (None, None)
    assert found["scope"]["suppressed"] is None
    assert found["notes"][1] == "The smallest group has one person; 2 groups have only one."
    assert found["notes"][0] == NOT_JUDGED
    assert found["notes"][-1].startswith(NOT_MEASURED)


def test_columns_of_which_nothing_is_published_are_named():
    rows = [{"born": "*", "town": town, "zip": "*****", "illness": "flu"} for town in (*TOWNS, "*")]
    found = judged(rows, columns=["born", "town", "zip"])
    assert found.scope.suppressed == ("born", "zip")
    assert found.notes[-3] == "Nothing is published of born, zip: everybody has *."
    named = fk.Release.from_groups(pa.Table.from_pylist(rows), group="zip", sensitive="illness")
    policy = fk.Policy([fk.Requirement(fk.Facts(), 1)])
    assert fk.audit(named, policy).scope.suppressed == ()  # the name of a group


FOUR = pa.table({"age": [1, 1, 2, 2], "disease": ["a", "b", "a", "b"]})
AGE = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
HALF = fk.Policy([fk.Requirement(fk.Facts(), below="3/4")])


@pytest.mark.complete
@pytest.mark.parametrize(
    ("method", "form", "said"),
    [
        (fk.Mondrian(), "generalized", "not judged"),
        (fk.FullDomain(), "generalized", "not judged"),
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
def test_what_is_proved_of_a_method_is_said_and_else_that_nothing_was(method, form, said, tmp_path):
    options = fk.PublishOptions(form=form)
    made = fk.publish(fk.Microdata(FOUR, AGE), HALF, method=method, options=options)
    assert made.audit.scope.method == said
    page = tmp_path / "out" / "report.html"
    made.write(page.parent)
    also = "also against an adversary who knows the method" in page.read_text("utf-8")
    assert also == (said == "as required") == ("also against" in made.audit._repr_html_())
    notes = [note for note in made.audit.notes if "adversary who knows" in note]
    assert len(notes) == (said != "as required")
    note = notes[0] if notes else ""
    assert ("not judged" in note) == (said == "not judged")
    if said.startswith("at most"):
        assert note.endswith("and nothing else, is never surer of a value than 1/2.")
        # and the attack, which runs the method, agrees
        found = fk.attack(fk.Microdata(FOUR, AGE), method, HALF)
        assert max(found.posterior(who, "a") for who in range(1, 5)) <= 1 / 2
    verified = fk.verify(tmp_path / "out")
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
def test_a_certificate_that_says_more_of_a_method_than_is_proved_is_refused(
    method, form, claim, tmp_path
):
    fk.publish(fk.Microdata(FOUR, AGE), HALF, method=method, form=form).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    known = json.loads(path.read_text())
    known["scope"]["method"] = claim
    path.write_text(json.dumps(known))
    with pytest.raises(fk.InputError, match=f"certified as '{claim}', which is not proved of"):
        fk.verify(tmp_path / "out")
    known["method"] = {"name": "TheirOwn"}  # of which nobody here knows anything
    path.write_text(json.dumps(known))
    assert fk.verify(tmp_path / "out").claimed_scope.method == claim


def test_a_notebook_shows_it_and_escapes_it():
    evil = "<img src=x>"
    rows = [{"born": 1, evil: 2, "illness": ill} for ill in ("flu", "<b>bold", "flu")]
    shown = judged(rows, columns=["born"], values=["flu"])._repr_html_()
    assert HEADING in shown
    assert "&lt;img src=x&gt;" in shown
    assert "&lt;b&gt;bold (one person)" in shown
    assert evil not in shown


# ---- certificates --------------------------------------------------------------------------------


def edit(folder, change):
    path = folder / "certificate.json"
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder with a release of the ward, and what its owner has of it."""
    place = tmp_path_factory.mktemp("published")
    (place / "ward.csv").write_text(as_csv(register()), "utf-8")
    (place / "ward.toml").write_text(SCHEMA + REQUIRE, "utf-8")
    fk.publish(place / "ward.csv", fk.Policy.load(place / "ward.toml")).write(place / "out")
    return place


@pytest.fixture
def folder(published, ward):
    """A copy of it, for this test alone."""
    return Path(shutil.copytree(published, ward.folder, dirs_exist_ok=True)) / "out"


@pytest.mark.parametrize(
    ("key", "lie"),
    [
        ("smallest_group", 99),
        ("groups_of_one", 99),
        ("without_value", 1),
        ("unprotected", {}),
        ("unprotected", {"flu": 1}),
        ("unprotected", {"flu": 0, "cold": 0, "plague": 3}),
        ("beside", []),
        ("beside", ["job", "shoe"]),
        ("suppressed", ["town"]),
    ],
)
def test_a_certificate_that_lies_about_its_scope_is_refused(folder, ward, key, lie):
    fk.verify(folder)
    edit(folder, lambda table: table["scope"].update({key: lie}))
    with pytest.raises(CertificateError, match=f"scope: {key} is .*; certified is "):
        fk.verify(folder)
    code, out, err = ward.run("verify", "out")
    assert (code, out) == (1, "")
    assert f"scope: {key}" in err


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
    ],
)
def test_a_scope_that_is_none_is_refused(folder, change, said):
    edit(folder, lambda table: table["scope"].update(change))
    with pytest.raises(CertificateError, match=re.escape(said)):
        fk.verify(folder)


def test_a_certificate_without_its_scope_is_refused(folder):
    edit(folder, lambda table: table.pop("scope"))
    with pytest.raises(CertificateError, match="lacks 'scope'"):
        fk.verify(folder)


def test_a_policy_of_the_reader_has_its_own_scope(folder, ward):
    ward.put("all.toml", SCHEMA + REQUIRE.replace('values = ["gout"]\n', "").replace("0.9", "1"))
    code, out, err = ward.run("verify", "out", "--policy", "all.toml")
    assert code in (0, 1), err
    found = None if code else fk.verify(folder, ward.folder / "all.toml")
    if found is not None:
        assert found.scope.unprotected == {}
        assert "No requirement is about" not in out
        assert found.claimed_scope.left_out is None


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("form", "semantics"),
    [("generalized", "single"), ("bucketized", "single"), ("generalized", "multiset")],
)
@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_what_is_certified_is_what_the_verifier_finds(form, fmt, semantics, tmp_path):
    table = people().append_column("=x", [list(range(60))])
    roles = schema(other=["=x", "note"], semantics=semantics)
    if semantics != "single":
        roles = replace(roles, person="name", identifiers=[])
    ill = Counter(table["disease"].to_pylist()).most_common(1)[0][0]
    policy = fk.Policy([fk.Requirement(fk.Facts(), 1, values=[ill], knowing=[])])
    escape = fmt == "csv" and semantics == "single"
    options = fk.PublishOptions(form=form, format=fmt, escape_formulas=escape)
    made = fk.publish(fk.Microdata(table, roles), policy, options=options)
    known = made.write(tmp_path / "out")
    found = fk.verify(tmp_path / "out")
    own = {k: n for k, n in found.scope.to_dict().items() if k not in ("left_out", "method")}
    assert own == {k: n for k, n in known.scope.items() if k not in ("left_out", "method")}
    assert known.scope["beside"] == ["=x", "note"]
    counted = Counter(table["disease"].to_pylist())
    del counted[ill]
    assert known.scope["unprotected"] == counted
    assert list(found.scope.unprotected) == list(known.scope["unprotected"])
    # and an audit of the written folder, which is read by other code, says the same
    again = fk.audit(opened(tmp_path / "out"), replace(policy, schema=roles)).scope.to_dict()
    assert {k: again[k] for k in own} == own


def opened(folder):
    from foreknow.releases.written import open_published

    return open_published(folder).release


def test_a_forger_who_changes_the_rows_and_their_digest_is_found(folder):
    path = folder / "release.csv"
    path.write_text(path.read_text().replace('"flu"', '"cold"'))
    edit(folder, lambda t: t["release"]["files"].update({"release.csv": digest_of(path)}))
    with pytest.raises(CertificateError, match="scope: unprotected"):
        fk.verify(folder)


@pytest.mark.parametrize("learned", [False, True])
def test_a_published_column_by_which_priors_are_known_is_judged(learned, tmp_path):
    rows = [{"age": i % 4, "job": "ab"[i % 2], "shoe": i, "ill": "xyz"[i % 3]} for i in range(24)]
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["job", "shoe"])
    microdata = fk.Microdata(pa.Table.from_pylist(rows), roles)
    chances = [
        {"job": job, "value": ill, "probability": p}
        for job in "ab"
        for ill, p in (("x", "1/2"), ("y", "1/4"), ("z", "1/4"))
    ]
    given = fk.Priors(pa.Table.from_pylist(chances))
    priors = fk.Priors.learn(pa.Table.from_pylist(rows), ["job"], "ill") if learned else given
    policy = fk.Policy([fk.Requirement(priors, at_most=1)], roles)
    made = fk.publish(microdata, policy, method=fk.Anatomy(2))
    made.write(tmp_path / "out")
    found = fk.verify(tmp_path / "out")
    assert made.certificate.scope["beside"] == ["shoe"]
    assert found.beside == found.scope.beside == ("shoe",)
    edit(tmp_path / "out", lambda table: table["scope"].update(beside=["job", "shoe"]))
    with pytest.raises(CertificateError, match="scope: beside"):
        fk.verify(tmp_path / "out")


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_a_value_of_several_columns_are_counted_for_each(seed, tmp_path):
    draw = random.Random(seed)
    rows = {
        "age": [draw.choice([1, 2]) for _ in range(60)],
        "ill": [draw.choice(["a", "b", "c", None]) for _ in range(60)],
        "pay": [draw.choice(["x", "y", "z", None, None]) for _ in range(60)],
    }
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], missing="drop")
    required = [fk.Requirement(fk.Facts(), 1, sensitive=c, knowing=[]) for c in ("ill", "pay")]
    policy = fk.Policy(required, schema=schema)
    lacking = {name: rows[name].count(None) for name in ("ill", "pay")}
    found = fk.audit(pa.table(rows), policy)
    assert found.scope.lacking == lacking == found.to_dict()["scope"]["lacking"]
    either = sum(None in pair for pair in zip(rows["ill"], rows["pay"], strict=True))
    assert found.scope.left_out == either
    assert [v.counts.n_people for v in found.verdicts] == [60 - n for n in lacking.values()]
    (said,) = [note for note in found.notes if "row" in note]
    assert said.startswith(f"{lacking['ill']} rows have no ill, {lacking['pay']} rows have no pay:")
    made = fk.publish(pa.table(rows), policy)
    left = f"{either} rows have no ill or pay and were left out; nothing is said about them."
    assert left in made.audit.notes
    assert "lacking" not in made.certificate.scope
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")


@pytest.mark.complete
def test_exact_columns_of_people_are_named_beside_the_verdict(tmp_path):
    table = pa.table({"age": range(40), "ill": ["flu", "cold", "cough", "gout"] * 10})
    policy = {
        "schema": {"quasi_identifiers": ["age"], "sensitive": "ill"},
        "require": [{"group_size": 4}, {"facts": {"l": 0, "k": 1}, "below": 0.9}],
    }
    said = "Everybody's age is published as in the table: whoever knows somebody by it may find"
    made = fk.publish(table, policy, form="bucketized")
    made.write(tmp_path / "out")
    assert any(note.startswith(said) for note in made.audit.notes)
    assert fk.verify(tmp_path / "out").scope.exact == ("age",)
    assert "Everybody&#39;s age is published as in the table" in (
        tmp_path / "out" / "report.html"
    ).read_text().replace("\n", " ")
    other = fk.publish(table, policy, form="generalized")
    assert not any("as in the table" in note for note in other.audit.notes)


UNSEEN = [
    *(chr(place) for place in (0xAD, 0x34F, 0x61C, 0x115F, 0x180E, 0x200B, 0x200D, 0x200E, 0x202C)),
    *(chr(place) for place in (0x2060, 0x2062, 0x2800, 0x3164, 0xFE0F, 0xFEFF, 0xE0041, 0xE0101)),
]


@pytest.mark.parametrize("hidden", UNSEEN, ids=lambda text: f"U+{ord(text):04X}")
@pytest.mark.parametrize("place", [0, 1, 3])
def test_what_a_character_hides_that_nobody_sees_is_said_to_look_alike(hidden, place):
    other = "Flu"[:place] + hidden + "Flu"[place:]
    assert alike(["Flu", other, "Cold"]) == [tuple(sorted(["Flu", other]))]


# ---- near values that are judged each by itself --------------------------------------------------


def near_by_hand(bags):
    """The groups of different numbers that are nearest, found one by one."""
    several = [sorted(map(int, bag)) for bag in bags if len(set(bag)) > 1]
    narrow = [bag for bag in several if bag[-1] * 10 <= bag[0] * 11]
    nearest = min(several, key=lambda b: (Fraction(b[-1] - b[0], b[0]), b[-1] - b[0], -len(b), b))
    return ("", str(nearest[0]), str(nearest[-1]), len(nearest), len(narrow))


@pytest.mark.parametrize("seed", range(10))
def test_near_values_are_noted(seed):
    chance = random.Random(seed)
    starts = [chance.randint(100, 900) for _ in range(8)]
    bags = [[str(s + chance.randint(0, 120)) for _ in range(chance.randint(1, 5))] for s in starts]
    bags += [["300", "310"]]
    counts = fk.GroupCounts.from_bags(bags)
    each = fk.Requirement(fk.Facts(), 1)
    assert fk.audit(counts, fk.Policy([each])).scope.near == (near_by_hand(bags),)
    for beside in (fk.Requirement(fk.Facts(), 1, within="10%"), fk.Requirement(fk.KAnonymity(1))):
        rules = fk.Policy([beside] if beside.of_people else [each, beside])
        assert not fk.audit(counts, rules).scope.near


@pytest.mark.parametrize(
    "values", [["1", "2", "3"], ["007", "008", "009"], ["flu", "cold"], ["40000"], ["x", "x", "41"]]
)
def test_ratings_and_codes_are_not_near(values):
    counts = fk.GroupCounts.from_bags([values])
    assert not fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), 1)])).scope.near


def test_salaries_are_noted(tmp_path):
    """Each salary is hidden, and to 1% all are known."""
    chance = random.Random(3)
    places = [chance.choice(["Bonn", "Ulm"]) for _ in range(300)]
    pay = [{"Bonn": 39_300, "Ulm": 58_400}[place] + 50 * chance.randrange(10) for place in places]
    rows = pa.table({"age": [chance.randint(20, 60) for _ in places], "place": places, "pay": pay})
    schema = fk.Schema(quasi_identifiers=["age", "place"], sensitive="pay")
    rules = fk.Policy([fk.Requirement(fk.Facts(), "1/2"), fk.Requirement(fk.KAnonymity(5))], schema)
    made = fk.publish(rows, rules, seed=1)
    made.write(tmp_path / "out")
    ((_, low, high, _, groups),) = made.audit.scope.near
    assert groups == made.counts.n_groups
    assert int(high) - int(low) < 500
    note = f"In the narrowest, of .* people, they lie within {low} to {high}: require within"
    assert any(re.search(note, said) for said in made.audit.notes)
    assert fk.verify(tmp_path / "out").claimed_scope.near == made.audit.scope.near
    as_codes = fk.Policy(rules.requirements, replace(schema, types={"pay": "text"}))
    assert not fk.audit(rows, as_codes).scope.near
