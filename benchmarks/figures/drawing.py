"""Pictures of the results, for the documentation.

``python -m benchmarks.figures.drawing`` reads the CSV files and writes PNG files. They are
photographed by a headless Chromium, which must be installed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from plotly.graph_objects import Figure

from benchmarks.figures.panels import FIGURES
from benchmarks.figures.results import read

RESULTS = Path(__file__).parent / "results"
IMAGES = Path(__file__).parents[2] / "docs" / "images"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def page(figure: Figure) -> str:
    """A page that holds a figure and nothing else."""
    shown: str = figure.to_html(include_plotlyjs=True, config={"staticPlot": True})
    return shown.replace("<body>", '<body style="margin: 0; background: white">')


def photograph(browser: str, figure: Figure, path: Path) -> None:
    """Open a figure's page and keep what is seen."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "figure.html"
        source.write_text(page(figure), encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={folder}/profile", "--virtual-time-budget=4000"]
        command += [f"--window-size={figure.layout.width},{figure.layout.height}"]
        command += [f"--screenshot={path.absolute()}", source.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", type=Path, default=RESULTS, help="directory of the CSV files")
    parser.add_argument("--to", type=Path, default=IMAGES, help="directory of the pictures")
    given = parser.parse_args()
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"none of these is installed: {', '.join(_BROWSERS)}")
    given.to.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        if (given.of / f"{name}.csv").exists():
            path = given.to / f"streamliner-{name}.png"
            photograph(browser, draw(read(given.of / f"{name}.csv")), path)
            print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
