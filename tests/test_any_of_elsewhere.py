"""Any of a set under criteria, against those who know the method, and what else looks at limits."""

import json
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attacks.small_methods import naive, random_table, together
from tests.examples import NIGHTLY, examples
from tests.oracle.algorithm_worlds import posteriors

import foreknow as fk
from foreknow_judge.errors import CertificateError, PolicyError

LETTERS = "ABCDE"
CRITERIA = [
    fk.LDiversity(2),
    fk.LDiversity(3),
    fk.LDiversity(2, kind="entropy"),
    fk.LDiversity(2, kind="recursive", c=2),
    fk.AlphaK("1/2", 2),
    fk.TCloseness("1/4"),
    fk.BetaLikeness(1),
    fk.DeltaDisclosure(1),
]
bags_of = st.lists(
    st.lists(st.sampled_from(LETTERS), min_size=1, max_size=6), min_size=1, max_size=4
)


def merged(bags, sets):
    """The same bags with values renamed before anything is counted."""
    names = {value: name for name, own in sets.items() for value in own}
    return [[names.get(value, value) for value in bag] for bag in bags]


# ---- criteria ------------------------------------------------------------------------------------


@examples(500, deadline=None)
@given(bags_of, st.sampled_from(CRITERIA), st.sampled_from([["AB"], ["BCD"], ["AB", "CD"]]))
def test_a_criterion_of_sets_is_that_of_renamed_values(bags, criterion, groups):
    present = {value for bag in bags for value in bag}
    sets = {f"set of {own}": sorted(set(own) & present) for own in groups}
    if not all(sets.values()) or any(set(own) == present for own in sets.values()):
        return
    plain = fk.GroupCounts.from_bags(merged(bags, sets))
    counts = fk.GroupCounts.from_bags(bags)
    asked = fk.Policy([fk.Requirement(criterion, any_of=sets)])
    (found,) = fk.audit(counts, asked).criteria
    assert found.found.amount == criterion.measure(plain)
    assert found.safe == criterion.holds(plain)
    assert asked.ledger(counts.values, counts).admits(None, counts) == found.safe


SCHEMA = fk.Schema(
    quasi_identifiers=["age"],
    sensitive="x",
    hierarchies={"x": fk.Tree([["A", "AB", "*"], ["B", "AB", "*"], *([v, v, "*"] for v in "CDE")])},
)


def table(n=200, seed=3):
    chance = random.Random(seed)
    rows = [(chance.randint(20, 79), chance.choice("AABBCDDEE")) for _ in range(n)]
    ages, values = zip(*rows, strict=True)
    return pa.table({"age": ages, "x": values})


@pytest.mark.parametrize("criterion", CRITERIA if NIGHTLY else [CRITERIA[i] for i in (1, 4, 5)])
def test_a_release_holds_a_criterion_of_sets_by_a_plain_reading(criterion, tmp_path):
    rules = fk.Policy([fk.Requirement(criterion, at_level=1)], SCHEMA)
    made = fk.publish(fk.Microdata(table(), SCHEMA), rules)
    made.write(tmp_path / "out")
    (found,) = fk.verify(tmp_path / "out").findings
    groups = {}
    for row in made.to_arrow().to_pylist():
        groups.setdefault(row["age"], []).append("AB" if row["x"] in "AB" else row["x"])
    plain = fk.GroupCounts.from_bags(list(groups.values()))
    assert criterion.holds(plain)
    assert found.safe
    assert found.reached == made.audit.criteria[0].reached
    read = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert read["policy"]["require"][0]["any_of"]["AB"] == ["A", "B"]
    assert fk.audit(tmp_path / "out", rules).safe
    read["policy"]["require"][0]["any_of"]["AB"] = ["A", "C"]
    (tmp_path / "out" / "certificate.json").write_text(json.dumps(read))
    with pytest.raises(CertificateError):
        fk.verify(tmp_path / "out")


@pytest.mark.parametrize(
    ("criterion", "about", "message"),
    [
        (fk.LDiversity(2), {"any_of": ["A"], "values": ["B"]}, "give any_of or values"),
        (fk.LDiversity(2), {"any_of": ["A"], "below": "1/2"}, "no values, except or limit"),
    ],
)
def test_criteria_that_sets_mean_nothing_to_refuse_them(criterion, about, message):
    with pytest.raises(PolicyError, match=message):
        fk.Requirement(criterion, **about)


def test_a_value_in_two_sets_is_not_counted_twice():
    sets = {"one": ["A", "B"], "other": ["B", "C"]}
    rules = fk.Policy([fk.Requirement(fk.LDiversity(2), any_of=sets)])
    with pytest.raises(PolicyError, match="'B' is in two sets"):
        fk.audit(fk.GroupCounts.from_bags(["ABCD"]), rules)


