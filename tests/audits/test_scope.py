"""What the verdicts did not look at stands beside them, everywhere, and as a recount finds it."""

import random
import re
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.audits.folders import forge, written
from tests.cli.conftest import desk as desk

import foreknow as fk
from foreknow_judge.errors import CertificateError

SCHEMA = """[schema]
identifiers = ["who"]
quasi_identifiers = ["born", "town"]
other = ["job"]
sensitive = "illness"
missing = "drop"

[[require]]
"""
POLICY = SCHEMA + 'values = ["gout"]\nknowing = []\nfacts = { l = 0 }\nbelow = 0.9\n'
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


def test_empty_release_says_why(ward):
    ward.put("ward.csv", "who,born,town,job,illness\nA,1,Ulm,cook,\nB,2,Ulm,cook,\n")
    said = """ward.csv has no rows with 'illness', and missing = "drop" leaves all others out"""
    assert said in ward.refused("audit", "ward.csv", "-p", "ward.toml")
    assert said in ward.refused("publish", "ward.csv", "-p", "ward.toml", "-o", "out")


# ---- each line -----------------------------------------------------------------------------------


def judged(rows, *, values=None, columns=("born", "town"), roles=None, **how):
    release = fk.Release.from_generalized(
        pa.Table.from_pylist(rows), quasi_identifiers=list(columns), sensitive="illness", **how
    )
    return fk.audit(release, fk.Policy([fk.Requirement(fk.Facts(), 1, values=values)], roles))


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
def test_what_is_proved_of_method(method, form, said, tmp_path):
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
def test_unproved_claims_are_refused(method, form, claim, tmp_path):
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
def test_invalid_scopes_are_refused(folder, change, said):
    if change is None:
        forge(folder, lambda table: table.pop("scope"))
    else:
        forge(folder, lambda table: table["scope"].update(change))
    with pytest.raises(CertificateError, match=re.escape(said)):
        fk.verify(folder)


def test_readers_policy_has_its_scope(folder, ward):
    ward.put("all.toml", SCHEMA + "knowing = []\nfacts = { l = 0 }\nbelow = 1\n")
    assert "No requirement is about" not in ward.says("verify", "out", "--policy", "all.toml")
    found = fk.verify(folder, ward.folder / "all.toml")
    assert (found.scope.unprotected, found.claimed_scope.left_out) == ({}, None)


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


def test_values_as_many_as_people(tmp_path):
    some = [f"v{i}" for i in range(30)]
    notes = notes_of(some, tmp_path / "a")
    said = "30 values for 30 people: a requirement about single values says little; use within "
    assert notes[0] == said + "= ..., any_of, or a hierarchy."
    few = [f"v{i % 15}" for i in range(30)]
    for values, about in ((some, {"any_of": some[:5]}), (few, {})):
        notes = notes_of(values, tmp_path / str(len(about)), **about)
        assert not any("says little" in note for note in notes)
    assert any("v0, v1, v10, v11 and 11 more" in note for note in notes)


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
def test_certificate_hiding_it_is_refused(change, tmp_path):
    notes_of(["HIV", "hiv", *(f"v{i}" for i in range(28))], tmp_path / "out")
    forge(tmp_path / "out", lambda said: change(said["scope"]))
    with pytest.raises(CertificateError, match="scope: "):
        fk.verify(tmp_path / "out")


@pytest.mark.parametrize("values", ["1 2 3", "007 008 009", "flu cold", "40000", "x x 41"])
def test_ratings_and_codes_pass_quietly(values):
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
