"""Audits: each verdict exactly, how many people could be found out, and what was not looked at."""

import json
import random
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pytest
from tests.cli.conftest import desk as desk
from tests.common import NIGHTLY, forge, written
from tests.oracle.risks import (
    found_out,
    found_out_of_sets,
)
from tests.toys import Silent

import foreknow as fk
from foreknow import Facts, GroupCounts, Policy, Requirement, Schema, audit
from foreknow.atomic_files import as_json
from foreknow_judge.errors import CertificateError, DataError, InputError, UnsupportedError

ILL = GroupCounts.from_bags(
    [["Flu", "Flu", "AIDS", "Cold"], ["Flu", "Cold", "Cold", "HIV", "Flu"]],
    groups=["north", "south"],
)


def judged(*requirements, counts=ILL, **more):
    return audit(counts, Policy(requirements), **more)


def test_non_releases_are_refused():
    with pytest.raises(InputError, match=r"the policy has no \[schema\] table"):
        judged(Requirement(Facts(), 0.5), counts="release.csv")
    with pytest.raises(DataError, match="the release has no groups"):
        judged(Requirement(Facts(), 0.5), counts=GroupCounts.from_bags([]))
    for policy in ("policy.toml", {"require": []}, None):
        with pytest.raises(InputError):
            audit(ILL, policy)


@pytest.mark.parametrize("of_counts", ["single", "set", "multiset"])
def test_other_semantics_are_refused(of_counts):
    counts = GroupCounts.from_people([[["Flu"], ["Cold"]]], semantics=of_counts)
    required = [Requirement(Facts(), 1)]
    assert audit(counts, Policy(required)).safe
    for semantics in ("single", "set", "multiset"):
        person = None if semantics == "single" else "pid"
        roles = {"sensitive": "disease", "semantics": semantics, "person": person}
        policy = Policy(required, Schema(quasi_identifiers=["age"], **roles))
        if semantics == of_counts:
            assert audit(counts, policy).safe
            continue
        text = f"semantics '{semantics}', but .* under '{of_counts}'"
        with pytest.raises(UnsupportedError, match=text):
            audit(counts, policy)


# ---- how it reads -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [7, 2.5, True, Decimal("1.50"), pd.Timestamp("2024-01-31").date(), 'é\n"<']
    + [float("inf"), float("-inf")],
    ids=str,
)
def test_json_holds_any_value(value):
    def refuse(constant):
        raise AssertionError(constant)

    counts = GroupCounts.from_bags([{value: 2, 0.0: 1}])
    table = judged(Requirement(Facts(), 0.5), counts=counts).to_dict()
    table = json.loads(as_json(table), parse_constant=refuse)
    assert table["verdicts"][0]["worst"]["value"] in (value, str(value))


def test_repr_states_the_result():
    unsafe = judged(Requirement(Facts(), 0.9), Requirement(Facts(l=1), 0.5, values=["Flu"]))
    assert repr(unsafe) == "Audit(release: UNSAFE in 1 of 2 requirements)"
    verdict = "Verdict(UNSAFE: Facts(l=1, k=0, m=0) reaches 0.6667 for 'Flu', the limit is 0.5)"
    assert repr(unsafe.verdicts[1]) == verdict
    safe = judged(Requirement([(Facts(), 0.9), (Facts(l=1), 1)]))
    assert repr(safe) == "Audit(release: safe, 1 requirement)"
    assert repr(safe.verdicts[0]).startswith("Verdict(safe: Facts(l=0, k=0, m=0) reaches 0.5 for ")


# ---- exposed -------------------------------------------------------------------------------------


TIMES = 100 if NIGHTLY else 1
LIMITS = [Fraction(p, q) for q in range(1, 7) for p in range(1, q + 1)]


def exposed(release, adversary, limit, **more):
    policy = fk.Policy([fk.Requirement(adversary, **{"below": limit, **more})])
    (found,) = fk.audit(release, policy).exposed
    return found


