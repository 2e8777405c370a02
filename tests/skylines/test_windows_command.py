"""The command skyline: windows of near numbers."""

import json

from tests.cli.conftest import desk as desk
from tests.cli.conftest import pay as pay


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
