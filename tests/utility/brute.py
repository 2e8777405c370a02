"""Answers to count queries from the definitions: plain Python, over all people and all boxes."""

import numpy as np

RANKS = {"low": 0, "middle": 1, "high": 2}
LEAVES = "abcdefgh"


def members(groups):
    return [[i for i, g in enumerate(groups) if g == group] for group in sorted(set(groups))]


def common(pieces, others):
    """How many possible values two lists of disjoint pieces have in common."""
    total = (None in pieces) and (None in others)
    for piece in pieces:
        for other in others:
            if piece is not None and other is not None:
                total += max(0, min(piece.stop, other.stop) - max(piece.start, other.start))
    return total


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


def members_of(covers):
    """The values that labels cover: the label of each, and its code."""
    found = [(), ()]
    for label in range(len(covers)):
        for at in range(covers.offsets[label], covers.offsets[label + 1]):
            ends = covers.starts[at], covers.ends[at]
            codes = range(*np.searchsorted(covers.positions.cells, ends).tolist())
            found = [(*found[0], *[label] * len(codes)), (*found[1], *codes)]
    return np.array(found[0], dtype=int), np.array(found[1], dtype=int)
