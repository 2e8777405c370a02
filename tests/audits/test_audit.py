"""Audits: each verdict is what the adversary itself says, held against its limit, exactly."""

import json
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from foreknow import Facts, GroupCounts, Policy, Release, Requirement, Schema, audit
from foreknow.atomic_files import as_json
from foreknow_judge.errors import DataError, InputError, UnsupportedError
from foreknow_judge.verdict import Limit

ILL = GroupCounts.from_bags(
    [["Flu", "Flu", "AIDS", "Cold"], ["Flu", "Cold", "Cold", "HIV", "Flu"]],
    groups=["north", "south"],
)


def judged(*requirements, counts=ILL, **more):
    return audit(counts, Policy(requirements), **more)


def one(*requirement, counts=ILL, **more):
    (verdict,) = judged(Requirement(*requirement, **more), counts=counts).verdicts
    return verdict


@examples(60, deadline=None)
@given(
    st.lists(st.text("abcd", min_size=1, max_size=6), min_size=1, max_size=4),
    st.tuples(*[st.integers(0, 2)] * 3),
    st.fractions(Fraction(1, 20), 1, max_denominator=20),
    st.data(),
)
def test_a_verdict_is_what_adversaries_say(bags, amounts, below, data):
    counts = GroupCounts.from_bags(bags)
    facts = Facts(*amounts)
    some = data.draw(st.lists(st.sampled_from(list(counts.values)), min_size=1, unique=True))
    rest = [value for value in counts.values if value not in some]
    asked = [({}, list(counts.values)), ({"values": some}, some)]
    for own, about in [*asked, *([({"excluded": some}, rest)] if rest else [])]:
        verdict = one(facts, below, counts=counts, **own)
        single = {value: facts.disclosure(counts, value).exact for value in about}
        assert verdict.disclosure.exact == max(single.values())
        assert verdict.disclosure.exact == single[verdict.disclosure.value]
        assert verdict.safe == all(exact < below for exact in single.values())
        assert {d.value for d in verdict.others} == {*about} - {verdict.disclosure.value}
        chances = [d.probability for d in verdict.others]
        assert chances == sorted(chances, reverse=True)


@pytest.mark.parametrize(
    ("below", "safe"),
    [
        *(("2/5", False), (0.4, False), (Decimal("0.4"), False), ("1", True)),
        *((Fraction(4 * 10**15 + sign, 10**16), sign > 0) for sign in (1, -1)),
    ],
)
def test_a_limit_that_is_reached(below, safe):
    flu = GroupCounts.from_bags([["Flu", "Flu", "a", "b", "c"]])
    verdict = one(Facts(), below, values=["Flu"], counts=flu)
    assert (verdict.disclosure.exact, verdict.safe) == (Fraction(2, 5), safe)
    assert not one(Facts(), 1, counts=GroupCounts.from_bags(["aa", "ab"])).safe


def test_a_skyline_has_a_verdict_each():
    found = judged(
        Requirement([(Facts(), 0.9), (Facts(l=1), "1/100")], values=["AIDS"]),
        Requirement(Facts(k=1), 1, values=["HIV"]),
    )
    assert [(v.place, v.judged, v.required, v.safe) for v in found.verdicts] == [
        (0, Facts(), Limit(Fraction(9, 10)), True),
        (0, Facts(l=1), Limit(Fraction(1, 100)), False),
        (1, Facts(k=1), Limit(Fraction(1)), True),
    ]
    assert (found.safe, found.failures) == (False, (found.verdicts[1],))


def test_except_spares_its_values_only():
    # Flu and Cold reach 1/2 and 2/5; the rest 1/4 and 1/5.
    assert not one(Facts(), 0.4).safe
    verdict = one(Facts(), 0.4, excluded=["Flu", "Cold"])
    assert (verdict.safe, verdict.reached, verdict.value) == (True, Fraction(1, 4), "AIDS")
    found = judged(Requirement(Facts(l=9), 0.1, excluded=list(ILL.values)))
    assert (found.safe, found.idle, found.failures) == (False, True, ())
    assert found.verdicts[0].disclosure.exact == 0
    assert found.unprotected == tuple(ILL.values)


@pytest.mark.parametrize("key", ["values", "excluded"])
def test_what_nobody_has_is_noted(key):
    notes = judged(Requirement(Facts(), 0.5, name="hiv", **{key: ["HVI"]})).notes
    assert any("Did you mean 'HIV' for 'HVI'?" in note for note in notes)


def test_values_go_by_how_they_print():
    mixed = GroupCounts.from_bags([[1, 1], ["1", "x", "y", "z"]])
    for label in (1, "1"):
        assert not judged(Requirement(Facts(), 0.5, values=[label]), counts=mixed).safe
    numbers = GroupCounts.from_bags([[7, 8, True]])
    assert judged(Requirement(Facts(), 1, values=["7"]), counts=numbers).unprotected == (8, True)


