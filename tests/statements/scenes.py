"""Small releases of named people, and random statements about them."""

import random
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

import foreknow as fk
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Labels
from foreknow.data.people import Members
from foreknow.statements.formulas import And, Has, Iff, Implies, Not, Or, Same

NAMES = ["Ann", "Bob Lee", "and", "O'Neil", "Ed", "漢字", "7"]
VALUES = ["AIDS", "Flu", 'a "cold"', "not->in"]

# Figure 3 of the skyline paper.
FIGURE = [
    (["Ann", "Bob", "Cary", "Dick"], ["AIDS", "Flu", "Flu", "AIDS"]),
    (["Ed", "Frank", "Gary", "Tom"], ["Flu", "Cancer", "Flu", "AIDS"]),
]


@dataclass
class Scene:
    """A small release, what the oracle and the library take for it."""

    semantics: str
    groups: list  # of (names, bag)
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

    @property
    def pairs(self):
        """Every person and value."""
        return [(person, value) for person in self.people for value in self.values]

    def known(self, **more):
        """Statements as texts and formulas in turn."""
        said = [text(s) if i % 2 else formula(s) for i, s in enumerate(self.statements)]
        return fk.Statements(*said, **more)


class Release(SimpleNamespace):
    """A stand-in for a release: something with counts and members."""

    def __init__(self, counts, members):
        super().__init__(counts=counts, members=members)

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def release_of(groups, semantics="single"):
    """A release of groups, each (names, bag)."""
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


def random_scene(seed, semantics):
    """A release with statements; small enough for enumeration."""
    chance = random.Random(f"{seed} {semantics}")
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
    amount = chance.choice([1, 1, 2, 2, 3, 4])
    said = [random_statement(chance, names, values, 3) for _ in range(amount)]
    return Scene(semantics, groups, said)


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
