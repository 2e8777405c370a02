"""Pictures of the explorer for docs/images: ``python -m benchmarks.figures.explorer [FOLDER]``.

Needs Chromium and the packages of the group dev.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import foreknow as fk
from foreknow import sample

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZE = {"width": 1180, "height": 900}
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)


def release(page: Any, base: str) -> None:
    page.goto(f"{base}/release?of=release&value=HIV&requirement=1&l=2&k=7&m=2")
    page.wait_for_selector("#heat rect")
    page.wait_for_timeout(1500)
    page.evaluate("document.getElementById('turn').scrollIntoView()")


def policy(page: Any, base: str) -> None:
    page.set_viewport_size({**SIZE, "height": 1340})  # down to the first requirement
    page.goto(f"{base}/policy")
    page.wait_for_selector("#field-require-0-below")


def publish(page: Any, base: str) -> None:
    page.set_viewport_size(SIZE)
    page.goto(f"{base}/publish")
    page.wait_for_selector("#method option", state="attached")
    page.click("#start")
    page.wait_for_selector("#sizes-b rect", timeout=120_000)
    page.evaluate("document.getElementById('side').scrollIntoView()")


VIEWS = {"release": release, "policy": policy, "publish": publish}


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        own = Path(place)
        for name in ("hospital.csv", "policy.toml", "marital.csv"):
            shutil.copy(sample.table_path().with_name(name), own / name)
        fk.publish(own / "hospital.csv", own / "policy.toml", seed=1).write(own / "release")
        command = [sys.executable, "-u", "-m", "foreknow.cli", "explore", "hospital.csv"]
        command += ["--policy", "policy.toml", "--no-browser"]
        server = subprocess.Popen(command, cwd=own, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            lines = iter(server.stdout.readline, "")
            address = next(m[0] for line in lines if (m := re.search(r"http://\S+", line)))
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_page(viewport=SIZE)
            page.goto(address)
            for name, show in VIEWS.items():
                show(page, address.partition("/?")[0])
                page.wait_for_timeout(500)
                page.screenshot(path=folder / f"explore-{name}.png")
            browser.close()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
