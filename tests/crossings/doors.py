"""One case through all doors: each verdict is held against what worlds say of the written files."""

import csv
import json
import random
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
from tests.crossings import sights
from tests.crossings.definitions import CRITERIA, in_label
from tests.crossings.tables import VALUES, arrow, drawn
from tests.crossings.worlds import (
    Facts,
    NoWorldError,
    added_up,
    most_times,
    sure_by_implications,
    sure_of,
    surest,
    surest_by_implications,
    surest_by_negations,
)

import foreknow as fk
from foreknow_judge import verify as judges


class Wrong(AssertionError):
    """The product and the worlds differ."""


class Log:
    """What came of the cases: how many comparisons, how many of them say something."""

    def __init__(self):
        self.compared = Counter()  # by (door, feature)
        self.telling = Counter()  # the same, of figures that are neither 0 nor 1
        self.safe, self.unsafe = Counter(), Counter()
        self.equal = Counter()  # of upper bounds: whether they are reached
        self.refused = Counter()
        self.examples = {}
        self.pairs = Counter()  # telling comparisons in which two features meet
        self.doors = Counter()  # by (door, feature)
        self.wrong = []  # (seed, what differs)
        self.open = Counter()
        self.codes = Counter()
        self.refused_pairs = Counter()
        self.cases = 0

    def refuse(self, case, door, error):
        said = str(error).split("\n")[0]
        features = features_of(case)
        key = (door, type(error).__name__, error.code, said[:90])
        self.refused[key] += 1
        self.codes[error.code] += 1
        self.examples.setdefault(key, (case.seed, features, said))
        for pair in combinations(features, 2):
            self.refused_pairs[pair] += 1

    def compare(self, case, door, truth, safe):
        self.compared[door] += 1
        told = 0 < truth < 1
        self.telling[door] += told
        (self.safe if safe else self.unsafe)[door] += 1
        features = features_of(case)
        for one in features:
            self.doors[door, one] += 1
        for pair in combinations(features, 2):
            self.pairs[pair] += told

    def add(self, other):
        """Take over what came of other cases."""
        for name, own in vars(other).items():
            if isinstance(own, Counter):
                getattr(self, name).update(own)
        self.cases += other.cases
        self.wrong += other.wrong
        for key, example in other.examples.items():
            self.examples.setdefault(key, example)

    def report(self):
        """What was compared, door by door, and what was refused."""
        lines = [f"{self.cases} cases; bounds {dict(self.equal)}; open {dict(self.open)}"]
        for door, many in self.compared.items():
            told, safe = self.telling[door], self.safe[door]
            lines.append(f"{door}: {many} compared, {told} telling, {safe} safe")
        for key, many in self.refused.most_common():
            lines.append(f"refused {many} times: {key}, such as seed {self.examples[key][0]}")
        return "\n".join(lines)


def features_of(case):
    """What of a case is not plain, in the order of `tables.VALUES`."""
    return [value for value in VALUES if case.of[value[0]] == value[1]]


def kind_of(case):
    asked = case.asked
    return [k for k in ("priors", "facts", "implications", "negations", "criterion") if k in asked]


# ---- the truth ---------------------------------------------------------------------------------


def amounts_of(case):
    return Facts(**{name: case.asked.get("facts", {}).get(name, 0) for name in "lkm"})