def found_in(bags, adversary, limit, **more):
    return exposed(fk.GroupCounts.from_bags(bags), adversary, limit, **more)


class Drawn:
    """A few bags of letters, a limit, and which values are asked about."""

    def __init__(self, draw, people=5, values="abc", groups=3):
        bags = [[] for _ in range(draw.randint(1, groups))]
        for place in range(draw.randint(len(bags), people)):
            at = place if place < len(bags) else draw.randrange(len(bags))
            bags[at].append(draw.choice(values))
        self.bags = ["".join(sorted(bag)) for bag in bags]
        self.letters = "".join(self.bags)
        self.limit = draw.choice(LIMITS)
        self.about = draw.choice([None, [draw.choice(self.letters)]])
        self.values = set(self.letters if self.about is None else self.about)

    def __repr__(self):
        return f"{self.bags}, {self.limit}, {self.about}"


def numbers(found):
    return found.over.people, found.over.groups


def check(found, bags):
    """What must hold of every count, whatever it says; the groups listed are the groups counted."""
    over, sure, listed = found.over, found.certain, list(found.groups)
    assert len(listed) == len({g.label for g in listed}) == over.groups
    assert [g.size for g in listed] == [len(bags[g.label]) for g in listed]
    assert sum(g.people for g in listed) == over.people
    assert sum(g.certain for g in listed) == sure.people <= over.people <= over.suspected
    chances = [g.disclosure.probability for g in listed]
    assert sorted(chances, reverse=True) == chances
    verdict = found.verdict
    assert (over.people > 0) == (not verdict.safe)
    assert chances[:1] in ([], [pytest.approx(verdict.probability)])
    for chance, near in zip(chances, (g.disclosure.exact for g in listed), strict=True):
        assert near >= verdict.limit if near is not None else chance > verdict.limit
        assert chance < 1 or near == 1


# ---- against enumeration --------------------------------------------------------------------


def test_facts_expose_the_right_people():
    draw = random.Random(1)
    for place in range(60 * TIMES):
        case, asked = Drawn(draw), fk.Facts(*draw.choices(range(3), k=3))
        bags, limit, amounts = case.bags, case.limit, (asked.l, asked.k, asked.m)
        result = found_in(bags, asked, limit, values=case.about)
        check(result, bags)
        assert numbers(result) == found_out(bags, amounts, limit, case.values), (case, amounts)
        sure, _ = found_out(bags, amounts, 1, case.values)
        assert result.certain.people == result.by_chance[-1] == sure, (case, amounts)
        assert not result.over.at_most
        holders = Counter(case.letters)
        assert sum(result.by_chance) == sum(holders[value] for value in case.values)
        if place % 10 == 0:
            tenths = [found_out(bags, amounts, Fraction(i, 10), case.values)[0] for i in range(11)]
            assert [sum(result.by_chance[i:]) for i in range(11)] == tenths
            k = draw.randint(0, 3)
            result = found_in(bags, fk.Negations(k), limit)
            assert numbers(result) == found_out(bags, (k, 0, 0), limit, {*case.letters})


def test_several_secrets_count_once():
    """Named sets may overlap: whoever is over the limit by two of them is one person."""
    draw, several = random.Random(12), 0
    for _ in range(50 * TIMES):
        case, amounts = Drawn(draw, people=6, values="abcd"), tuple(draw.choices((0, 1), k=3))
        every = sorted({*case.letters})
        sets = [draw.sample(every, draw.randint(1, max(1, len(every) - 1))) for _ in range(3)]
        named = {f"set {place}": own for place, own in enumerate(sets) if {*own} != {*every}}
        if not named:
            continue
        result = found_in(case.bags, fk.Facts(*amounts), case.limit, any_of=named)
        truth = found_out_of_sets(case.bags, amounts, case.limit, named.values())
        assert numbers(result) == truth
        sure = found_out_of_sets(case.bags, amounts, 1, named.values())
        assert (result.certain.people, result.certain.groups) == sure
        assert not result.over.at_most
        assert result.over.people <= result.over.suspected
        several += sum(map(len, named.values())) > len({*"".join(map("".join, named.values()))})
    assert several > 12 * TIMES


