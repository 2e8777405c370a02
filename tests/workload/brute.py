"""Answers to count queries from the definitions: plain Python, over all people and all boxes."""

from fractions import Fraction
from itertools import product

from tests.anonymizers.tables import interval_path, mask_path, tree_path

PATHS = {"tree": tree_path, "interval": interval_path, "mask": mask_path}
DEPTH = 3
RANKS = {"low": 0, "middle": 1, "high": 2}


def queries_of(drawn):
    """The queries as sets of values: one per attribute that is asked about, and the sensitive."""
    found = []
    for q in range(len(drawn)):
        sets = [
            {v for v, wanted in zip(attribute.domain, asked[:, q], strict=True) if wanted}
            for attribute, asked in zip(drawn.attributes, drawn.asked, strict=True)
        ]
        found.append((sets, drawn.values[:, q]))
    return found


def true_answer(rows, sensitive, sets, wanted):
    return sum(
        all(value in allowed for value, allowed in zip(row, sets, strict=True)) and held in wanted
        for row, held in zip(rows, sensitive, strict=True)
    )


def members(groups):
    return [[i for i, g in enumerate(groups) if g == group] for group in sorted(set(groups))]


def bucketized_answer(rows, sensitive, groups, sets, wanted):
    """Each of the people who match has each value of the bag with the same chance."""
    total = Fraction(0)
    for group in members(groups):
        matching = sum(
            all(v in allowed for v, allowed in zip(rows[i], sets, strict=True)) for i in group
        )
        total += matching * Fraction(sum(sensitive[i] in wanted for i in group), len(group))
    return total


def generalized_answer(boxes, sensitive, groups, sets, wanted):
    """Each person is in each cell of their group's box with the same chance."""
    total = Fraction(0)
    for group, box in zip(members(groups), boxes, strict=True):
        cells = list(product(*box))
        matching = sum(
            all(v in allowed for v, allowed in zip(cell, sets, strict=True)) for cell in cells
        )
        total += Fraction(matching, len(cells)) * sum(sensitive[i] in wanted for i in group)
    return total


def box_of(kind, values, domain, floor=0, style=None):
    """The values that a group's label covers, of those that occur in the table."""
    kind_of = kind.name
    style = style or ("hierarchy" if kind_of in PATHS else "set" if kind_of == "text" else "range")
    if style == "hierarchy":
        for level in range(floor, DEPTH + 1):
            nodes = {path_of(kind_of, value)[level] for value in values}
            if len(nodes) == 1:
                return [v for v in domain if path_of(kind_of, v)[level] in nodes]
        raise AssertionError("no top")
    if floor >= (DEPTH if kind_of in PATHS else 1):
        return list(domain)
    if style == "set":
        return [v for v in domain if v in values]
    known = [rank(kind_of, v) for v in values if v is not None]
    inside = [
        v
        for v in domain
        if v is not None and known and min(known) <= rank(kind_of, v) <= max(known)
    ]
    return inside + [None] * (None in values)


def rank(kind_of, value):
    """Where a value lies; leaves of these hierarchies lie in the order of their values."""
    return RANKS[value] if kind_of == "order" else value


def path_of(kind_of, value):
    """A value and what is above it."""
    if value is None:
        return (None, *(("(null)",) * (DEPTH - 1)), "*")
    above = PATHS[kind_of](value)
    # One label may stand for different things at different levels.
    return (value, *((level, label) for level, label in enumerate(above[:-1])), "*")
