"""What Mondrian promises, in plain Python: candidate cuts as documented, and exact safety.

Nothing here uses the library. A group is a pair of how many people it has and a Counter of their
values, a partition a list of lists of people. An attribute is described by `Line` (a threshold in
an order; if nominal, also one value and the rest) or `Levels` (the lowest node above a group is
divided into its children, or one child and the rest).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby
from typing import Any

# How near to a threshold a search may refuse what is safe where people may have several values,
# as a share of the odds.
CLOSE = Fraction(1, 10**9)


def breach(groups, value, point, semantics="single"):
    """Breach probability as a fraction, by Theorem 2 of "Privacy Skyline", mended; "at most"."""
    l, k, m = point  # noqa: E741

    def odds(group, known):
        n, bag = group
        s, others = bag[value], sorted((c for x, c in bag.items() if x != value), reverse=True)
        if semantics == "single":
            return Fraction(max(sum(others[l:]) - known, 0), s)
        if semantics == "set":
            spare = Fraction(max(n - s - known, 0), s)
            for count in others[:l]:
                spare *= Fraction(n - count, n)
            return spare
        if n - known - 1 <= 0:
            return Fraction(0)
        none = Fraction(n - known - 1, n - known) ** s
        return none / (1 - none) * Fraction(n - 1, n) ** sum(others[:l])

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
    found = {}
    for i, side in zip(members, sides, strict=True):
        found.setdefault(side, []).append(i)
    return list(found.values())


def safe_cuts(crowd, groups, rules, most):
    """Candidate cuts of a release that would keep it safe; a minimal release has none.

    Where several cuts are equally even and only some of them are candidates, which ones is not
    documented; then more safe ones than there are non-candidates are reported.
    """
    bags, margin = crowd.bags(groups), 0 if crowd.semantics == "single" else CLOSE
    found = []
    for g, members in enumerate(groups):
        others = [bag for i, bag in enumerate(bags) if i != g]

        def stays_safe(sides, members=members, others=others):
            after = others + crowd.bags(parts(members, sides))
            return safe(after, rules, crowd.semantics, margin)

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
