"""Names that only a mark tells apart that nobody sees are one person, or household."""

import pandas as pd
import pytest

import foreknow as fk
from foreknow.data.people import bare_name
from foreknow.errors import SchemaError

TABLE = pd.DataFrame(
    {"ward": ["a"] * 4, "ill": list("wxyz"), "who": ["P1", "P1\u200b", "P2", "P3"]}
)


@pytest.mark.parametrize("mark", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e"])
def test_a_name_is_bare_without_what_nobody_sees(mark):
    assert bare_name(f"{mark}P{mark}1{mark}") == bare_name("P1")


@pytest.mark.parametrize("of", ["person", "household"])
def test_they_are_not_counted_as_two(of):
    """Four people were counted in a group of three."""
    schema = {"quasi_identifiers": ["ward"], "sensitive": "ill"}
    if of == "person":
        schema |= {"unit": "row", "person": "who"}
    wanted = 4 if of == "person" else {"k": 4, "of": "who"}
    with pytest.raises(SchemaError, match="look like one, and would be counted as two"):
        fk.audit(TABLE, {"schema": schema, "require": [{"k_anonymity": wanted}]})
