"""Feasibility: whether a prior leaves any way to deal; exact, however large the groups are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction


def stuck(
    bag: Mapping[int, int],
    size: int,
    semantics: str,
    rows: Iterable[Mapping[int, Fraction]],
) -> int | None:
    """Find what of a group cannot be dealt.

    Parameters
    ----------
    bag : mapping of code -> occurrences
    size : int
        Members of the group.
    semantics : str
    rows : iterable of mapping of code -> weight
        Of those members whom the prior names. Only weights of 0 matter.

    Returns
    -------
    int or None
        A code; -1 for the whole bag, under ``single``; None if there is a way.

    Examples
    --------
    >>> never = Fraction(0)
    >>> stuck({0: 1, 1: 1}, 2, "single", [{0: never}, {0: never}])
    -1
    >>> stuck({0: 1, 1: 2}, 3, "set", [{0: never}, {0: never, 1: never}]) is None
    True
    """
    barred = [{code for code in bag if row.get(code) == 0} for row in rows]
    if semantics == "single":
        allowed = [tuple(code for code in bag if code not in own) for own in barred if own]
        return None if _seated(allowed, bag) else -1
    without = Counter(code for own in barred for code in own)
    for code, count in bag.items():
        if size - without[code] < (1 if semantics == "multiset" else count):
            return code
    return None


def _seated(allowed: list[tuple[int, ...]], bag: Mapping[int, int]) -> bool:
    """Whether everybody can get one of the values that they may have; by augmenting paths."""
    left = dict(bag)
    seated: dict[int, Counter[tuple[int, ...]]] = {code: Counter() for code in bag}
    for own in sorted(allowed, key=len):
        queue = list(own)
        # By value, who would move there from which other value.
        moves: dict[int, tuple[int, tuple[int, ...]] | None] = dict.fromkeys(own)
        for code in queue:
            if left[code]:
                break
            for other in seated[code]:
                for free in other:
                    if free not in moves:
                        moves[free] = (code, other)
                        queue.append(free)
        else:
            return False
        left[code] -= 1
        while (move := moves[code]) is not None:
            seated[code][move[1]] += 1
            code, mover = move
            seated[code] -= Counter([mover])
        seated[code][own] += 1
    return True
