"""A release made by hand that does not say where a household's value stands is not judged."""

import pandas as pd
import pytest

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow_judge.errors import UnsupportedError

TABLE = pd.DataFrame({
    "ward": ["w"] * 6,
    "home": [3, 3, 5, 3, 5, 1],
    "job": ["nurse"] * 4 + ["cook"] * 2,
    "income": ["low", "low", "high", "low", "high", "high"],
    "ill": ["flu", "cold", "cold", "gout", "cold", "flu"],
})  # fmt: skip
ROLES = {
    "quasi_identifiers": ["ward"],
    "sensitive": ["income", "ill"],
    "other": ["job"],
    "shared": {"by": "home", "values": ["income"]},
}
ASKED = {"sensitive": "ill", "facts": {"l": 0}, "below": "2/3", "values": ["flu"]}
POLICY = {"schema": ROLES, "require": [ASKED]}


def test_another_column_is_judged_beside_what_is_shown():
    """Who is the only cook with an income that is shown has flu: 1, where rows said 1/2, safe."""
    for table in (TABLE, fk.Release.from_schema(TABLE, fk.Schema(**ROLES))):
        (verdict,) = fk.audit(table, POLICY, learned=False).verdicts
        assert verdict.found.exact == 1
    columns = {"quasi_identifiers": ["ward"], "sensitive": ["income", "ill"], "other": ["job"]}
    release = fk.Release.from_generalized(TABLE, **columns)
    with pytest.raises(SchemaError, match=r"no column 'home_shown' .* fk\.Microdata"):
        fk.audit(release, POLICY)
    sizes = {"schema": ROLES, "require": [{"k_anonymity": 6, "knowing": []}]}
    assert fk.audit(release, sizes).safe  # people are counted whatever their values


def test_bare_counts_name_their_column():
    counts = fk.GroupCounts.from_bags([["low", "high"]])
    schema = {**ROLES, "sensitive": "income"}
    policy = {"schema": schema, "require": [{"facts": {"l": 0}, "below": "2/3"}]}
    with pytest.raises(UnsupportedError, match="the sensitive column is shown once for each"):
        fk.audit(counts, policy)
