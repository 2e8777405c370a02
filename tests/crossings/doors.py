"""One case through the doors with files: each verdict is held against what worlds say of them.

What is asked of a case, and how a verdict is held against the truth, serves the doors without
files, too (`memory`).
"""

import csv
import json
import random
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, groupby
from math import nextafter
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from tests.crossings import sights
from tests.crossings.definitions import CRITERIA, OF_POPULATION, in_label, number_of
from tests.crossings.tables import VALUES, lacking, unrounded
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
        # cases, those in which somebody could become surer, and those in which nobody is sure
        self.cases, self.figures, self.between = 0, 0, 0

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
        for feature in features:
            self.doors[door, feature] += 1
        for pair in combinations(features, 2):
            self.pairs[pair] += told

    def add(self, other):
        """Take over what came of other cases."""
        for name, var in vars(other).items():
            if isinstance(var, Counter):
                getattr(self, name).update(var)
        self.cases += other.cases
        self.figures += other.figures
        self.between += other.between
        self.wrong += other.wrong
        for key, example in other.examples.items():
            self.examples.setdefault(key, example)

    def report(self):
        """What was compared, door by door, and what was refused."""
        lines = [
            f"{self.cases} cases, {self.figures} with a figure, {self.between} between 0 and 1",
            f"bounds {dict(self.equal)}; open {dict(self.open)}",
        ]
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
    results = {}
    for name, secret in sights.secrets_of(case, groups).items():
        if kind == "priors":
            reading = case.asked["priors"]["semantics"]
            results[name] = surest(groups, secret, amounts_of(case), "single", reading)
        elif counts_people(case, place):
            if kind == "implications":
                sure = sure_by_implications(groups, secret, case.asked[kind]["k"])
            else:
                ruled = Facts(case.asked[kind]["k"]) if kind == "negations" else amounts_of(case)
                sure = sure_of(groups, secret, ruled)
            results[name] = added_up(groups, sure)
        elif kind == "implications":
            results[name] = surest_by_implications(groups, secret, case.asked[kind]["k"])
        elif kind == "negations":
            results[name] = surest_by_negations(groups, secret, case.asked[kind]["k"])
        else:
            results[name] = surest(groups, secret, amounts_of(case), semantics)
    return results


def times_of(case, groups):
    """How many times as likely as before something becomes."""
    groups, reading = [*groups.values()], case.asked["priors"]["semantics"]
    secrets = sights.secrets_of(case, groups).values()
    times = (most_times(groups, secret, amounts_of(case), reading) for secret in secrets)
    return max(times, default=Fraction(0))


def counts_people(case, place):
    return case.schema.get("unit") == "row" and place != "files"


def is_bound(case, groups):
    """Whether the product says that its figure may be above the truth."""
    if "priors" in case.asked:
        own = amounts_of(case)
        return own.k + own.m > 0
    if any(member.barred for group in groups.values() for member in group):
        return True
    cannot = {}  # a person with several cases may be unable to have a value in some of them
    for group in groups.values():
        for member in group:
            cannot.setdefault(member.person, set()).add(member.cannot)
    if any(len(by_case) > 1 for by_case in cannot.values()):
        return True
    barred = {v for group in groups.values() for member in group for v in member.cannot}
    if not barred:
        return False
    secrets = sights.secrets_of(case, [*groups.values()]).values()
    return any(secret != barred for secret in secrets) or "negations" in case.asked


def criterion_of(case):
    """The definition of the criterion that a case asks for."""
    if sights.semantics_of(case, case.secret) != "single" and not sights.counts_sizes(case):
        return CRITERIA["distinct"]  # of one value each, as all of them are
    return CRITERIA[case.asked["criterion"]]


# ---- what is asked, and by what limits ----------------------------------------------------------


OF_SETS = ("distinct", "entropy", "recursive", "alpha_k", "t_equal", "beta_likeness")
OF_SETS += ("delta_disclosure",)


