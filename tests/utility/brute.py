"""Answers to count queries from the definitions: plain Python, over all people and all boxes."""

from fractions import Fraction

import numpy as np
from tests.methods.tables import interval_path, mask_path, tree_path

PATHS = {"tree": tree_path, "interval": interval_path, "mask": mask_path}
DEPTH = 3
RANKS = {"low": 0, "middle": 1, "high": 2}
LEAVES = "abcdefgh"


def queries_of(drawn):
    """The queries as sets of values: one per attribute that is asked about, and the sensitive."""
    results = []
    for q in range(len(drawn)):
        sets = [
            {v for v, wanted in zip(attribute.domain, asked_value[:, q], strict=True) if wanted}
            for attribute, asked_value in zip(drawn.attributes, drawn.asked_values, strict=True)
        ]
        results.append((sets, drawn.values[:, q]))
    return results


def true_answer(rows, sensitive, sets, expected):
    return sum(
        all(value in allowed for value, allowed in zip(row, sets, strict=True)) and held in expected
        for row, held in zip(rows, sensitive, strict=True)
    )


def members(groups):
    return [[i for i, g in enumerate(groups) if g == group] for group in sorted(set(groups))]


def bucketized_answer(rows, sensitive, groups, sets, expected):
    """Each of the people who match has each value of the bag with the same chance."""
    total = Fraction(0)
    for group in members(groups):
        matching = sum(
            all(v in allowed for v, allowed in zip(rows[i], sets, strict=True)) for i in group
        )
        total += matching * Fraction(sum(sensitive[i] in expected for i in group), len(group))
    return total


def generalized_answer(boxes, sensitive, groups, wishes, expected):
    """Each person is anywhere in their group's box with the same chance.

    A box has a list of pieces per attribute, a wish of a query as well: ranges of whole numbers,
    and None for a missing value.
    """
    total = Fraction(0)
    for group, box in zip(members(groups), boxes, strict=True):
        share = Fraction(1)
        for pieces, wish in zip(box, wishes, strict=True):
            share *= Fraction(common(pieces, wish), common(pieces, pieces))
        total += share * sum(sensitive[i] in expected for i in group)
    return total


def common(pieces, others):
    """How many possible values two lists of disjoint pieces have in common."""
    total = (None in pieces) and (None in others)
    for piece in pieces:
        for other in others:
            if piece is not None and other is not None:
                total += max(0, min(piece.stop, other.stop) - max(piece.start, other.start))
    return total


def wish_of(kind, asked, domain):
    """What a query asks for: values, and what lies between those that are next to each other."""
    where = place(kind, domain)
    result = [None] * (None in asked)
    run = []
    for value in sorted((v for v in domain if v is not None), key=where):
        if value in asked:
            run.append(where(value))
        elif run:
            result.append(range(run[0], run[-1] + 1))
            run = []
    return result + ([range(run[0], run[-1] + 1)] if run else [])


def box_of(kind, values, domain, floor=0, style=None):
    """What a group's label covers: all that could be meant, whether it occurs or not."""
    kind_of = kind.name
    style = style or ("hierarchy" if kind_of in PATHS else "set" if kind_of == "text" else "range")
    where = place(kind, domain)
    known = [where(v) for v in domain if v is not None]
    lowest, highest = min(known), max(known)
    everything = [range(lowest, highest + 1), *([None] * (None in domain))]
    if style == "hierarchy":
        for level in range(floor, DEPTH + 1):
            nodes = {path_of(kind_of, value)[level] for value in values}
            if len(nodes) > 1:
                continue
            if level == DEPTH:
                return everything
            if None in values:
                return [None]
            return [
                range(step, step + 1)
                for step in range(lowest, highest + 1)
                if path_of(kind_of, at(kind_of, step, domain))[level] in nodes
            ]
        raise AssertionError("no top")
    if floor >= (DEPTH if kind_of in PATHS else 1):
        return everything
    if style == "set":
        if set(values) == set(domain):
            return everything
        return [None if v is None else range(where(v), where(v) + 1) for v in values]
    inside = [where(v) for v in values if v is not None]
    result = [None] * (None in values)
    return result + ([range(min(inside), max(inside) + 1)] if inside else [])


def place(kind, domain):
    """Where a value lies among all that are possible: a whole number."""
    occurring = sorted(v for v in domain if v is not None) if kind.name in ("text", "mask") else ()
    return {
        "number": int,
        "interval": int,
        "decimal": lambda value: int(value * PARTS[any(v in (0.5, -1.5) for v in domain)]),
        "order": RANKS.__getitem__,
        "tree": LEAVES.index,
        "text": occurring.index if occurring else None,
        "mask": occurring.index if occurring else None,
    }[kind.name]


# Decimal numbers are written in tenths if any of them has to be.
PARTS = {True: 10, False: 1}


def at(kind_of, step, domain):
    """The possible value that lies somewhere."""
    if kind_of == "mask":
        return sorted(v for v in domain if v is not None)[step]
    return LEAVES[step] if kind_of == "tree" else step


def path_of(kind_of, value):
    """A value and what is above it."""
    if value is None:
        return (None, *(("(null)",) * (DEPTH - 1)), "*")
    above = PATHS[kind_of](value)
    # One label may stand for different things at different levels.
    return (value, *((level, label) for level, label in enumerate(above[:-1])), "*")


def members_of(covers):
    """The values that labels cover: the label of each, and its code."""
    results = [(), ()]
    for label in range(len(covers)):
        for at in range(covers.offsets[label], covers.offsets[label + 1]):
            ends = covers.starts[at], covers.ends[at]
            codes = range(*np.searchsorted(covers.positions.cells, ends).tolist())
            results = [(*results[0], *[label] * len(codes)), (*results[1], *codes)]
    return np.array(results[0], dtype=int), np.array(results[1], dtype=int)
