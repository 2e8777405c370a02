"""Where a person may have several values, two spellings of a name are no second person."""

import pandas as pd
import pytest

import foreknow as fk
from foreknow.errors import SchemaError

ROWS = {"ward": ["a"] * 3, "ill": ["HIV", "Flu", "Cold"]}


@pytest.mark.parametrize("semantics", ["set", "multiset"])
@pytest.mark.parametrize("names", [["7", "07", "8"], ["P1", "p1 ", "P2"], ["x", "x\u200b", "y"]])
def test_two_spellings_are_refused(semantics, names):
    """Two people were counted as three: HIV by 1/3, where one of two has it."""
    schema = {"quasi_identifiers": ["ward"], "sensitive": "ill", "person": "who"}
    schema |= {"semantics": semantics}
    asked = {"facts": {"l": 0}, "below": "1/2", "values": ["HIV"]}
    table = pd.DataFrame({"who": names, **ROWS})
    for call in fk.audit, fk.publish:
        with pytest.raises(SchemaError, match="look like one, and would be counted as two"):
            call(table, {"schema": schema, "require": [asked, {"k_anonymity": 3}]})
    columns = {"quasi_identifiers": ["ward"], "sensitive": "ill", "person": "who"}
    release = fk.Release.from_generalized(table, **columns, semantics=semantics)
    with pytest.raises(SchemaError, match="look like one"):
        fk.audit(release, {"require": [asked]})
    alike = pd.DataFrame({"who": ["7", "7", "8"], **ROWS})
    (verdict,) = fk.audit(alike, {"schema": schema, "require": [asked]}).verdicts
    assert not verdict.safe