def test_a_release_is_judged_like_its_counts():
    frame = pd.DataFrame({"gid": [1, 1, 2], "disease": ["Flu", "AIDS", "Flu"]}, index=[5, 5, 0])
    release = Release.from_groups(frame, group="gid", sensitive="disease")
    found = judged(Requirement(Facts(), 0.9), counts=release)
    assert found.counts is release.counts
    assert found.verdicts[0].disclosure.exact == Facts().disclosure(release).exact
    assert found.name == "the pandas frame"
    assert judged(Requirement(Facts(), 0.9), counts=release, name="ours").name == "ours"


def test_what_is_no_release_is_refused():
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
        said = f"semantics '{semantics}', but .* under '{of_counts}'"
        with pytest.raises(UnsupportedError, match=said):
            audit(counts, policy)


# ---- how it reads -------------------------------------------------------------------------------


def test_json_loads_as_it_was(tmp_path):
    found = judged(
        Requirement(Facts(1, 1, 1), "1/3", values=["AIDS"], name="HIV"),
        Requirement([(Facts(), 0.9), (Facts(2), 1)], excluded=["AIDS"]),
    )
    found.to_json(tmp_path / "audit.json")
    table = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert table == {"this_file_is": "for the owner only", **found.to_dict()}
    assert (table["format"], table["version"]) == ("foreknow audit", 1)
    assert table["safe"] is found.safe
    assert [v["safe"] for v in table["verdicts"]] == [v.safe for v in found.verdicts]
    first, second, _ = table["verdicts"]
    assert (first["requirement"], first["values"], first["except"]) == ("HIV", ["AIDS"], [])
    assert (second["values"], second["except"]) == (None, ["AIDS"])
    assert (first["below"], first["judged"]) == ("1/3", {"facts": {"l": 1, "k": 1, "m": 1}})
    assert Fraction(first["worst"]["exact"]) == found.verdicts[0].disclosure.exact
    assert table["utility"]["people"] == 9
    again = Policy.from_dict(table["policy"])
    assert [r.points for r in again.requirements] == [r.points for r in found.policy.requirements]


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


@pytest.mark.parametrize(
    ("holders", "people", "limit", "said"),
    [
        (1, 2, "0.5", "reaches 0.5 for 'x', limit 0.5, which must not be reached"),
        (89999, 100000, "0.9", "reaches 0.89999 for 'x', limit 0.9"),
        (33331, 100000, "1/3", "reaches 0.33331 for 'x', limit 0.33333"),
        (2, 3, "2/3", "reaches 0.6667 for 'x', limit 0.6667, which must not be reached"),
        (6, 10, "0.5", "reaches 0.6 for 'x', limit 0.5"),
    ],
)
def test_only_a_limit_looks_like_it(holders, people, limit, said):
    counts = GroupCounts.from_bags([{"x": holders, "y": people - holders}])
    required = Requirement(Facts(), limit, values=["x"])
    (verdict,) = judged(required, counts=counts).verdicts
    assert repr(verdict).endswith(f"{said})")
    assert verdict.safe == (Fraction(holders, people) < Fraction(limit))
    assert (verdict.value, verdict.probability) == ("x", pytest.approx(holders / people))
    for failure in required.failures(counts):
        assert said.replace("limit", "the limit is") in failure


def test_a_group_is_called_by_its_columns():
    frame = pd.DataFrame({"age": [97, 97, 3], "sex": [0, 0, None], "d": ["x", "x", "y"]})
    frame = frame.astype({"sex": "Int64"})
    release = Release.from_generalized(frame, quasi_identifiers=["age", "sex"], sensitive="d")
    label = Facts().disclosure(release, "x").witness.target_group
    assert label == pickle.loads(pickle.dumps(label)) == (97, 0)
    assert (
        repr(label) == repr(release.counts.take(np.array([1])).group_label(0)) == "(age=97, sex=0)"
    )
    assert release.groups == {(97, 0): 2, (3, None): 1}
    assert json.loads(json.dumps({"group": label})) == {"group": [97, 0]}


def test_a_repr_says_what_came_of_it():
    unsafe = judged(Requirement(Facts(), 0.9), Requirement(Facts(l=1), 0.5, values=["Flu"]))
    assert repr(unsafe) == "Audit(release: UNSAFE in 1 of 2 requirements)"
    verdict = "Verdict(UNSAFE: Facts(l=1, k=0, m=0) reaches 0.6667 for 'Flu', limit 0.5)"
    assert repr(unsafe.verdicts[1]) == verdict
    safe = judged(Requirement([(Facts(), 0.9), (Facts(l=1), 1)]))
    assert repr(safe) == "Audit(release: safe, 1 requirement)"
    assert repr(safe.verdicts[0]).startswith("Verdict(safe: Facts(l=0, k=0, m=0) reaches 0.5 for ")
