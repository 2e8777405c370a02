"""Foreknow beside pyCANON, ANJANA and sdcMicro: whole commands in turns, and whether answers agree.

``python -m benchmarks.others FOLDER [--adult CSV] [--sdcmicro CLONE] [--rows N]``

The Python tools are installed into FOLDER, each by itself, for they need each other in different
versions. Of a clone of github.com/sdcTools/sdcMicro those parts are built there that are timed;
they need R with Rcpp and data.table. Every figure is of a whole process with its imports: seconds
of the processor, medians where it takes less than `SHORT` seconds, and the most memory.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import heading

ADULT = Path("adult.csv")
TOOLS = {"pycanon": "1.3.6", "anjana": "1.2.3"}
# Nobody waits longer for a command; a shorter one is repeated.
LONGEST, SHORT, ROUNDS = 300, 20, 3
KNOWN, SECRET = ["age", "marital-status", "race", "sex"], "occupation"
SPECIAL = [*KNOWN, "education"]

PARTS = "0classes.r aux_functions.r freqCalc.r indivRisk.R measure_risk.R suda2.R recordSwap.R"
DESCRIPTION = """Package: sdcMicro
Version: 5.8.1
Title: Parts of sdcMicro
Description: Parts of sdcMicro.
License: GPL-2
Author: sdcTools
Maintainer: sdcTools <nobody@example.org>
LinkingTo: Rcpp
Imports: Rcpp, data.table, methods, stats
"""
NAMESPACE = """useDynLib(sdcMicro, .registration=TRUE)
import(Rcpp)
import(data.table)
import(methods)
import(stats)
export(freqCalc, ldiversity, suda2)
"""

CHECK = """
import json, sys, foreknow as fk
release = fk.Release.from_generalized(sys.argv[1], quasi_identifiers={known}, sensitive={secret!r})
kinds = {{"k": fk.KAnonymity(2), "l": fk.LDiversity(2), "t": fk.TCloseness(1)}}
print(json.dumps({{key: float(kinds[key].measure(release)) for key in {keys!r}}}))
"""
PYCANON = """
import json, sys, pandas as pd
from pycanon import anonymity
data = pd.read_csv(sys.argv[1], usecols={columns})
kinds = {{
    "k": lambda: anonymity.k_anonymity(data, {known}),
    "l": lambda: anonymity.l_diversity(data, {known}, [{secret!r}]),
    "t": lambda: anonymity.t_closeness(data, {known}, [{secret!r}]),
}}
print(json.dumps({{key: float(kinds[key]()) for key in {keys!r}}}))
"""
R_BEGIN = """
suppressMessages(library(sdcMicro, lib.loc={library}))
d <- as.data.frame(data.table::fread(
  commandArgs(TRUE)[1], select=c({columns}), na.strings=""))
names(d) <- make.names(names(d))
for (n in names(d)) d[[n]] <- as.factor(d[[n]])
"""
R_CHECK = """
k <- min(freqCalc(d, keyVars=c({known}))$fk)
l <- unclass(ldiversity(d, keyVars=c({known}), ldiv_index={secret}))
cat(sprintf('{{"k": %d, "l": %d}}', k, min(l[, 1])))
"""
SUDA = """
import json, sys, foreknow as fk
found = fk.risk_report(sys.argv[1], quasi_identifiers={known}, suda={size}, subsets=1).suda
print(json.dumps({{"people": found.n_people, "highest": int(found.scores.max())}}))
"""
R_SUDA = """
for (n in names(d)) d[[n]] <- as.integer(d[[n]])
s <- suda2(d)
cat(sprintf('{{"people": %d, "highest": %d}}', sum(s$score > 0), max(s$score)))
"""
MAKE = """
import json, sys, foreknow as fk
schema = fk.Schema(
    quasi_identifiers={known},
    sensitive={secret!r},
    hierarchies={{"age": {{"intervals": [5, 10, 20]}}}},
)
table = fk.Microdata(sys.argv[1], schema)
policy = fk.Policy([fk.Requirement(fk.KAnonymity({k}))], schema)
search = fk.FullDomain(suppression=0.05).search(table, policy)
chosen = search.chosen
levels = dict(zip({known}, chosen, strict=True))
print(json.dumps({{"levels": levels}}))
"""
ANJANA = """
import contextlib, io, json, sys, numpy as np, pandas as pd
from anjana import anonymity
data = pd.read_csv(sys.argv[1], usecols={columns})
ages = np.unique(data["age"].values)
hierarchies = {{
    name: {{0: np.unique(data[name].values), 1: np.array(["*"] * data[name].nunique())}}
    for name in {known}[1:]
}}
hierarchies["age"] = {{0: ages}} | {{
    level: np.array([f"{{a // w * w}} to {{a // w * w + w - 1}}" for a in ages])
    for level, w in enumerate((5, 10, 20), 1)
}} | {{4: np.array(["*"] * len(ages))}}
with contextlib.redirect_stdout(io.StringIO()):
    made = anonymity.k_anonymity(data, [], {known}, {k}, 5, hierarchies)
