"""How long commands take on the bundled sample: what somebody waits for who tries Foreknow.

Beside the clock, seconds of the processor, which other programs on the machine do not take.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import perf_counter

from benchmarks.measure import heading, line, medians
from foreknow import sample


def run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def worked() -> float:
    """Seconds of the processor that processes took which have ended."""
    taken = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken.ru_utime + taken.ru_stime


def main() -> None:
    heading("(d) start-up, by the clock")
    measure(9, perf_counter)
    heading("(d) start-up, seconds of the processor")
    measure(9, worked)


def measure(repeats: int, clock: Callable[[], float]) -> None:
    """Run each command so often, in turns, and print what it takes."""
    with tempfile.TemporaryDirectory() as folder:
        new = (str(Path(folder, str(number))) for number in count())
        cli, table = ["-m", "foreknow.cli"], str(sample.table_path())
        policy, out = ["--policy", str(sample.policy_path())], next(new)
        run(*cli, "publish", table, *policy, "--out", out)
        release = str(Path(out, "release.csv"))
        found = medians(
            repeats,
            clock,
            python=lambda: run("-c", "pass"),
            libraries=lambda: run("-c", "import numpy, duckdb, pyarrow"),
            imported=lambda: run("-c", "import foreknow"),
            helped=lambda: run(*cli, "--help"),
            publish=lambda: run(*cli, "publish", table, *policy, "--out", next(new)),
            verify=lambda: run(*cli, "verify", out),
            audit=lambda: run(*cli, "audit", release, *policy),
            report=lambda: run(*cli, "audit", release, *policy, "--html", f"{folder}/report.html"),
            folder=lambda: run(*cli, "audit", out, *policy),
            init=lambda: run(*cli, "init", table, "--out", f"{next(new)}.toml"),
        )
    libraries = found["libraries"]
    line("python -c pass", found["python"])
    line('python -c "import numpy, duckdb, pyarrow"', libraries)
    line("import foreknow", found["imported"], limit=0.3)
    line("foreknow --help", found["helped"], limit=0.3)
    line("foreknow publish of the sample", found["publish"], libraries, limit=1.0)
    line("foreknow verify of it", found["verify"], libraries, limit=1.0)
    line("foreknow audit of its file", found["audit"], libraries, limit=1.0)
    line("the same with --html", found["report"], libraries)
    line("foreknow audit of its folder", found["folder"], libraries, limit=1.0)
    line("foreknow init of the sample's table", found["init"], libraries, limit=1.0)


if __name__ == "__main__":
    main()
