"""The numbers of docs/case-study-adult.md are those that its script prints."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ADULT = ROOT.parent / "shared" / "data" / "adult.csv"
PAGE = ROOT / "docs" / "case-study-adult.md"


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult table is not at ../shared/data/adult.csv")
def test_page_shows_what_the_script_prints():
    script = ROOT / "examples" / "case_study_adult.py"
    run = subprocess.run(
        [sys.executable, str(script), str(ADULT)],
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT / "src")},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    _, rest = PAGE.read_text("utf-8").split("<!-- printed by examples/case_study_adult.py -->\n")
    shown, _ = rest.split("<!-- end -->")
    assert shown == run.stdout