place = {{name: {{str(v): level for level, values in sorted(levels.items(), reverse=True)
         for v in values}} for name, levels in hierarchies.items()}}
print(json.dumps({{"levels": {{n: place[n][str(made[n].iloc[0])] for n in {known}}}}}))
"""


# A table whose columns are those of Adult that are used; all values occur often. A process of its
# own makes it: the memory of a parent counts for those that it starts.
TABLE = """
import sys, numpy as np, pyarrow as pa, pyarrow.csv as pc
path, rows, missing = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = np.random.default_rng(0)
sizes = {"marital-status": 7, "race": 5, "sex": 2, "occupation": 14, "education": 16}
columns = {"age": draw.integers(17, 91, rows)}
for name, size in sizes.items():
    weights = 1 / np.arange(1, size + 1)
    names = np.array([f"{name} {i}" for i in range(size)])
    columns[name] = names[draw.choice(size, rows, p=weights / weights.sum())]
races = columns["race"].astype(object)
races[:missing] = None
pc.write_csv(pa.table({**columns, "race": races}), path)
"""


class Run(NamedTuple):
    """What a command printed, its seconds of the processor, and its most megabytes."""

    answer: Any
    seconds: float
    megabytes: float


def run(command: Sequence[str]) -> Run:
    """Run a command to its end, or for so long as anybody waits."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    timer = threading.Timer(LONGEST, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    seconds, megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    if status and os.WIFSIGNALED(status):
        return Run(None, seconds, megabytes)
    if status:
        raise SystemExit(err)
    return Run(json.loads(out.strip().splitlines()[-1]), seconds, megabytes)


def beside(what: str, ours: Sequence[str], theirs: Sequence[str], tool: str) -> None:
    """Time two commands in turns, and print their ratios and answers."""
    runs = [(run(ours), run(theirs))]
    while len(runs) < ROUNDS and max(runs[0][0].seconds, runs[0][1].seconds) < SHORT:
        runs.append((run(ours), run(theirs)))
    own, other = (
        Run(
            side[0].answer,
            statistics.median(one.seconds for one in side),
            max(one.megabytes for one in side),
        )
        for side in zip(*runs, strict=True)
    )
    ended = "" if other.answer is not None else f" (stopped after {LONGEST} s)"
    print(f"  {what}, {len(runs)} times each")
    for name, one in (("foreknow", own), (tool, other)):
        print(f"    {name:<10}{one.seconds:8.1f} s {one.megabytes:7.0f} MB   {one.answer}")
    print(
        f"    {tool} takes {other.seconds / own.seconds:.1f} times the processor, and "
        f"{other.megabytes / own.megabytes:.1f} times the memory{ended}"
    )
    if other.answer is not None:
        shared = {key: (own.answer[key], value) for key, value in other.answer.items()}
        wrong = {key: pair for key, pair in shared.items() if not _same(*pair)}
        print(f"    answers {'agree' if not wrong else f'differ: {wrong}'}")