# ---- requirements of other kinds ------------------------------------------------------------


def in_population(ages, values, criterion):
    """What an audit says of people of a population, by their ages."""
    frame = pa.table({"age": ages, "x": [*values]})
    release = fk.Release.from_generalized(frame, quasi_identifiers=["age"], sensitive="x")
    audit = fk.audit(release, fk.Policy([fk.Requirement(criterion)]))
    return audit.safe, audit.exposed[0].over


def test_overlapping_groups_are_not_counted():
    people = pa.table({"age": [20, 20, 21, 22, 23, 24, 30, 31]})
    ages = ["20", "20", "20 to 24", "30"]
    for lowest, highest, many in ((0, "1/2", None), (0, 1, 0), ("1/10", 1, None)):
        safe, over = in_population(ages, "abca", fk.DeltaPresence(lowest, highest, people))
        assert safe == (many == 0)
        assert (over and over.people) == many
    people = pa.table({"age": [20, 20, 22, 23, 30, 40]})
    apart = ["20", "20", "22 to 24", "30"]
    _, over = in_population(apart, "abca", fk.DeltaPresence(0, "1/2", people))
    assert (over.people, over.groups) == (3, 2)


def test_silent_adversaries_count_nobody():
    result = found_in(["aab"], Silent(), "1/3")
    assert result.over is result.certain is None
    assert list(result.groups) == []
    assert result.to_dict()["over"] is None


# ---- limits, and large releases -------------------------------------------------------------


# ---- scope ---------------------------------------------------------------------------------------


SCHEMA = """[schema]
identifiers = ["who"]
quasi_identifiers = ["born", "town"]
other = ["job"]
sensitive = "illness"
missing = "drop"

[[require]]
"""
POLICY = SCHEMA + 'values = ["gout"]\nknowing = []\nfacts = { l = 0 }\nbelow = 0.9\n'


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


@pytest.fixture
def ward(desk):
    lines = [[*register()[0]], *(row.values() for row in register())]
    desk.put("ward.csv", "\n".join(",".join(map(str, line)) for line in lines))
    desk.put("ward.toml", POLICY)
    return desk


# ---- every place ---------------------------------------------------------------------------------


def test_empty_release_says_why(ward):
    ward.put("ward.csv", "who,born,town,job,illness\nA,1,Ulm,cook,\nB,2,Ulm,cook,\n")
    text = """ward.csv has no rows with 'illness', and missing = "drop" leaves all others out"""
    assert text in ward.refused("audit", "ward.csv", "-p", "ward.toml")
    assert text in ward.refused("publish", "ward.csv", "-p", "ward.toml", "-o", "out")


# ---- each line -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "several", "amounts"),
    [
        (["flu|cold", "flu", "cold|hiv", "hiv"], (("", "|"),), ()),
        (["Diabetes, type 1", "Diabetes, type 2", "Asthma"], (), ()),
        (["$11,310.00 ", "$950.00"], (), ("",)),
        (["11310", "950.5", "E11.9"], (), ()),
    ],
)
def test_wholes_that_hold_several(values, several, amounts, tmp_path):
    rows = pa.table({"age": [30] * 4 * len(values), "ill": values * 4})
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(), "9/10")], roles)
    audit_of_release = fk.audit(rows, policy)
    text = " ".join(audit_of_release.notes)
    assert ("was judged as one whole" in text) == bool(several)
    assert ("texts of amounts" in text) == bool(amounts)
    written(rows, policy, tmp_path / "out")
    for scope in (audit_of_release.scope, fk.verify(tmp_path / "out").claimed_scope):
        assert (scope.several_answers, scope.amounts) == (several, amounts)


# ---- what is proved of a method ------------------------------------------------------------------

