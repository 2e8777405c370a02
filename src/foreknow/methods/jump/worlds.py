"""Listing: tables that agree with a release, one by one, with what strikes each of them out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any

_STYLE = """
<style>
.jump-worlds {display: flex; flex-wrap: wrap; gap: 10px; font: 12px/1.35 sans-serif; margin: 8px 0}
.jump-world {padding: 4px 6px; border: 1px solid #bbb; min-width: 104px; color: #222;
  background: white; box-sizing: border-box}
.jump-world table {border-collapse: collapse; margin: 0; font-size: 12px}
.jump-world td {padding: 0 4px 0 0; border: 0; text-align: left; background: none; color: inherit}
.jump-world p {margin: 3px 0 0; font-size: 11px; color: #444}
.jump-left {border: 2px solid #1a6b3a}
.jump-struck table {color: #666; background:
  linear-gradient(to top right, transparent calc(50% - 1px), #c33 50%, transparent calc(50% + 1px)),
  linear-gradient(to bottom right, transparent calc(50% - 1px), #c33 50%,
    transparent calc(50% + 1px))}
</style>
"""


@dataclass(frozen=True)
class World:
    """One table that agrees with a release.

    Attributes
    ----------
    values : mapping
        Everybody's value.
    struck_by : str or None
        Why whoever knows the algorithm strikes it out; None if it is left.
    """

    values: Mapping[Hashable, Hashable]
    struck_by: str | None

    def __str__(self) -> str:
        text = ", ".join(f"{person} {value}" for person, value in self.values.items())
        return text if self.struck_by is None else f"{text} -- {self.struck_by}"


def how_many_deals(codes: Sequence[int], groups: Sequence[int]) -> int:
    """In how many ways the values of each group can be dealt to its members.

    >>> how_many_deals([0, 1, 2, 2, 3, 4], [0, 0, 0, 1, 1, 1])
    36
    """
    bags: dict[int, Counter[int]] = {}
    for code, group in zip(codes, groups, strict=True):
        bags.setdefault(group, Counter())[code] += 1
    return math.prod(
        math.factorial(bag.total()) // math.prod(map(math.factorial, bag.values()))
        for bag in bags.values()
    )


def deals(codes: Sequence[int], groups: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Deal the values of each group to its members in every way, each once.

    >>> list(deals([0, 1, 0], [0, 0, 0]))
    [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    """
    members: dict[int, list[int]] = {}
    for person, group in enumerate(groups):
        members.setdefault(group, []).append(person)
    ways = [list(_orders(Counter(codes[p] for p in people))) for people in members.values()]
    for chosen in product(*ways):
        dealt = list(codes)
        for people, order in zip(members.values(), chosen, strict=True):
            for person, code in zip(people, order, strict=True):
                dealt[person] = code
        yield tuple(dealt)


def _orders(bag: Counter[int]) -> Iterator[tuple[int, ...]]:
    if not bag:
        yield ()
    for code in sorted(bag):
        rest = bag - Counter([code])
        for order in _orders(rest):
            yield (code, *order)


def what_strikes(
    i: int, n: int, released: int | None, path: Sequence[tuple[int, str, bool]]
) -> str | None:
    """Why a table does not get to function i of n; i = n is behind the last.

    Parameters
    ----------
    i, n : int
    released : int or None
        The function that is released of the table.
    path : sequence of (int, str, bool)
        What is judged of it, to the end.

    >>> what_strikes(1, 3, 0, [(0, "permutation", True)])
    'g1 is released'
    >>> what_strikes(2, 3, None, [(1, "permutation", True), (1, "disclosure", False)])
    'jumps from g2 past g3'
    """
    met = [step[0] for step in path]
    if i in met or (i == n and released is None):
        return None
    before = max(j for j in met if j < i)
    return (
        f"g{before + 1} is released"
        if before == released
        else f"jumps from g{before + 1} past g{i + 1}"
    )


def worlds_html(worlds: Sequence[World]) -> str:
    """Small tables side by side; those that are struck out are crossed out."""
    return f'{_STYLE}<div class="jump-worlds">{"".join(map(_world_html, worlds))}</div>'


def _world_html(world: World) -> str:
    rows = "".join(
        f"<tr><td>{_cell(person)}</td><td>{_cell(value)}</td></tr>"
        for person, value in world.values.items()
    )
    kind = "jump-left" if world.struck_by is None else "jump-struck"
    said = "is left" if world.struck_by is None else world.struck_by
    return f'<div class="jump-world {kind}"><table>{rows}</table><p>{escape(said)}</p></div>'


def _cell(given: Any) -> str:
    return escape(str(given))
