"""What can be learned from a release itself: the figures of the documentation, and speed.

    python -m benchmarks.learned            made-up people and the sample, as in the documentation
    python -m benchmarks.learned adult.csv  and Adult
    python -m benchmarks.learned --large    and a million rows

Guesses are measured by who has which value, which no estimate ever sees. Somebody who knows the
exact columns of everybody, and who is in which group, learns the same from either form; groups
whose labels print alike are one in the generalized form. A classifier is trained on the release as
it is published. Times are of the processor: to learn, and to train classifiers.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import foreknow as fk
from foreknow import sample
from foreknow.publishing.members import groups_of


def made_up(share: float, people: int = 3000, jobs: int = 6, seed: int = 1) -> pa.Table:
    """People whose disease goes with their job so often, else with any other."""
    random = np.random.default_rng(seed)
    job = random.integers(0, jobs, people)
    own = random.random(people) < share
    disease = np.where(own, job, (job + random.integers(1, jobs, people)) % jobs)
    return pa.table(
        {
            "job": [f"job {j}" for j in job],
            "age": random.integers(18, 80, people),
            "disease": [f"disease {d}" for d in disease],
        }
    )


def exact(made: fk.Publication, microdata: fk.Microdata) -> fk.Release:
    """The groups of a release with everybody's exact columns, and values for measuring."""
    said, counts = made.certificate, made.counts
    own = [groups_of(part, said, counts, escaped=False) for part in made._placed.members()]
    groups = np.concatenate(own)
    columns = [*microdata.schema.quasi_identifiers, microdata.schema.sensitive]
    rows = microdata.source.arrow(columns).append_column("group", pa.array(groups))
    return fk.Release.from_groups(rows, group="group", sensitive=microdata.schema.sensitive)


HEAD = (
    f"{'release':<44} {'by':<10} {'people':>6}  {'groups':>6}  {'learns':>6}  "
    f"{'right: learned, statistics, groups':<36} {'classifier, without':<18}"
)


def line(name: str, made: fk.Publication, microdata: fk.Microdata, by: list[str]) -> None:
    """One line of the table."""
    release = exact(made, microdata)
    adversary = fk.Learned(by)
    started = time.process_time()
    found = adversary.disclosure(release)
    took = time.process_time() - started
    guesses = adversary.guesses(release, measured=True)
    alone = max(d.probability for d in fk.Facts().disclosures(release).values())
    shares = (x / guesses.people for x in (guesses.learned, guesses.statistics, guesses.groups))
    right = "  ".join(f"{100 * share:5.1f}%" for share in shares)
    started = time.process_time()
    trained = fk.inference_attack(made, microdata)
    trains = time.process_time() - started
    counts = release.counts
    print(
        f"{name:<44} {', '.join(by):<10} {counts.n_people / counts.n_groups:6.1f}  {alone:6.3f}  "
        f"{found.probability:6.3f}  {right:<36} {100 * trained.attack.share:5.1f}%  "
        f"{100 * trained.baseline.share:5.1f}%   {took:6.2f} s {trains:6.1f} s",
        flush=True,
    )


def table_of(
    name: str,
    microdata: fk.Microdata,
    by: list[str],
    limit: str,
    l: int,  # noqa: E741
) -> None:
    """The lines of one table: each method in each form that it has."""
    schema = microdata.schema
    plain = fk.Policy([fk.Requirement(fk.Facts(), below=limit)], schema)
    both, one = ("bucketized", "generalized"), ("bucketized",)
    runs: list[tuple[str, object, fk.Policy, tuple[str, ...]]] = [
        (f"Anatomy, l = {l}", fk.Anatomy(l), plain, both),
        (f"RDA, l = {l}", fk.Streamliner(l, "rda"), plain, both),
        (f"GSA, l = {l}", fk.Streamliner(l, "gsa"), plain, one),
        (f"Mondrian below {limit}", fk.Mondrian(), plain, both),
        (f"Decoy below {limit}", fk.Decoy(), plain, both),
        (f"FullDomain below {limit}", fk.FullDomain(suppression=0.02), plain, both),
    ]
    priors = fk.Priors.learn(microdata.source.arrow([*by, schema.sensitive]), by, schema.sensitive)
    for r in (2, 3, 4):
        limited = fk.Policy([fk.Requirement(priors, at_most=f"1/{r}")], schema)
        runs.append((f"ART, r = {r}, true priors", "art", limited, one))
    for method, how, policy, forms in runs:
        for form in forms:
            called = f"{name}: {method}, {form}"
            try:
                line(
                    called,
                    fk.publish(microdata, policy, method=how, form=form, seed=3),
                    microdata,
                    by,
                )
            except fk.NoSafeRelease as error:
                print(f"{called:<44} {str(error)[:90]}", flush=True)


def main() -> None:
    """Print the tables."""
    schema = fk.Schema(
        quasi_identifiers=["job", "age"],
        sensitive="disease",
        hierarchies={"age": fk.Intervals([10, 20, 40])},
    )
    print(HEAD)
    for share in (0.7, 0.25, 1 / 6):
        table_of(f"{100 * share:.0f}%", fk.Microdata(made_up(share), schema), ["job"], "0.4", 3)
    rules = fk.Policy.load(sample.policy_path())
    table_of("sample", fk.Microdata(sample.table_path(), rules.needed_schema), ["age"], "0.4", 4)
    for path in [argument for argument in sys.argv[1:] if not argument.startswith("--")]:
        schema = fk.Schema(
            quasi_identifiers=["age", "education", "marital-status", "race", "sex"],
            sensitive="occupation",
            hierarchies={"age": fk.Intervals([5, 10, 20, 40])},
        )
        table_of("Adult", fk.Microdata(pc.read_csv(path), schema), ["education"], "0.4", 4)
    if "--large" in sys.argv:
        table = made_up(0.5, people=1_000_000)
        schema = fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease")
        for people in (62_500, 250_000, 1_000_000):
            part = table.slice(0, people)
            group = fk.Streamliner(4, "rda").partition(fk.Microdata(part, schema), seed=3)
            release = fk.Release.from_groups(
                part.append_column("group", pa.array(group)), group="group", sensitive="disease"
            )
            release.signatures(["job"])
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            started = time.process_time()
            found = fk.Learned(["job"]).disclosure(release)
            took = time.process_time() - started
            peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(
                f"{people:,} people: {found.probability:.3f} in {took:.2f} s, at most {peak:,.0f} "
                f"MB more ({1e6 * took / people:.1f} µs and {1e6 * peak / people:,.0f} bytes each)",
                flush=True,
            )


if __name__ == "__main__":
    main()
