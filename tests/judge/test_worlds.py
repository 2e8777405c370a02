"""What the judge alone and an audit say of drawn releases, beside worlds.

A release is drawn by its number: uneven groups, columns that are known or shuffled, one value each
or several, in either form. It is asked by every kind of knowledge about every sort of secret at
once. A new kind, secret or sight is a line here, rather than an enumeration elsewhere.
"""

import random
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.common import NIGHTLY
from tests.crossings.worlds import (
    Facts,
    Member,
    most_times,
    surest,
    surest_by_implications,
    surest_by_negations,
)
from tests.oracle.facts import meant

import foreknow as fk
from foreknow_judge.files.written_release import Written
from foreknow_judge.verdicts import verdicts

TEXTS = {
    "ill": ["B20", "B20.1", "B2", "Z21", "Z21*", "Flu"],
    "pay": ["0", "5", "7.5", "10", "-3", "unknown"],
}
JOBS = ["cook", "nurse"]
ON_TOP = [(1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1), (1, 2, 0), (2, 0, 0)]
# What somebody knows; the second argument makes a table of priors.
KINDS = {
    "facts": lambda draw, _: fk.Facts(*(draw.randint(0, n) for n in (2, 2, 1))),
    "links": lambda draw, _: fk.Facts(0, draw.randint(0, 1), draw.randint(2, 3)),
    "implications": lambda draw, _: fk.Implications(draw.randint(0, 2)),
    "negations": lambda draw, _: fk.Negations(draw.randint(0, 2)),
    "joint": lambda _, table: fk.Priors(table()),
    "binary": lambda _, table: fk.Priors(table(), "binary"),
    "on priors": lambda draw, table: fk.Priors(table(), facts=fk.Facts(*draw.choice(ON_TOP))),
}
OF_FACTS = ("facts", "links")  # of several values, too
OF_WINDOWS = (*OF_FACTS, "negations")
OF_PRIORS = ("joint", "binary", "on priors")


def secrets_of(draw, column, there):
    """What requirements say of their secrets, with the sets of values that are meant."""
    named, other = (
        draw.sample([*TEXTS[column], "B20*", "Z*", "none"], draw.randint(1, 3)) for _ in "ab"
    )
    spelt = {text for text in named if text in there}  # which means that value alone, left out
    left_out = spelt | meant([text for text in named if text not in spelt], there)
    yield {}, [{value} for value in there]
    yield {"values": named}, [{value} for value in meant(named, there)]
    yield {"excluded": named}, [{value} for value in there - left_out]
    yield {"any_of": named}, [meant(named, there)]
    yield {"any_of": {"one": named, "other": other}}, [meant(named, there), meant(other, there)]
    if column == "pay":
        ends = dict(
            zip(("from", "to"), sorted(draw.sample([-3, 0, 5, 7, 7.5, 10], 2)), strict=True)
        )
        ends.pop(draw.choice(["from", "to", None]), None)
        yield {"any_of": {"some": ends}}, [meant(ends, there)]
        if "unknown" not in there:
            width = draw.choice([2.5, 3, 5])
            yield {"within": width}, windows(there, Fraction(width))


def absent_of(about, there):
    """The texts of a secret that mean no value which somebody has."""
    given = next(iter(about.values()), ())
    lists = given.values() if isinstance(given, dict) else [given]
    texts = {text for own in lists if isinstance(own, list) for text in own}
    return {text for text in texts if not meant([text], there)}


def windows(there, width):
    """Numbers that lie together in a window which begins at one of them."""
    numbers = {own: Fraction(own) for own in there}
    return [
        {x for x, number in numbers.items() if 0 <= number - low <= width}
        for low in numbers.values()
    ]


