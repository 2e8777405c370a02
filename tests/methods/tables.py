"""Random small tables for the tests of anonymizers, with every kind of quasi-identifier."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from tests.methods.reference import Levels, Line

import foreknow as fk

_TREE = [
    ("a", "p", "u", "*"),
    ("b", "p", "u", "*"),
    ("c", "p", "u", "*"),
    ("d", "q", "u", "*"),
    ("e", "q", "u", "*"),
    ("f", "r", "v", "*"),
    ("g", "s", "v", "*"),
    ("h", "t", "w", "*"),
]
_ABOVE = {value: path for value, *path in _TREE}


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


KINDS = [
    Kind("number", st.integers(-3, 5), pa.int64(), Line()),
    Kind("decimal", st.sampled_from([0.5, -1.5, 2.0, 1e6]), pa.float64(), Line()),
    Kind("text", st.sampled_from(["x", "yy", "Z", "é"]), pa.string(), Line(nominal=True)),
    Kind(
        "order",
        st.sampled_from(["low", "middle", "high"]),
        pa.string(),
        Line({"low": 0, "middle": 1, "high": 2}.__getitem__),
        fk.Ordered(["low", "middle", "high"]),
    ),
    Kind(
        "tree",
        st.sampled_from("abcdefgh"),
        pa.string(),
        Levels(_or_missing(tree_path)),
        fk.Tree(_TREE),
    ),
    Kind(
        "interval",
        st.integers(0, 13),
        pa.int64(),
        Levels(_or_missing(interval_path)),
        fk.Intervals([2, 6]),
    ),
    Kind(
        "mask",
        st.sampled_from(["000", "001", "010", "100", "101", "111"]),
        pa.string(),
        Levels(_or_missing(mask_path)),
        fk.Mask(3),
    ),
]


@dataclass(frozen=True)
class Case:
    """A table, as plain lists and as what the library takes."""

    kinds: list[Kind]
    rows: list[tuple]
    sensitive: list[str]

    @property
    def names(self):
        return [f"{kind.name}{i}" for i, kind in enumerate(self.kinds)]

    @property
    def attributes(self):
        return [kind.attribute for kind in self.kinds]

    @property
    def schema(self):
        named = zip(self.names, self.kinds, strict=True)
        return fk.Schema(
            quasi_identifiers=self.names,
            sensitive="disease",
            hierarchies={name: kind.hierarchy for name, kind in named if kind.hierarchy},
        )

    def frame(self, order=None):
        at = range(len(self.rows)) if order is None else order
        columns = {
            name: pa.array([self.rows[i][a] for i in at], kind.type)
            for a, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True))
        }
        return pa.table({**columns, "disease": [self.sensitive[i] for i in at]})

    def microdata(self, order=None):
        return fk.Microdata(self.frame(order), self.schema)


@st.composite
def cases(draw, most_rows=14, most_attributes=3, nulls=True):
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=most_attributes))
    cell = [
        st.one_of(k.values, k.values, k.values, st.none()) if nulls else k.values for k in kinds
    ]
    size = draw(st.integers(1, most_rows))
    rows = draw(st.lists(st.tuples(*cell), min_size=size, max_size=size))
    sensitive = draw(st.lists(st.sampled_from("STUV"), min_size=size, max_size=size))
    return Case(kinds, rows, sensitive)


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
        made = fk.Requirement(fk.Facts(*points[0][0]), points[0][1], **named)
    else:
        made = fk.Requirement([(fk.Facts(*amounts), c) for amounts, c in points], **named)
    return made, [(values, amounts, c) for amounts, c in points]


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
