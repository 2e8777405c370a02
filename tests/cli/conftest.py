"""One fixture: a folder in which the command line is run."""

import pytest
from tests.cli.desk import NEAR, Desk
from tests.people import short_report


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys, request):
    """A `Desk` in a fresh folder; reports are short, unless the test is about them."""
    monkeypatch.chdir(tmp_path)
    if "report" not in request.node.name:
        short_report(monkeypatch)
    return Desk(tmp_path, monkeypatch, capsys)


@pytest.fixture
def pay(desk):
    """The same with the pay of 200 people, and a policy for near numbers."""
    rows = [f"{20 + i % 40},{30000 + 137 * i * i % 20011}" for i in range(200)]
    desk.put("people.csv", "age,pay\n" + "\n".join(rows) + "\n")
    desk.put("policy.toml", NEAR.format(within="2000"))
    return desk
