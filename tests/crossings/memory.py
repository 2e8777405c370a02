"""One case through the doors without files: frames, Microdata, counts, tallies, dials, groups."""

import csv
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from tests.crossings import sights
from tests.crossings.doors import (
    Log,
    Wrong,
    amounts_of,
    asked_near,
    features_of,
    hold_all,
    is_bound,
    keeps,
    not_compared,
    policy_of,
    release,
    times_of,
    truth_at,
    truths_at,
)
from tests.crossings.tables import drawn
from tests.crossings.worlds import sure_of

import foreknow as fk
from foreknow.features.explore import release as explored
from foreknow.features.explore.session import JudgedSource

SHARE_WITH_FILES = 0.1
ATTEMPTS = 5
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


class Audited:
    """What is asked of the raw table of a case, and the truths."""

    def __init__(self, case, rng, folder, label=None):
        self.case, self.rng, self.folder = case, rng, folder
        self.people = sights.people_of(case, case.rows)
        self.label = label or sights.raw_label(case)
        self.truths = truths_at(case, self.groups_of, "raw")
        self.ask()

    def ask(self):
        """Ask with other limits near the truths."""
        self.every = asked_near(self.rng, self.case, self.truths)
        self.policy = policy_of(self.case, self.every, "raw", self.folder)

    def groups_of(self, case):
        return sights.groups_of(case, self.people, self.label, "raw")


class Division(Audited):
    """The same of a table with a group column, whose quasi-identifiers stand beside the secret."""

    def groups_of(self, case):
        alike = sights.counts_sizes(case) and case.asked["criterion"] != "group_size"
        known = not alike and "knowing" not in case.asked  # which says that nobody knows them
        names = case.schema["quasi_identifiers"] if known else []

        def label(number, row):
            return (row["g"], *(sights.text_of(row[name]) for name in names))

        return sights.groups_of(case, self.people, label, "raw")


def audit_of(log, own, door, table, policy=None):
    """An audit of a table by the policy of a case."""
    audit = fk.audit(table, policy or own.policy, learned=False)
    hold_all(log, door, own.every, audit.verdicts, own.truths)
    safe = [verdict.safe for verdict in audit.verdicts if not verdict.idle]
    if audit.safe != (bool(safe) and all(safe)):
        raise Wrong(f"{door}: an audit is not its verdicts")
    return audit


def of_table(log, own):
    """An audit of an Arrow table, and by a limit that is a multiple of each person's prior."""
    result = audit_of(log, own, "table", own.case.table)
    case, rng = own.case, own.rng
    people_over(log, own, result)
    if "priors" not in case.asked or case.also:
        return
    groups = own.groups_of(case)
    times = times_of(case, groups)
    step = Fraction(1, rng.choice([50, 10**6]))
    amount = max(Fraction(1), rng.choice([times, times + step, times - step]))
    asked = own.every[0]._replace(limit=("at_most_times", amount))
    policy = policy_of(case, [asked], "raw", own.folder)
    verdict = fk.audit(case.table, policy, learned=False).verdicts[0]
    safe = times <= amount
    if (verdict.safe and not safe) or (not is_bound(case, groups) and verdict.safe != safe):
        raise Wrong(f"{times} times the prior, limit {amount}, safe {verdict.safe}")
    log.compare(case, "times", Fraction(1, 2), verdict.safe)


def people_over(log, own, found):
    """Compare how many people have a value of which somebody is too sure, by facts."""
    case = own.case
    plain = case.schema.get("unit") != "row" and "impossible" not in case.schema
    one = sights.semantics_of(case, case.secret) == "single"
    if not plain or not one or case.points or case.also or {*case.asked} & {"priors", "within"}:
        return
    if "facts" not in case.asked or found.idle:
        return
    groups = [*own.groups_of(case).values()]
    counts = Counter()
    for secret in sights.secrets_of(case, groups).values():
        for position, sure in enumerate(sure_of(groups, secret, amounts_of(case))):
            for number, one in enumerate(sure):
                if groups[position][number].values[0] in secret:
                    counts[position, number] = max(counts[position, number], one)
    over = sum(not keeps(sure, *own.every[0].limit) for sure in counts.values())
    (exposed,) = found.exposed
    if exposed.over.people != over:
        raise Wrong(f"{exposed.over.people} people are over the limit, not {over}: {case.asked}")
    log.compare(case, "people over", Fraction(1, 2), over == 0)


def of_microdata(log, own):
    audit_of(log, own, "microdata", fk.Microdata(own.case.table, own.policy.schema))