# ---- those who know the method -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_an_attack_on_a_set_is_that_of_an_enumeration(seed):
    random_ = np.random.default_rng(seed)
    pipeline = naive(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], Fraction(2, 3))
    done = 0
    while done < 3:
        values, _, found = random_table(random_, 6, {"age": 4}, 4)
        letters = sorted(set(values))
        groups = pipeline({"disease": _Column(values)})
        if groups is None or len(letters) < 3:
            continue
        united = letters[:2]
        required = fk.Requirement(fk.Facts(), below="3/4", any_of={"either": united}, knowing=[])
        attack = fk.attack(found, pipeline, fk.Policy([required], found.schema))
        truth, _, _ = posteriors(values, list(groups), _algorithm(pipeline), together(groups))
        reached = set()
        for row in range(6):
            exact = sum((truth.get((row, value), Fraction(0)) for value in united), Fraction(0))
            assert attack.posterior(row + 1, "either") == exact
            if exact >= Fraction(3, 4):
                reached.add(row + 1)
        shares = [Counter(values[p] for p in range(6) if groups[p] == g) for g in groups]
        told = {
            row + 1
            for row, bag in enumerate(shares)
            if Fraction(sum(bag[value] for value in united), bag.total())
            < attack.posterior(row + 1, "either")
        }
        found_out = {row for case in attack.breaches for row in case.rows}
        assert found_out == reached & told
        done += 1


class _Column(tuple):
    def to_pylist(self):
        return list(self)


def _algorithm(pipeline):
    def run(world):
        groups = pipeline({"disease": _Column(world)})
        return None if groups is None else together(groups)

    return run


def test_the_adversary_who_knows_the_method_may_be_required_of_a_set():
    rows = {
        "age": [30, 30, 40, 50, 50],
        "disease": ["flu", "flu", "hiv", "flu", "aids"],
        "group": [1, 1, 1, 2, 2],
    }
    release = fk.Release.from_groups(pa.table(rows), group="group", sensitive="disease")
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)], schema)
    knows = fk.Algorithm(fk.Mondrian(), policy)
    asked = fk.Policy([fk.Requirement(knows, below="9/10", any_of=["hiv", "aids"])])
    (verdict,) = fk.audit(release, asked).verdicts
    one, other = (knows.disclosure(release, value).exact for value in ("hiv", "aids"))
    assert verdict.disclosure.exact == max(one, other) == 1
    assert verdict.value == "hiv or aids"
    assert not verdict.safe


def test_mondrian_attacked_by_a_policy_of_sets_stays_below_what_a_single_group_says():
    rules = fk.Policy([fk.Requirement(fk.Facts(), below="2/3", any_of={"AB": ["A", "B"]})], SCHEMA)
    microdata = fk.Microdata(table(60), SCHEMA)
    found = fk.attack(microdata, fk.Mondrian(), rules, seed=1, worlds=2000, seconds=20)
    for row in (1, 20, 60):
        each = sum(found.posterior(row, value) for value in "AB")
        assert abs(float(found.posterior(row, "AB")) - min(1.0, float(each))) < 1e-9
    with pytest.raises(fk.InputError, match="nobody in the table has"):
        found.posterior(1, "XY")


# ---- methods with an l of their own --------------------------------------------------------------


def test_anatomy_chooses_an_l_by_the_set():
    rules = fk.Policy([fk.Requirement(fk.Facts(), below="3/4", any_of=["A", "B"])], SCHEMA)
    made = fk.publish(fk.Microdata(table(), SCHEMA), rules, method="anatomy")
    assert made.audit.safe
    assert made.audit.verdicts[0].disclosure.exact < Fraction(3, 4)


# ---- what makes a verdict empty ------------------------------------------------------------------


def people(values):
    ages = [20 + i % 50 for i in range(len(values))]
    return pa.table({"age": ages, "x": values})


PLAIN = fk.Schema(quasi_identifiers=["age"], sensitive="x")


def audited(values, tmp_path, name="out", **about):
    """Notes of an audit, of a publication and of its verification, which must agree."""
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=1, **about)], PLAIN)
    found = fk.audit(people(values), rules)
    made = fk.publish(fk.Microdata(people(values), PLAIN), rules, seed=1)
    made.write(tmp_path / name)
    again = fk.verify(tmp_path / name).scope
    read = json.loads((tmp_path / name / "certificate.json").read_text())["scope"]
    for key in ("values_and_people", "alike", "apart", "more_apart"):
        assert found.scope.to_dict().get(key) == again.to_dict().get(key) == read.get(key)
        assert found.to_dict()["scope"].get(key) == read.get(key)
    return found.notes


