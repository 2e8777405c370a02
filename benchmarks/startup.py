"""How long it takes to import Foreknow, and to audit the bundled sample from the command line."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import heading, line, medians
from foreknow import sample


def run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def main() -> None:
    heading("(d) start-up")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        cli = ["-m", "foreknow.cli"]
        policy = ["--policy", str(sample.policy_path())]
        run(*cli, "publish", str(sample.table_path()), *policy, "--out", str(out))
        release = str(out / "release.csv")
        found = medians(
            7,
            python=lambda: run("-c", "pass"),
            imported=lambda: run("-c", "import foreknow"),
            audit=lambda: run(*cli, "audit", release, *policy),
            report=lambda: run(*cli, "audit", release, *policy, "--html", f"{folder}/report.html"),
            verify=lambda: run(*cli, "verify", str(out)),
            helped=lambda: run(*cli, "--help"),
        )
    line("python -c pass", found["python"])
    line("import foreknow", found["imported"], limit=0.3)
    line("foreknow audit on the sample's release", found["audit"], limit=1.5)
    line("the same with --html", found["report"])
    line("foreknow verify of it", found["verify"], limit=1.5)
    line("foreknow --help", found["helped"], limit=0.3)


if __name__ == "__main__":
    main()