class Asked(NamedTuple):
    """One verdict that a policy asks for: on what, with a limit or the table of a criterion."""

    case: Any
    limit: Any
    place: int = 0  # which requirement it is a point of
    index: int = 0  # of which of the case's truths it is

    @property
    def is_criterion(self):
        return "criterion" in self.case.asked

    @property
    def table(self):
        """The [[require]] table."""
        own = {name: given for name, given in self.case.asked.items() if name != "criterion"}
        if self.is_criterion:
            kept = ("sensitive", "knowing", *(["any_of"] if serves_sets(self.case) else []))
            return {name: given for name, given in own.items() if name in kept} | self.limit
        return own | {self.limit[0]: str(self.limit[1])}


class Truth(NamedTuple):
    """What holds of groups: how sure somebody becomes of each secret, or what is attained."""

    sure: dict
    bound: bool = False
    attained: Any = None

    @property
    def worst(self):
        return max(self.sure.values(), default=Fraction(0))


def serves_sets(case):
    """Whether a criterion takes values of a set for one."""
    return case.asked["criterion"] in OF_SETS and "any_of" in case.asked


def merged(case, groups):
    """Groups with the values of each set as one value, where a criterion takes them so."""
    if not serves_sets(case):
        return groups
    sets = sights.secrets_of(case, [*groups.values()])
    called = {value: f"any of {name}" for name, own in sets.items() for value in own}
    return {
        key: [own._replace(values=tuple(called.get(v, v) for v in own.values)) for own in group]
        for key, group in groups.items()
    }


def truth_at(case, groups, place):
    """The truth of groups."""
    if "criterion" in case.asked:
        return Truth({}, attained=criterion_of(case).attained(case, merged(case, groups)))
    try:
        return Truth(truth_of(case, groups, place), is_bound(case, groups))
    except NoWorldError:
        return Truth({})


def cases_asked(case):
    """What a case asks: itself with its other points, and what it asks beside; lists of cases."""
    points = [
        replace(case, asked={**case.asked, "facts": point}, points=[]) for point in case.points
    ]
    return [[case, *points], *([own] for own in case.also)]


def limit_near(rng, case, truth):
    """A limit at the truth, or a step beside it: (key, amount)."""
    step = Fraction(1, rng.choice([50, 10**6, 10**12]))
    keys = ["below", "at_most"] if "priors" in case.asked else ["below"]
    key = rng.choice(keys)
    results = [(key, truth), (key, truth), (key, truth + step), (key, truth - step)]
    results = [(key, amount) for key, amount in results if 0 < amount <= 1]
    return rng.choice(results) if results else ("below", Fraction(1, 2))


def keeps(truth, key, amount):
    return truth <= amount if key == "at_most" else truth < amount


def asked_near(rng, case, truths):
    """What is asked with limits near the truths of the cases."""
    results, index = [], 0
    for place, cases in enumerate(cases_asked(case)):
        for own in cases:
            truth = truths[index]
            if "criterion" in own.asked:
                limit = criterion_of(own).drawn(rng, truth.attained)
            else:
                limit = limit_near(rng, own, truth.worst)
            results.append(Asked(own, limit, place, index))
            index += 1
    return results


def truths_at(case, groups_of, place):
    """The truths of all that a case asks, in order; `groups_of` makes the groups of a case."""
    each = [own for cases in cases_asked(case) for own in cases]
    return [truth_at(own, groups_of(own), place) for own in each]


def policy_of(case, every, place, folder, schema=None):
    """A policy that asks for all of this; of files it does not name what is not published."""
    require = []
    for _, points in groupby(every, key=lambda own: own.place):
        first, *others = points
        table = in_place(case, first.table, place, folder)
        if others:
            table.pop("below")
            table["facts"] = [
                {**own.case.asked["facts"], "below": str(own.limit[1])} for own in (first, *others)
            ]
        require.append(table)
    given = {"require": require}
    schema = dict(case.schema) if schema is None else schema
    if place == "files" and schema.get("unit") == "row":
        schema.pop("person")
    if schema:
        given["schema"] = schema
    if place == "owner":
        given["publish"] = case.publish
    return fk.Policy.from_dict(given)


