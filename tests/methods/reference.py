"""What methods promise, in plain Python: candidate cuts as documented, every node, exact safety.

Nothing here uses the library. A group is a pair of how many people it has and a Counter of their
values, a partition a list of lists of people. An attribute is described by `Line` (a threshold in
an order; if nominal, also one value and the rest) or `Levels` (the lowest node above a group is
divided into its children, or one child and the rest).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby, product
from typing import Any

from tests.oracle.facts import t_of, v_of


def breach(groups, value, point, semantics="single"):
    """Breach probability as a fraction, by Theorem 2 of "Privacy Skyline", mended; "at most"."""
    l, k, m = point  # noqa: E741
    held = [group for group in groups if group[1][value]]
    if not held:
        return Fraction(0)

    def odds(group, known):
        return t_of(group, value, l, known, semantics)

    def nobody(group, known):
        return v_of(group, value, m, known, semantics)

    ratio = min(
        min(odds(group, k) * nobody(group, k + 1) for group in held),
        min(odds(group, 0) for group in held) * min(nobody(group, k) for group in held),
        min(odds(group, k) for group in held) * min(nobody(group, 0) for group in held),
    )
    return 1 / (1 + ratio)


def safe(groups, rules, semantics="single", margin=0):
    """Whether every value of every (values, point, c) rule stays below c, or well below."""
    return all(
        breach(groups, value, point, semantics) < c - margin * c * (1 - c)
        for values, point, c in rules
        for value in values
    )


# ---- candidate cuts ----------------------------------------------------------------------------


@dataclass
class Line:
    """An attribute without levels: values in the order of a key, a null before all others.

    A nominal one may also have one of several values set apart.
    """

    key: Callable[[Any], Any] = lambda value: value
    nominal: bool = False

    def _scored(self, values):
        known = sorted({self.key(v) for v in values if v is not None})
        place = [-1 if v is None else known.index(self.key(v)) for v in values]
        present = sorted(set(place))
        for last in present[:-1]:
            yield [at > last for at in place]
        if self.nominal and len(present) > 2:
            for alone in present:
                yield [at == alone for at in place]

    def split(self, values, most):
        """Certain candidates (none), and classes of which some number are candidates."""
        return [], _most_even([(abs(2 * sum(s) - len(s)), s) for s in self._scored(values)], most)


@dataclass
class Levels:
    """An attribute with levels: `path` names the nodes above a value, finest first, top last."""

    path: Callable[[Any], tuple]

    def split(self, values, most):
        """All children apart for certain; one child apart for the most even ones."""
        if len(set(values)) < 2:
            return [], []
        lines = [((0, value), *enumerate(self.path(value), 1)) for value in values]
        height = next(j for j in range(len(lines[0])) if len({line[j] for line in lines}) == 1)
        children = [line[height - 1] for line in lines]
        single = []
        if len(set(children)) > 2:
            for child in sorted(set(children), key=repr):
                sides = [c == child for c in children]
                single.append((abs(2 * sum(sides) - len(sides)), sides))
        return [children], _most_even(single, most)


def _most_even(scored, most):
    """Classes of equally even cuts, each with how many of it are candidates."""
    classes, left = [], most
    for _, equal in groupby(sorted(scored, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
        sides = [side for _, side in equal]
        if left <= 0:
            break
        classes.append((min(left, len(sides)), sides))
        left -= len(sides)
    return classes


# ---- what could be ----------------------------------------------------------------------------


def parts(members, sides):
    """People of a group, by side."""
    results = {}
    for i, side in zip(members, sides, strict=True):
        results.setdefault(side, []).append(i)
    return list(results.values())


def into_intervals(crowd):
    """Every partition into intervals of the first quasi-identifier, everybody in one first."""
    values = sorted({row[0] for row in crowd.rows})
    for n in range(len(values)):
        for starts in combinations(values[1:], n):
            place = [sum(row[0] >= start for start in starts) for row in crowd.rows]
            yield [[p for p, at in enumerate(place) if at == i] for i in range(n + 1)]


# ---- every node of a lattice -------------------------------------------------------------------

# Leaves, and the nodes above each, up to the top.
TREE = [tuple(path) for path in ["apu*", "bpu*", "cpu*", "dqu*", "equ*", "frv*", "gsv*", "htw*"]]
_PLACE = {row[0]: i for i, row in enumerate(TREE)}


def ladder(kind):
    """What a value is called at each level: itself, the nodes above it; at last one for all."""
    attribute = kind.attribute
    if not isinstance(attribute, Levels):
        return [lambda value: value, lambda value: "*"]
    height = {"tree": 3, "interval": 3, "mask": 3}[kind.name]
    above = [lambda value, j=j: attribute.path(value)[j:] for j in range(height)]
    return [lambda value: value, *above]


def place(kind, value):
    """Where a value comes in leaf order; nulls first."""
    if value is None:
        return (0, 0)
    if not isinstance(kind.attribute, Levels):
        return (1, kind.attribute.key(value))
    return (1, _PLACE[value] if kind.name == "tree" else value)


class BruteForce:
    """Every node of the lattice of a table, judged: `is_safe` of a list of groups of people.

    So many people as `most` may be suppressed.
    """

    def __init__(self, kinds, rows, is_safe, most=0):
        self.kinds, self.rows, self.is_safe, self.most = kinds, rows, is_safe, most
        self.ladders = [ladder(kind) for kind in kinds]
        self.columns = [
            [self._named(a, step) for step in steps] for a, steps in enumerate(self.ladders)
        ]
        self.nodes = list(product(*(range(len(steps)) for steps in self.ladders)))
        self.released = {node: self._judge(self.groups(node)) for node in self.nodes}
        self.safe = {node for node, found in self.released.items() if found is not None}

    def _named(self, a, step):
        """What everybody's value of a column is called at a level, and where each name comes.

        A node comes where the first of its leaves does, of all that occur in the table.
        """
        names, starts = [step(row[a]) for row in self.rows], {}
        for name, row in zip(names, self.rows, strict=True):
            own = place(self.kinds[a], row[a])
            starts[name] = min(starts.get(name, own), own)
        return names, starts

    def groups(self, node):
        """People with equal values at a node, in the order of their leaves."""
        columns = [self.columns[a][level] for a, level in enumerate(node)]
        results = {}
        for person, key in enumerate(zip(*(names for names, _ in columns), strict=True)):
            results.setdefault(key, []).append(person)
        starts = [own for _, own in columns]
        in_order = sorted(results, key=lambda key: [s[k] for s, k in zip(starts, key, strict=True)])
        return [results[key] for key in in_order]

    def _judge(self, groups):
        """The groups and the suppressed people of a node's release; None if it is not safe."""
        if self.is_safe(groups):
            return groups, []
        unsafe = [g for g in groups if not self.is_safe([g])]
        others = sorted((g for g in groups if g not in unsafe), key=len)
        for joining in range(len(others) + 1):
            outliers = [p for g in unsafe + others[:joining] for p in g]
            if len(outliers) > self.most:
                return None
            rest = [g for g in groups if not set(g) & set(outliers)]
            if outliers and self.is_safe([*rest, outliers]):
                return rest, outliers
        return None

    def below(self, node):
        """Nodes that generalize less."""
        return [
            n for n in self.nodes if n != node and all(a <= b for a, b in zip(n, node, strict=True))
        ]

    def minimal(self):
        """Safe nodes below which there is none."""
        return {node for node in self.safe if not any(n in self.safe for n in self.below(node))}

    def loss(self, node, objective):
        """What a safe node loses, as documented."""
        _, outliers = self.released[node]
        people = range(len(self.rows))
        top = tuple(len(steps) - 1 for steps in self.ladders)
        lost = worst = Fraction(0)
        for a, (own, most) in enumerate(zip(node, top, strict=True)):
            for person in people:
                level = most if person in outliers else own
                lost += self._cost(objective, a, level, person)
                worst += self._cost(objective, a, most, person)
        return float(lost / worst) if worst else 0.0

    def _cost(self, objective, a, level, person):
        if objective == "height":
            return Fraction(level)
        names, _ = self.columns[a][level]
        domain = {row[a] for row in self.rows}
        covered = {
            row[a] for row, name in zip(self.rows, names, strict=True) if name == names[person]
        }
        return Fraction(len(covered) - 1, max(len(domain) - 1, 1))
