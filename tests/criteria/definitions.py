"""Criteria of values of a group by their definitions: what is attained, and whether it holds."""

import math
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction

from tests.oracle.labels import least_work, levels_apart

import foreknow as fk

getcontext().prec = 40


def work(bag, everybody, cost):
    """Move a group's values to those of all, both repeated to one length, least work first."""
    left = sorted(value for value in bag for _ in everybody)
    right = sorted(value for value in everybody for _ in bag)
    if cost == "equal":
        total = sum((Counter(left) & Counter(right)).values())
        return 1 - Fraction(total, len(left))
    # On a line nothing is gained by crossing: the first goes to the first.
    steps = sum(abs(a - b) for a, b in zip(left, right, strict=True))
    return Fraction(steps, len(left) * max(1, len(set(everybody)) - 1))


def alone(criterion, bag):
    """What a group attains by itself and whether it holds, from the definition."""
    if isinstance(criterion, fk.KAnonymity):
        return len(bag), len(bag) >= criterion.k
    counts = sorted(Counter(bag).values(), reverse=True)
    if isinstance(criterion, fk.AlphaK):
        share = Fraction(counts[0], len(bag))
        return share, share <= criterion.alpha and len(bag) >= criterion.k
    if criterion.kind == "distinct":
        return len(counts), len(counts) >= criterion.l
    if criterion.kind == "recursive":
        total = sum(counts[criterion.l - 1 :])
        times = Fraction(counts[0], total) if total else math.inf
        return times, times < criterion.c
    entropy = sum(Decimal(n) / len(bag) * (Decimal(len(bag)) / n).ln() for n in counts)
    # entropy >= log(l) in whole numbers: N^N >= l^N times all n^n
    left, right = Fraction(len(bag)) ** len(bag), criterion.l ** len(bag)
    return entropy.exp(), left >= right * math.prod(n**n for n in counts)


def truth(criterion, bag, everybody):
    """What one group attains beside everybody and whether it holds, from the definition."""
    if isinstance(criterion, (fk.KAnonymity, fk.LDiversity, fk.AlphaK)):
        return alone(criterion, bag)
    p = {v: Fraction(n, len(bag)) for v, n in Counter(bag).items()}
    q = {v: Fraction(n, len(everybody)) for v, n in Counter(everybody).items()}
    if getattr(criterion, "distance", None) == "hierarchical":
        distance, height = levels_apart(criterion.tree)
        far = least_work(p, q, sorted(q), distance, height)
        return far, far <= criterion.t
    if isinstance(criterion, fk.TCloseness):
        stated = {str(v): v for v in q}
        order = [stated[v] for v in map(str, criterion.order or sorted(q)) if v in stated]
        if criterion.distance == "ordered":
            bag, everybody = ([order.index(v) for v in own] for own in (bag, everybody))
        far = work(bag, everybody, criterion.distance)
        return far, far <= criterion.t
    if isinstance(criterion, fk.BetaLikeness):
        gains = {v: (p[v] - q[v]) / q[v] for v in p}
        far = max([*gains.values(), Fraction(0)])
        most = {v: Decimal("inf") for v in p}
        if criterion.enhanced:
            most = {v: -(Decimal(q[v].numerator) / q[v].denominator).ln() for v in p}
        near = all(
            gain <= 0
            or (gain <= criterion.beta and Decimal(gain.numerator) / gain.denominator <= most[v])
            for v, gain in gains.items()
        )
        return far, near
    if set(p) != set(q):
        return math.inf, False
    far = max(max(p[v] / q[v], q[v] / p[v]) for v in q)
    delta = Decimal(criterion.delta.numerator) / criterion.delta.denominator
    return far, (Decimal(far.numerator) / far.denominator).ln() < delta