def of_frame(log, own):
    if own.rng.random() < 0.5:
        audit_of(log, own, "Polars", pl.from_arrow(own.case.table))
    else:
        audit_of(log, own, "pandas", own.case.table.to_pandas())


def of_file(log, own):
    """An audit of a file with the raw table."""
    rows, parquet = own.case.rows, own.folder / "raw.parquet"
    if own.rng.random() < 0.5 or any(isinstance(v, list) for row in rows for v in row.values()):
        pq.write_table(own.case.table, parquet)
        audit_of(log, own, "raw Parquet", parquet)
        return
    path = own.folder / "raw.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    audit_of(log, own, "raw CSV", path)


def divided(own):
    """The same case with a column that says which group each row is of: few uneven groups."""
    case, rng = own.case, own.rng
    many = rng.choice([1, 2, 2, 3, 4])
    rows = [{**row, "g": str(min(rng.randrange(many), rng.randrange(many)))} for row in case.rows]
    result = replace(case, rows=rows)
    result.also = [replace(each, rows=rows) for each in case.also]
    return result


def of_division(log, own):
    """An audit of a table with a group column, whose rows show quasi-identifiers, too."""
    case = divided(own)
    for each in (case, *case.also):
        each.schema = each.schema | {"group": "g"}
    audit_of(log, Division(case, own.rng, own.folder), "division", case.table)


def of_groups(log, own):
    """An audit of a release of groups by their numbers, which shows no quasi-identifiers."""
    case = divided(own)
    schema, sensitives = case.schema, sights.sensitives(case)
    again = Audited(case, own.rng, own.folder, lambda number, row: ("group", row["g"]))
    several = any(sights.semantics_of(case, name) != "single" for name in sensitives)
    release = fk.Release.from_groups(
        case.table,
        group="g",
        sensitive=sensitives,
        person="pid" if several else None,
        semantics=schema.get("semantics", "single"),
        missing=schema.get("missing", "error"),
        other=schema.get("other", ()),
    )
    policy = policy_of(case, again.every, "raw", own.folder, schema={})
    audit_of(log, again, "groups", release, policy)


def of_tally(log, own):
    """An audit of how often each row occurs."""
    case = own.case
    schema = case.schema
    columns = [*schema["quasi_identifiers"], *sights.sensitives(case), *schema.get("other", ())]
    counts = Counter(tuple(row[name] for name in columns) for row in case.rows)
    rows = [{**dict(zip(columns, key, strict=True)), "count": n} for key, n in counts.items()]
    tally = fk.Release.from_tally(
        pa.Table.from_pylist(rows),
        group=schema["quasi_identifiers"],
        sensitive=sights.sensitives(case),
        other=schema.get("other", ()),
        missing=schema.get("missing", "error"),
    )
    audit_of(log, own, "tally", tally)


def of_counts(log, own):
    """An audit of bare counts, and what an adversary says of them."""
    case, rng = own.case, own.rng
    semantics = sights.semantics_of(case, case.secret)

    def groups_of(each):
        return sights.groups_of(each, own.people, own.label, "counts")

    bags = [[member.values for member in group] for group in groups_of(case).values()]
    if semantics == "single":
        counts = fk.GroupCounts.from_bags([[v for (v,) in bag] for bag in bags])
    else:
        kind = set if semantics == "set" else list
        counts = fk.GroupCounts.from_people(
            [[*map(kind, bag)] for bag in bags], semantics=semantics
        )
    truths = truths_at(case, groups_of, "raw")
    every = asked_near(rng, case, truths)
    bare = replace(case, asked=bare_of(case.asked))
    every = [
        each._replace(case=replace(each.case, asked=bare_of(each.case.asked))) for each in every
    ]
    policy = policy_of(bare, every, "raw", own.folder, schema={})
    audit = fk.audit(counts, policy, learned=False)
    hold_all(log, "counts", every, audit.verdicts, truths)


def bare_of(asked):
    return {name: own for name, own in asked.items() if name not in ("sensitive", "knowing")}