FOUR = pa.table({"age": [1, 1, 2, 2], "disease": ["a", "b", "a", "b"]})
AGE = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
HALF = fk.Policy([fk.Requirement(fk.Facts(), below="3/4")], AGE)


@pytest.mark.complete
@pytest.mark.parametrize(
    ("method", "form", "message"),
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
def test_what_is_proved_of_method(method, form, message, tmp_path):
    result, folder = (
        written(FOUR, HALF, tmp_path / "out", method=method, form=form),
        tmp_path / "out",
    )
    assert result.audit.scope.method == message
    for page in ((folder / "report.html").read_text("utf-8"), result.audit._repr_html_()):
        assert ("also against" in page) == (message == "as required")
    notes = [note for note in result.audit.notes if "adversary who knows" in note]
    assert ["not judged" in note for note in notes] == {
        "as required": [],
        "not judged": [True],
    }.get(message, [False])
    if message.startswith("at most"):
        assert notes[0].endswith("and nothing else, is never surer of a value than 1/2.")
        # and the attack, which runs the method, agrees
        attack_result = fk.attack(fk.Microdata(FOUR, AGE), method, HALF)
        assert max(attack_result.posterior(who, "a") for who in range(1, 5)) <= 1 / 2
    verified = fk.verify(folder)
    assert verified.scope.method == "not judged"  # files do not tell
    assert verified.claimed_scope.method == (None if message == "not judged" else message)


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
    ("change", "message"),
    [
        ({"left_out": -1}, "scope.left_out"),
        ({"left_out": None}, "scope.left_out"),
        ({"method": "proved safe"}, "scope.method"),
        ({"groups_of_one": True}, "scope.groups_of_one"),
        ({"beside": ["job", "job"]}, "scope.beside"),
        ({"all_is_well": 1}, "unknown key 'scope.all_is_well'"),
        (None, "lacks 'scope'"),
    ],
)
def test_invalid_scopes_are_refused(folder, change, message):
    if change is None:
        forge(folder, lambda table: table.pop("scope"))
    else:
        forge(folder, lambda table: table["scope"].update(change))
    with pytest.raises(CertificateError, match=re.escape(message)):
        fk.verify(folder)


# ---- values that look alike, or are near ---------------------------------------------------------

PLAIN = fk.Schema(quasi_identifiers=["age"], sensitive="x")
UNSEEN = [0xAD, 0x34F, 0x61C, 0x115F, 0x180E, 0x200B, 0x200D, 0x200E, 0x202C, 0x2060, 0x2062]
UNSEEN += [0x01, 0x1B, 0x7F, 0x2800, 0x3164, 0xFE0F, 0xFEFF, 0xE0041, 0xE0101]


def notes_of(values, folder, **about):
    """Notes of an audit, of a publication and of its verification, which must agree."""
    table = pa.table({"age": [20 + i % 50 for i in range(len(values))], "x": values})
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=1, **about)], PLAIN)
    audit_of_release, scope = (
        fk.audit(table, rules),
        written(table, rules, folder).certificate.scope,
    )
    again = fk.verify(folder).scope.to_dict()
    for key in ("values_and_people", "alike", "apart", "more_apart"):
        texts = [own.get(key) for own in (audit_of_release.scope.to_dict(), again, scope)]
        assert texts == [audit_of_release.to_dict()["scope"].get(key)] * 3
    return audit_of_release.notes


def test_letters_that_nobody_sees(tmp_path):
    values = sorted(["HIV", *(f"HI{chr(code)}V" for code in UNSEEN)])
    notes_of(values * 2, tmp_path / "a")
    assert fk.verify(tmp_path / "a").scope.alike == (tuple(values),)


def test_values_as_many_as_people(tmp_path):
    some = [f"v{i}" for i in range(30)]
    notes = notes_of(some, tmp_path / "a")
    text = "30 values for 30 people: a requirement about single values says little; use within "
    assert notes[0] == text + "= ..., any_of, or a hierarchy."
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
