"""Ways out: a requirement that no single line can mend is named, beside those that one can."""

import pyarrow as pa
import pytest

import foreknow as fk


def test_a_requirement_without_a_way_is_named_beside_the_others():
    income = [900 + i for i in range(60)]
    table = pa.table({"age": [20, 40] * 30, "income": income, "illness": list("abcde") * 12})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive=["income", "illness"])
    rules = [
        fk.Requirement(fk.Facts(), below="1/100", sensitive="income", name="of income"),
        fk.Requirement(fk.Facts(), below="0.15", sensitive="illness", name="of illness"),
    ]
    with pytest.raises(fk.NoSafeRelease) as caught:
        fk.publish(fk.Microdata(table, schema), fk.Policy(rules, schema))
    said = str(caught.value)
    assert "In of income, " in said
    assert "For of illness no single line would do: change several at once" in said
    assert "In of illness" not in said
