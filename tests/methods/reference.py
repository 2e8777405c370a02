"""What Mondrian promises, in plain Python: candidate cuts as documented, and exact safety.

Nothing here uses the library. A table is a list of rows (tuples of quasi-identifier values) with a
list of sensitive values; an attribute is described by `Line` (a threshold in an order; if nominal,
also one value and the rest) or `Levels` (the lowest node above a group is divided into its
children, or one child and the rest).
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

# ---- safety: Theorem 2 of "Privacy Skyline", amounts read as "at most" -------------------------


def breach(bags, value, point):
    """Breach probability of a value over groups (bags as Counters), as a fraction."""
    l, k, m = point  # noqa: E741

    def odds(bag, known):
        others = sorted((n for x, n in bag.items() if x != value), reverse=True)
        return Fraction(max(sum(others[l:]) - known, 0), bag[value])

    def nobody(bag, known):
        people = sum(bag.values()) - known
        healthy = people - bag[value]
        chance = Fraction(1)
        for i in range(m):
            if healthy - i <= 0:
                return Fraction(0)
            chance *= Fraction(healthy - i, people - i)
        return chance

    held = [bag for bag in bags if bag.get(value)]
    if not held:
        return Fraction(0)
    ratio = min(
        min(odds(bag, k) * nobody(bag, k + 1) for bag in held),
        min(odds(bag, 0) for bag in held) * min(nobody(bag, k) for bag in held),
        min(odds(bag, k) for bag in held) * min(nobody(bag, 0) for bag in held),
    )
    return 1 / (1 + ratio)


def failures(bags, rules):
    """The (values, point, c) rules that a release breaks; a rule wants every value below c."""
    return [
        (value, point, c)
        for values, point, c in rules
        for value in values
        if breach(bags, value, point) >= c
    ]


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


# ---- the promise -------------------------------------------------------------------------------


def bag_of(members, sensitive):
    """Count the sensitive values of some rows."""
    return Counter(sensitive[i] for i in members)


def parts(members, sides):
    """Rows of a group, by side."""
    found = {}
    for i, side in zip(members, sides, strict=True):
        found.setdefault(side, []).append(i)
    return list(found.values())


def safe_cuts(groups, rows, sensitive, attributes, rules, most):
    """Candidate cuts of a release that would keep it safe; a minimal release has none.

    Where several cuts are equally even and only some of them are candidates, which ones is not
    documented; then more safe ones than there are non-candidates are reported.
    """
    found = []
    for g, members in enumerate(groups):
        others = [bag_of(group, sensitive) for i, group in enumerate(groups) if i != g]

        def stays_safe(sides, members=members, others=others):
            bags = [bag_of(part, sensitive) for part in parts(members, sides)]
            return not failures(others + bags, rules)

        for a, attribute in enumerate(attributes):
            certain, classes = attribute.split([rows[i][a] for i in members], most)
            found += [(members, a, sides) for sides in certain if stays_safe(sides)]
            for wanted, equal in classes:
                allowed = [sides for sides in equal if stays_safe(sides)]
                if len(allowed) > len(equal) - wanted:
                    found.append((members, a, allowed))
    return found


def members_of(partition):
    """Rows of each group, numbered 0..n-1; rows of group -1 are left out."""
    numbers = sorted({g for g in partition if g >= 0})
    assert numbers == list(range(len(numbers)))
    return [[i for i, g in enumerate(partition) if g == n] for n in numbers]
