"""The picture of worlds that are struck out, for the documentation.

``python -m benchmarks.figures.worlds`` draws what a notebook shows of the k-jump paper's example.
It is photographed by a headless Chromium, which must be installed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import foreknow as fk

IMAGES = Path(__file__).parents[2] / "docs" / "images"
FUNCTIONS = ["AB|CD|EF", "ABC|DEF", "ABCD|EF"]
DISEASES = ["flu", "cold", "cancer", "cancer", "headache", "toothache"]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SIZE = (1060, 680)


def page() -> str:
    """What a notebook shows of the naive algorithm's run."""
    run = fk.Naive(FUNCTIONS, fk.MaxRatio("1/2")).run(dict(zip("ABCDEF", DISEASES, strict=True)))
    body = 'style="margin: 12px 16px; background: white; font: 15px sans-serif"'
    return f'<!doctype html><meta charset="utf-8"><body {body}>{run._repr_html_()}</body>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=IMAGES)
    folder = parser.parse_args().to
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        sys.exit(f"none of {', '.join(_BROWSERS)} is installed")
    path = (folder / "jump-worlds.png").absolute()
    with tempfile.TemporaryDirectory() as own:
        source = Path(own) / "worlds.html"
        source.write_text(page(), encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={own}/profile", f"--window-size={_SIZE[0]},{_SIZE[1]}"]
        command += [f"--screenshot={path}", source.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    print(path)


if __name__ == "__main__":
    main()
