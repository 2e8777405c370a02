"""Joint values: how sure somebody may become of a secret beside a column with rules.

A rule on one column of a row is a rule on the row: people have joint values, such as a diagnosis
and a test, and a secret is a set of joint values. What is known is about the secret's column alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

from foreknow_judge.impossible import Cannot, JointValue

# With more kinds of secrets in one group, nothing is proven: 1 is the bound.
_MOST_KINDS = 8
_FREE: frozenset[int] = frozenset()


@lru_cache(maxsize=1 << 16)  # groups are often alike
def surest(
    bag: Sequence[JointValue],
    people: Collection[tuple[Cannot, int]],
    secret: Collection[Any],
    l: int,
    k: int,
) -> Fraction:
    """An upper bound of how sure somebody may become that a member of a group has a secret.

    A kind is the set of rules that joint values fall under; values of a kind are dealt to the same
    people, so a member is as likely to have one of them as another: with the same `share`. The
    share of a kind that only some can have is highest when two things hold. Those who can have it
    have other kinds as often as they can, except kinds that all of them can have, which are dealt
    later. And the known people are among the rest.

    The bound is the worst of all choices of kinds that the target can have: these have their
    highest shares, and the values that everybody can have share what is left. The exact figure is
    a mean of such choices, or lower.
    """

    def able(kind: frozenset[int], other_kind: frozenset[int] = _FREE) -> int:
        """How many people can have a kind, and perhaps can have the other."""
        return sum(n for who, n in people if not (who.perhaps & kind or who.surely & other_kind))

    size = sum(n for _, n in people)
    partly = {kind for _, kind, _ in bag if able(kind) < size}
    having: dict[frozenset[int], Counter[Any]] = {_FREE: Counter()}
    for value, kind, count in bag:
        having.setdefault(kind if kind in partly else _FREE, Counter())[value] += count
    sums = {kind: values_of_kind.total() for kind, values_of_kind in having.items()}
    holders = {
        kind: sum(values_of_kind[value] for value in secret)
        for kind, values_of_kind in having.items()
    }

    def may_take_from(kind: frozenset[int], other_kind: frozenset[int]) -> bool:
        """True if values of another kind may take people from those who can have a kind."""
        may_stand_beside = l > 0 and not holders[other_kind]
        return may_stand_beside or any(
            who.perhaps & other_kind and not who.surely & kind for who, _ in people
        )

    members = {
        kind: able(kind)
        - sum(
            min(sums[other_kind], able(kind, other_kind))
            for other_kind in partly - {kind}
            if may_take_from(kind, other_kind)
        )
        for kind in partly
        if holders[kind]
    }
    if len(members) > _MOST_KINDS:
        return Fraction(1)
    worst = Fraction(0)
    for chosen in (
        values_of_kind
        for n in range(len(members) + 1)
        for values_of_kind in combinations(members, n)
    ):
        unshared, k_left = Fraction(1), k
        chances = defaultdict[Any, Fraction](Fraction)
        for kind in (*chosen, _FREE):
            known_others = min(k if kind else k_left, sums[kind] - holders[kind])
            count_left, k_left = sums[kind] - known_others, max(k_left - known_others, 0)
            share = max(unshared, Fraction(0)) / (count_left or 1)
            if kind:
                share = Fraction(1, max(members[kind] - k, count_left))
            unshared -= count_left * share
            for value, count in having[kind].items():
                chances[value] += count * share
        of_secret = sum((chances.pop(value, Fraction(0)) for value in secret), Fraction(0))
        of_others = sorted(chances.values(), reverse=True)
        if of_secret:
            worst = max(worst, of_secret / max(1 - sum(of_others[:l], Fraction(0)), of_secret))
    return worst
