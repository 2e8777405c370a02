"""Random small tables of people with several values each, judged in plain Python.

Nothing here uses the library but to make its tables. A group is a pair of how many people it has
and a Counter of their values; a partition is a list of lists of people.
"""

import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import pyarrow as pa
from hypothesis import strategies as st
from tests.methods.reference import parts
from tests.methods.tables import KINDS, Kind

import foreknow as fk

# How near to a threshold a search may refuse what is safe, as a share of the odds.
CLOSE = Fraction(1, 10**9)


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
    def schema(self):
        named = zip(self.names, self.kinds, strict=True)
        return fk.Schema(
            quasi_identifiers=self.names,
            sensitive="disease",
            semantics=self.semantics,
            person="pid",
            hierarchies={name: kind.hierarchy for name, kind in named if kind.hierarchy},
        )

    def entries(self, seed=0):
        """A row (person, value) for each value, mixed up; one without for who has none."""
        found = [(p, x) for p, own in enumerate(self.held) for x in own or [None]]
        random.Random(seed).shuffle(found)
        return found

    def microdata(self, seed=0):
        entries = self.entries(seed)
        columns = {
            name: pa.array([self.rows[p][a] for p, _ in entries], kind.type)
            for a, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True))
        }
        who = [f"person {p}" for p, _ in entries]
        disease = pa.array([x for _, x in entries], pa.string())
        return fk.Microdata(pa.table({**columns, "pid": who, "disease": disease}), self.schema)

    def groups_of(self, partition, seed=0):
        """People of each group, numbered without gaps; all rows of a person must agree."""
        group_of = {}
        for (person, _), group in zip(self.entries(seed), partition, strict=True):
            assert group_of.setdefault(person, group) == group
        assert set(group_of) == set(range(len(self.held)))
        numbers = sorted(set(group_of.values()))
        assert numbers == list(range(len(numbers)))
        return [[p for p, g in sorted(group_of.items()) if g == n] for n in numbers]

    def bag(self, people):
        """One group, counted."""
        return len(people), Counter(x for p in people for x in self.held[p])

    def bags(self, groups):
        return [self.bag(people) for people in groups]


def crowd_of(values, held, semantics):
    """People along one number."""
    return Crowd([KINDS[0]], semantics, [(value,) for value in values], list(held))


@st.composite
def crowds(draw, most_people=12, most_attributes=2, letters="STUV"):
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=most_attributes))
    size = draw(st.integers(4, most_people))
    cell = [st.one_of(k.values, k.values, k.values, st.none()) for k in kinds]
    rows = draw(st.lists(st.tuples(*cell), min_size=size, max_size=size))
    semantics = draw(st.sampled_from(["set", "multiset"]))
    known = draw(st.integers(2, len(letters)))
    own = st.lists(st.sampled_from(letters[:known]), max_size=known, unique=semantics == "set").map(
        "".join
    )
    held = draw(st.lists(own, min_size=size, max_size=size).filter(any))
    return Crowd(kinds, semantics, rows, held)


# ---- safety, from the table of formulas for several values, as mended in the docs --------------


def breach(groups, value, point, semantics):
    """Breach probability of a value as a fraction."""
    l, k, m = point  # noqa: E741

    def odds(group, known):
        n, bag = group
        s, others = bag[value], sorted((c for x, c in bag.items() if x != value), reverse=True)[:l]
        if semantics == "set":
            spare = Fraction(max(n - s - known, 0), s)
            for count in others:
                spare *= Fraction(n - count, n)
            return spare
        if n - known - 1 <= 0:
            return Fraction(0)
        none = Fraction(n - known - 1, n - known) ** s
        return none / (1 - none) * Fraction(n - 1, n) ** sum(others)

    def nobody(group, known):
        n, bag = group
        s = bag[value]
        if m == 0:
            return Fraction(1)
        if semantics == "multiset":
            left = n - known - m
            return Fraction(left, n - known) ** s if left > 0 else Fraction(0)
        chance = Fraction(1)
        for i in range(m):
            if n - s - known - i <= 0:
                return Fraction(0)
            chance *= Fraction(n - s - known - i, n - known - i)
        return chance

    held = [group for group in groups if group[1][value]]
    if not held:
        return Fraction(0)
    ratio = min(
        min(odds(group, k) * nobody(group, k + 1) for group in held),
        min(odds(group, 0) for group in held) * min(nobody(group, k) for group in held),
        min(odds(group, k) for group in held) * min(nobody(group, 0) for group in held),
    )
    return 1 / (1 + ratio)


def safe(groups, rules, semantics, margin=0):
    """Whether every value of every (values, point, c) rule stays below c, or well below."""
    return all(
        breach(groups, value, point, semantics) < c - margin * c * (1 - c)
        for values, point, c in rules
        for value in values
    )


# ---- what could be ----------------------------------------------------------------------------


def safe_cuts(crowd, groups, rules, most):
    """Candidate cuts of a release that would keep it safe by a margin; see `reference`."""
    bags = crowd.bags(groups)
    found = []
    for g, members in enumerate(groups):
        others = [bag for i, bag in enumerate(bags) if i != g]

        def stays_safe(sides, members=members, others=others):
            after = others + crowd.bags(parts(members, sides))
            return safe(after, rules, crowd.semantics, CLOSE)

        for a, attribute in enumerate(crowd.attributes):
            certain, classes = attribute.split([crowd.rows[p][a] for p in members], most)
            found += [(members, a, sides) for sides in certain if stays_safe(sides)]
            for wanted, equal in classes:
                allowed = [sides for sides in equal if stays_safe(sides)]
                if len(allowed) > len(equal) - wanted:
                    found.append((members, a, allowed))
    return found


def into_intervals(crowd):
    """Every partition into intervals of the first quasi-identifier, everybody in one first."""
    values = sorted({row[0] for row in crowd.rows})
    for n in range(len(values)):
        for starts in combinations(values[1:], n):
            place = [sum(row[0] >= start for start in starts) for row in crowd.rows]
            yield [[p for p, at in enumerate(place) if at == i] for i in range(n + 1)]