def in_place(case, table, place, folder):
    """A [[require]] table with its files beside, and without columns that are not there."""
    table = {name: dict(own) if isinstance(own, dict) else own for name, own in table.items()}
    if place == "files" and "knowing" in table:
        table["knowing"] = [name for name in table["knowing"] if name not in case.hidden]
    if "priors" in table:
        table["priors"]["file"] = written(folder / "priors.csv", case.priors)
    for name in OF_POPULATION & {*table}:
        table[name]["population"] = written(folder / "population.csv", case.population)
    return table


def written(path, rows):
    """The path of a CSV file with these rows."""
    if not path.exists():
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0]])
            writer.writeheader()
            writer.writerows(rows)
    return str(path)


# ---- what a verdict says -----------------------------------------------------------------------


def figure_of(verdict):
    """What a verdict says is reached."""
    result = verdict.found
    reached = getattr(result, "settled", result.exact)
    reached = verdict.reached if reached is None else reached
    if reached is None and (verdict.bounded or verdict.probability == 1):
        reached = Fraction(nextafter(verdict.probability, 1))  # of a bound without a fraction
    return reached


def hold(log, door, asked, verdict, truth):
    """Compare a verdict with the truth."""
    if asked.is_criterion:
        agree(log, door, asked, verdict, truth)
        return
    worst, limit, reached = truth.worst, asked.limit, figure_of(verdict)
    safe = keeps(worst, *limit)
    text = f"{door}: truth {worst}, said {reached}, limit {limit}, safe {verdict.safe}"
    text += f", {asked.case.asked}"
    if not worst:
        if not truth.sure and not verdict.idle:
            raise Wrong(f"there is a verdict where there is no world: {text}")
        return
    if verdict.safe and not safe:
        raise Wrong(f"WRONG SAFE {text}")
    if reached is None:
        raise Wrong(f"no figure {text}")
    if reached < worst:
        raise Wrong(f"figure below the truth: {text}")
    if not truth.bound:
        if reached != worst or verdict.safe != safe:
            raise Wrong(f"differs: {text}")
    else:
        log.equal[door, reached == worst] += 1
        near = abs(reached - limit[1]) < Fraction(1, 10**9)  # then a bound counts as not kept
        if verdict.safe != keeps(reached, *limit) and (verdict.safe or not near):
            raise Wrong(f"verdict is not that of its figure: {text}")
    log.compare(asked.case, door, worst, verdict.safe)


def agree(log, door, asked, verdict, truth):
    """Compare a verdict on a criterion with its definition."""
    own, attained, table = criterion_of(asked.case), truth.attained, asked.limit
    holds = own.keeps(attained, table)
    figure = own.reached and own.reached(attained)
    text = f"{door}: {table} attains {attained}, said {verdict.reached}, safe {verdict.safe}"
    text += f", {asked.case.asked}"
    if verdict.safe != holds:
        raise Wrong(f"{'WRONG SAFE' if verdict.safe else 'wrongly unsafe'} {text}")
    if figure is not None and verdict.reached != figure:
        raise Wrong(f"another figure {text}")
    log.compare(asked.case, door, Fraction(1, 2), holds)


def hold_all(log, door, every, verdicts, truths):
    """Compare all verdicts on what is asked with the truths of the cases."""
    if len(verdicts) != len(every):
        raise Wrong(f"{door}: {len(verdicts)} verdicts on {len(every)} limits")
    for asked, verdict in zip(every, verdicts, strict=True):
        hold(log, door, asked, verdict, truths[asked.index])


def not_compared(case, door):
    """Why a case is not compared at a door, if it is not."""
    for own in (case, *case.also):
        others = {*sights.sensitives(own)} - {own.secret}
        if door == "table" and own.schema.get("missing") == "drop" and others:
            return "an audit of a table judges all that shows, and publish leaves rows out"
    return None