def truth_of(case, groups, place):
    """How sure somebody becomes of each secret, by its name."""
    groups, kind = [*groups.values()], kind_of(case)[0]
    semantics = sights.semantics_of(case, case.secret)
    if semantics != "single" and (kind != "facts" or counts_people(case, place)):
        raise NoWorldError  # nobody has said what they would know
    found = {}
    for name, secret in sights.secrets_of(case, groups).items():
        if kind == "priors":
            reading = case.asked["priors"]["semantics"]
            found[name] = surest(groups, secret, amounts_of(case), "single", reading)
        elif counts_people(case, place):
            if kind == "implications":
                sure = sure_by_implications(groups, secret, case.asked[kind]["k"])
            else:
                ruled = Facts(case.asked[kind]["k"]) if kind == "negations" else amounts_of(case)
                sure = sure_of(groups, secret, ruled)
            found[name] = added_up(groups, sure)
        elif kind == "implications":
            found[name] = surest_by_implications(groups, secret, case.asked[kind]["k"])
        elif kind == "negations":
            found[name] = surest_by_negations(groups, secret, case.asked[kind]["k"])
        else:
            found[name] = surest(groups, secret, amounts_of(case), semantics)
    return found


def times_of(case, groups):
    """How many times as likely as before something becomes."""
    groups, reading = [*groups.values()], case.asked["priors"]["semantics"]
    secrets = sights.secrets_of(case, groups).values()
    return max(most_times(groups, secret, amounts_of(case), reading) for secret in secrets)


def counts_people(case, place):
    return case.schema.get("unit") == "row" and place != "files"


def is_bound(case, groups):
    """Whether the product says that its figure may be above the truth."""
    if "priors" in case.asked:
        own = amounts_of(case)
        return own.k + own.m > 0
    if any(member.barred for group in groups.values() for member in group):
        return True
    barred = {v for group in groups.values() for member in group for v in member.cannot}
    if not barred:
        return False
    secrets = sights.secrets_of(case, [*groups.values()]).values()
    return any(secret != barred for secret in secrets) or "negations" in case.asked


# ---- limits ------------------------------------------------------------------------------------


def limits_near(rng, case, truth):
    """A limit at the truth, or a step beside it: (key, amount)."""
    step = Fraction(1, rng.choice([50, 10**6, 10**12]))
    keys = ["below", "at_most"] if "priors" in case.asked else ["below"]
    key = rng.choice(keys)
    found = [(key, truth), (key, truth), (key, truth + step), (key, truth - step)]
    found = [(key, amount) for key, amount in found if 0 < amount <= 1]
    return rng.choice(found) if found else ("below", Fraction(1, 2))


def keeps(truth, key, amount):
    return truth <= amount if key == "at_most" else truth < amount


# ---- policies ----------------------------------------------------------------------------------


def policy_of(case, limit, place, folder, asked=None):
    """The policy of a case with a limit; of files it has no schema."""
    asked = dict(case.asked if asked is None else asked)
    if place == "files" and "knowing" in asked:
        asked["knowing"] = [name for name in asked["knowing"] if name not in case.hidden]
    if "priors" in asked:
        path = folder / "priors.csv"
        if not path.exists():
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, ["sex", "value", "probability"])
                writer.writeheader()
                writer.writerows(case.priors)
        asked["priors"] = {**asked["priors"], "file": str(path)}
    asked[limit[0]] = str(limit[1])
    given = {"require": [asked]}
    schema = dict(case.schema)
    if place == "files" and schema.get("unit") == "row":
        schema.pop("person")
    given["schema"] = schema
    if place == "owner":
        given |= {"publish": case.publish}
    return fk.Policy.from_dict(given)


# ---- what a verdict says -----------------------------------------------------------------------


def figures(verdict):
    """What a verdict says of its secrets, as far as it names them; the worst first."""
    found = verdict.found
    return getattr(found, "settled", found.exact)


