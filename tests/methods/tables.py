"""Tables for the tests of methods: given ones, and random ones with every kind of column."""

import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from tests.methods.reference import TREE, Levels, Line

import foreknow as fk
from foreknow.data.columns.attribute import Attribute

_ABOVE = {value: path for value, *path in TREE}


def _or_missing(path):
    def above(value):
        width = len(path(_SOME[path]))
        return ("(null)",) * (width - 1) + ("*",) if value is None else path(value)

    return above


def tree_path(value):
    return tuple(_ABOVE[value])


def interval_path(value):
    return (value // 2, value // 6, "*")


def mask_path(value):
    return (value[:2], value[:1], "*")


_SOME = {tree_path: "a", interval_path: 0, mask_path: "000"}


@dataclass(frozen=True)
class Kind:
    """A kind of quasi-identifier: its values, hierarchy, and what cuts the reference allows."""

    name: str
    values: Any
    type: pa.DataType
    attribute: Any
    hierarchy: Any = None


ORDER = ["low", "middle", "high"]
MASKED = ["000", "001", "010", "100", "101", "111"]
TEXT, WHOLE = pa.string(), pa.int64()
KINDS = [
    Kind("number", st.integers(-3, 5), WHOLE, Line()),
    Kind("decimal", st.sampled_from([0.5, -1.5, 2.0, 1e6]), pa.float64(), Line()),
    Kind("text", st.sampled_from(["x", "yy", "Z", "é"]), TEXT, Line(nominal=True)),
    Kind("order", st.sampled_from(ORDER), TEXT, Line(ORDER.index), fk.Ordered(ORDER)),
    Kind("tree", st.sampled_from("abcdefgh"), TEXT, Levels(_or_missing(tree_path)), fk.Tree(TREE)),
    Kind(
        *("interval", st.integers(0, 13), WHOLE, Levels(_or_missing(interval_path))),
        fk.Intervals([2, 6]),
    ),
    Kind("mask", st.sampled_from(MASKED), TEXT, Levels(_or_missing(mask_path)), fk.Mask(3)),
]

SEVERAL = ["set", "multiset"]


@dataclass(frozen=True)
class Crowd:
    """People with quasi-identifiers and any number of values, as plain lists."""

    kinds: list[Kind]
    semantics: str
    rows: list[tuple]
    held: list[str]  # one letter for each value

    @property
    def names(self):
        return [f"{kind.name}{i}" for i, kind in enumerate(self.kinds)]

    @property
    def attributes(self):
        return [kind.attribute for kind in self.kinds]

    @property
    def values(self):
        return sorted({x for own in self.held for x in own})

    @property
    def everyone(self):
        return list(range(len(self.rows)))

    @property
    def schema(self):
        named = zip(self.names, self.kinds, strict=True)
        several = {} if self.semantics == "single" else {"person": "pid"}
        return fk.Schema(
            quasi_identifiers=self.names,
            sensitive="disease",
            semantics=self.semantics,
            hierarchies={name: kind.hierarchy for name, kind in named if kind.hierarchy},
            **several,
        )

    def entries(self, seed=None):
        """A row (person, value) for each value, one without for who has none; mixed by a seed."""
        results = [(p, x) for p, own in enumerate(self.held) for x in own or [None]]
        if seed is not None:
            random.Random(seed).shuffle(results)
        return results

    def microdata(self, seed=None):
        entries = self.entries(seed)
        columns = {
            name: pa.array([self.rows[p][a] for p, _ in entries], kind.type)
            for a, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True))
        }
        if self.semantics != "single":
            columns["pid"] = [f"person {p}" for p, _ in entries]
        disease = pa.array([x for _, x in entries], pa.string())
        return fk.Microdata(pa.table({**columns, "disease": disease}), self.schema)

    def groups_of(self, partition, seed=None):
        """People of each group, numbered without gaps; all rows of a person must agree."""
        group_of = {}
        for (person, _), group in zip(self.entries(seed), partition, strict=True):
            assert group_of.setdefault(person, group) == group
        assert set(group_of) == set(self.everyone)
        numbers = sorted(set(group_of.values()))
        assert numbers == list(range(len(numbers)))
        return [[p for p, g in sorted(group_of.items()) if g == n] for n in numbers]

    def bag(self, people):
        """One group, counted."""
        return len(people), Counter(x for p in people for x in self.held[p])

    def bags(self, groups):
        return [self.bag(people) for people in groups]


