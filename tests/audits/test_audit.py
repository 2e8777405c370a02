"""Audits: each verdict is what the adversary itself says, held against its limit, exactly."""

import json
from decimal import Decimal

import pandas as pd
import pytest

from foreknow import Facts, GroupCounts, Policy, Requirement, Schema, audit
from foreknow.atomic_files import as_json
from foreknow_judge.errors import DataError, InputError, UnsupportedError

ILL = GroupCounts.from_bags(
    [["Flu", "Flu", "AIDS", "Cold"], ["Flu", "Cold", "Cold", "HIV", "Flu"]],
    groups=["north", "south"],
)


def judged(*requirements, counts=ILL, **more):
    return audit(counts, Policy(requirements), **more)


def one(*requirement, counts=ILL, **more):
    (verdict,) = judged(Requirement(*requirement, **more), counts=counts).verdicts
    return verdict


@pytest.mark.parametrize("key", ["values", "excluded"])
def test_what_nobody_has_is_noted(key):
    notes = judged(Requirement(Facts(), 0.5, name="hiv", **{key: ["HVI"]})).notes
    assert any("Did you mean 'HIV' for 'HVI'?" in note for note in notes)


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
        said = f"semantics '{semantics}', but .* under '{of_counts}'"
        with pytest.raises(UnsupportedError, match=said):
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
    verdict = "Verdict(UNSAFE: Facts(l=1, k=0, m=0) reaches 0.6667 for 'Flu', limit 0.5)"
    assert repr(unsafe.verdicts[1]) == verdict
    safe = judged(Requirement([(Facts(), 0.9), (Facts(l=1), 1)]))
    assert repr(safe) == "Audit(release: safe, 1 requirement)"
    assert repr(safe.verdicts[0]).startswith("Verdict(safe: Facts(l=0, k=0, m=0) reaches 0.5 for ")
