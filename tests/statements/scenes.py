"""Small releases of named people, and random statements about them."""

import random
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

import foreknow as fk
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels
from foreknow.data.members import Members
from foreknow.features.statements.formulas import And, Has, Iff, Implies, Not, Or, Same

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
    def people(self):
        return [name for names, _ in self.groups for name in names]

    @property
    def values(self):
        return sorted({value for _, bag in self.groups for value in bag})

    def known(self):
        """Statements as texts and formulas in turn."""
        texts = [text(s) if i % 2 else formula(s) for i, s in enumerate(self.statements)]
        return fk.Statements(*texts)


class Release(SimpleNamespace):
    """A stand-in for a release: something with counts and members."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def release_of(groups, semantics="single"):
    """A release of groups, each (names, bag)."""
    values = sorted({value for _, bag in groups for value in bag})
    counts = GroupCounts.from_pairs(
        np.array([g for g, (_, bag) in enumerate(groups) for _ in bag], dtype=np.int64),
        np.array([values.index(value) for _, bag in groups for value in bag], dtype=np.int64),
        values=values,
        n_groups=len(groups),
        sizes=np.array([len(names) for names, _ in groups]),
        semantics=semantics,
    )
    places = np.array([g for g, (names, _) in enumerate(groups) for _ in names])
    names = Labels(name for names, _ in groups for name in names)
    return Release(counts=counts, members=Members(names, places))


KINDS = {"not": Not, "->": Implies, "<->": Iff, "has": Has}


def formula(said):
    """A statement of the oracle as a formula of the library."""
    kind, *parts = said
    if kind == "same":
        return Same(tuple(parts))
    inner = parts if kind == "has" else [formula(part) for part in parts]
    if kind in ("and", "or"):
        return (And if kind == "and" else Or)(tuple(inner))
    return KINDS[kind](*inner)


def text(said):
    """A statement of the oracle in the library's language, all parentheses written."""
    kind, *parts = said
    if kind == "has":
        return " = ".join(map(in_quotes, parts))
    if kind == "same":
        return f"same({', '.join(map(in_quotes, parts))})"
    if kind == "not":
        return f"not ({text(parts[0])})"
    return f" {kind} ".join(f"({text(part)})" for part in parts)


def in_quotes(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def random_scene(seed, semantics):
    """A release with statements; small enough for enumeration."""
    chance = random.Random(f"{seed} {semantics}")
    names = NAMES[: chance.randint(1, 6 if semantics == "single" else 5)]
    groups, rest = [], names
    while rest:
        people = rest if len(groups) == 2 else rest[: chance.randint(1, len(rest))]
        kinds = chance.sample(VALUES, chance.randint(1, 4))
        if semantics == "single":
            bag = [chance.choice(kinds) for _ in people]
        else:
            most = min(len(people), 3) if semantics == "set" else 3
            bag = [v for v in kinds[:2] for _ in range(chance.randint(1, most))]
        groups.append((people, bag))
        rest = rest[len(people) :]
    values = sorted({value for _, bag in groups for value in bag})
    amount = chance.choice([1, 1, 2, 2, 3, 4])
    texts = [random_statement(chance, names, values, 3) for _ in range(amount)]
    return Scene(semantics, groups, texts)


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
