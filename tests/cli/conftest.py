"""One fixture: a folder in which the command line is run."""

import pytest
from tests.cli.desk import Desk
from tests.people import short_report


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys, request):
    """A `Desk` in a fresh folder; reports are short, unless the test is about them."""
    monkeypatch.chdir(tmp_path)
    if "report" not in request.node.name:
        short_report(monkeypatch)
    return Desk(tmp_path, monkeypatch, capsys)