def hold(log, case, door, verdict, truth, limit, bound):
    """Compare a verdict with the truth."""
    worst = max(truth.values(), default=Fraction(0))
    reached = figures(verdict)
    reached = verdict.reached if reached is None else reached
    if reached is None and verdict.probability == 1:
        reached = Fraction(1)  # of a bound that no fraction is known of
    safe = keeps(worst, *limit)
    said = f"{door}: truth {worst}, said {reached}, limit {limit}, safe {verdict.safe}"
    if verdict.safe and not safe:
        raise Wrong(f"WRONG SAFE {said}")
    if reached is None:
        raise Wrong(f"no figure {said}")
    if reached < worst:
        raise Wrong(f"figure below the truth: {said}")
    if not bound:
        if reached != worst or verdict.safe != safe:
            raise Wrong(f"differs: {said}")
    else:
        log.equal[door, reached == worst] += 1
        near = abs(reached - limit[1]) < Fraction(1, 10**9)  # then a bound counts as not kept
        if verdict.safe != keeps(reached, *limit) and (verdict.safe or not near):
            raise Wrong(f"verdict is not that of its figure: {said}")
    log.compare(case, door, worst, verdict.safe)


# ---- doors -------------------------------------------------------------------------------------


def audit_of_table(log, case, rng, folder):
    """An audit of a frame of the raw table."""
    people = sights.people_of(case, case.rows)
    groups = sights.groups_of(case, people, sights.raw_label(case), "raw")
    if "criterion" in case.asked:
        return criterion_of_table(log, case, rng, folder, groups)
    try:
        truth = truth_of(case, groups, "raw")
    except NoWorldError:
        truth = {}
    worst = max(truth.values(), default=Fraction(0))
    bound = is_bound(case, groups)
    limit = limits_near(rng, case, worst)
    found = fk.audit(case.table, policy_of(case, limit, "raw", folder), learned=False)
    if not truth and not found.idle:
        raise Wrong("there is a verdict where there is no world")
    if found.idle and not worst:
        return worst
    hold(log, case, "table", found.verdicts[0], truth, limit, bound)
    if found.safe != found.verdicts[0].safe:
        raise Wrong("an audit is not its verdict")
    if "priors" in case.asked:
        audit_of_times(log, case, rng, folder, groups, bound)
    return worst


def audit_of_times(log, case, rng, folder, groups, bound):
    """The same by a limit that is a multiple of each person's prior."""
    times = times_of(case, groups)
    step = Fraction(1, rng.choice([50, 10**6]))
    amount = max(Fraction(1), rng.choice([times, times + step, times - step]))
    policy = policy_of(case, ("at_most_times", amount), "raw", folder)
    verdict = fk.audit(case.table, policy, learned=False).verdicts[0]
    safe = times <= amount
    if (verdict.safe and not safe) or (not bound and verdict.safe != safe):
        raise Wrong(f"{times} times the prior, limit {amount}, safe {verdict.safe}")
    log.compare(case, "times", Fraction(1, 2), verdict.safe)


def not_compared(case, door):
    """Why a case is not compared at a door, if it is not."""
    others = {*sights.sensitives(case)} - {case.secret}
    if "implications" in case.asked and sights.shared_in(case, case.secret):
        return "implications end with what a household shows elsewhere: the figure is too high"
    if door == "table" and case.schema.get("missing") == "drop" and others:
        return "an audit of a table judges all that shows, and publish leaves rows out"
    return None


def run(log, case, folder):
    """A case through its doors."""
    rng = random.Random(f"doors of {case.seed}")
    log.cases += 1
    worst = None if "criterion" in case.asked else Fraction(1, 2)
    for door in ("table", "publish"):
        fault = not_compared(case, door)
        if fault:
            log.open[fault] += 1
            continue
        try:
            if door == "table":
                worst = audit_of_table(log, case, rng, folder)
            else:
                release(log, case, rng, folder, worst)
        except fk.InputError as error:
            log.refuse(case, door, error)


def criterion_of_table(log, case, rng, folder, groups):
    """The same for a criterion; returns the table that was drawn."""
    own = CRITERIA[case.asked["criterion"]]
    if sights.semantics_of(case, case.secret) != "single" and not sights.counts_sizes(case):
        own = CRITERIA["distinct"]  # of one value each, as all of them are
    attained = own.attained(case, groups)
    table = own.drawn(rng, attained)
    found = fk.audit(case.table, criterion_policy(case, table, "raw", folder), learned=False)
    agree(log, case, "table", found.verdicts[0], own, attained, table)
    return table


