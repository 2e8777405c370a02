"""One fixture: a folder in which the command line is run."""

import pytest
from tests.cli.desk import Desk
from tests.people import steady

from foreknow.auditing import Audit


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys, request):
    """A `Desk` in a fresh folder; reports are short, unless the test is about them."""
    monkeypatch.chdir(tmp_path)
    steady(monkeypatch)
    if "report" not in request.node.name:
        monkeypatch.setattr(Audit, "to_html", lambda self, path: path.write_text("report"))
    return Desk(tmp_path, monkeypatch, capsys)
