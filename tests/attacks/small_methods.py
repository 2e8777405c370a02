"""Small tables, methods and releases for the tests of attacks."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
from tests.oracle.decoy import posteriors

import foreknow as fk

DIVERSE = fk.Policy([fk.Requirement(fk.Facts(), below=1, knowing=[])])  # every group has two values
BELOW_2_3 = fk.Policy([fk.Requirement(fk.Facts(), below="2/3", knowing=[])])
LEVELS = {"age": fk.Intervals([2, 4])}
BUCKETS = fk.PublishOptions(form="bucketized")


def microdata(values, hierarchies=None, **columns):
    """A table with roles; everybody's number is published too, as what outsiders know."""
    rows = pa.table({**columns, "disease": list(values), "pid": list(range(len(values)))})
    schema = fk.Schema(
        quasi_identifiers=list(columns),
        sensitive="disease",
        other=["pid"],
        hierarchies=hierarchies or {},
    )
    return fk.Microdata(rows, schema)


def release_of(values, groups, **columns):
    """People in groups, as a release of which the method is not known."""
    rows = pa.table({**columns, "disease": list(values), "gid": groups})
    return fk.Release.from_groups(rows, group="gid", sensitive="disease")


def policy_for(policy, found):
    """The same requirements, for a table whose numbers are written exactly: it is tiny.

    What is published beside is for the enumeration, and known to nobody.
    """
    exact = {a.name: "exact" for a in found.attributes if a.order == "ordered" and not a.ancestors}
    options = replace(policy.options, labels={**exact, **policy.options.labels})
    blind = [replace(required, knowing=[]) for required in policy.requirements]
    return fk.Policy(blind, schema=found.schema, options=options)


def in_buckets(requirements, found):
    """The same, of which only groups are published."""
    return fk.Policy(requirements, schema=found.schema, options=BUCKETS)


def together(groups):
    """Who is with whom, whatever the groups are called."""
    people = {}
    for person, group in enumerate(groups):
        people.setdefault(group, []).append(person)
    return frozenset(frozenset(person) for person in people.values())


def random_table(random, people, kinds, n_values, hierarchies=None):
    """Some people with numbers as quasi-identifiers."""
    columns = {name: random.integers(0, kind, people).tolist() for name, kind in kinds.items()}
    values = ["abcdef"[code] for code in random.integers(0, n_values, people)]
    return values, columns, microdata(values, hierarchies, **columns)


def agrees(found, values, expected, n_worlds, n_possible):
    """Whether an exact attack says just what enumeration says."""
    assert found.exact
    assert (found.n_worlds, found.looked, found.consistent) == (n_worlds, n_worlds, n_possible)
    for person in range(len(values)):
        for value in set(values):
            posterior = found.posterior(person + 1, value)
            assert posterior == expected.get((person, value), 0), (person, value)
            assert isinstance(posterior, Fraction)


def naive(functions, limit=Fraction(1, 2)):
    """A user's pipeline: the first of several groupings in which no value has too large a share.

    Functions are texts such as "AB|CD"; people are called A, B, ... in the order of rows.
    """
    groupings = [f.split("|") for f in functions]

    def pipeline(rows):
        values = rows["disease"].to_pylist()
        for groups in groupings:
            bags = [[values[ord(p) - 65] for p in group] for group in groups]
            if all(Fraction(max(map(b.count, b)), len(b)) <= limit for b in bags):
                place = {p: i for i, group in enumerate(groups) for p in group}
                return [place[chr(65 + i)] for i in range(len(values))]
        return None

    return pipeline


def plainly(method, policy, columns, hierarchies=None):
    """What a method publishes of a world, made of a table that is read afresh."""

    def algorithm(world):
        try:
            groups = method.partition(microdata(list(world), hierarchies, **columns), policy)
        except fk.NoSafeRelease:
            return None
        return together(np.asarray(groups).tolist())

    return algorithm


def enumerated(algorithm, values):
    """What enumeration says of the release that an algorithm makes of a table."""
    release = algorithm(tuple(values))
    sorted_groups = sorted(map(sorted, release))
    groups = [[p in g for g in sorted_groups].index(True) for p in range(len(values))]
    return posteriors(values, groups, algorithm, release)


class Coin:
    """Any of the groupings that are safe, each as likely."""

    def __init__(self, functions):
        self.groupings = [
            np.array([[p in g for g in f.split("|")].index(True) for p in "ABCDEF"])
            for f in functions
        ]

    def safe(self, codes):
        return [
            groups
            for groups in self.groupings
            if all(len(set(codes[groups == g])) > 1 for g in set(groups.tolist()))
        ]

    def partition(self, found, policy=None, seed=None):
        safe = self.safe(np.asarray(found.sensitive_codes))
        if not safe:
            raise fk.NoSafeRelease("no grouping has two values in each group")
        return safe[np.random.default_rng(seed).integers(len(safe))]