# ---- doors -------------------------------------------------------------------------------------


def release(log, case, rng, folder):
    """What is published, written, and judged by every door."""
    whole, case = case, lacking(case, case.added) if case.added else case
    people = sights.people_of(case, case.rows)
    label = sights.raw_label(case)
    truths = truths_at(case, lambda own: sights.groups_of(own, people, label, "raw"), "raw")
    every = [loosened(rng, own) for own in asked_near(rng, case, truths)]
    policy = policy_of(case, every, "owner", folder)
    try:
        publication = fk.publish(unrounded(case, case.rows), policy, seed=case.seed)
    except fk.NoSafeRelease:
        none_is_safe(log, case, every)
        return
    out = folder / "out"
    publication.write(out)
    people, label_of = as_written(case, case.rows, out)
    hold_all(log, "publish", every, publication.audit.verdicts, of_owner(case, people, label_of))
    if not publication.audit.safe:
        raise Wrong("an unsafe release is published")
    by_owner(log, case, rng, folder, publication, people, label_of)
    by_files(log, case, rng, folder, out, people, label_of, every)
    if whole.added:
        people_of_whole = sights.people_of(whole, whole.rows)
        truths = truths_at(
            whole, lambda own: sights.groups_of(own, people_of_whole, label, "raw"), "raw"
        )
        every = [loosened(rng, own) for own in asked_near(rng, whole, truths)]
        policy = policy_of(whole, every, "owner", folder)
    if whole.later:
        several(log, whole, folder, policy, every, [(people, label_of)])


def by_owner(log, case, rng, folder, made, people, label_of):
    """What was published, judged by its owner with other limits: as it was made, and its folder."""
    truths = of_owner(case, people, label_of)
    again = asked_near(rng, case, truths)
    policy = policy_of(case, again, "owner", folder)
    hold_all(log, "made", again, fk.audit(made, policy, learned=False).verdicts, truths)
    bucketized = case.publish["form"] == "bucketized"  # whose groups have numbers
    if bucketized or case.schema.get("missing") == "drop" or only_owner_counts(case):
        return
    try:
        audited = fk.audit(folder / "out", policy, people=unrounded(case, case.rows), learned=False)
    except fk.InputError as error:
        log.refuse(case, "with people", error)
        return
    hold_all(log, "with people", again, audited.verdicts, truths)


def loosened(rng, asked):
    """Every other limit is one that a release can keep."""
    if asked.is_criterion or rng.random() < 0.5:
        return asked
    key = "below" if asked.limit[0] == "at_most_times" else asked.limit[0]
    return asked._replace(limit=(key, max(asked.limit[1], Fraction(rng.choice([60, 80, 95]), 100))))


def of_owner(case, people, label_of, place="owner"):
    """The truths of groups as they are written, and as their owner sees them."""
    return truths_at(case, lambda own: sights.groups_of(own, people, label_of, "owner"), place)


def register_of(case, folder):
    """The population that a verifier has, as it may be asked for."""
    compared = any(own.asked.get("criterion") in OF_POPULATION for own in (case, *case.also))
    return {"population": folder / "population.csv"} if compared else {}


def only_owner_counts(case):
    """Whether files do not show what a criterion counts."""
    return case.asked.get("criterion") == "households"


def by_files(log, case, rng, folder, out, people, label_of, every):
    """Everything that is judged from the files alone."""
    truths = truths_at(case, lambda own: sights.groups_of(own, people, label_of, "files"), "files")
    register = register_of(case, folder)
    shown = [own for own in every if not only_owner_counts(own.case)]
    if len(shown) == len(every):
        hold_all(log, "verify", every, fk.verify(out, **register).findings, truths)
        hold_all(log, "judge", every, judges.verify(out, **register).findings, truths)
    tight = asked_near(rng, case, truths)
    stricter = policy_of(case, tight, "files", folder)
    audited = fk.audit(out, stricter, learned=False)
    if "impossible" in case.schema:  # whoever perhaps cannot have a value is not counted
        owner = truths_at(
            case, lambda own: sights.groups_of(own, people, label_of, "files", "owner"), "files"
        )
        truths = [own._replace(bound=True) for own in owner]
    hold_all(log, "folder", tight, audited.verdicts, truths)
    try:
        verified = fk.verify(out, stricter, **register)
    except fk.InputError as error:
        if type(error).__name__ != "CertificateError" or audited.safe:
            raise Wrong(f"verify by policy refuses what an audit does not: {error}") from error
        for own, verdict in zip(tight, audited.verdicts, strict=True):
            log.compare(own.case, "verify by policy", Fraction(1, 2), verdict.safe)
    else:
        hold_all(log, "verify by policy", tight, verified.findings, truths)


