"""Full-domain generalization by brute force: every node of the lattice, in plain Python.

Nothing here uses the library. A table is a list of rows, its quasi-identifiers are the kinds of
`tests.methods.tables`; whether a release (a list of groups, lists of people) is safe is asked
of a function that is given.
"""

from fractions import Fraction
from itertools import product

from tests.methods.reference import Levels
from tests.methods.tables import _TREE

_PLACE = {row[0]: i for i, row in enumerate(_TREE)}


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
    """Every node of the lattice of a table, judged.

    Parameters
    ----------
    kinds : list of Kind
    rows : list of tuples
    is_safe : callable
        Of a list of groups of people.
    most : int
        How many people may be suppressed.
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
        found = {}
        for person, key in enumerate(zip(*(names for names, _ in columns), strict=True)):
            found.setdefault(key, []).append(person)
        starts = [own for _, own in columns]
        in_order = sorted(found, key=lambda key: [s[k] for s, k in zip(starts, key, strict=True)])
        return [found[key] for key in in_order]

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