def of_dials(log, own):
    """What the local page says where its dials are turned to other amounts and limits."""
    case, rng = own.case, own.rng
    looked = JudgedSource("table", own.folder, False, own.policy, case.table)
    amounts = {name: rng.choice([0, 0, 1, 2]) for name in "lkm"}
    kinds = ("facts", "implications", "negations", "priors")
    asked = {name: given for name, given in case.asked.items() if name not in kinds}
    turned = replace(case, asked=asked | {"facts": amounts}, priors=[], points=[], also=[])
    truth = truth_at(turned, own.groups_of(turned), "raw")
    step = Fraction(1, rng.choice([50, 10**6]))
    limit = rng.choice([truth.worst, truth.worst + step, truth.worst - step])
    if not 0 < limit <= 1:
        return
    given = {"requirement": "1", "limit": str(limit), **{k: str(n) for k, n in amounts.items()}}
    text = explored.judge(looked, given)
    safe, mood = keeps(truth.worst, "below", limit), text["mood"]
    if (mood != "unsafe") != safe and (mood != "unsafe" or not truth.bound):
        wrong = "WRONG SAFE" if mood != "unsafe" else "differs"
        raise Wrong(f"{wrong} dials: truth {truth.worst}, {given}, said {text['sentence']}")
    log.compare(case, "dials", truth.worst, mood != "unsafe")


def doors_of(case):
    """Which doors are open to a case, beside that of its table."""
    schema, asked = case.schema, [own.asked for own in (case, *case.also)]
    one = all(sights.semantics_of(case, name) == "single" for name in sights.sensitives(case))
    plain = schema.get("unit") != "row" and "shared" not in schema
    hidden = any({*own.get("knowing", ())} & {*case.hidden} for own in asked)
    households = any(own.get("criterion") == "households" for own in asked)
    read = "reading" in schema or case.of["typed"] not in ("text", "dates")
    knowing = any("knowing" in own for own in asked)
    sizes = any(sights.counts_sizes(own) for own in (case, *case.also))
    alpha = any(own.get("criterion") == "alpha_k" for own in asked)
    results = [of_microdata, of_frame, of_file]
    labels = "hierarchies" in schema and "ill" in schema["hierarchies"]
    of_sizes = any(own.get("criterion") in ("levels", *POPULATIONS) for own in asked)
    if "shared" not in schema and not of_sizes and not alpha and not (sizes and knowing):
        results.append(of_division)
    plainly = plain and "impossible" not in schema and not hidden and not households and not read
    if plainly and not labels and not of_sizes and not case.priors:
        results += [of_groups] * 3
    if one and plain and not hidden and not households and not read and "impossible" not in schema:
        results.append(of_tally)
    if plain and "impossible" not in schema and not households and not labels and not of_sizes:
        same = len({own.secret for own in (case, *case.also)}) == 1
        results += [of_counts] * (same and not case.priors)
    if "criterion" not in case.asked:
        results.append(of_dials)
    return results


POPULATIONS = ("k_map", "delta_presence", "population_risk")


def run(log, case, folder, share=SHARE_WITH_FILES):
    """A case through its doors; a share of all cases through those with files, too."""
    rng = random.Random(f"doors of {case.seed}")
    log.cases += 1
    own, fault = None, not_compared(case, "table")
    if fault:
        log.open[fault] += 1
    else:
        try:
            own = Audited(case, rng, folder)
            log.figures += any(truth.sure for truth in own.truths)
            log.between += any(0 < truth.worst < 1 for truth in own.truths)
            of_table(log, own)
        except fk.InputError as error:
            log.refuse(case, "table", error)
            own = None
    if own is not None:
        door = rng.choice(doors_of(case))
        try:
            own.ask()
            door(log, own)
        except fk.InputError as error:
            log.refuse(case, door.__name__, error)
    if rng.random() < share and not not_compared(case, "publish"):
        try:
            release(log, case, rng, folder)
        except fk.InputError as error:
            log.refuse(case, "publish", error)


def telling(seed):
    """The case of a seed, of which nothing is sure and something is open, as far as that may be."""
    for attempt in range(ATTEMPTS if seed % 7 else 1):
        case = drawn(seed, attempt)
        if "criterion" in case.asked or not_compared(case, "table"):
            return case
        try:
            people, label = sights.people_of(case, case.rows), sights.raw_label(case)
            truth = truth_at(case, sights.groups_of(case, people, label, "raw"), "raw")
        except Exception:  # which is said where the case is judged
            return case
        if 0 < truth.worst < 1:
            return case
    return drawn(seed)


def run_all(seeds, share=SHARE_WITH_FILES):
    """Every case of some seeds; what differs is in `Log.wrong`."""
    log = Log()
    for seed in seeds:
        case = telling(seed)
        with TemporaryDirectory(dir=MEMORY) as folder:
            try:
                run(log, case, Path(folder), share)
            except Exception as error:
                log.wrong.append((seed, features_of(case), f"{type(error).__name__}: {error}"))
    return log
