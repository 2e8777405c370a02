"""Pictures of Foreknow's own pages, for the documentation: ``python -m benchmarks.figures.pages``.

They are photographed by a headless Chromium, which must be installed. Draw them again when the
words of a page change.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import foreknow as fk
from foreknow import sample

IMAGES = Path(__file__).parents[2] / "docs" / "images"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def report(path: Path) -> None:
    """The report of `foreknow demo`."""
    policy = fk.Policy.load(sample.policy_path())
    made = fk.publish(fk.Microdata(sample.table_path(), policy.schema), policy)
    made.write(path.parent / "demo")
    (path.parent / "demo" / "report.html").rename(path)


def skyline(path: Path) -> None:
    """The example of docs/do/skylines-and-curves.md."""
    release = fk.Release.from_generalized(
        sample.table_path(), quasi_identifiers=["age", "sex"], sensitive="diagnosis"
    )
    fk.skyline_report(release, ["HIV"], confidence="1/4").to_html(path)


PAGES: dict[str, tuple[Callable[[Path], None], tuple[int, int]]] = {
    "report": (report, (1200, 1500)),
    "skyline": (skyline, (1200, 1500)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=IMAGES)
    folder = parser.parse_args().to
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        sys.exit(f"none of {', '.join(_BROWSERS)} is installed")
    for name, (write, (width, height)) in PAGES.items():
        path = (folder / f"{name}.png").absolute()
        with tempfile.TemporaryDirectory() as own:
            source = Path(own) / f"{name}.html"
            write(source)
            command = [browser, "--headless", "--no-sandbox", "--hide-scrollbars"]
            command += [f"--user-data-dir={own}/profile", f"--window-size={width},{height}"]
            command += ["--virtual-time-budget=15000", f"--screenshot={path}", source.as_uri()]
            subprocess.run(command, check=True, capture_output=True, timeout=120)
        print(path)


if __name__ == "__main__":
    main()