def test_two_codes_of_one_illness_are_unsafe_together_and_are_said_to_be_judged_apart():
    counts = fk.GroupCounts.from_bags([["B20"] * 5 + ["Z21"] * 5 + ["Flu"] * 3])
    each = fk.Requirement(fk.Facts(), below="1/2", values=["B20", "Z21"])
    found = fk.audit(counts, fk.Policy([each]))
    assert found.safe
    said = (
        "Judged each by itself: B20, Z21. How sure somebody can be of any one of several was not "
        "judged: a set of values can be judged as one secret, by any_of in the policy."
    )
    assert any(note.startswith(said) for note in found.notes)
    either = fk.Requirement(fk.Facts(), below="1/2", any_of=["B20", "Z21"])
    together_ = fk.audit(counts, fk.Policy([either]))
    assert together_.verdicts[0].probability > 0.76
    assert not together_.safe
    assert not any("Judged each by itself" in note for note in together_.notes)


def test_nearly_as_many_values_as_people_are_said_unless_a_set_is_asked(tmp_path):
    values = [f"v{i}" for i in range(3000)]
    rules = fk.Policy([fk.Requirement(fk.Facts(), below="1/2")], PLAIN)
    notes = fk.audit(people(values), rules).notes
    assert notes[0] == (
        "3,000 values for 3,000 people: a requirement about single values says little; use within "
        "= ..., any_of, or a hierarchy."
    )
    some = [f"v{i}" for i in range(30)]
    assert any("30 values for 30 people" in note for note in audited(some, tmp_path, "a"))
    asked = audited(some, tmp_path, "b", any_of=some[:5])
    assert not any("says little" in note for note in asked)
    few = audited([f"v{i % 15}" for i in range(30)], tmp_path, "c")
    assert not any("says little" in note for note in few)
    assert any("v0, v1, v10, v11 and 11 more" in note for note in few)


def test_values_that_look_alike_are_listed(tmp_path):
    values = [
        "HIV",
        "hiv",
        "HIV ",
        "Grippe",
        "Grippé",
        "Stra\u00dfe",
        "STRASSE",
        "e\u0301",
        "\u00e9",
    ]
    values += ["Flu"] * 15
    notes = audited(values, tmp_path)
    (said,) = [note for note in notes if "look like one value" in note]
    for pair in ("'HIV', 'HIV ', 'hiv'", "'Grippe', 'Grippé'", "'STRASSE', 'Stra\u00dfe'"):
        assert pair in said
    assert "Flu" not in said
    assert said.endswith("They are judged as different ones.")


def test_words_of_other_scripts_that_differ_in_vowels_are_not_alike():
    counts = fk.GroupCounts.from_bags([["\u0915\u093f", "\u0915\u0940", "\u0915\u0941"]])
    found = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), below=1)]))
    assert not any("look like" in note for note in found.notes)


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
    values = ["HIV", "hiv", *(f"v{i}" for i in range(28))]
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=1)], PLAIN)
    fk.publish(fk.Microdata(people(values), PLAIN), rules, seed=1).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    certificate = json.loads(path.read_text())
    change(certificate["scope"])
    path.write_text(json.dumps(certificate))
    with pytest.raises(CertificateError, match="scope: "):
        fk.verify(tmp_path / "out")


# ---- several sensitive columns -------------------------------------------------------------------


@pytest.mark.parametrize("unlinked", [(), ("y",)])
def test_a_set_of_the_second_column_in_the_sight_of_the_first(unlinked, tmp_path):
    chance = random.Random(6)
    rows = [
        (chance.randint(20, 60), chance.choice("PQ"), chance.choice("AABCDE")) for _ in "x" * 120
    ]
    ages, first, second = zip(*rows, strict=True)
    schema = fk.Schema(
        quasi_identifiers=["age"],
        sensitive=["x", "y"],
        hierarchies={
            "y": fk.Tree([["A", "AB", "*"], ["B", "AB", "*"], *([v, v, "*"] for v in "CDE")])
        },
    )
    required = [
        fk.Requirement(fk.Facts(), below="9/10", sensitive="y", any_of="AB"),
        fk.Requirement(fk.Facts(), below="9/10", sensitive="y", at_level=1),
    ]
    rules = fk.Policy(required, schema)
    table_ = pa.table({"age": ages, "x": first, "y": second})
    made = fk.publish(fk.Microdata(table_, schema), rules, unlinked=list(unlinked), seed=1)
    made.write(tmp_path / "out")
    found = fk.verify(tmp_path / "out").findings
    exact = [verdict.disclosure.exact for verdict in made.audit.verdicts]
    assert [finding.reached for finding in found] == exact
    assert fk.verify(tmp_path / "out", rules).own_policy
    made.audit.to_html(tmp_path / "page.html")
    if not unlinked:  # side by side: groups are (age, x)
        groups = {}
        for row in made.to_arrow().to_pylist():
            groups.setdefault((row["age"], row["x"]), []).append(row["y"] in "AB")
        assert (
            exact[0]
            == max(Fraction(sum(own), len(own)) for own in groups.values())
            < Fraction(9, 10)
        )