def _same(one: Any, other: Any) -> bool:
    is_number = isinstance(one, (int, float))
    return abs(one - other) < 1e-9 if is_number else bool(one == other)


def installed(folder: Path, tool: str) -> str:
    """The Python of an environment that has one tool."""
    python = folder / tool / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / tool], check=True)
        package = f"{tool}=={TOOLS[tool]}"
        subprocess.run([python, "-m", "pip", "install", "-q", package], check=True)
    return str(python)


def built(folder: Path, clone: Path) -> str:
    """The library of R that has the parts of sdcMicro."""
    library, source = folder / "r-library", folder / "sdcMicro"
    if not (library / "sdcMicro").exists():
        shutil.rmtree(source, ignore_errors=True)
        (source / "R").mkdir(parents=True)
        library.mkdir(exist_ok=True)
        shutil.copytree(clone / "src", source / "src")
        for name in [*PARTS.split(), "RcppExports.R"]:
            shutil.copy(clone / "R" / name, source / "R" / name)
        (source / "DESCRIPTION").write_text(DESCRIPTION)
        (source / "NAMESPACE").write_text(NAMESPACE)
        command = ["R", "CMD", "INSTALL", "--no-docs", "-l", library, source]
        subprocess.run(command, check=True, capture_output=True)
    return json.dumps(str(library))


def main() -> None:
    """Print the tables of both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--adult", type=Path, default=ADULT)
    parser.add_argument("--sdcmicro", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    folder = given.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    big = folder / "made.csv"
    gap = folder / "gap.csv"
    for path, missing in ((big, 0), (gap, 1)):
        making = [sys.executable, "-c", TABLE, path, str(given.rows), str(missing)]
        subprocess.run(making, check=True)
    pycanon, anjana = (installed(folder, tool) for tool in TOOLS)
    library = None if given.sdcmicro is None else built(folder, given.sdcmicro)
    for name, path, is_whole in (
        ("Adult", given.adult, True),
        (f"{given.rows:,} made rows", big, True),
        ("the same, but one person has no race", gap, False),
    ):
        heading(f"{name}: processor seconds of whole commands, in turns")
        compared(path, pycanon, anjana, library, is_whole)


def compared(path: Path, pycanon: str, anjana: str, library: str | None, is_whole: bool) -> None:
    """Compare all tools on a table; or only how they count it."""
    words: dict[str, Any] = {"known": KNOWN, "secret": SECRET, "columns": [*KNOWN, SECRET], "k": 10}

    def ours(script: str, **more: Any) -> list[str]:
        return [sys.executable, "-c", script.format(**{**words, **more}), str(path)]

    kinds = (("k", "k"), ("kl", "k and distinct l"), ("t", "t, equal distances"))
    for keys, what in kinds[0 if is_whole else 1 : 3 if is_whole else 2]:
        theirs = PYCANON.format(**words, keys=keys)
        beside(what, ours(CHECK, keys=keys), [pycanon, "-c", theirs, str(path)], "pyCANON")
    if is_whole:
        making = [anjana, "-c", ANJANA.format(**words), str(path)]
        beside("make k = 10, 5% left out", ours(MAKE), making, "ANJANA")
    if library is None:
        return
    quoted = {
        "library": library,
        "known": ", ".join(json.dumps(name.replace("-", ".")) for name in KNOWN),
        "secret": json.dumps(SECRET),
    }
    jobs = (
        ("k and distinct l", [*KNOWN, SECRET], R_CHECK, ours(CHECK, keys="kl")),
        ("SUDA of 5 columns", SPECIAL, R_SUDA, ours(SUDA, known=SPECIAL, size=5)),
    )
    for what, columns, script, command in jobs[: 2 if is_whole else 1]:
        columns_text = ", ".join(map(json.dumps, columns))
        text = (R_BEGIN + script).format(**quoted, columns=columns_text)
        beside(what, command, ["Rscript", "-e", text, str(path)], "sdcMicro")


if __name__ == "__main__":
    main()
