"""Stairs: the solid below a knowledge skyline, as flat faces and the edges between them.

The solid is the union of one box per point, from a floor below 0 up to the point; so an amount of
0 has a thickness that can be seen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from foreknow.skylining import Point

Place: TypeAlias = tuple[float, float, float]
Line: TypeAlias = tuple[Place, Place]


@dataclass(frozen=True)
class Face:
    """A rectangle across an axis.

    Attributes
    ----------
    axis : int
        0, 1 or 2, for l, k and m.
    at : float
        Where on that axis.
    low, high : (float, float)
        Its corners on the other two axes, in their order.
    """

    axis: int
    at: float
    low: tuple[float, float]
    high: tuple[float, float]

    @property
    def corners(self) -> list[Place]:
        """Its four corners, round about."""
        (a, b), (c, d) = self.low, self.high
        return [_placed(self.axis, self.at, *pair) for pair in ((a, b), (c, b), (c, d), (a, d))]


@dataclass(frozen=True)
class Solid:
    """The faces of the solid below a skyline, and the edges where they meet."""

    faces: tuple[Face, ...]
    edges: tuple[Line, ...]


def solid(points: Sequence[Point], floor: Place) -> Solid:
    """Build the solid below some points.

    Parameters
    ----------
    points : sequence of (l, k, m)
        None of which is at most another one.
    floor : (l, k, m)
        Where the boxes start; below 0.
    """
    faces: list[Face] = []
    edges: set[Line] = set()
    for axis in range(3):
        first, second = (a for a in range(3) if a != axis)
        turned = [(p[axis], p[first], p[second]) for p in points]
        base = floor[first], floor[second]
        above: list[tuple[int, int]] = []
        for level, group in groupby(sorted(turned, reverse=True), key=lambda p: p[0]):
            own = corners_of([*above, *(p[1:] for p in group)])
            strips = _strips(own, above, base)
            faces += [Face(axis, level, (a, lo), (b, hi)) for a, b, lo, hi in strips]
            edges |= {
                (_placed(axis, level, *one), _placed(axis, level, *other))
                for one, other in _outline(strips)
            }
            above = own
        bottom = _strips(above, [], base)
        faces += [Face(axis, floor[axis], (a, lo), (b, hi)) for a, b, lo, hi in bottom]
    return Solid(tuple(faces), tuple(sorted(edges)))


def corners_of(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The corners of the stairs below some points of a plane, from left to right.

    >>> corners_of([(0, 3), (2, 1), (1, 1), (0, 2)])
    [(0, 3), (2, 1)]
    """
    corners: list[tuple[int, int]] = []
    for x, y in sorted(points, reverse=True):
        if not corners or y > corners[-1][1]:
            corners.append((x, y))
    return corners[::-1]


_Strip: TypeAlias = tuple[float, float, float, float]


def _strips(
    own: Sequence[tuple[int, int]], above: Sequence[tuple[int, int]], floor: tuple[float, float]
) -> list[_Strip]:
    """Cut what is below `own` but not below `above` into upright strips: left, right, low, high."""
    strips: list[_Strip] = []
    left = floor[0]
    for right in sorted({x for x, _ in (*own, *above)}):
        low, high = _height(above, right, floor[1]), _height(own, right, floor[1])
        if low < high:
            if strips and strips[-1][1:] == (left, low, high):
                left = strips.pop()[0]
            strips.append((left, right, low, high))
        left = right
    return strips


def _height(stairs: Sequence[tuple[int, int]], x: float, floor: float) -> float:
    """How high stairs are, up to a place."""
    at = bisect_left(stairs, (x,))
    return stairs[at][1] if at < len(stairs) else floor


def _outline(strips: Sequence[_Strip]) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The borders of strips, apart from those between two of them."""
    lines = []
    for left, right, low, high in strips:
        lines += [((left, low), (right, low)), ((left, high), (right, high))]
    before = {right: (low, high) for _, right, low, high in strips}
    after = {left: (low, high) for left, _, low, high in strips}
    for x in sorted({*before, *after}):
        lines += [((x, a), (x, b)) for a, b in _either(before.get(x), after.get(x))]
    return lines


def _either(
    one: tuple[float, float] | None, other: tuple[float, float] | None
) -> list[tuple[float, float]]:
    """What lies in one of two intervals, but not in both."""
    if one is None or other is None:
        return [interval for interval in (one, other) if interval is not None]
    (a, b), (c, d) = one, other
    if b <= c or d <= a:
        return [one, other]
    return [(x, y) for x, y in ((min(a, c), max(a, c)), (min(b, d), max(b, d))) if x < y]


def _placed(axis: int, at: float, first: float, second: float) -> Place:
    place = [first, second]
    place.insert(axis, at)
    return place[0], place[1], place[2]