def agree(log, case, door, verdict, own, attained, table):
    """Compare a verdict on a criterion with its definition."""
    holds = own.keeps(attained, table)
    figure = own.reached and own.reached(attained)
    said = f"{door}: {table} attains {attained}, said {verdict.reached}, safe {verdict.safe}"
    if verdict.safe != holds:
        raise Wrong(f"{'WRONG SAFE' if verdict.safe else 'wrongly unsafe'} {said}")
    if figure is not None and verdict.reached != figure:
        raise Wrong(f"another figure {said}")
    log.compare(case, door, Fraction(1, 2), holds)


def criterion_policy(case, table, place, folder):
    """A policy with a criterion, and a limit beside where it is published."""
    asked = {name: own for name, own in case.asked.items() if name in ("sensitive", "knowing")}
    if place == "files" and "knowing" in asked:
        asked["knowing"] = [name for name in asked["knowing"] if name not in case.hidden]
    table = {name: dict(own) if isinstance(own, dict) else own for name, own in table.items()}
    for name in {"k_map", "delta_presence"} & {*table}:
        path = folder / "population.csv"
        if not path.exists():
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, [*case.population[0]])
                writer.writeheader()
                writer.writerows(case.population)
        table[name]["population"] = str(path)
    given = {"require": [{**asked, **table}], "schema": dict(case.schema)}
    if place == "files":
        given["schema"].pop("person", None) if given["schema"].get("unit") == "row" else None
    if place == "owner":
        given["publish"] = case.publish
    return fk.Policy.from_dict(given)


def criterion_release(log, case, rng, folder, table):
    """What is published by a criterion, and judged by every door."""
    own = CRITERIA[case.asked["criterion"]]
    try:
        made = fk.publish(
            case.table, criterion_policy(case, table, "owner", folder), seed=case.seed
        )
    except fk.NoSafeRelease:
        log.compare(case, "none", Fraction(1, 2), False)
        return
    out = folder / "out"
    made.write(out)
    people, label_of = as_written(case, case.rows, out)
    groups = sights.groups_of(case, people, label_of, "owner")
    attained = own.attained(case, groups)
    agree(log, case, "publish", made.audit.verdicts[0], own, attained, table)
    groups = sights.groups_of(case, people, label_of, "files")
    attained = own.attained(case, groups)
    compared = case.asked["criterion"] in ("k_map", "delta_presence")
    register = {"population": folder / "population.csv"} if compared else {}
    if case.asked["criterion"] != "households":
        (finding,) = fk.verify(out, **register).findings
        agree(log, case, "verify", finding, own, attained, table)
        (finding,) = judges.verify(out, **register).findings
        agree(log, case, "judge", finding, own, attained, table)
        table = own.drawn(rng, attained)
    other = criterion_policy(case, table, "files", folder)
    audited = fk.audit(out, other, learned=False)
    agree(log, case, "folder", audited.verdicts[0], own, attained, table)
    try:
        verified = fk.verify(out, other, **register)
    except fk.InputError as error:
        if type(error).__name__ != "CertificateError" or audited.safe:
            raise Wrong(f"verify refuses what audit does not: {error}") from error
    else:
        agree(log, case, "verify by policy", verified.findings[0], own, attained, table)