def several(log, case, folder, policy, every, before):
    """More releases, each of newcomers; all are judged as one."""
    folders, rows = [folder / "out"], [*case.rows]
    for number, more in enumerate(case.later, 2):
        known, rows, out = len(rows), [*rows, *more], folder / f"release{number}"
        try:
            publication = fk.publish(unrounded(case, rows), policy, seed=case.seed, after=folders)
        except fk.NoSafeRelease:
            return
        publication.write(out)
        new = newcomers_of(case, rows, known)
        newcomers = {n: row for n, row in sights.people_of(case, rows).items() if n in new}
        before.append(as_written(case, rows, out, newcomers, new))

        def groups_of(own, place="owner", rules=None):
            results = {}
            for position, (people, label_of) in enumerate(before):
                shown = lacking(own, own.added) if own.added and not position else own
                if own.secret == own.added and not position:
                    continue  # which does not show it
                for (label, *key), group in sights.groups_of(
                    shown, people, label_of, place, rules
                ).items():
                    columns = own.schema["quasi_identifiers"]
                    if own.added in columns and not position:
                        place_of_added = columns.index(own.added)
                        label = (*label[:place_of_added], "*", *label[place_of_added:])
                    results[(label, *key, "release", position)] = group
            return results

        truths = truths_at(case, groups_of, "owner")
        hold_all(log, "together", every, publication.together.verdicts, truths)
        truths = truths_at(case, lambda own: groups_of(own, "files"), "files")
        shown = [own for own in every if not only_owner_counts(own.case)]
        if len(shown) == len(every):
            verified = fk.verify(out, after=folders)
            hold_all(log, "verify after", every, verified.together, truths)
            verified = judges.verify(out, after=folders)
            hold_all(log, "judge after", every, verified.together, truths)
        folders.append(out)
        tight = asked_near(random.Random(case.seed), case, truths)
        stricter = policy_of(case, tight, "files", folder)
        if "impossible" in case.schema:
            owner = truths_at(case, lambda own: groups_of(own, "files", "owner"), "files")
            truths = [own._replace(bound=True) for own in owner]
        try:
            audited = fk.audit(folders, stricter, learned=False)
        except fk.InputError as error:
            log.refuse(case, "audit of several", error)
            continue
        hold_all(log, "audit of several", tight, audited.verdicts, truths)
        joined = fk.together(folders)
        audited = fk.audit(joined, stricter, learned=False)
        hold_all(log, "audit of together", tight, audited.verdicts, truths)


def newcomers_of(case, rows, known):
    """The numbers of the rows of people who were not published, nor anybody of their household.

    Among them are people who were left out before, since a value was missing; where households
    share a value, these are not, as the earlier table has their household.
    """
    earlier = sights.people_of(case, rows[:known]).values()
    published = {row["pid"] for row in earlier}
    homes = {row["home"] for row in rows[:known]} if "shared" in case.schema else set()
    return [
        number
        for number, row in enumerate(rows, start=1)
        if row["pid"] not in published and row.get("home") not in homes
    ]


