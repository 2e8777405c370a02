"""docs/evidence/adult.md is what its script prints: a diverse release, its skyline, a breach."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ADULT = ROOT.parent / "shared" / "data" / "adult.csv"
PAGE = ROOT / "docs" / "evidence" / "adult.md"
SKYLINE = "(0, 4, 0), (1, 3, 1), (2, 1, 3), (2, 2, 2), (3, 0, 4), (3, 1, 2), (4, 0, 3)"


def printed():
    """The part of the page that the script prints."""
    _, rest = PAGE.read_text("utf-8").split("<!-- printed by examples/case_study_adult.py -->\n")
    return rest.split("<!-- end -->")[0]


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult table is not at ../shared/data/adult.csv")
def test_page_shows_what_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["case_study_adult.py", str(ADULT)])
    runpy.run_path(str(ROOT / "examples" / "case_study_adult.py"), run_name="__main__")
    output = capsys.readouterr().out
    assert printed() == output, "python examples/case_study_adult.py ADULT_CSV --write"


def test_page_shows_the_papers_skyline():
    rows = [
        line for line in printed().splitlines() if line.startswith("| (") and "l, k, m" not in line
    ]
    assert ", ".join(row.split(" | ")[0].removeprefix("| ") for row in rows) == SKYLINE
    paper = (ROOT / "docs" / "research" / "skyline.md").read_text("utf-8")
    assert f"[{SKYLINE}]" in paper
    assert "- (0, 4, 0), safe: " in printed()
    assert "- (0, 5, 0), **unsafe**: " in printed()
