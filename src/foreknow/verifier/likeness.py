"""How far the values of the groups are from those of all people, written out group by group.

It shares nothing with the criteria that a search asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

from foreknow.errors import CertificateError
from foreknow.verifier.counts import Group
from foreknow.verifier.diversity import Held, number_of

Bag = Mapping[str, int]


def gauge_t_closeness(held: Held, table: Any) -> tuple[Fraction, Group, bool]:
    """The group whose values are farthest from those of all, by the work of moving them."""
    _require(table, "t_closeness", {"t"}, {"t", "distance", "order", "tree"})
    most, distance = number_of(table["t"]), table.get("distance", "equal")
    everybody = _all(held)
    order, branches = None, None
    if distance == "ordered" and "tree" not in table:
        order = _order(list(everybody), table.get("order"))
    elif distance == "hierarchical" and "order" not in table:
        branches = _branches(list(everybody), table.get("tree"))
    elif distance != "equal" or "order" in table or "tree" in table:
        raise CertificateError(f"t_closeness cannot be {dict(table)}")

    def far(bag: Bag) -> Fraction:
        own, total = sum(bag.values()), sum(everybody.values())
        gaps = {v: bag.get(v, 0) * total - n * own for v, n in everybody.items()}
        if branches is not None:
            return Fraction(_carried(gaps, *branches), own * total * branches[1])
        if order is None:
            return Fraction(sum(map(abs, gaps.values())), 2 * own * total)
        moved = carried = 0
        for value in order:
            carried += gaps[value]
            moved += abs(carried)
        return Fraction(moved, own * total * max(1, len(order) - 1))

    worst, group = _farthest(held, far)
    assert worst is not None
    return worst, group, worst <= most


def gauge_beta_likeness(held: Held, table: Any) -> tuple[Fraction, Group, bool]:
    """The group in which a value is most above its share of all."""
    _require(table, "beta_likeness", {"beta"}, {"beta", "enhanced"})
    beta, everybody = number_of(table["beta"]), _all(held)
    total = sum(everybody.values())

    def gains(bag: Bag) -> dict[str, Fraction]:
        own = sum(bag.values())
        return {v: Fraction(n * total, own * everybody[v]) - 1 for v, n in bag.items()}

    worst, group = _farthest(held, lambda bag: max(Fraction(0), *gains(bag).values()))
    assert worst is not None
    keeps = worst <= beta
    if table.get("enhanced", False) and keeps:
        tops: dict[str, Fraction] = {}
        for _, bag in held.values():
            for value, gain in gains(bag).items():
                tops[value] = max(tops.get(value, gain), gain)
        keeps = all(
            gain <= 0 or _exceeds(Fraction(total, everybody[value]), gain)
            for value, gain in tops.items()
        )
    return worst, group, keeps


def gauge_delta_disclosure(held: Held, table: Any) -> tuple[Fraction | None, Group, bool]:
    """The group in which the share of a value differs most from that among all."""
    _require(table, "delta_disclosure", {"delta"}, {"delta"})
    delta, everybody = number_of(table["delta"]), _all(held)
    total = sum(everybody.values())

    def differs(bag: Bag) -> Fraction | None:
        if len(bag) < len(everybody):
            return None
        own = sum(bag.values())
        times = [Fraction(n * total, own * everybody[v]) for v, n in bag.items()]
        return max(*times, *(1 / x for x in times))

    worst, group = _farthest(held, differs)
    if worst is None or not 0 < delta <= 500:
        return worst, group, False
    return worst, group, worst == 1 or not _exceeds(worst, delta)


def _require(table: Any, key: str, least: set[str], most: set[str]) -> None:
    if not isinstance(table, Mapping) or not least <= set(table) <= most:
        raise CertificateError(f"{key} must be a table of {', '.join(sorted(most))}, not {table!r}")


def _all(held: Held) -> Counter[str]:
    """How many people of all groups have each value."""
    everybody: Counter[str] = Counter()
    for _, bag in held.values():
        everybody.update(bag)
    return everybody


def _farthest(held: Held, far: Callable[[Bag], Fraction | None]) -> tuple[Fraction | None, Group]:
    """The first group that is farthest; None is farther than any number."""
    known: dict[tuple[tuple[str, int], ...], Fraction | None] = {}
    worst: Fraction | None = Fraction(-1)
    at: Group | None = None
    for group, (_, bag) in held.items():
        key = tuple(sorted(bag.items()))
        if key not in known:
            known[key] = far(bag)
        own = known[key]
        if own is None:
            return None, group
        if worst is None or own > worst:
            worst, at = own, group
    assert at is not None
    return worst, at


def _order(values: Sequence[str], given: Any) -> list[str]:
    """The values of the release from first to last: as they are listed, or by size."""
    if given is None:
        return sorted(values, key=number_of)
    if not isinstance(given, (list, tuple)) or len(set(map(str, given))) < len(given):
        raise CertificateError("the order of t_closeness must be a list of values, each once")
    places = {str(value): place for place, value in enumerate(given)}
    missing = [value for value in values if value not in places]
    if missing:
        raise CertificateError(f"the order of t_closeness does not name {missing[0]!r}")
    return sorted(values, key=lambda value: places[value])


def _branches(values: Sequence[str], tree: Any) -> tuple[dict[str, list[str]], int]:
    """The nodes above each value of the release, up to the root, and how many levels there are."""
    if not isinstance(tree, (list, tuple)) or not tree:
        raise CertificateError("t_closeness needs its tree: a row for each value")
    above: dict[str, list[str]] = {}
    parents: dict[tuple[int, str], str] = {}
    for row in tree:
        if not isinstance(row, (list, tuple)) or not 2 <= len(row) == len(tree[0]):
            raise CertificateError("the rows of a tree are lists of one length, from 2 on")
        value, *nodes = map(str, row)
        if above.setdefault(value, nodes) != nodes:
            raise CertificateError(f"the tree of t_closeness has {value!r} twice")
        for level, pair in enumerate(pairwise(nodes)):
            if parents.setdefault((level, pair[0]), pair[1]) != pair[1]:
                raise CertificateError(f"the tree of t_closeness has two nodes above {pair[0]!r}")
    if len({nodes[-1] for nodes in above.values()}) > 1:
        above = {value: [*nodes, "root"] for value, nodes in above.items()}
    missing = [value for value in values if value not in above]
    if missing:
        raise CertificateError(f"the tree of t_closeness does not list {missing[0]!r}")
    return above, len(tree[0]) - 1 + (len(above[str(tree[0][0])]) == len(tree[0]))


def _carried(gaps: Mapping[str, int], above: Mapping[str, Sequence[str]], height: int) -> int:
    """What is carried within each node, bottom up: all that can be, before the rest goes higher."""
    open_: dict[str, int] = dict(gaps)  # what is left at each node of a level
    upward: dict[str, str] = {value: value for value in gaps}
    work = 0
    for level in range(height):
        into: dict[str, list[int]] = {}
        for value, at in upward.items():
            parent = above[value][level]
            if at in open_:
                into.setdefault(parent, []).append(open_.pop(at))
            upward[value] = parent
        for parent, extras in into.items():
            surplus = sum(extra for extra in extras if extra > 0)
            lack = -sum(extra for extra in extras if extra < 0)
            work += (level + 1) * min(surplus, lack)
            open_[parent] = surplus - lack
    return work


def _exceeds(number: Fraction, limit: Fraction) -> bool:
    """Whether the logarithm of a number is above a limit; they are never equal."""
    for digits in (50, 200, 1000):
        with localcontext() as context:
            context.prec = digits
            top, bottom = Decimal(number.numerator).ln(), Decimal(number.denominator).ln()
            gap = top - bottom - Decimal(limit.numerator) / Decimal(limit.denominator)
            if abs(gap) > (top + bottom + abs(gap) + 1) * Decimal(10) ** (5 - digits):
                return gap > 0
    raise CertificateError("a logarithm is too close to its limit to be verified")
