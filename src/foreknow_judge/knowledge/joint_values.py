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
from typing import Any, NamedTuple

from foreknow_judge.knowledge.impossible_values import NO_RULES, Cannot, JointValue, RuleSet, n_able

# With more kinds of secrets in one group, nothing is proven: 1 is the bound.
_MOST_KINDS = 8


class _Kind(NamedTuple):
    """Joint values that fall under the same rules, so that they are dealt to the same people."""

    counts: Counter[Any]  # how many have each value
    n_secret: int  # how many have a value of the secret
    members: int = 0  # among how many people at least its values are dealt, if not among all


@lru_cache(maxsize=1 << 16)  # groups are often alike
def surest(
    bag: Sequence[JointValue],
    people: Collection[tuple[Cannot, int]],
    secret: Collection[Any],
    l: int,
    k: int,
) -> Fraction:
    """An upper bound of how sure somebody may become that a member of a group has a secret.

    `bag` has the group's joint values, each with its rules and count; some people cannot have those
    under some rules (`people`, counted by the rules that apply to them). The adversary rules out l
    values of the target and knows k other people. A kind is all values under the same rules.

    A member is as likely to have one value of a kind as another: with the same `share`. The share
    of a kind that only some can have is highest when two things hold. Those who can have it have
    other kinds as often as they can, except kinds that all of them can have, which are dealt later.
    And the known people are among the rest.

    The bound is the worst of all choices of kinds that the target can have: these have their
    highest shares, and the values that everybody can have share what is left. The exact figure is
    a mean of such choices, or lower.
    """
    size = sum(n for _, n in people)
    counts: dict[RuleSet, Counter[Any]] = {NO_RULES: Counter()}  # by kind, how many have each value
    for value, rules, count in bag:
        rules_here = rules if n_able(people, rules) < size else NO_RULES  # all here can have it
        counts.setdefault(rules_here, Counter())[value] += count
    n_secret = {
        rules: sum(map(counts_of_rules.__getitem__, secret))
        for rules, counts_of_rules in counts.items()
    }
    free, kinds = _Kind(counts[NO_RULES], n_secret[NO_RULES]), list[_Kind]()
    for rules, counts_of_rules in counts.items():
        if rules == NO_RULES or not n_secret[rules]:
            continue
        members = n_able(people, rules)
        for other_rules in counts.keys() - {rules, NO_RULES}:
            # The target may have the other kind where it is ruled out.
            is_ruled_out = l > 0 and not n_secret[other_rules]
            if is_ruled_out or any(
                who.perhaps & other_rules and not who.surely & rules for who, _ in people
            ):
                members -= min(counts[other_rules].total(), n_able(people, rules, other_rules))
        kinds.append(_Kind(counts_of_rules, n_secret[rules], members))
    if len(kinds) > _MOST_KINDS:  # too many choices; certainty is a bound, too
        return Fraction(1)
    worst = Fraction(0)
    for n_chosen in range(len(kinds) + 1):
        for chosen in combinations(kinds, n_chosen):
            worst = max(worst, _surest_with(chosen, free, secret, l, k))
    return worst


def _surest_with(
    chosen: Sequence[_Kind], free: _Kind, secret: Collection[Any], l: int, k: int
) -> Fraction:
    """How sure somebody may become that a target has a secret (one of some values), at most.

    The target can have values of the `chosen` kinds and `free` ones, and no others; l of them are
    ruled out, and k other people are known. A kind is all values that fall under the same rules;
    `free` is the kind that everybody can have.
    """
    unshared, k_left = Fraction(1), k  # the chance that remains for free values; people not dealt
    chances = defaultdict[Any, Fraction](Fraction)
    for kind in (*chosen, free):
        n_others = kind.counts.total() - kind.n_secret
        # Known people have other values than the secret: this leaves the most for the target.
        n_known = min(k_left if kind is free else k, n_others)
        n_left, k_left = kind.n_secret + n_others - n_known, max(k_left - n_known, 0)
        if kind is free:
            share = max(unshared, Fraction(0)) / (n_left or 1)
        else:
            share = Fraction(1, max(kind.members - k, n_left))
        unshared -= n_left * share
        for value, count in kind.counts.items():
            chances[value] += count * share
    of_secret = sum((chances.pop(value, Fraction(0)) for value in secret), Fraction(0))
    # It is worst to rule out the l likeliest other values; the rest is then taken for all.
    ruled_out = sum(sorted(chances.values(), reverse=True)[:l], Fraction(0))
    return of_secret / max(1 - ruled_out, of_secret) if of_secret else Fraction(0)