def none_is_safe(log, case, every):
    """One group of everybody is not safe, where merging never helps."""
    plain = case.schema.get("unit") != "row" and "impossible" not in case.schema
    one = sights.semantics_of(case, case.secret) == "single"
    if not plain or not one or case.publish["method"] not in ("mondrian", "fulldomain"):
        return
    if len(every) > 1 or every[0].is_criterion or "priors" in case.asked:
        return
    people = sights.people_of(case, case.rows)
    groups = sights.groups_of(case, people, lambda number, row: "*", "owner")
    worst = max(truth_of(case, groups, "owner").values(), default=Fraction(0))
    generalized = case.publish["form"] == "generalized" and worst  # what is asked of nobody fails
    if generalized and keeps(worst, *every[0].limit):
        raise Wrong(f"no release, though one group of everybody has {worst}, {every[0].limit}")
    log.compare(case, "none", worst, False)


# ---- files -------------------------------------------------------------------------------------


def rows_of(case, path):
    """The rows of a published table as texts."""
    if path.with_suffix(".parquet").exists():
        rows = pq.read_table(path.with_suffix(".parquet")).to_pylist()
        return [{n: "" if own is None else str(own) for n, own in row.items()} for row in rows]
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {own for row in rows for own in row.values()}
    if case.of["names"] == "odd" and any(text.startswith("'") for text in texts):
        return [{name: own.removeprefix("'") for name, own in row.items()} for row in rows]
    return rows


def as_written(case, rows, out, people=None, new=None):
    """Who is published, and the label of each, from the owner's list; compared with the files.

    The list of a later release has the rows with these `new` numbers.
    """
    people = sights.people_of(case, rows) if people is None else people
    listed = pq.read_table(out.with_name(out.name + ".owner") / "members.parquet").to_pylist()
    document = json.loads((out / "certificate.json").read_text())["release"]
    columns = document["groups"]
    by_pid = "row" not in listed[0]
    label = {}
    for place, row in enumerate(listed):
        key = row["pid"] if by_pid else row["row"] if new is None else new[place]
        if all(row[name] is None for name in columns):
            continue  # left out, as a value is missing
        label[key] = tuple(sights.text_of(row[name]) or "" for name in columns)
    if by_pid:
        label = {n: label[row["pid"]] for n, row in people.items()}
    if {*label} != {*people}:
        raise Wrong(f"published are rows {sorted(label)}, not {sorted(people)}")
    compare_files(case, people, label, out, document)
    if document["form"] == "generalized":
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
        rows = rows_of(case, out / "release.csv")
        together = [name for name in linked if name not in unlinked]
        for names in [together, *([name] for name in unlinked)]:
            counts = Counter(
                (
                    *(row[g] for g in said["groups"]),
                    *(_cell(case, n, row[called.get(n, n)]) for n in names),
                )
                for row in rows
            )
            counter = Counter(
                (*label[number], *(_cell(case, n, row[n]) for n in names))
                for number, row in people.items()
            )
            if counts != counter:
                raise Wrong(f"the file says {counts - counter}, the table {counter - counts}")
        return
    tables = defaultdict(Counter)
    for path in sorted(out.glob("sensitive*.*")):
        for row in rows_of(case, path):
            for name in sights.sensitives(case):
                if name in row:
                    key = (*(row[g] for g in said["groups"]), _cell(case, name, row[name]))
                    tables[name][key] += int(row["count"])
    for name in sights.sensitives(case):
        counter = Counter(
            (*label[n], _cell(case, name, (v,))) for n, row in people.items() for v in row[name]
        )
        if tables[name] != counter:
            raise Wrong(f"{name}: the file says {tables[name]}, the table {counter}")
    counts = Counter(
        tuple(row[g] for g in said["groups"]) for row in rows_of(case, out / "people.csv")
    )
    if counts != Counter(label.values()):
        raise Wrong(f"people.csv says {counts}, the owner's list {Counter(label.values())}")


def _cell(case, name, value):
    """A value of a row, however it is spelt."""
    own = value[0] if isinstance(value, tuple) else sights.text_of(value) or ""
    amount = number_of(own) if name in case.schema.get("types", ()) else None
    return own if amount is None else str(amount)