def release(log, case, rng, folder, worst):
    """What is published, written, and judged by every door."""
    if "criterion" in case.asked:
        if worst is not None:
            criterion_release(log, case, rng, folder, worst)
        return
    limit = limits_near(rng, case, worst)
    if rng.random() < 0.5:
        limit = "below", max(limit[1], Fraction(rng.choice([60, 80, 95]), 100))
    policy = policy_of(case, limit, "owner", folder)
    try:
        made = fk.publish(case.table, policy, seed=case.seed)
    except fk.NoSafeRelease:
        none_is_safe(log, case, limit)
        return
    out = folder / "out"
    made.write(out)
    people, label_of = as_written(case, case.rows, out)
    groups = sights.groups_of(case, people, label_of, "owner")
    truth = truth_of(case, groups, "owner")
    bound = is_bound(case, groups)
    hold(log, case, "publish", made.audit.verdicts[0], truth, limit, bound)
    if not made.audit.safe:
        raise Wrong("an unsafe release is published")
    by_files(log, case, rng, folder, out, people, label_of, limit)
    if case.later:
        several(log, case, folder, policy, groups, limit)


def several(log, case, folder, policy, groups, limit):
    """A second release, of newcomers; both are judged as one."""
    first, second = folder / "out", folder / "second"
    rows = [*case.rows, *case.later]
    try:
        made = fk.publish(arrow(rows), policy, seed=case.seed, after=[first])
    except fk.NoSafeRelease:
        return
    made.write(second)
    known = len(case.rows)
    newcomers = {n: row for n, row in sights.people_of(case, rows).items() if n > known}
    people, label_of = as_written(case, rows, second, newcomers)
    owned = sights.groups_of(case, people, label_of, "owner")
    truth = truth_of(
        case, {**groups, **{(key, "second"): own for key, own in owned.items()}}, "owner"
    )
    bound = is_bound(case, {**groups, **{(key, 2): own for key, own in owned.items()}})
    hold(log, case, "together", made.together.verdicts[0], truth, limit, bound)
    for door, verified in (
        ("verify after", fk.verify(second, after=[first])),
        ("judge after", judges.verify(second, after=[first])),
    ):
        hold(log, case, door, verified.together[0], truth, limit, bound)
    tight = limits_near(random.Random(case.seed), case, max(truth.values(), default=Fraction(0)))
    audited = fk.audit([first, second], policy_of(case, tight, "files", folder), learned=False)
    hold(log, case, "audit of several", audited.verdicts[0], truth, tight, bound)


def by_files(log, case, rng, folder, out, people, label_of, limit):
    """Everything that is judged from the files alone."""
    groups = sights.groups_of(case, people, label_of, "files")
    truth = truth_of(case, groups, "files")
    bound = is_bound(case, groups)
    worst = max(truth.values(), default=Fraction(0))
    if not worst:
        return
    (finding,) = fk.verify(out).findings
    hold(log, case, "verify", finding, truth, limit, bound)
    (finding,) = judges.verify(out).findings
    hold(log, case, "judge", finding, truth, limit, bound)
    tight = limits_near(rng, case, worst)
    stricter = policy_of(case, tight, "files", folder)
    audited = fk.audit(out, stricter, learned=False)
    if "impossible" in case.schema:  # whoever perhaps cannot have a value is not counted
        owner = truth_of(case, sights.groups_of(case, people, label_of, "files", "owner"), "files")
        hold(log, case, "folder", audited.verdicts[0], owner, tight, bound=True)
    else:
        hold(log, case, "folder", audited.verdicts[0], truth, tight, bound)
    try:
        verified = fk.verify(out, stricter)
    except fk.InputError as error:
        if type(error).__name__ != "CertificateError" or audited.safe:
            raise Wrong(f"verify by policy refuses what an audit does not: {error}") from error
        log.compare(case, "verify by policy", worst, False)
    else:
        bound |= "impossible" in case.schema
        hold(log, case, "verify by policy", verified.findings[0], truth, tight, bound)


def none_is_safe(log, case, limit):
    """One group of everybody is not safe, where merging never helps."""
    plain = case.schema.get("unit") != "row" and "impossible" not in case.schema
    one = sights.semantics_of(case, case.secret) == "single"
    if not plain or not one or "priors" in case.asked or case.publish["method"] == "anatomy":
        return
    people = sights.people_of(case, case.rows)
    groups = sights.groups_of(case, people, lambda number, row: "*", "owner")
    worst = max(truth_of(case, groups, "owner").values(), default=Fraction(0))
    if case.publish["form"] == "generalized" and keeps(worst, *limit):
        raise Wrong(f"no release, though one group of everybody has {worst}, limit {limit}")
    log.compare(case, "none", worst, False)


