"""Small releases of named people, and random statements about them, for Hypothesis."""

import random
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st

from foreknow.adversaries.statements.formulas import And, Has, Iff, Implies, Not, Or, Same
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Labels
from foreknow.data.people import Members

NAMES = ["Ann", "Bob Lee", "and", "O'Neil", "Ed", "漢字", "7"]
VALUES = ["AIDS", "Flu", 'a "cold"', "not->in"]


@dataclass
class Scene:
    """A small release, what the oracle and the library take for it."""

    semantics: str
    groups: list  # of (names, bag)
    prior: dict  # of (person, value) -> Fraction
    statements: list

    @property
    def release(self):
        return release_of(self.groups, self.semantics)

    @property
    def people(self):
        return [name for names, _ in self.groups for name in names]

    @property
    def values(self):
        return sorted({value for _, bag in self.groups for value in bag})

    def __repr__(self):
        return f"Scene({self.semantics!r}, {self.groups}, {self.prior}, {self.statements})"


def release_of(groups, semantics="single"):
    """A stand-in for a release: counts and members."""
    values = sorted({value for _, bag in groups for value in bag})
    group_codes = [g for g, (_, bag) in enumerate(groups) for _ in bag]
    value_codes = [values.index(value) for _, bag in groups for value in bag]
    counts = GroupCounts.from_pairs(
        np.array(group_codes, dtype=np.int64),
        np.array(value_codes, dtype=np.int64),
        values=values,
        n_groups=len(groups),
        sizes=np.array([len(names) for names, _ in groups]),
        semantics=semantics,
    )
    names = Labels(name for names, _ in groups for name in names)
    places = [g for g, (names_, _) in enumerate(groups) for _ in names_]
    return Release(counts, Members(names, np.array(places)))


class Release(SimpleNamespace):
    """Something with counts and members."""

    def __init__(self, counts, members):
        super().__init__(counts=counts, members=members)

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def formula(said):
    """A statement of the oracle as a formula of the library."""
    kind, *parts = said
    if kind == "has":
        return Has(*parts)
    if kind == "same":
        return Same(tuple(parts))
    inner = [formula(part) for part in parts]
    if kind == "not":
        return Not(*inner)
    if kind in ("and", "or"):
        return (And if kind == "and" else Or)(tuple(inner))
    return (Implies if kind == "->" else Iff)(*inner)


def text(said):
    """A statement of the oracle in the library's language, all parentheses written."""
    kind, *parts = said
    if kind == "has":
        return f"{_quoted(parts[0])} = {_quoted(parts[1])}"
    if kind == "same":
        return f"same({', '.join(map(_quoted, parts))})"
    if kind == "not":
        return f"not ({text(parts[0])})"
    return f" {kind} ".join(f"({text(part)})" for part in parts)


def _quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


@st.composite
def scenes(draw, most_people=6, semantics=None, weighted=None, most_statements=5):
    """A release with statements; with a prior in a part of the cases."""
    semantics = semantics or draw(st.sampled_from(["single", "set", "multiset"]))
    many = semantics != "single"
    n_people = draw(st.integers(1, most_people - many))
    names = NAMES[:n_people]
    cuts = draw(st.sets(st.integers(1, max(n_people - 1, 1)), max_size=2)) - {n_people}
    edges = [0, *sorted(cuts), n_people]
    groups = []
    for low, high in pairwise(edges):
        size = high - low
        if semantics == "single":
            bag = draw(st.lists(st.sampled_from(VALUES), min_size=size, max_size=size))
        else:
            most = min(size, 3) if semantics == "set" else 3
            bag = []
            for value in draw(st.sets(st.sampled_from(VALUES), max_size=3)):
                bag += [value] * draw(st.integers(1, most))
        groups.append((names[low:high], bag))
    values = sorted({value for _, bag in groups for value in bag})
    prior = {}
    if values and (draw(st.booleans()) if weighted is None else weighted):
        weights = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(2), Fraction(1, 3)])
        pairs = st.tuples(st.sampled_from(names), st.sampled_from(values))
        prior = draw(st.dictionaries(pairs, weights, max_size=6))
    statements = []
    if values:
        said = said_about(names, values)
        statements = draw(st.lists(said, min_size=1, max_size=most_statements))
    return Scene(semantics, groups, prior, statements)


def said_about(names, values):
    """Statements about people and values, nested."""
    has = st.tuples(st.just("has"), st.sampled_from(names), st.sampled_from(values))
    leaf = st.one_of(has, has, has.map(lambda h: ("not", h)))
    if len(names) > 1:
        chosen = st.lists(st.sampled_from(names), min_size=2, max_size=3, unique=True)
        leaf = st.one_of(leaf, leaf, chosen.map(lambda people: ("same", *people)))

    def grown(inner):
        pair = st.tuples(st.sampled_from(["->", "<->"]), inner, inner)
        several = st.lists(inner, min_size=2, max_size=3)
        joined = st.tuples(st.sampled_from(["and", "or"]), several)
        return st.one_of(
            inner.map(lambda s: ("not", s)), pair, joined.map(lambda kp: (kp[0], *kp[1]))
        )

    return st.recursive(leaf, grown, max_leaves=5)


# ---- many scenes, fast -------------------------------------------------------------------------

WEIGHTS = [Fraction(0), *map(Fraction, ["1/2", "2", "1/3", "5", "0.7", "3/2"])]


def random_scene(seed, semantics, weighted):
    """A scene without Hypothesis, which takes longer to draw than worlds take to enumerate."""
    chance = random.Random(f"{seed} {semantics} {weighted}")
    names = NAMES[: chance.randint(1, 6 if semantics == "single" else 5)]
    groups = []
    while sum(len(own) for own, _ in groups) < len(names):
        rest = names[sum(len(own) for own, _ in groups) :]
        own = rest if len(groups) == 2 else rest[: chance.randint(1, len(rest))]
        kinds = chance.sample(VALUES, chance.randint(1, 4))
        if semantics == "single":
            bag = [chance.choice(kinds) for _ in own]
        else:
            most = min(len(own), 3) if semantics == "set" else 3
            bag = [v for v in kinds[:2] for _ in range(chance.randint(1, most))]
        groups.append((own, bag))
    values = sorted({value for _, bag in groups for value in bag})
    prior = {}
    if weighted:
        for _ in range(chance.randint(1, 8)):
            prior[chance.choice(names), chance.choice(values)] = chance.choice(WEIGHTS)
    amount = chance.choice([1, 1, 2, 2, 3, 4])
    said = [random_statement(chance, names, values, 3) for _ in range(amount)]
    return Scene(semantics, groups, prior, said)


def random_statement(chance, names, values, depth):
    """A nested statement."""
    kinds = ["has", "has", "lacks", "same", "not", "and", "or", "->", "->", "<->"]
    kind = chance.choice(kinds if depth else kinds[:3])
    if kind == "same" and len(names) > 1:
        return ("same", *chance.sample(names, min(len(names), chance.choice([2, 3]))))
    if kind in ("has", "lacks", "same"):
        has = ("has", chance.choice(names), chance.choice(values))
        return has if kind == "has" else ("not", has)
    parts = {"not": 1, "->": 2, "<->": 2}.get(kind, chance.choice([2, 3]))
    return (kind, *(random_statement(chance, names, values, depth - 1) for _ in range(parts)))
