"""What trials find of each method, for docs/do/trials.md; and what a trial costs.

    python -m benchmarks.trials [--rows 10000] [--runs 3]

Costs are those of a release of 10,000 people with `[[try]]` beside the same one without: whole
commands in turns, and processor seconds. Wanted is at most 2 times the time without; measured
in November 2026 were 1.3 for large groups, 1.5 for small ones, and 2.7 and 3.6 seconds. In Python
alone, where a release takes 0.1 seconds, a trial adds 0.2 for large groups and 0.5 for small ones.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import foreknow as fk
from benchmarks.measure import heading, line
from foreknow import sample

POLICY = """
[schema]
identifiers = ["id"]
quasi_identifiers = ["age", "sex", "zip"]
sensitive = ["diagnosis", "cost"]

[[require]]
k_anonymity = {least}

[[require]]
sensitive = "diagnosis"
facts = {{ k = 1 }}
below = 0.9

[[require]]
sensitive = "cost"
within = "10%"
facts = {{ k = 1 }}
below = 0.9

[publish]
unlinked = ["cost", "diagnosis"]
"""
JOBS = "clerk", "cook", "driver", "miner", "nurse"
DISEASES = "asthma", "burns", "gout", "silicosis", "flu"
TRY = '\n[[try]]\nlearned = { by = ["age", "sex"] }\n'


def workers(share: float, people: int = 3000) -> pa.Table:
    """People of whom a share has the disease of their job, and the others any of five."""
    draw = random.Random(1)
    jobs = [draw.randrange(5) for _ in range(people)]
    diseases = [job if draw.random() < share else draw.randrange(5) for job in jobs]
    columns = [JOBS[job] for job in jobs], [DISEASES[disease] for disease in diseases]
    return pa.table(dict(zip(("job", "disease"), columns, strict=True)))


def what_trials_find() -> None:
    """Print the table of methods: every value is below 40% of a group."""
    heading("what trials find: people in a group, guessed right, by the groups, surer than 90%")
    schema = fk.Schema(quasi_identifiers=["job"], sensitive="disease")
    often, never = fk.Microdata(workers(0.7), schema), fk.Microdata(workers(0), schema)
    known = fk.Policy.load(sample.policy_path()).needed_schema
    schema = fk.Schema(
        identifiers=known.identifiers,
        person=known.person,
        quasi_identifiers=known.quasi_identifiers,
        hierarchies=known.hierarchies,
        sensitive="diagnosis",
    )
    register = fk.Microdata(sample.table_path(), schema)
    anatomy, suppressing = fk.Anatomy(l=3), fk.FullDomain(suppression=0.05)
    for name, table, method, form, by in (
        ("70% by job: Anatomy", often, anatomy, "bucketized", ["job"]),
        ("nothing by job: Anatomy", never, anatomy, "bucketized", ["job"]),
        ("sample: Anatomy", register, anatomy, "bucketized", None),
        ("sample: Mondrian", register, fk.Mondrian(), "generalized", None),
        ("sample: FullDomain", register, suppressing, "generalized", None),
        ("sample: FullDomain", register, suppressing, "bucketized", None),
    ):
        policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.4")], table.schema)
        made = fk.publish(table, policy, method=method, form=form, seed=1, learned=False)
        trial = fk.learned_report(made, by=by, people=table)
        size = made.counts.n_people / made.counts.n_groups
        found = f"{size:5.1f} {trial.right:6.1%} {trial.baseline:6.1%} {trial.sure:6,}"
        print(f"  {f'{name}, {form}':<40}{found}; {trial.sure_and_right:,} rightly")


def patients(rows: int) -> pa.Table:
    """People whose diagnosis goes with age and sex, and what they cost, to the cent."""
    draw = np.random.default_rng(5)
    age, sex = draw.integers(18, 95, rows), draw.integers(0, 2, rows)
    share = 1 / np.arange(2, 12)
    diagnosis = draw.choice(10, rows, p=share / share.sum())
    diagnosis = np.where((draw.random(rows) < 0.4) & (age > 70), 3 + sex, diagnosis)
    return pa.table(
        {
            "id": range(rows),
            "age": age,
            "sex": np.array(["f", "m"])[sex],
            "zip": 10_000 + 7 * draw.integers(0, 300, rows),
            "diagnosis": [f"d{code}" for code in diagnosis],
            "cost": np.round(np.exp(draw.normal(7.5, 0.8, rows)) + 10 * age, 2),
        }
    )


def seconds(folder: Path, policy: str, out: str) -> float:
    """Processor seconds of a publication."""
    (folder / "policy.toml").write_text(policy)
    paths = str(folder / "patients.csv"), "--policy", str(folder / "policy.toml")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["publish", *paths, "--out", str(folder / out), "--seed", "1", "--quiet"]
    subprocess.run([sys.executable, "-m", "foreknow", *command], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print what trials find, and the ratios of small and of large groups."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    what_trials_find()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pc.write_csv(patients(given.rows), folder / "patients.csv")
        for least in (100, 5):
            heading(f"a trial of {given.rows:,} people in groups of {least} or more")
            policy, costs = POLICY.format(least=least), dict[str, list[float]]()
            for turn in range(given.runs):
                for kind, text in (("without", policy), ("with a trial", policy + TRY)):
                    costs.setdefault(kind, []).append(seconds(folder, text, f"{least}{turn}{kind}"))
            base, tried = map(statistics.median, costs.values())
            line("without", base)
            line("with a trial", tried, base)


if __name__ == "__main__":
    main()
