"""Random releases of people with attributes, priors about them, and what enumeration says."""

from collections import defaultdict
from fractions import Fraction
from functools import cached_property

import pyarrow as pa
from tests.oracle.priors import binary, joint

import foreknow as fk
from foreknow_judge.files.written_release import Written

SETS = (("sex",), ("race",), ("sex", "race"))
LABELS = {"sex": ("m", "f"), "race": ("w", "b", None)}


def priors_table(rows, attributes):
    """A table as a user would write it; {signature: {value: probability}}, texts kept exact."""
    by_key = defaultdict(list)
    for signature, row in rows.items():
        for value, chance in row.items():
            for name, label in zip(attributes, signature, strict=True):
                by_key[name].append(label)
            by_key["value"].append(value)
            by_key["probability"].append(str(chance))
    return pa.table(dict(by_key))


class Scene:
    """People as (group, attributes, value), and a table of priors for each attribute set."""

    def __init__(self, people, tables):
        self.people, self.tables = people, tables

    @property
    def frame(self):
        columns = {"gid": [g for g, _, _ in self.people]}
        for name in LABELS:
            columns[name] = pa.array([who[name] for _, who, _ in self.people], pa.string())
        return pa.table({**columns, "disease": [x for _, _, x in self.people]})

    @property
    def release(self):
        return fk.Release.from_groups(self.frame, group="gid", sensitive="disease")

    def written(self, form):
        """The tables of the release as they would be published."""
        if form == "generalized":
            return Written(form, ("gid",), "disease", {"release": self.frame})
        tally = self.frame.group_by(["gid", "disease"]).aggregate([([], "count_all")])
        tally = tally.rename_columns({"count_all": "count"})
        people = self.frame.drop_columns("disease").take(list(reversed(range(len(self.people)))))
        return Written(form, ("gid",), "disease", {"people": people, "sensitive": tally})

    def priors(self, reading, only=None):
        chosen = self.tables if only is None else {only: self.tables[only]}
        return fk.Priors([priors_table(rows, own) for own, rows in chosen.items()], reading)

    @cached_property
    def groups(self):
        """People and bag of each group."""
        by_key = defaultdict(list)
        for group, who, value in self.people:
            by_key[group].append((who, value))
        return dict(by_key)

    def posteriors(self, reading, attributes):
        """{(group, signature, value): posterior}, all enumerated; None where a group has none."""
        table, known = self.tables[attributes], {}
        for group, members in self.groups.items():
            signatures = [tuple(who[name] for name in attributes) for who, _ in members]
            bag = [value for _, value in members]
            rows = [table[signature] for signature in signatures]
            for value in set(bag):
                if reading == "joint":
                    world = joint(rows, bag)
                    chances = world and [row[value] for row in world]
                else:
                    chances = binary(rows, bag, value)
                if chances is None:
                    return None
                for signature, chance in zip(signatures, chances, strict=True):
                    # Equal signatures: equally likely.
                    assert known.setdefault((group, signature, value), chance) == chance
        return known

    def ratios(self, truth):
        """Posterior by prior of every cell of what enumeration says, where that is possible."""
        return {
            (own, *cell): p / self.tables[own][cell[1]][cell[2]]
            for own, known in truth.items()
            for cell, p in known.items()
            if self.tables[own][cell[1]][cell[2]]
        }

    def truth(self, reading, only=None):
        """{attribute set: posteriors}; None where a group has none."""
        sets = self.tables if only is None else [only]
        results = {own: self.posteriors(reading, own) for own in sets}
        return None if None in results.values() else results


def random_row(random, values, kind):
    """Probabilities that sum to one, or to less; zeros, and very small ones."""
    if kind == "tiny":
        return {x: Fraction(1, 10 ** random.choice([1, 3, 40, 120, 200, 290])) for x in values}
    weights = [random.randint(0 if kind == "zeros" else 1, 9) for _ in values]
    rest = random.choice([0, 0, 5, 40])
    total = max(sum(weights) + rest, 1)
    return {x: Fraction(w, total) for x, w in zip(values, weights, strict=True)}


def random_scene(random, n_groups=6, most=4, kind=None, possible=True, sets=None):
    """A release of a few groups; with `possible`, everybody's own value has a positive prior."""
    values = "abcd"[: random.randint(1, 4)]
    kind = kind or random.choice(["any", "zeros", "zeros", "tiny"])
    chosen = sets or random.sample(SETS, random.choice([1, 1, 2, 3]))
    everybody = [(sex, race) for sex in LABELS["sex"] for race in LABELS["race"]]
    kinds = [dict(zip(LABELS, labels, strict=True)) for labels in everybody]
    tables = {
        own: {
            signature: random_row(random, values, kind)
            for signature in dict.fromkeys(tuple(who[name] for name in own) for who in kinds)
        }
        for own in chosen
    }
    people = []
    for group in range(n_groups):
        for _ in range(random.randint(1, most)):
            who = random.choice(kinds)
            likely = [
                x
                for x in values
                if all(rows[tuple(who[name] for name in own)][x] for own, rows in tables.items())
            ]
            if likely or not possible:
                people.append((group, who, random.choice(likely if possible else values)))
    if not people:  # zeros everywhere
        return random_scene(random, n_groups, most, kind, possible, sets)
    random.shuffle(people)
    return Scene(people, tables)
