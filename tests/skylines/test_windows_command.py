"""The command skyline: windows of near numbers."""

import json

import pytest
from tests.cli.conftest import desk as desk

POLICY = """
[schema]
quasi_identifiers = ["age"]
sensitive = "pay"

[[require]]
within = {within}
facts = {{ l = 1, k = 1, m = 1 }}
below = 0.75
"""


@pytest.fixture
def pay(desk):
    rows = [f"{20 + i % 40},{30000 + 137 * i * i % 20011}" for i in range(200)]
    desk.put("people.csv", "age,pay\n" + "\n".join(rows) + "\n")
    desk.put("policy.toml", POLICY.format(within="2000"))
    return desk


def test_a_skyline_of_any_window_is_asked_for(pay):
    columns = ["people.csv", "--group", "age", "--sensitive", "pay", "--confidence", "0.9"]
    said = pay.says("skyline", *columns, "--within", "2000", "--json", "s.json")
    assert "What the release withstands at 90%: a value in a window of 2,000" in said
    (found,) = json.loads((pay.folder / "s.json").read_text())["values"]
    assert found["points"]
    said = pay.says("skyline", *columns, "--within", "2000", "--above", "0,1,0")
    assert "l=0, k=1, m=0 is" in said
    assert "has a value between" in said
    refused = pay.refused("skyline", *columns, "--within", "2000", "--value", "30000")
    assert "give one of --value, --any-of and --within" in refused
    assert "name" in pay.refused("skyline", *columns, "--within", "2000", "--name-people")
    assert "cannot be read" in pay.refused("skyline", *columns, "--within", "wide")