# ---- files -------------------------------------------------------------------------------------


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_written(case, rows, out, people=None):
    """Who is published, and the label of each, from the owner's list; compared with the files."""
    later = people is not None  # rows are numbered among those of newcomers
    people = people if later else sights.people_of(case, rows)
    listed = pq.read_table(out.with_name(out.name + ".owner") / "members.parquet").to_pylist()
    said = json.loads((out / "certificate.json").read_text())["release"]
    columns = said["groups"]
    by_pid = "row" not in listed[0] or later
    label = {}
    for row in listed:
        key = row["pid"] if by_pid else row["row"]
        if row[columns[0]] is None:
            continue  # left out, as a value is missing
        label[key] = tuple(sights.text_of(row[name]) for name in columns)
    if by_pid:
        label = {n: label[row["pid"]] for n, row in people.items()}
    if {*label} != {*people}:
        raise Wrong(f"published are rows {sorted(label)}, not {sorted(people)}")
    compare_files(case, people, label, out, said)
    if said["form"] == "generalized":
        for number, row in people.items():
            for name, part in zip(columns, label[number], strict=True):
                if not in_label(case, name, part, row[name]):
                    raise Wrong(f"{row} is not in its label {label[number]}")
    return people, lambda number, row: label[number]


def compare_files(case, people, label, out, said):
    """The files hold the values of these people, in these groups, and nothing else."""
    unlinked = {*case.publish.get("unlinked", ())}
    called = {name: name + "_shuffled" for name in unlinked}
    single = all(sights.semantics_of(case, name) == "single" for name in sights.sensitives(case))
    if said["form"] == "generalized" and single:
        linked = [*case.schema.get("other", ()), *sights.sensitives(case)]
        linked += ["home_shown"] if "shared" in case.schema else []
        rows = rows_of(out / "release.csv")
        together = [name for name in linked if name not in unlinked]
        for names in [together, *([name] for name in unlinked)]:
            written = Counter(
                (*(row[g] for g in said["groups"]), *(row[called.get(n, n)] for n in names))
                for row in rows
            )
            meant = Counter(
                (*label[number], *(_cell(row[n]) for n in names)) for number, row in people.items()
            )
            if written != meant:
                raise Wrong(f"the file says {written - meant}, the table {meant - written}")
        return
    tables = defaultdict(Counter)
    for path in sorted(out.glob("sensitive*.csv")):
        for row in rows_of(path):
            for name in sights.sensitives(case):
                if name in row:
                    key = (*(row[g] for g in said["groups"]), row[name])
                    tables[name][key] += int(row["count"])
    for name in sights.sensitives(case):
        meant = Counter((*label[n], v) for n, row in people.items() for v in row[name])
        if tables[name] != meant:
            raise Wrong(f"{name}: the file says {tables[name]}, the table {meant}")
    written = Counter(tuple(row[g] for g in said["groups"]) for row in rows_of(out / "people.csv"))
    if written != Counter(label.values()):
        raise Wrong(f"people.csv says {written}, the owner's list {Counter(label.values())}")


def _cell(value):
    return value[0] if isinstance(value, tuple) else sights.text_of(value)


def run_all(seeds):
    """Every case of some seeds; what differs is in `Log.wrong`."""
    log = Log()
    for seed in seeds:
        case = drawn(seed)
        with TemporaryDirectory() as folder:
            try:
                run(log, case, Path(folder))
            except Exception as error:
                log.wrong.append((seed, features_of(case), f"{type(error).__name__}: {error}"))
    return log
