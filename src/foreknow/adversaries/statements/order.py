"""Order: which variables to deal first, so that what is left falls apart soon."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

Graph: TypeAlias = Mapping[int, set[int]]


def components(nodes: Iterable[int], links: Callable[[int], Iterable[int]]) -> list[frozenset[int]]:
    """Divide nodes into sets that share no link.

    >>> links = {1: "ab", 2: "c", 3: "bd"}
    >>> [sorted(part) for part in components(links, links.__getitem__)]
    [[1, 3], [2]]
    """
    parts: dict[int, set[int]] = {}
    home: dict[int, int] = {}  # the part of each link
    for number, node in enumerate(nodes):
        own = tuple(links(node))
        merged = {home[link] for link in own if link in home}
        part = number
        if merged:
            part = max(merged, key=lambda p: len(parts[p])) if len(merged) > 1 else merged.pop()
            for other in merged - {part}:
                gone = parts.pop(other)
                parts[part] |= gone
                for moved in gone:
                    for link in links(moved):
                        home[link] = part
            parts[part].add(node)
        else:
            parts[part] = {node}
        for link in own:
            home[link] = part
    return [frozenset(part) for part in parts.values()]


def dealing_rank(together: Iterable[frozenset[int]]) -> dict[int, int]:
    """Rank variables by nested dissection.

    Parameters
    ----------
    together : iterable of frozenset of int
        Variables that stand in one formula.

    Returns
    -------
    dict of variable -> int
        The lowest first. A few that separate the others come before them, and so on in each part;
        where nothing separates, the one with most neighbours.

    Examples
    --------
    >>> rank = dealing_rank([frozenset((i, i + 1)) for i in range(7)])
    >>> sorted(rank, key=rank.get)[0] in (3, 4)
    True
    """
    graph: dict[int, set[int]] = {}
    for variables in sorted(map(sorted, together)):
        for v in variables:
            graph.setdefault(v, set()).update(variables)
    for v, near in graph.items():
        near.discard(v)
    rank: dict[int, int] = {}
    stack = [sorted(graph)]
    while stack:
        rest = set(stack.pop())
        for part in _connected(graph, rest):
            for v in _separator(graph, part):
                rank[v] = len(rank)
            left = [v for v in part if v not in rank]
            if left:
                stack.append(left)
    return rank


def _connected(graph: Graph, among: set[int]) -> list[list[int]]:
    found = []
    left = set(among)
    for start in sorted(among):
        if start in left:
            part = [v for level in _levels(graph, left, start) for v in level]
            left.difference_update(part)
            found.append(part)
    return found


def _levels(graph: Graph, among: set[int], start: int) -> list[list[int]]:
    """Variables by their distance from one of them."""
    levels, seen = [[start]], {start}
    while levels[-1]:
        near = {w for v in levels[-1] for w in graph[v] if w in among and w not in seen}
        seen |= near
        levels.append(sorted(near))
    return levels[:-1]


def _separator(graph: Graph, part: list[int]) -> list[int]:
    """The smallest level that leaves less than three quarters on either side, if it is small."""
    among = set(part)
    far = _levels(graph, among, part[0])[-1][0]
    levels = _levels(graph, among, far)
    most = max(part, key=lambda v: (len(graph[v] & among), -v))
    best, before = [most], 0
    least: tuple[float, int] = (max(2.0, len(part) / 4), 0)
    for level in levels:
        larger = max(before, len(part) - before - len(level))
        if larger * 4 <= len(part) * 3 and (len(level), larger) < least:
            best, least = level, (len(level), larger)
        before += len(level)
    return sorted(best, key=lambda v: (-len(graph[v] & among), v))