def groups_by(method, crowd, policy, seed=0):
    """The groups that a method finds, as lists of people, or None."""
    try:
        partition = method.partition(crowd.microdata(seed), policy, seed=seed)
    except fk.NoSafeRelease:
        return None
    assert (type(partition), partition.dtype) == (np.ndarray, np.int64)
    return crowd.groups_of(partition.tolist(), seed)


def crowd_of(values, held, semantics="single"):
    """People along one number."""
    return Crowd([KINDS[0]], semantics, [(value,) for value in values], list(held))


@st.composite
def crowds(draw, most_people=12, most_attributes=2, letters="STUV", semantics=SEVERAL, least=4):
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=most_attributes))
    size = draw(st.integers(least, most_people))
    cell = [st.one_of(k.values, k.values, k.values, st.none()) for k in kinds]
    rows = draw(st.lists(st.tuples(*cell), min_size=size, max_size=size))
    semantics = draw(st.sampled_from(semantics))
    letters = letters[: draw(st.integers(2, len(letters)))]
    if semantics == "single":
        own = st.sampled_from(letters)
    else:
        unique = semantics == "set"
        own = st.lists(st.sampled_from(letters), max_size=len(letters), unique=unique).map("".join)
    held = draw(st.lists(own, min_size=size, max_size=size).filter(any))
    return Crowd(kinds, semantics, rows, held)


def cases(most_rows=14, most_attributes=3):
    """Tables of people with one value each."""
    return crowds(most_rows, most_attributes, semantics=["single"], least=1)


def microdata(columns, sensitive, **schema):
    """A table of these quasi-identifiers, or of so many ages, with these sensitive values."""
    columns = {"age": list(columns)} if not isinstance(columns, dict) else columns
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="disease", **schema)
    return fk.Microdata(pa.table({**columns, "disease": list(sensitive)}), schema)


def axes(*places):
    """Quasi-identifiers: everybody's place on each."""
    return [
        Attribute(
            *(str(i), np.array(place, dtype=np.uint8), list(range(max(place) + 1)), "ordered"),
            *((), (), np.arange(max(place) + 1.0)),
        )
        for i, place in enumerate(places)
    ]


def asking(below, point=(), **about):
    """A policy of one requirement about facts."""
    return fk.Policy([fk.Requirement(fk.Facts(*point), below, **about)])


AMOUNTS = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2))
THRESHOLDS = st.sampled_from(
    [Fraction(x) for x in ("1/3", "1/2", "2/3", "3/4", "4/5", "9/10", "1", "0.6")]
)


@st.composite
def requirements(draw, present):
    """A requirement, and the reference's rules for it."""
    about = draw(st.sampled_from(["all", "some", "except"]))
    chosen = draw(st.lists(st.sampled_from(present), min_size=1, max_size=2, unique=True))
    points = draw(
        st.lists(st.tuples(AMOUNTS, THRESHOLDS), min_size=1, max_size=3, unique_by=lambda p: p[0])
    )
    named = {}
    values = present
    if about == "some":
        named, values = {"values": chosen}, chosen
    elif about == "except":
        named, values = {"excluded": chosen}, [v for v in present if v not in chosen]
    if len(points) == 1:
        requirement = fk.Requirement(fk.Facts(*points[0][0]), points[0][1], **named)
    else:
        requirement = fk.Requirement([(fk.Facts(*amounts), c) for amounts, c in points], **named)
    return requirement, [(values, amounts, c) for amounts, c in points]


@st.composite
def policies(draw, present):
    """A policy of one or two requirements, and the reference's rules for it."""
    drawn = draw(st.lists(requirements(sorted(set(present))), min_size=1, max_size=2))
    try:
        policy = fk.Policy([made for made, _ in drawn])
    except fk.InputError:  # the requirements contradict each other: keep the first
        drawn = drawn[:1]
        policy = fk.Policy([drawn[0][0]])
    return policy, [rule for _, rules in drawn for rule in rules]