class Drawn:
    """A release of a few people: as its reader has it, and as tables of the judge."""

    def __init__(self, number):
        self.draw = draw = random.Random(number)
        self.of_ill = draw.choice(["single"] * 3 + ["set", "multiset"])
        self.lists = self.of_ill != "single"
        self.form = draw.choice(["generalized", "bucketized"]) if not self.lists else "generalized"
        self.column, self.other = draw.sample(["ill", "pay"], 2)
        beside = [self.other, "job", *["drug"] * self.lists]
        self.known = [name for name in beside if draw.random() < 0.35]
        self.apart = [name for name in ("ill", "pay", "job") if draw.random() < 0.2]
        if self.form == "bucketized":
            self.column, self.other, self.known = "ill", "pay", []
        if self.form == "bucketized" or self.lists:
            self.apart = []
        self.is_one = self.column == "pay" or not self.lists
        self.semantics = "single" if self.is_one else self.of_ill
        # Nothing ties a column that was shuffled to the others.
        self.divide = [] if self.column in self.apart else sorted({*self.known} - {*self.apart})
        sizes = draw.choice([(7,), (8,), (3, 5), (1, 7), (2, 6), (2, 2, 4)])
        self.rows = [self.row(str(group)) for group, size in enumerate(sizes) for _ in range(size)]
        self.attribute = "job" if self.form == "bucketized" else "group"
        self.shares = self.drawn_shares()
        self.groups = self.divided()
        self.there = {v for group in self.groups for own in group for v in own.values}

    def row(self, group):
        """Somebody of a group; few values are common."""
        draw = self.draw
        ill, pay = (draw.choice(TEXTS[name][: draw.choice([3, 6])]) for name in ("ill", "pay"))
        if self.lists:
            bag = draw.choices(TEXTS["ill"][:4], k=draw.choice([0, 1, 1, 2, 3]))
            ill = tuple(sorted({*bag} if self.of_ill == "set" else bag))
        row = {"group": group, "ill": ill, "pay": pay, "job": draw.choice(JOBS)}
        return row | {"drug": tuple(sorted({*draw.choices("ab", k=draw.choice([0, 1, 2]))}))}

    def drawn_shares(self):
        """Priors of a column for everybody of a group, or of a job: 0 for what nobody has."""
        shares = {}
        for key in sorted({row[self.attribute] for row in self.rows}):
            alike = [row for row in self.rows if row[self.attribute] == key]
            there = {row[self.column] for row in alike if self.is_one}
            shares[key] = {v: self.draw.randint(v in there, 6) for v in TEXTS[self.column]}
        return shares

    def divided(self):
        """The groups of people of whom the same is known."""
        groups = {}
        for number, row in enumerate(self.rows):
            has = [row[self.column]] if self.is_one else row[self.column]
            weights = self.shares[row[self.attribute]].items()
            priors = tuple((value, Fraction(weight, 40)) for value, weight in weights)
            key = (row["group"], *(row[name] for name in self.divide))
            groups.setdefault(key, []).append(Member(str(number), tuple(has), priors=priors))
        return [*groups.values()]

    def priors(self):
        """The same as a table, of the values that somebody has."""
        columns = self.attribute, "value", "probability"
        rows = [
            (key, value, f"{weights[value]}/40")
            for key, weights in self.shares.items()
            for value in sorted(self.there)
        ]
        return pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))

    def truth(self, kind, known, secret):
        """How sure somebody becomes at most of one of the values of a secret."""
        if kind in OF_PRIORS:
            reading, on_top = "binary" if kind == "binary" else "joint", known.facts or fk.Facts()
            amounts = Facts(on_top.l, on_top.k, on_top.m)
            return surest(self.groups, secret, amounts, "single", reading)
        groups = [[own._replace(priors=()) for own in group] for group in self.groups]
        if kind == "implications":
            return surest_by_implications(groups, secret, known.k)
        if kind == "negations":
            return surest_by_negations(groups, secret, known.k)
        return surest(groups, secret, Facts(known.l, known.k, known.m), self.semantics)

    def times(self, kind, known, secret):
        """How many times as likely as by its prior a secret becomes at most."""
        reading = "binary" if kind == "binary" else "joint"
        return most_times(self.groups, secret, Facts(), reading)

    def asked(self):
        """Of each sort of secret, requirements of all kinds with their truths."""
        for about, sets in secrets_of(self.draw, self.column, self.there):
            every = []
            for kind, made in KINDS.items():
                if not self.is_one and kind not in OF_FACTS:
                    continue
                if "any_of" in about and (self.semantics == "set" or self.there in sets):
                    continue
                if "within" in about and (kind not in OF_WINDOWS or self.there in sets):
                    continue
                known = made(self.draw, self.priors)
                secrets, key = [frozenset(own) for own in sets if own], "below"
                if kind in OF_PRIORS:
                    keys = ["below", "at_most", *["at_most_times"] * (kind != "on priors")]
                    key = self.draw.choice(keys)
                truth_of = self.times if key == "at_most_times" else self.truth
                truths = [truth_of(kind, known, secret) for secret in secrets]
                truth = max(truths, default=Fraction(0))
                limit = max(truth + self.draw.choice([0, Fraction(1, 10**12)]), Fraction(1, 100))
                limit = max(limit, 1) if key == "at_most_times" else min(limit, 1)
                sight = {"sensitive": self.column, "knowing": self.known}
                every.append((kind, fk.Requirement(known, **{key: limit}, **about, **sight), truth))
            if every:
                yield about, every

    # ---- its tables ----

    def cells(self, name):
        """A column; one that is published apart, in another order within its group."""
        order = range(len(self.rows))
        if name in self.apart:
            order = sorted(order, key=lambda at: (self.rows[at]["group"], self.draw.random()))
        return [self.rows[at][name] for at in order]

    def read(self):
        """The release as its reader opens it."""
        if self.form == "bucketized":
            people, tally = self.tables()
            counts = tally["count"].cast(pa.int64())
            tally = tally.set_column(2, "count", counts)
            return fk.Release.from_bucketized(tally, sensitive="ill", people=people)
        table = {name: self.cells(name) for name in ("group", "ill", "pay", "job")}
        roles = {"sensitive": [self.column, self.other], "other": ["job"], "unlinked": self.apart}
        if self.lists:
            roles["semantics"] = {"ill": self.of_ill, "drug": "set"}
            roles["sensitive"].append("drug")
            for name in ("ill", "drug"):
                table[name] = pa.array(self.cells(name), pa.list_(pa.string()))
        if self.of_ill == "set" and self.draw.random() < 0.5:
            roles["person"], table = "who", self.long()
        return fk.Release.from_generalized(pa.table(table), quasi_identifiers=["group"], **roles)

    def long(self):
        """A row for each value of somebody, in which others are empty or repeated; in any order."""
        draw, rows = self.draw, []
        for who, row in enumerate(self.rows):
            for place in range(max(len(row["ill"]), len(row["drug"]), 1)):
                cells = {"who": str(who), **row}
                for name in ("ill", "drug"):
                    spare = draw.choice([None, *row[name]])
                    cells[name] = row[name][place] if place < len(row[name]) else spare
                rows.append(cells)
        draw.shuffle(rows)
        return {name: pa.array([row[name] for row in rows], pa.string()) for name in rows[0]}

    def written(self):
        """The release as the judge reads it; None where it has no such files."""
        if self.lists and (self.is_one or self.divide):
            return None
        if not self.lists and self.form == "generalized":
            names = {n: f"{n}_shuffled" if n in self.apart else n for n in ("ill", "pay", "job")}
            table = pa.table(
                {"group": self.cells("group")} | {n: self.cells(o) for o, n in names.items()}
            )
            roles = {"parts": dict.fromkeys(["ill", "pay"], "release"), "beside": ["job"]}
            roles["shuffled"] = self.apart
            return Written("generalized", ["group"], self.column, {"release": table}, **roles)
        tables = dict(zip(("people", "sensitive"), self.tables(), strict=True))
        roles = {"semantics": self.semantics, "exact": ["job"]}
        return Written(self.form, ["group"], "ill", tables, **roles)

    def tables(self):
        """People, and how often each group has each illness."""
        bags = [(row["group"], [row["ill"]] if self.is_one else row["ill"]) for row in self.rows]
        cells = Counter((group, value) for group, bag in bags for value in bag)
        rows = [{"group": group, "ill": v, "count": str(n)} for (group, v), n in cells.items()]
        kinds = pa.schema(dict.fromkeys(["group", "ill", "count"], pa.string()))
        people = pa.table({name: self.cells(name) for name in ("group", "job")})
        return people, pa.Table.from_pylist(rows, kinds)


