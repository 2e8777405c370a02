"""How the next one draws partners by RIA: a plain reference."""

from itertools import combinations


def next_rows(unused, left, need):
    """The sets of colours that the next one of a colour may draw, all equally likely.

    `unused` says how many people of each other colour are not drawn; of the colour itself, 0.
    """
    pool = [c for c, many in enumerate(unused) if many]
    spare = sum(min(many, left) for many in unused) - need * left
    if spare >= len(pool):
        return {frozenset(row) for row in combinations(pool, need)}
    full = [c for c in pool if unused[c] >= left]
    if len(full) >= need:
        return {frozenset(row) for row in combinations(full, need)}
    others = [c for c in pool if unused[c] < left]
    return {frozenset(full) | frozenset(row) for row in combinations(others, need - len(full))}