def hold(number, kind, required, truth, verdict):
    """A figure is the truth, or not below it where it is a bound; its limit decides."""
    reached, limit = verdict.found.settled, verdict.required
    if limit.relative:
        reached = reached / verdict.found.prior if reached else reached
    about = number, kind, required, reached, truth
    on_top = required.points[0].adversary.facts if kind == "on priors" else None
    is_bound = on_top is not None and on_top.k + on_top.m > 0
    assert reached >= truth if is_bound else reached == truth, about
    is_within = reached < limit.amount or (limit.inclusive and reached == limit.amount)
    assert verdict.safe == is_within, about
    return "above" if reached > truth else "equal"


def admitted(every, verdicts_of_all, counts):
    """A ledger admits what is safe; of implications it may refuse what is nearly unsafe."""
    for (kind, required, _), verdict in zip(every, verdicts_of_all, strict=True):
        if kind not in OF_PRIORS:
            text = fk.Policy([required]).ledger(counts.values).admits(None, counts)
            assert text == verdict.safe or (kind == "implications" and not text), required


BATCHES, CASES = (3, 3000) if NIGHTLY else (2, 40)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_figures_are_those_of_worlds(batch):
    counts = Counter()
    for number in range(batch, CASES, BATCHES):
        drawn = Drawn(number)
        asked, doors = [*drawn.asked()], []
        release, written = drawn.read(), drawn.written()
        if written is not None:
            every = [one for _, of_secret in asked for one in of_secret]
            tables = [required.to_dict() | {"knowing": drawn.divide} for _, required, _ in every]
            doors.append(("judge", every, verdicts(written, tables)))
        for about, every in drawn.draw.sample(asked, min(2, len(asked))):
            policy = fk.Policy([required for _, required, _ in every])
            audit = fk.audit(release, policy)
            doors.append(("audit", every, audit.verdicts))
            assert {text for text, _ in audit.scope.absent} == absent_of(about, drawn.there), about
            if drawn.is_one and not drawn.known:
                admitted(every, doors[-1][-1], release.seen(drawn.column, []).counts)
        for door, every, found in doors:
            for (kind, required, truth), verdict in zip(every, found, strict=True):
                counts[hold(number, kind, required, truth, verdict)] += kind == "on priors"
                counts[door, kind] += 0 < truth < 1
    assert min(counts["judge", kind] for kind in KINDS) > 3, counts
    assert sum(counts["audit", kind] for kind in KINDS) > 10, counts
    assert counts["equal"] > 2 * counts["above"], counts  # bounds are rarely above what is reached
